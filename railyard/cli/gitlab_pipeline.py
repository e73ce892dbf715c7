"""Makes a GitLab pipeline from what a system can run: one job per (fabric, stack) or per test, and a page of all jobs.

ReFrame's own generator makes one job per test variant, and drops the system. A fixture's job selects nothing there, so
that all jobs that need it fail (reframe#3344). Here a job is one `railyard run`, which has its own fixtures, promises,
folder and reports.

The script lines of its jobs are for the sh that GitLab's runner calls. They contain everything that a site chose when
the pipeline was made. If a child pipeline read variables, it would see other values: GitLab forwards a parent's
variables as in its file, and they override the project's own. It does not forward the variables of a schedule at all.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from railyard.base.errors import RailyardError
from railyard.site.matrix import Cell

#: Each job leaves its files below, in its own folder: two jobs never write the same file.
RESULTS = "railyard-results"
FILES = ("report.html", "records.jsonl", "junit.xml")
#: The newest results of a branch, one file per pipeline, as GitLab's cache keeps them.
KEPT = "railyard-branch"
#: To tell one new run from earlier ones at 95 %, `railyard compare` needs at least 39 of them. One more, as one may
#: fail.
KEPT_PIPELINES = 40
PAGE = "railyard-report.html"
COMPARISON = "railyard-compare.txt"
RECORDS = "railyard-records.jsonl"
_FOLDER = '"$CI_PROJECT_DIR"'


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how jobs work. Empty texts: the project's own folder, `make venv`, its railyard, no more options.

    ``options`` are options for `railyard run`, ``compare`` options for `railyard compare`, as a person types them.
    """

    folder: str = ""
    prepare: str = ""
    program: str = ""
    options: str = ""
    compare: str = ""


Per = Literal["stack", "test"]
#: What runs a job: the runner's own shell on a login node, Jacamar CI's shell there, or a batch executor (Jacamar's, or
#: a custom one for Slurm) that turns each job into a job of Slurm.
Executor = Literal["shell", "jacamar", "slurm"]

_HEAD = """\
# Made by `railyard ci generate`: a child pipeline, made again for each pipeline. Edit the system, not this file.
"""
#: Try again only if the runner broke: a failed verdict is an answer, not bad luck.
_RETRY = {"max": 1, "when": ["runner_system_failure"]}
#: A job is also in pipelines of merge requests if it has rules that always hold. Without rules it is not.
_ALWAYS = [{"when": "always"}]
_AFTER_SUCCESS = [{"when": "on_success"}]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a site chooses: tags of the runner that measures, how long a job may take (GitLab's words), what a job is.

    ``login_tags``: tags of the runner that builds and reports, empty if it is the same runner. ``build``: Spack builds
    the benchmarks first, once. ``extended``: run the extended checks too. ``pages``: publish the page in GitLab Pages.
    """

    tags: tuple[str, ...]
    login_tags: tuple[str, ...] = ()
    executor: Executor = "shell"
    timeout: str = "4 hours"
    per: Per = "stack"
    build: bool = False
    extended: bool = False
    pages: bool = False
    place: Place = field(default_factory=Place)


@dataclass(frozen=True, slots=True)
class Job:
    """One job that measures: its name, the folder for its files, the options of its `railyard run`, and its checks.

    ``checks`` names the check of each test: it says what the test needs from a scheduler.
    """

    name: str
    folder: str
    options: tuple[str, ...]
    checks: tuple[str, ...]


def jobs(system: str, cells: Sequence[Cell], settings: Settings) -> tuple[Job, ...]:
    """Return one job for each (fabric, stack) or each test that runs. Raises RailyardError if nothing runs."""
    running = [cell for cell in cells if cell.reason is None and (settings.extended or not cell.extended)]
    if not running:
        raise RailyardError(
            f"{system}: found no cell that runs, expected at least one, since GitLab refuses an empty pipeline; "
            f"railyard matrix --system {system} --why says why each does not"
        )
    checks: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for cell in running:
        checks.setdefault(_job(system, cell, settings), []).append(cell.test.check.split()[0])
    return tuple(Job(*job, tuple(names)) for job, names in checks.items())


def pipeline(
    system: str, cells: Sequence[Cell], settings: Settings, allocation: Callable[[Job], str] | None = None
) -> dict[str, Any]:
    """Return the child pipeline of a system as GitLab's keywords. Raises RailyardError if nothing runs.

    ``allocation`` returns what a job asks Slurm for, if the executor turns each job into a job of Slurm.
    """
    measuring = jobs(system, cells, settings)
    stages = [*(["build"] if settings.build else []), "measure", "report", *(["publish"] if settings.pages else [])]
    default: dict[str, Any] = {"tags": list(settings.tags), "retry": _RETRY, "interruptible": False}
    if settings.executor != "shell":
        # Jacamar reads from it for which user a job runs. Its name does not matter, its audience does.
        default["id_tokens"] = {"SITE_ID_TOKEN": {"aud": "$CI_SERVER_URL"}}
    made: dict[str, Any] = {"stages": stages, "default": default}
    if settings.build:
        made[f"{system} build"] = _building(system, settings)
    for job in measuring:
        made[job.name] = _measure_job(system, job, settings, allocation)
    made[f"{system} report"] = _report_job(system, measuring, settings)
    made[f"{system} keep"] = _keep_job(system, settings)
    made[f"{system} compare"] = _compare_job(system, settings)
    if settings.pages:
        made["pages"] = _publish_job(settings)
    return made


def format_pipeline(made: Mapping[str, Any]) -> str:
    """Return a pipeline as the text of its YAML file."""
    return _HEAD + yaml.dump(dict(made), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)


def _job(system: str, cell: Cell, settings: Settings) -> tuple[str, str, tuple[str, ...]]:
    """Return name, folder and options of the job that a cell belongs to."""
    # -p and -n are regular expressions. ReFrame compares -n with the test's name without blanks.
    options = ["--system", f"{system}:{cell.test.fabric}", "-p", f"^{_plain(cell.test.stack)}$"]
    words = [cell.test.fabric, cell.test.stack]
    if settings.extended:
        options.append("--extended")
    if settings.per == "test":
        check, *own = cell.test.check.split()
        policy = [f"%policy={cell.test.policy}"] if cell.named else []
        test = [check, f"%rails={cell.test.rails}", *policy, *own]
        options += ["-n", f"^{_plain(''.join(test))}$"]
        words += test
    folder = "_".join(re.sub(r"[^\w.-]+", "-", word).strip("-") for word in words)
    return " ".join([system, *words]), folder, tuple(options)


def _plain(text: str) -> str:
    """Return a regular expression that matches the text itself. Hyphens stay: a policy is read from it as it is."""
    return re.sub(r"([.+*?()\[\]{}|^$\\])", r"\\\1", text)


def _login(stage: str, settings: Settings, rules: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return the keywords of a job that does not measure."""
    tags = {"tags": list(settings.login_tags)} if settings.login_tags else {}
    return {"stage": stage, **tags, "rules": list(rules), "variables": _runner_variables()}


def _building(system: str, settings: Settings) -> dict[str, Any]:
    place = settings.place
    return _login("build", settings, _AFTER_SUCCESS) | {
        "timeout": settings.timeout,
        # Two builds at the same time would wait for each other's lock until their time is over.
        "resource_group": f"railyard-build-{system}",
        "script": [*enter(place), format_call(place, "spack", "install", "--system", system)],
    }


def _measure_job(system: str, job: Job, settings: Settings, allocation: Callable[[Job], str] | None) -> dict[str, Any]:
    folder, place = f"{RESULTS}/{job.folder}", settings.place
    asked = {} if allocation is None else {"SCHEDULER_PARAMETERS": allocation(job)}
    options = [*job.options, *(["--spack"] if settings.build else []), *(["--one-allocation"] if asked else [])]
    call = format_call(place, "run", *options, more=place.options)
    return {
        "stage": "measure",
        "rules": _AFTER_SUCCESS,
        "timeout": settings.timeout,
        # Two runs at the same time would disturb each other, also those of another pipeline.
        "resource_group": f"railyard-{system}",
        "variables": _runner_variables() | asked,
        "script": [*enter(place), *measuring_lines(folder, call)],
        "artifacts": {
            "when": "always",
            "name": f"railyard-{system}-{job.folder}-$CI_COMMIT_SHORT_SHA",
            "expire_in": "1 year",
            "paths": [f"{folder}/{name}" for name in FILES],
            "reports": {"junit": f"{folder}/junit.xml"},
        },
    }


def _report_job(system: str, measuring: Sequence[Job], settings: Settings) -> dict[str, Any]:
    """Return the job that makes one page of all jobs. It gives no verdict of its own."""
    # Run it also after a failed verdict, which ends the stage before: then people need the page most.
    return _login("report", settings, _ALWAYS) | {
        "script": [
            *enter(settings.place),
            *reporting_lines(settings.place, [job.folder for job in measuring]),
        ],
        "artifacts": _files(system, "report", PAGE),
    }


def _keep_job(system: str, settings: Settings) -> dict[str, Any]:
    """Return the job that keeps a branch's results, for merge requests into this branch."""
    return _login("report", settings, [{"if": "$CI_COMMIT_BRANCH", "when": "always"}]) | {
        # If two jobs added to one cache at the same time, the later one would drop what the other added.
        "resource_group": f"railyard-keep-{system}",
        "cache": _cache(system, "$CI_COMMIT_BRANCH", "pull-push"),
        "script": keeping_lines(),
    }


def _compare_job(system: str, settings: Settings) -> dict[str, Any]:
    """Return the job that compares a merge request's results with those of its target branch."""
    return _login("report", settings, [{"if": "$CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "when": "always"}]) | {
        "cache": _cache(system, "$CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "pull"),
        "script": comparing_lines(settings.place),
        "artifacts": _files(system, "compare", COMPARISON),
    }


def _publish_job(settings: Settings) -> dict[str, Any]:
    """Return the job that publishes the page: GitLab knows it by its name. Only the default branch has it."""
    return _login("publish", settings, [{"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH", "when": "always"}]) | {
        "script": page_lines(),
        "artifacts": {"paths": ["public"]},
    }


def _files(system: str, what: str, path: str) -> dict[str, Any]:
    return {
        "when": "always",
        "name": f"railyard-{system}-{what}-$CI_COMMIT_SHORT_SHA",
        "expire_in": "1 year",
        "paths": [path],
    }


def _cache(system: str, branch: str, policy: str) -> dict[str, Any]:
    # unprotect: a merge request's branch is seldom protected, and would not see the cache of a protected one
    return {
        "key": f"railyard-{system}-{branch}",
        "paths": [KEPT],
        "policy": policy,
        "unprotect": True,
        "when": "always",
    }


def _runner_variables() -> dict[str, str]:
    # INSTALL: a runner installs no system packages. Without x in the flags, .venv and .stacks stay between jobs, and
    # make checks whether they still fit.
    return {"INSTALL": "0", "GIT_CLEAN_FLAGS": "-ffd"}


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, as a person would, and never uses an anchor."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: no value is written as a reference to an equal one."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def enter(place: Place) -> list[str]:
    """Return the lines that change to the clone and make what is missing there."""
    folder = shlex.quote(place.folder) if place.folder else _FOLDER
    return [f"cd {folder}", place.prepare or "make venv"]


def format_call(place: Place, *words: str, more: str = "") -> str:
    """Return a call of railyard with these words, each quoted, and with the site's own options."""
    program = shlex.quote(place.program) if place.program else ".venv/bin/railyard"
    return " ".join([program, words[0], *map(shlex.quote, words[1:]), *map(shlex.quote, split(more))])


def split(options: str) -> list[str]:
    """Return a site's options as words. Raises RailyardError if a quotation mark has no partner."""
    try:
        return shlex.split(options)
    except ValueError as error:
        raise RailyardError(f"found the options {options!r} ({error}), expected words as in a shell") from None


def measuring_lines(folder: str, call: str) -> list[str]:
    """Return the lines that run, and keep only what THIS run wrote, not what others wrote in the same clone."""
    return [
        f'results="$CI_PROJECT_DIR/{folder}"',
        'rm -rf "$results"',
        f'{call} --copy-to "$results"',
    ]


def reporting_lines(place: Place, folders: Sequence[str]) -> list[str]:
    """Return the lines that make one page from all jobs' records, and name each job without records."""
    names = " ".join(map(shlex.quote, folders))
    return [
        f'results="$CI_PROJECT_DIR/{RESULTS}"',
        f"for job in {names}; do\n"
        '  if [ ! -f "$results/$job/records.jsonl" ]; then\n'
        '    echo "$job: found no records, expected those of its job; it was cancelled, or failed before it measured"\n'
        "  fi\n"
        "done\n",
        "code=0",
        f'{format_call(place, "report")} "$results"/*/records.jsonl -o "$CI_PROJECT_DIR/{PAGE}" || code=$?',
        # 1 says that a verdict failed: the job itself has said so already. 2 says that there is no page.
        '[ "$code" -le 1 ]',
    ]


def keeping_lines() -> list[str]:
    """Return the lines that put this pipeline's records beside those of the branch's earlier pipelines."""
    return [
        'cd "$CI_PROJECT_DIR"',
        *_joining_lines("nothing is kept"),
        f"mkdir -p {KEPT}",
        f'mv {RECORDS} "{KEPT}/$CI_PIPELINE_ID.jsonl"',
        f'ls {KEPT} | sort -n | head -n -{KEPT_PIPELINES} | while read -r old; do rm "{KEPT}/$old"; done',
    ]


def comparing_lines(place: Place) -> list[str]:
    """Return the lines that compare this pipeline with the target branch's; the exit code is that of the comparison."""
    files = f'"$CI_PROJECT_DIR/{KEPT}.jsonl" "$CI_PROJECT_DIR/{RECORDS}"'
    own = "".join(f" {shlex.quote(word)}" for word in split(place.compare))
    return [
        'cd "$CI_PROJECT_DIR"',
        f"if ! cat {KEPT}/*.jsonl >{KEPT}.jsonl 2>/dev/null; then\n"
        '  echo "$CI_MERGE_REQUEST_TARGET_BRANCH_NAME: found no results of this branch, expected those of its last '
        f'pipelines; nothing is compared" | tee {COMPARISON}\n'
        "  exit 0\n"
        "fi\n",
        *_joining_lines("nothing is compared", f" | tee {COMPARISON}"),
        *enter(place),
        "code=0",
        f'{format_call(place, "compare")} {files}{own} >"$CI_PROJECT_DIR/{COMPARISON}" || code=$?',
        f'cat "$CI_PROJECT_DIR/{COMPARISON}"',
        'exit "$code"',
    ]


def page_lines() -> list[str]:
    """Return the lines that put the page where GitLab Pages expects it."""
    return ["mkdir -p public", f"cp {PAGE} public/index.html"]


def _joining_lines(then: str, aside: str = "") -> list[str]:
    """Return the lines that join all jobs' records; if there are none, they end with exit code 0."""
    return [
        f"if ! cat {RESULTS}/*/records.jsonl >{RECORDS} 2>/dev/null; then\n"
        f'  echo "{RESULTS}: found no records, expected those of the jobs that measured; {then}"{aside}\n'
        "  exit 0\n"
        "fi\n"
    ]
