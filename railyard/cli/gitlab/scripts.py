"""The script lines of a pipeline's jobs, for the sh that GitLab's runner gives them to. Pure.

They contain all that a site chose, as it was when the pipeline was made. A child pipeline that read variables would
see other values: GitLab forwards a parent's variables as its file states them, with precedence over the project's own,
and does not forward those of a schedule at all.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.errors import RailyardError

#: Where each job leaves its files, in a folder of its own below: two jobs never write the same one.
RESULTS = "railyard-results"
FILES = ("report.html", "records.jsonl", "junit.xml")
#: The newest results of a branch, a file a pipeline, as GitLab's cache keeps them.
KEPT = "railyard-branch"
#: One new run is told from 39 earlier ones at 95 %, and from no fewer (railyard compare); one more, since one may fail.
KEPT_PIPELINES = 40
PAGE = "railyard-report.html"
COMPARISON = "railyard-compare.txt"
RECORDS = "railyard-records.jsonl"

_FOLDER = '"$CI_PROJECT_DIR"'


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how jobs work; an empty text is the project's own folder, `make venv`, its railyard, no more options.

    ``options`` are of `railyard run`, ``compare`` of `railyard compare`, as a person types them.
    """

    folder: str = ""
    prepare: str = ""
    program: str = ""
    options: str = ""
    compare: str = ""


def enter(place: Place) -> list[str]:
    """Return the lines that go to the clone and make what is missing there."""
    folder = shlex.quote(place.folder) if place.folder else _FOLDER
    return [f"cd {folder}", place.prepare or "make venv"]


def called(place: Place, *words: str, more: str = "") -> str:
    """Return a call of railyard with these words, each of them quoted, and with a site's own options."""
    program = shlex.quote(place.program) if place.program else ".venv/bin/railyard"
    return " ".join([program, words[0], *map(shlex.quote, words[1:]), *map(shlex.quote, split(more))])


def split(options: str) -> list[str]:
    """Return a site's options as words. Raises RailyardError where a quotation mark has no partner."""
    try:
        return shlex.split(options)
    except ValueError as error:
        raise RailyardError(f"found the options {options!r} ({error}), expected words as in a shell") from None


def measured(folder: str, call: str) -> list[str]:
    """Return the lines that run and keep what THIS run wrote, never what another wrote in the same clone."""
    return [
        f'results="$CI_PROJECT_DIR/{folder}"',
        'rm -rf "$results"',
        f'{call} --copy-to "$results"',
    ]


def reported(place: Place, folders: Sequence[str]) -> list[str]:
    """Return the lines that make one page of all jobs' records, and name each job that left none."""
    names = " ".join(map(shlex.quote, folders))
    return [
        f'results="$CI_PROJECT_DIR/{RESULTS}"',
        f"for job in {names}; do\n"
        '  if [ ! -f "$results/$job/records.jsonl" ]; then\n'
        '    echo "$job: found no records, expected those of its job; it was cancelled, or failed before it measured"\n'
        "  fi\n"
        "done\n",
        "code=0",
        f'{called(place, "report")} "$results"/*/records.jsonl -o "$CI_PROJECT_DIR/{PAGE}" || code=$?',
        # 1 says that a verdict failed, which its own job has said; 2 that there is no page.
        '[ "$code" -le 1 ]',
    ]


def kept() -> list[str]:
    """Return the lines that put this pipeline's records beside those of the branch's earlier ones."""
    return [
        'cd "$CI_PROJECT_DIR"',
        *_joined("nothing is kept"),
        f"mkdir -p {KEPT}",
        f'mv {RECORDS} "{KEPT}/$CI_PIPELINE_ID.jsonl"',
        f'ls {KEPT} | sort -n | head -n -{KEPT_PIPELINES} | while read -r old; do rm "{KEPT}/$old"; done',
    ]


def compared(place: Place) -> list[str]:
    """Return the lines that compare this pipeline with the target branch's; its exit code is the comparison's."""
    files = f'"$CI_PROJECT_DIR/{KEPT}.jsonl" "$CI_PROJECT_DIR/{RECORDS}"'
    own = "".join(f" {shlex.quote(word)}" for word in split(place.compare))
    return [
        'cd "$CI_PROJECT_DIR"',
        f"if ! cat {KEPT}/*.jsonl >{KEPT}.jsonl 2>/dev/null; then\n"
        '  echo "$CI_MERGE_REQUEST_TARGET_BRANCH_NAME: found no results of this branch, expected those of its last '
        f'pipelines; nothing is compared" | tee {COMPARISON}\n'
        "  exit 0\n"
        "fi\n",
        *_joined("nothing is compared", f" | tee {COMPARISON}"),
        *enter(place),
        "code=0",
        f'{called(place, "compare")} {files}{own} >"$CI_PROJECT_DIR/{COMPARISON}" || code=$?',
        f'cat "$CI_PROJECT_DIR/{COMPARISON}"',
        'exit "$code"',
    ]


def published() -> list[str]:
    """Return the lines that put the page where GitLab Pages takes it from."""
    return ["mkdir -p public", f"cp {PAGE} public/index.html"]


def _joined(then: str, aside: str = "") -> list[str]:
    """Return the lines that join all jobs' records, and end well where there are none."""
    return [
        f"if ! cat {RESULTS}/*/records.jsonl >{RECORDS} 2>/dev/null; then\n"
        f'  echo "{RESULTS}: found no records, expected those of the jobs that measured; {then}"{aside}\n'
        "  exit 0\n"
        "fi\n"
    ]
