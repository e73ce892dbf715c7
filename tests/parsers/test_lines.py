"""What every parser does with a line before it knows the tool. All texts are synthetic."""

import re

import pytest

from railyard.parsers import detect
from railyard.parsers.lines import (
    DECIMAL,
    WHOLE,
    Line,
    Run,
    Scanner,
    clean_text,
    each_line,
    filled_lines,
    first_line,
    is_failure,
    is_no_next_size,
    is_whole,
    lines_of,
    number,
    remember_matches,
    run_pattern,
    texts_of,
)

ROWS = run_pattern(WHOLE, DECIMAL)
TAG = "Mon Feb 19 15:13:08 2018[1,0]<stdout>: "


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [(1, "", True)]),
        ("a\nb", [(1, "a", True), (2, "b", False)]),
        ("a\r\nb\r", [(1, "a", True), (2, "b", False)]),
        ("a\r\r\n\r\n", [(1, "a", True), (2, "", True)]),
        ("a\x0cb\nc\n", [(1, "a\x0cb", True), (2, "c", True)]),
        (f"{TAG}a\n\x1b[31mb\x1b[0m\n", [(1, "a", True), (2, "b", True)]),
    ],
)
def test_only_a_newline_ends_a_line_and_tags_and_colours_go(text: str, lines: list[tuple[int, str, bool]]) -> None:
    assert lines_of(text) == lines
    assert list(each_line(text)) == lines
    assert list(Scanner(text)) == lines
    assert texts_of(text) == [line for _, line, _ in lines] + ([] if lines and not lines[-1][2] else [""])


def test_filled_lines_keep_their_numbers_and_whether_they_are_cut() -> None:
    assert list(filled_lines(" a \n\t\n\nb")) == [(Line(1, " a ", True), "a"), (Line(4, "b", False), "b")]
    assert list(filled_lines("a\n")) == [(Line(1, "a", True), "a")]
    assert list(filled_lines(" \n ")) == []


def test_a_cleaned_text_is_not_cleaned_again_and_folds_behind_a_newline() -> None:
    text = clean_text(f"{TAG}A\r\nB")
    assert (text, text.folded_text) == ("A\nB", "\na\nb")
    assert clean_text(text) is text


@pytest.mark.parametrize("length", [10, 5000])
def test_what_is_remembered_is_what_the_pattern_says(length: int) -> None:
    is_own = remember_matches(re.compile("own"))
    for _ in range(2):
        assert is_own(f"own{'x' * length}")
        assert not is_own(f"no own{'x' * length}")


def test_rows_that_stand_together_are_taken_at_once() -> None:
    scanner = Scanner("# Size\n1  2.00\n 22\t3.5 \n3 x\n4  5.00\n5  6.00")
    assert next(scanner) == (1, "# Size", True)
    assert scanner.run(ROWS) == Run(2, "1  2.00\n 22\t3.5 \n")
    assert scanner.run(ROWS) is None
    assert scanner.peek() == next(scanner) == (4, "3 x", True)
    assert scanner.run(ROWS) == Run(5, "4  5.00\n")
    # the last line may be cut: it does not belong to a run of rows
    assert (scanner.run(ROWS), list(scanner), scanner.peek()) == (None, [Line(6, "5  6.00", False)], None)


def test_a_run_has_64_rows_at_most_and_gives_its_lines() -> None:
    run = Scanner("1 2.0\n" * 70).run(ROWS)
    assert run is not None
    assert [line.number for line in run.lines()] == list(range(1, 65))
    assert set(run.lines()) == {Line(number, "1 2.0", True) for number in range(1, 65)}


def test_the_first_line_that_is_not_blank_is_found() -> None:
    assert first_line("\n \nhere\n") == (3, "here", True)
    assert first_line(" \n") == (0, "", True)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *(("7", 7), ("-7", -7), ("+7", 7), ("7.50", 7.5), ("1e3", 1000.0), ("9" * 24, int("9" * 24))),
        *(("", None), ("٣", None), ("1e999", None), ("nan", None), ("7.", None), ("0x7", None), ("9" * 25, None)),
        *(("1.517e+0", None), ("1.517e+04", 15170.0), ("1e-5", None), ("1E5", 1e5)),  # an exponent that was cut
        *(("²", None), ("1²", None), ("-9", -9), ("-" + "9" * 24, -int("9" * 24))),
    ],
)
def test_a_word_is_a_number_or_none(word: str, value: float | None) -> None:
    assert number(word) == value
    assert type(number(word)) is type(value)


def test_a_line_is_whole_only_with_the_tables_decimals() -> None:
    assert is_whole(Line(1, "1 2.00", True), 2)
    assert is_whole(Line(1, "1 2.00000", True), 2)
    assert is_whole(Line(1, "1 nan", True), 2)
    assert is_whole(Line(1, "1 20", True), 0)
    assert not is_whole(Line(1, "1 2.0", True), 2)  # a newline of something else may follow a cut number
    assert not is_whole(Line(1, "1 20", True), 2)
    assert is_whole(Line(1, "1 2.00", False), 2)
    assert not is_whole(Line(1, "1 2.0", False), 2)
    assert not is_whole(Line(1, "1 20", False), 0)


@pytest.mark.parametrize(
    "text",
    [
        *("=   BAD TERMINATION OF ONE OF YOUR PROCESSES", "=   KILLED BY SIGNAL: 9", "=   EXIT CODE: 139"),
        *("[proxy] EXIT STRING: Killed", "rank 1 exited on signal 9", "task 0 terminated with signal 11"),
        *(
            "mpirun noticed that process rank 0",
            "mpiexec: killing job...",
            "mpirun was unable to find",
            "prterun detected",
        ),
        *("PRTE has lost communication with a remote daemon", "2 total processes killed", "1 process aborted"),
        *("Segmentation fault", "Bus error", "Caught signal 11", "Signal: Bus error (7)", "Signal code:  (128)"),
        *("(core dumped)", "MPI_ABORT was invoked", "Fatal error in PMPI_Send", "Abort(1090575) on node 0", "Aborting"),
        *("*** An error occurred in MPI_Recv", "MPI_ERRORS_ARE_FATAL", "MPI_ERR_TRUNCATE", "Assertion x failed"),
        *("error while loading shared libraries", "bash: osu_bw: command not found", "could not access a file"),
        *("srun: error: node1", "slurmstepd: error: x", "JOB 7 CANCELLED AT 2020 DUE TO TIME LIMIT", "oom-kill event"),
        *("Out Of Memory", "Killed", "UCX  ERROR x", "UCX  FATAL x", "error polling LP CQ", "REMOTE ACCESS ERROR"),
        *("RETRY EXCEEDED ERROR", "transport retry count exceeded", "Integrity check failed", "DATA VALIDATION ERROR"),
        *("invalid benchmark name", "# NO SUCCESSFUL EXECUTIONS", "readv failed: Connection timed out"),
        *(
            "host is unreachable",
            "Forwarding signal 18 to job",
            "failed status",
            "handle_cq_error",
            "1 task(s) had exit",
        ),
        "flux-job: task exception",
    ],
)
def test_what_ends_a_run_before_its_time_is_a_failure(text: str) -> None:
    assert is_failure(f"[node1:77] {text}")
    assert not is_failure("x" * 2000 + text)


@pytest.mark.parametrize(
    "text", ["UCX  WARN  retry", "skilled work", "# Signalling rate 25 Gb/s", "the default fault", "#---"]
)
def test_a_line_with_a_word_like_one_of_a_failure_is_none(text: str) -> None:
    assert not is_failure(text)


OSU = "# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n2097152    12100.11\n4194304    12193.20\n"
IMB = (
    "# Benchmarking PingPong\n# #processes = 2\n       #bytes #repetitions      t[usec]   Mbytes/sec\n"
    "      2097152           20       185.31     11317.00\n      4194304           10       361.75     11594.48\n"
)


@pytest.mark.parametrize("table", [OSU, IMB])
@pytest.mark.parametrize(
    ("line", "complete"),
    [("1796083200", True), ("0", True), ("64", True), ("12345678", True), ("16777216", True), ("8388608", False)],
)
def test_a_number_behind_a_table_is_no_size_that_was_cut_off_its_row(table: str, line: str, complete: bool) -> None:
    (found,) = detect.parse(f"{table}{line}\n").tables
    assert (len(found.rows), found.complete) == (2, complete)


@pytest.mark.parametrize(
    ("sizes", "number", "expected"),
    [
        ([1, 2, 4], "64", True),  # nproc below `osu_latency -m 1:4`
        ([1, 2, 4], "8", False),
        ([64, 4096, 1048576], "4194304", False),  # sizes that someone chose: any may come next
        ([64, 4096, 1048576], "1796083200", True),
        ([1048576], "1796083200", True),
        ([1048576], "16777216", False),
        ([], "64", False),
        ([1, 2, 4], "64.0", False),
        ([1, 2, 4], "9" * 5000, False),
    ],
)
def test_only_the_double_comes_next_where_sizes_doubled(sizes: list[int], number: str, expected: bool) -> None:
    assert is_no_next_size([number], sizes) is expected
