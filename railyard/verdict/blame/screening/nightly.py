"""Which partners each node has tonight: by leaf, what was used least recently first."""

from collections.abc import Iterable, Sequence

from railyard.verdict.blame.screening.model import Network
from railyard.verdict.blame.search.model import Pair, Step


def partners(network: Network, count: int, used: Sequence[Iterable[Pair]] = (), seed: int = 0) -> Step:
    """Return rounds in which each node meets ``count`` partners of other leaves, and one of its own leaf.

    ``used`` has the pairs of earlier nights, the oldest first, by the indices of ``network``'s nodes.
    """
    raise NotImplementedError
