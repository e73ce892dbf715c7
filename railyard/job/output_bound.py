"""How much a job may print: the limit in its script, and the sentence of an output that reached it.

Whatever a benchmark prints is written by its launcher (srun, mpirun, mpiexec), or by itself where that hands it its own
output: by a process of the job's script, under each scheduler. So the script sets the kernel's limit on the size of a
file (RLIMIT_FSIZE, setrlimit(2)), which ends the process that would write more (SIGXFSZ). The benchmark's own
processes are given back what they had (``reader.sh``): srun hands limits on to them, and their files may be larger.
"""

from pathlib import Path

from railyard.base.bounds import PRINTED_MOST

#: Bytes of a block of ``ulimit -f``: of bash, in which the scripts of jobs are, and of any other shell (POSIX).
BASH_BLOCK, SH_BLOCK = 1024, 512


def most_bytes() -> int:
    """Return how many bytes a job may print on its output, and as many on its error output."""
    return int(PRINTED_MOST.value * 2**30)


def line(block: int = BASH_BLOCK) -> str:
    """Return the line of a script from which on no process of it writes a larger file.

    Where the machine's own limit is lower, that stays.
    """
    return f"ulimit -S -f {most_bytes() // block} 2> /dev/null || :"


def why_cut(path: Path, name: str) -> str | None:
    """Return the sentence of an output that was ended at the limit; None for a shorter one, or none."""
    try:
        size = path.stat().st_size
    except OSError:
        return None
    if size < most_bytes():
        return None
    most = f"{PRINTED_MOST.value:g} {PRINTED_MOST.unit}"
    return (
        f"{name} was cut at {size:,} bytes: a job prints at most {most} ({PRINTED_MOST.name}), and was ended for more"
    )
