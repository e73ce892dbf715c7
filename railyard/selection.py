"""What the options of a run select, held against the system: ReFrame would only say that nothing was selected."""

import re
from collections.abc import Iterator, Sequence

from railyard.cells import RAIL_COUNTS
from railyard.errors import RailyardError, did_you_mean
from railyard.systems import System

#: "ImbUniband%rails=2" or "%rails=[12]": only a plain number can be held against what there is.
_RAILS = re.compile(r"%rails=(?P<count>\d+)(?![\d|*+?{\[])")
_ASSIGNED = re.compile(r"(?:\w+\.)?rails[=:]")


def refuse_unknown(options: Sequence[str], system: System, fabric: str | None = None) -> None:
    """Raise RailyardError where options for ReFrame name a stack or a number of rails that the system lacks.

    ``fabric`` narrows the rails to one fabric's; a pattern that is no regular expression is left to ReFrame.
    """
    for pattern in _values(options, "-p", "--prgenv"):
        if not any(_matches(pattern, stack) for stack in system.stacks):
            raise RailyardError(
                f'-p: found "{pattern}", expected a stack of {system.system}; {did_you_mean(pattern, system.stacks)}'
            )
    fabrics = system.fabrics if fabric is None else {fabric: system.fabrics[fabric]}
    most = max(len(each.rails) for each in fabrics.values())
    counts = [str(count) for count in RAIL_COUNTS if count <= most]
    where = f"{system.system}:{fabric}" if fabric else system.system
    for pattern in _values(options, "-n", "--name"):
        named = _RAILS.search(pattern)
        if named is not None and named["count"] not in counts:
            raise RailyardError(
                f"-n {pattern}: found {named['count']} rails, expected {' or '.join(counts)}, "
                f"for which {where} can have tests"
            )
    for short, long in (("-S", "--setvar"), ("-P", "--parameterize")):
        for assignment in _values(options, short, long):
            if _ASSIGNED.match(assignment):
                raise RailyardError(
                    f"{short} {assignment}: found an assignment of rails, expected a selection: every test has its own "
                    f"number; write -n %rails=N with N {' or '.join(counts)}"
                )


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.match(pattern, name) is not None
    except re.error:
        return True


def _values(options: Sequence[str], short: str, long: str) -> Iterator[str]:
    """Yield each value of an option, in the forms that argparse takes: `-p X`, `-pX`, `--prgenv X`, `--prgenv=X`."""
    for word, following in zip(options, [*options[1:], ""], strict=False):
        if word in (short, long):
            yield following
        elif word.startswith(f"{long}="):
            yield word.removeprefix(f"{long}=")
        elif word.startswith(short) and not word.startswith("--"):
            yield word.removeprefix(short)
