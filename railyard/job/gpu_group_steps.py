"""The lines of a job that measure each rail after a run of nccl-tests in groups, if its slowest group is too slow.

A run in groups prints one figure for all groups. So the same launch runs once more for each GPU of a node, with that
GPU as the first one that its processes see: nccl-tests prints the time of rank 0, which is in that GPU's group
(``-a 0``). ``railyard pairs groups`` says whether that is needed; a healthy run asks once. A failure here does not
fail the run.
"""

import shlex
import sys
from collections.abc import Sequence

BEGUN = "begun.txt"
#: How long one of these runs may take, and what the job's end needs, in seconds.
STEP_S, END_S = 45, 15
#: What a run's output begins with.
SAYS = "# railyard: rail of GPU "


def output_of(gpu: int) -> str:
    """Return the name of the file with the run in which a GPU is the first."""
    return f"again-gpu{gpu}.out"


def begin_lines() -> list[str]:
    """Return the line before the run: when the job began."""
    return [f"date +%s > {BEGUN}"]


def lines(output: str, launch: str, program: Sequence[str], gpus: int, least_mb_s: float, limit_s: int) -> list[str]:
    """Return the lines after the run; ``launch`` is the job's own, ``program`` has its words too, as shell words.

    ``least_mb_s`` is the least that the slowest group must give at its largest size; ``limit_s`` is the job's limit.
    """
    asked = f"{shlex.quote(sys.executable)} -m railyard pairs groups --expected {least_mb_s!r} {shlex.quote(output)}"
    last_s = limit_s - STEP_S - END_S
    visible = [",".join(str((first + n) % gpus) for n in range(gpus)) for first in range(gpus)]
    run = " ".join(program)
    spent = f"[ ! -s groups.txt ] || [ $(($(date +%s) - $(cat {BEGUN}))) -gt {last_s} ]"
    starts = f"timeout -k 5 {STEP_S} {launch} env"
    made = [f"{asked} > groups.txt 2> groups.err || :"]
    for gpu, own in enumerate(visible):
        one = f"echo '{SAYS}{gpu}'; {starts} CUDA_VISIBLE_DEVICES={own} {run}"
        made.append(f"{spent} || {{ {one}; }} > {output_of(gpu)} 2>&1 || :")
    return made
