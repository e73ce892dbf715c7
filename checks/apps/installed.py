"""Applications that a site has installed, licensed or not, by what its file says of them (`applications`).

No licence is no failure of the network: the verdict says which it was. A time that is long with a good network on the
same nodes is often two processes a core that both poll while they wait: compare ranks a node before fabrics. On a stack
without MPI (`tcp`) the application runs on the first node, and starts its own processes on all.
"""

from collections.abc import Mapping

import reframe as rfm
from reframe.core.builtins import parameter

from railyard.rfm.checks.installed_application import InstalledApplication
from railyard.rfm.checks.variants import node_counts, stated_names


class InstalledCheck(InstalledApplication):
    """One application of the system's file."""

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


@rfm.simple_test
class Installed(InstalledCheck):
    """An application over all nodes: `-P app=gamess` selects one."""


@rfm.simple_test
class InstalledScaling(InstalledCheck):
    """An application on 1, 2, 4 … nodes, the same problem: `railyard scaling` says what it gains from each."""

    tags = {"apps", "scaling"}
    all_nodes = False
    nodes = parameter(node_counts(), type=int, loggable=True)
