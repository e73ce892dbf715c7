"""The ReFrame base class of every check: selects its cells, launches, judges; a check says only what is measured."""

import contextlib
import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.builtins import parameter, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import PerformanceError, ReframeError, ReframeFatalError, SanityError
from reframe.core.runtime import runtime

from railyard.cells import RAIL_COUNTS, disabled_reason
from railyard.errors import RailyardError
from railyard.launch import NAMESPACES, Launch, device_name, plan_launch, seconds
from railyard.parsers.parsed import Parsed, ParseError
from railyard.rfm_backends import TIMEOUT_EXIT, hold_measurement_lock, namespace_words, running_as_root
from railyard.rfm_guards import CarriedInit, GuardedFigures
from railyard.site import Site, site_at

# What judges and records is imported by the hooks that need it: a listing runs none, and would pay 0.1 s for it.
if TYPE_CHECKING:
    from railyard.assess import Assessment, Case, Evidence
    from railyard.suspects import Probe

#: Message sizes in steps of 4, and of 2 with `-S full=1`; in bytes.
QUICK_SIZES = tuple(4**n for n in range(12))
FULL_SIZES = tuple(2**n for n in range(23))
READER = "reader.sh"
COUNTERS = "counters"


def rail_counts() -> tuple[int, ...]:
    """Return the rail counts that tests are made for: those that ReFrame's current system has, else all.

    A count that no partition has would never be selected, and making each such variant costs ReFrame 2 ms.
    """
    try:
        partitions = runtime().system.partitions
    except ReframeFatalError:  # the checks are read by `railyard matrix`, without ReFrame's own configuration
        return RAIL_COUNTS
    features = {feature for partition in partitions for feature in partition.features}
    return tuple(count for count in RAIL_COUNTS if f"rails{count}" in features) or RAIL_COUNTS


class InterconnectCheck(CarriedInit, GuardedFigures, rfm.RunOnlyRegressionTest):
    """One benchmark over one fabric, stack and number of rails.

    A check names ``tool`` (what a stack must have), ``benchmark``, ``parse`` and ``arguments``; all else is here.
    """

    rails = parameter(rail_counts(), type=int, loggable=True)
    full = variable(typ.Bool, value=False, loggable=True)
    tool = variable(str)
    benchmark = variable(str)
    num_nodes = variable(int, value=2)
    ranks_per_node = variable(int, value=1)
    #: Messages in flight of a windowed test; 1 for all others.
    window = variable(int, value=1)
    #: How often one job measures everything; the median at each size is judged.
    passes = variable(int, value=1)
    #: The smallest and largest message that make sense for this benchmark, in bytes.
    smallest = variable(int, value=1)
    largest = variable(int, value=4 << 20)
    #: The parser of the tool's output.
    parse: Callable[[str], Parsed]
    #: The key of what ``probe_arguments`` runs: a ping-pong, which sees both directions of a rail.
    probe_key: str
    #: Whether the tool prints its rows on standard error.
    rows_on_stderr = False

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        """Return the benchmark's own words for these message sizes in bytes."""
        raise ReframeError(
            f"{type(self).__name__}: found no arguments(), expected the benchmark's words for some sizes"
        )

    def probe_arguments(self, size: int) -> list[str]:
        """Return the words of a short two-rank ping-pong at one size, which measures a rail alone."""
        raise ReframeError(
            f"{type(self).__name__}: found no probe_arguments(), expected the words of a short ping-pong"
        )

    @property
    def key(self) -> str:
        """The benchmark's name in references and records: ``imb/Uniband``."""
        return f"{self.tool}/{self.benchmark}"

    @property
    def message_sizes(self) -> tuple[int, ...]:
        """The message sizes of this run, in bytes."""
        sizes = FULL_SIZES if self.full else QUICK_SIZES
        return tuple(size for size in sizes if self.smallest <= size <= self.largest)

    @property
    def case_name(self) -> str:
        """The case as ReFrame's listing has it, without the hash."""
        return f"{self.display_name} @{self.current_partition.fullname}+{self.current_environ.name}"

    @property
    def site(self) -> Site:
        """The site and system that this test runs on."""
        partition = self.current_partition
        return site_at(Path(partition.extras["railyard_home"]), partition.fullname.split(":")[0])

    @run_after("init")
    def select_cells(self) -> None:
        """Load only where the system's own file gives enough rails and nodes, and a stack that can drive them."""
        self.valid_systems = [f"+rails{self.rails} +nodes{self.num_nodes}"]
        self.valid_prog_environs = [f"+{self.tool} +rails{self.rails}"]

    @run_after("setup")
    def plan(self) -> None:
        """Work out devices, variables and launcher words; skip what the site switched off, with its reason."""
        fabric, stack = self.current_partition.name, self.current_environ.name
        reason = disabled_reason(self.site.system, fabric, stack, self.rails)
        if reason is not None:
            from railyard.recording import untested_record

            self._write(untested_record(reason, **self._names(), **self._stamp(None)))
            self.skip(f"disabled by the site: {reason}")
        self.num_tasks = self.num_nodes * self.ranks_per_node
        alone = self.site.system.provider == "host"
        self.num_tasks_per_node = self.num_tasks if alone else self.ranks_per_node
        with _as_reframe_error():
            self._launch = self._plan_for(self._devices(), self._node_names())
        self._install_launch(self._launch)

    def _devices(self) -> tuple[str, ...]:
        rails = self.site.system.fabrics[self.current_partition.name].rails
        return tuple(device_name(rail) for rail in rails[: self.rails])

    def _node_names(self) -> tuple[str, ...]:
        nodes = self.site.system.nodes
        return nodes.names if self.site.system.provider == "host" else nodes.names[: self.num_nodes]

    def _plan_for(self, devices: tuple[str, ...], nodes: tuple[str, ...]) -> Launch:
        return plan_launch(
            self.site,
            self.current_partition.name,
            self.current_environ.name,
            devices,
            nodes,
            ranks=len(nodes) * self.num_tasks_per_node,
            ranks_per_node=self.num_tasks_per_node,
            # In the virtual cluster everybody is root, by the user namespace if not by right.
            as_root=running_as_root() or self.site.system.provider == "testbed",
        )

    def _install_launch(self, launch: Launch) -> None:
        """Give ReFrame the job: the counter reader and the benchmark, in one launch."""
        self.env_vars = dict(launch.env)
        self.job.launcher.options = [shlex.quote(word) for word in launch.options]
        limit = seconds(self.site.system.time_limit)
        if self.site.system.launcher == NAMESPACES:
            self.job.launcher.railyard = namespace_words(self.site.home, launch.nodes[0], limit, launch.program)
            # The job may wait for another measurement; `timeout` inside it bounds the run itself.
            self.time_limit = None
        else:
            self.time_limit = f"{limit}s"
        self._tag = f"{self.hashcode}-{time.time_ns():x}"
        benchmark = [self._program(), *self.arguments(self.message_sizes)]
        words = [READER, COUNTERS, self._tag, ",".join(launch.meant), ",".join(launch.watched), "--", *benchmark]
        self.executable = "sh"
        self.executable_opts = [shlex.quote(word) for word in words]
        self.prerun_cmds = [f"mkdir -p {COUNTERS}"]

    def _program(self) -> str:
        return self.site.system.stacks[self.current_environ.name].executable(self.tool, self.site.home)

    @run_before("run")
    def place_reader(self) -> None:
        """Put the counter reader beside the job's script, on the file system that the nodes share."""
        from railyard.counters import reader_script

        if self.site.system.provider != "nodes" and not self.is_dry_run():
            with _as_reframe_error():
                hold_measurement_lock(self.site.home)
                self._refuse_without_cluster()
        (Path(self.stagedir) / READER).write_text(reader_script(), encoding="utf-8")
        self._started = time.monotonic()

    def _refuse_without_cluster(self) -> None:
        """Raise SetupError where the launcher needs the virtual cluster and it is not up."""
        from railyard.testbed import Testbed

        if self.site.system.launcher == NAMESPACES:
            Testbed(self.site.home).state()

    @run_before("sanity")
    def judge(self) -> None:
        """Reach the verdict and store it; fail here where the run itself is not sound (rules 1 and 2)."""
        if self.is_dry_run():
            return
        from railyard import results
        from railyard.assess import assess
        from railyard.recording import record_of

        elapsed = time.monotonic() - self._started
        with _as_reframe_error():
            found = assess(
                self._meant_case(self._launched()), self._evidence(), self.parse, datetime.now(timezone.utc).date()
            )
            found = self._with_suspects(found)
        self._assessment = found
        output = results.keep_output(self.site.home, self.case_name, Path(self.stagedir) / str(self.stdout))
        command = (*shlex.split(self.job.launcher.run_command(self.job)), self.executable, *self.executable_opts)
        self._write(record_of(found, command=command, output=output, **self._stamp(elapsed)))
        if found.verdict.state == "fail" and found.verdict.rule in (1, 2):
            raise SanityError(found.verdict.line)

    @sanity_function
    def is_sound(self) -> bool:
        """Return whether rules 1 and 2 hold; judge() has said so already."""
        return self._assessment.verdict.rule not in (1, 2)

    @run_before("performance")
    def show_figures(self) -> None:
        """Give ReFrame the key figures, with a bound where a reference asserts one."""
        found = getattr(self, "_assessment", None)
        if found is None:
            return
        asserted = {} if found.verdict.state == "fail" else _asserted_bounds(found)
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit) for name, value, unit in _shown_figures(found)
        }
        self.reported_figures = tuple(name for name in self.perf_variables if name not in asserted)
        self.reference = {self.current_partition.fullname: asserted}

    @run_after("performance")
    def fail_on_verdict(self) -> None:
        """Fail with the verdict's sentence (rules 3 to 5)."""
        found = getattr(self, "_assessment", None)
        if found is not None and found.verdict.state == "fail":
            raise PerformanceError(found.verdict.line)

    def _names(self) -> dict[str, Any]:
        return {
            "name": self.case_name,
            "hash": self.hashcode,
            "check": type(self).__name__,
            "site": self.site,
            "fabric": self.current_partition.name,
            "stack": self.current_environ.name,
            "rails": self.rails,
            "benchmark": self.key,
        }

    def _launched(self) -> Launch:
        """Return the launch with the nodes that it was given, where the system's file says only how many there are."""
        if self._launch.nodes:
            return self._launch
        return replace(self._launch, nodes=tuple(sorted(self.job.nodelist or ())))

    def _meant_case(self, launch: Launch) -> "Case":
        from railyard.assess import Case

        return Case(
            **self._names(),
            launch=launch,
            ranks_per_node=self.ranks_per_node,
            window=self.window,
            passes=self.passes,
            time_limit_s=seconds(self.site.system.time_limit),
        )

    def _evidence(self) -> "Evidence":
        from railyard.assess import Evidence

        stage = Path(self.stagedir)
        files = sorted((stage / COUNTERS).glob("*.counters"))
        stdout, stderr = _read(stage / str(self.stdout)), _read(stage / str(self.stderr))
        return Evidence(
            stdout=f"{stdout}\n{stderr}" if self.rows_on_stderr else stdout,
            stderr=stderr,
            exit_code=self.job.exitcode,
            timed_out=self.job.exitcode == TIMEOUT_EXIT,
            counters=tuple(_read(file) for file in files),
            tag=self._tag,
        )

    def _stamp(self, elapsed_s: float | None) -> dict[str, Any]:
        from railyard import results
        from railyard.provenance import provenance

        now = datetime.now(timezone.utc)
        return {
            "run": results.run_id(),
            "time": f"{now:%Y-%m-%dT%H:%M:%SZ}",
            "elapsed_s": None if elapsed_s is None else round(elapsed_s, 2),
            "environment": provenance(self.site, self.current_environ.name),
        }

    def _write(self, record: Any) -> None:
        from railyard import results
        from railyard.record import FILE_NAME, append_record

        with _as_reframe_error():
            append_record(results.run_folder(self.site.home) / FILE_NAME, record)

    def _with_suspects(self, found: "Assessment") -> "Assessment":
        """Measure the rails alone where a bandwidth between named nodes failed: one is named, and not its partner."""
        from railyard.assess import with_suspects
        from railyard.probes import probe_rails

        verdict, job, launch = found.verdict, found.inputs.job, found.case.launch
        slow = job.timed_out or (verdict.rule == 5 and verdict.fault == "fabric")
        # Started on every node, and then ended by itself: a rail that swallows packets does that to some stacks.
        broke = verdict.rule == 1 and bool(job.exit_code) and job.nodes_seen == job.nodes_expected
        is_probed = verdict.state == "fail" and (slow or broke) and not job.refused
        if not is_probed or self.site.system.launcher != NAMESPACES or len(launch.nodes) < 2:
            return found
        names = self.site.system.nodes.names
        expected = self._expected_alone(found)
        for pair in zip(launch.nodes[::2], launch.nodes[1::2], strict=False):
            others = tuple(name for name in names if name not in pair)
            findings = probe_rails(
                pair, others, launch.meant, expected, self._probe_words, self._probe_value, Path(self.stagedir),
                launch.nodes,
            )  # fmt: skip
            # Where every probe breaks as the run did, the stack is broken and no switch is.
            if any(suspect.kind == "rail" for suspect in findings.suspects) or (findings.suspects and slow):
                return with_suspects(found, findings)
        return with_suspects(found, findings) if slow else found

    def _expected_alone(self, found: "Assessment") -> float:
        alone = self.site.system.fabrics[found.case.fabric].limit(1, 1)
        return 0.0 if alone is None else alone.value_mb_s

    def _probe_words(self, probe: "Probe") -> tuple[dict[str, str], list[str]]:
        from railyard.probes import PROBE_LIMIT_S, PROBE_SIZE_BYTES

        launch = self._plan_for((probe.rail,), (probe.node_a, probe.node_b))
        # Behind the jobs' lock: by hand, ReFrame runs a test of another partition meanwhile.
        head = namespace_words(self.site.home, probe.node_a, PROBE_LIMIT_S, launch.program)
        words = [*head, *launch.options, self._program(), *self.probe_arguments(PROBE_SIZE_BYTES)]
        return dict(launch.env), [shlex.quote(word) for word in words]

    def _probe_value(self, text: str) -> float | None:
        """Return MB/s at a probe's size, None where it printed none: what a cut probe read of others says nothing."""
        from railyard import metrics
        from railyard.probes import PROBE_SIZE_BYTES

        try:
            tables = self.parse(text).tables
            curve = metrics.curves(tables[0], self.probe_key)[0]
        except (ParseError, ValueError, IndexError, RailyardError):
            return None
        return curve.values[-1] if curve.sizes[-1] == PROBE_SIZE_BYTES else None


def _read(path: Path) -> str:
    """Return a file's text, empty where there is none: what is missing fails a rule, it is no error of ours."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


@contextlib.contextmanager
def _as_reframe_error() -> Any:
    """Turn a user's mistake into ReFrame's own error, which it prints without a traceback."""
    from railyard.jsonform import FormError

    try:
        yield
    except (RailyardError, FormError) as error:
        raise ReframeError(str(error)) from None


def _shown_figures(found: "Assessment") -> list[tuple[str, float, str]]:
    figures = [(figure.name, figure.value, figure.unit) for figure in found.figures]
    for curve in found.verdict.curves:
        if curve.percent_of_reference is not None and curve.percent_of_reference_size is not None:
            figures.append((f"{curve.metric}_percent_of_reference", round(curve.percent_of_reference, 2), "%"))
            figures.append((f"{curve.metric}_worst_at", curve.percent_of_reference_size, "B"))
    return figures


def _asserted_bounds(found: "Assessment") -> dict[str, tuple[float, float | None, float | None, str]]:
    """Return ReFrame's form of what the references assert of a figure at its own size: the bound is its value."""
    asserted: dict[str, tuple[float, float | None, float | None, str]] = {}
    for figure in found.figures:
        metric = next(
            (m for m in found.inputs.metrics if figure.name == "peak" and m.declared.unit == figure.unit), None
        )
        bounds = [band.bound_at(figure.size) for band in metric.bands] if metric and figure.size is not None else []
        lows = [bound.low for bound in bounds if bound is not None and bound.low is not None]
        if lows:
            asserted[figure.name] = (max(lows), 0, None, figure.unit)
    return asserted
