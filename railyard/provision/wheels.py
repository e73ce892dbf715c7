"""The wheels of a lock: unpacked into a prefix, or kept in a folder that can be carried. Each file has its hash."""

import subprocess
import sys
import tempfile
from pathlib import Path

from railyard.base.errors import SetupError


def install(lock: Path, prefix: Path, *, carried: Path | None = None) -> None:
    """Unpack the wheels of a lock into a prefix: only what it names, each file compared with its hash.

    ``carried`` is a folder of wheels to take them from; None takes them from the index that pip is configured with.
    Raises SetupError with pip's own reason.
    """
    _pip("install", lock, "--ignore-installed", "--no-compile", "--prefix", str(prefix), carried=carried)


def download(lock: Path, folder: Path, *, carried: Path | None = None) -> None:
    """Put the wheels of a lock into a folder. Raises SetupError as ``install``."""
    _pip("download", lock, "--dest", str(folder), carried=carried)


def _pip(verb: str, lock: Path, *words: str, carried: Path | None) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", verb, "--quiet", "--no-input"]
    command += ["--require-hashes", "--no-deps", "--only-binary", ":all:", *words]
    command += ["--requirement", str(lock)]
    command += [] if carried is None else ["--no-index", "--find-links", str(carried)]
    answer = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if answer.returncode != 0:
        raise SetupError(
            f"{lock}: pip could not {verb} it: {last_line(answer.stderr)}; the whole of it is said by: "
            f"{sys.executable} -m pip download --no-deps --require-hashes --dest {tempfile.gettempdir()} -r {lock}"
        )


def last_line(text: str) -> str:
    """Return the last line that says something: where pip and the interpreter put the reason."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
