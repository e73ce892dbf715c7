"""The physics compared with genuine logs: every printed row is as nccl-tests defines it, and none is impossible.

The logs are of every pair of 17 nodes with eight H100 each, with 1, 4 and 8 GPUs per node. They are not part of the
repository.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from railyard.benchmarks.gpu_collectives import JudgedRow, busbw, judge_possible, ranks_of
from railyard.hardware.gpu_nodes import Shape, node_of_words

CLONE = Path(__file__).parents[3]
STARTING = re.compile(r"# Collective test starting: (\w+)_perf")
#: A time of ten seconds or more is printed as 1.0e+07, which is too coarse: such rows are left out.
ROW = re.compile(
    r"\s+(\d+)\s+\d+\s+\w+\s+\w+\s+-?\d+\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+\S+\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s"
)
#: The logs do not say which cards there were; with eight of 400 Gbit/s no figure can be too high.
NODE = node_of_words("gpus=8,nvlink=4,nics=8,link=ib-ndr")


@pytest.fixture(scope="module")
def logs() -> list[Path]:
    given = os.environ.get("RAILYARD_GPU_LOGS")
    folder = Path(given) if given else CLONE.parent / "shared" / "gpu"
    found = sorted((folder / "h100-17-nodes-pairs").glob("*.log"))
    if not found:
        pytest.skip("no genuine logs: set RAILYARD_GPU_LOGS to the folder that holds h100-17-nodes-pairs")
    return found


def rows(log: Path) -> Iterator[tuple[str, int, float, float, float]]:
    """Yield for each row the collective, the size, and time, algbw and busbw, out of place and in place."""
    name = ""
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if (start := STARTING.match(line)) is not None:
            name = start[1]
        elif (row := ROW.match(line + " ")) is not None:
            for first in (2, 5):
                yield name, int(row[1]), float(row[first]), float(row[first + 1]), float(row[first + 2])


@pytest.mark.parametrize(("every", "least"), [(7, 2_000), pytest.param(1, 15_000, marks=pytest.mark.full)])
def test_every_row_is_as_defined_and_possible(logs: list[Path], every: int, least: int) -> None:
    count = 0
    for log in logs[::every]:
        gpus = int(re.search(r"_G(\d)_", log.name)[1])  # type: ignore[index]
        shape = Shape(NODE, 2, used=gpus)
        for name, size, time_us, algbw_gb_s, busbw_gb_s in rows(log):
            made = busbw(name, size, time_us, shape.ranks) / 1000
            assert made == pytest.approx(busbw_gb_s, abs=0.006, rel=2e-5), (log.name, name, size)
            between = ranks_of(name, algbw_gb_s, busbw_gb_s)
            assert between is None or between[0] <= shape.ranks <= between[1], (log.name, name, size)
            assert judge_possible(name, shape, JudgedRow(busbw_gb_s * 1000, size)).state == "possible", (
                log.name,
                name,
                size,
            )
            count += 1
    assert count > least
