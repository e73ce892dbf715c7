"""Masks what runs left whose `railyard run` was ended by SIGKILL: nobody masked ReFrame's files of them.

The next `railyard run` in the same store does it. A run counts as killed if the lock of its promise is free and it
never wrote how it ended. Its ReFrame may live a little longer, and its jobs may still read their scripts, so a run in
which a file is younger than ``QUIET_S`` is left to a later command.
"""

import contextlib
import os
import time
from pathlib import Path

from railyard.results.record.masking import mask_files
from railyard.results.record.run_promise import read_promised

#: What ReFrame writes into a run's folder: job scripts and outputs, its report, and what it printed.
REFRAME_FOLDER, REPORT_NAME, LOG_NAME = "reframe", "reframe-report.json", "reframe.log"
QUIET_S = 600


def mask_killed_runs(runs: Path) -> tuple[str, ...]:
    """Mask the files of killed runs of this user below the folder; return a sentence for each that was not masked."""
    left: list[str] = []
    for folder in sorted(runs.glob("*")) if runs.is_dir() else ():
        with contextlib.suppress(OSError):  # it was removed meanwhile
            if _is_killed_and_ours(folder):
                left += mask_files(folder / REFRAME_FOLDER, folder / REPORT_NAME, folder / LOG_NAME)
    return tuple(left)


def _is_killed_and_ours(folder: Path) -> bool:
    if folder.is_symlink() or folder.lstat().st_uid != os.getuid():
        return False
    promised = read_promised(folder)
    if promised is None or promised.state != "killed" or not promised.locks:
        return False
    places = (folder, *folder.rglob("*"))
    return max(path.lstat().st_mtime for path in places) < time.time() - QUIET_S
