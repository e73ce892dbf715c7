"""Stand-ins of a stack's own launcher: the words that they accept, where ranks run, and what each rank gets."""

import os
import subprocess
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.moved_bytes import Repetitions
from railyard.job.counters import reader_script
from railyard.parsers import osu
from railyard.provision.rehearsal.form import Fault
from railyard.provision.rehearsal.launcher import (
    OPEN_MPI,
    of_hostfile,
    of_slurm,
    plan,
    read,
    start_on_each,
)
from railyard.provision.rehearsal.prepare import KNOWN, write_launchers
from railyard.provision.rehearsal.sysfs import Machine
from railyard.site.systems.jobs import OWN_LAUNCHERS
from railyard.stacks import ask
from railyard.stacks.model import STACKS
from tests.patience import PATIENCE_S
from tests.provision.rehearsal.conftest import TAG, Bed, Ran

#: Two sockets of four cores, of two threads each: cores 0 to 3 are near the first, with 8 to 11.
MACHINE = Machine(2, 4, 2, 1 << 30)
JOB = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2,9]", "SLURM_TASKS_PER_NODE": "2(x2),1"}


def plan_lines(stack: str, words: str, **job: str) -> dict[str, list[str]]:
    return plan(stack, read(stack, words.split(), {}), MACHINE, {**JOB, **job})


def places(stack: str, words: str, **job: str) -> list[tuple[str, str, str]]:
    """Return node, number there and processors, in the order of the ranks."""
    found = [
        (line.split(f"{_RANK[stack]}=")[1].split()[0], node, *line.split()[:2])
        for node, lines in plan_lines(stack, words, **job).items()
        for line in lines
    ]
    return [(node, local, bound) for _, node, local, bound in sorted(found)]


_RANK = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK", "intelmpi": "PMI_RANK", "craympich": "PALS_RANKID"}


def test_ranks_fill_the_slots_of_each_node_in_the_jobs_order() -> None:
    assert [place[:2] for place in places("mpich", "-n 5 prog")] == [
        ("n1", "0"), ("n1", "1"), ("n2", "0"), ("n2", "1"), ("n9", "0"),
    ]  # fmt: skip
    assert [place[:2] for place in places("openmpi", "-H n9:1,n2:1 -np 2 prog")] == [("n2", "0"), ("n9", "0")]
    parts = "-H n9:1 -np 1 -x A=1 prog -a : -H n2:1 -np 1 -x A=1 prog -a"
    assert [place[:2] for place in places("openmpi", parts)] == [("n9", "0"), ("n2", "0")]
    assert read("openmpi", parts.split(), {}).command == ("prog", "-a")
    three = "-H n2 -np 1 prog : -H n1 -np 2 prog : -H n9 -np 1 prog"
    assert [place[:2] for place in places("openmpi", three)] == [("n2", "0"), ("n1", "0"), ("n1", "1"), ("n9", "0")]
    assert [place[:2] for place in places("intelmpi", "-ppn 1 -n 3 prog")] == [("n1", "0"), ("n2", "0"), ("n9", "0")]


@pytest.mark.parametrize(
    ("stack", "words", "bound"),
    [
        ("openmpi", "-np 2 prog", ["0,8", "1,9"]),
        ("openmpi", "-np 3 prog", ["0-3,8-11", "4-7,12-15", "0-3,8-11"]),
        ("openmpi", "-np 2 --bind-to none prog", ["-", "-"]),
        ("openmpi", "-np 2 --map-by slot:PE=2 --bind-to core prog", ["0-1,8-9", "2-3,10-11"]),
        ("openmpi", "-np 2 --map-by numa --bind-to numa prog", ["0-3,8-11", "4-7,12-15"]),
        ("mpich", "-n 2 prog", ["-", "-"]),
        ("mpich", "-n 2 -bind-to core:4 prog", ["0-3,8-11", "4-7,12-15"]),
        ("mpich", "-n 2 -bind-to numa prog", ["0-3,8-11", "4-7,12-15"]),
        ("intelmpi", "-n 2 prog", ["0-3,8-11", "4-7,12-15"]),
        ("intelmpi", "-n 2 -genv I_MPI_PIN 0 prog", ["-", "-"]),
        ("craympich", "-n 2 --depth 2 --cpu-bind depth prog", ["0-1,8-9", "2-3,10-11"]),
    ],
)
def test_a_rank_is_bound_as_its_launcher_binds_it(stack: str, words: str, bound: list[str]) -> None:
    assert [place[2] for place in places(stack, words)] == bound


def test_each_launcher_sets_its_own_variables() -> None:
    (line,) = plan_lines("openmpi", "-np 1 prog")["n1"]
    assert line.split()[2:] == [
        "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_LOCAL_RANK=0",
        "OMPI_COMM_WORLD_LOCAL_SIZE=1", "OMPI_COMM_WORLD_NODE_RANK=0", "PMIX_RANK=0", "SLURM_PROCID=0",
    ]  # fmt: skip
    line = plan_lines("mpich", "-n 4 prog")["n2"][1]
    assert line.split()[2:] == ["PMI_RANK=3", "PMI_SIZE=4", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"]


def test_slurms_number_is_that_of_open_mpis_own_process_and_no_ranks() -> None:
    """It starts its own node's ranks itself, and Slurm counts those of the other nodes from 0."""
    found = {node: lines[0].split("SLURM_PROCID=")[1] for node, lines in plan_lines("openmpi", "-np 5 prog").items()}
    assert found == {"n1": "0", "n2": "0", "n9": "1"}


def test_variables_reach_every_rank() -> None:
    told = read("openmpi", ["-x", "A=1", "-x", "B", "--mca", "btl", "tcp", "prog", "-x", "C=2"], {"B": "2"})
    assert (told.variables, told.command) == ({"A": "1", "B": "2", "OMPI_MCA_btl": "tcp"}, ("prog", "-x", "C=2"))
    assert read("mpich", ["-genv", "A", "1", "prog"], {}).variables == {"A": "1"}
    assert read("craympich", ["--env", "A=1", "prog"], {}).variables == {"A": "1"}


@pytest.mark.parametrize(
    ("stack", "words", "sentence"),
    [
        ("openmpi", "-np 6 prog", "There are not enough slots available in the system to satisfy the 6\nslots"),
        ("openmpi", "-np 2 --map-by slot:PE=5 prog", "binding more\nprocesses than cpus on a resource"),
        ("openmpi", "-H n7 -np 1 prog", "n7 is not one of this job's nodes"),
        ("openmpi", "-H n1 -np 1 prog : -H n2 -np 1 other", "found several programs in one command"),
        ("openmpi", "-H n1 -np 1 prog : -np 1 prog", "found a part without -H and -np"),
        ("openmpi", "-ppn 1 prog", 'Open MPI\'s mpirun: unknown option "-ppn"'),
        ("mpich", "-x A=1 prog", 'Hydra\'s mpiexec: unknown option "-x"'),
        ("mpich", "-n two prog", 'Hydra\'s mpiexec: found "two", expected a whole number of at least 1'),
        ("mpich", "-n 2", "found no program to start after its options"),
    ],
)
def test_what_a_launcher_cannot_do_it_refuses(stack: str, words: str, sentence: str) -> None:
    with pytest.raises(RailyardError) as error:
        plan_lines(stack, words)
    assert sentence in str(error.value)


def test_hydra_begins_again_where_slots_are_few() -> None:
    assert [place[0] for place in places("mpich", "-n 6 prog")] == ["n1", "n1", "n2", "n2", "n9", "n1"]


def test_host_files_and_slurms_lists() -> None:
    text = "n1 slots=2\n# a remark\nn2:3\n\nn9\n"
    assert of_hostfile(text) == (("n1", 2), ("n2", 3), ("n9", None))
    assert of_slurm("n[09-10],m", "4(x2),1") == (("n09", 4), ("n10", 4), ("m", 1))


def test_a_job_of_pbs_and_one_of_grid_engine_say_their_nodes_in_files(tmp_path: Path) -> None:
    file = tmp_path / "nodes"
    file.write_text("n2\nn2\nn1\n")
    assert rank_places("mpich", "-n 3 prog", PBS_NODEFILE=str(file)) == [("n2", "0"), ("n2", "1"), ("n1", "0")]
    file.write_text("n9 2 all.q@n9 UNDEFINED\nn1 1 all.q@n1 UNDEFINED\n")
    assert rank_places("mpich", "-n 3 prog", PE_HOSTFILE=str(file)) == [("n9", "0"), ("n9", "1"), ("n1", "0")]


def test_intel_mpi_fills_the_slots_of_a_job_of_pbs_unless_it_is_told_not_to(tmp_path: Path) -> None:
    file = tmp_path / "nodes"
    file.write_text("n1\n" * 48 + "n2\n" * 48)
    job = {"PBS_NODEFILE": str(file)}
    on_each, filled = [("n1", "0"), ("n2", "0")], [("n1", "0"), ("n1", "1")]
    assert rank_places("intelmpi", "-n 2 -ppn 1 prog", **job) == filled
    assert rank_places("mpich", "-n 2 -ppn 1 prog", **job) == on_each
    assert rank_places("intelmpi", "-n 2 -hosts n1:1,n2:1 prog", **job) == on_each
    assert rank_places("intelmpi", "-n 2 -ppn 1 prog", **job, I_MPI_JOB_RESPECT_PROCESS_PLACEMENT="disable") == on_each


def rank_places(stack: str, words: str, **job: str) -> list[tuple[str, str]]:
    """Return node and number there, in the order of the ranks, in a job of another scheduler than Slurm."""
    lines = plan(stack, read(stack, words.split(), {}), MACHINE, job)
    found = [
        (line.split("PMI_RANK=")[1].split()[0], node, line.split()[0]) for node, own in lines.items() for line in own
    ]
    return [(node, local) for _, node, local in sorted(found)]


REMOTE = """\
#!/bin/sh
# As PBS and Grid Engine do: another working folder, and none of the variables.
host=$1
shift
echo "$host" >>{calls}
cd / && exec env -i PATH="$PATH" "$@"
"""


def test_each_other_node_is_reached_by_its_scheduler_with_variables_and_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    remote, calls = tmp_path / "remote", tmp_path / "calls"
    remote.write_text(REMOTE.format(calls=calls))
    remote.chmod(0o755)
    script = tmp_path / "launch/ranks.sh"
    script.parent.mkdir()
    script.write_text('echo "$PWD $WORDS $2"; exit "$CODE"\n')
    here = os.uname().nodename
    nodes = (here, "n2", "n3")
    own = {**os.environ, "WORDS": "it's a b", "CODE": "0", "BASH_FUNC_module%%": "() { :; }"}
    monkeypatch.chdir(tmp_path)
    start = ["sh", str(script), str(script.parent), "prog"]
    assert start_on_each(nodes, start, (str(remote),), script.parent, own) == 0
    assert sorted(calls.read_text().split()) == ["n2", "n3"]
    assert capfd.readouterr().out.splitlines() == [f"{tmp_path} it's a b prog"] * 3
    assert start_on_each(nodes, start, (str(remote),), script.parent, {**own, "CODE": "3"}) == 3


def test_a_host_file_names_the_nodes(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("n9:1\nn1:1\n")
    assert [place[0] for place in places("mpich", f"-f {file} -n 2 prog")] == ["n9", "n1"]


def test_a_stand_in_takes_all_words_of_the_stacks_table() -> None:
    """A word that the table gets new is known here too, or a rehearsal would fail where the real launcher does not."""
    assert set(OWN_LAUNCHERS) <= set(KNOWN)
    for stack, entry in STACKS.items():
        if not entry.is_mpi or not entry.rehearsed_as:
            continue
        words = ask.launch_options(stack, hosts=("n1", "n2"), ranks=2, ranks_per_node=1, share_cores=True)
        ways = [way for way in entry.ways.values() if not isinstance(way, str)]
        policies = [word for way in ways for spread in way.spreads for word in spread.options]
        for more in (ask.cores_a_rank(stack, 2), ask.forward(stack, {"A": "1"}), policies):
            told = read(entry.rehearsed_as, [*words, *more, "prog"], {})
            assert told.command == ("prog",) and told.ranks == 2
            assert told.launcher != OPEN_MPI or "mpirun" in entry.launch.program


#: Slurm's srun, which starts one process on each node that it is told, and taskset, which notes what it is told.
SRUN = """\
#!/bin/sh
while [ "${1#-}" != "$1" ]; do
    case $1 in --nodelist=*) nodes=${1#*=} ;; esac
    shift
done
at=0 running=''
for node in $(echo "$nodes" | tr , ' '); do
    RAILYARD_SYSFS=@ROOT@/nodes/$node/sys RAILYARD_PROC=@ROOT@/nodes/$node/proc SLURM_PROCID=$at SLURM_LOCALID=0 \\
        SLURM_STEP_ID=0 "$@" &
    at=$((at + 1)) running="$running $!"
done
for one in $running; do wait "$one" || exit; done
"""
TASKSET = """\
#!/bin/sh
IFS= read -r node <"$RAILYARD_PROC/sys/kernel/hostname"
printf '%s\\n' "$2" >"$RAILYARD_REHEARSAL/affinity/$node.$$"
shift 2
exec "$@"
"""


def launch_program(bed: Bed, stack: str, program: str, *words: str) -> Ran:
    """Run osu_bw or osu_mbw_mr over two rails of two nodes, two ranks each, as a job script with a launcher does."""
    nodes = ("n9", "n10")
    launchers = write_launchers(bed.root, bed.site.system)[stack]
    for name, text in {"srun": SRUN, "taskset": TASKSET}.items():
        (bed.root / "bin").mkdir(exist_ok=True)
        (bed.root / "bin" / name).write_text(text.replace("@ROOT@", str(bed.root)))
        (bed.root / "bin" / name).chmod(0o755)
    for node in nodes:
        online = bed.trees[node].root / "sys/devices/system/cpu"
        online.mkdir(parents=True)
        (online / "online").write_text("0-7\n")
    launch = bed.launch(stack, ("mlx5_0:1", "mlx5_1:1"), nodes, 2, "ndr")
    stage = bed.root / "stage"
    (stage / "counters").mkdir(parents=True)
    (stage / "reader.sh").write_text(reader_script())
    reader = ("sh", "reader.sh", "counters", TAG, ",".join(launch.meant), ",".join(launch.watched), "--")
    tool = bed.program(stack, "osu", program)
    env = {
        **{name: value for name, value in launch.env.items() if name != "PATH"},
        "PATH": f"{launchers}:{bed.root / 'bin'}:{os.environ['PATH']}", "RAILYARD_REHEARSAL": str(bed.root),
        "RAILYARD_REHEARSAL_PATIENCE": str(bed.patience_s), "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[9-10]",
        "SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "4",
    }  # fmt: skip
    done = subprocess.run(
        ["sh", "-c", '"$@"', "job", *words, *reader, tool, "-m", "4194304:4194304", "-i", "9", "-x", "0", "-W", "64"],
        cwd=stage, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    counters = tuple((stage / f"counters/{node}.counters").read_text() for node in nodes)
    return Ran(bed, stack, launch, done.stdout, done.stderr, done.returncode, counters, 2, 2, "ndr")


@pytest.mark.parametrize(
    ("stack", "words"),
    [
        ("openmpi", ("mpirun", "-np", "4", "--map-by", "numa", "--bind-to", "numa")),
        ("intelmpi", ("mpiexec", "-n", "4", "-ppn", "2")),
    ],
)
def test_its_ranks_are_one_run_whose_path_is_proven(bed: Bed, stack: str, words: tuple[str, ...]) -> None:
    ran = launch_program(bed, stack, "osu_mbw_mr", *words)
    assert (ran.exit_code, ran.stderr) == (0, "")
    found = ran.assess_run("osu/osu_mbw_mr", osu.parse, window=64, told=Repetitions(9, 0))
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text
    assert "[ pairs: 2 ]" in ran.stdout


def test_a_fault_is_found_below_it_too(bed: Bed) -> None:
    """The other end of the rail that a library leaves out idles too: the first node of the two is named."""
    bed.plant(Fault("idle", "idle", "n10", "mlx5_1:1"))
    found = launch_program(bed, "openmpi", "osu_mbw_mr", "mpirun", "-np", "4").assess_run(
        "osu/osu_mbw_mr", osu.parse, window=64, told=Repetitions(9, 0)
    )
    assert found.path.state == "failed" and "rail mlx5_1:1 of n9 sent 0.0 kB" in found.verdict.text
