"""Outputs of a fabric's tools whose lines were broken at a column, as a mailer does: a port may lack part of a value.

The rest of a broken value is a line that looks like noise. Here it is put back: if the ports then say more, or
something else, it belonged there, and the text fails with that line. In a whole text, most lines end far before its
longest one, so few of them are tried.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from railyard.parsers.fabric.port import PortState
from railyard.parsers.fabric.text import without_marks
from railyard.parsers.output import ParsedOutput, ParseError, Remark

_LONGEST = 60_000  # characters: nobody copies more out of a terminal
_MOST_TRIED = 10  # each reads the text again: what twice the text takes stays twice as long
_MOST_LONGER = 3  # prompts and headings that were not broken
_EXPECTED = "whole lines: it goes on in the next one; paste the output without line breaks"
_SHOWN = 200


class _Values(NamedTuple):
    """How many values some ports have, and all of them but the number of their line."""

    number: int
    ports: tuple[PortState, ...]


def without_broken_ports(text: str, read: Callable[[str], ParsedOutput]) -> ParsedOutput:
    """Return what was read of a text, with a failure if a line of it was broken.

    Raises ParseError like ``read``.
    """
    parsed = read(text)
    if not parsed.fabric or parsed.failures or len(text) > _LONGEST:
        return parsed
    lines, noise = without_marks(text).split("\n"), {remark.line for remark in parsed.remarks}
    found = sorted(_suspects(lines), key=lambda number: number + 1 not in noise)
    said, suspects = _said_by(parsed), found[:_MOST_TRIED]
    together = [number for number in suspects if number + 1 in noise]  # a value may follow from two lines
    for numbers in (*([number] for number in suspects), together):
        for between in ("", " "):
            other = _try(read, _join(lines, numbers, between))
            if other is None or other.ports == said.ports:
                continue
            is_noise = all(number + 1 in noise for number in numbers)
            if other.number > said.number or (other.number == said.number and is_noise):
                shown = " ".join(lines[numbers[0] - 1].split())[:_SHOWN]
                failure = Remark(numbers[0], f'a row that cannot be read: found "{shown}", expected {_EXPECTED}')
                return replace(parsed, failures=(failure,))
    return parsed


def _join(lines: Sequence[str], numbers: Iterable[int], between: str) -> str:
    """Return the text in which each of these lines goes on with the next one; the numbers of lines stay."""
    made = list(lines)
    for number in numbers:
        made[number - 1] = f"{lines[number - 1].rstrip()}{between}{lines[number].strip()}"
        made[number] = ""
    return "\n".join(made)


def _suspects(lines: list[str]) -> Iterator[int]:
    """Yield the numbers of the lines that the first word of the next one would have made too long."""
    lengths = sorted(map(len, lines), reverse=True)
    columns = set(lengths[: _MOST_LONGER + 1])
    for number, (line, following) in enumerate(pairwise(lines), start=1):
        words = following.split(None, 1)
        reach = len(line.rstrip()) + 1 + len(words[0]) if words else 0
        if line.strip() and words and any(len(line) <= column <= reach for column in columns):
            yield number


def _try(read: Callable[[str], ParsedOutput], text: str) -> _Values | None:
    try:
        return _said_by(read(text))
    except ParseError:
        return None


def _said_by(parsed: ParsedOutput) -> _Values:
    ports = tuple(port._replace(line=0) for port in parsed.fabric)
    return _Values(sum(map(_count_values, (value for port in ports for value in port))), ports)


def _count_values(value: object) -> int:
    if isinstance(value, Mapping):
        return sum(each is not None for each in value.values())
    return int(value is not None and value != ())
