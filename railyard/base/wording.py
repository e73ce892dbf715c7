"""How a verdict's sentence writes numbers: sizes, amounts of traffic, values and shares."""

from collections.abc import Sequence

#: How a finding begins that no physics allows.
IMPOSSIBLE = "impossible: "

_BINARY = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def message_size(size_bytes: int) -> str:
    """Return a message size as people write it: ``4 MiB`` if it is a whole number of these, else ``1000 B``.

    Above 1 GiB, four digits are enough for any that is no whole number of MiB (``16.00 GiB``): nccl-tests rounds sizes
    down to a multiple of the ranks.
    """
    if size_bytes > 1 << 30 and size_bytes % (1 << 20):
        return f"{number(size_bytes / (1 << 30))} GiB"
    for factor, name in _BINARY:
        if size_bytes >= factor and size_bytes % factor == 0:
            return f"{size_bytes // factor} {name}"
    return f"{size_bytes} B"


def size_ranges(sizes: Sequence[int], measured: Sequence[int]) -> str:
    """Return sizes as ranges of the measured ones, ``1 B to 256 KiB and 4 MiB``. Both arguments must rise."""
    places = [measured.index(size) for size in sizes]
    first = [place for place in places if place - 1 not in places]
    last = [place for place in places if place + 1 not in places]
    return listing(
        [
            message_size(measured[start])
            if start == end
            else f"{message_size(measured[start])} to {message_size(measured[end])}"
            for start, end in zip(first, last, strict=True)
        ]
    )


def traffic(amount_bytes: float) -> str:
    """Return an amount of traffic in units of 10^6 B: ``190.0 MB``. Below 0.1 MB it is in kB (10^3 B)."""
    if abs(amount_bytes) < 100_000:
        return f"{amount_bytes / 1e3:.1f} kB"
    return f"{amount_bytes / 1e6:.1f} MB"


def number(value: float, digits: int = 4) -> str:
    """Return a value with so many significant digits, without an exponent in the usual range (0.6113, 47.83, 12084).

    Sentences use four digits, so that a value just below its bound does not look like the bound. Tables and plots use
    three.
    """
    if value == 0 or not 1e-4 <= abs(value) < 1e12:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - len(str(int(abs(value)))) if abs(value) >= 1 else digits)
    return f"{value:.{decimals}f}"


def percent(share: float) -> str:
    """Return a share in percent with one decimal: ``0.9831`` is ``98.3 %``."""
    return f"{100 * share:.1f} %"


def count_of(number_: int, noun: str, form: str = "") -> str:
    """Return ``1 port`` or ``3 ports``. ``form`` is the number's format: ``,`` gives ``12,000 rows``."""
    return f"{number_:{form}} {noun}{'' if number_ == 1 else 's'}"


def earlier_attempts(rules: Sequence[int | None]) -> str:
    """Return ``1 earlier measurement was disturbed``: the words for a test that was measured again.

    ``rules`` has the rule by which each earlier one failed; by rule 1 it never began, because of a bug of the launcher.
    """
    unbegun = rules.count(1)
    disturbed = len(rules) - unbegun
    said = [f"{unbegun} earlier start{'' if unbegun == 1 else 's'} failed by a bug of the launcher"] if unbegun else []
    if disturbed:
        said.append(f"{disturbed} earlier measurement{' was' if disturbed == 1 else 's were'} disturbed")
    return listing(said)


def either(names: Sequence[str]) -> str:
    """Return ``a``, ``a or b``, or ``a, b or c``."""
    return listing(names) if len(names) <= 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def listing(names: Sequence[str]) -> str:
    """Return ``a``, ``a and b``, or ``a, b and c``."""
    if len(names) <= 1:
        return "".join(names)
    return ", ".join(names[:-1]) + " and " + names[-1]


def few(names: Sequence[str], most: int = 4) -> str:
    """Return up to ``most`` names, and how many more there are: ``n1, n2, n3, n4 and 8 more``."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def places(names: Sequence[str], most: int = 8) -> str:
    """Return ``hsn0 of n1, hsn1 of n7 and 31 more``: at most ``most`` places, and how many more there are."""
    more = len(names) - most
    return listing([*names[:most], *([f"{more} more"] if more > 0 else [])])


def some(sentences: Sequence[str], most: int = 8) -> str:
    """Return sentences, separated by semicolons: at most ``most`` of them, and how many more there are."""
    more = len(sentences) - most
    return "; ".join((*sentences[:most], *([f"and {more} more of this kind"] if more > 0 else ())))


def drop_clauses(text: str, clauses: Sequence[str]) -> str:
    """Return a text of clauses with "; " between them without these, each of which may itself have several."""
    text = f"; {text}; "
    for clause in clauses:
        text = text.replace(f"; {clause}; ", "; ")
    return text[2:-2]
