"""What two ranks on one processor cost each other: how many times longer the work of one takes."""

from collections.abc import Mapping, Sequence

from railyard.benchmarks.model import Figure, Physics
from railyard.parsers.output import Table

_OTHERS = {"polling": "polls", "yielding": "yields", "receiving": "waits as this library does (MPI_Recv)"}


def figures(tables: Sequence[Table]) -> tuple[Figure, ...]:
    """Return how many times longer the work takes than beside a sleeping rank, for each way of waiting of the other."""
    return tuple(Figure(f"slowdown_{way}", value, "times", None) for way, value in _slowdowns(tables).items())


def remark(tables: Sequence[Table]) -> tuple[str, ...]:
    """Return the same in a sentence; () if it was not measured."""
    found = _slowdowns(tables)
    if not found:
        return ()
    said = ", ".join(f"{value:.2f} if it {_OTHERS[way]}" for way, value in found.items())
    return (f"time of work beside a rank on the same processor, in times of that beside a sleeping rank: {said}",)


def _slowdowns(tables: Sequence[Table]) -> Mapping[str, float]:
    if not tables or len(tables[0].rows) != 1:
        return {}
    took = {
        name: value
        for name, value in zip(tables[0].columns, tables[0].rows[0], strict=True)
        if isinstance(value, float)
    }
    alone = took.get("asleep", 0.0)
    return {way: took[way] / alone for way in _OTHERS if way in took} if alone > 0 else {}


SHARING = Physics(remarks=lambda key, tables: remark(tables), figures=lambda key, tables: figures(tables))
