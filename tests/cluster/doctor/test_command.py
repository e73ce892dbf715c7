"""`railyard doctor` on the command line: what it prints and its exit code, from what nodes printed."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.base.errors import problem
from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from tests.made.systems import ETH_ANYWHERE


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "eth.yaml").write_text(ETH_ANYWHERE, encoding="utf-8")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    return tmp_path


def test_a_host_that_is_well_exits_with_0(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--system", "eth"]) == 0
    assert capsys.readouterr() == ("looked at this host: 0 problems, 0 remarks\n", "")


def test_what_nodes_printed_is_judged(
    home: Path, healthy_block: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    kept = home / "said.txt"
    well = healthy_block("eth", "e1", 1) + healthy_block("eth", "e2", 2)
    kept.write_text(well, encoding="utf-8")
    assert main(["doctor", "--system", "eth", "--from", str(kept)]) == 0
    assert capsys.readouterr().out == "looked at this host and 2 nodes: 0 problems, 0 remarks\n"

    ill = well.replace("e2 422 device eth2 carrier 1", "e2 422 device eth2 carrier 0")
    kept.write_text(ill.replace("governor performance", "governor powersave"), encoding="utf-8")
    assert main(["doctor", "--system", "eth", "--from", str(kept)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "problem: e2 eth2: it has no carrier; check its cable, and the switch port at the other end",
        "remark: e1, e2: the processors' frequency governor is powersave; cpupower frequency-set -g performance: "
        "small-message latency and message rate rise with the clock",
        "looked at this host and 2 nodes: 1 problem, 1 remark",
    ]


def test_json_holds_the_same(home: Path, healthy_block: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    kept = home / "said.txt"
    kept.write_text(healthy_block("eth").replace("eth1 there net", "eth1 there no"), encoding="utf-8")
    assert main(["doctor", "--system", "eth", "--from", str(kept), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["format"], told["nodes"], len(told["findings"])) == (1, 1, 1)
    assert told["findings"][0] == {
        "weight": "problem",
        "where": "n1 eth1",
        "what": "there is no such device",
        "fix": "correct the rail in the system's file (railyard detect on a node prints its devices), or the node",
    }


def test_a_file_of_the_system_that_is_wrong_is_a_mistake(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / "systems" / "eth.yaml"
    path.write_text(ETH_ANYWHERE.replace("kind: tcp", "kind: tpc"), encoding="utf-8")
    assert main(["doctor", "--system", "eth"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("railyard: systems/eth.yaml:8: fabrics.eth.kind: found ")


def test_a_system_that_is_not_there_is_a_mistake(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--system", "ethh"]) == 2
    assert capsys.readouterr() == (
        "",
        'railyard: systems/: found no system "ethh", expected a system of that name; did you mean "eth"?\n',
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--count", "2"], "railyard: --count goes with --nodes and --job (see: railyard doctor --help)\n"),
        (
            ["--nodes", "--from", "x"],
            "railyard: --from replaces --nodes: give one of them (see: railyard doctor --help)\n",
        ),
        (
            ["--from", "nowhere"],
            "railyard: nowhere: found nothing that can be read (No such file or directory), expected what doctor.sh "
            "printed on the nodes\n",
        ),
        (
            ["--from", "systems/eth.yaml"],
            "railyard: doctor: found no line of doctor.sh, expected one block per node; keep all that it printed on "
            "standard output\n",
        ),
    ],
)
def test_a_mistake_is_one_sentence(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(home)
    assert main(["doctor", "--system", "eth", *given]) == 2
    assert capsys.readouterr().err == sentence


def test_a_scheduler_that_no_step_is_started_under_gets_the_command_to_type(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--system", "eth", "--nodes"]) == 2
    script = home / ".railyard" / "doctor.sh"
    assert script.is_file()
    assert capsys.readouterr().err == (
        "railyard: doctor: Railyard starts no step with the scheduler local; inside your own job, run on every node, "
        f"one process each, `sh {script} eth1,eth2`, keep what all print in one file, and then: railyard doctor "
        "--system eth --from FILE\n"
    )


def test_of_very_many_nodes_the_command_to_type_writes_a_file_a_node(
    home: Path, healthy_block: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "systems" / "eth.yaml"
    path.write_text(ETH_ANYWHERE.replace("count: 4", "count: 600"), encoding="utf-8")
    assert main(["doctor", "--system", "eth", "--nodes"]) == 2
    state = home / ".railyard"
    answers = state / "doctor-nodes"
    said = capsys.readouterr().err
    command = f"sh {state}/node_files.sh {answers} by-hand 3 -- sh {state}/doctor.sh eth1,eth2"
    assert said.endswith(f"`{command}`, and then: railyard doctor --system eth --from {answers}\n")
    (state / "doctor.sh").write_text(f"cat <<'END'\n{healthy_block('eth', 'e1', 1)}END\n", encoding="utf-8")
    subprocess.run(command, shell=True, check=True, env={**os.environ, "SLURMD_NODENAME": "e1", "SLURM_PROCID": "4"})
    assert (answers / "1/e1.4.out").is_file()
    assert main(["doctor", "--system", "eth", "--from", str(answers)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == (
        "problem: nodes: 1 of 600 nodes answered; see what the step printed, and which nodes the scheduler gave"
    )


def test_a_job_of_its_own_is_said_to_have_been_looked_at(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = problem("job on eth", "sbatch refused it: Invalid account", "see jobs in the system's file")
    monkeypatch.setattr("railyard.cluster.doctor.ask_nodes.findings", lambda site, count, before: (refused,))
    assert main(["doctor", "--system", "eth", "--job"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "problem: job on eth: sbatch refused it: Invalid account; see jobs in the system's file",
        "looked at this host and a job of its own: 1 problem, 0 remarks",
    ]
