"""What a run needs from Spack before its first test: Spack itself, compilers, and each stack's built environment."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from railyard.base.errors import InputError, RailyardError, SetupError
from railyard.base.paths import why_absent
from railyard.base.strict_yaml import Document
from railyard.base.values import Path_
from railyard.base.wording import listing
from railyard.provision.installed_stack import request_of
from railyard.provision.spack import bootstrap, calls, overlay, program
from railyard.provision.spack.build import ensure
from railyard.provision.spack.calls import SpackError
from railyard.provision.spack.request import Request, ready
from railyard.provision.spack.sources import Sources
from railyard.provision.testbed.lock import measurement_lock
from railyard.site.site import Site
from railyard.stacks.model import STACKS

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
    from_ = None if getting.place is None else bootstrap.origin(getting.place)
    bootstrap.bootstrap(program.own_folder(site.home), say, from_)


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
