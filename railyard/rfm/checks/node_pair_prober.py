"""Which node a run of pairs names: from what its later steps measured, each alone, or from each node's own pair."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from railyard.job import node_pair_steps
from railyard.parsers.output import ParsedOutput
from railyard.rfm.checks.prober import RailProber
from railyard.rfm.checks.runner import text_of
from railyard.site import topology
from railyard.verdict.assess import Assessment
from railyard.verdict.blame.node_pairs import findings
from railyard.verdict.blame.search.model import Settings
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.findings import with_suspects
from railyard.verdict.node_pairs import steps, with_slow_nodes
from railyard.verdict.screened_pairs import SampleOrigin, with_screening


@dataclass(frozen=True, slots=True)
class WithinNodesProber:
    """Names the nodes whose own pair is slow. After a run that broke, it measures rails as any other test does."""

    rails: RailProber

    def explain(self, found: Assessment) -> Assessment:
        return with_slow_nodes(found) if found.verdict.misses_reference else self.rails.explain(found)


@dataclass(frozen=True, slots=True)
class BisectionProber:
    """Names nobody for a low value: all pairs at once over the middle of the network cannot tell nodes apart."""

    rails: RailProber

    def explain(self, found: Assessment) -> Assessment:
        return found if found.verdict.misses_reference else self.rails.explain(found)


@dataclass(frozen=True, slots=True)
class AllPairsProber:
    """Names who is slow from all steps together.

    ``least`` is what a pair must give by the references, in MB/s; ``repeats`` is how often each was measured again;
    ``parse`` reads a step's output, which is in ``stage``.
    """

    rails: RailProber
    stage: Path
    parse: Callable[[str], ParsedOutput]
    repeats: int
    least: float | None
    places: topology.Places

    def explain(self, found: Assessment) -> Assessment:
        return (
            with_suspects(found, self._findings(found)) if found.verdict.misses_reference else self.rails.explain(found)
        )

    def _findings(self, found: Assessment) -> Findings:
        meant = found.case.launch.meant
        texts = {rail: text_of(self.stage / node_pair_steps.rail_output(rail)) for rail in meant}
        rails = {rail: table for rail, text in texts.items() for table in steps([text], self.parse)}
        return findings(
            found.pair_tables, Settings(repeats=self.repeats), self.least, rails, meant,
            self.rails.expected_alone_mb_s, self.places,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SampleProber:
    """Names who is slow from the screening of a sample, and says what the sample covered."""

    rails: RailProber
    sampled: SampleOrigin
    places: topology.Places
    up_links: int | None

    def explain(self, found: Assessment) -> Assessment:
        if found.verdict.fails and not found.verdict.misses_reference:
            return self.rails.explain(found)
        return with_screening(found, self.sampled, self.places, self.up_links)
