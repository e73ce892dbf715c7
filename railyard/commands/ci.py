"""`railyard ci`: pipelines for GitLab, made from what a system can run."""

from pathlib import Path

import click

from railyard.errors import SetupError
from railyard.home import find_home
from railyard.pipeline import Settings, pipeline, written


@click.group(name="ci")
def command() -> None:
    """Pipelines for GitLab on a cluster's own runners."""


@command.command(name="generate")
@click.option("--system", "name", default="virtual", show_default=True, help="The system, as its file is named.")
@click.option("--tag", default="railyard", show_default=True, help="The tag of the runner that may submit jobs there.")
@click.option(
    "--per", type=click.Choice(["stack", "test"]), default="stack", show_default=True, help="A job a stack or a test."
)
@click.option("--timeout", default="4 hours", show_default=True, help="How long a job may take, in GitLab's words.")
@click.option("--spack", is_flag=True, help="Spack builds the benchmarks first, in a job of its own.")
@click.option("--extended", is_flag=True, help="The extended checks too.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Left out: print it.")
def generate_command(
    name: str, tag: str, per: str, timeout: str, spack: bool, extended: bool, output: Path | None
) -> int:
    """Write the child pipeline of a system, which ci/parent.gitlab-ci.yml makes and starts."""
    from railyard.catalogue import needs
    from railyard.cells import matrix
    from railyard.references import references_of
    from railyard.shipped import CHECKS, part
    from railyard.spack.wanted import requests
    from railyard.systems import find_system, load_systems

    home = find_home()
    asked = needs(part(home, CHECKS))
    if not asked:
        raise SetupError(f"{part(home, CHECKS)}: found no check, expected some; run from the clone, or copy checks/")
    system = find_system(home / "systems", name)
    extended = extended or system.provider == "replay"  # which runs all of its checks every day
    if spack:
        requests(home, name)  # refuses a system of which Spack builds nothing
        system = load_systems(home / "systems", asked_for_spack=True)[name]
    cells = matrix(system, asked, references_of(home / "references", system).has_number)
    settings = Settings(tag, timeout, "test" if per == "test" else "stack", spack, extended)
    made = pipeline(name, cells, settings)
    text = written(made)
    if output is None:
        click.echo(text, nl=False)
        return 0
    from railyard.report.files import write_report

    write_report(output, text)
    jobs = sum("script" in job for job in made.values() if isinstance(job, dict))
    click.echo(f"wrote {output}: {jobs} jobs", err=True)
    return 0
