"""A collective between GPUs in a rehearsal: what nccl-tests prints with its library's log, and what each NIC moves.

The system's file says which GPUs take part. The variables of nccl-tests and NCCL, as documented, say how they are
grouped and over what they reach each other: so each setting of Railyard is tested by its effect.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from railyard.base.errors import RailyardError
from railyard.benchmarks.gpu_collectives import busbw_bounds, find_collective, own_nics, shares_of
from railyard.benchmarks.table.nccl import ONE_GPU, ONE_NODE, OVER_NICS, PARTS, RAILS, TWO_NODES, WHOLE, collective_of
from railyard.hardware.gpu_nodes import Shape
from railyard.provision.rehearsal import rank_ports, traffic
from railyard.provision.rehearsal.benchmark_request import BenchmarkRequest
from railyard.provision.rehearsal.crew import Crew, Moves
from railyard.provision.rehearsal.form import EVERY_NODE
from railyard.provision.rehearsal.rank_ports import LibraryError, Port, RankPorts
from railyard.provision.rehearsal.traffic import Flow, Network
from railyard.provision.replay import reference_outputs
from railyard.provision.replay.texts import PrintedRun, before_its_end, print_run
from railyard.site.gpu_shape import shape_of_part
from railyard.site.systems.model import Fabric
from railyard.site.systems.parts import Gpus

#: The share of the bound of a ring, or of its sends and receives, that a healthy run reaches: 79 to 98 % are published.
EFFICIENCY = 0.9
#: The size at which half of that is reached: short collectives wait for their start.
_HALF_BYTES = 4 << 20


def play_collective(network: Network, asked: BenchmarkRequest, sentence: str, moves: Moves) -> str:
    """Return what a run prints, and add what it moves.

    Raises RailyardError if its system has no GPUs, and LibraryError if a GPU is missing, or its way to another node is
    dead.
    """
    gpus, name = network.crew.site.system.gpus, collective_of(asked.key)
    if gpus is None or name is None:
        raise RailyardError(
            f"{asked.key}: found no GPUs in systems/{network.crew.site.system.system}.yaml, expected gpus"
        )
    # No two runs have the same processes.
    first_gpu, first_pid = _first_gpu(network.crew), os.getpid()
    network = Network(_nearest_nics(network.crew, gpus, first_gpu))
    crew = network.crew
    groups, part, ranks = _groups(crew), _part(crew), max(crew.per_node.values())
    # A library that left out every rail takes the management network, but its nodes still have the rails of a fabric.
    fabrics = crew.site.system.fabrics
    fabric = next(iter(fabrics)) if network.place is None else network.place.name
    rails = min(len(crew.takes[0].ports), len(fabrics[fabric].rails))
    shape = shape_of_part(crew.site.system, fabric, rails, PARTS[part], len(crew.nodes), ranks)
    if shape is None:
        raise RailyardError(
            f"{asked.key}: found {ranks} processes on a node of {gpus.per_node} GPUs, expected at most one per GPU"
        )
    traffic.start_up(crew, moves)
    told = asked.told
    run = PrintedRun(
        name, dict.fromkeys(asked.sizes, 1.0), [member.node for member in crew.members], ranks, sentence, groups,
        iterations=1 if told is None else told.measured, warm_ups=0 if told is None else told.warm_up,
        checked=asked.validated, log=list(_log(crew, part, gpus, fabrics[fabric], first_gpu, first_pid)),
        first_gpu=first_gpu, first_pid=first_pid,
    )  # fmt: skip
    why = _why_it_ends(crew, gpus, part, first_gpu)
    if why is not None:
        raise LibraryError(f"{before_its_end(run)}{why}", 3)
    rates = {size: _rate(network, asked, name, part, shape, size) for size in asked.sizes}
    times = 1 if told is None else 2 * (told.measured + 1 + int(asked.validated)) + told.warm_up
    _move(network, name, part, shape, groups, times * sum(asked.sizes), moves)
    return print_run(replace(run, rates_mb_s=rates))


def _first_gpu(crew: Crew) -> int:
    """Return the GPU of each node's first process.

    Source: NCCL_TESTS_DEVICE, common.cu of nccl-tests 2.19; CUDA C++ Programming Guide, CUDA Environment Variables.
    """
    said = crew.variables.get("NCCL_TESTS_DEVICE", "")
    visible = crew.variables.get("CUDA_VISIBLE_DEVICES", "").split(",")
    place = int(said) if said.isdigit() else 0
    return int(visible[place]) if place < len(visible) and visible[place].isdigit() else place


def _nearest_nics(crew: Crew, gpus: Gpus, first_gpu: int) -> Crew:
    """Return the crew with only the NICs that its processes use: those nearest to the GPU if a node has one process."""
    if max(crew.per_node.values()) > 1 or len(crew.nodes) == 1 or not gpus.nearest:
        return crew
    ports = {}
    for node, there in crew.ports.items():
        own = [port for port in there if first_gpu in gpus.nearest.get(port.name.partition(":")[0], ())]
        usable = [port for port in own if crew.takes[0].ports and port.name in {p.name for p in crew.takes[0].ports}]
        ports[node] = tuple(port for port in there if port.kind == "net" or port in usable) if usable else there
    return replace(crew, ports=ports)


def _why_it_ends(crew: Crew, gpus: Gpus, part: str, first_gpu: int) -> str | None:
    """Return the library's error if one of the GPUs is missing, or if nothing gets from it to another node."""
    for member in crew.members:
        gpu, head = (first_gpu + member.local) % gpus.per_node, f"{member.node}: Test"
        missing = [f for f in crew.rehearsal.faults if f.kind == "missing" and f.node in (member.node, EVERY_NODE)]
        if gpu >= gpus.per_node - len(missing):
            return f"{head} CUDA failure common.cu:1568 'invalid device ordinal'\n"
        if part != ONE_NODE and any(f.kind == "dead" and f.is_of_gpu(member.node, gpu) for f in crew.rehearsal.faults):
            return (
                f"{head} NCCL failure common.cu:783 'remote process exited or there was a network error / '\n"
                f" .. {member.node} pid {member.rank + 1}: Test failure common.cu:874\n"
            )
    return None


def _groups(crew: Crew) -> int:
    """Return into how many groups NCCL_TESTS_SPLIT deals the ranks: 1 if it is not set."""
    found = re.fullmatch(r"(?:MOD|%) ?([1-9][0-9]*)", crew.variables.get("NCCL_TESTS_SPLIT", ""), re.IGNORECASE)
    return min(int(found[1]), len(crew.members)) if found else 1


def _part(crew: Crew) -> str:
    """Return which part of the system the run uses, by its processes and variables."""
    alone = len(crew.nodes) == 1
    if _groups(crew) > 1:
        return RAILS
    if alone:
        off = all(crew.variables.get(name) == "1" for name in ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"))
        return OVER_NICS if off else ONE_NODE
    if max(crew.per_node.values()) == 1:
        return ONE_GPU
    whole = len(crew.nodes) == crew.site.system.nodes.number or len(crew.nodes) > 2
    return WHOLE if whole else TWO_NODES


def _rate(network: Network, asked: BenchmarkRequest, name: str, part: str, shape: Shape, size: int) -> float:
    """Return the busbw at one size, MB/s: by the references, else a share of a ring's bound, less what faults take."""
    flows = node_flows(network)
    if not flows:  # within one node the GPUs still have all rails that were taken
        node, taken = network.crew.nodes[0], network.crew.takes[0]
        flows = [Flow(node, node, tuple((port, port) for port in taken.ports), taken)]
    test = network.test(f"{asked.key}/{part}" if part else asked.key, flows)
    known = None if test is None else reference_outputs.healthy(network.crew.site, test, asked.sizes)
    if known is not None:
        healthy = size / known.time_at(size)
    else:
        healthy = (
            EFFICIENCY
            * (own_nics(name, shape) or busbw_bounds(name, shape)[0]).busbw_mb_s
            * size
            / (size + _HALF_BYTES)
        )
    if part == ONE_NODE:
        return healthy
    if any(network.is_fallback(flow) for flow in flows):
        return min(healthy, traffic.MANAGEMENT_MB_S)
    nodes, ports = network.crew.nodes, _ports(network)
    own = [min(traffic.rail_share(network.faults, node, port.name) for node in nodes) for port in ports]
    reports = asked.words.get("-a", "1")
    if part == RAILS and reports == "1":
        # By default nccl-tests prints the mean of all ranks' times, over all groups.
        return healthy * len(own) / sum(1 / share for share in own)
    if part == RAILS and reports == "0":  # the time of the first rank, which is in its own GPU's group
        gpus = network.crew.site.system.gpus
        return healthy * own[0 if gpus is None else _nic_of(_first_gpu(network.crew), ports, gpus)]
    return healthy * min([*own, *(network.share(flow, size) for flow in flows if not flow.within_node)])


def node_flows(network: Network) -> list[Flow]:
    """Return the flows between the nodes.

    Each GPU sends by its own NIC to the NIC of the same GPU of the next node. If a node's library left out a NIC,
    another one carries its part; all others go on as before.
    """
    gpus, flows = network.crew.site.system.gpus, traffic.ring_flows(network)
    if gpus is None:
        return flows
    crew, found = network.crew, []
    ports = {node: crew.takes[next(m.rank for m in crew.members if m.node == node)].ports for node in crew.nodes}
    for flow in flows:
        mine, other = ports[flow.first], ports[flow.second]
        if mine[0].kind == "net" or len(mine) == len(other):
            found.append(flow)
            continue
        lanes = tuple(
            (mine[_nic_of(gpu, mine, gpus)], other[_nic_of(gpu, other, gpus)]) for gpu in range(gpus.per_node)
        )
        found.append(replace(flow, lanes=lanes, taken=RankPorts(tuple(a for a, _ in lanes), "striping")))
    return found


def _ports(network: Network) -> Sequence[Port]:
    return network.crew.takes[0].ports


def _move(network: Network, name: str, part: str, shape: Shape, groups: int, volume: float, moves: Moves) -> None:
    """Move each node's part of a ring, or of its sends and receives, evenly over the NICs that it takes."""
    shares = shares_of(name, "p2p" if find_collective(name).point_to_point else "ring", shape)
    if part == ONE_NODE or shape.domains == 1 or shares is None:
        return
    flows, per_node = node_flows(network), shape.gpus // shape.gpus_a_domain
    if part == OVER_NICS:
        node, ports = network.crew.nodes[0], _ports(network)
        for port in ports:
            moves.loop(node, port, sum(share.sent for share in shares) * volume / len(ports))
        return
    if shape.gpus_a_domain > shape.gpus:
        # Rings of several channels leave a domain of several nodes over the NICs of all of them.
        wide = shape.gpus_a_domain // shape.gpus
        for place, flow in enumerate(flows):
            end = flows[(place + wide - 1) % len(flows)]
            lanes = tuple((mine, other) for (mine, _), (_, other) in zip(flow.lanes, end.lanes, strict=True))
            sent = shares[place // wide].sent / wide * groups * volume
            traffic.add(moves, replace(flow, second=end.second, lanes=lanes), 1 << 30, sent, 0)
        return
    for place, flow in enumerate(flows[:-1] if find_collective(name).rooted else flows):
        sent = sum(share.sent for share in shares[place * per_node : (place + 1) * per_node])
        traffic.add(moves, flow, 1 << 30, max(sent, float(find_collective(name).rooted)) * groups * volume, 0)


def _log(crew: Crew, part: str, gpus: Gpus, fabric: Fabric, first_gpu: int, first_pid: int) -> Iterator[str]:
    """Yield what NCCL prints at its start: network, NICs, and the way by which each GPU sends."""
    ranks = max(crew.per_node.values())
    for member, taken in zip(crew.members, crew.takes, strict=True):
        gpu = (first_gpu + member.local) % gpus.per_node
        pid = first_pid + member.rank
        head = f"{member.node}:{pid}:{pid} [{gpu}] NCCL INFO"
        is_net = taken.ports[0].kind == "net"
        plugin = rank_ports.plugin_of_nccl(crew.variables)
        network = "Socket" if is_net else plugin or "IB"
        kind = ":10.0.0.1<0>" if is_net else "/RoCE" if fabric.kind == "roce" else "/IB"
        listed = " ".join(f"[{number}]{port.name}{kind}" for number, port in enumerate(taken.ports))
        if taken.tcp:
            yield f"{head} NET/IB : No device found."
        if network == plugin:  # over libfabric; it names the provider and no NIC
            provider = crew.variables.get("FI_PROVIDER", "")
            found = f"(found {len(taken.ports)} nics)"
            yield f"{head} NET/OFI Selected provider is {provider}, fabric is {provider} {found}"
        else:
            yield f"{head} NET/{network} : Using {listed}"
        yield f"{head} Using network {network}"
        if part == ONE_NODE:
            way, to = "P2P/CUMEM", member.rank - member.local + (member.local + 1) % ranks
        else:
            nic = _nic_of(gpu, taken.ports, gpus)
            way, to = f"NET/{network}/{nic}{'' if is_net else '/GDRDMA'}", (member.rank + ranks) % len(crew.members)
        yield f"{head} Channel 00/0 : {member.rank}[{gpu}] -> {to}[{gpu}] [send] via {way}"


def _nic_of(gpu: int, ports: Sequence[Port], gpus: Gpus) -> int:
    """Return the number of the NIC that a GPU sends by: one nearest to it, else its share of them in order."""
    near = [
        number for number, port in enumerate(ports) if gpu in gpus.nearest.get(port.name.partition(":")[0], ())
    ]  # fmt: skip
    return near[0] if near else gpu * len(ports) // gpus.per_node
