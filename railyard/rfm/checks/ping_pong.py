"""A short measurement by a check's own tool between two nodes: what runs, and which value its output has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base.clean_text import one_line
from railyard.base.errors import RailyardError
from railyard.benchmarks import metrics, model
from railyard.benchmarks.table import micro
from railyard.job.launch import Launch
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.site.sizes import PROBE_DELAY_BYTES, PROBE_SIZE_BYTES

#: At most so many characters are quoted of the first line of a probe without a result.
LONGEST_SAID = 120


def _no_files(size_bytes: int) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class PingPong:
    """A short measurement by a check's own tool between two nodes over one rail: mostly a ping-pong.

    A ping-pong sees both directions of the rail. ``key`` is its benchmark. ``launch`` plans it over a rail between two
    nodes. ``words`` gives each process's command for messages of ``size_bytes``, ``files`` the files that it reads.
    """

    key: str
    parse: Callable[[str], ParsedOutput]
    launch: Callable[[str, tuple[str, str]], Launch]
    words: Callable[[Launch, int], list[str]]
    files: Callable[[int], Mapping[str, str]] = _no_files
    size_bytes: int = PROBE_SIZE_BYTES

    def write_files(self, folder: Path) -> None:
        """Write what it reads to the folder where it runs."""
        for name, text in self.files(self.size_bytes).items():
            (folder / name).write_text(text, encoding="utf-8")

    @property
    def delay_bytes(self) -> int | None:
        """The size of messages so small that a rail's delay decides; None for others, and for tools without sizes."""
        return self.size_bytes if self.size_bytes <= PROBE_DELAY_BYTES and not self._is_figure else None

    @property
    def _is_figure(self) -> bool:
        return micro.find(self.key).rows != "sizes"

    def value(self, text: str) -> float | None:
        """Return MB/s at its size; None if none was printed: other sizes of a cut probe say nothing."""
        try:
            curves = metrics.curves(self.parse(text).tables[0], self.key)
            # For small messages a rate has too few digits.
            is_timed = self.delay_bytes is not None
            curve = next((each for each in curves if is_timed and each.metric == model.LATENCY), curves[0])
        except (ParseError, ValueError, IndexError, RailyardError):
            return None
        if (not self._is_figure and curve.sizes[-1] != self.size_bytes) or not curve.values[-1] > 0:
            return None
        # From times: bytes per microsecond are MB/s.
        return curve.values[-1] if curve.metric == model.BANDWIDTH else curve.sizes[-1] / curve.values[-1]


def first_line(text: str) -> str | None:
    """Return the first line of a probe's output with a letter or digit, cut to a length that fits a sentence."""
    line = next((line for line in map(one_line, text.splitlines()) if any(letter.isalnum() for letter in line)), None)
    return None if line is None else line[:LONGEST_SAID]
