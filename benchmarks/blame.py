"""How often probes name a slow rail, and how often a healthy part: a simulation with noise of several kinds.

    .venv/bin/python benchmarks/blame.py [--draws 1000] [--seed 1] [--jobs 2] [--probes FOLDER]

Nothing is measured. Each draw has four nodes with two rails. One rail of one node gives less than the others, or none
does. `railyard.verdict.blame.slow_rails.find` asks for probes of 0.7 s until it decides, as after a failed run. The
loads, as the share of a rail's rate that they leave:

    quiet    1 with a standard deviation of 0.3 %
    NAME     recorded: values drawn from benchmarks/data/probe-spreads.json, or from all probes.json below FOLDER
    bursts   periods of 3 s on average at 0.3 to 0.9 (the same for a period), then 4 s on average at 1; 0.5 % noise
    shorts   the same with periods of 0.5 s, then 1 s
    steady   0.85 to 0.97, the same for a draw, with a standard deviation of 2 to 4 % (cut at 1.05)

Here the watcher of a probe's processes sees nothing: it says that they never waited, so it excuses nothing. It prints
one row per load and share of the rate: how many draws named only the slow rail, how many named anything else (a healthy
rail, a pair, a switch), how many named nobody, and the mean number of probes (a round has 12). Then, for each load, the
largest share of the rate that is named in 99 % of the draws. The same seed gives the same draws.
"""

import argparse
import bisect
import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from railyard.base.numbers import quantile
from railyard.verdict.blame.slow_rails import find
from railyard.verdict.blame.suspects import Probe, RailProbe, plan_probes

SPREADS = Path(__file__).parent / "data" / "probe-spreads.json"
NODES = ("vn1", "vn2", "vn3", "vn4")
RAILS = ("hsn0", "hsn1")
SHARES = (1.0, 0.97, 0.95, 0.93, 0.90, 0.85, 0.70, 0.50)
RATE_MB_S, PROBE_S = 48.0, 0.7
NAMED = 0.99

#: What the load leaves of a rail's rate in the 0.7 s that begin at a time in s.
Load = Callable[[float], float]


@dataclass(frozen=True)
class Draw:
    """The result of one draw."""

    outcome: str
    probes: int
    said: str


def quiet(draws: random.Random) -> Load:
    """Return a load that only has the noise of a quiet machine."""
    return lambda _: draws.gauss(1, 0.003)


def steady(draws: random.Random) -> Load:
    """Return a load that takes the same share all the time, with noise."""
    share, deviation = draws.uniform(0.85, 0.97), draws.uniform(0.02, 0.04)
    return lambda _: min(1.05, draws.gauss(share, share * deviation))


def bursts(draws: random.Random, long_s: float, quiet_s: float) -> Load:
    """Return a load that comes and goes; a probe gives the mean over its time."""
    ends, left = [0.0], [1.0]

    def rate_at(start: float) -> float:
        while ends[-1] < start + PROBE_S:
            is_burst = left[-1] == 1.0
            left.append(draws.uniform(0.3, 0.9) if is_burst else 1.0)
            ends.append(ends[-1] + draws.expovariate(1 / (long_s if is_burst else quiet_s)))
        given, moment = 0.0, start
        for period in range(bisect.bisect_right(ends, start), len(ends)):
            until = min(ends[period], start + PROBE_S)
            given, moment = given + (until - moment) * left[period], until
            if moment >= start + PROBE_S:
                break
        return given / PROBE_S * draws.gauss(1, 0.005)

    return rate_at


def make_load(draws: random.Random, values: tuple[float, ...]) -> Load:
    """Return a load that leaves measured values in random order; between neighbours any value is equally likely."""
    rising = sorted(values)
    return lambda _: quantile(rising, draws.random())


def make_draw(seed: int, kind: str, make: Callable[[random.Random], Load], share: float) -> Draw:
    """Return one draw; the seed, the load and the share determine the place of the slow rail and the noise."""
    draws = random.Random(f"{seed} {kind} {share}")
    slow = (draws.choice(NODES), draws.choice(RAILS))
    load, now = make(draws), 0.0

    def measure(probe: Probe, turn: int) -> RailProbe:
        nonlocal now
        is_slow = slow in ((probe.node_a, probe.rail), (probe.node_b, probe.rail))
        value = RATE_MB_S * load(now) * (share if is_slow else 1.0)
        now += PROBE_S
        return RailProbe(probe.node_a, probe.node_b, probe.rail, round(value, 2), RATE_MB_S, turn, 0.0)

    found = find(plan_probes(NODES[:2], NODES[2:], RAILS), measure, NODES, lambda: now)
    wrong = [one for one in found.suspects if share == 1 or (one.kind, one.node, one.rail) != ("rail", *slow)]
    outcome = "wrong" if wrong else "named" if found.suspects else "nobody"
    return Draw(outcome, len(found.probes), found.sentence)


def row(kind: str, share: float, draws: Iterable[Draw]) -> tuple[float, str]:
    """Return the share of draws that named the slow rail, and the row of the table."""
    every = list(draws)
    count = {name: sum(draw.outcome == name for draw in every) for name in ("named", "wrong", "nobody")}
    named, nobody = (count[name] / len(every) for name in ("named", "nobody"))
    mean = sum(draw.probes for draw in every) / len(every)
    rate = "none slow" if share == 1 else f"{100 * share:.0f} %"
    shown = "-" if share == 1 else f"{100 * named:.1f} %"
    return named, f"| {kind} | {rate} | {shown} | {count['wrong']} | {100 * nobody:.1f} % | {mean:.1f} |"


def spreads(file: Path, folder: Path | None) -> dict[str, tuple[float, ...]]:
    """Return recorded loads: all values as shares of their rail's best, from a folder or from the committed file."""
    if folder is None:
        loads = json.loads(file.read_text(encoding="utf-8"))["loads"] if file.exists() else {}
        return {name: tuple(values) for name, values in loads.items() if values}
    return {"recorded": tuple(itertools.chain.from_iterable(_shares(each) for each in folder.rglob("probes.json")))}


def _shares(file: Path) -> Iterator[float]:
    by_rail: dict[str, list[float]] = {}
    for probe in json.loads(file.read_text(encoding="utf-8"))["probes"]:
        by_rail.setdefault(probe["rail"], []).append(probe["value_mb_s"] or 0.0)
    for values in by_rail.values():
        yield from (value / max(values) for value in values if max(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--probes", type=Path, help="A folder with probes.json files, instead of the committed values.")
    parser.add_argument(
        "--wrong", action="store_true", help="Print the sentence of each verdict that blamed a healthy part."
    )
    asked = parser.parse_args()
    loads: dict[str, Callable[[random.Random], Load]] = {
        "quiet": quiet,
        **{name: partial(make_load, values=values) for name, values in spreads(SPREADS, asked.probes).items()},
        "bursts": partial(bursts, long_s=3.0, quiet_s=4.0),
        "shorts": partial(bursts, long_s=0.5, quiet_s=1.0),
        "steady": steady,
    }
    print("| load | the slow rail's rate | named | others named | nobody named | probes |")
    print("| --- | --- | --- | --- | --- | --- |")
    smallest: dict[str, str] = {}
    seeds = range(asked.seed * 1_000_000, asked.seed * 1_000_000 + asked.draws)
    with ProcessPoolExecutor(asked.jobs) as pool:
        for kind, make in loads.items():
            for share in SHARES:
                draws = list(pool.map(partial(make_draw, kind=kind, make=make, share=share), seeds, chunksize=50))
                named, shown = row(kind, share, draws)
                print(shown, flush=True)
                if share < 1 and named >= NAMED:
                    smallest.setdefault(kind, f"{100 * share:.0f} %")
                if asked.wrong:
                    print(*(f"    {draw.said}" for draw in draws if draw.outcome == "wrong"), sep="\n")
    for kind in loads:
        print(
            f"{kind}: named in {100 * NAMED:.0f} % of the draws from {smallest.get(kind, 'no share')} of the rate down"
        )


if __name__ == "__main__":
    main()
