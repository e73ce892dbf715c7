"""Checks once, before the first test, what all tests of a run need. Otherwise each would fail for the same reason."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from railyard.base.errors import SetupError, note_remark
from railyard.base.wording import count_of
from railyard.cluster.doctor.login import needed_programs, why_no_scheduler
from railyard.job.clients import why_never, why_shared
from railyard.job.launch import TESTBEDS
from railyard.provision.installed_stack import find_stack, mpi_of
from railyard.provision.mpi_prefixes import SOURCES, prefix_of
from railyard.provision.replay.index import folder_of, read_index
from railyard.provision.spack.bootstrap import Getting, prepare
from railyard.site.site import Site
from railyard.site.systems.jobs import ASK_FOR_WHOLE_NODES, OWN_LAUNCHERS
from railyard.site.systems.load import current_rehearsal
from railyard.site.systems.module_system import no_modules_sentence
from railyard.site.test_id import TestId
from railyard.stacks.model import STACKS


def ask(site: Site, promised: Sequence[TestId], echo: Callable[[str], None], getting: Getting) -> Mapping[str, str]:
    """Return the stacks that no test can use, each with the reason. This also makes Spack's builds.

    Raises RailyardError if no test of the run could be measured, or if all of Spack's builds are missing.
    """
    system = site.system
    if system.provider == "replay":
        read_index(folder_of(site.home, system.system))
        return {}
    if current_rehearsal() is not None:  # a rehearsal makes its own stand-ins
        _warn_of_shared_nodes(site, echo)
        return {}
    if system.provider == "nodes":
        lacking = why_no_scheduler({name: shutil.which(name) for name in needed_programs(system)}, system)
        if lacking is not None:
            raise SetupError(f"systems/{system.system}.yaml: {lacking.what}; {lacking.fix}")
        without_modules = no_modules_sentence(system)
        if without_modules is not None:
            raise SetupError(without_modules)
        never = why_never(system)
        if never is not None:
            options = " ".join(system.job_options) or "no options"
            raise SetupError(
                f"systems/{system.system}.yaml: Slurm takes no job with {options}: {never}; fix access or jobs in "
                "the file"
            )
        _warn_of_shared_nodes(site, echo)
    stacks = tuple(dict.fromkeys(case.stack for case in promised))
    by_spack = [stack for stack in stacks if system.stacks[stack].spack is not None]
    unbuilt = prepare(site, by_spack, echo, getting) if by_spack else {}
    unfit = {stack: why for stack in stacks if stack not in by_spack and (why := _why_not_installed(site, stack))}
    unfit |= unbuilt
    if unfit:
        promised = _starting_benchmarks(site, promised)
        unfit = {stack: why for stack, why in unfit.items() if any(case.stack == stack for case in promised)}
    if unfit and (len(unfit) == len(stacks) or len(unbuilt) == len(by_spack) > 0):
        raise SetupError(_sentences(unfit))
    for stack, why in unfit.items():
        failing = sum(case.stack == stack for case in promised)
        echo(f"warning: {stack}: {why}; {count_of(failing, 'test')} of this run will fail because of it")
    return unfit


def _warn_of_shared_nodes(site: Site, echo: Callable[[str], None]) -> None:
    shared = why_shared(site.system)
    if shared is not None:
        echo(f"warning: systems/{site.system.system}.yaml: {shared}; {ASK_FOR_WHOLE_NODES}")


def _starting_benchmarks(site: Site, promised: Sequence[TestId]) -> list[TestId]:
    """Return the tests that start a program of their stack: not, for example, the check of a fabric's own state."""
    from railyard.rfm.checks.catalogue import names, needs  # imports ReFrame and all checks

    checks = site.home / "checks"
    without = names(checks) - {need.check.split()[0] for need in needs(checks)}
    return [case for case in promised if case.check.split()[0] not in without]


def ask_for_scripts(site: Site, promised: Sequence[TestId]) -> None:
    """Raise SetupError if a dry run cannot write any job script, since no stack of these tests is built."""
    unfit: dict[str, str] = {}
    for case in promised:
        try:
            find_stack(site, case.stack)
        except SetupError as error:
            unfit[case.stack] = str(error)
    if unfit and all(case.stack in unfit for case in promised):
        raise SetupError(_sentences(unfit))


def _sentences(unfit: Mapping[str, str]) -> str:
    return "\n".join(dict.fromkeys(unfit.values()))


def _why_not_installed(site: Site, stack: str) -> str | None:
    """Return why a stack that the site installed cannot be used from here; None if it can, or if this host cannot tell.

    On a cluster, nodes may have files that this host lacks, and modules may provide files that no path names.
    """
    system, entry = site.system, site.system.stacks[stack]
    launchers = {system.launcher_of(fabric, stack) for fabric in system.fabrics}
    starts = bool(launchers & {*TESTBEDS, *OWN_LAUNCHERS}) and not STACKS[stack].pair
    if entry.container is not None:
        image = entry.container.image_at(site.home).file
        absent = image is not None and not os.path.exists(image)
        if absent and system.scheduler == "local":
            return f"{image}: found no image there, expected that of {stack}; copy it there, or fix its container"
        if absent:
            note_remark(f"{image}: this host has no such image of {stack}; each node of a run must have it")
        return None
    try:
        tools = [path for path in find_stack(site, stack).tools.values() if Path(path).is_absolute()]
        wanted = [mpi_of(site, stack).launcher] if starts else []
    except SetupError as error:
        return str(error)
    if system.scheduler != "local" or entry.modules:
        return None
    lacking = [path for path in wanted if Path(path).is_absolute() and not os.path.exists(path)]
    if tools and not any(os.path.exists(path) for path in tools):
        lacking.append(tools[0])
    if not lacking:
        return None
    return f"{lacking[0]}: found nothing there, expected it for {stack}; {_how_to_get(site, stack, lacking[0])}"


def _how_to_get(site: Site, stack: str, path: str) -> str:
    if Path(path).is_relative_to(prefix_of(site.home, stack)) and stack in SOURCES:
        return f"type: railyard stacks install {stack}"
    return f"install it there, or fix stacks.{stack} in systems/{site.system.system}.yaml"
