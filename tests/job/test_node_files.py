"""Files that nodes write their answers to: what the script leaves, what is read of it, and what is waited for."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.job import node_files
from railyard.job.node_files import (
    AnswerFolder,
    GatheredAnswers,
    NodeFile,
    ask_nodes,
    by_launcher,
    gather,
    parse,
    prepare_folder,
    read_folder,
)

TAG = "20261124T040000-7"


def ask_node(asking: AnswerFolder, node: str, rank: int | None, command: str, **variables: str) -> str:
    """Have a node answer as a launcher would start it; return what went to the launcher."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    env |= {"SLURMD_NODENAME": node, **({} if rank is None else {"SLURM_PROCID": str(rank)}), **variables}
    done = subprocess.run(
        asking.words(["sh", "-c", command]), env=env, check=False, text=True, stdout=subprocess.PIPE
    )  # fmt: skip
    return f"{done.stdout}{done.returncode}"


@pytest.fixture
def answer_folder(tmp_path: Path) -> AnswerFolder:
    """Two nodes' folder."""
    return prepare_folder(tmp_path / "answers", TAG, 2)


def whole_file(text: str = "hello\n", node: str = "n1", rank: int = 0, nodes: str = "-", tag: str = TAG) -> bytes:
    """Return a file as the script writes it."""
    above = f"railyard-file 1 {tag} {node} {rank} 2 {nodes}\n{text}\n".encode()
    return above + f"railyard-file end 0 {len(above)}\n".encode()


def text(file: NodeFile) -> str:
    return file.text


def test_each_node_leaves_a_file_with_what_its_command_printed_and_how_it_ended(answer_folder: AnswerFolder) -> None:
    assert ask_node(answer_folder, "n1", 0, "printf 'one\\n\\ntwo'; exit 3", SLURM_STEP_NODELIST="n[1-2]") == "0"
    assert ask_node(answer_folder, "n2", 1, "echo well", SLURM_STEP_NUM_TASKS="2") == "0"
    assert sorted(path.name for path in answer_folder.folder.iterdir()) == ["asked", "n1.0.out", "n2.1.out"]
    found = gather(answer_folder, lambda file: file, ended_well=True)
    assert found.faults == ()
    assert found.values == (NodeFile("n1", 3, "one\n\ntwo", 0, ("n1", "n2")), NodeFile("n2", 0, "well\n", 1))


def test_a_file_is_what_the_script_leaves(answer_folder: AnswerFolder) -> None:
    ask_node(answer_folder, "n1", 0, "echo hello", SLURM_STEP_NUM_TASKS="2")
    assert (answer_folder.folder / "n1.0.out").read_bytes() == whole_file()


@pytest.mark.parametrize(("count", "folders"), [(1, 0), (512, 0), (513, 3), (5120, 20)])
def test_the_files_of_many_nodes_lie_in_folders_of_some_hundreds(count: int, folders: int) -> None:
    assert AnswerFolder(Path(), TAG, count).folders == folders


def test_the_rank_says_which_folder(tmp_path: Path) -> None:
    many = prepare_folder(tmp_path / "answers", TAG, 600)
    for rank in (0, 1, 3, 599):
        ask_node(many, f"n{rank}", rank, "echo hello")
    there = sorted(str(path.relative_to(many.folder)) for path in many.folder.glob("*/*"))
    assert there == ["0/n0.0.out", "0/n3.3.out", "1/n1.1.out", "2/n599.599.out"]
    assert [node for node, _ in read_folder(many.folder, text).answers] == ["n0", "n1", "n3", "n599"]


def test_two_nodes_of_one_name_and_one_without_a_rank_have_a_file_each(answer_folder: AnswerFolder) -> None:
    for rank in (0, 1, None):
        ask_node(answer_folder, "n1", rank, f"echo {rank}")
    found = read_folder(answer_folder.folder, text)
    assert found.answers == (("n1", "0\n"), ("n1", "1\n"), ("n1", "None\n"))


@pytest.mark.parametrize("how", ["gone", "of another", "closed"])
def test_a_node_that_cannot_write_there_answers_through_the_launcher_and_says_so(tmp_path: Path, how: str) -> None:
    many = prepare_folder(tmp_path / "answers", TAG, 600)
    if how == "gone":
        (many.folder / "asked").unlink()
    elif how == "of another":
        (many.folder / "asked").write_text("20261124T035959-7\n600\n")
    else:
        (many.folder / "0").rmdir()
        (many.folder / "0").write_text("no folder")
    said = ask_node(many, "n1", 0, "echo hello; exit 3")
    assert said == f"railyard-file none n1 {'closed' if how == 'closed' else 'unseen'}\nhello\n3"
    assert by_launcher(said) == {"n1": "closed" if how == "closed" else "unseen"}


def test_a_command_that_was_killed_leaves_a_file_that_has_begun(answer_folder: AnswerFolder) -> None:
    ask_node(answer_folder, "n1", 0, "echo some; kill -9 $PPID")
    (fault,) = gather(answer_folder, text, ended_well=False, elsewhere=["n2"]).faults
    part = answer_folder.folder / "n1.0.part"
    assert (fault.node, fault.kind) == ("n1", "began")
    assert fault.what == f"it began to answer and did not finish ({part}: {part.stat().st_size} bytes)"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "found an empty file"),
        (b"hello\n", "found 6 bytes without the first line of an answer"),
        (whole_file()[:-1], "found 72 bytes without an end: it was cut"),
        (whole_file(tag="other"), f"found the tag other, expected {TAG}: it belongs to another question"),
        (
            whole_file().replace(b"file 1", b"file 2", 1),
            "found format 2, expected 1: script and library are of different versions",
        ),
        (whole_file().replace(b"hello", b"hell"), "found 49 bytes before its end, expected 50: a part is lost"),
        (whole_file().replace(b"ello", b"\0\0\0\0"), "found NUL bytes: a part of it was never written"),
    ],
)
def test_a_file_that_is_not_whole_is_said_to_be_so(tmp_path: Path, content: bytes, said: str) -> None:
    assert parse(content, TAG) == said
    folder = prepare_folder(tmp_path / "answers", TAG, 2).folder
    (folder / "n1.0.out").write_bytes(content)
    (fault,) = read_folder(folder, text).faults
    assert (fault.node, fault.kind) == ("n1", "cut")
    assert fault.what == f"its answer {folder}/n1.0.out is incomplete: {said}"


def test_a_file_that_is_cut_anywhere_is_no_answer() -> None:
    content = whole_file("railyard-file end 0 3\nhello\n")
    assert isinstance(parse(content, TAG), NodeFile)
    assert all(isinstance(parse(content[:end], TAG), str) for end in range(len(content)))


def test_an_answer_without_end_is_read_no_further_than_its_bound(
    answer_folder: AnswerFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_files, "MOST_BYTES", 40)
    (answer_folder.folder / "n1.0.out").write_bytes(whole_file())
    (fault,) = read_folder(answer_folder.folder, text).faults
    assert fault.what.endswith("is incomplete: found more than 0 MiB")


def test_a_node_of_the_steps_own_list_that_left_nothing_is_silent(tmp_path: Path) -> None:
    three = prepare_folder(tmp_path / "answers", TAG, 3)
    (three.folder / "n1.0.out").write_bytes(whole_file(nodes="n[1-3]"))
    found = gather(three, text, ended_well=False, elsewhere=["N2.cluster"])
    assert [(fault.node, fault.kind, fault.what) for fault in found.faults] == [("n3", "silent", "it did not answer")]
    assert found.faults[0].fix == "check whether it is up, and whether a job starts there"


def slept(monkeypatch: pytest.MonkeyPatch, then: Callable[[int], None]) -> list[float]:
    """Have time pass only where it is waited, and something happen meanwhile; return how long was waited each time."""
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        then(len(waited))

    monkeypatch.setattr("railyard.job.node_files.time.sleep", sleep)
    monkeypatch.setattr("railyard.job.node_files.time.monotonic", lambda: sum(waited))
    return waited


def test_a_file_that_a_file_server_shows_late_is_waited_for(
    answer_folder: AnswerFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def appear(looks: int) -> None:
        if looks == 3:
            (answer_folder.folder / "n2.1.out").write_bytes(whole_file("late\n", "n2", 1))

    waited = slept(monkeypatch, appear)
    (answer_folder.folder / "n1.0.out").write_bytes(whole_file())
    found = gather(answer_folder, text, ended_well=True)
    assert (found.answers, len(waited)) == ((("n1", "hello\n"), ("n2", "late\n")), 3)


def test_a_file_that_is_cut_is_read_again_while_there_is_time(
    answer_folder: AnswerFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = answer_folder.folder / "n1.0.out"

    def mend(looks: int) -> None:
        file.write_bytes(whole_file())

    slept(monkeypatch, mend)
    file.write_bytes(whole_file()[:30])
    assert gather(answer_folder, text, ended_well=True, elsewhere=["n2"]) == GatheredAnswers(
        (("n1", "hello\n"),), (), 2
    )


def test_how_long_is_waited_depends_on_how_the_launch_ended(
    answer_folder: AnswerFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = slept(monkeypatch, lambda looks: None)
    assert gather(answer_folder, text, ended_well=False) == GatheredAnswers((), (), 2)
    assert waited == []  # nothing was started
    (answer_folder.folder / "n1.0.out").write_bytes(whole_file())
    gather(answer_folder, text, ended_well=False)
    assert 1 <= sum(waited) < 1.5
    waited.clear()
    gather(answer_folder, text, ended_well=True)
    assert 60 <= sum(waited) < 61
    waited.clear()
    (answer_folder.folder / "n2.1.out").write_bytes(whole_file(node="n2", rank=1))
    gather(answer_folder, text, ended_well=True)
    assert waited == []
    assert sorted(path.name for path in answer_folder.folder.iterdir()) == ["asked", "n1.0.out", "n2.1.out"]


def test_the_folder_of_an_asking_goes_unless_it_is_kept_and_then_after_a_day(tmp_path: Path) -> None:
    with ask_nodes(tmp_path / "answers", 2) as gone:
        assert (gone.folder / "asked").read_text() == f"{gone.tag}\n2\n"
    with ask_nodes(tmp_path / "answers", 2) as stays:
        node_files.keep(stays)
    assert list((tmp_path / "answers").iterdir()) == [stays.folder]
    long_ago = stays.folder.stat().st_mtime - 90_000
    os.utime(stays.folder, (long_ago, long_ago))
    with ask_nodes(tmp_path / "answers", 2):
        assert not stays.folder.exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(node_files.Unwritable), ask_nodes(tmp_path / "file", 2):
        raise AssertionError("not reached")
