"""The outputs that the fuzzer begins from: small ones, which have every form of a tool, and the long ones as they are.

Most of a long output says the same again: the rows of a sweep, the steps of an application. A mutant of it takes ten
times as long to read and tries nothing more. So runs of lines that differ in their digits alone are shortened, and an
output of many tables is taken apart, as long as the parser reads the rest as before.
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

from railyard.base.clean_text import clean
from railyard.parsers import PARSERS
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.parsed import Parsed, ParseError

CLONE = Path(__file__).resolve().parents[2]
EVERY: Mapping[str, Callable[[str], Parsed]] = {**PARSERS, **FABRIC_PARSERS}
LARGEST = 60_000  # of a sample, in characters: a longer one is a stretch of lines of that length
SMALL = 2_000  # characters: a longer output is taken apart where it has several tables
_FIRST, _LAST = 3, 2  # repeats that are kept of a run of lines that are alike
_KNOWN = 3  # parts of a tool that have a form already, where another may do without it
_PERIOD = 12  # lines of the longest block whose repeats are told as such
_ANYWHERE = (2, 4)  # of lines that are alike and do not follow each other: as few as the reading allows
_NUMBERED = re.compile(r"\w*[0-9]\w*")  # a number, "node12", a GUID


def _module(name: str) -> ModuleType:
    """Return a module of tests/parsers, which is no package."""
    spec = importlib.util.spec_from_file_location(name, CLONE / "tests" / "parsers" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


properties = _module("properties")


@dataclass(frozen=True)
class Sample:
    """One output, and what its tool's parser reads in it; what follows from that is worked out once."""

    tool: str
    name: str
    text: str
    whole: Parsed

    @cached_property
    def values(self) -> Mapping[tuple[Any, ...], Any]:
        """Return every value that the parser reads in it, by its place."""
        found: Mapping[tuple[Any, ...], Any] = properties.values(self.whole)
        return found

    @cached_property
    def judged(self) -> list[Any]:
        """Return all that a verdict rests on."""
        found: list[Any] = properties.judged(self.whole)
        return found

    @cached_property
    def takes_noise(self) -> bool:
        """Return whether a foreign line may stand anywhere in it.

        Not in JSON, in a file of bare numbers, or between the halves of a row that a mailer wrapped: they are one row
        only where they follow each other.
        """
        if self.name.endswith(".np.out") or "wrapped" in self.name:
            return False
        return not re.match(r"\s*(?:[$#][^\n]*\n)?[\[{]\s*[\"{\n]", self.text)


@dataclass(frozen=True)
class Samples:
    """What is mutated: ``small`` outputs, and the ``long`` ones that these were made of, as they are."""

    small: list[Sample]
    long: list[Sample]


def read(parse: Callable[[str], Parsed], text: str) -> Parsed | None:
    """Return what a parser reads; None where it takes the text for no output of its tool."""
    try:
        return parse(text)
    except ParseError:
        return None


def load(folders: list[Path]) -> Samples:
    """Return the made and recorded samples, and every file of these folders that one tool's parser reads."""
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
    """Return a sample; None where the tool's parser reads neither a table nor a port in it."""
    whole = read(EVERY[tool], text)
    return Sample(tool, name, text, whole) if whole is not None and (whole.tables or whole.fabric) else None


def _stretch(text: str) -> str:
    return text if len(text) <= LARGEST else text[: text.rfind("\n", 0, LARGEST) + 1]


def _small(sample: Sample, seen: Counter[str]) -> Iterator[Sample]:
    """Yield an output's small parts: the first, and of the others those with a form that no part of the tool has.

    ``seen``: in how many parts of the tool's outputs each form of a line stands.
    """
    for number, part in enumerate(_parts(_shorter(sample, [shortened(sample.text)]))):
        if len(part.text) > SMALL:
            part = _shorter(part, (thinned(part.text, most) for most in _ANYWHERE))
        forms = set(_forms(part.text.split("\n")))
        if number and forms <= seen.keys():
            continue
        if len(part.text) > SMALL // 2:
            part = _without(part, [form for form in forms if seen[form] >= _KNOWN])
        seen.update(set(_forms(part.text.split("\n"))))
        yield part


def _without(sample: Sample, known: list[str]) -> Sample:
    """Return an output without the lines of known forms that it can do without: its tables stay the same."""
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


def _rows(parsed: Parsed) -> list[Any]:
    return [(table.rows, table.context, table.units) for table in parsed.tables]


def _shorter(sample: Sample, texts: Iterable[str]) -> Sample:
    """Return the first of these shorter texts in which the parser reads the same tables; the sample where none is."""
    parts = (sample_of(sample.tool, sample.name, text) for text in texts)
    return next((part for part in parts if part and _is_same(part.whole, sample.whole)), sample)


def _is_same(part: Parsed, whole: Parsed) -> bool:
    return _said(part) == _said(whole) and _has_ports(part, whole)


def _said(parsed: Parsed) -> list[Any]:
    """Return what of a reading stays the same where rows in the middle are left out."""
    tables = [(table.benchmark, table.version, table.columns, table.complete, table.ended) for table in parsed.tables]
    return [tables, bool(parsed.fabric), bool(parsed.failures)]


def _has_ports(part: Parsed, whole: Parsed) -> bool:
    """Return whether each port of the part is one of the whole's, in another line: none lost a line of its own."""
    known = [port._replace(line=0) for port in whole.fabric]
    return all(port._replace(line=0) in known for port in part.fabric)


def _forms(lines: list[str]) -> list[str]:
    """Return each line with a 0 in the place of each word that has a digit, and one blank in the place of several."""
    return [" ".join(_NUMBERED.sub("0", line).split()) for line in lines]


def shortened(text: str) -> str:
    """Return a text that has, of lines or blocks of lines that are alike but for their digits, the first and last."""
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


def thinned(text: str, most: int) -> str:
    """Return a text that has, of lines that are alike but for their numbers, the first few and the last."""
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
    """Return the length of the block at a line that covers most lines with its repeats, and how many they are."""
    best = (1, 1)
    for period in range(1, _PERIOD + 1):
        block, repeats = forms[at : at + period], 1
        while forms[at + repeats * period : at + (repeats + 1) * period] == block:
            repeats += 1
        if period * repeats > best[0] * best[1] and repeats > _FIRST + _LAST:
            best = (period, repeats)
    return best


def _parts(sample: Sample) -> list[Sample]:
    """Return an output of several tables in parts of about ``SMALL`` characters, each with what stands above the first.

    It is left whole where its parser reads the parts in another way.
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
    tables = [table for part in found for table in _said(part.whole)[0]]
    return found if tables == _said(sample.whole)[0] else [sample]
