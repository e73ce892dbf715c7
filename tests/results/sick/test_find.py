"""From stored suspects to sick parts: each once, since when, what passed since, and what is left out and why."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from railyard.base.json_codec import decode
from railyard.cli.commands.schema import schema
from railyard.results.record.form import NodeTraffic, PathProofRecord, Record, Suspect, VerdictRecord
from railyard.results.record.pair_rows import PairAgain, PairsRecord, PairsSummary
from railyard.results.sick import SeenTest, SickList, SickPart, sick_list
from tests.results.sick.conftest import RAIL

NOW = datetime(2026, 11, 24, 4, tzinfo=timezone.utc)
Made = Callable[..., Record]


def sick(*records: Record, run: str | None = None) -> tuple[SickPart, ...]:
    return sick_list(records, NOW, run).sick


def test_a_part_is_listed_once_with_the_newest_evidence_and_all_that_blames_it(failure: Made) -> None:
    older = failure(day=20, verdict=VerdictRecord("older", 5, "node", suspects=(replace(RAIL, reason="older"),)))
    other = failure(day=21, case="OsuBandwidth %rails=2 @virtual:hsn+mpich", benchmark="osu/osu_bw")
    (part,) = sick(older, failure(day=22), other)
    assert part == SickPart(
        system="virtual",
        kind="rail",
        name="rail hsn1 of vn2",
        evidence="it moved 4.9 of 48 MB/s",
        sentence="hsn1 is slow",
        confidence="named",
        state="sick",
        first=SeenTest(older.made.run, older.test.case, "2026-11-20T06:00:12Z"),
        last=SeenTest("20261122T060000Z-ab12", older.test.case, "2026-11-22T06:00:12Z"),
        node="vn2",
        nodes=("vn2",),
        rail="hsn1",
        class_="fabric",
        look_at="the cable of hsn1",
        runs=("20261122T060000Z-ab12", "20261121T060000Z-ab12", "20261120T060000Z-ab12"),
        tests=(older.test.case, other.test.case),
    )


def test_the_newest_part_comes_first_and_the_surest_word_counts(failure: Made) -> None:
    def suspect_record(word: Any, day: int, node: str) -> Record:
        return failure(Suspect("node", "slow", node, confidence=word), day=day)

    found = sick(
        suspect_record("shown", 20, "vn1"),
        suspect_record(None, 22, "vn1"),
        suspect_record("open", 23, "vn3"),
        suspect_record("likely", 21, "vn2"),
    )
    assert [(part.node, part.confidence) for part in found] == [("vn3", "open"), ("vn1", "shown"), ("vn2", "likely")]


@pytest.mark.parametrize(
    ("suspect", "kind", "name", "nodes"),
    [
        (Suspect("node", "slow", "vn2"), "node", "node vn2", ("vn2",)),
        (Suspect("gpu", "slow", "vn2", part="3"), "gpu", "GPU 3 of vn2", ("vn2",)),
        (Suspect("pair", "slow", "vn1-vn2"), "pair", "pair vn1-vn2", ("vn1", "vn2")),
        (
            Suspect("pair", "slow", None, "hsn1"),
            "pair", "the path over hsn1 between vn1 and vn2", ("vn1", "vn2"),
        ),
        (Suspect("switch", "slow", None, "hsn1"), "switch", "the switch of hsn1", ()),
        (Suspect("leaf", "slow", part="L4", nodes=("vn1", "vn2")), "leaf", "leaf L4", ("vn1", "vn2")),
        (Suspect("leaf", "slow", nodes=("vn1", "vn2")), "leaf", "leaf of vn1, vn2", ("vn1", "vn2")),
        (Suspect("up-link", "slow", part="L4 port 3"), "up-link", "up-link L4 port 3", ()),
    ],
)  # fmt: skip
def test_every_kind_of_part_has_its_name_and_nodes(
    failure: Made, suspect: Suspect, kind: str, name: str, nodes: tuple[str, ...]
) -> None:
    (part,) = sick(failure(suspect))
    assert (part.kind, part.name, part.nodes) == (kind, name, nodes)
    assert part.node == ("vn2" if kind in ("node", "gpu") else None)


@pytest.mark.parametrize(
    ("name", "nodes", "expected"),
    [
        ("gpu-1-gpu-2", ("gpu-1", "gpu-2", "gpu-3"), ("gpu-1", "gpu-2")),
        ("a-b", ("A.cluster", "b.cluster"), ("a", "b")),
        ("a-b", (), ("a", "b")),
        ("a-b-c", (), ("a-b-c",)),
    ],
)
def test_the_tests_nodes_say_which_two_a_pair_is(
    failure: Made, name: str, nodes: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    (part,) = sick(failure(Suspect("pair", "slow", name), nodes=nodes))
    assert part.nodes == expected


def test_two_names_of_one_part_are_one(failure: Made) -> None:
    one, other = Suspect("rail", "x", "vn2.cluster", "mlx5_0:1"), Suspect("rail", "y", "VN2", "mlx5_0")
    assert len(sick(failure(one, other))) == 1
    leaf = [Suspect("leaf", "x", part="L4", nodes=nodes) for nodes in (("vn1",), ("vn1", "vn2"))]
    assert len(sick(failure(*leaf))) == 1
    assert len(sick(failure(one, Suspect("rail", "z", "vn2", "mlx5_0:2")))) == 2


def test_a_part_that_the_same_test_passed_over_later_is_said_to_have_passed(
    failure: Made, passing_record: Made
) -> None:
    (part,) = sick(failure(), passing_record(22), passing_record(23, stack="openmpi", case="other stack"))
    assert (part.state, part.passed) == (
        "passed since", SeenTest("20261123T060000Z-ab12", "other stack", "2026-11-23T06:00:12Z"),
    )  # fmt: skip


def not_proven(record: Record) -> Record:
    assert record.how.path_proof is not None
    return record.with_fields(path_proof=replace(record.how.path_proof, state="not-proven"))


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(lambda make: make(20), id="before it failed"),
        pytest.param(lambda make: make(22, state="report-only"), id="nothing judged it"),
        pytest.param(lambda make: make(22, benchmark="osu/osu_latency"), id="another benchmark"),
        pytest.param(lambda make: make(22, fabric="eth"), id="another fabric"),
        pytest.param(lambda make: make(22, rails=1), id="fewer rails"),
        pytest.param(lambda make: make(22, nodes=("vn1", "vn3")), id="other nodes"),
        pytest.param(lambda make: make(22, share=0.0), id="the rail carried nothing"),
        pytest.param(lambda make: not_proven(make(22)), id="the path is not proven"),
        pytest.param(lambda make: make(22, path_proof=None), id="no path"),
        pytest.param(lambda make: make(22, replayed="replayed"), id="a replay"),
        pytest.param(lambda make: make(22, rehearsal="rehearsed"), id="a rehearsal"),
        pytest.param(lambda make: make(30), id="of the future"),
    ],
)
def test_what_does_not_show_that_the_part_is_well_leaves_it_sick(
    failure: Made, passing_record: Made, later: Callable[[Made], Record]
) -> None:
    (part,) = sick(failure(), later(passing_record))
    assert (part.state, part.passed) == ("sick", None)


def test_a_part_that_failed_again_is_sick(failure: Made, passing_record: Made) -> None:
    (part,) = sick(failure(day=20), passing_record(21), failure(day=22))
    assert part.state == "sick"


@pytest.mark.parametrize(
    "suspect",
    [
        Suspect("leaf", "slow", nodes=("vn1", "vn2")),
        Suspect("up-link", "slow", part="3", nodes=("vn1", "vn2")),
        Suspect("switch", "slow", None, "hsn1"),
        Suspect("gpu", "slow", "vn2", part="3"),
    ],
)
def test_a_pass_clears_no_part_of_which_nobody_knows_that_it_was_used(
    failure: Made, passing_record: Made, suspect: Suspect
) -> None:
    assert [part.state for part in sick(failure(suspect), passing_record(22))] == ["sick"]


def matrix(*rows: tuple[float | None, ...]) -> PairsRecord:
    return PairsRecord(("vn1", "vn2", "vn3"), 1 << 20, rows)


def test_a_sample_clears_what_it_measured_and_nothing_else(failure: Made, passing_record: Made) -> None:
    blamed = failure(
        Suspect("pair", "slow", "vn1-vn2"), Suspect("node", "slow", "vn3"), Suspect("pair", "x", "vn2-vn3")
    )
    sample = passing_record(
        22, pairs=matrix((None, 9.0, None), (9.0, None, None), (None, None, None)), nodes=("vn1", "vn2", "vn3")
    )
    states = {part.name: part.state for part in sick(blamed, sample)}
    assert states == {"pair vn1-vn2": "passed since", "node vn3": "sick", "pair vn2-vn3": "sick"}


def test_of_rows_in_a_file_the_summary_says_what_was_measured(failure: Made, passing_record: Made) -> None:
    nodes = ("vn1", "vn2", "vn3", "vn4")
    blamed = failure(*(Suspect("pair", "slow", pair) for pair in ("vn1-vn2", "vn1-vn3")), Suspect("node", "x", "vn4"))
    none = ((None,),)
    summary = PairsSummary(
        ("all",), (0, 0, 0, 0), False, none, none, (9.0, 9.0, 9.0, None), (9.0, 9.0, 9.0, None), (2, 2, 1, 0),
        worst_pairs=(PairAgain("vn3", "vn1", 9.0, 9.0),),
    )  # fmt: skip

    def states(met: tuple[int, ...]) -> list[str]:
        pairs = PairsRecord(nodes, 1 << 20, summary=replace(summary, node_pairs=met))
        return [part.state for part in sick(blamed, passing_record(22, pairs=pairs, nodes=nodes))]

    assert states((2, 2, 1, 0)) == ["sick", "passed since", "sick"]
    assert states((3, 3, 3, 3)) == ["passed since"] * 3


def test_the_fabrics_own_check_clears_a_rail_without_sending(failure: Made, passing_record: Made) -> None:
    state = {"benchmark": "fabric/state", "path_proof": None}
    (part,) = sick(failure(**state), passing_record(22, **state))
    assert part.state == "passed since"


def test_what_is_no_sick_part_is_left_out_and_counted(failure: Made) -> None:
    found = sick_list(
        [
            failure(Suspect("stack", "TCP was used", "vn2", "eth0"), RAIL),
            failure(replayed="replayed: recorded"),
            failure(rehearsal="rehearsed", day=22),
            failure(RAIL, RAIL, state="disturbed"),
            failure(day=29),
            failure(state="pass", verdict=VerdictRecord("well", suspects=(RAIL,))),
        ],
        NOW,
    )
    assert [part.runs for part in found.sick] == [("20261121T060000Z-ab12",)]
    assert found.tests == 3
    assert found.left_out == (
        "2 suspects left out: of a replay or a rehearsal, which measured nothing",
        "1 suspect left out: of a test that is dated after today: a clock was wrong",
        "1 suspect left out: a setting of a stack, which is not a part: see its test's page",
        "2 suspects left out: of a disturbed test, which blames nobody",
    )


def test_an_expected_failure_blames_too(failure: Made) -> None:
    assert len(sick(failure(state="xfail"))) == 1


def test_a_run_is_asked_for_what_it_blames_with_the_times_of_all_runs(failure: Made) -> None:
    records = (failure(day=20), failure(day=22), failure(Suspect("node", "slow", "vn1"), day=21))
    (part,) = sick(*records, run="20261122T060000Z-ab12")
    assert (part.first.time, part.name) == ("2026-11-20T06:00:12Z", "rail hsn1 of vn2")
    assert sick(*records, run="another") == ()


def test_the_json_is_of_its_schema_and_is_read_back_equal(failure: Made, passing_record: Made) -> None:
    found = sick_list([failure(), passing_record(22), failure(Suspect("leaf", "x", part="L4", confidence="open"))], NOW)
    told = found.to_json()
    assert (told["format"], told["made"]) == (1, "2026-11-24T04:00:00Z")
    assert told["sick"][0]["class"] == "fabric"
    validator = jsonschema.Draft202012Validator(schema("sick"))
    validator.validate(told)
    assert not validator.is_valid({**told, "format": 2})
    assert not validator.is_valid({**told, "sick": [{**told["sick"][0], "kind": "cable"}]})
    assert decode(SickList, {key: value for key, value in told.items() if key != "format"}) == found


def test_a_node_of_the_path_that_is_not_there_clears_nothing(failure: Made, passing_record: Made) -> None:
    well = passing_record(22)
    assert well.how.path_proof is not None
    one = PathProofRecord("proven", "x", 4, tuple(node for node in well.how.path_proof.nodes if node.node == "vn1"))
    assert [type(node) for node in one.nodes] == [NodeTraffic]
    assert [part.state for part in sick(failure(), well.with_fields(path_proof=one))] == ["sick"]
