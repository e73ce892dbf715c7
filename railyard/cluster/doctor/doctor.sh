#!/bin/sh
# Says how this node is set, as seen by a process of a job step, one line a fact (read by
# railyard/cluster/doctor/node_block.py):
#   sh doctor.sh DEVICE[,DEVICE...]
# DEVICE is a rail as the system's file has it: hsn0, mlx5_0:1. Every line begins with "railyard-doctor NODE PID", so
# that lines of many nodes may come mixed. It needs no root and changes nothing; the last line of a node is "end".
# Each node's own shell is all it takes; getent and mlnx_qos are asked where they are there.

sys=${RAILYARD_SYSFS:-/sys} proc=${RAILYARD_PROC:-/proc} dev=${RAILYARD_DEV:-/dev}
[ $# -eq 1 ] || { echo 'railyard: doctor.sh DEVICE[,DEVICE...]: one list of rails is needed' >&2; exit 64; }
devices=$1

IFS= read -r node <"$proc/sys/kernel/hostname" || node=unknown
say() { printf 'railyard-doctor %s %s %s\n' "$node" "$$" "$*"; }

# The first line of a file as a fact of this name; nothing where it cannot be read.
say_file() {
    line=''
    [ -r "$2" ] && IFS= read -r line <"$2" 2>/dev/null
    [ -n "$line" ] && say "$1" "$line"
}

say begin 1
# Seconds since 1970, read before all that may take time.
say fact clock_s "$(date +%s)"
say fact memlock_kb "$(ulimit -l)"
say fact uid "$(id -u)"
say_file 'fact hugepages' "$proc/sys/vm/nr_hugepages"
say_file 'fact transparent_hugepages' "$sys/kernel/mm/transparent_hugepage/enabled"
say_file 'fact numa_balancing' "$proc/sys/kernel/numa_balancing"
say_file 'fact governor' "$sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
say_file 'fact load' "$proc/loadavg"
processors=0
for path in "$sys"/devices/system/cpu/cpu[0-9]*; do [ -d "$path" ] && processors=$((processors + 1)); done
say fact processors "$processors"
domains=0
for path in "$sys"/devices/system/node/node[0-9]*; do [ -d "$path" ] && domains=$((domains + 1)); done
say fact numa_nodes "$domains"
for path in "$sys"/devices/system/cpu/cpu0/cpuidle/state[0-9]*; do
    [ -r "$path/latency" ] || continue
    IFS= read -r latency <"$path/latency"
    IFS= read -r name <"$path/name"
    IFS= read -r off <"$path/disable"
    [ "$off" = 0 ] && say cstate "$latency" "$name"
done
address=$(getent hosts "$node" 2>/dev/null) && say fact address "${address%% *}"
for name in ib_uverbs ib_umad rdma_ucm; do [ -d "$sys/module/$name" ] && say module "$name"; done
for path in "$dev"/infiniband/uverbs*; do
    [ -e "$path" ] || continue
    [ -r "$path" ] && [ -w "$path" ] && state=open || state=closed
    say uverbs "${path##*/}" "$state"
done
# Networks that an interface is on, in the kernel's hexadecimal words: those of the main table without a gateway.
[ -r "$proc/net/route" ] && while read -r interface destination gateway _ _ _ _ mask _; do
    [ "$gateway" = 00000000 ] && [ "$destination" != 00000000 ] && say subnet "$interface" "$destination" "$mask"
done <"$proc/net/route"
# Benchmarks that an earlier job left: names that nobody else's programs have, cut at 15 characters as the kernel does.
for path in "$proc"/[0-9]*; do
    { IFS= read -r name <"$path/comm"; } 2>/dev/null || continue
    case $name in osu_* | IMB-MPI1 | IMB-RMA | NPmpi | NPtcp | NPopenmpi | xhpl | wrf.exe | railyard-pairs | railyard-sharin | \
        ib_*_bw | ib_*_lat | iperf3 | fi_pingpong) say process "${path##*/}" "$name" ;; esac
done

# The PCIe slot of a card: slot_facts DEVICE FOLDER, where FOLDER/device is the card's. A virtual device has none.
slot_facts() {
    say_file "device $1 slot_speed" "$2/device/current_link_speed"
    say_file "device $1 slot_width" "$2/device/current_link_width"
    say_file "device $1 slot_max_speed" "$2/device/max_link_speed"
    say_file "device $1 slot_max_width" "$2/device/max_link_width"
    # The card's PCI address, by which lspci and setpci name it.
    [ -r "$2/device/current_link_width" ] && path=$(cd -P "$2/device" && pwd -P) &&
        say device "$1" slot "${path##*/}"
}

interface_facts() { # DEVICE INTERFACE
    net=$sys/class/net/$2
    [ -d "$net" ] || return
    say device "$1" interface "$2"
    say_file "device $1 mtu" "$net/mtu"
    say_file "device $1 speed" "$net/speed"
    # Of an interface that is switched off it cannot be read.
    { IFS= read -r line <"$net/carrier"; } 2>/dev/null || line=off
    say device "$1" carrier "$line"
    for name in arp_ignore arp_announce; do
        say_file "device $1 $name" "$proc/sys/net/ipv4/conf/$2/$name"
    done
    trust=$(mlnx_qos -i "$2" 2>/dev/null) || return
    trust=${trust#*'Priority trust state: '}
    say device "$1" trust "${trust%%[!a-z]*}"
}

say_file 'fact arp_ignore' "$proc/sys/net/ipv4/conf/all/arp_ignore"
say_file 'fact arp_announce' "$proc/sys/net/ipv4/conf/all/arp_announce"
IFS=,
set -- $devices
unset IFS
for rail; do
    card=${rail%%:*} port=1
    case $rail in *:*) port=${rail#*:} ;; esac
    if [ -d "$sys/class/infiniband/$card" ]; then
        folder=$sys/class/infiniband/$card
        say device "$rail" there rdma
        say_file "device $rail state" "$folder/ports/$port/state"
        say_file "device $rail phys_state" "$folder/ports/$port/phys_state"
        say_file "device $rail rate" "$folder/ports/$port/rate"
        say_file "device $rail link_layer" "$folder/ports/$port/link_layer"
        say_file "device $rail firmware" "$folder/fw_ver"
        slot_facts "$rail" "$folder"
        interface=''
        # A GID's own interface first: a card of two ports has two below its device, Soft-RoCE none.
        { IFS= read -r interface <"$folder/ports/$port/gid_attrs/ndevs/0"; } 2>/dev/null ||
            for path in "$folder"/device/net/*; do [ -d "$path" ] && interface=${path##*/} && break; done
        [ -n "$interface" ] && interface_facts "$rail" "$interface"
        for path in "$folder/ports/$port"/gid_attrs/types/*; do
            [ -r "$path" ] && { IFS= read -r line <"$path"; } 2>/dev/null || continue
            [ "$line" = 'RoCE v2' ] && say gid "$rail" "${path##*/}"
        done
    elif [ -d "$sys/class/cxi/$card" ]; then
        say device "$rail" there cxi
        say_file "device $rail state" "$sys/class/cxi/$card/device/port/link"
        slot_facts "$rail" "$sys/class/cxi/$card"
    elif [ -d "$sys/class/net/$card" ]; then
        say device "$rail" there net
        slot_facts "$rail" "$sys/class/net/$card"
        interface_facts "$rail" "$card"
    else
        say device "$rail" there no
    fi
done
unset IFS
say end
