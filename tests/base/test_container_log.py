"""A container's log gives what the container printed, line by line, and any other text stays as it is."""

import json
from pathlib import Path

import pytest

from railyard.base.files import container_lines
from railyard.cli.main import main

TIME = "2026-07-01T10:00:00.123456789Z"


def log_line(printed: str, stream: str = "stdout") -> str:
    return json.dumps({"log": printed, "stream": stream, "time": TIME}, separators=(",", ":")) + "\n"


def test_each_object_is_a_line() -> None:
    text = log_line("# OSU\n") + log_line("a warning\n", "stderr") + "\n" + log_line('1\t "x"\r\n') + log_line("\n")
    assert container_lines(text) == '# OSU\na warning\n\n1\t "x"\r\n\n'
    assert container_lines(text.removesuffix("\n")) == container_lines(text)


def test_a_line_of_several_objects_is_one_and_another_stream_is_not_mixed_with_it() -> None:
    text = log_line("1  ") + log_line("a warning\n", "stderr") + log_line("2.50\n") + log_line("cut")
    assert container_lines(text) == "\na warning\n1  2.50\n\ncut"


@pytest.mark.parametrize(
    "text",
    [
        "# OSU\n",
        '{"log": 1}\n',
        '{"end": {"log": "x"}}\n',
        log_line("1\n") + "2 3.0\n",
        log_line("1\n") + log_line("2\n")[:30],
        log_line("1\n2\n"),
        '{"log":' + "[" * 100_000,
        '{"start": {},\n "log": "x"}\n',
    ],
)
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert container_lines(text) == text


def test_an_output_in_a_containers_log_gets_the_verdict_of_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = [1 << power for power in range(23)]
    rows = "".join(f"{size:<18d}{size / (0.3 + size / 12_300):>12.2f}\n" for size in sizes)
    plain = f"mpirun -np 2 osu_bw\n# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n{rows}"
    said = []
    for text in (plain, "".join(map(log_line, plain.splitlines(keepends=True)))):
        file = tmp_path / "output.log"
        file.write_text(text, encoding="utf-8")
        assert main(["judge", str(file), "--link", "ib-edr"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert "osu/osu_bw (line 2)" in said[0]
