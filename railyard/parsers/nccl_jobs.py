"""Two jobs in one text that are the same test, each with its own rank 0: they look like one job over all nodes.

A script may also repeat a job on the same GPUs, one run after the other. Then each run stands for itself.
"""

from collections.abc import Sequence
from dataclasses import replace

from railyard.parsers.nccl_said import Job
from railyard.parsers.output import Remark

#: Processes that one command starts at once have numbers closer together than this. A run starts many threads, and
#: each takes a number, so the next run's are farther away.
_STARTED_AT_ONCE = 32


def separate(jobs: Sequence[Job], sources: Sequence[str]) -> tuple[list[Job], list[Remark]]:
    """Return the jobs, each with the separately started job of the same test, and a failure for each such pair.

    ``sources``: the prefix of each job's lines. If one script starts programs one after another, they are other tests,
    have other sizes, or repeat a run on the same GPUs.
    """
    first: dict[str | None, list[tuple[Job, str]]] = {}
    found: list[Job] = []
    failures: list[Remark] = []
    for job, source in zip(jobs, sources, strict=True):
        zero = next((rank for rank in job.ranks if rank.rank == 0), None)
        if zero is None or not job.tables:
            found.append(job)
            continue
        alike = first.setdefault(job.benchmark, [])
        # a run's settings may be above what is left of its output
        before = next(
            (
                each
                for each, prefix in alike
                if not (each.settings and job.settings and each.settings != job.settings)
                and not (prefix == source and _repeats(job, each))
            ),
            None,
        )
        if before is None:
            alike.append((job, source))
            found.append(job)
            continue
        other = next(rank for rank in before.ranks if rank.rank == 0)
        found.append(replace(job, separate_from=before.line))
        failures.append(
            Remark(
                zero.line,
                f"two separate jobs of {job.benchmark or 'one test'} in one file: rank 0 is on {other.host} (pid "
                f"{other.pid}, line {other.line}) and on {zero.host} (pid {zero.pid}, line {zero.line}); each "
                "measured only its own ranks: start one job over all nodes (nccl-tests built with MPI=1), or "
                "give each a file of its own",
            )
        )
    lines = {job.separate_from for job in found}
    return [replace(job, separate_from=job.line) if job.line in lines else job for job in found], failures


def _repeats(job: Job, before: Job) -> bool:
    """Return whether a job ran on the same GPUs as an earlier one, and was not started at the same time."""
    if not job.settings or not before.settings or len(job.ranks) != len(before.ranks):
        return False
    pairs = list(zip(job.ranks, before.ranks, strict=True))
    if any(
        (one.rank, one.host, one.bus_id, one.device) != (two.rank, two.host, two.bus_id, two.device)
        for one, two in pairs
    ):
        return False
    return all(
        one.pid is not None and two.pid is not None and abs(one.pid - two.pid) >= _STARTED_AT_ONCE for one, two in pairs
    )
