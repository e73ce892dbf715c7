"""How much of a system a run measures: every day's checks, or the extended ones too."""

from collections.abc import Sequence

from railyard.site.systems.model import System

#: The tag of a check that an everyday run leaves out: what it asks is answered, less closely, by another.
EXTENDED = "extended"
#: ReFrame's options that choose tests by what they are; whoever uses one means exactly what it names.
_CHOOSING = ("-n", "--name", "-t", "--tag", "-E", "--filter-expr", "--failed", "--restore-session")
#: What a report says of a check that was left out.
LEFT_OUT = "an extended check, not part of an everyday run: railyard run --extended (make run EXTENDED=1)"


def leaves_out_extended(system: System, options: Sequence[str], *, extended: bool) -> bool:
    """Return whether a run with these options for ReFrame leaves the extended checks of a system out.

    A replay costs a fraction of a second a check, so it has all of them.
    """
    return not extended and system.provider != "replay" and not any(_chooses(option) for option in options)


def _chooses(option: str) -> bool:
    word = option.partition("=")[0]
    # The value of a short option may stand in the same word: -nImb.
    return word in _CHOOSING or (len(word) > 2 and word[0] == "-" != word[1] and word[:2] in _CHOOSING)


def everyday_words() -> list[str]:
    """Return the words for ReFrame that leave the extended checks out."""
    return ["-T", f"^{EXTENDED}$"]
