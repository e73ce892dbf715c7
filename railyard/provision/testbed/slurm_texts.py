"""The texts of Slurm on a testbed: its configuration, what starts it in a node, and its clients' way in. Pure.

Nothing needs systemd, a database or cgroups. What a daemon keeps lies in its node's own /run, which is gone with the
testbed; shared is the configuration alone, and the logs, which a person is to read.
"""

from collections.abc import Mapping
from pathlib import Path

from railyard.provision.testbed.entry import bed_folder
from railyard.provision.testbed.spec import MANAGEMENT_DEVICE, TestbedSpec

#: Below the testbed's folder: all that Slurm there needs; removed by ``down``.
FOLDER = "slurm"
CONFIGURATION = "slurm.conf"
START = "start"
KEY = "munge.key"
#: The command names of the daemons, as /proc/PID/comm has them; slurmstepd is a running job's,
#: slurmscriptd a helper that slurmctld starts (since Slurm 21.08).
CONTROLLER = ("slurmctld", "slurmscriptd")
DAEMONS = ("munged", *CONTROLLER, "slurmd", "slurmstepd")
#: What a person and ReFrame call from outside. Not srun: it is called by a job, on the node where that runs.
CLIENTS = ("sbatch", "salloc", "squeue", "scancel", "scontrol", "sinfo")
#: Cores that each node claims, whatever the host has: more than any check has ranks on a node.
CORES = 16
PARTITION = "all"
#: Whose jobs preempt those of the other partition.
URGENT = "urgent"
#: How long a slurmd may not answer until its node is down and its job ended, in seconds: a site has some minutes.
SLURMD_TIMEOUT_S = 15
_NODES_A_LEAF = 2


def slurm_folder(home: Path) -> Path:
    """Return the folder of Slurm on a site's testbed."""
    return bed_folder(home) / FOLDER


def client_variables(home: Path) -> dict[str, str]:
    """Return the variables with which a process of the host finds the testbed's own Slurm; ``$PATH`` stays a blank."""
    folder = slurm_folder(home)
    return {"PATH": f"{folder / 'bin'}:$PATH", "SLURM_CONF": str(folder / CONFIGURATION)}


def files(spec: TestbedSpec, folder: Path) -> dict[str, str]:
    """Return the text of each configuration file and of the start script, by its name in ``folder``."""
    return {
        CONFIGURATION: _slurm_conf(spec, folder),
        "topology.conf": _topology_conf(spec),
        # In a network namespace's empty /sys/fs/cgroup there is nothing to find, and nothing is asked of it.
        "cgroup.conf": "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n",
        # PMIx's sockets: /tmp is shared by all nodes, /run is each node's own.
        "mpi.conf": "PMIxCliTmpDirBase=/run/tmp\n",
        START: _START,
    }


def client(node: str, program: str) -> str:
    """Return the script that runs a client of Slurm on a node, from the host or from any other node."""
    return f"""\
#!/bin/sh
# Slurm's {Path(program).name} of this testbed, run on {node}
exec "${{0%/*}}/../../enter" {node} -- {program} "$@"
"""


def clients(spec: TestbedSpec, programs: Mapping[str, str]) -> dict[str, str]:
    """Return the script of each client by its name; ``programs`` has the path of each as it is installed."""
    return {name: client(spec.nodes[0], path) for name, path in programs.items()}


def leaves(spec: TestbedSpec) -> tuple[tuple[str, ...], ...]:
    """Return the nodes of each leaf switch, two a leaf: vn1 and vn2, vn3 and vn4."""
    nodes = spec.nodes
    return tuple(nodes[first : first + _NODES_A_LEAF] for first in range(0, len(nodes), _NODES_A_LEAF))


def _topology_conf(spec: TestbedSpec) -> str:
    found = leaves(spec)
    lines = [f"SwitchName=leaf{number} Nodes={','.join(nodes)}" for number, nodes in enumerate(found)]
    names = ",".join(f"leaf{number}" for number in range(len(found)))
    return "\n".join([*lines, f"SwitchName=spine Switches={names}"]) + "\n"


def _slurm_conf(spec: TestbedSpec, folder: Path) -> str:
    first = spec.nodes[0]
    lines = [
        "ClusterName=railyard",
        f"SlurmctldHost={first}({spec.address(first, MANAGEMENT_DEVICE)})",
        "AuthType=auth/munge",
        "SlurmUser=root",
        "SlurmdUser=root",
        # Of the node that it runs on: a path below the clone could be too long for a socket's name (108 bytes).
        "StateSaveLocation=/run/slurmctld",
        "SlurmdSpoolDir=/run/slurmd",
        "SlurmctldPidFile=/run/slurmctld/slurmctld.pid",
        "SlurmdPidFile=/run/slurmd/slurmd.pid",
        f"SlurmctldLogFile={folder}/log/slurmctld.log",
        f"SlurmdLogFile={folder}/log/slurmd.%n.log",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        # Without cgroups a job that uses more memory than it asked for is found by looking: by default never, and each
        # second where the job says --acctg-freq=task=1.
        "JobAcctGatherType=jobacct_gather/linux",
        "JobAcctGatherParams=OverMemoryKill",
        "JobAcctGatherFrequency=task=0",
        "SwitchType=switch/none",
        "MpiDefault=none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "TopologyPlugin=topology/tree",
        "SchedulerType=sched/backfill",
        "SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0",
        # A node that was down for a moment is used again; one that was drained by hand stays drained.
        "ReturnToService=2",
        f"SlurmdTimeout={SLURMD_TIMEOUT_S}",
        "MessageTimeout=10",
        "KillWait=5",
        "CompleteWait=0",
        "InactiveLimit=0",
        # How long scontrol can still be asked about a job that has ended, in seconds: the verdict reads its record.
        "MinJobAge=600",
        "JobRequeue=0",
        # As Slurm's own FAQ advises for MPI: locked memory is limited as slurmd is, not as the shell that submits.
        "PropagateResourceLimitsExcept=MEMLOCK",
        # A job of the partition urgent takes the nodes of one that runs: how preemption is shown.
        "PreemptType=preempt/partition_prio",
        "PreemptMode=CANCEL",
        # Takes CPUs and memory as they are written here: the host has fewer.
        "SlurmdParameters=config_overrides",
    ]
    for node in spec.nodes:
        address = spec.address(node, MANAGEMENT_DEVICE)
        lines.append(
            f"NodeName={node} NodeAddr={address} CPUs={CORES} Boards=1 SocketsPerBoard=1 CoresPerSocket={CORES} "
            f"ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN"
        )
    # EXCLUSIVE: a job has its nodes for itself, as a path proof needs.
    nodes = ",".join(spec.nodes)
    shared = f"Nodes={nodes} MaxTime=60 State=UP OverSubscribe=EXCLUSIVE"
    lines.append(f"PartitionName={PARTITION} {shared} Default=YES PriorityTier=1")
    lines.append(f"PartitionName={URGENT} {shared} PriorityTier=2")
    return "\n".join(lines) + "\n"


# munged and Slurm run as root, without a user of their own: a user namespace or a container may have no user munge.
# The key is copied, since munged refuses one below a folder that others may write to, and /tmp is such a folder.
# Each daemon puts itself into the background when it is ready to be called, so the script's end means just that.
_START = """\
#!/bin/sh
# start NODE FIRST: munged and slurmd in this node, and slurmctld where it is the first
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
slurmd -N "$1"
"""
