"""Names of rail policies: one of POLICIES, or striping with a threshold of its own behind it (``striping-8K``)."""

import re

from railyard.base.errors import did_you_mean
from railyard.stacks.model import POLICIES

STRIPING = "striping"
NIC_PER_RANK = "nic-per-rank"
#: What a policy with a threshold looks like, for a schema; K is 1024 bytes.
TUNED_PATTERN = rf"{STRIPING}-[1-9][0-9]*[KMG]?"

_TUNED = re.compile(rf"{STRIPING}-([1-9][0-9]*)([KMG]?)")
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def tuned(threshold_bytes: int) -> str:
    """Return the name of striping with this threshold, in the largest unit that divides it: ``striping-8K``."""
    unit = max((unit for unit, factor in _FACTORS.items() if threshold_bytes % factor == 0), key=_FACTORS.__getitem__)
    return f"{STRIPING}-{threshold_bytes // _FACTORS[unit]}{unit}"


def parted(name: str) -> tuple[str, int | None]:
    """Return a policy's name without its threshold, and the threshold in bytes; None where it names none."""
    found = _TUNED.fullmatch(name)
    return (name, None) if found is None else (STRIPING, int(found[1]) * _FACTORS[found[2]])


def unknown(name: str) -> str | None:
    """Return what to write in place of an unknown policy, None for a known one. A threshold is written in one way."""
    policy, threshold = parted(name)
    if threshold is not None:
        return None if tuned(threshold) == name else did_you_mean(name, [tuned(threshold)])
    return None if policy in POLICIES else did_you_mean(name, POLICIES)
