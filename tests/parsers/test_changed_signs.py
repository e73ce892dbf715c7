"""Outputs whose signs or line breaks a chat or a log changed are read as their tools printed them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.parsers.decorations import with_own_signs
from railyard.parsers.detect import parse
from railyard.parsers.output import ParseError
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.target import of_link

MADE = Path(__file__).with_name("made")
OUTPUTS = {
    "osu": "# OSU MPI Latency Test v7.5\n# Size          Latency (us)\n"
    + "".join(f"{1 << power:<18}{1.2 + power / 10:.2f}\n" for power in range(8)),
    "perftest": (MADE / "perftest-send_lat.txt").read_text(encoding="utf-8"),
}
CHANGES: dict[str, Callable[[str], str]] = {
    "string of JSON": json.dumps,
    "object of JSON": lambda text: json.dumps({"id": 7, "took": 3.2, "cmd": ["mpirun", "-np", "2"], "stdout": text}),
    "Ansible's lists of lines": lambda text: json.dumps(
        {"stdout": text.strip(), "stdout_lines": text.split("\n"), "stderr": "", "rc": 0}, indent=4
    ),
    "list of objects": lambda text: json.dumps([{"name": "build", "trace": ""}, {"name": "bench", "trace": text}]),
    "object on each line": lambda text: '{"level": "info"}\n' + json.dumps({"level": "info", "output": text}) + "\n",
    "written line breaks": lambda text: text.replace("\t", r"\t").replace("\n", r"\n"),
    "full-width signs": lambda text: text.replace("#", "\uff03"),
    "en dashes": lambda text: text.replace("-", "\u2013"),
    "em dashes for three": lambda text: text.replace("---", "\u2014"),
    "pod and container": lambda text: "".join(f"bench-worker-7d9f mpi {line}\n" for line in text.splitlines()),
}


@pytest.mark.parametrize("tool", OUTPUTS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_output_is_read_as_it_was(change: str, tool: str) -> None:
    expected, found = parse(OUTPUTS[tool]), parse(CHANGES[change](OUTPUTS[tool]))
    rows = [(table.benchmark, table.rows, table.complete) for table in expected.tables]
    assert rows == [(table.benchmark, table.rows, table.complete) for table in found.tables]
    assert not found.failures


def test_a_text_with_its_own_signs_stays() -> None:
    for text in (*OUTPUTS.values(), "", "a line", '"a word"', '{"a": "b\\nc\\nd"}', "a – b — c"):
        assert with_own_signs(text) == text


def test_a_tools_own_json_is_not_what_a_string_in_it_says() -> None:
    text = json.dumps({"end": [{"bits_per_second": n} for n in range(9)], "server_output_text": OUTPUTS["osu"][:90]})
    assert with_own_signs(text) == text


def test_two_outputs_in_one_json_text_are_refused() -> None:
    text = json.dumps({"before": OUTPUTS["osu"], "after": OUTPUTS["osu"].replace("1.20", "1.30")})
    with pytest.raises(ParseError, match=r"expected one output, not 2 in the strings of one JSON text"):
        parse(text)
    assert len(parse(json.dumps([OUTPUTS["osu"], OUTPUTS["osu"]])).tables) == 1


def test_what_was_printed_as_an_error_is_seen_in_json() -> None:
    rows = "".join(f"{1 << power:<10}{2**power / (20 + 2**power / 2800):.2f}\n" for power in range(23))
    printed = f"# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n{rows}"
    text = json.dumps({"stdout": printed, "stderr": "vn1:pid2101.osu_bw: PSM3 no nic units are active (err=23)"})
    (found,) = judge(parse(text), of_link("roce-25"), text=text)
    assert found.state == "fail"
    assert "PSM3 found no card" in found.headline


@pytest.mark.parametrize(
    ("line", "headline"),
    [
        ("vn1:pid2101.osu_bw: PSM3 no nic units are active (err=23)\n", "PSM3 found no card that it can use"),
        (
            "[vn1:06399] btl: tcp: attempting to connect() to [[2,1],1] address 10.1.0.2 on port 1024\n",
            "Open MPI connects to another process over TCP",
        ),
    ],
)
def test_a_fallback_in_a_written_line_is_seen(line: str, headline: str) -> None:
    rows = "".join(f"{1 << power:<10}{2**power / (20 + 2**power / 2800):.2f}\n" for power in range(23))
    text = f"{line}# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n{rows}"
    for form in (text, text.replace("\n", r"\n")):
        (found,) = judge(parse(form), of_link("roce-25"), text=form)
        assert found.state == "fail"
        assert headline in found.headline
