"""Builds or finds the environment of (system, stack): once, guarded by a lock, with a proof of the result."""

import hashlib
import time
from collections.abc import Callable
from datetime import datetime, timezone

from railyard.base.errors import SetupError
from railyard.provision.spack import calls, compose, lock_fit, locks, marker, progress
from railyard.provision.spack.build_lock import one_at_a_time
from railyard.provision.spack.calls import Spack
from railyard.provision.spack.locks import Lock
from railyard.provision.spack.marker import Marker, Package
from railyard.provision.spack.proof import prove
from railyard.provision.spack.request import Request, ready
from railyard.provision.spack.sources import Sources

LOG = "spack.log"
#: The output of `spack find`: one line per package. A prefix may have blanks, a hash has none.
FIND_FORMAT = "{hash} {prefix}"


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
