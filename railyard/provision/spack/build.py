"""The environments of (system, stack) that Spack builds: made once under a lock, listed, removed, carried elsewhere.

Builds or finds the environment of (system, stack): once, under a lock, with its progress and a proof of it.

What is built: where, how old and how large; the removal of what nothing uses; locks made again; folders to carry.
"""

import contextlib
import errno
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.files import hold
from railyard.base.values import UTC_FORM, utc_time
from railyard.base.wording import count_of, listing
from railyard.benchmarks import model
from railyard.benchmarks.table.micro import PACKAGES as TOOLS
from railyard.provision.kept_files import read_kept
from railyard.provision.spack import calls, locks, marker, overlay
from railyard.provision.spack import sources as compose
from railyard.provision.spack.calls import Spack
from railyard.provision.spack.locks import Lock, Spec
from railyard.provision.spack.marker import Executable, Library, Marker, Package, find_origin, locked_libraries
from railyard.provision.spack.request import Request, ready
from railyard.provision.spack.sources import Sources, lock_file, variables, write
from railyard.stacks import model as table
from railyard.stacks.libraries import LockedLibraries, interesting, why_not_locked, why_wrong
from railyard.stacks.libraries import parse as parse_ldd

FILE = ".lock"
#: Seconds that Spack 1.2 needs on two cores to solve one environment of spack_envs/, and to build each package. Source:
#: our own builds of the environments openmpi and mpich on the virtual cluster, Debian 12, npb with the classes S and W;
#: each package was timed by itself.
SOLVING_S = 20
SECONDS = {
    "compiler-wrapper": 1, "gcc-runtime": 1, "hpl": 30, "intel-mpi-benchmarks": 60, "netpipe": 3, "npb": 135,
    "osu-micro-benchmarks": 60, "perftest": 30,
}  # fmt: skip
#: "[+]  3kkp3m4      ^gcc-runtime@12.2.0 …", as `spack concretize` lists installed packages; those of an upstream have
#: a ^, those that a build cache has a b.
_INSTALLED = re.compile(r"^\[[+^b]\]\s+(?P<hash>[a-z0-9]{7})\s+\^?\S+@", re.MULTILINE)
#: "[+] 3cdr46f osu-micro-benchmarks@7.4 /prefix (2m43s)", as `spack install` reports a finished package.
_ENDED = re.compile(r"^\[\+\] (?P<hash>[a-z0-9]{7}) (?P<spec>\S+) ")


@dataclass
class Progress:
    """Gets each line that Spack prints, and says one for each package that is built."""

    specs: tuple[Spec, ...]
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _start: float = field(init=False)
    _done: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._start = self.clock()

    def line(self, text: str) -> None:
        """Pass a line on. If it ends a package that was to be built, say how far the build is."""
        self.say(text)
        ended = _ENDED.match(text)
        if ended is None or all(spec.hash[:7] != ended["hash"] for spec in self.specs):
            return
        self._done += 1
        elapsed = duration(self.clock() - self._start)
        self.say(f"spack:   {self._done} of {len(self.specs)} built, after {elapsed}: {ended['spec']}")


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
        spack = calls.find(request.home, say, verbose, variables(sources), (descriptor,), sources.scopes)
        try:
            return _build(request, sources, spack, again)
        except OSError as error:
            raise SetupError(
                f"{error.filename or request.place}: {(error.strerror or str(error)).lower()} while {request.stack} "
                f"was built; make room or allow writing there, then type: {request.command}"
            ) from None


def _build(request: Request, sources: Sources, spack: Spack, again: bool) -> Marker:
    version = spack.version()
    committed = locks.read_committed(sources)
    start = time.monotonic()
    folder = request.place / sources.key()
    place = write(sources, folder, request.install_tree)
    log = folder / LOG
    spack.say(f"spack: building {request.stack} for {request.system} in {folder}")
    listing = ""
    if committed is None:
        spack.say(f"spack:   solving what it consists of, about {SOLVING_S} s on two cores")
        listing = spack.run(["-e", str(place), "concretize"], log)
    lock_text = (place / "spack.lock").read_text(encoding="utf-8")
    lock = locks.parse(lock_text, str(place / "spack.lock"))
    foreign = locks.why_foreign(lock)
    if foreign is not None:
        raise SetupError(f"{request.stack} on {request.system}: {foreign}")
    wanted = to_build(lock, listing)
    spack.say(f"spack:   {promise(wanted)}")
    lines = Progress(wanted, spack.say).line
    spack.run(["-e", str(place), "install", "--fail-fast", *_install_options(committed, again)], log, lines)
    listed = spack.output(["-e", str(place), "find", "--format", FIND_FORMAT])
    packages = installed_packages(lock, listed, sources.upstreams, _own_tree(request, sources))
    made = prove(request, lock, packages)
    found = Marker(
        key=folder.name, system=request.system, stack=request.stack, spack=version, target=_target(lock),
        mpi=made.mpi, mpi_prefix=made.mpi_prefix, packages=packages, tools=made.tools, executables=made.executables,
        lock_sha256=hashlib.sha256(lock_text.encode()).hexdigest(), spack_calls=len(spack.calls),
        seconds=round(time.monotonic() - start, 1), built=utc_time(),
        libraries=made.libraries, configuration=tuple(map(str, sources.site_files)),
    )  # fmt: skip
    marker.write(folder, found)
    for line in _reused_lines(found, lock, sources):
        spack.say(line)
    spack.say(f"spack: {request.stack} for {request.system} built in {duration(found.seconds)}")
    return found


def _install_options(committed: Lock | None, again: bool) -> list[str]:
    """Return options of ``spack install``: a committed lock is the input, and is never concretized again."""
    words = ["--only-concrete"] if committed is not None else []
    # Spack treats what is in its database as installed, whatever became of the files.
    return [*words, "--overwrite", "--yes-to-all"] if again else words


def _prefixes(text: str) -> dict[str, str]:
    pairs = (line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith("==>"))
    return {words[0].lstrip("/"): words[1].strip() for words in pairs if len(words) == 2}


def _own_tree(request: Request, sources: Sources) -> str | None:
    """Return where this environment's packages are installed; None if only Spack can fill in the path."""
    named = sources.install_tree
    found = str(request.install_tree) if named is None else os.path.expanduser(named)
    return None if "$" in found else found


def _reused_lines(built: Marker, lock: Lock, sources: Sources) -> list[str]:
    """Return lines that say what somebody else built: each package that carries messages, and how many others.

    A package that carries messages in another way than the environment prefers gets a line of its own.
    """
    reused = [each for each in built.packages if each.is_reused]
    carriers = [each for each in reused if each in built.carriers]
    lines = []
    for each in carriers:
        lines.append(f"spack:   {each.short} is {each.origin}: {each.prefix}")
        other = locks.unmet_preference(lock.specs[each.hash], sources)
        if other is not None:
            lines.append(
                f"spack:   {each.short}: {other}; if your fabric needs that, ask for it in the overlay, "
                f"packages: {each.name}: require"
            )
    others = Counter(each.origin for each in reused if each not in carriers)
    lines += [f"spack:   {count_of(count, 'other package')} {origin}" for origin, count in others.items()]
    return [*lines, *(f"spack:   with the site's configuration {each}" for each in built.configuration)]


def installed_packages(lock: Lock, listed: str, upstreams: Mapping[str, str], own: str | None) -> tuple[Package, ...]:
    """Return the packages of a lock with their prefixes, and where each comes from.

    ``listed`` is what `spack find` printed in FIND_FORMAT; ``upstreams`` and ``own`` as in ``find_origin``. Raises
    SetupError if a root is not installed.
    """
    prefixes = _prefixes(listed)
    roots = {key for _, key in lock.roots}
    found = []
    for key, spec in lock.specs.items():
        prefix = spec.external or prefixes.get(key) or prefixes.get(key[:7])
        if prefix is None:
            if key in roots:
                raise SetupError(f"spack find: found no prefix of {spec.short}, expected each root to be installed")
            continue  # a build dependency that Spack did not keep
        is_external = spec.external is not None
        origin = find_origin(prefix, is_external, upstreams, own)
        found.append(Package(spec.name, spec.version, key, prefix, spec.compiler, is_external, key in roots, origin))
    return tuple(found)


def _target(lock: Lock) -> str:
    roots = [lock.specs[key].target for _, key in lock.roots]
    return roots[0] if roots else ""


def prove(request: Request, lock: Lock, packages: tuple[Package, ...]) -> ProvenBuild:
    """Return a build's result if each executable is there and linked to the stack's MPI. Else raises SetupError."""
    prefix = None if table.STACKS[request.stack].pair else _mpi_prefix(request, lock, packages)
    tools: dict[str, str] = {}
    executables: list[Executable] = []
    locked = locked_libraries(packages, "" if prefix is None or lock.mpi is None else lock.mpi.name)
    for name in request.tools:
        tool = TOOLS[name]
        package = next((each for each in packages if each.name == tool.name), None)
        if package is None:
            raise SetupError(
                f"systems/{request.system}.yaml stacks.{request.stack}.spack.benchmarks: found {name}, but the "
                f"environment has no package {tool.name}; add it to spack_envs/{request.environment}/spack.yaml"
            )
        tools[name] = str(Path(package.prefix) / tool.path)
        executables += _prove_executables(request, tool, package, prefix, locked)
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
    request: Request, tool: model.Package, package: Package, mpi_prefix: str | None, locked: LockedLibraries
) -> list[Executable]:
    """Return a tool's executables, each linked to the MPI of that prefix; with None, only to the stack's libraries.

    Other libraries that carry messages must be those of the packages that the lock names.
    """
    sonames = table.STACKS[request.stack].sonames
    proven, is_shown = [], not tool.uses_mpi
    for file in _executables(Path(package.prefix) / tool.path, tool.executables, package, request):
        found = libraries(file)
        if found and (tool.uses_mpi or mpi_prefix is None):
            why = why_wrong(str(file), found, sonames, mpi_prefix)
            if why is not None:
                what = "MPI" if mpi_prefix else "library"
                raise SetupError(f"wrong {what} linked: {why}; {_ADVICE[what]}")
            is_shown = True
        why = why_not_locked(str(file), interesting(found), locked, mpi_prefix)
        if why is not None:
            raise SetupError(f"wrong library linked: {why}; {_ADVICE['library']}")
        proven.append(Executable(read_kept(str(file), file), interesting(found)))
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
    return parse_ldd(done.stdout)


def to_build(lock: Lock, listed: str) -> tuple[Spec, ...]:
    """Return the packages that Spack has to build: those of the lock that are neither external nor installed.

    ``listed`` is what `spack concretize` printed. It is empty for a committed lock: then all packages count, which is
    the most that can be.
    """
    installed = {match["hash"] for match in _INSTALLED.finditer(listed)}
    return tuple(spec for spec in lock.specs.values() if spec.external is None and spec.hash[:7] not in installed)


def promise(specs: tuple[Spec, ...]) -> str:
    """Return the line printed before a build: how many packages, and about how long that takes on two cores."""
    if not specs:
        return "all packages are installed already"
    unknown = sorted({spec.name for spec in specs if spec.name not in SECONDS})
    names = listing(unknown) if len(unknown) <= 3 else f"{', '.join(unknown[:3])} …"
    many = f"{count_of(len(specs), 'package')} to build"
    if len(unknown) == len(specs):
        return f"{many}; how long {'it takes' if len(specs) == 1 else 'they take'} is not known: {names}"
    about = f"{many}, about {duration(sum(SECONDS.get(spec.name, 0) for spec in specs))} on two cores"
    if not unknown:
        return about
    return f"{about}, and what {count_of(len(unknown), 'other')} {'takes' if len(unknown) == 1 else 'take'}: {names}"


def duration(seconds: float) -> str:
    """Return a number of seconds for a person: ``40 s``, ``5 min``."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@contextlib.contextmanager
def one_at_a_time(folder: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Hold the folder's lock and yield its descriptor; a process that inherits it holds the lock too.

    So if Railyard was killed, its Spack keeps the next build away until it ends too. Raises SetupError if the folder
    cannot be written to, and for a file system without locks.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise SetupError(
            f"{error.filename or folder}: {(error.strerror or str(error)).lower()}, expected to build there; "
            f"choose another folder in the system's file (spack: root)"
        ) from None
    try:
        _hold(descriptor, folder, say)
        yield descriptor
    finally:
        os.close(descriptor)


def _hold(descriptor: int, folder: Path, say: Callable[[str], None]) -> None:
    try:
        hold(descriptor, say, f"spack: another process builds in {folder}; waiting for it")
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        raise SetupError(
            f"{folder}: its file system has no file locks ({error.strerror}), so two builds at once would not "
            f"notice each other; choose another folder in the system's file (spack: root)"
        ) from None


#: What to write into an overlay to use such a folder.
USE_SOURCES = 'mirrors: {{sources: {{url: "file://{folder}", binary: false}}}}'
USE_BINARIES = 'mirrors: {{binaries: {{url: "file://{folder}", source: false, signed: false}}}}'


@dataclass(frozen=True, slots=True)
class FreshLock:
    """A fresh lock: its text, its place, and how it differs from the present one (None: there is none)."""

    path: Path
    text: str
    changes: tuple[str, ...] | None


ENVIRONMENT_KEY = 16


"""Digits of an environment's folder name: Railyard may remove nothing else below a stack's folder."""


@dataclass(frozen=True, slots=True)
class BuiltEnvironment:
    """One environment's folder.

    ``marker`` is None for a build that did not finish; ``current``: it is built from the present sources.
    ``is_marked``: there is a marker, even one of an older format, which ``marker`` does not count. ``size_bytes`` is
    the packages' own size in the install tree, without what is external.
    """

    stack: str
    folder: Path
    current: bool
    marker: Marker | None
    stale: str | None
    size_bytes: int
    is_marked: bool = True


def status(request: Request) -> tuple[BuiltEnvironment, ...]:
    """Return every environment of a (system, stack), the present one first; none if nothing was ever built."""
    key = request.sources().key()
    if not request.place.is_dir():
        return ()
    folders = [path for path in request.place.iterdir() if path.is_dir() and len(path.name) == ENVIRONMENT_KEY]
    found = [_read_build(request.stack, path, path.name == key) for path in sorted(folders)]
    return tuple(sorted(found, key=lambda each: (not each.current, each.folder.name)))


def _read_build(stack: str, folder: Path, current: bool) -> BuiltEnvironment:
    found = marker.read(folder)
    if found is None:
        return BuiltEnvironment(stack, folder, current, None, None, 0, is_marked=(folder / marker.FILE).is_file())
    ours = (package for package in found.packages if package.origin in (marker.BUILT, marker.CACHED))
    prefixes = {Path(package.prefix) for package in ours}
    return BuiltEnvironment(stack, folder, current, found, marker.why_stale(found), sum(map(_size, prefixes)))


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            total += os.lstat(os.path.join(place, name)).st_size
    return total


def age(built: str, now: datetime) -> str:
    """Return how long ago a marker was written: ``3 days``, ``5 h``, ``12 min``."""
    then = datetime.strptime(built, UTC_FORM).replace(tzinfo=timezone.utc)
    seconds = max(0, int((now - then).total_seconds()))
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"


def remove_unused(requests: Sequence[Request], spack: Spack, say: Callable[[str], None], log: Path) -> int:
    """Remove environments that no source names now, then packages that none needs; return how many environments."""
    removed = 0
    for request in requests:
        if request.place.is_dir():
            with one_at_a_time(request.place, say):
                for each in status(request):
                    if not each.current:
                        say(f"removing {each.folder}")
                        shutil.rmtree(each.folder)
                        removed += 1
    if any(request.sources().names_install_tree for request in requests):
        # Others may install there: a package that none of our environments needs may be theirs.
        say("the site names the install tree, which may have packages of others: nothing in it is removed")
        return removed
    kept = _environments(requests[0].root)
    if kept:
        words = [word for place in kept for word in ("--except-environment", str(place))]
        # Run inside one of them, so that its install tree is cleaned.
        spack.run(["-e", str(kept[0]), "gc", "--yes-to-all", *words], log)
    return removed


def _environments(root: Path) -> list[Path]:
    """Return every environment below a root, of all systems that build there: they share the install tree."""
    folders = (path for path in root.glob("*/*/*") if path.is_dir() and len(path.name) == ENVIRONMENT_KEY)
    return sorted(lock.parent for folder in folders for lock in folder.glob("*/spack.lock"))


def relock(request: Request, say: Callable[[str], None], *, verbose: bool = False) -> FreshLock:
    """Return a fresh lock of an environment; nothing is written. Raises SpackError if nothing satisfies it."""
    # The committed lock is left out: otherwise Spack would keep its contents.
    sources = replace(request.sources(), lock=None)
    spack = calls.find(request.home, say, verbose, compose.variables(sources), scopes=sources.scopes)
    spack.version()
    with tempfile.TemporaryDirectory(prefix="railyard-lock-") as folder:
        place = compose.write(sources, Path(folder) / "environment", request.root / "opt")
        spack.run(["-e", str(place), "concretize"], Path(folder) / "spack.log")
        text = (place / "spack.lock").read_text(encoding="utf-8")
    path = lock_file(request.home, request.system, request.stack)
    if not path.is_file():
        return FreshLock(path, text, None)
    before = locks.parse(path.read_text(encoding="utf-8"), overlay.short_path(path))
    return FreshLock(path, text, locks.differences(before, locks.parse(text, "the fresh lock")))


def write_lock(found: FreshLock) -> None:
    """Write the lock to its place in the site's folder, for you to commit."""
    found.path.parent.mkdir(parents=True, exist_ok=True)
    found.path.write_text(found.text, encoding="utf-8")


def create_mirror(request: Request, folder: Path, say: Callable[[str], None], *, verbose: bool = False) -> None:
    """Put the sources of everything that an environment builds into ``folder``. Raises SpackError."""
    sources = request.sources()
    spack = calls.find(request.home, say, verbose, compose.variables(sources), scopes=sources.scopes)
    spack.version()
    with one_at_a_time(request.place, say):
        place = request.place / sources.key()
        environment = place / request.environment
        if not (environment / "spack.lock").is_file():
            environment = compose.write(sources, place, request.root / "opt")
        log = place / LOG
        if sources.lock is None:
            spack.run(["-e", str(environment), "concretize"], log)
        spack.run(["-e", str(environment), "mirror", "create", "--directory", str(folder.resolve()), "--all"], log)


def push_to_mirror(request: Request, folder: Path, say: Callable[[str], None], *, verbose: bool = False) -> None:
    """Put what is built for an environment into ``folder`` as a build cache. Raises SetupError if nothing is built."""
    found = ready(request)
    if found is None:
        raise SetupError(
            f"{request.stack} on {request.system}: found no build, expected a build to push; type: {request.command}"
        )
    place = request.place / found.key
    spack = calls.find(request.home, say, verbose, compose.variables(request.sources()), scopes=request.scopes)
    spack.version()
    words = ["-e", str(place / request.environment), "buildcache", "push", "--unsigned", "--update-index"]
    spack.run([*words, str(folder.resolve())], place / LOG)
