"""The matrix shows every promised cell: what it came to, or why it does not run."""

import dataclasses
from pathlib import Path

import pytest

from railyard.errors import InputError
from railyard.record import Record
from railyard.report.matrix import Cell, cell_words, matrix, read_cells


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
            [("pass", "3 pass"), ("fail", "1 fail, 3 pass"), ("not-tested", "1 not tested, 2 pass, 1 report-only")],
        ),
    ]
    assert table.unrun == ()


def test_a_place_where_no_stack_runs_anything_for_one_reason_is_a_line_not_a_row(
    healthy_run: list[Record], all_cells: list[Cell]
) -> None:
    assert matrix(healthy_run, all_cells).empty == (("eth", 2, "eth has 1 rail a node (eth0)"),)


def test_a_cell_in_which_nothing_runs_says_why_itself_and_other_reasons_get_letters(
    faulty_run: list[Record], all_cells: list[Cell]
) -> None:
    table = matrix(faulty_run, all_cells)
    silent = table.rows[1].cells[2]
    assert silent is not None
    assert silent.why == "Intel MPI 2021.18 over OFI tcp takes two interfaces and silently uses one."
    assert table.notes == {
        "The packaged IMB binary needs libmpi.so.12 and does not run under Open MPI (libmpi.so.40).": "a",
        "Debian's NPmpich2 hangs at its end once in three runs.": "b",
        "Ctrl-C came before this test was started.": "c",
    }


def test_a_promised_cell_without_a_record_is_unrun(healthy_run: list[Record], all_cells: list[Cell]) -> None:
    table = matrix(healthy_run[1:], all_cells)
    assert table.unrun == (Cell("hsn", "openmpi", 1, "netpipe/pingpong"),)
    first = table.rows[0].cells[0]
    assert first is not None
    assert (first.state, first.words) == ("unrun", "1 no record, 2 pass")
    assert cell_words(table.unrun[0]) == "netpipe/pingpong on hsn, 1 rail, openmpi: should have run, and left no record"


def test_a_record_that_never_came_to_its_benchmark_is_known_by_its_check(healthy_run: list[Record]) -> None:
    record = dataclasses.replace(healthy_run[0], benchmark="NetpipePingpong", state="fail")
    table = matrix([record], [Cell("hsn", "openmpi", 1, "netpipe/pingpong", None, "NetpipePingpong")])
    assert table.unrun == ()
    cell = table.rows[0].cells[0]
    assert cell is not None
    assert [(entry.benchmark, entry.state) for entry in cell.entries] == [("netpipe/pingpong", "fail")]


def test_without_cells_the_matrix_is_that_of_the_records(healthy_run: list[Record]) -> None:
    table = matrix(healthy_run)
    assert [(row.fabric, row.rails) for row in table.rows] == [("hsn", 1), ("hsn", 2), ("eth", 1)]
    assert table.rows[1].cells[2] is None
    assert table.unrun == ()


def test_after_z_the_letters_go_on(healthy_run: list[Record]) -> None:
    cells = [Cell("hsn", "openmpi", 1, f"imb/{number}", f"reason {number}") for number in range(28)]
    assert list(matrix([healthy_run[0]], cells).notes.values())[24:] == ["y", "z", "aa", "ab"]


@pytest.mark.parametrize("text", ["[{}]", '{"cells": [{}]}'])
def test_a_file_of_cells_is_a_list_or_has_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "matrix.json"
    cell = '{"fabric": "hsn", "stack": "mpich", "rails": 2, "benchmark": "imb/Uniband", "reason": null, "new": 1}'
    path.write_text(text.replace("{}", cell), encoding="utf-8")
    assert read_cells(path) == (Cell("hsn", "mpich", 2, "imb/Uniband"),)


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
