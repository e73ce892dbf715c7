"""The scripts of tools that need no MPI, really run on this host with fake programs and no virtual cluster."""

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from railyard.job.client_server import scripts
from tests.patience import PATIENCE_S, wait_for

#: Prints where it listens, serves one client, and prints that it did.
SERVER = """\
import socket, sys
listening = socket.create_server((sys.argv[1] if "." in sys.argv[1] else "127.0.0.1", int(sys.argv[2])))
client, _ = listening.accept()
client.sendall(b"hello of " + sys.argv[3].encode())
"""
CLIENT = """\
import socket, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
print("client", *sys.argv[1:], "got", server.recv(100).decode())
print("a warning", file=sys.stderr)
sys.exit(int(sys.argv[4]) if sys.argv[4:] else 0)
"""


def answers(port: int) -> bool:
    """Return whether any process accepts a connection at this port of this host."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S).close()
    except (ConnectionRefusedError, ConnectionResetError):  # reset: it ended just now
        return False
    return True


class Bench:
    """A folder with the scripts, two fake programs, and a synthetic /sys/class/net with lo as the only interface."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in scripts().items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "server.py").write_text(SERVER, encoding="utf-8")
        (folder / "client.py").write_text(CLIENT, encoding="utf-8")

    def start(self, rank: str | None, rails: str, server: Sequence[str], client: Sequence[str], how: str = "at-once",
              **env: str) -> subprocess.Popen[str]:  # fmt: skip
        words = ["sh", "pair.sh", "run", "pair", "tag", how, rails, "--", *server, "--", *client]
        ranked = {} if rank is None else {"SLURM_PROCID": rank}
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "PMI", "OMPI"))}
        return subprocess.Popen(
            words, cwd=self.folder, env={**clean, **ranked, **env}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def both(
        self, rails: str, server: Sequence[str], client: Sequence[str], how: str = "at-once", **env: str
    ) -> list[tuple[int, str, str]]:
        """Return exit code, output and errors of rank 0 (the client) and of rank 1."""
        started = [self.start(rank, rails, server, client, how, **env) for rank in ("0", "1")]
        ended = [(one.communicate(timeout=PATIENCE_S), one.returncode) for one in started]
        return [(code, out, err) for (out, err), code in ended]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def free_ports(count: int) -> list[int]:
    """Return free ports, from those that neither the kernel nor a plan of ours gives out."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(10_000, 20_000)
        if port not in found and not answers(port):
            found.append(port)
    return found


SERVE = (sys.executable, "server.py", "{local}", "{port}", "{card}.{card_port}")
ASK = (sys.executable, "client.py", "{server}", "{port}", "{device}")


def test_a_client_and_a_server_find_each_other_and_the_clients_output_stands_behind_its_rail(bench: Bench) -> None:
    (port,) = free_ports(1)
    node = socket.gethostname()
    client, server = bench.both(f"mlx5_0:2={port}", (*SERVE[:2], "127.0.0.1", *SERVE[3:]), ASK)
    assert client == (
        0,
        f"# railyard: rail mlx5_0:2\nclient {node} {port} mlx5_0:2 got hello of mlx5_0.2\na warning\n",
        "",
    )
    assert server == (0, "", "")


def test_a_network_interface_is_asked_for_its_address(bench: Bench) -> None:
    (port,) = free_ports(1)
    client, _ = bench.both(f"lo={port}", SERVE, ASK)
    assert client[:2] == (0, f"# railyard: rail lo\nclient 127.0.0.1 {port} lo got hello of lo.1\na warning\n")


def test_both_ends_of_a_rail_are_given_the_number_of_its_gpu(bench: Bench) -> None:
    one, two = free_ports(2)
    serve = (*SERVE[:2], "127.0.0.1", "{port}", "{card}.{gpu}")
    client, server = bench.both(f"mlx5_0:1={one}=5,mlx5_1:1={two}=12", serve, (*ASK[:-1], "gpu{gpu}"))
    node = socket.gethostname()
    assert client[:2] == (
        0,
        f"# railyard: rail mlx5_0:1\nclient {node} {one} gpu5 got hello of mlx5_0.5\na warning\n"
        f"# railyard: rail mlx5_1:1\nclient {node} {two} gpu12 got hello of mlx5_1.12\na warning\n",
    )
    assert server[0] == 0


@pytest.mark.parametrize("how", ["at-once", "in-turn"])
def test_there_is_a_pair_of_processes_for_each_rail(bench: Bench, how: str) -> None:
    one, two = free_ports(2)
    serve = (*SERVE[:2], "127.0.0.1", *SERVE[3:])
    client, server = bench.both(f"mlx5_0:1={one},mlx5_1:1={two}", serve, ASK, how)
    node = socket.gethostname()
    assert client[1] == (
        f"# railyard: rail mlx5_0:1\nclient {node} {one} mlx5_0:1 got hello of mlx5_0.1\na warning\n"
        f"# railyard: rail mlx5_1:1\nclient {node} {two} mlx5_1:1 got hello of mlx5_1.1\na warning\n"
    )
    assert (client[0], server[0]) == (0, 0)


def test_a_client_that_fails_gives_its_exit_code_and_its_output(bench: Bench) -> None:
    (port,) = free_ports(1)
    client, server = bench.both(f"lo={port}", SERVE, (*ASK, "7"))
    assert client == (
        7,
        f"# railyard: rail lo\nclient 127.0.0.1 {port} lo 7 got hello of lo.1\na warning\n",
        f"railyard: the client of rail lo on {socket.gethostname()} ended with 7\n",
    )
    assert server[0] == 0


def test_a_server_that_does_not_listen_ends_both_at_once(bench: Bench) -> None:
    (port,) = free_ports(1)
    client, server = bench.both(f"lo={port}", ("sh", "-c", "echo no such card >&2; exit 3"), ASK)
    assert server == (
        3,
        "",
        f"no such card\nrailyard: the server of rail lo on {socket.gethostname()} ended with 3 before it listened at "
        f"port {port}\n",
    )
    assert client == (1, "", "railyard: the other node has no server to ask: its own error says why\n")


@pytest.mark.fault("session", "another program's server at the port of a benchmark's", "listens at port")
def test_a_port_that_another_process_listens_at_is_not_taken_for_the_servers(bench: Bench, promise: str) -> None:
    (port,) = free_ports(1)
    with socket.create_server(("127.0.0.1", port)):
        client, server = bench.both(f"lo={port}", SERVE, ASK)
    assert (server[0], server[1]) == (1, "")
    assert server[2] == (
        f"railyard: a process on {socket.gethostname()} {promise} {port} already, the one for rail lo: run it again, "
        f"which takes other ports, or end that process\n"
    )
    assert client == (1, "", "railyard: the other node has no server to ask: its own error says why\n")


def test_a_server_that_goes_on_after_its_client_is_ended(bench: Bench) -> None:
    (port,) = free_ports(1)
    (bench.folder / "server.py").write_text(SERVER + "import time; time.sleep(6000)\n", encoding="utf-8")
    client, server = bench.both(f"lo={port}", SERVE, ASK, RAILYARD_PAIR_GRACE="0")
    assert (client[0], server[0], server[2]) == (0, 0, "")


def test_a_server_that_never_comes_is_not_waited_for_without_end(bench: Bench) -> None:
    client = bench.start("0", "lo=20001", SERVE, ASK, RAILYARD_PAIR_PATIENCE="1")
    out, err = client.communicate(timeout=PATIENCE_S)
    assert (client.returncode, out) == (1, "")
    assert err == "railyard: no server was ready within 1 s: the other node has not written pair/tag.servers\n"


def test_a_rail_without_an_address_is_named(bench: Bench) -> None:
    made = bench.folder / "sys" / "class" / "net" / "ib7"
    made.mkdir(parents=True)
    _, server = bench.both("ib7=20001", SERVE, ASK, RAILYARD_SYSFS=str(bench.folder / "sys"))
    assert server[0] == 1
    assert server[2].endswith(
        f"railyard: rail ib7 of {socket.gethostname()} has no IPv4 address: give it one, or leave the rail out\n"
    )


def test_a_process_that_nobody_gave_a_rank_says_so(bench: Bench) -> None:
    alone = bench.start(None, "lo=20001", SERVE, ASK)
    out, err = alone.communicate(timeout=PATIENCE_S)
    assert (alone.returncode, out) == (64, "")
    assert err == (
        "railyard: no launcher says which of the processes this is: found neither SLURM_PROCID nor PMI_RANK nor "
        "another\n"
    )


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PALS_RANKID"])
def test_below_an_mpirun_its_own_number_counts_and_not_slurms(bench: Bench, variable: str) -> None:
    """Slurm's rank is that of mpirun's process on the node: with Open MPI it is 0 on both nodes."""
    (port,) = free_ports(1)
    ends = [bench.start("0", f"lo={port}", SERVE, ASK, **{variable: rank}) for rank in ("0", "1")]
    (out, _), (nothing, _) = [end.communicate(timeout=PATIENCE_S) for end in ends]
    assert "# railyard: rail lo" in out and nothing == ""


def test_a_signal_ends_the_server_too(bench: Bench) -> None:
    (port,) = free_ports(1)
    server = bench.start("1", f"lo={port}", SERVE, ASK)
    ready = bench.folder / "pair" / "tag.servers"
    wait_for(ready.exists, "a server that listens")
    assert ready.read_text(encoding="utf-8") == "lo 127.0.0.1\n"
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=PATIENCE_S)
    assert server.returncode == 143
    # It got its signal; on a busy machine it may take a moment until it is gone.
    wait_for(lambda: not answers(port), "the end of the server")


@pytest.mark.parametrize("words", [[], ["run", "pair"], ["first", "pair", "tag", "2", "lo", "ssh", "--"], ["stop"]])
def test_a_wrong_call_is_one_sentence(bench: Bench, words: list[str]) -> None:
    done = subprocess.run(["sh", "pair.sh", *words], cwd=bench.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == (
        "railyard: pair.sh run FOLDER TAG HOW RAILS -- SERVER... -- CLIENT..., or first FOLDER TAG NODES DEVICE AGENT "
        "-- COMMAND...: not so called\n"
    )


# An application that starts its own processes: the first node's process becomes the application.


def nodes_of(bench: Bench, count: int, device: str, command: Sequence[str], alone: bool = False,
             **env: str) -> list[tuple[int, str, str]]:  # fmt: skip
    """Return exit code, output and errors of each of this many processes, or only of the first."""
    words = ["sh", "pair.sh", "first", "pair", "tag", str(count), device, "ssh", "--", *command]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "PMI", "OMPI"))}
    started = [
        subprocess.Popen(
            words, cwd=bench.folder, env={**clean, "SLURM_PROCID": str(rank), **env}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for rank in range(1 if alone else count)
    ]  # fmt: skip
    ended = [(one.communicate(timeout=PATIENCE_S), one.returncode) for one in started]
    return [(code, out, err) for (out, err), code in ended]


def test_the_first_becomes_the_application_and_is_told_all_nodes(bench: Bench) -> None:
    node = socket.gethostname()
    first, *others = nodes_of(bench, 3, "lo", ("echo", "{hosts}", "-a={addresses}", "{agent}", "a b"))
    assert first == (0, f"{node},{node},{node} -a=127.0.0.1,127.0.0.1,127.0.0.1 ssh a b\n", "")
    assert others == [(0, "", "")] * 2


def test_where_no_device_is_meant_addresses_are_names(bench: Bench) -> None:
    assert nodes_of(bench, 1, "-", ("echo", "{addresses}")) == [(0, f"{socket.gethostname()}\n", "")]


def test_the_applications_exit_code_is_that_of_the_first_and_ends_the_others(bench: Bench) -> None:
    first, other = nodes_of(bench, 2, "lo", ("sh", "-c", "echo said; exit 7"))
    said = f"railyard: the application on {socket.gethostname()}, the first of 2, ended with 7\n"
    assert (first, other) == ((7, "said\n", said), (0, "", ""))


def test_a_node_without_an_address_ends_all_before_the_application_begins(bench: Bench) -> None:
    made = bench.folder / "sys" / "class" / "net" / "ib7"
    made.mkdir(parents=True)
    (bench.folder / "pair").mkdir()
    (bench.folder / "pair" / "tag.failed").touch()
    (other,) = nodes_of(bench, 2, "ib7", ("echo", "begun"), alone=True, RAILYARD_SYSFS=str(bench.folder / "sys"))
    assert other[:2] == (1, "")
    assert f"rail ib7 of {socket.gethostname()} has no IPv4 address" in other[2]
    (first,) = nodes_of(bench, 2, "lo", ("echo", "begun"), alone=True)
    assert first == (1, "", "railyard: a node has no address to give: its own error says why\n")


def test_a_node_that_never_comes_is_not_waited_for_without_end(bench: Bench) -> None:
    (first,) = nodes_of(bench, 2, "lo", ("echo", "begun"), alone=True, RAILYARD_PAIR_PATIENCE="1")
    assert first[:2] == (1, "")
    assert first[2] == "railyard: not all of 2 nodes were ready within 1 s: there is no pair/tag.node-1\n"


# The virtual cluster's launcher: a fake `enter`, which runs its command on this host.

ENTER = '#!/bin/sh\nnode=$1\nshift 2\nexport MADE_NODE="$node"\nexec "$@"\n'


def run_start_script(bench: Bench, command: str, *nodes: str, **env: str) -> tuple[int, str, str]:
    enter = bench.folder / "enter"
    enter.write_text(ENTER, encoding="utf-8")
    enter.chmod(0o755)
    words = ["sh", "start.sh", str(enter), *(nodes or ("vn1", "vn2")), "--", "sh", "-c", command]
    done = subprocess.run(
        words,
        cwd=bench.folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_both_nodes_are_started_with_their_ranks(bench: Bench) -> None:
    code, out, err = run_start_script(bench, 'echo "$MADE_NODE is $RAILYARD_PAIR_RANK"')
    assert (code, sorted(out.splitlines()), err) == (0, ["vn1 is 0", "vn2 is 1"], "")
    code, out, err = run_start_script(bench, 'echo "$MADE_NODE is $RAILYARD_PAIR_RANK"', "vn1", "vn3", "vn2", "vn4")
    assert (code, sorted(out.splitlines()), err) == (0, ["vn1 is 0", "vn2 is 2", "vn3 is 1", "vn4 is 3"], "")


@pytest.mark.parametrize("words", [[], ["enter"], ["enter", "--", "true"], ["enter", "vn1"], ["enter", "vn1", "--"]])
def test_a_launcher_that_is_told_no_nodes_or_no_command_says_so(bench: Bench, words: list[str]) -> None:
    done = subprocess.run(["sh", "start.sh", *words], cwd=bench.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr == "railyard: start.sh ENTER NODE... -- COMMAND [ARGUMENT]...: not so called\n"


@pytest.mark.parametrize("rank", ["0", "1", "2"])
def test_the_first_that_fails_gives_the_exit_code_and_ends_the_others(bench: Bench, rank: str) -> None:
    command = f'[ "$RAILYARD_PAIR_RANK" = {rank} ] && exit 71; exec sleep 6000'
    code, _, _ = run_start_script(bench, command, "vn1", "vn2", "vn3", RAILYARD_PAIR_GRACE="0")
    assert code == 71


def test_a_command_that_takes_its_own_signal_keeps_its_exit_code(bench: Bench) -> None:
    code, _, _ = run_start_script(bench, "kill -KILL $$")
    assert code == 137
