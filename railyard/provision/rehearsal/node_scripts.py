"""The shell scripts of a rehearsed node: its /sys, where its processes are bound, and its death. Pure.

They are in the rehearsal's folder beside ``enter``; each node runs them in its own namespaces.

What a rehearsal's scheduler is given: nodes, queues and resources as a system's file asks for them.

Slurm's partitions, features and resources are in ``nodes``; here are those of the other schedulers.
"""

import re
from collections.abc import Iterable, Sequence

from railyard.provision.rehearsal.nodes import gives_whole_nodes, layout_of, leaf_switches, names_of
from railyard.provision.rehearsal.sysfs import Machine, machine_of
from railyard.provision.testbed import flux, pbs, sge, slurm_texts
from railyard.provision.testbed.flux import FluxLayout
from railyard.provision.testbed.pbs import PbsLayout, PbsResource
from railyard.provision.testbed.scheduler import Files
from railyard.provision.testbed.scripts import fill_script
from railyard.provision.testbed.sge import SgeLayout, SgeResource
from railyard.site.systems.job_requests import (
    SLOTS_OF_NODE,
    allocation_rules,
    chunk_resources,
    requested_resources,
    requested_words,
)
from railyard.site.systems.jobs import FAMILIES
from railyard.site.systems.model import System

#: Names in the rehearsal's folder. ARCHIVES: each node's own files; MACHINE: what all nodes have in common.
LAY, BIND, TASKSET, PROLOG, DIE, SPEND = "lay", "bind", "taskset", "prolog", "die", "spend"
#: The folder whose files Flux's shell reads, if $FLUX_SHELL_RC_PATH of a job names it, and the file there.
FLUX_SHELL, FLUX_FILE = "flux-shell", "rehearsal.lua"
ARCHIVES, MACHINE = "sys", "machine"

# sysfs takes no new folders. An overlay shows the synthetic folders beside the real ones, whose interfaces are still
# read live. If the kernel has no overlays, single mounts make a copy of the upper folders. The real processors and
# memory domains are hidden: otherwise two of 224 declared ones would have the caches and clocks of this machine.
_LAY = """\
#!/bin/sh
# lay NODE [mounts]: lays the synthetic devices of this node over its /sys; "mounts": without an overlay
set -eu
here=$(cd "${0%/*}" && pwd -P)
mkdir -p /run/sys/upper /run/sys/work
tar -C /run/sys/upper -xf "$here/@ARCHIVES@/$1.tar"
# An interface that the node really has (eth0) answers with its own hardware address.
for entry in /run/sys/upper/class/net/*; do
    [ ! -r "/sys/class/net/${entry##*/}/address" ] || cat "/sys/class/net/${entry##*/}/address" >"$entry/address"
done

# Mounts what a folder of /sys has beside what the same synthetic folder has.
beside() {
    for entry in "$1"/*; do
        own=/run/sys/upper${entry#/sys}
        if [ -L "$own" ] || [ -f "$own" ]; then
            :
        elif [ -L "$entry" ]; then
            cp -P "$entry" "$own"
        elif [ -d "$entry" ] && [ -d "$own" ]; then
            beside "$entry"
        elif [ -d "$entry" ]; then
            mkdir "$own"
            mount --bind "$entry" "$own"
        elif [ -e "$entry" ]; then
            : >"$own"
            mount --bind "$entry" "$own"
        fi
    done
}

if [ "${2-}" = mounts ] ||
    ! mount -t overlay -o lowerdir=/sys,upperdir=/run/sys/upper,workdir=/run/sys/work overlay /sys 2>/dev/null; then
    beside /sys
    mount --rbind /run/sys/upper /sys
fi
for part in cpu node; do
    mkdir -p /sys/devices/system/$part
    mount --bind "$here/@MACHINE@/$part" /sys/devices/system/$part
done
real=$(command -v taskset)
: >/run/sys/taskset
mount --bind "$real" /run/sys/taskset
mount --bind "$here/@TASKSET@" "$real"
"""

# The kernel binds a process only to processors that exist. So a file is mounted over /proc/PID/status. It says what a
# process of the declared machine would be bound to, and it goes with the process.
_BIND = """\
#!/bin/sh
# bind PID LIST: shows that a process is bound to these processors of the declared node
set -eu
own=/run/sys/status/$1
mkdir -p "${own%/*}"
status=$(
    while IFS= read -r line; do
        case $line in
            Cpus_allowed:*) ;;
            Cpus_allowed_list:*) printf 'Cpus_allowed_list:\\t%s\\n' "$2" ;;
            *) printf '%s\\n' "$line" ;;
        esac
    done <"/proc/$1/status"
)
# Bound before: this file is already mounted there.
mounted=''
[ ! "$own" -ef "/proc/$1/status" ] || mounted=yes
printf '%s\\n' "$status" >"$own"
[ -n "$mounted" ] || mount --bind "$own" "/proc/$1/status"
"""

# A stand-in computes nothing. The shell that waits for it is shown the processor time that the real program would have
# used: cutime, the 16th value of /proc/PID/stat (proc(5)).
_SPEND = """\
#!/bin/sh
# spend PID HUNDREDTHS: shows that a process's children used this many more hundredths of a second of processor time
set -eu
pid=$1 more=$2
IFS= read -r line <"/proc/$pid/stat"
# The name of the program, in brackets, may have blanks.
head=${line%") "*}
set -f
set -- ${line##*") "}
own=/run/sys/stat/$pid text="$head)" at=0
for value in "$@"; do
    at=$((at + 1))
    [ "$at" != 14 ] || value=$((value + more))
    text="$text $value"
done
mkdir -p "${own%/*}"
printf '%s\\n' "$text" >"$own"
mount --bind "$own" "/proc/$pid/stat"
"""

_TASKSET = """\
#!/bin/sh
# Replaces taskset(1) on the nodes of a rehearsal: binds to processors of the declared node, which do not exist here.
here=@HERE@
case $# in 0 | 1) exec /run/sys/taskset "$@" ;; esac
IFS= read -r online </sys/devices/system/cpu/online
last=${online##*-}

# Whether a list has a processor of the node: the kernel takes no other list.
has_one() {
    IFS=,
    for range in $1; do
        [ "${range%%-*}" -le "$last" ] 2>/dev/null && return
    done
    return 1
}

options='' list='' pid=''
case $1 in
    -pc | -cp) options=$1 list=$2 pid=${3-} ;;
    -c | --cpu-list) options=-c list=$2 pid=$$ ;;
esac
# Masks and questions: the real one answers them.
case $options:$pid in :* | -pc: | -cp:) exec /run/sys/taskset "$@" ;; esac
case $list in '' | *[!0-9,-]*)
    echo "taskset: failed to parse CPU list: $list" >&2
    exit 1
    ;;
esac
if ! (has_one "$list"); then
    echo "taskset: failed to set pid $pid's affinity: Invalid argument" >&2
    exit 1
fi
"$here/@BIND@" "$pid" "$list" || exit 1
# For the stand-in that a rank starts: a child has its own status.
if [ -n "${RAILYARD_REHEARSAL-}" ]; then
    IFS= read -r node </proc/sys/kernel/hostname
    mkdir -p "$RAILYARD_REHEARSAL/affinity"
    printf '%s\\n' "$list" >"$RAILYARD_REHEARSAL/affinity/$node.$pid"
fi
[ "$options" = -c ] || exit 0
shift 2
exec "$@"
"""

# What task/affinity would bind the first task of a node to, by the variables that srun sets: the processors of its
# cores if it was asked to bind to threads or cores, one socket for sockets and ldoms, else the whole node. Nothing
# reads the other tasks, and a mount for each would cost more than the task.
_PROLOG = """\
#!/bin/sh
# Slurm calls this before each task of a rehearsal: the first task of each node shows where Slurm would have bound it.
[ "${SLURM_LOCALID-0}" = 0 ] && [ -n "${SLURM_TASK_PID-}" ] || exit 0
here=@HERE@
each=${SLURM_CPUS_PER_TASK:-1} cores=@CORES@ threads=@THREADS@
case ,${SLURM_CPU_BIND-}, in
    *,none,* | *,no,*) list=@ALL@ ;;
    *socket* | *ldom*) list=@SOCKET@ ;;
    *,threads* | *,cores*)
        # --hint=nomultithread asks for one process per core: then each requested processor is a core.
        case ${SLURM_HINT-}${SLURM_THREADS_PER_CORE-} in
            nomultithread* | 1) ;;
            *) each=$(((each + threads - 1) / threads)) ;;
        esac
        [ "$each" -le "$cores" ] || each=$cores
        list='' first=0
        while [ "$first" -lt $((cores * threads)) ]; do
            list=$list${list:+,}$first
            [ "$each" = 1 ] || list=$list-$((first + each - 1))
            first=$((first + cores))
        done
        ;;
    *) list=@ALL@ ;;
esac
"$here/@BIND@" "$SLURM_TASK_PID" "$list" 2>/dev/null || :
"""

# Flux's shell would bind tasks to cores that this machine does not have, and say so of each job. The first command runs
# in the task itself, before the program; a rank's stand-in reads its own processors from the file.
_FLUX_SHELL = """\
-- Flux's shell reads this for each job of a rehearsal: each task shows where Flux would have bound it.
shell.options["cpu-affinity"] = "off"
plugin.register {
    name = "rehearsal",
    handlers = {
        {
            topic = "task.exec",
            fn = function ()
                local own = shell.rankinfo.resources.cores
                local list = own
                for thread = 1, @THREADS@ - 1 do
                    list = list .. "," .. own:gsub ("%d+", function (core)
                        return tostring (math.floor (tonumber (core) + thread * @ALL_CORES@))
                    end)
                end
                local command = "read -r node </proc/sys/kernel/hostname; "
                if task.info.localid == 0 then
                    command = command .. "'@FOLDER@/@BIND@' $PPID " .. list .. "; "
                end
                command = command .. "mkdir -p '@REHEARSAL@/affinity'; "
                os.execute ("{ " .. command .. "echo " .. list .. " >'@REHEARSAL@/affinity/'$node.$PPID; } 2>/dev/null")
            end,
        },
    },
}
"""

# The scheduler's daemons first, or they would report the end of a task like any other end.
_DIE = """\
#!/bin/sh
# die: ends all processes of this node but the one that holds it, as if the node died; any process of it may call this
here=$(cd "${0%/*}" && pwd -P)
IFS= read -r node </proc/sys/kernel/hostname
holder=''
while read -r name _ inside _; do
    [ "$name" != "$node" ] || holder=$inside
done <"$here/nodes"
[ -n "$holder" ] || { echo "railyard rehearse: $node is not a node of this rehearsal" >&2; exit 2; }
for round in daemons all; do
    for path in /proc/[0-9]*; do
        pid=${path#/proc/}
        [ "$path/ns/uts" -ef /proc/$$/ns/uts ] && [ "$pid" != "$holder" ] && [ "$pid" != $$ ] || continue
        IFS= read -r name <"$path/comm" || continue
        case $round:$name in @DAEMONS@ | all:*) kill -9 "$pid" ;; esac
    done
done 2>/dev/null
"""


def scripts(folder: str, machine: Machine, daemons: Iterable[str]) -> dict[str, str]:
    """Return the text of each script by its name in the rehearsal's folder.

    ``daemons`` are how the command names of the scheduler's daemons begin.
    """
    values = {
        "HERE": f"'{folder}'",
        "ARCHIVES": ARCHIVES,
        "MACHINE": MACHINE,
        "TASKSET": TASKSET,
        "BIND": BIND,
        "CORES": str(machine.cores),
        "DAEMONS": " | ".join(f"daemons:{name}*" for name in daemons),
        "THREADS": str(machine.threads_per_core),
        "SOCKET": machine.processors_near(0),
        "ALL": "0" if machine.processors == 1 else f"0-{machine.processors - 1}",
    }
    texts = {LAY: _LAY, BIND: _BIND, TASKSET: _TASKSET, PROLOG: _PROLOG, DIE: _DIE, SPEND: _SPEND}
    return {name: fill_script(text, values) for name, text in texts.items()}


def flux_shell(folder: str, rehearsal: str, machine: Machine) -> str:
    """Return the text of FLUX_FILE; ``folder`` is that of the nodes' scripts, ``rehearsal`` that of the rehearsal."""
    values = {
        "FOLDER": folder,
        "REHEARSAL": rehearsal,
        "BIND": BIND,
        "THREADS": str(machine.threads_per_core),
        "ALL_CORES": str(machine.cores),
    }
    return fill_script(_FLUX_SHELL, values)


#: A word of PBS for a size, and for a number.
_SIZE, _NUMBER = re.compile(r"[0-9]+(?:[kmgtp]?[bw])", re.IGNORECASE), re.compile(r"[0-9]+")
#: The resource by which PBS puts a job's chunks together: ``place=scatter:group=switch``.
_GROUP = re.compile(r"(?:^|:)group=([\w-]+)")
_BOOLEAN = re.compile(r"|true|false|t|f|y|n", re.IGNORECASE)
#: A word of Flux's constraints, such as those of ``ib-hdr&-old|not (4gpu)``; a minus before it negates it. Source:
#: RFC 31 and 35, and constraint/parser.py of flux-core 0.88.
_WORD, _OPERATORS = re.compile(r"[^()|&\s\"']+"), frozenset(("and", "or", "not", "AND", "OR", "NOT"))
#: The operator of a property, which is also that of a word without one; the others name nodes by name or number.
_PROPERTIES = "properties"
_PLENTY = "1000000G"
#: What Grid Engine takes for any letters, and for one, in names of queues and of parallel environments and in values; a
#: ``!`` is for all others. Source: sge_types(1), pattern and expression.
_ANY, _ONE_LETTER, _NONE_OF_THEM = re.compile(r"[*()]"), re.compile(r"\?|\[(.)[^\]]*\]"), "other"
_QUEUE = re.compile(r"[\w.-]+")
_MEMORY = re.compile(r"[0-9]+(?:\.[0-9]+)?[kmgt]", re.IGNORECASE)
_FRACTION, _TIME = re.compile(r"[0-9]*\.[0-9]+"), re.compile(r"[0-9]*:[0-9]+:[0-9]+")
#: Resources that every Grid Engine has, and ours for whole nodes. Source: qconf -sc of Grid Engine 8.1.9.
_OF_SGE = re.compile(
    r"arch|calendar|cpu|display_win_gui|excl(?:usive)?|hostname|[hs]_\w+|(?:np_)?load_\w+|mem_(?:free|total|used)|"
    r"m_\w+|min_cpu_interval|num_proc|qname|rerun|seq_no|slots|swap_\w+|tmpdir|virtual_\w+"
)
#: Resources that every PBS has. Source: master_resc_def_all.xml of OpenPBS 23.06.
_OF_PBS = frozenset(
    "accelerator accelerator_group accelerator_memory accelerator_model aoe arch cput cpupercent energy eoe exec_vnode "
    "file hbmem host hpm max_walltime mem min_walltime mpiprocs naccelerators nchunk ncpus nice nodect nodemask nodes "
    "ompthreads partition pcap_accelerator pcap_node pcput pe_mask pgov place pmem preempt_targets pstate pvmem resc "
    "select site soft_walltime software ssinodes start_time vmem vnode vntype walltime".split()
)


def files_of(system: System, nodes: Sequence[str], task_prolog: str) -> Files:
    """Return what makes the files of a system's scheduler for a rehearsal of these nodes.

    ``task_prolog`` is the program that each task of Slurm calls before it starts. Raises SetupError for a resource that
    cannot be read.
    """
    family = FAMILIES[system.scheduler]
    if family == "pbs":
        of_pbs = pbs_layout(system)
        return lambda spec, folder: pbs.files(spec, folder, of_pbs)
    if family == "flux":
        of_flux = flux_layout(system)
        return lambda spec, folder: flux.files(spec, folder, of_flux)
    if family == "sge":
        of_sge = sge_layout(system)
        return lambda spec, folder: sge.files(spec, folder, of_sge)
    of_slurm = layout_of(system, nodes, leaf_switches(system, nodes), task_prolog)
    return lambda spec, folder: slurm_texts.files(spec, folder, of_slurm)


def pbs_layout(system: System) -> PbsLayout:
    """Return what PBS is given: nodes that have what each chunk asks for, the file's queues, and its own resources.

    If the file does not state the nodes' hardware, they have what jobs ask for; else what it states, so a request that
    no node can meet is found.
    """
    chunk, machine, stated = dict(chunk_resources(system)), machine_of(system), system.nodes.hardware
    asked = int(number) if _NUMBER.fullmatch(number := chunk.get("ncpus", "")) else 0
    cores = machine.cores if stated and asked > machine.processors else max(machine.cores, asked)
    own = [_of_chunk(name, value) for name, value in chunk.items() if name not in _OF_PBS]
    if system.jobs.totals and system.gpus is not None:
        own.append(PbsResource("ngpus", "long", "nh", str(system.gpus.per_node)))
    known = _OF_PBS | {each.name for each in own}
    requested = requested_resources(system)
    own += [PbsResource(name, _type(value)) for name, value in requested if name not in known]
    # Nodes with the same value of such a resource are together: here all of them.
    groups = [found[1] for name, value in requested if name == "place" and (found := _GROUP.search(value)) is not None]
    own += [PbsResource(name, "string_array", "h", "all") for name in groups if name not in known]
    reserved = (system.jobs.reservation,) if system.jobs.reservation else ()
    return PbsLayout(
        cores=cores,
        memory=f"{machine.memory >> 20}mb" if stated else chunk.get("mem", f"{machine.memory >> 20}mb"),
        queues=tuple(dict.fromkeys((*names_of(requested_words(system, "partition")), *reserved))),
        resources=tuple({each.name: each for each in own}.values()),
        takes_chunks=not system.jobs.totals,
        whole=gives_whole_nodes(system),
    )


def flux_layout(system: System) -> FluxLayout:
    """Return what Flux is given: the file's hardware and queues, and each property that jobs require of nodes."""
    required = _properties(requested_words(system, "constraint"))
    return FluxLayout(
        cores=machine_of(system).cores,
        gpus=0 if system.gpus is None else system.gpus.per_node,
        queues=names_of(requested_words(system, "partition")) or (flux.QUEUE,),
        properties=required,
    )


def _properties(constraints: Sequence[str]) -> tuple[str, ...]:
    """Return each property that a constraint names, whether nodes must have it or not; every node has it."""
    found = []
    for word in _WORD.findall(" ".join(constraints)):
        if word in _OPERATORS:
            continue
        operator, colon, value = word.removeprefix("-").partition(":")
        values = value if colon else operator
        if not colon or operator == _PROPERTIES:
            found += [name.removeprefix("^") for name in values.split(",")]
    return tuple(dict.fromkeys(filter(None, found)))


def sge_layout(system: System) -> SgeLayout:
    """Return what Grid Engine is given: a slot for each core, and the file's environments, resources and projects."""
    machine = machine_of(system)
    found: dict[str, str] = {}
    for name, rule in allocation_rules(system).items():
        one = _fitting_text(name)
        if rule == SLOTS_OF_NODE:
            found |= {one.replace(rule, f"{slots}"): f"{slots}" for slots in range(1, machine.cores + 1)}
        else:
            found[one] = rule
    most = f"{machine.memory >> 20}M" if system.nodes.hardware else _PLENTY
    own = [_of_sge(name, value, most) for name, value in requested_resources(system) if not _OF_SGE.fullmatch(name)]
    asked = (part for text in requested_words(system, "partition") for part in text.split(","))
    # What comes behind an @ is a node or a group of them.
    queues = [name for each in asked if _QUEUE.fullmatch(name := _fitting_text(each.partition("@")[0]))]
    return SgeLayout(
        slots=machine.cores,
        queues=tuple(dict.fromkeys(queues)) or ("all.q",),
        environments=found,
        resources=tuple({each.name: each for each in own}.values()),
        projects=names_of(requested_words(system, "project")),
        whole=gives_whole_nodes(system),
    )


def _of_sge(name: str, value: str, most: str) -> SgeResource:
    """Return a resource of which each node has what a job asks for; of memory, which is per slot, all of its own."""
    if _MEMORY.fullmatch(value):
        return SgeResource(name, name, "MEMORY", "<=", True, most)
    if _NUMBER.fullmatch(value):
        return SgeResource(name, name, "INT", "<=", False, value)
    if _FRACTION.fullmatch(value):
        return SgeResource(name, name, "DOUBLE", "<=", False, value)
    if _TIME.fullmatch(value):
        return SgeResource(name, name, "TIME", "<=", False, value)
    if _BOOLEAN.fullmatch(value):
        return SgeResource(name, name, "BOOL", "==", False, "true")
    return SgeResource(name, name, "RESTRING", "==", False, _fitting_text(value))


def _fitting_text(pattern: str) -> str:
    """Return a text that a pattern of Grid Engine fits: the first of ``a100|v100``, ``long`` of ``long*``."""
    first = re.split(r"[|&]", pattern.strip("()"))[0]
    if first.startswith("!"):
        return _NONE_OF_THEM
    return _ANY.sub("", _ONE_LETTER.sub(lambda found: found[1] or "x", first))


def _of_chunk(name: str, value: str) -> PbsResource:
    """Return a resource of which each node has just what a chunk asks for; numbers and sizes are used up (flag n)."""
    kind = _type(value)
    if kind in ("long", "size"):
        return PbsResource(name, kind, "nh", value)
    return PbsResource(name, "string_array" if kind == "string" else kind, "h", value or "True")


def _type(value: str) -> str:
    if _BOOLEAN.fullmatch(value):
        return "boolean"
    return "long" if _NUMBER.fullmatch(value) else "size" if _SIZE.fullmatch(value) else "string"
