"""`railyard gate` on a synthetic node: each fault with its line and exit code, and cases that are never a fault."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from railyard.cluster.gate import ending
from railyard.results.flaps import LONGEST_FILE, from_json, report_of
from tests.cluster.gate.conftest import Site
from tests.made.systems import HDR_BY_NAME
from tests.patience import PATIENCE_S, wait_for

ROOT = Path(__file__).parents[3]
NOT_SENT = "loopback, memory, pair (no --traffic)"
FIRST = "counters (no earlier gate since this boot to compare with)"


def test_a_node_that_is_well_is_fit_and_says_what_was_not_checked(site: Site) -> None:
    first = site.gate()
    assert (first.code, first.err) == (0, "")
    assert first.out == f"n1: fit: links, slots; not checked: {FIRST}, {NOT_SENT}\n"
    second = site.gate()
    assert (second.code, second.out) == (0, f"n1: fit: links, slots, counters; not checked: {NOT_SENT}\n")


@pytest.mark.parametrize(
    ("port", "line"),
    [
        (
            {"state": "1: DOWN", "phys_state": "2: Polling"},
            "mlx5_1 port 1: found Down (Polling), expected Active",
        ),
        (
            {"state": "2: INIT"},
            "mlx5_1 port 1: found Initializing (LinkUp), expected Active",
        ),
        (
            {"rate": "100 Gb/sec (4X EDR)"},
            "mlx5_1 port 1: found 4X EDR (100 Gbit/s), expected 4X HDR (200 Gbit/s)",
        ),
        (
            {"rate": "100 Gb/sec (2X HDR)"},
            "mlx5_1 port 1: found 2X HDR (100 Gbit/s), expected 4X HDR (200 Gbit/s)",
        ),
    ],
)
def test_a_link_that_is_down_slow_or_narrow_is_the_reason(site: Site, port: dict[str, str], line: str) -> None:
    site.port("mlx5_1", **port)
    found = site.gate()
    assert (found.code, found.out) == (1, f"n1: unfit: {line}\n")


def test_two_rails_that_are_slow_alike_are_two_faults_and_no_contradiction_of_the_file(site: Site) -> None:
    for card in ("mlx5_0", "mlx5_1"):
        site.port(card, rate="100 Gb/sec (2X HDR)")
    found = site.gate("--verbose")
    first = "mlx5_0 port 1: found 2X HDR (100 Gbit/s), expected 4X HDR (200 Gbit/s)"
    assert (found.code, found.out.splitlines()[0]) == (1, f"n1: unfit: {first} (+1 more)")
    assert found.out.splitlines()[1:3] == [
        f"  fault: {first}; lanes are lost: reseat or replace its cable",
        f"  fault: {first.replace('mlx5_0', 'mlx5_1')}; lanes are lost: reseat or replace its cable",
    ]


@pytest.mark.parametrize(
    ("slot", "found"),
    [({"current_link_width": "8"}, "PCIe Gen4 x8"), ({"current_link_speed": "8.0 GT/s PCIe"}, "PCIe Gen3 x16")],
)
def test_a_slot_that_is_narrow_or_slow_is_the_reason(site: Site, slot: dict[str, str], found: str) -> None:
    site.slot("mlx5_0", **slot)
    said = site.gate()
    assert said.code == 1
    assert said.out.startswith(f"n1: unfit: mlx5_0: found {found} (mlx5_0), ")
    assert said.out.endswith(", expected PCIe Gen4 x16\n")


def test_a_device_that_is_gone_is_the_reason(site: Site) -> None:
    (site.tree.root / "sys/class/infiniband/mlx5_1").rename(site.tree.root / "gone")
    found = site.gate()
    assert (found.code, found.out) == (1, "n1: unfit: mlx5_1:1: there is no such device\n")


def test_a_link_that_nobody_can_read_is_undecided_and_never_fit(site: Site) -> None:
    site.port("mlx5_0", state="")
    found = site.gate()
    assert (found.code, found.out) == (3, "n1: undecided: nothing says whether mlx5_0:1 is up\n")


def test_what_is_certainly_wrong_counts_before_what_nobody_can_read(site: Site) -> None:
    site.port("mlx5_0", state="")
    site.port("mlx5_1", state="1: DOWN", phys_state="2: Polling")
    found = site.gate()
    line = "n1: unfit: mlx5_1 port 1: found Down (Polling), expected Active\n"
    assert (found.code, found.out) == (1, line)


def test_what_a_node_does_not_show_is_said(site: Site) -> None:
    site.port("mlx5_0", rate="")
    site.slot("mlx5_0", current_link_width="0")
    found = site.gate()
    gaps = f"rate of mlx5_0:1, slot of mlx5_0:1 (the kernel shows none), {FIRST}, {NOT_SENT}"
    assert (found.code, found.out) == (0, f"n1: fit: links, slots; not checked: {gaps}\n")


@pytest.mark.fault("rail", "an Ethernet card in half of its lanes", "found PCIe Gen3 x4")
def test_the_slot_of_an_ethernet_card_is_judged_too(site: Site, promise: str) -> None:
    file = site.home / "systems/eth.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("link: eth-10\n", "link: eth-10\n    slot: pcie3-x8\n"))
    unread = site.gate(system="eth")
    assert unread.out.startswith("n1: fit: links; not checked: slot of eth1, tx_errors, ")
    (site.tree.root / "sys/class/net/eth1/device").symlink_to(site.tree.slot("eth-card"))
    speed = {"current_link_speed": "8.0 GT/s PCIe", "max_link_speed": "8.0 GT/s PCIe", "max_link_width": "8"}
    site.slot("eth-card", **speed, current_link_width="8")
    assert site.gate(system="eth").out.startswith("n1: fit: links, slots, counters; not checked: tx_errors, ")
    site.slot("eth-card", current_link_width="4")
    narrow = site.gate(system="eth")
    assert narrow.code == 1
    assert promise in narrow.out
    assert narrow.out.startswith("n1: unfit: eth1: found PCIe Gen3 x4 (eth-card), ")


def test_ethernet_has_no_loopback_and_no_slot_that_its_file_does_not_name(site: Site) -> None:
    found = site.gate("--traffic", system="eth")
    assert found.code == 0
    assert found.out == (
        f"n1: fit: links; not checked: slot of eth1 (the system's file names no slot), {FIRST}, "
        "tx_errors, rx_crc_errors, rx_frame_errors, tx_carrier_errors of eth1 (the kernel shows none), "
        "flaps of eth1 (the kernel does not count them), "
        "loopback of eth1 (no loopback over TCP: the kernel takes a shortcut), memory (gate.memory_mb_s is not set), "
        "pair (no --neighbour)\n"
    )
    (site.tree.root / "sys/class/net/eth1/speed").write_text("1000\n")
    slow = site.gate(system="eth")
    assert (slow.code, slow.out) == (1, "n1: unfit: eth1: its link runs at 1 Gbit/s, the system's file says eth-10\n")


def test_errors_that_grew_since_the_last_gate_stay_the_reason_until_they_are_forgotten(site: Site) -> None:
    assert site.gate().code == 0
    site.counter("mlx5_1", "symbol_error", 8)
    site.counter("mlx5_1", "link_downed", 4)
    found, again = site.gate(), site.gate()
    assert found.out == (
        "n1: unfit: mlx5_1:1: link_downed grew by 1 since the last gate, expected at most 0; "
        "symbol_error grew by 5 since the last gate, expected at most 0\n"
    )
    assert (found.code, again.code, again.out) == (1, 1, found.out)
    assert site.gate("--forget").code == 0
    assert site.gate().out == f"n1: fit: links, slots, counters; not checked: {NOT_SENT}\n"


def test_growth_within_the_bound_of_the_file_is_no_fault_and_a_signal_counts_where_the_file_bounds_it(
    site: Site,
) -> None:
    site.says({"counters": {"symbol_error": 5, "hw/out_of_sequence": 10}})
    for card in ("mlx5_0", "mlx5_1"):
        site.counter(card, "hw/out_of_sequence", 100)
    assert site.gate().code == 0
    site.counter("mlx5_0", "symbol_error", 8)
    assert site.gate().code == 0
    site.counter("mlx5_0", "hw/out_of_sequence", 111)
    found = site.gate()
    line = "n1: unfit: mlx5_0:1: hw/out_of_sequence grew by 11 since the last gate, expected at most 10\n"
    assert (found.code, found.out) == (1, line)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("boot", 0), FIRST),
        (("symbol_error", 1), "symbol_error of mlx5_0:1 (cleared since the last gate)"),
        (("symbol_error", 65535), "symbol_error of mlx5_0:1 (at its largest value: clear it)"),
    ],
)
def test_counters_of_another_boot_cleared_or_full_ones_drain_nobody_and_are_said(
    site: Site, change: tuple[str, int], said: str
) -> None:
    assert site.gate().code == 0
    name, value = change
    if name == "boot":
        (site.tree.root / "proc/sys/kernel/random/boot_id").write_text("8e20\n")
        site.counter("mlx5_0", "symbol_error", 900)
    else:
        site.counter("mlx5_0", name, value)
    found = site.gate()
    assert found.code == 0
    assert f"not checked: {said}, " in found.out


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[]", "no object of format 1"),
        ('{"format": 9}', "no object of format 1"),
        ('{"format": 1, "counters": {"mlx5_0:1": 3}}', "counters.mlx5_0:1: not a number per name"),
        ('{"format": 1, "ports": {"mlx5_0:1": {}}}', "ports.mlx5_0:1: 'flaps'"),
        ('{"format": 1, "node": "n2"}', "it is that of node 'n2'"),
        ("[" * 100_000, "lists in lists, far too deep"),
        ("1" * (LONGEST_FILE + 1), "more than 4 MiB"),
    ],
)
def test_a_state_that_is_damaged_is_said_once_and_set_aside(site: Site, text: str, why: str) -> None:
    folder = site.home / ".railyard/gate"
    assert site.gate().code == 0
    (folder / "n1.json").write_text(text)
    found = site.gate()
    line = f"n1: undecided: what earlier gates kept is lost; its file is n1.unreadable now: {why}\n"
    assert (found.code, found.out) == (3, line)
    assert (folder / "n1.unreadable").read_text() == text
    assert site.gate().out == f"n1: fit: links, slots, counters; not checked: {NOT_SENT}\n"


def test_a_link_that_is_down_counts_before_a_state_that_is_damaged(site: Site) -> None:
    (site.home / ".railyard/gate").mkdir(parents=True)
    (site.home / ".railyard/gate/n1.json").write_text("{")
    site.port("mlx5_1", state="1: DOWN", phys_state="2: Polling")
    found = site.gate()
    assert (found.code, found.out) == (1, "n1: unfit: mlx5_1 port 1: found Down (Polling), expected Active\n")


def test_two_gates_of_one_node_at_once_are_one(site: Site) -> None:
    folder = site.home / ".railyard/gate"
    folder.mkdir(parents=True)
    with (folder / "n1.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        found = site.gate()
        assert (found.code, found.out) == (3, "n1: undecided: another gate of this node runs\n")
        assert site.gate("--node", "n2").code == 0
    assert site.gate().code == 0


def test_the_program_is_told_all_of_it_in_one_line_of_json(site: Site) -> None:
    site.port("mlx5_1", rate="100 Gb/sec (2X HDR)")
    found = site.gate("--json")
    (line,) = found.out.splitlines()
    told = json.loads(line)
    assert (told["format"], told["node"], told["state"]) == (1, "n1", "unfit")
    assert told["line"] == f"n1: unfit: {told['reason']}"
    parts = {part["part"]: part for part in told["parts"]}
    assert list(parts) == ["links", "slots", "counters", "loopback", "memory", "pair"]
    assert [fault["fix"] for fault in parts["links"]["faults"]] == ["lanes are lost: reseat or replace its cable"]
    assert parts["pair"]["gaps"] == [{"what": "pair", "why": "no --traffic"}]


def hang_doctor(site: Site) -> Path:
    """Make doctor.sh hang in the program that it asks for addresses; return the file with that program's pid."""
    number = site.tree.root / "getent.pid"
    site.program("getent", f"#!/bin/sh\necho $$ >'{number}.new'\nmv '{number}.new' '{number}'\nexec sleep 6000\n")
    return number


def wait_for_end(number: Path) -> None:
    """Wait until the process has ended; a zombie counts as ended."""
    pid = int(number.read_text())
    wait_for(lambda: stat_of(pid)[:1] in ([], ["Z"]), f"the end of process {pid}")


def stat_of(pid: int) -> list[str]:
    """Return what the kernel says about a process, from its state on; nothing if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def drains(site: Site, **more: object) -> Path:
    """Give the system commands that drain and resume; return the file where a fake scontrol writes its words."""
    log = site.tree.root / "scontrol.log"
    site.program("scontrol", f"#!/bin/sh\nfor word; do printf '<%s>' \"$word\"; done >>'{log}'\necho >>'{log}'\n")
    update = ["scontrol", "update", "NodeName={node}"]
    site.says(
        {"drain": [*update, "State=DRAIN", "Reason={reason}"], "resume": [*update, "State=RESUME"], **more},
    )
    return log


def send_when_hung(number: Path, name: str) -> threading.Thread:
    """Send this process a signal as soon as the program hangs."""

    def send() -> None:
        wait_for(number.exists, "the program that hangs")
        os.kill(os.getpid(), getattr(signal, name))

    waiting = threading.Thread(target=send)
    waiting.start()
    return waiting


def test_a_gate_whose_time_is_over_is_undecided_and_ends_what_it_started(site: Site) -> None:
    log, number = drains(site), hang_doctor(site)
    # The signal of the gate's own timer; on a busy machine it could come before the program has begun.
    waiting = send_when_hung(number, "SIGALRM")
    found = site.gate()
    waiting.join()
    assert (found.code, found.out, found.err) == (3, "n1: undecided: its time of 50 s is over\n", "")
    wait_for_end(number)
    assert not log.exists()


def test_the_timer_of_a_gate_ends_it() -> None:
    with pytest.raises(ending.GateStop, match=r"^its time of 0\.01 s is over$"), ending.limit_time(0.01):
        time.sleep(PATIENCE_S)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_gate_that_is_cancelled_ends_in_order_and_drains_nobody(site: Site, name: str) -> None:
    log, number = drains(site), hang_doctor(site)
    site.port("mlx5_0", state="1: DOWN")
    waiting = send_when_hung(number, name)
    found = site.gate()
    waiting.join()
    assert (found.code, found.out) == (3, f"n1: undecided: cancelled ({name})\n")
    wait_for_end(number)
    assert not log.exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_a_killed_gate_started_ends_by_itself(site: Site) -> None:
    number = hang_doctor(site)
    # a killed gate leaves its folder of temporary files
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(site.tree.root)}
    gate = subprocess.Popen([sys.executable, "-m", "railyard", "gate", "--system", "hdr"], env=environment)
    wait_for(number.exists, "the program that hangs")
    above = [int(number.read_text())]
    while above[-1] != gate.pid:
        above.append(int(stat_of(above[-1])[1]))
    timer = above[-2]
    words = Path(f"/proc/{timer}/cmdline").read_text().split("\0")
    # Its time is the gate's own and two seconds more. Nobody waits for this here: the timer is set to be over.
    assert words[:3] == ["timeout", "-k", "1"]
    assert 0 < int(words[3]) <= 52
    gate.kill()
    gate.wait()
    os.kill(timer, signal.SIGALRM)
    wait_for_end(number)


def test_an_unfit_node_is_drained_once_a_gate_with_its_reason_as_one_word(site: Site) -> None:
    log = drains(site)
    assert site.gate().code == 0
    assert not log.exists()
    site.port("mlx5_1", rate="100 Gb/sec (2X HDR)")
    assert site.gate("--no-drain").code == 1
    assert not log.exists()
    assert site.gate().code == 1
    assert log.read_text() == (
        "<update><NodeName=n1><State=DRAIN><Reason=railyard gate: mlx5_1 port 1: found 2X HDR (100 Gbit/s), "
        "expected 4X HDR (200 Gbit/s)>\n"
    )
    assert site.kept_state()["drained"] == ["links"]


def test_a_node_that_a_gate_drained_is_resumed_when_what_was_wrong_is_well(site: Site) -> None:
    log = drains(site)
    site.port("mlx5_1", rate="100 Gb/sec (2X HDR)")
    assert site.gate().code == 1
    site.port("mlx5_1", rate="200 Gb/sec (4X HDR)")
    log.unlink()
    assert site.gate("--no-drain").code == 0
    assert not log.exists()
    assert site.gate().code == 0
    assert log.read_text() == "<update><NodeName=n1><State=RESUME>\n"
    assert site.gate().code == 0
    assert log.read_text().count("\n") == 1  # and not again


def test_what_was_drained_for_its_counters_is_not_resumed_by_a_gate_that_compares_none(site: Site) -> None:
    log = drains(site)
    assert site.gate().code == 0
    site.counter("mlx5_1", "symbol_error", 8)
    assert site.gate().code == 1
    log.unlink()
    assert site.gate("--forget").code == 0
    assert not log.exists()
    assert site.gate().code == 0
    assert log.read_text() == "<update><NodeName=n1><State=RESUME>\n"


def test_what_was_drained_for_two_parts_is_not_resumed_for_one_of_them(site: Site) -> None:
    log = drains(site)
    assert site.gate().code == 0
    site.counter("mlx5_1", "symbol_error", 8)
    assert site.gate().code == 1
    site.counter("mlx5_1", "symbol_error", 3)
    site.slot("mlx5_0", current_link_width="8")
    assert site.gate().code == 1
    assert site.kept_state()["drained"] == ["counters", "slots"]
    site.slot("mlx5_0", current_link_width="16")
    log.unlink()
    assert site.gate("--forget").code == 0  # the slot is healthy, and no counter is compared
    assert not log.exists()


def test_without_commands_in_the_file_nothing_is_drained(site: Site) -> None:
    log = site.tree.root / "scontrol.log"
    site.program("scontrol", f"#!/bin/sh\necho called >>'{log}'\n")
    site.port("mlx5_1", state="1: DOWN")
    assert site.gate().code == 1
    assert not log.exists()


def test_an_undecided_gate_drains_nobody(site: Site) -> None:
    log = drains(site)
    site.port("mlx5_0", state="")
    assert site.gate().code == 3
    assert not log.exists()


def test_a_drain_that_fails_is_said_and_the_node_stays_unfit(site: Site) -> None:
    drains(site)
    site.program("scontrol", "#!/bin/sh\necho 'Invalid node name specified' >&2\nexit 1\n")
    site.port("mlx5_1", state="1: DOWN")
    found = site.gate()
    assert (found.code, found.err) == (
        1,
        "railyard: gate of n1: scontrol ended with 1: Invalid node name specified\n",
    )
    assert site.kept_state()["drained"] == []


def test_a_folder_that_cannot_be_written_is_a_mistake_of_the_set_up(site: Site) -> None:
    (site.home / "file").write_text("")
    found = site.gate("--state", str(site.home / "file/below"))
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(f"railyard: gate: {site.home}/file/below/n1.lock cannot be written (")
    assert found.err.endswith(": name a folder that this user may write to: --state DIR\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--neighbour", "n2"), "--neighbour goes with --traffic"),
        (("--nodes", "n[1-2]", "--node", "n1"), "--nodes goes with neither --node nor --neighbour"),
        (("--node", "n1;reboot"), '--node: found "n1;reboot", expected the name of a node'),
        (
            ("--node", "n7"),
            'systems/hdr.yaml: nodes.names: found no "n7", expected the node that the gate runs on; name it by --node',
        ),
        (
            ("--nodes", "n[1-4]"),
            'systems/hdr.yaml: nodes.names: found no "n4", expected each node of --nodes; correct --nodes, or add it',
        ),
        (("--nodes", "n[2-1]"), "--nodes n[2-1]: '2-1' does not rise"),
        (
            ("--traffic", "--neighbour", "n9"),
            'systems/hdr.yaml: gate.neighbours: found no "n9", expected a node that is known to be good; none are',
        ),
    ],
)
def test_a_mistake_of_the_user_is_a_sentence_and_2(site: Site, words: tuple[str, ...], said: str) -> None:
    found = site.gate(*words)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(f"railyard: {said}")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "port: 1, counters: mlx5}\n      - ",
            "prot: 1, counters: mlx5}\n      - ",
            'rails[0].prot: found the unknown field "prot"',
        ),
        ("link: ib-hdr", "link: ib-hrd", 'link: found "ib-hrd", expected a link'),
        ("slot: pcie4-x16", "slot: pcie4-x61", 'slot: found "pcie4-x61", expected a slot'),
        ("{device: mlx5_1,", "{device: mlx5_0,", 'rails[1].device: found "mlx5_0" for the second time'),
    ],
)
def test_a_mistake_in_what_a_gate_reads_is_named_and_nothing_is_judged(
    site: Site, old: str, new: str, said: str
) -> None:
    assert old in HDR_BY_NAME
    (site.home / "systems/hdr.yaml").write_text(HDR_BY_NAME.replace(old, new), encoding="utf-8")
    found = site.gate()
    assert (found.code, found.out) == (2, "")
    assert re.match(rf"railyard: systems/hdr\.yaml:[0-9]+: fabrics\.hdr\.{re.escape(said)}", found.err)


def test_a_mistake_elsewhere_in_the_file_stops_a_gate_only_if_it_is_to_measure(site: Site) -> None:
    (site.home / "systems/hdr.yaml").write_text(HDR_BY_NAME.replace("osu: /opt", "ous: /opt"), encoding="utf-8")
    assert site.gate().out.startswith("n1: fit: links, slots; ")
    for word in ("--traffic", "--nodes=n1"):
        found = site.gate(word)
        assert (found.code, found.out) == (2, "")
        assert 'stacks.openmpi.benchmarks.ous: found "ous", expected a tool' in found.err


def test_in_a_replay_no_node_is_judged(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAILYARD_REPLAY", "1")
    found = site.gate()
    assert (found.code, found.out) == (2, "")
    assert "hdr is replayed and has no nodes" in found.err


def set_hours(site: Site, monkeypatch: pytest.MonkeyPatch, hours: float, set_by: float = 0) -> None:
    """Set the time of the next gates: hours after the first. ``set_by``: the clock is wrong by so many hours."""
    monkeypatch.setattr("time.time", lambda: 1_796_000_000.0 + (hours + set_by) * 3600)
    uptime = site.tree.root / "proc/uptime"
    uptime.unlink(missing_ok=True)
    uptime.write_text(f"{5000 + hours * 3600:.2f} 9.50\n")


FLAP_LINES = [
    # hours, link_downed of mlx5_1, boot -> exit code, part of the line
    (0, 3, "7d1f", 0, "fit"),
    (1, 4, "7d1f", 1, "unfit: mlx5_1:1: link_downed grew by 1 since the last gate, expected at most 0\n"),
    (2, 4, "7d1f", 1, "unfit: mlx5_1:1: link_downed grew by 1 since the last gate, expected at most 0\n"),
    (3, 6, "7d1f", 1, "unfit: mlx5_1:1: its link went down 3 times, 3 in 24 h (first 2026-11-30T"),
    # the kernel begins anew at a boot; the port still flaps
    (4, 0, "8e20", 1, "unfit: mlx5_1:1: its link went down 3 times, 3 in 24 h (first 2026-11-30T"),
    (27, 0, "8e20", 1, "good again from 2026-12-01T"),
    (28, 0, "8e20", 0, "fit: links, slots, counters"),
    (29, 0, "8e20", 0, "fit: links, slots, counters"),
]


def test_a_port_that_flaps_stays_unfit_over_a_boot_until_it_was_quiet_for_a_day(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for hours, downed, boot, code, line in FLAP_LINES:
        set_hours(site, monkeypatch, hours)
        (site.tree.root / "proc/sys/kernel/random/boot_id").write_text(f"{boot}\n")
        site.counter("mlx5_1", "link_downed", downed)
        found = site.gate("--verbose")
        assert (found.code, line in found.out) == (code, True), (hours, found.out)
    assert "  flaps: mlx5_1:1: its link went down 3 times, 3 in 24 h (" in found.out
    assert "; good again since 2026-12-01T" in found.out


def test_a_port_that_is_good_again_resumes_the_node_that_was_drained_for_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = drains(site)
    for hours, downed in ((0, 3), (1, 4)):
        set_hours(site, monkeypatch, hours)
        site.counter("mlx5_1", "link_downed", downed)
        site.gate()
    assert site.kept_state()["drained"] == ["counters"]
    log.unlink()
    set_hours(site, monkeypatch, 24.9)
    assert site.gate().code == 1
    log.unlink()
    set_hours(site, monkeypatch, 25)
    assert (site.gate().code, log.read_text()) == (0, "<update><NodeName=n1><State=RESUME>\n")


def test_other_errors_stay_the_reason_when_a_port_was_quiet(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for hours, downed, errors in ((0, 3, 3), (1, 4, 8), (30, 4, 8)):
        set_hours(site, monkeypatch, hours)
        site.counter("mlx5_1", "link_downed", downed)
        site.counter("mlx5_1", "symbol_error", errors)
        found = site.gate()
    line = "n1: unfit: mlx5_1:1: symbol_error grew by 5 since the last gate, expected at most 0\n"
    assert (found.code, found.out) == (1, line)


@pytest.mark.parametrize(("counter", "ways"), [("carrier_down_count", 1), ("carrier_changes", 2)])
def test_a_port_of_ethernet_flaps_by_its_carrier(
    site: Site, monkeypatch: pytest.MonkeyPatch, counter: str, ways: int
) -> None:
    for hours, downs, code in ((0, 5, 0), (1, 7, 0), (2, 8, 1)):
        set_hours(site, monkeypatch, hours)
        (site.tree.root / "sys/class/net/eth1" / counter).write_text(f"{downs * ways}\n")
        found = site.gate(system="eth")
        assert found.code == code, found.out
    assert found.out.startswith("n1: unfit: eth1: its link went down 3 times, 3 in 24 h (first 2026-")
    assert "flaps of eth1" not in found.out
    assert site.kept_state()["ports"]["eth1"]["counter"] == f"{counter} of eth1"


def test_a_counter_of_eight_bits_that_is_full_hides_no_flap_and_is_never_quiet(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = "flaps of mlx5_1:1 (link_downed stopped at its largest value, 255: clear it (perfquery -R))"
    for hours, downed, code, state in ((0, 253, 0, None), (1, 255, 1, "flapping"), (30, 255, 1, "flapping"),
                                       (31, 0, 1, "flapping"), (55, 0, 0, "good again")):  # fmt: skip
        set_hours(site, monkeypatch, hours)
        site.counter("mlx5_1", "link_downed", downed)
        found = site.gate("--json")
        told = json.loads(found.out)
        report = report_of(from_json(told["ports"])["mlx5_1:1"])
        assert (found.code, report and report.state) == (code, state), (hours, told["line"])
        shown = [gap for part in told["parts"] for gap in part["gaps"] if "largest value, 255" in gap["why"]]
        assert bool(shown) is (downed == 255)
    set_hours(site, monkeypatch, 80)
    site.counter("mlx5_0", "link_downed", 255)
    assert full.replace("mlx5_1", "mlx5_0") not in (first := site.gate().out)
    assert "unfit: mlx5_0:1: its link went down 252 times" in first


def test_a_rail_that_cannot_be_read_any_more_keeps_its_flaps_a_reason(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for hours, downed in ((0, 3), (1, 7)):
        set_hours(site, monkeypatch, hours)
        site.counter("mlx5_1", "link_downed", downed)
        site.gate()
    (site.tree.root / "sys/class/infiniband/mlx5_1/ports/1/counters/link_downed").unlink()
    set_hours(site, monkeypatch, 40)
    found = site.gate()
    assert (found.code, "mlx5_1:1: its link went down 4 times" in found.out) == (1, True), found.out


@pytest.mark.parametrize("years", [-26, 70])
def test_a_clock_that_is_wrong_for_a_while_loses_no_flap_and_makes_none_good(
    site: Site, monkeypatch: pytest.MonkeyPatch, years: int
) -> None:
    for hours, downed in ((0.0, 3), (1.0, 7)):
        set_hours(site, monkeypatch, hours)
        site.counter("mlx5_1", "link_downed", downed)
        site.gate()
    (site.tree.root / "proc/sys/kernel/random/boot_id").write_text("8e20\n")
    site.counter("mlx5_1", "link_downed", 0)
    set_hours(site, monkeypatch, 2, set_by=years * 8766)
    assert site.gate().code == 1
    for hours, code in ((2.5, 1), (25, 1), (26, 0)):  # the clock is right again
        set_hours(site, monkeypatch, hours)
        assert site.gate().code == code, hours


def test_without_the_kernels_name_for_its_boot_flaps_are_not_checked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site.tree.root / "proc/sys/kernel/random/boot_id").unlink()
    assert "flaps (the kernel does not name its boot" in site.gate().out


def test_a_disk_that_is_full_hides_no_fault_and_lets_no_node_pass(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert site.gate().code == 0
    before = site.kept_state()

    def fail(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("railyard.cluster.gate.model.write_whole", fail)
        found = site.gate()
        assert (found.code, found.out) == (2, "")
        site.counter("mlx5_1", "link_downed", 7)
        found = site.gate()
        assert (found.code, "mlx5_1:1: its link went down 4 times" in found.out) == (1, True)
        assert "n1.json cannot be written (No space left on device)" in found.err
    assert site.kept_state() == before
    assert site.gate().code == 1


def test_two_systems_with_one_port_count_its_flaps_together(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    other = HDR_BY_NAME.replace("system: hdr", "system: hdr2", 1)
    (site.home / "systems/hdr2.yaml").write_text(other, encoding="utf-8")
    for hours, downed, system in ((0, 3, "hdr"), (1, 7, "hdr2")):
        set_hours(site, monkeypatch, hours)
        site.counter("mlx5_1", "link_downed", downed)
        found = site.gate(system=system)
    assert (found.code, "4" in found.out) == (1, True), found.out
    assert site.kept_state()["ports"]["mlx5_1:1"]["flaps"][0][2] == 4


def test_a_port_of_roce_flaps_by_its_interface(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.port("mlx5_1", link_layer="Ethernet")
    (site.tree.root / "sys/class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs").mkdir(parents=True, exist_ok=True)
    (site.tree.root / "sys/class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/0").write_text("eth1\n")
    (site.tree.root / "sys/class/net/eth1/carrier_down_count").write_text("1\n")
    site.gate()
    assert site.kept_state()["ports"]["mlx5_1:1"]["counter"] == "carrier_down_count of eth1"


def test_a_site_may_say_how_often_and_how_long(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.says({"counters": {"link_downed": 9}, "flaps_per_day": 4, "quiet": "2h"})
    for hours, downed, code in ((0, 3, 0), (1, 7, 0), (1.5, 8, 1), (3, 8, 1), (3.5, 8, 0)):
        set_hours(site, monkeypatch, hours)
        site.counter("mlx5_1", "link_downed", downed)
        found = site.gate()
        assert found.code == code, (hours, found.out)


def test_a_repair_ends_the_time_of_a_port_that_flaps(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for hours, downed in ((0, 3), (1, 9)):
        set_hours(site, monkeypatch, hours)
        site.counter("mlx5_1", "link_downed", downed)
        found = site.gate()
    assert found.code == 1
    assert site.gate("--forget").code == 0
    assert site.gate().code == 0
    assert json.loads(site.gate("--json").out)["ports"]["mlx5_1:1"]["flaps"][0][2] == 6
