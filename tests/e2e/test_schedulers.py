"""The virtual cluster under real schedulers: jobs pass, and what ends one is said in the scheduler's own words.

Each case runs on each scheduler whose programs are on PATH; the others are skipped with what to install. What only
Slurm has is in ``test_slurm.py``. `make test-schedulers` runs all of them.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from shutil import which

import pytest

from railyard.provision.testbed import lifecycle, pbs
from railyard.provision.testbed.boot import find_inside
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.lock import measurement_lock
from railyard.provision.testbed.scheduler import BedScheduler
from railyard.site.systems.load import load_system
from railyard.verdict.wording import WITH_EVERY
from tests.e2e.conftest import DISTURBED, RAILYARD, Ran, VirtualSite, outcomes, suspects, verdict_summary
from tests.patience import wait_for

pytestmark = [pytest.mark.e2e, pytest.mark.full]

PASSES = ("pass", None, None)
NODES = ("vn1", "vn2", "vn3", "vn4")


@dataclass(frozen=True, slots=True)
class Words:
    """How a scheduler is asked, by its own commands, and what it says.

    ``running`` prints the number of a running job of the run. ``cancel`` cancels the job of that number. ``hold_all``
    fills all nodes for minutes. ``never`` is what it says of a job that asks for too many processors, and ``refuses``
    is an option of no queue that exists, with what it says of that. ``daemon`` is the daemon of a node whose end is its
    death. ``drain`` closes the node vn3 to jobs, and ``drained`` is how doctor says it. ``bad_resource`` is an option
    that asks for something that no node has, with what it says of that. ``bad_project`` is what it says of a project
    that nobody knows; empty if it takes any. ``in_job`` runs a script on one node. ``epilog`` has a script of the
    site's run on a job's nodes after it (PBS needs no command; it and Grid Engine run it on the job's first node).
    ``ask_drained`` asks which nodes it gives to no job. ``signal`` kills the script of the job of that number, and
    ``killed`` is how that is said. ``pause`` stops the job of that number; empty if no state of it would show that.
    ``limit`` is a time limit that the scheduler keeps to the second. ``share`` has
    nodes shared whose partition gives whole ones, whatever a job asks for.
    """

    running: str
    cancel: str
    hold_all: str
    cancelled: str
    timed: str
    waits: str
    bad_queue: str
    daemon: str
    close: str
    open: str
    closed: str
    drain: str
    drained: str
    bad_resource: tuple[str, str]
    bad_project: str
    in_job: str
    epilog: tuple[str, ...]
    ask_drained: str
    signal: str
    killed: str
    pause: str = ""
    limit: str = "20s"
    share: str = ""


WORDS = {
    "slurm": Words(
        running="squeue -h -t R -o '%i %j' | awk '$2 ~ /^rfm/ {print $1}'",
        cancel="scancel",
        hold_all="sbatch -N4 --exclusive --time=10 --chdir=/tmp --output=/dev/null --wrap='sleep 400'",
        cancelled="was cancelled on vn[1-2]",
        timed="the job was ended at its time limit of 60 s",
        waits="had not begun after 20 s and was cancelled (the scheduler's reason: Resources)",
        bad_queue="sbatch: error: invalid partition specified: nope",
        daemon="slurmd",
        close="scontrol update PartitionName=all State=DOWN",
        open="scontrol update PartitionName=all State=UP",
        closed="queue all: starts no jobs (State=DOWN)",
        drain="scontrol update NodeName=vn3 State=DRAIN Reason='bad cable'",
        drained="drained (bad cable)",
        limit="60s",
        bad_resource=("--gres=nope:1", "sbatch: error: Invalid generic resource (gres) specification"),
        bad_project="jobs.project: found project of the scheduler slurm-nodb, expected a setting for which",
        in_job="sbatch -N1 --exclusive --chdir=/tmp --output=/dev/null",
        epilog=("echo 'Epilog={site}/epilog' >>.railyard/testbed/slurm/slurm.conf", "scontrol reconfigure"),
        ask_drained="sinfo -h -N -t drain -o %N",
        signal="scancel --signal=KILL --batch {job}",
        killed="was killed on vn[1-2]: signal 9 ended its script, and the scheduler does not say who sent it",
        pause="scancel --signal=STOP {job}",
        share="scontrol update PartitionName=all OverSubscribe=NO",
    ),
    "flux": Words(
        running="flux jobs -n -f running -o '{id} {name}' | awk '$2 ~ /^rfm/ {print $1}'",
        cancel="flux cancel",
        hold_all="echo 'sleep 400' >hold.sh; sed -i '1i #!/bin/sh' hold.sh; flux batch -N4 --exclusive "
        "--time-limit=500s --output=/dev/null --error=/dev/null hold.sh",
        cancelled="was cancelled on vn[1-2]",
        timed="the job was ended at its time limit of 20 s",
        waits="had not begun after 20 s and was cancelled (the scheduler's reason: eta:",
        bad_queue="Invalid queue 'nope' specified",
        daemon="flux-broker-1",
        close="flux queue stop --all",
        open="flux queue start --all",
        closed="queue batch: Scheduling is stopped",
        drain="flux resource drain vn3 bad cable",
        drained="drained (bad cable)",
        bad_resource=("--requires=nope", "unsatisfiable"),
        bad_project="jobs.project: found project of the scheduler flux-batch, expected a setting for which",
        in_job="flux batch -N1 --exclusive --output=/dev/null --error=/dev/null",
        epilog=("flux config load {site}/with-epilog.toml", "flux jobtap load perilog.so"),
        ask_drained="flux resource drain",
        signal="flux job kill --signal=KILL {job}",
        killed="was killed on vn1 and vn2: signal 9 ended its script, and the scheduler does not say who sent it",
    ),
    "pbs": Words(
        running="qstat | awk '$2 ~ /^rfm/ && $5 == \"R\" {print $1}'",
        cancel="qdel",
        hold_all="echo 'sleep 400' | qsub -l select=4:ncpus=1 -l place=scatter:excl -l walltime=500 -o /dev/null "
        "-e /dev/null",
        cancelled="was cancelled by root@vn1 on vn1 and vn2",
        timed="the job was ended at its time limit of 20 s",
        waits="had not begun after 20 s and was cancelled (the scheduler's reason: Not Running: ",
        bad_queue="qsub: Unknown queue",
        daemon="pbs_mom",
        close="qmgr -c 'set queue workq started = False'",
        open="qmgr -c 'set queue workq started = True'",
        closed="queue workq: starts no jobs (started = False)",
        drain="pbsnodes -o -C 'bad cable' vn3",
        drained="offline (bad cable)",
        bad_resource=("-l nope=4", "qsub: Unknown resource Resource_List.nope"),
        bad_project="",
        in_job="qsub -l select=1:ncpus=1 -l place=excl -o /dev/null -e /dev/null",
        epilog=(),
        ask_drained="pbsnodes -l",
        signal="qsig -s SIGKILL {job}",
        killed="the scheduler says exit code 0, but its script did not come to its last line",
        pause="qsig -s suspend {job}",
    ),
    "sge": Words(
        running="qstat | awk '$3 ~ /^rfm/ && $5 == \"r\" {print $1}'",
        cancel="qdel",
        hold_all="echo 'sleep 400' | qsub -pe mpi-1 4 -l exclusive=true -l h_rt=500 -o /dev/null -e /dev/null",
        cancelled="was cancelled on vn1 and vn2",
        timed="the job was ended at its time limit of 20 s",
        waits="had not begun after 20 s and was cancelled (the scheduler's reason: (-l exclusive=true,",
        bad_queue='Job was rejected because job requests unknown queue "nope"',
        daemon="sge_execd",
        close="qmod -d all.q",
        open="qmod -e all.q",
        closed="queue all.q: it is disabled on all its nodes (state d)",
        drain="qmod -d all.q@vn3",
        drained="all.q is disabled there (state d)",
        bad_resource=("-l nope=1", 'qsub said: Unable to run job: unknown resource "nope"'),
        bad_project='qsub said: Unable to run job: job rejected: the requested project "nobodys" does not exist',
        in_job="qsub -pe mpi-1 1 -l exclusive=true -o /dev/null -e /dev/null",
        epilog=("qconf -mattr queue epilog root@{site}/epilog all.q",),
        ask_drained="qstat -f -qs d",
        signal="kill -9 $(pgrep -f '/job_scripts/{job}$')",
        killed="was cancelled on vn1 and vn2, or a process killed it: its script ended by signal 9",
        pause="qmod -sj {job}",
    ),
}


@dataclass(frozen=True, slots=True)
class Standing:
    """A site whose virtual cluster is up, with a scheduler on it."""

    site: VirtualSite
    bed: Testbed
    scheduler: BedScheduler
    words: Words

    @property
    def system(self) -> str:
        return f"virtual-{self.scheduler.name}"

    @property
    def one_cell(self) -> tuple[str, ...]:
        return self.cell("mpich")

    def cell(self, stack: str) -> tuple[str, ...]:
        return ("--system", f"{self.system}:hsn", "-n", "ImbUniband%rails=1", "-p", stack)

    def ask(self, command: str, *words: str) -> str:
        """Return what a command of the scheduler prints, called from the host as a person does."""
        path = f"{self.scheduler.folder_of(self.bed) / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", f'{command} "$@"' if words else command, "sh", *words],
            cwd=self.site.folder, env={"PATH": path, "HOME": "/root"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def edit(self, old: str, new: str) -> None:
        self.site.edit(f"systems/{self.system}.yaml", old, new)

    def slow(self) -> None:
        """Make the first rail so slow that a job lasts for minutes."""
        for node in NODES:
            self.bed.degrade(node, "hsn0", "slow", 1)

    def run_during(self, act: Callable[[str], object], *options: str) -> Ran:
        """Run `railyard run` with these options, and do something with its first job's number when it runs."""
        begun = time.monotonic()
        with measurement_lock(lambda sentence: None, self.site.folder):
            with self.site.start(*RAILYARD, "run", *options) as running:
                try:
                    act(self.running_job())
                    out, err = running.communicate(timeout=400)
                finally:
                    running.kill()
        return Ran(running.returncode, out, err, time.monotonic() - begun, self.site.records())

    def running_job(self) -> str:
        found: list[str] = []

        def is_running() -> bool:
            found[:] = self.ask(self.words.running).split()
            return bool(found)

        wait_for(is_running, "a job of the run")
        return found[0]


@pytest.fixture(params=WORDS)
def standing(request: pytest.FixtureRequest, site: VirtualSite) -> Iterator[Standing]:
    scheduler = lifecycle.ON_TESTBEDS[request.param]
    refused = scheduler.find_refusal()
    if refused is not None:
        pytest.skip(refused)
    with site.bed_of_system() as bed:
        lifecycle.start_scheduler(bed, scheduler)
        yield Standing(site, bed, scheduler, WORDS[request.param])


TOTALS = """\
nodes: {hardware: {cores: 16, memory: 512M}}
disabled:
  - {stack: tcp, reason: nobody knows by which MPI its client and its server are started}
  - {stack: libfabric, reason: nobody knows by which MPI its client and its server are started}
jobs:
  totals: true
"""


@pytest.fixture
def without_chunks(site: VirtualSite) -> Iterator[Standing]:
    """Return a site whose PBS takes no chunks, and whose system's file still asks in chunks."""
    scheduler = lifecycle.ON_TESTBEDS["pbs"]
    refused = scheduler.find_refusal()
    if refused is not None:
        pytest.skip(refused)
    with site.bed_of_system() as bed:
        lifecycle.start_scheduler(bed, scheduler)
        standing = Standing(site, bed, scheduler, WORDS["pbs"])
        hook = site.folder / "without_chunks.py"
        hook.write_text(pbs.totals_hook(pbs.CORES), encoding="ascii")
        standing.ask("qmgr -c", "create hook no_chunks event=queuejob")
        standing.ask("qmgr -c", f"import hook no_chunks application/x-python default {hook}")
        yield standing


def test_where_qsub_takes_no_chunks_a_job_asks_for_totals_and_each_node_gets_its_rank(without_chunks: Standing) -> None:
    standing = without_chunks
    refused = standing.site.run(*standing.one_cell)
    assert refused.code != 0 and "qsub: this server takes no chunks" in refused.full_text
    standing.edit("jobs:\n  exclusive: true\n", TOTALS)
    ran = standing.site.run("--system", f"{standing.system}:hsn", "-n", "^(ImbUniband|NetpipeStream)%rails=1")
    assert set(outcomes(ran.records).values()) == {PASSES}, ran.out + ran.err
    assert {record.test.stack for record in ran.records} == {"openmpi", "mpich", "intelmpi"}
    for record in ran.records:
        # Each rank's own reader named its node. All slots of the first node come first in PBS's list.
        proof = record.how.path_proof
        assert proof is not None and {node.node for node in proof.nodes} == {"vn1", "vn2"} == set(record.where.nodes)
    asked = standing.ask("qstat -x -f")
    assert asked.count("Resource_List.select = 2:ncpus=16:mem=524288KB:mpiprocs=16") == len(ran.records)


def test_where_qsub_takes_no_chunks_nobody_is_blamed_for_a_slow_rail(without_chunks: Standing) -> None:
    standing = without_chunks
    standing.edit("jobs:\n  exclusive: true\n", TOTALS)
    standing.bed.degrade("vn2", "hsn0", "slow", 60)
    # A host that others use may disturb what was measured; who is blamed for it is the same.
    ran = standing.site.run(*standing.one_cell, disturbed_too=True)
    assert ran.record.found.state in ("fail", DISTURBED), ran.record.found.verdict.text
    assert suspects(ran.record) == set()
    why = "nobody is blamed: jobs of virtual-pbs ask PBS for totals, and a node's name is a word of chunks"
    assert why in ran.record.found.verdict.text


def test_jobs_pass_over_one_rail_and_two(standing: Standing) -> None:
    ran = standing.site.run("--system", f"{standing.system}:hsn", "-n", "ImbUniband", "-p", "mpich")
    assert set(outcomes(ran.records).values()) == {PASSES}, ran.out + ran.err
    assert {record.test.rails for record in ran.records} == {1, 2}
    assert {record.where.nodes for record in ran.records} == {("vn1", "vn2")}


@pytest.mark.parametrize("stack", ["mpich", "intelmpi"])
def test_a_slow_rail_is_named_by_a_job_of_its_own(standing: Standing, stack: str) -> None:
    standing.bed.degrade("vn2", "hsn0", "slow", 60)
    ran = standing.site.run(*standing.cell(stack))
    assert verdict_summary(ran.record) == ("fail", 5, "fabric"), ran.record.found.verdict.text
    assert suspects(ran.record) == {("rail", "vn2", "hsn0")}
    assert f"; hsn0 of vn2 is slow {WITH_EVERY}: at best " in ran.record.found.verdict.text


def test_a_job_over_its_limit_says_so(standing: Standing) -> None:
    # Over rails that are all so slow, the job that looks for a slow one would take minutes.
    more = f"  time_limits: {{micro: {standing.words.limit}}}\nmeasure: {{probes_within: 0s}}\n"
    standing.edit("  max_pending: 2m\n", f"  max_pending: 2m\n{more}")
    standing.slow()
    ran = standing.site.run(*standing.one_cell)
    assert verdict_summary(ran.record)[:2] == ("fail", 1), ran.out
    assert standing.words.timed in ran.record.found.verdict.text


def test_a_job_that_somebody_cancels_is_no_fault_of_the_fabric(standing: Standing) -> None:
    standing.slow()
    ran = standing.run_during(lambda job: standing.ask(standing.words.cancel, job), *standing.one_cell)
    assert verdict_summary(ran.record) == ("fail", 1, "scheduler"), ran.record.found.verdict.text
    assert standing.words.cancelled in ran.record.found.verdict.text
    assert suspects(ran.record) == set()


def test_a_job_whose_script_somebody_kills_is_no_fault_of_the_fabric(standing: Standing) -> None:
    """OpenPBS says exit code 0 of it; under the others it used to be a fault of the node."""
    standing.slow()
    ran = standing.run_during(lambda job: standing.ask(standing.words.signal.format(job=job)), *standing.one_cell)
    assert verdict_summary(ran.record) == ("fail", 1, "scheduler"), ran.record.found.verdict.text
    assert standing.words.killed in ran.record.found.verdict.text
    assert suspects(ran.record) == set()


def test_a_job_that_somebody_stops_is_no_measurement(standing: Standing) -> None:
    if not standing.words.pause:
        pytest.skip(f"{standing.scheduler.title} shows no pause of a job")
    standing.slow()
    ran = standing.run_during(lambda job: standing.ask(standing.words.pause.format(job=job)), *standing.one_cell)
    assert verdict_summary(ran.record) == ("fail", 1, "scheduler"), ran.record.found.verdict.text
    assert "was suspended while it ran: its times have the pause in them" in ran.record.found.verdict.text
    assert suspects(ran.record) == set()


def test_a_job_that_waits_too_long_is_ended_and_says_so(standing: Standing) -> None:
    standing.edit("  max_pending: 2m\n", "  max_pending: 20s\n")
    standing.ask(standing.words.hold_all)
    ran = standing.site.run(*standing.one_cell)
    assert verdict_summary(ran.record) == ("fail", 1, "scheduler"), ran.record.found.verdict.text
    assert standing.words.waits in ran.record.found.verdict.text


def test_a_job_that_can_never_be_placed_says_why_in_the_schedulers_words(standing: Standing) -> None:
    options = {
        "slurm": ("--time=120", "the scheduler's reason: PartitionTimeLimit"),
        "flux": ("--requires=rank:17", "unsatisfiable request: need 2 exclusive node(s), only 0 eligible"),
        "pbs": ("host=vn9", "Can Never Run: Insufficient amount of resource: host (vn9 != vn1,vn2,vn3,vn4)"),
        "sge": ("-l num_proc=99", "cannot run because it offers only hl:num_proc="),
    }
    option, said = options[standing.scheduler.name]
    standing.edit("jobs:\n", f"access: ['{option}']\njobs:\n")
    ran = standing.site.run(*standing.one_cell)
    assert verdict_summary(ran.record) == ("fail", 1, "scheduler"), ran.record.found.verdict.text
    assert said in ran.record.found.verdict.text


def test_a_queue_that_does_not_exist_is_refused_in_the_schedulers_words(standing: Standing) -> None:
    standing.edit("jobs:\n", "jobs:\n  partition: nope\n")
    ran = standing.site.run(*standing.one_cell)
    assert ran.code != 0
    assert standing.words.bad_queue in ran.full_text


def test_a_node_that_dies_in_mid_job_is_named_and_its_neighbour_is_not(standing: Standing) -> None:
    standing.slow()

    def kill(job: str) -> None:
        wait_for(_benchmark_runs, "the benchmark on the nodes")
        state = standing.bed.state()
        own = standing.scheduler.daemons_in(state)
        there = {found: _node(found.pid) for found in find_inside(state.first).values()}
        node = _node(state.node("vn2").holder.pid)
        for found, name in own.items():
            if name == standing.words.daemon and there.get(found) == node:
                found.kill()

    ran = standing.run_during(kill, *standing.one_cell)
    assert verdict_summary(ran.record) == ("fail", 1, "node"), ran.record.found.verdict.text
    assert "was ended because a node died: " in ran.record.found.verdict.text
    assert suspects(ran.record) == {("node", "vn2", None)}


def test_the_doctor_says_that_a_queue_is_stopped_and_a_node_is_drained(standing: Standing) -> None:
    asked = (*RAILYARD, "doctor", "--system", standing.system)
    standing.ask(standing.words.close)
    assert standing.words.closed in standing.site.call(*asked).full_text
    standing.ask(standing.words.open)
    # Grid Engine has no other mark for a node than the state of the queue there.
    standing.ask(standing.words.drain)
    said = standing.site.call(*asked).full_text
    assert standing.words.closed not in said
    assert f"problem: vn3: the scheduler gives it to no job: {standing.words.drained}" in said


def test_shared_nodes_are_two_nodes_all_the_same(standing: Standing) -> None:
    if not standing.words.share:
        standing.edit("  exclusive: true\n", "")
    standing.edit("jobs:\n", "nodes: {exclusive: false}\njobs:\n")
    standing.ask(standing.words.share or "true")
    ran = standing.site.run(*standing.one_cell)
    assert set(outcomes(ran.records).values()) == {PASSES}, ran.out + ran.err
    assert ran.record.where.nodes == ("vn1", "vn2")


def test_a_resource_that_no_node_has_is_refused_in_the_schedulers_words(standing: Standing) -> None:
    option, said = standing.words.bad_resource
    standing.edit("jobs:\n", f"access: ['{option}']\njobs:\n")
    ran = standing.site.run(*standing.one_cell)
    assert ran.code != 0
    assert said in ran.full_text


def test_an_account_is_taken_where_nobody_keeps_accounts(standing: Standing) -> None:
    """OpenPBS, flux-core and Grid Engine leave it to a site's own hook, plugin or JSV, Slurm to its database."""
    standing.edit("jobs:\n", "jobs:\n  account: nobodys\n")
    ran = standing.site.run(*standing.one_cell)
    assert set(outcomes(ran.records).values()) == {PASSES}, ran.out + ran.err


def test_a_project_that_nobody_knows_is_refused_where_there_are_projects(standing: Standing) -> None:
    standing.edit("jobs:\n", "jobs:\n  project: nobodys\n")
    ran = standing.site.run(*standing.one_cell)
    if standing.words.bad_project:
        assert ran.code != 0
        assert standing.words.bad_project in ran.full_text
    else:
        assert set(outcomes(ran.records).values()) == {PASSES}, ran.out + ran.err


def test_steps_of_one_allocation_are_slurms_alone_and_that_is_said(standing: Standing) -> None:
    if standing.scheduler.name == "slurm":
        pytest.skip("test_slurm.py has it")
    ran = standing.site.finish(*RAILYARD, "run", *standing.one_cell, "--one-allocation")  # it does not measure
    assert ran.code == 2
    of = load_system(standing.site.folder / f"systems/{standing.system}.yaml").scheduler
    found = f"--one-allocation: found the scheduler {of} of {standing.system}, expected Slurm; leave it out"
    assert found in ran.full_text


def test_pairs_are_measured_in_groups_one_job_after_the_other(standing: Standing) -> None:
    words = ("pairs", "run", "--rolling", "--system", f"{standing.system}:hsn", "--group", "2", "--at-most", "1")
    ran = standing.site.call(*RAILYARD, *words)
    assert "2 of 2 groups measured" in ran.full_text, ran.full_text
    assert ran.record.where.nodes and ran.record.found.pairs is not None
    assert ran.code == 0, ran.full_text


def test_a_soak_loads_each_rail_in_a_job_and_finds_nothing_wrong(
    standing: Standing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes are those of the testbed, but the soak sees them as a cluster's own: by jobs alone.

    Under Flux the fabric has one rail: there are two cores per node here, one for its load and one for what reads its
    counters.
    """
    fabric, rails = ("eth", ["eth0"]) if standing.scheduler.name == "flux" else ("hsn", ["hsn0", "hsn1"])
    text = (standing.site.folder / f"systems/{standing.system}.yaml").read_text(encoding="utf-8")
    own = text.replace(f"system: {standing.system}\n", "system: soaked\n")
    own += "provider: nodes\nnodes: {hardware: {cores: 2, memory: 1G}}\n"
    (standing.site.folder / "systems/soaked.yaml").write_text(own, encoding="utf-8")
    monkeypatch.setenv("PATH", f"{standing.scheduler.folder_of(standing.bed) / 'bin'}:{os.environ['PATH']}")
    words = ("soak", "--system", f"soaked:{fabric}", "--nodes", "vn[1-4]", "--minutes", "0.5", "--every", "10")
    ran = standing.site.call(*RAILYARD, *words)
    assert ran.lines[-1].endswith(": 0 problems, 0 remarks"), ran.full_text
    rows = [line.split() for line in ran.lines if line.startswith("vn")]
    assert [row[:2] for row in rows] == [[node, rail] for node in NODES for rail in rails]
    assert all(float(row[2]) > 1 and float(row[3]) > 1 for row in rows), ran.full_text


def test_the_gate_in_an_epilog_drains_a_node_whose_rail_is_unplugged_and_no_other(standing: Standing) -> None:
    site, own = standing.site.folder, standing.scheduler.folder_of(standing.bed)
    drain = {
        "flux": "flux resource drain $(uname -n) gate",
        "slurm": f"{own}/bin/scontrol update NodeName=$(uname -n) State=DRAIN Reason=gate",
        "pbs": f"PBS_CONF_FILE={site}/.railyard/testbed/pbs/mom.conf {which('pbsnodes')} -o -C gate $(uname -n)",
        "sge": "qmod -d '*@'$(uname -n)",
    }[standing.scheduler.name]
    epilog = (
        f"#!/bin/sh\nexec >>{site}/gate.$(uname -n) 2>&1\ncd {site}\n"
        f"RAILYARD_HOME={site} {' '.join(RAILYARD)} gate --system {standing.system} --state /run/gate\n"
        f"[ $? -ne 1 ] || {drain}\nexit 0\n"
    )
    (site / "epilog").write_text(epilog, encoding="ascii")
    (site / "epilog").chmod(0o755)
    if standing.scheduler.name == "flux":
        toml = (own / "flux.toml").read_text(encoding="ascii")
        table = f'[job-manager.epilog]\nper-rank = true\ncommand = ["{site}/epilog"]\n'
        (site / "with-epilog.toml").write_text(f"{toml}{table}", encoding="ascii")
    elif standing.scheduler.name == "pbs":
        for node in NODES:  # pbs_mom runs only a file of root's that nobody else can write
            put = f"install -m 500 {site}/epilog /run/pbs/mom_priv/epilogue"
            assert standing.bed.exec(node, ["sh", "-c", put]).returncode == 0
    for command in standing.words.epilog:
        standing.ask(command.format(site=site))
    standing.bed.degrade("vn1", "hsn1", "unplugged")
    script = site / "short.sh"
    script.write_text("#!/bin/sh\nsleep 1\n", encoding="ascii")
    standing.ask(standing.words.in_job, str(script))
    wait_for(lambda: "vn1" in standing.ask(standing.words.ask_drained), "vn1 drained by its epilog")
    assert "vn1: unfit: " in (site / "gate.vn1").read_text(encoding="utf-8")
    assert not any(node in standing.ask(standing.words.ask_drained) for node in NODES[1:])


def test_detect_sees_in_a_job_that_it_is_one_and_how_many_nodes_there_are(standing: Standing) -> None:
    site = standing.site.folder
    conf = f"PBS_CONF_FILE={site}/.railyard/testbed/pbs/mom.conf"
    # A job of Flux has the search path of its submission, and Debian's Grid Engine is in /usr/bin.
    clients = {"flux": "", "pbs": f"export {conf} PATH={os.environ['PATH']}\n", "slurm": "", "sge": ""}
    script = site / "detect.sh"
    script.write_text(
        f"#!/bin/bash\n{clients[standing.scheduler.name]}cd {site}\n"
        f"RAILYARD_HOME={site} {' '.join(RAILYARD)} detect >detected 2>&1\necho >ended\n",
        encoding="utf-8",
    )
    standing.ask(standing.words.in_job, str(script))
    wait_for(lambda: (site / "ended").exists(), "the end of detect")
    said = (site / "detected").read_text(encoding="utf-8")
    of = load_system(site / f"systems/{standing.system}.yaml").scheduler
    assert f"(inside a job of {standing.scheduler.title.removeprefix('Open')})" in said
    assert f"\nscheduler: {of}\n" in said and "\n  count: 4\n" in said
    assert "{device: hsn0, counters: netdev}" in said


def _benchmark_runs() -> bool:
    listed = subprocess.run(["ps", "-eo", "comm"], capture_output=True, text=True, check=True).stdout
    return "IMB-MPI1" in listed.split()


def _node(pid: int) -> str:
    from os import readlink

    try:
        return readlink(f"/proc/{pid}/ns/uts")
    except OSError:
        return ""
