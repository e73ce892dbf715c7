"""WRF, the weather model: the mean time per step of a published case, without the first step, which reads the input.

Many times per step, it exchanges halos of a few kilobytes with neighbours. With few points per rank latency counts,
with many the memory. The cases of versions 3 and 4 have the same names but other data, so they are different
benchmarks.
"""

from collections.abc import Mapping

import reframe as rfm

from railyard.benchmarks.apps import wrf as wrf_cases
from railyard.benchmarks.table.applications import WRF_CASES
from railyard.parsers import wrf
from railyard.rfm.checks.application import ApplicationCheck
from railyard.rfm.checks.declaration import node_counts, stated
from railyard.rfm.versions import typed_parameter


class WrfCheck(ApplicationCheck):
    """One case; the site has its inputs (`wrf_cases`)."""

    tool = "wrf"
    parse = staticmethod(wrf.parse)
    case = typed_parameter(stated("wrf", WRF_CASES), type=str, loggable=True)

    @classmethod
    def problem_of(cls, parameters: Mapping[str, str]) -> str:
        return f"wrf/{parameters['case']}"

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        return f"wrf-{parameters['case']}"

    def shape(self) -> None:
        there, system = self.num_nodes, self.site.system
        self._inputs = wrf_cases.folder(system.wrf_cases, self.case, self.site.home, system.system)
        namelist = wrf_cases.load(self._inputs)
        grid = wrf_cases.grid(self.case, namelist)
        asked = int(self.request.ranks)
        if asked and not wrf_cases.is_refused(grid, there * asked):
            self.ranks_per_node = asked
        elif self.all_nodes:
            self.num_nodes, self.ranks_per_node = wrf_cases.layout(grid, there, self.most_ranks)
        else:
            self.ranks_per_node = wrf_cases.ranks_per_node(grid, there, self.most_ranks)
        small = wrf_cases.small_patches(grid, self.num_nodes * self.ranks_per_node)
        layout = f"{self.num_nodes} of {there} nodes, {self.ranks_per_node} of {self.cores} cores per node"
        self.remarks = (layout, *([small] if small else []), *wrf_cases.check(namelist))

    def before(self, program: str) -> list[str]:
        return [*wrf_cases.copy_lines(self._inputs, program), *wrf_cases.compare_lines(program)]

    def after(self) -> list[str]:
        return ["compare_fields"]


@rfm.simple_test
class Wrf(WrfCheck):
    """A case over all nodes: `-P case=conus12km-v4` selects one."""


@rfm.simple_test
class WrfScaling(WrfCheck):
    """A case on 1, 2, 4 … nodes: `railyard scaling` says what more nodes gain."""

    tags = {"apps", "scaling"}
    all_nodes = False
    nodes = typed_parameter(node_counts(), type=int, loggable=True)
