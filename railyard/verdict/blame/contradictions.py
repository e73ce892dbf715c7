"""What logs of pairs of nodes say against their nodes, and how a verdict shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

#: What a log did that names sockets.
SOCKETS = "it used sockets (TCP)"
#: Printed if sockets are all that is known: without a statement of the nodes, TCP may be all that they have.
_ETHERNET = "if the nodes have only Ethernet, say it: --nodes-have gpus=8,nics=1,link=eth-100, with their numbers"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What a log says against its nodes; ``who`` is the host that it is about, else the pair, or all pairs."""

    log: str
    who: str
    why: str


def comparison_end(words: str) -> str:
    """Return the end of "pairs are compared with one another": with what else; ``words`` are the nodes, if given."""
    if not words:
        return ", so a fault that all nodes share is not seen (with --nodes-have it may be)"
    return f", and with what nodes of {words} can reach"


def contradiction_lines(wrong: Sequence[Contradiction], words: str) -> list[str]:
    """Return one line for each host, pair, or all pairs: what the first log says, and how many more say such."""
    each: dict[str, list[Contradiction]] = {}
    for one in wrong:
        each.setdefault(one.who, []).append(one)
    lines = [
        f"{who}: {own[0].why} ({own[0].log}{'' if len(own) == 1 else f' and {len(own) - 1} more'})"
        for who, own in each.items()
    ]
    return [*lines, *([_ETHERNET] if not words and any(SOCKETS in one.why for one in wrong) else [])]
