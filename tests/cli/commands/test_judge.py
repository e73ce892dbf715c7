"""`railyard judge`: verdicts of stored outputs, what is not judged, and a sentence for each mistake of a user."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.base.paths import HOME_VARIABLE
from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks.model import Figure
from railyard.benchmarks.table.micro import find
from railyard.cli.main import main
from railyard.parsers import hpcc
from railyard.parsers.detect import parse
from railyard.parsers.output import Caution, Cell, ParsedOutput, Remark, Table
from railyard.site.references.load import References
from railyard.site.site import Site, site_at
from railyard.verdict.inputs import Target
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.judgement import text as words_of
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.stored_outputs.target import Nodes, of_link, unnamed_link
from railyard.verdict.wording import Miss, too_short
from railyard.verdict.wording import run_rules as run_words
from railyard.verdict.wording import weak_figures as weak_words
from railyard.verdict.wording.run_rules import look_at_quoted, say_reported, wrong_data
from tests.made.words import at_line, below_words

ROOT = Path(__file__).resolve().parents[3]
SIZES = tuple(2**n for n in range(23))
CLASS_C: dict[str, Any] = {"class": "C"}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(ROOT))


def rates(peak_mb_s: float, message_us: float = 0.3) -> dict[int, float]:
    """Return a synthetic bandwidth curve: a cost per message, and a rate that it approaches."""
    return {size: size / (message_us + size / peak_mb_s) for size in SIZES}


def osu_bw(values: Mapping[int, float], name: str = "Bandwidth", heading: str = "Bandwidth (MB/s)") -> str:
    """Return a synthetic output of OSU 7.4 in the form of its programs."""
    rows = "".join(f"{size:<18d}{value:>12.2f}\n" for size, value in values.items())
    return f"# OSU MPI {name} Test v7.4\n# Size      {heading}\n{rows}"


def table(
    tool: str,
    benchmark: str | None,
    columns: Mapping[str, str | None],
    *rows: tuple[Cell, ...],
    complete: bool = True,
    line: int = 3,
    **context: Any,
) -> Table:
    said = MappingProxyType(context)
    return Table(tool, None, benchmark, tuple(columns), tuple(columns.values()), rows, line, complete, said)


def stream(values: Mapping[int, float], **rest: Any) -> Table:
    return table("osu", "osu_bw", {"size": "B", "bandwidth": "MB/s"}, *values.items(), **rest)


def judge_one(parsed: ParsedOutput, target: Target, **options: Any) -> Judgement:
    (found,) = judge(parsed, target, **options)
    return found


def write_output(folder: Path, text: str | bytes, name: str = "job.out") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


# The command

PASSED = """\
{file} against ib-edr in pcie3-x16, 1 rail

osu/osu_bw (line 1)
  PASS  bandwidth holds class:ib-edr and day-one, at worst 102.1 % of class:ib-edr at 1 MiB \
(bounded: 23 of 23 sizes, 1 B to 4 MiB)
  bandwidth: 3.330 MB/s at 1 B, 12289 MB/s at 4 MiB; 102.1 % of the reference at worst, at 1 MiB; \
98.9 % of the limit of 12421 MB/s at best

not judged here: exit code, time limit and nodes of the job, and the path that the bytes took (rule 4)
pass: 1 benchmark
"""


def test_a_healthy_curve_passes_and_the_whole_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_output(tmp_path, osu_bw(rates(12300)))
    assert main(["judge", file, "--link", "ib-edr", "--slot", "pcie3-x16"]) == 0
    assert capsys.readouterr().out == PASSED.format(file=file)


def test_a_curve_of_half_the_rate_fails_with_what_it_looks_like(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_output(tmp_path, osu_bw(rates(6300)))
    assert main(["judge", file, "--link", "ib-edr", "--slot", "pcie3-x16"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[3:5] == [
        "  FAIL  Bandwidth is 52.4 % of its bound at 1 MiB, like a link of InfiniBand FDR 4X",
        f"  measured: {below_words(6289, 12000, 1 << 20)}, its bound (class): "
        "Railyard's own condition, not physics: InfiniBand EDR 4X streams at least 12 GB/s one way, 96.6 % of the "
        "limit of one rail; a class entry in a system's references sets another",
    ]
    assert lines[5] == "  evidence: a link of InfiniBand FDR 4X (92.9 % of 6775 MB/s)"
    assert lines[6].startswith("  look at: ")
    assert "looks like" not in "\n".join(lines)
    assert lines[-2:] == [f"type next: railyard judge {file} --link ib-edr --slot pcie3-x16 --why", "fail: 1 benchmark"]
    assert main(["judge", file, "--link", "ib-edr", "--slot", "pcie3-x16", "--why"]) == 1
    why = f"  why: rule 5 (reference): {below_words(6289, 12000, 1 << 20)}, the bound of "
    whole = capsys.readouterr().out
    assert why in whole and "type next" not in whole


def test_a_curve_just_below_the_projects_own_condition_is_sent_to_that_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_output(tmp_path, osu_bw(rates(11905)))
    assert main(["judge", file, "--link", "ib-edr"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[3] == "  FAIL  Bandwidth is 98.9 % of its bound at 1 MiB: 11865 MB/s, bound 12000"
    assert lines[4].startswith(f"  measured: {below_words(11865, 12000, 1 << 20)}, its bound (class): ")
    assert lines[5].startswith(
        "  look at: whether your system should give as much: a class entry in the references of your system"
    )
    assert "if it should, each rail alone" in lines[5]


def test_json_holds_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_output(tmp_path, osu_bw(rates(6300)))
    assert main(["judge", file, "--system", "dell-c6320", "--fabric", "edr", "--stack", "hpcx", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {key: found[key] for key in ("format", "file", "state")} == {"format": 1, "file": file, "state": "fail"}
    assert found["against"] == {
        "system": "dell-c6320",
        "link": "ib-edr",
        "fabric": "edr",
        "stack": "hpcx",
        "rails": 1,
        "policy": "single",
        "slot": "pcie3-x16",
    }
    (judged,) = found["judgements"]
    assert (judged["benchmark"], judged["lines"], judged["state"]) == ("osu/osu_bw", [1], "fail")
    assert [(rule["rule"], rule["state"]) for rule in judged["rules"]] == [
        (1, "pass"),
        (2, "pass"),
        (3, "pass"),
        (4, "not-judged"),
        (5, "fail"),
    ]
    assert judged["rules"][0]["sentence"] == (
        "1 complete table; osu does not mark its end: missing rows there are seen only with --sizes; not judged "
        "here: exit code, time limit and nodes of the job"
    )
    (curve,) = judged["curves"]
    assert curve["references"] == ["edr-bandwidth", "class:ib-edr", "day-one"]
    assert (curve["worst_size"], round(curve["percent_of_reference"], 1)) == (4194304, 50.8)
    assert round(curve["percent_of_limit"], 1) == 50.7
    assert [cause["cause"] for cause in judged["looks_like"]] == ["lower-generation"]


_DEMO = "# MPI Bi-Directional Bandwidth Test\n# Size [B]     Bandwidth [MB/s]\n1    1.50\n1048576 12000.00\n"
_ONE_DIRECTION = (
    "line 1: # MPI Bi-Directional Bandwidth Test: osu_bibw.py of mpi4py counts the bytes of one direction, OSU's "
    "osu_bibw those of both: do not compare"
)


def test_what_the_parser_says_of_the_figures_is_in_the_text_and_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_output(tmp_path, _DEMO)
    assert main(["judge", file, "--link", "ib-edr"]) == 1
    assert f"  {_ONE_DIRECTION}\n" in capsys.readouterr().out
    assert main(["judge", file, "--link", "ib-edr", "--json"]) == 1
    (judged,) = json.loads(capsys.readouterr().out)["judgements"]
    assert judged["remarks"] == [_ONE_DIRECTION]


def test_a_remark_of_figures_is_of_the_table_at_or_above_its_line_and_no_noise_is_shown() -> None:
    first, second = (
        table("osu", "osu_latency", {"size": "B", "latency": "us"}, (1, 1.1), (2, 1.2), line=line) for line in (3, 9)
    )
    said = [Caution(1, "above all"), Remark(5, "a library's message"), Caution(11, "the second")]
    judged = judge(ParsedOutput((first, second), (), tuple(said)), of_link("ib-edr", None, 1, None), passes="apart")
    shown = [[remark for remark in one.remarks if remark.startswith("line ")] for one in judged]
    assert shown == [["line 1: above all"], ["line 11: the second"]]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--slot", "pcie3-x16"],
            "--slot: found it with no --link and no --system, expected it only with another option; leave it out",
        ),
        (["--link", "ib-edr", "--nodes", "0"], "--nodes: found 0, expected at least 1"),
        (
            ["--system", "dell-c6320", "--link", "ib-edr"],
            "--system and --link: found both, expected one of them: what should judge the output?",
        ),
        (
            ["--link", "ib-edr", "--fabric", "edr"],
            "--fabric: found it with --link, expected it only with another option; leave it out",
        ),
        (
            ["--system", "dell-c6320", "--slot", "pcie3-x8"],
            "--slot: found it with --system, expected it only with another option; leave it out",
        ),
        (["--system", "dell"], 'systems/: found no system "dell", expected a system of that name; '),
        (["--system", "dell-c6320"], "--fabric: found nothing, expected a fabric of dell-c6320: edr, fdr"),
        (
            ["--system", "dell-c6320", "--fabric", "ehdr"],
            '--fabric: found "ehdr", expected a fabric of dell-c6320; did you mean "edr"?',
        ),
        (
            ["--system", "dell-c6320", "--fabric", "edr", "--stack", "openmpi"],
            '--stack: found "openmpi", expected a stack of dell-c6320; known: hpcx',
        ),
        (
            ["--system", "dell-c6320", "--fabric", "edr", "--rails", "2"],
            "--rails: found 2, expected 1 to 1, the rails of edr of dell-c6320",
        ),
        (
            ["--system", "virtual", "--fabric", "hsn"],
            "--stack: found nothing, expected a stack of virtual (openmpi, mpich, intelmpi, tcp, libfabric): the "
            "reference both-ways-one-rail applies only to intelmpi",
        ),
        (
            ["--system", "virtual", "--fabric", "hsn", "--stack", "mpich", "--policy", "stripes"],
            '--stack mpich: unknown rail policy "stripes": did you mean "striping"?',
        ),
        (
            ["--link", "ib-erd"],
            '--link: found "ib-erd", expected a link of docs/reference/rates.md; did you mean "ib-edr"?',
        ),
        (
            ["--link", "ib-edr", "--slot", "pcie3-x17"],
            '--slot: found "pcie3-x17", expected a slot of docs/reference/rates.md; did you mean "pcie3-x1"?',
        ),
        (["--link", "ib-edr", "--rails", "0"], "--rails: found 0, expected at least 1"),
        (["--link", "ib-edr", "--mtu", "1500"], "--mtu: found 1500, expected one of 256, 512, 1024, 2048, 4096"),
        (["--link", "ib-edr", "--node-pairs", "0"], "--node-pairs: found 0, expected at least 1"),
        (
            ["--link", "ib-edr", "--benchmark", "osu/osu_bx"],
            'unknown benchmark "osu/osu_bx": did you mean "osu/osu_bw"?',
        ),
        (
            ["--link", "ib-edr", "--benchmark", "osu/osu_bibw"],
            "--benchmark: found no table of osu/osu_bibw, the output has osu/osu_bw",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert main(["judge", write_output(tmp_path, osu_bw(rates(12300))), *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"railyard: {sentence}")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", ": found an empty file, expected the text output of a benchmark; was the job's output kept?"),
        (b"\x7fELF\x00\x00\x01", ":1: found binary data: byte 5 is NUL, expected "),
        (b"Dear all,\nthe cluster is down on Monday.\n", ": line 1: found 'Dear all,', expected the output of one of "),
    ],
)
def test_a_file_that_is_no_output_is_one_sentence_and_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, sentence: str
) -> None:
    file = write_output(tmp_path, content)
    assert main(["judge", file, "--link", "ib-edr"]) == 2
    said = capsys.readouterr()
    assert said.err.removeprefix(f"railyard: {file}").startswith(sentence)
    assert said.err.count("\n") == 1
    assert main(["judge", str(tmp_path / "none.out"), "--link", "ib-edr"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_the_outputs_of_two_tools_in_one_file_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], imb_text: Any
) -> None:
    file = write_output(tmp_path, osu_bw(rates(12300)) + "\n" + imb_text())
    assert main(["judge", file, "--link", "ib-edr"]) == 2
    assert "expected the output of one tool: osu begins in line 1, imb begins in line 30" in capsys.readouterr().err


# The verdict

LINK = of_link("ib-edr", "pcie3-x16")


def test_an_output_that_is_cut_fails_whatever_it_holds() -> None:
    found = judge_one(ParsedOutput((stream(rates(12300), complete=False),)), LINK)
    assert found.sentence == (
        "rule 1 (complete): the output is cut: osu/osu_bw (line 3) lacks rows; "
        "look at where the job's output ends, and its limits of time and file size"
    )


def test_what_the_output_reports_as_wrong_fails() -> None:
    broken = ParsedOutput(
        (stream(rates(12300)),), (Remark(40, "mpirun noticed that process rank 1 exited on signal 9"),)
    )
    found = judge_one(broken, LINK)
    assert found.sentence == (
        f"rule 1 (complete): {say_reported(1, '')}, {at_line(40)[:-1]}"
        f'"mpirun noticed that process rank 1 exited on signal 9"; look at {look_at_quoted()}'
    )
    alone = judge_one(ParsedOutput((), broken.failures), LINK)
    assert (alone.state, alone.sentence) == (
        "fail",
        f"rule 1 (complete): the output has no table and reports 1 failure, {at_line(40)[:-1]}"
        '"mpirun noticed that process rank 1 exited on signal 9"',
    )
    with pytest.raises(RailyardError) as caught:
        judge(ParsedOutput(), LINK)
    assert str(caught.value) == "the output has no table of a benchmark, so there is nothing to judge"


@pytest.mark.parametrize(("marks", "state"), [((True, True), "pass"), ((True, False), "fail")])
def test_the_benchmarks_own_validation_counts(marks: tuple[bool, bool], state: str) -> None:
    columns = {"size": "B", "bandwidth": "MB/s", "validation": None}
    rows = zip((1 << 20, 2 << 20), (12200.0, 12300.0), marks, strict=True)
    found = judge_one(ParsedOutput((table("osu", "osu_bw", columns, *rows),)), LINK)
    assert found.state == state
    assert (
        found.rules[0].sentence
        == {
            "pass": "1 complete table, validated by the benchmark itself; osu does not mark its end: missing rows "
            "there are seen only with --sizes; not judged here: exit code, time limit and nodes of the job",
            "fail": wrong_data(False, ""),
        }[state]
    )


def test_more_than_the_limit_is_impossible() -> None:
    found = judge_one(ParsedOutput((stream(rates(30000)),)), LINK)
    assert found.sentence.startswith(
        f"rule 3 (possible): {IMPOSSIBLE}bandwidth 14295 MB/s at 8 KiB is 115.1 % of the limit"
    )
    assert [cause.cause for cause in found.causes] == ["one-node"]


def test_two_rails_are_held_to_two() -> None:
    both = of_link("ib-edr", "pcie3-x16", rails=2)
    assert judge_one(ParsedOutput((stream(rates(24500)),)), both).state == "pass"
    found = judge_one(ParsedOutput((stream(rates(12300)),)), both)
    assert found.state == "fail"
    assert "fewer-rails" in [cause.cause for cause in found.causes]


def test_what_no_floor_holds_for_is_not_judged_and_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = osu_bw({8: 4.0, 16: 9.0}, "Allreduce Latency", "Avg Latency(us)")
    assert main(["judge", write_output(tmp_path, text), "--link", "ib-edr"]) == 1
    printed = capsys.readouterr().out
    asked = "on how many nodes, with how many ranks on each? Say it with --nodes and --ranks-per-node"
    assert f"  NOT JUDGED  {asked}\n" in printed
    assert printed.endswith("not judged: 1 benchmark\n")


def test_a_stream_without_large_sizes_is_not_judged_and_what_would_still_pass_is_said() -> None:
    found = judge_one(
        ParsedOutput((stream({size: value for size, value in rates(12300).items() if size <= 8192}),)), LINK
    )
    assert found.state == "not-judged"
    assert found.sentence.startswith("not judged: a run at 17.5 % of the limit would still pass at 8 KiB, its largest")
    assert found.remarks == ()
    impossible = judge_one(ParsedOutput((stream({8192: 13000.0}),)), LINK)
    assert impossible.sentence.startswith(f"rule 3 (possible): {IMPOSSIBLE}bandwidth 13000 MB/s at 8 KiB is 104.7 %")


def test_the_card_that_perftest_names_is_no_device_memory() -> None:
    columns = {"size": "B", "iterations": None, "time_typical": "us"}
    one = table("perftest", "ib_send_lat", columns, (2, 1000, 0.9), device="mlx5_0")
    assert judge_one(ParsedOutput((one,)), LINK).state == "pass"


@pytest.mark.parametrize(("latency_us", "state", "causes"), [(1.1, "pass", []), (29.0, "fail", ["tcp"])])
def test_a_link_tells_rdma_from_tcp_by_its_latency(latency_us: float, state: str, causes: list[str]) -> None:
    columns = {"size": "B", "latency": "us"}
    rows = [(size, latency_us + size / 20000) for size in SIZES]
    found = judge_one(ParsedOutput((table("osu", "osu_latency", columns, *rows),)), of_link("slingshot-11"))
    assert (found.state, [cause.cause for cause in found.causes]) == (state, causes)
    on_device = table("osu", "osu_latency", columns, *rows, device="CUDA")
    assert (
        judge_one(ParsedOutput((on_device,)), of_link("slingshot-11")).state == "pass"
    )  # staged copies take that long


def test_both_metrics_of_a_ping_pong_are_judged() -> None:
    columns = {"size": "B", "repetitions": None, "time": "us", "bandwidth": "MB/s"}
    rows = [(size, 1000, 1.1 + size / 11000, size / (1.1 + size / 11000)) for size in SIZES]
    found = judge_one(ParsedOutput((table("imb", "PingPong", columns, *rows, ranks=2),)), LINK)
    assert found.state == "pass"
    assert [curve.references for curve in found.curves] == [("day-one",), ("day-one",)]


@pytest.mark.fault("rail", "a ping-pong over TCP in place of RDMA", "latency 30.00 us at 1 B is above 6.001 us")
def test_a_slow_start_of_a_ping_pong_is_named_as_its_latency(promise: str) -> None:
    columns = {"size": "B", "repetitions": None, "time": "us", "bandwidth": "MB/s"}

    def judge_start(start_us: float, mb_s: float) -> Judgement:
        rows = [(size, 1000, start_us + size / mb_s, size / (start_us + size / mb_s)) for size in SIZES]
        return judge_one(ParsedOutput((table("imb", "PingPong", columns, *rows, ranks=2),)), LINK)

    assert judge_start(30.0, 11000).sentence.startswith(f"rule 5 (reference): {promise}")
    # A slow link is named as its bandwidth.
    miss = judge_start(1.1, 5000).rules[4].miss
    assert miss is not None and (miss.figure.name, miss.side) == ("bandwidth", "below")


@pytest.mark.fault("rail", "TCP over a port of 10 Gbit/s in place of a faster one", "is a rate of eth-10")
def test_a_flow_of_tcp_at_the_rate_of_a_slower_port_does_not_pass(promise: str) -> None:
    def judge_rate(mb_s: float, link: str) -> Judgement:
        return judge_one(ParsedOutput((stream(rates(mb_s, message_us=5.0)),)), of_link(link))

    for mb_s in (1030, 1170, 1230):
        slow = judge_rate(mb_s, "eth-100")
        assert slow.state == "not-judged" and promise in slow.sentence
    assert judge_rate(1170, "eth-10").state == "pass"
    assert judge_rate(2400, "eth-100").state == "pass"
    assert judge_rate(560, "eth-100").state == "fail"
    half_trip = [(size, 20 + size / 1170) for size in SIZES]
    latency = ParsedOutput((table("osu", "osu_latency", {"size": "B", "latency": "us"}, *half_trip),))
    assert judge_one(latency, of_link("eth-25")).state == "not-judged"


@pytest.mark.parametrize("link", ["eth-25", "eth-100", "efa-100"])
def test_one_flow_at_the_limit_of_a_cloud_is_not_judged_and_anything_else_that_low_fails(link: str) -> None:
    def flows(mb_s: float, streams: int = 1, link: str = link) -> str:
        figure = table("iperf3", "iperf3", {"bandwidth": "MB/s"}, (mb_s,), streams=streams)
        return judge_one(ParsedOutput((figure,)), of_link(link)).sentence

    for gbit_s in (4.75, 4.97):
        assert flows(125 * gbit_s).startswith("not judged: its ")
        assert flows(125 * gbit_s).endswith("measure with eight flows (iperf3 -P 8)")
    assert [flows(125 * gbit_s).startswith("rule 5") for gbit_s in (1.0, 2.5, 4.4, 5.3, 7.0)] == [True] * 5
    assert flows(621.0, streams=8).startswith("rule 5")
    assert flows(621.0, link="eth-10").startswith("rule 5")
    assert flows(621.0, link="ib-edr").startswith("rule 5")


def test_a_curve_of_one_flow_at_the_limit_of_a_cloud_fails_if_short_messages_are_slow() -> None:
    def judge_message(message_us: float) -> Judgement:
        return judge_one(ParsedOutput((stream(rates(620, message_us=message_us)),)), of_link("eth-100"))

    assert (judge_message(5.0).state, judge_message(60.0).state) == ("not-judged", "fail")


@pytest.mark.fault("rail", "TCP over a port of 25 or 40 Gbit/s in place of a faster one", "is a rate of eth-")
def test_flows_at_the_rate_of_a_slower_ethernet_do_not_pass(promise: str) -> None:
    def judge_sum(mb_s: float, streams: int, link: str) -> Judgement:
        figure = table("iperf3", "iperf3", {"bandwidth": "MB/s"}, (mb_s,), streams=streams)
        return judge_one(ParsedOutput((figure,)), of_link(link))

    for mb_s, streams, link, slower in (
        *((2938, 8, "eth-100", 25), (4712, 8, "eth-100", 40), (2938, 16, "eth-400", 25)),
        *((2938, 1, "eth-100", 25), (11750, 16, "eth-400", 100)),
    ):
        slow = judge_sum(mb_s, streams, link)
        assert slow.state == "not-judged" and f"{promise}{slower} (9" in slow.sentence
    assert [judge_sum(mb_s, 8, "eth-100").state for mb_s in (2700, 3200, 5100, 11750)] == ["pass"] * 4
    assert judge_sum(2938, 8, "eth-25").state == judge_sum(2938, 8, "eth-50").state == "pass"


@pytest.mark.fault("rail", "several rails, of which the run used one", f"{weak_words.some_rails(1, 2)} can carry")
@pytest.mark.parametrize(
    ("made", "link", "both_mb_s"),
    [
        (lambda mb_s: table("iperf3", "iperf3", {"bandwidth": "MB/s"}, (mb_s,), streams=8), "eth-25", 5800.0),
        (lambda mb_s: stream({size: mb for size, mb in rates(mb_s).items() if size <= 1 << 19}), "ib-edr", 23000.0),
        (lambda mb_s: perftest(mb_s, 128, 5000).tables[0], "ib-edr", 24300.0),
        (
            lambda mb_s: table(
                "osu", "osu_latency", {"size": "B", "latency": "us"}, *((n, 1.2 + n / mb_s) for n in SIZES)
            ),
            "ib-edr",
            16000.0,
        ),
    ],
    ids=["flows", "window up to 512 KiB", "card at 64 KiB", "one message at a time"],
)
def test_what_one_of_two_rails_can_carry_does_not_pass(
    promise: str, made: Callable[[float], Table], link: str, both_mb_s: float
) -> None:
    one_mb_s = 0.95 * (3098 if link == "eth-25" else 12400)
    found = judge_one(ParsedOutput((made(one_mb_s),)), of_link(link, rails=2))
    assert found.state == "not-judged" and promise in found.sentence
    assert judge_one(ParsedOutput((made(both_mb_s),)), of_link(link, rails=2)).state == "pass"
    assert judge_one(ParsedOutput((made(one_mb_s),)), of_link(link)).state == "pass"


def exchange(one_way_mb_s: float) -> ParsedOutput:
    columns = {"size": "B", "repetitions": None, "time_avg": "us", "bandwidth": "MB/s"}
    times = [(size, 40 + 2 * size / one_way_mb_s) for size in SIZES]
    return ParsedOutput((table("imb", "Exchange", columns, *((n, 10, us, 4 * n / us) for n, us in times), ranks=2),))


def test_an_exchange_sends_two_messages_each_way_in_its_time() -> None:
    assert judge_one(exchange(1100), of_link("eth-100")).sentence.startswith(
        "not judged: its 1094 MB/s at 4 MiB is a rate"
    )
    assert judge_one(exchange(2400), of_link("eth-25")).state == "pass"
    # If nobody names the link, too.
    assert "its 11440 MB/s at 4 MiB is a rate of " in judge_one(exchange(12100), unnamed_link()).sentence


@pytest.mark.parametrize("tool", ["iperf2", "iperf3"])
def test_a_limit_of_one_flow_does_not_excuse_several(tool: str) -> None:
    def judge_sum(mb_s: float, streams: int) -> Judgement:
        figure = table(tool, tool, {"bandwidth": "MB/s"}, (mb_s,), streams=streams)
        return judge_one(ParsedOutput((figure,)), of_link("eth-100"))

    assert [judge_sum(1170, streams).state for streams in (1, 2, 4, 8)] == ["not-judged", "not-judged", "fail", "fail"]
    assert [judge_sum(mb_s, 8).state for mb_s in (1370, 1990, 2100)] == ["fail", "fail", "pass"]
    assert judge_sum(1370, 2).state == "pass"


def test_a_latency_says_how_little_of_the_rate_is_asked_of_it() -> None:
    rows = [(size, 18 + size / 4000) for size in SIZES]
    latency = ParsedOutput((table("osu", "osu_latency", {"size": "B", "latency": "us"}, *rows),))
    (remark,) = judge_one(latency, of_link("efa-100")).remarks
    assert remark.startswith("latency at 4 MiB, its largest size, has a bound of 11.6 % of the limit: one message at a")
    assert not judge_one(
        ParsedOutput((table("osu", "osu_latency", {"size": "B", "latency": "us"}, (8, 1.2)),)), LINK
    ).remarks


@pytest.mark.parametrize(
    ("tool", "name", "least"),
    [("osu", "osu_latency", 0.7), ("imb", "PingPong", 0.7), ("fabtests", "fi_pingpong", 0.55)],
)
def test_half_a_round_trip_below_that_of_mpi_is_believed_only_of_the_layers_below(
    tool: str, name: str, least: float
) -> None:
    def sentence_at(us: float) -> str:
        columns = {"size": "B", "latency" if tool == "osu" else "time": "us", "bandwidth": "MB/s"}
        return judge_one(ParsedOutput((table(tool, name, columns, (8, us, 8 / us), ranks=2),)), LINK).sentence

    assert f"{IMPOSSIBLE}{too_short(Figure('latency', least - 0.01, 'us', 8), least)}" in sentence_at(least - 0.01)
    assert "impossible" not in sentence_at(least + 0.01)


def perftest(mb_s: float, depth: int, iterations: int) -> ParsedOutput:
    columns = {"size": "B", "iterations": None, "bandwidth": "MB/s"}
    return ParsedOutput((table("perftest", "ib_write_bw", columns, (64 << 10, iterations, mb_s), tx_depth=depth),))


@pytest.mark.parametrize(
    ("depth", "iterations", "healthy_us", "state"),
    [
        # 2.7 us on the wire; each message waits for its acknowledgement, or the last of a few does.
        (1, 5000, 2.7 + 2.0, "not-judged"),  # one at a time shows too little of the link
        (128, 5, 2.7 + 0.4, "pass"),
        (128, 5000, 2.7, "pass"),
    ],
)
def test_a_card_at_half_of_hdr_fails_whatever_its_depth(
    depth: int, iterations: int, healthy_us: float, state: str
) -> None:
    hdr, size = of_link("ib-hdr"), 64 << 10
    assert judge_one(perftest(size / healthy_us, depth, iterations), hdr).state == state
    assert judge_one(perftest(size / healthy_us / 2, depth, iterations), hdr).state == "fail"


def puts_at(mtu: int, mb_s: float, **context: Any) -> ParsedOutput:
    columns = {"size": "B", "bandwidth": "MB/s"}
    return ParsedOutput(
        (table("perftest", "ib_write_bw", columns, (1 << 20, mb_s), (2 << 20, mb_s), mtu=mtu, **context),)
    )


def test_the_printed_mtu_sets_limit_and_floor_and_the_verdict_says_so() -> None:
    taken = (
        "the output prints an MTU of 1024, and ib-edr can have 4096: it is judged by the limit with 1024; --mtu sets "
        "another"
    )
    found = judge_one(puts_at(1024, 11800), of_link("ib-edr"))
    assert (found.state, found.remarks[0]) == ("pass", taken)
    assert found.curves[0].limit is not None and round(found.curves[0].limit.value_mb_s) == 12190
    (limit_of_4096,) = {
        judge_one(each, of_link("ib-edr")).curves[0].limit for each in (puts_at(4096, 12100), puts_at(999, 12100))
    }
    assert limit_of_4096 is not None and round(limit_of_4096.value_mb_s) == 12421
    # The port's MTU, not the connection's
    assert judge_one(puts_at(1024, 11800, rdma_cm=True), of_link("ib-edr")).state == "fail"


def test_an_mtu_of_the_user_decides_and_a_contradiction_is_said() -> None:
    found = judge_one(puts_at(1024, 11800), of_link("ib-edr", mtu=4096))
    said = "the output prints an MTU of 1024, but --mtu is 4096: it is judged by the limit with 4096"
    assert (found.state, found.remarks[0]) == ("fail", said)
    assert not any("MTU" in remark for remark in judge_one(puts_at(1024, 11800), of_link("ib-edr", mtu=1024)).remarks)


def rows_of_one_size(count: int, complete: bool) -> ParsedOutput:
    columns = {"size": "B", "iterations": None, "bandwidth": "MB/s"}
    return ParsedOutput(
        (table("perftest", "ib_write_bw", columns, *[(64 << 10, 5000, 11000.0)] * count, complete=complete),)
    )


def test_rows_of_one_size_without_an_end_are_no_cut_output() -> None:
    found = judge_one(rows_of_one_size(3, False), of_link("ib-edr"))
    assert found.state == "not-judged"
    assert "as perftest prints with --run_infinitely; run it with a duration" in found.sentence
    assert judge_one(rows_of_one_size(1, False), of_link("ib-edr")).state == "pass"  # one row of one size is whole
    failed = replace(rows_of_one_size(3, False), failures=(Remark(9, "Completion with error at client"),))
    assert judge_one(failed, of_link("ib-edr")).state == "fail"


def reports(*rates: float, peak: float = 0.0) -> ParsedOutput:
    """Return a table of the reports of ib_write_bw --run_infinitely, each of 64 KiB."""
    columns = {"size": "B", "iterations": None, "bandwidth_peak": "MB/s", "bandwidth": "MB/s"}
    rows = [(64 << 10, 5000, peak, rate) for rate in rates]
    return ParsedOutput((table("perftest", "ib_write_bw", columns, *rows, reports=True),))


GROUPS = Path(__file__).parents[2] / "recordings" / "imb2021.11-PingPong-groups-mpich5.0.2-shm.out"


def test_groups_of_imb_at_once_are_judged_only_if_the_ranks_of_a_node_are_known() -> None:
    text = GROUPS.read_text(encoding="utf-8")
    (found,) = judge(parse(text), of_link("ib-edr"), text=text)
    assert (found.state, found.counted_as, len(found.lines)) == ("not-judged", "groups", 2)
    assert "4 ranks took part, and it is not known how many share a node, since 2 groups of 2 ran" in found.sentence
    (apart,) = judge(parse(text), of_link("ib-edr"), text=text, nodes=Nodes(ranks_each=1))
    assert (apart.state, apart.counted_as) == ("fail", "groups")
    (twice,) = judge(parse(text + text), of_link("ib-edr"), text=text, nodes=Nodes(ranks_each=1))
    assert (len(twice.lines), twice.counted_as) == (4, "tables of 2 groups")


def test_each_report_of_a_run_without_end_must_hold() -> None:
    found = judge_one(reports(11500.0, 11490.0, 11510.0), of_link("ib-edr"))
    assert (found.state, found.counted_as, len(found.lines)) == ("pass", "reports", 3)
    slow = judge_one(reports(11500.0, 4000.0, 11510.0), of_link("ib-edr"))
    assert slow.state == "fail"
    assert slow.sentence.startswith("report 2 of line 3 fails: rule 5 (reference): bandwidth 4000 MB/s at 64 KiB")


def test_one_row_without_an_end_and_without_a_peak_is_not_judged() -> None:
    (whole,) = reports(11500.0).tables
    found = judge_one(ParsedOutput((replace(whole, complete=False, context={}),)), of_link("ib-edr"))
    assert found.state == "not-judged"
    assert "its only row measures no peak and has no end" in found.sentence


def test_a_message_rate_that_its_bounded_bandwidth_implies_needs_no_word() -> None:
    columns = {"size": "B", "bandwidth": "MB/s", "message_rate": "1/s"}
    rows = [(size, 12200.0, 12200e6 / size) for size in (1 << 20, 2 << 20)]
    parsed = ParsedOutput((table("perftest", "ib_write_bw", columns, *rows),))
    found = judge_one(parsed, of_link("ib-edr"))
    assert found.state == "pass"
    assert not any("message_rate" in remark for remark in found.remarks)


@pytest.mark.parametrize("options", [[], ["--link", "ib-edr"]])
def test_hpl_without_a_system_is_sent_to_the_references_at_once(options: list[str]) -> None:
    hpl = ParsedOutput((table("hpl", "hpl", {"performance": "Gflop/s"}, (833.0,)),))
    found = judge_one(hpl, of_link("ib-edr") if options else unnamed_link())
    said = "no link bounds performance of hpl/hpl: only a system's references judge it (--system)"
    assert (found.state, said in found.sentence, "--link" in found.sentence) == ("not-judged", True, False)


def test_a_slow_barrier_has_no_size_and_may_be_noise_of_the_ranks() -> None:
    barrier = ParsedOutput((table("osu", "osu_barrier", {"avg": "us"}, (900.0,)),))
    sentence = judge_one(barrier, of_link("ib-edr"), nodes=Nodes(1, 4, 1)).sentence
    assert sentence.startswith("rule 5 (reference): latency 900.0 us is above 24.00 us")
    assert "look at how the ranks are bound and what else ran on their cores, then each rail alone" in sentence


def test_a_fall_in_one_step_is_said_once() -> None:
    rates = [(512 << 10, 10730.0), (1 << 20, 1099.0), (2 << 20, 1100.0)]
    sentence = judge_one(ParsedOutput((stream(dict(rates)),)), unnamed_link()).sentence
    assert "falls by 89.8 %: from 10730 MB/s at 512 KiB, its peak, to 1099 MB/s at 1 MiB; look at" in sentence


def test_a_table_in_markdown_is_named_as_the_form_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_output(tmp_path, "| Size | Bandwidth |\n|---|---:|\n| 1 | 2.5 |\n")
    assert main(["judge", file, "--link", "ib-edr"]) == 2
    said = capsys.readouterr().err
    assert "expected an output as its tool prints it, not a table in Markdown" in said


def test_passes_keep_the_remark_of_their_mtu() -> None:
    (good,), (bad,) = puts_at(1024, 11800).tables, puts_at(1024, 6000).tables
    assert (
        judge_one(ParsedOutput((good, bad, good)), of_link("ib-edr"))
        .remarks[0]
        .startswith("the output prints an MTU of 1024, and")
    )


@pytest.mark.parametrize(
    ("start_us", "rate_mb_s", "ranks_each", "state"),
    [
        (1.4, 12000.0, None, "pass"),
        (1.4, 750.0, None, "not-judged"),  # 16 pairs share the rail, or one pair is slow
        (1.4, 750.0, 16, "pass"),
        (1.4, 375.0, 16, "fail"),
        (1.4, 750.0, 1, "fail"),
        (60.0, 12000.0, None, "fail"),  # no number of pairs makes a short message so slow
    ],
)
def test_pairs_that_share_a_rail_are_judged_by_the_ranks_of_a_node(
    start_us: float, rate_mb_s: float, ranks_each: int | None, state: str
) -> None:
    rows = {size: start_us + size / rate_mb_s for size in SIZES}
    parsed = parse(osu_bw(rows, "Multi Latency", "Avg Latency(us)"))
    made = judge_one(parsed, LINK, nodes=Nodes(1, None, ranks_each))
    assert made.state == state
    assert ("does not print how many: say it with --ranks-per-node" in made.sentence) is (state == "not-judged")


def groups_of_imb(*rates_mb_s: float) -> ParsedOutput:
    """Return what is read of IMB's -multi 1: groups of two ranks, each with a rate of its own."""
    rows = "".join(
        f"{group:>13} {size:>12} {10:>12} {1.4 + size / rate:>12.2f} {size / (1.4 + size / rate):>12.2f}\n"
        for size in SIZES
        for group, rate in enumerate(rates_mb_s)
    )
    title = f"# Benchmarking Multi-PingPong\n# ( {len(rates_mb_s)} groups of 2 processes each running simultaneous )\n"
    heading = "Group #bytes #repetitions t[usec] Mbytes/sec\n"
    banner = "# Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n"
    return parse(f"{banner}{title}{heading}{rows}\n# All processes entering MPI_Finalize\n")


def test_each_group_of_imb_is_judged_and_a_slow_one_is_named() -> None:
    shared = Nodes(1, None, 4)
    made = judge_one(groups_of_imb(3000.0, 3000.0, 3000.0, 3000.0), LINK, nodes=shared)
    assert (made.state, len(made.lines)) == ("pass", 4)
    unplaced = judge_one(groups_of_imb(3000.0, 3000.0, 3000.0, 3000.0), LINK)
    assert unplaced.sentence.startswith("not judged: 8 ranks took part, and it is not known how many share a node")
    assert "say it with --ranks-per-node" in unplaced.sentence
    slow = judge_one(groups_of_imb(3000.0, 3000.0, 900.0, 3000.0), LINK, nodes=shared)
    assert slow.state == "fail"
    assert slow.sentence.startswith("group 2 of line 2 fails: rule 5 (reference): bandwidth 899")
    two = judge_one(groups_of_imb(3000.0, 800.0, 900.0, 3000.0), LINK, nodes=shared)
    assert two.sentence.startswith("2 of 4 groups do not pass: group 1 of line 2 fails: ")
    assert two.remarks[0].startswith("group 2 of line 2 alone fails: ")


@pytest.mark.parametrize(("time_us", "state"), [(4.0, "pass"), (60.0, "fail")])
def test_a_barrier_is_bounded_by_its_rounds_of_messages(time_us: float, state: str) -> None:
    barrier = ParsedOutput((table("osu", "osu_barrier", {"avg": "us"}, (time_us,)),))
    # On 4 nodes with a rank each, twice two rounds of 6 us.
    assert judge_one(barrier, LINK, nodes=Nodes(2, 4, 1)).state == state
    unplaced = judge_one(barrier, LINK)
    assert unplaced.state == "not-judged"
    assert "Say it with --nodes and --ranks-per-node" in unplaced.sentence
    within = judge_one(barrier, LINK, nodes=Nodes(1, 1, 4))
    assert within.state == "not-judged"


@pytest.mark.parametrize(("latency_us", "state"), [(13.0, "pass"), (24.0, "fail")])
def test_the_latency_of_qperf_over_edr(latency_us: float, state: str) -> None:
    assert judge_one(ParsedOutput((table("qperf", "rc_lat", {"latency": "us"}, (latency_us,)),)), LINK).state == state


def test_ranks_that_may_share_a_node_are_not_blamed_for_the_end_of_a_cache() -> None:
    columns = {"size": "B", "repetitions": None, "bandwidth": "MB/s", "message_rate": "1/s"}
    values = {size: (0.37 if size > 1 << 20 else 1.0) * value for size, value in rates(70000).items()}
    rows = [(size, 1000, value, value / size * 1e6) for size, value in values.items()]
    among = ParsedOutput((table("imb", "Uniband", columns, *rows, ranks=32),))
    assert judge_one(among, unnamed_link()).state == "not-judged"
    assert judge_one(among, LINK, nodes=Nodes(16, 2, 16)).state == "fail"


def test_sums_over_several_pairs_of_nodes_are_divided() -> None:
    columns = {"size": "B", "bandwidth": "MB/s", "message_rate": "1/s"}
    rows = [(size, 4 * value, 4e6 * value / size) for size, value in rates(12300).items()]
    multi = ParsedOutput((table("osu", "osu_mbw_mr", columns, *rows, pairs=4, window=64),))
    assert judge_one(multi, LINK).sentence.startswith(f"rule 3 (possible): {IMPOSSIBLE}")
    assert judge_one(multi, LINK).remarks[-1] == (
        "its sums are over 4 pairs of ranks, assumed on one pair of nodes (if not, set --node-pairs)"
    )
    shared = judge_one(multi, LINK, nodes=Nodes(4))
    assert shared.state == "pass"
    assert shared.remarks[-1] == "its sums are divided by 4 pairs of nodes"


def test_each_table_is_judged_where_that_is_asked_and_one_that_fails_fails_the_output() -> None:
    parsed = ParsedOutput((stream(rates(12300)), stream(rates(6000), line=40)))
    assert [(each.lines, each.state) for each in judge(parsed, LINK, passes="apart")] == [
        ((3,), "pass"),
        ((40,), "fail"),
    ]


def test_one_table_that_fails_gives_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_output(tmp_path, osu_bw(rates(12300)) + osu_bw(rates(6000)))
    assert main(["judge", file, "--link", "ib-edr", "--each"]) == 1
    assert capsys.readouterr().out.endswith("fail: 2 benchmarks: 1 pass, 1 fail\n")


def test_nothing_sent_is_quick_in_a_collective_and_impossible_between_two_nodes() -> None:
    columns = {"size": "B", "repetitions": None, "time_avg": "us"}
    nothing = table("imb", "Alltoall", columns, (0, 1000, 0.05), (8, 1000, 4.0))
    assert judge_one(ParsedOutput((nothing,)), LINK).state == "not-judged"
    ping = table("osu", "osu_latency", {"size": "B", "latency": "us"}, (0, 0.05), (1, 1.0))
    assert judge_one(ParsedOutput((ping,)), LINK).sentence.startswith(
        f"rule 3 (possible): {IMPOSSIBLE}latency 0.0500 us at 0 B"
    )


def passes(*peaks: float) -> ParsedOutput:
    """Return passes of osu_bw with these peaks, MB/s; their headings are 40 lines apart, the first in line 3."""
    return ParsedOutput(tuple(stream(rates(peak), line=3 + 40 * place) for place, peak in enumerate(peaks)))


def test_tables_alike_are_passes_of_one_run() -> None:
    found = judge_one(passes(12300, 12280, 12290), LINK)
    assert (found.lines, found.state, found.remarks) == ((3, 43, 83), "pass", ())
    assert found.rules[0].sentence.startswith("3 complete tables; ")


@pytest.mark.fault("output", "several runs in one file, one of them at half", "the pass of line 43 fails: rule 5")
@pytest.mark.parametrize("peaks", [(12300, 6000, 12290), (12300, 6000)])
def test_one_pass_that_fails_fails_the_output(promise: str, peaks: tuple[float, ...]) -> None:
    found = judge_one(passes(*peaks), LINK)
    assert (found.state, found.lines[:2], found.shown_line) == ("fail", (3, 43), 43)
    assert found.sentence.startswith(
        f"{promise} (reference): {below_words(5990, 12000, 1 << 20)}, the bound of class:ib-edr"
    )
    assert found.curves[0].curve.values[-1] == judge_one(passes(6000), LINK).curves[0].curve.values[-1]
    word = words_of("-", LINK, [found])
    assert f"osu/osu_bw (lines 3 …, {len(peaks)} passes, shown: that of line 43)" in word


def test_of_several_passes_that_fail_the_first_is_shown_and_the_others_are_named() -> None:
    found = judge_one(passes(12300, 6000, 12290, 3000, 12280), LINK)
    assert found.sentence.startswith("2 of 5 passes do not pass: that of line 43 fails: rule 5 (reference)")
    assert found.remarks[0].startswith("the pass of line 123 alone fails: rule 5 (reference): bandwidth 2997 MB/s")
    # If all are slow, their median is the better witness.
    slow = judge_one(passes(6000, 6010, 6020), LINK)
    assert (slow.state, slow.shown_line) == ("fail", None)
    assert slow.sentence.startswith("rule 5 (reference): bandwidth 6000 MB/s at 1 MiB")


def test_only_the_median_must_hold_where_that_is_asked_as_in_a_live_run() -> None:
    (found,) = judge(passes(12300, 6000, 12290), LINK, passes="median")
    assert (found.state, found.shown_line) == ("pass", None)
    assert found.remarks[0].startswith("the pass of line 43 alone fails: rule 5 (reference): bandwidth 5990 MB/s")
    assert found.remarks[0].endswith("; the median hides it")


def test_of_very_many_passes_those_with_the_worst_values_are_judged_alone() -> None:
    assert judge_one(passes(*[12300] * 40), LINK).remarks == (
        "of 40 passes, only those with the worst value at a size were also judged alone (at most 32): --each judges "
        "all",
    )
    found = judge_one(passes(*[12300] * 39, 6000), LINK)
    assert (found.state, found.shown_line) == ("fail", 3 + 39 * 40)


def test_a_pass_that_contradicts_itself_fails_the_output_without_a_link_too() -> None:
    falls = stream({**rates(12300), 1 << 22: 1200.0}, line=40)
    found = judge_one(ParsedOutput((stream(rates(12300)), falls, stream(rates(12290), line=80))), unnamed_link())
    assert (found.state, found.shown_line) == ("fail", 40)


def test_each_pass_and_only_the_median_are_not_asked_for_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "-", "--link", "ib-edr", "--each", "--median"]) == 2
    assert "--each and --median: found both, expected one of them" in capsys.readouterr().err


def test_a_latency_of_perftest_without_its_title_lists_the_latencies_that_it_may_be() -> None:
    latencies = table("perftest", None, {"size": "B", "time_typical": "us"}, (2, 1.0), (4, 1.0))
    (judged,) = judge(ParsedOutput((latencies,)), LINK)
    assert judged.sentence == (
        "not judged: the table of perftest names no benchmark; say which with --benchmark: perftest/ib_write_lat, "
        "perftest/ib_send_lat, perftest/raw_ethernet_lat, perftest/ib_read_lat, perftest/ib_atomic_lat"
    )


def test_a_table_without_a_name_or_of_nothing_that_is_judged_says_so() -> None:
    columns = {"size": "B", "repetitions": None, "time_avg": "us"}
    nameless = table("imb", None, columns, (8, 10, 5.0))
    other = table("osu", "osu_partitioned_latency", {"avg": "us"}, (5.0,), line=9)
    assert [(each.state, each.sentence) for each in judge(ParsedOutput((nameless, other)), LINK)] == [
        (
            "not-judged",
            "not judged: the table of imb names no benchmark; say which with --benchmark: imb/Allreduce, imb/Reduce, "
            "imb/Reduce_local, imb/Reduce_scatter, imb/Reduce_scatter_block, imb/Allgather, imb/Allgatherv, "
            "imb/Gather, imb/Gatherv, imb/Scatter, imb/Scatterv, imb/Alltoall and 16 more",
        ),
        (
            "not-judged",
            "not judged: osu/osu_partitioned_latency measures nothing that is compared with a reference or a limit",
        ),
    ]
    named = judge(ParsedOutput((nameless, other)), LINK, benchmark="imb/Allreduce")
    assert [each.benchmark for each in named] == ["imb/Allreduce"]


@pytest.mark.fault("output", "a table without its title beside one that has it", "the lines above its heading are lost")
def test_a_table_without_a_name_beside_one_that_has_it_is_not_judged_as_the_same(promise: str) -> None:
    named, nameless = stream(rates(12300), line=3), replace(stream(rates(12290), line=40), benchmark=None)
    found = judge(ParsedOutput((named, nameless)), LINK, benchmark="osu/osu_bw")
    assert [(each.state, each.lines) for each in found] == [("pass", (3,)), ("not-judged", (40,))]
    assert (
        f"another table of the output is of osu/osu_bw. Either {promise}, or it is from another run"
        in found[1].sentence
    )
    (alone,) = judge(ParsedOutput((nameless,)), LINK, benchmark="osu/osu_bw")
    assert alone.state == "pass"


IMPACTS = [metric.columns[0] for metric in find("gpcnet/network_load_test").metrics]


@pytest.mark.parametrize(
    "one",
    [
        table("hpl", "hpl", {"N": None, "performance": "Gflop/s", "passed": None}, (100, 50.0, True)),
        table("npb", "CG", {"performance": "Mop/s", "passed": None}, (50.0, True), **CLASS_C),
        table("wrf", "wrf", {"time": "s"}, (9.0,), (1.0,), kind="main"),
        table("milc", "milc", {"time": "s"}, (9.0,), kind="run"),
        table("qperf", "rc_bw", {"bw": "MB/s"}, (4670.0,)),
        table("gpcnet", "network_load_test", dict.fromkeys(IMPACTS), (1.5,) * len(IMPACTS), which="impact"),
    ],
    ids=lambda one: one.tool,
)
def test_a_single_figure_is_never_passed_by_a_link_or_without_a_reference(one: Table) -> None:
    for target in (LINK, of_system(site_at(ROOT, "dell-c6320"), "edr", "hpcx")):
        found = judge_one(ParsedOutput((one,)), target)
        assert not found.is_pass
        assert "not judged: " in found.sentence or "no reference for " in found.sentence or found.state == "fail"


@pytest.mark.parametrize(
    ("test", "mb_s", "state"), [("ud_bw", 5100.0, "pass"), ("ud_bw", 450.0, "fail"), ("rc_bw", 5100.0, "fail")]
)
def test_datagrams_of_qperf_are_bounded_by_their_short_messages(test: str, mb_s: float, state: str) -> None:
    assert judge_one(ParsedOutput((table("qperf", test, {"bw": "MB/s"}, (mb_s,)),)), of_link("ib-hdr")).state == state


def test_a_ring_that_no_rail_carries_is_impossible_in_a_stored_output_too() -> None:
    text = (Path(__file__).parents[2] / "recordings" / "hpcc1.5.0-openmpi4.1.4-veth.out").read_text(encoding="utf-8")
    ring = "NaturallyOrderedRingBandwidth_GBytes=0.0"
    assert ring in text
    target = of_system(site_at(ROOT, "virtual"), "hsn", "openmpi")
    found = judge(hpcc.parse(text.replace(ring, f"{ring[:-3]}9.0")), target, benchmark="hpcc/Summary")
    assert [each.sentence.partition(" MB/s")[0] for each in found] == [
        f"rule 3 (possible): {IMPOSSIBLE}natural_ring_bandwidth 9041"
    ]


def test_a_single_figure_is_judged_where_a_reference_has_one(tmp_path: Path) -> None:
    site = with_reference(
        tmp_path,
        "{id: linpack, fabric: edr, benchmark: hpl/hpl, metric: performance, unit: Gflop/s, kind: contract, "
        "floor: 9000, source: {document: the contract, date: 2026-01-01}}",
    )
    columns = {"N": None, "performance": "Gflop/s", "passed": None}
    good = ParsedOutput((table("hpl", "hpl", columns, (100, 8000.0, True), (200, 9100.0, True)),))
    assert (
        judge_one(good, of_system(site, "edr")).sentence
        == "performance holds linpack, at worst 101.1 % of linpack (bounded: 1 of 1 figure); "
        f"rule 3 (possible) not judged: {run_words.no_limit_for(['performance'])}"
    )
    slow = judge_one(ParsedOutput((table("hpl", "hpl", columns, (200, 8000.0, True)),)), of_system(site, "edr"))
    assert slow.rules[4].miss == Miss(Figure("performance", 8000.0, "Gflop/s"), "below", 9000.0)
    wrong = judge_one(ParsedOutput((table("hpl", "hpl", columns, (200, 9999.0, False)),)), of_system(site, "edr"))
    assert wrong.sentence.startswith(f"rule 1 (complete): {run_words.wrong_data(True, '')}")


def with_reference(folder: Path, entry: str) -> Site:
    """Return dell-c6320 with one entry in place of its references."""
    (folder / "references").mkdir()
    path = folder / "references" / "dell-c6320.yaml"
    path.write_text(f"system: dell-c6320\nentries:\n  - {entry}\n", encoding="utf-8")
    from railyard.site.references.load import load_references

    system = site_at(ROOT, "dell-c6320").system
    found: References = load_references(path, system)
    return Site(folder, system, found)


def test_a_report_only_system_is_held_to_its_limit_and_never_called_a_pass() -> None:
    site = site_at(ROOT, "dell-c6320")
    alone = site.system.model_copy(update={"report_only": "no figures yet"})
    target = of_system(Site(ROOT, alone, References(alone)), "edr")
    found = judge_one(ParsedOutput((stream(rates(12300)),)), target)
    assert found.state == "report-only"
    assert found.sentence.startswith(
        "report-only (no figures yet): bandwidth holds class:ib-edr and day-one, at worst "
    )
    assert judge_one(ParsedOutput((stream(rates(6000)),)), target).state == "fail"


def of_two_rails(*peaks_mb_s: float) -> str:
    """Return what one pair of processes per rail leaves: each client's output after a line with its rail."""
    return "".join(f"# railyard: rail mlx5_{n}:1\n{osu_bw(rates(peak))}" for n, peak in enumerate(peaks_mb_s))


@pytest.mark.parametrize(
    ("peaks", "more", "code"),
    [
        ((12300.0, 12300.0), ("--rails", "2"), 0),  # at once: the sum
        ((12300.0, 6000.0), ("--rails", "2"), 1),
        ((12300.0, 12290.0), ("--in-turn",), 0),  # the worst of them, against one rail
        ((12300.0, 6000.0), ("--in-turn",), 1),
    ],
)
def test_the_parts_of_several_rails_are_one_run(
    peaks: tuple[float, ...], more: tuple[str, ...], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_output(tmp_path, of_two_rails(*peaks))
    assert main(["judge", "--link", "ib-edr", *more, file]) == code
    assert capsys.readouterr().out.count("osu/osu_bw") == 1


def test_the_parts_of_several_rails_are_not_held_against_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "--link", "ib-edr", write_output(tmp_path, of_two_rails(12300.0, 12300.0))]) == 2
    assert capsys.readouterr().err == (
        "railyard: --rails: found 1, expected 2: the output has a part for each of 2 rails\n"
    )


def test_a_stored_stream_over_bonded_ports_is_held_to_one_of_them() -> None:
    site = site_at(ROOT, "dell-c6320")
    edr = site.system.fabrics["edr"]
    # Each has its own card: one slot carries only one EDR port.
    bonds = tuple(rail.model_copy(update={"bonded_ports": 2, "slot": "pcie5-x16"}) for rail in edr.rails)
    fabrics = {**site.system.fabrics, "edr": edr.model_copy(update={"rails": bonds})}
    alone = site.system.model_copy(update={"report_only": "no figures yet", "fabrics": fabrics})
    target = of_system(Site(ROOT, alone, References(alone)), "edr")
    for rate, state in ((12300, "report-only"), (20000, "report-only"), (6000, "fail")):
        assert judge_one(ParsedOutput((stream(rates(rate)),)), target).state == state


@pytest.mark.parametrize("rate_mb_s", [47.5, 20.0])
def test_a_run_of_the_virtual_cluster_gets_its_own_verdict_again(
    assess_cell: Any, imb_text: Any, virtual: Site, rate_mb_s: float
) -> None:
    from railyard.parsers import imb

    made = {size: min(rate_mb_s, size / 30) for size in (1, 1024, 65536, 1 << 20, 4 << 20)}
    run = assess_cell(rates=made).verdict
    target = of_system(virtual, "hsn", "mpich")
    again = judge_one(imb.parse(imb_text(made)), target)
    assert (again.state, again.rules[4].state) == (run.state, run.rules[4].state)
    assert again.sentence.split(", over")[0].removeprefix("rule 5 (reference): ") == run.sentence.split(", over")[0]


def test_whose_output_a_file_is_can_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str], imb_text: Any) -> None:
    file = write_output(tmp_path, imb_text())
    words = ["judge", file, "--link", "ib-edr", "--benchmark", "imb/Uniband"]
    main(words)
    alone = capsys.readouterr().out
    assert alone.startswith(f"{file} against ib-edr")
    main([*words, "--tool", "imb"])
    assert capsys.readouterr().out.replace(" --tool imb --why", " --why") == alone
    assert main([*words, "--tool", "osu"]) == 2
    assert "expected output of OSU: a banner" in capsys.readouterr().err
    assert main([*words, "--tool", "netpip"]) == 2
    assert capsys.readouterr().err == (
        'railyard: --tool: found "netpip", expected a tool with a parser; did you mean "netpipe"?\n'
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("1,x", "expected bytes: 1,4,16, or the smallest and largest, 1:4194304"),
        ("0:8", "expected a size above 0, then one that is not below it"),
        ("8:1", "expected a size above 0, then one that is not below it"),
    ],
)
def test_sizes_that_are_none_are_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, expected: str
) -> None:
    file = write_output(tmp_path, osu_bw(rates(12300)))
    assert main(["judge", file, "--link", "ib-edr", "--sizes", given]) == 2
    assert f'--sizes: found "{given}", {expected}' in capsys.readouterr().err


@pytest.mark.parametrize(("sizes", "code"), [("1:4194304", 0), ("1:8388608", 1), ("1,2,4", 1)])
def test_the_sizes_that_were_asked_for_are_those_that_must_be_there(tmp_path: Path, sizes: str, code: int) -> None:
    file = write_output(tmp_path, osu_bw(rates(12300)))
    assert main(["judge", file, "--link", "ib-edr", "--slot", "pcie3-x16", "--sizes", sizes]) == code


def test_a_get_is_held_to_the_class_of_the_link_and_not_to_the_floor_of_its_puts() -> None:
    def state(benchmark: str, mb_s: float) -> str:
        rows = ((1 << 20, mb_s), (2 << 20, mb_s))
        found = table("osu", benchmark, {"size": "B", "bandwidth": "MB/s"}, *rows)
        return judge_one(ParsedOutput((found,)), of_link("ib-edr")).state

    assert (state("osu_get_bw", 11770), state("osu_get_bw", 7450)) == ("pass", "fail")
    assert (state("osu_put_bw", 11770), state("osu_put_bw", 12050)) == ("fail", "pass")


@pytest.mark.parametrize(
    ("mb_s", "equals"),
    [
        (1176, "1176 MB/s from 1 MiB on is a rate of roce-10 (96.0 %), eth-10 (94.9 %)"),
        (6700, "the slot pcie3-x8 ("),
        (12250, "ib-edr (98.5 %), "),
    ],
)
def test_a_flat_top_without_a_link_names_the_networks_and_slots_that_it_equals(mb_s: float, equals: str) -> None:
    found = judge_one(ParsedOutput((stream(rates(mb_s)),)), unnamed_link())
    assert found.state == "not-judged"
    assert equals in found.sentence
    assert "if its network should be faster, it did not use it" in found.sentence
    held = judge_one(ParsedOutput((stream(rates(12250)),)), of_link("ib-edr"))
    assert "flat top" not in held.sentence


def test_one_figure_and_one_message_at_a_time_are_compared_with_networks_too() -> None:
    figure = table("iperf3", "iperf3", {"bandwidth": "MB/s"}, (1176.0,), streams=1)
    assert "; its 1176 MB/s is a rate of roce-10" in judge_one(ParsedOutput((figure,)), unnamed_link()).sentence
    times = tuple((1 << power, 20.0 + (1 << power) / 1152) for power in range(23))
    turn = table("osu", "osu_latency", {"size": "B", "latency": "us"}, *times)
    said = judge_one(ParsedOutput((turn,)), unnamed_link()).sentence
    assert "; its 1146 MB/s at 4 MiB is a rate of roce-10 (93.5 %), eth-10 (92.5 %)" in said


def test_a_flow_of_tcp_passes_with_the_share_of_the_link_that_is_asked_of_it() -> None:
    slow = "bandwidth over TCP has a bound of 8.1 % of the limit"
    found = judge_one(ParsedOutput((stream(rates(2400, message_us=2.0)),)), of_link("eth-100"))
    assert found.state == "pass"
    assert [each for each in found.remarks if each.startswith(slow)]
    ten = judge_one(ParsedOutput((stream(rates(1176, message_us=2.0)),)), of_link("eth-10"))
    assert ten.state == "pass"
    assert not [each for each in ten.remarks if "one flow reaches" in each]


def test_a_curve_that_fails_by_itself_names_no_rail_if_nobody_named_a_link() -> None:
    dip = {size: rate * (0.4 if size == 32768 else 1) for size, rate in rates(12300).items()}
    rule = next(rule for rule in judge_one(ParsedOutput((stream(dip),)), unnamed_link()).rules if rule.state == "fail")
    assert rule.sentence.endswith("5.628 us at 64 KiB)")
    assert rule.look_at is not None and rule.look_at.startswith("each rail alone between the run's nodes and good")


def test_a_slow_run_within_one_node_blames_no_rail() -> None:
    (found,) = judge(ParsedOutput((stream(rates(1150)),)), LINK, nodes=Nodes(count=1))
    rule = next(rule for rule in found.rules if rule.state == "fail")
    assert rule.sentence.endswith("), within one node")
    assert rule.look_at is not None and rule.look_at.startswith("which cores (and GPUs) the ranks were bound to")


def test_a_collective_between_gpus_names_the_option_that_it_is_judged_by() -> None:
    rows = ((1 << 20, 40_000.0), (1 << 21, 45_000.0))
    nccl = table("nccl", "all_reduce_perf", {"size": "B", "busbw": "MB/s"}, *rows)
    found = judge_one(ParsedOutput((nccl,)), LINK)
    assert found.state == "not-judged"
    assert "a collective between GPUs; say what each node has with --nodes-have" in found.sentence


def test_a_weak_bound_of_one_message_at_a_time_is_said_with_what_asks_for_more() -> None:
    columns = {"size": "B", "time": "us", "bandwidth": "MB/s"}
    rows = tuple((size, 1.2 + size / 11500, size / (1.2 + size / 11500)) for size in SIZES)
    ping_pong = table("imb", "PingPong", columns, *rows)
    one, two = (judge_one(ParsedOutput((ping_pong,)), of_link("ib-edr", rails=rails)) for rails in (1, 2))
    assert (one.state, one.remarks, two.state) == ("pass", (), "not-judged")
    assert two.remarks == (
        weak_words.weak_alone("bandwidth at 4 MiB, its largest size, has a bound of 34.0 % of the limit", 2),
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[n1:77] Signal: Segmentation fault (11)", "Signal: Segmentation fault (11)"),
        ("[0] MPI startup(): libfabric provider: tcp;ofi_rxm", "Intel MPI chose the provider tcp;ofi_rxm"),
    ],
)
def test_a_crash_or_a_fallback_is_said_although_the_table_names_no_benchmark(
    line: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "osu.out"
    file.write_text(f"# Size      Bandwidth (MB/s)\n1  3.33\n1048576  12010.11\n{line}\n", encoding="utf-8")
    assert main(["judge", str(file), "--link", "ib-edr"]) == 1
    shown = capsys.readouterr().out
    assert "FAIL  " in shown
    assert said in shown
    assert "the output has no table of a known benchmark and reports 1 failure, line 4" in shown
    assert main(["judge", str(file), "--link", "ib-edr", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["state"] == "fail"
