"""Outputs whose own words say that all ranks share a node: a link does not judge them."""

import pytest

from railyard.benchmarks.table import micro
from railyard.parsers.detect import parse
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.launch_command import launch, server
from railyard.verdict.stored_outputs.target import Nodes, of_link

HEAD = "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n"
TABLE = HEAD + "".join(f"{1 << n:<10}{1.1 + (1 << n) / 11_800:>18.2f}\n" for n in range(23))


def judge_text(text: str, nodes: int | None = None, link: str = "ib-edr") -> tuple[Judgement, ...]:
    return judge(parse(text), of_link(link), text=text, nodes=Nodes(count=nodes), passes="apart")


def state(line: str, link: str = "ib-edr") -> str:
    (one,) = judge_text(f"{line}\n{TABLE}", link=link)
    return one.state


ONE_NODE = [
    "Process 0 of 2 is on node1.rack1.site\nProcess 1 of 2 is on node1",
    "$ srun -n 2 -w vn1 ./osu_latency",
    "$ srun -n 2 --nodelist=vn1 ./osu_latency",
    "$ srun -N1-1 -n2 ./osu_latency",
    "#SBATCH --ntasks=2 --nodes=1",
    "#PBS -l walltime=1:00:00,nodes=1:ppn=2",
    "[0] MPI startup(): shm data transfer mode",
    "[0] MPI startup(): Rank    Pid      Node name  Pin cpu\n"
    "[0] MPI startup(): 0       4101     vn1        0\n[0] MPI startup(): 1       4102     vn1        1",
    "[vn1:4101] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B/.][./.]\n"
    "[vn1:4101] MCW rank 1 bound to socket 1[core 2[hwt 0]]: [./.][B/.]",
    "[vn1:4101] Rank 0 bound to package[0][core:0]\n[vn1:4101] Rank 1 bound to package[0][core:1]",
    " Data for node: vn1\tNum slots: 2\tMax slots: 0\tNum procs: 2",
    "cpu-bind=MASK - vn1, task  0  0 [4101]: mask 0x1 set\ncpu-bind=MASK - vn1, task  1  1 [4102]: mask 0x2 set",
    "Process 0 of 2 is on vn1\nProcess 1 of 2 is on vn1",
    "Hello world from processor vn1, rank 0 out of 2 processors\n"
    "Hello world from processor vn1, rank 1 out of 2 processors",
    "0: vn1\n1: vn1",
    "[vn1:4101] mca: bml: Using vader btl for send to [[21,1],1] on node vn1",
    "[1699.2] [vn1:41:0] ucp_worker.c:1855 UCX  INFO  ep_cfg[1]: tag(posix/memory cma/memory)",
    "[1699.2] [vn1:41:0] ucp_worker.c:1912 UCX  INFO    ucp_context_0 intra-node cfg#1 tag(sysv/memory cma/memory)",
    "SLURM_NNODES=1",
    "SLURM_JOB_NUM_NODES=1",
    "SLURM_JOB_NODELIST=vn1",
    "#SBATCH --nodes=1",
    "#SBATCH -N 1",
    "#PBS -l nodes=1:ppn=2",
    "#PBS -l select=1:ncpus=2:mpiprocs=2",
    "[user@login ~]$ qsub -I -q short -l select=1:ncpus=2:mpiprocs=2 -l walltime=0:10:00",
    "$ qsub -l nodes=1:ppn=2 osu.pbs",
    '$ bsub -Is -n 2 -R "span[hosts=1]" bash',
    "$ bsub -nnodes 1 -W 10 osu.lsf",
    "   NodeList=vn1 NumNodes=1 NumCPUs=2",
    "Number of nodes: 1",
    "export UCX_TLS=sm,self",
    "$ mpirun -x UCX_TLS=posix,cma,self -np 2 ./osu_latency",
    "export I_MPI_FABRICS=shm",
    "$ mpirun -genv I_MPI_FABRICS shm -n 2 ./osu_latency",
    "export FI_PROVIDER=shm",
    "[0] MPI startup(): libfabric provider: shm",
    "$ mpirun --mca btl self,sm -np 2 ./osu_latency",
    "OMPI_MCA_btl=self,vader",
    "$ srun -N1 -n2 osu_latency",
    "[u@vn1 ~]$ srun --nodes=1 --ntasks=2 osu_latency",
    "+ srun -N 1 -n 2 -c 1 osu_latency",
    "$ flux run -N1 -n2 osu_latency",
    "$ mpirun -np 2 --host localhost,localhost ./osu_latency",
    "$ mpirun -np 2 -H vn1,vn1 ./osu_latency",
    "$ mpirun -np 2 -H vn1:2 ./osu_latency",
    "$ mpirun -np 2 -host vn1 ./osu_latency",
    "$ mpirun -np 2 -H vn1:2,vn2:2 ./osu_latency",
    "$ mpiexec -n 1 -host vn1 ./osu_latency : -n 1 -host vn1 ./osu_latency",
    "$ mpiexec.hydra -ppn 2 -n 2 ./osu_latency",
    "$ mpirun -np 2 -perhost 2 ./osu_latency",
    "$ mpirun -np 2 -N 2 ./osu_latency | tee out.txt",
    "$ mpirun -np 2 --map-by ppr:2:node ./osu_latency",
    "$ mpirun -np 2 --map-by ppr:2:socket ./osu_latency",
    "$ mpirun_rsh -np 2 vn1 vn1 MV2_CPU_MAPPING=0:1 ./osu_latency",
    "$ aprun -n 2 -N 2 ./osu_latency",
    "$ jsrun -n 1 -a 2 ./osu_latency",
    "$ jsrun -n 2 -r 2 ./osu_latency",
]
#: Each may also stand in a run between two nodes.
SAYS_NOTHING = [
    "Process 0 of 2 is on node1.rack1.site\nProcess 1 of 2 is on node1.rack2.site",
    "$ srun -n 2 -w vn1,vn2 ./osu_latency",
    "$ srun -n 2 -w vn[1-2] ./osu_latency",
    "#SBATCH --ntasks=2 --nodes=2",
    "#PBS -l walltime=1:00:00,nodes=2:ppn=1",
    "$ mpirun_rsh -np 2 -hostfile hosts ./osu_latency",
    "$ mpirun_rsh -np 2 -f hosts MV2_ENABLE_AFFINITY=1 ./osu_latency",
    "rank 0 on GPU 0\nrank 1 on GPU 0",
    "rank 0 on mlx5_0\nrank 1 on mlx5_0",
    "Process 0 on core 1\nProcess 1 on core 1",
    "rank 0 is on cpu 0\nrank 1 is on cpu 0",
    "$ srun -l uname -m\n0: x86_64\n1: x86_64",
    "$ srun -l ls /sys/class/infiniband\n0: mlx5_0\n1: mlx5_0",
    "#PBS -l select=1:ncpus=8:mpiprocs=1:host=vn1+1:ncpus=8:mpiprocs=1:host=vn2",
    "$ qsub -I -l select=2:ncpus=8:mpiprocs=1 -l walltime=0:10:00",
    "$ qsub -l select=1:ncpus=8:host=vn1+1:ncpus=8:host=vn2 osu.pbs",
    '$ bsub -n 2 -R "span[ptile=1]" osu.lsf',
    "# not with qsub -l select=1",
    "#PBS -l nodes=1:fast+1:slow",
    "#SBATCH --nodes=1 --ntasks=1\n#SBATCH hetjob\n#SBATCH --nodes=1 --ntasks=1",
    "SLURM_NNODES=1\nSLURM_JOB_NUM_NODES_HET_GROUP_0=1\nSLURM_JOB_NUM_NODES_HET_GROUP_1=1",
    "SLURM_NNODES=1\nSLURM_JOB_NUM_NODES_PACK_GROUP_0=1\nSLURM_JOB_NUM_NODES_PACK_GROUP_1=1",
    "[0] MPI startup(): shm and dapl data transfer modes",
    "[0] MPI startup(): 0       4101     vn1        0\n[0] MPI startup(): 1       4102     vn2        0",
    "[vn1:4101] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B/.][./.]\n"
    "[vn2:4101] MCW rank 1 bound to socket 0[core 0[hwt 0]]: [B/.][./.]",
    "[vn1:4101] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B/.][./.]",
    " Data for node: vn1\tNum slots: 1\tMax slots: 0\tNum procs: 1\n"
    " Data for node: vn2\tNum slots: 1\tMax slots: 0\tNum procs: 1",
    "0: vn1\n1: vn2",
    "Process 0 of 2 is on vn1\nProcess 1 of 2 is on vn2",
    "[vn1:4101] mca: bml: Using vader btl for send to [[21,1],1] on node vn1\n"
    "[vn1:4101] mca: bml: Using openib btl for send to [[21,1],2] on node vn2",
    "ep_cfg[1]: tag(posix/memory cma/memory)\nep_cfg[2]: tag(rc_mlx5/mlx5_0:1)",
    "ucp_context_0 intra-node cfg#1 tag(sysv/memory)\nucp_context_0 inter-node cfg#2 tag(rc_mlx5/mlx5_0:1)",
    "SLURM_NNODES=2",
    "SLURM_JOB_NODELIST=vn[1-2]",
    "SLURM_JOB_NODELIST=vn1,vn2",
    "SLURM_NNODES=1\n$ srun -N2 -n2 osu_latency",
    "#SBATCH --nodes=1-2",
    "#SBATCH -N 2",
    "export UCX_TLS=rc,sm,self",
    "export UCX_TLS=^sm",
    "export I_MPI_FABRICS=shm:ofi",
    "export FI_PROVIDER=shm,verbs",
    "export OMPI_MCA_pml=ucx\n$ mpirun --mca btl self,vader -np 2 ./osu_latency",
    "$ mpirun --mca pml ucx --mca btl self,vader -np 2 ./osu_latency",
    "$ mpirun --mca btl openib,self,vader -np 2 ./osu_latency",
    "$ mpirun --mca btl ^openib -np 2 ./osu_latency",
    "$ mpirun -np 2 ./osu_latency",
    "$ srun -N1 hostname\n$ mpirun -np 2 --hostfile two ./osu_latency",
    "$ srun -N2 -n2 -c 1 osu_latency",
    "$ mpirun -np 2 -H vn1,vn2 ./osu_latency",
    "$ mpirun -np 2 -H vn1:1,vn2:1 ./osu_latency",
    "$ mpirun -np 2 --map-by node -H vn1:2,vn2:2 ./osu_latency",
    "$ mpirun -np 2 -H $HOSTS ./osu_latency",
    "$ mpirun -np 2 --hostfile hosts ./osu_latency",
    "$ mpiexec -n 1 -host vn1 ./osu_latency : -n 1 -host vn2 ./osu_latency",
    "$ mpiexec.hydra -ppn 1 -n 2 ./osu_latency",
    "$ mpirun -np 2 -N 2 -map-by ppr:1:node ./osu_latency",
    "$ mpirun -np 2 --map-by ppr:1:socket ./osu_latency",
    "$ mpirun_rsh -np 2 vn1 vn2 ./osu_latency",
    "$ aprun -n 2 -N 1 ./osu_latency",
    "$ jsrun -n 2 -r 1 -a 1 ./osu_latency",
    "$ srun -N2 -n2 osu_latency",
    "$ srun -n2 osu_latency",
    "$ srun -N1 -n1 hostname\n$ srun -N2 -n2 osu_latency",
]


@pytest.mark.parametrize("words", ONE_NODE)
def test_words_of_one_node_leave_an_output_not_judged(words: str) -> None:
    (found,) = judge_text(f"{words}\n{TABLE}")
    assert found.state == "not-judged"
    assert "says that both ends share a node" in found.sentence
    assert found.sentence.endswith("so nothing crossed ib-edr; run it between two nodes")


@pytest.mark.parametrize("words", SAYS_NOTHING)
def test_words_that_a_run_between_nodes_has_too_say_nothing(words: str) -> None:
    assert state(words) == "pass"


def test_the_sentence_names_line_words_and_meaning() -> None:
    (found,) = judge_text(f"a line\n$ srun -N1 -n2 osu_latency\n{TABLE}")
    assert found.sentence == (
        'not judged: line 2 says that both ends share a node, "$ srun -N1 -n2 osu_latency" (it was given one node), so '
        "nothing crossed ib-edr; run it between two nodes"
    )


def test_a_run_that_is_meant_within_a_node_keeps_its_verdict() -> None:
    (found,) = judge_text(f"$ srun -N1 -n2 osu_latency\n{TABLE}", 1)
    assert "share a node" not in found.sentence


def test_a_command_counts_for_the_tables_up_to_the_next_command() -> None:
    one, two = f"$ srun -N1 -n2 osu_latency\n{TABLE}", f"$ srun -N2 -n2 osu_latency\n{TABLE}"
    assert [each.state for each in judge_text(one + two)] == ["not-judged", "pass"]
    assert [each.state for each in judge_text(two + one)] == ["pass", "not-judged"]
    assert [each.state for each in judge_text(one + TABLE)] == ["not-judged", "not-judged"]


def test_what_one_run_printed_says_nothing_about_the_next_launch() -> None:
    text = f"$ mpirun -np 2 osu_latency\n0: vn1\n1: vn1\n{TABLE}$ mpirun -np 2 --hostfile two osu_latency\n{TABLE}"
    assert [each.state for each in judge_text(text)] == ["not-judged", "pass"]


SHM, RC = "export UCX_TLS=sm,self", "export UCX_TLS=rc_x,sm,self"
RUN = "mpirun -np 2 ./osu_latency"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"{SHM}\nunset UCX_TLS\n{RUN}", "pass"),
        (f"{SHM}\n{RC}\n{RUN}", "pass"),
        (f"{SHM}\nunset OMP_NUM_THREADS UCX_TLS\n{RUN}", "pass"),
        (f"{SHM}\nexport UCX_TLS=\n{RUN}", "pass"),
        (f"{SHM}; unset UCX_TLS; {RUN}", "pass"),
        (f"{SHM}\nmpirun -np 2 -x UCX_TLS=rc_x,self ./osu_latency", "pass"),
        (f"{SHM}\nmpirun -np 2 \\\n  -x UCX_TLS=rc_x,self \\\n  ./osu_latency", "pass"),
        (f"{SHM}\nmpirun -np 2 ./hello\nunset UCX_TLS\n{RUN}", "pass"),
        (f"mpirun -np 2 -x UCX_TLS=sm,self ./hello\n{RUN}", "pass"),
        ("export I_MPI_FABRICS=shm\nexport I_MPI_FABRICS=shm:ofi\nmpirun -n 2 ./osu_latency", "pass"),
        ("export FI_PROVIDER=shm\nunset FI_PROVIDER\nmpirun -n 2 ./osu_latency", "pass"),
        ("export OMPI_MCA_btl=self,sm\nunset OMPI_MCA_btl\nmpirun -n 2 ./osu_latency", "pass"),
        (f"{SHM}\n{RUN}\nunset UCX_TLS", "not-judged"),
        (f"{SHM}\n{RUN}\n{RC}", "not-judged"),
        (f"{RC}\n{SHM}\n{RUN}", "not-judged"),
        (f"unset UCX_TLS\n{SHM}\n{RUN}", "not-judged"),
        (f"{SHM}; {RUN}", "not-judged"),
        (f"{SHM}\n# unset UCX_TLS\n{RUN}", "not-judged"),
        (f"{SHM} # UCX_TLS=rc_x later\n{RUN}", "not-judged"),
        (f"{SHM}\necho now # export UCX_TLS=rc_x\n{RUN}", "not-judged"),
        (f"{SHM}\nunset UCX_TLS_OLD\n{RUN}", "not-judged"),
        (f"{SHM}\necho we did not unset UCX_TLS\n{RUN}", "not-judged"),
        (f"[root@vn1 ~]# {SHM}\n[root@vn1 ~]# unset UCX_TLS\n[root@vn1 ~]# {RUN}", "pass"),
        (f"{SHM}\nmpirun -np 2 -x UCX_TLS=rc_x,self ./hello\n{RUN}", "not-judged"),
        (f"{RC}\nmpirun -np 2 -x UCX_TLS=sm,self ./osu_latency", "not-judged"),
        (f"{RUN}\nUCX_TLS=sm,self", "not-judged"),
        ("export I_MPI_OFI_PROVIDER=shm\nexport FI_PROVIDER=verbs\nmpirun -n 2 ./osu_latency", "not-judged"),
    ],
)
def test_the_last_value_of_a_setting_before_the_launch_counts(script: str, expected: str) -> None:
    assert state(script) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"if [ $1 = a ]; then\n  {RC}\nelse\n  {SHM}\nfi\n{RUN}", "not-judged"),
        (f"if [ $1 = a ]; then\n  {SHM}\nelse\n  {RC}\nfi\n{RUN}", "not-judged"),
        (f"if [ $1 = a ]\nthen\n  {SHM}\nelif [ $1 = b ]; then\n  {RC}\nfi\n{RUN}", "not-judged"),
        (f"case $1 in\na)\n  {SHM}\n  ;;\n*)\n  {RC}\n  ;;\nesac\n{RUN}", "not-judged"),
        (f"{SHM}\nif [ $1 = a ]; then\n  {RC}\nfi\n{RUN}", "not-judged"),
        (f'{SHM}\n[ -n "$A" ] && {RC}\n{RUN}', "not-judged"),
        (f"{SHM}\nif [ $1 = a ]; then\n  {RC}\nelse\n  {RC}\nfi\n{RUN}", "pass"),
        (f"{SHM}\ncase $1 in\na)\n  {RC}\n  ;;\n*)\n  {RC}\n  ;;\nesac\n{RUN}", "pass"),
        (f"if [ $1 = a ]; then\n  {SHM}\nfi\n{RC}\n{RUN}", "pass"),
        (f"if [ $1 = a ]; then\n  {SHM}\nelse\n  {RC}\n  {RUN}\nfi", "pass"),
        (f"if [ $1 = a ]; then\n  {RC}\nelse\n  {SHM}\n  {RUN}\nfi", "not-judged"),
    ],
)
def test_what_stands_in_one_branch_of_a_script_decides_no_verdict(script: str, expected: str) -> None:
    assert state(script) == expected


@pytest.mark.parametrize(
    ("options", "link", "expected"),
    [
        ("--mca btl self,vader -np 2 --map-by node", "opa-100", "pass"),
        ("--mca btl self,vader -np 2 -bynode --hostfile two", "opa-100", "pass"),
        ("--mca btl self,vader -np 2 --map-by node", "ib-edr", "pass"),
        ("--mca btl self,vader --map-by ppr:1:node", "ib-edr", "pass"),
        ("--mca btl self,vader -np 2 -H vn1,vn2", "opa-100", "pass"),
        ("--mca btl self,vader -np 2", "opa-100", "not-judged"),
        ("--mca btl self,vader -np 2 --map-by core", "opa-100", "not-judged"),
        ("--mca btl self,vader -np 2 --map-by node -H vn1,vn1", "opa-100", "not-judged"),
        ("--mca pml ob1 --mca btl self,vader -np 2 --map-by node", "opa-100", "not-judged"),
        ("--mca pml ob1 --mca btl self,vader -np 2 --map-by node", "ib-edr", "not-judged"),
        ("-x UCX_TLS=sm,self -np 2 --map-by node", "ib-edr", "not-judged"),
    ],
)
def test_over_rdma_only_ob1_is_bound_by_its_btl(options: str, link: str, expected: str) -> None:
    assert state(f"$ mpirun {options} ./osu_latency", link) == expected


def test_over_ethernet_nothing_but_a_btl_carries_what_goes_between_nodes() -> None:
    words = "$ mpirun --mca btl self,vader -np 2 --map-by node ./osu_latency"
    (found,) = judge_text(f"{words}\n{TABLE}", link="eth-100")
    assert "Open MPI was limited to shared memory" in found.sentence


def test_each_table_has_the_value_of_its_own_launch() -> None:
    assert [each.state for each in judge_text(f"{SHM}\n{RUN}\n{TABLE}{RC}\n{RUN}\n{TABLE}")] == ["not-judged", "pass"]
    assert [each.state for each in judge_text(f"{RC}\n{RUN}\n{TABLE}{SHM}\n{RUN}\n{TABLE}")] == ["pass", "not-judged"]
    assert [each.state for each in judge_text(f"{SHM}\n{RUN}\n{TABLE}{RUN}\n{TABLE}")] == ["not-judged", "not-judged"]


def test_tables_below_a_whole_script_may_be_of_any_of_its_launches() -> None:
    script = f"{SHM}\n{RUN}\nunset UCX_TLS\n{RUN}\n"
    assert [each.state for each in judge_text(script + TABLE + TABLE)] == ["not-judged", "not-judged"]


@pytest.mark.parametrize(
    ("tool", "line", "one"),
    [
        ("ucx_perftest", "[u@vn1 ~]$ ucx_perftest vn1 -t tag_bw -c 2", True),
        ("ucx_perftest", "u@vn1:~$ ucx_perftest vn1.site.org -t tag_bw", True),
        ("ucx_perftest", "$ ucx_perftest -t tag_bw -x posix vn2", True),
        ("ucx_perftest", "[u@vn1 ~]$ ucx_perftest vn2 -t tag_bw -c 2", False),
        ("ucx_perftest", "[u@vn1 ~]$ ucx_perftest -c 1 &", None),
        ("perftest", "[root@vn1 ~]# ib_write_bw -d mlx5_1 127.0.0.1", True),
        ("perftest", "[root@vn1 ~]# ib_write_bw -d mlx5_0 --bind_source_ip vn1 vn2", False),
        ("perftest", "$ ib_write_bw -d mlx5_0 $(hostname)", True),
        ("perftest", "[root@vn1 ~]# ib_write_bw -d mlx5_0", None),
        ("perftest", "[alice@vn1 ~]$ ssh vn2 ib_write_bw -d mlx5_0 vn1", False),
        ("perftest", "[alice@vn1 ~]$ pdsh -w vn2 ib_write_bw $(hostname)", False),
        ("perftest", "[alice@vn1 ~]$ ssh vn2 ib_write_bw localhost", True),
        ("qperf", "$ qperf localhost rc_bw", True),
        ("qperf", "[u@vn1.a.org ~]$ qperf vn1.b.org rc_bw", False),
        ("netpipe", "$ NPtcp -h localhost", True),
        ("fabtests", "$ fi_pingpong -p shm vn2", True),
        ("fabtests", "$ fi_pingpong -p verbs ::1", True),
        ("iperf3", "[u@vn1 ~]$ iperf3 -c vn1 -t 10", True),
        ("sockperf", "$ sockperf ping-pong -i 127.0.0.1", True),
    ],
)
def test_a_client_may_name_its_own_host(tool: str, line: str, one: bool | None) -> None:
    found = server(line, micro.tool(tool))
    assert found is not None
    assert found.one_node is one


def test_other_lines_are_no_commands() -> None:
    assert server("Connecting to host localhost, port 5201", micro.tool("iperf3")) is None
    assert launch("mpirun noticed that process rank 1 with PID 41 on node localhost exited") is None


@pytest.mark.parametrize(("host", "expected"), [("localhost", "not-judged"), ("vn2", "pass")])
def test_a_clients_server_decides_over_its_output(host: str, expected: str) -> None:
    text = f"$ qperf {host} rc_bw\nrc_bw:\n    bw  =  12.1 GB/sec\n"
    (found,) = judge_text(text)
    assert found.state == expected
