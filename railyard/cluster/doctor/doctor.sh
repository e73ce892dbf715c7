#!/bin/sh
# Prints how this node is set up, as a process of a job step sees it, one line per fact
# (railyard/cluster/doctor/node_block.py reads them):
#   sh doctor.sh DEVICE[,DEVICE...]
# DEVICE is a rail as in the system's file: hsn0, mlx5_0:1. Every line begins with "railyard-doctor NODE PID", so lines
# of many nodes may come mixed. The script needs no root and changes nothing; a node's last line is "end".
# It needs only the node's own shell, and uses getent and mlnx_qos if they are installed.

sys=${RAILYARD_SYSFS:-/sys} proc=${RAILYARD_PROC:-/proc} dev=${RAILYARD_DEV:-/dev}
[ $# -eq 1 ] || { echo 'railyard: doctor.sh DEVICE[,DEVICE...]: one list of rails is needed' >&2; exit 64; }
devices=$1

IFS= read -r node <"$proc/sys/kernel/hostname" || node=unknown
say() { printf 'railyard-doctor %s %s %s\n' "$node" "$$" "$*"; }

# Prints the first line of a file as a fact of this name; nothing if it cannot be read.
say_file() {
    line=''
    [ -r "$2" ] && IFS= read -r line <"$2" 2>/dev/null
    [ -n "$line" ] && say "$1" "$line"
}

say begin 1
# Seconds since 1970, read before anything that may take time.
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
# The networks that an interface is on: entries of the main table without a gateway, in the kernel's hexadecimal words.
[ -r "$proc/net/route" ] && while read -r interface destination gateway _ _ _ _ mask _; do
    [ "$gateway" = 00000000 ] && [ "$destination" != 00000000 ] && say subnet "$interface" "$destination" "$mask"
done <"$proc/net/route"
# The node's own IPv4 addresses. The kernel's table may name an address twice.
[ -r "$proc/net/fib_trie" ] && seen=, && while IFS=' ' read -r mark name kind; do
    case "$mark $name $kind" in
        '|-- '*) own=$name ;;
        '/32 host LOCAL')
            case $own,$seen in 127.* | *",$own,"*) continue ;; esac
            seen=$seen$own, && say own "$own"
            ;;
    esac
done <"$proc/net/fib_trie"
# Benchmarks that an earlier job left. No other program has these names; the kernel cuts them at 15 characters.
for path in "$proc"/[0-9]*; do
    { IFS= read -r name <"$path/comm"; } 2>/dev/null || continue
    case $name in osu_* | IMB-MPI1 | IMB-RMA | NPmpi | NPtcp | NPopenmpi | xhpl | wrf.exe | railyard-pairs | railyard-sharin | \
        ib_*_bw | ib_*_lat | iperf3 | fi_pingpong) say process "${path##*/}" "$name" ;; esac
done

# The PCIe slot of a card: slot_facts DEVICE FOLDER; FOLDER/device is the card's. A virtual device has no slot.
slot_facts() {
    say_file "device $1 slot_speed" "$2/device/current_link_speed"
    say_file "device $1 slot_width" "$2/device/current_link_width"
    say_file "device $1 slot_max_speed" "$2/device/max_link_speed"
    say_file "device $1 slot_max_width" "$2/device/max_link_width"
    # The card's PCI address: lspci and setpci use it as the name.
    [ -r "$2/device/current_link_width" ] && path=$(cd -P "$2/device" && pwd -P) &&
        say device "$1" slot "${path##*/}"
}

interface_facts() { # DEVICE INTERFACE
    net=$sys/class/net/$2
    [ -d "$net" ] || return
    say device "$1" interface "$2"
    say_file "device $1 mtu" "$net/mtu"
    say_file "device $1 speed" "$net/speed"
    # If an interface is switched off, the carrier cannot be read.
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
