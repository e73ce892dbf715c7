"""Which ranks and threads suit HPL on a system's nodes, from the trial on one node, and where its file keeps them.

``HplLayout`` solves the same problem with one rank per core, per NUMA domain, per socket and per node. The best of them
is the default of `Hpl`: ``measure: benchmarks: hpl`` of systems/*.yaml.
"""

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railyard.base.errors import RailyardError
from railyard.base.terminal import table
from railyard.base.wording import number
from railyard.benchmarks.apps.hpl import say_split, splits
from railyard.benchmarks.table.applications import HPL, hpl_split
from railyard.hardware.node import NodeHardware
from railyard.results.record.form import Record

#: Splits whose rate is within this share of the best one are as good: of these, the one with the fewest ranks is taken,
#: since fewer ranks send less over the network. Two runs of HPL on one node differ by about as much.
ALIKE = 0.01
_MEASURE, _BENCHMARKS = re.compile(r"measure:\s*(?:#.*)?"), re.compile(r"(?P<in> +)benchmarks:\s*(?:#.*)?")
_HPL = re.compile(rf"(?P<in> +){HPL}:(?P<rest>.*)")


@dataclass(frozen=True, slots=True)
class Split:
    """One way to split a node's cores: its name ("socket"), ranks and threads, and each run's rate, in Gflop/s."""

    name: str
    ranks_per_node: int
    threads: int
    rates: tuple[float, ...]

    @property
    def gflop_s(self) -> float:
        """The median of its runs."""
        return statistics.median(self.rates)


def rank_splits(records: Iterable[Record], hardware: NodeHardware) -> tuple[Split, ...]:
    """Return the splits that good runs measured, the fastest first. Runs that failed or were not measured do not count.

    A split that the hardware no longer has, since somebody changed the system's file, does not count either.
    """
    known = splits(hardware)
    rates: dict[str, list[float]] = {}
    for record in records:
        name = hpl_split(record.test.benchmark)
        good = record.found.state in ("pass", "report-only") and record.no_measurement is None
        if not good or name is None or name not in known:
            continue
        rates.setdefault(name, []).extend(each.value for each in record.found.figures if each.name == "performance")
    found = [
        Split(name, known[name], hardware.cores // known[name], tuple(each)) for name, each in rates.items() if each
    ]
    return tuple(sorted(found, key=lambda each: -each.gflop_s))


def choose(found: Sequence[Split], system: str) -> Split:
    """Return the split to keep. Raises RailyardError if fewer than two were measured."""
    if len(found) < 2:
        raise RailyardError(
            f"found {len(found)} of at least two ways to split a node's cores among HPL's ranks in the stored runs; "
            f"measure them: railyard run --system {system} --extended -n HplLayout (nodes.hardware with sockets and "
            "numa_domains gives more of them)"
        )
    near = [each for each in found if each.gflop_s >= (1 - ALIKE) * found[0].gflop_s]
    return min(near, key=lambda each: each.ranks_per_node)


def text(found: Sequence[Split], kept: Split) -> str:
    """Return all splits as a table, and which one is kept and why."""
    best = found[0].gflop_s
    rows = [
        (f"per {each.name}", say_split(each.ranks_per_node, each.threads), number(each.gflop_s),
         f"{100 * each.gflop_s / best:.1f} %", str(len(each.rates)))
        for each in found
    ]  # fmt: skip
    lines = table(("a rank", "split", "Gflop/s", "of best", "runs"), rows, 100, right=(2, 3, 4))
    why = "the fastest" if kept is found[0] else f"within {100 * ALIKE:g} % of the fastest, with fewer ranks"
    return "\n".join([*lines, f"kept: a rank per {kept.name} ({why})"])


def keep(before: str, kept: Split, name: str) -> str:
    """Return a system's file with the split in it; the rest of the text stays as it is.

    Raises RailyardError if ``measure`` is there in a form in which nothing can be inserted line by line.
    """
    stated = f"{HPL}: {{ranks_per_node: {kept.ranks_per_node}, threads: {kept.threads}}}"
    lines = before.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith("measure:")), None)
    if start is None:
        return f"{before.rstrip(chr(10))}\nmeasure:\n  benchmarks:\n    {stated}\n"
    end = next((at for at in range(start + 1, len(lines)) if re.match(r"[^\s#]", lines[at])), len(lines))
    heads = [at for at in range(start + 1, end) if _BENCHMARKS.fullmatch(lines[at])]
    inside = any("benchmarks:" in line for line in lines[start:end])
    if not _MEASURE.fullmatch(lines[start]) or (inside and not heads):
        raise RailyardError(
            f"systems/{name}.yaml:{start + 1}: measure: found a form on one line, expected one line per field, so that "
            f"a line can be put into it; write this below measure: benchmarks: yourself: {stated}"
        )
    if not heads:
        lines[start + 1 : start + 1] = ["  benchmarks:", f"    {stated}"]
        return "\n".join(lines) + "\n"
    head = heads[0]
    indent = len(lines[head]) - len(lines[head].lstrip())
    there = next((at for at in range(head + 1, end) if _HPL.fullmatch(lines[at])), None)
    if there is None:
        lines.insert(head + 1, f"{' ' * (indent + 2)}{stated}")
    else:
        rest = _HPL.fullmatch(lines[there])
        assert rest is not None
        if not re.fullmatch(r"\s*\{[^{}#]*\}\s*", rest["rest"]) or re.search(r"\bnodes:", rest["rest"]):
            raise RailyardError(
                f"systems/{name}.yaml:{there + 1}: measure: benchmarks: {HPL}: found more than ranks and threads, "
                f"expected nothing else to be lost; write it yourself: {stated}"
            )
        lines[there] = f"{rest['in']}{stated}"
    return "\n".join(lines) + "\n"
