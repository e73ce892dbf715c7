"""Is my number right? Figures that people showed in public issue threads, judged, beside what maintainers answered.

The rows are tests/number_threads.yaml. ``log`` writes a row's figures in the form of nccl-tests 2.17 for `railyard
judge`: what a thread does not tell (the figures in place, host names) repeats what it tells or is a plain name.
``python -m tests.number_threads`` prints docs/is-my-number-right.md, which `make docs` writes anew.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from railyard.benchmarks.gpu.collectives import collective

ROWS = Path(__file__).with_suffix(".yaml")
#: What maintainers said of a number, in the words of the page.
THEIRS = {
    "fine": "right",
    "low": "too low",
    "explained": "looks wrong, is right",
    "wrong-run": "no such run",
    "no-answer": "no answer",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One number of a thread; ``table`` is size in bytes -> busbw in GB/s (10^9 B/s), empty where it has a mean alone.

    ``theirs`` is a key of ``THEIRS``. ``size_not_told``: the thread gives the largest value without its size, and the
    size in the table is the largest of the run, or one that is long enough. ``differ``: why Railyard says otherwise.
    """

    id: str
    thread: str
    setup: str
    nodes_have: str
    nodes: int
    theirs: str
    answer: str
    table: Mapping[int, float] = field(default_factory=dict)
    average: float | None = None
    collective: str = "all_reduce"
    gpus: int | None = None
    algorithm: str | None = None
    class_: str | None = None
    gpu: str = "GPU"
    jobs: int = 1
    size_not_told: bool = False
    differ: str = ""

    def __post_init__(self) -> None:
        if self.theirs not in THEIRS or bool(self.table) == (self.average is not None):
            raise ValueError(f"{ROWS.name}: {self.id}: found {self.theirs}, a table or an average; expected {THEIRS}")

    @property
    def ranks_a_node(self) -> int:
        """How many GPUs of each node took part."""
        every = int(self.nodes_have.partition("gpus=")[2].partition(",")[0])
        return every if self.gpus is None else self.gpus

    @property
    def number(self) -> str:
        """The largest busbw as the page shows it."""
        if self.average is not None:
            return f"{self.average:g} (mean)"
        return f"{max(self.table.values()):g}"

    @property
    def address(self) -> str:
        """Where the thread is."""
        repository, issue = self.thread.split()
        return f"https://github.com/{repository}/issues/{issue}"


def rows() -> tuple[Row, ...]:
    """Return the rows of the file. Raises ValueError and TypeError for one that cannot be read."""
    return tuple(_row(given) for given in yaml.safe_load(ROWS.read_text(encoding="utf-8"))["rows"])


def _row(given: dict[str, Any]) -> Row:
    words = {key.replace("-", "_"): value for key, value in given.items()}
    table = {_bytes(size): float(value) for size, value in words.pop("table", {}).items()}
    return Row(class_=words.pop("class", None), table=table, **words)


def _bytes(size: str | int) -> int:
    text = str(size)
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]] if text[-1] in "KMG" else int(text)


_HEADING = (
    "#\n"
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw"
    "  #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n"
)


def log(row: Row) -> str:
    """Return the figures of a row as nccl-tests prints them; several jobs of one node each where it had those.

    Where a thread shows some of the sizes alone, the line that says which were asked for is left out.
    """
    if row.average is not None:
        return _mean(row.average)
    if row.jobs > 1:
        each = row.nodes // row.jobs
        return "".join(_job(row, range(first, first + each)) for first in range(0, row.nodes, each))
    return _job(row, range(row.nodes))


def _job(row: Row, nodes: Sequence[int]) -> str:
    sizes = sorted(row.table)
    ranks = [(node, gpu) for node in nodes for gpu in range(row.ranks_a_node)]
    lines = [f"# Collective test starting: {row.collective}_perf\n"]
    if all(later == 2 * size for size, later in zip(sizes, sizes[1:])):
        lines.append(
            f"# nThread 1 nGpus 1 minBytes {sizes[0]} maxBytes {sizes[-1]} step: 2(factor) warmup iters: 5 iters: 20 "
            "agg iters: 1 validation: 1 graph: 0\n"
        )
    lines.append("#\n# Using devices\n")
    for rank, (node, gpu) in enumerate(ranks):
        lines.append(f"#  Rank {rank:2} Group  0 Pid {1000 + rank:6} on node{node:03} device {gpu:2} [{gpu:#04x}] {row.gpu}\n")
    if row.algorithm is not None:
        lines.append(f"node000:1000:1000 [0] NCCL INFO NCCL_ALGO set by environment to {row.algorithm.upper()}\n")
    lines.append(_HEADING)
    lines += _table(row, len(ranks))
    lines.append(_mean(sum(row.table.values()) / len(row.table)))
    lines.append(f"# Collective test concluded: {row.collective}_perf\n")
    return "".join(lines)


def _mean(value: float) -> str:
    return f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {value:g}\n#\n"


def _table(row: Row, ranks: int) -> Iterator[str]:
    factor = collective(row.collective).factor(ranks)
    for size, busbw in sorted(row.table.items()):
        # of one rank busbw is 0 whatever it took
        algbw = busbw / factor if factor else 1000.0
        figures = f"{size / algbw / 1000:8.5g} {algbw:7.2f} {busbw:7.2f}"
        yield f"{size:12} {size // 4:13}     float     sum      -1 {figures}       0 {figures}       0\n"
