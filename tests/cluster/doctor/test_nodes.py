"""`railyard doctor --nodes` under a made srun: each node's file is read, and what is missing is named."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired

import pytest

from railyard.base.errors import SetupError
from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.cluster.doctor import ask_nodes
from railyard.cluster.doctor.ask_nodes import Answer
from railyard.job import node_files
from railyard.site.systems.load import load_system
from tests.cluster.doctor.conftest import SYSTEMS
from tests.made.systems import ETH_ANYWHERE
from tests.patience import wait_for

#: Starts the command for each node of $NODES, with a /proc that has its name; what a node is to do stands in $BED/NODE.
SRUN = """\
#!/bin/sh
printf '%s\\n' "$@" >"$BED/words"
while :; do case $1 in -*) shift ;; *) break ;; esac; done
rank=0 code=0
for node in $NODES; do
    mkdir -p "$BED/proc/$node/sys/kernel"
    echo "$node" >"$BED/proc/$node/sys/kernel/hostname"
    case $(cat "$BED/$node" 2>/dev/null) in
        gone) code=1 ;;
        killed) code=1; echo 'railyard-file 1 cut' >"$5/$node.$rank.part" ;;
        *) RAILYARD_PROC=$BED/proc/$node SLURMD_NODENAME=$node SLURM_PROCID=$rank SLURM_STEP_NODELIST="n[1-4]" "$@" ;;
    esac
    rank=$((rank + 1))
done
[ ! -e "$BED/hangs" ] || exec sleep 600
exit $code
"""


@dataclass(frozen=True)
class Bed:
    """A folder in which a file of a node's name says what it is to do, and the site beside it."""

    folder: Path
    home: Path

    def ask_system(self, count: int | None = 4, file: str = "") -> Answer:
        """Ask nodes of a system of Slurm's, of which ``file`` says which nodes it has."""
        path = self.home / "systems/hdr.yaml"
        nodes = "nodes: {count: 8}"
        path.write_text(SYSTEMS["hdr"].replace(nodes, file or nodes), encoding="utf-8")
        return ask_nodes.ask_nodes(self.home, load_system(path), count, lambda sentence: None)


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    folder = tmp_path / "bin"
    folder.mkdir()
    (tmp_path / "systems").mkdir()
    (folder / "srun").write_text(SRUN, encoding="utf-8")
    (folder / "srun").chmod(0o755)
    for name, value in {"PATH": f"{folder}:{os.environ['PATH']}", "BED": str(folder), "NODES": "n1 n2 n3 n4"}.items():
        monkeypatch.setenv(name, value)
    return Bed(folder, tmp_path)


def silent_lines(answer: Answer) -> list[str]:
    return [f"{one.weight}: {one.sentence}" for one in answer.silent]


def names(answer: Answer) -> list[str]:
    return [node.name for node in answer.nodes]


def test_all_answers_are_read_and_nothing_stays(bed: Bed) -> None:
    answer = bed.ask_system()
    assert (names(answer), silent_lines(answer)) == (["n1", "n2", "n3", "n4"], [])
    assert all(node.whole for node in answer.nodes)
    assert list((bed.home / ".railyard/answers").iterdir()) == []
    words = (bed.folder / "words").read_text(encoding="utf-8").splitlines()
    assert {"--nodes=4", "--ntasks-per-node=1", "--partition=batch"} <= set(words)


def test_a_node_without_an_answer_is_named_though_the_scheduler_chose_it(bed: Bed) -> None:
    (bed.folder / "n3").write_text("gone")
    answer = bed.ask_system()
    assert names(answer) == ["n1", "n2", "n4"]
    assert silent_lines(answer) == [
        "problem: n3: it did not answer; check whether it is up, and whether a job starts there"
    ]


def test_a_node_whose_answer_is_cut_is_named_with_its_file_which_stays(bed: Bed) -> None:
    (bed.folder / "n2").write_text("killed")
    answer = bed.ask_system(None, "nodes: {names: [n1, n2, n3, n4]}")
    (kept,) = (bed.home / ".railyard/answers").iterdir()
    assert silent_lines(answer) == [
        f"problem: n2: it began to answer and did not finish ({kept}/n2.1.part: 20 bytes); check what hangs there: its "
        "step was ended, or its file system is full"
    ]
    assert answer.expected == ("n1", "n3", "n4")  # it is said once


def test_one_node_that_hangs_does_not_hide_what_the_others_said(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    (bed.folder / "hangs").write_text("")
    (bed.folder / "n4").write_text("gone")

    def run(words: list[str]) -> tuple[int, str, str]:
        """End the step once three nodes have answered: its limit is two minutes."""
        with Popen(words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL) as running:
            wait_for(lambda: len(list(bed.home.glob(".railyard/answers/*/*.out"))) == 3, "three answers")
            running.kill()
        raise TimeoutExpired(words, 120)

    monkeypatch.setattr(ask_nodes, "_run", run)
    answer = bed.ask_system()
    assert names(answer) == ["n1", "n2", "n3"]
    assert silent_lines(answer) == [
        "problem: n4: it did not answer; check whether it is up, and whether a job starts there",
        "problem: the step: it did not end within 120 s and was stopped; answers written by then are judged; find "
        "the node that hangs: it is named here, or squeue shows it",
    ]


def test_nodes_that_do_not_see_the_folder_answer_the_old_way_which_is_said(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare_elsewhere(folder: Path, tag: str, count: int) -> node_files.AnswerFolder:
        asking = prepared(folder, tag, count)
        (folder / "asked").write_text("another\n1\n", encoding="utf-8")
        return asking

    prepared = node_files.prepare_folder
    monkeypatch.setattr(node_files, "prepare_folder", prepare_elsewhere)
    answer = bed.ask_system()
    assert names(answer) == ["n1", "n2", "n3", "n4"]
    assert silent_lines(answer) == [
        f"remark: n1, n2, n3, n4: each does not see {bed.home}/.railyard/answers, and answered through srun; put the "
        "site's folder on a file system that nodes and this host share: srun is slow for many nodes"
    ]


def test_a_refused_step_is_the_sentence_that_it_was(bed: Bed) -> None:
    (bed.folder / "srun").write_text("#!/bin/sh\necho 'srun: error: Invalid account' >&2\nexit 1\n", encoding="utf-8")
    with pytest.raises(SetupError) as raised:
        bed.ask_system()
    assert str(raised.value) == (
        "doctor: found no answer of any node, expected 4; srun said: srun: error: Invalid account"
    )
    assert list((bed.home / ".railyard/answers").iterdir()) == []


def test_a_folder_of_answers_is_judged_as_one_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, healthy_block: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems/eth.yaml").write_text(ETH_ANYWHERE, encoding="utf-8")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    asking = node_files.prepare_folder(tmp_path / "said", "today", 3)
    for rank, node in enumerate(("e1", "e2")):
        above = f"railyard-file 1 today {node} {rank} - -\n{healthy_block('eth', node, rank + 1)}\n"
        end = "" if node == "e2" else f"railyard-file end 0 {len(above.encode())}\n"
        (asking.folder / f"{node}.{rank}.out").write_text(above + end, encoding="utf-8")
    assert main(["doctor", "--system", "eth", "--from", str(asking.folder)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith(f"problem: e2: its answer {asking.folder}/e2.1.out is incomplete: found ")
    assert out[-1] == "looked at this host and 1 node: 1 problem, 0 remarks"
