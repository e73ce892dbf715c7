"""Whether any text breaks a parser: random mutations of outputs, each checked against rules that must always hold.

    .venv/bin/python benchmarks/fuzz.py [--inputs 100000] [--processes 2] [--seed 1] [--samples DIR]... [--judge]

An input is an output of a tool with one to three mutations: cut, a byte changed, a line removed, doubled, moved or
swapped with another, a noise line, a number replaced by a hostile one, lines of another tool's output among its own,
all of it twice, sizes shifted, another output mixed in line by line, a unit or a sign changed, rows in another order.
Most inputs are made from a short form of an output, one in fifty from a whole long one (fuzzing/samples.py). The tool's
parser reads every input. One in twenty is also read as `railyard parse` does, which must find the tool, and printed as
JSON and text. A finding is an exception that is not a ParseError, or an ill-formed result (a NaN, a table without rows,
a line outside the text). If an input was only cut, a value that the whole output lacks or a wrongly complete table is a
finding too. If it only got a noise line, any change is. Each kind of finding is shown once, with the shortest input of
its kind.

``--judge`` judges each input as `railyard judge --sizes` does, against a link that the whole output passes. The rule
is: never a pass that the whole output does not have (fuzzing/passing_outputs.py). It makes only mutations that cannot
turn one plausible value into another (``mutations.SEEN``).

``--samples`` adds those files of a folder that the parser of a known tool reads. The same seed gives the same inputs.
``--resume FILE`` keeps each finished share of 1,000 inputs and skips it the next time; with ``--inputs 0`` it shows
what FILE has. Each share has a digest of the code on which it was tried: the parsers, or with ``--judge`` the whole
package. ``--renew`` tries shares of other code again; the last line of FILE for a share counts.
"""

import argparse
import gc
import multiprocessing
import random
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fuzzing.mutations import FEW
from fuzzing.passing_outputs import PassingOutputs, judge_samples
from fuzzing.reading import mutate, whole_way, wrong
from fuzzing.samples import Sample, Samples, load
from fuzzing.tally import FORMAT, Tally, digest_of_code, digest_of_samples, keep, read_shares

SHARE = 1000  # inputs
ALL_TOOLS_ONE_IN = 20
MOST_REMEMBERED = 2_000_000  # inputs, some 200 MB
#: The code that reads an input, and the code that judges it.
PARSERS, ALL = "parsers", "."

_STATE: dict[str, Any] = {"said": {}}
_FEW = frozenset(mutation.__name__ for mutation in FEW)


def _start(seed: int, samples: Samples | PassingOutputs, code: str) -> None:
    _STATE.update(seed=seed, samples=samples, code=code, said={})
    gc.freeze()
    gc.disable()  # collected after each share: the parsers make no cycles


def share(number: int) -> tuple[int, Tally]:
    """Return a share's number and its tally; its inputs follow from the seed and the number."""
    samples = _STATE["samples"]
    dice, tally, start = random.Random(f"{_STATE['seed']}/{number}"), Tally(), time.process_time()
    for place in range(SHARE):
        if isinstance(samples, PassingOutputs):
            _judge_one(dice, samples, tally)
        else:
            _read_one(dice, samples, tally, place % ALL_TOOLS_ONE_IN == 0)
    gc.collect()
    tally.cpu_s = time.process_time() - start
    tally.by_code[_STATE["code"]] = tally.inputs
    return number, tally


def _read_one(dice: random.Random, samples: Samples, tally: Tally, by_all_tools: bool) -> None:
    sample, text, how = mutate(dice, samples)
    tally.count(sample.tool, text, how)
    try:
        said = _ask_once(wrong, sample, text, how, tally)
        if by_all_tools:
            whole_way(text)
    except Exception as error:  # the purpose of a fuzzer: anything that a parser raises is a finding
        said = _format_error(error)
    if said == "refused":
        tally.refused += 1
    elif said:
        kind = re.sub(r"[0-9]+|'[^']*'", "N", said)[:70]
        tally.note((sample.tool, kind), f"{said[:300]} ({' + '.join(how)} of {sample.name})", text)


def _judge_one(dice: random.Random, samples: PassingOutputs, tally: Tally) -> None:
    sample, text, how = samples.mutate(dice)
    tally.count(sample.tool, text, how)
    said = _ask_once(samples.wrong, sample, text, how, tally)
    if said:
        kind = (sample.tool, " + ".join(sorted(how)))
        tally.note(kind, f"{said} ({' + '.join(how)} of {sample.name})", text)


def _ask_once(
    ask: Callable[[Sample, str, tuple[str, ...]], str | None],
    sample: Sample,
    text: str,
    how: tuple[str, ...],
    tally: Tally,
) -> str | None:
    """Return the finding for an input; an input that this process had before is not read again.

    It is used for single mutations that make few texts from an output: nearly every third input of a long run is one.
    """
    said: dict[int, str | None] = _STATE["said"]
    key = hash((sample.name, text, how)) if len(how) == 1 and how[0] in _FEW else None
    if key in said:
        tally.repeated += 1
        return said[key]
    answer = ask(sample, text, how)
    if key is not None and len(said) < MOST_REMEMBERED:
        said[key] = answer
    return answer


def _format_error(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}"


def shares(
    numbers: list[int], processes: int, state: tuple[int, Samples | PassingOutputs, str]
) -> Iterator[tuple[int, Tally]]:
    """Yield each share with its number when it is done, from this many processes."""
    with ExitStack() as stack:
        if processes == 1:
            _start(*state)
            yield from map(share, numbers)
        else:
            pool = stack.enter_context(multiprocessing.Pool(processes, _start, state))
            yield from pool.imap_unordered(share, numbers)


def report(total: Tally, code: str) -> Iterator[str]:
    """Yield the lines that say what was tried and found."""
    yield (
        f"{total.inputs:,} inputs ({total.characters / 1e6:,.0f} MB) in {total.cpu_s:,.0f} s of CPU time, "
        f"{total.inputs / max(total.cpu_s, 1e-9):,.0f} a second; {total.refused:,} were no output of their tool"
    )
    yield f"{total.repeated:,} of them had been made before, word for word, and were not read again"
    yield f"{total.by_code[code]:,} of them were tried on the code as it is now ({code})"
    for name, counts in (("tool", total.by_tool), ("mutation", total.by_mutation)):
        yield f"inputs by {name}: " + ", ".join(f"{each} {count:,}" for each, count in sorted(counts.items()))
    for number, (kind, count) in enumerate(total.found.most_common(), 1):
        what, text = total.shortest[kind]
        yield f"{number}. {kind[0]}, {count:,} times: {what}\n   {text[-200:]!r}"
    yield f"{sum(total.found.values()):,} findings of {len(total.found)} kinds"


def write_findings(folder: Path, total: Tally) -> None:
    """Write the shortest input of each kind of finding to a file of this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (kind, _) in enumerate(total.found.most_common(), 1):
        text = total.shortest[kind][1]
        (folder / f"{number}-{kind[0]}.txt").write_text(text, encoding="utf-8", errors="surrogateescape")


def main() -> int:
    """Print what was tried and found; exit code 1 if something was found."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("--inputs", 100_000), ("--processes", 1), ("--seed", 1)):
        reader.add_argument(option, type=int, default=default)
    reader.add_argument("--samples", type=Path, action="append", default=[], help="a folder of outputs")
    reader.add_argument("--keep", type=Path, help="write the shortest input of each kind of finding to this folder")
    reader.add_argument("--judge", action="store_true", help="judge each input, instead of only reading it")
    reader.add_argument("--resume", type=Path, help="keep the shares that are done in this file, and go on from it")
    reader.add_argument(
        "--renew", action="store_true", help="try again the shares in FILE that other code than today's read"
    )
    given = reader.parse_args()
    loaded = load(given.samples)
    judged = judge_samples(loaded) if given.judge else None
    samples = judged.samples if judged else loaded
    tools = sorted({sample.tool for sample in samples.small})
    counts = f"{len(samples.small)} small samples and {len(samples.long)} long ones"
    print(f"{counts} of {len(tools)} tools: {', '.join(tools)}", flush=True)
    digest, code = digest_of_samples(samples), digest_of_code(ALL if given.judge else PARSERS)
    run = {"format": FORMAT, "seed": given.seed, "share": SHARE, "judge": given.judge, "samples": digest}
    try:
        done = read_shares(given.resume, run)
    except ValueError as error:
        sys.exit(str(error))
    if given.renew:
        done = {number: each for number, each in done.items() if set(each.by_code) == {code}}
    total = Tally()
    for each in done.values():
        total.add(each)
    numbers = [number for number in range(-(-given.inputs // SHARE)) if number not in done]
    for number, each in shares(numbers, given.processes, (given.seed, judged or samples, code)):
        keep(given.resume, number, each)
        total.add(each)
    print("\n".join(report(total, code)))
    if given.keep:
        write_findings(given.keep, total)
    return 1 if total.found else 0


if __name__ == "__main__":
    sys.exit(main())
