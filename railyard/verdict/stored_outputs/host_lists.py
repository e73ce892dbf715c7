"""The host files and node lists that an output prints or writes: which hosts a launch had to choose from.

A list is what follows ``cat hosts`` in a pasted session, what ``echo node1 > hosts`` or a here-document writes, and
what ``echo $LSB_HOSTS`` prints. The forms of a line are those of Open MPI ("node1 slots=2"), of Hydra and MVAPICH
("node1:2"), of PBS (a line for each rank), of Grid Engine ("node1 2 all.q@node1 UNDEFINED") and of LSF ("node1 2").

Source: man mpirun of Open MPI; pmodels/mpich, doc/wiki/how_to/Using_the_Hydra_Process_Manager.md; man sge_pe;
openpbs/openpbs, PBS_NODEFILE; LSB_HOSTS, LSB_MCPU_HOSTS and LSB_DJOB_HOSTFILE of LSF; man srun.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePosixPath

from railyard.verdict.stored_outputs.one_node_words import NO_HOST

#: Files and variables in which a scheduler names the nodes of the job.
_OF_JOB = re.compile(
    r"PBS_NODEFILE|PE_HOSTFILE|COBALT_NODEFILE|OAR_(?:NODE_?FILE|NODEFILE)|LSB_(?:HOSTS|MCPU_HOSTS|DJOB_HOSTFILE)"
    r"|SLURM_(?:JOB_|STEP_)?NODELIST|SLURM_NODEFILE"
)
_FILE = r"[\"']?(?P<file>[\w./~${}-]{1,200})[\"']?"
_THEN_SORTED = r"(?:\s{0,9}\|\s{0,9}(?:sort|uniq)(?: -u)?){0,3}\s{0,9}$"
_BEGINS = r"^(?:[^\n]{0,200}[\s$#%>;&+]|)"
_PRINTS = re.compile(rf"{_BEGINS}(?:cat|sort|uniq|more)(?: -\w{{1,9}})?\s{{1,9}}{_FILE}{_THEN_SORTED}")
_ECHOES = re.compile(rf"{_BEGINS}echo\s{{1,9}}[\"']?\$\{{?(?P<file>\w{{1,40}})\}}?[\"']?\s{{0,9}}$")
_EXPANDS = re.compile(rf"{_BEGINS}scontrol show (?:hostnames?|hostlist)(?:\s[^\n]{{0,200}})?$")
_WRITES = re.compile(
    rf"{_BEGINS}echo(?: -e)?\s{{1,9}}(?P<quote>[\"']?)(?P<entry>[^\"'>|]{{1,200}})(?P=quote)"
    rf"\s{{0,9}}(?P<how>>{{1,2}})\s{{0,9}}{_FILE}\s{{0,9}}$"
)
# cat > hosts << EOF   |   cat <<'EOF' > hosts
_HERE = re.compile(
    rf"{_BEGINS}cat\s{{0,9}}(?:>\s{{0,9}}{_FILE}\s{{0,9}}<<-?\s?[\"']?\w{{1,20}}[\"']?"
    rf"|<<-?\s?[\"']?\w{{1,20}}[\"']?\s{{0,9}}>\s{{0,9}}[\"']?(?P<after>[\w./~${{}}-]{{1,200}})[\"']?)\s{{0,9}}$"
)
#: What names the host file of launches that name none themselves: Intel MPI's Developer Reference (Hydra Environment
#: Variables), pmodels/mpich (hydra, HYDRA_HOST_FILE), and "default_hostfile" of Open MPI's orte and of openpmix/prrte.
_DEFAULT_NAME = r"\b(?:(?:I_MPI_)?HYDRA_HOST_FILE|(?:(?:OMPI|PRTE)_MCA_)?(?:orte|prte)_default_hostfile)\b"
_SETS_DEFAULT = re.compile(rf"{_DEFAULT_NAME}(?:\s{{0,9}}=\s{{0,9}}|\s{{1,9}}){_FILE}")
_REMOVES_DEFAULT = re.compile(rf"\bunset(?:env)?\s[^\n;&|]{{0,200}}{_DEFAULT_NAME}")
#: A name without a digit may be a command of a script ("date"), unless it is followed by slots.
_ENTRY = re.compile(
    rf"^\s{{0,9}}{NO_HOST}(?P<host>localhost|(?=[\w.-]{{0,80}}[0-9]|[\w.-]{{1,80}}\s{{1,9}}slots)[A-Za-z0-9][\w.-]{{0,80}})"
    r"(?::(?P<colon>[0-9]{1,6})|\s{1,40}(?P<count>[0-9]{1,6})(?:\s{1,9}\S{1,80}@\S{1,80}\s{1,9}\S{1,40})?)?"
    r"(?P<options>(?:\s{1,40}(?:slots|max[-_]slots|cpu|cpus)\s?=\s?[0-9]{1,6}){0,3})\s{0,9}(?:#.{0,200})?$"
)
_SLOTS = re.compile(r"(?<![-_])\bslots\s?=\s?(?P<slots>[0-9]{1,6})")
_ROOTS = ("cat ", "cat<", "sort ", "uniq ", "more ", "echo ", "scontrol ")


@dataclass(frozen=True, slots=True)
class HostList:
    """A list: the line that prints or writes it, the file's name, and each of its hosts as "node1:2" or "node1".

    ``of_job``: it has the nodes of the whole job.
    """

    line: int
    quoted: str
    name: str
    hosts: tuple[str, ...]
    of_job: bool

    @property
    def is_one_host(self) -> bool:
        """Whether all of its entries are the same host."""
        return is_one_host(host.partition(":")[0] for host in self.hosts)


def host_lists(text: str) -> tuple[HostList, ...]:
    """Return the lists of a text, in the order of its lines."""
    if not any(root in text for root in _ROOTS):
        return ()
    return tuple(_lists_in(text.split("\n")))


def default_host_file(line: str) -> str | None:
    """Return the host file that a line sets for launches that name none; empty if it removes it, None if neither."""
    if found := _SETS_DEFAULT.search(line):
        return found["file"]
    return "" if _REMOVES_DEFAULT.search(line) else None


def name_of(file: str) -> str:
    """Return a file's name as it is compared: without its folder, and a variable without its signs."""
    return PurePosixPath(file).name.strip("${}\"'")


def is_one_host(names: Iterable[str]) -> bool:
    """Return whether names are of one host, with or without its domain: node1.rack1 is not node1.rack2."""
    known = set(names)
    full = {name for name in known if "." in name and name[0].isalpha()}
    return len({name.partition(".")[0] if name[0].isalpha() else name for name in known}) == 1 and len(full) < 2


def _lists_in(lines: Sequence[str]) -> Iterator[HostList]:
    written: dict[str, tuple[str, ...]] = {}
    for at, line in enumerate(lines):
        if len(line) > 1000 or not any(root in line for root in _ROOTS):
            continue
        if found := _WRITES.match(line):
            name, entry = name_of(found["file"]), _entry(found["entry"])
            written[name] = (*(written.get(name, ()) if found["how"] == ">>" else ()), *([entry] if entry else []))
            hosts = written[name]
        else:
            name, hosts = _printed_hosts(line, lines[at + 1 : at + 4097])
            written[name] = hosts
        if hosts:
            yield HostList(at + 1, line.strip(), name, hosts, _OF_JOB.fullmatch(name) is not None)


def _printed_hosts(line: str, below: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the name of the file or variable that a command prints or writes, and the hosts in the lines below it."""
    if found := _ECHOES.match(line):
        return found["file"], _words(below[0]) if below and _OF_JOB.fullmatch(found["file"]) else ()
    found = _PRINTS.match(line) or _HERE.match(line)
    if found is None and not _EXPANDS.match(line):
        return "", ()
    name = "SLURM_JOB_NODELIST" if found is None else name_of(found["file"] or found["after"])
    return name, tuple(takewhile(bool, map(_entry, (each for each in below if not each.lstrip().startswith("#")))))


def _words(line: str) -> tuple[str, ...]:
    """Return the hosts of a variable that is printed in one line; "node[1-2]" stands for several."""
    hosts = [word for word in line.replace(",", " ").split() if not word.isdigit()]
    if not hosts or not re.match(r"[A-Za-z]", hosts[0]):
        return ()
    if "[" in line:
        return (f"{hosts[0]}first", f"{hosts[0]}last")
    return tuple(hosts) if all(map(_entry, hosts)) else ()


def _entry(line: str) -> str:
    """Return a line of a host file as "node1:2", or "node1" without slots; empty for any other line."""
    found = _ENTRY.match(line)
    if found is None:
        return ""
    slots = _SLOTS.search(found["options"])
    count = slots["slots"] if slots else found["colon"] or found["count"]
    return f"{found['host']}:{count}" if count else found["host"]
