"""The ReFrame base of the checks that set a tool's repetitions and its number of messages in flight."""

from dataclasses import replace
from typing import TYPE_CHECKING

from reframe.core.builtins import variable

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.benchmarks.repetitions import Amounts, Pace, Work, fit_repetitions, in_words, left_open, warm_ups
from railyard.benchmarks.table.micro import find
from railyard.benchmarks.table.micro import tool as tool_of
from railyard.rfm.checks.base import InterconnectCheck

if TYPE_CHECKING:
    from railyard.site.systems.measure import StatedAmounts


class RepeatedCheck(InterconnectCheck):
    """As many repetitions as the link has time for, from the check's ``fewest`` to the tool's ``own``.

    Numbers that the check, or `-S repetitions=…`, `-S window=…` and `-S warm_up=…`, set come first, then those of the
    system's file (``measure: benchmarks``). They are used unchanged.
    """

    #: Repetitions of each size; 0: what the link has time for.
    repetitions = variable(int, value=0)
    #: Untimed repetitions before those; -1: what goes with the repetitions.
    warm_up = variable(int, value=-1)
    window = 0
    #: What a slow link gets.
    fewest = Amounts(2)
    #: The tool's own defaults.
    own = Amounts(1000)

    @classmethod
    def takes(cls) -> tuple[str, ...]:
        warm_up, window = ["warm_up"] if cls.own.warm_up else [], ["window"] if cls.own.window > 1 else []
        return ("repetitions", *warm_up, *window)

    @property
    def fixed_repetitions(self) -> Repetitions | None:
        """The repetitions that it is given, if its tool is known to print none (``repetitions="told"``)."""
        is_told = tool_of(self.tool).repetitions == "told"
        return Repetitions(self.repetitions, self.warm_up) if is_told else None

    def measured_sizes(self) -> tuple[int, ...]:
        """Return the sizes that the tool measures, in bytes; it may measure more than it is given."""
        return self.message_sizes

    @property
    def asked_sizes(self) -> tuple[int, ...]:
        benchmark = find(self.key)
        has_sizes = benchmark.rows == "sizes" and benchmark.payload
        return tuple(sorted({*self.measured_sizes()})) if has_sizes else ()

    def work(self) -> Work:
        """Return what one repetition makes."""
        traffic, at_most = find(self.key).traffic, tool_of(self.tool).at_most
        if traffic is None:
            # a collective: no algorithm sends one rank's data more often
            messages = self.num_nodes * self.ranks_per_node
        else:
            messages = 1 if traffic.window is not None else traffic.forward + traffic.backward
        return Work(
            self.measured_sizes(),
            messages,
            pairs=self.pairs,
            times=self.passes * (1 if traffic is None else traffic.trials),
            made=lambda count: at_most(count, 0, None) or count,
            checked=self.validates,
        )

    def fit_amounts(self, pace: Pace | None, window: int) -> Amounts:
        """Return the numbers that the link has time for; ``window`` is 0 if none is set."""
        fewest, own = self.fewest, self.own
        if window:
            fewest, own = replace(fewest, window=window), replace(own, window=window)
        return fewest if pace is None or not pace.seconds else fit_repetitions(self.work(), fewest, own, pace)

    def choose_amounts(self, pace: Pace | None, stated: "StatedAmounts | None") -> None:
        self.refuse_others(stated)
        set_already = Amounts(self.repetitions, self.warm_up, self.window)
        of_file = {} if stated is None else left_open(stated.given_amounts, set_already)
        # The repetitions follow from the window that is really used.
        chosen = self.fit_amounts(pace, self.window or of_file.get("window", 0))
        self.window = self.window or of_file.get("window", chosen.window)
        self.repetitions = self.repetitions or of_file.get("repetitions", chosen.repetitions)
        if self.warm_up < 0:
            self.warm_up = of_file.get("warm_up", warm_ups(self.repetitions, self.fewest, self.own))
        self.remarks = (*self.remarks, *(f"{number} as the system's file says" for number in in_words(of_file)))
