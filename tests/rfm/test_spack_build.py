"""What the build fixture gives a job that builds on a compute node, and what it reads from a failed one."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.provision.spack.build import ensure
from railyard.provision.spack.request import Request, ready
from railyard.rfm.spack_build import build_command, why_unbuilt
from tests.made import spack_site

REQUEST = Request(Path("/site of ours"), "made", "mpich", "mpich", Path("/site of ours/.railyard/spack"), ("imb",))


def test_the_command_builds_this_stack_of_this_site_with_this_python() -> None:
    assert build_command(REQUEST) == (
        f"RAILYARD_HOME='/site of ours' RAILYARD_SPACK=1 {shlex.quote(sys.executable)} -m railyard spack install "
        "--system made --stack mpich || :"
    )


SAID = [
    (
        "railyard: spack: found none on PATH, expected Spack 1.1 or newer\n",
        "spack: found none on PATH, expected Spack 1.1 or newer",
    ),
    (
        "a module was loaded\nrailyard: the build of hpl@2.3 failed, which ends with:\n    make: *** [all] Error 2\n",
        "the build of hpl@2.3 failed, which ends with:\n    make: *** [all] Error 2",
    ),
    ("slurmstepd: error: Exceeded job memory limit\n", None),
    ("", None),
    (None, None),
]


@pytest.mark.parametrize(("text", "sentence"), SAID)
def test_why_a_job_left_no_build(tmp_path: Path, text: str | None, sentence: str | None) -> None:
    errors = tmp_path / "rfm_build.err"
    if text is not None:
        errors.write_text(text, encoding="utf-8")
    unknown = f"mpich on made: the build ended and left no install marker; see {errors}"
    assert why_unbuilt(REQUEST, errors) == (sentence or unknown)


def test_the_command_really_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    site = spack_site.make(tmp_path)
    done = subprocess.run(
        ["sh", "-c", build_command(site.request("mpich", ("imb",)))],
        env=site.environment(),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    monkeypatch.setenv("PATH", "")  # to see that needs neither Spack nor anything else
    found = ready(site.request("mpich", ("imb",)))
    assert found is not None and ensure(site.request("mpich", ("imb",)), print) == found
