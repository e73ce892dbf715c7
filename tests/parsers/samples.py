"""The small texts with which tests and the fuzzer begin: those made by hand, and recordings of our own runs."""

from functools import cache
from pathlib import Path

from railyard.parsers import TOOLS
from railyard.parsers.detect import parse
from railyard.parsers.fabric import FABRIC_TOOLS
from railyard.parsers.output import ParsedOutput

HERE = Path(__file__).parent
MADE = HERE / "made"
#: The other forms of the fabric tools' outputs, made by hand, and the recordings; a file's name begins with its tool's.
OTHERS = (HERE / "fabric" / "samples", HERE.parent / "recordings", HERE / "fabric" / "recordings")


def tool_of(name: str) -> str:
    """Return the tool whose name begins a file's name: "ibstat" for ibstat-two.txt, not "ib"; "" for none."""
    return max((tool for tool in (*TOOLS, *FABRIC_TOOLS) if name.startswith(tool)), key=len, default="")


@cache
def parse_sample(text: str) -> ParsedOutput:
    """Return what a whole sample gives, read once for all the tests that compare a changed form of it with this.

    Raises ParseError like ``parse``.
    """
    return parse(text)


def samples() -> list[tuple[str, str, str]]:
    """Return (tool, file's name, text) of every sample: synthetic ones first, each group in the order of names."""
    files = [path for folder in (MADE, *OTHERS) for path in sorted(folder.glob("*.*")) if path.suffix != ".tsv"]
    texts = ((path.name, path.read_text(encoding="utf-8")) for path in files)
    return [(tool_of(name), name, text) for name, text in texts]
