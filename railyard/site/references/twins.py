"""Whether two entries of a reference table are for the same thing: the same runs, the same sizes, the same demand."""

from railyard.site.references.model import ANY, Entry

_BOUNDS = ("floor", "ceiling", "upper_limit")


def are_twins(one: Entry, other: Entry) -> bool:
    """Return whether both are of one kind and give the same runs a number at a same size.

    Of values and curves one run and one message size in common are enough: they would ask for two different numbers.
    Bounds may be nested (a floor for all stacks and a higher one for one; from 1 MiB and from 4 MiB) and then all hold,
    so that they are twins only where stack, rails, policy, hops and sizes are the very same.
    """
    if (one.kind, one.fabric, one.metric, one.directions) != (other.kind, other.fabric, other.metric, other.directions):
        return False
    if not set(one.benchmark) & set(other.benchmark) or not _meet(one.rails, other.rails):
        return False
    if not _meet(_named(one.stack), _named(other.stack)) or not _meet(_named(one.policy), _named(other.policy)):
        return False
    if not _meet(one.hops, other.hops):
        return False
    for name in _BOUNDS:
        if getattr(one, name) is not None and getattr(other, name) is not None:
            return all(
                getattr(one, field) == getattr(other, field) for field in ("stack", "rails", "policy", "hops", "sizes")
            )
    targets = [entry.value is not None or entry.curve is not None for entry in (one, other)]
    return all(targets) and _share_a_size(one, other)


def _named(names: tuple[str, ...]) -> tuple[str, ...]:
    return () if ANY in names else names


def _meet(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Return whether two lists have something in common, where an empty one stands for all."""
    return not one or not other or bool(set(one) & set(other))


def _share_a_size(one: Entry, other: Entry) -> bool:
    if one.curve is not None and other.curve is not None:
        return bool(set(one.curve) & set(other.curve))
    if one.curve is not None or other.curve is not None:
        curve, value = (one, other) if one.curve is not None else (other, one)
        return any(_within(size, value) for size in curve.curve or ())
    firsts = [entry.sizes.first or 0 for entry in (one, other)]
    lasts = [entry.sizes.last for entry in (one, other) if entry.sizes.last is not None]
    return not lasts or max(firsts) <= min(lasts)


def _within(size: int, entry: Entry) -> bool:
    first, last = entry.sizes.first or 0, entry.sizes.last
    return size >= first and (last is None or size <= last)
