"""Grid Engine on a testbed: sge_qmaster on the first node, a sge_execd in each, without systemd.

Sources: sge_bootstrap(5), sge_conf(5), sge_pe(5), sge_queue_conf(5), sge_sched_conf(5), sge_complex(5) and qconf(1) of
Debian's Grid Engine 8.1.9, and how its package makes a first cluster (gridengine-common's init_cluster).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from railyard.parsers import sge as sge_records
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.scheduler import BedScheduler, last_line
from railyard.provision.testbed.scripts import START
from railyard.provision.testbed.spec import TestbedSpec

#: Slots of each node, whatever cores the host has: more than the ranks of any check on a node.
SLOTS = 16
#: Where Debian keeps what every cell of Grid Engine shares: programs by their architecture, and tools.
_INSTALLED = "/var/lib/gridengine"


@dataclass(frozen=True, slots=True)
class SgeResource:
    """A resource that an administrator of Grid Engine adds (sge_complex(5)), and how much of it each node has.

    Jobs with more ``urgency`` begin first.
    """

    name: str
    shortcut: str
    type: str
    relation: str
    is_used_up: bool
    each: str
    urgency: int = 0


@dataclass(frozen=True, slots=True)
class SgeLayout:
    """What Grid Engine is given about a testbed's nodes, all alike, and its queues: here the virtual cluster's.

    ``environments`` are the parallel environments, each with its allocation rule. Jobs may name the ``projects``.
    ``whole``: a job has its nodes for itself, although it does not ask for that.
    """

    slots: int = SLOTS
    queues: tuple[str, ...] = ("all.q",)
    environments: Mapping[str, str] = field(default_factory=lambda: {f"mpi-{n}": f"{n}" for n in range(1, SLOTS + 1)})
    resources: tuple[SgeResource, ...] = ()
    projects: tuple[str, ...] = ()
    whole: bool = False


def files(spec: TestbedSpec, folder: Path, layout: SgeLayout | None = None) -> dict[str, str]:
    """Return the texts of its files and the start script, by their names in ``folder``."""
    layout = layout or SgeLayout()
    return {
        "hosts": "".join(f"{node}\n" for node in spec.nodes),
        "bootstrap": _bootstrap(folder / "root"),
        "global": _GLOBAL,
        "complexes": "".join(map(_complex, (_WHOLE, *layout.resources))),
        "values": ",".join(f"{each.name}={each.each}" for each in (_WHOLE, *layout.resources)),
        "projects": "".join(f"{project}\n" for project in layout.projects),
        **{f"pe.{name}": _environment(name, rule) for name, rule in layout.environments.items()},
        **{f"queue.{name}": _queue(spec, name, layout) for name in layout.queues},
        # What every job asks for (sge_request(5)).
        "request": f"-l {_WHOLE.name}=true\n" if layout.whole else "",
        START: _START,
    }


#: What a job asks for that wants its nodes for itself.
_WHOLE = SgeResource("exclusive", "excl", "BOOL", "EXCL", True, "true", 1000)


def _complex(resource: SgeResource) -> str:
    """Return a line of ``qconf -sc``."""
    used_up = "YES" if resource.is_used_up else "NO"
    default = "NONE" if resource.type == "RESTRING" else "0"  # a text has no number: sge_complex(5)
    words = (resource.name, resource.shortcut, resource.type, resource.relation, "YES", used_up, default)
    return f"{' '.join(words)} {resource.urgency}\n"


def _bootstrap(root: Path) -> str:
    # The master's own state is in the first node's /run.
    return f"""\
admin_user none
default_domain none
ignore_fqdn true
spooling_method classic
spooling_lib libspoolc
spooling_params {root}/default/common;/run/sge/qmaster
binary_path {root}/bin
qmaster_spool_dir /run/sge/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""


# What differs from Grid Engine's own defaults. Jobs of root are allowed. A node that says nothing is unknown after half
# a minute, and what became of a job is in the accounting file at once; by default these take 5 minutes and 15 s.
_GLOBAL = """\
min_uid 0
min_gid 0
load_report_time 00:00:05
max_unheard 00:00:30
shell_start_mode unix_behavior
reporting_params accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:00 joblog=false \
sharelog=00:00:00
execd_params ENABLE_ADDGRP_KILL=TRUE
"""


def _environment(name: str, rule: str) -> str:
    return f"""\
pe_name            {name}
slots              99999
user_lists         NONE
xuser_lists        NONE
start_proc_args    NONE
stop_proc_args     NONE
allocation_rule    {rule}
control_slaves     TRUE
job_is_first_task  FALSE
urgency_slots      min
accounting_summary TRUE
qsort_args         NONE
"""


def _queue(spec: TestbedSpec, name: str, layout: SgeLayout) -> str:
    own = {
        "qname": name,
        "hostlist": " ".join(spec.nodes),
        # Jobs get the first nodes that are free, in this order.
        "seq_no": ",".join(["0", *(f"[{node}={number}]" for number, node in enumerate(spec.nodes))]),
        # Without it no node gets a job while the host is busy.
        "load_thresholds": "NONE",
        "suspend_thresholds": "NONE",
        "nsuspend": "1",
        "suspend_interval": "00:05:00",
        "priority": "0",
        "min_cpu_interval": "00:05:00",
        "processors": "UNDEFINED",
        "qtype": "BATCH INTERACTIVE",
        "pe_list": " ".join(layout.environments),
        "rerun": "FALSE",
        "slots": f"{layout.slots}",
        # Not /tmp, which all nodes share: each would remove the folder of the same job.
        "tmpdir": "/run/tmp",
        "shell": "/bin/sh",
        "shell_start_mode": "unix_behavior",
        "notify": "00:00:60",
        "initial_state": "default",
        **dict.fromkeys(_NONE, "NONE"),
        **{f"{kind}_{what}": "INFINITY" for kind in ("s", "h") for what in _LIMITS},
    }
    return "".join(f"{name} {value}\n" for name, value in own.items())


_NONE = (
    *("ckpt_list", "prolog", "epilog", "starter_method", "suspend_method", "resume_method", "terminate_method"),
    *("owner_list", "user_lists", "xuser_lists", "subordinate_list", "complex_values", "projects", "xprojects"),
    "calendar",
)
_LIMITS = ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem")

# Each node marks processes of its jobs by a group of its own numbers, and ends those that have the mark of a job that
# is over. All nodes share their processes, so two nodes must not use the same number.
_START = f"""\
#!/bin/sh
# start NODE FIRST: sge_execd in this node; on the first one, the master before it, with its hosts, queue and resources
set -eu
here=$(cd "${{0%/*}}" && pwd -P)
tools=$(echo {_INSTALLED}/utilbin/"$({_INSTALLED}/util/arch)")
LD_LIBRARY_PATH=/usr/lib/gridengine
export LD_LIBRARY_PATH
umask 022
cd /
rm -rf /run/sge
mkdir -p /run/sge/execd
if [ "$1" = "$2" ]; then
    common=$SGE_ROOT/$SGE_CELL/common
    mkdir -p "$common" /run/sge/qmaster/job_scripts
    for part in bin lib util utilbin; do ln -s {_INSTALLED}/$part "$SGE_ROOT/$part"; done
    cp "$here/bootstrap" "$common/bootstrap"
    cp "$here/request" "$common/sge_request"
    echo "$1" >"$common/act_qmaster"
    "$tools/spoolinit" classic libspoolc "$common;/run/sge/qmaster" init
    "$tools/spooldefaults" configuration /usr/share/gridengine/default-configuration
    "$tools/spooldefaults" complexes {_INSTALLED}/util/resources/centry
    "$tools/spooldefaults" usersets {_INSTALLED}/util/resources/usersets
    "$tools/spooldefaults" managers root
    sge_qmaster
    until qconf -sh >/dev/null 2>&1; do sleep 0.2; done
    files=/run/sge/files
    mkdir -p $files/local
    qconf -sconf global | grep -v '^#' >$files/before
    awk 'NR == FNR {{ own[$1] = $0; next }} $1 in own {{ $0 = own[$1] }} {{ print }}' \\
        "$here/global" $files/before >$files/global
    qconf -Mconf $files/global
    qconf -ssconf | sed 's/^schedule_interval .*/schedule_interval 0:0:2/; s/^flush_\\([a-z]*\\)_sec .*/flush_\\1_sec 1/
        s/^schedd_job_info .*/schedd_job_info true/; s/^queue_sort_method .*/queue_sort_method seqno/' >$files/schedule
    qconf -Msconf $files/schedule
    {{ qconf -sc; cat "$here/complexes"; }} >$files/complex
    qconf -Mc $files/complex
    for file in "$here"/pe.*; do qconf -Ap "$file"; done
    while read -r project; do
        printf '%s\\n' "name $project" 'oticket 0' 'fshare 0' 'acl NONE' 'xacl NONE' >$files/project
        qconf -Aprj $files/project
    done <"$here/projects"
    number=0
    while read -r node; do
        number=$((number + 1))
        qconf -ah "$node"
        qconf -as "$node"
        {{
            printf 'hostname %s\\ncomplex_values %s\\n' "$node" "$(cat "$here/values")"
            printf '%s NONE\\n' load_scaling usage_scaling user_lists xuser_lists projects xprojects report_variables
        }} >$files/host
        qconf -Ae $files/host
        groups=$((60000 + number * 1000))-$((60999 + number * 1000))
        printf 'gid_range %s\\nexecd_spool_dir /run/sge/execd\\n' $groups >"$files/local/$node"
        qconf -Aconf "$files/local/$node"
    done <"$here/hosts"
    for file in "$here"/queue.*; do qconf -Aq "$file"; done
    touch "$here/configured"
fi
# A node that the master does not know yet would be refused.
until [ -e "$here/configured" ]; do sleep 0.2; done
sge_execd
"""


def _why_not_ready(bed: Testbed) -> str:
    said = SGE.ask(bed, "qstat", "-f", "-xml")
    if said.returncode:
        return last_line(said.stderr)
    places = sge_records.parse_places(said.stdout)
    names = bed.state().spec.nodes
    if len(places) < len(names):
        return f"sge_qmaster knows {len(places)} of {len(names)} nodes"
    return ", ".join(f"{place.node} is in state {place.state}" for place in places if place.state)


SGE = BedScheduler(
    name="sge",
    title="Grid Engine",
    programs=("sge_qmaster", "sge_execd", "sge_shepherd", "qconf", "qhost", "qmod", "qacct", "qrsh"),
    install="apt-get install gridengine-master gridengine-exec gridengine-client (Debian's names)",
    clients=("qsub", "qstat", "qdel", "qacct", "qconf", "qhost", "qmod", "qalter", "qhold", "qrls"),
    daemons=("sge_qmaster", "sge_execd", "sge_shepherd"),
    each=("sge_execd",),
    job_variable="JOB_ID",
    files=files,
    why_not_ready=_why_not_ready,
    beside="qconf",
    needs_root="its daemons run as root and start jobs of any user",
)
