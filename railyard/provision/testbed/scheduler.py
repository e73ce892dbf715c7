"""A scheduler on a running testbed: its files, its daemons in each node, and its clients' way in, in one form for all.

Its daemons are processes in the testbed's own pid namespace: whatever ends it, ``down`` or ``kill -9``, ends them. They
need no systemd. All that a scheduler keeps is below the testbed's folder, or in its node's own /run.
"""

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.files import write_whole
from railyard.base.wording import listing
from railyard.provision.testbed.boot import (
    SEARCH_PATH,
    Process,
    State,
    find_inside,
    needs_user_namespace,
    wait_until_gone,
)
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.scripts import START, VARIABLES, variables_of
from railyard.provision.testbed.spec import TestbedSpec

#: A quiet host needs 5 s for Flux and 20 s for OpenPBS, which makes its database first.
STARTED_WITHIN_S = 120.0
_READY_WITHIN_S = 60.0
_GONE_WITHIN_S = 10.0

#: The files of a scheduler on a testbed: their texts by name. The folder is where they will be.
Files = Callable[[TestbedSpec, Path], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class BedScheduler:
    """A scheduler that can run on a testbed.

    ``name`` is its word in ``testbed up --scheduler`` and its folder below the testbed's; ``title`` is what people call
    it. ``programs`` must be on the search path; ``install`` says how to get them. ``clients`` are those of them that a
    person and ReFrame call from outside. ``daemons`` are how the command names of its daemons begin (/proc/PID/comm):
    first its controller's; ``each`` are those that run in every node. Each process of a job has ``job_variable`` in its
    environment. ``files`` are its files, with ``START`` among them. ``why_not_ready`` asks the scheduler itself; empty:
    it is ready. ``inside`` is a variable that only a job has whose own scheduler a client must ask instead; empty if
    there is no such thing. ``prepare`` writes what no text can be, such as a key. ``needs_root`` is why an ordinary
    user cannot run it. ``beside`` is a client that no other scheduler has: PBS and Grid Engine both have a qsub, so
    those in its folder are called.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    install: str
    clients: tuple[str, ...]
    daemons: tuple[str, ...]
    each: tuple[str, ...]
    job_variable: str
    files: Files
    why_not_ready: Callable[[Testbed], str]
    inside: str = ""
    prepare: Callable[[Path], None] = lambda folder: None
    needs_root: str = ""
    beside: str = ""

    @property
    def not_up(self) -> str:
        """The sentence that it does not run on the virtual cluster."""
        return f"{self.title} is not up on the virtual cluster: run 'railyard testbed up --scheduler {self.name}'"

    def find_refusal(self) -> str | None:
        """Return None if it can come up on a testbed of this machine, else the sentence that says why not."""
        missing = [name for name in self.programs if shutil.which(name, path=SEARCH_PATH) is None]
        if missing:
            are = "is" if len(missing) == 1 else "are"
            return f"testbed: {listing(missing)} {are} not installed: {self.install}"
        if self.needs_root and needs_user_namespace():
            return f"testbed: {self.title} needs root: {self.needs_root}"
        return None

    def start(self, bed: Testbed, files: Files | None = None) -> bool:
        """Start it on a testbed that is up; return False if all of it already runs.

        ``files`` are its files if they are others than its own.

        Remains of an earlier start are ended first. A start that fails or is interrupted leaves nothing running. Raises
        SetupError, one sentence, if a program is missing, this machine does not permit it, another scheduler has the
        nodes, or a node does not answer.
        """
        sentence = self.find_refusal()
        if sentence is not None:
            raise SetupError(sentence)
        if any(letter.isspace() for letter in str(bed.folder)):
            raise SetupError(
                f"testbed: found a blank in {bed.folder}, expected none: {self.title}'s files cannot have such a path"
            )
        state = bed.state()
        with self._hold_lock(bed):
            if self.is_up(bed):
                return False
            self._end(state)
            folder = self.folder_of(bed)
            shutil.rmtree(folder, ignore_errors=True)
            try:
                self._write(state, folder, files or self.files)
                self._start_daemons(bed, state)
                self._await_ready(bed)
            except BaseException:
                self._end(state)
                raise
        return True

    def stop(self, bed: Testbed) -> bool:
        """End its daemons and the processes of its jobs, and remove its files; return whether any ran."""
        state = bed.state()
        with self._hold_lock(bed):
            found = self._end(state)
            shutil.rmtree(self.folder_of(bed), ignore_errors=True)
        return found

    def is_up(self, bed: Testbed) -> bool:
        """Return whether its controller runs on a testbed that is up, and its daemons in each node."""
        state = bed.state()
        there = [(name, _node_of(process)) for process, name in self.daemons_in(state).items()]
        nodes = [_node_of(node.holder) for node in state.nodes]
        return any(name.startswith(self.daemons[0]) for name, _ in there) and all(
            any(name.startswith(each) and where == node for name, where in there)
            for each in self.each
            for node in nodes
        )

    def has_controller(self, bed: Testbed) -> bool:
        """Return whether its controller runs on a testbed that is up, whatever the state of its nodes."""
        return any(name.startswith(self.daemons[0]) for name in self.daemons_in(bed.state()).values())

    def usage(self, bed: Testbed) -> str:
        """Return one line that says how to call its clients there."""
        return f"its clients: {self.folder_of(bed) / 'bin'} ({', '.join(self.clients)})"

    def folder_of(self, bed: Testbed) -> Path:
        """Return the folder of its files on a testbed."""
        return bed.folder / self.name

    def ask(self, bed: Testbed, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one of its clients on the first node and return its end. Raises SetupError without an answer in time."""
        first = bed.state().spec.nodes[0]
        folder = self.folder_of(bed)
        program = find_client(words[0], folder, self.beside)
        env = {**os.environ, **variables_of(self.name, folder)}
        try:
            return bed.exec(first, [program, *words[1:]], env=env, timeout_s=STARTED_WITHIN_S)
        except subprocess.TimeoutExpired:
            raise SetupError(
                f"testbed: {self.daemons[0]} on {first} did not answer within {STARTED_WITHIN_S:g} s"
            ) from None

    def daemons_in(self, state: State) -> dict[Process, str]:
        """Return its daemons in a testbed, each with its command's name."""
        found = {}
        for process in find_inside(state.first).values():
            name = _command(process.pid)
            if name.startswith(self.daemons):
                found[process] = name
        return found

    def _write(self, state: State, folder: Path, files: Files) -> None:
        (folder / "log").mkdir(parents=True)
        (folder / "bin").mkdir()
        for name, text in files(state.spec, folder).items():
            write_whole(folder / name, text, 0o755 if name == START else 0o644)
        for name in self.clients:
            text = client(self, state.spec.nodes[0], find_client(name, folder, self.beside))
            write_whole(folder / "bin" / name, text, 0o755)
        self.prepare(folder)

    def _start_daemons(self, bed: Testbed, state: State) -> None:
        first, folder = state.spec.nodes[0], self.folder_of(bed)
        env = {**os.environ, "PATH": SEARCH_PATH, **variables_of(self.name, folder)}

        def find_failure(node: str) -> str | None:
            log = folder / "log" / f"start.{node}.log"
            # Into a file: if a daemon kept our pipe open, we would wait for its end.
            words = ["sh", "-c", 'exec "$1" "$2" "$3" >"$4" 2>&1', "sh", str(folder / START)]
            try:
                done = bed.exec(node, [*words, node, first, str(log)], env=env, timeout_s=STARTED_WITHIN_S)
            except subprocess.TimeoutExpired:
                return f"its daemons did not start within {STARTED_WITHIN_S:g} s"
            if done.returncode == 0:
                return None
            return last_line(log.read_text(encoding="utf-8", errors="replace") if log.exists() else done.stderr)

        with ThreadPoolExecutor(len(state.nodes)) as together:
            said = dict(zip(state.spec.nodes, together.map(find_failure, state.spec.nodes), strict=True))
        for node, sentence in said.items():
            if sentence is not None:
                raise SetupError(f"testbed: {self.title} did not start on {node}: {sentence}")

    def _await_ready(self, bed: Testbed) -> None:
        """Return when it can start a job on every node. Raises SetupError with what is not ready."""
        deadline = time.monotonic() + _READY_WITHIN_S
        while True:
            try:
                sentence = self.why_not_ready(bed)
            except SetupError as error:
                sentence = str(error).removeprefix("testbed: ")
            if not sentence:
                return
            if time.monotonic() > deadline:
                log = self.folder_of(bed) / "log"
                raise SetupError(
                    f"testbed: {self.title} was not ready within {_READY_WITHIN_S:g} s: {sentence}; look into {log}"
                )
            time.sleep(0.1)

    def _end(self, state: State) -> bool:
        """End first the daemons, which would start more, then processes of jobs; return whether there were any."""
        found = list(self.daemons_in(state))
        for process in found:
            process.kill()
        mark = f"\0{self.job_variable}=".encode()
        tasks = [
            process for process in find_inside(state.first).values() if process not in found and _has(process, mark)
        ]
        found += tasks
        for process in tasks:
            process.kill()
        if not wait_until_gone(found, _GONE_WITHIN_S):
            raise SetupError(f"testbed: the daemons of {self.title} did not end within {_GONE_WITHIN_S:g} s of SIGKILL")
        return bool(found)

    @contextmanager
    def _hold_lock(self, bed: Testbed) -> Iterator[None]:
        with (bed.folder / f"{self.name}.lock").open("a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def client(scheduler: BedScheduler, node: str, program: str) -> str:
    """Return the script that runs a client on a node, from the host or from any other node."""
    folder = '$(cd "${0%/*}/.." && pwd -P)'
    lines = ["#!/bin/sh", f"# {scheduler.title}'s {Path(program).name} of this testbed, run on {node}"]
    if scheduler.inside:
        lines.append(f'[ -z "${{{scheduler.inside}-}}" ] || exec {program} "$@"')
    for name, text in VARIABLES[scheduler.name].items():
        lines += [f'{name}="{text.replace("{folder}", folder)}"', f"export {name}"]
    lines.append(f'exec "${{0%/*}}/../../enter" {node} -- {program} "$@"')
    return "\n".join(lines) + "\n"


def last_line(text: str) -> str:
    """Return the last line that a program printed, or that it printed nothing."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it printed nothing")


def find_client(program: str, folder: Path, beside: str = "") -> str:
    """Return the path of an installed client, not of our script of the same name that comes first on PATH.

    It is the one in the folder of the client ``beside``, if there is one.
    """
    elsewhere = os.pathsep.join(part for part in SEARCH_PATH.split(os.pathsep) if part != str(folder / "bin"))
    known = shutil.which(beside, path=elsewhere) if beside else None
    own = shutil.which(program, path=str(Path(known).parent)) if known else None
    return own or shutil.which(program, path=elsewhere) or program


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:  # it has ended
        return ""


def _node_of(process: Process) -> str:
    """Return what tells a process's node: each node has a UTS namespace of its own."""
    try:
        return os.readlink(f"/proc/{process.pid}/ns/uts")
    except OSError:  # it has ended
        return ""


def _has(process: Process, mark: bytes) -> bool:
    try:
        return mark in Path(f"/proc/{process.pid}/environ").read_bytes()
    except OSError:  # it has ended
        return False
