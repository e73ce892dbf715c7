"""What Slurm would get for a client and a server: ReFrame's dry run of a system with srun, without any Slurm."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import REFRAME, VirtualSite, make_site
from tests.made.systems import TWO_CARDS

pytestmark = pytest.mark.e2e

_HEAD = """\
system: made
description: Two cards a node, made for this test
hostnames: []
scheduler: slurm
launcher: srun
nodes: {count: 4}
report_only: made for this test
"""
_STACKS = """\
stacks:
  verbs:
    prefix: /opt/perftest
    benchmarks: {perftest: "{home}/perftest"}
"""
SYSTEM = _HEAD + TWO_CARDS + _STACKS
CARDS = "-F -d '{card}' -i '{card_port}' -p '{port}' -a -n 1000"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the job script of each test of perftest by the test's name; the run's tags and ports are masked."""
    site: VirtualSite = make_site(tmp_path_factory.mktemp("site"))
    (site.folder / "systems/made.yaml").write_text(SYSTEM, encoding="utf-8")
    (site.folder / "perftest").mkdir()
    for name in ("write_bw", "read_bw", "send_bw", "write_lat", "read_lat", "send_lat"):
        (site.folder / "perftest" / f"ib_{name}").touch()
    done = subprocess.run(
        [REFRAME, "--nocolor", "-C", "reframe_settings.py", "-c", "checks/microbench/perftest.py", "--dry-run",
         "--system", "made", "--prefix", "out", "--keep-stage-files"],
        cwd=site.folder, env=site.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for script in sorted(site.folder.glob("out/stage/**/rfm_job.sh")):
        text = script.read_text(encoding="utf-8").replace(str(site.folder), "SITE")
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{14,18}", "TAG", text)
        found[script.parent.name] = re.sub(r"(mlx5_[01]:1)=2[0-9]{4}", r"\1=PORT", text)
        assert (script.parent / "pair.sh").is_file()
    return found


def job(jobs: dict[str, str], check: str, rails: int) -> str:
    (name,) = (name for name in jobs if name.startswith(f"{check}_") and jobs[name].count("=PORT") == rails)
    return jobs[name]


def test_two_nodes_have_one_process_each_behind_the_counter_reader(jobs: dict[str, str]) -> None:
    text = job(jobs, "WriteBandwidth", 1)
    for words in ("#SBATCH --ntasks=2", "#SBATCH --ntasks-per-node=1", "mkdir -p counters"):
        assert words in text
    assert text.splitlines()[-1] == (
        "srun sh reader.sh counters TAG mlx5_0:1 mlx5_1:1 -- sh pair.sh run pair TAG at-once mlx5_0:1=PORT -- "
        f"SITE/perftest/ib_write_bw {CARDS} -- SITE/perftest/ib_write_bw {CARDS} '{{server}}'"
    )


def test_several_rails_have_a_pair_of_processes_each_at_once_and_latencies_in_turn(jobs: dict[str, str]) -> None:
    assert " at-once mlx5_0:1=PORT,mlx5_1:1=PORT -- SITE/perftest/ib_send_bw " in job(jobs, "SendBandwidth", 2)
    assert " in-turn mlx5_0:1=PORT,mlx5_1:1=PORT -- SITE/perftest/ib_read_lat " in job(jobs, "ReadLatency", 2)
    both_ways = job(jobs, "WriteBidirectional", 1)
    assert f"SITE/perftest/ib_write_bw {CARDS} -b -- SITE/perftest/ib_write_bw {CARDS} -b '{{server}}'" in both_ways


def test_a_loop_has_both_processes_on_one_node(jobs: dict[str, str]) -> None:
    text = job(jobs, "WriteLoopback", 2)
    assert "#SBATCH --ntasks=2" in text
    assert "#SBATCH --ntasks-per-node=2" in text
    assert " in-turn mlx5_0:1=PORT,mlx5_1:1=PORT -- " in text


def test_every_check_has_a_job_for_one_rail_and_for_two(jobs: dict[str, str]) -> None:
    assert len(jobs) == 16
    assert {Path(name).name.split("_")[0] for name in jobs} == {
        *("WriteBandwidth", "WriteBidirectional", "ReadBandwidth", "SendBandwidth"),
        *("WriteLatency", "ReadLatency", "SendLatency", "WriteLoopback"),
    }
