"""Which of several rails idled on every node: such a run does not show what that number of rails can do.

Runs that measured mostly their start: a benchmark that needs a certain time computed for less (NPB: 20 s).
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from railyard.base.bounds import COLLECTIVE_SHARE
from railyard.base.wording import listing
from railyard.benchmarks.table.applications import nodes_of_key
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results.record.form import Record


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


def idle(record: Record) -> tuple[str, ...]:
    """Return the rails that idled on every node in a stored run."""
    return (
        () if record.how.path_proof is None else on_every_node(node.rails for node in record.how.path_proof.each_node())
    )


def remark(name: str, records: Sequence[Record]) -> str | None:
    """Return the sentence on a side, such as "A", whose runs left rails idle; None if all were used."""
    found = [rails for record in records if (rails := idle(record))]
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
