"""Sentences that name what was lost, file and class, when ReFrame 4.10 only warns about it and exits with 0."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ANSI = re.compile(r"\x1b\[[0-9;]*m")
# "| /site/checks/osu.py:17" under a warning: the user's line that raised.
LOCATION = re.compile(r"^\| (?P<path>/[^\n]*?):(?P<line>\d+)$")
# "  check search path: (R) '/site/checks:/more'" and "  working directory: '/site'" of the [ReFrame Setup] heading.
SEARCH_PATH = re.compile(r"^  check search path: (?:\(R\) )?'(?P<paths>[^'\n]*)'$", re.MULTILINE)
WORKING_FOLDER = re.compile(r"^  working directory: '(?P<path>[^'\n]*)'$", re.MULTILINE)
RERUN = re.compile(r"\s*\(rerun with '-v' for a backtrace\)$")
#: The end of a unique name: a hash, or the number of a variant.
SUFFIX = re.compile(r"_(?:[0-9a-f]{8}|\d+)$")
# "  - Dependent %rails=1 @virtual:hsn+mpich" under "skipping all dependent test cases".
DROPPED = re.compile(r"^\s+- (?P<case>(?P<cls>\w+)\b.* @\S+)$")
REGISTERED = re.compile(r"^@(?:\w+\.)?simple_test\s*\n(?:@.*\n)*class (?P<cls>\w+)", re.MULTILINE)
CLASS = re.compile(r"^class (?P<cls>\w+)")

LOST_FILE = re.compile(r"skipping test file '(?P<file>[^']+)': (?P<why>.*)")
LOST_CLASS = re.compile(r"skipping (?:incompatible )?(?:test|fixture) '(?P<cls>[^']+)': (?P<why>.*)")
NOT_COPYABLE = re.compile(r"(?P<file>\S+\.py): '(?P<cls>\w+)\.(?P<attribute>\w+)' is not copyable")
UNRESOLVED = re.compile(r"could not resolve dependency: \('(?P<cls>[^']+)', [^)]*\) -> '(?P<on>[^']+)'")
DEPENDENTS = re.compile(r"skipping all dependent test cases")
NO_PATH = re.compile(r"check path '(?P<path>[^']+)' does not exist")
NO_ASSIGNMENT = re.compile(r"invalid test variable assignment: (?P<what>'[^']*')")
LOST_FIGURE = re.compile(r"skipping evaluation of performance variable (?P<what>.*)")
OTHER_SKIP = re.compile(r"skipping (?P<what>.*)")


@dataclass(frozen=True, slots=True)
class CodeWarning:
    """One warning: its first line, the lines below it, and where the user's code raised."""

    head: str
    below: tuple[str, ...]
    path: Path | None
    line: int | None


class Sources:
    """The check files of a run, as ReFrame's heading names them; read only after a warning."""

    def __init__(self, text: str) -> None:
        folder = WORKING_FOLDER.search(text)
        self.folder = Path(folder["path"]) if folder else Path.cwd()
        paths = SEARCH_PATH.search(text)
        self.paths = [Path(path) for path in paths["paths"].split(":") if path] if paths else []

    def file_of(self, cls: str) -> Path | None:
        """Return the check file that has a class of this name at its top level, or None."""
        pattern = re.compile(rf"^class {re.escape(cls)}\b", re.MULTILINE)
        for root in self.paths:
            for file in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
                if pattern.search(_read(file)):
                    return file
        return None

    def format_path(self, file: Path) -> str:
        """Return a file's path as a person in ReFrame's working folder would write it."""
        return str(file.relative_to(self.folder)) if file.is_relative_to(self.folder) else str(file)


def warnings(text: str) -> tuple[str, ...]:
    """Return a sentence for each of ReFrame's warnings about something that was requested and is lost, each once.

    ``text`` is everything that one `reframe` printed. The check files that it names are read, to say which class was
    lost.
    """
    plain = ANSI.sub("", text)
    sources = Sources(plain)
    blocks = tuple(_blocks(plain))
    unresolved = {match["cls"]: match["on"] for block in blocks if (match := UNRESOLVED.match(block.head))}
    return tuple(dict.fromkeys(sentence for block in blocks for sentence in _sentences(block, sources, unresolved)))


def _blocks(text: str) -> Iterator[CodeWarning]:
    lines = text.splitlines()
    for index, line in enumerate(lines):
        if not line.startswith("WARNING: "):
            continue
        below = []
        for following in lines[index + 1 :]:
            if not following.startswith(("| ", "  - ")):
                break
            below.append(following)
        located = LOCATION.match(below[0]) if below else None
        head = RERUN.sub("", line.removeprefix("WARNING: "))
        yield CodeWarning(
            head.removesuffix(":"),
            tuple(below),
            Path(located["path"]) if located else None,
            int(located["line"]) if located else None,
        )


def _sentences(block: CodeWarning, sources: Sources, unresolved: dict[str, str]) -> list[str]:
    if found := LOST_FILE.match(block.head):
        return [_lost_file(sources.folder / found["file"], found["why"], block, sources)]
    if found := LOST_CLASS.match(block.head):
        return [_lost_class(found["cls"], found["why"], block, sources)]
    if found := NOT_COPYABLE.match(block.head):
        why = f"its attribute {found['attribute']!r} cannot be copied; set it in a hook after setup, not after init"
        return [_lost_class(found["cls"], why, block, sources)]
    if DEPENDENTS.match(block.head):
        return [_lost_dependent(line, sources, unresolved) for line in block.below]
    return _plain_sentence(block.head)


def _plain_sentence(head: str) -> list[str]:
    if found := NO_PATH.match(head):
        return [f"-c {found['path']}: found no such file or folder, expected checks"]
    if found := NO_ASSIGNMENT.match(head):
        return [f"-S {found['what'].strip(chr(39))}: found no '=', expected NAME=VALUE"]
    if found := LOST_FIGURE.match(head):
        return [f"a performance variable was dropped: {found['what']}"]
    if found := OTHER_SKIP.match(head):
        return [f"ReFrame skipped {found['what']}"]
    return []


def _lost_file(file: Path, why: str, block: CodeWarning, sources: Sources) -> str:
    content = _read(file)
    names = ", ".join(REGISTERED.findall(content)) or "no class that could be named"
    place = _format_place(block, file, content)
    return f"{sources.format_path(file)}: this file was not loaded, and with it {names}: {why}{place}"


def _lost_class(name: str, why: str, block: CodeWarning, sources: Sources) -> str:
    cls = SUFFIX.sub("", name)
    file = sources.file_of(cls)
    where = f"{sources.format_path(file)}: " if file else ""
    return f"{where}{cls} was not loaded: {why}{_format_place(block, file, _read(file) if file else '')}"


def _lost_dependent(line: str, sources: Sources, unresolved: dict[str, str]) -> str:
    dropped = DROPPED.match(line)
    if dropped is None:
        return f"ReFrame dropped a test whose dependency is not there: {line.strip(' -')}"
    lacking = {SUFFIX.sub("", name): SUFFIX.sub("", on) for name, on in unresolved.items()}
    on = lacking.get(dropped["cls"])
    why = f"it depends on {on}, which is not there" if on else "it depends on a test that was dropped"
    file = sources.file_of(dropped["cls"])
    where = f"{sources.format_path(file)}: " if file else ""
    return f"{where}{dropped['case']} was dropped: {why}"


def _format_place(block: CodeWarning, file: Path | None, content: str) -> str:
    """Return where the user's code raised: the line and the class around it, and the file if it is another."""
    if block.path is None or block.line is None:
        return ""
    if block.path != file:
        return f" ({block.path}:{block.line})"
    return f" (line {block.line}{_in_class(content.splitlines()[: block.line])})"


def _in_class(lines: list[str]) -> str:
    if not lines or not (lines[-1].startswith((" ", "\t")) or CLASS.match(lines[-1])):
        return ""
    names = [found["cls"] for line in lines if (found := CLASS.match(line))]
    return f", in {names[-1]}" if names else ""


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
