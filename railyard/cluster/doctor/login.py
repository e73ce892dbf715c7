"""What is wrong on the host that runs are started from. The caller reads the facts; the rules here judge them.

A dry run may be on a host that is not of the cluster: then one sentence says each thing that is not checked.

Reads what the login host is judged by: versions, programs, paths, and a file that it writes and removes again.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from railyard.base.errors import Finding, problem, remark
from railyard.base.paths import state_folder, why_absent
from railyard.base.wording import count_of, listing
from railyard.job import node_files
from railyard.job.clients import closed_queues, unfit_nodes, why_shared, why_silent
from railyard.job.image import LOOK_SCRIPT
from railyard.provision.spack import program
from railyard.provision.spack.request import source_errors
from railyard.site.references.load import references_of
from railyard.site.reframe_versions import why_outside
from railyard.site.site import Site
from railyard.site.systems.jobs import ASK_FOR_WHOLE_NODES
from railyard.site.systems.load import find_system
from railyard.site.systems.model import System
from railyard.site.systems.module_system import FIX, find_unloaded, why_no_modules
from railyard.site.topology import contradictions
from railyard.stacks.containers import Image

WHERE = "login"
#: A scheduler in ReFrame's words -> the commands that its backend calls.
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "slurm": ("sbatch", "scancel", "sacct"),
    "squeue": ("sbatch", "scancel", "squeue"),
    "slurm-nodb": ("sbatch", "scancel", "scontrol"),
    "pbs": ("qsub", "qstat", "qdel"),
    "pbspro": ("qsub", "qstat", "qdel"),
    "torque": ("qsub", "qstat", "qdel"),
    "lsf": ("bsub", "bjobs", "bkill"),
    "flux": ("flux",),
    "flux-batch": ("flux",),
    "sge": ("qsub", "qstat", "qdel"),
    "oar": ("oarsub", "oarstat", "oardel"),
}
SWITCHES_FIX = (
    "correct leaf_switches, or the file that topology names, or measure again (railyard fabric --keep-hops): with "
    "wrong ones a good leaf switch may be named"
)
SILENT_FIX = (
    "no job can be sent from here: find out whether its controller runs (scontrol ping) and whether this host has its "
    "configuration (slurm.conf, or sackd), or use a login host of the cluster"
)
_LEAST_PYTHON = (3, 10)
_INSTALL = "install Railyard again (in a clone: make venv)"
#: If a file server's clock differs by more, make, locks and records go wrong, s.
_FILE_CLOCK_SLACK_S = 2.0


@dataclass(frozen=True, slots=True)
class Login:
    """What was seen: versions, programs on the search path, paths that exist, and whether state can be kept.

    ``reframe`` is its version, None if it cannot be imported. ``programs`` maps each needed program to its path, None
    if it is missing. ``paths`` maps absolute paths to whether they exist. ``state`` is None, or why the state folder
    cannot be written. ``file_clock_s`` is how much later than this host's clock a file written now is dated; None if no
    file was written. ``silent`` is why Slurm gives no answer, in its own words, else None. ``shared`` is how Slurm lets
    other jobs share the nodes of a run, against the file; else None. ``spack`` is what is wrong with the files from
    which Spack builds benchmarks.
    ``switches`` has each fabric whose stated leaf switches contradict the measured ones, and how.
    ``closed`` has each queue of the system's jobs that takes or starts none, and the scheduler's words; ``unfit`` each
    node that can run none, and why.
    """

    python: tuple[int, int]
    reframe: str | None
    programs: Mapping[str, str | None] = field(default_factory=dict)
    paths: Mapping[str, bool] = field(default_factory=dict)
    state: str | None = None
    file_clock_s: float | None = None
    silent: str | None = None
    shared: str | None = None
    spack: tuple[str, ...] = ()
    switches: tuple[tuple[str, str], ...] = ()
    closed: tuple[tuple[str, str], ...] = ()
    unfit: tuple[tuple[str, str], ...] = ()


def needed_programs(system: System) -> tuple[str, ...]:
    """Return the programs that runs of this system call on the login host; a testbed brings its own Slurm."""
    commands = () if system.provider == "testbed" else COMMANDS.get(system.scheduler, ())
    launcher = ("srun",) if system.launcher == "srun" else ()
    built = any(entry.spack is not None for entry in system.stacks.values())
    return (*commands, *launcher, *(("spack",) if built else ()))


def findings(login: Login, system: System) -> Iterator[Finding]:
    """Yield what is wrong on the login host."""
    yield from _python(login)
    if login.state is not None:
        yield problem(WHERE, login.state, "results are kept there: get write permission, or move the site")
    if login.file_clock_s is not None and abs(login.file_clock_s) > _FILE_CLOCK_SLACK_S:
        direction = "ahead of" if login.file_clock_s > 0 else "behind"
        yield problem(
            WHERE,
            f"the file system of the site dates files {abs(login.file_clock_s):.0f} s {direction} this host's clock",
            "let chrony or ntpd set the clocks of both, file server and host",
        )
    if system.provider != "replay":
        yield from _programs(login, system)
        yield from _stacks(login, system)
        if login.shared is not None:
            yield problem(system.system, login.shared, ASK_FOR_WHOLE_NODES)
        for queue, how in login.closed:
            what = f"queue {queue}" if queue else "the queue"
            yield problem(system.system, f"{what}: {how}", "jobs would wait: have it started, or name another one")
        for node, how in login.unfit:
            yield problem(node, f"the scheduler gives it to no job: {how}", "runs leave it out until it is back")
        for fabric, how in login.switches:
            yield problem(f"{system.system}, {fabric}", how, SWITCHES_FIX)
        for _, why in find_unloaded(system):
            yield problem(system.system, why, FIX)


def _python(login: Login) -> Iterator[Finding]:
    if login.python < _LEAST_PYTHON:
        least = ".".join(map(str, _LEAST_PYTHON))
        yield problem(WHERE, f"this Python is {login.python[0]}.{login.python[1]}", f"{_INSTALL} with {least} or newer")
    if login.reframe is None:
        yield problem(WHERE, "ReFrame cannot be imported", _INSTALL)
        return
    why = why_outside(login.reframe)
    if why is not None:
        yield problem(WHERE, why, f"{_INSTALL}: the guards against silent passes depend on that version's behaviour")


def why_no_scheduler(programs: Mapping[str, str | None], system: System) -> Finding | None:
    """Return which programs of the scheduler and the launcher are not on the search path; None if all of them are."""
    missing = [name for name in needed_programs(system) if name != "spack" and not programs.get(name)]
    if not missing:
        return None
    return problem(
        WHERE,
        f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not on the search path, and the file "
        f"says scheduler {system.scheduler}, launcher {system.launcher}",
        "load the scheduler's module, run it on a host that has it, or correct the file",
    )


def _programs(login: Login, system: System) -> Iterator[Finding]:
    lacking = why_no_scheduler(login.programs, system)
    if lacking is not None:
        yield lacking
    elif login.silent is not None:
        yield problem(WHERE, f'Slurm does not answer: "{login.silent}"', SILENT_FIX)
    if "spack" in needed_programs(system) and not login.programs.get("spack"):
        yield problem(
            WHERE,
            "Spack builds benchmarks of this system, but neither this site nor the search path has it",
            "railyard spack bootstrap, or put your own Spack on PATH",
        )
    for sentence in login.spack:
        yield problem(WHERE, sentence, "correct the file, or make what it names available on the host that builds")


def _stacks(login: Login, system: System) -> Iterator[Finding]:
    """Yield prefixes and benchmarks that are not there. A login host may lack what only the nodes mount."""
    missing = [path for path, there in login.paths.items() if not there]
    if not missing:
        return
    are = "is" if len(missing) == 1 else "are"
    what = f"{', '.join(missing[:4])}{f' and {len(missing) - 4} more' if len(missing) > 4 else ''} {are} not there"
    if system.provider in ("testbed", "host"):
        yield problem(
            WHERE, what, "railyard stacks install, or sh ci/needs.sh: the stacks of this system come as packages"
        )
    else:
        yield remark(WHERE, what, "correct the system's file, unless only the nodes mount it")


def absences(site: Site, used: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a sentence for each thing of a system's file that this host lacks, so that nobody looked at it.

    ``used``: the stack and the tool of each test. A system of this host alone has nothing to yield.
    """
    system, used = site.system, tuple(dict.fromkeys(used))
    if system.provider != "nodes":
        return
    lacking = [name for name in needed_programs(system) if name != "spack" and not shutil.which(name)]
    if lacking:
        yield (
            f"scheduler: {listing(lacking)} {'is' if len(lacking) == 1 else 'are'} not on this host, so that nobody "
            "asked whether it takes these jobs"
        )
    stacks = tuple(dict.fromkeys(stack for stack, _ in used))
    why, named = why_no_modules(system), set[str]()
    if why is not None:
        named = {module for stack in stacks for module in system.modules_of(stack)}
        named |= {module for fabric in system.fabrics.values() for module in fabric.modules}
    if named:
        yield (
            f"modules_system: {why} on this host, so that nobody looked for {count_of(len(named), 'module')}; the "
            "scripts load them in the file's order, and unload none that conflict"
        )
    yield from (f"{said}; {FIX}" for stack, said in find_unloaded(system) if stack in stacks)
    yield from _paths(site, used, stacks)


def _paths(site: Site, used: Iterable[tuple[str, str]], stacks: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each prefix, program and image that is not here. Paths in an image are of no host."""
    for stack in stacks:
        entry = site.system.stacks[stack]
        if entry.container is not None:
            yield _image(stack, entry.container.image_at(site.home))
            continue
        path = entry.path(entry.prefix, site.home) if entry.prefix and entry.spack is None else None
        why = why_absent(path) if path is not None else None
        if why is not None:
            yield f"stacks.{stack}.prefix: {path} {why}, so that nobody looked for the library there"
    for stack, tool in used:
        entry = site.system.stacks[stack]
        if entry.spack is not None or entry.container is not None or tool not in entry.benchmarks:
            continue
        path = entry.executable(tool, site.home)
        why = why_absent(path)
        if why is not None:
            yield (
                f"stacks.{stack}.benchmarks.{tool}: {path} {why}, so that nobody looked for programs "
                f"there; if it is a folder, the job does so itself ({node_files.PROGRAMS_SCRIPT})"
            )


def _image(stack: str, inside: Image) -> str:
    why = why_absent(inside.file) if inside.file is not None else None
    begin = f"stacks.{stack}.container: {inside.file} {why}, and" if why else f"stacks.{stack}.container:"
    return f"{begin} nobody looked into {inside}; the job does so itself before the benchmark ({LOOK_SCRIPT})"


def ask(home: Path, name: str) -> tuple[Login, System]:
    """Return what the login host says, and the system.

    Raises InputError if there is no such system, or if something is wrong in its file or its references.
    """
    system = find_system(home / "systems", name)
    site = Site(home, system, references_of(home / "references", system))
    state, clock = _state(state_folder(home))
    silent = why_silent(system) if system.provider == "nodes" else None
    return Login(
        python=sys.version_info[:2],
        reframe=_version("reframe-hpc"),
        programs={name: _find_program(home, name) for name in needed_programs(system)},
        paths={path: os.path.exists(path) for path in _login_paths(system, home)},
        state=state,
        file_clock_s=clock,
        silent=silent,
        shared=why_shared(system) if system.provider == "nodes" and silent is None else None,
        spack=tuple(map(str, source_errors(site))),
        switches=tuple(contradictions(home, system)),
        closed=closed_queues(system, home),
        unfit=unfit_nodes(system, home),
    ), system


def _find_program(home: Path, name: str) -> str | None:
    return program.program(home) if name == "spack" else shutil.which(name)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _login_paths(system: System, home: Path) -> list[str]:
    """Return each prefix, benchmark and image that a stack names, once; of paths in an image nobody knows here."""
    found: list[str] = []
    for entry in system.stacks.values():
        if entry.container is not None:
            found += filter(None, [entry.container.image_at(home).file])
            continue
        if entry.prefix is not None:
            found.append(entry.path(entry.prefix, home))
        found += [entry.executable(tool, home) for tool in entry.benchmarks]
    return list(dict.fromkeys(found))


def _state(folder: Path) -> tuple[str | None, float | None]:
    """Return why the state folder cannot be written, and how far its file system's clock is off this host's, in s."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix="doctor-") as probe:
            probe.write(b"railyard doctor\n")
            probe.flush()
            os.fsync(probe.fileno())
            return None, os.stat(probe.name).st_mtime - time.time()
    except OSError as error:
        return f"{folder} cannot be written ({error.strerror})", None
