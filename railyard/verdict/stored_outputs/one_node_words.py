"""What an output prints if all ranks of a run share a node: tables of words, each with its meaning and its source.

Words that runs between nodes print too are not here: UCX_TLS=rc,sm,self, or "shm and tcp data transfer modes".
"""

from dataclasses import dataclass

from railyard.verdict.hints.fallback import BEFORE_SETTING, ENDS_VALUE, NOT_BTL, removal


@dataclass(frozen=True, slots=True)
class OneNodeWords:
    """Words that say it alone: a pattern for a line, what they mean, and their source.

    ``except_with``: a pattern of other words of the same output that speak against it. ``changed_by``: it is a setting,
    and a line of this pattern gives it a value or removes it; a value holds for all runs up to the next one.
    ``binds_with``: without words of this pattern, over RDMA, another part of the library may carry what goes between
    nodes: if a launch spreads its ranks over nodes, the setting says nothing.
    """

    pattern: str
    means: str
    source: str
    except_with: str = ""
    changed_by: str = ""
    binds_with: str = ""


@dataclass(frozen=True, slots=True)
class NodeCount:
    """A setting or request with a number of nodes (group ``nodes``), or with the only node's name (``node``)."""

    pattern: str
    source: str


_HOST = r"(?P<host>[A-Za-z0-9](?:[\w.-]{0,80}\w)?)"
_RANK = r"(?P<rank>[0-9]{1,7})"
#: What a rank may be on, and ``srun -l`` may print, besides a host: processors, cards, devices, names of machines.
NO_HOST = (
    r"(?!(?i:x86_64|i[3-6]86|aarch64|arm|ppc64|riscv|cores?\b|cpus?|sockets?|numa|threads?|gpus?|cuda|rocm|devices?|dev\b|"
    r"cards?|nics?\b|ports?|rails?|mlx[0-9]|hfi|cxi|efa|bnxt|rxe|ib[0-9s]|eth|en[opsx][0-9]|bond|hsn|linux|ubuntu|rocky|"
    r"rhel|el[0-9]|gcc|python|the\b|a\b|all\b|same\b))"
)

#: A rank and the host that it runs on. Two ranks or more of one host, and of no other, share a node.
RANKS: tuple[str, ...] = (
    # "[node1:18142] MCW rank 0 bound to socket 0[core 0[hwt 0]]: …". Source: open-mpi/ompi, orte/mca/rtc/hwloc and
    # openpmix/prrte, src/hwloc (--report-bindings)
    rf"^[^\n]{{0,80}}\[{_HOST}:[0-9]{{1,9}}\] (?:MCW )?[Rr]ank {_RANK} (?:is )?(?:not )?bound\b",
    # "[0] MPI startup(): 0       11901    node1      0". Source: I_MPI_DEBUG of the Intel MPI Library
    rf"^[^\n]{{0,80}}\bMPI startup\(\): {_RANK}\s{{1,20}}[0-9]{{1,9}}\s{{1,20}}{_HOST}(?:\s|$)",
    # "cpu-bind=MASK - node1, task  0  0 [123]: mask 0x1 set". Source: SchedMD/slurm, src/plugins/task/affinity
    rf"\bcpu-bind(?:-\w{{1,20}})?=\w{{1,20}} - {_HOST}, task\s{{1,9}}{_RANK}\s",
    # "0: node1" of NetPIPE's NPmpi (mpi.c), and of srun -l hostname; a name has a digit
    rf"^\s{{0,9}}{_RANK}: (?=\S{{0,80}}[0-9]){NO_HOST}(?P<host>[A-Za-z](?:[\w.-]{{0,80}}\w)?)\s{{0,9}}$",
    # "Process 0 of 2 is on node1", "Proc 0 is on node1", "Hello from rank 0, thread 0, on nid00001."
    # Source: pmodels/mpich, examples/cpi.c; NetPIPE 5, mpi.c; the xthi of Cray's manuals
    rf"\b(?:[Pp]roc(?:ess)?|[Rr]ank|[Tt]ask) {_RANK}(?: (?:of|out of) [0-9]{{1,7}})?"
    rf"(?:, thread\s{{1,4}}[0-9]{{1,4}})?,? (?:is |runs |running )?on (?:host |node )?{NO_HOST}{_HOST}(?:[\s.,(]|$)",
    # "Hello world from processor node1, rank 0 out of 2 processors". Source: mpitutorial/mpitutorial, mpi_hello_world.c
    rf"\bprocessor {_HOST}, rank {_RANK} (?:of|out of) [0-9]",
)
#: "Data for node: node1  Num slots: 2  Max slots: 0  Num procs: 2": a line for each node that has ranks.
#: Source: open-mpi/ompi, orte/runtime/data_type_support/orte_dt_print_fns.c (--display-map).
MAP = rf"\bData for node: {_HOST}\s{{1,9}}[^\n]{{0,80}}\bNum procs: (?P<ranks>[0-9]{{1,7}})"

#: A transport of UCX that stays within a node: memory that processes share, and copies to or from a GPU.
_OF_UCX = r"(?:sm|shm|mm|posix|sysv|cma|knem|xpmem|self|cuda|cuda_copy|cuda_ipc|gdr_copy|rocm|rocm_copy|rocm_ipc)"
_NETWORK_OF_UCX = r"(?:tcp|rc|dc|ud|ib|ugni|gga|all|srd)"
_OF_BTL = r"(?:self|sm|vader|smcuda)"
_IN_BTL = r"(?:-mca[ \t]{1,4}btl[ \t]{1,4}|\bOMPI_MCA_btl[= ])[\"']?"


def _change(variable: str) -> str:
    """Return the pattern of a command that gives a variable a value, empty too, or removes it."""
    return rf"{BEFORE_SETTING}{variable}[= ]|{removal(variable)}"


def _of_provider(variable: str, except_with: str = "") -> OneNodeWords:
    """Return the row of a variable that names a provider of Libfabric."""
    return OneNodeWords(
        rf"{BEFORE_SETTING}{variable}[= ][\"']?shm(?![\w;,]){ENDS_VALUE}",
        "Libfabric's provider shm is shared memory",
        "man fi_shm(7) of Libfabric; I_MPI_OFI_PROVIDER of the Intel MPI Library Developer Reference",
        except_with,
        changed_by=_change(variable),
    )


SHARED_MEMORY: tuple[OneNodeWords, ...] = (
    OneNodeWords(
        r"\bMPI startup\(\): shm data transfer modes?\b",
        "Intel MPI moved everything through shared memory",
        "I_MPI_DEBUG of the Intel MPI Library, releases before 2019",
        except_with=r"\bshm and \w{1,20} data transfer modes?\b|startup\(\): (?:tcp|dapl|ofa|tmi|ofi) data transfer",
    ),
    OneNodeWords(
        r"\bprovider:? (?:is )?shm(?![\w;])",
        "Libfabric's provider shm is shared memory",
        "man fi_shm(7) of Libfabric",
        except_with=r"\bprovider:? (?!shm)\w",
    ),
    _of_provider("FI_PROVIDER", except_with=r"\bI_MPI_OFI_PROVIDER[= ][\"']?(?!shm)\w"),
    _of_provider("I_MPI_OFI_PROVIDER"),  # it is stronger than FI_PROVIDER
    OneNodeWords(
        rf"{BEFORE_SETTING}I_MPI_FABRICS[= ][\"']?shm{ENDS_VALUE}",
        "Intel MPI was limited to shared memory",
        "I_MPI_FABRICS of the Intel MPI Library Developer Reference",
        changed_by=_change("I_MPI_FABRICS"),
    ),
    OneNodeWords(
        rf"{BEFORE_SETTING}UCX_TLS[= ][\"']?{_OF_UCX}(?:,{_OF_UCX}){{0,9}}{ENDS_VALUE}",
        "UCX was limited to shared memory",
        "openucx/ucx, src/ucp/core/ucp_context.c, TLS",
        changed_by=_change("UCX_TLS"),
    ),
    OneNodeWords(
        rf"^(?!\s{{0,20}}#)[^\n]{{0,600}}{_IN_BTL}{_OF_BTL}(?:,{_OF_BTL}){{0,4}}(?![\w,])",
        "Open MPI was limited to shared memory",
        # The default pml over Omni-Path is cm (mtl/psm2, priority 40), with mlx5 ucx (51); only ob1 (20) uses a btl.
        "open-mpi/ompi, opal/mca/btl/vader and sm; ompi/mca/mtl/psm2/mtl_psm2_component.c; issue 8489",
        except_with=rf"{NOT_BTL}|\bUCX_TLS=\S{{0,60}}tcp",
        changed_by=rf"^(?!\s{{0,20}}#)[^\n]{{0,600}}{_IN_BTL}|{_change('OMPI_MCA_btl')}",
        binds_with=r"(?:\b|MCA_)pml[= ][\"']?ob1\b",
    ),
    OneNodeWords(
        r"\bmca: bml: Using (?:vader|sm|smcuda) btl (?:for send )?to ",
        "Open MPI sent through shared memory",
        "open-mpi/ompi, v4.1.x, ompi/mca/bml/r2/bml_r2.c",
        except_with=r"\bmca: bml: Using (?!vader|smcuda|sm|self)\w{1,20} btl ",
    ),
    OneNodeWords(
        r"\b(?:ep_cfg\[[0-9]{1,6}\]:|intra-node cfg#[0-9]{1,6}) (?:tag|am|rma)\((?:posix|sysv|cma|knem|xpmem)/",
        "UCX moved everything through shared memory",
        "openucx/ucx, src/ucp/core/ucp_worker.c (UCX_LOG_LEVEL=info)",
        except_with=rf"\binter-node cfg#|\({_NETWORK_OF_UCX}(?:_\w{{1,20}})?/",
    ),
)

_NODES = r"(?P<nodes>[0-9]{1,6})"
#: A job script's line, or a command in a prompt line, up to the option that is looked for.
_QSUB, _BSUB = (
    rf"(?:^\s{{0,9}}#{script}|^(?!\s{{0,9}}#)[^\n]{{0,200}}(?<![\w.-]){command}(?:\s[^\n]{{1,200}})?)"
    for script, command in (("PBS", "qsub"), ("BSUB", "bsub"))
)
NODE_COUNTS: tuple[NodeCount, ...] = (
    NodeCount(rf"\bSLURM_(?:JOB_NUM_NODES|NNODES|STEP_NUM_NODES)=[\"']?{_NODES}\b", "man srun: output environment"),
    NodeCount(
        r"\bSLURM_(?:JOB_|STEP_)?NODELIST\s?[=:]\s?[\"']?(?:(?P<node>[\w.-]{1,80})(?![\w.,\[-])|(?=\S*[\[,]))",
        "man srun: output environment",
    ),
    NodeCount(
        r"\bLSB_HOSTS=[\"']?(?:(?P<node>[\w.-]{1,80})(?:[ ](?P=node)){0,999}[\"']?\s{0,9}$|(?=[\w.-]{1,80}[ ]\w))",
        "bsub of LSF: a name for each slot",
    ),
    NodeCount(
        r"\bLSB_MCPU_HOSTS=[\"']?(?:(?P<node>[\w.-]{1,80}) [0-9]{1,6}[\"']?\s{0,9}$|(?=[\w.-]{1,80} [0-9]{1,6} \w))",
        "bsub of LSF: each host with its slots",
    ),
    NodeCount(rf"^\s{{0,9}}#SBATCH(?:\s[^\n]{{0,200}})?\s(?:-N ?|--nodes[= ]){_NODES}(?![\w-])", "man sbatch"),
    NodeCount(
        rf"{_QSUB}\s{{1,9}}-l\s{{0,4}}(?:[^\s,]{{1,80}},){{0,9}}(?:nodes|select)={_NODES}(?![^\s,]*\+)(?:[:\s,]|$)",
        "qsub of PBS and Torque",
    ),
    NodeCount(rf"{_BSUB}\s{{1,9}}-nnodes\s{{1,4}}{_NODES}\b", "bsub of LSF"),
    NodeCount(rf"{_BSUB}\s[^\n]{{0,80}}\bspan\[hosts={_NODES}\]", "bsub of LSF"),
    NodeCount(rf"\b(?:PBS_NUM_NODES|NHOSTS|NNODES)={_NODES}\b", "qsub of Torque and of Grid Engine"),
    NodeCount(rf"\bNumNodes={_NODES}\b", "scontrol show job of Slurm"),
    NodeCount(
        rf"^\s{{0,9}}(?:[Nn]umber of )?[Nn]odes(?: used| allocated)?\s{{0,9}}[:=]\s{{0,9}}{_NODES}\s{{0,9}}$",
        "what job scripts and epilogues print",
    ),
)
#: Each line that a pattern above matches has one of these; searched for first, since that costs less.
ROOTS_OF_SETTINGS = ("PROVIDER", "FABRICS", "UCX_TLS", "btl")
ROOTS = (
    *("bound", "MPI startup()", "cpu-bind", ": ", " on ", "rank ", "Data for node", "rovider", *ROOTS_OF_SETTINGS),
    *("cfg", "SLURM_", "#SBATCH", "#PBS", "#BSUB", "qsub", "bsub", "NODES=", "NHOSTS=", "LSB_", "NumNodes", "odes"),
)
