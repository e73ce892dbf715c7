"""The base class of OSU's checks: fixed repetitions, and OSU's own validation if its release has it."""

from dataclasses import replace

import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.benchmarks.repetitions import Amounts, Pace, Work
from railyard.parsers import osu
from railyard.rfm.checks.groups import Probes, Start
from railyard.rfm.checks.repeated_check import RepeatedCheck
from railyard.site.sizes import doubled
from railyard.site.systems.measure import StatedAmounts

#: The option that came with OSU's validation; before it, "-c" is an error.
VALIDATION_OPTION = "validation-warmup"
#: Warm-ups before each measured repetition if data are checked: after filling buffers and a barrier the two sides are
#: apart in time, and the first message would pay for that.
VALIDATION_WARM_UP = 1

#: OSU's own defaults at sizes up to 8 KiB (source: osu_util.h of OSU 5 and 7). Above 8 KiB it makes a tenth of these
#: for latencies and collectives, a fifth for bandwidths. Earlier releases made 200 warm-ups.
LATENCY, BANDWIDTH, COLLECTIVE = Amounts(10_000, 100), Amounts(100, 10, window=64), Amounts(1000, 100)

#: The type that reductions add, as in every release without this option. By default 7.4 adds characters, and their sums
#: overflow: Open MPI 4.1.4 keeps them at their largest (op/avx), OSU expects them to wrap, so its validation fails for
#: 16 B and more.
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
    """OSU with fixed repetitions and warm-ups, so that the bytes a run must move are known: OSU prints neither.

    Without a number OSU repeats large messages less often, and its releases differ in this. So it gets one number for
    all sizes, for which its largest message has time.

    With `-c` OSU fills the buffers before each repetition, makes ``VALIDATION_WARM_UP`` untimed ones (`-u`), then the
    one that it times, and checks what arrived. So each repetition moves its bytes twice, and `-x` is 0 if nobody sets
    it.
    """

    tool = "osu"
    start = Start(program_per_benchmark=True)
    parse = staticmethod(osu.parse)
    probes = Probes(ping_pong="osu/osu_latency", program="osu_latency", one_way="osu/osu_bw", one_way_program="osu_bw")
    fewest = Amounts(2, 1)
    own = LATENCY
    #: Whether this benchmark has a validation in the releases that have one; `-S can_validate=0` does without.
    can_validate = variable(typ.Bool, value=True)
    #: Whether the ranks' data are added up.
    reduces = variable(typ.Bool, value=False)

    @property
    def validates(self) -> bool:
        """Whether OSU checks what arrived: if this benchmark can, and the installed release has the option."""
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
    def _repetitions(self) -> Repetitions:
        return Repetitions(self.repetitions, self.warm_up)

    @property
    def fixed_repetitions(self) -> Repetitions:
        """The repetitions that OSU is given, since it prints none."""
        return moved_repetitions(self._repetitions, validates=self.validates)

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        known = self.reduces and self.runner.knows(self, FLOATS)
        return words_of(
            sizes, self._repetitions, self.window, validates=self.validates, datatype=FLOATS if known else ""
        )

    def probe_arguments(self, size: int) -> list[str]:
        return words_of((size,), Repetitions(5, 1), 1, validates=False)

    def one_way_arguments(self, size: int) -> list[str]:
        return words_of((size,), Repetitions(3, 1), 8, validates=False)
