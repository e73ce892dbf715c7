"""`railyard detect`: makes a new cluster's two files from what one of its nodes shows.

Without --root it reads this machine: its own /sys and /proc, its search path, and commands with a short time limit.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.errors import InputError, SetupError
from railyard.base.values import clean
from railyard.cli.options import say
from railyard.cluster.detect.source import Folder
from railyard.provision.testbed.boot import SEARCH_PATH

if TYPE_CHECKING:
    from railyard.cluster.detect.source import Source
    from railyard.cluster.detect.system_text import Texts


_LIMIT_S = 20


class Machine(Folder):
    """The host, or the node of a job, that this process runs on."""

    def __init__(self) -> None:
        super().__init__(Path("/"))

    def which(self, program: str) -> str | None:
        """Return the path of a program on the search path, or in /usr/sbin (``ip``, ``ibstat`` in some packages)."""
        return shutil.which(program, path=SEARCH_PATH)

    def run(self, *words: str) -> str | None:
        """Return what a command printed; for ``module`` also what it printed on stderr, where Lmod answers."""
        # `module` is a function of the login shell, not a program.
        command = ["bash", "-lc", " ".join(words)] if words[0] == "module" else list(words)
        program = self.which(command[0])
        if program is None:
            return None
        try:
            done = subprocess.run(
                [program, *command[1:]],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LIMIT_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode:
            return None
        text = done.stdout + done.stderr if words[0] == "module" else done.stdout
        return clean(text).strip()


@click.command(name="detect")
@click.option(
    "--root", type=click.Path(path_type=Path),
    help="Read a recording, or a folder with sys/, proc/ and commands/, instead of this machine.",
)  # fmt: skip
@click.option("--name", help="The system's name. Default: the cluster's name in the scheduler, else the host's.")
@click.option(
    "--write",
    "writes",
    is_flag=True,
    help="Write systems/NAME.yaml and references/NAME.yaml, and the scheduler's switches beside it.",
)
@click.option("--replace", is_flag=True, help="With --write: overwrite files that are there.")
@click.option("--record", type=click.Path(path_type=Path), help="Also write all that was read into this file.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as one JSON object.")
def command(
    root: Path | None, name: str | None, writes: bool, replace: bool, record: Path | None, as_json: bool
) -> int:
    """Write a system's file from what this machine shows.

    \b
    Examples:
      railyard detect --name mycluster           print the file
      railyard detect --name mycluster --write   write it into systems/

    Run it inside a job: then it sees the rails of the nodes. It looks at rails, scheduler and MPI stacks. Review what
    it prints. On stderr it names what looks wrong, such as a card in a narrow slot, a port without a link or a small
    MTU.

    Exit code: 0 done, 2 wrong input, or this machine has no network at all.
    """
    from railyard.base.paths import find_home
    from railyard.cluster.detect.detected_cluster import detect
    from railyard.cluster.detect.scheduler import JOBS
    from railyard.cluster.detect.source import Recorder
    from railyard.cluster.detect.system_text import Texts, missing_parts, references_text, switches_text, system_text

    _check(name, writes, replace)
    job_variable = None if root is not None else next((name for name in JOBS if os.environ.get(name)), None)
    home, where = find_home(), _find_target(root, job_variable)
    recorder = Recorder(_source(root))
    found = detect(recorder, job_variable)
    if record is not None:
        _keep(record, recorder.listing.text(f"recorded by railyard detect {where}"))
    environments = _environments(home)
    lacks = missing_parts(found, environments)
    if as_json:
        click.echo(json.dumps({**found.as_json(), "missing": list(lacks)}, indent=1, ensure_ascii=False))
    for sentence in (*found.traps, *(lacks if found.fabrics else ()), *found.left_out):
        say(f"look at: {sentence}", err=True)
    if not found.fabrics:
        raise SetupError(
            "detect: found no network port with a link, expected at least one interface besides lo; run it on a node, "
            "inside a job"
        )
    chosen = name or found.name
    system = system_text(found, chosen, where, environments)
    texts = Texts(chosen, system, references_text(chosen), switches_text(found))
    _put(home, texts, writes=writes, replace=replace, as_json=as_json)
    return 0


def _check(name: str | None, writes: bool, replace: bool) -> None:
    """Raise if options contradict one another, or if the name is not a valid one."""
    from railyard.base.values import NAME_PATTERN

    if replace and not writes:
        raise click.UsageError("--replace goes with --write")
    if name is not None and not re.fullmatch(NAME_PATTERN, name):
        raise InputError("--name", f'"{name}"', 'letters, digits, "_", ".", ":" and "-"', action="choose another")


def _put(home: Path, texts: "Texts", *, writes: bool, replace: bool, as_json: bool) -> None:
    """Write both files, or print the system's file; with --json, standard output has only the JSON."""
    from railyard.cluster.detect.system_text import check_texts, write

    if not writes:
        check_texts(texts)
        if not as_json:
            click.echo(texts.system, nl=False)
        return
    for path in write(home, texts, replace=replace):
        click.echo(f"wrote {path.relative_to(home)}", err=as_json)
    name = texts.name
    say(
        f"next: read systems/{name}.yaml; railyard doctor --system {name}; railyard matrix --system {name}; "
        f"railyard run --system {name}",
        err=as_json,
    )


def _source(root: Path | None) -> "Source":
    """Return what to look at. Raises InputError if the path is neither a recording nor such a folder."""
    from railyard.cluster.detect.source import parse_listing

    if root is None:
        return Machine()
    if root.is_dir():
        if not (root / "sys").is_dir():
            raise InputError(str(root), "a folder without sys/", "one with sys/, proc/ and commands/, or a recording")
        return Folder(root)
    try:
        return parse_listing(root.read_text(encoding="utf-8", errors="replace"), str(root))
    except OSError as error:
        expected = "a recording, or a folder with sys/, proc/ and commands/"
        raise InputError(str(root), f"nothing that can be read ({error.strerror})", expected) from None


def _keep(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(f"{path}: the recording cannot be written: {error.strerror}") from None


def _find_target(root: Path | None, job_variable: str | None) -> str:
    from railyard.cluster.detect.scheduler import JOBS
    from railyard.cluster.detect.system_text import IN_JOB

    if root is not None:
        return "from a recording"
    return f"{IN_JOB} of {JOBS[job_variable].title}" if job_variable else "outside any job"


def _environments(home: Path) -> tuple[str, ...]:
    from railyard.provision.spack.sources import environments

    return tuple(sorted(path.parent.name for path in environments(home).glob("*/spack.yaml")))
