"""A GitLab pipeline made from what a system can run: a job a (fabric, stack) or a test, and a page of all of them.

ReFrame's own generator has a job a test variant, drops the system, and gives a fixture a job that selects nothing, so
that all that need it die (reframe#3344). Here a job is one `railyard run`, which has its own fixtures, promises, folder
and reports.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from railyard.cells import Cell
from railyard.errors import RailyardError

Per = Literal["stack", "test"]
#: Where each job leaves its files, in a folder of its own below: two jobs never write the same one.
RESULTS = "railyard-results"
FILES = ("report.html", "records.jsonl", "junit.xml")
STAGES = ("build", "measure", "report")
#: A site without a clone has Railyard elsewhere than in the environment that `make venv` makes.
PROGRAM = "${RAILYARD_PROGRAM:-.venv/bin/railyard}"

_HEAD = """\
# Made by `railyard ci generate`: a child pipeline, made again for each pipeline. Edit the system, not this file.
"""
#: Only a broken runner is tried again: a failed verdict is an answer, not bad luck.
_RETRY = {"max": 1, "when": ["runner_system_failure"]}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a site chooses: the runner's tag, how long a job may take (GitLab's words), a job a stack or a test.

    ``build``: Spack builds the benchmarks first, once. ``extended``: the extended checks too.
    """

    tag: str
    timeout: str = "4 hours"
    per: Per = "stack"
    build: bool = False
    extended: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One job that measures: its name, the folder for its files, and the options of its `railyard run`."""

    name: str
    folder: str
    options: tuple[str, ...]


def jobs(system: str, cells: Sequence[Cell], settings: Settings) -> tuple[Job, ...]:
    """Return a job for what runs: each (fabric, stack), or each test. Raises RailyardError where nothing does."""
    running = [cell for cell in cells if cell.reason is None and (settings.extended or not cell.extended)]
    if not running:
        raise RailyardError(
            f"{system}: found no cell that runs, expected one at least, since GitLab refuses an empty pipeline; "
            f"railyard matrix --system {system} says why each does not"
        )
    made = [_job(system, cell, settings) for cell in running]
    return tuple(dict.fromkeys(made))


def pipeline(system: str, cells: Sequence[Cell], settings: Settings) -> dict[str, Any]:
    """Return the child pipeline of a system as GitLab's keywords. Raises RailyardError where nothing runs."""
    measuring = jobs(system, cells, settings)
    made: dict[str, Any] = {
        "stages": list(STAGES if settings.build else STAGES[1:]),
        "default": {"tags": [settings.tag], "retry": _RETRY, "interruptible": False},
    }
    if settings.build:
        made[f"{system} build"] = _building(system, settings)
    for job in measuring:
        made[job.name] = _measuring(system, job, settings)
    made[f"{system} report"] = _reporting(system, measuring)
    return made


def written(made: Mapping[str, Any]) -> str:
    """Return a pipeline as the text of its YAML file."""
    return _HEAD + yaml.dump(dict(made), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)


def _job(system: str, cell: Cell, settings: Settings) -> Job:
    # -p and -n are regular expressions, of which -n is held against the test's name without its blanks.
    options = ["--system", f"{system}:{cell.fabric}", "-p", f"^{_plain(cell.stack)}$"]
    words = [cell.fabric, cell.stack]
    if settings.extended:
        options.append("--extended")
    if settings.per == "test":
        check, *own = cell.check.split()
        policy = [f"%policy={cell.policy}"] if cell.named else []
        test = [check, f"%rails={cell.rails}", *policy, *own]
        options += ["-n", f"^{_plain(''.join(test))}$"]
        words += test
    folder = "_".join(re.sub(r"[^\w.-]+", "-", word).strip("-") for word in words)
    return Job(" ".join([system, *words]), folder, tuple(options))


def _plain(text: str) -> str:
    """Return a text as a regular expression for itself; hyphens stay, since a policy is read from it as it is."""
    return re.sub(r"([.+*?()\[\]{}|^$\\])", r"\\\1", text)


def _building(system: str, settings: Settings) -> dict[str, Any]:
    return {
        "stage": "build",
        "timeout": settings.timeout,
        # Two builds at once would wait for each other's lock until their time is out.
        "resource_group": f"railyard-build-{system}",
        "variables": _runner_variables(),
        "script": [*_enter(), f"{PROGRAM} spack install --system {_quoted(system)}"],
    }


def _measuring(system: str, job: Job, settings: Settings) -> dict[str, Any]:
    folder = f"{RESULTS}/{job.folder}"
    spack = " --spack" if settings.build else ""
    call = f"{PROGRAM} run {' '.join(map(_quoted, job.options))}{spack} $RAILYARD_OPTIONS || code=$?"
    return {
        "stage": "measure",
        "timeout": settings.timeout,
        # Two runs at once would measure each other, those of another pipeline too.
        "resource_group": f"railyard-{system}",
        "variables": _runner_variables(),
        "script": [
            *_enter(),
            f'results="$CI_PROJECT_DIR/{folder}"',
            'rm -rf "$results"',
            'mkdir -p "$results"',
            'touch "$results/started"',
            "code=0",
            call,
            _kept(),
            'exit "$code"',
        ],
        "artifacts": {
            "when": "always",
            "name": f"railyard-{system}-{job.folder}-$CI_COMMIT_SHORT_SHA",
            "expire_in": "1 year",
            "paths": [f"{folder}/{name}" for name in FILES],
            "reports": {"junit": f"{folder}/junit.xml"},
        },
    }


def _reporting(system: str, measuring: Sequence[Job]) -> dict[str, Any]:
    """Return the job that makes one page of all jobs; the verdicts stay those of the jobs that measured."""
    return {
        "stage": "report",
        # A failed verdict ends the stage before, and is what the page is read for.
        "when": "always",
        "variables": _runner_variables(),
        "script": [
            *_enter(),
            f'results="$CI_PROJECT_DIR/{RESULTS}"',
            _missing(measuring),
            "code=0",
            f'{PROGRAM} report "$results"/*/records.jsonl -o "$CI_PROJECT_DIR/railyard-report.html" || code=$?',
            # 1 says that a verdict failed, which its own job has said; 2 that there is no page.
            '[ "$code" -le 1 ]',
        ],
        "artifacts": {
            "when": "always",
            "name": f"railyard-{system}-report-$CI_COMMIT_SHORT_SHA",
            "expire_in": "1 year",
            "paths": ["railyard-report.html"],
        },
    }


def _runner_variables() -> dict[str, str]:
    # INSTALL: a runner installs no system packages. Without x in the flags .venv and .stacks stay between jobs, and
    # make sees whether they still fit.
    return {"INSTALL": "0", "GIT_CLEAN_FLAGS": "-ffd"}


def _enter() -> list[str]:
    # No default is a variable of the pipeline: what the parent forwards is expanded there, where the runner's own
    # $CI_PROJECT_DIR is not known.
    return ['cd "${RAILYARD_FOLDER:-$CI_PROJECT_DIR}"', "${RAILYARD_PREPARE:-make venv}"]


def _kept() -> str:
    """Return the lines that keep what THIS run wrote, never an older run's report where this one made none."""
    return (
        f"for file in {' '.join(FILES)}; do\n"
        '  find .railyard/runs -mindepth 2 -maxdepth 2 -name "$file" -newer "$results/started" '
        '-exec cp {} "$results/" \\; || true\n'
        "done\n"
    )


def _missing(measuring: Sequence[Job]) -> str:
    """Return the lines that say which jobs left no records: cancelled ones, and those that never began."""
    folders = " ".join(_quoted(job.folder) for job in measuring)
    return (
        f"for job in {folders}; do\n"
        '  if [ ! -f "$results/$job/records.jsonl" ]; then\n'
        '    echo "$job: found no records, expected those of its job; it was cancelled, or failed before it measured"\n'
        "  fi\n"
        "done\n"
    )


def _quoted(word: str) -> str:
    """Return a word in single quotes for sh; GitLab expands no variable in a script, sh does."""
    return "'" + word.replace("'", "'\\''") + "'"


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, as a person would, and never an anchor."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return that no value is written as a reference to an equal one."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
