"""A job finds the programs that only its nodes have: one is linked; none, or two, end it with a sentence."""

import subprocess
from pathlib import Path

import pytest

from railyard.job.node_files import PROGRAMS_SCRIPT, find_line, is_only_on_nodes, link_to, script
from railyard.provision.installed_stack import LINKS


def find(folder: Path, tool: Path, *names: str, needed: bool = True) -> "subprocess.CompletedProcess[str]":
    """Run the line of a job in a folder; a last line shows whether the job goes on."""
    (folder / PROGRAMS_SCRIPT).write_text(script(), encoding="utf-8")
    lines = f"{find_line(str(tool), names, needed)}\necho on\n"
    return subprocess.run(["bash", "-c", lines], cwd=folder, capture_output=True, text=True, check=False)


def make_tool(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / "osu it's" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "osu it's" / name).touch()
    return folder / "osu it's"


def test_the_one_program_below_the_folder_is_linked(tmp_path: Path) -> None:
    tool = make_tool(tmp_path, "mpi/pt2pt/osu_bw", "mpi/pt2pt/osu_bw.c", "osu_bw.d/x")
    ran = find(tmp_path, tool, "osu_bw")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "on\n", "")
    assert (tmp_path / link_to("osu_bw")).resolve() == tool / "mpi/pt2pt/osu_bw"
    assert link_to("osu_bw") == f"./{LINKS}/osu_bw"


def test_a_program_may_have_its_name_in_another_release(tmp_path: Path) -> None:
    tool = make_tool(tmp_path, "sp-mz.C.16")
    assert find(tmp_path, tool, "sp-mz.C.x", "sp-mz.C.16").returncode == 0
    assert (tmp_path / link_to("sp-mz.C.x")).resolve() == tool / "sp-mz.C.16"


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (
            [],
            "is no folder on this node, expected one with osu_bw: correct the system's file, or mount it on the nodes",
        ),
        (["osu_latency"], "has no osu_bw below it on this node, expected it: correct the system's file"),
        (
            ["a/osu_bw", "b/osu_bw"],
            "has more than one osu_bw below it on this node, expected one: name its folder in the system's file",
        ),
    ],
)
def test_none_or_two_end_the_job(there: list[str], said: str, tmp_path: Path) -> None:
    make_tool(tmp_path, *there)
    tool = tmp_path / "osu it's"
    ran = find(tmp_path, tool, "osu_bw")
    assert (ran.returncode, ran.stdout, ran.stderr) == (66, "", f"railyard: error: {tool} {said}\n")
    optional = find(tmp_path, tool, "osu_bw", needed=False)
    assert (optional.returncode, optional.stdout, optional.stderr) == (0, "on\n", "")
    assert not (tmp_path / link_to("osu_bw")).exists()


def test_what_this_host_has_is_not_searched_by_the_job(tmp_path: Path) -> None:
    tool = make_tool(tmp_path, "osu_bw")
    assert not is_only_on_nodes(str(tool), ("osu_bw",))
    assert is_only_on_nodes(str(tmp_path / "elsewhere"), ("osu_bw",))
    assert not is_only_on_nodes(str(tmp_path / "elsewhere/osu_bw"), ("osu_bw",))  # the program itself
    assert not is_only_on_nodes(str(tmp_path / "elsewhere/xhpl"), ("",))  # a tool of one program
