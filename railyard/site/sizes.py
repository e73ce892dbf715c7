"""Which message sizes a check measures, in bytes."""

from railyard.site.systems.measure import Measure

#: Message sizes in steps of 4, and of 2 with `-S full=1`; in bytes.
QUICK_SIZES = tuple(4**n for n in range(12))
FULL_SIZES = tuple(2**n for n in range(23))
#: Message size of a probe of one rail alone, in bytes: large enough for the bandwidth-bound regime, small enough for a
#: rail at a tenth.
PROBE_SIZE_BYTES = 1 << 20
#: Up to this size, in bytes, a probe's value is a time, and no rate.
PROBE_DELAY_BYTES = 4 << 10
#: Message size, in bytes, of a probe that looks for a delay where large messages found no slow rail.
PROBE_DELAY_SIZE_BYTES = 1 << 10


def sizes_within(smallest: int, largest: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes from smallest to largest, in bytes, of ascending ones from 1.

    Where a system allows none that a check asks for, such as its one size of 4 MiB, it is the largest allowed.
    """
    allowed = [size for size in sizes if size <= largest]
    return tuple(size for size in allowed if size >= smallest) or (allowed[-1],)


def doubled(smallest: int, largest: int) -> tuple[int, ...]:
    """Return the sizes that a tool goes through which doubles the smallest until the largest, in bytes."""
    return tuple(smallest << n for n in range((largest // smallest).bit_length()))


def largest_allowed(largest: int, measure: Measure, nodes: int, rails: int) -> int:
    """Return the largest message that the system's file allows a check over so many nodes and rails, in bytes.

    Collectives cut what they are given into a piece a node. Of pieces smaller than that a stack may give all to one of
    several rails, so over several rails a collective's messages are as many times as large.
    """
    if measure.largest is None:
        return largest
    pieces = nodes if nodes > 2 and rails > 1 else 1
    return min(largest, pieces * measure.largest)
