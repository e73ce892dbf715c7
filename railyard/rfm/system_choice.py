"""Which system ReFrame takes: none with a broken file, none that two settings files have, ours for any host last.

ReFrame 4.10.4 only warns of a system in two files and takes the one of the last file, and it has no word for a system
that exists and must not run. A settings file can only reach the methods of its configuration.

On a host that is not of the cluster, a dry run and a listing work, and a run is refused.

What ReFrame knows about where a test is: its current system while a check file is read, the site of a test.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from reframe.core.config import _SiteConfig
from reframe.core.exceptions import ConfigError, ReframeError, ReframeFatalError
from reframe.core.runtime import runtime

from railyard.base.wording import count_of
from railyard.site.matrix import MOST_NODES
from railyard.site.site import Site, site_at
from railyard.site.systems.measure import Measure, StatedAmounts
from railyard.site.systems.model import System
from railyard.site.systems.module_system import no_modules_sentence, why_no_modules

#: What ReFrame calls its own configuration, which it always reads first.
_BUILTIN = "<builtin>"
#: The systems of Railyard in this process -> the sentence that says why it must not run, empty for one that may.
_OURS: dict[str, str] = {}
#: Those of them that take any host.
_FOR_ANY_HOST: set[str] = set()


def note_systems(names: Collection[str], broken: Mapping[str, str], *, for_any_host: Collection[str] = ()) -> None:
    """Make ReFrame refuse the broken systems and any second file with one of these names.

    ``broken``: name -> the sentence that ReFrame ends with, exit 1, if it chooses this system by name or by host.
    ``for_any_host``: those whose patterns take any host. A host that another suite's system takes is not one of theirs.
    """
    _OURS.update({**dict.fromkeys(names, ""), **broken})
    _FOR_ANY_HOST.difference_update(names, broken)
    _FOR_ANY_HOST.update(for_any_host)
    _replace("_update_system_defs", _refuse_second_file)
    _replace("_detect_system", _ours_last)
    _replace("select_subconfig", _refuse_broken)


def _replace(method: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a method of ReFrame's configuration by what is made of it, once."""
    original = getattr(_SiteConfig, method)
    if not hasattr(original, "__wrapped__"):
        setattr(_SiteConfig, method, made(original))


def _refuse_second_file(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def update_system_defs(site: Any, config: list[dict[str, Any]], filename: str) -> None:
        for name in (entry["name"] for entry in config):
            first = site._definitions["systems"].get(name, _BUILTIN)
            if name in _OURS and first not in (_BUILTIN, filename):
                raise ConfigError(
                    f'{filename}: found the system "{name}", which {first} has too, expected each system in one file; '
                    f"rename one, or leave out reframe_settings.py and let the site's own file call "
                    f"railyard.siteconfig.extend (docs/howto/reframe-set-up.md)"
                )
        original(site, config, filename)

    return update_system_defs


def _ours_last(original: Callable[..., str]) -> Callable[..., str]:
    @wraps(original)
    def detect_system(site: Any) -> str:
        *others, builtin = site._site_config["systems"]  # ReFrame's own system, for any host too, is the last one
        last = [each for each in others if each["name"] in _FOR_ANY_HOST]
        site._site_config["systems"] = [each for each in others if each not in last] + [*last, builtin]
        return original(site)

    return detect_system


def _refuse_broken(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def select_subconfig(site: Any, system_fullname: str | None = None, *given: Any, **named: Any) -> None:
        name = system_fullname or site._detect_system()
        why = _OURS.get(name.partition(":")[0])
        if why:
            by_host = (
                f'\n(this host is or may be one of "{name}": correct the file, or name another system by --system)'
            )
            raise ConfigError(f"{why}{'' if system_fullname else by_host}")
        original(site, name, *given, **named)

    return select_subconfig


def module_settings(system: System) -> Mapping[str, bool]:
    """Return the settings with which ReFrame can write job scripts that load modules which this host does not have.

    By default it starts the modules system at once, and again to find conflicts between modules. Without that, a script
    loads them in the order of the system's file.
    """
    return {} if why_no_modules(system) is None else {"resolve_module_conflicts": False}


def is_dry(runner: Any) -> bool:
    """Return whether ReFrame only writes job scripts."""
    return bool(runner._policy.dry_run_mode)


def refuse_without_modules(system: System) -> None:
    """Raise ReframeError if jobs cannot be submitted from this host, since it lacks the modules system."""
    why = no_modules_sentence(system)
    if why is not None:
        raise ReframeError(why)


def say_unchecked(home: Path, name: str, testcases: Collection[Any]) -> None:
    """Say on standard error that a dry run is no pass, and what of a system's file nobody looked at on this host."""
    from railyard.cluster.doctor.login import absences  # only a dry run names what this host lacks

    said = f"dry run of {count_of(len(testcases), 'test')}: nothing was submitted, measured or judged"
    print(f"railyard: {said}", file=sys.stderr)
    for sentence in absences(site_at(home, name), _stacks_and_tools(testcases)):
        print(f"railyard: not checked: {sentence}", file=sys.stderr, flush=True)


def _stacks_and_tools(testcases: Iterable[Any]) -> list[tuple[str, str]]:
    """Return the stack and the tool of each test of ours."""
    cases = ((case.environ.name, getattr(case.check, "tool", None)) for case in testcases)
    return [(stack, str(tool)) for stack, tool in cases if tool is not None]


def partitions() -> tuple[Any, ...] | None:
    """Return the partitions of ReFrame's current system that Railyard made; None without a system.

    A site's own system may have others beside them (``railyard.rfm.extend``).

    `railyard matrix` reads the checks without ReFrame's own configuration, so it has none.
    """
    try:
        return tuple(each for each in runtime().system.partitions if "railyard_home" in each.extras)
    except ReframeFatalError:
        return None


def partition_features() -> set[str] | None:
    """Return every feature that some partition of the current system has; None without a system."""
    found = partitions()
    return None if found is None else {feature for each in found for feature in each.features}


def environment_features() -> set[str] | None:
    """Return every feature that some environment of the current system has; None without a system."""
    found = partitions()
    return None if found is None else {f for each in found for environ in each.environs for f in environ.features}


def sweep() -> tuple[int, ...]:
    """Return on how many nodes the current system measures a sweep; none without a system."""
    found = partitions() or ()
    return tuple(sorted({count for each in found for count in each.extras.get("railyard_sweep", ())}))


def places(rails: int, nodes: int) -> list[str]:
    """Return what a test over so many rails and nodes asks of a partition, in ReFrame's terms.

    A partition has a feature for each number of nodes up to ``MOST_NODES``. For more nodes, the partitions that have
    enough are listed by name.
    """
    if nodes <= MOST_NODES:
        return [f"+rails{rails} +nodes{nodes}"]
    there = [each for each in partitions() or () if (each.extras.get("railyard_nodes") or nodes) >= nodes]
    return [each.fullname for each in there if f"rails{rails}" in each.features]


def stated_amounts(benchmark: str) -> StatedAmounts | None:
    """Return what the current system's file states for a benchmark; None if it states nothing or there is no file."""
    there = partitions() or ()
    found = there[0].extras.get("railyard_numbers") if there else None  # each partition has those of its system
    return Measure.model_validate({"benchmarks": found}).amounts_of(benchmark) if found else None


def end_at_errors() -> tuple[str, ...]:
    """Return the line that ends a job at its first command that fails; none if ReFrame's own trap does it.

    Our settings have ReFrame's (``trap_job_errors``). Those of a site with our partitions (``railyard.rfm.extend``) may
    not: a script then ends with the code of its last command, and the benchmark's own code would be lost.
    """
    return () if runtime().get_option("general/0/trap_job_errors") else ("trap 'exit $?' ERR",)


def site_of(test: Any) -> Site:
    """Return the site and system that a test runs on, once it is set up."""
    partition = test.current_partition
    return site_at(Path(partition.extras["railyard_home"]), partition.fullname.split(":")[0])
