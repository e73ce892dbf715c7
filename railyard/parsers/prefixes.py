"""What is before each line of an output of nccl-tests or nvbandwidth: launchers, pods, loggers, quotations.

``Prefixes`` knows the prefixes of common launchers, and learns others from the text: lines with a known beginning show
what is before it ("nccl-launcher-x7k2p launcher # nThread 1 …", "> # Using devices", "2026-07-01 10:00:00 # …").
Numbers in a learned prefix may differ from line to line, its words may not.
"""

import re
from collections.abc import Sequence

# Prefixes of a line: "[1,0]<stdout>:" of mpirun, " 3: " of srun -l, "[pod/a/b] " and "pod-a | " of kubectl and stern,
# "[0] " of Hydra, "node1: " of pdsh, a time of day of a container's log. cleaned() takes Open MPI's own tags already.
_KNOWN = re.compile(
    r"\[[^\[\]]{1,200}\](?:<std(?:out|err)>)?:? ?| {0,8}[0-9]{1,9}: |[\w.-]{1,120}: (?=#|  )"
    r"|[A-Za-z][\w./-]{0,200} \| ?|(?:stdout|stderr) [FP] "
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{8,20}(?:Z|[+-][0-9:]{4,6}) "
)
_MOST = 3  # known prefixes of one line
# What is left of a prefix without them tells who printed a line.
_TIME = re.compile(
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]?)?(?:(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} {1,2}[0-9]{1,2} )?"
    r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9:]{4,6})?(?: [0-9]{4}(?![0-9]))?"
)
#: Beginnings of lines that an output of nccl-tests has.
NCCL_TESTS = ("# nThread", "# Using devices", "# nccl-tests version", "# Collective test starting", "#       size  ")
_LONGEST = 200  # characters of a prefix
_MOST_LEARNED = 64
_NUMBER = re.compile("[0-9]+")
_PART = re.compile(r"(?P<number>[0-9]+)|(?P<blanks>[ \t]+)|(?P<word>[^0-9 \t]+)")


class Prefixes:
    """The prefixes of the lines of one text; ``shows``: beginnings of lines, in which what is before is a prefix."""

    def __init__(self, text: str, shows: Sequence[str] = NCCL_TESTS) -> None:
        self._learned = _learn_patterns(text, shows)

    def split(self, text: str) -> tuple[str, str]:
        """Return who printed a line, and the line without its prefixes.

        A time of day names nobody. A line of a table or a heading without prefix is returned as it is.
        """
        for pattern, is_numbered in self._learned:
            found = pattern.match(text)
            if found:
                rest = text[found.end() :]
                if found[0].endswith('"'):  # a list of lines in JSON, or a container's log file
                    rest = rest.partition('"')[0].removesuffix("\\n")
                source, rest = self._split_known(rest)
                who = _who(found[0])
                return f"{_NUMBER.sub('', who) if is_numbered else who} {source}".strip(), rest
        return self._split_known(text)

    @staticmethod
    def _split_known(text: str) -> tuple[str, str]:
        source = ""
        for _ in range(_MOST):
            found = _KNOWN.match(text) if text[:1] not in ("#", "") and text[:3] != "   " else None
            if not found:
                break
            if not _TIME.search(found[0]):
                source += found[0]
            text = text[found.end() :]
        return source.strip(), text


def _who(prefix: str) -> str:
    """Return what is left of a prefix without a time."""
    return _TIME.sub("", prefix).strip()


def _learn_patterns(text: str, shows: Sequence[str]) -> list[tuple[re.Pattern[str], bool]]:
    """Return patterns of what is before the lines that show it, the longest first.

    Each has with it whether its numbers are those of lines: then they differ in all lines, and name nobody.
    """
    found: dict[str, list[str]] = {}
    for sign in shows:
        place = text.find(sign)
        while place >= 0 and len(found) < _MOST_LEARNED:
            prefix = text[text.rfind("\n", 0, place) + 1 : place]
            is_prefix = prefix.strip(" \t0123456789") or (prefix.endswith("\t") and prefix.strip())
            if len(prefix) <= _LONGEST and "#" not in prefix and is_prefix:
                found.setdefault(_pattern_of(prefix), []).append(prefix)
            place = text.find(sign, place + 1)
    longest = sorted(found, key=lambda pattern: -max(map(len, found[pattern])))
    return [(re.compile(pattern), _is_numbered(found[pattern])) for pattern in longest]


def _is_numbered(prefixes: Sequence[str]) -> bool:
    each = [_who(prefix) for prefix in prefixes]
    return len(each) > 1 and len(set(each)) == len(each)


def _pattern_of(prefix: str) -> str:
    """Return a pattern of a prefix, with any numbers; blanks at its end are exact, since a row begins with blanks."""
    end = prefix.rstrip(" \t")
    pattern = r"[ \t]*" if end[:1].isdigit() else ""
    for part in _PART.finditer(end):
        pattern += "[0-9]+" if part["number"] else "[ \t]+" if part["blanks"] else re.escape(part["word"])
    return f"{pattern}(?:{re.escape(prefix[len(end) :])}|$)" if len(end) < len(prefix) else pattern
