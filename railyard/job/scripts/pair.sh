#!/bin/sh
# Runs programs without MPI on the nodes of a job, one process per node. A launcher gives each process its rank: srun,
# every MPI's launcher, and start.sh on our own testbeds do that.
#   sh pair.sh run FOLDER TAG HOW RAILS -- SERVER [WORD]... -- CLIENT [WORD]...
#       Becomes one of two processes of a benchmark with a client and a server for each rail: rank 0 runs the clients,
#       rank 1 the servers.
#       HOW: at-once or in-turn. RAILS: DEVICE=PORT with commas between them, a TCP port for each rail, or
#       DEVICE=PORT=GPU with the number of the GPU that is nearest to it.
#       Blanks in the words: {device} {card} {card_port} {port} {gpu} {server} {local}; the last two are the addresses of
#       the server and of this end.
#   sh pair.sh first FOLDER TAG NODES DEVICE AGENT -- COMMAND [WORD]...
#       Becomes one of NODES processes of an application that starts its own processes: rank 0 becomes the application,
#       and the others wait until it has ended.
#       Blanks in its words: {hosts} the nodes' names and {addresses} DEVICE's on each of them (both in the order of
#       ranks, commas between them), {agent} what starts a command on another node.
# They find each other through FOLDER, which all nodes see. FOLDER/TAG.servers has the servers' addresses as soon as the
# servers listen. FOLDER/TAG.node-RANK has a node's address. FOLDER/TAG.done says that rank 0 has ended. A client's
# output follows a line "# railyard: rail DEVICE" (railyard/parsers/output.py reads it).

set -f

PATH=$PATH:/usr/sbin:/sbin
proc=${RAILYARD_PROC:-/proc}
patience_s=${RAILYARD_PAIR_PATIENCE:-60}
grace_s=${RAILYARD_PAIR_GRACE:-3}
children='' ended_by_us=''
port='' gpu='' server='' hosts='' addresses='' agent=''

say() { echo "railyard: $1" >&2; }
usage() {
    say 'pair.sh run FOLDER TAG HOW RAILS -- SERVER... -- CLIENT..., or first FOLDER TAG NODES DEVICE AGENT -- COMMAND...: not so called'
    exit 64
}
end_children() { for child in $children; do kill "$child" 2>/dev/null; done; }

# ---- every process

rank_of() {
    # Slurm's comes last: below an mpirun in a Slurm job it is the number of mpirun's own process on the node.
    for name in RAILYARD_PAIR_RANK OMPI_COMM_WORLD_RANK PMI_RANK MV2_COMM_WORLD_RANK PALS_RANKID FLUX_TASK_RANK \
        SLURM_PROCID; do
        eval "value=\${$name-}"
        [ -z "$value" ] || { rank=$value && return; }
    done
    say 'no launcher says which of the processes this is: found neither SLURM_PROCID nor PMI_RANK nor another'
    exit 64
}

# Where other nodes reach this rail: at the address of a network interface, else at the node's own name.
address_of() {
    [ -d "${RAILYARD_SYSFS:-/sys}/class/net/$1" ] || { address=$node && return; }
    address=$(ip -o -4 addr show dev "$1" | { IFS=' /' read -r _ _ _ found _ && echo "$found"; })
    [ -n "$address" ] || { say "rail $1 of $node has no IPv4 address: give it one, or leave the rail out" && return 1; }
}

begin() {
    IFS= read -r node <"$proc/sys/kernel/hostname" || node=unknown
    rank_of
    mkdir -p "$folder" || exit 73
    trap 'end_children; exit 143' TERM INT HUP
}

# Replaces each blank $1 in $word by $2.
fill() {
    while :; do
        case $word in
            *"{$1}"*) word=${word%%"{$1}"*}$2${word#*"{$1}"} ;;
            *) return ;;
        esac
    done
}

# Fills the blanks of the command's words and becomes the command.
become() {
    card_port=1
    case $device in *:*) card_port=${device#*:} ;; esac
    left=$#
    while [ "$left" -gt 0 ]; do
        word=$1
        shift
        left=$((left - 1))
        fill device "$device" && fill card "${device%%:*}" && fill card_port "$card_port"
        fill port "$port" && fill gpu "$gpu" && fill server "$server" && fill local "$own"
        fill hosts "$hosts" && fill addresses "$addresses" && fill agent "$agent"
        set -- "$@" "$word"
    done
    exec "$@"
}

# Making a file in an NFS folder shows the other node's files there at once, and not seconds later when a cache expires.
look_again() { : >"$folder/$tag.look-$rank" && rm -f "$folder/$tag.look-$rank"; }

# Sets $port to the TCP port of $device in a list of rails, and $gpu to the number of its GPU.
take() {
    port=,$1,
    port=${port#*,"$device"=} port=${port%%,*}
    case $port in *=*) gpu=${port#*=} port=${port%%=*} ;; *) gpu='' ;; esac
}

# ---- rank 1: the servers

listens() {
    hex=$(printf ':%04X' "$1")
    for file in "$proc/net/tcp" "$proc/net/tcp6"; do
        while IFS=' ' read -r _ here _ state _; do
            case $state$here in 0A*"$hex") return 0 ;; esac
        done <"$file"
    done 2>/dev/null
    return 1
}

serve() {
    addresses=''
    IFS=,
    for rail in $rails; do
        unset IFS
        device=${rail%%=*}
        take "$rails"
        address_of "$device" || fail 1
        server=$address own=$address
        # If another program already listens there, the client would take it for our server.
        if listens "$port"; then
            say "a process on $node listens at port $port already, the one for rail $device: run it again, which takes other ports, or end that process"
            fail 1
        fi
        (become "$@") >"$folder/$tag.server-$device" 2>&1 </dev/null &
        child=$! children="$children $!"
        until listens "$port"; do
            kill -0 "$child" 2>/dev/null || { wait "$child" && give_up 0 || give_up "$?"; }
            tick
        done
        addresses="$addresses$device $address
"
    done
    unset IFS
    printf '%s' "$addresses" >"$folder/$tag.part" && mv "$folder/$tag.part" "$folder/$tag.servers"
    until_clients_end
    code=0
    for child in $children; do
        wait "$child" 2>/dev/null || code=$?
    done
    # Some servers wait for the next client, so they were ended.
    [ -z "$ended_by_us" ] || code=0
    exit "$code"
}

# If a server cannot serve, its message is this run's error, and the clients do not have to wait.
give_up() {
    cat "$folder/$tag.server-$device" >&2 2>/dev/null
    say "the server of rail $device on $node ended with $1 before it listened at port $port"
    fail "$1"
}

fail() {
    : >"$folder/$tag.failed"
    end_children
    [ "$1" = 0 ] && exit 1
    exit "$1"
}

until_clients_end() {
    until [ -e "$folder/$tag.done" ]; do
        running=''
        for child in $children; do kill -0 "$child" 2>/dev/null && running=yes; done
        [ -n "$running" ] || return 0
        look_again
        tick
    done
    waited=0
    while [ "$waited" -lt $((grace_s * 10)) ]; do
        running=''
        for child in $children; do kill -0 "$child" 2>/dev/null && running=yes; done
        [ -n "$running" ] || return 0
        tick
        waited=$((waited + 1))
    done
    ended_by_us=yes
    end_children
}

# Waits a tenth of a second and still takes signals: a shell that waits in the foreground takes none.
tick() {
    sleep 0.1 &
    wait "$!"
}

# ---- rank 0: the clients

ask() {
    trap ': >"$folder/$tag.done"' EXIT
    ticks=0
    until [ -e "$folder/$tag.servers" ]; do
        [ ! -e "$folder/$tag.failed" ] || { say 'the other node has no server to ask: its own error says why' && exit 1; }
        if [ "$ticks" -ge $((patience_s * 10)) ]; then
            say "no server was ready within $patience_s s: the other node has not written $folder/$tag.servers"
            exit 1
        fi
        look_again
        tick
        ticks=$((ticks + 1))
    done
    devices=''
    while IFS=' ' read -r device server; do
        address_of "$device" || exit 1
        own=$address
        take "$rails"
        (become "$@") >"$folder/$tag.client-$device" 2>"$folder/$tag.client-$device.err" </dev/null &
        children="$children $!" devices="$devices $device"
        [ "$how" != in-turn ] || wait_for "$!" "$device"
    done <"$folder/$tag.servers"
    if [ "$how" != in-turn ]; then
        # shellcheck disable=SC2086
        set -- $devices
        for child in $children; do
            wait_for "$child" "$1"
            shift
        done
    fi
    for device in $devices; do
        echo "# railyard: rail $device"
        cat "$folder/$tag.client-$device" "$folder/$tag.client-$device.err"
    done
    exit "${first_code:-0}"
}

# Waits for a client; the first exit code other than 0 becomes this run's.
wait_for() {
    wait "$1"
    ended=$?
    [ "$ended" = 0 ] || say "the client of rail $2 on $node ended with $ended"
    [ "$ended" = 0 ] || [ -n "${first_code-}" ] || first_code=$ended
}

run() {
    [ $# -ge 8 ] && [ "$5" = -- ] || usage
    folder=$1 tag=$2 how=$3 rails=$4
    shift 5
    begin
    # Only this end's words stay: the server's are before the "--", the client's after it.
    left=$# past=''
    while [ "$left" -gt 0 ]; do
        word=$1
        shift
        left=$((left - 1))
        if [ "$word" = -- ] && [ -z "$past" ]; then
            past=yes
        elif { [ "$rank" = 1 ] && [ -z "$past" ]; } || { [ "$rank" = 0 ] && [ -n "$past" ]; }; then
            set -- "$@" "$word"
        fi
    done
    [ $# -ge 1 ] || usage
    if [ "$rank" = 0 ]; then ask "$@"; else serve "$@"; fi
}

# ---- an application that starts its own processes

first() {
    [ $# -ge 7 ] && [ "$6" = -- ] || usage
    folder=$1 tag=$2 nodes=$3 device=$4 agent=$5
    shift 6
    begin
    address_of "$device" || fail 1
    own=$address
    printf '%s %s\n' "$node" "$own" >"$folder/$tag.part-$rank" &&
        mv "$folder/$tag.part-$rank" "$folder/$tag.node-$rank" || fail 73
    if [ "$rank" != 0 ]; then
        until [ -e "$folder/$tag.done" ]; do
            look_again
            tick
        done
        exit 0
    fi
    trap ': >"$folder/$tag.done"' EXIT
    gather
    (become "$@") </dev/null &
    children=$!
    wait "$children"
    code=$?
    [ "$code" = 0 ] || say "the application on $node, the first of $nodes, ended with $code"
    exit "$code"
}

# Names and addresses of all nodes, as soon as each node has written its own.
gather() {
    ticks=0 one=0
    while [ "$one" -lt "$nodes" ]; do
        if [ -e "$folder/$tag.node-$one" ]; then
            IFS=' ' read -r name address <"$folder/$tag.node-$one"
            hosts=$hosts${hosts:+,}$name addresses=$addresses${addresses:+,}$address
            one=$((one + 1))
            continue
        fi
        [ ! -e "$folder/$tag.failed" ] || { say 'a node has no address to give: its own error says why' && exit 1; }
        if [ "$ticks" -ge $((patience_s * 10)) ]; then
            say "not all of $nodes nodes were ready within $patience_s s: there is no $folder/$tag.node-$one"
            exit 1
        fi
        look_again
        tick
        ticks=$((ticks + 1))
    done
}

case ${1-} in
    run | first) "$@" ;;
    *) usage ;;
esac
