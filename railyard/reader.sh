#!/bin/sh
# Reads every counter of the named devices before and after one command, in the same launch as that command:
#   sh reader.sh OUTDIR TAG MEANT WATCHED -- EXECUTABLE ARGUMENT...
# MEANT and WATCHED are device names with commas between them: the rails that must carry the traffic, and the other
# networks of the node. A name is a network device (hsn0) or an RDMA device with or without its port (mlx5_0:1).
# The first process of each node writes OUTDIR/<hostname>.counters (read by railyard/counters.py); all others become
# the command at once. A meant rail that is missing or has no carrier: one sentence, exit 71, nothing is started.
# The shell alone is used: in a node's mount namespace there may be no other tool, and each would cost a process.

set -f

sys=${RAILYARD_SYSFS:-/sys}

usage() {
    echo 'railyard: reader.sh OUTDIR TAG MEANT WATCHED -- EXECUTABLE ARGUMENT...: this call lacks one of these' >&2
    exit 64
}

[ $# -ge 6 ] && [ "$5" = -- ] || usage
outdir=$1 tag=$2 meant=$3 watched=$4
shift 5

# Each launcher's own variable; Slurm's comes last, because a batch step hands its 0 down to every mpirun inside it.
first='' how=''
for name in OMPI_COMM_WORLD_LOCAL_RANK MPI_LOCALRANKID MV2_COMM_WORLD_LOCAL_RANK PMI_LOCAL_RANK PALS_LOCAL_RANKID \
    FLUX_TASK_LOCAL_ID SLURM_LOCALID; do
    eval "value=\${$name-}"
    if [ -n "$value" ]; then
        how=$name
        [ "$value" = 0 ] && first=yes || first=no
        break
    fi
done
[ "$first" = no ] && exec "$@"

IFS= read -r node <"${RAILYARD_PROC:-/proc}/sys/kernel/hostname" || node=unknown
file=$outdir/$node.counters

if [ -z "$first" ]; then
    # Nothing says which process is the first: the one that creates the file is. A file left by an earlier run keeps
    # that run's tag, which the reader of the file refuses.
    how=file
    (set -C && true >"$file") 2>/dev/null || exec "$@"
fi

write() { printf '%s\n' "$1" >&4; }

refuse() {
    write "refused $1 $2"
    write "end 71"
    echo "railyard: $2" >&2
    # MPICH 5.0.2's and Intel MPI 2021.18's mpiexec take no notice of an exit before MPI_Init, whatever its code: the
    # other ranks wait for this one until the time limit. An abort said on their own wire (PMI-1) ends all at once.
    # Open MPI and srun --kill-on-bad-exit go by the exit code.
    # dash knows descriptors up to 9 only (it is 9 for the first process of a node), and dies of others: a subshell.
    if [ -n "${PMI_FD-}" ]; then
        (printf 'cmd=abort exitcode=71\n' >&"$PMI_FD") 2>/dev/null ||
            bash -c 'printf "cmd=abort exitcode=71\n" >&"$PMI_FD"' 2>/dev/null
    fi
    exit 71
}

# The folder of a device's counters goes to $counters, what says that it is up to $link: "carrier FILE" or "state FILE".
locate() {
    counters='' link=''
    if [ -d "$sys/class/net/$1" ]; then
        counters=$sys/class/net/$1/statistics link="carrier $sys/class/net/$1/carrier"
        return
    fi
    card=${1%%:*} port=1
    case $1 in *:*) port=${1#*:} ;; esac
    if [ -d "$sys/class/infiniband/$card/ports/$port" ]; then
        port=$sys/class/infiniband/$card/ports/$port
        counters=$port/counters link="state $port/state"
    fi
}

# One line a counter: "before hsn0 tx_bytes 123"; "unreadable" stands where the kernel gives no value.
snapshot() {
    uptime=unreadable
    IFS=" " read -r uptime _ <"${RAILYARD_PROC:-/proc}/uptime" || uptime=unreadable
    write "$1 at $uptime"
    for device in $devices; do
        locate "$device"
        if [ -z "$counters" ]; then
            write "$1 $device present no"
            continue
        fi
        state=unreadable
        IFS= read -r state <"${link#* }" || state=unreadable
        write "$1 $device ${link%% *} ${state:-unreadable}"
        set +f
        for path in "$counters"/*; do
            set -f
            value=unreadable
            IFS= read -r value <"$path" || value=unreadable
            write "$1 $device ${path##*/} ${value:-unreadable}"
        done
        set -f
    done
} 2>/dev/null

check() {
    locate "$1"
    [ -n "$counters" ] || refuse "$1" "rail $1 of $node does not exist: no such network or RDMA device on that node"
    state=''
    { IFS= read -r state <"${link#* }"; } 2>/dev/null
    case $link:$state in
        carrier*:1) ;;
        state*:*ACTIVE*) ;;
        carrier*:0) refuse "$1" "rail $1 of $node has no carrier: the cable is unplugged or the other end is down" ;;
        carrier*) refuse "$1" "rail $1 of $node is switched off: its carrier cannot be read (ip link set $1 up)" ;;
        *) refuse "$1" "rail $1 of $node is not active: the port's state is ${state:-unreadable}" ;;
    esac
}

# Not ":": where a redirection of a special built-in fails, the shell itself ends, and the command would never run.
if ! { true >"$file"; } 2>/dev/null; then
    echo "railyard: $node cannot write $file: its counters are not read, the path of this run cannot be proven" >&2
    exec "$@"
fi
exec 4>"$file"
write "railyard-counters 1 $tag"
write "node $node"
write "first-by $how"
IFS=,
devices=${meant:+$meant,}$watched
for device in $meant; do write "meant $device"; done
for device in $watched; do write "watched $device"; done
for device in $meant; do check "$device"; done
# What this node is and how it is set goes to a file of its own; nothing that goes wrong there stops the run.
case $0 in */*) beside=${0%/*} ;; *) beside=. ;; esac
[ -r "$beside/node.sh" ] && (. "$beside/node.sh") 2>/dev/null
snapshot before
unset IFS

# Set before the command starts, or a signal in between would end this shell and leave the command alone.
child='' pending='' signalled=''
forward() {
    signalled=yes
    if [ -n "$child" ]; then kill -"$1" "$child" 2>/dev/null; else pending="$pending $1"; fi
}
# The command is started with SIGINT and SIGQUIT ignored, as POSIX has it for a background command: it gets SIGTERM.
trap 'forward TERM' TERM INT QUIT
trap 'forward HUP' HUP
trap 'forward USR1' USR1
trap 'forward USR2' USR2
trap 'forward CONT' CONT

# A command in the background would lose its standard input, and a shell that waits in the foreground its signals.
exec 3<&0
"$@" <&3 3<&- 4>&- &
child=$!
exec 3<&-
for signal in $pending; do kill -"$signal" "$child" 2>/dev/null; done
# A signal ends `wait` early, and by then the command may have ended or not: asked again, the shell gives its exit code,
# or 127 where it gave that before.
code=''
while :; do
    signalled=''
    wait "$child"
    answer=$?
    [ "$answer" = 127 ] && [ -n "$code" ] && break
    code=$answer
    [ -n "$signalled" ] || break
done
trap '' TERM INT QUIT HUP USR1 USR2
IFS=,
snapshot after
write "end $code"
exit $code
