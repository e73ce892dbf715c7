"""Why an MPI library or a tool did not start, in its own words: what it said first, and not what came of it.

A library that misses its interface says so in a line, and goes on until something else fails, which it says in twenty.
One row of the table is one message: whose it is, how it reads, and what it means. Rows are in the order of cause and
consequence, so that the first row that is found anywhere in a text is quoted. A row has a genuine example in
``tests/recordings/failed``, or in a public place that its test names.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from railyard.base.values import one_line
from railyard.parsers.failure_lines import LAUNCHER_BUG, NO_TURN, OTHER_HEAP, STEPD, STOPPED
from railyard.parsers.unread_rows import NO_ROW
from railyard.verdict.rule_model import OutputLine
from railyard.verdict.wording.run_rules import failed_on

#: Search only so many characters of each text: the first cause is near the beginning.
LOOKED_THROUGH = 1 << 18

#: Libraries with messages of their own. A stack's entry says whose it prints (``errors_of``).
LIBRARIES = {"openmpi": "Open MPI", "mpich": "MPICH", "ucx": "UCX"}
#: Who says what became of a file in a job: a shell, a script, or a tool of coreutils that the script calls.
_SHELL = r"(?:/\S{0,200}/)?(?:sh|bash|dash|mkdir|cp|mv|rm|cat|tee|touch|ls|slurm_script|\S{1,100}\.sh)\b"
#: What NCCL, MVAPICH2 and perftest print of a completion with an error, up to its code.
_COMPLETION = r"(?:\b[Gg]ot completion (?:from peer [^\n]{1,120}? )?with (?:error |status=)|^ ?Failed status )"
#: What the srun that a job calls is, and what to do: an MPI's own launcher calls the first one on PATH, too.
_OTHER_SRUN = "the srun that is first on PATH in the job is of another release than the cluster's Slurm"
_OWN_SRUN = "put the cluster's own before it (type -a srun; modules, containers and the shell that submits set PATH)"
#: The node on which a task failed by itself, where the message names none.
_FAILED_TASK = re.compile(
    r"^srun: error: (\S{1,200}): tasks? [0-9,-]{1,80}: Exited with exit code [0-9]{1,3}$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its library (one of ``LIBRARIES``; empty: everybody's), its words, its pattern, what it means.

    ``words`` are what a reader looks for. ``pattern`` begins with the line that is quoted; groups of it fill the blanks
    of ``means``. ``of_launcher``: it comes of a bug of the launcher, and the next start may succeed. ``starts_none``:
    who prints it starts no process of the benchmark, however often it is tried.
    """

    library: str
    words: str
    pattern: str
    means: str
    of_launcher: bool = False
    starts_none: bool = False


@dataclass(frozen=True, slots=True)
class FirstCause:
    """A message that was found: its line (1-based) of the text of that index, as it reads, and what it means."""

    text: int
    line: int
    quoted: str
    means: str
    of_launcher: bool = False
    starts_none: bool = False


MESSAGES: tuple[Message, ...] = (
    Message(
        "",
        "rehearsal: …",
        r"^rehearsal: [^\n]{1,300}$",
        "the stand-in of a rehearsal does not know this: no fault of the site",
    ),
    Message(
        "",
        f"{NO_TURN} …",
        rf"^{NO_TURN} (?P<lock>[^\n]{{1,300}}) for (?P<seconds>[0-9]{{1,9}}) s$",
        "the benchmark was not started: jobs of this cluster run one at a time, and its turn did not come within "
        "{seconds} s; see who holds the file (fuser -v {lock}), and end that process",
    ),
    Message(
        "",
        f"{STOPPED} … is stopped",
        rf"^{STOPPED} (?P<name>[^\n]{{1,40}}) of (?P<node>\S{{1,200}}) is stopped \(state T\)$",
        "{name} of {node} did not react to the end of the job: somebody stopped it (kill -STOP, a debugger)",
    ),
    Message(
        "",
        "error while loading shared libraries",
        r"^[^\n]{0,200}error while loading shared libraries: (?P<name>\S{1,200}): [^\n]{1,200}$",
        "the loader does not find {name}: LD_LIBRARY_PATH, modules and RPATH on that node",
    ),
    Message(
        "",
        "version … not found (required by …)",
        r"^[^\n:]{1,300}: (?P<library>\S{1,300}): version [`'](?P<version>\w[\w.]{1,40})' not found \(required by "
        r"(?P<name>[^\n)]{1,300})\)$",
        "{name} was built against a newer {library} than that node has ({version}): another operating system or module",
    ),
    Message(
        "",
        "srun: error: Parsing error at unrecognized key: …",
        r"^srun: error: Parsing error at unrecognized key: (?P<key>\S{1,80})$",
        f"{_OTHER_SRUN}, whose slurm.conf has {{key}}: {_OWN_SRUN}",
        starts_none=True,
    ),
    Message(
        "",
        "srun: fatal: Could not establish a configuration source",
        r"^srun: fatal: Could not establish a configuration source$",
        "the srun that is first on PATH in the job finds no slurm.conf: it is not the cluster's own, or SLURM_CONF is "
        f"missing there; {_OWN_SRUN}",
        starts_none=True,
    ),
    Message(
        "",
        "srun: unrecognized option '--external-launcher'",
        r"^(?:/\S{0,200}/)?srun: unrecognized option '--external-launcher'$",
        f"{_OTHER_SRUN}, which has an MPI's own launcher call srun with this option: {_OWN_SRUN}",
        starts_none=True,
    ),
    Message(
        "",
        "Unable to confirm allocation for job …: Insane message length",
        r"^srun: error: Unable to confirm allocation for job [0-9]{1,12}: Insane message length$",
        f"{_OTHER_SRUN}, and does not understand its answer: {_OWN_SRUN}",
        starts_none=True,
    ),
    Message(
        "",
        "Unable to confirm allocation for job …: Zero Bytes were transmitted or received",
        r"^srun: error: Unable to confirm allocation for job [0-9]{1,12}: Zero Bytes were transmitted or received$",
        "slurmctld gave no answer to the srun that is first on PATH in the job: that is of another release than the "
        f"cluster's Slurm, or slurmctld is down (its log says which); {_OWN_SRUN}",
        starts_none=True,
    ),
    Message(
        "",
        "Task launch … failed on node …: Invalid job credential (or Job credential expired)",
        r"^srun: error: Task launch for \S{1,40} failed on node (?P<node>\S{1,200}): "
        r"(?:Invalid job credential|Job credential expired)$",
        "{node} refuses Slurm's credentials: its clock, or the key of its munge, differs",
    ),
    Message(
        "",
        "Task launch … failed on node …: Job prolog failed",
        r"^srun: error: Task launch for \S{1,40} failed on node (?P<node>\S{1,200}): Job prolog failed$",
        "Slurm's prolog failed on {node}: see the log of its slurmd",
    ),
    Message(
        "",
        "Task launch … failed on node …: Communication connection failure (or another one)",
        r"^srun: error: Task launch for \S{1,40} failed on node (?P<node>\S{1,200}): "
        r"(?:Communication connection failure|Socket timed out on send/recv operation|Zero Bytes were transmitted or "
        r"received|Communication shutdown failure)$",
        "slurmd of {node} does not answer: the node died, or its network did; see its own log",
    ),
    Message(
        "",
        "Couldn't find (or load) the specified plugin name for mpi/…",
        r"^srun: error: Couldn't (?:find the specified|load specified) plugin name for (?P<name>mpi/\w{1,40})\b"
        r"[^\n]{0,200}$",
        "srun has no working plugin {name}: see srun --mpi=list, and set srun_mpi of the stack in the system's file",
    ),
    Message(
        "",
        "Invalid MPI type '…', --mpi=list for acceptable types",
        r"^srun: error: Invalid MPI type '(?P<name>[^\n']{1,80})', --mpi=list for acceptable types$",
        "srun has no plugin {name}: see srun --mpi=list, and set srun_mpi of the stack in the system's file",
    ),
    Message(
        "openmpi",
        "OMPI was not built with SLURM's PMI support",
        r"^but OMPI was not built with SLURM's PMI support and therefore cannot$",
        "srun and this Open MPI speak different versions of PMI: write srun_mpi: pmix for the stack in the system's "
        "file, if srun --mpi=list has it, or take the launcher mpirun",
    ),
    Message(
        "mpich",
        LAUNCHER_BUG,
        rf"^slurmstepd-(?P<node>\S{{1,200}}): error: {LAUNCHER_BUG}$",
        "Slurm's plugin pmi2 read a long line of the library's start in two parts on {node}, so the processes got "
        f"broken addresses of one another; no network is to blame: run it with GLIBC_TUNABLES={OTHER_HEAP}, which "
        "changes what that line holds, or take the launcher mpirun in the system's file",
        of_launcher=True,
    ),
    Message(
        "",
        "slurmstepd: error: execve()",
        rf"^{STEPD}execve\(\): (?P<name>[^\n]{{1,200}}): "
        r"(?:No such file or directory|Permission denied)$",
        "{name} is not there, or may not be executed",
    ),
    Message(
        "",
        "Illegal instruction",
        r"^srun: error: (?P<node>\S{1,200}): tasks? [0-9,-]{1,80}: Illegal instruction\b[^\n]{0,40}$",
        "the program was built for a newer processor than {node} has",
    ),
    Message(
        "",
        "Host key verification failed, Permission denied (publickey …)",
        r"^(?:Host key verification failed\.|(?:\S{1,200}: )?Permission denied "
        r"\([^\n)]{0,80}publickey[^\n)]{0,80}\)\.)$",
        "the other node refuses ssh, with which the launcher starts processes there: check its keys and known hosts",
    ),
    Message(
        "",
        "No space left on device, Disk quota exceeded",
        rf"^{_SHELL}[^\n]{{0,300}}: (?:No space left on device|Disk quota exceeded)$",
        "a file system is full, or a quota is used up",
    ),
    Message(
        "",
        "Stale file handle, Input/output error, Read-only file system, Transport endpoint is not connected",
        rf"^{_SHELL}[^\n]{{0,300}}: "
        r"(?:Stale file handle|Input/output error|Read-only file system|Transport endpoint is not connected)$",
        "a file system of that node is broken: mount it again, and see the node's kernel log",
    ),
    Message(
        "ucx",
        "UCX  ERROR Not enough memory to write … Please check that /dev/shm",
        r"^[^\n]{0,100}UCX  ERROR\s{1,5}Not enough memory to write total of [0-9]{1,20} bytes\. Please check that "
        r"/dev/shm [^\n]{0,200}$",
        "/dev/shm of that node is full, or too small",
    ),
    Message(
        "ucx",
        "UCX  ERROR … Please set max locked memory (ulimit -l) to 'unlimited'",
        r"^[^\n]{0,100}UCX  ERROR [^\n]{0,200}Please set max locked memory \(ulimit -l\) to 'unlimited' "
        r"\(current: (?P<limit>[^\n)]{1,40})\)$",
        "the job may lock {limit} of memory there, and RDMA needs it unlimited (ulimit -l of slurmd, limits.conf)",
    ),
    Message(
        "openmpi",
        "An invalid value was given for",
        r"^WARNING: An invalid value was given for (?P<name>\w{1,80})\.[^\n]{0,40}\n[^\n]{0,80}\n\s{0,10}Local host: "
        r"(?P<node>\S{1,200})\s{1,10}Value:\s{1,10}(?P<value>\S{1,200})\s{1,10}Message:\s{1,10}(?P<said>[^\n]{1,80})",
        "{value} of {name}, on {node}: {said}",
    ),
    Message(
        "openmpi",
        "A requested component was not found, or was unable to be opened",
        r"^A requested component was not found, or was unable to be opened\.(?:[^\n]{0,100}\n){1,8}?Host:\s{1,10}"
        r"(?P<node>\S{1,200})\s{1,4}Framework:\s{1,10}(?P<framework>\S{1,80})\s{1,4}Component:\s{1,10}(?P<name>\S{1,80})",
        "{framework}/{name} is not built into the Open MPI of {node}",
    ),
    Message(
        "openmpi",
        "No available … components were found!",
        r"^No available (?P<name>\w{1,40}) components were found!$",
        "none of the {name} components that were asked for is there, or can be used",
    ),
    Message(
        "openmpi",
        "There are not enough slots available",
        r"^There are not enough slots available in the system to satisfy the (?P<slots>[0-9]{1,9})\b[^\n]{0,40}$",
        "the launcher was given fewer than {slots} places for ranks",
    ),
    Message(
        "openmpi",
        "was unable to launch the specified application (or find the executable)",
        r"^\S{0,200}mpirun\S{0,40} was unable to (?:launch the specified application|find the specified executable)"
        r"[^\n]{0,80}\n(?:[^\n]{0,100}\n){1,9}?(?:Node:\s{1,10}\S{1,200}\n)?Executable: (?P<name>\S{1,200})",
        "{name} is not there, or may not be executed",
    ),
    Message(
        "mpich",
        "execvp error on file",
        r"^[^\n]{0,200}HYDU_create_process [^\n]{0,200}: execvp error on file (?P<name>\S{1,200}) [^\n]{0,80}$",
        "{name} is not there, or may not be executed",
    ),
    Message(
        "mpich",
        "Runtime environment uses unsupported PMI version",
        r"^[^\n]{0,100}Runtime environment uses unsupported PMI version (?P<name>\w{1,20})\.[^\n]{0,40}$",
        "the launcher speaks {name}, which this library does not: it is another library's launcher, or srun needs "
        "another srun_mpi in the system's file",
    ),
    Message(
        "ucx",
        "UCX  WARN  network device … is not available",
        r"^[^\n]{0,100}UCX  WARN  network device '(?P<name>[^']{1,80})' is not available, please use[^\n]{0,400}$",
        "UCX_NET_DEVICES names {name}, which that node does not have",
    ),
    Message(
        "ucx",
        "UCX  WARN  transport … is not available",
        r"^[^\n]{0,100}UCX  WARN  transport '(?P<name>[^']{1,80})' is not available, please use[^\n]{0,400}$",
        "UCX_TLS names {name}, which this UCX does not have on that node",
    ),
    Message(
        "mpich",
        "OFI fi_getinfo() failed … No data available",
        r"^[^\n]{0,100}OFI fi_getinfo\(\) failed \([^\n]{0,100}:No data available\)$",
        "no provider of Libfabric fits what was asked for (I_MPI_OFI_PROVIDER, FI_PROVIDER)",
    ),
    Message(
        "",
        "unable to connect to server",
        r"^iperf3: error - unable to connect to server: (?P<said>[^\n]{1,80})$",
        "the client did not reach its server",
    ),
    Message(
        "",
        "failed to modify QP to RTR",
        r"^[^\n]{0,100}failed to modify QP to RTR: (?P<said>[^\n]{1,80})$",
        "the two ends do not agree on GID, MTU or path, so the queue pair cannot receive",
    ),
    Message(
        "",
        "cxil_map: write error",
        r"^[^\n]{0,100}cxil_map: write error\s{0,10}$",
        "the driver of Slingshot's card refused to register memory for it: memory of a GPU in a job that is not set up "
        "for it (MPICH_GPU_SUPPORT_ENABLED, craype-accel modules, FI_HMEM), or too many registrations",
    ),
    Message(
        "",
        "Got completion with error 12, Failed status 12",
        rf"^[^\n]{{0,200}}?{_COMPLETION}12\b[^\n]{{0,300}}$",
        "the other end did not answer within the retries of the queue pair: look at cable and switch between the two, "
        "at MTU and GID index, and whether the other process had ended before",
    ),
    Message(
        "",
        "Got completion with error …, Failed status …",
        rf"^[^\n]{{0,200}}?{_COMPLETION}(?P<code>[0-9]{{1,3}})\b[^\n]{{0,300}}$",
        "a transfer over RDMA failed with code {code} of ibv_wc_status",
    ),
    # Consequences: quoted where their cause said nothing.
    Message(
        "openmpi",
        "An ORTE daemon has unexpectedly failed after launch",
        r"^An ORTE daemon has unexpectedly failed after launch and before$",
        "Open MPI's daemon did not start on another node, or could not connect back. In a job of Slurm it is started "
        "by the srun that is first on PATH, which may be another Slurm's (type -a srun); what srun says is shown if "
        "mpirun has --leave-session-attached",
    ),
    Message(
        "openmpi",
        "At least one pair of MPI processes are unable to reach each other",
        r"^At least one pair of MPI processes are unable to reach each other for$",
        "no transport that was asked for connects these nodes",
    ),
    Message(
        "ucx",
        "UCX  ERROR",
        r"^[^\n]{0,100}UCX  ERROR [^\n]{1,200}$",
        "UCX could not connect",
    ),
    Message(
        "openmpi",
        "noticed that process rank … exited on signal",
        r"^\S{0,200}mpirun\S{0,40} noticed that process rank (?P<rank>[0-9]{1,9}) with PID [0-9]{1,9} on node "
        r"(?P<node>\S{1,200}) exited on signal (?P<signal>[0-9]{1,3}) [^\n]{0,80}$",
        "rank {rank} on {node} was ended by signal {signal}",
    ),
    Message(
        "mpich",
        "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        r"^=\s{1,5}BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=\s{1,5}(?:RANK [0-9]{1,9} )?PID [0-9]{1,9} "
        r"RUNNING AT (?P<node>\S{1,200})\n=\s{1,5}(?P<how>(?:EXIT CODE|KILLED BY SIGNAL): [0-9]{1,3})[^\n]{0,40}$",
        "a process on {node}: {how}; an exit code of 9 or 11 there is mostly that signal",
    ),
)


def first_cause(stack: str | None, texts: Iterable[str]) -> FirstCause | None:
    """Return what a stack, or a tool of it, said first of what went wrong in any of several texts; None for nothing.

    ``stack`` None, or a name of which nothing is known: the messages of all libraries are looked for.
    """
    from railyard.stacks.model import STACKS  # only a failure needs the table of stacks

    heads = [text[:LOOKED_THROUGH] for text in texts]
    known = None if stack is None else STACKS.get(stack)
    printed = LIBRARIES if known is None else known.errors_of
    for message in MESSAGES:
        if message.library and message.library not in printed:
            continue
        for index, head in enumerate(heads):
            found = re.search(message.pattern, head, re.MULTILINE)
            if found is not None:
                quoted = one_line(found[0].partition("\n")[0]).strip()
                parts = {name: one_line(value or "").strip() for name, value in found.groupdict().items()}
                line = head.count("\n", 0, found.start()) + 1
                means = message.means.format_map(parts)
                failed = None if "node" in parts else _FAILED_TASK.search(head)
                means = means if failed is None else failed_on(means, failed[1])
                return FirstCause(index, line, quoted, means, message.of_launcher, message.starts_none)
    return None


def never_began(text: str) -> bool:
    """Return whether the output of a step without a result shows that a bug of the launcher ended its start."""
    cause = first_cause(None, (text,))
    return cause is not None and cause.of_launcher


def own_words_first(failures: Iterable[OutputLine]) -> tuple[OutputLine, ...]:
    """Return the failures with those that a parser found by what is missing after those that the output itself says.

    A heading without any row is what came of an error, even if the error is in a later line.
    """
    return tuple(sorted(failures, key=lambda each: NO_ROW.match(each.text) is not None))


def document() -> str:
    """Return the table as Markdown, a row a message, in the order in which they are looked for."""
    rows = ["| whose | looked for | what it means |", "| --- | --- | --- |"]
    for message in MESSAGES:
        blanks = re.sub(r"\{(\w+)\}", lambda found: found[1].upper(), message.means)
        rows.append(f"| {LIBRARIES.get(message.library, 'any')} | `{message.words}` | {blanks} |")
    return "\n".join(rows) + "\n"
