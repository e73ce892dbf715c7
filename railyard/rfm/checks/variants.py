"""Which variants a check has on ReFrame's current system: rails, rail policies, problems and numbers of nodes.

ReFrame would never select a variant that no partition can run, and needs 2 ms to make it. If ReFrame has no system, all
variants are made: the matrix reads the checks this way, and leaves out what a system lacks.
"""

import re
from typing import TypeVar

from reframe.core.meta import make_test

from railyard.base.numbers import powers_of_two
from railyard.rfm.checks.groups import Layout
from railyard.rfm.system_choice import environment_features, partition_features, partitions, sweep
from railyard.rfm.versions import typed_parameter
from railyard.site.matrix import DEFAULT, HAS_GPUS, NO_APPLICATION, RAIL_COUNTS, named_policies
from railyard.site.systems.measure import Takes
from railyard.site.systems.model import HOST_SWEEP
from railyard.stacks.model import NIC_PER_RANK

Check = TypeVar("Check", bound=type)
Value = TypeVar("Value")

_RAILS = re.compile(r"rails([1-9][0-9]*)")
#: The numbers of nodes of a sweep if no system is known.
_COUNTS = powers_of_two(HOST_SWEEP)


def rail_counts() -> tuple[int, ...]:
    """Return the numbers of rails that tests are made for: those that the current system has."""
    features = partition_features() or ()
    return tuple(sorted(int(found[1]) for found in map(_RAILS.fullmatch, features) if found)) or RAIL_COUNTS


def rail_policies(pair_per_rail: bool = False) -> tuple[str, ...]:
    """Return the rail policies that tests are made for: each stack's own, and others that some stack has.

    NIC per rank is among them only if there is one pair per rail.
    """
    named = named_policies(environ.features for each in partitions() or () for environ in each.environs)
    return (DEFAULT, *(policy for policy in named if pair_per_rail or policy != NIC_PER_RANK))


def of_gpus(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the values of a parameter of a check between GPUs; only the first if the current system has no GPUs."""
    features = partition_features()
    return values if features is None or HAS_GPUS in features else values[:1]


def many_pairs(check: Check) -> Check:
    """Give a check at least one pair of ranks per rail, and tests of the policy that needs these: a NIC per rank.

    This decorates a class, or a base, whose ranks each have their own partner on another node.
    """
    policy = typed_parameter(rail_policies(pair_per_rail=True), type=str, loggable=True)
    layout = Layout(pair_per_rail=True)
    body = {"layout": layout, "policy": policy, "__doc__": check.__doc__, "__qualname__": check.__qualname__}
    made: Check = make_test(check.__name__, (check,), body, module=check.__module__)
    return made


def builds_with_spack() -> bool:
    """Return whether the current system has stacks whose benchmarks Spack builds."""
    return any(each.extras.get("railyard_spack") for each in partitions() or ())


def stated(prefix: str, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of these problems the current system asks for, by features such as ``npb-W`` of its environments.

    If it asks for none, return the first, since a parameter must have a value.
    """
    features = environment_features()
    if features is None:
        return every
    return tuple(name for name in every if f"{prefix}-{name}" in features) or every[:1]


def stated_names(prefix: str) -> tuple[str, ...]:
    """Return the names that the current system states, by features such as ``app-gamess``; ``none`` if it has none.

    A parameter must have a value, and no stack has a tool of that name.
    """
    features = environment_features() or ()
    return tuple(sorted(f.removeprefix(f"{prefix}-") for f in features if f.startswith(f"{prefix}-"))) or (
        NO_APPLICATION,
    )


def node_counts(powers: int = 0) -> tuple[int, ...]:
    """Return on how many nodes a sweep is measured: up to what the current system has, or what its file asks for.

    ``powers``: only on powers of two, up to this one.
    """
    takes = Takes(swept=True, powers=powers)
    return tuple(count for count in sweep() or _COUNTS if takes.sweeps(count)) or (1,)
