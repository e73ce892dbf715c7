"""The ranks of a run as they described themselves, the ports of their nodes, and what each rank's library takes."""

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.provision.rehearsal import rank_ports
from railyard.provision.rehearsal.form import Rehearsal
from railyard.provision.rehearsal.moves import place_of
from railyard.provision.rehearsal.rank_ports import LibraryError, Port, PortKind, Rank, RankPorts
from railyard.site.site import Site

_GIGABIT = 1.0
_KINDS: Mapping[str, PortKind] = {"verbs": "verbs", "net": "net", "cxi": "cxi"}


@dataclass(frozen=True, slots=True)
class Member:
    """One rank: its number, its node and its number there, the processors that it was put on, and its own variables."""

    rank: int
    node: str
    local: int
    processors: frozenset[int]
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Crew:
    """All ranks of a run. ``ports`` and ``online`` (processors) are by node, ``variables`` are the first rank's."""

    site: Site
    rehearsal: Rehearsal
    stack: str
    members: tuple[Member, ...]
    ports: Mapping[str, tuple[Port, ...]]
    online: Mapping[str, frozenset[int]]
    variables: Mapping[str, str]

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The nodes in the order of the ranks."""
        return tuple(dict.fromkeys(member.node for member in self.members))

    @cached_property
    def per_node(self) -> Mapping[str, int]:
        """How many ranks each node has."""
        found: dict[str, int] = {}
        for member in self.members:
            found[member.node] = found.get(member.node, 0) + 1
        return found

    @cached_property
    def takes(self) -> tuple[RankPorts, ...]:
        """What each rank takes, in their order. Raises LibraryError if a library would end."""
        return tuple(self._take_ports(member) for member in self.members)

    @property
    def threads(self) -> int:
        """How many threads each rank has."""
        said = self.variables.get("OMP_NUM_THREADS", "1")
        return int(said) if said.isdigit() else 1

    @property
    def computing_share(self) -> float:
        """Return the share of its cores that the worst node computes with, by its threads and where they may run."""
        hardware = self.site.system.nodes.hardware
        shares = []
        for node, ranks in self.per_node.items():
            cores = 1 if hardware is None else hardware.cores
            share = min(1.0, ranks * self.threads / cores)
            own: frozenset[int] = frozenset().union(*(m.processors for m in self.members if m.node == node))
            if own and self.online[node]:
                share = min(share, len(own) / len(self.online[node]))
            shares.append(share)
        return min(shares)

    def management(self, node: str) -> Port:
        """Return the interface over which a library reaches another node if it leaves out the rails."""
        others = [port for port in self.ports[node] if port.kind == "net" and port.active and not port.meant]
        rails = [port for port in self.ports[node] if port.kind == "net" and port.active]
        if not others and not rails:
            raise LibraryError(f"{node} has no network interface that is up: no process can reach another node")
        return (others or rails)[0]

    def _take_ports(self, member: Member) -> RankPorts:
        faults, there = self.rehearsal.faults, self.ports[member.node]
        variables = {**self.variables, **member.variables}
        rank = Rank(member.local, self.per_node[member.node], member.processors or self._deal_processors(member))
        idle = {port.name for port in there for f in faults if f.kind == "idle" and f.hits(member.node, port.name)}
        try:
            found = rank_ports.take_ports(
                self.stack, variables, [port for port in there if port.name not in idle], rank
            )
        except LibraryError as error:
            # Without its only rail the library ends. Libraries write the node before each line (UCX, Open MPI,
            # libfabric).
            raise LibraryError(f"[{member.node}:{member.local}] {error}", error.exit_code) from None
        if any(f.kind == "fallback" and f.hits(member.node, port.name) for port in found.ports for f in faults):
            return RankPorts((self.management(member.node),), tcp=True)
        return found

    def _deal_processors(self, member: Member) -> frozenset[int]:
        """Return the processors that srun would bind a rank to: those of a socket, as the node's cards show them.

        The ranks take the sockets in turn, or one after the other, as srun's options say. None if srun was not asked to
        bind, or if the node has one socket: then all of its cards are equally near.
        """
        sockets = sorted({port.near for port in self.ports[member.node] if port.near}, key=min)
        kind = self.variables.get("SLURM_CPU_BIND_TYPE", "")
        if len(sockets) < 2 or not kind or kind.startswith("none"):
            return frozenset()
        spread = self.variables.get("SLURM_DISTRIBUTION", "block:cyclic").partition(":")[2] or "cyclic"
        if spread.startswith("cyclic"):
            return sockets[member.local % len(sockets)]
        return sockets[member.local * len(sockets) // self.per_node[member.node]]


def gather(
    work: Path,
    ranks: int,
    site: Site,
    rehearsal: Rehearsal,
    stack: str,
    variables: Mapping[str, str],
    patience_s: float,
) -> Crew:
    """Return the crew of a run, once each of its ranks has described itself.

    Raises RailyardError, with how many did, if not all did within ``patience_s`` seconds.
    """
    until = time.monotonic() + patience_s
    lines: list[str] = []
    while len(lines) < ranks:
        if time.monotonic() > until:
            raise RailyardError(
                f"the rehearsal waited {patience_s:g} s: {len(lines)} of {ranks} ranks have started, expected all"
            )
        time.sleep(0.02)
        lines = _whole_lines(work / "ranks")
    members = sorted((_member(line) for line in lines), key=lambda member: member.rank)
    first = {member.node: member for member in reversed(members) if member.local == 0}
    notes = {node: (work / f"node-{member.rank}").read_text(encoding="utf-8") for node, member in first.items()}
    lacking = sorted({member.node for member in members} - notes.keys())
    if lacking:
        raise RailyardError(
            f"the rehearsal found no first rank of {', '.join(lacking)}: no rank has SLURM_LOCALID 0 there"
        )
    ports = {node: ports_of(site, text) for node, text in notes.items()}
    online = {node: _online_processors(text) for node, text in notes.items()}
    return Crew(site, rehearsal, stack, tuple(members), ports, online, variables)


def processors(text: str) -> frozenset[int]:
    """Return the processors of a list in the kernel's form, ``0-3,8``; none for any other text."""
    if not re.fullmatch(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*", text):
        return frozenset()
    ends = [part.partition("-") for part in text.split(",")]
    return frozenset(one for first, _, last in ends for one in range(int(first), int(last or first) + 1))


def first_ranks(crew: Crew) -> Mapping[str, int]:
    """Return, by node, the rank that moves the node's counters."""
    return {member.node: member.rank for member in reversed(crew.members) if member.local == 0}


def _whole_lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return []
    return text[: text.rfind("\n") + 1].splitlines()


def _member(line: str) -> Member:
    rank, node, local, where, *own = line.split(" ")
    named = dict(one.split("=", 1) for one in own)
    return Member(int(rank), node, int(local), processors(where), named)


def ports_of(site: Site, text: str) -> tuple[Port, ...]:
    """Return the ports of a node's note, in its order."""
    return tuple(_port(site, line.split()) for line in text.splitlines() if line.split()[:1] != ["processors"])


def _port(site: Site, words: list[str]) -> Port:
    said, name, up, rate, near = words
    kind = _KINDS[said.partition("/")[0]]
    shown = float(rate) if re.fullmatch(r"[0-9.]+", rate) else None
    if shown is not None and kind == "net":
        shown /= 1000  # Mbit/s
    found = Port(name, kind, up == "yes", processors(near), shown or _GIGABIT)
    place = place_of(site.system, found)
    card = name.partition(":")[0]
    if place is None and place_of(site.system, replace(found, name=card)) is not None:
        found = replace(found, name=card)  # a rail named without its port
        place = place_of(site.system, found)
    own = None if place is None else place.fabric.link.data_rate_gbit_s
    # An interface on a card is not part of the management network.
    own_network = place is None and said == "net"
    return replace(found, rate_gbit_s=shown or own or _GIGABIT, meant=not own_network)


def _online_processors(text: str) -> frozenset[int]:
    said: Iterable[str] = (line.split()[1] for line in text.splitlines() if line.startswith("processors "))
    return processors(next(iter(said), ""))
