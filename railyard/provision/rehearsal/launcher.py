"""A stack's own launcher in a rehearsal: mpirun or mpiexec, which starts a stand-in's ranks on the job's nodes.

``python -m railyard.provision.rehearsal.launcher STACK SOCKETS CORES THREADS [WORD]...`` takes the sockets of a node,
the cores of a socket and the threads of a core, then the words of the real launcher. Like the real one, it has the
scheduler start one process of its own on each node (``ranks.sh``): Slurm by srun, PBS by pbs_tmrsh, Grid Engine by
qrsh. That process starts the ranks there, with the variables that the real one sets. As with the real one, Slurm's own
numbers stay those of these processes. It starts with every launch, so it imports little.
"""

import contextlib
import os
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from railyard.base.errors import RailyardError, SetupError, did_you_mean
from railyard.base.hostlist import expand_names
from railyard.base.paths import REHEARSAL_VARIABLE, packaged_text
from railyard.provision.rehearsal.sysfs import Machine, as_range
from railyard.provision.testbed.scripts import PBS_REMOTE

SCRIPT = "ranks.sh"


#: Which launcher a library brings, by the ``rehearsed_as`` of a stack. Those that are not listed bring Hydra's.
OPEN_MPI, HYDRA, PALS = "Open MPI's mpirun", "Hydra's mpiexec", "PALS's mpiexec"

_LAUNCHERS = {"openmpi": OPEN_MPI, "craympich": PALS}

#: Option without its dashes: what it means, and how many words follow it. An empty meaning: it changes no rank.
_OPEN_MPI = {
    **dict.fromkeys(("np", "n", "c"), ("ranks", 1)),
    **dict.fromkeys(("H", "host"), ("hosts", 1)),
    **dict.fromkeys(("hostfile", "machinefile", "default-hostfile"), ("hostfile", 1)),
    **dict.fromkeys(("npernode", "N"), ("per_node", 1)),
    **dict.fromkeys(("mca", "gmca"), ("mca", 2)),
    **dict.fromkeys(("prtemca", "pmixmca"), ("", 2)),
    **dict.fromkeys(("rank-by", "output"), ("", 1)),
    **dict.fromkeys(("allow-run-as-root", "report-bindings", "display-map", "tag-output", "timestamp-output"), ("", 0)),
    "x": ("variable", 1),
    "map-by": ("map", 1),
    "bind-to": ("bind", 1),
    "oversubscribe": ("oversubscribe", 0),
}

_HYDRA = {
    **dict.fromkeys(("n", "np"), ("ranks", 1)),
    **dict.fromkeys(("ppn", "perhost"), ("per_node", 1)),
    **dict.fromkeys(("hosts", "host"), ("hosts", 1)),
    **dict.fromkeys(("f", "hostfile", "machinefile"), ("hostfile", 1)),
    **dict.fromkeys(("genv", "env"), ("pair", 2)),
    **dict.fromkeys(("launcher", "launcher-exec", "bootstrap", "rmk", "iface", "s"), ("", 1)),
    **dict.fromkeys(("genvall", "envall", "l", "prepend-rank", "print-rank-map", "verbose"), ("", 0)),
    "bind-to": ("bind", 1),
    "map-by": ("map", 1),
}

_PALS = {
    **dict.fromkeys(("n", "np"), ("ranks", 1)),
    **dict.fromkeys(("hosts", "hostlist"), ("hosts", 1)),
    **dict.fromkeys(("ppn", "N"), ("per_node", 1)),
    **dict.fromkeys(("label", "line-buffer", "envall"), ("", 0)),
    **dict.fromkeys(("depth", "d"), ("cores", 1)),
    "hostfile": ("hostfile", 1),
    "env": ("variable", 1),
    "cpu-bind": ("bind", 1),
}

#: Separates the parts of an Open MPI command, each with its own hosts and ranks.
_BETWEEN = ":"

_OPTIONS: Mapping[str, Mapping[str, tuple[str, int]]] = {OPEN_MPI: _OPEN_MPI, HYDRA: _HYDRA, PALS: _PALS}

_SLOTS = re.compile(r"(?P<count>[0-9]{1,6})(?:\(x(?P<times>[0-9]{1,6})\))?")


@dataclass(frozen=True, slots=True)
class LauncherWords:
    """What a launcher was given.

    ``hosts`` has (node, slots), slots None if not given; ``command`` is the rest. ``variables`` are set for every rank.
    ``bind`` is the word as it was given, ``cores`` is the number per rank. ``in_order``: the ranks are in the order of
    ``hosts``, whatever the job's order is.
    """

    launcher: str
    command: tuple[str, ...]
    ranks: int | None = None
    per_node: int | None = None
    hosts: tuple[tuple[str, int | None], ...] = ()
    hostfile: str = ""
    bind: str = ""
    cores: int = 1
    oversubscribes: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    in_order: bool = False


_OF_MVAPICH = {"mvapich2": "MV2", "mvapich": "MVP"}


def main(words: Sequence[str]) -> int:
    """Start the ranks on the job's nodes, and return their exit code. In a job of Slurm, this process becomes srun."""
    library, sockets, cores, threads, *rest = words
    try:
        if REHEARSAL_VARIABLE not in os.environ:
            raise SetupError(f"found no {REHEARSAL_VARIABLE}: a stand-in runs only in a rehearsal (railyard rehearse)")
        told = read(library, rest, os.environ)
        lines = plan(library, told, Machine(int(sockets), int(cores), int(threads), 0), os.environ)
        folder = _write(lines)
        Path(os.environ[REHEARSAL_VARIABLE], "affinity").mkdir(exist_ok=True)
    except (RailyardError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    environment = {**os.environ, **told.variables}
    start = ["sh", str(folder / SCRIPT), str(folder), *told.command]
    way = next((way for variable, way in _WAYS.items() if variable in environment), None)
    if way is not None:
        return start_on_each(list(lines), start, way, folder, environment)
    for name in _OF_THE_JOB:
        environment.pop(name, None)
    os.execvpe("srun", [*_srun(list(lines)), *start], environment)


#: A variable of a scheduler's jobs -> the words before a node and the command that it has started there. Slurm: srun.
_WAYS: Mapping[str, tuple[str, ...]] = {
    "PBS_NODEFILE": (PBS_REMOTE,),
    "PE_HOSTFILE": ("qrsh", "-inherit", "-nostdin"),
}
#: Variables of a node's own, or of the shell's.
_OF_A_NODE = ("HOSTNAME", "OLDPWD", "PWD", "SHLVL", "TMPDIR", "_")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def start_on_each(
    nodes: Sequence[str], start: Sequence[str], way: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> int:
    """Start a command on each of these nodes, and return 0, or the exit code of the first that fails.

    The others are then ended. What a command on another node prints is printed at its end: PBS would write it into the
    job's output, wherever the launcher's own is written to.
    """
    own = {**environment, "RAILYARD_REHEARSED_LAUNCH": folder.name}
    kept = {name: text for name, text in own.items() if _NAME.fullmatch(name) and name not in _OF_A_NODE}
    lines = [f"cd {shlex.quote(str(Path.cwd()))} || exit 1", *(f"export {n}={shlex.quote(v)}" for n, v in kept.items())]
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for node in nodes:
            is_here = node == os.uname().nodename
            printed = [] if is_here else [f"exec >{shlex.quote(f'{folder}/{node}.out')} 2>&1"]
            script = folder / f"{node}.sh"
            script.write_text("\n".join([*printed, *lines, f"exec {shlex.join(start)}", ""]), encoding="utf-8")
            words = [*(() if is_here else (*way, node)), "sh", str(script)]
            running[node] = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        return _await(list(running.values()))
    finally:
        for node, process in running.items():
            _end(process)
            with contextlib.suppress(FileNotFoundError):
                sys.stdout.write((folder / f"{node}.out").read_text(encoding="utf-8", errors="replace"))


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await(running: "Sequence[subprocess.Popen[bytes]]") -> int:
    """Return the first exit code that is not 0, or 0 when all have ended."""
    while True:
        codes = [process.poll() for process in running]
        failed = next((code for code in codes if code), None)
        if failed is not None or None not in codes:
            return 0 if failed is None else failed if failed > 0 else 128 - failed
        time.sleep(0.02)


# Otherwise a job's settings for the tasks of its script would also hold for these processes.
_OF_THE_JOB = ("SLURM_HINT", "SLURM_CPU_BIND", "SLURM_THREADS_PER_CORE", "SLURM_CPUS_PER_TASK", "SLURM_NTASKS_PER_NODE")


def _srun(nodes: Sequence[str]) -> list[str]:
    count = len(nodes)
    return [
        *("srun", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", f"--nodelist={','.join(nodes)}"),
        *("--overlap", "--mpi=none", "--cpu-bind=none", "--kill-on-bad-exit=1", "--export=ALL"),
    ]


def plan(library: str, told: LauncherWords, machine: Machine, environment: Mapping[str, str]) -> dict[str, list[str]]:
    """Return one line per rank, by node: its processors as a list, ``-`` for all, then its variables.

    Raises RailyardError if the launcher cannot place the ranks on the job's nodes.
    """
    if told.hostfile:
        told = replace(told, hosts=of_hostfile(Path(told.hostfile).read_text(encoding="utf-8")))
    job = _hosts_of_job(environment)
    if library == "intelmpi" and not told.hosts and _obeys_the_job({**environment, **told.variables}):
        told = replace(told, per_node=None)
    where = place_ranks(told, job)
    there: dict[str, int] = {}
    for node, _ in where:
        there[node] = there.get(node, 0) + 1
    lines: dict[str, list[str]] = {}
    for rank, (node, local) in enumerate(where):
        variables = variables_of(library, rank, len(where), local, there[node])
        if told.launcher == OPEN_MPI and "SLURM_JOB_ID" in environment:
            # mpirun starts the ranks of its own node itself; srun starts those of all others.
            variables["SLURM_PROCID"] = str(max(0, list(there).index(node) - 1))
        bound = processors(told, library, machine, local, there[node], len(where), environment)
        lines.setdefault(node, []).append(
            " ".join((str(local), bound or "-", *(f"{name}={value}" for name, value in variables.items())))
        )
    return lines


def processors(
    told: LauncherWords,
    library: str,
    machine: Machine,
    local: int,
    ranks: int,
    world: int,
    environment: Mapping[str, str],
) -> str:
    """Return the processors that a rank is bound to, as the kernel lists them; empty if it is not bound.

    Raises RailyardError if Open MPI would bind two ranks to one core.
    """
    kind, each = told.bind.partition(":")[0], told.cores
    if told.launcher == OPEN_MPI:
        # By default: to a core for one or two ranks, else to a socket (mpirun(1)).
        kind = kind or ("core" if world <= 2 or each > 1 else "numa")
    elif library == "intelmpi" and not kind:
        pinned = {**environment, **told.variables}.get("I_MPI_PIN", "1")
        # One domain per rank: the cores of a node divided by its ranks.
        kind, each = ("none" if pinned in ("0", "no", "off", "disable") else "core"), max(1, machine.cores // ranks)
    elif kind == "depth":
        kind = "core"
    if kind in ("numa", "socket", "package", "ldoms"):
        return machine.processors_near(local % machine.sockets)
    if kind not in ("core", "cores"):
        return ""
    first = local * each
    if first + each > machine.cores:
        if told.launcher != OPEN_MPI:
            return machine.processors_near(local % machine.sockets)
        raise RailyardError(
            f"A request was made to bind to that would result in binding more\nprocesses than cpus on a resource:\n\n"
            f"   Bind to:     CORE\n   #processes:  {ranks}\n   #cpus:       {machine.cores}\n"
        )
    return ",".join(as_range(first + thread * machine.cores, each) for thread in range(machine.threads_per_core))


def _write(lines: Mapping[str, Sequence[str]]) -> Path:
    """Write what each node is to start into a folder of this launch only, which all nodes see; return the folder."""
    job = next((os.environ[name] for name in ("PBS_JOBID", "JOB_ID", "SLURM_JOB_ID") if name in os.environ), "0")
    folder = Path(f"rehearsed/launch-{job}.{os.getpid()}").absolute()
    folder.mkdir(parents=True)
    for node, own in lines.items():
        (folder / node).write_text("".join(f"{line}\n" for line in own), encoding="utf-8")
    (folder / SCRIPT).write_text(packaged_text(f"provision/rehearsal/{SCRIPT}"), encoding="utf-8")
    return folder


def launcher_of(library: str) -> str:
    """Return whose launcher a stack brings."""
    return _LAUNCHERS.get(library, HYDRA)


def read(library: str, words: Sequence[str], environment: Mapping[str, str]) -> LauncherWords:
    """Return what a stack's launcher reads in its words; ``-x NAME`` alone takes the value of ``environment``.

    Raises RailyardError for an option that it does not know, and if no program is named.
    """
    launcher = launcher_of(library)
    if launcher == OPEN_MPI and _BETWEEN in words:
        at = list(words).index(_BETWEEN)
        return _join_parts(read(library, words[:at], environment), read(library, words[at + 1 :], environment))
    options, rest, said, variables = _OPTIONS[launcher], list(words), dict[str, str](), dict[str, str]()
    while rest and rest[0].startswith("-"):
        word, name = rest[0], rest.pop(0).lstrip("-")
        if name not in options:
            raise RailyardError(f'{launcher}: unknown option "{word}"; {did_you_mean(name, options)}')
        meaning, count = options[name]
        values, rest = rest[:count], rest[count:]
        if len(values) < count:
            raise RailyardError(f"{launcher}: the option {word} has no value")
        if meaning == "variable":
            variable, equals, value = values[0].partition("=")
            variables[variable] = value if equals else environment.get(variable, "")
        elif meaning == "mca":
            variables[f"OMPI_MCA_{values[0]}"] = values[1]
        elif meaning == "pair":
            variables[values[0]] = values[1]
        elif meaning:
            said[meaning] = values[0] if values else "yes"
    if not rest:
        raise RailyardError(f"{launcher}: found no program to start after its options")
    ppr = re.fullmatch(r"ppr:([0-9]+):node(?::.*)?", said.get("map", ""))
    per_node = said.get("per_node") or (ppr[1] if ppr else "")
    cores = re.search(r"(?i)pe=([0-9]+)", said.get("map", "")) or re.fullmatch(r"core:([0-9]+)", said.get("bind", ""))
    return LauncherWords(
        launcher, tuple(rest), _number(launcher, said.get("ranks")), _number(launcher, per_node),
        tuple(_host(each) for each in expand_names(said.get("hosts", ""))) if "hosts" in said else (),
        said.get("hostfile", ""), said.get("bind", ""),
        _number(launcher, cores[1] if cores else said.get("cores")) or 1, "oversubscribe" in said, variables,
    )  # fmt: skip


def _join_parts(first: LauncherWords, rest: LauncherWords) -> LauncherWords:
    """Return the parts of one command together: ``-H b:1 -np 1 prog : -H a:1 -np 1 prog``."""
    if first.command != rest.command:
        raise RailyardError(f"{first.launcher}: found several programs in one command, expected one in a rehearsal")
    if not first.hosts or not rest.hosts or first.ranks is None or rest.ranks is None:
        raise RailyardError(f"{first.launcher}: found a part without -H and -np, expected both in each")
    own = first.ranks // len(first.hosts) or 1
    others = rest.hosts if rest.in_order else [(name, rest.ranks // len(rest.hosts) or 1) for name, _ in rest.hosts]
    return replace(
        rest,
        ranks=first.ranks + rest.ranks,
        hosts=(*((name, own) for name, _ in first.hosts), *others),
        variables={**first.variables, **rest.variables},
        in_order=True,
    )


def of_hostfile(text: str) -> tuple[tuple[str, int | None], ...]:
    """Return the nodes of a host file with their slots: ``n1 slots=2``, ``n1:2`` or ``n1``, one node per line."""
    found = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            slots = next((word.partition("=")[2] for word in words[1:] if word.startswith("slots=")), "")
            found.append(_host(f"{words[0]}:{slots}" if slots else words[0]))
    return tuple(found)


def _hosts_of_job(environment: Mapping[str, str]) -> tuple[tuple[str, int | None], ...]:
    """Return a job's nodes with their slots, as its scheduler tells a launcher."""
    if file := environment.get("PBS_NODEFILE"):
        return of_nodefile(Path(file).read_text(encoding="utf-8"))
    if file := environment.get("PE_HOSTFILE"):
        return of_pe_hostfile(Path(file).read_text(encoding="utf-8"))
    return of_slurm(environment.get("SLURM_JOB_NODELIST", ""), environment.get("SLURM_TASKS_PER_NODE", ""))


def _obeys_the_job(environment: Mapping[str, str]) -> bool:
    """Return whether Intel MPI fills the slots of a job of PBS or Grid Engine, and takes no notice of -ppn.

    Source: Intel MPI Library Developer Reference 2021.18, I_MPI_JOB_RESPECT_PROCESS_PLACEMENT.
    """
    said = environment.get("I_MPI_JOB_RESPECT_PROCESS_PLACEMENT", "enable")
    return "SLURM_JOB_ID" not in environment and said not in ("0", "no", "off", "disable")


def of_nodefile(text: str) -> tuple[tuple[str, int | None], ...]:
    """Return the nodes of $PBS_NODEFILE, which has a line for each slot, with their slots."""
    return tuple(Counter(line.strip() for line in text.splitlines() if line.strip()).items())


def of_pe_hostfile(text: str) -> tuple[tuple[str, int | None], ...]:
    """Return the nodes of $PE_HOSTFILE with their slots: ``n1 40 all.q@n1 UNDEFINED``, one node per line."""
    return tuple((words[0], int(words[1])) for line in text.splitlines() if len(words := line.split()) > 1)


def of_slurm(nodes: str, tasks: str) -> tuple[tuple[str, int | None], ...]:
    """Return a job's nodes with their slots, from SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE (``2(x3),1``)."""
    slots = [
        int(found["count"])
        for each in tasks.split(",")
        if (found := _SLOTS.fullmatch(each))
        for _ in range(int(found["times"] or 1))
    ]
    return tuple((name, slots[at] if at < len(slots) else None) for at, name in enumerate(expand_names(nodes)))


def place_ranks(told: LauncherWords, hosts: Sequence[tuple[str, int | None]]) -> list[tuple[str, int]]:
    """Return the node of each rank and its number there, in the order of the ranks: node by node, as slots allow.

    ``hosts`` are those of the job. Open MPI keeps their order (tests/job/test_probe_job.py asks the real one). Raises
    RailyardError if Open MPI has too few slots; Hydra starts again at the first node.
    """
    named = dict(hosts)
    asked = [(name, slots if slots is not None else named.get(name)) for name, slots in told.hosts or hosts]
    unknown = [name for name, _ in asked if name not in named]
    if told.launcher == OPEN_MPI and not told.in_order and not unknown:
        order = list(named)
        asked.sort(key=lambda each: order.index(each[0]))
    if unknown or not asked:
        raise RailyardError(f"{told.launcher}: {unknown[0] if unknown else 'no node'} is not one of this job's nodes")
    room = [(name, told.per_node or slots or 1) for name, slots in asked]
    total = sum(slots for _, slots in room)
    ranks = told.ranks or total
    if ranks > total and told.launcher == OPEN_MPI and not told.oversubscribes:
        raise RailyardError(
            f"There are not enough slots available in the system to satisfy the {ranks}\nslots that were requested by "
            f"the application:\n\n  {told.command[0]}\n"
        )
    nodes = [name for _ in range(-(-ranks // total)) for name, slots in room for _ in range(slots)][:ranks]
    there: dict[str, int] = {}
    found = []
    for name in nodes:
        found.append((name, there.get(name, 0)))
        there[name] = there.get(name, 0) + 1
    return found


def variables_of(library: str, rank: int, ranks: int, local: int, locals_: int) -> dict[str, str]:
    """Return the variables that a stack's launcher sets for one rank: its number of all, and its number on its node."""
    launcher = launcher_of(library)
    if launcher == OPEN_MPI:
        own = "OMPI_COMM_WORLD"
        found = {f"{own}_RANK": rank, f"{own}_SIZE": ranks, f"{own}_LOCAL_RANK": local, f"{own}_LOCAL_SIZE": locals_}
        found |= {f"{own}_NODE_RANK": local, "PMIX_RANK": rank}
    elif launcher == PALS:
        found = {"PALS_RANKID": rank, "PALS_LOCAL_RANKID": local, "PMI_RANK": rank, "PMI_SIZE": ranks}
        found |= {"PMI_LOCAL_RANK": local, "PMI_LOCAL_SIZE": locals_}
    else:
        found = {"PMI_RANK": rank, "PMI_SIZE": ranks, "MPI_LOCALRANKID": local, "MPI_LOCALNRANKS": locals_}
        if library in _OF_MVAPICH:
            own = _OF_MVAPICH[library]
            found |= {f"{own}_COMM_WORLD_RANK": rank, f"{own}_COMM_WORLD_LOCAL_RANK": local}
    return {name: str(value) for name, value in found.items()}


def _host(text: str) -> tuple[str, int | None]:
    name, _, slots = text.partition(":")
    return name, int(slots) if slots.isdigit() else None


def _number(launcher: str, text: str | None) -> int | None:
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise RailyardError(f'{launcher}: found "{text}", expected a whole number of at least 1')
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
