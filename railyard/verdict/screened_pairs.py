"""A run of a sample of all pairs and what its screening found: who is named, what it covered, what it promises."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from railyard.base.wording import listing
from railyard.parsers.output import Table
from railyard.results.record.form import Suspect
from railyard.results.record.pair_rows import ExercisedCount, NodesNotMeasured, PairsSample, PromiseRecord
from railyard.site.topology import Places
from railyard.verdict.assess import Assessment
from railyard.verdict.blame import node_pair_sample
from railyard.verdict.blame.screening.model import Budget, BudgetError, Coverage, Network, ScreeningVerdict, Share
from railyard.verdict.blame.search.model import PairsError, Step
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.findings import with_remark, with_suspects
from railyard.verdict.rules.model import fail_rule
from railyard.verdict.wording import screening as words
from railyard.verdict.wording.ports import look_at
from railyard.verdict.wording.screening import MOST_TOLD, more_named

#: More steps than any screening has.
_MOST_STEPS = 20


@dataclass(frozen=True, slots=True)
class SampleOrigin:
    """How a sample was made: ``kind`` in one word, its budget, when (UTC, as in records), and which nodes were absent.

    ``planned_here``: by the screening itself (``node_pair_sample.next_step``). ``absent`` has nodes with the reason;
    they are not hosts in the tables.
    """

    kind: str
    budget: Budget
    planned_here: bool = True
    began: str | None = None
    ended: str | None = None
    absent: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class ScreeningProgress:
    """How far a screening came: its next step (None if there is none), and the verdict so far."""

    network: Network
    screened: ScreeningVerdict
    open_step: Step | None = None

    @property
    def not_measured(self) -> str:
        """What was left unmeasured, as a sentence; empty if no step is open."""
        if self.open_step is None:
            return ""
        return words.not_measured(self.open_step.why, bool(self.screened.named))


def screen_tables(
    tables: Sequence[Table],
    sampled: SampleOrigin,
    places: Places,
    expected_mb_s: float | None,
    rails: Sequence[str] = (),
    up_links: int | None = None,
) -> ScreeningProgress:
    """Return the result of the tables of a sample and its later steps.

    ``rails`` are the names of the rails that each value uses together. If a step is still missing, the verdict is the
    one without it: it names what the steps before it have shown. Raises ValueError or PairsError if tables are not
    those of these steps.
    """
    hosts = node_pair_sample.hosts_of_sample(tables)
    nodes = (*hosts, *(node for node, _ in sampled.absent))
    network = node_pair_sample.network_of(nodes, places, expected_mb_s, rails, up_links)
    absent = {len(hosts) + place: why for place, (_, why) in enumerate(sampled.absent)}
    open_step: Step | None = None
    for not_made in range(_MOST_STEPS):
        found = node_pair_sample.next_step(
            tables, network, sampled.budget, planned_here=sampled.planned_here, absent=absent, not_made=not_made
        )  # fmt: skip
        if isinstance(found, ScreeningVerdict):
            return ScreeningProgress(network, found, open_step)
        open_step = open_step or found
    raise PairsError(f"the screening still asks for a step after {_MOST_STEPS} steps, none of which was measured")


def with_screening(found: Assessment, sampled: SampleOrigin, places: Places, up_links: int | None = None) -> Assessment:
    """Return the assessment of a sample with what its screening says; unchanged if the sample is not complete.

    If anything is named, the run fails even if it meets its references: it was measured again with good partners.
    """
    meant = found.case.launch.meant
    try:
        came = screen_tables(
            found.pair_tables, sampled, places, _expected_rate(found), meant if len(meant) > 1 else (), up_links
        )  # fmt: skip
    except (ValueError, PairsError, BudgetError) as error:
        return with_remark(found, words.sample_not_judged(str(error))) if found.pair_tables else found
    findings = node_pair_sample.findings(came.screened, came.network, meant[0] if len(meant) == 1 else None)
    if came.open_step is not None:
        findings = replace(findings, sentence=f"{came.not_measured}; {findings.sentence}")
    found = replace(found, sample=record_of(came.screened, sampled))
    if found.verdict.misses_reference:
        return with_suspects(found, findings)
    if not came.screened.named or found.verdict.fails:
        return with_remark(found, findings.sentence)
    return _fail(found, findings, came)


def record_of(screened: ScreeningVerdict, sampled: SampleOrigin) -> PairsSample:
    """Return what a screening covered and promises, in the form of a record."""
    reasons: dict[str, list[str]] = {}
    for one in screened.coverage.not_measured:
        reasons.setdefault(one.reason, []).append(one.node)
    return PairsSample(
        kind=sampled.kind,
        covered=tuple(_coverage_counts(screened.coverage)),
        promises=tuple(PromiseRecord(one.kind, one.share, one.probability, one.basis) for one in screened.promises),
        not_measured=tuple(NodesNotMeasured(tuple(nodes), reason) for reason, nodes in reasons.items()),
        not_looked_at=screened.not_looked_at,
        partners=screened.coverage.partners,
        rounds=screened.rounds,
        rounds_allowed=screened.rounds_allowed,
        measurements=screened.measurements,
        budget_s=sampled.budget.seconds,
        began=sampled.began,
        ended=sampled.ended,
        sentence=screened.sentence,
    )


def _coverage_counts(coverage: Coverage) -> list[ExercisedCount]:
    shares: list[tuple[str, Share]] = [
        ("nodes", coverage.nodes),
        ("pairs", coverage.pairs),
        ("leaf_pairs", coverage.leaf_pairs),
        ("up_links", coverage.up_links),
        ("rails", coverage.rails),
    ]
    return [ExercisedCount(of, share.used, share.all, share.basis) for of, share in shares]


def _fail(found: Assessment, findings: Findings, came: ScreeningProgress) -> Assessment:
    """Return the failed assessment of a run that met its references, while its screening names a suspect."""
    named = came.screened.named
    more = [more_named(len(named) - MOST_TOLD)] if len(named) > MOST_TOLD else []
    sentence = "; ".join([*(one.reason for one in named[:MOST_TOLD]), *more])
    next_look = look_at(listing(node_pair_sample.words_of(named[:MOST_TOLD], came.network)))
    rest = "; ".join(filter(None, [came.not_measured, came.screened.rest]))
    return fail_fabric(found, sentence, findings.suspects, next_look, rest)


def fail_fabric(
    found: Assessment, sentence: str, suspects: tuple[Suspect, ...], next_look: str, *remarks: str
) -> Assessment:
    """Return a run that met its references as failed by rule 5, for what else its pairs of nodes show."""
    judged = found.verdict
    own = fail_rule(5, sentence, "fabric", next_look)
    said = replace(
        judged,
        state="fail",
        sentence=sentence,
        rule=5,
        fault="fabric",
        rules=tuple(own if rule.rule == 5 else rule for rule in judged.rules),
        suspects=suspects,
        look_at=next_look,
        remarks=(*remarks, words.by_references_alone(judged.sentence), *judged.remarks),
    )
    return replace(found, inputs=replace(found.inputs, suspects=suspects), verdict=said)


def _expected_rate(found: Assessment) -> float | None:
    from railyard.verdict.node_pairs import least_of

    size = found.pair_tables[0].context.get("size") if found.pair_tables else None
    return least_of(found.case.site, found.case.test, size) if isinstance(size, int) else None
