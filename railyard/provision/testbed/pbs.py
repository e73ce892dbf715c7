"""OpenPBS on a testbed: server, scheduler and database on the first node, a pbs_mom in each, without systemd.

Sources: pbs.conf(5), pbs_mom(8B), qmgr(8B) and the script pbs_init.d of OpenPBS 23.06.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from railyard.parsers import pbs as pbs_records
from railyard.provision.testbed.boot import SEARCH_PATH
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.scheduler import BedScheduler, last_line
from railyard.provision.testbed.scripts import START
from railyard.provision.testbed.spec import TestbedSpec

#: Cores that each node claims to have, whatever the host has: more than the ranks of any check on a node.
CORES = 16


@dataclass(frozen=True, slots=True)
class PbsResource:
    """A resource that an administrator of PBS adds, as qmgr names its type and flags.

    ``each`` is how much of it each node has; empty for a resource of whole jobs, which no node has.
    """

    name: str
    type: str
    flag: str = ""
    each: str = ""


@dataclass(frozen=True, slots=True)
class PbsLayout:
    """What PBS is given about a testbed's nodes, all alike, and its queues: here the virtual cluster's.

    ``memory`` is a size as PBS writes it (``389120mb``), empty for what the host has. The first of the ``queues``, if
    there are any, is the default instead of OpenPBS's own, workq. ``takes_chunks``: whether jobs may ask for chunks
    (select); otherwise the server makes whole nodes of their totals, and refuses chunks. ``whole``: a job has its nodes
    for itself, although it does not ask for that.
    """

    cores: int = CORES
    memory: str = ""
    queues: tuple[str, ...] = ()
    resources: tuple[PbsResource, ...] = ()
    takes_chunks: bool = True
    whole: bool = False


def files(spec: TestbedSpec, folder: Path, layout: PbsLayout | None = None) -> dict[str, str]:
    """Return the texts of its files and the start script, by their names in ``folder``."""
    layout, first = layout or PbsLayout(), spec.nodes[0]
    return {
        "pbs.conf": _configuration(first, is_server=True),
        "mom.conf": _configuration(first, is_server=False),
        "qmgr.txt": _settings(spec, folder, layout),
        # What the scheduler compares with what each node has.
        "counted": "".join(f"{each.name}, " for each in layout.resources if each.each),
        **({} if layout.takes_chunks else {_HOOK: totals_hook(layout.cores)}),
        **({"vnodes": _WHOLE_NODES} if layout.whole else {}),
        START: _START,
    }


_HOOK = "totals.py"
#: A vnode definition file: pbs_mom replaces @NODE@ by our start script. Only such a file can say it, not qmgr.
_WHOLE_NODES = "$configversion 2\n@NODE@: sharing = force_excl\n"


def totals_hook(cores: int) -> str:
    """Return a hook of a server without chunks, which does with each job what that of NCI's Gadi does.

    A job that asks for more processors than a node has gets whole nodes, and as many slots on each as it has cores.
    """
    return _TOTALS.replace("@CORES@", str(cores))


_TOTALS = """\
import pbs

CORES = @CORES@
asked = pbs.event().job.Resource_List
if asked["select"] is not None or asked["place"] is not None:
    pbs.event().reject("this server takes no chunks")
cpus = int(asked["ncpus"] or 1)
if cpus > CORES and cpus % CORES:
    pbs.event().reject("%d processors are no whole nodes" % cpus)
each = min(cpus, CORES)
asked["nodes"] = "%d:ppn=%d" % (cpus // each, each)
"""


def _configuration(first: str, is_server: bool) -> str:
    server = int(is_server)
    lines = [
        f"PBS_SERVER={first}",
        f"PBS_EXEC={_prefix()}",
        # In each node's own /run.
        "PBS_HOME=/run/pbs",
        f"PBS_START_SERVER={server}",
        f"PBS_START_SCHED={server}",
        f"PBS_START_COMM={server}",
        "PBS_START_MOM=1",
        "PBS_CORE_LIMIT=unlimited",
    ]
    return "".join(f"{line}\n" for line in lines)


def _prefix() -> str:
    """Return where OpenPBS is installed; its programs need that."""
    return str(Path(shutil.which("pbs_server", path=SEARCH_PATH) or "/opt/pbs/sbin/pbs_server").resolve().parents[1])


def _settings(spec: TestbedSpec, folder: Path, layout: PbsLayout) -> str:
    lines = [
        # What a finished job was is asked for afterwards (qstat -x): off by default.
        "set server job_history_enable = True",
        "set server flatuid = True",
        "set server acl_roots = root@*",
        "set server scheduler_iteration = 5",
        # A job that lost a node is not run again: its output would be of one run and its counters of the other.
        "set server node_fail_requeue = 0",
    ]
    for each in layout.resources:
        lines.append(f"create resource {each.name} type={each.type}{f', flag={each.flag}' if each.flag else ''}")
    for queue in layout.queues:
        lines.append(f"create queue {queue} queue_type=execution, enabled=True, started=True")
    lines += [f"set server default_queue = {queue}" for queue in layout.queues[:1]]
    has = {"ncpus": str(layout.cores), **{each.name: each.each for each in layout.resources if each.each}}
    if layout.memory:
        has["mem"] = layout.memory
    for node in spec.nodes:
        lines.append(f"create node {node}")
        lines += [f"set node {node} resources_available.{name} = {value}" for name, value in has.items()]
    if not layout.takes_chunks:
        lines.append("create hook totals event=queuejob")
        lines.append(f"import hook totals application/x-python default {folder / _HOOK}")
    return "".join(f"{line}\n" for line in lines)


# pbs_init.d would do the rest, but it looks for running daemons by their names, and all nodes share their processes.
# Output files are copied within one file system (usecp), else by scp.
_START = """\
#!/bin/sh
# start NODE FIRST: pbs_mom in this node; on the first one, the database, the server and the scheduler before it
set -eu
here=$(cd "${0%/*}" && pwd -P)
conf=mom
[ "$1" != "$2" ] || conf=pbs
PBS_CONF_FILE=$here/$conf.conf
export PBS_CONF_FILE
. "$PBS_CONF_FILE"
umask 022
cd /
rm -rf "$PBS_HOME"
mkdir -p "$PBS_HOME"
if [ $conf = pbs ]; then
    mkdir -p /run/postgresql
    chown postgres /run/postgresql
fi
"$PBS_EXEC/libexec/pbs_habitat"
# What an MPI calls in place of ssh. pbs_tmrsh 23.06 garbles a command that is a single word with blanks.
printf '#!/bin/sh\nhost=$1; shift\nexec "%s/bin/pbs_tmrsh" "$host" /bin/sh -c "$*"\n' "$PBS_EXEC" >"$PBS_HOME/remote"
chmod 755 "$PBS_HOME/remote"
printf '$clienthost %s\\n$usecp *:/ /\\n$restrict_user False\\n' "$PBS_SERVER" >"$PBS_HOME/mom_priv/config"
if [ $conf = pbs ]; then
    [ ! -s "$here/counted" ] ||
        sed -i 's/^resources: "/&'"$(cat "$here/counted")/" "$PBS_HOME/sched_priv/sched_config"
    "$PBS_EXEC/sbin/pbs_comm"
    "$PBS_EXEC/sbin/pbs_sched"
    "$PBS_EXEC/sbin/pbs_server"
    # It answers a moment after it has gone into the background.
    until "$PBS_EXEC/bin/qmgr" -c "list server" >/dev/null 2>&1; do sleep 0.2; done
    "$PBS_EXEC/bin/qmgr" <"$here/qmgr.txt"
fi
if [ -e "$here/vnodes" ]; then
    sed "s/@NODE@/$1/" "$here/vnodes" >"$PBS_HOME/vnodes"
    "$PBS_EXEC/sbin/pbs_mom" -s insert whole "$PBS_HOME/vnodes"
fi
"$PBS_EXEC/sbin/pbs_mom"
"""


def _why_not_ready(bed: Testbed) -> str:
    said = PBS.ask(bed, "pbsnodes", "-a")
    if said.returncode:
        return last_line(said.stderr)
    nodes = pbs_records.parse_nodes(said.stdout)
    names = bed.state().spec.nodes
    if len(nodes) < len(names):
        return f"pbs_server knows {len(nodes)} of {len(names)} nodes"
    return ", ".join(f"{node.name} is {node.state}" for node in nodes if node.state != "free")


PBS = BedScheduler(
    name="pbs",
    title="OpenPBS",
    programs=("pbs_server", "pbs_sched", "pbs_comm", "pbs_mom", "qsub", "qstat", "qdel", "qmgr", "pbsnodes", "initdb"),
    install="build OpenPBS (github.com/openpbs/openpbs), and put its bin and sbin, and PostgreSQL's bin, on PATH; "
    "Debian has no package",
    clients=("qsub", "qstat", "qdel", "qmgr", "pbsnodes", "qhold", "qrls", "qalter", "qsig"),
    daemons=("pbs_server", "pbs_sched", "pbs_comm", "pbs_mom", "pbs_ds_monitor", "postgres"),
    each=("pbs_mom",),
    job_variable="PBS_JOBID",
    files=files,
    why_not_ready=_why_not_ready,
    needs_root="its daemons run as root and start jobs of any user",
    beside="pbsnodes",
)
