"""IMB's Sendrecv passes messages along a chain of ranks: nobody knows how many of a node's ranks cross its rail."""

import pytest

from railyard.parsers import imb
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import Nodes, of_link

SIZES = (0, *(1 << power for power in range(23)))


def sendrecv(ranks: int, ranks_per_node: int, mb_s: float) -> Judgement:
    """Return what is said over EDR of a Sendrecv whose ranks send and receive so many MB/s each way."""
    times = [(size, 3.0 + size / mb_s) for size in SIZES]
    text = (
        "#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n# Benchmarking Sendrecv \n"
        f"# #processes = {ranks} \n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n"
        + "".join(f"{size} 1000 {us:.2f} {us:.2f} {us:.2f} {2 * size / us:.2f}\n" for size, us in times)
        + "# All processes entering MPI_Finalize\n"
    )
    nodes = Nodes(1, None, ranks_per_node)
    (judgement,) = judge(imb.parse(text), of_link("ib-edr"), nodes=nodes, text=text)
    return judgement


@pytest.mark.parametrize("mb_s", [11500.0, 3600.0])
@pytest.mark.parametrize(("ranks", "each", "share"), [(4, 2, "27.1 %"), (64, 32, "1.7 %")])
def test_several_ranks_of_a_node_show_nothing_of_its_rail(ranks: int, each: int, share: str, mb_s: float) -> None:
    found = sendrecv(ranks, each, mb_s)
    assert (found.state, found.sentence) == (
        "not-judged",
        f"not judged: a run at {share} of the limit would still pass at 4 MiB, its largest size, since the {each} "
        "ranks of a node may all cross its rail at once, or only one; run it with one rank on each node",
    )


def test_a_chain_of_nodes_is_judged_and_so_is_one_slower_than_sharing_explains() -> None:
    assert sendrecv(4, 1, 11500.0).state == "pass"
    assert sendrecv(4, 1, 6300.0).state == "fail"
    assert sendrecv(4, 2, 2900.0).state == "fail"
    assert sendrecv(4, 4, 6300.0).state == "pass"  # within one node
