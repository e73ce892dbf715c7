"""The recordings of a system on disk: an output a test, and an index that says what each is and how it was made."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from railyard.base.errors import InputError, SetupError
from railyard.base.json_codec import FormError, decode, encode
from railyard.provision.replay.form import REPLAYED, WORDS, Index, Origin, Played, Recording, file_of, words_of
from railyard.site.test_id import TestId

FOLDER = "recordings"
INDEX_NAME = "index.json"
# History of the format:
#   1  the first
FORMAT = 1
_SHOWN_DIGITS = 12


def folder_of(home: Path, system: str) -> Path:
    """Return the folder of a system's recordings."""
    return home / FOLDER / system


def replayed_from(home: Path, system: str) -> str:
    """Return the sentence that a run of this system begins with: where outputs come from, and of which origin."""
    folder = folder_of(home, system)
    try:
        words = dict.fromkeys(WORDS[one.origin] for one in read_index(folder).recordings)
    except InputError:
        words = {}
    return f"{'; '.join(words) or REPLAYED} (outputs of {FOLDER}/{system}, no path is proven)"


def sha256(content: bytes) -> str:
    """Return the SHA-256 of an output, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def recording_of(test: TestId, text: str, origin: Origin, made_by: str, source: str) -> Recording:
    """Return the line of the index for a text."""
    content = text.encode()
    return Recording(
        test.fabric, test.stack, test.rails, test.check, test.benchmark, file_of(test),
        sha256(content), len(content), origin, made_by, source,
    )  # fmt: skip


def read_index(folder: Path) -> Index:
    """Return the index of a folder of recordings. Raises InputError for one that is missing or not of this form."""
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
    return index


def write_set(folder: Path, made: Iterable[tuple[Recording, str]], instead_of: tuple[Origin, ...] = ()) -> Index:
    """Write texts and their index; recordings that were there stay unless one of the same test is made.

    Those whose origin is one of ``instead_of`` go all the same.

    Raises SetupError where a file cannot be written, InputError where the index that is there cannot be read.
    """
    pairs = list(made)
    before = read_index(folder).recordings if (folder / INDEX_NAME).exists() else ()
    kept = {one.file: one for one in before if one.origin not in instead_of} | {one.file: one for one, _ in pairs}
    index = Index(folder.name, tuple(kept[name] for name in sorted(kept)))
    try:
        for old in before:
            if old.file not in kept:
                (folder / old.file).unlink(missing_ok=True)
        for one, text in pairs:
            path = folder / one.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        document = json.dumps({"format": FORMAT} | encode(index), ensure_ascii=False, indent=1) + "\n"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / INDEX_NAME).write_text(document, encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"{error.filename}: found {(error.strerror or str(error)).lower()}, expected to write a recording there"
        ) from error
    return index


def played(folder: Path, test: TestId, printed: bytes) -> Played:
    """Return what a test was given, held against the index: ``printed`` is what its job printed.

    Never raises: whatever is wrong with a recording is a sentence, with which the test fails.
    """
    try:
        index = read_index(folder)
    except InputError as error:
        return Played(None, str(error))
    where = f"{folder.parent.name}/{folder.name}"
    one = next((one for one in index.recordings if one.file == file_of(test)), None)
    if one is None:
        return Played(
            None,
            f"{where}: found no recording of {words_of(test)}, expected one; record a run of it, or switch it off in "
            f"systems/{folder.name}.yaml (disabled) with the reason",
        )
    return Played(one, _problem(folder, f"{where}/{one.file}", one, test, printed))


def _problem(folder: Path, name: str, one: Recording, test: TestId, printed: bytes) -> str | None:
    if one.benchmark != test.benchmark:
        return f"{name}: found a recording of {one.benchmark}, expected one of {test.benchmark}"
    try:
        content = (folder / one.file).read_bytes()
    except OSError as error:
        found = (error.strerror or str(error)).lower()
        return f"{name}: found {found}, expected the recording that the index lists"
    if sha256(content) != one.sha256:
        if len(content) < one.bytes:
            return f"{name}: found {len(content)} bytes, expected {one.bytes}: the recording is cut"
        return (
            f"{name}: found SHA-256 {sha256(content)[:_SHOWN_DIGITS]}…, expected {one.sha256[:_SHOWN_DIGITS]}…: "
            "the recording was changed after it was made"
        )
    if printed != content:
        return f"{name}: the job printed {len(printed)} bytes, expected the recording's {len(content)} and no other"
    return None
