"""The matrix shows every promised cell: what it came to, or why it does not run."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.results.record.form import Record
from railyard.results.report.overview import cell_words, matrix, read_cells
from railyard.site.matrix import Cell
from railyard.site.test_id import TestId


def test_a_cell_counts_its_states_and_takes_the_colour_of_the_worst(
    faulty_run: list[Record], all_cells: list[Cell]
) -> None:
    table = matrix(faulty_run, all_cells)
    assert table.stacks == ("openmpi", "mpich", "intelmpi")
    assert [
        (row.fabric, row.rails, [(cell.state, cell.words) for cell in row.cells if cell]) for row in table.rows
    ] == [
        ("hsn", 1, [("pass", "2 pass, 1 expected failure"), *[("pass", "3 pass, 1 report-only")] * 2]),
        ("hsn", 2, [("fail", "1 fail, 2 pass"), ("fail", "1 fail, 2 pass, 1 report-only"), ("absent", "does not run")]),
        (
            "eth",
            1,
            [("pass", "3 pass"), ("fail", "1 fail, 3 pass"), ("pass", "2 pass, 1 report-only, 1 not tested")],
        ),
    ]
    assert table.unrun == ()


def test_a_place_where_no_stack_runs_anything_for_one_reason_is_a_line_not_a_row(
    healthy_run: list[Record], all_cells: list[Cell]
) -> None:
    assert matrix(healthy_run, all_cells).idle == (("eth, 2 rails", ("eth has 1 rail per node (eth0)",)),)


def test_a_cell_in_which_nothing_runs_for_one_reason_says_it(faulty_run: list[Record], all_cells: list[Cell]) -> None:
    silent = matrix(faulty_run, all_cells).rows[1].cells[2]
    assert silent is not None
    assert silent.why == "Intel MPI 2021.18 over OFI tcp takes two interfaces and silently uses one."


def test_a_promised_cell_without_a_record_is_unrun(healthy_run: list[Record], all_cells: list[Cell]) -> None:
    table = matrix(healthy_run[1:], all_cells)
    assert table.unrun == (Cell(TestId("hsn", "openmpi", 1, "netpipe/pingpong")),)
    first = table.rows[0].cells[0]
    assert first is not None
    assert (first.state, first.words) == ("unrun", "1 no record, 2 pass")
    assert cell_words(table.unrun[0]) == "netpipe/pingpong on hsn, 1 rail, openmpi: should have run, but left no record"


def test_a_record_that_never_came_to_its_benchmark_is_known_by_its_check(healthy_run: list[Record]) -> None:
    record = healthy_run[0].with_fields(benchmark="NetpipePingpong", state="fail")
    table = matrix([record], [Cell(TestId("hsn", "openmpi", 1, "netpipe/pingpong", "NetpipePingpong"))])
    assert table.unrun == ()
    cell = table.rows[0].cells[0]
    assert cell is not None
    assert [(entry.benchmark, entry.state) for entry in cell.entries] == [("netpipe/pingpong", "fail")]


def test_without_cells_the_matrix_is_that_of_the_records(healthy_run: list[Record]) -> None:
    table = matrix(healthy_run)
    assert [(row.fabric, row.rails) for row in table.rows] == [("hsn", 1), ("hsn", 2), ("eth", 1)]
    assert table.rows[1].cells[2] is None
    assert table.unrun == ()


@pytest.mark.parametrize("text", ["[{}]", '{"cells": [{}]}'])
def test_a_file_of_cells_is_a_list_or_has_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "matrix.json"
    cell = '{"fabric": "hsn", "stack": "mpich", "rails": 2, "benchmark": "imb/Uniband", "reason": null, "new": 1}'
    path.write_text(text.replace("{}", cell), encoding="utf-8")
    assert read_cells(path) == (Cell(TestId("hsn", "mpich", 2, "imb/Uniband")),)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("3", 'found no list of cells, expected [{"fabric": …, "stack": …, "rails": …, "benchmark": …}, …]'),
        ('[{"fabric": "hsn"}]', "cells[0].stack: found nothing, expected this key"),
        (
            '[{"fabric": "hsn", "stack": "mpich", "rails": "2", "benchmark": "x"}]',
            "cells[0].rails: found '2', expected a whole number",
        ),
    ],
)
def test_a_broken_file_of_cells_is_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "matrix.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_cells(path)
    assert str(caught.value) == f"{path}: {sentence}"


def test_a_stack_and_a_place_in_which_nothing_runs_are_lines_below_with_their_reasons(
    healthy_run: list[Record],
) -> None:
    (record,) = [
        one
        for one in healthy_run
        if (one.where.fabric, one.test.stack, one.test.benchmark) == ("eth", "mpich", "imb/Biband")
    ]
    places = [("eth", "mpich", 2), ("eth", "tcp", 1), ("eth", "tcp", 2)]
    cells = [Cell(TestId(*place, benchmark), f"no {benchmark}") for place in places for benchmark in ("a", "b")]
    table = matrix([record], cells)
    assert table.stacks == ("mpich",)
    assert [(row.fabric, row.rails, len(row.cells)) for row in table.rows] == [("eth", 1, 1)]
    assert table.idle == (("eth, 2 rails", ("no a", "no b")), ("tcp", ("no a", "no b")))


def test_a_matrix_in_which_nothing_runs_at_all_has_lines_alone() -> None:
    table = matrix([], [Cell(TestId("eth", "tcp", 1, "a"), "no a"), Cell(TestId("eth", "tcp", 1, "b"), "no b")])
    assert table.rows == ()
    assert table.idle == (("eth, 1 rail", ("no a", "no b")),)


def test_entries_by_state_have_the_worst_first(faulty_run: list[Record]) -> None:
    table = matrix(faulty_run)
    cell = next(row for row in table.rows if (row.fabric, row.rails) == ("hsn", 2)).cells[table.stacks.index("mpich")]
    assert cell is not None
    assert [(state, [entry.benchmark for entry in entries]) for state, _, entries in cell.by_state] == [
        ("fail", ["imb/Uniband"]),
        ("pass", ["imb/PingPong", "imb/Biband"]),
        ("report-only", ["imb/Allreduce"]),
    ]
