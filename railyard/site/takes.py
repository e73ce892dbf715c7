"""The numbers of nodes, and of ranks on each, that a check can be asked for, by a system's file or by `-S`."""

from dataclasses import dataclass, field

#: The variables of a check that `-S` sets.
NODES, RANKS = "num_nodes", "ranks_per_node"


@dataclass(frozen=True, slots=True)
class Takes:
    """What a check can be asked for.

    ``nodes`` it has by itself, the fewest where it spans all. ``fewest`` nodes it can be asked for, 0 where it has its
    own number alone; ``even`` numbers alone. A ``swept`` one has a test for each of several numbers, up to ``powers``
    powers of two alone where that is not 0. ``ranks``: whether it takes another number of ranks a node than its own.
    ``idle`` are variables of every check that change nothing of this one, ``variables`` those that do change it.
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
        """Return what it takes in place of so many nodes, None where it takes them."""
        if self.swept:
            return "none: it has a test for each of several numbers, which -P nodes=… chooses"
        if not self.fewest:
            return "the one that it always has" if self.nodes == 1 else f"the {self.nodes} that it always has"
        if asked < self.fewest:
            return f"at least {self.fewest}"
        return "an even number" if self.even and asked % 2 else None

    def why_not_ranks(self, asked: int) -> str | None:
        """Return what it takes in place of so many ranks a node, None where it takes them."""
        if not self.ranks:
            return "none: its ranks a node are always its own"
        return None if asked > 0 else "at least 1"

    def sweeps(self, nodes: int) -> bool:
        """Return whether its sweep can be on so many nodes."""
        return self.swept and (not self.powers or (nodes <= self.powers and not nodes & (nodes - 1)))
