"""What a screening knows at some point: what it measured, which nodes are gone, and how much budget is left."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from railyard.verdict.blame.screening.model import Network, Results, Settings, Suspect
from railyard.verdict.blame.screening.plan import Shares
from railyard.verdict.blame.screening.suspects import Good, SampleView
from railyard.verdict.blame.screening.values import Floats, Leaves, Levels, Rows, join_rows, rows_of
from railyard.verdict.blame.search.doubts import describe_step
from railyard.verdict.blame.search.model import Pair, Step, Value
from railyard.verdict.blame.search.single_pairs import Question, State
from railyard.verdict.wording import screening as words

#: What a step gave: values alone, or with the nodes that were absent.
Given = Results | Iterable[Value]
Asking = Generator[Step, Given, Rows]
#: At most this share of the present nodes may be silent by their own fault; if there are more, it is the run's fault.
MOST_SILENT = 0.25
#: A node has stopped after this many times without a result: with a neighbour among its partners, and without.
_STOPPED_AT_HOME, _STOPPED = 2, 4


@dataclass(slots=True)
class AnsweredQuestions:
    """The results of the questions: who is named, cleared and unclear, and what there was no room for.

    ``alone`` are the pairs that were measured while all other nodes rested, ``shared`` is how many suspects were good
    then: they share links with nodes of leaves that are not theirs.
    """

    named: list[Suspect] = field(default_factory=list)
    cleared: list[Suspect] = field(default_factory=list)
    unclear: list[Suspect] = field(default_factory=list)
    questions: dict[tuple[int, ...], Question] = field(default_factory=dict)
    alone: set[Pair] = field(default_factory=set)
    shared: int = 0

    def add(self, state: State, suspects: Iterable[Suspect]) -> None:
        """Add suspects by the answer about them."""
        {"named": self.named, "cleared": self.cleared, "unclear": self.unclear}[state].extend(suspects)


@dataclass(slots=True)
class Knowledge:
    """A screening at some point.

    ``allowed`` and ``spent`` are rounds; ``reserve`` are rounds kept for the parts of nodes that may be named. ``rows``
    are those of the samples, ``others`` those of all steps over all rails. ``speed`` is what each node's pairs can
    give; it changes when nodes are cleared. ``low`` are the pairs that are still slow, ``left`` those that were slow
    once and not measured again, ``sifted`` all that were slow once, and whether each was measured again. ``asked`` has,
    by kind, how slow each suspect was that was asked about, and whether there was room for it.
    """

    network: Network
    leaves: Leaves
    settings: Settings
    plan: Shares
    allowed: int
    gone: dict[int, str]
    spent: int = 0
    measurements: int = 0
    steps: list[str] = field(default_factory=list)
    rows: list[Rows] = field(default_factory=list)
    others: list[Rows] = field(default_factory=list)
    seen: SampleView | None = None
    speed: Floats = field(default_factory=lambda: np.zeros(0))
    low: list[tuple[float, Pair]] = field(default_factory=list)
    left: list[tuple[float, Pair]] = field(default_factory=list)
    sifted: list[tuple[float, Pair, bool]] = field(default_factory=list)
    answered: AnsweredQuestions = field(default_factory=AnsweredQuestions)
    asked: dict[str, list[tuple[float, bool]]] = field(default_factory=dict)
    reserve: int = 0
    repeats: int = 0
    part_repeats: int = 0

    @property
    def rest(self) -> int:
        """Return the rounds that are left."""
        return max(0, self.allowed - self.spent)

    @property
    def sample_view(self) -> SampleView:
        """Return what the sample's values say."""
        assert self.seen is not None
        return self.seen

    @property
    def levels(self) -> Levels:
        """Return what healthy pairs give."""
        return self.sample_view.levels

    def ask(self, step: Step) -> Asking:
        """Have a step measured, and return its rows."""
        given = yield step
        results = given if isinstance(given, Results) else Results(given)
        self.gone |= {node: reason for node, reason in results.absent.items() if node not in self.gone}
        rows = rows_of(self.leaves, step, results.values, self.gone, self._rounds_before())
        self.spent += len(step.rounds) * step.repeats
        self.measurements += len(rows.a)
        self.steps.append(
            describe_step(step) if step.over is None else words.over_part(describe_step(step), step.over.name)
        )
        if step.over is None:
            self.others.append(rows)
        return rows

    def lists(self, rows: Rows) -> Mapping[Pair, Sequence[float]]:
        """Return the values of each pair of these rows, 0.0 where there was no result."""
        found: dict[Pair, list[float]] = {}
        for a, b, value in zip(rows.a.tolist(), rows.b.tolist(), rows.value.tolist(), strict=True):
            found.setdefault((a, b), []).append(value)
        return found

    def every(self) -> Rows:
        """Return all rows over all rails, without those of nodes that went away later."""
        away = np.zeros(len(self.leaves.of), dtype=bool)
        away[list(self.gone)] = True
        if not self.others:
            nobody = np.zeros(0, dtype=np.int64)
            return Rows(nobody, nobody, np.zeros(0), nobody, nobody)
        rows = join_rows(self.others)
        return rows.of(~(away[rows.a] | away[rows.b]))

    def good(self, last: Iterable[int] = ()) -> Good:
        """Return the nodes that may be partners: measured, not in doubt, and not at a switch that is slow itself.

        Nodes of a leaf whose up-links are in doubt are only partners within their leaf; the ``last`` are only used if
        no others are left.
        """
        found = self.sample_view
        switch = np.zeros(len(self.leaves.names), dtype=bool)
        switch[[leaf for leaf in found.leaves if found.inside[leaf] < found.bounds.near]] = True
        fit = (self.speed == 1) & ~switch[self.leaves.of] & ~(np.isnan(found.home) & np.isnan(found.away))
        fit[list(self.gone)] = False
        return Good(self.leaves, np.flatnonzero(fit).tolist(), found.leaves, last)

    def count(self, kind: str, shares: Iterable[tuple[float, bool]]) -> None:
        """Note for the promises how slow each suspect of a kind was, and whether the budget had room for it."""
        self.asked.setdefault(kind, []).extend(shares)

    def silent(self) -> dict[int, str]:
        """Return the nodes that stopped giving results, with why; also those that gave none, if there are too many.

        A node that stopped gave results before, and then several times none, even with a neighbour: an up-link that
        carries nothing only takes away some partners at other leaves. A node that gave no result at all may be dead. It
        is measured again, unless more than a quarter of the nodes gave none.
        """
        rows = join_rows(self.others)
        count = len(self.leaves.of)
        good = rows.value > 0
        tried, works = (np.zeros(count, dtype=bool) for _ in range(2))
        for node in (rows.a, rows.b):
            tried[node] = True
            works[node[good]] = True
        nothing = tried & ~works
        # a pair with a node that never gave a result says nothing about its other node
        bad = ~good & works[rows.a] & works[rows.b]
        near = ~self.leaves.are_far(rows.a, rows.b) if self.leaves.known else np.zeros(len(bad), dtype=bool)
        last_good = np.full(count, -1)
        for node in (rows.a, rows.b):
            np.maximum.at(last_good, node[good], rows.round[good])
        trailing, at_home = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
        for node in (rows.a, rows.b):
            late = bad & (rows.round > last_good[node])
            trailing += np.bincount(node[late], minlength=count)
            at_home[node[late & near]] = True
        stopped = works & (trailing >= np.where(at_home, _STOPPED_AT_HOME, _STOPPED))
        found = {int(node): words.went_silent(int(last_good[node]) + 1) for node in np.flatnonzero(stopped)}
        if nothing.sum() > MOST_SILENT * max(1, int(tried.sum())):
            found |= {int(node): words.silent() for node in np.flatnonzero(nothing)}
        return found

    def drop(self, silent: Mapping[int, str]) -> None:
        """Mark nodes as gone, and remove their values from all samples."""
        self.gone |= dict(silent)
        away = np.zeros(len(self.leaves.of), dtype=bool)
        away[list(self.gone)] = True
        self.rows = [rows.of(~(away[rows.a] | away[rows.b])) for rows in self.rows]

    def clear(self, nodes: Iterable[int]) -> None:
        """Take nodes out of doubt: they no longer explain their pairs."""
        self.speed = self.speed.copy()
        self.speed[list(nodes)] = 1.0
        self.seen = replace(self.sample_view, speed=self.speed)

    def _rounds_before(self) -> int:
        return 1 + max((int(rows.round[-1]) for rows in self.others if len(rows.round)), default=-1)
