"""What a shift means, as a kind and a sentence: a difference, none at this noise, or cannot tell."""

from dataclasses import dataclass
from typing import Literal

from railyard.base.wording import number
from railyard.benchmarks.model import Better
from railyard.results.compare.shift import CONFIDENCE, Shift, fewest

Kind = Literal["better", "worse", "different", "none", "cannot-tell"]
KIND_WORDS: dict[Kind, str] = {
    "better": "B is better",
    "worse": "B is worse",
    "different": "different",
    "none": "no difference",
    "cannot-tell": "cannot tell",
}
_SHARE = f"{100 * CONFIDENCE:g} %"


@dataclass(frozen=True, slots=True)
class Finding:
    """The kind, the whole sentence, and the change from A to B in per cent (None if A's median is zero).

    ``smallest``: the smallest change that would have been seen, in per cent; None if the repeats cannot tell.
    ``surely``: the change less its noise, in per cent without sign; 0 if none was seen.
    """

    kind: Kind
    sentence: str
    percent: float | None
    smallest: float | None = None
    surely: float = 0.0


def finding(of: Shift, unit: str, better: Better | None = None, noise: float | None = None) -> Finding:
    """Return what a shift says.

    ``better``: which direction is good, None if neither is. ``noise``: the variation from run to run as a share, if it
    is known from elsewhere. It is used if repeats are too few to show their own.
    """
    percent = of.percent(of.value)
    if of.has_interval:
        return _from_interval(of, unit, better, percent)
    if noise is not None and percent is not None:
        return _from_noise(of, better, noise, percent)
    return Finding("cannot-tell", f"cannot tell: {_too_few(of)}", percent)


def _from_interval(of: Shift, unit: str, better: Better | None, percent: float | None) -> Finding:
    if not of.is_shown:
        smallest = _amount(of, of.smallest, unit, signed=False)
        sentence = f"no difference at this noise; the smallest visible difference is {smallest}"
        return Finding("none", sentence, percent, of.percent(of.smallest))
    word = "above" if of.value > 0 else "below"
    between = f"{_amount(of, of.low, unit)} to {_amount(of, of.high, unit)}"
    sentence = f"B is {_amount(of, abs(of.value), unit, signed=False)} {word} A ({between} at {_SHARE} confidence)"
    return Finding(
        _kind(of.value, better), sentence, percent, of.percent(of.smallest), of.percent(of.least_distance) or 0.0
    )


def _from_noise(of: Shift, better: Better | None, noise: float, percent: float) -> Finding:
    stated = f"the stated noise of {100 * noise:g} %"
    counts = " and ".join(map(str, of.repeats))
    if abs(percent) <= 100 * noise:
        sentence = (
            f"no difference at {stated}, found {percent:+.2f} % with {counts} repeats; "
            f"the smallest visible difference is {100 * noise:g} %"
        )
        return Finding("none", sentence, percent, 100 * noise)
    word = "above" if percent > 0 else "below"
    sentence = f"B is {abs(percent):.1f} % {word} A, more than {stated}, with {counts} repeats"
    return Finding(_kind(of.value, better), sentence, percent, 100 * noise, abs(percent) - 100 * noise)


def _too_few(of: Shift) -> str:
    one, other = of.repeats
    least = fewest()
    return f"{one} and {other} repeats have no interval at {_SHARE} confidence, {least} and {least} have"


def _kind(value: float, better: Better | None) -> Kind:
    if better is None:
        return "different"
    return "better" if (value > 0) == (better == "higher") else "worse"


def _amount(of: Shift, value: float | None, unit: str, *, signed: bool = True) -> str:
    """Return an amount in per cent of A, with one more digit below one; in its unit if A's median is zero."""
    percent = of.percent(value)
    if percent is None:
        return f"{number(value or 0.0)} {unit}"
    digits = 1 if abs(percent) >= 1 else 2
    return f"{percent:+.{digits}f} %" if signed else f"{percent:.{digits}f} %"
