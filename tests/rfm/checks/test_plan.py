"""How a test runs, decided without ReFrame: its nodes, ranks, launch and case, or why it does not run."""

from dataclasses import replace
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.parsers.slurm import NodeState
from railyard.rfm.checks.groups import Layout, Start
from railyard.rfm.checks.measured_run import MeasuredRun
from railyard.rfm.checks.plan import Plan, UntestedCase, plan_check
from railyard.rfm.checks.replayed_run import ReplayedRun
from railyard.site.site import Site
from railyard.site.systems.measure import Measure
from railyard.site.systems.model import DeclaredLink, DisabledCombination
from railyard.site.test_id import TestId
from railyard.stacks.model import NIC_PER_RANK
from tests.made.check import MadeCheck

TEST = TestId("hsn", "mpich", 1, "imb/Uniband", "ImbUniband", "single", "virtual", "ImbUniband %rails=1", "1a2b3c4d")


def site_with(site: Site, **changes: Any) -> Site:
    return replace(site, system=site.system.model_copy(update=changes))


def plan(site: Site, check: MadeCheck, **of: Any) -> Plan:
    """Return the plan of a check over its number of rails, as a dry run, so nothing is asked."""
    return plan_check(check, site, replace(TEST, rails=check.rails, **of), dry=True)


def test_a_run_has_its_nodes_ranks_and_devices(virtual: Site) -> None:
    found = plan(virtual, MadeCheck(ranks_per_node=2))
    assert (found.ranks.total, found.ranks.per_node) == (4, 2)
    assert (found.launch.nodes, found.launch.meant) == (("vn1", "vn2"), ("hsn0",))
    assert isinstance(found.runner, MeasuredRun)


def test_what_a_run_waits_for_has_its_nodes_and_ends_with_queue_and_limit(virtual: Site) -> None:
    found, limit = plan(virtual, MadeCheck()), virtual.system.limit_s()
    assert found.wait == ("imb/Uniband with mpich over hsn0 on vn1 and vn2", limit)
    batch = virtual.system.model_copy(update={"scheduler": "slurm"})
    queued = replace(found, site=replace(virtual, system=batch))
    assert queued.wait == (f"{found.wait[0]}: its time limit of {limit} s begins with its job", None)
    jobs = batch.jobs.model_copy(update={"max_pending": "2m"})
    bounded = replace(found, scheduling=replace(found.scheduling, system=batch.model_copy(update={"jobs": jobs})))
    assert replace(bounded, site=queued.site).wait == (found.wait[0], 120 + limit)


def test_a_run_over_all_nodes_has_all_that_the_file_names(virtual: Site) -> None:
    check = MadeCheck(all_nodes=True)
    assert plan(virtual, check).launch.nodes == virtual.system.nodes.names
    assert check.num_nodes == 4


def test_nodes_that_can_run_no_job_are_left_out_and_said(virtual: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    states = tuple(NodeState(name, "DOWN" if name == "vn3" else "IDLE") for name in virtual.system.nodes.names)
    monkeypatch.setattr(MeasuredRun, "node_states", lambda self: states)
    found = plan(virtual, MadeCheck(all_nodes=True))
    assert found.ranks.total == 3
    assert found.nodes_remark is not None and found.nodes_remark.startswith("3 of 4 nodes were tested")
    with pytest.raises(UntestedCase) as error:
        plan(virtual, MadeCheck(num_nodes=4))
    assert str(error.value) == f"not tested: {error.value.reason}"
    assert error.value.reason.startswith("it needs 4 nodes and 3 can run a job")


def test_what_the_site_switched_off_is_not_run_with_the_sites_own_reason(virtual: Site) -> None:
    off = DisabledCombination.model_validate({"fabric": "hsn", "stack": "mpich", "reason": "being mended"})
    with pytest.raises(UntestedCase) as error:
        plan(site_with(virtual, disabled=(off,)), MadeCheck())
    assert (error.value.reason, str(error.value)) == ("being mended", "disabled by the site: being mended")


def test_the_system_bounds_messages_and_passes(virtual: Site) -> None:
    measure = Measure.model_validate({"largest": 65536, "passes": 1})
    check = MadeCheck()
    plan(site_with(virtual, measure=measure), check)
    assert (check.largest, check.passes) == (65536, 1)
    plan(virtual, check := MadeCheck())
    assert (check.largest, check.passes) == (4 << 20, 3)


def test_the_pace_of_a_link_and_what_the_file_states_reach_the_check(virtual: Site) -> None:
    plan(virtual, check := MadeCheck())
    ((pace, stated),) = check.paces
    assert pace is not None and stated is None
    # 400 Mbit/s of frames of 1514 B with 1460 B of payload; over such a slow rail there is no time for more.
    assert (round(pace.rate_mb_s, 2), pace.start_us, pace.seconds) == (48.22, 20.0, 0.0)
    said = Measure.model_validate({"duration": "2m", "benchmarks": {"imb/Uniband": {"window": 32}}})
    plan(site_with(virtual, measure=said), check := MadeCheck(rails=2))
    ((pace, stated),) = check.paces
    assert pace is not None and stated is not None
    assert (round(pace.rate_mb_s, 2), pace.seconds, stated.given_amounts) == (96.43, 120.0, {"window": 32})


def test_a_recording_and_a_link_without_a_rate_have_no_pace(virtual: Site) -> None:
    plan(replace(virtual, system=virtual.system.as_replay()), check := MadeCheck())
    assert check.paces == [(None, None)]
    hsn = virtual.system.fabrics["hsn"]
    link = DeclaredLink.model_validate({"name": "any", "data_rate_gbit_s": None, "source": "nobody knows"})
    fabrics = {"hsn": hsn.model_copy(update={"declared_link": link})}
    plan(site_with(virtual, fabrics=fabrics), check := MadeCheck())
    assert check.paces == [(None, None)]


def test_a_nic_per_rank_has_a_rank_a_rail(virtual: Site) -> None:
    for policy, ranks in ((NIC_PER_RANK, 2), ("striping", 1)):
        check = MadeCheck(rails=2, layout=Layout(pair_per_rail=True))
        assert plan(virtual, check, policy=policy).ranks.per_node == ranks


@pytest.mark.parametrize(
    ("changes", "nic_ranks", "side"),
    [
        ({}, 2, "near"),
        ({"placement": "far"}, 2, "far"),
        ({"placement": "launcher"}, 2, None),
        ({"start": Start(time_limit="app")}, 0, None),
        ({"layout": Layout(pair_per_rail=True, within_node=True)}, 0, None),
    ],
)
def test_each_rank_of_a_benchmark_runs_beside_a_nic_of_its_own(
    virtual: Site, changes: dict[str, Any], nic_ranks: int, side: str | None
) -> None:
    nodes = site_with(virtual, provider="nodes")
    check = MadeCheck(**{"rails": 2, "layout": Layout(pair_per_rail=True), **changes})
    placing = plan(nodes, check, policy=NIC_PER_RANK, stack="intelmpi").placing
    assert (placing.nic_ranks, placing.side) == (nic_ranks, side)


def test_an_applications_ranks_are_dealt_the_rails_unless_they_are_put_elsewhere(virtual: Site) -> None:
    nodes, of = site_with(virtual, provider="nodes"), {"policy": NIC_PER_RANK, "stack": "intelmpi"}
    assert plan(nodes, MadeCheck(rails=2, start=Start(time_limit="app")), **of).placing.dealt
    assert not plan(nodes, MadeCheck(rails=2, start=Start(time_limit="app"), placement="far"), **of).placing.dealt
    assert not plan(nodes, MadeCheck(rails=2, layout=Layout(pair_per_rail=True)), **of).placing.dealt
    assert not plan(virtual, MadeCheck(rails=2, start=Start(time_limit="app")), **of).placing.dealt, (
        "nodes that share one host"
    )


def test_only_ranks_of_nodes_with_processors_of_their_own_have_nics_of_their_own(virtual: Site) -> None:
    nodes, of = site_with(virtual, provider="nodes"), {"policy": NIC_PER_RANK, "stack": "intelmpi"}
    assert plan(virtual, MadeCheck(rails=2, layout=Layout(pair_per_rail=True)), **of).placing.nic_ranks == 0
    assert plan(nodes, MadeCheck(rails=2), policy="striping", stack="mpich").placing.nic_ranks == 0
    pair = MadeCheck(tool="iperf3", benchmark="throughput", rails=2)
    assert plan(nodes, pair, policy=NIC_PER_RANK, stack="tcp").placing.nic_ranks == 0


def test_a_rail_alone_has_the_stacks_own_policy_and_a_rank_a_node(virtual: Site) -> None:
    whole = plan(virtual, MadeCheck(rails=2, ranks_per_node=2))
    alone = whole.launch_alone("hsn1", ("vn3", "vn4"), 1)
    assert (alone.meant, alone.nodes) == (("hsn1",), ("vn3", "vn4"))
    assert (alone.settings.policy_name, "2" in alone.options) == ("single", True)
    assert alone.env != whole.launch.env


def test_a_run_over_one_rail_alone_means_that_device_and_keeps_its_policy(virtual: Site) -> None:
    found = plan(virtual, MadeCheck(policy="rail-2"), policy="rail-2")
    assert (found.launch.meant, found.launch.settings.policy_name) == (("hsn1",), "rail-2")
    assert "hsn0" in found.launch.watched
    first = plan(virtual, MadeCheck()).launch
    assert {**first.env, **found.launch.env} == found.launch.env, "the stack is told what it is told of one rail"
    assert found.launch.env["UCX_NET_DEVICES"] == "hsn1"


def test_within_a_node_nothing_is_placed_and_no_rail_is_meant(virtual: Site) -> None:
    found = plan(virtual, MadeCheck(layout=Layout(within_node=True), placement="near"))
    assert (found.placing.side, found.launch.meant) == (None, ())
    with pytest.raises(RailyardError, match=r"^-S placement: found"):
        plan(virtual, MadeCheck(placement="left"))


@pytest.mark.parametrize(
    ("check_class", "asked", "side"),
    [("micro", "", "near"), ("app", "", None), ("app", "near", "near"), ("micro", "launcher", None)],
)
def test_an_application_is_near_a_rail_only_where_that_is_asked_for(
    virtual: Site, check_class: str, asked: str, side: str | None
) -> None:
    """Near one rail it would have only the cores of one socket."""
    fabrics = {"hsn": virtual.system.fabrics["hsn"].model_copy(update={"placement": "near"})}
    check = MadeCheck(start=Start(time_limit=check_class), placement=asked)
    assert plan(site_with(virtual, fabrics=fabrics), check).placing.side == side


def test_a_rank_is_told_its_variables(virtual: Site) -> None:
    launch = plan(virtual, MadeCheck(told_ranks={"OMP_NUM_THREADS": "1"})).launch
    assert launch.env["OMP_NUM_THREADS"] == "1"
    assert "OMP_NUM_THREADS" in " ".join(launch.options), "a launcher of the stack's own hands on what it is told to"


def test_a_replay_asks_no_node_and_leaves_the_ranks_as_they_are(virtual: Site) -> None:
    check = MadeCheck(all_nodes=True)
    found = plan(replace(virtual, system=virtual.system.as_replay()), check)
    assert isinstance(found.runner, ReplayedRun)
    assert (found.launch.nodes, check.shaped) == ((), 0)
    plan(virtual, check)
    assert check.shaped == 1


def test_no_two_tags_are_the_same(virtual: Site) -> None:
    found = plan(virtual, MadeCheck())
    tags = {found.tag() for _ in range(100)}
    assert len(tags) > 1
    assert all(tag.startswith("1a2b3c4d-") for tag in tags)
