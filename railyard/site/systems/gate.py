"""The part `gate` of systems/*.yaml: demands of `railyard gate`, and the commands that drain and resume nodes."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from railyard.base.errors import did_you_mean
from railyard.base.fields import Duration, Model, Positive, Size, refuse, show
from railyard.hardware.counters import DRIVERS
from railyard.site.systems.fields import NodeNames
from railyard.site.systems.jobs import seconds

#: With the start of Python, and the end of what it started, a gate ends within a minute: Slurm kills its
#: HealthCheckProgram after 60 s. The site sets the limit of a prolog (PrologEpilogTimeout).
LONGEST_S = 55
SHORTEST_S = 5
NODE, REASON = "{node}", "{reason}"

_BLANK = re.compile(r"\{[^{}]*\}")
_COUNTERS = frozenset(name for driver in DRIVERS.values() for name in (*driver.errors, *driver.signals))


def _limit(text: str) -> str:
    if SHORTEST_S <= seconds(text) <= LONGEST_S:
        return text
    raise refuse(
        show(text), f"a time from {SHORTEST_S}s to {LONGEST_S}s", "a gate may take a minute with start and end"
    )


def _command(words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        if not word or not word.isprintable():
            raise refuse(show(word), "a word of a command, without control characters")
        unknown = next((blank for blank in _BLANK.findall(word) if blank not in (NODE, REASON)), None)
        if unknown is not None:
            raise refuse(show(word), f"no blanks but {NODE} and {REASON}", did_you_mean(unknown, (NODE, REASON)))
    if words and not any(NODE in word for word in words):
        raise refuse(
            "a command that names no node", f"{NODE} in one of its words", "otherwise it would apply to every node"
        )
    return words


def _counter(name: str) -> str:
    if name in _COUNTERS:
        return name
    raise refuse(
        show(name), "a counter of errors or a signal of docs/reference/counters.md", did_you_mean(name, _COUNTERS)
    )


Limit = Annotated[Duration, AfterValidator(_limit)]
#: The words of a command, as the kernel gets them. No shell reads them.
Command = Annotated[tuple[str, ...], AfterValidator(_command)]
CounterName = Annotated[str, AfterValidator(_counter)]
Growth = Annotated[int, Field(strict=True, ge=0)]


class Gate(Model):
    """What `railyard gate` demands of a node besides its links, slots and counters. All of it may be left out."""

    limit: Limit = Field(
        "50s", description="How long a gate may take, at most 55s. The prolog's own limit must be longer"
    )
    most_bytes: Size = Field(
        4 << 30, description="With --traffic: the most bytes that one gate sends in all its measurements together"
    )
    counters: dict[CounterName, Growth] = Field(
        {},
        description="Counter: by how much it may grow between two gates. Errors that are not named here may not grow",
    )
    loopback_mb_s: Positive | None = Field(
        None, description="What a card's loop to itself must reach, MB/s (10^6 B/s); if left out, it is not measured"
    )
    memory_mb_s: Positive | None = Field(
        None, description="What STREAM's Triad must reach, MB/s (10^6 B/s); if left out, it is not measured"
    )
    pair_mb_s: Positive | None = Field(
        None, description="What a stream to a neighbour must reach, MB/s; if left out: the day-one floor of the link"
    )
    neighbours: NodeNames = Field((), description="Nodes that are known to be good: --neighbour takes one of them")
    drain: Command = Field((), description="Command that drains {node} for {reason}; if left out, no node is drained")
    resume: Command = Field(
        (),
        description="Command that resumes {node} if a gate that drained it finds it fit; if left out, none is resumed",
    )

    @property
    def limit_s(self) -> int:
        """How long a gate may take, in seconds."""
        return seconds(self.limit)
