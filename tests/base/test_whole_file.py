"""A file is written completely or not at all, and nothing is left beside it."""

import os
from pathlib import Path

import pytest

from railyard.base.files import write_whole


def test_a_file_takes_the_place_of_the_old_one_with_the_permissions_that_it_is_given(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    write_whole(file, "old\n")
    before = os.umask(0o077)
    try:
        write_whole(file, "new, \u00b5s\n")
        write_whole(tmp_path / "script", "#!/bin/sh\n", 0o755)
    finally:
        os.umask(before)
    assert file.read_text(encoding="utf-8") == "new, \u00b5s\n"
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("kept.json", "script")] == [0o600, 0o755]
    assert {path.name for path in tmp_path.iterdir()} == {"kept.json", "script"}


@pytest.mark.fault("store", "a file system that takes the new file and not its name", "Is a directory")
def test_what_cannot_be_written_leaves_the_old_one_and_nothing_of_the_new(tmp_path: Path, promise: str) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match=promise):
        write_whole(tmp_path / "taken", "new\n")
    assert {path.name for path in tmp_path.iterdir()} == {"taken"}
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "file", "new\n")
