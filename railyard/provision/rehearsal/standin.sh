# The body of every stand-in. Lines before it set stack, tool, program, python, library and alone.
# Each rank writes what it was given in one line of WORK/ranks, and each node's first rank also its node's ports. Rank 0
# starts `play`, which decides the output and what each node's counters are to move; each node's first rank moves them.
# So a rank takes 2 ms, and the other ranks of a node end at once: there may be thousands of them.

set -f
sys=${RAILYARD_SYSFS:-/sys} proc=${RAILYARD_PROC:-/proc}
patience_s=${RAILYARD_REHEARSAL_PATIENCE:-120}
IFS= read -r node <"$proc/sys/kernel/hostname" || node=unknown

fail() {
    echo "rehearsal: $1" >&2
    exit 1
}

# A stack's own launcher says which rank this is; a scheduler's numbers are then those of the launcher's own processes.
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${FLUX_TASK_RANK:-${SLURM_PROCID-}}}}
ranks=${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${FLUX_JOB_SIZE:-${SLURM_STEP_NUM_TASKS:-${SLURM_NTASKS:-1}}}}}
here=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${PALS_LOCAL_RANKID:-${FLUX_TASK_LOCAL_ID:-${SLURM_LOCALID:-0}}}}}
# A launch within a job: the launcher's stand-in names it where the scheduler does not.
launch=${RAILYARD_REHEARSED_LAUNCH:-${FLUX_ENCLOSING_ID-}${FLUX_JOB_ID:-${SLURM_JOB_ID:-0}.${SLURM_STEP_ID:-0}}}
work=rehearsed/$launch
# A copy that a node runs by itself has no rank (each.sh removes these variables).
itself=''
if [ -z "$rank" ] || [ -n "$alone" ]; then
    itself=yes rank=0 ranks=1 here=0 work=rehearsed/$node.$$
fi
[ -d "$work" ] || mkdir -p "$work" 2>/dev/null || fail "$node cannot write $PWD/$work"

line_of() {
    line=''
    { IFS= read -r line <"$1"; } 2>/dev/null
}

# The ports in this node's /sys: "verbs mlx5_0:1 yes 400 0-55": whether it is up, Gbit/s, the processors near it.
ports() {
    set +f
    for entry in "$sys/class/infiniband"/*/ports/*; do
        set -f
        [ -d "$entry" ] || continue
        card=${entry%/ports/*}
        line_of "$entry/state"
        case $line in *ACTIVE*) up=yes ;; *) up=no ;; esac
        line_of "$entry/rate"
        rate=${line%% *}
        line_of "$card/device/local_cpulist"
        echo "verbs ${card##*/}:${entry##*/} $up ${rate:--} ${line:--}"
    done
    set +f
    for entry in "$sys/class/cxi"/*; do
        set -f
        [ -d "$entry" ] || continue
        line_of "$entry/device/local_cpulist"
        echo "cxi ${entry##*/} yes - ${line:--}"
    done
    set +f
    for entry in "$sys/class/net"/*; do
        set -f
        [ -d "$entry" ] || continue
        [ "${entry##*/}" = lo ] && continue
        line_of "$entry/carrier"
        [ "$line" = 1 ] && up=yes || up=no
        line_of "$entry/speed"
        rate=$line
        line_of "$entry/device/local_cpulist"
        [ -d "$entry/device/infiniband" ] && own=net/card || own=net
        echo "$own ${entry##*/} $up ${rate:--} ${line:--}"
    done
    set -f
    line_of "$sys/devices/system/cpu/online"
    echo "processors ${line:--}"
}

if [ "$here" = 0 ]; then
    ports >"$work/node-$rank.part"
    mv "$work/node-$rank.part" "$work/node-$rank"
fi

# Where its node's taskset put this rank: the process itself, or the counter reader that started it. Numbers of
# processes are used again, so the file is removed after it is read.
line=''
for process in $$ $PPID; do
    [ -z "$line" ] || break
    asked=${RAILYARD_REHEARSAL:-.}/affinity/$node.$process
    line_of "$asked"
    [ -z "$line" ] || rm -f "$asked"
done
said="$rank $node $here ${line:--}"
for name in $of_one_rank; do
    eval "value=\${$name-}"
    [ -z "$value" ] || said="$said $name=$value"
done
printf '%s\n' "$said" >>"$work/ranks"
[ "$here" = 0 ] || exit 0

# The node goes down: a script of the rehearsal's nodes ends all of its processes, this one too.
die() {
    script=${RAILYARD_REHEARSAL%/*}/rehearsal-bed/die
    [ -x "$script" ] || fail "$node cannot go down: there is no $script"
    "$script"
}

# Shows each.sh, which started this copy, the processor time that the real program would have used.
spend() {
    line_of "$work/used"
    script=${RAILYARD_REHEARSAL%/*}/rehearsal-bed/spend
    [ -z "$line" ] || [ ! -x "$script" ] || "$script" "$PPID" "$line"
}

# Adds to a counter; in Slingshot's "value@time" to the value. A folder of the path may be a pattern.
add() {
    set +f
    for file in "$sys"/$1; do
        set -f
        line_of "$file"
        case $line in '' | *[!0-9@.]*) fail "$file of $node is no counter that can be read" ;; esac
        case $line in *@*) behind=@${line#*@} ;; *) behind='' ;; esac
        { printf '%s\n' "$((${line%%@*} + $2))$behind" >"$file"; } 2>/dev/null || fail "$file of $node cannot be written"
    done
    set -f
}

child=''
trap '[ -z "$child" ] || kill "$child" 2>/dev/null; exit 143' TERM INT HUP
if [ "$rank" = 0 ]; then
    PYTHONPATH=$library${PYTHONPATH:+:$PYTHONPATH} "$python" -m railyard.provision.rehearsal.play \
        "$work" "$ranks" "$stack" "$tool" "$program" "$@" </dev/null &
    child=$!
fi

# A little longer than the first rank waits for the others, since its sentence says which are missing.
left=$((patience_s * 10 + 50))
wait_for() {
    until [ -e "$1" ] || [ -e "$work/end" ]; do
        [ -z "$child" ] || kill -0 "$child" 2>/dev/null || return 0
        [ "$left" -gt 0 ] || fail "$node waited in vain for $1: the first rank of the run has not written it"
        left=$((left - 1))
        sleep 0.1
    done
}

wait_for "$work/moves-$rank"
if [ -e "$work/moves-$rank" ]; then
    while IFS=' ' read -r what path amount; do
        case $what in
            die) die ;;
            add) add "$path" "$amount" ;;
        esac
    done <"$work/moves-$rank"
    : >"$work/done-$rank"
fi
if [ -n "$child" ]; then
    wait "$child"
    code=$?
    [ -z "$itself" ] || spend
    echo "$code" >"$work/end.part" && mv "$work/end.part" "$work/end"
    exit "$code"
fi
wait_for "$work/end"
line_of "$work/end"
exit "${line:-1}"
