"""The commit that this Railyard is from: noted in a package when it was built, asked of git in a clone.

``ci/build_hook.py`` loads this file alone, before Railyard is installed. So it imports the standard library only.
"""

import os
import subprocess
from pathlib import Path

#: A file beside ``checks/``. In a clone it has a blank that `git archive` fills; a wheel and an sdist have the commit.
NOTE = "commit.txt"
#: Behind a commit if a file of the clone differs from it.
CHANGED = "+changes"
UNKNOWN = "unknown: "
#: Seconds for git, which looks at each file of the clone.
LIMIT_S = 30


def find_commit(folder: Path) -> str:
    """Return the commit of the files in ``folder``: 40 digits, and ``CHANGED`` if a file differs from it.

    ``folder`` is a clone, an unpacked archive, or the folder with what a wheel ships. If nothing says the commit, the
    text is ``UNKNOWN`` and why.
    """
    if (folder / ".git").exists():  # not in a folder above: an archive may be unpacked into somebody's own clone
        return _ask_git(folder)
    try:
        noted = (folder / NOTE).read_text(encoding="utf-8").strip()
    except OSError:
        noted = ""
    if not noted or noted.startswith("$"):
        return f"{UNKNOWN}there is no clone of git here, and {NOTE} has none"
    return noted


def show_commit(folder: Path) -> str:
    """Return ``find_commit`` for a person: twelve digits, which are enough for git."""
    found = find_commit(folder)
    if found.startswith(UNKNOWN):
        return f"commit {found}"
    return f"commit {found[:12]}{' and changes' if found.endswith(CHANGED) else ''}"


def _ask_git(folder: Path) -> str:
    # Within a hook of git its variables name another repository.
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {"LC_ALL": "C"}
    words = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", f"--dirty={CHANGED}"]
    try:
        done = subprocess.run(words, cwd=folder, env=ours, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except FileNotFoundError:
        return f"{UNKNOWN}git is not on PATH"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{UNKNOWN}git could not be asked ({error})"
    if done.returncode != 0:
        return f"{UNKNOWN}git answered: {' '.join(done.stderr.split()) or f'exit code {done.returncode}'}"
    return done.stdout.strip()
