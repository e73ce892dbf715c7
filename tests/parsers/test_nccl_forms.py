"""Forms of nccl-tests' outputs that people keep: prefixes, rows in pieces, repeated runs, early releases, half tables.

All texts are synthetic.
"""

import itertools
import re
from collections.abc import Callable

import pytest

from railyard.parsers import nccl
from railyard.parsers.nccl_words import Way, ways
from railyard.parsers.output import ParsedOutput
from tests.made.nccl_early import early
from tests.parsers.samples import MADE


def made_text(name: str) -> str:
    return (MADE / f"nccl-{name}.txt").read_text(encoding="utf-8")


ALL_REDUCE = made_text("2.13-all_reduce")
MIXED = made_text("mixed-with-its-log")


def table_contents(parsed: ParsedOutput) -> list[object]:
    return [(table.rows, table.benchmark, table.complete, dict(table.context)) for table in parsed.tables]


def each_line(before: str, after: str = "") -> Callable[[str], str]:
    """Return a change of each line: ``{i}`` in the prefix is the last digit of the line's number."""

    def change(text: str) -> str:
        lines = text.splitlines()
        return "".join(f"{before.replace('{i}', str(i % 10))}{line}{after}\n" for i, line in enumerate(lines))

    return change


PREFIXES = {
    "stern": "nccl-launcher-x7k2p mpi-launcher ",
    "stern of all namespaces": "default nccl-launcher-x7k2p mpi-launcher ",
    "stern's arrow": "nccl-launcher-x7k2p › mpi-launcher | ",
    "a pod alone": "nccl-launcher-x7k2p ",
    "colours": "\x1b[36mnccl-launcher-x7k2p\x1b[0m \x1b[33mlauncher\x1b[0m ",
    "compose": "nccl_launcher_1   | ",
    "compose 2": "nccl-1  | ",
    "time with a T": "2026-07-01T10:00:0{i} ",
    "time": "2026-07-01 10:00:0{i} ",
    "time with a fraction": "2026-07-01 10:00:0{i}.123 ",
    "time of day": "10:00:0{i} ",
    "a logger": "2026-07-01 10:00:0{i},123 - INFO - ",
    "glog": "I0701 10:00:0{i}.123456    1234 main.py:12] ",
    "journal": "Jul 01 10:00:0{i} node1 nccl[1234]: ",
    "fluent": "2026-07-01T10:00:0{i}.123Z\tstdout\t",
    "mpirun --timestamp-output": "Wed Jul  1 10:00:0{i} 2026<stdout>:",
    "mpirun 4": "[1,0]<stdout>:",
    "mpirun 5 with time": "Wed Jul  1 10:00:0{i} 2026[prterun-node1-4100@1,0]<stdout>: ",
    "mpirun 5": "[prterun-node1-4100@1,0]<stdout>:",
    "a tag in a report": "        [1,0]<stdout>:",
    "srun -l of 1000": "   0: ",
    "pals": "x3005c0s13b0n0.example.org 0: ",
    "pdsh": "node1: ",
    "quoted": "> ",
    "quoted twice": "> > ",
    "quoted without a blank": ">",
    "a list": "    ",
    "tab": "\t",
    "diff": "+",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize("name", ["2.13-all_reduce", "mixed-with-its-log", "2.0-alltoall", "rccl-2024-in-place"])
def test_what_is_before_each_line_changes_nothing(prefix: str, name: str) -> None:
    parsed, whole = nccl.parse(each_line(prefix)(made_text(name))), nccl.parse(made_text(name))
    assert table_contents(parsed) == table_contents(whole)
    assert parsed.failures == whole.failures


@pytest.mark.parametrize(
    "change",
    [
        each_line('        "', '",'),
        each_line('{"log":"', '\\n","stream":"stdout","time":"2026-07-01T10:00:00.1Z"}'),
        lambda text: text.replace(" ", "\xa0"),
        lambda text: "".join(f"{line.lstrip('#')}\n" for line in text.splitlines()),
        lambda text: "".join(f"{line.strip()}\n" for line in text.splitlines()),
    ],
    ids=["ansible", "docker's file", "no-break blanks", "without hashes", "without blanks at both ends"],
)
def test_what_copies_do_to_lines_changes_nothing(change: Callable[[str], str]) -> None:
    for text in (ALL_REDUCE, MIXED):
        parsed = nccl.parse(change(text))
        assert table_contents(parsed) == table_contents(nccl.parse(text))
        assert parsed.failures == ()


def test_a_learned_prefix_still_tells_two_jobs_apart() -> None:
    other = re.sub(r"Pid +41", "Pid   97", ALL_REDUCE).replace("gpu-00", "gpu-07").replace("gpu-01", "gpu-08")
    pairs = zip(ALL_REDUCE.splitlines(), other.splitlines(), strict=True)
    text = "".join(f"10:00:01 pod-a launcher {one}\n10:00:02 pod-b launcher {two}\n" for one, two in pairs)
    parsed = nccl.parse(text)
    assert [len(table.rows) for table in parsed.tables] == [6, 6]
    assert "two separate jobs of all_reduce_perf in one file" in parsed.failures[0].text


@pytest.mark.parametrize("form", ["{:6d}\t", "{}:", "log.txt:{}:", "main.cu:{}, "], ids=["cat", "grep", "file", "code"])
def test_numbers_of_lines_name_nobody(form: str) -> None:
    text = "".join(f"{form.format(number)}{line}\n" for number, line in enumerate(MIXED.splitlines(), 1))
    assert table_contents(nccl.parse(text)) == table_contents(nccl.parse(MIXED))


def test_a_number_alone_is_no_prefix() -> None:
    assert nccl.parse(f"12 {ALL_REDUCE}").tables[0].rows == nccl.parse(ALL_REDUCE).tables[0].rows


# Rows in pieces

LOG = (
    "gpu-00:77:78 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x72 recvbuff 0x92 count 2097152 datatype 7 op 0 root 0\n"
)
OTHER = "1node.x:77:78 [0] NCCL INFO Channel 00 : 0[1000] -> 1[2000] via P2P/IPC\n"
BETWEEN = {
    "nothing": "",
    "log": LOG,
    "a host with a number": OTHER,
    "newline": "\n",
    "another": "\nhello from elsewhere\n",
}
PIECES = re.compile(r"^(?P<lead>.{52})(?P<first>.{32})(?P<second>.{32})$")


@pytest.mark.parametrize("indent", ["", "    ", "> "])
def test_a_row_is_read_whatever_another_process_prints_between_its_pieces(indent: str) -> None:
    whole = table_contents(nccl.parse(ALL_REDUCE))
    for one, two, end in itertools.product(BETWEEN.values(), BETWEEN.values(), ("\n", LOG)):
        lines = []
        for line in ALL_REDUCE.splitlines():
            row = PIECES.match(line) if line.strip()[:1].isdigit() else None
            lines.append(f"{row['lead']}{one}{row['first']}{two}{row['second']}{end}" if row else f"{line}\n")
        text = "".join(f"{indent}{line}" for line in "".join(lines).splitlines(keepends=True))
        assert table_contents(nccl.parse(text)) == whole, (one, two, end)


def only_first_halves(text: str) -> str:
    """Return an output of a build that measures out of place alone: the mean is that of one half."""
    lines = text.splitlines()
    halves = [line[:84] if line.strip()[:1].isdigit() else line for line in lines]
    busbw = [float(line.split()[7]) for line in halves if line.strip()[:1].isdigit()]
    return "\n".join(halves).replace("202.764", f"{sum(busbw) / len(busbw):.3f}") + "\n"


def test_a_build_that_prints_only_the_first_half_is_read() -> None:
    (table,) = nccl.parse(only_first_halves(ALL_REDUCE)).tables
    (whole,) = nccl.parse(ALL_REDUCE).tables
    assert table.complete
    assert table.column("busbw") == whole.column("busbw")
    assert table.columns == ("size", "count", "time", "algbw", "busbw", "wrong", "validation")
    assert table.column("validation") == (True,) * 6


def test_half_a_row_among_whole_ones_is_cut() -> None:
    row = next(line for line in ALL_REDUCE.splitlines() if line.strip().startswith("4194304"))
    parsed = nccl.parse(ALL_REDUCE.replace(row, row[:84]))
    assert "a row that is cut, or mixed with another line" in [failure.text for failure in parsed.failures]
    assert not parsed.tables[0].complete


def test_half_rows_with_the_mean_of_both_halves_have_lost_one() -> None:
    parsed = nccl.parse(only_first_halves(ALL_REDUCE).replace(": 201.", ": 202."))
    assert not parsed.tables[0].complete
    assert "the mean of all busbw is printed as" in parsed.failures[0].text


# A run that a script repeats


def shift_pids(text: str, by: int) -> str:
    return re.sub(r"Pid +(\d+)", lambda found: f"Pid {int(found[1]) + by:6d}", text)


def test_a_run_that_is_repeated_on_the_same_gpus_stands_for_itself() -> None:
    parsed = nccl.parse(ALL_REDUCE + "NCCL_PROTO=Simple\n" + shift_pids(ALL_REDUCE, 400) + shift_pids(ALL_REDUCE, 900))
    assert parsed.failures == ()
    assert [table.complete for table in parsed.tables] == [True, True, True]
    assert parsed.nccl is not None
    assert [job.separate_from for job in parsed.nccl.jobs] == [None, None, None]


@pytest.mark.parametrize("by", [0, 1, 7])
def test_jobs_that_started_at_once_on_the_same_gpus_are_separate(by: int) -> None:
    parsed = nccl.parse(ALL_REDUCE + shift_pids(ALL_REDUCE, by))
    assert "two separate jobs of all_reduce_perf in one file" in parsed.failures[0].text
    assert not any(table.complete for table in parsed.tables)


def test_jobs_behind_two_prefixes_are_separate_on_the_same_gpus_too() -> None:
    text = each_line("0: ")(ALL_REDUCE) + each_line("1: ")(shift_pids(ALL_REDUCE, 400))
    assert "two separate jobs of all_reduce_perf in one file" in nccl.parse(text).failures[0].text


# Releases before July 2021


@pytest.mark.parametrize("program", ["all_gather", "reduce_scatter"])
def test_early_releases_print_one_bandwidth_twice(program: str) -> None:
    parsed = nccl.parse(early(program, {49152: 31.25, 3145728: 62.5, 201326592: 1875.0}, ranks=3))
    (table,) = parsed.tables
    assert parsed.failures == ()
    assert (table.benchmark, table.complete) == (f"{program}_perf", True)
    assert table.column("busbw") == table.column("algbw") == (1050.0, 33550.0, 71580.0)
    assert table.context["algbw_is_busbw"] is True


def test_all_reduce_of_two_ranks_is_not_taken_for_sendrecv() -> None:
    """Both have a factor of 1, but until 2.11 sendrecv has no column for an operation."""
    times = {49152: 31.25, 3145728: 62.5, 201326592: 1875.0}
    (table,) = nccl.parse(early("reduce_scatter", times, ranks=2, share=1.0)).tables
    assert (table.benchmark, table.complete) == ("all_reduce_perf", True)
    assert "algbw_is_busbw" not in table.context
    (other,) = nccl.parse(early("reduce_scatter", times, ranks=2)).tables
    assert other.benchmark == "reduce_scatter_perf"


def test_early_sendrecv_of_rccl_tests_counts_all_pairs() -> None:
    assert ways("sendrecv_perf", 8, is_early=True) == (Way(1.0), Way(4.0))
    assert ways("sendrecv_perf", 8, is_early=False) == (Way(1.0),)


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("2.13-all_reduce", "all_reduce_perf"),
        ("2.10-reduce", "reduce_perf"),
        ("2.0-all_gather", "all_gather_perf"),
        ("broadcast-srun-l", "broadcast_perf"),
    ],
)
def test_without_the_list_of_ranks_the_count_tells_the_program(name: str, program: str) -> None:
    """An all_reduce counts all elements, a reduce_scatter those of one rank; the ratio of bandwidths says nothing."""
    text = "".join(line for line in made_text(name).splitlines(keepends=True) if " Pid " not in line)
    (table,) = nccl.parse(text).tables
    assert (table.benchmark, table.context.get("one_of")) == (program, None)


# The records of rccl-tests (-Z json -x FILE)


def records(*sizes: int, wrong: str = '"0"') -> list[str]:
    """Return both records of each size, for 8 ranks: each takes 40 us and 5 ns for each KiB."""
    found = []
    for size in sizes:
        time = 40 + size / 1024 * 0.005
        alg = size / time / 1000
        found += [
            f'{{"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":8, "ranksPerNode":8, "gpusPerRank":1, '
            f'"size":{size}, "type":"float", "redop":"sum", "inPlace":{place}, "time":{time:f}, "algBw":{alg:f}, '
            f'"busBw":{alg * 1.75:f}, "wrong":{wrong}}}'
            for place in (0, 1)
        ]
    return found


def file_of(lines: list[str]) -> str:
    return "[\n" + ",\n".join(lines) + "\n]\n"


def test_the_records_of_rccl_tests_are_a_table() -> None:
    parsed = nccl.parse(file_of(records(1 << 20, 1 << 30)))
    (table,) = parsed.tables
    assert (table.benchmark, table.complete, parsed.failures) == ("all_reduce_perf", True, ())
    assert table.column("size") == (1 << 20, 1 << 30)
    assert table.column("count") == (None, None)
    # 2^30 B in 5282.88 us are 203249.4 MB/s, and 1.75 times that
    assert table.column("busbw")[1] == table.column("busbw_in_place")[1] == pytest.approx(355686.5, rel=1e-5)
    assert table.column("validation") == (True, True)
    expected = {"ranks": 8, "nodes": 1, "ranks_per_node": 8, "datatype": "float", "redop": "sum", "library": "rccl"}
    assert table.context == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (file_of(records(1 << 20, 1 << 30))[:-3], None),
        (
            file_of(records(1 << 20, 1 << 30))[:-40],
            "JSON of nccl-tests that is cut, or has a value that is not a number",
        ),
        (
            file_of([*records(1 << 20), records(1 << 30)[0]]),
            "a size with one record, and others with two: records are missing",
        ),
        (file_of(records(1 << 20, wrong='"3"')), "wrong results: 3 wrong elements at 1048576 B"),
        (
            file_of(records(1 << 30)).replace('"busBw":355', '"busBw":455'),
            "busbw 455.686329 GB/s at 1073741824 B contradicts algbw 203.249331 GB/s: of all_reduce_perf with 8 ranks "
            "it is 355.69 GB/s",
        ),
    ],
    ids=["no end", "cut", "a half missing", "wrong", "changed"],
)
def test_records_that_are_cut_or_wrong_are_no_complete_table(text: str, sentence: str | None) -> None:
    parsed = nccl.parse(text)
    said = [failure.text for failure in parsed.failures]
    assert sentence is None or sentence in said
    is_wrong_result = sentence is not None and sentence.startswith("wrong")
    assert is_wrong_result or not any(table.complete for table in parsed.tables)
