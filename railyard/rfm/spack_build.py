"""The fixture that builds a stack's benchmarks with Spack, once per (system, stack), before a check needs them."""

import shlex
import sys
from pathlib import Path
from typing import Any

import reframe as rfm
from reframe.core.builtins import run_after, run_before
from reframe.core.exceptions import ReframeError
from reframe.core.logging import getlogger

from railyard.base.errors import SetupError
from railyard.provision.spack.request import Request, ready, request_of
from railyard.results.run_folder import why_unfit
from railyard.rfm.guards import KeptHooks, as_reframe_error
from railyard.rfm.system_choice import site_of
from railyard.site.site import Site
from railyard.site.systems.stack_entry import StackEntry


class SpackEnvironment(KeptHooks, rfm.CompileOnlyRegressionTest):
    """The environment of one stack: built outside the stage folder, or found there. An installed stack needs none."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    #: ReFrame replaces this name with the build system.
    build_system: Any = "CustomBuild"
    sourcesdir = None

    @property
    def site(self) -> Site:
        """The site and system that this fixture builds for."""
        return site_of(self)

    @run_before("compile")
    def build_or_find(self) -> None:
        """Build here, or give ReFrame the command that builds on a compute node. Do nothing if it is built already."""
        self.build_system.commands = [":"]
        if self._entry.spack is None or self.is_dry_run():
            return
        unfit = why_unfit(self.current_environ.name)
        if unfit is not None:  # found before the first test, so not tried again for each fabric
            raise ReframeError(unfit)
        on_compute = self.site.system.spack.build_on == "compute"
        self.build_locally = not on_compute
        with as_reframe_error():
            request = request_of(self.site, self.current_environ.name)
            if not on_compute:
                from railyard.provision.spack.bootstrap import own_lines
                from railyard.provision.spack.build import ensure

                ensure(request, own_lines(getlogger().info))
            elif ready(request) is None:
                self.build_system.commands = [build_command(request)]

    @run_after("compile")
    def demand_build(self) -> None:
        """Fail if the command on a compute node left no finished build, with what it said."""
        # With trap_job_errors on, ReFrame 4.10.4 asks the run job for its exit code. A compile-only test has no run
        # job: AttributeError. So the build's own job takes its place.
        self._job = self.build_job
        if self._entry.spack is None or self.is_dry_run():
            return
        with as_reframe_error():
            request = request_of(self.site, self.current_environ.name)
            if ready(request) is None:
                raise SetupError(why_unbuilt(request, Path(self.stagedir) / str(self.build_job.stderr)))

    @property
    def _entry(self) -> StackEntry:
        return self.site.system.stacks[self.current_environ.name]


def build_command(request: Request) -> str:
    """Return the command that builds in a job. It always exits with 0: a missing marker shows that it failed."""
    words = [sys.executable, "-m", "railyard", "spack", "install", "--system", request.system, "--stack", request.stack]
    return f"RAILYARD_HOME={shlex.quote(str(request.home))} RAILYARD_SPACK=1 {shlex.join(words)} || :"


def why_unbuilt(request: Request, errors: Path) -> str:
    """Return the sentence that ``build_command`` ended with, from its job's error output."""
    try:
        lines = errors.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    mark = "railyard: "
    said = next((index for index, line in enumerate(lines) if line.startswith(mark)), None)
    if said is not None:
        return "\n".join(lines[said:]).removeprefix(mark)
    return f"{request.stack} on {request.system}: the build ended and left no install marker; see {errors}"
