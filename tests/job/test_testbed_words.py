"""The launchers' words, as a shell runs them."""

import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from railyard.provision.testbed import boot
from railyard.provision.testbed.boot import each_node_words, namespace_words
from railyard.provision.testbed.scripts import GUESTS, bed_folder, enter_script
from railyard.verdict.hints.first_cause import first_cause
from tests.patience import PATIENCE_S

#: Before the time limit: what waits for the lock, and what kills the rest.
TURN = ["sh", "-c", boot.WAIT_FOR_TURN, "turn", "95"]
LAUNCH = ["sh", "-c", boot.AND_KILL_THE_REST, "launch"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home whose guests' `enter` prints its words, and fails on vg2."""
    script = enter_script(tmp_path, GUESTS)
    script.parent.mkdir(parents=True)
    script.write_text('#!/bin/sh\necho "$*"\n[ "$1" != vg2 ] || exit 7\n', encoding="ascii")
    script.chmod(0o755)
    return tmp_path


def test_a_program_runs_on_each_node_with_its_words_whole(home: Path) -> None:
    words = [*each_node_words(home, ("vg1", "vg3"), GUESTS), "program", "two words", "$HOME"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["vg1 -- program two words $HOME", "vg3 -- program two words $HOME"]


def test_one_node_that_fails_is_failure(home: Path) -> None:
    for nodes in (("vg1", "vg2"), ("vg2", "vg1")):
        done = subprocess.run([*each_node_words(home, nodes, GUESTS), "program"], capture_output=True, check=False)
        assert done.returncode == 7


@pytest.mark.parametrize("front", [[], ["nice", "-n", "-15"]])
def test_guests_have_a_lock_and_a_way_in_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, front: list[str]
) -> None:
    monkeypatch.setattr("railyard.provision.testbed.boot.front", lambda: front)
    beds = [
        [word.removeprefix(f"{tmp_path}/.railyard/") for word in words]
        for words in (
            namespace_words(tmp_path, "n", 9, "p", longest_s=30),
            namespace_words(tmp_path, "n", 9, "p", GUESTS, longest_s=30),
        )
    ]
    assert beds == [
        [*TURN, f"{bed}/job.lock", *LAUNCH, "timeout", "-k", "5", "9", *front, f"{bed}/enter", "n", "--", "p"]
        for bed in ("testbed", "guests")
    ]


def test_a_stopped_process_neither_outlives_its_time_limit_nor_keeps_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped process ignores the signal to end, and so does a launcher that waits for it."""
    monkeypatch.setattr("railyard.provision.testbed.boot.front", list)
    bed = bed_folder(tmp_path)
    bed.mkdir(parents=True)
    pid_file = tmp_path / "pid"
    stopping = f"setsid sh -c 'echo $$ >{pid_file}; kill -STOP $$' & trap '' TERM; wait; wait"
    (bed / "enter").write_text('#!/bin/sh\nshift 2\nexec sh -c "$1"\n', encoding="utf-8")
    (bed / "enter").chmod(0o755)
    words = namespace_words(tmp_path, "n", 1, stopping, longest_s=1)
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 137
    assert f"railyard: error: at the time limit sh of {os.uname().nodename} is stopped (state T)\n" in done.stderr
    cause = first_cause(None, (done.stderr,))
    assert cause is not None
    assert cause.means.startswith(f"sh of {os.uname().nodename} did not react to the end of the job")
    stat = Path("/proc", pid_file.read_text(encoding="utf-8").strip(), "stat")
    assert not stat.exists() or " Z " in stat.read_text(encoding="utf-8")
    again = subprocess.run(["flock", "-n", str(bed / "job.lock"), "true"], check=False)
    assert again.returncode == 0


def test_a_launcher_whose_turn_never_comes_ends_and_says_who_to_look_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("railyard.provision.testbed.boot.TURN_MARGIN_S", 1 - boot.KILL_AFTER_S)
    lock = bed_folder(tmp_path) / "job.lock"
    lock.parent.mkdir(parents=True)
    words = namespace_words(tmp_path, "n", 1, "p", longest_s=0)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (75, "")
    assert done.stderr == f"railyard: error: another process held {lock} for 1 s\n"
    cause = first_cause("mpich", ("", done.stderr))
    assert cause is not None and cause.means.endswith(f"see who holds the file (fuser -v {lock}), and end that process")
