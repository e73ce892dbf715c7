"""Which Spack package gives a benchmark tool, and which executables of it must be there after a build.

An install can succeed without them: npb's makefiles run through a shell that hides errors, and with gfortran 10 or
newer cg, ep, ft and mg were missing from a build that Spack called a success.

To add a tool: one entry here, its package in spack_envs/.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Tool:
    """A benchmark tool as a package: ``path`` in the package's prefix is its executable, or the folder of several.

    ``executables`` are glob patterns below ``path`` (the path itself where it is the executable), each of which must
    match at least one executable file. ``uses_mpi`` is False for one that talks to the fabric or the memory itself.
    """

    package: str
    path: str
    executables: tuple[str, ...] = ()
    uses_mpi: bool = True

    @property
    def is_folder(self) -> bool:
        """Whether the tool is a folder of executables."""
        return bool(self.executables)


_NPB = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "osu": Tool(
            "osu-micro-benchmarks",
            "libexec/osu-micro-benchmarks/mpi",
            (
                *(f"**/osu_{name}" for name in ("latency", "bw", "bibw", "mbw_mr", "multi_lat")),
                *(f"**/osu_{name}" for name in ("allreduce", "alltoall", "bcast", "barrier")),
                *(f"**/osu_{name}" for name in ("put_bw", "get_bw", "put_latency", "get_latency")),
            ),
        ),
        "imb": Tool("intel-mpi-benchmarks", "bin/IMB-MPI1"),
        "netpipe": Tool("netpipe", "bin/NPmpi"),
        "perftest": Tool(
            "perftest",
            "bin",
            tuple(f"ib_{verb}_{what}" for verb in ("send", "write", "read") for what in ("bw", "lat")),
            uses_mpi=False,
        ),
        "hpl": Tool("hpl", "bin/xhpl"),
        "npb": Tool("npb", "bin", tuple(f"{name}.*" for name in _NPB)),
        "wrf": Tool("wrf", "main/wrf.exe"),
        "milc": Tool("milc-qcd", "bin", ("su3_*",)),
        "hpcc": Tool("hpcc", "bin/hpcc"),
        "gpcnet": Tool("gpcnet", "bin", ("network_test", "network_load_test")),
        "stream": Tool("stream", "bin/stream_c.exe", uses_mpi=False),
    }
)
