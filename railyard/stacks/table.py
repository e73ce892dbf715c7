"""The table of stacks: a new stack is one entry here."""

from collections.abc import Mapping
from types import MappingProxyType

from railyard.stacks.client_server import LIBFABRIC, TCP, VERBS
from railyard.stacks.craympich import CRAYMPICH
from railyard.stacks.intelmpi import INTELMPI
from railyard.stacks.model import Stack
from railyard.stacks.mpich import MPICH, MVAPICH
from railyard.stacks.mvapich2 import MVAPICH2
from railyard.stacks.openmpi import HPCX, OPENMPI

STACKS: Mapping[str, Stack] = MappingProxyType(
    {
        "openmpi": OPENMPI,
        "mpich": MPICH,
        "intelmpi": INTELMPI,
        "mvapich": MVAPICH,
        "mvapich2": MVAPICH2,
        "hpcx": HPCX,
        "craympich": CRAYMPICH,
        "tcp": TCP,
        "verbs": VERBS,
        "libfabric": LIBFABRIC,
    }
)
