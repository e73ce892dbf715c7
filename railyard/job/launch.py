"""How one run is launched: variables, launcher words, and the rails and nodes that it is intended to use."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from railyard.base.errors import RailyardError
from railyard.job import client_server
from railyard.job.mpi_identity import IntendedMpi
from railyard.provision.installed_stack import find_stack, mpi_of
from railyard.provision.testbed.scripts import CLUSTER, GUESTS, agent_script
from railyard.provision.testbed.spec import MANAGEMENT_DEVICE
from railyard.site.site import Site
from railyard.site.systems.jobs import FLUX_RUN, OWN_LAUNCHERS, SITE_LAUNCHER, SRUN, is_slurm
from railyard.site.systems.model import System
from railyard.stacks import ask, model
from railyard.stacks.ask import Settings
from railyard.stacks.containers import Image
from railyard.stacks.libraries import LockedLibraries

#: The launchers that start a stack's own mpirun on a node of one of our testbeds, and the testbed's folder. The virtual
#: cluster's nodes are namespaces, the guests are virtual machines.
TESTBEDS = {"namespaces": CLUSTER, "guests": GUESTS}
#: Beside a job's script: starts a program in an image (``railyard.job.image``).
IMAGE_SCRIPT = "image.sh"
#: Variables of a stack in an image that are set only inside.
_ONLY_INSIDE = ("LD_LIBRARY_PATH", "LD_PRELOAD")


@dataclass(frozen=True, slots=True)
class Launch:
    """What a run is given. ``env`` is exported in the job, ``options`` follow the launcher's name.

    ``prefix`` is where the stack's MPI library must come from, None if a module decides; ``mpi`` is what it must be.
    ``library_prefix`` is where a library that MPI only starts (NCCL) must come from, None if that is not stated.
    ``image`` is the image in which the program runs; then these prefixes are inside it. ``inside`` are the words before
    the program that start it there; none if ``options`` do.
    ``lock`` has the packages of Spack's lock from which the libraries that carry messages must come.
    ``in_log`` are regular expressions by device, intended or watched: what the stack's log says if it uses the device.
    """

    program: str
    env: Mapping[str, str]
    options: tuple[str, ...]
    settings: Settings
    meant: tuple[str, ...]
    watched: tuple[str, ...]
    nodes: tuple[str, ...]
    prefix: str | None = None
    mpi: IntendedMpi | None = None
    library_prefix: str | None = None
    image: Image | None = None
    inside: tuple[str, ...] = ()
    lock: LockedLibraries = field(default_factory=LockedLibraries)
    in_log: Mapping[str, str] = field(default_factory=dict)


def watched_devices(site: Site, meant: tuple[str, ...]) -> tuple[str, ...]:
    """Return all other devices of the system's fabrics that have counters: the run must not use them."""
    return tuple(name for name in site.system.counter_drivers if name not in meant)


@dataclass(frozen=True, slots=True)
class Ranks:
    """Which ranks a run has on its nodes, and their settings; ``policy`` None leaves the policy to the stack.

    ``within_node``: pairs of ranks share a node, so no device is intended and all are watched. ``launcher`` is
    ReFrame's name; None means the system's own. ``threads``: threads of each rank, which has as many cores for itself
    (not in our testbeds, where all nodes share the host's cores). ``variables`` are set for every rank. ``memory``:
    messages are in the memory of GPUs, which programs reach this way (cuda, rocm); None: in the host's. ``stage`` is
    the job's folder, which must be there in an image too; without it nothing is started in an image.
    """

    total: int
    per_node: int
    threads: int = 1
    policy: str | None = None
    within_node: bool = False
    launcher: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    memory: str | None = None
    stage: str | None = None


def plan_launch(
    site: Site, fabric: str, stack: str, devices: tuple[str, ...], nodes: tuple[str, ...], ranks: Ranks, as_root: bool
) -> Launch:
    """Return how a run over these devices of these nodes is launched.

    Raises RailyardError if the stack cannot use these devices of this kind of fabric, or is not built.
    """
    system, there = site.system, find_stack(site, stack)
    # What starts it: itself, or for a library that is not an MPI (NCCL), the MPI that starts its tests.
    starter = system.starter(stack)
    mpi = there if starter == stack else mpi_of(site, stack)
    launcher, within_node = ranks.launcher or system.launcher_of(fabric, stack), ranks.within_node
    kind, knobs = system.fabrics[fabric].kind, system.fabrics[fabric].knobs
    told = ask.settings(stack, kind, devices, len(devices), ranks.policy, knobs, ranks.memory)
    of_starter = {} if starter == stack or within_node else _told_starter(starter, kind, devices[:1], knobs)
    if system.provider == "host" or (within_node and starter == stack):
        # On one node no rail is set: UCX 1.20, for example, finds no way between two ranks over lo alone, and settings
        # that keep a stack on its rails also keep it from shared memory.
        told = replace(told, env={}, options=())
    root = dict(model.STACKS[starter].root_env) if as_root else {}
    env = {**mpi.environment, **of_starter, **there.environment, **told.env, **root}
    if mpi.start_prefix is not None:
        env["PATH"] = f"{mpi.start_prefix}/bin:$PATH"
    pair = model.STACKS[stack].pair
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
            share_cores=cores_of_host(),
        )
        options += ask.forward(starter, {name: value for name, value in env.items() if name != "PATH"})
    elif launcher in SRUN:
        options = [*_srun_words(site, stack), *_layout(system, told, ranks.per_node)]
        if ranks.threads > 1:
            # ReFrame gives srun a rank's cores (--cpus-per-task, and --hint=nomultithread, which binds the rank to them
            # and allows no --cpu-bind): the library must not bind the rank again, to only one of them.
            env |= model.STACKS[starter].own_pinning
        if launcher != "srun" and nodes:  # a step in an allocation is given its nodes
            options += [f"--nodes={len(nodes)}", f"--nodelist={','.join(nodes)}"]
    else:
        options = _words_in_a_job(system, starter, launcher, ranks.threads, binds=bool(told.options))
    if launcher not in (*SRUN, FLUX_RUN, SITE_LAUNCHER):  # these words are the stack's own mpirun's
        options += told.options
    options, more = _on_each_node(system, starter, launcher, nodes, ranks.per_node, options)
    env |= more
    if not pair and launcher in (*TESTBEDS, *OWN_LAUNCHERS):
        # A stack's own launcher may pass only the named variables on to other nodes; srun passes on all.
        of_library = told.env if starter != stack and bed is None else {}
        options += ask.forward(starter, {**of_library, **ranks.variables})
    image = None if ranks.stage is None else there.inside
    told_srun, inside = _into_image(site, stack, image, launcher, ranks, told, env)
    meant = () if within_node else devices
    watched = watched_devices(site, meant)
    return Launch(
        program=client_server.STARTER if pair else mpi.launcher,
        env={**env, **ranks.variables},
        options=(*options, *told_srun),
        settings=told,
        meant=meant,
        watched=watched,
        nodes=nodes,
        prefix=mpi.prefix,
        mpi=None
        if pair
        else IntendedMpi(starter, mpi.mpi_version, mpi.mpi_standard, mpi.prefix if mpi.built else None),
        library_prefix=there.prefix if starter != stack and there.built is None else None,
        image=image,
        inside=inside,
        # The library that an MPI only starts is in no lock of the MPI's.
        lock=there.lock if starter == stack else replace(mpi.lock, is_whole=False),
        in_log=ask.device_patterns(stack, kind, told.policy, (*meant, *watched)),
    )


def _into_image(
    site: Site,
    stack: str,
    image: Image | None,
    launcher: str,
    ranks: Ranks,
    told: Settings,
    env: dict[str, str],
) -> tuple[list[str], tuple[str, ...]]:
    """Return srun's options and the words before a program that start it in an image; neither without an image.

    Variables that are set only inside are taken out of ``env``: outside, they would change the launcher's own
    libraries, and Apptainer does not pass LD_LIBRARY_PATH on. Raises RailyardError if the launcher cannot start it.
    """
    if image is None or ranks.stage is None:
        return [], ()
    by_srun = starts_by_srun(image, launcher)
    if not (by_srun or image.table.words):
        raise RailyardError(
            f"systems/{site.system.system}.yaml stacks.{stack}.container: found {image} and the launcher {launcher}, "
            f"expected srun: {image.table.title} is started by options of srun"
        )
    options = image.options_of_srun(ranks.stage, [*told.env, *ranks.variables]) if by_srun else []
    variables = [f"{name}={env.pop(name)}" for name in _ONLY_INSIDE if name in env]
    return options, (*(() if by_srun else ("sh", IMAGE_SCRIPT)), *(("env", *variables) if variables else ()))


def starts_by_srun(image: Image, launcher: str) -> bool:
    """Return whether options of srun start a program in an image, and not words before it."""
    return bool(image.table.srun) and launcher in SRUN


def cores_of_host() -> int:
    """Return the number of processors of this host that the ranks of a testbed may use."""
    return len(os.sched_getaffinity(0))


def _told_starter(starter: str, kind: str, first: tuple[str, ...], knobs: ask.Knobs) -> Mapping[str, str]:
    """Return the settings of the MPI that starts a library's tests: their first rail; empty if it cannot use that."""
    if ask.why_not(starter, kind, 1, None, knobs) is not None:
        return {}
    return ask.settings(starter, kind, first, 1, None, knobs).env


def runs_as_root(system: System) -> bool:
    """Return whether jobs run as root (Open MPI then needs an option that allows it).

    In our own testbeds everybody is root, really or in a user namespace.
    """
    return os.geteuid() == 0 or system.provider in ("testbed", "guests")


def starting_agent(site: Site) -> str:
    """Return the program that starts a command on another node, like ssh, for an application that starts its own
    processes.
    """
    provider = site.system.provider
    if provider not in ("testbed", "guests"):
        return "ssh"
    return str(agent_script(site.home, CLUSTER if provider == "testbed" else GUESTS))


def _words_in_a_job(system: System, stack: str, launcher: str, threads: int, binds: bool) -> list[str]:
    """Return the words that give a stack's own launcher its cores if nodes and ranks come from the job.

    ``binds``: the rail policy has words that bind each rank to its NUMA node, which has enough cores.
    """
    if model.STACKS[stack].pair or launcher in (FLUX_RUN, SITE_LAUNCHER):
        return []
    if system.provider == "testbed" and is_slurm(system.scheduler):  # the host has fewer cores than Slurm's file says
        words = model.STACKS[stack].launch
        return [*words.share_cores, *words.give_cores]
    return ask.cores_a_rank(stack, threads) if threads > 1 and system.provider == "nodes" and not binds else []


def _on_each_node(
    system: System, stack: str, launcher: str, nodes: tuple[str, ...], per_node: int, options: list[str]
) -> tuple[list[str], Mapping[str, str]]:
    """Return a launcher's words and variables, with those that put so many ranks on each node of a job with totals.

    PBS's list of such a job's nodes has a slot for each core, so that a launcher would fill the first node. Steps on
    named ``nodes`` have words of their own for that.
    """
    if not system.jobs.totals or launcher not in OWN_LAUNCHERS or model.STACKS[stack].pair:
        return options, {}
    there = options if nodes else ask.on_each_node(stack, per_node, options)
    return there, ask.each_node_variables(stack)


def _srun_words(site: Site, stack: str) -> list[str]:
    """Return srun's option for the protocol that the library speaks with it. A client and a server speak none."""
    starter = site.system.starter(stack)
    table, own = model.STACKS[starter], site.system.stacks[stack].srun_mpi
    return [] if table.pair else [f"--mpi={own or site.system.stacks[starter].srun_mpi or table.srun_mpi}"]


def _layout(system: System, told: Settings, per_node: int) -> list[str]:
    """Return how srun lays out the ranks of a node if each uses one of several rails.

    They go over the sockets in turn, as ``place.sh`` deals rails to them; by default, a site's slurm.conf decides. If a
    library deals its near rails by local rank, its ranks fill a node in blocks. Otherwise, with four rails, two per
    socket, even ranks would be on one socket and would all take the first of its two rails, and the other one would
    idle.
    """
    hardware = system.nodes.hardware
    if told.policy != "nic-per-rank" or hardware is None or (not told.rank_variable and per_node < hardware.cores):
        return []
    return [f"--distribution=block:{'cyclic' if told.rank_variable else 'block'}"]
