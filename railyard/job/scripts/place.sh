#!/bin/sh
# Puts a command on the processors near a node's network devices, or on all the others, before it starts; what it
# touches first then lies in their memory:
#   sh place.sh near|far DEVICES -- EXECUTABLE ARGUMENT...
# DEVICES are device names with commas between them, as reader.sh takes them. Near are the processors of the devices'
# own NUMA nodes (local_cpulist), far all others that the kernel uses. Where the node shows none, or lets the command
# have none of them, it runs where it was: the node's facts have where (railyard/job/node_facts.py), and the verdict
# refuses it.

set -f

sys=${RAILYARD_SYSFS:-/sys}

[ $# -ge 4 ] && [ "$3" = -- ] || {
    echo 'railyard: place.sh near|far DEVICES -- EXECUTABLE ARGUMENT...: this call lacks one of these' >&2
    exit 64
}
side=$1 devices=$2
shift 3

# The processors of a list as the kernel writes it, "0-3,8", go to $all, each with a blank on both sides.
expand() {
    all=' '
    IFS=,
    for range in $1; do
        number=${range%-*}
        while [ "$number" -le "${range#*-}" ]; do
            all="$all$number "
            number=$((number + 1))
        done
    done
    unset IFS
}

list=''
IFS=,
for device in $devices; do
    for path in "net/$device" "infiniband/${device%%:*}" "cxi/$device"; do
        near=''
        { IFS= read -r near <"$sys/class/$path/device/local_cpulist"; } 2>/dev/null
        list=${list:+$list${near:+,}}$near
    done
done
unset IFS
case $list in
*[!0-9,-]*) list='' ;;
esac
if [ "$side" = far ] && [ -n "$list" ]; then
    expand "$list"
    near=$all online='' list=''
    { IFS= read -r online <"$sys/devices/system/cpu/online"; } 2>/dev/null
    expand "$online"
    for number in $all; do
        case $near in *" $number "*) ;; *) list=${list:+$list,}$number ;; esac
    done
fi
[ -n "$list" ] && taskset -pc "$list" $$ >/dev/null 2>&1
exec "$@"
