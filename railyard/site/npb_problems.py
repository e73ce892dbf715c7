"""Which problems of NPB and HPL run on a system: those that its file names, else those that suit its nodes."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import hpl_sizes, npb_duration, npb_mz_shape, npb_shape
from railyard.site.systems.model import System

#: Without a file's word, and without the hardware of its nodes.
_USUAL = ("C",)
#: The kernels of a sweep: with no and with most messages.
SWEPT = ("ep", "ft")
Problems = Mapping[str, tuple[str, ...]]


def npb_problems(system: System) -> Problems:
    """Return the classes of each kernel of NPB on a system."""
    return {name: system.npb_classes or _choose(name, system) for name in npb_shape.KERNELS}


def npb_mz_problems(system: System) -> Problems:
    """Return the classes of each kernel of NPB-MZ on a system."""
    return {name: system.npb_classes or _choose_mz(name, system) for name in npb_mz_shape.KERNELS}


def npb_swept_problems(system: System) -> Problems:
    """Return the classes of each kernel of a sweep over 1, 2, 4 … nodes: one node must have the memory for them."""
    return {name: system.npb_classes or _choose_swept(name, system) for name in SWEPT}


def _choose(name: str, system: System) -> tuple[str, ...]:
    hardware, nodes = system.nodes.hardware, system.nodes.number
    if hardware is None or nodes < 1:
        return _USUAL
    try:
        return (npb_duration.choose(name, nodes, hardware.cores, hardware.memory).problem,)
    except RailyardError:  # no number of ranks fits these nodes: its test says so
        return _USUAL


def _choose_mz(name: str, system: System) -> tuple[str, ...]:
    hardware, nodes = system.nodes.hardware, system.nodes.number
    if hardware is None or nodes < 1:
        return _USUAL
    try:
        return (npb_mz_shape.choose(name, nodes, hardware.cores, hardware.memory)[0],)
    except RailyardError:  # the memory has no class: its test says so
        return _USUAL


def _choose_swept(name: str, system: System) -> tuple[str, ...]:
    hardware, most = system.nodes.hardware, max(system.sweep, default=0)
    if hardware is None or most < 1:
        return _USUAL
    return (npb_duration.choose_swept(name, most, hardware.cores, hardware.memory),)


def npb_features(problems: Problems, swept: Problems = MappingProxyType({})) -> list[str]:
    """Return the features of a stack that has the kernels: ``npb-C`` for each class, then ``npb-ft-C`` for each kernel;
    ``npb-swept-C`` for each class of a sweep, then ``npb-swept-ft-C`` for each of its kernels.
    """
    return [*_features("npb", problems), *_features("npb-swept", swept)]


def hpl_features(system: System) -> list[str]:
    """Return a feature for each way to split a node's cores among HPL's ranks: ``hpl-per-core``, ``hpl-per-socket``."""
    hardware = system.nodes.hardware
    return [] if hardware is None else [f"hpl-per-{name}" for name in hpl_sizes.splits(hardware)]


def _features(prefix: str, problems: Problems) -> Iterator[str]:
    classes = dict.fromkeys(problem for of_kernel in problems.values() for problem in of_kernel)
    yield from (f"{prefix}-{problem}" for problem in classes)
    yield from (f"{prefix}-{name}-{problem}" for name, of_kernel in problems.items() for problem in of_kernel)
