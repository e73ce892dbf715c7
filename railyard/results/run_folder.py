"""Where a test's record and output go: the run's folder, given by `railyard run`, else one per ReFrame session."""

import os
import re
import secrets
from contextlib import AbstractContextManager
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.files import read_bounded
from railyard.base.paths import runs_folder
from railyard.base.variables import with_variables
from railyard.results.record.kept_test import KeptTest, kept_path
from railyard.results.record.masking import mask_text
from railyard.results.record.pair_rows import PackedRows, write
from railyard.results.record.run_promise import ENDED_FILE_NAME

#: `railyard run` sets these for its ReFrame: the id and the folder of the run that every test belongs to.
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
    """Return the folder of the run that this process belongs to; it is created if it is missing.

    Raises SetupError for a run that has ended: its variables were left in the environment by an earlier session.
    """
    given = os.environ.get(RUN_FOLDER_VARIABLE)
    folder = Path(given) if given else runs_folder(home) / run_id()
    if (folder / ENDED_FILE_NAME).exists():
        raise SetupError(
            f"{RUN_FOLDER_VARIABLE}: found {folder}, a run that has ended, expected a running one; "
            f"type: unset {RUN_VARIABLE} {RUN_FOLDER_VARIABLE}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def as_run(run: str, folder: Path) -> AbstractContextManager[None]:
    """Make this process belong to a run while the block runs, whatever it belongs to otherwise."""
    return with_variables({RUN_VARIABLE: run, RUN_FOLDER_VARIABLE: str(folder)})


def file_name(case: str) -> str:
    """Return a file name for a case: one word, without characters that trouble a shell or a file system."""
    return _NOT_IN_A_FILE_NAME.sub("_", case).strip("_")


def keep_output(home: Path, case: str, stdout: Path, rows: Path | None = None) -> str | None:
    """Copy a job's output into the run's folder and return its path relative to that; None if there is none.

    ``rows`` is the error output, if the tool prints its rows there; it is appended. Secrets, known by name or form, are
    masked: a program in verbose mode may print its environment. Of an output that is too long, both ends are kept.
    """
    if not stdout.is_file():
        return None
    folder = run_folder(home)
    kept = folder / "outputs" / f"{file_name(case)}.out"
    kept.parent.mkdir(exist_ok=True)
    content = read_bounded(stdout).content
    if rows is not None and rows.is_file():
        content += b"\n" + read_bounded(rows).content
    # Latin-1 has a character for each byte, so every other byte stays as it was.
    kept.write_bytes(mask_text(content.decode("latin-1")).encode("latin-1"))
    return str(kept.relative_to(folder))


def keep_pairs(home: Path, file: PackedRows) -> None:
    """Write the rows of pairs beside the run's records. Raises SetupError if they cannot be written."""
    write(run_folder(home), file)


def keep_beside(home: Path, output: str, kept: KeptTest) -> None:
    """Write what is kept of a test beside its output; ``output`` is the path in its record.

    Raises SetupError if the file cannot be written.
    """
    file = kept_path(run_folder(home) / output)
    try:
        file.write_text(kept.to_text(), encoding="utf-8")
    except OSError as error:
        found = (error.strerror or str(error)).lower()
        raise SetupError(f"{file}: found {found}, expected to write there what the test was given") from error
