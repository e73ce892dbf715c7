"""A job that runs again: new marks for all that must be unique, no old counters, and a fresh copy is submitted."""

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from railyard.job.case import Evidence
from railyard.job.node_facts import NodeFacts
from railyard.results.record.form import Suspect
from railyard.rfm.checks.measured_run import MeasuredRun
from railyard.rfm.checks.prober import Nobody
from railyard.rfm.checks.record import Clock, Measurement, SecondRun, measure_undisturbed
from railyard.rfm.checks.runner import COUNTERS
from railyard.site.site import Site
from railyard.verdict.assess import Assessment
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.findings import with_suspects
from railyard.verdict.wording import NOT_PROVEN
from tests.made.judged_run import healthy_rates

MARK = "1a2b3c4d"
TAG, OTHER = f"{MARK}-18a0b1c2d3e4", f"{MARK}-18a0b1c2d3e5"
SCRIPT = f"""\
#!/bin/sh
reader.sh {TAG} benchmark --name {MARK}-short --tag={TAG}
reader.sh {OTHER} benchmark 9f9f9f9f-18a0b1c2d3e4
"""


class Job:
    """Stands in for a job of ReFrame: it is submitted once, in its stage directory."""

    script_filename = "job.sh"

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.seen: tuple[Path, str] | None = None

    def submit(self) -> None:
        self.calls = [*self.calls, "submit"]
        self.seen = Path.cwd(), Path(self.script_filename).read_text(encoding="utf-8")

    def wait(self) -> None:
        self.calls = [*self.calls, "wait"]


def staged_folder(folder: Path) -> Path:
    (folder / COUNTERS).mkdir()
    for node in ("vn1", "vn2"):
        (folder / COUNTERS / f"{node}.counters").write_text(f"railyard-counters 1 {TAG}\n", encoding="ascii")
    (folder / "job.sh").write_text(SCRIPT, encoding="utf-8")
    return folder


def test_every_marked_word_is_new_and_the_same_wherever_it_was_the_same(tmp_path: Path) -> None:
    _, tag = SecondRun(Job(), staged_folder(tmp_path), MARK).run(TAG)
    assert re.fullmatch(rf"{MARK}-[0-9a-f]{{10,}}", tag)
    text = (tmp_path / "job.sh").read_text(encoding="utf-8")
    (other,) = {word for word in re.findall(rf"{MARK}-[0-9a-f]{{10,}}", text) if word != tag}
    assert {tag, other}.isdisjoint({TAG, OTHER})
    assert text == SCRIPT.replace(TAG, tag).replace(OTHER, other)


def test_a_job_that_never_began_gets_other_memory_behind_the_schedulers_options(tmp_path: Path) -> None:
    folder = staged_folder(tmp_path)
    options = "#!/bin/bash -l\n#SBATCH --job-name=one\n\n# a remark\n"
    (folder / "job.sh").write_text(f"{options}export GLIBC_TUNABLES=glibc.malloc.check=0\nprintenv GLIBC_TUNABLES\n")
    _, tag = SecondRun(Job(), folder, MARK).run(TAG)
    assert "tcache" not in (folder / "job.sh").read_text(encoding="utf-8")
    SecondRun(Job(), folder, MARK).run(tag, never_began=True)
    text = (folder / "job.sh").read_text(encoding="utf-8")
    assert text.startswith(f"{options}export GLIBC_TUNABLES=")
    bare = {name: value for name, value in os.environ.items() if name != "GLIBC_TUNABLES"}
    own = text.replace("export GLIBC_TUNABLES=glibc.malloc.check=0\n", "")
    for env, said in ((bare, ""), ({**bare, "GLIBC_TUNABLES": "glibc.malloc.check=0"}, "glibc.malloc.check=0:")):
        done = subprocess.run(["sh", "-c", own], env=env, capture_output=True, text=True, check=True)
        assert done.stdout == f"{said}glibc.malloc.tcache_count=1\n"


def test_old_counters_are_gone_before_the_job_runs(tmp_path: Path) -> None:
    class Looks(Job):
        def submit(self) -> None:
            assert list(Path(COUNTERS).iterdir()) == []
            super().submit()

    ran, _ = SecondRun(Looks(), staged_folder(tmp_path), MARK).run(TAG)
    assert ran.calls == ["submit", "wait"]


def test_a_fresh_copy_of_the_job_runs_in_the_stage_directory_each_time(tmp_path: Path) -> None:
    job = Job()
    again, before = SecondRun(job, staged_folder(tmp_path), MARK), Path.cwd()
    job.calls = ["submit", "wait"]  # by ReFrame, after the copy was made
    first, tag = again.run(TAG)
    second, next_tag = again.run(tag)
    assert (job.calls, first.calls, second.calls) == (["submit", "wait"],) * 3
    assert job.seen is None
    assert [len({id(job), id(first), id(second)}), len({TAG, tag, next_tag})] == [3, 3]
    for ran, its in ((first, tag), (second, next_tag)):
        assert ran.seen is not None
        assert (ran.seen[0], its in ran.seen[1]) == (tmp_path.resolve(), True)
    assert Path.cwd() == before


# --- which measurement counts


class Host:
    """A host whose runs wait for a processor for these shares of their time, run after run."""

    is_watched = True

    def __init__(self, *shares: float, times: int = 2, within_s: int = 60) -> None:
        self.repeat_limits, self._shares, self.quiet = (times, within_s), list(shares), 0
        self.replayed: str | None = None

    def watch(self) -> "Host":
        return self

    def watch_traffic(self) -> None:
        return None

    def stop(self) -> float:
        return self._shares.pop(0)

    def wait_for_quiet(self, at_most_s: float) -> None:
        self.quiet += 1


def measure(host: Host, found: Assessment) -> tuple[Measurement, int]:
    """Return the measurement that counts, and how many others were made."""
    made: list[bool] = []
    runner = cast(MeasuredRun, host)
    evidence = Evidence("")
    result = measure_undisturbed(runner, Clock(runner), lambda: (found, evidence), made.append)
    return result, len(made)


@pytest.fixture
def low(assess_cell: Callable[..., Assessment], virtual: Site) -> Assessment:
    found = assess_cell(rates={size: rate / 2 for size, rate in healthy_rates("hsn", 1).items()})
    return replace(found, printed=())  # its counters are of a shorter run


def test_a_disturbed_measurement_is_made_again_until_one_is_not(low: Assessment) -> None:
    host = Host(0.9, 0.8, 0.0)
    found, made = measure(host, low)
    assert (made, host.quiet, found.found.starved) == (2, 2, 0.0)
    assert [attempt.starved for attempt in found.attempts] == [0.9, 0.8]
    explained = found.explain(Nobody(), None)
    assert (explained.verdict.state, len(explained.attempts)) == ("fail", 2)
    assert "measured again" in explained.verdict.text


def test_no_more_are_made_than_the_systems_file_allows(low: Assessment) -> None:
    found, made = measure(Host(0.9, 0.9, 0.9, times=1), low)
    assert (made, found.found.starved, len(found.attempts)) == (1, 0.9, 1)
    assert found.explain(Nobody(), None).verdict.state == "disturbed"


def test_none_is_made_when_its_time_is_over(low: Assessment) -> None:
    assert measure(Host(0.9, 0.9, within_s=-1), low)[1] == 0


def test_a_measurement_that_holds_counts_however_busy_the_host_was(assess_cell: Callable[..., Assessment]) -> None:
    found, made = measure(Host(0.9), assess_cell())
    assert (made, found.explain(Nobody(), None).verdict.state) == (0, "pass")


def test_figures_of_another_run_are_measured_again_and_then_prove_nothing(
    assess_cell: Callable[..., Assessment],
) -> None:
    healthy = assess_cell()
    assert healthy.path.state == "proven" and healthy.printed
    slow = tuple(replace(row, seconds=1000 * row.seconds) for row in healthy.printed)
    found, made = measure(Host(0.0, 0.0, times=1), replace(healthy, printed=slow))
    explained = found.explain(Nobody(), None)
    assert (made, explained.verdict.state, explained.verdict.rule, explained.verdict.fault) == (
        1,
        "fail",
        4,
        "not-proven",
    )
    assert explained.verdict.text.startswith(f"{NOT_PROVEN}the printed figures are not those of this run: by them, ")
    assert explained.verdict.suspects == ()


PMI2 = Path(__file__).resolve().parents[2] / "recordings/failed/mpich5.0.2-pmi2-of-slurm22.05.8.err"


@pytest.fixture
def unbegun(assess_cell: Callable[..., Assessment]) -> Assessment:
    """Return the assessment of a run that never began: Slurm's pmi2 broke MPICH's start."""
    return assess_cell(stack="mpich", exit_code=1, output="", stderr=PMI2.read_text(encoding="utf-8"))


def test_a_start_that_the_launchers_bug_ended_is_made_again_once_whatever_the_file_allows(
    unbegun: Assessment, assess_cell: Callable[..., Assessment]
) -> None:
    answers = [unbegun, assess_cell()]
    runner = cast(MeasuredRun, Host(0.0, 0.0, times=0))
    began: list[bool] = []
    result = measure_undisturbed(runner, Clock(runner), lambda: (answers.pop(0), Evidence("")), began.append)
    assert began == [True]
    explained = result.explain(Nobody(), None)
    assert explained.verdict.state == "pass"
    assert "measured again: 1 earlier start failed by a bug of the launcher" in explained.verdict.text
    assert "mpi/pmi2: value not properly terminated" in explained.attempts[0].sentence


def test_a_second_such_start_fails_and_is_no_failure_of_the_network(unbegun: Assessment) -> None:
    found, made = measure(Host(0.0, 0.0, 0.0, times=0), unbegun)
    assert (made, len(found.attempts)) == (1, 1)
    verdict = found.explain(Nobody(), None).verdict
    assert (verdict.state, verdict.rule, verdict.fault, verdict.suspects) == ("fail", 1, "scheduler", ())
    assert unbegun.inputs.job.is_explained  # so no rail is measured alone


def test_a_recording_is_never_started_again(unbegun: Assessment) -> None:
    host = Host(0.0)
    host.replayed = "replayed"
    assert measure(host, unbegun)[1] == 0


def test_the_same_message_beside_a_table_is_no_start_that_failed(assess_cell: Callable[..., Assessment]) -> None:
    found = assess_cell(stack="mpich", exit_code=1, stderr=PMI2.read_text(encoding="utf-8"))
    assert not found.inputs.job.never_began


@pytest.mark.parametrize(("ranks", "said"), [(1, True), (2, False)])
def test_only_a_rank_that_has_its_node_alone_is_far_from_a_rail(low: Assessment, ranks: int, said: bool) -> None:
    """Ranks on all cores, and ranks near their own rails, are far from some rail, as they should be."""
    found, _ = measure(Host(0.0), replace(low, case=replace(low.case, ranks_per_node=ranks)))
    facts = (NodeFacts("vn1", {"cpus_allowed": "0-3"}, {"hsn0": {"local_cpulist": "4-7"}}),)
    explained = replace(found, evidence=Evidence("", facts=facts)).explain(Nobody(), None)
    assert ("the first process of vn1 was bound to processors 0-3, far from hsn0" in explained.verdict.text) == said


def test_probes_decide_before_the_host_is_blamed(low: Assessment) -> None:
    class Names:
        """Names a rail, as probes do."""

        def explain(self, found: Assessment) -> Assessment:
            return with_suspects(found, Findings((Suspect("rail", "slow", "vn2", "hsn0"),), "slow"))

    found, _ = measure(Host(0.9, times=0), low)
    assert found.explain(Names(), "3 of 4 nodes were tested").verdict.state == "fail"
    assert found.explain(Names(), "3 of 4 nodes were tested").verdict.text.endswith("3 of 4 nodes were tested")
    assert found.explain(Nobody(), None).verdict.state == "disturbed"
