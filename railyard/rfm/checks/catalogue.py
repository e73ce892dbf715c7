"""The checks of a site, read from their files: what each asks of a cell."""

import importlib.util
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from railyard.base.errors import RailyardError, did_you_mean
from railyard.benchmarks.table.micro import known_tools, refuse_unknown
from railyard.site.matrix import EXTENDED, RAIL_COUNTS, Need
from railyard.site.systems.load import load_systems

if TYPE_CHECKING:
    from railyard.rfm.checks.base import InterconnectCheck


def needs(*places: Path, home: Path | None = None) -> tuple[Need, ...]:
    """Return what each check of these files and folders asks of a cell, in the order of place, file and class.

    Check files are imported: only this module and ReFrame do so. Raises RailyardError, which names a place that is not
    there, a file that cannot be imported, and a class with an unknown benchmark, or with a tool that neither Railyard
    nor a system of the site at ``home`` has.
    """
    classes = tuple(cls for place in places for cls in _classes(place))
    if home is not None:
        refuse_unknown_tools(classes, home)
    return needs_of(classes)


@lru_cache(maxsize=2)
def needs_of(classes: tuple[type["InterconnectCheck"], ...]) -> tuple[Need, ...]:
    """Return what these classes ask of a cell."""
    return tuple({need.check: need for cls in classes for need in _needs_of(cls)}.values())


def tags(checks: Path) -> set[str]:
    """Return each tag that a check below a folder has. Raises RailyardError as ``needs`` does."""
    every = {tag for cls in _classes(checks) for tag in cls.tags}
    every |= {need.tool for need in needs(checks)}
    return every | ({EXTENDED} if any(need.extended for need in needs(checks)) else set())


def names(checks: Path) -> set[str]:
    """Return the class of each test below a folder, plain ReFrame tests too. Raises RailyardError as ``needs`` does."""
    return {cls.__name__ for cls in _tests(checks)}


def _classes(checks: Path) -> Iterator[type["InterconnectCheck"]]:
    """Yield the class of each check of a file, or below a folder, in the order of file and class."""
    from railyard.rfm.checks.base import InterconnectCheck  # ReFrame takes 0.2 s to import

    yield from (cls for cls in _tests(checks) if issubclass(cls, InterconnectCheck))


def _tests(checks: Path) -> tuple[type, ...]:
    """Return the class of each ReFrame test of a file, or below a folder, in the order of file and class."""
    if not checks.exists():
        raise RailyardError(f"-c {checks}: found no such file or folder, expected checks")
    files = [checks] if checks.is_file() else sorted(checks.rglob("*.py"))
    states = ((file, file.stat()) for file in files)
    return _import_classes(checks, tuple((file, state.st_mtime_ns, state.st_size) for file, state in states))


# A command asks for names, tags and needs in turn; to import all checks each time would take half a second.
@lru_cache(maxsize=2)
def _import_classes(checks: Path, files: tuple[tuple[Path, int, int], ...]) -> tuple[type, ...]:
    """Return the classes of these files, each given with its time of change in ns and its size in bytes.

    ``checks`` is the folder that they are below, or the one file itself.
    """
    found: list[type] = []
    folder = checks.parent if checks.is_file() else checks
    for file, _, _ in files:
        name = f"railyard_site_checks.{'.'.join(file.relative_to(folder).with_suffix('').parts)}"
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise RailyardError(f"{file}: found a file that Python cannot import, expected a check")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:  # whatever a check file raises, the error names the file
            raise RailyardError(
                f"{file}: found {type(error).__name__}: {error}, expected a check that imports"
            ) from error
        # ReFrame's decorator keeps a module's tests there; it has no public list of classes.
        registry = getattr(module, "_rfm_test_registry", None)
        found += registry._tests if registry is not None else ()
    return tuple(found)


def _needs_of(cls: type["InterconnectCheck"]) -> Iterator[Need]:
    """Yield what a check asks for: once for each value of its own parameters, under the test's name."""
    variants = [cls.get_variant_info(variant)["params"] for variant in range(cls.num_variants)]
    made = {int(given["rails"]) for given in variants}
    rails = () if made.issuperset(RAIL_COUNTS) else tuple(sorted(made))
    for own in _own_parameters(variants):
        _refuse_unknown(cls, own)
        nodes = cls.nodes_of(own)
        yield Need(
            # plain text and numbers from ReFrame's variables, since a Need outlives these
            " ".join((cls.__name__, *(f"%{name}={value}" for name, value in own.items()))),
            *(cls.tool_of(own), f"{cls.tool}/{cls.benchmark_of(own)}", nodes),
            ranks=int(nodes * cls.ranks_per_node),
            passes=int(cls.passes),
            smallest=int(cls.smallest),
            largest=int(cls.largest),
            extended=bool(cls.extended) or EXTENDED in cls.tags,
            pair_a_rail=cls.layout.pair_per_rail,
            pair=cls.start.client_and_server,
            starts_itself=cls.start.by_itself,
            every_core=cls.layout.every_core,
            kinds=cls.accepts.fabrics,
            gpus=cls.layout.gpus,
            rails=rails,
            within_node=cls.is_within_node(own),
            feature=cls.feature_of(own),
            all_nodes=bool(cls.all_nodes),
            check_class=cls.start.time_limit,
            takes=cls.takes_of(own),
            own_limit=partial(cls.limit_of, own),
        )


def _refuse_unknown(cls: type["InterconnectCheck"], own: Mapping[str, str]) -> None:
    """Raise RailyardError, which names file and class, if Railyard knows the check's tool but not its benchmark."""
    try:
        refuse_unknown(str(cls.tool), f"{cls.tool}/{cls.benchmark_of(own)}")
    except RailyardError as error:
        raise RailyardError(f"{inspect.getfile(cls)}: {cls.__name__}: {error}") from None


def refuse_unknown_tools(classes: Sequence[type["InterconnectCheck"]], home: Path) -> None:
    """Raise RailyardError, with file and class, for a tool without benchmarks: no stack could ever have its check.

    A tool is known if Railyard has benchmarks of it, or if a system's file of the site at ``home`` states such an
    application.
    """
    known = known_tools()
    unknown = [cls for cls in classes if cls.tool not in known]
    if not unknown:  # reading all systems takes a moment
        return
    stated = {name for system in load_systems(home / "systems").values() for name in system.applications}
    for cls in unknown:
        if cls.tool not in stated:
            raise RailyardError(
                f'{inspect.getfile(cls)}: {cls.__name__}: tool: found "{cls.tool}", expected a tool of Railyard\'s '
                f"benchmarks; {did_you_mean(str(cls.tool), {*known, *stated})} (a new tool: docs/developers/add.md)"
            )


def _own_parameters(variants: Sequence[Mapping[str, object]]) -> list[dict[str, str]]:
    """Return the values of a check's own parameters in its variants, each combination once."""
    from railyard.rfm.checks.base import COMMON_PARAMETERS

    found: dict[tuple[tuple[str, str], ...], None] = {}
    for given in variants:
        found[tuple((name, str(value)) for name, value in given.items() if name not in COMMON_PARAMETERS)] = None
    return [dict(each) for each in found]
