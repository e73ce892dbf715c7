"""The shell texts of a rehearsed node: its /sys, where its processes are bound, and its death. Pure.

They lie in the rehearsal's folder beside ``enter``; each node runs them in its own namespaces.
"""

from railyard.provision.rehearsal.machine import Machine
from railyard.provision.testbed.entry import filled

#: Names in the rehearsal's folder. ARCHIVES: a node's own files; MACHINE: what is the same in all nodes.
LAY, BIND, TASKSET, PROLOG, DIE, SPEND = "lay", "bind", "taskset", "prolog", "die", "spend"
ARCHIVES, MACHINE = "sys", "machine"

# sysfs takes no new folders. An overlay shows the synthetic ones beside the real ones, whose interfaces are still read
# live; where the kernel has no overlays, a copy of the upper folders is made of single mounts. The real processors and
# memory domains are hidden: of 224 declared ones two would else have the caches and clocks of this machine.
_LAY = """\
#!/bin/sh
# lay NODE [mounts]: lays the synthetic devices of this node over its /sys; "mounts": without an overlay
set -eu
here=$(cd "${0%/*}" && pwd -P)
mkdir -p /run/sys/upper /run/sys/work
tar -C /run/sys/upper -xf "$here/@ARCHIVES@/$1.tar"

# What a folder of /sys holds is mounted beside what the same synthetic folder holds.
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

# The kernel binds a process to processors that there are. What a process of the declared machine would be bound to is
# what /proc/PID/status says: the file is mounted over, and goes with the process.
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
# Bound before: what is mounted there is this file.
mounted=''
[ ! "$own" -ef "/proc/$1/status" ] || mounted=yes
printf '%s\\n' "$status" >"$own"
[ -n "$mounted" ] || mount --bind "$own" "/proc/$1/status"
"""

# A stand-in computes nothing. What the real program would have used of the processors is shown to the shell that waits
# for it: cutime, the 16th value of /proc/PID/stat (proc(5)).
_SPEND = """\
#!/bin/sh
# spend PID HUNDREDTHS: shows that the children of a process used so many hundredths of a second of processors besides
set -eu
pid=$1 more=$2
IFS= read -r line <"/proc/$pid/stat"
# The name of the program, in brackets, may hold blanks.
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
# In place of taskset(1) on the nodes of a rehearsal: binds to processors of the declared node, which are not there.
here=@HERE@
case $# in 0 | 1) exec /run/sys/taskset "$@" ;; esac
IFS= read -r online </sys/devices/system/cpu/online
last=${online##*-}

# Whether a list has a processor of the node: the kernel takes no other.
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
# Masks and questions: as the real one answers them.
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
# For the stand-in that a rank starts: a child has a status of its own.
if [ -n "${RAILYARD_REHEARSAL-}" ]; then
    IFS= read -r node </proc/sys/kernel/hostname
    mkdir -p "$RAILYARD_REHEARSAL/affinity"
    printf '%s\\n' "$list" >"$RAILYARD_REHEARSAL/affinity/$node.$pid"
fi
[ "$options" = -c ] || exit 0
shift 2
exec "$@"
"""

# What task/affinity would bind a task to that is the first of its node, by the variables that srun sets: the processors
# of its cores, where it was asked to bind to threads or cores, one socket for sockets and ldoms, else the whole node.
# Other tasks are not read by anything, and a mount each would cost more than the task.
_PROLOG = """\
#!/bin/sh
# Called by Slurm before each task of a rehearsal: the first of each node shows where Slurm would have bound it.
[ "${SLURM_LOCALID-0}" = 0 ] && [ -n "${SLURM_TASK_PID-}" ] || exit 0
here=@HERE@
each=${SLURM_CPUS_PER_TASK:-1} cores=@CORES@ threads=@THREADS@
case ,${SLURM_CPU_BIND-}, in
    *,none,* | *,no,*) list=@ALL@ ;;
    *socket* | *ldom*) list=@SOCKET@ ;;
    *,threads* | *,cores*)
        # A process a core is what --hint=nomultithread says: then each processor that is asked for is a core.
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

# Daemons first, or slurmstepd would report the end of its task as any other.
_DIE = """\
#!/bin/sh
# die: ends every process of this node but the one that holds it, as a node does that dies; any process of it may call
here=$(cd "${0%/*}" && pwd -P)
IFS= read -r node </proc/sys/kernel/hostname
holder=''
while read -r name _ inside _; do
    [ "$name" != "$node" ] || holder=$inside
done <"$here/nodes"
[ -n "$holder" ] || { echo "railyard rehearse: $node is no node of this rehearsal" >&2; exit 2; }
for round in daemons all; do
    for path in /proc/[0-9]*; do
        pid=${path#/proc/}
        [ "$path/ns/uts" -ef /proc/$$/ns/uts ] && [ "$pid" != "$holder" ] && [ "$pid" != $$ ] || continue
        IFS= read -r name <"$path/comm" || continue
        case $round:$name in daemons:slurmd | daemons:slurmstepd | all:*) kill -9 "$pid" ;; esac
    done
done 2>/dev/null
"""


def scripts(folder: str, machine: Machine) -> dict[str, str]:
    """Return the text of each script by its name in the rehearsal's folder."""
    values = {
        "HERE": f"'{folder}'",
        "ARCHIVES": ARCHIVES,
        "MACHINE": MACHINE,
        "TASKSET": TASKSET,
        "BIND": BIND,
        "CORES": str(machine.cores),
        "THREADS": str(machine.threads_per_core),
        "SOCKET": machine.near(0),
        "ALL": "0" if machine.processors == 1 else f"0-{machine.processors - 1}",
    }
    texts = {LAY: _LAY, BIND: _BIND, TASKSET: _TASKSET, PROLOG: _PROLOG, DIE: _DIE, SPEND: _SPEND}
    return {name: filled(text, values) for name, text in texts.items()}
