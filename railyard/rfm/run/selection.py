"""What the options of a run select, held against the system: ReFrame would only say that nothing was selected."""

import re
from collections.abc import Iterator, Sequence

from railyard.base.errors import RailyardError, did_you_mean
from railyard.site.matrix import RAIL_COUNTS
from railyard.site.policies import DEFAULT, policies
from railyard.site.systems.model import System

#: "ImbUniband%rails=2" or "%rails=[12]": only a plain number can be held against what there is.
_RAILS = re.compile(r"%rails=(\d+)(?![\d*+?{\[])")
#: "%policy=round-robin"; a test names only what its stack has besides its own policy.
_POLICY = re.compile(r"%policy=([\w-]+)(?![\w*+?{\[.-])")
#: "rails=1,2" or "ImbUniband.rails=1".
_ASSIGNED = re.compile(r"(?:\w+\.)?(?P<name>rails|policy)[=:](?P<values>.*)")


def refuse_unknown(options: Sequence[str], system: System, fabric: str | None = None) -> None:
    """Raise RailyardError where options for ReFrame name a stack, a rail policy or a number of rails that is not there.

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
    named += [(f"-P {text}", _assigned(text, "rails")) for text in _values(options, "-P", "--parameterize")]
    for option, asked in named:
        for count in asked:
            if count not in counts:
                raise RailyardError(
                    f"{option}: found {count} rails, expected {' or '.join(counts)}, for which {where} can have tests"
                )
    _refuse_policies(options, system, tuple(fabrics), where)


def _refuse_policies(options: Sequence[str], system: System, fabrics: Sequence[str], where: str) -> None:
    there = [
        policies(system, fabric, stack, rails)
        for fabric in fabrics
        for stack in system.stacks
        for rails in range(1, len(system.fabrics[fabric].rails) + 1)
        if rails in RAIL_COUNTS
    ]
    known = {DEFAULT, *(policy for each in there for policy in each)}
    named = {policy for each in there for policy in each[1:]}
    asked = [(f"-P {text}", _assigned(text, "policy"), known) for text in _values(options, "-P", "--parameterize")]
    asked += [(f"-n {text}", _POLICY.findall(text), named) for text in _values(options, "-n", "--name")]
    for option, found, allowed in asked:
        for policy in found:
            if policy in allowed:
                continue
            if policy in known:
                raise RailyardError(
                    f"{option}: found {policy}, which stacks of {where} do unasked, so that no test has it in its "
                    f"name; choose it by -P policy={policy}"
                )
            expected = f"a rail policy that a stack of {where} has; {did_you_mean(policy, allowed or known)}"
            raise RailyardError(f'{option}: found "{policy}", expected {expected}')


def _assigned(text: str, name: str) -> list[str]:
    found = _ASSIGNED.fullmatch(text)
    return found["values"].split(",") if found and found["name"] == name else []


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
