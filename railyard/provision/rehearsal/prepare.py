"""From a site's own system to its rehearsal: refuses what cannot be rehearsed, and writes the stand-in programs."""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.base.paths import packaged_text, state_folder
from railyard.base.wording import count_of, listing
from railyard.benchmarks.apps.wrf_cases import EDGES, NEEDED
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.applications import nodes_of_key
from railyard.provision.rehearsal import applications, benchmark_request, nodes
from railyard.provision.rehearsal.applications import CASE_FILE
from railyard.provision.rehearsal.faults import nodes_named, plant_faults
from railyard.provision.rehearsal.form import Fault, Rehearsal
from railyard.provision.rehearsal.machine import machine_of
from railyard.provision.rehearsal.nodes import gives_whole_nodes
from railyard.provision.rehearsal.rank_ports import OF_ONE_RANK
from railyard.provision.rehearsal.recorded_run import playable_recordings
from railyard.site.npb_problems import npb_mz_problems, npb_problems, npb_swept_problems
from railyard.site.site import Site
from railyard.site.systems.job_requests import FILL_UP, allocation_rules, asks_for_whole_nodes
from railyard.site.systems.jobs import (
    FAMILIES,
    FLUX_RUN,
    OWN_LAUNCHERS,
    SITE_LAUNCHER,
    SLURM_WITHOUT_DATABASE,
    is_slurm,
)
from railyard.site.systems.model import System
from railyard.stacks.table import STACKS

#: What checks look for in a program before they use an option of it.
_OPTIONS = {"osu": "--validation-warmup, and the datatype mpi_float"}
#: The fields of WRF's namelist that are checked before a run: one domain, and no file before its end.
_NAMELIST = (
    "&time_control\n run_hours = 3,\n history_interval = 180,\n/\n&domains\n time_step = 60,\n max_dom = 1,\n/\n"
)
#: Tools that are one program; all others are a folder of programs.
_ONE = {"imb": "IMB-MPI1", "hpl": "xhpl", "hpcc": "hpcc", "stream": "stream_c.exe", "wrf": "wrf.exe"}


_ONE |= {"pairs": "railyard-pairs", "sharing": "railyard-sharing", "iperf3": "iperf3", "nvbandwidth": "nvbandwidth"}


#: Tools whose stand-ins read no sizes, and which are not applications.
_BESIDE = frozenset({"nvbandwidth"})
#: The names by which ReFrame and the job of probes call a stack's own launcher.
LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra")
_LIBRARY = Path(__file__).resolve().parents[3]
_NETPIPE = {True: "NPtcp", False: "NPmpi"}
#: A client or a server is one process: Python plays it at once.
_PAIR = """\
PYTHONPATH=$library${PYTHONPATH:+:$PYTHONPATH} exec "$python" -m railyard.provision.rehearsal.pair \\
    "$stack" "$tool" "$program" "$@"
"""
_LAUNCHER = """\
PYTHONPATH=$library${PYTHONPATH:+:$PYTHONPATH} exec "$python" -m railyard.provision.rehearsal.launcher \\
    "$stack" $layout "$@"
"""
#: The launchers with which a rehearsal can start processes: stand-ins for a stack's own, and those of a scheduler.
KNOWN = ("srun", FLUX_RUN, *OWN_LAUNCHERS)
#: A launcher of one family of schedulers.
_OF_FAMILY = {"srun": "slurm", FLUX_RUN: "flux"}
#: A stack's own launcher, whose stand-in does not start processes under that family.
_NOT_PLAYED = {("flux", name) for name in OWN_LAUNCHERS}


def rehearsal_folder(home: Path) -> Path:
    """Return the folder of a site's rehearsal: there is one at a time, and each makes the folder again."""
    return state_folder(home) / "rehearsal"


def prepare_rehearsal(
    site: Site, faults: Sequence[str], wanted: int | None, recording: Path | None = None
) -> Rehearsal:
    """Return the rehearsal of a site's system, with its stand-ins, written to its folder; nothing runs yet.

    ``faults`` are words of ``railyard.provision.rehearsal.faults``, ``wanted`` is how many nodes to rehearse, and
    ``recording`` is the folder of recordings to play. Raises RailyardError for a system that cannot be rehearsed, for
    faults that it cannot have, and for recordings that cannot be played.
    """
    system, home = site.system, site.home
    standing, meant = choose_nodes(system, faults, wanted, recording)
    folder = rehearsal_folder(home)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    there, cases = write(folder, system), write_wrf_cases(folder, system)
    left_out = (*standing.left_out, *left_out_of(site, there))
    launchers = write_launchers(folder, system)
    played = "" if recording is None else str(recording.resolve())
    made = Rehearsal(
        system.system, str(home), str(folder), standing.nodes, meant, left_out, there, cases, launchers, played
    )
    made.write()
    return made


def choose_nodes(
    system: System, faults: Sequence[str], wanted: int | None, recording: Path | None
) -> tuple[nodes.ChosenNodes, tuple[Fault, ...]]:
    """Return which nodes are rehearsed and what is planted; nothing is written.

    Raises RailyardError as ``prepare_rehearsal`` does.
    """
    named = set(nodes_named(faults)) & set(nodes.site_nodes(system))
    standing = nodes.choose(system, nodes.memory_available_mib(), wanted, named)
    _refuse_launcher(system)
    if recording is not None:
        playable_recordings(recording, system.system)
    return standing, plant_faults(faults, system, standing.nodes)


def _refuse_launcher(system: System) -> None:
    launcher, family = system.launcher, FAMILIES[system.scheduler]
    if launcher == SITE_LAUNCHER and system.site_launcher[0] in LAUNCHERS:
        return
    known = [name for name in KNOWN if _OF_FAMILY.get(name, family) == family and (family, name) not in _NOT_PLAYED]
    if launcher not in known:
        own = f" ({system.site_launcher[0]})" if launcher == SITE_LAUNCHER else ""
        raise RailyardError(
            f"systems/{system.system}.yaml: found launcher {launcher}{own}, expected one of {', '.join(known)}: "
            f"a rehearsal has no stand-in for another"
        )


def left_out_of(site: Site, there: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield a sentence for each thing that the system's file asks for and that a rehearsal does not have."""
    system = site.system
    if is_slurm(system.scheduler) and system.scheduler != SLURM_WITHOUT_DATABASE:
        yield f"scheduler: {system.scheduler} is rehearsed as {SLURM_WITHOUT_DATABASE}, without an accounting database"
    if system.nodes.exclusive and not asks_for_whole_nodes(system):
        yield (
            "jobs: no job asks for whole nodes (jobs: exclusive), but nodes: exclusive: true says that the partition "
            "gives them, so it does here; railyard doctor asks the scheduler"
            if gives_whole_nodes(system)
            else "jobs: no job asks for whole nodes, so jobs get parts of nodes here; write jobs: {exclusive: true}, "
            "or nodes: {exclusive: true} if the site's partition gives whole nodes by itself"
        )
    assumed = [name for name, rule in allocation_rules(system).items() if rule == FILL_UP]
    if assumed:
        yield (
            f"jobs: the allocation rule of {listing(assumed)} is not in the file, and is {FILL_UP} here; "
            f"compare it with that of the site (qconf -sp {assumed[0]})"
        )
    yield from _left_out_of_jobs(system)
    built = [name for name, entry in system.stacks.items() if entry.spack is not None]
    if built:
        yield f"Spack: nothing is built for {listing(built)}"
    for name, entry in system.stacks.items():
        lacking = [tool for tool in entry.tools if tool not in there.get(name, {})]
        if lacking:
            yield f"{count_of(len(lacking), 'benchmark')} of {name}: there is no stand-in for {listing(lacking)}"
    if not site.references.entries:
        yield "references: there are none, so only physical limits and floors judge"


def _left_out_of_jobs(system: System) -> Iterator[str]:
    """Yield a sentence for each thing that jobs do only on the cluster's own nodes."""
    parts = (*system.fabrics.values(), *system.stacks.values())
    modules = dict.fromkeys(str(module) for part in parts for module in part.modules)
    if modules:
        yield f"modules: {listing(list(modules))} {'is' if len(modules) == 1 else 'are'} not loaded"
    lines = dict.fromkeys(line for part in parts for line in part.prepare_cmds)
    if lines:
        yield f"prepare_cmds: {'; '.join(lines)}: not run, since these lines are for the cluster's own nodes"
    plugins = [f"{entry.srun_mpi} of {name}" for name, entry in system.stacks.items() if entry.srun_mpi]
    if plugins:
        yield f"srun_mpi: {listing(plugins)}: srun gets the stack's own value, whose plugin is here"
    inside = [name for name, entry in system.stacks.items() if entry.container is not None]
    if inside:
        yield f"container: the stand-ins of {listing(inside)} start in no image"


def write(folder: Path, system: System) -> dict[str, dict[str, str]]:
    """Write the stand-ins of the tools that a system's stacks have; return each stack's ``benchmarks``.

    These are each tool's executable, or the folder of its executables; a tool without a stand-in is left out.
    ``folder`` may exist already. The Python of this process runs every program. Raises OSError if a file cannot be
    written.
    """
    return {
        stack: {
            tool: str(_tool(folder / "programs" / stack / tool, system, stack, tool))
            for tool in entry.tools
            if tool in benchmark_request.KNOWN | applications.KNOWN | _BESIDE or tool in system.applications
        }
        for stack, entry in system.stacks.items()
    }


def write_wrf_cases(folder: Path, system: System) -> dict[str, str]:
    """Write inputs for each WRF case of a system, which only the stand-in can read; return their folders."""
    found = {}
    for case in system.wrf_cases:
        own = folder / "wrf_cases" / case
        own.mkdir(parents=True, exist_ok=True)
        for name in (*NEEDED, EDGES):
            text = _NAMELIST if name == "namelist.input" else "inputs of a rehearsal, without any weather in them\n"
            (own / name).write_text(text, encoding="utf-8")
        (own / CASE_FILE).write_text(f"{case}\n", encoding="utf-8")
        found[case] = str(own)
    return found


def write_launchers(folder: Path, system: System) -> dict[str, str]:
    """Write a stand-in for each stack's mpirun and mpiexec.

    Return the folder to put on its PATH. A client and a server have no launcher: the launcher of the first stack that
    has one starts them.
    """
    machine = machine_of(system)
    layout = f"{machine.sockets} {machine.cores_per_socket} {machine.threads_per_core}"
    with_mpi = [stack for stack in system.stacks if STACKS[stack].is_mpi]
    found = {}
    for stack in system.stacks:
        own = folder / "launchers" / stack
        own.mkdir(parents=True, exist_ok=True)
        whose = next(iter(with_mpi), "openmpi") if STACKS[stack].pair else system.starter(stack)
        said = {"stack": whose, "python": sys.executable, "library": str(_LIBRARY), "layout": layout}
        for name in LAUNCHERS:
            head = f"#!/bin/sh\n# A stand-in for {name} in a rehearsal, which has no MPI library.\n"
            _executable(own / name, f"{head}{_assignments(said)}{_LAUNCHER}")
        found[stack] = str(own)
    return found


def names(tool: str, pair: bool, system: System) -> Iterator[str]:
    """Yield the names of a tool's programs, as they are below its folder."""
    if tool == "netpipe":
        yield _NETPIPE[pair]
    elif tool == "npb":
        swept = npb_swept_problems(system)
        whole = npb_problems(system).items()
        yield from _npb_programs({name: tuple({*own, *swept.get(name, ())}) for name, own in whole})
    elif tool == "npb-mz":
        yield from _npb_programs(npb_mz_problems(system))
    elif tool == "milc":
        yield "su3_rmd"
    elif tool == "wrf":
        yield f"main/{_ONE['wrf']}"
    elif tool in _ONE or tool in system.applications:
        yield _ONE.get(tool, tool)
    else:
        keys = (nodes_of_key(key)[0] for key in micro.BENCHMARKS if key.partition("/")[0] == tool)
        yield from dict.fromkeys(key.split("/")[1] for key in keys)


def _npb_programs(problems: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    return (f"{kernel}.{problem}.x" for kernel, classes in problems.items() for problem in sorted(classes))


def is_folder(tool: str, system: System) -> bool:
    """Return whether a system's file names the folder of a tool's programs, and not a single program."""
    return tool not in _ONE and tool != "netpipe" and tool not in system.applications


def _tool(folder: Path, system: System, stack: str, tool: str) -> Path:
    path = folder
    for name in names(tool, STACKS[stack].pair, system):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _executable(path, _text(stack, tool, name, is_own=tool in system.applications))
    if tool == "wrf":
        (folder / "run").mkdir(exist_ok=True)
        (folder / "run" / "README.rehearsal").write_text("a rehearsal does not use WRF's tables\n", encoding="utf-8")
    return folder if is_folder(tool, system) else path


def _text(stack: str, tool: str, name: str, is_own: bool) -> str:
    own = Path(name).name
    head = f"#!/bin/sh\n# A stand-in for {own} in a rehearsal: it measures nothing.\n"
    if tool in _OPTIONS:
        head += f"# Options: {_OPTIONS[tool]}.\n"
    lines = _assignments(
        {"stack": stack, "tool": tool, "program": own, "python": sys.executable, "library": str(_LIBRARY)}
    )
    if STACKS[stack].pair and not is_own:
        return f"{head}{lines}{_PAIR}"
    alone = "yes" if STACKS[stack].pair else ""
    ranks = " ".join(OF_ONE_RANK)
    body = packaged_text("provision/rehearsal/standin.sh")
    return f"{head}{lines}alone={alone} of_one_rank='{ranks}'\n{body}"


def _assignments(values: Mapping[str, str]) -> str:
    return "".join(f"{name}={_quote(value)}\n" for name, value in values.items())


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _executable(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
