"""The check that measures a sample of all pairs: what it asks of its budget."""

import pytest

from railyard.rfm.checks.pairs import enough_s
from railyard.verdict.blame.screening.model import Budget
from railyard.verdict.blame.screening.plan import LEAST


@pytest.mark.parametrize("round_ms", [10, 202, 203, 334, 700, 12_345])
@pytest.mark.parametrize(("nodes", "rounds"), [(4, LEAST), (200, 597)])
def test_the_budget_of_few_nodes_has_as_many_rounds_as_a_sample_needs(round_ms: int, nodes: int, rounds: int) -> None:
    round_s = round_ms / 1000
    told = float(f"{enough_s(nodes, round_s):.3f}")  # as the job's script has it
    assert Budget(told, round_s).rounds(0) == rounds
