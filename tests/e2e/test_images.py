"""The images of packaging/: built on a Debian that debootstrap makes, without a registry, and used as a page says."""

import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clone.test_release import RELEASE
from tests.e2e.conftest import CLONE

pytestmark = [pytest.mark.e2e, pytest.mark.full]

#: For a machine whose podman needs more words, such as: podman --runtime runc
PODMAN = shlex.split(os.environ.get("RAILYARD_PODMAN", "podman"))
#: A folder with the root file system of a Debian 12: else debootstrap makes one, in some minutes.
BASE_VARIABLE = "RAILYARD_IMAGE_BASE"
RELEASE_OF_DEBIAN = "bookworm"
PYTHON_OF_DEBIAN = (3, 11)
#: What an image must not have: what compiles, and what installs.
ABSENT = "gcc cc c++ gfortran make mpirun pip pip3"


def run_command(*words: str | Path, folder: Path, skip: str = "") -> str:
    """Return what a command prints; if it fails, the test is skipped where ``skip`` says what was to be fetched."""
    ended = subprocess.run([*map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    said = ended.stdout + ended.stderr
    if ended.returncode != 0 and skip:
        pytest.skip(f"{skip}: {said.strip().splitlines()[-1]}")
    assert ended.returncode == 0, said
    return said


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root file system of a Debian."""
    if os.geteuid() != 0:
        pytest.skip("only root makes the base of an image")
    if BASE_VARIABLE in os.environ:
        return Path(os.environ[BASE_VARIABLE])
    if shutil.which("debootstrap") is None:
        pytest.skip("no debootstrap on PATH")
    folder = tmp_path_factory.mktemp("base")
    words = ("debootstrap", "--variant=minbase", RELEASE_OF_DEBIAN, folder / "root")
    run_command(*words, folder=folder, skip="debootstrap could not fetch Debian")
    return folder / "root"


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder as a clone is after `make dist`, with the wheels of the lock in dist/."""
    if sys.version_info[:2] != PYTHON_OF_DEBIAN:
        pytest.skip("wheels are fetched by this Python, which is not that of Debian 12")
    folder = tmp_path_factory.mktemp("context")
    (folder / "requirements").mkdir()
    shutil.copy(CLONE / "requirements/runtime.txt", folder / "requirements")
    shutil.copytree(CLONE / "packaging", folder / "packaging")
    run_command(
        Path(sys.executable).with_name("hatchling"), "build", "-t", "wheel", "-d", folder / "dist", folder=CLONE
    )
    hashed = ("--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement", "requirements/runtime.txt")
    pip = (sys.executable, "-m", "pip", "download", "--quiet", *hashed, "--dest", "dist")
    run_command(*pip, folder=folder, skip="pip could not fetch the packages of the lock")
    return folder


def program(folder: Path, *words: str | Path) -> Path:
    """Return a program that starts railyard in an image, in the folder where it is called."""
    path = folder / "railyard-in-image"
    path.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n'.replace("'$PWD'", '"$PWD"'), "utf-8")
    path.chmod(0o755)
    return path


def check_use(railyard: Path, folder: Path) -> None:
    """Use an image as a new user does, then detect this node and let the gate look at it."""
    said = list(RELEASE.use([str(railyard)], folder))
    assert said[1:] == [
        "pass: 1 benchmark",
        "fail: 1 benchmark",
        "2 tests: 2 pass",
        "init, detect, lint and report too",
    ]
    run_command(railyard, "detect", "--name", "here", "--write", folder=folder / "site")
    words = (railyard, "gate", "--system", "here", "--no-drain")
    ended = subprocess.run([*map(str, words)], cwd=folder / "site", capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 1, 3), ended.stderr  # fit, unfit or undecided, but not a set-up that cannot work
    assert "links" in ended.stdout or "undecided" in ended.stdout


@pytest.fixture
def podman() -> Iterator[list[str]]:
    """Yield the words of a podman with a store of its own."""
    if shutil.which(PODMAN[0]) is None:
        pytest.skip(f"no {PODMAN[0]} on PATH")
    folder = tempfile.mkdtemp(prefix="ry")  # podman refuses a runroot of more than 50 characters
    yield [*PODMAN, "--root", f"{folder}/store", "--runroot", f"{folder}/run", "--storage-driver", "vfs"]
    shutil.rmtree(folder, ignore_errors=True)


def test_the_containerfile_gives_an_image_that_judges_reports_detects_and_gates(
    base: Path, context: Path, podman: list[str], tmp_path: Path
) -> None:
    tar = f"tar -C {shlex.quote(str(base))} -c . | {shlex.join(podman)} import - railyard-base"
    run_command("sh", "-c", tar, folder=tmp_path)
    given = ("--build-arg", "BASE=localhost/railyard-base", "--build-arg", "PIP_NO_INDEX=1")
    isolated = ("--layers=false", "--isolation", "chroot", "--network", "host")
    build = (*podman, "build", *isolated, *given, "-f", "packaging/Containerfile", "-t", "railyard", ".")
    run_command(*build, folder=context)
    # podman's own limits may be above those of this process, which it could not set.
    limits = [
        word
        for name, number in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC))
        for word in ("--ulimit", "{0}={1}:{1}".format(name, min(resource.getrlimit(number)[0], 4096)))
    ]
    use = tmp_path / "use"
    use.mkdir()
    run = (*podman, "run", "--rm", "--network", "host", *limits)
    started = subprocess.run([*run, "--entrypoint", "true", "railyard"], capture_output=True, text=True, check=False)
    if "OCI runtime error" in started.stderr and "cgroup" in started.stderr:
        pytest.skip(f"{started.stderr.strip()}; RAILYARD_PODMAN='podman --runtime runc' may help")
    absent = f"for each in {ABSENT}; do command -v $each; done; true"
    assert run_command(*run, "--entrypoint", "sh", "railyard", "-c", absent, folder=use) == ""
    check_use(program(tmp_path, *run, "-v", f"{use}:{use}", "-w", "$PWD", "railyard"), use)


def test_the_apptainer_definition_gives_an_image_that_does_the_same(base: Path, context: Path, tmp_path: Path) -> None:
    if shutil.which("apptainer") is None:
        pytest.skip("no apptainer on PATH")
    given = {"BOOTSTRAP": "localimage", "BASE": str(base), "PIP_NO_INDEX": "1"}
    arguments = [word for name, value in given.items() for word in ("--build-arg", f"{name}={value}")]
    image = tmp_path / "railyard.sif"
    run_command("apptainer", "build", *arguments, image, "packaging/railyard.def", folder=context)
    use = tmp_path / "use"
    use.mkdir()
    absent = f"for each in {ABSENT}; do command -v $each; done; true"
    assert run_command("apptainer", "--silent", "exec", image, "sh", "-c", absent, folder=use) == ""
    check_use(program(tmp_path, "apptainer", "--silent", "run", "--bind", use, "--pwd", "$PWD", image), use)
