"""Several runs of one benchmark in one output, each over its own sizes: each is judged, and a cut pass fails."""

from collections.abc import Sequence

import pytest

from railyard.parsers import osu, perftest
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.passes import Passes
from railyard.verdict.stored_outputs.target import of_link

RULE = "-" * 87
DOUBLED = tuple(2**n for n in range(23))
EDR = of_link("ib-edr")


def healthy(size: int) -> float:
    """Return a rate over EDR in MB/s."""
    return size / (0.3 + size / 12100)


def ib_write_bw(sizes: Sequence[int], share: float = 1.0, end: str = RULE) -> str:
    """Return what ib_write_bw prints over these sizes, at this share of a healthy rate; ``end`` closes its table."""
    rates = {size: healthy(size) * share for size in sizes}
    rows = "".join(
        f" {size:<10} 5000             {rate / 1.048576:.2f}           {rate / 1.048576:.2f}       {rate / size:.6f}\n"
        for size, rate in rates.items()
    )
    return (
        f"{RULE}\n                    RDMA_Write BW Test\n TX depth        : 128\n Link type       : IB\n{RULE}\n"
        f" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n{rows}{end}\n"
    )


def osu_bw(sizes: Sequence[int]) -> str:
    rows = "".join(f"{size:<10}{healthy(size):>18.2f}\n" for size in sizes)
    return f"# OSU MPI Bandwidth Test v7.3\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n{rows}\n"


def of_perftest(*outputs: str, passes: Passes = "all") -> list[Judgement]:
    text = "".join(outputs)
    return [*judge(perftest.parse(text), EDR, passes=passes, text=text)]


def of_osu(*outputs: str) -> list[Judgement]:
    text = "".join(outputs)
    return [*judge(osu.parse(text), EDR, text=text)]


def states(judged: Sequence[Judgement]) -> list[str]:
    return [one.state for one in judged]


@pytest.mark.parametrize("passes", ["all", "median"])
def test_each_run_of_a_loop_over_sizes_is_judged(passes: Passes) -> None:
    loop = [ib_write_bw([size]) for size in (4096, 65536, 1 << 20)]
    assert states(of_perftest(*loop, passes=passes)) == ["pass", "pass", "pass"]


def test_of_a_loop_the_run_that_is_too_slow_fails_and_no_other() -> None:
    judged = of_perftest(ib_write_bw([4096]), ib_write_bw([65536]), ib_write_bw([1 << 20], 0.5))
    assert states(judged) == ["pass", "pass", "fail"]
    assert judged[2].lines == (18,)
    assert judged[2].sentence.startswith("rule 5 (reference): bandwidth ")


def test_of_a_loop_that_ends_short_the_longest_run_is_asked_for_longer_messages() -> None:
    assert states(of_perftest(ib_write_bw([1024]), ib_write_bw([4096]))) == ["pass", "not-judged"]


def test_one_size_and_then_all_sizes_are_two_runs() -> None:
    assert states(of_perftest(ib_write_bw([65536]), ib_write_bw(DOUBLED[1:]))) == ["pass", "pass"]
    assert states(of_osu(osu_bw(DOUBLED[:10]), osu_bw(DOUBLED[10:]))) == ["pass", "pass"]


def test_runs_over_the_same_sizes_are_still_passes_of_one() -> None:
    loop = [ib_write_bw([65536]), ib_write_bw([1 << 20])] * 2
    assert [one.lines for one in of_perftest(*loop)] == [(2, 18), (10, 26)]


def test_a_run_of_a_loop_that_was_cut_fails() -> None:
    judged = of_perftest(ib_write_bw(DOUBLED[1:]), ib_write_bw(DOUBLED[1:12], end=""))
    assert states(judged) == ["pass", "fail"]
    assert judged[1].sentence.startswith("rule 1 (complete): ")


@pytest.mark.parametrize("outputs", [(DOUBLED, DOUBLED[:12]), (DOUBLED[:12], DOUBLED)])
def test_a_pass_that_ends_early_fails_where_the_tool_marks_no_end(outputs: tuple[Sequence[int], ...]) -> None:
    (judged,) = of_osu(*map(osu_bw, outputs))
    assert judged.state == "fail"
    assert "ends at 2 KiB, and the pass of line " in judged.sentence
    assert "it may be cut; --each judges each as a run of its own" in judged.sentence
