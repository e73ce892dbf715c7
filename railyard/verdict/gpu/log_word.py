"""What NCCL's own log says about the way that the bytes took (NCCL_DEBUG=INFO), compared with what the nodes have.

It is only the log's word and not a proof: no counter was read. So it never passes rule 4. Rule 4 fails if the log
itself says that other networks or NICs were used than the nodes have according to the person or the system's file.

Slower ways, idle NICs and crossed rails decide nothing: they are remarks.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from railyard.base.errors import RailyardError
from railyard.benchmarks.gpu_collectives import COLLECTIVES, algorithm_of_nccl, set_algorithm, why_not
from railyard.hardware.gpu_nodes import Shape
from railyard.parsers.nccl_said import Link, Log, Nic, Rank
from railyard.verdict.gpu import log_reading
from railyard.verdict.gpu.log_reading import SeenLog, few_nics, idle, seen_log
from railyard.verdict.gpu.run import GpuTarget
from railyard.verdict.rule_model import RuleResult, fail_rule, not_judged
from railyard.verdict.wording import gpu_log as words

#: Kind of NIC in the log -> family of its link.
_FAMILIES = {"IB": "infiniband", "RoCE": "roce"}
#: NET/OFI Selected Provider is tcp;ofi_rxm  |  NET/OFI Selected provider is efa, fabric is efa (found 4 nics)
_TCP_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is (?:tcp|sockets|udp|net)\b")


@dataclass(frozen=True, slots=True)
class LogWord:
    """Rule 4 as far as the log can judge it, and what a reader should also know.

    ``few``: a host that lists fewer NICs than the nodes have, how many, and the line. ``host``: the one that a failure
    is about, if the log says which.
    """

    rule: RuleResult
    remarks: tuple[str, ...] = ()
    few: tuple[str, int, int] | None = None
    host: str | None = None


class _Other(NamedTuple):
    """What a log names in place of the intended way: the sentence, what to look at, and the host, if it says which."""

    sentence: str
    look_at: str
    host: str | None = None


def word(
    log: Log | None, target: GpuTarget, shape: Shape | None, ranks: Sequence[Rank] = (), collective: str = ""
) -> LogWord:
    """Return what the log says about the way: a failure if it names another one, else not judged.

    ``ranks``: the ranks that the output lists, with their processes.
    """
    if log is None:
        return LogWord(not_judged(4, words.no_log()))
    seen = seen_log(log, target, shape, ranks, collective)
    remarks = tuple(words.in_log(said) for said in log_remarks(seen))
    for why in _CONTRADICTIONS:
        found = why(seen)
        if found is not None:
            rule = fail_rule(4, words.in_log(found.sentence), "set-up", found.look_at)
            return LogWord(rule, remarks, host=found.host)
    return LogWord(not_judged(4, words.no_counter(_what_is_named(seen))), remarks, few_nics(seen))


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
    return None if why_not(found, collective, shape) is not None else (found, words.named_algorithm(name, line))


def _what_is_named(seen: SeenLog) -> str:
    if not seen.over_network:
        return words.no_nic_needed()
    named = seen.log.networks
    if not named and not seen.net_links and not seen.hosts:
        return words.nothing_named()
    nics = {host: [log_reading.name(nic) for nic in seen.nics[host]] for host in seen.hosts[:2]}
    return words.networks_and_nics(list(dict.fromkeys(said.text for said in named)), nics, len(seen.hosts) - 2)


def _sockets(seen: SeenLog) -> _Other | None:
    if not (seen.over_network and seen.is_rdma):
        return None
    used = next((each for each in log_reading.networks(seen.log) if each.name == log_reading.SOCKET), None)
    if seen.target.node.link is None:
        return None
    if used is None:
        return _nothing_but_sockets(seen, seen.target.node.link.name)
    named = None if used.by is None else used.by.host
    host = named or words.some_node()
    reason = log_reading.log_reason(seen.log)
    sentence = words.used_sockets(host, seen.target.node.link.name, used.line, reason)
    return _Other(sentence, words.look_at_cards(host), named)


def _nothing_but_sockets(seen: SeenLog, link: str) -> _Other | None:
    """Return that a host found no InfiniBand or RoCE and names no network: its log was cut or filtered before that."""
    if seen.target.node.link is None or seen.target.node.link.family not in _FAMILIES.values():
        return None
    has_network = log_reading.hosts_with_network(seen.log)
    for said in seen.log.fallbacks:
        if said.by is not None and said.by.host not in has_network and "No device found" in said.text:
            host = said.by.host
            return _Other(words.found_no_card(host, link, said.line, said.text), words.look_at_container(host), host)
    for said in seen.log.settings:
        if said.by is not None and said.by.host not in has_network and log_reading.is_for_sockets(said):
            sentence = words.set_to_no_card(said.by.host, link, said.line, said.text)
            return _Other(sentence, words.look_at_setting(), said.by.host)
    only = next((nic for nic in seen.log.nics if nic.kind == "Socket" and nic.by.host not in has_network), None)
    if only is None:
        return None
    host = only.by.host
    return _Other(words.lists_no_card(host, only.name, only.line, link), words.look_at_listed_cards(host), host)


def _tcp_provider(seen: SeenLog) -> _Other | None:
    """Return that Libfabric gave NCCL's plugin (aws-ofi-nccl) TCP: NCCL itself only names the plugin."""
    if not (seen.over_network and seen.is_rdma):
        return None
    said = next((each for each in seen.log.facts if _TCP_PROVIDER.search(each.text)), None)
    if said is None or seen.target.node.link is None:
        return None
    named = None if said.by is None else said.by.host
    host = named or words.some_node()
    sentence = words.provider_of_tcp(host, seen.target.node.link.name, said.line, said.text)
    return _Other(sentence, words.look_at_provider(host), named)


def _other_kind(seen: SeenLog) -> _Other | None:
    link = seen.target.node.link
    if link is None or link.family not in _FAMILIES.values() or not seen.over_network:
        return None
    for host in seen.hosts:
        kinds = {nic.kind for nic in seen.nics[host] if nic.kind in _FAMILIES}
        if kinds and all(_FAMILIES[kind] != link.family for kind in kinds):
            first = seen.nics[host][0]
            return _Other(words.other_kind(host, sorted(kinds), first.line, link.name), words.look_at_link(), host)
    return None


def _fewer_nics(seen: SeenLog) -> _Other | None:
    due = seen.target.node.nics
    for host in seen.hosts if seen.over_network and seen.is_rdma else ():
        found = [nic for nic in seen.nics[host] if _is_ours(seen, nic)]
        count = sum(1 + nic.name.count("+") for nic in found)  # NCCL joins ports: mlx5_0+mlx5_1
        if 0 < count < due and not seen.target.rails and seen.hears_all(host):
            names = [log_reading.name(nic) for nic in found]
            sentence = words.fewer_nics(host, count, found[0].line, names, due)
            return _Other(sentence, words.look_at_links_of_cards(host), host)
    return None


def _is_ours(seen: SeenLog, nic: Nic) -> bool:
    link = seen.target.node.link
    return link is None or nic.kind not in _FAMILIES or _FAMILIES[nic.kind] == link.family


def _other_names(seen: SeenLog) -> _Other | None:
    """Return that a node does not list a NIC of the system's file."""
    if not seen.target.rails or not seen.over_network:
        return None
    for host in seen.hosts:
        names = {part for nic in seen.nics[host] for part in nic.name.split("+")}
        listed = {log_reading.name(nic) for nic in seen.nics[host]}
        lacking = [rail for rail in seen.target.rails if _is_lacking(rail, names, listed)]
        if lacking and seen.hears_all(host):
            line = seen.nics[host][0].line
            sentence = words.lacking_rails(host, lacking, seen.target.system, line, sorted(listed))
            return _Other(sentence, words.look_at_rails(host), host)
    return None


def _is_lacking(rail: str, devices: Set[str], listed: Set[str]) -> bool:
    """Return whether a host lists no such device, or only other ports of it; joined ports have no number of their own.

    ``rail`` is as a system's file names it: ``mlx5_0:1``, or without a port.
    """
    device, _, port = rail.partition(":")
    other = any(name.startswith(f"{device}:") for name in listed)
    return device not in devices or (bool(port) and other and rail not in listed)


def _slow_nics(seen: SeenLog) -> _Other | None:
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
            others = len(ours) - len(slow)
            sentence = words.slow_nic(device, host, said.mbit_s / 1000, said.line, others, link.name, due)
            return _Other(sentence, words.look_at_cable(device, host), host)
    return None


def _is_rail(device: str, seen: SeenLog) -> bool:
    """Return whether a system's file names a device; ``device`` may be without a port, as the file's rails may."""
    return any(
        device in (rail, rail.partition(":")[0]) or rail == device.partition(":")[0] for rail in seen.target.rails
    )


def _more_nics(seen: SeenLog) -> _Other | None:
    due = seen.target.node.nics
    if not due or not seen.over_network or seen.target.rails:
        return None
    for host, used in sorted(seen.used.items()):
        if len(used) > due:
            return _Other(words.more_nics(host, sorted(used), due), words.look_at_nic_count(), host)
    return None


def _idle_in_ring(seen: SeenLog) -> _Other | None:
    """Return that no GPU of a node uses a NIC, in a collective that spreads over all: a rail that is idle."""
    shape, of = seen.shape, COLLECTIVES.get(seen.collective)
    if shape is None or of is None or of.rooted or of.point_to_point or shape.gpus < shape.node.gpus:
        return None
    for host, names in idle(seen) if seen.over_network else ():
        if log_reading.all_connect(seen.log, host, shape.gpus):
            return _Other(words.idle_nics(host, names), words.look_at_idle_cards(host), host)
    return None


def _no_domain(seen: SeenLog) -> _Other | None:
    domain = seen.target.node.domain
    off = log_reading.find_sentence(
        seen.log.fallbacks + seen.log.facts, "MNNVL", "isabled"
    ) or log_reading.find_sentence(seen.log.settings, "NCCL_MNNVL_ENABLE", "to 0")
    if domain is None or domain <= seen.target.node.gpus or off is None:
        return None
    return _Other(words.no_domain(off.text, off.line, domain), words.look_at_domain())


_CONTRADICTIONS: tuple[Callable[[SeenLog], _Other | None], ...] = (
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
            yield words.few_nics_of_some(host, len(found), found[0].line, seen.target.node.nics)
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
            yield words.unlike_lists(host, [(len(own), min(own.values())) for own in (lists[0], lists[-1])])
            return


def _no_gpu_direct(seen: SeenLog) -> Iterator[str]:
    if not (seen.over_network and seen.is_rdma):
        return
    off = log_reading.find_sentence(seen.log.fallbacks, "GPU Direct RDMA Disabled")
    without = log_reading.without_gpu_direct(seen.log)
    if off is not None:
        yield words.no_gpu_direct(off.line, off.text)
    elif without is not None:
        yield without


def _not_over_links(seen: SeenLog) -> Iterator[str]:
    link = seen.target.node.gpu_link
    if link is None or link.is_slot or seen.target.node.within_over_nics:
        return
    off = log_reading.find_sentence(seen.log.settings, "NCCL_P2P_DISABLE", "to 1")
    if off is not None:
        yield words.links_not_used(link.word, off.line, off.text)
    shared = log_reading.through_memory(seen.log)
    if shared:
        first = shared[0]
        yield words.shared_memory(len(shared), link.word, first.line, first.source, first.target)


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
        source = words.ConnectionEnd(one.source, _nic(seen, one), one.line)
        target = words.ConnectionEnd(one.target, _nic(seen, other), other.line)
        yield words.crossed_rails(len(crossed), len(sent), one.channel, source, target)


def _nic(seen: SeenLog, link: Link) -> str:
    nic = log_reading.nic_of(link, seen.log)
    return words.numbered_nic(link.nic, "" if nic is None else log_reading.name(nic))


def _idle_nics(seen: SeenLog) -> Iterator[str]:
    """Yield that a node has NICs which no connection names: a sendrecv does not need them, a ring over all does."""
    for host, names in list(idle(seen))[:1]:
        yield words.unused_nics(host, names)


def _far_nics(seen: SeenLog) -> Iterator[str]:
    """Yield that a GPU sends over a NIC that is nearest to other GPUs, by the system's file."""
    far = next(log_reading.far_nics(seen.log, seen.target.nearest or {}), None)
    if far is not None:
        yield words.far_nic(far.gpu, far.link.by.host, far.nic.name, far.link.line, seen.target.system, far.near)


_REMARKS: Sequence[Callable[[SeenLog], Iterable[str]]] = (
    _not_heard,
    _unlike_lists,
    _no_gpu_direct,
    _not_over_links,
    _crossed_rails,
    _idle_nics,
    _far_nics,
)
