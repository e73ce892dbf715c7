"""This machine as a source: its own /sys and /proc, its search path, and commands with a short time limit."""

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
        """Return the path of a program on the search path, or in /usr/sbin (``ip``, ``ibstat`` in some packages)."""
        return shutil.which(program, path=SEARCH_PATH)

    def run(self, *words: str) -> str | None:
        """Return what a command printed; for ``module`` also what it printed on stderr, where Lmod answers."""
        # `module` is a function of the login shell, not a program.
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
