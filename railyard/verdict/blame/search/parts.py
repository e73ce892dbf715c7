"""Parts of a network that good measurements hold together. The members are nodes, or GPUs of nodes."""

from collections.abc import Callable, Iterable, Set
from typing import TypeVar

Member = TypeVar("Member", int, tuple[str, str])


def held_together(
    members: Set[Member], reached: Callable[[Member, Set[Member]], Iterable[Member]]
) -> list[set[Member]]:
    """Return the parts, each with its members: all that are ``reached`` from a member are in its part.

    ``reached`` gets a member and those that are not in a part yet, and returns which of them the member is good with.
    """
    left = set(members)
    parts = []
    while left:
        front = [left.pop()]
        part = set(front)
        while front:
            found = set(reached(front.pop(), left))
            left -= found
            part |= found
            front += found
        parts.append(part)
    return parts
