"""Slurm's records of nodes: they are read completely, and every node that can run no job is named with the reason.

The texts are synthetic, in the form of `scontrol -o show nodes` of Slurm 22.05.
"""

import pytest

from railyard.parsers.slurm import NodeState, describe_untested, how_many, of_system, parse_nodes

NODES = (
    "NodeName=vn1 Arch=x86_64 CoresPerSocket=16 CPUAlloc=0 CPUEfctv=16 CPUTot=16 CPULoad=0.40 "
    "AvailableFeatures=edr,gpu ActiveFeatures=edr,gpu Gres=(null) NodeAddr=10.99.0.1 NodeHostName=vn1 Version=22.05.8 "
    "OS=Linux 6.18.0 #1 SMP x "
    "RealMemory=1000 State=IDLE ThreadsPerCore=1 Owner=N/A MCS_label=N/A Partitions=all,debug BootTime=None "
    "Comment=second row, left=side\n"
    "NodeName=vn2 CPUTot=16 ActiveFeatures=(null) State=IDLE+DRAIN Partitions=all "
    "Reason=bad cable on hsn1 [root@2026-11-21T18:00:00]\n"
    "NodeName=vn3 CPUTot=16 ActiveFeatures=edr State=DOWN* Partitions=all "
    "Reason=Not responding [slurm@2026-11-21T18:00:00]\n"
    "NodeName=vn4 CPUTot=16 ActiveFeatures=edr State=ALLOCATED Partitions=all \n"
)


def node(state: str, reason: str | None = None) -> NodeState:
    return NodeState("vn1", state, reason)


def test_a_record_is_read_with_its_blanks() -> None:
    assert parse_nodes(NODES) == (
        NodeState("vn1", "IDLE", None, ("all", "debug"), ("edr", "gpu")),
        NodeState("vn2", "IDLE+DRAIN", "bad cable on hsn1", ("all",), ()),
        NodeState("vn3", "DOWN*", "Not responding", ("all",), ("edr",)),
        NodeState("vn4", "ALLOCATED", None, ("all",), ("edr",)),
    )


@pytest.mark.parametrize("text", ["", "slurm_load_node error: Unable to contact slurm controller\n", "State=IDLE\n"])
def test_what_is_no_record_gives_no_node(text: str) -> None:
    assert parse_nodes(text) == ()


@pytest.mark.parametrize(
    ("state", "unfit"),
    [
        ("IDLE", None),
        ("ALLOCATED", None),
        ("MIXED", None),
        ("IDLE+PLANNED", None),
        ("IDLE+RESERVED", None),
        ("COMPLETING", None),
        ("IDLE~", None),
        ("IDLE+DRAIN", "drained"),
        ("DRAINED", "drained"),
        ("MIXED+DRAIN", "drained"),
        ("DRAINING", "draining"),
        ("DOWN", "down"),
        ("DOWN*", "not responding"),
        ("IDLE*", "not responding"),
        ("IDLE+NOT_RESPONDING", "not responding"),
        ("DOWN+DRAIN", "down"),
        ("IDLE+MAINT", "in maintenance"),
        # What scontrol prints of a node in a reservation for maintenance, 22.05 and 26.05.
        ("IDLE+MAINTENANCE+RESERVED", "in maintenance"),
        ("IDLE+POWER_DOWN", "to be powered down"),
        ("FAILING", "failing"),
        ("UNKNOWN", "of unknown state"),
        ("IDLE+EXCLUDED", "excluded"),
    ],
)
def test_why_no_job_can_run_there(state: str, unfit: str | None) -> None:
    assert node(state).unfit == unfit


@pytest.mark.fault(
    "scheduler", "a node that lost a memory module with its reboot", "vn3 is not registered with what slurm.conf has"
)
@pytest.mark.parametrize("state", ["IDLE+INVALID_REG", "INVAL"])
def test_a_node_that_registered_with_less_runs_no_job(state: str, promise: str) -> None:
    found = parse_nodes(
        f"NodeName=vn3 State={state} Partitions=all Reason=Low RealMemory [slurm@2026-11-21T18:00:00]\n"
    )
    assert describe_untested(found) == f"{promise} (Low RealMemory)"


def test_only_an_idle_node_without_a_fault_is_ready() -> None:
    ready = {state: node(state).is_ready for state in ("IDLE", "IDLE+DRAIN", "IDLE*", "ALLOCATED", "DOWN", "UNKNOWN")}
    assert [state for state, is_ready in ready.items() if is_ready] == ["IDLE"]


def test_nodes_that_cannot_be_tested_are_named_with_the_administrators_reason() -> None:
    assert (
        describe_untested(parse_nodes(NODES))
        == "vn2 is drained (bad cable on hsn1); vn3 is not responding (Not responding)"
    )
    assert describe_untested([node("IDLE"), node("ALLOCATED")]) is None
    assert node("ALLOCATED").words == "vn1 is allocated"


def test_a_check_of_all_nodes_says_how_many_of_how_many() -> None:
    nodes = parse_nodes(NODES)
    assert how_many(2, nodes, 4) == (
        "2 of 4 nodes were tested, 2 not tested: vn2 is drained (bad cable on hsn1); "
        "vn3 is not responding (Not responding)"
    )
    assert how_many(4, nodes, 4) is None
    assert how_many(1, (), 2) == "1 of 2 nodes were tested, 1 not tested"


def names(nodes: tuple[NodeState, ...]) -> list[str]:
    return [one.name for one in nodes]


def test_the_nodes_of_a_system_are_those_of_its_names_partition_and_feature() -> None:
    nodes = parse_nodes(NODES)
    assert names(of_system(nodes, (), None, None, ())) == ["vn1", "vn2", "vn3", "vn4"]
    assert names(of_system(nodes, ("vn4", "vn1"), None, None, ())) == ["vn1", "vn4"]
    assert names(of_system(nodes, (), "debug", None, ())) == ["vn1"]
    assert names(of_system(nodes, (), None, "edr", ())) == ["vn1", "vn3", "vn4"]
    # Only the scheduler knows which nodes an expression means.
    assert names(of_system(nodes, (), None, "edr|fdr", ())) == ["vn1", "vn2", "vn3", "vn4"]


@pytest.mark.parametrize("state", ["IDLE+MAINTENANCE+RESERVED", "IDLE+MAINT"])
def test_a_maintenance_keeps_out_only_jobs_without_a_reservation(state: str) -> None:
    nodes = (node(state),)
    assert [one.unfit for one in of_system(nodes, (), None, None, ())] == ["in maintenance"]
    assert [one.unfit for one in of_system(nodes, (), None, None, (), within_reservation=True)] == [None]
    drained = (node(f"{state}+DRAIN"),)
    assert [one.unfit for one in of_system(drained, (), None, None, (), within_reservation=True)] == ["drained"]


def test_an_excluded_node_is_not_left_out_in_silence() -> None:
    found = of_system(parse_nodes(NODES), ("vn1", "vn4"), None, None, ("vn4",))
    assert describe_untested(found) == "vn4 is excluded (by the system's file)"
