"""Slurm's own records of jobs on the virtual cluster, as it printed them: a file's name is what ended the job.

A file has the line of `scontrol -o show job` and those of `scontrol -o show nodes`; ``none`` ran to its end. They
are of jobs that only slept (Slurm 22.05.8), paths and kernel masked; tests/e2e/test_slurm.py can keep those
of measured runs.
"""

from pathlib import Path

import pytest

from railyard.parsers.slurm.jobs import ended, parse_job
from railyard.parsers.slurm.nodes import parse_nodes

RECORDS = sorted((Path(__file__).parents[2] / "recordings" / "slurm").glob("*.txt"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_is_what_its_name_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    job, nodes = parse_job(text), parse_nodes(text)
    assert job is not None
    assert job.is_final or path.stem == "requeued"
    assert [node.name for node in nodes] == ["vn1", "vn2", "vn3", "vn4"]
    found = ended(job, nodes)
    assert ("none" if found is None else found.kind) == path.stem.split("-")[0]
    if path.stem == "node":
        assert found is not None
        assert found.nodes == ("vn2",)
