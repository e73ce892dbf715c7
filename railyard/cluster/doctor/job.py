"""Sends one job of doctor's own like a check's job: with the same options, modules, variables and words of srun."""

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from railyard.base.errors import RailyardError, SetupError
from railyard.base.finding import Finding, problem, remark
from railyard.base.paths import state_folder
from railyard.base.wording import count_of
from railyard.job import node_files, slurm
from railyard.job.launch import Ranks, plan_launch, runs_as_root
from railyard.parsers import slurm as slurm_records
from railyard.site.site import Site
from railyard.site.systems.jobs import SRUN, escape_exports, is_slurm
from railyard.site.systems.module_system import FIX, find_unloaded
from railyard.stacks.table import STACKS

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
                    slurm.answer([*before, "scancel", _number(out)])
                    raise
                return JobResult(_number(out), "", _cancel_unfinished(_number(out), where, before))
    except OSError as error:
        raise SetupError(f"doctor: sbatch cannot be started ({error.strerror}); load Slurm's module") from None
    job = _number(out)
    if not job:
        refused = " ".join(said.split()) or f"exit code {running.returncode} and no output"
        return JobResult(
            "", "", problem(where, f"sbatch refused it: {refused}", "see jobs and access in the system's file")
        )
    record = slurm_records.parse_job(slurm.show_job(job, before)[0])
    ended = None if record is None else slurm_records.find_end(record)
    wrong = None if ended is None else problem(where, ended.sentence)
    return JobResult(job, _read(output), wrong)


def _cancel_unfinished(job: str, where: str, before: Sequence[str]) -> Finding:
    """Cancel a job that took too long, and return the finding about it."""
    record = slurm_records.parse_job(slurm.show_job(job, before)[0])
    slurm.answer([*before, "scancel", job])
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


def _number(out: str) -> str:
    """Return the job's number as sbatch --parsable prints it (``7`` or ``7;cluster``), empty if no job was sent."""
    first = out.strip().partition("\n")[0].partition(";")[0]
    return first if first.isascii() and first.isdigit() else ""
