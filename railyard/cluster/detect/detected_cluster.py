"""All that one node shows of its cluster, and of itself: read once, then only written out.

Where the kernel's files do not say it, tools print it: lspci, ibstatus, hwloc.

A slot that /sys lacks and the payload of a PCIe packet are in ``lspci -vv`` (as root). ``ibstatus`` may print ports
that a container hides. ``nvidia-smi topo -m`` says which NICs have no GPU on their side of the node. show_gids is not
asked: its GIDs are addresses of the site, and the kernel's own files have what is used of them.

Finds a node's stacks: MPI libraries, and benchmarks that need no MPI.

Stacks are on the search path or among the modules. Each MPI library's entry (``railyard/stacks/entries/``) says how to
ask it for its version, and what its module is called.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

from railyard.base.values import NAME_PATTERN
from railyard.base.wording import count_of
from railyard.cluster.detect.fabrics import FoundFabric, fabrics_of, traps, unlinked_ports
from railyard.cluster.detect.ports import Port, cxi_ports, net_ports, parse_whole, rdma_ports
from railyard.cluster.detect.scheduler import Scheduler, StatedSwitches, scheduler_of, slurm_switches
from railyard.cluster.detect.source import IBSTATUS, LSPCI, TOPOLOGY, Source, natural
from railyard.hardware.links import pcie_slot
from railyard.hardware.node import name_of_cpuinfo
from railyard.parsers.fabric import ibstatus, lspci, nvidia_smi
from railyard.parsers.fabric.port import PciSlot
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.site.systems.jobs import is_slurm
from railyard.stacks.model import STACKS, VersionProgram

MODULES_ASKED = ("module", "-t", "avail")
MODULES_VERSION = ("module", "--version")
#: For MPI: a program, its tool, and how many folders above the program the tool's path ends.
MPI_TOOLS: tuple[tuple[str, str, int], ...] = (
    ("IMB-MPI1", "imb", 0),
    ("osu_bw", "osu", 2),  # …/mpi/pt2pt/osu_bw: the folder is …/mpi
    ("xhpl", "hpl", 0),
    ("NPmpi", "netpipe", 0),
    ("NPopenmpi", "netpipe", 0),
)
_NAMES_OF_MODULES = re.compile(r"([A-Za-z][\w.+-]*(?:/[\w.+-]+)*)(?:\s*\((?:[a-zA-Z:,]*)\))*")
_SYSTEMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Modules based on Lua"), "lmod"),
    (re.compile(r"Modules Release [45]\."), "envmod"),
)


@dataclass(frozen=True, slots=True)
class FoundStack:
    """A stack: its prefix or its module, tools by path, and the sentence that says how it was found."""

    name: str
    how: str
    prefix: str | None = None
    module: str | None = None
    benchmarks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Software:
    """All stacks, ReFrame's word for the modules system, where Spack is, and what was guessed."""

    stacks: tuple[FoundStack, ...]
    modules_system: str | None
    spack: str | None
    doubts: tuple[str, ...] = ()


def software_of(source: Source) -> Software:
    """Return what the search path and the modules have. If both have a stack, take its module."""
    by_path = _on_path(source)
    by_module = _in_modules(source.run(*MODULES_ASKED) or "")
    tools = _mpi_tools(source)
    doubts: list[str] = []
    found = [by_module.get(name) or by_path[name] for name in dict.fromkeys((*by_module, *by_path))]
    if tools and found:
        # Programs on the search path are linked to one MPI. Only the loader says to which one.
        owner = next(iter(by_path), found[0].name)
        found = [_with_tools(one, tools) if one.name == owner else one for one in found]
        doubts.append(
            f"{', '.join(tools)} on the search path {'is' if len(tools) == 1 else 'are'} taken for {owner}'s: each run "
            f"holds what the loader says against that"
        )
    version = source.run(*MODULES_VERSION) or ""
    modules_system = next((name for pattern, name in _SYSTEMS if pattern.search(version)), None)
    if by_module and modules_system is None:
        doubts.append(
            "there are modules, and `module --version` names no kind that ReFrame has: modules_system is missing"
        )
    return Software((*found, *_pairs(source)), modules_system, source.which("spack"), tuple(doubts))


def _on_path(source: Source) -> dict[str, FoundStack]:
    found: dict[str, FoundStack] = {}
    known: set[str] = set()
    for stack, program in _programs():
        name = program.names[0]
        path = source.which(name)
        if path is None or path in known or program.within not in path.lower():
            continue
        answer = re.search(program.answer, source.run(name, *program.words) or "", re.MULTILINE)
        if answer is not None:
            known.add(path)
            prefix = path.rpartition("/bin/")[0] or "/usr"
            found[stack] = FoundStack(stack, f"{name} says version {answer[1]}", prefix)
    return found


def _programs() -> list[tuple[str, VersionProgram]]:
    """Return each stack's programs, first those that are also known by their path. The first that answers is taken."""
    every = [(name, program) for name, stack in STACKS.items() for program in stack.programs]
    return sorted(every, key=lambda one: not one[1].within)


def _in_modules(listing: str) -> dict[str, FoundStack]:
    """Return the newest module of each stack, or the one that the site marks as its default."""
    candidates: dict[str, list[tuple[bool, str]]] = {}
    for line in listing.split("\n"):
        found = _NAMES_OF_MODULES.fullmatch(line.strip())
        if found is None or found[1].endswith("/"):
            continue
        # Debian and Red Hat have modules without a version: mpi/openmpi-x86_64
        names = (found[1].rpartition("/")[0], found[1])
        stack = next((name for name, entry in STACKS.items() if _is_module(entry.module, names)), None)
        if stack is not None:
            marked = "(d" in line.lower().replace(" ", "")
            candidates.setdefault(stack, []).append((marked, found[1]))
    chosen = {}
    for stack, modules in candidates.items():
        _, module = max(modules, key=lambda one: (one[0], natural(one[1])))
        how = "a module" if len(modules) == 1 else f"the default or else newest of {len(modules)} modules"
        chosen[stack] = FoundStack(stack, how, module=module)
    return chosen


def _is_module(pattern: str | None, names: Iterable[str]) -> bool:
    whole = re.compile(f"(?:.*/)?(?:{pattern})", re.IGNORECASE)
    return pattern is not None and any(map(whole.fullmatch, names))


def _mpi_tools(source: Source) -> dict[str, str]:
    found: dict[str, str] = {}
    for program, tool, above in MPI_TOOLS:
        path = source.which(program)
        if path is not None:
            found.setdefault(tool, "/".join(path.split("/")[:-above]) if above else path)
    return found


def _with_tools(stack: FoundStack, tools: Mapping[str, str]) -> FoundStack:
    return FoundStack(stack.name, stack.how, stack.prefix, stack.module, dict(tools))


def _pairs(source: Source) -> tuple[FoundStack, ...]:
    found: dict[str, FoundStack] = {}
    for stack, shown in (
        (name, shown) for name, entry in STACKS.items() if entry.pair for shown in entry.tool_programs
    ):
        path = source.which(shown.name)
        if path is None:
            continue
        folder = path.rpartition("/")[0]
        there = dict(found[stack].benchmarks) if stack in found else {}
        there[shown.tool] = folder if shown.is_folder else path
        found[stack] = FoundStack(stack, "on the search path", folder.removesuffix("/bin") or "/usr", benchmarks=there)
    return tuple(found.values())


_NVIDIA = "/proc/driver/nvidia/gpus"
_PCI = "/sys/bus/pci/devices"
_MODEL = re.compile(r"^Model:\s+(.+)$", re.MULTILINE)
_PROCESSOR = re.compile(r"^model name\s*:\s*(.+)$", re.MULTILINE)
# linux/pci_ids.h: AMD, and the base classes of a display controller and a processing accelerator
_AMD, _GPU_CLASSES = "0x1002", ("0x03", "0x12")
_CPUS = "/sys/devices/system/cpu"
_FIRST = f"{_CPUS}/cpu0/topology"
_RANGE = re.compile(r"(?P<first>[0-9]{1,6})(?:-(?P<last>[0-9]{1,6}))?")
_MEMORY = re.compile(r"^MemTotal:\s+(?P<kib>[0-9]{1,15}) kB$", re.MULTILINE)
_WITHOUT = ("cache:none", "icache:none", "core:none")
#: Compute nodes have hwloc without graphics. Parts without devices are left out; ``-`` is its standard output.
ASKED = ("lstopo-no-graphics", *(word for part in _WITHOUT for word in ("--filter", part)), "--of", "xml", "-")


@dataclass(frozen=True, slots=True)
class Processors:
    """Cores of the whole node, threads of each core, sockets (None if unknown), memory in KiB."""

    cores: int
    threads_a_core: int
    sockets: int | None
    memory_kib: int

    @property
    def memory(self) -> str:
        """The memory in the form of a system's file, rounded down: ``503G`` (GiB), or ``3922M`` for a small machine."""
        gib = self.memory_kib >> 20
        return f"{gib}G" if gib >= 8 else f"{self.memory_kib >> 10}M"

    @property
    def words(self) -> str:
        """How the cores are arranged: ``2 sockets of 56 cores, 2 threads a core``."""
        threads = f"{count_of(self.threads_a_core, 'thread')} a core"
        if self.sockets is None:
            return threads
        return f"{count_of(self.sockets, 'socket')} of {count_of(self.cores // self.sockets, 'core')}, {threads}"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: its model, its PCI address and its memory domain."""

    model: str
    address: str
    numa: int | None


@dataclass(frozen=True, slots=True)
class NodeFound:
    """The node that was looked at. ``processor`` is its name in words, ``microarchitecture`` that of Spack."""

    hostname: str
    processor: str | None
    microarchitecture: str | None
    numa_nodes: int
    processors: Processors | None
    gpus: tuple[Gpu, ...]
    #: Memory domains that have processors (that of a GPU, or of CXL memory, has none); 0: not known.
    domains_with_cores: int = 0

    @property
    def domains(self) -> int | None:
        """The memory domains that share the cores evenly; None if they do not, or if they are not known."""
        each = self.domains_with_cores
        return each if each and self.processors is not None and self.processors.cores % each == 0 else None


@dataclass(frozen=True, slots=True)
class DetectedCluster:
    """A cluster as a node shows it. ``traps`` would spoil a benchmark; ``left_out`` are ports without a link."""

    node: NodeFound
    fabrics: tuple[FoundFabric, ...]
    scheduler: Scheduler
    software: Software
    traps: tuple[str, ...]
    left_out: tuple[str, ...]
    switches: StatedSwitches | None = None

    @property
    def name(self) -> str:
        """A name for the system: the cluster's name in the scheduler, else the host's name without its number."""
        host = re.sub(r"[-_]?[0-9]+$", "", self.node.hostname.split(".")[0])
        for name in (self.scheduler.cluster, host):
            if name and re.fullmatch(NAME_PATTERN, name):
                return name
        return "found"

    def as_json(self) -> dict[str, Any]:
        """Return what was found as plain data."""
        return {
            "format": 1,
            "name": self.name,
            "host": self.node.hostname,
            "processor": self.node.processor,
            "microarchitecture": self.node.microarchitecture,
            "numa_nodes": self.node.numa_nodes,
            "hardware": None if self.node.processors is None else asdict(self.node.processors),
            "gpus": [{"model": gpu.model, "address": gpu.address, "numa": gpu.numa} for gpu in self.node.gpus],
            "fabrics": [_fabric_json(fabric) for fabric in self.fabrics],
            "scheduler": {
                "name": self.scheduler.name,
                "launcher": self.scheduler.launcher,
                "nodes": self.scheduler.nodes,
                "partitions": [
                    {"name": one.name, "nodes": one.nodes, "default": one.default, "up": one.up}
                    for one in self.scheduler.partitions
                ],
            },
            "stacks": [
                {
                    "name": stack.name,
                    "prefix": stack.prefix,
                    "module": stack.module,
                    "benchmarks": dict(stack.benchmarks),
                    "how": stack.how,
                }
                for stack in self.software.stacks
            ],
            "switches": None if self.switches is None else self.switches.doubt or self.switches.words,
            "modules_system": self.software.modules_system,
            "spack": self.software.spack,
            "traps": list(self.traps),
            "left_out": list(self.left_out),
            "guessed": [
                *(f"fabric {fabric.name}: {doubt}" for fabric in self.fabrics for doubt in fabric.doubts),
                *self.scheduler.remarks,
                *self.software.doubts,
            ],
        }


def detect(source: Source, job_variable: str | None = None) -> DetectedCluster:
    """Return what a node shows. It is no error if something is missing: what cannot be read is left out.

    ``job_variable``: what shows that this is a job (``scheduler.JOBS``); None outside of jobs, and for a recording.
    """
    rdma = (*rdma_ports(source), *cxi_ports(source))
    taken = {port.netdev for port in rdma if port.netdev is not None}
    sits = domains(source)
    shown = with_slots((*rdma, *net_ports(source, taken)), source)
    ports = tuple(_seat_port(port, sits) for port in shown)
    fabrics = fabrics_of(ports)
    scheduler = scheduler_of(source, job_variable)
    return DetectedCluster(
        node=node_of(source, sits),
        fabrics=fabrics,
        scheduler=scheduler,
        software=software_of(source),
        traps=(*traps(fabrics), *tool_traps(ports, source)),
        left_out=unlinked_ports(ports),
        switches=slurm_switches(source, scheduler.nodes) if is_slurm(scheduler.name) else None,
    )


def _seat_port(port: Port, sits: Mapping[str, int]) -> Port:
    """Return the port with the memory domain that hwloc gives its device, interface or address, if it gives one."""
    names = (port.device, port.netdev, port.pci.address)
    domain = next((sits[name] for name in names if name is not None and name in sits), None)
    return port if domain is None else replace(port, pci=replace(port.pci, numa=domain))


def _fabric_json(fabric: FoundFabric) -> dict[str, Any]:
    first = fabric.first
    return {
        "name": fabric.name,
        "kind": first.kind,
        "link": first.link,
        "rate_gbit_s": first.rate.gbit_s if first.rate else None,
        "slot": fabric.slot,
        "mtu": fabric.mtu,
        "rails": [_port_json(port) for port in fabric.ports],
    }


def _port_json(port: Port) -> dict[str, Any]:
    return {
        "device": port.device,
        "port": port.port,
        "counters": port.counters,
        "state": port.state,
        "netdev": port.netdev,
        "driver": port.pci.driver,
        "address": port.pci.address,
        "slot": port.pci.slot,
        "best_slot": port.pci.best_slot,
        "numa": port.pci.numa,
        "firmware": port.firmware,
        "board": port.board,
        "gid_index": port.gid_index,
    }


def node_of(source: Source, sits: Mapping[str, int]) -> NodeFound:
    """Return what the node says about itself. ``sits``: PCI address -> memory domain; it overrides the kernel's own."""
    described = source.read("/proc/cpuinfo") or ""
    processor = _PROCESSOR.search(described)
    nodes = [name for name in source.names("/sys/devices/system/node") if re.fullmatch(r"node[0-9]+", name)]
    return NodeFound(
        hostname=source.read("/proc/sys/kernel/hostname") or "",
        processor=" ".join(processor[1].split()) if processor else None,
        microarchitecture=name_of_cpuinfo(described),
        numa_nodes=len(nodes),
        processors=processors_of(source),
        gpus=tuple(replace(gpu, numa=sits.get(gpu.address, gpu.numa)) for gpu in (*_nvidia(source), *_amd(source))),
        domains_with_cores=_count(source.read("/sys/devices/system/node/has_cpu")),
    )


def _nvidia(source: Source) -> list[Gpu]:
    found = []
    for address in source.names(_NVIDIA):
        model = _MODEL.search(source.read(f"{_NVIDIA}/{address}/information") or "")
        found.append(Gpu(model[1].strip() if model else "NVIDIA", address, _numa(source, address)))
    return found


def _amd(source: Source) -> list[Gpu]:
    """Return AMD's accelerators, if the driver amdgpu is loaded."""
    if source.read("/sys/module/amdgpu/initstate") != "live":
        return []
    found = []
    for address in source.names(_PCI):
        device = f"{_PCI}/{address}"
        kind = source.read(f"{device}/class") or ""
        if source.read(f"{device}/vendor") == _AMD and kind.startswith(_GPU_CLASSES):
            found.append(Gpu("AMD", address, _numa(source, address)))
    return found


def _numa(source: Source, address: str) -> int | None:
    number = parse_whole(source.read(f"{_PCI}/{address}/numa_node"))
    return None if number is None or number < 0 else number


def processors_of(source: Source) -> Processors | None:
    """Return what the node computes with; None if the kernel does not say all of it.

    The first processor stands for the others, since all cores of a cluster's nodes are alike. Source: proc(5), and
    Linux, admin-guide/cputopology.rst (``thread_siblings_list``: of the same core, ``core_siblings_list``: of the
    socket).
    """
    online = _count(source.read(f"{_CPUS}/online"))
    threads = _count(source.read(f"{_FIRST}/thread_siblings_list"))
    socket = _count(source.read(f"{_FIRST}/core_siblings_list"))
    memory = _MEMORY.search(source.read("/proc/meminfo") or "")
    if not online or not threads or online % threads or memory is None or int(memory["kib"]) < 1024:
        return None
    whole = socket and socket % threads == 0 and online % socket == 0
    return Processors(online // threads, threads, online // socket if whole else None, int(memory["kib"]))


def _count(text: str | None) -> int:
    """Return how many processors a list of the kernel has (``0-55,112-167``); 0 if the text is not such a list."""
    ranges = [_RANGE.fullmatch(part) for part in (text or "").split(",")]
    counts = [int(one["last"] or one["first"]) - int(one["first"]) + 1 for one in ranges if one]
    return sum(counts) if len(counts) == len(ranges) and min(counts) > 0 else 0


def with_slots(ports: Sequence[Port], source: Source) -> tuple[Port, ...]:
    """Return the ports with the slots that only lspci prints, and with the payload of a packet."""
    printed = {_full(slot.address): slot for slot in _read(source, LSPCI, lspci.parse).hardware.slots}
    return tuple(_with_slot(port, printed) for port in ports)


def tool_traps(ports: Sequence[Port], source: Source) -> tuple[str, ...]:
    """Return a sentence for each port that only ibstatus prints, and for each NIC that is far from every GPU."""
    known = {(port.device, port.port) for port in ports}
    hidden = [
        f"ibstatus prints {each.device} port {each.port}, which /sys/class/infiniband does not show here: a container "
        "may hide it, so it is no rail in this file"
        for each in _read(source, IBSTATUS, ibstatus.parse).fabric
        if each.device is not None and (each.device, each.port) not in known
    ]
    near = _read(source, TOPOLOGY, nvidia_smi.parse).hardware.nearness
    gpus = {each.name for each in near if each.name.startswith("GPU")}
    ways = {each.device: {each.to[gpu] for gpu in gpus & each.to.keys()} for each in near if each.device is not None}
    far = [
        f"{device}: by nvidia-smi topo -m no GPU is on its side of the node (SYS), so messages from the memory of GPUs "
        "cross between processors"
        for device, words in ways.items()
        if words == {"SYS"}
    ]
    return (*hidden, *far)


def _with_slot(port: Port, printed: Mapping[str, PciSlot]) -> Port:
    slot = printed.get(port.pci.address or "")
    if slot is None:
        return port
    pci = replace(port.pci, max_payload=slot.max_payload)
    if pci.slot is None:
        pci = replace(
            pci, slot=pcie_slot(slot.speed, slot.width), best_slot=pcie_slot(slot.best_speed, slot.best_width)
        )
    return replace(port, pci=pci)


def _full(address: str) -> str:
    """Return an address with its domain, which lspci leaves out on nodes with one."""
    return address if address.count(":") == 2 else f"0000:{address}"


def _read(source: Source, words: tuple[str, ...], parse: Callable[[str], ParsedOutput]) -> ParsedOutput:
    try:
        return parse(f"{source.run(*words) or ''}\n")
    except ParseError:
        return ParsedOutput()


def domains(source: Source) -> Mapping[str, int]:
    """Return the memory domain of each device by name (``mlx5_0``) and by PCI address; empty without hwloc.

    A device near several domains has none. Source: hwloc 2's XML. There a PCI device is below the part of the machine
    that it is near, and the ``nodeset`` of that part has one bit per domain.
    """
    try:
        top = ElementTree.fromstring(source.run(*ASKED) or "")
    except ElementTree.ParseError:
        return MappingProxyType({})
    return MappingProxyType({name: domain for name, domain in _places(top, None) if domain is not None})


def _places(element: ElementTree.Element, domain: int | None) -> Iterator[tuple[str, int | None]]:
    """Yield each device below an element, and the domain of the nearest part of the machine above it."""
    nodeset = element.get("nodeset")
    if nodeset is not None:
        domain = _single_bit(nodeset)
    name = {"PCIDev": element.get("pci_busid"), "OSDev": element.get("name")}.get(element.get("type", ""))
    if name:
        yield name, domain
    for child in element:
        yield from _places(child, domain)


def _single_bit(nodeset: str) -> int | None:
    """Return the one bit of a set such as ``0x00000002``, or ``0x1,0x00000000`` of 32 bits a word; None for others."""
    try:
        bits = sum(int(word or "0", 16) << 32 * place for place, word in enumerate(reversed(nodeset.split(","))))
    except ValueError:
        return None
    return bits.bit_length() - 1 if bits > 0 and bits & (bits - 1) == 0 else None
