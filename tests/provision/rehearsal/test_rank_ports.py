"""What each library uses of its settings: with those that Railyard sets, and with one that somebody forgot."""

from collections.abc import Mapping

import pytest

from railyard.base.errors import RailyardError
from railyard.provision.rehearsal import rank_ports
from railyard.provision.rehearsal.rank_ports import LibraryError, Port, Rank, RankPorts
from railyard.stacks import ask
from railyard.stacks.model import OWN, STACKS

NEAR = (frozenset(range(8)), frozenset(range(8, 16)))
VERBS = tuple(Port(f"mlx5_{n}:1", "verbs", near=NEAR[n], rate_gbit_s=400.0) for n in range(2))
NET = (Port("eth0", "net", rate_gbit_s=1.0, meant=False), Port("hsn0", "net", rate_gbit_s=100.0))
CXI = tuple(Port(f"cxi{n}", "cxi", near=NEAR[n], rate_gbit_s=200.0) for n in range(2))
HFI = tuple(Port(f"hfi1_{n}:1", "verbs", near=NEAR[n], rate_gbit_s=100.0) for n in range(2))
IB = (*VERBS, *NET)


def take_ports(stack: str, variables: Mapping[str, str], ports: tuple[Port, ...], rank: Rank) -> RankPorts:
    return rank_ports.take_ports(STACKS[stack].rehearsed_as, variables, ports, rank)


def port_names(found: RankPorts) -> tuple[str, ...]:
    return tuple(port.name for port in found.ports)


@pytest.mark.parametrize(
    ("stack", "kind", "ports", "rails", "policy", "split"),
    [
        ("openmpi", "ib", IB, 1, None, "none"),
        ("openmpi", "ib", IB, 2, "striping", "striping"),
        ("openmpi", "tcp", NET, 1, None, "none"),
        ("hpcx", "ib", IB, 2, "striping", "striping"),
        ("mpich", "ib", IB, 2, "striping", "striping"),
        ("mpich", "slingshot", (*CXI, *NET), 2, "striping", "striping"),
        ("mvapich2", "ib", IB, 2, "striping", "striping"),
        ("mvapich2", "ib", IB, 2, "round-robin", "round-robin"),
        ("mvapich2", "roce", IB, 1, None, "none"),
        ("intelmpi", "ib", IB, 2, "striping", "striping"),
        ("intelmpi", "roce", IB, 2, "round-robin", "round-robin"),
        ("intelmpi", "tcp", NET, 1, None, "none"),
        ("intelmpi", "opa", (*HFI, *NET), 1, None, "none"),
        ("intelmpi", "opa", (*HFI, *NET), 2, "striping", "round-robin"),
        ("openmpi", "opa", (*HFI, *NET), 1, None, "none"),
        ("craympich", "slingshot", (*CXI, *NET), 1, None, "none"),
    ],
)
def test_what_railyard_sets_has_its_effect(
    stack: str, kind: str, ports: tuple[Port, ...], rails: int, policy: str | None, split: str
) -> None:
    """PSM2's windows of a message go in turn over the rails, which is its striping."""
    meant = [port.name for port in ports if port.meant][-rails if kind == "tcp" else 0 :][:rails]
    env = ask.settings(stack, kind, tuple(meant), rails, policy).env
    found = take_ports(stack, env, ports, Rank())
    assert (sorted(port_names(found)), found.split, found.tcp) == (sorted(meant), split, kind == "tcp")


@pytest.mark.parametrize(
    ("stack", "kind", "ports"),
    [
        ("mvapich2", "ib", IB),
        ("mpich", "slingshot", (*CXI, *NET)),
        ("craympich", "slingshot", (*CXI, *NET)),
        ("intelmpi", "ib", IB),
        ("openmpi", "ib", IB),
        ("openmpi", "slingshot", (*CXI, *NET)),
    ],
)
def test_with_a_nic_per_rank_two_ranks_at_their_own_sockets_have_one_each(
    stack: str, kind: str, ports: tuple[Port, ...]
) -> None:
    meant = tuple(port.name for port in ports[:2])
    env = ask.settings(stack, kind, meant, 2, "nic-per-rank").env
    taken_by = [port_names(take_ports(stack, env, ports, Rank(local, 2, NEAR[local]))) for local in range(2)]
    assert taken_by == [(meant[0],), (meant[1],)]


def test_with_ucx_two_ranks_that_run_anywhere_take_the_same_nic() -> None:
    env = ask.settings("openmpi", "ib", ("mlx5_0:1", "mlx5_1:1"), 2, "nic-per-rank").env
    assert {port_names(take_ports("openmpi", env, IB, Rank(local, 2))) for local in range(2)} == {("mlx5_0:1",)}


@pytest.mark.parametrize(
    ("stack", "variables", "takes"),
    [
        ("openmpi", {}, ("mlx5_0:1", "mlx5_1:1")),
        ("openmpi", {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"}, ("eth0", "hsn0")),
        ("openmpi", {"UCX_MAX_RNDV_RAILS": "1"}, ("mlx5_0:1",)),
        ("openmpi", {"UCX_NET_DEVICES": "mlx5_1:1"}, ("mlx5_1:1",)),
        ("openmpi", {"UCX_TLS": "tcp,self", "OMPI_MCA_pml_ucx_tls": "any"}, ("hsn0", "eth0")),
        ("mpich", {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}, ("eth0",)),
        ("intelmpi", {"I_MPI_OFI_PROVIDER": "tcp"}, ("eth0",)),
        ("intelmpi", {"I_MPI_OFI_PROVIDER": "tcp", "FI_TCP_IFACE": "hsn0"}, ("hsn0",)),
        ("mvapich2", {}, ("mlx5_0:1", "mlx5_1:1")),
        ("mvapich2", {"MV2_NUM_HCAS": "1"}, ("mlx5_0:1",)),
    ],
)
def test_what_nobody_set_has_the_librarys_own_default(
    stack: str, variables: dict[str, str], takes: tuple[str, ...]
) -> None:
    assert port_names(take_ports(stack, variables, IB, Rank())) == takes


@pytest.mark.parametrize(
    ("stack", "variables", "ports", "words"),
    [
        ("openmpi", {"UCX_NET_DEVICES": "mlx5_7:1"}, IB, "network device 'mlx5_7:1' is not available"),
        ("openmpi", {"OMPI_MCA_pml": "ucx"}, NET, "PML ucx cannot be selected"),
        ("openmpi", {"OMPI_MCA_pml": "yalla"}, IB, "pml framework (asked: yalla)"),
        ("openmpi", {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_tcp_if_include": "hsn7"}, NET, 'btl_tcp_if_include "hsn7"'),
        ("mpich", {"UCX_TLS": "ib"}, (), "OFI addrinfo() failed (provider tcp"),
        ("mpich", {"MPIR_CVAR_CH4_NETMOD": "ucx", "UCX_TLS": "ib"}, NET, "no usable transports/devices (asked ib)"),
        ("intelmpi", {"I_MPI_OFI_PROVIDER": "psm2"}, NET, "PSM2 can't open hfi unit"),
        ("mvapich2", {"MV2_IBA_HCA": "mlx5_0:mlx5_9"}, IB, "Unable to find the requested HCA mlx5_0:mlx5_9"),
        ("craympich", {"FI_CXI_DEVICE_NAME": "cxi7"}, CXI, "no NIC found of cxi7"),
    ],
)
def test_a_library_ends_with_its_own_words(
    stack: str, variables: dict[str, str], ports: tuple[Port, ...], words: str
) -> None:
    with pytest.raises(LibraryError) as ended:
        take_ports(stack, variables, ports, Rank())
    assert words in str(ended.value) and ended.value.exit_code == 1


def test_a_port_that_is_down_is_left_out() -> None:
    down = (Port("mlx5_0:1", "verbs", active=False), VERBS[1])
    assert port_names(take_ports("openmpi", {}, down, Rank())) == ("mlx5_1:1",)


@pytest.mark.parametrize(
    ("found", "size", "shares"),
    [
        (RankPorts(VERBS, "striping", 16384, aware=True), 16384, (0.5, 0.5)),
        (RankPorts(VERBS, "striping", 16384, aware=True), 16383, (1.0, 0.0)),
        (RankPorts(VERBS, "round-robin"), 1, (0.5, 0.5)),
        (RankPorts((VERBS[0], Port("mlx5_1:1", "verbs", rate_gbit_s=100.0)), "striping", aware=True), 1, (0.8, 0.2)),
        (RankPorts(VERBS), 1 << 20, (1.0, 0.0)),
    ],
)
def test_shares_of_a_message(found: RankPorts, size: int, shares: tuple[float, ...]) -> None:
    assert found.shares(size) == pytest.approx(shares)


@pytest.mark.parametrize("stack", ["mpich", "openmpi", "craympich"])
def test_ranks_to_which_all_nics_are_as_near_take_them_in_turn(stack: str) -> None:
    variables = {"MPICH_OFI_NIC_POLICY": "NUMA"}
    found = [port_names(take_ports(stack, variables, (*CXI, *NET), Rank(local, 2))) for local in range(2)]
    assert found == [("cxi0",), ("cxi1",)]


@pytest.mark.parametrize(
    ("stack", "variables", "ports", "from_bytes"),
    [
        ("openmpi", {}, IB, 32 << 10),
        ("openmpi", {"UCX_RNDV_THRESH": "8k"}, IB, 32 << 10),
        ("openmpi", {"UCX_RNDV_THRESH": "8k", "UCX_MIN_RNDV_CHUNK_SIZE": "2k"}, IB, 8 << 10),
        ("openmpi", {"UCX_RNDV_THRESH": "intra:64k,inter:32k"}, IB, 32 << 10),
        ("openmpi", {"UCX_MAX_EAGER_RAILS": "2"}, IB, 0),
        ("openmpi", {"OMPI_MCA_pml": "ob1"}, NET, 128 << 10),
        (
            "mpich",
            {"MPIR_CVAR_CH4_OFI_MAX_NICS": "2", "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING": "1"},
            (*CXI, *NET),
            1 << 20,
        ),
        ("mvapich2", {}, IB, (16 << 10) + 1),
        ("mvapich2", {"MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD": "8192"}, IB, 8193),
    ],
)
def test_from_which_size_on_messages_are_split(
    stack: str, variables: dict[str, str], ports: tuple[Port, ...], from_bytes: int
) -> None:
    found = take_ports(stack, variables, ports, Rank())
    assert (found.split, found.from_bytes) == ("striping", from_bytes)


#: Ports of a node by the kind of its fabric; EFA's cards are seen as verbs.
PORTS = {
    "tcp": NET, "ib": IB, "roce": IB, "opa": (*HFI, *NET), "slingshot": (*CXI, *NET),
    "efa": (*(Port(f"rdmap{n}:1", "verbs", rate_gbit_s=100.0) for n in range(2)), *NET),
}  # fmt: skip


@pytest.mark.parametrize("stack", [name for name, stack in OWN.items() if not stack.pair])
def test_each_stack_is_played_or_left_out_with_a_reason(stack: str) -> None:
    entry = OWN[stack]
    if not entry.rehearsed_as:
        assert len(entry.not_rehearsed or "") >= 30, f"{stack}: state rehearsed_as, or why it is not_rehearsed"
        return
    assert entry.not_rehearsed is None
    for kind in (kind for kind, way in entry.ways.items() if not isinstance(way, str)):
        meant = next(port.name for port in PORTS[kind] if port.meant)
        device = meant.removesuffix(":1") if kind == "efa" else meant  # a card of EFA has no number of a port
        env = ask.settings(stack, kind, (device,), 1, "single").env
        assert port_names(take_ports(stack, env, PORTS[kind], Rank())) == (meant,), kind


def test_a_library_that_nobody_wrote_down_is_a_gap_of_the_rehearsal() -> None:
    with pytest.raises(RailyardError, match=r'^found no library "exampi", expected one of openmpi, mpich, '):
        rank_ports.take_ports("exampi", {}, IB, Rank())
