"""The nodes and ranks that a check is given, by `-S` or by the system's file, and what it refuses."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from railyard.benchmarks.table.applications import on_part
from railyard.rfm.checks.groups import OLD_NAMES
from railyard.site.systems.measure import NODES, RANKS, Takes

if TYPE_CHECKING:
    from railyard.site.systems.measure import StatedAmounts

_BUILT = "spack of the stack in the system's file"
#: Variables of ReFrame that every check sets itself or does not use, each with what to use instead.
SET_BY_CHECKS: Mapping[str, str] = {
    "num_tasks": "num_nodes and ranks_per_node",
    "num_tasks_per_node": "ranks_per_node",
    "executable": "benchmarks of the stack in the system's file",
    "executable_opts": "variables of the check, such as repetitions",
    "variables": "env of the stack in the system's file",
    "env_vars": "env of the stack in the system's file",
    "prerun_cmds": "modules and env of the stack in the system's file",
    "postrun_cmds": "a check of your own",
    "time_limit": "time_limit and jobs: time_limits in the system's file",
    "reference": "references/*.yaml",
    "perf_variables": "references/*.yaml",
    "valid_systems": "--system",
    "valid_prog_environs": "-p",
    # No check compiles anything.
    "build_system": _BUILT,
    "build_locally": _BUILT,
    "build_time_limit": _BUILT,
    "prebuild_cmds": _BUILT,
    "postbuild_cmds": _BUILT,
    "sourcepath": _BUILT,
}


def take_numbers(check: Any, takes: Takes, told: Collection[str], stated: "StatedAmounts | None") -> None:
    """Set a check's nodes and ranks as `-S` gives them (``told`` names the variables), else as the file states them.

    ``check`` has its benchmark, and the numbers that `-S` set. What it does not take is in its ``request.refused``, and
    fails its set-up. A check that is given a number of nodes no longer runs on all.
    """
    instead = {**SET_BY_CHECKS, **{name: f"{new} in a check of your own" for name, new in OLD_NAMES.items()}}
    sentences = [f"-S {name}: no check takes it, expected {new}" for name, new in instead.items() if name in told]
    has_nodes = NODES in told or ("all_nodes" in told and not check.all_nodes)
    # A sweep has set its own already; ranks may be stated for it too.
    nodes = int(type(check).num_nodes) if has_nodes else None
    ranks = check.ranks_per_node if RANKS in told else None
    by_nodes, by_ranks = f"-S {NODES}", f"-S {RANKS}"
    if stated is not None:
        if nodes is None and stated.nodes is not None and not takes.swept:
            nodes, by_nodes = stated.nodes, "nodes of the system's file"
        if ranks is None and stated.ranks_per_node is not None and takes.ranks:
            ranks, by_ranks = stated.ranks_per_node, "ranks_per_node of the system's file"
    why_nodes = None if nodes is None else takes.why_not_nodes(nodes)
    why_ranks = None if ranks is None else takes.why_not_ranks(ranks)
    sentences += [f"{by_nodes}: found {nodes}, expected {why_nodes}"] if why_nodes else []
    sentences += [f"{by_ranks}: found {ranks}, expected {why_ranks}"] if why_ranks else []
    check.request = replace(check.request, refused=next(iter(sentences), ""))
    if why_nodes and not takes.swept:
        check.num_nodes = takes.nodes
    if nodes is not None and why_nodes is None:
        key = check.benchmark
        check.num_nodes, check.all_nodes = nodes, False
        check.request = replace(check.request, nodes=nodes)
        check.benchmark = on_part(f"{check.tool}/{key}", nodes).partition("/")[2]
        if check.benchmark == key and nodes != takes.nodes:
            check.remarks = (*check.remarks, f"{nodes} nodes ({by_nodes}), compared with the same references")
    if ranks is not None and why_ranks is None:
        check.ranks_per_node, check.request = ranks, replace(check.request, ranks=ranks)
        check.remarks = (*check.remarks, f"{ranks} ranks per node ({by_ranks}), compared with the same references")


def why_refused(check: Any, replayed: bool) -> str | None:
    """Return why a check refuses what it was given; None if it takes it. A recording is as it was made."""
    numbers = [name for name in (NODES, RANKS) if name in check.request.variables]
    if replayed and numbers:
        return f"-S {numbers[0]}: a recording is played, expected the nodes and ranks that it was made with"
    return str(check.request.refused) or None


def why_not_taken(check: Any) -> str | None:
    """Return why a check chose other nodes or ranks than it was asked for; None if it has those.

    A problem of an application may take only squares, or no more ranks than it has parts.
    """
    for name, asked, has in (
        (NODES, check.request.nodes, check.num_nodes),
        (RANKS, check.request.ranks, check.ranks_per_node),
    ):
        if asked and asked != has:
            return f"{name}: found {asked}, but {check.benchmark} takes {has}: ask for {has}, or another problem"
    return None
