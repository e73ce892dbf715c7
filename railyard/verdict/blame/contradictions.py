"""What logs of pairs of nodes say against their nodes, and how a verdict shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

from railyard.verdict.wording import gpu_pairs as words


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What a log says against its nodes; ``who`` is the host that it is about, else the pair, or all pairs.

    ``sockets``: that it used TCP. Without a statement of the nodes, TCP may be all that they have.
    """

    log: str
    who: str
    why: str
    sockets: bool = False


def contradiction_lines(wrong: Sequence[Contradiction], nodes_have: str) -> list[str]:
    """Return one line for each host, pair, or all pairs: what the first log says, and how many more say such.

    ``nodes_have``: the nodes in words, empty if nobody said what they have.
    """
    each: dict[str, list[Contradiction]] = {}
    for one in wrong:
        each.setdefault(one.who, []).append(one)
    lines = [words.say_contradicted(who, own[0].why, own[0].log, len(own)) for who, own in each.items()]
    return [*lines, *([words.may_be_ethernet()] if not nodes_have and any(one.sockets for one in wrong) else [])]
