#!/bin/sh
# Launches programs without MPI on the nodes of one of our testbeds: one process per node, as ranks 0, 1, 2 ...
#   sh start.sh ENTER NODE... -- COMMAND [ARGUMENT]...
# ENTER runs a command in a node. If one process fails, the others are ended, and this script exits with its code.

set -f

grace_s=${RAILYARD_PAIR_GRACE:-3}
children=''

end_children() { for child in $children; do kill "$child" 2>/dev/null; done; }

# Waits a tenth of a second and still takes signals: a shell that waits in the foreground takes none.
tick() {
    sleep 0.1 &
    wait "$!"
}

# Runs in its own shell, which passes a signal on to its command: a shell that waits does not end its child.
side() {
    side_rank=$1 node=$2
    shift 2
    child=''
    trap '[ -z "$child" ] || kill "$child" 2>/dev/null' TERM
    RAILYARD_PAIR_RANK=$side_rank "$enter" "$node" -- "$@" </dev/null &
    child=$!
    : >"$work/$side_rank.begun"
    wait "$child" 2>/dev/null
    code=$?
    # A signal to this shell ends its wait, not the command. If the command has gone, the second wait returns 127.
    [ "$code" -le 128 ] || { wait "$child" && answer=0 || answer=$?; [ "$answer" = 127 ] || code=$answer; }
    echo "$code" >"$work/$side_rank"
}

# Sets $ended to how many processes have ended, and $failed to the first of their exit codes that is not 0.
look() {
    one=0 ended=0
    while [ "$one" -lt "$ranks" ]; do
        if [ -s "$work/$one" ]; then
            ended=$((ended + 1))
            read -r code <"$work/$one"
            [ "$code" = 0 ] || [ -n "$failed" ] || failed=$code
        fi
        one=$((one + 1))
    done
}

# Whether all processes can be ended: a shell that does not know its command yet would not end it.
all_begun() {
    one=0
    while [ "$one" -lt "$ranks" ]; do
        [ -e "$work/$one.begun" ] || return
        one=$((one + 1))
    done
}

enter=${1-} nodes='' ranks=0
[ $# = 0 ] || shift
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    nodes="$nodes $1" ranks=$((ranks + 1))
    shift
done
if [ "$ranks" = 0 ] || [ $# -lt 2 ]; then
    echo 'railyard: start.sh ENTER NODE... -- COMMAND [ARGUMENT]...: not so called' >&2
    exit 64
fi
shift
work=$(mktemp -d) || exit 73
trap 'rm -rf "$work"' EXIT
trap 'end_children; exit 143' TERM INT HUP
rank=0
for name in $nodes; do
    (side "$rank" "$name" "$@") &
    children="$children $!" rank=$((rank + 1))
done
waited=0 failed='' told=''
look
until [ "$ended" = "$ranks" ]; do
    # The others may be about to say what went wrong, or may wait for a process that will not come.
    if [ -n "$failed" ] && [ -z "$told" ]; then
        [ "$waited" -lt $((grace_s * 10)) ] || ! all_begun || { told=yes && end_children; }
        waited=$((waited + 1))
    fi
    tick
    look
done
exit "${failed:-0}"
