"""The shell texts of a testbed: what its first process runs, and how a command gets into a node. Pure.

Starting Python takes longer than a node's whole set-up, so everything inside the namespaces is /bin/sh and batches.
"""

import ipaddress

from railyard.provision.testbed.spec import Network, TestbedSpec

#: Last two arguments of a testbed's first processes: this word and the state folder. ``down`` finds them in /proc even
#: if the state file is lost.
MARK = "railyard-testbed"
#: What the first process prints before the process ids of the nodes.
UP_LINE = "railyard-up"
#: What the first process reads when all is ready: stay until you are killed, or as long as we live.
KEEP, HOLD = "keep", "hold"
SWITCH_RUN = "/run/railyard"


def switch_port(spec: TestbedSpec, node: str, device: str) -> str:
    """Return the name, in the switch, of the cable end of a node's device (Linux allows 15 characters)."""
    return f"n{spec.nodes.index(node) + 1}p{spec.networks.index(spec.network(device))}"


def shape(device: str, rate_mbit_s: float) -> list[str]:
    """Return the lines for ``tc -batch`` that make an unshaped device send at most this rate."""
    return [f"qdisc replace dev {device} root handle 1: htb default 1", reshape(device, rate_mbit_s)]


def reshape(device: str, rate_mbit_s: float) -> str:
    """Return the line for ``tc -batch`` that gives a shaped device a first or a new rate.

    The bucket bridges pauses of the processor that empties the queue: 64 KiB are 5 ms at 100 Mbit/s. A larger bucket
    lets each message of a ping-pong pass too fast: messages of 1 MiB reached 135 % of the rate with 256 KiB, and 107 %
    with 64 KiB. Quantum 60000 only silences HTB's warning that the quantum derived from the rate is big.
    """
    rate = f"{round(rate_mbit_s * 1e6)}bit"
    return (
        f"class replace dev {device} parent 1: classid 1:1 htb rate {rate} ceil {rate} "
        "burst 64k cburst 64k quantum 60000"
    )


def hosts_file(spec: TestbedSpec) -> list[str]:
    """Return the lines of /etc/hosts: a node's name is its management address, ``NODE-DEVICE`` each other address."""
    lines = ["127.0.0.1 localhost"]
    for index, network in enumerate(spec.networks):
        for node in spec.nodes:
            names = f"{node} {node}-{network.device}" if index == 0 else f"{node}-{network.device}"
            lines.append(f"{spec.address(node, network.device)} {names}")
    return lines


def boot_script(spec: TestbedSpec) -> str:
    """Return what the first process of a testbed runs; its own network namespace is the switch.

    It prints problems in the tools' own words, or one line ``railyard-up PID…`` (pids in its own namespace, in the
    order of the nodes). Then it waits for a word on its standard input (``stay_lines``).
    """
    count = len(spec.nodes)
    addresses = [_node_addresses(spec, node) for node in spec.nodes]
    shapes = [_node_shapes(spec) for _ in spec.nodes]
    parts = [
        "set -eu",
        "PATH=$PATH:/usr/sbin:/sbin:/usr/bin:/bin",
        "mount -t tmpfs -o mode=0755 tmpfs /run",
        f"mkdir {SWITCH_RUN}",
        _file("hosts", hosts_file(spec)),
        *(_file(f"{n}.ip", lines) for n, lines in enumerate(addresses, 1)),
        *(_file(f"{n}.tc", lines) for n, lines in enumerate(shapes, 1)),
        _file("setup", [_NODE_SETUP]),
        _QUIET_NETWORK,
        *(f"{_START_NODE} node {n} & p{n}=$!" for n in range(1, count + 1)),
        _batch("ip -batch -", _bridges(spec)),
        *(f"await $p{n} {n}" for n in range(1, count + 1)),
        _batch("ip -batch -", _cables(spec)),
        *(
            f"nsenter -t $p{n} -n -u -m -i sh {SWITCH_RUN}/setup {n} {node} </dev/null & s{n}=$!"
            for n, node in enumerate(spec.nodes, 1)
        ),
        _batch("tc -batch -", _port_shapes(spec)),
        *(f"wait $s{n}" for n in range(1, count + 1)),
        "echo " + " ".join([UP_LINE, *(f"$p{n}" for n in range(1, count + 1))]),
        *stay_lines(),
    ]
    return "\n".join(parts) + "\n"


def stay_lines() -> list[str]:
    """Return the last lines of a first process: the word that it reads on standard input says how long it stays.

    ``KEEP``: until it is killed. ``HOLD``: until that input ends. The process that wrote the word keeps it open as long
    as it lives, whatever ends it. End of file in place of a word: that process ended while the testbed came up, and
    everything ends.
    """
    return [
        "read -r word || exit 1",
        f"case $word in {KEEP} | {HOLD}) ;; *) exit 1 ;; esac",
        "exec 3<&0 </dev/null >/dev/null 2>&1",
        # A shell gives /dev/null as standard input to what it starts with &, hence descriptor 3.
        f'[ "$word" = {KEEP} ] || {{ (while read -r word; do :; done) <&3 & held=$!; }}',
        "exec 3<&-",
        # Waits for the reader, else for the nodes' holders. Meanwhile it reaps the orphans that process 1 of a pid
        # namespace inherits. When it ends, the kernel ends all others.
        "wait ${held-}",
    ]


# No IPv6 on devices that are made from now on: its router and neighbour messages would count as traffic on an idle
# rail. The loopback already exists and keeps ::1. A read-only /proc/sys is not a reason to fail.
_QUIET_NETWORK = f"""\
quiet='[ ! -w /proc/sys/net/ipv6/conf/default/disable_ipv6 ] || \
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6 || :'
eval "$quiet"
hold="$quiet"'; echo ready >{SWITCH_RUN}/$1.ready; exec sleep infinity </dev/null >/dev/null 2>&1'
await() {{
    tries=0
    while [ ! -s {SWITCH_RUN}/$2.ready ]; do
        read -r _ _ state _ </proc/$1/stat
        [ "$state" != Z ] || exit 1
        tries=$((tries + 1))
        [ $tries -lt 2000 ] || {{ echo "node $2 did not start within 10 s"; exit 1; }}
        sleep 0.005
    done
}}"""

_START_NODE = 'unshare --net --uts --mount --ipc sh -c "$hold"'

# The order matters: what is bound from the switch's /run stays bound when the node's own /run is mounted over it.
# Without its own sysfs a node would show the host's devices and read their counters. slurmd needs an empty
# /sys/fs/cgroup (Slurm 22.05).
_NODE_SETUP = f"""\
set -eu
hostname "$2"
ip -batch {SWITCH_RUN}/$1.ip
tc -batch {SWITCH_RUN}/$1.tc
mount -t sysfs sysfs /sys
[ ! -d /sys/fs/cgroup ] || mount -t tmpfs tmpfs /sys/fs/cgroup
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount --bind {SWITCH_RUN}/hosts /etc/hosts
echo "$2" >{SWITCH_RUN}/$1.hostname
[ ! -e /etc/hostname ] || mount --bind {SWITCH_RUN}/$1.hostname /etc/hostname
read -r id </proc/sys/kernel/random/uuid
echo "$id" >{SWITCH_RUN}/$1.boot_id
mount --bind {SWITCH_RUN}/$1.boot_id /proc/sys/kernel/random/boot_id
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -m 1777 /run/lock /run/tmp"""


def _bridges(spec: TestbedSpec) -> list[str]:
    # With multicast snooping a bridge itself sends IGMP reports (54 bytes each), and idle rails would count them.
    options = "forward_delay 0 stp_state 0 mcast_snooping 0"
    lines = ["link set lo up"]
    for index in range(len(spec.networks)):
        lines += [f"link add br{index} type bridge {options}", f"link set br{index} up"]
    return lines


def _cables(spec: TestbedSpec) -> list[str]:
    lines = []
    for number, node in enumerate(spec.nodes, 1):
        for index, network in enumerate(spec.networks):
            port = switch_port(spec, node, network.device)
            lines += [
                f"link add {port} type veth peer name {network.device} netns $p{number}",
                f"link set {port} master br{index} up",
            ]
    return lines


def _node_addresses(spec: TestbedSpec, node: str) -> list[str]:
    lines = ["link set lo up"]
    for network in spec.networks:
        length = ipaddress.IPv4Network(network.subnet).prefixlen
        lines += [
            f"address add {spec.address(node, network.device)}/{length} broadcast + dev {network.device}",
            f"link set {network.device} up",
        ]
    return lines


def _shaped_networks(spec: TestbedSpec) -> list[tuple[Network, float]]:
    return [(network, network.rate_mbit_s) for network in spec.networks if network.rate_mbit_s is not None]


def _node_shapes(spec: TestbedSpec) -> list[str]:
    return [line for network, rate in _shaped_networks(spec) for line in shape(network.device, rate)]


def _port_shapes(spec: TestbedSpec) -> list[str]:
    return [
        line
        for node in spec.nodes
        for network, rate in _shaped_networks(spec)
        for line in shape(switch_port(spec, node, network.device), rate)
    ]


def _file(name: str, lines: list[str]) -> str:
    return "\n".join([f"cat >{SWITCH_RUN}/{name} <<'END'", *lines, "END"])


def _batch(command: str, lines: list[str]) -> str:
    return "\n".join([f"{command} <<END", *lines, "END"])
