"""The table of nccl-tests has each of its programs once."""

from railyard.benchmarks.table.nccl import CHECKED, UNCHECKED
from railyard.parsers.nccl_words import FACTORS


def test_each_program_that_the_parser_knows_is_in_the_table_once() -> None:
    assert sorted(f"{name}_perf" for name in (*CHECKED, *UNCHECKED)) == sorted(FACTORS)
