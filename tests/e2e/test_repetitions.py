"""How often each check repeats over a slow and a fast link, from ReFrame's dry run of synthetic systems."""

import re
import subprocess
from pathlib import Path

import pytest

from railyard.parsers.rail_parts import NEXT_LAUNCH
from tests.e2e.conftest import REFRAME, make_site
from tests.e2e.test_job_scripts import launch_of

GOLDEN = Path(__file__).parents[1] / "golden"
pytestmark = pytest.mark.e2e

SYSTEM = """\
system: made
description: Two cards a node, made for this test
hostnames: []
scheduler: slurm
launcher: srun
nodes: {{count: 4}}
report_only: made for this test
fabrics:
  hsn:
    description: two cards
    kind: ib
    link: {link}
    rails:
      - {{device: mlx5_0, port: 1, counters: mlx5}}
      - {{device: mlx5_1, port: 1, counters: mlx5}}
stacks:
  openmpi:
    prefix: /opt/openmpi
    benchmarks: {{osu: "{{home}}/osu", imb: "{{home}}/imb", netpipe: "{{home}}/netpipe"}}
  verbs:
    prefix: /usr
    benchmarks: {{perftest: "{{home}}/perftest"}}
{more}"""
SLOW = "{name: shaped-120, data_rate_gbit_s: 0.12, headers: tcp-shaped, mtu: 1500, source: made}"
OSU = (
    *("latency", "bw", "bibw", "mbw_mr", "multi_lat", "put_bw", "get_bw", "put_latency", "get_latency", "init"),
    *("allreduce", "alltoall", "alltoallv", "allgather", "bcast", "reduce", "reduce_scatter", "barrier"),
)
FEW = "OsuLatency|OsuBandwidth|ImbUniband"
UNIBAND = "-iter 1000,40 -window_size 64"
ALL = "^(Osu|Imb|Netpipe|Write|Read|Send)"
VERBS = ("write_bw", "read_bw", "send_bw", "write_lat", "read_lat", "send_lat")


def words(
    folder: Path, link: str, more: str = "", validates: bool = True, tests: str = ALL, options: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return the repetitions and windows that each check gives its tool over one rail, from a dry run.

    ``more`` has lines of the system; ``validates``: whether the release of OSU has a validation.
    """
    site = make_site(folder)
    (site.folder / "systems/made.yaml").write_text(SYSTEM.format(link=link, more=more), encoding="utf-8")
    programs = [*(f"osu/osu_{name}" for name in OSU), *(f"perftest/ib_{name}" for name in VERBS), "imb", "netpipe"]
    for program in programs:
        path = site.folder / program
        path.parent.mkdir(exist_ok=True)
        path.write_text("validation-warmup mpi_float" if validates else "", encoding="utf-8")
        path.chmod(0o755)
    done = subprocess.run(
        [REFRAME, "--nocolor", "-C", "reframe_settings.py", "-c", "checks/microbench", "-R", "--dry-run",
         "--system", "made:hsn", "-P", "rails=1", "-n", tests, "--prefix", "out",
         "--keep-stage-files", *options],
        cwd=site.folder, env=site.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(sorted(script_numbers(script) for script in site.folder.glob("out/stage/**/rfm_job.sh")))


def script_numbers(script: Path) -> tuple[str, str]:
    """Return the name of a check, or of its program if it has several, and its numbers."""
    lines = [launch_of(text) for text in script.read_text(encoding="utf-8").split(f"echo '{NEXT_LAUNCH}'\n")]
    program = re.search(r"/osu/(osu_\w+)", lines[-1])
    check = script.parent.name.split("_")[0]
    name = program[1] if program and check == "OsuCollective" else check
    return name, ", then ".join(map(numbers_in, lines))


def numbers_in(launch: str) -> str:
    """Return the numbers of repetitions and windows in a launch line."""
    told = re.findall(
        r"(?<= )-(?:i|x|n|q|W|u|iter|window_size|off_cache) [0-9]+(?:,[0-9]+)?(?= |$)", launch.split(" -- ")[-1]
    )
    return " ".join(word for word in told if word != "-u 4194304")


def golden(column: int) -> dict[str, str]:
    """Return what each check must give its tool: column 1 over a slow link, 2 over a fast one."""
    lines = (GOLDEN / "repetitions.txt").read_text(encoding="utf-8").splitlines()[1:]
    rows = ([cell.strip() for cell in line.split("|")] for line in lines)
    return {row[0]: row[column] for row in rows}


@pytest.mark.parametrize(("link", "column"), [(SLOW, 1), ("ib-ndr", 2)])
def test_every_check_repeats_as_often_as_its_link_has_time_for(tmp_path: Path, link: str, column: int) -> None:
    assert words(tmp_path, link) == golden(column)


def test_without_a_validation_osus_own_numbers_are_reached(tmp_path: Path) -> None:
    assert words(tmp_path, "ib-ndr", validates=False, tests=FEW) == {
        "OsuLatency": "-i 10000 -x 100", "OsuBandwidth": "-i 100 -x 10 -W 64", "ImbUniband": UNIBAND,
    }  # fmt: skip


def test_the_systems_file_sets_numbers_and_the_command_line_others(tmp_path: Path) -> None:
    stated = "{osu/osu_latency: {repetitions: 5000, warm_up: 9}, osu/osu_bw: {window: 32}}"
    more = f"measure: {{duration: 1m, benchmarks: {stated}}}\n"
    found = words(tmp_path, "ib-ndr", more, tests=FEW, options=("-S", "OsuBandwidth.repetitions=7"))
    assert found == {
        "OsuLatency": "-i 5000 -x 9 -u 1", "OsuBandwidth": "-i 7 -x 0 -W 32 -u 1", "ImbUniband": UNIBAND,
    }  # fmt: skip


def test_the_command_line_wins_over_the_systems_file(tmp_path: Path) -> None:
    more = "measure: {benchmarks: {osu/osu_bw: {repetitions: 50, window: 32}}}\n"
    options = ("-S", "repetitions=1000", "-S", "window=4")
    assert words(tmp_path, "ib-ndr", more, tests="OsuBandwidth", options=options) == {
        "OsuBandwidth": "-i 1000 -x 0 -W 4 -u 1",
    }


def test_a_number_that_a_tool_cannot_be_told_is_refused(tmp_path: Path) -> None:
    more = "measure: {benchmarks: {osu/osu_latency: {window: 32}}}\n"
    with pytest.raises(AssertionError, match="osu/osu_latency: window: found 32, expected repetitions, warm_up"):
        words(tmp_path, "ib-ndr", more, tests="OsuLatency")
