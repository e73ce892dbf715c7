"""Writes the script lines of a pipeline's jobs, for the sh that GitLab's runner calls. Reads no files.

They contain everything that a site chose when the pipeline was made. If a child pipeline read variables, it would see
other values: GitLab forwards a parent's variables as in its file, and they override the project's own. It does not
forward the variables of a schedule at all.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.errors import RailyardError

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
