"""The words of a client and a server, for each tool on each kind of fabric, and what starts them."""

import re
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.job import client_server
from railyard.job.client_server import BLANKS, both_ends
from railyard.stacks import model

#: tool, kind, the server's words, the client's.
WORDS = [
    ("iperf3", "tcp", "x -s -1 -B {local} -p {port}", "x -c {server} -B {local} -p {port} -a 1"),
    ("netpipe", "tcp", "x -P {port} -a 1", "x -h {server} -P {port} -a 1"),
    (
        *("perftest", "ib", "x -F -d {card} -i {card_port} -p {port} -a 1"),
        "x -F -d {card} -i {card_port} -p {port} -a 1 {server}",
    ),
    (
        *("cxi", "slingshot", "x -d {device} -p {port}"),
        "x -d {device} -p {port} -a 1 {server}",
    ),
    (
        *("fabtests", "tcp", "env FI_TCP_IFACE={device} x -p tcp -e msg -B {port} -a 1"),
        "env FI_TCP_IFACE={device} x -p tcp -e msg -P {port} -a 1 {server}",
    ),
    (
        *("fabtests", "slingshot", "x -p cxi -e rdm -d {device} -B {port} -a 1"),
        "x -p cxi -e rdm -d {device} -P {port} -a 1 {server}",
    ),
    (
        *("fabtests", "efa", "x -p efa -e rdm -d {device}-rdm -B {port} -a 1"),
        "x -p efa -e rdm -d {device}-rdm -P {port} -a 1 {server}",
    ),
]


def test_a_program_of_a_tool_may_have_words_of_its_own() -> None:
    server, client = both_ends("fabtests", "slingshot", "/opt/fabtests/bin/fi_rdm_tagged_bw", ("-S", "all"))
    assert " ".join(server) == "/opt/fabtests/bin/fi_rdm_tagged_bw -p cxi -d {device} -B 10 -E={port} -S all"
    assert client == (*server, "{server}")
    server, client = both_ends("fabtests", "efa", "fi_rdm_tagged_bw", ())
    assert " ".join(client) == "fi_rdm_tagged_bw -p efa -d {device}-rdm -E={port} {server}"
    assert both_ends("fabtests", "efa", "/opt/fi_pingpong", ())[0][:3] == ("/opt/fi_pingpong", "-p", "efa")


@pytest.mark.parametrize(("tool", "kind", "server", "client"), WORDS)
def test_both_ends_are_told_so(tool: str, kind: str, server: str, client: str) -> None:
    found = both_ends(tool, kind, "x", ("-a", "1"))
    assert tuple(" ".join(words) for words in found) == (server, client)


def test_every_way_of_a_stack_without_mpi_has_words_for_each_of_its_tools() -> None:
    known = {
        (tool, kind) for stack in model.STACKS.values() if stack.pair for tool in stack.tools for kind in stack.ways
    }
    for tool, kind in known:
        runs = any(tool in stack.tools and not isinstance(stack.ways[kind], str) for stack in model.STACKS.values())
        if runs:
            words = " ".join(word for end in both_ends(tool, kind, "x", ()) for word in end)
            assert set(re.findall(r"\{([a-z_]+)\}", words)) <= set(BLANKS)
        else:
            with pytest.raises(RailyardError, match=f"^{tool} on {kind}: found no words for its client and server"):
                both_ends(tool, kind, "x", ())


def test_a_run_names_each_rail_with_a_port_of_its_own() -> None:
    found = client_server.run_words("netpipe", "tcp", ("hsn0", "hsn1"), "/usr/bin/NPtcp", ("-l", "1"), tag="made-1")
    port = client_server.first_port("made-1")
    assert found == [
        *("sh", "pair.sh", "run", "pair", "made-1", "at-once", f"hsn0={port},hsn1={port + 1}", "--"),
        *("/usr/bin/NPtcp", "-P", "{port}", "-l", "1", "--"),
        *("/usr/bin/NPtcp", "-h", "{server}", "-P", "{port}", "-l", "1"),
    ]
    assert client_server.run_words("netpipe", "tcp", ("hsn0",), "x", (), tag="made-1", in_turn=True)[5] == "in-turn"


def test_a_rail_is_given_the_number_of_its_gpu() -> None:
    words = ("--use_cuda={gpu}",)
    found = client_server.run_words("perftest", "ib", {"a:1": 3, "b:1": 0}, "/bin/x", words, tag="made-1")
    port = client_server.first_port("made-1")
    assert found[6] == f"a:1={port}=3,b:1={port + 1}=0"
    assert found.count("--use_cuda={gpu}") == 2


def test_ports_are_a_runs_own_and_below_those_of_clients() -> None:
    ports = {client_server.first_port(f"tag-{number}") for number in range(500)}
    assert min(ports) >= 20000
    assert max(ports) + 15 < 30000
    assert len(ports) > 250
    assert all(port % 16 == 0 for port in ports)


def test_in_the_virtual_cluster_a_script_starts_a_process_for_each_rank() -> None:
    assert client_server.start_words(Path("/site"), ("vn1", "vn2"), 1) == (
        *("start.sh", "/site/.railyard/testbed/enter", "vn1", "vn2", "--"),
    )
    assert client_server.start_words(Path("/site"), ("vn3", "vn4"), 2)[2:-1] == ("vn3", "vn3", "vn4", "vn4")


def test_an_application_is_told_one_device_or_none() -> None:
    told = client_server.first_words(4, ("hsn0",), "ssh", "/opt/app", ("-h", "{addresses}"), tag="made-1")
    assert told == [
        *("sh", "pair.sh", "first", "pair", "made-1", "4", "hsn0", "ssh", "--", "/opt/app", "-h", "{addresses}")
    ]
    assert client_server.first_words(1, (), "ssh", "/opt/app", (), tag="made-1")[6] == "-"
    with pytest.raises(RailyardError) as raised:
        client_server.first_words(4, ("hsn0", "hsn1"), "ssh", "/opt/app", (), tag="made-1")
    assert str(raised.value) == (
        "/opt/app: found 2 rails (hsn0, hsn1), expected one: an application that starts its own processes is given "
        "one address per node"
    )
