"""Which stored records may support a reference, and whether there are enough of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from railyard.base.wording import count_of, listing
from railyard.results.idle_rails import idle
from railyard.results.record.form import CurveRecord, Record

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
    return groups, tuple(_left_out(why, found) for why, found in left.items())


def why_not(record: Record, *, replace: bool) -> str | None:
    """Return why other runs must not be compared with this record; None if they may be."""
    if record.made.rehearsal is not None:
        return "it is from a rehearsal: stand-ins ran, nothing was measured"
    if record.made.replayed is not None:
        return "a recording was played, nothing was measured"
    if record.found.state in ("not-tested", "xfail", "disturbed"):
        return f"its state is {record.found.state}"
    path = _why_not_its_path(record)
    if path is not None:
        return path
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
    if proof.state == "not-judged" and (rails := idle(record)):
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


def _left_out(why: str, records: Sequence[Record]) -> str:
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
