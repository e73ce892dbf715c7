"""What a program on PATH says of itself: a second look at what Spack's own detection passes over.

spack-packages v2026.06 sees no Open MPI at all on Spack 1.2: its recipe stops with an AttributeError, which
``spack external find`` swallows ("No new external packages detected").

To add one: a line in PROGRAMS.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 20


@dataclass(frozen=True, slots=True)
class Program:
    """A program that belongs to a package: how it is asked for its version, and how it answers."""

    package: str
    names: tuple[str, ...]
    words: tuple[str, ...]
    answer: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Seen:
    """A package that is there, with the version that its program printed."""

    package: str
    version: str
    prefix: str


PROGRAMS: tuple[Program, ...] = (
    Program("openmpi", ("ompi_info",), ("--version",), re.compile(r"^Open MPI v(\S+)", re.MULTILINE)),
    # Debian keeps MPICH's programs beside Open MPI's under names of their own.
    Program("mpich", ("mpichversion", "mpichversion.mpich"), (), re.compile(r"^MPICH Version:\s+(\S+)", re.MULTILINE)),
    Program("mvapich", ("mpichversion",), (), re.compile(r"^MVAPICH Version:\s+(\S+)", re.MULTILINE)),
    Program("mvapich2", ("mpichversion",), (), re.compile(r"^MVAPICH2 Version:\s+(\S+)", re.MULTILINE)),
    Program(
        "intel-oneapi-mpi",
        ("mpirun",),
        ("--version",),
        re.compile(r"Intel\(R\) MPI Library[^\n]*Version ([0-9][\w.]*)"),
    ),
    Program("ucx", ("ucx_info",), ("-v",), re.compile(r"(?:Library version: |UCT version=)(\d[\w.]*)")),
    Program("libfabric", ("fi_info",), ("--version",), re.compile(r"^libfabric: (\d[\w.]*)", re.MULTILINE)),
    Program("slurm", ("sinfo", "srun"), ("--version",), re.compile(r"^slurm(?:-wlm)? (\d[\w.]*)", re.MULTILINE)),
    Program("pmix", ("pmix_info",), ("--version",), re.compile(r"PMIx:? v?(\d[\w.]*)")),
)


def seen() -> tuple[Seen, ...]:
    """Return each package whose program is on PATH and says its version."""
    found = [_asked(program, name) for program in PROGRAMS for name in program.names]
    first: dict[tuple[str, str], Seen] = {}
    for each in found:
        if each is not None:
            first.setdefault((each.package, each.prefix), each)
    return tuple(first.values())


def _asked(program: Program, name: str) -> Seen | None:
    path = shutil.which(name)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, *program.words], capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    answer = program.answer.search(done.stdout + done.stderr)
    return Seen(program.package, answer[1], str(Path(path).resolve().parents[1])) if answer else None
