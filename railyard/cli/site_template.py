"""The first files of a new site's folder: settings, systems, references and pipelines, to copy or to write."""

from collections.abc import Iterator
from pathlib import Path

from railyard.base.paths import SETTINGS_FILE
from railyard.site.systems.load import load_systems

REPLAYED = "replay"

IGNORED = """\
# what runs and installations leave behind
/.railyard/
/.stacks/
# left by a plain `reframe`
/output/
/stage/
/perflogs/
/reframe.log
/reframe.out
/reframe_perf.out
__pycache__/
"""

GUIDE = """\
# A Railyard site

`systems/NAME.yaml` says what a cluster has, `references/NAME.yaml` what it should give. Both have a schema.json beside
them, with which editors complete them. `railyard detect` writes a first pair for the cluster that it runs on.

    railyard run                    # the virtual cluster of this machine, which needs no cluster
    railyard matrix --system NAME   # what would run on a cluster of yours; --why: why the rest would not
    railyard run --system NAME
    reframe -C reframe_settings.py -r --system NAME     # the same checks through ReFrame alone

The checks come with Railyard. A folder `checks/` here replaces them; `-c DIR` replaces them with DIR's checks.
`ci/gitlab-ci.yml` is a pipeline to include. `sh ci/needs.sh` names what a machine needs for the virtual cluster.
"""

#: Scripts only for a clone: its Makefile calls them.
_OF_A_CLONE = ("lock.sh", "venv.sh")


def site_files() -> dict[str, str]:
    """Return path -> text of the files that a site gets in addition to copies."""
    return {".gitignore": IGNORED, "README.md": GUIDE}


def files_to_copy(source: Path, published: bool) -> list[str]:
    """Return which of Railyard's own files, below ``source``, a new site gets, as sorted relative paths.

    With ``published`` also the published systems with their references and recordings, to replay them and to compare
    with them. Raises InputError if a system's file there is wrong.
    """
    return sorted(path.relative_to(source).as_posix() for path in _files(source, published))


def _files(source: Path, published: bool) -> Iterator[Path]:
    yield source / SETTINGS_FILE
    yield source / "systems" / "schema.json"
    yield source / "references" / "schema.json"
    for path in sorted((source / "ci").iterdir()):
        if path.is_file() and path.name not in _OF_A_CLONE:
            yield path
    for name, system in load_systems(source / "systems").items():
        if system.provider != REPLAYED or published:
            yield from _files_of(source, name)
    if published:
        yield from sorted((source / "references" / "classes").iterdir())


def _files_of(source: Path, name: str) -> Iterator[Path]:
    yield source / "systems" / f"{name}.yaml"
    for path in (source / "references" / f"{name}.yaml", source / "systems" / "spack" / f"{name}.yaml"):
        if path.is_file():
            yield path
    for folder in (source / "recordings" / name, source / "systems" / "spack" / name):
        yield from (path for path in folder.rglob("*") if path.is_file())
