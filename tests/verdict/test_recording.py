"""The record of an assessment: it has all that was judged, and is the same after storing."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from railyard.results.record.file import FILE_NAME, append_record, read_records
from railyard.results.record.form import NodeTraffic, RailTraffic, Record, Suspect
from railyard.site.references.band import Band
from railyard.site.site import site_at
from railyard.site.test_id import of_name
from railyard.verdict.assess import Assessment, record_of, untested_record, verdict_record
from railyard.verdict.verdict import not_tested
from railyard.verdict.wording import path as path_words
from railyard.verdict.wording.path import idle_part
from tests.conftest import ROOT
from tests.made.words import idle_second

Assess = Callable[..., Assessment]
M = 1 << 20
IDLE = {"hsn0": (190, 2), "hsn1": (0.1, 0.1), "eth0": (0.1, 0.1)}
STAMP: dict[str, Any] = {
    "run": "20261121T060000Z-ab12",
    "time": "2026-11-21T06:00:12Z",
    "elapsed_s": 5.1,
    "environment": {"reframe": "4.10.4", "mpi": "MPICH 5.0.2"},
}


def stamped_record(found: Assessment) -> Record:
    return record_of(found, **STAMP, command=("mpirun", "-n", "2", "IMB-MPI1"), output="outputs/x.out")


def test_a_record_says_what_ran_where_and_how_it_ended(assess_cell: Assess) -> None:
    record = stamped_record(assess_cell(rails=2))
    assert (record.test.case, record.test.hash, record.test.check) == (
        "ImbUniband %rails=2 @virtual:hsn+mpich",
        "1a2b3c4d",
        "ImbUniband",
    )
    assert (record.where.system, record.where.fabric, record.test.stack, record.test.rails) == (
        "virtual",
        "hsn",
        "mpich",
        2,
    )
    assert (record.test.benchmark, record.test.policy, record.where.nodes) == (
        "imb/Uniband",
        "striping",
        ("vn1", "vn2"),
    )
    assert (record.found.state, record.found.references) == ("pass", ("two-rails-striped",))
    assert (record.made.run, record.made.time, record.made.elapsed_s) == (
        "20261121T060000Z-ab12",
        "2026-11-21T06:00:12Z",
        5.1,
    )
    assert (record.how.command, record.made.output) == (("mpirun", "-n", "2", "IMB-MPI1"), "outputs/x.out")
    assert record.how.environment == {"reframe": "4.10.4", "mpi": "MPICH 5.0.2"}


def test_a_record_has_the_version_that_the_benchmark_prints_and_none_where_it_prints_none(assess_cell: Assess) -> None:
    assert stamped_record(assess_cell()).test.benchmark_version == "2021.11"
    assert stamped_record(assess_cell(output="")).test.benchmark_version is None


def test_curves_have_limit_bands_and_ratios_as_judged_and_unrounded(assess_cell: Assess) -> None:
    bandwidth, rate = stamped_record(assess_cell(rates={262144: 47.8, M: 48.0, 4 * M: 47.47})).found.curves
    assert (bandwidth.metric, bandwidth.unit, bandwidth.directions) == ("bandwidth", "MB/s", 1)
    assert (bandwidth.sizes, bandwidth.values) == ((262144, M, 4 * M), (47.8, 48.0, 47.47))
    assert bandwidth.limit is not None
    assert bandwidth.limit.value == 50.0 * 1460 / 1514
    assert (
        bandwidth.limit.terms
        == "shaped-400 50.0 MB/s x 1460/1514 payload (tcp-shaped, MTU 1500) = 48.2 MB/s, from 4 MiB"
    )
    (band,) = bandwidth.bands
    assert (band.id, band.kind, band.sizes) == ("one-rail", "class", (262144, M, 4 * M))
    assert (band.low, band.high) == ((None, 47.0, 47.0), (None, None, None))
    assert bandwidth.percent_of_reference == pytest.approx(100 * 47.47 / 47.0)
    assert bandwidth.percent_of_reference_size == 4 * M
    assert bandwidth.percent_of_limit == pytest.approx(100 * 47.47 / (50.0 * 1460 / 1514))
    assert (rate.metric, rate.limit, rate.bands, rate.percent_of_reference) == ("message_rate", None, (), None)


def test_a_floor_that_the_best_size_must_hold_stands_at_that_size_alone(assess_cell: Assess) -> None:
    found = assess_cell(rates={262144: 47.8, M: 47.2, 4 * M: 47.6})
    first, *others = found.inputs.metrics
    best = replace(first, bands=tuple(replace(cast(Band, band), best_of_sizes=True) for band in first.bands))
    (band,) = (
        stamped_record(replace(found, inputs=replace(found.inputs, metrics=(best, *others)))).found.curves[0].bands
    )
    assert band.sizes == (262144, M, 4 * M)
    assert band.low == (None, None, 47.0)


def test_both_directions_are_said(assess_cell: Assess) -> None:
    curve = stamped_record(assess_cell(rails=2, benchmark="imb/Biband")).found.curves[0]
    assert curve.limit is not None
    assert curve.directions == 2
    assert curve.limit.value == pytest.approx(4 * 50 * 1460 / 1514)


def test_figures_are_the_key_figures_with_their_sizes(assess_cell: Assess) -> None:
    figures = [
        (f.name, f.value, f.unit, f.size)
        for f in stamped_record(assess_cell(rates={M: 47.5, 4 * M: 47.6})).found.figures
    ]
    assert figures[0] == ("peak", 47.6, "MB/s", 4 * M)
    assert [name for name, *_ in figures] == ["peak", "n_half", "message_rate"]


def test_the_path_proof_has_every_device_of_every_node(assess_cell: Assess) -> None:
    proof = stamped_record(assess_cell(rails=2)).how.path_proof
    assert proof is not None
    assert (proof.state, proof.expected_bytes) == ("proven", 2 * 2 * 16 * sum(4**n for n in range(12)))
    assert [node.node for node in proof.nodes] == ["vn1", "vn2"]
    assert proof.nodes[0] == NodeTraffic(
        "vn1",
        (
            RailTraffic("hsn0", True, 95_000_000, 2_000_000, 0.5),
            RailTraffic("hsn1", True, 95_000_000, 2_000_000, 0.5),
            RailTraffic("eth0", False, 100_000, 100_000, None),
        ),
    )


def test_the_path_proof_has_the_clock_at_the_end_of_the_run(
    assess_cell: Assess, counters_text: Callable[..., str]
) -> None:
    first = counters_text("vn1", {"hsn0": (190.0, 2.0)}).replace("end 0", "after - clock_khz 2400000\nend 0")
    second = counters_text("vn2", {"hsn0": (2.0, 190.0)})
    proof = stamped_record(assess_cell(counters=(first, second))).how.path_proof
    assert proof is not None
    assert [(each.node, each.clock_khz) for each in proof.nodes] == [("vn1", 2400000), ("vn2", None)]


def test_a_failure_has_rule_class_suspects_and_next_look_apart(assess_cell: Assess) -> None:
    verdict = stamped_record(assess_cell(rails=2, moved={"vn1": IDLE, "vn2": {**IDLE, "hsn0": (2, 190)}})).found.verdict
    assert verdict.sentence == (idle_second(idle_part("hsn1", "vn1", "sent", 100_000, 190_100_000)))
    assert (verdict.rule, verdict.class_) == (4, "set-up")
    assert verdict.suspects == (Suspect("stack", path_words.idled_on_all(["hsn1"], ["vn1", "vn2"]), None, None),)
    assert verdict.next == path_words.look_at_settings(["hsn1"], "vn1")
    assert [(rule.rule, rule.name, rule.state) for rule in verdict.rules] == [
        (1, "complete", "pass"),
        (2, "metrics", "pass"),
        (3, "possible", "pass"),
        (4, "path", "fail"),
        (5, "reference", "pass"),
    ]


CASES: list[tuple[str, dict[str, Any]]] = [
    ("healthy", {}),
    ("two rails both ways", {"rails": 2, "benchmark": "imb/Biband"}),
    ("collective", {"rails": 2, "benchmark": "imb/Allreduce"}),
    ("no output", {"output": ""}),
    ("no counters", {"counters": ()}),
    ("crashed", {"exit_code": 139}),
    ("control codes", {"exit_code": 1, "output": "\x1b[31mFatal error in MPI_Init\x00\u2028\n"}),
    ("idle rail", {"rails": 2, "moved": {"vn1": IDLE, "vn2": {**IDLE, "hsn0": (2, 190)}}}),
    ("impossible", {"rates": {M: 47.5, 4 * M: 52.0}}),
    ("slow", {"rates": {M: 4.75, 4 * M: 4.76}}),
]


@pytest.mark.parametrize("changes", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_a_record_is_the_same_after_it_was_stored(assess_cell: Assess, tmp_path: Path, changes: dict[str, Any]) -> None:
    record = stamped_record(assess_cell(**changes))
    append_record(tmp_path / FILE_NAME, record)
    read = read_records(tmp_path / FILE_NAME)
    assert (read.records, read.problems) == ((record,), ())
    assert json.loads(json.dumps(record.to_json(), allow_nan=False)) == record.to_json()


def test_a_run_without_a_table_has_no_curves_and_no_figures(assess_cell: Assess) -> None:
    record = stamped_record(assess_cell(output="", counters=()))
    assert (record.found.curves, record.found.figures, record.found.state) == ((), (), "fail")
    assert record.how.path_proof is not None and record.how.path_proof.nodes == ()


def test_a_record_of_a_single_host_is_not_tested_and_keeps_its_curves(assess_cell: Assess) -> None:
    local = site_at(ROOT, "local")
    record = stamped_record(assess_cell("loopback", site=local, rates={M: 9000.0, 4 * M: 11_000.0}, counters=()))
    assert (record.found.state, record.where.system, record.found.verdict.rule) == ("not-tested", "local", None)
    assert record.found.curves[0].values == (9000.0, 11_000.0)
    assert record.how.path_proof is not None
    assert record.how.path_proof.sentence == path_words.no_path(path_words.no_counters_of_rails("loopback"))


def test_a_case_that_the_site_switched_off_is_not_tested_with_its_reason(tmp_path: Path) -> None:
    record = untested_record(
        replace(of_name("ImbUniband %rails=2", "1a2b3c4d", "virtual", "hsn", "mpich"), benchmark="imb/Uniband"),
        "hsn1 is on order",
        run=str(STAMP["run"]),
        time=str(STAMP["time"]),
    )
    assert (record.test.case, record.test.hash) == ("ImbUniband %rails=2 @virtual:hsn+mpich", "1a2b3c4d")
    assert (record.found.state, record.found.verdict.text) == ("not-tested", "not tested: hsn1 is on order")
    assert (record.where.system, record.test.rails, record.found.curves, record.how.path_proof) == (
        "virtual",
        2,
        (),
        None,
    )
    append_record(tmp_path / FILE_NAME, record)
    assert read_records(tmp_path / FILE_NAME).records == (record,)


def test_a_verdict_is_stored_with_its_rules() -> None:
    stored = verdict_record(not_tested("no such device"))
    assert (stored.sentence, stored.rule, stored.class_, stored.suspects, stored.next) == (
        "not tested: no such device", None, None, (), None,
    )  # fmt: skip
    assert [rule.state for rule in stored.rules] == ["not-judged"] * 5
