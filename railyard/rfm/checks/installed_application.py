"""The ReFrame base of installed applications: with MPI's launcher, or starting their own processes without one."""

import shlex
from typing import TYPE_CHECKING

from railyard.benchmarks.apps import installed_applications
from railyard.benchmarks.apps.installed_applications import Application
from railyard.job.launch import starting_agent
from railyard.parsers.parsed import Parsed
from railyard.rfm.checks.application import ApplicationCheck
from railyard.rfm.checks.groups import Start
from railyard.stacks.table import STACKS

if TYPE_CHECKING:
    from railyard.job.command import Command


class InstalledApplication(ApplicationCheck):
    """One application of the system's file; a check says which (its parameter ``app``) and on how many nodes.

    On a stack without MPI one process per node is launched, and the first becomes the application. So each node's
    counters are read before and after it, whatever it starts there by itself.
    """

    tool = installed_applications.TOOL
    start = Start(by_itself=True)

    @property
    def key(self) -> str:
        """The benchmark's name in references and records: ``installed/gamess``, ``installed/gamess/2-nodes``."""
        return f"{installed_applications.TOOL}/{self.benchmark}"

    @property
    def application(self) -> Application:
        """What the system's file says about it."""
        return self.site.system.applications[self.app]

    @property
    def has_no_mpi(self) -> bool:
        """Whether it starts its own processes here."""
        return STACKS[self.current_environ.name].pair

    @property
    def words(self) -> list[str]:
        # If it starts its own processes, or is replayed, the launch has fewer ranks per node than it is given.
        ranks_per_node = max(self.ranks_per_node, self.application.ranks_per_node)
        return installed_applications.words(self.application, self.num_nodes, ranks_per_node, self.has_no_mpi)

    def parse(self, text: str) -> Parsed:
        """Return what the application printed, read by the patterns of the system's file."""
        return installed_applications.parse(text, self.app, self.application)

    def shape(self) -> None:
        self.ranks_per_node = 1 if self.has_no_mpi else self.application.ranks_per_node

    @property
    def command(self) -> "Command":
        """Its ranks, or its first process if that starts the others itself."""
        from railyard.job.command import FirstProcess

        return FirstProcess(self.num_nodes, starting_agent(self.site)) if self.has_no_mpi else super().command

    def before(self, program: str) -> list[str]:
        if self.application.inputs is None:
            return []
        return [f"cp -R {shlex.quote(installed_applications.folder(self.application.inputs, self.site.home))}/. ."]
