"""One run of iperf3 while it is read, from its console or its JSON, and its table."""

from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.iperf_intervals import Interval, wrong_intervals
from railyard.parsers.parsed import ContextValue, Remark, Table

SUM = "SUM"  # in the place of a stream's number


@dataclass(frozen=True, slots=True)
class Row:
    """One closing line: sender or receiver, its stream or SUM, its direction (``--bidir``), its figures."""

    role: str
    stream: str
    way: str | None
    bandwidth_mb_s: float
    retransmits: int | None
    seconds: float


@dataclass(slots=True)
class Run:
    """One run: ``connected`` counts its streams' lines, ``both`` is ``--bidir``, ``reverse`` ``-R``."""

    line: int
    version: str | None = None
    context: dict[str, ContextValue] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    connected: int = 0
    headings: int = 0
    retransmits: bool = False
    both: bool = False
    reverse: bool = False
    done: bool = False
    spoiled: bool = False
    intervals: dict[tuple[str, str | None], list[Interval]] = field(default_factory=dict)

    def take(self, stream: str, way: str | None, interval: Interval) -> None:
        """Keep an interval of a stream, or of the sum, in one direction."""
        self.intervals.setdefault((stream, way), []).append(interval)

    def streams(self) -> int:
        """Return how many streams ran in one direction: as announced, else as connected, else as closed."""
        said = self.context.get("streams")
        if said:
            return int(said)
        closed = len({row.stream for row in self.rows} - {SUM})
        return max(1, (self.connected or closed) // (2 if self.both else 1))

    def wrong_intervals(self) -> list[Remark]:
        """Return, for each direction, that nothing moved in intervals, or that they contradict its closing lines."""
        rows = self._closing_rows()
        found = (
            wrong_intervals(
                intervals,
                [row.bandwidth_mb_s for row in rows],
                max((row.seconds for row in rows if row.way == way), default=0.0),
            )
            for (stream, way), intervals in self.intervals.items()
            if any((row.stream, row.way) == (stream, way) for row in rows)
        )
        return [remark for remark in found if remark is not None]

    def _closing_rows(self) -> list[Row]:
        """Return the closing lines of the run's sums, or of its one stream."""
        return [row for row in self.rows if row.stream == SUM] or (self.rows if self.streams() == 1 else [])

    def table(self) -> Table | None:
        """Return the run's table; None if it has no closing line, or several streams and no sum."""
        rows = self._closing_rows()
        if not rows:
            return None
        printed = self.retransmits or any(row.retransmits is not None for row in rows)
        received = {row.way for row in rows if row.role == "receiver"}
        context: dict[str, ContextValue] = {
            **self.context,
            "role": ", ".join(f"{row.way} {row.role}" if row.way else row.role for row in rows),
            **({"bidirectional": True} if any(row.way for row in rows) else {}),
            "streams": self.streams(),
            "interval": rows[0].seconds,
        }
        return Table(
            tool="iperf3",
            version=self.version,
            benchmark="iperf3",
            columns=("bandwidth", "retransmits") if printed else ("bandwidth",),
            units=("MB/s", None) if printed else ("MB/s",),
            rows=tuple((row.bandwidth_mb_s, row.retransmits)[: 2 if printed else 1] for row in rows),
            line=self.line,
            complete=not self.spoiled and (self.done or len(received) == (2 if self.both else 1)),
            context=MappingProxyType(context),
        )
