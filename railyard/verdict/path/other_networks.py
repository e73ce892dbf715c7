"""Traffic on networks that a run was not meant to use: other devices, and TCP beside RDMA on the meant port itself."""

from railyard.base.bounds import UNMEANT_BYTES, UNMEANT_SHARE
from railyard.base.wording import listing, traffic
from railyard.job.counters.node import NodeCounters
from railyard.results.record.form import Suspect
from railyard.verdict.path.split import Finding
from railyard.verdict.path.traffic import WAYS, Plan, unmeant_bytes


def stray_finding(node: str, reading: NodeCounters, plan: Plan) -> Finding | None:
    """Return the unmeant network that carried more than its allowance; None where none did.

    Where the nodes are not this run's alone, other jobs' traffic proves nothing: but TCP on the very port whose RDMA
    counters see it too keeps RDMA from being proven.
    """
    moved = max(plan.traffic[node].payload(way) for way in WAYS)
    bound = max(UNMEANT_SHARE.value * moved, UNMEANT_BYTES.value)
    for way in WAYS:
        for device, amount in unmeant_bytes(reading, plan, way).items():
            if amount <= bound:
                continue
            said = (
                f"{way} {traffic(amount)} while the run moved {traffic(moved)} (bound {traffic(bound)}, the larger of "
                f"{UNMEANT_SHARE.name} and {UNMEANT_BYTES.name})"
            )
            rail = rail_of_interface(reading, device)
            if plan.exclusive:
                return _failed(node, device, rail, amount, said, plan)
            if rail is not None and _sees_tcp(reading, rail):
                sentence = (
                    f"path not proven: {device} of {node}, the network interface of {rail}, {said}: the counters of "
                    f"{rail} see TCP and RDMA alike, and the nodes are not exclusive"
                )
                return Finding("not-proven", sentence, "not-proven", f"what else used {device} of {node}")
    return None


def rail_of_interface(reading: NodeCounters, device: str) -> str | None:
    """Return the meant RDMA rail on whose port a network interface is, None for any other device."""
    found = reading.device(device)
    return None if found is None else found.beside


def _failed(node: str, device: str, rail: str | None, amount: int, said: str, plan: Plan) -> Finding:
    if rail is None:
        sentence = f"{device} of {node}, which was not meant, {said}"
        reason = f"{device} carried {traffic(amount)} that should have gone over {listing(list(plan.rails))}"
        look = f"how the stack is told its devices, and what else uses {device} of {node}"
    else:
        sentence = f"{device} of {node}, the network interface of {rail}, {said}: TCP, and not RDMA"
        reason = f"TCP over {device} carried {traffic(amount)} that should have been RDMA over {rail}"
        look = f"how the stack is told its transports; what else uses {device} of {node}"
    return Finding("failed", sentence, "set-up", look, (Suspect("stack", reason, node, device),))


def _sees_tcp(reading: NodeCounters, rail: str) -> bool:
    found = reading.device(rail)
    return found is not None and found.overlap == "port"
