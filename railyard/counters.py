"""What the counter reader wrote on one node, as typed deltas per device.

The reader (``reader.sh``, package data beside this file) copies every counter that the kernel shows; which of them
count bytes, in which unit and how wide they are is said here, in one table with a row a driver. A new driver is a new
row: nothing in the reader changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files

FORMAT = 1
REFUSED_EXIT_CODE = 71
"""The reader's exit code where a meant rail is missing or down (EX_OSERR of sysexits.h)."""


@dataclass(frozen=True, slots=True)
class Driver:
    """How a kind of device counts traffic.

    ``tx`` and ``rx`` name its counters, each step worth ``unit_bytes``. ``width_bits``: a counter at its maximum is
    full if ``clamps``, else it starts again from 0; either way a lower reading after the run is no delta.
    ``sees`` says what is counted. ``errors`` are the counters that should not grow.
    """

    name: str
    tx: str
    rx: str
    unit_bytes: int
    width_bits: int
    clamps: bool
    sees: str
    errors: tuple[str, ...]
    source: str


DRIVERS: Mapping[str, Driver] = {
    "netdev": Driver(
        name="netdev",
        tx="tx_bytes",
        rx="rx_bytes",
        unit_bytes=1,
        width_bits=64,
        clamps=False,
        sees="all frames of the kernel's network stack with their link headers; not RDMA done by the card",
        errors=("rx_errors", "tx_errors", "rx_dropped", "tx_dropped", "rx_crc_errors", "tx_carrier_errors"),
        source="Linux Documentation/ABI/testing/sysfs-class-net-statistics; 64 bits since 2.6.35 (rtnl_link_stats64)",
    ),
}


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a device: bytes before and after; None where the counter was unreadable or missing."""

    before_bytes: int | None
    after_bytes: int | None
    full: bool = False

    @property
    def decreased(self) -> bool:
        """True where the counter went backwards: reset, wrapped or another device by now."""
        return self.before_bytes is not None and self.after_bytes is not None and self.after_bytes < self.before_bytes

    @property
    def delta_bytes(self) -> int | None:
        """Bytes moved between the readings; None where they cannot be known."""
        if self.before_bytes is None or self.after_bytes is None or self.decreased or self.full:
            return None
        return self.after_bytes - self.before_bytes


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """One device of a node. ``carrier`` is True, False, or None where it was not read, before and after the run."""

    device: str
    meant: bool
    tx: Direction
    rx: Direction
    carrier_before: bool | None
    carrier_after: bool | None
    errors: Mapping[str, int]

    @property
    def trouble(self) -> str | None:
        """Why this device's bytes cannot be known, in words that follow "rail hsn0 of vn1"; None where they can."""
        for name, direction in (("sent", self.tx), ("received", self.rx)):
            if direction.decreased:
                return (
                    f"counted fewer bytes {name} after the run ({direction.after_bytes}) than before "
                    f"({direction.before_bytes}): it was reset or replaced"
                )
            if direction.full:
                return f"has a full counter of bytes {name}: it stands at its maximum and counts no more"
            if direction.delta_bytes is None:
                return f"has no readable counter of bytes {name}"
        return None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reader did not start the benchmark because of this rail."""

    rail: str
    sentence: str


@dataclass(frozen=True, slots=True)
class NodeCounters:
    """All that the reader wrote on one node; ``problem`` says why it cannot be relied on (None: it can).

    ``exit_code`` is the command's, None where the file has no end: the run was killed there.
    ``first_by`` is the launcher's variable that told which process reads, or ``file``.
    """

    node: str
    devices: tuple[DeviceCounters, ...]
    exit_code: int | None
    first_by: str | None = None
    elapsed_s: float | None = None
    refusal: Refusal | None = None
    problem: str | None = None

    def device(self, name: str) -> DeviceCounters | None:
        """Return a device by its name, None where the node has no such reading."""
        return next((device for device in self.devices if device.device == name), None)


def reader_script() -> str:
    """Return the text of the reader, to be written beside a job's script."""
    return files("railyard").joinpath("reader.sh").read_text(encoding="utf-8")


def parse(text: str, tag: str, drivers: Mapping[str, str] | None = None) -> NodeCounters:
    """Return what one ``<hostname>.counters`` holds. ``drivers`` maps devices to rows of DRIVERS (default netdev).

    Never raises for what the file holds: a file of another run, cut or garbled gives a ``problem``, which
    is not a pass anywhere.
    """
    lines = [line.split(" ", 3) for line in text.split("\n") if line]
    if not text.endswith("\n") and lines:
        lines.pop()  # cut in mid-line: what is left of it may be a shorter number
    node = next((words[1] for words in lines if words[0] == "node" and len(words) == 2), "")
    header = lines[0] if lines else []
    problem = _header_problem(header, tag)
    if problem is not None:
        return NodeCounters(node, (), None, problem=problem)
    facts = _facts(lines)
    devices = tuple(
        _device(name, meant, facts, DRIVERS[(drivers or {}).get(name, "netdev")])
        for kind, meant in (("meant", True), ("watched", False))
        for name in facts.named[kind]
    )
    if facts.exit_code is None:
        problem = "the file has no end: the run was killed before the counters were read again"
    elif facts.garbled and facts.refusal is None:
        problem = f'the file is garbled at "{facts.garbled}": two processes wrote it'
    return NodeCounters(
        node, devices, facts.exit_code, facts.first_by, facts.elapsed_s(), refusal=facts.refusal, problem=problem
    )


def by_node(readings: Iterable[NodeCounters], expected: Iterable[str]) -> dict[str, NodeCounters]:
    """Return the readings of the expected nodes; a host name with a domain answers to its first label as well."""
    found: dict[str, NodeCounters] = {}
    pool = tuple(readings)
    for name in expected:
        for reading in pool:
            if reading.node == name or reading.node.split(".")[0] == name.split(".")[0]:
                found[name] = reading
                break
    return found


@dataclass(slots=True)
class _Facts:
    """The lines of a file, sorted by what they say."""

    named: dict[str, list[str]]
    values: dict[tuple[str, str, str], str]
    at: dict[str, float]
    exit_code: int | None = None
    first_by: str | None = None
    refusal: Refusal | None = None
    garbled: str | None = None

    def elapsed_s(self) -> float | None:
        if "before" not in self.at or "after" not in self.at:
            return None
        return round(self.at["after"] - self.at["before"], 2)


def _header_problem(header: list[str], tag: str) -> str | None:
    if len(header) != 3 or header[0] != "railyard-counters":
        return "the file is empty or none of the counter reader's"
    if header[1] != str(FORMAT):
        return f"the file has format {header[1]}, expected {FORMAT}: reader and library are of different versions"
    if header[2] != tag:
        return f"the file is of another run ({header[2]}, expected {tag})"
    return None


def _facts(lines: list[list[str]]) -> _Facts:
    facts = _Facts({"meant": [], "watched": []}, {}, {})
    for words in lines[1:]:
        if not _take(facts, words) and facts.garbled is None:
            facts.garbled = " ".join(words)[:60]
    return facts


def _take(facts: _Facts, words: list[str]) -> bool:
    """Sort one line in; False where it is none of the reader's, stands twice, or comes after the end."""
    if facts.exit_code is not None:
        return False
    match words:
        case ["node", _]:
            return True
        case ["first-by", name]:
            facts.first_by = name
        case ["meant" | "watched" as kind, name]:
            facts.named[kind].append(name)
        case ["before" | "after" as when, "at", seconds] if _is_number(seconds):
            facts.at[when] = float(seconds)
        case ["before" | "after" as when, device, counter, value] if (when, device, counter) not in facts.values:
            facts.values[when, device, counter] = value
        case ["refused", rail, *rest]:
            facts.refusal = Refusal(rail, " ".join(rest))
        case ["end", code] if _is_count(code):
            facts.exit_code = int(code)
        case _:
            return False
    return True


def _is_number(text: str) -> bool:
    return text.isascii() and text.replace(".", "", 1).isdigit()


def _device(name: str, meant: bool, facts: _Facts, driver: Driver) -> DeviceCounters:
    errors: dict[str, int] = {}
    for counter in driver.errors:
        before, after = _count(facts, "before", name, counter), _count(facts, "after", name, counter)
        if before is not None and after is not None and after > before:
            errors[counter] = after - before
    return DeviceCounters(
        name,
        meant,
        _direction(facts, name, driver.tx, driver),
        _direction(facts, name, driver.rx, driver),
        _carrier(facts, "before", name),
        _carrier(facts, "after", name),
        errors,
    )


def _direction(facts: _Facts, device: str, counter: str, driver: Driver) -> Direction:
    before, after = _count(facts, "before", device, counter), _count(facts, "after", device, counter)
    full = driver.clamps and (1 << driver.width_bits) - 1 in (before, after)
    unit = driver.unit_bytes
    return Direction(
        None if before is None else before * unit,
        None if after is None else after * unit,
        full,
    )


def _count(facts: _Facts, when: str, device: str, counter: str) -> int | None:
    value = facts.values.get((when, device, counter), "")
    return int(value) if _is_count(value) else None


def _is_count(text: str) -> bool:
    """Return whether a text is a number that a counter of 64 bits can hold: int() refuses far longer ones itself."""
    return text.isascii() and text.isdigit() and len(text) <= 20


def _carrier(facts: _Facts, when: str, device: str) -> bool | None:
    value = facts.values.get((when, device, "carrier"))
    if value is not None:
        return {"1": True, "0": False}.get(value)
    state = facts.values.get((when, device, "state"))
    return None if state in (None, "unreadable") else "ACTIVE" in state
