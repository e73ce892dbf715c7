"""What ReFrame prints and writes, read back: the cases it lists, the cases it ran, and what was lost.

When ReFrame 4.10 only warns about what is lost, and exits with 0, a sentence names it with its file and class.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base.errors import RailyardError, did_you_mean
from railyard.rfm.run.options import read
from railyard.site.test_id import TestId, of_name

#: "- ImbUniband %rails=2 /0a1b2c3d @virtual:hsn+mpich", as `reframe -lC` prints a case; below it, indented, what it
#: depends on: "^Build ~virtual:hsn+mpich 'binary /9da039a2 @virtual:hsn+mpich".
LISTED_CASE = re.compile(
    r"^\s*(?P<mark>- |\^)(?P<name>\S.*?)(?: '\w+)* /(?P<hash>[0-9a-f]{8}) "
    r"@(?P<system>[^:\s]+):(?P<part>[^+\s]+)\+(?P<env>\S+)$"
)
CONCRETIZED = re.compile(r"^Concretized (?P<count>\d+) test case\(s\)$", re.MULTILINE)
#: "[     SKIP ] ( 2/33) ImbUniband %rails=2 /0a1b2c3d @virtual:hsn+mpich [no such device]": the report
#: leaves this reason out.
ENDED = re.compile(
    r"^\[\s*(?:SKIP|XFAIL) \] \(\s*\d+/\s*\d+\) (?P<name>\S.*?) /[0-9a-f]{8} (?P<where>@\S+) \[(?P<why>.*)\]$"
)

#: Results of ReFrame that mean a failure of the case itself.
FAILED = ("fail", "abort")
#: Results that have a reason of their own, or need none. A case that was running when ReFrame ended has "<unknown>".
_SETTLED = ("pass", "skip", "xfail", "xpass", "fail_deps")
#: The reason of tests that were running when the time of `--duration` was over.
_ROUND_CUT_OFF = "aborted due to RunSessionTimeout"

#: The reason of a test whose dependency failed; from 4.9 on ReFrame has the result "fail_deps" for it.
_DEPENDENCIES_FAILED = "task dependency error"

#: "ERROR: run session stopped: os error: [Errno 22] Invalid argument": the report has no
#: reason for the tests that would have followed.
STOPPED = re.compile(r"^(?:\S+: )?(?P<why>run session stopped: .+)$", re.MULTILINE)

#: "ERROR: run session stopped: reframe error: nothing was selected: no check of own fits", and below it a line for each
#: check with what drops it (``railyard.rfm.refusals``).
DROPPED = re.compile(r"(?P<heading>nothing was selected: .*)\n(?P<lines>(?:  \S.*\n)+)")

#: A variable or parameter that a test class does not have; other classes may have it.
UNSET = re.compile(r"test '(?P<cls>[^']+)': the following variables were not set: (?P<names>[^\n]+)")
IGNORED = re.compile(
    r"'(?P<name>[^']+)' is neither a variable nor a parameter of test '(?P<test>[^']+)'|"
    # before 4.9, where -P takes variables only
    r"variable '(?P<old_name>[^']+)' not defined for test '(?P<old_test>[^']+)'; ignoring parameterization"
)
ANSI = re.compile(r"\x1b\[[0-9;]*m")
# "| /site/checks/osu.py:17" under a warning: the user's line that raised.
LOCATION = re.compile(r"^\| (?P<path>/[^\n]*?):(?P<line>\d+)$")
# "  check search path: (R) '/site/checks:/more'" and "  working directory: '/site'" of the [ReFrame Setup] heading.
SEARCH_PATH = re.compile(r"^  check search path: (?:\(R\) )?'(?P<paths>[^'\n]*)'$", re.MULTILINE)
WORKING_FOLDER = re.compile(r"^  working directory: '(?P<path>[^'\n]*)'$", re.MULTILINE)
# ReFrame 4.7 writes the line of the user's code into the heading: "value error: checks/osu.py:17: invalid literal".
LOCATION_IN_HEAD = re.compile(r"(?P<kind>: [a-z ]+: )(?P<path>[^\s:]+\.py):(?P<line>\d+): ")
RERUN = re.compile(r"\s*\(rerun with '-v' for (?:a backtrace|more information)\)$")
#: The end of a unique name: a hash, or the number of a variant.
SUFFIX = re.compile(r"_(?:[0-9a-f]{8}|\d+)$")
# "  - Dependent %rails=1 @virtual:hsn+mpich" under "skipping all dependent test cases".
DROPPED_DEPENDENT = re.compile(r"^\s+- (?P<case>(?P<cls>\w+)\b.* @\S+)$")
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
class RanCase:
    """What ReFrame's report says about one case: its last result, where it failed, and how many runs it took."""

    case: TestId
    result: str
    phase: str | None
    reason: str | None
    stagedir: str | None
    runs: int
    failed_before: bool


def listed_cases(text: str) -> tuple[TestId, ...]:
    """Return the cases of a `reframe -lC` output, in its order, without those that others only depend on.

    Raises RailyardError if the text has no closing count, or a count that differs from the cases that were read.
    """
    plain = ANSI.sub("", text)
    chosen, depended = _parse_cases(plain)
    count = CONCRETIZED.search(plain)
    if count is None:
        raise RailyardError(
            "ReFrame's listing has no line 'Concretized N test case(s)': it ended early\n" + plain[-2000:]
        )
    read = len({*chosen, *depended})
    if int(count["count"]) != read:
        raise RailyardError(f"ReFrame listed {count['count']} cases, but {read} could be read from its listing")
    return chosen


def lists_nothing(text: str) -> bool:
    """Return whether a `reframe -lC` output is a whole listing, of no case."""
    count = CONCRETIZED.search(ANSI.sub("", text))
    return count is not None and int(count["count"]) == 0


def drop_lines(text: str) -> tuple[str, ...]:
    """Return what a `reframe -lC` output says of each check that it dropped, below a heading; empty if nothing."""
    found = DROPPED.search(ANSI.sub("", text))
    return () if found is None else (found["heading"], *found["lines"].splitlines())


def _parse_cases(plain: str) -> tuple[tuple[TestId, ...], tuple[TestId, ...]]:
    """Return the cases that were selected, and those that they depend on, each once."""
    chosen: dict[TestId, None] = {}
    depended: dict[TestId, None] = {}
    for line in plain.splitlines():
        if found := LISTED_CASE.match(line.rstrip()):
            case = of_name(found["name"], found["hash"], found["system"], found["part"], found["env"])
            (chosen if found["mark"] == "- " else depended)[case] = None
    return tuple(chosen), tuple(depended)


def unlisted_names(text: str, listed: tuple[TestId, ...], options: Sequence[str] = ()) -> tuple[str, ...]:
    """Return a sentence for each `-S` and `-P` name that no listed check has (ReFrame warns, and selects everything).

    ``text`` is what `reframe -lC` printed, ``options`` its command line. Only the options show if the class of
    `-S CLASS.NAME=VALUE` is not a listed one: ReFrame says nothing about that.
    """
    plain = ANSI.sub("", text)
    classes = {case.name.split()[0] for case in listed}
    if not classes:  # nothing was selected: the caller says that
        return ()
    lacking: dict[tuple[str, str], set[str]] = {}
    only_variables = False
    for match in UNSET.finditer(plain):
        for name in match["names"].replace("'", "").split(","):
            lacking.setdefault(("-S", name.strip()), set()).add(match["cls"])
    for match in IGNORED.finditer(plain):
        only_variables = only_variables or match["old_name"] is not None
        name, test = match["name"] or match["old_name"], match["test"] or match["old_test"]
        lacking.setdefault(("-P", name), set()).add(test.split()[0])
    nowhere = [key for key, without in lacking.items() if classes <= without]
    known = classes | {case.name.split()[0] for case in _parse_cases(plain)[1]}
    sentences = [
        f"{option} {name}: found no check that has {name!r}, expected a variable or parameter of at least one; "
        f"ReFrame ignores such a word and selects everything"
        for option, name in nowhere
        if not (option == "-P" and only_variables)
    ] + [
        f"-P {name}: found no variable {name!r}, expected one: before 4.9 ReFrame chooses no parameter by -P, ignores "
        f"such a word and selects everything; write -n 'CHECK%{name}=VALUE' or -E '{name} == VALUE'"
        for option, name in nowhere
        if option == "-P" and only_variables
    ]
    for cls, name in _assigned_in_a_class(options):
        if cls not in known:
            sentences.append(
                f'-S {cls}.{name}: found no selected check "{cls}", expected one of them; {did_you_mean(cls, known)}'
            )
        elif ("-S", name) not in nowhere and cls in lacking.get(("-S", name), ()):
            sentences.append(f"-S {cls}.{name}: found no variable {name!r} in {cls}, expected one that it has")
    return tuple(sentences)


def _assigned_in_a_class(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield class and variable of each `-S CLASS.NAME=VALUE`."""
    for text in read(options).setvar:
        cls, dot, name = text.partition("=")[0].partition(".")
        if dot:
            yield cls, name


def _case_id(entry: Mapping[str, Any]) -> TestId:
    return of_name(
        str(entry.get("display_name") or entry["name"]),
        str(entry.get("hashcode", "")),
        str(entry.get("system", "")),
        str(entry.get("partition", "")),
        str(entry.get("environ", "")),
    )


def ran_cases(report: Path, text: str = "") -> tuple[RanCase, ...]:
    """Return one entry per case of ReFrame's JSON report, the last run of each; a fixture is a case only if it failed.

    ``text`` is what that `reframe -r` printed: only there are the reasons of skips and expected failures, and what
    stopped ReFrame itself. Raises RailyardError if the report can't be read.
    """
    try:
        runs = json.loads(report.read_text(encoding="utf-8"))["runs"]
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError) as error:
        raise RailyardError(f"{report}: ReFrame's report cannot be read ({error}); see reframe.log beside it") from None
    stated = {f"{found['name']} {found['where']}": found["why"] for found in _match_ends(text)}
    why_stopped = what_stopped(text)
    entries: dict[TestId, list[Mapping[str, Any]]] = {}
    by_key: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for run in runs:
        for entry in run.get("testcases", ()):
            entries.setdefault(_case_id(entry), []).append(entry)
            by_key[_key(entry)] = entry
    return tuple(
        _ran_case(case, history, stated, by_key, why_stopped)
        for case, history in entries.items()
        if not (history[-1].get("fixture") and history[-1].get("result") not in FAILED)
    )


def what_stopped(text: str) -> str | None:
    """Return what stopped ReFrame itself, by what it printed; None if nothing did."""
    found = STOPPED.search(ANSI.sub("", text))
    return None if found is None else found["why"]


def _match_ends(text: str) -> Iterator[re.Match[str]]:
    for line in ANSI.sub("", text).splitlines():
        if found := ENDED.match(line):
            yield found


def _ran_case(
    case: TestId,
    history: Sequence[Mapping[str, Any]],
    stated: Mapping[str, str],
    by_key: Mapping[tuple[str, ...], Mapping[str, Any]],
    why_stopped: str | None,
) -> RanCase:
    if len(history) > 1 and _ROUND_CUT_OFF in str(history[-1].get("fail_reason")):
        history = history[:-1]  # --duration was over in the middle of one more round; the rounds before are whole
    last = history[-1]
    result = str(last.get("result"))
    reason = last.get("fail_reason") or (None if result in _SETTLED else why_stopped)
    if str(reason).startswith(_DEPENDENCIES_FAILED):
        result = "fail_deps"
    if result == "fail_deps":
        reason = _failed_dependency(last, by_key)
    return RanCase(
        case,
        result,
        last.get("fail_phase"),
        reason or stated.get(str(case)),
        last.get("stagedir"),
        len(history),
        any(entry.get("result") in (*FAILED, "fail_deps") for entry in history[:-1]),
    )


def _failed_dependency(entry: Mapping[str, Any], by_key: Mapping[tuple[str, ...], Mapping[str, Any]]) -> str | None:
    """Return which dependency of a test that did not run failed first, and how."""
    for key in entry.get("dependencies_actual") or ():
        found = by_key.get(tuple(key))
        if found is not None and found.get("result") in FAILED:
            return f"{_case_id(found).name} failed in stage {found.get('fail_phase')}: {found.get('fail_reason')}"
        if found is not None and found.get("result") == "fail_deps":
            return _failed_dependency(found, by_key)
    return None


def _key(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return ReFrame's name for a case among the dependencies of another."""
    return str(entry.get("unique_name")), f"{entry.get('system')}:{entry.get('partition')}", str(entry.get("environ"))


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
    blocks = tuple(_blocks(plain, sources.folder))
    unresolved = {match["cls"]: match["on"] for block in blocks if (match := UNRESOLVED.match(block.head))}
    return tuple(dict.fromkeys(sentence for block in blocks for sentence in _sentences(block, sources, unresolved)))


def _blocks(text: str, folder: Path) -> Iterator[CodeWarning]:
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
        if located is None and (located := LOCATION_IN_HEAD.search(head)):
            head = LOCATION_IN_HEAD.sub(r"\g<kind>", head, count=1)
        yield CodeWarning(
            head.removesuffix(":"),
            tuple(below),
            _located_path(folder, located["path"]) if located else None,
            int(located["line"]) if located else None,
        )


def _located_path(folder: Path, path: str) -> Path:
    """Return a path that ReFrame names; as it is if it is not below ReFrame's working folder.

    ReFrame 4.7 names a file that a fixture is in from the folder of the check, not from its own.
    """
    whole = Path(os.path.normpath(folder / path))
    return whole if whole.exists() else Path(path)


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
    dropped = DROPPED_DEPENDENT.match(line)
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
    parts = block.path.parts
    if file is None or file.parts[-len(parts) :] != parts:  # of a path that is not whole, the end
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
