"""A job that measures pairs of nodes between GPUs: its script, the words of a step, and what its nodes counted."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.job.counters import parse
from railyard.job.gpu_steps import (
    ALL_GPUS,
    GPU,
    NODES,
    ONE_GPU,
    ROUNDS,
    SCRIPT,
    EndedStep,
    PairSteps,
    counters_of_nodes,
    lister,
    next_command,
    script,
    template,
)
from railyard.job.launch import Launch, Ranks, plan_launch
from railyard.parsers import gpu_pairs
from railyard.parsers.gpu_pairs import FOLDER, Step, steps_of
from tests.made.nccl import RAILS, gpu_site
from tests.patience import PATIENCE_S

TAG = "1a2b-3c"


def launch(folder: Path, per_node: int, variables: dict[str, str] | None = None, launcher: str = "srun") -> Launch:
    ranks = Ranks(2 * per_node, per_node, launcher=launcher, variables=variables or {})
    return plan_launch(gpu_site(folder), "ndr", "nccl", RAILS, NODES, ranks, as_root=False)


def test_a_step_of_srun_fills_two_nodes_under_the_reader_and_is_ended_in_time(tmp_path: Path) -> None:
    job = launch(tmp_path, 4)
    line = template("srun", "openmpi", job, 4, 60, ["/opt/alltoall_perf", "-b", "8"], job.env)
    assert line.startswith(
        "timeout -k 45 60 srun --ntasks=8 --ntasks-per-node=4 --nodes=2 --nodelist=railyard-first,railyard-second "
    )
    assert "--kill-on-bad-exit=1 --distribution=block sh reader.sh railyard-out railyard-tag " in line
    assert line.endswith(f" {','.join(RAILS)} '' -- /opt/alltoall_perf -b 8\n")


@pytest.mark.parametrize("launcher", ["srun", "mpirun", "flux-run"])
def test_a_step_of_one_gpu_says_which_by_every_launcher(tmp_path: Path, launcher: str) -> None:
    job, one = launch(tmp_path, 4, launcher=launcher), launch(tmp_path, 1, {"NCCL_TESTS_DEVICE": GPU}, launcher)
    line = template(launcher, "openmpi", one, 1, 60, ["/opt/alltoall_perf"], job.env)
    assert line.startswith("env NCCL_TESTS_DEVICE=railyard-gpu timeout -k 45 60 ")
    if launcher == "mpirun":  # a launcher of MPI hands on to other nodes what it is told to alone
        assert "NCCL_TESTS_DEVICE" in line.partition(" timeout ")[2]
        assert "-H railyard-first:1 -np 1" in line and "-H railyard-second:1 -np 1" in line


def test_the_nodes_of_a_job_are_those_known_or_the_schedulers() -> None:
    assert lister("local", "mpirun", ("g1", "g2")) == "printf '%s\\n' g1 g2"
    assert lister("slurm", "srun", ()) == 'scontrol show hostnames "$SLURM_JOB_NODELIST"'
    assert lister("local", "srunalloc", ()) == 'scontrol show hostnames "$SLURM_JOB_NODELIST"'
    assert "PBS_NODEFILE" in lister("pbs", "mpirun", ())


def test_what_to_measure_next_is_asked_of_the_logs_that_are_there() -> None:
    assert next_command(["--switches", "switches.txt"]) == (
        f"{sys.executable} -m railyard pairs next --tool nccl --switches switches.txt "
        "--at-once 'gpu-pairs/rounds-*.log' 'gpu-pairs/*.log'"
    )


def ran(folder: Path, rounds: str, step: str, ask: str = "true", limit_s: int = 100) -> tuple[list[Step], str]:
    """Run the script with steps that are shell lines; return its steps and what it printed."""
    for name, text in {SCRIPT: script(), ROUNDS: rounds, ALL_GPUS: step, ONE_GPU: f"echo one {GPU}; {step}"}.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = PairSteps("alltoall_perf", limit_s, 10, "printf '%s\\n' n1 n2 n3.x n4", ask)
    shell = shutil.which("dash") or "sh"
    done = subprocess.run(
        [shell, *command.words("", [], (), TAG)[1:]], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stderr) == (0, "")
    (table,) = gpu_pairs.parse(done.stdout).tables
    assert table.complete
    return list(steps_of(table)), done.stdout


ROUNDS_OF_FOUR = "0,1,all 2,3,all\n0,2,all 1,3,all\n"


def test_each_pair_is_a_step_with_a_log_of_its_own_and_one_that_fails_costs_its_own_alone(tmp_path: Path) -> None:
    step = "echo railyard-first railyard-second railyard-tag railyard-out; [ railyard-second != n3.x ]\n"
    steps, _ = ran(tmp_path, ROUNDS_OF_FOUR, step)
    assert [(one.first, one.second, one.exit_code) for one in steps] == [
        ("n1", "n2", 0), ("n3.x", "n4", 0), ("n1", "n3.x", 1), ("n2", "n4", 0),
    ]  # fmt: skip
    said = (tmp_path / steps[0].log).read_text(encoding="utf-8")
    assert said == f"n1 n2 {TAG} {FOLDER}/rounds-n1_n2\n"
    assert (tmp_path / FOLDER / "rounds-n1_n2").is_dir(), "for the counters of its nodes"


def test_the_pairs_of_a_round_run_at_once(tmp_path: Path) -> None:
    """Each waits for the other: one after the other they would wait until their time is over."""
    waits = "n=0; until [ -e n1 ] && [ -e n3.x ]; do n=$((n + 1)); [ $n -lt 999999 ] || exit 1; done"
    steps, _ = ran(tmp_path, "0,1,all 2,3,all\n", f"touch railyard-first; {waits}\n")
    assert [one.exit_code for one in steps] == [0, 0]


def test_it_asks_until_nothing_new_is_said_and_makes_no_step_twice(tmp_path: Path) -> None:
    ask = f"ls {FOLDER} | grep -q alone-n1_n2 && echo n1,n2,3 || printf 'n1,n2,all\\nn9,n1,all\\nn3,n1,all\\n'"
    steps, _ = ran(tmp_path, ROUNDS_OF_FOUR, "true\n", ask)
    assert [one.name for one in steps if one.alone] == ["alone-n1_n2", "alone-n3.x_n1", "alone-n1_n2-gpu3"]
    assert (tmp_path / FOLDER / "alone-n1_n2-gpu3.log").read_text(encoding="utf-8") == "one 3\n"


def test_rounds_that_may_not_end_in_time_are_not_begun_and_counted(tmp_path: Path) -> None:
    steps, printed = ran(tmp_path, ROUNDS_OF_FOUR, "true\n", limit_s=5)
    assert steps == [] and "# stopped: 2 rounds left\n" in printed


def counters(node: str, sent: tuple[int, int], end: str = "end 0\n") -> str:
    lines = [f"railyard-counters 1 {TAG}", f"node {node}", "first-by SLURM_LOCALID", "meant mlx5_0:1"]
    for when, value in zip(("before", "after"), sent, strict=True):
        lines += [f"{when} at {value}.00"]
        lines += [f"{when} mlx5_0:1 {name} {value}" for name in ("tx_bytes", "rx_bytes")]
        lines += [f"{when} - processors_cs {value}"]
    return "\n".join([*lines, end])


def ended_step(first: str, second: str, *texts: str) -> EndedStep:
    return EndedStep(Step(f"rounds-{first}_{second}", False, first, second, None, 0, 1), "", texts)


def test_a_nodes_counters_are_those_before_its_first_step_and_after_its_last() -> None:
    steps = [
        ended_step("n1", "n2", counters("n1", (10, 20)), counters("n2", (100, 200))),
        ended_step("n1", "n3", counters("n1", (30, 45))),
    ]
    first, second = (parse(text, TAG) for text in counters_of_nodes(steps))
    assert (first.node, first.devices[0].tx.delta_bytes, first.exit_code) == ("n1", 35, 0)
    assert (second.node, second.devices[0].tx.delta_bytes) == ("n2", 100)
    assert first.used_s is None, "the processors' time is of another reader"


def test_a_last_step_that_was_killed_says_so() -> None:
    killed = counters("n1", (30, 45), "").partition("after at")[0]
    (text,) = counters_of_nodes([ended_step("n1", "n2", counters("n1", (10, 20))), ended_step("n1", "n3", killed)])
    assert parse(text, TAG).exit_code is None
