"""Every output of the reference corpus is read as in EXPECTED.tsv, in the way of `railyard parse`."""

import csv
import json
import math
from functools import cache
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.cli.commands.parse import read
from railyard.parsers import PARSERS
from railyard.parsers.detect import read_by_tool
from railyard.parsers.fabric import FABRIC_PARSERS
from railyard.parsers.output import Cell, ParsedOutput, Table

#: Files and tables of each tool in EXPECTED.tsv; hpcc has none there.
COUNTS = {
    "hpl": (14, 14),
    "imb": (26, 69),
    "milc": (5, 5),
    "netpipe": (6, 6),
    "npb": (23, 92),
    "osu": (93, 339),
    "perftest": (24, 26),
    "wrf": (16, 29),
}
#: Files that EXPECTED.tsv leaves out: tables, ports and failures from our own reading; None for refused files.
OTHERS: dict[str, tuple[int, int, int] | None] = {
    "gpcnet/hpe_slingshot_8nic_64nodes_network_test.txt": (1, 0, 0),
    "gpcnet/superbench_network_load_error.txt": (0, 0, 3),
    "gpcnet/superbench_network_test_SANITISED.txt": (1, 0, 0),
    "gpcnet/superbench_network_test_error.txt": (0, 0, 3),
    "ibdiag/gpud_ibstat_39_0_a100_failed_ibpanic_exit-255_0.txt": (0, 8, 1),
    "ibdiag/gpud_ibstat_47_0_a100_all_active_0.txt": (0, 9, 0),
    "ibdiag/gpud_ibstat_47_0_h100_all_active_0.txt": (0, 12, 0),
    "ibdiag/gpud_ibstat_47_0_h100_some_down_0.txt": (0, 12, 0),
    "ibdiag/gpud_ibstatus_39_a100_hdr.txt": (0, 9, 0),
    "ibdiag/hca_self_test_ofed_qdr.txt": None,  # a self test of the driver: not the state of a port
    "ibdiag/ibnetdiscover_p_edr_mixed.txt": (0, 9, 0),
    "ibdiag/ibportstate_fdr_query.txt": (0, 1, 0),
    "ibdiag/ibstat_cx5_roce100.txt": (0, 1, 0),
    "ibdiag/ibstat_ddr_dual_port_server.txt": (0, 2, 0),
    "ibdiag/ibstat_fdr10_initializing_port2_down.txt": (0, 2, 0),
    "ibdiag/ibstat_fdr_dual_port_active.txt": (0, 2, 0),
    "ibdiag/ibstat_fdr_port1_disabled.txt": (0, 2, 0),
    "ibdiag/ibswinfo_edr_fan_error.txt": None,  # fans and power supplies of a switch: not the state of a port
    "ibdiag/ibv_devinfo_cx5_roce100.txt": (0, 1, 0),
    "ibdiag/mlxlink_ndr400_cx7.txt": (0, 1, 0),
    "ibdiag/perfquery_edr_switch_port.txt": (0, 1, 0),
    "ibdiag/perfquery_rcv_error.txt": (0, 1, 0),
    "ibdiag/superbench_ibstat_p.txt": (0, 10, 0),
    "iperf3/ipoib_edr_azurehc_iperf3.txt": (1, 0, 0),
    "iperf3/kubeovn_qos_before.txt": (1, 0, 0),
    "iperf3/kubeovn_qos_limited.txt": (1, 0, 0),
    "qperf/gentoo_ib_ud_rc_uc_tcp_udp.txt": (9, 0, 0),
    "qperf/ntrdma_bw.txt": (3, 0, 0),
}


@cache
def expected_rows(corpus: Path) -> dict[str, list[dict[str, str]]]:
    """Return the rows of EXPECTED.tsv by file."""
    with (corpus / "EXPECTED.tsv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE))
    files: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        files.setdefault(row["file"], []).append(row)
    return files


@cache
def reading(path: Path) -> ParsedOutput | RailyardError:
    """Return what `railyard parse` reads in a file, or the sentence with which it refuses it."""
    try:
        return read(str(path))
    except RailyardError as error:
        return error


def same(found: tuple[Cell, ...], wanted: list[Cell]) -> bool:
    """Numbers are compared to a relative 1e-9; true, false and null exactly."""
    if len(found) != len(wanted):
        return False
    for one, other in zip(found, wanted, strict=True):
        if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
            if one is not other:
                return False
        elif not math.isclose(one, other, rel_tol=1e-9):
            return False
    return True


def differences(table: Table, row: dict[str, str]) -> list[str]:
    said = {
        "tool": table.tool == row["tool"],
        "benchmark": (table.benchmark or "null") == row["benchmark"],
        "columns": list(table.columns) == json.loads(row["columns"]),
        "units": list(table.units) == json.loads(row["units"]),
        "rows": len(table.rows) == int(row["rows"]),
        "first_row": same(table.rows[0], json.loads(row["first_row"])),
        "last_row": same(table.rows[-1], json.loads(row["last_row"])),
        "complete": row["complete"] == "unknown" or table.complete == (row["complete"] == "yes"),
    }
    return [f"{row['file']} table {row['table']}: {name}" for name, agrees in said.items() if not agrees]


def wrong_in(name: str, parsed: ParsedOutput | RailyardError, rows: list[dict[str, str]]) -> list[str]:
    if isinstance(parsed, RailyardError):
        return [f"{name}: refused: {parsed}"]
    wanted = [row for row in rows if row["table"] != "-"]
    # MILC's table of whole runs may be followed by tables of other kinds, which EXPECTED.tsv does not list
    found = parsed.tables[: len(wanted)] if rows[0]["tool"] == "milc" else parsed.tables
    if len(found) != len(wanted):
        return [f"{name}: {len(found)} tables, {len(wanted)} expected"]
    if not wanted and not parsed.failures and "no failure is printed" not in rows[0]["note"]:
        return [] if "nothing failed" in rows[0]["note"] else [f"{name}: no table and no failure that says why"]
    return [text for row in wanted for text in differences(found[int(row["table"])], row)]


@pytest.mark.parametrize("tool", COUNTS)
def test_every_expected_row_of_the_corpus_holds(corpus: Path, tool: str) -> None:
    files = {name: rows for name, rows in expected_rows(corpus).items() if rows[0]["tool"] == tool}
    assert (len(files), sum(map(len, files.values()))) == COUNTS[tool]
    wrong = [text for name, rows in files.items() for text in wrong_in(name, reading(corpus / name), rows)]
    assert wrong == []


def test_every_tool_of_the_expected_rows_is_one_that_is_read(corpus: Path) -> None:
    assert {rows[0]["tool"] for rows in expected_rows(corpus).values()} == set(COUNTS)
    assert COUNTS.keys() <= PARSERS.keys()


def test_every_file_of_the_corpus_is_expected_by_a_row_or_here(corpus: Path) -> None:
    files = {str(path.relative_to(corpus)) for path in corpus.glob("*/*")}
    assert files - expected_rows(corpus).keys() - OTHERS.keys() == set()
    assert (expected_rows(corpus).keys() | OTHERS.keys()) - files == set()


@pytest.mark.parametrize("name", OTHERS)
def test_files_without_an_expected_row_are_read_as_we_read_them(corpus: Path, name: str) -> None:
    found = reading(corpus / name)
    if isinstance(found, RailyardError):
        assert OTHERS[name] is None, str(found)
    else:
        assert (len(found.tables), len(found.fabric), len(found.failures)) == OTHERS[name]
        assert all(table.tool == name.partition("/")[0] for table in found.tables)


def test_no_parser_reads_another_tools_output(corpus: Path) -> None:
    read_as = []
    for path in sorted(corpus.glob("*/*")):
        text = path.read_text(encoding="utf-8", errors="replace")
        own = FABRIC_PARSERS.keys() if path.parent.name == "ibdiag" else {path.parent.name}
        others = read_by_tool(text, {**PARSERS, **FABRIC_PARSERS}).keys() - own
        read_as += [f"{path.name} read as {tool}" for tool in sorted(others)]
    assert read_as == []


def test_each_output_of_a_fabric_tool_is_one_tools(corpus: Path) -> None:
    several = {}
    for path in sorted(corpus.glob("ibdiag/*")):
        found = read_by_tool(path.read_text(encoding="utf-8", errors="replace"), FABRIC_PARSERS)
        if len(found) > 1:
            several[path.name] = sorted(found)
    assert several == {}
