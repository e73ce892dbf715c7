"""On how many nodes and GPUs nccl-tests made an output: what the output lists, and what a person says about it.

What collectives between GPUs are judged by, as a person gives it: nodes in words, a system, a transport class.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from railyard.base.errors import RailyardError
from railyard.base.wording import count_of, listing
from railyard.benchmarks.gpu_collectives import COLLECTIVES, find_collective, ranks_of
from railyard.benchmarks.table import micro
from railyard.hardware.gpu_nodes import GpuNode, Shape, link_of_gpu, node_of_words
from railyard.parsers.nccl_said import Job, NcclOutput, Rank
from railyard.parsers.nccl_words import GB, IN_PLACE
from railyard.parsers.output import Table
from railyard.site.gpu_shape import gpu_node
from railyard.site.references.model import Entry
from railyard.site.references.transport_class import TransportClass
from railyard.site.site import Site
from railyard.site.systems.fields import ANY
from railyard.verdict.inputs import Target
from railyard.verdict.wording import gpu_runs
from railyard.verdict.wording import gpu_runs as words


@dataclass(frozen=True, slots=True)
class GpuTarget:
    """What each node has, and what its figures are compared with.

    ``words``: the nodes as a sentence names them. ``nodes``: on how many of them the job ran, if a person says so;
    None: what the output says. ``of``: the transport class whose published numbers count. ``rails``: the NICs
    (``mlx5_0:1``), ``hosts``: the nodes, if a system's file names them.
    ``referenced``: the system's references, if some are for nccl-tests. ``report_only``: why the system has none.
    """

    node: GpuNode
    words: str
    nodes: int | None = None
    of: TransportClass | None = None
    system: str = ""
    fabric: str = ""
    rails: tuple[str, ...] = ()
    nearest: Mapping[str, tuple[int, ...]] | None = None
    referenced: Target | None = None
    hosts: tuple[str, ...] = ()
    report_only: str | None = None

    @property
    def description(self) -> str:
        """The target in a few words."""
        of_class = "" if self.of is None else self.of.name
        return gpu_runs.describe_target(self.system, self.fabric, self.words, of_class)

    @property
    def given_option(self) -> str:
        """The option that says what each node has, with its value."""
        if self.system:
            return f"--system {self.system}"
        if self.of is not None and self.words == self.of.node:
            return f"--class {self.of.name}"
        return f"--nodes-have {self.words}"

    @property
    def as_json(self) -> dict[str, Any]:
        """The target as JSON values."""
        link = self.node.link
        return {
            "system": self.system or None,
            "link": None if link is None else link.name,
            "fabric": self.fabric or None,
            "stack": None,
            "rails": self.node.nics,
            "policy": None,
            "slot": None,
            "nodes_have": self.words,
            "class": None if self.of is None else self.of.name,
        }


def of_words(words: str, of: TransportClass | None = None, nodes: int | None = None) -> GpuTarget:
    """Return nodes in words such as ``gpus=8,nvlink=4,nics=8,link=ib-ndr``.

    Raises RailyardError for wrong words, or if the class is for other nodes.
    """
    node = node_of_words(words)
    if of is not None:
        _refuse_other_nodes(node, of, f"--nodes-have {words}")
    return GpuTarget(node, words, _nodes(nodes), of)


def of_class(of: TransportClass, nodes: int | None = None) -> GpuTarget:
    """Return the nodes of a transport class, with its published numbers."""
    return GpuTarget(of.has, of.node, _nodes(nodes), of)


def of_gpu_system(
    site: Site,
    fabric: str | None,
    rails: int | None = None,
    of: TransportClass | None = None,
    nodes: int | None = None,
    stack: str | None = None,
) -> GpuTarget:
    """Return the nodes of a system whose file has GPUs, over this many rails of a fabric (None: all of them).

    ``stack``: the library, if references differ by it; if left out, the only one that they name.

    Raises RailyardError if the file has no GPUs, and for a fabric or rails that it does not have.
    """
    system = site.system
    if system.gpus is None:
        raise RailyardError(
            f"--system {system.system}: its file has no GPUs, expected gpus: there, since collectives between GPUs are "
            "judged by them (docs/howto/clusters.md); or describe the nodes with --nodes-have"
        )
    name = fabric if fabric is not None else next(iter(system.fabrics)) if len(system.fabrics) == 1 else None
    if name is None or name not in system.fabrics:
        found = "nothing" if fabric is None else f'"{fabric}"'
        known = ", ".join(system.fabrics)
        raise RailyardError(f"--fabric: found {found}, expected a fabric of {system.system}: {known}")
    there = len(system.fabrics[name].rails)
    if rails is not None and not 1 <= rails <= there:
        raise RailyardError(f"--rails: found {rails}, expected 1 to {there}, the rails of {name} of {system.system}")
    node = gpu_node(system, name, rails)
    assert node is not None  # the file has GPUs
    if of is not None:
        _refuse_other_nodes(node, of, f"--system {system.system}")
    used = tuple(rail.name for rail in system.fabrics[name].used_rails(node.nics))
    words = [f"gpus={node.gpus}", *([] if node.gpu_link is None else [node.gpu_link.name]), f"nics={node.nics}"]
    return GpuTarget(
        node,
        ",".join([*words, f"link={system.fabrics[name].link.name}"]),
        _nodes(nodes),
        of,
        system=system.system,
        fabric=name,
        rails=used,
        nearest={device: tuple(gpus) for device, gpus in system.gpus.nearest.items()},
        referenced=_reference_target(site, name, node.nics, stack),
        hosts=system.nodes.names,
        report_only=system.report_only,
    )


def of_gpus(entry: Entry) -> bool:
    """Return whether a reference is for collectives between GPUs."""
    return any(micro.tool(micro.find(key).tool).between_gpus for key in entry.benchmark)


def _reference_target(site: Site, fabric: str, rails: int, stack: str | None) -> Target | None:
    """Return how the references of nccl-tests on a fabric are looked up; None if the system has none there."""
    mine = [entry for entry in site.references.entries if entry.fabric == fabric and of_gpus(entry)]
    if not mine or site.system.report_only is not None:
        return None
    named = {each for entry in mine for each in entry.stack} - {ANY}
    chosen = stack or (named.pop() if len(named) == 1 else ANY)
    of = site.system.fabrics[fabric]
    return Target(site.system.system, fabric, of, chosen, rails, ANY, site.references)


def _nodes(nodes: int | None) -> int | None:
    if nodes is not None and nodes < 1:
        raise RailyardError(f"--nodes: found {nodes}, expected at least 1")
    return nodes


def _refuse_other_nodes(node: GpuNode, of: TransportClass, given: str) -> None:
    """Raise RailyardError if nodes are not those of a class: its numbers say nothing about them."""
    for what, mine, theirs in (
        ("GPUs", node.gpus, of.has.gpus),
        ("NICs", node.nics, of.has.nics),
        ("link", _name(node.link), _name(of.has.link)),
        ("link between GPUs", _name(node.gpu_link), _name(of.has.gpu_link)),
        ("NVLink domain", node.domain, of.has.domain),
        ("way within a node", node.within_over_nics, of.has.within_over_nics),
    ):
        if mine != theirs:
            raise RailyardError(
                f"--class {of.name}: found {given}, whose {what} is {mine}, expected {theirs} as in the class "
                f"({of.node}); leave one of the two out"
            )


def _name(link: Any) -> str | None:
    return None if link is None else link.name


#: The columns of a table that are judged: its out-of-place half and its in-place half.
HALVES = ("busbw", "busbw" + IN_PLACE)
_GRACE = re.compile(r"\b(?:GH|GB)[23]00\b")


@dataclass(frozen=True, slots=True)
class GpuRun:
    """The run of one table. ``shape`` None: it is not known, and ``unknown`` says why ("the output lists no ranks").

    ``unlike``: how the output differs from what the person said. ``in_order``: its ranks were placed node after node.
    """

    collective: str
    shape: Shape | None
    unknown: str = ""
    unlike: str | None = None
    in_order: bool = True
    job: Job | None = None
    gpu: str = ""

    @property
    def iterations(self) -> int:
        """How often each size was measured: 20 if the output does not say, as this is the default of nccl-tests."""
        return 20 if self.job is None else max(1, self.job.settings.get("iterations", 20))


def rows(table: Table, column: str) -> tuple[tuple[int, float], ...]:
    """Return a column of bandwidths as (size in bytes, GB/s) for each row that has both; a row of 0 B moves nothing."""
    if column not in table.columns:
        return ()
    found = zip(table.column("size"), table.column(column), strict=True)
    return tuple(
        (size, value / GB)
        for size, value in found
        if isinstance(size, int) and size > 0 and isinstance(value, float | int) and math.isfinite(value)
    )


def curve(table: Table, column: str) -> dict[int, float]:
    """Return a column of bandwidths as size in bytes -> GB/s (10^9 B/s): the lowest of each size."""
    found: dict[int, float] = {}
    for size, value in rows(table, column):
        found[size] = min(value, found.get(size, value))
    return found


def run_of(table: Table, key: str, spoken: NcclOutput | None, target: GpuTarget) -> GpuRun:
    """Return what is known of the run that printed a table. Raises RailyardError if the nodes cannot be its own."""
    program = key.partition("/")[2]
    name = program.removesuffix("_perf")
    job = next((each for each in spoken.jobs if table.line in each.tables), None) if spoken else None
    gpu = str(table.context.get("gpu", ""))
    if name not in COLLECTIVES:
        return GpuRun(name, None, words.no_formula(name), job=job, gpu=gpu)
    listed = table.context.get("nodes")
    if isinstance(listed, int):
        return _run_of(table, name, job, target, listed)
    if target.nodes is None:
        return GpuRun(name, None, words.nodes_not_listed(), job=job, gpu=gpu)
    try:
        shape = Shape(target.node, target.nodes)
    except RailyardError as error:
        return GpuRun(name, None, str(error), job=job, gpu=gpu)
    return GpuRun(name, shape, unlike=_other_ranks(table, name, shape), job=job, gpu=gpu)


def _run_of(table: Table, name: str, job: Job | None, target: GpuTarget, nodes: int) -> GpuRun:
    ranks, groups = table.context.get("ranks"), table.context.get("groups", 1)
    gpu = str(table.context.get("gpu", ""))
    hosts = [] if job is None else [rank.host for rank in sorted(job.ranks, key=lambda rank: rank.rank)]
    if not isinstance(ranks, int):
        return GpuRun(name, None, words.incomplete_list(), job=job, gpu=gpu)
    if target.nodes is not None and target.nodes != nodes:
        raise RailyardError(
            f"--nodes: found {target.nodes}, expected {nodes}: the output's own list of ranks (line "
            f"{job.ranks[0].line if job and job.ranks else table.line}) names {count_of(nodes, 'node')}, "
            f"{listing(list(dict.fromkeys(hosts))[:4])}"
        )
    if isinstance(groups, int) and groups > 1:
        return GpuRun(name, None, words.one_of_groups(ranks, groups), job=job, gpu=gpu)
    twice = _repeated_gpu(job, target.node.gpus)
    if twice is not None:
        return GpuRun(name, None, twice, job=job, gpu=gpu)
    uneven = len({hosts.count(host) for host in set(hosts)}) > 1
    if uneven or ranks % nodes:
        return GpuRun(name, None, words.uneven_ranks(ranks, nodes), job=job, gpu=gpu)
    used = ranks // nodes
    other = None if job is None else _other_gpus(job.ranks, target)
    if other is not None:
        return GpuRun(name, None, other, job=job, gpu=gpu)
    if used > target.node.gpus:
        raise RailyardError(
            f"{target.given_option}: found gpus {target.node.gpus}, expected at least {used}: the output has "
            f"{ranks} ranks on {count_of(nodes, 'node')}"
        )
    if ranks < 2:
        return GpuRun(name, None, words.one_rank(), job=job, gpu=gpu)
    try:
        shape = Shape(target.node, nodes, used)
    except RailyardError as error:
        return GpuRun(name, None, str(error), job=job, gpu=gpu)
    in_order = len([host for host, _ in groupby(hosts)]) == len(set(hosts))
    return GpuRun(name, shape, in_order=in_order, job=job, gpu=gpu)


def _other_gpus(ranks: Sequence[Rank], target: GpuTarget) -> str | None:
    """Return that the ranks' GPUs are of several kinds, or of a kind with other links than given; None if neither."""
    kinds: dict[str, Rank] = {}
    for rank in ranks:
        kinds.setdefault(rank.name, rank)
    if len(kinds) > 1:
        return words.several_kinds([(kind, rank.rank, rank.host, rank.line) for kind, rank in kinds.items()])
    given = target.node.gpu_link
    for kind, rank in kinds.items():
        own = link_of_gpu(kind)
        if given is not None and not given.is_slot and own is not None and own.name != given.name:
            return words.other_links(kind, rank.line, own.generation, target.given_option, given.generation)
    return None


def _repeated_gpu(job: Job | None, gpus: int) -> str | None:
    """Return that a host lists one GPU twice: then several nodes have one name, or ranks share a GPU; else None.

    Before 2.16 a bus address has no domain, so GPUs of one host may have the same one ([0x00]). All GPUs of a node with
    Grace processors do ([0x01]); with one of them per process, all are device 0, too. ``gpus``: those that a node has.
    """
    each: dict[str, list[Rank]] = {}
    for rank in () if job is None else job.ranks:
        each.setdefault(rank.host, []).append(rank)
    seen: dict[tuple[str, str, int | None], Rank] = {}
    for rank in chain.from_iterable(own for own in each.values() if len(own) > gpus or not _is_grace(own)):
        key = (rank.host, rank.bus_id, None if ":" in rank.bus_id else rank.device)
        first = seen.setdefault(key, rank)
        if first is not rank and rank.bus_id:
            return words.same_gpu(first.rank, rank.rank, rank.line, rank.bus_id, rank.host)
    return None


def _is_grace(ranks: Sequence[Rank]) -> bool:
    """Return whether the GPUs of one host are beside Grace processors, and have one bus address without a domain.

    Each has its own process: NCCL does not start if two processes have the same GPU.
    """
    own_process = len({rank.pid for rank in ranks}) == len(ranks)
    one_address = len({rank.bus_id for rank in ranks}) == 1 and ":" not in ranks[0].bus_id
    return own_process and one_address and all(_GRACE.search(rank.name) for rank in ranks)


def _other_ranks(table: Table, name: str, shape: Shape) -> str | None:
    """Return a sentence if busbw and algbw are those of another number of ranks: fewer GPUs, or several jobs."""
    busbw, algbw = curve(table, HALVES[0]), curve(table, "algbw")
    if not busbw or not algbw or table.context.get("algbw_is_busbw"):
        return None
    size = max(busbw, key=lambda each: busbw[each])
    found = ranks_of(name, algbw.get(size, 0.0), busbw[size])
    if found is None or found[0] <= shape.ranks <= found[1]:
        return None
    low, high = found
    # A whole number of ranks must be between both ends; if not, the row is of another collective.
    least, most = math.ceil(low), None if math.isinf(high) else math.floor(high)
    of = find_collective(name).name
    rates = busbw[size], algbw[size]
    return words.other_ranks(rates, of, least, most, shape.nodes, shape.gpus, shape.ranks)
