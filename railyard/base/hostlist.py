"""Names of nodes as Slurm writes them: ``node[001-018,020],login`` is twenty names."""

import re
from collections.abc import Iterator, Sequence

#: More names than this in one pair of brackets is a slip of the finger.
MOST_NAMES = 10_000
_BETWEEN_COMMAS = re.compile(r"(?:[^,\[]|\[[^\]]*\]?)+")
_RANGED = re.compile(r"([^\[\]]*)\[([0-9,-]+)\]([^\[\]]*)")
_DIGITS = 9
#: More names than this are told by ranges.
_LONG = 64
_RANGE = re.compile(rf"([0-9]{{1,{_DIGITS}}})(?:-([0-9]{{1,{_DIGITS}}}))?")


def expanded(text: str) -> Iterator[str]:
    """Give the names that a text stands for, parts between commas one by one; numbers keep their leading zeros.

    Raises ValueError for brackets that hold no ranges, or more names than MOST_NAMES.
    """
    for each in _BETWEEN_COMMAS.findall(text):
        yield from _of_one(each)


def listed(names: Sequence[str]) -> str:
    """Return names as one word of a command: with commas; of many as ranges, since a word has 128 KiB at most."""
    return ",".join(names) if len(names) <= _LONG else folded(names)


def folded(names: Sequence[str]) -> str:
    """Return names as Slurm writes them, in their order: ``n[1-3,7],login``; numbers keep their leading zeros."""
    groups: list[tuple[str, list[tuple[str, str]]]] = []
    for name in names:
        stem = name.rstrip("0123456789")
        number = name[len(stem) :]
        if not number or len(number) > _DIGITS:
            groups.append((name, []))
            continue
        if not groups or groups[-1][0] != stem or not groups[-1][1]:
            groups.append((stem, []))
        ranges = groups[-1][1]
        first, last = ranges[-1] if ranges else ("", "0")
        if ranges and number == f"{int(last) + 1:0{len(first)}}":
            ranges[-1] = (first, number)
        else:
            ranges.append((number, number))
    return ",".join(_of_group(stem, ranges) for stem, ranges in groups)


def _of_group(stem: str, ranges: Sequence[tuple[str, str]]) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return f"{stem}{ranges[0][0]}"
    parts = (first if first == last else f"{first}-{last}" for first, last in ranges)
    return f"{stem}[{','.join(parts)}]" if ranges else stem


def label(node: str) -> str:
    """Return a host's name without its domain, in lower case: how two spellings of one node are held equal."""
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
            raise ValueError(f"{part!r} is no number and no range of two")
        first, last = found[1], found[2] or found[1]
        if not int(first) <= int(last) < int(first) + MOST_NAMES:
            raise ValueError(f"{part!r} does not rise, or is more than {MOST_NAMES} names")
        for number in range(int(first), int(last) + 1):
            yield f"{before}{number:0{len(first)}}{after}"
