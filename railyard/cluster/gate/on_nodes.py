"""The gates of many nodes at once, each in a step of Slurm's on its own node."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from railyard.base.clean_text import one_line
from railyard.base.errors import SetupError
from railyard.base.paths import HOME_VARIABLE
from railyard.cluster.gate import ending
from railyard.cluster.gate.ending import Ended
from railyard.cluster.gate.model import EXIT_CODES, FORMAT, Answer
from railyard.site.systems.jobs import is_slurm
from railyard.site.systems.model import System

#: A step outside of a job waits so long for its nodes, and a step takes so much longer than its gates, in seconds.
_QUEUE_LIMIT_S, _START_S = 90, 15
#: What timeout(1) ends with where there is no such program.
_NO_PROGRAM = 127


def ask(home: Path, system: System, nodes: Sequence[str], options: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """Return what the gate of each node said, as its JSON, in the order of ``nodes``; silence is undecided.

    ``options`` are handed on to each gate. Raises SetupError where nothing here starts a step.
    """
    if not is_slurm(system.scheduler):
        raise SetupError(
            f"gate: no step is started here under the scheduler {system.scheduler}; inside a job of yours run on every "
            f"node: railyard gate --system {system.system}"
        )
    here = "SLURM_JOB_ID" in os.environ
    step = ["--overlap"] if here else [*system.job_options, f"--immediate={_QUEUE_LIMIT_S}", "--time=2"]
    words = ["srun", *step, f"--nodes={len(nodes)}", "--ntasks-per-node=1", f"--nodelist={','.join(nodes)}"]
    words += [sys.executable, "-m", "railyard", "gate", "--system", system.system, "--json", *options]
    os.environ[HOME_VARIABLE] = str(home)  # srun hands its environment on
    ended = _ended(words, system.gate.limit_s + _START_S + (0 if here else _QUEUE_LIMIT_S))
    said = {told["node"]: told for line in ended.out.splitlines() if (told := _told(line)) is not None}
    return tuple(said.get(node) or _silent(node, ended) for node in nodes)


def worst(answers: Sequence[dict[str, Any]]) -> int:
    """Return one exit code for all: 1 where a node is unfit, else 3 where one is undecided, else 0."""
    codes = {EXIT_CODES[told["state"]] for told in answers}
    return next((code for code in (EXIT_CODES["unfit"], EXIT_CODES["undecided"]) if code in codes), 0)


def _ended(words: Sequence[str], limit_s: float) -> Ended:
    try:
        with ending.bounded(limit_s) as deadline:
            ended = ending.run(words, deadline)
    except OSError as error:
        raise SetupError(f"gate: timeout cannot be started ({error.strerror}); it comes with coreutils") from None
    except ending.Stopped as stop:
        return Ended(1, "", f"the step was ended: {stop}")
    if ended.code == _NO_PROGRAM:
        raise SetupError(f"gate: {words[0]} cannot be started; load its module")
    return ended


def _told(line: str) -> dict[str, Any] | None:
    try:
        told = json.loads(line)
    except ValueError:
        return None
    known = isinstance(told, dict) and told.get("format") == FORMAT and told.get("state") in EXIT_CODES
    return told if known and isinstance(told.get("node"), str) else None


def _silent(node: str, ended: Ended) -> dict[str, Any]:
    return Answer(node, "undecided", one_line(f"no answer; srun said: {ended.last_words}")).as_json()
