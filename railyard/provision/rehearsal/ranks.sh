#!/bin/sh
# One node's part of a rehearsed mpirun or mpiexec: ranks.sh FOLDER COMMAND [WORD]...
# Starts this node's ranks as the lines of FOLDER/NODE say: number on the node, processors, variables. If the first
# rank fails, the others are ended, and Slurm then ends those of other nodes, as with the real launcher.

set -f
folder=$1
shift
IFS= read -r node <"${RAILYARD_PROC:-/proc}/sys/kernel/hostname"

children=''
end() {
    for child in $children; do kill "$child" 2>/dev/null; done
    exit "$1"
}
trap 'end 143' TERM INT HUP

while IFS= read -r line; do
    (
        here=${line%% *} rest=${line#* }
        processors=${rest%% *}
        case $rest in *' '*) export ${rest#* } ;; esac
        # The binding of a node's first rank is read from the kernel, the others' only by their stand-ins.
        if [ "$here" = 0 ]; then
            [ "$processors" != - ] || IFS= read -r processors <"${RAILYARD_SYSFS:-/sys}/devices/system/cpu/online"
            exec taskset -c "$processors" "$@"
        fi
        [ "$processors" != - ] || exec "$@"
        # shellcheck disable=SC2016
        exec sh -c 'printf "%s\n" "$0" >"$RAILYARD_REHEARSAL/affinity/'"$node"'.$$"; exec "$@"' "$processors" "$@"
    ) </dev/null &
    children="$children $!"
done <"$folder/$node"

for child in $children; do
    wait "$child" || end $?
done
