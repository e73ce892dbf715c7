"""A made cluster of any size and what a run on it leaves, for what a machine has too few namespaces for.

Nothing here was measured. Each node has some InfiniBand cards (mlx5, each with its interface) and Ethernet; leaf
switches have so many nodes each. The texts have the forms that ``reader.sh``, ``node.sh`` and ``railyard-pairs`` write:
a test compares the lines of a node with those of the reader itself. Values follow from the node's number, so that the
same shape always gives the same texts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from pathlib import Path

from railyard.job.case import Case, Evidence
from railyard.job.node_facts import NodeFacts
from railyard.job.node_facts import parse as parse_facts
from railyard.parsers.pairs import parse
from railyard.site.references.load import References
from railyard.site.site import Site
from railyard.site.systems.load import load_system
from railyard.verdict.assess import Assessment, assess
from railyard.verdict.blame.search.model import Round
from tests.made.judged_run import TAG, TODAY, case_of

SIZE, WINDOW, REPEATS, WARM_UP, EXCHANGES = 4 << 20, 8, 60, 1, 20
#: MB/s of a pair over one rail of NDR, below its limit by what a healthy stream lacks.
RAIL_MB_S = 48_000.0
_PORT = (
    *("VL15_dropped", "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery"),
    *("local_link_integrity_errors", "multicast_rcv_packets", "multicast_xmit_packets", "port_rcv_constraint_errors"),
    *("port_rcv_data", "port_rcv_errors", "port_rcv_packets", "port_rcv_remote_physical_errors"),
    *("port_rcv_switch_relay_errors", "port_xmit_constraint_errors", "port_xmit_data", "port_xmit_discards"),
    *("port_xmit_packets", "port_xmit_wait", "symbol_error", "unicast_rcv_packets", "unicast_xmit_packets"),
)
"""Counters of a port, as drivers/infiniband/core/sysfs.c names them, in the order of a shell's ``*``."""
_HARDWARE = (
    *("duplicate_request", "implied_nak_seq_err", "lifespan", "local_ack_timeout_err", "out_of_buffer"),
    *("out_of_sequence", "packet_seq_err", "req_cqe_error", "req_cqe_flush_error", "req_remote_access_errors"),
    *("req_remote_invalid_request", "req_transport_retries_exceeded", "resp_cqe_error", "resp_cqe_flush_error"),
    *("resp_local_length_error", "resp_remote_access_errors", "rnr_nak_retry_err", "rx_atomic_requests"),
    *("rx_read_requests", "rx_write_requests"),
)
"""Those of mlx5 on InfiniBand (drivers/infiniband/hw/mlx5/counters.c)."""
_LIFESPAN_MS = 10


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a made cluster is: nodes, rails of each, nodes of a leaf switch."""

    nodes: int
    rails: int = 4
    leaf: int = 32

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes in topology order: ``n0001`` …"""
        return tuple(f"n{number:04}" for number in range(1, self.nodes + 1))

    @property
    def devices(self) -> tuple[str, ...]:
        """The rails as counters name them."""
        return tuple(f"mlx5_{rail}:1" for rail in range(self.rails))

    @property
    def leaves(self) -> dict[str, tuple[str, ...]]:
        """The nodes of each leaf switch."""
        names = self.names
        starts = range(0, self.nodes, self.leaf)
        return {f"leaf{number:03}": names[at : at + self.leaf] for number, at in enumerate(starts, start=1)}


@dataclass(frozen=True, slots=True)
class Sick:
    """What is planted: shares of the healthy rate by node (its place), and by leaf (its place), with other leaves."""

    nodes: Mapping[int, float] = field(default_factory=dict)
    leaves: Mapping[int, float] = field(default_factory=dict)


def made_site(folder: Path, shape: Shape, *, leaves_known: bool = True) -> Site:
    """Return the site of a made cluster, its system's file in this folder."""
    rails = "".join(f"      - {{device: mlx5_{rail}, port: 1, counters: mlx5}}\n" for rail in range(shape.rails))
    leaves = "".join(
        f"      {leaf}: {'n[' + at[0][1:] + '-' + at[-1][1:] + ']'}\n" for leaf, at in shape.leaves.items()
    )
    text = f"""\
system: large
description: A made cluster of {shape.nodes} nodes
scheduler: slurm
launcher: srun
jobs: {{account: abc}}
nodes: {{count: {shape.nodes}}}
report_only: a made system has no references
fabrics:
  ndr:
    description: NDR, {shape.rails} cards a node
    kind: ib
    link: ib-ndr
    slot: pcie5-x16
{"    leaf_switches:" + chr(10) + leaves if leaves_known else ""}    rails:
{rails}  eth:
    description: Ethernet
    kind: tcp
    link: eth-25
    rails: [{{device: eth0, counters: netdev}}]
stacks:
  openmpi: {{modules: [openmpi], benchmarks: {{pairs: /opt/pairs/railyard-pairs}}}}
"""
    file = folder / "systems" / "large.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    system = load_system(file)
    return Site(folder, system, References(system))


def pairs_case(site: Site, shape: Shape) -> Case:
    """Return the case of all pairs, or a sample of them, over every rail of every node."""
    return case_of(
        site, "pairs/pairs", stack="openmpi", rails=shape.rails, fabric="ndr", check="AllPairs", window=WINDOW,
        launch={"nodes": shape.names}, time_limit_s=900,
    )  # fmt: skip


def sample_rounds(shape: Shape, count: int) -> tuple[Round, ...]:
    """Return so many rounds of disjoint pairs: shifts, near ones and far ones, so that each leaf meets many."""
    nodes, found = shape.nodes, []
    for number in range(count):
        step = 1 + (number * (nodes // (count + 1)) + number) % (nodes - 1)
        busy: set[int] = set()
        made = []
        for first in range(nodes):
            second = (first + step) % nodes
            if first not in busy and second not in busy:
                busy |= {first, second}
                made.append((min(first, second), max(first, second)))
        found.append(tuple(made))
    return tuple(found)


def pairs_output(shape: Shape, rounds: Sequence[Round], sick: Sick = Sick()) -> str:
    """Return what railyard-pairs prints of these rounds."""
    lines = [
        f"# railyard-pairs 1 pairs: {shape.nodes} ranks, {len(rounds)} rounds",
        f"# size {SIZE} window {WINDOW} repeats {REPEATS} warm-up {WARM_UP} exchanges {EXCHANGES} of 8 bytes",
        *(f"# rank {rank} on {name}" for rank, name in enumerate(shape.names)),
        "# round first second forward_MB/s backward_MB/s latency_us",
    ]
    rows = 0
    for number, pairs in enumerate(rounds, start=1):
        for first, second in pairs:
            rate = _rate(shape, first, second, sick)
            noise = (first * 7919 + second * 104729 + number * 31) % 1000 / 1000
            there, back = rate * (1 - 0.02 * noise), rate * (1 - 0.02 * ((noise * 37) % 1))
            lines.append(f"{number} {first} {second} {there:.2f} {back:.2f} {2 + 0.4 * noise:.2f}")
            rows += 1
    return "\n".join([*lines, f"# end: {rows} pairs", ""])


def _rate(shape: Shape, first: int, second: int, sick: Sick) -> float:
    share = min(sick.nodes.get(first, 1.0), sick.nodes.get(second, 1.0))
    leaves = first // shape.leaf, second // shape.leaf
    if leaves[0] != leaves[1]:
        share = min(share, *(sick.leaves.get(leaf, 1.0) for leaf in leaves))
    return shape.rails * RAIL_MB_S * share


def pairs_of_nodes(rounds: Sequence[Round]) -> dict[int, int]:
    """Return in how many pairs of these rounds each node is."""
    found: dict[int, int] = {}
    for pairs in rounds:
        for pair in pairs:
            for node in pair:
                found[node] = found.get(node, 0) + 1
    return found


def moved_bytes(rounds: Sequence[Round]) -> dict[int, int]:
    """Return what each node of these rounds sent, and received, with 2 % for headers."""
    a_pair = SIZE * WINDOW * (REPEATS + WARM_UP) * 102 // 100
    return {node: pairs * a_pair for node, pairs in pairs_of_nodes(rounds).items()}


def counters_texts(
    shape: Shape, moved_bytes: Mapping[int, int], shares: Mapping[int, Sequence[float]] = {}
) -> Iterator[str]:
    """Yield each node's counters file: the bytes that it sent, and received, spread evenly or by its ``shares``."""
    template = counters_template(shape)
    for place, name in enumerate(shape.names):
        whole, of = moved_bytes.get(place, 0), shares.get(place, [1 / shape.rails] * shape.rails)
        units = [round(whole * share / 4) for share in of]
        start = 10**9 + 7919 * place
        values = {f"s{rail}": start for rail in range(shape.rails)}
        values |= {f"t{rail}": start + unit for rail, unit in enumerate(units)}
        yield template.format(node=name, number=place, **values)


@lru_cache(maxsize=8)
def counters_template(shape: Shape) -> str:
    """Return a counters file in which a node's name, its number and what its rails counted are left open."""
    rails = range(shape.rails)
    interfaces = tuple(f"ib{rail}" for rail in rails)
    lines = [f"railyard-counters 1 {TAG}", "node {node}", "first-by SLURM_LOCALID"]
    lines += [f"meant {device}" for device in shape.devices]
    lines += ["watched eth0", *(f"other {interface}" for interface in interfaces)]
    lines += [f"beside {device} {interface}" for device, interface in zip(shape.devices, interfaces, strict=True)]
    lines += [f"beside {interface} {interface}" for interface in interfaces]
    for device in (*shape.devices, *interfaces):
        lines += [f"about {device} driver mlx5_core", f"about {device} layer InfiniBand"]
    lines += ["about eth0 mtu 1500", *(f"about {interface} mtu 2044" for interface in interfaces)]
    for when, at in (("before", "1000.10"), ("after", "1100.35")):
        lines += [f"{when} at {at}", *_reading(shape, when, interfaces)]
        if when == "before":
            lines += _addresses(interfaces)
    return "\n".join([*lines, "end 0", ""])


def _reading(shape: Shape, when: str, interfaces: Sequence[str]) -> Iterator[str]:
    letter = "s" if when == "before" else "t"
    if when == "after":
        yield "after - clock_khz 3100000"
    for rail, device in enumerate(shape.devices):
        yield f"{when} {device} state 4: ACTIVE"
        for name in _PORT:
            value = f"{{{letter}{rail}}}" if name in ("port_xmit_data", "port_rcv_data") else "99"
            if name == "port_xmit_wait" and when == "after":  # it grows on every port that is busy
                value = f"1{{number}}{rail}99"
            yield f"{when} {device} {name} {0 if name in _ERRORS else value}"
    for rail, name in enumerate(("eth0", *interfaces), start=-1):
        yield f"{when} {name} carrier 1"
        yield f"{when} {name} carrier_changes 2"
        yield f"{when} {name} tx_bytes {100_000 + 40_000 * (when == 'after') * (name == 'eth0')}"
        yield f"{when} {name} rx_bytes {200_000 + 50_000 * (when == 'after') * (name == 'eth0')}"
        if rail >= 0:  # an interface of a card shows the card's port, too
            yield f"{when} {name} port_xmit_data {{{letter}{rail}}}"
            yield f"{when} {name} port_rcv_data {{{letter}{rail}}}"
    yield f"{when} - tcp_out_segs {1000 if when == 'before' else 1200}"
    yield f"{when} - tcp_retrans_segs 3"
    yield f"{when} - processors_cs {5 if when == 'before' else 9000}"
    if when == "after":
        yield f"waited {_LIFESPAN_MS}"
    for device in shape.devices:
        yield from (f"{when} {device} hw/{name} {_LIFESPAN_MS if name == 'lifespan' else 0}" for name in _HARDWARE)
    yield from (f"{when} {interface} hw/lifespan {_LIFESPAN_MS}" for interface in interfaces)


_ERRORS = (
    *("link_downed", "link_error_recovery", "local_link_integrity_errors", "port_rcv_errors", "symbol_error"),
    *("excessive_buffer_overrun_errors", "port_xmit_discards", "port_rcv_remote_physical_errors", "VL15_dropped"),
    *("port_rcv_constraint_errors", "port_xmit_constraint_errors", "port_rcv_switch_relay_errors"),
)


def _addresses(interfaces: Sequence[str]) -> Iterator[str]:
    for place, name in enumerate(("eth0", *interfaces)):
        yield f"before {name} hardware/{name} 02:00:{place:02x}:{{number:06x}}"
    for place, _ in enumerate(("eth0", *interfaces)):
        yield f"before - own/10.{place}.{{number}} yes"


@lru_cache(maxsize=4)
def facts_of(shape: Shape) -> tuple[NodeFacts, ...]:
    """Return what each node says of itself; the memory of one node in eight is some kB less, as on real nodes."""
    return tuple(facts for name in shape.names if (facts := parse_facts(facts_text(shape, name), TAG)) is not None)


def facts_text(shape: Shape, name: str) -> str:
    """Return what ``node.sh`` writes on a node."""
    number = int(name[1:])
    lines = [f"railyard-node 1 {TAG}", f"node {name}", *(f"fact {fact}" for fact in _FACTS)]
    lines.append(f"fact memory {1056720000 - 8 * (number % 8 == 0)} kB")
    for rail, device in enumerate(shape.devices):
        lines += [f"device {device} {said}" for said in _CARD]
        lines += [f"device {device} numa_node {rail * 2 // shape.rails}", f"device {device} local_cpulist 0-55"]
        lines.append(f"device {device} slot pci0000:{rail:02x}/0000:{rail:02x}:01.0/0000:{rail + 64:02x}:00.0")
    return "\n".join([*lines, "device eth0 driver bnxt_en", "device eth0 mtu 1500", "end", ""])


_FACTS = (
    *("kernel 5.14.0-427.el9.x86_64", "operating_system Rocky Linux 9.4 (Blue Onyx)", "cpus_allowed 0-111"),
    *("processor INTEL(R) XEON(R) PLATINUM 8480+", "microcode 0x2b000603", "logical_processors 112", "sockets 2"),
    *("numa_nodes_per_socket 1", "smt off", "turbo on", "governor performance", "frequency_driver intel_pstate"),
    *("energy_preference performance", "frequency_max_khz 3800000", "base_frequency_khz 2000000"),
    *("idle_driver intel_idle", "c_states POLL C1", "transparent_hugepages always", "numa_balancing 0"),
    *("sys_vendor Made", "product_name Made 9000", "board_name 0ABC", "bios_vendor Made", "bios_version 1.2.3"),
    "bios_date 01/02/2026",
)
_CARD = (
    *("driver mlx5_core", "firmware 28.39.1002", "board MT_0000000838", "card MT4129", "rate 400 Gb/sec (4X NDR)"),
    *("link_layer InfiniBand", "subnet_prefix fe80:0000:0000:0000", "current_link_speed 32.0 GT/s PCIe"),
    *("current_link_width 16", "max_link_speed 32.0 GT/s PCIe", "max_link_width 16"),
)


def evidence_of(shape: Shape, rounds: Sequence[Round], sick: Sick = Sick()) -> Evidence:
    """Return what a run of these rounds left: output, counters of every node, and what each says of itself."""
    return Evidence(
        pairs_output(shape, rounds, sick),
        exit_code=0,
        counters=tuple(counters_texts(shape, moved_bytes(rounds))),
        tag=TAG,
        facts=facts_of(shape),
        job_id=4711,
    )


def assess_rounds(
    site: Site, shape: Shape, rounds: Sequence[Round], sick: Sick = Sick(), today: date = TODAY
) -> Assessment:
    """Return what a run of these rounds came to."""
    return assess(pairs_case(site, shape), evidence_of(shape, rounds, sick), parse, today)
