"""What a program on PATH says about itself: a second look at what Spack's own detection misses.

spack-packages v2026.06 sees no Open MPI at all on Spack 1.2: its recipe stops with an AttributeError, which
``spack external find`` swallows ("No new external packages detected").

An MPI library's programs are in its entry (``railyard/stacks/entries/``); those of other packages are in OTHERS.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from railyard.stacks.model import VersionProgram
from railyard.stacks.table import STACKS

LIMIT_S = 20


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """A package that was found, with the version that its program printed."""

    package: str
    version: str
    prefix: str


#: Packages other than MPI libraries, and the program that prints their version.
OTHERS: tuple[tuple[str, VersionProgram], ...] = (
    ("ucx", VersionProgram(("ucx_info",), r"(?:Library version: |UCT version=)(\d[\w.]*)", ("-v",))),
    ("libfabric", VersionProgram(("fi_info",), r"^libfabric: (\d[\w.]*)", ("--version",))),
    ("slurm", VersionProgram(("sinfo", "srun"), r"^slurm(?:-wlm)? (\d[\w.]*)", ("--version",))),
    ("pmix", VersionProgram(("pmix_info",), r"PMIx:? v?(\d[\w.]*)", ("--version",))),
)
#: Package and program. A library that only its path can tell apart (HPC-X) is left to Spack.
PROGRAMS: tuple[tuple[str, VersionProgram], ...] = (
    *((stack.spack_package, each) for stack in STACKS.values() for each in stack.programs if not each.within),
    *OTHERS,
)


def seen_packages() -> tuple[FoundProgram, ...]:
    """Return each package whose program is on PATH and prints its version."""
    found = [_ask_version(package, program, name) for package, program in PROGRAMS for name in program.names]
    first: dict[tuple[str, str], FoundProgram] = {}
    for each in found:
        if each is not None:
            first.setdefault((each.package, each.prefix), each)
    return tuple(first.values())


def _ask_version(package: str, program: VersionProgram, name: str) -> FoundProgram | None:
    path = shutil.which(name)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, *program.words], capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    answer = re.search(program.answer, done.stdout + done.stderr, re.MULTILINE)
    return FoundProgram(package, answer[1], str(Path(path).resolve().parents[1])) if answer else None
