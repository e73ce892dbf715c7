"""Which message sizes a run of nccl-tests was set to measure, and whether its rows have these."""

from collections.abc import Mapping, Sequence

from railyard.base.wording import count_of, message_size

_MOST = 100_000  # sizes of one run: no run that asks for more ever ends
# The functions …GetCollByteCount cut a size to whole elements of every rank, and since 2.14 to 16 B per rank.
_CUT_A_RANK = 16
_WIDEST_ELEMENT = 8
_NAMED = 3


def requested_sizes(settings: Mapping[str, int]) -> tuple[int, ...]:
    """Return the sizes in bytes, rising, from the smallest by step or factor to the largest; none if unknown."""
    size, largest = settings.get("min_bytes"), settings.get("max_bytes")
    factor, step = settings.get("step_factor"), settings.get("step_bytes")
    if size is None or largest is None or (factor is None and step is None):
        return ()
    found: list[int] = []
    while size <= largest:
        found.append(size)
        following = size * factor if factor is not None else size + (step or 0)
        if following <= size or len(found) > _MOST:
            return ()
        size = following
    return tuple(found)


def mismatch(due: Sequence[int], sizes: Sequence[int], ranks: int | None, is_whole: bool = True) -> str | None:
    """Return which requested sizes are missing, or which size was not requested; None if the rows are as requested.

    ``is_whole`` False: printed sizes are not the requested ones (alltoallv), so only the rows are counted.
    """
    if not due:
        return None
    if not is_whole:
        return None if len(due) == len(sizes) else f"{count_of(len(sizes), 'row')} for {count_of(len(due), 'size')}"
    loss = _CUT_A_RANK * ranks + _WIDEST_ELEMENT if ranks else None
    place, missing = 0, []
    for wanted in due:
        if place < len(sizes) and sizes[place] <= wanted and _is_near(wanted, sizes[place], loss):
            place += 1
        else:
            missing.append(wanted)
    if place < len(sizes):
        return f"{message_size(sizes[place])} was not asked for, or is in the place of another size"
    if not missing:
        return None
    named = ", ".join(message_size(size) for size in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"no row of {named}{more}; the run was asked for {count_of(len(due), 'size')}"


def _is_near(wanted: int, size: int, loss: int | None) -> bool:
    """Return whether a printed size is a wanted one without its remainder.

    ``loss`` None: the number of ranks is unknown. Then the printed size must be more than half of the wanted one, or so
    small that every rank's share may be nothing.
    """
    if loss is None:
        return size * 2 > wanted or size == 0
    return wanted - size < loss
