"""Gets Spack at a pinned version, and all that a run needs from it before its first test.

Gets Spack, its packages and its solver at pinned versions: from the official places, a mirror or a folder.

What a run needs from Spack before its first test: Spack itself, compilers, and each stack's built environment.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from railyard.base.errors import InputError, RailyardError, SetupError
from railyard.base.files import hold
from railyard.base.paths import find_shipped, why_absent
from railyard.base.strict_yaml import Document
from railyard.base.values import Path_
from railyard.base.wording import listing
from railyard.provision import mpi_prefixes
from railyard.provision.spack import calls, overlay, program
from railyard.provision.spack.build import ensure
from railyard.provision.spack.calls import SpackError
from railyard.provision.spack.request import Request, ready, request_of
from railyard.provision.spack.sources import Sources
from railyard.provision.testbed.lock import measurement_lock
from railyard.site.site import Site
from railyard.stacks.model import STACKS

#: Seconds within which a source must answer: a firewall may silently drop what goes to it.
ANSWER_S = 60
#: A fetch is given up if it moves fewer bytes per second than this for this many seconds.
SLOWEST_B_S, SLOW_S = 1000, 60
#: The hashed lock of Spack's solver.
SOLVER_LOCK = "requirements/spack.txt"


@dataclass(frozen=True, slots=True)
class Pin:
    """One repository at the commit with which Railyard was tried.

    ``fetched_mb`` is the size of a fetch of its newest state only, ``disk_mb`` its size on disk, both in MB, measured
    with this commit.
    """

    name: str
    source: str
    commit: str
    what: str
    fetched_mb: int
    disk_mb: int


SPACK = Pin(
    program.SPACK, "https://github.com/spack/spack.git", "2932d76ece6e101d8e4b2d8477a875638de28ba4",
    "Spack 1.2.0.dev0", 6, 29,
)  # fmt: skip
PACKAGES = Pin(
    program.PACKAGES, "https://github.com/spack/spack-packages.git", "d4f7c711a6a42f1c4d551c8fd10fce9a11340a81",
    "spack-packages v2026.06.0", 13, 104,
)  # fmt: skip
#: Spack's solver clingo with its dependencies, as wheels: MB to fetch.
SOLVER_MB = 2


@dataclass(frozen=True, slots=True)
class Origin:
    """Where everything comes from.

    ``spack`` and ``packages`` are sources for git, None for the official ones. ``wheels`` is a folder with the solver's
    wheels, None for the index that pip is configured with. ``sources`` is a mirror of the benchmarks' sources, None if
    there is none beside them.
    """

    spack: str | None = None
    packages: str | None = None
    wheels: Path | None = None
    sources: Path | None = None


def origin(place: str) -> Origin:
    """Return what a folder or the URL of a mirror has.

    A folder has ``spack`` and ``spack-packages``, and perhaps ``wheels`` and ``sources``. A mirror has ``spack.git``
    and ``spack-packages.git`` below its URL. Raises SetupError for a folder that lacks one of the first two.
    """
    if "://" in place or _is_host_path(place):
        base = place.rstrip("/")
        return Origin(f"{base}/{program.SPACK}.git", f"{base}/{program.PACKAGES}.git")
    folder = Path(place).expanduser().resolve()
    found = {name: _clone_in(folder, name) for name in (program.SPACK, program.PACKAGES)}
    missing = [name for name, clone in found.items() if clone is None]
    if missing:
        raise SetupError(
            f"--from {place}: found no {listing(missing)} in it, expected a folder that railyard spack bootstrap --to "
            "FOLDER filled, or the URL of a mirror"
        )
    held, sources = folder / program.WHEELS, folder / program.SOURCES
    return Origin(
        str(found[program.SPACK]),
        str(found[program.PACKAGES]),
        held if held.is_dir() else None,
        sources if sources.is_dir() else None,
    )


def bootstrap(folder: Path, say: Callable[[str], None], from_: Origin | None = None) -> Path:
    """Get Spack, its packages and its solver into ``folder``, and return the program; says first what it gets.

    What is there already is left alone. A repository is fetched beside its place and renamed into it: it is there as a
    whole, or not at all. Raises SetupError if git is missing, or if a source cannot be reached or lacks the commit.
    """
    given = from_ or Origin()
    pins = (
        replace(SPACK, source=given.spack or SPACK.source),
        replace(PACKAGES, source=given.packages or PACKAGES.source),
    )
    if shutil.which("git") is None:
        raise SetupError(
            "git: found none on PATH, expected git to fetch Spack with; install git, or put a Spack of "
            "your own on PATH (1.1 or newer)"
        )
    with _one_at_a_time(folder, say):
        missing = [pin for pin in pins if not _is_there(folder, pin)]
        for pin in pins:
            if pin not in missing:
                say(f"spack: {pin.what} is in {folder / pin.name} already")
        wants_solver = _wants_solver(folder)
        _announce(folder, missing, wants_solver, given, say)
        for pin in missing:
            _demand_answer(pin)
        for pin in missing:
            _fetch(pin, folder, say)
        if wants_solver:
            _solver(folder, given, say)
        if given.sources is not None:
            _write(folder / program.SPACK / "etc/spack/mirrors.yaml", _mirror(given.sources))
        repository = folder.resolve() / program.PACKAGES / "repos" / "spack_repo" / "builtin"
        # By default Spack clones its packages again, at a branch that moves.
        _write(folder / program.REPOS, {"repos": {"builtin": str(repository)}})
    return folder / program.SPACK / "bin" / "spack"


_CARRY = (
    "without a network, fill a folder elsewhere (railyard spack bootstrap --to FOLDER), bring it here and type: "
    "railyard spack bootstrap --from FOLDER, or --from the URL of a mirror (docs/howto/spack.md, An air-gapped site)"
)


def _is_host_path(place: str) -> bool:
    """Return whether this is git's short form of ssh, ``git@host:path``: there is no such file here."""
    return ":" in place.split("/")[0] and not Path(place).exists()


def _clone_in(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.git") if path.is_dir()), None)


def _is_there(folder: Path, pin: Pin) -> bool:
    place = folder / pin.name
    if place.exists() and not (place / ".git").is_dir():
        raise SetupError(f"{place}: found a folder that is not a clone, expected a clone or no folder; remove it")
    return place.exists() and _git(place, "rev-parse", "HEAD").stdout.strip() == pin.commit


def _announce(folder: Path, missing: list[Pin], solver: bool, given: Origin, say: Callable[[str], None]) -> None:
    if not missing and not solver:
        return
    fetched = sum(pin.fetched_mb for pin in missing) + (SOLVER_MB if solver else 0)
    disk = sum(pin.disk_mb for pin in missing) + (4 * SOLVER_MB if solver else 0)
    say(f"spack: getting into {folder}, once ({fetched} MB to fetch, {disk} MB on disk):")
    for pin in missing:
        say(f"spack:   {pin.what} (commit {pin.commit[:10]}) from {pin.source}")
    if solver:
        say(f"spack:   its solver, clingo, from {given.wheels or 'the package index of pip'}")
    if given.sources is not None:
        say(f"spack: sources of benchmarks come from {given.sources}")


def _demand_answer(pin: Pin) -> None:
    """Raise SetupError if a source does not answer, before anything is fetched from another one."""
    try:
        done = _git(Path(), "ls-remote", "--quiet", pin.source, "HEAD", limit_s=ANSWER_S)
    except subprocess.TimeoutExpired:
        raise _unreachable(pin, f"no answer within {ANSWER_S} s") from None
    if done.returncode != 0:
        raise _unreachable(pin, _reason(done.stderr))


def _fetch(pin: Pin, folder: Path, say: Callable[[str], None]) -> None:
    place, partial = folder / pin.name, folder / f".{pin.name}.part"
    start = time.monotonic()
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    slow = ("-c", f"http.lowSpeedLimit={SLOWEST_B_S}", "-c", f"http.lowSpeedTime={SLOW_S}")
    for words in (
        ("init", "--quiet"),
        (*slow, "fetch", "--quiet", "--depth", "1", pin.source, pin.commit),
        ("checkout", "--quiet", "--force", pin.commit),
    ):
        done = _git(partial, *words)
        if done.returncode != 0:
            shutil.rmtree(partial, ignore_errors=True)
            raise _missing_pin(pin) if "not our ref" in done.stderr else _unreachable(pin, _reason(done.stderr))
    if place.exists():
        shutil.rmtree(place)  # at another commit
    partial.rename(place)
    say(f"spack: {pin.what} is in {place} ({time.monotonic() - start:.0f} s)")


def _unreachable(pin: Pin, reason: str) -> SetupError:
    return SetupError(f"{pin.what} cannot be fetched from {pin.source}: {reason}; {_CARRY}")


def _missing_pin(pin: Pin) -> SetupError:
    return SetupError(
        f"{pin.source}: found no commit {pin.commit}, expected the one of {pin.what} with which Railyard was tried; "
        f"update that mirror; {_CARRY}"
    )


def _wants_solver(folder: Path) -> bool:
    """Return whether to get the solver: not if the user names a Python, which Spack then uses."""
    if program.PYTHON_VARIABLE in os.environ:
        return False
    python = program.solver_of(folder)
    return not (python.exists() and _runs(python, "-c", "import clingo"))


def _solver(folder: Path, given: Origin, say: Callable[[str], None]) -> None:
    """Make a Python with Spack's solver. If pip has none, say so: Spack then fetches its own, or says why it cannot."""
    lock, place, held = find_shipped() / SOLVER_LOCK, folder / program.PYTHON, folder / program.WHEELS
    shutil.rmtree(place, ignore_errors=True)
    try:
        mpi_prefixes.download(lock, held, carried=given.wheels)
        if not _runs(Path(sys.executable), "-m", "venv", "--without-pip", str(place)):
            raise SetupError(f"{sys.executable} -m venv could not make {place}")
        mpi_prefixes.install_wheels(lock, place, carried=held)
    except SetupError as error:
        shutil.rmtree(place, ignore_errors=True)
        say(f"spack: no solver by pip ({error}): Spack will fetch its own at its first call")
        return
    say(f"spack: its solver is in {place}")


def _runs(python: Path, *words: str) -> bool:
    try:
        return subprocess.run([python, *words], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _mirror(sources: Path) -> dict[str, object]:
    return {"mirrors": {"sources": {"url": f"file://{sources}", "binary": False}}}


def _write(file: Path, data: dict[str, object]) -> None:
    partial = file.with_name(f".{file.name}.part")
    partial.write_text(yaml.safe_dump(data), encoding="utf-8")
    partial.replace(file)


@contextmanager
def _one_at_a_time(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise SetupError(
            f"{error.filename or folder}: {(error.strerror or str(error)).lower()}, expected to put Spack there; give "
            "another folder (railyard spack bootstrap --to FOLDER)"
        ) from None
    try:
        hold(descriptor, say, f"spack: another process is getting Spack into {folder}; waiting for it")
        yield
    finally:
        os.close(descriptor)


def _git(place: Path, *words: str, limit_s: int | None = None) -> "subprocess.CompletedProcess[str]":
    """Run git, which never asks a person for a password."""
    silent = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "ssh -o BatchMode=yes", "LC_ALL": "C"}
    return subprocess.run(
        ["git", "-C", str(place), *words], env={**silent, **os.environ, "LC_ALL": "C"}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, errors="replace", check=False, timeout=limit_s,
    )  # fmt: skip


def _reason(stderr: str) -> str:
    """Return git's reason, without what the sentence says already: ``fatal: unable to access 'URL': reason``."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    first = next((line for line in lines if line.startswith("fatal: ")), lines[-1] if lines else "git said nothing")
    text = first.removeprefix("fatal: ")
    text = text.rpartition("': ")[2] if text.startswith("unable to access '") else text
    return f"{text[:1].lower()}{text[1:]}"


#: C compilers that Spack finds on PATH by itself (spack-packages: gcc, llvm, intel-oneapi-compilers, nvhpc, aocc, cce,
#: fj).
C_COMPILERS = ("gcc", "clang", "icx", "nvc", "craycc", "fcc")
#: Systems whose nodes are on this host: a compilation here disturbs a measurement here.
ON_THIS_HOST = ("testbed", "guests", "host")


@dataclass(frozen=True, slots=True)
class Getting:
    """Whether Railyard may get Spack if there is none. ``place``: a folder or mirror, None for the official places."""

    allowed: bool = False
    place: str | None = None


def prepare(site: Site, stacks: Sequence[str], say: Callable[[str], None], getting: Getting) -> dict[str, str]:
    """Build those of these stacks that are not built; return the stacks without a build, each with the reason.

    If all of them are built already, Spack is not called and does not have to be there. ``say`` gets our own lines.
    Raises RailyardError for what concerns every stack: no Spack, no network, no compiler, no room.
    """
    why: dict[str, str] = {}
    wanted: list[Request] = []
    for stack in stacks:
        request = request_of(site, stack)
        try:
            if ready(request) is None:
                wanted.append(request)
        except SetupError as error:
            why[stack] = str(error)
    if wanted:
        _demand_spack(site, say, getting)
        if site.system.spack.build_on != "compute":  # there a job builds
            names = listing([request.stack for request in wanted])
            say(f"spack: building the benchmarks of {names}, once: later runs do not call Spack")
            why |= _build(site, wanted, say)
    return why


def _demand_spack(site: Site, say: Callable[[str], None], getting: Getting) -> None:
    """Get Spack if there is none, or if it is too old. Raises RailyardError if that fails or is not allowed."""
    if program.program(site.home) is None:
        if not getting.allowed:
            program.demand_program(site.home)
    else:
        try:
            calls.find(site.home, say).version()
            return
        except SpackError as error:
            if not getting.allowed or program.own_program(site.home) is not None:
                raise
            say(f"spack: {str(error).partition(';')[0]}: this site gets a Spack of its own")
    from_ = None if getting.place is None else origin(getting.place)
    bootstrap(program.own_folder(site.home), say, from_)


def _build(site: Site, wanted: Sequence[Request], say: Callable[[str], None]) -> dict[str, str]:
    why: dict[str, str] = {}
    with _beside_no_measurement(site, say):
        for request in wanted:
            try:
                demand(request)
                ensure(request, own_lines(say))
            except RailyardError as error:
                if isinstance(error, SpackError) and error.everywhere:
                    raise
                why[request.stack] = str(error)
    return why


def own_lines(say: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that passes on only our own lines: Spack's lines are in its log."""

    def own(line: str) -> None:
        if line.startswith("spack: "):
            say(line)

    return own


@contextlib.contextmanager
def _beside_no_measurement(site: Site, say: Callable[[str], None]) -> Iterator[None]:
    if site.system.provider not in ON_THIS_HOST:
        yield
        return
    with measurement_lock(say, site.home, shared=True):
        yield


def demand(request: Request) -> None:
    """Raise InputError if a compiler, or the MPI that a file names for this stack, is not there.

    Raises SetupError if no file names a compiler and none is on PATH.
    """
    sources = request.sources()
    for found in _missing_compilers(request, sources):
        raise found
    if (
        not any(True for _ in _compilers(sources.all_documents))
        and not sources.upstreams
        and not any(shutil.which(name) for name in C_COMPILERS)
    ):
        raise SetupError(
            f"compiler: found none of {', '.join(C_COMPILERS)} on PATH, expected a compiler to build with; "
            f"install gcc, or name a compiler in {_overlay_path(request)} (docs/howto/spack.md, Your own compiler)"
        )


def _missing_compilers(request: Request, sources: Sources) -> Iterator[InputError]:
    for document, place, path in _compilers(sources.documents):
        program = path.replace(overlay.HOME, str(request.home))
        if not os.access(program, os.X_OK):
            yield document.error(
                place, f'"{program}", which is not there', "a compiler of this host",
                "install it (on Debian: sh ci/needs.sh spack), or correct the file",
            )  # fmt: skip
    stack = STACKS.get(request.stack)
    mpi = stack.spack_package if stack is not None else None
    for document in sources.documents:
        for index, external in enumerate(_externals(document, mpi)):
            prefix = str(external.get("prefix", "")).replace(overlay.HOME, str(request.home))
            why = why_absent(prefix) if prefix else None
            if why is not None:
                yield document.error(
                    ("packages", str(mpi), "externals", index, "prefix"), f'"{prefix}", which {why}',
                    f"the MPI that {request.stack} is built with", _how_to_get(request, prefix),
                )  # fmt: skip


def _compilers(documents: Sequence[Document]) -> Iterator[tuple[Document, Path_, str]]:
    """Yield each compiler that a file names: the file, the place in it, and the path."""
    for document in documents:
        packages = document.data.get("packages")
        for name in packages if isinstance(packages, Mapping) else ():
            for index, external in enumerate(_externals(document, str(name))):
                named = (external.get("extra_attributes") or {}).get("compilers") or {}
                for language, path in named.items():
                    place = ("packages", str(name), "externals", index, "extra_attributes", "compilers", str(language))
                    yield document, place, str(path)


def _externals(document: Document, package: str | None) -> list[Mapping[str, Any]]:
    packages = document.data.get("packages")
    entry = packages.get(package) if isinstance(packages, Mapping) else None
    return list(entry.get("externals") or ()) if isinstance(entry, Mapping) else []


def _how_to_get(request: Request, prefix: str) -> str:
    if prefix == str(request.home / ".stacks" / request.stack):
        return f"type: railyard stacks install {request.stack}"
    return "install it there, or correct the file"


def _overlay_path(request: Request) -> str:
    return overlay.short_path(overlay.overlay_file(request.home, request.system))
