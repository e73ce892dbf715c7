"""What two ranks on one processor cost one another, in words: how much longer the work of the one takes."""

from collections.abc import Sequence

from railyard.parsers.parsed import Table
from railyard.parsers.sharing import BENCHMARK

KEY = f"sharing/{BENCHMARK}"
_OTHERS = {"polling": "polls", "yielding": "yields", "receiving": "waits as this library does (MPI_Recv)"}


def remark(tables: Sequence[Table]) -> tuple[str, ...]:
    """Return how many times as long the same work took beside a rank that polls, yields or receives as beside one that
    sleeps; () where that was not measured."""
    for table in tables[:1]:
        for row in table.rows[:1]:
            took = {name: value for name, value in zip(table.columns, row, strict=True) if isinstance(value, float)}
            alone = took.get("asleep", 0.0)
            if alone > 0:
                said = [f"{took[way] / alone:.2f} where it {words}" for way, words in _OTHERS.items() if way in took]
                return (
                    f"work beside a rank on the same processor, in times of the same beside a sleeping one: "
                    f"{', '.join(said)}",
                )
    return ()
