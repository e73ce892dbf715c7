"""Which classes of NPB run on a system: those that its file names, else the class that suits its nodes, by kernel."""

from collections.abc import Mapping

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import npb_duration, npb_mz_shape, npb_shape
from railyard.site.systems.model import System

#: Without a file's word, or without the hardware of its nodes. The multi-zone benchmarks count no known operations.
_USUAL = ("C",)


def npb_problems(system: System) -> Mapping[str, tuple[str, ...]]:
    """Return the classes of each kernel of NPB on a system."""
    return {name: system.npb_classes or _choose(name, system) for name in npb_shape.KERNELS}


def npb_mz_problems(system: System) -> Mapping[str, tuple[str, ...]]:
    """Return the classes of each kernel of NPB-MZ on a system."""
    return dict.fromkeys(npb_mz_shape.KERNELS, system.npb_classes or _USUAL)


def _choose(name: str, system: System) -> tuple[str, ...]:
    hardware, nodes = system.nodes.hardware, system.nodes.number
    if hardware is None or nodes < 1:
        return _USUAL
    try:
        return (npb_duration.choose(name, nodes, hardware.cores, hardware.memory).problem,)
    except RailyardError:  # no number of ranks fits these nodes: its test says so
        return _USUAL


def swept_classes(system: System) -> tuple[str, ...]:
    """Return the classes of a sweep over 1, 2, 4 … nodes: one node must have the memory for them."""
    return system.npb_classes or _USUAL


def npb_features(problems: Mapping[str, tuple[str, ...]], swept: tuple[str, ...] = ()) -> list[str]:
    """Return the features of a stack that has the kernels: ``npb-C`` for each class, then ``npb-ft-C`` for each kernel,
    and ``npb-swept-C`` for each class of a sweep.
    """
    classes = dict.fromkeys([*(problem for of_kernel in problems.values() for problem in of_kernel), *swept])
    return [
        *(f"npb-{problem}" for problem in classes),
        *(f"npb-{name}-{problem}" for name, of_kernel in problems.items() for problem in of_kernel),
        *(f"npb-swept-{problem}" for problem in swept),
    ]
