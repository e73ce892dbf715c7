"""The shell texts of the guests: QEMU's command, what a guest runs first, and how a command gets into it. Pure.

Which Linux the guests run: one that is installed here or unpacked in the clone, with rdma_rxe as a module.
"""

import ipaddress
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.provision.testbed.scripts import SWITCH_RUN, UP_LINE, enter_head, fill_script, hosts_file, stay_lines
from railyard.provision.testbed.spec import TestbedSpec

MEMORY_MIB = 1024
#: The Ethernet frames of a rail hold a RoCE packet of 4096 B and its headers, so the path has the largest MTU.
FRAME_MTU = 4500
#: Each takes 9 KiB of memory, so both rails together fit into a guest.
WAITING_PACKETS = 16384
#: What a guest prints on its console when it takes commands, and before the reason why it did not come up.
READY_LINE, FAILED_LINE = "railyard-guest ready", "railyard-guest failed:"
#: The port of a guest's agent, and the first port in the host's own namespace that leads to one (QEMU's user network).
AGENT_PORT, FIRST_PORT = 7000, 7001
#: Beside the scripts: ``guests USER_NAMESPACE PID START``, then one line per guest, ``NODE PORT ADDRESS ALIAS…``.
NODES_FILE = "nodes"
#: In a guest: the folder that shows that a process is in one, with the files of its set-up.
INSIDE = "/run/railyard"
NOT_UP = "the guests are not up: run 'railyard testbed guests up'"


@dataclass(frozen=True, slots=True)
class Files:
    """Where the guests' files are on the host: ``folder`` is the testbed's own, ``home`` the site's."""

    folder: str
    home: str
    image: str
    accelerator: str


def archive_name(node: str) -> str:
    """Return the name of a guest's first root file system in the testbed's folder."""
    return f"{node}.cpio"


def console_name(node: str) -> str:
    """Return the name of the file with a guest's console output."""
    return f"{node}.console"


def boot_script(spec: TestbedSpec, files: Files) -> str:
    """Return what the first process of the testbed runs: one QEMU per guest, their rails joined by sockets.

    It prints problems in the tools' own words, or one line ``railyard-up PID…``, and then stays like that of the
    virtual cluster. Guest 1 listens at each rail's socket and guest 2 connects: a cable without a switch.
    """
    first, second = (shlex.join(qemu_words(spec, node, files)) for node in spec.nodes)
    sockets = " ".join(_socket(index) for index in range(len(spec.networks)))
    parts = [
        "set -eu",
        "PATH=$PATH:/usr/sbin:/sbin:/usr/bin:/bin",
        "mount -t tmpfs -o mode=0755 tmpfs /run",
        f"mkdir {SWITCH_RUN}",
        "ip link set lo up",
        f"{first} </dev/null & p1=$!",
        "tries=0",
        f"for socket in {sockets}; do",
        "    while [ ! -S $socket ]; do",
        '        kill -0 $p1 2>/dev/null || { wait $p1 || :; echo "qemu ended before it listened"; exit 1; }',
        "        tries=$((tries + 1))",
        '        [ $tries -lt 400 ] || { echo "qemu did not listen within 20 s"; exit 1; }',
        "        sleep 0.05",
        "    done",
        "done",
        f"{second} </dev/null & p2=$!",
        f"echo {UP_LINE} $p1 $p2",
        *stay_lines(),
    ]
    return "\n".join(parts) + "\n"


def qemu_words(spec: TestbedSpec, node: str, files: Files) -> list[str]:
    """Return the command of one guest: one processor, no disk; its root is this machine's, read-only."""
    number = spec.nodes.index(spec.node(node))
    cards: list[str] = []
    for index in range(len(spec.networks)):
        side = "on" if number == 0 else "off"
        cards += ["-netdev", f"stream,id=n{index},server={side},addr.type=unix,addr.path={_socket(index)}"]
        cards += ["-device", f"virtio-net-pci,netdev=n{index},mac={_mac(index, number)},host_mtu={FRAME_MTU},romfile="]
    forward = f"hostfwd=tcp:127.0.0.1:{FIRST_PORT + number}-:{AGENT_PORT}"
    cards += ["-netdev", f"user,id=host,restrict=on,ipv6=off,{forward}"]
    cards += ["-device", f"virtio-net-pci,netdev=host,mac={_mac(99, number)},romfile="]
    return [
        *("qemu-system-x86_64", "-name", node, "-machine", "q35", "-nodefaults", "-nographic", "-no-reboot"),
        *accelerator_words(files.accelerator),
        *("-smp", "1", "-m", str(MEMORY_MIB)),
        *("-serial", f"file:{_escape(files.folder)}/{console_name(node)}"),
        *("-kernel", files.image, "-initrd", f"{files.folder}/{archive_name(node)}"),
        *("-append", "console=ttyS0 quiet panic=-1 mitigations=off net.ifnames=0"),
        *_share_options("/", "machine", readonly=True),
        *_share_options(files.home, "home", readonly=False),
        *cards,
    ]


def accelerator_words(accelerator: str) -> list[str]:
    """Return QEMU's words for ``kvm`` or ``tcg``, which emulates every instruction."""
    if accelerator == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max"]


def probe_words(image: str) -> list[str]:
    """Return the command that starts this kernel under KVM until it prints its version."""
    return [
        *("qemu-system-x86_64", "-machine", "q35", "-nodefaults", "-nographic", "-no-reboot"),
        *accelerator_words("kvm"),
        *("-smp", "1", "-m", "256", "-serial", "stdio", "-kernel", image, "-append", "console=ttyS0 panic=-1"),
    ]


def init_script(modules: tuple[str, ...], home: str, stacks: str | None) -> str:
    """Return what a guest's kernel runs: modules, then this machine's root under a layer for what is written.

    ``home`` is the site's folder: guests and machine both write to it. ``stacks`` is a folder below it that is only
    read and so may be cached, None if there is none.
    """
    where = shlex.quote(home)
    lines = [
        "#!/bin/sh",
        f'failed() {{ echo "{FAILED_LINE} $1"; exec poweroff -f; }}',
        "mount -t proc proc /proc",
        "mount -t sysfs sysfs /sys",
        "mount -t devtmpfs devtmpfs /dev",
        *(f"insmod /modules/{name} || failed 'its kernel did not take the module {name}'" for name in modules),
        "plan9=trans=virtio,version=9p2000.L,msize=262144",
        "mount -t 9p -o ro,cache=loose,$plan9 machine /machine || failed 'it cannot mount the root of this machine'",
        "mount -t tmpfs tmpfs /written",
        "mkdir /written/upper /written/work",
        "mount -t overlay -o lowerdir=/machine,upperdir=/written/upper,workdir=/written/work overlay /root ||",
        "    failed 'it cannot lay a writable layer over the root of this machine'",
        "for name in proc sys dev; do mkdir -p /root/$name && mount --move /$name /root/$name; done",
        "mkdir -p /root/dev/pts /root/dev/shm /root/run /root/tmp",
        "mount -t devpts devpts /root/dev/pts",
        "mount -t tmpfs -o mode=1777 tmpfs /root/dev/shm",
        "mount -t tmpfs -o mode=0755 tmpfs /root/run",
        f"mkdir -m 1777 /root/run/lock /root/run/tmp && mkdir /root{INSIDE} && cp /setup/* /root{INSIDE}",
        f"mkdir -p /root{where} && mount -t 9p -o cache=none,$plan9 home /root{where} ||",
        "    failed 'it cannot mount the site folder'",
    ]
    if stacks is not None:
        lines.append(f"mount --bind /machine{shlex.quote(stacks)} /root{shlex.quote(stacks)}")
    return "\n".join([*lines, f"exec switch_root /root /bin/sh {INSIDE}/setup"]) + "\n"


def setup_script(spec: TestbedSpec, node: str, python: str) -> str:
    """Return what process 1 of a guest does in its new root: name, addresses, rates, RDMA devices, and the agent."""
    commands = [f"hostname {node}", "ip link set lo up"]
    for index, network in enumerate(spec.networks):
        length = ipaddress.IPv4Network(network.subnet).prefixlen
        commands += [
            f"ip link set eth{index} mtu {FRAME_MTU}",
            f"ip address add {spec.address(node, network.device)}/{length} broadcast + dev eth{index}",
            f"ip link set eth{index} up",
        ]
        if network.rate_mbit_s is not None:
            commands += shape(f"eth{index}", network.rate_mbit_s)
        if index > 0:
            commands.append(f"rdma link add {network.device} type rxe netdev eth{index}")
    last = f"eth{len(spec.networks)}"
    # QEMU's user network gives a guest this address by DHCP and reaches it there.
    commands += [f"ip link set {last} name host0", "ip address add 10.0.2.15/24 dev host0", "ip link set host0 up"]
    lines = [
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/run/tmp",
        "export PATH HOME TMPDIR",
        "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6 && echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6",
        f"cat {INSIDE}/hosts >/etc/hosts",
        *(f"said=$({command} 2>&1) || failed={shlex.quote(command)}" for command in commands),
        f'[ -z "${{failed-}}" ] || {{ echo "{FAILED_LINE} $failed ($said)" >/dev/console; poweroff -f; }}',
        f"{shlex.quote(python)} -I -S {INSIDE}/agent.py serve {AGENT_PORT} '{READY_LINE}' >/dev/console 2>&1",
        f'echo "{FAILED_LINE} its agent ended" >/dev/console',
        "poweroff -f",
    ]
    return "\n".join(lines) + "\n"


def shape(interface: str, rate_mbit_s: float) -> list[str]:
    """Return commands that make an interface send at most this rate, packets below 256 B first, without dropping any.

    They run in the guest: there rxe knows that its packets still wait, and waits too; a shaper outside could only drop
    them. rxe lets 64 packets of data wait. If acknowledgements waited behind these, both directions at once gave 70 %
    of the rate; with small packets first they give 98 %. A sender of read answers does not wait: it queues five answers
    of 8 MiB, 10,240 packets, at once, and each dropped packet costs a time-out.
    """
    bulk = " ".join(["1"] * 16)
    return [
        f"tc qdisc replace dev {interface} root handle 1: tbf rate {round(rate_mbit_s * 1e6)}bit burst 32k limit 1m",
        f"tc qdisc add dev {interface} parent 1:1 handle 10: prio bands 2 priomap {bulk}",
        f"tc qdisc add dev {interface} parent 10:2 handle 20: pfifo limit {WAITING_PACKETS}",
        # The length of an IPv4 packet is at its third byte.
        f"tc filter add dev {interface} parent 10: protocol ip u32 match u16 0 0xff00 at 2 flowid 10:1",
    ]


def hosts_text(spec: TestbedSpec) -> str:
    """Return a guest's /etc/hosts."""
    return "\n".join(hosts_file(spec)) + "\n"


def nodes_text(spec: TestbedSpec, user_namespace: bool, pid: int, start: int) -> str:
    """Return the list of guests that ``enter`` reads; ``pid`` is a process whose network namespace leads to them."""
    lines = [f"guests {int(user_namespace)} {pid} {start}"]
    for number, node in enumerate(spec.nodes):
        aliases = [f"{node}-{network.device}" for network in spec.networks]
        aliases += [spec.address(node, network.device) for network in spec.networks]
        address = spec.address(node, spec.networks[0].device)
        lines.append(" ".join([node, str(FIRST_PORT + number), address, *aliases]))
    return "\n".join(lines) + "\n"


def enter_text(python: str) -> str:
    """Return the script ``enter NODE -- COMMAND…``, which works on the machine and in a guest."""
    head = enter_head("railyard testbed guests", "guest", NOT_UP, "pid born", ("port", "address"))
    return head + fill_script(_ENTER, {"PYTHON": shlex.quote(python), "INSIDE": INSIDE, "AGENT_PORT": str(AGENT_PORT)})


_ENTER = """\
[ ! -e @INSIDE@/agent.py ] || exec @PYTHON@ -I -S @INSIDE@/agent.py call "$address" @AGENT_PORT@ "$found" "$@"
start_of "$pid"
[ "$start" = "$born" ] || die "$down"
exec nsenter -t "$pid" $as -n @PYTHON@ -I -S "$here/agent.py" call 127.0.0.1 "$port" "$found" "$@"
"""


def _socket(index: int) -> str:
    # In /run of the testbed's own mount namespace: a path in the clone may be longer than the 107 characters of a
    # socket's name.
    return f"{SWITCH_RUN}/cable{index}"


def _mac(index: int, number: int) -> str:
    return f"52:54:00:00:{index:02x}:{number + 1:02x}"


def _share_options(path: str, tag: str, *, readonly: bool) -> list[str]:
    options = f"local,path={_escape(path)},mount_tag={tag},security_model=none,multidevs=remap"
    return ["-virtfs", options + (",readonly=on" if readonly else "")]


def _escape(path: str) -> str:
    # QEMU splits its options at commas and takes two for one.
    return path.replace(",", ",,")


#: Where `make needs VERBS=1` unpacks Debian's kernel package, below the clone.
UNPACKED = Path(".stacks/guest-kernel")
#: What a guest needs, in this order: its root, its cards, RDMA over them, shaped rates and priorities, a second CRC for
#: rxe.
MODULES = (
    *("virtio_pci", "virtio_net", "9pnet_virtio", "9p", "overlay"),
    *("crc32c_generic", "crc32_generic", "ib_uverbs", "ib_umad", "rdma_ucm", "rdma_rxe"),
    *("sch_tbf", "sch_prio", "cls_u32"),
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """An image, its version, and the files of all modules that a guest needs, each after those that it needs."""

    version: str
    image: Path
    modules: tuple[Path, ...]


def find_kernel(home: Path, root: Path = Path("/")) -> Kernel:
    """Return the newest kernel of the clone, else of the machine, that has all modules. Raises SetupError."""
    seen = []
    for top in (home / UNPACKED, root):
        images = sorted(top.glob("boot/vmlinuz-*"), key=lambda path: _natural(path.name), reverse=True)
        for image in images:
            version = image.name.removeprefix("vmlinuz-")
            folder = _modules_folder(top, version)
            try:
                needed = load_order((folder / "modules.dep").read_text(encoding="utf-8"), MODULES)
            except FileNotFoundError:
                seen.append(f"{image}: no {folder}/modules.dep")
            except SetupError as error:
                seen.append(f"{image}: {error}")
            else:
                return Kernel(version, image, tuple(folder / path for path in needed))
    found = f" (looked at {'; '.join(seen)})" if seen else ""
    raise SetupError(
        f"guests: there is no kernel here that has Soft-RoCE (the module rdma_rxe){found}: run 'make needs VERBS=1' in "
        "a clone, which unpacks Debian's linux-image there"
    )


def load_order(modules_dep: str, names: Iterable[str]) -> list[str]:
    """Return the paths of these modules and of all that they need, in an order that can be loaded.

    ``modules_dep`` is depmod(8)'s file, ``PATH: PATH…``. Raises SetupError with the names of missing modules.
    """
    needs: dict[str, list[str]] = {}
    paths: dict[str, str] = {}
    for line in modules_dep.splitlines():
        path, _, others = line.partition(":")
        needs[path] = others.split()
        paths[_name(path)] = path
    missing = [name for name in names if name not in paths]
    if missing:
        raise SetupError(f"it has no module {' and no '.join(missing)}")
    ordered: dict[str, None] = {}
    for name in names:
        _place(paths[name], needs, ordered)
    return list(ordered)


def _place(path: str, needs: Mapping[str, list[str]], ordered: dict[str, None]) -> None:
    # depmod also lists what is needed indirectly, the deepest last.
    for other in reversed(needs[path]):
        ordered.setdefault(other)
    ordered.setdefault(path)


def _name(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].replace("-", "_")


def _modules_folder(top: Path, version: str) -> Path:
    """Return where the modules are: in Debian /lib is a link to /usr/lib, and a package may have either."""
    folders = (top / "lib/modules" / version, top / "usr/lib/modules" / version)
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(number or 0), text) for number, text in re.findall(r"(\d*)(\D*)", name)]
