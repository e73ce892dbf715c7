"""The repeats that support a reference: which stored records are suitable, how far their curves spread, the tolerance.

A tolerance is what a healthy run exceeds once in a thousand. It must hold for a future run, so it is a prediction
interval of Student's t with the degrees of freedom of the repeats, MOST_DEGREES at most: t(1 - a/K) s sqrt(1 + 1/n),
where a is FALSE_ALARMS for the whole test and K its sizes (Hahn and Meeker, Statistical Intervals, 1991, chapter 4;
Bonferroni's inequality over the sizes). ``s`` is the standard deviation over repeats, with the rounding of printed
values. It is never less than the middle one of its regime of sizes, since five repeats may agree by chance. And what
one size of a regime did once, any of its sizes may do, so twice the farthest repeat of the regime is allowed. If that
is more than MOST_TOLERANCE, nothing is asserted. Few repeats give wide tolerances, more repeats give narrow ones: that
is the price of not failing a healthy run. ``benchmarks/capture.py`` shows the rate of false alarms.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from railyard.base.wording import count_of, listing
from railyard.results.record.form import CurveRecord, Record
from railyard.results.remarks import idle_rails, why_too_short
from railyard.site.references.amount import REGIMES
from railyard.site.references.band import regime

#: Fewer repeats say nothing about a spread: an estimate from four would be wrong by a factor of two half of the time.
LEAST_RUNS = 5
#: Rules of notes on capture: one odd pair or one odd job must not be the reference.
LEAST_PAIRS = 3
LEAST_JOBS = 2
#: The rule of the path.
_PATH = 4
_UNKNOWN_HOPS = (
    "the number of switches between its nodes is unknown (railyard fabric --keep-hops), or it did not run on two nodes"
)
#: Per test, all its sizes together.
FALSE_ALARMS = 0.001
#: Bandwidths have heavier tails than the normal distribution, whatever the number of repeats. With no more degrees of
#: freedom than this, the rate also holds after 10 and 20 repeats for runs whose logarithm has Student's t with 5
#: (benchmarks/capture.py --made). Without this cap the rate was 0.2 to 0.4 % there.
MOST_DEGREES = 5
#: No tolerance is smaller: a few repeats do not show how pairs, days and firmware differ.
LEAST_TOLERANCE: Mapping[str, float] = {"bandwidth": 0.02, "latency": 0.05}
OTHER_LEAST = 0.05
#: A size that needs a larger tolerance than this is not asserted: it needs more repeats, or it is unsteady. Ten runs do
#: not show everything about such a size (16 to 256 KiB on the virtual cluster: nine alike, one at a third).
MOST_TOLERANCE: Mapping[str, float] = {"bandwidth": 0.08, "latency": 0.15}
OTHER_MOST = 0.15
#: A tolerance is at least this many times the worst repeat's distance from the median: what was seen once may come
#: again.
WORST_FACTOR = 2.0
#: And at least this many times the range of the jobs' medians: two jobs show only one of the possible differences.
JOBS_FACTOR = 2.0
#: Tools round what they print to this (IMB and OSU: two decimals). Five values of 0.01 MB/s agree for that reason
#: alone.
PRINTED_STEP = 0.01
#: A repeat is named as an outlier if it is this many robust standard deviations from the median, and by more than the
#: least tolerance. Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993: 3.5 for one sample; here a curve has
#: a dozen sizes.
OUTLIER = 5.0
_MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True, slots=True)
class Outlier:
    """A repeat far from the others: its index, the size, and its distance as a share of the median."""

    repeat: int
    size: int
    share: float


@dataclass(frozen=True, slots=True)
class Spread:
    """What repeats of a curve give: a median per size, a tolerance per regime, and sizes that spread too far to assert.

    ``left`` maps such a size to the tolerance that it would need. ``outliers`` are those at asserted sizes, or all of
    them if no size is asserted.
    """

    curve: Mapping[int, float]
    tolerance: Mapping[str, float]
    left: Mapping[int, float]
    outliers: tuple[Outlier, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """All stored records of one test: fabric, stack, rails, policy, benchmark; the oldest first.

    ``hops`` is the number of switches between the nodes, the same in all records. None: records of any distance are
    together.
    """

    fabric: str
    stack: str
    rails: int
    policy: str
    benchmark: str
    records: tuple[Record, ...]
    hops: int | None = None

    @property
    def name(self) -> str:
        """The test in words."""
        rails = count_of(self.rails, "rail")
        hops = "" if self.hops is None else f", {count_of(self.hops, 'hop')}"
        return f"{self.benchmark} over {self.fabric} with {self.stack}, {rails}, {self.policy}{hops}"

    @property
    def pairs(self) -> tuple[tuple[str, ...], ...]:
        """The sets of nodes on which it ran."""
        return tuple(dict.fromkeys(tuple(sorted(record.where.nodes)) for record in self.records))

    @property
    def jobs(self) -> tuple[str, ...]:
        """The job of each record: the scheduler's job. Without a scheduler each run is a job."""
        return tuple(job_of(record) for record in self.records)

    @property
    def days(self) -> tuple[str, ...]:
        """The days on which it ran."""
        return tuple(sorted({record.made.time[:10] for record in self.records}))


def job_of(record: Record) -> str:
    """Return what identifies a job: two tests in one allocation share whatever was wrong with it."""
    own = record.where.job_id if record.where.scheduler not in (None, "local") else None
    return f"{record.made.run} {own}" if own else record.made.run


def choose_records(
    records: Sequence[Record], *, replace: bool, hops: Callable[[Record], int | None] | None = None
) -> tuple[tuple[Group, ...], tuple[str, ...]]:
    """Return the usable records, one group per test, and one sentence per reason for the others.

    ``replace``: a record that failed an earlier baseline may be used, since that baseline is to be replaced. ``hops``,
    if given, returns the number of switches between a record's nodes: each distance is a group of its own.
    """
    served: dict[tuple[tuple[str, str, int, str, str], int | None], list[Record]] = {}
    left: dict[str, list[Record]] = {}
    for record in records:
        why = why_not(record, replace=replace)
        distance = None if hops is None or why is not None else hops(record)
        if hops is not None and why is None and distance is None:
            why = _UNKNOWN_HOPS
        if why is None:
            test = (
                record.where.fabric,
                record.test.stack,
                record.test.rails,
                record.test.policy or "any",
                record.test.benchmark,
            )
            served.setdefault((test, distance), []).append(record)
        else:
            left.setdefault(why, []).append(record)
    groups = tuple(Group(*test, tuple(found), distance) for (test, distance), found in served.items())
    return groups, tuple(_say_excluded(why, found) for why, found in left.items())


def why_not(record: Record, *, replace: bool) -> str | None:
    """Return why other runs must not be compared with this record; None if they may be."""
    if record.made.rehearsal is not None:
        return "it is from a rehearsal: stand-ins ran, nothing was measured"
    if record.made.replayed is not None:
        return "a recording was played, nothing was measured"
    if record.found.state in ("not-tested", "xfail", "disturbed"):
        return f"its state is {record.found.state}"
    other = _why_not_its_path(record) or why_too_short(record)
    if other is not None:
        return other
    if not record.found.curves:
        return "it has no curve"
    if record.found.state == "fail" and record.found.verdict.rule != 5:
        return f"it failed rule {record.found.verdict.rule}"
    if record.found.state == "fail":
        broken = [band for curve in record.found.curves for band in _find_broken(curve)]
        if any(kind != "baseline" for kind in broken):
            return "it failed a reference that is not a baseline"
        if broken and not replace:
            return "it failed the present baseline (--replace accepts such runs)"
    return None


def _why_not_its_path(record: Record) -> str | None:
    proof = record.how.path_proof
    # If rule 4 did not judge the path (EP moves too little), the figure may be used all the same. The entry says so.
    unjudged = any(rule.rule == _PATH and rule.state == "not-judged" for rule in record.found.verdict.rules)
    if proof is not None and proof.state == "failed":
        return "its path proof failed"
    if proof is None or (proof.state == "not-proven" and not unjudged):
        return "its path was not proven"
    if proof.state == "not-judged" and (rails := idle_rails(record)):
        return f"{listing(rails)} idled on every node, so it is not a reference for {record.test.rails} rails"
    return None


def _find_broken(curve: CurveRecord) -> Iterator[str]:
    """Yield the kind of each band that the curve violates."""
    values = dict(zip(curve.sizes, curve.values, strict=True))
    for band in curve.bands:
        for size, low, high in zip(band.sizes, band.low, band.high, strict=True):
            value = values.get(size)
            if value is None or (low is not None and value < low) or (high is not None and value > high):
                yield band.kind
                break


def _say_excluded(why: str, records: Sequence[Record]) -> str:
    tests = count_of(len(records), "test")
    runs = list(dict.fromkeys(record.made.run for record in records))
    return f"{tests} of {', '.join(runs[:3])}{' …' if len(runs) > 3 else ''}: {why}"


def too_few(group: Group, *, quick: bool) -> str | None:
    """Return why a group is not enough for a reference, None if it is; ``quick`` checks only the number of repeats."""
    count = len(group.records)
    if count < LEAST_RUNS:
        return f"found {count_of(count, 'run')}, expected {LEAST_RUNS} or more; run it again"
    if quick or not is_quick(group):
        return None
    pairs, jobs = len(group.pairs), len(set(group.jobs))
    return (
        f"found {count_of(pairs, 'set')} of nodes in {count_of(jobs, 'job')}, expected "
        f"{LEAST_PAIRS} and {LEAST_JOBS}; repeat on other nodes, or use --quick, which marks the entry as quick"
    )


def is_quick(group: Group) -> bool:
    """Return whether a group has too few pairs or jobs for more than a quick capture."""
    return len(group.pairs) < LEAST_PAIRS or len(set(group.jobs)) < LEAST_JOBS


def spread(columns: Mapping[int, Sequence[float]], jobs: Sequence[str], metric: str) -> Spread:
    """Return the spread of repeats; ``columns`` has all repeats' values by size, ``jobs`` each repeat's job.

    Sizes whose median is 0 (printed as 0.00) are left out. Raises ValueError for fewer than two repeats.
    """
    least = LEAST_TOLERANCE.get(metric, OTHER_LEAST)
    medians = {size: statistics.median(values) for size, values in columns.items()}
    shares = {size: [v / medians[size] - 1 for v in values] for size, values in columns.items() if medians[size] > 0}
    most = MOST_TOLERANCE.get(metric, OTHER_MOST)
    deviations = {size: math.hypot(statistics.stdev(shares[size]), _rounding(medians[size])) for size in shares}
    own = {
        size: max(least, _needed_tolerance(values, deviations[size], len(shares), jobs))
        for size, values in shares.items()
    }
    for size in own:
        # Few repeats may agree by chance at one size.
        alike = [other for other in shares if regime(other) == regime(size)]
        middle = statistics.median(deviations[other] for other in alike)
        farthest = max(abs(share) for other in alike for share in shares[other])
        own[size] = max(own[size], _needed_tolerance(shares[size], middle, len(shares), jobs), WORST_FACTOR * farthest)
    kept = [size for size in own if own[size] <= most]
    by_regime = {
        name: _round_up(max([least, *(own[size] for size in kept if regime(size) == name)])) for name in REGIMES
    }
    left = {size: own.get(size, math.inf) for size in columns if size not in kept}
    asserted = {size: shares[size] for size in kept}
    return Spread({size: medians[size] for size in kept}, by_regime, left, _outliers(asserted or shares, least))


def _needed_tolerance(shares: Sequence[float], deviation: float, sizes: int, jobs: Sequence[str]) -> float:
    """Return the tolerance that one of these sizes needs for chance, the worst repeat, and differences between jobs."""
    count = len(shares)
    chance = _students_t(1 - FALSE_ALARMS / sizes, min(count - 1, MOST_DEGREES)) * deviation * math.sqrt(1 + 1 / count)
    worst = WORST_FACTOR * max(map(abs, shares))
    return max(chance, worst, JOBS_FACTOR * _between_jobs(shares, jobs))


def _rounding(median: float) -> float:
    """Return the standard deviation that rounding to PRINTED_STEP alone gives, as a share of the median."""
    return PRINTED_STEP / median / math.sqrt(12)


def _between_jobs(shares: Sequence[float], jobs: Sequence[str]) -> float:
    """Return the range of the jobs' medians: with two jobs, nothing more is known of how jobs differ."""
    medians = [
        statistics.median(share for share, own in zip(shares, jobs, strict=True) if own == job)
        for job in dict.fromkeys(jobs)
    ]
    # A job with one repeat adds nothing to what the repeats themselves say.
    return max(medians) - min(medians) if 1 < len(medians) < len(shares) else 0.0


@lru_cache(maxsize=256)
def _students_t(probability: float, degrees: int) -> float:
    from scipy.stats import t  # here: it costs a quarter of a second, which only a capture needs

    return float(t.ppf(probability, degrees))


def _outliers(shares: Mapping[int, Sequence[float]], least: float) -> tuple[Outlier, ...]:
    """Return each repeat that is far off at some size, with the size at which it is farthest."""
    worst: dict[int, Outlier] = {}
    for size, values in shares.items():
        scale = _MAD_TO_SIGMA * statistics.median(map(abs, values))
        for place, share in enumerate(values):
            if abs(share) > max(OUTLIER * scale, least) and abs(share) > abs(
                worst[place].share if place in worst else 0
            ):
                worst[place] = Outlier(place, size, share)
    return tuple(worst[place] for place in sorted(worst))


def _round_up(tolerance: float) -> float:
    """Return the tolerance as a person would write it: rounded up to a thousandth."""
    return math.ceil(round(tolerance * 1000, 6)) / 1000
