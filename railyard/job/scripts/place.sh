#!/bin/sh
# Puts a command on the processors near a node's network devices, or on all the others, before it starts. Memory that
# the command touches first is then in their NUMA nodes:
#   sh place.sh near|far DEVICES -- EXECUTABLE ARGUMENT...
#   sh place.sh near|far|launcher DEVICES OUTDIR TAG VARIABLE -- EXECUTABLE ARGUMENT...
#   sh place.sh dealt DEVICES VARIABLE -- EXECUTABLE ARGUMENT...
# DEVICES are device names with commas between them, as for reader.sh. "near" means the processors of the devices' own
# NUMA nodes (local_cpulist), "far" all others that the kernel uses. If the node shows none of them, or the command may
# use none of them, the command runs where it was. The node's facts say where that is (railyard/job/node_facts.py), and
# the run fails.
# The second form gives each rank of the node one of the devices in turn, by the rank's number on its node. VARIABLE is
# set to that device; it is "-" if the library itself gives its ranks devices in this way. The rank is put near that
# device or far from it, or is left where the launcher put it. OUTDIR/NODE.PROCESS.nic says what the rank was given
# (railyard/job/node_facts.py reads it).
# The third form is for an application. The launcher lays its many ranks out over the sockets in turn. So the ranks get
# the sockets in turn, and the devices of a socket in turn. Each rank stays where it is, and writes nothing.

set -f

sys=${RAILYARD_SYSFS:-/sys} proc=${RAILYARD_PROC:-/proc}

case "${1-} ${3-} ${4-} ${6-}" in
'dealt '*' -- '*) own='' words=4 variable=$3 ;;
*' -- '*) own='' words=3 ;;
*' --') own=yes words=6 outdir=$3 tag=$4 variable=$5 ;;
*) words=$# ;;
esac
[ $# -gt $words ] || {
    echo 'railyard: place.sh near|far|dealt DEVICES [[OUTDIR TAG] VARIABLE] -- EXECUTABLE ARGUMENT...: this call lacks one of these' >&2
    exit 64
}
side=$1 devices=$2
shift $words

# Sets $rank to the rank's number on its node, and $devices to its one device. The variables are those of reader.sh.
choose() {
    for name in OMPI_COMM_WORLD_LOCAL_RANK MPI_LOCALRANKID MV2_COMM_WORLD_LOCAL_RANK PMI_LOCAL_RANK PALS_LOCAL_RANKID \
        FLUX_TASK_LOCAL_ID SLURM_LOCALID; do
        eval "rank=\${$name-}"
        [ -n "$rank" ] && break
    done
    case $rank in '' | *[!0-9]*) rank=unknown && return ;; esac
    IFS=,
    set -- $devices
    unset IFS
    if [ "$side" = dealt ]; then
        deal "$@"
    else
        shift $((rank % $#))
        devices=$1
    fi
    [ "$variable" = - ] || export "$variable=$devices"
}

# Sets $near to the processors near a device; empty if the node shows none.
near_to() {
    for path in "net/$1" "infiniband/${1%%:*}" "cxi/$1"; do
        near=''
        { IFS= read -r near <"$sys/class/$path/device/local_cpulist"; } 2>/dev/null && return
    done
}

# Sets $devices to the device of a rank, one of its socket's. All devices with the same processors are a socket.
deal() {
    cards=$* sockets='' there=''
    for device in $cards; do
        near_to "$device"
        case " $sockets " in *" $near- "*) ;; *) sockets="$sockets $near-" ;; esac
    done
    set -- $sockets
    number=$#
    shift $((rank % number))
    socket=$1
    for device in $cards; do
        near_to "$device"
        [ "$near-" = "$socket" ] && there="$there $device"
    done
    set -- $there
    shift $((rank / number % $#))
    devices=$1
}

# Writes what the rank was given, and where it runs.
tell() {
    node=unknown allowed=''
    { IFS= read -r node <"$proc/sys/kernel/hostname"; } 2>/dev/null
    while IFS= read -r line; do
        case $line in Cpus_allowed_list:*) allowed=${line##*[!0-9,-]} ;; esac
    done <"$proc/self/status"
    printf 'railyard-nic 1 %s\nnode %s\nrank %s\ndevice %s\nnear %s\nallowed %s\nend\n' \
        "$tag" "$node" "$rank" "$devices" "$1" "$allowed" >"$outdir/$node.$$.nic"
}

# Sets $all to the processors of a list in the kernel's form, "0-3,8", each with a blank on both sides.
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

[ -n "$own" ] && choose
[ "$side" = dealt ] && choose && exec "$@"
list=''
IFS=,
for device in $devices; do
    near_to "$device"
    list=${list:+$list${near:+,}}$near
done
unset IFS
case $list in
*[!0-9,-]*) list='' ;;
esac
shown=$list
case $side in
far)
    if [ -n "$list" ]; then
        expand "$list"
        near=$all online='' list=''
        { IFS= read -r online <"$sys/devices/system/cpu/online"; } 2>/dev/null
        expand "$online"
        for number in $all; do
            case $near in *" $number "*) ;; *) list=${list:+$list,}$number ;; esac
        done
    fi
    ;;
launcher) list='' ;;
esac
[ -n "$list" ] && taskset -pc "$list" $$ >/dev/null 2>&1
[ -n "$own" ] && tell "$shown" 2>/dev/null
exec "$@"
