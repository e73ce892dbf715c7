"""The published systems: their figures are those of their sources, and statements about curves are relations."""

import json
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.benchmarks.table.micro import metric
from railyard.cli.main import main
from railyard.results.reference_sheet import is_published, page
from railyard.site.references.amount import Tolerance
from railyard.site.references.load import References, references_of
from railyard.site.references.model import BAD_CASE, Entry, Fact
from railyard.site.site import site_at
from railyard.site.systems.load import load_systems
from railyard.site.test_id import TestId

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = load_systems(ROOT / "systems")
#: Found by what they are, not by name: a site's own files may be beside them.
PUBLISHED = [name for name, system in SYSTEMS.items() if is_published(references_of(ROOT / "references", system))]
NETPIPE_MBPS = 2**20 / 8 / 1e6


def references(name: str) -> References:
    return site_at(ROOT, name).references


def entry(name: str, entry_id: str) -> Entry:
    return next(each for each in references(name).entries if each.id == entry_id)


#: System, entry, message size (None: a single value), the source's figure in the entry's unit.
FIGURES: list[tuple[str, str, int | None, float]] = [
    ("connectx4-six", "edr-latency", 8, 0.892),
    ("connectx4-six", "edr-latency", 128, 1.344),
    ("connectx4-six", "edr-latency", 1024, 1.752),
    ("connectx4-six", "roce-latency", 64, 1.024),
    ("connectx4-six", "edr-bandwidth", 1 << 17, 11848),
    ("connectx4-six", "edr-bandwidth", 4 << 20, 12371),
    ("connectx4-six", "roce-bandwidth", 4 << 20, 12199),
    ("connectx4-six", "eth-latency-as-found", 8, 12.662),
    ("connectx4-six", "eth-bandwidth-as-found", 4 << 20, 235),
    ("connectx4-six", "eth-iperf", None, 63e9 / 8e6),
    ("connectx4-six", "edr-switched-latency", 8, 1.1),
    ("connectx4-six", "roce-switched-latency", 8, 1.4),
    ("dual-rail-qdr", "qdr-latency", None, 1.27),
    ("dual-rail-qdr", "fdr-latency", None, 1.67),
    ("topspin-2003", "ib-latency", None, 7),
    ("topspin-2003", "myrinet-latency", None, 11),
    ("topspin-2003", "newer-myrinet-sendrecv", 4 << 20, 489),
    ("topspin-2003", "newer-myrinet-bandwidth", 4 << 20, 250),
    ("survey-2004", "gige-latency", None, 31),
    ("survey-2004", "gige-jumbo-latency", None, 90),
    ("survey-2004", "gige-bandwidth", 4 << 20, 900 * NETPIPE_MBPS),
    ("survey-2004", "gige-jumbo-bandwidth", 4 << 20, 940 * NETPIPE_MBPS),
    ("survey-2004", "myrinet-bandwidth", 4 << 20, 1880 * NETPIPE_MBPS),
    ("survey-2004", "myrinet-two-ports-bandwidth", 4 << 20, 3750 * NETPIPE_MBPS),
    ("survey-2004", "myrinet-tcp-two-ports-bandwidth", 4 << 20, 3500 * NETPIPE_MBPS),
    ("survey-2004", "sci-bandwidth", 4 << 20, 1830 * NETPIPE_MBPS),
    ("survey-2004", "sci-latency", None, 4),
    ("survey-2004", "quadrics-bandwidth", 4 << 20, 6370 * NETPIPE_MBPS),
    ("survey-2004", "infiniband-bandwidth", 4 << 20, 6750 * NETPIPE_MBPS),
    ("survey-2004", "infiniband-mvich-bandwidth", 4 << 20, 5900 * NETPIPE_MBPS),
    ("survey-2004", "infiniband-third-bandwidth", 4 << 20, 5900 * NETPIPE_MBPS),
    ("survey-2004", "tengige-bandwidth", 4 << 20, 3700 * NETPIPE_MBPS),
    *(
        ("survey-2004", f"gamess-{row}-{processes}-{nodes}", None, seconds)
        for row, processes, times in (
            *(("gige", 1, (3062, 1852)), ("gige", 2, (1961, 1529))),
            *(("myrinet", 1, (3030, 1743)), ("myrinet", 2, (1984, 1559))),
            *(("myrinet-tcp", 1, (3059, 1801)), ("myrinet-tcp", 2, (1924, 1279))),
            *(("quadrics", 1, (3052, 1775)), ("quadrics", 2, (2593, 1427))),
            *(("infiniband", 1, (3006, 1727)), ("infiniband", 2, (2785, 1319))),
        )
        for nodes, seconds in zip((2, 4), times, strict=True)
    ),
    ("pcie-2004", "pcie-verbs-two-ports", 4 << 20, 1486),
    ("alaska-2020", "ib-intelmpi-hpl", None, 16090.9),
    ("eiger-2022", "latency", 8, 2.33),
    ("alps-2024", "bandwidth", 4 << 20, 24000),
    ("bullsequana-2021", "both-ways", 4 << 20, 24609.96),
    ("bullsequana-2021", "both-ways", 64 << 10, 22851.18),
    ("connectx6-two-ports", "two-ports", 4 << 20, 21307.34),
    ("connectx6-two-ports", "two-ports", 32 << 10, 16246.94),
    ("cisco-usnic", "eth10-latency", None, 2.13),
    ("cisco-usnic", "eth10-bandwidth", None, 1168 * 2**20 / 1e6),
    ("cisco-usnic", "eth10-both-ways", None, 2336 * 2**20 / 1e6),
    ("cisco-usnic", "eth40-latency", None, 1.93),
    ("cisco-usnic", "eth40-bandwidth", 4 << 20, 37.23e9 / 8e6),
]


#: System, entry, and both ends that the source prints.
RANGES = [
    ("survey-2004", "myrinet-latency", (6, 7)),
    ("survey-2004", "myrinet-tcp-latency", (27, 30)),
    ("survey-2004", "quadrics-latency", (2, 3)),
    ("survey-2004", "infiniband-latency", (6, 7)),
]


@pytest.mark.parametrize(("name", "entry_id", "ends"), RANGES)
def test_a_range_of_the_source_has_both_ends(name: str, entry_id: str, ends: tuple[float, float]) -> None:
    assert entry(name, entry_id).ends == ends


def test_every_range_is_held_against_its_source() -> None:
    found = {(name, each.id) for name in PUBLISHED for each in references(name).entries if each.ends is not None}
    assert found == {(name, entry_id) for name, entry_id, _ in RANGES}


def test_what_is_stated_as_a_range_has_both_ends() -> None:
    stated = {each.id: each for each in references("survey-2004").facts}
    assert stated["early-gige"].ends == (300, 500)
    assert stated["sci-nodes"].table == {2: (64, 100), 3: (640, 1000)}


def test_what_is_close_to_a_bound_of_the_hardware_is_not_that_bound() -> None:
    found = entry("topspin-2003", "ib-sendrecv")
    assert (found.kind, found.floor, found.curve, found.value) == ("class", 720, None, None)


@pytest.mark.parametrize(("name", "entry_id", "size", "figure"), FIGURES)
def test_each_figure_is_that_of_the_source(name: str, entry_id: str, size: int | None, figure: float) -> None:
    found = entry(name, entry_id)
    held = found.value if size is None else (found.curve or {})[size]
    assert held == pytest.approx(figure, abs=0.006)


def test_no_published_system_takes_a_host() -> None:
    assert {name for name, *_ in FIGURES} <= set(PUBLISHED)
    assert [name for name in PUBLISHED if SYSTEMS[name].hostnames] == []


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_entry_has_a_source_a_date_and_what_was_measured(name: str) -> None:
    for each in references(name).entries:
        assert each.kind in ("published", "reported", "class", BAD_CASE), each.id
        assert each.source.document and each.source.date.year >= 2003, each.id
        assert each.kind == "class" or each.source.hardware, each.id


def test_bios_settings_are_conditions_of_the_dell_system() -> None:
    conditions = entry("dell-c6320", "edr-bandwidth").source.conditions
    assert {"turbo", "c-states", "smt", "snoop-mode"} <= set(conditions)
    assert (conditions["turbo"], conditions["c-states"], conditions["smt"]) == ("enabled", "disabled", "disabled")


def test_native_ethernet_is_a_bad_case_that_nothing_is_judged_by() -> None:
    found = references("connectx4-six")
    assert [each.id for each in found.entries if each.kind == BAD_CASE] == [
        "eth-latency-as-found",
        "eth-bandwidth-as-found",
    ]
    test = TestId("eth", "openmpi", 1, "osu/osu_bw", policy="single")
    bands = found.bands(test, metric("osu/osu_bw", "bandwidth"), None)
    assert [band.entry_id for band in bands] == ["eth-bandwidth-by-the-text"]


def test_the_cable_and_the_switch_are_fabrics_of_their_own() -> None:
    found = references("connectx4-six")
    published = [each for each in found.entries if each.kind != "class"]
    assert {each.source.hops for each in published if each.fabric in ("edr", "roce", "eth")} == {0}
    assert {each.source.hops for each in published if each.fabric.endswith("-switched")} == {1}
    hops = {fact.id: (fact.value, fact.unit) for fact in found.facts if fact.id.endswith("-hop")}
    assert hops == {"edr-hop": (100, "ns"), "roce-hop": (300, "ns")}


def test_a_source_without_bandwidths_gets_no_absolute_one() -> None:
    absolute = [
        each.id
        for each in references("dual-rail-qdr").entries
        if each.metric == "bandwidth" and (each.curve or isinstance(each.value or each.floor, float))
    ]
    assert absolute == []


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("dell-c6320", ["edr-over-fdr", "edr-over-fdr-both-ways", "edr-quicker-above-512", "hpl-no-difference"]),
        (
            "connectx4-six",
            [
                *("edr-quicker-than-roce", "edr-faster-than-roce", "latency-alike", "bandwidth-alike"),
                *(
                    "edr-hop-latency",
                    "roce-hop-latency",
                    "roce-hop-longer",
                    "alltoall-by-switch",
                    "alltoallv-by-switch",
                ),
            ],
        ),
        (
            "dual-rail-qdr",
            [
                *("verbs-bandwidth", "verbs-latency", "mpi-latency-crossover", "mpi-bandwidth"),
                *(
                    "mpi-beyond-verbs",
                    "window-of-fdr",
                    "striping-beyond-fdr",
                    "striping-keeps-latency",
                    "striping-lowers-latency",
                ),
                *("striping-latency-no-worse", "lower-threshold-helps", "round-robin-beyond-fdr"),
                *("round-robin-costs-small-bandwidth", "round-robin-costs-latency"),
                *("round-robin-latency-below-fdr", "bidirectional-dip", "bidirectional-dip-eased"),
                *("bidirectional-maximum", "openmpi-more-variable"),
            ],
        ),
        (
            "topspin-2003",
            [
                *("infiniband-quicker", "infiniband-faster", "sendrecv-by-fabric"),
                *(f"milc-on-{nodes}-nodes" for nodes in (2, 4, 8, 16)),
            ],
        ),
        (
            "survey-2004",
            [
                *("quadrics-quickest", "infiniband-most", "mpi-makes-the-difference"),
                *("mpi-makes-the-difference-to-the-third", "myrinet-second-port"),
                "myrinet-mpi-quicker-than-tcp",
                *(f"quadrics-quicker-than-{n}" for n in ("sci", "infiniband", "mvich", "third", "gige", "jumbo")),
                "quadrics-quicker-than-myrinet-tcp",
                *("broadcom-near-10k", "alteon-peak", "sci-nearly-myrinet", "myrinet-tcp-nearly-mpi-one"),
                *("myrinet-tcp-nearly-mpi-two", "tengige-at-tcps-limit"),
                *("infiniband-infinicon-falls", "infiniband-mvich-falls", "infiniband-third-falls"),
                *("myrinet-peak", "quadrics-peak", "infiniband-peak", "sci-quicker-than-infiniband"),
                *("sci-ahead-of-gige", "gamess-2-gige-ahead-of-infiniband"),
                *(f"gamess-1-alike-{row}" for row in ("gige", "myrinet", "myrinet-tcp", "quadrics")),
                *(f"gamess-2-tcp-ahead-of-{row}" for row in ("gige", "myrinet", "quadrics", "infiniband")),
            ],
        ),
    ],
)
def test_what_sources_say_of_curves_are_relations(name: str, ids: list[str]) -> None:
    assert [relation.id for relation in references(name).relations] == ids


def test_each_time_of_gamess_is_an_entry_or_a_fact_and_how_far_they_lie_apart_is_theirs() -> None:
    found = references("survey-2004")
    times = {each.id: each.value for each in found.entries if each.benchmark[0].startswith("installed/")}
    facts = {fact.id: fact.value for fact in found.facts if fact.id.startswith("gamess-")}
    assert (len(times), sorted(value or 0 for value in facts.values())) == (
        20,
        [3277, 3477, 4868, 5026, 5651, 5743, 5823, 5843],
    )
    four = [value for name, value in times.items() if name.endswith("-1-4") and isinstance(value, float)]
    alike = [relation.within for relation in found.relations if relation.id.startswith("gamess-1-alike-")]
    (within,) = set(alike)
    assert within is not None and within - 0.001 < max(four) / min(four) - 1 < within


def test_what_the_newer_myrinet_did_is_reported_not_measured() -> None:
    kinds = {each.id: each.kind for each in references("topspin-2003").entries}
    assert [name for name, kind in kinds.items() if kind == "reported"] == [
        "newer-myrinet-sendrecv",
        "newer-myrinet-bandwidth",
    ]


def test_the_page_is_made_from_the_data() -> None:
    made = page(references_of(ROOT / "references", system) for system in SYSTEMS.values())
    written = (ROOT / "docs" / "reference" / "references.md").read_text(encoding="utf-8")
    assert written == made, "type railyard references --write"
    for figure in ("12400 at 4 MiB", "latency 1.27 us", "1200–1600 USD", "0.33 %", "time, no unit printed"):
        assert figure in made


def test_the_command_lists_entries_with_what_the_issue_asks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(ROOT))
    assert main(["references", "--system", "dell-c6320", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["format"], len(listed["entries"]), len(listed["relations"]), listed["costs"]) == (1, 15, 4, [])
    first = listed["entries"][0]
    assert {
        key: first[key] for key in ("system", "fabric", "stack", "rails", "benchmark", "metric", "unit", "kind")
    } == {
        "system": "dell-c6320",
        "fabric": "edr",
        "stack": "hpcx",
        "rails": 1,
        "benchmark": "osu/osu_bw",
        "metric": "bandwidth",
        "unit": "MB/s",
        "kind": "published",
    }
    assert (first["curve"], first["tolerance"]) == ({str(4 << 20): 12400}, {"low": 0.03})
    assert (first["source"]["at"], first["source"]["date"]) == ("figure 2", "2016-02-02")
    assert main(["references"]) == 0
    everything = capsys.readouterr().out
    assert " netpipe/pingpong latency 6 to 7 us up to 8 B, -10 %, +10 %\n" in everything
    assert "what early Gigabit Ethernet reached in PCs at best: 300 to 500 Mb/s\n" in everything
    assert "survey-2004: Two Dell 2650" in everything and "What it costs" in everything
    assert "  edr-bandwidth  edr, hpcx, 1 rail: osu/osu_bw bandwidth 12400 at 4 MiB MB/s, -3 %\n" in everything


def test_an_unknown_system_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(ROOT))
    assert main(["references", "--system", "dell-c6321"]) == 2
    assert capsys.readouterr().err == (
        'railyard: systems/: found no system "dell-c6321", expected a system of that name; did you mean "dell-c6320"?\n'
    )


def test_quadrics_costs_nearly_twice_what_its_dearest_competitor_costs() -> None:
    """For 64 nodes, with both prices printed: 2800 over 1200 to 1600 dollars; "nearly" is a quarter either way."""
    prices = {
        price.fabric[0]: price
        for price in site_at(ROOT, "survey-2004").system.prices
        if price.rails == 1 and price.nodes.covers(64)
    }
    middle = {name: (price.low + price.high) / 2 for name, price in prices.items()}
    dearest = max(middle[name] for name in ("gige", "myrinet", "sci", "infiniband"))
    (ratio,) = (fact.value for fact in references("survey-2004").facts if fact.id == "quadrics-price-ratio")
    assert dearest == middle["infiniband"]
    assert middle["quadrics"] / dearest == pytest.approx(ratio, rel=0.25)


def test_jumbo_frames_make_a_sixth_of_the_packets_as_was_measured_on_a_veth_pair() -> None:
    stated = next(fact.value for fact in references("survey-2004").facts if fact.id == "jumbo-factor")
    for name in ("jumbo-packets", "jumbo-softirqs"):
        counted = next(fact.table for fact in references("virtual").facts if fact.id == name)
        assert counted is not None
        small, jumbo = (value for _, value in sorted(counted.items()))
        assert isinstance(small, float | int) and isinstance(jumbo, float | int)
        assert small / jumbo == pytest.approx(stated, rel=0.05)


def survey(fact_id: str) -> Fact:
    return next(fact for fact in references("survey-2004").facts if fact.id == fact_id)


#: The most nodes that a fabric can have, according to the survey's words about its ports, switches or rings.
MOST_NODES = {
    "gige": "gige-ports",
    "gige-jumbo": "gige-ports",
    "myrinet": "myrinet-nodes",
    "quadrics": "quadrics-ports",
}


def test_no_price_is_for_more_nodes_than_the_ports_allow() -> None:
    torus = survey("sci-nodes").table
    assert torus is not None and isinstance(torus[2], tuple) and isinstance(torus[3], tuple)
    most = {name: survey(fact).value for name, fact in MOST_NODES.items()}
    most |= {"tengige": survey("tengige-ports").value}
    for price in site_at(ROOT, "survey-2004").system.prices:
        (name,), last = price.fabric, price.nodes.last
        if name == "sci":
            assert last == (torus[2][1] if price.parts["nic"][0] == 1095 else torus[3][1])
        elif name != "infiniband":  # the survey prints no number of ports for it
            assert last is not None and last <= (most[name] or 0)


@pytest.mark.parametrize("nodes", [16, 48, 64, 128, 480])
def test_gigabit_ethernet_is_the_cheapest_at_every_size_that_it_takes(nodes: int) -> None:
    prices = [one for one in site_at(ROOT, "survey-2004").system.prices if one.nodes.covers(nodes)]
    cheapest = min(prices, key=lambda one: one.high)
    assert cheapest.fabric == ("gige",)
    assert all(cheapest.high < one.low for one in prices if one.fabric[0] not in ("gige", "gige-jumbo"))


def test_with_two_compute_processes_on_one_node_gamess_is_quickest_with_the_software_of_myrinet() -> None:
    """ "By far" in the source, without a number: at least a quarter less than the time of any other."""
    alone = {name: survey(f"gamess-{name}-2-alone").value for name in ("myrinet", "myrinet-tcp", "gige", "infiniband")}
    times = {name: value for name, value in alone.items() if value is not None}
    assert min(times, key=lambda name: times[name]) == "myrinet"
    for name in ("gige", "infiniband"):
        assert max(times["myrinet"], times["myrinet-tcp"]) < 0.75 * times[name]


def test_the_maximum_that_the_study_claims_is_below_its_own_table() -> None:
    claimed = next(fact.value for fact in references("connectx4-six").facts if fact.id == "claimed-maximum")
    measured = (entry("connectx4-six", "edr-bandwidth").curve or {})[4 << 20]
    assert claimed == 97
    assert measured * 8e-3 == pytest.approx(98.97, abs=0.01)


def test_a_run_passes_with_either_unit_of_netpipe() -> None:
    """If the survey's Mbps were 10^6 bit/s, each bandwidth would be 4.6 % lower, and none would fail for that."""
    peaks = [each for each in references("survey-2004").entries if each.curve and each.metric == "bandwidth"]
    assert len(peaks) == 13
    for each in peaks:
        ((_, value),) = (each.curve or {}).items()
        assert isinstance(each.tolerance, Tolerance) and each.tolerance.low is not None
        assert (1 - each.tolerance.low) * value < value / NETPIPE_MBPS / 8 < value


def test_each_peak_of_netpipe_is_below_what_its_link_carries() -> None:
    """With 2^20 bit/s per Mbps too: Gigabit Ethernet by its MTU, Myrinet by its data rate."""
    frame_overhead = 38 + 40  # preamble, header, checksum and gap; IP and TCP without options
    for name, mtu in (("gige-bandwidth", 1500), ("gige-jumbo-bandwidth", 9000)):
        found = (entry("survey-2004", name).curve or {})[4 << 20]
        assert 0.98 < found / (125 * (mtu - 40) / (mtu + frame_overhead - 40)) < 1
    assert 0.98 < (entry("survey-2004", "myrinet-bandwidth").curve or {})[4 << 20] / 250 < 1


def test_the_sign_of_life_of_hpl_is_a_quarter_of_what_the_cores_can_compute() -> None:
    facts = {fact.id: fact.value for fact in references("dell-c6320").facts}
    peak_gflop_s = 80 * (facts["second-clock"] or 0) * 16
    for name in ("edr-hpl-runs", "fdr-hpl-runs"):
        assert entry("dell-c6320", name).floor == pytest.approx(peak_gflop_s / 4)


def test_very_close_is_closer_than_close() -> None:
    """Holmgren has "close to" of 800 MB/s and "very close to" of 250: a tenth below, and half of that."""
    close, very_close = entry("topspin-2003", "ib-ping-pong"), entry("topspin-2003", "newer-myrinet-bandwidth")
    assert close.floor == pytest.approx(0.9 * 800)
    assert very_close.tolerance == Tolerance(low=0.05)
