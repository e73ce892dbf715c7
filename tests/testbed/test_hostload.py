"""What others took of the host: read from made /proc/stat files, and from this machine's own."""

import os
from pathlib import Path

import pytest

from railyard.testbed.hostload import HostLoad, host_load, others_share

#: proc(5): user nice system idle iowait irq softirq steal guest guest_nice, in hundredths of a second.
FIRST = "cpu  1000 5000 200 90000 10 20 30 40 0 0\ncpu0 1 2 3 4\n"


#: Fields 14 to 17: 0.1 and 0.2 s of its own, 21.33 and 91.41 s of the children that it waited for.
TESTBED = "7 (boot) sh) S 1 7 7 0 -1 0 0 0 0 0 10 20 2133 9141 20 0 1 0 0\n"


def made_proc(folder: Path, first: str = FIRST, testbed: str = TESTBED) -> Path:
    (folder / "stat").write_text(first, encoding="ascii")
    (folder / "7").mkdir()
    (folder / "7/stat").write_text(testbed, encoding="ascii")
    return folder


def test_user_system_and_steal_are_counted(tmp_path: Path) -> None:
    found = host_load(7, made_proc(tmp_path))
    assert found is not None
    assert found.used_s == pytest.approx(12.4)


def test_daemons_that_the_testbed_waited_for_are_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.nice", lambda more: 0)
    found, own = host_load(7, made_proc(tmp_path)), os.times()
    assert found is not None
    mine = own.user + own.system + own.children_user + own.children_system
    assert found.own_s - mine == pytest.approx(113.04, abs=0.5)


@pytest.mark.parametrize("text", ["", "cpu\n", "cpu a b c d e f g h\n", "cpu 1 2 3\n"])
def test_a_kernel_that_does_not_say_is_no_error(tmp_path: Path, text: str) -> None:
    assert host_load(7, made_proc(tmp_path, first=text)) is None
    assert host_load(8, tmp_path) is None


def test_the_share_is_of_all_processors_and_without_our_own() -> None:
    before = HostLoad(used_s=100.0, own_s=10.0, clock_s=0.0, processors=2)
    after = HostLoad(used_s=109.0, own_s=16.0, clock_s=5.0, processors=2)
    assert others_share(before, after) == pytest.approx(0.3)


def test_clocks_that_tick_apart_give_no_negative_share() -> None:
    before = HostLoad(100.0, 10.0, 0.0, 2)
    assert others_share(before, HostLoad(100.9, 11.0, 1.0, 2)) == 0


def test_nothing_is_known_without_two_readings() -> None:
    load = HostLoad(1.0, 1.0, 1.0, 1)
    assert others_share(None, load) is None
    assert others_share(load, None) is None
    assert others_share(load, load) is None


def test_what_this_process_computes_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.nice", lambda more: 0)
    before = host_load(os.getpid())
    assert before is not None
    total = sum(number * number for number in range(2_000_000))
    after = host_load(os.getpid())
    assert total and after is not None
    assert after.own_s > before.own_s
    assert after.used_s >= before.used_s
