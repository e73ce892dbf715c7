"""Builds or finds the environment of (system, stack): once, guarded by a lock, with a proof of the result."""

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.benchmarks import model
from railyard.benchmarks.tools import TOOLS
from railyard.provision.kept_files import read_kept
from railyard.provision.spack import calls, compose, lock_fit, locks, marker, progress
from railyard.provision.spack.build_lock import one_at_a_time
from railyard.provision.spack.calls import Spack
from railyard.provision.spack.locks import Lock
from railyard.provision.spack.marker import Executable, Library, Marker, Package
from railyard.provision.spack.request import Request, ready
from railyard.provision.spack.sources import Sources
from railyard.stacks import linkage, table

LOG = "spack.log"
#: The output of `spack find`: one line per package. A prefix may have blanks, a hash has none.
FIND_FORMAT = "{hash} {prefix}"


_ADVICE = {
    "MPI": "give each MPI library a prefix of its own in the overlay",
    "library": "check what its package depends on in spack_envs/ and in the overlay",
}

LIMIT_S = 20


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


def ensure(request: Request, say: Callable[[str], None], *, verbose: bool = False, again: bool = False) -> Marker:
    """Return the marker of the environment; build it first if it is not there.

    Of two at once, the second waits. ``again`` builds it again, whatever is there. Raises SpackError, SetupError and
    InputError with one sentence each.
    """
    if not again:
        found = ready(request)
        if found is not None:
            return found
    with one_at_a_time(request.place, say) as descriptor:
        if not again:
            found = ready(request)
            if found is not None:
                return found
        sources = request.sources()
        spack = calls.find(request.home, say, verbose, compose.variables(sources), keeps=(descriptor,))
        try:
            return _build(request, sources, spack, again)
        except OSError as error:
            raise SetupError(
                f"{error.filename or request.place}: {(error.strerror or str(error)).lower()} while {request.stack} "
                f"was built; make room or allow writing there, then type: {request.command}"
            ) from None


def _build(request: Request, sources: Sources, spack: Spack, again: bool) -> Marker:
    version = spack.version()
    committed = lock_fit.read_committed(sources)
    start = time.monotonic()
    folder = request.place / sources.key()
    place = compose.write(sources, folder, request.install_tree)
    log = folder / LOG
    spack.say(f"spack: building {request.stack} for {request.system} in {folder}")
    listing = ""
    if committed is None:
        spack.say(f"spack:   solving what it consists of, about {progress.SOLVING_S} s on two cores")
        listing = spack.run(["-e", str(place), "concretize"], log)
    lock_text = (place / "spack.lock").read_text(encoding="utf-8")
    lock = locks.parse(lock_text, str(place / "spack.lock"))
    wanted = progress.to_build(lock, listing)
    spack.say(f"spack:   {progress.promise(wanted)}")
    lines = progress.Progress(wanted, spack.say).line
    spack.run(["-e", str(place), "install", "--fail-fast", *_install_options(committed, again)], log, lines)
    packages = _packages(lock, _prefixes(spack.output(["-e", str(place), "find", "--format", FIND_FORMAT])))
    made = prove(request, lock, packages)
    found = Marker(
        key=folder.name, system=request.system, stack=request.stack, spack=version, target=_target(lock),
        mpi=made.mpi, mpi_prefix=made.mpi_prefix, packages=packages, tools=made.tools, executables=made.executables,
        lock_sha256=hashlib.sha256(lock_text.encode()).hexdigest(), spack_calls=len(spack.calls),
        seconds=round(time.monotonic() - start, 1), built=f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
        libraries=made.libraries,
    )  # fmt: skip
    marker.write(folder, found)
    spack.say(f"spack: {request.stack} for {request.system} built in {progress.duration(found.seconds)}")
    return found


def _install_options(committed: Lock | None, again: bool) -> list[str]:
    """Return options of ``spack install``: a committed lock is the input, and is never concretized again."""
    words = ["--only-concrete"] if committed is not None else []
    # Spack treats what is in its database as installed, whatever became of the files.
    return [*words, "--overwrite", "--yes-to-all"] if again else words


def _prefixes(text: str) -> dict[str, str]:
    pairs = (line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith("==>"))
    return {words[0].lstrip("/"): words[1].strip() for words in pairs if len(words) == 2}


def _packages(lock: Lock, prefixes: dict[str, str]) -> tuple[Package, ...]:
    roots = {key for _, key in lock.roots}
    found = []
    for key, spec in lock.specs.items():
        prefix = spec.external or prefixes.get(key) or prefixes.get(key[:7])
        if prefix is None:
            if key in roots:
                raise SetupError(f"spack find: found no prefix of {spec.short}, expected each root to be installed")
            continue  # a build dependency that Spack did not keep
        found.append(
            Package(spec.name, spec.version, key, prefix, spec.compiler, spec.external is not None, key in roots)
        )
    return tuple(found)


def _target(lock: Lock) -> str:
    roots = [lock.specs[key].target for _, key in lock.roots]
    return roots[0] if roots else ""


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
