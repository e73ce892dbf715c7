"""Conditions in records: what nodes showed, and where they differ from what the sources of references state."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from railyard.base.clean_text import one_line
from railyard.base.wording import listing
from railyard.results.record.form import ConditionRecord, Record
from railyard.site import conditions
from railyard.site.conditions import Seen

HEADING = "Other conditions than those of the references (they decide nothing)"
_MOST_NAMED = 2


def sentences(records: Iterable[Record]) -> tuple[str, ...]:
    """Return a sentence for each difference between references and nodes, whatever number of tests has it.

    ``the references edr-bw and edr-lat were taken with turbo on; n1 and n2 have it off``. Nothing where they are alike,
    or where either side is not known.
    """
    return told([condition for record in records for condition in record.conditions])


def told(found: Sequence[ConditionRecord]) -> tuple[str, ...]:
    """Return a sentence for each difference, of several tests or of one."""
    entries: dict[tuple[str, str], dict[str, None]] = {}
    nodes: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for each in found:
        for has, where in each.unlike.items():
            key = (each.name, shown(each.name, each.stated))
            entries.setdefault(key, {}).update(dict.fromkeys(each.references))
            nodes.setdefault(key, {}).setdefault(has, {}).update(dict.fromkeys(where))
    return tuple(_sentence(name, stated, list(entries[name, stated]), of) for (name, stated), of in nodes.items())


def seen_nodes(record: Record) -> Iterator[Seen]:
    """Yield what each group of nodes of a measurement showed; of its devices those alone that the run was to use.

    Nothing of a replay or a rehearsal, whose nodes are this machine.
    """
    if record.no_measurement is not None:
        return
    nodes = () if record.path_proof is None else record.path_proof.nodes
    meant = {rail.device for node in nodes for rail in node.rails if rail.meant}
    library = record.environment.get("mpi")
    named = conditions.read("mpi", library) if isinstance(library, str) else ()
    run = dict(zip(("mpi",), named, strict=False))
    for group in record.hardware:
        yield Seen(group.facts, [said for device, said in group.devices.items() if device in meant], run)


def shown(name: str, text: str) -> str:
    """Return what a source states as it is shown: on or off in one word, all else as the source has it."""
    known = conditions.read(name, text)
    return known[0] if len(known) == 1 and known[0] in ("on", "off") else one_line(text)


def _sentence(name: str, stated: str, entries: Sequence[str], nodes: Mapping[str, Iterable[str]]) -> str:
    some = list(entries[:_MOST_NAMED])
    more = [f"{len(entries) - _MOST_NAMED} more"] if len(entries) > _MOST_NAMED else []
    subject = f"the reference {some[0]} was" if len(entries) == 1 else f"the references {listing([*some, *more])} were"
    have = [_have(has, list(where)) for has, where in nodes.items()]
    return one_line(f"{subject} taken with {name.replace('_', '-')} {stated}; {', '.join(have)}")


def _have(has: str, where: Sequence[str]) -> str:
    verb = "has" if len(where) == 1 else "have"
    return f"{listing(where)} {verb} {f'it {has}' if has in ('on', 'off') else has}"
