"""The virtual cluster itself: real namespaces, real traffic, and nothing is left of it, whatever happens."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.testbed.boot import Process, find_inside, outermost_processes, process
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.scripts import Degradation
from railyard.provision.testbed.spec import TestbedSpec
from tests.patience import PATIENCE_S, wait_for

ROOT = Path(__file__).parents[3]
#: Sends 2 MB to the other side, or receives it; a node needs no program but Python.
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 7000), timeout=600) as s:
    s.sendall(bytes(2_000_000))
    s.shutdown(socket.SHUT_WR)
    s.recv(1)
"""
TAKE = """
import socket
with socket.create_server(("", 7000)) as server:
    print("ready", flush=True)
    connection, _ = server.accept()
    while connection.recv(1 << 16):
        pass
    connection.close()
"""


def send(bed: Testbed, source: str, target: str, name: str) -> None:
    with subprocess.Popen(
        [bed.enter, target, "--", sys.executable, "-c", TAKE], stdout=subprocess.PIPE, text=True
    ) as taker:
        assert taker.stdout is not None
        assert taker.stdout.readline() == "ready\n"
        sent = bed.exec(source, [sys.executable, "-c", SEND, name], timeout_s=PATIENCE_S)
    assert (sent.returncode, sent.stderr) == (0, "")


def carried_bytes(bed: Testbed, node: str) -> dict[str, tuple[int, int]]:
    return {rail.device: (rail.tx_bytes, rail.rx_bytes) for rail in bed.status() if rail.node == node}


# --- what a node is


def test_a_node_is_a_machine_of_its_own(bed: Testbed) -> None:
    script = (
        "hostname; cat /etc/hostname; ls /sys/class/net; ls -A /run /dev/shm /sys/fs/cgroup; grep 'vn3 ' /etc/hosts"
    )
    assert bed.exec("vn2", ["sh", "-c", script]).stdout.split("\n") == [
        *("vn2", "vn2", "eth0", "hsn0", "hsn1", "lo"),
        *("/dev/shm:", "", "/run:", "lock", "tmp", "", "/sys/fs/cgroup:", "10.99.0.3 vn3 vn3-eth0", ""),
    ]


def test_each_node_has_a_boot_id_of_its_own(bed: Testbed) -> None:
    read = ["cat", "/proc/sys/kernel/random/boot_id"]
    ids = {bed.exec(node, read).stdout for node in bed.spec.nodes}
    assert len(ids) == 4
    assert Path("/proc/sys/kernel/random/boot_id").read_text() not in ids


def test_environment_folder_exit_code_and_input_pass_through(bed: Testbed, tmp_path: Path) -> None:
    done = bed.exec(
        "vn1",
        ["sh", "-c", 'cat; echo "$COLOUR $1"; pwd; exit 7', "sh", "two  words"],
        env={**os.environ, "COLOUR": "blue"},
        cwd=tmp_path,
        stdin="in\n",
    )
    assert (done.returncode, done.stdout) == (7, f"in\nblue two  words\n{tmp_path}\n")


def test_temporary_files_are_a_nodes_own(bed: Testbed) -> None:
    # Open MPI names its session folder after host and user, which are the same in every testbed.
    made = bed.exec("vn1", ["mktemp"], env={**os.environ, "TMPDIR": "/tmp"}).stdout.strip()
    assert made.startswith("/run/tmp/")
    assert bed.exec("vn1", ["test", "-e", made]).returncode == 0
    assert bed.exec("vn2", ["test", "-e", made]).returncode == 1


def test_a_folder_that_a_node_has_not_is_said(bed: Testbed) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as hidden:
        done = bed.exec("vn1", ["true"], cwd=Path(hidden))
    assert (done.returncode, done.stderr) == (
        2,
        f"railyard testbed: vn1 has no folder {hidden}: each node has its own /run, /sys and /dev/shm\n",
    )


def test_a_home_that_no_node_would_see_is_refused() -> None:
    with pytest.raises(SetupError) as caught:
        Testbed(Path("/run/somewhere")).bring_up()
    assert str(caught.value) == (
        "testbed: /run/somewhere/.railyard/testbed is below /run, and each node has its own: move the clone"
    )


def test_processes_see_one_another_and_no_others(bed: Testbed) -> None:
    seen = bed.exec("vn1", ["sh", "-c", "cd /proc; echo [0-9]*"]).stdout.split()
    assert "1" in seen
    assert len(seen) < 12


def test_terminating_enter_terminates_the_command(bed: Testbed, tmp_path: Path) -> None:
    said = tmp_path / "said"
    script = f"trap 'echo stopped >{said}; exit' TERM; echo on >{said}; while :; do sleep 0.02; done"
    with subprocess.Popen([bed.enter, "vn1", "--", "sh", "-c", script]) as running:
        wait_for(lambda: said.exists() and said.read_text() == "on\n", "the command")
        running.terminate()
    wait_for(lambda: said.read_text() == "stopped\n", "the end of the command")


def test_a_timeout_ends_the_command_too(bed: Testbed) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        bed.exec("vn1", ["sleep", "987"], timeout_s=0.2)
    wait_for(lambda: "sleep 987" not in commands(bed), "the end of the command")


def commands(bed: Testbed) -> list[str]:
    """Return the words of every process of the cluster; one that ends meanwhile has none."""
    found = []
    for member in find_inside(bed.state().first).values():
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{member.pid}/cmdline").read_text().replace("\0", " ").strip())
    return found


# --- agent


@pytest.mark.parametrize("host", ["vn3", "vn3-hsn1", "10.99.1.3", "someone@vn3"])
def test_the_agent_takes_what_launchers_call_a_host(bed: Testbed, host: str) -> None:
    done = bed.exec("vn1", [str(bed.agent), "-x", "-o", "BatchMode=yes", host, "hostname;", "echo", "'a  b'; exit 3"])
    assert (done.stdout, done.returncode) == ("vn3\na  b\n", 3)


def test_the_agent_works_from_outside_too(bed: Testbed) -> None:
    done = subprocess.run([bed.agent, "vn4", "hostname"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("vn4\n", "")


def test_an_unknown_host_is_one_sentence(bed: Testbed) -> None:
    done = subprocess.run([bed.agent, "vn9", "hostname"], capture_output=True, text=True)
    assert done.stderr == 'railyard testbed: no node is called "vn9"; known: vn1 vn2 vn3 vn4\n'
    assert done.returncode == 2


# --- rails


def test_traffic_takes_the_rail_that_is_named(bed: Testbed) -> None:
    before = carried_bytes(bed, "vn1")
    send(bed, "vn1", "vn2", "vn2-hsn1")
    after = carried_bytes(bed, "vn1")
    moved = {device: after[device][0] - before[device][0] for device in after}
    assert 2_000_000 < moved["hsn1"] < 2_300_000
    assert moved["hsn0"] < 1000
    assert moved["eth0"] < 1000


def test_an_idle_rail_is_silent(small: TestbedSpec, namespaces: None, tmp_path: Path) -> None:
    with Testbed(tmp_path, small) as fresh:
        assert {counters for node in small.nodes for counters in carried_bytes(fresh, node).values()} == {(0, 0)}


def test_every_rail_is_shaped_at_both_ends(bed: Testbed) -> None:
    for rate, port, device in ((80, "n4p0", "eth0"), (120, "n4p1", "hsn0"), (120, "n4p2", "hsn1")):
        shaped = f"class htb 1:1 root prio 0 rate {rate}Mbit ceil {rate}Mbit burst 655"
        assert class_of(bed, "vn4", device).startswith(shaped)
        assert port_class(bed, port).startswith(shaped)


def port_class(bed: Testbed, port: str) -> str:
    state = bed.state()
    words = ["nsenter", "-t", str(state.first.pid), "-n"]
    words += ["-U", "--preserve-credentials"] if state.user_namespace else []
    path = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    return subprocess.run([*words, "tc", "class", "show", "dev", port], env=path, capture_output=True, text=True).stdout


def class_of(bed: Testbed, node: str, device: str) -> str:
    return bed.exec(node, ["/bin/sh", "-c", f"PATH=$PATH:/usr/sbin:/sbin tc class show dev {device}"]).stdout


# --- degradations


@pytest.fixture
def degradable(bed: Testbed) -> Testbed:
    bed.restore()
    return bed


def test_slow_is_undone(degradable: Testbed) -> None:
    degradable.degrade("vn2", "hsn1", "slow", 80)
    degradable.degrade("vn2", "hsn1", "slow", 40)
    assert " rate 40Mbit " in class_of(degradable, "vn2", "hsn1")
    assert " rate 40Mbit " in port_class(degradable, "n2p2")
    assert " rate 120Mbit " in class_of(degradable, "vn2", "hsn0")
    assert degradable.state().degradations == (Degradation("vn2", "hsn1", "slow", 40),)
    assert degradable.restore("vn2") == (Degradation("vn2", "hsn1", "slow", 40),)
    assert " rate 120Mbit " in class_of(degradable, "vn2", "hsn1")
    assert degradable.state().degradations == ()


def test_an_unshaped_network_can_be_slow(small: TestbedSpec, namespaces: None, tmp_path: Path) -> None:
    with Testbed(tmp_path, small) as fresh:
        assert class_of(fresh, "alpha", "eth0") == ""
        fresh.degrade("alpha", "eth0", "slow", 80)
        fresh.degrade("alpha", "eth0", "slow", 10)
        assert " rate 10Mbit " in class_of(fresh, "alpha", "eth0")
        fresh.restore()
        assert class_of(fresh, "alpha", "eth0") == ""


def test_an_interface_that_is_switched_off_has_no_carrier_and_still_its_counters(degradable: Testbed) -> None:
    degradable.exec("vn2", ["ip", "link", "set", "hsn1", "down"])
    assert [(r.node, r.device) for r in degradable.status() if not r.carrier] == [("vn2", "hsn1")]
    degradable.exec("vn2", ["ip", "link", "set", "hsn1", "up"])
    assert all(rail.carrier for rail in degradable.status())


def test_unplugged_takes_the_carrier(degradable: Testbed) -> None:
    degradable.degrade("vn2", "hsn1", "unplugged")
    assert [(r.node, r.device) for r in degradable.status() if not r.carrier] == [("vn2", "hsn1")]
    degradable.restore("vn2", "hsn1")
    assert all(rail.carrier for rail in degradable.status())
    send(degradable, "vn1", "vn2", "vn2-hsn1")


def test_lossy_drops_both_ways(small: TestbedSpec, namespaces: None, tmp_path: Path) -> None:
    # Without the neighbour's address only an ARP request is sent: on a fresh testbed, it must not get through.
    sender = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('10.98.1.%d', 9))"
    with Testbed(tmp_path, small) as fresh:
        fresh.degrade("beta", "hsn0", "lossy", 100)
        for node, other in (("alpha", 2), ("beta", 1)):
            fresh.exec(node, [sys.executable, "-c", sender % other])
            neighbours = fresh.exec(node, ["/bin/sh", "-c", "PATH=$PATH:/usr/sbin:/sbin ip neigh show dev hsn0"])
            assert neighbours.stdout.split()[0] == f"10.98.1.{other}"
            assert "lladdr" not in neighbours.stdout
        fresh.restore()
        send(fresh, "alpha", "beta", "beta-hsn0")


def test_a_little_lossy_still_works(degradable: Testbed) -> None:
    degradable.degrade("vn3", "hsn0", "lossy", 1)
    send(degradable, "vn1", "vn3", "vn3-hsn0")
    degradable.restore()


def test_unknown_nodes_and_rails_are_offered_the_nearest(degradable: Testbed) -> None:
    with pytest.raises(SetupError) as caught:
        degradable.degrade("vn2", "hsn7", "unplugged")
    assert str(caught.value).startswith('testbed: no network has the device "hsn7"; did you mean "hsn')
    with pytest.raises(SetupError) as caught:
        degradable.restore("vm2")
    assert str(caught.value) == 'testbed: no node is called "vm2"; did you mean "vn2"?'
    with pytest.raises(SetupError) as caught:
        degradable.exec("vn22", ["true"])
    assert str(caught.value) == 'testbed: no node is called "vn22"; did you mean "vn2"?'
    assert degradable.state().degradations == ()


def test_a_fault_that_could_not_be_made_is_not_recorded(degradable: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("railyard.provision.testbed.boot.SEARCH_PATH", "/nowhere")
    with pytest.raises(SetupError) as caught:
        degradable.degrade("vn2", "hsn1", "lossy", 1)
    assert (
        str(caught.value) == "testbed: ip and nft are not installed: apt-get install iproute2 nftables (Debian's names)"
    )
    assert degradable.state().degradations == ()


# --- sweep


def test_sweep_ends_what_a_run_left_and_nothing_else(bed: Testbed) -> None:
    bed.sweep()
    left = bed.exec("vn2", ["sh", "-c", "setsid sleep 985 >/dev/null 2>&1 </dev/null &"])
    assert left.returncode == 0
    wait_for(lambda: "sleep 985" in commands(bed), "what is left")
    assert bed.sweep() == 1
    assert bed.sweep() == 0
    assert bed.exec("vn2", ["hostname"]).stdout == "vn2\n"


def test_orphans_are_reaped(bed: Testbed) -> None:
    bed.sweep()
    bed.exec("vn2", ["sh", "-c", "sleep 0.01 &"])
    held = {*outermost_processes(bed.folder), *(node.holder for node in bed.state().nodes)}
    wait_for(lambda: set(find_inside(bed.state().first).values()) <= held, "the end of the orphan")


# --- up and down


def test_up_and_down_twice(small: TestbedSpec, user_words: list[str], open_home: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from railyard.provision.testbed.cluster import Testbed;"
        "from railyard.provision.testbed.spec import Network, TestbedSpec;"
        f"bed = Testbed(Path({str(open_home)!r}), {small!r});"
        "print(bed.bring_up(), bed.bring_up(), bed.exec('beta', ['hostname']).stdout.strip(), len(bed.status()));"
        "print(bed.degrade('beta', 'hsn0', 'slow', 40), bed.degrade('alpha', 'hsn0', 'unplugged'), len(bed.restore()));"
        "print(bed.exec('alpha', [str(bed.agent), 'beta-hsn0', 'hostname; exit 4']).returncode, bed.sweep());"
        "print(bed.take_down(), bed.take_down(), bed.is_up())"
    )
    done = subprocess.run([*user_words, sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == (
        "True False beta 4\nslow (40 Mbit/s) unplugged 2\n4 0\nTrue False False\n",
        "",
    )
    assert sorted(path.name for path in (open_home / ".railyard" / "testbed").iterdir()) == ["agent", "enter", "lock"]


def test_two_homes_do_not_disturb_each_other(small: TestbedSpec, namespaces: None, tmp_path: Path) -> None:
    with Testbed(tmp_path / "one", small) as one, Testbed(tmp_path / "two", small) as two:
        one.degrade("beta", "hsn0", "unplugged")
        assert all(rail.carrier for rail in two.status())
        send(two, "alpha", "beta", "beta-hsn0")
        assert carried_bytes(one, "alpha")["hsn0"] == (0, 0)
        one.take_down()
        assert two.exec("alpha", ["hostname"]).stdout == "alpha\n"


def test_another_spec_on_a_running_one_is_refused(small: TestbedSpec, namespaces: None, tmp_path: Path) -> None:
    with Testbed(tmp_path, small) as running:
        with pytest.raises(SetupError) as caught:
            Testbed(tmp_path).bring_up()
        assert str(caught.value) == (
            "testbed: it is already up with other nodes, networks or rates: run 'railyard testbed down' first"
        )
        found = Testbed.find(tmp_path)
        assert found is not None
        assert found.spec == small
        with found:
            pass
        assert running.is_up(), "a block that found it up took it down"


@pytest.mark.parametrize("victim", ["keeper", "first"])
def test_killing_either_outer_process_ends_everything(
    small: TestbedSpec, namespaces: None, tmp_path: Path, victim: str
) -> None:
    bed = Testbed(tmp_path, small)
    bed.bring_up()
    state = bed.state()
    subprocess.run([bed.enter, "beta", "--", "sh", "-c", "setsid sleep 983 >/dev/null 2>&1 &"], check=True)
    members = list(find_inside(state.first).values())
    assert len(members) >= 4
    os.kill(getattr(state, victim).pid, signal.SIGKILL)
    wait_for(lambda: not any(member.is_alive() for member in members), "the end of all")
    assert not bed.is_up()
    done = subprocess.run([bed.enter, "beta", "--", "true"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        2,
        "railyard testbed: the virtual cluster is not up: run 'railyard testbed up'\n",
    )
    assert bed.bring_up(), "a dead testbed was taken for a running one"
    assert bed.take_down()


def test_a_state_file_whose_pids_were_given_to_others_is_recognised(
    small: TestbedSpec, namespaces: None, tmp_path: Path
) -> None:
    bed = Testbed(tmp_path, small)
    bed.bring_up()
    file = bed.folder / "state.json"
    stale = json.loads(file.read_text())
    nodes = (bed.folder / "nodes").read_text()
    bed.take_down()
    # The pid lives, but it is this test's process, which started at another time.
    for entry in (stale["keeper"], stale["first"], *(node["holder"] for node in stale["nodes"])):
        entry["pid"] = os.getpid()
    file.write_text(json.dumps(stale))
    (bed.folder / "nodes").write_text(
        "".join(
            line if line.startswith("bed") else " ".join([line.split()[0], str(os.getpid()), *line.split()[2:]]) + "\n"
            for line in nodes.splitlines(keepends=True)
        )
    )
    assert not bed.is_up()
    assert subprocess.run([bed.enter, "beta", "--", "true"], capture_output=True).returncode == 2
    assert not bed.take_down()
    assert process(os.getpid()).is_alive()
    assert not file.exists()


def test_down_finds_a_testbed_whose_state_file_is_lost(small: TestbedSpec, namespaces: None, tmp_path: Path) -> None:
    bed = Testbed(tmp_path, small)
    bed.bring_up()
    keeper = bed.state().keeper
    (bed.folder / "state.json").write_text('{"format": 1, "cut')
    assert keeper in outermost_processes(bed.folder)
    assert bed.take_down()
    assert not keeper.is_alive()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("after_s", [0.0, 0.03, 0.08])
def test_an_interrupted_up_leaves_nothing(
    namespaces: None, tmp_path: Path, number: signal.Signals, after_s: float
) -> None:
    program = (
        "import sys; from pathlib import Path; from railyard.provision.testbed.cluster import Testbed;"
        "bed = Testbed(Path(sys.argv[1])); print('go', flush=True);"
        "bed.bring_up(); bed.take_down() if len(sys.argv) > 2 else input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path), "down"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(after_s)
        running.send_signal(number)
    bed = Testbed(tmp_path)
    if bed.is_up():  # the signal came between up and down: it was rightly up
        assert bed.take_down()
    wait_for(lambda: not outermost_processes(bed.folder), "the end of all")
    assert bed.bring_up(), "an interrupted up left a state behind"
    assert bed.take_down()


def _bring_up(home: Path, spec: TestbedSpec, how: str) -> subprocess.Popen[str]:
    """Return a process that has brought a testbed up with these words and waits."""
    program = (
        "import sys; from pathlib import Path; from railyard.provision.testbed.cluster import Testbed;"
        "from railyard.provision.testbed.spec import Network, TestbedSpec;"
        f"bed = Testbed(Path({str(home)!r}), {spec!r}); {how}; print('up', flush=True); input()"
    )
    words = [sys.executable, "-c", program]
    running = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "up\n"
    return running


def test_what_a_command_brought_up_ends_with_it_whatever_ends_it(
    small: TestbedSpec, namespaces: None, tmp_path: Path
) -> None:
    with _bring_up(tmp_path, small, "bed.__enter__()") as running:
        bed = Testbed(tmp_path, small)
        subprocess.run([bed.enter, "beta", "--", "sh", "-c", "setsid sleep 983 >/dev/null 2>&1 &"], check=True)
        members = list(find_inside(bed.state().first).values())
        running.kill()
    wait_for(
        lambda: not outermost_processes(bed.folder) and not any(member.is_alive() for member in members), "the end"
    )
    assert not bed.is_up()


def test_what_is_to_last_outlives_the_command_that_brought_it_up(
    small: TestbedSpec, namespaces: None, tmp_path: Path
) -> None:
    with _bring_up(tmp_path, small, "bed.bring_up()") as running:
        running.kill()
    bed = Testbed(tmp_path, small)
    assert bed.exec("beta", ["hostname"]).stdout == "beta\n"
    assert bed.take_down()


def test_a_sweep_leaves_what_waits_for_our_end(bed: Testbed) -> None:
    bed.sweep()
    assert bed.is_up()
    assert len(outermost_processes(bed.folder)) == 3


def test_an_exception_in_the_block_takes_it_down(small: TestbedSpec, namespaces: None, tmp_path: Path) -> None:
    keeper: Process | None = None
    with pytest.raises(KeyboardInterrupt), Testbed(tmp_path, small) as bed:
        keeper = bed.state().keeper
        raise KeyboardInterrupt
    assert keeper is not None
    assert not keeper.is_alive()


def test_bridges_of_the_host_do_not_matter(namespaces: None, tmp_path: Path) -> None:
    # In the test's own network namespace, which has bridges with every name that the testbed uses inside.
    from railyard.provision.testbed.boot import outer_options

    program = (
        "from pathlib import Path; from railyard.provision.testbed.cluster import Testbed;"
        f"bed = Testbed(Path({str(tmp_path)!r}));"
        "print(bed.bring_up(), bed.exec('vn1', ['hostname']).stdout.strip(), bed.take_down())"
    )
    script = (
        "PATH=$PATH:/usr/sbin:/sbin; for name in br0 br1 br2 eth0 n1p0; do ip link add $name type bridge; done;"
        'exec "$@"'
    )
    done = subprocess.run(
        ["unshare", *outer_options(), "sh", "-ec", script, "sh", sys.executable, "-c", program],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("True vn1 True\n", "")


def test_no_permission_is_one_sentence(namespaces: None, tmp_path: Path) -> None:
    # The kernel itself refuses, as on a machine whose administrator forbids user namespaces.
    if os.geteuid() != 0:
        pytest.skip("only root can forbid user namespaces, in a namespace of its own")
    program = (
        "from railyard.provision.testbed.cluster import Testbed; from railyard.base.errors import SetupError\n"
        "from pathlib import Path\n"
        "try:\n"
        f"    Testbed(Path({str(tmp_path)!r})).bring_up()\n"
        "except SetupError as error:\n"
        "    print(error)\n"
    )
    script = 'echo 0 >/proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-sys_admin "$@"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-ec", script, "sh", sys.executable, "-c", program],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (
        "testbed: this machine does not permit namespaces (unshare: unshare failed: No space left on device): "
        "set user.max_user_namespaces to 10000 with sysctl, or run as root\n",
        "",
    )
