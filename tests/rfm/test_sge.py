"""Grid Engine through our backend, with the words of 8.1.9: what is submitted, and how a job waits, runs and ends."""

import getpass
import os
import re
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import JobSchedulerError
from reframe.core.schedulers import Job

import railyard.rfm.backends  # noqa: F401  # registers it
from railyard.parsers.job_end import JobEnd
from railyard.rfm import schedulers
from railyard.rfm.job_ends import EXIT_CODE, known_end
from railyard.site.systems.jobs import options, why_not
from tests.parsers.test_sge import NUMBERS, RECORDED
from tests.site.systems.test_jobs import settings

QSTAT = f"""\
#!/bin/sh
case "$*" in
    "-xml -g t -u {getpass.getuser()}") cat jobs ;;
    "-j $(cat number)") cat why ;;
    "-f -xml -q *@vn2,*@vn4") cat "{RECORDED}/queues-$(cat queues).xml" ;;
    "-f -xml -q "*) cat "{RECORDED}/queues-fine.xml" ;;
esac
"""
QSUB = """\
#!/bin/sh
[ ! -e refused ] || { cat refused >&2; exit 1; }
echo 'Your job 7 ("rfm_job") has been submitted'
"""
PROGRAMS = {
    "qstat": QSTAT,
    "qacct": '#!/bin/sh\n[ "$*" = "-j $(cat number)" ] && cat account\n',
    "qalter": '#!/bin/sh\n[ "$*" = "-w v $(cat number)" ] && cat verified\n',
    "qdel": '#!/bin/sh\necho "$1" >deleted\n',
    "qsub": QSUB,
}


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "bin").mkdir()
    for name, text in PROGRAMS.items():
        (tmp_path / "bin" / name).write_text(text, encoding="ascii")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    scheduler = object.__new__(getscheduler("sge-slots"))
    made = Job.create(
        scheduler, getlauncher("local")(), name="rfm_job", workdir=str(tmp_path), script_filename="rfm_job.sh",
        sched_access=["-P abc"], sched_options=["-p -5"],
    )  # fmt: skip
    made.options, made.time_limit = ["-r n", "-pe mpi-2 4"], 600
    made._submit_time = datetime(2026, 11, 30, 6).timestamp()  # an hour in which the recorded jobs were submitted
    for name in ("why", "account", "verified", "jobs", "queues"):
        (tmp_path / name).touch()
    return made


def recorded_text(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def state(job: Any, name: str, file: str = "", account: str = "", why: str = "", verified: str = "") -> bool:
    """Poll while Grid Engine says what it said of the recorded job of this name."""
    job._jobid = NUMBERS[name]
    Path("number").write_text(job.jobid, encoding="ascii")
    Path("jobs").write_text(recorded_text(f"qstat-{file or name}.xml"), encoding="utf-8")
    Path("account").write_text(recorded_text(f"qacct-{account}.txt") if account else "", encoding="utf-8")
    Path("why").write_text(recorded_text(f"qstat-j-{why}.txt") if why else "", encoding="utf-8")
    Path("verified").write_text(recorded_text(f"verify-{verified}.txt") if verified else "", encoding="utf-8")
    job.scheduler.poll(job)
    return bool(job.finished())


def end_of(job: Any) -> JobEnd:
    found = known_end(job)
    assert found is not None
    return found


def was_deleted(job: Any) -> bool:
    return Path("deleted").exists() and Path("deleted").read_text(encoding="ascii") == f"{job.jobid}\n"


def pass_time(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the clock by which it is told for how long something has been so go on by so many seconds."""
    later = time.monotonic() + seconds
    monkeypatch.setattr(time, "monotonic", lambda: later)


def test_a_job_asks_for_its_slots_with_all_options_of_the_file(job: Any, tmp_path: Path) -> None:
    assert job.scheduler.emit_preamble(job) == [
        "#$ -S /bin/bash", "#$ -N rfm_job", "#$ -o rfm_job.out", "#$ -e rfm_job.err", f"#$ -wd {tmp_path}",
        "#$ -l h_rt=660", "#$ -P abc", "#$ -r n", "#$ -pe mpi-2 4", "#$ -p -5",
    ]  # fmt: skip


def test_settings_become_options_and_what_it_has_not_is_refused() -> None:
    made = settings(account="abc", project="net", partition="long.q", reservation="77", exclusive=True)
    assert options("sge", made) == ("-A abc", "-P net", "-q long.q", "-ar 77", "-l exclusive=true")
    for name, value in {"qos": "high", "constraint": "edr", "exclude": ["n1"], "gres": "gpu:4", "switches": 1}.items():
        assert (why_not("sge", settings(**{name: value})) or ("",))[0] == name
    assert why_not("sge", settings(max_pending="2h")) is None


def test_a_job_is_submitted_and_no_output_of_an_earlier_one_is_left(job: Any) -> None:
    for name in (job.stdout, job.stderr):
        Path(name).write_text("an earlier table", encoding="ascii")
    job.scheduler.submit(job)
    assert job.jobid == "7"
    assert not Path(job.stdout).exists() and not Path(job.stderr).exists()


#: What was asked of qsub -> what it said.
REFUSALS = dict(
    re.findall(r"^\$ qsub (.+)\n(.+)\nExiting\.$", (RECORDED / "refused.txt").read_text("utf-8"), re.MULTILINE)
)


def test_all_kinds_of_refusals_are_recorded() -> None:
    assert list(REFUSALS) == ["-q nope", "-l nope=1", "-P nope", "-pe nope 2", "-l h=vn9", "-ar 77"]


@pytest.mark.parametrize("asked", REFUSALS)
def test_what_qsub_refuses_is_said_in_its_words(job: Any, asked: str) -> None:
    Path("refused").write_text(f"{REFUSALS[asked]}\nExiting.\n", encoding="utf-8")
    with pytest.raises(JobSchedulerError, match=re.escape(f"qsub said: {REFUSALS[asked]}")):
        job.scheduler.submit(job)


@pytest.mark.parametrize(
    ("last", "exit_code", "kind"),
    [
        ("completed", 0, None),
        ("exit-3", 3, None),
        ("time", 137, "time"),
        ("killed", 137, "cancelled"),
        ("cancelled", 137, "cancelled"),
    ],
)
def test_a_job_waits_runs_and_ends_with_its_exit_code(job: Any, last: str, exit_code: int, kind: str | None) -> None:
    assert not state(job, "waits")
    assert job.state == "PENDING"
    assert not state(job, "running")
    assert (job.state, job.nodelist) == ("RUNNING", ["vn1", "vn2"])
    assert state(job, last, "none", account=last)
    assert job.exitcode == exit_code
    found = known_end(job)
    assert (None if found is None else found.kind) == kind
    if found is not None:
        assert " on vn1 and vn2" in found.sentence


def test_a_cut_answer_is_silence_and_no_end_of_a_job(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not state(job, "running")
    whole = recorded_text("qstat-running.xml")
    for cut in ("", whole[:40], whole[: len(whole) // 2], whole.replace("</job_info>", "")):
        Path("jobs").write_text(cut, encoding="utf-8")
        job.scheduler.poll(job)
        pass_time(monkeypatch, 61.0)
        job.scheduler.poll(job)
        assert not job.finished()
        Path("jobs").write_text(whole, encoding="utf-8")
        job.scheduler.poll(job)  # it answers again, so its silence is forgotten


def test_a_job_that_was_seen_being_deleted_may_have_been_killed(job: Any) -> None:
    assert not state(job, "deleted")
    assert not was_deleted(job)
    assert state(job, "deleted", "none", account="cancelled")
    assert end_of(job).sentence.startswith("job 8 was cancelled on vn1 and vn2, or a process killed it: ")


def test_the_account_of_an_earlier_job_of_this_number_is_not_its_own(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own comes 15 s after its end. A record without a time may be of either."""
    assert not state(job, "running")
    job._submit_time = datetime(2027, 3, 1).timestamp()
    assert not state(job, "running", "none", account="completed")
    undated = recorded_text("qacct-prolog.txt").replace("jobnumber    23", "jobnumber    1 ")
    Path("account").write_text(undated, encoding="utf-8")
    job.scheduler.poll(job)
    assert not job.finished()
    pass_time(monkeypatch, schedulers.ACCOUNTED_WITHIN_S)
    job.scheduler.poll(job)
    assert job.finished() and "failed 8: in prolog" in end_of(job).sentence


def test_a_job_that_wrote_its_exit_code_is_over_before_it_has_an_account(job: Any) -> None:
    Path(EXIT_CODE).write_text("of an earlier measurement", encoding="ascii")
    job.scheduler.submit(job)
    assert not state(job, "running")
    assert not state(job, "running", "none")
    Path(f"{EXIT_CODE}.new").write_text("its own", encoding="ascii")
    Path(f"{EXIT_CODE}.new").replace(EXIT_CODE)
    assert state(job, "running", "none")
    assert (job.exitcode, known_end(job)) == (None, None)


def test_an_account_is_waited_for(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one, a job that began has an output: its own exit code counts."""
    assert not state(job, "running")
    assert not state(job, "running", "none")
    Path(job.stdout).touch()
    pass_time(monkeypatch, schedulers.ACCOUNTED_WITHIN_S)
    assert state(job, "running", "none")
    assert (job.exitcode, known_end(job)) == (None, None)


def test_a_job_that_was_deleted_before_it_began_was_cancelled(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not state(job, "waits")
    assert not state(job, "waits", "none", account="cancelled-waiting")
    pass_time(monkeypatch, schedulers.ACCOUNTED_WITHIN_S)
    assert state(job, "waits", "none", account="cancelled-waiting")
    assert end_of(job) == JobEnd("cancelled", "job 11 was cancelled before it began: qacct knows nothing of it")


def test_a_job_that_could_not_be_started_says_why(job: Any) -> None:
    assert state(job, "error", why="error")
    assert was_deleted(job)
    assert end_of(job).kind == "pending"
    assert end_of(job).sentence.endswith(
        'error: can\'t open output file "/nonexistent/out": No such file or directory)'
    )


def test_a_script_that_ends_with_exit_code_100_has_ended(job: Any) -> None:
    """Grid Engine keeps the job, in state Eqw, so that somebody may start it again."""
    job.scheduler.submit(job)
    Path(EXIT_CODE).write_text("tag 100", encoding="ascii")
    assert state(job, "exit-100", why="exit-100")
    assert was_deleted(job)
    assert known_end(job) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("exit-99", "requeued"),
        ("requeued-waits", "requeued"),
        ("requeued-runs", "requeued"),
        ("suspended", "suspended"),
    ],
)
def test_a_job_that_runs_again_or_pauses_is_deleted(job: Any, name: str, kind: str) -> None:
    assert state(job, name)
    assert was_deleted(job)
    assert end_of(job).kind == kind


@pytest.mark.parametrize("name", ["waits", "held", "depends"])
def test_a_job_that_waits_too_long_is_deleted(job: Any, name: str) -> None:
    job.max_pending_time, job._submit_time = 60, time.time()
    assert not state(job, name, "waits", why=name, verified=name)
    job._submit_time = time.time() - 61
    assert state(job, name, "waits", why=name, verified=name)
    assert was_deleted(job)
    assert end_of(job).kind == "pending"
    assert " had not begun after 60 s and was cancelled (the scheduler's reason: " in end_of(job).sentence


@pytest.mark.parametrize("name", ["too-many-nodes", "too-many-cores", "uneven"])
def test_a_job_that_can_never_run_is_deleted_once_that_was_so_for_a_while(
    job: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    file = "too-many-cores" if name == "too-many-cores" else "waits"
    assert not state(job, name, file, verified=name)
    pass_time(monkeypatch, schedulers.BELIEVED_AFTER_S)
    assert not state(job, name, file, verified=name)
    assert not was_deleted(job)
    pass_time(monkeypatch, schedulers.BELIEVED_AFTER_S)
    assert state(job, name, file, verified=name)
    assert was_deleted(job)
    assert f"could not begin and was cancelled (the scheduler's reason: {'(-l' if file == name else 'cannot'}" in (
        end_of(job).sentence
    )


def test_a_job_that_waits_for_nodes_of_others_waits_on(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`qalter -w v` says "no suitable queues" of it all the same."""
    for _ in range(4):
        assert not state(job, "waits", verified="waits")
        pass_time(monkeypatch, schedulers.BELIEVED_AFTER_S)
    assert not was_deleted(job)


def test_a_job_whose_node_is_silent_is_ended_and_the_node_blamed(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grid Engine lets it run on, and keeps it after its script has ended."""
    Path("queues").write_text("fine", encoding="ascii")
    assert not state(job, "before-death")
    Path("queues").write_text("died", encoding="ascii")
    assert not state(job, "died")
    pass_time(monkeypatch, schedulers.BELIEVED_AFTER_S)
    assert state(job, "died")
    assert was_deleted(job)
    assert (end_of(job).kind, end_of(job).nodes) == ("node", ("vn4",))


def test_a_job_about_which_grid_engine_says_nothing_is_lost(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job._jobid = "7"
    Path("jobs").unlink()
    job.scheduler.poll(job)
    assert not job.finished()
    pass_time(monkeypatch, 180.0)
    job.scheduler.poll(job)
    assert job.finished()
    assert end_of(job).kind == "lost"
