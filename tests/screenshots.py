"""The pictures of the page in docs/, each made from the records of a real run that are kept in docs/screenshots.

    make screenshots                            every picture anew, from the records that are kept
    python -m tests.screenshots keep NAME RUN   keep the records in the folder RUN under NAME, in place of earlier ones

A picture is determined by its page: records, templates and styles. The page's digest is kept beside the picture. So a
picture that is too old is found without comparing pixels, which differ with the fonts of a machine.
"""

import gzip
import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.report.files import PROBLEMS_FILE_NAME, Results, read_results, write_format
from railyard.results.report.overview import FILE_NAME as MATRIX_FILE_NAME
from railyard.results.run_folder import COSTS_FILE_NAME, RELATIONS_FILE_NAME
from railyard.results.store.exchange import without_paths
from tests.made.browser import BrowserError, browser

DOCS = Path(__file__).resolve().parent.parent / "docs"
KEPT = DOCS / "screenshots"
INDEX = KEPT / "index.json"
_BESIDE = (MATRIX_FILE_NAME, RELATIONS_FILE_NAME, COSTS_FILE_NAME, PROBLEMS_FILE_NAME)


@dataclass(frozen=True)
class Shot:
    """A picture: its file in docs/, the kept run that it shows, its size in CSS pixels, and its theme.

    ``made_by`` is the command that the run came from. ``element`` selects the part of the page that is shown, in place
    of its first ``height`` pixels.
    """

    file: str
    run: str
    made_by: str
    width: int = 1280
    height: int = 1000
    dark: bool = False
    element: str = ""


_SLOW_RAIL = (
    "railyard testbed up; railyard testbed degrade vn2 hsn1 slow 40; "
    "railyard run --system virtual:hsn -p mpich -n 'ImbUniband|ImbAllreduce'"
)
SHOTS = (
    Shot("report.png", "virtual", "make run"),
    Shot("report-failing.png", "slow-rail", _SLOW_RAIL, height=1010),
    Shot("report-curve.png", "slow-rail", _SLOW_RAIL, element="#test-4 figure"),  # imb/Allreduce over two rails
    Shot("report-replay.png", "dell-c6320", "railyard run --system dell-c6320", dark=True),
)


def kept_results(run: str) -> Results:
    """Return the results of a kept run."""
    with tempfile.TemporaryDirectory() as folder:
        for packed in (KEPT / run).glob("*.gz"):
            Path(folder, packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
        return replace(read_results(Path(folder)), folder=None)


def page(run: str) -> str:
    """Return the page of a kept run, as `railyard report` writes it."""
    return write_format(kept_results(run), "html")


def digest(data: bytes) -> str:
    """Return the SHA-256 of a page or a picture."""
    return hashlib.sha256(data).hexdigest()


def index() -> Mapping[str, Mapping[str, str]]:
    """Return the digests of each picture and of the page that it was taken from."""
    found: Mapping[str, Mapping[str, str]] = json.loads(INDEX.read_text(encoding="utf-8"))
    return found


def stale(shot: Shot) -> str | None:
    """Return why a picture is not one of the present page, None where it is."""
    known, again = index().get(shot.file), "type: make screenshots"
    if known is None or not (DOCS / shot.file).is_file():
        return f"docs/{shot.file} was never made; {again}"
    if known["page"] != digest(page(shot.run).encode()):
        return f"docs/{shot.file} is older than the page that it shows: records, templates or styles changed; {again}"
    if known["picture"] != digest((DOCS / shot.file).read_bytes()):
        return f"docs/{shot.file} is not the picture that was made; {again}"
    return None


def take() -> None:
    """Take every picture anew and write the index. Raises BrowserError where there is no browser."""
    found: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as profile, browser(Path(profile)) as started:
        shown = started.page()
        for shot in SHOTS:
            text = page(shot.run)
            file = Path(profile) / f"{shot.run}.html"
            file.write_text(text, encoding="utf-8")
            shown.show(file, shot.width, shot.height, dark=shot.dark)
            picture = shown.picture_of(shot.element) if shot.element else shown.picture(shot.height)
            (DOCS / shot.file).write_bytes(picture)
            found[shot.file] = {"page": digest(text.encode()), "picture": digest(picture)}
            print(f"screenshots: docs/{shot.file}, of a run made by: {shot.made_by}")
    INDEX.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def keep(name: str, run: Path) -> None:
    """Keep the records of a run, without the paths of the machine that made them."""
    results = read_results(run)
    place = KEPT / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        for record in results.records:
            bare = record.with_fields(
                command=tuple(map(without_paths, record.how.command)),
                linked=tuple(map(without_paths, record.how.linked)),
                variables={key: without_paths(value) for key, value in record.how.variables.items()},
                environment=_without_paths(record.how.environment),
            )
            append_record(Path(folder) / FILE_NAME, bare)
        _pack(Path(folder) / FILE_NAME, place)
    for beside in _BESIDE:
        if (run / beside).is_file():
            _pack(run / beside, place)


def _without_paths(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_paths(one) for key, one in value.items()}
    return without_paths(value) if isinstance(value, str) else value


def _pack(file: Path, place: Path) -> None:
    """Write a file packed, without its name and the time, so that the same records are the same bytes."""
    (place / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))


def main(words: list[str]) -> int:
    """Do what the command line asks, and return its exit code."""
    if words[:1] == ["keep"] and len(words) == 3:
        keep(words[1], Path(words[2]))
        return 0
    if words:
        print(f"screenshots: found {' '.join(words)!r}, expected nothing, or: keep NAME RUN", file=sys.stderr)
        return 2
    try:
        take()
    except BrowserError as error:
        print(f"screenshots: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
