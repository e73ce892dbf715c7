"""The list of sick parts, format 1: what stored verdicts blame, each part once, over all tests and runs."""

# History of the format (a change that an older reader would misread raises the number; a new key does not):
#   1  the first.

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from railyard.base.json_codec import encode
from railyard.results.record.form import FaultClass

FORMAT = 1

#: The kinds of parts: a whole node; one rail of a node; one GPU of a node with its path; a path between two nodes; the
#: switch of a rail; a leaf switch; a cable between a leaf switch and a spine.
Kind = Literal["node", "rail", "gpu", "pair", "switch", "leaf", "up-link"]
#: How sure the surest verdict is; "named": the verdicts blame the part, but do not say how sure they are.
Sure = Literal["shown", "likely", "named", "open"]
#: "passed since": the same benchmark failed because of the part, and passed over it later.
State = Literal["sick", "passed since"]

Extra = Mapping[str, object]  # keys of a newer Railyard that this one does not know


@dataclass(frozen=True, slots=True)
class SeenTest:
    """One test that blames a part, or that passed over it: its run, its name, and when it was recorded (UTC)."""

    run: str
    test: str
    time: str
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class SickPart:
    """One part, with the evidence of the newest verdict that blames it.

    ``node`` is its node, None for a part that does not belong to a node. ``nodes`` are the nodes that it concerns: the
    two of a pair, or all nodes of a leaf that the verdict names. ``rail`` is the name of a rail, ``part`` that of a
    GPU, a leaf or an up-link. ``sentence`` is the verdict's, its failure's class ``class``, and ``look_at`` what to
    look at next. ``first`` and ``last`` are the oldest and the newest test that blames it; ``runs`` are all runs that
    do, ``tests`` the names of all tests, the newest first. ``passed`` is the newest test that has passed over it since
    and is like one that blamed it: same fabric, benchmark, rails and policy.
    """

    system: str
    kind: Kind
    name: str
    evidence: str
    sentence: str
    confidence: Sure
    state: State
    first: SeenTest
    last: SeenTest
    node: str | None = None
    nodes: tuple[str, ...] = ()
    rail: str | None = None
    part: str | None = None
    class_: FaultClass | None = None
    look_at: str | None = None
    runs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    passed: SeenTest | None = None
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class SickList:
    """All requested sick parts, the newest first, and sentences on what is not in the list.

    ``made`` is when the list was made (UTC), ``tests`` the number of stored tests behind it.
    """

    made: str
    tests: int
    sick: tuple[SickPart, ...] = ()
    left_out: tuple[str, ...] = ()
    extra: Extra = field(default_factory=dict, kw_only=True)

    def to_json(self) -> dict[str, Any]:
        """Return the list as JSON values, ``format`` first."""
        values: dict[str, Any] = encode(self)
        return {"format": FORMAT} | values
