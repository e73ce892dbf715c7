"""The outputs that the fuzzer begins with: small ones, which have every form of a tool, and unchanged long ones.

A long output mostly repeats itself: the rows of a sweep, the steps of an application. A mutant of it takes ten times as
long to read and tries nothing more. So consecutive lines that differ only in digits are shortened, and an output of
many tables is split, as long as the parser reads the rest as before.
"""

import importlib.util
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from railyard.base.values import clean
from railyard.parsers import PARSERS
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.output import ParsedOutput, ParseError

CLONE = Path(__file__).resolve().parents[2]
EVERY: Mapping[str, Callable[[str], ParsedOutput]] = {**PARSERS, **FABRIC_PARSERS}
LARGEST = 60_000  # of a sample, in characters: a longer one is replaced by a stretch of lines of that length
SMALL = 2_000  # characters: a longer output with several tables is split
_FIRST, _LAST = 3, 2  # how many repeats are kept of similar lines in a row
_KNOWN = 3  # if this many parts of a tool have a form, other parts may drop it
_PERIOD = 12  # lines of the longest block whose repeats are recognised
_ANYWHERE = (2, 4)  # of similar lines that do not follow each other: as few as the reading allows
_NUMBERED = re.compile(r"\w*[0-9]\w*")  # a number, "node12", a GUID


def _module(name: str) -> ModuleType:
    """Return a module of tests/parsers, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, CLONE / "tests" / "parsers" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


properties = _module("properties")


@dataclass(frozen=True)
class Sample:
    """One output, and what its tool's parser reads in it; what follows from that is computed once."""

    tool: str
    name: str
    text: str
    whole: ParsedOutput

    @cached_property
    def values(self) -> Mapping[tuple[Any, ...], Any]:
        """Return every value that the parser reads, by its place."""
        found: Mapping[tuple[Any, ...], Any] = properties.values(self.whole)
        return found

    @cached_property
    def verdict_facts(self) -> list[Any]:
        """Return all that a verdict depends on."""
        found: list[Any] = properties.judged_values(self.whole)
        return found

    @cached_property
    def takes_noise(self) -> bool:
        """Return whether a foreign line may be anywhere in it.

        It may not be in JSON, in a file of bare numbers, or between the halves of a row that a mailer wrapped: these
        are one row only if they follow each other.
        """
        if self.name.endswith(".np.out") or "wrapped" in self.name:
            return False
        return not re.match(r"\s*(?:[$#][^\n]*\n)?[\[{]\s*[\"{\n]", self.text)


@dataclass(frozen=True)
class Samples:
    """What is mutated: ``small`` outputs, and the unchanged ``long`` ones from which these were made."""

    small: list[Sample]
    long: list[Sample]


def read(parse: Callable[[str], ParsedOutput], text: str) -> ParsedOutput | None:
    """Return what a parser reads; None if it does not take the text for an output of its tool."""
    try:
        return parse(text)
    except ParseError:
        return None


def load(folders: list[Path]) -> Samples:
    """Return the synthetic and recorded samples, and every file of these folders that one tool's parser reads."""
    texts = [(tool, name, _stretch(text)) for tool, name, text in _module("samples").samples()]
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            text = _stretch(clean(path.read_text(encoding="utf-8", errors="replace")))
            texts += [(tool, path.name, text) for tool in EVERY]
    found = Samples([], [])
    seen: dict[str, Counter[str]] = {}
    for tool, name, text in texts:
        whole = sample_of(tool, name, text)
        if whole is None:
            continue
        parts = list(_small(whole, seen.setdefault(tool, Counter())))
        found.small.extend(parts)
        if parts != [whole]:
            found.long.append(whole)
    return found


def sample_of(tool: str, name: str, text: str) -> Sample | None:
    """Return a sample; None if the tool's parser reads neither a table nor a port nor a slot in it."""
    whole = read(EVERY[tool], text)
    if whole is None or not (whole.tables or whole.fabric or whole.hardware):
        return None
    return Sample(tool, name, text, whole)


def _stretch(text: str) -> str:
    return text if len(text) <= LARGEST else text[: text.rfind("\n", 0, LARGEST) + 1]


def _small(sample: Sample, seen: Counter[str]) -> Iterator[Sample]:
    """Yield an output's small parts: the first one, and those with a form of line that no earlier part of the tool has.

    ``seen``: how many parts of the tool's outputs have each form of line.
    """
    for number, part in enumerate(_parts(_shorter(sample, [shorten(sample.text)]))):
        if len(part.text) > SMALL:
            part = _shorter(part, (thin(part.text, most) for most in _ANYWHERE))
        forms = set(_forms(part.text.split("\n")))
        if number and forms <= seen.keys():
            continue
        if len(part.text) > SMALL // 2:
            part = _drop_known(part, [form for form in forms if seen[form] >= _KNOWN])
        seen.update(set(_forms(part.text.split("\n"))))
        yield part


def _drop_known(sample: Sample, known: list[str]) -> Sample:
    """Return an output without those lines of known forms that can go while its tables stay the same."""
    lines = sample.text.split("\n")
    forms = _forms(lines)
    common = set(known)
    tries = [[place for place, form in enumerate(forms) if form in common]]
    gone: set[int] = set()
    while tries:
        places = tries.pop()
        text = "\n".join(line for place, line in enumerate(lines) if place not in gone.union(places))
        part = sample_of(sample.tool, sample.name, text)
        if part and _is_same(part.whole, sample.whole) and _rows(part.whole) == _rows(sample.whole):
            gone.update(places)
            sample = part
        elif len(places) > 1:
            tries += [places[: len(places) // 2], places[len(places) // 2 :]]
    return sample


def _rows(parsed: ParsedOutput) -> list[Any]:
    return [(table.rows, table.context, table.units) for table in parsed.tables]


def _shorter(sample: Sample, texts: Iterable[str]) -> Sample:
    """Return the first of these shorter texts in which the parser reads the same tables, else the sample."""
    parts = (sample_of(sample.tool, sample.name, text) for text in texts)
    return next((part for part in parts if part and _is_same(part.whole, sample.whole)), sample)


def _is_same(part: ParsedOutput, whole: ParsedOutput) -> bool:
    return _reading_facts(part) == _reading_facts(whole) and _has_ports(part, whole)


def _reading_facts(parsed: ParsedOutput) -> list[Any]:
    """Return what stays the same in a reading if rows in the middle are left out."""
    tables = [(table.benchmark, table.version, table.columns, table.complete, table.ended) for table in parsed.tables]
    return [tables, bool(parsed.fabric), bool(parsed.hardware), bool(parsed.failures)]


def _has_ports(part: ParsedOutput, whole: ParsedOutput) -> bool:
    """Return whether each port of the part is one of the whole's, maybe in another line: no port lost a line."""
    known = [port._replace(line=0) for port in whole.fabric]
    return all(port._replace(line=0) in known for port in part.fabric)


def _forms(lines: list[str]) -> list[str]:
    """Return each line with a 0 in place of each word that has a digit, and one blank in place of several."""
    return [" ".join(_NUMBERED.sub("0", line).split()) for line in lines]


def shorten(text: str) -> str:
    """Return a text with only the first and last of lines, or blocks of lines, that differ only in digits."""
    lines = text.split("\n")
    forms, kept, at = _forms(lines), [], 0
    while at < len(lines):
        period, repeats = _run(forms, at)
        if repeats > _FIRST + _LAST:
            end = at + period * repeats
            kept += lines[at : at + period * _FIRST] + lines[end - period * _LAST : end]
            at = end
        else:
            kept.append(lines[at])
            at += 1
    return "\n".join(kept)


def thin(text: str, most: int) -> str:
    """Return a text with only the first few and the last of lines that differ only in numbers."""
    lines = text.split("\n")
    forms = _forms(lines)
    seen: Counter[str] = Counter()
    last = {form: number for number, form in enumerate(forms)}
    kept = []
    for number, (line, form) in enumerate(zip(lines, forms, strict=True)):
        seen[form] += 1
        if seen[form] <= most or last[form] == number:
            kept.append(line)
    return "\n".join(kept)


def _run(forms: list[str], at: int) -> tuple[int, int]:
    """Return the length and the number of repeats of the block at a line whose repeats cover most lines."""
    best = (1, 1)
    for period in range(1, _PERIOD + 1):
        block, repeats = forms[at : at + period], 1
        while forms[at + repeats * period : at + (repeats + 1) * period] == block:
            repeats += 1
        if period * repeats > best[0] * best[1] and repeats > _FIRST + _LAST:
            best = (period, repeats)
    return best


def _parts(sample: Sample) -> list[Sample]:
    """Return an output of several tables in parts of about ``SMALL`` characters, each with the text above the first.

    It stays whole if its parser reads the parts in another way.
    """
    if len(sample.text) <= SMALL or len(sample.whole.tables) < 2:
        return [sample]
    lines = sample.text.split("\n")
    begins = sorted({table.line - 1 for table in sample.whole.tables})
    above, start = lines[: begins[0]], begins[0]
    found: list[Sample] = []
    for end in (*begins[1:], len(lines)):
        if end < len(lines) and len("\n".join(lines[start:end])) < SMALL:
            continue
        part = sample_of(sample.tool, sample.name, "\n".join([*above, *lines[start:end]]) + "\n" * (end < len(lines)))
        if part is None:
            return [sample]
        found.append(part)
        start = end
    tables = [table for part in found for table in _reading_facts(part.whole)[0]]
    return found if tables == _reading_facts(sample.whole)[0] else [sample]
