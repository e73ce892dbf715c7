"""Starts a testbed's processes, detached and all or none, and ends them whatever was lost."""

import contextlib
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.files import write_whole
from railyard.provision.testbed import scripts
from railyard.provision.testbed import state as states
from railyard.provision.testbed.needs import SEARCH_PATH, outer_options, refusal
from railyard.provision.testbed.processes import (
    Process,
    child_of,
    find_inside,
    outermost_processes,
    process,
    wait_until_gone,
)
from railyard.provision.testbed.scheduler_clients import VARIABLES as SCHEDULERS
from railyard.provision.testbed.spec import TestbedSpec
from railyard.provision.testbed.state import Node, State

BOOT_FILE = "boot.sh"
_UP_WITHIN_S = 30.0  # about 0.15 s when quiet; a first start may load kernel modules
# SIGKILL takes 0.1 s; thousands of processes on a busy machine took more than 10 s.
_DOWN_WITHIN_S = 30.0
# By folder, for testbeds that are to end with this process: the write end of the standard input of their first process.
# The kernel closes it when this process ends, even by SIGKILL.
_held: dict[Path, int] = {}
# `&` gives the shell's child /dev/null as standard input, hence descriptor 3. The shell ends at once, so the testbed is
# nobody's child. The process prints its number before it becomes unshare: from the shell, the number could come after
# unshare's error messages.
_DETACH = 'exec 3<&0; sh -c \'echo $$; exec unshare "$@"\' sh "$@" <&3 3<&- &'


def start(folder: Path, spec: TestbedSpec, *, lasting: bool) -> None:
    """Start a testbed and save its state; returns when every node is ready. The folder's name is its kind.

    A testbed that is not ``lasting`` ends with this process, whatever ends it. If the start fails, is interrupted, or
    this process ends meanwhile, nothing is left running. Raises SetupError.
    """
    write_whole(folder / "enter", scripts.enter_text(folder.name), 0o755)
    write_whole(folder / "agent", scripts.AGENT, 0o755)
    with begin(folder, spec, scripts.boot_script(spec), lasting=lasting) as state:
        holders = [(node.holder.pid, node.inside, node.holder.start) for node in state.nodes]
        text = scripts.nodes_file(spec, state.user_namespace, state.first.start, holders)
        write_whole(folder / scripts.NODES_FILE, text)
        states.save(folder, state)


@contextlib.contextmanager
def begin(folder: Path, spec: TestbedSpec, script: str, *, lasting: bool) -> Iterator[State]:
    """Start the first process of a testbed, detached; it runs ``script`` in its own namespaces.

    The block gets the running state. The testbed outlives the block only if the block ends well, and this process only
    if it is ``lasting``. Raises SetupError with what the script printed in place of its nodes.
    """
    write_whole(folder / BOOT_FILE, script)
    command = [*outer_options(), "sh", str(folder / BOOT_FILE), scripts.MARK, str(folder)]
    with subprocess.Popen(
        ["sh", "-c", _DETACH, "sh", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C"},
        cwd="/",
        start_new_session=True,
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        try:
            keeper, insides = _await_up(shell.stdout.fileno())
            yield _new_state(spec, "--user" in command, keeper, insides)
            if not lasting:
                _held[folder] = os.dup(shell.stdin.fileno())  # no child inherits it
            shell.stdin.write(f"{scripts.KEEP if lasting else scripts.HOLD}\n".encode("ascii"))
            shell.stdin.flush()
        except BaseException:
            end(folder, None)
            raise


def end(folder: Path, state: State | None) -> bool:
    """End a folder's testbed and remove its files except the two scripts; return whether anything ran.

    Raises SetupError if it belongs to another user, or if its processes do not end.
    """
    recorded = [] if state is None else [state.keeper, state.first]
    found = {p for p in [*outermost_processes(folder), *recorded] if p.is_alive()}
    # Only now: closing begins the end of a testbed that is not lasting, so it could not be found later.
    if (held := _held.pop(folder, None)) is not None:
        os.close(held)
    try:
        for one in found:
            one.kill()
    except PermissionError:
        raise SetupError(
            f"testbed: the one in {folder} belongs to another user: only they or root can end it"
        ) from None
    if not wait_until_gone(list(found), _DOWN_WITHIN_S):
        pids = ", ".join(str(p.pid) for p in found if p.is_alive())
        raise SetupError(f"testbed: processes {pids} did not end within {_DOWN_WITHIN_S:g} s of SIGKILL")
    for name in (states.STATE_FILE, scripts.NODES_FILE, BOOT_FILE):
        (folder / name).unlink(missing_ok=True)
    for scheduler in SCHEDULERS:
        shutil.rmtree(folder / scheduler, ignore_errors=True)
    return bool(found)


def _await_up(output: int) -> tuple[Process, list[int]]:
    """Return the keeper and the nodes' pids inside. Raises SetupError with what the first process printed instead."""
    deadline = time.monotonic() + _UP_WITHIN_S
    text = ""
    while True:
        ready, _, _ = select.select([output], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise SetupError(f"testbed: the virtual cluster did not come up within {_UP_WITHIN_S:g} s")
        part = os.read(output, 65536)
        text += part.decode(errors="replace")
        *lines, _ = text.split("\n")
        for line in lines:
            if line.startswith(scripts.UP_LINE):
                try:
                    return process(int(lines[0])), [int(word) for word in line.split()[1:]]
                except (ProcessLookupError, ValueError):
                    raise refusal(text) from None
        if not part:  # it ended
            raise refusal(text.partition("\n")[2])


def _new_state(spec: TestbedSpec, user_namespace: bool, keeper: Process, insides: list[int]) -> State:
    first = child_of(keeper)
    members = {} if first is None else find_inside(first)
    if first is None or any(pid not in members for pid in insides):
        raise SetupError("testbed: the virtual cluster ended while it came up")
    nodes = tuple(Node(name, members[pid], pid) for name, pid in zip(spec.nodes, insides, strict=True))
    return State(spec, user_namespace, keeper, first, nodes)
