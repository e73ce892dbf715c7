"""The sentences of rules 1 to 3: how a run went, what was read of its output, and whether physics allows it.

Rule 1: what ended a run, whether its output is whole, and how it differs from what was asked for. Rule 2: what was
read, and why a metric cannot be judged. Rule 3: a value beside what physics allows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.base.bounds import IMPOSSIBLE_FACTOR
from railyard.base.hostlist import MOST_IN_WORDS, list_nodes
from railyard.base.values import one_line
from railyard.base.wording import IMPOSSIBLE, count_of, listing, message_size, number, percent, places, some
from railyard.benchmarks.model import Figure
from railyard.parsers.job_end import Kind
from railyard.results.record.headline import shorten
from railyard.verdict.wording import too_short

SHOWN_CHARACTERS = 160
"""The most of a quoted line: a library's longest warnings fill a screen, and the record keeps the whole output anyway.
"""


def say_quoted(text: str) -> str:
    """Return a line of an output in quotes, cut if it is long."""
    line = one_line(text)
    return f'"{line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 3] + "..."}"'


def first_failure(line: int, of: str, text: str, means: str) -> str:
    """Return the end of a sentence: the first line that reports a failure, where it is, and what it means."""
    begins = f"line {line}{f' of the {of}' if of else ''}: " if line else ""
    return f", {begins}{say_quoted(text)}{f' ({means})' if means else ''}"


def failed_on(means: str, node: str) -> str:
    """Return what a message means that does not name its node, with the node whose task failed."""
    return f"{means}; it failed on {node}"


def brief_failure(line: int, of: str, text: str) -> str:
    """Return the first line about a failure as a headline; ``line`` 0: unknown, ``of``: which output, if not the first.

    What a parser found wrong has no quotation marks, so neither has what the output says itself. A long line ends at a
    word: its first clause may be no more than the name of a host or of a program.
    """
    begins = f"line {line} of the {of or 'output'}: " if line else ""
    return shorten(begins + one_line(text), at_clauses=False)


def ended_well(nodes: Sequence[str], tables: int, validates: bool) -> str:
    """Return that a job is complete."""
    validated = ", validated by the benchmark itself" if validates else ""
    return f"exit code 0 on {list_nodes(nodes)}, {count_of(tables, 'complete table')}{validated}"


def say_played(tables: int) -> str:
    """Return that a recording is complete."""
    count = count_of(tables, "complete table")
    return f"{count} played; not judged here: exit code, time limit and nodes of the job (replay)"


def did_not_run(error: str) -> str:
    """Return that a scheduler did not run a job."""
    return f"the job did not run: {say_quoted(error)}"


def say_exited(code: int, after: str) -> str:
    """Return that a job failed; ``after`` is what its output and its links show."""
    killed = f" (ended by signal {code - 128})" if 128 < code < 160 else ""
    return f"the job exited {code}{killed}, expected 0{after}"


def killed_for_memory(kills: Mapping[str, int]) -> str:
    """Return the end of a sentence: whose kernel killed processes without memory; ``kills`` is how many by node."""
    by = some([f"that of {node} {count}" for node, count in kills.items()])
    return f"; kernels killed processes because memory was short, of this job or another on the node: {by}"


def killed_with_memory() -> str:
    """Return the end of a sentence about a killed process: no kernel did it because memory was short."""
    return (
        "; a process of it was killed, by a person or a program: no node's kernel killed one because memory was short"
    )


def killed_by_unknown() -> str:
    """Return the end of a sentence about a killed process: nobody knows who did it."""
    return (
        "; a process of it was killed, and nothing here says by whom: a person, a program, or a kernel without memory"
    )


def no_exit_code(after: str) -> str:
    """Return that nobody knows how a job ended."""
    return f"the job ended without an exit code, expected 0{after}"


def at_time_limit(limit_s: float | None, tables: int, expected: int, after: str, ended: str, lost: str) -> str:
    """Return that a job was ended at its time limit; what its output says, its scheduler, and its links."""
    bound = "its time limit" if limit_s is None else f"its time limit of {limit_s:g} s"
    got = f"{count_of(tables, 'table')} of {expected} begun"
    said = f"; {ended}" if ended else ""
    return f"the job was ended at {bound} (bound from the check or the system's file), {got}{after}{said}{lost}"


def did_not_react(nodes: Sequence[str], does: Sequence[str], ended: str) -> str:
    """Return that processes did not react to the end of their job; ``does`` is what they do instead."""
    first = "".join(f", it {words}" for words in does[:1])
    more = "".join(f", another {words}" for words in does[1:3])
    return f"the process on {list_nodes(nodes)} did not react{first}{more}: {ended}"


def say_stopped() -> str:
    """Return what a stopped process does."""
    return "is stopped (state T)"


def hangs(function: str | None) -> str:
    """Return what a process does that waits in this function of the kernel."""
    known = "" if function is None else f", in {function}"
    return f"hangs in the kernel (state D{known})"


def no_nodes() -> str:
    """Return that nobody knows where a job ran."""
    return "neither the scheduler nor the job says which nodes it had"


def other_nodes(seen: Sequence[str], expected: Sequence[str]) -> str:
    """Return that a job ran on other nodes than it was given."""
    missing = [node for node in expected if node not in set(seen)]
    extra = [node for node in seen if node not in set(expected)]
    sentence = f"the job ran on {list_nodes(seen) or 'no node'}, expected {list_nodes(expected)}"
    if len(set(expected)) > MOST_IN_WORDS:
        sentence += f": {list_nodes(missing)} missing" if missing else ""
        sentence += f": {list_nodes(extra)} not expected" if extra else ""
    return sentence


def say_reported(count: int, after: str) -> str:
    """Return that an output reports failures."""
    return f"the output itself reports {count_of(count, 'failure')}{after}"


def foreign_output(text: str) -> str:
    """Return that an output is not of the benchmark."""
    return f"the output is not the benchmark's: {say_quoted(text)}"


def brief_foreign_output() -> str:
    """Return that an output is not of the benchmark, as a headline."""
    return "the output is not this benchmark's, or it is empty"


def too_few_tables(tables: int, expected: int) -> str:
    """Return that an output lacks tables."""
    return f"the output has {count_of(tables, 'table')}, expected {expected}"


def cut_rows(tables: Sequence[str]) -> str:
    """Return that tables are cut."""
    return f"the output is cut: {listing(tables)} lacks rows"


def cut_end(line: str, tables: Sequence[str]) -> str:
    """Return that the line is missing which a tool prints last."""
    return f'the output is cut: "{line}" is missing after {listing(tables)}'


def brief_cut_end(line: str) -> str:
    """Return a missing last line as a headline."""
    return f'the output is cut: its last line, "{line}", is missing'


def wrong_data(computes: bool, after: str) -> str:
    """Return that a benchmark, or an application, found its data or its result to be wrong."""
    if computes:
        return f"the application's own check says that its result is wrong{after}"
    return f"the benchmark's own validation found wrong data: what arrived is not what was sent{after}"


def not_validated() -> str:
    """Return that a benchmark did not validate its data."""
    return "the benchmark was asked to validate its data but printed no validation"


def lost_links(lost: str) -> str:
    """Return the end of a sentence: which links were lost."""
    return f"; {lost}"


def look_at_recording() -> str:
    """Return what to look at if a recording cannot be judged."""
    return "the recording and its lines in the index beside it"


def look_at_log_and_nodes() -> str:
    """Return what to look at if a job did not run."""
    return "the scheduler's own log of the job, then the state of its nodes"


def look_at_log() -> str:
    """Return what to look at if nobody knows how a job ended."""
    return "the scheduler's own log of the job"


def look_at_record() -> str:
    """Return what to look at if nobody knows where a job ran."""
    return "the scheduler's own record of the job"


def look_at_other_mpi() -> str:
    """Return what to look at if a run used another MPI."""
    return (
        "the launcher first on PATH (srun: --mpi), LD_LIBRARY_PATH and RPATH of the executable, modules, profiles and "
        "wrappers that set variables: the run measured another MPI, or another path, than the stack's name says"
    )


def look_at_mounts(nodes: Sequence[str]) -> str:
    """Return what to look at if nodes show no devices."""
    return f"the mounts of {list_nodes(nodes)}, and of its containers: what is at /sys there (mount, ls /sys/class)"


def look_at_cables(rails: Sequence[str]) -> str:
    """Return what to look at if rails have no carrier; each one is ``hsn1 of vn2``."""
    return f"cable, port and driver of {places(rails)}"


def look_at_addresses() -> str:
    """Return what to look at if rails are not set as the file says."""
    return "ip link and ip address on the named nodes, their cables, and the rails of the system's file"


def look_at_slow_links(rails: Sequence[str]) -> str:
    """Return what to look at if rails run slower than they should."""
    return (
        f"cable, port, slot and riser of {places(rails)}: link state (ibstat, lspci -vv), and that of its switch port"
    )


def look_at_processes(nodes: Sequence[str]) -> str:
    """Return what to look at if processes did not react."""
    return f"the processes on {list_nodes(nodes)}: stopped (T) or waiting for a device or a file system (D); ps, dmesg"


def look_at_traffic(rails: Sequence[str], nodes: Sequence[str]) -> str:
    """Return what to look at if a job came to its time limit."""
    between = f" between {list_nodes(nodes)}" if nodes else ""
    return f"whether {listing(rails)} passes traffic{between} (ping, carrier, counters)"


def look_at_application(nodes: Sequence[str]) -> str:
    """Return what to look at if an application came to its time limit, and nothing shows that a rail is to blame."""
    on = f" on {list_nodes(nodes)}" if nodes else ""
    return (
        "whether it was stuck or only slow: where its output ends, and, in another run, what its processes do"
        f"{on} (top, gdb -p PID); if it was slow, its time limit and its problem size"
    )


def look_at_launcher() -> str:
    """Return what to look at if a launcher started nothing."""
    return "the launcher of the system's file, and its version"


def look_at_outputs() -> str:
    """Return what to look at if a job failed."""
    return "the end of the job's output and error output"


def look_at_both_outputs() -> str:
    """Return what to look at if an output is not of the benchmark."""
    return "the job's output and error output"


def look_at_placement_of_ranks() -> str:
    """Return what to look at if a job ran on other nodes."""
    return "how the launcher was given hosts and ranks per node"


def look_at_printed() -> str:
    """Return what to look at if an output is too long."""
    return "what prints so much: the beginning and the end of the kept output"


def look_at_quoted() -> str:
    """Return what to look at if an output reports failures."""
    return "the quoted line in the job's output"


def look_at_end() -> str:
    """Return what to look at if an output lacks tables."""
    return "where the job's output ends"


def look_at_end_and_limits() -> str:
    """Return what to look at if an output is cut."""
    return "where the job's output ends, and its limits of time and file size"


def look_at_script() -> str:
    """Return what to look at if an output is not what was asked for."""
    return "what the job ran (its script and its files), and whether its output has only that run"


def look_at_devices() -> str:
    """Return what to look at if data are wrong."""
    return "memory and device errors of the nodes, then the stack's version"


def look_at_validation() -> str:
    """Return what to look at if a benchmark did not validate its data."""
    return "the benchmark's version and its validation option"


def look_at_processors() -> str:
    """Return what to look at if processes ran where they should not."""
    return "which processors the job has (whole nodes or a cpuset), taskset on the nodes, and the slots of the rails"


@dataclass(frozen=True, slots=True)
class SchedulerWords:
    """What a scheduler's own commands show, each in its words: ``nodes``: why it gives a node to no job; ``offers``:
    what there is for jobs; ``answers``: whether it answers; ``remembers``: what sets how long it knows a job that is
    over; ``suspends``: what suspends jobs.
    """

    nodes: str
    offers: str
    answers: str
    remembers: str
    suspends: str


#: A scheduler -> its words. Sources: scontrol(1) and slurm.conf(5) of Slurm 22.05; pbsnodes(8B), qstat(1B)
#: and qsig(1B) of OpenPBS 23.06; pbsnodes(8B) and qstat(1B) of Torque 6.1; qhost(1), qstat(1), qconf(1) and qmod(1) of
#: Grid Engine 8.1.9; flux-resource(1), flux-jobs(1) and flux-config-job-manager(5) of flux-core 0.88; bhosts(1),
#: bjobs(1) and lsb.params(5) of IBM Spectrum LSF 10.1.
_SCHEDULERS: Mapping[str, SchedulerWords] = {
    "slurm": SchedulerWords(
        "scontrol show node", "sinfo, squeue", "scontrol ping", "MinJobAge", "PreemptMode, gang scheduling"
    ),
    "pbs": SchedulerWords(
        "pbsnodes -av", "pbsnodes -a, qstat -Q -f", "qstat -B", "job_history_duration", "qsig -s suspend, preemption"
    ),
    "torque": SchedulerWords("pbsnodes -l", "pbsnodes -a, qstat -q", "qstat -B", "keep_completed", "qsig -s suspend"),
    "sge": SchedulerWords(
        "qstat -f -explain E, qhost", "qhost -q, qconf -sql", "qstat", "its accounts, qacct -j",
        "qmod -sj, subordinate queues",
    ),
    "flux": SchedulerWords(
        "flux resource status", "flux resource list, flux queue status", "flux uptime", "inactive-age-limit",
        "flux job kill --signal=STOP",
    ),
    "lsf": SchedulerWords("bhosts -l", "bhosts, bqueues", "lsid", "CLEAN_PERIOD", "bstop, preemption between queues"),
}  # fmt: skip


#: Names of schedulers with the commands of another one. No system's file is read here, so its table is not.
_SAME: Mapping[str, str] = {"slurm-nodb": "slurm", "squeue": "slurm", "pbspro": "pbs", "flux-batch": "flux"}


def look_at_ended(kind: Kind, scheduler: str) -> str:
    """Return what to look at if a scheduler ended a job; a time limit has its own words, above.

    ``scheduler`` is its name in a system's file; of one that is not known no command is named.
    """
    own = _SCHEDULERS.get(_SAME.get(scheduler, scheduler))
    if kind == "node":
        return f"the nodes' own logs, and why the scheduler marks them as down{f' ({own.nodes})' if own else ''}"
    if kind == "suspended":
        return f"who suspends jobs there{f' ({own.suspends})' if own else ''}; then run it again"
    if kind == "pending":
        there = f": {own.offers}" if own else ""
        return f"what the job asks for (jobs in the system's file), and what there is{there}"
    if kind == "lost":
        answers, remembers = (f" ({own.answers})", f" ({own.remembers})") if own else ("", "")
        return f"whether the scheduler answers{answers}, and how long it remembers jobs{remembers}"
    return _LOOK_AT_ENDED[kind]


#: What ended a job -> what to look at next, for those kinds that need no command of the scheduler, or occur with Slurm
#: alone.
_LOOK_AT_ENDED: Mapping[Kind, str] = {
    "memory": "how much memory the job got, and what else used memory on its nodes",
    "limit": "which limits the job and its queue have beside that of time, and what it used",
    "preempted": "the partition and QOS of the job: jobs there can be preempted",
    "requeued": "the scheduler's log: who requeued the job, and why; then run the test again",
    "several": "what makes several jobs of it: access and options of the system's file, SBATCH_ARRAY_INX",
    "stuck": (
        "ask the cluster's administrator to look on that node for processes that no signal ends (ps -eo stat,pid,args: "
        "D) and for an epilog that hangs (slurmd's log), then to set the node down and resume it (scontrol update)"
    ),
    "unstarted": (
        "whether the job's first node has the run's folder under the same path, may write there and knows the user; "
        "then that node's slurmd log"
    ),
    "cancelled": "who cancelled the job: the scheduler's log",
    "killed": "who sent the signal: the scheduler's log, then the kernel's on its nodes (dmesg: Out of memory)",
}


_MOST_SIZES = 4
Crowd = Literal["processes", "pairs of ranks", "messages in flight"]


def sizes(of: Sequence[int]) -> str:
    """Return the first of some message sizes, and how many more there are."""
    shown = [message_size(size) for size in of[:_MOST_SIZES]]
    more = len(of) - len(shown)
    return listing([*shown, f"{more} more"] if more else shown)


def too_many_tables(tables: int, expected: int) -> str:
    """Return that an output has more tables than passes."""
    has = f"the output has {count_of(tables, 'table')}, expected {expected}"
    return f"{has}: it is not known which of them are of this run"


def foreign_table(tool: str, benchmark: str | None, line: int) -> str:
    """Return that an output has a table of another benchmark."""
    return f"the output also has a table of {tool}/{benchmark or '?'} (line {line}), which was not asked for"


def other_crowd(benchmark: str, line: int, found: int, what: Crowd, asked: int) -> str:
    """Return that a table's heading has another number than was asked for."""
    return f"{benchmark} (line {line}) has {found} {what}: {asked} were asked for"


def other_sizes(benchmark: str, line: int, lacking: Sequence[int], besides: Sequence[int], asked: int) -> str:
    """Return which message sizes a table lacks, and which other ones it has."""
    parts = [f"lacks {sizes(lacking)}"] if lacking else []
    parts += [f"also has {sizes(besides)}"] if besides else []
    return f"{benchmark} (line {line}) {' and '.join(parts)}: {count_of(asked, 'message size')} were asked for"


def gap(benchmark: str, line: int, before: int, after: int, factor: float) -> str:
    """Return between which sizes a table leaves out a row; ``factor``: between its other sizes."""
    return (
        f"{benchmark} (line {line}) goes from {message_size(before)} to {message_size(after)}, where each of its other "
        f"sizes is {factor:g} times the one before: a row is missing"
    )


def not_doubled(benchmark: str, line: int, before: int, after: int, tool: str) -> str:
    """Return between which sizes a table leaves out a row, of a tool that doubles its sizes."""
    return (
        f"{benchmark} (line {line}) goes from {message_size(before)} to {message_size(after)}, where {tool} doubles "
        "its sizes: a row is missing"
    )


def say_skipped(powers: Sequence[int]) -> str:
    """Return which powers of two an irregular list of sizes leaves out."""
    return (
        f"no row has {len(powers)} of the powers of two between its first and its last size ({sizes(powers)}): these "
        "sizes were not judged"
    )


def shorter_pass(benchmark: str, line: int, end: int | None, longer_line: int, longer_end: int) -> str:
    """Return that a pass ends before another one; ``end`` None: it has only a heading."""
    ends = "its heading" if end is None else message_size(end)
    return (
        f"{benchmark} (line {line}) ends at {ends}, and the pass of line {longer_line} goes on to "
        f"{message_size(longer_end)}: it may be cut; --each judges each as a run of its own"
    )


@dataclass(frozen=True, slots=True)
class Limit:
    """What a link moves in a long stream, and at the size in question (``at_size``), both in MB/s."""

    value: float
    at_size: float
    terms: str
    source: str

    @property
    def words(self) -> str:
        """``49.83 MB/s (120 Mbit/s; its source)``."""
        is_same = self.at_size == self.value
        burst = "" if is_same else f" for a long stream, and {number(self.at_size)} MB/s with the burst at its start"
        return f"{number(self.value)} MB/s{burst} ({self.terms}; {self.source})"


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that processors compute, or the most messages that a link carries per second."""

    value: float
    unit: str
    terms: str
    source: str

    @property
    def words(self) -> str:
        """``1024 Gflop/s (64 cores; its source)``."""
        return f"{number(self.value)} {self.unit} ({self.terms}; {self.source})"


def no_limit_for(names: list[str]) -> str:
    """Return that nothing bounds these metrics."""
    return f"no physical limit is known for {listing(names) or 'nothing'}"


def no_limit() -> str:
    """Return that a link has no known limit."""
    return "no limit known"


def not_read(name: str) -> str:
    """Return that a metric has no values."""
    return f"{name} was not read"


def unit_of_work(name: str, unit: str, other: str) -> str:
    """Return that work cannot be compared with what processors do in another unit."""
    return f"{name} is in {unit}, and what the processors can do is in {other}"


def unit_of_upper_limit(name: str, unit: str, entry: str, other: str) -> str:
    """Return that a rate cannot be compared with an upper limit of another unit."""
    return f"{name} is in {unit} and {entry} in {other}"


def unit_of_limit(name: str, unit: str) -> str:
    """Return that a value cannot be compared with a link's limit."""
    return f"{name} is in {unit} and the limit in MB/s"


def no_size_from(name: str, from_bytes: int) -> str:
    """Return that all sizes are below the first one at which a link's limit holds."""
    return f"{name} has no size from {message_size(from_bytes)}, where the limit holds"


def no_size_of_upper_limit(name: str) -> str:
    """Return that an upper limit holds at no measured size."""
    return f"the upper limit of {name} holds for no size that was measured"


def share_of_most(figure: Figure, most: Ceiling) -> str:
    """Return which share of what its processors can do an application reached."""
    return (
        f"{figure.words} is {percent(figure.value / most.value)} of the most that its processors can do, {most.words}"
    )


def share_of_limit(figure: Figure, limit: Limit) -> str:
    """Return which share of a link's limit a bandwidth is."""
    return f"{figure.words} is {percent(figure.value / limit.at_size)} of the limit, {limit.words}"


def share_of_rate(figure: Figure, bound: float, what: str) -> str:
    """Return which share of an upper bound a message rate is; ``what`` the bound is: one of the two below."""
    return f"{figure.words} is {percent(figure.value / bound)} of {what}"


def upper_limit(value: float, unit: str, entry: str) -> str:
    """Return what an upper limit of the references is."""
    return f"the upper limit, {number(value)} {unit}, of {entry}"


def carried_messages(most: Ceiling) -> str:
    """Return how many messages a link carries."""
    return f"what the link carries, {most.words}"


def say_disbelieved(share: str) -> str:
    """Return that a share, one of the three above, is more than is believed."""
    return f"{IMPOSSIBLE}{share}; at most {percent(IMPOSSIBLE_FACTOR.value)} is believed"


def too_fast(figure: Figure, size_bytes: int, limit: Limit) -> str:
    """Return that a time is too short for that many bytes to cross a link."""
    rate = size_bytes / figure.value
    share = f"{number(rate)} MB/s, {percent(rate / limit.at_size)} of the limit, {limit.words}"
    return say_disbelieved(f"{figure.words} is {share}")


def too_fast_collective(
    figure: Figure, least_us: float, times: float, size_bytes: int, waiting: float, limit: Limit
) -> str:
    """Return that a collective ended before its bytes can have crossed the rails of a node.

    A node moves ``times`` the size, and the mean over ranks is at least the share ``waiting`` of the time for it.
    """
    mean = "" if waiting == 1 else f", and the mean over ranks is at least {percent(waiting)} of that"
    return (
        f"{IMPOSSIBLE}{figure.words}, and it takes at least {number(least_us)} us: a node must send or receive "
        f"{number(times)} x {message_size(size_bytes)}{mean}; the limit is {limit.words}"
    )


def too_short_latency(figure: Figure, least_us: float, source: str) -> str:
    """Return that a latency is shorter than any between two nodes."""
    return f"{IMPOSSIBLE}{too_short(figure, least_us)} ({source})"


def long_enough(figure: Figure, least_us: float) -> str:
    """Return that a latency is not too short."""
    return f"{figure.words} is not below {least_us:.2g} us"


def look_at_peak() -> str:
    """Return what to look at if an application computed more than its processors can."""
    return "cores, clock and flop per cycle in the system's file, and how many nodes ran"


def look_at_pairs(what: str) -> str:
    """Return what to look at if a message rate is too high; ``what``: one of the two below."""
    return f"whether both ranks of a pair ran on one node, and {what}"


def of_this_card() -> str:
    """Return what an upper limit of the references may be wrong about."""
    return "whether the upper limit is of this card"


def joined_messages() -> str:
    """Return why more messages than packets may arrive."""
    return "whether the library joins several messages in a packet"


def look_at_limit() -> str:
    """Return what to look at if a bandwidth is above the limit."""
    return "whether both ranks ran on one node, the system's link, slot and rails, and the number of iterations"


def look_at_times() -> str:
    """Return what to look at if a message crossed too quickly."""
    return "the unit of the times, whether both ranks ran on one node, and the system's link, slot and rails"


def look_at_times_of_all() -> str:
    """Return what to look at if a collective ended too soon."""
    return "whether the ranks ran on several nodes, the unit of the times, and the system's link, slot and rails"


def look_at_memory(is_tcp: bool) -> str:
    """Return what to look at if a latency is too short."""
    other = ", or used RDMA or sockets that bypass the kernel" if is_tcp else ""
    return f"whether both ranks ran on one node (shared memory){other}"


def nothing_declared() -> str:
    """Return that a check has no metric."""
    return "the check declares no metric, so nothing was measured"


def read_at(name: str, unit: str, sizes: int) -> str:
    """Return at how many sizes a metric was read."""
    return f"{name} in {unit} at {'1 size' if sizes == 1 else f'{sizes} sizes'}"


def read(metrics: Sequence[str]) -> str:
    """Return what was read: the words of each metric."""
    return f"read {listing(metrics)}"


def in_pass(place: int, count: int) -> str:
    """Return the beginning of a sentence about one pass of several."""
    return f"in pass {place} of {count}: "


def say_unread(name: str, unit: str, problem: str) -> str:
    """Return that an output lacks a metric; ``problem``: the reader's sentence, empty if it has none."""
    because = f": {problem}" if problem else ""
    return f"the output has no {name} in {unit} that can be read{because}"


def unlike_counts(name: str, sizes: int, values: int) -> str:
    """Return that a metric has more or fewer values than sizes."""
    return f"{name} has {sizes} sizes but {values} values"


def other_unit(name: str, unit: str | None, expected: str) -> str:
    """Return that a metric was read in another unit than declared."""
    return f"{name} is in {unit or 'no unit'}, expected {expected}"


def unsorted_sizes(name: str) -> str:
    """Return that sizes do not rise."""
    return f"{name} has sizes that are not in rising order"


def not_finite(what: str, value: float | None) -> str:
    """Return that a value is missing, infinite or NaN; ``what``: the metric, at its size."""
    return f"{what} is {'missing' if value is None else str(value)}, expected a finite number"


def not_above_0(what: str, value: float, unit: str) -> str:
    """Return that a value is 0 or less; ``what``: the metric, at its size."""
    return f"{what} is {value:g} {unit}, expected more than 0"


def look_at_headings() -> str:
    """Return what to look at if a metric cannot be read."""
    return "the benchmark's output: whether its headings and rows are whole, and as its release prints them"


def look_at_check() -> str:
    """Return what to look at if a check has no metric."""
    return "the check's metrics"
