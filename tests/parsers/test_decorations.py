"""Outputs out of pages, mails and logs give the figures that they give alone, in the same lines."""

import json
import quopri
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from railyard.parsers.decorations import comment_mark, strip_decorations, without_prefixes
from railyard.parsers.detect import parse
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.parsers.wrong_lines import with_wrong_lines
from tests.parsers.samples import MADE, parse_sample, samples

#: One of each form: a heading, blocks, a report, boxes, rows in prose, and what begins with "|", "[" or a number.
NAMES = (
    *("osu-mbw_mr-and-latency", "perftest-write_bw", "imb-exchange-4-ranks", "hpcg-3.1-valid", "sockperf-throughput"),
    *(
        "netpipe-tcp",
        "hpl-two-sizes",
        "nccl-2.0-all_gather",
        "iperf3-one-stream",
        "milc-two-runs",
        "gpcnet-network_test",
    ),
    *("ucx_perftest-final-only", "qperf-rc"),
)


def prefix_lines(prefix: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{prefix}{line}\n" for line in text.splitlines())


def number_lines(form: str) -> Callable[[str], str]:
    return lambda text: "".join(form.format(at, line) for at, line in enumerate(text.splitlines(), start=1))


WAYS: dict[str, Callable[[str], str]] = {
    "fence": lambda text: f"```text\n{text}```\n",
    "fence in the first line": lambda text: f"```{text.rstrip()}```\n",
    "entities": lambda text: f"<pre>{text.replace('>', '&gt;').replace(' ', '&nbsp;')}</pre>",
    "narrow no-break blanks": lambda text: text.replace(" ", "\u202f"),
    "thin blanks": lambda text: text.replace(" ", "\u2009"),
    "soft hyphens and joiners": lambda text: text.replace(" ", " \xad\u200d"),
    "entities in entities": lambda text: text.replace(">", "&amp;gt;").replace(" ", "&amp;nbsp;"),
    "entities with numbers": lambda text: text.replace(">", "&#x3e;").replace(" ", "&#xa0;"),
    "entities of narrow blanks": lambda text: text.replace(" ", "&thinsp;"),
    "page of HTML": lambda text: f"<html><head></head><body><blockquote><pre>{text}</pre></blockquote></body></html>",
    "paragraph of HTML": lambda text: "<p>" + text.replace("\n", "<br>\n") + "</p>",
    "breaks in place of newlines": lambda text: text.replace("\n", "<br/>"),
    "tags around each line": number_lines('<li id="{}"><span>{}</span></li>\n'),
    "colours as words": number_lines("^[[0;{}m{}^[[0m\n"),
    "colours without their escapes": number_lines("[0;{}m{}[0m\n"),
    "session of script as words": lambda text: text.replace("\n", "^M\n") + "^[[?2004hexit^M\n",
    "code of a forum": lambda text: f"[code]{text}[/code]",
    "lines of cat -A": lambda text: text.replace("\t", "^I").replace("\n", "$\n"),
    "lines that a backslash ends": lambda text: text.replace("\n", " \\\n"),
    "lines that an arrow ends": lambda text: text.replace("\n", "↵\n"),
    "border at the right": lambda text: "".join(f"{line:<100}│\n" for line in text.splitlines()),
    "borders of a pane": lambda text: "".join(f"│{line:<100}│\n" for line in text.splitlines()),
    "quotation of a chat": prefix_lines("| "),
    "margin": prefix_lines("    "),
    "cat -n": number_lines("{:6d}\t{}\n"),
    "less -N": number_lines("{:7d} {}\n"),
    "grep -n": number_lines("{}:{}\n"),
    "grep -n of two files": number_lines("job.out:{}:{}\n"),
    "grep of two files": prefix_lines("job.out:"),
    "editor": number_lines("{:4d} | {}\n"),
    "journal with times of ISO": prefix_lines("2026-07-01T10:00:00+0000 node1 bench[123]: "),
    "dmesg": number_lines("[   12.{:06d}] {}\n"),
    "seconds since 1970": prefix_lines("1782900000.123456 "),
    "log of GitLab": prefix_lines("2026-07-01T10:00:00.123456Z 01O "),
    "logger": prefix_lines("2026-07-01 10:00:00,123 - INFO - "),
    "logger without a time": prefix_lines("INFO:root:"),
    "quotation": prefix_lines("> "),
    "quotation of a quotation": prefix_lines(">> "),
    "mail": lambda text: quopri.encodestring(f"On Friday I saw x=1:\n{text}".encode()).decode(),
    "srun -l": prefix_lines("0: "),
    "pdsh": prefix_lines("node1: "),
    "hydra": prefix_lines("[0] "),
    "prterun": prefix_lines("[prterun-n1-77@1,0]<stdout>: "),
    "prterun with tag-detailed": prefix_lines("[prterun-n1-77@1,0][n1:4100]<stdout>: "),
    "list of lines of Ansible": lambda text: (
        '    "stdout_lines": [\n' + "".join(f"        {json.dumps(line)},\n" for line in text.splitlines()) + "    ]\n"
    ),
    "compose": prefix_lines("worker-1  | "),
    "kubectl": prefix_lines("[pod/bench-0/main] "),
    "time": prefix_lines("2026-07-01T10:00:00.123456Z "),
    "time and node": prefix_lines("2026-07-01 10:00:00,123 node1: "),
    "journal": prefix_lines("Jul 01 10:00:00 node1 bench[123]: "),
    "ts": prefix_lines("Jul 01 10:00:00 "),
    "ts with a padded day": prefix_lines("Jul  1 10:00:00 "),
    "iperf3 --timestamps": prefix_lines("Wed Jul  1 10:00:00 2026 "),
    "iperf3 --timestamps in English": prefix_lines("Wed 01 Jul 2026 10:00:00 AM UTC "),
    "ts -s": prefix_lines("00:00:01 "),
    "log of Kubernetes": prefix_lines("2026-07-01T10:00:00.123456789Z stdout F "),
    "byte order mark": lambda text: f"\ufeff{text}",
    "terminal codes": prefix_lines("\x1b[K\x1b[?25l"),
}


def by_turns(samples: Iterable[tuple[str, tuple[object, ...]]], ways: Iterable[str]) -> list[Any]:
    """Return each sample (its id, its values) with each way; `make test` runs one in three of these.

    It takes every sample in some ways, and every way with a third of the samples.
    """
    ways = tuple(ways)
    return [
        pytest.param(*values, way, id=f"{name}-{way}", marks=pytest.mark.full if (at + turn) % 3 else ())
        for at, (name, values) in enumerate(samples)
        for turn, way in enumerate(ways)
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_a_pasted_output_gives_the_figures_of_the_output_alone(name: str, way: str) -> None:
    text = (MADE / f"{name}.txt").read_text(encoding="utf-8")
    alone, pasted = parse_sample(text), parse(WAYS[way](text))
    assert [table.rows for table in pasted.tables] == [table.rows for table in alone.tables] != []
    assert [table.complete for table in pasted.tables] == [table.complete for table in alone.tables]
    assert len(pasted.failures) == len(alone.failures)


@pytest.mark.parametrize("sign", [":", "\t", " "])
def test_sizes_are_no_numbers_of_lines(sign: str) -> None:
    """Lines that do not all have a number, one more in each, keep it."""
    text = f"# OSU\n1{sign}1.5\n2{sign}1.6\n3{sign}1.7\n5 1.8\n"
    assert (without_prefixes(text) or (text, {}))[0] == text


PREFIXED = ("ts", "ts -s", "iperf3 --timestamps", "iperf3 --timestamps in English", "log of Kubernetes", "journal")


@pytest.mark.parametrize(
    ("path", "way"), by_turns(((path.stem, (path,)) for path in sorted(MADE.glob("*.txt"))), PREFIXED)
)
def test_each_sample_gives_the_figures_that_it_gives_without_a_time_before_its_lines(path: Path, way: str) -> None:
    text = path.read_text(encoding="utf-8")
    try:
        alone = parse_sample(text)
    except ParseError:
        pytest.skip("no output of a tool by itself")
    if not alone.tables or text.count("\n") < 3:
        pytest.skip("no figure, or JSON in one line, whose prefix could be anything")
    stamped = parse(WAYS[way](text))
    assert [table.rows for table in stamped.tables] == [table.rows for table in alone.tables]
    assert not [failure for failure in stamped.failures if "two lines are joined" in failure.text]


OSU = """\
# OSU MPI Latency Test v7.4
# Size       Avg Latency(us)
1                      15.64
2                      15.63
"""


def test_ranks_that_say_something_else_do_no_harm() -> None:
    text = "1: warning: no hugepages\n" + prefix_lines("0: ")(OSU) + "1: done\n"
    assert parse(text).tables[0].rows == ((1, 15.64), (2, 15.63))


def test_two_processes_that_print_rows_are_refused() -> None:
    text = "".join(f"n1: {line}\nn2: {line}\n" for line in OSU.splitlines())
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value).startswith("line 2: found 'n2: # OSU MPI Latency Test v7.4', expected the output of one")
    assert str(caught.value).endswith('"n1" and "n2" both print rows; give each a file of its own')


def test_lines_keep_their_numbers() -> None:
    long = "one line that is so long that a mailer has to break it somewhere before its end, as here"
    text = quopri.encodestring(f"{long}\n= 1\n{OSU}".encode()).decode()
    assert text.split("\n").index("# OSU MPI Latency Test v7.4") == strip_decorations(text).split("\n").index(OSU[:27])
    assert strip_decorations(text).startswith(long)


@pytest.mark.parametrize(
    "text",
    [
        "# nccl-tests version 2.17.6 nccl-headers=21800 nccl-library=21800\n",
        "a > b\nc\nd\n",
        "Total ==== 5\n",
        "[mpiexec@vn1] Press Ctrl-C again to force abort\n",
        "x & y <b>\n",
        "\x1b[4mGPU0\x1b[0m\n",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert strip_decorations(text) == text
    assert without_prefixes(text) is None


def with_tabs(line: str) -> str:
    """Return a line as `unexpand -a` gives it."""
    wide = line.expandtabs(8)
    parts = [wide[at : at + 8] for at in range(0, len(wide), 8)]
    return "".join(f"{part.rstrip(' ')}\t" if len(part) == 8 and part.endswith("  ") else part for part in parts)


#: What a page, a mail or a spreadsheet makes of the blanks between words and around lines.
BLANKS: dict[str, Callable[[str], str]] = {
    "unexpand": lambda text: "\n".join(map(with_tabs, text.split("\n"))),
    "a tab for each run of blanks": lambda text: re.sub(" {2,}", "\t", text),
    "a tab for each blank": lambda text: text.replace(" ", "\t"),
    "a tab for one blank or more": lambda text: re.sub(" +", "\t", text),
    "one blank for each tab": lambda text: text.replace("\t", " "),
    "one blank for each run": lambda text: re.sub(r"(?<=\S)[ \t]+", " ", text),
    "no indentation": lambda text: re.sub("^[ \t]+", "", text, flags=re.MULTILINE),
    "blanks at the end of lines": lambda text: text.replace("\n", "  \t\n"),
    "lines that end as in DOS": lambda text: text.replace("\n", "\r\n"),
    "a mark of a mail before each line": prefix_lines(">"),
    "a list in Markdown": lambda text: re.sub("^(?=.*\\S)", "- ", text, flags=re.MULTILINE),
    "bold lines": lambda text: re.sub("^(.*\\S.*)$", r"**\1**", text, flags=re.MULTILINE),
    "a list of lines of code": lambda text: re.sub("^(.*\\S.*)$", r"* `\1`", text, flags=re.MULTILINE),
    "a cell of Markdown for each line": lambda text: cells_of(text, lambda line: [line]),
    "a cell of Markdown for each word": lambda text: cells_of(text, str.split),
}


IN_CELLS = ("a cell of Markdown for each word", "a cell of Markdown for each line")


def rows_in(parsed: ParsedOutput) -> int:
    return sum(len(table.rows) for table in parsed.tables)


def cells_of(text: str, words: Callable[[str], list[str]]) -> str:
    """Return an output as one table in Markdown; the first line is its heading."""
    lines = [f"| {' | '.join(words(line))} |" for line in text.split("\n") if line.strip()]
    return "\n".join([lines[0], "|---|---|", *lines[1:]]) + "\n"


def figures(parsed: ParsedOutput) -> tuple[object, object, object]:
    """Return all that was read but for the lines, since a table in Markdown has one more."""
    ports = [{**port.as_json(), "line": 0} for port in parsed.fabric]
    hardware = [{**one, "line": 0} for entries in parsed.hardware.as_json().values() for one in entries]
    return [(table.benchmark, table.columns, table.rows) for table in parsed.tables], ports, hardware


@pytest.mark.parametrize(
    ("tool", "name", "text", "way"), by_turns(((sample[1], sample) for sample in samples()), BLANKS)
)
def test_other_blanks_give_the_same_figures_or_an_error_with_its_line(
    tool: str, name: str, text: str, way: str
) -> None:
    try:
        alone = parse_sample(text)
    except ParseError:
        pytest.skip("no output of a tool by itself")
    try:
        changed = parse(BLANKS[way](text))
    except ParseError as error:
        assert error.line_number, (tool, name)
        return
    if figures(changed) != figures(alone):
        new = {failure.line for failure in changed.failures} - {failure.line for failure in alone.failures}
        is_whole = all(table.complete for table in changed.tables)
        # a figure behind a pipe of its own line ("max(|x-x0|)" of HPCC) or of a processor (qperf) is lost, but no row
        assert new or not is_whole or (way in IN_CELLS and rows_in(changed) == rows_in(alone) > 0)
        assert cells(changed) <= cells(alone)


def cells(parsed: ParsedOutput) -> set[object]:
    """Return each figure of the tables with its column."""
    return {
        (table.benchmark, column, cell)
        for table in parsed.tables
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
    }


def in_markdown(text: str) -> str:
    """Return an output whose rows, and the heading above them, are a table in Markdown."""
    lines, made = text.split("\n"), list[str]()
    rows = [re.fullmatch(r"\s*[0-9]+(?:\s+[0-9.]+)+\s*", line) is not None for line in lines]
    for at, line in enumerate(lines):
        if rows[at]:
            made.append(f"| {' | '.join(line.split())} |")
        elif any(rows[at + 1 : at + 2]):
            cells = re.split(r"\s{2,}", line.strip())
            made += [f"| {' | '.join(cells)} |", f"|{'---|' * len(cells)}"]
        else:
            made.append(line)
    return "\n".join(made)


WHOLE = ("netperf-tcp_stream", "netperf-tcp_rr", "milc-two-runs", "iperf3-one-stream")


@pytest.mark.parametrize("way", [way for way in BLANKS if way not in ("unexpand", "no indentation")])
@pytest.mark.parametrize("name", WHOLE)
def test_an_output_whose_lines_all_have_the_same_marks_is_read(name: str, way: str) -> None:
    text = (MADE / f"{name}.txt").read_text(encoding="utf-8")
    changed = parse(BLANKS[way](text))
    assert [(table.benchmark, table.columns, table.rows) for table in changed.tables] == figures(parse(text))[0] != []


def test_json_of_iperf3_is_read_out_of_marks_of_markdown() -> None:
    sums = '"sum_sent": {"seconds": 1, "bytes": 125000000, "bits_per_second": 1e9}'
    start = '"start": {"version": "iperf 3.9", "test_start": {"protocol": "TCP", "num_streams": 1}}'
    text = f'{{\n  {start},\n  "intervals": [],\n  "end": {{\n    {sums}\n  }}\n}}\n'
    alone = figures(parse(text))[0]
    assert alone
    for way in ("a list in Markdown", "bold lines", "a list of lines of code", "a cell of Markdown for each line"):
        assert figures(parse(BLANKS[way](text)))[0] == alone


@pytest.mark.parametrize(
    "row",
    [
        " 87380  16384  16384    10.00    9414.42",
        "16384  87380  1        1       10.00    21435.12\n16384  87380",
        "212992   65507   10.00      181372      0     9504.12\n212992           10.00      181300            9500.35",
    ],
)
def test_rows_of_netperf_without_a_title_say_so(row: str) -> None:
    with pytest.raises(
        ParseError, match=r"^line 1: .*rows of netperf without them \(-P 0\).* run netperf without -P 0"
    ):
        parse(f"{row}\n")


MARKDOWN = ("osu-mbw_mr-and-latency", "imb-exchange-4-ranks", "perftest-write_bw", "perftest-send_lat")


@pytest.mark.parametrize("name", MARKDOWN)
def test_a_table_in_markdown_is_read(name: str) -> None:
    text = (MADE / f"{name}.txt").read_text(encoding="utf-8")
    assert "|---|" in in_markdown(text)
    assert figures(parse(in_markdown(text))) == figures(parse(text))


def test_an_empty_cell_of_markdown_moves_no_figure() -> None:
    text = (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v5.9\n| # Size | MB/s | Messages/s |\n|---|---:|---:|\n"
        "| 1 | 2.5 | 2500000.00 |\n| 2 | | 2400000.00 |\n"
    )
    parsed = with_wrong_lines(parse(text), text)
    assert [table.rows for table in parsed.tables] == [((1, 2.5, 2500000.0),)]
    assert [failure.line for failure in parsed.failures] == [5]
    assert 'in place of "-"' in parsed.failures[0].text


@pytest.mark.parametrize(
    "text",
    [
        in_markdown((MADE / "ucx_perftest-1.8-batch.txt").read_text(encoding="utf-8")),
    ],
    ids=["ucx_perftest"],
)
def test_a_table_in_markdown_that_is_not_read_is_named_with_its_line(text: str) -> None:
    failure = max(parse(text).failures, key=lambda each: each.line)
    assert text.split("\n")[failure.line - 1].startswith("|---|")
    assert failure.text.endswith("not a table in Markdown: paste its own lines, without pipes, between lines of ```")


def test_a_table_in_markdown_of_no_tool_is_named_with_its_line() -> None:
    with pytest.raises(ParseError, match=r"^line 2: found .*not a table in Markdown: paste its own lines"):
        parse("| nodes | time |\n|---|---|\n| 2 | 1.25 |\n")


@pytest.mark.parametrize("mark", ["# ", "#", "// "])
@pytest.mark.parametrize("path", sorted(MADE.glob("*.txt")), ids=lambda path: path.stem)
def test_an_output_behind_comment_marks_gives_its_own_figures_or_an_error(path: Path, mark: str) -> None:
    text = path.read_text(encoding="utf-8")
    commented = prefix_lines(mark)(text)
    try:
        parsed = with_wrong_lines(parse(commented), commented)
    except ParseError as error:
        if comment_mark(commented):
            assert str(error).endswith(f'without the "{mark.strip()}" that each line begins with')
        return
    assert cells(parsed) <= cells(parse_sample(text))
    assert parsed.failures or cells(parsed) == cells(parse_sample(text)) or parsed.fabric or parsed.hardware
