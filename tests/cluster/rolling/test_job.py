"""The jobs of groups as text, what a group's script does, and chains under schedulers of our own making."""

import re
import subprocess
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import pytest

from railyard.base.paths import packaged_text
from railyard.cluster.rolling import plan
from railyard.cluster.rolling.run import rolling
from railyard.cluster.rolling.under_scheduler import SAMPLE, KeptRun, jobs, runs_in
from railyard.job import clients
from railyard.site.site import Site, site_at

RUN = "20261124T040000Z-1a2b"


def plan_job(site: Site, **wanted: object) -> tuple[KeptRun, plan.Place]:
    asked = plan.PlanRequest(group=8, at_most=1, nodes="n[01-16]", **wanted)  # type: ignore[arg-type]
    place = plan.place_of(site, asked)
    leaves = plan.leaves_of(site, place)
    nodes = plan.nodes_of(site, asked.nodes, leaves, datetime(2026, 11, 24, 4))
    now = datetime(2026, 11, 24, 4, tzinfo=timezone.utc)
    return plan.plan_run(site, asked, place, nodes, RUN, now), place


def other(home: Path, scheduler: str, launcher: str) -> Site:
    """Return the site's system under another scheduler."""
    file = home / "systems/made.yaml"
    text = file.read_text(encoding="utf-8").replace("slurm-nodb", scheduler).replace("access: [--mem=0]\n", "")
    file.write_text(text.replace("launcher: srun", f"launcher: {launcher}"), encoding="utf-8")
    return site_at.__wrapped__(home, "made")


def test_the_script_of_an_array_is_this_one(site: Site, home: Path) -> None:
    run, _ = plan_job(site)
    text = jobs(site, run, Path("/site/RUN")).array_script(run.step(SAMPLE), 300)
    assert (
        text.replace(str(home), "HOME").replace(run.railyard, "VERSION")
        == f"""\
#!/bin/bash -l
#SBATCH --mem=0
#SBATCH --account=abc
#SBATCH --job-name=railyard-pairs
#SBATCH --array=1-2%1
#SBATCH --hold
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --no-requeue
#SBATCH --time=5
#SBATCH --output=job-%a.out
#SBATCH --error=job-%a.err
#SBATCH --chdir=/site/RUN/sample
module load openmpi/5.0
{_exports(text)}ulimit -S -f 1048576 2> /dev/null || :
cd "$SLURM_ARRAY_TASK_ID" || exit
mkdir -p counters
LC_ALL=C ldd HOME/railyard-pairs > linked.txt 2>&1 || :
scontrol show hostnames "$SLURM_JOB_NODELIST" | sh /site/RUN/group.sh {RUN} made VERSION timeout -k 5 270 srun \
--nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --mpi=pmix sh \
/site/RUN/reader.sh counters {RUN} eth1,eth2 eth0 -- HOME/railyard-pairs sample rounds.txt \
4194304 8 37 1 20
"""
    )


def _exports(text: str) -> str:
    """Return the stack's variables, whose table has tests of its own."""
    lines = [line for line in text.splitlines() if line.startswith("export ")]
    assert any("eth1,eth2" in line for line in lines)
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    ("scheduler", "launcher", "head", "launch"),
    [
        (
            "pbs",
            "mpirun",
            ["#PBS -W depend=afterany:41", "#PBS -l place=scatter:excl", "cd /site/RUN/sample/2"],
            "awk '!seen[$0]++' \"$PBS_NODEFILE\" | sh /site/RUN/group.sh ",
        ),
        (
            "flux-batch",
            "flux-run",
            ["#flux: --dependency=afterany:41", "#flux: --exclusive", "#flux: --cwd=/site/RUN/sample/2"],
            "flux hostlist -le | tr ' ' '\\n' | sh /site/RUN/group.sh ",
        ),
    ],
)
def test_a_job_of_a_chain_has_its_own_nodes(
    home: Path, scheduler: str, launcher: str, head: list[str], launch: str
) -> None:
    site = other(home, scheduler, launcher)
    run, _ = plan_job(site)
    step = run.step(SAMPLE)
    lines = jobs(site, run, Path("/site/RUN")).script(step, 2, 300, "41").splitlines()
    assert set(head) <= set(lines)
    nodes = step.groups[1].nodes
    asked = next(line for line in lines if "select=" in line or "--requires=" in line)
    assert re.findall(r"n[0-9]{2}", asked) == list(nodes)
    assert lines[-1].startswith(launch)
    assert all(node in lines[-1] for node in nodes)


def test_a_step_over_one_rail_is_launched_over_that_alone(site: Site) -> None:
    run, _ = plan_job(site)
    text = jobs(site, run, Path("/site/RUN")).limit_to_rail("eth2").array_script(run.step(SAMPLE), 300)
    assert f"counters {RUN} eth2 eth1,eth0 --" in text
    assert "eth1,eth2" not in text


def test_a_budget_and_a_sample_bound_the_rounds_of_a_group(site: Site) -> None:
    run, place = plan_job(site, sample=3)
    made, _ = plan.write_first_step(site, run, place, 3)
    text = (made.folder / "sample/1/pairs.txt").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 3
    assert [len(line.split()) for line in text.splitlines()] == [4, 4, 4]
    # The launch over eight nodes takes 5.04 s by the estimate, and what is left has room for so many rounds.
    assert plan.rounds_within(5.04 + 2.5 * place.round_s(8), place, 8) == 2


@pytest.fixture
def group(tmp_path: Path) -> Path:
    (tmp_path / "group.sh").write_text(packaged_text("cluster/rolling/group.sh"), encoding="utf-8")
    (tmp_path / "pairs.txt").write_text("n1/n9 n2/n3\nn1/n2 n3/n9\nn9/n8\n", encoding="ascii")
    return tmp_path


def ran(group: Path, hosts: Sequence[str], *words: str) -> int:
    lines = "".join(f"{host}\n" for host in hosts)
    return subprocess.run(
        ["sh", "group.sh", "TAG", "made", "0.1.0", *words], cwd=group, input=lines, text=True, check=False
    ).returncode


def text(group: Path, name: str) -> str:
    return (group / name).read_text(encoding="utf-8")


def test_a_group_measures_the_pairs_of_the_nodes_that_it_has(group: Path) -> None:
    # Ranks are those of the scheduler's list; n8 was drained, and names have their domain.
    assert ran(group, ["N9.cluster", "n1", "n2.cluster", "n3"], "cat", "rounds.txt") == 0
    assert text(group, "rounds.txt") == "0-1 2-3\n1-2 0-3\n"
    assert text(group, "pairs.out") == text(group, "rounds.txt")
    assert text(group, "begun").split()[:3] == ["TAG", "made", "0.1.0"]
    assert text(group, "end").split()[:3] == ["TAG", "0", "16"]
    assert not (group / "end.part").exists()


def test_a_launch_that_fails_is_in_the_end_of_its_group(group: Path) -> None:
    (group / "end").write_text("of an earlier run\n", encoding="ascii")
    assert ran(group, ["n1", "n2"], "sh", "-c", "echo half; echo broken >&2; exit 13") == 13
    assert text(group, "end").split()[:3] == ["TAG", "13", "5"]
    assert (text(group, "pairs.out"), text(group, "pairs.err")) == ("half\n", "broken\n")


@pytest.mark.parametrize("hosts", [[], ["n1"], ["n7", "n8"]])
def test_a_group_without_any_of_its_pairs_says_so_and_launches_nothing(group: Path, hosts: list[str]) -> None:
    assert ran(group, hosts, "touch", "launched") == 65
    assert text(group, "pairs.err").startswith("railyard: no pair of the group is among the job's nodes: ")
    assert text(group, "end").split()[:3] == ["TAG", "65", "0"]
    assert not (group / "launched").exists()


#: A scheduler -> its launcher, what submits a job's script and prints, and what asks about and ends one.
CHAINS = {
    "pbs": (
        "mpirun",
        "qsub",
        "{0}.server",
        "qstat",
        "Job Id: 1\n    job_state = {0}",
        "Q",
        "R",
        "F\n    Exit_status = 0",
        "qdel",
    ),
    "flux-batch": (
        "flux-run",
        "flux batch",
        "f{0}",
        "flux jobs",
        "{0}|||||",
        "SCHED",
        "RUN",
        "COMPLETED",
        "flux cancel",
    ),
}


@pytest.mark.parametrize("scheduler", CHAINS)
def test_groups_run_in_a_chain_under_a_scheduler_whose_arrays_are_given_no_nodes(
    home: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str
) -> None:
    launcher, submits, number, asks, shows, waits, runs, ended, cancels = CHAINS[scheduler]
    calls: list[str] = []
    states: dict[str, str] = {}

    def answer(words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        said = " ".join(words)
        calls.append(said)
        out = ""
        if said.startswith(submits):
            job = number.format(len(states) + 1)
            states[job] = waits
            out = job
        elif said.startswith(asks):
            out = shows.format(states[words[-1]])
        elif said.startswith(cancels):
            states[words[-1]] = ended
        return subprocess.CompletedProcess(list(words), 0, f"{out}\n", "")

    monkeypatch.setattr(clients, "client_end", answer)
    site = other(home, scheduler, launcher)
    run, place = plan_job(site)
    _, seconds = plan.write_first_step(site, run, place, None)
    made = rolling(site, run, runs_in(home) / RUN, 8, lambda sentence: None)
    run = made.submit_step(run, run.step(SAMPLE), seconds)
    first, second = (group.job for group in run.step(SAMPLE).groups)
    assert (first, second) == (number.format(1), number.format(2))
    script = (made.folder / "sample/2/job.sh").read_text(encoding="utf-8")
    assert f"afterany:{first}" in script
    asked = len(calls)
    seen = made.current_progress(run)
    assert [one.kind for one in seen.parts] == ["waits", "waits"]
    # The second is not asked for: it cannot have begun.
    assert len(calls) == asked + 1
    states[first] = runs
    assert [one.kind for one in made.current_progress(run).parts] == ["runs", "waits"]
    states[first] = ended
    assert [(one.kind, one.words) for one in made.current_progress(run).parts] == [
        ("lost", f"its job ended ({ended.split()[0]}), before it began"),
        ("waits", "its job waits"),
    ]
    calls.clear()
    made.scheduler().cancel(run)
    # The last one first: the end of each would let the next begin.
    assert [call.split()[-1] for call in calls] == [second, first]
