"""Judges a soak by readings of every rail's counters: rates, errors per hour, links that flapped or stalled.

Counters are cumulative: the difference of two readings shows what happened between them. If a device has no counter for
an error, nobody sees that error; nothing here says that it was absent.

The readings are on disk, one line each as it is made, so that they survive whatever ends the soak. Format 1: a head
with the system's name and its streams, then one line per reading: seconds since the beginning, and all counters by node
and device. A last line that was cut is ignored.

Loads every rail of the virtual cluster both ways at once, around all nodes, and reads every counter repeatedly.
"""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from railyard.base.errors import Finding, InputError, SetupError, problem, remark
from railyard.base.wording import count_of
from railyard.cluster.doctor import payload
from railyard.hardware.counters import DRIVERS
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.spec import TestbedSpec

#: A rail of one node.
Place = tuple[str, str]
#: A stream that loaded the rails: the sender, the receiver, and the device on both.
Stream = tuple[str, str, str]
#: Bytes sent and received.
TRAFFIC = ("tx_bytes", "rx_bytes")
CHANGES = "carrier_changes"
#: Put after the name of a counter that is a signal of load for its driver, whatever it means for another driver.
SIGNAL = " (signal)"
#: Errors of the link itself: a healthy link has none in a night. The others are signals of load.
HARD = frozenset(("rx_length_errors", *(name for row in DRIVERS.values() for name in row.errors)))
#: Endings of the names of other error counters. All other counters count traffic.
_ERRORS = ("_errors", "_dropped", "collisions", "_discards", "link_downed", "symbol_error")
#: A rail that carries less than this share of its own median between two readings has stalled.
_STALLED = 0.5
#: A rail that usually carries less than this had no load, in MB/s: the slowest card carries 1, and what nodes ask each
#: other without any load is far below it.
_NO_LOAD_MB_S = 0.1
_STALL_FIX = "check what else happened then: the logs of node and switch, other jobs"
_S_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Reading:
    """All counters at one moment, ``at_s`` after the soak began. A rail that could not be read is not in ``values``."""

    at_s: float
    values: Mapping[Place, Mapping[str, int]]


#: A rail that more than this share of the readings lack, and not just one, is a problem. So is a soak that is shorter
#: by this share.
MOST_UNREAD = SHORT_BY = 0.1


@dataclass(frozen=True, slots=True)
class SoakedRail:
    """One rail over the whole soak.

    ``sent_mb_s`` and ``received_mb_s``: medians of the intervals (10^6 B/s). ``least_mb_s``: the lower of both
    directions in the worst interval, which began at ``least_at_s``. ``stalled_s``: the first time when an interval
    carried less than half of the usual both ways, or only one way (``sent``, ``received``). ``errors``: growth per
    hour. ``changes``: how often the link went up or down, and when that was first seen. ``unread``: the number of
    readings without this rail, ``unread_share`` their share of all.
    """

    node: str
    rail: str
    sent_mb_s: float
    received_mb_s: float
    least_mb_s: float
    least_at_s: float
    stalled_s: Mapping[str, float]
    errors: Mapping[str, float]
    changes: int
    first_change_s: float | None
    unread: int
    unread_share: float = 0.0

    @property
    def rail_name(self) -> str:
        """The rail's name in findings."""
        return f"{self.node} {self.rail}"

    @property
    def is_sick(self) -> bool:
        """Whether it is to blame if its partners' rails carried too little: it flapped, or stalled both ways."""
        return self.changes > 0 or "both" in self.stalled_s


def soaked_rails(readings: Sequence[Reading]) -> tuple[SoakedRail, ...]:
    """Return each rail that was read at least twice, in the order in which the readings first show it."""
    places = dict.fromkeys(place for reading in readings for place in reading.values)
    found = (_soak_rail(place, readings) for place in places)
    return tuple(one for one in found if one is not None)


def ended_early(at_s: float, asked_s: float, every_s: float) -> Iterator[Finding]:
    """Yield a problem if the last reading came long before the end that was asked for: the job ended or was ended."""
    if at_s < asked_s - max(2 * every_s, SHORT_BY * asked_s):
        what = f"it ended after {duration(at_s)} of {duration(asked_s)}, so what its rails do in the rest is not known"
        yield problem("the soak", what, "see its folder and the scheduler's account of the job, then run it again")


def findings(rails: Sequence[SoakedRail], streams: Iterable[Stream]) -> Iterator[Finding]:
    """Yield what is wrong: rails without load, links that went down, hard errors, stalls; then what may be wrong.

    If a rail stalls only one way, either its partner is sick, or the stream between two good rails stalled.
    """
    streams, places = tuple(streams), {(rail.node, rail.rail): rail for rail in rails}
    yield from _without_load(places, streams)
    for rail in rails:
        if rail.changes:
            yield problem(
                rail.rail_name,
                f"its link went up or down {count_of(rail.changes, 'time')}, first seen after "
                f"{duration(rail.first_change_s or 0.0)}",
                "change the cable or transceiver, then the port: a link under load stays up",
            )
        hard = {name: rate for name, rate in rail.errors.items() if name in HARD}
        if hard:
            yield problem(rail.rail_name, _errors(hard), "change the cable or transceiver, then the port")
        if "both" in rail.stalled_s and not rail.changes:
            usual, since = min(rail.sent_mb_s, rail.received_mb_s), duration(rail.stalled_s["both"])
            yield problem(
                rail.rail_name,
                f"it stalled both ways from {since} on: {rail.least_mb_s:.1f} MB/s at worst, usually {usual:.1f} MB/s",
                _STALL_FIX,
            )
        soft = {name: rate for name, rate in rail.errors.items() if name not in HARD}
        if soft:
            yield remark(rail.rail_name, _errors(soft), "a signal of load: compare the rails with each other")
        if rail.unread:
            what = f"it is not in {count_of(rail.unread, 'reading')}"
            if rail.unread > 1 and rail.unread_share > MOST_UNREAD:
                share = f"{what}, {100 * rail.unread_share:.0f} % of all, so nothing is known of it then"
                yield problem(rail.rail_name, share, "see the soak's folder: what its node printed")
            else:
                yield remark(rail.rail_name, what, "its counters could not be read then")
    yield from _one_way(places, streams)


def _without_load(rails: Mapping[Place, SoakedRail], streams: Sequence[Stream]) -> Iterator[Finding]:
    """Yield the rails that a stream should have loaded and of which nothing is known: unread, or without traffic."""
    loaded = dict.fromkeys(place for sender, to, device in streams for place in ((sender, device), (to, device)))
    for node, device in loaded:
        rail = rails.get((node, device))
        if rail is None:
            what = "it was not read twice, so nothing is known of it"
            yield problem(f"{node} {device}", what, "see the soak's folder: what its node printed")
        elif max(rail.sent_mb_s, rail.received_mb_s) < _NO_LOAD_MB_S and not rail.is_sick:
            what = "it carried no load, so nothing is known of it"
            yield problem(rail.rail_name, what, "see the soak's folder: what the load of this rail printed")


def is_error(counter: str) -> bool:
    """Return whether a counter counts errors or losses, by its name. Counters with other names are not looked at."""
    return counter in HARD or counter.endswith((SIGNAL, *_ERRORS))


def duration(seconds: float) -> str:
    """Return a time as people write it: ``42 s``, ``5 min 10 s``, ``7 h 3 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _soak_rail(place: Place, readings: Sequence[Reading]) -> SoakedRail | None:
    read = [(reading.at_s, reading.values[place]) for reading in readings if place in reading.values]
    own = _order_by_time(read)
    if len(own) < 2:
        return None
    sent, received = _rates(own, TRAFFIC[0]), _rates(own, TRAFFIC[1])
    lower = [min(pair) for pair in zip(sent, received, strict=True)]
    worst = min(range(len(lower)), key=lower.__getitem__)
    below = {"sent": _below_half(sent), "received": _below_half(received)}
    below["both"] = [one and other for one, other in zip(*below.values(), strict=True)]
    hours = (own[-1][0] - own[0][0]) / _S_PER_HOUR
    first, last = own[0][1], own[-1][1]
    names = [name for name in first if is_error(name) and last.get(name, 0) > first[name]]
    before = first.get(CHANGES, 0)
    changed = next((at for at, counters in own if counters.get(CHANGES, 0) > before), None)
    return SoakedRail(
        *place,
        sent_mb_s=median(sent),
        received_mb_s=median(received),
        least_mb_s=lower[worst],
        least_at_s=own[worst][0],
        stalled_s={way: own[said.index(True)][0] for way, said in below.items() if any(said)},
        errors={name: (last[name] - first[name]) / hours for name in names},
        changes=max(0, last.get(CHANGES, 0) - before),
        first_change_s=changed,
        unread=len(readings) - len(read),
        unread_share=1 - len(read) / len(readings),
    )


def _order_by_time(read: Sequence[tuple[float, Mapping[str, int]]]) -> list[tuple[float, Mapping[str, int]]]:
    """Return readings with rising times: the very first one, then the last one of each time.

    A job's clock counts whole seconds and may be set back; two readings in the same second give no rate.
    """
    found: list[tuple[float, Mapping[str, int]]] = []
    for at_s, counters in read:
        if not found or at_s > found[-1][0]:
            found.append((at_s, counters))
        elif len(found) > 1:
            found[-1] = (found[-1][0], counters)
    return found


def _rates(own: Sequence[tuple[float, Mapping[str, int]]], counter: str) -> list[float]:
    """Return MB/s (10^6 B/s) between each reading and the next; if a counter went back, 0."""
    pairs = itertools.pairwise(own)
    return [
        max(0, after.get(counter, 0) - before.get(counter, 0)) / 1e6 / (later - earlier)
        for (earlier, before), (later, after) in pairs
    ]


def _below_half(rates: Sequence[float]) -> list[bool]:
    usual = median(rates)
    return [rate < _STALLED * usual for rate in rates]


def _one_way(rails: Mapping[Place, SoakedRail], streams: Iterable[Stream]) -> Iterator[Finding]:
    """Yield the streams that stalled at both ends although neither of the two rails is sick."""
    for sender, receiver, device in streams:
        one, other = rails.get((sender, device)), rails.get((receiver, device))
        if one is None or other is None or one.is_sick or other.is_sick:
            continue
        if "sent" in one.stalled_s and "received" in other.stalled_s:
            since = duration(one.stalled_s["sent"])
            what = f"what it sends {receiver} stalled from {since} on, and nothing else on the two rails stalled"
            yield problem(one.rail_name, what, "check its transmitter and the other's receiver: cable and port")


def _errors(errors: Mapping[str, float]) -> str:
    said = ", ".join(f"{name} {rate:.3g}" for name, rate in errors.items())
    return f"errors per hour grew: {said}"


FORMAT = 1


class Log:
    """A new file of readings. Raises SetupError if it cannot be written."""

    def __init__(self, path: Path, system: str, streams: Iterable[Stream]) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append({"railyard_soak": FORMAT, "system": system, "streams": list(streams)})
        except OSError as error:
            raise SetupError(f"soak: {path} cannot be written ({error.strerror})") from None

    def keep(self, reading: Reading) -> None:
        """Append a reading."""
        counters: dict[str, dict[str, Any]] = {}
        for (node, device), values in reading.values.items():
            counters.setdefault(node, {})[device] = dict(values)
        self._append({"at_s": round(reading.at_s, 3), "counters": counters})

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def read(path: Path) -> tuple[tuple[Reading, ...], tuple[Stream, ...]]:
    """Return the readings that a soak kept, and its streams. Raises InputError, with the line, for any other file."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        found = f"nothing that can be read ({error.strerror})"
        raise InputError(str(path), found, "the readings of a soak") from None
    match _parse_line(lines[0]):
        case {"railyard_soak": 1, "streams": list() as streams} if all(map(_is_stream, streams)):
            return tuple(_readings(lines[1:], path)), tuple((sender, to, device) for sender, to, device in streams)
        case _:
            raise InputError(str(path), f'"{lines[0][:60]}"', f"the head of a soak of format {FORMAT}", line=1)


def _readings(lines: list[str], path: Path) -> Iterator[Reading]:
    for number, line in enumerate(lines[:-1], start=2):  # what follows the last newline was cut, or is nothing
        match _parse_line(line):
            case {"at_s": float() | int() as at_s, "counters": dict() as nodes} if all(map(_is_table, nodes.values())):
                yield Reading(at_s, {(node, dev): each for node, there in nodes.items() for dev, each in there.items()})
            case _:
                raise InputError(str(path), f'"{line[:60]}"', "a reading", line=number)


def _is_stream(stream: Any) -> bool:
    return isinstance(stream, list) and len(stream) == 3 and all(isinstance(word, str) for word in stream)


def _is_table(there: Any) -> bool:
    """Return whether it is a table of devices, each with a table of counters."""
    return isinstance(there, dict) and all(
        isinstance(counters, dict) and all(isinstance(count, int) for count in counters.values())
        for counters in there.values()
    )


def _parse_line(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


_FIRST_PORT = 19900
_EXEC_LIMIT_S = 30
# So no stream ends by itself: 10^18 B take more than 200,000 hours on a rail of 10 Gbit/s.
_ENDLESS = str(10**18)
# Prints every counter of every device except lo, as DEVICE NAME VALUE.
_READ = """\
for path in /sys/class/net/*/statistics/* /sys/class/net/*/carrier_changes; do
    device=${path#/sys/class/net/}
    device=${device%%/*}
    [ "$device" != lo ] && { IFS= read -r value <"$path"; } 2>/dev/null && echo "$device ${path##*/} $value"
done
"""


@dataclass
class _End:
    """One end of a stream: a node and the process there. It ends when this process ends, whatever the reason."""

    enter: str
    node: str
    words: list[str]
    running: "subprocess.Popen[bytes] | None" = field(default=None)

    def hold(self) -> None:
        """Start it, or start it again if it has ended: it ends if its link is down for long."""
        if self.running is None or self.running.poll() is not None:
            silent = subprocess.DEVNULL
            # `enter` ends its command when it is ended itself, and the kernel ends `enter` when this process ends.
            self.running = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", self.enter, self.node, "--", *self.words],
                stdin=silent, stdout=silent, stderr=silent, start_new_session=True,
            )  # fmt: skip

    def end(self) -> None:
        """End it and everything that it started."""
        if self.running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.running.pid, signal.SIGKILL)
            self.running.wait()


def soak(bed: Testbed, seconds: float, every_s: float, keep: Callable[[Reading], None]) -> None:
    """Load all rails for so long; give each reading to ``keep`` as it is made, from the beginning to the end."""
    with _keep_streams(bed) as ends:
        time.sleep(min(1.0, every_s))  # give the streams time to begin
        begun = time.monotonic()
        while True:
            keep(Reading(time.monotonic() - begun, _counters(bed)))
            left = begun + seconds - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(every_s, left))
            for end in ends:
                end.hold()


@contextlib.contextmanager
def _keep_streams(bed: Testbed) -> Iterator[list[_End]]:
    """Keep both ends of every stream running."""
    ends = list(_ends(bed))
    try:
        for end in ends:
            end.hold()
        yield ends
    finally:
        for end in ends:
            end.end()


def streams(spec: TestbedSpec) -> tuple[Stream, ...]:
    """Return a stream from each node to the next on each network, so that every rail sends and receives at once."""
    ring = tuple(zip(spec.nodes, (*spec.nodes[1:], spec.nodes[0]), strict=True))
    return tuple((node, peer, network.device) for network in spec.networks for node, peer in ring)


def _ends(bed: Testbed) -> Iterator[_End]:
    enter, program = str(bed.enter), [sys.executable, payload.__file__]
    for number, (node, peer, device) in enumerate(streams(bed.spec)):
        own, to = bed.spec.address(node, device), bed.spec.address(peer, device)
        tail = [str(_FIRST_PORT + number), _ENDLESS]
        yield _End(enter, peer, [*program, "receive", to, *tail])
        yield _End(enter, node, [*program, "send", own, to, *tail])


def _counters(bed: Testbed) -> dict[tuple[str, str], dict[str, int]]:
    """Return all counters by node and device."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for node in bed.spec.nodes:
        done = bed.exec(node, ["sh", "-c", _READ], timeout_s=_EXEC_LIMIT_S)
        for line in done.stdout.splitlines():
            device, name, value = line.split()
            if value.isdigit():
                found.setdefault((node, device), {})[name] = int(value)
    return found
