"""Views of a system's nodes and fabrics: what rules about nodes ask for, whoever gives it.

The whole model of a system's file (`systems.model.System`) and its part of a gate (`systems.node_part.SystemPart`) both
have these fields, so a rule judges both alike. The values that both allow in a field are here, too.

Checks of nodes, fabrics and gates in a system's file: of single values, and whether parts make sense together.

They need no stacks, so they hold for the whole model of a file and for the part of it that a gate reads.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from railyard.base.errors import did_you_mean
from railyard.base.hostlist import expand_names
from railyard.base.strict_yaml import Document
from railyard.base.values import Path_, refuse, seconds, show
from railyard.hardware.counters import DRIVERS
from railyard.hardware.links import LINKS, Link, lanes_and_speed

#: The kinds of fabric as the table of stacks has them; a test compares these with it.
Kind = Literal["tcp", "ib", "roce", "opa", "slingshot", "efa"]
Counters = Literal["netdev", "mlx4", "mlx5", "hfi1", "bnxt_re", "irdma", "efa", "cxi", "rxe", "none"]
Provider = Literal["testbed", "guests", "nodes", "host", "replay"]
HeaderModel = Literal["infiniband", "rocev2", "tcp", "tcp-shaped", "opa", "none"]
LinkFamily = Literal["infiniband", "omnipath", "slingshot", "roce", "ethernet", "efa", "declared"]
PayloadSize = Literal[128, 256, 512, 1024, 2048, 4096]
LinkWidth = Literal[1, 2, 4, 8, 12]
PathMtu = Literal[256, 512, 1024, 2048, 4096]
RoceMode = Literal["v1", "v2"]
IommuMode = Literal["off", "passthrough", "translated"]


class RailView(Protocol):
    """One device and port of each node that carries MPI traffic."""

    @property
    def device(self) -> str: ...
    @property
    def port(self) -> int | None: ...
    @property
    def slot(self) -> str | None: ...
    @property
    def counters(self) -> str: ...
    @property
    def name(self) -> str: ...


class StateView(Protocol):
    """What ports, cards and slots must be, as far as rules ask for it by name."""

    @property
    def width(self) -> int | None: ...
    @property
    def speed(self) -> str | None: ...
    @property
    def mtu(self) -> int | None: ...
    @property
    def subnet_manager(self) -> bool | None: ...
    @property
    def gid_index(self) -> int | None: ...
    @property
    def roce_mode(self) -> str | None: ...


class FabricView(Protocol):
    """One interconnect, as a node shows it."""

    @property
    def kind(self) -> str: ...
    @property
    def declared_link(self) -> object: ...
    @property
    def link(self) -> Link: ...
    @property
    def slot(self) -> str | None: ...
    @property
    def max_payload(self) -> int: ...
    @property
    def mtu(self) -> int | None: ...
    @property
    def gid_index(self) -> int | None: ...
    @property
    def rails(self) -> "tuple[RailView, ...]": ...
    @property
    def fabric_state(self) -> "StateView | None": ...


class NodesView(Protocol):
    """The nodes: their names, or how many the scheduler can give."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def count(self) -> int | None: ...
    @property
    def number(self) -> int: ...


class GateView(Protocol):
    """What a gate demands that sends nothing, and the commands that drain and resume a node."""

    @property
    def limit_s(self) -> int: ...
    @property
    def counters(self) -> Mapping[str, int]: ...
    @property
    def flaps_per_day(self) -> int: ...
    @property
    def quiet_s(self) -> int: ...
    @property
    def optics(self) -> bool: ...
    @property
    def neighbours(self) -> tuple[str, ...]: ...
    @property
    def drain(self) -> tuple[str, ...]: ...
    @property
    def resume(self) -> tuple[str, ...]: ...


class SystemView(Protocol):
    """A cluster's nodes and fabrics."""

    @property
    def system(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def nodes(self) -> NodesView: ...
    @property
    def fabrics(self) -> Mapping[str, FabricView]: ...
    @property
    def gate(self) -> GateView: ...


#: With the start of Python, and the end of what it started, a gate ends within a minute: Slurm kills its
#: HealthCheckProgram after 60 s. The site sets the limit of a prolog (PrologEpilogTimeout).
LONGEST_S = 55
SHORTEST_S = 5
NODE, REASON = "{node}", "{reason}"
_BLANK = re.compile(r"\{[^{}]*\}")
_GATE_COUNTERS = frozenset(name for driver in DRIVERS.values() for name in (*driver.errors, *driver.signals))
_NODE_NAMES = 'names of nodes, or ranges of them such as "node[001-018,020]"'
_ETHERNET_MTUS = range(576, 65536)
#: Kinds of fabrics in which a device is a card, and each of its ports a rail (mlx5_0:1). In others, stacks name only
#: the device.
KINDS_WITH_PORTS = ("ib", "roce", "opa")


def check_nodes(system: SystemView, document: Document) -> None:
    """Refuse nodes both by name and number, or twice, and a neighbour that is none. Raises InputError."""
    nodes, path = system.nodes, ("nodes",)
    if bool(nodes.names) == (nodes.count is not None):
        found = "both names and count" if nodes.names else "neither names nor count"
        raise document.error(path, found, "one of them", "name the nodes, or say how many there are")
    twice = next((name for name, count in Counter(nodes.names).items() if count > 1), None)
    if twice is not None:
        raise document.error((*path, "names"), f"{show(twice)} twice", "each node once")
    stranger = next((name for name in system.gate.neighbours if nodes.names and name not in nodes.names), None)
    if stranger is not None:
        near = did_you_mean(stranger, nodes.names)
        raise document.error(("gate", "neighbours"), show(stranger), f"a node of {system.system}", near)


def check_fabric_of_nodes(path: Path_, fabric: FabricView, document: Document) -> None:
    """Refuse a link, an MTU, a state and rails that contradict each other. Raises InputError."""
    link = fabric.link
    if not isinstance(fabric.declared_link, str) and link.name in LINKS:
        action = f"write link: {link.name}, or give yours another name"
        raise document.error((*path, "link", "name"), show(link.name), "a name that the table lacks", action)
    if fabric.mtu is not None:
        _check_mtu(path, fabric.mtu, link, document)
    _check_slingshot(path, fabric, document)
    _check_state(path, fabric, document)
    seen: dict[tuple[str, int | None], int] = {}
    for index, rail in enumerate(fabric.rails):
        here = (*path, "rails", index)
        if seen.setdefault((rail.device, rail.port), index) != index:
            raise document.error(
                (*here, "device"), f"{show(rail.device)} for the second time", "each device and port once"
            )
        if rail.port is not None and fabric.kind not in KINDS_WITH_PORTS:
            expected = f"no port: a device of kind {fabric.kind} is a network interface or a domain and has no ports"
            raise document.error((*here, "port"), str(rail.port), expected, "leave it out")


def _check_mtu(path: Path_, mtu: int, link: Link, document: Document) -> None:
    if not link.mtus:
        expected = f"no mtu: the headers of {link.name} are not modelled"
        raise document.error((*path, "mtu"), str(mtu), expected, "leave it out")
    if link.headers.startswith("tcp"):
        if mtu not in _ETHERNET_MTUS:
            raise document.error((*path, "mtu"), str(mtu), "an interface MTU from 576 to 65535")
    elif mtu not in link.mtus:
        known = ", ".join(map(str, link.mtus))
        raise document.error((*path, "mtu"), str(mtu), f"a path MTU of {link.name}: {known}")


def _check_slingshot(path: Path_, fabric: FabricView, document: Document) -> None:
    """Refuse a generation of Slingshot over the other one's cards: stacks would be given devices that are not there."""
    is_own = fabric.kind == "slingshot"
    verbs = next((rail for rail in fabric.rails if rail.device.startswith("mlx5_")), None)
    if is_own and verbs is not None:
        expected = "kind: roce, since Slingshot 10 has ConnectX cards with verbs (cxi0 is a card of Slingshot 11)"
        raise document.error((*path, "kind"), f"kind slingshot, and the device {verbs.device}", expected)
    if fabric.kind == "roce" and fabric.link.family == "slingshot" and fabric.link.headers != "rocev2":
        expected = "kind: slingshot, since only Slingshot 10 has cards with verbs"
        raise document.error((*path, "kind"), f"kind roce, and the link {fabric.link.name}", expected)


def _check_state(path: Path_, fabric: FabricView, document: Document) -> None:
    """Refuse a state that contradicts the fabric's link, kind or MTU: one of the two is wrong."""
    state, link = fabric.fabric_state, fabric.link
    if state is None:
        return
    here = (*path, "fabric_state")
    width, speed = lanes_and_speed(link)
    for field, given, own in (("width", state.width, width), ("speed", state.speed, speed)):
        if given is None:
            continue
        if own is None:
            expected = f"no {field}: {link.name} has none, only its rate is compared"
            raise document.error((*here, field), show(given), expected, "leave it out")
        if given != own:
            action = "correct link, or leave this out: limits are computed from the link"
            raise document.error((*here, field), show(given), f"{own}, the {field} of {link.name}", action)
    if state.mtu is not None and fabric.mtu is not None and state.mtu != fabric.mtu:
        expected = f"{fabric.mtu}, the fabric's own mtu"
        raise document.error((*here, "mtu"), str(state.mtu), expected, "leave it out here")
    if None not in (state.gid_index, fabric.gid_index) and state.gid_index != fabric.gid_index:
        expected = f"{fabric.gid_index}, the fabric's own gid_index"
        raise document.error((*here, "gid_index"), str(state.gid_index), expected, "leave it out here")
    if fabric.kind in ("ib", "roce", "opa"):
        _check_state_kind(here, fabric, document)
    else:
        expected = "a fabric of kind ib, roce or opa: the state of others is not read"
        raise document.error(here, f"kind {fabric.kind}", expected, "leave it out")


def _check_state_kind(here: Path_, fabric: FabricView, document: Document) -> None:
    state = fabric.fabric_state
    for field in ("gid_index", "roce_mode", "pfc", "ecn"):
        given = getattr(state, field)
        if given is not None and fabric.kind != "roce":
            raise document.error((*here, field), show(given), "it only in a roce fabric", "leave it out")
    if state is not None and state.subnet_manager and fabric.kind == "roce":
        raise document.error((*here, "subnet_manager"), "true", "none: Ethernet has no subnet manager", "leave it out")


def node_names(value: Any) -> list[Any]:
    """Return the names of a list or a text in which ranges stand for several. Refuse ranges that are none."""
    given = value if isinstance(value, list) else [value]
    try:
        names = [name for each in given for name in (expand_names(each) if isinstance(each, str) else [each])]
    except ValueError as error:
        raise refuse(show(", ".join(map(str, given))), _NODE_NAMES, str(error)) from None
    if not names:
        raise refuse("no name", _NODE_NAMES)
    return names


def check_limit(text: str) -> str:
    """Return how long a gate may take. Refuse a time that is too short or too long."""
    if SHORTEST_S <= seconds(text) <= LONGEST_S:
        return text
    raise refuse(
        show(text), f"a time from {SHORTEST_S}s to {LONGEST_S}s", "a gate may take a minute with start and end"
    )


def check_command(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command that drains or resumes a node. Refuse one that names no node."""
    for word in words:
        if not word or not word.isprintable():
            raise refuse(show(word), "a word of a command, without control characters")
        unknown = next((blank for blank in _BLANK.findall(word) if blank not in (NODE, REASON)), None)
        if unknown is not None:
            raise refuse(show(word), f"no blanks but {NODE} and {REASON}", did_you_mean(unknown, (NODE, REASON)))
    if words and not any(NODE in word for word in words):
        raise refuse(
            "a command that names no node", f"{NODE} in one of its words", "otherwise it would apply to every node"
        )
    return words


def check_gate_counter(name: str) -> str:
    """Return the name of a counter that a gate may bound. Refuse any other."""
    if name in _GATE_COUNTERS:
        return name
    raise refuse(
        show(name), "a counter of errors or a signal of docs/reference/counters.md", did_you_mean(name, _GATE_COUNTERS)
    )
