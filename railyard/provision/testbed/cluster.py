"""Brings the virtual cluster up and down, asks it, damages and repairs it."""

import contextlib
import errno
import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from railyard.base.errors import SetupError
from railyard.base.wording import listing
from railyard.provision.testbed import boot, scripts
from railyard.provision.testbed.boot import (
    SEARCH_PATH,
    Node,
    State,
    end,
    find_inside,
    outermost_processes,
    require_programs,
    start,
    wait_until_gone,
)
from railyard.provision.testbed.scripts import CLUSTER, Commands, Degradation, Kind, bed_folder, not_up
from railyard.provision.testbed.spec import DEFAULT_SPEC, TestbedSpec
from railyard.provision.testbed.starvation import TrafficWatch, Watch


@dataclass(frozen=True, slots=True)
class RailStatus:
    """One device of one node now: ``rate_mbit_s`` from the spec (None: unshaped), counters in bytes since its start."""

    node: str
    device: str
    network: str
    address: str
    rate_mbit_s: float | None
    carrier: bool
    tx_bytes: int
    rx_bytes: int
    degradations: tuple[Degradation, ...]


_SWEPT_WITHIN_S = 10.0
# Each node mounts its own, so a clone below one of them would be hidden.
_HIDDEN = ("/run", "/dev/shm", "/sys", "/proc")


class Testbed:
    """The virtual cluster of one home folder, or the nodes of a rehearsal. As a context manager, it is up in the block.

    If it was already up, the block leaves it up; else it ends with the block, even if this process is killed. Every
    method reads the state on disk, so two processes agree. Raises SetupError, one sentence, for anything that this
    machine refuses and for unknown names.
    """

    __test__ = False  # else pytest would try to collect a class of this name

    def __init__(self, home: Path, spec: TestbedSpec = DEFAULT_SPEC, kind: str = CLUSTER) -> None:
        self.kind = kind
        self.folder = bed_folder(home.resolve(), kind)
        self.spec = spec
        self._started = False

    @classmethod
    def find(cls, home: Path, kind: str = CLUSTER) -> "Testbed | None":
        """Return the testbed of a kind that is up in a home folder, with its spec; None if none is up."""
        bed = cls(home, kind=kind)
        state = boot.load(bed.folder)
        if state is None or not state.is_alive():
            return None
        bed.spec = state.spec
        return bed

    @property
    def enter(self) -> Path:
        """The script ``enter NODE -- COMMAND…``."""
        return self.folder / "enter"

    @property
    def agent(self) -> Path:
        """The script that MPI's launchers call in place of ssh."""
        return self.folder / "agent"

    def __enter__(self) -> "Testbed":
        self._started = self.bring_up(lasting=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._started:
            self.take_down()

    def is_up(self) -> bool:
        """Return whether it runs."""
        return Testbed.find(self.folder.parent.parent, self.kind) is not None

    def state(self) -> State:
        """Return the state of the running testbed. Raises SetupError if it is not up, or if a node of it died."""
        state = boot.load(self.folder)
        if state is None or not state.first.is_alive():
            raise SetupError(f"testbed: {not_up(self.kind)}")
        dead = [node.name for node in state.nodes if not node.holder.is_alive()]
        if dead:
            raise SetupError(
                f"testbed: {listing(dead)} died: the process that holds a node has ended; 'railyard testbed down' ends "
                "the rest"
            )
        return state

    def bring_up(self, *, lasting: bool = True) -> bool:
        """Bring it up; return False if it was already up. If interrupted at any point, it leaves nothing behind.

        A testbed that is not ``lasting`` ends with this process, whatever ends it.

        Raises SetupError if the machine cannot do it, or if it is up with other nodes, networks or rates.
        """
        require_programs("unshare", "nsenter", "setpriv", "mount", "hostname", "ip", "tc")
        for hidden in _HIDDEN:
            if self.folder.is_relative_to(hidden):
                raise SetupError(f"testbed: {self.folder} is below {hidden}, and each node has its own: move the clone")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._hold_lock():
                return self._bring_up(lasting)
        except OSError as error:
            raise SetupError(f"testbed: {self.folder} cannot be written: {error.strerror}") from None

    def take_down(self) -> bool:
        """End all its processes and remove what it wrote, except the two scripts; return whether any was running.

        Also cleans up after a testbed whose processes or state file are gone. Raises SetupError if it is another
        user's.
        """
        if not self.folder.is_dir():
            return end(self.folder, None)
        with self._hold_lock():
            return end(self.folder, boot.load(self.folder))

    def exec(
        self,
        node: str,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout_s: float | None = None,
        stdin: str = "",
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in a node and return its exit code, output and errors (text).

        Raises subprocess.TimeoutExpired after the time, when its whole process group was killed, and SetupError for an
        unknown node.
        """
        self.state().node(node)
        running = subprocess.Popen(
            [str(self.enter), node, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=env,
            cwd=cwd,
            start_new_session=True,  # so the whole group can be killed
        )
        try:
            out, err = running.communicate(stdin, timeout_s)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            raise
        return subprocess.CompletedProcess(running.args, running.returncode, out, err)

    def sweep(self) -> int:
        """Kill every process inside, except those that keep it up; return how many there were."""
        state = self.state()
        # Marked are the first process and, if the testbed is not lasting, its child that reads until we end.
        held = {state.first, *outermost_processes(self.folder), *(node.holder for node in state.nodes)}
        left = [found for found in find_inside(state.first).values() if found not in held and found.is_alive()]
        for found in left:
            found.kill()
        wait_until_gone(left, _SWEPT_WITHIN_S)
        return len(left)

    def status(self) -> tuple[RailStatus, ...]:
        """Return every device of every node, in the order of the spec, with its present counters."""
        state = self.state()
        return tuple(
            rail_status(state, node, network.device) for node in state.nodes for network in state.spec.networks
        )

    def watch(self) -> Watch:
        """Watch from now on how long processes in the nodes wait for a processor; return the watch."""
        state = self.state()
        namespaces = (os.readlink(f"/proc/{node.holder.pid}/ns/net") for node in state.nodes)
        return Watch(frozenset(namespaces)).start()

    def watch_traffic(self) -> TrafficWatch:
        """Read from now on what each node's devices have carried; return the watch."""
        files = {node.name: Path(f"/proc/{node.holder.pid}/net/dev") for node in self.state().nodes}
        return TrafficWatch(files).start()

    def degrade(self, node: str, device: str, kind: Kind, value: float | None = None) -> Degradation:
        """Make one rail of one node slow (Mbit/s), lossy (per cent) or unplugged; a second call replaces the value."""
        fault = Degradation(node, device, kind, value)
        with self._hold_lock():
            state = self.state()
            state.spec.address(node, device)  # refuses unknown names
            same = [f for f in state.degradations if (f.node, f.device, f.kind) == (node, device, kind)]
            for earlier in same:
                self._run(state, earlier, scripts.undo_commands(state.spec, earlier))
            others = tuple(f for f in state.degradations if f not in same)
            # Saved first: if we are interrupted halfway, it can be undone.
            boot.save(self.folder, state.with_degradations((*others, fault)))
            try:
                self._run(state, fault, scripts.make_commands(state.spec, fault))
            except SetupError:
                # One side may be changed already; if the tool itself is missing, there is nothing to undo.
                with contextlib.suppress(SetupError):
                    self._run(state, fault, scripts.undo_commands(state.spec, fault))
                boot.save(self.folder, state.with_degradations(others))
                raise
        return fault

    def restore(self, node: str | None = None, device: str | None = None) -> tuple[Degradation, ...]:
        """Undo the degradations of one rail, one node or all; return those undone."""
        with self._hold_lock():
            state = self.state()
            if node is not None:
                state.spec.node(node)
            if device is not None:
                state.spec.network(device)
            undone = tuple(f for f in state.degradations if node in (None, f.node) and device in (None, f.device))
            for fault in undone:
                self._run(state, fault, scripts.undo_commands(state.spec, fault))
            kept = tuple(f for f in state.degradations if f not in undone)
            boot.save(self.folder, state.with_degradations(kept))
        return undone

    def _bring_up(self, lasting: bool) -> bool:
        state = boot.load(self.folder)
        if state is not None and state.is_alive():
            if state.spec != self.spec:
                raise SetupError(
                    "testbed: it is already up with other nodes, networks or rates: run 'railyard testbed down' first"
                )
            return False
        end(self.folder, state)
        start(self.folder, self.spec, lasting=lasting)
        return True

    def _run(self, state: State, fault: Degradation, steps: tuple[Commands, ...]) -> None:
        require_programs(*(commands.tool for commands in steps))
        holders = (state.first, state.node(fault.node).holder)
        sides = [(step.tool, *side) for step in steps for side in zip(holders, (step.switch, step.node), strict=True)]
        for tool, holder, text in sides:
            if not text:
                continue
            option = "-f" if tool == "nft" else "-batch"
            user = ["-U", "--preserve-credentials"] if state.user_namespace else []
            done = subprocess.run(
                ["nsenter", "-t", str(holder.pid), *user, "-n", tool, option, "-"],
                input=text,
                capture_output=True,
                text=True,
                env={**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C"},
            )
            if done.returncode:
                said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[0]
                raise SetupError(f"testbed: {tool} refused {fault} for {fault.device} of {fault.node}: {said}")

    @contextlib.contextmanager
    def _hold_lock(self) -> Iterator[None]:
        if not self.folder.is_dir():
            raise SetupError(f"testbed: {not_up(self.kind)}")
        with (self.folder / "lock").open("a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def rail_status(state: State, node: Node, device: str) -> RailStatus:
    """Return the present state of one device of one node. Raises SetupError if its counters cannot be read."""
    # Read through the holder's root: this is the node's own sysfs, and no process has to be started.
    network = state.spec.network(device)
    entries = Path(f"/proc/{node.holder.pid}/root/sys/class/net") / device
    try:
        carrier = _has_carrier(entries)
        tx_bytes, rx_bytes = (int((entries / f"statistics/{name}_bytes").read_text()) for name in ("tx", "rx"))
    except (OSError, ValueError) as error:
        raise SetupError(f"testbed: the counters of {device} of {node.name} cannot be read: {error}") from None
    degradations = tuple(f for f in state.degradations if (f.node, f.device) == (node.name, device))
    address = state.spec.address(node.name, device)
    rate = network.rate_mbit_s
    return RailStatus(node.name, device, network.name, address, rate, carrier, tx_bytes, rx_bytes, degradations)


def _has_carrier(entries: Path) -> bool:
    try:
        return int((entries / "carrier").read_text()) == 1
    except OSError as error:
        if error.errno != errno.EINVAL:  # the kernel's answer for an interface that is switched off
            raise
        return False
