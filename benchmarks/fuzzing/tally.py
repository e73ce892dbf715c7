"""What the fuzzer counts, and its file: one JSON object per share, so an interrupted run can go on."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import railyard
from fuzzing.samples import Samples

# The file's history: 1 named each sample in its first line; 2 has their digest, counts by mutation and digests of code.
FORMAT = 2
PACKAGE = Path(railyard.__file__).parent


@dataclass
class Tally:
    """The result of a share of the inputs: counts, and for each kind of finding how often, and its shortest input."""

    inputs: int = 0
    characters: int = 0
    refused: int = 0
    repeated: int = 0  # made before and not read again
    cpu_s: float = 0.0
    by_tool: Counter[str] = field(default_factory=Counter)
    by_mutation: Counter[str] = field(default_factory=Counter)
    by_code: Counter[str] = field(default_factory=Counter)
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    shortest: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def count(self, tool: str, text: str, how: tuple[str, ...]) -> None:
        """Count one input."""
        self.inputs += 1
        self.characters += len(text)
        self.by_tool[tool] += 1
        self.by_mutation.update(how)

    def add(self, other: "Tally") -> None:
        """Take in another share."""
        for name in ("inputs", "characters", "refused", "repeated", "cpu_s"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("by_tool", "by_mutation", "by_code", "found"):
            getattr(self, name).update(getattr(other, name))
        for kind, (what, text) in other.shortest.items():
            self.note(kind, what, text, count=0)

    def note(self, kind: tuple[str, str], what: str, text: str, count: int = 1) -> None:
        """Keep a finding, with the shortest input of its kind."""
        self.found[kind] += count
        if kind not in self.shortest or len(text) < len(self.shortest[kind][1]):
            self.shortest[kind] = (what, text)

    def to_json(self) -> dict[str, Any]:
        """Return it as a line of the file."""
        return {
            "inputs": self.inputs,
            "characters": self.characters,
            "refused": self.refused,
            "repeated": self.repeated,
            "cpu_s": round(self.cpu_s, 3),
            "by_tool": self.by_tool,
            "by_mutation": self.by_mutation,
            "by_code": self.by_code,
            "found": [[*kind, count, *self.shortest[kind]] for kind, count in self.found.items()],
        }


def tally_of(values: Mapping[str, Any]) -> Tally:
    """Return the tally from a line of the file."""
    numbers = (values.get(name, 0) for name in ("inputs", "characters", "refused", "repeated", "cpu_s"))
    tally = Tally(*numbers, *(Counter(values[name]) for name in ("by_tool", "by_mutation", "by_code")))
    for tool, kind, count, said, text in values["found"]:
        tally.note((tool, kind), said, text, count)
    return tally


def read_shares(file: Path | None, run: Mapping[str, Any]) -> dict[int, Tally]:
    """Return the shares of this run in a file; the file's first line says of which run it is.

    Raises ValueError if it is of another run. If the run was interrupted and the last line is cut, this line is
    removed.
    """
    if file is None:
        return {}
    first, *lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else ("", "")
    if not first:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(run) + "\n", encoding="utf-8")
        return {}
    if json.loads(first) != run:
        raise ValueError(f"{file}: found shares of {first}, expected {json.dumps(run)}; name another file")
    if lines.pop():
        file.write_text("\n".join([first, *lines, ""]), encoding="utf-8")
    shares = map(json.loads, lines)
    return {share["share"]: tally_of(share) for share in shares}


def keep(file: Path | None, number: int, tally: Tally) -> None:
    """Append a share to the file."""
    if file is not None:
        with file.open("a", encoding="utf-8") as handle:
            handle.write(json.dumps({"share": number, **tally.to_json()}) + "\n")


def digest_of_samples(samples: Samples) -> str:
    """Return a digest of all texts: other samples give other inputs for the same seed."""
    texts = (part for one in (*samples.small, *samples.long) for part in (one.tool, one.name, one.text))
    return _digest("\0".join(texts).encode("utf-8", errors="surrogatepass"))


def digest_of_code(folder: str) -> str:
    """Return a digest of the imported package's modules below a folder: the code on which inputs were tried."""
    files = sorted((PACKAGE / folder).rglob("*.py"))
    return _digest(b"\0".join(path.read_bytes() for path in files))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
