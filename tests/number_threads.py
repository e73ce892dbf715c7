"""Is my number right? Figures of public issue threads, judged, beside what the maintainers of the tool answered.

The rows are in tests/number_threads.yaml. ``log`` writes a row's figures in the form of nccl-tests. What a thread does
not give (in-place figures, names of hosts) repeats other figures or is a plain name. ``python -m tests.number_threads``
prints docs/reference/is-my-number-right.md, which `make docs` writes again.
"""

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml
from click.testing import CliRunner

from railyard.cli.commands.judge import command
from tests.made.nccl_output import ranks_of, rows_of

ROWS = Path(__file__).with_suffix(".yaml")
#: What maintainers said about a number, in the words of the page.
THEIRS = {
    "fine": "right",
    "low": "too low",
    "explained": "looks wrong, is right",
    "wrong-run": "no such run",
    "more-needed": "not enough to tell",
    "no-answer": "no answer",
}
#: The state of Railyard that agrees with each; a number that is not judged contradicts nobody.
_AGREES = {"fine": "pass", "low": "fail", "explained": "pass", "wrong-run": "fail", "more-needed": "not-judged"}

State = Literal["pass", "fail", "not-judged"]


@dataclass(frozen=True, slots=True)
class Row:
    """One number of a thread; ``table`` is size in bytes -> busbw in GB/s (10^9 B/s), empty if it only has a mean.

    ``theirs`` is a key of ``THEIRS``. ``size_not_told``: the thread gives its largest value without the size, and the
    size in the table is one of the run's long messages. ``says``: literal parts of what Railyard says. ``differ``: why
    Railyard disagrees with the maintainers, or nothing.
    """

    id: str
    thread: str
    setup: str
    nodes_have: str
    nodes: int
    theirs: str
    answer: str
    says: Sequence[str]
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
            raise ValueError(
                f"{ROWS.name}: {self.id}: expected theirs of {', '.join(THEIRS)}, and a table or an average"
            )

    @property
    def number(self) -> str:
        """The largest busbw with its size, as the page shows it."""
        if self.average is not None:
            return f"{self.average:g}, a mean"
        size = max(self.table, key=lambda each: self.table[each])
        told = "" if self.size_not_told else f" at {_size(size)}"
        return (
            f"{self.table[size]:g}{told}"
            if self.collective == "all_reduce"
            else (f"{self.table[size]:g}{told}, {self.collective}")
        )

    @property
    def link(self) -> str:
        """The thread, as Markdown."""
        repository, issue = self.thread.split()
        return f"[{repository.partition('/')[2]} {issue}](https://github.com/{repository}/issues/{issue})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `railyard judge` said about a row: the state, all that it printed, and its exit code."""

    state: State
    text: str
    exit_code: int


def rows() -> tuple[Row, ...]:
    """Return the rows of the file. Raises ValueError and TypeError if it cannot be read."""
    return tuple(_row(given) for given in yaml.safe_load(ROWS.read_text(encoding="utf-8"))["rows"])


def _row(given: dict[str, Any]) -> Row:
    words = {key.replace("-", "_"): value for key, value in given.items()}
    table = {_bytes(size): float(value) for size, value in words.pop("table", {}).items()}
    return Row(class_=words.pop("class", None), table=table, **words)


def _bytes(size: str | int) -> int:
    text = str(size)
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]] if text[-1] in "KMG" else int(text)


def _size(size: int) -> str:
    for unit, bits in (("GiB", 30), ("MiB", 20)):
        if size % (1 << bits) == 0:
            return f"{size >> bits} {unit}"
    return f"{size / 1e6:.0f} MB"


def log(row: Row) -> str:
    """Return the figures of a row as nccl-tests prints them, or several jobs of one node if the thread had those.

    The line with the settings is left out, since threads show only some of the sizes.
    """
    if row.average is not None:
        return f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {row.average:g}\n#\n"
    hosts = [f"node{number:03}" for number in range(row.nodes)]
    each = row.nodes // row.jobs
    return "".join(_job(row, hosts[first : first + each]) for first in range(0, row.nodes, each))


def _job(row: Row, hosts: list[str]) -> str:
    every = int(row.nodes_have.partition("gpus=")[2].partition(",")[0])
    gpus = every if row.gpus is None else row.gpus
    said = f"{hosts[0]}:4000:4000 [0] NCCL INFO NCCL_ALGO set by environment to {row.algorithm}\n"
    return (
        f"# Collective test starting: {row.collective}_perf\n{ranks_of(hosts, gpus, row.gpu)}"
        f"{'' if row.algorithm is None else said}"
        f"{rows_of(row.collective, len(hosts) * gpus, row.table)}# Collective test concluded: {row.collective}_perf\n"
    )


def judge_row(row: Row) -> Verdict:
    """Return what the command says about a row's figures. Raises what the command raises."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{row.id}.log")
        file.write_text(log(row), encoding="utf-8")
        words = [str(file), "--why", "--nodes-have", row.nodes_have, *(["--class", row.class_] if row.class_ else [])]
        text = CliRunner().invoke(command, words, standalone_mode=False, catch_exceptions=False)
        values = CliRunner().invoke(command, [*words, "--json"], standalone_mode=False, catch_exceptions=False)
    return Verdict(json.loads(values.output)["state"], text.output, text.return_value)


def agreement(row: Row, verdict: Verdict) -> str:
    """Return whether Railyard and the maintainers agree: yes, no, or that one of them does not say."""
    if row.theirs == "no-answer":
        return "nothing to compare"
    if verdict.state == _AGREES[row.theirs] or (row.theirs == "more-needed" and "rule 1 (complete)" in verdict.text):
        return "yes"
    return "does not tell" if verdict.state == "not-judged" else "no"


_HEAD = """\
# Is my number right?

People ask this in the issues of NCCL and nccl-tests, and the maintainers answer by hand. This page has numbers from
such threads, what `railyard judge FILE --nodes-have …` ([GPUs](../howto/gpus.md)) says of them, and what the
maintainers said. `make docs` makes it from `tests/number_threads.yaml`; change that file, not this page. A test judges
each row again.

- Figures and facts are from the threads, the words are ours. Read the thread before you rely on a row.
- We wrote the figures in the form of an nccl-tests output. If a thread gives a number without its size, the row has no
  size, and the number is judged as one of long messages. If it does not name the algorithm, neither does the output.
- *fail* is a number that healthy nodes do not show, or an output that is no such run. *pass* is a possible number that
  reaches the floor of healthy nodes or is among published ones. *not judged* says why. `railyard judge` exits with 0
  for *pass*.
- One number without a log of NCCL proves no cause. "looks like" names what Railyard calls likely.
- The row of nccl 1272 with NCCL 2.20 is compared with a number that is published in the same thread.
- We did not read pictures and attached logs of the threads. Threads that have figures only there have no row
  (nccl-tests 267, 367 and 389, for example).
"""


def page(found: Iterable[tuple[Row, Verdict]]) -> str:
    """Return docs/reference/is-my-number-right.md from rows and their judgements."""
    pairs = list(found)
    lines = [
        _HEAD,
        "\n| thread | setup | busbw, GB/s | Railyard | the maintainers | agree |\n",
        "| --- | --- | --- | --- | --- | --- |\n",
    ]
    for row, verdict in pairs:
        said = f"**{verdict.state.replace('-', ' ')}**: {'; '.join(row.says)}"
        answer = f"{THEIRS[row.theirs]}: {row.answer}"
        cells = (row.link, row.setup, row.number, said, answer, agreement(row, verdict))
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n")
    return "".join([*lines, *_summary(pairs)])


def _summary(pairs: list[tuple[Row, Verdict]]) -> list[str]:
    counts: dict[str, int] = {}
    for row, verdict in pairs:
        counts[agreement(row, verdict)] = counts.get(agreement(row, verdict), 0) + 1
    told = ", ".join(f"*{word}* {count}" for word, count in sorted(counts.items(), key=lambda each: -each[1]))
    threads = len({row.thread for row, _ in pairs})
    lines = [f"\n{len(pairs)} numbers of {threads} threads, and whether both agree: {told}.\n"]
    differing = [row for row, _ in pairs if row.differ]
    if differing:
        lines.append("\n## Where they do not agree, or Railyard does not tell\n\n")
        lines += [f"- {row.link}, {row.number}: {row.differ}\n" for row in differing]
    return lines


if __name__ == "__main__":
    print(page((row, judge_row(row)) for row in rows()), end="")
