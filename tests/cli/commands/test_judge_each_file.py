"""`railyard judge --each-file`: a line for each file below a folder, whatever is in it, and no way to stop the walk."""

import json
import os
import socket
from pathlib import Path

import pytest

from railyard.base.errors import InputError, RailyardError
from railyard.cli.main import main
from railyard.verdict.stored_outputs.each_file import MOST_CHARACTERS, first_sentence, judge_each_file

SIZES = tuple(2**n for n in range(23))


def osu_bw(peak_mb_s: float) -> str:
    """Return a synthetic output of OSU whose bandwidth approaches a peak."""
    rows = "".join(f"{size:<18d}{size / (0.3 + size / peak_mb_s):>12.2f}\n" for size in SIZES)
    return f"# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n{rows}"


HEALTHY, SLOW = osu_bw(12400), osu_bw(6000)


def lines(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, list[str]]:
    """Return the exit code and what was printed for a folder judged as EDR."""
    code = main(["judge", "--each-file", str(folder), "--link", "ib-edr", *options])
    said = capsys.readouterr()
    assert said.err == ""
    return code, said.out.splitlines()


def test_each_file_has_its_line_and_the_last_line_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b.out").write_text(SLOW)
    (tmp_path / "a.out").write_text(HEALTHY)
    (tmp_path / "below" / "further").mkdir(parents=True)
    (tmp_path / "below" / "further" / "c.out").write_text("# a heading\nno benchmark printed this\n")
    (tmp_path / "below" / "empty.out").write_text("")
    code, said = lines(tmp_path, capsys)
    assert code == 1
    starts = [line.split(": ")[0] for line in said]
    assert starts == ["a.out", "b.out", "below/empty.out", "below/further/c.out", "4 files"]
    assert said[0].startswith("a.out: osu/osu_bw: PASS: bandwidth holds class:ib-edr")
    assert said[1].startswith("b.out: osu/osu_bw: FAIL: Bandwidth is 49.9 % of its bound at 1 MiB")
    assert said[2] == "below/empty.out: UNREADABLE: found an empty file, expected the text output of a benchmark"
    assert said[3].startswith(
        "below/further/c.out: UNREADABLE: line 1: found '# a heading', expected the output of one"
    )
    assert said[4] == "4 files: 1 pass, 1 fail, 2 unreadable"


def test_a_folder_in_which_all_pass_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.out").write_text(HEALTHY)
    code, said = lines(tmp_path, capsys)
    assert (code, said[-1]) == (0, "1 file: 1 pass")


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (HEALTHY + SLOW.replace("Bandwidth Test", "Bi-Directional Bandwidth Test"), "FAIL"),
        ("# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n             2.11\n", "NOT JUDGED"),
    ],
)
def test_the_worst_table_decides_and_not_judged_is_no_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, state: str
) -> None:
    (tmp_path / "a.out").write_text(text)
    code, said = lines(tmp_path, capsys)
    assert code == 1
    assert f": {state}: " in said[0]


def test_what_is_no_regular_file_is_neither_opened_nor_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, outside = tmp_path / "outputs", tmp_path / "outside.out"
    (folder / "below").mkdir(parents=True)
    outside.write_text(HEALTHY)
    (folder / "a.out").write_text(HEALTHY)
    (folder / "link-in").symlink_to("a.out")
    (folder / "link-out").symlink_to(outside)
    (folder / "link-to-device").symlink_to("/dev/zero")
    (folder / "link-to-folder").symlink_to("below")
    (folder / "link-nowhere").symlink_to("nothing")
    (folder / "link-to-itself").symlink_to("link-to-itself")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "socket"))
        code, said = lines(folder, capsys)
    words = dict(line.split(": ", 1) for line in said[:-1])
    assert code == 1
    assert words.pop("a.out") == words.pop("link-in")
    assert words.pop("link-to-itself").startswith("UNREADABLE: a link that leads nowhere")
    assert words == {
        "link-out": "UNREADABLE: a link out of the folder: it is not followed",
        "link-to-device": "UNREADABLE: a link out of the folder: it is not followed",
        "link-to-folder": "UNREADABLE: a link to a folder: it is not opened",
        "link-nowhere": "UNREADABLE: a link that leads nowhere, or a file that is gone (No such file or directory)",
        "pipe": "UNREADABLE: a named pipe: it is not opened",
        "socket": "UNREADABLE: a socket: it is not opened",
    }


def test_binary_huge_and_oddly_named_files_have_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0")
    with (tmp_path / "huge").open("wb") as handle:
        handle.truncate(1 << 40)
    (tmp_path / "two\nlines\x1b[31m").write_text(HEALTHY)
    (tmp_path / os.fsdecode(b"latin\xe9")).write_text(HEALTHY)
    code, said = lines(tmp_path, capsys)
    assert code == 1
    assert said[-1] == "4 files: 2 pass, 2 unreadable"
    assert "1,099,511,627,776 bytes" in said[1]
    assert said[3].startswith("two lines: osu/osu_bw: PASS")


def test_a_folder_that_may_not_be_read_has_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    whole = os.scandir

    def scandir(folder: str) -> object:
        if os.path.basename(folder) == "closed":
            raise PermissionError(13, "Permission denied", folder)
        return whole(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    (verdict,) = judge_each_file(tmp_path, lambda path: ((), None))  # type: ignore[arg-type, return-value]
    assert verdict.line == "closed: UNREADABLE: a folder that cannot be read (Permission denied)"


def test_errors_of_reading_and_of_judging_differ(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")

    def refuse(path: str) -> object:
        raise InputError(path, "a file that may not be read", "the text output of a benchmark")

    def leave(path: str) -> object:
        raise RailyardError("--rails: found 1, expected 2")

    (unreadable,) = judge_each_file(tmp_path, refuse)  # type: ignore[arg-type]
    (not_judged,) = judge_each_file(tmp_path, leave)  # type: ignore[arg-type]
    assert (unreadable.state, not_judged.state) == ("unreadable", "not-judged")
    assert not_judged.sentence == "--rails: found 1, expected 2"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--each-file: found no file below"),
        (["--sizes", "x"], "--sizes: found"),
        (["--benchmark", "osu/osu_b"], "osu/osu_bw"),
        (["--node-pairs", "0"], "--node-pairs: found 0"),
    ],
)
def test_mistakes_of_the_command_end_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    if words:
        (tmp_path / "a.out").write_text(HEALTHY)
    assert main(["judge", "--each-file", str(tmp_path), "--link", "ib-edr", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["missing", "a.out", "-"])
def test_what_is_no_folder_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "a.out").write_text(HEALTHY)
    given = name if name == "-" else str(tmp_path / name)
    assert main(["judge", "--each-file", given, "--link", "ib-edr"]) == 2
    assert "expected a folder of outputs" in capsys.readouterr().err


def test_json_has_each_file_with_its_judgements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.out").write_text(HEALTHY)
    (tmp_path / "b.out").write_text("")
    code, said = lines(tmp_path, capsys, "--json")
    made = json.loads("\n".join(said))
    assert code == 1
    assert made["counts"] == {"pass": 1, "report-only": 0, "fail": 0, "not-judged": 0, "unreadable": 1}
    first, second = made["files"]
    assert (first["file"], first["state"], first["benchmarks"]) == ("a.out", "pass", ["osu/osu_bw"])
    assert first["against"]["link"] == "ib-edr"
    assert first["judgements"][0]["curves"][0]["sizes"] == list(SIZES)
    assert (second["state"], second["judgements"]) == ("unreadable", [])


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("too low; look at the link", "too low"),
        (
            "below the bound (a source; another source), over hsn0; look at it",
            "below the bound (a source; another source), over hsn0",
        ),
        ("x" * 300, "x" * (MOST_CHARACTERS - 2) + " …"),
    ],
)
def test_a_reason_is_a_first_sentence(words: str, first: str) -> None:
    assert first_sentence(words) == first
