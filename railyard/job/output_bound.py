"""How much a job may print: the limit in its script, and the sentence about an output that reached it.

A benchmark's output is written by its launcher (srun, mpirun, mpiexec), or by the benchmark itself if the launcher
passes its own output on: under each scheduler, by a process of the job's script. So the script sets the kernel's limit
on the size of a file (RLIMIT_FSIZE, setrlimit(2)), which ends a process that would write more (SIGXFSZ). ``reader.sh``
gives the benchmark's own processes their earlier limit back: srun passes limits on to them, and their files may be
larger.
"""

from pathlib import Path

from railyard.base.bounds import PRINTED_MOST

#: Bytes per block of ``ulimit -f``: in bash, which runs the scripts of jobs, and in any other shell (POSIX).
BASH_BLOCK, SH_BLOCK = 1024, 512


def most_bytes() -> int:
    """Return how many bytes a job may print on its output, and also on its error output."""
    return int(PRINTED_MOST.value * 2**30)


def line(block: int = BASH_BLOCK) -> str:
    """Return the line of a script after which none of its processes writes a larger file.

    If the machine's own limit is lower, it stays.
    """
    return f"ulimit -S -f {most_bytes() // block} 2> /dev/null || :"


def why_cut(path: Path, name: str) -> str | None:
    """Return the sentence about an output that was ended at the limit; None for a shorter output, or none."""
    try:
        size = path.stat().st_size
    except OSError:
        return None
    if size < most_bytes():
        return None
    most = f"{PRINTED_MOST.value:g} {PRINTED_MOST.unit}"
    return f"{name} was cut at {size:,} bytes: a job may print at most {most} ({PRINTED_MOST.name}), so it was ended"
