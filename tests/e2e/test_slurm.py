"""The virtual cluster under a real Slurm: the same checks as jobs, and a job's record names whatever ended it.

Skipped, with the reason, if Slurm is not installed (`make needs SLURM=1`) or the user is not root.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from railyard.provision.testbed import slurm
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.lock import measurement_lock
from railyard.provision.testbed.scripts import reshape
from railyard.provision.testbed.slurm_texts import SLURMD_TIMEOUT_S, release_of
from railyard.verdict.wording import WITH_EVERY
from tests.e2e.conftest import RAILYARD, REFRAME, Ran, VirtualSite, outcomes, suspects, verdict_summary
from tests.made.secrets import PLAIN, PRIVATE_KEY, search_secrets
from tests.made.slurm_ends import kill_node, restart_controller
from tests.patience import wait_for

pytestmark = pytest.mark.e2e

full = pytest.mark.full
PASSES = ("pass", None, None)
SYSTEM = ("--system", "virtual-slurm:hsn")
ONE_CELL = (*SYSTEM, "-n", "ImbUniband%rails=1", "-p", "mpich")


@pytest.fixture(scope="session")
def slurm_there() -> None:
    refused = slurm.SLURM.find_refusal()
    if refused is not None:
        pytest.skip(refused)


@pytest.fixture
def with_slurm(slurm_there: None, site: VirtualSite) -> Iterator[tuple[VirtualSite, Testbed]]:
    """Return a site whose virtual cluster is up, with Slurm on it."""
    with site.bed_of_system() as bed:
        slurm.start(bed)
        yield site, bed


def scontrol(bed: Testbed, *words: str) -> str:
    return client(bed, "scontrol", *words)


def client(bed: Testbed, *words: str) -> str:
    done = slurm.SLURM.ask(bed, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def keep(bed: Testbed, name: str, ran: Ran) -> None:
    """Write the scheduler's record of a run's job into the folder of RAILYARD_KEEP_RECORDS, if that is set.

    This makes tests/recordings/slurm: `RAILYARD_KEEP_RECORDS=tests/recordings/slurm pytest tests/e2e/test_slurm.py`.
    """
    folder = os.environ.get("RAILYARD_KEEP_RECORDS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        job = scontrol(bed, "-o", "show", "job", ran.record.where.job_id or "")
        text = job.replace(str(bed.folder.parents[1]), "/site") + scontrol(bed, "-o", "show", "nodes")
        Path(folder, f"{name}.txt").write_text(text, encoding="utf-8")


def run_during(site: VirtualSite, bed: Testbed, act: Callable[[str], object], *options: str) -> Ran:
    """Run `railyard run` with these options, and do something with the job's number when its first job runs."""
    begun = time.monotonic()
    with measurement_lock(lambda sentence: None, site.folder), site.start(*RAILYARD, "run", *options) as running:
        try:
            act(_running_job(bed))
            out, err = running.communicate(timeout=400)
        finally:
            running.kill()
    return Ran(running.returncode, out, err, time.monotonic() - begun, site.records())


def _running_job(bed: Testbed) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = re.search(r"^JobId=(\d+) .*JobState=RUNNING .*BatchHost=", scontrol(bed, "-o", "show", "job"), re.M)
        if found:
            return found[1]
        time.sleep(0.2)
    raise AssertionError("no job ran within 60 s")


def _benchmark_runs() -> bool:
    listed = subprocess.run(["ps", "-eo", "comm"], capture_output=True, text=True, check=True).stdout
    return "IMB-MPI1" in listed.split()


def slow(bed: Testbed) -> None:
    """Make the first rail so slow that a job lasts for minutes."""
    for node in ("vn1", "vn2", "vn3", "vn4"):
        bed.degrade(node, "hsn0", "slow", 1)


@full
def test_jobs_pass_over_one_rail_and_two_and_nothing_is_left(slurm_there: None, site: VirtualSite) -> None:
    ran = site.run(*SYSTEM, "-n", "ImbUniband", "-p", "mpich")
    assert (ran.code, ran.err) == (0, ""), ran.out
    assert outcomes(ran.records) == {f"ImbUniband %rails={rails} @virtual-slurm:hsn+mpich": PASSES for rails in (1, 2)}
    for record in ran.records:
        assert (record.where.scheduler, record.where.nodes) == ("slurm-nodb", ("vn1", "vn2"))
        assert (record.where.job_id or "").isdigit()
        assert record.how.command[:2] == ("srun", "--mpi=pmi2")
    assert "4 of 4 nodes can run a job" in ran.lines
    bed = site.bed()
    assert not bed.is_up()
    assert not (bed.folder / "slurm").exists()


@full
@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
@pytest.mark.parametrize(
    ("check", "stack"), [("NetpipeStream", "openmpi"), ("ImbUniband", "mpich"), ("ImbUniband", "intelmpi")]
)
def test_every_library_starts_by_srun_and_by_its_own_mpirun(
    with_slurm: tuple[VirtualSite, Testbed], check: str, stack: str, launcher: str
) -> None:
    site, _ = with_slurm
    ran = site.run(*SYSTEM, "-n", check, "-p", stack, "-S", f"use_launcher={launcher}")
    assert set(outcomes(ran.records).values()) == {PASSES}, ran.out + ran.err
    assert {record.test.rails for record in ran.records} == {1, 2}
    assert {record.how.command[0] for record in ran.records} == {launcher}


def _srun_of_another_release(configuration: Path) -> Path:
    """Return the first srun on PATH that is of another release than the Slurm of the virtual cluster."""
    configuration.write_text("ClusterName=x\nSlurmctldHost=x\n", encoding="ascii")  # without one it says no version
    env = {**os.environ, "SLURM_CONF": str(configuration)}
    for folder in os.environ["PATH"].split(os.pathsep):
        program = Path(folder, "srun")
        if program.is_file():
            said = subprocess.run([program, "-V"], env=env, capture_output=True, text=True, check=False).stdout
            if release_of(said) not in (None, slurm.release_here()):
                return program
    pytest.skip("all srun on PATH are of one release")


@full
@pytest.mark.parametrize(
    ("launcher", "check", "stack", "means"),
    [
        ("mpirun", "NetpipeStream", "openmpi", "which may be another Slurm's"),
        ("srun", "ImbUniband", "mpich", "is of another release than the cluster's Slurm"),
    ],
)
def test_a_job_that_calls_the_srun_of_another_slurm_says_so(
    with_slurm: tuple[VirtualSite, Testbed],
    launcher: str,
    check: str,
    stack: str,
    means: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another one comes first where a module, a container or the folder of an MPI puts it before the cluster's own."""
    site, _ = with_slurm
    folder = site.folder / "other"
    folder.mkdir()
    (folder / "srun").symlink_to(_srun_of_another_release(folder / "slurm.conf"))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")  # a job has that of its submission
    site.edit("systems/virtual-slurm.yaml", "\nlauncher: srun\n", f"\nlauncher: {launcher}\n")
    ran = site.run(*SYSTEM, "-n", f"{check}%rails=1", "-p", stack)
    text = ran.record.found.verdict.text
    assert verdict_summary(ran.record) == ("fail", 1, "set-up"), text
    assert "srun that is first on PATH" in text and means in text
    assert suspects(ran.record) == set()


@full
def test_steps_have_our_variables_although_the_site_exports_few(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    """A site's --export reaches srun as SLURM_EXPORT_ENV. The job exports ALL; else steps would lack our variables."""
    site, _ = with_slurm
    few = "launcher: srun\naccess: ['--export=PATH,HOME,SLURM_CONF', '--comment \"own words\"']\n"
    site.edit("systems/virtual-slurm.yaml", "launcher: srun\n", few)
    ran = site.run(*ONE_CELL)
    assert outcomes(ran.records) == {"ImbUniband %rails=1 @virtual-slurm:hsn+mpich": PASSES}, ran.out + ran.err
    # As it would be without the export (the fabric's own variables come last): not even the library's path arrives.
    hidden = f"{few}fabrics: {{hsn: {{env: {{SLURM_EXPORT_ENV: 'PATH,HOME,SLURM_CONF'}}}}}}\n"
    site.edit("systems/virtual-slurm.yaml", few, hidden)
    lost = site.run(*ONE_CELL)
    ((state, _, _),) = outcomes(lost.records).values()
    assert state == "fail", lost.out
    assert "The loader does not find libmpi.so.12: LD_LIBRARY_PATH" in lost.out


@full
def test_a_drained_node_is_named_and_the_rest_is_tested(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    scontrol(bed, "update", "NodeName=vn3", "State=DRAIN", "Reason=bad cable")
    ran = site.run(*ONE_CELL)
    assert set(outcomes(ran.records).values()) == {PASSES}
    assert ran.code == 0
    assert "3 of 4 nodes can run a job; not tested: vn3 is drained (bad cable)" in ran.lines
    assert ran.lines[-1] == "nodes not tested: vn3 is drained (bad cable)"
    noted = json.loads((site.run_folders()[-1] / "nodes.json").read_text(encoding="utf-8"))
    assert [one["node"] for one in noted if not one["tested"]] == ["vn3"]


@full
def test_a_check_of_all_nodes_says_how_many_of_how_many(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    scontrol(bed, "update", "NodeName=vn3", "State=DRAIN", "Reason=bad cable")
    ran = site.run(*SYSTEM, "--extended", "-n", "AllPairs%rails=1", "-p", "mpich")
    assert (ran.record.where.nodes, ran.record.found.state) == (("vn1", "vn2", "vn4"), "pass"), ran.out
    # With three nodes, the first start of MPICH 5.0.2 fails under Slurm 22.05: a remark on that may follow.
    assert "3 of 4 nodes were tested, 1 not tested: vn3 is drained (bad cable)" in ran.record.found.verdict.remarks


@full
def test_too_few_nodes_are_not_tested_and_no_failure(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    for node in ("vn2", "vn3", "vn4"):
        scontrol(bed, "update", f"NodeName={node}", "State=DRAIN", "Reason=moved")
    ran = site.run(*ONE_CELL)
    assert (ran.code, ran.record.found.state) == (0, "not-tested")
    assert ran.record.found.verdict.text == (
        "not tested: it needs 2 nodes and 1 can run a job: vn2 is drained (moved); vn3 is drained (moved); "
        "vn4 is drained (moved)"
    )


@full
def test_a_node_that_dies_in_mid_job_is_named_and_its_neighbour_is_not(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    slow(bed)

    def kill(job: str) -> None:
        # A step that cannot start on a dead node ends the job before Slurm knows about the node.
        wait_for(_benchmark_runs, "the benchmark on the nodes")
        kill_node(bed, "vn2")

    ran = run_during(site, bed, kill, *ONE_CELL)
    keep(bed, "node", ran)
    assert verdict_summary(ran.record) == ("fail", 1, "node")
    assert "was ended because a node died: vn2 is " in ran.record.found.verdict.text
    assert suspects(ran.record) == {("node", "vn2", None)}
    assert ran.elapsed_s < 120 + 4 * SLURMD_TIMEOUT_S


@full
def test_a_job_over_its_limit_says_so(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    # Slurm counts in minutes.
    site.edit("systems/virtual-slurm.yaml", "  max_pending: 2m\n", "  max_pending: 2m\n  time_limits: {micro: 60s}\n")
    slow(bed)
    ran = site.run(*ONE_CELL)
    keep(bed, "time", ran)
    assert verdict_summary(ran.record)[:2] == ("fail", 1)
    assert ran.record.found.verdict.text.startswith("the job was ended at its time limit of 60 s (bound from the check")
    assert "was killed at its time limit of 00:01:00 on vn[1-2]" in ran.record.found.verdict.text


@full
def test_a_job_that_somebody_cancels_is_no_fault_of_the_fabric(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    slow(bed)
    ran = run_during(site, bed, lambda job: client(bed, "scancel", job), *ONE_CELL)
    keep(bed, "cancelled", ran)
    assert verdict_summary(ran.record) == ("fail", 1, "scheduler")
    assert "was cancelled on vn[1-2]" in ran.record.found.verdict.text
    assert suspects(ran.record) == set()


@full
def test_a_job_that_is_preempted_says_so(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    slow(bed)
    urgent = ("--partition=urgent", "--nodes=4", "--chdir=/tmp", "--output=/dev/null", "--wrap=sleep 1")
    ran = run_during(site, bed, lambda job: client(bed, "sbatch", *urgent), *ONE_CELL)
    keep(bed, "preempted", ran)
    assert verdict_summary(ran.record) == ("fail", 1, "scheduler")
    assert "was preempted by another job on vn[1-2]" in ran.record.found.verdict.text
    assert suspects(ran.record) == set()


@full
def test_a_job_that_is_requeued_is_ended_and_not_judged_as_one_run(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    slow(bed)

    def requeue(job: str) -> None:
        # The job has --no-requeue: only an administrator can requeue it.
        scontrol(bed, "update", f"JobId={job}", "Requeue=1")
        scontrol(bed, "requeue", job)

    ran = run_during(site, bed, requeue, *ONE_CELL)
    keep(bed, "requeued", ran)
    assert verdict_summary(ran.record) == ("fail", 1, "scheduler")
    assert "was requeued once: what it left may be of two runs" in ran.record.found.verdict.text
    assert suspects(ran.record) == set()
    assert "JobState=CANCELLED" in scontrol(bed, "-o", "show", "job", ran.record.where.job_id or "")


@full
def test_a_job_over_its_memory_says_so(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    # In MB per node, sampled each second: there are no cgroups here.
    memory = "access: [--mem=20, --acctg-freq=task=1]\n"
    site.edit("systems/virtual-slurm.yaml", "launcher: srun\n", f"launcher: srun\n{memory}")
    slow(bed)
    ran = site.run(*ONE_CELL)
    assert verdict_summary(ran.record) == ("fail", 1, "set-up")
    said = r"was killed for memory: it used more than it was given on .*exceeded memory limit \(\d+ > 20971520\)"
    assert re.search(said, ran.record.found.verdict.text)
    assert suspects(ran.record) == set()


@full
def test_a_restart_of_the_controller_disturbs_no_job(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    ran = run_during(site, bed, lambda job: restart_controller(bed), *ONE_CELL)
    keep(bed, "none", ran)
    assert verdict_summary(ran.record) == PASSES, ran.record.found.verdict.text


@full
def test_without_slurm_on_the_cluster_a_plain_reframe_says_what_to_type(slurm_there: None, site: VirtualSite) -> None:
    with site.bed_of_system():
        ran = site.call(
            REFRAME, "-C", "reframe_settings.py", "-c", "checks/microbench/imb.py", "--system", "virtual-slurm:hsn",
            "-n", "ImbUniband%rails=1", "-p", "mpich", "-r",
        )  # fmt: skip
    assert ran.code == 1
    assert "Slurm is not up on the virtual cluster: run 'railyard testbed up --scheduler slurm'" in ran.full_text


@full
def test_steps_of_one_allocation_are_the_same_tests_with_the_same_verdicts(
    with_slurm: tuple[VirtualSite, Testbed],
) -> None:
    site, _ = with_slurm
    options = (*SYSTEM, "-n", "ImbUniband", "-p", "mpich")
    apart = site.run(*options)
    together = site.run(*options, "--one-allocation")
    assert outcomes(together.records) == outcomes(apart.records)
    assert set(outcomes(together.records).values()) == {PASSES}
    assert [record.test.hash for record in together.records] == [record.test.hash for record in apart.records]
    assert {record.where.scheduler for record in together.records} == {"local"}
    assert {record.where.nodes for record in together.records} == {("vn1", "vn2")}
    assert {record.how.command[:3] for record in together.records} == {("timeout", "-k", "5")}
    assert "2 jobs, at most 8 node-minutes: steps of one allocation" in together.lines


@full
@pytest.mark.parametrize(("stack", "launcher"), [("mpich", "srun"), ("intelmpi", "mpirun")])
def test_a_slow_rail_is_named_by_steps_of_a_job_of_their_own(
    with_slurm: tuple[VirtualSite, Testbed], stack: str, launcher: str
) -> None:
    site, bed = with_slurm
    site.edit("systems/virtual-slurm.yaml", "\nlauncher: srun\n", f"\nlauncher: {launcher}\n")
    bed.degrade("vn2", "hsn0", "slow", 60)
    ran = site.run(*SYSTEM, "-n", "ImbUniband%rails=1", "-p", stack)
    assert ran.record.how.command[0] == launcher
    assert verdict_summary(ran.record) == ("fail", 5, "fabric"), ran.record.found.verdict.text
    assert suspects(ran.record) == {("rail", "vn2", "hsn0")}
    assert f"; hsn0 of vn2 is slow {WITH_EVERY}: at best " in ran.record.found.verdict.text
    jobs = scontrol(bed, "-o", "show", "job")
    (probes,) = [line for line in jobs.splitlines() if "JobName=probes-vn1-vn2 " in line]
    # The pair, and two nodes that Slurm chose; it ends as soon as the slow one is known.
    assert re.search(r" ReqNodeList=vn\[1-2\] .* TRES=\S*node=4,", probes)
    assert re.search(r" JobState=(CANCELLED|COMPLETING) ", probes)


@full
@pytest.mark.parametrize(
    ("cell", "rail"),
    [
        pytest.param(("-n", "ImbUniband%rails=1", "-p", "mpich"), "hsn0", id="one-rail"),
        pytest.param(("-n", "ImbUniband", "-P", "policy=nic-per-rank", "-p", "intelmpi"), "hsn1", id="nic-per-rank"),
    ],
)
@pytest.mark.fault(
    "rail", "what vn2 sends over a rail at less than half of its rate, in a job of Slurm", "only what vn2 sends over"
)
def test_a_rail_that_is_slow_in_the_other_direction_alone_fails_and_is_named(
    with_slurm: tuple[VirtualSite, Testbed], cell: tuple[str, ...], rail: str, promise: str
) -> None:
    site, bed = with_slurm
    assert bed.exec("vn2", ["tc", *reshape(rail, 50).split()]).returncode == 0
    ran = site.run(*SYSTEM, *cell)
    text = ran.record.found.verdict.text
    # The stream itself goes from vn1 to vn2, and its figure meets its reference.
    assert verdict_summary(ran.record) == ("fail", 4, "fabric"), text
    assert f"{rail} carries " in text and " MB/s from vn2 to vn1, and back " in text
    assert f"{promise} {rail} is slow: " in text
    assert suspects(ran.record) == {("rail", "vn2", rail)}
    # The run's own job streamed back, with the ranks in the other order, and a separate job asked other nodes.
    (step,) = site.folder.glob(f".railyard/**/back-1-{rail}-vn2-vn1.sh")
    assert "--nodelist=vn2,vn1 " in step.read_text(encoding="utf-8")
    assert "JobName=ways-vn1-vn2 " in scontrol(bed, "-o", "show", "job")


@full
def test_in_an_allocation_of_two_nodes_the_slow_rail_is_named_and_neither_node(
    with_slurm: tuple[VirtualSite, Testbed],
) -> None:
    site, bed = with_slurm
    bed.degrade("vn2", "hsn0", "slow", 60)
    ran = site.run(*ONE_CELL, "--one-allocation")
    assert verdict_summary(ran.record) == ("fail", 5, "fabric"), ran.record.found.verdict.text
    assert suspects(ran.record) == set()
    assert "; hsn0 is slow between vn1 and vn2: at best " in ran.record.found.verdict.text
    assert "too few partners were measured to blame anybody" in ran.record.found.verdict.text


@full
def test_the_doctor_asks_nodes_in_a_step_of_slurm(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    asked = (*RAILYARD, "doctor", "--system", "virtual-slurm", "--nodes")
    some = site.call(*asked, "--count", "2")
    assert some.lines[-1].startswith("looked at this host and 2 nodes: 0 problems, "), some.full_text
    # A command in a node's namespaces does not know what Slurm allows there.
    scontrol(bed, "update", "nodename=vn4", "state=drain", "reason=a test")
    drained = site.call(*asked)
    assert drained.code == 2
    assert "found no answer of any node, expected 4; srun said: " in drained.full_text


@full
def test_the_limit_of_locked_memory_is_that_of_a_job_step(with_slurm: tuple[VirtualSite, Testbed]) -> None:
    site, bed = with_slurm
    slurmd = bed.exec("vn2", ["cat", "/run/slurmd/slurmd.pid"]).stdout.strip()
    assert bed.exec("vn2", ["prlimit", f"--pid={slurmd}", "--memlock=65536:65536"]).returncode == 0
    # A shell of that node says the same about itself as before.
    assert bed.exec("vn2", ["sh", "-c", "ulimit -l"]).stdout == bed.exec("vn1", ["sh", "-c", "ulimit -l"]).stdout
    ran = site.call(*RAILYARD, "doctor", "--system", "virtual-slurm", "--nodes")
    named = [line for line in ran.lines if "locked memory" in line]
    assert len(named) == 1, ran.full_text
    assert re.match(
        r"remark: vn2: the limit of locked memory in a job step is 64, on most nodes (unlimited|\d+)", named[0]
    )


def _quote(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'


@full
def test_no_secret_is_in_what_a_run_under_slurm_leaves(slurm_there: None, site: VirtualSite) -> None:
    """Each kind as an option of jobs, as a variable, in outputs, in a job's name, and in what Slurm says of a node."""
    several = "; ".join(text for text in PLAIN if not re.search("['\"]", text))
    variables = {f"SITE_{number}": f"x {text}" for number, text in enumerate(several.split("; "))}
    text = (site.folder / "systems/virtual-slurm.yaml").read_text(encoding="utf-8")
    env = f"{text}fabrics: {{hsn: {{env: {json.dumps(variables)}}}}}\n"
    (site.folder / "systems/virtual-slurm.yaml").write_text(env, encoding="utf-8")
    said = site.folder / "said.txt"
    said.write_text("\n".join((*PLAIN, PRIVATE_KEY, "")), encoding="utf-8")
    hook = (
        f"\n    @run_before('run')\n    def say(self):\n        self.prerun_cmds += ['cat {said}', 'cat {said} >&2']\n"
    )
    site.edit("checks/microbench/imb.py", '    benchmark = "Uniband"\n', f'    benchmark = "Uniband"\n{hook}')
    words = [word for planted in PLAIN for word in ("-J", f"comment={_quote(planted)}")]
    with site.bed_of_system() as bed:
        slurm.start(bed)
        scontrol(bed, "update", "NodeName=vn4", "State=DRAIN", f"Reason={several}")
        bed.degrade("vn2", "hsn0", "slow", 60)
        ran = site.run(*ONE_CELL, "-J", "job-name=ghp_HUSHhushHUSHhush0123456789", *words)
        assert ran.record.found.state == "fail", ran.out + ran.err
        refused = site.run(*ONE_CELL, "-J", f"nosuch={_quote(several)}")
        assert refused.code != 0
        jobs = scontrol(bed, "-o", "show", "job")
        assert "HUSH" in jobs  # Slurm itself was given them
        for name in ("junit", "md", "csv", "html"):
            site.call(*RAILYARD, "report", "--format", name, "-o", str(site.folder / f".railyard/report.{name}"))
    names, left = search_secrets(site.folder / ".railyard")
    assert {"reframe.log", "reframe-report.json", "rfm_job.sh", "nodes.json", "report.junit", "report.html"} <= names
    assert left == []
