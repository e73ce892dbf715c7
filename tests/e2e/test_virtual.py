"""`railyard run` and plain `reframe` on the virtual cluster: the same verdicts, one run at a time, and nothing left."""

import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable

import pytest

from railyard.provision.testbed.boot import outermost_processes
from railyard.provision.testbed.lock import measurement_lock
from railyard.results.record.file import FILE_NAME
from railyard.site.matrix import DEFAULT
from railyard.site.reframe_versions import choose, release_here
from tests.e2e.conftest import CLONE, RAILYARD, VirtualSite, by_hand, outcomes, suspects, verdict_summary
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.e2e

full = pytest.mark.full
STREAM = ("-p", "mpich", "-n", "ImbUniband")
NOBODY = 65534


def processes_of(site: VirtualSite) -> list[str]:
    """Return the command lines that name the site's folder: jobs, launchers, namespaces, `reframe` itself."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(site.folder) in line]


def nothing_is_left(site: VirtualSite) -> bool:
    return not site.bed().is_up() and not outermost_processes(site.bed().folder) and not processes_of(site)


# --- ReFrame by hand


@full
def test_reframe_by_hand_reaches_the_same_verdicts(site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn2", "hsn1", "unplugged")
        plain = site.call(*by_hand("--system", "virtual", *STREAM))
        front = site.run("--system", "virtual", *STREAM)
        assert bed.is_up()
    assert (plain.code, front.code) == (1, 1)
    assert outcomes(plain.records) == outcomes(front.records)
    assert outcomes(front.records) == {
        "ImbUniband %rails=1 @virtual:hsn+mpich": ("pass", None, None),
        "ImbUniband %rails=2 @virtual:hsn+mpich": ("fail", 1, "fabric"),
        "ImbUniband %rails=1 @virtual:eth+mpich": ("pass", None, None),
    }
    assert [suspects(record) for record in plain.records] == [suspects(record) for record in front.records]
    # ReFrame's own failure info has the sentence, which is its own headline, and what to look at.
    assert (
        "Reason: sanity error: rail hsn1 of vn2 has no carrier: the cable is unplugged or the other end is down; "
        "look at cable, port and driver of hsn1 of vn2"
    ) in plain.full_text
    assert (
        "Ran 3/3 test case(s) from 2 check(s) (1 failure(s), 0 expected failure(s), 0 skipped, 0 aborted)" in plain.out
    )
    assert "3 tests: 2 pass, 1 fail, 0 disturbed, 0 report-only, 0 expected failure, 0 not tested" in front.lines
    assert "the virtual cluster is already up: it is used as it is and stays up" in front.lines


# --- a host without a virtual cluster


def test_two_ranks_on_one_host_are_a_sound_run(site: VirtualSite) -> None:
    ran = site.run("--system", "local", "-p", "mpich", "-n", "ImbPingPong(%|$)|ImbBiband")
    assert [(record.found.state, record.found.verdict.rule) for record in ran.records] == [("not-tested", None)] * 2
    assert "the run is sound" in ran.out


# --- each stack


def test_a_healthy_cell_of_each_stack_passes_over_both_rails(site: VirtualSite) -> None:
    cells = {"ImbUniband": ("mpich", "intelmpi"), "NetpipeStream": ("openmpi",), "TcpStream": ("tcp",)}
    names = "(ImbUniband|NetpipeStream)%rails=2|TcpStream%rails=2%streams=1"
    ran = site.run(
        "--system",
        "virtual:hsn",
        "-p",
        "mpich|openmpi|intelmpi|tcp",
        "-n",
        names,
        *choose(release_here(), "policy", DEFAULT),
    )
    assert (ran.code, ran.err) == (0, "")
    assert {(record.test.check, record.test.stack) for record in ran.records} == {
        (check, stack) for check, stacks in cells.items() for stack in stacks
    }
    assert {verdict_summary(record) for record in ran.records} == {("pass", None, None)}
    # Two rails give about twice the stream of one, 14.46 MB/s; a shaper's burst lets slightly more through.
    (peak,) = (
        figure.value
        for record in ran.records
        for figure in record.found.figures
        if (record.test.stack, figure.name) == ("mpich", "peak")
    )
    assert 1.8 < peak / 14.46 < 2.1
    assert ran.lines[0] == (
        "4 tests on virtual: Four network namespaces on this host, two shaped rails and a management network"
    )
    assert ran.lines[1].startswith("Spack can build more benchmarks for openmpi and mpich: railyard run --spack")
    assert ran.lines[2] == "virtual cluster up"
    assert nothing_is_left(site)


# --- interrupted, killed, and two at once


def has_begun_the_second(site: VirtualSite) -> bool:
    """Return whether there is a record, and a job that is younger."""
    records = [file.stat().st_mtime for file in site.folder.glob(f".railyard/runs/*/{FILE_NAME}")]
    jobs = site.folder.glob(".railyard/runs/*/reframe/stage/**/rfm_job.sh")
    return bool(records) and any(job.stat().st_mtime > max(records) for job in jobs)


def begin(site: VirtualSite) -> "subprocess.Popen[str]":
    """Start a run of four tests and return it when the second has begun, so ReFrame has finished the first."""
    running = site.start(*RAILYARD, "run", "--system", "virtual:hsn", "-p", "mpich", "-n", "Imb(Uniband|Biband)")
    wait_for(lambda: has_begun_the_second(site) or running.poll() is not None, "the second test's job")
    assert running.poll() is None, running.communicate()
    return running


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=full), pytest.param(signal.SIGHUP, marks=full)]
)
def test_an_interrupt_takes_everything_down_and_keeps_what_finished(
    number: signal.Signals, unmeasured_site: VirtualSite
) -> None:
    site = unmeasured_site
    with measurement_lock(lambda sentence: None, site.folder):
        running = begin(site)
        finished = site.records()[0]
        os.killpg(running.pid, number)
        out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130, out + err
    assert "Traceback" not in out + err
    assert nothing_is_left(site)
    records = site.records()
    assert len(records) == 4
    # Any verdict will do: this test does not care if a busy host missed a bound.
    assert records[0] == finished
    assert not re.match("aborted: |was promised", finished.found.verdict.text)
    stopped = [record.found.verdict.text for record in records[1:] if record.found.state == "fail"]
    assert stopped
    assert all(re.match("aborted: |was promised and did not run: ", sentence) for sentence in stopped)
    (folder,) = site.run_folders()
    assert (folder / "report.html").is_file()
    assert f"report: {folder}/report.html" in out.splitlines()


@full
def test_a_killed_run_leaves_room_for_the_next(site: VirtualSite) -> None:
    with measurement_lock(lambda sentence: None, site.folder):
        running = begin(site)
        running.kill()
        running.communicate()
        wait_for(lambda: nothing_is_left(site), "the end of all that the run brought up")
    (folder,) = site.run_folders()
    listed = site.finish(*RAILYARD, "results", "list")
    assert "; 4 tests promised, the run was killed before its end" in listed.out
    assert (
        "promised tests: the run was killed before its end" in site.finish(*RAILYARD, "report", str(folder)).full_text
    )
    ran = site.cell("ImbUniband", "mpich", 2)
    assert (ran.code, verdict_summary(ran.record)) == (0, ("pass", None, None))
    assert nothing_is_left(site)


@full
def test_the_second_of_two_clones_waits_and_says_so(new_site: Callable[[], VirtualSite]) -> None:
    first, second = new_site(), new_site()
    words = (*RAILYARD, "run", "--system", "virtual:hsn", *STREAM)
    one = first.start(*words)
    wait_for(lambda: first.bed().is_up() or one.poll() is not None, "the first clone's turn")
    two = second.start(*words)
    ended = [running.communicate(timeout=PATIENCE_S) for running in (one, two)]
    assert [running.returncode for running in (one, two)] == [0, 0]
    waiting = f"waiting: process {one.pid} of {first.folder} is measuring on this machine (since "
    assert [line for line in ended[1][0].splitlines() if line.startswith(waiting)]
    assert "waiting: " not in ended[0][0].partition("virtual cluster up")[2]
    for site in (first, second):
        assert {record.found.state for record in site.records()} == {"pass"}
        assert nothing_is_left(site)


# --- without root


def python_of(site: VirtualSite, words: tuple[str, ...]) -> str:
    """Return a Python in the site's folder, with `reframe` beside it, that another user can run; skip if there is none.

    The clone's own may lead into root's home; any Python of the same version can use its packages.
    """
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for base in (sys.executable, f"/usr/bin/{name}"):
        # Through env: setpriv itself would find programs with root's rights.
        if subprocess.run([*words, "env", base, "-c", "import venv"], capture_output=True).returncode == 0:
            break
    else:
        pytest.skip(f"another user can run neither {sys.executable} nor /usr/bin/{name}")
    venv = site.folder / "venv"
    subprocess.run([base, "-m", "venv", "--without-pip", str(venv)], check=True)
    packages = f"{sysconfig.get_path('purelib')}\n{CLONE}\n"
    (venv / "lib" / name / "site-packages/clone.pth").write_text(packages, encoding="utf-8")
    script = f"#!{venv}/bin/python\nimport sys\n\nfrom reframe.frontend.cli import main\n\nsys.exit(main())\n"
    (venv / "bin/reframe").write_text(script, encoding="utf-8")
    (venv / "bin/reframe").chmod(0o755)
    return f"{venv}/bin/python"


def test_an_ordinary_user_runs_it_in_a_user_namespace(site: VirtualSite) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user; this run is an ordinary user's already")
    words = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", f"HOME={site.folder}")
    refused = subprocess.run([*words, "unshare", "--user", "--map-root-user", "true"], capture_output=True, text=True)
    if refused.returncode:
        pytest.skip(f"ordinary users may not make user namespaces here: {refused.stderr.strip()}")
    python = python_of(site, words)
    subprocess.run(["chown", "-R", "-h", f"{NOBODY}:{NOBODY}", str(site.folder)], check=True)
    theirs = VirtualSite(site.folder, prefix=words)
    options = ("--system", "virtual:hsn", "-p", "mpich|openmpi", "-n", "(ImbUniband|NetpipeStream)%rails=2")
    ran = theirs.call(python, "-m", "railyard", "run", *options)
    assert (ran.code, ran.err) == (0, "")
    assert "virtual cluster up" in ran.lines
    assert outcomes(ran.records) == {
        "ImbUniband %rails=2 @virtual:hsn+mpich": ("pass", None, None),
        "NetpipeStream %rails=2 @virtual:hsn+openmpi": ("pass", None, None),
    }
    assert {path.stat().st_uid for path in site.run_folders()} == {NOBODY}
    assert nothing_is_left(site)
