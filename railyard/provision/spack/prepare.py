"""What a run needs from Spack before its first test: Spack itself, compilers, and each stack's built environment."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from railyard.base.errors import RailyardError, SetupError
from railyard.base.wording import listing
from railyard.provision.installed_stack import request_of
from railyard.provision.spack import bootstrap, calls, compilers, program
from railyard.provision.spack.build import ensure
from railyard.provision.spack.calls import SpackError
from railyard.provision.spack.request import Request, ready
from railyard.provision.testbed.lock import measurement_lock
from railyard.site.site import Site

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
                compilers.demand(request)
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
