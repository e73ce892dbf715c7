"""What pydantic cannot see in prices: whether they fit their system, and whether two are for the same thing."""

from railyard.base.errors import did_you_mean
from railyard.base.fields import show
from railyard.base.strict_yaml import Document, Path_
from railyard.site.systems.model import System
from railyard.site.systems.prices import NodeCounts, Price


def check_prices(system: System, document: Document) -> None:
    """Raise InputError at the first price that is wrong."""
    for index, price in enumerate(system.prices):
        path: Path_ = ("prices", index)
        for name in price.fabric:
            if name not in system.fabrics:
                expected = f"a fabric of {system.system}"
                raise document.error((*path, "fabric"), show(name), expected, did_you_mean(name, system.fabrics))
            most = len(system.fabrics[name].rails)
            if price.rails > most:
                raise document.error((*path, "rails"), str(price.rails), f"at most {most}, the rails that {name} has")
        first, last = price.nodes.first, price.nodes.last
        if first is not None and last is not None and first > last:
            raise document.error((*path, "nodes", "to"), str(last), f"at least {first}, where the range begins")
        for other in range(index):
            _refuse_twin(system.prices[other], other, price, index, document)


def _refuse_twin(one: Price, place: int, other: Price, index: int, document: Document) -> None:
    shared = [name for name in other.fabric if name in one.fabric]
    if shared and one.rails == other.rails and _meet(one.nodes, other.nodes):
        line = document.line(("prices", place))
        found = f"a second price of {shared[0]} for the same numbers of nodes and rails"
        raise document.error(("prices", index), found, f"one price (line {line} has it)", "part them by nodes or rails")


def _meet(one: NodeCounts, other: NodeCounts) -> bool:
    lasts = [each.last for each in (one, other) if each.last is not None]
    return not lasts or max(one.first or 1, other.first or 1) <= min(lasts)
