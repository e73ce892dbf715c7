"""The multi-zone NAS Parallel Benchmarks: MPI between zones, OpenMP within them, like hybrid codes for fluid dynamics.

After each step zones exchange their faces: messages of some kilobytes between neighbours, several per rank at once,
while the threads of a rank wait. If this is low and the kernels of `Npb` are good, the cause is more often threads that
share a core, or memory on another socket, than the network: compare `-S threads` before fabrics. BT-MZ's zones differ
in size, so few ranks are balanced better than many. The zones of SP-MZ and LU-MZ are equal.
"""

import reframe as rfm

from railyard.benchmarks.apps import npb
from railyard.rfm.checks.declaration import stated
from railyard.rfm.checks.planned_problem import MultiZoneCheck
from railyard.rfm.versions import typed_parameter


@rfm.simple_test
class NpbMz(MultiZoneCheck):
    """One of the three kernels over all nodes: `-P code=sp-mz -P problem=C` selects one; `-S threads=4` its threads."""

    #: It is not called `kernel`, so that `-P kernel=ft` selects none of these.
    code = typed_parameter(tuple(npb.ZONE_KERNELS), type=str, loggable=True)
    problem = typed_parameter(stated("npb", tuple(npb.CLASSES)), type=str, loggable=True)
