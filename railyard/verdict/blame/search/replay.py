"""A search or a screening from stored values: the step that comes next, or the verdict."""

from collections.abc import Generator, Sequence
from typing import TypeVar

from railyard.verdict.blame.search.model import Step

_Given = TypeVar("_Given")
_Verdict = TypeVar("_Verdict")


def replay_steps(asking: Generator[Step, _Given, _Verdict], results: Sequence[_Given], what: str) -> Step | _Verdict:
    """Return what ``asking`` wants next after these results, in the order of its steps, or its verdict.

    Raises ValueError for more results than steps; ``what`` names what had ended: ``search``.
    """
    count = 0
    try:
        step = next(asking)
        for values in results:
            count += 1
            step = asking.send(values)
    except StopIteration as end:
        if count < len(results):
            raise ValueError(f"{len(results)} results, but the {what} ended with result {count}") from None
        found: _Verdict = end.value
        return found
    return step
