"""`railyard run`: runs the checks of a system, from promise to verdict table, report and exit code."""

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from railyard.base.errors import SetupError
from railyard.base.paths import REPLAY_VARIABLE, SPACK_VARIABLE, find_home


@dataclass(frozen=True, slots=True)
class _Options:
    """The command's options, as click gives them."""

    name: str | None
    full: bool
    extended: bool
    failed: bool
    spack: bool
    spack_from: str | None
    replay: bool
    one_allocation: bool
    budget: float | None
    copy_to: Path | None
    as_json: bool
    reframe_options: tuple[str, ...]


@click.command(name="run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
@click.option("--system", "name", default=None, help="The system: NAME of systems/NAME.yaml, or NAME:FABRIC for one "
              "fabric. Default: virtual, or local if this machine permits no namespaces.")  # fmt: skip
@click.option("--full", is_flag=True, help="Measure every power of 2 as message size, not every second one.")
@click.option("--extended", is_flag=True, help="Also run the extended checks, which an everyday run leaves out.")
@click.option("--failed", is_flag=True, help="Run only what failed in the last run.")
@click.option("--spack", is_flag=True, help="Use the benchmarks that Spack builds. If they are missing, get "
              "Spack and build them.")  # fmt: skip
@click.option("--spack-from", metavar="PLACE", help="Like --spack, but get a missing Spack from a folder that "
              "railyard spack bootstrap --to filled, or from below a mirror's URL.")  # fmt: skip
@click.option("--replay", is_flag=True, help="Measure nothing: play the system's outputs from recordings/.")
@click.option(
    "--one-allocation",
    is_flag=True,
    help="Under Slurm: run all tests as steps of one allocation, or of the job that you are in.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0),
    default=None,
    help="Do not start if the time limits of all jobs add up to more node-minutes than this.",
)
@click.option(
    "--copy-to", type=click.Path(path_type=Path, file_okay=False),
    help="Also copy this run's report.html, records.jsonl and junit.xml into this folder.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON instead of tables.")
@click.argument("reframe_options", nargs=-1, type=click.UNPROCESSED)
def command(**options: Any) -> int:
    """Run a system's checks and judge each interconnect.

    \b
    Examples:
      railyard run                                        the virtual cluster
      railyard run --system dell-c6320 -n OsuBandwidth    one check of another

    REFRAME_OPTIONS are ReFrame's own (-n, -p, -t, -P, -S, --dry-run, -l …): ReFrame gets them as they are. A dry run
    says where its job scripts are, shows one, and names what it could not check on this host.

    Exit code: 0 all pass, or all scripts of a dry run are written; 1 a test failed, was disturbed, did not run as
    promised, or passed only on a retry; 2 wrong input, nothing selected, or a set-up that cannot work; 130 interrupted.
    """
    given = _Options(**options)
    from railyard.provision.spack.bootstrap import Getting
    from railyard.rfm.run.options import read
    from railyard.rfm.run.session import Session, SessionOptions, pass_through

    asks_spack = given.spack or given.spack_from is not None
    if asks_spack:
        os.environ[SPACK_VARIABLE] = "1"  # ReFrame reads the systems in its own process
    if given.replay:
        os.environ[REPLAY_VARIABLE] = "1"
    if given.copy_to is not None:
        _make(given.copy_to)  # before hours of a run, not after them
    home = find_home()
    asked = SessionOptions(
        *(given.name, given.full, given.failed, given.reframe_options, given.extended),
        *(given.one_allocation, given.budget, Getting(asks_spack, given.spack_from)),
    )
    if read(given.reframe_options).lists:
        return pass_through(home, asked, _say)
    session = Session(home, asked, echo=_quiet if given.as_json else _say)
    try:
        outcome = session.run()
    finally:
        # Also after an interrupted run: it is all that there is to look at.
        if given.copy_to is not None and session.folder is not None:
            _copy(session.folder, given.copy_to)
    if given.as_json:
        click.echo(json.dumps([record.to_json() for record in outcome.records], indent=1))
    return outcome.exit_code


def _copy(folder: Path, into: Path) -> None:
    """Copy the files of a run that a pipeline keeps, as far as they exist."""
    from railyard.cli.gitlab_pipeline import FILES

    try:
        for name in FILES:
            if (folder / name).exists():
                shutil.copy(folder / name, into / name)
    except OSError as error:
        raise _not_writable(into, error, f"the run's files are in {folder}") from error


def _make(folder: Path) -> None:
    """Make the folder of --copy-to, and write and remove a file there as a test. Raises SetupError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _not_writable(folder, error, "choose another; nothing has run yet") from error


def _not_writable(folder: Path, error: OSError, action: str) -> SetupError:
    found = (error.strerror or str(error)).lower()
    return SetupError(
        f"--copy-to {folder}: found {found} at {error.filename or folder}, expected a folder to write to; {action}"
    )


def _say(text: str) -> None:
    click.echo(text)


def _quiet(text: str) -> None:
    click.echo(text, err=True)
