"""`railyard init`: makes a folder for a site's own systems and references, without a clone."""

import os
import shutil
from pathlib import Path

import click

from railyard.base.errors import SetupError
from railyard.cli.options import say


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
    from railyard.cli.site_template import files_to_copy, site_files

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
