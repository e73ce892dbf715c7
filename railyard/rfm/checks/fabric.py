"""The ReFrame base of the check of a fabric's own state: each node reads its ports and cards; all are judged."""

import shlex
import shutil
import sys
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reframe as rfm
from reframe.core.builtins import run_after, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError

from railyard.base.paths import HOME_VARIABLE
from railyard.base.values import utc_time
from railyard.job import node_files
from railyard.rfm.guards import InitErrorCarrier, as_reframe_error
from railyard.rfm.system_choice import partitions, site_of
from railyard.site.matrix import EXTENDED, RDMA_PORTS
from railyard.site.site import Site
from railyard.site.test_id import TestId

if TYPE_CHECKING:
    from railyard.cluster.fabric.model import Card, ExpectedFabric, Finding, Report
    from railyard.parsers.fabric.port import PortState
    from railyard.results.record.form import Record

#: The folder to which nodes write their answers if there are too many for a launcher's output.
_ANSWERS = "answers"
#: How records and reports name it.
_BENCHMARK = "fabric/state"


def first_stacks() -> list[str]:
    """Return the stacks under which the check runs: the first of each fabric with RDMA. The check uses no stack."""
    there = [each for each in partitions() or () if RDMA_PORTS in each.features and each.environs]
    return sorted({each.environs[0].name for each in there})


class FabricCheck(InitErrorCarrier, rfm.RunOnlyRegressionTest):
    """Reads the fabric's state on every node, and compares it with the system's file."""

    tags = {"microbench", "fabric", EXTENDED}
    num_tasks_per_node = 1
    #: How many nodes are read; 0: all of the system's.
    nodes_read = variable(int, value=0)
    _asking: node_files.AnswerFolder | None
    _nodes: tuple[str, ...]
    _report: "Report"
    _expected: "ExpectedFabric"

    @property
    def site(self) -> Site:
        """The site and system that this test runs on."""
        return site_of(self)

    @run_after("init")
    def select_fabrics(self) -> None:
        """Load once per fabric with RDMA ports."""
        self.valid_systems = [f"+{RDMA_PORTS}"]
        self.valid_prog_environs = first_stacks() or ["*"]

    @run_after("setup")
    def plan(self) -> None:
        """Have every node print a few lines of JSON; a launcher starts one process per node."""
        from railyard.job.launch import TESTBEDS
        from railyard.provision.testbed.boot import each_node_words

        system = self.site.system
        self.num_tasks = self.nodes_read or (1 if system.provider == "host" else system.nodes.number)
        self.env_vars = {HOME_VARIABLE: str(self.site.home)}
        self.time_limit = f"{system.limit_s()}s"
        bed = TESTBEDS.get(system.launcher)
        if bed is not None:
            self.job.launcher.railyard = each_node_words(self.site.home, system.nodes.names[: self.num_tasks], bed)
        command = [sys.executable, "-m", "railyard", "fabric", "--own"]
        self._asking = None
        if self.num_tasks > node_files.FLAT:
            # A launcher's output of so many nodes is longer than what is read of an output.
            self._asking = node_files.AnswerFolder(Path(self.stagedir) / _ANSWERS, self.hashcode, self.num_tasks)
            command = self._asking.words(command, node_files.SCRIPT)
        self.executable, *self.executable_opts = map(shlex.quote, command)

    @run_before("run")
    def note_start(self) -> None:
        """Keep the time of the launch for the record, and make room for the nodes' answers."""
        self._started_at = datetime.now(timezone.utc)
        if self._asking is not None:
            shutil.rmtree(self._asking.folder, ignore_errors=True)
            node_files.prepare_folder(self._asking.folder, self._asking.tag, self._asking.count)
            Path(self.stagedir, node_files.SCRIPT).write_text(node_files.script_text(), encoding="utf-8")

    @run_before("sanity")
    def judge_state(self) -> None:
        """Judge what all nodes printed, store the verdict, and fail with the first problem."""
        if self.is_dry_run():
            return
        from railyard.cluster.fabric.judge import judge, with_silent
        from railyard.cluster.fabric.model import Readings, expected_fabric
        from railyard.rfm.checks.record import store

        output = Path(self.stagedir) / str(self.stdout)
        with as_reframe_error():
            ports, cards, missing = self._read(output)
        self._nodes = tuple(dict.fromkeys(port.node for port in ports if port.node))
        self._expected = expected_fabric(self.site.system, self.current_partition.name)
        counted = tuple(port for port in ports if port.counters)
        readings = Readings(own=ports, cards=cards, counters=counted or None)
        report = judge(self._expected, readings)
        report = replace(report, findings=(*missing, *report.findings))
        self._report = with_silent(self._expected, readings, report, int(self.num_tasks))
        record = self._record(output)
        with as_reframe_error():
            store(self.site, record)
        if record.found.state == "fail":
            raise SanityError(record.found.verdict.text)

    @sanity_function
    def is_as_the_file_says(self) -> bool:
        """Return whether no problem was found; judge_state() has said so already."""
        return not self._report.problems and not self._report.is_blind

    def _read(self, output: Path) -> "tuple[tuple[PortState, ...], tuple[Card, ...], tuple[Finding, ...]]":
        """Return what all nodes read about themselves, and a problem for each node without a complete answer.

        Raises InputError if the job's output has no line from any node.
        """
        from railyard.cluster.fabric.own_json import own_answer, read_lines, readings_of
        from railyard.rfm.checks.runner import text_of

        if self._asking is None:
            return *read_lines(text_of(output), str(self.stdout)), ()
        return readings_of(node_files.gather(self._asking, own_answer, ended_well=self.job.exitcode == 0))

    def _record(self, output: Path) -> "Record":
        from railyard.cluster.fabric.judge import say_no_port_read, verdict_sentence
        from railyard.job.provenance import provenance
        from railyard.results import run_folder
        from railyard.results.record.form import Record, Suspect, VerdictRecord

        found, ended = self._report, datetime.now(timezone.utc)
        fails = bool(found.problems) or found.is_blind
        say = say_no_port_read if found.is_blind else verdict_sentence
        suspects = tuple(
            Suspect("rail" if each.device else "node", each.sentence, each.node, each.device)
            for each in found.problems
            if each.node is not None
        )
        verdict: dict[str, Any] = {"rule": 5, "class_": "fabric"} if fails else {}
        test = TestId(
            self.current_partition.name,
            self.current_environ.name,
            len(self._expected.rails),
            _BENCHMARK,
            type(self).__name__,
            system=self.site.system.system,
            name=self.display_name,
            hash=self.hashcode,
        )
        said = VerdictRecord(say(self._expected, found), suspects=suspects, **verdict)
        record = Record.of(test, "fail" if fails else "pass", said, run=run_folder.run_id(), time=utc_time())
        return record.with_fields(
            nodes=self._nodes,
            elapsed_s=round((ended - self._started_at).total_seconds(), 2),
            environment=provenance(self.site, test.stack),
            command=(sys.executable, *self.executable_opts),
            output=run_folder.keep_output(self.site.home, str(test), output),
        )
