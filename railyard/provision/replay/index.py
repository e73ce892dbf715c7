"""The recordings of a system on disk: one output per test, and an index that says what each is and how it was made.

If a test's counters were read, a second file is beside its output: ``CHECK.json``
(``railyard.results.run_folder``). It has the benchmark's words, the texts of its input files such as
``sizes.txt``, and what each device of each node moved (nodes in the order of the ranks); then the device of each rank,
and what the nodes said about themselves. A rehearsal uses it to play an output (``railyard rehearse --recording``); a
replay does not need it. A recording without this file, such as an older one, has no key ``kept`` in the index.

A real run's outputs as recordings: scrubbed, and checked to give exactly the curves of the run.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath

from railyard.base.errors import InputError, RailyardError, SetupError
from railyard.base.files import read_regular
from railyard.base.json_codec import FormError, decode, encode
from railyard.benchmarks.table.applications import installed_name
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.provision.replay.form import (
    REPLAYED,
    WORDS,
    Index,
    KeptFile,
    Origin,
    PlayedTest,
    Recording,
    file_of,
    words_of,
)
from railyard.results.record.file import read_records
from railyard.results.record.form import Record
from railyard.results.run_folder import KeptTest, kept_output, kept_path, read
from railyard.results.run_folder import read as read_kept
from railyard.results.store.exchange import scrub_text
from railyard.site.test_id import TestId, check_of

FOLDER = "recordings"
INDEX_NAME = "index.json"
# History of the format:
#   1  the first
FORMAT = 1
_SHOWN_DIGITS = 12


def folder_of(home: Path, system: str) -> Path:
    """Return the folder of a system's recordings."""
    return home / FOLDER / system


def replay_origin(home: Path, system: str) -> str:
    """Return the sentence at the beginning of a run of this system: where its outputs come from, and their origin."""
    folder = folder_of(home, system)
    try:
        words = dict.fromkeys(WORDS[one.origin] for one in read_index(folder).recordings)
    except InputError:
        words = {}
    return f"{'; '.join(words) or REPLAYED} (outputs of {FOLDER}/{system}, no path is proven)"


def sha256(content: bytes) -> str:
    """Return the SHA-256 of an output, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def recording_of(
    test: TestId, text: str, origin: Origin, made_by: str, source: str, kept: str | None = None
) -> Recording:
    """Return the entry of the index for a text; ``kept`` is the text of the file beside it."""
    content, file = text.encode(), file_of(test)
    return Recording(
        test.fabric, test.stack, test.rails, test.check, test.benchmark, file,
        sha256(content), len(content), origin, made_by, source,
        kept=None if kept is None else KeptFile(kept_file_of(file), sha256(kept.encode())),
    )  # fmt: skip


def kept_file_of(file: str) -> str:
    """Return the file of what was kept beside an output; both paths are below the folder of recordings."""
    return kept_path(PurePosixPath(file)).as_posix()


def read_index(folder: Path) -> Index:
    """Return the index of a folder of recordings. Raises InputError if it is missing or does not have this form."""
    file = f"{folder.parent.name}/{folder.name}/{INDEX_NAME}"
    make = f"make the recordings of {folder.name} with `railyard record`"
    try:
        data = json.loads((folder / INDEX_NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(file, "no such file", "the index of the recordings", action=make) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(file, f"no readable JSON ({error})", "the index of the recordings", action=make) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = repr(data.get("format")) if isinstance(data, dict) else "no object"
        raise InputError(file, found, f"format {FORMAT}", field="format", action=make)
    try:
        index = decode(Index, {key: value for key, value in data.items() if key != "format"})
    except FormError as error:
        raise InputError(file, error.found, error.expected, field=error.field, action=make) from None
    if index.system != folder.name:
        raise InputError(file, f'recordings of "{index.system}"', f'"{folder.name}"', field="system")
    for one in index.recordings:
        if one.file != file_of(one.test):
            raise InputError(file, f'"{one.file}"', "the file of its own fabric, stack, rails and check", field="file")
        if one.kept is not None and one.kept.file != kept_file_of(one.file):
            raise InputError(file, f'"{one.kept.file}"', f'"{kept_file_of(one.file)}"', field="kept.file")
    return index


def write_set(
    folder: Path,
    made: Iterable[tuple[Recording, str]],
    instead_of: tuple[Origin, ...] = (),
    kept_texts: Mapping[str, str] | None = None,
) -> Index:
    """Write texts and their index; older recordings stay, unless a new one is of the same test.

    Older ones whose origin is in ``instead_of`` are always removed. ``kept_texts`` are the files of what was kept, by
    name.

    Raises SetupError if a file cannot be written, InputError if the present index cannot be read.
    """
    pairs = list(made)
    before = read_index(folder).recordings if (folder / INDEX_NAME).exists() else ()
    kept = {one.file: one for one in before if one.origin not in instead_of} | {one.file: one for one, _ in pairs}
    index = Index(folder.name, tuple(kept[name] for name in sorted(kept)))
    try:
        for old in before:
            if old.file not in kept:
                (folder / old.file).unlink(missing_ok=True)
            if old.kept is not None and (old.file not in kept or kept[old.file].kept is None):
                (folder / old.kept.file).unlink(missing_ok=True)
        for name, text in (*((one.file, text) for one, text in pairs), *(kept_texts or {}).items()):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        values = encode(index)
        for one in values["recordings"]:
            if one["kept"] is None:
                del one["kept"]
        document = json.dumps({"format": FORMAT} | values, ensure_ascii=False, indent=1) + "\n"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / INDEX_NAME).write_text(document, encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"{error.filename}: found {(error.strerror or str(error)).lower()}, expected to write a recording there"
        ) from error
    return index


def match_index(folder: Path, test: TestId, printed: bytes) -> PlayedTest:
    """Return what a test got, compared with the index: ``printed`` is what its job printed.

    Never raises: any error of a recording becomes a sentence, and the test fails with it.
    """
    try:
        index = read_index(folder)
    except InputError as error:
        return PlayedTest(None, str(error))
    where = f"{folder.parent.name}/{folder.name}"
    one = next((one for one in index.recordings if one.file == file_of(test)), None)
    if one is None:
        return PlayedTest(
            None,
            f"{where}: found no recording of {words_of(test)}, expected one; record a run of it, or switch it off in "
            f"systems/{folder.name}.yaml (disabled) with the reason",
        )
    return PlayedTest(one, _problem(folder, f"{where}/{one.file}", one, test, printed))


def content_of(folder: Path, one: Recording) -> bytes:
    """Return a recording's output. Raises RailyardError if the file is missing or was changed."""
    name = f"{folder.parent.name}/{folder.name}/{one.file}"
    return _read_file(folder / one.file, name, one.sha256, one.bytes)


def read_kept_test(folder: Path, one: Recording) -> KeptTest | None:
    """Return what was kept beside a recording's output, None if nothing was.

    Raises RailyardError if the file is missing, was changed, or cannot be read.
    """
    if one.kept is None:
        return None
    name = f"{folder.parent.name}/{folder.name}/{one.kept.file}"
    return read_kept(_read_file(folder / one.kept.file, name, one.kept.sha256).decode(errors="replace"), name)


def _read_file(path: Path, name: str, expected: str, length: int | None = None) -> bytes:
    """Return a file's content; ``length`` in bytes, if the index has it, shows whether the file is cut."""
    try:
        content = path.read_bytes()
    except OSError as error:
        found = (error.strerror or str(error)).lower()
        raise RailyardError(f"{name}: found {found}, expected the recording that the index lists") from None
    found = sha256(content)
    if found == expected:
        return content
    if length is not None and len(content) < length:
        raise RailyardError(f"{name}: found {len(content)} bytes, expected {length}: the recording is cut")
    raise RailyardError(
        f"{name}: found SHA-256 {found[:_SHOWN_DIGITS]}…, expected {expected[:_SHOWN_DIGITS]}…: "
        "the recording was changed after it was made"
    )


def _problem(folder: Path, name: str, one: Recording, test: TestId, printed: bytes) -> str | None:
    if one.benchmark != test.benchmark:
        return f"{name}: found a recording of {one.benchmark}, expected one of {test.benchmark}"
    try:
        content = content_of(folder, one)
    except RailyardError as error:
        return str(error)
    if printed != content:
        return f"{name}: the job printed {len(printed)} bytes, expected exactly the recording's {len(content)}"
    return None


MADE_BY = "railyard record"


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The result for a run: recordings with their texts, and a sentence for each test without a recording.

    ``kept`` has the texts of other files that a rehearsal needs, by name.
    """

    system: str
    made: tuple[tuple[Recording, str], ...]
    left: tuple[str, ...]
    kept: Mapping[str, str] = field(default_factory=dict)


def recorded_outputs(
    run: Path, parsers: Mapping[str, Callable[[str], ParsedOutput]], hosts: tuple[str, ...], users: tuple[str, ...]
) -> RecordedRun:
    """Return the recordings of a run's folder. ``parsers`` has one per tool; hosts and users are scrubbed.

    Raises InputError if the folder has no records, and RailyardError if none of them can be recorded or a scrubbed
    output no longer says what the run measured.
    """
    records = {record.test.case: record for record in read_records(run).records}
    made: list[tuple[Recording, str]] = []
    left: list[str] = []
    kept_texts: dict[str, str] = {}
    for record in records.values():
        why = _why_not(record, run)
        if why is not None:
            left.append(f"{record.test.case}: {why}")
            continue
        said = partial(scrub_text, hosts=(*record.where.nodes, *hosts), users=users)
        output = kept_output(run, record.made.output)
        assert output is not None, "_why_not was asked"
        raw = read_regular(output).decode(errors="replace")
        text, kept = said(raw), _read_kept(output, record, said)
        _refuse_changed(record, parsers, raw, text)
        one = recording_of(_test(record), text, "recorded", MADE_BY, f"run {record.made.run}", kept)
        made.append((one, text))
        if one.kept is not None and kept is not None:
            kept_texts[one.kept.file] = kept
    if not made:
        raise RailyardError("\n".join((f"{run}: found no output that can be recorded, expected at least one", *left)))
    return RecordedRun(next(iter(records.values())).where.system, tuple(made), tuple(left), kept_texts)


def _read_kept(output: Path, record: Record, said: Callable[[str], str]) -> str | None:
    """Return the text of what the run kept beside an output, changed by ``said``; None if it kept nothing.

    Raises InputError for a file with a wrong form.
    """
    file = kept_path(output)
    if not file.is_file():
        return None
    kept = read(read_regular(file).decode(errors="replace"), str(file))
    return replace(kept, hardware=record.where.hardware).to_text(said)


def _why_not(record: Record, run: Path) -> str | None:
    if record.made.rehearsal is not None:
        return "found a rehearsed test, whose output a stand-in made, expected a measured one"
    if record.made.replayed is not None:
        return f"found a replayed test ({record.made.replayed}), expected a measured one"
    if record.found.state == "not-tested":
        return "it did not run"
    if record.test.benchmark in BENCHMARKS and BENCHMARKS[record.test.benchmark].every_node:
        return "its output names nodes, and recordings hide these names"
    if installed_name(record.test.benchmark) is not None:
        return "the site's own patterns read it, and its output may belong to the vendor"
    if not record.found.curves or kept_output(run, record.made.output) is None:
        return "it left no output with a curve"
    return None


def _test(record: Record) -> TestId:
    return TestId(
        record.where.fabric, record.test.stack, record.test.rails, record.test.benchmark, check_of(record.test.case)
    )


def _refuse_changed(record: Record, parsers: Mapping[str, Callable[[str], ParsedOutput]], raw: str, text: str) -> None:
    """Raise RailyardError if the parser reads other tables from the scrubbed text."""
    parse = parsers.get(record.test.benchmark.partition("/")[0])
    if parse is None:
        raise RailyardError(f"{record.test.case}: found no parser of {record.test.benchmark}, expected one of its tool")
    try:
        before, after = ([(t.benchmark, t.columns, t.rows, t.complete) for t in parse(one).tables]
                         for one in (raw, text))  # fmt: skip
    except ParseError as error:
        raise RailyardError(
            f"{record.test.case}: its output cannot be read ({error}), expected the one that was judged"
        ) from error
    if before != after:
        raise RailyardError(
            f"{record.test.case}: found other tables in its output without names of hosts and users, expected the "
            "same; a name of a host or user is a number or a benchmark's word"
        )
