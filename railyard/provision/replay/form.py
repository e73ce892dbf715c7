"""What a replay plays: the test, its recording, and where that is from."""

import re
from dataclasses import dataclass, field
from typing import Literal

from railyard.base.wording import count_of
from railyard.site.test_id import TestId

Origin = Literal["recorded", "computed", "model"]
#: What every report says about a test whose output has this origin.
WORDS: dict[Origin, str] = {
    "recorded": "replayed: recorded in an earlier run, not measured now",
    "computed": "replayed: computed from published values, not measured",
    "model": "replayed: computed from a model that keeps what the source says, no published value, not measured",
}
#: What reports say if nothing was played, or if the origin of the output is unknown.
REPLAYED = "replayed: not measured"
#: How many lines of an output are searched for what it says about itself: more than the longest head of a tool.
_HEAD_LINES = 20
_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9.+=-]+")


def file_of(test: TestId) -> str:
    """Return where a test's recording is below the system's folder: ``edr/hpcx/1/OsuBandwidth.out``.

    ``test.check`` is ReFrame's name of the variant without the number of rails.
    """
    name = _NOT_IN_A_FILE_NAME.sub("_", test.check).strip("_")
    return f"{test.fabric}/{test.stack}/{test.rails}/{name}.out"


def words_of(test: TestId) -> str:
    """Return a test in the words of a sentence about its recording."""
    rails = count_of(test.rails, "rail")
    return f"{test.check} ({test.benchmark}) with {test.stack} over {rails} of {test.fabric}"


@dataclass(frozen=True, slots=True)
class KeptFile:
    """The file with what was kept beside an output (``railyard.job.case.kept_test``), and its SHA-256."""

    file: str
    sha256: str
    extra: dict[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class Recording:
    """One output: its test, its text's SHA-256 and length in bytes, its origin, which command made it and from what.

    ``kept`` is None for a computed output, and for one that an older Railyard recorded.
    """

    fabric: str
    stack: str
    rails: int
    check: str
    benchmark: str
    file: str
    sha256: str
    bytes: int
    origin: Origin
    made_by: str
    source: str
    kept: KeptFile | None = field(default=None, kw_only=True)
    extra: dict[str, object] = field(default_factory=dict, kw_only=True)

    @property
    def test(self) -> TestId:
        """The test of this output."""
        return TestId(self.fabric, self.stack, self.rails, self.benchmark, self.check)


@dataclass(frozen=True, slots=True)
class Index:
    """The recordings of one system."""

    system: str
    recordings: tuple[Recording, ...]
    extra: dict[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class PlayedTest:
    """What a test got in place of a measurement: its recording, or the sentence why there is none to judge."""

    recording: Recording | None
    problem: str | None = None

    @property
    def words(self) -> str:
        """What every report says about this test."""
        return WORDS[self.recording.origin] if self.recording is not None else REPLAYED

    @property
    def provenance(self) -> dict[str, object]:
        """The parts of the recording that belong in a result."""
        one = self.recording
        if one is None:
            return {}
        return {
            "recording": {
                "file": one.file, "sha256": one.sha256, "origin": one.origin, "made_by": one.made_by,
                "source": one.source,
            }
        }  # fmt: skip


def said_of_itself(text: str) -> tuple[int, str] | None:
    """Return line number and sentence where an output says that it was computed; None if it does not."""
    phrases = [WORDS[origin].removeprefix("replayed: ") for origin in ("computed", "model")]
    for number, line in enumerate(text.split("\n", _HEAD_LINES)[:_HEAD_LINES], start=1):
        if any(phrase in line for phrase in phrases):
            return number, line.lstrip("# ").rstrip()
    return None
