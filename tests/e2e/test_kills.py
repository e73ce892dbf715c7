"""One kill -9 for each process of a run: nothing is left, no reported result is lost, no healthy part is named.

`benchmarks/kills.py` does this a hundred times.
"""

import pytest

from railyard.provision.testbed.lock import measurement_lock
from tests.e2e.conftest import VirtualSite
from tests.made.kills import VICTIMS, kill_one
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.e2e, pytest.mark.full]
SEED = 22

#: What the failed tests of such a run say, or the run itself.
SAID = {
    "reframe": "was promised and did not run: ReFrame ended before it",
    "front": "the run was killed before its end",
    "rank": "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "node": "the virtual cluster is not up",
}


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, id=victim, marks=pytest.mark.fault("session", f"kill -9 of the {victim}", SAID[victim]))
        for number, victim in enumerate(VICTIMS)
    ],
)
def test_a_kill_leaves_nothing_loses_nothing_and_blames_nobody(site: VirtualSite, number: int, said: str) -> None:
    with measurement_lock(lambda sentence: None, site.folder):
        killed = kill_one(site.folder, number, SEED, PATIENCE_S, at_once=True)
    assert (killed.victim, killed.problems) == (VICTIMS[number], ())
    assert said in killed.said
