"""What an application prints in a rehearsal: its real problem, on the ranks that it really has.

If the system's references have no figure, its speed is a guess: the cores that its ranks may run on, at a share of
their peak, and the bytes that its algorithm moves over the network, at the network's rate.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import milc, npb
from railyard.benchmarks.apps.npb import ITERATIONS
from railyard.benchmarks.table.network import HPCC, NETWORK_LOAD_TEST, NETWORK_TEST
from railyard.hardware.node import NodeHardware
from railyard.parsers.npb import count_operations
from railyard.parsers.output import ParsedOutput
from railyard.provision.rehearsal.rank_ports import LibraryError
from railyard.provision.replay import texts
from railyard.site.site import Site

#: HPL's share of the peak at the base clock, if the problem is large.
HPL_SHARE = 0.8
#: If the system's file has no clock: a core's speed in Gflop/s, and a node's memory in MB/s per core.
CORE_GFLOP_S, CORE_MEMORY_MB_S = 20.0, 3000.0
#: The share of the other codes, which wait for memory.
_CODE_SHARE = 0.05
#: Operations that MILC 7.8.1 counts per site and iteration of its solver, and the iterations of a solve.
_MILC_FLOP, _MILC_ITERATIONS = 1187, 30
#: How long a step of WRF takes on one core, in seconds, by case. The 12 km storm has 127,500 columns.
_WRF_CORE_SECONDS = {"conus12km": 20.0, "conus2.5km": 400.0, "em_quarter_ss": 0.5}
_NPB_NAME = re.compile(r"(?P<kernel>[a-z]{2}(?:-mz)?)\.(?P<problem>[SWABCDE])\.")
#: EP has no iterations: its time is that of so many per pair.
_OF_EP = 16
#: Operations per point and iteration, approximately: they set the time that a run prints.
_NPB_FLOP = {"ft": 150, "is": 10, "cg": 4, "mg": 60, "lu": 1900, "ep": 100, "bt": 3500, "sp": 900}


@dataclass(frozen=True, slots=True)
class Machine:
    """What an application runs on: its nodes, ranks and threads, and the network between the nodes.

    ``computing``: the share of a node's cores that its ranks use. ``rate_mb_s`` is a node's, one way; ``latency_us`` is
    half a round trip. ``ranks_per_node`` is that of the first node. ``case`` is WRF's.
    """

    site: Site
    nodes: tuple[str, ...]
    ranks: int
    ranks_per_node: int
    threads: int
    computing: float
    rate_mb_s: float
    latency_us: float
    sentence: str
    reference: float | None = None
    case: str = ""

    @property
    def hardware(self) -> NodeHardware | None:
        """A node's hardware in the system's file."""
        return self.site.system.nodes.hardware

    @property
    def gflop_s(self) -> float:
        """The speed of all nodes together, with the cores that are used, at the base clock."""
        hardware = self.hardware
        peak = None if hardware is None else hardware.peak_gflop_s(hardware.base_ghz)
        cores = 1 if hardware is None else hardware.cores
        return len(self.nodes) * self.computing * (cores * CORE_GFLOP_S if peak is None else peak)

    def moving_s(self, moved_bytes: float) -> float:
        """Return how long a node takes to send these bytes, in seconds; 0 if there is no other node."""
        return moved_bytes / (self.rate_mb_s * 1e6) if len(self.nodes) > 1 else 0.0


def key_of(tool: str, program: str, folder: Path) -> str:
    """Return the benchmark of an application's program, without a number of nodes.

    Raises RailyardError for a program that has no stand-in.
    """
    if tool in ("npb", "npb-mz"):
        found = _NPB_NAME.match(program)
        if found is not None:
            return f"npb/{found['kernel'].upper()}/{found['problem']}"
    elif tool == "milc":
        return f"milc/asqtad/L{min(_lattice(folder))}"
    elif tool == "gpcnet":
        return NETWORK_LOAD_TEST if "load" in program else NETWORK_TEST
    elif tool == "wrf":
        return f"wrf/wrf/{wrf_case(folder)}"
    elif tool in _KEYS:
        return _KEYS[tool]
    known = ", ".join(("npb", "npb-mz", "milc", "gpcnet", "wrf", *_KEYS))
    raise RailyardError(f"the rehearsal has no stand-in for {tool} ({program}): it has them for {known}")


def text_of(tool: str, program: str, folder: Path, machine: Machine) -> str:
    """Return what the application prints, below a sentence that says what the output is.

    Raises RailyardError for input that it cannot read and for an application that has no stand-in, and LibraryError if
    the application itself would end.
    """
    stated = machine.site.system.applications.get(tool)
    if stated is not None:
        seconds = machine.reference or 100.0 / machine.computing / len(machine.nodes)
        return texts.pattern_text(tool, stated, seconds, machine.sentence)
    writer = _WRITERS.get(tool)
    if writer is None:
        raise RailyardError(f"the rehearsal has no stand-in for {tool}: it has them for {', '.join(_WRITERS)}")
    return f"# {machine.sentence}\n{writer(program, folder, machine)}"


def parse(tool: str, text: str) -> ParsedOutput:
    """Return what a tool's own parser reads in its output; nothing for an installed application and for STREAM."""
    if tool in ("installed", "stream"):
        return ParsedOutput()
    parsed: ParsedOutput = import_module(f"railyard.parsers.{tool}").parse(text)
    return parsed


#: WRF does not print its case: the rehearsal's own inputs have it in this file.
CASE_FILE = "rehearsed-case"


def wrf_case(folder: Path) -> str:
    """Return the case whose inputs are in a folder. Raises RailyardError if they are not the rehearsal's own."""
    try:
        return (folder / CASE_FILE).read_text(encoding="utf-8").strip()
    except OSError:
        raise RailyardError(f"WRF: found no {CASE_FILE} in its inputs, expected the rehearsal's own inputs") from None


def _hpl(program: str, folder: Path, machine: Machine) -> str:
    order, block, rows, columns = _hpl_input(folder / "HPL.dat")
    if rows * columns > machine.ranks:
        raise LibraryError(
            f"HPL ERROR from process # 0, on line 419 of function HPL_pdinfo:\n>>> Need at least {rows * columns} "
            "processes for these tests <<<"
        )
    flop = 2 / 3 * order**3 + 3 / 2 * order**2
    reached = machine.reference or HPL_SHARE * machine.gflop_s
    # Each node sends its part of the panels along its row, and its part of the blocks along its column.
    seconds = flop / (reached * 1e9)
    if machine.reference is None:
        seconds += machine.moving_s(4 * order**2 * (1 / rows + 1 / columns))
    return texts.hpl_run(flop / seconds / 1e9, order, block, (rows, columns), seconds)


def _hpl_input(path: Path) -> tuple[int, int, int, int]:
    """Return N, NB, P and Q of HPL.dat: the first word of its lines 6, 8, 11 and 12."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        order, block, rows, columns = (int(lines[at].split()[0]) for at in (5, 7, 10, 11))
    except (OSError, ValueError, IndexError):
        raise RailyardError(f"HPL: found no readable HPL.dat in {path.parent}") from None
    return order, block, rows, columns


def _stream(program: str, folder: Path, machine: Machine) -> str:
    cores = 1 if machine.hardware is None else machine.hardware.cores
    rate = machine.reference or CORE_MEMORY_MB_S * cores * machine.computing
    rows = "".join(f"{f'{name}:':<12}{rate:>12.1f}     0.024000     0.023000     0.025000\n" for name in _STREAMS)
    return (
        f"STREAM version $Revision: 5.10 $\nFunction    Best Rate MB/s  Avg time     Min time     Max time\n{rows}"
        + ("Solution Validates: avg error less than 1.000000e-13 on all three arrays\n")
    )


_STREAMS = ("Copy", "Scale", "Add", "Triad")


def _npb(program: str, folder: Path, machine: Machine) -> str:
    found = _NPB_NAME.match(program)
    if found is None:
        raise RailyardError(f"NPB: found the program {program}, expected a kernel and a class such as ft.C.x")
    name, problem = found["kernel"], found["problem"]
    kernel = name.removesuffix("-mz")
    iterations = ITERATIONS[kernel][npb.CLASSES.index(problem)] or _OF_EP
    points = npb.KERNELS[kernel].points(problem)
    operations = iterations * points * _NPB_FLOP[kernel]
    seconds = operations / (_CODE_SHARE * machine.gflop_s * 1e9)
    if kernel in ("ft", "is"):
        seconds += machine.moving_s(iterations * points * (16 if kernel == "ft" else 4) / len(machine.nodes))
    seconds += 1e-6 * machine.latency_us * iterations * 10 * (len(machine.nodes) > 1 and kernel != "ep")
    rate = machine.reference or operations / seconds / 1e6
    counted = count_operations(name.upper(), (points,), iterations, problem) or operations
    said = (
        ("Class", problem),
        ("Size", str(points)),
        ("Iterations", str(iterations)),
        ("Time in seconds", f"{counted / rate / 1e6:.2f}"),
        ("Total processes", str(machine.ranks)),
        ("Active processes" if not name.endswith("-mz") else "Total threads", str(_threads_of(name, machine))),
        ("Mop/s total", f"{rate:.2f}"),
        ("Mop/s/process" if not name.endswith("-mz") else "Mop/s/thread", f"{rate / _threads_of(name, machine):.2f}"),
        ("Operation type", "floating point"),
        ("Verification", "SUCCESSFUL"),
        ("Version", "3.4.3"),
    )
    lines = "".join(f" {what:<16}= {value:>24}\n" for what, value in said)
    return (
        f"\n NAS Parallel Benchmarks 3.4 -- {name.upper()} Benchmark\n\n {name.upper()} Benchmark Completed.\n{lines}"
    )


def _threads_of(name: str, machine: Machine) -> int:
    return machine.ranks * machine.threads if name.endswith("-mz") else machine.ranks


def _lattice(folder: Path) -> tuple[int, ...]:
    """Return the sides of the lattice that MILC's input in a folder gives."""
    path = folder / milc.FILE
    try:
        sides = re.findall(r"^n[xyzt] (\d+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        sides = []
    if len(sides) != 4:
        raise RailyardError(f"MILC: found no lattice in {path}, expected lines nx, ny, nz and nt")
    return tuple(int(side) for side in sides)


def _milc(program: str, folder: Path, machine: Machine) -> str:
    x, y, z, t = _lattice(folder)
    sides = x, y, z, t
    sites = milc.sites(sides)
    plaquette = milc.STORED.get(milc.format_lattice(sides), (2.53, 2.53))
    cores = 1 if machine.hardware is None else machine.hardware.cores
    a_rank = machine.gflop_s / len(machine.nodes) / cores * _CODE_SHARE * 1e3  # Mflop/s
    if machine.reference is not None:
        a_rank = machine.reference * len(machine.nodes) / machine.ranks
    flop = _MILC_FLOP * sites * _MILC_ITERATIONS / machine.ranks
    seconds = flop / (a_rank * 1e6)
    if machine.reference is None and len(machine.nodes) > 1:
        # Each iteration sends a side twice and sums over all nodes.
        seconds += _MILC_ITERATIONS * (12e-6 * machine.latency_us + machine.moving_s(4 * 24 * sites ** (3 / 4) * 4))
    solve = (
        f"CONGRAD5: time = {seconds:.6e} (fn F) masses = 1 iters = {_MILC_ITERATIONS} mflops = "
        f"{flop / seconds / 1e6:.6e}\n"
        f" OK converged final_rsq= 5e-11 (cf 1e-10) rel = 1 (cf 0) restarts = 1 iters= {_MILC_ITERATIONS}\n"
    )
    heads = "".join(f"n{axis} {side}\n" for axis, side in zip("xyzt", sides, strict=True))
    steps, rest = milc.STEPS * milc.MASSES, milc.SOLVES - milc.STEPS * milc.MASSES
    return (
        "SU3 with improved KS action\nMicrocanonical simulation with refreshing\nR algorithm\nMIMD version 7.8.1\n"
        f"Machine = MPI (portable), with {machine.ranks} nodes\n{heads}WARMUPS COMPLETED\n{solve * steps}"
        f"PLAQ:\t{plaquette[0]:.6f}\t{plaquette[1]:.6f}\n{solve * rest}RUNNING COMPLETED\n"
        f"Time = {3 * seconds * milc.SOLVES:.6e} seconds\n"
        f"total_iters = {_MILC_ITERATIONS * milc.SOLVES}\n"
    )


def _wrf(program: str, folder: Path, machine: Machine) -> str:
    case = machine.case
    whole = next((took for name, took in _WRF_CORE_SECONDS.items() if case.startswith(name)), 20.0)
    cores = 1 if machine.hardware is None else machine.hardware.cores
    used = min(machine.ranks, cores * len(machine.nodes) * machine.computing)
    waits = 1e-6 * machine.latency_us * 500 * (len(machine.nodes) > 1) + machine.moving_s(2e6)
    seconds = machine.reference or whole / used + waits
    return texts.wrf_run(max(seconds, 0.001), machine.sentence, "3.8.1" if case.endswith("-v3") else "4.5.1")


def _hpcc(program: str, folder: Path, machine: Machine) -> str:
    # A node sends half of its bytes to one neighbour and half to the other; in a random ring its ranks share them.
    rate = machine.rate_mb_s / 1000 * (0.5 if machine.ranks_per_node > 1 else 0.9)
    random = machine.rate_mb_s / 1000 * 0.8 / machine.ranks_per_node
    figures = {
        "VersionMajor": "1",
        "VersionMinor": "5",
        "VersionMicro": "0",
        "VersionRelease": "f",
        "Success": "1",
        "CommWorldProcs": str(machine.ranks),
        "PTRANS_GBs": f"{machine.rate_mb_s / 1000 * len(machine.nodes) * 0.4:.6g}",
        "MaxPingPongLatency_usec": f"{machine.latency_us * 1.3:.6g}",
        "RandomlyOrderedRingLatency_usec": f"{machine.latency_us * 2.5:.6g}",
        "MinPingPongBandwidth_GBytes": f"{machine.rate_mb_s / 1000 * 0.85:.6g}",
        "NaturallyOrderedRingBandwidth_GBytes": f"{rate:.6g}",
        "RandomlyOrderedRingBandwidth_GBytes": f"{min(rate, random):.6g}",
        "MinPingPongLatency_usec": f"{machine.latency_us:.6g}",
        "AvgPingPongLatency_usec": f"{machine.latency_us * 1.1:.6g}",
        "MaxPingPongBandwidth_GBytes": f"{machine.rate_mb_s / 1000 * 0.9:.6g}",
        "AvgPingPongBandwidth_GBytes": f"{machine.rate_mb_s / 1000 * 0.88:.6g}",
        "NaturallyOrderedRingLatency_usec": f"{machine.latency_us * 1.5:.6g}",
    }
    rule = "#" * 72 + "\n"
    return (
        f"{rule}This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012\n{rule}"
        f"Begin of Summary section.\n{''.join(f'{name}={value}' + chr(10) for name, value in figures.items())}"
        f"End of Summary section.\n{rule}End of HPC Challenge tests.\n{rule}"
    )


def _gpcnet(program: str, folder: Path, machine: Machine) -> str:
    load = "load" in program
    mib = machine.rate_mb_s * 1e6 / (1 << 20) / machine.ranks_per_node
    waits = 3 * machine.latency_us
    own = {
        "RR Two-sided Lat (8 B)": (waits, 2 * waits, "usec"),
        "RR Get Lat (8 B)": (1.5 * waits, 3 * waits, "usec"),
        "RR Two-sided BW (131072 B)": (0.6 * mib, 0.4 * mib, "MiB/s/rank"),
        "RR Put BW (131072 B)": (0.6 * mib, 0.4 * mib, "MiB/s/rank"),
        "RR Two-sided BW+Sync (131072 B)": (0.5 * mib, 0.3 * mib, "MiB/s/rank"),
        "Nat Two-sided BW (131072 B)": (0.7 * mib, 0.5 * mib, "MiB/s/rank"),
        "Multiple Allreduce (8 B)": (3 * waits, 6 * waits, "usec"),
        "Multiple Alltoall (4096 B)": (0.3 * mib, 0.2 * mib, "MiB/s/rank"),
    }
    name = "NetworkLoad" if load else "Network"
    head = f"{name} Tests v1.3\n  Test with {machine.ranks} MPI ranks ({len(machine.nodes)} nodes)\n"
    if not load:
        return head + _box("Isolated Network Tests", own)
    measuring = max(2, len(machine.nodes) // 5)
    head += f"  {measuring} nodes running Network Tests\n"
    head += f"  {len(machine.nodes) - measuring} nodes running Congestion Tests (min 2 nodes per congestor)\n"
    three = {name: own[name] for name in _LOADED}
    worse = {
        name: (avg * (1.4 if unit == "usec" else 0.75), end * (1.6 if unit == "usec" else 0.6), unit)
        for name, (avg, end, unit) in three.items()
    }
    return (
        head
        + _box("Isolated Network Tests", three)
        + _box("Network Tests running with Congestion Tests", worse)
        + _impact()
    )


_LOADED = ("RR Two-sided Lat (8 B)", "RR Two-sided BW+Sync (131072 B)", "Multiple Allreduce (8 B)")
_RULE = f"+{'-' * 78}+\n"
_BARS = f"+{'-' * 33}+{'-' * 14}+{'-' * 14}+{'-' * 14}+\n"


def _box(title: str, rows: Mapping[str, tuple[float, float, str]]) -> str:
    head = f"{_RULE}|{title:^78}|\n{_BARS}|{'Name':>32} |{'Avg':>13} |{'99%':>13} |{'Units':>13} |\n{_BARS}"
    return head + "".join(
        f"|{name:>32} |{avg:>13.1f} |{end:>13.1f} |{unit:>13} |\n{_BARS}" for name, (avg, end, unit) in rows.items()
    )


def _impact() -> str:
    two = f"+{'-' * 33}+{'-' * 44}+\n"
    three = f"+{'-' * 33}+{'-' * 22}+{'-' * 21}+\n"
    head = f"\n{_RULE}|{'Network Tests running with Congestion Tests - Key Results':^78}|\n{two}"
    head += f"|{'Name':>32} |{'Congestion Impact Factor':>43} |\n{three}|{'':>32} |{'Avg':>21} |{'99%':>20} |\n{three}"
    return head + "".join(f"|{name:>32} |{'1.4X':>21} |{'1.6X':>20} |\n{three}" for name in _LOADED)


def _sharing(program: str, folder: Path, machine: Machine) -> str:
    return (
        f"# railyard-sharing 1: {machine.ranks} ranks on processor 0 of {machine.nodes[0]}\n"
        "# seconds of the same work while the other rank is\n# asleep receiving polling yielding\n"
        "0.2013 0.4031 0.4020 0.2040\n# end\n"
    )


_KEYS = {
    "hpl": "hpl/hpl",
    "stream": "stream/every-node",
    "hpcc": HPCC,
    "sharing": "sharing/two-ranks-a-processor",
}
_WRITERS: Mapping[str, Callable[[str, Path, Machine], str]] = {
    "hpl": _hpl,
    "npb": _npb,
    "npb-mz": _npb,
    "milc": _milc,
    "wrf": _wrf,
    "hpcc": _hpcc,
    "gpcnet": _gpcnet,
    "stream": _stream,
    "sharing": _sharing,
}
#: Tools without message sizes that have a stand-in here.
KNOWN = frozenset(_WRITERS)
