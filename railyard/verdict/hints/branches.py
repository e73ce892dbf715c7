"""Which lines of a pasted script are in branches of an if or a case, of which a run takes only one.

Read are the shells' ``if … then … elif … else … fi``, csh's ``if (…) then … else if … endif`` and ``case … in … esac``.
What follows a test in one line (``[ -n "$X" ] && export A=b``) is a branch, too. An ``if`` that is not closed is prose.

Source: the Shell Command Language of POSIX; man csh.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from types import MappingProxyType

#: The branches around a line, from outside to inside: each has the number of its choice and its own within it.
Path = tuple[tuple[int, int], ...]

# words of a shell where a command may begin
_WORDS = re.compile(
    r"(?P<csh>^\s{0,80}(?P<other>else )?if\s?\(.{0,300}\)\s{1,9}then\s{0,9}$)"
    r"|(?:^|;|&&|\|\||[$%>]\s|\b(?:then|else|do)\s)\s{0,80}(?P<word>then|elif|else|fi|endif|esac)(?![\w.=/:-])"
    r"|(?P<case>\bcase\s.{1,200}\sin\b)|(?P<next>;;)"
)
_ANY_ELSE = re.compile(r"^\s{0,80}\(?\*\)")
_TESTED = re.compile(r"(?:^|[$%>;]\s?)\s{0,80}(?:\[\[? |test |\(\( ).{1,300}?(?:&&|\|\|)")


@dataclass(slots=True)
class _Choice:
    number: int
    is_case: bool
    branch: int = 0
    has_else: bool = False
    lines: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Branches:
    """The path of each line that stands in a branch, and of each choice how many branches it has if it has an else."""

    paths: Mapping[int, Path]
    complete: Mapping[int, int]


_NONE = Branches(MappingProxyType({}), MappingProxyType({}))


@lru_cache(maxsize=2)
def branches(text: str) -> Branches:
    """Return the branches of a text's lines (1-based)."""
    if not any(word in text for word in ("then", "esac", "&&", "||")):
        return _NONE
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) <= 2000:
            reader.read(number, line)
    return Branches(MappingProxyType(reader.closed_paths()), MappingProxyType(reader.complete))


class _Reader:
    """The open choices, and what was found so far."""

    def __init__(self) -> None:
        self.numbers = count(1)
        self.open: list[_Choice] = []
        self.paths: dict[int, Path] = {}
        self.closed: set[int] = set()
        self.complete: dict[int, int] = {}
        self.waits = False  # after elif the next "then" opens no choice

    def read(self, number: int, line: str) -> None:
        """Read one line: its deepest place counts."""
        if line.lstrip().startswith("#"):
            return
        deepest = self._path()
        for found in _WORDS.finditer(line):
            self._take(found)
            deepest = max(deepest, self._path(), key=lambda path: (len(path), path))
        if self.open and self.open[-1].is_case and _ANY_ELSE.match(line):
            self.open[-1].has_else = True
        if _TESTED.search(line):
            tested = next(self.numbers)
            self.closed.add(tested)
            deepest = (*deepest, (tested, 0))
        if deepest:
            self.paths[number] = deepest

    def closed_paths(self) -> dict[int, Path]:
        """Return the paths without choices that were never closed."""
        kept = {line: tuple(step for step in path if step[0] in self.closed) for line, path in self.paths.items()}
        return {line: path for line, path in kept.items() if path}

    def _path(self) -> Path:
        return tuple((each.number, each.branch) for each in self.open)

    def _take(self, found: re.Match[str]) -> None:
        word = found["word"] or ("elif" if found["other"] else "then" if found["csh"] else "")
        if found["case"] or (word == "then" and not self.waits):
            self.open.append(_Choice(next(self.numbers), is_case=bool(found["case"])))
        elif word in ("fi", "endif", "esac"):
            self._close()
        elif word != "then" and self.open and (word or self.open[-1].is_case):
            self.open[-1].branch += 1
            self.open[-1].has_else |= word == "else"
        self.waits = word == "elif" and not found["csh"]

    def _close(self) -> None:
        if self.open:
            done = self.open.pop()
            self.closed.add(done.number)
            if done.has_else:
                # the last ";;" of a case begins no branch
                self.complete[done.number] = done.branch + (0 if done.is_case else 1)


def possible(paths: Sequence[Path], at: Path, complete: Mapping[int, int]) -> list[int]:
    """Return which of several settings may hold at a place, by their paths in the order of lines, the last one first.

    One in a branch that excludes the place does not. One in another branch may hold or not, so one above it may, too.
    """
    found: list[int] = []
    seen: set[Path] = set()
    for index, path in reversed([*enumerate(paths)]):
        chosen = dict(at)
        excluded = any(chosen.get(number, branch) != branch for number, branch in path)
        if excluded or any(path[: len(one)] == one for one in seen):
            continue
        found.append(index)
        own = tuple(step for step in path if step not in at)
        seen.add(path)
        _add_completed(seen, complete)
        if not own or any(set(one) <= set(at) for one in seen):
            break
    return found


def surely_holds(paths: Sequence[Path], complete: Mapping[int, int]) -> bool:
    """Return whether a setting in lines with these paths holds in whatever branches a run took."""
    seen = set(paths)
    _add_completed(seen, complete)
    return () in seen


def _add_completed(seen: set[Path], complete: Mapping[int, int]) -> None:
    """Add the place around each choice all of whose branches are there."""
    for path in sorted(seen, key=len, reverse=True):
        outer, number = path[:-1], path[-1][0] if path else 0
        if number in complete and all((*outer, (number, branch)) in seen for branch in range(complete[number])):
            seen.add(outer)
