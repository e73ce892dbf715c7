"""The sentences of rule 4: which way the bytes of a run went."""


def not_judged_here() -> str:
    """Return why the path of a replay is not judged."""
    return "not judged here: replay"


def accepted(sentence: str, reason: str) -> str:
    """Return that a system accepts a path that is not proven, and its own reason."""
    return f"{sentence}; the system accepts this: {reason}"
