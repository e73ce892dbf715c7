"""Applications that a site has installed, licensed or not, as its file describes them (`applications`).

A missing licence is not a failure of the network: the verdict says which it was. If the time is long and the network of
the same nodes is good, often two processes share a core and both poll while they wait: compare ranks per node before
fabrics. On a stack without MPI (`tcp`) the application runs on the first node and starts its own processes on all
nodes.
"""

from collections.abc import Mapping

import reframe as rfm

from railyard.rfm.checks.application import InstalledApplication
from railyard.rfm.checks.declaration import node_counts, stated_names
from railyard.rfm.versions import typed_parameter


class InstalledCheck(InstalledApplication):
    """One application of the system's file."""

    #: ``none`` if a system states no application, since a parameter must have a value. No stack has it.
    app = typed_parameter(stated_names("app"), type=str, loggable=True)

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
    """An application on 1, 2, 4 … nodes, with the same problem: `railyard scaling` says what more nodes gain."""

    tags = {"apps", "scaling"}
    all_nodes = False
    nodes = typed_parameter(node_counts(), type=int, loggable=True)
