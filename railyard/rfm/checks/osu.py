"""The base class of OSU's checks: fixed repetitions, and OSU's own validation where its release has it."""

from dataclasses import replace

import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.benchmarks.repetitions import Amounts, Pace, Work
from railyard.parsers import osu
from railyard.rfm.checks.repeated import RepeatedCheck
from railyard.site.sizes import doubled
from railyard.site.systems.measure import StatedAmounts

#: The option that came with OSU's validation; before it, "-c" is an error.
VALIDATION_OPTION = "validation-warmup"
#: What goes before each measured repetition where data are checked: filling buffers and a barrier leave the two sides
#: apart, and the first message pays for that.
VALIDATION_WARM_UP = 1

#: What OSU repeats without a number, at sizes up to 8 KiB (source: osu_util.h of OSU 5 and 7; above 8 KiB a tenth
#: of the latencies and of the collectives, a fifth of the bandwidths). 200 warm-ups in releases before those.
LATENCY, BANDWIDTH, COLLECTIVE = Amounts(10_000, 100), Amounts(100, 10, window=64), Amounts(1000, 100)

#: What reductions add, as every release did that had no choice. 7.4 would add characters, whose sums overflow: Open MPI
#: 4.1.4 holds them at their largest (op/avx), OSU expects them to wrap, and its validation fails from 16 B on.
FLOATS = "mpi_float"


def words_of(
    sizes: tuple[int, ...], told: Repetitions, window: int, *, validates: bool, datatype: str = ""
) -> list[str]:
    """Return OSU's options: sizes from and to, which it doubles, repetitions, window, validation and datatype."""
    size, numbers = f"{sizes[0]}:{sizes[-1]}", ["-i", str(told.measured), "-x", str(told.warm_up)]
    windowed = ["-W", str(window)] if window > 1 else []
    checked = ["-c", "-u", str(VALIDATION_WARM_UP)] if validates else []
    return ["-m", size, *numbers, *windowed, *checked, *(["-T", datatype] if datatype else [])]


def moved_repetitions(told: Repetitions, *, validates: bool) -> Repetitions:
    """Return how often each size's bytes move: with validation each repetition has its own warm-ups."""
    times = 1 + VALIDATION_WARM_UP if validates else 1
    return Repetitions(told.measured * times, told.warm_up * times)


class OsuCheck(RepeatedCheck):
    """OSU with told repetitions and warm-ups, so that the bytes a run must move are known: OSU prints neither.

    OSU repeats large messages less often only if it is given no number, and then its releases differ; so it is given
    one for all sizes, which its largest message has time for.

    With `-c` OSU fills the buffers before each repetition, makes ``VALIDATION_WARM_UP`` untimed ones (`-u`), then the
    one that it times, and compares what arrived: each repetition moves its bytes twice, so `-x` is 0 where
    nobody sets it.
    """

    tool = "osu"
    program_a_benchmark = True
    parse = staticmethod(osu.parse)
    probe_key = "osu/osu_latency"
    probe_program = "osu_latency"
    one_way_key = "osu/osu_bw"
    one_way_program = "osu_bw"
    fewest = Amounts(2, 1)
    own = LATENCY
    #: Whether this benchmark has a validation in the releases that have one; `-S can_validate=0` does without.
    can_validate = variable(typ.Bool, value=True)
    #: Whether the ranks' data are added up.
    reduces = variable(typ.Bool, value=False)

    @property
    def validates(self) -> bool:
        """Whether OSU is told to check what arrived: where this benchmark can, and the installed release has it."""
        return bool(self.can_validate) and self.runner.knows(self, VALIDATION_OPTION)

    def measured_sizes(self) -> tuple[int, ...]:
        """Return the sizes that OSU doubles through."""
        return doubled(self.message_sizes[0], self.message_sizes[-1])

    def work(self) -> Work:
        work = super().work()
        told = moved_repetitions(Repetitions(1, 0), validates=work.checked)
        return replace(work, made=lambda count: count * told.measured)

    def choose_amounts(self, pace: Pace | None, stated: StatedAmounts | None) -> None:
        is_open = self.warm_up < 0 and (stated is None or stated.warm_up is None)
        super().choose_amounts(pace, stated)
        if is_open and self.validates:
            self.warm_up = 0

    @property
    def _told(self) -> Repetitions:
        return Repetitions(self.repetitions, self.warm_up)

    @property
    def fixed_repetitions(self) -> Repetitions:
        """What OSU is told, since it prints no repetitions."""
        return moved_repetitions(self._told, validates=self.validates)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        known = self.reduces and self.runner.knows(self, FLOATS)
        return words_of(sizes, self._told, self.window, validates=self.validates, datatype=FLOATS if known else "")

    def probe_arguments(self, size: int) -> list[str]:
        return words_of((size,), Repetitions(5, 1), 1, validates=False)

    def one_way_arguments(self, size: int) -> list[str]:
        return words_of((size,), Repetitions(3, 1), 8, validates=False)
