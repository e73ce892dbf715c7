"""What the options of a run select, held against the system: ReFrame would only say that nothing was selected."""

import re
from collections.abc import Iterator, Sequence

from railyard.cells import RAIL_COUNTS
from railyard.errors import RailyardError, did_you_mean
from railyard.systems import System

#: "ImbUniband%rails=2" or "%rails=[12]": only a plain number can be held against what there is.
_RAILS = re.compile(r"%rails=(\d+)(?![\d*+?{\[])")
#: "rails=1,2" or "ImbUniband.rails=1".
_ASSIGNED = re.compile(r"(?:\w+\.)?rails[=:](?P<counts>.*)")


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
    counts = [str(count) for count in RAIL_COUNTS if count <= max(most, 1)]
    where = f"{system.system}:{fabric}" if fabric else system.system
    named = [(f"-n {text}", _RAILS.findall(text)) for text in _values(options, "-n", "--name")]
    named += [(f"-P {text}", _assigned(text)) for text in _values(options, "-P", "--parameterize")]
    for option, asked in named:
        for count in asked:
            if count not in counts:
                raise RailyardError(
                    f"{option}: found {count} rails, expected {' or '.join(counts)}, for which {where} can have tests"
                )


def _assigned(text: str) -> list[str]:
    found = _ASSIGNED.fullmatch(text)
    return found["counts"].split(",") if found else []


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
