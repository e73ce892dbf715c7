"""Runs doctor.sh on nodes in the way in which the system's own launcher would run a benchmark there.

In a step of Slurm each node writes its answer into a file (``job.node_files``).
"""

import contextlib
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.finding import Finding, problem, remark
from railyard.base.hostlist import join_names, label
from railyard.base.paths import packaged_text, state_folder
from railyard.base.wording import few
from railyard.cluster.doctor.node_block import SCRIPT, NodeState, parse, rails_of
from railyard.job import node_files
from railyard.job.slurm import way_in
from railyard.site.systems.jobs import is_slurm
from railyard.site.systems.model import System

_STEP_LIMIT_S = 120
#: The tag of answers that a person asks for by hand.
_BY_HAND = "by-hand"
_QUEUE_LIMIT_S = 90
_END_LIMIT_S = 10
_NODE_LIMIT_S = 30
#: As many nodes as most checks use. So many are asked if the system's file names no nodes and the user gives no number.
DEFAULT_COUNT = 2


@dataclass(frozen=True, slots=True)
class Answer:
    """What the nodes said, when the step began and ended (seconds since 1970), and which nodes should have answered.

    ``expected`` is empty if the scheduler chose them; ``count`` is how many were asked. ``silent``: findings about
    nodes without a whole answer, and about how the others answered. ``calibration``: findings of the transfers of known
    size, if Railyard can make them itself.
    """

    nodes: tuple[NodeState, ...]
    step: tuple[float, float]
    expected: tuple[str, ...]
    count: int
    silent: tuple[Finding, ...] = ()
    calibration: tuple[Finding, ...] = ()


def ask_nodes(home: Path, system: System, count: int | None, echo: Callable[[str], None]) -> Answer:
    """Return what nodes of the system say. Raises SetupError if nothing here can start a step, or if the step fails."""
    script = _script(home)
    if system.provider == "testbed":
        return _in_testbed(home, system, count, script, echo)
    if system.provider == "host":
        # The system's file calls it localhost, whatever its own name is.
        return _step(["sh", str(script), rails_of(system)])
    if system.provider == "replay":
        raise SetupError(
            f"doctor: {system.system} is replayed and has no nodes; leave --nodes out, or name a real system"
        )
    if is_slurm(system.scheduler):
        return _by_srun(home, system, count, script)
    raise SetupError(
        f"doctor: Railyard starts no step with the scheduler {system.scheduler}; inside your own job, run on every "
        f"node, one process each, {_by_hand(home, system, script)}"
    )


def _by_hand(home: Path, system: System, script: Path) -> str:
    """Return what to run in a job on every node, and how to judge the output; very many nodes write into files."""
    command = f"sh {script} {rails_of(system)}"
    then = f"and then: railyard doctor --system {system.system} --from"
    if system.nodes.number <= node_files.FLAT:
        return f"`{command}`, keep what all print in one file, {then} FILE"
    folder, keeps = state_folder(home) / "doctor-nodes", state_folder(home) / node_files.SCRIPT
    try:
        shutil.rmtree(folder, ignore_errors=True)
        asking = node_files.prepare_folder(folder, _BY_HAND, system.nodes.number)
        keeps.write_text(node_files.script_text(), encoding="utf-8")
    except OSError as error:
        raise SetupError(f"doctor: {folder} cannot be written ({error.strerror}), but the nodes write there") from None
    front = " ".join(["sh", str(keeps), str(folder), asking.tag, str(asking.folders), "--"])
    return f"`{front} {command}`, {then} {folder}"


def _by_srun(home: Path, system: System, count: int | None, script: Path, before: tuple[str, ...] = ()) -> Answer:
    """Return what the nodes say in a step of Slurm. ``before`` comes before srun and leads to where slurmctld is."""
    asked = count or len(system.nodes.names) or min(DEFAULT_COUNT, system.nodes.number)
    words = [*before, "srun", *system.step_words, f"--nodes={asked}", "--ntasks-per-node=1", "--exclusive", "--time=2"]
    words.append(f"--immediate={_QUEUE_LIMIT_S}")  # else a request that cannot be fulfilled stays in the queue
    if count is None and system.nodes.names:
        words.append(f"--nodelist={join_names(system.nodes.names)}")
    expected = system.nodes.names if count is None else ()
    command = ["sh", str(script), rails_of(system)]
    try:
        with node_files.ask_nodes(state_folder(home) / "answers", asked) as asking:
            return _of_files(asking, [*words, *asking.words(command)], expected)
    except node_files.Unwritable as error:
        raise SetupError(f"doctor: {state_folder(home)} cannot be written ({error.strerror})") from None


def _of_files(asking: node_files.AnswerFolder, words: list[str], expected: tuple[str, ...]) -> Answer:
    """Return what the nodes wrote, or printed if they could not write."""
    begun = time.time()
    try:
        ended = _run(words)
    except subprocess.TimeoutExpired:
        ended = None
    except OSError as error:
        raise _not_started(words, error) from None
    step = (begun, time.time())
    printed = "" if ended is None else ended[1]
    by_launcher = parse(printed)
    gathered = node_files.gather(
        asking,
        lambda file: parse(file.text),
        ended_well=ended is not None and ended[0] == 0,
        elsewhere=(node.name for node in by_launcher),
    )
    nodes = (*(node for found in gathered.values for node in found), *by_launcher)
    if not nodes and not gathered.faults:
        raise _no_answer_error(ended, asking.count, "srun")
    if gathered.faults:
        node_files.keep(asking)
    faults = [
        problem(one.node, one.what, one.fix) for one in gathered.faults if not (expected and one.kind == "silent")
    ]
    fix = "check whether the site's folder is there and readable"
    faults += [problem(node, f"{SCRIPT} said nothing there", fix) for node, found in gathered.answers if not found]
    named = {label(one.node) for one in gathered.faults if one.kind != "silent"}
    if ended is None:
        what = f"it did not end within {_STEP_LIMIT_S} s and was stopped; answers written by then are judged"
        faults.append(problem("the step", what, "find the node that hangs: it is named here, or squeue shows it"))
    faults += _old_way(asking, node_files.by_launcher(printed))
    return Answer(
        nodes, step, tuple(node for node in expected if label(node) not in named), asking.count, tuple(faults)
    )


def _old_way(asking: node_files.AnswerFolder, nodes: dict[str, str]) -> list[Finding]:
    """Return the remarks about nodes that answered through the launcher, one for each reason."""
    said = {"unseen": "does not see", "closed": "may not write into"}
    found = []
    for why, words in said.items():
        those = [node for node, of_it in nodes.items() if of_it == why]
        if those:
            what = f"{'it' if len(those) == 1 else 'each'} {words} {asking.folder.parent}, and answered through srun"
            fix = "put the site's folder on a file system that nodes and this host share: srun is slow for many nodes"
            found.append(remark(few(those), what, fix))
    return found


def _script(home: Path) -> Path:
    """Copy the script to where nodes see it, the site's state folder, and return its path there."""
    path = state_folder(home) / SCRIPT
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(packaged_text(f"cluster/doctor/{SCRIPT}"), encoding="utf-8")
    except OSError as error:
        raise SetupError(f"doctor: {path} cannot be written ({error.strerror}), but the nodes read it there") from None
    return path


def _step(words: list[str]) -> Answer:
    """Return what this host says about itself."""
    begun = time.time()
    try:
        ended = _run(words)
    except subprocess.TimeoutExpired:
        raise _no_answer_error(None, 1, words[0]) from None
    except OSError as error:
        raise _not_started(words, error) from None
    nodes = parse(ended[1])
    if not nodes:
        raise _no_answer_error(ended, 1, words[0])
    return Answer(nodes, (begun, time.time()), (), 1)


def _not_started(words: Sequence[str], error: OSError) -> SetupError:
    return SetupError(f"doctor: {words[0]} cannot be started ({error.strerror}); load its module")


def _no_answer_error(ended: tuple[int, str, str] | None, count: int, program: str) -> SetupError:
    """Return the error for a step in which no node answered; ``ended`` is None if it did not end in time."""
    if ended is None:
        return SetupError(
            f"doctor: the step did not end within {_STEP_LIMIT_S} s, expected a few seconds: no free nodes, or a node "
            f"that hangs; squeue says which"
        )
    code, _, err = ended
    said = (err.strip().splitlines() or [f"exit code {code} and no output"])[-1]
    return SetupError(f"doctor: found no answer of any node, expected {count}; {program} said: {said}")


def _run(words: list[str]) -> tuple[int, str, str]:
    """Return exit code and both outputs. Raises subprocess.TimeoutExpired, after srun was asked to end its job."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, errors="replace"
    ) as running:
        try:
            out, err = running.communicate(timeout=_STEP_LIMIT_S)
        except subprocess.TimeoutExpired:
            running.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.communicate(timeout=_END_LIMIT_S)
            running.kill()
            raise
    return running.returncode, out, err


def _in_testbed(home: Path, system: System, count: int | None, script: Path, echo: Callable[[str], None]) -> Answer:
    """Return what nodes of the virtual cluster say; bring it up first if it is not up.

    If it has Slurm, a step is started as on any cluster: a job step has the limits of slurmd, not those of the
    namespace.
    """
    from railyard.cluster.doctor.transfers import calibrate
    from railyard.provision.testbed.cluster import Testbed
    from railyard.provision.testbed.lifecycle import provide_testbed
    from railyard.provision.testbed.spec import spec_of

    with provide_testbed(home, system, echo):
        bed = Testbed(home, spec_of(system))
        if is_slurm(system.scheduler):
            return replace(_by_srun(home, system, count, script, way_in(system, home)), calibration=calibrate(bed))
        begun = time.time()
        words = ["sh", str(script), rails_of(system)]
        text = "".join(bed.exec(node, words, timeout_s=_NODE_LIMIT_S).stdout for node in bed.spec.nodes)
        step = (begun, time.time())
        return Answer(parse(text), step, bed.spec.nodes, len(bed.spec.nodes), calibration=calibrate(bed))
