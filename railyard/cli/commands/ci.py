"""`railyard ci`: makes pipelines for GitLab from what a system can run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import click

from railyard.base.errors import RailyardError, SetupError
from railyard.base.paths import find_home
from railyard.cli.gitlab_pipeline import Executor, Job, Place, Settings, format_pipeline, pipeline

if TYPE_CHECKING:
    from railyard.site.matrix import Need
    from railyard.site.systems.model import System

_ANY_RUNNER = ("railyard",)


@click.group(name="ci")
def command() -> None:
    """Write pipelines for GitLab."""


@dataclass(frozen=True, slots=True)
class _Options:
    """The command's options, as click gives them."""

    name: str
    tags: tuple[str, ...]
    login_tags: tuple[str, ...]
    executor: str
    per: str
    timeout: str
    spack: bool
    extended: bool
    pages: bool
    folder: str
    prepare: str
    program: str
    options: str
    compare: str
    output: Path | None


@command.command(name="generate")
@click.option("--system", "name", default="virtual", show_default=True, help="The system: NAME of systems/NAME.yaml.")
@click.option("--tag", "tags", multiple=True, help="A tag of the runner that measures. Repeatable. "
              "[default: that of --login-tag, else railyard]")  # fmt: skip
@click.option("--login-tag", "login_tags", multiple=True, help="A tag of the runner that builds and reports, if it "
              "is another one. Repeatable.")  # fmt: skip
@click.option(
    "--executor", type=click.Choice(get_args(Executor)), default="shell", show_default=True,
    help="What runs a job: a shell on a login node, Jacamar CI's shell there, or Jacamar's Slurm executor, where "
         "each job is an allocation.",
)  # fmt: skip
@click.option(
    "--per",
    type=click.Choice(["stack", "test"]),
    default="stack",
    show_default=True,
    help="One job per stack or per test.",
)
@click.option("--timeout", default="4 hours", show_default=True, help="How long a job may take, in GitLab's words.")
@click.option("--spack", is_flag=True, help="First build the benchmarks with Spack, in a separate job.")
@click.option("--extended", is_flag=True, help="Also run the extended checks.")
@click.option("--pages", is_flag=True, help="Also publish the default branch's page in GitLab Pages.")
@click.option("--folder", default="", envvar="RAILYARD_FOLDER", show_envvar=True,
              help="Where jobs work, if not in the project's own folder.")  # fmt: skip
@click.option("--prepare", default="", envvar="RAILYARD_PREPARE", show_envvar=True,
              help="The command with which each job begins, if not `make venv`.")  # fmt: skip
@click.option("--program", default="", envvar="RAILYARD_PROGRAM", show_envvar=True,
              help="Where railyard is, if not in .venv.")  # fmt: skip
@click.option("--options", default="", envvar="RAILYARD_OPTIONS", show_envvar=True,
              help="More options for each `railyard run`.")  # fmt: skip
@click.option("--compare", default="", envvar="RAILYARD_COMPARE", show_envvar=True,
              help="Options for `railyard compare` with the target branch.")  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file; else print it."
)
def generate_command(**options: Any) -> int:
    """Write the child pipeline of a system.

    \b
    Examples:
      railyard ci generate --system mycluster -o child.yml
      railyard ci generate --system mycluster --executor slurm --per test

    ci/parent.gitlab-ci.yml generates and starts it on the cluster's own runners. It contains all settings: a child
    pipeline does not see the variables of its parent.
    """
    given = _Options(**options)
    from railyard.base.paths import CHECKS, part
    from railyard.provision.spack.request import requests
    from railyard.rfm.checks.catalogue import needs
    from railyard.site.matrix import matrix
    from railyard.site.references.load import references_of
    from railyard.site.systems.load import find_system, load_systems

    home = find_home()
    asked = needs(part(home, CHECKS))
    if not asked:
        raise SetupError(
            f"{part(home, CHECKS)}: found no check, expected some; remove the empty folder, or copy checks into it"
        )
    system = find_system(home / "systems", given.name)
    extended = given.extended or system.provider == "replay"  # a replay runs all of its checks every day
    if given.spack:
        requests(home, given.name)  # refuses a system for which Spack builds nothing
        system = load_systems(home / "systems", asked_for_spack=True)[given.name]
    cells = matrix(system, asked, references_of(home / "references", system).has_number)
    settings = Settings(
        tags=given.tags or given.login_tags or _ANY_RUNNER,
        login_tags=given.login_tags if given.tags else (),
        executor=cast(Executor, given.executor),
        timeout=given.timeout,
        per="test" if given.per == "test" else "stack",
        build=given.spack,
        extended=extended,
        pages=given.pages,
        place=Place(given.folder, given.prepare, given.program, given.options, given.compare),
    )
    allocation = _allocation(system, {need.check: need for need in asked}) if given.executor == "slurm" else None
    made = pipeline(given.name, cells, settings, allocation)
    text = format_pipeline(made)
    if given.output is None:
        click.echo(text, nl=False)
        return 0
    from railyard.results.report.files import write_report

    write_report(given.output, text)
    jobs = sum("script" in job for job in made.values() if isinstance(job, dict))
    click.echo(f"wrote {given.output}: {jobs} jobs", err=True)
    return 0


def _allocation(system: "System", asked: "Mapping[str, Need]") -> Callable[[Job], str]:
    """Return a function that gives a job's options for sbatch. Raises RailyardError if the system has no Slurm."""
    from railyard.rfm.run.session import estimate, shape
    from railyard.site.systems.jobs import is_slurm

    if not is_slurm(system.scheduler):
        raise RailyardError(
            f"--executor slurm: found the scheduler {system.scheduler} of {system.system}, expected Slurm; "
            "choose an executor for a login node: shell or jacamar"
        )
    return lambda job: " ".join(shape(system, estimate(system, job.checks, asked)))
