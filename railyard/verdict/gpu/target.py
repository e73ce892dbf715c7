"""What collectives between GPUs are judged by, as a person gives it: nodes in words, a system, a transport class."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from railyard.base.errors import RailyardError
from railyard.benchmarks.table import micro
from railyard.hardware.gpu_nodes import GpuNode, node_of_words
from railyard.site.gpu_shape import gpu_node
from railyard.site.references.model import Entry
from railyard.site.references.transport_class import TransportClass
from railyard.site.site import Site
from railyard.site.systems.fields import ANY
from railyard.verdict.inputs import Target
from railyard.verdict.wording import gpu_runs


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
