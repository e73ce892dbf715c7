"""Questions to nodes after a failure, besides their rails' rates: whether processes start there, whose addresses they
have, and on which node two cables are swapped.

A short measurement by a check's own tool between two nodes: what runs, and which value its output has.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.base.hostlist import label
from railyard.base.values import one_line
from railyard.base.wording import count_of, listing
from railyard.benchmarks import metrics, model
from railyard.benchmarks.table import micro
from railyard.job import counters
from railyard.job.launch import Launch
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.results.record.form import Suspect
from railyard.rfm.checks.probe_places import HeldPair, NotProbed, Place, Series, Step, no_step
from railyard.rfm.checks.runner import READER
from railyard.site.site import Site
from railyard.site.systems.measure import PROBE_DELAY_BYTES, PROBE_SIZE_BYTES
from railyard.verdict.assess import Assessment
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.findings import with_bad_path, with_remark, with_suspects
from railyard.verdict.hints.first_cause import never_began
from railyard.verdict.path.other_traffic import is_crossed
from railyard.verdict.rule_model import look_at_owners

#: At most so many characters are quoted of the first line of a probe without a result.
LONGEST_SAID = 120


def _no_files(size_bytes: int) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class PingPong:
    """A short measurement by a check's own tool between two nodes over one rail: mostly a ping-pong.

    A ping-pong sees both directions of the rail. ``key`` is its benchmark. ``launch`` plans it over a rail between two
    nodes. ``words`` gives each process's command for messages of ``size_bytes``, ``files`` the files that it reads.
    """

    key: str
    parse: Callable[[str], ParsedOutput]
    launch: Callable[[str, tuple[str, str]], Launch]
    words: Callable[[Launch, int], list[str]]
    files: Callable[[int], Mapping[str, str]] = _no_files
    size_bytes: int = PROBE_SIZE_BYTES

    def write_files(self, folder: Path) -> None:
        """Write what it reads to the folder where it runs."""
        for name, text in self.files(self.size_bytes).items():
            (folder / name).write_text(text, encoding="utf-8")

    @property
    def delay_bytes(self) -> int | None:
        """The size of messages so small that a rail's delay decides; None for others, and for tools without sizes."""
        return self.size_bytes if self.size_bytes <= PROBE_DELAY_BYTES and not self._is_figure else None

    @property
    def _is_figure(self) -> bool:
        return micro.find(self.key).rows != "sizes"

    def value(self, text: str) -> float | None:
        """Return MB/s at its size; None if none was printed: other sizes of a cut probe say nothing."""
        try:
            curves = metrics.curves(self.parse(text).tables[0], self.key)
            # For small messages a rate has too few digits.
            is_timed = self.delay_bytes is not None
            curve = next((each for each in curves if is_timed and each.metric == model.LATENCY), curves[0])
        except (ParseError, ValueError, IndexError, RailyardError):
            return None
        if (not self._is_figure and curve.sizes[-1] != self.size_bytes) or not curve.values[-1] > 0:
            return None
        # From times: bytes per microsecond are MB/s.
        return curve.values[-1] if curve.metric == model.BANDWIDTH else curve.sizes[-1] / curve.values[-1]


def first_line(text: str) -> str | None:
    """Return the first line of a probe's output with a letter or digit, cut to a length that fits a sentence."""
    line = next((line for line in map(one_line, text.splitlines()) if any(letter.isalnum() for letter in line)), None)
    return None if line is None else line[:LONGEST_SAID]


#: What a process prints to show that it started.
STARTED = "railyard-started"
#: For nodes that are held only for questions: no probes are planned.
QUESTIONS = Series("question", 0)
#: Returns the words of a step that come before each process's own.
Front = Callable[[Launch], list[str]]


def starts(front: Front, launch: Launch, held: HeldPair) -> bool | None:
    """Return whether a process started on every node of a launch; None if that was not asked, for lack of time or
    because of a bug of the launcher.
    """
    step = Step(launch.env, [*front(launch), "sh", "-c", f"echo {STARTED}"])
    said = held.answer(f"start-{'-'.join(launch.nodes)}", step)
    if said is None:
        return None
    has_started = said.split().count(STARTED) >= len(launch.nodes)
    return None if not has_started and never_began(said) else has_started


def read_counters(folder: Path, drivers: Mapping[str, str] | None = None) -> list[counters.NodeCounters]:
    """Return what the counter readers of a step left in its folder, whose name is their tag, by the names of nodes.

    ``drivers`` maps devices to rows of the counters' table.
    """
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.counters")))
    return [counters.parse(text, folder.name, drivers) for text in texts]


@dataclass(frozen=True, slots=True)
class Addresses:
    """Asks nodes for the hardware addresses of their interfaces if two nodes have the same IPv4 address.

    ``place`` is where they can be asked; None for nowhere. ``stage`` is the folder that all nodes see; it has the
    counter reader. ``ping_pong`` launches a step over two nodes.
    """

    site: Site
    place: Place | None
    ping_pong: PingPong
    stage: Path

    def with_conflicts(self, found: Assessment) -> Assessment:
        """Return the assessment with the nodes that use others' addresses; the rails of the owners are cleared.

        The run's own nodes say whose address it is and which hardware answers. The other nodes are asked for their
        hardware addresses.
        """
        path = found.path
        try:
            where, why = self._hardware(found)
        except NotProbed as not_asked:
            where, why = {}, f"the other nodes were not asked for their addresses: {not_asked}"
        told = []
        for one in path.conflicts:
            node, device = where.get(one.hardware, (one.node, one.node_device))
            told.append(replace(one, node=node, node_device=device))
        sentence = "; ".join(one.sentence for one in told)
        takers = [Suspect("rail", one.sentence, one.node, one.node_device) for one in told if one.node is not None]
        owners = {one.owner for one in told}
        cleared = replace(path, suspects=tuple(one for one in path.suspects if one.node not in owners))
        named = Findings(tuple(takers), sentence, fault="set-up", look_at=look_at_owners(told))
        return with_remark(with_suspects(replace(found, path=cleared), named), why)

    def _hardware(self, found: Assessment) -> tuple[dict[str, tuple[str, str]], str | None]:
        """Return node and device of each hardware address of the other nodes, until all that were seen are known.

        Nodes are asked in pairs, as many as the place holds at once. The sentence says how many were not asked.
        Raises NotProbed if none could be asked.
        """
        launch, place = found.case.launch, self.place
        wanted = {one.hardware for one in found.path.conflicts if one.node is None}
        mine = {label(node) for node in launch.nodes}
        left = [name for name in self.site.system.nodes.names if label(name) not in mine]
        where: dict[str, tuple[str, str]] = {}
        times = 0
        while place is not None and left and wanted - where.keys() and times != place.most_pairs:
            pair = (left[0], left[1] if len(left) > 1 else launch.nodes[0])
            others = tuple(name for name in (*left[2:], *launch.nodes) if name not in pair)
            with place.hold_pair(pair, others, launch.meant, no_step, QUESTIONS) as held:
                there = [name for name in (*pair, *held.partners) if label(name) not in mine]
                for two in zip(there[::2], (*there, *pair[::-1])[1::2], strict=False):
                    where |= self._of(two, launch.meant[0], place, held)
            done, times = {label(name) for name in there}, times + 1
            left = [name for name in left if label(name) not in done]
        is_open = place is not None and bool(left and wanted - where.keys())
        return where, f"{count_of(len(left), 'more node')} not asked for addresses" if is_open else None

    def _of(self, nodes: tuple[str, str], rail: str, place: Place, held: HeldPair) -> dict[str, tuple[str, str]]:
        """Return node and device of each hardware address of two nodes; nothing for one that does not answer."""
        name, launch = f"addresses-{'-'.join(nodes)}", self.ping_pong.launch(rail, nodes)
        (self.stage / name).mkdir(exist_ok=True)
        words = ["sh", READER, name, name, "", rail, "--", "true"]
        held.answer(name, Step(launch.env, [*place.front(launch), *words]))
        read = read_counters(self.stage / name)
        return {address: (each.node, device) for each in read for address, device in each.addresses.hardware.items()}


@dataclass(frozen=True, slots=True)
class CrossedCables:
    """Asks on which of two nodes the cables of two rails are swapped: each exchanges messages with a third node.

    ``place`` is where that can be done; None for nowhere. ``ping_pong`` makes the messages, into folders in ``stage``.
    """

    site: Site
    place: Place | None
    ping_pong: PingPong
    stage: Path

    def with_node(self, found: Assessment) -> Assessment:
        """Return the assessment with the node and its two rails; with a remark if only the pair can be named."""
        launch, rails = found.case.launch, found.path.crossed
        if rails is None or self.place is None or len(launch.nodes) != 2:
            return found
        pair = (launch.nodes[0], launch.nodes[1])
        mine = {label(node) for node in pair}
        others = tuple(name for name in self.site.system.nodes.names if label(name) not in mine)
        try:
            with self.place.hold_pair(pair, others, launch.meant, no_step, QUESTIONS) as held:
                if not held.partners:
                    return found
                third = held.partners[0]
                seen = {node: self._is_crossed(node, third, rails, held) for node in pair}
        except NotProbed as why:
            return with_remark(found, f"no third node tells on which of the two it is: {why}")
        if sorted(seen.values(), key=str) != [False, True]:
            return with_remark(found, f"runs with {third} do not tell on which of the two it is")
        node, good = sorted(pair, key=lambda each: seen[each] is not True)
        return _blame_crossed(found, node, good, third, rails)

    def _is_crossed(self, node: str, third: str, rails: tuple[str, str], held: HeldPair) -> bool | None:
        assert self.place is not None
        way, name = self.ping_pong, f"crossed-{node}-{third}"
        launch = way.launch(rails[0], (node, third))
        front = [*self.place.front(launch), "sh", READER, name, name, *rails, "--"]
        way.write_files(self.stage)
        held.answer(name, Step(launch.env, [*front, *way.words(launch, way.size_bytes)], folder=name))
        read = [
            each for each in read_counters(self.stage / name, self.site.system.counter_drivers) if each.problem is None
        ]
        return is_crossed(read[0], read[1], rails) if len(read) == 2 else None


def _blame_crossed(found: Assessment, node: str, good: str, third: str, rails: tuple[str, str]) -> Assessment:
    """Return the assessment that names one node's two cables; the other node of the run is cleared."""
    reason = (
        f"{listing(rails)} of {node} are crossed: so they are between {node} and {third}, and not between {good} "
        f"and {third}"
    )
    look = f"the cables of {listing(rails)} of {node}: swapped at the node or at the switch"
    named = Findings(tuple(Suspect("rail", reason, node, rail) for rail in rails), reason, look_at=look)
    return with_bad_path(found, named)
