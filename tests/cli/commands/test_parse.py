"""`railyard parse` on the command line: its whole output, its exit code, and one sentence for what it cannot read."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from railyard.cli.main import main, railyard_group
from tests.parsers.samples import MADE

OSU = (
    "module load openmpi\n# OSU MPI Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n"
    "1   2.00\n1024   1500.25\n65536   9000.00\n1048576   12000.50\n"
)
OSU_TEXT = """\
osu_bw (osu 7.4), line 2: 4 rows
  datatype MPI_CHAR
   size  bandwidth
      B       MB/s
──────────────────
      1       2.00
   1024    1500.25
  65536    9000.00
1048576   12000.50

peak 12000 MB/s at 1 MiB, N½ 39732 B

bandwidth, MB/s
12000 ┤      ██
      │    ▄▄██
      │    ████
      │    ████
      │    ████
    0 ┤  ▆▆████
       1 B 1 MiB

1 remark
  line 1: module load openmpi
"""
OSU_JSON = {
    "format": 1,
    "tables": [
        {
            "tool": "osu",
            "version": "7.4",
            "benchmark": "osu_bw",
            "context": {"datatype": "MPI_CHAR"},
            "columns": ["size", "bandwidth"],
            "units": ["B", "MB/s"],
            "rows": [[1, 2.0], [1024, 1500.25], [65536, 9000.0], [1048576, 12000.5]],
            "line": 2,
            "complete": True,
        }
    ],
    "failures": [],
    "remarks": [{"line": 1, "text": "module load openmpi"}],
}
BARRIER = (
    "\x1b[2J# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n             2.75\n"
    "[n1:7] *** Process received signal ***\n[n1:7] Signal: Bus error (7)\n" + "noise \x1b[31mred\x1b[0m\n" * 7
)
BARRIER_TEXT = """\
osu_barrier (osu 7.4), line 1: 1 row; INCOMPLETE: the text shows that rows are missing
 avg
  us
────
2.75

latency 2.75 us

1 failure
  line 5: [n1:7] Signal: Bus error (7)

8 remarks
  line 4: [n1:7] *** Process received signal ***
  line 6: noise red
  line 7: noise red
  line 8: noise red
  line 9: noise red
  … 3 more: --json prints them
"""
KILLED = "srun: error: n1: task 0: Out Of Memory\n"
KILLED_TEXT = """\
1 failure
  line 1: srun: error: n1: task 0: Out Of Memory

no table: nothing was measured, or nothing of it was printed
"""
PORTS_TEXT = """\
2 ports
device  port  state   physical state  rate    lid    link layer
                                      Gbit/s
───────────────────────────────────────────────────────────────
mlx5_0  1     Active  LinkUp          200     7      InfiniBand
mlx5_1  1     Down    Polling         10      65535  InfiniBand
"""


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def parse(*words: str, typed: bytes = b"") -> tuple[object, str, str]:
    """Return exit code, standard output and standard error of one command line."""
    result: Result = CliRunner().invoke(railyard_group, ["parse", *words], input=typed, standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.return_value, result.stdout, result.stderr


def write_file(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [(OSU, OSU_TEXT), (BARRIER, BARRIER_TEXT), (KILLED, KILLED_TEXT)],
    ids=["osu", "barrier", "killed"],
)
def test_one_file_is_shown_in_full(tmp_path: Path, text: str, shown: str) -> None:
    assert parse(write_file(tmp_path, "job.out", text)) == (0, shown, "")


def test_the_ports_of_a_fabric_tool_are_a_table() -> None:
    assert parse(str(MADE / "ibstat-two-adapters.txt")) == (0, PORTS_TEXT, "")


def test_standard_input_and_gzip_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "job.out.gz").write_bytes(gzip.compress(OSU.encode()))
    assert parse("-", typed=OSU.encode()) == parse(str(tmp_path / "job.out.gz")) == (0, OSU_TEXT, "")


def test_one_file_as_json_is_one_line_without_its_name(tmp_path: Path) -> None:
    code, out, err = parse("--json", write_file(tmp_path, "job.out", OSU))
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert json.loads(out) == OSU_JSON
    assert list(json.loads(out)["tables"][0]) == list(OSU_JSON["tables"][0])  # type: ignore[index]


def test_ports_as_json_stand_beside_tables() -> None:
    _, out, _ = parse("--json", str(MADE / "rdma_link-two-links.txt"))
    form = json.loads(out)
    assert list(form) == ["format", "tables", "fabric", "failures", "remarks"]
    assert [(port["device"], port["port"], port["state"]) for port in form["fabric"]] == [
        ("mlx5_0", 1, "Active"),
        ("rxe0", 1, "Active"),
    ]


def test_control_codes_reach_neither_the_text_nor_the_json(tmp_path: Path) -> None:
    file = write_file(tmp_path, "job.out", BARRIER)
    assert "\x1b" not in parse(file)[1]
    assert "u001b" not in parse("--json", file)[1]


def test_several_files_have_their_names(tmp_path: Path) -> None:
    first, second = write_file(tmp_path, "a.out", OSU), write_file(tmp_path, "b.out", KILLED)
    assert parse(first, second) == (0, f"{first}:\n\n{OSU_TEXT}\n{second}:\n\n{KILLED_TEXT}", "")
    code, out, err = parse("--json", first, second)
    assert (code, err) == (0, "")
    assert [json.loads(line)["file"] for line in out.splitlines()] == [first, second]


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    good, bad = write_file(tmp_path, "a.out", KILLED), str(tmp_path / "nope")
    code, out, err = parse("--json", bad, good)
    assert code == 2
    assert [json.loads(line)["file"] for line in out.splitlines()] == [good]
    assert err == f"railyard: {bad}: found no such file, expected the text output of a benchmark; check the name\n"


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ": found an empty file, expected the text output of a benchmark; was the job's output kept?"),
        (
            OSU + "rc_lat:\n    latency  =  1.25 us\n",
            ": line 9: found 'rc_lat:', expected the output of one tool: osu begins in line 2, qperf begins in line 9; "
            "give each a file of its own",
        ),
    ],
)
def test_what_is_no_tools_output_is_one_sentence_and_2(
    tmp_path: Path, options: list[str], text: str, sentence: str
) -> None:
    file = write_file(tmp_path, "job.out", text)
    assert parse(*options, file) == (2, "", f"railyard: {file}{sentence}\n")


def test_a_text_that_no_tool_knows_is_refused_with_the_tools(tmp_path: Path) -> None:
    code, out, err = parse(write_file(tmp_path, "notes.md", "# To do\nbuy milk\n"))
    assert (code, out) == (2, "")
    assert err.startswith(f"railyard: {tmp_path}/notes.md: line 1: found '# To do', expected the output of one of ")


def test_no_file_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse"]) == 2
    assert capsys.readouterr() == ("", "railyard: FILE: found none, expected one (see: railyard parse --help)\n")


def test_a_long_table_loses_its_middle_and_says_so(tmp_path: Path) -> None:
    steps = "".join(
        f"Timing for main: time 2026-11-21_{n // 60:02}:{n % 60:02}:00 on domain   1:    {1 + n % 7}.50000 "
        "elapsed seconds\n"
        for n in range(100)
    )
    _, out, _ = parse(write_file(tmp_path, "rsl.error.0000", steps + "d01 x wrf: SUCCESS COMPLETE WRF\n"))
    lines = out.splitlines()
    assert "… 60 rows more: --json prints them …" in lines
    assert len([line for line in lines if line.strip().replace(".", "").isdigit()]) == 40
    assert lines[-1].endswith("row 100") and lines[-1].strip().startswith("row 1 ")


def test_closed_standard_input_is_an_empty_one() -> None:
    program = f"exec <&-; exec {sys.executable} -m railyard parse -"
    answer = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == (
        "railyard: standard input: found an empty file, expected the text output of a benchmark; "
        "was the job's output kept?\n"
    )


def test_whose_output_a_file_is_can_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.out"
    file.write_text(OSU, encoding="utf-8")
    assert main(["parse", "--tool", "osu", str(file)]) == 0
    assert capsys.readouterr().out == OSU_TEXT
    assert main(["parse", "--tool", "netpipe", str(file)]) == 2
    assert "expected output of NetPIPE" in capsys.readouterr().err
    assert main(["parse", "--tool", "netpip", str(file)]) == 2
    assert 'found "netpip", expected a tool with a parser; did you mean "netpipe"?' in capsys.readouterr().err
