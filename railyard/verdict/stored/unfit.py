"""Why no figure of a stored table is judged by a link: another network, one host, or another kind of run."""

from railyard.base.wording import count_of
from railyard.benchmarks.table import micro
from railyard.parsers.parsed import REPORTS, Parsed, Table
from railyard.verdict.inputs import Target
from railyard.verdict.stored.one_node import one_node
from railyard.verdict.stored.other_link import other_link
from railyard.verdict.stored.same_host import same_host
from railyard.verdict.stored.target import Nodes

#: Fewer messages under way than this are no stream: perftest's send queue of 128 and OSU's window of 64 are.
_FEW_MESSAGES = 16
#: Fewer round trips than this are no measurement where none before them warms up the connection.
_FEW_ROUND_TRIPS = 100
#: Bytes that a call of a stream sends at least; netperf's own default is the size of the socket's buffer (16 KiB).
_SHORT_CALL = 4096


def why_unfit(key: str | None, table: Table, target: Target, nodes: Nodes, parsed: Parsed, text: str) -> str | None:
    """Return why a table of ``parsed`` is "not judged: …" by the target; None if it is. ``text`` is the output."""
    return (
        other_link(table, target, text)
        or _within_one_host(key, table, target, nodes, parsed, text)
        or _of_two_ports(table, target)
        or _of_few_messages(table)
        or _of_few_round_trips(key, table)
        or _of_short_calls(table)
        or _of_groups(table, nodes)
        or _without_end(table)
    )


def _within_one_host(
    key: str | None, table: Table, target: Target, nodes: Nodes, parsed: Parsed, text: str
) -> str | None:
    """Return that an output names one host at both ends; None for others, and if its run was intended to stay within
    one node, or to go through one card.
    """
    if nodes.count == 1 or (key is not None and (micro.find(key).loops or micro.find(key).within_node)):
        return None
    lines = tuple(each.line for each in parsed.tables)
    return same_host(table, lines, target, text) or one_node(table, lines, target, text)


def _of_two_ports(table: Table, target: Target) -> str | None:
    """Return that a table is of two ports of a card where one rail is named; None for others.

    Source: linux-rdma/perftest, src/perftest_parameters.c, ctx_print_test_info ("Dual-port").
    """
    if not table.context.get("dual_port") or target.rails > 1 or not target.rail_names:
        return None
    return 'not judged: its heading says "Dual-port: ON", so two ports carried it, and one rail is named: say --rails 2'


def _of_few_messages(table: Table) -> str | None:
    """Return that osu_mbw_mr kept few messages under way, so that it shows no stream; None for others.

    Source: osu_mbw_mr.c of the OSU micro-benchmarks: "[ pairs: 1 ] [ window size: 1 ]", 64 without -W.
    """
    window, pairs = table.context.get("window"), table.context.get("pairs")
    if not isinstance(window, int) or not isinstance(pairs, int) or window * pairs >= _FEW_MESSAGES:
        return None
    return (
        f'not judged: its heading says "window size: {window}", so {count_of(window * pairs, "message")} at a time, '
        "and a link's rate needs more; run it without -W, or with -W 64"
    )


def _of_few_round_trips(key: str | None, table: Table) -> str | None:
    """Return that a benchmark without a warm-up sent few messages of a size, so its first ones count; None for others.

    A posted run of fi_pingpong over EFA took 2050 us at its first size and 26 us at the third. Source: its output of
    10 messages a size in ComputeCanada/puppet-magic_castle, pull request 331; ofiwg/libfabric, util/pingpong.c.
    """
    if key is None or micro.find(key).warms_up or "iterations" not in table.columns:
        return None
    least = min((cell for cell in table.column("iterations") if isinstance(cell, int)), default=_FEW_ROUND_TRIPS)
    if least >= _FEW_ROUND_TRIPS:
        return None
    return (
        f"not judged: it sent {count_of(least, 'message')} of a size without any before, and these include the set-up "
        "of the connection; run it with -I 1000"
    )


def _of_short_calls(table: Table) -> str | None:
    """Return that netperf's stream sent few bytes with each call, so that a processor's calls set its rate, or None.

    Source: HewlettPackard/netperf, doc/netperf.texi (-m: the bytes of each send call).
    """
    size = table.context.get("call_size")
    if "bandwidth" not in table.columns or not isinstance(size, int) or size >= _SHORT_CALL:
        return None
    return (
        f"not judged: each call sent {size} B, so a processor's calls set the rate; run it without -m, or with -m 64K"
    )


def _of_groups(table: Table, nodes: Nodes) -> str | None:
    """Return that a table is of several groups at once, which may share a node or a rail; None for others, or if it is
    known how many processes share a node.
    """
    groups, ranks = table.context.get("groups"), table.context.get("ranks")
    if not (isinstance(groups, int) and isinstance(ranks, int)):
        return None
    if groups < 2 or nodes.ranks_each is not None or nodes.count == 1:
        return None
    return (
        f"not judged: {groups * ranks} ranks took part, and it is not known how many share a node, since {groups} "
        f"groups of {ranks} ran at once (-multi): say it with --ranks-per-node"
    )


def _without_end(table: Table) -> str | None:
    """Return that a table of one size has no end and does not show why: perftest ran without end, or it is cut.

    None for others. Source: linux-rdma/perftest, src/perftest_resources.c, run_iter_bw_infinitely: a row for the same
    size after each interval, until the program is killed.
    """
    if table.complete or REPORTS in table.context or "size" not in table.columns or len({*table.column("size")}) != 1:
        return None
    if len(table.rows) == 1 and ("bandwidth_peak" not in table.columns or table.column("bandwidth_peak") != (0,)):
        return None
    rows = "its rows repeat one size and have" if len(table.rows) > 1 else "its only row measures no peak and has"
    return (
        f"not judged: {rows} no end, as perftest prints with --run_infinitely; run it with a duration instead, such as "
        "-D 10"
    )
