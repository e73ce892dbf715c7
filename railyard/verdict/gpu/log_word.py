"""What NCCL's own log says about the way that the bytes took (NCCL_DEBUG=INFO), compared with what the nodes have.

It is only the log's word and not a proof: no counter was read. So it never passes rule 4. Rule 4 fails if the log
itself says that other networks or NICs were used than the nodes have according to the person or the system's file.

Slower ways, idle NICs and crossed rails decide nothing: they are remarks.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from railyard.base.errors import RailyardError
from railyard.base.wording import count_of, listing
from railyard.benchmarks.gpu.collectives import COLLECTIVES, algorithm_of_nccl, set_algorithm, why_not
from railyard.hardware.gpu_nodes import Shape
from railyard.parsers.nccl_said import Link, Log, Nic, Rank
from railyard.verdict.gpu import log_reading
from railyard.verdict.gpu.log_reading import SeenLog, few_nics, idle, seen_of
from railyard.verdict.gpu.target import GpuTarget
from railyard.verdict.rules.model import RuleResult, fail_rule, not_judged

#: Kind of NIC in the log -> family of its link.
_FAMILIES = {"IB": "infiniband", "RoCE": "roce"}
#: NET/OFI Selected Provider is tcp;ofi_rxm  |  NET/OFI Selected provider is efa, fabric is efa (found 4 nics)
_TCP_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is (?:tcp|sockets|udp|net)\b")
_WORD = "according to NCCL's log"


@dataclass(frozen=True, slots=True)
class LogWord:
    """Rule 4 as far as the log can judge it, and what a reader should also know.

    ``few``: a host that lists fewer NICs than the nodes have, how many, and the line.
    """

    rule: RuleResult
    remarks: tuple[str, ...] = ()
    few: tuple[str, int, int] | None = None


def word(
    log: Log | None, target: GpuTarget, shape: Shape | None, ranks: Sequence[Rank] = (), collective: str = ""
) -> LogWord:
    """Return what the log says about the way: a failure if it names another one, else not judged.

    ``ranks``: the ranks that the output lists, with their processes.
    """
    if log is None:
        return LogWord(not_judged(4, "no counter was read, and the output has no log of NCCL (NCCL_DEBUG=INFO)"))
    seen = seen_of(log, target, shape, ranks, collective)
    remarks = tuple(f"{_WORD}, {said}" for said in log_remarks(seen))
    for why in _CONTRADICTIONS:
        found = why(seen)
        if found is not None:
            sentence, look = found
            return LogWord(fail_rule(4, f"{_WORD}, {sentence}", "set-up", look), remarks)
    return LogWord(not_judged(4, f"{_what_is_named(seen)}; no counter was read"), remarks, few_nics(seen))


def algorithm(log: Log | None, collective: str, size_bytes: int, shape: Shape) -> tuple[str, str] | None:
    """Return the algorithm that the log names for a collective of this size, and where it says so; None if none.

    Its TUNING lines name one for each call, NCCL_ALGO names one for all. One that the collective cannot use is ignored.
    """
    if log is None or COLLECTIVES[collective].point_to_point:
        return None
    chosen = {
        choice.algorithm: choice.line
        for choice in log.choices
        if choice.collective.lower() in ("", collective.replace("_", ""))
        and choice.size_bytes == log_reading.bytes_of_call(choice, collective, size_bytes, shape)
    }
    if not chosen:
        settings = [said for said in log.settings if said.text.split(maxsplit=1)[0] == "NCCL_ALGO"]
        chosen = {set_algorithm(said.text.split()[-1], collective) or "": said.line for said in settings}
    if len(chosen) != 1:
        return None
    name, line = next(iter(chosen.items()))
    try:
        found = algorithm_of_nccl(name, shape)
    except RailyardError:  # several, those that are forbidden (^Tree), or a name that NCCL does not know either
        return None
    return None if why_not(found, collective, shape) is not None else (found, f"{_WORD}, {name} (line {line})")


def _what_is_named(seen: SeenLog) -> str:
    if not seen.over_network:
        return "all GPUs reach each other without a NIC"
    named = seen.log.networks
    if not named and not seen.net_links and not seen.hosts:
        return "NCCL's log does not name a network or a NIC (with NCCL_DEBUG=INFO it does)"
    networks = listing(list(dict.fromkeys(said.text for said in named))) or "a network"
    each = [f"{host}: {', '.join(log_reading.name(nic) for nic in seen.nics[host])}" for host in seen.hosts[:2]]
    nics = f" with {'; '.join(each)}" if each else ", whose NICs it does not name"
    more = f" and {count_of(len(seen.hosts) - 2, 'more node')}" if len(seen.hosts) > 2 else ""
    return f"{_WORD}, NCCL used {networks}{nics}{more}"


def _sockets(seen: SeenLog) -> tuple[str, str] | None:
    if not (seen.over_network and seen.is_rdma):
        return None
    used = next((each for each in log_reading.networks(seen.log) if each.name == log_reading.SOCKET), None)
    if seen.target.node.link is None:
        return None
    if used is None:
        return _nothing_but_sockets(seen, seen.target.node.link.name)
    host = used.by.host if used.by is not None else "a node"
    sentence = (
        f"{host} used sockets (TCP) instead of {seen.target.node.link.name} (line {used.line})"
        f"{log_reading.log_reason(seen.log)}: a silent fallback"
    )
    look = (
        f"the cards and drivers of {host} (ibv_devinfo), /dev/infiniband in its container, NCCL_IB_HCA, NCCL_NET, and "
        "how much memory may be locked (ulimit -l)"
    )
    return sentence, look


def _nothing_but_sockets(seen: SeenLog, link: str) -> tuple[str, str] | None:
    """Return that a host found no InfiniBand or RoCE and names no network: its log was cut or filtered before that."""
    if seen.target.node.link is None or seen.target.node.link.family not in _FAMILIES.values():
        return None
    has_network = log_reading.hosts_with_network(seen.log)
    for said in seen.log.fallbacks:
        if said.by is not None and said.by.host not in has_network and "No device found" in said.text:
            sentence = (
                f'{said.by.host} found no card for {link} (line {said.line}: "{said.text}") and names no other '
                "network, so it can only have used sockets (TCP)"
            )
            return (
                sentence,
                f"the cards and drivers of {said.by.host} (ibv_devinfo), and /dev/infiniband in its container",
            )
    for said in seen.log.settings:
        if said.by is not None and said.by.host not in has_network and log_reading.is_for_sockets(said):
            sentence = (
                f'{said.by.host} was set to use no card for {link} (line {said.line}: "{said.text}") and names no '
                "other network, so it can only have used sockets (TCP)"
            )
            return sentence, "what sets that variable: the job's script, the container's image, /etc/nccl.conf"
    only = next((nic for nic in seen.log.nics if nic.kind == "Socket" and nic.by.host not in has_network), None)
    if only is None:
        return None
    sentence = f"{only.by.host} lists {only.name} for sockets (line {only.line}) and no card for {link}"
    return sentence, f"the cards and drivers of {only.by.host} (ibv_devinfo), NCCL_IB_HCA and NCCL_NET"


def _tcp_provider(seen: SeenLog) -> tuple[str, str] | None:
    """Return that Libfabric gave NCCL's plugin (aws-ofi-nccl) TCP: NCCL itself only names the plugin."""
    if not (seen.over_network and seen.is_rdma):
        return None
    said = next((each for each in seen.log.facts if _TCP_PROVIDER.search(each.text)), None)
    if said is None or seen.target.node.link is None:
        return None
    host = said.by.host if said.by is not None else "a node"
    sentence = (
        f'Libfabric gave {host} TCP instead of {seen.target.node.link.name} (line {said.line}: "{said.text}"): a '
        "silent fallback"
    )
    return sentence, f"fi_info on {host}, FI_PROVIDER, and the devices that its container gets"


def _other_kind(seen: SeenLog) -> tuple[str, str] | None:
    link = seen.target.node.link
    if link is None or link.family not in _FAMILIES.values() or not seen.over_network:
        return None
    for host in seen.hosts:
        kinds = {nic.kind for nic in seen.nics[host] if nic.kind in _FAMILIES}
        if kinds and all(_FAMILIES[kind] != link.family for kind in kinds):
            first = seen.nics[host][0]
            sentence = f"the NICs of {host} are {listing(sorted(kinds))} (line {first.line}), not {link.name}"
            return sentence, "which link the nodes have: link= of --nodes-have, or the fabric of the system's file"
    return None


def _fewer_nics(seen: SeenLog) -> tuple[str, str] | None:
    due = seen.target.node.nics
    for host in seen.hosts if seen.over_network and seen.is_rdma else ():
        found = [nic for nic in seen.nics[host] if _is_ours(seen, nic)]
        count = sum(1 + nic.name.count("+") for nic in found)  # NCCL joins ports: mlx5_0+mlx5_1
        if 0 < count < due and not seen.target.rails and seen.hears_all(host):
            sentence = (
                f"{host} has {count_of(count, 'NIC')} for it (line {found[0].line}: "
                f"{', '.join(log_reading.name(nic) for nic in found)}), expected {due}"
            )
            return sentence, f"the links of all cards of {host} (ibstat), NCCL_IB_HCA, and what its container gets"
    return None


def _is_ours(seen: SeenLog, nic: Nic) -> bool:
    link = seen.target.node.link
    return link is None or nic.kind not in _FAMILIES or _FAMILIES[nic.kind] == link.family


def _other_names(seen: SeenLog) -> tuple[str, str] | None:
    """Return that a node does not list a NIC of the system's file."""
    if not seen.target.rails or not seen.over_network:
        return None
    for host in seen.hosts:
        names = {part for nic in seen.nics[host] for part in nic.name.split("+")}
        listed = {log_reading.name(nic) for nic in seen.nics[host]}
        lacking = [rail for rail in seen.target.rails if _is_lacking(rail, names, listed)]
        if lacking and seen.hears_all(host):
            sentence = (
                f"{host} does not have {listing(lacking)} of systems/{seen.target.system}.yaml (line "
                f"{seen.nics[host][0].line} lists {', '.join(sorted(listed))})"
            )
            return sentence, f"the links of all cards of {host} (ibstat), NCCL_IB_HCA, and the system's rails"
    return None


def _is_lacking(rail: str, devices: Set[str], listed: Set[str]) -> bool:
    """Return whether a host lists no such device, or only other ports of it; joined ports have no number of their own.

    ``rail`` is as a system's file names it: ``mlx5_0:1``, or without a port.
    """
    device, _, port = rail.partition(":")
    other = any(name.startswith(f"{device}:") for name in listed)
    return device not in devices or (bool(port) and other and rail not in listed)


def _slow_nics(seen: SeenLog) -> tuple[str, str] | None:
    """Return that a NIC came up at less than its link's rate, so that fewer than a node has are at that rate.

    Others may be slower by design, such as one for storage. NCCL counts a lane of FDR as 14 Gbit/s and one of NDR as
    100, so that its rate is never below the link's own.
    """
    link, due = seen.target.node.link, seen.target.node.nics
    if link is None or link.data_rate_gbit_s is None or not (seen.over_network and seen.is_rdma):
        return None
    for host, rates in log_reading.rates(seen.log).items():
        ours = {device: said for device, said in rates.items() if not seen.target.rails or _is_rail(device, seen)}
        slow = {device: said for device, said in ours.items() if said.mbit_s < round(1000 * link.data_rate_gbit_s)}
        if slow and len(ours) >= due > len(ours) - len(slow):
            device, said = min(slow.items(), key=lambda each: each[1].mbit_s)
            sentence = (
                f"{device} of {host} came up at {said.mbit_s / 1000:g} Gbit/s (line {said.line}), and "
                f"{count_of(len(ours) - len(slow), 'NIC')} of that host at the rate of {link.name}, expected {due}"
            )
            return sentence, f"cable and port of {device} of {host} (ibstat, mlxlink), and its switch port"
    return None


def _is_rail(device: str, seen: SeenLog) -> bool:
    """Return whether a system's file names a device; ``device`` may be without a port, as the file's rails may."""
    return any(
        device in (rail, rail.partition(":")[0]) or rail == device.partition(":")[0] for rail in seen.target.rails
    )


def _more_nics(seen: SeenLog) -> tuple[str, str] | None:
    due = seen.target.node.nics
    if not due or not seen.over_network or seen.target.rails:
        return None
    for host, used in sorted(seen.used.items()):
        if len(used) > due:
            numbers = ", ".join(map(str, sorted(used)))
            sentence = f"{host} used {count_of(len(used), 'NIC')} ({numbers}), expected at most {due}"
            return sentence, "how many NICs a node has: the possible rate depends on it"
    return None


def _idle_in_ring(seen: SeenLog) -> tuple[str, str] | None:
    """Return that no GPU of a node uses a NIC, in a collective that spreads over all: a rail that is idle."""
    shape, of = seen.shape, COLLECTIVES.get(seen.collective)
    if shape is None or of is None or of.rooted or of.point_to_point or shape.gpus < shape.node.gpus:
        return None
    for host, names in idle(seen) if seen.over_network else ():
        if log_reading.all_connect(seen.log, host, shape.gpus):
            said = f"no connection of {host} uses {names}, and those of all its GPUs are in the log"
            return said, f"the links of these cards of {host} (ibstat), NCCL_IB_HCA, and the system's topology"
    return None


def _no_domain(seen: SeenLog) -> tuple[str, str] | None:
    domain = seen.target.node.domain
    off = log_reading.said_with(seen.log.fallbacks + seen.log.facts, "MNNVL", "isabled") or log_reading.said_with(
        seen.log.settings, "NCCL_MNNVL_ENABLE", "to 0"
    )
    if domain is None or domain <= seen.target.node.gpus or off is None:
        return None
    sentence = f'no NVLink connects the nodes: "{off.text}" (line {off.line}), expected a domain of {domain} GPUs'
    return sentence, "the fabric manager and IMEX of the nodes; if there is no such domain, leave domain= out"


_CONTRADICTIONS: tuple[Callable[[SeenLog], tuple[str, str] | None], ...] = (
    _sockets,
    _tcp_provider,
    _other_kind,
    _other_names,
    _fewer_nics,
    _slow_nics,
    _more_nics,
    _idle_in_ring,
    _no_domain,
)


def log_remarks(seen: SeenLog) -> tuple[str, ...]:
    """Return the remarks, each as the end of a sentence: "GPUDirect RDMA is off (line 7 …)"."""
    return tuple(said for tell in _REMARKS for said in tell(seen))


def _not_heard(seen: SeenLog) -> Iterator[str]:
    """Yield that a host lists fewer NICs than expected, if not all of its processes are in the log."""
    for host in seen.hosts if seen.over_network and seen.is_rdma else ():
        found = seen.nics[host]
        if len(found) < seen.target.node.nics and not seen.hears_all(host):
            yield (
                f"{host} lists {count_of(len(found), 'NIC')} (line {found[0].line}), expected {seen.target.node.nics}; "
                "but not all of its processes are in the log"
            )
            return


def _unlike_lists(seen: SeenLog) -> Iterator[str]:
    """Yield that processes of one host list different NICs: the launcher may give each its own, or some lack one."""
    for host in seen.hosts:
        each: dict[int, dict[str, int]] = {}
        for nic in seen.log.nics:
            if nic.by.host == host and nic.kind != "Socket":
                each.setdefault(nic.by.pid, {})[log_reading.name(nic)] = nic.line
        lists = sorted(each.values(), key=len)
        if lists and len(lists[0]) < len(lists[-1]):
            shown = [f"{count_of(len(own), 'NIC')} (line {min(own.values())})" for own in (lists[0], lists[-1])]
            yield f"processes of {host} list different NICs: {listing(shown)}"
            return


def _no_gpu_direct(seen: SeenLog) -> Iterator[str]:
    if not (seen.over_network and seen.is_rdma):
        return
    off = log_reading.said_with(seen.log.fallbacks, "GPU Direct RDMA Disabled")
    without = log_reading.without_gpu_direct(seen.log)
    if off is not None:
        yield f'GPUDirect RDMA is off (line {off.line}: "{off.text}"): the bytes go through the hosts\' memory'
    elif without is not None:
        yield without


def _not_over_links(seen: SeenLog) -> Iterator[str]:
    link = seen.target.node.gpu_link
    if link is None or link.is_slot or seen.target.node.within_over_nics:
        return
    off = log_reading.said_with(seen.log.settings, "NCCL_P2P_DISABLE", "to 1")
    if off is not None:
        yield f'the GPUs of a node do not use {link.word} (line {off.line}: "{off.text}")'
    shared = log_reading.through_memory(seen.log)
    if shared:
        first = shared[0]
        yield (
            f"shared memory carries {count_of(len(shared), 'connection')} within a node, instead of {link.word} (line "
            f"{first.line}: rank {first.source} to {first.target})"
        )


def _crossed_rails(seen: SeenLog) -> Iterator[str]:
    """Yield a connection that leaves by one NIC and arrives at another: a longer way if rails are separate."""
    sent = {(each.channel, each.source, each.target): each for each in seen.net_links if each.direction == "send"}
    crossed = [
        (sent[key], each)
        for each in seen.net_links
        if each.direction == "receive"
        and (key := (each.channel, each.source, each.target)) in sent
        and sent[key].nic != each.nic
    ]
    if crossed:
        one, other = crossed[0]
        yield (
            f"rails are crossed in {len(crossed)} of {count_of(len(sent), 'connection')}: channel {one.channel} from "
            f"rank {one.source} to {one.target} leaves by NIC {_nic(seen, one)} (line {one.line}) and arrives at NIC "
            f"{_nic(seen, other)} (line {other.line}); if each rail has its own switches, such bytes take a "
            "longer way (NCCL_CROSS_NIC=0)"
        )


def _nic(seen: SeenLog, link: Link) -> str:
    nic = log_reading.nic_of(link, seen.log)
    return f"{link.nic}" if nic is None else f"{link.nic} ({log_reading.name(nic)})"


def _idle_nics(seen: SeenLog) -> Iterator[str]:
    """Yield that a node has NICs which no connection names: a sendrecv does not need them, a ring over all does."""
    for host, names in list(idle(seen))[:1]:
        yield f"no connection of {host} uses {names}"


def _far_nics(seen: SeenLog) -> Iterator[str]:
    """Yield that a GPU sends over a NIC that is nearest to other GPUs, by the system's file."""
    far = next(log_reading.far_nics(seen.log, seen.target.nearest or {}), None)
    if far is not None:
        yield (
            f"GPU {far.gpu} of {far.link.by.host} uses {far.nic.name} (line {far.link.line}), but in "
            f"systems/{seen.target.system}.yaml {listing(far.near)} is nearest to it"
        )


_REMARKS: Sequence[Callable[[SeenLog], Iterable[str]]] = (
    _not_heard,
    _unlike_lists,
    _no_gpu_direct,
    _not_over_links,
    _crossed_rails,
    _idle_nics,
    _far_nics,
)
