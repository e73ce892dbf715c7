"""The table of applications: what each prints as its result, and the same problem on another number of nodes.

A key names the problem: ``npb/CG/C``, ``wrf/wrf/conus12km-v3``. A figure of an application also belongs to a number of
nodes. A check of the whole system has the key as it is here; a check of a part ends in ``…/2-nodes``, so that a
reference for one never judges the other.

Without a reference such a figure is only shown, never judged: processors, memory and compiler matter more than any
network, and a number from another machine says nothing. But each run is judged by this: the application itself calls
its result right, it ran on the ranks that it was given, physics allows the result, and its bytes took the right path.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from railyard.benchmarks.model import BANDWIDTH, Benchmark, Better, Metric, Package, Rows, Tool, printed_benchmark
from railyard.parsers.output import Table

NO_REFERENCE = "processors, memory and compiler set it, and no reference names it"
#: WRF's real problems. Inputs of version 3 run up to WRF 3.9. Those of version 4 are other data with the same names,
#: and the outputs do not show the difference.
WRF_STORMS = ("conus12km-v3", "conus2.5km-v3", "conus12km-v4", "conus2.5km-v4")
#: WRF's own idealized thunderstorm: a small box without boundary data, the same for every release.
WRF_CASES = (*WRF_STORMS, "em_quarter_ss")
#: Edges L of the lattices L^4 per node of MILC's improved staggered code.
#: Source: D. Holmgren, Infiniband Performance, lattice QCD cluster notes, 8 September 2003, MILC scaling.
MILC_EDGES = (4, 6, 8, 10, 12, 14)
#: What MILC's solver does per second on each node. For the whole machine it is the sum of all nodes.
A_NODE = "node_performance"
_NPB = (*("BT", "CG", "DT", "EP", "FT", "IS", "LU", "MG", "SP", "UA"), *("BT-MZ", "LU-MZ", "SP-MZ"))
_NPB_CLASSES = "SWABCDEF"
#: EP reduces a dozen numbers at its end, in every class. Each of four nodes sends 0.5 MB in IS and MG of class S,
#: 1.0 MB in LU, and 0.3 to 0.7 MB in the three multi-zone benchmarks.
_TOO_LITTLE = frozenset(
    (
        *(f"npb/EP/{problem}" for problem in _NPB_CLASSES),
        *(f"npb/{name}/S" for name in ("IS", "LU", "MG", "BT-MZ", "LU-MZ", "SP-MZ")),
    )
)
_INSTALLED = re.compile(r"installed/(?P<name>[^/]+)")
_ON_NODES = re.compile(r"^(?P<of>.+)/(?P<nodes>[1-9][0-9]{0,4})-nodes$")


def _npb_said(table: Table) -> str | None:
    """Return the benchmark and its class, since a class is another problem."""
    named = printed_benchmark(table)
    return named and f"{named}/{table.context.get('class')}"


def _is_part(table: Table) -> bool:
    """Return whether a table is of WRF's time for writing files or for a nest, or of MILC's solver."""
    return table.context.get("kind", "run") not in ("main", "run") or table.context.get("domain", 1) != 1


#: A shorter run of NPB is not judged, seconds. Engineering proposal of this project: a start that differs by 0.1 s from
#: run to run is then 0.5 %, and the benchmark's own time has at least four digits.
LEAST_S = 20.0
#: HPL with most of the memory, and as the published comparison of EDR and FDR ran it (``apps.hpl``).
HPL_SIZES = ("acceptance", "seed")
HPL = "hpl"
#: How a node's cores are split among HPL's ranks in the trial on one node: a rank for each of these.
HPL_SPLITS = ("core", "numa", "socket", "node")
#: NPB's multi-zone benchmarks are a separate tool, since Spack has no recipe. Their classes are those stated for NPB.
NPB_MZ = "npb-mz"
#: The tools whose figures belong to a number of nodes.
APPLICATIONS = ("hpl", "npb", "wrf", "milc", "installed")
_KERNELS = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
TOOLS = (
    Tool("hpl", Package("hpl", "bin/xhpl")),
    Tool("npb", Package("npb", "bin", tuple(f"{name}.*" for name in _KERNELS)), said=_npb_said),
    Tool("wrf", Package("wrf", "main/wrf.exe", has_files=True), is_part=_is_part),
    Tool("milc", Package("milc-qcd", "bin", ("su3_*",)), is_part=_is_part),
    Tool("installed"),
    Tool("hpcg"),
    Tool("stream", Package("stream", "bin/stream_c.exe", uses_mpi=False)),
)


def _application(
    key: str, rows: Rows, *metrics: Metric, physics: str | None = None, printed: str | None = None, grows: bool = False
) -> Benchmark:
    return Benchmark(
        key,
        metrics,
        rows=rows,
        reported=NO_REFERENCE,
        assessed="application",
        physics=physics,
        printed=printed,
        grows=grows,
    )


def _single_node_benchmark(key: str, metric: Metric) -> Benchmark:
    """Return what each node does alone: memory and processor, without a network. The slowest node stands for all."""
    return replace(_application(key, "worst", metric), within_node=True, of_link=False, every_node=True)


def _npb_problem(name: str, problem: str) -> Benchmark:
    key = f"npb/{name}/{problem}"
    # one row per run, so that its rate and its time belong to the same run
    time = Metric("runtime", ("time",), "s", "figure", "lower", optional=True, coarse=True)
    made = _application(key, "best", _figure("op_rate", "performance", "Mop/s"), time, physics=_NPB_PHYSICS.get(name))
    return replace(made, too_little=key in _TOO_LITTLE, least_s=LEAST_S)


def _figure(name: str, column: str, unit: str, of_peak: bool = False) -> Metric:
    better: Better = "lower" if unit == "s" else "higher"
    return Metric(name, (column,), unit, "figure", better, of_peak=of_peak)


_NPB_PHYSICS = {"FT": "least_traffic:FT", "IS": "least_traffic:IS"}
_RUNTIME = _figure("runtime", "time", "s")
_HPL = _figure("performance", "performance", "Gflop/s", of_peak=True)
# HPL's result is the best of its rows (HPL.dat lists trials). The first step of WRF reads its input.
ENTRIES = (
    _application("hpl/hpl", "best", _HPL, physics="least_traffic:HPL", grows=True),
    # the same program: a figure of one size is never compared with one of another
    *(
        _application(f"hpl/{size}", "best", _HPL, physics="least_traffic:HPL", printed="hpl", grows=True)
        for size in HPL_SIZES
    ),
    # in less than double precision, so that peak does not bound it
    _application(
        *("hpl/hpl_ai", "best", _figure("performance", "performance_irs", "Gflop/s")),
        physics="least_traffic:HPL",
        grows=True,
    ),
    *(_npb_problem(name, problem) for name in _NPB for problem in _NPB_CLASSES),
    *(
        _application(key, "mean-after-first", _RUNTIME, physics="wrf_answer:ANSWER", printed="wrf")
        for key in ("wrf/wrf", *(f"wrf/wrf/{case}" for case in WRF_CASES))
    ),
    _application("milc/milc", "mean", _RUNTIME),
    *(
        _application(
            *(f"milc/asqtad/L{edge}", "last", _figure(A_NODE, "performance", "Mflop/s"), _RUNTIME),
            physics="milc:ASQTAD",
            printed="asqtad",
            grows=True,
        )
        for edge in MILC_EDGES
    ),
    replace(_single_node_benchmark("hpl/every-node", _HPL), grows=True),
    # on one node, the same problem by other ranks and threads: which split is the best there
    *(
        replace(
            _application(f"hpl/per-{split}", "best", _HPL, printed="hpl", grows=True), within_node=True, of_link=False
        )
        for split in HPL_SPLITS
    ),
    _single_node_benchmark("stream/every-node", _figure(BANDWIDTH, "bandwidth", "MB/s")),
    # Two ranks on one processor: how long the work of one takes while the other waits in its library (MPI_Recv).
    replace(
        _application(
            *("sharing/two-ranks-a-processor", "last", _figure("runtime", "receiving", "s")),
            physics="every_node:SHARING",
        ),
        reported="the library and the kernel decide how ranks share a processor, and no reference names it",
        payload=False,
        within_node=True,
        of_link=False,
    ),
    # Conjugate gradients: memory sets the rate, the network its allreduces and halos. The problem is given per process.
    replace(_application("hpcg/hpcg", "last", _HPL, grows=True), of_link=False),
)


def key_on(key: str, nodes: int) -> str:
    """Return the key of an application's problem on so many nodes."""
    return f"{key}/{nodes}-nodes"


def on_part(key: str, nodes: int) -> str:
    """Return the key of a benchmark that should run on so many nodes of its system.

    An application's key names their number. The keys of all others, and of what each node does alone, stay as they are.
    """
    return key_on(key, nodes) if key.partition("/")[0] in APPLICATIONS and not key.endswith("/every-node") else key


def on_nodes(key: str, known: Mapping[str, Benchmark]) -> Benchmark | None:
    """Return the benchmark of a key that ends in a number of nodes; None if it does not, or is not an application's.

    On one node no network should carry anything.
    """
    found = _ON_NODES.match(key)
    base = (known.get(found["of"]) or _installed_benchmark(found["of"])) if found else None
    if found is None or base is None or not base.is_application:
        return None
    return replace(base, key=key, within_node=found["nodes"] == "1", printed=base.printed_key.partition("/")[2])


def make_benchmark(key: str, known: Mapping[str, Benchmark]) -> Benchmark | None:
    """Return the benchmark of a key without an entry: an installed application, or a problem on so many nodes."""
    return _installed_benchmark(key) or on_nodes(key, known)


def has_threads_told(key: str) -> bool:
    """Return whether a system's file may say how many threads each rank of a benchmark, or of a tool, has: HPL's."""
    return key.partition("/")[0] == HPL


def hpl_split(key: str) -> str | None:
    """Return how a node's cores are split in HPL's trial on one node ("socket"); None for any other benchmark."""
    tool, _, name = nodes_of_key(key)[0].partition("/per-")
    return name if tool == HPL and name in HPL_SPLITS else None


def installed_name(key: str) -> str | None:
    """Return the installed application of a key, on any number of nodes; None for any other benchmark."""
    found = _INSTALLED.fullmatch(nodes_of_key(key)[0])
    return found["name"] if found else None


def _installed_benchmark(key: str) -> Benchmark | None:
    made = _application(key, "last", _RUNTIME, physics="installed_applications:ANSWERS")
    return made if _INSTALLED.fullmatch(key) else None


def nodes_of_key(key: str) -> tuple[str, int | None]:
    """Return a key without its number of nodes, and that number, or None if the key has none."""
    found = _ON_NODES.match(key)
    return (found["of"], int(found["nodes"])) if found else (key, None)
