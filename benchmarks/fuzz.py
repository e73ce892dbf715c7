"""Whether any text breaks a parser: random mutations of outputs, each held against what must always hold.

    .venv/bin/python benchmarks/fuzz.py [--inputs 100000] [--processes 2] [--seed 1] [--samples DIR]... [--judge]

An input is an output of a tool with one to three mutations: cut, a byte changed, a line removed, doubled, moved or
swapped with another, a noise line, a number replaced by a hostile one, lines of another tool's output among its own,
all of it twice, sizes shifted, another output mixed in line by line, a unit or a sign changed, rows in another order.
Every input is read by its tool's parser, and one in twenty by `railyard parse`'s way to tell the tool, then printed as
JSON and text. A finding is an exception that is no ParseError, an ill-formed result (a NaN, a table without rows, a
line outside the text), of an input that was only cut a value that the whole lacks or a table wrongly complete, and of
one that only got a noise line any change. Each kind of finding is shown once, with the shortest input of its kind.

``--judge`` has each input judged as `railyard judge --sizes` does, against a link that the whole output passes. The
rule is: never a pass that the whole output does not have. So a judgement that passes must have a curve of the whole, or
of an output that was mixed in. Only mutations that no value can hide behind are made there (``SEEN``).

``--samples`` adds the files of a folder, of each kind that a known tool reads. The same seed gives the same inputs.
``--resume FILE`` keeps each share of 500 inputs that is done, and leaves it out the next time.
"""

import argparse
import importlib.util
import json
import multiprocessing
import random
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from railyard.base.clean_text import clean
from railyard.base.errors import RailyardError
from railyard.benchmarks import metrics
from railyard.parsers import PARSERS, detect
from railyard.parsers.as_json import to_json
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.parsed import Parsed, ParseError
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.results.report.parsed import parsed_text
from railyard.verdict import asked
from railyard.verdict.stored.judge import judge
from railyard.verdict.stored.target import of_link

CLONE = Path(__file__).resolve().parents[1]
EVERY = {**PARSERS, **FABRIC_PARSERS}
CHUNK = 500
LARGEST = 60_000  # of a sample, in characters: a longer one is a stretch of lines of that length
ALL_TOOLS_ONE_IN = 20

NOISE = (
    "[node2:2290964] 3 more processes have sent help message help-mpi-btl-openib.txt / no device params found",
    "libibverbs: Warning: couldn't open config directory '/etc/libibverbs.d'.",
    "real 5.93",
    "",
)
HOSTILE = ("nan", "-nan", "inf", "1e999", "9" * 30, "-1", "0", "1.2.3", ".", "1e-400", "٣", "0x10", "*" * 8, "")
BYTES = "\x00\x0b\x0c\r\t\x1b\x85\u2028é٣😀#-:=|[](){}<>\"'\\/.,%0 \n"


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
    """One output, and what its tool's parser reads in it."""

    tool: str
    name: str
    text: str
    whole: Parsed


@dataclass
class Tally:
    """What a share of the inputs gave: counts, and for each kind of finding how often and its shortest input."""

    inputs: int = 0
    characters: int = 0
    refused: int = 0
    by_tool: Counter[str] = field(default_factory=Counter)
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    shortest: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        """Take in another share."""
        self.inputs += other.inputs
        self.characters += other.characters
        self.refused += other.refused
        self.by_tool += other.by_tool
        self.found += other.found
        for kind, (what, text) in other.shortest.items():
            self.note(kind, what, text, count=0)

    def note(self, kind: tuple[str, str], what: str, text: str, count: int = 1) -> None:
        """Keep a finding; of its kind the shortest input."""
        self.found[kind] += count
        if kind not in self.shortest or len(text) < len(self.shortest[kind][1]):
            self.shortest[kind] = (what, text)


def load(folders: list[Path]) -> list[Sample]:
    """Return the made and recorded samples, and every file of these folders that one tool's parser reads."""
    texts = [(tool, name, text) for tool, name, text in _module("samples").samples()]
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            text = _stretch(clean(path.read_text(encoding="utf-8", errors="replace")))
            texts += [(tool, path.name, text) for tool in EVERY if _read(EVERY[tool], text) is not None]
    found = []
    for tool, name, text in texts:
        whole = _read(EVERY[tool], _stretch(text))
        if whole is not None and (whole.tables or whole.fabric):
            found.append(Sample(tool, name, _stretch(text), whole))
    return found


def _stretch(text: str) -> str:
    return text if len(text) <= LARGEST else text[: text.rfind("\n", 0, LARGEST) + 1]


def _read(parse: Callable[[str], Parsed], text: str) -> Parsed | None:
    try:
        return parse(text)
    except ParseError:
        return None


def cut(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """End it anywhere, in one of two cases within its last 300 characters."""
    return text[: dice.randrange(max(0, len(text) - 300) if dice.random() < 0.5 else 0, len(text))] if text else text


def noise(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """Put a foreign line between two lines."""
    lines = text.split("\n")
    lines.insert(dice.randrange(len(lines)), dice.choice(NOISE))
    return "\n".join(lines)


def change_character(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """Replace, insert or delete one character."""
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice(("", dice.choice(BYTES))) + text[at + dice.randrange(2) :]


def change_number(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """Replace a number by one that is none, not finite, or out of any range."""
    places = list(re.finditer(r"[0-9][0-9.e+]*", text[: LARGEST // 4]))
    if not places:
        return text
    one = dice.choice(places)
    return text[: one.start()] + dice.choice(HOSTILE) + text[one.end() :]


def change_lines(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """Remove, double, move, swap, join, break or repeat lines."""
    lines = text.split("\n")
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    what = dice.randrange(6)
    if what == 0:
        del lines[one : one + dice.randrange(1, 4)]
    elif what == 1:
        lines.insert(other, lines[one])
    elif what == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif what == 3 and one + 1 < len(lines):
        lines[one : one + 2] = [lines[one] + lines[one + 1]]
    elif what == 4:
        place = dice.randrange(len(lines[one]) + 1)
        lines[one : one + 1] = [lines[one][:place], lines[one][place:]]
    else:
        lines[one:one] = lines[min(one, other) : max(one, other)][:50]
    return "\n".join(lines)


def splice(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """Put some lines of another output, of any tool, among its own."""
    theirs = dice.choice(samples).text.split("\n")
    start = dice.randrange(len(theirs))
    lines = text.split("\n")
    at = dice.randrange(len(lines) + 1)
    lines[at:at] = theirs[start : start + dice.randrange(1, 12)]
    return "\n".join(lines)


def doubled(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """Print all of it twice, or what stands behind some line."""
    lines = text.split("\n")
    return "\n".join([*lines, *lines[dice.choice((0, dice.randrange(len(lines)))) :]])


def shifted(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """Multiply or divide the first number of each row: the message size, of most tools."""
    factor = dice.choice((2, 4, 0.5, 0.25))

    def other(found: re.Match[str]) -> str:
        return f"{found[1]}{int(int(found[2]) * factor)}{found[3]}"

    return re.sub(r"(?m)^(\s*(?:[0-9]+:\s+)?)([0-9]+)(\s+(?:bytes|[0-9]))", other, text)


def mixed(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """Mix in the lines of another output of the same or any tool, as two jobs that write one file do."""
    own, theirs = text.split("\n"), dice.choice(samples).text.split("\n")
    lines = []
    while own or theirs:
        source = own if own and (not theirs or dice.random() < 0.5) else theirs
        taken = dice.randrange(1, 30)
        lines += source[:taken]
        del source[:taken]
    return "\n".join(lines)


def unit(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """Change a unit in a heading."""
    places = list(re.finditer(r"MB/s|MB/sec|Mbytes/sec|usec|\(us\)|MiB/s|Mbps|Gb/sec|Messages/s|Mpps|GB/sec", text))
    if not places:
        return text
    one = dice.choice(places)
    other = dice.choice(
        ("KiB/s", "MiB/s", "GB/s", "Gb/s", "Gb/sec", "MB/sec", "nsec", "(ms)", "msec", "Kbytes/sec", "/s")
    )
    return text[: one.start()] + other + text[one.end() :]


def sign(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """Put a minus before a number with a point."""
    places = list(re.finditer(r"(?<=[\s=])[0-9]+\.[0-9]+", text))
    if not places:
        return text
    at = dice.choice(places).start()
    return f"{text[:at]}-{text[at:]}"


def order(text: str, dice: random.Random, samples: list[Sample]) -> str:
    """Exchange two rows that follow each other."""
    lines = text.split("\n")
    rows = [place for place, line in enumerate(lines) if re.match(r"\s*[0-9]+:?\s+\S", line)]
    if len(rows) > 1:
        one, other = dice.choice(list(pairwise(rows)))
        lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


MUTATIONS = (
    *(cut, noise, change_character, change_number, change_lines, splice),
    *(doubled, shifted, mixed, unit, sign, order),
)
#: Of an output that is judged: what changes no number into another that a run might have given.
SEEN = (cut, noise, doubled, shifted, mixed, splice, unit, sign, order)
#: Against what an output is judged: the first of these that it passes, so that there is a pass to lose.
JUDGED_BY = ("ib-edr", "ib-fdr", "ib-hdr", "ib-ndr", "slingshot-11", "ib-qdr", "eth-100", "ib-sdr")
Pass = tuple[Any, ...]


def mutated(dice: random.Random, samples: list[Sample]) -> tuple[Sample, str, tuple[str, ...]]:
    """Return a sample, the text made from it, and the names of the mutations."""
    sample = dice.choice(samples)
    text = sample.text
    chosen = dice.choices(MUTATIONS, k=dice.choice((1, 1, 2, 3)))
    for mutation in chosen:
        text = mutation(text, dice, samples)
    return sample, text, tuple(mutation.__name__ for mutation in chosen)


def wrong(sample: Sample, text: str, how: tuple[str, ...]) -> str | None:
    """Say what does not hold of an input; ``refused`` where the parser takes it for no output of its tool."""
    part = _read(EVERY[sample.tool], text)
    if part is None:
        return "refused"
    ill: str | None = properties.ill_formed(part, text)
    if ill:
        return ill
    if how == ("cut",):
        told: str | None = properties.invented(part, sample.whole)
        return told or properties.wrongly_complete(part, sample.whole, text)  # type: ignore[no-any-return]
    if how == ("noise",) and _takes_noise(sample) and properties.judged(part) != properties.judged(sample.whole):
        return "a noise line changes what is read"
    return None


def _takes_noise(sample: Sample) -> bool:
    """Return whether a foreign line may stand anywhere in it.

    Not in JSON, in a file of bare numbers, or between the halves of a row that a mailer wrapped: they are one row only
    where they follow each other.
    """
    if sample.name.endswith(".np.out") or "wrapped" in sample.name:
        return False
    return not re.match(r"\s*(?:[$#][^\n]*\n)?[\[{]\s*[\"{\n]", sample.text)


def whole_way(text: str) -> None:
    """Read a text as `railyard parse` does, and print it both ways."""
    parsed = _read(detect.parse, text)
    if parsed is not None:
        to_json(parsed)
        parsed_text(parsed)


def judged(sample: Sample, text: str, link: str, sizes: Mapping[str, tuple[int, ...]]) -> set[Pass]:
    """Return the judgements of a text that pass, by benchmark and curves; none where it is refused."""
    return set().union(*(_judged_alone(sample, text, link, key, asked_for) for key, asked_for in sizes.items()))


def _judged_alone(sample: Sample, text: str, link: str, key: str, sizes: tuple[int, ...]) -> set[Pass]:
    try:
        parsed = with_wrong_lines(EVERY[sample.tool](text), text)
        found = judge(
            parsed, _TARGETS[link], benchmark=key, sizes=sizes, passes=False
        )  # a median of fewer passes is another curve
    except (ParseError, RailyardError):
        return set()
    return {
        (one.benchmark, *((each.curve.metric, each.curve.sizes, each.curve.values) for each in one.curves))
        for one in found
        if one.passed
    }


def sizes_of(sample: Sample) -> dict[str, tuple[int, ...]]:
    """Return the message sizes of each benchmark of a sample whose tables all have the same."""
    found: dict[str, set[tuple[int, ...]]] = {}
    for table in sample.whole.tables:
        found.setdefault(metrics.key_of(table) or "", set()).add(asked.sizes_of(table))
    return {key: sizes.pop() for key, sizes in found.items() if key and len(sizes) == 1}


def to_judge(samples: list[Sample]) -> list[Sample]:
    """Return the samples that pass against some link, and note which, with what passes."""
    for sample in samples:
        if sample.tool not in PARSERS:
            continue
        sizes = sizes_of(sample)
        found = ((link, judged(sample, sample.text, link, sizes)) for link in JUDGED_BY)
        link, passes = next(((link, passes) for link, passes in found if passes), ("", set()))
        if passes:
            _PASSES[sample.name] = (link, sizes, passes)
    return [sample for sample in samples if sample.name in _PASSES]


def wrongly_passed(dice: random.Random, samples: list[Sample]) -> tuple[Sample, str, tuple[str, ...], str | None]:
    """Return a sample that passes, a text made of it, its mutations, and how the text passes where it should not."""
    sample = dice.choice(samples)
    text, chosen = sample.text, dice.choices(SEEN, k=dice.choice((1, 1, 2)))
    for mutation in chosen:
        text = mutation(text, dice, samples)
    how = tuple(mutation.__name__ for mutation in chosen)
    link, sizes, passes = _PASSES[sample.name]
    more = judged(sample, text, link, sizes) - passes
    if more and {"mixed", "splice"} & {*how}:  # a whole table of another output is a judgement of that output
        if (sample.name, link) not in _THEIRS:
            others = (judged(one, one.text, link, sizes) for one in samples if one.tool == sample.tool)
            _THEIRS[sample.name, link] = set().union(*others)
        more -= _THEIRS[sample.name, link]
    return sample, text, how, f"passes with another curve: {sorted(map(str, more))[0][:200]}" if more else None


_TARGETS = {link: of_link(link) for link in JUDGED_BY}
_PASSES: dict[str, tuple[str, dict[str, tuple[int, ...]], set[Pass]]] = {}
#: Of a sample and its link: what passes of all outputs of its tool, where one was mixed in.
_THEIRS: dict[tuple[str, str], set[Pass]] = {}


def share(number: int) -> Tally:
    """Return what one share of the inputs gave; its inputs follow from the seed and the share's number."""
    seed, samples = _STATE["seed"], _STATE["samples"]
    dice = random.Random(f"{seed}/{number}")
    if _STATE["judge"]:
        return _judged_share(dice, samples)
    tally = Tally()
    for place in range(_STATE["chunk"]):
        sample, text, how = mutated(dice, samples)
        tally.inputs += 1
        tally.characters += len(text)
        tally.by_tool[sample.tool] += 1
        try:
            said = wrong(sample, text, how)
            if place % ALL_TOOLS_ONE_IN == 0:
                whole_way(text)
        except Exception as error:  # a fuzzer's one purpose: whatever a parser raises is a finding
            frame = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}"
        if said == "refused":
            tally.refused += 1
        elif said:
            kind = re.sub(r"[0-9]+|'[^']*'", "N", said)[:70]
            tally.note((sample.tool, kind), f"{said[:300]} ({' + '.join(how)} of {sample.name})", text)
    return tally


def _judged_share(dice: random.Random, samples: list[Sample]) -> Tally:
    tally = Tally()
    for _ in range(_STATE["chunk"]):
        sample, text, how, said = wrongly_passed(dice, samples)
        tally.inputs += 1
        tally.characters += len(text)
        tally.by_tool[sample.tool] += 1
        if said:
            kind = (sample.tool, " + ".join(sorted(how)))
            tally.note(kind, f"{said} ({' + '.join(how)} of {sample.name})", text)
    return tally


_STATE: dict[str, Any] = {}


def _start(seed: int, samples: list[Sample], chunk: int, is_judge: bool) -> None:
    _STATE.update(seed=seed, samples=samples, chunk=chunk, judge=is_judge)


def _done(file: Path | None, what: dict[str, Any]) -> dict[int, Tally]:
    """Return the shares of this very run that a file has; its first line says which run it is of."""
    if file is None:
        return {}
    if not file.exists():
        file.write_text(json.dumps(what) + "\n", encoding="utf-8")
    first, *lines = file.read_text(encoding="utf-8").splitlines()
    if json.loads(first) != what:
        sys.exit(f"{file}: found shares of {first}, expected {json.dumps(what)}; name another file")
    found = {}
    for line in lines:
        values = json.loads(line)
        tally = Tally(values["inputs"], values["characters"], values["refused"], Counter(values["by_tool"]))
        for tool, kind, count, said, text in values["found"]:
            tally.note((tool, kind), said, text, count)
        found[values["share"]] = tally
    return found


def _keep(file: Path | None, number: int, tally: Tally) -> None:
    if file is not None:
        found = [[*kind, count, *tally.shortest[kind]] for kind, count in tally.found.items()]
        values = {"share": number, "inputs": tally.inputs, "characters": tally.characters, "refused": tally.refused}
        with file.open("a", encoding="utf-8", errors="surrogateescape") as handle:
            handle.write(json.dumps({**values, "by_tool": tally.by_tool, "found": found}) + "\n")


def numbered(number: int) -> tuple[int, Tally]:
    """Return a share with its number."""
    return number, share(number)


def main() -> int:
    """Print what was tried and found; exit code 1 where something was found."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("--inputs", 100_000), ("--processes", 1), ("--seed", 1)):
        reader.add_argument(option, type=int, default=default)
    reader.add_argument("--samples", type=Path, action="append", default=[], help="a folder of outputs")
    reader.add_argument("--keep", type=Path, help="write the shortest input of each kind of finding to this folder")
    reader.add_argument("--judge", action="store_true", help="judge each input, in place of reading it alone")
    reader.add_argument("--resume", type=Path, help="keep the shares that are done in this file, and go on from it")
    given = reader.parse_args()
    samples = load(given.samples)
    if given.judge:
        samples = to_judge(samples)
    tools = sorted({sample.tool for sample in samples})
    print(f"{len(samples)} samples of {len(tools)} tools: {', '.join(tools)}", flush=True)
    chunk = min(CHUNK, given.inputs)
    state = (given.seed, samples, chunk, given.judge)
    what = {"seed": given.seed, "chunk": chunk, "judge": given.judge, "samples": sorted(one.name for one in samples)}
    done = _done(given.resume, what)
    total, start = Tally(), time.monotonic()
    for each in done.values():
        total.add(each)
    before = total.inputs
    shares = [number for number in range(-(-given.inputs // chunk)) if number not in done]
    with ExitStack() as stack:
        if given.processes == 1:
            _start(*state)
            made: Iterator[tuple[int, Tally]] = map(numbered, shares)
        else:
            made = stack.enter_context(multiprocessing.Pool(given.processes, _start, state)).imap_unordered(
                numbered, shares
            )
        for number, each in made:
            _keep(given.resume, number, each)
            total.add(each)
    taken = time.monotonic() - start
    print(
        f"{total.inputs:,} inputs ({total.characters / 1e6:,.0f} MB) in {taken:.0f} s, "
        f"{(total.inputs - before) / taken:,.0f} a second, {before:,} before; {total.refused:,} were no output of "
        "their tool any more"
    )
    print("inputs by tool: " + ", ".join(f"{tool} {count:,}" for tool, count in sorted(total.by_tool.items())))
    for number, (kind, count) in enumerate(sorted(total.found.items(), key=lambda item: -item[1]), 1):
        what, text = total.shortest[kind]
        print(f"{number}. {kind[0]}, {count:,} times: {what}\n   {text[-200:]!r}")
        if given.keep:
            given.keep.mkdir(parents=True, exist_ok=True)
            (given.keep / f"{number}-{kind[0]}.txt").write_text(text, encoding="utf-8", errors="surrogateescape")
    print(f"{sum(total.found.values()):,} findings of {len(total.found)} kinds")
    return 1 if total.found else 0


if __name__ == "__main__":
    sys.exit(main())
