"""Slurm's own records, kept by our own runs (tests/e2e/test_slurm.py says how): a file's name is what ended the job.

There is no case before they are made. A file has the line of `scontrol -o show job` and those of `scontrol -o
show nodes`; ``none`` ran to its end.
"""

from pathlib import Path

import pytest

from railyard.nodestate import parse_nodes
from railyard.schedulerstate import ended, parse_job

RECORDS = sorted((Path(__file__).parent / "recordings" / "slurm").glob("*.txt"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_is_what_its_name_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    job, nodes = parse_job(text), parse_nodes(text)
    assert job is not None
    assert job.is_final
    assert [node.name for node in nodes] == ["vn1", "vn2", "vn3", "vn4"]
    found = ended(job, nodes)
    assert ("none" if found is None else found.kind) == path.stem.split("-")[0]
    if path.stem == "node":
        assert found is not None
        assert found.nodes == ("vn2",)
