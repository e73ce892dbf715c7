"""What an MPI library would do with the variables that one rank finds: devices, rails, how it spreads messages.

It is written from the libraries' own documentation and sources, and uses nothing of ``railyard.stacks``: so a rehearsal
shows whether Railyard's settings have the intended effect. What is not set has the library's own default. A stack's
entry says which of these libraries it is (``rehearsed_as``).

Sources: UCX docs/source/faq.md and src/ucp/core/ucp_context.c 1.20; docs.open-mpi.org 5.0; MPICH
src/mpid/ch4/netmod/ofi/ofi_init.c; Intel MPI Developer Reference 2021; MVAPICH2 2.3.7 user guide; Cray intro_mpi(3);
libfabric fi_cxi(7), fi_tcp(7), fi_efa(7), fi_opx(7), fi_psm3(7); opa-psm2 psm_ep.c.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.base.errors import RailyardError

Variables = Mapping[str, str]
PortKind = Literal["verbs", "net", "cxi"]
#: none: all messages go over the first device; striping: each large one over all; round-robin: whole ones in turn.
Split = Literal["none", "striping", "round-robin"]

#: Defaults of UCX_MAX_RNDV_RAILS and UCX_MAX_EAGER_RAILS. Source: ucp_context.c, MAX_RNDV_RAILS.
UCX_RAILS = 2
#: "Currently up to 4 are supported." Source: UCX faq.md, Multi-rail.
UCX_MOST_RAILS = 4
#: UCX estimates from the devices at which size it changes to rendezvous; over RDMA it is about here.
UCX_RENDEZVOUS_BYTES = 16 << 10
#: UCX_MIN_RNDV_CHUNK_SIZE: the smallest piece of a message.
UCX_LEAST_PIECE_BYTES = 16 << 10
#: Over TCP, UCX was seen to split messages from 532,706 B on (UCX 1.20.1, UCX_PROTO_INFO=y).
UCX_TCP_SPLIT_BYTES = 532_706
#: btl_tcp_eager_limit is 64 KiB. The rest of a message is split if it is longer than that.
OB1_SPLIT_BYTES = 128 << 10
#: MPIR_CVAR_CH4_OFI_MULTI_NIC_STRIPING_THRESHOLD.
CH4_STRIPING_BYTES = 1 << 20
#: MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD, MVAPICH2's default on current cards.
MV2_STRIPING_BYTES = 16 << 10


class LibraryError(Exception):
    """The library ends its process at the start, with its own message and exit code."""

    def __init__(self, words: str, exit_code: int = 1) -> None:
        super().__init__(words)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a node, as its /sys shows it.

    ``name`` is its name in launches: ``mlx5_0:1``, ``hsn0``, ``cxi0``. ``near`` are the processors of its NUMA node.
    ``meant`` is False for a network interface that is neither on a card with RDMA nor a rail of one of the system's
    fabrics.
    """

    name: str
    kind: PortKind
    active: bool = True
    near: frozenset[int] = frozenset()
    rate_gbit_s: float = 1.0
    meant: bool = True


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank within its node: its number there, how many there are, and its processors (none: not known, or any)."""

    local: int = 0
    of: int = 1
    processors: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class RankPorts:
    """What a rank's messages take: ports in the library's order, and the size from which on they are spread over them.

    ``tcp``: they go through the kernel. ``aware``: the library weighs the ports by the rates that they show.
    """

    ports: tuple[Port, ...]
    split: Split = "none"
    from_bytes: int = 0
    tcp: bool = False
    aware: bool = False

    def shares(self, size_bytes: int) -> tuple[float, ...]:
        """Return each port's share of messages of one size."""
        if self.split == "none" or size_bytes < self.from_bytes:
            return (1.0, *(0.0 for _ in self.ports[1:]))
        weights = [port.rate_gbit_s if self.aware else 1.0 for port in self.ports]
        return tuple(weight / sum(weights) for weight in weights)


def take_ports(library: str, variables: Variables, ports: Sequence[Port], rank: Rank) -> RankPorts:
    """Return what a rank of one of LIBRARIES takes.

    Raises LibraryError if the library would end instead, and RailyardError for a name that is none of them.
    """
    chooses = LIBRARIES.get(library)
    if chooses is None:
        raise RailyardError(f'found no library "{library}", expected one of {", ".join(LIBRARIES)} (rehearsed_as)')
    return chooses(variables, [port for port in ports if port.active], rank)


# ---- UCX


def _ucx(variables: Variables, ports: Sequence[Port], rank: Rank) -> RankPorts:
    """UCX: the ports of the list with an allowed transport, the fastest first, and of equally fast ones the nearest."""
    words, devices = variables.get("UCX_TLS", "all"), variables.get("UCX_NET_DEVICES", "all")
    usable = [port for port in ports if _ucx_allows(words, port)]
    if devices != "all":
        named = devices.split(",")
        unknown = [name for name in named if name not in {port.name for port in ports}]
        usable = [port for port in usable if port.name in named]
        if not usable:
            there = ", ".join(f"'{port.name}'" for port in ports) or "none"
            also = f"network device '{unknown[0]}' is not available, please use one or more of: {there}\n"
            raise LibraryError(
                f"UCX  WARN  {also if unknown else ''}UCX  ERROR no usable transports/devices (asked {words} on "
                f"network:{devices})"
            )
    if not usable:
        raise LibraryError(f"UCX  ERROR no usable transports/devices (asked {words})")
    is_tcp = all(port.kind == "net" for port in usable)
    if not is_tcp:
        usable = [port for port in usable if port.kind != "net"]
    rails = min(_number(variables, "UCX_MAX_RNDV_RAILS", UCX_RAILS), UCX_MOST_RAILS, len(usable))
    best = sorted(usable, key=lambda port: (-port.rate_gbit_s, _distance(port, rank)))[: max(1, rails)]
    estimated = UCX_TCP_SPLIT_BYTES if is_tcp else UCX_RENDEZVOUS_BYTES
    from_bytes = _size(variables.get("UCX_RNDV_THRESH", ""), estimated)
    from_bytes = max(from_bytes, 2 * _size(variables.get("UCX_MIN_RNDV_CHUNK_SIZE", ""), UCX_LEAST_PIECE_BYTES))
    if min(_number(variables, "UCX_MAX_EAGER_RAILS", 1), len(best)) > 1:
        from_bytes = 0
    return RankPorts(tuple(best), "striping" if len(best) > 1 else "none", from_bytes, is_tcp, aware=True)


def _ucx_allows(words: str, port: Port) -> bool:
    if words == "all":
        return True
    without, names = words.startswith("^"), words.removeprefix("^").split(",")
    own = {"verbs": r"(?:ib|rc|ud|dc)(?:_\w+)?", "net": r"tcp", "cxi": r"\Z\A"}[port.kind]
    return any(re.fullmatch(own, name) for name in names) != without or "all" in names


# ---- Libfabric's providers


def _ofi(variables: Variables, ports: Sequence[Port], rank: Rank, provider: str, list_of: str) -> tuple[Port, ...]:
    """Return the ports that a provider shows: those in its own variable ``list_of``, else all of its kind."""
    kind: PortKind = {"cxi": "cxi", "tcp": "net", "sockets": "net"}.get(provider, "verbs")  # type: ignore[assignment]
    there = [port for port in ports if port.kind == kind]
    asked = variables.get(list_of, "")
    if asked:
        named = asked.split(",")
        there = [port for port in there if _bare(port) in named or port.name in named]
    if not there:
        raise LibraryError(
            f"Abort: OFI addrinfo() failed (provider {provider}: no NIC found{f' of {asked}' if asked else ''})"
        )
    return tuple(there)


_LISTS = {"cxi": "FI_CXI_DEVICE_NAME", "tcp": "FI_TCP_IFACE", "efa": "FI_EFA_IFACE", "verbs": "FI_VERBS_IFACE"}


def _ch4_ofi(variables: Variables, ports: Sequence[Port], rank: Rank, provider: str) -> RankPorts:
    """MPICH's ch4:ofi: by default one NIC per rank, the nearest first, equally near ones in turn by local rank."""
    if provider == "opx":
        return RankPorts((_opx(variables, ports),))
    there = _ofi(variables, ports, rank, provider, _LISTS.get(provider, ""))
    is_tcp = provider in ("tcp", "sockets")
    most = 1 if is_tcp else _number(variables, "MPIR_CVAR_CH4_OFI_MAX_NICS", 1)
    if most > 1 and _is_on(variables.get("MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING", "0")):
        from_bytes = _number(variables, "MPIR_CVAR_CH4_OFI_MULTI_NIC_STRIPING_THRESHOLD", CH4_STRIPING_BYTES)
        return RankPorts(there[:most], "striping", from_bytes)
    return RankPorts((there[0] if is_tcp else _nearest_in_turn(there, rank),), tcp=is_tcp)


def _opx(variables: Variables, ports: Sequence[Port]) -> Port:
    there = [port for port in ports if port.kind == "verbs"]
    asked = variables.get("FI_OPX_HFI_SELECT", "")
    for port in there:
        if not asked.isdigit() or _bare(port).endswith(f"_{asked}"):
            return port
    raise LibraryError(f"Abort: OFI addrinfo() failed (provider opx: no HFI {asked})")


def _psm3(variables: Variables, ports: Sequence[Port], rank: Rank) -> RankPorts:
    """PSM3: one NIC. With PSM3_MULTIRAIL all of a set, whole messages in turn; with several sets each rank has one."""
    is_tcp = variables.get("PSM3_HAL", "").startswith("sock") or not _has(ports, "verbs")
    there = [port for port in ports if (port.kind == "net") == is_tcp]
    sets = [re.findall(r"([^,:;]+)(?::\d+)?", one) for one in variables.get("PSM3_MULTIRAIL_MAP", "").split(";") if one]
    known = [[port for name in names for port in there if _bare(port) == name] for names in sets] or [there]
    if not all(known):
        raise LibraryError(f"PSM3 can't open nic unit: found none of {variables.get('PSM3_MULTIRAIL_MAP', 'any')}")
    if variables.get("PSM3_MULTIRAIL", "0") == "0":
        return RankPorts((there[0],), tcp=is_tcp)
    mine = known[rank.local % len(known)]
    return RankPorts(tuple(mine), "round-robin" if len(mine) > 1 else "none", 0, is_tcp)


def _psm2(variables: Variables, ports: Sequence[Port], rank: Rank) -> RankPorts:
    """PSM2: the unit that is set, otherwise the nearest; with PSM2_MULTIRAIL all of the map."""
    there = [port for port in ports if port.kind == "verbs"]
    if not there:
        raise LibraryError("PSM2 can't open hfi unit: -1 (err=23)")
    if variables.get("PSM2_MULTIRAIL", "0") in ("1", "2"):
        map_ = re.findall(r"(\d+):\d+", variables.get("PSM2_MULTIRAIL_MAP", ""))
        chosen = [port for unit in map_ for port in there if _bare(port).endswith(f"_{unit}")] or there
        return RankPorts(tuple(chosen[:4]), "round-robin" if len(chosen) > 1 else "none")
    unit = variables.get("HFI_UNIT", "")
    if unit.isdigit():
        found = [port for port in there if _bare(port).endswith(f"_{unit}")]
        if not found:
            raise LibraryError(f"PSM2 can't open hfi unit: {unit} (err=23)")
        return RankPorts((found[0],))
    return RankPorts((min(there, key=lambda port: _distance(port, rank)),))


# ---- the MPI libraries


def _openmpi(variables: Variables, ports: Sequence[Port], rank: Rank) -> RankPorts:
    pml = variables.get("OMPI_MCA_pml", "")
    if not pml:
        pml = "ucx" if _has(ports, "verbs") else "cm" if _has(ports, "cxi") else "ob1"
    if pml == "ucx":
        steps_back = "any" not in (variables.get("OMPI_MCA_pml_ucx_tls"), variables.get("OMPI_MCA_pml_ucx_devices"))
        found = _ucx(variables, ports, rank)
        if found.tcp and steps_back:
            raise LibraryError("No components were able to be opened in the pml framework: PML ucx cannot be selected")
        return found
    if pml == "cm":
        if variables.get("OMPI_MCA_mtl", "ofi") == "psm2":
            return _psm2(variables, ports, rank)
        provider = variables.get("OMPI_MCA_mtl_ofi_provider_include", "cxi" if _has(ports, "cxi") else "tcp")
        there = _ofi(variables, ports, rank, provider, _LISTS.get(provider, ""))
        return RankPorts((_nearest_in_turn(there, rank),), tcp=provider == "tcp")
    if pml != "ob1":
        raise LibraryError(f"No components were able to be opened in the pml framework (asked: {pml})")
    return _btl_tcp(variables, ports)


def _btl_tcp(variables: Variables, ports: Sequence[Port]) -> RankPorts:
    """Open MPI's ob1 over btl/tcp: all interfaces of the list, or all that are up; long messages use all of them."""
    asked = variables.get("OMPI_MCA_btl_tcp_if_include", "")
    there = [port for port in ports if port.kind == "net" and (not asked or port.name in asked.split(","))]
    if "tcp" not in variables.get("OMPI_MCA_btl", "tcp") or not there:
        raise LibraryError(
            "At least one pair of MPI processes are unable to reach each other for MPI communications"
            + (f' (btl_tcp_if_include "{asked}")' if asked else "")
        )
    return RankPorts(tuple(there), "striping" if len(there) > 1 else "none", OB1_SPLIT_BYTES, tcp=True, aware=True)


def _mpich(variables: Variables, ports: Sequence[Port], rank: Rank) -> RankPorts:
    netmod = variables.get("MPIR_CVAR_CH4_NETMOD", "ucx" if _has(ports, "verbs") else "ofi")
    if netmod == "ucx":
        return _ucx(variables, ports, rank)
    given = variables.get("FI_PROVIDER") or variables.get("MPIR_CVAR_OFI_USE_PROVIDER")
    return _ch4_ofi(variables, ports, rank, given or ("cxi" if _has(ports, "cxi") else "tcp"))


def _intelmpi(variables: Variables, ports: Sequence[Port], rank: Rank) -> RankPorts:
    given = variables.get("I_MPI_OFI_PROVIDER") or variables.get("FI_PROVIDER")
    provider = given or ("mlx" if _has(ports, "verbs") else "tcp")
    if variables.get("I_MPI_FABRICS", "shm:ofi") not in ("shm:ofi", "ofi"):
        raise LibraryError(f"MPI startup(): fabric {variables['I_MPI_FABRICS']} cannot reach another node")
    pinned = _is_on(variables.get("I_MPI_MULTIRAIL", "0"))
    if provider in ("mlx", "ucx"):
        found = _ucx(variables, ports, rank)
        if not pinned:
            return found
        asked = variables.get("UCX_NET_DEVICES", "all").split(",")
        there = [port for port in ports if port.kind == "verbs" and (asked == ["all"] or port.name in asked)]
        return RankPorts((_nearest_in_turn(there, rank),))
    if provider == "psm3":
        return _psm3(variables, ports, rank)
    if provider == "psm2":
        return _psm2(variables, ports, rank)
    # Two interfaces in FI_TCP_IFACE are silently cut to one.
    there = list(_ofi(variables, ports, rank, provider, _LISTS.get(provider, "")))
    chosen = _nearest_in_turn(there, rank) if pinned and provider != "tcp" else there[0]
    return RankPorts((chosen,), tcp=provider in ("tcp", "sockets"))


def _mvapich2(variables: Variables, ports: Sequence[Port], rank: Rank) -> RankPorts:
    there = [port for port in ports if port.kind == "verbs"]
    asked = [name for name in variables.get("MV2_IBA_HCA", "").split(":") if name]
    wanted = variables.get("MV2_DEFAULT_PORT", "")
    named = [port for name in asked or [""] for port in there if not name or _bare(port) == name]
    found = [port for port in named if not wanted.isdigit() or wanted == "0" or port.name.endswith(f":{wanted}")]
    if not found or any(name not in map(_bare, there) for name in asked):
        raise LibraryError(f"[rdma_find_network_type] Unable to find the requested HCA {':'.join(asked)}")
    # Without a list, all cards of the first one's kind are used.
    found = found if asked else [port for port in found if port.rate_gbit_s == found[0].rate_gbit_s]
    found = found[: _number(variables, "MV2_NUM_HCAS", len(found))]
    policy = variables.get("MV2_RAIL_SHARING_POLICY", "FIXED_MAPPING").upper()
    if len(found) == 1:
        return RankPorts((found[0],))
    above = _number(variables, "MV2_RAIL_SHARING_LARGE_MSG_THRESHOLD", MV2_STRIPING_BYTES)
    own = rank.local % len(found) if variables.get("MV2_PROCESS_TO_RAIL_MAPPING", "BUNCH") == "SCATTER" else 0
    mine = (*found[own:], *found[:own])
    if policy == "ROUND_ROBIN":
        return RankPorts(tuple(found), "round-robin")
    if above >= 1 << 30:  # no message is that long
        return RankPorts((mine[0],))
    return RankPorts(mine, "striping", above + 1)


def _craympich(variables: Variables, ports: Sequence[Port], rank: Rank) -> RankPorts:
    if not _has(ports, "cxi"):
        return _ucx(variables, ports, rank)
    there = _ofi(variables, ports, rank, "cxi", _LISTS["cxi"])
    there = there[: _number(variables, "MPICH_OFI_NUM_NICS", len(there))]
    policy = variables.get("MPICH_OFI_NIC_POLICY", "BLOCK").upper()
    if policy == "NUMA":
        return RankPorts((_nearest_in_turn(there, rank),))
    if policy == "BLOCK":
        return RankPorts((there[min(len(there) - 1, rank.local * len(there) // max(1, rank.of))],))
    return RankPorts((there[rank.local % len(there)],))


# ---- NCCL


def _nccl(variables: Variables, ports: Sequence[Port], rank: Rank) -> RankPorts:
    """NCCL and RCCL: the named network or none. By default verbs if there are any, else silently sockets.

    Source: NCCL's user guide, Environment Variables: NCCL_NET, NCCL_IB_HCA, NCCL_SOCKET_IFNAME.
    """
    network = variables.get("NCCL_NET", "").lower()
    if plugin_of_nccl(variables):
        provider = "cxi" if _has(ports, "cxi") else "efa"
        found = list(_ofi(variables, ports, rank, provider, _LISTS[provider]))
        return RankPorts(tuple(found), "striping" if len(found) > 1 else "none")
    cards = _nccl_list(variables.get("NCCL_IB_HCA", ""), [port for port in ports if port.kind == "verbs"])
    if network == "ib" and not cards:
        raise LibraryError("NCCL WARN NET/IB : No device found.\nNCCL WARN Failed to initialize any NET plugin")
    interfaces = _nccl_list(variables.get("NCCL_SOCKET_IFNAME", ""), [port for port in ports if port.kind == "net"])
    there = interfaces if network == "socket" or not cards else cards
    if not there:
        raise LibraryError("NCCL WARN Bootstrap : no socket interface found")
    is_tcp = there[0].kind == "net"
    return RankPorts(tuple(there), "striping" if len(there) > 1 else "none", tcp=is_tcp and network != "socket")


def plugin_of_nccl(variables: Variables) -> str:
    """Return the name of the plugin that NCCL is to use, which goes over libfabric; empty for NCCL's own networks."""
    network = variables.get("NCCL_NET", "")
    return "" if network.lower() in ("", "ib", "socket") else network


def _nccl_list(said: str, ports: Sequence[Port]) -> list[Port]:
    """Return the ports of a list: ^ leaves them out, = means whole names, otherwise an entry is the start of a name."""
    if not said:
        return list(ports)
    leaves_out, exact = said.startswith("^"), said.removeprefix("^").startswith("=")
    asked = [each.partition(":") for each in said.removeprefix("^").removeprefix("=").split(",")]

    def matches_name(port: Port) -> bool:
        card, _, number = port.name.partition(":")
        return any(
            (card == name if exact else card.startswith(name)) and own.partition(":")[0] in ("", number)
            for name, _, own in asked
        )

    return [port for port in ports if matches_name(port) != leaves_out]


_Chooses = Callable[[Variables, Sequence[Port], Rank], RankPorts]
#: The libraries that a stack can be rehearsed as.
LIBRARIES: Mapping[str, _Chooses] = {
    "openmpi": _openmpi,
    "mpich": _mpich,
    "mvapich": _mpich,
    "mvapich2": _mvapich2,
    "intelmpi": _intelmpi,
    "craympich": _craympich,
    "nccl": _nccl,
}

#: Variables that may differ between ranks: each rank reports these.
OF_ONE_RANK = ("UCX_NET_DEVICES", "FI_CXI_DEVICE_NAME", "FI_EFA_IFACE", "FI_TCP_IFACE", "MV2_IBA_HCA", "HFI_UNIT")


def _has(ports: Sequence[Port], kind: PortKind) -> bool:
    return any(port.kind == kind for port in ports)


def _bare(port: Port) -> str:
    return port.name.partition(":")[0]


def _distance(port: Port, rank: Rank) -> int:
    """Return 1 if a rank is known to run far from a port, else 0."""
    return int(bool(port.near and rank.processors and not port.near & rank.processors))


def _nearest_in_turn(ports: Sequence[Port], rank: Rank) -> Port:
    """Return the nearest port. If several are equally near, ranks take them in turn."""
    least = min(_distance(port, rank) for port in ports)
    nearest = [port for port in ports if _distance(port, rank) == least]
    return nearest[rank.local % len(nearest)]


def _number(variables: Variables, name: str, default: int) -> int:
    said = variables.get(name, "")
    return int(said) if said.isdigit() else default


def _size(said: str, default: int) -> int:
    """Return a size in UCX's form (8192, 8k, inf), in bytes; the default for auto."""
    found = re.fullmatch(r"(?:intra:\w+,)?(?:inter:)?(\d+)([kKmM]?)[bB]?(?:,intra:\w+)?", said)
    if said == "inf":
        return 1 << 62
    return int(found[1]) << {"": 0, "k": 10, "m": 20}[found[2].lower()] if found else default


def _is_on(said: str) -> bool:
    return said.lower() in ("1", "yes", "on", "true", "enable", "enabled")
