"""Makes a test name that both Railyard and another suite have an error: ReFrame skips the second file with a warning.

excalibur-tests has a test `Hpl`, and so have we. Without this, one command with both suites loses one of the two.
"""

import re
from collections.abc import Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from reframe.core.exceptions import NameConflictError, ReframeError
from reframe.frontend.loader import RegressionCheckLoader

#: "test 'Hpl' from '/their/hpl.py' is already defined in '/our/hpl.py'"
_WORDS = re.compile(r"test '(?P<test>.*)' from '(?P<second>.*)' is already defined in '(?P<first>.*)'")
_FOUND: list[re.Match[str]] = []


def note_name_conflicts() -> None:
    """Make ReFrame's loader keep each name that it finds a second time, for ``refuse_name_conflicts``."""
    original = RegressionCheckLoader.load_from_module
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def load_from_module(loader: RegressionCheckLoader, module: Any) -> list[Any]:
        try:
            tests: list[Any] = original(loader, module)
        except NameConflictError as error:
            found = _WORDS.search(str(error))
            if found is not None:
                _FOUND.append(found)
            raise
        return tests

    RegressionCheckLoader.load_from_module = load_from_module


def refuse_name_conflicts(ours: Sequence[Path]) -> None:
    """Raise ReframeError for names that a file of Railyard's and another file have.

    ``ours``: the folders of our checks. Names of two files of other suites stay what they are to ReFrame: a warning.
    """
    lost, _FOUND[:] = _FOUND[:], []
    lines = [
        f'the test "{each["test"]}": found it in {each["first"]} and in {each["second"]}, expected each name in one of '
        "the files that a command loads; give -c so that one of the two is left out"
        for each in lost
        if any(_is_in(each[which], ours) for which in ("first", "second"))
    ]
    if lines:
        raise ReframeError("\n".join(lines))


def _is_in(file: str, folders: Sequence[Path]) -> bool:
    return any(Path(file).resolve().is_relative_to(folder.resolve()) for folder in folders)
