# Says what this node is and how it is set, for the record of the run. reader.sh sources it; railyard/job/node_facts.py
# reads its output. It needs $sys, $outdir, $tag, $node, $meant and $watched of the reader. It needs no root and starts
# no process: the shell reads files of sysfs and procfs. What is missing, or not readable for everybody, is left out. It
# never reads a serial number, a UUID or the kernel's whole command line, since they name a machine or hold passwords.
# One line per fact: "fact smt on", "device hsn0 driver veth"; the last line is "end".

proc=${RAILYARD_PROC:-/proc}
cpu=$sys/devices/system/cpu

tell() { [ -n "$2" ] && printf '%s %s\n' "$1" "$2"; }

# The first line of a file, as a fact of this name; nothing if it cannot be read.
tell_file() {
    line=''
    [ -r "$2" ] && IFS= read -r line <"$2"
    tell "$1" "$line"
}

processor() {
    while IFS= read -r line; do
        case $line in
            'model name'*:*) tell 'fact processor' "${line#*: }" ;;
            microcode*:*) tell 'fact microcode' "${line#*: }" ;;
            # One processor's lines are enough, and the flags below them would be very long.
            flags* | '') break ;;
        esac
    done <"$proc/cpuinfo"
    sockets=' ' number=0
    set +f
    for path in "$cpu"/cpu[0-9]*/topology/physical_package_id; do
        [ -r "$path" ] && IFS= read -r line <"$path" || continue
        number=$((number + 1))
        case $sockets in *" $line "*) ;; *) sockets="$sockets$line " ;; esac
    done
    set -f
    [ "$number" -gt 0 ] || return
    tell 'fact logical_processors' "$number"
    IFS=' '
    set -- $sockets
    tell 'fact sockets' $#
    sockets=$# domains=0
    # Only memory nodes with processors: accelerators add memory nodes of their own.
    read_line "$sys/devices/system/node/has_cpu"
    IFS=,
    for range in $line; do domains=$((domains + ${range#*-} - ${range%-*} + 1)); done
    unset IFS
    [ "$domains" -gt 0 ] && tell 'fact numa_nodes_per_socket' $((domains / sockets))
}

read_line() {
    line=''
    [ -r "$1" ] && IFS= read -r line <"$1"
}

settings() {
    tell_file 'fact smt' "$cpu/smt/control"
    # Drivers say it in two opposite ways, and newer kernels say it for each processor.
    read_line "$cpu/intel_pstate/no_turbo"
    case $line in 0) tell 'fact turbo' on ;; 1) tell 'fact turbo' off ;; esac
    read_line "$cpu/cpufreq/boost"
    [ -n "$line" ] || read_line "$cpu/cpu0/cpufreq/boost"
    case $line in 1) tell 'fact turbo' on ;; 0) tell 'fact turbo' off ;; esac
    tell_file 'fact governor' "$cpu/cpu0/cpufreq/scaling_governor"
    tell_file 'fact frequency_driver' "$cpu/cpu0/cpufreq/scaling_driver"
    tell_file 'fact energy_preference' "$cpu/cpu0/cpufreq/energy_performance_preference"
    tell_file 'fact frequency_max_khz' "$cpu/cpu0/cpufreq/scaling_max_freq"
    tell_file 'fact base_frequency_khz' "$cpu/cpu0/cpufreq/base_frequency"
    tell_file 'fact idle_driver' "$cpu/cpuidle/current_driver"
    states=''
    set +f
    for path in "$cpu"/cpu0/cpuidle/state[0-9]*; do
        read_line "$path/name"
        name=$line
        read_line "$path/disable"
        [ -n "$name" ] && [ "$line" != 1 ] && states="$states${states:+ }$name"
    done
    set -f
    tell 'fact c_states' "$states"
    read_line "$sys/kernel/mm/transparent_hugepage/enabled"
    case $line in *'['*) line=${line#*'['} && tell 'fact transparent_hugepages' "${line%%']'*}" ;; esac
    tell_file 'fact numa_balancing' "$proc/sys/kernel/numa_balancing"
}

# The line PRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)" of os-release.
operating_system() {
    [ -r "$1" ] || return
    while IFS= read -r line; do
        case $line in PRETTY_NAME=*)
            line=${line#*=} line=${line#[\"\']}
            tell 'fact operating_system' "${line%[\"\']}"
            ;;
        esac
    done <"$1"
}

software() {
    tell_file 'fact kernel' "$proc/sys/kernel/osrelease"
    operating_system "${RAILYARD_ETC:-/etc}/os-release"
    read_line "$proc/cmdline"
    chosen=''
    IFS=' '
    for word in $line; do
        case $word in
            iommu=* | intel_iommu=* | amd_iommu=* | mitigations=* | nosmt | nosmt=* | isolcpus=* | nohz_full=* | idle=* | \
                processor.max_cstate=* | intel_idle.max_cstate=* | intel_pstate=* | amd_pstate=* | \
                transparent_hugepage=* | numa_balancing=* | pcie_aspm=* | pci=*) chosen="$chosen${chosen:+ }$word" ;;
        esac
    done
    unset IFS
    tell 'fact kernel_options' "$chosen"
    # Where the launcher put the first process of the node: all that it starts inherits this. Its own status is read,
    # not that of a shell below it, since a rehearsal shows the binding only there.
    status=$proc/$$/status
    [ -r "$status" ] || status=$proc/self/status
    while IFS= read -r line; do
        case $line in Cpus_allowed_list:*) tell 'fact cpus_allowed' "${line##*[!0-9,-]}" ;; esac
    done <"$status"
    read_line "$proc/meminfo"
    tell 'fact memory' "${line#*: }"
}

firmware() {
    for name in sys_vendor product_name board_name bios_vendor bios_version bios_date; do
        tell_file "fact $name" "$sys/class/dmi/id/$name"
    done
}

# Follows a link of sysfs without a process: by changing to its folder.
target_of() { [ -e "$1" ] && (cd -P "$1" && printf '%s' "${PWD##*/}"); }

# The path of a slot below sysfs's devices, including the bridges above it.
slot_of() { [ -e "$1" ] && (cd -P "$1" && printf '%s' "${PWD#*/devices/}"); }

# GPUs, from their drivers' own lists: NVIDIA's, and the kernel's render nodes (a card for screens only has none).
accelerators() {
    set +f
    for path in "$proc"/driver/nvidia/gpus/*; do
        [ -e "$path" ] && one_accelerator "$sys/bus/pci/devices/${path##*/}"
    done
    for path in "$sys"/class/drm/renderD*; do one_accelerator "$path/device"; done
    set -f
}

one_accelerator() {
    slot=$(slot_of "$1")
    case $slot in pci*/*) ;; *) return ;; esac
    tell "device ${slot##*/} accelerator" "$(target_of "$1/driver")"
    tell "device ${slot##*/} slot" "$slot"
    tell_file "device ${slot##*/} numa_node" "$1/numa_node"
}

# Sets $subnets to the networks that an interface reaches without a router, in the kernel's hexadecimal form.
subnets_of() {
    subnets=''
    [ -r "$proc/net/route" ] || return
    while read -r interface destination gateway _ _ _ _ mask _; do
        [ "$interface $gateway" = "$1 00000000" ] && [ "$destination" != 00000000 ] || continue
        subnets="$subnets${subnets:+ }$destination/$mask"
    done <"$proc/net/route"
}

one_device() {
    card=${1%%:*} port=1
    case $1 in *:*) port=${1#*:} ;; esac
    folder=$sys/class/net/$card rdma=''
    if [ -d "$folder" ]; then
        tell_file "device $1 mtu" "$folder/mtu"
        # For IP over InfiniBand: datagram or connected.
        tell_file "device $1 mode" "$folder/mode"
        subnets_of "$card"
        tell "device $1 subnets" "$subnets"
        tell_file "device $1 speed_mbit_s" "$folder/speed"
        set +f
        for path in "$folder"/device/infiniband/*; do [ -d "$path" ] && rdma=$path; done
        set -f
    elif [ -d "$sys/class/infiniband/$card" ]; then
        folder=$sys/class/infiniband/$card
        rdma=$folder
        tell_file "device $1 rate" "$folder/ports/$port/rate"
        tell_file "device $1 link_layer" "$folder/ports/$port/link_layer"
        read_line "$folder/ports/$port/gid_attrs/ndevs/0"
        if [ -n "$line" ]; then
            netdev=$line
            tell_file "device $1 interface_mtu" "$sys/class/net/$netdev/mtu"
            subnets_of "$netdev"
            tell "device $1 subnets" "$subnets"
        else
            read_line "$folder/ports/$port/gids/0"
            tell "device $1 subnet_prefix" "${line%:*:*:*:*}"
        fi
    else
        # A Slingshot card has its own class in sysfs.
        folder=$sys/class/cxi/$1
        [ -d "$folder" ] || return
    fi
    if [ -n "$rdma" ]; then
        tell_file "device $1 firmware" "$rdma/fw_ver"
        tell_file "device $1 board" "$rdma/board_id"
        tell_file "device $1 card" "$rdma/hca_type"
    fi
    driver=$(target_of "$folder/device/driver")
    tell "device $1 driver" "$driver"
    [ -n "$driver" ] && tell_file "device $1 driver_version" "$sys/module/$driver/version"
    slot=$(slot_of "$folder/device")
    case $slot in pci*/*) tell "device $1 slot" "$slot" ;; esac
    for name in current_link_speed current_link_width max_link_speed max_link_width numa_node local_cpulist; do
        tell_file "device $1 $name" "$folder/device/$name"
    done
}

{
    printf 'railyard-node 1 %s\nnode %s\n' "$tag" "$node"
    unset IFS
    software
    processor
    settings
    firmware
    IFS=,
    set -- $meant $watched
    unset IFS
    for device in "$@"; do one_device "$device"; done
    accelerators
    echo end
} >"$outdir/$node.facts"
