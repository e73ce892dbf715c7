"""One output has one verdict, whether it is measured now (or replayed) or judged from its file."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from railyard.benchmarks.table import micro
from railyard.cli.commands.judge import read
from railyard.parsers.output import ParsedOutput
from railyard.provision.replay.form import Recording, words_of
from railyard.provision.replay.index import folder_of, match_index, read_index
from railyard.rfm.checks.catalogue import needs
from railyard.site.matrix import Need
from railyard.site.site import Site, site_at
from railyard.verdict.assess import Assessment
from railyard.verdict.gpu.run import of_gpu_system
from railyard.verdict.rule_model import RuleResult
from railyard.verdict.stored_outputs.collectives import judge_collectives
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.stored_outputs.target import Nodes
from tests.conftest import ROOT
from tests.made.judged_run import case_of, judge_output

SYSTEMS = sorted(folder.name for folder in (ROOT / "recordings").iterdir() if folder.is_dir())
#: These cannot be judged from a file: their check's own parser makes one table from many, or from any text.
OF_A_CHECK = ("hpl/every-node", "installed/")


@pytest.fixture(scope="module")
def needs_by_check() -> dict[str, Need]:
    return {need.check: need for need in needs(ROOT / "checks")}


def hops_of(site: Site, fabric: str) -> int | None:
    """Return the first number of switches for which this fabric has a reference, None if no reference needs it."""
    return next((each for entry in site.references.entries if entry.fabric == fabric for each in entry.hops), None)


def run_again(site: Site, one: Recording, need: Need, text: str, parsed: ParsedOutput, hops: int | None) -> Assessment:
    """Return the verdict of a run that printed this, as a replay of the recording assesses it."""
    policy = re.search(r"%policy=(\S+)", one.check)
    case = case_of(
        site, one.benchmark, stack=one.stack, rails=one.rails, fabric=one.fabric, check=one.check,
        launch={
            "nodes": (), "ranks": need.ranks, "ranks_per_node": need.ranks // need.nodes,
            "within_node": need.within_node, "policy": policy[1] if policy else None,
        },
        passes=len(parsed.tables), node_pairs=max(1, need.nodes // 2), pairs=need.pairs(one.rails), hops=hops,
    )  # fmt: skip
    recorded = match_index(folder_of(ROOT, site.system.system), one.test, text.encode())
    return judge_output(case, text, lambda _: parsed, played=recorded, tag="")


def of_file(site: Site, one: Recording, need: Need, parsed: ParsedOutput, hops: int | None) -> Judgement:
    """Return what `railyard judge` says about the same output."""
    policy = re.search(r"%policy=(\S+)", one.check)
    target = of_system(site, one.fabric, one.stack, one.rails, policy[1] if policy else None, hops)
    (found,) = judge(
        *(parsed, target),
        benchmark=one.benchmark,
        nodes=Nodes(max(1, need.nodes // 2), need.nodes, need.ranks // need.nodes),
        passes="median",
    )
    if site.system.report_only is not None and micro.tool(parsed.tables[0].tool).between_gpus:
        # Only the GPUs of the nodes set a floor. They have their own words for what was read.
        (of_gpus,) = judge_collectives(parsed, of_gpu_system(site, one.fabric, one.rails), benchmark=one.benchmark)
        return replace(found, rules=(*found.rules[:-1], of_gpus.rules[-1]))
    return found


def rule(results: tuple[RuleResult, ...], number: int) -> RuleResult:
    return next(result for result in results if result.rule == number)


def differences(live: Assessment, stored: Judgement) -> Iterator[str]:
    """Yield each rule about which the two disagree.

    A file does not say how many ranks or processors a node had: rule 3 may judge a live run where it cannot judge a
    file. And only a live run's counters show that all rails worked, where fewer could carry it.
    """
    for number in (1, 2, 3, 5):
        ours, theirs = rule(live.verdict.rules, number), rule(stored.rules, number)
        of_one_rail = number == 5 and re.match(r"not judged: (?:one|\d+) of the \d+ rails can carry ", theirs.sentence)
        if theirs.state == "not-judged" and (number == 3 or of_one_rail):
            continue
        if ours.state != theirs.state:
            yield f"rule {number}: {ours.state} ({ours.sentence}) and {theirs.state} ({theirs.sentence})"
        elif number in (2, 5) and ours.state == "pass" and theirs.sentence not in ours.sentence:
            yield f"rule {number}: {ours.sentence} and {theirs.sentence}"


@pytest.mark.parametrize("report_only", [None, "a new machine"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_recording_has_one_verdict(system: str, report_only: str | None, needs_by_check: dict[str, Need]) -> None:
    site = site_at(ROOT, system)
    if report_only is not None:
        without = replace(site.references, entries=())
        site = replace(site, system=site.system.model_copy(update={"report_only": report_only}), references=without)
    folder = folder_of(ROOT, system)
    found: list[str] = []
    for one in read_index(folder).recordings:
        if one.benchmark.startswith(OF_A_CHECK):
            continue
        need = needs_by_check[re.sub(r" %(policy|\.repeat_no)=\S+", "", one.check)]
        text = (folder / one.file).read_text(encoding="utf-8")
        parsed, hops = read(str(folder / one.file)), hops_of(site, one.fabric)
        live, stored = run_again(site, one, need, text, parsed, hops), of_file(site, one, need, parsed, hops)
        found += [f"{words_of(one.test)}: {said}" for said in differences(live, stored)]
    assert found == []
