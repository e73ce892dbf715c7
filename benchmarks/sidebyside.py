"""What the benchmarks share: two sites with the same cells (ours and bare ReFrame's), and code that runs them in turn.

Both sites are a cluster whose jobs are processes of this host: three fabrics, on which a check has five cells
(``MATRIX``), or one fabric of one rail, on which it has one cell (``SINGLE``).
"""

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import yaml

CLONE = Path(__file__).resolve().parents[1]
RECORDED = CLONE / "tests" / "recordings" / "imb2021.11-PingPong-mpich5.0.2-veth.out"

#: A fabric and its number of rails, all with the stack STACK, which can drive two over TCP.
Shape = Mapping[str, int]
MATRIX: Shape = {"hsn": 2, "lan": 2, "eth": 1}
SINGLE: Shape = {"hsn": 1}
STACK = "mpich"
FLOOR_MB_S = 400.0  # the recording's largest message has 439 MB/s
LO_MTU = 65536  # bytes: what Linux gives the loopback, over which the rails seem to run

OUR_CHECKS = """\
import reframe as rfm

from railyard.check import InterconnectCheck
from railyard.parsers import imb


class Recorded(InterconnectCheck):
    tool = "imb"
    benchmark = "PingPong"
    parse = staticmethod(imb.parse)

    def arguments(self, sizes):
        return ["PingPong"]
"""
OUR_CHECK = "\n\n@rfm.simple_test\nclass Check{n}(Recorded):\n    pass\n"

BARE_CHECKS = """\
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, run_after, sanity_function


class Recorded(rfm.RunOnlyRegressionTest):
    rails = parameter(RAILS)
    executable = "PROGRAM"
    executable_opts = ["PingPong"]

    @run_after("init")
    def select(self):
        self.valid_systems = [f"+rails{self.rails}"]
        self.valid_prog_environs = [f"+imb +rails{self.rails}"]

    @sanity_function
    def ended(self):
        return sn.assert_found("All processes entering MPI_Finalize", self.stdout)

    @performance_function("MB/s")
    def peak(self):
        return sn.extractsingle(r"^ +1048576 .* (\\S+)$", self.stdout, 1, float)
"""

OUR_SETTINGS = """\
from railyard.siteconfig import build

site_configuration = build(__file__)
"""


def sites(folder: Path, shape: Shape, checks: int) -> tuple[list[str], list[str], int]:
    """Write both sites with this many check classes; return the `reframe` words of ours and of bare, and the cases."""
    for part in ("ours/systems", "ours/references", "bare"):
        (folder / part).mkdir(parents=True)
    program = folder / "recorded.sh"
    program.write_text(f"#!/bin/sh\ncat {shutil.copy(RECORDED, folder / 'recorded.out')}\n", encoding="utf-8")
    program.chmod(0o755)
    names = range(checks)
    ours, bare = folder / "ours", folder / "bare"
    (ours / "systems" / "bench.yaml").write_text(yaml.safe_dump(_system(shape, program)), encoding="utf-8")
    (ours / "references" / "bench.yaml").write_text(yaml.safe_dump(_references(shape)), encoding="utf-8")
    (ours / "settings.py").write_text(OUR_SETTINGS, encoding="utf-8")
    (ours / "checks.py").write_text(OUR_CHECKS + "".join(OUR_CHECK.format(n=n) for n in names), encoding="utf-8")
    rails = list(range(1, max(shape.values()) + 1))
    text = BARE_CHECKS.replace("RAILS", str(rails)).replace("PROGRAM", str(program))
    (bare / "checks.py").write_text(text + "".join(OUR_CHECK.format(n=n) for n in names), encoding="utf-8")
    (bare / "settings.py").write_text(f"site_configuration = {_bare(shape, bare)!r}\n", encoding="utf-8")
    return _words(ours), _words(bare), checks * sum(shape.values())


def _words(site: Path) -> list[str]:
    reframe = str(Path(sys.executable).with_name("reframe"))
    return [reframe, "-C", str(site / "settings.py"), "-c", str(site / "checks.py"), "--system", "bench"]


def _system(shape: Shape, program: Path) -> dict[str, object]:
    link = {
        "name": "bench-link",
        "data_rate_gbit_s": 100,
        "headers": "tcp",
        "mtu": LO_MTU,
        "limit_from": "1M",  # the recording is of a shaped rail, on which the first bytes of a message pass at once
        "source": "this benchmark",
    }
    return {
        "system": "bench",
        "description": "Processes of this host in place of a cluster",
        "provider": "nodes",
        "scheduler": "local",
        "launcher": "local",
        "nodes": {"names": ["n1", "n2"], "exclusive": False},
        "fabrics": {
            name: {
                "description": "Rails without counters",
                "kind": "tcp",
                "link": dict(link),
                "rails": [{"device": device, "counters": "none"} for device in ("lo", "lo2")[:rails]],
            }
            for name, rails in shape.items()
        },
        "stacks": {STACK: {"prefix": str(program.parent), "benchmarks": {"imb": str(program)}}},
    }


def _references(shape: Shape) -> dict[str, object]:
    return {
        "system": "bench",
        "entries": [
            {
                "id": name,
                "fabric": name,
                "benchmark": "imb/PingPong",
                "metric": "bandwidth",
                "unit": "MB/s",
                "kind": "contract",
                "floor": FLOOR_MB_S,
                "below_link": {"share": 0.01, "reason": "the recording is of a slower network than this link"},
                "sizes": {"from": "1M"},
                "source": {"document": "this benchmark", "date": yaml.safe_load("2026-11-21")},
            }
            for name in shape
        ],
    }


def _bare(shape: Shape, folder: Path) -> dict[str, object]:
    """Return a plain site configuration with the same partitions, environments, features and logs."""
    partition = {"scheduler": "local", "launcher": "local", "max_jobs": 1, "processor": {"num_cpus": 1}}
    return {
        "systems": [
            {
                "name": "bench",
                "hostnames": ["(?!)"],
                "modules_system": "nomod",
                "prefix": str(folder / "out"),
                "partitions": [
                    partition | {"name": name, "environs": [STACK], "features": _rails(most)}
                    for name, most in shape.items()
                ],
            }
        ],
        "environments": [{"name": STACK, "features": ["imb", *_rails(2)]}],
        "general": [{"remote_detect": False, "trap_job_errors": True, "poll_rate_min": 4}],
        "logging": [
            {
                "level": "info",
                "handlers": [{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}],
                "handlers_perflog": [
                    {
                        "type": "filelog",
                        "prefix": "%(check_system)s/%(check_partition)s",
                        "basedir": str(folder / "perflogs"),
                        "level": "info",
                        "format": "%(check_result)s|%(check_display_name)s|%(check_perfvalues)s",
                        "format_perfvars": "%(check_perf_var)s|%(check_perf_value)s|%(check_perf_unit)s|",
                        "append": True,
                    }
                ],
            }
        ],
    }


def _rails(most: int) -> list[str]:
    return [f"rails{n + 1}" for n in range(most)]


def user_seconds(words: Sequence[str], expected: str) -> float:
    """Return the user CPU of a command and its children; exits with its output if ``expected`` is not in it."""
    before = os.times().children_user
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode or expected not in done.stdout:
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}, no {expected!r}:\n{done.stdout}{done.stderr}")
    return os.times().children_user - before


def in_turns(repeats: int, *measured: Callable[[], float]) -> list[list[float]]:
    """Return each one's values, taken in turns, so a change of the machine's speed affects all alike."""
    rounds = [[one() for one in measured] for _ in range(repeats)]
    return [list(values) for values in zip(*rounds, strict=True)]


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Return ``median (lowest to highest)``."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
