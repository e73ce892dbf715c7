"""Reads node names as Slurm writes them: ``node[001-018,020],login`` is twenty names."""

import re
from collections.abc import Iterator

#: More names than this in one pair of brackets are a typing mistake.
MOST_NAMES = 10_000
_BETWEEN_COMMAS = re.compile(r"(?:[^,\[]|\[[^\]]*\]?)+")
_RANGED = re.compile(r"([^\[\]]*)\[([0-9,-]+)\]([^\[\]]*)")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def expanded(text: str) -> Iterator[str]:
    """Yield the names that a text stands for, in its order. Numbers keep their leading zeros.

    Raises ValueError for brackets without ranges, or with more names than MOST_NAMES.
    """
    for each in _BETWEEN_COMMAS.findall(text):
        yield from _of_one(each)


def label(node: str) -> str:
    """Return a host's name without its domain, in lower case. Two spellings of one node thus become equal."""
    return node.split(".")[0].lower()


def _of_one(text: str) -> Iterator[str]:
    ranged = _RANGED.fullmatch(text)
    if ranged is None:
        yield text
        return
    before, inside, after = ranged.groups()
    for part in inside.split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            raise ValueError(f"{part!r} is neither a number nor a range of two")
        first, last = found[1], found[2] or found[1]
        if not int(first) <= int(last) < int(first) + MOST_NAMES:
            raise ValueError(f"{part!r} does not rise, or is more than {MOST_NAMES} names")
        for number in range(int(first), int(last) + 1):
            yield f"{before}{number:0{len(first)}}{after}"
