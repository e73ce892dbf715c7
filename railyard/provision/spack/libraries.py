"""Asks the loader, by ``ldd``, which libraries an executable is linked to."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.stacks import linkage

LIMIT_S = 20


def libraries(executable: Path, environment: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """Return the libraries of an executable as the loader would find them; empty for a script or a static program.

    Raises SetupError if ``ldd`` cannot be run on it.
    """
    try:
        done = subprocess.run(
            ["ldd", str(executable)], capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False,
            env={**os.environ, **(environment or {}), "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{executable}: ldd cannot be run on it ({error}), so its libraries are not known") from None
    return linkage.parse(done.stdout)
