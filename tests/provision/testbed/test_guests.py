"""Running Soft-RoCE guests: commands in them, what their devices say, and their end."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.parsers.detect import parse
from railyard.provision.testbed import guests as bed
from railyard.provision.testbed.boot import (
    SEARCH_PATH,
    find_inside,
    outermost_processes,
    require_programs,
    wait_until_gone,
)
from railyard.provision.testbed.guest_texts import Kernel, find_kernel
from railyard.provision.testbed.guests import Guests
from railyard.provision.testbed.lock import measurement_lock
from railyard.provision.testbed.spec import spec_of
from railyard.rfm.checks.microbench import SOFT_ROCE_TIMEOUT
from railyard.site.systems.load import find_system

pytestmark = [pytest.mark.e2e, pytest.mark.full]
CLONE = Path(__file__).parents[3]
SPEC = spec_of(find_system(CLONE / "systems", "virtual-verbs"))


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    try:
        require_programs(*bed.PROGRAMS, packages=bed.DEBIAN_PACKAGES)
        find_kernel(CLONE)
    except SetupError as error:
        pytest.skip(str(error))
    folder = Path(tempfile.mkdtemp(prefix="railyard-guests-"))
    (folder / ".stacks").symlink_to(CLONE / ".stacks")
    with measurement_lock(lambda sentence: None):  # two virtual machines would disturb measurements
        yield folder
        Guests(folder, SPEC).take_down()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def guests(home: Path) -> Guests:
    """Return the guests, up for the tests of this module; tests that end them come last."""
    found = Guests(home, SPEC)
    assert found.bring_up(print)
    return found


def stdout_of(guests: Guests, node: str, *command: str) -> str:
    done = guests.exec(node, list(command))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_command_runs_in_its_guest_with_folder_and_exit_code(guests: Guests, home: Path) -> None:
    assert stdout_of(guests, "vg2", "hostname") == "vg2\n"
    done = guests.exec("vg1", ["sh", "-c", "echo out; echo err >&2; exit 7"])
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
    assert not guests.bring_up(print)


def test_guests_and_machine_see_one_site_folder_and_nothing_else_is_written(guests: Guests, home: Path) -> None:
    (home / "given").write_text("by the machine\n", encoding="ascii")
    assert stdout_of(guests, "vg1", "cat", f"{home}/given") == "by the machine\n"
    stdout_of(guests, "vg1", "sh", "-c", f"echo by vg1 >{home}/found; echo lost >/usr/lib/lost")
    assert stdout_of(guests, "vg2", "cat", f"{home}/found") == "by vg1\n"
    assert (home / "found").read_text(encoding="ascii") == "by vg1\n"
    assert not Path("/usr/lib/lost").exists()


def test_one_guest_runs_commands_in_the_other_as_a_launcher_of_mpi_does(guests: Guests) -> None:
    agent = str(guests.folder / "agent")
    assert stdout_of(guests, "vg1", agent, "-x", "vg2", "echo", "$(hostname)", "here") == "vg2 here\n"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["rdma", "link"], [("rxe0", "Active"), ("rxe1", "Active")]),
        (["ibv_devinfo"], [("rxe0", "Active"), ("rxe1", "Active")]),
        (["ibstat"], [("rxe0", "Active"), ("rxe1", "Active")]),
    ],
)
def test_what_the_devices_say_is_read_by_our_parsers(
    guests: Guests, command: list[str], expected: list[tuple[str, str]]
) -> None:
    if shutil.which(command[0], path=SEARCH_PATH) is None:
        pytest.skip(f"{command[0]} is not installed on this machine")
    ports = parse(stdout_of(guests, "vg1", *command)).fabric
    assert [(port.device, port.state) for port in ports] == expected


@pytest.mark.parametrize(
    ("size", "writes", "port"),
    # As many writes as each point in the published comparison of QDR and FDR (dual-rail-qdr): 8 s at 20 Mbit/s.
    [(65536, 20, 20000), (4096, 5000, 20001)],
)
def test_a_real_pair_of_perftest_goes_over_the_device_that_it_is_told(
    guests: Guests, size: int, writes: int, port: int
) -> None:
    before = {(one.node, one.device): one.sent_packets for one in guests.status()}
    words = ["ib_write_bw", "-F", "-d", "rxe1", "-i", "1", "-u", str(SOFT_ROCE_TIMEOUT)]
    words += ["-p", str(port), "-s", str(size), "-n", str(writes)]
    with subprocess.Popen([str(guests.enter), "vg2", "--", *words], stdout=subprocess.DEVNULL) as server:
        # A client ends at once until the server listens.
        client = f"until {' '.join(words)} vg2 2>/dev/null; do sleep 0.5; done"
        (table,) = parse(stdout_of(guests, "vg1", "sh", "-c", client)).tables
        server.wait(timeout=60)
    assert [row[:2] for row in table.rows] == [(size, writes)]
    after = {(one.node, one.device): one.sent_packets for one in guests.status()}
    sent = {where: after[where] - before[where] for where in after}
    assert sent["vg1", "rxe1"] >= writes * size / 4096
    assert (sent["vg1", "rxe0"], sent["vg2", "rxe0"]) == (0, 0)


def test_status_shows_every_device(guests: Guests) -> None:
    assert [(one.node, one.device, one.address, one.rate_mbit_s, one.state) for one in guests.status()] == [
        ("vg1", "rxe0", "10.99.1.1", 20.0, "ACTIVE"),
        ("vg1", "rxe1", "10.99.2.1", 20.0, "ACTIVE"),
        ("vg2", "rxe0", "10.99.1.2", 20.0, "ACTIVE"),
        ("vg2", "rxe1", "10.99.2.2", 20.0, "ACTIVE"),
    ]


def test_a_guest_that_ends_is_named_with_the_last_words_of_its_console(guests: Guests) -> None:
    left = guests.state().node("vg2").holder
    done = guests.exec("vg2", ["sh", "-c", "echo c >/proc/sysrq-trigger"])
    assert (done.returncode, done.stderr) == (2, "railyard testbed guests: vg2 ended while it ran this command\n")
    assert wait_until_gone([left], 20.0)
    with pytest.raises(SetupError) as caught:
        guests.state()
    said = str(caught.value)
    assert said.startswith("testbed: the guest vg2 ended while it was up (")
    assert "Kernel panic - not syncing: sysrq triggered crash" in said
    assert said.endswith("): run 'railyard testbed guests down', then 'up'")
    assert guests.bring_up(print)


def test_nothing_is_left_of_guests_whose_keeper_is_killed(guests: Guests) -> None:
    state = guests.state()
    members = list(find_inside(state.first).values())
    assert {node.holder for node in state.nodes} <= set(members)
    os.kill(state.keeper.pid, signal.SIGKILL)
    assert wait_until_gone([state.first, *members], 10.0)
    assert outermost_processes(guests.folder) == []
    done = guests.exec("vg1", ["true"])
    down = "railyard testbed guests: the guests are not up: run 'railyard testbed guests up'\n"
    assert (done.returncode, done.stderr) == (2, down)
    guests.take_down()
    assert sorted(path.name for path in guests.folder.iterdir()) == ["agent", "enter", "lock"]


def test_a_guest_that_does_not_boot_is_told_by_what_its_console_says(
    guests: Guests, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = find_kernel(home)

    def without_overlay(_: Path) -> Kernel:
        return replace(whole, modules=tuple(path for path in whole.modules if "overlay" not in path.name))

    monkeypatch.setattr(bed, "find_kernel", without_overlay)
    with pytest.raises(SetupError) as caught:
        guests.bring_up(print)
    assert str(caught.value) == (
        "testbed: the guest vg1 did not come up: it cannot lay a writable layer over the root of this machine"
    )
    assert outermost_processes(guests.folder) == []
    monkeypatch.setattr(bed, "find_kernel", find_kernel)
    monkeypatch.setattr(bed, "_UP_WITHIN_S", 0.5)
    with pytest.raises(SetupError) as caught:
        guests.bring_up(print)
    assert str(caught.value).startswith("testbed: the guest vg1 did not come up within 0.5 s: ")
    assert outermost_processes(guests.folder) == []
