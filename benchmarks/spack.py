"""What a test built with Spack costs besides its benchmark: one environment per stack (Railyard) or one per test.

    PATH=/where/spack/is/bin:$PATH .venv/bin/python benchmarks/spack.py [--system virtual] [--stack openmpi]

It needs a Spack on PATH and the stack's environment (if missing, it is built first, which is not measured). Both sides
run ReFrame tests of OSU micro-benchmarks from the same install tree. Each test prints a recorded output instead of
measuring, so only ReFrame, Railyard and Spack cost time. Ours runs 24 tests, warm, without any Spack on PATH. The other
side uses ReFrame's own automatic Spack environment, one per test (``--theirs`` of them, since each takes seconds).
Figures are user and system CPU of `reframe` and all its children, per test. The cold part prints how often Spack is
called for one (system, stack), for any number of tests, and what Railyard itself adds to those calls.

Goals: at most 0.3 CPU-seconds per test, 20 times less than one environment per test, at most 2 CPU-seconds added cold.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from sidebyside import CLONE, spread

from railyard.provision.spack import build, calls
from railyard.provision.spack.request import Request, requests
from railyard.provision.spack.sources import variables

OSU = "# OSU MPI Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n" + "".join(
    f"{2**n:<10}{2**n / 100:20.2f}\n" for n in range(23)
)
OUR_CHECKS = """\
import reframe as rfm

from railyard.check import InterconnectCheck
from railyard.benchmarks.moved_bytes import Repetitions
from railyard.parsers import osu


class Recorded(InterconnectCheck):
    tool = "osu"
    benchmark = "osu_bw"
    program = "osu_bw"
    fixed_repetitions = Repetitions(1, 0)
    parse = staticmethod(osu.parse)

    def arguments(self, sizes):
        return []

    def _program(self, program=""):
        super()._program(program)  # found and compared with the marker, as for a measurement
        return "RECORDED"
"""
BARE_CHECKS = """\
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function


class Recorded(rfm.RegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    build_system = "Spack"
    executable = "RECORDED"

    @run_before("compile")
    def what(self):
        self.build_system.specs = ["osu-micro-benchmarks@7.4 ^MPI"]
        self.build_system.install_tree = "TREE"

    @sanity_function
    def ended(self):
        return sn.assert_found("4194304", self.stdout)
"""
CHECK = "\n\n@rfm.simple_test\nclass Check{n}(Recorded):\n    pass\n"


def main() -> None:
    """Print both sides' CPU per test, their ratio, and the calls of Spack in a cold build."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--system", default="virtual")
    reader.add_argument("--stack", default="openmpi")
    reader.add_argument("--tests", type=int, default=24)
    reader.add_argument("--theirs", type=int, default=3)
    reader.add_argument("--repeats", type=int, default=3)
    asked = reader.parse_args()
    request = requests(CLONE, asked.system, (asked.stack,))[0]
    found = build.ensure(request, print)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recorded = folder / "recorded.sh"
        recorded.write_text(f"#!/bin/sh\ncat <<'E'\n{OSU}E\n", encoding="utf-8")
        recorded.chmod(0o755)
        ours = _ours(folder / "ours", request, asked.tests, recorded)
        bare = _bare(folder / "bare", request, asked.theirs, recorded)
        mine = [_cpu(ours, asked.tests, without_spack=True) / asked.tests for _ in range(asked.repeats)]
        theirs = [_cpu(bare, asked.theirs, without_spack=False) / asked.theirs]
        cold = _cold(request, folder / "cold")
    print(f"CPU-seconds a test, {asked.stack} on {asked.system}")
    print(f"railyard, warm, {asked.tests} tests, no spack on PATH   {spread(mine)}")
    print(f"an environment a test, {asked.theirs} tests             {spread(theirs)}")
    print(f"ratio                                         {theirs[0] / sorted(mine)[len(mine) // 2]:.0f}")
    print(f"calls of Spack, cold, one (system, stack)     {found.spack_calls}")
    print(f"added to Spack's own calls, installed tree    {cold:.2f} CPU-seconds")


def _ours(site: Path, request: Request, tests: int, recorded: Path) -> list[str]:
    """Write a site with one fabric of this host that uses the same build; return the words of `reframe`."""
    (site / "systems" / "spack").mkdir(parents=True)
    (site / "references").mkdir()
    shutil.copytree(CLONE / "spack_envs", site / "spack_envs")
    overlay = (CLONE / "systems" / "spack" / f"{request.system}.yaml").read_text(encoding="utf-8")
    (site / "systems" / "spack" / "bench.yaml").write_text(overlay.replace("{home}", str(CLONE)), encoding="utf-8")
    link = {"name": "bench-link", "data_rate_gbit_s": 1000, "headers": "tcp", "mtu": 9000, "source": "this benchmark"}
    system = {
        "system": "bench",
        "description": "Processes of this host in place of a cluster",
        "scheduler": "local",
        "launcher": "local",
        "nodes": {"names": ["n1", "n2"], "exclusive": False},
        "report_only": "a benchmark of Railyard itself",
        "fabrics": {
            "hsn": {
                "description": "One rail without counters",
                "kind": "tcp",
                "link": link,
                "rails": [{"device": "lo", "counters": "none"}],
            }
        },
        "stacks": {request.stack: {"spack": {"benchmarks": ["osu"], "without": list(request.without)}}},
        "spack": {"root": str(request.root)},
    }
    (site / "systems" / "bench.yaml").write_text(yaml.safe_dump(system), encoding="utf-8")
    (site / "settings.py").write_text(
        "from railyard.siteconfig import build\n\nsite_configuration = build(__file__)\n", encoding="utf-8"
    )
    checks = OUR_CHECKS.replace("RECORDED", str(recorded)) + "".join(CHECK.format(n=n) for n in range(tests))
    (site / "checks.py").write_text(checks, encoding="utf-8")
    # The environment with this site's name is built (from what is already installed) before anything is measured.
    install = [sys.executable, "-m", "railyard", "spack", "install", "--system", "bench"]
    subprocess.run(install, check=True, env={**os.environ, "RAILYARD_HOME": str(site)}, stdout=subprocess.DEVNULL)
    return _words(site)


def _bare(site: Path, request: Request, tests: int, recorded: Path) -> list[str]:
    """Write bare ReFrame's site: the automatic environment of its own Spack build system, on the same install tree."""
    site.mkdir()
    sources = request.sources()
    packages = {**sources.overlay_data.get("packages", {})}
    (site / "scope").mkdir()
    (site / "scope" / "packages.yaml").write_text(yaml.safe_dump({"packages": packages}), encoding="utf-8")
    (site / "scope" / "concretizer.yaml").write_text(
        yaml.safe_dump({"concretizer": {"static_analysis": True}}), encoding="utf-8"
    )
    partition = {
        "name": "p",
        "scheduler": "local",
        "launcher": "local",
        "environs": ["e"],
        "processor": {"num_cpus": 1},
    }
    configuration = {
        "systems": [{"name": "bench", "hostnames": ["."], "modules_system": "nomod", "prefix": str(site / "out"),
                     "partitions": [partition]}],
        "environments": [{"name": "e"}],
        "general": [{"remote_detect": False}],
        "logging": [{"level": "info", "handlers": [
            {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}]}],
    }  # fmt: skip
    (site / "settings.py").write_text(f"site_configuration = {configuration!r}\n", encoding="utf-8")
    checks = BARE_CHECKS.replace("RECORDED", str(recorded)).replace("TREE", str(request.root / "opt"))
    checks = checks.replace("^MPI", f"^{request.stack}") + "".join(CHECK.format(n=n) for n in range(tests))
    (site / "checks.py").write_text(checks, encoding="utf-8")
    os.environ["SPACK_SYSTEM_CONFIG_PATH"] = str(site / "scope")
    return _words(site)


def _words(site: Path) -> list[str]:
    reframe = str(Path(sys.executable).with_name("reframe"))
    return [reframe, "-C", str(site / "settings.py"), "-c", str(site / "checks.py"), "--system", "bench", "-r",
            "--exec-policy=serial"]  # fmt: skip


def _cpu(words: list[str], tests: int, *, without_spack: bool) -> float:
    env = dict(os.environ)
    if without_spack:
        places = [place for place in env["PATH"].split(os.pathsep) if not (Path(place) / "spack").exists()]
        env["PATH"] = os.pathsep.join(places)
    before = os.times()
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    after = os.times()
    if done.returncode or "FAILED" in done.stdout:
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}, expected {tests} tests to pass:\n{done.stdout}")
    return after.children_user + after.children_system - before.children_user - before.children_system


def _cold(request: Request, root: Path) -> float:
    """Return Railyard's own CPU in a build from nothing: this process without its children, which are Spack's."""
    sources = request.sources()
    spack = calls.find(request.home, lambda line: None, environment=variables(sources))
    spack.version()
    fresh = Request(request.home, request.system, request.stack, request.environment, root, request.tools,
                          request.with_, request.without)  # fmt: skip
    (root / "opt").parent.mkdir(parents=True)
    (root / "opt").symlink_to(request.root / "opt")
    before = os.times()
    build.ensure(fresh, lambda line: None)
    after = os.times()
    return after.user + after.system - before.user - before.system


if __name__ == "__main__":
    main()
