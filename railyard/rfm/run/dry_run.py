"""One `railyard run --dry-run`: the jobs that would be sent, where their scripts are, and the text of one script."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from railyard.base.clean_text import clean
from railyard.base.wording import count_of
from railyard.rfm.run.reframe import promised_cases
from railyard.site.test_id import TestId

#: At most this many lines of a script are shown, and at most this many characters of each line.
MOST_LINES, MOST_CHARACTERS = 60, 240
#: ReFrame's name for the script that a scheduler is given.
SCRIPT = "rfm_job.sh"
#: "  stage directory:   '/home/me/railyard/.railyard/reframe/stage'"
_STAGE = re.compile(r"^\s*stage directory:\s+'(?P<folder>.*)'\s*$")


def dry_run(
    command: Sequence[str],
    env: Mapping[str, str],
    echo: Callable[[str], None],
    before: Callable[[Sequence[TestId]], object] = lambda cases: None,
) -> int:
    """Let ReFrame write the job scripts of the selected tests, say where they are, show one, and return its exit code.

    ``command`` is a `reframe` without an action (`-r`, `-l`, `--dry-run`). Raises RailyardError if ReFrame refuses it,
    if a `-S` or `-P` names nothing, or if nothing is selected: ReFrame passes an empty dry run.
    ``before`` is given all tests before the first one begins; what it raises is raised here.
    """
    cases, problems = promised_cases(command, dict(env))
    for problem in problems:
        echo(f"warning: {clean(problem)}")
    before(cases)
    begun = time.time()
    stage: Path | None = None
    with subprocess.Popen(
        [*command, "--dry-run"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            echo(line.rstrip("\n"))
            if found := _STAGE.match(line):
                stage = Path(found["folder"])
    echo("")
    # The clock of files is some milliseconds behind the clock of programs; ReFrame takes seconds to start.
    scripts = [] if stage is None else [path for path in _scripts(stage, cases) if path.stat().st_mtime > begun - 1]
    for line in script_lines(scripts, len(cases), stage):
        echo(line)
    return process.returncode


def without_actions(options: Sequence[str]) -> tuple[str, ...]:
    """Return ReFrame's options without `-r` and `--dry-run`, which cannot be combined with its listing."""
    return tuple(word for word in options if word not in ("-r", "--run") and not _is_dry_run(word))


def _is_dry_run(word: str) -> bool:
    # argparse completes a beginning that fits only one option: `--dry`.
    return len(word) > len("--d") and "--dry-run".startswith(word)


def _scripts(stage: Path, cases: Sequence[TestId]) -> Iterator[Path]:
    """Yield the script of each case that has one, in their order."""
    for case in cases:
        yield from stage.glob(f"{case.system}/{case.fabric}/{case.stack}/*_{case.hash}/{SCRIPT}")


def script_lines(scripts: Sequence[Path], cases: int, stage: Path | None) -> list[str]:
    """Return the lines about the scripts of ``cases`` tests: how many, in which folder, and the first one."""
    below = "" if stage is None else f" below {stage}"
    if not scripts:
        return [f"no job script was written{below} for {count_of(cases, 'test')}: ReFrame's lines above say why"]
    first = scripts[0]
    lines = clean(first.read_text(encoding="utf-8", errors="replace")).splitlines()
    text = [line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]} …" for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        text.append(f"… {count_of(len(lines) - MOST_LINES, 'more line')}")
    return [f"{count_of(len(scripts), 'job script')} of {count_of(cases, 'test')}{below}; {first}:", "", *text]
