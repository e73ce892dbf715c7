"""The rows of pairs beside the records: written whole, read again, and told where they are missing, cut or others."""

import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.base.errors import InputError, SetupError
from railyard.results.record.pair_rows import PairRows, Row, content_of, pack_rows, parse, put, read, why_not, write

ROWS = (
    Row(0, 1, 0, 1, 47.82, 47.8, 2.31),
    Row(0, 1, 2, 3, None, None, None),
    Row(1, 1, 0, 1, 48.01, 47.9, 0.0),
)
ACTION = "copy the file from where the run was made; until then nothing that depends on these rows is a pass"
TEXT = (
    "# railyard pair rows 1\n# 4 nodes, 3 rows\nstep\tround\tfirst\tsecond\tforward\tbackward\tlatency\n"
    "0\t1\t0\t1\t47.82\t47.8\t2.31\n0\t1\t2\t3\t\t\t\n1\t1\t0\t1\t48.01\t47.9\t0.0\n# end\n"
)


def pair_rows_file(text: str, rows: int = 3) -> tuple[PairRows, bytes]:
    """A file of this text, as a record would name it."""
    content = gzip.compress(text.encode(), mtime=0)
    digest = hashlib.sha256(content).hexdigest()
    return PairRows(f"pairs-{digest[:16]}.tsv.gz", digest, rows), content


def test_the_form_is_exactly_this_and_the_same_rows_make_the_same_file() -> None:
    file = pack_rows(4, ROWS, ("pairs", "alone"))
    assert gzip.decompress(file.content).decode() == TEXT
    assert file.told.sha256 == hashlib.sha256(file.content).hexdigest()
    assert file.told.file == f"pairs-{file.told.sha256[:16]}.tsv.gz"
    assert (file.told.rows, file.told.steps) == (3, ("pairs", "alone"))
    assert pack_rows(4, ROWS, ("pairs", "alone")) == file


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = pack_rows(4, ROWS, ("pairs", "alone"))
    write(tmp_path, file)
    assert read(tmp_path, file.told) == ROWS
    assert why_not(tmp_path, file.told) is None
    assert [path.name for path in tmp_path.iterdir()] == [file.told.file]


def test_a_device_or_a_link_with_the_right_name_is_no_file(tmp_path: Path) -> None:
    file = pack_rows(4, ROWS, ())
    path = tmp_path / file.told.file
    path.symlink_to("/dev/zero")
    assert "no readable file" in str(why_not(tmp_path, file.told))
    path.unlink()
    os.mkfifo(path)
    assert "no readable file (not a regular file)" in str(why_not(tmp_path, file.told))


def test_no_rows_are_a_file_too(tmp_path: Path) -> None:
    file = pack_rows(4, (), ())
    write(tmp_path, file)
    assert read(tmp_path, file.told) == ()


def other(path: Path, content: bytes) -> None:
    path.write_bytes(pack_rows(4, ROWS[:1], ()).content)


def folder(path: Path, content: bytes) -> None:
    path.unlink()
    path.mkdir()


def remove_file(path: Path, content: bytes) -> None:
    path.unlink()


DAMAGE: dict[str, tuple[Callable[[Path, bytes], object], str]] = {
    "missing": (remove_file, "no such file"),
    "cut": (lambda path, content: path.write_bytes(content[:-9]), "a file that is cut"),
    "empty": (lambda path, content: path.write_bytes(b""), "a file that is cut"),
    "another": (other, f"a file with the SHA-256 {pack_rows(4, ROWS[:1], ()).told.sha256[:16]}…"),
    "a byte more": (lambda path, content: path.write_bytes(content + b"\0"), "a file with the SHA-256 "),
    "a folder": (folder, "no readable file (Is a directory)"),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_file_that_is_not_the_one_that_was_written_is_a_sentence(tmp_path: Path, how: str) -> None:
    file = pack_rows(4, ROWS, ("pairs", "alone"))
    write(tmp_path, file)
    path = tmp_path / file.told.file
    damage, found = DAMAGE[how]
    damage(path, file.content)
    said = why_not(tmp_path, file.told)
    assert said is not None
    assert said.startswith(f"{path}: found {found}")
    assert said.endswith(f", expected the rows of pairs that its record names; {ACTION}")
    with pytest.raises(InputError):
        read(tmp_path, file.told)


@pytest.mark.parametrize("size", range(0, len(pack_rows(4, ROWS, ()).content), 7))
def test_a_file_that_is_cut_anywhere_is_never_read(tmp_path: Path, size: int) -> None:
    file = pack_rows(4, ROWS, ())
    (tmp_path / file.told.file).write_bytes(file.content[:size])
    assert why_not(tmp_path, file.told) is not None


@pytest.mark.parametrize("name", ["../records.jsonl", "/etc/passwd", "pairs-0123456789abcdef.tsv.gz/x", "pairs-x", ""])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    file = pack_rows(4, ROWS, ())
    with pytest.raises(InputError) as caught:
        content_of(tmp_path, PairRows(name, file.told.sha256, 3))
    assert f"found a record that names {name!r}" in str(caught.value)
    assert put(tmp_path, PairRows(name, file.told.sha256, 3), file.content, "elsewhere") is not None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nothing", "another form"),
        (TEXT.replace("rows 1\n", "rows 2\n"), "another form"),
        (TEXT.replace("# end\n", ""), "another form"),
        (TEXT.replace("forward\tbackward", "backward\tforward"), "another form"),
        (TEXT.replace("3 rows", "4 rows"), "3 rows, but 3 were written"),
        (TEXT.replace("47.82", "fast"), "a row of another form (could not convert string to float: 'fast')"),
        (TEXT.replace("47.82\t", ""), "a row of another form (6 fields, expected 7)"),
        (TEXT.replace("0\t1\t2\t3", "0\t1\t2\t4"), "a node that is not in the record"),
    ],
)
def test_a_text_of_another_form_is_refused(text: str, found: str) -> None:
    rows, content = pair_rows_file(text)
    with pytest.raises(InputError) as caught:
        parse(content, "x.tsv.gz", rows.rows)
    assert str(caught.value).startswith(f"x.tsv.gz: found {found}, expected the rows")


def test_more_rows_than_the_record_names_are_refused() -> None:
    _, content = pair_rows_file(TEXT)
    with pytest.raises(InputError, match="3 rows, but 2 were written"):
        parse(content, "x.tsv.gz", 2)


def test_a_folder_that_cannot_be_written_is_a_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    file = pack_rows(4, ROWS, ())
    with pytest.raises(SetupError, match="the rows of pairs could not be written"):
        write(tmp_path / "nowhere", file)
    assert list(tmp_path.iterdir()) == []
