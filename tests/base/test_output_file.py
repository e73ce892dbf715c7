"""Every kind of file that a person may name: it is read as text, or refused with one sentence."""

import gzip
import io
import tracemalloc
import zlib
from pathlib import Path
from typing import BinaryIO

import pytest

from railyard.base import files
from railyard.base.errors import InputError
from railyard.base.files import MOST_BYTES, MOST_LINES, read_output, shown_name

TEXT = "# Size  Bandwidth (MB/s)\n1  2.00\n"
NOTHING = io.BytesIO()


def gz(content: bytes) -> bytes:
    """Return a gzip file without a time: names of tests have its bytes, and must be the same in each process."""
    return gzip.compress(content, mtime=0)


def read(folder: Path, content: bytes, name: str = "job.out") -> str:
    (folder / name).write_bytes(content)
    return read_output(str(folder / name), NOTHING)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (TEXT.encode(), TEXT),
        (TEXT.encode("utf-8-sig"), TEXT),
        (TEXT.replace("\n", "\r\n").encode(), TEXT),
        (gz(TEXT.encode()), TEXT),
        (gz(TEXT[:9].encode()) + gz(TEXT[9:].encode()), TEXT),  # two members, as cat makes them
        (b"\x1b]0;node1\x07\x1b[?2004h\x1b[1;32m# Size\x1b[0m\x1b[K  Bandwidth (MB/s)\n1  2.00\n", TEXT),
        (b"10%\r20%\r\r\n1  2.00\n", "20%\n1  2.00\n"),  # a line keeps its number
        (b"copy: 10% |#\rcopy: 90% |###\r1  2.00\n2  3.00\n", "1  2.00\n2  3.00\n"),
        (b"1  2.00\r2  3.00\n4  5.00\n", "1  2.00 2  3.00\n4  5.00\n"),  # no row is dropped
        (b"\x1b[?2004l\r1  2.00\n2  3.00\n", "1  2.00\n2  3.00\n"),
        (TEXT.replace("\n", "\r").encode(), TEXT),
        (TEXT.replace("\n", "\u2028").encode(), TEXT),
        ("1  2.00\u20283  4.00\n5  6.00\n".encode(), "1  2.00 3  4.00\n5  6.00\n"),  # 2.003 was never printed
        (TEXT.replace("\n", "\r\n").encode("utf-16"), TEXT),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), TEXT),
        (TEXT.encode("utf-16-le"), TEXT),
        (TEXT.encode("utf-16-be"), TEXT),
        (b"\xb5s\n", "\N{REPLACEMENT CHARACTER}s\n"),  # Latin-1
        (b"a\x0cb\x07\nc\n", "a b\nc\n"),
    ],
)
def test_a_text_is_read_however_it_is_stored(tmp_path: Path, content: bytes, text: str) -> None:
    assert read(tmp_path, content) == text


def test_a_hyphen_is_standard_input() -> None:
    assert read_output("-", io.BytesIO(gz(TEXT.encode()))) == TEXT


WHAT = "expected the text output of a benchmark"
PACKED = gz(TEXT.encode())
BINARY = (
    f", {WHAT}; make it text: xz -dc FILE | railyard parse - "
    "(or unzip -p FILE, iconv -f UTF-32 FILE, tr -d '\\000' < FILE)"
)
REFUSED = [
    (b"", f": found an empty file, {WHAT}; was the job's output kept?"),
    (b" \r\n\t\n", f": found nothing but white space, {WHAT}; was the job's output kept?"),
    (gz(b""), f": found an empty file, {WHAT}; was the job's output kept?"),
    (b"1 2\n3 \x00\x00 4\n", f":2: found binary data: byte 7 is NUL{BINARY}"),
    (b"\x7fELF\x02\x01\x01\x00", f":1: found binary data: byte 8 is NUL{BINARY}"),
    (TEXT.encode("utf-32"), f":1: found binary data: byte 3 is NUL{BINARY}"),
    (b"\xfd7zXZ\x00", f":1: found binary data: byte 6 is NUL{BINARY}"),
    (PACKED[:-9], f": found a gzip file that is cut, {WHAT}; copy it again: its end is missing"),
    (PACKED[:5], f": found a gzip file that is cut, {WHAT}; copy it again: its end is missing"),
    (
        PACKED[:-8] + bytes(8),
        f": found a gzip file that is damaged (CRC check failed 0x0 != {zlib.crc32(TEXT.encode()):#x}), "
        f"{WHAT}; copy it again",
    ),
    (b"\x1f\x8bABCDEFGHIJ", f": found a gzip file that is damaged (Unknown compression method), {WHAT}; copy it again"),
]


@pytest.mark.parametrize(("content", "sentence"), REFUSED, ids=lambda value: value[:30])
def test_what_is_no_text_is_refused_with_its_reason(tmp_path: Path, content: bytes, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert str(caught.value) == f"{tmp_path}/job.out{sentence}"


def test_a_name_that_is_no_readable_file_is_refused(tmp_path: Path) -> None:
    said = []
    for name in (str(tmp_path / "nope"), str(tmp_path), "a\x00b", "x" * 5000):
        with pytest.raises(InputError) as caught:
            read_output(name, NOTHING)
        said.append(str(caught.value).replace("x" * 5000, "x"))
    assert said == [
        f"{tmp_path}/nope: found no such file, {WHAT}; check the name",
        f"{tmp_path}: found a folder, {WHAT}; name a file in it",
        f"ab: found a NUL in the file's name, {WHAT}; check the name",
        f"x: found no readable file (File name too long), {WHAT}; check the name",
    ]


def test_a_file_that_may_not_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> BinaryIO:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)  # root may read any file
    with pytest.raises(InputError) as caught:
        read_output("job.out", NOTHING)
    assert str(caught.value) == f"job.out: found a file that may not be read, {WHAT}; ask its owner for permission"


def test_a_file_of_a_gigabyte_is_refused_before_it_is_read(tmp_path: Path) -> None:
    big = tmp_path / "big.out"
    with big.open("wb") as handle:
        handle.truncate(10**9)
    tracemalloc.start()
    with pytest.raises(InputError) as caught:
        read_output(str(big), NOTHING)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(caught.value) == (
        f"{big}: found 1,000,000,000 bytes, expected at most {MOST_BYTES:,}; "
        "cut out the benchmark's own output: sed -n 'FROM,TOp' FILE | railyard parse -"
    )
    assert peak < 10**6


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_is_read_no_further_than_the_limit(monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 3_000_000)
    content = b"1 2\n" * 2_000_000
    stream = io.BytesIO(gz(content) if packed else content)
    with pytest.raises(InputError) as caught:
        read_output("-", stream)
    assert str(caught.value) == (
        f"standard input: found more than 3,000,000 bytes{' when unpacked' if packed else ''}, "
        "expected at most 3,000,000; "
        "cut out the benchmark's own output: sed -n 'FROM,TOp' FILE | railyard parse -"
    )
    assert packed or stream.tell() < 5_000_000


def test_more_lines_than_any_output_has_are_refused_before_they_are_read() -> None:
    assert read_output("-", io.BytesIO(b"y\n" * MOST_LINES)).count("\n") == MOST_LINES
    with pytest.raises(InputError) as caught:
        read_output("-", io.BytesIO(b"y\n" * (MOST_LINES + 1)))
    assert str(caught.value).startswith("standard input: found 1,000,001 lines, expected at most 1,000,000; cut out")


def test_a_name_is_shown_on_one_line_without_control_codes() -> None:
    assert shown_name("a\n\x1b[31mb\udcff") == "a b"
    assert shown_name("-") == "standard input"
