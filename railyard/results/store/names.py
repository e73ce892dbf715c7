"""Runs by name: a folder, the id of a stored run or its beginning, a pattern over ids, ``last`` or ``last5``.

Also which records of a run count: the last of each case, and failures before a later pass.
"""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from railyard.base.errors import RailyardError, did_you_mean
from railyard.results.record.file import files_of_runs, has_records, read_records
from railyard.results.record.form import FAILING, Record

_LAST = re.compile(r"last(\d*)")


def folders_named(names: Sequence[str], stored: Callable[[], Path]) -> tuple[Path, ...]:
    """Return the folders of several names, each once; ``stored`` gives the folder of all runs.

    A named folder needs no site around it, so ``stored`` is only called for other names. Raises like ``folders``.
    """
    found: list[Path] = []
    for name in names:
        found += [Path(name)] if "/" in name or Path(name).exists() else folders(name, stored())
    return tuple(dict.fromkeys(found))


def folders(name: str, stored: Path) -> tuple[Path, ...]:
    """Return the folders (or files of records) that a name stands for, oldest first; ``stored`` has all runs.

    Raises RailyardError if the name stands for none, or is ambiguous.
    """
    path = Path(name)
    if path.is_file() or has_records(path):
        return (path,)
    runs = {file.parent.name: file.parent for file in files_of_runs(stored)}
    last = _LAST.fullmatch(name)
    if last:
        return _newest(int(last[1] or 1), list(runs.values()), stored)
    if any(sign in name for sign in "*?["):
        found = tuple(run for key, run in runs.items() if fnmatchcase(key, name))
        if not found:
            raise RailyardError(f'"{name}": found no run with this name among {len(runs)} in {stored}, expected one')
        return found
    begun = [key for key in runs if key.startswith(name)] if name else []
    if name in runs or len(begun) == 1:
        return (runs[name] if name in runs else runs[begun[0]],)
    if begun:
        raise RailyardError(
            f'"{name}": found {len(begun)} runs that begin like this, expected one; write {name}* for all of them'
        )
    known = did_you_mean(name, runs) if runs else f"there are no runs in {stored}"
    raise RailyardError(f'"{name}": found no run and no folder with this name, expected one; {known}')


def _newest(count: int, runs: Sequence[Path], stored: Path) -> tuple[Path, ...]:
    if not 0 < count <= len(runs):
        raise RailyardError(f"last{count}: found {len(runs)} stored runs in {stored}, expected {max(1, count)} or more")
    return tuple(runs[-count:])


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
