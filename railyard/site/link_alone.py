"""A link that no system's file describes, with equal rails: what a fabric of such a file is to a judgement."""

from dataclasses import dataclass

from railyard.hardware import limits
from railyard.hardware.links import Link


@dataclass(frozen=True, slots=True)
class RailAlone:
    """One rail of a link alone: ``slot`` None means the slot of all rails."""

    name: str
    slot: str | None = None
    rails_per_card: int = 1
    rails_per_port: int = 1
    bonded_ports: int = 1


@dataclass(frozen=True, slots=True)
class LinkAlone:
    """A link, and for each rail a card in ``slot`` (None: unknown, and it bounds nothing). ``mtu`` None: its largest.

    It is not a ``Fabric``, so that a judgement without a system does not load what reads systems' files.
    """

    link: Link
    rails: tuple[RailAlone, ...]
    slot: str | None = None
    mtu: int | None = None
    max_payload: int = limits.DEFAULT_MAX_PAYLOAD
    blocking: float = 1.0

    def used_rails(self, rails: int, policy: str = "") -> tuple[RailAlone, ...]:
        """Return the first rails; all policies use them alike. Raises ValueError for more rails than there are."""
        if not 1 <= rails <= len(self.rails):
            raise ValueError(f"{rails} rails of {len(self.rails)}")
        return self.rails[:rails]

    def limit(self, rails: int, directions: int, one_stream: bool = False, policy: str = "") -> limits.Limit | None:
        """Return the physical bound of so many rails, or None if the link's rate is unknown."""
        return limits.limit_of_rails(self, self.used_rails(rails, policy), directions, one_stream)

    def message_limit(self, rails: int, directions: int, policy: str = "") -> limits.MessageLimit | None:
        """Return the most messages that so many rails carry per second, or None if no link bounds them."""
        return limits.message_limit_of_rails(self, self.used_rails(rails, policy), directions)


def link_alone(link: Link, rails: int = 1, slot: str | None = None, mtu: int | None = None) -> LinkAlone:
    """Return a link with so many equal rails, at least 1."""
    return LinkAlone(link, tuple(RailAlone(f"rail{number}") for number in range(rails)), slot, mtu)
