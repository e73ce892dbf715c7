"""What a command in an output says about its nodes: a launcher's options, and the server that a client is given.

The host files and node lists that an output prints or writes: which hosts a launch had to choose from.

A list is what follows ``cat hosts`` in a pasted session, what ``echo node1 > hosts`` or a here-document writes, and
what ``echo $LSB_HOSTS`` prints. The forms of a line are those of Open MPI ("node1 slots=2"), of Hydra and MVAPICH
("node1:2"), of PBS (a line for each rank), of Grid Engine ("node1 2 all.q@node1 UNDEFINED") and of LSF ("node1 2").

Source: man mpirun of Open MPI; pmodels/mpich, doc/wiki/how_to/Using_the_Hydra_Process_Manager.md; man sge_pe;
openpbs/openpbs, PBS_NODEFILE; LSB_HOSTS, LSB_MCPU_HOSTS and LSB_DJOB_HOSTFILE of LSF; man srun.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import PurePosixPath

from railyard.base.patterns import late_regex
from railyard.benchmarks.model import Tool
from railyard.verdict.wording import stored_outputs

# Most outputs have no host list, and to compile these patterns takes longer than to judge one: `re` does it when they
# are needed, and keeps them.

#: Files and variables in which a scheduler names the nodes of the job.
_OF_JOB = (
    r"PBS_NODEFILE|PE_HOSTFILE|COBALT_NODEFILE|OAR_(?:NODE_?FILE|NODEFILE)|LSB_(?:HOSTS|MCPU_HOSTS|DJOB_HOSTFILE)"
    r"|SLURM_(?:JOB_|STEP_)?NODELIST|SLURM_NODEFILE"
)
_FILE = r"[\"']?(?P<file>[\w./~${}-]{1,200})[\"']?"
_THEN_SORTED = r"(?:\s{0,9}\|\s{0,9}(?:sort|uniq)(?: -u)?){0,3}\s{0,9}$"
_BEGINS = r"^(?:[^\n]{0,200}[\s$#%>;&+]|)"
_PRINTS = rf"{_BEGINS}(?:cat|sort|uniq|more)(?: -\w{{1,9}})?\s{{1,9}}{_FILE}{_THEN_SORTED}"
_ECHOES = rf"{_BEGINS}echo\s{{1,9}}[\"']?\$\{{?(?P<file>\w{{1,40}})\}}?[\"']?\s{{0,9}}$"
_EXPANDS = rf"{_BEGINS}scontrol show (?:hostnames?|hostlist)(?:\s[^\n]{{0,200}})?$"
_WRITES = (
    rf"{_BEGINS}echo(?: -e)?\s{{1,9}}(?P<quote>[\"']?)(?P<entry>[^\"'>|]{{1,200}})(?P=quote)"
    rf"\s{{0,9}}(?P<how>>{{1,2}})\s{{0,9}}{_FILE}\s{{0,9}}$"
)
# cat > hosts << EOF   |   cat <<'EOF' > hosts
_HERE = (
    rf"{_BEGINS}cat\s{{0,9}}(?:>\s{{0,9}}{_FILE}\s{{0,9}}<<-?\s?[\"']?\w{{1,20}}[\"']?"
    rf"|<<-?\s?[\"']?\w{{1,20}}[\"']?\s{{0,9}}>\s{{0,9}}[\"']?(?P<after>[\w./~${{}}-]{{1,200}})[\"']?)\s{{0,9}}$"
)
#: What names the host file of launches that name none themselves: Intel MPI's Developer Reference (Hydra Environment
#: Variables), pmodels/mpich (hydra, HYDRA_HOST_FILE), and "default_hostfile" of Open MPI's orte and of openpmix/prrte.
_DEFAULT_NAME = r"\b(?:(?:I_MPI_)?HYDRA_HOST_FILE|(?:(?:OMPI|PRTE)_MCA_)?(?:orte|prte)_default_hostfile)\b"
_SETS_DEFAULT = rf"{_DEFAULT_NAME}(?:\s{{0,9}}=\s{{0,9}}|\s{{1,9}}){_FILE}"
_REMOVES_DEFAULT = rf"\bunset(?:env)?\s[^\n;&|]{{0,200}}{_DEFAULT_NAME}"
#: What a rank may be on, and ``srun -l`` may print, besides a host: processors, cards, devices, names of machines.
NO_HOST = (
    r"(?!(?i:x86_64|i[3-6]86|aarch64|arm|ppc64|riscv|cores?\b|cpus?|sockets?|numa|threads?|gpus?|cuda|rocm|devices?|dev\b|"
    r"cards?|nics?\b|ports?|rails?|mlx[0-9]|hfi|cxi|efa|bnxt|rxe|ib[0-9s]|eth|en[opsx][0-9]|bond|hsn|linux|ubuntu|rocky|"
    r"rhel|el[0-9]|gcc|python|the\b|a\b|all\b|same\b))"
)
#: A name without a digit may be a command of a script ("date"), unless it is followed by slots.
_ENTRY = (
    rf"^\s{{0,9}}{NO_HOST}(?P<host>localhost|(?=[\w.-]{{0,80}}[0-9]|[\w.-]{{1,80}}\s{{1,9}}slots)[A-Za-z0-9][\w.-]{{0,80}})"
    r"(?::(?P<colon>[0-9]{1,6})|\s{1,40}(?P<count>[0-9]{1,6})(?:\s{1,9}\S{1,80}@\S{1,80}\s{1,9}\S{1,40})?)?"
    r"(?P<options>(?:\s{1,40}(?:slots|max[-_]slots|cpu|cpus)\s?=\s?[0-9]{1,6}){0,3})\s{0,9}(?:#.{0,200})?$"
)
_SLOTS = r"(?<![-_])\bslots\s?=\s?(?P<slots>[0-9]{1,6})"
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
    if found := re.search(_SETS_DEFAULT, line):
        return found["file"]
    return "" if re.search(_REMOVES_DEFAULT, line) else None


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
        if found := re.match(_WRITES, line):
            name, entry = name_of(found["file"]), _entry(found["entry"])
            written[name] = (*(written.get(name, ()) if found["how"] == ">>" else ()), *([entry] if entry else []))
            hosts = written[name]
        else:
            name, hosts = _printed_hosts(line, lines[at + 1 : at + 4097])
            written[name] = hosts
        if hosts:
            yield HostList(at + 1, line.strip(), name, hosts, re.fullmatch(_OF_JOB, name) is not None)


def _printed_hosts(line: str, below: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the name of the file or variable that a command prints or writes, and the hosts in the lines below it."""
    if found := re.match(_ECHOES, line):
        return found["file"], _host_words(below[0]) if below and re.fullmatch(_OF_JOB, found["file"]) else ()
    found = re.match(_PRINTS, line) or re.match(_HERE, line)
    if found is None and not re.match(_EXPANDS, line):
        return "", ()
    name = "SLURM_JOB_NODELIST" if found is None else name_of(found["file"] or found["after"])
    return name, tuple(takewhile(bool, map(_entry, (each for each in below if not each.lstrip().startswith("#")))))


def _host_words(line: str) -> tuple[str, ...]:
    """Return the hosts of a variable that is printed in one line; "node[1-2]" stands for several."""
    hosts = [word for word in line.replace(",", " ").split() if not word.isdigit()]
    if not hosts or not re.match(r"[A-Za-z]", hosts[0]):
        return ()
    if "[" in line:
        return (f"{hosts[0]}first", f"{hosts[0]}last")
    return tuple(hosts) if all(map(_entry, hosts)) else ()


def _entry(line: str) -> str:
    """Return a line of a host file as "node1:2", or "node1" without slots; empty for any other line."""
    found = re.match(_ENTRY, line)
    if found is None:
        return ""
    slots = re.search(_SLOTS, found["options"])
    count = slots["slots"] if slots else found["colon"] or found["count"]
    return f"{found['host']}:{count}" if count else found["host"]


_SLURM = ("srun", "salloc", "sbatch", "yhrun", "lrun", "flux")
_MPIRUN = (
    *("mpirun", "mpiexec", "mpiexec.hydra", "mpirun.openmpi", "mpirun.mpich", "orterun", "prun", "prterun"),
    *("mpiexec.openmpi", "mpiexec.mpich", "mpirun_rsh", "aprun"),
)
_JSRUN = "jsrun"
_LAUNCHER = late_regex("|".join(map(re.escape, (*_SLURM, *_MPIRUN, _JSRUN))))
#: The program of a benchmark: the options after it are its own.
_BENCHMARK = late_regex(r"(?:osu_|IMB-|NP[a-z]|network_test)\w*\Z")
_ENDS_COMMAND = late_regex(r"\s(?:&&|\|\|?|;|&|\d?>{1,2}&?\d?)(?:\s|$)|;\s")
_HOSTS = ("-H", "-host", "--host", "-hosts", "--hosts")
_HOST_FILES = (
    *("-hostfile", "--hostfile", "-f", "-machinefile", "--machinefile", "-default-hostfile", "--default-hostfile"),
)
_RANKS = ("-n", "-np", "--np", "--n", "-c")
_PER_NODE = ("-ppn", "--ppn", "-perhost", "--perhost", "-npernode", "--npernode", "-N")
_PER_OBJECT = late_regex(r"ppr:(?P<ranks>[0-9]{1,6}):(?P<object>\w{1,20})")
_ON_NEXT_NODE = late_regex(r"(?:--?bynode|--?pernode|--?spread|--?rr|--?map-by (?:node|scatter|spread)\b)")
_SPREADS = late_regex(r"\A(?:--?bynode|--?map-by|--?rr|--?pernode|--?spread|--?rankfile|-rf)\Z")
_HOST = late_regex(r"(?P<name>[A-Za-z0-9][\w.-]{0,80})(?::(?P<slots>[0-9]{1,6}|\*))?\Z")

_LOOPBACK = late_regex(
    r"(?:localhost|localhost\.localdomain|ip6-localhost|127(?:\.[0-9]{1,3}){3}|(?:::ffff:127\S+|::1))\Z"
)
_OWN_NAME = late_regex(r"(?:\$\(hostname(?:\s-[sfi])?\)|`hostname(?:\s-[sfi])?`|\$\{?HOSTNAME\}?)\Z")
#: "[user@node1 ~]$ ", "user@node1:~$ ", "node1$ ", "node1:~ # "
_PROMPT = late_regex(r"\s{0,9}(?:\([\w.-]{1,40}\) )?(?:\[?[\w.-]{1,40}@)(?P<host>[\w-]{1,80}(?:\.[\w.-]{1,80})?)[ :\]]")
#: Commands that start a client on another host than the one whose shell reads the line.
_ELSEWHERE = ("ssh", "rsh", "pdsh", "clush", "ansible", "kubectl", "oc", "docker", "podman", *_SLURM, *_MPIRUN)
#: Options whose value is an address of the client's own, or no host at all.
_NO_SERVER = ("-B", "--bind", "--bind_source_ip", "-s", "--client_ip", "-d", "--ib-dev", "--ib-device", "-l", "-L")


@dataclass(frozen=True, slots=True)
class Command:
    """What a command says: ``one_node`` True or False, or None if it does not say it; and why, if it is True.

    ``spreads``: it puts one rank after the other on the next node, if the job has several.
    """

    one_node: bool | None
    why: str = ""
    spreads: bool = False


def launch(line: str, listed: Sequence[str] = ()) -> Command | None:
    """Return what a launcher's command says about the nodes of its ranks; None if a line is no such command.

    ``listed``: the hosts of its host file, as "node1:2" or "node1"; empty if they are not known.
    """
    if not _LAUNCHER.search(line):
        return None
    words = _words(line)
    place = next((place for place, word in enumerate(words) if _name(word) in (*_SLURM, *_MPIRUN, _JSRUN)), None)
    if place is None:
        return None
    launcher, own = _name(words[place]), words[place + 1 :]
    if not any(word.startswith("-") or _BENCHMARK.match(_name(word)) for word in own):
        return None  # "mpirun noticed that process rank 1 …"
    end = next((at for at, word in enumerate(own) if _BENCHMARK.match(_name(word)) and ":" not in own), len(own))
    options = own[:end]
    if launcher in _SLURM:
        return _of_nodes(options)
    if launcher == _JSRUN:
        return _of_sets(options)
    return _of_mpirun(launcher, options, listed)


def host_file(line: str, default: str = "") -> str:
    """Return the host file of a launcher's command: the one that it names, or the ``default`` one unless it names
    hosts; empty if it has none.
    """
    if not _LAUNCHER.search(line):
        return ""
    words = _words(line)
    named = next(iter(_values(words, _HOST_FILES)), "")
    if named or _values(words, _HOSTS):
        return named
    return default_host_file(line) or default


def server(line: str, tool: Tool) -> Command | None:
    """Return whether a client's command names its own host as the server; None if a line is no command of the tool.

    A server's command names none: it says nothing.
    """
    if not tool.client or not re.search(tool.client, line):
        return None
    words = _words(line, tool.client)
    place = next((place for place, word in enumerate(words) if re.fullmatch(tool.client, _name(word))), None)
    if place is None:
        return None
    if tool.shared and re.search(rf"\s{tool.shared}", line):
        return Command(True, stored_outputs.shared_memory_transport())
    is_elsewhere = any(_name(word) in _ELSEWHERE for word in words[:place])
    prompt = None if is_elsewhere else _PROMPT.match(line)
    host = "" if prompt is None else prompt["host"]
    others = False
    for before, word in pairwise(words[place:]):
        if word.startswith("-") or before in _NO_SERVER:
            continue
        if _LOOPBACK.match(word) or (_OWN_NAME.match(word) and not is_elsewhere) or _same(word, host):
            return Command(True, stored_outputs.own_server())
        others = others or not before.startswith("-")
    return Command(False if others else None)


def _words(line: str, client: str = "") -> list[str]:
    """Return the words of a command up to its end, ``--option=value`` as two, -N1 as two, without quotation marks."""
    parts = _ENDS_COMMAND.split(line)
    found: list[str] = []
    named = (part for part in reversed(parts) if re.search(r"[A-Za-z]", part))
    known = [part for part in named if any(_is_program(word, client) for word in part.split())]
    for word in (known or parts)[0].replace('"', "").replace("'", "").split():
        option, equals, value = word.partition("=")
        attached = re.match(r"(-[Nnacrw])([0-9]{1,6}(?:-[0-9]{1,6})?)\Z", word)
        if word.startswith("-") and equals:
            found += [option, value]
        elif attached:
            found += [attached[1], attached[2]]
        else:
            found.append(word)
    return found


def _is_program(word: str, client: str) -> bool:
    name = _name(word)
    return name in (*_SLURM, *_MPIRUN, _JSRUN) or re.fullmatch(client, name) is not None


def _name(word: str) -> str:
    return PurePosixPath(word).name


def _values(words: Sequence[str], options: Sequence[str]) -> list[str]:
    return [value for option, value in pairwise(words) if option in options]


def _of_nodes(options: Sequence[str]) -> Command:
    """Return what -N of Slurm and its kind says, or --nodes ("1", "2", "1-1"), else --nodelist. One task is none."""
    counts = _values(options, ("-N", "--nodes"))
    named = _values(options, ("-w", "--nodelist"))
    if not counts and len(named) == 1 and _HOST.match(named[0]) and "1" not in _values(options, ("-n", "--ntasks")):
        return Command(True, stored_outputs.only_host(named[0], in_file=False))
    if (
        "1" in _values(options, ("-n", "--ntasks"))
        or not counts
        or not all(re.match(r"[0-9]{1,6}(?:-[0-9]{1,6})?\Z", each) for each in counts)
    ):
        return Command(None)
    one = all(each in ("1", "1-1") for each in counts)
    return Command(one, stored_outputs.given_one_node())


def _of_sets(options: Sequence[str]) -> Command:
    """Return what jsrun says: -n resource sets, -a ranks in each, -r sets on a node."""
    sets, ranks, on_node = (
        next((int(value) for value in _values(options, names) if value.isdigit()), 0)
        for names in (("-n", "--nrs"), ("-a", "--tasks_per_rs"), ("-r", "--rs_per_host"))
    )
    if (sets == 1 and ranks > 1) or 1 < sets <= on_node:
        return Command(True, stored_outputs.fill_one_node())
    return Command(False if 0 < on_node < sets else None)


def _of_mpirun(launcher: str, options: Sequence[str], listed: Sequence[str]) -> Command:
    """Return what options of mpirun and its kind say: ranks on each node, else hosts."""
    ranks = sum(int(value) for value in _values(options, _RANKS) if value.isdigit())
    if ranks == 1:
        return Command(None)
    if listed and is_one_host(host.partition(":")[0] for host in listed):
        return Command(True, stored_outputs.only_host(listed[0].partition(":")[0], in_file=True))
    per_node = [int(value) for value in _values(options, _PER_NODE) if value.isdigit()]
    objects = [(int(found["ranks"]), found["object"]) for found in map(_PER_OBJECT.search, options) if found]
    per_node += [count for count, name in objects if name == "node"]
    if per_node and min(per_node) < (ranks or 2):  # what is judged has two ranks at least
        return Command(False)
    if ranks and any(ranks <= each for each in (*per_node, *(count for count, _ in objects))):
        return Command(True, stored_outputs.all_on_a_node(ranks))
    hosts = [_HOST.match(host) for host in listed] or _hosts(launcher, options, ranks)
    if not hosts or None in hosts:
        return Command(None, spreads=_ON_NEXT_NODE.search(" ".join(options)) is not None)
    names = {each["name"] for each in hosts if each is not None}
    if len(names) == 1:
        return Command(True, stored_outputs.only_host(next(iter(names)), in_file=False))
    slots = hosts[0]["slots"] if hosts[0] is not None else None
    if slots and slots.isdigit() and 1 < ranks <= int(slots) and not any(_SPREADS.match(word) for word in options):
        return Command(True, stored_outputs.room_on_first(ranks))
    return Command(None if listed else False)  # a host file says nothing about how a launcher fills its hosts


def _hosts(launcher: str, options: Sequence[str], ranks: int) -> list[re.Match[str] | None]:
    """Return the hosts of a command, None for each that is no plain name: a variable, or a pattern of names."""
    if any(word in _HOST_FILES for word in options):
        return []
    lists = _values(options, _HOSTS)
    if launcher == "mpirun_rsh" and not lists:  # mpirun_rsh -np 2 node1 node2 ./osu_latency
        after = next((at + 2 for at, word in enumerate(options) if word in _RANKS), len(options))
        lists = [word for word in options[after : after + ranks] if "=" not in word and not word.startswith("-")]
    return [_HOST.match(name) for each in lists for name in each.split(",")]


def _same(word: str, host: str) -> bool:
    """Return whether a word is a host's name; one of them may be short."""
    if not host or word == host:
        return bool(host)
    return not ("." in word and "." in host) and word.partition(".")[0] == host.partition(".")[0]
