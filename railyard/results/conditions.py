"""Conditions in records: what nodes showed, and where that differs from what the sources of references state."""

from collections.abc import Iterable, Iterator, Sequence

from railyard.base.values import one_line
from railyard.base.wording import listing
from railyard.results.record.form import ConditionRecord, Record
from railyard.site import conditions
from railyard.site.conditions import NodeFactsShown

HEADING = "Conditions that differ from those of the references (they decide nothing)"
_MOST_REFERENCES, _MOST_NODES = 2, 4


def sentences(records: Iterable[Record]) -> tuple[str, ...]:
    """Return one sentence for each group of nodes that differs from references, however many tests show it.

    ``the references edr-bw and edr-lat were taken with turbo on and smt off; n1 and n2 have turbo off and smt on``.
    Nothing if they are alike, or if one side is unknown.
    """
    return describe_differences([condition for record in records for condition in record.found.conditions])


def describe_differences(found: Sequence[ConditionRecord]) -> tuple[str, ...]:
    """Return a sentence for each group of nodes that differs from the same references, of several tests or of one."""
    entries: dict[tuple[str, str, str], dict[str, None]] = {}
    nodes: dict[tuple[str, str, str], dict[str, None]] = {}
    for each in found:
        for has, where in each.unlike.items():
            key = (each.name.replace("_", "-"), format_condition(each.name, each.stated), has)
            entries.setdefault(key, {}).update(dict.fromkeys(each.references))
            nodes.setdefault(key, {}).update(dict.fromkeys(where))
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[str, str, str]]] = {}
    for key in nodes:
        groups.setdefault((tuple(entries[key]), tuple(sorted(nodes[key]))), []).append(key)
    return tuple(_sentence(*group, differences) for group, differences in groups.items())


def seen_nodes(record: Record) -> Iterator[NodeFactsShown]:
    """Yield what each group of nodes of a measurement showed; only those devices that the run was to use.

    Nothing for a replay or a rehearsal, whose only node is this machine.
    """
    if record.no_measurement is not None:
        return
    meant = set() if record.how.path_proof is None else record.how.path_proof.intended_devices()
    library = record.how.environment.get("mpi")
    named = conditions.read("mpi", library) if isinstance(library, str) else ()
    run = dict(zip(("mpi",), named, strict=False))
    for group in record.where.hardware:
        yield NodeFactsShown(group.facts, [said for device, said in group.devices.items() if device in meant], run)


def format_condition(name: str, text: str) -> str:
    """Return what a source states, as it is shown: on or off in one word, everything else as in the source."""
    known = conditions.read(name, text)
    return known[0] if len(known) == 1 and known[0] in ("on", "off") else one_line(text)


def _sentence(entries: Sequence[str], nodes: Sequence[str], differences: Sequence[tuple[str, str, str]]) -> str:
    subject = (
        f"reference {entries[0]} was" if len(entries) == 1 else f"references {_some(entries, _MOST_REFERENCES)} were"
    )
    verb = "has" if len(nodes) == 1 else "have"
    stated = listing([f"{name} {text}" for name, text, _ in differences])
    if len(differences) == 1:
        has = differences[0][2]
        have = f"it {has}" if has in ("on", "off") else has
    else:
        have = listing([f"{name} {has}" for name, _, has in differences])
    return one_line(f"the {subject} taken with {stated}; {_some(nodes, _MOST_NODES)} {verb} {have}")


def _some(names: Sequence[str], most: int) -> str:
    """Return the first names, at most ``most``, and how many more there are."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return listing([*names[:most], *more])
