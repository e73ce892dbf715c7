"""Which share of a healthy run of the virtual cluster still passes: its bounds beside recorded runs.

    .venv/bin/python benchmarks/bounds.py --load idle --runs 5
    .venv/bin/python benchmarks/bounds.py --load busy --runs 5
    .venv/bin/python benchmarks/bounds.py --load busy --stored .railyard/runs/20261128T135431Z-c833
    .venv/bin/python benchmarks/bounds.py >benchmarks/results/bounds.md       # from what the file has so far

Loads are those of benchmarks/steadiness.py. Each run is one `railyard run` of the clone's own virtual cluster, without
a fault; ``--stored`` takes the records of a run that was made before. The curves of each are one line of the file
(``--file``, benchmarks/data/bounds.jsonl), written when the run has ended: an interrupted series goes on where it was.
The page compares them with the references as they are now, so change references/virtual.yaml and print it again.

What disturbs a machine only makes a value worse. So the best values show the rails, and the worst ones how much room
the bound must leave.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steadiness import CLONE, RAILYARD, run_folders, run_under

from railyard.base.wording import message_size, number
from railyard.benchmarks.model import Metric
from railyard.benchmarks.table.micro import metric
from railyard.results.record.file import FILE_NAME, read_records
from railyard.results.record.form import Record
from railyard.site.references.band import Band
from railyard.site.references.load import References, references_of
from railyard.site.systems.load import load_system
from railyard.site.test_id import TestId

#: A bound that a run at two thirds of a quiet one passes is none.
MOST_SHARE = 2 / 3
_HEAD = """\
# The bounds of the virtual cluster beside recorded runs

`benchmarks/bounds.py` makes this page from recorded runs without a fault and from `references/virtual.yaml` as it is;
change these, not this page. *Passes at*: the share of the best recorded value at which the bound still passes. A
bound that a run at two thirds of a quiet one passes is none, so a bound that passes less than 67 % needs a reason.
*Room*: how much better than its bound the worst recorded run was.
"""
_SMALL = """
## Small messages

How long these take depends on the processors more than on the rail. Their bounds find a delay, not a share: the best of
several sizes counts, and the bound is the smallest delay that surely fails.
"""


@dataclass(frozen=True, slots=True)
class Key:
    """One curve of one test of the matrix."""

    fabric: str
    stack: str
    rails: int
    benchmark: str
    metric: str
    policy: str


@dataclass(frozen=True, slots=True)
class BoundedBand:
    """A band of a curve at the size where it is tightest; ``values``: what the runs of each load gave there."""

    entry_id: str
    size_bytes: int
    bound: float
    values: Mapping[str, tuple[float, ...]]
    higher_is_better: bool
    best_of_sizes: bool

    @property
    def is_of_small(self) -> bool:
        """Whether it bounds the times of small messages."""
        return self.best_of_sizes and not self.higher_is_better

    @property
    def all_values(self) -> list[float]:
        """All recorded values, the worst first."""
        found = sorted(value for values in self.values.values() for value in values)
        return found if self.higher_is_better else found[::-1]

    @property
    def passes_at(self) -> float:
        """The smallest share of the best recorded run that the bound passes."""
        best = self.all_values[-1]
        return self.bound / best if self.higher_is_better else best / self.bound

    @property
    def room(self) -> float:
        """How much better than the bound the worst recorded value is, as a share of the bound."""
        worst = self.all_values[0]
        return worst / self.bound - 1 if self.higher_is_better else self.bound / worst - 1


def curves_of(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return the curves of records that passed and that references bound, each once."""
    return [
        {
            **{name: record.value(name) for name in ("fabric", "stack", "rails", "benchmark", "policy")},
            "metric": curve.metric,
            "sizes": curve.sizes,
            "values": [float(f"{value:.4g}") for value in curve.values],
        }
        for record in records
        if record.found.state == "pass"
        for curve in record.found.curves
        if curve.bands
    ]


def line_of(load: str, folder: Path, seconds: float | None) -> dict[str, Any]:
    """Return what is kept of one run."""
    records = {record.test.case: record for record in read_records(folder / FILE_NAME).records}
    states = [record.found.state for record in records.values()]
    return {
        "load": load,
        "run": folder.name,
        "seconds": seconds,
        "states": {state: states.count(state) for state in sorted(set(states))},
        "curves": curves_of(records.values()),
    }


def one_run(load: str) -> dict[str, Any]:
    """Return what is kept of a run that is made now. Raises SystemExit if it did not begin."""
    known = set(run_folders())
    done, seconds, _ = run_under(load, [*RAILYARD, "run", "--system", "virtual"])
    made = [folder for folder in run_folders() if folder not in known]
    if not made:
        sys.exit(f"the run did not begin:\n{done.stdout.decode()}{done.stderr.decode()}")
    return line_of(load, made[-1], round(seconds, 1))


def group_runs(lines: Iterable[dict[str, Any]]) -> dict[Key, list[tuple[str, dict[int, float]]]]:
    """Return for each curve of each test what each run gave: its load, and the value at each size."""
    found: dict[Key, list[tuple[str, dict[int, float]]]] = {}
    for line in lines:
        for one in line["curves"]:
            key = Key(*(one[name] for name in Key.__dataclass_fields__))
            found.setdefault(key, []).append((line["load"], dict(zip(one["sizes"], one["values"], strict=True))))
    return found


def bounds_of(references: References, key: Key, runs: list[tuple[str, dict[int, float]]]) -> list[BoundedBand]:
    """Return the tightest band that the references have for a curve now, compared with what the runs gave, and each
    band of small messages.
    """
    own = metric(key.benchmark, key.metric)
    test = TestId(key.fabric, key.stack, key.rails, key.benchmark, policy=key.policy)
    limit = references.system.fabrics[key.fabric].limit(key.rails, own.directions, policy=key.policy)
    bands = references.bands(test, own, limit.value_mb_s if limit and own.is_bandwidth else None)
    found = [one for band in bands if (one := _compare_runs(band, own, runs)) is not None]
    of_all = sorted((one for one in found if not one.is_of_small), key=lambda one: one.passes_at)
    return [*of_all[-1:], *(one for one in found if one.is_of_small)]


def _compare_runs(band: Band, own: Metric, runs: list[tuple[str, dict[int, float]]]) -> BoundedBand | None:
    higher = own.better == "higher"
    sizes = [size for size in runs[0][1] if band.bounds(size)]
    if not sizes:
        return None
    if band.best_of_sizes:  # any of them may be the best one of a run
        values = [(load, (max if higher else min)(curve[size] for size in sizes)) for load, curve in runs]
        return _bound_band(band, sizes[0], values, higher)
    of_sizes = [_bound_band(band, size, [(load, curve[size]) for load, curve in runs], higher) for size in sizes]
    return max(of_sizes, key=lambda one: one.passes_at)


def _bound_band(band: Band, size: int, values: list[tuple[str, float]], higher: bool) -> BoundedBand:
    bound = band.bound_at(size)
    assert bound is not None
    edge = bound.low if higher else bound.high
    assert edge is not None
    of_load = {load: tuple(v for at, v in values if at == load) for load in dict.fromkeys(at for at, _ in values)}
    return BoundedBand(band.entry_id, size, edge, of_load, higher, band.best_of_sizes)


def page(lines: list[dict[str, Any]], references: References) -> str:
    """Return the page: from which runs it is, a row per curve and its tightest bound, and those of small messages."""
    loads = sorted({line["load"] for line in lines})
    head = [
        f"| test | rails | bound | passes at | room | {' | '.join(f'{load}: worst, median, best' for load in loads)} |",
        f"|{' --- |' * (5 + len(loads))}",
    ]
    found = [
        (key, one)
        for key, runs in sorted(group_runs(lines).items(), key=lambda one: str(one[0]))
        for one in bounds_of(references, key, runs)
    ]
    large, small = ([_row(*one, loads) for one in found if one[1].is_of_small is way] for way in (False, True))
    counts = ", ".join(f"{sum(line['load'] == load for line in lines)} {load}" for load in loads)
    notes = {entry.id: entry.source.note for entry in references.entries}
    weak = dict.fromkeys(one.entry_id for _, one in found if one.passes_at < MOST_SHARE and not one.is_of_small)
    reasons = [f"- {entry_id}: {notes.get(entry_id) or 'no reason is given'}" for entry_id in weak]
    why = ["", "Why some pass less than 67 %:", "", *reasons] if reasons else []
    recorded = f"Recorded runs: {counts or 'none'}.\n"
    return "\n".join([_HEAD, recorded, *head, *large, *why, _SMALL, *head, *small])


def _row(key: Key, one: BoundedBand, loads: list[str]) -> str:
    unit = metric(key.benchmark, key.metric).unit
    side = "from" if one.higher_is_better else "to"
    at = f"{'the best size from ' if one.best_of_sizes else ''}{message_size(one.size_bytes)}"
    mark = "**" if one.passes_at < MOST_SHARE and not one.is_of_small else ""
    cells = (
        f"{key.benchmark}, {key.stack}, {key.fabric}",
        key.rails,
        f"{one.entry_id}: {side} {number(one.bound)} {unit} at {at}",
        f"{mark}{100 * one.passes_at:.0f} %{mark}",
        f"{100 * one.room:.0f} %",
        *(_three(one.values.get(load, ()), one.higher_is_better) for load in loads),
    )
    return f"| {' | '.join(map(str, cells))} |"


def _three(values: tuple[float, ...], higher: bool) -> str:
    if not values:
        return "–"
    falling = sorted(values, reverse=not higher)
    return ", ".join(map(number, (falling[0], statistics.median(values), falling[-1])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", choices=("idle", "busy", "bursts", "tests"))
    parser.add_argument("--runs", type=int, default=0, help="how many runs of this load to have in the file")
    parser.add_argument("--stored", type=Path, action="append", default=[], help="the folder of a run made before")
    parser.add_argument("--file", type=Path, default=CLONE / "benchmarks/data/bounds.jsonl")
    asked = parser.parse_args()
    if asked.load is None and (asked.runs or asked.stored):
        parser.error("--load: found none, expected the load under which the runs are, or were, made")
    lines = [json.loads(line) for line in asked.file.read_text().splitlines()] if asked.file.exists() else []
    for folder in asked.stored:
        lines.append(_read_kept(asked.file, line_of(asked.load, folder, None)))
    while sum(line["load"] == asked.load for line in lines) < asked.runs:
        lines.append(_read_kept(asked.file, one_run(asked.load)))
    print(page(lines, references_of(CLONE / "references", load_system(CLONE / "systems/virtual.yaml"))))


def _read_kept(file: Path, line: dict[str, Any]) -> dict[str, Any]:
    with file.open("a", encoding="utf-8") as opened:
        opened.write(f"{json.dumps(line, separators=(',', ':'))}\n")
    return line


if __name__ == "__main__":
    main()
