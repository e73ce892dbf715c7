"""A matrix of what each pair of ranks or nodes reached, as hp2p and ClusterKit print it: the slowest pair, a slow node.

A cell counts if its row is whole: as many figures as there are rows. A cell of 0 was not measured, as on the diagonal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

#: A node is slow if it reaches less than this share, with every partner, of what the slowest pair of others reaches.
_SLOW = 0.8
_LEAST_NODES = 4  # with three, a slow node leaves one pair to compare with


@dataclass(slots=True)
class PairMatrix:
    """Rows of figures (more is better) while they are read; ``names`` are those of the rows."""

    line: int
    names: list[str] = field(default_factory=list)
    rows: list[tuple[float, ...]] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Return whether there is a figure for each pair."""
        return len(self.rows) > 1 and all(len(row) == len(self.rows) for row in self.rows)

    def pairs(self) -> dict[tuple[int, int], float]:
        """Return the smaller figure of each measured pair, by the places of both; none if the matrix is not whole."""
        found: dict[tuple[int, int], float] = {}
        for place, row in enumerate(self.rows if self.is_whole else ()):
            for other, value in enumerate(row):
                if value > 0 and other != place:
                    key = (min(place, other), max(place, other))
                    found[key] = min(value, found.get(key, value))
        return found

    def has_minimum(self, printed: float, digit: float) -> bool:
        """Return whether the smallest figure is the printed one, within half a digit: the matrix is of this report."""
        return abs(min(self.pairs().values(), default=-1.0) - printed) <= 0.51 * digit

    def smallest(self, printed: float, digit: float) -> str | None:
        """Return the names of the pair that has the printed minimum, within half a digit; None if several have it."""
        at = [pair for pair, value in self.pairs().items() if abs(value - printed) <= 0.51 * digit]
        return ", ".join(self.names[place] for place in at[0]) if len(at) == 1 else None

    def slow_node(self, unit: str) -> str | None:
        """Return a sentence on the node that is slow with every partner; None if there is none."""
        pairs = self.pairs()
        if len(self.rows) < _LEAST_NODES or 2 * len(pairs) != len(self.rows) * (len(self.rows) - 1):
            return None
        for place, name in enumerate(self.names):
            own = [value for pair, value in pairs.items() if place in pair]
            others = [value for pair, value in pairs.items() if place not in pair]
            if max(own) < _SLOW * min(others):
                return (
                    f"{name} is slow with every partner: at best {max(own):g} {unit}, while all other pairs reach at "
                    f"least {min(others):g} {unit}"
                )
        return None


def figures(words: Sequence[str]) -> tuple[float, ...] | None:
    """Return the figures of a row; None if a word is none ("98011.298107.4" are two that touch)."""
    if not all(word.count(".") == 1 and word.replace(".", "").isdigit() and word.isascii() for word in words):
        return None
    return tuple(map(float, words))
