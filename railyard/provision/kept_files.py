"""What installed files were, by size, times and SHA-256, and which of them have changed.

A file with the same size and times counts as unchanged; for any other file the hash decides. The time of the last
change of state (ctime) is one of them, since a copy may have the modification time of the file that it replaces.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.files import write_whole
from railyard.base.json_codec import FormError, decode, encode

#: The list of a folder's files, in the same folder.
FILE = "railyard-files.json"
FORMAT = 1
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class KeptFile:
    """One file as it was: size in bytes, times in ns, hash of its content."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    sha256: str

    def why_changed(self, now: Path) -> str | None:
        """Return how the present file differs; None if it is the same."""
        try:
            found = now.stat()
            if (found.st_size, found.st_mtime_ns, found.st_ctime_ns) == (self.size, self.mtime_ns, self.ctime_ns):
                return None
            if found.st_size != self.size:
                return f"{self.size} bytes then, {found.st_size} now"
            return None if digest(now) == self.sha256 else f"different content of the same {self.size} bytes"
        except OSError as error:
            return (error.strerror or str(error)).lower()


@dataclass(frozen=True, slots=True)
class _Listing:
    files: tuple[KeptFile, ...]


def read_kept(path: str, now: Path) -> KeptFile:
    """Return what a file is now, under the name ``path``. Raises OSError if it cannot be read."""
    found = now.stat()
    return KeptFile(path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, digest(now))


def digest(file: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal. Raises OSError if it cannot be read."""
    made = hashlib.sha256()
    with file.open("rb") as stream:
        while piece := stream.read(_PIECE):
            made.update(piece)
    return made.hexdigest()


def keep(folder: Path) -> None:
    """Write the list of the programs and libraries of a newly filled folder; for a link, its target counts."""
    write(folder / FILE, [read_kept(str(each.relative_to(folder)), each) for each in _programs_and_libraries(folder)])


def find_changed(folder: Path) -> str | None:
    """Return the first file of a folder that differs from the list, and how; None if none does.

    None too if there is no list. Raises SetupError for a list that cannot be read.
    """
    for each in read(folder / FILE) or ():
        why = each.why_changed(folder / each.path)
        if why is not None:
            return f"{folder / each.path}: has changed since it was installed ({why})"
    return None


def changed_files(file: Path, paths: Iterable[Path]) -> tuple[str, ...]:
    """Return which of a site's own files have changed since the last look, and keep what they are now.

    A site may install again without notice. So a change is reported once, and the first look reports nothing. Files
    that are only on the nodes are left out. Raises SetupError for a list that cannot be read.
    """
    before = {each.path: each for each in read(file) or ()}
    now: list[KeptFile] = []
    said: list[str] = []
    for path in sorted({path for path in paths if path.is_file()}):
        earlier = before.get(str(path))
        why = None if earlier is None else earlier.why_changed(path)
        said += [] if why is None else [f"{path} has changed since the last run with it ({why})"]
        now.append(earlier if earlier is not None and why is None else read_kept(str(path), path))
    if now and tuple(now) != tuple(before.values()):
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, now)
    return tuple(said)


def read(file: Path) -> tuple[KeptFile, ...] | None:
    """Return a list of files; None if there is none. Raises SetupError for one that cannot be read."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return decode(_Listing, {"files": data["files"]}).files
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, FormError) as error:
        raise SetupError(f"{file}: found {error}, expected a list of files; remove it and install again") from None


def write(file: Path, files: Iterable[KeptFile]) -> None:
    """Write a list in one step: it is there completely, or not at all."""
    write_whole(file, json.dumps({"format": FORMAT, "files": [encode(each) for each in files]}))


def _programs_and_libraries(folder: Path) -> Iterator[Path]:
    for each in sorted(folder.rglob("*")):
        if each.is_file() and (os.access(each, os.X_OK) or ".so" in each.suffixes or each.suffix == ".a"):
            yield each
