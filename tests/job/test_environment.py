"""The variables with which a benchmark really ran: the script on real processes, and its result."""

import fcntl
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.job.counters import reader_script
from railyard.job.environment import (
    NAMES_FILE,
    PROGRAMS_FILE,
    RankEnvironment,
    SetVariable,
    find_unplanned,
    nodes_without_benchmark,
    parse,
    planned_variables,
    scripts,
    why_other,
)
from railyard.job.launch import Launch
from railyard.site.site import Site
from railyard.stacks.ask import variables_of_stack
from tests.made.judged_run import launch_of
from tests.patience import PATIENCE_S, wait_for

TAG = "1a2b3c4d-17"
TEXT = (
    f"railyard-environment 1 {TAG}\nnode vn1\nprogram IMB-MPI1\nset UCX_TLS tcp,self\nset UCX_NET_DEVICES hsn0\nend\n"
)


@pytest.fixture
def launch(virtual: Site) -> Launch:
    return launch_of(virtual, "mpich", ("hsn0",), nodes=("vn1", "vn2"))


def rank_environment(launch: Launch, node: str = "vn1", **changed: str | None) -> RankEnvironment:
    has = {**planned_variables(launch), **changed}
    return RankEnvironment(node, "IMB-MPI1", {name: value for name, value in has.items() if value is not None})


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    """Return the folder of a job, with the scripts in it."""
    for name, text in {"reader.sh": reader_script(), **scripts("mpich")}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "out").mkdir()
    return tmp_path


def ran(stage: Path, program: str, **variables: str) -> RankEnvironment | None:
    """Return what is found about a program that the counter reader starts and that runs until it was found."""
    (stage / "program").write_text(program)
    words = ["sh", "./reader.sh", "out", TAG, "", "", "--", "sh", "./program"]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **variables}
    with (stage / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with subprocess.Popen(words, cwd=stage, env=environment, stderr=subprocess.PIPE, text=True) as running:
            try:
                # Something may be written before, about the shell that becomes the program.
                wait_for(
                    lambda: "\nprogram flock\n" in environment_text(stage) or running.poll() is not None,
                    "its environment",
                )
            finally:
                fcntl.flock(held, fcntl.LOCK_UN)
            _, complaint = running.communicate()
    assert (complaint, running.returncode) == ("", 0)
    return parse(environment_text(stage), TAG)


def environment_text(stage: Path) -> str:
    """Return the content of the node's file, nothing if there is none."""
    return "".join(file.read_text() for file in (stage / "out").glob("*.environment"))


def test_the_environment_is_that_of_the_program_and_nothing_else_of_it_is_kept(stage: Path) -> None:
    found = ran(stage, "exec flock lock true", UCX_TLS="tcp,self", A_PASSWORD="hush", UCX_NET_DEVICES="a\nUCX_TLS=b")
    assert found is not None
    assert found.program == "flock"
    assert found.variables == {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "a UCX_TLS=b"}


@pytest.mark.parametrize("how", ["exec flock lock true", "flock lock true; true"])
def test_what_a_wrapper_sets_is_seen_whether_it_becomes_the_program_or_starts_it(stage: Path, how: str) -> None:
    found = ran(stage, f"UCX_TLS=posix; export UCX_TLS\n{how}", UCX_TLS="tcp,self")
    assert found is not None
    assert (found.program, found.variables["UCX_TLS"]) == ("flock", "posix")


def test_the_libraries_that_the_program_loaded_are_seen(stage: Path) -> None:
    libucp = stage / "other" / "libucp.so.0"
    libucp.parent.mkdir()
    shutil.copy(next(Path("/").glob("lib*/*/libdl.so.2"), Path("/lib64/libdl.so.2")), libucp)
    found = ran(stage, f"LD_PRELOAD={libucp} exec flock lock true")
    assert found is not None
    assert found.libraries == (str(libucp),)


def test_a_node_without_grep_shows_no_libraries(stage: Path) -> None:
    (stage / "grep").write_text("#!/bin/sh\nexit 127\n")
    (stage / "grep").chmod(0o755)
    found = ran(stage, "exec flock lock true", PATH=f"{stage}:/usr/sbin:/usr/bin:/sbin:/bin")
    assert found is not None
    assert found.libraries is None


@pytest.mark.parametrize(("filled_at", "said"), [(2, {"UCX_TLS": "tcp,self"}), (9, {})])
def test_a_process_that_has_no_variables_yet_is_asked_again(
    tmp_path: Path, filled_at: int, said: dict[str, str]
) -> None:
    """Between execve(2)'s steps a process has its program but no environment: on a busy machine it was read then."""
    for name, text in scripts("mpich").items():
        (tmp_path / name).write_text(text)
    process = tmp_path / "proc/42"
    process.mkdir(parents=True)
    (process / "exe").symlink_to("/usr/bin/IMB-MPI1")
    (process / "environ").write_text("")
    asked = f'echo >>asked; [ $(wc -l <asked) != {filled_at} ] || printf "A=1\\0UCX_TLS=tcp,self\\0" >proc/42/environ'
    (tmp_path / "sleep").write_text(f"#!/bin/sh\n{asked}\n")
    (tmp_path / "sleep").chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "RAILYARD_PROC": "proc"}
    subprocess.run(["sh", "environment.sh", ".", TAG, "vn1", "42"], cwd=tmp_path, env=env, check=True)
    found = parse((tmp_path / "vn1.environment").read_text(), TAG)
    assert found is not None and dict(found.variables) == said


def test_beside_what_mounts_an_image_the_programs_name_decides(stage: Path) -> None:
    """Apptainer's first child may be the one that mounts the image, as squashfuse does."""
    (stage / PROGRAMS_FILE).write_text("flock\n")
    found = ran(stage, "sleep 30 & mounts=$!\nUCX_TLS=tcp flock lock true; kill $mounts")
    assert found is not None
    assert (found.program, found.variables["UCX_TLS"]) == ("flock", "tcp")


def test_a_program_that_does_not_run_in_the_image_is_not_read(tmp_path: Path) -> None:
    for name, text in {**scripts("mpich"), PROGRAMS_FILE: "osu_bw\n"}.items():
        (tmp_path / name).write_text(text)
    process_of(tmp_path, "/usr/bin/IMB-MPI1")
    assert not (tmp_path / "vn1.environment").exists()
    process_of(tmp_path, "/opt/osu/osu_bw")
    assert (tmp_path / "vn1.environment").exists()


def test_paths_of_a_process_with_another_root_are_those_that_it_sees(tmp_path: Path) -> None:
    for name, text in scripts("mpich").items():
        (tmp_path / name).write_text(text)
    maps = "7f00 r-xp 0000 08:01 12  PLACE/opt/mpi/lib/libmpi.so.12\n7f02 r-xp 0000 08:01 13  /lib/libuct.so.0\n"
    for root, place in (("/images/root", "/images/root"), ("/", "")):
        process_of(tmp_path, "/usr/bin/IMB-MPI1", maps.replace("PLACE", place), root)
        found = parse((tmp_path / "vn1.environment").read_text(), TAG)
        assert found is not None and found.libraries == ("/lib/libuct.so.0", "/opt/mpi/lib/libmpi.so.12")


def process_of(folder: Path, program: str, maps: str = "", root: str = "/") -> None:
    """Run the script about a process 42 with this program and its maps; no time passes."""
    process = folder / "proc/42"
    process.mkdir(parents=True, exist_ok=True)
    for name, target in (("exe", program), ("root", root)):
        (process / name).unlink(missing_ok=True)
        (process / name).symlink_to(target)
    (process / "environ").write_text("UCX_TLS=tcp\0")
    (process / "maps").write_text(maps)
    (folder / "sleep").write_text("#!/bin/sh\n")
    (folder / "sleep").chmod(0o755)
    env = {"PATH": f"{folder}:/usr/bin:/bin", "RAILYARD_PROC": "proc"}
    subprocess.run(["sh", "environment.sh", ".", TAG, "vn1", "42"], cwd=folder, env=env, check=True)


def test_a_run_that_ends_at_once_is_not_held_up(stage: Path) -> None:
    # The reader of its environment waits before it: here for ever.
    (stage / "sleep").write_text("#!/bin/sh\nexec flock lock true\n")
    (stage / "sleep").chmod(0o755)
    with (stage / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = subprocess.run(
            ["sh", "./reader.sh", "out", TAG, "", "", "--", "sh", "-c", "exit 3"],
            cwd=stage, env={"PATH": f"{stage}:/usr/sbin:/usr/bin:/sbin:/bin"}, capture_output=True, timeout=PATIENCE_S,
        )  # fmt: skip
        assert done.returncode == 3
        assert environment_text(stage) == ""


def test_the_script_may_write_what_the_stack_is_told_and_what_its_table_knows(launch: Launch) -> None:
    names = scripts("mpich")[NAMES_FILE].split()
    assert set(planned_variables(launch)) <= variables_of_stack("mpich") == set(names)
    assert "UCX_IB_GID_INDEX" in names
    assert not any("PASS" in name or "TOKEN" in name for name in names)
    assert scripts("tcp")[NAMES_FILE] == ""


def test_a_file_of_another_run_or_a_cut_one_is_none() -> None:
    assert parse(TEXT, TAG) == RankEnvironment("vn1", "IMB-MPI1", {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "hsn0"})
    assert parse(TEXT, "other") is None
    assert parse(TEXT[:-5], TAG) is None
    assert parse(TEXT.replace("set ", "put "), TAG) is None
    assert parse("", TAG) is None


def test_what_was_planned_is_no_contradiction(launch: Launch) -> None:
    assert why_other([rank_environment(launch), rank_environment(launch, "vn2")], launch) is None
    assert nodes_without_benchmark([rank_environment(launch)], launch) == ("vn2",)
    assert find_unplanned([rank_environment(launch)], launch) == ()


def test_a_variable_that_differs_and_one_that_is_missing_are_named(launch: Launch) -> None:
    assert why_other(
        [rank_environment(launch), rank_environment(launch, "vn2", UCX_TLS="posix")], launch
    ) == SetVariable("UCX_TLS", "posix", "IMB-MPI1", "vn2", "tcp,self")
    assert why_other([rank_environment(launch, UCX_NET_DEVICES=None)], launch) == SetVariable(
        "UCX_NET_DEVICES", None, "IMB-MPI1", "vn1", "hsn0"
    )


def test_a_variable_that_nobody_planned_is_remarked(launch: Launch) -> None:
    assert find_unplanned(
        [rank_environment(launch, UCX_IB_GID_INDEX="3"), rank_environment(launch, "vn2", UCX_IB_GID_INDEX="3")], launch
    ) == (SetVariable("UCX_IB_GID_INDEX", "3", "IMB-MPI1", "vn1"),)


def test_what_a_check_tells_its_ranks_is_planned_in_place_of_the_stacks_own(virtual: Site) -> None:
    launch = launch_of(virtual, "mpich", ("hsn0",), nodes=("vn1", "vn2"), variables={"UCX_TLS": "self"})
    assert planned_variables(launch)["UCX_TLS"] == "self"


def test_each_rank_may_have_one_of_the_planned_rails(launch: Launch) -> None:
    settings = replace(launch.settings, rank_variable="UCX_NET_DEVICES")
    own = replace(launch, settings=settings, env={**launch.env, "UCX_NET_DEVICES": "hsn0,hsn1"})
    assert why_other([rank_environment(own, UCX_NET_DEVICES="hsn1")], own) is None
    assert why_other([rank_environment(own, UCX_NET_DEVICES="eth0")], own) is not None
