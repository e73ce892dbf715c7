"""A stack's own launcher in a rehearsal: mpirun or mpiexec, which starts a stand-in's ranks on the job's nodes.

``python -m railyard.provision.rehearsal.launcher STACK SOCKETS CORES THREADS [WORD]...`` takes the sockets of a node,
the cores of a socket and the threads of a core, then the words of the real launcher. Like the real one, it has Slurm
start one process of its own on each node (``ranks.sh``). That process starts the ranks there, with the variables that
the real one sets. As with the real one, Slurm's own numbers stay those of these processes. It starts with every launch,
so it imports little.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from railyard.base.errors import RailyardError, SetupError
from railyard.base.paths import REHEARSAL_VARIABLE, packaged_text
from railyard.provision.rehearsal.launcher_words import (
    OPEN_MPI,
    LauncherWords,
    of_hostfile,
    of_slurm,
    place_ranks,
    read,
    variables_of,
)
from railyard.provision.rehearsal.machine import Machine, as_range

SCRIPT = "ranks.sh"


def main(words: Sequence[str]) -> int:
    """Become Slurm's srun, which starts the ranks; return an exit code only if that fails."""
    stack, sockets, cores, threads, *rest = words
    try:
        if REHEARSAL_VARIABLE not in os.environ:
            raise SetupError(f"found no {REHEARSAL_VARIABLE}: a stand-in runs only in a rehearsal (railyard rehearse)")
        told = read(stack, rest, os.environ)
        lines = plan(stack, told, Machine(int(sockets), int(cores), int(threads), 0), os.environ)
        folder = _write(lines)
    except (RailyardError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    environment = {**os.environ, **told.variables}
    for name in _OF_THE_JOB:
        environment.pop(name, None)
    Path(os.environ[REHEARSAL_VARIABLE], "affinity").mkdir(exist_ok=True)
    os.execvpe("srun", [*_srun(list(lines)), "sh", str(folder / SCRIPT), str(folder), *told.command], environment)


# Otherwise a job's settings for the tasks of its script would also hold for these processes.
_OF_THE_JOB = ("SLURM_HINT", "SLURM_CPU_BIND", "SLURM_THREADS_PER_CORE", "SLURM_CPUS_PER_TASK", "SLURM_NTASKS_PER_NODE")


def _srun(nodes: Sequence[str]) -> list[str]:
    count = len(nodes)
    return [
        *("srun", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", f"--nodelist={','.join(nodes)}"),
        *("--overlap", "--mpi=none", "--cpu-bind=none", "--kill-on-bad-exit=1", "--export=ALL"),
    ]


def plan(stack: str, told: LauncherWords, machine: Machine, environment: Mapping[str, str]) -> dict[str, list[str]]:
    """Return one line per rank, by node: its processors as a list, ``-`` for all, then its variables.

    Raises RailyardError if the launcher cannot place the ranks on the job's nodes.
    """
    if told.hostfile:
        told = replace(told, hosts=of_hostfile(Path(told.hostfile).read_text(encoding="utf-8")))
    job = of_slurm(environment.get("SLURM_JOB_NODELIST", ""), environment.get("SLURM_TASKS_PER_NODE", ""))
    where = place_ranks(told, job)
    there: dict[str, int] = {}
    for node, _ in where:
        there[node] = there.get(node, 0) + 1
    lines: dict[str, list[str]] = {}
    for rank, (node, local) in enumerate(where):
        variables = variables_of(stack, rank, len(where), local, there[node])
        if told.launcher == OPEN_MPI:
            # mpirun starts the ranks of its own node itself; srun starts those of all others.
            variables["SLURM_PROCID"] = str(max(0, list(there).index(node) - 1))
        bound = processors(told, stack, machine, local, there[node], len(where), environment)
        lines.setdefault(node, []).append(
            " ".join((str(local), bound or "-", *(f"{name}={value}" for name, value in variables.items())))
        )
    return lines


def processors(
    told: LauncherWords,
    stack: str,
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
    elif stack == "intelmpi" and not kind:
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
    folder = Path(f"rehearsed/launch-{os.environ.get('SLURM_JOB_ID', '0')}.{os.getpid()}").absolute()
    folder.mkdir(parents=True)
    for node, own in lines.items():
        (folder / node).write_text("".join(f"{line}\n" for line in own), encoding="utf-8")
    (folder / SCRIPT).write_text(packaged_text(f"provision/rehearsal/{SCRIPT}"), encoding="utf-8")
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
