"""What reports remark about stored records: rails that idled, a time that was mostly start, other conditions.

Runs that show less than they seem to: rails that idled, or a time that was mostly the start.

Which of several rails idled on every node: such a run does not show what that number of rails can do.

Runs that measured mostly their start: a benchmark that needs a certain time computed for less (NPB: 20 s).

Conditions in records: what nodes showed, and where that differs from what the sources of references state.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from railyard.base.bounds import COLLECTIVE_SHARE
from railyard.base.values import one_line
from railyard.base.wording import listing
from railyard.benchmarks.table.applications import nodes_of_key
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results.record.form import ConditionRecord, Record
from railyard.site import conditions
from railyard.site.conditions import NodeFactsShown


class CarriedShare(Protocol):
    """What one device of a node carried, in a path proof or its record; ``share`` is of its node's intended bytes."""

    @property
    def device(self) -> str: ...
    @property
    def meant(self) -> bool: ...
    @property
    def share(self) -> float | None: ...


def on_every_node(nodes: Iterable[Iterable[CarriedShare]]) -> tuple[str, ...]:
    """Return the intended rails that carried under 5 % of every node's bytes; () for one rail, or if it is unknown."""
    shares = [{rail.device: rail.share for rail in rails if rail.meant} for rails in nodes]
    if not shares or len(shares[0]) < 2:
        return ()
    return tuple(rail for rail in shares[0] if all(_is_idle(each.get(rail)) for each in shares))


def idle_rails(record: Record) -> tuple[str, ...]:
    """Return the rails that idled on every node in a stored run."""
    return (
        () if record.how.path_proof is None else on_every_node(node.rails for node in record.how.path_proof.each_node())
    )


def weak_remark(name: str, records: Sequence[Record]) -> str | None:
    """Return the sentence on a side, such as "A", whose runs left rails idle; None if all were used."""
    found = [rails for record in records if (rails := idle_rails(record))]
    if not found:
        return None
    named = listing(sorted({one for each in found for one in each}))
    return (
        f"on {name} {named} idled in {len(found)} of {len(records)} runs, on every node: "
        "their figures are those of the other rails"
    )


def _is_idle(share: float | None) -> bool:
    return share is not None and share < COLLECTIVE_SHARE.value


def why_too_short(record: Record) -> str | None:
    """Return why nothing may be concluded from a record's figures, because its run was too short; None otherwise."""
    known = BENCHMARKS.get(nodes_of_key(record.test.benchmark)[0])
    times = [figure.value for figure in record.found.figures if figure.name == "runtime" and figure.unit == "s"]
    if known is None or not times or min(times) >= known.least_s:
        return None
    return f"it computed for {min(times):.4g} s, and less than {known.least_s:g} s is not judged"


CONDITIONS_HEADING = "Conditions that differ from those of the references (they decide nothing)"
_MOST_REFERENCES, _MOST_NODES = 2, 4


def condition_sentences(records: Iterable[Record]) -> tuple[str, ...]:
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
    return tuple(_condition_sentence(*group, differences) for group, differences in groups.items())


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


def _condition_sentence(
    entries: Sequence[str], nodes: Sequence[str], differences: Sequence[tuple[str, str, str]]
) -> str:
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
