"""The index of all stored results: a disposable SQLite table made from the record files, and updated when they change.

The files of records are the truth. The index has the searchable columns, and the position of each record in its file.
It is read completely into memory, updated there, and written back as a new file that replaces the old one. So it never
needs SQLite's locks, which are unreliable on NFS and Lustre. If two processes do this at once, only the work of one is
lost. An index that is missing, damaged or of another version is made again.

Runs by name: a folder, the id of a stored run or its beginning, a pattern over ids, ``last`` or ``last5``.

Also which records of a run count: the last of each case, and failures before a later pass.
"""

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any

from railyard.base.errors import InputError, RailyardError, did_you_mean
from railyard.base.terminal import track
from railyard.results.record.file import (
    LineError,
    content_of,
    files_of_runs,
    has_records,
    lines_of,
    read_records,
    why_rows_lost,
)
from railyard.results.record.form import FAILING, STATES, Record

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


INDEX_FILE = "index.sqlite"
#: Raise this with any change of the tables below.
VERSION = 4
#: In place of size, time and inode of a file that could not be read.
_UNREAD = (-1, -1, -1)

#: What a condition may name: the column and its content.
COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "run": "id of the run",
        "time": "when the record was written, UTC, such as 2026-11-21T06:00:12Z",
        "started": "when the test was launched, UTC",
        "test": "the case as ReFrame names it",
        "check_name": "name of the check",
        "system": "system",
        "fabric": "fabric",
        "stack": "MPI stack",
        "rails": "how many rails",
        "policy": "how messages were spread over them",
        "benchmark": "tool and benchmark, such as imb/PingPong",
        "state": ", ".join(STATES),
        "rule": "the first rule that did not hold",
        "class": "class of the failure: fabric, node, set-up …",
        "sentence": "the verdict's sentence",
        "path": "state of the path proof: proven, failed, not-proven, not-judged",
        "replayed": "1 if a recording was played, or a stand-in rehearsed",
        "elapsed_s": "seconds that the test took",
        "attempts": "how many measurements before it were disturbed and so repeated",
        "starved": "share of the time in which its processes waited for a processor, 0 to 1",
        "nodes": "names of its nodes, separated by commas",
        "job_id": "id of the scheduler's job",
        "peak": "key figure: largest bandwidth, MB/s; like each key figure, empty if a replay computed it",
        "n_half": "key figure: message size at half of the peak, B",
        "small_message_latency": "key figure, us",
        "message_rate": "key figure, 1/s",
    }
)
_FIGURES = ("peak", "n_half", "small_message_latency", "message_rate")

_TABLES = f"""
CREATE TABLE files (id INTEGER PRIMARY KEY, place TEXT UNIQUE, size INTEGER, mtime_ns INTEGER, inode INTEGER);
CREATE TABLE problems (file INTEGER, line INTEGER, sentence TEXT);
CREATE TABLE tests (
  id INTEGER PRIMARY KEY, file INTEGER, begins INTEGER, bytes INTEGER, final INTEGER,
  {", ".join(f'"{name}"' for name in COLUMNS)}
);
CREATE INDEX tests_file ON tests (file);
CREATE INDEX tests_where ON tests (system, fabric, stack, benchmark, rails);
PRAGMA user_version = {VERSION};
"""


def open_index(files: Iterable[Path], kept: Path | None) -> sqlite3.Connection:
    """Return the index of these files of records, up to date, in memory; ``kept`` is where it is kept between calls.

    A file that cannot be read is a problem, and is read again at the next call. It is not an error if the index itself
    cannot be read or written.
    """
    index = _load_kept(kept)
    if index is None:
        index = sqlite3.connect(":memory:")
        index.executescript(_TABLES)
    if _bring_up_to_date(index, tuple(files)) and kept is not None:
        _keep(index, kept)
    return index


def _load_kept(kept: Path | None) -> sqlite3.Connection | None:
    """Return the kept index, in memory, if it is complete and of this version; else None."""
    if kept is None or not kept.is_file():
        return None
    index = sqlite3.connect(":memory:")
    try:
        # immutable: nobody writes to this file, it is only replaced; so SQLite takes no lock, which NFS may never grant
        with contextlib.closing(sqlite3.connect(f"{kept.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as disk:
            disk.backup(index)
        version = index.execute("PRAGMA user_version").fetchone()[0]
        if version == VERSION and index.execute("PRAGMA quick_check").fetchone()[0] == "ok":
            return index
    except sqlite3.DatabaseError:  # cut, overwritten, or no database at all
        pass
    index.close()
    return None


def _bring_up_to_date(index: sqlite3.Connection, files: tuple[Path, ...]) -> bool:
    """Read new and changed files, forget removed ones; return whether there were any."""
    known = {row[1]: row for row in index.execute("SELECT id, place, size, mtime_ns, inode FROM files")}
    changed = False
    for path in track(files, "reading runs"):
        try:
            status = path.stat()
        except FileNotFoundError:  # removed since its folder was listed
            continue
        except OSError:  # a stale handle of NFS
            now = _UNREAD
        else:
            now = (status.st_size, status.st_mtime_ns, status.st_ino)
        before = known.pop(str(path), None)
        if before is not None:
            if before[2:] == now != _UNREAD:
                continue
            _forget(index, before[0])
        _add(index, path, now)
        changed = True
    for gone in known.values():
        _forget(index, gone[0])
        changed = True
    index.commit()
    return changed


def _forget(index: sqlite3.Connection, file: int) -> None:
    for table, key in (("tests", "file"), ("problems", "file"), ("files", "id")):
        index.execute(f"DELETE FROM {table} WHERE {key} = ?", (file,))


def _add(index: sqlite3.Connection, path: Path, status: tuple[int, int, int]) -> None:
    file = index.execute(
        "INSERT INTO files (place, size, mtime_ns, inode) VALUES (?, ?, ?, ?)", (str(path), *status)
    ).lastrowid
    rows: list[list[Any]] = []
    records: list[Record] = []
    try:
        content = content_of(path)
    except InputError as error:
        sentence = f"found {error.found}, expected {error.expected}; its tests are missing here"
        index.execute("INSERT INTO problems VALUES (?, NULL, ?)", (file, sentence))
        index.execute("UPDATE files SET size = ?, mtime_ns = ?, inode = ? WHERE id = ?", (*_UNREAD, file))
        return
    for line in lines_of(content):
        try:
            record = line.record(len(records))
        except LineError as error:
            index.execute("INSERT INTO problems VALUES (?, ?, ?)", (file, line.number, str(error)))
            continue
        records.append(record)
        if (lost := why_rows_lost(path.parent, record)) is not None:
            index.execute("INSERT INTO problems VALUES (?, ?, ?)", (file, line.number, lost))
        rows.append([file, line.offset, len(line.content), 0, *map(_sql_value, _row(record))])
    for place in final_of([(one.made.run, one.test.case, one.found.state) for one in records]):
        rows[place][3] = 1
    marks = ", ".join("?" * (4 + len(COLUMNS)))
    names = ", ".join(f'"{name}"' for name in ("file", "begins", "bytes", "final", *COLUMNS))
    index.executemany(f"INSERT INTO tests ({names}) VALUES ({marks})", rows)


def _sql_value(value: object) -> object:
    """Return a value that SQLite takes: its whole numbers have 63 bits and a sign."""
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def _row(record: Record) -> tuple[object, ...]:
    figures = {figure.name: figure.value for figure in reversed(record.found.figures) if not figure.computed}
    return (
        record.made.run,
        record.made.time,
        record.made.started,
        record.test.case,
        record.test.check,
        record.where.system,
        record.where.fabric,
        record.test.stack,
        record.test.rails,
        record.test.policy,
        record.test.benchmark,
        record.found.state,
        record.found.verdict.rule,
        record.found.verdict.class_,
        record.found.verdict.text,
        None if record.how.path_proof is None else record.how.path_proof.state,
        int(record.no_measurement is not None),
        record.made.elapsed_s,
        len(record.how.attempts),
        record.how.starved,
        ",".join(record.where.nodes),
        record.where.job_id,
        *(figures.get(name) for name in _FIGURES),
    )


def _keep(index: sqlite3.Connection, kept: Path) -> None:
    """Replace the index file, completely or not at all."""
    partial = kept.with_name(f".{kept.name}.{os.getpid()}.partial")
    try:
        with contextlib.closing(sqlite3.connect(partial)) as disk:
            index.backup(disk)
        partial.replace(kept)
    except (OSError, sqlite3.Error):  # a read-only store, a full disk: the next call reads the files again
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
