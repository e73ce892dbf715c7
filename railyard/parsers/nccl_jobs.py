"""Two jobs in one text that are the same test, each with its own rank 0: they look like one job over all nodes."""

from collections.abc import Sequence
from dataclasses import replace

from railyard.parsers.nccl_said import Job
from railyard.parsers.parsed import Remark


def separate(jobs: Sequence[Job]) -> tuple[list[Job], list[Remark]]:
    """Return the jobs, each with the separately started job of the same test, and a failure for each such pair.

    If one script starts programs one after another, they are other tests or have other sizes.
    """
    first: dict[str | None, list[Job]] = {}
    found: list[Job] = []
    failures: list[Remark] = []
    for job in jobs:
        zero = next((rank for rank in job.ranks if rank.rank == 0), None)
        if zero is None or not job.tables:
            found.append(job)
            continue
        alike = first.setdefault(job.benchmark, [])
        # a run's settings may be above what is left of its output
        before = next(
            (each for each in alike if not (each.settings and job.settings) or each.settings == job.settings), None
        )
        if before is None:
            alike.append(job)
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
