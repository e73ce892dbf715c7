"""WRF, the weather model: a step's mean time of a published case, after the first one, which reads the input.

It exchanges halos of a few kilobytes with neighbours many times a step: with few points a rank it is latency that
counts, with many the memory. The cases of version 3 and 4 have the same names and other data, and are other benchmarks.
"""

from collections.abc import Mapping

import reframe as rfm
from reframe.core.builtins import parameter

from railyard.benchmarks.apps import wrf_cases
from railyard.benchmarks.table.applications import WRF_CASES
from railyard.parsers import wrf
from railyard.rfm.checks.application import ApplicationCheck
from railyard.rfm.checks.variants import node_counts, stated


class WrfCheck(ApplicationCheck):
    """One case, whose inputs the site has (`wrf_cases`)."""

    tool = "wrf"
    parse = staticmethod(wrf.parse)
    case = parameter(stated("wrf", WRF_CASES), type=str, loggable=True)

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return f"wrf/{parameters['case']}"

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        return f"wrf-{parameters['case']}"

    def shape(self) -> None:
        there, system = self.num_nodes, self.site.system
        if self.all_nodes:
            self.num_nodes, self.ranks_per_node = wrf_cases.layout(self.case, there, self.most_ranks)
        else:
            self.ranks_per_node = wrf_cases.ranks_per_node(self.case, there, self.most_ranks)
        self.remarks = (f"{self.num_nodes} of {there} nodes, {self.ranks_per_node} of {self.cores} cores a node",)
        self._inputs = wrf_cases.folder(system.wrf_cases, self.case, self.site.home, system.system)

    def before(self, program: str) -> list[str]:
        return wrf_cases.before(self._inputs, program)


@rfm.simple_test
class Wrf(WrfCheck):
    """A case over all nodes: `-P case=conus12km-v4` selects one."""


@rfm.simple_test
class WrfScaling(WrfCheck):
    """A case on 1, 2, 4 … nodes: `railyard scaling` says what it gains from each."""

    tags = {"apps", "scaling"}
    all_nodes = False
    nodes = parameter(node_counts(), type=int, loggable=True)
