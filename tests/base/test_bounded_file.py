"""A job's output is read completely up to a limit; of a longer one, only both ends are read."""

import tracemalloc
from pathlib import Path

import pytest

from railyard.base.files import END_BYTES, MOST_BYTES, MOST_LINES, read_bounded, too_long


def sparse(path: Path, size: int, head: bytes = b"", tail: bytes = b"") -> Path:
    """Return a file of this size; only its ends are on disk."""
    with path.open("wb") as handle:
        handle.write(head)
        handle.truncate(size)
        handle.seek(size - len(tail))
        handle.write(tail)
    return path


def test_a_file_up_to_the_limit_is_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "job.out"
    file.write_bytes(b"1 2.00\n\xff\n")
    found = read_bounded(file)
    assert (found.content, found.is_cut, found.text) == (b"1 2.00\n\xff\n", False, "1 2.00\n\ufffd\n")
    assert too_long(file, "the job's output") is None


def test_of_a_longer_one_both_ends_are_read_and_said_in_little_memory(tmp_path: Path) -> None:
    lines = b"noise\n" * END_BYTES
    file = sparse(tmp_path / "job.out", 5 * 2**30, b"first\n" + lines[: END_BYTES + 3], lines + b"last\n")
    tracemalloc.start()
    found = read_bounded(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * MOST_BYTES
    parts = found.content.split(b"# railyard: ")
    assert found.is_cut and found.size == 5 * 2**30
    assert parts[0].startswith(b"first\n") and parts[0].endswith(b"noise\n")
    assert parts[1].endswith(b"noise\nlast\n") and len(found.content) < 2 * END_BYTES + 100
    kept = len(found.content) - len(parts[1].split(b"\n")[0]) - len(b"# railyard: \n")
    assert parts[1].startswith(f"{5 * 2**30 - kept} bytes are left out here\nnoise\n".encode())
    assert too_long(file, "the job's output") == (
        "the job's output has 5,368,709,120 bytes, at most 33,554,432 are judged: only its first and last 524,288 "
        "bytes were read"
    )


@pytest.mark.fault("output", "1,000,001 short lines of noise", "1,000,001 lines, at most 1,000,000 are judged")
def test_of_many_short_lines_both_ends_are_read(tmp_path: Path, promise: str) -> None:
    file = tmp_path / "job.out"
    file.write_bytes(b"y\n" * MOST_LINES)
    assert (read_bounded(file).is_cut, too_long(file, "it")) == (False, None)
    file.write_bytes(b"y\n" * (MOST_LINES + 1))
    found = read_bounded(file)
    assert found.is_cut and found.content.count(b"\n") <= MOST_LINES
    assert too_long(file, "it") == f"it has {promise}: only its first and last 524,288 bytes were read"


def test_a_line_longer_than_an_end_is_cut(tmp_path: Path) -> None:
    found = read_bounded(sparse(tmp_path / "job.out", MOST_BYTES + 1))
    assert found.content.count(b"\n") == 2 and len(found.content) < 2 * END_BYTES + 100


def test_a_missing_file_is_an_error_of_its_reader_and_has_no_length(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_bounded(tmp_path / "none")
    assert too_long(tmp_path / "none", "x") is None
