"""A stack's own log compared with the counters: which contradicts which. Lines are from our own runs, shortened."""

import pytest

from railyard.stacks import ask
from railyard.verdict.path.proof import LONGEST, LogDevices, compared_with_log, read_log
from railyard.verdict.rule_model import PathProof
from railyard.verdict.wording import NOT_INTENDED, NOT_PROVEN

DEVICES = ("hsn0", "hsn1", "eth0")
MEANT = ("hsn0", "hsn1")
PROVEN = PathProof("proven", "382.0 MB moved on vn1 and vn2")
FAILED = PathProof("failed", f"190.0 MB went over eth0 of vn1, which {NOT_INTENDED}", "set-up")
UCX = "[vn2:524  :0]  ucp_worker.c:1912 UCX  INFO    ucp_context_0 inter-node cfg#1 tag({lanes})  rma_am(tcp/hsn0)"
BOTH, ONE, OTHER = (UCX.format(lanes=lanes) for lanes in ("tcp/hsn0 tcp/hsn1", "tcp/hsn0", "tcp/eth0"))
ETH_ALONE = OTHER.replace("rma_am(tcp/hsn0)", "rma_am(tcp/eth0)")


def patterns(stack: str = "mpich", policy: str = "striping") -> dict[str, str]:
    return ask.device_patterns(stack, "tcp", policy, DEVICES)


@pytest.mark.parametrize(
    ("stack", "policy", "log", "devices"),
    [
        ("mpich", "striping", BOTH, ("hsn0", "hsn1")),
        ("mpich", "striping", ETH_ALONE, ("eth0",)),
        ("openmpi", "striping", "[vn1:1] btl: tcp: Using interface: hsn0 \n[vn1:1] btl: tcp: Using interface: eth0 \n",
         ("hsn0", "eth0")),
        ("openmpi", "striping", "[vn1:1] btl: tcp: Using interface: hsn1", ("hsn1",)),
        ("openmpi", "striping", "[vn1:1] btl: tcp: Using interface: hsn10 \n", None),
        ("intelmpi", "round-robin", "vn1:rank0 PSM3_IDENTIFY NIC 1 (hsn1) Port 1 10000 Mbps", ("hsn1",)),
        ("mpich", "striping", "# Benchmarking Uniband over hsn0 and hsn1\n", None),
        ("mpich", "striping", BOTH + "x" * LONGEST, None),
    ],
)  # fmt: skip
def test_a_log_names_its_devices(stack: str, policy: str, log: str, devices: tuple[str, ...] | None) -> None:
    said = read_log(log, patterns(stack, policy))
    assert (None if said is None else said.devices) == devices


#: What three stacks printed about their devices in a run on the virtual cluster over two rails: one node's lines, cut,
#: UCX's without their time.
RECORDED = {
    ("mpich", "striping"): """\
[vn1:82   :0]          parser.c:2364 UCX  INFO  UCX_* env variables: UCX_NET_DEVICES=hsn0,hsn1 UCX_TLS=tcp,self
[vn1:82   :0]      ucp_worker.c:1912 UCX  INFO    ucp_context_0 self cfg#0 tag(self/memory tcp/hsn0 tcp/hsn1)
[vn1:82   :0]      ucp_worker.c:1912 UCX  INFO    ucp_context_0 inter-node cfg#1 tag(tcp/hsn0 tcp/hsn1)
""",
    ("intelmpi", "round-robin"): """\
vn1:rank0 PSM3_IDENTIFY HAL: sockets (TCP Sockets)
vn1:rank0 PSM3_IDENTIFY NIC 1 (hsn0) Port 1 10000 Mbps NUMA -1 IP=10.99.1.1/24 TCP=47425 UDP=38639
vn1:rank0 PSM3_IDENTIFY NIC 2 (hsn1) Port 1 10000 Mbps NUMA -1 IP=10.99.2.1/24 TCP=47107 UDP=42982
""",
    ("openmpi", "striping"): """\
[vn1:00339] btl: tcp: Using interface: hsn0 
[vn1:00339] btl: tcp: Using interface: hsn1 
[vn1:00339] btl:tcp: Attempting to bind to AF_INET port 1024
""",
}  # fmt: skip


@pytest.mark.parametrize(("stack", "policy"), RECORDED)
def test_the_logs_of_our_own_run_name_both_rails_and_no_other_network(stack: str, policy: str) -> None:
    log = RECORDED[stack, policy]
    said = read_log(log, patterns(stack, policy))
    assert said is not None
    assert said.devices == MEANT
    assert compared_with_log(PROVEN, log, patterns(stack, policy), MEANT) == PROVEN


def test_a_stack_that_names_no_devices_has_no_patterns() -> None:
    assert ask.device_patterns("intelmpi", "tcp", "single", DEVICES) == {}
    assert read_log("MPI startup(): libfabric provider: tcp", {}) is None


def test_two_ports_of_one_card_cannot_be_told_apart() -> None:
    found = ask.device_patterns("openmpi", "ib", "striping", ("mlx5_0:1", "mlx5_0:2", "mlx5_1:1"))
    assert list(found) == ["mlx5_0:1", "mlx5_1:1"]


def test_the_line_that_names_the_first_device_is_kept() -> None:
    assert read_log(f"something else\n{ETH_ALONE}\n", patterns()) == LogDevices(("eth0",), ETH_ALONE)


@pytest.mark.parametrize(
    ("proof", "log", "remark"),
    [
        (PROVEN, BOTH, None),
        (PROVEN, "", None),
        (PROVEN, ONE, f'the stack\'s own log contradicts the counters: it names only hsn0 ("{ONE[:120]}")'),
        (PROVEN, f"{BOTH}\n{OTHER}", "the stack's own log also names eth0, over which the counters saw no messages"),
        (FAILED, BOTH, f'the counters contradict the stack\'s own log, which names hsn0 and hsn1 ("{BOTH[:120]}")'),
        (FAILED, ETH_ALONE, f'the stack\'s own log says so too: it names eth0 ("{ETH_ALONE[:120]}")'),
        (FAILED, "", None),
        (PathProof("failed", "errors on hsn0 of vn1", "fabric"), BOTH, None),
        (PathProof("not-proven", f"{NOT_PROVEN}no counters", "not-proven"), ONE, None),
    ],
)
def test_log_and_counters_are_held_against_each_other(proof: PathProof, log: str, remark: str | None) -> None:
    sentence = compared_with_log(proof, log, patterns(), MEANT).sentence
    assert sentence == (proof.sentence if remark is None else f"{proof.sentence}; {remark}")
