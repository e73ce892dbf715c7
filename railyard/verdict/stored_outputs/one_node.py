"""Whether an output's own words say that all ranks of a table share a node: commands, libraries, the job's settings.

The tables of words give each its meaning and its source. Words that runs between nodes print too are not in them:
UCX_TLS=rc,sm,self, or "shm and tcp data transfer modes".
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import chain

from railyard.base.patterns import late_regex
from railyard.base.values import one_line
from railyard.benchmarks.model import Tool
from railyard.benchmarks.table import micro
from railyard.parsers.lines import LONGEST_NOTE, clean_text
from railyard.parsers.output import Table
from railyard.verdict.hints.causes import branches, possible
from railyard.verdict.hints.fallback import BEFORE_SETTING, ENDS_VALUE, FAMILIES, NOT_BTL, removal
from railyard.verdict.inputs import Target
from railyard.verdict.stored_outputs.launch_command import (
    NO_HOST,
    Command,
    HostList,
    default_host_file,
    host_file,
    host_lists,
    is_one_host,
    launch,
    name_of,
    server,
)
from railyard.verdict.wording import stored_outputs


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


_PROVIDER_SHM = (
    "Libfabric's provider shm is shared memory",
    "man fi_shm(7) of Libfabric; I_MPI_OFI_PROVIDER of the Intel MPI Library Developer Reference",
)


def _of_provider(variable: str, except_with: str = "") -> OneNodeWords:
    """Return the row of a variable that names a provider of Libfabric."""
    return OneNodeWords(
        rf"{BEFORE_SETTING}{variable}[= ][\"']?shm(?![\w;,]){ENDS_VALUE}",
        *_PROVIDER_SHM,
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
#: Each line that a pattern above matches has one of these, or begins with a rank ("0: node1"); searched for first,
#: since that costs less.
ROOTS_OF_SETTINGS = ("PROVIDER", "FABRICS", "UCX_TLS", "btl")
ROOTS = (
    *("bound", "MPI startup()", "cpu-bind", " on ", "rank ", "Data for node", "rovider", *ROOTS_OF_SETTINGS),
    *("cfg", "SLURM_", "#SBATCH", "#PBS", "#BSUB", "qsub", "bsub", "NODES=", "NHOSTS=", "LSB_", "NumNodes", "odes"),
)


#: A heterogeneous job of Slurm: each of its parts has a number of nodes.
_OF_PARTS = ("hetjob", "packjob", "SLURM_HET_SIZE", "_HET_GROUP_", "_PACK_GROUP_")
_NEXT_COMMAND = late_regex(r";(?:\s|$)|&&")
#: Behind a command; in "vn1:~ # export UCX_TLS=rc" it is the prompt of root.
_COMMENT = late_regex(r"(?<=\w)\s{1,9}#\s.*")
_QUOTED = 100  # characters of a line in a sentence


@dataclass(frozen=True, slots=True)
class _Sign:
    """A line that says something about the nodes: ``one_node`` True or False, or None if it says nothing.

    ``of_run``: it is of one run, and says nothing about the next launch. ``host`` and ``rank``: where a rank is.
    ``of_setting``: it gives this setting a value, which holds up to the next one. ``spreads``: of a launch's ranks.
    """

    line: int
    quoted: str
    one_node: bool | None
    means: str
    of_run: bool = True
    host: str = ""
    rank: str = ""
    of_setting: OneNodeWords | None = None
    spreads: bool = False


def one_node(table: Table, lines_of_tables: Sequence[int], target: Target, text: str) -> str | None:
    """Return why a table is not judged by the target's link: words of the output say that its ranks share a node.

    None if they do not say it. The hosts of ranks decide before a command, and a command before a setting.
    """
    if not target.rail_names:
        return None
    plain, before = clean_text(text), tuple(sorted({0, *(line for line in lines_of_tables if line < table.line)}))
    is_last = table.line >= max(lines_of_tables, default=table.line)
    tool = micro.tool(table.tool)
    launches = _launches(plain) if tool.of_mpi else ()
    last_launch = max((sign.line for sign in launches if sign.line < table.line), default=0)
    for signs in _kinds(tool, plain, launches):
        if signs and (setting := signs[0].of_setting):
            runs = launches if tool.of_mpi else _servers(plain, tool)
            if not (_spread(runs, table.line) and _is_bypassed(setting, target, plain)):
                own = _at_launch(signs, sorted({run.line for run in runs}), table.line, lines_of_tables, plain)
                if limiting := next((sign for sign in own if sign.one_node), None):
                    return _sentence(limiting, target)
            continue
        counted = [sign for sign in signs if not sign.of_run or sign.line >= last_launch]
        own = _compare_hosts(_own(counted, table.line, before, is_last))
        if signs is launches and own and own[-1].one_node is None:  # the last command is the table's own
            own = [sign for sign in own if sign.one_node is False]
        own = [sign for sign in own if sign.one_node is not None]
        if any(sign.one_node is False for sign in own):
            return None
        if own:
            return _sentence(own[0], target)
    return None


def _kinds(tool: Tool, text: str, launches: tuple[_Sign, ...]) -> Iterator[tuple[_Sign, ...]]:
    """Yield the signs of each kind that count for a tool's tables, those first that decide before others."""
    if tool.of_mpi:
        yield _ranks(text)
    yield _servers(text, tool)
    yield launches
    if tool.of_mpi or tool.shared:
        yield _shared_memory(text)
        yield from _settings(text)
    if tool.of_mpi:
        yield _node_counts(text)


def _sentence(sign: _Sign, target: Target) -> str:
    return stored_outputs.one_node(sign.line, sign.quoted[:_QUOTED], sign.means, target.fabric_name)


def _own(signs: Sequence[_Sign], line: int, before: Sequence[int], is_last: bool) -> list[_Sign]:
    """Return the signs of a table: those above its heading and below the table before, else of a table before.

    ``before``: where these begin. Only below the last heading there is no next run, whose signs they may be.
    """
    end = line
    for start in reversed(before):
        own = [sign for sign in signs if start < sign.line < end]
        if own:
            return own
        end = start + 1
    return [sign for sign in signs if sign.line > line] if is_last else []


def _compare_hosts(signs: list[_Sign]) -> list[_Sign]:
    """Return signs with the hosts of ranks compared: two ranks of one host share it."""
    hosts = {sign.host for sign in signs if sign.host}
    if not hosts:
        return signs
    if len({sign.rank for sign in signs}) < 2:
        return []
    return [replace(sign, one_node=is_one_host(hosts)) for sign in signs]


@lru_cache(maxsize=1)  # each kind of sign asks for it, and most lines of a long output are rows of numbers
def _worded_lines(text: str) -> tuple[tuple[int, str], ...]:
    """Return each line with a letter, with its number."""
    return tuple((number, line) for number, line in enumerate(text.split("\n"), 1) if line.lower() != line.upper())


@lru_cache(maxsize=1)
def _lines(text: str) -> tuple[tuple[int, str], ...]:
    return tuple(
        (number, line[:LONGEST_NOTE])
        for number, line in _worded_lines(text)
        if any(root in line for root in ROOTS) or (": " in line and line.lstrip()[:1].isdigit())
    )


@lru_cache(maxsize=1)  # each of an output's tables asks for it
def _ranks(text: str) -> tuple[_Sign, ...]:
    """Return each rank that a text lists with its host."""
    found: list[_Sign] = []
    patterns = [*map(re.compile, (*RANKS, MAP))] if _lines(text) else []
    for number, line in _lines(text):
        for match in filter(None, (pattern.search(line) for pattern in patterns)):
            has, host = match.groupdict(), match["host"]
            ranks = [has["rank"]] if "rank" in has else [f"{host} {rank}" for rank in range(min(int(has["ranks"]), 2))]
            means = stored_outputs.ranks_on(host)
            found += (_Sign(number, one_line(line).strip(), None, means, host=host, rank=rank) for rank in ranks)
            break
    return tuple(found)


@lru_cache(maxsize=1)
def _launches(text: str) -> tuple[_Sign, ...]:
    """Return each launch of a text; of one with a host file that the text shows above it, what its hosts say, too."""
    found, lists = tuple(_commands(text, launch)), _host_lists(text)
    if not lists:
        return found
    defaults, lines = _default_host_files(text), {sign.line for sign in found}
    above = [(line, file) for line, file in defaults if line not in lines]  # a launch sets it for itself alone
    return tuple(_with_hosts(sign, lists, above) for sign in found)


@lru_cache(maxsize=1)
def _host_lists(text: str) -> tuple[HostList, ...]:
    return host_lists(text)


def _default_host_files(text: str) -> tuple[tuple[int, str], ...]:
    """Return each line that sets the host file of later launches, with the file; empty if it removes it."""
    found = ((number, default_host_file(line[:LONGEST_NOTE])) for number, line in _worded_lines(text))
    return tuple((number, file) for number, file in found if file is not None)


def _with_hosts(sign: _Sign, lists: Sequence[HostList], defaults: Sequence[tuple[int, str]]) -> _Sign:
    """Return a launch with what the last list of its host file says that is above it."""
    default = next((file for line, file in reversed(defaults) if line < sign.line), "")
    name = name_of(host_file(sign.quoted, default))
    listed = next((each for each in reversed(lists) if each.line < sign.line and each.name == name), None)
    command = launch(sign.quoted, listed.hosts) if listed is not None else None
    if command is None or listed is None:
        return sign
    return replace(
        sign,
        one_node=command.one_node,
        means=stored_outputs.hosts_in(command.why, listed.line),
        spreads=command.spreads,
    )


@lru_cache(maxsize=1)
def _servers(text: str, tool: Tool) -> tuple[_Sign, ...]:
    return tuple(_commands(text, lambda line: server(line, tool)))


def _commands(text: str, read: Callable[[str], Command | None]) -> Iterator[_Sign]:
    read_once = cache(read)  # the headings of a long output are alike
    for number, line in _worded_lines(text):
        command = read_once(line) if len(line) <= LONGEST_NOTE else None
        if command is not None:
            yield _Sign(number, one_line(line).strip(), command.one_node, command.why, spreads=command.spreads)


@lru_cache(maxsize=1)
def _shared_memory(text: str) -> tuple[_Sign, ...]:
    distinct = {line for _, line in _lines(text)}
    found: list[_Sign] = []
    for row in SHARED_MEMORY:
        matches = {line for line in distinct if not row.changed_by and re.search(row.pattern, line)}
        if matches and not _speaks_against(row, text):
            found += (
                _Sign(number, one_line(line).strip(), True, row.means)
                for number, line in _lines(text)
                if line in matches
            )
    return tuple(found)


def _speaks_against(row: OneNodeWords, text: str) -> bool:
    return bool(row.except_with) and re.search(row.except_with, text, re.MULTILINE) is not None


@lru_cache(maxsize=1)
def _settings(text: str) -> tuple[tuple[_Sign, ...], ...]:
    """Return the signs of each setting that somewhere limits a library to shared memory, other values of it too."""
    found = []
    lines = [(number, line) for number, line in _lines(text) if any(root in line for root in ROOTS_OF_SETTINGS)]
    for row in SHARED_MEMORY if lines else ():
        if row.changed_by and not _speaks_against(row, text):
            values = cache(partial(_values, row))
            signs = tuple(
                _Sign(number, one_line(line).strip(), one_node, row.means, of_run, of_setting=row)
                for number, line in lines
                for one_node, of_run in values(line)
            )
            if any(sign.one_node for sign in signs):
                found.append(signs)
    return tuple(found)


def _spread(runs: Sequence[_Sign], line: int) -> bool:
    """Return whether the launch of the table in ``line`` spreads its ranks over the job's nodes."""
    above = [run for run in runs if run.line < line]
    return bool(above) and above[-1].spreads


def _is_bypassed(setting: OneNodeWords, target: Target, text: str) -> bool:
    """Return whether another part of the library may carry what goes between nodes, past a setting."""
    if not setting.binds_with or target.fabric.link.family not in FAMILIES:
        return False
    return re.search(setting.binds_with, text) is None


def _values(row: OneNodeWords, line: str) -> tuple[tuple[bool | None, bool], ...]:
    """Return for each value that a line gives a setting: whether it means one node, and whether it is of one run only.

    A line that begins with an option goes on with a launch.
    """
    if line.lstrip().startswith("#"):
        return ()
    found: list[tuple[bool | None, bool]] = []
    for command in _NEXT_COMMAND.split(line):
        of_run = command.lstrip().startswith("-") or launch(command) is not None
        if re.search(row.pattern, command):
            found.append((True, of_run))
        elif re.search(row.changed_by, _COMMENT.sub("", command)):
            found.append((None, of_run))
    return tuple(found)


def _possible(signs: Sequence[_Sign], line: int, text: str) -> list[_Sign]:
    """Return the values of a setting that may hold in a line: the last one, and those of branches of a script."""
    known = branches(text)
    places = possible([known.paths.get(sign.line, ()) for sign in signs], known.paths.get(line, ()), known.complete)
    found = [signs[place] for place in places]
    if all(sign.one_node for sign in found) and (not found or not known.paths.get(found[-1].line)):
        return found
    return [
        replace(sign, means=stored_outputs.in_branch(sign.means)) if known.paths.get(sign.line) else sign
        for sign in found
    ]


def _at_launch(
    signs: Sequence[_Sign], runs: list[int], line: int, lines_of_tables: Sequence[int], text: str
) -> list[_Sign]:
    """Return the signs of a setting that hold for the table in ``line``: the last before its launch.

    ``runs``: the lines of launches. Tables that follow several launches may be of any of them. A value between launch
    and table counts if it means one node: the run itself may have printed it. Without a launch the last above counts.
    """
    before = tuple(sorted({0, *(each for each in lines_of_tables if each < line)}))
    is_last = line >= max(lines_of_tables, default=line)
    starts = [run for run in runs if run < line]
    last = max(starts, default=0)
    own = [sign for sign in signs if max(last, before[-1]) < sign.line < line and not sign.of_run]
    if not starts or (own and before[-1] > last) or not any(sign.line < line for sign in signs):
        return _possible(_own(signs, line, before, is_last), line, text)
    end = min((run for run in runs if run > line), default=max(line, *lines_of_tables) + 1)
    if sum(last < each < end for each in lines_of_tables) > 1:
        first = max((each for each in before if each < last), default=0)
        starts = [start for start in starts if start > first]
    else:
        starts = [last]
    held = [_possible([sign for sign in signs if _holds(sign, start, runs)], start, text) for start in starts]
    return [*chain.from_iterable(held), *own]


def _holds(sign: _Sign, start: int, runs: Sequence[int]) -> bool:
    """Return whether a value was given before the launch in line ``start``, or by it."""
    if not sign.of_run:
        return sign.line <= start
    return max((run for run in runs if run <= sign.line), default=0) == start


@lru_cache(maxsize=1)
def _node_counts(text: str) -> tuple[_Sign, ...]:
    """Return the numbers of nodes of the job: one, or several of which a run may use one; none of a job of parts."""
    if any(word in text for word in _OF_PARTS):
        return ()
    counts_once = cache(_counts_one_node)
    found: list[_Sign] = []
    for number, line in _lines(text):
        found += (
            _Sign(number, one_line(line).strip(), is_one, stored_outputs.job_of_one_node(), of_run=False)
            for is_one in counts_once(line)
        )
    found += (
        _Sign(each.line, one_line(each.quoted), each.is_one_host, stored_outputs.job_of_one_node(), of_run=False)
        for each in _host_lists(text)
        if each.of_job
    )
    return tuple(sorted(found, key=lambda sign: sign.line))


def _counts_one_node(line: str) -> list[bool]:
    matches = filter(None, (re.search(row.pattern, line) for row in NODE_COUNTS))
    return [match["nodes"] == "1" if "nodes" in match.groupdict() else match["node"] is not None for match in matches]
