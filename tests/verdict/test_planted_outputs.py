"""Faults planted in a healthy run's output, each beside a similar healthy output: live, and by `railyard judge`."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from railyard.base.wording import IMPOSSIBLE
from railyard.parsers import imb, osu
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.site.site import Site
from railyard.verdict.assess import Assessment
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.wording.run_rules import say_exited, say_reported
from tests.made.judged_run import SIZES, case_of, healthy_bytes, healthy_rates, imb_output, judge_output

M = 1 << 20
END = "\n# All processes entering MPI_Finalize\n"
RATES = healthy_rates("hsn", 1)
ONE = imb_output("imb/Uniband", RATES, 1)
HEAD, TABLE = ONE[: ONE.index("# Benchmarking")], ONE[ONE.index("# Benchmarking") : ONE.index(END)]
WHOLE = f"{HEAD}{TABLE}\n{TABLE}\n{TABLE}{END}"
Run = Callable[..., Assessment]


def table(rates: Mapping[int, float]) -> str:
    """Return one table of these rates."""
    text = imb_output("imb/Uniband", rates, 1)
    return text[text.index("# Benchmarking") : text.index(END)]


def three(first: str, *others: str) -> str:
    """Return an output of IMB with these tables, filled up to three with healthy ones."""
    tables = [first, *others, TABLE, TABLE, TABLE][: max(3, 1 + len(others))]
    return HEAD + "\n".join(tables) + END


def row(size: int) -> str:
    """Return the row of a size in the healthy table."""
    found = re.search(rf"^ +{size} .*\n", TABLE + "\n", re.MULTILINE)
    assert found
    return found[0]


@pytest.fixture
def run(virtual: Site) -> Run:
    """Return a function that assesses a run of three passes over all sizes that printed this."""

    def live(output: str, stderr: str = "", **evidence: Any) -> Assessment:
        case = case_of(
            virtual, "imb/Uniband", launch={"nodes": ("vn1", "vn2"), "ranks_per_node": 1},
            window=16, passes=3, sizes=SIZES, check="ImbUniband",
        )  # fmt: skip
        moved = {n: {d: (3 * a, 3 * b) for d, (a, b) in devices.items()} for n, devices in
                 healthy_bytes(("vn1", "vn2"), case.launch.meant, False).items()}  # fmt: skip
        return judge_output(case, output, imb.parse, moved, stderr=stderr, **evidence)

    return live


def judge_stored(virtual: Site, output: str, **options: Any) -> Judgement:
    parsed = with_wrong_lines(imb.parse(output), output)
    return judge(parsed, of_system(virtual, "hsn", stack="mpich"), **options)[0]


def test_the_healthy_output_passes(run: Run, virtual: Site) -> None:
    assert run(WHOLE).verdict.state == "pass", run(WHOLE).verdict.text
    assert judge_stored(virtual, WHOLE).state == "pass"
    assert judge_stored(virtual, WHOLE, sizes=SIZES).state == "pass"


def test_one_pass_that_stalled_is_left_out_by_the_median(run: Run) -> None:
    stalled = three(table({**RATES, M: RATES[M] / 10}))
    assert run(stalled).verdict.state == "pass"


NEGATIVE = f" {RATES[M]:.2f}", f"-{RATES[M]:.2f}"


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(
            three(table({**RATES, 4 * M: 10 * RATES[4 * M]})),
            marks=pytest.mark.fault(
                "output", "one of three tables ten times too high", f"in pass 1 of 3: {IMPOSSIBLE}bandwidth 477.8 MB/s"
            ),
            id="ten-times",
        ),
        pytest.param(
            three(TABLE, TABLE.replace(*NEGATIVE)),
            marks=pytest.mark.fault("output", "a negative value in one of three tables", "below 0: "),
            id="negative",
        ),
        pytest.param(
            three(TABLE.replace(row(4096), row(4096).replace(f" {RATES[4096]:.2f}", f"{RATES[4096] * 10:.2f}"))),
            marks=pytest.mark.fault(
                "output", "one bandwidth ten times too high, far below the limit", "contradict each other"
            ),
            id="ten-times-small",
        ),
        pytest.param(
            WHOLE.replace(row(M), ""),
            marks=pytest.mark.fault("output", "a size missing in all tables", "a row is missing"),
            id="row-missing",
        ),
        pytest.param(
            re.sub(r"(?m)^( +)([0-9]+)( +1 )", lambda m: f"{m[1]}{2 * int(m[2])}{m[3]}", WHOLE),
            marks=pytest.mark.fault("output", "all sizes doubled", "contradict each other"),
            id="doubled",
        ),
        pytest.param(
            WHOLE.replace(END, ""),
            marks=pytest.mark.fault(
                "output", "the end lines cut away", '"# All processes entering MPI_Finalize" is missing after'
            ),
            id="no-end",
        ),
        pytest.param(
            WHOLE[: WHOLE.rindex(".")] + "\n",
            marks=pytest.mark.fault("output", "the last number cut at its point, the end gone", "the output is cut"),
            id="last-number-cut",
        ),
        pytest.param(
            WHOLE.replace("Mbytes/sec", "MiB/sec"),
            marks=pytest.mark.fault(
                "output", "a heading in MiB/s", "a heading with MiB/sec, a column or unit not known"
            ),
            id="unit",
        ),
        pytest.param(
            three(TABLE.replace(f" {RATES[M]:.2f}", " nan")),
            marks=pytest.mark.fault("output", "a value that is NaN", "not finite: "),
            id="nan",
        ),
    ],
)
def test_a_planted_fault_fails_live_and_stored(run: Run, virtual: Site, output: str, promise: str) -> None:
    live, kept = run(output).verdict, judge_stored(virtual, output)
    assert live.state == "fail" and kept.state == "fail"
    assert promise in kept.sentence
    if promise != "a row is missing":  # a live run knows what it asked for
        assert any(promise in rule.sentence for rule in live.rules), live.text


@pytest.mark.fault("output", "a size missing in all tables of a run", "lacks 1 MiB: 12 message sizes were asked for")
def test_a_missing_size_is_named(run: Run, virtual: Site, promise: str) -> None:
    output = WHOLE.replace(row(M), "")
    assert run(output).verdict.text == f"imb/Uniband (line 4) {promise}"
    assert promise in judge_stored(virtual, output, sizes=SIZES).sentence


@pytest.mark.fault("output", "sizes shifted by one", "lacks 1 B and also has 16 MiB")
def test_shifted_sizes_are_named(run: Run, virtual: Site, promise: str) -> None:
    output = three(*[table({4 * size: rate for size, rate in RATES.items()})] * 3)
    assert promise in run(output).verdict.text
    assert promise in judge_stored(virtual, output, sizes=SIZES).sentence


@pytest.mark.fault("output", "the table of another run printed before", "the output has 4 tables, expected 3")
def test_more_tables_than_were_asked_for_fail(run: Run, promise: str) -> None:
    assert promise in run(three(table(RATES), TABLE, TABLE, TABLE)).verdict.text


@pytest.mark.fault(
    "output", "a table of another benchmark beside", "the output also has a table of imb/Biband (line 36)"
)
def test_a_table_of_another_benchmark_fails(run: Run, promise: str) -> None:
    other = TABLE.replace("Uniband", "Biband")
    assert promise in run(HEAD + f"{TABLE}\n{TABLE}\n{other}\n{TABLE}" + END).verdict.text


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(text, marks=pytest.mark.fault("output", f"{who} on the error output, exit code 0", text), id=who)
        for who, text in (
            ("MPICH's abort", "Abort(1) on node 1 (rank 1 in comm 0): Fatal error in internal_Send"),
            ("a crash", "./job.sh: line 12: 2290964 Segmentation fault"),
            ("Open MPI's crash", "mpirun noticed that process rank 1 with PID 31808 on node node2 exited on signal 11"),
        )
    ],
)
def test_a_failure_on_the_error_output_fails_a_perfect_output(run: Run, message: str, promise: str) -> None:
    found = run(WHOLE, stderr=f"a warning of no account\n{message}\n").verdict
    assert (found.state, found.rule) == ("fail", 1)
    assert found.text == f'{say_reported(1, "")}, line 2 of the error output: "{promise}"'


def test_warnings_on_the_error_output_fail_nothing(run: Run) -> None:
    stderr = "libibverbs: Warning: couldn't open config directory '/etc/libibverbs.d'.\nreal 5.93\n"
    assert run(WHOLE, stderr=stderr).verdict.state == "pass"


@pytest.mark.fault("output", "1 GB of noise behind the output", "the job's output has 1,073,741,824 bytes")
def test_an_output_that_was_read_in_part_fails_and_says_so(run: Run, promise: str) -> None:
    why = "the job's output has 1,073,741,824 bytes, at most 33,554,432 are judged"
    assert run(WHOLE, too_long=why).verdict.text == why and why.startswith(promise)
    late = run(WHOLE, too_long=why, exit_code=1).verdict
    assert late.sentence == say_exited(1, "") and late.remarks == (why,)


@pytest.mark.fault("output", "a benchmark that is ended for what it prints", "a job may print at most 1 GiB")
def test_a_job_that_was_ended_for_its_length_says_that_and_not_its_exit_code(run: Run, promise: str) -> None:
    cut = "the job's output was cut at 1,073,741,824 bytes: a job may print at most 1 GiB (printed-most)"
    long = "the job's output has 1,073,741,824 bytes, at most 33,554,432 are judged"
    for code in (153, 0, None):
        verdict = run(WHOLE, cut=cut, too_long=long, exit_code=code, timed_out=code is None).verdict
        assert (verdict.state, verdict.rule, verdict.suspects) == ("fail", 1, ())
        assert verdict.sentence == cut and promise in cut
        assert long in verdict.remarks


OSU = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n" + "".join(
    f"{size:<10}{rate:>18.2f}\n" for size, rate in RATES.items()
)


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(
            OSU[: OSU.rindex(".")] + "\n",
            marks=pytest.mark.fault("output", "OSU's last number cut at its point", "the output is cut"),
            id="cut",
        ),
        pytest.param(
            OSU.replace("MB/s", "MiB/s"),
            marks=pytest.mark.fault(
                "output", "OSU's heading in MiB/s", "a heading with Bandwidth (MiB/s), a column or unit not known here"
            ),
            id="unit",
        ),
    ],
)
def test_the_same_of_osu(virtual: Site, output: str, promise: str) -> None:
    target = of_system(virtual, "hsn", stack="mpich")
    (whole,) = judge(osu.parse(OSU), target)
    assert "cut" not in whole.sentence
    (found,) = judge(osu.parse(output), target)
    assert found.state == "fail" and promise in found.sentence
