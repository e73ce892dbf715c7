"""The lines of a job that measure suspects again after the test of all pairs, each alone, in the same allocation.

The shell asks ``railyard pairs next`` what to measure, until that prints nothing; a healthy run asks once. A failure
here does not fail the run: the run is then judged by its first measurement, and says that nothing was measured again.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railyard.parsers.pairs import SAMPLE

#: What each pair sends: messages of one size, at which every link's limit holds, and how many in flight.
SIZE_BYTES, WINDOW = 4 << 20, 8
#: How long a stream should last at the fabric's own rate, in seconds. It sets the number of windows.
STREAM_S = 0.1
#: Messages before the timed ones; 8-byte messages there and back, for the latency.
WARM_UP, EXCHANGES = 1, 20
#: The time of a round besides its two streams, in seconds: estimates. All ranks meet four times: one after the other,
#: they reach the first rank, which may be asleep for half a millisecond.
_MEETINGS, _ASLEEP_S, _A_RANK_S = 4, 0.0005, 2e-6
#: The time of a launch until its first round, in seconds, and the share of each node: estimates.
_LAUNCH_S, _LAUNCH_A_NODE_S = 5.0, 0.005

ROUNDS = "rounds.txt"
ROUNDS_OF_TWO = "rounds-of-two.txt"
SWITCHES = "switches.txt"
#: Files of a sample: the job's nodes, one per line, the first rank's node first; and the pairs of earlier nights.
NODES, USED = "sample-nodes.txt", "sample-used.txt"
#: The most steps after the first: sifting, sides, and alone (``railyard.verdict.blame.search``).
STEPS = tuple(f"again-{number}" for number in range(1, 13))
RAIL_ROUNDS = "again-rails.txt"


def words(size: int, window: int, exchanges: int, rate_mb_s: float | None, stream_s: float = STREAM_S) -> list[str]:
    """Return the words after a file of rounds: sizes, and windows that last ``stream_s`` at a rate, at least 1."""
    repeats = max(1, round((rate_mb_s or 0.0) * 1e6 * stream_s / (size * window)))
    return [str(size), str(window), str(repeats), str(WARM_UP), str(exchanges)]


def round_seconds(said: Sequence[str], rate_mb_s: float | None, nodes: int) -> float:
    """Return an estimate of how long a healthy round of so many nodes lasts with the program's words (``words``).

    If the rate is unknown, as long as at 100 MB/s.
    """
    size, window, repeats, warm_up, _ = map(int, said)
    streams_s = 2 * size * (window * repeats + warm_up) / ((rate_mb_s or 100.0) * 1e6)
    return streams_s + _MEETINGS * (_ASLEEP_S + nodes * _A_RANK_S)


def launch_seconds(nodes: int) -> float:
    """Return an estimate of how long a launch over so many nodes takes until its first round."""
    return _LAUNCH_S + nodes * _LAUNCH_A_NODE_S


def rail_output(rail: str) -> str:
    """Return the name of the file with the measurement of one rail alone."""
    return f"again-{rail.replace(':', '.')}.out"


def lines(
    output: str,
    launch: str,
    program: Sequence[str],
    words: Sequence[str],
    rails: Mapping[str, str],
    asking: Sequence[str],
) -> list[str]:
    """Return the lines: the steps over all rails at once, then over each of ``rails`` (name: its launch) alone.

    ``launch`` is the job's own launch, ``program`` the executable and the name that it should print, both as shell
    words, ``words`` are the words after a file of rounds, ``asking`` the options of ``railyard pairs``.
    """
    railyard = f"{shlex.quote(sys.executable)} -m railyard pairs"
    run, rest, options = " ".join(program), " ".join(words), " ".join(asking)
    steps = " ".join(STEPS)
    asked = f"{railyard} next {options}"
    made = [
        *printed_so_far(output),
        f"for step in {steps}; do {asked} $made > $step.txt 2> $step.err && [ -s $step.txt ] || break; "
        f'{launch} {run} $step.txt {rest} > $step.out 2>&1 || break; made="$made $step.out"; done',
    ]
    if len(rails) > 1:
        made.append(f"{railyard} rails {options} $made > {RAIL_ROUNDS} 2> again-rails.err || :")
        for rail, its_launch in rails.items():
            out = shlex.quote(rail_output(rail))
            made.append(f"[ ! -s {RAIL_ROUNDS} ] || {its_launch} {run} {RAIL_ROUNDS} {rest} > {out} 2>&1 || :")
    return made


def printed_so_far(output: str) -> list[str]:
    """Return the lines that set ``made`` to the file with what the job has printed so far, ``output`` at its end.

    PBS keeps what a job prints elsewhere until its end, so the script's own descriptor names the file.
    """
    return [f"made={shlex.quote(output)}", "[ ! -f /proc/$$/fd/1 ] || made=/proc/$$/fd/1"]


def plan_sample(asking: Sequence[str], lists_nodes: str | None) -> list[str]:
    """Return the lines of a job that plan its sample; ``lists_nodes`` prints its nodes, None if they are known."""
    listed = [] if lists_nodes is None else [f"{lists_nodes} > {NODES}"]
    return [*listed, f"{_asks_next(asking)} --first {NODES} > {ROUNDS} || exit 65"]


def _asks_next(asking: Sequence[str]) -> str:
    return f"{shlex.quote(sys.executable)} -m railyard pairs next --sample {' '.join(asking)}"


@dataclass(frozen=True, slots=True)
class Sample:
    """How a job measures a sample of all pairs: its launches, the program, and the program's words.

    ``launch`` is the job's own launch and ``rails`` the launch over each rail alone, as shell words; ``program`` is the
    executable. ``words`` follow a file of rounds of the sample, ``again_words`` follow one of a later step. ``asking``
    are the options of ``railyard pairs next``. After ``budget_s`` seconds no new step begins.
    """

    launch: str
    rails: Mapping[str, str]
    program: str
    words: Sequence[str]
    again_words: Sequence[str]
    asking: Sequence[str]
    budget_s: float

    def after(self, output: str) -> list[str]:
        """Return the lines that measure the steps after the first one. The rows of the first are in ``output``."""
        again = " ".join(self.again_words)
        over = [f"'') {self.launch} {self.program} \"$name\" $step.txt {again} ;;"]
        over += [
            f'{shlex.quote(rail)}) {its_launch} {self.program} "$name" $step.txt {again} ;;'
            for rail, its_launch in self.rails.items()
        ]
        sample = f"{self.launch} {self.program} {SAMPLE} $step.txt {' '.join(self.words)}"
        asked = _asks_next(self.asking)
        return [
            *printed_so_far(output),
            # From an earlier measurement in this folder.
            f"rm -f {' '.join(f'{step}.out' for step in STEPS)}",
            "measure_step() {",
            "    name=$(sed -n 's/^# name //p' $step.txt) over=$(sed -n 's/^# over //p' $step.txt)",
            f'    if [ "$name" = {SAMPLE} ]; then {sample}; return; fi',
            '    case "$over" in',
            *(f"        {line}" for line in over),
            "        *) return 65 ;;",
            "    esac",
            "}",
            f"for step in {' '.join(STEPS)}; do [ $SECONDS -lt {self.budget_s:.0f} ] || break; "
            f"{asked} $made > $step.txt 2> $step.err && [ -s $step.txt ] || break; "
            'measure_step > $step.out 2>&1 || break; made="$made $step.out"; done',
        ]


def env_words(job: Mapping[str, str], alone: Mapping[str, str]) -> str:
    """Return ``env …``, which changes the job's variables to those of a rail alone; empty if they are the same."""
    gone = [f"-u {name}" for name in job if name not in alone]
    changed = [f"{name}={shlex.quote(value)}" for name, value in alone.items() if job.get(name) != value]
    return " ".join(["env", *gone, *changed]) if gone or changed else ""
