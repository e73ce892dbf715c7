"""The ranks of a run: which processors each is dealt, and a thousand of them at once."""

from pathlib import Path

import pytest

from railyard.provision.rehearsal import traffic
from railyard.provision.rehearsal.benchmark_request import parse_words
from railyard.provision.rehearsal.crew import Crew, Member, Moves, ports_of, processors
from railyard.provision.rehearsal.form import Rehearsal
from railyard.provision.rehearsal.traffic import Network
from railyard.site.site import Site

NODE = """\
verbs mlx5_0:1 yes 400 0-55,112-167
verbs mlx5_1:1 yes 400 56-111,168-223
net eth0 yes 1000 0-55,112-167
net/card ib0 yes 400000 0-55,112-167
processors 0-223
"""


def crew(site: Site, per_node: int, nodes: int = 2, **variables: str) -> Crew:
    names = [f"n{number}" for number in range(1, nodes + 1)]
    members = tuple(
        Member(number, node, local, frozenset(), {})
        for number, (node, local) in enumerate((node, local) for node in names for local in range(per_node))
    )
    ports = dict.fromkeys(names, ports_of(site, NODE))
    online = dict.fromkeys(names, processors("0-223"))
    rehearsal = Rehearsal("roomy", str(site.home), str(site.home), tuple(names))
    return Crew(site, rehearsal, "openmpi", members, ports, online, variables)


@pytest.mark.parametrize(
    ("variables", "taken"),
    [
        ({"SLURM_CPU_BIND_TYPE": "cores"}, ["mlx5_0:1", "mlx5_1:1"] * 2),
        ({"SLURM_CPU_BIND_TYPE": "cores", "SLURM_DISTRIBUTION": "block:block"}, ["mlx5_0:1"] * 2 + ["mlx5_1:1"] * 2),
        ({"SLURM_CPU_BIND_TYPE": "none"}, ["mlx5_0:1"] * 4),
        ({}, ["mlx5_0:1"] * 4),
    ],
)
def test_ranks_take_the_card_of_the_socket_that_srun_deals_them(
    roomy: Site, variables: dict[str, str], taken: list[str]
) -> None:
    found = crew(roomy, 4, 2, UCX_TLS="ib,sm,self", UCX_MAX_RNDV_RAILS="1", **variables)
    assert [one.ports[0].name for one in found.takes[:4]] == taken


def test_the_management_network_is_no_interface_of_a_card_with_verbs(roomy: Site) -> None:
    assert crew(roomy, 1).management("n1").name == "eth0"


@pytest.mark.parametrize(
    ("text", "found"), [("0-3,8", {0, 1, 2, 3, 8}), ("7", {7}), ("-", set()), ("0-", set()), ("a", set())]
)
def test_processors(text: str, found: set[int]) -> None:
    assert processors(text) == found


@pytest.mark.parametrize(
    ("tool", "program", "words", "key"),
    [
        ("osu", "osu_bw", "-m 1:64 -i 10 -x 1 -W 64 -d cuda D H", "osu/osu_bw/device-host"),
        ("osu", "osu_latency", "-m 1:64 -i 10 -x 1 -c -u 1 -d rocm D D", "osu/osu_latency/device"),
        ("osu", "osu_bw", "-m 1:64 -i 10 -x 1 -W 64", "osu/osu_bw"),
        ("perftest", "ib_write_bw", "-F -d mlx5_0 -a -n 10 --use_cuda=3", "perftest/ib_write_bw/device"),
    ],
)
def test_a_stand_in_is_told_where_its_buffers_lie(
    tool: str, program: str, words: str, key: str, tmp_path: Path
) -> None:
    assert parse_words(tool, program, words.split(), tmp_path).key == key


def test_a_thousand_ranks_are_thought_through_once_for_all_that_are_alike(roomy: Site, tmp_path: Path) -> None:
    found = crew(roomy, 112, 16, UCX_TLS="ib,sm,self", UCX_NET_DEVICES="mlx5_0:1,mlx5_1:1")
    network, moves = Network(found), Moves(roomy.system)
    want = parse_words("osu", "osu_mbw_mr", ["-m", "1:4194304", "-i", "10", "-x", "1", "-W", "64"], tmp_path)
    made = traffic.make_output(network, want, "made")
    traffic.move(network, want, moves)
    assert (made.ranks, len(moves.added)) == (1792, 16)
    sent = moves.added["n1"]["class/infiniband/mlx5_0/ports/1/counters/port_xmit_data"]
    assert sent == pytest.approx(moves.added["n9"]["class/infiniband/mlx5_0/ports/1/counters/port_rcv_data"], rel=1e-6)
    assert moves.lines("n1")[0].startswith("add class/")
