"""What others took of the host: read from made /proc/stat files, and from this machine's own."""

from pathlib import Path

import pytest

from railyard.testbed.hostload import HostLoad, host_load, others_share

#: proc(5): user nice system idle iowait irq softirq steal guest guest_nice, in hundredths of a second.
FIRST = "cpu  1000 5000 200 90000 10 20 30 40 0 0\ncpu0 1 2 3 4\n"


def test_user_system_and_steal_are_counted(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(FIRST, encoding="ascii")
    found = host_load(tmp_path / "stat")
    assert found is not None
    assert found.used_s == pytest.approx(12.4)


@pytest.mark.parametrize("text", ["", "cpu\n", "cpu a b c d e f g h\n", "cpu 1 2 3\n"])
def test_a_kernel_that_does_not_say_is_no_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "stat").write_text(text, encoding="ascii")
    assert host_load(tmp_path / "stat") is None
    assert host_load(tmp_path / "none") is None


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
    before = host_load()
    assert before is not None
    total = sum(number * number for number in range(2_000_000))
    after = host_load()
    assert total and after is not None
    assert after.own_s > before.own_s
    assert after.used_s >= before.used_s
