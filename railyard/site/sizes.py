"""Which message sizes a check measures, in bytes."""

from railyard.site.systems.measure import Measure

#: Message sizes in steps of 4, and of 2 with `-S full=1`; in bytes.
QUICK_SIZES = tuple(4**n for n in range(12))
FULL_SIZES = tuple(2**n for n in range(23))
#: Message size of a probe of one rail alone, in bytes: large enough that bandwidth counts, small enough for a rail at a
#: tenth of its rate.
PROBE_SIZE_BYTES = 1 << 20
#: Up to this size, in bytes, a probe's value is a time and not a rate.
PROBE_DELAY_BYTES = 4 << 10
#: Message size, in bytes, of a probe that looks for a delay if large messages found no slow rail.
PROBE_DELAY_SIZE_BYTES = 1 << 10


def sizes_within(smallest: int, largest: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return those of the sizes (rising, from 1) that are from smallest to largest, in bytes.

    If a system allows none of a check's sizes, such as its one size of 4 MiB, it is the largest allowed size.
    """
    allowed = [size for size in sizes if size <= largest]
    return tuple(size for size in allowed if size >= smallest) or (allowed[-1],)


def doubled(smallest: int, largest: int) -> tuple[int, ...]:
    """Return the sizes, in bytes, of a tool that doubles the smallest until it reaches the largest."""
    return tuple(smallest << n for n in range((largest // smallest).bit_length()))


def largest_allowed(largest: int, measure: Measure, nodes: int, rails: int) -> int:
    """Return the largest message that the system's file allows a check over so many nodes and rails, in bytes.

    Collectives cut their message into one piece per node. If the pieces are smaller than that, a stack may send them
    all over one of several rails. So over several rails, a collective's messages are larger by the number of nodes.
    """
    if measure.largest is None:
        return largest
    pieces = nodes if nodes > 2 and rails > 1 else 1
    return min(largest, pieces * measure.largest)
