"""What Grid Engine says about jobs, queues and nodes: how a job ended, why it waits, and who can run none. Pure.

It reads ``qstat -xml -g t``, which knows a job until it ends, ``qacct -j``, which knows it from then on, and what
``qstat -j`` and ``qalter -w v`` say of one that waits. Sources: qstat(1), qacct(1), sge_status(5) and
sge_accounting(5) of Grid Engine 8.1.9, and what that release printed (``tests/recordings/sge``).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Literal
from xml.etree import ElementTree

from railyard.base.hostlist import label
from railyard.base.wording import listing
from railyard.parsers.job_end import JobEnd, reason_words, suspended_end


@dataclass(frozen=True, slots=True)
class SgeJob:
    """One job that has not ended: ``state`` is Grid Engine's own (``qw``, ``r``, ``dr``, ``Eqw``).

    ``nodes`` has its nodes, first the one that runs its script; empty while it waits.
    """

    job: str
    state: str
    nodes: tuple[str, ...] = ()

    @property
    def phase(self) -> Literal["waits", "runs"]:
        """Whether it waits, or has its nodes."""
        return "waits" if "q" in self.state else "runs"

    @property
    def has_error(self) -> bool:
        """Whether Grid Engine could not start it, and will not try again."""
        return self.state.startswith("E")

    @property
    def is_deleted(self) -> bool:
        """Whether somebody deleted it, and its processes are being ended."""
        return self.state.startswith("d")


def parse_job(text: str, job: str) -> SgeJob | None:
    """Return a job from ``qstat -xml -g t``; None if it is not there: unknown, or over."""
    rows = [row for row in _elements(text, "job_list") if row.findtext("JB_job_number") == job]
    if not rows:
        return None
    # One row for each of its tasks that can start processes, and one for its script.
    rows.sort(key=lambda row: row.findtext("master") != "MASTER")
    places = (row.findtext("queue_name") or "" for row in rows)
    nodes = dict.fromkeys(node for place in places if (node := place.partition("@")[2]))
    return SgeJob(job, rows[0].findtext("state") or "", tuple(nodes))


@dataclass(frozen=True, slots=True)
class SgeAccount:
    """What a job left in the accounts: ``failed`` is 0, or the number of what went wrong, ``problem`` its words.

    ``exit_status`` is that of its script, ``wallclock_s`` how long that ran, and ``limit_s`` its own limit (h_rt), None
    without one; in seconds. ``has_run``: its script was started. ``node`` is where; ``submitted_s`` is when it was
    submitted, or started again, in seconds since 1970; None if its account does not say that.
    """

    job: str
    owner: str
    node: str
    submitted_s: float | None
    failed: int
    problem: str
    exit_status: int
    wallclock_s: float
    limit_s: int | None
    has_run: bool

    @property
    def exit_code(self) -> int | None:
        """The exit code of its script, as a shell has it; None if the script never began."""
        return self.exit_status if self.has_run else None


_FIELD = re.compile(r"^(\w+) +(.*?) *$", re.MULTILINE)
_LIMIT = re.compile(r"\bh_rt=(?:(?:(\d+):)?(\d+):)?(\d+)\b")
#: ``Mon Nov 30 06:13:22 2026``
_TIME = re.compile(
    r"\w+ (?P<month>\w{3}) +(?P<day>\d+) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d) (?P<year>\d{4})"
)
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
#: How much earlier than here a job's submission may be in its account, in seconds: clocks differ, and local time has
#: one hour twice a year.
_CLOCKS_APART_S = 4000.0


def parse_account(text: str, job: str, owner: str, since_s: float, node: str | None = None) -> SgeAccount | None:
    """Return what ``qacct -j JOB`` says of a job of this owner; None if it says nothing.

    ``since_s`` is when the job was submitted, in seconds since 1970: numbers of jobs begin again, and accounts are kept
    for years. ``node`` is the one that runs its script, if that is known.

    There is a record for each attempt to start it and, in some parallel environments, for its processes on each node.
    Its own comes after those of its processes. A job that could not be started may have a record without any time: that
    one counts if there is no other, and may be of an earlier job.
    """
    records = [dict(_FIELD.findall(part)) for part in re.split(r"^=+$", text, flags=re.MULTILINE)]
    every = [record for record in map(_account, records) if record is not None]
    own = [record for record in every if (record.job, record.owner) == (job, owner)]
    dated = [each for each in own if each.submitted_s is not None and each.submitted_s >= since_s - _CLOCKS_APART_S]
    found = dated or [record for record in own if record.submitted_s is None]
    there = [record for record in found if node is not None and label(record.node) == label(node)]
    return next(reversed(there or found), None)


def _account(record: dict[str, str]) -> SgeAccount | None:
    code, _, problem = record.get("failed", "").partition(":")
    status = re.match(r"\d+", record.get("exit_status", ""))
    wallclock = re.match(r"\d+(?:\.\d+)?", record.get("ru_wallclock", ""))
    if status is None or not code.strip().isdigit():
        return None
    limit = _LIMIT.search(record.get("category", ""))
    return SgeAccount(
        record.get("jobnumber", ""),
        record.get("owner", ""),
        record.get("hostname", ""),
        _seconds(record.get("qsub_time", "")),
        int(code),
        problem.strip(),
        int(status[0]),
        float(wallclock[0]) if wallclock else 0.0,
        sum(int(part or 0) * unit for part, unit in zip(limit.groups(), (3600, 60, 1), strict=True)) if limit else None,
        not record.get("start_time", "-").startswith("-"),
    )


def _seconds(text: str) -> float | None:
    """Return a local time in seconds since 1970; None for 1970 itself, which means no time, and for another form."""
    found = _TIME.fullmatch(text)
    if found is None or found["month"] not in _MONTHS or int(found["year"]) <= 1970:
        return None
    month = _MONTHS.index(found["month"]) + 1
    day, hour, minute, second = (int(found[name]) for name in ("day", "hour", "minute", "second"))
    try:
        return datetime(int(found["year"]), month, day, hour, minute, second).timestamp()
    except (ValueError, OverflowError):
        return None


#: Grid Engine ended it for its time, or for another of its limits.
_AT_A_LIMIT = 37
#: It ran, and a signal ended it, or something else after its start.
_AFTER_START = 100
#: The exit status of what a signal ended begins after this number.
_BY_SIGNAL = 128
#: How many seconds before a job's limit another of its nodes may end its own part.
_APART_S = 5.0


def find_end(account: SgeAccount, nodes: Sequence[str], is_deleted: bool = False) -> JobEnd | None:
    """Return how a job ended, None if its script ran to its end.

    ``is_deleted``: it was seen while it was being deleted. Grid Engine does that at the time limit, and also to what is
    left of a job whose script has ended. So neither that nor its account tells a job that somebody deleted from one
    whose script a signal of another origin ended: the sentence says both.
    """
    where, failed = f" on {listing(list(nodes))}" if nodes else "", account.failed
    job, words = f"job {account.job}", reason_words(f"failed {failed}: {account.problem}" if failed else None)
    is_over = account.limit_s is not None and account.wallclock_s >= account.limit_s - _APART_S
    by_signal = account.exit_status > _BY_SIGNAL
    if failed == _AT_A_LIMIT and not is_over:
        return JobEnd("limit", f"{job} was killed at a limit other than its time{where}{words}")
    if failed == _AT_A_LIMIT or (is_over and (is_deleted or (failed == _AFTER_START and by_signal))):
        return JobEnd("time", f"{job} was killed at its time limit{where}{words}")
    if not failed:
        return None
    if failed == _AFTER_START and by_signal:
        by = f"its script ended by signal {account.exit_status - _BY_SIGNAL}"
        return JobEnd("cancelled", f"{job} was cancelled{where}, or a process killed it: {by}{words}")
    return JobEnd("cancelled", f"{job} was ended by Grid Engine{where}{words}")


def deleted_end(job: str, nodes: Sequence[str]) -> JobEnd:
    """Return the end of a job that is gone and has no account: one that was deleted before it began, or by force."""
    where = f" on {listing(list(nodes))}" if nodes else " before it began"
    return JobEnd("cancelled", f"job {job} was cancelled{where}: qacct knows nothing of it")


def requeued_end(job: SgeJob) -> JobEnd:
    """Return the end of a job that is started again.

    This happens to each job whose script ends with exit code 99, even with ``-r n``.
    """
    return JobEnd("requeued", f"job {job.job} was requeued: what it left may be of two runs{reason_words(job.state)}")


_STATES_OF_PAUSE = frozenset("sST")


def find_unfit_run(job: SgeJob) -> JobEnd | None:
    """Return why a job measures nothing: it is suspended, or runs again; None if it waits, runs or is being deleted."""
    if job.is_deleted:
        return None
    if "R" in job.state:
        return requeued_end(job)
    return suspended_end(job.job) if _STATES_OF_PAUSE.intersection(job.state) else None


_ERROR = re.compile(r"^error reason +\d+: +(.+)$", re.MULTILINE)
#: The beginning of the first line of why a job waits, and of those below it, which are indented as far.
_INFO, _MORE_INFO = "scheduling info:", " " * 20


def find_error(text: str) -> str | None:
    """Return why Grid Engine could not start a job, from ``qstat -j JOB``; None if it does not say."""
    found = _ERROR.findall(text)
    return found[-1].strip() if found else None


def find_reasons(text: str) -> str | None:
    """Return why a job waits, from ``qstat -j JOB``; None if it does not say (``schedd_job_info`` is off)."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if line.startswith(_INFO):
            below = takewhile(lambda each: each.startswith(_MORE_INFO), lines[index + 1 :])
            return _in_one_line([line.removeprefix(_INFO), *below])
    return None


_SILENT = "There are no messages available"
#: ``Job 7 (-l exclusive=true) cannot run in queue "vn1" because it offers only hc:exclusive=false``
_OF_A_QUEUE = re.compile(r' in queue "[^"]+"(?= because )')
_OF_A_JOB = re.compile(r"^Job \d+ (?=cannot |\(-l )")
_MOST_REASONS = 3


def _in_one_line(lines: Sequence[str]) -> str | None:
    """Return reasons as one line, at most three; one that all queues have is there once, without their names."""
    said = (line.strip() for line in lines)
    plain = (_OF_A_JOB.sub("", _OF_A_QUEUE.sub("", line)) for line in said if line and line != _SILENT)
    return "; ".join(list(dict.fromkeys(plain))[:_MOST_REASONS]) or None


_NO_QUEUE = "verification: no suitable queues"
_IN_USE = "is already in use"


def why_never(text: str) -> str | None:
    """Return why a job can never run, from ``qalter -w v JOB``; None if it can, or if that is not certain.

    That command looks at a cluster without jobs, but takes an exclusive resource that a job uses now for one that is
    missing. So it is certain only if no reason is one of these.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if _NO_QUEUE not in lines or any(_IN_USE in line for line in lines):
        return None
    return _in_one_line([line for line in lines if line != _NO_QUEUE]) or "no suitable queues"


@dataclass(frozen=True, slots=True)
class Place:
    """A queue on a node: ``state`` has a letter for each thing that is wrong, ``message`` what is said of it."""

    queue: str
    node: str
    state: str
    message: str | None = None

    @property
    def is_silent(self) -> bool:
        """Whether the node's sge_execd does not answer."""
        return "u" in self.state

    @property
    def unfit(self) -> str | None:
        """Why no job can begin there, in words; None if one can, now or when another job has ended."""
        found = [words for letter, words in _STATES.items() if letter in self.state]
        if not found:
            return None
        return f"{self.queue} is {' and '.join(found)} there (state {self.state})" + (
            f": {self.message}" if self.message else ""
        )


#: Source: qstat(1), "the state of the queue". An alarm (a) for load ends by itself, and so does a calendar's C and D.
_STATES = {
    "u": "unreachable",
    "E": "in error",
    "d": "disabled",
    "D": "disabled by its calendar",
    "s": "suspended",
    "S": "suspended by another queue",
    "C": "suspended by its calendar",
    "o": "orphaned",
    "c": "ambiguous in its configuration",
}


def parse_places(text: str) -> tuple[Place, ...]:
    """Return each queue on each node, from ``qstat -f -xml``, with ``-explain`` its messages; in their order."""
    found = []
    for each in _elements(text, "Queue-List"):
        queue, _, node = (each.findtext("name") or "").partition("@")
        found.append(Place(queue, node, each.findtext("state") or "", each.findtext("message")))
    return tuple(found)


def closed_queues(text: str) -> tuple[tuple[str, str], ...]:
    """Return each queue that begins jobs on none of its nodes, and how, from ``qstat -f -xml``."""
    places = parse_places(text)
    found = []
    for queue in dict.fromkeys(place.queue for place in places):
        states = [place.state for place in places if place.queue == queue]
        letters = [letter for letter in "dDsSC" if all(letter in state for state in states)]
        if letters:
            words = " and ".join(_STATES[letter] for letter in letters)
            found.append((queue, f"it is {words} on all its nodes (state {', '.join(dict.fromkeys(states))})"))
    return tuple(found)


def unfit_nodes(text: str, queues: Sequence[str] = ()) -> tuple[tuple[str, str], ...]:
    """Return each node that can run no job in any of these queues, by default in any queue, and why."""
    places = [place for place in parse_places(text) if not queues or place.queue in queues]
    found = []
    for node in dict.fromkeys(place.node for place in places):
        why = [place.unfit for place in places if place.node == node]
        if all(why):
            found.append((node, "; ".join(filter(None, why))))
    return tuple(found)


#: What each answer of ``qstat -xml`` names, with or without jobs.
SCHEMA = "/schemas/qstat/"
_RULE = re.compile(r"^allocation_rule +(\S+)", re.MULTILINE)
#: A row of ``qconf -sc``: name, shortcut, type, relation.
_RELATION = re.compile(r"^(?P<name>\S+) +\S+ +BOOL +EXCL ", re.MULTILINE)
#: The name that Grid Engine's own manual gives such a resource (sge_complex(5)).
EXCLUSIVE = "exclusive"


def parse_rule(text: str) -> str:
    """Return how a parallel environment spreads slots over nodes, from ``qconf -sp NAME``; empty if it does not say."""
    found = _RULE.search(text)
    return found[1] if found else ""


def find_exclusive(text: str) -> tuple[str, ...]:
    """Return the resources that give a job a whole node, from ``qconf -sc``."""
    return tuple(found["name"] for found in _RELATION.finditer(text))


def find_fixed_slots(rules: Mapping[str, str]) -> str | None:
    """Return the name of parallel environments that give each node a fixed number of slots: mpi-{num_slots_per_node}.

    ``rules``: name -> rule. Their names must differ in that number alone; there must be one for one slot on each node,
    and one for more. Of several such families the largest is taken. None without any.
    """
    families: dict[str, set[str]] = {}
    for name, rule in rules.items():
        if not rule.isdecimal():
            continue
        before, number, after = name.rpartition(rule)
        if number and not (before[-1:].isdecimal() or after[:1].isdecimal()):
            families.setdefault(f"{before}{{num_slots_per_node}}{after}", set()).add(rule)
    usable = [name for name, numbers in families.items() if "1" in numbers and len(numbers) > 1]
    return max(usable, key=lambda name: len(families[name]), default=None)


def node_end(job: SgeJob, nodes: Sequence[str]) -> JobEnd:
    """Return the end of a job whose nodes do not answer."""
    said = f"the sge_execd of {listing(list(nodes))} does not answer"
    return JobEnd("node", f"job {job.job} was ended because a node died: {said}", tuple(nodes))


def _elements(text: str, name: str) -> Iterator[ElementTree.Element]:
    try:
        return ElementTree.fromstring(text).iter(name)
    except ElementTree.ParseError:
        return iter(())
