"""The sentences of a stored output's verdict: what is not judged, several passes, remarks, and a folder's files.

The sentences about a stored table that no figure of is judged: another network, one host, another kind of run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from railyard.base.wording import count_of, few, message_size, number
from railyard.verdict.wording import NOT_JUDGED

if TYPE_CHECKING:
    from railyard.hardware.optics import OpticReport

_MOST_BENCHMARKS = 12
_MOST_HOSTS = 4


def not_judged_here() -> str:
    """Return what no stored output shows."""
    return "exit code, time limit and nodes of the job, and the path that the bytes took (rule 4)"


def say_not_judged_here() -> str:
    """Return which rules a stored output cannot show, as a line of its own."""
    return f"not judged here: {not_judged_here()}"


def unnamed_nodes() -> str:
    """Return the nodes of an output that does not name them."""
    return "the run's nodes"


def unnamed_system(of_gpus: bool) -> str:
    """Return what stands for a system if an output is judged by a link, or by nodes with GPUs in words."""
    return "the nodes" if of_gpus else "the link"


def unnamed_link() -> str:
    """Return what stands for a link that nobody named."""
    return "no named link"


def unnamed_source() -> str:
    """Return where a link's facts come from that nobody named."""
    return "nobody named it"


def named_by_link() -> str:
    """Return which kind of GPUs a node has of which only their link is named."""
    return "named by its link"


def tables_of_groups(groups: int) -> str:
    """Return what several tables are called, of so many groups of processes."""
    return f"tables of {groups} groups"


def look_at(what: str) -> str:
    """Return what to look at, as a line of its own."""
    return f"look at: {what}"


def no_live_run() -> str:
    """Return why a path has no proof."""
    return "there was no live run"


def no_live_path() -> str:
    """Return why rule 4 is not judged."""
    return f"{no_live_run()}, whose counters would show the path"


def rule_unjudged(rule: int, name: str, sentence: str) -> str:
    """Return that an earlier rule was not judged (``sentence`` says so), as a further sentence."""
    return f"rule {rule} ({name}) {sentence}"


def whole_output(tables: int, validates: bool, no_end: str) -> str:
    """Return that an output is complete; ``no_end``: a tool that does not mark its end, and got no sizes."""
    checked = ", validated by the benchmark itself" if validates else ""
    unseen = f"; {no_end} does not mark its end: missing rows there are seen only with --sizes" if no_end else ""
    return (
        f"{count_of(tables, 'complete table')}{checked}{unseen}; not judged here: exit code, time limit and nodes of "
        "the job"
    )


def failures_only(has: str, unread: str, failures: int, line: int, text: str, means: str) -> str:
    """Return what an output reports that has no table to judge (``has``: one of the three below)."""
    rows = f" ({unread})" if unread else ""
    meaning = f" ({means})" if means else ""
    return (
        f'the output has {has}{rows} and reports {count_of(failures, "failure")}, line {line}: "{text[:200]}"{meaning}'
    )


def no_table() -> str:
    """Return what an output has that has no table."""
    return "no table"


def read_nothing(tool: str, or_else: str, line: int, said: str) -> str:
    """Return that an output is that of a tool which read nothing, with its own words; ``or_else``: other tools."""
    also = f" ({or_else})" if or_else.endswith("…") else f" or {or_else}" if or_else else ""
    return f'this is the output of {tool}{also}, which read nothing to judge; line {line}: "{said[:200]}"'


def read_nothing_brief(tool: str, said: str) -> str:
    """Return the same for a headline."""
    return f"output of {tool}, which read nothing: {said}"


def judged_modules() -> str:
    """Return what an output has beside the modules in it that are judged by themselves."""
    return "no table, only cables or modules, each with its own verdict here,"


def no_known_table() -> str:
    """Return what an output has whose tables are of no known benchmark."""
    return "no table of a known benchmark"


def no_named_table() -> str:
    """Return what an output has whose tables may be of several benchmarks."""
    return "no table that names its benchmark"


def look_at_quoted() -> str:
    """Return what to look at if an output reports a failure."""
    return "the quoted line in the job's output"


def look_at_one_node(look_at: str | None) -> str:
    """Return what to look at if a curve looks like one within a node; ``look_at``: what else."""
    return f"whether both ranks ran on one node (shared memory); if not, {look_at}"


def of_the_fabric(line: int | None, beside: Sequence[str]) -> str:
    """Return that a text shows ports, slots or GPUs, and no benchmark; ``beside``: what else it shows."""
    shown = "ports, slots or the nearness of GPUs" if line is None else f"line {line} is of a port or a slot"
    more = "".join(f"; {each}" for each in beside)
    return f"{shown}{more}; `railyard parse` shows it, and `railyard fabric --from FOLDER` compares it with a system"


def module_alarm(report: OpticReport) -> str:
    """Return which readings of a module are beyond its own alarms."""
    said = "; ".join(f"{one.found}, expected {one.expected}" for one in report.alarms)
    return f"{report.name}: {said}"


def module_brief(first: str, others: int) -> str:
    """Return the first reading of a module that is beyond an alarm, for a headline; ``others``: how many more are."""
    return f"{first}, beyond the module's alarm{f' (+{others} more)' if others else ''}"


def module_inside(report: OpticReport) -> str:
    """Return that a module's readings are inside its own alarms, and what that does not mean."""
    return f"{report.name}: no reading is beyond the module's own alarms; this says nothing of its speed"


def module_unjudged(report: OpticReport) -> str:
    """Return why nothing of a module is judged."""
    return f"{report.name}: {'; '.join(report.unjudged)}"


def module_remarks(report: OpticReport) -> tuple[str, ...]:
    """Return what is beyond a module's warnings, and what it states no thresholds for."""
    warned = (f"{one.found}, expected {one.expected}" for one in report.findings if one.level == "warning")
    return (*warned, *(f"not judged: {why}" for why in report.unjudged))


def look_at_module() -> str:
    """Return what to do with a module that raises an alarm."""
    return "clean or reseat its connector, then swap the cable or the module, and read it again"


def without_title(benchmark: str | None) -> str:
    """Return that a table names no benchmark, and another one of the output does."""
    return (
        f"this table names no benchmark, but another table of the output is of {benchmark}. Either the lines above its "
        "heading are lost, or it is from another run; put it into a file of its own"
    )


def benchmark_unknown(tool: str, names: Sequence[str]) -> str:
    """Return that a table names no benchmark; ``names``: those that it may be."""
    which = f"say which with --benchmark{': ' if names else ''}{few(names, _MOST_BENCHMARKS)}"
    return f"the table of {tool} names no benchmark; {which}"


def nothing_compared(tool: str, benchmark: str | None) -> str:
    """Return that a table is of a benchmark without a metric that is compared."""
    return f"{tool}/{benchmark} measures nothing that is compared with a reference or a limit"


def may_be_any(benchmarks: str) -> str:
    """Return that a table may be of one of several benchmarks."""
    return f"it may be any of {benchmarks}; say which with --benchmark"


def of_other_tool(tool: str) -> str:
    """Return that a table beside those between GPUs is of another tool."""
    return f"the nodes' GPUs say nothing about {tool}: judge it with --link or --system, in a file of its own"


def no_bound_of_collective() -> str:
    """Return that a link alone does not bound a collective between GPUs."""
    return "no link alone bounds a collective between GPUs; say what each node has with --nodes-have"


def several_reasons(reasons: Sequence[str]) -> str:
    """Return why several metrics are not judged."""
    return f"; {NOT_JUDGED}".join(reasons)


def both_reasons(first: str, then: str) -> str:
    """Return two reasons, the first of which explains the second."""
    return f"{first}; {then}"


def pairs_may_share(benchmark: str) -> str:
    """Return that pairs of ranks may share a rail, and that nobody says how many."""
    return (
        f"slower than one pair of ranks may be, but the pairs of a node share its rails, and {benchmark} does not "
        "print how many: say it with --ranks-per-node"
    )


def no_dashes() -> str:
    """Return that perftest's last line is missing below a whole row."""
    return "perftest's closing line of dashes is missing: its one row is whole, and what followed it is not known"


def between_published(said: str, line: int) -> str:
    """Return that values of an output were computed; ``said``: how it says so itself."""
    return f"{said} (line {line}): values between the published ones were never measured"


def in_same_text(cause: str) -> str:
    """Return what else a text shows."""
    return f"in the same text: {cause}"


def of_line(line: int, text: str) -> str:
    """Return what a parser remarks of a line."""
    return f"line {line}: {text}"


def unlike_mtu(printed: int, link: str, largest: int | None) -> str:
    """Return that an output prints a smaller MTU than its link can have."""
    return (
        f"the output prints an MTU of {printed}, and {link} can have {largest}: it is judged by the limit with "
        f"{printed}; --mtu sets another"
    )


def other_mtu(printed: int, by: Literal["option", "file", "link"], meant: int | None) -> str:
    """Return that an output prints another MTU than was given, by what gave it."""
    where = {"option": "--mtu", "file": "the system's file", "link": "the link's largest"}[by]
    return f"the output prints an MTU of {printed}, but {where} is {meant}: it is judged by the limit with {meant}"


# Collectives between GPUs.


def check_was_off() -> str:
    """Return that a run did not check its data."""
    return "the run did not check what arrived (-c 0): wrong data would not show"


def nothing_checked() -> str:
    """Return that no row says that data were checked."""
    return "no row says that what arrived was checked (N/A, or no #wrong): wrong data would not show"


def strange_hosts(system: str, hosts: Sequence[str]) -> str:
    """Return that hosts of an output are not in a system's file."""
    more = f" and {len(hosts) - _MOST_HOSTS} more" if len(hosts) > _MOST_HOSTS else ""
    return f"not among the nodes of systems/{system}.yaml: {', '.join(hosts[:_MOST_HOSTS])}{more}"


def source(cited: str) -> str:
    """Return a source of published numbers."""
    return f"source {cited}"


def not_compared(why: str) -> str:
    """Return why a published number was left out."""
    return f"not compared: {why}"


# Several passes.

Part = Literal["pass", "group", "report"]


def one_of_several(part: Part, place: int, line: int) -> str:
    """Return one of several tables: by its heading's line, and its number if it is a group or a report."""
    one = "the pass" if part == "pass" else f"{part} {place}"
    return f"{one} of line {line}"


def single_pass(name: str, fails: bool, sentence: str) -> str:
    """Return what one of several tables says alone; ``sentence``: why, without the words that it is not judged."""
    return f"{name} alone {_fails(fails)}: {sentence}"


def hidden_pass(single: str) -> str:
    """Return that a pass (``single``: the words above) is worse than the median of all."""
    return f"{single}; the median hides it"


def bad_pass(name: str, fails: bool, bad: int, all_: int, counted_as: str, sentence: str) -> str:
    """Return what the first bad one of several tables says, and how many others do not pass."""
    which = f"{name} {_fails(fails)}"
    if bad > 1:
        which = f"{bad} of {all_} {counted_as} do not pass: {which.replace('the pass', 'that', 1)}"
    return f"{which}: {sentence}"


def passes_unseen(count: int, counted_as: str, most: int) -> str:
    """Return that not each of many tables was judged alone."""
    return (
        f"of {count} {counted_as}, only those with the worst value at a size were also judged alone (at most {most}): "
        "--each judges all"
    )


def _fails(fails: bool) -> str:
    return "fails" if fails else "is not judged"


# The text for a terminal.


def title(benchmark: str, lines: Sequence[int], counted_as: str, shown_line: int | None) -> str:
    """Return the heading of a judgement: its benchmark, and where its tables are."""
    what = benchmark or "no benchmark"
    if not lines:
        return what
    if len(lines) == 1:
        return f"{what} (line {lines[0]})"
    count = f"{len(lines)} {counted_as}"
    which = f"median of {count}" if shown_line is None else f"{count}, shown: that of line {shown_line}"
    return f"{what} (lines {lines[0]} …, {which})"


def curve(name: str, unit: str, first: tuple[int, float], last: tuple[int, float] | None, shares: Sequence[str]) -> str:
    """Return a curve by its first and its last value, and its ``shares`` of a reference and of the limit.

    Sizes are in bytes. ``last`` None: it has one value.
    """
    shown = f"{name}: {number(first[1])} {unit}"
    if last is not None:
        shown += f" at {message_size(first[0])}, {number(last[1])} {unit} at {message_size(last[0])}"
    return "; ".join([shown, *shares])


def share_of_reference(percent: float, size_bytes: int | None) -> str:
    """Return the worst share of a reference, in per cent."""
    at = f", at {message_size(size_bytes)}" if size_bytes else ""
    return f"{percent:.1f} % of the reference at worst{at}"


def share_of_limit(percent: float, limit_mb_s: float) -> str:
    """Return the best share of the limit, in per cent."""
    return f"{percent:.1f} % of the limit of {number(limit_mb_s)} MB/s at best"


def compared_with(name: str, target: str) -> str:
    """Return what an output is judged by."""
    return f"{name} against {target}"


def counts(total: int, noun: str, by_state: Mapping[str, int]) -> str:
    """Return how many there are of something, and of each state if there are several."""
    parts = ", ".join(f"{count} {state}" for state, count in by_state.items())
    return f"{count_of(total, noun)}{f': {parts}' if parts else ''}"


# The files of a folder.

NoFile = Literal["folder", "pipe", "socket", "device", "other"]
_KINDS: dict[NoFile, str] = {
    "folder": "a link to a folder: it is not opened",
    "pipe": "a named pipe: it is not opened",
    "socket": "a socket: it is not opened",
    "device": "a device: it is not opened",
    "other": "no regular file",
}


def no_file(kind: NoFile) -> str:
    """Return why something in a folder is not opened."""
    return _KINDS[kind]


def unreadable_folder(reason: str | None) -> str:
    """Return that a folder cannot be read."""
    return f"a folder that cannot be read ({reason})"


def link_out() -> str:
    """Return that a link leads out of the folder."""
    return "a link out of the folder: it is not followed"


def broken_link(reason: str | None) -> str:
    """Return that a link leads nowhere; ``reason`` None: links lead to each other."""
    return f"a link that leads nowhere, or a file that is gone ({reason or 'a circle of links'})"


def unlike_expected(line: int | None, found: str, expected: str) -> str:
    """Return why a file cannot be read."""
    where = "" if line is None else f"line {line}: "
    return f"{where}found {found}, expected {expected}"


Network = Literal["efa", "slingshot", "omnipath", "iwarp", "software"]
Family = Literal["infiniband", "omnipath", "roce", "ethernet"]
Printed = Literal["IB", "Ethernet"]

#: What only one network has -> its name, and links of it.
_NETWORKS: dict[Network, str] = {
    "efa": "EFA (efa-100, efa-200, …)",
    "slingshot": "Slingshot (slingshot-10, slingshot-11, …)",
    "omnipath": "Omni-Path (opa-100, …)",
    "iwarp": "iWARP, which is RDMA over TCP, and no link of the list",
    "software": "RDMA in software over Ethernet, which a processor bounds and no card",
}
_FAMILIES: dict[Family, str] = {
    "infiniband": "InfiniBand",
    "omnipath": "Omni-Path",
    "roce": "RoCE",
    "ethernet": "Ethernet",
}
#: What perftest prints as "Link type" -> the link that a person should name.
_INSTEAD: dict[Printed, str] = {
    "IB": "the InfiniBand or Omni-Path link of its port (ib-edr, ib-hdr, opa-100, …)",
    "Ethernet": "the RoCE link of its port (roce-25, roce-100, roce-200, …)",
}


def two_ports() -> str:
    """Return that a run used two ports of a card, and one rail is named."""
    return 'its heading says "Dual-port: ON", so two ports carried it, and one rail is named: say --rails 2'


def few_messages(window: int, messages: int) -> str:
    """Return that too few messages were under way for a stream."""
    return (
        f'its heading says "window size: {window}", so {count_of(messages, "message")} at a time, and a link\'s rate '
        "needs more; run it without -W, or with -W 64"
    )


def few_round_trips(messages: int) -> str:
    """Return that a benchmark without a warm-up sent too few messages of a size."""
    return (
        f"it sent {count_of(messages, 'message')} of a size without any before, and these include the set-up of the "
        "connection; run it with -I 1000"
    )


def short_calls(size_bytes: int) -> str:
    """Return that each call of a stream sent few bytes."""
    return f"each call sent {size_bytes} B, so a processor's calls set the rate; run it without -m, or with -m 64K"


def several_groups(groups: int, ranks: int) -> str:
    """Return that several groups of ranks ran at once, and may share a node."""
    return (
        f"{groups * ranks} ranks took part, and it is not known how many share a node, since {groups} groups of "
        f"{ranks} ran at once (-multi): say it with --ranks-per-node"
    )


def without_end(rows: int) -> str:
    """Return that a table of one size has no end."""
    which = "its rows repeat one size and have" if rows > 1 else "its only row measures no peak and has"
    return f"{which} no end, as perftest prints with --run_infinitely; run it with a duration instead, such as -D 10"


def printed_link(printed: Printed, line: int | None, fabric: str, system: str, family: Family) -> str:
    """Return that an output names another kind of link than a system has, or than a person named (no ``system``)."""
    where = "" if line is None else f" (line {line})"
    says = f'the output says "Link type: {printed}"{where}, but'
    if system:
        return (
            f"{says} {fabric} of {system} is {_FAMILIES[family]}: the run used another network, or it is of another "
            "system; look at the device that it was given (-d)"
        )
    return f"{says} --link {fabric} is {_FAMILIES[family]}: give --link {_INSTEAD[printed]}; ibstatus shows its rate"


def other_network(by: str, network: Network, fabric: str, system: str) -> str:
    """Return that an output is of another network than the one it is judged by; ``by``: what says so."""
    of = f"{fabric} of {system}" if system else f"--link {fabric}"
    return f"the output is of {by}: {_NETWORKS[network]}; {of} is another network"


def connection(kind: str) -> str:
    """Return a type of connection that only one network has."""
    return f"a connection of type {kind}"


def transport(kind: str) -> str:
    """Return a transport that only one network has."""
    return f"a transport of type {kind}"


def device(name: str) -> str:
    """Return a device that only one network has."""
    return f"the device {name}"


def slower_card(name: str, generation: str, link: str) -> str:
    """Return that an output names a device whose cards end far below the link."""
    return (
        f"the output is of the device {name}, and cards of that name end at {generation}, but {link} is faster; give "
        "the link of the card, or look at the device that was measured (-d)"
    )


def one_host(address: str, line: int, bridge: str, fabric: str) -> str:
    """Return that both ends of a connection are one host; ``bridge``: the address of docker0 if it is between them."""
    docker = f": {bridge} is docker0" if bridge else ""
    return (
        f"both ends are the same host ({address}, line {line}{docker}), so nothing crossed {fabric}; run it between "
        "two nodes"
    )


def one_node(line: int, quoted: str, means: str, fabric: str) -> str:
    """Return that a line of the output says that all ranks share a node."""
    return (
        f'line {line} says that both ends share a node, "{quoted}" ({means}), so nothing crossed {fabric}; run it '
        "between two nodes"
    )


def ranks_on(host: str) -> str:
    """Return what a list of ranks means."""
    return f"all ranks that it lists are on {host}"


def hosts_in(means: str, line: int) -> str:
    """Return what a command means, with the line of its list of hosts."""
    return f"{means}, line {line}"


def in_branch(means: str) -> str:
    """Return what a setting means that is in a branch of a script."""
    return f"{means}, in a branch of the script that may have run"


def job_of_one_node() -> str:
    """Return what a number of nodes means."""
    return "the job had one node"


def shared_memory_transport() -> str:
    """Return what a client's option means."""
    return "it was given shared memory as transport"


def own_server() -> str:
    """Return what the server's address of a client means."""
    return "the server that it names is its own host"


def only_host(name: str, in_file: bool) -> str:
    """Return that a command names one host, or its file does."""
    return f"{name} is the only host {'of its host file' if in_file else 'that it names'}"


def given_one_node() -> str:
    """Return what a number of nodes in a command means."""
    return "it was given one node"


def fill_one_node() -> str:
    """Return what resource sets of jsrun mean."""
    return "all ranks fit on one node, and fill it first"


def all_on_a_node(ranks: int) -> str:
    """Return what a number of ranks per node means."""
    return f"its {ranks} ranks are as many as it puts on a node"


def room_on_first(ranks: int) -> str:
    """Return what the slots of the first host mean."""
    return f"the first host has room for its {ranks} ranks"
