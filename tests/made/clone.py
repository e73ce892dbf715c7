"""A copy of this clone to which a test may add files, and the commands that a contributor would type in it."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Not copied: caches, builds, and recordings of outputs.
_LEFT = shutil.ignore_patterns(".*", "__pycache__", "recordings", "_build", "dist", "wheelhouse")


def copy_of_clone(folder: Path) -> Path:
    """Return the copy, with its parts in the same places as in the clone; it has no recordings."""
    return Path(shutil.copytree(ROOT, folder / "clone", ignore=_LEFT))


def run_module(clone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Return the result of ``python -m WORDS…`` in the copy, with the copy's own Railyard and no user's settings."""
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(clone), "HOME": str(clone)}
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
