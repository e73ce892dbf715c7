"""`railyard pairs run`, `collect` and `coverage`: measure a sample of all pairs, in one allocation or in groups."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import click

from railyard.base.errors import InputError, SetupError
from railyard.base.wording import count_of, percent
from railyard.cli.options import say
from railyard.cli.pair_sample import duration

if TYPE_CHECKING:
    from railyard.cluster.rolling.run import Rolling, RunProgress
    from railyard.cluster.rolling.under_scheduler import KeptRun
    from railyard.results.record.form import Record
    from railyard.site.site import Site
    from railyard.verdict.node_pairs import Night, NightCoverage

_DAYS_REMEMBERED = 7
#: How many partners of other leaves each node has in a night.
_NIGHTLY = 4
_system = click.option("--system", "name", required=True, metavar="NAME[:FABRIC]", help="The system, and its fabric.")


@click.command(name="run")
@_system
@click.option("--stack", help="The stack whose railyard-pairs measures. Default: the first that can.")
@click.option("--rails", type=click.IntRange(1), help="How many rails to measure over. Default: all of the fabric.")
@click.option(
    "--budget",
    "budget_s",
    metavar="TIME",
    callback=duration,
    help="How long it may measure, such as 15min; with --rolling, each group.",
)
@click.option("--sample", type=click.IntRange(1), metavar="K", help="With --rolling: at most K rounds in each group.")
@click.option("--nightly", is_flag=True, help="Random partners: first those that met least in the last 7 days.")
@click.option("--all", "every", is_flag=True, help="All pairs of nodes in one allocation (AllPairs).")
@click.option("--rolling", is_flag=True, help="In groups of nodes, one job per group, as nodes come free.")
@click.option("--group", type=click.IntRange(2), default=16, show_default=True, help="With --rolling: nodes per group.")
@click.option(
    "--at-most", type=click.IntRange(1), default=20, show_default=True, help="With --rolling: groups that run at once."
)
@click.option(
    "--nodes", "asked", metavar="N[1-99]", help="With --rolling: these nodes. Default: all that can run a job."
)
@click.option(
    "--seed", type=int, help="With --rolling: draw the groups as another run with this number. Default: by the day."
)
@click.option("--no-confirm", is_flag=True, help="With --rolling: do not measure suspects again with good partners.")
@click.option(
    "--dry-run", is_flag=True, help="With --rolling: print the groups and the first job's script; submit nothing."
)
def run_command(name: str, rolling: bool, every: bool, **options: Any) -> int:
    """Measure a sample of the pairs of nodes of a system.

    \b
    Examples:
      railyard pairs run --system mycluster:ndr --budget 15min
      railyard pairs run --system mycluster:ndr --rolling --nodes n[1-512]

    The verdict says who is slow and what was covered. The sample runs in one allocation (the check SampledPairs), or
    with --rolling in one job per group of nodes, as the nodes come free. After Ctrl-C the jobs of groups go on:
    `railyard pairs collect` merges what they measure, and ends them with --cancel.

    Exit code: 0 nobody is named (the verdict begins with who is undecided), 1 somebody is or a group failed, 2 it could
    not run, 130 Ctrl-C.
    """
    wanted = _Request(name=name, **options)
    if not rolling:
        return _in_one_allocation(wanted, every)
    if every:
        raise click.UsageError("--all needs one allocation: leave out --rolling, since nodes of two groups never meet")
    return _in_groups(wanted)


@click.command(name="collect")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--wait", is_flag=True, help="Follow the jobs until all groups are over.")
@click.option("--confirm", is_flag=True, help="Measure suspects again with good partners, in separate jobs.")
@click.option("--cancel", is_flag=True, help="End the jobs that wait or run, and judge what there is.")
@click.option("--now", is_flag=True, help="Judge and store what there is, even if groups still wait or run.")
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON.")
def collect_command(runs: tuple[str, ...], **options: Any) -> int:
    """Merge what the groups of a run measured.

    \b
    Examples:
      railyard pairs collect 20261124T060000Z-ab12
      railyard pairs collect 20261124T060000Z-ab12 --cancel

    The verdict says who is slow, what was covered, and what became of each group. RUN is the id that `railyard
    pairs run --rolling` printed, or its folder. Several runs of one system are judged as one. A run is stored once
    all of its groups are over.

    Exit code: 0 nobody is named (the verdict begins with who is undecided), 1 somebody is, a group failed, or groups
    are not over, 2 wrong input.
    """
    if len(runs) > 1 and (options["confirm"] or options["cancel"] or options["wait"]):
        raise click.UsageError("--confirm, --cancel and --wait work on one run; several runs can only be judged")
    return _collect(runs, **options)


@click.command(name="coverage")
@_system
@click.option("--days", type=click.IntRange(1), default=7, show_default=True, help="How many days to look back.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def coverage_command(name: str, days: int, as_json: bool) -> int:
    """Show what runs of the last days covered.

    \b
    Examples:
      railyard pairs coverage --system mycluster:ndr
      railyard pairs coverage --system mycluster:ndr --days 30 --json

    It shows which pairs of nodes, pairs of leaf switches, up-links and nodes they measured.

    Exit code: 0, or 1 if a node was not measured at all.
    """
    site, fabric = _site_of(name)
    nights, problems = _nights(site, fabric, days)
    for problem in problems:
        _print(f"railyard: {problem}")
    found = _find_coverage(site, fabric, nights)
    if as_json:
        click.echo(json.dumps(_coverage_json(found, days), ensure_ascii=False, indent=1))
    else:
        click.echo(_coverage_text(found, days), nl=False)
    return 1 if found.unmeasured_nodes or problems else 0


@dataclass(frozen=True, slots=True)
class _Request:
    """The options of `railyard pairs run`, without those that say where it runs."""

    name: str
    stack: str | None
    rails: int | None
    budget_s: float | None
    sample: int | None
    nightly: bool
    group: int
    at_most: int
    asked: str | None
    seed: int | None
    no_confirm: bool
    dry_run: bool


def _in_one_allocation(wanted: _Request, every: bool) -> int:
    """Run the check with ReFrame, as `railyard run` does."""
    from railyard.cli.main import main
    from railyard.cluster.rolling.plan import PlanRequest, place_of
    from railyard.site.matrix import DEFAULT
    from railyard.site.reframe_versions import choose, release_here

    only = {"--sample": wanted.sample, "--nodes": wanted.asked, "--dry-run": wanted.dry_run or None}
    given = next((option for option, value in only.items() if value is not None), None)
    if given is not None:
        raise click.UsageError(f"{given} goes with --rolling")
    if every and (wanted.nightly or wanted.budget_s is not None):
        raise click.UsageError("--all measures every pair: leave out --budget and --nightly")
    site, fabric = _site_of(wanted.name)
    place = place_of(site, PlanRequest(fabric=fabric, stack=wanted.stack, rails=wanted.rails))
    check = "AllPairs" if every else "SampledPairs"
    words = ["--system", f"{site.system.system}:{place.fabric}", "--extended", "-n", f"{check}%rails={place.rails}$"]
    words += ["-p", place.stack, *choose(release_here(), "policy", DEFAULT)]
    if wanted.budget_s is not None:
        words += ["-S", f"{check}.budget={wanted.budget_s:.0f}s"]
    if wanted.nightly:
        words += ["-S", f"{check}.nightly={_NIGHTLY}"]
    return main(["run", *words])


def _in_groups(wanted: _Request) -> int:
    from railyard.cluster.rolling import plan
    from railyard.cluster.rolling.run import rolling
    from railyard.cluster.rolling.under_scheduler import SAMPLE, runs_in
    from railyard.provision.testbed.lifecycle import interrupt_on_signal
    from railyard.results.run_folder import new_run_id
    from railyard.verdict.node_pairs import leaf_pairs

    site, fabric = _site_of(wanted.name)
    why_not = plan.why_not_in_groups(site)
    if why_not is not None:
        raise SetupError(
            f"pairs --rolling: found that {why_not}, expected jobs of Slurm, PBS, LSF, Flux or Grid Engine that "
            "ask for nodes by name"
        )
    now = datetime.now(timezone.utc)
    asked = plan.PlanRequest(
        fabric=fabric, stack=wanted.stack, rails=wanted.rails, nodes=wanted.asked, group=wanted.group,
        at_most=wanted.at_most, sample=wanted.sample, budget_s=wanted.budget_s,
        seed=now.toordinal() if wanted.seed is None else wanted.seed,
    )  # fmt: skip
    with interrupt_on_signal(), _bed(site):
        place = plan.place_of(site, asked)
        leaf_of = plan.leaves_of(site, place)
        nodes = plan.nodes_of(site, wanted.asked, leaf_of, datetime.now())
        used = leaf_pairs(_nights(site, place.fabric, _DAYS_REMEMBERED)[0], leaf_of) if wanted.nightly else None
        run = plan.plan_run(site, asked, place, nodes, new_run_id(now), now, used)
        for node, why in run.left_out.items():
            _print(f"not tested: {node} is {why}")
        if not leaf_of:
            _print("no node's leaf switch is known: groups are drawn at random, and no leaf is judged")
        if wanted.dry_run:
            click.echo(plan.show_run(site, run, place, wanted.sample), nl=False)
            return 0
        _, seconds = plan.write_first_step(site, run, place, wanted.sample)
        folder = runs_in(site.home) / run.id
        made = rolling(site, run, folder, wanted.group, _print)
        run = made.submit_step(run, run.step(SAMPLE), seconds)
        groups = run.step(SAMPLE).groups
        _print(
            f"run {run.id}: {count_of(sum(len(one.nodes) for one in groups), 'node')} in "
            f"{count_of(len(groups), 'group')}, at most {run.at_most} at once; files in {folder}"
        )
        return _finish(made, _follow(made, run, not wanted.no_confirm), _words())


def _follow(made: "Rolling", run: "KeptRun", confirm: bool) -> "RunProgress":
    try:
        seen = made.follow_run(run)
        return made.confirm_suspects(seen) if confirm else seen
    except KeyboardInterrupt:
        _print(f"left: its jobs go on. railyard pairs collect {run.id} merges what they measure; --cancel ends them")
        raise


def _collect(names: Sequence[str], wait: bool, confirm: bool, cancel: bool, now: bool, as_json: bool) -> int:
    from railyard.base.paths import find_home
    from railyard.cluster.rolling.collect import why_not_together
    from railyard.cluster.rolling.run import rolling
    from railyard.cluster.rolling.under_scheduler import folder_of, read
    from railyard.provision.testbed.lifecycle import interrupt_on_signal
    from railyard.site.site import site_at

    home = find_home()
    folders = [folder_of(home, name) for name in names]
    kept = [read(folder) for folder in folders]
    why_not_together(list(zip(names, kept, strict=True)))
    site = site_at(home, kept[0].system)
    with interrupt_on_signal(), _bed(site):
        every = [
            rolling(site, run, folder, max(len(one.nodes) for one in run.steps[0].groups), _print)
            for run, folder in zip(kept, folders, strict=True)
        ]
        made, run = every[0], kept[0]
        if cancel:
            made.scheduler().cancel(run)
            _print(f"the jobs of {run.id} are ended")
        if len(every) > 1:
            return _judge_as_one(every, kept, as_json)
        seen = _follow(made, run, confirm) if wait or (confirm and not cancel) else made.current_progress(run)
        open_ = [one for one in seen.parts if not one.is_over]
        if cancel and open_:
            seen = made.current_progress(run)
        elif open_ and not now:
            for one in open_:
                click.echo(f"{one.name}: {one.words}")
            click.echo(f"{count_of(len(open_), 'group')} of {len(seen.parts)} not over: --wait, --now or --cancel")
            return 1
        return _finish(made, seen, _words(), as_json)


def _judge_as_one(every: Sequence["Rolling"], kept: Sequence["KeptRun"], as_json: bool) -> int:
    """Judge several runs of one system as one. Store nothing, since each run is stored by itself."""
    from railyard.cluster.rolling.run import merged_text

    seen = [made.current_progress(run) for made, run in zip(every, kept, strict=True)]
    text, sick = merged_text(every, seen)
    click.echo(json.dumps({"verdict": text, "sick": sick}, ensure_ascii=False, indent=1) if as_json else text)
    return 1 if sick else 0


def _finish(made: "Rolling", seen: "RunProgress", words: Sequence[str], as_json: bool = False) -> int:
    """Store a run that is over, say its verdict, and return the exit code."""
    for one in seen.parts:
        if one.words:
            _print(f"{one.name}: {one.words}")
    record, _ = made.store_record(seen, words)
    if as_json:
        click.echo(json.dumps(record.to_json(), ensure_ascii=False, indent=1))
    else:
        say(_text(record))
    _print(f"stored as {record.made.run}: railyard report {record.made.run}")
    return 1 if record.fails else 0


def _text(record: "Record") -> str:
    look = f"\nlook at {record.found.verdict.next}" if record.found.verdict.next else ""
    return f"{record.found.state}: {record.found.verdict.text}{look}"


def _nights(site: "Site", fabric: str | None, days: int) -> tuple[tuple["Night", ...], tuple[str, ...]]:
    from railyard.verdict.node_pairs import recent_nights

    return recent_nights(site.home, site.system.system, fabric, days)


def _find_coverage(site: "Site", fabric: str | None, nights: Sequence["Night"]) -> "NightCoverage":
    from railyard.cluster.rolling import plan
    from railyard.verdict.node_pairs import cover_nights

    system = site.system
    place = plan.place_of(site, plan.PlanRequest(fabric=fabric))
    leaf_of = plan.leaves_of(site, place)
    nodes = tuple(dict.fromkeys((*system.nodes.names, *(node for night in nights for node in night.nodes))))
    if len(nodes) < 2:
        raise InputError(
            f"systems/{system.system}.yaml", "no names of nodes, and no run of pairs in these days",
            "names of nodes, or a stored run of SampledPairs or AllPairs",
        )  # fmt: skip
    rails = [rail.name for rail in system.fabrics[place.fabric].rails]
    return cover_nights(nights, nodes, leaf_of, rails, system.fabrics[place.fabric].up_links)


def _coverage_text(found: "NightCoverage", days: int) -> str:
    lines = [
        f"{night.time[:16]}Z  {night.kind:9}  {len(night.nodes):>6,} nodes  {len(night.pairs):>9,} pairs  {night.run}"
        for night in found.nights
    ]
    lines.append(f"{count_of(len(found.nights), 'run')} in {count_of(days, 'day')}, together:")
    for of, share in _shares(found):
        if share.share is None:
            lines.append(f"  {of}: not known, {share.basis}")
        else:
            lines.append(f"  {of}: {share.used:,.0f} of {share.all:,} ({percent(share.share)}), {share.basis}")
    if found.unmeasured_nodes:
        from railyard.base.hostlist import list_nodes

        lines.append(f"  never measured: {list_nodes(found.unmeasured_nodes)}")
    return "".join(f"{line}\n" for line in lines)


def _shares(found: "NightCoverage") -> list[tuple[str, Any]]:
    one = found.coverage
    return [("nodes", one.nodes), ("pairs", one.pairs), ("pairs of leaves", one.leaf_pairs), ("up-links", one.up_links)]


def _coverage_json(found: "NightCoverage", days: int) -> dict[str, Any]:
    return {
        "format": 1,
        "days": days,
        "runs": [
            {
                "run": night.run,
                "time": night.time,
                "kind": night.kind,
                "nodes": len(night.nodes),
                "pairs": len(night.pairs),
            }
            for night in found.nights
        ],
        "covered": [
            {"of": of, "used": share.used, "all": share.all, "basis": share.basis} for of, share in _shares(found)
        ],
        "last": dict(sorted(found.last.items())),
        "never": list(found.unmeasured_nodes),
    }


def _site_of(name: str) -> tuple["Site", str | None]:
    from railyard.base.errors import did_you_mean
    from railyard.base.paths import find_home
    from railyard.site.site import site_at

    system, _, fabric = name.partition(":")
    site = site_at(find_home(), system)
    if fabric and fabric not in site.system.fabrics:
        known = did_you_mean(fabric, site.system.fabrics)
        raise SetupError(f'pairs --system: found the fabric "{fabric}", expected one of {system}; {known}')
    return site, fabric or None


def _bed(site: "Site") -> AbstractContextManager[object]:
    """Keep the virtual cluster up if the system is on it."""
    from railyard.provision.testbed.lifecycle import provide_testbed

    stack = ExitStack()
    stack.enter_context(provide_testbed(site.home, site.system, _print))
    return stack


def _print(sentence: str) -> None:
    say(sentence, err=True)


def _words() -> list[str]:
    import sys

    return ["railyard", *sys.argv[1:]]


COMMANDS = (run_command, collect_command, coverage_command)
