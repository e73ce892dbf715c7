"""A run in groups from its submission to its record, under a Slurm of our own making."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import SetupError
from railyard.cluster.rolling import plan
from railyard.cluster.rolling.run import Rolling, RunProgress, rolling
from railyard.cluster.rolling.under_scheduler import FILE, SAMPLE, KeptRun, read, runs_in
from railyard.results.record import pair_rows
from railyard.results.record.file import read_records
from railyard.results.record.form import Record
from railyard.site.site import Site
from tests.cluster.rolling.conftest import NODES
from tests.made import fake_slurm
from tests.made.words import slow_alone

RUN = "20261124T040000Z-1a2b"


@dataclass
class Bed:
    """A site under the Slurm of our own making, and what a run in groups said."""

    site: Site
    folder: Path
    said: list[str]

    def submit_run(self, **wanted: Any) -> tuple[Rolling, KeptRun]:
        """Plan and submit a run in groups of eight nodes."""
        asked = plan.PlanRequest(**{"group": 8, "at_most": 2, **wanted})
        place = plan.place_of(self.site, asked)
        leaves = plan.leaves_of(self.site, place)
        nodes = plan.nodes_of(self.site, asked.nodes, leaves, datetime(2026, 11, 24, 4))
        run = plan.plan_run(self.site, asked, place, nodes, RUN, datetime.now(timezone.utc))
        _, seconds = plan.write_first_step(self.site, run, place, asked.sample)
        made = rolling(self.site, run, runs_in(self.site.home) / run.id, asked.group, self.said.append)
        return made, made.submit_step(run, run.step(SAMPLE), seconds)

    def measure_run(self, **wanted: Any) -> tuple[Rolling, RunProgress]:
        """Do the same, and follow it to its end."""
        made, run = self.submit_run(**wanted)
        return made, made.follow_run(run)

    def record(self, **wanted: Any) -> Record:
        """Do the same, measure suspects again, and return the record."""
        made, seen = self.measure_run(**wanted)
        return made.store_record(made.confirm_suspects(seen), ("railyard", "pairs", "run"))[0]

    def drain(self, node: str) -> None:
        """Have a node drained, as an administrator does it."""
        nodes = fake_slurm.state_of(self.folder)["nodes"]
        fake_slurm.change(self.folder, nodes={**nodes, node: {"state": "IDLE+DRAIN", "reason": "bad cable"}})

    def plant(self, **planted: Any) -> None:
        """Plant something once jobs are submitted."""
        fake_slurm.change(self.folder, planted=planted)

    @property
    def jobs(self) -> list[dict[str, Any]]:
        """What became of the jobs."""
        jobs: list[dict[str, Any]] = fake_slurm.state_of(self.folder)["jobs"]
        return jobs


@pytest.fixture
def bed(site: Site, slurm: Callable[..., Path]) -> Callable[..., Bed]:
    """Return what makes a site under a Slurm with what is planted."""
    return lambda *busy, **planted: Bed(site, slurm(*busy, **planted), [])


def test_a_slow_node_is_measured_again_and_named_and_the_run_is_stored_as_any_other(bed: Callable[..., Bed]) -> None:
    there = bed({"n03": 3}, slow={"n07": 0.5})
    record = there.record()
    # n03 was busy: its group, the second one, began later.
    assert there.said[:2] == ["1 of 2 groups measured, 1 wait (Resources)", "2 of 2 groups measured"]
    assert [(one.kind, one.node) for one in record.found.verdict.suspects] == [("node", "n07")]
    assert (record.found.state, record.found.verdict.rule, record.found.verdict.class_) == ("fail", 5, "fabric")
    assert record.found.verdict.sentence.startswith(slow_alone("n07"))
    assert record.found.verdict.remarks[1].startswith("judged by its references alone: report-only")
    assert (record.test.check, record.test.benchmark, record.test.case) == (
        "SampledPairs", "pairs/pairs", "SampledPairs %rails=2 @made:eth+openmpi",
    )  # fmt: skip
    assert record.how.path_proof is not None
    assert (record.how.path_proof.state, len(record.where.nodes)) == ("proven", 16)
    folder = there.site.home / ".railyard/runs" / RUN
    stored = read_records(folder)
    assert (stored.problems, len(stored.records)) == ((), 1)
    pairs = stored.records[0].found.pairs
    assert pairs is not None and pairs.sample is not None and pairs.rows is not None
    covered = {one.of: (one.used, one.all) for one in pairs.sample.covered}
    # Two groups of eight nodes: 28 pairs each, of 120; four leaves meet in six pairs.
    assert (covered["nodes"], covered["pairs"], covered["leaf_pairs"]) == ((16, 16), (56, 120), (6, 6))
    assert (pairs.sample.kind, pairs.sample.not_measured, len(pairs.sample.promises) > 4) == ("rolling", (), True)
    rows = pair_rows.read(folder, pairs.rows)
    assert len([row for row in rows if row.step == 0]) == 56
    # What was kept is the text of one run, as the program prints it.
    assert (
        (folder / str(record.made.output))
        .read_text(encoding="utf-8")
        .startswith("# railyard-pairs 1 sample: 16 ranks, 14 r")
    )


def test_a_run_is_not_stored_twice(bed: Callable[..., Bed]) -> None:
    made, seen = bed().measure_run()
    record, _ = made.store_record(seen, ())
    assert record.found.state == "report-only"
    assert record.found.verdict.suspects == ()
    with pytest.raises(SetupError, match="found a record of this run, expected none: it was collected before"):
        made.store_record(seen, ())


def test_a_node_that_is_drained_while_its_group_waits_is_taken_out_and_said(bed: Callable[..., Bed]) -> None:
    there = bed({"n03": 4}, drain={"2": "n05"})
    record = there.record()
    (said,) = (line for line in there.said if "goes on without" in line)
    assert said.endswith(" goes on without n05: n05 is drained (bad cable)")
    assert "15 of 16 nodes were measured, not n05 (drained (bad cable))" in record.found.verdict.remarks
    assert record.found.pairs is not None and record.found.pairs.sample is not None
    (lost,) = record.found.pairs.sample.not_measured
    assert (lost.nodes, lost.reason) == (("n05",), "drained (bad cable)")
    assert (record.found.state, len(record.where.nodes)) == ("report-only", 15)
    assert read(runs_in(there.site.home) / RUN).left_out == {"n05": "drained (bad cable)"}


def test_a_group_that_is_left_with_one_node_is_not_tested(bed: Callable[..., Bed]) -> None:
    there = bed(dict.fromkeys(NODES, 2))
    made, run = there.submit_run(group=2, nodes="n[01-04]")
    left, gone = run.steps[0].groups[0].nodes
    there.drain(gone)
    seen = made.follow_run(run)
    assert [one.kind for one in seen.parts] == ["lost", "whole"]
    assert seen.parts[0].words == f"{gone} is drained (bad cable), so that {left} is left"
    assert there.jobs[0]["state"] == "CANCELLED"
    assert seen.run.left_out == {
        left: f"its group was left with one node: {gone} is drained (bad cable)",
        gone: "drained (bad cable)",
    }


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        ("exit", "broken", "it ended with exit code 13: MPI_ABORT was invoked on rank 2"),
        ("cut", "broken", "its output has no whole table, though its job ended well"),
    ],
)
def test_a_group_that_breaks_fails_the_run_and_its_values_do_not_count(
    bed: Callable[..., Bed], how: str, kind: str, words: str
) -> None:
    there = bed(dead={"n06": how})
    record = there.record()
    broken = next(job for job in there.jobs if "n06" in job["nodes"])
    assert (record.found.state, record.found.verdict.rule, record.found.verdict.class_) == ("fail", 1, "set-up")
    assert (
        record.found.verdict.sentence == f"group {broken['task']} ({', '.join(broken['nodes'][:-1])} and "
        f"{broken['nodes'][-1]}): {words}"
    )
    assert set(record.where.nodes) == set(NODES) - set(broken["nodes"])


def test_a_node_that_dies_takes_its_group_along_and_the_scheduler_says_so(bed: Callable[..., Bed]) -> None:
    there = bed(dead={"n06": "lost"})
    made, seen = there.measure_run(group=4)
    (lost,) = (one for one in seen.parts if one.kind == "lost")
    assert "n06" in lost.nodes
    assert (
        lost.words == f"job 1 was ended because a node died: a node of {','.join(lost.nodes)} failed; the scheduler "
        "does not say which"
    )
    record, _ = made.store_record(seen, ())
    assert record.found.state == "report-only"
    assert (
        f"12 of 16 nodes were measured, not {', '.join(lost.nodes[:3])} and {lost.nodes[3]} ("
        in record.found.verdict.text
    )


def test_where_half_of_the_nodes_are_gone_nothing_is_said_of_the_system(bed: Callable[..., Bed]) -> None:
    there = bed()
    made, run = there.submit_run(group=4)
    there.plant(dead={group.nodes[0]: "lost" for group in run.steps[0].groups[1:]})
    record, _ = made.store_record(made.follow_run(run), ())
    assert record.where.nodes == run.steps[0].groups[0].nodes
    assert (record.found.state, record.found.verdict.rule, record.found.verdict.class_) == ("fail", 1, "scheduler")
    assert record.found.verdict.sentence == "4 of 16 nodes gave a result: that says nothing about the others"


def test_where_no_group_is_measured_the_first_reason_is_said(bed: Callable[..., Bed]) -> None:
    record = bed(dead=dict.fromkeys(NODES, "exit")).record()
    assert (record.found.state, record.found.verdict.rule, record.where.nodes) == ("fail", 1, ())
    assert record.found.verdict.sentence.endswith(
        "it ended with exit code 13: MPI_ABORT was invoked on rank 2; 1 group more failed"
    )


@pytest.mark.parametrize("planted", ["no_arrays", "no_nodes"])
def test_where_an_array_cannot_be_given_nodes_each_group_is_a_job_behind_another(
    bed: Callable[..., Bed], planted: str
) -> None:
    there = bed(**{planted: True})
    _, seen = there.measure_run(group=4)
    assert "a job a group instead" in there.said[0]
    assert [one.kind for one in seen.parts] == ["whole"] * 4
    own = [job for job in there.jobs if job["task"] is None]
    numbers = [str(job["id"]) for job in own]
    # Two at once: the third begins when the first has ended.
    assert [job["after"] for job in own] == ["", "", numbers[0], numbers[1]]
    if planted == "no_nodes":
        assert {job["state"] for job in there.jobs if job["task"]} == {"CANCELLED"}


def test_a_job_that_is_refused_leaves_none_behind(bed: Callable[..., Bed]) -> None:
    there = bed(refused=True)
    with pytest.raises(SetupError) as raised:
        there.submit_run()
    assert str(raised.value) == "pairs: the jobs were refused; sbatch said: sbatch: error: invalid account"
    assert there.jobs == []


def test_what_is_cancelled_is_told_by_the_scheduler(bed: Callable[..., Bed]) -> None:
    there = bed(dict.fromkeys(NODES, 99))
    made, run = there.submit_run()
    made.scheduler().cancel(run)
    seen = made.current_progress(run)
    assert [(one.kind, one.words) for one in seen.parts] == [
        ("lost", f"job 1 was cancelled on {','.join(one.nodes)}") for one in seen.parts
    ]
    assert {job["state"] for job in there.jobs} == {"CANCELLED"}


def test_a_run_that_cannot_be_written_or_read_is_one_sentence(bed: Callable[..., Bed], tmp_path: Path) -> None:
    made, run = bed().submit_run()
    file = made.folder / FILE
    assert read(made.folder) == run
    file.write_text(file.read_text(encoding="utf-8").replace('"format": 1', '"format": 9'), encoding="utf-8")
    with pytest.raises(Exception, match="found format 9, expected format 1; start the run again"):
        read(made.folder)
    file.write_text("{", encoding="utf-8")
    with pytest.raises(Exception, match="no whole run"):
        read(made.folder)


def test_a_suspect_that_was_not_measured_again_is_undecided_in_the_first_words(bed: Callable[..., Bed]) -> None:
    """A healthy system may have such suspects, so they fail no run; but a pass says first what it leaves open."""
    made, seen = bed(slow={"n07": 0.5}).measure_run()
    record, _ = made.store_record(seen, ())
    assert (record.found.state, record.found.verdict.suspects) == ("report-only", ())
    assert record.found.verdict.sentence.startswith("undecided: n07 (")
    assert "that was not measured, so nobody is blamed; report-only" in record.found.verdict.sentence


def test_groups_that_had_to_measure_suspects_again_and_broke_fail_the_run(bed: Callable[..., Bed]) -> None:
    there = bed(slow={"n07": 0.5})
    made, seen = there.measure_run()
    there.plant(slow={"n07": 0.5}, dead={"n07": "exit"})
    record, _ = made.store_record(made.confirm_suspects(seen), ())
    assert (record.found.state, record.found.verdict.rule, record.found.verdict.class_) == ("fail", 1, "set-up")
    assert "it ended with exit code 13: MPI_ABORT was invoked on rank 2" in record.found.verdict.sentence
