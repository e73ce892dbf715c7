"""Which Spack package gives a benchmark tool, and which executables of it must be there after a build.

An install can succeed without them: npb's makefiles run through a shell that hides errors, and with gfortran 10 or
newer cg, ep, ft and mg were missing from a build that Spack called a success.

A tool's own entry (``railyard.benchmarks.table``) says its package, which is in spack_envs/.
"""

from collections.abc import Mapping
from types import MappingProxyType

from railyard.benchmarks.model import Package
from railyard.benchmarks.table import micro

TOOLS: Mapping[str, Package] = MappingProxyType(
    {name: tool.package for name, tool in micro.TOOLS.items() if tool.package is not None}
)
