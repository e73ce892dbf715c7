"""The shell scripts of a rehearsed node: its /sys, where its processes are bound, and its death. Pure.

They are in the rehearsal's folder beside ``enter``; each node runs them in its own namespaces.
"""

from collections.abc import Iterable

from railyard.provision.rehearsal.machine import Machine
from railyard.provision.testbed.scripts import fill_script

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
