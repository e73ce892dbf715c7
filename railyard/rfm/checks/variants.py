"""Which variants a check has on ReFrame's current system: rails, rail policies, problems and numbers of nodes.

A variant that no partition could run would never be selected, and making each costs ReFrame 2 ms. Where ReFrame has no
system all variants are made: the matrix reads the checks so, and leaves out what a system has not.
"""

import re
from typing import TypeVar

from reframe.core.builtins import parameter
from reframe.core.meta import make_test

from railyard.base.numbers import powers_of_two
from railyard.rfm.current import environment_features, partition_features, partitions, sweep
from railyard.site.matrix import HAS_GPUS, NO_APPLICATION, RAIL_COUNTS
from railyard.site.policies import DEFAULT, named_policies
from railyard.site.systems.model import HOST_SWEEP
from railyard.site.takes import Takes
from railyard.stacks.model import NIC_PER_RANK

Check = TypeVar("Check", bound=type)
Value = TypeVar("Value")

_RAILS = re.compile(r"rails([1-9][0-9]*)")
#: On how many nodes a sweep is where no system is known.
_COUNTS = powers_of_two(HOST_SWEEP)


def rail_counts() -> tuple[int, ...]:
    """Return the rail counts that tests are made for: those that the current system has."""
    features = partition_features() or ()
    return tuple(sorted(int(found[1]) for found in map(_RAILS.fullmatch, features) if found)) or RAIL_COUNTS


def rail_policies(pair_a_rail: bool = False) -> tuple[str, ...]:
    """Return the rail policies that tests are made for: each stack's own, and those that some stack has besides.

    A NIC per rank only if there is a pair per rail.
    """
    named = named_policies(environ.features for each in partitions() or () for environ in each.environs)
    return (DEFAULT, *(policy for policy in named if pair_a_rail or policy != NIC_PER_RANK))


def of_gpus(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the values of a parameter of a check between GPUs: the first alone where the current system has none."""
    features = partition_features()
    return values if features is None or HAS_GPUS in features else values[:1]


def many_pairs(check: Check) -> Check:
    """Give a check at least one pair of ranks per rail, and tests of the policy that only those show: a NIC per rank.

    For a check whose ranks each have a partner of their own on another node; a decorator of its class, or of a base.
    """
    policy = parameter(rail_policies(pair_a_rail=True), type=str, loggable=True)
    body = {"pair_a_rail": True, "policy": policy, "__doc__": check.__doc__, "__qualname__": check.__qualname__}
    made: Check = make_test(check.__name__, (check,), body, module=check.__module__)
    return made


def builds_with_spack() -> bool:
    """Return whether the current system has stacks whose benchmarks Spack builds."""
    return any(each.extras.get("railyard_spack") for each in partitions() or ())


def stated(prefix: str, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of these problems the current system asks for, by features such as ``npb-W`` of its environments.

    The first alone where it asks for none, since a parameter must have a value.
    """
    features = environment_features()
    if features is None:
        return every
    return tuple(name for name in every if f"{prefix}-{name}" in features) or every[:1]


def stated_names(prefix: str) -> tuple[str, ...]:
    """Return the names that the current system states, by features such as ``app-gamess``; ``none`` where it has none.

    A parameter must have a value, and no stack has a tool of that name.
    """
    features = environment_features() or ()
    return tuple(sorted(f.removeprefix(f"{prefix}-") for f in features if f.startswith(f"{prefix}-"))) or (
        NO_APPLICATION,
    )


def node_counts(powers: int = 0) -> tuple[int, ...]:
    """Return on how many nodes a sweep is measured: up to what the current system has, or its file asks for.

    ``powers``: on powers of two alone, up to this one.
    """
    takes = Takes(swept=True, powers=powers)
    return tuple(count for count in sweep() or _COUNTS if takes.sweeps(count)) or (1,)
