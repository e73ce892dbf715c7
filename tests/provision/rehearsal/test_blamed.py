"""The last lines of a rehearsal: whether failed tests name what was planted, and whom they blame."""

from dataclasses import replace

from railyard.provision.rehearsal.blamed import names, summary
from railyard.provision.rehearsal.form import Fault, Rehearsal
from railyard.results.record.form import Record, RuleRecord, Suspect, VerdictRecord
from tests.made.records import made_record

SLOW = Fault("slow", "rail=n9:mlx5_1,share=0.5", node="n9", device="mlx5_1:1", share=0.5)
FALLBACK = Fault("fallback", "fallback=tcp")


def failed(sentence: str, *suspects: Suspect, rule: int = 5) -> Record:
    rules = (RuleRecord(rule, "", "fail"),)
    return made_record(state="fail", verdict=VerdictRecord(sentence, rule, rules=rules, suspects=suspects))


def lines(*records: Record, faults: tuple[Fault, ...] = (SLOW,)) -> list[str]:
    return summary(Rehearsal("ndr", "/site", "/site/plan", ("n1", "n9"), faults), records)


def test_a_fault_that_a_suspect_names_is_found() -> None:
    suspect = Suspect("rail", "it moved half of what the others did", "n9", "mlx5_1:1")
    assert lines(failed("too slow", suspect), failed("too slow"), made_record()) == [
        "planted rail=n9:mlx5_1,share=0.5: named by 1 of 2 failed tests",
        "blamed: rail mlx5_1:1 of n9 (1 test)",
    ]


def test_another_node_and_a_longer_name_are_not_it() -> None:
    for node, rail in (("n99", "mlx5_1:1"), ("n9", "mlx5_1:10"), ("n8", "mlx5_1:1"), ("n9-ib0", "mlx5_1:1")):
        assert not names(SLOW, failed(f"the rail {rail} of {node} is idle", rule=4))
    assert names(SLOW, failed("the rail mlx5_1:1 of n9: idle", rule=4))


def test_the_nodes_and_rails_of_a_slow_run_are_not_blamed_by_that() -> None:
    for rule in (3, 5):
        assert not names(SLOW, failed("47000 MB/s is below 90000, over mlx5_0:1 and mlx5_1:1 of n9 and n10", rule=rule))


def test_a_remark_blames_nobody() -> None:
    beside = "the first process of n9 was bound to processors 0-1, far from mlx5_1:1"
    record = failed("too slow", rule=4)
    assert not names(SLOW, replace(record, verdict=replace(record.verdict, remarks=(beside,))))


def test_a_fault_that_nobody_names_or_that_fails_nothing_is_said_loudly() -> None:
    assert lines(failed("too slow")) == [
        "planted rail=n9:mlx5_1,share=0.5: NOT NAMED by any of 1 failed test",
        "blamed: nobody; the sentences above say what failed",
    ]
    assert lines(made_record()) == ["planted rail=n9:mlx5_1,share=0.5: NOT FOUND, no test failed"]


def test_another_transport_is_found_by_the_path_proof() -> None:
    assert names(FALLBACK, failed("42 MB went over eth0", rule=4))
    assert not names(FALLBACK, failed("too slow", rule=5))


def test_a_leaf_switch_is_found_where_a_switch_is_suspected() -> None:
    leaf = Fault("leaf", "leaf=leaf2,share=0.5", leaf="leaf2", share=0.5)
    assert names(leaf, failed("too slow", Suspect("switch", "all pairs across sides are slow", rail="mlx5_0:1")))
    assert not names(leaf, failed("too slow", Suspect("rail", "slow", "n9", "mlx5_1:1")))


def test_a_rail_of_every_node_needs_no_node() -> None:
    every = Fault("idle", "rail=*:mlx5_1,idle", device="mlx5_1:1")
    assert names(every, failed("mlx5_1:1 of n3 moved nothing", rule=4))


def test_a_healthy_rehearsal_says_so_and_a_failing_one_that_files_do_not_fit() -> None:
    assert lines(made_record(), faults=()) == ["nothing was planted: no test failed"]
    assert lines(failed("too slow"), faults=())[0] == (
        "nothing was planted: 1 test failed, so that the system's file or its references do not fit each other"
    )
