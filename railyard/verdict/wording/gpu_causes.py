"""The sentences about what a failed busbw between GPUs looks like."""

from railyard.base.wording import count_of, number, percent
from railyard.verdict.wording.causes import Looks


def reachable_share(peak_gb_s: float, share: float, bound_gb_s: float) -> str:
    """Return a peak compared with what the named parts can reach."""
    return f"{number(peak_gb_s)} GB/s is {percent(share)} of the {number(bound_gb_s)} GB/s that those can reach"


def one_domain(compared: str) -> Looks:
    """Return that no NIC carried the bytes; ``compared``: the peak with what NVLink over all GPUs can reach."""
    return Looks(
        "traffic that never used the NICs",
        ": one NVLink domain over several nodes (domain= of --nodes-have, MNNVL in NCCL's log), or separate jobs of "
        f"one node each; {compared}",
    )


def more_nics(times: int, compared: str) -> Looks:
    """Return that the nodes must have more or faster NICs than stated."""
    return Looks(f"nodes with {times} times as many NICs, or NICs {times} times as fast", f": {compared}")


def fewer_nics(nics: int, of: int, compared: str) -> Looks:
    """Return that some of a node's NICs would reach the peak."""
    return Looks(f"{nics} of {count_of(of, 'NIC')} of a node", f": {compared}")


def across_sockets(peak_gb_s: float, share: float) -> Looks:
    """Return that the peak is what a path across sockets reaches; ``share``: of the bound."""
    return Looks(
        "a path across sockets, or through shared PCIe switches",
        f": {number(peak_gb_s)} GB/s is {percent(share)} of the bound; nvidia-smi topo -m shows which NIC is near "
        "which GPU",
    )


def narrow_slots(slot: str, compared: str) -> Looks:
    """Return that NICs in lesser slots would reach the peak."""
    return Looks(f"NICs in slots of {slot}", f": {compared}; lspci -vv (LnkSta) shows it")


def over_sockets(interface: str, link: str, compared: str) -> Looks:
    """Return that sockets over one interface would reach the peak."""
    return Looks(
        "sockets",
        f" (TCP) over one interface of {interface}, in place of {link}: {compared}; then NCCL's log (NCCL_DEBUG=INFO) "
        'has "Using network Socket"',
    )


def over_pcie(link: str, slot: str, compared: str) -> Looks:
    """Return that PCIe between the GPUs of a node would reach the peak."""
    return Looks(
        f"PCIe in place of {link} between the GPUs of a node",
        f" ({slot}): {compared}; nvidia-smi nvlink --status, NCCL_P2P_DISABLE and the fabric manager tell more",
    )


def through_hosts(share: float) -> Looks:
    """Return that the peak is what bytes reach that go through the memory of the hosts; ``share``: of the bound."""
    return Looks(
        "bytes that go through the memory of the hosts, without GPUDirect RDMA",
        f" (nvidia_peermem or DMA-BUF missing, ACS on): {percent(share)} of the bound; the log of NCCL has "
        '"/GDRDMA" behind each connection that uses it',
    )
