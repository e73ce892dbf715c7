"""Finds what a system has installed (compilers, MPI, UCX, libfabric, Slurm, PMIx) and writes it as an overlay.

spack-packages v2026.06 sees no Open MPI at all on Spack 1.2: its recipe stops with an AttributeError, which
``spack external find`` swallows ("No new external packages detected").

An MPI library's programs are in its entry (``railyard/stacks/entries/``); those of other packages are in OTHERS.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from railyard.base.errors import InputError
from railyard.base.strict_yaml import load
from railyard.provision.spack.calls import Spack
from railyard.stacks.model import STACKS, VersionProgram

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
COMPILERS = ("gcc", "llvm", "intel-oneapi-compilers", "nvhpc", "aocc")
MPIS = ("openmpi", "mpich", "mvapich", "mvapich2", "intel-oneapi-mpi", "cray-mpich", "hpcx-mpi")
TRANSPORTS = ("ucx", "libfabric", "rdma-core", "slurm", "pmix", "hwloc")
#: What every build needs and every host has; to build it would take longer than all benchmarks.
BUILD_TOOLS = ("gmake", "perl", "autoconf", "automake", "libtool", "m4", "pkgconf", "cmake", "python")


@dataclass(frozen=True, slots=True)
class DetectedPackages:
    """An overlay's packages section, and what a person must check in it before using it."""

    packages: Mapping[str, Any]
    traps: tuple[str, ...]


def detect(spack: Spack) -> DetectedPackages:
    """Return what ``spack external find`` sees, and what it misses. Raises SpackError if Spack fails."""
    with tempfile.TemporaryDirectory(prefix="railyard-detect-") as folder:
        manifest = Path(folder) / "spack.yaml"
        manifest.write_text("spack:\n  specs: []\n  view: false\n", encoding="utf-8")
        spack.output(["-e", folder, "external", "find", *COMPILERS, *MPIS, *TRANSPORTS, *BUILD_TOOLS])
        data = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    packages = add_found_packages(data["spack"].get("packages") or {}, seen_packages())
    return DetectedPackages(_trim_packages(packages), traps(packages))


def add_found_packages(packages: Mapping[str, Any], others: tuple[FoundProgram, ...]) -> dict[str, Any]:
    """Return the packages, plus those that Spack's own detection does not name at the same prefix."""
    found = {name: dict(entry) for name, entry in packages.items()}
    for each in others:
        entry = found.setdefault(each.package, {})
        externals = list(entry.get("externals", ()))
        if all(external.get("prefix") != each.prefix for external in externals):
            externals.append({"spec": f"{each.package}@{each.version}", "prefix": each.prefix})
        entry["externals"] = externals
    return found


def _trim_packages(packages: Mapping[str, Any]) -> dict[str, Any]:
    """Return the packages in the order of the tables. Spack must not build an MPI library in place of the system's."""
    order = [*COMPILERS, *MPIS, *TRANSPORTS, *BUILD_TOOLS]
    found: dict[str, Any] = {}
    for name in sorted(packages, key=lambda name: order.index(name) if name in order else len(order)):
        entry = {key: value for key, value in packages[name].items() if key in ("externals", "buildable")}
        if name in MPIS or name in BUILD_TOOLS:
            entry = {"buildable": False, **entry}
        found[name] = entry
    return found


def traps(packages: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a sentence for each trap: MPI libraries that share a prefix, and one with the prefix /usr."""
    places: dict[str, list[str]] = {}
    for name in MPIS:
        for external in (packages.get(name) or {}).get("externals", ()):
            places.setdefault(str(external.get("prefix")), []).append(str(external.get("spec", name)).split()[0])
    found = []
    for prefix, specs in places.items():
        if len(specs) > 1:
            found.append(
                f"{' and '.join(specs)} share the prefix {prefix}. Its mpicc belongs to one of them, whichever you "
                f"ask for: a benchmark for the other would be silently linked to it; give each a prefix of its own (a "
                f"folder of links to its mpicc, mpicxx, mpif90, mpirun, include and lib), or leave one out"
            )
        elif prefix == "/usr":
            found.append(
                f"{specs[0]} has the prefix /usr, which any other MPI of the system's packages would share: "
                f"give it a prefix of its own before you install a second one"
            )
    return tuple(found)


def overlay_text(system: str, found: DetectedPackages) -> str:
    """Return the overlay as a file to review: what was found, and above it what to check."""
    lines = [
        f"# What `railyard spack detect` found for {system}. Read it before you use it. Look for compilers that",
        "# are not intended, an MPI that the nodes lack, a prefix that compute nodes do not mount.",
    ]
    lines += [f"# TRAP: {sentence}" for sentence in found.traps]
    body = yaml.safe_dump({"packages": dict(found.packages)}, sort_keys=False, width=110)
    return "\n".join([*lines, body])


def write(path: Path, text: str, *, replace: bool) -> None:
    """Write an overlay that does not exist yet, or replace it with ``replace``. Raises InputError if it exists."""
    if path.exists() and not replace:
        raise InputError(
            str(path), "an overlay already", "none, or --replace",
            action="--print shows what would be written; edit the file by hand if that shows more",
        )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    load(path)  # what we write, we can read


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
