"""Lines of two outputs in one text: an error that names the line, never a table with rows of both."""

import random
import re
from collections.abc import Callable
from itertools import takewhile, zip_longest
from pathlib import Path

import pytest

from railyard.parsers import osu
from railyard.parsers.detect import parse
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.parsers.wrong_lines import with_wrong_lines

SIZES = tuple(1 << place for place in range(0, 23, 2))


def osu_bw(rate: float = 100.0) -> str:
    head = "# OSU MPI Bandwidth Test v7.3\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n"
    return head + "".join(f"{size:<10}{rate + place:18.2f}\n" for place, size in enumerate(SIZES))


def osu_latency(time: float = 1.5) -> str:
    head = "# OSU MPI Latency Test v7.3\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
    return head + "".join(f"{size:<10}{time + place:18.2f}\n" for place, size in enumerate(SIZES))


def imb(time: float = 1.5, name: str = "PingPong") -> str:
    head = (
        "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n# Maximum message length in bytes:   4194304\n#\n"
        f"# Benchmarking {name}\n# #processes = 2\n#bytes #repetitions  t[usec]   Mbytes/sec\n"
    )
    times = ((size, time + place) for place, size in enumerate(SIZES))
    rows = "".join(f"{size:13d} {1000:10d} {each:10.2f} {size / each:10.2f}\n" for size, each in times)
    return f"{head}{rows}\n# All processes entering MPI_Finalize\n"


def fabtests(rate: float = 100.0) -> str:
    sizes = ("64", "256", "1k", "64k", "1m")
    head = "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
    return head + "".join(f"{size:8}10      1.2k     0.00s {rate:9.2f}       5.12       0.20\n" for size in sizes)


def alternate_lines(one: str, other: str) -> str:
    return "".join(
        f"{mine}\n{theirs}\n" for mine, theirs in zip_longest(one.splitlines(), other.splitlines(), fillvalue="")
    )


def read(text: str) -> ParsedOutput:
    return with_wrong_lines(parse(text), text)


LINES_OF_TWO = "lines of two outputs are mixed; give each a file of its own"


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (alternate_lines(osu_bw(), osu_bw(93.0)), 8, "found '1 93.00' after the row of 1 B, expected a larger size"),
        (alternate_lines(osu_bw(), osu_latency()), 8, "found '1 1.50' after the row of 1 B, expected a larger size"),
        (alternate_lines(imb(), imb(2.0)), 14, "found '1 1000 2.00 0.50' after the row of 1 B, expected a larger size"),
        (
            alternate_lines(fabtests(), fabtests(93.0)),
            4,
            "found '64 10 1.2k 0.00s 93.00 5.12 0.20' after the row of 64 B, expected a larger size",
        ),
        (
            re.sub(r"(?m)^(?=64 )", osu_bw(93.0), osu_bw()),  # one was written as two blocks
            22,
            "found '64 103.00' after the row of 4 MiB, expected a larger size",
        ),
        (
            # another process' row begins in the middle of a value
            osu_bw().replace("103.00\n", "10256     104.00\n3.00\n", 1),
            7,
            "found '64 10256 104.00' which no heading announces, expected a row of 2 words",
        ),
        (
            imb().replace("# All", "     16384       1000       1.50       2.50\n# All") + imb(2.0),
            20,
            "found '16384 1000 1.50 2.50' after the row of 4 MiB, expected a larger size",
        ),
    ],
    ids=["osu_bw", "osu_bw-osu_latency", "imb", "fabtests", "blocks", "torn", "moved"],
)
def test_a_row_of_another_output_is_named_and_no_figure_is_given(text: str, line: int, found: str) -> None:
    parsed = read(text)
    assert parsed.tables == ()
    assert parsed.failures[0] == (line, f"{found}: {LINES_OF_TWO}")


def test_a_live_run_that_knows_its_tool_finds_them_too() -> None:
    text = alternate_lines(osu_bw(), osu_bw(93.0))
    assert osu.parse(text).tables
    assert with_wrong_lines(osu.parse(text), text).tables == ()


def test_outputs_of_two_tools_are_refused() -> None:
    text = alternate_lines(osu_bw(), "\n".join(imb().splitlines()[:15]))
    with pytest.raises(ParseError, match="expected the output of one tool: osu begins in line 1, imb begins in line 8"):
        parse(text)


@pytest.mark.parametrize("output", [osu_bw, osu_latency, imb, fabtests])
def test_outputs_one_after_the_other_are_healthy(output: Callable[[float], str]) -> None:
    parsed = read(output(100.0) + output(93.0))
    assert [table.complete for table in parsed.tables] == [True, True]
    assert parsed.failures == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [(osu_bw(), osu_bw(93.0)), (osu_bw(), osu_latency()), (imb(), imb(2.0)), (imb(), imb(2.0, "PingPing"))],
)
def test_no_table_has_rows_of_both_however_the_lines_are_mixed(one: str, other: str) -> None:
    printed = [{row for table in read(text).tables for row in table.rows} for text in (one, other)]
    dice = random.Random(39)
    for _ in range(60):
        mine, theirs, lines = one.splitlines(True), other.splitlines(True), list[str]()
        while mine or theirs:
            source = mine if mine and (not theirs or dice.random() < 0.5) else theirs
            taken = dice.randrange(1, 9)
            lines += source[:taken]
            del source[:taken]
        for table in read("".join(lines)).tables:
            assert any({*table.rows} <= rows for rows in printed)


MADE = Path(__file__).parent / "made"
NAMES = ("hpl-two-sizes", "milc-two-runs", "wrf-two-domains", "netpipe-tcp", "perftest-write_bw", "perftest-send_lat")
# Their output has several parts, or several rows for one run.
PARTS = ("clusterkit-bandwidth", "hp2p-two-summaries", "iperf2-intervals", "iperf2-two-streams-2.1", "iperf2-udp")


def another_run(text: str) -> str:
    """Return the same output with other figures and addresses; perftest's message rates must agree with its others."""
    other = r"([0-9])\.([0-9])(?!%|[0-9]{5}\b)"
    text = re.sub(other, lambda found: f"{found[1]}.{(int(found[2]) + 3) % 10}", text)
    return re.sub(r"QPN 0x(....)", r"QPN 0x9\1", text)


@pytest.mark.parametrize("name", NAMES)
def test_two_runs_line_by_line_give_no_table_and_the_first_line_within_the_other(name: str) -> None:
    text = (MADE / f"{name}.txt").read_text(encoding="utf-8")
    both = alternate_lines(text, another_run(text))
    parsed = read(both)
    assert parsed.tables == ()
    (failure,) = [each for each in parsed.failures if LINES_OF_TWO in each.text]
    found = " ".join(both.splitlines()[failure.line - 1].split())
    assert failure.text == f"found {found!r} before the run above has ended: {LINES_OF_TWO}"
    assert failure.line % 2 == 0  # a line of the second output


@pytest.mark.parametrize("name", NAMES)
def test_two_runs_in_turn_and_a_killed_one_before_them_are_not_mixed(name: str) -> None:
    text = (MADE / f"{name}.txt").read_text(encoding="utf-8")
    killed = "".join(text.splitlines(True)[:4])
    parsed = read(killed + text + another_run(text))
    assert not [failure for failure in parsed.failures if LINES_OF_TWO in failure.text]
    assert len({row for table in parsed.tables for row in table.rows}) > len(
        {row for table in read(text).tables for row in table.rows}
    )


def slower(text: str) -> str:
    """Return the same output with other figures and the same times of its reports."""
    return re.sub(
        r"([0-9.]+)(?= +(?:[GM]Bytes|[GM]bits/sec|MB/s|us))",
        lambda found: f"{float(found[1]) * 0.8:.{len(found[1].partition('.')[2])}f}",
        text,
    )


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("other", PARTS)
def test_a_run_within_another_one_is_a_failure_or_loses_and_changes_no_figure(name: str, other: str) -> None:
    text, within = ((MADE / f"{each}.txt").read_text(encoding="utf-8") for each in (name, other))
    if name.partition("-")[0] != other.partition("-")[0]:
        pytest.skip("of two tools, which is refused")
    within = slower(within)
    rows = [row for each in (text, within) for table in read(each).tables for row in table.rows]
    lines, inner = text.splitlines(True), within.splitlines(True)
    mixed = {"alternated": alternate_lines(text, within)}
    mixed |= {f"within {place}": "".join((*lines[:place], *inner, *lines[place:])) for place in range(1, len(lines))}
    mixed |= {
        f"turns {place}": "".join((*lines[:place], *inner[:place], *lines[place:], *inner[place:]))
        for place in range(1, len(lines))
    }
    for how, both in mixed.items():
        parsed = read(both)
        if not parsed.failures and all(table.complete for table in parsed.tables):
            assert sorted(row for table in parsed.tables for row in table.rows) == sorted(rows), how


@pytest.mark.parametrize("name", [name for name in PARTS if name != "iperf2-udp"])
def test_two_such_runs_line_by_line_name_the_first_line_that_shows_it(name: str) -> None:
    text = (MADE / f"{name}.txt").read_text(encoding="utf-8")
    parsed = read(alternate_lines(text, slower(text)))
    assert parsed.tables == ()
    assert len([each for each in parsed.failures if LINES_OF_TWO in each.text]) == 1
    assert not read(text + slower(text)).failures


def test_client_and_server_of_perftest_may_share_a_file() -> None:
    text = (MADE / "perftest-send_lat.txt").read_text(encoding="utf-8")
    server = text.replace("local address", "LOCAL").replace("remote address", "local address")
    parsed = read(alternate_lines(text, server.replace("LOCAL", "remote address")))
    assert len(parsed.tables) == 2
    assert parsed.tables[0].rows == parsed.tables[1].rows


def perftest(device: str, rate: float = 100.0) -> str:
    rule = "-" * 87 + "\n"
    head = f"{rule}                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : {device}\n{rule}"
    names = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    rows = "".join(f" {size:<10} 5000     {rate + 1:.2f}    {rate:.2f}   {rate / size:.6f}\n" for size in SIZES)
    return f"{head}{names}{rows}{rule}"


def two_of_perftest() -> dict[str, tuple[str, int]]:
    """Return mixtures of two runs of perftest over two devices without addresses, each with the line that shows it."""
    one, other = (perftest(*each).splitlines(True) for each in (("mlx5_0", 100.0), ("mlx5_1", 50.0)))
    return {
        "line by line": (alternate_lines("".join(one), "".join(other)), 4),
        "two heads, then two headings": ("".join((*one[:4], *other[:4], *one[4:8], *other[4:8])), 6),
        "one within the other": ("".join((*one[:8], *other, *one[8:])), 8 + len(other) + 1),
        "rows of both below the second heading": ("".join((*one[:8], *other[:8], *one[8:12], *other[8:])), 21),
        "rows of both below one heading": ("".join((*one[:8], *other[5:])), 9),
        "two devices above one table": ("".join((*one[:3], other[2], *one[3:])), 4),
    }


@pytest.mark.parametrize("how", two_of_perftest())
def test_two_runs_of_perftest_without_addresses_give_no_table_and_the_line(how: str) -> None:
    text, line = two_of_perftest()[how]
    parsed = read(text)
    assert parsed.tables == ()
    assert [each.line for each in parsed.failures if LINES_OF_TWO in each.text] == [line]


def test_runs_of_perftest_over_two_devices_one_after_the_other_are_two_tables() -> None:
    parsed = read(perftest("mlx5_0") + perftest("mlx5_1", 50.0))
    assert [(table.context["device"], table.complete) for table in parsed.tables] == [
        ("mlx5_0", True),
        ("mlx5_1", True),
    ]
    assert not parsed.failures


def tear_row(one: str, other: str, size: int, at: int, shift: int = 0) -> str:
    """Return the first output, whose row of this size ends from a place on as the other's row of it does."""
    begins = f"\n{size:<10}" if one.startswith("# OSU") else f"\n{size:13d}"
    start, theirs = one.index(begins) + 1, other.index(begins) + 1
    end, its_end = one.index("\n", start), other.index("\n", theirs)
    return one[: start + at] + other[theirs + at + shift : its_end] + one[end:]


def osu_mbw_mr(rate: float = 100.0) -> str:
    head = "# OSU MPI Multiple Bandwidth / Message Rate Test v7.3\n# [ pairs: 1 ] [ window size: 64 ]\n"
    rows = ((size, rate + place) for place, size in enumerate(SIZES))
    lines = (f"{size:<10}{each:20.2f}{each * 1e6 / size:20.2f}\n" for size, each in rows)
    return f"{head}# Size                  MB/s        Messages/s\n{''.join(lines)}"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (
            tear_row(osu_bw(), osu_bw(3000.0), 1024, 20, 2),
            9,
            "whose figures are not at the place of those of the other",
        ),
        (
            tear_row(osu_bw(), osu_bw(3000.0), 1024, 20, -2),
            9,
            "whose figures are not at the place of those of the other",
        ),
    ],
)
def test_a_row_with_a_part_of_another_run_is_named_and_no_figure_is_given(text: str, line: int, what: str) -> None:
    parsed = read(text)
    assert parsed.tables == ()
    assert parsed.failures[0].line == line
    assert parsed.failures[0].text.startswith("found '1024 ")
    assert what in parsed.failures[0].text
    assert parsed.failures[0].text.endswith(LINES_OF_TWO)


@pytest.mark.parametrize("output", [osu_bw, osu_latency, osu_mbw_mr, imb])
def test_figures_of_one_run_agree_and_a_table_without_its_blanks_has_no_places(output: Callable[[], str]) -> None:
    assert read(output()).failures == ()
    packed = re.sub(r"(?m)^ +|(?<=[0-9]) +(?=[0-9])", " ", output()).replace("\n ", "\n")
    assert read(packed).failures == ()
    assert [table.rows for table in read(packed).tables] == [table.rows for table in read(output()).tables]


@pytest.mark.parametrize(
    ("first", "between"),
    [("{:<10}", " {:<10.2f}"), ("{}", " {:.2f}"), ("{}", "\t\t{:.2f}"), ("{}", "{:13.2f}")],
    ids=["from the left", "one blank", "tabs", "without the blanks before"],
)
def test_a_short_table_that_a_page_laid_out_is_of_one_run(first: str, between: str) -> None:
    """Its last figures end elsewhere than those of the rows above: the last size or figure has a digit more."""
    for head, columns in ((osu_latency(), 1), (imb(), 2)):
        lines = list(takewhile(lambda line: line[:1] == "#", head.splitlines()))
        for sizes, times in (((1, 2, 4, 8, 16), [1.5] * 5), ((1024, 2048, 4096, 8192, 8193), [4.5] * 4 + [45.0])):
            figures = [(time, size / time)[:columns] for size, time in zip(sizes, times, strict=True)]
            counts = "" if columns == 1 else between.replace(".2f", "d").format(1000)
            laid_out = ["".join(map(between.format, each)) for each in figures]
            rows = [first.format(size) + counts + own for size, own in zip(sizes, laid_out, strict=True)]
            parsed = read("\n".join([*lines, *rows]) + "\n")
            assert not parsed.failures
            assert [len(table.rows) for table in parsed.tables] == [5]


def test_a_row_without_the_mark_of_the_others_is_of_another_run() -> None:
    marked = osu_bw().replace("MB/s)", "MB/s)        Validation").replace(".00\n", ".00              Pass\n")
    assert read(marked).failures == ()
    for tail in ("1024                  99.00\n", "".join(osu_bw().splitlines(keepends=True)[8:])):
        parsed = read(marked + tail)
        assert parsed.tables == ()
        assert parsed.failures[0].text.endswith(LINES_OF_TWO)


def test_peaks_of_a_server_and_of_a_client_are_of_two_runs() -> None:
    head = (
        "                    Send BW Test\n"
        " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    )
    rows = [(size, 4.0 * size, 4.0 * size * 1.048576 / size) for size in (2, 4, 8)]
    client = [f" {size:<10} 1000     {rate:18.2f} {rate:18.2f} {count:18.6f}\n" for size, rate, count in rows]
    server = [line.replace(f"{rate:18.2f}", f"{0:18.2f}", 1) for line, (_, rate, _) in zip(client, rows, strict=True)]
    end = f"{'-' * 87}\n"
    assert read(head + "".join(client) + end).failures == read(head + "".join(server) + end).failures == ()
    parsed = read(head + "".join([*client[:2], server[2]]) + end)
    assert parsed.tables == ()
    assert "whose peak is of another run: a run measures all peaks or none" in parsed.failures[0].text
    assert parsed.failures[0].line == 5


def test_a_bandwidth_of_a_few_bytes_that_was_rounded_agrees() -> None:
    # of the virtual cluster: 5443 messages of 1 byte per second are 0.0054 MB/s
    heading = "       #bytes #repetitions   Mbytes/sec      Msg/sec\n"
    rows = (
        "            1            1         0.01         5443\n            2            1         0.01         5443\n"
    )
    text = f"{imb().split('#bytes')[0].rstrip(' ')}{heading}{rows}"
    assert [table.rows[0][2] for table in read(text.replace("PingPong", "Uniband")).tables] == [0.01]
