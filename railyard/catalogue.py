"""The checks of a site, read from their files: what each asks of a cell."""

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from railyard.breadth import EXTENDED
from railyard.cells import Need
from railyard.errors import RailyardError

if TYPE_CHECKING:
    from railyard.check import InterconnectCheck

#: What every check has a variant for; a parameter besides these chooses its benchmark.
COMMON_PARAMETERS = ("rails", "policy")


def needs(checks: Path) -> tuple[Need, ...]:
    """Return what each check below a folder asks of a cell, in the order of file and class.

    A check file is imported: this is the one place outside ReFrame that does so. Raises RailyardError naming the file
    that cannot be imported.
    """
    from railyard.check import InterconnectCheck  # ReFrame takes 0.2 s to import

    found: dict[str, Need] = {}
    for file in sorted(checks.rglob("*.py")):
        name = f"railyard_site_checks.{'.'.join(file.relative_to(checks).with_suffix('').parts)}"
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise RailyardError(f"{file}: found a file that Python cannot import, expected a check")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:  # whatever a check file raises, the user is told which file
            raise RailyardError(
                f"{file}: found {type(error).__name__}: {error}, expected a check that imports"
            ) from error
        # ReFrame's decorator keeps a module's tests there; it has no public list of classes.
        registry = getattr(module, "_rfm_test_registry", None)
        for cls in registry._tests if registry is not None else ():
            for check, benchmark in _benchmarks(cls).items() if issubclass(cls, InterconnectCheck) else ():
                found[check] = Need(
                    # ReFrame's variables, which a Need outlives as plain text and numbers
                    check, str(cls.tool), f"{cls.tool}/{benchmark}", int(cls.num_nodes),
                    ranks=int(cls.num_nodes * cls.ranks_per_node), passes=int(cls.passes),
                    smallest=int(cls.smallest), largest=int(cls.largest), extended=EXTENDED in cls.tags,
                    pair_a_rail=bool(cls.pair_a_rail), pair=bool(cls.pair), within_node=bool(cls.within_node),
                )  # fmt: skip
    return tuple(found.values())


def _benchmarks(cls: type["InterconnectCheck"]) -> dict[str, str]:
    """Return the benchmarks of a check by the test's name: several where it has a parameter of its own."""
    found: dict[str, str] = {}
    for variant in range(cls.num_variants):
        given = cls.get_variant_info(variant)["params"]
        own = {name: str(value) for name, value in given.items() if name not in COMMON_PARAMETERS}
        found[" ".join((cls.__name__, *(f"%{name}={value}" for name, value in own.items())))] = cls.benchmark_of(own)
    return found
