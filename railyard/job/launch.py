"""How one run is launched: variables, launcher words, and which rails of which nodes it is meant to use."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from railyard.job import client_server
from railyard.job.mpi_identity import Meant
from railyard.provision.installed import installed, mpi_of
from railyard.provision.testbed.entry import CLUSTER, GUESTS, agent_script
from railyard.provision.testbed.spec import MANAGEMENT_DEVICE
from railyard.site.site import Site
from railyard.site.systems.jobs import is_slurm
from railyard.site.systems.model import Rail, System
from railyard.stacks import ask
from railyard.stacks import table as stacks_table
from railyard.stacks.ask import Settings

#: The launchers that start a stack's own mpirun on a node of a testbed of ours, and the testbed's folder: the virtual
#: cluster's nodes are namespaces, the guests virtual machines.
TESTBEDS = {"namespaces": CLUSTER, "guests": GUESTS}
#: Launchers that are Slurm's srun: of a job's script, and of a step in an allocation.
SRUN = ("srun", "srunalloc")
#: Our own ReFrame launcher: Flux's, inside a job of ``flux-batch`` (`rfm/flux`).
FLUX_RUN = "flux-run"
#: Launchers that are a stack's own, inside a scheduler's job.
OWN_LAUNCHERS = ("mpirun", "mpiexec")


@dataclass(frozen=True, slots=True)
class Launch:
    """What a run is told. ``env`` is exported in the job, ``options`` follow the launcher's name.

    ``prefix`` is where the stack's MPI library must come from, None where a module decides; ``mpi`` is what it must be.
    ``library_prefix`` is where a library that MPI only starts (NCCL) must come from, None where that is not said.
    """

    program: str
    env: Mapping[str, str]
    options: tuple[str, ...]
    settings: Settings
    meant: tuple[str, ...]
    watched: tuple[str, ...]
    nodes: tuple[str, ...]
    prefix: str | None = None
    mpi: Meant | None = None
    library_prefix: str | None = None


def device_name(rail: Rail) -> str:
    """Return a rail as stacks and counters name it: ``hsn0``, ``mlx5_0:1``."""
    return rail.name


def watched_devices(site: Site, meant: tuple[str, ...]) -> tuple[str, ...]:
    """Return every other device of the system's fabrics that has counters: what the run must not use."""
    rails = [rail for fabric in site.system.fabrics.values() for rail in fabric.rails if rail.counters != "none"]
    return tuple(dict.fromkeys(name for rail in rails if (name := device_name(rail)) not in meant))


@dataclass(frozen=True, slots=True)
class Ranks:
    """Which ranks a run has on its nodes, and what each of them is told; ``policy`` None leaves that to the stack.

    ``within_node``: pairs of ranks share a node, so that no device is meant and all are watched. ``launcher`` is
    ReFrame's, the system's own where it is None. ``threads``: of each rank, which has as many cores of its own; not in
    our testbeds, where all nodes share the host's. ``variables`` are set for every rank.
    ``memory``: messages lie in that of GPUs, which programs reach so (cuda, rocm); None: in the host's.
    """

    total: int
    per_node: int
    threads: int = 1
    policy: str | None = None
    within_node: bool = False
    launcher: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    memory: str | None = None


def plan_launch(
    site: Site, fabric: str, stack: str, devices: tuple[str, ...], nodes: tuple[str, ...], ranks: Ranks, as_root: bool
) -> Launch:
    """Return how a run over these devices of these nodes is launched.

    Raises RailyardError where the stack cannot use these devices of this kind of fabric, or is not built.
    """
    system, there = site.system, installed(site, stack)
    # Who starts it: itself, or the MPI that starts the tests of a library that is none (NCCL).
    starter = system.starter(stack)
    mpi = there if starter == stack else mpi_of(site, stack)
    launcher, within_node = ranks.launcher or system.launcher, ranks.within_node
    kind, knobs = system.fabrics[fabric].kind, system.fabrics[fabric].knobs
    told = ask.settings(stack, kind, devices, len(devices), ranks.policy, knobs, ranks.memory)
    of_starter = {} if starter == stack or within_node else _told_starter(starter, kind, devices[:1], knobs)
    if system.provider == "host" or (within_node and starter == stack):
        # One node has no rail to be told: UCX 1.20, say, finds no way between two ranks over lo alone, and what keeps a
        # stack on its rails keeps it from shared memory.
        told = replace(told, env={}, options=())
    root = dict(stacks_table.STACKS[starter].root_env) if as_root else {}
    env = {**mpi.environment, **of_starter, **there.environment, **told.env, **root}
    if mpi.prefix is not None:
        env["PATH"] = f"{mpi.prefix}/bin:$PATH"
    pair = stacks_table.STACKS[stack].pair
    bed = TESTBEDS.get(launcher)
    if bed is not None and pair:
        options = list(client_server.start_words(site.home, nodes, ranks.per_node, bed))
    elif bed is not None:
        options = ask.launch_options(
            starter,
            hosts=nodes,
            ranks=ranks.total,
            ranks_per_node=ranks.per_node,
            # Launchers start over the testbed's management network.
            remote=ask.Remote(str(agent_script(site.home, bed)), MANAGEMENT_DEVICE),
            share_cores=True,
        )
        options += ask.forward(starter, {name: value for name, value in env.items() if name != "PATH"})
    elif launcher in SRUN:
        options = [*_srun_words(site, stack), *_layout(system, told, ranks.per_node)]
        if ranks.threads > 1:
            # ReFrame tells srun a rank's cores (--cpus-per-task, and --hint=nomultithread, which binds it to them and
            # takes no --cpu-bind beside it): the library must not bind it once more, to one of them.
            env |= stacks_table.STACKS[starter].own_pinning
        if launcher != "srun" and nodes:  # a step of an allocation is told which of its nodes it has
            options += [f"--nodes={len(nodes)}", f"--nodelist={','.join(nodes)}"]
    else:
        options = _words_in_a_job(system, starter, launcher, ranks.threads, binds=bool(told.options))
    if launcher not in (*SRUN, FLUX_RUN):  # these words are the stack's own mpirun's
        options += told.options
    if not pair and launcher in (*TESTBEDS, *OWN_LAUNCHERS):
        # A stack's own launcher may hand on to other nodes what it is told to, and nothing else; srun hands on all.
        of_library = told.env if starter != stack and bed is None else {}
        options += ask.forward(starter, {**of_library, **ranks.variables})
    return Launch(
        program=client_server.STARTER if pair else mpi.launcher,
        env={**env, **ranks.variables},
        options=tuple(options),
        settings=told,
        meant=() if within_node else devices,
        watched=watched_devices(site, () if within_node else devices),
        nodes=nodes,
        prefix=mpi.prefix,
        mpi=None if pair else Meant(starter, mpi.mpi_version, mpi.mpi_standard, mpi.prefix if mpi.built else None),
        library_prefix=there.prefix if starter != stack and there.built is None else None,
    )


def _told_starter(starter: str, kind: str, first: tuple[str, ...], knobs: ask.Knobs) -> Mapping[str, str]:
    """Return what the MPI that starts a library's tests is told: their first rail; nothing where it cannot be."""
    if ask.why_not(starter, kind, 1, None, knobs) is not None:
        return {}
    return ask.settings(starter, kind, first, 1, None, knobs).env


def runs_as_root(system: System) -> bool:
    """Return whether jobs run as root (Open MPI then wants to be told that this is meant).

    In our own testbeds everybody is root, by the user namespace if not by right.
    """
    return os.geteuid() == 0 or system.provider in ("testbed", "guests")


def starting_agent(site: Site) -> str:
    """Return what starts a command on another node, as ssh does, for an application that starts its own processes."""
    provider = site.system.provider
    if provider not in ("testbed", "guests"):
        return "ssh"
    return str(agent_script(site.home, CLUSTER if provider == "testbed" else GUESTS))


def _words_in_a_job(system: System, stack: str, launcher: str, threads: int, binds: bool) -> list[str]:
    """Return how a stack's own launcher is told its cores where nodes and ranks are the job's.

    ``binds``: the rail policy has words that bind each rank, to its NUMA node, which has cores enough.
    """
    if stacks_table.STACKS[stack].pair or launcher == FLUX_RUN:
        return []
    if system.provider == "testbed" and is_slurm(system.scheduler):  # the host has fewer cores than Slurm is told
        return list(stacks_table.STACKS[stack].launch.share_cores)
    return ask.cores_a_rank(stack, threads) if threads > 1 and system.provider == "nodes" and not binds else []


def _srun_words(site: Site, stack: str) -> list[str]:
    """Return how srun is told which protocol the library speaks with it; a client and a server speak none."""
    starter = site.system.starter(stack)
    table, own = stacks_table.STACKS[starter], site.system.stacks[stack].srun_mpi
    return [] if table.pair else [f"--mpi={own or site.system.stacks[starter].srun_mpi or table.srun_mpi}"]


def _layout(system: System, told: Settings, per_node: int) -> list[str]:
    """Return how srun lays out the ranks of a node where each uses one rail of several.

    Over the sockets in turn, as ``place.sh`` deals rails to them: unasked, a site's slurm.conf decides. A library that
    deals its near rails by local rank has ranks that fill a node in blocks: of four rails, two a socket, even ranks
    would else be on one socket, and all of them take the first of its two rails: the other one would idle.
    """
    hardware = system.nodes.hardware
    if told.policy != "nic-per-rank" or hardware is None or (not told.rank_variable and per_node < hardware.cores):
        return []
    return [f"--distribution=block:{'cyclic' if told.rank_variable else 'block'}"]


def exported(env: Mapping[str, str]) -> dict[str, str]:
    """Return values as the lines ``export NAME=VALUE`` of a script need them: those of ReFrame 4.10 quote nothing.

    A shell would end PSM3_MULTIRAIL_MAP=hsn0:1;hsn1:1 at its semicolon. A trailing ``:$PATH`` keeps its reference.
    """
    return {name: _quoted(value) for name, value in env.items()}


def _quoted(value: str) -> str:
    if value.endswith(":$PATH"):
        return shlex.quote(value.removesuffix("$PATH")) + '"$PATH"'
    return shlex.quote(value)


def counters_can_prove(site: Site, fabric: str) -> bool:
    """Return whether the rails of a fabric have counters at all."""
    return all(rail.counters != "none" for rail in site.system.fabrics[fabric].rails)


def counter_drivers(site: Site) -> dict[str, str]:
    """Return which row of the counters' table each rail of the system's fabrics has; none for those without."""
    rails = (rail for fabric in site.system.fabrics.values() for rail in fabric.rails)
    return {device_name(rail): rail.counters for rail in rails if rail.counters != "none"}


def rates(site: Site, fabric: str, devices: tuple[str, ...]) -> dict[str, float]:
    """Return each meant rail's rate, for the split: rails of one fabric share its link."""
    rate = site.system.fabrics[fabric].link.data_rate_gbit_s or 1.0
    return {device: rate for device in devices}


def bonded_ports(site: Site, fabric: str, devices: tuple[str, ...]) -> dict[str, int]:
    """Return how many ports the system's file says are bonded to each meant rail."""
    rails = {device_name(rail): rail.bonded_ports for rail in site.system.fabrics[fabric].rails}
    return {device: rails[device] for device in devices}
