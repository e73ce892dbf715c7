"""The verdict of each output in a folder: a line for every file, whatever is in it.

Nothing stops the walk. A file that cannot be read, or that no tool printed, is counted as unreadable: whoever judges a
folder wants to know which of its outputs have no verdict. Only regular files are opened, and links only if they lead to
a file of the same folder: a device or a FIFO might never end.
"""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from railyard.base.errors import InputError, RailyardError
from railyard.base.values import one_line
from railyard.parsers.output import ParseError
from railyard.verdict.gpu.run import GpuTarget
from railyard.verdict.inputs import Target
from railyard.verdict.stored_outputs import judgement
from railyard.verdict.stored_outputs.judgement import FORMAT, WORDS, Judgement, state_of
from railyard.verdict.wording import stored_outputs as words

State = Literal["pass", "report-only", "fail", "not-judged", "unreadable"]
#: The order in which the last line counts them.
STATES: tuple[State, ...] = ("pass", "report-only", "fail", "not-judged", "unreadable")
#: Longer sentences end with an ellipsis: it is one line for each file.
MOST_CHARACTERS = 240
#: The end of a longer one lists all tools whose output is read.
_MOST_CHARACTERS_OF_UNREAD = 160

_KINDS: tuple[tuple[Callable[[int], bool], words.NoFile], ...] = (
    (stat.S_ISDIR, "folder"),
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)

#: What is judged of a file, and by what.
Judged = tuple[tuple[Judgement, ...], Target | GpuTarget]


@dataclass(frozen=True, slots=True)
class FileVerdict:
    """The verdict of one file: the worst of its judgements, with the first sentence of that one.

    ``file`` is relative to the folder. ``against`` is None, and ``judgements`` are none, if nothing could be judged.
    """

    file: str
    state: State
    sentence: str
    judgements: tuple[Judgement, ...] = ()
    against: Target | GpuTarget | None = None

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """The benchmarks in the file, each once, in its order."""
        return tuple(dict.fromkeys(one.benchmark for one in self.judgements if one.benchmark is not None))

    @property
    def is_pass(self) -> bool:
        """Whether it passes, or meets everything that can be checked on a system without references."""
        return self.state in ("pass", "report-only")

    @property
    def line(self) -> str:
        """File, benchmarks, verdict and reason on one line."""
        parts = (self.file, ", ".join(self.benchmarks), WORDS.get(self.state, self.state).upper(), self.sentence)
        return ": ".join(part for part in parts if part)


def judge_each_file(folder: Path, judge: Callable[[str], Judged]) -> Iterator[FileVerdict]:
    """Yield the verdict of each file below a folder, sorted by name, the files of a folder before those further below.

    ``judge`` takes a file's path, reads it and judges it. The file is unreadable if it raises InputError, or a
    RailyardError that comes from a ParseError; after another RailyardError it is not judged.

    Raises RailyardError if there is no such folder, or no file in it.
    """
    if not folder.is_dir():
        found = "a file" if folder.exists() else "no such folder"
        raise RailyardError(f"--each-file: found {found} ({one_line(str(folder))}), expected a folder of outputs")
    within, any_file = folder.resolve(), False
    for path, folder_error in _find_files(folder):
        any_file = True
        name = one_line(os.path.relpath(path, folder))
        why = folder_error or _why_not_opened(path, within)
        yield _verdict(str(path), name, judge) if why is None else FileVerdict(name, "unreadable", why)
    if not any_file:
        raise RailyardError(f"--each-file: found no file below {one_line(str(folder))}, expected outputs of benchmarks")


def summary(states: Iterable[State]) -> str:
    """Return the last line: how many files there were, and how many of each state."""
    counts = Counter(states)
    by_state = {WORDS.get(state, state): counts[state] for state in STATES if counts[state]}
    return words.counts(sum(counts.values()), "file", by_state)


def as_json(folder: str, verdicts: Iterable[FileVerdict]) -> dict[str, Any]:
    """Return the verdicts as JSON values, ``format`` first; each file has what the verdict of one output has."""
    made = tuple(verdicts)
    counts = Counter(verdict.state for verdict in made)
    return {
        "format": FORMAT,
        "folder": folder,
        "counts": {state: counts[state] for state in STATES},
        "files": [_file_json(verdict) for verdict in made],
    }


def _file_json(verdict: FileVerdict) -> dict[str, Any]:
    """Return one file's verdict; if nothing could be judged, ``judgements`` is empty, and there is no ``against``."""
    judged: dict[str, Any] = {"judgements": []}
    if verdict.against is not None:
        judged = judgement.as_json(verdict.file, verdict.against, verdict.judgements)
        del judged["format"]
    first = {"file": verdict.file, "state": verdict.state, "benchmarks": list(verdict.benchmarks)}
    return {**first, "sentence": verdict.sentence, **judged}


def first_sentence(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return what stands before the first semicolon outside of brackets, on one line, cut at ``most`` characters."""
    line, depth = one_line(text), 0
    for at, character in enumerate(line):
        depth += (character == "(") - (character == ")")
        if character == ";" and depth <= 0:
            line = line[:at]
            break
    return line if len(line) <= most else line[: most - 2].rstrip(", ") + " …"


def _find_files(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """Yield each file and each link below a folder; a folder that cannot be read with the reason, too."""
    errors: list[OSError] = []
    for place, folders, files in os.walk(folder, onerror=errors.append):
        folders.sort()
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        for name in sorted((*files, *links)):
            yield Path(place, name), None
    for error in errors:
        yield Path(error.filename), words.unreadable_folder(error.strerror)


def _why_not_opened(path: Path, within: Path) -> str | None:
    """Return why a file is not to be opened: it is no regular file, or a link out of the folder; None if it may be."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            to = path.resolve(strict=True)
            if not to.is_relative_to(within):
                return words.link_out()
            mode = to.stat().st_mode
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead to each other
        return words.broken_link(error.strerror if isinstance(error, OSError) else None)
    if stat.S_ISREG(mode):
        return None
    return words.no_file(next((kind for is_kind, kind in _KINDS if is_kind(mode)), "other"))


def _verdict(path: str, name: str, judge: Callable[[str], Judged]) -> FileVerdict:
    """Return the verdict of a file that may be opened."""
    try:
        judgements, against = judge(path)
    except InputError as error:
        why = words.unlike_expected(error.line, error.found, error.expected)
        return FileVerdict(name, "unreadable", first_sentence(why))
    except RailyardError as error:
        cause = error.__cause__
        if isinstance(cause, ParseError):
            return FileVerdict(name, "unreadable", first_sentence(str(cause), _MOST_CHARACTERS_OF_UNREAD))
        return FileVerdict(name, "not-judged", first_sentence(str(error)))
    state = state_of(judgements)
    worst = next(one for one in judgements if one.state == state)
    return FileVerdict(name, state, worst.headline or first_sentence(worst.reason), judgements, against)
