"""How fast the parsers read: MB per second of CPU time of each at 1 and 10 MB, and how the time grows.

    .venv/bin/python benchmarks/parsers.py [--repeats 3] [--tools osu,imb] [--large]

The text is an output of the tool, repeated until it has the size: its tables (osu, fabtests, imb, netpipe), or all of
it (every other tool; the longest sample of the tests). Each of a thousand copies has other decimals and GUIDs, so
little is fast only because it was read before; not for iperf2 and lspci, whose copies would contradict themselves. For
pairs it is one table of many nodes. Growth is the time at the largest size over that at 1 MB, divided by the ratio of
the sizes: 1 for a linear parser, 10 per step for a quadratic one. The last column is the speed of `railyard parse` at
1 MB, which asks every parser whether the text is its tool's.
``--large`` adds 100 MB, which takes about 2 GB of memory. The second table is for one line of 1 and of 4 MB among rows,
of the kind that takes each parser longest.
"""

import argparse
import math
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, cycle, islice

from sidebyside import CLONE, RECORDED, in_turns, spread

from railyard.parsers import PARSERS
from railyard.parsers.detect import parse
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.fabric.port import NO_HARDWARE
from railyard.parsers.output import ParsedOutput, ParseError

MADE = CLONE / "tests" / "parsers" / "made"
NETPIPE = CLONE / "tests" / "recordings" / "netpipe3.7.2-pingpong-openmpi4.1.4-veth.out"
#: Written in the form of OSU 7.5: the clone has no recording of OSU.
OSU = "\n# OSU MPI Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n" + "".join(
    f"{2**n:<10}{2**n / 100:20.2f}\n" for n in range(23)
)
#: In the form of fi_pingpong -S all.
FABTESTS = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n" + "".join(
    f"{size:<8}10k     =10k     {size:<10}  {2**n / 1e4:.2f}s {2**n / 3:10.2f} {2**n / 700:11.2f} {7e2 / 2**n:10.2f}\n"
    for n, size in enumerate([*(2**n for n in range(10)), *(f"{2**n}k" for n in range(10)), "1m", "2m", "4m"])
)
EVERY = {**PARSERS, **FABRIC_PARSERS}
MEGABYTE = 10**6
_COPIES = 1000
#: What differs between copies: decimals, one or more before a unit (but not a lane's rate), and the end of a GUID.
_VARIED = re.compile(
    r"(?<=[0-9]\.)(?:[0-9]{2,}(?![0-9]| Gbps)|[0-9](?= (?!Gbps)[A-Za-z%]))|(?<=0x[0-9a-f]{12})[0-9a-f]{4}\b"
)
#: Tools whose parser compares the decimals of a copy with each other, or takes them for an address: no copy is changed.
_UNCHANGED = ("iperf2", "lspci")
_SHORT, _TOO_LONG = 30_000, 0.5  # characters and seconds: a line of a megabyte would take minutes
#: A character or a word to repeat: lines of it may make a pattern read them many times.
LINES = (" ", "1 ", "# ", "9", "a", "-", "1.0 ", "a b ", "0: ", "= ", "[1,0]<stdout>: ", "\t", "=", ".", "#", ":")


def text_of(tool: str, size: int) -> str | None:
    """Return an output of at least this size, in characters; None for a tool without a sample."""
    if tool == "osu":
        return OSU * (size // len(OSU) + 1)
    if tool == "fabtests":
        return FABTESTS * (size // len(FABTESTS) + 1)
    if tool == "pairs":
        return _pairs(size)
    if tool == "imb":
        imb = RECORDED.read_text(encoding="utf-8")
        table = imb[imb.index("#-------", imb.index("# PingPong\n")) : imb.index("# All processes")]
        return imb.replace(table, table * (size // len(table) + 1))
    if tool == "netpipe":
        lines = NETPIPE.read_text(encoding="utf-8").splitlines(keepends=True)
        rows = [line for line in lines if "times -->" in line]
        before, after = lines[: lines.index(rows[0])], lines[lines.index(rows[-1]) + 1 :]
        count = size // len(rows[0]) + 1
        return "".join([*before, *(re.sub(r"^ *\d+", f"{n:3d}", rows[n % len(rows)]) for n in range(count)), *after])
    paths = [*sorted(MADE.glob(f"{tool}-*.txt")), *sorted(MADE.parent.glob(f"fabric/*/{tool}[-.]*"))]
    samples = [path.read_text(encoding="utf-8") for path in paths if "json" not in path.name]
    longest = max(samples, key=len, default="")
    count = size // len(longest) + 1 if longest else 0
    is_varied = tool not in _UNCHANGED
    copies = [_copy(longest, number) if is_varied else longest for number in range(min(count, _COPIES))]
    return "".join(islice(cycle(copies), count)) if copies else None


def _pairs(size: int) -> str:
    """Return what railyard-pairs prints for all pairs of as many ranks as this size needs: a row has 28 bytes."""
    ranks = max(4, math.isqrt(2 * size // 28) + 1)
    rows = [
        f"1 {one} {other} {4000 + one % 97}.{other % 100:02} {4000 + other % 89}.{one % 100:02} 31.20\n"
        for one, other in combinations(range(ranks), 2)
    ]
    hosts = "".join(f"# rank {rank} on n{rank}\n" for rank in range(ranks))
    return (
        f"# railyard-pairs 1 pairs: {ranks} ranks, 1 rounds\n"
        "# size 4194304 window 8 repeats 1 warm-up 1 exchanges 20 of 8 bytes\n"
        f"{hosts}# round first second forward_MB/s backward_MB/s latency_us\n{''.join(rows)}# end: {len(rows)} pairs\n"
    )


def _copy(sample: str, number: int) -> str:
    def other(found: re.Match[str]) -> str:
        base = 16 if len(found[0]) == 4 and found.string[found.start() - 14 : found.start() - 12] == "0x" else 10
        value = (int(found[0], base) + 7 * number) % base ** len(found[0])
        return f"{value:0{len(found[0])}{'x' if base == 16 else 'd'}}"

    return _VARIED.sub(other, sample)


def main() -> None:
    """Print one line per parser for each table."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--repeats", type=int, default=3)
    reader.add_argument("--tools", default=",".join(EVERY), help="names, divided by commas")
    reader.add_argument("--large", action="store_true", help="100 MB too")
    asked = reader.parse_args()
    tools = [tool for tool in asked.tools.split(",") if tool]
    unknown = sorted(set(tools) - set(EVERY))
    if unknown:
        reader.error(f"--tools: {', '.join(unknown)}: no such parser, only {', '.join(EVERY)}")
    sizes = [MEGABYTE, 10 * MEGABYTE, *([100 * MEGABYTE] if asked.large else [])]
    print(
        f"{'parser':<15}" + "".join(f"MB/s at {f'{size // MEGABYTE} MB':<16}" for size in sizes) + "growth  any tool's"
    )
    for tool in tools:
        print(f"{tool:<14} {_speeds(tool, sizes, asked.repeats)}")
    print(f"\n{'parser':<14} s for a line of 1 MB    4 MB     growth  of")
    for tool in tools:
        print(f"{tool:<14} {_longest_line(tool)}")


def _speeds(tool: str, sizes: Sequence[int], repeats: int) -> str:
    texts = {size: text_of(tool, size) for size in sizes}
    measured = {size: text for size, text in texts.items() if text is not None}
    if not measured:
        return "no sample"
    rates = _rates(tool, measured, repeats)
    growth = statistics.median(rates[sizes[0]]) / statistics.median(rates[sizes[-1]])
    told = [_rate(parse, measured[MEGABYTE]) for _ in range(repeats)]
    return "".join(f"{spread(rates[size], 1):<24}" for size in sizes) + f"{growth:<8.2f}{spread(told, 1)}"


def _rates(tool: str, texts: Mapping[int, str], repeats: int) -> dict[int, list[float]]:
    taken = in_turns(repeats, *(lambda text=text: _rate(EVERY[tool], text) for text in texts.values()))
    return dict(zip(texts, taken, strict=True))


def _rate(read: Callable[[str], ParsedOutput], text: str) -> float:
    """Return the MB per second of CPU time for one text; ends the program if nothing was read."""
    start = time.process_time()
    parsed = read(text)
    taken = time.process_time() - start
    is_read = parsed.fabric or parsed.hardware != NO_HARDWARE or any(table.rows for table in parsed.tables)
    if not is_read:
        raise SystemExit(f"{read.__module__}: the parser read no row of {len(text)} characters")
    return len(text) / 1e6 / taken


def _longest_line(tool: str) -> str:
    """Return the seconds for the line that takes longest, at 1 and at 4 MB, and how they grow."""
    text = text_of(tool, 1)
    if text is None:
        return "no sample"
    half = text.index("\n", len(text) // 2) + 1
    for unit in LINES:
        short = _line(tool, text[:half], unit, text[half:], _SHORT)
        if short > _TOO_LONG:
            return f"not linear: {short:.1f} s for a line of {_SHORT // 1000} kB of {unit!r}"
    taken = {unit: _line(tool, text[:half], unit, text[half:], MEGABYTE) for unit in LINES}
    unit = max(taken, key=lambda unit: taken[unit])
    longer = _line(tool, text[:half], unit, text[half:], 4 * MEGABYTE)
    return f"{taken[unit]:<24.3f}{longer:<8.3f} {longer / taken[unit] / 4:<7.2f} {unit!r}"


def _line(tool: str, before: str, unit: str, after: str, size: int) -> float:
    text = f"{before}{unit * (size // len(unit))}x\n{after}"
    start = time.process_time()
    try:
        EVERY[tool](text)
    except ParseError:
        pass  # a text of one line, such as JSON, is invalid with another line; its refusal is timed too
    return time.process_time() - start


if __name__ == "__main__":
    main()
