"""Which records of a run count: the last of each case, and failures before a later pass."""

from collections.abc import Callable, Sequence
from pathlib import Path

from railyard.results.record.file import read_records
from railyard.results.record.form import FAILING, Record
from railyard.results.store.names import folders_named


def final(records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the last record of each case of a run, in the order in which the cases first came.

    Records that failed or were disturbed stay beside a later pass of the same case: a pass on a retry hides nothing.
    """
    return tuple(
        records[index] for index in final_of([(one.made.run, one.test.case, one.found.state) for one in records])
    )


def final_of(records: Sequence[tuple[str, str, str]]) -> tuple[int, ...]:
    """Return the indices of the records that count, given (run, case, state) of each."""
    kept: dict[tuple[str, str], list[int]] = {}
    for place, (run, case, state) in enumerate(records):
        earlier = kept.setdefault((run, case), [])
        failing = [one for one in earlier if records[one][2] in FAILING]
        earlier[:] = [*(failing if state in ("pass", "report-only") else []), place]
    return tuple(place for last in kept.values() for place in last)


def finals_of_runs(names: Sequence[str], stored: Callable[[], Path], say: Callable[[str], None]) -> tuple[Record, ...]:
    """Return the records that count of every named run, each run once; ``stored`` returns the folder of all runs.

    ``say`` gets a sentence for each line without a record. Raises RailyardError if a name stands for no run.
    """
    records: list[Record] = []
    for folder in folders_named(names, stored):
        read = read_records(folder)
        for problem in read.problems:
            say(problem)
        records += final(read.records)
    return tuple(records)
