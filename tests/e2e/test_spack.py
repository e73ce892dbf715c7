"""`railyard run` with stacks that a (fake) Spack builds: built once, reported plainly, never a pass by omission.

The checks are real. The IMB-MPI1 that the fake installs prints a recorded output. Two processes of this host are the
nodes.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.provision.spack import program
from railyard.provision.spack import sources as target
from railyard.results.record.file import FILE_NAME, read_records
from railyard.results.record.form import Record
from tests.made import spack_site, spack_sources
from tests.made.spack_site import MadeSite

pytestmark = pytest.mark.e2e

CLONE = Path(__file__).parents[2]
RECORDED = CLONE / "tests/recordings/imb2021.11-PingPong-mpich5.0.2-veth.out"
CHECKS = """\
import reframe as rfm

from railyard.check import InterconnectCheck
from railyard.parsers import imb


class Made(InterconnectCheck):
    tool = "imb"
    benchmark = "PingPong"
    parse = staticmethod(imb.parse)

    def arguments(self, sizes):
        return ["PingPong"]


@rfm.simple_test
class First(Made):
    pass


@rfm.simple_test
class Second(Made):
    pass


@rfm.simple_test
class Third(Made):
    pass
"""
COLD = ["--version", "concretize", "install", "find"]


@pytest.fixture
def site(tmp_path: Path) -> MadeSite:
    made = spack_site.make(tmp_path)
    shutil.copy(CLONE / "reframe_settings.py", made.home)
    made.write("checks/made.py", CHECKS)
    made.behave(program=f"#!/bin/sh\ncat {RECORDED}\n")
    return made


def run(site: MadeSite, *options: str) -> "tuple[subprocess.CompletedProcess[str], dict[str, Record]]":
    words = [sys.executable, "-m", "railyard", "run", "--system", "made", *options]
    done = subprocess.run(
        words, cwd=site.home, env=site.environment(COLUMNS="300"), capture_output=True, text=True, timeout=300
    )
    folders = sorted((site.home / ".railyard/runs").glob("*"))
    records = read_records(folders[-1] / FILE_NAME).records if folders else ()
    return done, {record.test.case: record for record in records}


def states(records: dict[str, Record]) -> list[str]:
    return [record.found.state for record in records.values()]


@pytest.mark.full
def test_several_checks_build_once_and_a_second_run_calls_no_spack(site: MadeSite) -> None:
    done, records = run(site)
    assert states(records) == ["report-only"] * 6 or states(records) == ["pass"] * 6, done.stdout + done.stderr
    assert done.returncode == 0
    assert site.commands == ["--version", *COLD, *COLD]
    for record in records.values():
        spack = record.how.environment["spack"]
        assert isinstance(spack, dict)
        assert spack["mpi"] == f"{'openmpi@4.1.4' if record.test.stack == 'openmpi' else 'mpich@5.0.2'} in " + str(
            site.home / "mpi" / record.test.stack
        )
    site.forget_calls()
    (site.bin / "spack").unlink()
    done, again = run(site)
    assert (done.returncode, states(again)) == (0, states(records)), done.stdout + done.stderr
    assert site.calls == []


CONFLICT = {"concretize": "==> Error: No version exists that satisfies these input specs:\n    netpipe@5\n"}


def conflict(site: MadeSite) -> str:
    """Return the sentence of the environment that cannot be solved."""
    place = next(site.request("mpich").place.glob("?" * 16))
    return (
        f"spack -e {place}/mpich concretize: nothing satisfies all that is asked for: No version exists that satisfies "
        "these input specs: netpipe@5; change one of them in spack_envs/ or in the system's overlay (all of it: "
        f"{place}/spack.log)"
    )


def test_where_no_test_could_run_none_is_started(site: MadeSite) -> None:
    site.behave(fail_for={"mpich": CONFLICT})
    done, records = run(site, "-p", "mpich")
    assert (done.returncode, done.stderr) == (2, f"railyard: {conflict(site)}\n")
    assert records == {} and not (site.home / ".railyard/runs").exists()


@pytest.mark.full
def test_a_failed_build_fails_every_test_that_needs_it_and_no_other(site: MadeSite) -> None:
    site.behave(fail_for={"mpich": CONFLICT}, program=f"#!/bin/sh\ncat {RECORDED}\n")
    done, records = run(site)
    assert done.returncode == 1
    assert f"warning: mpich: {conflict(site)}; 3 tests of this run will fail because of it" in done.stdout.splitlines()
    # It was tried once, not once per fabric and test.
    assert len([call for call in site.calls if "concretize" in call["words"]]) == 2
    of = {record.test.stack: record for record in records.values()}
    assert len(records) == 6 and of["openmpi"].found.state in ("pass", "report-only")
    assert of["mpich"].found.verdict.text == f"not run, since what it depends on failed: {conflict(site)}"


@pytest.mark.full
def test_one_command_gets_spack_builds_and_runs_and_the_second_time_does_neither(
    site: MadeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = (site.bin / "spack").read_text(encoding="utf-8").splitlines()[1]
    made = spack_sources.make(tmp_path / "carried", program=words)
    spack_sources.pin(monkeypatch, made, str(tmp_path / "nowhere"))
    (site.bin / "spack").unlink()
    # In this process: only here are the pins those of the synthetic sources.
    for name, text in site.environment(SPACK_PYTHON=sys.executable, RAILYARD_SPACK="0").items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("PATH", f"{site.bin}:/usr/bin:/bin")
    monkeypatch.chdir(site.home)
    command = ["run", "--system", "made", "-p", "openmpi", "-n", "First"]
    assert main([*command, "--spack"]) == 2
    assert capfd.readouterr().err.startswith("railyard: Spack 1.2.0.dev0 cannot be fetched from ")
    assert main([*command, "--spack-from", str(made.folder)]) == 0
    said = capfd.readouterr().out
    assert (
        said.index("spack: getting into ") < said.index("spack: openmpi for made built in ") < said.index("1 test on ")
    )
    assert site.commands == COLD
    site.forget_calls()
    assert main([*command, "--spack"]) == 0
    assert "spack: " not in capfd.readouterr().out
    assert site.calls == []


@pytest.mark.full
def test_built_on_a_compute_node(site: MadeSite) -> None:
    text = (site.home / "systems/made.yaml").read_text(encoding="utf-8")
    site.write("systems/made.yaml", f"{text}spack: {{build_on: compute}}\n")
    done, records = run(site, "-p", "openmpi")
    assert (done.returncode, len(records)) == (0, 3), done.stdout + done.stderr
    assert site.commands == ["--version", *COLD]
    assert list((site.home / ".railyard").rglob("rfm_build.sh")) != []


@pytest.mark.full
def test_a_build_that_fails_on_a_compute_node_says_why(site: MadeSite) -> None:
    text = (site.home / "systems/made.yaml").read_text(encoding="utf-8")
    site.write("systems/made.yaml", f"{text}spack: {{build_on: compute}}\n")
    site.behave(fail=CONFLICT)
    done, records = run(site, "-p", "mpich")
    assert (done.returncode, states(records)) == (2, ["fail"] * 3), done.stdout + done.stderr
    for record in records.values():
        assert record.found.verdict.text == f"not run, since what it depends on failed: {conflict(site)}"


def test_a_spack_that_is_too_old_for_compute_nodes_is_said_before_a_job_is_sent(site: MadeSite) -> None:
    text = (site.home / "systems/made.yaml").read_text(encoding="utf-8")
    site.write("systems/made.yaml", f"{text}spack: {{build_on: compute}}\n")
    site.behave(version="0.23.1")
    done, records = run(site, "-p", "openmpi")
    assert (done.returncode, records) == (2, {})
    assert done.stderr == (
        f"railyard: {site.bin}/spack: found Spack 0.23.1, expected 1.1 or newer (package API v2); type: railyard spack "
        "bootstrap, or put a newer one on PATH\n"
    )


def test_what_changed_after_the_build_fails_before_it_runs(site: MadeSite) -> None:
    assert run(site, "-p", "openmpi")[0].returncode == 0
    imb = next((site.home / ".railyard/spack/opt").glob("intel*/bin/IMB-MPI1"))
    imb.write_text("#!/bin/sh\necho another\n", encoding="utf-8")
    done, _ = run(site, "-p", "openmpi")
    assert done.returncode == 2 and len(list((site.home / ".railyard/runs").iterdir())) == 1
    assert done.stderr.startswith(f"railyard: {imb}: is not the file that was built (")


def test_a_node_that_cannot_run_the_target_fails_before_the_benchmark(site: MadeSite) -> None:
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    beyond = [name for name in ("x86_64_v4", "sapphirerapids", "zen5") if target.why_not(name, cpuinfo)]
    if not beyond or "flags" not in cpuinfo:
        pytest.skip("this machine runs every target that is known here, or is no x86")
    site.edit("systems/spack/made.yaml", "x86_64_v3", beyond[0])
    done, records = run(site, "-p", "openmpi")
    assert (done.returncode, states(records)) == (1, ["fail"] * 3), done.stdout + done.stderr
    assert all(
        record.found.verdict.text.startswith(
            f'the job exited 66, expected 0, "railyard: error: the benchmarks are built for {beyond[0]}, and the '
        )
        for record in records.values()
    ), [record.found.verdict.text for record in records.values()]


@pytest.mark.full
def test_another_mpi_in_the_jobs_own_environment_is_seen(site: MadeSite) -> None:
    assert run(site, "-p", "openmpi")[0].returncode == 0
    imb = next((site.home / ".railyard/spack/opt").glob("intel*/bin/IMB-MPI1"))
    said = Path(f"{imb}.ldd")
    said.write_text(said.read_text(encoding="utf-8").replace(f"{site.home}/mpi/openmpi", "/usr"), encoding="utf-8")
    done, records = run(site, "-p", "openmpi")
    assert (done.returncode, states(records)) == (1, ["fail"] * 3)
    assert {record.found.verdict.text for record in records.values()} == {
        f"imb/PingPong is linked to /usr/lib/libmpi.so.40, expected libmpi.so.40 of {site.home}/mpi/openmpi"
    }


@pytest.mark.skipif(program.program(CLONE) is None, reason="there is no Spack: nothing is asked of the real one")
def test_the_real_spack_is_new_enough() -> None:
    from railyard.provision.spack import calls

    assert calls.find(CLONE, print).version()


@pytest.fixture
def own_scopes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give Spack a user's and a host's configuration that name themselves."""
    for variable in ("SPACK_USER_CONFIG_PATH", "SPACK_SYSTEM_CONFIG_PATH"):
        folder = tmp_path / variable
        folder.mkdir()
        (folder / "packages.yaml").write_text(f"packages: {{{variable.lower()}: {{buildable: false}}}}\n")
        monkeypatch.setenv(variable, str(folder))


@pytest.mark.usefixtures("own_scopes")
@pytest.mark.skipif(program.program(CLONE) is None, reason="there is no Spack: nothing is asked of the real one")
def test_the_real_spack_reads_neither_the_users_nor_the_hosts_configuration() -> None:
    from railyard.provision.spack import calls

    assert "_config_path" not in calls.find(CLONE, print).output(["config", "get", "packages"])


@pytest.mark.usefixtures("own_scopes")
@pytest.mark.skipif(program.program(CLONE) is None, reason="there is no Spack: nothing is asked of the real one")
def test_the_real_spack_reads_the_scope_that_a_system_names_and_no_other() -> None:
    from railyard.provision.spack import calls

    found = calls.find(CLONE, print, scopes=("user",)).output(["config", "get", "packages"])
    assert "spack_user_config_path" in found and "spack_system_config_path" not in found


RECIPE = """\
from spack.package import *


class Tiny{name}(Package):
    has_code = False
    version("1.0")
    {more}

    def install(self, spec, prefix):
        mkdirp(prefix.lib)
        touch(join_path(prefix.lib, "installed"))
"""


@pytest.mark.full
@pytest.mark.skipif(program.program(CLONE) is None, reason="there is no Spack: nothing is asked of the real one")
def test_the_real_spack_takes_what_an_upstream_has_and_it_is_told_from_what_was_built(
    site: MadeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two packages of two lines: one is installed by another Spack environment, the other by ours."""
    from railyard.provision.spack import build, calls, locks
    from railyard.provision.spack.sources import Choices, gather, write

    (site.bin / "spack").unlink()
    monkeypatch.setenv("SPACK_USER_CACHE_PATH", str(tmp_path / "cache"))
    repo = tmp_path / "repo/spack_repo/tiny"
    for name, more in (("Above", 'depends_on("tiny-below")'), ("Below", 'license("MIT")')):
        recipe = repo / f"packages/tiny_{name.lower()}/package.py"
        recipe.parent.mkdir(parents=True)
        recipe.write_text(RECIPE.format(name=name, more=more), encoding="utf-8")
    (repo / "repo.yaml").write_text("repo: {namespace: tiny, api: v2.0}\n", encoding="utf-8")
    (tmp_path / "theirs.yaml").write_text(f"repos: {{tiny: {repo}}}\n", encoding="utf-8")
    common = f"include: ['{tmp_path}/theirs.yaml']\n"
    for name, spec, overlay in (
        ("below", "tiny-below", common),
        ("above", "tiny-above", f"{common}upstreams: {{site: {{install_tree: {tmp_path}/below}}}}\n"),
    ):
        site.write(f"spack_envs/{name}/spack.yaml", f"spack: {{specs: [{spec}], view: false}}\n")
        site.write("systems/spack/made.yaml", overlay)
        sources = gather(site.home, "made", "openmpi", name, Choices(processor="x86_64_v2"))
        place = write(sources, tmp_path / f"environment-{name}", tmp_path / name)
        spack = calls.find(CLONE, print, scopes=sources.scopes)
        for command in ("concretize", "install"):
            spack.run(["-e", str(place), command], tmp_path / "log")
        lock = locks.parse((place / "spack.lock").read_text(encoding="utf-8"), "spack.lock")
        listed = spack.output(["-e", str(place), "find", "--format", build.FIND_FORMAT])
        packages = build.installed_packages(lock, listed, sources.upstreams, str(tmp_path / name))
    assert {each.name: each.origin for each in packages} == {
        "tiny-above": "built here", "tiny-below": "of the upstream site",
    }  # fmt: skip
    assert {spec.target for spec in lock.specs.values()} == {"x86_64_v2"}
