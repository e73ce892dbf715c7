#!/bin/sh
# Reads the counters of this node's rails again and again, for `railyard soak`:
#   sh soak.sh FOLDER[/%FOLDERS] BEGIN END EVERY_S TELEMETRY -- DEVICE...
# With %FOLDERS, the files are in so many folders in FOLDER, by the rank of each process.
# BEGIN and END are seconds since 1970. A device is a network interface (hsn0), a port of a card (mlx5_0:1) or a
# Slingshot card (cxi0). Of a Slingshot card, only the counters in TELEMETRY are read, a list with commas.
# The script appends to FOLDER/NODE.readings: "at SECONDS" (since the node started), a line "DEVICE COUNTER VALUE" for
# each counter, and "end".

set -f
sys=${RAILYARD_SYSFS:-/sys} proc=${RAILYARD_PROC:-/proc}
[ $# -ge 7 ] && [ "$6" = -- ] || {
    echo 'railyard: soak.sh FOLDER BEGIN END EVERY_S TELEMETRY -- DEVICE...: this call lacks one of these' >&2
    exit 64
}
folder=$1 begin=$2 end=$3 every_s=$4 telemetry=$5
shift 6
node=${SLURMD_NODENAME-}
[ -n "$node" ] || IFS= read -r node <"$proc/sys/kernel/hostname"
case $folder in
    */%*)
        for name in OMPI_COMM_WORLD_RANK PMI_RANK MV2_COMM_WORLD_RANK PALS_RANKID FLUX_TASK_RANK SLURM_PROCID; do
            eval "rank=\${$name-}"
            case $rank in '' | *[!0-9]*) rank=$$ ;; *) break ;; esac
        done
        folder=${folder%/%*}/$((rank % ${folder##*%}))
        mkdir -p "$folder" || exit 73
        ;;
esac

# Prints a counter's line if the file holds a number: counter NAME FILE
counter() {
    [ -f "$2" ] || return
    value=''
    { IFS= read -r value <"$2"; } 2>/dev/null
    value=${value%%@*}
    case $value in '' | *[!0-9]*) ;; *) echo "$device $1 $value" ;; esac
}

# Prints all counters of a folder: every PREFIX FOLDER
every() {
    set +f
    for path in "$2"/*; do
        set -f
        counter "$1${path##*/}" "$path"
    done
    set -f
}

# Prints how often the interface of a card's port went up or down: changes_of FOLDER PORT
changes_of() {
    chosen=''
    set +f
    for path in "$1"/*; do
        set -f
        [ -e "$path/carrier_changes" ] || continue
        chosen=${chosen:-$path}
        dev_port=''
        [ -r "$path/dev_port" ] && IFS= read -r dev_port <"$path/dev_port"
        [ "$dev_port" = $(($2 - 1)) ] && chosen=$path && break
    done
    set -f
    [ -z "$chosen" ] || counter carrier_changes "$chosen/carrier_changes"
}

reading() {
    IFS=' ' read -r uptime _ <"$proc/uptime"
    echo "at $uptime"
    for device; do
        card=${device%%:*} port=1
        case $device in *:*) port=${device#*:} ;; esac
        if [ -d "$sys/class/net/$device" ]; then
            every '' "$sys/class/net/$device/statistics"
            counter carrier_changes "$sys/class/net/$device/carrier_changes"
        elif [ -d "$sys/class/infiniband/$card/ports/$port" ]; then
            every '' "$sys/class/infiniband/$card/ports/$port/counters"
            every hw/ "$sys/class/infiniband/$card/ports/$port/hw_counters"
            changes_of "$sys/class/infiniband/$card/device/net" "$port"
        elif [ -d "$sys/class/cxi/$device/device/telemetry" ]; then
            IFS=,
            for name in $telemetry; do counter "$name" "$sys/class/cxi/$device/device/telemetry/$name"; done
            unset IFS
            changes_of "$sys/class/cxi/$device/device/net" 1
        fi
    done
    echo end
}

at=$begin
while :; do
    now=$(date +%s)
    [ "$now" -ge "$at" ] || sleep $((at - now))
    reading "$@" >>"$folder/$node.readings"
    [ "$at" -lt "$end" ] || exit 0
    at=$((at + every_s))
    [ "$at" -le "$end" ] || at=$end
done
