"""A first root file system for Linux: the cpio archive (newc) that the kernel unpacks. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

_FOLDER, _FILE, _LINK = 0o040755, 0o100000, 0o120777
_MAGIC, _TRAILER = b"070701", "TRAILER!!!"


@dataclass(frozen=True, slots=True)
class File:
    """One regular file of the archive."""

    content: bytes
    mode: int = 0o644


def archive(files: Mapping[str, File], links: Mapping[str, str], folders: tuple[str, ...]) -> bytes:
    """Return the archive of these files (path -> file), symbolic links (path -> target) and empty folders.

    Paths are relative; folders above a file are added. The format: Linux Documentation/driver-api/early-userspace/
    buffer-format. The owner is root and the time 0, so the same input gives the same bytes.
    """
    entries: dict[str, tuple[int, bytes]] = {}
    for path in [*files, *links, *(f"{folder}/" for folder in folders)]:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            entries["/".join(parts[:depth])] = (_FOLDER, b"")
    entries |= {path: (_FILE | file.mode, file.content) for path, file in files.items()}
    entries |= {path: (_LINK, target.encode()) for path, target in links.items()}
    made = b"".join(_entry(number, path, *entries[path]) for number, path in enumerate(sorted(entries), 1))
    return made + _entry(0, _TRAILER, 0, b"")


def _entry(inode: int, path: str, mode: int, content: bytes) -> bytes:
    """Return one entry; name and content are each padded to four bytes (the header has 110)."""
    name = path.encode() + b"\0"
    # inode, mode, uid, gid, links, time, size, four numbers of devices, length of the name, check sum (unused)
    fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
    header = _MAGIC + b"".join(b"%08X" % field for field in fields)
    return _pad(header + name) + _pad(content)


def _pad(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
