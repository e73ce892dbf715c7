"""`railyard init`: makes a folder for a site's own systems and references, without a clone.

Its first files are settings, systems, references and pipelines, to copy or to write.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import click

from railyard.base.errors import SetupError
from railyard.base.paths import SETTINGS_FILE
from railyard.cli.options import say
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


@click.command(name="init")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--published", is_flag=True, help="Also the published systems with their recordings, to replay them.")
@click.option("--missing", is_flag=True, help="Write only what the folder lacks; what is there stays as it is.")
def command(folder: Path, published: bool, missing: bool) -> int:
    """Write the files of a new site into FOLDER.

    \b
    Examples:
      railyard init my-site                  settings, systems/, references/, ci/
      railyard init my-site --published      and the published systems, to replay

    A site is a folder of your own. The checks stay where Railyard is installed. Files that exist are never overwritten.
    """
    from railyard.base.paths import find_shipped

    source = find_shipped()
    if source.resolve() == folder.resolve():
        raise SetupError(
            f"{folder}: found Railyard's own clone, expected a folder for a site; the clone is one already"
        )
    copies, texts = files_to_copy(source, published), site_files()
    wanted = [*copies, *texts]
    there = [name for name in wanted if (folder / name).exists()]
    if there and not missing:
        first = f"{', '.join(there[:3])}{' …' if len(there) > 3 else ''}"
        raise SetupError(
            f"{folder}: found {first} there already, expected none of the files of a new site; "
            "give an empty folder, or --missing to write only what it lacks"
        )
    for name in wanted:
        if name not in there:
            _write(folder / name, texts[name] if name in texts else source / name)
    left = f", left {len(there)} as they are" if there else ""
    click.echo(f"{folder}: wrote {len(wanted) - len(there)} files{left}")
    say(f"next: cd {folder} && railyard run    (a virtual cluster on this machine; on a cluster: railyard detect)")
    return 0


def _write(target: Path, content: str | Path) -> None:
    """Write a text, or copy a file without its owner and times: the site has its own. Raises SetupError."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copyfile(content, target)
            target.chmod(0o755 if os.access(content, os.X_OK) else 0o644)
        else:
            target.write_text(content, encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"{target}: cannot be written ({error.strerror}), expected a folder that you may write to; "
            "choose another, or correct its permissions"
        ) from None


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
