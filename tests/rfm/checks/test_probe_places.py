"""Rails measured in a scheduler's job: who is blamed from its results, and the sentence if it did not run."""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from railyard.base.errors import RailyardError
from railyard.job.batch import Scheduling
from railyard.job.launch import Launch
from railyard.job.probe_job import NodeRequest, limit_words
from railyard.parsers.output import ParsedOutput
from railyard.rfm.checks import probe_places
from railyard.rfm.checks.node_questions import PingPong
from railyard.rfm.checks.probe_places import InJob, LocalPlace, NotProbed, place_of
from railyard.rfm.checks.prober import RailProber
from railyard.site.site import Site
from railyard.site.systems.model import System
from railyard.stacks import ask
from railyard.verdict.assess import Assessment
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.wording import WITH_EVERY
from railyard.verdict.wording import blame as blame_words
from railyard.verdict.wording import path as path_words
from tests.made.judged_run import counters_file

PAIR = ("n9", "n10")
#: How the script of a step begins: its output is limited, in blocks of 512 B.
LIMITED = "#!/bin/sh\nulimit -S -f 2097152 2> /dev/null || :\n"
#: What the scheduler gave the job.
GIVEN = "n10 n5 n7 n9"


#: As the readers of both nodes write: the first node of a step sends. ORDER may reverse them.
COUNTERS = """\
case $WORDS in *reader.sh*)
    set -- $WORDS
    while [ "$1" != reader.sh ]; do shift; done
    both=$NODES kind=sent
    [ -z "$ORDER" ] || both=$ORDER
    for node in ${both%,*} ${both#*,}; do
        sed "s/TAG/$2/; s/NODE/$node/; s/RAIL/$4/" "$kind" >"$2/$node.counters"
        kind=received
    done;;
esac
"""


class LastWord(PingPong):
    """A ping-pong that prints its value as its last word."""

    def value(self, text: str) -> float | None:
        words = text.split()
        return float(words[-1]) if words and words[-1].replace(".", "").isdigit() else None


def refuse_parse(text: str) -> ParsedOutput:
    raise AssertionError("nothing is parsed here")


class FakeJob:
    """A job that runs on this machine like a scheduler's job, except that it can wait, be refused, or fail at once."""

    def __init__(self, stage: Path, path: str, refused: str = "", waits: bool = False, broken: bool = False) -> None:
        self.stage, self.path, self.refused, self.waits, self.broken = stage, path, refused, waits, broken
        self.running: subprocess.Popen[bytes] | None = None
        self.asked: tuple[NodeRequest, int, int] | None = None
        self.cancelled = 0

    def submit(self, name: str, lines: list[str], asked: NodeRequest, count: int, limit_s: int) -> None:
        if self.refused:
            raise RailyardError(f"the scheduler refused the job for it: {self.refused}")
        self.asked = asked, count, limit_s
        if not self.waits:
            env = {**os.environ, "PATH": f"{self.path}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": GIVEN}
            script = "exit 1" if self.broken else "\n".join(["echo $$ >group", *lines])
            self.running = subprocess.Popen(["sh", "-c", script], cwd=self.stage, env=env, start_new_session=True)

    def state(self) -> Literal["waits", "runs", "ended"]:
        if self.running is None:
            return "waits"
        return "runs" if self.running.poll() is None else "ended"

    @property
    def end_words(self) -> str:
        return "job 7 waits (Resources)" if self.running is None else "job 7 is failed"

    def cancel(self) -> None:
        self.cancelled += 1
        if self.running is not None and self.running.poll() is None:
            os.killpg(self.running.pid, 15)
            self.running.wait()


PMI2 = Path(__file__).parents[2] / "recordings/failed/mpich5.0.2-pmi2-of-slurm22.05.8.err"
Made = Callable[..., tuple[RailProber, Launch, FakeJob]]


@pytest.fixture
def slurm_prober(tmp_path: Path, virtual: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    """Return a maker of a prober under Slurm whose nodes are this machine: srun runs a shell script with NODES."""
    monkeypatch.setattr(probe_places, "_LOOK_S", 0.01)
    monkeypatch.setattr(probe_places, "_ASK_S", 0.05)
    monkeypatch.setattr(probe_places, "nodes_of", lambda system, home: ())
    commands, stage = tmp_path / "bin", tmp_path / "stage"
    commands.mkdir()
    stage.mkdir()
    programs = {
        "scontrol": 'printf "%s\\n" $3',
        "srun": "for word; do case $word in --nodelist=*) NODES=${word#*=};; --probe) break;; esac; done\n"
        "for last; do :; done; WAY=${last#--probe}; WORDS=$*; export NODES WAY WORDS\n"
        'eval "$SCRIPT"',
    }
    for name, text in programs.items():
        (commands / name).write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
        (commands / name).chmod(0o755)
    for kind, moved in (("sent", (9.0, 0.1)), ("received", (0.1, 9.0))):
        (stage / kind).write_text(counters_file("NODE", {"RAIL": moved}, ("RAIL",), tag="TAG"), encoding="utf-8")
    jobs: list[FakeJob] = []

    def make(
        script: str, rails: tuple[str, ...] = ("hsn1",), measure: dict[str, str] | None = None, **how: object
    ) -> tuple[RailProber, Launch, FakeJob]:
        def launch(rail: str, nodes: tuple[str, ...]) -> Launch:
            settings = ask.settings("mpich", "tcp", (rail,), 1, None)
            return Launch("sh", {"RAIL": rail, "SCRIPT": script}, ("--mpi=pmi2",), settings, (rail,), (), nodes)

        system = virtual.system.model_copy(update={"scheduler": "slurm-nodb", "launcher": "srun"})
        if measure:
            system = system.model_copy(update={"measure": system.measure.model_copy(update=measure)})
        site = replace(virtual, home=tmp_path / "home", system=system)
        job = FakeJob(stage, str(commands), **how)  # type: ignore[arg-type]
        jobs.append(job)
        place = InJob(site, stage, "srun", "mpich", lambda: job)
        way = LastWord("imb/PingPong", refuse_parse, launch, lambda launch, size: ["--probe"])
        stream = replace(way, key="imb/Uniband", words=lambda launch, size: ["--probe", "--one-way"])
        one = RailProber(site, "hsn", stage, way, no, place, one_way=stream)
        return one, replace(launch("hsn0", PAIR), meant=rails), job

    yield make
    for job in jobs:
        job.cancel()


def no() -> None:
    return None


def probe_rails(prober: RailProber, launch: Launch) -> Findings:
    return prober.slow_rails_of(PAIR, ("vn3", "vn4"), launch)


SLOW = "case $RAIL$NODES in hsn1*n9*) echo $NODES 43.1;; *) echo $NODES 47.8;; esac"


def test_a_slow_rail_is_blamed_beside_the_nodes_that_the_scheduler_chose(slurm_prober: Made) -> None:
    prober, launch, job = slurm_prober(SLOW, rails=("hsn0", "hsn1"))
    found = probe_rails(prober, launch)
    assert [(one.kind, one.node, one.rail) for one in found.suspects] == [("rail", "n9", "hsn1")]
    assert {node for probe in found.probes for node in (probe.node_a, probe.node_b)} == {"n5", "n7", "n9", "n10"}
    assert job.asked is not None
    assert (job.asked[0].options[1], job.asked[1:]) == ("--nodelist=n9,n10", (4, 300))
    # It ends as soon as the result is known, and leaves no files of steps that did not run.
    assert job.cancelled == 1
    assert list(prober.stage.glob("*partner*")) == []


def test_nobody_is_blamed_if_the_launcher_put_both_processes_on_one_node(slurm_prober: Made) -> None:
    """As Intel MPI 2021.18 did in a job of Grid Engine, which blamed a healthy rail."""
    on_one = f"{COUNTERS.replace('both=$NODES', 'both=n9,n9')}{SLOW}"
    prober, launch, _ = slurm_prober(on_one, rails=("hsn0", "hsn1"))
    with pytest.raises(NotProbed) as caught:
        probe_rails(prober, launch)
    said = str(caught.value)
    assert re.fullmatch(r"the launcher put both processes of a measurement between n9 and n\d+ on n9", said)


def test_a_rail_is_blamed_if_the_readers_of_two_nodes_were_there(slurm_prober: Made) -> None:
    prober, launch, _ = slurm_prober(f"{COUNTERS}{SLOW}", rails=("hsn0", "hsn1"))
    assert [(one.kind, one.node, one.rail) for one in probe_rails(prober, launch).suspects] == [("rail", "n9", "hsn1")]


def test_a_step_is_told_its_nodes_and_leaves_script_and_output(slurm_prober: Made) -> None:
    prober, launch, _ = slurm_prober("echo $NODES 47.8")
    probe_rails(prober, launch)
    name = "probe-1-hsn1-n9-n5"
    assert (prober.stage / f"{name}.sh").read_text(encoding="utf-8") == (
        f"{LIMITED}mkdir -p {name}\nexport RAIL=hsn1\nexport SCRIPT={shlex.quote('echo $NODES 47.8')}\n"
        f"exec {shlex.join(limit_words(launch, 20))} srun --ntasks=2 --ntasks-per-node=1 --nodelist=n9,n5 "
        f"--mpi=pmi2 --distribution=arbitrary sh reader.sh {name} {name} hsn1 '' -- --probe\n"
    )
    assert (prober.stage / "probe-1-hsn1-n9-n5.out").read_text(encoding="utf-8") == "n9,n5 47.8\n"


def test_a_probe_whose_start_the_launchers_bug_ended_is_started_again_once_and_said(slurm_prober: Made) -> None:
    once = f"[ -e began-$RAIL-$NODES ] || {{ : >began-$RAIL-$NODES; cat {PMI2} >&2; exit 15; }}; {SLOW}"
    found = probe_rails(*slurm_prober(once, rails=("hsn0", "hsn1"))[:2])
    assert [(one.kind, one.node, one.rail) for one in found.suspects] == [("rail", "n9", "hsn1")]
    assert all(probe.value_mb_s for probe in found.probes)
    assert found.sentence.endswith("; 12 probes started again after a bug of the launcher")


def test_a_probe_that_never_began_is_no_slow_or_dead_rail(slurm_prober: Made) -> None:
    never = f"case $RAIL$NODES in hsn1*n9*) cat {PMI2} >&2; exit 15;; *) echo $NODES 47.8;; esac"
    found = probe_rails(*slurm_prober(never, rails=("hsn0", "hsn1"))[:2])
    assert found.suspects == ()
    assert {probe.value_mb_s for probe in found.probes} == {47.8}
    assert "of them never began: they do not count" in found.sentence


def test_a_job_that_ends_in_mid_round_blames_by_what_it_left(slurm_prober: Made) -> None:
    # Its batch script is gone after the fourth probe, as at a time limit.
    prober, launch, _ = slurm_prober('echo >>count; [ "$(wc -l <count)" -lt 5 ] || kill -9 -$(cat group); echo 47.8')
    found = probe_rails(prober, launch)
    assert found.suspects == ()
    assert [probe.value_mb_s for probe in found.probes] == [47.8] * 4


def test_steps_that_fail_are_no_result_and_nobody_is_blamed(slurm_prober: Made) -> None:
    prober, launch, _ = slurm_prober("echo srun: error; exit 1")
    assert probe_rails(prober, launch).sentence == blame_words.no_result_at_all(6, "srun: error")


@pytest.mark.parametrize(
    ("how", "measure", "sentence"),
    [
        (
            {"refused": "sbatch: error: Invalid account"},
            {},
            "the scheduler refused the job for it: sbatch: error: Invalid account",
        ),
        (
            {"waits": True},
            {"probes_within": "0s"},
            "found no free nodes within 0 s for n9 and n10 and partners: job 7 waits (Resources)",
        ),
        ({"broken": True}, {}, "the job for it ended before its first step: job 7 is failed; see probes-n9-n10.err"),
    ],
)
def test_nodes_that_are_not_given_are_said_and_the_job_is_ended(
    slurm_prober: Made, how: dict[str, object], measure: dict[str, str], sentence: str
) -> None:
    prober, launch, job = slurm_prober("echo 47.8", measure=measure, **how)
    with pytest.raises(NotProbed) as raised:
        probe_rails(prober, launch)
    assert str(raised.value) == sentence
    assert job.cancelled == 1
    assert list(prober.stage.glob("*partner*")) == []


def test_a_launcher_that_cannot_be_told_nodes_is_said(slurm_prober: Made) -> None:
    prober, launch, job = slurm_prober("echo 47.8")
    assert isinstance(prober.place, InJob)
    with pytest.raises(NotProbed, match=r"^Railyard cannot give the launcher ibrun the nodes to use"):
        probe_rails(replace(prober, place=replace(prober.place, launcher="ibrun")), launch)
    assert job.asked is None


def test_jobs_that_cannot_ask_for_nodes_by_name_are_said(slurm_prober: Made) -> None:
    prober, launch, job = slurm_prober("echo 47.8")
    assert isinstance(prober.place, InJob)
    system = prober.site.system
    totals = system.model_copy(update={"scheduler": "pbs", "jobs": system.jobs.model_copy(update={"totals": True})})
    place = replace(prober.place, site=replace(prober.site, system=totals))
    with pytest.raises(NotProbed) as raised:
        probe_rails(replace(prober, place=place), launch)
    assert str(raised.value) == "jobs of virtual ask PBS for totals, and a node's name is a word of chunks"
    assert job.asked is None
    assert list(prober.stage.glob("*.sh")) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"scheduler": "slurm-nodb", "launcher": "srun"}, InJob),
        ({"scheduler": "pbs", "launcher": "mpirun"}, InJob),
        ({"scheduler": "local", "launcher": "srunalloc"}, LocalPlace),
        ({}, LocalPlace),
        ({"scheduler": "local", "launcher": "local"}, type(None)),
        ({"scheduler": "oar", "launcher": "mpirun"}, type(None)),
    ],
)
def test_where_rails_are_measured(tmp_path: Path, virtual: Site, changed: dict[str, str], expected: type) -> None:
    def job() -> FakeJob:
        return FakeJob(tmp_path, "")

    def place(system: System) -> object:
        site = replace(virtual, system=system)
        return place_of(site, "mpich", Scheduling(system, "mpich"), tmp_path, job)

    system = virtual.system.model_copy(update=changed)
    assert type(place(system)) is expected
    never = system.measure.model_copy(update={"probes_within": "0s"})
    switched_off = place(system.model_copy(update={"measure": never}))
    assert type(switched_off) is (type(None) if expected is InJob else expected)


@pytest.mark.fault(
    "scheduler", "one rail of a node loses packets, in single jobs of Slurm", f"loses packets {WITH_EVERY}"
)
def test_a_rail_that_loses_packets_is_blamed_in_a_job_too(
    slurm_prober: Made, monkeypatch: pytest.MonkeyPatch, promise: str
) -> None:
    def read_segments(folder: Path) -> tuple[int, int]:
        assert folder.is_dir()
        again, sent = (folder.parent / f"{folder.name}.out").read_text(encoding="utf-8").split()
        return int(again), int(sent)

    monkeypatch.setattr("railyard.rfm.checks.prober.segments", read_segments)
    lossy = "case $RAIL$NODES in hsn1*n9*) echo 90 10000;; *) echo 0 10000;; esac"
    prober, launch, job = slurm_prober(lossy, rails=("hsn0", "hsn1"))
    found = prober.lossy_rails_of(PAIR, ("vn3", "vn4"), launch)
    assert [(one.kind, one.node, one.rail) for one in found.suspects] == [("rail", "n9", "hsn1")]
    assert promise in found.sentence
    name = "loss-1-hsn1-n9-n5"
    script = (prober.stage / f"{name}.sh").read_text(encoding="utf-8")
    assert script.startswith(f"{LIMITED}mkdir -p {name}\n")
    assert script.endswith(f" --mpi=pmi2 --distribution=arbitrary sh reader.sh {name} {name} hsn1 '' -- --probe\n")
    assert job.cancelled == 1
    assert list(prober.stage.glob("*partner*")) == []


# --- what else the nodes of the job are asked


@pytest.mark.parametrize("rails", [("hsn1",), ("hsn0", "hsn1")])
@pytest.mark.fault(
    "rail", "only what n9 sends over a rail is slow, in a job", "; only what n9 sends is slow: 20.00 MB/s to"
)
def test_which_way_a_rail_is_slow_is_asked_in_the_job(slurm_prober: Made, rails: tuple[str, ...], promise: str) -> None:
    # A ping-pong sees half of it; the nodes are in the order of the ranks.
    one_way = "case $RAIL$WAY$NODES in hsn1--one-way*n9,*) echo 20;; *--one-way*) echo 47.8;; hsn1*n9*) echo 30;; "
    prober, launch, job = slurm_prober(f"{COUNTERS}{one_way} *) echo 47.8;; esac", rails=rails)
    found = probe_rails(prober, launch)
    assert [(one.kind, one.node, one.rail) for one in found.suspects] == [("rail", "n9", "hsn1")]
    assert promise in found.sentence
    assert job.cancelled == 1
    assert list(prober.stage.glob("one-way-1-hsn1-n9-*.out"))


def test_which_way_is_not_said_where_the_launcher_kept_an_order_of_its_own(slurm_prober: Made) -> None:
    same_way = "case $WAY in --one-way) ORDER=n5,n9;; esac; "
    slow = "case $RAIL$NODES in hsn1*n9*) echo 30;; *) echo 47.8;; esac"
    prober, launch, _ = slurm_prober(f"{same_way}{COUNTERS}{slow}")
    found = probe_rails(prober, launch)
    assert [(one.kind, one.node, one.rail) for one in found.suspects] == [("rail", "n9", "hsn1")]
    assert "only what" not in found.sentence and "both ways" not in found.sentence


SILENT = blame_words.dead_node("n9", ["hsn0", "hsn1"]).partition(",")[0]


@pytest.mark.parametrize("dead", [True, False], ids=["starts nothing", "starts processes"])
@pytest.mark.fault("session", "a node on which no process starts, asked in a job", SILENT)
def test_whether_a_process_starts_on_a_silent_node_is_asked_in_the_job(
    slurm_prober: Made, dead: bool, promise: str
) -> None:
    started = "case $WORDS in *railyard-started*) echo railyard-started; {} exit;; esac; "
    second = "case $NODES in *n9*) ;; *) echo railyard-started;; esac;" if dead else "echo railyard-started;"
    silent = "case $NODES in *n9*) exit 1;; *) echo 47.8;; esac"
    prober, launch, _ = slurm_prober(started.format(second) + silent, rails=("hsn0", "hsn1"))
    found = probe_rails(prober, launch)
    assert [(one.kind, one.node) for one in found.suspects] == [("node", "n9")]
    assert (promise in found.sentence) is dead
    silent = blame_words.silent_node("n9", ["hsn0", "hsn1"], starts=True)
    assert (silent in found.sentence) is not dead


def test_of_what_could_not_be_asked_any_more_nothing_is_said(
    slurm_prober: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job's time ends with its last round: a missing output is then neither a failed start nor a slow direction."""
    monkeypatch.setattr(probe_places._InJob, "answer", lambda held, name, step: None)
    prober, launch, _ = slurm_prober("case $NODES in *n9*) exit 1;; *) echo 47.8;; esac", rails=("hsn0", "hsn1"))
    sentence = probe_rails(prober, launch).sentence
    assert blame_words.silent_node("n9", ["hsn0", "hsn1"], starts=False) in sentence
    slow, launch, _ = slurm_prober(SLOW, rails=("hsn0", "hsn1"))
    assert "only what" not in probe_rails(slow, launch).sentence


THIEFS = "0a:00:00:00:01:03"
READING = f"'railyard-counters 1 %s\\nnode vn3\\nbefore hsn0 hardware/hsn0 {THIEFS}\\nend 0\\n'"


@pytest.mark.fault(
    "session", "an address of vn2 that vn3 has too, asked in a job", "hsn0 of vn3 (0a:00:00:00:01:03) answers for"
)
def test_who_has_the_address_of_another_is_asked_in_a_job(
    slurm_prober: Made, assess_cell: Callable[..., Assessment], counters_text: Callable[..., str], promise: str
) -> None:
    tag = "addresses-vn3-vn4"
    script = f"case $WORDS in *{tag}*) printf {READING} {tag} >{tag}/vn3.counters;; esac"
    prober, _, job = slurm_prober(script)
    moved = {"hsn0": (0.1, 0.1)}
    first = f"after hsn0 arp/10.1.1.2 {THIEFS}\nbefore - own/10.1.1.1 yes\nend 1"
    second = "before hsn0 hardware/hsn0 0a:00:00:00:01:02\nbefore - own/10.1.1.2 yes\nend 1"
    texts = (counters_text("vn1", moved, first), counters_text("vn2", moved, second))
    run = assess_cell(exit_code=1, output="", counters=texts)
    verdict = prober.explain(run).verdict
    assert promise in verdict.text
    assert {(each.kind, each.node, each.rail) for each in verdict.suspects} == {("rail", "vn3", "hsn0")}
    assert job.asked is not None and job.asked[0].options[1] == "--nodelist=vn3,vn4"
    refused, _, _ = slurm_prober(script, refused="sbatch: error: Invalid account")
    text = refused.explain(run).verdict.text
    assert path_words.a_stranger() in text
    assert "the other nodes were not asked for their addresses: the scheduler refused" in text
