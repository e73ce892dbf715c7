"""What Grid Engine 8.1.9 said of jobs and queues on the virtual cluster: a file's name is what had become of the job.

All are our own, of jobs that slept or exited, from 30 November 2026: ``qstat-*.xml`` is `qstat -xml -g t`,
``qacct-*.txt`` is `qacct -j JOB`, ``qstat-j-*.txt`` is `qstat -j JOB` (without the line sge_o_path), ``verify-*.txt``
is `qalter -w v JOB`, ``queues-*.xml`` is `qstat -f -xml -explain aAcE`, and ``refused.txt`` has what `qsub` refused,
and how. The hosts are the virtual cluster's. ``qacct-no-slot.txt`` is of a job that started more steps on a node than
it had slots there, as the project's own soak over two rails first did. Of ``killed-with-processes`` somebody killed the
script while two processes of it ran, in an environment without accounting_summary. ``queues-alarm`` is of queues whose
load is above their load_thresholds.
"""

import re
from datetime import datetime
from pathlib import Path

import pytest

from railyard.parsers.job_end import JobEnd
from railyard.parsers.sge import (
    SgeAccount,
    SgeJob,
    closed_queues,
    find_end,
    find_error,
    find_fixed_slots,
    find_reasons,
    find_unfit_run,
    node_end,
    parse_account,
    parse_job,
    parse_places,
    unfit_nodes,
    why_never,
)

RECORDED = Path(__file__).parents[1] / "recordings" / "sge"
#: The number of each recorded job.
NUMBERS = {
    "running": "1", "exit-3": "2", "exit-99": "3", "exit-100": "4", "time": "5", "killed": "6", "cancelled": "8",
    "deleted": "8", "waits": "11", "depends": "12", "held": "13", "too-many-nodes": "14", "uneven": "15",
    "too-many-cores": "16", "error": "18", "suspended": "19", "requeued-waits": "20", "requeued-runs": "20",
    "requeued": "20", "each-process": "22", "prolog": "23", "died": "30", "before-death": "30", "completed": "1",
    "no-slot": "3", "killed-with-processes": "3",
}  # fmt: skip


def text(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


def job(name: str, file: str = "") -> SgeJob:
    found = parse_job(text(f"qstat-{file or name}.xml"), NUMBERS[name])
    assert found is not None
    return found


#: A day of which no recorded job is older, in seconds since 1970.
THAT_DAY_S = datetime(2026, 11, 29).timestamp()


def account_in(words: str, number: str) -> SgeAccount | None:
    return parse_account(words, number, "root", THAT_DAY_S)


def account(name: str) -> SgeAccount:
    found = account_in(text(f"qacct-{name}.txt"), NUMBERS[name])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "file", "state", "phase", "nodes"),
    [
        ("running", "", "r", "runs", ("vn1", "vn2")),
        ("deleted", "", "dr", "runs", ("vn1", "vn2")),
        ("suspended", "", "s", "runs", ("vn1", "vn2")),
        ("before-death", "", "r", "runs", ("vn2", "vn4")),
        ("waits", "", "qw", "waits", ()),
        ("depends", "waits", "hqw", "waits", ()),
        ("held", "waits", "hqw", "waits", ()),
        ("error", "", "Eqw", "waits", ()),
        ("requeued-waits", "", "Rq", "waits", ()),
        ("requeued-runs", "", "Rr", "runs", ("vn3", "vn4")),
    ],
)
def test_a_job_waits_or_has_its_nodes(name: str, file: str, state: str, phase: str, nodes: tuple[str, ...]) -> None:
    found = job(name, file)
    assert (found.state, found.phase, found.nodes) == (state, phase, nodes)


def test_the_node_that_runs_the_script_is_first() -> None:
    rows = text("qstat-before-death.xml").partition("<queue_info>")[2].partition("</queue_info>")[0]
    parts = [f"<job_list{part}" for part in rows.split("<job_list")[1:]]
    found = parse_job(f"<job_info><queue_info>{''.join(reversed(parts))}</queue_info></job_info>", "30")
    assert found is not None and found.nodes == ("vn2", "vn4")


def test_a_job_that_is_over_is_not_among_those_of_qstat() -> None:
    assert parse_job(text("qstat-none.xml"), "1") is None
    assert parse_job(text("qstat-running.xml"), "11") is None
    assert parse_job("error: unable to contact qmaster", "1") is None


@pytest.mark.parametrize(
    ("name", "exit_code", "end"),
    [
        ("completed", 0, None),
        ("exit-3", 3, None),
        ("each-process", 3, None),
        ("no-slot", 255, None),
        (
            "time",
            137,
            JobEnd(
                "time",
                "job 5 was killed at its time limit on vn1 and vn2 (the scheduler's reason: failed 37: qmaster "
                "enforced h_rt, h_cpu, or h_vmem limit)",
            ),
        ),
        (
            "killed",
            137,
            JobEnd(
                "cancelled",
                "job 6 was cancelled on vn1 and vn2, or a process killed it: its script ended by signal 9 (the "
                "scheduler's reason: failed 100: assumedly after job)",
            ),
        ),
        (
            "cancelled",
            137,
            JobEnd(
                "cancelled",
                "job 8 was cancelled on vn1 and vn2, or a process killed it: its script ended by signal 9 (the "
                "scheduler's reason: failed 100: assumedly after job)",
            ),
        ),
        (
            "error",
            None,
            JobEnd(
                "cancelled",
                "job 18 was ended by Grid Engine on vn1 and vn2 (the scheduler's reason: failed 26: opening "
                "input/output file)",
            ),
        ),
    ],
)
def test_an_account_says_how_a_job_ended(name: str, exit_code: int | None, end: JobEnd | None) -> None:
    assert account(name).exit_code == exit_code
    assert find_end(account(name), ("vn1", "vn2")) == end


@pytest.mark.parametrize("name", ["cancelled", "killed-with-processes"])
def test_a_job_that_was_seen_being_deleted_may_have_been_killed_by_a_process(name: str) -> None:
    """Grid Engine deletes the other processes of a job whose script was killed: its state was ``dr``, too."""
    for is_deleted in (True, False):
        ended = find_end(account(name), ("vn1", "vn2"), is_deleted)
        assert ended is not None and ended.kind == "cancelled"
        assert ended.sentence.startswith(
            f"job {NUMBERS[name]} was cancelled on vn1 and vn2, or a process killed it: its script ended by signal 9 "
        )


def test_a_script_that_ends_before_its_other_processes_was_not_cancelled() -> None:
    assert find_end(account("exit-3"), ("vn1", "vn2"), is_deleted=True) is None


YEARS_AGO = text("qacct-exit-3.txt").replace(" 2026", " 2019").replace("jobnumber    2 ", "jobnumber    5 ")
ANOTHERS = (
    text("qacct-exit-3.txt")
    .replace("owner        root", "owner        mary")
    .replace("jobnumber    2 ", "jobnumber    5 ")
)


@pytest.mark.parametrize("other", [YEARS_AGO, ANOTHERS])
def test_an_earlier_job_of_the_same_number_decides_nothing(other: str) -> None:
    """Numbers begin again after 9999999, or with a new spool folder; accounts are kept for years."""
    assert "jobnumber    5 " in other
    own = text("qacct-time.txt")
    for both in (own + other, other + own):
        assert account_in(both.replace("ru_wallclock 3s", "ru_wallclock 900s"), "5") == account("time")
    assert account_in(other, "5") is None


def test_a_record_without_a_time_counts_if_there_is_no_other() -> None:
    """As of a job whose prolog failed: it may be of an earlier job of that number."""
    found = account("prolog")
    assert (found.failed, found.submitted_s) == (8, None)
    own = text("qacct-time.txt").replace("jobnumber    5 ", "jobnumber    23")
    for both in (own + text("qacct-prolog.txt"), text("qacct-prolog.txt") + own):
        later = account_in(both, "23")
        assert later is not None and later.failed == 37


def test_a_time_in_another_form_is_no_time() -> None:
    assert account("exit-3").submitted_s == datetime(2026, 11, 30, 6, 0, 40).timestamp()
    for words in ("11/30/2026 06:00:35", "Mon Foo 30 06:00:35 2026", "Mon Feb 30 06:00:35 2026", "-/-"):
        other = re.sub(r"(qsub_time +).*", rf"\g<1>{words}", text("qacct-exit-3.txt"))
        found = account_in(other, "2")
        assert found is not None and found.submitted_s is None


def test_the_record_of_the_script_wins_over_those_of_its_processes() -> None:
    """A process on another node may live longer than a script that was killed, and end well."""
    line = f"{'=' * 62}\n"
    local, other, own = text("qacct-killed-with-processes.txt").split(line)[1:]
    for old, new in (("100 : assumedly after job", "0"), ("137 ", "0 "), ("wallclock 2s", "wallclock 60s")):
        assert old in other
        other = other.replace(old, new)
    for order in ((local, other, own), (local, own, other)):  # one that is written late is told by its node
        found = parse_account("".join(f"{line}{part}" for part in order), "3", "root", THAT_DAY_S, "vn1")
        assert found is not None and (found.failed, found.wallclock_s) == (100, 3)


def test_another_limit_than_that_of_time_is_not_called_one() -> None:
    """h_cpu and h_vmem have the same number: sge_status(5)."""
    other = text("qacct-time.txt").replace("h_rt=5 ", "h_rt=500 ")
    found = account_in(other, "5")
    assert found is not None
    assert (find_end(found, ()) or JobEnd("lost", "")).kind == "limit"


def test_a_signal_at_the_time_limit_is_that_limit() -> None:
    """A sge_execd that enforces it itself leaves the number of a signal: sge_status(5)."""
    own = text("qacct-time.txt").replace("failed       37  :", "failed       100 :")
    found = account_in(own, "5")
    assert found is not None
    assert (find_end(found, ()) or JobEnd("lost", "")).kind == "time"


@pytest.mark.parametrize("failed", ["0  ", "100 : assumedly after job"])
def test_a_job_that_grid_engine_deletes_at_its_limit_was_not_cancelled(failed: str) -> None:
    """The sge_execd of another node was the first at the limit."""
    own = text("qacct-time.txt").replace("37  : qmaster enforced h_rt, h_cpu, or h_vmem limit", failed)
    found = account_in(own.replace("ru_wallclock 5s", "ru_wallclock 4s"), "5")
    assert found is not None
    assert (find_end(found, (), is_deleted=True) or JobEnd("lost", "")).kind == "time"


def test_a_job_that_never_began_has_no_account() -> None:
    assert account_in(text("qacct-cancelled-waiting.txt"), "9") is None
    assert account_in(text("qacct-exit-3.txt"), "22") is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("requeued-waits", "requeued"),
        ("requeued-runs", "requeued"),
        ("exit-99", "requeued"),
        ("suspended", "suspended"),
    ],
)
def test_a_job_that_runs_again_or_pauses_measures_nothing(name: str, kind: str) -> None:
    found = find_unfit_run(job(name))
    assert found is not None and found.kind == kind


@pytest.mark.parametrize("name", ["running", "deleted", "waits", "error"])
def test_any_other_job_is_let_go_on(name: str) -> None:
    assert find_unfit_run(job(name)) is None


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        (
            "waits",
            "(-l exclusive=true) cannot run because it offers only hc:exclusive=false; cannot run in PE "
            '"mpi-1" because it only offers 0 slots',
        ),
        ("held", "Job is in hold state"),
        ("depends", "job dropped because of job dependencies"),
        ("too-many-nodes", 'cannot run in PE "mpi-1" because it only offers 4 slots'),
        (
            "prolog",
            'queue instance "all.q@vn2" dropped because it is temporarily not available; (-l '
            "exclusive=true,hostname=vn2|vn3) cannot run because it offers only qf:hostname=vn1; cannot run on host "
            '"vn3" until clean up of a previous run has finished',
        ),
    ],
)
def test_why_a_job_waits_is_one_line(name: str, reasons: str) -> None:
    assert find_reasons(text(f"qstat-j-{name}.txt")) == reasons


def test_why_a_job_could_not_be_started_is_its_error() -> None:
    assert find_error(text("qstat-j-error.txt")) == (
        '11/30/2026 06:12:45 [0:44515]: error: can\'t open output file "/nonexistent/out": No such file or directory'
    )
    assert find_error(text("qstat-j-waits.txt")) is None


def test_what_can_never_run_is_told_from_what_only_waits() -> None:
    """`qalter -w v` says "no suitable queues" of a job that waits for an exclusive node, too."""
    assert why_never(text("verify-too-many-nodes.txt")) == 'cannot run in PE "mpi-1" because it only offers 4 slots'
    assert why_never(text("verify-uneven.txt")) == 'cannot run in PE "mpi-16" because it only offers 0 slots'
    assert why_never(text("verify-too-many-cores.txt")) == (
        "(-l exclusive=true,num_proc=99) cannot run because it offers only hl:num_proc=2.000000; cannot run in PE "
        '"mpi-1" because it only offers 0 slots'
    )
    for name in ("waits", "depends", "held", "too-many-nodes-busy"):
        assert why_never(text(f"verify-{name}.txt")) is None
    assert why_never("") is None


def test_a_node_that_can_run_no_job_is_named_with_what_is_said_of_it() -> None:
    assert unfit_nodes(text("queues-fine.xml")) == ()
    assert unfit_nodes(text("queues-node-disabled.xml")) == (("vn3", "all.q is disabled there (state d)"),)
    assert unfit_nodes(text("queues-died.xml")) == (("vn4", "all.q is unreachable there (state u)"),)
    assert unfit_nodes(text("queues-error.xml")) == (
        (
            "vn2",
            "all.q is in error there (state E): queue all.q marked QERROR as result of job 23's failure at host vn2",
        ),
    )
    assert unfit_nodes(text("queues-died.xml"), ["other.q"]) == ()


def test_a_node_with_another_queue_that_is_open_can_run_jobs() -> None:
    other = text("queues-node-disabled.xml").replace("all.q@vn2", "short.q@vn3")
    assert unfit_nodes(other) == ()
    assert unfit_nodes(other, ["all.q"]) == (("vn3", "all.q is disabled there (state d)"),)


def test_a_queue_that_is_disabled_everywhere_is_closed() -> None:
    assert closed_queues(text("queues-disabled.xml")) == (("all.q", "it is disabled on all its nodes (state d)"),)
    for name in ("fine", "node-disabled", "error", "died"):
        assert closed_queues(text(f"queues-{name}.xml")) == ()


def test_a_job_whose_node_is_silent_names_it() -> None:
    silent = [place.node for place in parse_places(text("queues-died.xml")) if place.is_silent]
    assert node_end(job("died"), silent) == JobEnd(
        "node", "job 30 was ended because a node died: the sge_execd of vn4 does not answer", ("vn4",)
    )


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ({"mpi-1": "1", "mpi-2": "2"}, "mpi-{num_slots_per_node}"),
        ({"1per": "1", "16per": "16", "smp": "$pe_slots"}, "{num_slots_per_node}per"),
        ({"mpi1": "1", "mpi2": "2", "x-1": "1", "x-2": "2", "x-4": "4"}, "x-{num_slots_per_node}"),
        # One slot on each node is asked for most often, more by fewer checks.
        ({"mpi-2": "2", "mpi-4": "4"}, None),
        ({"mpi-1": "1"}, None),
        ({"mpi": "$fill_up", "make": "$round_robin"}, None),
        # Their names do not say their number: 11 and 21 are not "1" with one for a slot on each node.
        ({"mpi-11": "1", "mpi-21": "1", "mpi-12": "2"}, None),
        ({"one": "1", "two": "2"}, None),
        ({}, None),
    ],
)
def test_environments_of_a_fixed_number_of_slots_are_told_by_name_and_rule(
    rules: dict[str, str], name: str | None
) -> None:
    assert find_fixed_slots(rules) == name


@pytest.mark.parametrize(("word", "limit_s"), [("80", 80), ("00:01:20", 80), ("1:0:0", 3600), ("2:5", 125)])
def test_a_limit_is_read_in_seconds_or_with_colons(word: str, limit_s: int) -> None:
    found = account_in(text("qacct-completed.txt").replace("h_rt=60", f"h_rt={word}"), NUMBERS["completed"])
    assert found is not None
    assert found.limit_s == limit_s
