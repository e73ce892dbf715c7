"""The table of benchmarks. A new tool is one module here, with its ``ENTRIES`` and, if it has facts, its ``TOOL``.

A benchmark's key is ``<tool>/<benchmark>``. If a tool has one program for several patterns, it is ``<tool>/<mode>`` or
``<tool>/<benchmark>/<mode>``: ``imb/Uniband``, ``netpipe/stream``, ``osu/osu_bw``,
``perftest/ib_write_bw/bidirectional``, ``npb/CG/C``. Bandwidths are in MB/s (10^6 B/s), times in us, rates in 1/s,
sizes in B. Applications have s, Gflop/s and Mop/s; an impact is a number of times.
"""

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from types import MappingProxyType

from railyard.base.errors import RailyardError, did_you_mean
from railyard.benchmarks import table
from railyard.benchmarks.model import Benchmark, Metric, Package, Tool
from railyard.benchmarks.table import applications

_MODULES = [
    import_module(f"{table.__name__}.{found.name}")
    for found in pkgutil.iter_modules(table.__path__)
    if f"{table.__name__}.{found.name}" != __name__
]
TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        tool.name: tool
        for module in _MODULES
        for tool in getattr(module, "TOOLS", (module.TOOL,) if hasattr(module, "TOOL") else ())
    }
)
#: The Spack package of a tool, in spack_envs/, with the executables that must be there after a build. An install can
#: succeed without them: npb's makefiles run through a shell that hides errors. With gfortran 10 or newer, cg, ep, ft
#: and mg were missing from a build that Spack called a success.
PACKAGES: Mapping[str, Package] = MappingProxyType(
    {name: tool.package for name, tool in TOOLS.items() if tool.package is not None}
)


class _Benchmarks(Mapping[str, Benchmark]):
    """All entries by their key. An application on so many nodes is known too, but keys are listed without it."""

    def __init__(self, entries: Iterable[Benchmark]) -> None:
        self._named = {benchmark.key: benchmark for benchmark in entries}
        self._made: dict[str, Benchmark] = {}

    def __getitem__(self, key: str) -> Benchmark:
        found = self._named.get(key) or self._made.get(key)
        if found is None:
            found = applications.make_benchmark(key, self._named)
            if found is None:
                raise KeyError(key)
            self._made[key] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)


BENCHMARKS: Mapping[str, Benchmark] = _Benchmarks(
    entry for module in _MODULES for entry in getattr(module, "ENTRIES", ())
)


def find(key: str) -> Benchmark:
    """Return the benchmark of this key. Raises RailyardError, with the nearest known key, if there is none."""
    found = BENCHMARKS.get(key)
    if found is None:
        raise RailyardError(f'unknown benchmark "{key}": {did_you_mean(key, BENCHMARKS)}')
    return found


def refuse_unknown(tool: str, key: str) -> None:
    """Raise RailyardError, as ``find`` does, if a known tool lacks the key; a system's file may name other tools."""
    if tool in known_tools():
        find(key)


def known_tools() -> frozenset[str]:
    """Return the names of all tools that have a benchmark: those of TOOLS, and those with no facts of their own."""
    return frozenset((*TOOLS, *(key.partition("/")[0] for key in BENCHMARKS)))


def metric(key: str, name: str) -> Metric:
    """Return one metric of a benchmark. Raises RailyardError if the benchmark is unknown or has no such metric."""
    known = {each.name: each for each in find(key).metrics}
    if name not in known:
        raise RailyardError(f'{key} has no metric "{name}": {did_you_mean(name, known)}')
    return known[name]


def fills_link(benchmark: Benchmark, metric: Metric) -> bool:
    """Return whether the own condition of a link's class is asked of this metric: of windows, by most tools."""
    return metric.shape == "stream" and tool(benchmark.tool).fills_link


def tool(name: str) -> Tool:
    """Return what is known about a tool: only its name, if its entries say no more."""
    return TOOLS.get(name) or Tool(name)
