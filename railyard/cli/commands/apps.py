"""`railyard apps`: what applications need before they run."""

import json
from pathlib import Path

import click

from railyard.base.errors import problems, tally
from railyard.benchmarks.table.applications import WRF_CASES
from railyard.cli.options import say


@click.group(name="apps")
def command() -> None:
    """Check what applications need before they run."""


@command.command(name="inputs")
@click.argument("case", type=click.Choice(WRF_CASES))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--archive", type=click.Path(path_type=Path), help="The archive that the folder comes from: its SHA-256 "
              "is compared with the published one, and each file with the archive's.")  # fmt: skip
@click.option("--write", is_flag=True, help="Write SHA256SUMS into the folder if nothing is wrong. Jobs then check it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with the findings.")
def inputs_command(case: str, folder: Path, archive: Path | None, write: bool, as_json: bool) -> int:
    """Check a folder of inputs of a case of WRF.

    \b
    Examples:
      railyard apps inputs conus12km-v4 /data/wrf/conus12km-v4
      railyard apps inputs conus12km-v4 . --archive v42_bench_conus12km.tar.gz

    It compares names, forms, lengths, grid, step and start with the case and its namelist.input, and all bytes with
    SHA256SUMS if the folder has one. What it could not check, it says. An archive of 17 GB takes minutes.

    Exit code: 0 nothing is wrong, 1 something is, 2 wrong input: no such folder or archive.
    """
    from railyard.base.errors import RailyardError
    from railyard.benchmarks.apps.wrf import CHECKSUMS
    from railyard.benchmarks.apps.wrf_inputs import check_inputs, checksums

    report = check_inputs(case, folder, archive)
    wrong = problems(report.findings)
    if as_json:
        rows = [{"where": one.where, "weight": one.weight, "sentence": one.sentence} for one in report.findings]
        told = {"format": 1, "case": case, "folder": str(folder), "fits": report.fits, "findings": rows}
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        for said in report.fits:
            say(f"fits: {said}")
        for one in report.findings:
            say(f"{one.weight}: {one.sentence}")
        say(f"{case} in {folder}: {tally(report.findings)}")
    if write and not wrong:
        if (folder / CHECKSUMS).exists():
            raise RailyardError(f"--write: found {folder / CHECKSUMS}, expected none; remove it first")
        (folder / CHECKSUMS).write_text(checksums(folder, case), encoding="utf-8")
        say(f"wrote {folder / CHECKSUMS}", err=True)
    return 1 if wrong else 0
