"""The part `gate` of systems/*.yaml: demands of `railyard gate`, and the commands that drain and resume nodes."""

from typing import Annotated

from pydantic import AfterValidator, Field

from railyard.base.fields import Duration, Model, Positive, Size
from railyard.base.values import seconds
from railyard.site.systems.fields import NodeNames
from railyard.site.systems.node_checks import check_command, check_gate_counter, check_limit

Limit = Annotated[Duration, AfterValidator(check_limit)]
#: The words of a command, as the kernel gets them. No shell reads them.
Command = Annotated[tuple[str, ...], AfterValidator(check_command)]
CounterName = Annotated[str, AfterValidator(check_gate_counter)]
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
