"""Running a benchmark, without ReFrame: its job, the files beside it, and what it leaves."""

import shlex
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import RailyardError, SetupError
from railyard.job import batch
from railyard.job.client_server import ClientAndServer
from railyard.job.counters import IDLE, reader_script
from railyard.job.node_facts import PLACEMENT_SCRIPT, ProcessPlacement
from railyard.parsers.job_end import JobEnd
from railyard.provision.testbed.boot import WAIT_FOR_TURN
from railyard.rfm.checks.groups import Outputs, Start
from railyard.rfm.checks.measured_run import MeasuredRun
from railyard.rfm.checks.plan import Plan, plan_check
from railyard.rfm.checks.runner import COUNTERS, HOSTS, LAUNCHER, LINKED, READER, PlannedJob, RunOutputs
from railyard.rfm.job_ends import EXIT_CODE
from railyard.site.site import Site, site_at
from tests.conftest import ROOT
from tests.made.check import MadeCheck
from tests.made.judged_run import TAG, counters_file
from tests.patience import PATIENCE_S
from tests.rfm.checks.test_plan import TEST, site_with

FLUX = ROOT / "tests/recordings/flux"


@pytest.fixture(autouse=True)
def no_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave this machine's priority for measurements out of the words."""
    monkeypatch.setattr("railyard.provision.testbed.boot.front", list)


def plan(site: Site, check: MadeCheck | None = None) -> Plan:
    return plan_check(check or MadeCheck(), site, TEST, dry=True)


def job(site: Site, check: MadeCheck | None = None) -> PlannedJob:
    return plan(site, check).job("1a2b3c4d-17")


def test_a_job_of_the_virtual_cluster_is_ended_by_a_program_within_it(virtual: Site) -> None:
    found = job(virtual, MadeCheck(window=4))
    assert found.executable == "sh"
    words = " ".join(found.words)
    assert words.startswith(f"{READER} {COUNTERS} 1a2b3c4d-17 hsn0 hsn1,eth0 -- ")
    assert words.endswith("/IMB-MPI1 Uniband -msglen '1 to 4194304'")
    assert found.launcher_words is not None
    assert found.launcher_words[:4] == ("sh", "-c", WAIT_FOR_TURN, "turn")
    assert "timeout" in found.launcher_words
    assert (found.limit_s, found.modifier, found.options) == (None, (), ())


def test_an_earlier_launch_has_its_own_sizes_and_a_folder_of_its_own_for_counters(virtual: Site) -> None:
    found = job(virtual, MadeCheck(earlier=((1, 8),), message_sizes=(16, 64)))
    (earlier,) = (" ".join(words) for words in found.earlier)
    assert earlier.startswith(f"{READER} {COUNTERS}/launch1 1a2b3c4d-17 hsn0 hsn1,eth0 -- ")
    assert earlier.endswith("/IMB-MPI1 Uniband -msglen '1 to 8'")
    assert " ".join(found.words).endswith("/IMB-MPI1 Uniband -msglen '16 to 64'")
    assert f"mkdir -p {COUNTERS} {COUNTERS}/launch1" in found.before
    assert job(virtual).earlier == ()


def test_the_counters_of_an_earlier_launch_count_too(virtual: Site, tmp_path: Path) -> None:
    folder = tmp_path / COUNTERS
    (folder / "launch1").mkdir(parents=True)
    moved = {"hsn0": (2.0, 0.0)}
    for name, at in (("launch1/vn1", 1), ("vn1", 2)):
        text = counters_file("vn1", moved, ("hsn0",)).replace("bytes 1000", f"bytes {at}000")
        (folder / f"{name}.counters").write_text(text, encoding="utf-8")
    left = RunOutputs(None, tmp_path, "job.out", "job.err", TAG)
    (text,) = left.counters()
    assert "before hsn0 tx_bytes 1000\n" in text and "after hsn0 tx_bytes 2001000\n" in text
    (folder / "vn1.counters").unlink()
    assert len(left.counters()) == 1


def test_before_the_launch_the_job_says_what_it_is_linked_to(virtual: Site) -> None:
    found = job(virtual, MadeCheck(outputs=Outputs(file="out put.txt"), start=Start(without=("A_VARIABLE",))))
    before = "\n".join(found.before)
    program = found.words[found.words.index("--") + 1]
    assert found.before[0] == f"echo before {program}"
    assert "rm -f 'out put.txt'\nunset A_VARIABLE\n" in before
    linked, launcher = [line for line in found.before if not line.startswith("ulimit")][-2:]
    assert linked == f"LC_ALL=C ldd {program} > {LINKED} 2>&1 || :"
    own = f"{virtual.home}/.stacks/mpich/bin/mpirun"
    assert launcher == (
        f"{{ command -v {own} && LC_ALL=C timeout 10 {own} --version; }} > {LAUNCHER} 2>&1 < /dev/null || :"
    )


LAUNCHER_OF_ANOTHER_PROCESS = """\
#!/bin/sh
# Writes itself what its process prints, as srun and every mpirun do
"$@" | cat
"""
#: A bad benchmark: it writes a file that is longer than a job's output may be, and prints without end.
NOISE = "head -c 20000 /dev/zero > own; exec yes"


def launch_job(found: PlannedJob, folder: Path, most: int) -> subprocess.CompletedProcess[bytes]:
    """Return how a job's script from ReFrame ends with our own launcher and a small limit."""
    (folder / "launcher").write_text(LAUNCHER_OF_ANOTHER_PROCESS, encoding="ascii")
    (folder / READER).write_text(reader_script(), encoding="utf-8")
    (folder / COUNTERS).mkdir()
    limits = [line for line in found.before if line.startswith("ulimit")]
    small = "\n".join(limits).replace(f"{batch.most_bytes() // 1024} ", f"{most // 1024} ")
    noise = f"sh ./launcher sh {READER} {COUNTERS} {TAG} '' '' -- sh -c {shlex.quote(NOISE)}"
    script = f"trap 'exit $?' ERR\nset -o pipefail\n{small}\n{noise}\necho went on >> more\n"
    with (folder / "job.out").open("w") as out, (folder / "job.err").open("w") as err:
        return subprocess.run(
            ["bash", "-c", script], cwd=folder, stdout=out, stderr=err, check=False, timeout=PATIENCE_S
        )


@pytest.mark.fault("output", "a benchmark prints without end", "the job's output was cut at")
@pytest.mark.parametrize(
    "change",
    [{}, *({"scheduler": name, "launcher": "mpirun", "provider": "nodes"} for name in ("slurm", "pbs", "lsf", "flux"))],
    ids=["testbed", "slurm", "pbs", "lsf", "flux"],
)
def test_a_job_that_prints_without_end_is_ended_at_its_limit_under_every_scheduler(
    virtual: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], promise: str
) -> None:
    found = job(site_with(virtual, **change))
    launch_job(found, tmp_path, 8192)
    assert ((tmp_path / "job.out").stat().st_size, (tmp_path / "more").exists()) == (8192, False)
    # The limit does not apply to the benchmark's own files.
    assert (tmp_path / "own").stat().st_size == 20_000
    left = RunOutputs(Job(153), tmp_path, "job.out", "job.err", TAG)
    assert left.cut() is None, "8 KiB are no cut output where a job may print more"
    monkeypatch.setattr(batch, "most_bytes", lambda: 8192)
    why = plan(virtual).runner.evidence(MadeCheck(), left, plan(virtual).launch, ProcessPlacement(None)).cut
    assert why == f"{promise} 8,192 bytes: a job may print at most 1 GiB (printed-most), so it was ended"


def test_a_job_of_a_testbed_bounds_each_file_of_its_processes_and_one_of_a_scheduler_none(virtual: Site) -> None:
    limits = [line for line in job(virtual).before if line.startswith("ulimit")]
    assert limits == ["ulimit -S -f 1048576 2> /dev/null || :", "ulimit -H -f 4194304 2> /dev/null || :"]  # KiB
    other = job(site_with(virtual, scheduler="slurm", launcher="srun", provider="nodes"))
    assert [line for line in other.before if "ulimit" in line] == limits[:1]


def test_srun_is_nobodys_launcher_and_is_not_asked_whose_it_is(virtual: Site) -> None:
    slurm = site_with(virtual, scheduler="slurm", launcher="srun", provider="nodes")
    assert LAUNCHER not in "".join(job(slurm).before)
    asked = "".join(job(slurm, MadeCheck(use_launcher="mpirun")).before)
    assert f"{{ command -v mpirun && LC_ALL=C timeout 10 mpirun --version; }} > {LAUNCHER}" in asked


def test_what_the_systems_file_says_itself_is_not_unset(virtual: Site) -> None:
    named = next(iter(plan(virtual).launch.env))
    assert f"unset {named}" not in job(virtual, MadeCheck(start=Start(without=(named,)))).before


def test_a_job_of_a_scheduler_has_its_limit_there_and_runs_once(virtual: Site) -> None:
    found = job(site_with(virtual, scheduler="slurm", launcher="srun", provider="nodes"))
    assert (found.limit_s, found.options, found.launcher_words) == (virtual.system.limit_s(), ("--no-requeue",), None)


def test_a_step_of_an_allocation_is_ended_by_timeout(virtual: Site) -> None:
    found = job(site_with(virtual, launcher="srunalloc", provider="nodes"))
    assert found.modifier == ("timeout", "-k", "5", str(virtual.system.limit_s()))
    assert found.limit_s is None


def test_an_asked_launcher_takes_the_place_of_the_systems(virtual: Site) -> None:
    slurm = site_with(virtual, scheduler="slurm", launcher="srun", provider="nodes")
    assert job(slurm).launcher is None
    assert job(slurm, MadeCheck(use_launcher="mpirun")).launcher == "mpirun"


def test_behind_the_launch_a_file_is_printed_that_has_the_output(virtual: Site) -> None:
    runner = plan(virtual).runner
    assert runner.after(MadeCheck()) == ["echo after"]
    assert runner.after(MadeCheck(outputs=Outputs(file="hpccoutf.txt"))) == ["echo after", "cat hpccoutf.txt"]


def test_scripts_and_input_files_lie_beside_the_job(virtual: Site) -> None:
    runner = plan(virtual).runner
    files = runner.files(MadeCheck(files={"sizes.txt": "1\n"}), ProcessPlacement("near"))
    assert {READER, "node.sh", PLACEMENT_SCRIPT, "sizes.txt"} <= set(files)
    assert files["sizes.txt"] == "1\n"
    assert PLACEMENT_SCRIPT not in runner.files(MadeCheck(), ProcessPlacement(None))
    with pytest.raises(RailyardError, match=r"^MadeCheck: found the input file '\.\./x', expected a name without a /$"):
        runner.files(MadeCheck(files={"../x": ""}), ProcessPlacement(None))


def test_how_long_rails_are_watched_before_a_run_lies_there_too(virtual: Site) -> None:
    fabric = virtual.system.fabrics["hsn"]
    watched = fabric.model_copy(update={"proof": fabric.proof.model_copy(update={"idle_ms": 250})})
    there = site_with(virtual, fabrics={**virtual.system.fabrics, "hsn": watched})
    assert plan(there).runner.files(MadeCheck(), ProcessPlacement(None))[IDLE] == "250\n"
    without = fabric.model_copy(update={"proof": fabric.proof.model_copy(update={"idle_ms": None})})
    there = site_with(virtual, fabrics={**virtual.system.fabrics, "hsn": without})
    assert IDLE not in plan(there).runner.files(MadeCheck(), ProcessPlacement(None))


def test_an_option_is_known_by_the_programs_own_text(virtual: Site, tmp_path: Path) -> None:
    program = tmp_path / "osu_bw"
    program.write_bytes(b"\x7fELF\x00validation-warmup\x00")
    entry = virtual.system.stacks["mpich"].model_copy(update={"benchmarks": {"osu": str(program)}})
    there = site_with(virtual, stacks={**virtual.system.stacks, "mpich": entry})
    runner, check = MeasuredRun(there, TEST), MadeCheck(tool="osu", programs=("osu_bw",))
    assert runner.knows(check, "validation-warmup")
    assert not runner.knows(check, "mpi_float")


def test_its_turn_is_waited_for_before_the_cluster_is_asked_for(virtual: Site, tmp_path: Path) -> None:
    taken: list[Path] = []
    with pytest.raises(SetupError, match="not up"):
        MeasuredRun(replace(virtual, home=tmp_path), TEST).start(taken.append)
    assert taken == [tmp_path]


def test_a_step_of_an_allocation_asks_for_no_cluster_since_no_node_sees_the_hosts_processes(
    virtual: Site, tmp_path: Path
) -> None:
    there = site_with(virtual, launcher="srunalloc")
    MeasuredRun(replace(there, home=tmp_path), TEST).start(lambda home: None)


@pytest.mark.parametrize("change", [{"provider": "nodes"}, {}])
def test_a_real_cluster_and_a_dry_run_take_no_turn(virtual: Site, change: dict[str, Any]) -> None:
    def refuse(home: Path) -> None:
        raise AssertionError("nobody else measures there")

    MeasuredRun(site_with(virtual, **change), TEST, dry=not change).start(refuse)


@dataclass
class Job:
    """What a finished job of ReFrame shows."""

    exitcode: int | None = 0
    nodelist: tuple[str, ...] = ()
    jobid: int = 4711
    railyard_ended: JobEnd | None = None


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    """Return the folder of a run that printed something, with one node's counters."""
    (tmp_path / COUNTERS).mkdir()
    (tmp_path / "job.out").write_text("rows\n", encoding="utf-8")
    (tmp_path / "job.err").write_text("words\n", encoding="utf-8")
    (tmp_path / COUNTERS / "vn1.counters").write_text(counters_file("vn1", {"hsn0": (1, 1)}, ("hsn0",)))
    (tmp_path / COUNTERS / "vn1.facts").write_text(f"railyard-node 1 {TAG}\nnode vn1\nfact smt on\nend\n")
    (tmp_path / COUNTERS / "vn2.facts").write_text("railyard-node 1 another\nnode vn2\nfact smt on\nend\n")
    (tmp_path / "again-1.out").write_text("again\n", encoding="utf-8")
    return tmp_path


def evidence(site: Site, stage: Path, check: MadeCheck, exitcode: int | None = 0) -> Any:
    found = plan(site)
    left = RunOutputs(Job(exitcode), stage, "job.out", "job.err", TAG)
    return found.runner.evidence(check, left, found.launch, ProcessPlacement(None))


def test_ranks_that_shared_a_nic_are_evidence(virtual: Site, stage: Path) -> None:
    for rank in (0, 1):
        said = f"railyard-nic 1 {TAG}\nnode vn1\nrank {rank}\ndevice hsn0\nnear 0\nallowed 0\nend\n"
        (stage / COUNTERS / f"vn1.{rank}.nic").write_text(said)
    found = plan(virtual)
    launch = replace(found.launch, nodes=("vn1",), meant=("hsn0", "hsn1"))
    left = RunOutputs(Job(), stage, "job.out", "job.err", TAG)
    shared = found.runner.evidence(MadeCheck(), left, launch, ProcessPlacement("near", nic_ranks=2)).unplaced
    assert shared == "NIC per rank not proven: ranks 0 and 1 of vn1 were given hsn0, expected at most 1 on a device"
    assert found.runner.evidence(MadeCheck(), left, launch, ProcessPlacement(None)).unplaced is None


def test_what_a_job_left_is_evidence(virtual: Site, stage: Path) -> None:
    found = evidence(virtual, stage, MadeCheck(outputs=Outputs(more=("again-1.out", "again-2.out"))))
    assert (found.stdout, found.stderr, found.exit_code, found.timed_out) == ("rows\n", "words\n", 0, False)
    assert [text.splitlines()[1] for text in found.counters] == ["node vn1"]
    assert [facts.node for facts in found.facts] == ["vn1"], "the facts of another run are not this one's"
    assert (found.again, found.linked, found.job_id, found.played) == (("again\n",), "", 4711, None)


def script(site: Site, *lines: str) -> str:
    """Return a job's script with these lines in ReFrame's form, with our first and last lines."""
    planned_job = plan(site).job(TAG)
    ours = [line for line in planned_job.before if "trap" in line]
    return "\n".join(["trap 'exit $?' ERR", *ours, *lines, *planned_job.after, ""])


@pytest.mark.parametrize("scheduler", ["lsf", "squeue", "sge", "pbs"])
@pytest.mark.parametrize(
    ("line", "code"),
    [("true", 0), ("exit 0", None), ("false", 1), ("(exit 71)", 71), ("exit 124", 124), ("kill -TERM $$", None),
     ("kill -KILL $$", None), ("kill -USR2 $$", None)],
)  # fmt: skip
def test_a_scheduler_that_learns_no_exit_code_has_it_from_the_job_itself(
    virtual: Site, stage: Path, scheduler: str, line: str, code: int | None
) -> None:
    site = site_with(virtual, scheduler=scheduler, launcher="mpirun", provider="nodes")
    (stage / EXIT_CODE).write_text("earlier-1 0\n", encoding="utf-8")
    subprocess.run(["bash", "-c", script(site, line)], cwd=stage, check=False)
    assert RunOutputs(Job(None), stage, "job.out", "job.err", TAG).exit_code == code


def test_the_schedulers_own_exit_code_counts_and_such_a_job_writes_none(virtual: Site, stage: Path) -> None:
    (stage / EXIT_CODE).write_text(f"{TAG} 0\n", encoding="utf-8")
    assert RunOutputs(Job(3), stage, "job.out", "job.err", TAG).exit_code == 3
    # OpenPBS says 0 of each job that somebody sent a signal by way of it (qsig); here its program died first.
    (stage / EXIT_CODE).write_text(f"{TAG} 143\n", encoding="utf-8")
    assert RunOutputs(Job(0), stage, "job.out", "job.err", TAG).exit_code == 143
    found = job(site_with(virtual, scheduler="torque", launcher="mpirun", provider="nodes"))
    assert (found.after, [line for line in found.before if EXIT_CODE in line]) == ((), [])


def test_rows_on_standard_error_are_read_behind_the_output(virtual: Site, stage: Path) -> None:
    assert evidence(virtual, stage, MadeCheck(outputs=Outputs(on_stderr=True))).stdout == "rows\n\nwords\n"


def test_the_exit_code_of_timeout_is_a_run_out_of_time(virtual: Site, stage: Path) -> None:
    assert evidence(virtual, stage, MadeCheck(), 124).timed_out


def test_lines_of_fluxs_brokers_are_not_the_programs_and_its_limit_is_that_of_the_script(
    virtual: Site, stage: Path
) -> None:
    """Flux said TIMEOUT, since its own brokers had not ended in time; the script had ended before, with 3."""
    site = site_with(virtual, scheduler="flux-batch", launcher="flux-run", provider="nodes")
    assert job(site).modifier == ("timeout", "-k", "5", "120")
    (stage / "job.err").write_text((FLUX / "late-brokers.err").read_text(encoding="utf-8"), encoding="utf-8")
    ended = JobEnd("time", "job f7 was killed at its time limit")
    found = plan(site)
    left = RunOutputs(Job(137, railyard_ended=ended), stage, "job.out", "job.err", TAG)
    seen = found.runner.evidence(MadeCheck(), left, found.launch, ProcessPlacement(None))
    assert (seen.exit_code, seen.timed_out, seen.ended, seen.stderr.strip()) == (3, False, None, "")
    (stage / "job.err").write_text((FLUX / "limit.err").read_text(encoding="utf-8"), encoding="utf-8")
    seen = found.runner.evidence(MadeCheck(), left, found.launch, ProcessPlacement(None))
    assert (seen.exit_code, seen.timed_out, seen.ended) == (137, True, ended)


@pytest.mark.parametrize(
    ("scheduler", "exit_code", "wrote", "err", "kind"),
    [
        # OpenPBS says exit code 0 of a job that somebody sent a signal by way of it.
        ("pbs", 0, "", "", "killed"),
        ("pbs", 0, f"{TAG} 0", "", None),
        ("pbs", 0, "earlier-1 0", "", "killed"),
        ("pbs", 137, "", "", "killed"),
        ("pbs", 137, f"{TAG} 137", "", None),  # a process of the program was killed
        ("pbs", 1, "", "", None),
        ("sge", 0, "", "", "killed"),
        ("flux-batch", 137, "", "killed.err", "killed"),
        ("flux-batch", 137, "", "killed-by-flux.err", "killed"),
        ("flux-batch", 137, "", "killed-program.err", None),
        ("flux-batch", 0, "", "", None),
        ("torque", 0, "", "", None),
    ],
)
def test_a_job_whose_script_did_not_come_to_its_end_was_killed(
    virtual: Site, stage: Path, scheduler: str, exit_code: int, wrote: str, err: str, kind: str | None
) -> None:
    found = plan(site_with(virtual, scheduler=scheduler, launcher="mpirun", provider="nodes"))
    if wrote:
        (stage / EXIT_CODE).write_text(f"{wrote}\n", encoding="ascii")
    if err:
        (stage / "job.err").write_text((FLUX / err).read_text(encoding="utf-8"), encoding="utf-8")
    left = RunOutputs(Job(exit_code), stage, "job.out", "job.err", TAG)
    seen = found.runner.evidence(MadeCheck(), left, found.launch, ProcessPlacement(None))
    assert (None if seen.ended is None else seen.ended.kind) == kind
    assert seen.exit_code == exit_code


@pytest.mark.parametrize("scheduler", ["flux-batch", "pbs"])
def test_how_a_job_ended_is_evidence_under_each_scheduler(virtual: Site, stage: Path, scheduler: str) -> None:
    found = plan(site_with(virtual, scheduler=scheduler, launcher="mpirun", provider="nodes"))
    ended = JobEnd("cancelled", "job 7 was cancelled")
    left = RunOutputs(Job(0, railyard_ended=ended), stage, "job.out", "job.err", TAG)
    assert found.runner.evidence(MadeCheck(), left, found.launch, ProcessPlacement(None)).ended is ended


def test_an_output_that_is_not_there_is_empty(virtual: Site, tmp_path: Path) -> None:
    found = evidence(virtual, tmp_path, MadeCheck(), 1)
    assert (found.stdout, found.counters, found.facts, found.exit_code) == ("", (), (), 1)


@pytest.mark.parametrize(
    ("scheduler", "nodelist", "hosts", "nodes"),
    [
        ("slurm", ("n9", "n10", "n9"), "", ("n9", "n10")),
        ("pbs", ("n10", "n9"), "", ("n10", "n9")),
        ("pbs", ("n10", "n9"), "n9.cluster\nn9.cluster\nn10.cluster\n", ("n9", "n10")),
        ("torque", ("n10", "n9"), "n9\nn10\n", ("n9", "n10")),
        ("lsf", (), "n9\nn9\nn10\nn10\n", ("n9", "n10")),
        ("lsf", (), "", ()),
        ("flux-batch", ("n9", "n10"), "", ("n9", "n10")),
    ],
)
def test_a_run_whose_nodes_the_scheduler_chose_has_those_in_the_order_of_the_ranks(
    virtual: Site, tmp_path: Path, scheduler: str, nodelist: tuple[str, ...], hosts: str, nodes: tuple[str, ...]
) -> None:
    (tmp_path / HOSTS).write_text(hosts, encoding="utf-8")
    left = RunOutputs(Job(nodelist=nodelist), tmp_path, "job.out", "job.err", TAG)
    found = plan(site_with(virtual, scheduler=scheduler, launcher="mpirun", provider="nodes"))
    assert found.launch.nodes == (), "the file has names, and the scheduler gives whichever are free"
    assert found.runner.fill_nodes(found.launch, left).nodes == nodes


def test_without_a_scheduler_a_run_has_the_nodes_of_the_file(virtual: Site, tmp_path: Path) -> None:
    named = plan(virtual)
    left = RunOutputs(Job(nodelist=("other",)), tmp_path, "job.out", "job.err", TAG)
    assert named.runner.fill_nodes(named.launch, left) is named.launch
    assert named.launch.nodes == ("vn1", "vn2")


@pytest.mark.parametrize(
    ("scheduler", "line"),
    [
        ("pbs", """awk '!seen[$0]++' "$PBS_NODEFILE\""""),
        ("torque", """awk '!seen[$0]++' "$PBS_NODEFILE\""""),
        ("lsf", """awk '!seen[$0]++' "$LSB_DJOB_HOSTFILE\""""),
        ("sge", """awk '!seen[$1]++ {print $1}' "$PE_HOSTFILE\""""),
    ],
)
def test_a_job_keeps_the_hosts_that_its_scheduler_lists_in_a_file(virtual: Site, scheduler: str, line: str) -> None:
    before = job(site_with(virtual, scheduler=scheduler, launcher="mpirun", provider="nodes")).before
    assert f"{line} > {HOSTS} || :" in before
    # Of others ReFrame learns the nodes, in their order.
    for other in ("slurm-nodb", "flux-batch"):
        site = site_with(virtual, scheduler=other, launcher="srun", provider="nodes")
        assert not any(HOSTS in each for each in job(site).before)
    assert not any(HOSTS in each for each in job(virtual).before)


def test_perftest_and_mpi_are_told_the_class_of_their_fabric(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "ib_write_bw"
    program.parent.mkdir()
    program.touch(mode=0o755)
    guests = site_at(ROOT, "virtual-verbs")
    roce = guests.system.fabrics["roce"].model_copy(update={"gid_index": 3, "traffic_class": 104, "service_level": 5})
    verbs = guests.system.stacks["verbs"].model_copy(update={"prefix": str(tmp_path)})
    site = site_with(guests, fabrics={"roce": roce}, stacks={**guests.system.stacks, "verbs": verbs}, disabled=())
    check = MadeCheck(
        tool="perftest",
        benchmark="ib_write_bw",
        programs=("ib_write_bw",),
        command=ClientAndServer("perftest", "roce"),
    )
    test = replace(TEST, fabric="roce", stack="verbs", benchmark="perftest/ib_write_bw")
    words = plan_check(check, site, test, dry=True).job("1a2b3c4d-17").words
    server, client = (
        words[words.index(str(program)) :],
        words[words.index(str(program), words.index(str(program)) + 1) :],
    )
    for end in (server, client):
        assert "-x 3 --tclass=104 -S 5" in " ".join(end)
    assert client[-1] == "'{server}'"
    told = plan_check(MadeCheck(), site, replace(test, stack="intelmpi", benchmark="imb/Uniband"), dry=True).launch.env
    assert (told["UCX_IB_GID_INDEX"], told["UCX_IB_TRAFFIC_CLASS"], told["UCX_IB_SL"]) == ("3", "104", "5")
