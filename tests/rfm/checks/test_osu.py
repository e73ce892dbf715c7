"""OSU's settings, and how many bytes they move, with its own validation and without."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.benchmarks.repetitions import Amounts, TwoLaunches
from railyard.provision.installed_stack import has_text
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.microbench import VALIDATION_OPTION, OsuCheck, RepeatedCheck, moved_repetitions, words_of

SIZES = (1, 4, 4 << 20)


@pytest.mark.parametrize(
    ("told", "window", "validates", "words"),
    [
        (Repetitions(2, 1), 16, False, "-m 1:4194304 -i 2 -x 1 -W 16"),
        (Repetitions(2, 0), 16, True, "-m 1:4194304 -i 2 -x 0 -W 16 -c -u 1"),
        (Repetitions(6, 1), 1, False, "-m 1:4194304 -i 6 -x 1"),
    ],
)
def test_osu_is_told_sizes_repetitions_and_validation(
    told: Repetitions, window: int, validates: bool, words: str
) -> None:
    assert words_of(SIZES, told, window, validates=validates) == words.split()


def test_a_reduction_is_told_what_it_adds() -> None:
    words = words_of(SIZES, Repetitions(1, 0), 1, validates=True, datatype="mpi_float")
    assert words == "-m 1:4194304 -i 1 -x 0 -c -u 1 -T mpi_float".split()


def test_a_single_size_is_both_ends() -> None:
    assert words_of((1024,), Repetitions(5, 1), 1, validates=False) == ["-m", "1024:1024", "-i", "5", "-x", "1"]


def test_validation_moves_each_repetition_twice() -> None:
    assert moved_repetitions(Repetitions(2, 0), validates=True) == Repetitions(4, 0)
    assert moved_repetitions(Repetitions(2, 1), validates=True) == Repetitions(4, 2)
    assert moved_repetitions(Repetitions(2, 1), validates=False) == Repetitions(2, 1)


def test_a_release_is_known_by_the_names_of_its_options(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_bytes(b"\x7fELF\x00vary-window\x00validation-warmup\x00\xff")
    old.write_bytes(b"\x7fELF\x00vary-window\x00\xff")
    assert has_text(str(new), VALIDATION_OPTION)
    assert not has_text(str(old), VALIDATION_OPTION)
    assert not has_text(str(tmp_path / "elsewhere"), VALIDATION_OPTION)


def test_the_output_must_have_all_sizes_that_osu_doubles_through() -> None:
    for key, sizes in (("osu/osu_bw", tuple(4 << n for n in range(21))), ("osu/osu_barrier", ()), ("osu/osu_init", ())):
        made = SimpleNamespace(key=key, message_sizes=(4, 1024, 4 << 20))
        made.measured_sizes = lambda made=made: OsuCheck.measured_sizes(made)
        assert vars(RepeatedCheck)["asked_sizes"].fget(made) == sizes


@pytest.mark.parametrize(("tool", "told"), [("osu", Repetitions(20, 2)), ("imb", None)])
def test_a_check_says_its_repetitions_if_its_tool_prints_none(tool: str, told: Repetitions | None) -> None:
    made = SimpleNamespace(tool=tool, repetitions=20, warm_up=2)
    assert vars(RepeatedCheck)["fixed_repetitions"].fget(made) == told


def two_launches(*, validates: bool, warm_up: int) -> OsuCheck:
    """Return what a check has after it chose two launches: up to 8 B 100 times, above 6 times."""
    made = SimpleNamespace(
        message_sizes=(1, 4, 16, 64), window=64, repetitions=6, warm_up=warm_up, reduces=False, validates=validates,
        _two=TwoLaunches(8, Amounts(100, 10, 64), Amounts(6, 1, 64)),
    )  # fmt: skip
    made.measured_sizes = lambda: OsuCheck.measured_sizes(made)  # type: ignore[arg-type]
    made._repetitions = vars(OsuCheck)["_repetitions"].fget(made)
    return made  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("validates", "warm_up", "words"),
    [
        (True, 0, ["-m 1:8 -i 100 -x 0 -W 64 -c -u 1", "-m 16:64 -i 6 -x 0 -W 64 -c -u 1"]),
        (False, 1, ["-m 1:8 -i 100 -x 10 -W 64", "-m 16:64 -i 6 -x 1 -W 64"]),
    ],
)
def test_small_messages_have_a_launch_with_more_repetitions(validates: bool, warm_up: int, words: list[str]) -> None:
    made = two_launches(validates=validates, warm_up=warm_up)
    launches = vars(OsuCheck)["launches"].fget(made)
    assert launches == ((1, 2, 4, 8), (16, 32, 64))
    assert [" ".join(OsuCheck.arguments(made, sizes)) for sizes in launches] == words
    # A measurement of one size again has the numbers of that size.
    assert OsuCheck.arguments(made, (64,))[:4] == ["-m", "64:64", "-i", "6"]
    told = vars(OsuCheck)["fixed_repetitions"].fget(made)
    times = 2 if validates else 1
    assert (told.of_size(8).measured, told.of_size(16).measured) == (100 * times, 6 * times)


def test_without_two_numbers_there_is_one_launch() -> None:
    made = two_launches(validates=True, warm_up=0)
    made._two = None
    assert vars(OsuCheck)["launches"].fget(made) == ((1, 4, 16, 64),)
    assert vars(OsuCheck)["_repetitions"].fget(made) == Repetitions(6, 0)


def test_a_job_launches_the_small_sizes_first_and_says_so_between() -> None:
    launcher = SimpleNamespace(run_command=lambda job: "srun --mpi=pmix")
    made = SimpleNamespace(job=SimpleNamespace(launcher=launcher), executable="sh", _earlier=(("reader.sh", "a b"),))
    lines = InterconnectCheck._earlier_launches(made)  # type: ignore[arg-type]
    assert lines == ["srun --mpi=pmix sh reader.sh a b", "echo '# railyard: next launch of the run'"]
