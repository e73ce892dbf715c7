"""What nccl-tests and NCCL print besides the tables, as lines for a terminal: jobs, network, NICs, ways, fallbacks."""

from collections import Counter
from collections.abc import Iterable, Sequence

from railyard.base.clean_text import one_line
from railyard.base.wording import count_of, listing
from railyard.parsers.nccl_said import Job, Log, LogSentence, NcclOutput

_MOST = 8


def nccl_lines(said: NcclOutput) -> list[str]:
    """Return the parts of a text: one for the jobs, one for the log; a missing one is left out."""
    return [*_jobs(said.jobs), *_log(said.log)]


def _jobs(jobs: Sequence[Job]) -> list[str]:
    named = [job for job in jobs if job.ranks]
    lines = []
    for job in named[:_MOST]:
        apart = f", separate from that of line {job.separate_from}" if job.separate_from else ""
        where = listing([one_line(host) for host in job.hosts[:4]]) + (" …" if len(job.hosts) > 4 else "")
        program, ranks = one_line(job.benchmark or "no program named"), count_of(len(job.ranks), "rank", ",")
        lines.append(f"  line {job.line}: {program}, {ranks} on {where}{apart}")
    more = [f"  … {len(named) - _MOST:,} more: --json prints them"] if len(named) > _MOST else []
    return ["\n".join([count_of(len(named), "job", ","), *lines, *more])] if named else []


def _log(log: Log | None) -> list[str]:
    if log is None:
        return []
    lines = ["log of NCCL or RCCL"]
    lines += _tally("version", (said.text for said in log.versions))
    lines += _tally("network", (said.text for said in log.networks))
    lines += _tally(
        "NIC", (f"{nic.name}:{nic.port}/{nic.kind}" if nic.port else f"{nic.name}/{nic.kind}" for nic in log.nics)
    )
    lines += _tally("way", (link.transport + ("/GDRDMA" if link.gdr else "") for link in log.links))
    lines += _tally("algorithm", (f"{each.algorithm}/{each.protocol}" for each in log.choices))
    lines += _tally("channels", (said.text for said in log.channels))
    if log.members:
        ranks = {(member.rank, member.ranks) for member in log.members}
        lines.append(f"  communicator: {count_of(len(ranks), 'rank', ',')} of {max(each for _, each in ranks):,}")
    lines += _list_first("fallback", log.fallbacks)
    lines += _list_first("warning", log.warnings)
    return ["\n".join(lines)]


def _tally(what: str, texts: Iterable[str]) -> list[str]:
    """Return "network: IB (16 times)", the most frequent first; nothing if the log has none."""
    counts = Counter(map(one_line, texts)).most_common()
    words = [f"{text} ({count_of(times, 'time', ',')})" for text, times in counts[:_MOST]]
    more = [f"{len(counts) - _MOST} more"] if len(counts) > _MOST else []
    return [f"  {what}: {', '.join([*words, *more])}"] if words else []


def _list_first(what: str, said: Sequence[LogSentence]) -> list[str]:
    firsts: dict[str, LogSentence] = {}
    for each in said:
        firsts.setdefault(each.text, each)
    counts = Counter(each.text for each in said)
    lines = [
        f"  {what}, line {first.line}: {one_line(text)} ({count_of(counts[text], 'time', ',')})"
        for text, first in list(firsts.items())[:_MOST]
    ]
    return lines + ([f"  … {len(firsts) - _MOST} more: --json prints them"] if len(firsts) > _MOST else [])
