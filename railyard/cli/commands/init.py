"""`railyard init`: makes a folder for a site's own systems and references, without a clone.

Its first files are settings, systems, references and pipelines, to copy or to write.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from railyard.base.errors import SetupError, unwritable
from railyard.base.paths import SETTINGS_FILE, refuse_unfit
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

`systems/NAME.yaml` says what a cluster has. This one file is enough if it says `report_only` and why: the first run
shows what was measured beside the physical limits. `references/NAME.yaml` says what it should give, once you know.
Editors complete both by the schema.json beside them.

    railyard detect --write         # inside a job on a node: writes systems/NAME.yaml, and references/NAME.yaml to fill
    railyard lint                   # finds mistakes in these files
    railyard matrix --system NAME   # what would run; --why: why the rest would not
    railyard run --system NAME --dry-run        # writes the job scripts and submits nothing; works on a laptop too
    railyard doctor --system NAME --nodes       # finds what is wrong with the set-up
    railyard run --system NAME
    reframe -C reframe_settings.py -r --system NAME     # the same tests by ReFrame alone

Without a cluster, `railyard run` measures a virtual one on this machine: first type `sh ci/needs.sh`, which installs or
names what it needs, and `railyard stacks install`. Its systems are `virtual`, `virtual-slurm`, `virtual-flux`,
`virtual-pbs`, `virtual-sge` and, for one host alone, `local`; you may delete their files.

The checks come with Railyard. A folder `checks/` here replaces them; `-c DIR` replaces them with DIR's checks.
`ci/gitlab-ci.yml` is a pipeline to include, `ci/github-actions.yml` and `ci/Jenkinsfile` are for GitHub and Jenkins;
all run the `railyard` that the runner finds.
"""
#: Of Railyard's folder ci/ only these are for a site; all others are for its own development.
_CI = ("Jenkinsfile", "github-actions.yml", "gitlab-ci.yml", "needs.sh", "parent.gitlab-ci.yml")
#: The system whose guests need a kernel, which only a clone unpacks (`make needs VERBS=1`).
_OF_A_CLONE = "virtual-verbs"
#: A clone's pipeline makes .venv first; on a site's runner Railyard is installed. Each line -> the site's.
_PREPARED: Mapping[str, str] = {
    '  RAILYARD_PREPARE: "make venv"\n': '  RAILYARD_PREPARE: ":"\n  RAILYARD_PROGRAM: "railyard"\n',
    '  RAILYARD_PREPARE: ""\n': '  RAILYARD_PREPARE: ":"\n  RAILYARD_PROGRAM: "railyard"\n',
    "        RAILYARD_PREPARE = 'make venv'\n": (
        "        RAILYARD_PREPARE = ':'\n        RAILYARD_PROGRAM = 'railyard'\n"
    ),
}


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
    refuse_unfit(folder.resolve(), "a site")
    copies, texts = files_to_copy(source, published), site_files(source)
    wanted = list(dict.fromkeys((*copies, *texts)))
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
    say(f"next: cd {folder}, and read README.md there: its commands bring in your cluster, or test a virtual one")
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
        raise unwritable(target, "the file", error, ", or choose another folder") from None


def site_files(source: Path) -> dict[str, str]:
    """Return path -> text of the files that a site gets in addition to copies, or otherwise than below ``source``."""
    pipelines = {}
    for name in (f"ci/{name}" for name in _CI if not name.endswith(".sh")):
        text = (source / name).read_text(encoding="utf-8")
        for line, own in _PREPARED.items():
            text = text.replace(line, own)
        pipelines[name] = text
    return {".gitignore": IGNORED, "README.md": GUIDE, **pipelines}


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
    yield from (source / "ci" / name for name in _CI)
    for name, system in load_systems(source / "systems").items():
        if (system.provider != REPLAYED and name != _OF_A_CLONE) or published:
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
