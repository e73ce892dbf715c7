"""Playing a recording: it is printed in place of the benchmark, and nothing on the machine is asked."""

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from railyard.job.node_facts import ProcessPlacement
from railyard.provision.replay.index import recording_of, write_set
from railyard.rfm.checks.plan import plan_check
from railyard.rfm.checks.replayed_run import ReplayedRun
from railyard.rfm.checks.runner import RunOutputs
from railyard.site.site import Site
from railyard.site.test_id import TestId
from tests.made.check import MadeCheck
from tests.rfm.checks.test_measured_run import Job
from tests.rfm.checks.test_plan import TEST

TEXT = "rows\n"


@pytest.fixture
def there(virtual: Site, tmp_path: Path) -> Site:
    """Return a replayed site with one recording: that of Uniband over one rail."""
    recorded = TestId("hsn", "mpich", 1, "imb/Uniband", "ImbUniband")
    made = recording_of(recorded, TEXT, "recorded", "a test", "this file")
    write_set(tmp_path / "recordings/virtual", [(made, TEXT)])
    return replace(virtual, home=tmp_path, system=virtual.system.as_replay())


def test_the_job_prints_the_recording_with_the_benchmarks_words_behind_it(there: Site, tmp_path: Path) -> None:
    job = plan_check(MadeCheck(), there, TEST, dry=False).job("1a2b3c4d-17")
    assert job.recording == tmp_path / "recordings/virtual/hsn/mpich/1/ImbUniband.out"
    assert (job.executable, *job.words) == ("imb", "Uniband", "-msglen", "'1 to 4194304'")
    assert (job.limit_s, job.before, job.launcher_words) == (there.system.limit_s(), (), None)


def replay_problem(there: Site, test: TestId, stage: Path, printed: str = TEXT) -> str | None:
    """Return what is wrong with the played output; None if it is the recording."""
    plan = plan_check(MadeCheck(), there, test, dry=False)
    (stage / "job.out").write_text(printed, encoding="utf-8")
    left = RunOutputs(Job(), stage, "job.out", "job.err", "1a2b3c4d-17")
    found = plan.runner.evidence(MadeCheck(), left, plan.launch, ProcessPlacement(None)).played
    assert found is not None
    return found.problem


def test_what_was_printed_is_held_against_the_index(there: Site, tmp_path: Path) -> None:
    assert replay_problem(there, TEST, tmp_path) is None
    assert replay_problem(there, TEST, tmp_path, "other rows\n") is not None


def test_a_policy_that_is_the_stacks_own_stands_in_no_recordings_name(there: Site, tmp_path: Path) -> None:
    named = replace(TEST, name="ImbUniband %rails=1 %policy=single")
    assert replay_problem(there, named, tmp_path) is None
    assert replay_problem(there, replace(named, policy="striping"), tmp_path) is not None


def test_nothing_of_the_machine_is_asked(there: Site) -> None:
    runner = ReplayedRun(there, TEST)

    def refuse(home: Path) -> None:
        raise AssertionError("a replay measures nothing")

    runner.start(refuse)
    assert (runner.watch(), runner.repeat_limits, runner.node_states(), runner.node_names(2)) == (None, (0, 0), (), ())
    assert (runner.files(MadeCheck(files={"a": "b"}), ProcessPlacement("near")), runner.after(MadeCheck())) == ({}, [])
    assert not runner.knows(MadeCheck(), "validation-warmup")


def test_a_record_says_which_recording_it_was_and_nothing_of_this_machine(there: Site, tmp_path: Path) -> None:
    plan = plan_check(MadeCheck(), there, TEST, dry=False)
    (tmp_path / "job.out").write_text(TEXT, encoding="utf-8")
    left = RunOutputs(Job(), tmp_path, "job.out", "job.err", "1a2b3c4d-17")
    evidence = plan.runner.evidence(MadeCheck(), left, plan.launch, plan.placing)
    environment = plan.runner.environment(evidence)
    assert isinstance(environment["recording"], dict)
    assert environment["recording"]["file"] == "hsn/mpich/1/ImbUniband.out"
    assert "kernel" not in environment
    started = datetime(2026, 11, 21, tzinfo=timezone.utc)
    kept = plan.runner.circumstances(evidence, plan.launch, started)
    assert {name: value for name, value in kept.items() if value} == {"started": "2026-11-21T00:00:00Z"}
