"""Brings the guests of one site folder up and down, and asks them."""

import fcntl
import lzma
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.files import write_whole
from railyard.base.paths import packaged_text
from railyard.provision.testbed import boot, guest_texts, scripts
from railyard.provision.testbed.boot import PACKAGES, SEARCH_PATH, State, require_programs
from railyard.provision.testbed.guest_texts import Kernel, find_kernel
from railyard.provision.testbed.spec import TestbedSpec

_FOLDER, _FILE, _LINK = 0o040755, 0o100000, 0o120777
_MAGIC, _TRAILER = b"070701", "TRAILER!!!"


@dataclass(frozen=True, slots=True)
class File:
    """One regular file of the archive."""

    content: bytes
    mode: int = 0o644


PROGRAMS = ("unshare", "nsenter", "mount", "ip", "tc", "rdma", "busybox", "qemu-system-x86_64")
DEBIAN_PACKAGES = {**PACKAGES, "qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "rdma": "iproute2"}
# It takes 6 s, emulated on a quiet machine, up to a minute on a busy one.
_UP_WITHIN_S = 180.0
# Under KVM, if that works, this kernel prints its version within a second.
_PROBED_WITHIN_S = 8.0
_BUSYBOX = ("sh", "mount", "insmod", "mkdir", "cp", "switch_root", "poweroff")
_FOLDERS = ("proc", "sys", "dev", "machine", "written", "root")


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """One RDMA device of a guest now: the state of its port, and packets since it came up (rxe counts no bytes)."""

    node: str
    device: str
    address: str
    rate_mbit_s: float | None
    state: str
    sent_packets: int
    received_packets: int


def running_state(home: Path) -> State:
    """Return the state of the guests of a home folder. Raises SetupError if they are not up, or one ended."""
    folder = scripts.bed_folder(home.resolve(), scripts.GUESTS)
    state = boot.load(folder)
    if state is None or not state.first.is_alive():
        raise SetupError(f"testbed: {guest_texts.NOT_UP}")
    for node in state.nodes:
        if not node.holder.is_alive():
            words = _last_words(_printable(folder / guest_texts.console_name(node.name)))
            raise SetupError(
                f"testbed: the guest {node.name} ended while it was up ({words}): run 'railyard testbed guests down', "
                "then 'up'"
            )
    return state


class Guests:
    """The guests of one home folder. Every method reads the state on disk, so two processes agree.

    Raises SetupError, one sentence, for anything that this machine refuses and for a guest that does not come up.
    """

    def __init__(self, home: Path, spec: TestbedSpec) -> None:
        self.home = home.resolve()
        self.folder = scripts.bed_folder(self.home, scripts.GUESTS)
        self.spec = spec

    @property
    def enter(self) -> Path:
        """The script ``enter NODE -- COMMAND…``."""
        return self.folder / "enter"

    def is_up(self) -> bool:
        """Return whether both guests run."""
        state = boot.load(self.folder)
        return state is not None and state.is_alive()

    def state(self) -> State:
        """Return the state of the running guests. Raises SetupError if they are not up."""
        return running_state(self.home)

    def bring_up(self, echo: Callable[[str], None], *, lasting: bool = True) -> bool:
        """Bring both up; return False if they were already up. If interrupted at any point, it leaves nothing behind.

        If they are not ``lasting`` they end with this process, whatever ends it. ``echo`` gets a sentence about
        anything that makes it slow. Raises SetupError.
        """
        if len(self.spec.nodes) != 2:
            raise SetupError(
                f"testbed: guests are joined by cables, so there must be two, but {len(self.spec.nodes)} nodes are "
                "named"
            )
        require_programs(*PROGRAMS, packages=DEBIAN_PACKAGES)
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = boot.load(self.folder)
            if state is not None and state.is_alive():
                if state.spec != self.spec:
                    raise SetupError(
                        "testbed: the guests are already up with other names or rates: run 'railyard testbed guests "
                        "down' first"
                    )
                return False
            self._end(state)
            self._start(find_kernel(self.home), echo, lasting)
        return True

    def take_down(self) -> bool:
        """End both and remove what they wrote, except the scripts; return whether anything ran.

        Also cleans up after guests whose processes or state file are gone.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return self._end(boot.load(self.folder))

    def exec(self, node: str, command: list[str], timeout_s: float = 60.0) -> "subprocess.CompletedProcess[str]":
        """Run a command in a guest. Raises subprocess.TimeoutExpired after the time, when it was killed."""
        return subprocess.run(
            [str(self.enter), node, "--", *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )

    def status(self) -> tuple[DeviceStatus, ...]:
        """Return every RDMA device of both guests. Raises SetupError if a guest does not answer."""
        state = self.state()
        return tuple(found for node in state.spec.nodes for found in self._devices(state.spec, node))

    def _devices(self, spec: TestbedSpec, node: str) -> list[DeviceStatus]:
        words = []
        for network in spec.networks[1:]:
            port = f"/sys/class/infiniband/{network.device}/ports/1"
            words += [f"{port}/state", f"{port}/hw_counters/sent_pkts", f"{port}/hw_counters/rcvd_pkts"]
        done = self.exec(node, ["cat", *words])
        lines = done.stdout.splitlines()
        if done.returncode or len(lines) != len(words):
            raise SetupError(f"testbed: {node} did not show its RDMA devices: {done.stderr.strip() or done.stdout}")
        return [
            DeviceStatus(
                node,
                network.device,
                spec.address(node, network.device),
                network.rate_mbit_s,
                lines[3 * index].partition(": ")[2],
                int(lines[3 * index + 1]),
                int(lines[3 * index + 2]),
            )
            for index, network in enumerate(spec.networks[1:])
        ]

    def _end(self, state: State | None) -> bool:
        ran = boot.end(self.folder, state)
        for pattern in (guest_texts.archive_name("*"), guest_texts.console_name("*"), "agent.py"):
            for file in self.folder.glob(pattern):
                file.unlink(missing_ok=True)
        return ran

    def _start(self, kernel: Kernel, echo: Callable[[str], None], lasting: bool) -> None:
        why_not = kvm_refused(kernel.image)
        if why_not is not None:
            echo(f"guests: KVM runs no guest here ({why_not}), so every instruction is emulated (QEMU's TCG)")
        python = os.path.realpath(sys.executable)
        agent = packaged_text("provision/testbed/guest_agent.py")
        write_whole(self.folder / "agent.py", agent)
        write_whole(self.folder / "enter", guest_texts.enter_text(python), 0o755)
        write_whole(self.folder / "agent", scripts.AGENT, 0o755)
        for node in self.spec.nodes:
            setup = guest_texts.setup_script(self.spec, node, python)
            made = first_files(kernel, self.home, {"setup": setup, "agent.py": agent,
                                                   "hosts": guest_texts.hosts_text(self.spec)})  # fmt: skip
            (self.folder / guest_texts.archive_name(node)).write_bytes(made)
        where = guest_texts.Files(str(self.folder), str(self.home), str(kernel.image), "tcg" if why_not else "kvm")
        try:
            with boot.begin(
                self.folder, self.spec, guest_texts.boot_script(self.spec, where), lasting=lasting
            ) as state:
                first = state.first
                text = guest_texts.nodes_text(self.spec, state.user_namespace, first.pid, first.start)
                self._await_ready(state)
                write_whole(self.folder / guest_texts.NODES_FILE, text)
                boot.save(self.folder, state)
        finally:
            for archive in self.folder.glob(guest_texts.archive_name("*")):
                archive.unlink()

    def _await_ready(self, state: State) -> None:
        """Return when both guests take commands. Raises SetupError with the console's words if one does not."""
        deadline = time.monotonic() + _UP_WITHIN_S
        waited_for = list(state.nodes)
        while waited_for:
            node = waited_for[0]
            console = self.folder / guest_texts.console_name(node.name)
            said = _printable(console)
            if any(guest_texts.READY_LINE in line for line in said):
                del waited_for[0]
                continue
            if not node.holder.is_alive():
                raise SetupError(f"testbed: the guest {node.name} did not come up: {_last_words(said)}")
            if time.monotonic() > deadline:
                raise SetupError(
                    f"testbed: the guest {node.name} did not come up within {_UP_WITHIN_S:g} s: {_last_words(said)}"
                )
            time.sleep(0.1)


def kvm_refused(image: Path, device: Path = Path("/dev/kvm")) -> str | None:
    """Return None if KVM runs this kernel, else why not: a machine may have /dev/kvm and still run nothing."""
    if not os.access(device, os.R_OK | os.W_OK):
        return f"{device} is missing, or you may not open it"
    try:
        done = subprocess.run(
            guest_texts.probe_words(str(image)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBED_WITHIN_S,
            env={**os.environ, "PATH": SEARCH_PATH},
            check=False,
        )
        out, err = done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        out, err = late.stdout or b"", b"its first instructions came to no end"
    if b"Linux version" in out:
        return None
    lines = [line.strip() for line in err.decode(errors="replace").splitlines() if line.strip()]
    return lines[0].removeprefix("qemu-system-x86_64: ") if lines else "it printed nothing"


def first_files(kernel: Kernel, home: Path, setup: dict[str, str]) -> bytes:
    """Return a guest's first root file system: busybox, the modules, and the texts of ``setup`` below ``setup/``."""
    busybox = shutil.which("busybox", path=SEARCH_PATH)
    assert busybox is not None
    modules = {module.name.removesuffix(".xz"): _module(module) for module in kernel.modules}
    stacks = home / ".stacks"
    init = guest_texts.init_script(tuple(modules), str(home), str(stacks) if _is_folder_of_its_own(stacks) else None)
    contents = {
        "init": File(init.encode(), 0o755),
        "bin/busybox": File(Path(busybox).read_bytes(), 0o755),
        **{f"modules/{name}": File(content) for name, content in modules.items()},
        **{f"setup/{name}": File(text.encode()) for name, text in setup.items()},
    }
    return archive(contents, {f"bin/{name}": "busybox" for name in _BUSYBOX}, _FOLDERS)


def _is_folder_of_its_own(folder: Path) -> bool:
    return folder.is_dir() and not folder.is_symlink()


def _module(path: Path) -> bytes:
    content = path.read_bytes()
    return lzma.decompress(content) if path.suffix == ".xz" else content


def _printable(console: Path) -> list[str]:
    """Return the lines of a console that are not blank, without codes that move a cursor."""
    try:
        text = console.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1bc", "", text)
    return ["".join(c for c in line if c.isprintable()).strip() for line in text.splitlines() if line.strip()]


def _last_words(said: list[str]) -> str:
    """Return what a console says about a failure: our own line, a panic, else its last line."""
    for mark in (guest_texts.FAILED_LINE, "Kernel panic"):
        found = [line for line in said if mark in line]
        if found:
            return found[0].partition(guest_texts.FAILED_LINE)[2].strip() or found[0]
    return f'the last line of its console is "{said[-1]}"' if said else "its console is empty"


def archive(files: Mapping[str, File], links: Mapping[str, str], folders: tuple[str, ...]) -> bytes:
    """Return the archive of these files (path -> file), symbolic links (path -> target) and empty folders.

    Paths are relative; folders above a file are added. The format: Linux Documentation/driver-api/early-userspace/
    buffer-format. The owner is root and the time 0, so the same input gives the same bytes.
    """
    entries: dict[str, tuple[int, bytes]] = {}
    for path in [*files, *links, *(f"{folder}/" for folder in folders)]:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            entries["/".join(parts[:depth])] = (_FOLDER, b"")
    entries |= {path: (_FILE | file.mode, file.content) for path, file in files.items()}
    entries |= {path: (_LINK, target.encode()) for path, target in links.items()}
    made = b"".join(_entry(number, path, *entries[path]) for number, path in enumerate(sorted(entries), 1))
    return made + _entry(0, _TRAILER, 0, b"")


def _entry(inode: int, path: str, mode: int, content: bytes) -> bytes:
    """Return one entry; name and content are each padded to four bytes (the header has 110)."""
    name = path.encode() + b"\0"
    # inode, mode, uid, gid, links, time, size, four numbers of devices, length of the name, check sum (unused)
    fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
    header = _MAGIC + b"".join(b"%08X" % field for field in fields)
    return _pad(header + name) + _pad(content)


def _pad(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
