"""An environment is built once, with a fixed number of calls, and never used half-built or changed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.spack.build import ensure
from railyard.provision.spack.calls import SpackError
from railyard.provision.spack.marker import FILE, Marker
from railyard.provision.spack.request import Request, ready
from tests.made.spack_site import MadeSite, timeless
from tests.patience import PATIENCE_S, wait_for

COLD = ["--version", "concretize", "install", "find"]


def built_marker(request: Request) -> Marker:
    return ensure(request, lambda line: None)


def test_cold_takes_four_calls_and_says_what_came_out(site: MadeSite) -> None:
    said: list[str] = []
    found = ensure(site.request(), said.append)
    assert site.commands == COLD
    assert (found.spack_calls, found.spack, found.target) == (4, "1.2.0.dev0 (made)", "x86_64_v3")
    assert (found.mpi, found.mpi_prefix) == ("openmpi@4.1.4", f"{site.home}/mpi/openmpi")
    opt = site.home / ".railyard/spack/opt"
    packages = {package.name: package for package in found.packages}
    assert sorted(packages) == ["gcc", "intel-mpi-benchmarks", "openmpi", "osu-micro-benchmarks"]
    imb = packages["intel-mpi-benchmarks"]
    assert (imb.version, imb.compiler, imb.root, imb.external) == ("2021.7", "gcc@12.2.0", True, False)
    assert imb.prefix == f"{opt}/intel-mpi-benchmarks-2021.7-{imb.hash}"
    assert packages["openmpi"].external
    assert found.tools == {
        "imb": f"{imb.prefix}/bin/IMB-MPI1",
        "osu": f"{packages['osu-micro-benchmarks'].prefix}/libexec/osu-micro-benchmarks/mpi",
    }
    assert len(found.executables) == 14
    assert found.executables[-1].linked == {"libmpi.so.40": f"{site.home}/mpi/openmpi/lib/libmpi.so.40"}
    assert [(library.path, library.real.path, library.real.size) for library in found.libraries] == [
        (f"{site.home}/mpi/openmpi/lib/libmpi.so.40", f"{site.home}/mpi/openmpi/lib/libmpi.so.40.1.2", 9)
    ]
    folder = site.request().place / found.key
    assert timeless([line for line in said if line.startswith("spack: ")]) == [
        f"spack: building openmpi for made in {folder}",
        "spack:   solving what it consists of, about 20 s on two cores",
        "spack:   2 packages to build, about 2 min on two cores",
        "spack:   1 of 2 built, after 0 s: osu-micro-benchmarks@7.4",
        "spack:   2 of 2 built, after 0 s: intel-mpi-benchmarks@2021.7",
        "spack: openmpi for made built in 0 s",
    ]


def test_what_a_build_drops_where_it_is_started_lies_beside_its_log(
    site: MadeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    # As a person may have it: .railyard/spack-itself/spack/bin.
    monkeypatch.setenv("PATH", f"{os.path.relpath(site.bin)}:{os.environ['PATH']}")
    found = built_marker(site.request())
    assert list(here.iterdir()) == []
    assert (site.request().place / found.key / "configure.dropped").exists()


def test_a_second_time_takes_no_call_and_no_spack(site: MadeSite, without_spack_later: "WithoutLater") -> None:
    first = built_marker(site.request())
    site.forget_calls()
    without_spack_later()
    assert ready(site.request()) == built_marker(site.request()) == first
    assert site.calls == []


class WithoutLater:
    """Takes Spack off PATH when it is called."""

    def __init__(self, site: MadeSite) -> None:
        self.site = site

    def __call__(self) -> None:
        (self.site.bin / "spack").unlink()


@pytest.fixture
def without_spack_later(site: MadeSite) -> WithoutLater:
    return WithoutLater(site)


def test_each_stack_takes_four_calls_of_its_own(site: MadeSite) -> None:
    built_marker(site.request())
    built_marker(site.request("mpich", ("imb",)))
    assert site.commands == COLD * 2


def test_another_tool_of_the_same_environment_is_proven_anew(site: MadeSite) -> None:
    built_marker(site.request(tools=("imb",)))
    assert ready(site.request()) is None
    assert sorted(built_marker(site.request()).tools) == ["imb", "osu"]


def test_an_active_environment_of_the_users_shell_does_not_win(site: MadeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACK_ENV", "/somewhere/else")
    built_marker(site.request())
    assert [call["SPACK_ENV"] for call in site.calls] == [None] * 4


def test_neither_the_users_nor_the_hosts_configuration_takes_part(site: MadeSite) -> None:
    built_marker(site.request())
    assert [call["SPACK_DISABLE_LOCAL_CONFIG"] for call in site.calls] == ["1"] * 4


def test_no_spack_on_path(site: MadeSite, without_spack: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(site.bin))
    with pytest.raises(SetupError) as error:
        built_marker(site.request())
    assert str(error.value) == (
        f"spack: found none in {site.home}/.railyard/spack-itself and none on PATH, expected Spack 1.1 or newer; type: "
        "railyard spack bootstrap"
    )


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        (
            "0.23.1 (abc)",
            "found Spack 0.23.1, expected 1.1 or newer (package API v2); type: railyard spack bootstrap, or put a "
            "newer one on PATH",
        ),
        ("1.0.4", "found Spack 1.0.4, expected 1.1 or newer (package API v2); type: railyard spack bootstrap, or put a "
         "newer one on PATH"),
    ],
)  # fmt: skip
def test_too_old(site: MadeSite, version: str, sentence: str) -> None:
    site.behave(version=version)
    with pytest.raises(SpackError) as error:
        built_marker(site.request())
    assert str(error.value) == f"{site.bin}/spack: {sentence}"


def test_a_spack_that_prints_no_version(site: MadeSite) -> None:
    site.behave(version="hello")
    with pytest.raises(SpackError) as error:
        built_marker(site.request())
    assert str(error.value) == f"{site.bin}/spack --version: found 'hello', expected a version number"


def test_a_spack_that_cannot_be_started(site: MadeSite) -> None:
    (site.bin / "spack").write_text("#!/no/such/interpreter\n", encoding="utf-8")
    with pytest.raises(SetupError) as error:
        built_marker(site.request())
    assert str(error.value) == (
        f"{site.bin}/spack: no such file or directory, expected a Spack program; type: railyard spack bootstrap"
    )


def test_a_build_that_fails_leaves_nothing_to_use(site: MadeSite) -> None:
    site.behave(fail={"install": "==> Error: OSError: [Errno 28] No space left on device\n"})
    with pytest.raises(SpackError) as error:
        built_marker(site.request())
    place = site.request().place / site.request().sources().key()
    assert str(error.value) == (
        f"spack -e {place}/openmpi install --fail-fast: no space left on device: OSError: [Errno 28] No space left on "
        "device; make room in the install tree, Spack's stage (config:build_stage) and cache, and build again: "
        f"finished packages are kept (all of it: {place}/spack.log)"
    )
    assert ready(site.request()) is None
    site.behave()
    site.forget_calls()
    built_marker(site.request())
    assert site.commands == COLD


def test_again_builds_over_what_spack_takes_for_installed(site: MadeSite) -> None:
    found = built_marker(site.request())
    Path(found.tools["imb"]).unlink()
    with pytest.raises(SetupError) as error:
        built_marker(site.request())
    assert str(error.value) == (
        f"{found.tools['imb']}: no such file or directory; it was there after the build; the environment of openmpi on "
        "made is not what was built: type railyard spack install --system made --stack openmpi --again"
    )
    ensure(site.request(), lambda line: None, again=True)
    assert site.calls[-2]["words"][3:] == ["--fail-fast", "--overwrite", "--yes-to-all"]
    assert ready(site.request()) is not None


INSTALL = (sys.executable, "-m", "railyard", "spack", "install", "--system", "made", "--stack", "openmpi")


def start(site: MadeSite) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        INSTALL, env=site.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def test_of_two_at_once_one_builds_and_the_other_waits(site: MadeSite) -> None:
    site.behave(held=["install"])
    first = start(site)
    wait_for(lambda: "install" in site.commands, "spack install")
    second = start(site)
    assert second.stdout is not None
    waiting = second.stdout.readline()
    site.let_go()
    said = [process.communicate(timeout=PATIENCE_S)[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), said
    assert site.commands == COLD
    assert waiting == f"spack: another process builds in {site.request().place}; waiting for it\n"


def test_a_build_that_was_killed_is_never_taken_for_finished(site: MadeSite) -> None:
    site.behave(held=["install"])
    killed = start(site)
    wait_for(lambda: "install" in site.commands, "spack install")
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert ready(site.request()) is None
    assert not list(site.request().place.glob(f"*/{FILE}"))
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        site.let_go()

    ensure(site.request(), say)
    # The Spack of the killed one lives on, and what it writes to must not be taken away from under it.
    assert said[0] == f"spack: another process builds in {site.request().place}; waiting for it"
    assert site.commands == [*COLD[:3], *COLD]
    assert ready(site.request()) is not None


def test_a_place_that_cannot_be_written_to(site: MadeSite) -> None:
    site.write(".railyard/spack", "a file in the way")
    with pytest.raises(SetupError) as error:
        built_marker(site.request())
    assert str(error.value) == (
        f"{site.home}/.railyard/spack/made/openmpi: not a directory, expected to build there; choose another folder in "
        "the system's file (spack: root)"
    )
