"""From a site's own system to its rehearsal: refuses what cannot be rehearsed, and writes the stand-in programs.

A rehearsal while it is up: its nodes and their scheduler come up, the variables lead there, and all goes down again.

It is a testbed of its own kind beside the virtual cluster, so both may be up. It ends as the virtual cluster does: one
kill ends all its processes, and nothing of it is left on this machine.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from railyard.base.errors import RailyardError, SetupError
from railyard.base.files import write_whole
from railyard.base.paths import REHEARSAL_VARIABLE, packaged_text, state_folder, with_variables
from railyard.base.wording import count_of, listing
from railyard.benchmarks.apps.wrf import inputs_of
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.applications import nodes_of_key
from railyard.provision.rehearsal import applications, benchmark_request, node_scripts, nodes, sysfs
from railyard.provision.rehearsal.applications import CASE_FILE
from railyard.provision.rehearsal.form import Fault, Rehearsal, nodes_named, plant_faults
from railyard.provision.rehearsal.node_scripts import files_of
from railyard.provision.rehearsal.nodes import SCHEDULERS, gives_whole_nodes, names_of
from railyard.provision.rehearsal.rank_ports import OF_ONE_RANK
from railyard.provision.rehearsal.recorded_run import playable_recordings
from railyard.provision.rehearsal.sysfs import Machine, machine_of
from railyard.provision.testbed import boot, lifecycle, lock, scripts, slurm
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.flux import FLUX
from railyard.provision.testbed.lifecycle import OWNER_FILE, interrupt_on_signal, is_left_over, sign
from railyard.provision.testbed.lock import measurement_lock
from railyard.provision.testbed.scheduler import BedScheduler
from railyard.provision.testbed.scripts import REHEARSAL, bed_folder, enter_script
from railyard.provision.testbed.slurm import SLURM
from railyard.provision.testbed.spec import rehearsal_spec
from railyard.site.matrix import npb_mz_problems, npb_problems, npb_swept_problems
from railyard.site.site import Site
from railyard.site.systems.job_requests import FILL_UP, allocation_rules, asks_for_whole_nodes, requested_words
from railyard.site.systems.jobs import (
    FAMILIES,
    FLUX_RUN,
    OWN_LAUNCHERS,
    SITE_LAUNCHER,
    SLURM_WITHOUT_DATABASE,
    is_slurm,
)
from railyard.site.systems.load import with_nodes
from railyard.site.systems.model import System
from railyard.stacks.model import STACKS

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
    "$rehearsed_as" $layout "$@"
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

    ``faults`` are words of ``railyard.provision.rehearsal.form``, ``wanted`` is how many nodes to rehearse, and
    ``recording`` is the folder of recordings to play. Raises RailyardError for a system that cannot be rehearsed, for
    faults that it cannot have, and for recordings that cannot be played.
    """
    system, home = site.system, site.home
    standing, meant = choose_nodes(system, faults, wanted, recording)
    folder = rehearsal_folder(home)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # A problem's size may depend on the number of nodes, and so does the name of NPB's program.
    there, cases = write(folder, with_nodes(system, standing.nodes)), write_wrf_cases(folder, system)
    left_out = (*standing.left_out, *unrehearsed_parts(site, there))
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


def unrehearsed_parts(site: Site, there: dict[str, dict[str, str]]) -> Iterator[str]:
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
        if why := nodes.why_not_played(system, name):
            yield f"nothing runs with {name}, since there is no stand-in for its library: {why}"
        elif lacking:
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

    These are each tool's executable, or the folder of its executables; a tool without a stand-in is left out, and so
    are all tools of a stack whose library nothing plays.
    ``folder`` may exist already. The Python of this process runs every program. Raises OSError if a file cannot be
    written.
    """
    return {
        stack: {
            tool: str(_tool(folder / "programs" / stack / tool, system, stack, tool))
            for tool in entry.tools
            if nodes.why_not_played(system, stack) is None
            and (tool in benchmark_request.KNOWN | applications.KNOWN | _BESIDE or tool in system.applications)
        }
        for stack, entry in system.stacks.items()
    }


def write_wrf_cases(folder: Path, system: System) -> dict[str, str]:
    """Write inputs for each WRF case of a system, which only the stand-in can read; return their folders."""
    found = {}
    for case in system.wrf_cases:
        own = folder / "wrf_cases" / case
        own.mkdir(parents=True, exist_ok=True)
        for name in inputs_of(case, None):
            text = _NAMELIST if name == "namelist.input" else "inputs of a rehearsal, without any weather in them\n"
            (own / name).write_text(text, encoding="utf-8")
        (own / CASE_FILE).write_text(f"{case}\n", encoding="utf-8")
        found[case] = str(own)
    return found


def write_launchers(folder: Path, system: System) -> dict[str, str]:
    """Write a stand-in for the mpirun and mpiexec of each stack that can be played.

    Return the folder to put on its PATH. A client and a server have no launcher: the launcher of the first stack that
    has one starts them.
    """
    machine = machine_of(system)
    layout = f"{machine.sockets} {machine.cores_per_socket} {machine.threads_per_core}"
    played = [stack for stack in system.stacks if nodes.why_not_played(system, stack) is None]
    with_mpi = [stack for stack in played if STACKS[stack].is_mpi]
    found = {}
    for stack in played:
        own = folder / "launchers" / stack
        own.mkdir(parents=True, exist_ok=True)
        whose = next(iter(with_mpi), "openmpi") if STACKS[stack].pair else system.starter(stack)
        said = {"rehearsed_as": STACKS[whose].rehearsed_as, "python": sys.executable}
        said |= {"library": str(_LIBRARY), "layout": layout}
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


_LAID_WITHIN_S = 30.0
_PROGRAMS = {"tar": "tar", "taskset": "util-linux"}
#: The command that ends what `--keep` left up.
DOWN = "railyard rehearse --down"


@contextlib.contextmanager
def turn(home: Path, echo: Callable[[str], None]) -> Iterator[None]:
    """Take this machine for a rehearsal. Raises SetupError beside another one of this site folder: both use its files.

    It waits for a measurement, which it would disturb, and a measurement waits for it. Rehearsals of other site folders
    may run beside it. SIGTERM and a closed terminal end it as Ctrl-C does, so everything goes down.
    """
    with interrupt_on_signal(), measurement_lock(echo, home, shared=True):
        _refuse_another(Testbed(home, kind=REHEARSAL))
        yield


@contextlib.contextmanager
def standing(rehearsal: Rehearsal, system: System, keep: bool, echo: Callable[[str], None]) -> Iterator[None]:
    """Keep the nodes of a rehearsal up, with their scheduler on them, and lead this process and its children there.

    Whatever happens inside, everything goes down afterwards, unless it is to ``keep`` it. Raises SetupError for what
    this machine lacks.
    """
    home = Path(rehearsal.home)
    bring_up(rehearsal, system, keep=keep)
    try:
        with _set_environment({REHEARSAL_VARIABLE: rehearsal.folder, **client_variables(home, scheduler_of(system))}):
            yield
    finally:
        if keep:
            echo(f"the nodes are left up; enter one: {enter_script(home, REHEARSAL)} {rehearsal.nodes[0]} -- sh")
            echo(f"take them down: {DOWN}")
        else:
            end_nodes(home)


def take_down(home: Path) -> bool:
    """Take down what was kept, and return whether anything was up. Raises SetupError if its command still runs."""
    note = bed_folder(home, REHEARSAL) / OWNER_FILE
    if note.exists() and not is_left_over(note):
        raise SetupError("--down: found a rehearsal of this site folder that runs, expected one that was kept: end it")
    return end_nodes(home)


@contextlib.contextmanager
def _set_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set these variables inside the block; ``$PATH`` in a value means the present one."""
    path = os.environ.get("PATH", os.defpath)
    with with_variables({name: value.replace("$PATH", path) for name, value in variables.items()}):
        yield


def find_refusal(scheduler: BedScheduler = SLURM) -> str | None:
    """Return None if a rehearsal can come up on this machine, else the sentence that says why not (0.02 s)."""
    try:
        boot.require_programs(*_PROGRAMS, packages=_PROGRAMS)
    except SetupError as error:
        return str(error)
    return scheduler.find_refusal() or boot.namespaces_refused()


def bring_up(rehearsal: Rehearsal, system: System, *, keep: bool) -> None:
    """Bring up the nodes of a rehearsal with their scheduler on them.

    If it is interrupted at any point, it leaves nothing behind. The nodes end with this process, whatever ends it,
    unless it is to ``keep`` them. A rehearsal that a killed process left behind is taken down first. Raises SetupError,
    one sentence: for what this machine lacks or refuses, for a file that cannot be rehearsed, during a measurement
    (which it would disturb), and beside another rehearsal of the same site folder.
    """
    home = Path(rehearsal.home)
    bed = Testbed(home, rehearsal_spec(rehearsal.nodes), REHEARSAL)
    scheduler = scheduler_of(system)
    _refuse(bed, system, scheduler)
    end_nodes(home)
    machine = machine_of(system)
    files = files_of(system, rehearsal.nodes, str(bed.folder / node_scripts.PROLOG))
    trees = {
        node: sysfs.node_tree(system, machine, rehearsal.faults, node, number).archive()
        for number, node in enumerate(rehearsal.nodes, 1)
    }
    try:
        bed.bring_up(lasting=keep)
        sign(bed.folder / OWNER_FILE)
        _write(bed.folder, machine, trees, scheduler)
        if scheduler is FLUX:
            (bed.folder / node_scripts.FLUX_SHELL).mkdir()
            text = node_scripts.flux_shell(str(bed.folder), rehearsal.folder, machine)
            write_whole(bed.folder / node_scripts.FLUX_SHELL / node_scripts.FLUX_FILE, text)
        _lay(bed)
        scheduler.start(bed, files)
        if scheduler is SLURM:
            _reserve(bed, names_of(requested_words(system, "reservation")))
    except BaseException:
        end_nodes(home)
        raise


def end_nodes(home: Path) -> bool:
    """End all processes of the rehearsal of a site folder and remove its files; return whether any was running."""
    bed = Testbed(home, kind=REHEARSAL)
    if not bed.folder.is_dir():
        return False
    found = bed.take_down()
    with contextlib.suppress(FileNotFoundError):  # the command that brought it up is taking it down right now
        shutil.rmtree(bed.folder)
    return found


def client_variables(home: Path, scheduler: BedScheduler = SLURM) -> dict[str, str]:
    """Return the variables by which a process of the host finds the rehearsal's own scheduler. ``$PATH`` is left to
    fill in.
    """
    found = scripts.client_variables(home, scheduler.name, REHEARSAL)
    shell = bed_folder(home, REHEARSAL) / node_scripts.FLUX_SHELL
    return {**found, **({"FLUX_SHELL_RC_PATH": str(shell)} if scheduler is FLUX else {})}


def scheduler_of(system: System) -> BedScheduler:
    """Return what runs a system's jobs in its rehearsal. Raises SetupError for a scheduler that cannot be started."""
    found = lifecycle.scheduler_of(system.scheduler)
    if found is None or system.scheduler not in SCHEDULERS:
        raise SetupError(f"rehearsal: found the scheduler {system.scheduler}, expected one of {', '.join(SCHEDULERS)}")
    return found


def _refuse(bed: Testbed, system: System, scheduler: BedScheduler) -> None:
    sentence = find_refusal(scheduler)
    if sentence is not None:
        raise SetupError(
            f"rehearsal: {sentence.removeprefix('testbed: ')}; nothing was run; for the job scripts alone type: "
            f"railyard run --system {system.system} --dry-run"
        )
    measuring = lock.who_measures()
    if measuring is not None:
        raise SetupError(f"rehearsal: {measuring}, and a rehearsal would disturb it: wait until it has ended")
    _refuse_another(bed)


def _refuse_another(bed: Testbed) -> None:
    if bed.is_up() and not is_left_over(bed.folder / OWNER_FILE):
        raise SetupError("rehearsal: another one of this site folder is up: wait until it has ended")


def _write(folder: Path, machine: Machine, trees: dict[str, bytes], scheduler: BedScheduler) -> None:
    for name, text in node_scripts.scripts(str(folder), machine, scheduler.daemons).items():
        write_whole(folder / name, text, 0o755)
    (folder / node_scripts.ARCHIVES).mkdir()
    for node, archive in trees.items():
        (folder / node_scripts.ARCHIVES / f"{node}.tar").write_bytes(archive)
    for path, text in machine.files().items():
        file = folder / node_scripts.MACHINE / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="ascii")


def _lay(bed: Testbed) -> None:
    """Lay the synthetic devices over each node's /sys. Raises SetupError with a node's error message if that fails."""

    def lay_node(node: str) -> str:
        try:
            done = bed.exec(node, [str(bed.folder / node_scripts.LAY), node], timeout_s=_LAID_WITHIN_S)
        except subprocess.TimeoutExpired:
            return f"not done within {_LAID_WITHIN_S:g} s"
        return "" if done.returncode == 0 else (done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1]

    with ThreadPoolExecutor(len(bed.spec.nodes)) as together:
        said = dict(zip(bed.spec.nodes, together.map(lay_node, bed.spec.nodes), strict=True))
    for node, sentence in said.items():
        if sentence:
            raise SetupError(f"rehearsal: the devices of {node} could not be laid over its /sys: {sentence}")


def _reserve(bed: Testbed, names: Sequence[str]) -> None:
    """Make the reservations that jobs name, with all nodes and without an end."""
    whole = ("StartTime=now", "Duration=UNLIMITED", "Users=root", f"Nodes={','.join(bed.spec.nodes)}", "Flags=OVERLAP")
    for name in names:
        slurm.scontrol(bed, "create", "reservation", f"ReservationName={name}", *whole)
