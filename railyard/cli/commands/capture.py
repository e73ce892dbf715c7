"""`railyard capture`: makes references from stored runs, as a diff that a colleague reviews."""

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from railyard.base.errors import InputError, RailyardError, did_you_mean, unwritable
from railyard.base.files import wait_for_turn, write_whole
from railyard.base.paths import find_home, runs_folder, state_folder
from railyard.cli.options import say

if TYPE_CHECKING:
    from railyard.results.capture import Plan
    from railyard.results.record.form import Record
    from railyard.site.systems.model import System


@dataclass(frozen=True, slots=True)
class _Options:
    """The command's options, as click gives them."""

    name: str
    runs: tuple[str, ...]
    without: tuple[str, ...]
    fabric: str | None
    stack: str | None
    rails: int | None
    benchmark: str | None
    stored_as: str | None
    quick: bool
    by_hops: bool
    replace: bool
    write: bool
    hpl_layout: bool = False


@click.command(name="capture")
@click.option("--system", "name", required=True, help="The system: NAME of systems/NAME.yaml.")
@click.option("--runs", multiple=True, metavar="RUN", help="Only these runs: an id, its beginning, last5, a pattern. "
              "Repeatable. Default: all stored runs.")  # fmt: skip
@click.option("--without", multiple=True, metavar="RUN", help="Leave these runs out.")
@click.option("--fabric", help="Only tests of this fabric.")
@click.option("--stack", help="Only tests with this stack.")
@click.option("--rails", type=int, help="Only tests over so many rails.")
@click.option("--benchmark", help="Only tests of this benchmark, such as imb/PingPong.")
@click.option("--stored-as", help="The system's name at the time of the runs, if you renamed it.")
@click.option("--quick", is_flag=True, help="Take five repeats of one node pair. The entries are marked so.")
@click.option("--by-hops", is_flag=True, help="Write one entry for each number of switches between the two "
              "nodes, as railyard fabric --keep-hops kept them.")  # fmt: skip
@click.option("--hpl-layout", is_flag=True, help="Instead of references: keep the ranks and threads that suit HPL "
              "best (check HplLayout) in systems/SYSTEM.yaml.")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace baselines that are there already.")
@click.option("--write", is_flag=True, help="Write the file. Without it, only the diff is shown.")
def command(**options: Any) -> int:
    """Make references from stored runs, as a diff to review.

    \b
    Examples:
      railyard capture --system mycluster            show the diff
      railyard capture --system mycluster --write    write the file
      railyard capture --system mycluster --hpl-layout   HPL's ranks and threads

    Values are medians, and tolerances come from the spread of the repeats. Each entry says which runs it is from. The
    diff goes to standard output (`| git apply` takes it); what is left out or odd goes to standard error. An entry is
    replaced only with --replace, and a contract never.

    Exit code: 0 something was captured, 2 nothing was, or wrong input.
    """
    from railyard.site.systems.load import find_system

    given = _Options(**options)
    home = find_home()
    system = find_system(home / "systems", given.name)
    work = _keep_hpl_layout if given.hpl_layout else _capture
    if not given.write:
        return work(given, home, system)
    with wait_for_turn(state_folder(home) / "capturing"):  # else one of two would lose its entries
        return work(given, home, system)


def _keep_hpl_layout(given: _Options, home: Path, system: "System") -> int:
    """Print how fast HPL is with each split of a node's cores, and the diff that keeps the best; write it if wanted."""
    from railyard.benchmarks.apps.hpl import stated_hardware
    from railyard.results import capture
    from railyard.results.store.query import RecordFilter

    hardware = stated_hardware(system.nodes.hardware, system.system)
    wanted = RecordFilter(system=given.stored_as or system.system, fabric=given.fabric, stack=given.stack)
    found = capture.rank_splits(_records(home, wanted, given.runs, given.without), hardware)
    kept = capture.choose_layout(found, system.system)
    say(capture.layout_text(found, kept), err=True)
    path = home / "systems" / f"{system.system}.yaml"
    before = path.read_text(encoding="utf-8")
    made = _Change(path, before, capture.keep_layout(before, kept, system.system))
    click.echo(difference(made), nl=False)
    if made.after == before:
        say(f"systems/{path.name} has it already", err=True)
    elif given.write:
        _write(made)
        click.echo(f"wrote systems/{path.name}; check it: railyard lint --system {system.system}", err=True)
    return 0


@dataclass(frozen=True, slots=True)
class _Change:
    """A file before and after a capture; ``before`` is None if it is not there yet."""

    path: Path
    before: str | None
    after: str


def _capture(given: _Options, home: Path, system: "System") -> int:
    """Print what would be captured, write it if that is wanted, and return the exit code."""
    from railyard.results.capture import CaptureRequest, plan
    from railyard.results.store.query import RecordFilter
    from railyard.site.references.load import References, load_references
    from railyard.site.topology import hops_of_run

    path = home / "references" / f"{system.system}.yaml"
    references = load_references(path, system) if path.exists() else References(system)
    wanted = RecordFilter(
        system=given.stored_as or system.system,
        fabric=given.fabric,
        stack=given.stack,
        rails=given.rails,
        benchmark=given.benchmark,
    )
    records = _records(home, wanted, given.runs, given.without)

    def hops(record: "Record") -> int | None:
        fabric, policy = system.fabrics.get(record.where.fabric), record.test.policy or ""
        if fabric is None or not fabric.has(record.test.rails, policy):  # the plan says why
            return 0
        rails = fabric.used_rails(record.test.rails, policy)
        return hops_of_run(home, system, record.where.fabric, record.where.nodes, rails)

    asked = CaptureRequest(quick=given.quick, replace=given.replace, hops=hops if given.by_hops else None)
    made = plan(system, path, references, records, asked)
    for sentence in made.refused:
        say(f"left out: {sentence}", err=True)
    for entry in made.entries:
        for remark in entry.remarks:
            say(f"{entry.id}: {remark}", err=True)
    if not made.entries:
        raise RailyardError(
            f"found nothing to capture for {system.system}, expected at least one test with 5 good runs"
        )
    click.echo(difference(made), nl=False)
    if system.report_only is not None:
        say(f"systems/{system.system}.yaml: set report_only to false, or these references are refused", err=True)
    if given.write:
        _write(made)
        click.echo(f"wrote references/{path.name}; check it: railyard lint --system {system.system}", err=True)
    return 0


def difference(made: "Plan | _Change") -> str:
    """Return the unified diff from the file as it is to the file as it would be."""
    shown = f"{made.path.parent.name}/{made.path.name}"
    lines = difflib.unified_diff(
        (made.before or "").splitlines(keepends=True),
        made.after.splitlines(keepends=True),
        f"a/{shown}" if made.before is not None else "/dev/null",
        f"b/{shown}",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _records(home: Path, wanted: "object", runs: tuple[str, ...], without: tuple[str, ...]) -> "tuple[Record, ...]":
    """Return the records that are asked for. Raises InputError, with what the store has, if it does not have them."""
    from dataclasses import replace

    from railyard.results.store import query
    from railyard.results.store.index import folders

    assert isinstance(wanted, query.RecordFilter)
    stored = runs_folder(home)
    named = tuple(folder.name for word in runs for folder in folders(word, stored))
    excluded = {folder.name for word in without for folder in folders(word, stored)}
    found = query.records(home, replace(wanted, run=named or None))
    for sentence in found.problems:
        say(f"left out: {sentence}", err=True)
    kept = tuple(record for record in found.records if record.made.run not in excluded)
    if kept:
        return kept
    known = {name for summary in query.runs(home) for name in summary.systems}
    if not known:
        raise InputError(str(stored), "no stored run", "runs of the system", action="railyard run stores some")
    system = str(wanted.system)
    hint = (
        "loosen the options" if system in known else f"{did_you_mean(system, known)}; was it renamed? --stored-as NAME"
    )
    raise InputError(str(stored), f"no such test of {system}", "at least one", action=hint)


def _write(made: "Plan | _Change") -> None:
    try:
        made.path.parent.mkdir(exist_ok=True)
        if (made.path.read_text(encoding="utf-8") if made.path.exists() else None) != made.before:
            raise RailyardError(
                f"{made.path}: somebody changed it during this capture; nothing is written, so capture again"
            )
        write_whole(made.path, made.after)
    except OSError as error:
        raise unwritable(made.path, "the file", error, "; nothing changed") from error
