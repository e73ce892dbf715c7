"""Likely causes of a failed curve, seen in its shape: one table; each entry has what is looked for, and its source.

A cause is offered as "looks like". It never decides: the verdict's rules do. If nothing matches, nothing is said. To
add a cause, add an entry to ``CAUSES`` and a function that returns its sentence or None.

Causes may also be beside a benchmark's table in the same text: people paste lspci or ibstat with ib_write_bw. A slot
below its card's best and a port below the named link are offered as causes. They decide nothing: which card the run
used is not known from the text.

Which lines of a pasted script are in branches of an if or a case, of which a run takes only one.

Read are the shells' ``if … then … elif … else … fi``, csh's ``if (…) then … else if … endif`` and ``case … in … esac``.
What follows a test in one line (``[ -n "$X" ] && export A=b``) is a branch, too. An ``if`` that is not closed is prose.

Source: the Shell Command Language of POSIX; man csh.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, pairwise
from types import MappingProxyType

from railyard.base.bounds import IMPOSSIBLE_FACTOR
from railyard.base.patterns import late_regex
from railyard.benchmarks import moved_bytes
from railyard.benchmarks.model import Benchmark
from railyard.benchmarks.table import micro
from railyard.hardware import limits
from railyard.hardware.links import SLOTS, Link, pcie_slot
from railyard.parsers.fabric.port import PciSlot, PortState, has_small_mtu, place
from railyard.parsers.output import ParsedOutput, Table
from railyard.verdict.hints.shapes import (
    SeenCurve,
    ethernet_links,
    flat_top,
    lesser_lanes,
    lesser_links,
    lesser_rails,
    lesser_slots,
    like_another,
    like_no_other,
    like_one_of,
    limit_at_mtu,
    message_cost_us,
    peak_of,
    ratios,
)
from railyard.verdict.inputs import Target
from railyard.verdict.rule_model import MetricInput, points
from railyard.verdict.wording.causes import (
    Looks,
    drop_above_cache,
    latency_of_tcp,
    latency_within_node,
    looks_like,
    moved_threshold,
    mtu_in_text,
    port_in_text,
    rate_of_no_link,
    rate_of_tcp,
    rate_within_node,
    slot_in_text,
    small_mtu_of_roce,
)

#: Half a round trip of up to 8 B in shared memory takes less than this, and over a network more: 0.97 us at least with
#: MPI over InfiniBand, in the posted runs.
SHARED_LATENCY_US = 0.8
#: One message of up to 8 B in a window, in shared memory: 0.12 to 0.2 us. A fast card takes as little.
SHARED_MESSAGE_COST_US = 0.2
#: Half a round trip of up to 8 B: TCP takes longer than this on every published system, RDMA between hosts never does.
TCP_LATENCY_US = 12.0
#: One message of up to 8 B in a window of messages: RDMA between hosts takes 0.1 to 1.2 us, TCP 4.5 us and more.
TCP_MESSAGE_COST_US = 3.0
TCP_LATENCY_UP_TO_BYTES = 8
#: Share of the limit. From device memory, small sizes are slow over RDMA too, so there the curve must be far below.
TCP_SHARE = 0.5
TCP_SHARE_FROM_DEVICE = 0.2
ONE_NODE, ONE_NODE_RATE = "one-node", "one-node-rate"
RDMA_FAMILIES = frozenset({"infiniband", "omnipath", "slingshot", "roce"})
ROCE_SMALL_MTU = 1024
ROCE_SHARES = (0.97, 1.005)
SWITCH_HOLDS, SWITCH_BREAKS = 0.95, 0.85
SWITCH_MOST_SIZES = 4
SWITCH_LEAST_TARGETS = 5
CACHE_FROM_BYTES = 64 << 10
CACHE_FALL = 0.85
CACHE_PEAK_SHARE = 0.4
#: Some tools sum signalled rates (4 x 25.78125 is printed as 104), and ibstat prints 40 for QDR's 32.
_NEARLY = 0.98
_LAYERS = {"infiniband": "InfiniBand", "roce": "Ethernet", "ethernet": "Ethernet", "slingshot": "Ethernet"}


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause: its name, what is looked for (in words), the source of that, and the function that looks."""

    name: str
    looked_for: str
    source: str
    match: Callable[[SeenCurve], Looks | None]


@dataclass(frozen=True, slots=True)
class Likeness:
    """A cause that a curve looks like, by its name in the table."""

    cause: str
    looks: Looks

    @property
    def sentence(self) -> str:
        """The cause as a guess: it begins with "looks like"."""
        return looks_like(self.looks)

    @property
    def description(self) -> str:
        """What the curve looks like, as in "2 of the 4 lanes of InfiniBand EDR 4X (98.0 % of 12421 MB/s)"."""
        return self.looks.words


def likely_causes(seen: SeenCurve) -> tuple[Likeness, ...]:
    """Return the causes that a failed curve looks like, in the table's order; () if nothing matches.

    A rate that fits a narrower link, or a fall, says nothing if the curve already looks like TCP or shared memory. The
    same is true for messages from the memory of GPUs: a copy through the host's memory may give any rate.
    """
    found: list[Likeness] = []
    for cause in CAUSES:
        if cause.name in _BELOW and (seen.from_device or any(other.cause in _FIRST for other in found)):
            continue
        if cause.match in (like_another, _one_node_rate) and found:
            continue
        said = cause.match(seen)
        if said is not None:
            found.append(Likeness(cause.name, said))
    return tuple(found)


def document() -> str:
    """Return the table as Markdown, one row per cause: the text that is in the documentation."""
    rows = ["| looks like | looked for | source |", "| --- | --- | --- |"]
    rows += [f"| `{cause.name}` | {cause.looked_for} | {cause.source} |" for cause in CAUSES]
    return "\n".join(rows) + "\n"


def _one_node(seen: SeenCurve) -> Looks | None:
    if seen.metric.name == "latency" and seen.metric.shape == "latency":
        most = max(seen.least_us, SHARED_LATENCY_US) if seen.through_library else seen.least_us
        below = [value for _, value in seen.points if value < most]
        return latency_within_node(min(below)) if below else None
    peak = peak_of(seen)
    if seen.metric.name != "bandwidth" or seen.limit_mb_s is None or peak is None:
        return None
    if peak[1] <= seen.limit_mb_s * IMPOSSIBLE_FACTOR.value:
        return None
    if seen.pairs == 1 and (message_cost_us(seen, TCP_LATENCY_UP_TO_BYTES) or 0) >= TCP_MESSAGE_COST_US:
        return None  # shared memory does not take so long: a faster network than the named one, with TCP
    return rate_within_node(peak[1] / seen.limit_mb_s, seen.pairs)


def _one_node_rate(seen: SeenCurve) -> Looks | None:
    """Return a rate of no link and no slot, with short messages as fast as in shared memory."""
    cost, top = message_cost_us(seen, TCP_LATENCY_UP_TO_BYTES), like_no_other(seen)
    if not seen.through_library or seen.from_device or seen.pairs > 1 or cost is None or top is None:
        return None
    if cost > SHARED_MESSAGE_COST_US:
        return None
    return rate_of_no_link(top, cost)


def _tcp(seen: SeenCurve) -> Looks | None:
    if seen.link.family not in RDMA_FAMILIES:
        return None
    if seen.metric.name == "latency":
        small = [value for size, value in seen.points if size <= TCP_LATENCY_UP_TO_BYTES]
        if seen.metric.shape != "latency" or seen.from_device or not small or min(small) < TCP_LATENCY_US:
            return None
        return latency_of_tcp(min(small))
    cost, peak = message_cost_us(seen, TCP_LATENCY_UP_TO_BYTES), peak_of(seen)
    if cost is None or peak is None or seen.limit_mb_s is None or cost < TCP_MESSAGE_COST_US:
        return None
    share = peak[1] / seen.limit_mb_s
    if share > (TCP_SHARE_FROM_DEVICE if seen.from_device else TCP_SHARE):
        return None
    return rate_of_tcp(cost, share, like_one_of(seen, ethernet_links(seen)))


def _roce_mtu(seen: SeenCurve) -> Looks | None:
    small, peak = limit_at_mtu(seen, ROCE_SMALL_MTU), flat_top(seen)
    if seen.link.headers != "rocev2" or small is None or peak is None or seen.mtu == ROCE_SMALL_MTU:
        return None
    low, high = ROCE_SHARES
    share = peak / small.value_mb_s
    if not low <= share <= high:
        return None
    return small_mtu_of_roce(share, small.value_mb_s)


def _moved_switch(seen: SeenCurve) -> Looks | None:
    """Return a run of sizes that miss the reference, while smaller and larger ones reach it."""
    held = ratios(seen)
    if len(held) < SWITCH_LEAST_TARGETS:
        return None
    bad = [index for index, (_, ratio) in enumerate(held) if ratio < SWITCH_BREAKS]
    if not bad or len(bad) > SWITCH_MOST_SIZES:
        return None
    first, last = bad[0], bad[-1]
    around = [*held[:first], *held[last + 1 :]]
    inside = last - first + 1 == len(bad) and 0 < first and last < len(held) - 1
    if not inside or any(ratio < SWITCH_HOLDS for _, ratio in around):
        return None
    return moved_threshold(held[first][0], held[last][0], min(held[index][1] for index in bad))


def _cache(seen: SeenCurve) -> Looks | None:
    peak = peak_of(seen)
    if seen.metric.name != "bandwidth" or peak is None or peak[0] < CACHE_FROM_BYTES:
        return None
    if seen.limit_mb_s is not None and peak[1] < CACHE_PEAK_SHARE * seen.limit_mb_s:
        return None
    after = [(size, value) for size, value in seen.points if size >= peak[0]]
    falls = all(right[1] <= left[1] for left, right in pairwise(after))
    size, value = after[-1]
    if len(after) < 2 or not falls or value > CACHE_FALL * peak[1]:
        return None
    return drop_above_cache(peak[1], peak[0], value, size)


_LIMITS = "computed from the rates of [rates.md](rates.md)"
CAUSES: tuple[Cause, ...] = (
    Cause(
        ONE_NODE,
        f"more than 102 % of the limit; or, through a library, less than {SHARED_LATENCY_US:g} us or the least of the "
        "link's class; without one, less than 0.4 us",
        "bounds `impossible-factor` and `least-latency` (`-rdma`, `-efa`, `-tcp`); posted runs of MPI: 0.2 to 0.7 us "
        "in shared memory, 0.97 us at least over InfiniBand",
        _one_node,
    ),
    Cause(
        "tcp",
        f"InfiniBand, RoCE, Omni-Path, Slingshot: {TCP_LATENCY_US:g} us or more up to 8 B, or {TCP_MESSAGE_COST_US:g} "
        f"us per message in a window and at most {100 * TCP_SHARE:g} % of the limit ({100 * TCP_SHARE_FROM_DEVICE:g} % "
        "from device memory)",
        "published: TCP over 100 Gigabit Ethernet 12.7 us, RDMA 0.6 to 7 us; CSCS Alps with and without its CXI hook: "
        "0.7 to 1.2 us per message, compared with 4.5 to 7.1 us",
        _tcp,
    ),
    Cause(
        "fewer-rails",
        "a flat top at 90 to 101 % (both ways 78 to 101 %) of the limit of fewer rails",
        _LIMITS,
        lambda seen: like_one_of(seen, lesser_rails(seen)),
    ),
    Cause(
        "fewer-lanes",
        "the same for a link that trained at a half or a quarter of its lanes",
        f"{_LIMITS}; link width degradation, IBTA Architecture Specification Volume 2",
        lambda seen: like_one_of(seen, lesser_lanes(seen)),
    ),
    Cause(
        "lower-generation",
        "the same for an earlier generation of the link's family with at least a quarter of its rate",
        f"{_LIMITS}; published: FDR gives 6.3 GB/s, EDR 12.4",
        lambda seen: like_one_of(seen, lesser_links(seen)),
    ),
    Cause(
        "narrow-or-slow-slot",
        "the same for a slot with a half or a quarter of its lanes, or one or two generations older (throttled)",
        f"{_LIMITS}; PCI-SIG, PCI Express Base Specification (width and speed negotiation)",
        lambda seen: like_one_of(seen, lesser_slots(seen)),
    ),
    Cause(
        "another-network",
        "none of these, and the same for any slower link or any slot of PCI Express: the rate alone does not say which",
        f"{_LIMITS}; a run over Aries that was judged by EDR gave 1785 MB/s, as InfiniBand DDR would",
        like_another,
    ),
    Cause(
        ONE_NODE_RATE,
        "none of these, one pair of ranks, a flat top that fits no link and no slot, and at most "
        f"{SHARED_MESSAGE_COST_US:g} us per message in a window: a link that carries less may look the same",
        "posted runs of MPI in shared memory: 0.12 to 0.2 us; over EDR 0.13 us at least",
        _one_node_rate,
    ),
    Cause(
        "roce-mtu-1024",
        "RoCE with a flat top at 97 to 100.5 % of the limit at MTU 1024",
        f"{_LIMITS}: 11.57 of 12.25 GB/s at 100 Gbit/s",
        _roce_mtu,
    ),
    Cause(
        "moved-threshold",
        "up to four neighbouring sizes below 85 % of a reference curve, while all others reach 95 % of it",
        "engineering proposal of this project",
        _moved_switch,
    ),
    Cause(
        "cache",
        "a peak at 64 KiB or more, and then a fall with every size to at most 85 % of it",
        "Bode, Hill, Benjegerdes, Cluster Interconnect Overview, 2004 (the card's cache); a published HDR run falls "
        "from 23.3 to 6.9 GB/s",
        _cache,
    ),
)
_BELOW = frozenset(
    {
        *("fewer-rails", "fewer-lanes", "lower-generation", "narrow-or-slow-slot", "another-network", "roce-mtu-1024"),
        "cache",
    }
)
_FIRST = frozenset({"tcp", ONE_NODE})


def likenesses(
    table: Table, benchmark: Benchmark, judged: Sequence[MetricInput], target: Target
) -> tuple[Likeness, ...]:
    """Return each cause that a metric of this table looks like, each once; () if nothing matches.

    Traffic of GPUs within a node never looks like a cause of a link.
    """
    if benchmark.within:
        return ()
    seen = [_observe(table, benchmark, metric, target) for metric in judged if metric.measured is not None]
    return tuple(dict.fromkeys(cause for one in seen for cause in likely_causes(one)))


def _observe(table: Table, benchmark: Benchmark, metric: MetricInput, target: Target) -> SeenCurve:
    fabric = target.fabric
    rail = fabric.used_rails(target.rails, target.policy)[0]
    slot = rail.slot or fabric.slot
    targets = {
        size: bound.target
        for band in metric.bands
        for size, _ in points(metric)
        if (bound := band.bound_at(size)) is not None and bound.target is not None
    }
    return SeenCurve(
        metric=micro.metric(benchmark.key, metric.declared.name),
        points=points(metric),
        link=fabric.link,
        slot=SLOTS[slot] if slot else None,
        rails=target.rails,
        rails_per_card=rail.rails_per_card,
        mtu=fabric.mtu,
        max_payload=fabric.max_payload,
        limit_mb_s=None if metric.limit is None else metric.limit.value_mb_s,
        targets=targets,
        pairs=moved_bytes.pairs_of(table, benchmark.key),
        from_device=micro.tool(table.tool).from_device(table),
        least_us=metric.least.value,
        through_library=not micro.tool(table.tool).between_nics and not benchmark.over_tcp,
    )


def causes_beside(parsed: ParsedOutput, link: Link) -> tuple[Likeness, ...]:
    """Return a cause for each degraded slot, slow port and small path MTU in the text of a benchmark's output."""
    cards = [slot for slot in parsed.hardware.slots if slot.is_network]
    # beside a card of InfiniBand, those of Ethernet are not meant
    of_ib = [slot for slot in cards if slot.kind == "Infiniband controller"] if link.family == "infiniband" else []
    slots = (_slot(slot, link) for slot in of_ib or cards if slot.is_degraded)
    return (*slots, *_ports(parsed.fabric, link))


def _slot(slot: PciSlot, link: Link) -> Likeness:
    from railyard.results.report.hardware_text import below_words  # few texts have a slot beside their table

    looks = slot_in_text(slot.address, slot.name, slot.line, below_words(slot), _most_mb_s(slot, link))
    return Likeness("slot-beside", looks)


def _most_mb_s(slot: PciSlot, link: Link) -> float | None:
    """Return what the slot lets the link carry; None if the table does not have the slot."""
    name = pcie_slot(slot.speed, slot.width)
    if name is None:
        return None
    bound = limits.limit(link, SLOTS[name], max_payload=slot.max_payload or limits.DEFAULT_MAX_PAYLOAD)
    return None if bound is None else bound.value_mb_s


def _ports(ports: tuple[PortState, ...], link: Link) -> Iterator[Likeness]:
    for port in ports:
        if port.is_active is False or port.link_layer not in (None, _LAYERS.get(link.family)):
            continue
        rate = link.data_rate_gbit_s
        if rate is not None and port.rate is not None and port.rate < _NEARLY * rate:
            lanes = " ".join(word for word in (port.width, port.speed) if word)
            looks = port_in_text(place(port), port.line, port.rate, lanes, rate, link.name)
            yield Likeness("port-beside", looks)
        elif has_small_mtu(port):
            looks = mtu_in_text(place(port), port.line, port.mtu_bytes, port.max_mtu_bytes)
            yield Likeness("mtu-beside", looks)


#: The branches around a line, from outside to inside: each has the number of its choice and its own within it.
Path = tuple[tuple[int, int], ...]

# words of a shell where a command may begin
_WORDS = late_regex(
    r"(?P<csh>^\s{0,80}(?P<other>else )?if\s?\(.{0,300}\)\s{1,9}then\s{0,9}$)"
    r"|(?:^|;|&&|\|\||[$%>]\s|\b(?:then|else|do)\s)\s{0,80}(?P<word>then|elif|else|fi|endif|esac)(?![\w.=/:-])"
    r"|(?P<case>\bcase\s.{1,200}\sin\b)|(?P<next>;;)"
)
_ANY_ELSE = late_regex(r"^\s{0,80}\(?\*\)")
_TESTED = late_regex(r"(?:^|[$%>;]\s?)\s{0,80}(?:\[\[? |test |\(\( ).{1,300}?(?:&&|\|\|)")


@dataclass(slots=True)
class _Choice:
    number: int
    is_case: bool
    branch: int = 0
    has_else: bool = False
    lines: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Branches:
    """The path of each line that stands in a branch, and of each choice how many branches it has if it has an else."""

    paths: Mapping[int, Path]
    complete: Mapping[int, int]


_NONE = Branches(MappingProxyType({}), MappingProxyType({}))


@lru_cache(maxsize=2)
def branches(text: str) -> Branches:
    """Return the branches of a text's lines (1-based)."""
    if not any(word in text for word in ("then", "esac", "&&", "||")):
        return _NONE
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) <= 2000:
            reader.read(number, line)
    return Branches(MappingProxyType(reader.closed_paths()), MappingProxyType(reader.complete))


class _Reader:
    """The open choices, and what was found so far."""

    def __init__(self) -> None:
        self.numbers = count(1)
        self.open: list[_Choice] = []
        self.paths: dict[int, Path] = {}
        self.closed: set[int] = set()
        self.complete: dict[int, int] = {}
        self.waits = False  # after elif the next "then" opens no choice

    def read(self, number: int, line: str) -> None:
        """Read one line: its deepest place counts."""
        if line.lstrip().startswith("#"):
            return
        deepest = self._path()
        for found in _WORDS.finditer(line):
            self._take(found)
            deepest = max(deepest, self._path(), key=lambda path: (len(path), path))
        if self.open and self.open[-1].is_case and _ANY_ELSE.match(line):
            self.open[-1].has_else = True
        if _TESTED.search(line):
            tested = next(self.numbers)
            self.closed.add(tested)
            deepest = (*deepest, (tested, 0))
        if deepest:
            self.paths[number] = deepest

    def closed_paths(self) -> dict[int, Path]:
        """Return the paths without choices that were never closed."""
        kept = {line: tuple(step for step in path if step[0] in self.closed) for line, path in self.paths.items()}
        return {line: path for line, path in kept.items() if path}

    def _path(self) -> Path:
        return tuple((each.number, each.branch) for each in self.open)

    def _take(self, found: re.Match[str]) -> None:
        word = found["word"] or ("elif" if found["other"] else "then" if found["csh"] else "")
        if found["case"] or (word == "then" and not self.waits):
            self.open.append(_Choice(next(self.numbers), is_case=bool(found["case"])))
        elif word in ("fi", "endif", "esac"):
            self._close()
        elif word != "then" and self.open and (word or self.open[-1].is_case):
            self.open[-1].branch += 1
            self.open[-1].has_else |= word == "else"
        self.waits = word == "elif" and not found["csh"]

    def _close(self) -> None:
        if self.open:
            done = self.open.pop()
            self.closed.add(done.number)
            if done.has_else:
                # the last ";;" of a case begins no branch
                self.complete[done.number] = done.branch + (0 if done.is_case else 1)


def possible(paths: Sequence[Path], at: Path, complete: Mapping[int, int]) -> list[int]:
    """Return which of several settings may hold at a place, by their paths in the order of lines, the last one first.

    One in a branch that excludes the place does not. One in another branch may hold or not, so one above it may, too.
    """
    found: list[int] = []
    seen: set[Path] = set()
    for index, path in reversed([*enumerate(paths)]):
        chosen = dict(at)
        excluded = any(chosen.get(number, branch) != branch for number, branch in path)
        if excluded or any(path[: len(one)] == one for one in seen):
            continue
        found.append(index)
        own = tuple(step for step in path if step not in at)
        seen.add(path)
        _add_completed(seen, complete)
        if not own or any(set(one) <= set(at) for one in seen):
            break
    return found


def surely_holds(paths: Sequence[Path], complete: Mapping[int, int]) -> bool:
    """Return whether a setting in lines with these paths holds in whatever branches a run took."""
    seen = set(paths)
    _add_completed(seen, complete)
    return () in seen


def _add_completed(seen: set[Path], complete: Mapping[int, int]) -> None:
    """Add the place around each choice all of whose branches are there."""
    for path in sorted(seen, key=len, reverse=True):
        outer, number = path[:-1], path[-1][0] if path else 0
        if number in complete and all((*outer, (number, branch)) in seen for branch in range(complete[number])):
            seen.add(outer)
