"""The parts of the guests, without a running guest: archive, modules, scripts, and the agent over two sockets."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.testbed import guest_agent, guest_texts, guests
from railyard.provision.testbed.boot import SEARCH_PATH
from railyard.provision.testbed.spec import Network, TestbedSpec
from tests.patience import PATIENCE_S, wait_for

SPEC = TestbedSpec(
    ("left", "right"),
    (
        Network("management", "eth0", "10.97.0.0/24", None),
        Network("rail 0", "rxe0", "10.97.1.0/24", 40.0),
        Network("rail 1", "rxe1", "10.97.2.0/24", None),
    ),
)
FILES = guest_texts.Files("/clone/.railyard/guests", "/clone", "/boot/vmlinuz-6", "tcg")


# ---- the archive


def test_an_archive_has_folders_before_what_is_in_them_and_ends_with_its_trailer() -> None:
    made = guests.archive(
        {"init": guests.File(b"#!/bin/sh\n", 0o755), "a/b/c": guests.File(b"12345")},
        {"bin/sh": "busybox"},
        ("dev",),
    )
    assert entries(made) == [
        ("a", 0o040755, b""),
        ("a/b", 0o040755, b""),
        ("a/b/c", 0o100644, b"12345"),
        ("bin", 0o040755, b""),
        ("bin/sh", 0o120777, b"busybox"),
        ("dev", 0o040755, b""),
        ("init", 0o100755, b"#!/bin/sh\n"),
        ("TRAILER!!!", 0, b""),
    ]


def entries(made: bytes) -> list[tuple[str, int, bytes]]:
    """Return (path, mode, content) of each entry, read in the format of the kernel's documentation."""
    found, at = [], 0
    while at < len(made):
        assert made[at : at + 6] == b"070701"
        fields = [int(made[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        name_at, (size, name_length) = at + 110, (fields[6], fields[11])
        content_at = (name_at + name_length + 3) // 4 * 4
        found.append((made[name_at : name_at + name_length - 1].decode(), fields[1], made[content_at:][:size]))
        at = (content_at + size + 3) // 4 * 4
    return found


# ---- the kernel

MODULES_DEP = """\
kernel/sw/rdma_rxe.ko: kernel/core/ib_uverbs.ko kernel/net/udp_tunnel.ko kernel/core/ib_core.ko
kernel/core/ib_uverbs.ko: kernel/core/ib_core.ko
kernel/core/ib_core.ko:
kernel/net/udp_tunnel.ko:
kernel/net/crc32-generic.ko:
"""


def test_each_module_is_loaded_behind_what_it_needs_and_once() -> None:
    assert guest_texts.load_order(MODULES_DEP, ("crc32_generic", "ib_uverbs", "rdma_rxe")) == [
        "kernel/net/crc32-generic.ko",
        "kernel/core/ib_core.ko",
        "kernel/core/ib_uverbs.ko",
        "kernel/net/udp_tunnel.ko",
        "kernel/sw/rdma_rxe.ko",
    ]


def test_the_modules_that_a_kernel_lacks_are_named() -> None:
    with pytest.raises(SetupError) as caught:
        guest_texts.load_order(MODULES_DEP, ("9p", "rdma_rxe", "overlay"))
    assert str(caught.value) == "it has no module 9p and no overlay"


def machine_with(folder: Path, version: str, modules_dep: str | None) -> Path:
    (folder / "boot").mkdir(parents=True, exist_ok=True)
    (folder / f"boot/vmlinuz-{version}").touch()
    modules = folder / "lib/modules" / version
    modules.mkdir(parents=True)
    if modules_dep is not None:
        (modules / "modules.dep").write_text(modules_dep, encoding="ascii")
    return folder


def test_the_newest_kernel_that_has_all_modules_is_taken(tmp_path: Path) -> None:
    whole = "".join(f"kernel/{name}.ko:\n" for name in guest_texts.MODULES)
    root = tmp_path / "root"
    for version, dep in (("6.1.0-9-amd64", whole), ("6.1.0-10-amd64", whole), ("6.1.0-11-cloud", MODULES_DEP)):
        machine_with(root, version, dep)
    found = guest_texts.find_kernel(tmp_path / "clone", root)
    assert (found.version, found.image) == ("6.1.0-10-amd64", root / "boot/vmlinuz-6.1.0-10-amd64")
    assert found.modules[0] == root / "lib/modules/6.1.0-10-amd64/kernel/virtio_pci.ko"
    own = machine_with(tmp_path / "clone" / guest_texts.UNPACKED, "5.10.0-1-amd64", whole)
    assert guest_texts.find_kernel(tmp_path / "clone", root).image == own / "boot/vmlinuz-5.10.0-1-amd64"


def test_a_machine_without_such_a_kernel_is_told_what_was_looked_at(tmp_path: Path) -> None:
    root = machine_with(tmp_path, "6.1.0-11-cloud", MODULES_DEP)
    machine_with(tmp_path, "6.2.0", None)
    with pytest.raises(SetupError) as caught:
        guest_texts.find_kernel(tmp_path / "clone", root)
    assert str(caught.value) == (
        "guests: there is no kernel here that has Soft-RoCE (the module rdma_rxe) (looked at "
        f"{root}/boot/vmlinuz-6.2.0: no {root}/lib/modules/6.2.0/modules.dep; "
        f"{root}/boot/vmlinuz-6.1.0-11-cloud: it has no module virtio_pci and no virtio_net and no 9pnet_virtio and no "
        "9p and no overlay and no crc32c_generic and no ib_umad and no rdma_ucm and no sch_tbf and no sch_prio and no "
        "cls_u32): "
        "run 'make needs VERBS=1' in a clone, which unpacks Debian's linux-image there"
    )


# ---- what is started


def test_one_guest_listens_at_each_cable_and_the_other_connects() -> None:
    left, right = (guest_texts.qemu_words(SPEC, node, FILES) for node in SPEC.nodes)
    assert [word for word in left if word.startswith("stream")] == [
        f"stream,id=n{n},server=on,addr.type=unix,addr.path=/run/railyard/cable{n}" for n in range(3)
    ]
    assert [word for word in right if word.startswith("stream")] == [
        f"stream,id=n{n},server=off,addr.type=unix,addr.path=/run/railyard/cable{n}" for n in range(3)
    ]
    cards = [word for word in left + right if "mac=" in word]
    assert len({word.partition("mac=")[2][:17] for word in cards}) == len(cards) == 8


def test_a_guest_can_write_to_the_site_folder_alone() -> None:
    words = guest_texts.qemu_words(SPEC, "left", guest_texts.Files("/a,b/.railyard/guests", "/a,b", "/vmlinuz", "kvm"))
    assert [word for word in words if "mount_tag" in word] == [
        "local,path=/,mount_tag=machine,security_model=none,multidevs=remap,readonly=on",
        "local,path=/a,,b,mount_tag=home,security_model=none,multidevs=remap",
    ]


def test_a_guest_names_shapes_and_links_its_devices() -> None:
    lines = guest_texts.setup_script(SPEC, "right", "/usr/bin/python3").splitlines()
    commands = [line.partition("$(")[2].partition(" 2>&1")[0] for line in lines if line.startswith("said=")]
    assert commands == [
        "hostname right",
        "ip link set lo up",
        "ip link set eth0 mtu 4500",
        "ip address add 10.97.0.2/24 broadcast + dev eth0",
        "ip link set eth0 up",
        "ip link set eth1 mtu 4500",
        "ip address add 10.97.1.2/24 broadcast + dev eth1",
        "ip link set eth1 up",
        "tc qdisc replace dev eth1 root handle 1: tbf rate 40000000bit burst 32k limit 1m",
        "tc qdisc add dev eth1 parent 1:1 handle 10: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "tc qdisc add dev eth1 parent 10:2 handle 20: pfifo limit 16384",
        "tc filter add dev eth1 parent 10: protocol ip u32 match u16 0 0xff00 at 2 flowid 10:1",
        "rdma link add rxe0 type rxe netdev eth1",
        "ip link set eth2 mtu 4500",
        "ip address add 10.97.2.2/24 broadcast + dev eth2",
        "ip link set eth2 up",
        "rdma link add rxe1 type rxe netdev eth2",
        "ip link set eth3 name host0",
        "ip address add 10.0.2.15/24 dev host0",
        "ip link set host0 up",
    ]


@pytest.mark.parametrize("stacks", [None, "/clone/.stacks"])
def test_every_script_is_one_that_a_shell_reads(stacks: str | None) -> None:
    for text in (
        guest_texts.boot_script(SPEC, FILES),
        guest_texts.init_script(("overlay.ko",), "/my clone", stacks),
        guest_texts.setup_script(SPEC, "left", "/usr/bin/python3"),
        guest_texts.enter_text(sys.executable),
    ):
        read = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
        assert (read.returncode, read.stderr) == (0, "")


# ---- the way in


def run_enter(folder: Path, *words: str) -> tuple[int, str]:
    script = folder / "enter"
    script.write_text(guest_texts.enter_text(sys.executable), encoding="utf-8")
    done = subprocess.run(["sh", str(script), *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_enter_says_what_is_wrong_in_a_sentence(tmp_path: Path) -> None:
    down = "railyard testbed guests: the guests are not up: run 'railyard testbed guests up'\n"
    assert run_enter(tmp_path, "left", "--", "true") == (2, down)
    usage = "railyard testbed guests: usage: enter NODE -- COMMAND [ARGUMENT]...\n"
    assert run_enter(tmp_path, "left") == (2, usage)
    assert run_enter(tmp_path, "left", "--") == (2, usage)
    # A process of ours with another start time than in the file: its number was used again.
    (tmp_path / "nodes").write_text(guest_texts.nodes_text(SPEC, False, os.getpid(), 1), encoding="ascii")
    assert run_enter(tmp_path, "left", "--", "true") == (2, down)
    unknown = 'railyard testbed guests: no guest is called "lefft"; known: left right\n'
    assert run_enter(tmp_path, "lefft", "--", "true") == (2, unknown)


def ask_agent(argv: list[str], cwd: str = "/", env: dict[str, str] | None = None) -> socket.socket:
    """Return a caller's end of an agent that answers in a thread; the command was already sent."""
    ours, theirs = socket.socketpair()
    threading.Thread(target=guest_agent._answer, args=(theirs,), daemon=True).start()
    guest_agent.send(ours, b"c", json.dumps({"argv": argv, "cwd": cwd, "env": env or dict(os.environ)}).encode())
    return ours


def answer(ours: socket.socket) -> dict[bytes, bytes]:
    """Return what came of each kind until the end."""
    found: dict[bytes, bytes] = {}
    while (frame := guest_agent.receive(ours)) is not None:
        found[frame[0]] = found.get(frame[0], b"") + frame[1]
    return found


def test_a_command_has_its_folder_environment_input_output_and_exit_code() -> None:
    with ask_agent(
        ["sh", "-c", "pwd; cat; echo $A $TMPDIR >&2; exit 7"], "/usr", {"A": "b", "PATH": SEARCH_PATH}
    ) as ours:
        guest_agent.send(ours, b"i", b"given\n")
        guest_agent.send(ours, b"i")
        assert answer(ours) == {b"o": b"/usr\ngiven\n", b"e": b"b /run/tmp\n", b"x": b"7"}


def test_a_command_is_sent_signals_and_its_end_by_one_is_told_as_a_shell_does() -> None:
    with ask_agent(["sleep", "60"]) as ours:
        guest_agent.send(ours, b"s", str(int(signal.SIGTERM)).encode())
        assert answer(ours) == {b"x": b"143"}


def test_a_command_that_cannot_be_started_is_a_sentence() -> None:
    with ask_agent(["no-such-program"]) as ours:
        assert answer(ours) == {b"f": b"no-such-program: No such file or directory"}
    with ask_agent(["true"], cwd="/no/such/folder") as ours:
        assert answer(ours) == {b"f": b"/no/such/folder: No such file or directory"}


def test_what_a_command_leaves_behind_does_not_hold_its_caller() -> None:
    with ask_agent(["sh", "-c", "sleep 60 & echo begun"]) as ours:
        assert answer(ours) == {b"o": b"begun\n", b"x": b"0"}


def has_ended(pid: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_command_whose_caller_goes_is_killed_with_its_children(tmp_path: Path) -> None:
    with ask_agent(["sh", "-c", "sleep 61 & echo $! $$; wait"], str(tmp_path)) as ours:
        frame = guest_agent.receive(ours)
        assert frame is not None
        pids = [int(word) for word in frame[1].split()]
    wait_for(lambda: all(has_ended(pid) for pid in pids), f"the end of {pids}")


# ---- what went wrong


@pytest.mark.parametrize(
    ("console", "words"),
    [
        ("", "its console is empty"),
        (
            "\x1bc\x1b[?7l\x1b[2JSeaBIOS\nBooting from ROM...\n",
            'the last line of its console is "Booting from ROM..."',
        ),
        (
            "railyard-guest failed: its kernel did not take the module 9p.ko\n[ 2.7] reboot: Power down\n",
            "its kernel did not take the module 9p.ko",
        ),
        (
            "[ 1.0] Kernel panic - not syncing: VFS: Unable to mount root fs\n[ 1.1] Rebooting\n",
            "[ 1.0] Kernel panic - not syncing: VFS: Unable to mount root fs",
        ),
    ],
)
def test_a_console_is_quoted_where_it_says_why(tmp_path: Path, console: str, words: str) -> None:
    file = tmp_path / "left.console"
    file.write_text(console, encoding="utf-8")
    assert guests._last_words(guests._printable(file)) == words


def test_guests_are_two(tmp_path: Path) -> None:
    three = TestbedSpec(("a", "b", "c"), SPEC.networks)
    with pytest.raises(SetupError) as caught:
        guests.Guests(tmp_path, three).bring_up(print)
    assert str(caught.value) == ("testbed: guests are joined by cables, so there must be two, but 3 nodes are named")


QEMUS = {
    "echo '[0.0] Linux version 6.1'": None,
    "echo 'qemu-system-x86_64: error: no virtualization' >&2; exit 1": "error: no virtualization",
    "exit 1": "it printed nothing",
    "exec sleep 60": "its first instructions came to no end",
}


@pytest.mark.parametrize("does", QEMUS)
def test_kvm_is_tried_and_why_it_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    made = tmp_path / "qemu-system-x86_64"
    made.write_text(f"#!/bin/sh\n{does}\n", encoding="ascii")
    made.chmod(0o755)
    monkeypatch.setattr(guests, "SEARCH_PATH", f"{tmp_path}:{SEARCH_PATH}")
    monkeypatch.setattr(guests, "_PROBED_WITHIN_S", 0.5 if "sleep" in does else PATIENCE_S)
    device = tmp_path / "kvm"
    device.touch()
    assert guests.kvm_refused(tmp_path / "vmlinuz", device) == QEMUS[does]


def test_a_machine_without_kvm_is_not_tried(tmp_path: Path) -> None:
    assert guests.kvm_refused(tmp_path, tmp_path / "kvm") == f"{tmp_path}/kvm is missing, or you may not open it"
