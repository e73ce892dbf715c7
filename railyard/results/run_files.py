"""What a run leaves beside its records, format 1: the results of relations between curves, and what fabrics cost."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.errors import InputError
from railyard.base.json_codec import FormError, decode, encode
from railyard.site.references.relation_state import RelationState

FORMAT = 1
RELATIONS_FILE_NAME = "relations.json"
COSTS_FILE_NAME = "costs.json"


@dataclass(frozen=True, slots=True)
class RelationRecord:
    """One relation as a run shows it; ``stack`` if it was judged for that stack, ``source`` in one line."""

    id: str
    says: str
    form: str
    state: RelationState
    sentence: str
    source: str
    stack: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class CostRecord:
    """What one node pays for a fabric in a cluster of ``nodes_from`` to ``nodes_to`` nodes, and what it gets for that.

    ``bandwidth_mb_s`` is the largest one-way bandwidth of any benchmark, ``latency_us`` the smallest half round trip;
    None if not measured. ``latency_high_us`` is the other end if the source prints a range. ``kept_by`` says whose
    figures they are (a run's, or the references').
    """

    fabric: str
    stack: str
    rails: int
    currency: str
    date: str
    price_low: float
    price_high: float
    bound: str
    nodes_from: int | None
    nodes_to: int | None
    bandwidth_mb_s: float | None
    latency_us: float | None
    latency_high_us: float | None = None
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)

    @property
    def price(self) -> float:
        """The middle of the price's range, by which figures are divided."""
        return (self.price_low + self.price_high) / 2

    @property
    def bandwidth_per_price(self) -> float | None:
        """MB/s for 1000 of the currency."""
        return None if self.bandwidth_mb_s is None else 1000 * self.bandwidth_mb_s / self.price

    @property
    def latency_price(self) -> float | None:
        """us times thousands of the currency: it halves if the latency or the price halves."""
        middle = self.latency_middle_us
        return None if middle is None else middle * self.price / 1000

    @property
    def latency_middle_us(self) -> float | None:
        """The latency, or the middle of its range, in us."""
        if self.latency_us is None or self.latency_high_us is None:
            return self.latency_us
        return (self.latency_us + self.latency_high_us) / 2


def written_beside(items: Sequence[RelationRecord] | Sequence[CostRecord], name: str) -> str:
    """Return the text of a file of relations or of costs; ``name`` is the key of the list in it."""
    return json.dumps({"format": FORMAT, name: encode(list(items))}, ensure_ascii=False, indent=1) + "\n"


def read_relations(path: Path) -> tuple[RelationRecord, ...]:
    """Return the relations of a run, () if it left none. Raises InputError for a file of another form."""
    items = _list_in(path, "relations")
    try:
        return tuple(decode(RelationRecord, item, f"relations[{index}]") for index, item in enumerate(items))
    except FormError as error:
        raise InputError(str(path), error.found, error.expected, field=error.field) from error


def read_costs(path: Path) -> tuple[CostRecord, ...]:
    """Return the costs of a run's fabrics, () if it left none. Raises InputError for a file of another form."""
    items = _list_in(path, "costs")
    try:
        return tuple(decode(CostRecord, item, f"costs[{index}]") for index, item in enumerate(items))
    except FormError as error:
        raise InputError(str(path), error.found, error.expected, field=error.field) from error


def _list_in(path: Path, name: str) -> list[object]:
    if not path.is_file():
        return []
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(str(path), f"no readable JSON ({error})", f"the {name} of a run") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get(name), list):
        raise InputError(str(path), "something else", f'{{"format": {FORMAT}, "{name}": […]}}')
    items: list[object] = data[name]
    return items
