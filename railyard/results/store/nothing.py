"""Why a question to the store found nothing: an empty store, a word that no stored test has, or no matching test."""

from collections.abc import Collection, Mapping
from pathlib import Path

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.paths import runs_folder
from railyard.results.store import query

#: Options that name something, and what it must be; each is a column of the store.
_NAMES = {"system": "a system that ran", "fabric": "a fabric of a stored test", "stack": "a stack of a stored test",
          "benchmark": "a benchmark of a stored test"}  # fmt: skip
EMPTY = "found no stored run, expected some; railyard run stores one"


def refuse_unknown(home: Path, chosen: Mapping[str, Collection[str] | str | None]) -> None:
    """Raise RailyardError for the first system, fabric, stack or benchmark that no stored test has.

    ``chosen`` has the options' values, by their names. An empty store refuses nothing: it says that it is empty.
    """
    for name, expected in _NAMES.items():
        given = chosen.get(name) or ()
        asked = (given,) if isinstance(given, str) else tuple(given)
        known = query.values(home, name) if asked else ()
        unknown = next((word for word in asked if known and word not in known), None)
        if unknown is not None:
            found = f'no run of "{unknown}"' if name == "system" else f'"{unknown}"'
            raise RailyardError(f"--{name}: found {found}, expected {expected}; {did_you_mean(unknown, known)}")


def why_nothing(home: Path) -> str:
    """Return why nothing was found, if each word is known."""
    if not query.runs(home):
        return f"{runs_folder(home)}: {EMPTY}"
    return "found no stored test of this kind, expected some; leave an option out"
