"""Which releases of ReFrame Railyard works with, and what the older ones among them cannot do.

Tried is the newest patch of each minor release (``make test-reframe``), so earlier patches are refused too: 4.10.1, for
one, names the wrong variable in a failure (reframe#3712). ReFrame 4.6 asks for archspec 0.2.2 or older, which does not
know the processors that a system's file may name.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from railyard.base.wording import listing

#: Minor release -> its first patch that is taken, the newest one when the matrix was last changed.
PATCHES: Mapping[tuple[int, int], int] = {(4, 7): 4, (4, 8): 4, (4, 9): 3, (4, 10): 4}


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that only newer releases can do: its name, the first minor release with it, and what it means here."""

    name: str
    since: tuple[int, int]
    without: str


EXPECTED_FAILURES = Feature(
    "expected failures of plain ReFrame tests (xfail)",
    (4, 9),
    "a check cannot import xfail (expected_failures of a system's references works)",
)
OTHER_REFERENCES = Feature(
    "references in files and with an index ($ref, $index)", (4, 10), "such a test fails, or is refused when it loads"
)
ABSOLUTE_BOUNDS = Feature(
    "bounds around a reference of 0",
    (4, 8),
    "ReFrame would pass every value, so a test with such a reference fails before its job",
)
CHOSEN_PARAMETERS = Feature(
    "-P with a parameter of a check", (4, 9), "it is refused; write -n 'CHECK%rails=2' or -E 'rails == 2'"
)
POLLING = Feature("a lower limit of how often jobs are polled", (4, 9), "the end of a long job is seen up to 10 s late")

#: What a run with an older release names.
FEATURES = (ABSOLUTE_BOUNDS, EXPECTED_FAILURES, CHOSEN_PARAMETERS, POLLING, OTHER_REFERENCES)


def release_here() -> str | None:
    """Return the release of ReFrame beside this Python; None if there is none."""
    try:
        return version("reframe-hpc")
    except PackageNotFoundError:
        return None


def minor_of(release: str) -> tuple[int, int]:
    """Return (4, 10) of "4.10.4"; (0, 0) of what is no version."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def has(release: str, feature: Feature) -> bool:
    """Return whether this release of ReFrame can do it."""
    return minor_of(release) >= feature.since


def why_outside(release: str) -> str | None:
    """Return the sentence that refuses a release of ReFrame; None if Railyard works with it."""
    oldest, newest = (f"{major}.{minor}" for major, minor in (min(PATCHES), max(PATCHES)))
    minor, found = minor_of(release), re.fullmatch(r"\d+\.\d+\.(\d+)", release)
    taken = PATCHES.get(minor)
    if taken is not None and found and int(found[1]) >= taken:
        return None
    patch = f", of {minor[0]}.{minor[1]} from {minor[0]}.{minor[1]}.{taken}" if taken is not None else ""
    return f"Railyard works with ReFrame {oldest} to {newest}{patch}; this is {release}"


def choose(release: str | None, parameter: str, value: str) -> tuple[str, str]:
    """Return the words that select the tests with this value of a parameter of every check, as text."""
    if release is None or has(release, CHOSEN_PARAMETERS):
        return "-P", f"{parameter}={value}"
    return "-E", f"{parameter} == {value!r}"


def name_switched_off(release: str | None) -> str | None:
    """Return one line with the names of what this release cannot do; None if it can do everything."""
    names = [one.name for one in FEATURES if release is not None and not has(release, one)]
    return f"ReFrame {release}, switched off: {listing(names)}" if names else None
