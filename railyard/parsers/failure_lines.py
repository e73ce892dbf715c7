"""Lines that say that a run, a process or the network failed, by who prints them, each with a genuine example.

They are in a job's output or its error output, even if the exit code is 0: a launcher may lose a rank's exit code, and
a library may go on. For a new message, add a pattern and an example; host names in examples are replaced.
"""

from typing import NamedTuple

from railyard.base.patterns import late_regex


class Failure(NamedTuple):
    """What one program or library prints: its patterns, and real lines."""

    who: str
    pattern: str
    examples: tuple[str, ...]


#: What a known bug of a launcher prints when it ends the start of MPICH: Slurm 22.05's plugin pmi2 reads a long line in
#: two parts. MPICH 5 sends 4096 bytes as UCX's address (MPIDI_UCX_comm_addr_exchange in ucx_init.c), however short that
#: is. So what lies behind it in memory decides whether a line is long, and a start in the same way fails again.
LAUNCHER_BUG = "mpi/pmi2: value not properly terminated in client request"
#: A tunable of the C library that puts other memory behind that address. With MPICH 5.0.2 under Slurm 22.05.8, each of
#: 72 starts of 2 to 4 processes over one rail or two succeeded with it; without it 32 of the same 72 failed, always the
#: same ones.
OTHER_HEAP = "glibc.malloc.tcache_count=1"
#: How slurmstepd begins a line of a job's error output: with its own name up to 24.11 (and its node's, if several
#: slurmd may run on a host), from 25.05 on with the time, in the form of LogTimeFormat. Source: log.c in src/common.
STEPD = r"(?:slurmstepd(?:-[^\s:]{1,200})?:|\[[^\]\n]{0,40}[0-9]{2}:[0-9]{2}:[0-9]{2}[^\]\n]{0,60}\]) error: "
#: No error of slurmstepd that says nothing of the job: its accounting asked what a task uses when the step was already
#: over (jobacct_gather_stat_task in src/interfaces/jobacct_gather.c). Seen on a busy machine.
_OF_THE_JOB = r"(?!(?:jobacct_gather_\w{1,40}: )?no task list created!)"
#: The same from 25.05 on, in the usual form of the time: what follows may be anything.
_STEPD_TIME = rf"\[[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9:.+Z-]{{8,21}}\] error: {_OF_THE_JOB}"
#: What a launcher of our own testbeds says whose turn did not come.
NO_TURN = "railyard: error: another process held"
#: What it says of a process that is stopped at its time limit.
STOPPED = "railyard: error: at the time limit"
FAILURES: tuple[Failure, ...] = (
    Failure(
        "shell and kernel",
        r"Segmentation fault|Bus error|Floating point exception|Illegal instruction|core dumped|\bKilled\b|oom-kill"
        r"|Out [Oo]f [Mm]emory|process(?:es)? (?:killed|aborted)|command not found|could not (?:find|access|execute)"
        r"|error while loading shared libraries|Assertion .{0,200}failed|stack smashing detected"
        r"|double free or corruption|terminate called|[Aa]bort(?:ed|ing)\b",
        (
            "./job.sh: line 12: 2290964 Segmentation fault      (core dumped) ./osu_bw",
            "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=4.0. Some of the processes have been killed",
            "osu_bw: error while loading shared libraries: libmpi.so.40: cannot open shared object file",
            "*** stack smashing detected ***: terminated",
            "double free or corruption (!prev)",
            "terminate called after throwing an instance of 'std::runtime_error'",
        ),
    ),
    Failure(
        "openmpi",
        r"mpi(?:run|exec) noticed|mpi(?:run|exec): killing|mpi(?:run|exec) was unable|mpi(?:run|exec) detected that"
        r"|prterun (?:noticed|detected|was unable)|(?:PRTE|ORTE|orterun) (?:has lost|was unable|noticed)"
        r"|total processes killed|exited on signal|MPI_ABORT was invoked|An error occurred in|MPI_ERRORS_ARE_FATAL"
        r"|MPI_ERR_[A-Z]+|Signal: .{0,60}\([0-9]+\)|Signal code:|error polling|REMOTE ACCESS ERROR|RETRY EXCEEDED"
        r"|Error returned from fi_\w+|readv failed",
        (
            "mpirun noticed that process rank 1 with PID 31808 on node node2 exited on signal 11 (Segmentation fault).",
            "[node1:1946] *** MPI_ERR_TRUNCATE: message truncated",
            "[node1:31808] Signal: Bus error (7)",
            "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD",
            "node03 to: node02 error polling HP CQ with status REMOTE ACCESS ERROR status number 10",
            "mtl_ofi.h:101: Error returned from fi_cq_readerr: Resource temporarily unavailable(-11).",
            "ORTE has lost communication with a remote daemon.",
        ),
    ),
    Failure(
        "mpich",
        r"MPI_Abort|Fatal error in|\bAbort\(-?[0-9]+\)|aborting job|BAD TERMINATION OF|=   EXIT CODE|EXIT STRING",
        (
            "Abort(271763599) on node 7 (rank 7 in comm 0): Fatal error in internal_Send: Other MPI error, error",
            "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
            "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0",
        ),
    ),
    Failure(
        "intelmpi",
        r"KILLED BY SIGNAL|terminated with signal",
        (
            "=   KILLED BY SIGNAL: 9 (Killed)",
            "APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)",
        ),
    ),
    Failure(
        "mpt",
        r"\bMPT ERROR: ",
        ("MPT ERROR: Rank 57(g:57) received signal SIGSEGV(11).",),  # kynema/kynema-ugf, issue 818
    ),
    Failure(
        "mvapich2",
        r"Caught error: |\bgot completion with error|Got completion with error",
        (
            "[node1:mpi_rank_7][error_sighandler] Caught error: Segmentation fault (signal 11)",
            "[cli_5]: aborting job:",
            "[node1:mpi_rank_0][handle_cqe] Got completion with error 12, vendor code=0x81, dest rank=1",
            "mlx5: node1: got completion with error:",
        ),
    ),
    Failure(
        "craympich",
        r"MPICH ERROR|OFI poll failed|handle_cq_error|cxil_map: write error",
        (
            "MPICH ERROR [Rank 519] [job id 947981.0] [node1] - Abort(539602063) (rank 519 in comm 0): Fatal error in",
            "cxil_map: write error",
            "MPIDI_OFI_handle_cq_error(1075): OFI poll failed (ofi_events.c:1077:Input/output error)",
        ),
    ),
    Failure(
        "UCX",
        r"UCX +(?:ERROR|FATAL)|Caught signal|[Rr]etry count exceeded",
        (
            "[1753684564.462789] [node2:2290969:0]  ib_mlx5_log.c:177  UCX  ERROR Transport retry count exceeded on",
            "[node2:2290969:0:2290969] Caught signal 11 (Segmentation fault: address not mapped to object at 0x8)",
        ),
    ),
    Failure(
        "NCCL",
        r"NCCL WARN .{0,60}(?:Got completion|[Ff]ail|[Ee]rror|fatal event)|Test NCCL failure",
        (
            "node1:2304:2340 [1] transport/net_ib.cc:220 NCCL WARN NET/IB : mlx5_3:1 async fatal event on QP: fatal",
            "node1:2304:2340 [1] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer with error 4",
            "node1: Test NCCL failure common.cu:958 'remote process exited or there was a network error'",
        ),
    ),
    Failure(
        "GPU driver",
        r"NVRM: Xid",
        ("[ 1234.5] NVRM: Xid (PCI:0000:1b:00): 74, pid=4000, NVLink: fatal error detected on link 6",),
    ),
    Failure(
        "client and server",
        r"Completion with error at|Failed status [0-9]+|iperf3: error|unreachable"
        r"|[Cc]onnection (?:refused|reset|timed out)",
        (
            " Completion with error at client:",
            " Failed status 12: wr_id 0 syndrom 0x81",
            "iperf3: error - unable to connect to server: Connection refused",
        ),
    ),
    Failure(
        "schedulers",
        rf"srun: error|slurmstepd(?:-[^\s:]{{1,200}})?: error: {_OF_THE_JOB}|DUE TO TIME LIMIT|CANCELLED AT"
        r"|Forwarding signal"
        rf"|failed status|{_STEPD_TIME}"
        r"|flux-job: .{0,40}(?:exception|failed)|task\(s\) .{0,40}[Ee]xit|executing task of job [0-9]+ failed",
        (
            "srun: error: node2: task 1: Exited with exit code 143",
            "slurmstepd: error: *** STEP 12.0 ON node1 CANCELLED AT 2026-11-23T15:15:21 DUE TO TIME LIMIT ***",
            "slurmstepd-node1: error: Exceeded job memory limit",
            "[2026-11-30T10:03:02.908] error: Exceeded job memory limit",
            "flux-job: task(s) exited with exit code 135",
            'error: executing task of job 3 failed: execution daemon on host "node2" didn\'t accept task',
        ),
    ),
    Failure(
        "benchmarks",
        r"Integrity check failed|DATA VALIDATION ERROR|[Ii]nvalid benchmark name|NO SUCCESSFUL EXECUTIONS",
        ("Invalid benchmark name PingPng", "DATA VALIDATION ERROR: 4194304"),
    ),
)

PATTERN = late_regex("|".join(failure.pattern for failure in FAILURES))
#: Every line that ``PATTERN`` matches has one of these. To look for them first is thirty times faster than to try all
#: alternatives of ``PATTERN`` at every place of a line. Those that begin alike are together, which halves the time.
ROOT = late_regex(
    r"r(?:ror|terun)|E(?:RR|XIT)|i(?:lled|gnal)|kill|bort|ABORT|KILLED|T(?:ERMINATION|IME LIMIT)|m(?:pirun|piexec)"
    r"|R(?:TE |ETRY)|a(?:ult|iled)|d(?:umped|ouble free)|FATAL|f(?:ailed|lux-job)|n(?:ot found|valid benchmark)"
    r"|could not|CANCELLED|e(?:mory|xceeded|xception)|N(?:VRM: Xid|O SUCCESSFUL|CCL (?:WARN|failure))|unreachable"
    r"|Illegal|t(?:ask\(s\)|erminate called)|smashing|o(?:mpletion|nnection)"
)
