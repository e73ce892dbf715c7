"""What a file's error says to do fits its cause: a full disk, a quota, a limit, a permission, a path."""

import errno
import os

import pytest

from railyard.base.errors import SetupError, unwritable


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space there, or get a larger quota"),
        (errno.EFBIG, "raise the limit on the size of a file (ulimit -f)"),
        (errno.EROFS, "get write permission there"),
        (errno.EACCES, "get write permission there"),
        (errno.EIO, "ask who runs that file system"),
        (errno.ENOTDIR, "correct the path"),
    ],
)
def test_the_remedy_is_that_of_the_error(number: int, remedy: str) -> None:
    error = unwritable("/a/b", "the report", OSError(number, os.strerror(number)), ", then try again")
    assert isinstance(error, SetupError)
    assert str(error) == f"/a/b: the report could not be written ({os.strerror(number)}); {remedy}, then try again"
