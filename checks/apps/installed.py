"""Applications that a site has installed, licensed or not, by what its file says of them (`applications`).

No licence is no failure of the network: the verdict says which it was. A time that is long with a good network on the
same nodes is often two processes a core that both poll while they wait: compare ranks a node before fabrics.
"""

import shlex
from collections.abc import Mapping

import reframe as rfm
from reframe.core.builtins import parameter

from railyard.appcheck import ApplicationCheck, stated_names
from railyard.applicationfile import Application
from railyard.apps import installedapp
from railyard.launch import Launch
from railyard.parsers.parsed import Parsed


@rfm.simple_test
class Installed(ApplicationCheck):
    """One application of the system's file: `-P app=gamess` selects one."""

    tool = installedapp.TOOL
    tags = {"apps", "installed", "extended"}  # noqa: RUF012  # ReFrame's own variable, not a class attribute
    own_parameters = ("app",)
    #: ``none`` stands where a system states no application, since a parameter must have a value; no stack has it.
    app = parameter(stated_names("app"), type=str, loggable=True)

    @classmethod
    def tool_of(cls, parameters: Mapping[str, str]) -> str:
        return parameters["app"]

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return parameters["app"]

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        return f"app-{parameters['app']}"

    @property
    def key(self) -> str:
        """The benchmark's name in references and records: ``installed/gamess``."""
        return f"{installedapp.TOOL}/{self.app}"

    @property
    def described(self) -> Application:
        """What the system's file says of it."""
        return self.site.system.applications[self.app]

    @property
    def words(self) -> list[str]:
        return installedapp.words(self.described, self.num_nodes, self.ranks_per_node)

    def parse(self, text: str) -> Parsed:
        """Return what the application printed, read by the patterns of the system's file."""
        return installedapp.parse(text, self.app, self.described)

    def shape(self) -> None:
        self.ranks_per_node = self.described.ranks_per_node

    def _install_launch(self, launch: Launch) -> None:
        super()._install_launch(launch)
        if self.described.inputs is not None and not self.is_replayed:
            folder = installedapp.folder(self.described.inputs, self.site.home)
            self.prerun_cmds = [f"cp -R {shlex.quote(folder)}/. .", *self.prerun_cmds]
