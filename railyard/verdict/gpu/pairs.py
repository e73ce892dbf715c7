"""How a job is judged that ran a collective between two nodes at a time: each pair is a step with its own log.

The slowest pair represents all of them, as with railyard-pairs. All pairs are compared with one another as ``railyard
pairs judge --tool nccl`` does: a pair that is slow beside the others fails rule 5, whatever the references allow. A
node is in one step at a time, so its counters over all of its steps prove the path of all its pairs.

What logs of pairs of nodes show that no comparison of pairs can, since all pairs may share it.

A log may report an error, or name sockets (TCP) where the nodes have InfiniBand or RoCE, and all pairs may be
impossibly fast, or slow alike. The last two are only seen if somebody says what the nodes have.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from railyard.base.errors import RailyardError
from railyard.base.hostlist import label
from railyard.benchmarks.model import BANDWIDTH, Curve
from railyard.benchmarks.table.nccl import collective_of, part_of
from railyard.job.case import Case, Evidence
from railyard.job.counters import NodeCounters
from railyard.job.gpu_steps import TIMED_OUT, EndedStep
from railyard.job.probe_job import STARTED_AGAIN
from railyard.parsers import nccl
from railyard.parsers.nccl_said import Job, Log, NcclOutput
from railyard.parsers.output import ParsedOutput, ParseError, Table, validation_of
from railyard.results.record.form import Suspect
from railyard.site import topology
from railyard.site.gpu_shape import shape_of_part
from railyard.verdict.blame import gpu_pairs, gpu_pairs_text
from railyard.verdict.blame.gpu_pairs import (
    Contradiction,
    NotUsed,
    RecordedTests,
    RepeatJudgement,
    judge_repeats,
    settle_pairs,
)
from railyard.verdict.blame.search.explanations import BlamedPart, Layer, Test
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.gpu import log_reading, rules
from railyard.verdict.gpu.collectives import GpuCollectives, intended_way, least_moved_bytes, most_moved_bytes, of_nodes
from railyard.verdict.gpu.log_reading import uses_rdma
from railyard.verdict.gpu.log_word import word
from railyard.verdict.gpu.run import HALVES, GpuRun, GpuTarget, curve, rows, run_of
from railyard.verdict.hints.first_cause import never_began
from railyard.verdict.path import proof, traffic
from railyard.verdict.rule_model import (
    DeclaredMetric,
    LogContradiction,
    MeasuredMetric,
    MetricInput,
    OutputLine,
    PathProof,
    RuleResult,
)
from railyard.verdict.wording import gpu_pairs as gpu_pairs_words
from railyard.verdict.wording import gpu_runs, pair_search
from railyard.verdict.wording import gpu_runs as words

#: How many are named one by one in a sentence.
_SHOWN = 3


class GpuPairs(GpuCollectives):
    """What the rules ask about the pairs of one job; without ``steps``, about no job."""

    def __init__(self, steps: Sequence[EndedStep] = (), *, rehearsed: bool = False) -> None:
        super().__init__(rehearsed=rehearsed)
        self.all_steps = tuple(steps)

    def of(self, evidence: Evidence) -> "GpuPairs":
        """Return the answers for a job, by the logs and counters of its steps."""
        return GpuPairs(evidence.steps, rehearsed=evidence.rehearsed)

    def tables_to_judge(self, tables: list[Table], again: Sequence[Table]) -> list[Table]:
        """Return the curve of the slowest pair with all GPUs of both nodes; the job's own table if no pair has one."""
        tests = self._whole_pairs
        return [self._table_of(min(tests, key=_value))] if tests else tables

    def bounds(self, case: Case, tables: Sequence[Table]) -> tuple[MetricInput, ...]:
        """Return the fastest pair, which must also be possible."""
        tests, limit = self._whole_pairs, self.limit(case, tables)
        if not tests or limit is None:
            return ()
        declared = DeclaredMetric(
            *(pair_search.fastest_pair(BANDWIDTH), "MB/s", "bandwidth"),
            limited=True,
            reported_only=pair_search.only_limit_counts(),
        )
        curve = _curve(self._table_of(max(tests, key=_value)))
        return (MetricInput(declared, MeasuredMetric(curve.unit, curve.sizes, curve.values), limit=limit),)

    def failures(self, case: Case, tables: Sequence[Table], played: bool) -> tuple[OutputLine, ...]:
        """Return which pairs gave no result, moved wrong data, were not measured, or used other GPUs than asked for."""
        line = tables[0].line if tables else 0
        # If something is blamed for it, it fails rule 5. In a run without any result nothing is compared.
        named = self._whole_pairs and {test.log for one in self._judge_again(case).judged.blamed for test in one.tests}
        lost = [
            (ended, why)
            for ended in self.all_steps
            if ended.step.log not in named and (why := self._why_no_result(ended)) is not None
        ]
        other = [(ended, why) for ended in self.all_steps if (why := self._unlike(case, ended)) is not None]
        said = []
        for some, what in ((lost, words.no_valid_result()), (other, words.used_other_gpus())):
            if some:
                shown = [words.step_with_reason(_pair(ended), ended.step.log, why) for ended, why in some[:_SHOWN]]
                said.append(words.bad_steps(len(some), len(self.all_steps), what, shown))
        left = sum(int(table.context.get("left") or 0) for table in tables)
        if left:
            said.append(words.rounds_left(left))
        return tuple(OutputLine(line, text) for text in said)

    def not_meant(self, case: Case, spoken: NcclOutput | None) -> LogContradiction | None:
        """Return what the library's own log of a pair contradicts: the network, and the way within a node."""
        for ended, log in self._logs:
            other = log_reading.why_other(log, intended_way(case))
            if other is not None:
                return replace(other, sentence=words.of_step(_pair(ended), ended.step.log, other.sentence))
        return None

    def log_remarks(self, case: Case, spoken: NcclOutput | None) -> tuple[str, ...]:
        """Return what a reader should know from the first log, or that there is no log."""
        again = sum(STARTED_AGAIN in ended.text for ended in self.all_steps)
        restarts = (words.started_again(again),) if again else ()
        if self.all_steps and not any(self._logs):
            return (words.no_log_of_any_pair(), *restarts)
        said = ((ended, remark) for ended, log in self._logs for remark in log_reading.remarks(log, intended_way(case)))
        first = next(said, None)
        return restarts if first is None else (words.of_pair(_pair(first[0]), first[1]), *restarts)

    def findings(self, case: Case, tables: Sequence[Table]) -> Findings | None:
        """Return who is slow or gave no result beside the other pairs; only who was also bad alone is named."""
        if not self.all_steps:
            return None
        again = self._judge_again(case)
        found = again.judged
        if not found.blamed:
            return Findings((), _say_alike(again), is_clear=True)
        named = [one for one in found.named_parts if again.is_confirmed(one)]
        left = [one for one in found.blamed if one not in named]
        said = [_describe_blamed(one, again) for one in named[:_SHOWN]]
        said += [words.say_undecided(_describe_blamed(one, again)) for one in left[:_SHOWN]]
        more = max(0, len(named) - _SHOWN) + max(0, len(left) - _SHOWN)
        said += [words.more_parts(more)] if more else []
        first = (named or left)[0]
        return Findings(
            tuple(_suspect(one, again, case) for one in named),
            "; ".join(said),
            fault="fabric",
            look_at=str(gpu_pairs_text.sentences(first, found)["next"]),
        )

    def floor(self, case: Case, tables: Sequence[Table]) -> RuleResult | None:
        """Return whether the curve of the slowest pair is one of healthy nodes: all pairs may be slow alike."""
        return super().floor(case, self.tables_to_judge(list(tables), ())) if self._whole_pairs else None

    def path(
        self, case: Case, tables: Sequence[Table], readings: Mapping[str, NodeCounters], plan: traffic.Plan
    ) -> PathProof:
        """Return the path proof: over all of its steps each node moved at least what no algorithm can avoid.

        The library chooses how much each NIC carries, and each must have been used.
        """
        moved = self._node_traffic(case)
        if not moved:
            return proof.judge_by_counters(case, readings, plan, (), words.no_pair())
        return proof.judge(readings, replace(plan, collective=True, traffic=moved))

    def _node_traffic(self, case: Case) -> dict[str, traffic.NodeTraffic]:
        """Return what each node moved in all of its steps; a node without a result of all its GPUs is left out.

        One GPU alone does not have to use each rail. If a step gave no result, it is not known how much it moved, so
        its nodes have no upper limit.
        """
        nodes, collective, part = case.launch.nodes, collective_of(case.benchmark), part_of(case.benchmark)
        found: dict[str, list[traffic.NodeTraffic]] = {}
        unknown: set[str] = set()
        whole: set[str] = set()
        for ended in self.all_steps:
            job, table = self._job(ended), self._table(ended)
            own = {label(node): node for node in nodes}
            if job is None or table is None or collective is None:
                unknown |= {own[label(name)] for name in (ended.step.first, ended.step.second) if label(name) in own}
                continue
            shape = shape_of_part(case.site.system, case.fabric, case.rails, part, 2, len(job.ranks) // 2)
            bytes_ = least_moved_bytes([table])
            if shape is None or bytes_ is None:
                continue
            each = of_nodes(collective, shape, 1, bytes_, most_moved_bytes(case, bytes_))
            for host, traffic_ in zip(job.hosts, each, strict=False):
                if label(host) in own:
                    found.setdefault(own[label(host)], []).append(traffic_)
                    whole |= {own[label(host)]} if ended.step.gpu is None else set()
        return {
            node: replace(both, most_sent_bytes=None, most_received_bytes=None) if node in unknown else both
            for node, parts in found.items()
            for both in (traffic.add_traffic(parts),)
            if node in whole
        }

    # --- what the steps left behind

    def _judge_again(self, case: Case) -> RepeatJudgement:
        """Return the judgement of all pairs, compared with one another."""
        return judge_repeats(self._recorded_tests, self._at_once, _leaves(case))

    @cached_property
    def _parsed_logs(self) -> Mapping[str, ParsedOutput | ParseError]:
        found: dict[str, ParsedOutput | ParseError] = {}
        for ended in self.all_steps:
            if ended.text not in found:
                try:
                    found[ended.text] = nccl.parse(ended.text)
                except ParseError as error:
                    found[ended.text] = error
        return found

    @cached_property
    def _recorded_tests(self) -> gpu_pairs.RecordedTests:
        def find_parsed(text: str) -> ParsedOutput:
            found = self._parsed_logs[text]
            if isinstance(found, ParseError):
                raise found
            return found

        began = (ended for ended in self.all_steps if not _never_began(ended))
        return gpu_pairs.read_tests(((ended.step.log, ended.text) for ended in began), parse=find_parsed)

    @property
    def _at_once(self) -> frozenset[str]:
        return frozenset(ended.step.log for ended in self.all_steps if not ended.step.alone)

    @cached_property
    def _whole_pairs(self) -> tuple[Test, ...]:
        """The tests with all GPUs of both nodes; for each pair, the better one."""
        tests = settle_pairs(self._recorded_tests, self._at_once).tests
        most = max((test.layer.gpus for test in tests), default=0)
        return tuple(test for test in tests if test.layer.gpus == most and test.value is not None)

    @property
    def _logs(self) -> Iterator[tuple[EndedStep, Log]]:
        for ended in self.all_steps:
            spoken = self._read_spoken(ended)
            if spoken is not None and spoken.log is not None:
                yield ended, spoken.log

    def _read_spoken(self, ended: EndedStep) -> NcclOutput | None:
        found = self._parsed_logs[ended.text]
        return found.nccl if isinstance(found, ParsedOutput) else None

    def _job(self, ended: EndedStep) -> Job | None:
        spoken = self._read_spoken(ended)
        return spoken.jobs[0] if spoken is not None and len(spoken.jobs) == 1 else None

    def _table(self, ended: EndedStep) -> Table | None:
        found = self._parsed_logs[ended.text]
        whole = [table for table in found.tables if table.complete] if isinstance(found, ParsedOutput) else []
        return whole[0] if len(whole) == 1 else None

    def _table_of(self, test: Test) -> Table:
        table = next(self._table(ended) for ended in self.all_steps if ended.step.log == test.log)
        assert table is not None  # it has a value
        return table

    def _why_no_result(self, ended: EndedStep) -> str | None:
        if _never_began(ended):
            return words.launcher_bug()
        tests = [test for test in self._recorded_tests.tests if test.log == ended.step.log]
        parsed = self._parsed_logs[ended.text]
        if isinstance(parsed, ParsedOutput) and parsed.failures and any(test.value is not None for test in tests):
            return words.say_reported(parsed.failures[0].text, parsed.failures[0].line)
        if any(test.value is not None and not test.wrong for test in tests) and ended.step.exit_code == 0:
            return None
        if ended.step.exit_code in TIMED_OUT:
            return words.ended_after(ended.step.seconds)
        not_used = (one.why for one in self._recorded_tests.not_used if one.log == ended.step.log)
        why = next((test.why for test in tests if test.why), None) or next(not_used, None)
        return why or words.exit_code(ended.step.exit_code)

    def _unlike(self, case: Case, ended: EndedStep) -> str | None:
        """Return which nodes or GPUs of a step's log were not asked for; None if they are as asked for."""
        job, step = self._job(ended), ended.step
        if job is None or not job.ranks:
            return None
        if {label(host) for host in job.hosts} != {label(step.first), label(step.second)}:
            return words.ran_on(job.hosts)
        due = case.ranks_per_node if step.gpu is None else 1
        if len(job.ranks) != 2 * due:
            return words.other_rank_count(len(job.ranks), 2 * due)
        devices = {rank.device for rank in job.ranks}
        if step.gpu is not None and devices != {step.gpu}:
            return words.other_gpus(sorted(devices))
        return None


def _value(test: Test) -> float:
    return test.value or 0.0


def _never_began(ended: EndedStep) -> bool:
    return ended.step.exit_code != 0 and never_began(ended.text)


def _pair(ended: EndedStep) -> str:
    return words.pair_of_nodes(ended.step.first, ended.step.second, ended.step.gpu)


def _curve(table: Table) -> Curve:
    """Return the larger value of both halves of each row, MB/s."""
    names = [name for name in ("busbw", "busbw_in_place") if name in table.columns]
    rows = list(zip(table.column("size"), *(table.column(name) for name in names), strict=True))
    best = {
        size: max(float(value) for value in values if isinstance(value, int | float))
        for size, *values in rows
        if isinstance(size, int) and any(isinstance(value, int | float) for value in values)
    }
    return Curve(BANDWIDTH, "MB/s", tuple(best), tuple(best.values()))


def _leaves(case: Case) -> topology.Leaves:
    rails = [rail for rail in case.site.system.fabrics[case.fabric].rails if rail.name in case.launch.meant]
    return topology.places_of(case.site.home, case.site.system, case.fabric, rails).leaf_of


def _describe_blamed(one: BlamedPart, again: RepeatJudgement) -> str:
    found = again.judged
    said = gpu_pairs_text.sentences(one, found)
    return words.blamed_part(str(said["part"]), said["evidence"][:2], one.sure, again.is_confirmed(one))


def _say_alike(again: RepeatJudgement) -> str:
    shares = again.judged.shares
    if not shares:
        pairs = len({test.pair for test in again.judged.recorded.tests})
        return words.too_few_pairs(pairs, gpu_pairs.LEAST_PAIRS)
    low = min(shares.values())
    return words.alike_pairs(len({test.pair for test in shares}), low)


def _suspect(one: BlamedPart, again: RepeatJudgement, case: Case) -> Suspect:
    """Return a suspect of the record: a rail, if the GPU at fault has one of its own by the system's file."""
    said = gpu_pairs_text.sentences(one, again.judged)
    reason = words.suspected_part(str(said["part"]), said["evidence"][:1])
    if one.kind == "pair":
        return Suspect("pair", reason, "-".join(one.nodes))
    rail = _rail_of(one, case)
    if one.kind == "part":
        return Suspect("switch", reason, None, rail)
    return Suspect(
        "rail" if one.kind == "gpu" and rail else "node", reason, one.nodes[0], rail if one.kind == "gpu" else None
    )


def _rail_of(one: BlamedPart, case: Case) -> str | None:
    """Return the rail of the one GPU that is named; None for several, or if the file gives it no rail of its own."""
    gpus = case.site.system.gpus
    named = [gpu for group in one.gpus for gpu in group]
    if gpus is None or len(named) != 1 or not named[0].isdigit():
        return None
    own = [rail for rail in case.launch.meant if gpus.nearest.get(rail.partition(":")[0]) == (int(named[0]),)]
    return own[0] if len(own) == 1 else None


ASSESSOR = GpuPairs()


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
