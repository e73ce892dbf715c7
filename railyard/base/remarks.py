"""Sentences that a command says beside its answer: the command line prints each once, on standard error, at the end."""

_NOTED: dict[str, None] = {}


def note_remark(sentence: str | None) -> None:
    """Keep a sentence for the end of the command; None is no sentence."""
    if sentence is not None:
        _NOTED[sentence] = None


def take_remarks() -> tuple[str, ...]:
    """Return the sentences in the order in which they came, each once, and forget them."""
    noted = tuple(_NOTED)
    _NOTED.clear()
    return noted
