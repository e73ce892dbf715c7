"""Runs of HPC Challenge and GPCNeT from recorded outputs: requirements, bounds of a link, and a site's references."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks.table.micro import find
from railyard.benchmarks.table.network import HPCC, NETWORK_LOAD_TEST, NETWORK_TEST
from railyard.parsers import PARSERS
from railyard.site.references.load import References
from railyard.site.references.model import Entry
from railyard.site.site import Site
from railyard.site.test_id import TestId
from railyard.verdict.assess import Assessment
from railyard.verdict.wording import NOT_PROVEN, program
from railyard.verdict.wording import run_rules as run_words
from railyard.verdict.wording.run_rules import first_failure, say_exited, say_reported, too_few_tables
from tests.made.judged_run import case_of, judge_output

RECORDINGS = Path(__file__).parents[2] / "recordings"
FILES = {
    HPCC: "hpcc1.5.0-openmpi4.1.4-veth.out",
    NETWORK_TEST: "gpcnet1.3-network_test-two-rails-openmpi4.1.4-veth.out",
    NETWORK_LOAD_TEST: "gpcnet1.3-network_load_test-openmpi4.1.4-shm.out",
}
TEN = tuple(f"n{number}" for number in range(10))
#: MB per node each way, slightly more than the rings alone: 792 MB for HPC Challenge, 2265 MB for GPCNeT.
MOVED = {HPCC: 860.0, NETWORK_TEST: 2300.0, NETWORK_LOAD_TEST: 50.0}
Run = Callable[..., Assessment]


def text_of(key: str) -> str:
    return (RECORDINGS / FILES[key]).read_text(encoding="utf-8")


@pytest.fixture
def ran(virtual: Site) -> Run:
    """Return a function that assesses a run: its benchmark, output, MB per node, ranks per node, site, exit code."""

    def run(
        key: str, output: str | None = None, mb: float | None = None, *, ranks_per_node: int = 1,
        site: Site = virtual, exit_code: int = 0,
    ) -> Assessment:  # fmt: skip
        nodes = TEN if key == NETWORK_LOAD_TEST else site.system.nodes.names
        rails = 2 if key == NETWORK_TEST else 1
        case = case_of(
            site, key, stack="openmpi", rails=rails, validates=key == HPCC,
            launch={"nodes": nodes, "ranks_per_node": ranks_per_node},
        )  # fmt: skip
        each = (MOVED[key] if mb is None else mb) / rails
        moved = dict.fromkeys(nodes, dict.fromkeys(case.launch.meant, (each, each)))
        text = text_of(key) if output is None else output
        return judge_output(case, text, PARSERS[key.partition("/")[0]], moved, exit_code=exit_code)

    return run


def verdict_summary(found: Assessment) -> tuple[str, int | None, str]:
    return found.verdict.state, found.verdict.rule, found.verdict.text


def with_reference(site: Site, **fields: Any) -> Site:
    """Return the site with one more entry."""
    source = {"document": "the site's own", "date": date(2026, 11, 22)}
    whole = {"id": "own", "fabric": "hsn", "kind": "contract", "source": source, **fields}
    return replace(site, references=References(site.system, (Entry.model_validate(whole),), "references/virtual.yaml"))


def test_the_recorded_run_of_hpcc_is_held_to_all_but_a_reference(ran: Run) -> None:
    found = ran(HPCC)
    assert verdict_summary(found)[:2] == ("report-only", None)
    assert [(figure.name, round(figure.value, 2), figure.unit) for figure in found.figures] == [
        ("natural_ring_bandwidth", 40.82, "MB/s"),
        ("random_ring_bandwidth", 36.55, "MB/s"),
        ("natural_ring_latency", 47.73, "us"),
        ("random_ring_latency", 47.78, "us"),
        ("pingpong_bandwidth_min", 47.76, "MB/s"),
        ("pingpong_bandwidth_avg", 48.19, "MB/s"),
        ("pingpong_bandwidth_max", 48.64, "MB/s"),
        ("pingpong_latency_min", 14.79, "us"),
        ("pingpong_latency_avg", 17.4, "us"),
        ("pingpong_latency_max", 19.64, "us"),
        # of the matrix of order 1984; the summary's own, 666 MB/s, is of one of 128
        ("transpose_rate", 146.0, "MB/s"),
    ]
    assert found.verdict.rules[0].sentence.endswith("1 complete table, validated by the benchmark itself")
    assert (found.path.state, found.path.expected_bytes) == ("proven", 4 * 2 * 792_000_000)
    assert found.version == "1.5.0"  # and not that of the HPL in it


def test_the_recorded_run_of_network_test_is_held_to_all_but_a_reference(ran: Run) -> None:
    found = ran(NETWORK_TEST)
    assert verdict_summary(found)[:2] == ("report-only", None)
    mib = 2**20 / 1e6
    assert [(figure.name, round(figure.value, 6), figure.unit) for figure in found.figures] == [
        ("random_ring_latency", 114.8, "us"),
        ("random_ring_latency_99", 1642.3, "us"),
        ("random_ring_bandwidth", round(40.3 * mib, 6), "MB/s"),
        ("random_ring_bandwidth_99", round(21.8 * mib, 6), "MB/s"),
        ("natural_ring_bandwidth", round(40.8 * mib, 6), "MB/s"),
        ("natural_ring_bandwidth_99", round(22.9 * mib, 6), "MB/s"),
        ("allreduce_latency", 279.6, "us"),
        ("allreduce_latency_99", 3768.2, "us"),
    ]
    assert found.path.expected_bytes == 4 * 2 * 4 * 16384 * 8 * 16 * 30 * 9


def test_the_impact_is_how_many_times_worse(ran: Run) -> None:
    found = ran(NETWORK_LOAD_TEST)
    assert verdict_summary(found)[0] == "report-only"
    assert (
        "the site decides how much congestion is too much, and no reference names a ceiling"
        in verdict_summary(found)[2]
    )
    assert [(figure.name, figure.value, figure.unit) for figure in found.figures] == [
        ("latency_impact", 2.1, "times"),
        ("latency_impact_99", 2.7, "times"),
        ("bandwidth_impact", 2.9, "times"),
        ("bandwidth_impact_99", 11.9, "times"),
        ("allreduce_impact", 2.4, "times"),
        ("allreduce_impact_99", 9.5, "times"),
    ]
    assert found.path.sentence.endswith(program.unknown_traffic("gpcnet/network_load_test"))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Success=1\n", "Success=0\n", run_words.wrong_data(True, first_failure(446, "", "Success=0", ""))),
        ("Success=1\n", "", run_words.not_validated()),
        (
            "0.21 PASSED    0.151  0.00",
            "0.21 FAILED    0.151 99.00",
            say_reported(1, first_failure(139, "", "WALL 1984 1984 32 32 2 2 0.21 FAILED 0.151 99.00", "")),
        ),
        (
            "End of Summary section.\n",
            "",
            say_reported(1, first_failure(440, "", "the section Summary has no end", "")),
        ),
        (
            "CommWorldProcs=4\n",
            "CommWorldProcs=1\n",
            say_reported(1, first_failure(440, "", program.other_ranks("hpcc/Summary", 1, 4), "")),
        ),
    ],
)  # fmt: skip
def test_what_hpcc_calls_wrong_or_leaves_out_fails_it(ran: Run, old: str, new: str, sentence: str) -> None:
    text = text_of(HPCC)
    assert old in text
    state, rule, found = verdict_summary(ran(HPCC, text.replace(old, new, 1)))
    assert (state, rule) == ("fail", 1)
    assert found.startswith(sentence)


def test_an_output_that_ends_in_its_rings_fails(ran: Run) -> None:
    text = text_of(HPCC)
    state, rule, found = verdict_summary(ran(HPCC, text[: text.index("Ring:\n")]))
    assert (state, rule) == ("fail", 1)
    assert found.startswith("the output itself reports 2 failures, ")


def test_a_refusal_for_too_few_nodes_is_quoted(ran: Run) -> None:
    refused = "ERROR: this application must be run on at least 10 nodes\n"
    assert verdict_summary(ran(NETWORK_LOAD_TEST, refused, exit_code=1)) == (
        "fail",
        1,
        say_exited(1, "") + ', line 1: "ERROR: this application must be run on at least 10 nodes"',
    )


def test_a_load_test_that_stopped_before_its_impact_fails(ran: Run) -> None:
    text = text_of(NETWORK_LOAD_TEST)
    state, rule, found = verdict_summary(ran(NETWORK_LOAD_TEST, text[: text.index("Key Results") - 80]))
    assert (state, rule) == ("fail", 1)
    assert found == too_few_tables(0, 1)


def changed_output(ring: str = "0.0408231", best: str = "0.0486427") -> str:
    """Return the recorded output with another bandwidth (GB/s) of the natural ring, and of the best pair."""
    text = text_of(HPCC)
    for name, old, new in (("NaturallyOrderedRing", "0.0408231", ring), ("MaxPingPong", "0.0486427", best)):
        assert f"{name}Bandwidth_GBytes={old}\n" in text
        text = text.replace(f"{name}Bandwidth_GBytes={old}\n", f"{name}Bandwidth_GBytes={new}\n")
    return text


def test_a_ring_beyond_the_rail_is_impossible_whatever_ranks_a_node_has(ran: Run) -> None:
    for ranks in (1, 2):
        found = ran(HPCC, changed_output(ring="0.060").replace("CommWorldProcs=4", f"CommWorldProcs={4 * ranks}"),
                    ranks_per_node=ranks)  # fmt: skip
        assert verdict_summary(found)[:2] == ("fail", 3)
        assert verdict_summary(found)[2].startswith(f"{IMPOSSIBLE}natural_ring_bandwidth 60.00 MB/s")


def test_a_pair_beyond_the_rail_may_share_a_node_where_there_are_several_ranks(ran: Run) -> None:
    text = changed_output(best="5.1")
    assert verdict_summary(ran(HPCC, text))[2].startswith(f"{IMPOSSIBLE}pingpong_bandwidth_max 5100 MB/s")
    both = ran(HPCC, text.replace("CommWorldProcs=4", "CommWorldProcs=8"), ranks_per_node=2)
    assert verdict_summary(both)[0] == "report-only"
    assert "pingpong_bandwidth_max" not in both.verdict.rules[2].sentence


def test_rings_that_no_rail_carried_are_missing(ran: Run) -> None:
    found = ran(HPCC, mb=400.0)
    assert verdict_summary(found)[:2] == ("fail", 4)
    assert found.path.sentence.startswith(f"{NOT_PROVEN}hsn0 of vn1 sent 400.0 MB of 792.0 MB")


def test_a_ceiling_of_the_impact_is_the_sites_to_set(ran: Run, virtual: Site) -> None:
    fields = {"benchmark": NETWORK_LOAD_TEST, "metric": "bandwidth_impact_99", "unit": "times"}
    assert verdict_summary(ran(NETWORK_LOAD_TEST, site=with_reference(virtual, **fields, ceiling=12.0)))[0] == "pass"
    state, rule, sentence = verdict_summary(ran(NETWORK_LOAD_TEST, site=with_reference(virtual, **fields, ceiling=3.0)))
    assert (state, rule) == ("fail", 5)
    assert sentence.startswith("bandwidth_impact_99 11.90 times is above 3.000 times (396.7 %), the bound of own")


def test_a_floor_of_a_ring_is_judged(ran: Run, virtual: Site) -> None:
    fields = {"benchmark": HPCC, "metric": "random_ring_bandwidth", "unit": "MB/s"}
    assert verdict_summary(ran(HPCC, site=with_reference(virtual, **fields, floor=36.0)))[0] == "pass"
    assert verdict_summary(ran(HPCC, site=with_reference(virtual, **fields, floor=38.0)))[:2] == ("fail", 5)


@pytest.mark.parametrize("entry", [find(key) for key in FILES], ids=lambda entry: entry.key)
def test_no_class_floor_of_a_link_and_no_other_metrics_name(entry: Any, virtual: Site) -> None:
    names = [metric.name for metric in entry.metrics]
    assert len(set(names)) == len(names)
    assert (entry.is_application, entry.of_link, find(entry.key)) == (True, False, entry)
    for metric in entry.metrics:
        test = TestId("hsn", "openmpi", 1, entry.key, policy="single")
        bands = virtual.references.bands(test, replace(metric, directions=1, shape="figure"), 48.0)
        assert bands == ()
