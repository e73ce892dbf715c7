"""Files and links of a synthetic /sys, collected by path and given to a node as one archive. Pure."""

import io
import posixpath
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Tree:
    """Files by path below /sys, each with its text, and links with their target path (also below /sys)."""

    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def put(self, folder: str, values: Mapping[str, str | int]) -> None:
        """Add files to a folder."""
        self.files.update({f"{folder}/{name}": str(value) for name, value in values.items()})

    def link(self, path: str, target: str) -> None:
        """Add a link."""
        self.links[path] = target

    def archive(self) -> bytes:
        """Return all of it as a tar archive. Like the kernel's, files end with a newline, except empty ones."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for path, text in self.files.items():
                data = f"{text}\n".encode() if text else b""
                archive.addfile(_entry(path, 0o644, size=len(data)), io.BytesIO(data))
            for path, target in self.links.items():
                archive.addfile(_entry(path, 0o777, linkname=posixpath.relpath(target, posixpath.dirname(path))))
        return out.getvalue()


def _entry(path: str, mode: int, size: int = 0, linkname: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.mode, entry.size, entry.linkname = mode, size, linkname
    entry.type = tarfile.SYMTYPE if linkname else tarfile.REGTYPE
    return entry
