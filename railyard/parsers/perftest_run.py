"""One run of perftest while its console is read: its title, its rows, and its table."""

from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers import perftest_formats as formats
from railyard.parsers.lines import decimals
from railyard.parsers.parsed import REPORTS, Cell, ContextValue, Table
from railyard.parsers.perftest_device import with_memory
from railyard.parsers.perftest_formats import Heading


@dataclass(slots=True)
class Title:
    """A title and the settings below it, until a heading takes it."""

    line: int
    benchmark: str | None = None
    context: dict[str, ContextValue] = field(default_factory=dict)


@dataclass(slots=True)
class Run:
    """One table while it is read."""

    line: int
    heads: tuple[Heading, ...]
    again: str | None  # its run prints this heading again: "" after -H or -U, "local" or "remote" results
    title: Title | None = None
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    part: list[str] = field(default_factory=list)  # a row's first half, if a mailer wrapped the line
    decimals: list[int] = field(default_factory=list)  # of each time of its rows
    spoiled: bool = False
    closed: bool = False

    def follows(self, words: list[str]) -> bool:
        """Return whether there is one word per column, and the size is above the last row's."""
        if len(words) != len(self.heads) or not self.rows:
            return len(words) == len(self.heads)
        return words[0].isdecimal() and int(words[0][:24]) > (self.rows[-1][0] or 0)

    def has_form(self, words: list[str]) -> bool:
        """Return whether these times have as many decimals as in the rows before; small rates are printed with more."""
        found = [decimals(word) for head, word in zip(self.heads, words, strict=True) if head.unit == "us"]
        self.decimals = self.decimals or found
        return found == self.decimals

    def has_reports(self, asked: bool) -> bool:
        """Return whether its rows are the reports of ``--run_infinitely``, which no rule ends; ``asked``: the text has
        this option, else two rows show it.

        Such a run has one size, measures no peak (it prints 0.00), and prints a row each time ``-D`` (5 s) is over,
        until it is killed. Source: linux-rdma/perftest, src/perftest_parameters.c, force_dependencies, and
        src/perftest_resources.c, catch_alarm_infintely.
        """
        columns = [head.column for head in self.heads]
        if self.closed or self.again is not None or len(self.rows) < (1 if asked else 2):
            return False
        if "sl" in columns or "bandwidth_peak" not in columns or len({row[0] for row in self.rows}) != 1:
            return False
        peak = columns.index("bandwidth_peak")
        return all(row[peak] == 0 for row in self.rows)

    def table(self, asked: bool = False) -> Table:
        """Return what was read, under the name of its run; ``asked``: the text has ``--run_infinitely``."""
        title, reports = self.title or Title(self.line), self.has_reports(asked)
        said = formats.in_gbits(self.heads) | ({"results": self.again} if self.again else {})
        said |= {REPORTS: not self.spoiled and not self.part} if reports else {}
        return Table(
            tool="perftest",
            version=None,
            benchmark=formats.executable(title.benchmark, title.context),
            columns=tuple(head.column for head in self.heads),
            units=tuple(head.unit for head in self.heads),
            rows=tuple(self.rows),
            line=title.line if self.again is None else self.line,
            complete=self.closed and not self.spoiled and not self.part,
            context=MappingProxyType(with_memory(title.context) | said),
        )
