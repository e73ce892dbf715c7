"""What the fuzzer changes in an output: a mutation makes a new text from a text, the dice and the other outputs."""

import random
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from fuzzing.samples import Sample

Mutation = Callable[[str, random.Random, Sequence[Sample]], str]

NOISE = (
    "[node2:2290964] 3 more processes have sent help message help-mpi-btl-openib.txt / no device params found",
    "libibverbs: Warning: couldn't open config directory '/etc/libibverbs.d'.",
    "real 5.93",
    "",
)
HOSTILE = ("nan", "-nan", "inf", "1e999", "9" * 30, "-1", "0", "1.2.3", ".", "1e-400", "٣", "0x10", "*" * 8, "")
BYTES = "\x00\x0b\x0c\r\t\x1b\x85\u2028é٣😀#-:=|[](){}<>\"'\\/.,%0 \n"
_SEARCHED = 15_000  # how many characters of a text are searched for a number
_NUMBER = re.compile(r"[0-9][0-9.e+]*")
_DECIMAL = re.compile(r"(?<=[\s=])[0-9]+\.[0-9]+")
_SIZE = re.compile(r"(?m)^(\s*(?:[0-9]+:\s+)?)([0-9]+)(\s+(?:bytes|[0-9]))")
_ROW = re.compile(r"\s*[0-9]+:?\s+\S")
_UNIT = re.compile(r"MB/s|MB/sec|Mbytes/sec|usec|\(us\)|MiB/s|Mbps|Gb/sec|Messages/s|Mpps|GB/sec")
_OTHER_UNITS = ("KiB/s", "MiB/s", "GB/s", "Gb/s", "Gb/sec", "MB/sec", "nsec", "(ms)", "msec", "Kbytes/sec", "/s")


def cut(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """End it anywhere, in half of the cases within its last 300 characters."""
    return text[: dice.randrange(max(0, len(text) - 300) if dice.random() < 0.5 else 0, len(text))] if text else text


def noise(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """Put a foreign line between two lines."""
    lines = text.split("\n")
    lines.insert(dice.randrange(len(lines)), dice.choice(NOISE))
    return "\n".join(lines)


def change_character(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """Replace, insert or delete one character."""
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice(("", dice.choice(BYTES))) + text[at + dice.randrange(2) :]


def change_number(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """Replace a number by something that is not a number, not finite, or out of range."""
    places = list(_NUMBER.finditer(text, 0, _SEARCHED))
    if not places:
        return text
    one = dice.choice(places)
    return text[: one.start()] + dice.choice(HOSTILE) + text[one.end() :]


def change_lines(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """Remove, double, move, swap, join, break or repeat lines."""
    lines = text.split("\n")
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    what = dice.randrange(6)
    if what == 0:
        del lines[one : one + dice.randrange(1, 4)]
    elif what == 1:
        lines.insert(other, lines[one])
    elif what == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif what == 3 and one + 1 < len(lines):
        lines[one : one + 2] = [lines[one] + lines[one + 1]]
    elif what == 4:
        place = dice.randrange(len(lines[one]) + 1)
        lines[one : one + 1] = [lines[one][:place], lines[one][place:]]
    else:
        lines[one:one] = lines[min(one, other) : max(one, other)][:50]
    return "\n".join(lines)


def splice(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """Put some lines of another output (of any tool) among its own."""
    theirs = dice.choice(samples).text.split("\n")
    start = dice.randrange(len(theirs))
    lines = text.split("\n")
    at = dice.randrange(len(lines) + 1)
    lines[at:at] = theirs[start : start + dice.randrange(1, 12)]
    return "\n".join(lines)


def double_lines(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """Print all of it twice, or all after some line."""
    lines = text.split("\n")
    return "\n".join([*lines, *lines[dice.choice((0, dice.randrange(len(lines)))) :]])


def shift_numbers(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """Multiply or divide the first number of each row: the message size in most tools."""
    factor = dice.choice((2, 4, 0.5, 0.25))

    def other(found: re.Match[str]) -> str:
        return f"{found[1]}{int(int(found[2]) * factor)}{found[3]}"

    return _SIZE.sub(other, text)


def mix_outputs(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """Mix in the lines of another output of the same or any tool, as if two jobs write to one file."""
    own, theirs = text.split("\n"), dice.choice(samples).text.split("\n")
    lines: list[str] = []
    most = dice.choice((3, 30))  # lines that one job writes at once
    while own or theirs:
        source = own if own and (not theirs or dice.random() < 0.5) else theirs
        taken = dice.randrange(1, most)
        lines += source[:taken]
        del source[:taken]
    return "\n".join(lines)


def unit(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """Change a unit in a heading."""
    places = list(_UNIT.finditer(text))
    if not places:
        return text
    one = dice.choice(places)
    return text[: one.start()] + dice.choice(_OTHER_UNITS) + text[one.end() :]


def sign(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """Put a minus before a number with a point."""
    places = list(_DECIMAL.finditer(text))
    if not places:
        return text
    at = dice.choice(places).start()
    return f"{text[:at]}-{text[at:]}"


def order(text: str, dice: random.Random, samples: Sequence[Sample]) -> str:
    """Exchange two rows that follow each other."""
    lines = text.split("\n")
    rows = [place for place, line in enumerate(lines) if _ROW.match(line)]
    if len(rows) > 1:
        one, other = dice.choice(list(pairwise(rows)))
        lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


MUTATIONS: tuple[Mutation, ...] = (
    *(cut, noise, change_character, change_number, change_lines, splice),
    *(double_lines, shift_numbers, mix_outputs, unit, sign, order),
)
#: These give few texts per output, so a long run makes the same text again and again.
FEW: tuple[Mutation, ...] = (cut, noise, double_lines, shift_numbers, unit, sign, order)
#: For judging: these do not change a number into another that a run might have given.
SEEN: tuple[Mutation, ...] = (cut, noise, double_lines, shift_numbers, mix_outputs, splice, unit, sign, order)
