"""What ``gpu_pairs.sh`` prints of a job that measured pairs of nodes between their GPUs: one row a step.

``parse`` returns one table: tool ``nccl``, benchmark the program, and of each step whether it was alone (else at once
with the other pairs of its round), the places of both nodes, the GPU of each (None: all of them), exit code and
seconds. The context has ``hosts``, the nodes in their places, and in ``left`` how many rounds the time did not suffice
for. ``steps_of`` has the same by name.
"""

import re
from types import MappingProxyType
from typing import NamedTuple

from railyard.parsers.lines import first_line
from railyard.parsers.output import Cell, ParsedOutput, ParseError, Table

_HEAD = re.compile(r"^# railyard-gpu-pairs 1 (?P<name>\S{1,80}) (?P<tag>\S{1,80})$")
_NODE = re.compile(r"^# node [0-9]{1,6} (?P<node>\S{1,255})$")
# rounds 0 1 all 0 12
_ROW = re.compile(
    r"^(?P<stage>rounds|alone) (?P<first>[0-9]{1,6}) (?P<second>[0-9]{1,6}) (?P<gpu>all|[0-9]{1,4}) "
    r"(?P<code>[0-9]{1,3}) (?P<seconds>[0-9]{1,7})$"
)
_LEFT = re.compile(r"^# stopped: (?P<left>[0-9]{1,7}) rounds left$")
_END = re.compile(r"^# end: (?P<steps>[0-9]{1,7}) steps$")
COLUMNS = ("alone", "first", "second", "gpu", "exit", "seconds")
#: The folder of the steps' logs and counters, beside the job's script.
FOLDER = "gpu-pairs"


class Step(NamedTuple):
    """One step: its name, both nodes, the GPU of each (None: all), exit code and seconds."""

    name: str
    alone: bool
    first: str
    second: str
    gpu: int | None
    exit_code: int
    seconds: int

    @property
    def log(self) -> str:
        """The name of its log, in the job's folder."""
        return f"{FOLDER}/{self.name}.log"


def parse(text: str) -> ParsedOutput:
    """Return the steps of a job; complete with the end, and as many rows as that says.

    Raises ParseError where the text has no heading of such a job.
    """
    lines = text.splitlines()
    head = next(((at, found) for at, line in enumerate(lines, 1) if (found := _HEAD.match(line))), None)
    if head is None:
        first = first_line(text)
        raise ParseError(first.number, first.text, 'the steps of a job of pairs: "# railyard-gpu-pairs 1 NAME TAG"')
    rows = [_row(found) for line in lines if (found := _ROW.match(line))]
    nodes = [found["node"] for line in lines if (found := _NODE.match(line))]
    left = sum(int(found["left"]) for line in lines if (found := _LEFT.match(line)))
    ended = [int(found["steps"]) for line in lines if (found := _END.match(line))]
    table = Table(
        tool="nccl",
        version=None,
        benchmark=head[1]["name"],
        columns=COLUMNS,
        units=(None, None, None, None, None, "s"),
        rows=tuple(rows),
        line=head[0],
        complete=ended == [len(rows)],
        context=MappingProxyType({"hosts": " ".join(nodes), "left": left}),
    )
    return ParsedOutput((table,))


def steps_of(table: Table) -> tuple[Step, ...]:
    """Return the steps of a table, in the order of its rows; those of a node that it does not name are left out."""
    hosts = str(table.context.get("hosts", "")).split()
    found = []
    for alone, first, second, gpu, code, seconds in table.rows:
        places = [place for place in (first, second) if isinstance(place, int) and place < len(hosts)]
        if len(places) == 2 and isinstance(code, int) and isinstance(seconds, int):
            a, b = (hosts[place] for place in places)
            which = gpu if isinstance(gpu, int) else None
            name = f"{'alone' if alone else 'rounds'}-{a}_{b}{'' if which is None else f'-gpu{which}'}"
            found.append(Step(name, bool(alone), a, b, which, code, seconds))
    return tuple(found)


def _row(found: re.Match[str]) -> tuple[Cell, ...]:
    gpu = None if found["gpu"] == "all" else int(found["gpu"])
    numbers = (int(found[name]) for name in ("code", "seconds"))
    return (found["stage"] == "alone", int(found["first"]), int(found["second"]), gpu, *numbers)
