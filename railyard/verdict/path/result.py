"""What a path proof says about a run: the record of it, without the counters and comparisons that it came from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from railyard.verdict.wording import path as words
from railyard.verdict.wording import ports

if TYPE_CHECKING:
    from railyard.results.record.form import ProofState, RailTraffic, Suspect


Fault = Literal["fabric", "node", "set-up", "disturbed", "not-proven"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """An IPv4 ``address`` of the node ``owner``: over its ``device``, ``seen_by`` found other hardware at this address.

    ``node`` has that hardware, on ``node_device``; None if none of the nodes that were asked has it.
    """

    address: str
    owner: str
    device: str
    seen_by: str
    hardware: str
    node: str | None = None
    node_device: str | None = None

    @property
    def sentence(self) -> str:
        """Who answers for which node's address, and which node found that."""
        who = ports.place(str(self.node_device), self.node, str(self.node_device)) if self.node else words.a_stranger()
        return words.second_owner(who, self.hardware, self.address, self.owner, self.seen_by, self.device)


@dataclass(frozen=True, slots=True)
class PathProof:
    """Whether the path is proven, the sentence that says so, and every node's bytes.

    ``nodes`` has the bytes of each device, without shares: ``with_shares`` computes these. ``fault`` is set if the path
    failed or is not proven. ``disturbance`` says that an intended rail carried more than the run moved: this is not a
    failure by itself. ``expected_bytes`` is the sum over nodes and both ways. ``resends`` are nodes whose TCP sent more
    segments again than the bound allows. ``one_rail``: only one of several rails was used, and nobody knows whether the
    others should have been. ``uneven``: it failed only because of the shares of its rails, which do not tell who is
    slow. ``lost`` says which links were lost or flapped during the run. ``conflicts``: addresses that two nodes have.
    ``crossed``: two rails whose cables are swapped on one of the run's two nodes.
    """

    state: "ProofState"
    sentence: str
    fault: Fault | None = None
    look_at: str = words.look_at_record()
    suspects: "tuple[Suspect, ...]" = ()
    nodes: "Mapping[str, tuple[RailTraffic, ...]] | None" = None
    expected_bytes: int | None = None
    disturbance: str | None = None
    clocks_khz: Mapping[str, int] = field(default_factory=dict)
    resends: tuple[str, ...] = ()
    one_rail: bool = False
    uneven: bool = False
    lost: str | None = None
    conflicts: "tuple[Conflict, ...]" = ()
    crossed: tuple[str, str] | None = None


def not_judged(reason: str) -> PathProof:
    """Return the proof of a run that has no path to prove, and why; rule 4 decides whether that may pass."""
    return PathProof("not-judged", words.no_path(reason), look_at=words.look_at_counters())


def look_at_owners(seen: Iterable[Conflict]) -> str:
    """Return where to look at next, to find who has these addresses."""
    return words.look_at_owners([one.address for one in seen])
