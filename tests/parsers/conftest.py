"""Where the texts are on which the parsers are tested."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

CLONE = Path(__file__).parents[2]
RECORDINGS = CLONE / "tests" / "recordings"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Return the folder of genuine outputs from public places, or skip: it is not part of the repository."""
    given = os.environ.get("RAILYARD_CORPUS")
    folder = Path(given) if given else CLONE.parent / "shared" / "corpus"
    if not (folder / "EXPECTED.tsv").is_file():
        pytest.skip("no reference corpus: set RAILYARD_CORPUS to the folder that holds EXPECTED.tsv")
    return folder


@pytest.fixture(scope="session")
def recording() -> Callable[[str], str]:
    """Return a function that returns the text of one recording of our own runs."""
    return lambda name: (RECORDINGS / name).read_text(encoding="utf-8")
