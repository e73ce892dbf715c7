"""Sources and binaries in a folder that you can carry: for a site without a network, and for a second machine."""

from collections.abc import Callable
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.provision.spack import build, calls, compose
from railyard.provision.spack.build_lock import one_at_a_time
from railyard.provision.spack.request import Request, ready

#: What to write into an overlay to use such a folder.
USE_SOURCES = 'mirrors: {{sources: {{url: "file://{folder}", binary: false}}}}'
USE_BINARIES = 'mirrors: {{binaries: {{url: "file://{folder}", source: false, signed: false}}}}'


def create(request: Request, folder: Path, say: Callable[[str], None], *, verbose: bool = False) -> None:
    """Put the sources of everything that an environment builds into ``folder``. Raises SpackError."""
    sources = request.sources()
    spack = calls.find(request.home, say, verbose, compose.variables(sources))
    spack.version()
    with one_at_a_time(request.place, say):
        place = request.place / sources.key()
        environment = place / request.environment
        if not (environment / "spack.lock").is_file():
            environment = compose.write(sources, place, request.root / "opt")
        log = place / build.LOG
        if sources.lock is None:
            spack.run(["-e", str(environment), "concretize"], log)
        spack.run(["-e", str(environment), "mirror", "create", "--directory", str(folder.resolve()), "--all"], log)


def push(request: Request, folder: Path, say: Callable[[str], None], *, verbose: bool = False) -> None:
    """Put what is built for an environment into ``folder`` as a build cache. Raises SetupError if nothing is built."""
    found = ready(request)
    if found is None:
        raise SetupError(
            f"{request.stack} on {request.system}: found no build, expected a build to push; type: {request.command}"
        )
    place = request.place / found.key
    spack = calls.find(request.home, say, verbose, compose.variables(request.sources()))
    spack.version()
    words = ["-e", str(place / request.environment), "buildcache", "push", "--unsigned", "--update-index"]
    spack.run([*words, str(folder.resolve())], place / build.LOG)
