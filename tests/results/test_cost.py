"""Cost and performance of a fabric: prices in a system's file, the table, the best buy, and what is refused."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.results.record.form import CurveRecord, Record
from railyard.results.reference_sheet import cost_cells, cost_lines
from railyard.results.relations import best_for, costs_of_references, costs_of_run
from railyard.results.run_folder import CostRecord
from railyard.site.site import site_at
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from tests.made.records import made_record

ROOT = Path(__file__).resolve().parents[2]
SITE = """\
system: site
description: A cluster
nodes: {count: 16}
fabrics:
  edr: {description: EDR, kind: ib, link: ib-edr, rails: [{device: mlx5_0, counters: mlx5}]}
  eth: {description: Ethernet, kind: tcp, link: eth-1, rails: [{device: eth0, counters: netdev}]}
stacks:
  hpcx: {modules: [hpcx], benchmarks: {osu: /opt/osu}}
prices:
  - fabric: eth
    currency: EUR
    date: 2026-01-01
    parts: {nic: 40, switch_port: [50, 70]}
    source: offer
  - fabric: edr
    nodes: {to: 36}
    currency: EUR
    date: 2026-01-01
    parts: {nic: 500, switch_port: 300, cables: 100}
    source: offer
"""


def system_of(folder: Path, text: str = SITE) -> System:
    (folder / "systems").mkdir(exist_ok=True)
    path = folder / "systems" / "site.yaml"
    path.write_text(text, encoding="utf-8")
    return load_system(path)


def record(fabric: str, benchmark: str, metric: str, *values: float) -> Record:
    unit = "us" if metric == "latency" else "MB/s"
    curve = CurveRecord(metric, unit, tuple(1 << index for index in range(len(values))), values)
    case = f"{benchmark} on {fabric}"
    return made_record(case=case, system="site", fabric=fabric, stack="hpcx", benchmark=benchmark, curves=(curve,))


RUN = [
    record("edr", "osu/osu_bw", "bandwidth", 5.0, 12000.0),
    record("edr", "osu/osu_bibw", "bandwidth", 9.0, 24000.0),
    record("edr", "osu/osu_latency", "latency", 1.0, 2.0),
    record("edr", "osu/osu_allreduce", "latency", 0.5),
    record("eth", "osu/osu_bw", "bandwidth", 1.0, 100.0),
]


def test_a_run_is_set_beside_its_prices(tmp_path: Path) -> None:
    eth, edr = costs_of_run(system_of(tmp_path), RUN)
    assert (eth.fabric, eth.price_low, eth.price_high, eth.price, eth.bandwidth_mb_s) == ("eth", 90, 110, 100, 100)
    assert (eth.bandwidth_per_price, eth.latency_us, eth.latency_price) == (1000, None, None)
    # Only one-way bandwidth and half a round trip: neither osu_bibw nor an allreduce counts.
    assert (edr.price, edr.bandwidth_mb_s, edr.latency_us, edr.latency_price) == (900, 12000, 1.0, 0.9)
    assert (edr.currency, edr.date, edr.nodes_from, edr.nodes_to) == ("EUR", "2026-01-01", None, 36)
    assert cost_lines([eth, edr]) == (
        "What it costs\n"
        "fabric  stack  rails  nodes  price per node   MB/s  MB/s per 1000    us  us x 1000\n"
        "──────────────────────────────────────────────────────────────────────────────────\n"
        "eth     hpcx       1    any    90.0–110 EUR    100           1000     –          –\n"
        "edr     hpcx       1  to 36         900 EUR  12000          13333  1.00      0.900\n"
        "prices of 2026-01-01"
    )


def test_a_system_without_prices_costs_nothing_to_list(tmp_path: Path) -> None:
    bare = system_of(tmp_path, SITE[: SITE.index("prices:")])
    assert costs_of_run(bare, RUN) == ()


def cost(fabric: str, price: float, bandwidth: float | None, latency: float | None, **other: int) -> CostRecord:
    nodes = (other.get("first"), other.get("last"))
    return CostRecord(fabric, "any", 1, "EUR", "2026-01-01", price, price, "exact", *nodes, bandwidth, latency)


def test_only_what_nothing_as_cheap_beats_is_worth_its_money() -> None:
    cheap, dear, slow = cost("cheap", 100, 100, 30), cost("dear", 900, 900, 3), cost("slow", 200, 90, 40)
    small = cost("small", 50, 200, 1, last=8)
    assert best_for([cheap, dear, slow, small], 16) == (cheap, dear)
    assert best_for([cheap, dear, slow, small], 8) == (dear, small)
    assert best_for([cheap, cost("twin", 100, 100, 30)], 16) == (cheap, cost("twin", 100, 100, 30))
    # An unmeasured value is not an advantage.
    assert best_for([cheap, cost("unknown", 300, None, 30)], 16) == (cheap,)


def test_the_survey_says_which_network_for_how_many_nodes() -> None:
    costs = costs_of_references(site_at(ROOT, "survey-2004").references)
    assert len(costs) == 21
    assert [(best.fabric, best.stack) for best in best_for(costs, 1024)] == [
        ("infiniband", "mpich"),
        ("quadrics", "mpich"),
    ]
    by_fabric = {(each.fabric, each.stack, each.rails, each.nodes_to): each for each in costs}
    assert by_fabric["myrinet", "mpich", 2, 128].price == 1650
    assert by_fabric["quadrics", "mpich", 1, 1024].price == 4078
    assert by_fabric["infiniband", "mpich", 1, None].bandwidth_mb_s == pytest.approx(884.74)
    ranged = by_fabric["infiniband", "mvapich2", 1, None]
    assert (ranged.latency_us, ranged.latency_high_us, ranged.latency_price) == (6, 7, 6.5 * 1400 / 1000)
    assert cost_cells(ranged)[-2] == "6.00–7.00"
    assert by_fabric["gige", "tcp", 1, 480].price == 750
    # The survey prints no number of nodes for its low end, but gives the price for 64 to 128 ports.
    assert (by_fabric["gige", "tcp", 1, 63].price, by_fabric["gige", "tcp", 1, 63].bound) == (150, "at-least")
    assert by_fabric["gige", "tcp", 1, 128].nodes_from == 64
    assert by_fabric["tengige", "tcp", 1, 48].latency_us is None


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "    currency: EUR\n    date: 2026-01-01\n    parts: {nic: 40",
            "    date: 2026-01-01\n    parts: {nic: 40",
            'systems/site.yaml:10: prices[0].currency: found nothing, expected the field "currency"; add it',
        ),
        (
            "    date: 2026-01-01\n    parts: {nic: 40",
            "    parts: {nic: 40",
            'systems/site.yaml:10: prices[0].date: found nothing, expected the field "date"; add it',
        ),
        (
            "currency: EUR\n    date: 2026-01-01\n    parts: {nic: 40",
            "currency: euro\n    date: 2026-01-01\n    parts: {nic: 40",
            'systems/site.yaml:11: prices[0].currency: found "euro", '
            'expected a currency of three capitals, such as "USD"',
        ),
        (
            "date: 2026-01-01\n    parts: {nic: 40",
            "date: January\n    parts: {nic: 40",
            'systems/site.yaml:12: prices[0].date: found "January", expected a date, YYYY-MM-DD, without quotes',
        ),
        (
            "[50, 70]",
            "[70, 50]",
            "systems/site.yaml:13: prices[0].parts.switch_port: found 70 to 50, expected a range that rises",
        ),
        (
            "{nic: 40",
            "{nick: 40",
            'systems/site.yaml:13: prices[0].parts.nick: found "nick", expected a known value; did you mean "nic"?',
        ),
        (
            "  - fabric: eth\n",
            "  - fabric: etx\n",
            'systems/site.yaml:10: prices[0].fabric: found "etx", expected a fabric of site; did you mean "eth"?',
        ),
        (
            "nodes: {to: 36}",
            "nodes: {from: 40, to: 36}",
            "systems/site.yaml:16: prices[1].nodes.to: found 36, expected at least 40, where the range begins",
        ),
        (
            "    fabric: edr\n".replace("    ", "  - "),
            "  - fabric: [edr, eth]\n",
            "systems/site.yaml:15: prices[1]: found a second price of eth for the same numbers of nodes and rails, "
            "expected one price (line 10 has one already); separate them by nodes or rails",
        ),
    ],
)
def test_what_is_refused_and_how(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert old in SITE
    with pytest.raises(InputError) as caught:
        system_of(tmp_path, SITE.replace(old, new, 1))
    assert str(caught.value) == sentence
