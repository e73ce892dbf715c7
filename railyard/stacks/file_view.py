"""Which files are where a program runs: on this host's file system, or in an image that only a job can look into."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Protocol


class FileView(Protocol):
    """The files as a program sees them."""

    def real(self, path: Path) -> Path:
        """Return a path without symbolic links; the path itself if nobody knows it."""

    def find(self, folder: Path, patterns: Sequence[str]) -> list[Path]:
        """Return the files of these patterns (``lib*/libmpi*.so*``) in a folder."""


class HostFiles:
    """This host's own file system."""

    def real(self, path: Path) -> Path:
        return path.resolve()

    def find(self, folder: Path, patterns: Sequence[str]) -> list[Path]:
        return [file for pattern in patterns for file in folder.glob(pattern)]


HOST = HostFiles()


@dataclass(frozen=True, slots=True)
class ImageFiles:
    """What a job saw inside an image: the real path of each folder and library that it was asked for."""

    links: Mapping[Path, Path]
    files: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Iterable[tuple[str, str]], files: Iterable[tuple[str, str]]) -> "ImageFiles":
        """Return it from pairs of a path and its real path."""
        listed = tuple((Path(path), Path(real)) for path, real in files)
        links = {Path(path): Path(real) for path, real in folders} | dict(listed)
        return cls(links, tuple(dict.fromkeys(path for path, _ in listed)))

    def real(self, path: Path) -> Path:
        return self.links.get(path, path)

    def find(self, folder: Path, patterns: Sequence[str]) -> list[Path]:
        inside = [file for file in self.files if file.is_relative_to(folder)]
        return [file for pattern in patterns for file in inside if _fits(file.relative_to(folder), pattern)]


def _fits(path: PurePath, pattern: str) -> bool:
    parts = PurePath(pattern).parts
    return len(parts) == len(path.parts) and all(map(fnmatchcase, path.parts, parts))
