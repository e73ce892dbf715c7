"""Slurm's own records of jobs on the virtual cluster, as it printed them: a file's name is what ended the job.

A file has the line of `scontrol -o show job` and those of `scontrol -o show nodes`; ``none`` ran to its end. They are
from jobs that only slept, with paths and kernel masked; those in a folder are of the Slurm of its name, the others of
22.05.8. tests/e2e/test_slurm.py can keep those of measured runs. Newer ones end with what
`squeue -a -j ID -o "%i|%T|%r|%N|%M"` printed at that moment:

- ``suspended``: `scontrol suspend` of a running job, then `scontrol resume` (``-resumed``), then its end.
  ``suspended-by-signal``: `scancel --signal=STOP`; after `scancel --signal=CONT` its record is as if nothing had been.
- ``killed``: `kill -9` of the process of a job's script.
- ``several-array``: `sbatch --array=0-1`, waiting, running, ended; ``several-heterogeneous``: `sbatch -N1 : -N1`.
- ``blocked-…``: the job waits for what only a person can change; ``waits-…``: it begins when others have ended.
  ``blocked-reservation-deleted``: its reservation of one minute is over.
- ``requeued-held``: `scontrol requeuehold` of a running job.
- ``completing``: an Epilog in slurm.conf that sleeps for 25 s on vn2 alone; ``none-completed`` is that job's end.

There is no accounting database there, so sacct knew none of these jobs. ``sacct`` is of other jobs, with slurmdbd and
MariaDB on the first node.
"""

import re
from pathlib import Path

import pytest

from railyard.parsers.job_end import JobEnd
from railyard.parsers.slurm import find_end, parse_accounting, parse_job, parse_nodes, stuck_end

#: Records of jobs that had not ended.
UNENDED = {
    "completing", "requeued", "requeued-held", "several-array", "several-array-running", "several-heterogeneous",
    "suspended", "suspended-by-signal", "suspended-resumed",
}  # fmt: skip
FOLDER = Path(__file__).parents[2] / "recordings" / "slurm"
#: Files of other words than a job's, read below and in the tests of what reads them.
OTHERS = ("nodes", "partitions", "topology", "refused", "no-such-job", "sacct")
ALL = sorted(FOLDER.rglob("*.txt"))
RECORDS = [path for path in ALL if not path.stem.startswith(("blocked", "waits", *OTHERS))]
WAITING = [path for path in ALL if path.stem.startswith(("blocked", "waits"))]


def record_name(path: Path) -> str:
    return str(path.relative_to(FOLDER).with_suffix(""))


@pytest.mark.parametrize("path", RECORDS, ids=record_name)
def test_a_record_is_what_its_name_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    job, nodes = parse_job(text), parse_nodes(text)
    assert job is not None
    assert job.is_final is (path.stem not in UNENDED)
    assert job.is_completing is (path.stem == "completing")
    assert [node.name for node in nodes] == ["vn1", "vn2", "vn3", "vn4"]
    found = find_end(job, nodes)
    kind = "none" if path.stem == "completing" else path.stem.split("-")[0]
    assert ("none" if found is None else found.kind) == kind
    if path.stem == "node":
        assert found is not None
        assert found.nodes == ("vn2",)


def test_the_record_of_a_job_that_is_over_names_the_node_that_keeps_it() -> None:
    text = (FOLDER / "completing.txt").read_text(encoding="utf-8")
    job, nodes = parse_job(text), parse_nodes(text)
    assert job is not None and job.nodes == "vn2", "of its two nodes the one that has not given it up"
    keeps = [node for node in nodes if node.name == job.nodes]
    assert [node.state for node in keeps] == ["IDLE+COMPLETING"]
    sentence = "job 9 is over, and still COMPLETING after 10 min: not released by vn2"
    assert stuck_end(job, 600.0, keeps) == JobEnd("stuck", sentence, ("vn2",))


def test_a_job_that_was_suspended_keeps_the_time_of_it_when_it_goes_on_and_when_it_has_ended() -> None:
    for path in RECORDS:
        job = parse_job(path.read_text(encoding="utf-8"))
        assert job is not None and job.suspended is path.stem.startswith("suspended")


@pytest.mark.parametrize("path", WAITING, ids=record_name)
def test_a_job_without_nodes_waits_whatever_its_state_is_called(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    job = parse_job(text)
    assert job is not None and (job.is_waiting, job.is_final, job.nodes, job.exit_code) == (True, False, None, None)
    assert job.state == ("RESV_DEL_HOLD" if path.stem == "blocked-reservation-deleted" else "PENDING")
    # squeue says the same, with blanks where scontrol has low lines.
    assert f"|{job.state}|{job.reason}|".replace("_", " ") in text.replace("_", " ")


@pytest.mark.parametrize(
    ("name", "state", "exit_code", "nodes", "sentence"),
    [
        ("running", "RUNNING", None, "vn[1-2]", None),
        ("completed", "COMPLETED", 0, "vn[1-2]", None),
        ("exit-3", "FAILED", 3, "vn[3-4]", None),
        ("cancelled", "CANCELLED", 0, "vn[1-2]", "job 7 was cancelled on vn[1-2]"),
        # "None assigned" are no nodes.
        ("blocked", "PENDING", None, None, None),
    ],
)
def test_an_account_of_a_job_is_read(
    name: str, state: str, exit_code: int | None, nodes: str | None, sentence: str | None
) -> None:
    text = (FOLDER / "26.05.3/sacct.txt").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\$ sacct .*  # {name}\n(.*)$", text, re.MULTILINE)
    job = parse_accounting(row, "7")
    assert job is not None and (job.state, job.exit_code, job.nodes, job.reason) == (state, exit_code, nodes, None)
    found = find_end(job)
    assert (None if found is None else found.sentence) == sentence


def test_an_unknown_job_has_no_record() -> None:
    assert parse_job((FOLDER / "26.05.3/no-such-job.txt").read_text(encoding="utf-8")) is None


def test_what_a_person_typed_changes_no_field_of_a_record() -> None:
    """From 25.11 on the command line of the submission is in the record, after the fields that are read."""
    text = (FOLDER / "26.05.3/suspended-ended.txt").read_text(encoding="utf-8")
    assert "SubmitLine=/opt/slurm/bin/sbatch " in text
    typed = text.replace("--wrap sleep 4", "--comment JobState=FAILED NodeList=vn9 ExitCode=9:0")
    assert typed != text and parse_job(typed) == parse_job(text)


@pytest.mark.parametrize("release", ["", "26.05.3"])
def test_a_node_in_maintenance_and_a_drained_one_run_no_job(release: str) -> None:
    nodes = parse_nodes((FOLDER / release / "nodes-maintenance.txt").read_text(encoding="utf-8"))
    assert [node.unfit for node in nodes] == [None, None, "drained", "in maintenance"]
    assert nodes[2].reason == "bad cable"


def test_a_node_of_a_block_that_another_job_has_for_itself_can_run_a_job_later() -> None:
    nodes = parse_nodes((FOLDER / "26.05.3/nodes-blocked.txt").read_text(encoding="utf-8"))
    assert [(node.state, node.unfit) for node in nodes] == [
        ("ALLOCATED", None), ("IDLE+BLOCKED", None), ("IDLE", None), ("IDLE", None),
    ]  # fmt: skip
    assert [node.is_ready for node in nodes] == [False, False, True, True]
