"""`railyard record`: makes recordings for a replay, from a run's outputs or from the published numbers of a system."""

import getpass
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.errors import RailyardError
from railyard.base.paths import find_home
from railyard.cli.options import checks_option, say

if TYPE_CHECKING:
    from railyard.provision.replay.index import RecordedRun


@click.command(name="record")
@click.argument("run", required=False)
@click.option("--published", metavar="SYSTEM", help="Instead of a run: compute outputs from SYSTEM's references.")
@checks_option("With --published: instead of the site's checks, those of this file or folder; may be given again.")
@click.option("--replace", is_flag=True, help="Overwrite recordings that are there.")
def command(run: str | None, published: str | None, places: tuple[Path, ...], replace: bool) -> int:
    """Make recordings of a run, to replay it anywhere.

    \b
    Examples:
      railyard record                             the newest run
      railyard record --published dell-c6320 --replace

    RUN is a run's id or folder. The recordings go to recordings/SYSTEM. Names of hosts and users, paths and addresses
    are scrubbed; the tables stay the same. If outputs are computed from published numbers, the output, the index and
    every report say so. How much the nodes' counters grew is kept too, for `railyard rehearse --recording`.

    Exit code: 0 written, 2 wrong input.
    """
    from railyard.provision.replay.index import folder_of, write_set

    if run is not None and published is not None:
        raise RailyardError(f"--published: found it beside the run {run}, expected one of them; leave one out")
    if places and published is None:
        raise RailyardError("-c: found it without --published, expected both; a run has its own checks")
    home = find_home()
    found = _published_run(home, published, places) if published else _of_run(home, run)
    system, made, left = found.system, found.made, found.left
    folder = folder_of(home, system)
    there = [one.file for one, _ in made if (folder / one.file).exists()]
    if there and not replace:
        raise RailyardError(
            f"recordings/{system}/{there[0]}: found a recording, expected none "
            f"({len(there)} of {len(made)} are there); --replace overwrites them"
        )
    write_set(folder, made, instead_of=("computed", "model") if published else (), kept_texts=found.kept)
    for one, _ in made:
        counters = "" if one.kept is None else ", with its counters"
        say(f"recordings/{system}/{one.file}: {one.benchmark}, {one.origin}{counters}")
    for sentence in left:
        say(f"left out: {sentence}")
    say(f"{len(made)} recorded, {len(left)} left out; play them: railyard run --replay --system {system}")
    return 0


def _of_run(home: Path, run: str | None) -> "RecordedRun":
    from railyard.base.paths import runs_folder
    from railyard.parsers import PARSERS
    from railyard.provision.replay.index import recorded_outputs
    from railyard.rfm.run.reframe import last_run

    folder = last_run(home, "one to record; type: railyard run") if run is None else runs_folder(home) / run
    if run is not None and not folder.is_dir():
        folder = Path(run)
    return recorded_outputs(folder, PARSERS, _hosts(), _users())


def _published_run(home: Path, name: str, places: Sequence[Path]) -> "RecordedRun":
    from railyard.base.paths import CHECKS, part
    from railyard.provision.replay.form import words_of
    from railyard.provision.replay.index import RecordedRun
    from railyard.provision.replay.reference_outputs import published_outputs
    from railyard.rfm.checks.catalogue import needs
    from railyard.site.site import site_at
    from railyard.site.systems.load import find_system

    site = site_at(home, find_system(home / "systems", name).system)
    made, left = published_outputs(site, needs(*(places or (part(home, CHECKS),)), home=home))
    if not made:
        reasons = "\n".join(f"{words_of(one.test)}: {one.reason}" for one in left)
        raise RailyardError(f"{name}: found no test that its references have numbers for, expected one\n{reasons}")
    return RecordedRun(name, tuple(made), tuple(f"{words_of(one.test)}: {one.reason}" for one in left))


def _hosts() -> tuple[str, ...]:
    return socket.gethostname(), socket.getfqdn()


def _users() -> tuple[str, ...]:
    given = (os.environ.get(name) for name in ("USER", "LOGNAME", "SUDO_USER"))
    return tuple(dict.fromkeys(name for name in (getpass.getuser(), *given) if name))
