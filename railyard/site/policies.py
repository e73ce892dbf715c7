"""Which rail policies the tests of a system have: those of its stacks, as features by which ReFrame selects.

A check has a parameter ``policy``. Its value ``default`` leaves the policy to the stack and is not part of a test's
name. Most systems have no other value. The other values are policies that some stack of the current system can also
use.
"""

import re
from collections.abc import Iterable, Sequence

from railyard.site.systems.model import System
from railyard.stacks import ask, model

DEFAULT = "default"

#: ``round-robin-2``: a stack can do this over two rails; ``default-striping-2``: it does this there by default.
_FEATURE = re.compile(
    rf"(?P<policy>{'|'.join(model.POLICIES)}|{model.TUNED_PATTERN}|{model.ALONE_PATTERN})-(?P<rails>[0-9]+)"
)
_BY_DEFAULT = "default-"


def policies(system: System, fabric: str, stack: str, rails: int) -> tuple[str, ...]:
    """Return the rail policies of a stack's tests, its default first; empty if it cannot use the rails.

    Each threshold in the system's file (``striping_thresholds``) is a separate policy. If the fabric sets
    ``each_rail``, so is each rail alone, except the first.
    """
    kind, knobs = system.fabrics[fabric].kind, system.fabrics[fabric].knobs
    found = ask.policies(stack, kind, rails, knobs)
    if found and rails == 1 and system.fabrics[fabric].each_rail:
        return (*found, *map(model.policy_of_rail, range(2, len(system.fabrics[fabric].rails) + 1)))
    if model.STRIPING not in found:
        return found
    own = dict.fromkeys(model.tuned_name(size) for size in system.stacks[stack].striping_thresholds)
    return (*found, *(name for name in own if ask.why_not(stack, kind, rails, name, knobs) is None))


def policy_of(system: System, fabric: str, stack: str, rails: int, policy: str) -> str:
    """Return the policy of a test: the one that it names, or its stack's default; empty if there is none."""
    return next(iter(policies(system, fabric, stack, rails)), "") if policy == DEFAULT else policy


def is_extended(policy: str) -> bool:
    """Return whether tests that name this policy are extended tests, whatever their check is.

    So is a NIC per rank, if it is not the stack's default: it is a pair of ranks per rail, for rails that other tests
    prove.
    """
    return policy == model.NIC_PER_RANK


def alone_reason(policy: str, check_class: str) -> str | None:
    """Return why a check of this class does not run over a rail alone that is not the first, or None.

    An application over each of eight rails would take days, and would say no more about a rail than a stream does.
    """
    if check_class != "app" or model.number_alone(policy) is None:
        return None
    return "an application runs over the first rail, or several: each rail alone is for micro-benchmarks"


def only_default_reason(policy: str, check_class: str) -> str | None:
    """Return why a check of this class has no test of its own with a NIC per rank, or None.

    ``policy`` is the one that a test names. ReFrame makes such tests only from checks with a pair of ranks per rail
    (``many_pairs``). An application has that policy if it is its stack's default, or with ``-P policy=``.
    """
    if check_class != "app" or policy != model.NIC_PER_RANK:
        return None
    return f"an application runs with its stack's default rail policy; for {policy}, add -P policy={policy}"


def pairs_reason(policy: str, rails: int, pairs: int) -> str | None:
    """Return why so many pairs of ranks cannot show a policy on so many rails, or None.

    Source: I_MPI_MULTIRAIL (Intel MPI Developer Reference) and MPICH_OFI_NIC_POLICY (Cray MPICH's intro_mpi): a rank
    has one NIC for all its messages, whatever their size.
    """
    if policy != model.NIC_PER_RANK or pairs >= rails:
        return None
    those = "its one pair of ranks uses 1" if pairs == 1 else f"its {pairs} pairs of ranks use {pairs}"
    return (
        f"with a NIC per rank {those} of {rails} rails: this policy is judged with at least one pair per rail "
        "(osu_mbw_mr, IMB's Uniband)"
    )


def policy_features(system: System, fabric: str, stack: str, counts: Iterable[int]) -> list[str]:
    """Return a feature for each policy and number of rails, and one for the default policy of each number of rails."""
    features = []
    for rails in counts:
        found = policies(system, fabric, stack, rails)
        features += [f"{policy}-{rails}" for policy in found]
        features += [f"{_BY_DEFAULT}{policy}-{rails}" for policy in found[:1] if rails > 1]
    return features


def named_policies(environments: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the policies, besides the default, that some environment has, from the features of all environments.

    Policies that one pair of ranks can show come first, a NIC per rank last.
    """
    named: dict[str, None] = {}
    for features in environments:
        for feature in features:
            found = _FEATURE.fullmatch(feature)
            if found is None or feature.startswith(_BY_DEFAULT):
                continue
            if found["rails"] == "1" and model.number_alone(found["policy"]) is None:
                continue
            if f"{_BY_DEFAULT}{feature}" not in features:
                named[found["policy"]] = None
    return tuple(sorted(named, key=lambda policy: policy == model.NIC_PER_RANK))


def environment_terms(tool: str, rails: int, policy: str, pairs: int, *, beside_default: bool) -> list[str]:
    """Return what a test demands of an environment, in ReFrame's terms; empty if no environment can fit.

    ``pairs`` are pairs of ranks between two nodes. ``beside_default``: stacks with the named policy as their default
    are left out, because their test does not name it.
    """
    alone = pairs < rails  # a NIC per rank would then leave rails idle
    if policy == DEFAULT:
        not_alone = f" -{_BY_DEFAULT}{model.NIC_PER_RANK}-{rails}" if alone else ""
        return [f"+{tool} +rails{rails}{not_alone}"]
    if policy == model.NIC_PER_RANK and alone:
        return []
    besides = f" -{_BY_DEFAULT}{policy}-{rails}" if beside_default else ""
    return [f"+{tool} +{policy}-{rails}{besides}"]
