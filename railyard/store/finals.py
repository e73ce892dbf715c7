"""Which records of a run count: the last of each case, and a failure beside a later pass."""

from collections.abc import Sequence

from railyard.recordform import Record


def final(records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the last record of each case of a run, in the order in which the cases first came.

    A failure stays beside a later pass of the same case: a pass on a retry hides nothing.
    """
    return tuple(records[index] for index in final_of([(one.run, one.case, one.state) for one in records]))


def final_of(records: Sequence[tuple[str, str, str]]) -> tuple[int, ...]:
    """Return the places of the records that count, of (run, case, state) of each."""
    kept: dict[tuple[str, str], list[int]] = {}
    for place, (run, case, state) in enumerate(records):
        earlier = kept.setdefault((run, case), [])
        failed = [one for one in earlier if records[one][2] == "fail"] if state in ("pass", "report-only") else []
        earlier[:] = [*failed, place]
    return tuple(place for last in kept.values() for place in last)
