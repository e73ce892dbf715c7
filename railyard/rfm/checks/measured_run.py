"""A benchmark that really runs on the nodes of the system, with the counters read around it."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railyard.base.bounds import WRITTEN_MOST
from railyard.base.errors import RailyardError, SetupError
from railyard.base.hostlist import label
from railyard.base.values import seconds
from railyard.benchmarks.repetitions import START_OVER_RDMA_US, START_US, Pace, seconds_for
from railyard.hardware.limits import data_rate_mb_s
from railyard.job import batch, client_server, environment, image, mpi_identity, node_facts, node_files
from railyard.job.batch import Scheduling
from railyard.job.case import Evidence
from railyard.job.counters import IDLE, reader_script
from railyard.job.gpu_steps import counters_of_nodes
from railyard.job.launch import TESTBEDS, Launch
from railyard.job.node_facts import ProcessPlacement
from railyard.job.probe_job import lists_nodes
from railyard.job.provenance import circumstances, provenance
from railyard.parsers import flux as flux_records
from railyard.parsers import job_end
from railyard.provision.installed_stack import changed_files, find_stack, has_text
from railyard.provision.rehearsal import form as rehearsal
from railyard.provision.testbed.boot import KILL_AFTER_S, TIMEOUT_EXIT, namespace_words
from railyard.rfm.checks.runner import (
    COUNTERS,
    EARLIER,
    HOSTS,
    LAUNCHER,
    LINKED,
    READER,
    CheckRequest,
    PlannedJob,
    RunOutputs,
    quote_words,
)
from railyard.rfm.job_ends import EXIT_CODE, known_end
from railyard.site.site import Site
from railyard.site.systems.jobs import (
    FAMILIES,
    FLUX_BATCH,
    LONGER_S,
    OWN_LAUNCHERS,
    SITE_LAUNCHER,
    WITHOUT_EXIT_CODE,
    escape_exports,
    is_slurm,
)
from railyard.site.test_id import TestId
from railyard.site.topology import hops_of_run
from railyard.stacks.model import STACKS

if TYPE_CHECKING:
    from railyard.parsers.job_end import JobEnd
    from railyard.parsers.slurm import NodeState
    from railyard.provision.testbed.starvation import TrafficWatch, Watch

#: Families of schedulers whose jobs list their nodes themselves. ReFrame 4.10 sorts PBS's hosts as text, so that n10
#: comes before n9, and does not know LSF's. A short job of Grid Engine is over before qstat has named them.
_LIST_THEIR_NODES = ("pbs", "lsf", "sge")


def _exit_code_lines(scheduler: str, tag: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the first and the last line of a job that writes its exit code; none if the scheduler knows the code.

    Only the last line writes 0: a shell that a signal ends may have 0 in ``$?`` in its trap.
    ReFrame's own trap ends the script at the first command that fails.
    """
    if scheduler not in WITHOUT_EXIT_CODE:
        return (), ()
    trap = f"code=$?; [ $code -eq 0 ] || echo {tag} $code > {EXIT_CODE}"
    return (f"trap '{trap}' EXIT",), (f"echo {tag} 0 > {EXIT_CODE}",)


def _file_limits(in_testbed: bool) -> list[str]:
    """Return the lines of a job that limit what it prints and, in our own testbeds, each file of its processes."""
    every = f"ulimit -H -f {WRITTEN_MOST.value * 2**30 / batch.BASH_BLOCK:.0f} 2> /dev/null || :"
    return [batch.line(), *([every] if in_testbed else [])]


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """The benchmark itself, on the nodes of the system. ``dry`` runs nothing, and asks nobody."""

    site: Site
    test: TestId
    dry: bool = False
    #: What a record says about an output that is not a measurement.
    replayed: str | None = field(default=None, init=False)

    @property
    def repeat_limits(self) -> tuple[int, int]:
        """How often, and for how many seconds, a disturbed measurement is made again."""
        rule = self.site.system.measure.again
        return rule.times, seconds(rule.within)

    def choose_ranks(self, shape: Callable[[], None]) -> None:
        """Have the check choose its ranks; what it raises is raised."""
        shape()

    def pace(self) -> Pace | None:
        """Return how fast messages go over the run's rails, and the available time; None without a known rate."""
        system, fabric = self.site.system, self.site.system.fabrics[self.test.fabric]
        limit = fabric.limit(self.test.rails, 1, policy=self.test.policy)
        rail_mb_s = data_rate_mb_s(fabric.link)
        if limit is None or rail_mb_s is None:
            return None
        stated = system.measure.duration
        lasting_s = seconds_for(rail_mb_s, None if stated is None else seconds(stated))
        return Pace(limit.value_mb_s, START_US.get(fabric.kind, START_OVER_RDMA_US), lasting_s)

    def node_names(self, number: int) -> tuple[str, ...]:
        """Return the nodes of a run over so many; none if the scheduler will choose them."""
        nodes = self.site.system.nodes
        if self.site.system.scheduler in FAMILIES:
            return ()
        return nodes.names if self.site.system.provider == "host" else nodes.names[:number]

    def node_states(self) -> "tuple[NodeState, ...]":
        """Return what Slurm says about the system's nodes; nothing without Slurm, or if it does not answer."""
        from railyard.job.clients import nodes_of

        return nodes_of(self.site.system, self.site.home) if self._has_slurm else ()

    def knows(self, asked: CheckRequest, text: str) -> bool:
        """Return whether the installed program contains a text, such as the name of an option.

        One that only the nodes have is asked for no option that a release may lack.
        """
        if self._is_only_on_nodes(asked.tool, asked.programs):
            return False
        return has_text(self.program(asked.tool, asked.programs), text)

    def program(self, tool: str, programs: Sequence[str]) -> str:
        """Return the path of the first of a tool's programs that is there. Raises SetupError if none is.

        If only the nodes have the tool, it is the job's own link to it.
        """
        if self._is_only_on_nodes(tool, programs):
            return node_files.link_to(programs[0])
        return find_stack(self.site, self.test.stack).executable(tool, *programs)

    def remarks(self, asked: CheckRequest) -> tuple[str, ...]:
        """Return what a verdict says about a program that this host could not look into."""
        if not self._is_only_on_nodes(asked.tool, asked.programs):
            return ()
        return (f"the host of the run lacks {asked.programs[0]}, so that no option was used which a release may lack",)

    def _is_only_on_nodes(self, tool: str, programs: Sequence[str]) -> bool:
        """Return whether this host lacks a tool that a job will find on its nodes."""
        system = self.site.system
        if system.provider != "nodes" or (system.scheduler == "local" and not self.dry):
            return False
        there = find_stack(self.site, self.test.stack)
        return there.inside is None and node_files.is_only_on_nodes(there.tools[tool], programs)

    def _find_lines(self, asked: CheckRequest) -> list[str]:
        """Return the lines of the job that find, on its first node, the programs that this host lacks."""
        if not self._is_only_on_nodes(asked.tool, asked.programs):
            return []
        folder = find_stack(self.site, self.test.stack).tools[asked.tool]
        lines = [node_files.find_line(folder, asked.programs)]
        probes = dict.fromkeys(filter(None, (asked.probes.program, asked.probes.one_way_program)))
        lines += [node_files.find_line(folder, (name,), needed=False) for name in probes if name != asked.programs[0]]
        return lines

    def job(
        self, asked: CheckRequest, launch: Launch, scheduling: Scheduling, placing: ProcessPlacement, tag: str
    ) -> PlannedJob:
        """Return the job: the counter reader and the benchmark, in one launch.

        Raises SetupError if the benchmark is not there, RailyardError if its command cannot be built.
        """
        program = self.program(asked.tool, asked.programs)
        *earlier, last_sizes = asked.launches

        def words(sizes: tuple[int, ...], folder: str) -> tuple[str, ...]:
            arguments = [*asked.arguments(sizes), *launch.settings.words]
            command = asked.command.words(program, arguments, launch.meant, tag, launch.inside)
            if asked.start.in_steps:  # the job's own process starts steps, and each step has a reader
                return quote_words(command[1:])
            reader = [READER, folder, tag, ",".join(launch.meant), ",".join(launch.watched), "--"]
            return quote_words([*placing.words(launch, folder, tag), *reader, *command])

        folders = [f"{COUNTERS}/{EARLIER}{number}" for number in range(1, len(earlier) + 1)]
        # Variables that the system's file sets stay.
        unset = [f"unset {name}" for name in asked.start.without if name not in launch.env]
        old = [f"rm -f {name}" for name in quote_words(filter(None, [asked.outputs.file]))]
        first, last = _exit_code_lines(self.site.system.scheduler, tag)
        limit, bed = scheduling.limit_s, TESTBEDS.get(self.site.system.launcher)
        planned = PlannedJob(
            "sh",
            words(last_sizes, COUNTERS),
            escape_exports({**launch.env, **placing.variables(self.test.stack)}),
            before=(
                *first,
                *self._find_lines(asked),
                *asked.before(program),
                *old,
                *unset,
                f"mkdir -p {' '.join([COUNTERS, *folders])}",
                *self._says_before(asked, program, launch, scheduling.launcher, tag),
                *_file_limits(bed is not None),
            ),
            after=last,
            earlier=tuple(words(sizes, folder) for sizes, folder in zip(earlier, folders, strict=True)),
            launcher="local" if asked.start.in_steps else scheduling.other_launcher,
            launcher_options=() if asked.start.in_steps else quote_words(launch.options),
        )
        if bed is not None:
            # The job may wait for another measurement; `timeout` inside it bounds the run itself.
            system = self.site.system
            start = namespace_words(
                self.site.home, launch.nodes[0], limit, launch.program, bed, longest_s=system.longest_s
            )
            return replace(planned, launcher_words=tuple(start))
        within = ("timeout", "-k", str(KILL_AFTER_S), str(limit))
        if scheduling.is_step:
            return replace(planned, modifier=within)
        if self.site.system.scheduler in LONGER_S and not asked.start.in_steps:
            planned = replace(planned, modifier=within)
        if scheduling.launcher == SITE_LAUNCHER:
            planned = replace(planned, launcher_words=self.site.system.site_launcher)
        wait = scheduling.longest_wait_s
        return replace(planned, limit_s=limit, options=scheduling.options, longest_wait_s=wait)

    def _says_before(self, asked: CheckRequest, program: str, launch: Launch, launcher: str, tag: str) -> list[str]:
        """Return the lines of the job that write what the benchmark is linked to here, which MPI's launcher starts it,
        whether this node can run it, and on which hosts it runs.
        """
        from railyard.provision.spack import sources

        # For a script ldd exits with 1, which would end the job; its output is judged afterwards.
        # A link is followed first: a loader would search the libraries beside the link, not beside the program.
        is_link = not Path(program).is_absolute()
        file = f'"$(readlink -f {shlex.quote(program)})"' if is_link else shlex.quote(program)
        lines = [f"LC_ALL=C ldd {file} > {LINKED} 2>&1 || :"]
        if launch.image is not None:
            lines = self._looks_inside(asked, program, launch, tag)
        own = launch.program if launcher in TESTBEDS else launcher if launcher in OWN_LAUNCHERS else None
        if own is not None and not STACKS[self.test.stack].pair:
            lines.append(mpi_identity.line(own, LAUNCHER))
        built = find_stack(self.site, self.test.stack).built
        if FAMILIES.get(self.site.system.scheduler) in _LIST_THEIR_NODES:
            lines.append(f"{lists_nodes(self.site.system.scheduler)} > {HOSTS} || :")
        return lines if built is None else [*sources.job_checks(built, program), *lines]

    @staticmethod
    def _names(asked: CheckRequest, program: str) -> tuple[str, ...]:
        """Return the names that a program may have in an image: first the one that the job gives it."""
        return tuple(dict.fromkeys((Path(program).name, *filter(None, asked.programs))))

    def _looks_inside(self, asked: CheckRequest, program: str, launch: Launch, tag: str) -> list[str]:
        """Return the lines of the job that write what the benchmark is linked to in its image, and what is there."""
        stack, home = self.test.stack, self.site.home
        names = self._names(asked, program)
        entries = [self.site.system.stacks[name] for name in dict.fromkeys((stack, self.site.system.starter(stack)))]
        named = [entry.path(folder, home) for entry in entries for folder in entry.libraries]
        folders = [*filter(None, (launch.prefix, launch.library_prefix)), *named]
        tool = self.site.system.stacks[stack].executable(asked.tool, home)
        return image.look_lines(launch, str(asked.stagedir), tag, tool, names, dict.fromkeys(folders))

    def after(self, asked: CheckRequest) -> list[str]:
        """Return the lines of the job after the benchmark's launch."""
        return [*asked.after(), *(f"cat {name}" for name in quote_words(filter(None, [asked.outputs.file])))]

    def files(self, asked: CheckRequest, placing: ProcessPlacement) -> dict[str, str]:
        """Return the files to be beside the job's script: name and text. Raises RailyardError for a name with a /."""
        own = asked.input_files()
        for name in own:
            if "/" in name:
                raise RailyardError(
                    f"{type(asked).__name__}: found the input file {name!r}, expected a name without a /"
                )
        idle_ms = self.site.system.fabrics[self.test.fabric].proof.idle_ms
        inside, program = find_stack(self.site, self.test.stack).inside, ""
        if inside is not None:
            program = self.program(asked.tool, asked.programs)
        return {
            READER: reader_script(),
            node_facts.SCRIPT: node_facts.node_script(),
            **environment.scripts(self.test.stack),
            **placing.scripts(),
            **({node_files.PROGRAMS_SCRIPT: node_files.script()} if self._find_lines(asked) else {}),
            **({} if idle_ms is None else {IDLE: f"{idle_ms}\n"}),
            **({} if inside is None else image.scripts(inside, str(asked.stagedir), self._names(asked, program))),
            **(client_server.scripts() if STACKS[self.test.stack].pair else {}),
            **own,
        }

    def start(self, take_turn: Callable[[Path], None]) -> None:
        """Wait for this run's turn to measure. Raises SetupError if our testbed, or its scheduler, is not up."""
        system = self.site.system
        if system.provider == "nodes" or self.dry:
            return
        take_turn(self.site.home)
        # In an allocation ReFrame runs on one of the cluster's nodes, where the host's processes are not seen.
        if system.provider == "testbed" and not system.is_allocated:
            from railyard.provision.testbed.cluster import Testbed
            from railyard.provision.testbed.lifecycle import scheduler_of

            bed, scheduler = Testbed(self.site.home), scheduler_of(system.scheduler)
            bed.state()
            if scheduler is not None and not scheduler.has_controller(bed):
                raise SetupError(f"testbed: {scheduler.not_up}")
        elif system.launcher == "guests":
            from railyard.provision.testbed.guests import running_state

            running_state(self.site.home)

    @property
    def is_watched(self) -> bool:
        """Whether Railyard sees what the run's processes wait for: on the virtual cluster, whose host is this one."""
        return self.site.system.provider == "testbed" and not self.dry

    def watch(self) -> "Watch | None":
        """Return what watches the run's processes; None if nobody sees them. Raises SetupError if no cluster is up."""
        if not self.is_watched:
            return None
        from railyard.provision.testbed.cluster import Testbed
        from railyard.provision.testbed.starvation import Watch

        if self.site.system.is_allocated:
            # ReFrame then runs on one of its nodes, and cannot tell its others apart: the whole host's wait counts.
            return Watch(frozenset()).start()
        return Testbed(self.site.home).watch()

    def watch_traffic(self) -> "TrafficWatch | None":
        """Return what reads the counters of the nodes' rails while a run measures; None if they are not on this host.

        Raises SetupError if no cluster is up.
        """
        if not self.is_watched or self.site.system.is_allocated:
            return None
        from railyard.provision.testbed.cluster import Testbed

        return Testbed(self.site.home).watch_traffic()

    def wait_for_quiet(self, at_most_s: float) -> None:
        """Wait until nothing else uses the processors that the run needs, if that can be seen."""
        if self.is_watched:
            from railyard.provision.testbed.starvation import wait_for_quiet

            wait_for_quiet(at_most_s)

    def fill_nodes(self, launch: Launch, left: RunOutputs) -> Launch:
        """Return the launch with the nodes that the scheduler gave; without nodes if neither it nor the job names them.

        They are in the order of the ranks: n9 before n10. Without a scheduler the launch has its nodes already.
        """
        if launch.nodes:
            return launch
        said = tuple(dict.fromkeys(left.text(HOSTS).split()))
        places = {label(name): place for place, name in enumerate(said)}
        given = sorted(dict.fromkeys(left.job.nodelist or ()), key=lambda name: places.get(label(name), len(said)))
        return replace(launch, nodes=tuple(given) or said)

    def evidence(self, asked: CheckRequest, left: RunOutputs, launch: Launch, placing: ProcessPlacement) -> Evidence:
        """Return what the run left; ``launch`` names its nodes."""
        stdout, stderr, facts = left.text(left.stdout), left.text(left.stderr), left.facts()
        ended, exit_code = self._find_end(left.job, stderr), left.exit_code
        if self.site.system.scheduler == FLUX_BATCH:
            code = flux_records.script_exit_code(stderr)
            if code is not None and ended is not None and ended.kind == "time":
                ended, exit_code = None, code  # only the end of its brokers took too long
            stderr = flux_records.without_broker_lines(stderr)
            is_proven = code is not None or exit_code == 0
        else:
            is_proven = self.site.system.scheduler not in WITHOUT_EXIT_CODE or left.script_exit_code is not None
        if ended is None and not is_proven:
            ended = job_end.silent_end(left.job.jobid, exit_code, left.job.nodelist or ())
        earlier = (placing.why_not(each, launch) for each in left.facts_of_earlier())
        steps = left.steps() if asked.start.in_steps else ()
        return Evidence(
            stdout=f"{stdout}\n{stderr}" if asked.outputs.on_stderr else stdout,
            stderr=stderr,
            exit_code=exit_code,
            timed_out=exit_code == TIMEOUT_EXIT or (ended is not None and ended.kind == "time"),
            ended=ended,
            counters=(*left.counters(), *counters_of_nodes(steps)),
            tag=left.tag,
            linked=left.text(LINKED),
            unplaced=next(filter(None, (placing.why_not(facts, launch), *earlier)), None)
            or node_facts.why_not_own(left.nics(), launch, placing),
            again=tuple(left.text(name) for name in asked.outputs.more if (left.stage / name).is_file()),
            facts=facts,
            job_id=left.job.jobid,
            too_long=left.too_long(),
            cut=left.cut(),
            launcher=left.text(LAUNCHER),
            environment=left.environments(),
            rehearsed=rehearsal.current() is not None,
            steps=steps,
            changed=changed_files(self.site, self.test.stack),
            image=left.seen_image(launch.image),
        )

    def _find_end(self, job: Any, printed: str) -> "JobEnd | None":
        """Return what the scheduler says about a job that it ended, in its record or in the job's error output."""
        if not self._has_slurm:
            return known_end(job)
        from railyard.rfm.backends import find_end

        return find_end(job, printed)

    @property
    def _has_slurm(self) -> bool:
        return is_slurm(self.site.system.scheduler) and not self.dry

    def hops(self, launch: Launch) -> int | None:
        """Return how many switches are between the run's two nodes; None if that was not kept."""
        test = self.test
        rails = self.site.system.fabrics[test.fabric].used_rails(test.rails, test.policy)
        return hops_of_run(self.site.home, self.site.system, test.fabric, launch.nodes, rails)

    def environment(self, evidence: Evidence | None) -> dict[str, object]:
        """Return the versions that belong to the result."""
        seen = None if evidence is None or evidence.image is None else evidence.image
        return {**provenance(self.site, self.test.stack), **({} if seen is None else {"container": seen.words()})}

    def circumstances(self, evidence: Evidence, launch: Launch, started: datetime) -> dict[str, Any]:
        """Return the fields of a record that are about the job and its nodes."""
        return circumstances(
            evidence.facts, linked=evidence.linked, variables={**environ, **launch.env, **_effective(evidence)},
            scheduler=self.site.system.scheduler, job_id=evidence.job_id, started=started,
        )  # fmt: skip


def _effective(evidence: Evidence) -> dict[str, str]:
    """Return the variables of the benchmark's process on the first node; the verdict says if nodes differ."""
    return dict(evidence.environment[0].variables) if evidence.environment else {}
