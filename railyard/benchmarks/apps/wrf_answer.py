"""Whether WRF computed the case that was asked for, and how fast: its release, its fields, its speed.

Two runs on other ranks, or built by another compiler, differ in the last bits, and weather makes such differences grow.
So fields are compared with what NCAR calls reasonable between identical simulations on different systems, with other
compilers or other options of theirs. That finds an answer that is broken, for example by halos that did not arrive. It
does not find a small change of the physics: another frequency of radiation differs as much as another compiler.
"""

import math
import re
from collections.abc import Mapping, Sequence

from railyard.base.wording import count_of, listing
from railyard.benchmarks.metrics import timed_rows
from railyard.benchmarks.model import Figure, Physics
from railyard.benchmarks.table.applications import WRF_STORMS
from railyard.parsers.output import OTHER_WORK, Table

_RELEASE = re.compile(r"(?P<major>[0-9]{1,2})\.(?P<minor>[0-9]{1,2})")
#: Floating-point operations per simulated second, in Gflop: what NCAR's users multiply the simulation speed with. That
#: is 30.1 Gflop per step of 72 s and 412 Gflop per step of 15 s. Nobody published such a number for version 4.
#: Source: NCAR, WRF V3 Parallel Benchmark Page (www2.mmm.ucar.edu/wrf/WG2/benchv3), as hpc-tests of StackHPC
#: (apps/wrf) and WRF3.8-in-Azure quote it.
GFLOP_A_SECOND: Mapping[str, float] = {"conus12km-v3": 0.418, "conus2.5km-v3": 27.45}
#: Standard deviations of the differences between two runs of one simulated hour, by an Intel and by a GNU compiler, in
#: the field's own unit. Their means are nearly 0, so that they are also root mean squares.
#: Source: NCAR, README of the 12 km inputs for WRF 4.2 (v42_bench_conus12km.tar.gz), HOW TO COMPARE OUTPUT.
REASONABLE: Mapping[str, Mapping[str, float]] = {
    "conus12km-v4": {
        "U": 0.00801758,
        "V": 0.00926235,
        "W": 0.00110361,
        "T": 0.00411143,
        "PH": 0.148311,
        "QVAPOR": 4.50673e-06,
        "TSLB": 0.00145834,
        "MU": 0.262767,
        "TSK": 0.065356,
        "RAINC": 0.00576554,
        "RAINNC": 0.00131469,
    }
}
#: How many times these a difference may be. Engineering proposal of this project: one pair of compilers is one sample,
#: and a field that lost its halos differs by hundreds of times.
FIELD_FACTOR = 10.0


def other_release(key: str, tables: Sequence[Table]) -> str | None:
    """Return why a run's release of WRF does not fit its case, or None. A run that names no release is not checked.

    The inputs of 2001 for version 3 work up to 3.9; those of version 4 have the same names, but are other data. The
    release that reads an idealized case also makes it.
    """
    case = case_of(key)
    for table in tables if case is not None else ():
        found = _RELEASE.match(table.version or "")
        if found is None:
            continue
        release = int(found["major"]), int(found["minor"])
        fits = release <= (3, 9) if str(case).endswith("-v3") else release >= (4, 0)
        if not fits:
            expected = "up to 3.9" if str(case).endswith("-v3") else "4.0 or newer"
            ran = f"{case} ran with WRF {table.version}"
            return f"{ran}, expected {expected}: other releases have another case's inputs"
    return None


def case_of(key: str) -> str | None:
    """Return the real case that a key names; None for an idealized one and for no case."""
    return next((part for part in key.split("/") if part in WRF_STORMS), None)


def differences(tables: Sequence[Table]) -> tuple[str, Mapping[str, float]] | None:
    """Return the reference field and the root mean square of each field that differs; None if nothing was compared."""
    for table in tables:
        if "differences" in table.context:
            pairs = (pair.partition("=") for pair in str(table.context["differences"]).split())
            return str(table.context["reference"]), {name: float(value) for name, _, value in pairs}
    return None


def other_fields(key: str, tables: Sequence[Table]) -> str | None:
    """Return which fields differ by more than they may from the reference, the worst first; None if none does."""
    compared = differences(tables)
    known = REASONABLE.get(case_of(key) or "")
    if compared is None or known is None:
        return None
    reference, found = compared
    ratios = {name: found[name] / usual for name, usual in known.items() if name in found}
    far = sorted((name for name, ratio in ratios.items() if ratio > FIELD_FACTOR), key=lambda name: -ratios[name])
    if not far:
        return None
    worst = far[0]
    others = f", and {listing(far[1:])} too" if len(far) > 1 else ""
    return (
        f"{worst} differs from {reference} by {found[worst]:.3g} (root mean square), expected at most "
        f"{FIELD_FACTOR * known[worst]:.3g}, {FIELD_FACTOR:g} times what compilers change{others}: the answer is "
        "wrong, whatever its speed"
    )


def wrong(key: str, tables: Sequence[Table]) -> tuple[tuple[int, str], ...]:
    """Return line and sentence for another release than the case's, and for fields that are not the reference's."""
    found = (other_release(key, tables), other_fields(key, tables))
    return tuple((tables[0].line, why) for why in found if why is not None)


def figures(key: str, tables: Sequence[Table]) -> tuple[Figure, ...]:
    """Return the computed speed as WRF's users give it: simulated time over elapsed time, of the outer domain's steps.

    If the operations of the case are known, Gflop/s follow. Both are of the same steps as the mean time: without the
    first one and those that wrote a file.
    """
    for table in tables:
        step_s = table.context.get("step_s")
        if (table.context.get("domain"), table.context.get("kind")) != (1, "main") or not isinstance(step_s, float):
            continue
        values = [value for (value,) in table.rows if isinstance(value, float)]
        times = timed_rows(table, values) if len(values) == len(table.rows) else []
        if math.fsum(times) > 0:
            speed = step_s * len(times) / math.fsum(times)
            gflop = GFLOP_A_SECOND.get(case_of(key) or "")
            rate = () if gflop is None else (Figure("computed_rate", gflop * speed, "Gflop/s"),)
            return (Figure("simulated_over_elapsed", speed, "times"), *rate)
    return ()


def remarks(key: str, tables: Sequence[Table]) -> tuple[str, ...]:
    """Return how many steps were left out since they also wrote a file, and how the answer was checked."""
    counts = [len(str(table.context[OTHER_WORK]).split()) for table in tables if OTHER_WORK in table.context]
    left_out = tuple(
        f"{count_of(count, 'step')} that also wrote a file: left out of the time per step" for count in counts[:1]
    )
    return (*left_out, *((_state_check(key, tables),) if tables else ()))


def _state_check(key: str, tables: Sequence[Table]) -> str:
    compared = differences(tables)
    if compared is None:
        return "the answer was checked only by what WRF prints: no field was compared with a reference"
    reference, found = compared
    if not found:
        return f"the answer is that of {reference} in all bits"
    known = REASONABLE.get(case_of(key) or "")
    if known is None:
        differ = count_of(len(found), "field")
        return f"{differ} not as in {reference}: not judged, since NCAR states no tolerance for this case"
    ratio, name = max((found.get(name, 0.0) / usual, name) for name, usual in known.items())
    return f"of {len(known)} fields {name} differs most from {reference}: {ratio:.2g} times what compilers change"


ANSWER = Physics(wrong=wrong, remarks=remarks, figures=figures)
