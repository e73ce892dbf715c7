"""The figures of ucx_perftest: the columns that a heading names, the rows below it, and the size that they give.

Source: print_header and print_progress of src/tools/perf/perftest.c (UCX 1.8) and perftest_run.c (1.18), and
ucx_perf_calc_result of lib/libperf.c (openucx/ucx).
"""

import math
import re
from dataclasses import dataclass
from typing import Literal

from railyard.parsers.lines import BINARY_MB, number
from railyard.parsers.output import Cell

Form = Literal["old", "stage", "test"]

_NAMES = ["average", "overall"] * 3
# 50.0%ile
_PERCENTILE = re.compile(r"(?P<rank>[0-9]{1,3})(?P<rest>\.[0-9])%ile")
_WHOLE = "[0-9]{1,18}|[0-9]{1,3}(?:,[0-9]{3}){1,6}"
# Final:                  1000      0.240  1675.942  1671.351    46615.58   46743.62         597         598
ROW = re.compile(
    rf"^(?P<before>\S{{1,200}}\s|\s*)\s*(?P<iterations>{_WHOLE})(?P<times>(?:\s+[0-9]{{1,12}}\.[0-9]{{3}}){{3}})"
    rf"(?P<rates>(?:\s+[0-9]{{1,12}}\.[0-9]{{2}}){{2}})(?P<counts>(?:\s+(?:{_WHOLE})){{2}})(?:\s{{2,}}\S.{{0,500}})?$"
)
# The same of several threads: Final:    2000000                     0.412     37.01                4850211
THREADS = re.compile(
    rf"^(?P<before>Final:)\s+(?P<iterations>{_WHOLE})\s+(?P<time>[0-9]{{1,12}}\.[0-9]{{3}})"
    rf"\s+(?P<rate>[0-9]{{1,12}}\.[0-9]{{2}})\s+(?P<count>{_WHOLE})$"
)


@dataclass(frozen=True, slots=True)
class Heading:
    """The two lines that name the columns."""

    line: int
    form: Form
    time: str  # latency or overhead
    percentile: str  # the column's name

    @property
    def columns(self) -> tuple[str, ...]:
        return (
            *("iterations", self.percentile, f"{self.time}_average", self.time),
            *("bandwidth_average", "bandwidth", "message_rate_average", "message_rate"),
        )

    @property
    def columns_of_threads(self) -> tuple[str, ...]:
        return ("iterations", f"thread_{self.time}", "bandwidth", "message_rate")


def heading_of(line: int, time: str | None, named: list[str]) -> Heading | None:
    """Return the heading of a line's cells; None if they are not those of a known release."""
    form: Form = "old"
    if named[0] in ("Stage", "Test"):
        form = "stage" if named[0] == "Stage" else "test"
        named = named[1:]
    if time is None or len(named) != 8 or named[0] != "# iterations" or named[2:] != _NAMES:
        return None
    if named[1] == "typical":
        return Heading(line, form, time, f"{time}_typical")
    rank = _PERCENTILE.fullmatch(named[1])
    if rank is None:
        return None
    return Heading(line, form, time, f"{time}_{rank['rank']}{rank['rest'].removesuffix('.0')}")


def cells_of(found: re.Match[str]) -> tuple[Cell, ...]:
    times = [float(word) for word in found["times"].split()]
    rates = [float(word) * BINARY_MB for word in found["rates"].split()]
    return (_count(found["iterations"]), *times, *rates, *map(_count, found["counts"].split()))


def cells_of_threads(found: re.Match[str]) -> tuple[Cell, ...]:
    """Return a row of the figures that several threads have together."""
    rate = float(found["rate"]) * BINARY_MB
    return (_count(found["iterations"]), float(found["time"]), rate, _count(found["count"]))


def _count(word: str) -> int | None:
    value = number(word.replace(",", ""))
    return value if isinstance(value, int) else None


def _overall_figures(cells: tuple[Cell, ...]) -> tuple[float, float, float]:
    """Return time, bandwidth and message rate of a row over the whole run."""
    time, rate, count = (cells[3], cells[5], cells[7]) if len(cells) > 4 else cells[1:]
    return float(time or 0), float(rate or 0) / BINARY_MB, float(count or 0)


def agree(cells: tuple[Cell, ...]) -> bool:
    """Return whether time and message rate of a row are each other's reciprocal: a rate that lost digits is not.

    The rate of several threads is their sum, and the time their mean, so the product is their number.
    """
    time, _, rate = _overall_figures(cells)
    product = time * rate * 1e-6
    coarse = 0.02 + 0.0005 / max(time, 0.001) + 0.51e-6 * time  # by the digits that are not printed
    wanted = 1 if len(cells) > 4 else max(1, round(product))
    return abs(product - wanted) <= coarse * wanted


def size_of(cells: tuple[Cell, ...], stated: int | None) -> int | None:
    """Return the bytes of a message that give the printed figures: the stated ones, or the roundest that do.

    Their digits leave a range of sizes: a bandwidth has two decimals (MiB/s), a rate none, a time three. If the range
    is wider than 0.2 %, nothing is returned; the roundest size in it is the one with the largest power of 2 or 10.
    """
    time, bandwidth, rate = _overall_figures(cells)
    slow, fast = (bandwidth - 0.0051) * 2**20, (bandwidth + 0.0051) * 2**20
    least, most = slow / (rate + 0.51), fast / max(rate - 0.51, 0.1)
    if len(cells) > 4:  # of one thread
        least, most = max(least, slow * (time - 0.00051) * 1e-6), min(most, fast * (time + 0.00051) * 1e-6)
    if stated is not None and least <= stated <= most:
        return stated
    if least <= 0 or most < math.ceil(least) or (most - least > 0.002 * least and math.floor(most) > math.ceil(least)):
        return None
    steps = sorted((base**power for base in (2, 10) for power in range(64) if base**power <= most), reverse=True)
    return next((math.floor(most / step) * step for step in steps if math.floor(most / step) * step >= least), None)
