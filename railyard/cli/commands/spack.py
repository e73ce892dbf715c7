"""`railyard spack`: builds benchmarks with Spack and looks after them, with Spack's own commands."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.paths import find_home
from railyard.base.wording import count_of
from railyard.cli.options import say

if TYPE_CHECKING:
    from railyard.provision.spack.build import BuiltEnvironment
    from railyard.provision.spack.request import Request

_system = click.option(
    "--system", "name", default="virtual", show_default=True, help="The system: NAME of systems/NAME.yaml."
)
_stack = click.option("--stack", "stacks", multiple=True, help="Only this stack. Repeatable. Default: all.")
_verbose = click.option("-v", "--verbose", is_flag=True, help="Print each command of Spack before it runs.")
_folder = click.argument("folder", type=click.Path(path_type=Path, file_okay=False))


@click.group(name="spack")
def command() -> None:
    """Build the benchmarks of a system's stacks with Spack."""


@command.command()
@_system
@_stack
@_verbose
@click.option("--again", is_flag=True, help="Build again, even if a build is there.")
def install(name: str, stacks: tuple[str, ...], verbose: bool, again: bool) -> int:
    """Build the environments of a system that are missing.

    \b
    Examples:
      railyard spack install --system mycluster
      railyard spack install --system mycluster --stack openmpi --verbose
    """
    from railyard.provision.spack.build import ensure

    for request in _requests(name, stacks):
        found = ensure(request, click.echo, verbose=verbose, again=again)
        click.echo(f"{request.stack}: {found.contents}, built {found.built}")
    return 0


@command.command()
@_system
@_stack
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(name: str, stacks: tuple[str, ...], as_json: bool) -> int:
    """Show what is built, where, how old and how large.

    \b
    Examples:
      railyard spack status --system mycluster
      railyard spack status --system mycluster --json

    Exit code: 0 all is built, 1 something is not, 2 wrong input.
    """
    from railyard.provision.spack.build import status as look

    requests = _requests(name, stacks)
    found = {request.stack: look(request) for request in requests}
    if as_json:
        click.echo(json.dumps([asdict(each) for built in found.values() for each in built], indent=1, default=str))
    else:
        for request in requests:
            for line in _status_lines(request, found[request.stack]):
                say(line)
    return 0 if all(any(_is_good(each) for each in built) for built in found.values()) else 1


@command.command()
@_system
@_stack
@_verbose
@click.option("--yes", is_flag=True, help="Write without asking.")
def lock(name: str, stacks: tuple[str, ...], verbose: bool, yes: bool) -> int:
    """Make the committed locks again, and show what changes.

    \b
    Examples:
      railyard spack lock --system mycluster
      railyard spack lock --system mycluster --stack openmpi --yes

    You see the changes before anything is written.
    """
    from railyard.provision.spack import build

    for request in _requests(name, stacks):
        found = build.relock(request, _line_printer(verbose), verbose=verbose)
        if found.changes == ():
            click.echo(f"{request.stack}: nothing changes")
            continue
        for line in found.changes if found.changes is not None else ("a first lock",):
            click.echo(f"{request.stack}: {line}")
        if yes or click.confirm(f"write {found.path}?"):
            build.write_lock(found)
            click.echo(f"{request.stack}: written to {found.path}")
    return 0


@command.command()
@_system
@_verbose
@click.option("--replace", is_flag=True, help="Overwrite an overlay that is there.")
@click.option("--print", "only_print", is_flag=True, help="Print it and write nothing.")
def detect(name: str, verbose: bool, replace: bool, only_print: bool) -> int:
    """Find this machine's compilers, MPI and transport libraries.

    \b
    Examples:
      railyard spack detect --system mycluster --print
      railyard spack detect --system mycluster

    They are written as an overlay (systems/spack/NAME.yaml) for you to review.
    """
    from railyard.provision.spack import calls, detect
    from railyard.provision.spack.overlay import overlay_file

    spack = calls.find(find_home(), click.echo, verbose)
    spack.version()
    found = detect.detect(spack)
    text = detect.overlay_text(name, found)
    if only_print:
        click.echo(text)
        return 0
    path = overlay_file(find_home(), name)
    detect.write(path, text, replace=replace)
    click.echo(f"{len(found.packages)} packages written to {path}: review it")
    for trap in found.traps:
        click.echo(f"trap: {trap}")
    return 0


@command.command()
@click.option(
    "--to", "folder", type=click.Path(path_type=Path, file_okay=False),
    help="Where to put it, such as a folder to carry. Default: the site's .railyard/spack-itself.",
)  # fmt: skip
@click.option("--from", "place", help="Get all of it from a folder that --to filled, or from below a mirror's URL.")
@click.option("--spack", "source", help="Another source of Spack for git: a folder or a mirror's URL.")
@click.option("--packages", help="Another source of spack-packages for git.")
def bootstrap(folder: Path | None, place: str | None, source: str | None, packages: str | None) -> int:
    """Get Spack, its packages and its solver, as tried.

    \b
    Examples:
      railyard spack bootstrap
      railyard spack bootstrap --to /carry
      railyard spack bootstrap --from /carry

    All later commands of the site use them: you do not have to change PATH.
    """
    from railyard.provision.spack.bootstrap import Origin, origin
    from railyard.provision.spack.bootstrap import bootstrap as get
    from railyard.provision.spack.program import own_folder

    given = origin(place) if place is not None else Origin()
    given = replace(given, spack=source or given.spack, packages=packages or given.packages)
    found = get(folder or own_folder(find_home()), click.echo, given)
    if folder is None:
        click.echo(f"spack: this site uses {found}")
    else:
        click.echo(f"spack: to use it, type on the site: railyard spack bootstrap --from {folder}")
    return 0


@command.group()
def mirror() -> None:
    """Put sources into a folder, for a site without a network."""


@mirror.command(name="create")
@_folder
@_system
@_stack
@_verbose
def mirror_create(folder: Path, name: str, stacks: tuple[str, ...], verbose: bool) -> int:
    """Put all sources of a system's environments into FOLDER.

    \b
    Examples:
      railyard spack mirror create /shared/sources --system mycluster
      railyard spack mirror create /shared/sources --stack openmpi
    """
    from railyard.provision.spack import build

    for request in _requests(name, stacks):
        build.create_mirror(request, folder, click.echo, verbose=verbose)
    click.echo(f"in the overlay there: {build.USE_SOURCES.format(folder=folder.resolve())}")
    return 0


@command.group()
def cache() -> None:
    """Put binaries into a folder, for other machines."""


@cache.command(name="push")
@_folder
@_system
@_stack
@_verbose
def cache_push(folder: Path, name: str, stacks: tuple[str, ...], verbose: bool) -> int:
    """Put what is built for a system into FOLDER.

    \b
    Examples:
      railyard spack cache push /shared/binaries --system mycluster
      railyard spack cache push /shared/binaries --stack openmpi
    """
    from railyard.provision.spack import build

    for request in _requests(name, stacks):
        build.push_to_mirror(request, folder, click.echo, verbose=verbose)
    click.echo(f"in the overlay there: {build.USE_BINARIES.format(folder=folder.resolve())}")
    return 0


@command.command()
@_system
@_verbose
def gc(name: str, verbose: bool) -> int:
    """Remove environments that nothing uses any more.

    \b
    Examples:
      railyard spack gc
      railyard spack gc --system mycluster --verbose

    It also removes what Spack installed only for them.
    """
    from railyard.provision.spack import build, calls

    requests = _requests(name, ())
    root = requests[0].root
    root.mkdir(parents=True, exist_ok=True)
    spack = calls.find(find_home(), click.echo, verbose, scopes=requests[0].scopes)
    removed = build.remove_unused(requests, spack, click.echo, root / "gc.log")
    click.echo(f"{count_of(removed, 'environment')} removed")
    return 0


def _requests(name: str, stacks: tuple[str, ...]) -> "tuple[Request, ...]":
    from railyard.provision.spack.request import requests

    return requests(find_home(), name, stacks)


def _is_good(each: "BuiltEnvironment") -> bool:
    return each.current and each.marker is not None and each.stale is None


def _status_lines(request: "Request", found: "tuple[BuiltEnvironment, ...]") -> list[str]:
    lines = []
    if not any(each.current for each in found):
        hint = f"railyard spack install --system {request.system} --stack {request.stack}"
        lines.append(f"{request.stack:<10} not built; type: {hint}")
    for each in found:
        which = "" if each.current else "of older sources: "
        lines.append(f"{request.stack:<10} {which}{_state(each)}; {each.folder}")
    return lines


def _state(each: "BuiltEnvironment") -> str:
    from railyard.provision.spack.build import age

    if each.marker is None:
        return "built by an older Railyard, to be proven again" if each.is_marked else "a build that did not end"
    if each.stale is not None:
        return f"not what was built: {each.stale}"
    old = age(each.marker.built, datetime.now(timezone.utc))
    return f"{each.marker.contents}, {old} old, {each.size_bytes / 1e6:.0f} MB"


def _line_printer(verbose: bool) -> Callable[[str], None]:
    """Return a function that prints Spack's lines only with --verbose: people should read the lock's difference."""
    return click.echo if verbose else lambda line: None
