"""Reads node names as Slurm writes them: ``node[001-018,020],login`` is twenty names."""

import re
from collections.abc import Iterable, Iterator, Sequence

from railyard.base.patterns import late_regex
from railyard.base.wording import count_of, listing

#: More names than this in one pair of brackets are a typing mistake.
MOST_NAMES = 10_000
_BETWEEN_COMMAS = late_regex(r"(?:[^,\[]|\[[^\]]*\]?)+")
_RANGED = late_regex(r"([^\[\]]*)\[([0-9,-]+)\](.*)", re.DOTALL)
_RANGE = late_regex(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
#: If a word of a command has more names than this, it has ranges.
_LONG = 64
_NUMBERED = late_regex(r"(.*?)([0-9]{1,9})")
#: A sentence names up to so many nodes one by one. If there are more, it says how many.
MOST_IN_WORDS = 16
#: Ranges of more nodes are shown up to so many characters; if they are longer, the first few nodes are shown instead.
_LONGEST_RANGES, _FIRST_FEW = 120, 4


def expand_names(text: str, most: int = MOST_NAMES) -> Iterator[str]:
    """Yield the names that a text stands for, in its order. Numbers keep their leading zeros.

    A name may have several brackets: ``r[1-2]n[1-4]`` is eight names. Raises ValueError for brackets without ranges, or
    with more names than ``most``.
    """
    for each in _BETWEEN_COMMAS.findall(text):
        yield from _expand_one(each, most)


def join_names(names: Sequence[str]) -> str:
    """Return names as one word of a command, with commas; many names as ranges, since a word has at most 128 KiB."""
    return ",".join(names) if len(names) <= _LONG else fold_names(names)


def label(node: str) -> str:
    """Return a host's name without its domain, in lower case. Two spellings of one node thus become equal."""
    return node.split(".")[0].lower()


def fold_names(names: Iterable[str]) -> str:
    """Return names as Slurm writes them, each once. ``expand_names`` turns this into the same names, in another order.

    Names with the same beginning and the same number of digits share brackets, with rising numbers: all numbers in
    ``n[001-003,007]`` have one width. Beginnings keep the order in which they first come.
    """
    found: dict[tuple[str, int], set[int]] = {}
    for name in names:
        numbered = _NUMBERED.fullmatch(name)
        before, digits = numbered.groups() if numbered else (name, "")
        found.setdefault((before, len(digits)), set()).add(int(digits or 0))
    return ",".join(_brackets(before, width, sorted(numbers)) for (before, width), numbers in found.items())


def list_nodes(nodes: Sequence[str]) -> str:
    """Return nodes for a sentence: up to 16 by name; of more, how many and their ranges: ``5120 nodes (n[0001-5120])``.

    If the ranges are long, the first few nodes replace them: ``37 nodes (n01, n07, n12, n13 and 33 more)``.
    """
    if len(nodes) <= MOST_IN_WORDS:
        return listing(nodes)
    ranges = fold_names(nodes)
    if len(ranges) > _LONGEST_RANGES:
        ranges = f"{', '.join(nodes[:_FIRST_FEW])} and {len(nodes) - _FIRST_FEW} more"
    return f"{count_of(len(nodes), 'node')} ({ranges})"


def _brackets(before: str, width: int, numbers: Sequence[int]) -> str:
    if not width:
        return before
    first = [number for place, number in enumerate(numbers) if place == 0 or numbers[place - 1] != number - 1]
    last = [
        number for place, number in enumerate(numbers) if place + 1 == len(numbers) or numbers[place + 1] != number + 1
    ]
    parts = [
        f"{start:0{width}}" if start == end else f"{start:0{width}}-{end:0{width}}"
        for start, end in zip(first, last, strict=True)
    ]
    return f"{before}{parts[0]}" if len(numbers) == 1 else f"{before}[{','.join(parts)}]"


def _expand_one(text: str, most: int) -> Iterator[str]:
    ranged = _RANGED.fullmatch(text)
    if ranged is None:
        yield text
        return
    before, inside, rest = ranged.groups()
    ends = list(_expand_one(rest, most))
    numbers = [number for part in inside.split(",") for number in _numbers(part, most)]
    if len(numbers) * len(ends) > most:
        raise ValueError(f"{text!r} is more than {most} names")
    for number in numbers:
        for end in ends:
            yield f"{before}{number}{end}"


def _numbers(part: str, most: int) -> list[str]:
    found = _RANGE.fullmatch(part)
    if found is None:
        raise ValueError(f"{part!r} is neither a number nor a range of two")
    first, last = found[1], found[2] or found[1]
    if not int(first) <= int(last) < int(first) + most:
        raise ValueError(f"{part!r} does not rise, or is more than {most} names")
    return [f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]
