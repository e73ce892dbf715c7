"""What the groups of a run left: which are whole, which are not and why, and what the whole ones say together.

A group is whole if its job wrote its end after its output, and the output has as many bytes as the end says. A group
gives no value if its output is cut or of another run, or if the scheduler ended it. Its nodes are then named with the
reason.

Makes one verdict and one record of what the groups of a run left: merges evidence, judges, screens and stores it.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from os import environ
from pathlib import Path
from typing import Literal

from railyard.base.errors import InputError, SetupError
from railyard.base.files import read_bounded
from railyard.base.hostlist import label
from railyard.base.hostlist import list_nodes as named_nodes
from railyard.base.paths import runs_folder
from railyard.base.values import utc_time
from railyard.base.wording import count_of, listing
from railyard.benchmarks.node_pairs import hosts_of, merge_tables
from railyard.cluster.rolling.under_scheduler import (
    BEGUN,
    COUNTERS,
    END,
    ERRORS,
    LAUNCHER,
    LINKED,
    OUTPUT,
    SAMPLE,
    Jobs,
    KeptGroup,
    KeptRun,
    KeptStep,
)
from railyard.job import environment, node_facts, probe_job
from railyard.job.batch import State
from railyard.job.case import Case, Evidence, kept_test
from railyard.job.probe_job import STARTED_AGAIN
from railyard.job.provenance import circumstances, provenance
from railyard.parsers.output import ParsedOutput, ParseError, Table
from railyard.parsers.pairs import parse, text_of
from railyard.provision.installed_stack import changed_files
from railyard.provision.rehearsal import form as rehearsal
from railyard.results import run_folder
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import Record, hold_promise
from railyard.site.site import Site
from railyard.site.test_id import TestId
from railyard.site.topology import Leaves, Places, places_of
from railyard.verdict import node_pairs
from railyard.verdict.assess import Assessment, assess, record_of
from railyard.verdict.blame.screening.model import Budget
from railyard.verdict.findings import with_remark
from railyard.verdict.hints.first_cause import never_began
from railyard.verdict.node_pairs import SampleOrigin, with_screening
from railyard.verdict.rule_model import fail_rule
from railyard.verdict.wording.gpu_runs import BROKEN_TWICE

#: ``waits`` and ``runs``: it is not over. ``lost``: the scheduler ended it, or its nodes went away. ``broken``: it
#: failed by itself. ``cut``: its files are not whole. ``foreign``: its files are of another run.
Kind = Literal["whole", "waits", "runs", "lost", "broken", "cut", "foreign"]
#: A clock is off if it differs by more than this from the time that it is compared with, in seconds. Jobs begin within
#: seconds, and clocks that NTP sets differ by less than one second.
CLOCK_S = 60.0
#: How much the duration of a job may differ between its node's clock and its files' times, in seconds. If it differs
#: more, the files have been copied since.
_COPIED_S = 5.0


@dataclass(frozen=True, slots=True)
class Part:
    """What became of one group. ``words`` say why it is not whole; empty if it is.

    ``parsed`` is its output, ``folder`` has its files. ``began`` and ``ended`` are seconds since 1970 by the clock of
    its first node. That clock is at least ``clock_off_s`` ahead (below 0: behind); None if nothing shows it.
    """

    step: str
    number: int
    nodes: tuple[str, ...]
    folder: Path
    kind: Kind
    words: str = ""
    parsed: ParsedOutput | None = None
    began: float | None = None
    ended: float | None = None
    clock_off_s: float | None = None

    @property
    def table(self) -> Table | None:
        """Its pairs, if it is whole."""
        return None if self.parsed is None else self.parsed.tables[0]

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.kind not in ("waits", "runs")

    @property
    def name(self) -> str:
        """The group as sentences name it."""
        return f"group {self.number}" if self.step == "sample" else f"group {self.number} of {self.step}"


@dataclass(frozen=True, slots=True)
class _Mark:
    """The line that a job writes when it begins or ends: its tag and the other words."""

    tag: str
    words: tuple[str, ...]
    written: float


def part_of(
    folder: Path, run: KeptRun, step: KeptStep, number: int, state: State | None, now: float, ended: str = ""
) -> Part:
    """Return what became of a group: from its files or, if they do not say it, from its job's state.

    ``state`` is None if the scheduler does not know the job. ``ended`` is what the scheduler says of a job that it
    ended. ``now`` is this machine's clock, in seconds since 1970.
    """
    group, own = step.groups[number - 1], folder / step.folder(number)
    begun, end = _mark(own / BEGUN), _mark(own / END)

    def part(kind: Kind, words: str = "", parsed: ParsedOutput | None = None) -> Part:
        began, over = _time(begun, 2), _time(end, 2)
        off = clock_off(began, over, _begin_time(begun, end), _time(begun, 3), run.submitted, now)
        return Part(step.name, number, group.nodes, own, kind, words, parsed, began, over, off)

    foreign = None if begun is None else _why_foreign(run, begun)
    if foreign is not None:
        return part("foreign", foreign)
    if end is not None:
        return part(*_read_group(own, run, group, end))
    if not group.job:
        return part("lost", group.why or "it was never submitted")
    if state is not None and state.phase != "ended":
        why = f" ({state.reason})" if state.phase == "waits" and state.reason else ""
        return part(state.phase, f"its job {'waits' if state.phase == 'waits' else 'runs'}{why}")
    said = ended or (
        "the scheduler does not know its job any more" if state is None else f"its job ended ({state.word})"
    )
    when = "before it had ended its measurement" if begun is not None else "before it began"
    return part("lost", said if ended else f"{said}, {when}")


def incomplete_groups(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the groups whose files may still be on their way: a file system may show them up to a minute late."""
    return tuple(one for one in parts if one.kind == "cut" or (one.kind == "lost" and one.began is not None))


def absent_nodes(run: KeptRun, parts: Iterable[Part]) -> Mapping[str, str]:
    """Return the nodes that no whole group measured, each with the reason."""
    there = {label(host) for one in parts if one.table is not None for host in hosts_of(one.table)}
    found = dict(run.left_out)
    for one in parts:
        if one.step != run.steps[0].name:
            continue
        for node in one.nodes:
            if label(node) not in there and node not in found:
                found[node] = f"{one.name}: {one.words or 'it was not among the nodes of its job'}"
    return found


def clock_off(
    began: float | None,
    ended: float | None,
    written: float | None,
    started: float | None,
    submitted: float,
    now: float,
) -> float | None:
    """Return by how many seconds at least a node's clock is ahead (below 0: behind); None if nothing shows it.

    The node wrote ``began`` and ``ended``. They are compared with three times. ``written`` is the file server's time of
    what the node wrote when it began (some file systems give the node's own time). ``started`` is the scheduler's time
    of the job's start. The whole job was between ``submitted`` and ``now`` by this machine's clock.
    """
    if began is None:
        return None
    found = [] if written is None else [began - written]
    # A prolog may run between the start of a job and the start of its script.
    found += [began - started] if started is not None and began < started else []
    found += [began - submitted] if began < submitted else []
    found += [ended - now] if ended is not None and ended > now else []
    worst = max(found, key=abs, default=0.0)
    return worst if abs(worst) > CLOCK_S else None


def why_not_together(runs: Iterable[tuple[str, KeptRun]]) -> None:
    """Do nothing if these runs, each with its name, may be merged.

    Raises InputError that names the first run of another system, or the first that measured something else.
    """
    named = list(runs)
    first_name, first = named[0]
    for name, run in named[1:]:
        for what in ("system", "fabric", "stack", "rails", "policy", "words", "railyard"):
            mine, theirs = getattr(first, what), getattr(run, what)
            if mine != theirs:
                shown = {"words": "the words of railyard-pairs", "railyard": "Railyard"}.get(what, what)
                of = " ".join(theirs) if isinstance(theirs, tuple) else theirs
                wanted = " ".join(mine) if isinstance(mine, tuple) else mine
                raise InputError(name, f"{shown} {of}", f"{wanted} as in {first_name}", action="collect each by itself")


def summary(parts: Iterable[Part]) -> str:
    """Return how many groups are measured, and how the others are: ``12 of 20 groups measured, 4 run, 4 wait``."""
    counts: dict[Kind, int] = {}
    every = list(parts)
    for one in every:
        counts[one.kind] = counts.get(one.kind, 0) + 1
    said = {
        "runs": "run",
        "waits": "wait",
        "lost": "lost",
        "broken": "broke",
        "cut": "cut",
        "foreign": "of another run",
    }
    others = [f"{counts[kind]} {word}" for kind, word in said.items() if kind in counts]
    head = f"{counts.get('whole', 0)} of {count_of(len(every), 'group')} measured"
    return ", ".join([head, *others])


def clock_words(parts: Iterable[Part]) -> Iterator[str]:
    """Yield a sentence for each group whose first node's clock is off."""
    for one in parts:
        if one.clock_off_s is not None:
            way = "ahead" if one.clock_off_s > 0 else "behind"
            node = one.nodes[0] if one.nodes else "a node"
            off = duration(abs(one.clock_off_s))
            yield f"the clock of {one.name} ({node}) is {off} {way}: its values count, its times do not"


def duration(seconds: float) -> str:
    """Return a time as people write it: ``42 s``, ``5 min``, ``1 h 0 min``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _read_group(own: Path, run: KeptRun, group: KeptGroup, end: _Mark) -> tuple[Kind, str, ParsedOutput | None]:
    """Return the kind of a group whose job wrote its end, and why it is not whole, or its table."""
    if end.tag != run.tag:
        return "foreign", f"its files are of another run ({end.tag})", None
    code, size = end.words[0], int(end.words[1]) if len(end.words) > 1 and end.words[1].isdigit() else -1
    try:
        # NFS caches show what was there before; listing a folder makes NFS look again.
        os.listdir(own)
        content = read_bounded(own / OUTPUT)
    except OSError:
        return "cut", f"its output is missing, and had {size} bytes", None
    if content.size != size:
        return "cut", f"its output has {content.size} of {size} bytes", None
    if code != "0":
        if never_began(text_in(own / ERRORS)):
            return "lost", f"{BROKEN_TWICE}, so it was not measured", None
        said = _first_line(own / ERRORS)
        return "broken", f"it ended with exit code {code}{f': {said}' if said else ''}", None
    try:
        parsed = parse(content.text)
    except ParseError as error:
        return "broken", f"its output is not from railyard-pairs ({error})", None
    if len(parsed.tables) != 1 or not parsed.tables[0].complete:
        return "broken", "its output has no whole table, though its job ended well", None
    planned = {label(node) for node in group.nodes}
    strangers = [host for host in hosts_of(parsed.tables[0]) if label(host) not in planned]
    if strangers:
        return "foreign", f"its job had {listing(strangers)}, which it was not given", None
    return "whole", "", parsed


def _why_foreign(run: KeptRun, begun: _Mark) -> str | None:
    system, railyard = (*begun.words, "", "")[:2]
    if begun.words and system != run.system:
        return f"its files are of the system {system}, expected {run.system}"
    if begun.words and railyard != run.railyard:
        return f"its files are of Railyard {railyard}, expected {run.railyard}"
    return None if begun.tag == run.tag else f"its files are of another run ({begun.tag})"


def _mark(file: Path) -> _Mark | None:
    """Return the words of a mark; None if it is missing or not whole."""
    try:
        text, written = file.read_text(encoding="utf-8", errors="replace"), file.stat().st_mtime
    except OSError:
        return None
    words = text.split()
    return _Mark(words[0], tuple(words[1:]), written) if words and text.endswith("\n") else None


def _begin_time(begun: _Mark | None, end: _Mark | None) -> float | None:
    """Return when a job began by the file server's time; None if the files have other times, as in a copied folder."""
    began, ended = _time(begun, 2), _time(end, 2)
    if begun is None or end is None or began is None or ended is None:
        return None
    return begun.written if abs((end.written - begun.written) - (ended - began)) < _COPIED_S else None


def _time(mark: _Mark | None, place: int) -> float | None:
    word = mark.words[place] if mark is not None and len(mark.words) > place else ""
    return float(word) if word.isdigit() else None


def _first_line(file: Path) -> str:
    return next((line.strip()[:200] for line in text_in(file).splitlines() if line.strip()), "")


def text_in(file: Path) -> str:
    """Return the text of a file of a group, empty if there is none."""
    try:
        return read_bounded(file).text
    except OSError:
        return ""


#: The name of the check, whether it runs in groups or not.
CHECK = "SampledPairs"
BENCHMARK = "pairs/pairs"
#: How many rounds the suspects may take, however many the sample had: they are separate jobs after all groups.
ROUNDS_FOR_SUSPECTS = 400
#: If a smaller share of the nodes than this gave a result, the run says nothing about the system.
LEAST_MEASURED = 0.5
_FAILED = ("broken", "cut", "foreign")


@dataclass(frozen=True, slots=True)
class CombinedGroups:
    """What all groups left: the tables of the sample and of each later step, and the text of the sample's output."""

    hosts: tuple[str, ...]
    tables: tuple[Table, ...]
    output: str
    parts: tuple[Part, ...]

    @property
    def complete_groups(self) -> tuple[Part, ...]:
        """The groups of the sample that are whole."""
        return tuple(one for one in self.parts if one.step == SAMPLE and one.table is not None)


def combine_groups(run: KeptRun, parts: Sequence[Part]) -> CombinedGroups:
    """Return what the groups left, as one table per step. The first step without a whole group ends the tables.

    Nodes are in topology order; nodes whose leaf is not known come last, by their numbers. Raises ValueError for groups
    whose program was given other words.
    """
    whole = [one for one in parts if one.step == SAMPLE and one.table is not None]
    found = {host for one in whole if one.table is not None for host in hosts_of(one.table)}
    order = {label(node): place for place, node in enumerate(run.leaves)}
    hosts = tuple(sorted(found, key=lambda host: (order.get(label(host), len(order)), _natural(host))))
    tables: list[Table] = []
    for step in run.steps:
        of_step = [one.table for one in parts if one.step == step.name and one.table is not None]
        if not of_step:
            break
        tables.append(merge_tables(of_step, hosts))
    output = text_of(tables[0]) + _other_lines(whole) if tables else ""
    return CombinedGroups(hosts, tuple(tables), output, tuple(parts))


def describe_sample(run: KeptRun, parts: Sequence[Part], place_round_s: float, ended: float) -> SampleOrigin:
    """Return how the sample of a run in groups was made. ``ended`` is when, in seconds since 1970."""
    rounds = sum(int(str(one.table.context.get("rounds") or 0)) for one in parts if one.table and one.step == SAMPLE)
    return SampleOrigin(
        "rolling",
        Budget((rounds + ROUNDS_FOR_SUSPECTS) * place_round_s, place_round_s),
        planned_here=False,
        began=utc_time(run.submitted),
        ended=utc_time(ended),
        absent=tuple(absent_nodes(run, parts).items()),
    )


def assess_run(
    site: Site, run: KeptRun, jobs: Jobs, found: CombinedGroups, how: SampleOrigin, today: date
) -> tuple[Assessment, Evidence]:
    """Return the assessment of a run in groups, and the evidence that it was made from."""
    left = evidence(site, run, found)
    case = Case(test=test_of(run), site=site, launch=jobs.launch(_nodes(run, found.hosts)), sizes=(run.size,))
    made = replace(assess(case, left, parse, today), pair_tables=found.tables)
    made = with_screening(made, how, places_in(site, run), site.system.fabrics[run.fabric].up_links)
    made = _with_groups(made, run, found.parts, how)
    for words in clock_words(found.parts):
        made = with_remark(made, words)
    return made, left


def evidence(site: Site, run: KeptRun, found: CombinedGroups) -> Evidence:
    """Return what the whole groups left, as if one job had left it."""
    whole = found.complete_groups
    steps = [text_of(table) for table in found.tables[1:]]
    return Evidence(
        stdout=found.output,
        stderr="".join(text_in(one.folder / ERRORS) for one in whole),
        exit_code=0 if whole else None,
        counters=tuple(_texts(whole, COUNTERS, "*.counters")),
        tag=run.tag,
        linked=text_in(whole[0].folder / LINKED) if whole else None,
        again=tuple(steps),
        facts=node_facts.parse_all(_texts(whole, COUNTERS, "*.facts"), run.tag),
        job_id=run.steps[0].array or next((group.job for group in run.steps[0].groups if group.job), None),
        rehearsed=rehearsal.current() is not None,
        changed=changed_files(site, run.stack),
        launcher=text_in(whole[0].folder / LAUNCHER) if whole else "",
        environment=environment.parse_all(_texts(whole, COUNTERS, f"*{environment.SUFFIX}"), run.tag),
    )


def store(site: Site, run: KeptRun, made: Assessment, left: Evidence, words: Sequence[str], ended: float) -> Record:
    """Store a run in groups as a run of its own beside the others; return its record. ``words`` are its command.

    Raises RailyardError if it cannot be written, or was stored before.
    """
    folder = stored_folder(site.home, run)
    if (folder / FILE_NAME).exists():
        raise SetupError(f"{folder}: found a record of this run, expected none: it was collected before")
    case, began = made.case, datetime.fromtimestamp(run.submitted, timezone.utc)
    folder.mkdir(parents=True, exist_ok=True)
    with run_folder.as_run(run.id, folder), hold_promise(folder, run.system, utc_time(run.submitted), [str(case.test)]):
        printed = folder / "output.partial"
        printed.write_text(left.stdout, encoding="utf-8")
        output = run_folder.keep_output(site.home, str(case.test), printed) if left.stdout else None
        printed.unlink()
        if output is not None and left.counters:
            told = [SAMPLE, probe_job.ROUNDS, *run.words]
            run_folder.keep_beside(site.home, output, kept_test(case, left, told, {}, (), utc_time(run.submitted)))
        pairs = node_pairs.record_of(made, leaves_of(run))
        if pairs is not None and pairs.file is not None:
            run_folder.keep_pairs(site.home, pairs.file)
        record = record_of(
            made,
            run=run.id,
            time=utc_time(ended),
            elapsed_s=round(max(0.0, ended - run.submitted), 2),
            environment=provenance(site, run.stack),
            command=tuple(words),
            output=output,
        )
        own = left.environment[0].variables if left.environment else {}
        said = circumstances(
            left.facts, linked=left.linked, variables={**environ, **case.launch.env, **own},
            scheduler=site.system.scheduler, job_id=left.job_id, started=began,
        )  # fmt: skip
        rehearsed = rehearsal.current()
        record = record.with_fields(
            pairs=None if pairs is None else pairs.record,
            rehearsal=None if rehearsed is None else rehearsed.remark, **said,
        )  # fmt: skip
        append_record(folder / FILE_NAME, record)
    return record


def stored_folder(home: Path, run: KeptRun) -> Path:
    """Return the folder in which a run in groups is stored, among all runs of a site."""
    return runs_folder(home) / run.id


def _with_groups(made: Assessment, run: KeptRun, parts: Sequence[Part], how: SampleOrigin) -> Assessment:
    """Return the assessment with what it must say about groups: a failed group fails the run, others become remarks."""
    of_sample = [one for one in parts if one.step == SAMPLE]
    broken = [one for one in of_sample if one.kind in _FAILED]
    asked = sum(len(one.nodes) for one in of_sample) + len(run.left_out)
    measured = asked - len(how.absent)
    if how.absent:
        reasons: dict[str, list[str]] = {}
        for node, why in how.absent:
            reasons.setdefault(why, []).append(node)
        said = [f"{named_nodes(nodes)} ({why})" for why, nodes in reasons.items()]
        made = with_remark(made, f"{measured} of {count_of(asked, 'node')} were measured, not {'; '.join(said)}")
    again = sum(STARTED_AGAIN in text_in(one.folder / ERRORS) for one in parts)
    if again:
        made = with_remark(made, f"{count_of(again, 'group')} started again after a bug of the launcher")
    later = [one for one in parts if one.step != SAMPLE and one.table is None]
    if later:
        made = with_remark(made, "; ".join(f"{one.name}: {one.words}" for one in later[:4]))
    if not broken and not made.verdict.fails:
        broken = [one for one in parts if one.kind in _FAILED]
    if broken:
        first = broken[0]
        more = f"; {count_of(len(broken) - 1, 'group')} more failed" if len(broken) > 1 else ""
        what = f"{first.name} ({named_nodes(first.nodes)}): {first.words}{more}"
        return _fail(made, what, "set-up", f"{first.folder / ERRORS} and the job's own outputs")
    if measured < LEAST_MEASURED * asked:
        what = f"{measured} of {count_of(asked, 'node')} gave a result: that says nothing about the others"
        return _fail(made, what, "scheduler", "why their jobs ended or never began, then run it again")
    return made


def _fail(made: Assessment, sentence: str, fault: Literal["set-up", "scheduler"], look: str) -> Assessment:
    judged = made.verdict
    rule = fail_rule(1, sentence, fault, look)
    said = replace(
        judged,
        state="fail",
        rule=1,
        fault=fault,
        look_at=look,
        sentence=sentence,
        rules=tuple(rule if one.rule == 1 else one for one in judged.rules),
        remarks=(f"of what was measured: {judged.sentence}", *judged.remarks),
    )
    return replace(made, verdict=said)


def test_of(run: KeptRun) -> TestId:
    """Return the test that a run in groups runs."""
    name = f"{CHECK} %rails={run.rails}"
    return TestId(run.fabric, run.stack, run.rails, BENCHMARK, CHECK, run.policy, run.system, name)


def _nodes(run: KeptRun, hosts: Iterable[str]) -> tuple[str, ...]:
    """Return the nodes as the run names them, in the order of the hosts."""
    names = {label(node): node for group in run.steps[0].groups for node in group.nodes}
    return tuple(names.get(label(host), host) for host in hosts)


def places_in(site: Site, run: KeptRun) -> Places:
    """Return the leaf switch of each node as it was when the run was planned, and the groups of the system's file."""
    rails = site.system.fabrics[run.fabric].used_rails(run.rails, run.policy)
    return Places(leaves_of(run), places_of(site.home, site.system, run.fabric, rails).group_of)


def leaves_of(run: KeptRun) -> Leaves:
    """Return each node's leaf switch, as it was known when the run was submitted."""
    return {label(node): leaf for node, leaf in run.leaves.items()}


def _natural(host: str) -> tuple[str | int, ...]:
    """Return the key that sorts n9 before n10: words and numbers in turn."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", host))


def _other_lines(parts: Iterable[Part]) -> str:
    """Return what the groups printed besides rows: a failure of a group is a failure of the run."""
    said = [(one, line) for one in parts if one.parsed for line in (*one.parsed.failures, *one.parsed.remarks)]
    return "".join(f"{line.text}\n" for _, line in said)


def _texts(parts: Iterable[Part], folder: str, pattern: str) -> list[str]:
    return [text_in(file) for one in parts for file in sorted((one.folder / folder).glob(pattern))]
