"""What a check does as its run starts: it waits for its turn to measure, and puts its scripts beside the job's."""

from pathlib import Path

from reframe.core.builtins import run_before

from railyard.job import client_server
from railyard.rfm.checks.judge import Judged
from railyard.rfm.checks.probe import READER
from railyard.rfm.guards import as_reframe_error
from railyard.rfm.launchers import hold_measurement_lock
from railyard.site.systems.jobs import is_slurm
from railyard.stacks.table import STACKS


class Starting(Judged):
    """Starts a run of InterconnectCheck, which declares what is named here."""

    @run_before("run")
    def place_reader(self) -> None:
        """Put the counter reader beside the job's script, on the file system that the nodes share."""
        from railyard.job.counters.node import IDLE, reader_script
        from railyard.job.node_facts import SCRIPT, node_script

        if self.is_replayed:
            self._begin()
            return
        if self.site.system.provider != "nodes" and not self.is_dry_run():
            with as_reframe_error():
                hold_measurement_lock(self.site.home)
                self._refuse_without_cluster()
        (Path(self.stagedir) / READER).write_text(reader_script(), encoding="utf-8")
        (Path(self.stagedir) / SCRIPT).write_text(node_script(), encoding="utf-8")
        self.write_place_script()
        idle_ms = self.site.system.fabrics[self.current_partition.name].proof.idle_ms
        if idle_ms is not None:
            (Path(self.stagedir) / IDLE).write_text(f"{idle_ms}\n", encoding="utf-8")
        if STACKS[self.current_environ.name].pair:
            for name, text in client_server.scripts().items():
                (Path(self.stagedir) / name).write_text(text, encoding="utf-8")
        self._begin()

    def _refuse_without_cluster(self) -> None:
        """Raise SetupError where the run needs a testbed of ours, or its Slurm, and it is not up."""
        system = self.site.system
        if system.launcher == "namespaces" or is_slurm(system.scheduler):
            from railyard.provision.testbed.cluster import Testbed

            Testbed(self.site.home).state()
            self.refuse_without_slurm()
        elif system.launcher == "guests":
            from railyard.provision.testbed.guests.bed import up_at

            up_at(self.site.home)
