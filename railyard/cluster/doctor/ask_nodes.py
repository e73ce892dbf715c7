"""Runs doctor.sh on nodes as the system's launcher would run a benchmark, and sends bytes over a testbed's rails.

Runs doctor.sh on nodes in the way in which the system's own launcher would run a benchmark there.

In a step of Slurm each node writes its answer into a file (``job.node_files``).

Sends one job of doctor's own like a check's job: with the same options, modules, variables and words of srun.

Sends a known number of bytes over each rail of the virtual cluster, around all nodes, and reads every counter.
"""

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from railyard.base.errors import Finding, RailyardError, SetupError, problem, remark
from railyard.base.hostlist import join_names, label
from railyard.base.paths import packaged_text, state_folder
from railyard.base.wording import count_of, few, traffic
from railyard.cluster.doctor import payload
from railyard.cluster.doctor.node_block import SCRIPT, NodeState, parse, rails_of
from railyard.job import clients, node_files
from railyard.job.clients import way_in
from railyard.job.launch import Ranks, plan_launch, runs_as_root
from railyard.parsers import slurm as slurm_records
from railyard.provision.testbed.cluster import Testbed
from railyard.site.site import Site
from railyard.site.systems.jobs import SRUN, escape_exports, is_slurm
from railyard.site.systems.model import System
from railyard.site.systems.module_system import FIX, find_unloaded
from railyard.stacks.model import STACKS

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
        raise _start_error(words, error) from None
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
        raise _start_error(words, error) from None
    nodes = parse(ended[1])
    if not nodes:
        raise _no_answer_error(ended, 1, words[0])
    return Answer(nodes, (begun, time.time()), (), 1)


def _start_error(words: Sequence[str], error: OSError) -> SetupError:
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
    from railyard.provision.testbed.cluster import Testbed
    from railyard.provision.testbed.lifecycle import provide_testbed
    from railyard.provision.testbed.spec import spec_of

    with provide_testbed(home, system, echo):
        bed = Testbed(home, spec_of(system))
        if is_slurm(system.scheduler):
            return replace(
                _by_srun(home, system, count, script, way_in(system, home)), calibration=calibrate_transfers(bed)
            )
        begun = time.time()
        words = ["sh", str(script), rails_of(system)]
        text = "".join(bed.exec(node, words, timeout_s=_NODE_LIMIT_S).stdout for node in bed.spec.nodes)
        step = (begun, time.time())
        return Answer(parse(text), step, bed.spec.nodes, len(bed.spec.nodes), calibration=calibrate_transfers(bed))


#: How long the job may wait and run, in seconds. A full queue says nothing about the set-up.
WITHIN_S = 180
_SEEN_WITHIN_S = node_files.SEEN_WITHIN_S
_SCRIPT, _OUTPUT, _PAUSE_S = "job.sh", "job.out", 0.5
_NODES = 2
_STEP = re.compile(r"^railyard-step (?P<stack>\S+) exit (?P<code>\d+)$")
_NODE = "railyard-node "


@dataclass(frozen=True, slots=True)
class JobResult:
    """What became of the job: its number, what it printed, and why it did not end, None if it did."""

    job: str
    text: str
    wrong: Finding | None = None


def findings(site: Site, count: int | None, before: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Return what is wrong with a job of this system; nothing if each stack's step reached all of its nodes.

    ``count`` is how many nodes it asks for (2 if None). ``before`` comes before the scheduler's clients and leads to
    where they find their server. Raises SetupError if the scheduler is not of Slurm's family.
    """
    system = site.system
    if not is_slurm(system.scheduler):
        raise SetupError(
            f"doctor: --job: found scheduler {system.scheduler}, expected Slurm; send a job by hand: railyard run "
            f"--system {system.system} --dry-run prints the path of a check's script"
        )
    nodes = min(count or _NODES, system.nodes.number)
    folder = state_folder(site.home) / "doctor"
    # Many nodes write a file each; a few nodes print one short line per node.
    asking = node_files.AnswerFolder(folder, "doctor", nodes) if nodes > node_files.FLAT else None
    lines, found = _steps(site, nodes, asking)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
        if asking is not None:
            (folder / node_files.SCRIPT).write_text(node_files.script_text(), encoding="utf-8")
            for name in system.stacks:
                node_files.prepare_folder(folder / name, asking.tag, nodes)
        (folder / _SCRIPT).write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    except OSError as error:
        raise SetupError(f"doctor: {folder} cannot be written ({error.strerror}), but jobs write there too") from None
    sent = _send_job(site, folder, nodes, before)
    if sent.wrong is not None:
        return (*found, sent.wrong)
    return (*found, *_judge_job(sent, nodes, folder, asking))


def _steps(site: Site, nodes: int, asking: node_files.AnswerFolder | None) -> tuple[list[str], list[Finding]]:
    """Return the script's lines, one step per stack, and a finding for each stack that a job cannot use.

    With ``asking``, each node writes a file into a folder per stack; without it, each node prints a line.
    """
    system, lines, found = site.system, [], []
    fabric, first = next(iter(system.fabrics.items()))
    devices = (first.rails[0].name,)
    unloaded_stacks = dict(find_unloaded(system))
    for name in system.stacks:
        where = f"{name} on {system.system}"
        if name in unloaded_stacks:
            found.append(problem(system.system, unloaded_stacks[name], FIX))
            continue
        if STACKS[name].pair or system.launcher_of(fabric, name) not in SRUN:
            start = ["srun"]
            env = ""
        else:
            try:
                launch = plan_launch(site, fabric, name, devices, (), Ranks(nodes, 1), runs_as_root(system))
            except RailyardError as error:
                found.append(problem(where, str(error)))
                continue
            start = ["srun", *launch.options]
            env = "".join(f"export {key}={value}; " for key, value in escape_exports(launch.env).items())
        loads = "".join(f"{line} && " for line in system.script_lines(fabric, name, site.home))
        command = ["sh", "-c", f"echo {_NODE}{name} $(uname -n)"]
        if asking is not None:
            own = replace(asking, folder=asking.folder / name)
            command = own.words(command, str(asking.folder / node_files.SCRIPT))
        step = shlex.join([*start, *command])
        lines.append(f"( {loads}{{ {env}{step}; }} ) </dev/null; echo railyard-step {name} exit $?")
    return lines, found


def _send_job(site: Site, folder: Path, nodes: int, before: Sequence[str]) -> JobResult:
    """Send the job and return what became of it; cancel it if it does not end in time."""
    output = folder / _OUTPUT
    words = [
        *before, "sbatch", "--parsable", "--wait", "--no-requeue", "--job-name=railyard-doctor", f"--nodes={nodes}",
        "--ntasks-per-node=1", "--time=2", f"--output={output}", f"--error={output}", f"--chdir={folder}",
        *site.system.job_words, str(folder / _SCRIPT),
    ]  # fmt: skip
    where = f"job on {site.system.system}"
    pipe = subprocess.PIPE
    try:
        with subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, errors="replace"
        ) as running:
            try:
                out, said = running.communicate(timeout=WITHIN_S)
            except BaseException as error:
                running.terminate()
                out, _ = running.communicate()
                if not isinstance(error, subprocess.TimeoutExpired):
                    clients.answer([*before, "scancel", _job_number(out)])
                    raise
                return JobResult(_job_number(out), "", _cancel_unfinished(_job_number(out), where, before))
    except OSError as error:
        raise SetupError(f"doctor: sbatch cannot be started ({error.strerror}); load Slurm's module") from None
    job = _job_number(out)
    if not job:
        refused = " ".join(said.split()) or f"exit code {running.returncode} and no output"
        return JobResult(
            "", "", problem(where, f"sbatch refused it: {refused}", "see jobs and access in the system's file")
        )
    record = slurm_records.parse_job(clients.show_job(job, before)[0])
    ended = None if record is None else slurm_records.find_end(record)
    wrong = None if ended is None else problem(where, ended.sentence)
    return JobResult(job, _read(output), wrong)


def _cancel_unfinished(job: str, where: str, before: Sequence[str]) -> Finding:
    """Cancel a job that took too long, and return the finding about it."""
    record = slurm_records.parse_job(clients.show_job(job, before)[0])
    clients.answer([*before, "scancel", job])
    if record is not None and record.is_waiting:
        reason = record.reason or "no reason given"
        what = f"job {job} had not begun after {WITHIN_S} s and was cancelled ({reason})"
        return remark(where, what, "try again when nodes are free: jobs are not checked yet")
    return problem(where, f"job {job} began and had not ended after {WITHIN_S} s; it was cancelled", "see its output")


def _read(output: Path) -> str:
    """Return what the job printed, once this host sees it."""
    deadline = time.monotonic() + _SEEN_WITHIN_S
    while time.monotonic() < deadline:
        try:
            return output.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            time.sleep(_PAUSE_S)
    return ""


def _judge_job(sent: JobResult, nodes: int, folder: Path, asking: node_files.AnswerFolder | None) -> list[Finding]:
    if not sent.text:
        what = f"what job {sent.job} printed into {folder} cannot be read after {_SEEN_WITHIN_S} s"
        return [problem("job", what, "put the site's folder on a file system that nodes and this host share")]
    lines, found = sent.text.splitlines(), list[Finding]()
    codes = {step["stack"]: int(step["code"]) for line in lines if (step := _STEP.match(line))}
    last = 0
    for number, line in enumerate(lines):
        step = _STEP.match(line)
        if step is None:
            continue
        own, last = lines[last:number], number + 1
        stack = step["stack"]
        reached = {line.split()[-1] for line in own if line.startswith(f"{_NODE}{stack} ")}
        faults: tuple[node_files.Fault, ...] = ()
        if asking is not None:
            wrote = node_files.gather(
                replace(asking, folder=folder / stack), lambda file: file.node,
                ended_well=codes[stack] == 0, elsewhere=reached,
            )  # fmt: skip
            reached, faults = reached | set(wrote.values), wrote.faults
        if codes[stack] == 0 and len(reached) == nodes:
            continue
        said = "; ".join(line.strip() for line in own if not line.startswith(_NODE) and line.strip())
        found += (problem(each.node, each.what, each.fix) for each in faults)
        what = f"its step reached {len(reached)} of {count_of(nodes, 'node')} and ended with exit code {step['code']}"
        found.append(problem(f"{stack} in job {sent.job}", f"{what}: {said or 'it printed nothing'}"))
    if not codes:
        said = "; ".join(lines[-3:]) or "it printed nothing"
        found.append(problem(f"job {sent.job}", f"none of its steps began: {said}"))
    return found


def _job_number(out: str) -> str:
    """Return the job's number as sbatch --parsable prints it (``7`` or ``7;cluster``), empty if no job was sent."""
    first = out.strip().partition("\n")[0].partition(";")[0]
    return first if first.isascii() and first.isdigit() else ""


_PORT = 19871
_LIMIT_S = 30


#: Sent over each rail: far more than a quiet network carries in a second; a rail of 400 Mbit/s needs 0.4 s for it.
CALIBRATION_BYTES = 20_000_000

# Headers of TCP are 4.6 % of a frame (hardware/links.py). Retransmissions and other traffic in that time come on top.
# All the bytes arrived, so a counter of bytes shows at least as many.
_MOST = 1.15

_ELSEWHERE_BYTES = 2_000_000

#: A counter in another unit shows the bytes divided by this: InfiniBand's port counters count words of 4 bytes.
_UNITS = {4: "words of 4 bytes", 8: "words of 8 bytes", 1448: "packets"}


@dataclass(frozen=True, slots=True)
class Transfer:
    """One calibration: bytes of payload from one node's rail to another's, and how much each device's counters grew.

    ``sent`` and ``received`` map every device of sender and receiver to the bytes that its counter grew by; None if it
    could not be read.
    """

    rail: str
    sender: str
    receiver: str
    payload_bytes: int
    sent: Mapping[str, int | None]
    received: Mapping[str, int | None]


def calibrate_transfers(bed: Testbed) -> tuple[Finding, ...]:
    """Return what is wrong with the counters. On each rail, each node is once the sender and once the receiver."""
    found: list[Finding] = []
    nodes = bed.spec.nodes
    for network in bed.spec.networks:
        for sender, receiver in zip(nodes, (*nodes[1:], nodes[0]), strict=True):
            if sender != receiver:
                found += _one(bed, network.device, sender, receiver)
    return tuple(found)


def _one(bed: Testbed, device: str, sender: str, receiver: str) -> list[Finding]:
    before = _counters(bed)
    wrong = _send(bed, device, sender, receiver)
    if wrong is not None:
        return [uncalibrated_remark(f"{sender} {device}", f"nothing could be sent to {receiver}: {wrong}")]
    after = _counters(bed)
    transfer = Transfer(
        rail=device,
        sender=sender,
        receiver=receiver,
        payload_bytes=CALIBRATION_BYTES,
        sent={dev: after[node, dev][0] - tx for (node, dev), (tx, _) in before.items() if node == sender},
        received={dev: after[node, dev][1] - rx for (node, dev), (_, rx) in before.items() if node == receiver},
    )
    return list(transfer_findings(transfer))


def _counters(bed: Testbed) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the bytes that every device of every node has sent and received so far."""
    return {(rail.node, rail.device): (rail.tx_bytes, rail.rx_bytes) for rail in bed.status()}


def _send(bed: Testbed, device: str, sender: str, receiver: str) -> str | None:
    """Send the bytes from one node's address on this network to the other's. Return None, or why it failed."""
    to, own = bed.spec.address(receiver, device), bed.spec.address(sender, device)
    program, tail = [sys.executable, payload.__file__], [str(_PORT), str(CALIBRATION_BYTES)]
    try:
        with ThreadPoolExecutor(max_workers=1) as other:
            taking = other.submit(bed.exec, receiver, [*program, "receive", to, *tail], timeout_s=_LIMIT_S)
            sent = bed.exec(sender, [*program, "send", own, to, *tail], timeout_s=_LIMIT_S)
            taken = taking.result()
    except subprocess.TimeoutExpired:
        return f"no end within {_LIMIT_S} s"
    said = f"{sent.stderr}{taken.stderr}".strip().splitlines()
    if sent.returncode or taken.returncode:
        return said[0] if said else "not all of it arrived"
    return None


def transfer_findings(transfer: Transfer) -> Iterator[Finding]:
    """Yield what is wrong with the counters of a rail at its two ends, and whether the bytes took another way.

    Bytes that leave by another rail also arrive by another one: then the receiver is not to blame.
    """
    yield from _end(transfer, transfer.sender, "sent", transfer.sent)
    if _find_stray_rail(transfer, transfer.sent) is None:
        yield from _end(transfer, transfer.receiver, "received", transfer.received)


def uncalibrated_remark(where: str, why: str) -> Finding:
    """Return the remark that a rail's counter was not tried."""
    return remark(where, f"its counter could not be calibrated: {why}", "a run's path proof will still show it")


def _end(transfer: Transfer, node: str, word: str, grown: Mapping[str, int | None]) -> Iterator[Finding]:
    where, bytes_ = f"{node} {transfer.rail}", grown.get(transfer.rail)
    said = f"{traffic(transfer.payload_bytes)} were {word}"
    astray = _find_stray_rail(transfer, grown)
    if bytes_ is None:
        yield problem(where, f"{said}, and its counter could not be read", "check the driver in the system's file")
    elif astray is not None:
        yield problem(
            where,
            f"{said}, and the counter of {astray} grew by {traffic(grown[astray] or 0)}, its own by {traffic(bytes_)}",
            "check the node's routes and ARP settings: traffic to this rail uses another rail",
        )
    elif bytes_ < transfer.payload_bytes:
        yield problem(
            where,
            f"{said}, and its counter grew by {traffic(bytes_)}{_unit(transfer.payload_bytes, bytes_)}",
            "check the driver in the system's file: this counter cannot prove a path",
        )
    elif bytes_ > _MOST * transfer.payload_bytes:
        yield remark(
            where, f"{said}, and its counter grew by {traffic(bytes_)}", "something else uses this rail; run it again"
        )


def _find_stray_rail(transfer: Transfer, grown: Mapping[str, int | None]) -> str | None:
    """Return the rail of the same end that carried the bytes in place of this one, or None."""
    if (grown.get(transfer.rail) or 0) >= transfer.payload_bytes:
        return None
    others = {device: count or 0 for device, count in grown.items() if device != transfer.rail}
    most = max(others, key=lambda device: others[device], default=None)
    return most if most is not None and others[most] > _ELSEWHERE_BYTES else None


def _unit(payload_bytes: int, counted: int) -> str:
    """Return the unit that would explain a count, within 15 %; an empty text if none does."""
    for factor, name in _UNITS.items():
        if counted and 0.85 <= payload_bytes / counted / factor <= 1.15:
            return f" ({name}?)"
    return ""
