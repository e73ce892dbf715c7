"""What a job of pairs between GPUs prints of its steps, whole and cut."""

import pytest

from railyard.parsers.gpu_pairs import parse, steps_of
from railyard.parsers.output import ParseError

TEXT = """\
# railyard-gpu-pairs 1 alltoall_perf 1a2b-3c
# node 0 gpu1
# node 1 gpu2.cluster
# node 2 gpu3
# stage first second gpu exit seconds
rounds 0 1 all 0 12
rounds 0 2 all 124 61
alone 1 2 3 0 9
# end: 3 steps
"""


def test_each_row_is_a_step_with_its_nodes_gpu_code_and_time() -> None:
    (table,) = parse(TEXT).tables
    assert table.complete and (table.tool, table.benchmark) == ("nccl", "alltoall_perf")
    assert table.rows == ((False, 0, 1, None, 0, 12), (False, 0, 2, None, 124, 61), (True, 1, 2, 3, 0, 9))
    assert table.context["left"] == 0
    steps = steps_of(table)
    assert [step.log for step in steps] == [
        "gpu-pairs/rounds-gpu1_gpu2.cluster.log",
        "gpu-pairs/rounds-gpu1_gpu3.log",
        "gpu-pairs/alone-gpu2.cluster_gpu3-gpu3.log",
    ]
    assert [(step.alone, step.gpu, step.exit_code) for step in steps] == [
        (False, None, 0),
        (False, None, 124),
        (True, 3, 0),
    ]


@pytest.mark.parametrize("cut", ["# end: 3 steps\n", "alone 1 2 3 0 9\n"])
def test_a_text_without_its_end_or_with_a_row_less_is_not_complete(cut: str) -> None:
    assert not parse(TEXT.replace(cut, "")).tables[0].complete


def test_rounds_that_the_time_did_not_suffice_for_are_counted() -> None:
    assert parse(TEXT.replace("# end", "# stopped: 2 rounds left\n# end")).tables[0].context["left"] == 2


def test_a_step_of_a_node_that_is_not_named_is_none() -> None:
    assert len(steps_of(parse(TEXT.replace("# node 2 gpu3\n", "")).tables[0])) == 1


def test_another_text_is_refused() -> None:
    with pytest.raises(ParseError, match="expected the steps of a job of pairs"):
        parse("# nccl-tests version 2.17.6\n")
