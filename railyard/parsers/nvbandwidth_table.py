"""One matrix of nvbandwidth while it is read, from its console or its JSON, and its table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from railyard.parsers.lines import decimals, not_a_number, number
from railyard.parsers.output import Cell, ContextValue, Table


class Unit(NamedTuple):
    """What a matrix holds: the column's name, its unit here, and the factor that converts the printed unit."""

    column: str
    name: str
    factor: float


_UNITS = MappingProxyType({"GB/s": Unit("bandwidth", "MB/s", 1000.0), "ns": Unit("latency", "us", 0.001)})


def unit_of(printed: str) -> Unit | None:
    """Return what a matrix of this printed unit holds; None for a unit that nvbandwidth does not have."""
    return _UNITS.get(printed)


@dataclass(slots=True)
class Matrix:
    """One matrix: ``columns`` is how many it has, 0 before its head is read; ``rows`` is how many rows were read."""

    line: int
    test: str
    description: str
    unit: Unit
    columns: int = 0
    rows: int = 0
    cells: list[tuple[Cell, ...]] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    absent: int = 0
    spoiled: bool = False

    def add(self, words: Sequence[str]) -> list[str]:
        """Take one row of numbers and "N/A"; return the values that are not finite."""
        wrong = []
        for column, word in enumerate(words):
            value = number(word)
            if value is not None:
                self.cells.append((self.rows, column, float(value) * self.unit.factor))
                self.printed.append(word)
            elif not_a_number(word):
                self.spoiled = True
                wrong.append(f"{self.unit.column} {word} in row {self.rows} and column {column} of {self.test}")
            else:
                self.absent += 1
        self.rows += 1
        return wrong

    def differs(self, printed: str, test: str) -> str | None:
        """Return a sentence if the printed sum is not the sum of the numbers that were read; None if it is."""
        total = number(printed)
        if test != self.test:
            return f"the sum is of {test}, but the matrix above it is of {self.test}: lines are missing or mixed"
        if total is None:
            return f"not finite: the sum {printed} of {test}"
        found = math.fsum(float(word) for word in self.printed)
        rounding = math.fsum(0.5 * 10.0 ** -decimals(word) for word in (*self.printed, printed))
        if abs(found - total) <= rounding * 1.001 + 1e-6 * abs(total):
            return None
        return f"the sum of {test} is printed as {printed}, but the numbers above it give {found:.2f}: some are missing"

    def table(self, version: str | None, ended: bool, context: dict[str, ContextValue]) -> Table:
        """Return the table of all numbers; a matrix without numbers gives no rows."""
        said: dict[str, ContextValue] = {"description": self.description, "rows": self.rows, "columns": self.columns}
        if self.absent:
            said["not_available"] = self.absent
        return Table(
            tool="nvbandwidth",
            version=version,
            benchmark=self.test,
            columns=("row", "column", self.unit.column),
            units=(None, None, self.unit.name),
            rows=tuple(self.cells),
            line=self.line,
            complete=ended and not self.spoiled,
            context=MappingProxyType(said | context),
        )
