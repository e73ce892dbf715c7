"""What becomes of a group, by the files that its job left."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.cluster.rolling.collect import (
    Part,
    clock_off,
    clock_words,
    duration,
    part_of,
    summary,
    why_not_together,
)
from railyard.cluster.rolling.under_scheduler import KeptGroup, KeptRun, KeptStep
from railyard.job.batch import State

OUTPUT = """\
# railyard-pairs 1 sample: 2 ranks, 1 rounds
# size 4194304 window 8 repeats 4 warm-up 1 exchanges 20 of 8 bytes
# rank 0 on n1.cluster
# rank 1 on n2.cluster
# round first second forward_MB/s backward_MB/s latency_us
1 0 1 11800.00 11790.00 1.50
# end: 1 pairs
"""
PMI2 = Path(__file__).parents[2] / "recordings/failed/mpich5.0.2-pmi2-of-slurm22.05.8.err"
SUBMITTED = 1_795_000_000.0
#: What the clock says as a group is looked at: an hour and a half later.
NOW = SUBMITTED + 5400
RUN = KeptRun(
    "R1", "0.1.0", "made", "eth", "openmpi", 2, "striping", 4194304, ("4194304", "8", "4", "1", "20"), "R1", SUBMITTED,
    20, 0.0, 0, (KeptStep("sample", (KeptGroup(("n1", "n2"), "7_1"), KeptGroup(("n3", "n4"), "7_2")), array="7"),),
)  # fmt: skip
ENDED = State("ended", "COMPLETED")


@pytest.fixture
def group(tmp_path: Path) -> Callable[..., Part]:
    """Return what looks at a group whose job left these files; what is not named is as a good job leaves it."""

    def collect_part(
        output: str = OUTPUT,
        begun: str = f"R1 made 0.1.0 {int(SUBMITTED) + 600}\n",
        end: str | None = f"R1 0 {len(OUTPUT)} {int(SUBMITTED) + 630}\n",
        errors: str = "",
        state: State | None = ENDED,
        words: str = "",
        run: KeptRun = RUN,
    ) -> Part:
        own = tmp_path / "sample/1"
        own.mkdir(parents=True, exist_ok=True)
        files = {"pairs.out": output, "pairs.err": errors, "begun": begun, "end": end}
        for name, text in files.items():
            (own / name).unlink(missing_ok=True)
            if text:
                (own / name).write_text(text, encoding="utf-8")
                at = SUBMITTED + (630 if name == "end" else 600)
                os.utime(own / name, (at, at))
        return part_of(tmp_path, run, run.steps[0], 1, state, NOW, words)

    return collect_part


def test_a_group_is_whole_by_its_end_and_all_bytes_of_its_output(group: Callable[..., Part]) -> None:
    part = group()
    assert (part.kind, part.words, part.clock_off_s) == ("whole", "", None)
    assert part.table is not None
    assert part.table.rows == ((1, 0, 1, 11800.0, 11790.0, 1.5),)
    assert (part.began, part.ended) == (SUBMITTED + 600, SUBMITTED + 630)


@pytest.mark.parametrize(
    ("left", "kind", "words"),
    [
        (
            {"end": f"R1 0 {len(OUTPUT) + 9} 1795000630\n"},
            "cut",
            f"its output has {len(OUTPUT)} of {len(OUTPUT) + 9} bytes",
        ),
        ({"output": ""}, "cut", f"its output is missing, and had {len(OUTPUT)} bytes"),
        (
            {"end": f"R1 124 {len(OUTPUT)} 1795000630\n", "errors": "\nslurmstepd: error: CANCELLED\n"},
            "broken",
            "it ended with exit code 124: slurmstepd: error: CANCELLED",
        ),
        (
            {"output": "\n", "end": "R1 1 1 1795000630\n", "errors": PMI2.read_text(encoding="utf-8")},
            "lost",
            "a bug of the launcher (mpi/pmi2) ended its start twice, so it was not measured",
        ),
        (
            {"output": OUTPUT.replace("# end: 1 pairs\n", ""), "end": f"R1 0 {len(OUTPUT) - 15} 1795000630\n"},
            "broken",
            "its output has no whole table, though its job ended well",
        ),
        (
            {"output": "Segmentation fault\n", "end": "R1 0 19 1795000630\n"},
            "broken",
            "its output is not from railyard-pairs (line 1: found 'Segmentation fault', expected output of "
            'railyard-pairs: "# railyard-pairs 1 NAME: … ranks")',
        ),
        ({"end": f"R9 0 {len(OUTPUT)} 1795000630\n"}, "foreign", "its files are of another run (R9)"),
        ({"begun": "R9 made 0.1.0 1795000600\n", "end": None}, "foreign", "its files are of another run (R9)"),
        (
            {"begun": "R1 other 0.1.0 1795000600\n"},
            "foreign",
            "its files are of the system other, expected made",
        ),
        ({"begun": "R1 made 0.0.9 1795000600\n"}, "foreign", "its files are of Railyard 0.0.9, expected 0.1.0"),
        (
            {"output": OUTPUT.replace("n2.", "n9."), "end": f"R1 0 {len(OUTPUT)} 1795000630\n"},
            "foreign",
            "its job had n9.cluster, which it was not given",
        ),
        (
            {"end": None, "state": State("ended", "TIMEOUT")},
            "lost",
            "its job ended (TIMEOUT), before it had ended its measurement",
        ),
        ({"end": None, "state": ENDED, "words": "job 7_1 was preempted"}, "lost", "job 7_1 was preempted"),
        (
            {"end": None, "begun": "", "state": None},
            "lost",
            "the scheduler does not know its job any more, before it began",
        ),
        (
            {"end": None, "begun": "", "state": State("waits", "PENDING", "Resources")},
            "waits",
            "its job waits (Resources)",
        ),
        ({"end": None, "state": State("runs", "RUNNING")}, "runs", "its job runs"),
        # The end is written in one piece; half a line is none.
        ({"end": "R1 0 30", "state": State("runs", "COMPLETING")}, "runs", "its job runs"),
    ],
)
def test_what_is_not_whole_is_said(group: Callable[..., Part], left: dict[str, object], kind: str, words: str) -> None:
    part = group(**left)
    assert (part.kind, part.words, part.table) == (kind, words, None)


def test_a_group_without_a_job_says_why(group: Callable[..., Part]) -> None:
    step = RUN.steps[0].with_group(1, KeptGroup(("n1", "n2"), "", "the scheduler refused its nodes: Invalid node name"))
    part = group(end=None, begun="", run=RUN.with_step(step))
    assert (part.kind, part.words) == ("lost", "the scheduler refused its nodes: Invalid node name")


@pytest.mark.parametrize(
    ("began", "ended", "written", "started", "off"),
    [
        (600, 630, 600, None, None),
        (600, 630, None, None, None),
        # A clock an hour behind, by the file server, and by the time at which the job can have begun at all.
        (600 - 3600, 630 - 3600, 600, None, -3600),
        (600 - 3600, 630 - 3600, None, None, -3000),
        # An hour ahead: more than now.
        (5000 + 3600, 5030 + 3600, None, None, 3230),
        # By the scheduler's clock; what a prolog took is no clock's.
        (600, 630, None, 4200, -3600),
        (600, 630, None, 300, None),
        (None, None, None, None, None),
    ],
)
def test_a_clock_that_is_off_shows(
    began: float | None, ended: float | None, written: float | None, started: float | None, off: float | None
) -> None:
    def instant(seconds: float | None) -> float | None:
        return None if seconds is None else SUBMITTED + seconds

    assert clock_off(instant(began), instant(ended), instant(written), instant(started), SUBMITTED, NOW) == off


def test_a_clock_an_hour_off_is_one_sentence_and_no_values_are_lost(group: Callable[..., Part]) -> None:
    late = int(SUBMITTED) - 3000
    part = group(begun=f"R1 made 0.1.0 {late}\n", end=f"R1 0 {len(OUTPUT)} {late + 30}\n")
    assert part.kind == "whole"
    assert list(clock_words([part])) == [
        "the clock of group 1 (n1) is 1 h 0 min behind: its values count, its times do not"
    ]


def test_files_that_were_copied_later_show_no_clock(group: Callable[..., Part], tmp_path: Path) -> None:
    group()
    for name in ("begun", "end"):
        os.utime(tmp_path / "sample/1" / name, (NOW, NOW))
    assert part_of(tmp_path, RUN, RUN.steps[0], 1, ENDED, NOW).clock_off_s is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"system": "other"}, "R2: found system other, expected made as in R1; collect each by itself"),
        ({"fabric": "ib"}, "R2: found fabric ib, expected eth as in R1; collect each by itself"),
        ({"railyard": "0.0.9"}, "R2: found Railyard 0.0.9, expected 0.1.0 as in R1; collect each by itself"),
        (
            {"words": ("65536", "8", "4", "1", "20")},
            "R2: found the words of railyard-pairs 65536 8 4 1 20, expected 4194304 8 4 1 20 as in R1; collect each by "
            "itself",
        ),
    ],
)
def test_runs_of_different_systems_are_not_merged(change: dict[str, object], sentence: str) -> None:
    why_not_together([("R1", RUN), ("R3", RUN)])
    with pytest.raises(InputError) as raised:
        why_not_together([("R1", RUN), ("R2", replace(RUN, **change))])  # type: ignore[arg-type]
    assert str(raised.value) == sentence


def test_groups_are_counted_by_what_became_of_them() -> None:
    kinds = ["whole", "whole", "runs", "waits", "lost", "broken", "cut", "foreign"]
    parts = [Part("sample", n, ("n1",), Path(), kind) for n, kind in enumerate(kinds, start=1)]  # type: ignore[arg-type]
    assert summary(parts) == "2 of 8 groups measured, 1 run, 1 wait, 1 lost, 1 broke, 1 cut, 1 of another run"
    assert [duration(each) for each in (42, 300, 3600)] == ["42 s", "5 min", "1 h 0 min"]
