"""The lines of a job that measure suspects again after all pairs, each alone, in the same allocation.

The shell asks ``railyard pairs next`` what to measure, until that says nothing; a healthy run asks once. Whatever fails
here fails nothing: the run is then judged by its first measurement, and says that nobody was measured again.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence

ROUNDS = "rounds.txt"
ROUNDS_OF_TWO = "rounds-of-two.txt"
SWITCHES = "switches.txt"
ALONE = "alone"
#: Steps after the first, at most: sifting, sides, and alone (``railyard.verdict.blame.search``).
STEPS = tuple(f"again-{number}" for number in range(1, 13))
RAIL_ROUNDS = "again-rails.txt"


def rail_output(rail: str) -> str:
    """Return the name of the file that has a rail's measurement alone."""
    return f"again-{rail.replace(':', '.')}.out"


def lines(
    output: str,
    launch: str,
    program: Sequence[str],
    words: Sequence[str],
    rails: Mapping[str, str],
    asking: Sequence[str],
) -> list[str]:
    """Return the lines: the steps over all rails at once, then each of ``rails`` (name: its launch) by itself.

    ``launch`` is the job's own launch, ``program`` the executable and what it is told to call itself, as the shell has
    them, ``words`` what follows a file of rounds, ``asking`` the options of ``railyard pairs``.
    """
    railyard = f"{shlex.quote(sys.executable)} -m railyard pairs"
    run, rest, options = " ".join(program), " ".join(words), " ".join(asking)
    steps = " ".join(STEPS)
    asked = f"{railyard} next {options}"
    made = [
        f"made={shlex.quote(output)}",
        f"for step in {steps}; do {asked} $made > $step.txt 2> $step.err && [ -s $step.txt ] || break; "
        f'{launch} {run} $step.txt {rest} > $step.out 2>&1 || break; made="$made $step.out"; done',
    ]
    if len(rails) > 1:
        made.append(f"{railyard} rails {options} $made > {RAIL_ROUNDS} 2> again-rails.err || :")
        for rail, its_launch in rails.items():
            out = shlex.quote(rail_output(rail))
            made.append(f"[ ! -s {RAIL_ROUNDS} ] || {its_launch} {run} {RAIL_ROUNDS} {rest} > {out} 2>&1 || :")
    return made


def env_words(job: Mapping[str, str], alone: Mapping[str, str]) -> str:
    """Return ``env …`` that makes the variables of the job those of a rail alone; empty where they are the same."""
    gone = [f"-u {name}" for name in job if name not in alone]
    changed = [f"{name}={shlex.quote(value)}" for name, value in alone.items() if job.get(name) != value]
    return " ".join(["env", *gone, *changed]) if gone or changed else ""
