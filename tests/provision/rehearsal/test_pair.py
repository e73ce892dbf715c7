"""A client and a server of a rehearsal, through the real pair.sh and reader: what they print and what they move."""

from pathlib import Path

import pytest

from railyard.job.client_server import ClientAndServer, scripts
from railyard.parsers import perftest, rail_parts
from railyard.parsers.output import ParsedOutput
from railyard.provision.rehearsal.benchmark_request import parse_words
from railyard.provision.rehearsal.form import Fault
from tests.made.sysfs import Tree, write
from tests.provision.rehearsal.conftest import Bed, Ran

#: A server is asked by its node's name: this one is found without a name service.
NODES = ("n9", "127.0.0.1")


@pytest.fixture
def pair(bed: Bed) -> Bed:
    """Two nodes of which the second is reached by its name, with the kernel's own list of sockets."""
    tree = bed.trees[NODES[1]] = Tree.empty_node(bed.root / "nodes" / NODES[1], NODES[1])
    for card in ("mlx5_0", "mlx5_1"):
        write(tree.port(card, counters={"port_xmit_data": 5, "port_rcv_data": 7}), {"rate": "400 Gb/sec (4X NDR)"})
    tree.interface("eth0", "eth-card")
    for node in NODES:
        (bed.trees[node].root / "proc/net").symlink_to("/proc/net")
    bed.plant()
    return bed


def run(bed: Bed, program: str, *words: str, rails: int = 2, in_turn: bool = False) -> Ran:
    command = ClientAndServer("perftest", "ib", in_turn)
    return bed.run(
        "verbs", "perftest", program, words, nodes=NODES, rails=rails, command=command, files=scripts()
    )  # fmt: skip


def test_an_option_with_its_own_value_leaves_the_server_to_the_client() -> None:
    """RoCE's traffic class: a client that took the server for its value would wait as a server does."""
    found = parse_words("perftest", "ib_write_bw", ["-d", "mlx5_0", "-x", "3", "--tclass=106", "n2"], Path())
    assert (found.words["--tclass"], found.words[""]) == ("106", "n2")


def test_a_stream_over_two_rails_is_summed_and_its_path_is_proven(pair: Bed) -> None:
    ran = run(pair, "ib_write_bw", "-a", "-n", "50")
    found = ran.assess_run("perftest/ib_write_bw", perftest_of_rails, pairs=2)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text
    assert max(found.curves[0].values) == pytest.approx(2 * 0.97 * 50000 * 4096 / 4122, rel=0.03)


def test_a_slow_rail_and_both_ways(pair: Bed) -> None:
    pair.plant(Fault("slow", "slow", NODES[1], "mlx5_0:1", share=0.25))
    ran = run(pair, "ib_write_bw", "-s", "8388608", "-n", "50", "-b", rails=1)
    found = ran.assess_run("perftest/ib_write_bw/bidirectional", perftest_of_rails)
    assert (found.verdict.state, found.verdict.rule, found.path.state) == ("fail", 5, "proven"), found.verdict.text


def test_a_card_that_is_not_there_ends_the_server_with_its_own_words(pair: Bed) -> None:
    program = Path(pair.program("verbs", "perftest", "ib_write_bw"))
    text = program.read_text()
    program.write_text(text.replace('"$@"', '-d mlx5_7 "$@" -d mlx5_7'))
    ran = run(pair, "ib_write_bw", "-s", "65536", "-n", "50", rails=1)
    assert ran.exit_code != 0 and "Unable to find the Infiniband/RoCE device mlx5_7" in ran.stderr


def perftest_of_rails(text: str) -> ParsedOutput:
    return rail_parts.parse(text, perftest.parse)
