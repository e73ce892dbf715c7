"""How long processes of a testbed waited, read from a synthetic proc folder."""

import os
from pathlib import Path

import pytest

from railyard.provision.testbed.starvation import Watch, stolen_s

NODE, HOST = "net:[4026532201]", "net:[4026531840]"
TICKS = os.sysconf("SC_CLK_TCK")
S = 1_000_000_000


class Proc:
    """A proc folder: processes with their network namespace, the waits of their tasks, and the stolen time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def set_wait(self, pid: int, task: int, waited_ns: int, namespace: str = NODE) -> None:
        """Set how long a task has waited since it began."""
        process = self.folder / str(pid)
        (process / "ns").mkdir(parents=True, exist_ok=True)
        (process / "task" / str(task)).mkdir(parents=True, exist_ok=True)
        link = process / "ns/net"
        if not link.is_symlink():
            link.symlink_to(namespace)
        (process / "task" / str(task) / "schedstat").write_text(f"7000 {waited_ns} 12\n", encoding="ascii")

    def stole(self, seconds: float) -> None:
        """Set how much time the hypervisor has taken from all processors since the start."""
        first = f"cpu  100 0 50 4000 1 0 2 {round(seconds * TICKS)} 0 0"
        (self.folder / "stat").write_text(f"{first}\ncpu0 100 0 50 4000 1 0 2 9999 0 0\n", encoding="ascii")


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    """A proc folder with the files that every one has besides processes."""
    (tmp_path / "self").mkdir()
    return Proc(tmp_path)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The watch's clock, whose value the test sets; no thread reads at the same time."""
    now = [100.0]
    monkeypatch.setattr("railyard.provision.testbed.starvation.time.monotonic", lambda: now[0])
    monkeypatch.setattr("railyard.provision.testbed.starvation._PERIOD_S", 3600.0)
    return now


def watch(proc: Proc) -> Watch:
    return Watch(frozenset({NODE}), proc.folder).start()


def test_a_task_that_was_there_before_counts_from_the_start_only(proc: Proc, clock: list[float]) -> None:
    proc.set_wait(11, 11, 50 * S)
    begun = watch(proc)
    proc.set_wait(11, 11, 51 * S)
    clock[0] += 10
    assert begun.stop() == pytest.approx(0.1)


def test_pressure_counts_where_no_task_tells_its_wait(proc: Proc, clock: list[float]) -> None:
    pressure = proc.folder / "pressure/cpu"
    pressure.parent.mkdir()
    pressure.write_text("some avg10=3.69 avg60=6.73 avg300=3.07 total=14000000\nfull avg10=0.00 total=0\n")
    begun = watch(proc)
    pressure.write_text("some avg10=3.69 avg60=6.73 avg300=3.07 total=16500000\nfull avg10=0.00 total=0\n")
    clock[0] += 10
    assert begun.stop() == pytest.approx(0.25)


def test_a_tasks_own_wait_counts_before_pressure(proc: Proc, clock: list[float]) -> None:
    pressure = proc.folder / "pressure/cpu"
    pressure.parent.mkdir()
    pressure.write_text("some total=0\n")
    begun = watch(proc)
    proc.set_wait(11, 11, 1 * S)
    pressure.write_text("some total=9000000\n")
    clock[0] += 10
    assert begun.stop() == pytest.approx(0.1)


def test_a_new_task_counts_whole(proc: Proc, clock: list[float]) -> None:
    proc.set_wait(11, 11, 50 * S)
    begun = watch(proc)
    proc.set_wait(11, 12, 2 * S)  # a thread of a process that was there before
    proc.set_wait(13, 13, 3 * S)
    clock[0] += 10
    assert begun.stop() == pytest.approx(0.3)


def test_the_longest_wait_of_one_task_counts_and_not_the_sum(proc: Proc, clock: list[float]) -> None:
    begun = watch(proc)
    for pid, waited_ns in ((11, 1 * S), (12, 4 * S), (13, 2 * S)):
        proc.set_wait(pid, pid, waited_ns)
    clock[0] += 10
    assert begun.stop() == pytest.approx(0.4)


def test_a_process_that_ended_keeps_what_was_read_of_it(proc: Proc, clock: list[float]) -> None:
    begun = watch(proc)
    proc.set_wait(11, 11, 1 * S)
    begun.read()
    (proc.folder / "11/task/11/schedstat").unlink()
    clock[0] += 10
    assert begun.stop() == pytest.approx(0.1)


def test_what_was_stolen_meanwhile_is_added(proc: Proc, clock: list[float]) -> None:
    proc.stole(7)
    proc.set_wait(11, 11, 0)
    begun = watch(proc)
    proc.set_wait(11, 11, 1 * S)
    proc.stole(9)
    clock[0] += 10
    assert begun.stop() == pytest.approx(0.3)


def test_a_process_of_another_namespace_is_not_counted(proc: Proc, clock: list[float]) -> None:
    proc.stole(0)
    begun = watch(proc)
    proc.set_wait(11, 11, 5 * S, HOST)
    clock[0] += 10
    assert begun.stop() == 0.0


def test_where_nothing_is_known_no_share_is_given(proc: Proc, clock: list[float]) -> None:
    begun = watch(proc)
    proc.set_wait(11, 11, 5 * S, HOST)
    clock[0] += 10
    assert begun.stop() is None


@pytest.mark.parametrize("text", ["", "cpu  1 2 3\n", "cpu  1 2 3 4 5 6 7 much 0 0\n"])
def test_a_kernel_that_does_not_tell_what_was_stolen(tmp_path: Path, text: str) -> None:
    assert stolen_s(tmp_path) is None
    (tmp_path / "stat").write_text(text, encoding="ascii")
    assert stolen_s(tmp_path) is None
