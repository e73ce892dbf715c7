"""ReFrame's configuration of a site: one system per cluster, one partition per fabric, one environment per stack."""

# ruff: noqa: E402
import gc

# What is imported here stays. Until `build` is done, the garbage collector would walk through ReFrame's and our objects
# again and again and find nothing: 0.08 s of the 0.6 s of a listing (Python 3.11).
_COLLECTS = gc.isenabled()
gc.disable()

import re
import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from reframe.core.exceptions import ConfigError

import railyard.rfm.backends  # noqa: F401  # registers our launchers and schedulers with ReFrame
from railyard.base.errors import RailyardError
from railyard.base.paths import CHECKS, find_home, part, refuse_command, state_folder
from railyard.provision.testbed.scripts import client_variables
from railyard.rfm.refusals import refuse_empty_runs, refuse_unfit_options
from railyard.rfm.schedulers import IN_CHUNKS, IN_SLOTS, IN_TOTALS
from railyard.rfm.system_choice import module_settings, note_systems
from railyard.rfm.versions import POLL_SETTINGS
from railyard.site.matrix import environment_features, partition_features
from railyard.site.site import load_site
from railyard.site.systems.jobs import FAMILIES, escape_exports
from railyard.site.systems.load import BrokenSystem, Systems, current_rehearsal, replays_all, takes_host
from railyard.site.systems.model import System

#: A pattern that no host name matches: such a system is only ever chosen by --system.
NO_HOST = "(?!)"
#: A name that only a pattern for every host matches.
NOBODYS_HOST = "host-of-nobody.invalid"
#: The description of a broken system whose host names cannot be read: any host may be one of its hosts.
UNKNOWN_HOSTS = "a file with a mistake; its host names are unknown"


gc.freeze()  # else it would walk through all of it once more now
if _COLLECTS:
    gc.enable()


def build(settings_file: str | Path) -> dict[str, Any]:
    """Return the site configuration for the site folder of ``settings_file``.

    A file with a mistake stops its own system only: ReFrame refuses to choose it, and a remark on standard error names
    the file. Raises ConfigError for everything else that is wrong: ReFrame prints such an error alone and exits with 1.
    Any other exception gives a traceback or is lost.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        home = find_home(settings_file)
        refuse_command(part(home, CHECKS), "the checks of Railyard in")
        # References are loaded here, so that a broken table is refused here: else it fails tests one by one, or nobody
        # sees it.
        systems = load_site(home)
        say_remark(systems)
        found = configuration(home, systems, systems.broken)
        refuse_empty_runs(home, systems)
        refuse_unfit_options(systems)
        note_systems(
            systems,
            {_stub_name(name): str(each.error) for name, each in systems.broken.items()},
            for_any_host=[
                _stub_name(name)
                for name, each in (systems | systems.broken).items()
                if _takes_any_host(each.hostnames or ())
            ],
        )
        # What is imported by now lasts as long as ReFrame does. Without this, the garbage collector walks through it
        # again and again: 0.07 s of a listing of 10 cases, 0.13 s of one of 100 (Python 3.11).
        gc.freeze()
        return found
    except (RailyardError, OSError) as error:
        raise ConfigError(str(error)) from None
    finally:
        if collects:
            gc.enable()


def say_remark(systems: Systems) -> None:
    """Say on standard error which files have a mistake, if any has."""
    remark = systems.remark()
    if remark is not None:
        print(f"railyard: remark: {remark}", file=sys.stderr, flush=True)


def configuration(
    home: Path, systems: Mapping[str, System], broken: Mapping[str, BrokenSystem] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the site configuration of these systems. A system for any host is last: ReFrame takes the first match.

    The sections `general` and `logging` are for these systems alone: beside another suite, its systems have none of it.
    A ``broken`` system is in it so that ReFrame chooses it, by name or by host, and no other in its place.
    """
    ordered = sorted(systems.values(), key=lambda system: (_takes_any_host(system.hostnames), system.system))
    state = state_folder(home) / "reframe"
    return {
        "systems": sorted(
            [*(_system(home, system) for system in ordered), *(_stub(*each) for each in broken.items())],
            key=lambda made: (made["descr"] != UNKNOWN_HOSTS, _takes_any_host(made["hostnames"]), made["name"]),
        ),
        "environments": [env for system in ordered for env in environments_of(system)],
        "general": _section_per_system(
            systems,
            {
                # An exit code other than 0 fails every test, ours or not.
                "trap_job_errors": True,
                "remote_detect": False,
                # For a `reframe -r` without a path: in a site without a clone the checks are inside the wheel.
                "check_search_path": [str(part(home, CHECKS))],
                "check_search_recursive": True,
                # Benchmarks here take seconds: ReFrame's slowest poll, one in 10 s, would take longer.
                **POLL_SETTINGS,
                "report_file": str(state / "reports" / "run-{sessionid}.json"),
            },
            {name: module_settings(system) for name, system in systems.items()},
        ),
        "logging": _section_per_system(
            systems,
            {
                # The logger's own level decides what is formatted at all: 'debug' costs 150 ms per test.
                "level": "info",
                "handlers": [{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}],
                "handlers_perflog": [
                    {
                        "type": "filelog",
                        "prefix": "%(check_system)s/%(check_partition)s",
                        # a replay or a rehearsal is no measurement: it has its own folder
                        "basedir": str(state / _perflogs()),
                        "level": "info",
                        "format": "%(check_result)s|%(check_job_completion_time)s|%(check_display_name)s|"
                        "%(check_environ)s|%(check_perfvalues)s",
                        "format_perfvars": "%(check_perf_var)s|%(check_perf_value)s|%(check_perf_unit)s|"
                        "%(check_perf_ref)s|%(check_perf_lower_thres)s|%(check_perf_upper_thres)s",
                        "append": True,
                    }
                ],
            },
        ),
    }


def _section_per_system(
    systems: Collection[str], section: Mapping[str, Any], own: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Return a section for each of these systems, with what is the system's ``own``.

    One section for all of them would not do: if ReFrame 4.10.4 merges it with those of two more files, it takes such a
    section for one of every system (``_merge_config_sections`` removes ``target_systems`` of the shared mapping).
    """
    return [{"target_systems": [name], **section, **own.get(name, {})} for name in systems]


def _stub(name: str, broken: BrokenSystem) -> dict[str, Any]:
    """Return a system that takes the place of a broken one, so that its hosts and its name are not another's."""
    known = broken.hostnames is not None
    return {
        "name": _stub_name(name),
        "descr": "a file with a mistake" if known else UNKNOWN_HOSTS,
        "hostnames": list(broken.hostnames or ()) if known else [".*"],
        "partitions": [{"name": "none", "scheduler": "local", "launcher": "local", "environs": []}],
    }


def _stub_name(name: str) -> str:
    """Return a broken system's name, with a dash for each sign that ReFrame would refuse."""
    dashed = re.sub(r"[^\w-]", "-", name, flags=re.ASCII)
    return dashed if re.match(r"[A-Za-z_]", dashed) else f"_{dashed}"


def _perflogs() -> str:
    if replays_all():
        return "perflogs-replayed"
    return "perflogs" if current_rehearsal() is None else "perflogs-rehearsed"


def _takes_any_host(hostnames: Iterable[str]) -> bool:
    return takes_host(hostnames, NOBODYS_HOST)


def _system(home: Path, system: System) -> dict[str, Any]:
    return {
        "name": system.system,
        "descr": system.description,
        "hostnames": list(system.hostnames) or [NO_HOST],
        "modules_system": "nomod" if not system.modules_system else system.modules_system,
        "prefix": str(state_folder(home) / "reframe"),
        "partitions": [partition_of(home, system, name) for name in system.fabrics],
        # Set in ReFrame's own process when it starts, so that it finds the clients of the virtual cluster's scheduler.
        "env_vars": _env_vars(home, system),
    }


def _env_vars(home: Path, system: System) -> list[list[str]]:
    family = FAMILIES.get(system.scheduler)
    if system.provider != "testbed" or family is None:
        return []
    return [[name, value] for name, value in client_variables(home, family).items()]


#: A scheduler in ReFrame's words -> our own backend in its place.
_OWN_BACKENDS: Mapping[str, str] = {"pbs": IN_CHUNKS, "sge": IN_SLOTS}


def partition_of(home: Path, system: System, fabric: str) -> dict[str, Any]:
    """Return ReFrame's partition of a fabric."""
    own = system.fabrics[fabric]
    return {
        "name": fabric,
        "descr": own.description,
        "scheduler": _scheduler(system),
        "launcher": own.launcher or system.launcher,
        "access": list(system.job_options),
        "sched_options": {"use_nodes_option": system.jobs.use_nodes_option},
        "prepare_cmds": list(own.prepare_lines),
        "modules": list(own.modules),
        "env_vars": [[name, escaped] for name, escaped in escape_exports(system.job_variables(fabric, home)).items()],
        "environs": list(system.stacks),
        "features": partition_features(system, fabric),
        "extras": {
            "railyard_home": str(home),
            "railyard_spack": any(each.spack for each in system.stacks.values()),
            # A single host acts as any number of nodes.
            "railyard_nodes": None if system.provider == "host" else system.nodes.number,
            "railyard_sweep": list(system.sweep),
            "railyard_numbers": _numbers(system),
        },
        "max_jobs": 1,
        # Without this, ReFrame examines the host that it runs on and writes what it found into the user's home.
        "processor": {"num_cpus": 1},
    }


def _scheduler(system: System) -> str:
    """Return the name of the backend of ReFrame that submits a system's jobs: for PBS and Grid Engine it is ours."""
    if system.jobs.totals and system.scheduler == "pbs":
        return IN_TOTALS
    return _OWN_BACKENDS.get(system.scheduler, system.scheduler)


def _numbers(system: System) -> dict[str, dict[str, int]]:
    """Return the nodes and ranks that the system's file states, by benchmark: a check needs them before its set-up."""
    asked = {
        key: {"nodes": each.nodes, "ranks_per_node": each.ranks_per_node}
        for key, each in system.measure.benchmarks.items()
    }
    given = {key: {name: value for name, value in each.items() if value} for key, each in asked.items()}
    return {key: each for key, each in given.items() if each}


def environments_of(system: System) -> list[dict[str, Any]]:
    """Return an environment for each (fabric, stack): its features say what this stack can do on this fabric.

    There is also one for each stack on the whole system, without features. No partition takes it, but with
    `--system NAME:FABRIC` ReFrame 4.10.4 looks for the system's own environments after each stage. Without any, it ends
    with a traceback.
    """
    whole = [{"name": stack, "target_systems": [system.system]} for stack in system.stacks]
    return whole + [
        {
            "name": stack,
            "target_systems": [f"{system.system}:{fabric}"],
            "prepare_cmds": list(system.prepare_lines_of(stack)),
            "modules": list(system.modules_of(stack)),
            "features": environment_features(system, fabric, stack),
        }
        for stack in system.stacks
        for fabric in system.fabrics
    ]
