"""A job that is run again: new marks for all that must never come twice, no old counters, a fresh copy submitted."""

import re
from pathlib import Path

from railyard.rfm.checks.measure_again import Again
from railyard.rfm.checks.runner import COUNTERS

MARK = "1a2b3c4d"
TAG, OTHER = f"{MARK}-18a0b1c2d3e4", f"{MARK}-18a0b1c2d3e5"
SCRIPT = f"""\
#!/bin/sh
reader.sh {TAG} benchmark --name {MARK}-short --tag={TAG}
reader.sh {OTHER} benchmark 9f9f9f9f-18a0b1c2d3e4
"""


class Job:
    """What a job of ReFrame does for this: it is submitted once, in its stage directory."""

    script_filename = "job.sh"

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.seen: tuple[Path, str] | None = None

    def submit(self) -> None:
        self.calls = [*self.calls, "submit"]
        self.seen = Path.cwd(), Path(self.script_filename).read_text(encoding="utf-8")

    def wait(self) -> None:
        self.calls = [*self.calls, "wait"]


def staged(folder: Path) -> Path:
    (folder / COUNTERS).mkdir()
    for node in ("vn1", "vn2"):
        (folder / COUNTERS / f"{node}.counters").write_text(f"railyard-counters 1 {TAG}\n", encoding="ascii")
    (folder / "job.sh").write_text(SCRIPT, encoding="utf-8")
    return folder


def test_every_marked_word_is_new_and_the_same_wherever_it_was_the_same(tmp_path: Path) -> None:
    _, tag = Again(Job(), staged(tmp_path), MARK).run(TAG)
    assert re.fullmatch(rf"{MARK}-[0-9a-f]{{10,}}", tag)
    text = (tmp_path / "job.sh").read_text(encoding="utf-8")
    (other,) = {word for word in re.findall(rf"{MARK}-[0-9a-f]{{10,}}", text) if word != tag}
    assert {tag, other}.isdisjoint({TAG, OTHER})
    assert text == SCRIPT.replace(TAG, tag).replace(OTHER, other)


def test_old_counters_are_gone_before_the_job_runs(tmp_path: Path) -> None:
    class Looks(Job):
        def submit(self) -> None:
            assert list(Path(COUNTERS).iterdir()) == []
            super().submit()

    ran, _ = Again(Looks(), staged(tmp_path), MARK).run(TAG)
    assert ran.calls == ["submit", "wait"]


def test_a_fresh_copy_of_the_job_runs_in_the_stage_directory_each_time(tmp_path: Path) -> None:
    job = Job()
    again, before = Again(job, staged(tmp_path), MARK), Path.cwd()
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
