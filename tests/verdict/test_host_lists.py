"""Host files and node lists that an output prints above its launch: one host is one node."""

import pytest

from railyard.verdict.stored_outputs.launch_command import host_lists
from railyard.verdict.wording import stored_outputs
from tests.verdict.test_one_node_words import TABLE, judge_text, state

RUN = "$ mpirun -np 2 -hostfile hosts ./osu_latency"

ONE_NODE = [
    f"$ cat hosts\nnode1 slots=2\n{RUN}",
    f"$ cat ./hosts\nnode1\nnode1\n{RUN}",
    f"$ cat hosts\n# two ranks\nnode1 slots=2 max_slots=2\n{RUN}",
    f"$ cat hosts\nnode1.site\nnode1\n{RUN}",
    f"$ cat hosts\n10.0.0.1 slots=2\n{RUN}",
    f"$ cat hosts\nlocalhost slots=2\n{RUN}",
    "$ cat hosts\nnode1:2\n$ mpiexec.hydra -f hosts -n 2 ./osu_latency",
    "$ cat hosts\nnode1\n$ mpiexec.hydra -machinefile=hosts -ppn 1 -n 2 ./osu_latency",
    "$ cat hosts\nnode1 slots=4\nnode2 slots=4\n$ mpirun -np 2 --hostfile hosts ./osu_latency",
    f"$ echo node1 slots=2 > hosts\n{RUN}",
    f'echo "node1" > hosts\necho "node1" >> hosts\n{RUN}',
    f"cat > hosts << EOF\nnode1 slots=2\nEOF\n{RUN}",
    f"cat <<'EOF' > hosts\nnode1\nEOF\n{RUN}",
    "$ cat $PBS_NODEFILE\nnode1\nnode1\n$ mpirun -np 2 ./osu_latency",
    "$ cat $PBS_NODEFILE\nnode1\nnode1\n$ mpirun -np 2 -machinefile $PBS_NODEFILE ./osu_latency",
    "$ sort -u ${PBS_NODEFILE}\nnode1\n$ mpirun -np 2 ./osu_latency",
    "$ cat $PBS_NODEFILE | sort | uniq\nnode1\n$ mpirun -np 2 ./osu_latency",
    "$ cat $PE_HOSTFILE\nnode1.site 2 all.q@node1.site UNDEFINED\n$ mpirun -np 2 ./osu_latency",
    "$ cat $LSB_DJOB_HOSTFILE\nnode1\nnode1\n$ mpirun -np 2 ./osu_latency",
    "$ echo $LSB_HOSTS\nnode1 node1\n$ mpirun -np 2 ./osu_latency",
    "LSB_HOSTS=node1 node1",
    "LSB_MCPU_HOSTS=node1 2",
    "$ echo $SLURM_JOB_NODELIST\nnode1\n$ srun -n 2 ./osu_latency",
    "$ scontrol show hostnames\nnode1\n$ srun -n 2 ./osu_latency",
    "SLURM_JOB_NODELIST: node1",
    "$ cat hosts\nnode1\n$ export I_MPI_HYDRA_HOST_FILE=hosts\n$ mpirun -np 2 ./osu_latency",
    "$ export I_MPI_HYDRA_HOST_FILE=$PWD/hosts\n$ cat hosts\nnode1:2\n$ mpiexec.hydra -n 2 ./osu_latency",
    "$ cat hosts\nnode1\n$ I_MPI_HYDRA_HOST_FILE=hosts mpirun -np 2 ./osu_latency",
    "$ cat hosts\nnode1\n$ mpirun -genv I_MPI_HYDRA_HOST_FILE hosts -np 2 ./osu_latency",
    "$ cat hosts\nnode1\n$ setenv HYDRA_HOST_FILE hosts\n$ mpiexec -n 2 ./osu_latency",
    "$ cat hosts\nnode1 slots=2\n$ export OMPI_MCA_orte_default_hostfile='hosts'\n$ mpirun -np 2 ./osu_latency",
    "$ cat hosts\nnode1 slots=2\n$ export PRTE_MCA_prte_default_hostfile=~/hosts\n$ mpirun -np 2 ./osu_latency",
    "$ cat hosts\nnode1 slots=2\n$ mpirun --mca orte_default_hostfile hosts -np 2 ./osu_latency",
    "$ cat hosts\nnode1 slots=2\n$ mpirun --default-hostfile hosts -np 2 ./osu_latency",
]
SAYS_NOTHING = [
    f"$ cat hosts\nnode1 slots=1\nnode2 slots=1\n{RUN}",
    f"$ cat hosts\nnode1\nnode2\n{RUN}",
    f"$ cat hosts\nnode1.rack1\nnode1.rack2\n{RUN}",
    "$ cat hosts\nnode1 slots=4\nnode2 slots=4\n$ mpirun -np 2 --map-by node -hostfile hosts ./osu_latency",
    f"$ cat others\nnode1\n{RUN}",
    f"$ cat hosts\nnode1\n$ vi hosts\n$ cat hosts\nnode1\nnode2\n{RUN}",
    f'echo "node1" > hosts\necho "node2" >> hosts\n{RUN}',
    "$ cat hosts\nnode1\n$ mpirun -np 2 ./osu_latency",
    "$ cat $PBS_NODEFILE\nnode1\nnode2\n$ mpirun -np 2 ./osu_latency",
    "cat $PBS_NODEFILE\ndate\nmpirun -np 2 ./osu_latency",
    "cat $PBS_NODEFILE\nsleep 1\nmpirun -np 2 ./osu_latency",
    "$ cat $PE_HOSTFILE\nnode1 1 all.q@node1 UNDEFINED\nnode2 1 all.q@node2 UNDEFINED\n$ mpirun -np 2 ./osu_latency",
    "$ echo $LSB_HOSTS\nnode1 node2\n$ mpirun -np 2 ./osu_latency",
    "LSB_HOSTS=node1 node2",
    "LSB_MCPU_HOSTS=node1 1 node2 1",
    "$ echo $SLURM_JOB_NODELIST\nnode[1-2]\n$ srun -n 2 ./osu_latency",
    "$ scontrol show hostnames\nnode1\nnode2\n$ srun -n 2 ./osu_latency",
    "SLURM_JOB_NODELIST: node1,node2",
    "$ cat hosts\nnode1\nnode2\n$ export I_MPI_HYDRA_HOST_FILE=hosts\n$ mpirun -np 2 ./osu_latency",
    "$ cat hosts\nnode1\n$ export I_MPI_HYDRA_HOST_FILE=others\n$ mpirun -np 2 ./osu_latency",
    "$ cat hosts\nnode1\n$ export I_MPI_HYDRA_HOST_FILE=hosts\n$ mpirun -np 2 -f others ./osu_latency",
    "$ cat hosts\nnode1\n$ export I_MPI_HYDRA_HOST_FILE=hosts\n$ mpirun -np 2 -hosts node1,node2 ./osu_latency",
    "$ cat hosts\nnode1\nexport HYDRA_HOST_FILE=hosts\nunset HYDRA_HOST_FILE\n$ mpirun -np 2 ./osu_latency",
    "$ cat hosts\nnode1\nHYDRA_HOST_FILE=hosts mpirun -np 1 hostname\n$ mpirun -np 2 ./osu_latency",
]


@pytest.mark.parametrize("words", ONE_NODE)
def test_a_list_of_one_host_leaves_an_output_not_judged(words: str) -> None:
    (found,) = judge_text(f"{words}\n{TABLE}")
    assert found.state == "not-judged"
    assert "nothing crossed" in found.sentence


@pytest.mark.parametrize("words", SAYS_NOTHING)
def test_a_list_of_two_hosts_or_of_another_run_says_nothing(words: str) -> None:
    assert state(words) == "pass"


def test_the_sentence_names_the_launch_and_the_line_of_its_host_file() -> None:
    (found,) = judge_text(f"a line\n$ cat hosts\nnode1 slots=2\n{RUN}\n{TABLE}")
    means = stored_outputs.hosts_in(stored_outputs.only_host("node1", in_file=True), 2)
    assert found.why_unjudged == stored_outputs.one_node(4, RUN, means, "ib-edr")


def test_a_list_has_its_hosts_with_their_slots() -> None:
    (found,) = host_lists("$ cat hosts\nnode1 slots=4 max_slots=8\nnode2:2\n\nnode3\n")
    assert (found.line, found.name, found.hosts, found.of_job) == (1, "hosts", ("node1:4", "node2:2"), False)
