"""The prefixes of the MPI stacks: complete or not there, from hashed locks; those of this clone must name their MPI."""

import fcntl
import os
import re
import stat
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError, SetupError
from railyard.cli.main import main
from railyard.provision import mpi_prefixes
from railyard.provision.mpi_prefixes import SOURCES, Source, install, library_version, prefix_of, status, why_missing
from tests.made.wheels import lock_line, make_wheel
from tests.patience import PATIENCE_S

CLONE = Path(__file__).parents[2]

# --- a site whose mpich is a wheel of two files, made here: no network ------------------------------------------------


def write_lock(home: Path, version: str, digest: str | None = None) -> None:
    """Lock a wheel `mpich` that puts a program into bin/ and a file into lib/."""
    data = f"mpich-{version}.data/data"
    files = {f"{data}/bin/mpiexec": f"#!/bin/sh\necho {version}\n", f"{data}/lib/libmpi.so.12": version}
    wheel = make_wheel(home, "mpich", version, files)
    lock = home / "requirements/stacks/mpich.txt"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text(f"--no-index\n--find-links {home}\n{lock_line(wheel, digest)}", encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "systems").mkdir()
    write_lock(tmp_path, "1.0")
    monkeypatch.setenv("RAILYARD_HOME", str(tmp_path))
    return tmp_path


def program_says(home: Path) -> str:
    return subprocess.run([home / ".stacks/mpich/bin/mpiexec"], capture_output=True, text=True, check=True).stdout


def test_a_prefix_is_made_once_and_made_anew_when_its_lock_changes(home: Path) -> None:
    said: list[str] = []
    assert why_missing(home, "mpich") == "not installed"
    assert install(home, "mpich", said.append)
    assert program_says(home) == "1.0\n"
    assert why_missing(home, "mpich") is None
    assert not install(home, "mpich", said.append)
    assert said == [f"stacks: making mpich in {home}/.stacks/mpich (MPICH, the wheel mpich)"]

    write_lock(home, "2.0")
    assert why_missing(home, "mpich") == ("made from another lock or other system files than the present ones")
    assert program_says(home) == "1.0\n"
    assert install(home, "mpich", said.append)
    assert program_says(home) == "2.0\n"
    assert [entry.name for entry in (home / ".stacks").iterdir()] == ["mpich"]


def test_other_accounts_can_read_a_prefix(home: Path) -> None:
    install(home, "mpich", lambda line: None)
    assert stat.S_IMODE(prefix_of(home, "mpich").stat().st_mode) == 0o755


def test_a_file_that_is_not_the_locks_leaves_nothing_and_says_so(home: Path) -> None:
    write_lock(home, "1.0", digest="0" * 64)
    with pytest.raises(SetupError) as caught:
        install(home, "mpich", lambda line: None)
    lock = home / "requirements/stacks/mpich.txt"
    assert str(caught.value).startswith(f"{lock}: pip could not install it: ")
    assert str(caught.value).endswith(f" -m pip download --no-deps --require-hashes --dest /tmp -r {lock}")
    assert "Got " in str(caught.value)
    assert list((home / ".stacks").iterdir()) == []


def test_a_lock_without_hashes_is_refused(home: Path) -> None:
    lock = home / "requirements/stacks/mpich.txt"
    lock.write_text(lock.read_text(encoding="utf-8").partition(" --hash")[0] + "\n", encoding="utf-8")
    with pytest.raises(SetupError):
        install(home, "mpich", lambda line: None)


def test_an_older_prefix_stays_when_the_new_one_cannot_be_made(home: Path) -> None:
    install(home, "mpich", lambda line: None)
    write_lock(home, "2.0", digest="0" * 64)
    with pytest.raises(SetupError):
        install(home, "mpich", lambda line: None)
    assert program_says(home) == "1.0\n"


def test_what_a_killed_installation_left_is_removed(home: Path) -> None:
    for name in (".mpich.partial-abc", ".mpich.old-abc", ".intelmpi.partial-abc"):
        (home / ".stacks" / name / "bin").mkdir(parents=True)
    install(home, "mpich", lambda line: None)
    assert [entry.name for entry in (home / ".stacks").iterdir()] == ["mpich"]


def test_a_folder_that_is_not_ours_is_left_alone(home: Path) -> None:
    mine = home / ".stacks/mpich/bin/mpirun"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine", encoding="utf-8")
    assert why_missing(home, "mpich") == "not made by railyard (it has no railyard-stamp)"
    with pytest.raises(SetupError) as caught:
        install(home, "mpich", lambda line: None)
    assert str(caught.value) == (
        f"{home}/.stacks/mpich: found a folder that railyard did not make (it has no railyard-stamp), expected none; "
        "remove it, or give the system's file another prefix for mpich"
    )
    assert mine.read_text(encoding="utf-8") == "mine"


def test_the_systems_own_launcher_is_called_with_the_words_of_its_row(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open MPI, called by its path, would start its daemons by the srun beside it, under another Slurm too."""
    assert SOURCES["openmpi"].call_words.keys() >= {"bin/mpirun", "bin/mpiexec"}
    own = Source("ours", "lib/libmpi.so", system_files={"bin/mpirun": "/bin/echo", "lib/libmpi.so": "/bin/true"})
    monkeypatch.setattr("railyard.provision.mpi_prefixes.SOURCES", {"openmpi": own})
    install(home, "openmpi", lambda line: None)
    assert why_missing(home, "openmpi") is None
    told = replace(own, call_words={"bin/mpirun": SOURCES["openmpi"].call_words["bin/mpirun"]})
    monkeypatch.setattr("railyard.provision.mpi_prefixes.SOURCES", {"openmpi": told})
    assert why_missing(home, "openmpi") == "made from another lock or other system files than the present ones"
    install(home, "openmpi", lambda line: None)
    called = subprocess.run([home / ".stacks/openmpi/bin/mpirun", "-np"], capture_output=True, text=True, check=True)
    assert called.stdout == "--noprefix --mca orte_launch_agent /usr/bin/orted -np\n"


def test_a_lost_library_is_seen(home: Path) -> None:
    install(home, "mpich", lambda line: None)
    (home / ".stacks/mpich/lib/libmpi.so.12").unlink()
    assert why_missing(home, "mpich") == "lib/libmpi.so.12 is missing"


def test_the_second_of_two_waits_and_finds_it_done(home: Path) -> None:
    (home / ".stacks").mkdir()
    holder = os.open(home / ".stacks", os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    waits, made = threading.Event(), []

    def say(line: str) -> None:
        if line == f"stacks: another process is making a prefix in {home}/.stacks; waiting for it":
            waits.set()

    second = threading.Thread(target=lambda: made.append(install(home, "mpich", say)))
    second.start()
    try:
        assert waits.wait(timeout=PATIENCE_S)
        assert not prefix_of(home, "mpich").exists()
    finally:
        os.close(holder)
        second.join()
    assert made == [True]


def test_no_lock_is_a_sentence(home: Path) -> None:
    lock = home / "requirements/stacks/mpich.txt"
    lock.unlink()
    (home / ".stacks/mpich").mkdir(parents=True)
    (home / ".stacks/mpich/railyard-stamp").write_text("x", encoding="utf-8")
    with pytest.raises(SetupError) as caught:
        why_missing(home, "mpich")
    assert str(caught.value) == (
        f"{lock}: cannot be read (No such file or directory), expected the lock of the stack mpich; "
        "restore it from Railyard's own copy, or install Railyard again"
    )


def test_a_stack_that_no_package_gives_is_a_sentence(home: Path) -> None:
    with pytest.raises(RailyardError) as caught:
        install(home, "intelmpy", lambda line: None)
    assert str(caught.value) == 'no package gives the stack "intelmpy"; did you mean "intelmpi"?'


def test_what_the_system_lacks_is_a_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = Source(what="x", library="lib/x", system_files={"bin/mpirun": "/nowhere/{machine}/mpirun"})
    monkeypatch.setattr(mpi_prefixes, "SOURCES", {"openmpi": lacking})
    with pytest.raises(SetupError) as caught:
        install(home, "openmpi", lambda line: None)
    machine = os.uname().machine
    assert str(caught.value) == (
        f"the stack openmpi needs /nowhere/{machine}/mpirun, which is not there; type: sh ci/needs.sh"
    )
    assert list((home / ".stacks").iterdir()) == []


def test_a_library_that_cannot_answer_is_a_sentence(home: Path) -> None:
    install(home, "mpich", lambda line: None)
    library = home / ".stacks/mpich/lib/libmpi.so.12"
    with pytest.raises(SetupError) as caught:
        library_version(library)
    assert str(caught.value) == (
        f"{library}: MPI_Get_library_version could not be called (OSError: {library}: file too short); "
        f"remove {home}/.stacks/mpich and type: railyard stacks install"
    )


def test_status_says_what_is_missing_and_exits_1(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stacks", "status", "mpich"]) == 1
    assert capsys.readouterr() == (
        f"mpich      missing: not installed  (MPICH, the wheel mpich, {home}/.stacks/mpich)\n",
        "",
    )


def test_status_as_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stacks", "status", "--json", "mpich"]) == 1
    assert capsys.readouterr().out == (
        "[\n"
        "  {\n"
        '    "stack": "mpich",\n'
        f'    "prefix": "{home}/.stacks/mpich",\n'
        '    "what": "MPICH, the wheel mpich",\n'
        '    "missing": "not installed",\n'
        '    "version": null\n'
        "  }\n"
        "]\n"
    )


# --- the prefixes of this clone, where they are -----------------------------------------------------------------------

VERSIONS = {
    "openmpi": r"Open MPI v4\.",
    "mpich": r"MPICH Version:\s+5\.0\.2\n",
    "intelmpi": r"Intel\(R\) MPI Library 2021\.18\.1 ",
}


def installed_prefix(stack: str) -> Path:
    reason = why_missing(CLONE, stack)
    if reason is not None:
        pytest.skip(f"the prefix of {stack} in this clone: {reason}; type: make stacks")
    return prefix_of(CLONE, stack)


def test_every_source_has_its_version_here() -> None:
    assert set(VERSIONS) == set(SOURCES)


@pytest.mark.parametrize("stack", SOURCES)
def test_a_stacks_library_is_that_stack_and_no_other(stack: str) -> None:
    from railyard.stacks.model import STACKS

    says = library_version(installed_prefix(stack) / SOURCES[stack].library)
    assert re.match(VERSIONS[stack], says)
    assert [name for name, entry in STACKS.items() if name in SOURCES and re.search(entry.version_pattern, says)] == [
        stack
    ]


@pytest.mark.parametrize("stack", SOURCES)
def test_status_of_an_installed_prefix(stack: str) -> None:
    installed_prefix(stack)
    found = status(CLONE, stack)
    assert found.missing is None
    assert found.version is not None and re.match(VERSIONS[stack].removesuffix(r"\n"), found.version)


@pytest.mark.parametrize("stack", ["mpich", "intelmpi"])
def test_intels_benchmark_runs_under_both(stack: str) -> None:
    prefix, imb = installed_prefix(stack), installed_prefix("intelmpi") / "bin/IMB-MPI1"
    variables = {"LD_LIBRARY_PATH": f"{prefix}/lib", "I_MPI_ROOT": str(prefix), "FI_PROVIDER_PATH": f"{prefix}/lib"}
    answer = subprocess.run(
        [prefix / "bin/mpiexec", "-n", "2", imb, "-msglog", "2:4", "-iter", "10", "PingPong"],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert [line.split()[0] for line in answer.stdout.splitlines() if re.match(r"\s+\d+\s", line)] == [
        "0",
        "4",
        "8",
        "16",
    ]


def test_openmpi_starts_the_systems_own_daemon_on_other_nodes(tmp_path: Path) -> None:
    """With a symbolic link in place of the script, it would look for <prefix>/bin/orted there, which does not exist."""
    prefix, agent, log = installed_prefix("openmpi"), tmp_path / "agent", tmp_path / "log"
    agent.write_text(f'#!/bin/sh\necho "$*" >>{log}\nexit 1\n', encoding="utf-8")
    agent.chmod(0o755)
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    answer = subprocess.run(
        [prefix / "bin/mpirun", "--mca", "plm_rsh_agent", agent, "--host", "elsewhere", "-n", "1", "true"],
        env=os.environ | allowed,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert answer.returncode != 0
    assert " /usr/bin/orted " in log.read_text(encoding="utf-8")


def test_no_prefix_remembers_where_it_was_made() -> None:
    for stack in ("mpich", "intelmpi"):
        prefix = installed_prefix(stack)
        found = subprocess.run(
            ["grep", "-rl", "--", f".{stack}.partial-", prefix], capture_output=True, text=True, check=False
        )
        assert found.stdout == ""
