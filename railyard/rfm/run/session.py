"""One `railyard run` from its options to its report: provider up, ReFrame, verdicts, report, provider down.

What a run needs from a scheduler before it starts: its estimate, its budget, and one allocation for all its tests.

ReFrame runs under ``salloc``; its scheduler is then ``local`` and its launcher ``srunalloc``. Checks, their names and
hashes, and each test's own verdict and record stay the same. Only the waiting of each job is saved.
"""

import json
import math
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from railyard.base.errors import RailyardError, SetupError, did_you_mean, note_remark, remedy, take_remarks
from railyard.base.paths import HOME_VARIABLE, runs_folder
from railyard.base.terminal import colour, fold_words, line_width, width
from railyard.base.values import clean, utc_time
from railyard.base.wording import count_of
from railyard.job.clients import note_nodes
from railyard.provision.rehearsal.form import current
from railyard.provision.replay.form import REPLAYED
from railyard.provision.replay.index import replay_origin
from railyard.provision.spack.bootstrap import Getting
from railyard.provision.spack.request import offer
from railyard.provision.testbed.boot import namespaces_refused
from railyard.provision.testbed.lifecycle import interrupt_on_signal, provide_testbed
from railyard.provision.testbed.scripts import client_variables
from railyard.provision.testbed.slurm_texts import FOLDER, slurm_folder
from railyard.results import relations
from railyard.results.record.file import FILE_NAME
from railyard.results.record.form import Record
from railyard.results.record.form import hold_promise as promises
from railyard.results.record.masking import REPORT_NAME, mask_killed_runs
from railyard.results.relations import costs_of_run
from railyard.results.report.overview import cell_json
from railyard.results.run_folder import new_run_id, note_unfit_stacks
from railyard.rfm.run import requirements
from railyard.rfm.run.options import (
    LEFT_OUT,
    RESTORED,
    apply_settings,
    check_places,
    everyday_words,
    leaves_out_extended,
    read,
    refuse_unjudged,
    refuse_unknown,
    refuse_untaken,
)
from railyard.rfm.run.reframe import (
    COLOURS_VARIABLE,
    Outcome,
    Progress,
    Promise,
    dry_run,
    environment,
    last_run,
    promised_cases,
    reframe_command,
    run,
    without_actions,
)
from railyard.rfm.wait_notes import Silence, shown_silence
from railyard.site.matrix import Cell, Need, find_untaken, matrix, requested_needs
from railyard.site.references.load import references_of
from railyard.site.reframe_versions import name_switched_off, release_here
from railyard.site.site import Site, load_site
from railyard.site.systems.jobs import is_slurm
from railyard.site.systems.load import replays_all
from railyard.site.systems.model import System
from railyard.site.systems.module_system import FIX, find_unloaded
from railyard.site.test_id import TestId, named_policy

# In the allocation SLURM_JOB_NODELIST is set. The tests choose their nodes from this list, with commas.
_STEPS = 'RAILYARD_ALLOCATION=$(scontrol show hostnames | paste -sd, -) && export RAILYARD_ALLOCATION && exec "$@"'
#: Words before ReFrame's own if the allocation already exists: a pipeline's job that Slurm runs.
INSIDE = ("sh", "-c", _STEPS, "railyard")


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run takes at most: ``node_minutes`` counts each test's nodes for its whole time limit.

    It will take far less if tests end before their limits. ``nodes`` is the most that one test has.
    """

    jobs: int
    node_minutes: float
    minutes: float
    nodes: int

    @property
    def words(self) -> str:
        """``12 jobs, at most 48 node-minutes``."""
        return f"{count_of(self.jobs, 'job')}, at most {math.ceil(self.node_minutes)} node-minutes"


def estimate(system: System, checks: Sequence[str], asked: Mapping[str, Need]) -> Estimate:
    """Return what tests take at most; ``checks`` names the check of each test, ``asked`` has the needs of each check.

    A run counts for the limit that it has: a filled memory (HPL) or a large class (NPB) may have a longer one than the
    system's file. A check that is not among them counts as a check on two nodes.
    """
    total, minutes, most = 0.0, 0.0, 0
    for name in checks:
        need = asked.get(name)
        nodes = 2 if need is None else need.nodes_on(system)
        limit_min = (system.limit_s() if need is None else need.limit_s(system)) / 60
        total += nodes * limit_min
        minutes += limit_min
        most = max(most, nodes)
    return Estimate(len(checks), total, minutes, most)


def over_budget(found: Estimate, budget: float | None) -> str | None:
    """Return why a run must not begin; None if it may. ``budget`` is in node-minutes, None for any."""
    if budget is None or found.node_minutes <= budget:
        return None
    return (
        f"--budget: found {found.words}, expected at most {budget:g}: select fewer tests, or lower time_limits in the "
        f"system's file (jobs)"
    )


def shape(system: System, found: Estimate) -> list[str]:
    """Return the options of one allocation of Slurm for these tests: nodes and time, and the system's own.

    The allocation's time is the sum of all limits. The allocation is given back when the last test has ended.
    """
    asked = [word for word in system.step_words if word != "--exclusive"]
    own = [f"--nodes={found.nodes}", "--exclusive", f"--time={math.ceil(found.minutes) + 1}"]
    return [*own, *asked]


def salloc_words(system: System, found: Estimate, salloc: str = "salloc") -> list[str]:
    """Return the words before ReFrame's own that run it in one allocation of the nodes that its tests need."""
    return [salloc, "--job-name=railyard", *shape(system, found), *INSIDE]


@dataclass(frozen=True, slots=True)
class StartWords:
    """Words before ReFrame's own, and variables for them; a run of single jobs has neither."""

    front: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


def ask(
    home: Path,
    system: System,
    promised: Sequence[TestId],
    *,
    needs: Callable[[], Sequence[Need]],
    one_allocation: bool,
    budget: float | None,
    echo: Callable[[str], None],
) -> StartWords:
    """Say what a run under a scheduler takes at most, and return how ReFrame is started.

    In a job of Slurm the allocation is that job's own. Raises RailyardError if the run is over the budget, if there is
    no Slurm to give an allocation, or if the job has fewer nodes than a test.
    """
    if one_allocation and not is_slurm(system.scheduler):
        raise RailyardError(
            f"--one-allocation: found the scheduler {system.scheduler} of {system.system}, expected Slurm; leave it out"
        )
    if system.provider == "replay" or not (is_slurm(system.scheduler) or budget is not None):
        return StartWords()
    found = estimate(system, [case.check for case in promised], {need.check: need for need in needs()})
    refused = over_budget(found, budget)
    if refused is not None:
        raise RailyardError(refused)
    echo(f"{found.words}{': steps of one allocation' if one_allocation else ''}")
    if not one_allocation:
        return StartWords()
    there = os.environ.get("SLURM_JOB_NUM_NODES")
    if there is not None:
        return _start_inside(found, int(there))
    if system.provider != "testbed":
        return StartWords(tuple(salloc_words(system, found)))
    path = os.environ.get("PATH", os.defpath)
    variables = {name: text.replace("$PATH", path) for name, text in client_variables(home, FOLDER).items()}
    return StartWords(tuple(salloc_words(system, found, str(slurm_folder(home) / "bin" / "salloc"))), variables)


def _start_inside(found: Estimate, there: int) -> StartWords:
    """Return how ReFrame is started in the allocation that is there. Raises RailyardError if it is too small."""
    if there < found.nodes:
        raise RailyardError(
            f"--one-allocation: found an allocation of {count_of(there, 'node')} around this run, "
            f"expected {found.nodes} or more for its largest test; request more, or start it outside of any job"
        )
    return StartWords(INSIDE)


DEFAULT_SYSTEM = "virtual"
_TO_RESTORE = "one to restore; name its report: --restore-session=FILE"
_TO_REPEAT = "one to repeat the failures of; run without --failed"
FALLBACK_SYSTEM = "local"


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What the command line requests. ``system`` may name a fabric after a colon; if it is None, Railyard chooses.

    ``budget`` is the most that all jobs may take, in node-minutes. ``getting`` says how to get Spack if it is missing.
    """

    system: str | None
    full: bool
    failed: bool
    reframe: tuple[str, ...]
    extended: bool = False
    one_allocation: bool = False
    budget: float | None = None
    getting: Getting = field(default_factory=Getting)


def pass_through(home: Path, options: SessionOptions, echo: Callable[[str], None]) -> int:
    """Call ReFrame with options that measure nothing; return 0, or 2 if it refuses them or fails.

    ``echo`` is given each line of a dry run. Raises RailyardError if that selects nothing.
    """
    system = options.system or DEFAULT_SYSTEM
    known = known_system(home, system, options.reframe)
    take_remarks()  # ReFrame says the same
    words = _all_options(options, home, known)
    env = {**os.environ, HOME_VARIABLE: str(home)}
    if not colour():
        env[COLOURS_VARIABLE] = "n"
    if read(options.reframe).dry_run:
        site = Site(home, known, references_of(home / "references", known))
        command = reframe_command(home, system, without_actions(words))

        def refuse(cases: Sequence[TestId]) -> None:
            _refuse_numbers(home, options, known, cases)
            requirements.ask_for_scripts(site, cases)

        code = dry_run(command, env, echo, refuse)
    else:
        code = subprocess.run(reframe_command(home, system, words), env=env, check=False).returncode
    return 0 if code == 0 else 2


def known_system(home: Path, name: str, options: tuple[str, ...]) -> System:
    """Return the system that a name stands for, NAME or NAME:FABRIC.

    Raises RailyardError if there is no such system or fabric, for a mistake in its files, and for options that name
    what the system does not have.
    """
    systems = load_site(home)
    system, colon, fabric = name.partition(":")
    if system not in systems and system not in systems.broken:
        raise RailyardError(f'--system: found "{system}", expected a file in systems/; {did_you_mean(system, systems)}')
    note_remark(systems.remark(but=system))
    fabrics = systems[system].fabrics
    if colon and fabric not in fabrics:
        raise RailyardError(
            f'--system: found fabric "{fabric}", expected one of {system}; {did_you_mean(fabric, fabrics)}'
        )
    refuse_unknown(read(options), systems[system], fabric or None)
    return systems[system]


def _all_options(options: SessionOptions, home: Path, system: System) -> list[str]:
    words = list(options.reframe)
    if RESTORED in words and read(words).restore_session == "":  # ReFrame would look where no run of ours has a report
        words[words.index(RESTORED)] = f"{RESTORED}={last_run(home, _TO_RESTORE) / REPORT_NAME}"
    if options.full:
        words += ["-S", "full=1"]
    if options.failed:
        words += [f"{RESTORED}={last_run(home, _TO_REPEAT) / REPORT_NAME}", "--failed"]
    if _is_everyday(options, system):
        words += everyday_words()
    return words


def _is_everyday(options: SessionOptions, system: System) -> bool:
    words = [*options.reframe, *(["--failed"] if options.failed else [])]
    return leaves_out_extended(system, read(words), extended=options.extended)


class Session:
    """Runs one system's checks; ``echo`` is given each line that a person should read."""

    def __init__(self, home: Path, options: SessionOptions, echo: Callable[[str], None]) -> None:
        self.home = home
        self.options = options
        self.echo = echo
        self.folder: Path | None = None  # the run's, once it has one
        self._asked = StartWords()

    def run(self) -> Outcome:
        """Return the outcome of the run. Raises RailyardError for wrong input and for a set-up that cannot work."""
        refuse_unjudged(read(self.options.reframe))
        name = self._choose()
        system = known_system(self.home, name, self.options.reframe)
        if system.provider == "host" and replays_all():
            raise RailyardError(
                f"--replay: found {system.system}, a single host, expected a system with nodes and rails; name another"
            )
        words = _all_options(self.options, self.home, system)
        run_id = new_run_id(datetime.now(timezone.utc))
        folder = runs_folder(self.home) / run_id
        env = environment(self.home, run_id, folder)
        promised, problems = promised_cases(reframe_command(self.home, name, words), env)
        _refuse_numbers(self.home, self.options, system, promised)
        _refuse_unloaded(system, promised)
        self._asked = ask(
            self.home, system, promised, needs=lambda: requested_needs(system, self._needs()),
            one_allocation=self.options.one_allocation, budget=self.options.budget, echo=self.echo,
        )  # fmt: skip
        site = Site(self.home, system, references_of(self.home / "references", system))
        unfit_stacks = requirements.ask(site, promised, self.echo, self.options.getting)
        try:
            return self._measure(system, name, words, run_id, promised, problems, unfit_stacks)
        except BrokenPipeError:  # the reader of the output went away; the command line reports that
            raise
        except OSError as error:
            raise SetupError(
                f"{error.filename or folder}: found {(error.strerror or str(error)).lower()}, "
                f"expected to write the run's files there; {remedy(error)} and run again (what finished is kept in "
                f"{folder})"
            ) from error

    def _needs(self) -> tuple[Need, ...]:
        """Return what the site's checks ask for, with the numbers that `-S` gives them."""
        from railyard.rfm.checks.catalogue import needs

        words = read(self.options.reframe)
        return apply_settings(words, needs(*check_places(words, self.home)))

    def _measure(
        self,
        system: System,
        name: str,
        words: list[str],
        run_id: str,
        promised: tuple[TestId, ...],
        problems: tuple[str, ...],
        unfit_stacks: Mapping[str, str],
    ) -> Outcome:
        folder = runs_folder(self.home) / run_id
        unmasked = mask_killed_runs(folder.parent)
        folder.mkdir(parents=True)
        self.folder = folder
        note_unfit_stacks(folder, unfit_stacks)
        missing, left_out = self._missing_cells(system, folder, promised)
        problems = (*problems, *missing, *unmasked)
        self._tell(f"{count_of(len(promised), 'test')} on {system.system}: {system.description}")
        if left_out:
            self._tell(f"{left_out} extended tests are left out: railyard run --extended (make run EXTENDED=1)")
        if system.provider == "replay":
            self._tell(replay_origin(self.home, system.system))
        for problem in problems:
            self._tell(f"warning: {clean(problem)}")
        if more := offer(self.home, system):
            self._tell(more)
        began = utc_time()
        noted = promises(folder, system.system, began, [str(case) for case in promised])
        with (
            interrupt_on_signal(),
            noted,  # within the other: a second signal must not keep it from writing that the run ended
            provide_testbed(self.home, system, self.echo),
            shown_silence(folder) as quiet,
        ):
            unfit = note_nodes(system, self.home, folder, self.echo)
            replayed = REPLAYED if system.provider == "replay" else None
            rehearsed = current()
            rehearsal = None if rehearsed is None else rehearsed.remark
            outcome = run(
                self.home, name, words, Promise(run_id, folder, promised, problems, replayed, rehearsal),
                on_line=self._say_ended(Progress(folder / FILE_NAME, width()), quiet),
                front=self._asked.front, more_env=self._asked.variables,
            )  # fmt: skip
        references = references_of(self.home / "references", system)
        outcome = replace(outcome, relations=relations.judge(references, outcome.records))
        self._report(outcome, folder, system)
        if unfit is not None:
            self._tell(f"nodes not tested: {unfit}")
        return outcome

    def _choose(self) -> str:
        if self.options.system is not None:
            return self.options.system
        refused = namespaces_refused()
        if refused is None:
            return DEFAULT_SYSTEM
        self._tell(f"no virtual cluster here: {refused}")
        self._tell(
            f"running the system {FALLBACK_SYSTEM} in its place: one node, so that rails, striping, path proof, "
            f"failing rails and every bandwidth between nodes are NOT tested"
        )
        return FALLBACK_SYSTEM

    def _missing_cells(self, system: System, folder: Path, promised: tuple[TestId, ...]) -> tuple[tuple[str, ...], int]:
        """Store the whole matrix beside the records, for the report.

        Returns a sentence for each cell that is missing, and how many extended cells are left out.

        ReFrame does not say when it skips a check file. Without options every cell that can run is promised, so a cell
        that is not promised is a problem. With options it was not selected.
        """
        try:
            product = matrix(system, self._needs(), references_of(self.home / "references", system).has_number)
        except RailyardError as error:
            return (str(error),), 0
        chosen = set(_tests(promised))
        selected = bool(self.options.reframe or self.options.failed or ":" in (self.options.system or ""))
        everyday = _is_everyday(self.options, system)
        cells, missing = [], []
        for cell in product:
            test, reason = cell.test, cell.reason
            if reason is None and not _is_chosen(cell, chosen):
                if everyday and cell.extended:
                    reason = LEFT_OUT
                elif selected:
                    reason = "not selected by this run's options"
                else:
                    by = f" by {test.policy}" if cell.named else ""
                    where = f"{test.check} with {test.stack} over {test.rails} of {test.fabric}{by}"
                    missing.append(f"{where} should run according to the matrix, but ReFrame did not load it")
            cells.append(cell_json(replace(cell, reason=reason, named=_is_named(cell, chosen))))
        (folder / "matrix.json").write_text(json.dumps(cells, indent=1), encoding="utf-8")
        return tuple(missing), sum(cell["reason"] == LEFT_OUT for cell in cells)

    def _tell(self, sentence: str) -> None:
        """Say a sentence; on a terminal its lines end between words."""
        self.echo(fold_words(sentence, line_width(), "  "))

    def _say_ended(self, progress: Progress, quiet: Silence) -> Callable[[str], None]:
        def say(line: str) -> None:
            quiet.read(line)
            said = progress.end_line(line)
            if said is not None:
                quiet.restart()
                self.echo(said)

        return say

    def _report(self, outcome: Outcome, folder: Path, system: System) -> None:
        from railyard.results.report.files import write_reports

        text = write_reports(
            folder,
            _by_cell(outcome.records, system),
            outcome.problems,
            relations=outcome.relations,
            costs=costs_of_run(system, outcome.records),
            width=width(),
            colour=colour(),
        )
        self.echo("")
        self.echo(text.rstrip("\n"))
        if older := name_switched_off(release_here()):
            self._tell(older)
        self.echo(f"report: {folder / 'report.html'}")
        if outcome.none_began:
            self._tell("no test could begin: the failures above say what is wrong with the set-up")


def _refuse_numbers(home: Path, options: SessionOptions, system: System, promised: Sequence[TestId]) -> None:
    """Raise RailyardError for what `-S` gives a check that does not take it, or that it has no effect on.

    So too for numbers of nodes or ranks in the system's file that no check takes.
    """
    from railyard.rfm.checks.catalogue import needs

    words = read(options.reframe)
    stated = any(each.nodes or each.ranks_per_node for each in system.measure.benchmarks.values())
    if not words.setvar and not stated:  # importing all checks takes a moment
        return
    known = needs(*check_places(words, home))
    refuse_untaken(words, promised, known)
    for sentence in find_untaken(system, known):
        raise RailyardError(f"systems/{system.system}.yaml: {sentence}")


def _refuse_unloaded(system: System, promised: tuple[TestId, ...]) -> None:
    """Raise SetupError if nothing would load the modules of a stack that should run; a rehearsal loads none."""
    if current() is not None:
        return
    for stack, why in find_unloaded(system):
        if any(case.stack == stack for case in promised):
            raise SetupError(f"systems/{system.system}.yaml: {why}; {FIX}")


def _tests(promised: tuple[TestId, ...]) -> Iterator[TestId]:
    """Yield where each case runs, with its check, rails and policy; one with its own parameters also without them."""
    for case in promised:
        for check in (case.check, case.name.split()[0]):
            yield replace(case.place, check=check, policy=case.policy)


def _is_chosen(cell: Cell, chosen: set[TestId]) -> bool:
    """Return whether a case belongs to this cell; a stack's own policy may be named (-P policy=…) or not."""
    bare = replace(cell.test.place, check=cell.test.check)
    return replace(bare, policy=cell.test.policy) in chosen or (not cell.named and bare in chosen)


def _is_named(cell: Cell, chosen: set[TestId]) -> bool:
    """Return whether the test of this cell has its policy in its name: its record is looked for only there."""
    bare = replace(cell.test.place, check=cell.test.check)
    return cell.named or (replace(bare, policy=cell.test.policy) in chosen and bare not in chosen)


def _by_cell(records: tuple[Record, ...], system: System) -> tuple[Record, ...]:
    """Return the records by fabric, stack and number of rails, in the order of the system's file."""
    fabrics, stacks = list(system.fabrics), list(system.stacks)

    def place(record: Record) -> tuple[int, int, int, str]:
        fabric = fabrics.index(record.where.fabric) if record.where.fabric in fabrics else len(fabrics)
        stack = stacks.index(record.test.stack) if record.test.stack in stacks else len(stacks)
        return fabric, stack, record.test.rails, named_policy(record.test.case) or ""

    return tuple(sorted(records, key=place))
