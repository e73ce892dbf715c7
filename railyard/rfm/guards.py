"""Fails what ReFrame lets pass silently: plugins, from which any ReFrame test may inherit.

Each of these passed on ReFrame 4.10.4 without them (docs/reference/silent-passes.md): an error in a hook after init
drops the variant; a performance function that raises drops its variable; a variable passes if it has no reference, no
bounds or another unit, or is infinite; `strict_check = False`, `--skip-sanity-check` and `--skip-performance-check`
pass everything.
"""

import contextlib
import math
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, TypeVar

import reframe as rfm
from reframe.core.builtins import run_after, run_before
from reframe.core.exceptions import PerformanceError, ReframeError, SkipTestError
from reframe.core.fields import DeprecatedField

from railyard.base.errors import RailyardError
from railyard.rfm.versions import BOUNDS_AROUND_ZERO, VERSION, Plugin, misses, resolved_references

Check = TypeVar("Check", bound=type[rfm.RegressionTest])


class ToldWhenSet(DeprecatedField):
    """A deprecated variable that warns if a check sets it, but not if ReFrame itself makes a test."""

    def __init__(self, field: DeprecatedField) -> None:
        super().__init__(field._target_field, field._message, field.op & DeprecatedField.OP_SET, field.from_version)

    def __set__(self, obj: object, value: Any) -> Any:
        """Set the variable of a test. Without a test (None), return the value as the variable would have it."""
        return self._target_field.__set__(None, value) if obj is None else super().__set__(obj, value)


@contextlib.contextmanager
def as_reframe_error() -> Iterator[None]:
    """Turn a user's mistake into ReFrame's own error, which it prints without a traceback."""
    from railyard.base.json_codec import FormError

    try:
        yield
    except (RailyardError, FormError) as error:
        raise ReframeError(str(error)) from None


class KeptHooks(Plugin):
    """Keeps `--disable-hook` away from the hooks of this package: without them a test would pass unjudged."""

    def disable_hook(self, hook_name: str) -> None:
        """Raise ReframeError for a hook of this package; ReFrame then ends with that sentence, exit 1."""
        hook = getattr(type(self), hook_name, None)
        if getattr(hook, "__module__", "").split(".")[0] == __name__.split(".")[0]:
            raise ReframeError(
                f"--disable-hook={hook_name}: found a hook that {type(self).__name__} is judged by, "
                f"expected a hook of the check's own; leave it out"
            )
        super().disable_hook(hook_name)


#: What ReFrame makes of ``__init__``, with its hooks (reframe/core/pipeline.py of 4.10).
_INIT = "_rfm_pipeline_fn___init__"


class InitErrorCarrier(KeptHooks):
    """Carries an error of a post-init hook into the run, so that the test fails with this error."""

    def __new__(cls, *args: Any, **kwargs: Any) -> "InitErrorCarrier":
        test: InitErrorCarrier = super().__new__(cls, *args, **kwargs)
        initialise = test.__getattribute__("__init__")

        def init(*given: Any, **named: Any) -> None:
            del test.__dict__[_INIT]
            try:
                initialise(*given, **named)
            except SkipTestError:
                raise
            except Exception as error:  # whatever a hook raises would drop the variant with exit code 0
                test._railyard_init_error = f"{type(error).__name__}: {error}"
                test.valid_systems = ["*"]
                test.valid_prog_environs = ["*"]

        # ReFrame's metaclass takes it from the test itself. The class cannot have it: the hooks wrap the class's own.
        test.__dict__[_INIT] = init
        return test

    @run_before("setup")
    def raise_carried_error(self) -> None:
        """Fail the run with what went wrong in a hook after init."""
        error = getattr(self, "_railyard_init_error", None)
        if error is not None:
            raise ReframeError(f"{type(self).__name__} was not initialised: {error}")


class GuardedFigures(KeptHooks):
    """Fails a test unless all its declared performance variables were produced, are finite, and have unit and bound.

    ``reported_figures`` names the variables that are recorded but not asserted: only these need no bound.
    """

    reported_figures: tuple[str, ...] = ()

    def declared_references(self) -> Mapping[str, tuple[Any, ...]]:
        """Return the reference of each variable on this partition, as ReFrame resolves it: the narrowest scope wins."""
        resolved = resolved_references(self).scope(self.current_partition.fullname)
        return {name: tuple(getattr(reference, "data", reference)) for name, reference in resolved.items()}

    @run_before("run", always_last=True)
    def refuse_bad_references(self) -> None:
        """Fail before the benchmark runs if a reference cannot mean what it says."""
        for name, reference in self.declared_references().items():
            value, lower, upper = reference[:3]
            _refuse_bad_bounds(name, value, lower, upper)
            if lower is None and upper is None and name not in self.reported_figures:
                raise ReframeError(
                    f"reference of {name!r}: found no bound, expected a lower or an upper one (nothing is asserted)"
                )
        self._refuse_other_units()

    def _refuse_other_units(self) -> None:
        for name, reference in self.declared_references().items():
            unit = self.perf_variables[name].unit if name in self.perf_variables else None
            if unit is not None and len(reference) > 3 and reference[3] != unit:
                raise ReframeError(
                    f"reference of {name!r}: found unit {reference[3]!r}, expected {unit!r}, which the check measures; "
                    f"ReFrame would compare the bare numbers"
                )

    @run_after("sanity", always_last=True)
    def note_sanity(self) -> None:
        """Remember that the sanity stage ran."""
        self._railyard_sanity_checked = True

    @run_after("performance", always_last=True)
    def demand_every_figure(self) -> None:
        """Fail where a declared variable is missing, not a finite number, or not bounded.

        Names and units are judged here (again): a hook before the stage may still have added a variable.
        """
        if self.is_dry_run():
            return
        self._railyard_performance_checked = True
        for name in self.declared_references():
            if name not in self.perf_variables:
                known = ", ".join(self.perf_variables) or "none"
                raise ReframeError(f"reference of {name!r}: no such performance variable, expected one of: {known}")
        self._refuse_other_units()
        for name in self.perf_variables:
            self._demand_figure(name, self.perfvalues.get(f"{self.current_partition.fullname}:{name}"))

    def _demand_figure(self, name: str, values: list[Any] | None) -> None:
        if values is None:
            raise PerformanceError(
                f"performance variable {name!r} was not produced: its function raised or found nothing in the output"
            )
        value, reference, lower, upper = values[:4]
        if not _is_finite(value):
            raise PerformanceError(f"performance variable {name!r} is {value!r}, expected a finite number")
        if lower is None and upper is None and name not in self.reported_figures:
            raise PerformanceError(
                f"performance variable {name!r} = {value} has no reference on {self.current_partition.fullname}: "
                f"state one with a bound, or name it in reported_figures"
            )
        if misses(values):  # ReFrame itself fails such a test unless its strict_check is off
            raise PerformanceError(
                f"performance variable {name!r} = {value} misses its reference {reference} "
                f"(lower {lower}, upper {upper}), and strict_check is off: ReFrame would pass it"
            )

    @run_before("cleanup")
    def refuse_skipped_stages(self) -> None:
        """Fail a test whose sanity or performance stage was skipped: not all was checked."""
        if self.is_dry_run():
            return
        for stage in ("sanity", "performance"):
            if not getattr(self, f"_railyard_{stage}_checked", False):
                raise PerformanceError(
                    f"not all was checked: the {stage} stage was skipped; leave out --skip-{stage}-check"
                )


def _is_finite(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _refuse_bad_bounds(name: str, value: object, lower: object, upper: object) -> None:
    for what, number in (("value", value), ("lower bound", lower), ("upper bound", upper)):
        if not _is_finite(number) and not (number is None and what != "value"):
            raise ReframeError(f"reference of {name!r}: found {what} {number!r}, expected a finite number")
    if value == 0:  # ReFrame then takes the bounds as absolute distances
        least, most, expected = -math.inf, math.inf, "a distance from 0"
    else:
        least, most, expected = -1, 1, "a fraction"
    if isinstance(upper, int | float) and not 0 <= upper <= most:
        hint = " (meant as per cent?)" if upper > most else ""
        raise ReframeError(f"reference of {name!r}: found upper bound {upper}, expected {expected}, 0 to {most}{hint}")
    if isinstance(lower, int | float) and not least <= lower <= 0:
        hint = " (meant as per cent?)" if lower < least else ""
        raise ReframeError(f"reference of {name!r}: found lower bound {lower}, expected {expected}, {least} to 0{hint}")
    if value == 0 and not BOUNDS_AROUND_ZERO and not (lower is None and upper is None):
        raise ReframeError(
            f"reference of {name!r}: found bounds around 0, expected another reference or a newer ReFrame: "
            f"ReFrame {VERSION} would pass every value"
        )


def told_only_when_set(check: Check) -> Check:
    """Return the class, without a warning if ReFrame itself uses a deprecated variable. Derived classes inherit this.

    ReFrame 4.10 reads and converts each variable of each test that it makes. For a deprecated one (`variables`, of 3.x)
    it walks the stack three times, for a warning that it then suppresses. This takes a fifth of the time of a listing
    of all checks. A check that sets the variable still gets the warning.
    """
    for variable in check._rfm_var_space.values():
        if variable.is_deprecated():
            variable._p_field = ToldWhenSet(variable._p_field)
    return check
