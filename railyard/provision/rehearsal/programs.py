"""A rehearsal's stand-in programs, under the names that the checks use, and WRF's inputs."""

import sys
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from railyard.base.paths import packaged_text
from railyard.benchmarks.apps import npb_mz_shape, npb_shape
from railyard.benchmarks.apps.wrf_cases import EDGES, NEEDED
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.applications import nodes_of_key
from railyard.provision.rehearsal import applications, benchmark_request
from railyard.provision.rehearsal.applications import CASE_FILE
from railyard.provision.rehearsal.machine import machine_of
from railyard.provision.rehearsal.rank_ports import OF_ONE_RANK
from railyard.site.systems.model import System
from railyard.stacks.table import STACKS

#: What checks look for in a program before they use an option of it.
_OPTIONS = {"osu": "--validation-warmup, and the datatype mpi_float"}
#: Tools that are one program; all others are a folder of programs.
_ONE = {"imb": "IMB-MPI1", "hpl": "xhpl", "hpcc": "hpcc", "stream": "stream_c.exe", "wrf": "wrf.exe"}
_ONE |= {"pairs": "railyard-pairs", "sharing": "railyard-sharing", "iperf3": "iperf3", "nvbandwidth": "nvbandwidth"}
#: Tools whose stand-ins read no sizes, and which are not applications.
_BESIDE = frozenset({"nvbandwidth"})
#: The names by which ReFrame and the job of probes call a stack's own launcher.
LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra")
_LIBRARY = Path(__file__).resolve().parents[3]
_NETPIPE = {True: "NPtcp", False: "NPmpi"}


def write(folder: Path, system: System) -> dict[str, dict[str, str]]:
    """Write the stand-ins of the tools that a system's stacks have; return each stack's ``benchmarks``.

    These are each tool's executable, or the folder of its executables; a tool without a stand-in is left out.
    ``folder`` may exist already. The Python of this process runs every program. Raises OSError if a file cannot be
    written.
    """
    return {
        stack: {
            tool: str(_tool(folder / "programs" / stack / tool, system, stack, tool))
            for tool in entry.tools
            if tool in benchmark_request.KNOWN | applications.KNOWN | _BESIDE or tool in system.applications
        }
        for stack, entry in system.stacks.items()
    }


def write_wrf_cases(folder: Path, system: System) -> dict[str, str]:
    """Write inputs for each WRF case of a system, which only the stand-in can read; return their folders."""
    found = {}
    for case in system.wrf_cases:
        own = folder / "wrf_cases" / case
        own.mkdir(parents=True, exist_ok=True)
        for name in (*NEEDED, EDGES):
            (own / name).write_text("inputs of a rehearsal, without any weather in them\n", encoding="utf-8")
        (own / CASE_FILE).write_text(f"{case}\n", encoding="utf-8")
        found[case] = str(own)
    return found


def write_launchers(folder: Path, system: System) -> dict[str, str]:
    """Write a stand-in for each stack's mpirun and mpiexec.

    Return the folder to put on its PATH. A client and a server have no launcher: the launcher of the first stack that
    has one starts them.
    """
    machine = machine_of(system)
    layout = f"{machine.sockets} {machine.cores_per_socket} {machine.threads_per_core}"
    with_mpi = [stack for stack in system.stacks if STACKS[stack].is_mpi]
    found = {}
    for stack in system.stacks:
        own = folder / "launchers" / stack
        own.mkdir(parents=True, exist_ok=True)
        whose = next(iter(with_mpi), "openmpi") if STACKS[stack].pair else system.starter(stack)
        said = {"stack": whose, "python": sys.executable, "library": str(_LIBRARY), "layout": layout}
        for name in LAUNCHERS:
            head = f"#!/bin/sh\n# A stand-in for {name} in a rehearsal, which has no MPI library.\n"
            _executable(own / name, f"{head}{_assignments(said)}{_LAUNCHER}")
        found[stack] = str(own)
    return found


def names(tool: str, pair: bool, system: System) -> Iterator[str]:
    """Yield the names of a tool's programs, as they are below its folder."""
    if tool == "netpipe":
        yield _NETPIPE[pair]
    elif tool == "npb":
        yield from (f"{kernel}.{problem}.x" for kernel, problem in product(npb_shape.KERNELS, system.npb_classes))
    elif tool == "npb-mz":
        yield from (f"{kernel}.{problem}.x" for kernel, problem in product(npb_mz_shape.KERNELS, system.npb_classes))
    elif tool == "milc":
        yield "su3_rmd"
    elif tool == "wrf":
        yield f"main/{_ONE['wrf']}"
    elif tool in _ONE or tool in system.applications:
        yield _ONE.get(tool, tool)
    else:
        keys = (nodes_of_key(key)[0] for key in micro.BENCHMARKS if key.partition("/")[0] == tool)
        yield from dict.fromkeys(key.split("/")[1] for key in keys)


def is_folder(tool: str, system: System) -> bool:
    """Return whether a system's file names the folder of a tool's programs, and not a single program."""
    return tool not in _ONE and tool != "netpipe" and tool not in system.applications


def _tool(folder: Path, system: System, stack: str, tool: str) -> Path:
    path = folder
    for name in names(tool, STACKS[stack].pair, system):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _executable(path, _text(stack, tool, name, is_own=tool in system.applications))
    if tool == "wrf":
        (folder / "run").mkdir(exist_ok=True)
        (folder / "run" / "README.rehearsal").write_text("a rehearsal does not use WRF's tables\n", encoding="utf-8")
    return folder if is_folder(tool, system) else path


def _text(stack: str, tool: str, name: str, is_own: bool) -> str:
    own = Path(name).name
    head = f"#!/bin/sh\n# A stand-in for {own} in a rehearsal: it measures nothing.\n"
    if tool in _OPTIONS:
        head += f"# Options: {_OPTIONS[tool]}.\n"
    lines = _assignments(
        {"stack": stack, "tool": tool, "program": own, "python": sys.executable, "library": str(_LIBRARY)}
    )
    if STACKS[stack].pair and not is_own:
        return f"{head}{lines}{_PAIR}"
    alone = "yes" if STACKS[stack].pair else ""
    ranks = " ".join(OF_ONE_RANK)
    body = packaged_text("provision/rehearsal/standin.sh")
    return f"{head}{lines}alone={alone} of_one_rank='{ranks}'\n{body}"


def _assignments(values: Mapping[str, str]) -> str:
    return "".join(f"{name}={_quote(value)}\n" for name, value in values.items())


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _executable(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


#: A client or a server is one process: Python plays it at once.
_PAIR = """\
PYTHONPATH=$library${PYTHONPATH:+:$PYTHONPATH} exec "$python" -m railyard.provision.rehearsal.pair \\
    "$stack" "$tool" "$program" "$@"
"""
_LAUNCHER = """\
PYTHONPATH=$library${PYTHONPATH:+:$PYTHONPATH} exec "$python" -m railyard.provision.rehearsal.launcher \\
    "$stack" $layout "$@"
"""
