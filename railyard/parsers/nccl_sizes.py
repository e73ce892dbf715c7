"""Which message sizes a run of nccl-tests was told to measure, and whether the rows are of these."""

from collections.abc import Mapping, Sequence

from railyard.base.wording import counted, message_size

_MOST = 100_000  # sizes of one run: a line that asks for more is none that a run ended
# A size is cut to whole elements of every rank, and since 2.14 to 16 B a rank, by the functions …GetCollByteCount.
_CUT_A_RANK = 16
_WIDEST_ELEMENT = 8
_NAMED = 3


def asked(settings: Mapping[str, int]) -> tuple[int, ...]:
    """Return the sizes in bytes, rising, from the smallest by step or factor to the largest; none where not known."""
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
    """Return what of the sizes that were asked for is not there, or was not asked for; None where the rows are these.

    ``is_whole`` False: a printed size is not the one that was asked for (alltoallv), and only the rows are counted.
    """
    if not due:
        return None
    if not is_whole:
        return None if len(due) == len(sizes) else f"{counted(len(sizes), 'row')} for {counted(len(due), 'size')}"
    loss = _CUT_A_RANK * ranks + _WIDEST_ELEMENT if ranks else None
    place, missing = 0, []
    for wanted in due:
        if place < len(sizes) and sizes[place] <= wanted and _near(wanted, sizes[place], loss):
            place += 1
        else:
            missing.append(wanted)
    if place < len(sizes):
        return f"{message_size(sizes[place])} was not asked for, or stands where another size is due"
    if not missing:
        return None
    named = ", ".join(message_size(size) for size in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"no row of {named}{more}, of {counted(len(due), 'size')} that were asked for"


def _near(wanted: int, size: int, loss: int | None) -> bool:
    """Return whether a printed size is a wanted one without its rest; ``loss`` None: the number of ranks is not known.

    Then it is more than half of it, or so small that every rank's share may be nothing.
    """
    if loss is None:
        return size * 2 > wanted or size == 0
    return wanted - size < loss
