"""ReFrame's site configuration, made from systems/*.yaml: a system a cluster, a partition a fabric, an environment a stack."""

from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError

import railyard.rfm_backends  # noqa: F401  # registers our launchers with ReFrame
from railyard.cells import environment_features, partition_features
from railyard.errors import RailyardError
from railyard.home import find_home, state_folder
from railyard.systems import System, load_systems

#: A pattern that no host name matches: such a system is only ever chosen by --system.
NO_HOST = "(?!)"


def build(settings_file: str | Path) -> dict[str, Any]:
    """Return the site configuration for the site folder of ``settings_file``.

    Raises ConfigError for everything that is wrong: ReFrame prints such an error alone and exits 1, where any other
    exception gives a traceback, or is lost.
    """
    try:
        home = find_home(settings_file)
        return configuration(home, load_systems(home / "systems"))
    except (RailyardError, OSError) as error:
        raise ConfigError(str(error)) from None


def configuration(home: Path, systems: dict[str, System]) -> dict[str, Any]:
    """Return the site configuration of these systems; those with host patterns first, so that a catch-all comes last."""
    ordered = sorted(systems.values(), key=lambda system: (".*" in system.hostnames, system.system))
    state = state_folder(home) / "reframe"
    return {
        "systems": [_system(home, system) for system in ordered],
        "environments": [env for system in ordered for env in _environments(system)],
        "general": [
            {
                # An exit code other than 0 fails every test, ours or not.
                "trap_job_errors": True,
                "remote_detect": False,
                # Benchmarks here take seconds: ReFrame's slowest poll, one in 10 s, would cost more than they do.
                "poll_rate_min": 4,
                "report_file": str(state / "reports" / "run-{sessionid}.json"),
            }
        ],
        "logging": [
            {
                # The logger's own level decides what is formatted at all: 'debug' costs 150 ms a test.
                "level": "info",
                "handlers": [{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}],
                "handlers_perflog": [
                    {
                        "type": "filelog",
                        "prefix": "%(check_system)s/%(check_partition)s",
                        "basedir": str(state / "perflogs"),
                        "level": "info",
                        "format": "%(check_result)s|%(check_job_completion_time)s|%(check_display_name)s|"
                        "%(check_environ)s|%(check_perfvalues)s",
                        "format_perfvars": "%(check_perf_var)s|%(check_perf_value)s|%(check_perf_unit)s|"
                        "%(check_perf_ref)s|%(check_perf_lower_thres)s|%(check_perf_upper_thres)s",
                        "append": True,
                    }
                ],
            }
        ],
    }


def _system(home: Path, system: System) -> dict[str, Any]:
    return {
        "name": system.system,
        "descr": system.description,
        "hostnames": list(system.hostnames) or [NO_HOST],
        "modules_system": "nomod" if not system.modules_system else system.modules_system,
        "prefix": str(state_folder(home) / "reframe"),
        "partitions": [_partition(home, system, name) for name in system.fabrics],
    }


def _partition(home: Path, system: System, fabric: str) -> dict[str, Any]:
    return {
        "name": fabric,
        "descr": system.fabrics[fabric].description,
        "scheduler": system.scheduler,
        "launcher": system.launcher,
        "access": list(system.access),
        "environs": list(system.stacks),
        "features": partition_features(system, fabric),
        "extras": {"railyard_home": str(home)},
        "max_jobs": 1,
        # Without it ReFrame looks at the host that it runs on and writes what it saw into the user's home.
        "processor": {"num_cpus": 1},
    }


def _environments(system: System) -> list[dict[str, Any]]:
    """Return an environment for each (fabric, stack): its features say what this stack can do on this fabric."""
    return [
        {
            "name": stack,
            "target_systems": [f"{system.system}:{fabric}"],
            "modules": list(entry.modules),
            "features": environment_features(system, fabric, stack),
        }
        for stack, entry in system.stacks.items()
        for fabric in system.fabrics
    ]
