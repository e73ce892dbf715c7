"""Slurm's own records of jobs on the virtual cluster, as it printed them: a file's name is what ended the job.

A file has the line of `scontrol -o show job` and those of `scontrol -o show nodes`; ``none`` ran to its end. They are
from jobs that only slept (Slurm 22.05.8), with paths and kernel masked; tests/e2e/test_slurm.py can keep those of
measured runs. Newer ones end with what `squeue -a -j ID -o "%i|%T|%r|%N|%M"` printed at that moment:

- ``suspended``: `scontrol suspend` of a running job, then `scontrol resume` (``-resumed``), then its end.
- ``several-array``: `sbatch --array=0-1`, waiting, running, ended; ``several-heterogeneous``: `sbatch -N1 : -N1`.
- ``completing``: an Epilog in slurm.conf that sleeps for 25 s on vn2 alone; ``none-completed`` is that job's end.

There is no accounting database there, so sacct knew none of these jobs.
"""

from pathlib import Path

import pytest

from railyard.parsers.job_end import JobEnd
from railyard.parsers.slurm import find_end, parse_job, parse_nodes, stuck_end

#: Records of jobs that had not ended.
UNENDED = {
    "completing", "requeued", "several-array", "several-array-running", "several-heterogeneous", "suspended",
    "suspended-resumed",
}  # fmt: skip
RECORDS = sorted((Path(__file__).parents[2] / "recordings" / "slurm").glob("*.txt"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
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
    text = next(path for path in RECORDS if path.stem == "completing").read_text(encoding="utf-8")
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
