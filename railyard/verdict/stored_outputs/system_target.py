"""The target of a stored output, as a person names it: a system and a choice of its parts."""

from dataclasses import replace

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.wording import count_of
from railyard.site.site import Site
from railyard.site.systems.fields import ANY
from railyard.stacks import ask, model
from railyard.verdict.inputs import Target
from railyard.verdict.path.traffic import Policy
from railyard.verdict.stored_outputs.target import ANY_STACK, check_rails


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
        return _as_reported(site, _of_hops(site, _without_stack(site, target)))
    _choose_name("--stack", named, tuple(system.stacks), "stack", system.system)
    reason = ask.why_not(named, kind, rails, policy)
    if reason is not None:
        raise RailyardError(f"--stack {named}: {reason}")
    policy = _policy(named, rails, policy, kind)
    target = Target(
        system.system, name, system.fabrics[name], named, rails, policy, site.references, hops=hops, gpus=gpus
    )
    return _as_reported(site, _of_hops(site, target))


def _as_reported(site: Site, target: Target) -> Target:
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
