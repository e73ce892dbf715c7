"""What some of several rails can carry shows nothing about the others: not judged, or a remark in the pass."""

import pytest

from railyard.parsers.osu import parse
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import Nodes, of_link

SIZES = tuple(4 << n for n in range(19))
HDR_MB_S = 24_500.0


def collective(name: str, mib_crossing: float, mb_s: float, nodes: Nodes, rails: int = 2) -> Judgement:
    """Return what is said of an OSU collective over HDR whose 1 MiB brings so many MiB out of each node at a rate."""
    rows = "".join(f"{size:<10}{5.0 + mib_crossing * size / mb_s:>16.2f}\n" for size in SIZES)
    text = f"# OSU MPI {name} Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n{rows}"
    (found,) = judge(parse(text), of_link("ib-hdr", rails=rails), nodes=nodes)
    return found


@pytest.mark.parametrize(
    ("name", "mib_crossing", "nodes"),
    [
        ("All-to-All Personalized Exchange", 192, Nodes(count=4, ranks_each=8)),
        ("Broadcast", 1, Nodes(count=4, ranks_each=1)),
        ("Allgather", 31, Nodes(count=32, ranks_each=1)),
    ],
)
def test_a_collective_that_one_of_two_rails_can_carry_is_not_judged(
    name: str, mib_crossing: float, nodes: Nodes
) -> None:
    on_one = collective(name, mib_crossing, 0.9 * HDR_MB_S, nodes)
    assert on_one.sentence.startswith("not judged: one of the 2 rails can carry its")
    assert not any("would still pass" in remark for remark in on_one.remarks)
    assert collective(name, mib_crossing, 0.9 * HDR_MB_S, nodes, rails=1).state == "pass"
    assert collective(name, mib_crossing, 1.7 * HDR_MB_S, nodes).state == "pass"


def test_an_allreduce_whose_vectors_one_rail_can_carry_says_so_before_its_weak_bound() -> None:
    found = collective("Allreduce", 1.5, 0.9 * HDR_MB_S, Nodes(count=4, ranks_each=1))
    assert found.sentence.startswith("not judged: one of the 2 rails can carry its 76.33 us at 1 MiB")


def test_a_barrier_shows_nothing_of_the_second_rail() -> None:
    text = "# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n             7.31\n"
    states = [
        judge(parse(text), of_link("ib-hdr", rails=rails), nodes=Nodes(count=8, ranks_each=1))[0].state
        for rails in (1, 2)
    ]
    assert states == ["pass", "not-judged"]


def windows(name: str, mb_s: float, link: str, rails: int) -> Judgement:
    """Return what is said of windows of messages that end at this rate."""
    sizes = (*SIZES, 2 << 20, 4 << 20)
    rows = "".join(f"{size:<10}{mb_s * size / (size + 5000):>18.2f}\n" for size in sizes)
    text = f"# OSU MPI {name} Test v7.4\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n{rows}"
    (found,) = judge(parse(text), of_link(link, rails=rails))
    return found


@pytest.mark.parametrize(
    ("name", "mb_s", "link", "rails", "needed"),
    [
        ("Bandwidth", 7 * 48_700.0, "ib-ndr", 8, "7 of the 8"),
        ("Bandwidth", 3 * 11_900.0, "efa-100", 4, "3 of the 4"),
        ("Bi-Directional Bandwidth", 7 * 49_000.0, "ib-hdr", 8, "7 of the 8"),
        ("Bi-Directional Bandwidth", 25_700.0, "efa-100", 4, "2 of the 4"),
        ("Bandwidth", 14 * 48_700.0, "ib-ndr", 16, "14 of the 16"),
    ],
)
def test_windows_that_fewer_rails_can_carry_are_not_judged(
    name: str, mb_s: float, link: str, rails: int, needed: str
) -> None:
    assert windows(name, mb_s, link, rails).sentence.startswith(f"not judged: {needed} rails can carry its ")


@pytest.mark.parametrize(("rails", "share"), [(2, 0.93), (4, 0.93), (8, 0.93), (10, 0.93), (16, 0.97)])
def test_healthy_windows_of_all_rails_pass_without_a_remark(rails: int, share: float) -> None:
    found = windows("Bandwidth", rails * share * 49_685.0, "ib-ndr", rails)
    assert (found.state, [remark for remark in found.remarks if "idle" in remark]) == ("pass", [])


def test_a_pass_says_how_many_rails_could_be_idle() -> None:
    found = windows("Bandwidth", 15 * 48_700.0, "ib-ndr", 16)
    assert found.state == "pass"
    assert any("a run with one of the 16 rails idle would still pass" in remark for remark in found.remarks)
    exchange = collective("All-to-All Personalized Exchange", 192, 2.3 * HDR_MB_S, Nodes(count=4, ranks_each=8), 4)
    assert exchange.state == "pass"
    assert any("3 of the 4 rails can carry it: a run with one of the 4" in remark for remark in exchange.remarks)
