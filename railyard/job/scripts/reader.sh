#!/bin/sh
# Reads the counters of a node's networks before and after a command, in the same launch as the command:
#   sh reader.sh OUTDIR TAG MEANT WATCHED -- EXECUTABLE ARGUMENT...
# MEANT and WATCHED are device names with commas between them: the rails that must carry the traffic, and the other
# networks of the node. A name is a network device (hsn0), an RDMA device with or without its port (mlx5_0:1), or a
# Slingshot card (cxi0). Every other device of the node is found and read as well.
# The first process of each node writes OUTDIR/<hostname>.counters (read by railyard/job/counters/node.py); all others
# become the command at once. If an intended rail is missing or has no carrier: one sentence, exit 71, nothing starts.
# Only the shell is used: a node's mount namespace may have no other tool, and each tool would cost a process.

set -f

# A job limits what its launcher writes (railyard/job/batch.py); the benchmark's own files have no such limit.
ulimit -S -f unlimited 2>/dev/null || ulimit -S -f "$(ulimit -H -f)"

sys=${RAILYARD_SYSFS:-/sys} proc=${RAILYARD_PROC:-/proc}

usage() {
    echo 'railyard: reader.sh OUTDIR TAG MEANT WATCHED -- EXECUTABLE ARGUMENT...: this call lacks one of these' >&2
    exit 64
}

[ $# -ge 6 ] && [ "$5" = -- ] || usage
outdir=$1 tag=$2 meant=$3 watched=$4
shift 5

# Each launcher's own variable; Slurm's comes last, because a batch step passes its 0 on to every mpirun inside it.
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

IFS= read -r node <"$proc/sys/kernel/hostname" || node=unknown
file=$outdir/$node.counters

if [ -z "$first" ]; then
    # No variable says which process is the first, so the one that creates the file is. A file of an earlier run has
    # that run's tag, and whoever reads the file refuses it.
    how="file"
    (set -C && true >"$file") 2>/dev/null || exec "$@"
fi

write() { printf '%s\n' "$1" >&4; }

refuse() {
    write "refused $1 $2"
    write "end 71"
    echo "railyard: $2" >&2
    # mpiexec of MPICH 5.0.2 and Intel MPI 2021.18 ignores an exit before MPI_Init, whatever its code: the other ranks
    # wait for this one until the time limit. An abort on its own wire (PMI-1) ends all ranks at once.
    # Open MPI and srun --kill-on-bad-exit use the exit code.
    # dash knows only descriptors up to 9 (the first process of a node has 9) and ends at others: hence the subshell.
    if [ -n "${PMI_FD-}" ]; then
        (printf 'cmd=abort exitcode=71\n' >&"$PMI_FD") 2>/dev/null ||
            bash -c 'printf "cmd=abort exitcode=71\n" >&"$PMI_FD"' 2>/dev/null
    fi
    exit 71
}

# Sets $line to the first line of a file; empty if there is none.
line_of() {
    line=''
    [ -r "$1" ] && { IFS= read -r line <"$1"; } 2>/dev/null
}

# Sets $found to the first name in a folder, with its path.
first_in() {
    found=''
    set +f
    for entry in "$1"/*; do
        [ -e "$entry" ] && found=$entry
        break
    done
    set -f
}

# Sets $statistics (of a network interface), $rdma (of the card; $port is its port) and $telemetry (of Slingshot) to the
# folders of a device's counters, and $link to what says that it is up: "carrier FILE" or "state FILE". If all are
# empty, there is no such device.
locate() {
    statistics='' rdma='' telemetry='' link='' port=1
    card=${1%%:*}
    case $1 in *:*) port=${1#*:} ;; esac
    if [ -d "$sys/class/net/$1" ]; then
        statistics=$sys/class/net/$1/statistics link="carrier $sys/class/net/$1/carrier"
        first_in "$sys/class/net/$1/device/infiniband"
        rdma=$found
        if [ -n "$rdma" ]; then
            # dev_port, which counts from 0, distinguishes two interfaces of one card.
            line_of "$sys/class/net/$1/dev_port"
            case $line in '' | *[!0-9]*) ;; *) port=$((line + 1)) ;; esac
            [ -d "$rdma/ports/$port" ] || port=1
        fi
        [ -d "$sys/class/net/$1/device/telemetry" ] && telemetry=$sys/class/net/$1/device/telemetry
    elif [ -d "$sys/class/infiniband/$card/ports/$port" ]; then
        rdma=$sys/class/infiniband/$card link="state $sys/class/infiniband/$card/ports/$port/state"
    elif [ -d "$sys/class/cxi/$1/device/telemetry" ]; then
        telemetry=$sys/class/cxi/$1/device/telemetry
        first_in "$sys/class/cxi/$1/device/net"
        [ -n "$found" ] && link="carrier $found/carrier"
    fi
    known=$statistics$rdma$telemetry
}

add() { devices=${devices:+$devices,}$1; }

# Whether a name is among the devices that are already read.
listed() { case ,$devices, in *,"$1",*) ;; *) return 1 ;; esac }

# The driver of a device, by following its link: in a subshell, without any other process.
module_of() { (cd -P "$1" 2>/dev/null && printf '%s' "${PWD##*/}"); }

# What a device is: its kernel driver, a port's link layer, an interface's MTU, whether it is a virtual function.
about() {
    locate "$1"
    if [ -n "$rdma" ]; then own=$rdma; else own=$sys/class/net/$1; fi
    module=''
    [ -n "$rdma" ] && [ -e "$own/device/driver" ] && module=$(module_of "$own/device/driver")
    [ -n "$module" ] && write "about $1 driver $module"
    [ -e "$own/device/physfn" ] && write "about $1 virtual yes"
    if [ -n "$rdma" ]; then
        line_of "$rdma/ports/$port/link_layer"
        [ -n "$line" ] && write "about $1 layer $line"
        line_of "$rdma/ports/$port/hw_counters/lifespan"
        case $line in '' | *[!0-9]*) ;; *) [ "$line" -gt "$lifespan" ] && lifespan=$line ;; esac
    fi
    if [ -n "$statistics" ]; then
        line_of "$sys/class/net/$1/mtu"
        [ -n "$line" ] && write "about $1 mtu $line"
    fi
}

# The network interface on the port of an RDMA device, which TCP would use: "beside mlx5_0:1 ib0".
interface_of() {
    locate "$1"
    [ -n "$rdma$telemetry" ] || return
    interface=''
    if [ -n "$statistics" ]; then
        interface=$1
    elif [ -n "$telemetry" ]; then
        first_in "${telemetry%/telemetry}/net"
        interface=${found##*/}
    else
        # The interface of the port's first address: for a bond the bond, for software RDMA the interface below it.
        line_of "$rdma/ports/$port/gid_attrs/ndevs/0"
        interface=$line
        [ -n "$interface" ] && [ -d "$sys/class/net/$interface" ] || interface=''
        # InfiniBand's addresses have none. If a card has several interfaces, each has its port's number minus one.
        [ -n "$interface" ] || interface_by_port
    fi
    [ -n "$interface" ] || return
    write "beside $1 $interface"
    listed "$interface" || add "$interface"
}

interface_by_port() {
    set +f
    for entry in "$rdma/device/net"/*; do
        set -f
        [ -e "$entry" ] || continue
        line_of "$entry/dev_port"
        [ "$line" = $((port - 1)) ] && interface=${entry##*/} && break
        interface=${interface:-${entry##*/}}
    done
    set -f
}

# The ports of the bond that a rail is or is on: "port mlx5_bond_0:1 ens1f0". The bond counts their bytes; each port has
# its own errors and carrier.
bonded() {
    case ,$meant, in *,"$1",*) ;; *) return ;; esac
    bond=$sys/class/net/$interface/bonding
    [ -n "$interface" ] && [ -d "$bond" ] || bond=$sys/class/net/$1/bonding
    [ -d "$bond" ] || return
    line_of "$bond/mode"
    write "about $1 bond ${line%% *}"
    line_of "$bond/slaves"
    IFS=' '
    for slave in $line; do
        write "port $1 $slave"
        ports=$ports,$slave
        listed "$slave" || add "$slave"
    done
    IFS=,
}

# Devices that were not named: ports of cards, and interfaces of hardware. The interfaces of a bond or a bridge carry
# the same traffic as the bond or bridge, and a representor the same as its virtual function: they would count twice.
others() {
    set +f
    for entry in "$sys/class/infiniband"/*/ports/*; do
        set -f
        [ -d "$entry" ] || continue
        card=${entry%/ports/*}
        other "${card##*/}:${entry##*/}" "${card##*/}"
    done
    set +f
    for entry in "$sys/class/net"/*; do
        set -f
        [ -e "$entry/device" ] && [ ! -e "$entry/master" ] || continue
        line_of "$entry/phys_port_name"
        case $line in pf*vf* | pf*sf* | c*pf*) continue ;; esac
        other "${entry##*/}" "${entry##*/}"
    done
    set +f
    for entry in "$sys/class/cxi"/*; do
        set -f
        [ -d "$entry/device/telemetry" ] && other "${entry##*/}" "${entry##*/}"
    done
    set -f
}

other() {
    listed "$1" || listed "$2" && return
    write "other $1"
    add "$1"
}

# One line per counter: "before hsn0 tx_bytes 123", with "unreadable" if the kernel gives no value. All counters of a
# rail that the run must use are read; of any other device only those that count its traffic.
snapshot() {
    uptime=unreadable held=''
    IFS=" " read -r uptime _ <"$proc/uptime" || uptime=unreadable
    write "$1 at $uptime"
    [ "$1" = after ] && clock
    for device in $devices; do
        locate "$device"
        if [ -z "$known" ]; then
            write "$1 $device present no"
            continue
        fi
        if [ -n "$link" ]; then
            state=unreadable
            IFS= read -r state <"${link#* }" || state=unreadable
            write "$1 $device ${link%% *} ${state:-unreadable}"
        fi
        # How often the link went down or came up since the device appeared.
        [ -n "$statistics" ] && counter "$1 $device carrier_changes" "${statistics%/*}/carrier_changes"
        [ -n "$statistics" ] && counters "$1 $device" '' "$statistics" "$of_interface"
        [ -n "$rdma" ] && counters "$1 $device" '' "$rdma/ports/$port/counters" "$of_port"
        [ -n "$telemetry" ] && some "$1 $device" '' "$telemetry" "$of_slingshot"
        [ -n "$rdma" ] && [ -d "$rdma/ports/$port/hw_counters" ] && held=${held:+$held,}$device
    done
    retransmitted "$1"
    killed_for_memory "$1"
    energy "$1"
    processors "$1"
    # The kernel keeps giving the values of hw_counters that it read last, for as long as their lifespan.
    [ "$1" = after ] && [ -n "$deadline" ] && until_then && write "waited $lifespan"
    for device in $held; do
        locate "$device"
        counters "$1 $device" hw/ "$rdma/ports/$port/hw_counters" "$of_hardware"
    done
} 2>/dev/null

# The counters of traffic, as in railyard/hardware/counters.py. Slingshot has more than a thousand files, each with
# "value@time".
of_interface=tx_bytes,rx_bytes
of_port=port_xmit_data,port_rcv_data
of_hardware=lifespan,tx_bytes,rx_bytes,ip4OutOctets,ip6OutOctets,ip4InOctets,ip6InOctets,sent_pkts,rcvd_pkts
of_slingshot=hni_sts_tx_ok_octets,hni_sts_rx_ok_octets,hni_pcs_uncorrected_cw,hni_llr_tx_replay_event
of_slingshot=$of_slingshot,hni_llr_rx_replay_event,pct_sct_timeouts,pct_spt_timeouts,pct_no_tct_nacks,pct_no_trs_nacks
of_slingshot=$of_slingshot,pct_no_mst_nacks

# The files of a folder: all of them for a rail that the run must use and for the ports of its bond, otherwise those of
# the list.
counters() {
    case ,$meant$ports, in *,"$device",*) every "$@" ;; *) some "$@" ;; esac
}

every() {
    set +f
    for path in "$3"/*; do
        set -f
        counter "$1 $2${path##*/}" "$path"
    done
    set -f
}

some() {
    for name in $4; do counter "$1 $2$name" "$3/$name"; done
}

counter() {
    [ -f "$2" ] || return
    value=unreadable
    IFS= read -r value <"$2" || value=unreadable
    value=${value%%@*}
    write "$1 ${value:-unreadable}"
}

# The clock of the first processor that the command could run on, before it falls.
clock() {
    own=0
    while IFS= read -r line; do
        case $line in Cpus_allowed_list:*) own=${line##*[!0-9,-]} ;; esac
    done <"$proc/self/status"
    line_of "$sys/devices/system/cpu/cpu${own%%[!0-9]*}/cpufreq/scaling_cur_freq"
    [ -n "$line" ] && write "after - clock_khz $line"
}

# The energy that the node used since it started: the whole node's in joules (Cray's meter), else each processor's in
# microjoules (RAPL, which only root can read on most systems), with the value at which that counter starts again.
energy() {
    line_of "$sys/cray/pm_counters/energy"
    if [ -n "$line" ]; then
        write "$1 - node_joules ${line%% *}"
        return
    fi
    set +f
    for zone in "$sys/class/powercap"/intel-rapl:*; do
        set -f
        # The entries below a processor are its cores and memory: intel-rapl:0:0.
        case ${zone##*/} in *:*:*) continue ;; esac
        line_of "$zone/energy_uj"
        [ -n "$line" ] || continue
        write "$1 - processor_uj/${zone##*:} $line"
        line_of "$zone/max_energy_range_uj"
        [ -n "$line" ] && [ "$1" = before ] && write "before - processor_range_uj/${zone##*:} $line"
    done
    set -f
}

# The processor time of this shell's children that have ended, in hundredths of a second: cutime and cstime of stat
# (proc(5)). After the run it is the command's, with all of its threads.
processors() {
    stat='' moment=$1
    { IFS= read -r stat <"$proc/self/stat"; } 2>/dev/null
    # The name of the program, in brackets, may contain blanks.
    IFS=' '
    set -- ${stat##*) }
    IFS=,
    [ $# -ge 15 ] || return
    case ${14}${15} in *[!0-9]*) ;; *) write "$moment - processors_cs $((${14} + ${15}))" ;; esac
}

# How many segments TCP on this node sent, and how many it sent again.
retransmitted() {
    [ -r "$proc/net/snmp" ] || return
    named='' moment=$1
    while IFS= read -r line; do
        case $line in
            'Tcp: '*' InSegs OutSegs RetransSegs '*) named=yes ;;
            'Tcp: '*)
                [ -n "$named" ] || return
                IFS=' '
                set -- $line
                IFS=,
                # "Tcp:" and ten values come before OutSegs.
                shift 11
                write "$moment - tcp_out_segs $1"
                write "$moment - tcp_retrans_segs $2"
                return
                ;;
        esac
    done <"$proc/net/snmp"
}

# How many processes the kernel of this node has killed since it started, because the node or a part of it that has a
# limit had no memory left (vmstat of proc(5)).
killed_for_memory() {
    [ -r "$proc/vmstat" ] || return
    while IFS=' ' read -r name value; do
        [ "$name" = oom_kill ] || continue
        write "$1 - oom_kills $value"
        return
    done <"$proc/vmstat"
}

# The node's own hardware and IPv4 addresses, before the run: a node that is killed says nothing after it. They show two
# nodes with the same address. The kernel's table may name an address twice.
addresses() {
    set +f
    for entry in "$sys/class/net"/*; do
        set -f
        line_of "$entry/address"
        [ -n "$line" ] && write "before ${entry##*/} hardware/${entry##*/} $line"
    done
    set -f
    address='' told=,127.0.0.1,
    while IFS=' ' read -r mark name kind; do
        case "$mark $name $kind" in
            '|-- '*) address=$name ;;
            '/32 host LOCAL')
                case $told in *,"$address",*) continue ;; esac
                told=$told$address,
                write "before - own/$address yes"
                ;;
        esac
    done <"$proc/net/fib_trie"
} 2>/dev/null

# Which hardware addresses answer for the rails' neighbours, as seen from this node.
neighbours() {
    told=,
    # Only Ethernet (0x1): the table cuts the longer addresses of IP over InfiniBand. Without flags nobody answered.
    while IFS=' ' read -r address type flags hardware _ device; do
        case $type,$flags in 0x1,0x[1-9a-f]*) ;; *) continue ;; esac
        listed "$device" || continue
        case $told in *,"$device $address",*) continue ;; esac
        told=$told$device' '$address,
        write "$1 $device arp/$address $hardware"
    done <"$proc/net/arp"
} 2>/dev/null

# Sets $now to the milliseconds since the machine started; the kernel's clock has steps of 10 ms.
now_ms() {
    uptime=''
    { IFS=' ' read -r uptime _ <"$proc/uptime"; } 2>/dev/null
    case $uptime in *[!0-9.]* | '' | .*) return 1 ;; *.??) ;; *) return 1 ;; esac
    hundredths=${uptime#*.}
    now=$((${uptime%.*} * 1000 + ${hundredths#0} * 10))
}

# Sets a time at least so many milliseconds from now; none if there is no clock.
from_now() {
    deadline=''
    now_ms && deadline=$((now + $1 + 10)) turns=$((1000 + 400 * $1))
}

# Waits for that time, and fails if it could not. A shell has no sleep, and another program might be missing here. A
# clock that does not move does not hold up the run.
until_then() {
    while now_ms && [ "$now" -lt "$deadline" ]; do
        turns=$((turns - 1))
        [ "$turns" -gt 0 ] || return
    done
    [ "$now" -ge "$deadline" ]
}

# Without these folders no device can be seen, and no device is to blame for that. refuse "-" means the node itself.
check_node() {
    [ -d "$sys/class/net" ] || [ -d "$sys/class/infiniband" ] || [ -d "$sys/class/cxi" ] ||
        refuse - "$node has no readable /sys (no class/net, class/infiniband or class/cxi in it): its rails cannot be seen"
}

# If the kernel lists an interface that /sys does not show, /sys is of another namespace or another machine.
check_listed() {
    missing=''
    while IFS=' :' read -r name _; do
        [ "$name" = "$1" ] && missing=yes
    done <"$proc/net/dev"
} 2>/dev/null

check() {
    locate "$1"
    if [ -z "$known" ]; then
        check_listed "$1"
        [ -z "$missing" ] || refuse - "$node has no /sys of its own: $1 is in its /proc/net/dev, and not in its /sys/class/net"
        refuse "$1" "rail $1 of $node does not exist: no such network or RDMA device on that node"
    fi
    state=''
    { IFS= read -r state <"${link#* }"; } 2>/dev/null
    case $link:$state in
        :*) ;; # a card that shows no state
        carrier*:1) ;;
        state*:*ACTIVE*) ;;
        carrier*:0) refuse "$1" "rail $1 of $node has no carrier: the cable is unplugged or the other end is down" ;;
        carrier*) refuse "$1" "rail $1 of $node is switched off: its carrier cannot be read (ip link set $1 up)" ;;
        *) refuse "$1" "rail $1 of $node is not active: the port's state is ${state:-unreadable}" ;;
    esac
}

# Not ":": if a redirection of a special built-in fails, the shell itself ends, and the command would never run.
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
devices=${devices%,} lifespan=0 deadline='' ports=''
for device in $meant; do write "meant $device"; done
for device in $watched; do write "watched $device"; done
[ -z "$meant" ] || check_node
for device in $meant; do check "$device"; done
# A loop over a list that grows uses the list as it was: the shell splits it before the loop begins.
others
for device in $devices; do
    interface=''
    interface_of "$device"
    bonded "$device"
done
for device in $devices; do about "$device"; done
# What this node is and how it is set goes to a separate file; nothing that goes wrong there stops the run.
case $0 in */*) beside=${0%/*} ;; *) beside=. ;; esac
[ -r "$beside/node.sh" ] && (. "$beside/node.sh") 2>/dev/null
line_of "$beside/idle_ms"
case $line in *[!0-9]*) idle_ms='' ;; *) idle_ms=$line ;; esac
if [ -n "$idle_ms" ]; then
    snapshot idle
    from_now "$idle_ms" && until_then
fi
snapshot before
addresses
unset IFS

# Set before the command starts: otherwise a signal in between would end this shell and leave the command running.
child='' pending='' signalled='' looker=''
forward() {
    signalled=yes
    if [ -n "$child" ]; then kill -"$1" "$child" 2>/dev/null; else pending="$pending $1"; fi
}
# The processes of this launch that the signal to end did not end, a moment later: stopped (T), or waiting in the kernel
# (D), where no signal reaches them, and in which of its functions. Theirs is the parent of this process, too. It runs
# beside the wait for the command, until then.
not_ended() {
    trap '' TERM INT QUIT HUP
    unset IFS
    from_now 300 && until_then
    set +f
    for entry in "$proc"/[0-9]*; do
        line_of "$entry/stat"
        pid=${entry##*/} rest=${line##*) }
        of=${rest#? }
        case ${rest%% *} in D | T) ;; *) continue ;; esac
        [ "$pid" = "$child" ] || [ "${of%% *}" = "$PPID" ] || continue
        where=''
        { IFS= read -r where <"$entry/wchan" || :; } 2>/dev/null
        case $where in '' | 0 | *' '*) where=- ;; esac
        write "stuck $pid ${rest%% *} $where"
    done
}

# When a run gets the signal to end, it may be killed before its command has ended: read its devices now, as "last".
ending=''
told_to_end() {
    forward "$1"
    [ -z "$ending" ] || return
    ending=yes IFS=,
    snapshot last
    neighbours last
    unset IFS
    look
}
# A signal may come before this shell knows its command.
look() {
    [ -n "$child" ] && [ -z "$looker" ] || return
    not_ended </dev/null >/dev/null 2>&1 &
    looker=$!
}
# POSIX has a background command start with SIGINT and SIGQUIT ignored, so the command gets SIGTERM.
trap 'told_to_end TERM' TERM INT QUIT
trap 'told_to_end HUP' HUP
trap 'forward USR1' USR1
trap 'forward USR2' USR2
trap 'forward CONT' CONT

# A command in the background loses its standard input, and a shell that waits in the foreground takes no signals.
exec 3<&0
"$@" <&3 3<&- 4>&- &
child=$!
exec 3<&-
# The variables with which the command's own process runs go to a separate file.
seer=''
[ -r "$beside/environment.sh" ] && {
    sh "$beside/environment.sh" "$outdir" "$tag" "$node" "$child" </dev/null >/dev/null 2>&1 4>&- &
    seer=$!
}
for signal in $pending; do kill -"$signal" "$child" 2>/dev/null; done
[ -z "$ending" ] || look
# A signal ends `wait` early, and the command may or may not have ended by then. A second `wait` returns its exit code,
# or 127 if the first one returned that already.
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
[ -z "$seer" ] || kill "$seer" 2>/dev/null
# The end is the last line of the file.
[ -z "$looker" ] || { kill -9 "$looker" && wait "$looker"; } 2>/dev/null
IFS=,
[ "$lifespan" -le 1000 ] || lifespan=1000
deadline=''
[ "$lifespan" -gt 0 ] && from_now "$lifespan"
snapshot after
# What moves on when the run is over was not the run's. A run that failed or was ended has no time left for this.
[ "$code" = 0 ] && [ -z "$ending" ] && [ -n "$idle_ms" ] && from_now "$idle_ms" && until_then && snapshot rest
neighbours after
write "end $code"
# A launcher looks at how its own child ended. MPICH's and Intel MPI's end all ranks if one was killed, but wait until
# the time limit if it exited with 137. So if the command crashed, this process ends by the same signal: ILL, TRAP,
# ABRT, BUS, FPE, KILL, SEGV.
case $code in
132 | 133 | 134 | 135 | 136 | 137 | 139)
    ulimit -c 0
    kill -"$((code - 128))" $$
    ;;
esac
exit $code
