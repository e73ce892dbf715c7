"""Which tool printed a text, and what is said about a text of no tool or of two tools. Texts are synthetic."""

from dataclasses import replace

import pytest

from railyard.base.errors import RailyardError
from railyard.parsers import PARSERS, detect, osu
from railyard.parsers.detect import parse, read_by_tool
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.output import ParsedOutput, ParseError, Remark
from tests.parsers.samples import MADE

OSU = "# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n1                       1.50\n"
QPERF = "rc_lat:\n    latency  =  1.25 us\n"
TOOLS = ", ".join([*PARSERS, *FABRIC_PARSERS])


def made_text(name: str) -> str:
    return (MADE / name).read_text(encoding="utf-8")


def test_hpcc_contains_an_hpl_section_and_is_hpcc() -> None:
    text = made_text("hpcc-hpl-and-network.txt")
    assert list(read_by_tool(text, PARSERS)) == ["hpcc"]
    assert [table.tool for table in parse(text).tables] == ["hpl", "hpcc", "hpcc", "hpcc"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            OSU + QPERF,
            "line 4: found 'rc_lat:', expected the output of one tool: osu begins in line 1, qperf begins in line 4; "
            "give each a file of its own",
        ),
        (
            made_text("imb-exchange-4-ranks.txt") + OSU,
            "line 31: found '# OSU MPI Bandwidth Test v5.8', expected the output of one tool: imb begins in line 13, "
            "osu begins in line 31; give each a file of its own",
        ),
        # " remote address: …" of perftest looks like an error of qperf
        (
            made_text("perftest-send_lat.txt") + QPERF,
            "line 21: found 'rc_lat:', expected the output of one tool: perftest begins in line 2, qperf begins in "
            "line 21; give each a file of its own",
        ),
        # parsers that skip what they do not know take these lines for their own
        (
            made_text("hpcg-3.1-valid.txt") + made_text("sockperf-throughput.txt"),
            "line 56: found 'sockperf: Total of 1375350 messages sent in 1.100 sec', expected the output of one tool: "
            "hpcg begins in line 1, sockperf begins in line 56; give each a file of its own",
        ),
        # a heading without rows is a failure of its tool, and would be lost
        (
            QPERF + OSU.rpartition("1  ")[0],
            "line 3: found '# OSU MPI Bandwidth Test v5.8', expected the output of one tool: qperf begins in line 1, "
            "osu begins in line 3; give each a file of its own",
        ),
    ],
)
def test_two_tools_in_one_text_are_refused_with_both_and_their_lines(text: str, sentence: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value) == sentence


def bare(text: str) -> ParsedOutput:
    """Return what another tool prints with OSU's heading."""
    parsed = osu.parse(text)
    return replace(parsed, tables=tuple(replace(table, tool="ringbench") for table in parsed.tables))


@pytest.fixture
def ringbench(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another parser, whose tool prints the heading of OSU's bandwidth test."""
    monkeypatch.setattr(detect, "PARSERS", {**PARSERS, "ringbench": bare})


@pytest.mark.usefixtures("ringbench")
def test_a_heading_of_two_tools_is_refused_unless_it_is_said_whose_it_is() -> None:
    rows = "# Size      Bandwidth (MB/s)\n1                       1.50\n"
    with pytest.raises(ParseError) as caught:
        parse(rows)
    assert str(caught.value) == (
        "line 1: found '# Size      Bandwidth (MB/s)', expected a heading of one tool: osu and ringbench both print "
        "it; say whose output it is with --tool osu or --tool ringbench"
    )
    assert [table.tool for table in parse(rows, "ringbench").tables] == ["ringbench"]
    assert [table.tool for table in parse(rows, "osu").tables] == ["osu"]


def test_a_tool_without_a_parser_is_refused_with_the_nearest() -> None:
    with pytest.raises(RailyardError) as caught:
        parse(OSU, "netpip")
    assert str(caught.value) == '--tool: found "netpip", expected a tool with a parser; did you mean "netpipe"?'
    with pytest.raises(ParseError, match=r"^line 1: found '# OSU MPI Bandwidth Test v5.8', expected output of NetPIPE"):
        parse(OSU, "netpipe")


def test_a_heading_of_size_and_rate_alone_is_not_taken_for_osus() -> None:
    with pytest.raises(ParseError):
        osu.parse("# size      MB/s\n1           1.50\n")
    (table,) = osu.parse(
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# Size      MB/s\n1      1.50\n"
    ).tables
    assert (table.tool, table.columns) == ("osu", ("size", "bandwidth"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\n\nTo whom it may concern\n", "line 3: found 'To whom it may concern'"),
        ("# Notes\n## Runs\nibstat and perfquery failed on node7, the job was aborted\n", "line 1: found '# Notes'"),
        ("1 2 3\n", "line 1: found '1 2 3'"),
        ("", "found ''"),
        ("x" * 100, f"line 1: found '{'x' * 77}...'"),
    ],
)
def test_a_text_that_no_tool_printed_is_refused_with_all_tools(text: str, found: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value) == f"{found}, expected the output of one of {TOOLS}"


@pytest.mark.parametrize(
    "line",
    [
        "mpirun was unable to launch the specified application as it could not access",
        "mpirun.openmpi was unable to find the specified executable file, and therefore",
        "mpirun noticed that process rank 1 with PID 77 on node n1 exited on signal 9 (Killed).",
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "[proxy:0:0@n1] HYD_pmcd_pmip_control_cmd_cb (pm/pmiserv/pmip_cb.c:480): assert failed",
        "srun: error: n1: task 0: Out Of Memory",
        "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-11-21T10:00:00 DUE TO TIME LIMIT ***",
        "slurmstepd-n1: error: *** JOB 77 ON n1 CANCELLED AT 2026-11-21T10:00:00 DUE TO TIME LIMIT ***",
        "[2026-11-30T10:03:07.1] error: *** JOB 4 ON vn3 CANCELLED AT 2026-11-30T10:03:07 DUE to SIGNAL Terminated ***",
        "./bin/app.x: error while loading shared libraries: libmpi.so.40: cannot open shared object file",
        "job.sh: line 12: app.x: command not found",
        "job.sh: line 12:  4711 Segmentation fault      (core dumped) ./app.x",
        "[n1:4711] *** Process received signal ***",
        "Fatal error in MPI_Init: Other MPI error, error stack:",
        "Abort(1090575) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Init",
        "16 total processes failed to start",
        "=>> PBS: job killed: walltime 3612 exceeded limit 3600",
    ],
)
def test_a_launcher_alone_is_a_failure_without_a_table(line: str) -> None:
    parsed = parse(f"modules loaded\n\n{line}\n")
    assert (parsed.tables, parsed.fabric) == ((), ())
    assert parsed.failures == (Remark(3, line),)
    assert parsed.remarks == (Remark(1, "modules loaded"),)


def test_a_launchers_failure_beside_a_table_is_that_outputs() -> None:
    parsed = parse(f"{OSU}mpirun noticed that process rank 1 exited on signal 9 (Killed).\nsee IMB-MPI1\n")
    assert [(table.tool, table.complete) for table in parsed.tables] == [("osu", False)]
    assert [failure.line for failure in parsed.failures] == [4]


def test_ports_stand_beside_a_benchmarks_tables_and_are_no_remarks_of_it() -> None:
    state = made_text("ibstat-two-adapters.txt")
    parsed = parse(f"job 77\n{state}{OSU}")
    assert [(table.tool, table.line) for table in parsed.tables] == [("osu", 36)]
    assert [(port.device, port.line) for port in parsed.fabric] == [
        (port.device, port.line + 1) for port in parse(state).fabric
    ]
    assert parsed.failures == ()
    assert parsed.remarks == (Remark(1, "job 77"),)


def test_several_fabric_tools_in_one_text_are_read_together_in_its_order() -> None:
    names = ("perfquery-one-port.txt", "ibstat-two-adapters.txt", "rdma_link-two-links.txt")
    parsed = parse("".join(map(made_text, names)) + "perfquery: iberror: failed: can't resolve destination port\nbye\n")
    assert [len(parse(made_text(name)).fabric) for name in names] == [1, 2, 2]
    assert len(parsed.fabric) == 5
    assert [port.line for port in parsed.fabric] == sorted(port.line for port in parsed.fabric)
    assert [failure.text for failure in parsed.failures] == [
        "perfquery: iberror: failed: can't resolve destination port"
    ]
    assert [remark.text for remark in parsed.remarks] == ["bye"]


def test_a_fabric_tool_that_finds_no_device_or_no_error_is_read() -> None:
    missing = parse("ibpanic: [77] main: stat of IB device 'mlx5_8' failed: No such file or directory\nibstat: done\n")
    assert [failure.line for failure in missing.failures] == [1]
    clean = parse("\n## Summary: 12 nodes checked, 0 bad nodes found\n##          168 ports checked\n## Thresholds:\n")
    assert (clean.fabric, clean.failures) == ((), ())


def test_a_fabric_tools_own_line_is_no_failure_of_another() -> None:
    state = made_text("mlxlink-one-port.txt").replace("No Loopback", "not supported")
    parsed = parse(state + made_text("perfquery-one-port.txt"))
    assert len(parsed.fabric) == 2
    assert parsed.failures == ()


def test_a_benchmark_decides_what_is_a_failure_beside_ports() -> None:
    parsed = parse(f"{made_text('ibstat-two-adapters.txt')}huge pages are not supported\n{OSU}")
    assert parsed.failures == ()
    assert [remark.text for remark in parsed.remarks] == ["huge pages are not supported"]
