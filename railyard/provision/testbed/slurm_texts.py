"""The texts of Slurm on a testbed: its configuration, what starts it in a node, and its clients' way in. Pure.

Nothing needs systemd, a database or cgroups. A daemon keeps its data in its node's own /run, which ends with the
testbed. Only the configuration and the logs, for people to read, are shared.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.provision.testbed.scripts import CLUSTER, START, bed_folder
from railyard.provision.testbed.spec import MANAGEMENT_DEVICE, TestbedSpec

#: Below the testbed's folder: all that its Slurm needs; ``down`` removes it.
FOLDER = "slurm"
CONFIGURATION = "slurm.conf"
KEY = "munge.key"
#: The command names of the daemons, as in /proc/PID/comm. slurmstepd belongs to a running job; slurmscriptd is a helper
#: that slurmctld starts (since Slurm 21.08).
CONTROLLER = ("slurmctld", "slurmscriptd")
DAEMONS = ("munged", *CONTROLLER, "slurmd", "slurmstepd")
#: What a person and ReFrame call from outside. Not srun: a job calls it, on the node where the job runs.
CLIENTS = ("sbatch", "salloc", "squeue", "scancel", "scontrol", "sinfo")
#: Cores that each node claims to have, whatever the host has: more than the ranks of any check on a node.
CORES = 16
PARTITION = "all"
#: Its jobs preempt those of the other partition.
URGENT = "urgent"
#: Seconds without an answer of slurmd until Slurm marks its node down and ends its job; sites use some minutes.
SLURMD_TIMEOUT_S = 15
_NODES_A_LEAF = 2
#: Folder in a node with a file for each GPU that Slurm counts.
GRES_FOLDER = "/run/gres"
# No route leads there (RFC 5737, TEST-NET-1).
_NOWHERE = "192.0.2.1"

#: Year and month of a release of Slurm: (22, 5) is 22.05.
Release = tuple[int, int]
#: The oldest release for which these texts are written: that of Debian 12.
OLDEST: Release = (22, 5)
_VERSION = re.compile(r"^slurm(?:-wlm)? ([0-9]{2})\.([0-9]{2})\.", re.MULTILINE)
#: What newer releases have other words for: first those of the oldest release, then each with the release that has it.
_WORDS: Mapping[str, tuple[tuple[Release, str], ...]] = {
    # A job has its nodes for itself, as a path proof needs. slurm.conf(5) of 26.05: "Exclusive … replaces the
    # deprecated options OverSubscribe=EXCLUSIVE".
    "whole nodes": ((OLDEST, "OverSubscribe=EXCLUSIVE"), ((26, 5), "Exclusive=NODE")),
    # A network namespace's /sys/fs/cgroup is empty, and nothing is needed from it. CgroupAutomount is defunct since
    # 23.11, and cgroup/v1 is deprecated ("disabled" is new in 24.05: src/interfaces/cgroup.c of these releases).
    "no cgroups": (
        (OLDEST, "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"),
        ((23, 11), "CgroupPlugin=cgroup/v1\n"),
        ((24, 5), "CgroupPlugin=disabled\n"),
    ),
}


@dataclass(frozen=True, slots=True)
class Gres:
    """A generic resource of each node, as ``--gres`` names it: ``gpu:8``, ``gpu:a100:4``. Slurm only counts it."""

    name: str
    count: int
    type: str = ""

    def __str__(self) -> str:
        return ":".join(part for part in (self.name, self.type, str(self.count)) if part)


@dataclass(frozen=True, slots=True)
class Layout:
    """What Slurm's files say about a testbed's nodes, all alike, and its partitions: here the virtual cluster's.

    ``memory_mb`` is in units of 2^20 B, like Slurm's. Jobs of a partition preempt those of the partitions before it;
    the first partition is the default. ``exclusive``: a job always has its nodes for itself. ``leaves``: the nodes of
    each leaf switch, {} if no switches are known, None for two nodes per leaf. Jobs may name the nodes in ``absent``
    (to exclude them) but never get them. ``task_prolog`` is a program that each task calls before it starts.
    """

    sockets: int = 1
    cores_per_socket: int = CORES
    threads_per_core: int = 1
    memory_mb: int = 1000
    features: tuple[str, ...] = ()
    gres: tuple[Gres, ...] = ()
    partitions: tuple[str, ...] = (PARTITION, URGENT)
    max_time: str = "60"
    exclusive: bool = True
    leaves: Mapping[str, tuple[str, ...]] | None = None
    absent: tuple[str, ...] = ()
    task_prolog: str = ""

    @property
    def cpus(self) -> int:
        """How many processors in Slurm's sense (threads of cores) a node has."""
        return self.sockets * self.cores_per_socket * self.threads_per_core


def slurm_folder(home: Path, kind: str = CLUSTER) -> Path:
    """Return the folder of Slurm on a site's testbed of a kind."""
    return bed_folder(home, kind) / FOLDER


def release_of(text: str) -> Release | None:
    """Return the release in what ``slurmctld -V`` prints (``slurm-wlm 22.05.8``, ``slurm 26.05.3``); None if none."""
    found = _VERSION.search(text)
    return None if found is None else (int(found[1]), int(found[2]))


def files(spec: TestbedSpec, folder: Path, layout: Layout | None = None, release: Release = OLDEST) -> dict[str, str]:
    """Return the texts of the configuration files and the start script, by their names in ``folder``.

    ``release`` is that of the Slurm that will read them.
    """
    layout = layout or Layout()
    return {
        CONFIGURATION: _slurm_conf(spec, folder, layout, release),
        "topology.conf": _topology_conf(leaf_switches(spec, layout)),
        "cgroup.conf": words_of("no cgroups", release),
        # PMIx's sockets: all nodes share /tmp, but each has its own /run.
        "mpi.conf": "PMIxCliTmpDirBase=/run/tmp\n",
        START: _START.replace("@GRES@\n", _gres_files(layout)),
        **({"gres.conf": _gres_conf(layout)} if layout.gres else {}),
    }


def words_of(meaning: str, release: Release) -> str:
    """Return what a release of Slurm reads for a meaning of the table."""
    return next(text for since, text in reversed(_WORDS[meaning]) if since <= max(release, OLDEST))


def leaves(spec: TestbedSpec) -> tuple[tuple[str, ...], ...]:
    """Return the nodes of each leaf switch, two per leaf: vn1 and vn2, vn3 and vn4."""
    nodes = spec.nodes
    return tuple(nodes[first : first + _NODES_A_LEAF] for first in range(0, len(nodes), _NODES_A_LEAF))


def leaf_switches(spec: TestbedSpec, layout: Layout) -> Mapping[str, tuple[str, ...]]:
    """Return the nodes of each leaf switch by its name, {} if there are no switches."""
    if layout.leaves is not None:
        return layout.leaves
    return {f"leaf{number}": nodes for number, nodes in enumerate(leaves(spec))}


def _topology_conf(switches: Mapping[str, tuple[str, ...]]) -> str:
    lines = [f"SwitchName={name} Nodes={','.join(nodes)}" for name, nodes in switches.items()]
    spine = "spine"
    while spine in switches:
        spine += "-above"
    return "\n".join([*lines, f"SwitchName={spine} Switches={','.join(switches)}"]) + "\n" if lines else ""


def _gres_conf(layout: Layout) -> str:
    """Return what nodes say about their resources.

    Without a file for a GPU, slurmd 22.05 reports none, even with CountOnly and AutoDetect=off ("gres/gpu count
    reported lower than configured (0 < 4)"). So the start script makes a file for each GPU. Other resources are only
    counted.
    """
    lines = []
    for number, gres in enumerate(layout.gres):
        kind = f" Type={gres.type}" if gres.type else ""
        counted = f"File={GRES_FOLDER}/{number}.[0-{gres.count - 1}]" if gres.name == "gpu" else "Flags=CountOnly"
        lines.append(f"Name={gres.name}{kind} Count={gres.count} {counted}")
    return "".join(f"{line}\n" for line in lines)


def _gres_files(layout: Layout) -> str:
    """Return the commands that make, in a node, the files that gres.conf names."""
    made = [f"{GRES_FOLDER}/{number}.$each" for number, gres in enumerate(layout.gres) if gres.name == "gpu"]
    most = max((gres.count for gres in layout.gres if gres.name == "gpu"), default=0)
    if not made:
        return ""
    each = " ".join(str(number) for number in range(most))
    # Any device will do: slurmd needs one but does not open it.
    return f"""\
rm -rf {GRES_FOLDER}
mkdir {GRES_FOLDER}
for each in {each}; do for file in {" ".join(made)}; do mknod $file c 1 3; done; done
"""


def _node_lines(spec: TestbedSpec, layout: Layout) -> list[str]:
    has = (
        f"CPUs={layout.cpus} Boards=1 SocketsPerBoard={layout.sockets} CoresPerSocket={layout.cores_per_socket} "
        f"ThreadsPerCore={layout.threads_per_core} RealMemory={layout.memory_mb}"
    )
    has += f" Feature={','.join(layout.features)}" if layout.features else ""
    has += f" Gres={','.join(map(str, layout.gres))}" if layout.gres else ""
    standing = [
        f"NodeName={node} NodeAddr={spec.address(node, MANAGEMENT_DEVICE)} {has} State=UNKNOWN" for node in spec.nodes
    ]
    absent = [f'NodeName={node} NodeAddr={_NOWHERE} {has} State=DOWN Reason="not rehearsed"' for node in layout.absent]
    return standing + absent


def _slurm_conf(spec: TestbedSpec, folder: Path, layout: Layout, release: Release) -> str:
    first = spec.nodes[0]
    lines = [
        "ClusterName=railyard",
        f"SlurmctldHost={first}({spec.address(first, MANAGEMENT_DEVICE)})",
        "AuthType=auth/munge",
        "SlurmUser=root",
        "SlurmdUser=root",
        # On the node that it runs on: a path below the clone could be too long for a socket's name (108 bytes).
        "StateSaveLocation=/run/slurmctld",
        "SlurmdSpoolDir=/run/slurmd",
        "SlurmctldPidFile=/run/slurmctld/slurmctld.pid",
        "SlurmdPidFile=/run/slurmd/slurmd.pid",
        f"SlurmctldLogFile={folder}/log/slurmctld.log",
        f"SlurmdLogFile={folder}/log/slurmd.%n.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        # Without cgroups, Slurm must sample to find a job that uses more memory than it asked for: by default never,
        # and each second if the job says --acctg-freq=task=1.
        "JobAcctGatherType=jobacct_gather/linux",
        "JobAcctGatherParams=OverMemoryKill",
        "JobAcctGatherFrequency=task=0",
        "MpiDefault=none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        # Without this line there are no switches; the word for that is another one in each release.
        *(["TopologyPlugin=topology/tree"] if leaf_switches(spec, layout) else []),
        "SchedulerType=sched/backfill",
        "SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0",
        # A node that was down for a moment is used again; a node that was drained by hand stays drained.
        "ReturnToService=2",
        f"SlurmdTimeout={SLURMD_TIMEOUT_S}",
        "MessageTimeout=10",
        "KillWait=5",
        "CompleteWait=0",
        "InactiveLimit=0",
        # For how many seconds scontrol still knows a job that has ended: the verdict reads its record.
        "MinJobAge=600",
        "JobRequeue=0",
        # Slurm's own FAQ advises this for MPI: locked memory has slurmd's limit, not that of the submitting shell.
        "PropagateResourceLimitsExcept=MEMLOCK",
        # A job of the partition urgent takes the nodes of a running job: this shows preemption.
        "PreemptType=preempt/partition_prio",
        "PreemptMode=CANCEL",
        # Accepts CPUs and memory as written here: the host has fewer.
        "SlurmdParameters=config_overrides",
    ]
    if layout.task_prolog:
        lines.append(f"TaskProlog={layout.task_prolog}")
    if layout.gres:
        lines.append(f"GresTypes={','.join(dict.fromkeys(gres.name for gres in layout.gres))}")
    lines += _node_lines(spec, layout)
    subscribed = words_of("whole nodes", release) if layout.exclusive else "OverSubscribe=NO"
    shared = f"Nodes={','.join(spec.nodes)} MaxTime={layout.max_time} State=UP {subscribed}"
    for tier, name in enumerate(layout.partitions, 1):
        default = " Default=YES" if tier == 1 else ""
        lines.append(f"PartitionName={name} {shared}{default} PriorityTier={tier}")
    return "\n".join(lines) + "\n"


# munged and Slurm run as root, without a user of their own: a user namespace or a container may have no user munge. The
# key is copied, since munged refuses one below a folder that others may write to, such as /tmp. Each daemon goes into
# the background when it is ready to be called, so the script's end means that all are ready.
_START = """\
#!/bin/sh
# start NODE FIRST: munged and slurmd in this node, and slurmctld if it is the first
set -eu
here=$(cd "${0%/*}" && pwd -P)
PATH=$PATH:/usr/sbin:/sbin:/usr/bin:/bin
SLURM_CONF=$here/slurm.conf
export SLURM_CONF
umask 022
# An earlier Slurm's saved state has jobs that ended with it.
rm -rf /run/slurmctld /run/slurmd
mkdir -p /run/munge /run/slurmd
cp "$here/munge.key" /run/munge/munge.key
chmod 400 /run/munge/munge.key
munged --force --num-threads=2 --key-file=/run/munge/munge.key --socket=/run/munge/munge.socket.2 \\
    --pid-file=/run/munge/munged.pid --seed-file=/run/munge/munged.seed --log-file=/run/munge/munged.log
if [ "$1" = "$2" ]; then
    mkdir -p /run/slurmctld
    slurmctld
fi
@GRES@
slurmd -N "$1"
"""
