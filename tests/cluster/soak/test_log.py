"""Readings on disk: they can be read back, a cut last line is skipped, another file is refused with its line."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError, SetupError
from railyard.cluster.soak import Log, Reading, read

FIRST = Reading(0.0, {("vn1", "hsn0"): {"tx_bytes": 1}, ("vn1", "hsn1"): {"tx_bytes": 2}})
SECOND = Reading(10.5, {("vn2", "hsn0"): {"rx_bytes": 3}})
HEAD = '{"railyard_soak":1,"system":"virtual","streams":[]}\n'
STREAMS = (("vn1", "vn2", "hsn0"),)


def test_what_was_kept_reads_back(tmp_path: Path) -> None:
    log = Log(tmp_path / "soaks" / "a.jsonl", "virtual", STREAMS)
    for reading in (FIRST, SECOND):
        log.keep(reading)
    assert read(log.path) == ((FIRST, SECOND), STREAMS)
    whole = log.path.read_text(encoding="utf-8")
    log.path.write_text(whole[:-5], encoding="utf-8")
    assert read(log.path) == ((FIRST,), STREAMS)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# OSU MPI\n", 'f.jsonl:1: found "# OSU MPI", expected the head of a soak of format 1'),
        ("", 'f.jsonl:1: found "", expected the head of a soak of format 1'),
        (
            '{"railyard_soak":1,"streams":[["vn1"]]}\n',
            'f.jsonl:1: found "{"railyard_soak":1,"streams":[["vn1"]]}", expected the head of a soak of format 1',
        ),
        (f"{HEAD}[]\n", 'f.jsonl:2: found "[]", expected a reading'),
        (
            f'{HEAD}{{"at_s":1,"counters":{{"vn1":{{"hsn0":{{"tx_bytes":"x"}}}}}}}}\n',
            'f.jsonl:2: found "{"at_s":1,"counters":{"vn1":{"hsn0":{"tx_bytes":"x"}}}}", expected a reading',
        ),
    ],
)
def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(Path("f.jsonl"))
    assert str(caught.value) == sentence


def test_a_file_that_is_not_there_and_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found nothing that can be read \(No such file or directory\)"):
        read(tmp_path / "none.jsonl")
    (tmp_path / "soaks").write_text("a file")
    with pytest.raises(SetupError, match=r"soak: .*/soaks/a.jsonl cannot be written \(File exists\)"):
        Log(tmp_path / "soaks" / "a.jsonl", "virtual", ())
