"""The shell texts of a testbed: what its first process runs, and how a command gets into a node. Pure.

Starting Python takes longer than a node's whole set-up, so everything inside the namespaces is /bin/sh and batches.

Two scripts lead into a node, ``enter`` and ``agent``. They and the list of nodes that they read are in the state
folder. When the testbed is down they stay, and say so in a sentence.

Faults of one rail of one node, and the commands that make and undo them. Pure.

How a process finds the scheduler of a testbed: its folder, and the variables of its clients. Pure.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from railyard.base.errors import SetupError, did_you_mean
from railyard.base.paths import state_folder
from railyard.provision.testbed.spec import Network, TestbedSpec, check_rate, parse_rate

#: Last two arguments of a testbed's first processes: this word and the state folder. ``down`` finds them in /proc even
#: if the state file is lost.
MARK = "railyard-testbed"
#: What the first process prints before the process ids of the nodes.
UP_LINE = "railyard-up"
#: What the first process reads when all is ready: stay until you are killed, or as long as we live.
KEEP, HOLD = "keep", "hold"
SWITCH_RUN = "/run/railyard"
#: Beside the scripts: line 1 ``bed USER_NAMESPACE START`` (0 or 1; start time of the first process), then one line per
#: node, ``NODE PID PID_INSIDE START ALIAS…``. ``down`` removes it.
NODES_FILE = "nodes"
NOT_UP = "the virtual cluster is not up: run 'railyard testbed up'"
#: The folder of each kind of testbed, below the state folder: namespaces, guests, and the nodes of a rehearsal.
CLUSTER, GUESTS, REHEARSAL = "testbed", "guests", "rehearsal-bed"
#: The sentence that a testbed of namespaces is not up, by its kind.
_NOT_UP = {CLUSTER: NOT_UP, REHEARSAL: "no rehearsal is up: run 'railyard rehearse --system NAME'"}


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


def bed_folder(home: Path, kind: str = CLUSTER) -> Path:
    """Return the folder of a site's testbed: its state, and the two scripts."""
    return state_folder(home) / kind


def not_up(kind: str) -> str:
    """Return the sentence that a testbed of namespaces of this kind is not up."""
    return _NOT_UP[kind]


def enter_script(home: Path, kind: str = CLUSTER) -> Path:
    """Return the script that runs a command in a node, from the host."""
    return bed_folder(home, kind) / "enter"


def agent_script(home: Path, kind: str = CLUSTER) -> Path:
    """Return the script that MPI's launchers call in place of ssh."""
    return bed_folder(home, kind) / "agent"


def nodes_file(
    spec: TestbedSpec, user_namespace: bool, first_start: int, holders: Iterable[tuple[int, int, int]]
) -> str:
    """Return the text of the list of nodes; ``holders`` gives (pid, pid inside, start time) in the order of nodes."""
    lines = [f"bed {int(user_namespace)} {first_start}"]
    for node, (pid, inside, start) in zip(spec.nodes, holders, strict=True):
        aliases = [f"{node}-{network.device}" for network in spec.networks]
        aliases += [spec.address(node, network.device) for network in spec.networks]
        lines.append(" ".join([node, str(pid), str(inside), str(start), *aliases]))
    return "\n".join(lines) + "\n"


# TMPDIR is always the node's own: /tmp is shared, every testbed has a vn1 whose user is 0, and Open MPI 4.1.4 keeps its
# session in $TMPDIR/ompi.vn1.0. So the testbeds of two users ("mkdir: Permission denied") or two clones would collide.
# The start time shows whether a process id still belongs to the testbed or was given to another process. /proc/PID/stat
# is read after the last ")", because a process may have blanks and brackets in its name; the start time is field 22 of
# the whole. For a zombie (Z: it was killed, and its parent has not asked how it ended) it is 0, as if there were no
# process.
_HEAD = """\
#!/bin/sh
# enter NODE -- COMMAND [ARGUMENT]...: run a command in a @NOUN@ of this testbed, from outside or from another @NOUN@
# Folder and environment are kept, but for TMPDIR, which is the @NOUN@'s own.
die() { echo "@PROGRAM@: $1" >&2; exit 2; }
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
[ $# -ge 2 ] || die "usage: enter NODE -- COMMAND [ARGUMENT]..."
wanted=$1
shift
[ "$1" != -- ] || shift
[ $# -ge 1 ] || die "usage: enter NODE -- COMMAND [ARGUMENT]..."
down="@DOWN@"
start_of() { # sets $start to the start time of process $1, 0 if it does not live
    start=0
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 0
    line=${line##*) }
    start=$(set -- $line; [ "$1" = Z ] && echo 0 || echo "${20}")
}
[ -r "$here/nodes" ] || die "$down"
found= known=
{
    read -r _ user @FIRST@
    while read -r node @FIELDS@ aliases; do
        known="$known $node"
        for name in "$node" $aliases; do
            [ "$name" != "$wanted" ] || { found=$node @KEPT@; }
        done
    done
} <"$here/nodes"
[ -n "$found" ] || die "no @NOUN@ is called \\"$wanted\\"; known:$known"
as=
[ "$user" = 0 ] || as='-U --preserve-credentials'
"""


def enter_head(program: str, noun: str, down: str, first: str, fields: tuple[str, ...]) -> str:
    """Return the beginning of ``enter`` for every kind of testbed, up to where a node of the list was found.

    ``program`` is its name in messages, ``down`` the message if nothing is up. ``first`` names the variables in the
    first line of the list after ``user`` (0 or 1). ``fields`` names those in each node's line between its name and its
    aliases; the wanted node's are kept, and its name as ``found``. After this part the script has ``here``, ``as``
    (what nsenter needs for another user's namespaces) and the function ``start_of PID``.
    """
    values = {
        "PROGRAM": program,
        "NOUN": noun,
        "DOWN": down,
        "FIRST": first,
        "FIELDS": " ".join(f"its_{name}" for name in fields),
        "KEPT": " ".join(f"{name}=$its_{name}" for name in fields),
    }
    return fill_script(_HEAD, values)


def fill_script(text: str, values: Mapping[str, str]) -> str:
    """Return a script's text with each ``@NAME@`` replaced by its value."""
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


# From the host, nsenter forks for the pid namespace and then forwards no signal, so setpriv --pdeathsig makes the
# command end when nsenter ends. Within the testbed nothing forks: agent's own process becomes the command. A new mount
# namespace means a new view of the working folder, hence the cd inside.
_ENTER = """\
inside='cd "$1" 2>/dev/null || {
    echo "railyard testbed: $0 has no folder $1: each node has its own /run, /sys and /dev/shm" >&2
    exit 2
}
export TMPDIR=/run/tmp
shift; exec "$@"'
folder=$(pwd -P) || exit 2
start_of 1
if [ "$start" = "$first" ]; then # this is a process of the testbed
    exec nsenter -t "$inner" -n -u -m -i sh -c "$inside" "$found" "$folder" "$@"
fi
start_of "$outer"
[ "$start" = "$born" ] || die "$down"
exec nsenter -t "$outer" $as -n -u -m -i -p setpriv --pdeathsig TERM sh -c "$inside" "$found" "$folder" "$@"
"""


def enter_text(kind: str = CLUSTER) -> str:
    """Return the script ``enter NODE -- COMMAND…`` for nodes that are namespaces; works on the host and in a node."""
    return enter_head("railyard testbed", "node", not_up(kind), "first", ("outer", "inner", "born")) + _ENTER


# Like ssh, it joins the words with blanks and gives them to a shell. Hydra calls `agent -x HOST …`, Open MPI `agent
# HOST …`.
AGENT = """\
#!/bin/sh
# agent [SSH OPTIONS] [USER@]HOST COMMAND...: what MPI launchers call in place of ssh
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
while :; do
    case ${1-} in
    -[BbcDEeFIiJLlmOopQRSWw]) shift; [ $# = 0 ] || shift ;;
    -*) shift ;;
    *) break ;;
    esac
done
[ $# -ge 2 ] || { echo "railyard testbed: usage: agent HOST COMMAND..." >&2; exit 2; }
host=${1#*@}
shift
exec "$here/enter" "$host" -- /bin/sh -c "$*"
"""


Kind = Literal["slow", "lossy", "unplugged"]
KINDS: tuple[Kind, ...] = ("slow", "lossy", "unplugged")
_LOSS_STEPS = 10_000  # one hundredth of a per cent
_MOST_SEGMENTS = 65_535  # of TCP in one packet inside the kernel: Linux's GSO_MAX_SEGS


@dataclass(frozen=True, slots=True)
class Degradation:
    """One fault of one rail: ``value`` is Mbit/s for slow, per cent of packets for lossy, None for unplugged.

    Raises SetupError if the value is missing, superfluous or out of range.
    """

    node: str
    device: str
    kind: Kind
    value: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SetupError(f'testbed: "{self.kind}" is not a kind of degradation; {did_you_mean(self.kind, KINDS)}')
        if self.kind == "unplugged":
            if self.value is not None:
                raise SetupError(f"testbed: unplugged takes no value, found {self.value:g}")
        elif self.value is None:
            wanted = "a rate, as in slow 40mbit" if self.kind == "slow" else "a percentage, as in lossy 1"
            raise SetupError(f"testbed: {self.kind} needs {wanted}")
        elif self.kind == "slow":
            check_rate(self.value)
        elif not 1 / _LOSS_STEPS * 100 <= self.value <= 100:
            raise SetupError(f"testbed: {self.value:g} % of lost packets is not between 0.01 and 100")

    def __str__(self) -> str:
        """Return the words of ``status``: ``slow (40 Mbit/s)``, ``lossy (1 %)``, ``unplugged``."""
        unit = {"slow": "Mbit/s", "lossy": "%"}.get(self.kind)
        return self.kind if unit is None else f"{self.kind} ({self.value:g} {unit})"


def parse_degradation(node: str, device: str, kind: str, value: str | None) -> Degradation:
    """Return the degradation that a person typed. Raises SetupError, one sentence, for anything unusable."""
    if kind not in KINDS:
        raise SetupError(f'testbed: "{kind}" is not a kind of degradation; {did_you_mean(kind, KINDS)}')
    if value is None:
        return Degradation(node, device, kind)
    if kind == "unplugged":
        raise SetupError(f'testbed: unplugged takes no value, found "{value}"')
    if kind == "slow":
        return Degradation(node, device, kind, parse_rate(value))
    try:
        number = float(value.strip().removesuffix("%"))
    except ValueError:
        raise SetupError(f'testbed: "{value}" is not a percentage: write 1 or 0.5') from None
    return Degradation(node, device, kind, number)


@dataclass(frozen=True, slots=True)
class Commands:
    """Standard inputs for ``tc -batch -``, ``nft -f -`` and ``ip -batch -``, on the switch's and the node's side."""

    tool: Literal["tc", "nft", "ip"]
    switch: str
    node: str


def make_commands(spec: TestbedSpec, fault: Degradation) -> tuple[Commands, ...]:
    """Return the commands that make the fault on a rail without one of its kind, in order."""
    port, device = switch_port(spec, fault.node, fault.device), fault.device
    if fault.kind == "slow":
        assert fault.value is not None
        if spec.network(device).rate_mbit_s is None:
            return (Commands("tc", _lines(shape(port, fault.value)), _lines(shape(device, fault.value))),)
        return (Commands("tc", _lines([reshape(port, fault.value)]), _lines([reshape(device, fault.value)])),)
    if fault.kind == "lossy":
        assert fault.value is not None
        # Ingress of the port is what the node sends, ingress of the node's device is what it receives: both directions.
        # Many small kernels have no netem; nftables' numgen is wherever nft is.
        return (
            # Else Linux hands over 64 KiB as one packet: a drop takes 45 segments of TCP, and a run of 16 MiB has few
            # packets.
            Commands("ip", _most_segments(port, 1), _most_segments(device, 1)),
            Commands("nft", _loss(port, fault.value), _loss(device, fault.value)),
        )
    # The port at the switch goes down, and the node loses its carrier, as with a cable.
    return (Commands("ip", f"link set {port} down\n", ""),)


def undo_commands(spec: TestbedSpec, fault: Degradation) -> tuple[Commands, ...]:
    """Return the commands that undo the fault, in order."""
    port, device = switch_port(spec, fault.node, fault.device), fault.device
    if fault.kind == "slow":
        rate = spec.network(device).rate_mbit_s
        if rate is None:
            # Not "del", which fails if nothing is there: undoing twice must do no harm.
            gone = (f"qdisc replace dev {port} root noqueue\n", f"qdisc replace dev {device} root noqueue\n")
            return (Commands("tc", *gone),)
        return (Commands("tc", _lines([reshape(port, rate)]), _lines([reshape(device, rate)])),)
    if fault.kind == "lossy":
        return (
            Commands("nft", _no_loss(port), _no_loss(device)),
            Commands("ip", _most_segments(port, _MOST_SEGMENTS), _most_segments(device, _MOST_SEGMENTS)),
        )
    return (Commands("ip", f"link set {port} up\n", ""),)


def _lines(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _most_segments(device: str, count: int) -> str:
    return f"link set dev {device} gso_max_segs {count}\n"


def _no_loss(device: str) -> str:
    # "add" first, so deleting a missing table does not fail.
    return f"add table netdev loss_{device}\ndelete table netdev loss_{device}\n"


def _loss(device: str, percent: float) -> str:
    steps = round(percent * _LOSS_STEPS / 100)
    hook = f'type filter hook ingress device "{device}" priority 0; policy accept;'
    # nft refuses a comparison that is always true.
    choice = "" if steps >= _LOSS_STEPS else f"numgen random mod {_LOSS_STEPS} < {steps} "
    rule = f"{choice}counter drop"
    return _no_loss(device) + f"table netdev loss_{device} {{ chain wire {{ {hook} {rule}; }}; }}\n"


#: Among a scheduler's files: ``start NODE FIRST`` starts its daemons in a node and ends when they are ready.
START = "start"
#: In each node of PBS: what an MPI calls in place of ssh inside a job, by pbs_tmrsh.
PBS_REMOTE = "/run/pbs/remote"
#: Name of a scheduler, which is its folder below the testbed's -> the variables of its clients, with that folder for
#: ``{folder}``.
VARIABLES: Mapping[str, Mapping[str, str]] = {
    "slurm": {"SLURM_CONF": "{folder}/slurm.conf"},
    # In each node's own /run: a path below the clone could be too long for a socket's name (108 bytes).
    "flux": {"FLUX_URI": "local:///run/flux/local"},
    "pbs": {"PBS_CONF_FILE": "{folder}/pbs.conf"},
    # Each node has ports of its own.
    "sge": {
        "SGE_ROOT": "{folder}/root",
        "SGE_CELL": "default",
        "SGE_QMASTER_PORT": "6444",
        "SGE_EXECD_PORT": "6445",
    },
}


def variables_of(name: str, folder: Path) -> dict[str, str]:
    """Return the variables of a scheduler's clients; ``folder`` has its files."""
    return {key: text.replace("{folder}", str(folder)) for key, text in VARIABLES[name].items()}


def client_variables(home: Path, name: str, kind: str = CLUSTER) -> dict[str, str]:
    """Return variables by which a process of the host finds a testbed's scheduler; ``$PATH`` stays to be filled in."""
    folder = bed_folder(home, kind) / name
    return {"PATH": f"{folder / 'bin'}:$PATH", **variables_of(name, folder)}
