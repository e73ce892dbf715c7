"""The last lines of a rehearsal: whether failed tests name what was planted, and whom they blame."""

from dataclasses import replace
from pathlib import Path

from railyard.provision.rehearsal.form import Fault, Rehearsal, names, summary
from railyard.results.record.form import Record, RuleRecord, Suspect, VerdictRecord
from railyard.site.systems.load import load_system
from tests.made.records import made_record

SLOW = Fault("slow", "rail=n9:mlx5_1,share=0.5", node="n9", device="mlx5_1:1", share=0.5)
FALLBACK = Fault("fallback", "fallback=tcp")


SYSTEMS = Path(__file__).parents[2] / "sites/rehearsed/systems"


def passing_record(
    system: str = "ndr", nodes: tuple[str, ...] = ("n1", "n9"), rails: int = 2, policy: str = ""
) -> Record:
    return made_record(system=system, fabric="ndr", rails=rails, nodes=nodes, policy=policy or None)


def failed_record(sentence: str, *suspects: Suspect, rule: int = 5) -> Record:
    rules = (RuleRecord(rule, "", "fail"),)
    return passing_record().with_fields(
        state="fail", verdict=VerdictRecord(sentence, rule, rules=rules, suspects=suspects)
    )


def lines(*records: Record, faults: tuple[Fault, ...] = (SLOW,), system: str = "ndr") -> list[str]:
    known = load_system(SYSTEMS / f"{system}.yaml")
    return summary(Rehearsal(system, "/site", "/site/plan", ("n1", "n9"), faults), known, records)


def test_a_fault_that_a_suspect_names_is_found() -> None:
    suspect = Suspect("rail", "it moved half of what the others did", "n9", "mlx5_1:1")
    assert lines(failed_record("too slow", suspect), failed_record("too slow"), passing_record()) == [
        "planted rail=n9:mlx5_1,share=0.5: named by 1 of 2 failed tests",
        "blamed: rail mlx5_1:1 of n9 (1 test)",
    ]


def test_another_node_and_a_longer_name_are_not_it() -> None:
    for node, rail in (("n99", "mlx5_1:1"), ("n9", "mlx5_1:10"), ("n8", "mlx5_1:1"), ("n9-ib0", "mlx5_1:1")):
        assert not names(SLOW, failed_record(f"the rail {rail} of {node} is idle", rule=4))
    assert names(SLOW, failed_record("the rail mlx5_1:1 of n9: idle", rule=4))


def test_the_nodes_and_rails_of_a_slow_run_are_not_blamed_by_that() -> None:
    for rule in (3, 5):
        assert not names(
            SLOW, failed_record("47000 MB/s is below 90000, over mlx5_0:1 and mlx5_1:1 of n9 and n10", rule=rule)
        )


def test_a_remark_blames_nobody() -> None:
    beside = "the first process of n9 was bound to processors 0-1, far from mlx5_1:1"
    record = failed_record("too slow", rule=4)
    assert not names(SLOW, record.with_fields(verdict=replace(record.found.verdict, remarks=(beside,))))


def test_a_fault_that_nobody_names_or_that_fails_nothing_is_said_loudly() -> None:
    assert lines(failed_record("too slow")) == [
        "planted rail=n9:mlx5_1,share=0.5: NOT NAMED by any of 1 failed test",
        "blamed: nobody; the sentences above say what failed",
    ]
    assert lines(passing_record()) == ["planted rail=n9:mlx5_1,share=0.5: NOT FOUND, no test failed"]


def test_a_fault_where_no_test_was_is_said_with_what_to_choose() -> None:
    fourth = Fault("slow", "rail=gpu2:mlx5_2,share=0.5", node="gpu2", device="mlx5_2:1", share=0.5)
    both = ("gpu1", "gpu2")
    said = "planted rail=gpu2:mlx5_2,share=0.5: NOT FOUND, no chosen test "
    assert lines(passing_record("fat", both), passing_record("fat", both, 1), faults=(fourth,), system="fat") == [
        f"{said}used mlx5_2:1 of gpu2: choose one with rails=4 or rails=8"
    ]
    for there in (passing_record("fat", both, 4), passing_record("fat", both, 1, "rail-3")):
        assert lines(there, faults=(fourth,), system="fat") == [
            "planted rail=gpu2:mlx5_2,share=0.5: NOT FOUND, no test failed"
        ]
    assert lines(passing_record("fat", ("gpu1", "gpu3"), 8), faults=(fourth,), system="fat") == [
        f"{said}ran on gpu2: choose one of all nodes, such as -n AllPairs, or fewer --nodes"
    ]
    (line, *_) = lines(
        failed_record("cut").with_fields(system="fat", nodes=(), rails=8), faults=(fourth,), system="fat"
    )
    assert line.endswith("NOT NAMED by any of 1 failed test"), "nobody knows where it ran"
    every = replace(fourth, node="*")
    (line,) = lines(passing_record("fat", both), faults=(every,), system="fat")
    assert line.endswith("used mlx5_2:1: choose one with rails=4 or rails=8")


def test_a_rail_alone_is_named_where_the_file_has_tests_of_it() -> None:
    known = load_system(SYSTEMS / "ndr.yaml")
    each = known.fabrics["ndr"].model_copy(update={"each_rail": True})
    system = known.model_copy(update={"fabrics": {"ndr": each}})
    (line,) = summary(Rehearsal("ndr", "/site", "/site/plan", ("n1", "n9"), (SLOW,)), system, [passing_record(rails=1)])
    assert line.endswith("no chosen test used mlx5_1:1 of n9: choose one with rails=2 or policy=rail-2")


def test_another_transport_is_found_by_the_path_proof() -> None:
    assert names(FALLBACK, failed_record("42 MB went over eth0", rule=4))
    assert not names(FALLBACK, failed_record("too slow", rule=5))


def test_a_leaf_switch_is_found_where_a_switch_is_suspected() -> None:
    leaf = Fault("leaf", "leaf=leaf2,share=0.5", leaf="leaf2", share=0.5)
    assert names(leaf, failed_record("too slow", Suspect("switch", "all pairs across sides are slow", rail="mlx5_0:1")))
    assert not names(leaf, failed_record("too slow", Suspect("rail", "slow", "n9", "mlx5_1:1")))


def test_a_rail_of_every_node_needs_no_node() -> None:
    every = Fault("idle", "rail=*:mlx5_1,idle", device="mlx5_1:1")
    assert names(every, failed_record("mlx5_1:1 of n3 moved nothing", rule=4))


def test_a_healthy_rehearsal_says_so_and_a_failing_one_that_files_do_not_fit() -> None:
    assert lines(passing_record(), faults=()) == ["nothing was planted: no test failed"]
    assert lines(failed_record("too slow"), faults=())[0] == (
        "nothing was planted: 1 test failed, so the system's file and its references do not fit each other"
    )
