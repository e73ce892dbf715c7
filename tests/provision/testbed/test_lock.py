"""The measurement lock: one holder, a sentence for those who wait, no deadlock of a child, and nobody else's hand."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.testbed import lock
from railyard.provision.testbed.lock import HELD_VARIABLE, lock_file, measurement_lock, who_measures

HOLDER = """
import sys
from pathlib import Path
from railyard.provision.testbed.lock import measurement_lock
shared = sys.argv[2:] == ["shared"]
with measurement_lock(lambda text: print(text, flush=True), Path("/clone/b"), Path(sys.argv[1]), shared=shared):
    print("held", flush=True)
    sys.stdin.readline()
"""


def lock_is_held() -> bool:
    """Return whether this process or a parent of it holds the machine's measurement lock."""
    return bool(os.environ.get(HELD_VARIABLE))


@pytest.fixture(autouse=True)
def not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HELD_VARIABLE, raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "measure.lock"


def refuse_wait(text: str) -> None:
    raise AssertionError(f"waited: {text}")


@contextlib.contextmanager
def start_holder(file: Path, *how: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that takes the lock as soon as it can; killed at the end, since it may wait for us."""
    environment = {name: value for name, value in os.environ.items() if name != HELD_VARIABLE}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file), *how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as holder:
        try:
            yield holder
        finally:
            holder.kill()


def read_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def release(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The machine's folder of the lock, which is not there yet."""
    monkeypatch.setattr(lock, "MACHINE_FOLDER", tmp_path / "run/railyard")
    (tmp_path / "run").mkdir()
    return tmp_path / "run/railyard"


as_root = pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")


@as_root
def test_root_makes_the_machines_folder_and_nobody_else_can_open_the_lock(machine: Path) -> None:
    for folder in (machine.parent, *machine.parent.parents[:2]):
        folder.chmod(0o755)
    assert lock_file() == machine / "measure.lock"
    with measurement_lock(refuse_wait):
        stranger = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "flock", "-s", "-n"]
        told = subprocess.run([*stranger, str(machine / "measure.lock"), "true"], capture_output=True, text=True)
        assert (told.returncode, "Permission denied" in told.stderr) == (66, True)
        told = subprocess.run([*stranger[:-3], "mv", str(machine), f"{machine}-2"], capture_output=True, text=True)
        assert told.returncode != 0 and machine.is_dir()


@as_root
def test_a_group_has_one_lock_for_all_its_members_whatever_their_umask(machine: Path) -> None:
    machine.mkdir()
    os.chown(machine, 0, 65534)
    machine.chmod(0o2770)
    before = os.umask(0o077)
    try:
        with measurement_lock(refuse_wait):
            made = (machine / "measure.lock").stat()
    finally:
        os.umask(before)
    assert (made.st_gid, made.st_mode & 0o777) == (65534, 0o660)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o2777])
def test_a_folder_that_everybody_may_write_is_not_the_machines(machine: Path, mode: int) -> None:
    machine.mkdir()
    machine.chmod(mode)
    assert machine not in lock_file().parents


def test_a_link_is_not_the_machines_folder(machine: Path, tmp_path: Path) -> None:
    machine.symlink_to(tmp_path)
    assert lock_file().parent not in (machine, tmp_path)


def test_another_users_folder_in_the_place_of_ours_is_refused(monkeypatch: pytest.MonkeyPatch, machine: Path) -> None:
    machine.symlink_to(machine.parent)
    user = 3_999_999_999  # nobody has this number
    monkeypatch.setattr(os, "getuid", lambda: user)
    place = Path(f"/tmp/railyard-{user}")
    try:
        with pytest.raises(SetupError) as caught:
            lock_file()  # the folder that it makes is ours, not this user's
    finally:
        place.rmdir()
    assert str(caught.value) == (
        f"measurement lock: {place}: found a link, or what another user owns or may write, expected a folder of yours "
        "alone; let its owner remove it"
    )


def test_the_second_waits_and_is_told_who_measures(file: Path) -> None:
    with measurement_lock(refuse_wait, Path("/clone/a"), file), start_holder(file) as other:
        assert re.fullmatch(
            rf"waiting: process {os.getpid()} of /clone/a is measuring on this machine "
            r"\(since \d{4}-\d\d-\d\d \d\d:\d\d UTC\); two measurements at once would disturb each other",
            read_line(other),
        )


def test_what_measures_nothing_shares_the_lock_and_a_measurement_waits_for_it(file: Path) -> None:
    with measurement_lock(refuse_wait, Path("/clone/a"), file, shared=True):
        os.environ.pop(HELD_VARIABLE)  # else the next one would count as our child and not ask for the lock
        with measurement_lock(refuse_wait, Path("/clone/c"), file, shared=True), start_holder(file) as other:
            assert read_line(other).startswith("waiting: ")


def test_what_measures_nothing_waits_for_a_measurement(file: Path) -> None:
    with start_holder(file) as other:
        assert read_line(other) == "held"
        waited = []

        def let_go(text: str) -> None:
            waited.append(text)
            other.kill()

        with measurement_lock(let_go, Path("/clone/a"), file, shared=True):
            assert len(waited) == 1


def test_the_second_gets_it_when_the_first_is_done(file: Path) -> None:
    with contextlib.ExitStack() as held:
        held.enter_context(measurement_lock(refuse_wait, Path("/clone/a"), file))
        with start_holder(file) as other:
            assert read_line(other).startswith("waiting: process ")
            held.close()
            assert read_line(other) == "held"


def test_who_measures_is_told_without_waiting(file: Path) -> None:
    assert who_measures(file) is None
    assert not file.exists()
    with start_holder(file) as other:
        assert read_line(other) == "held"
        told = who_measures(file)
        assert told is not None
        assert told.startswith(f"process {other.pid} of /clone/b is measuring on this machine (since 20")
    with measurement_lock(refuse_wait, file=file):
        assert who_measures(file) is None  # we do
    assert who_measures(file) is None


def test_a_killed_holder_leaves_no_lock(file: Path) -> None:
    with start_holder(file) as other:
        assert read_line(other) == "held"
    with measurement_lock(refuse_wait, file=file):
        assert lock_is_held()
    assert not lock_is_held()


def test_a_child_process_of_the_holder_does_not_wait(file: Path) -> None:
    with measurement_lock(refuse_wait, file=file):
        child = subprocess.run([sys.executable, "-c", HOLDER, str(file)], input="\n", capture_output=True, text=True)
    assert child.stdout == "held\n"


def test_the_holder_itself_can_enter_again(file: Path) -> None:
    with measurement_lock(refuse_wait, file=file), measurement_lock(refuse_wait, file=file):
        assert lock_is_held()


def test_another_users_file_is_opened_without_creating(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What fs.protected_regular=2 does in a sticky folder if another user's file is opened with O_CREAT.
    file.touch(mode=0o666)
    real = os.open

    def open_protected(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT and Path(path).exists():
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", open_protected)
    with measurement_lock(refuse_wait, file=file):
        assert lock_is_held()


def test_a_lock_file_that_was_removed_is_not_held(file: Path) -> None:
    with contextlib.ExitStack() as held:
        held.enter_context(measurement_lock(refuse_wait, Path("/clone/a"), file))
        with start_holder(file) as other:
            assert read_line(other).startswith("waiting: process ")
            file.unlink()
            held.close()
            assert read_line(other) == "held"
            assert file.exists(), "the waiter locked a file that nobody else can find"


def test_a_link_is_not_followed(file: Path) -> None:
    file.symlink_to(file.with_name("elsewhere"))
    with pytest.raises(SetupError) as caught, measurement_lock(refuse_wait, file=file):
        pass
    assert str(caught.value) == (
        f"measurement lock: {file} cannot be opened for writing (Too many levels of symbolic links): "
        f"its owner must remove it, or let the folder's group write it (chmod 660 {file})"
    )


def test_a_fifo_is_no_lock(file: Path) -> None:
    os.mkfifo(file)
    with pytest.raises(SetupError) as caught, measurement_lock(refuse_wait, file=file):
        pass
    assert str(caught.value) == f"measurement lock: {file} is not a regular file: remove it"


def test_nothing_unprintable_is_repeated_from_the_file(file: Path) -> None:
    with measurement_lock(refuse_wait, Path("/a\x1b[31mb"), file), start_holder(file) as other:
        assert read_line(other).startswith(f"waiting: process {os.getpid()} of /a[31mb is measuring")


def test_who_comes_to_share_waits_behind_a_measurement_that_waits(file: Path) -> None:
    with start_holder(file, "shared") as sharing:
        assert read_line(sharing) == "held"
        with start_holder(file) as measuring:
            assert read_line(measuring).startswith("waiting: ")
            with start_holder(file, "shared") as late:
                assert read_line(late).startswith("waiting: ")  # with the first lock alone it would say "held"
                release(sharing)
                assert read_line(measuring) == "held"
                release(measuring)
                assert read_line(late) == "held"


def test_those_who_share_do_not_wait_for_each_other(file: Path) -> None:
    with measurement_lock(refuse_wait, file=file, shared=True), start_holder(file, "shared") as other:
        assert read_line(other) == "held"
