"""All pairs of nodes: measured in rounds of disjoint pairs, searched for a slow node, pair or side of the switch."""

from railyard.verdict.blame.search.model import (
    Layout,
    Level,
    Pair,
    PairsError,
    Round,
    Settings,
    Step,
    Suspect,
    Value,
    Verdict,
)
from railyard.verdict.blame.search.rounds import Cost, cost, packed, rounds
from railyard.verdict.blame.search.search import advance, search

__all__ = [
    "Cost",
    "Layout",
    "Level",
    "Pair",
    "PairsError",
    "Round",
    "Settings",
    "Step",
    "Suspect",
    "Value",
    "Verdict",
    "advance",
    "cost",
    "packed",
    "rounds",
    "search",
]
