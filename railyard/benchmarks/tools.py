"""Which Spack package has a benchmark tool, and which of its executables must be there after a build.

An install can succeed without them: npb's makefiles run through a shell that hides errors. With gfortran 10 or newer,
cg, ep, ft and mg were missing from a build that Spack called a success.

A tool's entry (``railyard.benchmarks.table``) names its package, which is in spack_envs/.
"""

from collections.abc import Mapping
from types import MappingProxyType

from railyard.benchmarks.model import Package
from railyard.benchmarks.table import micro

TOOLS: Mapping[str, Package] = MappingProxyType(
    {name: tool.package for name, tool in micro.TOOLS.items() if tool.package is not None}
)
