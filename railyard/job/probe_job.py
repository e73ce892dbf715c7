"""A job that measures single rails under a scheduler: the nodes that it asks for, its script, and the words of a step.

The job asks for the two nodes of a failed run by name, and for one or two more that the scheduler chooses. Each
measurement is a step over two of the job's nodes (``probes.sh``, package data beside this file). If a measurement
raises a question, its answer is one more step of the same job (``question``). Sources: sbatch(1), srun(1) and
scontrol(1) of Slurm 22.05; qsub(1B) and pbs_resources(7B) of PBS 2022.1; qsub(1) of Torque 6.1; bsub(1) of IBM
Spectrum LSF 10.1; flux-batch(1), flux-run(1) and flux-hostlist(1) of flux-core 0.71; qsub(1) and sge_types(1) of Grid
Engine 8.1.9.

The lines of a job that measure suspects again after the test of all pairs, each alone, in the same allocation.

The shell asks ``railyard pairs next`` what to measure, until that prints nothing; a healthy run asks once. A failure
here does not fail the run: the run is then judged by its first measurement, and says that nothing was measured again.
"""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from railyard.base.errors import RailyardError
from railyard.base.paths import packaged_text
from railyard.parsers.failure_lines import LAUNCHER_BUG, OTHER_HEAP
from railyard.parsers.pairs import GROUPS, SAMPLE
from railyard.site.systems.jobs import FAMILIES, FLUX_RUN, OWN_LAUNCHERS, SRUN
from railyard.stacks import ask

if TYPE_CHECKING:
    from railyard.job.launch import Launch

SCRIPT = "probes.sh"
#: What the steps call the nodes that the scheduler chooses.
PARTNERS = ("railyard-partner-1", "railyard-partner-2")
#: How srun starts a step beside others on the same nodes: otherwise each waits for their processors and memory, and
#: is bound to the same first ones.
SHARED = ("--overlap", "--cpu-bind=none")
#: How srun gives a step's nodes their ranks in the order of its list. Otherwise it sorts them, and a stream from the
#: second to the first node goes the same way as one from the first to the second. The list is how many nodes there are:
#: from 24.05 on srun takes no --nodes beside it ("--nodes is incompatible with --distribution=arbitrary").
IN_ORDER = ("--distribution=arbitrary",)
#: The same for flux, which takes the order of ranks only from a file (flux-run(1), --taskmap):
#: the hosts come before ``--``, the words of flux run after it.
_FLUX_IN_ORDER = (
    'file=.hosts-$$; trap "rm -f $file" EXIT; echo "$0" >$file; '
    'while [ "$1" != -- ]; do echo "$1" >>$file; shift; done; shift; flux run --taskmap=hostfile:$file "$@"'
)
#: How long after SIGTERM a step that hangs is killed, in seconds.
_KILL_AFTER_S = 5
_BY_PMI2 = "--mpi=pmi2"
#: What a step prints if it was started again for that reason. Nothing else of its first start is kept.
STARTED_AGAIN = "railyard: this step was started again, since a bug of the launcher (mpi/pmi2) ended its first start"
#: What a start after that bug gets, in shell: with the same memory it would fail again.
WITH_OTHER_HEAP = f'GLIBC_TUNABLES="${{GLIBC_TUNABLES:+$GLIBC_TUNABLES:}}{OTHER_HEAP}"'
#: ``sh -c`` with KILL_AFTER LIMIT WORDS...: runs a step as `timeout` does and, if that bug ended its start, once more
#: in what is left of its time. If both outputs are one file, their order is kept.
_AND_ONCE_MORE = (
    'kill=$1 limit=$2 begun=$(date +%s); shift 2; first=$(mktemp -d) || exec timeout -k "$kill" "$limit" "$@"; '
    'trap "rm -rf \\"$first\\"" EXIT; said=$first/err; [ ! /proc/$$/fd/1 -ef /proc/$$/fd/2 ] || said=$first/out; '
    'timeout -k "$kill" "$limit" "$@" >>"$first/out" 2>>"$said"; code=$?; left=$((limit - $(date +%s) + begun)); '
    f'if [ "$code" != 0 ] && [ "$left" -gt 0 ] && grep -qF "{LAUNCHER_BUG}" "$said"; then '
    f'echo "{STARTED_AGAIN}" >&2; {WITH_OTHER_HEAP} timeout -k "$kill" "$left" "$@"; exit; fi; '
    'cat "$first/out"; [ "$said" = "$first/out" ] || cat "$said" >&2; exit "$code"'
)


@dataclass(frozen=True, slots=True)
class NodeRequest:
    """How a scheduler is asked for a pair of nodes and for others beside them.

    ``options`` are the job's, beside the system's own. ``tasks`` is whether ReFrame should add its own words for the
    number of tasks; if not, ``options`` are enough.
    """

    options: tuple[str, ...]
    tasks: bool


def node_request(
    scheduler: str,
    pair: tuple[str, str],
    others: Sequence[str],
    count: int,
    chunk: Sequence[str] = (),
) -> NodeRequest:
    """Return how a scheduler is asked for so many nodes, with the pair among them.

    ``others`` are the names of the system's other nodes, if its file has names. ``chunk``: the words of each chunk of
    PBS (``mem=190gb``). Raises RailyardError for a scheduler that cannot be asked for nodes by name.
    """
    way = _WAYS.get(scheduler) or _WAYS.get(FAMILIES.get(scheduler, ""))
    if way is None:
        raise RailyardError(f"Railyard cannot ask the scheduler {scheduler} for nodes by name")
    return way(pair, others, count - len(pair), chunk)


def _slurm(pair: tuple[str, str], others: Sequence[str], more: int, chunk: Sequence[str]) -> NodeRequest:
    # If the count is larger than the list, Slurm chooses the other nodes itself.
    options = (f"--nodes={len(pair) + more}", f"--nodelist={','.join(pair)}", "--no-requeue")
    return NodeRequest(options, True)


def _pbs(pair: tuple[str, str], others: Sequence[str], more: int, chunk: Sequence[str]) -> NodeRequest:
    each = _of_chunk(chunk)
    chunks = [f"1:{each}:host={node}" for node in pair]
    chunks += [f"{more}:{each}"] if more else []
    # The system's own options say where chunks are.
    return NodeRequest((f"-l select={'+'.join(chunks)}",), False)


def _of_chunk(chunk: Sequence[str]) -> str:
    """Return what each chunk of PBS has, with one process; the words' own number of processors wins."""
    own = any(part.startswith("ncpus=") for word in chunk for part in word.split(":"))
    return ":".join([*([] if own else ["ncpus=1"]), "mpiprocs=1", *chunk])


def _torque(pair: tuple[str, str], others: Sequence[str], more: int, chunk: Sequence[str]) -> NodeRequest:
    each = ":".join(["ppn=1", *chunk])
    chunks = [f"{node}:{each}" for node in pair] + ([f"{more}:{each}"] if more else [])
    return NodeRequest((f"-l nodes={'+'.join(chunks)}",), False)


def _lsf(pair: tuple[str, str], others: Sequence[str], more: int, chunk: Sequence[str]) -> NodeRequest:
    # LSF takes the names of all hosts that a job may have, or no names at all.
    hosts = (*pair, *others[:more])
    options = (f"-n {len(hosts)}", f'-m "{" ".join(hosts)}"', '-R "span[ptile=1]"')
    return NodeRequest(options, False)


def _flux(pair: tuple[str, str], others: Sequence[str], more: int, chunk: Sequence[str]) -> NodeRequest:
    # A constraint names all hosts that a job may have, or no hosts at all.
    hosts = (*pair, *others[:more])
    options = (f"--nodes={len(hosts)}", f"--requires=host:{','.join(hosts)}")
    return NodeRequest(options, False)


def _sge(pair: tuple[str, str], others: Sequence[str], more: int, chunk: Sequence[str]) -> NodeRequest:
    # The names of all hosts that a job may have. The slots that its other options ask for say how many it gets.
    return NodeRequest((f"-l hostname={'|'.join((*pair, *others[:more]))}",), False)


#: A scheduler of ReFrame, or its family -> how it is asked.
_WAYS: Mapping[str, Callable[[tuple[str, str], Sequence[str], int, Sequence[str]], NodeRequest]] = {
    "slurm": _slurm,
    "pbs": _pbs,
    "torque": _torque,
    "lsf": _lsf,
    "flux": _flux,
    "sge": _sge,
}


#: A family of schedulers -> the shell command that prints the nodes of a job, one per line, in the order of its ranks.
_LISTS_NODES = {
    "slurm": 'scontrol show hostnames "$SLURM_JOB_NODELIST"',
    "pbs": """awk '!seen[$0]++' "$PBS_NODEFILE\"""",
    "lsf": """awk '!seen[$0]++' "$LSB_DJOB_HOSTFILE\"""",
    "flux": "flux hostlist -le | tr ' ' '\\n'",
    # A node has a line for each of its queues.
    "sge": """awk '!seen[$1]++ {print $1}' "$PE_HOSTFILE\"""",
}


def lists_nodes(scheduler: str) -> str:
    """Return the shell command that prints the nodes of the job that it runs in, one per line, in the order of ranks.

    Raises RailyardError for a scheduler for which Railyard knows no such command.
    """
    found = _LISTS_NODES.get(FAMILIES.get(scheduler, ""))
    if found is None:
        raise RailyardError(f"Railyard does not know how a job of the scheduler {scheduler} lists its nodes")
    return found


def whole_nodes(scheduler: str, nodes: Sequence[str], chunk: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the options that ask for exactly these nodes, each whole, with one process on each.

    ``chunk``: the words of each chunk of PBS. Grid Engine's parallel environment, and its resource for whole nodes, are
    the site's own, so its options have only the names.

    Raises RailyardError for a scheduler that cannot be asked for nodes by name.
    """
    if FAMILIES.get(scheduler) == "pbs":
        if scheduler == "torque":
            own = ":".join(["ppn=1", *chunk])
            return (f"-l nodes={'+'.join(f'{node}:{own}' for node in nodes)}", "-n")
        chunks = "+".join(f"1:{_of_chunk(chunk)}:host={node}" for node in nodes)
        return (f"-l select={chunks}", "-l place=scatter:excl")
    whole = {"lsf": ("-x",), "flux": ("--exclusive",), "sge": ()}.get(FAMILIES.get(scheduler, ""))
    if whole is None:
        raise RailyardError(f"Railyard cannot ask the scheduler {scheduler} for nodes by name")
    return (*node_request(scheduler, (nodes[0], nodes[1]), nodes[2:], len(nodes)).options, *whole)


def job_lines(name: str, scheduler: str, pair: tuple[str, str], limit_s: float, questions_s: int) -> list[str]:
    """Return the lines of a scheduler's job; the names of its files begin with ``name``.

    All planned steps together may take ``limit_s`` seconds. Questions are answered for ``questions_s`` more seconds.
    """
    words = [name, str(int(limit_s)), str(questions_s), *pair]
    return [f"{lists_nodes(scheduler)} | sh {SCRIPT} {shlex.join(words)}"]


def question(name: str, number: int) -> str:
    """Return the file that names the step that a job named ``name`` should run next: its question of this number."""
    return f"{name}.ask-{number}"


def no_more(name: str) -> str:
    """Return the file that says that a job named ``name`` will get no more questions."""
    return f"{name}.done"


def probes_script() -> str:
    """Return the text of the script that the job runs; it is written into the job's folder."""
    return packaged_text(f"job/scripts/{SCRIPT}")


def limit_words(launch: "Launch", limit_s: int | str, kill_after_s: int = _KILL_AFTER_S) -> list[str]:
    """Return the words that end a step after ``limit_s`` seconds, and kill it ``kill_after_s`` later.

    They start a step again once if it is started by Slurm's plugin pmi2 and LAUNCHER_BUG ended its start.
    """
    front = ["sh", "-c", _AND_ONCE_MORE, "step"] if _BY_PMI2 in launch.options else ["timeout", "-k"]
    return [*front, str(kill_after_s), str(limit_s)]


def step_words(
    launcher: str,
    stack: str,
    launch: "Launch",
    limit_s: int | str,
    shared: bool = False,
    per_node: int = 1,
    kill_after_s: int = _KILL_AFTER_S,
) -> list[str]:
    """Return the words that start ``per_node`` processes on each node of a launch within a job that has more nodes.

    Nodes are filled in their order. ``launcher`` is ReFrame's name. The launch is ended after ``limit_s`` seconds, and
    killed ``kill_after_s`` later. ``shared``: other steps run on the same nodes at that time, and would be bound to the
    same cores; the order of nodes does not matter then. Raises RailyardError for a launcher that cannot be given the
    nodes to use.
    """
    timed = ["timeout", "-k", str(kill_after_s), str(limit_s)] if shared else limit_words(launch, limit_s, kill_after_s)
    count = len(launch.nodes)
    ranks = count * per_node
    if launcher in SRUN:
        words = [*(SHARED if shared else ()), f"--ntasks={ranks}", f"--ntasks-per-node={per_node}"]
        if launcher == "srun":  # the options of a step in an allocation already have its nodes
            words += [f"--nodes={count}", f"--nodelist={','.join(launch.nodes)}"]
        words += launch.options
        if shared:
            return [*timed, "srun", *words]
        # "arbitrary" names a node for each process; "block" fills one node after the other.
        if per_node > 1:
            return [*timed, "srun", *words, "--distribution=block"]
        return [*timed, "srun", *(word for word in words if not word.startswith("--nodes=")), *IN_ORDER]
    if launcher in OWN_LAUNCHERS:
        # Use the name with which the run was started: PALS has an mpiexec and no mpirun.
        program = str(PurePath(launch.program).with_name(launcher))
        if ask.part_separator(stack) and not shared:
            parts = [
                ask.launch_options(stack, hosts=(node,), ranks=per_node, ranks_per_node=per_node)
                for node in launch.nodes
            ]
            each = f" {ask.part_separator(stack)} ".join(f'{shlex.join(part)} "$@"' for part in parts)
            return [*timed, "sh", "-c", f"exec {shlex.quote(program)} {each}", launcher, *launch.options]
        hosts = ask.launch_options(stack, hosts=launch.nodes, ranks=ranks, ranks_per_node=per_node, share_cores=shared)
        return [*timed, program, *hosts, *launch.options]
    if launcher == FLUX_RUN:
        words = [f"--nodes={count}", f"--ntasks={ranks}", f"--requires=host:{','.join(launch.nodes)}"]
        front = ["flux", "run"] if shared or per_node > 1 else ["sh", "-c", _FLUX_IN_ORDER, *launch.nodes, "--"]
        return [*timed, *front, *words, *launch.options]
    known = ", ".join((*SRUN, *OWN_LAUNCHERS, FLUX_RUN))
    raise RailyardError(f"Railyard cannot give the launcher {launcher} the nodes to use; it knows {known}")


#: What each pair sends: messages of one size, at which every link's limit holds, and how many in flight.
SIZE_BYTES, WINDOW = 4 << 20, 8
#: How long a stream should last at the fabric's own rate, in seconds. It sets the number of windows.
STREAM_S = 0.1
#: Messages before the timed ones; 8-byte messages there and back, for the latency.
WARM_UP, EXCHANGES = 1, 20
#: The time of a round besides its two streams, in seconds: estimates. All ranks meet four times: one after the other,
#: they reach the first rank, which may be asleep for half a millisecond.
_MEETINGS, _ASLEEP_S, _A_RANK_S = 4, 0.0005, 2e-6
#: The time of a launch until its first round, in seconds, and the share of each node: estimates.
_LAUNCH_S, _LAUNCH_A_NODE_S = 5.0, 0.005

ROUNDS = "rounds.txt"
ROUNDS_OF_TWO = "rounds-of-two.txt"
SWITCHES = "switches.txt"
#: Files of a sample: the job's nodes, one per line, the first rank's node first; and the pairs of earlier nights.
NODES, USED = "sample-nodes.txt", "sample-used.txt"
#: Files of switch groups: the leaf switches as the job's scheduler states them, and the output of short messages.
LIVE_SWITCHES, MESSAGES = "live-switches.txt", "messages.out"
#: Short messages: their size in bytes, and how many are in flight.
SHORT_BYTES, SHORT_WINDOW = 8, 64
#: The most steps after the first: sifting, sides, and alone (``railyard.verdict.blame.search``).
STEPS = tuple(f"again-{number}" for number in range(1, 17))
RAIL_ROUNDS = "again-rails.txt"


def words(size: int, window: int, exchanges: int, rate_mb_s: float | None, stream_s: float = STREAM_S) -> list[str]:
    """Return the words after a file of rounds: sizes, and windows that last ``stream_s`` at a rate, at least 1."""
    repeats = max(1, round((rate_mb_s or 0.0) * 1e6 * stream_s / (size * window)))
    return [str(size), str(window), str(repeats), str(WARM_UP), str(exchanges)]


def round_seconds(said: Sequence[str], rate_mb_s: float | None, nodes: int) -> float:
    """Return an estimate of how long a healthy round of so many nodes lasts with the program's words (``words``).

    If the rate is unknown, as long as at 100 MB/s.
    """
    size, window, repeats, warm_up, _ = map(int, said)
    streams_s = 2 * size * (window * repeats + warm_up) / ((rate_mb_s or 100.0) * 1e6)
    return streams_s + _MEETINGS * (_ASLEEP_S + nodes * _A_RANK_S)


def launch_seconds(nodes: int) -> float:
    """Return an estimate of how long a launch over so many nodes takes until its first round."""
    return _LAUNCH_S + nodes * _LAUNCH_A_NODE_S


def rail_output(rail: str) -> str:
    """Return the name of the file with the measurement of one rail alone."""
    return f"again-{rail.replace(':', '.')}.out"


def lines(
    output: str,
    launch: str,
    program: Sequence[str],
    words: Sequence[str],
    rails: Mapping[str, str],
    asking: Sequence[str],
) -> list[str]:
    """Return the lines: the steps over all rails at once, then over each of ``rails`` (name: its launch) alone.

    ``launch`` is the job's own launch, ``program`` the executable and the name that it should print, both as shell
    words, ``words`` are the words after a file of rounds, ``asking`` the options of ``railyard pairs``.
    """
    railyard = f"{shlex.quote(sys.executable)} -m railyard pairs"
    run, rest, options = " ".join(program), " ".join(words), " ".join(asking)
    steps = " ".join(STEPS)
    asked = f"{railyard} next {options}"
    made = [
        *lines_of_printed(output),
        f"for step in {steps}; do {asked} $made > $step.txt 2> $step.err && [ -s $step.txt ] || break; "
        f'{launch} {run} $step.txt {rest} > $step.out 2>&1 || break; made="$made $step.out"; done',
    ]
    if len(rails) > 1:
        made.append(f"{railyard} rails {options} $made > {RAIL_ROUNDS} 2> again-rails.err || :")
        for rail, its_launch in rails.items():
            out = shlex.quote(rail_output(rail))
            made.append(f"[ ! -s {RAIL_ROUNDS} ] || {its_launch} {run} {RAIL_ROUNDS} {rest} > {out} 2>&1 || :")
    return made


def lines_of_printed(output: str) -> list[str]:
    """Return the lines that set ``made`` to the file with what the job has printed so far, ``output`` at its end.

    PBS keeps what a job prints elsewhere until its end, so the script's own descriptor names the file.
    """
    return [f"made={shlex.quote(output)}", "[ ! -f /proc/$$/fd/1 ] || made=/proc/$$/fd/1"]


def live_switches(scheduler: str) -> list[str]:
    """Return the lines of a job that write the leaf switches as its scheduler states them; none if it states none."""
    if FAMILIES.get(scheduler) != "slurm":
        return []
    return [f"scontrol show topology > {LIVE_SWITCHES} 2> /dev/null || :"]


def measure_messages(launch: str, program: str, windows: int) -> str:
    """Return the line that measures short messages over the rounds of switch groups, so many windows each way."""
    words = f"{SHORT_BYTES} {SHORT_WINDOW} {windows} {WARM_UP} 0"
    return f"{launch} {program} {GROUPS} {ROUNDS} {words} > {MESSAGES} 2>&1 || :"


def plan_sample(asking: Sequence[str], lists_nodes: str | None) -> list[str]:
    """Return the lines of a job that plan its sample; ``lists_nodes`` prints its nodes, None if they are known."""
    listed = [] if lists_nodes is None else [f"{lists_nodes} > {NODES}"]
    return [*listed, f"{_asks_next(asking)} --first {NODES} > {ROUNDS} || exit 65"]


def _asks_next(asking: Sequence[str]) -> str:
    return f"{shlex.quote(sys.executable)} -m railyard pairs next --sample {' '.join(asking)}"


@dataclass(frozen=True, slots=True)
class Sample:
    """How a job measures a sample of all pairs: its launches, the program, and the program's words.

    ``launch`` is the job's own launch and ``rails`` the launch over each rail alone, as shell words; ``program`` is the
    executable. ``words`` follow a file of rounds of the sample, ``again_words`` follow one of a later step. ``asking``
    are the options of ``railyard pairs next``. After ``budget_s`` seconds no new step begins.
    """

    launch: str
    rails: Mapping[str, str]
    program: str
    words: Sequence[str]
    again_words: Sequence[str]
    asking: Sequence[str]
    budget_s: float

    def after(self, output: str) -> list[str]:
        """Return the lines that measure the steps after the first one. The rows of the first are in ``output``."""
        again = " ".join(self.again_words)
        over = [f"'') {self.launch} {self.program} \"$name\" $step.txt {again} ;;"]
        over += [
            f'{shlex.quote(rail)}) {its_launch} {self.program} "$name" $step.txt {again} ;;'
            for rail, its_launch in self.rails.items()
        ]
        sample = f"{self.launch} {self.program} {SAMPLE} $step.txt {' '.join(self.words)}"
        asked = _asks_next(self.asking)
        return [
            *lines_of_printed(output),
            # From an earlier measurement in this folder.
            f"rm -f {' '.join(f'{step}.out' for step in STEPS)}",
            "measure_step() {",
            "    name=$(sed -n 's/^# name //p' $step.txt) over=$(sed -n 's/^# over //p' $step.txt)",
            f'    if [ "$name" = {SAMPLE} ]; then {sample}; return; fi',
            '    case "$over" in',
            *(f"        {line}" for line in over),
            "        *) return 65 ;;",
            "    esac",
            "}",
            f"for step in {' '.join(STEPS)}; do [ $SECONDS -lt {self.budget_s:.0f} ] || break; "
            f"{asked} $made > $step.txt 2> $step.err && [ -s $step.txt ] || break; "
            'measure_step > $step.out 2>&1 || break; made="$made $step.out"; done',
        ]


def env_words(job: Mapping[str, str], alone: Mapping[str, str]) -> str:
    """Return ``env …``, which changes the job's variables to those of a rail alone; empty if they are the same."""
    gone = [f"-u {name}" for name in job if name not in alone]
    changed = [f"{name}={shlex.quote(value)}" for name, value in alone.items() if job.get(name) != value]
    return " ".join(["env", *gone, *changed]) if gone or changed else ""
