"""One build at a time; a file system that cannot say so is refused."""

import errno
import fcntl
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.spack.build import one_at_a_time


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOLCK, "No locks available"),
        (errno.ENOSYS, "Function not implemented"),
        (errno.EOPNOTSUPP, "Operation not supported"),
    ],
)
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str) -> None:
    def refuse(descriptor: int, how: int) -> None:
        raise OSError(number, words)

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(SetupError) as error, one_at_a_time(tmp_path, print):
        pytest.fail("it was taken for locked")
    assert str(error.value) == (
        f"{tmp_path}: its file system has no file locks ({words}), so two builds at once would not notice each other; "
        "choose another folder in the system's file (spack: root)"
    )


def test_it_is_free_again_afterwards(tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        with one_at_a_time(tmp_path / "a" / "b", said.append):
            pass
    assert said == []


def test_a_folder_that_may_not_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, **how: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(SetupError) as error, one_at_a_time(tmp_path / "tree", print):
        pytest.fail("it was taken for locked")
    assert str(error.value) == (
        f"{tmp_path}/tree: permission denied, expected to build there; choose another folder in the system's file "
        "(spack: root)"
    )
