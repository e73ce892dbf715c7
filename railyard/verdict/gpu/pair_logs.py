"""What logs of pairs of nodes show that no comparison of pairs can, since all pairs may share it.

A log may report an error, or name sockets (TCP) where the nodes have InfiniBand or RoCE, and all pairs may be
impossibly fast, or slow alike. The last two are only seen if somebody says what the nodes have.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from railyard.base.errors import RailyardError
from railyard.parsers.nccl_said import Job, NcclOutput
from railyard.parsers.output import ParsedOutput, Table, validation_of
from railyard.verdict.blame.contradictions import Contradiction
from railyard.verdict.blame.gpu_pairs import NotUsed, RecordedTests
from railyard.verdict.blame.search.paths import Layer, Test
from railyard.verdict.gpu import log_reading, rules
from railyard.verdict.gpu.log_reading import uses_rdma
from railyard.verdict.gpu.log_word import word
from railyard.verdict.gpu.run import HALVES, GpuRun, curve, rows, run_of
from railyard.verdict.gpu.target import GpuTarget
from railyard.verdict.rules.model import RuleResult
from railyard.verdict.wording import gpu_pairs as gpu_pairs_words
from railyard.verdict.wording import gpu_runs


def check_logs(found: RecordedTests, parsed: Mapping[str, ParsedOutput], target: GpuTarget | None) -> RecordedTests:
    """Return the logs with what contradicts their nodes, without the tests whose figures are not believed.

    ``parsed`` has each log by its name; ``target`` is what each node has, None if nobody says it. Raises RailyardError
    if such nodes cannot have run a log.
    """
    pairs = {test.log: test.pair for test in found.tests}
    wrong = [each for log, own in parsed.items() if log in pairs for each in _paths(log, pairs[log], own, target)]
    wrong += [each for log, own in parsed.items() for each in _reported_faults(log, own, found.tests)]
    unchecked = _unchecked_remark(found.tests, parsed)
    if target is None:
        return replace(found, wrong=tuple(wrong), unknown=unchecked)
    runs = {test: _run(test, parsed[test.log], target) for test in found.tests}
    results = {test: _possible(test, parsed[test.log], runs[test]) for test in found.tests}
    believed = {test.layer for test, result in results.items() if result is None or result.state != "fail"}
    not_used: list[NotUsed] = []
    kept: list[Test] = []
    for test, result in results.items():
        if result is None or result.state == "pass":
            kept.append(test)
        elif result.state == "fail":
            who = "-".join(test.pair) if test.layer in believed else gpu_runs.all_pairs()
            wrong.append(Contradiction(test.log, who, gpu_runs.of_benchmark(test.layer.benchmark, result.sentence)))
        else:
            not_used.append(NotUsed(test.log, gpu_runs.of_benchmark(test.layer.benchmark, result.sentence), test.pair))
    alike, unknown = _slow_layers(kept, parsed, runs)
    return replace(
        found,
        tests=tuple(kept),
        not_used=(*found.not_used, *not_used),
        wrong=(*wrong, *alike),
        compared_with=target.words,
        unknown=(*unchecked, *unknown),
    )


def _paths(log: str, pair: tuple[str, str], parsed: ParsedOutput, target: GpuTarget | None) -> Iterator[Contradiction]:
    """Yield each host that used sockets; if none did, what else the log says against the nodes."""
    spoken = parsed.nccl
    if spoken is None or spoken.log is None:
        return
    sockets: dict[str, int] = {}
    for each in log_reading.networks(spoken.log):
        if each.name == log_reading.SOCKET:
            sockets.setdefault("-".join(pair) if each.by is None else each.by.host, each.line)
    if target is None or uses_rdma(target.node):
        link = None if target is None else target.node.link
        instead, reason = "" if link is None else link.name, log_reading.log_reason(spoken.log)
        for host, line in sockets.items():
            yield Contradiction(log, host, gpu_runs.sockets_instead(instead, line, reason), sockets=True)
    if sockets or target is None:
        return
    for job in spoken.jobs:
        table = _table(job, parsed)
        of_run = None if table is None else _of_table(log, table, spoken, target)
        said = word(spoken.log, target, None if of_run is None else of_run.shape, job.ranks, _name(job.benchmark))
        if said.rule.state == "fail":
            who = said.host if said.host is not None and said.host in job.hosts else "-".join(pair)
            yield Contradiction(log, who, said.rule.sentence)
            return


def _reported_faults(log: str, parsed: ParsedOutput, tests: Sequence[Test]) -> Iterator[Contradiction]:
    """Yield what a log reports as wrong although its test has a result: Xid lines, warnings of NCCL, a lost port."""
    jobs = () if parsed.nccl is None else parsed.nccl.jobs
    for place, job in enumerate(jobs):
        own = {str(table.benchmark) for table in parsed.tables if table.line in job.tables and table.complete}
        test = next((each for each in tests if each.log == log and each.layer.benchmark in own), None)
        if test is None or test.value is None or test.wrong:
            continue  # that it failed is known
        begin, end = job.line if place else 0, jobs[place + 1].line if place + 1 < len(jobs) else None
        for said in parsed.failures:
            if begin <= said.line and (end is None or said.line < end):
                words = re.split(r"[\s:,]+", said.text)
                who = next((host for host in job.hosts if host in words), "-".join(test.pair))
                yield Contradiction(log, who, gpu_runs.say_reported(said.text[:200], said.line))
                break


def _unchecked_remark(tests: Sequence[Test], parsed: Mapping[str, ParsedOutput]) -> tuple[str, ...]:
    """Return that tests did not check what arrived; empty if all did."""
    tables = [_table_of(test, parsed[test.log]) for test in tests if test.value is not None]
    bare = sum(table is not None and validation_of([table]) is None for table in tables)
    return (gpu_runs.say_unchecked(bare),) if bare else ()


def _run(test: Test, parsed: ParsedOutput, target: GpuTarget) -> GpuRun | None:
    table = _table_of(test, parsed)
    return None if table is None or parsed.nccl is None else _of_table(test.log, table, parsed.nccl, target)


def _of_table(log: str, table: Table, spoken: NcclOutput, target: GpuTarget) -> GpuRun:
    try:
        return run_of(table, f"nccl/{table.benchmark}", spoken, target)
    except RailyardError as error:
        raise RailyardError(f"{error} ({log})") from None


def _possible(test: Test, parsed: ParsedOutput, run: GpuRun | None) -> RuleResult | None:
    """Return whether the rates of a test are possible; None for a test without a result."""
    table = _table_of(test, parsed)
    if test.value is None or table is None or run is None:
        return None
    printed = {half: own for half in HALVES if (own := rows(table, half))}
    return rules.possible(run, printed, None if parsed.nccl is None else parsed.nccl.log)


def _slow_layers(
    tests: Sequence[Test], parsed: Mapping[str, ParsedOutput], runs: Mapping[Test, GpuRun | None]
) -> tuple[list[Contradiction], tuple[str, ...]]:
    """Return for each layer why even its fastest pair is not healthy, and why no floor judges the others."""
    best: dict[Layer, Test] = {}
    for test in tests:
        if (
            test.value is not None
            and not test.wrong
            and test.value > (best.get(test.layer, test).value or 0) * (test.layer in best)
        ):
            best[test.layer] = test
    wrong: list[Contradiction] = []
    unknown: list[str] = []
    for layer, test in best.items():
        table, run = _table_of(test, parsed[test.log]), runs[test]
        if table is None or run is None:
            continue
        curves = {half: own for half in HALVES if (own := curve(table, half))}
        result = rules.unlike_healthy(run, curves) or rules.like_healthy(run, curves)
        gpus = gpu_pairs_words.layer(layer.benchmark, layer.gpus)
        if result.state == "fail":
            wrong.append(Contradiction(test.log, gpu_runs.all_pairs(), gpu_runs.slow_fastest(gpus, result.sentence)))
        elif result.state == "not-judged":
            unknown.append(gpu_runs.unknown_whether_alike(gpus, result.sentence))
    return wrong, tuple(unknown)


def _table_of(test: Test, parsed: ParsedOutput) -> Table | None:
    own = [table for table in parsed.tables if str(table.benchmark) == test.layer.benchmark and table.complete]
    return next(iter(own), None)


def _table(job: Job, parsed: ParsedOutput) -> Table | None:
    return next((table for table in parsed.tables if table.line in job.tables), None)


def _name(benchmark: str | None) -> str:
    return "" if benchmark is None else benchmark.removesuffix("_perf")
