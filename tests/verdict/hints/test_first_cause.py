"""The first cause of a failure, from genuine messages of each stack: what is quoted, and what it means."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.parsers import osu
from railyard.parsers.failure_lines import NO_TURN, STOPPED
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.site.systems.stack_entry import DeclaredMpi
from railyard.stacks.model import STACKS
from railyard.verdict.assess import Assessment
from railyard.verdict.hints.first_cause import LIBRARIES, MESSAGES, document, first_cause
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.target import of_link
from railyard.verdict.wording.run_rules import look_at_launcher, say_exited, say_reported
from tests.conftest import ROOT
from tests.made.words import at_line

RECORDED = Path(__file__).resolve().parents[2] / "recordings" / "failed"
Assess = Callable[..., Assessment]

OTHER_SRUN = "the srun that is first on PATH in the job is of another release than the cluster's Slurm"
OWN_SRUN = "put the cluster's own before it (type -a srun; modules, containers and the shell that submits set PATH)"
UNKNOWN_OPTION = f"{OTHER_SRUN}, which has an MPI's own launcher call srun with this option: {OWN_SRUN}"
UNKNOWN_KEY = f"{OTHER_SRUN}, whose slurm.conf has Exclusive: {OWN_SRUN}"
#: File -> stack, line, what is quoted, what it means.
EXAMPLES = {
    "openmpi4.1.4-no-such-interface.err": (
        "openmpi", 2, "WARNING: An invalid value was given for btl_tcp_if_include. This",
        "hsn7 of btl_tcp_if_include, on vn1: Unknown interface name",
    ),
    "openmpi4.1.4-no-such-component.err": (
        "openmpi", 2, "A requested component was not found, or was unable to be opened. This",
        "pml/nosuch is not built into the Open MPI of vn1",
    ),
    "openmpi4.1.4-no-such-executable.err": (
        "openmpi", 2, "mpirun.openmpi was unable to launch the specified application as it could not access",
        "/nowhere/IMB is not there, or may not be executed",
    ),
    "openmpi4.1.4-not-enough-slots.err": (
        "openmpi", 2, "There are not enough slots available in the system to satisfy the 64",
        "the launcher was given fewer than 64 places for ranks",
    ),
    "mpich5.0.2-started-by-openmpi4.1.4.err": (
        "mpich", 5,
        "check_MPIR_CVAR_PMI_VERSION(167): Runtime environment uses unsupported PMI version PMIx. Aborting.",
        "the launcher speaks PMIx, which this library does not: it is another library's launcher, or srun needs "
        "another srun_mpi in the system's file",
    ),
    "mpich5.0.2-pmix-of-slurm26.05.3.err": (
        "mpich", 5,
        "check_MPIR_CVAR_PMI_VERSION(167): Runtime environment uses unsupported PMI version PMIx. Aborting.",
        "the launcher speaks PMIx, which this library does not: it is another library's launcher, or srun needs "
        "another srun_mpi in the system's file; it failed on vn2",
    ),
    "openmpi4.1.4-pmi2-of-slurm26.05.3.err": (
        "openmpi", 4, "but OMPI was not built with SLURM's PMI support and therefore cannot",
        "srun and this Open MPI speak different versions of PMI: write srun_mpi: pmix for the stack in the system's "
        "file, if srun --mpi=list has it, or take the launcher mpirun; it failed on vn1",
    ),
    "openmpi4.1.4-srun22.05.8-under-slurm26.05.3.err": (
        "openmpi", 1, "srun: error: Parsing error at unrecognized key: Exclusive", UNKNOWN_KEY,
    ),
    "mpich5.0.2-srun22.05.8-under-slurm26.05.3.err": (
        "mpich", 1, "srun: error: Parsing error at unrecognized key: Exclusive", UNKNOWN_KEY,
    ),
    "openmpi4.1.4-srun22.05.8-no-external-launcher.err": (
        "openmpi", 1, "srun: unrecognized option '--external-launcher'", UNKNOWN_OPTION,
    ),
    "mpich5.0.2-srun22.05.8-no-external-launcher.err": (
        "mpich", 1, "/usr/bin/srun: unrecognized option '--external-launcher'", UNKNOWN_OPTION,
    ),
    "srun22.05.8-under-slurm26.05.3.err": (
        "tcp", 1, "srun: error: Unable to confirm allocation for job 3: Insane message length",
        f"{OTHER_SRUN}, and does not understand its answer: {OWN_SRUN}",
    ),
    "srun22.05.8-no-configuration.err": (
        "tcp", 4, "srun: fatal: Could not establish a configuration source",
        "the srun that is first on PATH in the job finds no slurm.conf: it is not the cluster's own, or SLURM_CONF is "
        f"missing there; {OWN_SRUN}",
    ),
    "srun26.05.3-under-slurm22.05.8.err": (
        "tcp", 1, "srun: error: Unable to confirm allocation for job 1: Zero Bytes were transmitted or received",
        "slurmctld gave no answer to the srun that is first on PATH in the job: that is of another release than the "
        f"cluster's Slurm, or slurmctld is down (its log says which); {OWN_SRUN}",
    ),
    "openmpi4.1.4-no-daemon.err": (
        "openmpi", 2, "An ORTE daemon has unexpectedly failed after launch and before",
        "Open MPI's daemon did not start on another node, or could not connect back. In a job of Slurm it is started "
        "by the srun that is first on PATH, which may be another Slurm's (type -a srun); what srun says is shown if "
        "mpirun has --leave-session-attached",
    ),
    "srun26.05.3-no-such-program.err": (
        "tcp", 2, "[2026-11-30T10:03:03.919] error: execve(): /nowhere/x: No such file or directory",
        "/nowhere/x is not there, or may not be executed; it failed on vn4",
    ),
    "srun26.05.3-no-such-mpi.err": (
        "tcp", 3, "srun: error: Invalid MPI type 'nope', --mpi=list for acceptable types",
        "srun has no plugin nope: see srun --mpi=list, and set srun_mpi of the stack in the system's file",
    ),
    "mpich5.0.2-ucx-no-such-device.err": (
        "mpich", 1,
        "[1795446873.635521] [vn1:17594:0] ucp_context.c:1381 UCX WARN network device 'hsn7' is not available, please "
        "use one or more of: 'eth0'(tcp), 'lo'(tcp)",
        "UCX_NET_DEVICES names hsn7, which that node does not have",
    ),
    "mpich5.0.2-ucx-no-such-transport.err": (
        "mpich", 1, None, "UCX_TLS names nosuch, which this UCX does not have on that node",
    ),
    # UCX's own errors come of it: they name the addresses that were broken.
    "mpich5.0.2-pmi2-of-slurm22.05.8.err": (
        "mpich", 1, "slurmstepd-vn2: error: mpi/pmi2: value not properly terminated in client request",
        "Slurm's plugin pmi2 read a long line of the library's start in two parts on vn2, so the processes got "
        "broken addresses of one another; no network is to blame: run it with "
        "GLIBC_TUNABLES=glibc.malloc.tcache_count=1, which changes what that line holds, or take the launcher mpirun "
        "in the system's file",
    ),
    "mpich5.0.2-no-such-executable.err": (
        "mpich", 1, None, "/nowhere/x is not there, or may not be executed",
    ),
    "intelmpi2021.18-no-such-provider.err": (
        "intelmpi", 7,
        "find_provider(3064)..........: OFI fi_getinfo() failed (ofi_init.c:3064:find_provider:No data available)",
        "no provider of Libfabric fits what was asked for (I_MPI_OFI_PROVIDER, FI_PROVIDER)",
    ),
    "mpich5.0.2-rank-killed.err": (
        "mpich", 3, "= BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "a process on vn1: EXIT CODE: 9; an exit code of 9 or 11 there is mostly that signal",
    ),
    "intelmpi2021.18-rank-killed.err": (
        "intelmpi", 3, "= BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "a process on vn1: KILLED BY SIGNAL: 9; an exit code of 9 or 11 there is mostly that signal",
    ),
    "openmpi4.1.4-rank-killed.err": (
        "openmpi", 6,
        "mpirun.openmpi noticed that process rank 1 with PID 0 on node vn1 exited on signal 9 (Killed).",
        "rank 1 on vn1 was ended by signal 9",
    ),
    "rehearsal-no-rounds.err": (
        "tcp", 2, "rehearsal: railyard-pairs: found no readable file of rounds: rounds.txt",
        "the stand-in of a rehearsal does not know this: no fault of the site; it failed on gpu6",
    ),
    "cp9.1-no-space.err": (
        "tcp", 1, "cp: error writing '/dev/full': No space left on device",
        "a file system is full, or a quota is used up",
    ),
    "iperf3.12-no-server.err": (
        "tcp", 1, "iperf3: error - unable to connect to server: Connection refused",
        "the client did not reach its server",
    ),
}  # fmt: skip


def recorded_text(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_first_cause_of_a_genuine_failure_is_quoted_with_what_it_means(name: str) -> None:
    stack, line, quoted, means = EXAMPLES[name]
    found = first_cause(stack, ("", recorded_text(name)))
    assert found is not None
    assert (found.text, found.line, found.means) == (1, line, means)
    if quoted is not None:
        assert found.quoted == quoted


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_message_of_another_library_is_not_a_stacks_own(name: str) -> None:
    stack, _, _, means = EXAMPLES[name]
    other = "mpich" if stack == "openmpi" else "openmpi"
    found = first_cause(other, (recorded_text(name),))
    of_all = stack == "tcp" or means.startswith(("UCX", OTHER_SRUN))
    assert found is None or found.means != means or of_all


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("stack", ["spectrummpi", "parastation", "nccl"])
def test_a_stack_that_derives_from_another_or_is_started_by_it_has_its_messages(name: str, stack: str) -> None:
    own, *_ = EXAMPLES[name]
    found, as_own = (first_cause(each, (recorded_text(name),)) for each in (stack, own))
    origins = {"spectrummpi": ["openmpi"], "parastation": ["mpich"], "nccl": ["openmpi", "mpich", "mvapich"]}
    if own in origins[stack] and as_own is not None and not as_own.means.startswith("UCX"):
        assert found == as_own


def test_what_a_systems_file_declares_has_the_messages_of_its_model() -> None:
    declared = DeclaredMpi.model_validate({"title": "Site MPI", "source": "its page"}).as_stack("openmpi")
    assert declared.errors_of == STACKS["openmpi"].errors_of == ("openmpi", "ucx")


def test_each_library_of_the_table_is_one_that_a_stack_prints_and_the_other_way_round() -> None:
    printed = {library for stack in STACKS.values() for library in stack.errors_of}
    assert printed == {message.library for message in MESSAGES if message.library} == {*LIBRARIES}
    for name, stack in STACKS.items():
        origins = {library for other in stack.also_prints for library in STACKS[other].errors_of} - {"ucx"}
        assert origins <= {*stack.errors_of}, name
    for name in ("openmpi", "hpcx", "mpich", "mvapich", "craympich", "intelmpi"):
        assert "ucx" in STACKS[name].errors_of, name


def test_every_recording_of_a_failure_has_a_row_and_every_row_a_recording() -> None:
    rows = [row.split("\t")[0] for row in recorded_text("INDEX.tsv").splitlines()[1:]]
    assert sorted(rows) == sorted(path.name for path in RECORDED.iterdir() if path.name != "INDEX.tsv")
    assert set(EXAMPLES) <= set(rows)


@dataclass(frozen=True)
class Public:
    """What somebody's job printed, from a public report, with our nodes and paths; ``means`` is our explanation."""

    planted: str
    text: str
    means: str
    source: str
    stack: str = "mpich"
    line: int = 1


#: Accidents of nodes and of Slurm. Their consequences follow them, in srun's words.
TASK = "srun: error: vn2: task 1: Exited with exit code 1\n"
REPORTED = (
    Public(
        "a clock, or a munge key, that differs on one node",
        "srun: error: Task launch for StepId=13.0 failed on node vn2: Invalid job credential\n"
        "srun: error: Application launch failed: Invalid job credential\n",
        "vn2 refuses Slurm's credentials: its clock, or the key of its munge, differs",
        "github.com/NVIDIA/deepops/issues/1179; why: Slurm's FAQ, quoted in c3nl-neuraldynamics/c3nl_cluster/issues/18",
    ),
    Public(
        "a clock that is minutes behind on one node",
        "srun: error: Task launch for 1466614.0 failed on node vn2: Job credential expired\n"
        "srun: error: Application launch failed: Job credential expired\n",
        "vn2 refuses Slurm's credentials: its clock, or the key of its munge, differs",
        "github.com/c3nl-neuraldynamics/c3nl_cluster/issues/62",
    ),
    Public(
        "a prolog that fails on one node",
        "srun: error: Task launch for 23.0 failed on node vn2: Job prolog failed\n"
        "srun: error: Application launch failed: Job prolog failed\n",
        "Slurm's prolog failed on vn2: see the log of its slurmd",
        "github.com/mknoxnv/ubuntu-slurm/issues/4",
    ),
    Public(
        "a node that dies between two steps of a job",
        "srun: error: Task launch for StepId=1.0 failed on node vn2: Communication connection failure\n"
        "srun: error: Application launch failed: Communication connection failure\n",
        "slurmd of vn2 does not answer: the node died, or its network did; see its own log",
        "our own Slurm 22.05 on a virtual cluster, 29 November 2026",
    ),
    Public(
        "a Slurm that was built without PMIx",
        "srun: error: Couldn't find the specified plugin name for mpi/pmix looking at all files\n"
        "srun: error: cannot find mpi plugin for mpi/pmix\n",
        "srun has no working plugin mpi/pmix: see srun --mpi=list, and set srun_mpi of the stack in the system's file",
        "github.com/geoschem/geos-chem/issues/822",
    ),
    Public(
        "a PMIx library that Slurm's plugin does not find",
        "srun: error:  mpi/pmix_v5: init: (null) [0]: mpi_pmix.c:193: pmi/pmix: can not load PMIx library\n"
        "srun: error: Couldn't load specified plugin name for mpi/pmix: Plugin init() callback failed\n",
        "srun has no working plugin mpi/pmix: see srun --mpi=list, and set srun_mpi of the stack in the system's file",
        "github.com/pyiron/executorlib/pull/761",
        line=2,
    ),
    Public(
        "a program that one node does not have",
        "slurmstepd: error: execve(): /opt/imb/IMB-MPI1: No such file or directory\n"
        "srun: error: vn2: task 1: Exited with exit code 2\n",
        "/opt/imb/IMB-MPI1 is not there, or may not be executed; it failed on vn2",
        "github.com/firelab/windninja/issues/624",
    ),
    Public(
        "a node with an older operating system",
        "/opt/imb/IMB-MPI1: /usr/lib64/libc.so.6: version `GLIBC_2.34' not found (required by /opt/imb/IMB-MPI1)\n"
        + TASK,
        "/opt/imb/IMB-MPI1 was built against a newer /usr/lib64/libc.so.6 than that node has (GLIBC_2.34): another "
        "operating system or module; it failed on vn2",
        "github.com/bioconda/bioconda-recipes/issues/57780",
    ),
    Public(
        "a node with an older processor",
        "srun: error: vn2: task 1: Illegal instruction (core dumped)\n",
        "the program was built for a newer processor than vn2 has",
        "srun's line of a task that a signal ended (slurm_step_launch.c), strsignal(3) of SIGILL",
    ),
    Public(
        "a /dev/shm that earlier jobs have filled",
        "[1776787275.688491] [vn2:677454:0]        mm_posix.c:206  UCX  ERROR   Not enough memory to write total of "
        "4292720 bytes. Please check that /dev/shm or the directory you specified has more available memory.\n"
        "[1776787275.688721] [vn2:677445:0]         uct_mem.c:168  UCX  ERROR   failed to allocate 4292720 bytes using "
        "md posix for mm_recv_desc: Out of memory\n",
        "/dev/shm of that node is full, or too small",
        "github.com/NVIDIA/cudf/issues/22233",
    ),
    Public(
        "a limit of 64 KiB of locked memory",
        "ib_log.c:246  UCX  ERROR mlx5_0: ibv_create_cq() failed: Cannot allocate memory. Please set max locked memory "
        "(ulimit -l) to 'unlimited' (current: 64 kbytes)\n",
        "the job may lock 64 kbytes of memory there, and RDMA needs it unlimited (ulimit -l of slurmd, limits.conf)",
        "github.com/openucx/ucx/issues/8684",
        stack="openmpi",
    ),
    Public(
        "a file server that was restarted, on one node",
        "mkdir: cannot create directory 'counters': Stale file handle\n" + TASK,
        "a file system of that node is broken: mount it again, and see the node's kernel log; it failed on vn2",
        "strerror(3) of ESTALE, EIO and EROFS, as mkdir(1) of coreutils prints it",
    ),
    Public(
        "a quota that is used up",
        "cp: error writing 'sizes.txt': Disk quota exceeded\n" + TASK,
        "a file system is full, or a quota is used up; it failed on vn2",
        "strerror(3) of EDQUOT, as cp(1) of coreutils prints it",
    ),
    Public(
        "a node whose ssh key is new after it was installed again",
        "Host key verification failed.\n",
        "the other node refuses ssh, with which the launcher starts processes there: check its keys and known hosts",
        "sshconnect.c of OpenSSH",
    ),
)


@pytest.mark.parametrize(
    "said_of",
    [
        pytest.param(one, marks=pytest.mark.fault("session", one.planted, f"({one.means})"), id=one.planted)
        for one in REPORTED
    ],
)
def test_an_accident_of_a_node_is_named_and_not_what_came_of_it(
    assess_cell: Assess, said_of: Public, promise: str
) -> None:
    found = assess_cell(stack=said_of.stack, exit_code=1, output="", stderr=f"----\n{said_of.text}").verdict
    line = 1 + said_of.line
    quoted = " ".join(said_of.text.splitlines()[said_of.line - 1].split())[:40]
    assert f'{say_exited(1, "")}, line {line} of the error output: "{quoted}' in found.sentence
    assert promise in found.sentence
    assert (found.rule, found.fault, found.suspects) == (1, "set-up", ())


#: Messages with genuine examples in public places (the corpus of INDEX.tsv) but not here.
PUBLIC = {
    "No available (?P<name>": "NPB-MZ with Open MPI 1.x over MX",
    "failed to modify QP": "perftest over RoCE",
    "cxil_map": "open-mpi/ompi, issue 13833; HPE, libcxi, cxil_map()",
    "ot completion": "NVIDIA/nccl-tests, issue 24",
}


def test_every_message_has_a_genuine_example() -> None:
    texts = [recorded_text(name) for name in EXAMPLES] + [recorded_text("openmpi4.1.4-no-such-interface.err")]
    texts += [one.text for one in REPORTED]
    texts.append("IMB-MT: error while loading shared libraries: libiomp5.so: cannot open shared object file: No such\n")
    texts.append(
        f"{NO_TURN} .railyard/testbed/job.lock for 185 s\n"
    )  # tests/job/test_testbed_words.py has them printed
    texts.append(f"{STOPPED} mpirun of vn1 is stopped (state T)\n")
    for message in MESSAGES:
        if not any(words in message.pattern for words in PUBLIC):
            assert any(re.search(message.pattern, text, re.MULTILINE) for text in texts), message.pattern


@pytest.mark.fault(
    "stack",
    "Open MPI was given an interface that does not exist",
    'line 2 of the error output: "WARNING: An invalid value was given for btl_tcp_if_include. This" '
    "(hsn7 of btl_tcp_if_include, on vn1: Unknown interface name)",
)
def test_a_failed_run_says_its_first_cause_and_not_the_error_that_came_of_it(assess_cell: Assess, promise: str) -> None:
    found = assess_cell(
        stack="openmpi", exit_code=1, output="", stderr=recorded_text("openmpi4.1.4-no-such-interface.err")
    )
    assert f"{say_exited(1, '')}, {promise}" in found.verdict.sentence


@pytest.mark.parametrize("ended", [{"exit_code": 124, "timed_out": True}, {"exit_code": 1}], ids=["limit", "exit"])
@pytest.mark.parametrize(
    "name", [name for name in EXAMPLES if "-srun2" in name or "under-slurm22" in name or name.startswith("srun22")]
)
def test_a_launcher_that_can_start_nothing_is_no_reason_to_look_at_rails(
    assess_cell: Assess, name: str, ended: dict[str, object]
) -> None:
    """MPICH's launcher waits until the time limit; else the verdict would name the rails and measure each one alone."""
    stack, _, _, means = EXAMPLES[name]
    found = assess_cell(stack=stack, **ended, output="", stderr=recorded_text(name), counters={})
    assert found.inputs.job.is_explained
    assert (found.verdict.rule, found.verdict.fault, found.verdict.suspects) == (1, "set-up", ())
    assert found.verdict.look_at == look_at_launcher()
    assert found.verdict.headline.lower() in means.lower()
    assert f"({means})" in found.verdict.sentence
    # If processes of it ran on the nodes, the words are of something else.
    assert not assess_cell(stack=stack, **ended, output="", stderr=recorded_text(name)).inputs.job.is_explained


def test_a_run_that_is_sound_says_nothing_of_a_warning(assess_cell: Assess) -> None:
    found = assess_cell(stderr=recorded_text("mpich5.0.2-ucx-no-such-device.err").partition("\n")[0] + "\n")
    assert found.verdict.state == "pass"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.fault("stack", f"a stored error output alone: {name.rpartition('.')[0]}", means),
            id=name,
        )
        for name, (_, _, _, means) in EXAMPLES.items()
    ],
)
def test_a_stored_output_says_its_first_cause_too(name: str, capsys: pytest.CaptureFixture[str], promise: str) -> None:
    _, line, quoted, _ = EXAMPLES[name]
    assert main(["judge", "--link", "eth-1", str(RECORDED / name)]) == 1
    out = capsys.readouterr().out
    assert f", {at_line(line)}{'' if quoted is None else quoted}" in out and f'" ({promise})\n' in out


def test_a_table_with_a_failure_says_the_first_cause_and_a_sound_one_nothing_of_a_warning() -> None:
    warning, error = (
        recorded_text("mpich5.0.2-ucx-no-such-device.err").splitlines()[0],
        "Abort(1) on node 1 (rank 1 in comm 0)",
    )
    rows = "".join(f"{1 << n:<10}{(1 << n) / (0.3 + (1 << n) / 12100):>18.2f}\n" for n in range(23))
    text = f"{warning}\n# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n{rows}"
    target = of_link("ib-edr")
    (sound,) = judge(osu.parse(text), target, text=text)
    assert (sound.state, "UCX" in sound.sentence) == ("pass", False)
    text += f"{error}\n"
    (failed,) = judge(with_wrong_lines(osu.parse(text), text), target, text=text)
    assert failed.sentence.startswith(f"rule 1 (complete): {say_reported(2, '')}, {at_line(1)}")
    assert "UCX_NET_DEVICES names hsn7, which that node does not have" in failed.sentence


def test_of_an_unknown_message_the_first_line_is_quoted_as_before(assess_cell: Assess) -> None:
    found = assess_cell(exit_code=1, output="", stderr="----\nsomething odd\n")
    assert f'{say_exited(1, "")}, "something odd"' in found.verdict.sentence


def test_the_page_has_the_table() -> None:
    assert f"\n\n{document()}\n" in (ROOT / "docs" / "reference" / "verdicts.md").read_text(encoding="utf-8")


RETRIES = (
    "the other end did not answer within the retries of the queue pair: look at cable and switch between the two, at "
    "MTU and GID index, and whether the other process had ended before"
)
REGISTRATION = (
    "the driver of Slingshot's card refused to register memory for it: memory of a GPU in a job that is not set up for "
    "it (MPICH_GPU_SUPPORT_ENABLED, craype-accel modules, FI_HMEM), or too many registrations"
)
#: A line of a library behind a heading without any row -> what it means.
BEHIND_A_HEADING = {
    "vn2:2201:2240 [0] transport/net_ib.cu:780 NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, "
    "vendor err 129": RETRIES,
    "vn2:2201:2240 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.1.0.2<47891> with "
    "status=12 opcode=0 len=0 vendor err 129 (Recv)": RETRIES,
    "[vn1:mpi_rank_0][handle_cqe] Got completion with error 12, vendor code=0x81, dest rank=1": RETRIES,
    "[vn1:mpi_rank_0][handle_cqe] Got completion with error 10, vendor code=0x88, dest rank=1": (
        "a transfer over RDMA failed with code 10 of ibv_wc_status"
    ),
    "cxil_map: write error": REGISTRATION,
}


@pytest.mark.parametrize("line", BEHIND_A_HEADING)
def test_an_error_behind_a_heading_without_any_row_is_the_first_cause(line: str) -> None:
    text = f"# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n\n{line}\n"
    (found,) = judge(with_wrong_lines(osu.parse(text), text), of_link("slingshot-11"), text=text)
    quoted = line[:200]
    assert found.sentence == (
        f'rule 1 (complete): the output has no table and reports 2 failures, {at_line(4)}{quoted}" '
        f"({BEHIND_A_HEADING[line]})"
    )


def test_an_unknown_error_is_quoted_before_a_heading_without_any_row() -> None:
    text = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\nsrun: error: something unheard of\n"
    (found,) = judge(with_wrong_lines(osu.parse(text), text), of_link("ib-edr"), text=text)
    assert found.sentence == (
        "rule 1 (complete): the output has no table and reports 2 failures, "
        f'{at_line(3)}srun: error: something unheard of"'
    )


def test_in_a_run_too_an_error_is_quoted_before_a_heading_without_any_row(
    assess_cell: Assess, imb_text: Callable[..., str]
) -> None:
    lines = imb_text().splitlines(keepends=True)
    text = "".join(2 * line if line.startswith("#") else line for line in lines)
    found = assess_cell(output=f"{text}node 2 failed status 3\n").verdict
    last = len(text.splitlines()) + 1
    assert f'{say_reported(2, "")}, {at_line(last)}node 2 failed status 3"' in found.sentence
