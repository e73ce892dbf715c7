"""Questions to the store: which runs there are, the requested records, one run by its name.

The answer is also given as one JSON object, for other programs and other sites.

Stored runs and tests as text: one line per run, one line per test, or everything about one test.
"""

import base64
import binascii
import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError, RailyardError, did_you_mean
from railyard.base.hostlist import list_nodes
from railyard.base.paths import runs_folder, state_folder
from railyard.base.values import one_line, utc_time
from railyard.base.wording import count_of, message_size, number
from railyard.results.record import pair_rows
from railyard.results.record.file import LineError, files_of_runs, json_of, read_records, record_of
from railyard.results.record.form import (
    FORMAT,
    PART_OF,
    PROMISED_FILE_NAME,
    STATES,
    DeficitRecord,
    Record,
    RunPromise,
    in_todays_format,
    read_promised,
)
from railyard.results.record.pair_rows import why_unlike
from railyard.results.report.summary import key_figure
from railyard.results.report.text import COMPUTED_WORDS, figure_number
from railyard.results.store.index import COLUMNS, INDEX_FILE, final, folders, open_index

#: Options that name something, and what it must be; each is a column of the store.
_NAMES = {"system": "a system that ran", "fabric": "a fabric of a stored test", "stack": "a stack of a stored test",
          "benchmark": "a benchmark of a stored test"}  # fmt: skip
EMPTY = "found no stored run, expected some; railyard run stores one"
Words = str | tuple[str, ...] | None
#: The key of the files beside records: each by its name, its bytes in base64.
FILES = "files"


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which tests; None allows any value. A tuple allows any of its words.

    ``since`` (included) and ``until`` (excluded) are the beginning of a UTC time, such as 2026-11. ``where`` is a
    condition in SQL over ``COLUMNS``, such as ``peak < 47 AND rails = 2``.
    """

    run: Words = None
    system: Words = None
    fabric: Words = None
    stack: Words = None
    rails: int | tuple[int, ...] | None = None
    policy: Words = None
    benchmark: Words = None
    check: Words = None
    state: Words = None
    since: str | None = None
    until: str | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A stored run: when its first and last record were written, its systems, how many tests are in each state.

    ``counts`` are of the requested tests; ``problems`` name lines of its file without a record. ``promised`` is None if
    the run did not say what it promises.
    """

    run: str
    folder: Path
    began: str
    ended: str
    systems: tuple[str, ...]
    counts: Mapping[str, int]
    problems: tuple[str, ...] = ()
    promised: RunPromise | None = None


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """The requested records, the oldest first, and what could not be read."""

    records: tuple[Record, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its final records, and a sentence for each line without one."""

    run: str
    folder: Path
    records: tuple[Record, ...]
    problems: tuple[str, ...] = ()


def runs(home: Path, wanted: RecordFilter = RecordFilter(), newest: int | None = None) -> tuple[RunSummary, ...]:
    """Return the runs with a wanted test, the oldest first; of these only the ``newest`` ones."""
    index = _index(home)
    condition, values = _condition(wanted)
    rows = _fetch_rows(
        index,
        f"SELECT files.place, run, state, count(*), min(time), max(time), group_concat(DISTINCT system) FROM tests "
        f"JOIN files ON files.id = tests.file WHERE final AND {condition} "
        f"GROUP BY files.place, run, state ORDER BY min(time)",
        values,
        wanted,
    )
    problems = _problems(index)
    grouped: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for path, run, *rest in rows:
        grouped.setdefault((path, run), []).append(tuple(rest))
    found = []
    for (path, run), states in grouped.items():
        found.append(
            RunSummary(
                run,
                Path(path).parent,
                min(each[2] for each in states),
                max(each[3] for each in states),
                tuple(sorted({name for each in states for name in each[4].split(",")})),
                {state: int(each[1]) for state in STATES for each in states if each[0] == state},
                problems.get(path, ()),
                read_promised(Path(path).parent),
            )
        )
    if wanted == RecordFilter():
        found += _without_a_record(home, {one.folder for one in found}, problems)
    found.sort(key=lambda one: (one.began, one.run))
    return tuple(found if newest is None else found[max(0, len(found) - newest) :])


def _without_a_record(
    home: Path, shown: Collection[Path], problems: Mapping[str, tuple[str, ...]]
) -> Iterator[RunSummary]:
    """Yield the runs without a read record: they promised tests, or their file or folder could not be read."""
    told = {Path(path).parent: sentences for path, sentences in problems.items()}
    told |= {folder: (sentence,) for folder, sentence in _unreadable_folders(home)}
    promised = (path.parent for path in runs_folder(home).glob(f"*/{PROMISED_FILE_NAME}"))
    for folder in sorted({*told, *promised} - {*shown}):
        one = read_promised(folder)
        if one is not None:
            yield RunSummary(folder.name, folder, one.began, one.began, (one.system,), {}, told.get(folder, ()), one)
        elif folder in told:
            changed = utc_time(folder.stat().st_mtime)
            yield RunSummary(folder.name, folder, changed, changed, (), {}, told[folder])


def records(
    home: Path, wanted: RecordFilter = RecordFilter(), newest: int | None = None, *, slim: bool = False
) -> FoundRecords:
    """Return the wanted final records, the oldest first; of these only the ``newest`` ones.

    Only their lines are read, each at its position in its file. ``slim`` leaves out pairs of nodes and, for runs over
    many nodes, what each node moved. Then a year of nightly runs over thousands of nodes fits in memory, and
    ``whole_records`` returns what is left out.
    """
    index = _index(home)
    condition, values = _condition(wanted)
    rows = _fetch_rows(
        index,
        f"SELECT files.place, begins, bytes, run, test, time FROM tests JOIN files ON files.id = tests.file "
        f"WHERE final AND {condition} ORDER BY time, run, begins, files.place",
        values,
        wanted,
    )
    rows, copies = _drop_copies(rows)
    if newest is not None:
        rows = rows[max(0, len(rows) - newest) :]
    problems = tuple(sentence for told in _problems(index).values() for sentence in told)
    index.close()
    closed = (sentence for _, sentence in _unreadable_folders(home))
    return FoundRecords(_read([row[:3] for row in rows], slim), (*problems, *closed, *copies))


def whole_records(home: Path, slim: Sequence[Record]) -> tuple[Record, ...]:
    """Return the slim records of ``records`` as they are stored; one that was removed since stays slim."""
    index = _index(home)
    question = (
        "SELECT files.place, begins, bytes FROM tests JOIN files ON files.id = tests.file "
        "WHERE final AND run = ? AND test = ? AND time = ?"
    )
    places = [index.execute(question, (one.made.run, one.test.case, one.made.time)).fetchone() for one in slim]
    index.close()
    return tuple(one if place is None else _read([place])[0] for one, place in zip(slim, places, strict=True))


def _drop_copies(rows: list[tuple[str, ...]]) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Return rows without duplicates from another folder (such as a copied run folder), with sentences about these."""
    first: dict[tuple[str, ...], str] = {}
    kept, copies = [], dict[tuple[str, str], int]()
    for row in rows:
        of = first.setdefault(row[3:], row[0])
        if of == row[0]:
            kept.append(row)
        else:
            copies[row[0], of] = copies.get((row[0], of), 0) + 1
    return kept, tuple(
        f"{path}: found {count_of(count, 'record')} that {of} also has, expected each once; remove the copy"
        for (path, of), count in copies.items()
    )


def values(home: Path, column: str) -> tuple[str, ...]:
    """Return the different values of stored tests in one of ``COLUMNS``, sorted. Raises KeyError for another."""
    if column not in COLUMNS:
        raise KeyError(column)
    rows = _index(home).execute(f"SELECT DISTINCT {column} FROM tests WHERE final ORDER BY {column}")
    return tuple(str(value) for (value,) in rows if value is not None)


def load(home: Path, name: str) -> Run:
    """Return one run by its id, the beginning of its id, ``last``, its folder, its file, or an exported JSON file.

    Raises RailyardError if the name stands for no run, or for several.
    """
    if name.endswith(".json") and Path(name).is_file():
        return _read_export(Path(name))
    found = folders(name, runs_folder(home))
    if len(found) != 1:
        raise RailyardError(f'"{name}": found {len(found)} runs, expected one; name one of them')
    read = read_records(found[0])
    finals = final(read.records)
    folder = found[0] if found[0].is_dir() else found[0].parent
    return Run(finals[0].made.run if finals else folder.name, folder, finals, read.problems)


def _read_export(path: Path) -> Run:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(str(path), f"no readable JSON ({error})", "records as exported") from error
    if not isinstance(data, dict) or not isinstance(data.get("records"), list):
        raise InputError(str(path), "something else", '{"format": …, "records": […]}', action="name an exported file")
    kept: list[Record] = []
    problems: list[str] = []
    files = exported_files(data)
    for place, item in enumerate(data["records"]):
        try:
            kept.append(record_of(item))
        except LineError as error:
            problems.append(f"{path}: records[{place}]: {error}")
            continue
        rows = None if kept[-1].found.pairs is None else kept[-1].found.pairs.rows
        if rows is not None and (why := why_unlike(files.get(rows.file), rows, str(path))) is not None:
            problems.append(f"{path}: records[{place}]: {why}")
    return Run(kept[0].made.run if kept else path.stem, path.parent, final(kept), tuple(problems))


def _index(home: Path) -> sqlite3.Connection:
    folder = runs_folder(home)
    return open_index(files_of_runs(folder), state_folder(home) / INDEX_FILE if folder.is_dir() else None)


def _condition(wanted: RecordFilter) -> tuple[str, list[object]]:
    """Return the condition in SQL, and the values of its marks."""
    parts, values = ["1"], list[object]()
    for field in fields(wanted):
        value = getattr(wanted, field.name)
        if value is None or field.name in ("since", "until", "where"):
            continue
        several = value if isinstance(value, tuple) else (value,)
        column = "check_name" if field.name == "check" else field.name
        parts.append(f"tests.{column} IN ({', '.join('?' * len(several))})")
        values += several
    for name, sign in (("since", ">="), ("until", "<")):
        if getattr(wanted, name) is not None:
            parts.append(f"tests.time {sign} ?")
            values.append(getattr(wanted, name))
    if wanted.where is not None:
        parts.append(f"({wanted.where}\n)")
    return " AND ".join(parts), values


def _fetch_rows(
    index: sqlite3.Connection, sql: str, values: list[object], wanted: RecordFilter
) -> list[tuple[str, ...]]:
    """Return the rows of a read-only question. Raises RailyardError if the caller's condition is wrong."""
    index.set_authorizer(_only_reading)
    try:
        return index.execute(sql, values).fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        if wanted.where is None:
            raise
        unknown = str(error).removeprefix("no such column: ")
        hint = did_you_mean(unknown, COLUMNS) if unknown != str(error) else f"columns: {', '.join(COLUMNS)}"
        raise RailyardError(
            f'--where: found "{wanted.where}" ({error}), expected a condition in SQL such as "peak < 47"; {hint}'
        ) from error
    finally:
        index.set_authorizer(None)


_READING = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE))


def _only_reading(action: int, *about: object) -> int:
    harmful = action == sqlite3.SQLITE_FUNCTION and "load_extension" in about
    return sqlite3.SQLITE_OK if action in _READING and not harmful else sqlite3.SQLITE_DENY


def _problems(index: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    rows = index.execute(
        "SELECT place, line, sentence FROM problems JOIN files ON files.id = problems.file ORDER BY place, line"
    )
    found: dict[str, tuple[str, ...]] = {}
    for path, line, sentence in rows:
        where = path if line is None else f"{path}:{line}"
        found[path] = (*found.get(path, ()), f"{where}: {sentence}")
    return found


def _unreadable_folders(home: Path) -> Iterator[tuple[Path, str]]:
    """Yield each run's folder that this user may not read, with a sentence: nothing else shows that it exists."""
    folder = runs_folder(home)
    for each in sorted(folder.iterdir()) if folder.is_dir() else ():
        if each.is_dir() and not os.access(each, os.R_OK | os.X_OK):
            yield each, f"{each}: found a folder that you may not read, expected a run; its tests are missing here"


def _read(places: list[tuple[str, ...]], slim: bool = False) -> tuple[Record, ...]:
    """Return the records at these places (path, offset, length), in this order; each file is opened once."""
    found: dict[tuple[str, ...], Record] = {}
    by_file: dict[str, list[tuple[str, ...]]] = {}
    for place in places:
        by_file.setdefault(place[0], []).append(place)
    for path, wanted in by_file.items():
        with open(path, "rb") as stream:
            for place in wanted:
                stream.seek(int(place[1]))
                found[place] = _read_one(stream.read(int(place[2])), path, slim)
    return tuple(found[place] for place in places)


def _read_one(content: bytes, path: str, slim: bool) -> Record:
    try:
        data = json_of(content)
        if slim and isinstance(data, dict):
            data = in_todays_format(data)
            found, how = (part if isinstance(part := data.get(name), dict) else {} for name in ("found", "how"))
            found.pop("pairs", None)
            if isinstance(proof := how.get("path_proof"), dict):
                proof.pop("alike", None)
        return record_of(data)
    except ValueError as error:  # also a LineError
        raise RailyardError(
            f"{path}: the records changed while they were read ({error}), expected a file that only grows; try again"
        ) from error


def refuse_unknown(home: Path, chosen: Mapping[str, Collection[str] | str | None]) -> None:
    """Raise RailyardError for the first system, fabric, stack or benchmark that no stored test has.

    ``chosen`` has the options' values, by their names. An empty store refuses nothing: it says that it is empty.
    """
    for name, expected in _NAMES.items():
        given = chosen.get(name) or ()
        asked = (given,) if isinstance(given, str) else tuple(given)
        known = values(home, name) if asked else ()
        unknown = next((word for word in asked if known and word not in known), None)
        if unknown is not None:
            found = f'no run of "{unknown}"' if name == "system" else f'"{unknown}"'
            raise RailyardError(f"--{name}: found {found}, expected {expected}; {did_you_mean(unknown, known)}")


def why_nothing(home: Path) -> str:
    """Return why nothing was found, if each word is known."""
    if not runs(home):
        return f"{runs_folder(home)}: {EMPTY}"
    return "found no stored test of this kind, expected some; leave an option out"


def as_json(records: Sequence[Mapping[str, Any]], files: Mapping[str, bytes] | None = None) -> str:
    """Return the records, and the files that they name, as one object, for `railyard results merge`."""
    values: dict[str, Any] = {"format": FORMAT, "records": list(records)}
    if files:
        values[FILES] = {name: base64.b64encode(content).decode() for name, content in files.items()}
    return json.dumps(values, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def files_of(runs: Path, records: Iterable[Record]) -> dict[str, bytes]:
    """Return the rows of pairs that records name, by file, from the folders of all runs. They contain no names.

    Raises InputError for a file that is missing, cut or different: an export without it could not be judged again.
    """
    found: dict[str, bytes] = {}
    for record in records:
        rows = None if record.found.pairs is None else record.found.pairs.rows
        if rows is not None:
            found[rows.file] = pair_rows.content_of(runs / record.made.run, rows)
    return found


def exported_files(data: object) -> dict[str, bytes]:
    """Return the files in an exported object; a file whose text is not base64 is left out."""
    listed = data.get(FILES) if isinstance(data, dict) else None
    found: dict[str, bytes] = {}
    for name, text in listed.items() if isinstance(listed, dict) else ():
        try:
            found[str(name)] = base64.b64decode(text, validate=True)
        except (binascii.Error, TypeError, ValueError):
            continue
    return found


_HOW: Mapping[str, str] = {
    "killed": "was killed before its end",
    "running": "has not ended yet",
    "ended": "ended before the first one",
}


_PARTS = frozenset(PART_OF.values())
_COMPUTED = "computed, not published"
#: If a list has more parts than this, the text has the first ones, or a summary.
_MOST = 64


def run_lines(found: Sequence[RunSummary]) -> list[str]:
    """Return one line per run: id, when, systems, how many tests are in each state, and what could not be read."""
    width = max(len(one.run) for one in found)
    systems = max(len(", ".join(one.systems)) for one in found)
    lines = []
    for one in found:
        counts = ", ".join(f"{one.counts[state]} {state}" for state in STATES if one.counts.get(state))
        tests = sum(one.counts.values())
        told = ": ".join(filter(None, (count_of(tests, "test"), counts))) + _unfinished_words(one)
        lines.append(f"{one.run:<{width}}  {_minute(one.began)}  {', '.join(one.systems):<{systems}}  {told}")
        lines += [f"{'':{width}}  {sentence}" for sentence in one.problems]
    return lines


def test_lines(records: Sequence[Record]) -> list[str]:
    """Return one line per test: state, fabric, stack, rails, benchmark, key figure, and the verdict's sentence.

    If a figure is marked as computed, the last line says what that means.
    """
    heads = [
        (
            record.found.state,
            record.where.fabric,
            record.test.stack,
            count_of(record.test.rails, "rail"),
            record.test.benchmark,
            "" if (figure := key_figure(record)) is None else f"{figure_number(figure)} {figure.unit}",
        )
        for record in records
    ]
    widths = [max(len(head[column]) for head in heads) for column in range(6)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(head, widths, strict=True))
        + f"  {one_line(record.found.verdict.text)}"
        for head, record in zip(heads, records, strict=True)
    ]
    is_marked = any(figure.computed for record in records if (figure := key_figure(record)) is not None)
    return [*lines, *([COMPUTED_WORDS] if is_marked else [])]


def detail_lines(values: Mapping[str, Any]) -> list[str]:
    """Return everything stored about one test, one line per value; curves have one line per size."""
    lines = [str(values["test"]["case"])]
    for key, value in values.items():
        shown = (
            {name: item for name, item in value.items() if name not in ("case", "curves")} if key in _PARTS else value
        )
        lines += _detail(key, shown, 1)
    for curve in values["found"]["curves"]:
        deficit = curve.get("deficit")
        said = (
            "" if deficit is None else f": {DeficitRecord(deficit['share'], deficit['size'], deficit['repeats']).words}"
        )
        lines.append(f"  {curve['metric']}, {curve['unit']}{said}")
        bounds = [
            band for band in curve["bands"] if any(side != [None] * len(side) for side in (band["low"], band["high"]))
        ]
        for place, (size, value) in enumerate(zip(curve["sizes"], curve["values"], strict=True)):
            made = _COMPUTED if size in curve.get("computed", ()) else ""
            told = ", ".join(filter(None, (made, *(_format_bound(band, place, size) for band in bounds))))
            lines.append(f"    {message_size(size):>10}  {number(value):>10}{f'  ({told})' if told else ''}")
    return lines


def _format_bound(band: Mapping[str, Any], place: int, size: int) -> str:
    if place >= len(band["sizes"]) or band["sizes"][place] != size:
        return ""
    low, high = band["low"][place], band["high"][place]
    parts = [f"at least {number(low)}"] if low is not None else []
    parts += [f"at most {number(high)}"] if high is not None else []
    return f"{' and '.join(parts)}: {band['id']}" if parts else ""


def _detail(key: str, value: Any, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if value is None or value == "" or (isinstance(value, (list, dict)) and not value):
        return
    if isinstance(value, Mapping):
        yield f"{indent}{key}"
        for name, item in value.items():
            yield from _detail(str(name), item, depth + 1)
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        for number_, item in enumerate(value[:_MOST], start=1):
            yield from _detail(f"{key} {number_}", item, depth)
        if len(value) > _MOST:
            yield f"{indent}{key}: {len(value) - _MOST} more (--json prints them)"
    elif isinstance(value, list) and len(value) > _MOST:
        yield f"{indent}{key}: {_summarize(value)}"
    elif isinstance(value, list):
        yield f"{indent}{key}: {('; ' if key == 'remarks' else ' ').join(map(str, value))}"
    else:
        yield f"{indent}{key}: {value}"


def _summarize(values: Sequence[Any]) -> str:
    """Return a summary of thousands of values: nodes as ranges, numbers from the least to the largest."""
    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if not numbers:
        return list_nodes([str(value) for value in values])
    lacking = f", {len(values) - len(numbers)} none" if len(numbers) < len(values) else ""
    return f"{len(values)} values, {min(numbers)} to {max(numbers)}{lacking} (--json prints them)"


def _unfinished_words(one: RunSummary) -> str:
    """Return words for a run that did not reach its end, or that still runs; nothing for any other."""
    if one.promised is None or (one.promised.state == "ended" and one.counts):
        return ""
    return f"; {count_of(len(one.promised.tests), 'test')} promised, the run {_HOW[one.promised.state]}"


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")
