"""How many ports of a bond (LAG) carry traffic at once, by the kernel's name of its mode."""

#: Modes in which one port carries all traffic (Documentation/networking/bonding.rst).
_ONE_AT_A_TIME = ("active-backup", "broadcast")


def one_at_a_time(mode: str) -> bool:
    """Return whether one port of a bond carries all traffic. ``mode`` is a name such as ``802.3ad``."""
    return mode in _ONE_AT_A_TIME


def active_ports(mode: str, ports: int) -> int:
    """Return how many of a bond's ports carry its traffic."""
    return 1 if one_at_a_time(mode) else ports
