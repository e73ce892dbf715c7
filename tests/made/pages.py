"""The Markdown pages of the clone as tests read them: commands, what is shown below each, and calls of railyard."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CLONE = Path(__file__).parents[2]
#: The pages for people: those at the root, in docs/ and of the measurements.
PAGES = (
    CLONE / "README.md",
    CLONE / "CONTRIBUTING.md",
    *sorted(path for path in (CLONE / "docs").rglob("*.md") if "_build" not in path.parts),
    *sorted((CLONE / "benchmarks/results").glob("*.md")),
)
#: "```console" to "```", also within a list; the words between them.
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (?P<words>.+?)(?:\s+#\s.*)?$")
_INLINE = re.compile(r"(?<!`)`(?P<text>[^`]+)`(?!`)")
#: What ends a command for the shell.
_PUNCTUATION = ";|&<>"


@dataclass(frozen=True, slots=True)
class PageCommand:
    """A command of a page, as it is typed, and the lines that the page shows below it."""

    page: str
    words: str
    output: tuple[str, ...]

    def missing_lines(self, text: str) -> list[str]:
        """Return the lines that ``text`` lacks, in the page's order; three dots match any text or lines."""
        said = iter(text.splitlines())
        return [line for line in self.output if line.strip(" …") and not _has_line(line, said)]


@dataclass(frozen=True, slots=True)
class Call:
    """The words of a call of railyard without the program; ``inline``: it is in a line of prose, else in a block."""

    page: str
    words: tuple[str, ...]
    inline: bool


def _has_line(line: str, said: Iterator[str]) -> bool:
    pattern = re.compile(r"\s*" + r".*".join(map(re.escape, line.strip().split("…"))) + r"\s*")
    return any(pattern.fullmatch(each) for each in said)


def name_of(page: Path) -> str:
    """Return the page's path from the clone's root."""
    return page.relative_to(CLONE).as_posix()


def page_commands() -> Iterator[PageCommand]:
    """Yield every command that a page shows after a "$ "."""
    for page in PAGES:
        for fence in _FENCE.finditer(page.read_text(encoding="utf-8")):
            yield from _of_fence(name_of(page), fence["text"])


def _of_fence(page: str, text: str) -> Iterator[PageCommand]:
    words, output = "", list[str]()
    for line in text.splitlines():
        if match := _COMMAND.match(line):
            if words:
                yield PageCommand(page, words, tuple(output))
            words, output = match["words"], []
        else:
            output.append(line)
    if words:
        yield PageCommand(page, words, tuple(output))


def calls() -> Iterator[Call]:
    """Yield every call of railyard in a page's blocks and backticks, but not in the output shown in a block."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for fence in _FENCE.finditer(text):
            typed = fence["language"] != "text"
            lines = fence["text"].splitlines()
            if fence["language"] in ("console", ""):
                lines = [line for line in lines if line.startswith("$ ") or _SCHEDULED.match(line)]
            yield from _of_lines(name_of(page), lines if typed else [], inline=False)
        plain = _FENCE.sub("", text)
        spans = [" ".join(match["text"].split()) for match in _INLINE.finditer(plain)]
        yield from _of_lines(name_of(page), spans, inline=True)


#: A line of cron.
_SCHEDULED = re.compile(r"^\d+ \d+ \* \* \*  ")


def _of_lines(page: str, lines: list[str], *, inline: bool) -> Iterator[Call]:
    for line in lines:
        words = shlex.shlex(line, posix=True, punctuation_chars=_PUNCTUATION)
        words.whitespace_split = True
        try:
            typed = list(words)
        except ValueError:  # prose between backticks, with an apostrophe
            continue
        for command in _commands(typed):
            for place, word in enumerate(command[:-1]):
                if word == "railyard" or word.endswith("/railyard"):
                    left = [each for each in command[place + 1 :] if "…" not in each]
                    if left and not left[0].endswith(":"):  # "railyard gate:" begins a message
                        yield Call(page, tuple(left), inline)
                    break


def _commands(words: list[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in words:
        if set(word) <= set(_PUNCTUATION):
            yield command
            command = []
        else:
            command.append(word)
    yield command
