"""A job that measures single rails: how it asks each scheduler for nodes, the words of a step, and its script."""

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.job.launch import Launch
from railyard.job.probe_job import (
    SCRIPT,
    STARTED_AGAIN,
    job_lines,
    no_more,
    node_request,
    probes_script,
    question,
    step_words,
)
from railyard.stacks import ask

PAIR = ("n9", "n10")
OTHERS = ("n1", "n2", "n3")


def launch(stack: str, options: tuple[str, ...] = ()) -> Launch:
    settings = ask.settings(stack, "ib", ("mlx5_0:1",), 1, None)
    return Launch("/opt/mpi/bin/mpirun", {}, options, settings, ("mlx5_0:1",), (), PAIR)


@pytest.mark.parametrize(
    ("scheduler", "count", "options", "tasks"),
    [
        ("slurm-nodb", 4, ("--nodes=4", "--nodelist=n9,n10", "--no-requeue"), True),
        ("slurm", 3, ("--nodes=3", "--nodelist=n9,n10", "--no-requeue"), True),
        (
            "pbs",
            4,
            ("-l select=1:ncpus=1:mpiprocs=1:host=n9+1:ncpus=1:mpiprocs=1:host=n10+2:ncpus=1:mpiprocs=1",),
            False,
        ),
        ("pbs", 2, ("-l select=1:ncpus=1:mpiprocs=1:host=n9+1:ncpus=1:mpiprocs=1:host=n10",), False),
        ("torque", 4, ("-l nodes=n9:ppn=1+n10:ppn=1+2:ppn=1",), False),
        ("lsf", 4, ("-n 4", '-m "n9 n10 n1 n2"', '-R "span[ptile=1]"'), False),
        ("flux-batch", 4, ("--nodes=4", "--requires=host:n9,n10,n1,n2"), False),
        ("sge", 4, ("-l hostname=n9|n10|n1|n2",), False),
    ],
)
def test_each_scheduler_is_asked_for_the_pair_and_for_partners(
    scheduler: str, count: int, options: tuple[str, ...], tasks: bool
) -> None:
    asked = node_request(scheduler, PAIR, OTHERS, count)
    assert (asked.options, asked.tasks) == (options, tasks)


def test_a_scheduler_that_is_not_asked_for_names_is_said_so() -> None:
    with pytest.raises(RailyardError, match=r"^Railyard cannot ask the scheduler oar for nodes by name$"):
        node_request("oar", PAIR, (), 4)


@pytest.mark.parametrize(
    ("launcher", "stack", "options", "words"),
    [
        (
            "srun",
            "openmpi",
            ("--mpi=pmix",),
            "srun --ntasks=2 --ntasks-per-node=1 --nodelist=n9,n10 --mpi=pmix --distribution=arbitrary",
        ),
        (
            "srunalloc",
            "openmpi",
            ("--mpi=pmix", "--nodes=2", "--nodelist=n9,n10"),
            "srun --ntasks=2 --ntasks-per-node=1 --mpi=pmix --nodelist=n9,n10 --distribution=arbitrary",
        ),
        (
            "mpirun",
            "openmpi",
            ("-x", "A=1"),
            'sh -c \'exec /opt/mpi/bin/mpirun -H n9:1 -np 1 "$@" : -H n10:1 -np 1 "$@"\' mpirun -x A=1',
        ),
        ("mpiexec", "mpich", (), "/opt/mpi/bin/mpiexec -hosts n9,n10 -n 2 -ppn 1"),
        # In a job of Grid Engine Intel MPI puts both ranks on n9 if there is no number at each host.
        ("mpirun", "intelmpi", (), "/opt/mpi/bin/mpirun -hosts n9:1,n10:1 -n 2 -ppn 1"),
    ],
)
def test_a_step_is_told_its_two_nodes_of_the_job_and_ends(
    launcher: str, stack: str, options: tuple[str, ...], words: str
) -> None:
    found = step_words(launcher, stack, launch(stack, options), 20)
    assert found == ["timeout", "-k", "5", "20", *shlex.split(words)]


#: What Slurm says to a job of two nodes.
SLURM_JOB = {
    "SLURM_JOBID": "7", "SLURM_JOB_ID": "7", "SLURM_NODELIST": "vn[1-2]", "SLURM_JOB_NODELIST": "vn[1-2]",
    "SLURM_TASKS_PER_NODE": "1(x2)", "SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2",
    "SLURM_JOB_CPUS_PER_NODE": "2(x2)",
}  # fmt: skip


def mapped_nodes(command: list[str], folder: Path) -> list[str]:
    """Return the nodes on which Open MPI's mpirun would place ranks 0 and 1 in a job of Slurm; it starts nothing."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(folder), **root, **SLURM_JOB}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    ranks = re.findall(r"Data for node: (\S+)\s[^\n]*\n\s*Process [^\n]* Process rank: ([0-9]+)", done.stdout)
    return [node for node, rank in sorted(ranks, key=lambda found: int(found[1]))]


#: The genuine words of Slurm's pmi2 when it broke a start.
PMI2 = Path(__file__).parents[1] / "recordings/failed/mpich5.0.2-pmi2-of-slurm22.05.8.err"


def run_step(folder: Path, srun: str, limit_s: int, merged: bool) -> tuple[int, int, str, str]:
    """Return exit code, number of starts, output and error output of a step of MPICH, whose srun is this script."""
    (folder / "srun").write_text(f"#!/bin/sh\necho >>starts; number=$(wc -l <starts)\n{srun}\n", encoding="ascii")
    (folder / "srun").chmod(0o755)
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
        words = step_words("srun", "mpich", launch("mpich", ("--mpi=pmi2",)), limit_s)
        code = subprocess.run(words, cwd=folder, env=env, stdout=out, stderr=out if merged else err, check=False)
    starts, said, errors = ((folder / name).read_text(encoding="utf-8") for name in ("starts", "out", "err"))
    return code.returncode, starts.count("\n"), said, errors


BREAKS, GOOD = f"echo begins; cat {PMI2} >&2; exit 15", "echo result; echo remark >&2"


@pytest.mark.parametrize(
    ("srun", "limit_s", "expected"),
    [
        # The second start has other memory: with the same it would fail again.
        (
            f"case $GLIBC_TUNABLES in *=1) ;; *) {BREAKS};; esac; {GOOD}",
            20,
            (0, 2, "result\n", f"{STARTED_AGAIN}\nremark\n"),
        ),
        (BREAKS, 20, (15, 2, "begins\n", f"{STARTED_AGAIN}\n{PMI2.read_text(encoding='utf-8')}")),
        # No time is left for a second start.
        (f"{BREAKS.partition('exit')[0]} sleep 9", 1, (124, 1, "begins\n", PMI2.read_text(encoding="utf-8"))),
        (f"cat {PMI2} >&2; {GOOD}", 20, (0, 1, "result\n", f"{PMI2.read_text(encoding='utf-8')}remark\n")),
        ("echo some; echo other >&2; exit 3", 20, (3, 1, "some\n", "other\n")),
    ],
)
@pytest.mark.parametrize("merged", [False, True])
def test_a_step_is_started_again_once_if_the_launchers_bug_ended_its_start(
    tmp_path: Path, srun: str, limit_s: int, expected: tuple[int, int, str, str], merged: bool
) -> None:
    code, starts, out, err = run_step(tmp_path, srun, limit_s, merged)
    assert (code, starts) == expected[:2]
    if merged:  # in the order in which a step prints them
        out, err = "".join(sorted(out.splitlines(True))), ""
        expected = (*expected[:2], "".join(sorted("".join(expected[2:]).splitlines(True))), "")
    assert (out, err) == expected[2:]


def test_open_mpi_takes_the_order_of_a_step_and_not_that_of_the_job(tmp_path: Path) -> None:
    program = shutil.which("mpirun.openmpi")
    if program is None:
        pytest.skip("Open MPI's mpirun is not installed here: apt-get install openmpi-bin")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if " 4." not in said.partition("\n")[0]:
        pytest.skip(f"only mpirun of Open MPI 4 shows its map without starting anything, found {said!r}")
    (tmp_path / "mpirun").symlink_to(program)
    only_shown = ("--do-not-launch", "--display-map")
    one_list = [program, "-H", "vn2:1,vn1:1", "-np", "2", *only_shown, "true"]
    assert mapped_nodes(one_list, tmp_path) == ["vn1", "vn2"], "as the job has them, whatever the list says"
    for nodes in (("vn2", "vn1"), ("vn1", "vn2")):
        step = replace(launch("openmpi", only_shown), program=str(tmp_path / "mpirun"), nodes=nodes)
        assert mapped_nodes([*step_words("mpirun", "openmpi", step, 20), "true"], tmp_path) == list(nodes)


def test_flux_is_told_the_order_of_a_steps_nodes_in_a_file(tmp_path: Path) -> None:
    shown = 'for word; do case $word in --taskmap=hostfile:*) cat "${word#*:}";; esac; done'
    (tmp_path / "flux").write_text(f'#!/bin/sh\nprintf "%s " "$@" >>words\n{shown}\n', encoding="ascii")
    (tmp_path / "flux").chmod(0o755)
    words = [*step_words("flux-run", "mpich", launch("mpich", ("-opt",)), 20), "sh", "-c", "a b"]
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "n9\nn10\n"
    told = (tmp_path / "words").read_text(encoding="ascii").split(" ", 2)
    assert (told[0], told[1].partition(".")[0]) == ("run", "--taskmap=hostfile:")
    assert told[2] == "--nodes=2 --ntasks=2 --requires=host:n9,n10 -opt sh -c a b "
    assert {path.name for path in tmp_path.iterdir()} == {"flux", "words"}


def test_a_launcher_that_cannot_be_told_nodes_is_named() -> None:
    with pytest.raises(RailyardError, match=r"^Railyard cannot give the launcher ibrun the nodes to use; it knows"):
        step_words("ibrun", "openmpi", launch("openmpi"), 20)


@pytest.mark.parametrize(
    ("scheduler", "environment"),
    [
        ("slurm-nodb", {"SLURM_JOB_NODELIST": "n[9-10],n5,n7"}),
        ("pbs", {"PBS_NODEFILE": "hosts"}),
        ("lsf", {"LSB_DJOB_HOSTFILE": "hosts"}),
        ("sge", {"PE_HOSTFILE": "slots"}),
    ],
)
def test_the_job_runs_its_steps_in_their_order_and_names_the_partners(
    tmp_path: Path, scheduler: str, environment: dict[str, str]
) -> None:
    (tmp_path / "bin").mkdir()
    listed = 'printf "%s\\n" n9 n10 n5 n7'
    (tmp_path / "bin/scontrol").write_text(
        f'#!/bin/sh\n[ "$*" = "show hostnames n[9-10],n5,n7" ] && {listed}\n', encoding="ascii"
    )
    (tmp_path / "bin/scontrol").chmod(0o755)
    # A node file has full names, and one line per process.
    (tmp_path / "hosts").write_text("n9.hpc\nn10.hpc\nn10.hpc\nn5\nn7\n", encoding="ascii")
    lines = [f"{node} 1 all.q@{node} UNDEFINED\n" for node in ("n9.hpc", "n10.hpc", "n5", "n7")]
    # One with slots in two queues has two lines.
    (tmp_path / "slots").write_text("".join([*lines[:3], lines[2].replace("all.q", "hpc.q"), *lines[3:]]), "ascii")
    (tmp_path / SCRIPT).write_text(probes_script(), encoding="utf-8")
    steps = ["probe-1-r-n9-n10", "probe-1-r-n9-railyard-partner-2", "probe-1-r-railyard-partner-1-railyard-partner-2"]
    for step in steps:
        # A program that reads all its input: the rest of the list is not for it.
        text = f"cat; echo {step} >>order; echo ran {step}; echo and complained >&2\n"
        (tmp_path / f"{step}.sh").write_text(text, encoding="ascii")
    (tmp_path / "p.list").write_text("".join(f"{step}\n" for step in steps), encoding="ascii")
    (tmp_path / no_more("p")).touch()
    (tmp_path / "job.sh").write_text("\n".join(job_lines("p", scheduler, PAIR, 60, 60)) + "\n", encoding="utf-8")
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", **environment}
    done = subprocess.run(["sh", "job.sh"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert (tmp_path / "p.nodes").read_text(encoding="ascii").split() == ["n5", "n7"]
    real = ["probe-1-r-n9-n10", "probe-1-r-n9-n7", "probe-1-r-n5-n7"]
    assert (tmp_path / "order").read_text(encoding="ascii").split() == real
    assert {path.name for path in tmp_path.glob("probe-*") if "partner" not in path.name} == {
        f"{step}.{kind}" for step in real for kind in ("sh", "out")
    }
    assert (tmp_path / "probe-1-r-n5-n7.out").read_text(encoding="ascii") == "ran probe-1-r-n5-n7\nand complained\n"


@pytest.mark.parametrize("listed", ["n9.hpc\nn10.hpc\nn5.hpc\n", "n9\nn10\nn5\n"])
@pytest.mark.parametrize("pair", [("n9.hpc", "n10.hpc"), ("n9", "n10")])
def test_a_domain_makes_no_partner_of_a_node_of_the_pair(tmp_path: Path, listed: str, pair: tuple[str, str]) -> None:
    (tmp_path / SCRIPT).write_text(probes_script(), encoding="utf-8")
    (tmp_path / "p.list").write_text("", encoding="ascii")
    subprocess.run(["sh", SCRIPT, "p", "0", "0", *pair], cwd=tmp_path, input=listed, text=True, check=True)
    assert [node.partition(".")[0] for node in (tmp_path / "p.nodes").read_text(encoding="ascii").split()] == ["n5"]


def test_no_step_begins_when_the_time_is_over(tmp_path: Path) -> None:
    (tmp_path / SCRIPT).write_text(probes_script(), encoding="utf-8")
    (tmp_path / "a.sh").write_text("touch begun\n", encoding="ascii")
    (tmp_path / "p.list").write_text("a\n", encoding="ascii")
    subprocess.run(["sh", SCRIPT, "p", "0", "0", *PAIR], cwd=tmp_path, input="n9\nn10\n", text=True, check=True)
    assert not (tmp_path / "begun").exists()
    assert (tmp_path / "p.nodes").read_text(encoding="ascii").split() == []


def asked_job(folder: Path, limit_s: int, asked_s: int) -> subprocess.Popen[str]:
    """Start the job's script in a folder with two planned steps; the first waits for a file ``go``."""
    (folder / SCRIPT).write_text(probes_script(), encoding="utf-8")
    (folder / "a.sh").write_text("echo a >> order; until [ -e go ]; do sleep 0.05; done\n", encoding="ascii")
    (folder / "p.list").write_text("a\nb\n", encoding="ascii")
    for step in ("b", "c", "d"):
        (folder / f"{step}.sh").write_text(f"echo {step} >> order; echo said {step}\n", encoding="ascii")
    words = ["sh", SCRIPT, "p", str(limit_s), str(asked_s), *PAIR]
    running = subprocess.Popen(words, cwd=folder, stdin=subprocess.PIPE, text=True)
    assert running.stdin is not None
    running.stdin.close()
    return running


def test_what_is_asked_while_the_job_runs_is_its_next_step_and_it_waits_for_more(tmp_path: Path) -> None:
    with asked_job(tmp_path, 60, 60) as running:
        for number, step in enumerate(("c", "d"), start=1):
            (tmp_path / question("p", number)).write_text(f"{step}\n", encoding="ascii")
        (tmp_path / "go").touch()
        while not (tmp_path / "b.out").exists():
            assert running.poll() is None
        (tmp_path / "e.sh").write_text("echo e >> order; echo said e\n", encoding="ascii")
        (tmp_path / question("p", 3)).write_text("e\n", encoding="ascii")
        while not (tmp_path / "e.out").exists():
            assert running.poll() is None, "its list is at its end, and it is asked once more"
        (tmp_path / no_more("p")).touch()
        assert running.wait(timeout=60) == 0
    # The first step may have begun before anything was asked.
    order = (tmp_path / "order").read_text(encoding="ascii").split()
    assert order[-2:] == ["b", "e"] and sorted(order[:-2]) == ["a", "c", "d"]
    assert (tmp_path / "d.out").read_text(encoding="ascii") == "said d\n"
    assert not (tmp_path / "p.look").exists()


def test_a_job_whose_time_is_over_answers_nothing_more_and_ends(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    (tmp_path / question("p", 1)).write_text("c\n", encoding="ascii")
    with asked_job(tmp_path, 0, 0) as running:
        assert running.wait(timeout=60) == 0
    assert not (tmp_path / "order").exists()
