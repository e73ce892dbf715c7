"""A testbed's processes: what they need, how they start, which live, how they end, and how to start a program there.

What a testbed needs on this machine; its processes start, detached and all or none, and end whatever was lost.

Starts a testbed's processes, detached and all or none, and ends them whatever was lost.

What a testbed needs on this machine, and the sentence that says what is missing.

Which processes live, by pid *and* start time, and which of them belong to a testbed, from /proc.

What is known about a running testbed: state.json, written completely or not at all.

The words that start something on nodes of our testbeds: a launcher, a probe, or one process per node.
"""

import contextlib
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from railyard.base.errors import SetupError
from railyard.base.files import write_whole
from railyard.parsers.failure_lines import NO_TURN, STOPPED
from railyard.provision.testbed import scripts
from railyard.provision.testbed.scripts import CLUSTER, MARK, Degradation, bed_folder, enter_script
from railyard.provision.testbed.scripts import VARIABLES as SCHEDULERS
from railyard.provision.testbed.spec import TestbedSpec, spec_from_json

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """One process, for ever: another may get its pid, but not with the same start time (ticks since boot)."""

    pid: int
    start: int

    def is_alive(self) -> bool:
        """Return whether it still runs; a zombie does not, and another process with its pid does not count."""
        state, start, _ = _stat(self.pid)
        return start == self.start and state not in ("", "Z", "X")

    def kill(self) -> None:
        """Send SIGKILL; it may have ended already."""
        if self.is_alive():
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                return


def process(pid: int) -> Process:
    """Return the process that has this pid now. Raises ProcessLookupError if there is none."""
    _, start, _ = _stat(pid)
    if not start:
        raise ProcessLookupError(pid)
    return Process(pid, start)


def child_of(parent: Process) -> Process | None:
    """Return the first child of a process, or None."""
    for pid in _pids():
        _, start, ppid = _stat(pid)
        if ppid == parent.pid and start:
            return Process(pid, start)
    return None


def outermost_processes(folder: Path) -> list[Process]:
    """Return the outermost processes of the testbed with this state folder, even if its state file is lost.

    An ordinary user gets only their own processes.
    """
    ending = f"\0{MARK}\0{folder}\0".encode()
    return [process for process in _own_processes() if _read(process.pid, "cmdline").endswith(ending)]


def find_inside(first: Process) -> dict[int, Process]:
    """Return all processes in the pid namespace of a testbed's first process, by their pid within it."""
    namespace = _namespace(first.pid)
    found = {}
    for pid in _pids():
        if namespace is not None and _namespace(pid) == namespace:
            # NSpid lists one pid per nesting level, ours first, the innermost last (proc(5)).
            for line in _read(pid, "status").decode(errors="replace").splitlines():
                if line.startswith("NSpid:"):
                    found[int(line.split()[-1])] = Process(pid, _stat(pid)[1])
    return found


def wait_until_gone(processes: list[Process], timeout_s: float) -> bool:
    """Return True as soon as none of them is alive, False if some still are after the time.

    After SIGKILL, the first process of a pid namespace ends only when all others are gone, so it is enough to wait for
    it.
    """
    deadline = time.monotonic() + timeout_s
    while any(process.is_alive() for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def _own_processes() -> Iterator[Process]:
    uid = os.getuid()
    for pid in _pids():
        try:
            if uid not in (0, (_PROC / str(pid)).stat().st_uid):
                continue
        except OSError:
            continue
        yield Process(pid, _stat(pid)[1])


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir(_PROC) if name.isdigit())


def _namespace(pid: int) -> str | None:
    try:
        return os.readlink(_PROC / str(pid) / "ns/pid")
    except OSError:  # gone, or another user's
        return None


def _read(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def _stat(pid: int) -> tuple[str, int, int]:
    """Return (state, start time, parent) of a pid, ("", 0, 0) if there is none. Source: proc(5), fields 3, 22, 4."""
    # The command's name in brackets may itself have blanks and brackets: read after the last one.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return (fields[0].decode(), int(fields[19]), int(fields[1])) if len(fields) > 19 else ("", 0, 0)


# Format 1: first.


_FORMAT = 1
STATE_FILE = "state.json"


@dataclass(frozen=True, slots=True)
class Node:
    """The process that holds a node's namespaces, and its pid within the testbed."""

    name: str
    holder: Process
    inside: int


@dataclass(frozen=True, slots=True)
class State:
    """One running testbed; it ends with ``keeper``, its outermost process, or ``first``, process 1 of its pid
    namespace.
    """

    spec: TestbedSpec
    user_namespace: bool
    keeper: Process
    first: Process
    nodes: tuple[Node, ...]
    degradations: tuple[Degradation, ...] = field(default=())

    def is_alive(self) -> bool:
        """Return whether the testbed runs: its first process and every node's holder."""
        return self.first.is_alive() and all(node.holder.is_alive() for node in self.nodes)

    def node(self, name: str) -> Node:
        """Return a node. Raises SetupError, with the nearest name, if there is none."""
        return self.nodes[self.spec.nodes.index(self.spec.node(name))]

    def with_degradations(self, degradations: tuple[Degradation, ...]) -> "State":
        """Return the same state with these degradations."""
        return replace(self, degradations=degradations)


def save(folder: Path, state: State) -> None:
    """Write the state file of a folder by renaming, so a reader never sees half of it."""
    data = {"format": _FORMAT, **asdict(state), "spec": state.spec.to_json()}
    write_whole(folder / STATE_FILE, json.dumps(data, indent=1) + "\n")


def load(folder: Path) -> State | None:
    """Return the stored state, or None if there is none or it is useless (cut, or of another format).

    A state that cannot be read is not a reason to fail: processes that still run are found by their mark.
    """
    try:
        data = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        return _state(data) if data["format"] == _FORMAT else None
    except (OSError, ValueError, KeyError, TypeError, SetupError):
        return None


def _state(data: dict[str, Any]) -> State:
    return State(
        spec=spec_from_json(data["spec"]),
        user_namespace=bool(data["user_namespace"]),
        keeper=Process(**data["keeper"]),
        first=Process(**data["first"]),
        nodes=tuple(Node(n["name"], Process(**n["holder"]), int(n["inside"])) for n in data["nodes"]),
        degradations=tuple(Degradation(**fault) for fault in data["degradations"]),
    )


#: Program -> Debian package. All but nft are needed to come up; nft is only needed for ``degrade … lossy``.
PACKAGES = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount",
    "hostname": "hostname",
    "ip": "iproute2",
    "tc": "iproute2",
    "nft": "nftables",
}
# Debian keeps ip, tc and nft in /usr/sbin, which is not on an ordinary user's path.
SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", "/usr/bin", "/bin"])
_CAP_NET_ADMIN, _CAP_SYS_ADMIN = 12, 21  # linux/capability.h
# One example of each thing that the kernel must be able to do.
_PROBE = """\
ip link add br0 type bridge
ip link add one type veth peer name two
tc qdisc add dev one root handle 1: htb
mount -t tmpfs tmpfs /run
mount -t sysfs sysfs /sys
"""
# Setting -> the value that forbids namespaces to an ordinary user, and the value that allows them.
_FORBIDDING = {
    "kernel/unprivileged_userns_clone": ("0", "1"),
    "user/max_user_namespaces": ("0", "10000"),
    "user/max_net_namespaces": ("0", "10000"),
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "0"),
}


def require_programs(*names: str, packages: Mapping[str, str] = PACKAGES) -> None:
    """Raise SetupError if programs are missing; it names them and their packages."""
    missing = [name for name in names if shutil.which(name, path=SEARCH_PATH) is None]
    if missing:
        wanted = sorted({packages[name] for name in missing})
        raise SetupError(
            f"testbed: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed: "
            f"apt-get install {' '.join(wanted)} (Debian's names)"
        )


def needs_user_namespace() -> bool:
    """Return whether this process lacks the capabilities to make network namespaces directly."""
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("CapEff:"):
            effective = int(line.split()[1], 16)
            return not all(effective >> bit & 1 for bit in (_CAP_NET_ADMIN, _CAP_SYS_ADMIN))
    return os.geteuid() != 0


#: If the user may do so, processes of a testbed get priority over others: a rail carries bytes only while this host's
#: processors work on it. With a busy loop on each of two cores, NetPIPE's stream over two rails of 100 Mbit/s reached
#: 85 to 95 % of its limit without priority, and 97 to 106 % with it. A kernel that groups processes by session
#: (sched(7), "The autogroup feature") weighs the group first, and a job is a session of its own. So the group's
#: niceness is set too.
_NICENESS = -15
_FIRST = f'{{ echo {_NICENESS} >/proc/self/autogroup; }} 2>/dev/null; exec nice -n {_NICENESS} "$@"'


def front() -> list[str]:
    """Return the words before a testbed's command that give it priority; none if the user may not do so."""
    try:
        own = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, own - 1)
        os.setpriority(os.PRIO_PROCESS, 0, own)
    except OSError:
        return []
    return ["sh", "-c", _FIRST, "sh"] if own == 0 else []


def outer_options() -> list[str]:
    """Return the options of ``unshare`` for the namespaces around a whole testbed."""
    user = ["--user", "--map-root-user"] if needs_user_namespace() else []
    return [*user, "--pid", "--mount", "--net", "--fork", "--kill-child", "--mount-proc"]


def namespaces_refused() -> str | None:
    """Return None if a testbed can come up here, else the sentence that says why not (it tries; about 0.02 s)."""
    try:
        require_programs(*(name for name in PACKAGES if name != "nft"))
    except SetupError as error:
        return str(error)
    tried = subprocess.run(
        ["unshare", *outer_options(), "sh", "-ec", _PROBE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C"},
    )
    return None if tried.returncode == 0 else str(refusal(tried.stdout.decode(errors="replace")))


def refusal(complaint: str, sysctl: Path = Path("/proc/sys")) -> SetupError:
    """Return the error for a testbed that did not start, from what ``unshare``, ``mount`` or ``ip`` printed."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()] or ["no reason was given"]
    said = lines[0]
    lowered = complaint.lower()
    if "not permitted" in lowered or "permission denied" in lowered or "no space left" in lowered:
        return SetupError(f"testbed: this machine does not permit namespaces ({said}): {_remedy(sysctl)}")
    if "unknown device type" in lowered or "not supported" in lowered or "qdisc kind is unknown" in lowered:
        return SetupError(
            f"testbed: the kernel lacks a part that the virtual cluster needs ({said}): "
            "veth, bridge and sch_htb must be built in or loadable"
        )
    return SetupError(f"testbed: the virtual cluster did not come up ({said})")


def _remedy(sysctl: Path) -> str:
    for name, (forbidding, allowing) in _FORBIDDING.items():
        try:
            value = (sysctl / name).read_text(encoding="ascii").strip()
        except OSError:  # this kernel does not have this setting
            continue
        if value == forbidding:
            return f"set {name.replace('/', '.')} to {allowing} with sysctl, or run as root"
    return "run as root, or in a container that has the capabilities SYS_ADMIN and NET_ADMIN"


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
        save(folder, state)


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
    for name in (STATE_FILE, scripts.NODES_FILE, BOOT_FILE):
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


#: How long after SIGTERM a hanging run is killed, in seconds: Open MPI needs about 2 to end its daemons.
KILL_AFTER_S = 5
#: The exit code of `timeout` if it ended the job (coreutils).
TIMEOUT_EXIT = 124


#: Runs a launcher and, if it did not end at its time limit, kills whatever it has started: a stopped process ignores
#: the signal to end, and its launcher waits for it. They are found by a variable that all of them inherit. The second
#: before that is for the counter reader, which then says what hangs. A stopped one is named: it may be the launcher.
AND_KILL_THE_REST = (
    'RAILYARD_LAUNCH=$$.$PPID; export RAILYARD_LAUNCH; "$@"; code=$?; case $code in 124 | 137) sleep 1; '
    'for it in /proc/[0-9]*; do grep -qzxF "RAILYARD_LAUNCH=$RAILYARD_LAUNCH" $it/environ 2>/dev/null || continue; '
    'pid=${it#/proc/}; if grep -q "^State:.*T (stopped)" $it/status 2>/dev/null; then '
    f'echo "{STOPPED} $(cat $it/comm) of $(nsenter -t $pid -u hostname) is stopped (state T)" >&2; fi; '
    "kill -9 $pid; done ;; esac; exit $code"
)


#: How much longer than one job takes at most a launcher waits for its turn, in seconds.
TURN_MARGIN_S = 60
#: The exit code of a launcher that waited in vain (EX_TEMPFAIL of sysexits.h).
NO_TURN_EXIT = 75
#: Runs the rest of its words as soon as nobody else holds the lock: `sh -c WAIT_FOR_TURN turn SECONDS LOCK WORD …`.
WAIT_FOR_TURN = (
    f'limit=$1 lock=$2; shift 2; flock -o -w "$limit" -E {NO_TURN_EXIT} "$lock" "$@"; code=$?; '
    f'[ "$code" -ne {NO_TURN_EXIT} ] || echo "{NO_TURN} $lock for $limit s" >&2; exit "$code"'
)


def namespace_words(
    home: Path, node: str, limit_s: int, program: str, bed: str = CLUSTER, *, longest_s: int
) -> list[str]:
    """Return the words that run a launcher on a node of one of our testbeds: one at a time, with a time limit.

    By default ReFrame runs the tests of two partitions at once: with these words the jobs wait for one another. The
    lock is not passed on (``-o``): a process that outlives its launcher would keep it. ``longest_s`` is how long the
    longest job of the system may take, so nobody of ours holds the lock for longer.
    """
    turn_s = longest_s + KILL_AFTER_S + TURN_MARGIN_S
    turn = ["sh", "-c", WAIT_FOR_TURN, "turn", str(turn_s), str(bed_folder(home, bed) / "job.lock")]
    launch = ["sh", "-c", AND_KILL_THE_REST, "launch"]
    return [*turn, *launch, *node_words(home, node, limit_s, program, bed)]


def node_words(home: Path, node: str, limit_s: int, program: str, bed: str = CLUSTER) -> list[str]:
    """Return the words that run a program on a node of one of our testbeds, with a time limit."""
    limited = ["timeout", "-k", str(KILL_AFTER_S), str(limit_s)]
    return [*limited, *front(), str(enter_script(home, bed)), node, "--", program]


def each_node_words(home: Path, nodes: tuple[str, ...], bed: str = CLUSTER) -> list[str]:
    """Return the words that run a program on each of these nodes of a testbed of ours; they fail if any node fails."""
    script = (
        f'for node in {shlex.join(nodes)}; do "$0" "$node" -- "$@" & all="$all $!"; done; '
        "code=0; for one in $all; do wait $one || code=$?; done; exit $code"
    )
    return ["sh", "-c", script, str(enter_script(home, bed))]
