"""The target of a stored output, as a person names it: a system and a choice of its parts, or a link."""

from collections.abc import Mapping
from dataclasses import replace

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.wording import counted
from railyard.hardware.link_names import links_meant, why_no_link
from railyard.hardware.links import LINKS, SLOTS
from railyard.site.references.model import ANY
from railyard.site.site import Site
from railyard.site.systems.model import Fabric
from railyard.stacks import ask, model, table
from railyard.verdict.inputs import Target
from railyard.verdict.path.traffic import Policy

ANY_STACK = "any stack"
_KINDS: Mapping[str, str] = {
    "infiniband": "ib",
    "roce": "roce",
    "omnipath": "opa",
    "slingshot": "slingshot",
    "efa": "efa",
}


def of_link(link: str, slot: str | None = None, rails: int = 1, mtu: int | None = None) -> Target:
    """Return a link alone, with a card and a slot for each rail. ``link`` may be another name that means only one link.

    Raises RailyardError if a name is not in the tables, or if the link does not have the MTU.
    """
    meant = links_meant(link)
    if len(meant) != 1:
        hint = why_no_link(link)
        raise RailyardError(f'--link: found "{link}", expected a link of docs/reference/rates.md; {hint}')
    link = meant[0]
    if slot is not None and slot not in SLOTS:
        hint = did_you_mean(slot, SLOTS)
        raise RailyardError(f'--slot: found "{slot}", expected a slot of docs/reference/rates.md; {hint}')
    _check_rails(rails, None, link)
    known = LINKS[link]
    if mtu is not None and mtu not in known.mtus and not (known.headers == "tcp" and 576 <= mtu <= 65535):
        expected = (
            f"one of {', '.join(map(str, known.mtus))}"
            if known.mtus
            else f"none: Railyard does not know the headers of {link}"
        )
        raise RailyardError(f"--mtu: found {mtu}, expected {expected}")
    fabric = Fabric.model_validate(
        {
            "description": f"{known.generation} alone",
            "kind": _KINDS.get(known.family, "tcp"),
            "link": link,
            "slot": slot,
            "mtu": mtu,
            "rails": [{"device": f"rail{number}", "counters": "none"} for number in range(rails)],
        }
    )
    return Target("", link, fabric, ANY_STACK, rails, "any", None)


def unnamed() -> Target:
    """Return a link that nobody named: it bounds nothing, so only the curve by itself is judged."""
    fabric = Fabric.model_validate(
        {
            "description": "no link is named",
            "kind": "tcp",
            "link": {"name": "unnamed", "data_rate_gbit_s": None, "source": "nobody named it"},
            "rails": [{"device": "rail0", "counters": "none"}],
        }
    )
    return Target("", "no named link", fabric, ANY_STACK, 1, "any", None)


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
    name = _chosen("--fabric", fabric, tuple(system.fabrics), "fabric", system.system)
    _check_rails(rails, len(system.fabrics[name].rails), f"{name} of {system.system}")
    if not system.fabrics[name].has(rails, policy or ""):
        there = counted(len(system.fabrics[name].rails), "rail")
        raise RailyardError(f'--policy: found "{policy}", expected a rail of {name} of {system.system}: it has {there}')
    kind, gpus = system.fabrics[name].kind, system.gpus
    # The MPI library, if there is only one. Clients and servers have references without a stack, or name it.
    choice = [each for each in system.stacks if table.STACKS[each].is_mpi] or list(system.stacks)
    named = stack if stack is not None or len(choice) != 1 else choice[0]
    if named is None:
        policy = _policy(None, rails, policy)
        target = Target(
            system.system, name, system.fabrics[name], ANY_STACK, rails, policy, site.references, hops=hops, gpus=gpus
        )
        return _reported(site, _of_hops(site, _without_stack(site, target)))
    _chosen("--stack", named, tuple(system.stacks), "stack", system.system)
    reason = ask.why_not(named, kind, rails, policy)
    if reason is not None:
        raise RailyardError(f"--stack {named}: {reason}")
    policy = _policy(named, rails, policy, kind)
    target = Target(
        system.system, name, system.fabrics[name], named, rails, policy, site.references, hops=hops, gpus=gpus
    )
    return _reported(site, _of_hops(site, target))


def _reported(site: Site, target: Target) -> Target:
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


def _chosen(option: str, given: str | None, known: tuple[str, ...], what: str, system: str) -> str:
    if given is None:
        if len(known) == 1:
            return known[0]
        raise RailyardError(f"{option}: found nothing, expected a {what} of {system}: {', '.join(known)}")
    if given not in known:
        raise RailyardError(f'{option}: found "{given}", expected a {what} of {system}; {did_you_mean(given, known)}')
    return given


def _check_rails(rails: int, most: int | None, where: str) -> None:
    if rails < 1 or (most is not None and rails > most):
        expected = "at least 1" if most is None else f"1 to {most}, the rails of {where}"
        raise RailyardError(f"--rails: found {rails}, expected {expected}")


def _policy(stack: str | None, rails: int, policy: str | None, kind: str = "") -> str:
    """Return the policy of a run: the named one, else single on one rail, else the first of the stack's table."""
    if policy is not None:
        if (near := model.unknown(policy)) is not None:
            raise RailyardError(f'--policy: found "{policy}", expected a rail policy; {near}')
        return policy
    if rails == 1:
        return "single"
    way = table.STACKS[stack].ways[kind] if stack else None
    spreads = () if way is None or isinstance(way, str) else way.spreads
    found: Policy | str | None = next((each.policy for each in spreads if each.policy != "single"), None)
    if found is None:
        raise RailyardError(f"--policy: found nothing, expected one for {rails} rails: {', '.join(model.POLICIES)}")
    return found
