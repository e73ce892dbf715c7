"""Starts a testbed's processes, detached and all or none, and ends them whatever was lost.

What a testbed needs on this machine, and the sentence that says what is missing.
"""

import contextlib
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.files import write_whole
from railyard.provision.testbed import processes, scripts
from railyard.provision.testbed.processes import (
    Node,
    Process,
    State,
    child_of,
    find_inside,
    outermost_processes,
    process,
    wait_until_gone,
)
from railyard.provision.testbed.scheduler_clients import VARIABLES as SCHEDULERS
from railyard.provision.testbed.spec import TestbedSpec

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
        processes.save(folder, state)


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
    for name in (processes.STATE_FILE, scripts.NODES_FILE, BOOT_FILE):
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
