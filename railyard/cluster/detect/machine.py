"""This machine as a source: its own /sys and /proc, its search path, and commands that are given little time."""

import shutil
import subprocess
from pathlib import Path

from railyard.base.clean_text import clean
from railyard.cluster.detect.source import Folder
from railyard.provision.testbed.needs import SEARCH_PATH

_LIMIT_S = 20


class Machine(Folder):
    """The host, or the node of a job, that this process runs on."""

    def __init__(self) -> None:
        super().__init__(Path("/"))

    def which(self, program: str) -> str | None:
        """Return where a program of the search path lies; /usr/sbin counts (``ip``, ``ibstat`` in some packages)."""
        return shutil.which(program, path=SEARCH_PATH)

    def run(self, *words: str) -> str | None:
        """Return what a command printed; of ``module`` also on its second channel, where Lmod's answers go."""
        # `module` is a function of the login shell and no program.
        command = ["bash", "-lc", " ".join(words)] if words[0] == "module" else list(words)
        if shutil.which(command[0], path=SEARCH_PATH) is None:
            return None
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LIMIT_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode:
            return None
        text = done.stdout + done.stderr if words[0] == "module" else done.stdout
        return clean(text).strip()
