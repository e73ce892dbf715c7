"""How long a message takes over the rails that a library took, and how a planted fault changes that.

Nothing is measured: a healthy system meets its references if it has any. Else a link gives what its kind is known to
give, below its physical limit and above the floors of its class.
"""

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from railyard.benchmarks.metrics import messages_a_time
from railyard.benchmarks.model import BANDWIDTH, Metric
from railyard.benchmarks.table import micro
from railyard.hardware.links import Link
from railyard.provision.rehearsal.form import Fault
from railyard.provision.replay import reference_outputs
from railyard.provision.replay.reference_outputs import MessageTime
from railyard.site.gpu_shape import limit_from_gpus
from railyard.site.site import Site
from railyard.site.systems.model import Fabric, System
from railyard.site.test_id import TestId

#: The share of its physical limit that a stream reaches, one way and both ways. Published: 92 to 99 % and 79 to 97 %.
EFFICIENCY = {1: 0.97, 2: 0.93}
#: Half a round trip of a small message between two nodes, us, by family of link; RoCE is a little slower than
#: InfiniBand. Source: references/published.tsv (1.0 us EDR, 7 us InfiniBand 4X of 2003, 12.7 us and more over TCP);
#: fi_efa(7).
_LATENCY_US = {"infiniband": 1.2, "roce": 2.0, "omnipath": 1.2, "slingshot": 2.0, "efa": 16.0, "myrinet": 6.5}
_LATENCY_US |= {"qsnet": 2.5, "sci": 4.0, "aries": 1.5, "ethernet": 15.0}
#: The same for InfiniBand before PCI Express 3: each value holds up to a data rate in Gbit/s.
_OLD_INFINIBAND_US = ((8.0, 6.0), (16.0, 3.0), (40.0, 1.6))
_OLD_ETHERNET_GBIT_S, _OLD_ETHERNET_US = 1.0, 30.0
#: The management network, which a library uses if it falls back to TCP: Gigabit Ethernet.
MANAGEMENT_MB_S, MANAGEMENT_US = 112.0, 30.0
#: A card at the other socket: its transfers cross the link between the sockets.
FAR_SHARE, FAR_US = 0.85, 0.3
#: Messages in flight share their start. Without a library more of them do: a message of 64 KiB over NDR took 1.34 us,
#: all of it on the wire.
_IN_FLIGHT, _IN_FLIGHT_OF_VERBS = 4, 16
#: The extra time of the first repetitions, us: caches, page tables, a rising clock.
_COLD_US = 25.0
#: The largest factor of noise: in one observation, six round trips of 0.8 us gave five times the latency.
_MOST_NOISE = 4.0


def rail_share(faults: Iterable[Fault], node: str, device: str) -> float:
    """Return the share of its rate that a rail of a node gives with the faults planted there."""
    share = 1.0
    for fault in faults:
        if fault.hits(node, device):
            share *= {"slow": fault.share, "lanes": fault.lanes / 4, "far": FAR_SHARE}.get(fault.kind, 1.0)
    return share


def leaf_share(faults: Iterable[Fault], fabric: Fabric | None, first: str, second: str) -> float:
    """Return the share that is left between two nodes if the way crosses a leaf switch, or a group, that gives less."""
    share = 1.0
    leaves = {node: leaf for leaf, nodes in fabric.leaf_switches.items() for node in nodes} if fabric else {}
    groups = {leaf: group for group, of in fabric.groups.items() for leaf in of} if fabric else {}
    ends = [(leaves.get(node), groups.get(leaves.get(node, ""))) for node in (first, second)]
    for fault in faults:
        # On one level both nodes are at, or in, different ones.
        if fault.kind == "leaf" and any(
            one != other and fault.leaf in (one, other) for one, other in zip(*ends, strict=True)
        ):
            share = min(share, fault.share)
    return share


def more_us(faults: Iterable[Fault], node: str, device: str) -> float:
    """Return how long a message of this rail waits in addition, in us."""
    return sum(FAR_US for fault in faults if fault.kind == "far" and fault.hits(node, device))


def left_over(shares: Sequence[float], left: Sequence[float]) -> float:
    """Return the share of the fault-free rate of all rails in use that messages have.

    ``shares`` are the shares of a message that each rail carries, ``left`` the share of its rate that each rail gives.
    If a message is split, its slowest part counts.
    """
    used = [(share, rest) for share, rest in zip(shares, left, strict=True) if share > 0]
    return 1 / max((share * len(used) / max(rest, 1e-3) for share, rest in used), default=1.0)


def times(site: Site, test: TestId, sizes: tuple[int, ...], split_from: int = 0) -> tuple[float, ...]:
    """Return the time of a message of each size in us, on a healthy system: by its references, else by its link.

    ``split_from``: messages below it go over one rail, if no reference gives their time.
    """
    found = reference_outputs.healthy(site, test, sizes)
    if found is not None:
        return reference_outputs.hold_bounds(site, test, sizes, tuple(found.time_at(size) for size in sizes))
    several, one = (_of_link(site.system, each) for each in (test, replace(test, rails=1)))
    if micro.find(test.benchmark).metrics[0].shape == "collective":
        made = tuple(_collective_us(test, several, size) for size in sizes)
    else:
        made = tuple((several if size >= split_from else one).time_at(size) for size in sizes)
    return reference_outputs.hold_bounds(site, test, sizes, made)


def slow_times(
    times_us: Sequence[float], shares: Sequence[float], waits_us: float, start_us: float
) -> tuple[float, ...]:
    """Return healthy times changed by faults: for each size the share of the rate that is left, and what all wait.

    The part of a message's time that its bytes take grows; its start, at most ``start_us``, stays.
    """
    start = min(start_us, *times_us)
    return tuple(start + (time - start) / share + waits_us for time, share in zip(times_us, shares, strict=True))


def start_us(link: Link, test: TestId) -> float:
    """Return the part of a message's time that does not depend on its bytes, in us."""
    metric = _bandwidth_of(test)
    if metric is None or metric.shape != "stream":
        return latency_us(link)
    is_of_verbs = micro.tool(micro.find(test.benchmark).tool).between_nics
    return latency_us(link) / (_IN_FLIGHT_OF_VERBS if is_of_verbs else _IN_FLIGHT)


def over_tcp(times_us: Sequence[float], sizes: Sequence[int], test: TestId) -> tuple[float, ...]:
    """Return the times for a library that silently went over the management network."""
    metric = _bandwidth_of(test)
    stream, ways = metric is not None and metric.shape == "stream", 1 if metric is None else metric.directions
    rate = ways * MANAGEMENT_MB_S / messages_a_time(test.benchmark)
    slow = MessageTime(MANAGEMENT_US / (_IN_FLIGHT if stream else 1), rate, ())
    return tuple(max(time, slow.time_at(size)) for time, size in zip(times_us, sizes, strict=True))


def noisy(
    times_us: Sequence[float], repetitions: Sequence[int], messages: int, seed: str, at_most: float = _MOST_NOISE
) -> tuple[float, ...]:
    """Return times with the noise of few repetitions; always the same for one seed.

    ``messages``: those of one repetition. A measurement of 10 us takes several times as long as it should, one of 1 ms
    0.1 % longer.
    """
    found = []
    for place, (time, count) in enumerate(zip(times_us, repetitions, strict=True)):
        lasting_us = max(time * count * messages, 1e-3)
        drawn = 0.5 + zlib.crc32(f"{seed} {place}".encode()) / 2**33
        found.append(time * (1 + drawn * min(at_most, (_COLD_US / lasting_us) ** 2)))
    return tuple(found)


def latency_us(link: Link) -> float:
    """Return half a round trip of a small message over a link of this kind, in us."""
    rate = link.data_rate_gbit_s or 0.0
    if link.family == "infiniband":
        return next((us for most, us in _OLD_INFINIBAND_US if rate <= most), _LATENCY_US[link.family])
    if link.family == "ethernet" and rate <= _OLD_ETHERNET_GBIT_S:
        return _OLD_ETHERNET_US
    return _LATENCY_US.get(link.family, _LATENCY_US["ethernet"])


def rate_mb_s(fabric: Fabric, rails: int, directions: int = 1) -> float:
    """Return the rate of a healthy stream over the first rails, in MB/s."""
    limit = fabric.limit(rails, directions)
    return MANAGEMENT_MB_S if limit is None else EFFICIENCY[directions] * limit.value_mb_s


def _bandwidth_of(test: TestId) -> Metric | None:
    return next((one for one in micro.find(test.benchmark).metrics if one.name == BANDWIDTH), None)


def _of_link(system: System, test: TestId) -> MessageTime:
    """Return a message's time over a link without references; one time may cover several messages (both ways)."""
    metric, fabric = _bandwidth_of(test), system.fabrics[test.fabric]
    directions = 1 if metric is None else metric.directions
    rate = rate_mb_s(fabric, test.rails, directions)
    if micro.find(test.benchmark).in_gpu and system.gpus is not None:
        every = micro.find(test.benchmark).every_gpu
        bound = limit_from_gpus(system.gpus, fabric, test.rails, directions, every_gpu=every)
        rate = rate if bound is None else min(rate, EFFICIENCY[directions] * bound.value_mb_s)
    rate /= messages_a_time(test.benchmark)
    return MessageTime(start_us(fabric.link, test), rate, ())


def _collective_us(test: TestId, curve: MessageTime, size: int) -> float:
    """Return a collective's time: a start for each doubling of the nodes, and the bytes that a node must move.

    It is the time over four nodes with one rank on each, as in the checks.
    """
    nodes, least = 4, micro.find(test.benchmark).least
    moved = 2.0 if least is None else max(least.sent(nodes, 1), least.received(nodes, 1), 1.0)
    start = curve.time_at(0)
    return start * math.ceil(math.log2(nodes)) + moved * (curve.time_at(size) - start) * 1.25
