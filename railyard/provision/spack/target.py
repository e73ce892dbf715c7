"""Whether a node can run what was built: the job checks before the run, so no SIGILL or missing file ends it."""

import shlex
from collections.abc import Iterable

from railyard.base.errors import UNFIT_EXIT
from railyard.hardware import processors
from railyard.provision.spack.marker import Executable, Marker

#: What Spack builds for if neither the overlay nor the system's file names a processor, so that hashes do not depend on
#: the host that builds. x86_64_v3 needs AVX2, which servers have since 2014. Of another machine it is the family.
DEFAULTS = {"x86_64": "x86_64_v3"}


def default_target(stated: str | None, machine: str) -> str:
    """Return the target of a system: its stated processor, else the default for a machine as ``uname -m`` names it."""
    return stated or DEFAULTS.get(machine, machine)


def why_not(target: str, cpuinfo: str) -> str | None:
    """Return why a node cannot run code for a target, from its /proc/cpuinfo, or None if it can."""
    lines = (line for line in cpuinfo.splitlines() if line.startswith(("flags", "Features")))
    present = {word for line in lines for word in line.split()}
    missing = [name for name in processors.features(target) if name not in present]
    if not missing:
        return None
    return f"the benchmarks are built for {target}, and this node's processor lacks {', '.join(missing)}"


def job_checks(built: Marker, executable: str) -> list[str]:
    """Return lines of sh for a job of this build. Each ends the job with exit code 66 if it finds a fault."""
    recorded = next((each for each in built.executables if each.path == executable), None)
    lines = [] if recorded is None else [file_check(recorded)]
    wanted = processors.features(built.target)
    return [*lines, shell_check(wanted, built.target)] if wanted else lines


def file_check(recorded: Executable) -> str:
    """Return a line of sh that ends a job if the executable is not there, or is not the one that was built."""
    path = shlex.quote(recorded.path)
    absent = f"railyard: error: {recorded.path} is not there on this node, or may not be run"
    other = f"railyard: error: {recorded.path} is not the file that was built ({recorded.size} bytes)"
    return (
        f"[ -x {path} ] || {_end(f'{absent}: mount the install tree on the compute nodes')}; "
        f'[ "$(stat -L -c %s {path})" = {recorded.size} ] || {_end(f"{other}: build it again")}'
    )


def shell_check(wanted: Iterable[str], target: str, cpuinfo: str = "/proc/cpuinfo") -> str:
    """Return a line of sh that ends a job if the node lacks one of the features."""
    sentence = f"railyard: error: the benchmarks are built for {target}, and the processor of this node lacks"
    return (
        f'for f in {" ".join(wanted)}; do grep -qw "$f" {shlex.quote(cpuinfo)} || {{ echo "{sentence} $f: '
        f'build for a target that every node has" >&2; exit {UNFIT_EXIT}; }}; done'
    )


def _end(sentence: str) -> str:
    return f"{{ echo {shlex.quote(sentence)} >&2; exit {UNFIT_EXIT}; }}"
