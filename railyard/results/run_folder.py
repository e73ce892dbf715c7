"""Where a test's record and output go: the run's folder, given by `railyard run`, else one a ReFrame session."""

import os
import re
import secrets
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path

from railyard.base.paths import runs_folder
from railyard.results.record.masking import masked

#: Set by `railyard run` for its ReFrame: the id and the folder of the run that every test belongs to.
RUN_VARIABLE = "RAILYARD_RUN"
RUN_FOLDER_VARIABLE = "RAILYARD_RUN_FOLDER"

_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9.+=-]+")


def new_run_id(now: datetime) -> str:
    """Return a name for a run that sorts by time and is unique between clones: ``20261121T060000Z-1a2b``."""
    return f"{now.astimezone(timezone.utc):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


@lru_cache(maxsize=1)
def _own_run() -> str:
    """Return the run id of a ReFrame session that was started by hand, the same for all its tests."""
    return f"{new_run_id(datetime.now(timezone.utc))}{secrets.token_hex(1)}"


def run_id() -> str:
    """Return the id of the run that this process belongs to."""
    return os.environ.get(RUN_VARIABLE) or _own_run()


def run_folder(home: Path) -> Path:
    """Return the folder of the run that this process belongs to, made where it is not there."""
    given = os.environ.get(RUN_FOLDER_VARIABLE)
    folder = Path(given) if given else runs_folder(home) / run_id()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def file_name(case: str) -> str:
    """Return a file name for a case: one word, without what a shell or a file system would mind."""
    return _NOT_IN_A_FILE_NAME.sub("_", case).strip("_")


def keep_output(home: Path, case: str, stdout: Path, rows: Path | None = None) -> str | None:
    """Copy a job's output into the run's folder and return its path relative to that; None where there is none.

    ``rows`` is its error output, where the tool prints its rows on that: it follows. What is a secret by its name or
    form is masked: a program that is told to be verbose prints its environment.
    """
    if not stdout.is_file():
        return None
    folder = run_folder(home)
    kept = folder / "outputs" / f"{file_name(case)}.out"
    kept.parent.mkdir(exist_ok=True)
    content = stdout.read_bytes()
    if rows is not None and rows.is_file():
        content += b"\n" + rows.read_bytes()
    # Latin-1 has a character for each byte, so that every other byte stays what it was.
    kept.write_bytes(masked(content.decode("latin-1")).encode("latin-1"))
    return str(kept.relative_to(folder))
