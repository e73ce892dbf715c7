"""ReFrame on a host that is not of the cluster: a dry run and a listing work there, a run is refused."""

import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeError

from railyard.base.wording import count_of
from railyard.cluster.doctor.absences import absences, no_modules_sentence, why_no_modules
from railyard.site.site import site_at
from railyard.site.systems.model import System


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
    said = f"dry run of {count_of(len(testcases), 'test')}: nothing was submitted, measured or judged"
    print(f"railyard: {said}", file=sys.stderr)
    for sentence in absences(site_at(home, name), _stacks_and_tools(testcases)):
        print(f"railyard: not checked: {sentence}", file=sys.stderr, flush=True)


def _stacks_and_tools(testcases: Iterable[Any]) -> list[tuple[str, str]]:
    """Return the stack and the tool of each test of ours."""
    cases = ((case.environ.name, getattr(case.check, "tool", None)) for case in testcases)
    return [(stack, str(tool)) for stack, tool in cases if tool is not None]
