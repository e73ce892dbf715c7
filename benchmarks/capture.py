"""How often a healthy run would fail a captured reference: a simulation with measured spreads.

    .venv/bin/python benchmarks/capture.py [--home SITE] [--system virtual] [--captures 300] [--runs 300] [--seed 1]
    .venv/bin/python benchmarks/capture.py --made [--captures 300] [--runs 300] [--seed 1]

For each test in the stored runs of a system (five or more), the repeats give medians, the standard deviation of the
logarithm at each size, and how sizes vary together. From these, runs are drawn: log-normal, and heavy-tailed (the
logarithm has Student's t with 5 degrees of freedom and the same standard deviation), rounded to two decimals as tools
print. `railyard.results.repeats` makes each capture from 5, 10 or 20 drawn runs, and `--runs` new runs are
compared with it. It prints the share of new runs that leave the reference at any asserted size, for each kind and
number of repeats, over all tests, for the worst test, and the tolerance. Then each stored run is compared with a
capture of all others: a run that is the only one of its kind fails there, since nothing of its kind was captured.

``--made`` uses spreads of 0.3, 0.6 and 1 % at six sizes in place of stored runs: once each size by itself, and once
with seven tenths of the variance in common.
"""

import argparse
import math
import random
import statistics
from collections.abc import Sequence
from pathlib import Path

from railyard.results.repeats import Group, Spread, choose_records, spread
from railyard.results.store import query
from railyard.site.references.model import HIGHER_IS_BETTER

HEAVY_DEGREES = 5
MADE_SIZES = tuple(1 << power for power in range(12, 24, 2))
MADE_SPREADS = (0.003, 0.006, 0.01)
#: The share of the variance that all sizes of a run have in common.
MADE_COMMON = (0.0, 0.7)
MADE_MB_S = 47.0

#: A curve to draw from: its metric, its medians, and vectors whose weighted sums have its covariance.
_Source = tuple[str, dict[int, float], list[list[float]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, default=Path.cwd())
    parser.add_argument("--system", default="virtual")
    parser.add_argument("--captures", type=int, default=300)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--made", action="store_true")
    asked = parser.parse_args()
    if asked.made:
        for common in MADE_COMMON:
            for share in MADE_SPREADS:
                print(f"made: spread {100 * share:g} %, of its variance {100 * common:.0f} % in common")
                _simulations([_make_source(share, common)], asked)
        return
    groups, _ = choose_records(query.records(asked.home, query.RecordFilter(system=asked.system)).records, replace=True)
    tests = [_columns(group, metric) for group in groups if len(group.records) >= 5 for metric in _metrics(group)]
    print(f"{len(tests)} curves of {len(groups)} tests, {max(len(next(iter(c.values()))) for _, c in tests)} runs each")
    _simulations([(metric, *_factors(columns)) for metric, columns in tests], asked)
    _leave_one_out(tests)


def _simulations(sources: Sequence[_Source], asked: argparse.Namespace) -> None:
    for kind in ("log-normal", "heavy-tailed"):
        for repeats in (5, 10, 20):
            _simulate(sources, kind, repeats, asked.captures, asked.runs, random.Random(asked.seed))


def _make_source(share: float, common: float) -> _Source:
    own = share * math.sqrt(1 - common)
    vectors = [[own if at == place else 0.0 for at in range(len(MADE_SIZES))] for place in range(len(MADE_SIZES))]
    return "bandwidth", dict.fromkeys(MADE_SIZES, MADE_MB_S), [*vectors, [share * math.sqrt(common)] * len(MADE_SIZES)]


def _metrics(group: Group) -> list[str]:
    names = {curve.metric for record in group.records for curve in record.found.curves}
    return sorted(names - ({"message_rate"} if "bandwidth" in names else set()))


def _columns(group: Group, metric: str) -> tuple[str, dict[int, list[float]]]:
    curves = [next(curve for curve in record.found.curves if curve.metric == metric) for record in group.records]
    sizes = set(curves[0].sizes).intersection(*(curve.sizes for curve in curves))
    columns = {size: [curve.values[curve.sizes.index(size)] for curve in curves] for size in sorted(sizes)}
    return metric, {size: values for size, values in columns.items() if min(values) > 0}


def _factors(columns: dict[int, list[float]]) -> tuple[dict[int, float], list[list[float]]]:
    """Return the medians, and repeats as vectors whose weighted sums have the measured covariance."""
    medians = {size: statistics.median(values) for size, values in columns.items()}
    logs = {size: list(map(math.log, values)) for size, values in columns.items()}
    count = len(next(iter(columns.values())))
    vectors = [
        [(each[place] - statistics.fmean(each)) / math.sqrt(count - 1) for each in logs.values()]
        for place in range(count)
    ]
    return medians, vectors


def _draw_factors(vectors: Sequence[Sequence[float]], kind: str, chance: random.Random) -> list[float]:
    """Return the factor by which one run differs from the median, at each size."""
    weights = [chance.gauss(0, 1) for _ in vectors]
    scale = 1.0
    if kind == "heavy-tailed":
        chi = sum(chance.gauss(0, 1) ** 2 for _ in range(HEAVY_DEGREES))
        scale = math.sqrt((HEAVY_DEGREES - 2) / chi)  # so the standard deviation stays the same
    sums = (scale * sum(w * v[at] for w, v in zip(weights, vectors, strict=True)) for at in range(len(vectors[0])))
    return [math.exp(max(-20.0, min(20.0, each))) for each in sums]


def _simulate(
    sources: Sequence[_Source],
    kind: str,
    repeats: int,
    captures: int,
    runs: int,
    chance: random.Random,
) -> None:
    shares, tolerances, asserted, sizes = [], [], 0, 0
    for metric, medians, vectors in sources:
        alarms = held = 0
        for _ in range(captures):
            drawn = [_draw_factors(vectors, kind, chance) for _ in range(repeats)]
            repeated = {size: [round(medians[size] * one[at], 2) for one in drawn] for at, size in enumerate(medians)}
            found = spread(repeated, [str(n) for n in range(repeats)], metric)
            asserted, sizes = asserted + len(found.curve), sizes + len(medians)
            if not found.curve:
                continue
            tolerances.append(max(found.tolerance.values()))
            for _ in range(runs):
                factors = _draw_factors(vectors, kind, chance)
                new = {size: round(medians[size] * factor, 2) for size, factor in zip(medians, factors, strict=True)}
                alarms += _alarms(found, new, metric)
                held += 1
        if held:
            shares.append((alarms, held))
    if not shares:
        print(f"{kind:<12} {repeats:2d} repeats: no capture asserts a size; more --captures are needed", flush=True)
        return
    total = sum(alarms for alarms, _ in shares) / sum(held for _, held in shares)
    worst = max(alarms / held for alarms, held in shares)
    print(
        f"{kind:<12} {repeats:2d} repeats: {100 * total:.4f} % false alarms of {sum(h for _, h in shares)} runs, "
        f"worst test {100 * worst:.3f} %, median tolerance {100 * statistics.median(tolerances):.1f} %, "
        f"{100 * asserted / sizes:.0f} % of sizes asserted",
        flush=True,
    )


def _alarms(found: Spread, new: dict[int, float], metric: str) -> bool:
    from railyard.site.references.band import regime

    for size, median in found.curve.items():
        tolerance = found.tolerance[regime(size)]
        bad = (
            new[size] < median * (1 - tolerance) if metric in HIGHER_IS_BETTER else new[size] > median * (1 + tolerance)
        )
        if bad:
            return True
    return False


def _leave_one_out(tests: Sequence[tuple[str, dict[int, list[float]]]]) -> None:
    alarms = held = 0
    for metric, columns in tests:
        count = len(next(iter(columns.values())))
        for left in range(count):
            others = {size: values[:left] + values[left + 1 :] for size, values in columns.items()}
            found = spread(others, [str(n) for n in range(count - 1)], metric)
            if found.curve:
                held += 1
                alarms += _alarms(found, {size: values[left] for size, values in columns.items()}, metric)
    print(f"each stored run against a capture of the others: {alarms} of {held} fail")


if __name__ == "__main__":
    main()
