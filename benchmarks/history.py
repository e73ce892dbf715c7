"""How often, how late and how falsely a planted change is reported: a trial of methods that find changes of level.

    .venv/bin/python benchmarks/history.py --home SITE [--home …] [--histories 100] [--way NAME …]
    .venv/bin/python benchmarks/history.py --home SITE --smallest [--figure peak]

The spread comes from stored runs: from each figure with ten or more repeats and no change between them. A history is
drawn with replacement from the repeats, divided by their median. So outliers, and figures with several levels, occur as
often as they did. Figures are grouped into quarters by how far their repeats scatter.

    railyard       railyard.results.history
    otava          Apache Otava (pip install apache-otava): windows of 50, p 0.001 (its defaults)
    otava strict   the same with p 0.000001
    otava deals    Otava's permutation test in place of Student's t, 999 orders; slow: a twentieth of the histories
    ruptures 3, 10, 30   least squares of ruptures (pip install ruptures), segments of five or more, this many times
                   log(n) as the penalty
    ruptures bounded 3, 10, 30   the same with values limited to three standard deviations, like ours
    welch          Welch's t-test at the most likely place, p 0.001: what anybody would write first

These two packages are in no lock: install them in an environment of their own. Without them, their methods are left
out.

It prints one line per method, scatter and step: found (a change within two runs of the planted one, after 5, 10 and 30
runs of the new level), how many runs late it was first reported (median, 90 %), and other changes reported. For
histories without a change: the share in which a look at the end reports one.

--smallest: for each figure, the smallest drop of DROPS that is reported in 99 of 100 histories, with 30 and 60 runs
before and five after; and after one night of five runs, with 30 such nights before it. --figure: only figures with this
text in their name.
"""

import argparse
import importlib
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from railyard.results.history import ALARM, steps
from railyard.results.series import series_of
from railyard.results.store import query

Way = Callable[[Sequence[float]], list[int]]
Figures = dict[str, list[float]]
BEFORE, AFTER, NEAR = 30, (5, 10, 30), 2
LOOKS = (3, 4, 5, 6, 8, 10, 15, 30)
STEPS = (0.02, 0.05, 0.10)
DROPS = (0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.10, 0.20, 0.40)
SLOW = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, action="append", required=True)
    parser.add_argument("--system", default="virtual")
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--way", action="append", help="Only this method. Repeatable.")
    parser.add_argument("--smallest", action="store_true")
    parser.add_argument("--figure", default="")
    asked = parser.parse_args()
    repeats = {name: values for name, values in _repeats(asked.home, asked.system).items() if asked.figure in name}
    if len(repeats) < 4:
        print(f"found {len(repeats)} figures with ten repeats or more, expected four at least", file=sys.stderr)
        return 2
    groups = _by_scatter(repeats)
    for name, members in groups.items():
        scatter = [100 * _scatter(each) for each in members.values()]
        print(f"{name}: {len(members)} figures, {min(scatter):.2f} to {max(scatter):.2f} % (median absolute, as sigma)")
    if asked.smallest:
        _smallest(repeats, asked.histories, asked.seed)
        return 0
    print(
        f"{'way':<20} {'scatter':<8} {'step':>5}  found after {' / '.join(map(str, AFTER))} runs   late    others  ms"
    )
    for name, way in _ways().items():
        if asked.way and name not in asked.way:
            continue
        count = max(1, asked.histories // (SLOW if name == "otava deals" else 1))
        for group, members in groups.items():
            values = list(members.values())
            for share in STEPS:
                print(
                    f"{name:<20} {group:<8} {_describe_detection(way, values, share, count, random.Random(asked.seed))}"
                )
            print(f"{name:<20} {group:<8} {_false(way, values, 10 * count, random.Random(asked.seed))}", flush=True)
    return 0


def _repeats(homes: Sequence[Path], system: str) -> Figures:
    """Return the values of each figure with ten or more repeats, as shares of their median."""
    wanted = query.RecordFilter(system=system, state="pass")
    found = {}
    for each in series_of([record for home in homes for record in query.records(home, wanted).records]):
        middle = statistics.median(each.values)
        if len(each.values) >= 10 and min(each.values) > 0 and len(set(each.values)) > 1:
            found[f"{each.name} {each.figure}"] = [value / middle for value in each.values]
    return found


def _scatter(values: Sequence[float]) -> float:
    middle = statistics.median(values)
    return 1.4826 * statistics.median(abs(value - middle) for value in values)


def _by_scatter(repeats: Figures) -> dict[str, Figures]:
    ordered = sorted(repeats, key=lambda name: _scatter(repeats[name]))
    quarter = math.ceil(len(ordered) / 4)
    parts = {
        word: ordered[at * quarter : (at + 1) * quarter] for at, word in enumerate(("least", "less", "more", "most"))
    }
    return {word: {name: repeats[name] for name in names} for word, names in parts.items() if names}


def _draw_series(values: Sequence[float], count: int, chance: random.Random) -> list[float]:
    return [chance.choice(values) for _ in range(count)]


def _describe_detection(
    way: Way, members: Sequence[Sequence[float]], share: float, count: int, chance: random.Random
) -> str:
    """Return in words how often and how late a drop by this share is reported."""
    found, late, others, looks, begun = dict.fromkeys(AFTER, 0), list[float](), 0, 0, time.process_time()
    for _ in range(count):
        row = _draw_series(chance.choice(members), BEFORE + AFTER[-1], chance)
        row[BEFORE:] = [value * (1 - share) for value in row[BEFORE:]]
        first = math.inf
        for after in LOOKS:
            told = way(row[: BEFORE + after])
            looks += 1
            here = [at for at in told if abs(at - BEFORE) <= NEAR]
            first = min(first, after) if here else first
            if after in AFTER:
                found[after] += bool(here)
        others += len(told) - len(here[:1])
        late.append(first)
    late.sort()
    shares = " / ".join(f"{100 * found[after] / count:5.1f}" for after in AFTER)
    lateness = "/".join(_words(late[min(count - 1, int(each * count))]) for each in (0.5, 0.9))
    cost = 1000 * (time.process_time() - begun) / looks
    return f"{-100 * share:>4.0f}%  {shares} %     {lateness:<7} {others / count:5.3f}  {cost:.1f}"


def _false(way: Way, members: Sequence[Sequence[float]], count: int, chance: random.Random) -> str:
    """Return in words how often a change is reported although there is none."""
    told = {
        length: sum(bool(way(_draw_series(chance.choice(members), length, chance))) for _ in range(count))
        for length in (35, 60)
    }
    shares = ", ".join(f"{alarms} of {count} histories of {length} runs" for length, alarms in told.items())
    return f" none  told falsely: {shares}"


def _words(value: float) -> str:
    return "–" if math.isinf(value) else f"{value:.0f}"


def _smallest(repeats: Figures, count: int, seed: int) -> None:
    """Print the smallest of DROPS that is reported in 99 of 100 histories, at ALARM false alarms."""
    print(f"least drop told in 99 % of {count} histories, {100 * ALARM:g} % false alarms")
    cases = {"5 after 30": (30, 1), "5 after 60": (60, 1), "a night after 30": (150, 1), "5 nights after 30": (30, 5)}
    print("  ".join([*cases, "scatter", "figure"]))
    least: dict[str, list[float]] = {case: [] for case in cases}
    for name in sorted(repeats, key=lambda each: _scatter(repeats[each])):
        for case, (before, runs) in cases.items():
            least[case].append(_least_drop(repeats[name], before, runs, count, random.Random(seed)))
        cells = [_per_cent(least[case][-1]).rjust(len(case)) for case in cases]
        print("  ".join([*cells, f"{100 * _scatter(repeats[name]):5.2f} %", name]), flush=True)
    for case, drops in least.items():
        within = sum(drop <= 0.02 for drop in drops)
        print(f"{case}: at most 2 % in {within} of {len(drops)} figures")


def _per_cent(drop: float) -> str:
    return "none" if math.isinf(drop) else f"{100 * drop:g} %"


def _least_drop(values: Sequence[float], before: int, runs: int, count: int, chance: random.Random) -> float:
    """Return the smallest drop that is reported five points after it; a point is the median of ``runs`` runs."""
    rows = [
        [statistics.median(_draw_series(values, runs, chance)) for _ in range(before + AFTER[0])] for _ in range(count)
    ]  # fmt: skip

    def is_told(drop: float) -> bool:
        missed = 0
        for row in rows:
            planted = [*row[:before], *(value * (1 - drop) for value in row[before:])]
            missed += not any(abs(step.index - before) <= NEAR for step in steps(planted))
            if missed > 0.01 * count:
                return False
        return True

    low, high = -1, len(DROPS)  # the smallest that is reported is above low, and at high or below
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_told(DROPS[middle]) else (middle, high)
    return DROPS[high] if high < len(DROPS) else math.inf


def _ways() -> dict[str, Way]:
    """Return the methods that can be tried here, and name the others."""
    ways: dict[str, Way] = {"railyard": lambda values: [step.index for step in steps(values)], "welch": _welch}
    for module, more in (("otava.analysis", _otava), ("ruptures", _ruptures)):
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"{module.partition('.')[0]}: not tried ({error})")
            continue
        ways |= more()
    return ways


def _otava() -> dict[str, Way]:
    from otava.analysis import (
        ChangePointDetector,
        PairDistanceCalculator,
        PermutationsSignificanceTester,
        compute_change_points,
    )

    def students(p: float) -> Way:
        return lambda values: [
            int(each.index) for each in compute_change_points(list(values), window_len=50, max_pvalue=p)[0]
        ]

    def deals(values: Sequence[float]) -> list[int]:
        tester = PermutationsSignificanceTester(ALARM, 999, PairDistanceCalculator, seed=1)
        search = ChangePointDetector(significance_tester=tester, calculator=PairDistanceCalculator)
        return [int(each.index) for each in search.get_change_points(series=list(values))]

    return {"otava": students(0.001), "otava strict": students(1e-6), "otava deals": deals}


def _ruptures() -> dict[str, Way]:
    import numpy
    import ruptures

    def way(factor: float, bounded: bool) -> Way:
        def find_changes(values: Sequence[float]) -> list[int]:
            logs = numpy.log(numpy.asarray(values))
            one, other = numpy.triu_indices(len(logs), 1)
            scores = logs / (2.2219 * numpy.quantile(numpy.abs(logs[one] - logs[other]), 0.25) or 1.0)
            if bounded:
                scores = numpy.clip(scores - numpy.median(scores), -3, 3)
            search = ruptures.KernelCPD(kernel="linear", min_size=5).fit(scores[:, None])
            return [int(at) for at in search.predict(pen=factor * math.log(len(values)))[:-1]]

        return find_changes

    return {
        f"ruptures {'bounded ' if bounded else ''}{factor}": way(factor, bounded)
        for bounded in (False, True)
        for factor in (3, 10, 30)
    }


def _welch(values: Sequence[float]) -> list[int]:
    from scipy.stats import ttest_ind

    logs = [math.log(value) for value in values]
    chances = {at: float(ttest_ind(logs[:at], logs[at:], equal_var=False).pvalue) for at in range(5, len(logs) - 4)}
    best = min(chances, key=chances.__getitem__)
    return [best] if chances[best] <= ALARM else []


if __name__ == "__main__":
    sys.exit(main())
