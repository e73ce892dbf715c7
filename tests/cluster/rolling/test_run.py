"""A run in groups from its submission to its record, under a Slurm of our own making."""

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from railyard.cluster.rolling import plan
from railyard.cluster.rolling.follow import Seen
from railyard.cluster.rolling.kept import SAMPLE, runs_in
from railyard.cluster.rolling.run import Rolling, rolling
from railyard.site.site import Site
from tests.made import fake_slurm


def begun(site: Site, wanted: plan.Wanted, said: list[str]) -> tuple[Rolling, Seen]:
    """Plan and submit a run in groups, and follow it to its end."""
    now = datetime.now(timezone.utc)
    place = plan.place_of(site, wanted)
    leaves = plan.leaves_of(site, place)
    nodes = plan.nodes_of(site, wanted.nodes, leaves, datetime(2026, 11, 24, 4))
    run = plan.planned(site, wanted, place, nodes, leaves, "20261124T040000Z-1a2b", now)
    _, seconds = plan.written(site, run, place, wanted.sample)
    made = rolling(site, run, runs_in(site.home) / run.id, wanted.group, said.append)
    run = made.submitted(run, run.step(SAMPLE), seconds)
    return made, made.followed(run)


def test_every_node_is_measured_in_a_group_and_a_node_that_is_slow_is_named(
    site: Site, slurm: Callable[..., Path]
) -> None:
    bed, said = slurm({"n03": 3}, slow={"n07": 0.5}), list[str]()
    made, seen = begun(site, plan.Wanted(group=8, at_most=2), said)
    seen = made.confirmed(seen)
    record, found = made.stored(seen, ("railyard", "pairs", "run"))
    print("\n".join(said))
    print(record.verdict.text)
    print(fake_slurm.state_of(bed)["jobs"])
    assert record.state == "fail"
    assert 0
