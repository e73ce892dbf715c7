"""GPCNeT's boxes, one trap per test. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.parsers.gpcnet import parse
from railyard.parsers.output import ParseError

MIB = 2**20 / 10**6
LEGEND = (
    "\n  Legend\n   RR = random ring communication pattern\n   Lat = latency\n   BW+Sync = bandwidth with barrier\n"
)
TEST = "Network Tests v1.3\n  Test with 64 MPI ranks (8 nodes)\n" + LEGEND
LOAD = (
    "NetworkLoad Tests v1.2\n  Test with 320 MPI ranks (20 nodes)\n  4 nodes running Network Tests\n"
    "  16 nodes running Congestion Tests (min 4 nodes per congestor)\n" + LEGEND
)
RULE = "+---------------------------------+--------------+--------------+--------------+\n"
LATENCY = ("RR Two-sided Lat (8 B)", "2.5", "4.0", "usec")
SYNC = ("RR Two-sided BW+Sync (131072 B)", "1000.0", "500.0", "MiB/s/rank")
ALLREDUCE = ("Multiple Allreduce (8 B)", "25.0", "30.0", "usec")
ALLTOALL = ("Multiple Alltoall (4096 B)", "2000.0", "100.0", "MiB/s/rank")


def row(*words: str) -> str:
    return "| " + " | ".join([f"{words[0]:>31}", *(f"{word:>12}" for word in words[1:])]) + " |\n" + RULE


def box(title: str, *rows: tuple[str, ...], headings: tuple[str, ...] = ("Avg", "99%", "Units")) -> str:
    top = f"+{'-' * 78}+\n| {title:^76} |\n{RULE}"
    return top + row("Name", *headings) + "".join(row(*one) for one in rows)


def impact(*rows: tuple[str, ...]) -> str:
    title = "Network Tests running with Congestion Tests - Key Results"
    return (
        f"\n+{'-' * 78}+\n| {title:^76} |\n{RULE}| {'Name':>31} | {'Congestion Impact Factor':>42} |\n{RULE}"
        + "".join(row(*one) for one in (("", "Avg", "99%"), *rows))
    )


ISOLATED = box("Isolated Network Tests", LATENCY, SYNC, ALLREDUCE)
CONGESTED = box("Network Tests running with Congestion Tests", LATENCY, SYNC, ALLREDUCE)
IMPACT = impact((LATENCY[0], "1.0X", "2.5X"), (SYNC[0], "1.2X", "7.0X"), (ALLREDUCE[0], "1.1X", "123.4X"))
LOADED = LOAD + ISOLATED + "\n" + CONGESTED + IMPACT


def test_a_network_test_is_one_table_of_one_row() -> None:
    parsed = parse(TEST + box("Isolated Network Tests", LATENCY, ALLTOALL))
    (table,) = parsed.tables
    assert (table.tool, table.version, table.benchmark, table.line) == ("gpcnet", "1.3", "network_test", 9)
    assert dict(zip(table.columns, table.units, strict=True)) == {
        "rr_two_sided_lat_8_b_avg": "us",
        "rr_two_sided_lat_8_b_99": "us",
        "multiple_alltoall_4096_b_avg": "MB/s",
        "multiple_alltoall_4096_b_99": "MB/s",
    }
    (values,) = table.rows
    assert values == pytest.approx((2.5, 4.0, 2000 * MIB, 100 * MIB))
    assert table.context == {"which": "isolated", "title": "Isolated Network Tests", "ranks": 64, "nodes": 8}
    assert table.complete
    assert (parsed.failures, parsed.remarks) == ((), ())


def test_a_load_test_has_three_boxes() -> None:
    parsed = parse(LOADED)
    assert [table.context["which"] for table in parsed.tables] == ["isolated", "congested", "impact"]
    assert [table.complete for table in parsed.tables] == [True] * 3
    assert {table.benchmark for table in parsed.tables} == {"network_load_test"}
    table = parsed.tables[2]
    assert table.rows == ((1.0, 2.5, 1.2, 7.0, 1.1, 123.4),)
    assert set(table.units) == {None}
    assert table.columns[2:4] == ("rr_two_sided_bw_sync_131072_b_avg", "rr_two_sided_bw_sync_131072_b_99")
    assert table.context == {
        "which": "impact",
        "title": "Network Tests running with Congestion Tests - Key Results",
        "ranks": 320,
        "nodes": 20,
        "network_nodes": 4,
        "congestion_nodes": 16,
    }
    assert (parsed.failures, parsed.remarks) == ((), ())


def test_the_verbose_build_prints_more_columns_and_a_box_a_test() -> None:
    headings = ("Min", "Max", "Avg", "Avg(Worst)", "99%", "99.9%", "Units")
    latency = (LATENCY[0], "1.0", "9.0", "2.5", "3.0", "4.0", "5.0", "usec")
    bcast = ("Get Bcast (4096 B)", "1.0", "2.0", "3.0", "4.0", "5.0", "6.0", "MiB/s/rank")
    beside = f"{'Network Tests running with Congestion Tests'} ({'RR Two-sided Lat':>20} Network Test)"
    text = LOAD + box("Isolated Congestion Tests", bcast, headings=headings) + "\n"
    alone, together = parse(text + box(beside, latency, bcast, headings=headings)).tables
    assert alone.columns == tuple(
        f"get_bcast_4096_b_{name}" for name in ("min", "max", "avg", "avg_worst", "99", "99_9")
    )
    assert (alone.context["which"], alone.context["title"]) == ("isolated", "Isolated Congestion Tests")
    assert (together.context["which"], together.context["test"]) == ("congested", "RR Two-sided Lat")
    assert len(together.columns) == 12
    assert together.rows[0][:6] == (1.0, 9.0, 2.5, 3.0, 4.0, 5.0)
    assert alone.complete and together.complete


@pytest.mark.parametrize("nodes", [2, 10])
def test_a_refusal_is_a_failure_and_no_table(nodes: int) -> None:
    text = f"ERROR: this application must be run on at least {nodes} nodes\nmpirun detected that one or more failed\n"
    parsed = parse(text)
    assert (parsed.tables, parsed.remarks) == ((), ())
    assert [(failure.line, failure.text) for failure in parsed.failures] == [
        (number, line) for number, line in enumerate(text.splitlines(), 1)
    ]


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        (TEST + box("Isolated Network Tests", LATENCY, ALLREDUCE), False),  # network_test goes on to the Alltoall
        (TEST + box("Isolated Network Tests", LATENCY, ALLTOALL).rpartition("+--")[0], True),  # without the last rule
        (LOAD + box("Isolated Network Tests", LATENCY, SYNC), False),
        (LOAD + ISOLATED, True),
        (ISOLATED, True),  # an excerpt without a banner
        (box("Isolated Network Tests", ("RR Get Lat (8 B)", "4.0", "5.0", "usec"), ALLREDUCE), False),
        (LOAD + ISOLATED.replace("|        Multiple", "...\n|        Multiple"), False),
        (LOAD + ISOLATED + "Segmentation fault\n", True),  # after its last test
        (TEST + box("Isolated Network Tests", LATENCY) + "mpirun: killing job...\n", False),
        (LOAD + ISOLATED.replace("500.0 |   MiB/s/rank |", "500.0 | [node-1:7"), False),  # overwritten by another line
    ],
)  # fmt: skip
def test_a_box_is_complete_where_its_last_test_is_the_programs_last(text: str, complete: bool) -> None:
    (table,) = parse(text).tables
    assert table.complete is complete


def test_a_box_that_another_follows_is_complete_but_for_a_cut_row() -> None:
    fewer = LOAD + box("Isolated Network Tests", LATENCY) + "\n" + CONGESTED  # a source with tests taken out
    assert [table.complete for table in parse(fewer).tables] == [True, True]
    cut = LOAD + ISOLATED.replace("       2.5 ", "       2.5 x") + "\n" + CONGESTED
    assert [table.complete for table in parse(cut).tables] == [False, True]
    assert [len(table.columns) for table in parse(cut).tables] == [4, 6]


def test_a_test_that_is_there_twice_has_a_column_of_its_own() -> None:
    (table,) = parse(LOAD + box("Isolated Network Tests", LATENCY, LATENCY, ALLREDUCE)).tables
    assert table.columns[1:4] == (
        "rr_two_sided_lat_8_b_99",
        "rr_two_sided_lat_8_b_again_2_avg",
        "rr_two_sided_lat_8_b_again_2_99",
    )


def test_a_number_that_is_none_is_a_failure() -> None:
    parsed = parse(LOADED.replace("7.0X", "infX"))
    assert parsed.tables[2].rows == ((1.0, 2.5, 1.2, None, 1.1, 123.4),)
    assert [failure.text.split() for failure in parsed.failures] == [
        ["|", "RR", "Two-sided", "BW+Sync", "(131072", "B)", "|", "1.2X", "|", "infX", "|"]
    ]


@pytest.mark.parametrize("words", [1, 2])
def test_rows_that_a_mailer_wrapped_are_one(words: int) -> None:
    whole = TEST + box("Isolated Network Tests", LATENCY, ALLTOALL)
    lines = [
        line.rsplit(None, 1 if "Tests" in line else words) if "| " in line else [line] for line in whole.split("\n")
    ]
    wrapped = "\n".join(f"{line[0]}\n{' '.join(line[1:])}" if line[1:] else line[0] for line in lines)
    assert wrapped.count("\n") == whole.count("\n") + 4
    (table,) = parse(wrapped).tables
    assert (table.rows, table.complete) == (parse(whole).tables[0].rows, True)


def test_a_box_without_a_row_says_so() -> None:
    parsed = parse(TEST + box("Isolated Network Tests"))
    assert parsed.tables == ()
    assert [(failure.line, failure.text) for failure in parsed.failures] == [
        (9, "a box without any row: Isolated Network Tests")
    ]


def test_a_banner_alone_is_its_output() -> None:
    parsed = parse(TEST)
    assert (parsed.tables, parsed.failures) == ((), ())
    assert [remark.text for remark in parsed.remarks] == ["GPCNeT started no test: no box of results"]


@pytest.mark.parametrize("text", ["| a | 1.0 | 2.0 | usec |\n", "ERROR: out of nodes\n", RULE])
def test_another_programs_text_is_an_error(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.expected == 'output of GPCNeT: "Network Tests v…" or one of its boxes'
    assert caught.value.line_number == 1


@pytest.mark.parametrize("noise", ["", "real 5.93", "[1700000000.1] [node-1:7] ib.c:1 UCX  WARN  x", "x" * 5000])
def test_noise_between_lines_changes_no_value(noise: str) -> None:
    lines = LOADED.split("\n")
    whole = [(table.columns, table.rows, table.complete) for table in parse(LOADED).tables]
    for place in range(len(lines)):
        parsed = parse("\n".join([*lines[:place], noise, *lines[place:]]))
        assert [(table.columns, table.rows, table.complete) for table in parsed.tables] == whole, f"line {place + 1}"
        assert [remark.text for remark in parsed.remarks] == [noise[:2000]] * bool(noise)


def test_an_output_cut_at_any_byte_gives_no_value_that_the_whole_lacks() -> None:
    whole = {
        (table.line, column, cell)
        for table in parse(LOADED).tables
        for column, cell in zip(table.columns, table.rows[0], strict=True)
    }
    for cut in range(1, len(LOADED)):
        try:
            part = parse(LOADED[:cut]).tables
        except ParseError:
            continue
        for table in part:
            assert {(table.line, *pair) for pair in zip(table.columns, table.rows[0], strict=True)} <= whole, cut
            assert table.complete is (len(table.columns) == 6), cut


# Read by hand from the corpus, which has no expected row of GPCNeT: mean and 99%, us or MiB/s.
HPE = {
    "rr_two_sided_lat_8_b": (2.9, 4.4),
    "rr_get_lat_8_b": (4.4, 5.4),
    "rr_two_sided_bw_131072_b": (4086.5 * MIB, 2504.7 * MIB),
    "rr_put_bw_131072_b": (4910.4 * MIB, 2582.1 * MIB),
    "rr_two_sided_bw_sync_131072_b": (3786.1 * MIB, 485.1 * MIB),
    "nat_two_sided_bw_131072_b": (4975.3 * MIB, 3436.7 * MIB),
    "multiple_allreduce_8_b": (25.3, 27.7),
    "multiple_alltoall_4096_b": (2648.4 * MIB, 2454.7 * MIB),
}
SANITISED = {name: (10000.0, 10000.0) if us < 100 else (10000 * MIB, 10000 * MIB) for name, (us, _) in HPE.items()}


@pytest.mark.parametrize(
    ("file", "values", "line", "ranks", "nodes"),
    [
        ("hpe_slingshot_8nic_64nodes_network_test.txt", HPE, 14, 2048, 64),
        ("superbench_network_test_SANITISED.txt", SANITISED, 11, 2, 2),
    ],
)
def test_boxes_of_the_corpus_are_read(
    corpus: Path, file: str, values: dict[str, tuple[float, float]], line: int, ranks: int, nodes: int
) -> None:
    parsed = parse((corpus / "gpcnet" / file).read_text("utf-8"))
    (table,) = parsed.tables
    assert table.columns == tuple(f"{name}_{end}" for name in values for end in ("avg", "99"))
    (cells,) = table.rows
    assert cells == pytest.approx(tuple(value for pair in values.values() for value in pair), rel=1e-9)
    assert (table.line, table.version, table.complete) == (line, "1.3", True)
    assert (table.context["ranks"], table.context["nodes"], parsed.failures) == (ranks, nodes, ())


@pytest.mark.parametrize(
    ("file", "nodes"), [("superbench_network_test_error.txt", 2), ("superbench_network_load_error.txt", 10)]
)
def test_refusals_of_the_corpus_are_failures(corpus: Path, file: str, nodes: int) -> None:
    parsed = parse((corpus / "gpcnet" / file).read_text("utf-8"))
    assert parsed.tables == ()
    assert (parsed.failures[0].line, parsed.failures[0].text) == (
        1,
        f"ERROR: this application must be run on at least {nodes} nodes",
    )
