"""What a stand-in was asked to measure, from its own name and words, read as the real program would read them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from railyard.base.errors import RailyardError
from railyard.benchmarks.moved_bytes import Repetitions
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.osu import BUFFERS
from railyard.benchmarks.table.perftest import BIDIRECTIONAL, DEVICE

#: OSU's own defaults: repetitions at sizes up to 8 KiB, and warm-ups.
_OSU_REPETITIONS, _OSU_WARM_UPS, _OSU_WINDOW, _OSU_SIZES = 1000, 100, 64, "1:4194304"
#: OSU's default (-u): untimed repetitions before each one whose data it checks.
_OSU_CHECK_WARM_UPS = 5
_ENDS = {"D": "DEVICE", "H": "HOST"}
_PERFTEST_ITERATIONS, _PERFTEST_POWERS = 1000, range(1, 24)
#: Source: main of utils/write_bw.c, libcxi of 2025.
_CXI_SIZE, _CXI_ITERATIONS, _CXI_LIST = 65536, 1000, 256
#: Source: README of nccl-tests 2.19.
_NCCL_ITERATIONS, _NCCL_WARM_UPS = 20, 1
_FABTESTS_SIZES = (0, *(1 << power for power in range(23)), *(3 << power for power in range(1, 21)))


@dataclass(frozen=True, slots=True)
class BenchmarkRequest:
    """A benchmark with its sizes in bytes and how often each is repeated.

    ``told``: the repetitions of a tool that does not print them. ``window``: messages in flight, None for the tool's
    own. ``amount_bytes``: what a stream is to move, if its words say so.
    """

    key: str
    sizes: tuple[int, ...] = ()
    repetitions: tuple[int, ...] = ()
    told: Repetitions | None = None
    window: int | None = None
    passes: int = 1
    validated: bool = False
    amount_bytes: int = 0
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def tool(self) -> str:
        """The tool that has the benchmark."""
        return self.key.partition("/")[0]


def parse_words(tool: str, program: str, words: Sequence[str], folder: Path) -> BenchmarkRequest:
    """Return what a micro-benchmark was asked; it runs in ``folder`` and reads its files there.

    Raises RailyardError for a tool or a benchmark without a stand-in, and for words that the stand-in does not take.
    """
    reads = _READS.get(tool)
    if reads is None:
        raise RailyardError(f"the rehearsal has no stand-in for {tool}: it has them for {', '.join(_READS)}")
    found = reads(program, list(words), folder)
    if found.key not in micro.BENCHMARKS:
        raise RailyardError(f"the rehearsal has no stand-in for {found.key}: railyard matrix lists those that it has")
    return found


def _osu(program: str, words: list[str], folder: Path) -> BenchmarkRequest:
    said = _options(words, flags="c")
    smallest, largest = (int(end) for end in said.get("-m", _OSU_SIZES).split(":"))
    count = int(said.get("-i", _OSU_REPETITIONS))
    again = 1 + int(said.get("-u", _OSU_CHECK_WARM_UPS)) if "-c" in said else 1
    told = Repetitions(count * again, int(said.get("-x", _OSU_WARM_UPS)) * again)
    sizes = tuple(smallest << n for n in range((largest // max(1, smallest)).bit_length()))
    ends = tuple(_ENDS[word] for word in words if word in _ENDS) if "-d" in said else ()
    if "-d" in said and not ends and f"osu/{program}/{BUFFERS['DEVICE', 'DEVICE']}" in micro.BENCHMARKS:
        ends = ("DEVICE", "DEVICE") if micro.find(f"osu/{program}").metrics[0].shape == "collective" else ends
    benchmark = micro.find("/".join(["osu", program, *([BUFFERS[ends]] if ends in BUFFERS else [])]))
    if not benchmark.payload:
        sizes = (0,)
    window = int(said.get("-W", _OSU_WINDOW)) if _has_window(benchmark.key) else None
    return BenchmarkRequest(benchmark.key, sizes, (count,) * len(sizes), told, window, 1, "-c" in said, 0, said)


def _imb(program: str, words: list[str], folder: Path) -> BenchmarkRequest:
    first = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    names, said = words[:first], _options(words[first:])
    if not names or len(set(names)) > 1:
        raise RailyardError(f"IMB: found the benchmarks {' '.join(names) or '(none)'}, expected one, or one repeated")
    text = (folder / said["-msglen"]).read_text(encoding="utf-8") if "-msglen" in said else "0 1 1024 1048576"
    sizes = tuple(int(word) for word in text.split())
    count, _, volume = said.get("-iter", "1000,40").partition(",")
    bound = int(volume or 40) << 20
    counts = tuple(min(int(count), max(1, bound // size)) if size else int(count) for size in sizes)
    window = int(said.get("-window_size", 256)) if _has_window(f"imb/{names[0]}") else None
    return BenchmarkRequest(f"imb/{names[0]}", sizes, counts, None, window, len(names), False, 0, said)


def _netpipe(program: str, words: list[str], folder: Path) -> BenchmarkRequest:
    said = _options(words, flags="s2a")
    name = "bidirectional" if "-2" in said else "stream" if "-s" in said else "pingpong"
    smallest, largest = int(said.get("-l", 1)), int(said.get("-u", 1 << 22))
    doubled = [smallest << n for n in range((largest // smallest).bit_length())]
    both = sorted({size for each in doubled for size in (each, each * 3 // 2) if size <= largest})
    return BenchmarkRequest(f"netpipe/{name}", tuple(both), (int(said.get("-n", 100)),) * len(both), words=said)


def _perftest(program: str, words: list[str], folder: Path) -> BenchmarkRequest:
    said = _options(words, flags="abF")
    sizes = tuple(1 << power for power in _PERFTEST_POWERS) if "-a" in said else (int(said.get("-s", 65536)),)
    key = f"perftest/{program}" + (f"/{BIDIRECTIONAL}" if "-b" in said else "")
    key += f"/{DEVICE}" if {"--use_cuda", "--use_rocm"} & set(said) else ""
    return BenchmarkRequest(key, sizes, (int(said.get("-n", _PERFTEST_ITERATIONS)),) * len(sizes), words=said)


def _iperf3(program: str, words: list[str], folder: Path) -> BenchmarkRequest:
    said = _options(words, flags="Js1")
    streams = int(said.get("-P", 1))
    key = "iperf3/iperf3" if streams == 1 else f"iperf3/iperf3/{streams}-streams"
    return BenchmarkRequest(key, (int(said.get("-l", 131072)),), (1,), amount_bytes=int(said.get("-n", 0)), words=said)


def _fabtests(program: str, words: list[str], folder: Path) -> BenchmarkRequest:
    said = _options(words)
    sizes = tuple(sorted(_FABTESTS_SIZES)) if said.get("-S", "all") == "all" else (int(said["-S"]),)
    return BenchmarkRequest(f"fabtests/{program}", sizes, (int(said.get("-I", 10)),) * len(sizes), words=said)


def _cxi(program: str, words: list[str], folder: Path) -> BenchmarkRequest:
    said = _options(words, flags="b")
    smallest, _, largest = said.get("-s", str(_CXI_SIZE)).partition(":")
    first, last = int(smallest), int(largest or smallest)
    sizes = tuple(first << n for n in range((last // first).bit_length()))
    key = f"cxi/{program}" + (f"/{BIDIRECTIONAL}" if "-b" in said else "")
    listed = int(said.get("-l", _CXI_LIST))
    # It prints single writes: a list for each iteration.
    writes = int(said.get("-n", _CXI_ITERATIONS)) * listed
    return BenchmarkRequest(key, sizes, (writes,) * len(sizes), window=listed, words=said)


def _nccl(program: str, words: list[str], folder: Path) -> BenchmarkRequest:
    said = _options(words)
    smallest, largest = int(said.get("-b", 32 << 20)), int(said.get("-e", 32 << 20))
    factor = int(said.get("-f", 2))
    sizes = [smallest]
    while factor > 1 and sizes[-1] * factor <= largest:
        sizes.append(sizes[-1] * factor)
    told = Repetitions(int(said.get("-n", _NCCL_ITERATIONS)), int(said.get("-w", _NCCL_WARM_UPS)))
    is_checked = said.get("-c", "1") != "0"
    return BenchmarkRequest(
        f"nccl/{program}", tuple(sizes), (told.measured,) * len(sizes), told, None, 1, is_checked, 0, said
    )


def _pairs(program: str, words: list[str], folder: Path) -> BenchmarkRequest:
    if len(words) != 7:
        expected = "NAME ROUNDS SIZE WINDOW REPEATS WARM-UP EXCHANGES"
        raise RailyardError(f"railyard-pairs: found {len(words)} words, expected {expected}")
    name, rounds, size, window, repeats, warm_up, exchanges = words
    said = {"name": name, "rounds": rounds, "warm_up": warm_up, "exchanges": exchanges}
    of = name if name in ("pairs", "bisection", "groups", "onnode") else "pairs"
    return BenchmarkRequest(f"pairs/{of}", (int(size),), (int(repeats),), None, int(window), words=said)


_READS: Mapping[str, Callable[[str, list[str], Path], BenchmarkRequest]] = {
    "osu": _osu,
    "imb": _imb,
    "netpipe": _netpipe,
    "perftest": _perftest,
    "iperf3": _iperf3,
    "fabtests": _fabtests,
    "cxi": _cxi,
    "nccl": _nccl,
    "pairs": _pairs,
}
#: Tools with message sizes that have a stand-in.
KNOWN = frozenset(_READS)


def _has_window(key: str) -> bool:
    traffic = micro.find(key).traffic
    return traffic is not None and traffic.window is not None


def _options(words: list[str], flags: str = "") -> dict[str, str]:
    """Return options by name: options with a letter in ``flags`` have no value, all others have one after them."""
    found: dict[str, str] = {}
    waiting = ""
    for word in words:
        if waiting:
            found[waiting], waiting = word, ""
        elif word.startswith("-") and len(word) == 2 and word[1] in flags:
            found[word] = ""
        elif word.startswith("--") and "=" in word:  # perftest's --tclass=106
            name, _, value = word.partition("=")
            found[name] = value
        elif word.startswith("-"):
            waiting = word
        else:
            found.setdefault("", word)
    return found


def program_of(path: str) -> str:
    """Return a program's name from its path."""
    return PurePath(path).name
