"""A site's own system file and ``--link`` judge an output by the same rules, where only the link's class bounds it."""

from dataclasses import replace

import pytest

from railyard.benchmarks.model import Figure
from railyard.parsers.detect import parse
from railyard.site.references.load import References
from railyard.site.site import Site, site_at
from railyard.site.systems.model import Fabric
from railyard.verdict.inputs import Target
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.stored_outputs.target import Nodes, of_link
from railyard.verdict.wording import stored_outputs, too_short
from railyard.verdict.wording import weak_figures as weak_words
from railyard.verdict.wording.reference import held_at_worst
from tests.conftest import ROOT
from tests.verdict.test_one_host import ib_write_bw, iperf3_client, osu_bw, osu_latency

BETWEEN = Nodes()
KINDS = {"ib": "ib", "eth": "tcp", "roce": "roce"}
ONE_NODE = Nodes(count=1, ranks_each=2)
_DEVICE = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"


@pytest.fixture(scope="module")
def site() -> Site:
    return site_at(ROOT, "csd3-2020")


SAME_HOST = stored_outputs.one_host("10.0.0.1", 0, "", "").partition(",")[0]


def holds_day_one(name: str) -> str:
    """Return how a sentence begins that a metric holds its day-one band."""
    return held_at_worst(name, ["day-one"], "", 1.0, "day-one", "").partition(",")[0]


def own_file(site: Site, link: str, rails: int = 1, device: str = "mlx5_") -> Target:
    """Return the target of a new system whose file names this link and so many rails, without any reference."""
    named = [{"device": f"{device}{number}", "counters": "none"} for number in range(rails)]
    fabric = {"description": "the network", "kind": KINDS[link.split("-")[0]], "link": link, "rails": named}
    update = {"fabrics": {"net": Fabric.model_validate(fabric)}, "report_only": "a new machine"}
    system = site.system.model_copy(update=update)
    own = replace(site, system=system, references=References(system))
    return of_system(own, "net", rails=rails, policy="striping" if rails > 1 else None)


def verdict(text: str, target: Target, nodes: Nodes = BETWEEN) -> Judgement:
    (found,) = judge(parse(text), target, nodes=nodes, text=text)
    return found


@pytest.mark.parametrize(
    ("text", "link", "rails", "nodes", "state", "said"),
    [
        (osu_latency(1.2, 11000), "ib-edr", 2, BETWEEN, "not-judged", weak_words.some_rails(1, 2)),
        (
            iperf3_client("10.0.0.1", "10.0.0.2").replace("69.85 GB", "10.94 GB").replace("60.00 G", "9.40 G"),
            *("eth-100", 1, BETWEEN, "not-judged", "is a rate of eth-10 "),
        ),
        (osu_bw(8, 2950), "eth-100", 1, BETWEEN, "not-judged", "is a rate of eth-25 "),
        (iperf3_client("10.0.0.1", "10.0.0.1"), "eth-100", 1, BETWEEN, "not-judged", SAME_HOST),
        (osu_latency(0.4, 9000), "ib-edr", 1, BETWEEN, "fail", too_short(Figure("latency", 0.4, "us", 0), 0.7)),
        (osu_latency(0.4, 500), "ib-edr", 1, ONE_NODE, "fail", "day-one band of the memory of one node"),
        (osu_latency(0.4, 9000), "ib-ndr", 1, ONE_NODE, "pass", holds_day_one("latency")),
        (osu_bw(0.2, 30000), "ib-edr", 1, ONE_NODE, "pass", holds_day_one("bandwidth")),
        (
            osu_bw(8, 1600).replace("v7.3\n", f"v7.3\n{_DEVICE}"),
            *("ib-hdr", 1, ONE_NODE, "not-judged", "GPUs of one node"),
        ),
        (
            ib_write_bw("0x01", "0x02").replace("mlx5_0", "rxe0"),
            *("ib-edr", 1, BETWEEN, "not-judged", stored_outputs.device("rxe0")),
        ),
        (
            ib_write_bw("0x01", "0x02").replace("mlx5_0", "hfi1_0"),
            *("ib-edr", 1, BETWEEN, "not-judged", stored_outputs.device("hfi1_0")),
        ),
    ],
)
def test_a_systems_file_judges_as_its_link_does(
    site: Site, text: str, link: str, rails: int, nodes: Nodes, state: str, said: str
) -> None:
    of_file, alone = verdict(text, own_file(site, link, rails), nodes), verdict(text, of_link(link, rails=rails), nodes)
    assert (of_file.state.replace("report-only", "pass"), alone.state) == (state, state)
    assert said in of_file.sentence and said in alone.sentence


def test_a_rail_in_software_that_the_file_names_is_judged(site: Site) -> None:
    text = ib_write_bw("0000", "0000", ("1:1", "1:2")).replace("mlx5_0", "rxe0")
    assert verdict(text, own_file(site, "roce-100", device="rxe")).state == "report-only"
    assert verdict(text, own_file(site, "roce-100")).state == "not-judged"


def test_a_run_within_one_node_is_not_compared_with_a_reference_between_nodes() -> None:
    system = site_at(ROOT, "dell-c6320")
    target = of_system(system, "edr", "hpcx")
    assert "edr-" in verdict(osu_latency(1.0, 11500), target).sentence
    within = verdict(osu_latency(0.3, 6000), target, ONE_NODE)
    assert within.state == "pass" and "edr-" not in within.sentence
