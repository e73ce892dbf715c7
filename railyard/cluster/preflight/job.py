"""Runs a preflight in a job: asks each node, measures the rails and an allreduce, and keeps to its time.

It runs on one node of the job, and starts all else in steps of the job: `doctor.sh` on every node, railyard-pairs over
each rail behind the counter reader, and an allreduce over all rails. It changes nothing on a node, and drains none.
"""

import contextlib
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Literal

from railyard import __version__
from railyard.base.errors import SetupError
from railyard.base.hostlist import label
from railyard.base.paths import packaged_text, state_folder
from railyard.base.wording import count_of, few, listing
from railyard.benchmarks.moved_bytes import Repetitions
from railyard.benchmarks.node_pairs import hosts_of, pairs_of
from railyard.cluster.doctor import node_block
from railyard.cluster.gate import model
from railyard.cluster.gate.ending import Deadline, GateStop, limit_time, start_process, wait_for
from railyard.cluster.gate.traffic import why_busy
from railyard.cluster.preflight.answer import Answer, Fault, Findings
from railyard.cluster.preflight.rounds import (
    Ground,
    LaunchValues,
    RailLaunch,
    Wave,
    WaveResult,
    measure_rails,
)
from railyard.cluster.rolling.collect import text_in
from railyard.cluster.rolling.plan import Place, PlanRequest, place_of, write_files
from railyard.cluster.rolling.under_scheduler import (
    COUNTERS,
    END,
    ERRORS,
    LINKED,
    OUTPUT,
    PAIRS,
    READER,
    Jobs,
    KeptRun,
    jobs,
    pairs_text,
)
from railyard.hardware.day_one import stream_floor_mb_s
from railyard.job import environment, node_facts, node_files, probe_job
from railyard.job.case import Case, Evidence
from railyard.job.counters import reader_script
from railyard.job.launch import Ranks, plan_launch, runs_as_root
from railyard.job.probe_job import lists_nodes, step_words
from railyard.parsers import imb, nccl, osu
from railyard.parsers.output import ParsedOutput, ParseError, Table
from railyard.parsers.pairs import ALONE, SAMPLE
from railyard.parsers.pairs import parse as parse_pairs
from railyard.provision.installed_stack import find_on_nodes
from railyard.results.record.form import Suspect
from railyard.site.matrix import DEFAULT, policy_of
from railyard.site.site import Site
from railyard.site.systems.jobs import FAMILIES, escape_exports
from railyard.site.systems.measure import largest_allowed
from railyard.site.test_id import TestId
from railyard.site.topology import places_of
from railyard.stacks import ask
from railyard.verdict.assess import Assessment, assess
from railyard.verdict.blame.search.model import Round, Value
from railyard.verdict.node_pairs import least_bandwidth
from railyard.verdict.reference_rule import reference_where_measured

#: Messages of the pairs: from this size on, a link must reach its rate.
_SIZE_BYTES = 1 << 20
#: To ask all nodes takes so long, and so much more for each node, in seconds: estimates. It ends after so many
#: times that.
_ASK_S, _ASK_A_NODE_S, _ASK_TIMES = 3.0, 0.005, 5.0
#: The allreduce: its vector, and how often it is repeated at most: so often that it takes about a second.
_VECTOR_BYTES, _GPU_VECTOR_BYTES, _MOST_REPEATS, _WARM_UP, _VOLUME_MB = (1 << 20, 2 << 20, 4 << 20), 1 << 30, 10, 1, 40
#: What the allreduce takes besides its launch, and its limit in such times.
_REDUCE_S, _REDUCE_TIMES = 2.0, 2.5
#: An allreduce that is too slow, or gave nothing, is made so often in all.
_TIMES = 2
#: The scheduler lists the job's nodes within so many seconds.
_LIST_S = 30
#: The last seconds are for the answer itself.
_END_S = 1.0
#: So few nodes without an answer are at fault themselves; if more are silent, something else is.
_MOST_SILENT = 0.5
#: Folders of earlier preflights are removed after so many seconds.
_KEPT_S = 86_400.0
#: A line of a script: srun ends a step if one of its tasks failed, instead of waiting for the others.
_ENDS_WHOLE = ("export SLURM_KILL_BAD_EXIT=1",)
#: The variables that a scheduler sets in its jobs.
_IN_JOB: Mapping[str, str] = {
    "slurm": "SLURM_JOB_ID", "pbs": "PBS_NODEFILE", "lsf": "LSB_DJOB_HOSTFILE", "flux": "FLUX_JOB_ID",
    "sge": "PE_HOSTFILE",
}  # fmt: skip


#: The exit codes of a launch that was ended for its time; None: it left no code.
_TIMED_OUT = (None, 124, 137)
#: A launch is killed so long after its limit, in seconds.
_KILL_S = 3.0


def default_limit_s(nodes: int) -> int:
    """Return how long a preflight of so many nodes may take if nobody says it, in seconds."""
    return 60 if nodes <= 64 else 90 if nodes <= 512 else 120


def ask_seconds(nodes: int) -> float:
    """Return an estimate of how long so many nodes take to say how their links are, in seconds."""
    return _ASK_S + nodes * _ASK_A_NODE_S


def reduce_seconds(nodes: int) -> float:
    """Return an estimate of how long an allreduce of so many nodes takes with its launch, in seconds."""
    return probe_job.launch_seconds(nodes) + _REDUCE_S


def nodes_of_job(site: Site) -> tuple[str, ...]:
    """Return the nodes of the job that this runs in, in the scheduler's order. Raises SetupError outside of a job."""
    system = site.system
    family = FAMILIES.get(system.scheduler)
    if system.provider not in ("nodes", "testbed") or family is None:
        raise SetupError(
            f"preflight: found {system.system}, whose nodes no scheduler gives to jobs, expected a system with one"
        )
    variable = _IN_JOB[family]
    if not os.environ.get(variable) and not (family == "flux" and os.environ.get("FLUX_URI")):
        raise SetupError(
            f"preflight: found no {variable}, expected to run in a job of {system.scheduler}: put it into the job's "
            "script, before the application"
        )
    words = ["sh", "-c", lists_nodes(system.scheduler)]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_LIST_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SetupError(f"preflight: {words[-1]} did not end within {_LIST_S} s, expected the job's nodes") from None
    nodes = tuple(dict.fromkeys(done.stdout.split()))
    if len(nodes) < 2:
        found = listing(nodes) or (done.stderr.strip().splitlines() or ["no name"])[-1]
        raise SetupError(f"preflight: found {found} as the nodes of this job, expected two or more")
    return nodes


@dataclass(frozen=True, slots=True)
class PreflightRequest:
    """What is asked for: the job's nodes, over which fabric and stack, and in how many seconds."""

    nodes: tuple[str, ...]
    limit_s: float
    fabric: str | None = None
    stack: str | None = None
    allreduce: bool = True


def run(site: Site, asked: PreflightRequest) -> Answer:
    """Return what a preflight says. Raises RailyardError if its set-up cannot work."""
    begun, found = time.monotonic(), Findings()
    made = _make(site, asked, found)
    try:
        with limit_time(asked.limit_s) as deadline:
            made.run(replace(deadline, end_s=deadline.end_s - _END_S))
    except GateStop as stop:
        found.late[made.part] = str(stop)
    answer = Answer(asked.nodes, found, time.monotonic() - begun, asked.limit_s)
    if answer.state == "fit":
        shutil.rmtree(made.folder, ignore_errors=True)
    else:
        found.remarks.append(f"files: {made.folder}")
    return answer


def _make(site: Site, asked: PreflightRequest, found: Findings) -> "_Preflight":
    system = site.system
    place = place_of(site, PlanRequest(fabric=asked.fabric, stack=asked.stack, rails=1))
    size = largest_allowed(_SIZE_BYTES, system.measure, 2, 1)
    # Over a slow link a stream of few messages lasts long enough.
    window = max(4, min(probe_job.WINDOW, round((place.rate_mb_s or 0.0) * 1e6 * probe_job.STREAM_S / size)))
    words = probe_job.words(size, window, probe_job.EXCHANGES, place.rate_mb_s)
    now = datetime.now(timezone.utc)
    tag = f"{now:%Y%m%dT%H%M%S}-{os.getpid()}"
    parent = state_folder(site.home) / "preflight"
    _sweep(parent)
    kept = KeptRun(
        id=tag, railyard=__version__, system=system.system, fabric=place.fabric, stack=place.stack, rails=1,
        policy=place.policy, size=size, words=tuple(words), tag=tag, submitted=now.timestamp(), at_most=1,
        budget_s=asked.limit_s, seed=0, steps=(),
    )  # fmt: skip
    made = jobs(site, kept, parent / tag)
    write_files(made.folder, {**made.files(), node_block.SCRIPT: packaged_text(f"cluster/doctor/{node_block.SCRIPT}")})
    return _Preflight(site, asked, replace(place, words=tuple(words)), made, found)


def _sweep(parent: Path) -> None:
    for entry in parent.glob("*") if parent.is_dir() else ():
        if time.time() - entry.stat().st_mtime > _KEPT_S:
            shutil.rmtree(entry, ignore_errors=True)


@dataclass(slots=True)
class _Preflight:
    """One preflight while it runs."""

    site: Site
    asked: PreflightRequest
    place: Place
    jobs: Jobs
    found: Findings
    numbered: int = field(default=0, init=False)
    #: What it does now, for the sentence if its time is over.
    part: str = field(default="links", init=False)
    #: What runs on nodes beside the preflight, in words.
    busy: list[str] = field(default_factory=list, init=False)

    @property
    def folder(self) -> Path:
        """Where its launches leave their files; all nodes see it."""
        return self.jobs.folder

    @property
    def rails(self) -> tuple[str, ...]:
        """The rails of the fabric."""
        return tuple(rail.name for rail in self.site.system.fabrics[self.place.fabric].rails)

    def run(self, deadline: Deadline) -> None:
        """Look at the nodes, measure the rails of those that are good, and then an allreduce over all that are left."""
        self._look(deadline)
        good = tuple(node for node in self.asked.nodes if node not in self.found.sick)
        if len(good) < 2:
            self.found.late["rails and allreduce"] = f"{len(good)} of {len(self.asked.nodes)} nodes are left"
            return
        self.part = "rails"
        self._measure_rails(good, deadline)
        self.part = "allreduce"
        good = tuple(node for node in good if node not in self.found.sick)
        self._reduce(good, deadline)

    def launch_s(self, nodes: int) -> float:
        """Return what a launch takes until its first round, seconds."""
        return probe_job.launch_seconds(nodes)

    def round_s(self, nodes: int) -> float:
        """Return what a healthy round takes, seconds."""
        return self.place.round_s(nodes)

    # Links, slots and what a node says of itself.

    def _look(self, deadline: Deadline) -> None:
        system, nodes = self.site.system, self.asked.nodes
        folder = state_folder(self.site.home) / "answers"
        limit_s = int(min(deadline.left_s, _ASK_TIMES * ask_seconds(len(nodes))))
        launch = self.jobs.launch(nodes)
        try:
            with node_files.ask_nodes(folder, len(nodes)) as asking:
                front = step_words(self._launcher, self.place.stack, launch, limit_s, shared=True, kill_after_s=2)
                asks = asking.words(["sh", str(self.folder / node_block.SCRIPT), node_block.rails_of(system)])
                script = self._script([*front, *asks], launch.env)
                said = ""
                try:
                    with start_process(["bash", str(script)], self.folder) as process:
                        ended = wait_for(process, deadline)
                    said, code = ended.last_words, ended.code
                except OSError as error:
                    said, code = f"bash cannot be started ({error.strerror})", 1
                gathered = node_files.gather(
                    asking, lambda file: node_block.parse(file.text), ended_well=code == 0, elsewhere=()
                )
        except node_files.Unwritable as error:
            raise SetupError(
                f"preflight: {folder} cannot be written ({error.strerror}); all nodes write there"
            ) from None
        states = {label(node): block[0] for node, block in gathered.answers if len(block) == 1 and block[0].whole}
        self._note_silent([node for node in nodes if label(node) not in states], said)
        self.busy = [why for node in nodes if label(node) in states and (why := _why_busy(node, states[label(node)]))]
        gaps: dict[str, set[str]] = {}
        parts: set[str] = set()
        for node in nodes:
            if label(node) in states:
                for one in model.look(states[label(node)], system):
                    parts |= {one.part} if one.checked else set()
                    self.found.faults += [Fault(node, f"{node}: {each.found}", fix=each.fix) for each in one.faults]
                    if one.doubt is not None:
                        self.found.note_doubt(f"{node}: {one.doubt}")
                    for gap in one.gaps:
                        gaps.setdefault(gap.why, set()).add(gap.what)
        self.found.checked += [part for part in ("links", "slots") if part in parts]
        for why, names in gaps.items():
            for name in sorted(names):
                self.found.note_unchecked(name, why)

    def _note_silent(self, silent: Sequence[str], said: str) -> None:
        if not silent:
            return
        if len(silent) > _MOST_SILENT * len(self.asked.nodes):
            self.found.note_doubt(f"{few(silent)} did not answer; the launcher said: {said}")
            raise GateStop("too few nodes answered")
        for node in silent:
            fix = "see whether it is up, and whether it sees the site's folder"
            self.found.faults.append(Fault(node, f"{node} did not answer in a step of the job, others did", fix=fix))

    # Rails.

    def _measure_rails(self, nodes: tuple[str, ...], deadline: Deadline) -> None:
        leaf_of = places_of(
            self.site.home, self.site.system, self.place.fabric, self.site.system.fabrics[self.place.fabric].rails
        ).leaf_of
        leaves = tuple(leaf_of.get(label(node), "") for node in nodes)
        least = self._least_mb_s()
        ground = Ground(
            nodes, self.rails, self, dict.fromkeys(self.rails, least), leaves if all(leaves) else (),
            reduce_seconds(len(nodes)) if self.asked.allreduce else 0.0,
        )  # fmt: skip
        asking = measure_rails(ground, deadline.left_s)
        result: WaveResult | None = None
        while True:
            try:
                wave = next(asking) if result is None else asking.send(result)
            except StopIteration as end:
                self.found.note_rails(nodes, end.value, least, few(self.busy))
                return
            result = WaveResult(self._launch_wave(nodes, wave, deadline), deadline.left_s)

    def _least_mb_s(self) -> float | None:
        """Return what a stream over one rail must reach, MB/s: by the references, else as a gate asks it."""
        least = least_bandwidth(self.site, self._test("pairs/pairs", 1), int(self.place.words[0]))
        stated = self.site.system.gate.pair_mb_s
        if least is None and stated is None:
            fabric = self.site.system.fabrics[self.place.fabric]
            floor = stream_floor_mb_s(fabric.link, fabric.limit(1, 1, one_stream=True))
            return None if isinstance(floor, str) else floor
        return max(least or 0.0, stated or 0.0)

    def _launch_wave(self, nodes: Sequence[str], wave: Wave, deadline: Deadline) -> tuple[LaunchValues, ...]:
        """Start the launches of a wave at the same time, wait until all have ended, and return what they gave.

        A launch that failed, and was not ended for its time, is started once more: its launcher may be at fault.
        """
        end_s = time.monotonic() + min(wave.limit_s, deadline.left_s)
        made = self._launch_once(nodes, wave, end_s)
        broken = [place for place, one in enumerate(made) if one.failed and not one.measured.values]
        if broken and end_s - time.monotonic() > 1:
            again = self._launch_once(nodes, replace(wave, launches=tuple(wave.launches[n] for n in broken)), end_s)
            for place, one in zip(broken, again, strict=True):
                rail, why = wave.launches[place].rail, made[place].measured.why
                self.found.remarks.append(f"{rail}: a launch failed and was repeated ({why})")
                made[place] = one
        return tuple(one.measured for one in made)

    def _launch_once(self, nodes: Sequence[str], wave: Wave, end_s: float) -> "list[_LaunchEnd]":
        rails = {launch.rail for launch in wave.launches}
        limit_s = max(1, int(end_s - time.monotonic()))
        with ExitStack() as stack:
            started = []
            for launch in wave.launches:
                self.numbered += 1
                own = self.folder / f"{self.numbered:02d}-{wave.purpose}-{launch.rail.replace(':', '.')}"
                beside = sorted(rails - {launch.rail}) if len(wave.launches) > 1 else None
                script = self._write_launch(own, nodes, launch, wave.purpose, limit_s, beside)
                process = stack.enter_context(start_process(["bash", str(script)], own))
                started.append((own, launch, process, beside))
            for _, _, process, _ in started:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=max(0.1, end_s + _KILL_S - time.monotonic()))
        return [
            self._read_launch(own, nodes, launch, wave.purpose, limit_s, beside) for own, launch, _, beside in started
        ]

    def _write_launch(
        self, own: Path, nodes: Sequence[str], launch: RailLaunch, purpose: str, limit_s: int, beside: list[str] | None
    ) -> Path:
        names = [nodes[node] for node in launch.nodes]
        place = {node: number for number, node in enumerate(launch.nodes)}
        rounds: list[Round] = [tuple((place[a], place[b]) for a, b in each) for each in launch.rounds]
        name = SAMPLE if purpose == "sample" else ALONE
        over = self.jobs.limit_to_rail(launch.rail)
        write_files(own, {
            PAIRS: pairs_text(names, rounds),
            "step.sh": over.step_script(shlex.quote(str(own)), names, limit_s, name, beside, _ENDS_WHOLE),
        })  # fmt: skip
        return own / "step.sh"

    def _read_launch(
        self, own: Path, nodes: Sequence[str], launch: RailLaunch, purpose: str, limit_s: int, beside: list[str] | None
    ) -> "_LaunchEnd":
        output, code = text_in(own / OUTPUT), _exit_code(own / END)
        why = "" if code == 0 else self._why_not(own, code, limit_s)
        place = {label(node): number for number, node in enumerate(nodes)}
        values: tuple[Value, ...] = ()
        try:
            tables = parse_pairs(output).tables
            values = _values(tables, place)
        except (ParseError, ValueError) as error:
            why = why or str(error)
        if purpose == "sample" and not why:
            self._prove_path(own, nodes, launch, output, beside or [])
        return _LaunchEnd(LaunchValues(values, why), code not in (0, *_TIMED_OUT))

    def _why_not(self, own: Path, code: int | None, limit_s: int) -> str:
        if code in _TIMED_OUT:
            return f"ended after {limit_s} s"
        said = [line.strip() for line in text_in(own / ERRORS).splitlines() if line.strip()]
        return f"exit code {code}{f': {said[-1][:150]}' if said else ''}"

    def _prove_path(
        self, own: Path, nodes: Sequence[str], launch: RailLaunch, output: str, beside: Sequence[str]
    ) -> None:
        """Note what the counters of the nodes say about the way that the bytes took, and about errors."""
        names = tuple(nodes[node] for node in launch.nodes)
        planned = self.jobs.limit_to_rail(launch.rail).launch(names)
        planned = replace(planned, watched=tuple(rail for rail in planned.watched if rail not in beside))
        case = Case(self._test("pairs/pairs", 1), self.site, planned, sizes=(int(self.place.words[0]),))
        made = assess(case, self._evidence(own, output), parse_pairs, date.today())
        self._note_assessed(launch.rail, made, names)

    def _evidence(self, own: Path, output: str) -> Evidence:
        tag = self.jobs.run.tag
        texts = [text_in(file) for file in sorted((own / COUNTERS).glob("*.facts"))]
        variables = [text_in(file) for file in sorted((own / COUNTERS).glob(f"*{environment.SUFFIX}"))]
        return Evidence(
            stdout=output, stderr=text_in(own / ERRORS), exit_code=0,
            counters=tuple(text_in(file) for file in sorted((own / COUNTERS).glob("*.counters"))), tag=tag,
            linked=text_in(own / LINKED), facts=node_facts.parse_all(texts, tag),
            environment=environment.parse_all(variables, tag),
        )  # fmt: skip

    def _note_assessed(self, what: str, made: Assessment, names: Sequence[str]) -> None:
        """Note what an assessment says besides the values: another path, errors of ports, a foreign library."""
        verdict, path = made.verdict, made.path
        if path.state == "not-judged":
            self.found.note_unchecked(f"the path of {what}", "its rails have no counters")
        if path.state == "failed":
            for node, said in blamed_nodes(path.suspects, names, path.sentence).items():
                self.found.faults.append(Fault(node, f"{what}: {said}", what, f"look at {path.look_at}"))
        if verdict.rule in (1, 2, 3) or (verdict.rule == 4 and path.state != "failed"):
            self.found.note_doubt(f"{what}: {verdict.sentence}")

    # The allreduce.

    def _reduce(self, nodes: tuple[str, ...], deadline: Deadline) -> None:
        """Measure an allreduce over all rails of the nodes that are left."""
        what = "allreduce"
        if not self.asked.allreduce:
            self.found.note_unchecked(what, "--no-allreduce")
            return
        choices = list_allreduces(self.site, self.place.fabric, self.place.stack)
        if not choices:
            of = f"{self.site.system.system} that drives all rails of {self.place.fabric}"
            self.found.note_unchecked(what, f"no stack of {of} has OSU, IMB or nccl-tests")
            return
        need_s = reduce_seconds(len(nodes))
        ends: list[ReduceEnd] = []
        while len(ends) < _TIMES and not (ends and ends[-1].kind == "good"):
            if need_s > deadline.left_s or len(nodes) < 2:
                why = f"no time: {deadline.left_s:.0f} s were left, {need_s:.0f} s are needed"
                self.found.late[what] = why if len(nodes) > 1 else f"{count_of(len(nodes), 'node')} left"
                return
            # If a program gave nothing, another stack's may: its own launcher or library may be at fault.
            failed = sum(one.kind == "none" for one in ends)
            ends.append(self._reduce_once(choices[failed % len(choices)], nodes, deadline, len(ends)))
        last = ends[-1]
        if last.kind == "good":
            self.found.remarks += [f"{what}: at first: {one.said}" for one in ends[:-1]]
        elif last.kind == "none":
            self.found.note_doubt(f"{what} gave no time: {last.said}")
        elif self.busy:
            self.found.note_doubt(f"disturbed: {what}: {last.said}; {few(self.busy)}")
        elif self.found.faults:  # a part is named already, and the nodes of a pair are still among these
            self.found.remarks.append(f"{what}: {last.said}")
        else:
            said = f"{what} of {len(nodes)} nodes: {last.said}; measured {len(ends)} times, and no single node is named"
            self.found.faults.append(Fault(None, said))

    def _reduce_once(
        self, chosen: "AllreduceChoice", nodes: tuple[str, ...], deadline: Deadline, before: int
    ) -> "ReduceEnd":
        """Measure it once, after so many times before, and note what its counters show; return how it was."""
        system, what = self.site.system, "allreduce"
        own = self.folder / f"allreduce-{before + 1}"
        per_node = chosen.per_node
        ranks = Ranks(len(nodes) * per_node, per_node, launcher=self._launcher_of(chosen.stack))
        used = system.fabrics[self.place.fabric].used_rails(chosen.rails, chosen.policy)
        launch = plan_launch(
            self.site, self.place.fabric, chosen.stack, tuple(rail.name for rail in used), nodes, ranks,
            runs_as_root(system),
        )  # fmt: skip
        limit_s = max(1, int(min(deadline.left_s, _REDUCE_TIMES * reduce_seconds(len(nodes)))))
        front = step_words(
            self._launcher_of(chosen.stack), system.starter(chosen.stack), launch, limit_s, per_node=per_node,
            kill_after_s=2,
        )  # fmt: skip
        reader = ["sh", READER, COUNTERS, self.jobs.run.tag]
        reader += [",".join(launch.meant), ",".join(launch.watched), "--"]
        read = {READER: reader_script(), node_facts.SCRIPT: node_facts.node_script()}
        write_files(
            own,
            {
                "sizes.txt": "".join(f"{size}\n" for size in chosen.by.sizes),
                **read,
                **environment.scripts(chosen.stack),
            },
        )
        (own / COUNTERS).mkdir()
        program = [*launch.inside, chosen.path, *chosen.words(ranks.total), *launch.settings.words]
        ldd = f"LC_ALL=C ldd {shlex.quote(chosen.path)} > {LINKED} 2>&1 || :"
        script = self._script([*front, *reader, *program], launch.env, own, chosen.stack, (ldd,))
        with start_process(["bash", str(script)], own) as process:
            ended = wait_for(process, deadline)
        (own / OUTPUT).write_text(ended.out, encoding="utf-8")
        (own / ERRORS).write_text(ended.err, encoding="utf-8")
        if ended.code:
            why = f"ended after {limit_s} s" if ended.code in _TIMED_OUT else ended.last_words
            return ReduceEnd("none", f"{chosen.by.benchmark} with {chosen.stack}: {why}")
        test = self._test(chosen.by.benchmark, chosen.rails, chosen.stack, chosen.policy)
        case = Case(
            test, self.site, launch, ranks_per_node=per_node, sizes=chosen.by.sizes, repetitions=chosen.repetitions
        )
        made = assess(case, self._evidence(own, ended.out), chosen.by.parse, date.today())
        self._note_assessed(what, made, nodes)
        # References of other sizes than these are left out.
        judged = reference_where_measured(made.inputs)
        if judged.state == "fail" and judged.fault == "fabric":
            return ReduceEnd("slow", judged.sentence)
        bands = [band for metric in made.inputs.metrics for band in metric.bands]
        if judged.state == "fail":
            self.found.note_unchecked(f"the time of the {what}", judged.sentence)
        elif not any(band.bound_at(size) for band in bands for size in chosen.by.sizes):
            self.found.note_unchecked(f"the time of the {what}", "no reference bounds it")
        else:
            self.found.checked.append(what)
        return ReduceEnd("good")

    # What all launches share.

    def _test(self, benchmark: str, rails: int, stack: str = "", policy: str | None = None) -> TestId:
        stack = stack or self.place.stack
        policy = self.place.policy if policy is None else policy
        return TestId(
            self.place.fabric, stack, rails, benchmark, "Preflight", policy, self.site.system.system, "Preflight"
        )

    @property
    def _launcher(self) -> str:
        return self._launcher_of(self.place.stack)

    def _launcher_of(self, stack: str) -> str:
        system = self.site.system
        return "srun" if FAMILIES.get(system.scheduler) == "slurm" else system.launcher_of(self.place.fabric, stack)

    def _script(
        self,
        words: Sequence[str],
        env: Mapping[str, str],
        folder: Path | None = None,
        stack: str = "",
        before: Sequence[str] = (),
    ) -> Path:
        """Write a script that prepares a stack and runs these words, and return its path."""
        folder = folder or self.folder
        lines = [
            "#!/bin/bash",
            *self.site.system.script_lines(self.place.fabric, stack or self.place.stack, self.site.home),
            *(f"export {name}={value}" for name, value in escape_exports(env).items()),
            *_ENDS_WHOLE,
            f"cd {shlex.quote(str(folder))} || exit",
            *before,
            f"exec {shlex.join(words)}",
        ]
        path = folder / "step.sh"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path


@dataclass(frozen=True, slots=True)
class _LaunchEnd:
    """What a launch gave; ``failed``: it ended by itself, with an error."""

    measured: LaunchValues
    failed: bool


@dataclass(frozen=True, slots=True)
class ReduceEnd:
    """How one allreduce was: good, too slow, or without a time; and why."""

    kind: Literal["good", "slow", "none"]
    said: str = ""


@dataclass(frozen=True, slots=True)
class AllreduceProgram:
    """A program that makes an allreduce.

    ``program`` is its name in a folder of the tool, empty if the tool is one program. ``words`` gives its arguments
    from the number of ranks and of repetitions, ``parse`` reads its output. ``prints``: it prints its repetitions.
    """

    tool: str
    benchmark: str
    program: str
    sizes: tuple[int, ...]
    words: Callable[[int, int], list[str]]
    parse: Callable[[str], ParsedOutput]
    prints: bool = False


@dataclass(frozen=True, slots=True)
class AllreduceChoice:
    """A program of a stack, with its path, its rails and their policy, its ranks per node, and how often it repeats."""

    by: AllreduceProgram
    stack: str
    path: str
    rails: int
    policy: str
    per_node: int
    repeats: int = _MOST_REPEATS

    @property
    def repetitions(self) -> Repetitions | None:
        """How often it was told to repeat; None for a tool that prints it."""
        return None if self.by.prints else Repetitions(self.repeats, _WARM_UP)

    def words(self, ranks: int) -> list[str]:
        """Return the program's words for so many ranks."""
        return self.by.words(ranks, self.repeats)


def _words_of_nccl(ranks: int, repeats: int) -> list[str]:
    size = str(_GPU_VECTOR_BYTES)
    return ["-b", size, "-e", size, "-f", "2", "-t", "1", "-g", "1", "-n", str(repeats), "-w", str(_WARM_UP), "-c", "0"]


def _words_of_osu(ranks: int, repeats: int) -> list[str]:
    return ["-m", f"{_VECTOR_BYTES[0]}:{_VECTOR_BYTES[-1]}", "-i", str(repeats), "-x", str(_WARM_UP)]


def _words_of_imb(ranks: int, repeats: int) -> list[str]:
    own = ["-msglen", "sizes.txt", "-iter", f"{repeats},{_VOLUME_MB}", "-iter_policy", "off", "-time", "5"]
    return ["Allreduce", "-npmin", str(ranks), *own]


#: The best first: between GPUs, and by MPI.
_OF_GPUS = tuple(
    AllreduceProgram(
        tool, f"{tool}/all_reduce", "all_reduce_perf", (_GPU_VECTOR_BYTES,), _words_of_nccl, nccl.parse
    )
    for tool in ("nccl", "rccl")
)  # fmt: skip
_OF_MPI = (
    AllreduceProgram("osu", "osu/osu_allreduce", "osu_allreduce", _VECTOR_BYTES, _words_of_osu, osu.parse),
    AllreduceProgram("imb", "imb/Allreduce", "", _VECTOR_BYTES, _words_of_imb, imb.parse, prints=True),
)


def list_allreduces(site: Site, fabric: str, first: str) -> list[AllreduceChoice]:
    """Return the programs of a system that make an allreduce over all rails of a fabric, the best first.

    Where nodes have GPUs, one between GPUs comes first; then those of the stack ``first``.
    """
    system, gpus = site.system, site.system.gpus
    kind, knobs, rails = system.fabrics[fabric].kind, system.fabrics[fabric].knobs, system.fabrics[fabric].counts[-1]
    found = []
    for tools, per_node in ((_OF_GPUS, 0 if gpus is None else gpus.per_node), (_OF_MPI, 1)):
        for stack in sorted(system.stacks, key=lambda name: name != first) if per_node else ():
            for by in tools:
                entry = system.stacks[stack]
                has = by.tool in entry.tools and entry.container is None
                if not has or ask.why_not(stack, kind, rails, None, knobs) is not None:
                    continue
                try:
                    path = find_on_nodes(site, stack).executable(by.tool, by.program)
                except SetupError:
                    continue  # another stack may have it
                policy = policy_of(system, fabric, stack, rails, DEFAULT)
                limit = system.fabrics[fabric].limit(rails, 1, policy=policy)
                # 2 (N - 1) / N vectors cross a node's rails, one after another.
                a_second = _MOST_REPEATS if limit is None else round(limit.value_mb_s * 1e6 / (2 * sum(_VECTOR_BYTES)))
                repeats = max(2, min(_MOST_REPEATS, a_second))
                found.append(AllreduceChoice(by, stack, path, rails, policy, per_node, repeats))
    return found


def _values(tables: Sequence[Table], place: Mapping[str, int]) -> tuple[Value, ...]:
    """Return the slower direction of each pair by the places of its nodes. Raises ValueError for a row of no node."""
    found = []
    for table in tables[:1]:
        stranger = next((host for host in hosts_of(table) if label(host) not in place), None)
        if stranger is not None:
            raise ValueError(f"{stranger} is none of the job's nodes")
        for pair in pairs_of(table):
            a, b = sorted((place[label(pair.first)], place[label(pair.second)]))
            found.append((a, b, pair.slower_mb_s))
    return tuple(found)


def blamed_nodes(suspects: Sequence[Suspect], names: Sequence[str], sentence: str) -> dict[str | None, str]:
    """Return the nodes that a path proof blames, each with its sentence; None stands for no single node.

    What most nodes show is a setting of all: then no single node is at fault.
    """
    known = {label(name): name for name in names}
    of_node = {
        known[label(one.node)]: f"{one.node}: {one.reason}"
        for one in suspects
        if isinstance(one.node, str) and label(one.node) in known
    }
    if not of_node or 2 * len(of_node) > len(names):
        return {None: sentence}
    return {node: said for node, said in of_node.items()}


def _why_busy(node: str, state: node_block.NodeState) -> str | None:
    """Return what runs on a node, if that is too much for a low figure to count; None if the node is idle."""
    return why_busy(f"on {node}", state.facts.get("load", ""), state.number("processors") or 1)


def _exit_code(file: Path) -> int | None:
    """Return the exit code of a launch from the mark of its end, None if there is no mark."""
    words = text_in(file).split()
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None
