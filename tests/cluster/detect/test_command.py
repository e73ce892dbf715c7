"""`railyard detect` on the command line: what it prints, writes and refuses, and the next steps of a new cluster."""

import json
import os
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.cluster.detect.source import parse_listing

ROOT = Path(__file__).resolve().parents[3]
TREES = ROOT / "tests" / "trees"
HDR = str(TREES / "dual-rail-hdr.tree")
#: Synthetic: what OSU prints if one rail of HDR is healthy, and if it gives half.
OUTPUT = """\
# OSU MPI Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
524288              {mib:8.2f}
1048576             {mib:8.2f}
2097152             {mib:8.2f}
4194304             {mib:8.2f}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site without a system: the clone's checks and environments, and room for the two files."""
    (tmp_path / "systems").mkdir()
    for name in ("checks", "spack_envs"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    variables = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "FLUX_ENCLOSING_ID", "SGE_JOB_SPOOL_DIR")
    for variable in variables:
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def test_without_write_the_file_is_printed_and_nothing_is_written(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["detect", "--root", HDR]) == 0
    answer = capsys.readouterr()
    head = "# yaml-language-server: $schema=schema.json\n# Written by `railyard detect` on node017 ("
    assert answer.out.startswith(head)
    assert "system: hdrsys\n" in answer.out
    assert [line.split(" (")[0] for line in answer.err.splitlines()] == [
        "look at: mlx5_1:1",
        "look at: Spack should build benchmarks, but is not on the search path: railyard spack bootstrap fetches it",
        "look at: mlx5_2:1 has no link",
        "look at: eno2 has no link",
    ]
    assert list((home / "systems").iterdir()) == []


def test_a_new_cluster_goes_from_a_recording_to_a_verdict(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "--root", HDR, "--write"]) == 0
    assert capsys.readouterr().out == (
        "wrote systems/hdrsys.yaml\n"
        "wrote references/hdrsys.yaml\n"
        "next: read systems/hdrsys.yaml; railyard doctor --system hdrsys; railyard matrix --system hdrsys; "
        "railyard run --system hdrsys\n"
    )
    assert main(["lint", "--system", "hdrsys"]) == 0
    assert capsys.readouterr().out == "0 entries of 1 system: 0 files refused, 0 problems, 0 remarks\n"
    assert main(["matrix", "--system", "hdrsys", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)
    running = [cell for cell in cells if cell["reason"] is None and cell["check"]]
    runs = {(cell["fabric"], cell["stack"], cell["rails"]) for cell in running}
    assert {("hdr", "openmpi", 1), ("hdr", "openmpi", 2), ("hdr", "verbs", 1)} <= runs
    assert ("hdr", "intelmpi") in {(cell["fabric"], cell["stack"]) for cell in running if cell["check"] == "Hpl"}
    for rate, code in ((24100.0, 0), (12300.0, 1)):
        output = home / "osu_bw.out"
        output.write_text(OUTPUT.format(mib=rate), encoding="utf-8")
        given = ["judge", str(output), "--system", "hdrsys", "--fabric", "hdr", "--stack", "openmpi", "--json"]
        assert main(given) == code, capsys.readouterr().out
        capsys.readouterr()


def test_a_file_that_is_there_is_left_unless_replaced(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / "systems" / "mine.yaml"
    path.write_text("system: mine\n", encoding="utf-8")
    given = ["detect", "--root", HDR, "--name", "mine", "--write"]
    assert main(given) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "railyard: systems/mine.yaml: found a file already, expected none, or --replace; --name NAME takes another "
        "name; without --write the file is printed only"
    )
    assert path.read_text(encoding="utf-8") == "system: mine\n"
    assert not (home / "references").exists()
    assert main([*given, "--replace"]) == 0
    assert "system: mine\n" in path.read_text(encoding="utf-8")


def test_what_was_read_is_kept_and_reads_back(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = home / "node.tree"
    assert main(["detect", "--root", HDR, "--record", str(kept)]) == 0
    first = capsys.readouterr().out
    assert parse_listing(kept.read_text(encoding="utf-8"), "node.tree").which("osu_bw") is not None
    assert main(["detect", "--root", str(kept)]) == 0
    assert capsys.readouterr().out == first


def test_json_says_the_same_to_programs(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "--root", HDR, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["missing"] == [
        "Spack should build benchmarks, but is not on the search path: railyard spack bootstrap fetches it"
    ]
    assert (told["format"], told["name"], told["host"], told["numa_nodes"]) == (1, "hdrsys", "node017", 2)
    assert [(fabric["name"], fabric["link"], len(fabric["rails"])) for fabric in told["fabrics"]] == [
        ("hdr", "ib-hdr", 2),
        ("eno", "eth-1", 1),
    ]
    assert told["fabrics"][0]["rails"][1]["best_slot"] == "pcie4-x16"


MISTAKES = [
    (["--root", "nowhere"], "railyard: nowhere: found nothing that can be read (No such file or directory), expected a "
     "recording, or a folder with sys/, proc/ and commands/"),
    (["--root", "systems"], "railyard: systems: found a folder without sys/, expected one with sys/, proc/ and "
     "commands/, or a recording"),
    (["--root", HDR, "--name", "a b"], 'railyard: --name: found "a b", expected letters, digits, "_", ".", ":" and '
     '"-"; choose another'),
    (["--replace"], "railyard: --replace goes with --write (see: railyard detect --help)"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(home)
    assert main(["detect", *given]) == 2
    assert capsys.readouterr().err == f"{sentence}\n"


def test_a_host_without_any_network_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = home / "bare.tree"
    tree.write_text("railyard-tree 1\n/sys/class/net/lo/\n", encoding="utf-8")
    assert main(["detect", "--root", str(tree)]) == 2
    assert capsys.readouterr().err == (
        "railyard: detect: found no network port with a link, expected at least one interface besides lo; run it on a "
        "node, inside a job\n"
    )


def test_in_a_job_that_finds_no_command_of_its_scheduler_the_file_says_so(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LSB_JOBID", "7")
    monkeypatch.setattr("railyard.cli.commands.detect.SEARCH_PATH", "/usr/bin/none")
    assert main(["detect", "--name", "there"]) == 0
    said = capsys.readouterr()
    why = "this is a job of LSF (LSB_JOBID is set), and bqueues is not on PATH here"
    assert f"look at: {why}" in said.err
    assert f"# MISSING: {why}" in said.out and "(inside a job of LSF)" in said.out


def test_this_machine_itself_gives_an_answer(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["detect", "--json"])
    answer = capsys.readouterr()
    assert json.loads(answer.out)["host"] == os.uname().nodename
    # A build machine may have no network but lo.
    assert code == 0 or answer.err.endswith("inside a job\n")
