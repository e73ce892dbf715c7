"""Before a run Spack is got where there is none, compilers are asked for, and what is not built is built, once."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.provision.spack import bootstrap, program
from railyard.provision.spack.bootstrap import Getting, prepare
from railyard.provision.spack.request import ready
from railyard.site.references.load import references_of
from railyard.site.site import Site
from railyard.site.systems.load import load_system
from tests.made import spack_site, spack_sources
from tests.made.spack_site import MadeSite

STACKS = ("openmpi", "mpich")
COLD = ["--version", "concretize", "install", "find"]
ALLOWED = Getting(allowed=True)


def site_of(made: MadeSite) -> Site:
    system = load_system(made.home / "systems/made.yaml")
    return Site(made.home, system, references_of(made.home / "references", system))


def prepare_stacks(made: MadeSite, getting: Getting = ALLOWED) -> tuple[dict[str, str], list[str]]:
    said: list[str] = []
    why = prepare(site_of(made), STACKS, said.append, getting)
    return why, spack_site.timeless(said)


def refusal_of(made: MadeSite, getting: Getting = ALLOWED) -> str:
    with pytest.raises(RailyardError) as error:
        prepare_stacks(made, getting)
    return str(error.value)


def test_every_stack_is_built_and_only_our_own_lines_are_said(site: MadeSite) -> None:
    why, said = prepare_stacks(site, Getting())
    assert why == {}
    assert said[0] == "spack: building the benchmarks of openmpi and mpich, once: later runs do not call Spack"
    assert [line for line in said if " built in " in line] == [
        "spack: openmpi for made built in 0 s",
        "spack: mpich for made built in 0 s",
    ]
    assert {line.partition(" ")[0] for line in said} == {"spack:"}
    assert site.commands == ["--version", *COLD, *COLD]
    assert ready(site.request()) is not None and ready(site.request("mpich", ("imb",))) is not None


def test_what_is_built_needs_no_spack_and_says_nothing(site: MadeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_stacks(site)
    site.forget_calls()
    monkeypatch.setenv("PATH", "")
    assert prepare_stacks(site, Getting()) == ({}, [])
    assert site.calls == []


# --- Spack itself


@pytest.fixture
def pinned_sources(site: MadeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> spack_sources.MadeSources:
    """A folder to get Spack from, whose Spack is the fake; the official places are nowhere."""
    words = (site.bin / "spack").read_text(encoding="utf-8").splitlines()[1]
    made = spack_sources.make(tmp_path / "carried", program=words)
    spack_sources.pin(monkeypatch, made, str(tmp_path / "nowhere"))
    monkeypatch.setenv(program.PYTHON_VARIABLE, "/usr/bin/python3")
    return made


def without_spack(site: MadeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    (site.bin / "spack").unlink()
    monkeypatch.setenv("PATH", f"{site.bin}:/usr/bin:/bin")


def test_where_there_is_none_it_is_got_and_used(
    site: MadeSite, pinned_sources: spack_sources.MadeSources, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_spack(site, monkeypatch)
    why, said = prepare_stacks(site, Getting(allowed=True, place=str(pinned_sources.folder)))
    assert why == {}
    own = program.own_folder(site.home)
    assert said[0] == f"spack: getting into {own}, once (19 MB to fetch, 133 MB on disk):"
    assert said[-1] == "spack: mpich for made built in 0 s"
    assert site.commands == COLD * 2
    # The second time nothing is got and nothing is built, wherever the folder has gone.
    pinned_sources.folder.rename(pinned_sources.folder.with_name("gone"))
    assert prepare_stacks(site, Getting(allowed=True, place=str(pinned_sources.folder))) == ({}, [])


def test_where_there_is_none_and_none_may_be_got(site: MadeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    without_spack(site, monkeypatch)
    assert refusal_of(site, Getting()) == (
        f"spack: found none in {site.home}/.railyard/spack-itself and none on PATH, expected Spack 1.1 or newer; type: "
        "railyard spack bootstrap"
    )


def test_where_the_official_place_cannot_be_reached(
    site: MadeSite, pinned_sources: spack_sources.MadeSources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_spack(site, monkeypatch)
    sentence = refusal_of(site)
    assert sentence.startswith(f"Spack 1.2.0.dev0 cannot be fetched from {tmp_path}/nowhere/spack: ")
    assert sentence.endswith("(docs/howto/spack.md, An air-gapped site)") and "\n" not in sentence


def test_one_on_path_that_is_too_old_is_left_there_and_one_is_got(
    site: MadeSite, pinned_sources: spack_sources.MadeSources
) -> None:
    spack_site.program(site.bin / "spack", "echo 0.23.1")
    assert refusal_of(site, Getting()).startswith(f"{site.bin}/spack: found Spack 0.23.1, expected 1.1 or newer")
    why, said = prepare_stacks(site, Getting(allowed=True, place=str(pinned_sources.folder)))
    assert why == {}
    assert said[0] == (
        f"spack: {site.bin}/spack: found Spack 0.23.1, expected 1.1 or newer (package API v2): this site gets a Spack "
        "of its own"
    )


# --- what fails


def test_a_build_that_fails_leaves_the_other_stack_its_own(site: MadeSite) -> None:
    conflict = "==> Error: No version exists that satisfies these input specs:\n    netpipe@5\n"
    site.behave(fail_for={"openmpi": {"concretize": conflict}})
    why, said = prepare_stacks(site)
    assert list(why) == ["openmpi"]
    assert "nothing satisfies all that is asked for: No version exists" in why["openmpi"]
    assert said[-1] == "spack: mpich for made built in 0 s"


def test_what_would_fail_every_build_is_said_once(site: MadeSite) -> None:
    site.behave(fail={"install": "==> Error: OSError: [Errno 28] No space left on device\n"})
    assert "no space left on device" in refusal_of(site)
    assert site.commands.count("install") == 1


def test_a_compiler_that_is_missing_is_said_before_anything_is_built(
    site: MadeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(site.bin))
    monkeypatch.setattr("railyard.provision.spack.bootstrap.C_COMPILERS", ("no-such-cc",))
    spack_site.program(site.bin / "spack", "echo 1.2.0")
    why, _ = prepare_stacks(site)
    assert {text.partition(",")[0] for text in why.values()} == {"compiler: found none of no-such-cc on PATH"}
    assert site.calls == []


def test_what_changed_after_the_build_is_said_and_not_built_over(site: MadeSite) -> None:
    prepare_stacks(site)
    imb = next((site.home / ".railyard/spack/opt").glob("intel*/bin/IMB-MPI1"))
    imb.unlink()
    site.forget_calls()
    why, _ = prepare_stacks(site)
    assert {text.partition("; ")[0] for text in why.values()} == {f"{imb}: no such file or directory"}
    assert site.calls == []


# --- where it is built


def test_on_compute_nodes_a_job_builds(site: MadeSite) -> None:
    site.edit("systems/made.yaml", "stacks:\n", "spack: {build_on: compute}\nstacks:\n")
    assert prepare_stacks(site, Getting()) == ({}, [])
    assert site.commands == ["--version"]


@pytest.mark.parametrize(("provider", "held"), [("host", [True]), ("testbed", [True]), ("nodes", [])])
def test_nothing_compiles_beside_a_measurement_of_this_host(
    site: MadeSite, provider: str, held: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[bool] = []

    @contextlib.contextmanager
    def lock(say: Any, home: Path, *, shared: bool) -> Iterator[None]:
        taken.append(shared)
        yield

    monkeypatch.setattr(bootstrap, "measurement_lock", lock)
    there = site_of(site)
    there = replace(there, system=there.system.model_copy(update={"provider": provider}))
    prepare(there, STACKS, lambda line: None, Getting())
    assert taken == held
    prepare(there, STACKS, lambda line: None, Getting())
    assert taken == held  # nothing to build: nothing to wait for
