"""Every command in README and docs is run here, in a site with stored runs, or has a reason why not.

The output that a page shows below such a command is what the command prints.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.results.record.file import FILE_NAME
from tests.e2e.conftest import CLONE, make_replay_site
from tests.made.nccl_output import CLASS_CURVE, output
from tests.made.pages import page_commands
from tests.made.perftest_output import with_8_mib
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.e2e

SYSTEM = "dell-c6320"

#: Command as shown -> exit code, in the order of the runs. NAME and mine are a published system, played.
RUN = {
    "matrix --system NAME": 0,
    "matrix --system virtual": 0,
    "lint --system NAME": 0,
    "run --system NAME -l": 0,
    "run --system NAME": 0,
    "run --system NAME --extended": 0,
    "lint --system mine": 0,
    "report": 0,
    "report last -o report.html": 0,
    "report '202611*' -o november.html": 0,
    "report last5 -o five.html": 0,
    "results list": 0,
    'results list --tests --where "peak < 47 AND rails = 1"': 0,
    'results list --tests --where "attempts > 0"': 0,
    "results verify": 0,
    "compare last5:fabric=edr last5:fabric=fdr --fail-on-regression 5%": 1,  # one run per side: no comparison
    "parse osu_bw.out": 0,
    "judge osu_bw.out --link ib-edr --slot pcie3-x16": 0,
    "judge recordings/dell-c6320/edr/hpcx/1/OsuBandwidth.out --link ib-edr --slot pcie3-x16": 0,
    "judge recordings/dell-c6320/fdr/hpcx/1/OsuBandwidth.out --link ib-edr --slot pcie3-x16": 1,
    "run --system dell-c6320 -n OsuBandwidth": 0,
    "judge osu_bw.out --system dell-c6320 --fabric edr --stack hpcx": 0,
    "judge rsl.error.0000 --system csd3-2020 --fabric ib --stack intelmpi --benchmark wrf/wrf/conus12km-v3/2-nodes": 0,
    "judge nccl.log --nodes-have gpus=8,nvlink=4,nics=8,link=ib-ndr": 0,
    "judge nccl.log --class h100-8xndr400": 0,
    "judge write.txt --class h100-8xndr400": 0,
    "judge --classes": 0,
    "fabric --own": 0,
    "export grafana -o railyard.json": 0,
    "run --system NAME --dry-run": 0,
    "ci generate --system mine --tag mycluster-login": 0,
    "run --system dell-c6320 -n HplScaling --repeat 5": 0,
    "compare last:fabric=edr last:fabric=fdr": 0,
}

#: Beginning of any other command -> why it is not run here, and where it is run.
NOT_RUN = {
    r"\S*python -m pytest\b": "tests of the clone, which are run anyhow",
    r"git clone ": "a network: .ci/run begins in a clone",
    r"make (needs|run|test|docs|venv|wheelhouse)\b": "make: tests/clone/test_packaging.py holds its recipes",
    r"make (browser|screenshots)\b": "installs a browser: tests/clone/test_packaging.py, tests/e2e/test_screenshots.py",
    r"PIP_NO_INDEX=1 .*make": "makes .venv anew",
    r"sh ci/nightly\.sh": "an hour of rehearsals: tests/clone/test_nightly.py holds what it runs",
    r".*\brailyard testbed\b": "the virtual cluster: tests/e2e/test_virtual.py",
    r"\S*railyard run --system virtual:hsn -p intelmpi": "the virtual cluster: tests/e2e/test_nic_per_rank.py",
    r"\S*railyard run --system virtual:hsn -p (mpich|openmpi)": "the virtual cluster: tests/e2e/test_virtual.py",
    r"railyard run --extended -n (Hpcc|Gpcnet)": "needs them installed: tests/rfm/checks/test_measured_run.py",
    r"railyard run --system NAME -n Hpl\b": "needs HPL and a system's memory: tests/e2e/test_job_scripts.py",
    r".*/reframe .*virtual:hsn": "the virtual cluster: tests/e2e/test_virtual.py",
    r".*\brailyard run -n 'rails=2'": "the virtual cluster: tests/e2e/test_virtual.py",
    r".*\brailyard (compare|results show|results export|results merge) .*(rails=|T\*|PingPong|virtual|other-clone)":
        "asks for runs of the virtual cluster: tests/e2e/test_compare.py, tests/results/store",
    r".*\brailyard capture\b": "needs measured repeats: tests/e2e/test_capture.py",
    r".*\brailyard report last --plots": "needs runs with curves, drawn by matplotlib: tests/results/report",
    r"(srun .*|\S*)\brailyard (detect|doctor)\b": "writes a new system: tests/e2e/test_new_cluster.py",
    r"spack (repo|install|load) ": "Spack builds Python itself for hours: tests/clone/test_spack_envs.py",
    r"\S*\brailyard fabric --system": "needs a fabric: tests/e2e/test_fabric.py",
    r"(\S*railyard (spack|run .*--spack)|export |python3 -m |\.railyard/)": "needs Spack: tests/e2e/test_spack.py",
    r"\S*railyard (matrix|run) --system hdrsys": "a recorded node's system: tests/e2e/test_new_cluster.py",
    r"railyard lint --system mycluster": "a site with a Spack: tests/e2e/test_your_spack.py",
    r"\S*railyard soak --system mycluster": "Slurm: tests/cluster/soak",
    r"\S*railyard run --system (virtual-slurm|virtual-verbs|mycluster)": "Slurm or guests: tests/e2e/test_slurm.py",
    r"(srun .*|\S*)\brailyard gate\b": "needs a node of a cluster: tests/cluster/gate",
    r"\S*railyard rehearse\b": "Slurm: tests/e2e/test_rehearse.py",
    r"\S*railyard run .*-P policy=rail-2": "no system here asks for each rail: tests/site/test_rails.py",
    r"(ethtool -m |railyard judge ethtool\.out)": "needs a module: tests/cluster/fabric/test_optics.py",
    r"\S*railyard export sick\b": "needs measured runs: tests/cli/commands/test_export_sick.py",
    r"\S*railyard history\b": "needs measured runs: tests/results/history",
    r"\S*railyard ci generate .*--spack": "needs a system with Spack: tests/cli/test_gitlab_pipeline.py",
    r"railyard pairs (run|collect|coverage)\b": "needs nodes: tests/e2e/test_sampled_pairs.py, tests/cluster/rolling",
    r"railyard pairs judge --tool nccl": "needs logs of GPUs: tests/cli/commands/test_pairs.py",
    r"(railyard .* -c own\b|railyard init my-site$|cd my-site|mkdir own|sed )": "tests/e2e/test_own_check.py",
    r"\S*railyard judge tests/parsers/made/NAME": "a new tool's sample: tests/parsers/test_properties.py",
    r"for i in ": "ten runs on a cluster",
    r"(railyard-venv/|pip install railyard|railyard init mysite)": "the wheel: tests/e2e/test_wheel.py",
    r"reframe -C .*settings\.py --system csd3": "another suite: tests/e2e/test_reframe_set_up.py",
    r"_RAILYARD_COMPLETE=": "a shell's completion: tests/cli/test_main.py",
    r"make (dist|release)$": "builds: tests/e2e/test_wheel.py, tests/clone/test_release.py",
    r"(podman|debootstrap|apptainer (build|run) railyard|tar -C base|python3\.11 -m pip download) ?": "images: "
    "tests/e2e/test_images.py",
    r"eb ": "needs EasyBuild: tests/clone/test_release.py reads the file",
    r"railyard apps inputs ": "needs WRF's inputs: tests/cli/commands/test_apps.py",
    r"railyard run .*-n HplLayout$": "needs HPL: tests/results/capture/test_hpl_layout.py",
    r"railyard run .*-n MilcScaling ": "needs MILC: tests/rfm/checks/test_catalogue.py",
    r"(railyard preflight|cat good\.txt)": "needs a job: tests/e2e/test_preflight.py",
}  # fmt: skip


def pages() -> dict[str, str]:
    """Return command -> the first page that shows it."""
    found: dict[str, str] = {}
    for command in page_commands():
        found.setdefault(command.words, command.page)
    return found


def plain(command: str) -> str:
    return command.removeprefix(".venv/bin/").removeprefix("railyard ")


def test_every_command_is_run_or_it_is_said_why_not() -> None:
    reasons = {command: [why for why in NOT_RUN if re.match(why, command)] for command in pages()}
    unsaid = [f"{pages()[c]}: {c}" for c, why in reasons.items() if plain(c) not in RUN and not why]
    assert unsaid == []
    assert [c for c, why in reasons.items() if plain(c) in RUN and why] == []


def test_nothing_is_listed_that_no_page_shows() -> None:
    commands = pages()
    assert sorted(set(RUN) - {plain(command) for command in commands}) == []
    assert [why for why in NOT_RUN if not any(re.match(why, command) for command in commands)] == []


def three_more(runs: Path) -> str:
    """Put three copies of the only run beside it; they differ only in the number in their names. Return its name."""
    (run,) = runs.iterdir()
    for number in range(1, 4):
        copy = runs / f"{run.name[:-4]}{number:04d}"
        shutil.copytree(run, copy)
        records = copy / FILE_NAME
        records.write_text(records.read_text(encoding="utf-8").replace(run.name, copy.name), encoding="utf-8")
    return run.name


def test_the_commands_that_are_shown_do_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_replay_site(tmp_path)
    shutil.copy(CLONE / "recordings" / SYSTEM / "edr/hpcx/1/OsuBandwidth.out", tmp_path / "osu_bw.out")
    wrf = CLONE / "recordings/csd3-2020/ib/intelmpi/1/WrfScaling_case=conus12km-v3_nodes=2.out"
    shutil.copy(wrf, tmp_path / "rsl.error.0000")
    twelve = [f"node{number:02d}" for number in range(1, 13)]
    (tmp_path / "nccl.log").write_text(output("all_reduce", CLASS_CURVE, twelve), encoding="utf-8")
    (tmp_path / "write.txt").write_text(with_8_mib(388.0), encoding="utf-8")
    for name in [name for name in os.environ if name.startswith("RAILYARD_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)  # the pages show what a file would have
    monkeypatch.chdir(tmp_path)
    ended: dict[str, int] = {}
    said: dict[str, str] = {}
    meant = {"NAME": SYSTEM, "mine": SYSTEM}
    for command in RUN:
        words = [meant.get(word, word) for word in shlex.split(command)]
        if words[0] != "run":  # does not start ReFrame: a process of its own would show nothing more
            ended[command] = main(words)
            said[command] = "".join(capsys.readouterr())
            continue
        done = subprocess.run(
            [sys.executable, "-m", "railyard", *words],
            capture_output=True, text=True, check=False, timeout=PATIENCE_S,
            env=dict(os.environ),  # readline, which pytest loads, sets COLUMNS behind Python's back
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        ended[command], said[command] = done.returncode, done.stdout + done.stderr
        if command == "run --system NAME":
            made = three_more(tmp_path / ".railyard/runs")  # with the two that are shown, five runs: last5
            meant["202611*"] = f"{made[:6]}*"  # the page names the month of its runs; these are of today
    assert {command: ended[command] for command in RUN} == RUN
    assert {"report.html", "november.html", "five.html"} <= {path.name for path in tmp_path.iterdir()}
    unsaid = {
        f"{command.page}: {command.words}": lines
        for command in page_commands()
        if plain(command.words) in said and (lines := command.missing_lines(said[plain(command.words)]))
    }
    assert unsaid == {}
