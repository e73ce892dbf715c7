"""What a run waits for is said after ten seconds without a line, on a terminal alone; the clock here is a fake one."""

import sys
import threading
import time
from pathlib import Path

import pytest

from railyard.results.run_folder import RUN_FOLDER_VARIABLE
from railyard.rfm.wait_notes import Silence, Wait, note_wait, noted_wait, shown_silence

BEGUN = "[ RUN      ] ImbUniband %rails=2 /0a1b2c3d @virtual:hsn+mpich"
NINE = 9 * 3600.0  # on the first day of the epoch, in UTC


class Clock:
    def __init__(self) -> None:
        self.now = NINE

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    return Clock()


def test_after_ten_seconds_it_is_said_what_is_waited_for_and_until_when(clock: Clock) -> None:
    silence = Silence(lambda: Wait("imb/Uniband on vn1 and vn2", NINE + 1, NINE + 91), clock)
    silence.read(BEGUN)
    clock.now += 9.9
    assert silence.words() is None
    clock.now += 0.1
    assert silence.words() == "waiting for imb/Uniband on vn1 and vn2, until 09:01:31 at the latest"


def test_a_line_of_the_run_begins_the_ten_seconds_again(clock: Clock) -> None:
    silence = Silence(lambda: Wait("a probe", NINE, NINE + 25), clock)
    clock.now += 9
    silence.restart()
    clock.now += 9
    assert silence.words() is None
    clock.now += 1
    assert silence.words() == "waiting for a probe, until 09:00:25 at the latest"


def test_the_same_is_said_again_after_a_minute_and_another_probe_after_ten_seconds(clock: Clock) -> None:
    noted = [Wait("probe 1", NINE, NINE + 25)]
    silence, said = Silence(lambda: noted[-1], clock), []
    for second in range(1, 101):
        clock.now = NINE + second
        if second == 12:
            noted.append(Wait("probe 2", clock.now, None))
        if words := silence.words():
            said.append((second, words))
    assert said == [
        (10, "waiting for probe 1, until 09:00:25 at the latest"),
        (20, "waiting for probe 2"),
        (80, "waiting for probe 2"),
    ]


def test_what_an_earlier_test_noted_is_over(clock: Clock) -> None:
    silence = Silence(lambda: Wait("a probe of the test before", NINE, NINE + 25), clock)
    clock.now += 1
    silence.read("[----------] start processing checks")
    silence.read(BEGUN)
    clock.now += 10
    assert silence.words() == "waiting for ImbUniband %rails=2 @virtual:hsn+mpich"


def test_before_the_first_test_the_checks_are_waited_for(clock: Clock) -> None:
    silence = Silence(lambda: None, clock)
    clock.now += 10
    assert silence.words() == "waiting for ReFrame to load the checks"


def test_a_check_notes_in_the_folder_of_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN_FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(time, "time", lambda: NINE)
    note_wait("a probe", 25)
    assert noted_wait(tmp_path) == Wait("a probe", NINE, NINE + 25)
    note_wait("a job", None)
    assert noted_wait(tmp_path) == Wait("a job", NINE, None)


def test_without_a_run_nothing_is_noted_and_a_broken_note_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(RUN_FOLDER_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    note_wait("a probe", 25)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "waiting.json").write_text('{"what": 1}', encoding="utf-8")
    assert noted_wait(tmp_path) is None


@pytest.mark.parametrize("is_terminal", [True, False])
def test_only_a_terminal_shows_it(
    is_terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looked: list[int] = []

    class WatchedThread(threading.Thread):
        def start(self) -> None:
            looked.append(1)
            super().start()

    monkeypatch.setattr(threading, "Thread", WatchedThread)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    (tmp_path / "waiting.json").write_text("{}", encoding="utf-8")
    with shown_silence(tmp_path):
        pass
    assert len(looked) == is_terminal
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ""
