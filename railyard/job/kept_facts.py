"""What is kept of a run beside its output: its benchmark's words, and what each node's counters moved. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from railyard.job.case import Case, Evidence
from railyard.job.counters import node as counters
from railyard.job.launch import counter_drivers
from railyard.job.placement import RankNic
from railyard.results.record.kept_test import DeviceMoved, KeptTest, NicOfRank, NodeMoved


def kept_of(
    case: Case,
    evidence: Evidence,
    words: Sequence[str],
    files: Mapping[str, str],
    nics: Iterable[RankNic],
    time: str,
    readings: Mapping[str, counters.NodeCounters] | None = None,
) -> KeptTest:
    """Return what is kept of a run whose nodes read their counters.

    ``words`` are the benchmark's own, ``files`` its input files, ``nics`` what its ranks were given, ``time`` when.
    ``readings`` are the evidence's counters by node, where they were parsed already: of thousands that takes seconds.
    """
    found = readings_of(case, evidence) if readings is None else readings
    nodes = tuple(_node_moved(name, found.get(name)) for name in case.launch.nodes)
    ranks = tuple(NicOfRank(nic.node, nic.rank, nic.device) for nic in nics)
    return KeptTest(time, case.test.policy, case.ranks_per_node, tuple(words), dict(files), nodes, ranks)


def readings_of(case: Case, evidence: Evidence) -> dict[str, counters.NodeCounters]:
    """Return the counters of a run's nodes, by node."""
    drivers = counter_drivers(case.site)
    read = [counters.parse(text, evidence.tag, drivers) for text in evidence.counters]
    return counters.by_node(read, case.launch.nodes)


def _node_moved(name: str, reading: counters.NodeCounters | None) -> NodeMoved:
    if reading is None:
        return NodeMoved(name, (), "no counters of it were read")
    devices = (_device(device) for device in reading.devices)
    kept = tuple(one for one in devices if one.meant or one.tx_bytes != 0 or one.rx_bytes != 0 or one.grown)
    return NodeMoved(name, kept, reading.problem)


def _device(device: counters.DeviceCounters) -> DeviceMoved:
    grown = {**device.errors, **device.signals}
    tx, rx = device.tx.delta_bytes, device.rx.delta_bytes
    return DeviceMoved(device.device, device.meant, tx, rx, grown, device.trouble)
