"""What the reader leaves if a run goes wrong: no /sys, links that vanish, the last reading, and addresses."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from railyard.job.counters import NodeCounters, parse
from tests.made.sysfs import TAG, Tree, write
from tests.patience import PATIENCE_S, wait_for

#: As in /proc/net: each local address is in two tables, and an entry without an answer has no flags.
FIB = """\
Main:
  +-- 10.1.0.0/16 2 0 2
     |-- 10.1.2.2
        /32 host LOCAL
     |-- 10.1.2.255
        /32 link BROADCAST
Local:
     |-- 10.1.2.2
        /32 host LOCAL
     |-- 127.0.0.1
        /32 host LOCAL
"""
ARP = """\
IP address       HW type     Flags       HW address            Mask     Device
10.1.2.1         0x1         0x2         0a:00:00:00:01:01     *        hsn1
10.1.2.7         0x1         0x0         00:00:00:00:00:00     *        hsn1
10.1.2.8         0x20        0x2         80:00:02:08:fe:80:00:00:00 *     hsn1
10.9.9.9         0x1         0x2         0a:00:00:00:09:09     *        br0
"""


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree.empty_node(tmp_path, "vn2")
    write(tree.interface("hsn1"), {"carrier_changes": 3, "address": "0a:00:00:00:01:02"})
    write(tree.root / "proc/net", {"fib_trie": FIB.rstrip("\n"), "arp": ARP.rstrip("\n")})
    return tree


def start_reader(tree: Tree, *command: str, meant: str = "hsn1") -> "subprocess.Popen[str]":
    words = ["sh", str(tree.root / "reader.sh"), str(tree.root / "out"), TAG, meant, "", "--", *command]
    env = {
        "PATH": "/usr/bin:/bin", "RAILYARD_SYSFS": str(tree.root / "sys"), "RAILYARD_PROC": str(tree.root / "proc"),
        "MPI_LOCALRANKID": "0",
    }  # fmt: skip
    return subprocess.Popen(words, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run_reader(tree: Tree, *command: str, meant: str = "hsn1") -> tuple[int, str]:
    """Return how the reader ended, and its error output."""
    with start_reader(tree, *command, meant=meant) as process:
        _, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


def kill_reader(tree: Tree, changes: Mapping[Path, int]) -> NodeCounters:
    """Return what is left of a run with these changes, whose command did not end when it should."""
    begun = tree.root / "begun"
    script = f"trap '' TERM; : > {begun}; while :; do sleep 0.05; done"
    with start_reader(tree, "sh", "-c", script) as process:
        wait_for(begun.exists, "the command")
        for path, value in changes.items():
            path.write_text(f"{value}\n")
        end(tree, process, "last hsn1 arp/")
    return parse(tree.text, TAG)


def end(tree: Tree, process: "subprocess.Popen[str]", words: str) -> None:
    """Send the reader the signal to end; kill it and its children when these words are in its file."""
    process.send_signal(signal.SIGTERM)
    wait_for(lambda: words in tree.text, words)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    for child in children:
        subprocess.run(["kill", "-9", child], check=False)


@pytest.mark.fault("session", "a node without a readable /sys", "vn2 has no readable /sys")
def test_a_node_without_sys_is_refused_and_none_of_its_rails(tmp_path: Path, promise: str) -> None:
    tree = Tree.empty_node(tmp_path, "vn2")
    for name in ("net", "infiniband"):
        (tree.root / "sys/class" / name).rmdir()
    code, printed = run_reader(tree, "true")
    assert (code, f"railyard: {promise} " in printed) == (71, True)
    refusal = parse(tree.text, TAG).refusal
    assert refusal is not None
    assert (refusal.rail, refusal.sentence.startswith(promise)) == (None, True)


@pytest.mark.fault("session", "a node that shows another one's /sys", "vn2 has no /sys of its own")
def test_a_node_with_anothers_sys_is_refused_and_none_of_its_rails(tree: Tree, promise: str) -> None:
    write(tree.root / "proc/net", {"dev": "Inter-| Receive\n face |bytes\n  hsn2: 100 1 0\n  hsn1: 7 1 0"})
    code, printed = run_reader(tree, "true", meant="hsn2")
    assert (code, f"railyard: {promise}: hsn2 is in its /proc/net/dev" in printed) == (71, True)
    refusal = parse(tree.text, TAG).refusal
    assert refusal is not None
    assert (refusal.rail, refusal.sentence.startswith(promise)) == (None, True)


def test_a_rail_that_a_node_with_a_sys_has_not_is_that_rails(tree: Tree) -> None:
    assert run_reader(tree, "true", meant="hsn9")[0] == 71
    refusal = parse(tree.text, TAG).refusal
    assert refusal is not None
    assert (refusal.rail, "does not exist" in refusal.sentence) == ("hsn9", True)


def test_a_link_that_changed_is_counted(tree: Tree) -> None:
    folder = tree.root / "sys/class/net/hsn1"
    found = tree.run("hsn1", {folder / "carrier_changes": 5}).device("hsn1")
    assert found is not None
    assert (found.carrier_changes, found.carrier_after) == (2, True)


def test_a_link_whose_changes_no_kernel_counts_is_not_known(tree: Tree) -> None:
    (tree.root / "sys/class/net/hsn1/carrier_changes").unlink()
    found = tree.run("hsn1").device("hsn1")
    assert found is not None
    assert found.carrier_changes is None


@pytest.mark.fault("rail", "a carrier lost, and its job killed", "the run was killed")
def test_a_killed_job_leaves_the_last_reading(tree: Tree, promise: str) -> None:
    folder = tree.root / "sys/class/net/hsn1"
    found = kill_reader(
        tree, {folder / "carrier": 0, folder / "carrier_changes": 4, folder / "statistics/tx_bytes": 900}
    )
    assert (found.killed, promise in str(found.problem), found.exit_code) == (True, True, None)
    device = found.device("hsn1")
    assert device is not None
    assert (device.carrier_before, device.carrier_after, device.carrier_changes) == (True, False, 1)
    assert device.tx.delta_bytes == 800


def test_a_run_that_left_no_last_reading_is_not_read_as_one(tree: Tree) -> None:
    tree.run("hsn1")
    cut = tree.text[: tree.text.index("after at ")]
    found = parse(cut, TAG)
    assert (found.killed, found.problem is not None) == (False, True)


def test_after_a_failure_the_node_says_its_addresses_and_whom_it_believes_behind_others(tree: Tree) -> None:
    assert run_reader(tree, "false") == (1, "")
    read = parse(tree.text, TAG)
    assert read.problem is None
    assert read.addresses.hardware == {"0a:00:00:00:01:02": "hsn1"}
    assert read.addresses.own == ("10.1.2.2",)
    assert [(one.device, one.address, one.hardware) for one in read.addresses.neighbours] == [
        ("hsn1", "10.1.2.1", "0a:00:00:00:01:01")
    ]


def test_a_healthy_run_says_whom_it_believes_behind_others_too(tree: Tree) -> None:
    found = tree.run("hsn1").addresses
    assert (found.own, [one.hardware for one in found.neighbours]) == (("10.1.2.2",), ["0a:00:00:00:01:01"])


def test_a_node_that_is_killed_has_said_its_own_addresses(tree: Tree) -> None:
    tree.run("hsn1")
    assert parse(tree.text[: tree.text.index("after at ")], TAG).addresses.own == ("10.1.2.2",)


def stuck_command(tree: Tree, state: str, where: str) -> str:
    """Return a command that writes its own state as the kernel would show it, then a line, and does not end.

    The file ``begun`` says that it ignores the signal to end: sent earlier, the signal would end it.
    """
    own = tree.root / "proc/$$"
    stat = f'mkdir {own}; echo {where} >{own}/wchan; echo "$$ (IMB (x) y) {state} 1 1" >{own}/stat'
    return f"trap '' TERM; {stat}; : > {tree.root}/begun; echo; while :; do sleep 0.05; done"


@pytest.mark.parametrize(
    ("state", "where", "expected"),
    [
        ("D", "request_wait_answer", (("D", "request_wait_answer"),)),
        ("D", "0", (("D", "-"),)),
        ("T", "do_signal_stop", (("T", "do_signal_stop"),)),
        ("S", "hrtimer_nanosleep", ()),
    ],
)
def test_a_process_that_the_signal_to_end_did_not_end_is_said_with_its_state(
    tree: Tree, state: str, where: str, expected: tuple[tuple[str, str], ...]
) -> None:
    """Another rank is stopped, and 77 is a stranger."""
    write(tree.root / "proc/77", {"stat": "77 (a b) D) D 1 77", "wchan": "other"})
    write(tree.root / "proc/99999999", {"stat": f"99999999 (IMB) T {os.getpid()} 1"})
    with start_reader(tree, "sh", "-c", stuck_command(tree, state, where)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        end(tree, process, "stuck 99999999")
    assert parse(tree.text, TAG).stuck == (*expected, ("T", "-"))


def test_a_signal_that_comes_while_the_command_starts_has_its_state_said_too(tree: Tree) -> None:
    reader = tree.root / "reader.sh"
    text = reader.read_text()
    assert text.count("\nchild=$!") == 1
    sent = f"until [ -e {tree.root}/begun ]; do :; done; kill -TERM $$"
    reader.write_text(text.replace("\nchild=$!", f"\n{sent}\nchild=$!"))
    write(tree.root / "proc/99999999", {"stat": f"99999999 (IMB) T {os.getpid()} 1"})
    with start_reader(tree, "sh", "-c", stuck_command(tree, "T", "do_signal_stop")) as process:
        assert process.stdout is not None
        process.stdout.readline()
        end(tree, process, "stuck 99999999")
    assert parse(tree.text, TAG).stuck == (("T", "do_signal_stop"), ("T", "-"))
