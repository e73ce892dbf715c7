"""Locks: the content of the real Spack's, how two differ, and which line a committed one no longer fits."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import InputError
from railyard.provision.spack import locks
from railyard.provision.spack.build import ensure
from railyard.provision.spack.locks import read_committed
from tests.made.spack_site import MadeSite

RECORDED = Path(__file__).parents[2] / "recordings" / "spack" / "openmpi.lock"
LOCK = "systems/spack/made/openmpi.lock"
AGAIN = "the lock is out of date; type: railyard spack lock, which shows the difference before it writes"


def test_a_real_lock() -> None:
    lock = locks.parse(RECORDED.read_text(encoding="utf-8"), "openmpi.lock")
    assert [text for text, _ in lock.roots] == [
        "osu-micro-benchmarks", "intel-mpi-benchmarks", "hpl", "netpipe", "perftest", "npb",
    ]  # fmt: skip
    assert lock.spack == "1.2.0.dev0"
    assert lock.mpi is not None
    assert (lock.mpi.short, lock.mpi.provides) == ("openmpi@4.1.4 /u7mm5bd", ("mpi",))
    npb = lock.find_spec("npb")
    assert npb is not None
    assert (npb.version, npb.target, npb.compiler, npb.external) == ("3.4.3", "x86_64_v3", "gcc@12.2.0", None)
    assert (npb.variants["implementation"], npb.variants["classes"]) == ("mpi", ["S", "W"])


def test_what_differs_is_said_a_line_a_package() -> None:
    text = RECORDED.read_text(encoding="utf-8")
    data = json.loads(text)
    old = locks.parse(text, "old")
    by_name = {node["name"]: node for node in data["concrete_specs"].values()}
    by_name["hpl"].update(version="2.2", hash="a" * 32)
    by_name["hpl"]["parameters"]["openmp"] = True
    by_name["openmpi"].update(hash="b" * 32, external={"path": "/opt/other"})
    by_name["netpipe"].update(hash="c" * 32)
    del data["concrete_specs"][next(key for key, node in data["concrete_specs"].items() if node["name"] == "perftest")]
    data["roots"] = [root for root in data["roots"] if root["spec"] != "perftest"]
    new = locks.parse(json.dumps(data), "new")
    assert old.mpi is not None
    assert locks.differences(old, old) == ()
    assert locks.differences(old, new) == (
        "~ hpl@2.3 /3bnao6a -> hpl@2.2 /aaaaaaa (openmp=False -> True)",
        "~ netpipe@3.7.2 /5gqmd7b -> netpipe@3.7.2 /ccccccc (its dependencies or its recipe)",
        f"~ openmpi@4.1.4 /u7mm5bd -> openmpi@4.1.4 /bbbbbbb (prefix {old.mpi.external} -> /opt/other)",
        "- perftest@26.04.17 /u3ahgz6",
    )
    assert locks.differences(new, old)[-1] == "+ perftest@26.04.17 /u3ahgz6"


def test_a_package_that_the_target_cannot_have_is_named() -> None:
    data = json.loads(RECORDED.read_text(encoding="utf-8"))
    by_name = {node["name"]: node for node in data["concrete_specs"].values()}
    by_name["netpipe"].update(name="opa-psm2", version="11.2.230", hash="c" * 32)
    assert locks.why_foreign(locks.parse(json.dumps(data), "a.lock")) is None
    by_name["netpipe"]["arch"]["target"] = "neoverse_v2"
    assert locks.why_foreign(locks.parse(json.dumps(data), "a.lock")) == (
        "opa-psm2@11.2.230 /ccccccc is for x86_64 only (the library of Omni-Path's cards), and the target is "
        "neoverse_v2; leave it out of the overlay (fabrics=… of libfabric or the MPI)"
    )


BROKEN = [
    ("{", "found text that is not JSON (", None),
    ("{}", "found another JSON file, expected a spack.lock", None),
    (
        '{"_meta": {"file-type": "spack-lockfile", "lockfile-version": 4}}',
        "found a lock of version 4, expected version 5 to 6",
        None,
    ),
    (
        '{"_meta": {"file-type": "spack-lockfile", "lockfile-version": 6}, "concrete_specs": {}}',
        "found a lock without 'roots', expected a spack.lock",
        None,
    ),
]


@pytest.mark.parametrize(("text", "sentence", "_"), BROKEN)
def test_a_broken_lock(text: str, sentence: str, _: None) -> None:
    with pytest.raises(InputError) as error:
        locks.parse(text, "a.lock")
    assert str(error.value).startswith(f"a.lock: {sentence}")
    assert str(error.value).endswith("; make it again: railyard spack lock")


@pytest.fixture
def lock(site: MadeSite) -> Callable[[Callable[[dict[str, Any]], None]], None]:
    """Return a function that commits the fake's lock with a change."""
    ensure(site.request(), lambda line: None)
    found = next(site.request().place.glob("*/openmpi/spack.lock")).read_text(encoding="utf-8")
    site.write(LOCK, found)
    site.forget_calls()

    def change(how: Callable[[dict[str, Any]], None]) -> None:
        data = json.loads(found)
        how({node["name"]: node for node in data["concrete_specs"].values()} | {"": data})
        site.write(LOCK, json.dumps(data))

    return change


def test_a_lock_that_fits_is_the_input(site: MadeSite, lock: Any) -> None:
    built = ensure(site.request(), lambda line: None)
    assert site.commands == ["--version", "install", "find"]
    assert site.calls[1]["words"][3:] == ["--fail-fast", "--only-concrete"]
    assert built.spack_calls == 3


def short(site: MadeSite, name: str) -> str:
    found = read_committed(site.request().sources())
    spec = found.find_spec(name) if found is not None else None
    assert spec is not None
    return spec.short


OUTDATED: list[tuple[str, Callable[[Any], None], str, str]] = [
    (
        "version", lambda specs: specs["intel-mpi-benchmarks"].update(version="2021.6"), "intel-mpi-benchmarks@2021.6",
        'found intel-mpi-benchmarks with "@2021.6", expected "@2021.7", as spack_envs/common/packages.yaml:8 asks',
    ),
    (
        "switch", lambda specs: specs["osu-micro-benchmarks"]["parameters"].update(cuda=True),
        "osu-micro-benchmarks@7.4",
        'found osu-micro-benchmarks with "cuda=True", expected "~cuda", as spack_envs/common/packages.yaml:6 asks',
    ),
    (
        "target", lambda specs: specs["osu-micro-benchmarks"]["arch"].update(target="x86_64_v2"),
        "osu-micro-benchmarks@7.4",
        'found osu-micro-benchmarks with "target=x86_64_v2", expected "x86_64_v3", as systems/spack/made.yaml:3 asks',
    ),
    (
        "mpi", lambda specs: specs["openmpi"].update(name="mpich", external=None), "mpich@4.1.4",
        'found mpich with "mpich", expected "openmpi", as spack_envs/openmpi/spack.yaml:7 asks',
    ),
    (
        "external's version", lambda specs: specs["openmpi"].update(version="4.1.2"), "openmpi@4.1.2",
        'found openmpi with "@4.1.2", expected "@4.1.4", as systems/spack/made.yaml:7 asks',
    ),
    (
        "external's prefix", lambda specs: specs["openmpi"].update(external={"path": "/opt/openmpi"}), "openmpi@4.1.4",
        'found openmpi with "/opt/openmpi", expected "{home}/mpi/openmpi", as systems/spack/made.yaml:7 asks',
    ),
    (
        "external that was built", lambda specs: specs["openmpi"].pop("external"), "openmpi@4.1.4",
        'found openmpi with "a build of its own", expected "{home}/mpi/openmpi", as systems/spack/made.yaml:7 asks',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("_", "how", "spec", "sentence"), OUTDATED, ids=[name for name, *_ in OUTDATED])
def test_a_lock_out_of_date_says_which_spec_and_which_line(
    site: MadeSite, lock: Any, _: str, how: Callable[[Any], None], spec: str, sentence: str
) -> None:
    lock(how)
    with pytest.raises(InputError) as error:
        ensure(site.request(), lambda line: None)
    data = json.loads((site.home / LOCK).read_text(encoding="utf-8"))
    name, version = spec.split("@")
    key = next(
        node["hash"] for node in data["concrete_specs"].values() if (node["name"], node["version"]) == (name, version)
    )
    assert str(error.value) == f"{LOCK}: {spec} /{key[:7]}: {sentence.replace('{home}', str(site.home))}; {AGAIN}"
    assert site.commands == ["--version"]


def test_a_root_that_the_lock_lacks(site: MadeSite, lock: Any) -> None:
    site.edit("spack_envs/common/definitions.yaml", "- intel-mpi-benchmarks\n", "- intel-mpi-benchmarks\n  - hpl\n")
    with pytest.raises(InputError) as error:
        ensure(site.request(), lambda line: None)
    assert str(error.value) == (
        f'{LOCK}: found no "hpl" among its roots, expected it, as spack_envs/common/definitions.yaml:5 asks; {AGAIN}'
    )


def test_a_root_that_a_condition_adds(site: MadeSite, lock: Any) -> None:
    with pytest.raises(InputError) as error:
        ensure(site.request(with_=("npb",)), lambda line: None)
    assert str(error.value) == (
        f'{LOCK}: found no "npb" among its roots, expected it, as spack_envs/common/definitions.yaml:5 asks; {AGAIN}'
    )


def test_a_root_too_many(site: MadeSite, lock: Any) -> None:
    site.edit("spack_envs/common/definitions.yaml", "  - intel-mpi-benchmarks\n", "")
    with pytest.raises(InputError) as error:
        ensure(site.request(), lambda line: None)
    assert str(error.value) == (
        f'{LOCK}: found the root "intel-mpi-benchmarks", expected none: spack_envs/openmpi/spack.yaml:4 no longer asks '
        f"for it; {AGAIN}"
    )


def test_what_only_spack_can_decide_is_left_to_it(site: MadeSite, lock: Any) -> None:
    site.edit("spack_envs/common/definitions.yaml", "env.get(", "platform == env.get(")
    assert read_committed(site.request().sources()) is not None


def test_a_remark_or_a_preference_makes_no_lock_old(site: MadeSite, lock: Any) -> None:
    site.edit("spack_envs/common/packages.yaml", "# Versions", "# All versions")
    site.edit("systems/spack/made.yaml", "  openmpi:\n", "  hwloc: {prefer: ['@2.9']}\n  openmpi:\n")
    assert read_committed(site.request().sources()) is not None
