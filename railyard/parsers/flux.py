"""What Flux says about jobs, nodes and queues: how a job ended, who cannot run one, and what its brokers print. Pure.

Of a job it reads a line of ``flux jobs -n -o FORMAT``. Sources: flux-jobs(1), flux-resource(1) and flux-queue(1) of
flux-core 0.88, and what that release printed (``tests/recordings/flux``).
"""

import re
from dataclasses import dataclass
from typing import Literal

from railyard.base.hostlist import expand_names
from railyard.base.wording import listing
from railyard.parsers.job_end import JobEnd, reason_words

#: What ``flux jobs`` is asked for. The note is last, since it is free text.
FORMAT = "{status}|{returncode}|{nodelist}|{exception.type}|{contextual_info}|{exception.note}"
#: A job's states before it begins, while it has its nodes, and how it ended.
WAITING = ("NEW", "DEPEND", "PRIORITY", "SCHED")
RUNNING = ("RUN", "CLEANUP")
FINAL = ("COMPLETED", "FAILED", "CANCELED", "TIMEOUT")
#: What ``flux resource status`` is asked for, and the mark of a state whose nodes have no broker that answers.
NODES_FORMAT = "{state}|{nodelist}|{reason}"
_OFFLINE = "*"
#: The return code of a job that was cancelled before it began.
_NEVER_BEGAN = -128


@dataclass(frozen=True, slots=True)
class FluxJob:
    """One job: ``status`` is Flux's word, ``nodes`` its own list (``vn[1-2]``).

    ``exception`` is the type of what ended it, ``note`` what Flux says about that. ``context`` says why it waits
    (``held``, ``eta:50s``). ``exit_code`` is None until the job has ended, and if it never began.
    """

    job: str
    status: str
    exit_code: int | None = None
    nodes: str | None = None
    exception: str | None = None
    context: str | None = None
    note: str | None = None

    @property
    def phase(self) -> Literal["waits", "runs", "ended"]:
        """Whether it waits, has its nodes, or has ended."""
        return "waits" if self.status in WAITING else "ended" if self.status in FINAL else "runs"


def parse_job(text: str, job: str) -> FluxJob | None:
    """Return a job from the line that ``flux jobs -n -o FORMAT`` prints; None if there is no such line."""
    parts = text.strip().split("|", FORMAT.count("|"))
    if len(parts) <= FORMAT.count("|") or parts[0] not in (*WAITING, *RUNNING, *FINAL):
        return None
    status, code, nodes, exception, context, note = (part.strip() or None for part in parts)
    assert status is not None  # one of the words above
    return FluxJob(job, status, _exit_code(code) if status in FINAL else None, nodes, exception, context, note)


def find_end(job: FluxJob) -> JobEnd | None:
    """Return how a job ended, None if its script ran to its end or the job still runs."""
    where, why = f" on {job.nodes}" if job.nodes else "", reason_words(job.note)
    if job.status == "TIMEOUT":
        return JobEnd("time", f"job {job.job} was killed at its time limit{where}{why}")
    if job.status == "CANCELED":
        return JobEnd("cancelled", f"job {job.job} was cancelled{where}{why}")
    if job.status != "FAILED" or job.exception is None:
        return None
    if job.nodes is None:
        return JobEnd("pending", f"job {job.job} can never begin{why}")
    failed = failed_nodes(job.note or "")
    if failed:
        return node_end(job, failed)
    return JobEnd("cancelled", f"job {job.job} was ended by Flux{where}{why}")


#: bulkexec.c of flux-core 0.88: a broker of one of the job's nodes is gone.
_NODE_FAILURE = re.compile(r"\bnode failure on (\S+) \((?:shell )?rank \d+\)")


def failed_nodes(text: str) -> tuple[str, ...]:
    """Return the nodes whose broker was lost while a job had them, from ``flux job eventlog`` or an exception's note.

    A job goes on without such a node (the exception ``node-failure`` is not a fatal one), unless it was the first of
    its nodes.
    """
    return tuple(dict.fromkeys(found[1] for found in _NODE_FAILURE.finditer(text)))


def node_end(job: FluxJob, failed: tuple[str, ...]) -> JobEnd:
    """Return the end of a job whose nodes failed."""
    said = f"Flux lost its broker on {listing(failed)}"
    return JobEnd("node", f"job {job.job} was ended because a node died: {said}", failed)


def unfit_nodes(text: str) -> tuple[tuple[str, str], ...]:
    """Return each node that can run no job, and why (``drained (bad cable)``, ``offline``), from the same text."""
    found = []
    for line in text.splitlines():
        state, _, rest = line.partition("|")
        nodes, _, reason = rest.partition("|")
        word = state.strip().rstrip(_OFFLINE)
        is_offline = state.strip().endswith(_OFFLINE) or word == "offline"
        if nodes and (is_offline or word != "avail"):
            said = "offline" if is_offline else word
            why = f"{said} ({reason.strip()})" if reason.strip() else said
            found += [(name, why) for name in expand_names(nodes.strip())]
    return tuple(found)


#: ``batch: Scheduling is stopped: new`` and, in an instance without named queues, ``Scheduling is stopped``.
_QUEUE = re.compile(r"^(?:(\S+): )?(Job submission is disabled|Scheduling is stopped)(?:: (.+))?$", re.MULTILINE)


def closed_queues(text: str) -> tuple[tuple[str, str], ...]:
    """Return each queue that takes or starts no job, and Flux's words, from ``flux queue status``.

    An instance without named queues has one whose name is empty.
    """
    return tuple(
        (found[1] or "", found[2] + (f": {found[3].strip()}" if found[3] else "")) for found in _QUEUE.finditer(text)
    )


#: A line of a job's error output that a broker of its own Flux instance printed: its log, and what ends a module.
_BROKER = re.compile(
    r"^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\.\d+ \S+ \d{4} \S+\[\d+\]: .*"
    r"|flux-module-python-exec\.py: flux_module_finalize: .*)$",
    re.MULTILINE,
)
_SCRIPT_EXITED = re.compile(r": rc2\.0: \S+/script Exited \(rc=(\d{1,3})\) ")


def without_broker_lines(text: str) -> str:
    """Return a job's error output with an empty line in place of each line of its brokers: none is the program's."""
    return _BROKER.sub("", text)


def script_exit_code(text: str) -> int | None:
    """Return the exit code of a job's script from its brokers' lines; None if they say nothing of it.

    A broker says it only for a code other than 0. Then the script ended by itself, even if the end of the brokers took
    so long that Flux killed them at the time limit.
    """
    found = [line[0] for line in _BROKER.finditer(text) if _SCRIPT_EXITED.search(line[0])]
    code = _SCRIPT_EXITED.search(found[-1]) if found else None
    return None if code is None else int(code[1])


def _exit_code(code: str | None) -> int | None:
    """Return a job's exit code; ``flux jobs`` gives a signal as a negative number."""
    try:
        number = int(code or "")
    except ValueError:
        return None
    if number == _NEVER_BEGAN:
        return None
    return 128 - number if number < 0 else number
