"""Each rail of a run in groups, measured with its GPU first: the rail is named, and not its node."""

from pathlib import Path

import pytest

from railyard.job.gpu_steps import lines, output_of
from railyard.job.probe_job import lines_of_printed
from railyard.parsers import nccl
from railyard.results.report.summary import suspect_words
from railyard.verdict.assess import Assessment
from railyard.verdict.gpu.collectives import first_gpu_busbw, groups_to_measure
from tests.made.nccl import GPUS, SIZES, output
from tests.verdict.gpu.test_collectives import MOVED, REFERENCE, rails

NODES = ("g1", "g2", "g3", "g4")
LARGEST = SIZES[-1]


def rail_output(gpu: int, rate: float) -> str:
    """Return what the run prints in which a GPU is the first, at its one size."""
    return f"# railyard: rail of GPU {gpu}\n" + output("all_reduce", NODES, {LARGEST: rate}, groups=GPUS)


def assess_rails(folder: Path, rates: dict[int, float], slowest: float = 23_000.0) -> Assessment:
    (folder / "references").mkdir(exist_ok=True)
    own = REFERENCE.replace("sendrecv_perf", "all_reduce_perf/rails")
    (folder / "references" / "gpus.yaml").write_text(own, encoding="utf-8")
    texts = tuple(rail_output(gpu, rate) for gpu, rate in rates.items())
    mb = MOVED * 2 * 3 / 4 / 1e6
    return rails(folder, rates=dict.fromkeys(SIZES, slowest), mb=mb, more="", again=texts)


def test_the_slow_rail_is_named_with_the_command_that_tells_the_node(tmp_path: Path) -> None:
    judged = assess_rails(tmp_path, {0: 46_000.0, 1: 46_500.0, 2: 23_000.0, 3: 46_200.0})
    assert (judged.verdict.state, judged.verdict.rule) == ("fail", 5)
    (suspect,) = judged.verdict.suspects
    assert suspect_words(suspect).startswith(
        "rail mlx5_2:1 of one of these nodes: 23.00 GB/s, the other rails give 46.35; the"
    )
    assert (
        "mlx5_2:1 (GPU 2) of one of these nodes: GPU 0 46.00, GPU 1 46.50, GPU 2 23.00, GPU 3 46.20 GB/s"
        in judged.verdict.text
    )
    assert judged.verdict.look_at == "pairs of nodes, which show the node: railyard run --extended -n NcclPairs"


def test_rails_that_are_all_alike_name_nobody(tmp_path: Path) -> None:
    judged = assess_rails(tmp_path, dict.fromkeys(range(GPUS), 23_000.0))
    assert (judged.verdict.state, judged.verdict.rule) == ("fail", 5)
    assert judged.verdict.suspects == ()
    assert "so no rail is slower than the others" in judged.verdict.text


@pytest.mark.parametrize("rates", [{}, {0: 46_000.0, 1: 23_000.0}])
def test_too_few_rails_to_be_compared_say_nothing(tmp_path: Path, rates: dict[int, float]) -> None:
    judged = assess_rails(tmp_path, rates)
    assert judged.verdict.suspects == () and "GPU 0" not in judged.verdict.text


def test_a_rail_without_a_whole_output_is_none() -> None:
    cut = rail_output(1, 46_000.0).partition("# Out of bounds")[0]
    assert first_gpu_busbw(
        [rail_output(0, 46_000.0), cut, "# railyard: rail of GPU 2\nsrun: error\n", "nothing\n"]
    ) == {0: 46.0}


def test_groups_are_measured_where_the_slowest_is_below_what_is_expected() -> None:
    tables = nccl.parse(output("all_reduce", NODES, dict.fromkeys(SIZES, 40_000.0), groups=GPUS)).tables
    assert groups_to_measure(tables, 41_000.0) == (0, 1, 2, 3)
    assert groups_to_measure(tables, 39_000.0) == ()
    whole = nccl.parse(output("all_reduce", NODES, dict.fromkeys(SIZES, 40_000.0))).tables
    assert groups_to_measure(whole, 41_000.0) == (), "a run without groups has no rails of its own"


def test_the_lines_of_a_job_put_each_gpu_first_in_turn_and_end_with_the_job() -> None:
    made = lines("rfm_job.out", "srun --mpi=pmix", ["/opt/all_reduce_perf", "-a", "0"], 3, 32000.0, 300)
    assert made[:2] == lines_of_printed("rfm_job.out")
    assert made[2].endswith("-m railyard pairs groups --expected 32000.0 $made > groups.txt 2> groups.err || :")
    assert [line.partition("CUDA_VISIBLE_DEVICES=")[2].split()[0] for line in made[3:]] == ["0,1,2", "1,2,0", "2,0,1"]
    assert made[4] == (
        "[ ! -s groups.txt ] || [ $(($(date +%s) - $(cat begun.txt))) -gt 240 ] || "
        "{ echo '# railyard: rail of GPU 1'; timeout -k 5 45 srun --mpi=pmix env CUDA_VISIBLE_DEVICES=1,2,0 "
        "/opt/all_reduce_perf -a 0; } > again-gpu1.out 2>&1 || :"
    )
    assert output_of(1) == "again-gpu1.out"
