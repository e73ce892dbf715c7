"""Proves what a build produced: each benchmark's executables are there, and linked to the MPI that its stack names."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.benchmarks import model
from railyard.benchmarks.tools import TOOLS
from railyard.provision.kept_files import read_kept
from railyard.provision.spack import marker
from railyard.provision.spack.libraries import libraries
from railyard.provision.spack.locks import Lock
from railyard.provision.spack.marker import Executable, Library, Package
from railyard.provision.spack.request import Request
from railyard.stacks import linkage, table

_ADVICE = {
    "MPI": "give each MPI library a prefix of its own in the overlay",
    "library": "check what its package depends on in spack_envs/ and in the overlay",
}


@dataclass(frozen=True, slots=True)
class ProvenBuild:
    """The proven build. ``mpi`` is the name and version of its MPI, ``tools`` maps a tool to its executable or folder.

    A stack without MPI has neither: ``mpi`` and ``mpi_prefix`` are empty.
    """

    mpi: str
    mpi_prefix: str
    tools: Mapping[str, str]
    executables: tuple[Executable, ...]
    libraries: tuple[Library, ...]


def prove(request: Request, lock: Lock, packages: tuple[Package, ...]) -> ProvenBuild:
    """Return a build's result if each executable is there and linked to the stack's MPI. Else raises SetupError."""
    prefix = None if table.STACKS[request.stack].pair else _mpi_prefix(request, lock, packages)
    tools: dict[str, str] = {}
    executables: list[Executable] = []
    for name in request.tools:
        tool = TOOLS[name]
        package = next((each for each in packages if each.name == tool.name), None)
        if package is None:
            raise SetupError(
                f"systems/{request.system}.yaml stacks.{request.stack}.spack.benchmarks: found {name}, but the "
                f"environment has no package {tool.name}; add it to spack_envs/{request.environment}/spack.yaml"
            )
        tools[name] = str(Path(package.prefix) / tool.path)
        executables += _prove_executables(request, tool, package, prefix)
    paths = sorted({path for each in executables for path in each.linked.values()})
    found = tuple(marker.library(path) for path in paths)
    mpi = f"{lock.mpi.name}@{lock.mpi.version}" if prefix is not None and lock.mpi is not None else ""
    return ProvenBuild(mpi, prefix or "", tools, tuple(executables), found)


def _mpi_prefix(request: Request, lock: Lock, packages: tuple[Package, ...]) -> str:
    wanted = table.STACKS[request.stack].spack_package
    mpi = lock.mpi
    if mpi is None or mpi.name != wanted:
        raise SetupError(
            f"spack_envs/{request.environment}: found {mpi.short if mpi else 'no MPI'} as the environment's MPI, "
            f"expected {wanted}: the benchmarks would measure another stack"
        )
    prefix = next((package.prefix for package in packages if package.hash == mpi.hash), None)
    if prefix is None:
        raise SetupError(f"spack find: found no prefix of {mpi.short}, expected the environment's MPI to be installed")
    return prefix


def _prove_executables(
    request: Request, tool: model.Package, package: Package, mpi_prefix: str | None
) -> list[Executable]:
    """Return a tool's executables, each linked to the MPI of that prefix; with None, only to the stack's libraries."""
    sonames = table.STACKS[request.stack].sonames
    proven, is_shown = [], not tool.uses_mpi
    for file in _executables(Path(package.prefix) / tool.path, tool.executables, package, request):
        found = libraries(file)
        if found and (tool.uses_mpi or mpi_prefix is None):
            why = linkage.why_wrong(str(file), found, sonames, mpi_prefix)
            if why is not None:
                what = "MPI" if mpi_prefix else "library"
                raise SetupError(f"wrong {what} linked: {why}; {_ADVICE[what]}")
            is_shown = True
        proven.append(Executable(read_kept(str(file), file), linkage.interesting(found)))
    if not is_shown:
        raise SetupError(
            f"{package.prefix}: found no dynamic program among the executables of {package.name}, expected some that "
            f"are linked to {' or '.join(sonames)}: so nothing shows which MPI they would measure; build them shared"
        )
    return proven


def _executables(path: Path, patterns: tuple[str, ...], package: Package, request: Request) -> list[Path]:
    if patterns:
        missing = [pattern for pattern in patterns if not any(_is_program(file) for file in path.glob(pattern))]
        files = sorted(file for file in path.rglob("*") if _is_program(file))
    else:
        files = [path] if _is_program(path) else []
        missing = [] if files else [path.name]
    if missing:
        raise SetupError(
            f"{package.name}@{package.version}: its install succeeded, but {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} not in {path if patterns else path.parent}; "
            f"the build left {'it' if len(missing) == 1 else 'them'} out: see its log in {package.prefix}/.spack; "
            f"Spack treats it as installed: when you have fixed that, type {request.command} --again"
        )
    return files


def _is_program(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)
