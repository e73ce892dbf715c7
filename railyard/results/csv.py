"""What a spreadsheet must not take for a formula: the cells of every CSV that holds a text from outside."""

_FORMULA = ("=", "+", "-", "@")


def guarded(text: str) -> str:
    """Return a cell's text, with an apostrophe before one that a spreadsheet would run; a number stays itself."""
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
