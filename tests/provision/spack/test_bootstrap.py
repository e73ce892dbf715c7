"""Spack, its packages and its solver come as they are pinned, whole or not at all, from a folder as well."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from railyard.base.errors import SetupError
from railyard.provision.spack import bootstrap, program
from railyard.provision.spack.bootstrap import Origin, origin
from tests.made import spack_site, spack_sources
from tests.made.spack_sources import MadeSources, git
from tests.made.wheels import lock_line, make_wheel

AIR_GAPPED = (
    "without a network, fill a folder elsewhere (railyard spack bootstrap --to FOLDER), bring it here and type: "
    "railyard spack bootstrap --from FOLDER, or --from the URL of a mirror (docs/howto/spack.md, An air-gapped site)"
)


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeSources:
    """Two small repositories; the official places are nowhere, and the user names a Python with a solver."""
    made = spack_sources.make(tmp_path / "carried")
    spack_sources.pin(monkeypatch, made, str(tmp_path / "nowhere"))
    monkeypatch.setenv(program.PYTHON_VARIABLE, "/usr/bin/python3")
    return made


def get(to: Path, from_: Origin | None = None) -> list[str]:
    said: list[str] = []
    bootstrap.bootstrap(to, said.append, from_)
    return [line.removesuffix(" (0 s)") for line in spack_site.timeless(said)]


def refusal_of(to: Path, from_: Origin | None = None) -> str:
    with pytest.raises(SetupError) as error:
        get(to, from_)
    return str(error.value)


def test_what_is_got_is_said_first_and_is_there_the_second_time(tmp_path: Path, sources: MadeSources) -> None:
    to = tmp_path / "to"
    assert get(to, origin(str(sources.folder))) == [
        f"spack: getting into {to}, once (19 MB to fetch, 133 MB on disk):",
        f"spack:   Spack 1.2.0.dev0 (commit {sources.spack_commit[:10]}) from {sources.spack}",
        f"spack:   spack-packages v2026.06.0 (commit {sources.packages_commit[:10]}) from {sources.packages}",
        f"spack: Spack 1.2.0.dev0 is in {to}/spack",
        f"spack: spack-packages v2026.06.0 is in {to}/spack-packages",
    ]
    assert subprocess.run([to / "spack/bin/spack"], capture_output=True, text=True).stdout == "pinned\n"
    repos = yaml.safe_load((to / "spack/etc/spack/repos.yaml").read_text(encoding="utf-8"))
    assert repos == {"repos": {"builtin": f"{to}/spack-packages/repos/spack_repo/builtin"}}
    assert not (to / "spack/etc/spack/mirrors.yaml").exists()
    # The second time no source is asked: the official places are nowhere.
    assert get(to) == [
        f"spack: Spack 1.2.0.dev0 is in {to}/spack already",
        f"spack: spack-packages v2026.06.0 is in {to}/spack-packages already",
    ]


def test_what_was_got_serves_as_a_folder_to_get_it_from(tmp_path: Path, sources: MadeSources) -> None:
    get(tmp_path / "carry", origin(str(sources.folder)))
    get(tmp_path / "site", origin(str(tmp_path / "carry")))
    assert git(tmp_path / "site/spack", "rev-parse", "HEAD").strip() == sources.spack_commit


def test_sources_of_benchmarks_beside_them_are_used(tmp_path: Path, sources: MadeSources) -> None:
    (sources.folder / "sources").mkdir()
    said = get(tmp_path / "to", origin(str(sources.folder)))
    assert said[3] == f"spack: sources of benchmarks come from {sources.folder}/sources"
    mirrors = yaml.safe_load((tmp_path / "to/spack/etc/spack/mirrors.yaml").read_text(encoding="utf-8"))
    assert mirrors == {"mirrors": {"sources": {"url": f"file://{sources.folder}/sources", "binary": False}}}


def test_another_commit_is_replaced(tmp_path: Path, sources: MadeSources, monkeypatch: pytest.MonkeyPatch) -> None:
    to = tmp_path / "to"
    get(to, origin(str(sources.folder)))
    newer = git(sources.spack, "rev-parse", "HEAD").strip()
    spack_sources.pin(monkeypatch, MadeSources(sources.folder, newer, sources.packages_commit), "nowhere")
    assert len(get(to, origin(str(sources.folder)))) == 4
    assert subprocess.run([to / "spack/bin/spack"], capture_output=True, text=True).stdout == "newer\n"
    assert sorted(path.name for path in to.iterdir()) == ["spack", "spack-packages"]


# --- where it may come from


def test_a_folder_may_hold_bare_repositories(tmp_path: Path, sources: MadeSources) -> None:
    for name in ("spack", "spack-packages"):
        git(tmp_path, "clone", "--quiet", "--bare", str(sources.folder / name), f"bare/{name}.git")
    found = origin(str(tmp_path / "bare"))
    assert found == Origin(str(tmp_path / "bare/spack.git"), str(tmp_path / "bare/spack-packages.git"))
    assert get(tmp_path / "to", found)[-1] == f"spack: spack-packages v2026.06.0 is in {tmp_path}/to/spack-packages"
    # As the URL of a mirror.
    assert len(get(tmp_path / "too", origin(f"file://{tmp_path}/bare"))) == 5


@pytest.mark.parametrize("place", ["https://git.example.org/mirrors", "https://git.example.org/mirrors/"])
def test_below_the_url_of_a_mirror(place: str) -> None:
    below = "https://git.example.org/mirrors"
    assert origin(place) == Origin(f"{below}/spack.git", f"{below}/spack-packages.git")


def test_below_a_path_of_a_host() -> None:
    assert origin("git@git.example.org:hpc") == Origin(
        "git@git.example.org:hpc/spack.git", "git@git.example.org:hpc/spack-packages.git"
    )


@pytest.mark.parametrize(("there", "lacks"), [((), "spack and spack-packages"), (("spack",), "spack-packages")])
def test_a_folder_that_lacks_one(tmp_path: Path, there: tuple[str, ...], lacks: str) -> None:
    for name in there:
        (tmp_path / name).mkdir()
    with pytest.raises(SetupError) as error:
        origin(str(tmp_path))
    assert str(error.value) == (
        f"--from {tmp_path}: found no {lacks} in it, expected a folder that railyard spack bootstrap --to FOLDER "
        "filled, or the URL of a mirror"
    )


# --- what can go wrong


def test_a_source_that_cannot_be_reached_is_said_before_anything_is_fetched(
    tmp_path: Path, sources: MadeSources
) -> None:
    to, nowhere = tmp_path / "to", tmp_path / "nowhere"
    assert refusal_of(to, Origin(spack=str(sources.spack))) == (
        f"spack-packages v2026.06.0 cannot be fetched from {nowhere}/spack-packages: '{nowhere}/spack-packages' does "
        f"not appear to be a git repository; {AIR_GAPPED}"
    )
    assert list(to.iterdir()) == []
    # And it stands in the way of nothing: with a source that is there it goes on.
    assert len(get(to, origin(str(sources.folder)))) == 5


def test_gits_own_reason_is_not_said_twice(
    tmp_path: Path, sources: MadeSources, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "fatal: unable to access 'https://github.com/spack/spack.git/': Could not resolve host: github.com"
    spack_site.program(tmp_path / "bin/git", f'echo "{said}" >&2; exit 128')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert refusal_of(tmp_path / "to").startswith(
        f"Spack 1.2.0.dev0 cannot be fetched from {tmp_path}/nowhere/spack: could not resolve host: github.com; "
    )


def test_a_source_that_never_answers(tmp_path: Path, sources: MadeSources, monkeypatch: pytest.MonkeyPatch) -> None:
    spack_site.program(tmp_path / "bin/git", "exec sleep 600")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(bootstrap, "ANSWER_S", 1)
    assert refusal_of(tmp_path / "to") == (
        f"Spack 1.2.0.dev0 cannot be fetched from {tmp_path}/nowhere/spack: no answer within 1 s; {AIR_GAPPED}"
    )


def test_a_source_without_the_commit(tmp_path: Path, sources: MadeSources, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = "0123456789" * 4
    spack_sources.pin(monkeypatch, MadeSources(sources.folder, commit, sources.packages_commit), "nowhere")
    assert refusal_of(tmp_path / "to", origin(str(sources.folder))) == (
        f"{sources.spack}: found no commit {commit}, expected the one of Spack 1.2.0.dev0 with which Railyard was "
        f"tried; update that mirror; {AIR_GAPPED}"
    )
    assert list((tmp_path / "to").iterdir()) == []


def test_what_a_killed_fetch_left_stands_in_no_way(tmp_path: Path, sources: MadeSources) -> None:
    (tmp_path / "to/.spack.part").mkdir(parents=True)
    get(tmp_path / "to", origin(str(sources.folder)))
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == ["spack", "spack-packages"]


def test_a_folder_that_is_no_clone(tmp_path: Path, sources: MadeSources) -> None:
    (tmp_path / "to/spack").mkdir(parents=True)
    assert refusal_of(tmp_path / "to", origin(str(sources.folder))) == (
        f"{tmp_path}/to/spack: found a folder that is not a clone, expected a clone or no folder; remove it"
    )


def test_a_folder_that_cannot_be_made(tmp_path: Path, sources: MadeSources) -> None:
    (tmp_path / "file").touch()
    assert refusal_of(tmp_path / "file/to", origin(str(sources.folder))) == (
        f"{tmp_path}/file/to: not a directory, expected to put Spack there; give another folder (railyard spack "
        "bootstrap --to FOLDER)"
    )


def test_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal_of(tmp_path / "to") == (
        "git: found none on PATH, expected git to fetch Spack with; install git, or put a Spack of your own on PATH "
        "(1.1 or newer)"
    )


# --- the solver


@pytest.fixture
def solver(tmp_path: Path, sources: MadeSources, monkeypatch: pytest.MonkeyPatch) -> MadeSources:
    """The sources with a made wheel of the solver beside them, which is the pinned one."""
    held = sources.folder / "wheels"
    held.mkdir()
    wheel = make_wheel(held, "clingo", "5.8", {"clingo.py": "SOLVES = True\n"})
    lock = tmp_path / "shipped" / bootstrap.SOLVER_LOCK
    lock.parent.mkdir(parents=True)
    lock.write_text(lock_line(wheel), encoding="utf-8")
    monkeypatch.setattr(bootstrap, "find_shipped", lambda: tmp_path / "shipped")
    monkeypatch.delenv(program.PYTHON_VARIABLE)
    return sources


def test_the_solver_comes_from_the_folders_wheels_and_can_be_carried_on(tmp_path: Path, solver: MadeSources) -> None:
    to = tmp_path / "to"
    said = get(to, origin(str(solver.folder)))
    assert said[0] == f"spack: getting into {to}, once (21 MB to fetch, 141 MB on disk):"
    assert said[3] == f"spack:   its solver, clingo, from {solver.folder}/wheels"
    assert said[-1] == f"spack: its solver is in {to}/python"
    words = [str(program.solver_of(to)), "-c", "import clingo; print(clingo.SOLVES)"]
    assert subprocess.run(words, capture_output=True, text=True).stdout == "True\n"
    assert [path.name for path in (to / "wheels").iterdir()] == ["clingo-5.8-py3-none-any.whl"]
    assert len(get(to)) == 2


def test_without_a_wheel_spack_is_left_to_find_a_solver_itself(tmp_path: Path, solver: MadeSources) -> None:
    (solver.folder / "wheels/clingo-5.8-py3-none-any.whl").unlink()
    said = get(tmp_path / "to", origin(str(solver.folder)))
    assert said[-1].startswith(f"spack: no solver by pip ({tmp_path}/shipped/requirements/spack.txt: pip could not ")
    assert said[-1].endswith("): Spack will fetch its own at its first call")
    assert not (tmp_path / "to/python").exists()
    assert (tmp_path / "to" / program.REPOS).is_file()
