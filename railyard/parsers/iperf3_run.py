"""One run of iperf3 while it is read, from its console or its JSON, and its table."""

from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.parsed import ContextValue, Table

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

    def streams(self) -> int:
        """Return how many streams ran in one direction: as announced, else as connected, else as closed."""
        said = self.context.get("streams")
        if said:
            return int(said)
        closed = len({row.stream for row in self.rows} - {SUM})
        return max(1, (self.connected or closed) // (2 if self.both else 1))

    def table(self) -> Table | None:
        """Return the run's table; None if it has no closing line, or several streams and no sum."""
        rows = [row for row in self.rows if row.stream == SUM] or (self.rows if self.streams() == 1 else [])
        if not rows:
            return None
        printed = self.retransmits or any(row.retransmits is not None for row in rows)
        received = {row.way for row in rows if row.role == "receiver"}
        context: dict[str, ContextValue] = {
            **self.context,
            "role": ", ".join(f"{row.way} {row.role}" if row.way else row.role for row in rows),
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
