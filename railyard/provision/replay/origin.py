"""Where the output of a replay is from, in words which say that it is not a measurement."""

from typing import Literal

Origin = Literal["recorded", "computed", "model"]
#: What every report says about a test whose output has this origin.
WORDS: dict[Origin, str] = {
    "recorded": "replayed: recorded in an earlier run, not measured now",
    "computed": "replayed: computed from published values, not measured",
    "model": "replayed: computed from a model that keeps what the source says, no published value, not measured",
}
#: What reports say if nothing was played, or if the origin of the output is unknown.
REPLAYED = "replayed: not measured"

#: How many lines of an output are searched for what it says about itself: more than the longest head of a tool.
_HEAD_LINES = 20


def said_of_itself(text: str) -> tuple[int, str] | None:
    """Return line number and sentence where an output says that it was computed; None if it does not."""
    phrases = [WORDS[origin].removeprefix("replayed: ") for origin in ("computed", "model")]
    for number, line in enumerate(text.split("\n", _HEAD_LINES)[:_HEAD_LINES], start=1):
        if any(phrase in line for phrase in phrases):
            return number, line.lstrip("# ").rstrip()
    return None
