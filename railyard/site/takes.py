"""The numbers of nodes, and of ranks on each, that a system's file or `-S` can set for a check."""

from dataclasses import dataclass, field

#: The variables of a check that `-S` sets.
NODES, RANKS = "num_nodes", "ranks_per_node"


@dataclass(frozen=True, slots=True)
class Takes:
    """What can be set for a check.

    ``nodes``: its own number, the minimum if it uses all. ``fewest``: the smallest number that can be set, 0 if it only
    has its own number. ``even``: only even numbers. ``swept``: it has a test for each of several numbers, up to
    ``powers`` only powers of two, if that is not 0. ``ranks``: whether it takes another number of ranks per node than
    its own. ``idle`` are variables of every check that change nothing in this one, ``variables`` those that do change
    it.
    """

    nodes: int = 2
    fewest: int = 0
    even: bool = False
    swept: bool = False
    powers: int = 0
    ranks: bool = False
    idle: frozenset[str] = field(default=frozenset(), compare=False)
    variables: tuple[str, ...] = field(default=(), compare=False)

    def why_not_nodes(self, asked: int) -> str | None:
        """Return what it takes instead of so many nodes, None if it takes them."""
        if self.swept:
            return "none: it has a test for each of several numbers, choose with -P nodes=…"
        if not self.fewest:
            return "1, which it always has" if self.nodes == 1 else f"{self.nodes}, which it always has"
        if asked < self.fewest:
            return f"at least {self.fewest}"
        return "an even number" if self.even and asked % 2 else None

    def why_not_ranks(self, asked: int) -> str | None:
        """Return what it takes instead of so many ranks per node, None if it takes them."""
        if not self.ranks:
            return "none: its number of ranks per node is fixed"
        return None if asked > 0 else "at least 1"

    def sweeps(self, nodes: int) -> bool:
        """Return whether its sweep can run on so many nodes."""
        return self.swept and (not self.powers or (nodes <= self.powers and not nodes & (nodes - 1)))
