"""The other direction under a scheduler: the streams of the run's own job, their direction, and who is asked next."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from railyard.job.launch import Launch
from railyard.rfm.checks.groups import Layout
from railyard.rfm.checks.other_way import OtherWayProber, WayBack, of_plan
from railyard.rfm.checks.probe_places import LocalPlace
from railyard.rfm.checks.prober import RailProber, node_that_sent
from railyard.site.site import Site
from railyard.stacks.model import NIC_PER_RANK
from railyard.verdict.assess import Assessment
from tests.made.check import MadeCheck
from tests.made.judged_run import counters_file
from tests.rfm.checks.test_plan import plan, site_with
from tests.rfm.checks.test_probe_places import COUNTERS, FakeJob, Made, slurm_prober  # noqa: F401  # a fixture

RAILS = ("hsn0", "hsn1")


@dataclass
class Job:
    """A run's job whose benchmark has ended: ``run`` runs the rest of the job on this machine."""

    prober: OtherWayProber
    back: WayBack
    stage: Path
    asked: FakeJob

    def run(self, seconds: int = 0, **env: str) -> None:
        files, behind = self.back.in_job("slurm-nodb")
        for name, text in files.items():
            (self.stage / name).write_text(text, encoding="utf-8")
        lines = ["trap 'exit 7' ERR", f"SECONDS={seconds}", *behind, "echo end"]
        path = f"{self.asked.path}:{os.environ['PATH']}"
        told = {**os.environ, "PATH": path, "SLURM_JOB_NODELIST": "vn1 vn2", **env}
        done = subprocess.run(
            ["bash", "-c", "\n".join(lines)], cwd=self.stage, env=told, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")

    @property
    def streams(self) -> list[str]:
        return sorted(path.name for path in self.stage.glob("back-*.out"))


@pytest.fixture
def job(slurm_prober: Made) -> Callable[..., Job]:  # noqa: F811
    """Return a maker of a job whose streams are this shell script, with NODES and RAIL, under Slurm."""

    def make(script: str, rails: tuple[str, ...] = RAILS, limit_s: int = 300, **how: object) -> Job:
        prober, launch, asked = slurm_prober(f"{COUNTERS}{script}", rails=rails, **how)
        back = WayBack(prober, replace(launch, env={"STRIPED": "yes", **launch.env}, nodes=()), limit_s)
        return Job(OtherWayProber(prober, "AllPairs", back), back, prober.stage, asked)

    return make


def test_the_runs_own_job_streams_back_over_each_rail_and_no_other_is_asked_for(
    job: Callable[..., Job], assess_cell: Callable[..., Assessment]
) -> None:
    one = job("echo $STRIPED 47.8")
    one.run(STRIPED="yes")
    assert one.streams == [f"back-{turn}-{rail}-vn2-vn1.out" for turn in (1, 2) for rail in RAILS]
    # Settings that spread a message over several rails are not given for a single rail.
    assert (one.stage / "back-1-hsn1-vn2-vn1.out").read_text(encoding="utf-8") == "47.8\n"
    verdict = one.prober.explain(assess_cell(rails=2)).verdict
    said = "from vn2 to vn1, each rail alone: hsn0 47.80 MB/s and hsn1 47.80 MB/s"
    assert (verdict.state, verdict.remarks[-1], one.asked.asked) == ("pass", said, None)


@pytest.mark.fault(
    "rail", "only what vn2 sends over a rail is slow, under a scheduler", "only what vn2 sends over hsn1 is slow"
)
def test_a_rail_that_is_slow_back_alone_is_named_after_a_job_that_asks_others(
    job: Callable[..., Job], assess_cell: Callable[..., Assessment], promise: str
) -> None:
    one = job("case $RAIL$NODES in hsn1vn2,*) echo 38.2;; *) echo 47.8;; esac")
    one.run()
    verdict = one.prober.explain(assess_cell(rails=2)).verdict
    assert (verdict.state, verdict.rule, verdict.fault) == ("fail", 4, "fabric")
    assert promise in verdict.sentence
    assert [(each.kind, each.node, each.rail) for each in verdict.suspects] == [("rail", "vn2", "hsn1")]
    assert one.asked.asked is not None and one.asked.cancelled == 1


@pytest.mark.fault(
    "rail", "a slow way back, and no free nodes to ask who it is", "it is unknown whether vn1 or vn2 is slow"
)
def test_a_rail_that_is_slow_back_fails_also_where_nobody_can_be_asked(
    job: Callable[..., Job], assess_cell: Callable[..., Assessment], promise: str
) -> None:
    refused = "sbatch: error: QOSMaxJobsPerUserLimit"
    near = job("case $RAIL in hsn1) echo 38.2;; *) echo 47.8;; esac", refused=refused)
    near.run()
    verdict = near.prober.explain(assess_cell(rails=2)).verdict
    assert (verdict.state, "hsn1 38.20 MB/s; the scheduler refused" in verdict.remarks[-1]) == ("pass", True)
    one = job("case $RAIL in hsn1) echo 30;; *) echo 47.8;; esac", refused=refused)
    one.run()
    verdict = one.prober.explain(assess_cell(rails=2)).verdict
    assert (verdict.state, verdict.rule, [each.kind for each in verdict.suspects]) == ("fail", 4, ["pair"])
    assert verdict.sentence.startswith("hsn1 carries 30.00 MB/s from vn2 to vn1, alone (bound 85.0 % of ")
    assert f"{promise}: the scheduler refused the job for it: sbatch: error: QOSMax" in verdict.sentence
    switched_off = replace(one.prober, rails=replace(one.prober.rails, place=None))
    off = switched_off.explain(assess_cell(rails=2)).verdict
    assert (off.state, f"{promise}: its system has probes_within: 0" in off.sentence) == ("fail", True)


def test_a_disturbance_of_one_of_two_streams_is_left_out_and_of_both_measured_again(
    job: Callable[..., Job], assess_cell: Callable[..., Assessment]
) -> None:
    once = job("if mkdir once 2>/dev/null; then echo 20; else echo 47.8; fi", rails=("hsn0",))
    once.run()
    assert once.prober.explain(assess_cell()).verdict.state == "pass" and once.asked.asked is None
    both = job('echo >>count; if [ "$(wc -l <count)" -lt 3 ]; then echo 20; else echo 47.8; fi', rails=("hsn0",))
    both.run()
    verdict = both.prober.explain(assess_cell()).verdict
    assert (verdict.state, verdict.suspects) == ("pass", ())
    assert verdict.remarks[-1] == "from vn2 to vn1, each rail alone: hsn0 47.80 MB/s"
    assert both.asked.asked is not None


@pytest.mark.fault("rail", "a launcher that keeps an order of nodes of its own", "no stream that its counters prove")
def test_a_stream_that_went_the_same_way_again_proves_nothing(
    job: Callable[..., Job], assess_cell: Callable[..., Assessment], promise: str
) -> None:
    one = job("echo 47.8", rails=("hsn0",), refused="sbatch: error: Invalid account")
    one.run(ORDER="vn1,vn2")
    verdict = one.prober.explain(assess_cell()).verdict
    assert (verdict.state, verdict.suspects) == ("pass", ())
    assert f"hsn0 not measured (the run's job left {promise})" in verdict.remarks[-1]
    assert verdict.remarks[-1].endswith("; the scheduler refused the job for it: sbatch: error: Invalid account")


@pytest.mark.fault("rail", "a job of probes that measures the same way again", "its launcher may order nodes itself")
def test_a_job_of_probes_that_measures_the_same_way_again_proves_nothing_either(
    job: Callable[..., Job], assess_cell: Callable[..., Assessment], promise: str
) -> None:
    """Hydra did this in a job of Slurm 22.05: the streams would look like a good rail's."""
    one = job(f"ORDER=vn1,vn2\n{COUNTERS}echo 47.8", rails=("hsn0",))
    one.run()
    verdict = one.prober.explain(assess_cell()).verdict
    assert (verdict.state, verdict.suspects) == ("pass", ())
    assert one.asked.asked is not None
    assert f"hsn0 not measured (no counters prove that vn2 sent it: {promise})" in verdict.remarks[-1]


def test_no_stream_begins_that_the_jobs_limit_would_end(job: Callable[..., Job]) -> None:
    one = job("echo 47.8", limit_s=100)
    one.run()
    assert len(one.streams) == 4
    one.run(seconds=70)  # and the files of an earlier measurement are gone
    assert one.streams == []


def test_a_stream_that_hangs_or_fails_fails_no_job(
    job: Callable[..., Job], assess_cell: Callable[..., Assessment]
) -> None:
    one = job("echo srun: error; exit 1", rails=("hsn0",))
    one.run()
    verdict = one.prober.explain(assess_cell()).verdict
    assert (verdict.state, verdict.suspects) == ("pass", ())
    assert verdict.remarks[-1] == 'from vn2 to vn1, each rail alone: hsn0 not measured ("srun: error")'
    launcher = replace(one.back.rails, place=replace(one.back.rails.place, launcher="ibrun"))  # type: ignore[type-var]
    unknown = replace(one.back, rails=launcher)
    assert unknown.in_job("slurm-nodb") == ({}, ())


def test_a_run_that_failed_is_not_asked_for_its_way_back(
    job: Callable[..., Job], assess_cell: Callable[..., Assessment]
) -> None:
    one = job("echo 20")
    failed = assess_cell(output="")
    assert one.prober.explain(failed) == one.prober.rails.explain(failed)
    unseen = replace(assess_cell(), path=replace(assess_cell().path, state="not-judged"))
    assert one.prober.explain(unseen) is unseen


def test_counters_that_contradict_each_other_say_no_way(tmp_path: Path) -> None:
    folder = tmp_path / "back-1-hsn0-vn2-vn1"
    folder.mkdir()

    def sending_node(**moved: tuple[float, float]) -> str | None:
        for node, each in moved.items():
            text = counters_file(node, {"hsn0": each}, ("hsn0",), tag=folder.name)
            (folder / f"{node}.counters").write_text(text, encoding="utf-8")
        return node_that_sent(folder, "hsn0", {})

    assert sending_node(vn2=(9.0, 0.1)) is None
    assert sending_node(vn1=(0.1, 9.0)) == "vn2"
    assert sending_node(vn1=(9.0, 0.1)) is None
    assert node_that_sent(folder, "hsn1", {}) is None


Changes = dict[str, str]
SLURM: Changes = {"scheduler": "slurm-nodb", "launcher": "srun", "provider": "nodes"}


@pytest.mark.parametrize(
    ("change", "check", "is_made"),
    [
        (SLURM, MadeCheck(), True),
        ({**SLURM, "scheduler": "pbs", "launcher": "mpirun"}, MadeCheck(), True),
        (SLURM, MadeCheck(ranks_per_node=2), True),
        (SLURM, MadeCheck(num_nodes=4), False),
        ({**SLURM, "provider": "replay"}, MadeCheck(), False),
        ({}, MadeCheck(), False),
    ],
    ids=[
        "Slurm",
        "PBS",
        "two ranks a node",
        "four nodes",
        "a replay",
        "a testbed, whose streams are started from here",
    ],
)
def test_whose_job_streams_back(
    virtual: Site, job: Callable[..., Job], change: Changes, check: MadeCheck, is_made: bool
) -> None:
    rails: RailProber = job("echo 47.8").prober.rails
    if not change:
        rails = replace(rails, place=LocalPlace(rails.stage, lambda launch, limit_s: []))
    there = plan(site_with(virtual, **{**change, **({"provider": "nodes"} if change.get("provider") else {})}), check)
    there = replace(there, site=site_with(virtual, **change))
    found = of_plan(there, rails)
    assert (found is not None) is is_made
    if found is not None:
        launch: Launch = found.launch
        assert (launch.meant, found.limit_s) == (("hsn0",), virtual.system.limit_s())


@pytest.mark.fault(
    "rail", "only what vn2 sends over a rail is slow, of a NIC per rank", "only what vn2 sends over hsn1 is slow"
)
def test_each_rail_of_a_nic_per_rank_is_streamed_back_by_one_rank_a_node(
    virtual: Site, job: Callable[..., Job], assess_cell: Callable[..., Assessment], promise: str
) -> None:
    check = MadeCheck(rails=2, layout=Layout(pair_per_rail=True), policy=NIC_PER_RANK)
    there = plan(site_with(virtual, **SLURM), check, policy=NIC_PER_RANK, stack="intelmpi")
    assert there.ranks.per_node == 2 and "PSM3_MULTIRAIL_MAP" in there.launch.env

    def slow_launch(rail: str, nodes: tuple[str, ...]) -> Launch:
        launch = there.launch_alone(rail, nodes, 1)
        return replace(launch, env={**launch.env, **slow})

    slow = {"SCRIPT": f"{COUNTERS}case $FI_TCP_IFACE$NODES in hsn1vn2,*) echo 38.2;; *) echo $NODES$DEALT 47.8;; esac"}
    one = job("", rails=RAILS)
    stream = one.prober.rails.one_way
    assert stream is not None
    rails = replace(one.prober.rails, one_way=replace(stream, launch=slow_launch))
    there = replace(there, launch=replace(there.launch, env={**there.launch.env, "DEALT": "yes"}))
    back = of_plan(there, rails)
    assert back is not None
    one = replace(one, back=back, prober=replace(one.prober, rails=rails, back=back))
    one.run(DEALT="yes")
    assert one.streams == [f"back-{turn}-{rail}-vn2-vn1.out" for turn in (1, 2) for rail in RAILS]
    # One rank per node, and settings that deal rails to several ranks are not given for a single one.
    assert " srun --ntasks=2 --ntasks-per-node=1 " in (one.stage / "back-1-hsn0-vn2-vn1.sh").read_text(encoding="utf-8")
    assert (one.stage / "back-1-hsn0-vn2-vn1.out").read_text(encoding="utf-8") == "vn2,vn1 47.8\n"
    verdict = one.prober.explain(assess_cell(rails=2)).verdict
    assert (verdict.state, verdict.rule, promise in verdict.sentence) == ("fail", 4, True)
    assert [(each.kind, each.node, each.rail) for each in verdict.suspects] == [("rail", "vn2", "hsn1")]
