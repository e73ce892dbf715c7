"""The target of a stored output, as a person names it: a part of a system, or one NIC of a transport class.

What vendors and clouds demand of one NIC of a transport class, held beside a stored output of perftest.

A demand is never a verdict: whether a NIC is healthy is judged by its link, as with ``--link``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.wording import count_of
from railyard.benchmarks.model import BANDWIDTH
from railyard.benchmarks.table import micro
from railyard.hardware import limits
from railyard.parsers.output import ParsedOutput
from railyard.parsers.perftest_formats import GBIT
from railyard.site.references.transport_class import NicThreshold, TransportClass
from railyard.site.site import Site
from railyard.site.systems.fields import ANY
from railyard.stacks import ask, model
from railyard.verdict.inputs import Target
from railyard.verdict.path.traffic import Policy
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import ANY_STACK, check_rails, of_link
from railyard.verdict.wording import weak_figures as words


def of_system(
    site: Site,
    fabric: str | None,
    stack: str | None = None,
    rails: int = 1,
    policy: str | None = None,
    hops: int | None = None,
) -> Target:
    """Return a fabric of a system. What you leave out is filled in if the system leaves no choice.

    ``hops``: the number of switches between the two nodes, for references by hops.

    Raises RailyardError if the system lacks a name, if a choice is missing, or if the stack cannot do this on the
    fabric.
    """
    system = site.system
    name = _choose_name("--fabric", fabric, tuple(system.fabrics), "fabric", system.system)
    check_rails(rails, len(system.fabrics[name].rails), f"{name} of {system.system}")
    if not system.fabrics[name].has(rails, policy or ""):
        there = count_of(len(system.fabrics[name].rails), "rail")
        raise RailyardError(f'--policy: found "{policy}", expected a rail of {name} of {system.system}: it has {there}')
    kind, gpus = system.fabrics[name].kind, system.gpus
    # The MPI library, if there is only one. Clients and servers have references without a stack, or name it.
    choice = [each for each in system.stacks if model.STACKS[each].is_mpi] or list(system.stacks)
    named = stack if stack is not None or len(choice) != 1 else choice[0]
    if named is None:
        policy = _policy(None, rails, policy)
        target = Target(
            system.system, name, system.fabrics[name], ANY_STACK, rails, policy, site.references, hops=hops, gpus=gpus
        )
        return _report_target(site, _of_hops(site, _without_stack(site, target)))
    _choose_name("--stack", named, tuple(system.stacks), "stack", system.system)
    reason = ask.why_not(named, kind, rails, policy)
    if reason is not None:
        raise RailyardError(f"--stack {named}: {reason}")
    policy = _policy(named, rails, policy, kind)
    target = Target(
        system.system, name, system.fabrics[name], named, rails, policy, site.references, hops=hops, gpus=gpus
    )
    return _report_target(site, _of_hops(site, target))


def _report_target(site: Site, target: Target) -> Target:
    said = site.system.report_only
    return target if said is None else replace(target, references=None, report_only=said)


def _without_stack(site: Site, target: Target) -> Target:
    """Return the target if no entry of its fabric depends on a stack. Raises RailyardError if one does."""
    asking = [
        entry for entry in site.references.entries if entry.fabric == target.fabric_name and "any" not in entry.stack
    ]
    if asking:
        known, alone = ", ".join(site.system.stacks), " and ".join(asking[0].stack)
        raise RailyardError(
            f"--stack: found nothing, expected a stack of {target.system} ({known}): the reference {asking[0].id} "
            f"applies only to {alone}"
        )
    return target


def _of_hops(site: Site, target: Target) -> Target:
    """Return the target if its hops are given, or if no entry depends on them. Raises RailyardError otherwise."""
    asking = [
        entry
        for entry in site.references.entries
        if entry.fabric == target.fabric_name and entry.hops and {ANY, target.stack} & {*entry.stack}
    ]
    if asking and target.hops is None:
        bound = ", ".join(map(str, asking[0].hops))
        raise RailyardError(
            f"--hops: found nothing, expected the number of switches between the two nodes: the reference "
            f"{asking[0].id} applies only to {bound}"
        )
    return target


def _choose_name(option: str, given: str | None, known: tuple[str, ...], what: str, system: str) -> str:
    if given is None:
        if len(known) == 1:
            return known[0]
        raise RailyardError(f"{option}: found nothing, expected a {what} of {system}: {', '.join(known)}")
    if given not in known:
        raise RailyardError(f'{option}: found "{given}", expected a {what} of {system}; {did_you_mean(given, known)}')
    return given


def _policy(stack: str | None, rails: int, policy: str | None, kind: str = "") -> str:
    """Return the policy of a run: the named one, else single on one rail, else the first of the stack's table."""
    if policy is not None:
        if (near := model.unknown(policy)) is not None:
            raise RailyardError(f'--policy: found "{policy}", expected a rail policy; {near}')
        return policy
    if rails == 1:
        return "single"
    way = model.STACKS[stack].ways[kind] if stack else None
    spreads = () if way is None or isinstance(way, str) else way.spreads
    found: Policy | str | None = next((each.policy for each in spreads if each.policy != "single"), None)
    if found is None:
        raise RailyardError(f"--policy: found nothing, expected one for {rails} rails: {', '.join(model.POLICIES)}")
    return found


_DEVICE = "/device"


def of_nic(of: TransportClass, parsed: ParsedOutput) -> Target | None:
    """Return one NIC of a class, by which an output of perftest is judged; None for any other output.

    Raises RailyardError if the class has no NICs, or if the output names a GPU of another class.
    """
    if not parsed.tables or not all(micro.tool(table.tool).between_nics for table in parsed.tables):
        return None
    if of.has.link is None:
        raise RailyardError(
            f"--class {of.name}: found an output of perftest, expected a class whose nodes have NICs; judge it with "
            "--link or --system"
        )
    for gpu in (table.context.get("gpu_name") for table in parsed.tables):
        if isinstance(gpu, str) and not of.names(gpu):
            expected = of.name.partition("-")[0].upper()
            raise RailyardError(f"--class {of.name}: found an output from {gpu}, expected {expected}")
    return of_link(of.has.link.name)


def with_demands(judgements: Sequence[Judgement], of: TransportClass) -> tuple[Judgement, ...]:
    """Return the judgements, each with a remark for every demand that a class has of one NIC."""
    return tuple(replace(each, remarks=(*each.remarks, *_demands(each, of))) for each in judgements)


def _demands(judgement: Judgement, of: TransportClass) -> Iterator[str]:
    key = judgement.benchmark or ""
    same = [each for each in of.nic_thresholds if _host(each.benchmark) == _host(key)]
    curve = next((each.curve for each in judgement.curves if each.curve.metric == BANDWIDTH), None)
    measured = {} if curve is None else dict(zip(curve.sizes, curve.values, strict=True))
    if not same:
        yield words.no_demand(of.name, key)
    for each in same:
        conditions = {name: str(value) for name, value in sorted((each.source.conditions or {}).items())}
        demand = words.NicDemand(str(each.whose), each.id, each.gbit_s, conditions, each.source.cite())
        yield words.say_demanded_of_nic(demand, of.name, _compare_demand(each, key, measured), _lower_limit(each, of))


def _host(key: str) -> str:
    return key.removesuffix(_DEVICE)


def _compare_demand(demanded: NicThreshold, key: str, measured: Mapping[int, float]) -> str:
    if demanded.benchmark != key:
        return words.demand_of_memory("device" if demanded.benchmark.endswith(_DEVICE) else "host")
    both = {size: value for size, value in demanded.gbit_s.items() if size in measured}
    if not both:
        return words.demand_of_other_sizes()
    return words.demand_reached(
        {size: measured[size] / GBIT for size, value in both.items() if measured[size] < value * GBIT}
    )


def _lower_limit(demanded: NicThreshold, of: TransportClass) -> float | None:
    """Return what a NIC of the class can reach at most, Gbit/s, if that is less than the demand; else None."""
    assert of.has.link is not None
    most = limits.limit(of.has.link, None, 1)
    if most is None or max(demanded.gbit_s.values()) * GBIT <= most.value_mb_s:
        return None
    return most.value_mb_s / GBIT
