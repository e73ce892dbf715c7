"""nccl-tests and rccl-tests of every generation, errors in their texts, and NCCL's log. Texts are synthetic."""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.benchmarks.metrics import curves, key_of
from railyard.cli.commands.parse import to_json
from railyard.parsers import detect, nccl
from railyard.parsers.nccl_said import Job, Link, Log, LogSentence, Nic, Speaker
from railyard.parsers.output import ParsedOutput, ParseError, Remark, Table
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.results.report.output_text import parsed_text
from tests.parsers.samples import MADE


def made_text(name: str) -> str:
    return (MADE / f"nccl-{name}.txt").read_text(encoding="utf-8")


ALL_REDUCE = made_text("2.13-all_reduce")
TWO = made_text("2.17-alltoall-and-sendrecv")


def table_of(name: str) -> Table:
    (table,) = nccl.parse(made_text(name)).tables
    return table


def gb(table: Table, column: str) -> list[float]:
    return [round(value / 1000, 2) for value in table.column(column) if isinstance(value, int | float)]


def sentences(text: str) -> list[str]:
    return [failure.text for failure in with_wrong_lines(nccl.parse(text), text).failures]


# What each generation prints: program, version, ranks, rows, last busbw out of place and in place, GB/s


@pytest.mark.parametrize(
    ("name", "benchmark", "version", "ranks", "rows", "last"),
    [
        ("2.0-all_gather", "all_gather_perf", None, 8, 6, (75.08, 76.46)),
        ("2.0-alltoall", "alltoall_perf", None, 4, 3, (72.32, 73.63)),
        ("2.10-reduce", "reduce_perf", None, 4, 3, (96.42, 98.17)),
        ("2.13-all_reduce", "all_reduce_perf", None, 4, 6, (283.54, 286.40)),
        ("2.19-per-iteration", "all_reduce_perf", "2.19.6", 2, 3, (250.63, 253.32)),
        ("broadcast-srun-l", "broadcast_perf", None, 2, 3, (41.76, 42.21)),
        ("json", "all_reduce_perf", None, 8, 3, (302.34, 306.34)),
        ("rccl-2022", "all_reduce_perf", None, 4, 3, (144.63, 147.25)),
    ],
)
def test_each_generation_is_read(
    name: str, benchmark: str, version: str | None, ranks: int, rows: int, last: tuple[float, float]
) -> None:
    parsed = nccl.parse(made_text(name))
    (table,) = parsed.tables
    assert (table.benchmark, table.version, table.context["ranks"], len(table.rows)) == (
        *(benchmark, version, ranks, rows),
    )
    assert (gb(table, "busbw")[-1], gb(table, "busbw_in_place")[-1]) == last
    assert table.complete
    assert parsed.failures == ()
    assert table.units[table.columns.index("busbw")] == "MB/s"


def test_a_rank_whose_gpu_has_no_name_is_a_rank() -> None:
    """ROCm without its file of names (amdgpu.ids) prints none."""
    text = made_text("rccl-2022")
    name = table_of("rccl-2022").context["gpu"]
    assert isinstance(name, str) and name and name in text
    (table,) = nccl.parse(text.replace(f" {name}", "")).tables
    assert (table.context["ranks"], table.context["nodes"], table.context["gpu"]) == (4, 1, "")


def test_every_cell_of_a_row_is_read() -> None:
    table = table_of("2.13-all_reduce")
    assert table.columns == (
        *("size", "count", "time", "algbw", "busbw", "wrong"),
        *("time_in_place", "algbw_in_place", "busbw_in_place", "wrong_in_place", "validation"),
    )
    first = (1048576, 262144, 34.52, 30380.0, 45560.0, 0, 33.86, 30970.0, 46450.0, 0, True)
    assert table.rows[0] == pytest.approx(first)
    context = {"datatype": "float", "redop": "sum", "nodes": 2, "ranks": 4, "ranks_per_node": 2, "out_of_bounds": 0}
    assert context.items() <= table.context.items()
    assert table.context["avg_busbw_gb_s"] == 202.764


def test_sizes_that_the_ranks_cannot_share_are_printed_smaller_and_are_the_ones_asked_for() -> None:
    table = table_of("2.0-all_gather")
    assert table.column("size")[0] == 0  # 8 B of 4-byte elements over 8 ranks
    assert table.complete


def test_a_table_that_was_not_checked_has_no_validation_and_one_that_was_has() -> None:
    assert "validation" not in table_of("2.0-all_gather").columns
    assert "validation" not in table_of("2.10-reduce").columns  # a difference is not a count of wrong elements
    (alltoall, _) = nccl.parse(TWO).tables
    assert set(alltoall.column("wrong_in_place")) == {None}
    assert set(alltoall.column("validation")) == {True}


def test_two_programs_in_one_file_are_two_jobs_one_after_the_other() -> None:
    parsed = nccl.parse(TWO)
    assert [(table.benchmark, table.version, table.complete) for table in parsed.tables] == [
        ("alltoall_perf", "2.17.6", True),
        ("sendrecv_perf", "2.17.6", True),
    ]
    assert parsed.failures == ()
    assert parsed.nccl is not None
    jobs = parsed.nccl.jobs
    assert [(job.line, job.benchmark, job.hosts, job.separate_from) for job in jobs] == [
        (1, "alltoall_perf", ("gpu-00", "gpu-01"), None),
        (25, "sendrecv_perf", ("gpu-00", "gpu-01"), None),
    ]
    rank = jobs[0].ranks[3]
    assert (rank.rank, rank.pid, rank.host, rank.device, rank.bus_id, rank.name) == (
        *(3, 5201, "gpu-01", 1, "0000:2b:00", "NVIDIA H100 80GB HBM3"),
    )
    assert parsed.tables[0].context["library"] == "nccl 2.28.7"


def test_one_half_alone_is_the_in_place_one() -> None:
    table = table_of("rccl-2024-in-place")
    assert (table.version, table.context["library"]) == ("develop:1a2b3c4", "rccl")
    assert table.columns[2:5] == ("time_in_place", "algbw_in_place", "busbw_in_place")
    assert gb(table, "busbw_in_place")[-1] == 285.49
    assert table.complete


def test_a_line_of_another_program_above_the_heading_leaves_the_half_what_it_is() -> None:
    text = made_text("rccl-2024-in-place")
    noisy = text.replace("#       size", "real 5.93\n#       size")
    assert nccl.parse(noisy).tables[0].columns == table_of("rccl-2024-in-place").columns


def test_rccl_tests_may_print_the_gpus_own_time_and_the_algorithm_of_each_row() -> None:
    lines = made_text("rccl-2024-in-place").splitlines()
    changed = []
    for line in lines:
        words = line.split()
        if words[:2] == ["#", "size"]:
            line = line.replace("   time", "   time  hipevt") + " algo      proto      nchannels"
        elif words[:2] == ["#", "(B)"]:
            line = line.replace("   (us)", "   (us)    (us)")
        elif words and words[0].isdigit():
            line = f"{line[:61]}    11.50{line[61:]}   {'TREE' if words[0] == '1048576' else 'RING'}   SIMPLE    112"
        changed.append(line)
    (table,) = nccl.parse("\n".join(changed) + "\n").tables
    assert table.column("hip_event_time_in_place") == (11.5,) * 4
    assert table.column("busbw_in_place") == table_of("rccl-2024-in-place").column("busbw_in_place")
    assert table.context["algorithms"] == "TREE/SIMPLE, RING/SIMPLE"
    assert table.complete


def test_times_of_iterations_and_a_timestamp_stand_beside_the_figures() -> None:
    table = table_of("2.19-per-iteration")
    assert table.column("time_p99") == (29.83, 38.33, 72.3)
    assert table.column("time_cv_in_place") == (1.31, 1.31, 1.31)


def test_lines_of_the_log_inside_rows_change_no_value_and_are_read_too() -> None:
    parsed = nccl.parse(made_text("mixed-with-its-log"))
    (table,) = parsed.tables
    assert table.rows == table_of("2.13-all_reduce").rows
    assert table.complete
    assert parsed.nccl is not None
    assert parsed.nccl.log is not None
    assert [(link.by.host, link.channel) for link in parsed.nccl.log.links] == [("gpu-00", 0), ("gpu-00", 1)]


def hydra(text: str) -> str:
    """Return the output with Hydra's -prepend-rank: the rank is before each piece of a row."""
    rows = re.compile(r"^(?P<lead>.{52})(?P<first>.{32})(?P<second>.{32})$")
    lines = (rows.sub(r"\g<lead>[0]\g<first>[0]\g<second>", line) for line in text.splitlines())
    return "".join(f"[0] {line}\n" for line in lines)


def each_line(prefix: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{prefix}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "change",
    [
        each_line(" 0: "),
        each_line("gpu-00: "),
        each_line("[1,0]<stdout>: "),
        each_line("[prterun-gpu-00-4100@1,0]<stdout>: "),
        each_line("0: "),
        each_line("[pod/nccl-launcher-x7k2p/launcher] "),
        each_line("nccl-launcher-x7k2p | "),
        each_line("2026-07-01T10:00:00.123456789Z "),
        each_line("2026-07-01T10:00:00.123456789Z stdout F "),
        hydra,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("# ", "").replace("#\n", "\n").replace("#  ", "  "),
    ],
    ids=[
        "srun -l of 100",
        "pdsh",
        "mpirun",
        "prrte",
        "srun -l",
        "kubectl",
        "stern",
        "time",
        "containerd",
        "hydra",
        "crlf",
        "markdown",
    ],
)
def test_prefixes_of_launchers_and_pods_change_nothing(change: Callable[[str], str]) -> None:
    parsed, whole = nccl.parse(change(ALL_REDUCE)), nccl.parse(ALL_REDUCE)
    assert [(table.rows, table.benchmark, table.complete) for table in parsed.tables] == [
        (table.rows, table.benchmark, table.complete) for table in whole.tables
    ]
    assert parsed.failures == ()


def unnamed_rows(text: str) -> str:
    """Return rows that all_gather and alltoall of 2.13 print alike if nothing is checked."""
    lines = []
    for line in text.splitlines():
        words = line.split()
        if words[3:5] == ["sum", "-1"]:
            busbw = [f"{float(words[place]) * 0.75:.2f}" for place in (6, 10)]
            halves = [f"  {words[5]:>7}  {words[6]:>6}  {busbw[0]:>6}    N/A"]
            halves += [f"  {words[9]:>7}  {words[10]:>6}  {busbw[1]:>6}    N/A"]
            line = f"{line[:36]}    none      -1{''.join(halves)}"
        lines.append(line)
    return "\n".join(line for line in lines if "Avg bus" not in line) + "\n"


def test_a_program_that_nothing_tells_is_named_by_the_command_line_or_by_none() -> None:
    text = unnamed_rows(ALL_REDUCE)
    (table,) = nccl.parse(text).tables
    assert (table.benchmark, table.context["one_of"]) == (None, "all_gather_perf, alltoall_perf")
    (told,) = nccl.parse(f"+ mpirun -np 4 ./build/alltoall_perf -b 1M\n{text}").tables
    assert told.benchmark == "alltoall_perf"
    (lied,) = nccl.parse(f"+ mpirun -np 4 ./build/all_reduce_perf -b 1M\n{text}").tables
    assert lied.benchmark is None


def test_repetitions_under_one_heading_are_a_table_each() -> None:
    lines = ALL_REDUCE.splitlines()
    rows = [line for line in lines if line.strip()[:1].isdigit()]
    place = lines.index(rows[-1]) + 1
    text = "\n".join([*lines[:place], "# Testing 2 cycle.", *rows, *lines[place:]]) + "\n"
    tables = nccl.parse(text).tables
    assert [len(table.rows) for table in tables] == [6, 6]
    assert all(table.complete for table in tables)
    assert tables[0].line != tables[1].line


def test_two_datatypes_under_one_heading_are_a_table_each() -> None:
    lines = ALL_REDUCE.splitlines()
    rows = [line for line in lines if line.strip()[:1].isdigit()]
    halves = [line.replace("   float", "    half") for line in rows]
    place = lines.index(rows[-1]) + 1
    tables = nccl.parse("\n".join([*lines[:place], *halves, *lines[place:]]) + "\n").tables
    assert [(table.context["datatype"], len(table.rows)) for table in tables] == [("float", 6), ("half", 6)]


def test_a_column_that_is_wider_than_its_heading_changes_nothing() -> None:
    text = ALL_REDUCE.replace("     float     sum", "  float8_e4m3fn     sum")
    (table,) = nccl.parse(text).tables
    assert (table.context["datatype"], table.complete) == ("float8_e4m3fn", True)
    assert table.rows == table_of("2.13-all_reduce").rows


# What is wrong: a sentence each, and never a complete table

ROW = next(line for line in ALL_REDUCE.splitlines() if line.strip().startswith("4194304"))


@pytest.mark.fault(
    "output",
    "an output of nccl-tests with a wrong figure, a row that is missing, cut or doubled, another unit, or a rank twice",
    "the figures that contradict each other, the row, the sizes that are missing, or that these are separate jobs",
)
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda text: text.replace(ROW + "\n", ""),
            "rows are missing or mixed with another run's: no row of 4 MiB; the run was asked for 6 sizes",
        ),
        (
            lambda text: text.replace(ROW + "\n", f"{ROW}\n{ROW}\n"),
            "rows are missing or mixed with another run's: 4 MiB was not asked for, or is in the place of another size",
        ),
        (
            lambda text: text.replace(ROW, ROW[:80]),
            "a row that is cut, or mixed with another line",
        ),
        (
            # as in a message, without the blanks that show its place
            lambda text: text.replace(ROW, " ".join(ROW.split()[:7])),
            "a row that is cut, or mixed with another line",
        ),
        (
            lambda text: text.replace(ROW, ROW.replace("123.17", "223.17")),
            "busbw 223.17 GB/s at 4194304 B contradicts algbw 82.11 GB/s: of all_reduce_perf with 4 ranks it is 123.16 "
            "GB/s",
        ),
        (
            lambda text: text.replace(ROW, ROW.replace(" 51.08", " 91.08")),
            "algbw 82.11 GB/s at 4194304 B contradicts its time of 91.08 us, which is 46.05 GB/s",
        ),
        (
            lambda text: text.replace(ROW, ROW.replace("123.17", "  -nan")),
            "not finite: 4194304       1048576     float     sum      -1    51.08   82.11    -nan      0    50.26   "
            "83.45  125.18      0",
        ),
        (
            lambda text: text.replace(ROW, ROW.replace("123.17      0", "123.17     12")),
            "wrong results: 12 wrong elements at 4194304 B",
        ),
        (
            # the figures of four ranks, under a list of two
            lambda text: "".join(line for line in text.splitlines(keepends=True) if "gpu-01" not in line),
            "busbw and algbw fit no program of nccl-tests with 2 ranks",
        ),
        (
            lambda text: text.replace("values : 0 OK", "values : 12 FAILED"),
            "wrong results: # Out of bounds values : 12 FAILED",
        ),
        (
            lambda text: text.replace(": 202.764 ", ": 302.764 "),
            "the mean of all busbw is printed as 302.764 GB/s, but the rows here give 202.7642: rows are missing "
            "or were changed",
        ),
        (lambda text: text.replace(ROW, ROW.replace(" 51.08", "-51.08")), "below 0: time -51.08 at 4194304 B"),
        (lambda text: text.replace(": 202.764 ", ": -nan "), "not finite: # Avg bus bandwidth    : -nan"),
        (
            lambda text: text.replace(": 202.764 ", ": 202.764 FAILED"),
            "below what the run was set to reach: # Avg bus bandwidth    : 202.764 FAILED",
        ),
        (
            lambda text: text.replace("(us)  (GB/s)  (GB/s)  ", "(us)  (MB/s)  (MB/s)  "),
            "units (B) (elements) (us) (MB/s) (MB/s) (us) (MB/s) (MB/s), expected (B) (elements) (us) (GB/s) (GB/s) "
            "(us) (GB/s) (GB/s): no row below is read",
        ),
        (
            lambda text: text.replace("busbw #wrong     time", "busbw #right     time"),
            "a heading with #right, a column not known here: #       size         count      type   redop    root     "
            "time   algbw   busbw #right     time   algbw   busbw #wrong",
        ),
        (
            lambda text: "".join(line for line in text.splitlines(keepends=True) if not line.strip()[:1].isdigit()),
            "a heading without any row: no program named",
        ),
        (
            lambda text: text.replace("#  Rank  1 Group  0 Pid   4101", "#  Rank  0 Group  0 Pid   4101"),
            "rank 0 twice: line 4 has it on gpu-00 (pid 4100), line 5 on gpu-00 (pid 4101): these are separate jobs, "
            "each with its own rank 0, and not one job; build nccl-tests with MPI=1 and start one job",
        ),
        (
            lambda text: text.replace(text.splitlines(keepends=True)[4], ""),
            "the list of ranks lacks rank 1: a line of it is missing",
        ),
        (
            lambda text: text.replace("# Avg bus", "# Out of bounds values : 0 OK\n# Avg bus"),
            "a second end of the run of line 1: lines of two jobs are mixed",
        ),
        (
            lambda text: "".join(f"<pre>{line}<br>\n" for line in text.splitlines()),
            None,
        ),
    ],
    ids=[
        *(
            "row missing",
            "row doubled",
            "row cut",
            "blanks",
            "busbw",
            "time",
            "-nan",
            "wrong",
            "two of four ranks",
            "out of bounds",
            "average",
        ),
        *(
            "below 0",
            "average -nan",
            "average failed",
            "unit",
            "column",
            "no row",
            "rank 0 twice",
            "rank missing",
            "second end",
        ),
        "html",
    ],
)
def test_what_is_wrong_is_said_and_no_table_of_it_is_complete(
    change: Callable[[str], str], sentence: str | None
) -> None:
    text = change(ALL_REDUCE)
    assert text != ALL_REDUCE
    try:
        parsed = with_wrong_lines(nccl.parse(text), text)
    except ParseError:
        assert sentence is None
        return
    if sentence is not None:
        assert sentence in [failure.text for failure in parsed.failures]
    assert parsed.failures or not any(table.complete for table in parsed.tables)
    if sentence is None:
        assert not any(table.complete for table in parsed.tables)


def test_the_mean_of_several_threads_is_not_that_of_the_rows() -> None:
    text = ALL_REDUCE.replace(": 202.764 ", ": 199.5 ")
    assert len(nccl.parse(text).failures) == 1
    assert nccl.parse(text.replace("nThread 1", "nThread 2")).failures == ()


def test_a_mean_without_its_table_says_nothing_of_any_size() -> None:
    """People show only the last lines (NVIDIA/nccl issue 412); the run itself was complete."""
    parsed = nccl.parse("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 15.3\n#\n")
    assert parsed.tables == ()
    assert [failure.text for failure in parsed.failures] == [
        "a mean without its table (no program named): it says nothing about any size; give the whole output"
    ]


def test_a_log_that_ends_in_its_table_is_incomplete() -> None:
    for cut in range(ALL_REDUCE.index("(B)"), ALL_REDUCE.index("# Avg")):
        assert not any(table.complete for table in nccl.parse(ALL_REDUCE[:cut]).tables)


@pytest.mark.fault(
    "output",
    "two single jobs of nccl-tests in one file, which look like one job over all nodes",
    "two separate jobs … in one file: rank 0 is on … and on …",
)
def test_the_same_test_twice_in_one_file_is_two_separate_jobs() -> None:
    other = re.sub(r"Pid +41", "Pid   97", ALL_REDUCE).replace("gpu-00", "gpu-07").replace("gpu-01", "gpu-08")
    parsed = nccl.parse(ALL_REDUCE + other)
    assert [failure.text for failure in parsed.failures] == [
        "two separate jobs of all_reduce_perf in one file: rank 0 is on gpu-00 (pid 4100, line 4) and on gpu-07 (pid "
        "9700, line 25); each measured only its own ranks: start one job over all nodes (nccl-tests built "
        "with MPI=1), or give each a file of its own"
    ]
    assert parsed.nccl is not None
    assert [job.separate_from for job in parsed.nccl.jobs] == [1, 1]
    assert [table.complete for table in parsed.tables] == [False, False]


def test_the_second_job_is_one_too_where_its_first_lines_are_lost() -> None:
    lines = ALL_REDUCE.splitlines(keepends=True)
    parsed = nccl.parse(ALL_REDUCE + "".join(lines[2:]))
    assert "two separate jobs of all_reduce_perf in one file" in parsed.failures[0].text
    assert not any(table.complete for table in parsed.tables)


def test_rows_in_another_order_without_the_settings_are_no_repetitions() -> None:
    lines = ALL_REDUCE.splitlines()[2:]
    rows = [place for place, line in enumerate(lines) if line.strip()[:1].isdigit()]
    for one, other in zip(rows[1::2], rows[2::2], strict=False):
        lines[one], lines[other] = lines[other], lines[one]
    parsed = nccl.parse("\n".join(lines) + "\n")
    assert parsed.failures[0].text == (
        "rows are missing or mixed with another run's: the tables of one run do not have the same sizes"
    )


def test_two_jobs_behind_two_prefixes_are_told_apart_and_refused() -> None:
    other = re.sub(r"Pid +41", "Pid   97", ALL_REDUCE).replace("gpu-00", "gpu-07").replace("gpu-01", "gpu-08")
    pairs = zip(ALL_REDUCE.splitlines(), other.splitlines(), strict=True)
    parsed = nccl.parse("".join(f"0: {one}\n1: {two}\n" for one, two in pairs))
    assert [len(table.rows) for table in parsed.tables] == [6, 6]
    assert not any(table.complete for table in parsed.tables)
    assert "two separate jobs of all_reduce_perf in one file" in parsed.failures[0].text


def test_two_jobs_whose_lines_are_mixed_give_no_complete_table() -> None:
    other = re.sub(r"Pid +41", "Pid   97", ALL_REDUCE)
    pairs = zip(ALL_REDUCE.splitlines(), other.splitlines(), strict=True)
    parsed = nccl.parse("".join(f"{one}\n{two}\n" for one, two in pairs))
    assert not any(table.complete for table in parsed.tables)
    assert parsed.failures[0].text == (
        "a run that has not ended where another begins in line 2: it was killed, or lines of two jobs are mixed"
    )


def test_a_program_that_failed_leaves_the_next_ones_table_whole() -> None:
    head = TWO.splitlines()[:13]
    failed = "gpu-00: Test NCCL failure common.cu:401 'remote process exited or there was a network error / '"
    sendrecv = TWO.splitlines()[24:]
    parsed = nccl.parse("\n".join([*head, failed, *sendrecv]) + "\n")
    (table,) = parsed.tables
    assert (table.benchmark, table.complete) == ("sendrecv_perf", True)
    assert [failure.text for failure in parsed.failures] == [
        "a run that has not ended where another begins in line 15: it failed",
        "a heading without any row: alltoall_perf",
        failed,
    ]


def test_json_that_is_cut_or_holds_no_number_is_a_failure() -> None:
    text = made_text("json")
    cut = nccl.parse(text[: len(text) // 2])
    assert (cut.tables, cut.failures) == (
        (),
        (Remark(1, "JSON of nccl-tests that is cut, or has a value that is not a number"),),
    )
    parsed = nccl.parse(re.sub(r'"bus_bw":[0-9.]+', '"bus_bw":"nan"', text, count=1))
    assert parsed.failures[0].text == "not finite: busbw at 1048576 B"


def test_json_names_its_wrong_elements_and_counts_the_ranks_that_it_does_not_list() -> None:
    form = json.loads(made_text("json"))
    form["results"][1]["out_of_place"]["nwrong"] = 3.0
    form["out_of_bounds"] = {"count": 3, "okay": "false"}
    parsed = nccl.parse(json.dumps(form))
    assert [failure.text for failure in parsed.failures] == [
        "wrong results: 3 wrong elements at 4194304 B",
        "wrong results: out of bounds values 3",
    ]
    assert parsed.tables[0].context["ranks"] == 8
    assert parsed.tables[0].column("validation") == (True, False, True)


@pytest.mark.parametrize("root", ["--1", "٣", "none", "", "1.5"])
def test_a_root_that_is_no_number_is_left_out(root: str) -> None:
    (table,) = nccl.parse(made_text("json").replace('"    -1"', f'"{root}"')).tables
    assert "root" not in table.context


def test_no_variable_of_the_environment_is_kept() -> None:
    text = made_text("json").replace("LANG=C", "SECRET_TOKEN=abc")
    assert "SECRET_TOKEN" not in json.dumps(to_json(nccl.parse(text)))


# The log

A, B = Speaker("gpu-00", 4100, 0), Speaker("gpu-01", 4200, 0)


@pytest.fixture(scope="module")
def log() -> Log:
    parsed = nccl.parse(made_text("log-alone"))
    assert (parsed.tables, parsed.failures) == ((), ())
    assert parsed.nccl is not None
    assert parsed.nccl.log is not None
    return parsed.nccl.log


def test_the_network_and_the_nics_of_each_process_are_read(log: Log) -> None:
    assert log.versions == (LogSentence(3, None, "NCCL version 2.27.3+cuda12.9"),)
    assert log.networks == (LogSentence(7, A, "IB"), LogSentence(10, B, "Socket"))
    assert log.nics == (
        Nic(6, A, 0, "mlx5_0", 1, "IB", sharp=True),
        Nic(6, A, 1, "mlx5_1", 1, "IB"),
        Nic(9, B, 0, "eth0", None, "Socket"),
    )


def test_each_link_has_its_ranks_transport_nic_and_whether_the_nic_reaches_the_gpus_memory(log: Log) -> None:
    assert log.links == (
        Link(18, A, 0, 0, 1, None, "P2P/CUMEM", None, False),
        Link(19, A, 1, 0, 1, None, "SHM/direct", None, False),
        Link(20, A, 0, 0, 2, "send", "NET/IB", 0, True),
        Link(21, B, 0, 0, 2, "receive", "NET/Socket", 0, False),
        Link(22, A, 0, 0, None, "send", "COLLNET/SHARP", 0, True),
    )


def test_rings_trees_members_and_choices_are_read(log: Log) -> None:
    assert [(ring.channel, ring.ranks) for ring in log.rings] == [(0, (0, 1, 2)), (1, (0, 2, 1)), (0, (2, 0, 1))]
    assert [(tree.channel, tree.rank, tree.parent, tree.children) for tree in log.trees] == [
        (0, 0, None, (1,)),
        (1, 0, None, (2, 1)),
    ]
    assert [(each.rank, each.ranks, each.bus_id, each.complete) for each in log.members] == [
        (0, 3, "1b000", False),
        (0, 3, "1b000", True),
    ]
    (choice,) = log.choices
    assert choice[2:] == ("AllReduce", 1048576, "RING", "LL128", (0, 1))
    assert log.channels[0].text.startswith("2 coll channels, 0 collnet channels")


def test_fallbacks_and_warnings_stand_with_their_line_and_their_speaker(log: Log) -> None:
    assert [(said.line, said.by, said.text) for said in log.fallbacks] == [
        (8, B, "NET/IB : No device found."),
        (11, A, "NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'"),
        (13, A, "NVLS multicast support is not available on dev 0"),
        (26, B, "Could not find a path for pattern 4, falling back to simple order"),
    ]
    assert [said.line for said in log.warnings] == [26]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # 2.4, 2.7, 2.12, 2.20 (merged ports), 2.30 (planes)
        ("Ring 00 : 3[0] -> 4[1] via P2P/IPC", Link(1, A, 0, 3, 4, None, "P2P/IPC", None, False)),
        ("Ring 01 : 7 -> 8 [send] via NET/IB/1/GDRDMA", Link(1, A, 1, 7, 8, "send", "NET/IB", 1, True)),
        (
            "Channel 02 : 0[1b000] -> 1[43000] via direct shared memory",
            Link(1, A, 2, 0, 1, None, "SHM", None, False),
        ),
        (
            "Channel 03/0 : 1[1b000] -> 9[1b000] [receive] via NET/AWS Libfabric/2/GDRDMA",
            Link(1, A, 3, 1, 9, "receive", "NET/AWS Libfabric", 2, True),
        ),
        (
            "Channel 04/1 : 1[1] -> 9[1] [send] via NET/IBext_v8/3(0)/GDRDMA(PCI)/Shared",
            Link(1, A, 4, 1, 9, "send", "NET/IBext_v8", 3, True),
        ),
        ("Channel 05/0 : 0[0] -> 1[1] via P2P/MNNVL/read", Link(1, A, 5, 0, 1, None, "P2P/MNNVL", None, False)),
    ],
)
def test_a_links_line_is_read_in_the_words_of_each_release(line: str, expected: Link) -> None:
    parsed = nccl.parse(f"gpu-00:4100:4131 [0] NCCL INFO {line}\n")
    assert parsed.nccl is not None
    assert parsed.nccl.log is not None
    assert parsed.nccl.log.links == (expected,)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE ; OOB eth0:192.0.2.1<0>", ["mlx5_0/IB", "mlx5_1/RoCE"]),
        (
            "NET/IB : Using [0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB} [RO]; OOB eth0:192.0.2.1<0>",
            ["mlx5_0/IB", "mlx5_1/IB"],
        ),
        ("NET/IB : Using [0]mlx5_0:1:2:0/RoCE [RO]; OOB eth0:192.0.2.1<0>", ["mlx5_0/RoCE"]),
        ("NET/Socket : Using [0]eth0:192.0.2.1<0> [1]ib0:fe80::1%ib0<0>", ["eth0/Socket", "ib0/Socket"]),
    ],
)
def test_the_nics_of_each_release_are_named(line: str, names: list[str]) -> None:
    parsed = nccl.parse(f"gpu-00:4100:4131 [0] NCCL INFO {line}\n")
    assert parsed.nccl is not None
    assert parsed.nccl.log is not None
    assert [f"{nic.name}/{nic.kind}" for nic in parsed.nccl.log.nics] == names


def test_a_warning_of_nccl_that_something_failed_is_a_failure_too() -> None:
    line = "gpu-00:4100:4131 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer with error 12"
    assert nccl.parse(f"{line}\n").failures == (Remark(1, line),)


def test_the_log_in_the_output_of_another_benchmark_is_read_beside_its_tables() -> None:
    osu = "# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n1                       1.50\n"
    parsed = detect.parse(made_text("log-alone") + osu)
    assert [table.tool for table in parsed.tables] == ["osu"]
    assert parsed.nccl is not None
    assert parsed.nccl.log is not None
    assert [said.text for said in parsed.nccl.log.networks] == ["IB", "Socket"]


def test_parse_prints_the_jobs_and_what_the_log_says() -> None:
    text = parsed_text(nccl.parse(made_text("log-alone")))
    assert "  network: IB (1 time), Socket (1 time)\n" in text
    assert "  fallback, line 8: NET/IB : No device found. (1 time)\n" in text
    assert "  line 25: sendrecv_perf, 4 ranks on gpu-00 and gpu-01\n" in parsed_text(nccl.parse(TWO))


def test_the_curve_is_of_the_bus_bandwidth() -> None:
    table = table_of("2.13-all_reduce")
    key = key_of(table)
    assert key == "nccl/all_reduce_perf"
    (curve,) = curves(table, key)
    assert curve.unit == "MB/s"
    assert curve.value_at(1 << 30) == pytest.approx(283540.0)


# Genuine outputs


@pytest.fixture(scope="module")
def gpu() -> Path:
    """Return the folder of genuine outputs, or skip: it is not part of the repository."""
    folder = Path(__file__).parents[3] / "shared" / "gpu"
    if not (folder / "EXPECTED.tsv").is_file():
        pytest.skip("no genuine outputs of GPU benchmarks beside the clone: ../shared/gpu")
    return folder


def expected_row(job: Job, tables: dict[int, Table]) -> list[str]:
    """Return a job's row of EXPECTED.tsv without its file."""
    if not job.tables:
        return [str(job.benchmark), str(len(job.ranks)), "0", "", "", "", "", "None", "None"]
    (line,) = job.tables
    table = tables[line]
    sizes = table.column("size")
    return [
        *(str(table.benchmark), str(table.context["ranks"]), str(len(table.rows)), str(sizes[0]), str(sizes[-1])),
        *(f"{gb(table, column)[-1]:g}" for column in ("busbw", "busbw_in_place")),
        *(f"{table.context['avg_busbw_gb_s']:g}", f"{table.context['out_of_bounds']} OK"),
    ]


def test_every_table_of_the_genuine_pairs_is_as_expected(gpu: Path) -> None:
    expected: dict[str, list[list[str]]] = defaultdict(list)
    with (gpu / "EXPECTED.tsv").open(encoding="utf-8", newline="") as handle:
        for row in list(csv.reader(handle, delimiter="\t"))[1:]:
            figures = [f"{float(word):g}" if re.fullmatch(r"[0-9.]+", word) else word for word in row[6:9]]
            expected[row[0]].append([*row[1:6], *figures, row[9]] if len(row) > 9 else [*row[1:6], *figures])
    count = 0
    for name, rows in expected.items():
        parsed = nccl.parse((gpu / name).read_text(encoding="utf-8"))
        assert parsed.nccl is not None
        tables = {table.line: table for table in parsed.tables}
        found = [expected_row(job, tables) for job in parsed.nccl.jobs]
        assert [row[: len(rows[0])] for row in found] == rows, name
        assert all(table.complete for table in parsed.tables), name
        assert bool(parsed.failures) == any(row[2] == "0" for row in rows), name
        count += len(found)
    assert count == 810


@pytest.mark.parametrize(
    ("name", "benchmark", "one_of", "average", "last"),
    [
        ("allgather", "all_gather_perf", None, 58.2651, (8589934592, 268435456, 33646.0, 255.31, 223.39)),
        ("allreduce", "all_reduce_perf", None, 68.4048, (8589934592, 2147483648, 63896.0, 134.44, 235.26)),
        ("alltoall", "alltoall_perf", None, 58.6481, (8589934592, 268435456, 33508.0, 256.36, 224.31)),
        ("broadcast", "broadcast_perf", None, 64.8653, (8589934592, 2147483648, 36896.0, 232.81, 232.81)),
        ("reduce", "reduce_perf", None, 65.018, (8589934592, 2147483648, 37613.0, 228.38, 228.38)),
        ("reducescatter", "reduce_scatter_perf", None, 60.168, (8589934592, 268435456, 32464.0, 264.6, 231.52)),
    ],
)
def test_superbenchs_samples_of_an_old_release_are_as_read_by_hand(
    gpu: Path, name: str, benchmark: str, one_of: str | None, average: float, last: tuple[float, ...]
) -> None:
    parsed = nccl.parse((gpu / "superbench" / f"nccl_{name}.log").read_text(encoding="utf-8"))
    (table,) = parsed.tables
    assert (table.benchmark, table.context.get("one_of")) == (benchmark, one_of)
    assert (table.context["avg_busbw_gb_s"], table.context["ranks"], len(table.rows)) == (average, 8, 34)
    size, count, time, algbw, busbw = last
    assert table.rows[-1][:5] == pytest.approx((size, count, time, algbw * 1000, busbw * 1000))
    assert table.complete
    assert parsed.failures == ()


def test_an_empty_record_is_none() -> None:
    assert ParsedOutput().nccl is None
