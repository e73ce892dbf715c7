"""What doctor.sh is given and what it said on each node, as typed facts; lines of many nodes may come mixed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from railyard.base.values import one_line

if TYPE_CHECKING:
    from railyard.site.systems.node_view import SystemView

FORMAT = "1"
SCRIPT = "doctor.sh"
_HEAD = "railyard-doctor"


@dataclass
class NodeState:
    """One node: its facts by name, the facts of each rail by name, and facts that occur more than once.

    ``subnets``: (interface, network, mask) in the kernel's hexadecimal words. ``own``: IPv4 addresses.
    ``cstates``: (latency in us, name) of the idle states not switched off. ``verbs``: device files, and whether this
    user may open them. ``gids``: the indexes of each rail's GIDs of RoCE v2. ``whole`` is False if the node's last line
    is missing.
    """

    name: str
    facts: dict[str, str] = field(default_factory=dict)
    devices: dict[str, dict[str, str]] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    subnets: list[tuple[str, str, str]] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    cstates: list[tuple[int, str]] = field(default_factory=list)
    processes: list[tuple[str, str]] = field(default_factory=list)
    verbs: dict[str, bool] = field(default_factory=dict)
    gids: dict[str, list[int]] = field(default_factory=dict)
    format: str | None = None
    whole: bool = False

    def number(self, name: str) -> float | None:
        """Return the number that a fact begins with, None if there is no number."""
        return _number(self.facts.get(name))

    def device(self, rail: str) -> Mapping[str, str]:
        """Return what was said about a rail."""
        return self.devices.get(rail, {})


def parse(text: str) -> tuple[NodeState, ...]:
    """Return the nodes in the order of their first lines; ignore lines from other programs.

    Two nodes with the same name are two entries: each process says its number.
    """
    found: dict[tuple[str, str], NodeState] = {}
    for line in text.split("\n"):
        # srun --label and MPI launchers put their own words before each line.
        _, mark, rest = line.partition(f"{_HEAD} ")
        words = rest.split(None, 2)
        if not mark or len(words) < 3:
            continue
        node, process, said = one_line(words[0]), words[1], one_line(words[2])
        _take(found.setdefault((node, process), NodeState(node)), said.split(" ", 1))
    return tuple(found.values())


def _take(state: NodeState, words: list[str]) -> None:
    """Keep one line. Leave out a line of an unknown form: then its fact is unknown and is not judged."""
    kind, rest = words[0], words[1] if len(words) > 1 else ""
    parts = rest.split(" ")
    match kind:
        case "begin":
            state.format = rest
        case "end":
            state.whole = True
        case "fact" if len(parts) > 1:
            state.facts.setdefault(parts[0], rest.partition(" ")[2])
        case "device" if len(parts) > 2:
            state.devices.setdefault(parts[0], {}).setdefault(parts[1], rest.split(" ", 2)[2])
        case "module":
            state.modules.add(rest)
        case _:
            _take_list(state, kind, parts)


def _take_list(state: NodeState, kind: str, parts: list[str]) -> None:
    match [kind, *parts]:
        case ["subnet", interface, network, mask]:
            state.subnets.append((interface, network, mask))
        case ["own", address] if _is_ipv4(address):
            state.own.append(address)
        case ["cstate", latency, name] if latency.isdigit():
            state.cstates.append((int(latency), name))
        case ["process", number, name]:
            state.processes.append((number, name))
        case ["uverbs", name, access]:
            state.verbs[name] = access == "open"
        case ["gid", rail, index] if index.isdigit():
            state.gids.setdefault(rail, []).append(int(index))
        case _:
            return


def _is_ipv4(text: str) -> bool:
    try:
        return bool(IPv4Address(text))
    except ValueError:
        return False


def _number(text: str | None) -> float | None:
    try:
        return float((text or "").split(" ")[0])
    except ValueError:
        return None


def rails_of(system: "SystemView") -> str:
    """Return every rail of the system once, separated by commas, as doctor.sh takes them."""
    rails = [rail.name for fabric in system.fabrics.values() for rail in fabric.rails]
    return ",".join(dict.fromkeys(rails))
