"""Wheels made on the spot, and locks that name them: pip installs them without any network."""

import hashlib
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path


def make_wheel(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    """Return a wheel with these files, by their paths in it; what lies in a ``bin`` may be run.

    ``{name}-{version}.data/data/bin/x`` goes to ``bin/x`` of the prefix, a bare ``x.py`` is a module.
    """
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (stat.S_IFREG | (0o755 if "/bin/" in path else 0o644)) << 16
            archive.writestr(entry, text)
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return wheel


def lock_line(wheel: Path, digest: str | None = None) -> str:
    """Return a wheel's line of a lock, with another hash than its own where one is given."""
    name, version = wheel.name.split("-")[:2]
    return f"{name}=={version} --hash=sha256:{digest or hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
