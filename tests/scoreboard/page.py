"""The scoreboard: docs/reference/scoreboard.md, made from the verdicts of all stored outputs.

``python -m tests.scoreboard.page`` writes it again, and `make docs` does so. Where the outputs are not beside the clone
the page stays as it is.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railyard.base.wording import count_of
from tests.scoreboard.verdicts import ROOT, SHARED, Entry, by_output, entries

PAGE = ROOT / "docs" / "reference" / "scoreboard.md"
#: The largest share of point-to-point outputs that may be left without a verdict.
MOST_NOT_JUDGED = 0.10
#: (file, benchmark) -> why a healthy output fails all the same, or a degraded one passes. Each must still do so.
EXCEPTIONS: Mapping[tuple[str, str | None], str] = {
    ("corpus/hpl/hplai_3080ti_PASSED.txt", "hpl/hpl_ai"): "it was posted as an excerpt, so its end is missing",
    ("recordings/hpcc1.5.0-hpccoutf-openmpi4.1.4-vcluster-4nodes-400mbit-hsn0.txt", "hpcc/Summary"): (
        "the bucket of a virtual rail lets the first bytes of a message pass at once, and HPC Challenge prints no size"
    ),
}
_WORDS = {
    "report-only": "pass",
    "not-judged": "not judged",
    "unknown-link": "no link",
    "no-benchmark": "no benchmark",
}
_JUDGED = ("pass", "report-only", "fail")
_INTRODUCTION = """\
# Scoreboard

What Railyard says of every output in its collection, each judged by the link that it ran on. The outputs are genuine:
from public places, from our virtual cluster, and from GPU clusters. They are not part of the repository, and this page
has none of their text. On which link an output ran, and whether the system was healthy, is in
`tests/scoreboard/links.tsv`, from the index of the collection; what that does not say is *unknown*. `make docs` makes
this page, and a test judges each output again.

- *healthy*: posted as a working system, and nobody names a fault. A healthy output that fails is a mistake of Railyard.
- *degraded*: the thread or the index names a fault. A degraded output that passes is a mistake of Railyard, too.
- *not judged* is not a pass: `railyard judge` ends with 1. *no link*: it is not known, or both ranks share a node.
- `railyard judge --each-file FOLDER --link …` does the same with a folder of yours.
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many outputs there are of a kind. An output fails if one of its benchmarks does.

    ``point_to_point`` counts benchmarks between two ranks, or pairs of ranks, in all outputs whose link is known.
    """

    healthy: int
    healthy_fail: tuple[Entry, ...]
    degraded: int
    degraded_pass: tuple[Entry, ...]
    point_to_point: int
    not_judged: int

    @property
    def share_not_judged(self) -> float:
        """The share of point-to-point outputs without a verdict."""
        return self.not_judged / self.point_to_point


def counts_of(all_entries: Sequence[Entry]) -> Counts:
    """Return the counts of these entries. Outputs without a benchmark count nowhere."""
    with_benchmark = [entry for entry in all_entries if entry.state != "no-benchmark"]
    healthy = by_output(entry for entry in with_benchmark if entry.row.condition == "healthy")
    degraded = by_output(entry for entry in with_benchmark if entry.row.condition == "degraded")
    between_two = [entry for entry in with_benchmark if entry.point_to_point and entry.state != "unknown-link"]
    return Counts(
        healthy=len(healthy),
        healthy_fail=tuple(entry for of in healthy.values() for entry in of if entry.state == "fail"),
        degraded=len(degraded),
        degraded_pass=tuple(of[0] for of in degraded.values() if _passes(of)),
        point_to_point=len(between_two),
        not_judged=sum(entry.state not in _JUDGED for entry in between_two),
    )


def _passes(of: Sequence[Entry]) -> bool:
    states = {entry.state for entry in of}
    return "fail" not in states and bool(states & {"pass", "report-only"})


def page(all_entries: Sequence[Entry]) -> str:
    """Return docs/reference/scoreboard.md of these entries."""
    counts = counts_of(all_entries)
    shown = [entry for entry in all_entries if entry.state != "no-benchmark"]
    rest = [entry for entry in all_entries if entry.state == "no-benchmark"]
    return "\n".join(
        [
            _INTRODUCTION,
            *_count_lines(counts),
            "",
            "| output | benchmark | ran on | condition | Railyard | why |",
            "| --- | --- | --- | --- | --- | --- |",
            *map(_line, shown),
            "",
            "## Outputs without a benchmark",
            "",
            "They are states of ports, words of schedulers, or outputs of programs that Railyard does not read.",
            "",
            *_rest_lines(rest),
            "",
        ]
    )


def _count_lines(counts: Counts) -> Iterator[str]:
    excepted = [key for key in EXCEPTIONS if key in {(e.file, e.benchmark) for e in counts.healthy_fail}]
    yield "| | outputs | of them | goal |"
    yield "| --- | --- | --- | --- |"
    explained = f", {len(excepted)} of them explained below" if excepted else ""
    yield f"| healthy | {counts.healthy} | {len(by_output(counts.healthy_fail))} fail{explained} | 0 |"
    yield f"| degraded | {counts.degraded} | {len(counts.degraded_pass)} pass | 0 |"
    share = f"{counts.not_judged} not judged ({counts.share_not_judged:.1%})"
    goal = f"under {MOST_NOT_JUDGED:.0%}"
    yield f"| point-to-point tables with a known link | {counts.point_to_point} | {share} | {goal} |"
    if EXCEPTIONS:
        yield ""
        yield "Explained:"
        yield ""
        for (file, benchmark), why in EXCEPTIONS.items():
            yield f"- `{file}`, {benchmark or 'no benchmark'}: {why}."


def _line(entry: Entry) -> str:
    row = entry.row
    where = row.link if row.rails == 1 else f"{row.link}, {count_of(row.rails, 'rail')}"
    where = f"{where}, {row.slot}" if row.slot else where
    where = f"{where}, GPUs" if row.memory == "gpu" else where
    where = f"{where}, TCP" if row.transport == "tcp" and row.link != "unknown" else where
    name = f"`{entry.file}`" + (f" (tables {row.tables})" if row.tables else "")
    name = f"{name} ({entry.files} files)" if entry.files > 1 else name
    word = _WORDS.get(entry.state, entry.state)
    cells = (
        *(name, entry.benchmark or "–", where, f"{row.condition}: {row.reason}"),
        *(f"**{word}**" if entry.state in _JUDGED else word, entry.why),
    )
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _rest_lines(rest: Iterable[Entry]) -> Iterator[str]:
    """Yield a line for each row of the table, with the number of its files."""
    made: dict[str, list[Entry]] = {}
    for entry in rest:
        made.setdefault(entry.row.file, []).append(entry)
    for file, of in made.items():
        count = f" ({len(of)} files)" if len(of) > 1 else ""
        yield f"- `{file}`{count}: {of[0].row.condition}: {of[0].row.reason}"


if __name__ == "__main__":
    if SHARED.is_dir():
        PAGE.write_text(page(entries()), encoding="utf-8")
    else:
        sys.stderr.write(
            f"{PAGE.name} stays as it is: there is no {SHARED.name} folder with outputs beside the clone\n"
        )
