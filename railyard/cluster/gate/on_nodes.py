"""Runs the gates of many nodes at once, each in a step of Slurm on its own node; each node answers in a file."""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from railyard.base.errors import SetupError
from railyard.base.hostlist import join_names
from railyard.base.paths import HOME_VARIABLE, state_folder
from railyard.base.values import one_line
from railyard.base.wording import few
from railyard.cluster.gate import ending
from railyard.cluster.gate.ending import ProcessEnd
from railyard.cluster.gate.model import EXIT_CODES, FORMAT, Answer
from railyard.job import node_files
from railyard.job.node_files import AnswerFolder, Fault, GatheredAnswers
from railyard.site.systems.jobs import is_slurm
from railyard.site.systems.model import System

#: In seconds: how long a step outside of a job waits for its nodes, and how much longer a step takes than its gates.
_QUEUE_LIMIT_S, _START_S = 90, 15
#: The exit code of timeout(1) if there is no such program.
_NO_PROGRAM = 127


def ask(
    home: Path, system: System, nodes: Sequence[str], options: Sequence[str], say: Callable[[str], None]
) -> tuple[dict[str, Any], ...]:
    """Return the JSON of each node's gate, in the order of ``nodes``; a node without an answer is undecided.

    ``options`` are passed on to each gate. ``say`` is given a sentence if nodes answer through srun. Raises SetupError
    if nothing here can start a step.
    """
    if not is_slurm(system.scheduler):
        raise SetupError(
            f"gate: Railyard starts no step with the scheduler {system.scheduler}; inside your own job, run on every "
            f"node: railyard gate --system {system.system}"
        )
    here = "SLURM_JOB_ID" in os.environ
    step = ["--overlap"] if here else [*system.step_words, f"--immediate={_QUEUE_LIMIT_S}", "--time=2"]
    words = ["srun", *step, f"--nodes={len(nodes)}", "--ntasks-per-node=1", f"--nodelist={join_names(nodes)}"]
    command = [sys.executable, "-m", "railyard", "gate", "--system", system.system, "--json", *options]
    os.environ[HOME_VARIABLE] = str(home)  # srun passes its environment on
    limit_s = system.gate.limit_s + _START_S + (0 if here else _QUEUE_LIMIT_S)
    folder = state_folder(home) / "answers"
    try:
        with node_files.ask_nodes(folder, len(nodes)) as asking:
            ended = _run_to_end([*words, *asking.words(command)], limit_s)
            return _answers(asking, nodes, ended, say)
    except node_files.Unwritable as error:
        say(f"gate: {folder} cannot be written ({error.strerror}), so all nodes answer through srun")
    ended = _run_to_end([*words, *command], limit_s)
    said = _answers_by_node(ended)
    return tuple(said.get(node) or _silent(node, f"no answer; srun said: {ended.last_words}") for node in nodes)


def _answers(
    asking: AnswerFolder, nodes: Sequence[str], ended: ProcessEnd, say: Callable[[str], None]
) -> tuple[dict[str, Any], ...]:
    """Return what each node wrote, or printed if it could not write."""
    said = _answers_by_node(ended)
    found: GatheredAnswers[tuple[int, dict[str, Any] | None]] = node_files.gather(
        asking, lambda file: (file.code, read_answer(file.text)), ended_well=ended.code == 0, elsewhere=said
    )
    said |= {told["node"]: told for _, told in found.values if told is not None}
    ended_with = {node: code for node, (code, told) in found.answers if told is None}
    faults = {fault.node: fault for fault in found.faults if fault.kind != "silent"}
    if faults:
        node_files.keep(asking)
    old = tuple(node_files.by_launcher(ended.out))
    if old:
        folder = asking.folder.parent
        say(f"gate: {few(old)}: answered through srun, since {folder} is not visible or not writable there")
    return tuple(said.get(node) or _silent(node, _why(node, ended, ended_with, faults)) for node in nodes)


def _why(node: str, ended: ProcessEnd, ended_with: Mapping[str, int], faults: Mapping[str, Fault]) -> str:
    """Return why a node has no answer."""
    if node in faults:
        return faults[node].what
    code = f"its gate ended with {ended_with[node]}; " if node in ended_with else ""
    return f"no answer; {code}srun said: {ended.last_words}"


def worst(answers: Sequence[dict[str, Any]]) -> int:
    """Return one exit code for all: 1 if a node is unfit, else 3 if one is undecided, else 0."""
    codes = {EXIT_CODES[told["state"]] for told in answers}
    return next((code for code in (EXIT_CODES["unfit"], EXIT_CODES["undecided"]) if code in codes), 0)


def _run_to_end(words: Sequence[str], limit_s: float) -> ProcessEnd:
    try:
        with ending.limit_time(limit_s) as deadline:
            ended = ending.run(words, deadline)
    except OSError as error:
        raise SetupError(f"gate: timeout cannot be started ({error.strerror}); it comes with coreutils") from None
    except ending.GateStop as stop:
        return ProcessEnd(1, "", f"the step was ended: {stop}")
    if ended.code == _NO_PROGRAM:
        raise SetupError(f"gate: {words[0]} cannot be started; load its module")
    return ended


def _answers_by_node(ended: ProcessEnd) -> dict[str, dict[str, Any]]:
    """Return what gates printed through srun, by node."""
    return {told["node"]: told for line in ended.out.splitlines() if (told := _parse_answer(line)) is not None}


def read_answer(text: str) -> dict[str, Any] | None:
    """Return a gate's answer from what it printed, None if there is none."""
    return next((told for line in text.splitlines() if (told := _parse_answer(line)) is not None), None)


def _parse_answer(line: str) -> dict[str, Any] | None:
    try:
        told = json.loads(line)
    except ValueError:
        return None
    known = isinstance(told, dict) and told.get("format") == FORMAT and told.get("state") in EXIT_CODES
    return told if known and isinstance(told.get("node"), str) else None


def _silent(node: str, why: str) -> dict[str, Any]:
    return Answer(node, "undecided", one_line(why)).as_json()
