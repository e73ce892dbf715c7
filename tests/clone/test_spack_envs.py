"""The Spack environments as files: one per stack, strict YAML, pins with reasons, nothing twice. Needs no Spack."""

import ast
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from railyard.base.strict_yaml import load
from railyard.stacks.model import STACKS

ROOT = Path(__file__).parents[2]
ENVS = ROOT / "spack_envs"
COMMON = ENVS / "common"
OVERLAYS = sorted((ROOT / "systems" / "spack").glob("*.yaml"))
RECIPES = sorted((ENVS / "repo/spack_repo/railyard/packages").glob("*/package.py"))
MANIFESTS = sorted(ENVS.glob("*/spack.yaml"))
FILES = [*MANIFESTS, *sorted(COMMON.glob("*.yaml")), *OVERLAYS, *sorted(ENVS.glob("repo/**/repo.yaml"))]

#: Stacks without a folder, whose entries say why Spack cannot serve them.
NOT_BUILT = {name for name, stack in STACKS.items() if stack.not_built}
#: Benchmarks for which a site brings its own recipe: here is none to pin.
NO_RECIPE = {"milc-qcd"}
#: The variable that a condition of an optional group reads.
ASKED = 'env.get("RAILYARD_SPACK_WITH", "").split(",")'
#: A version in packages.yaml with the comment after it.
PIN = re.compile(r'^ *- "(?P<pin>@[^"]+)"(?: # (?P<said>.+))?$')
WITHOUT_MPI = {name for name, stack in STACKS.items() if stack.pair}
MPI_LIBRARIES = {stack.spack_package for stack in STACKS.values() if not stack.pair}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def manifest(stack: str) -> dict[str, Any]:
    found: dict[str, Any] = load(ENVS / stack / "spack.yaml").data["spack"]
    return found


def optional(stack: str) -> dict[str, list[str]]:
    """The groups that a stack's own manifest adds, by the word in RAILYARD_SPACK_WITH that asks for them."""
    found = [entry for entry in manifest(stack).get("definitions", ()) if "when" in entry]
    assert {entry["when"].split(" in ")[1] for entry in found} <= {ASKED}
    return {entry["when"].split('"')[1]: entry.get("benchmarks") or entry["verbs"] for entry in found}


def packages() -> dict[str, Any]:
    found: dict[str, Any] = load(COMMON / "packages.yaml").data["packages"]
    return found


def benchmarks() -> list[str]:
    """The packages of all groups, without their variants."""
    definitions = load(COMMON / "definitions.yaml").data["definitions"]
    return list(dict.fromkeys(spec.split()[0] for entry in definitions for spec in entry["benchmarks"]))


def pins(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, pinned version and its comment: after it or above it."""
    above = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := PIN.match(line):
            yield number, match["pin"], match["said"] or above
        above = line.strip().removeprefix("# ") if line.strip().startswith("#") else ""


def recipe_versions(recipe: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the recipe's versions in their order, each with its keywords."""
    calls = [node for node in ast.walk(ast.parse(recipe.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    found = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "version"]
    found.sort(key=lambda call: call.lineno)
    return [
        (ast.literal_eval(call.args[0]), {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg})
        for call in found
    ]


def test_every_stack_has_a_folder_or_a_reason_and_every_folder_a_stack() -> None:
    assert {path.parent.name for path in MANIFESTS} == set(STACKS) - NOT_BUILT
    assert {path.name for path in ENVS.iterdir() if path.is_dir()} == {*(set(STACKS) - NOT_BUILT), "common", "repo"}
    short = [name for name in NOT_BUILT if len(STACKS[name].not_built or "") < 30]
    assert short == [], f"not_built of {short}: give the reason in 30 characters or more"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_file_is_strict_yaml(path: Path) -> None:
    assert load(path).data


@pytest.mark.parametrize("path", MANIFESTS, ids=name_of)
def test_every_include_exists(path: Path) -> None:
    included = manifest(path.parent.name)["include"]
    assert included == ["../common"]
    assert [entry for entry in included if not (path.parent / entry).exists()] == []


def test_every_shared_file_is_named_as_its_one_section() -> None:
    # Spack reads an included folder section by section: it would silently ignore a file of another name.
    assert {path.stem: list(load(path).data) for path in COMMON.iterdir()} == {
        section: [section] for section in ("concretizer", "definitions", "packages", "repos")
    }


def test_the_package_repository_is_where_the_shared_file_says() -> None:
    folder = COMMON / load(COMMON / "repos.yaml").data["repos"]["railyard"]
    assert load(folder / "repo.yaml").data == {"repo": {"namespace": "railyard", "api": "v2.0"}}
    names = ["netpipe", "perftest", "py_railyard_hpc", "py_reframe_hpc", "py_tabulate"]
    assert [path.parent.name for path in RECIPES] == names


@pytest.mark.parametrize("stack", sorted(set(STACKS) - NOT_BUILT - WITHOUT_MPI))
def test_a_stack_asks_for_its_own_mpi_and_says_nothing_else_of_the_others(stack: str) -> None:
    own = STACKS[stack].spack_package
    said = manifest(stack)["packages"]
    required = [entry["spec"] if isinstance(entry, dict) else entry for entry in said["mpi"]["require"]]
    assert required == [own]
    assert set(said) == {"mpi", own}, f"spack_envs/{stack}/spack.yaml: packages: name mpi and {own}, and no other"
    assert manifest(stack)["specs"] == ["$benchmarks"]
    assert manifest(stack)["view"] is False


@pytest.mark.parametrize("stack", ["craympich", "hpcx"])
def test_an_mpi_that_only_its_vendor_builds_is_an_external_or_fails_first_with_a_sentence(stack: str) -> None:
    own, said = STACKS[stack].spack_package, manifest(stack)["packages"]
    assert said[own] == {"buildable": False}
    (required,) = said["mpi"]["require"]
    assert f"name its prefix in packages:{own}:externals of the site's overlay" in required["message"]


def test_a_stack_without_mpi_asks_for_none_and_names_its_benchmarks() -> None:
    assert {stack: manifest(stack)["specs"] for stack in WITHOUT_MPI - NOT_BUILT} == {"verbs": ["$verbs"]}
    plain, *of_gpus = manifest("verbs")["definitions"]
    assert plain == {"verbs": ["perftest"]}
    assert [each["verbs"] for each in of_gpus] == [["perftest +cuda"], ["perftest +rocm"]]
    assert "packages" not in manifest("verbs")
    assert manifest("verbs")["view"] is False


def test_only_the_deprecated_stack_allows_deprecated_versions() -> None:
    allowed = {path.parent.name for path in MANIFESTS if "config" in manifest(path.parent.name)}
    assert allowed == {"mvapich2"}
    assert manifest("mvapich2")["config"] == {"deprecated": True}


def test_every_benchmark_is_pinned() -> None:
    unpinned = [
        name
        for name in benchmarks()
        if name not in NO_RECIPE and not any("@" in str(entry) for entry in packages()[name]["require"])
    ]
    assert unpinned == []
    assert {"osu-micro-benchmarks", "intel-mpi-benchmarks", "hpl", "npb", "netpipe"} <= set(benchmarks())


def test_the_blas_of_hpl_on_every_node_has_threads() -> None:
    """With Spack's default, threads=none, only one core of a node works."""
    assert packages()["openblas"]["prefer"] == ["threads=openmp"]


@pytest.mark.parametrize("path", [COMMON / "packages.yaml", *MANIFESTS], ids=name_of)
def test_every_pinned_version_is_the_newest_or_has_a_reason(path: Path) -> None:
    silent = [f"line {line}: {pin}" for line, pin, said in pins(path) if len(said) < len("newest")]
    assert silent == []
    quoted = re.findall(r'(?m)^\s*- ["\']?@', path.read_text(encoding="utf-8"))
    assert len(list(pins(path))) == len(quoted)


@pytest.mark.parametrize(
    "recipe", [path for path in RECIPES if not path.parent.name.startswith("py_")], ids=lambda path: path.parent.name
)
def test_what_is_pinned_of_our_own_recipes_is_their_first_version(recipe: Path) -> None:
    required = packages()[recipe.parent.name.replace("_", "-")]["require"]
    assert required[0] == f"@{recipe_versions(recipe)[0][0]}"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.parent.name)
def test_every_recipe_compiles_and_has_a_checksum_for_every_version(recipe: Path) -> None:
    compile(recipe.read_text(encoding="utf-8"), str(recipe), "exec")
    versions = recipe_versions(recipe)
    assert versions
    loose = [
        version
        for version, words in versions
        if not (
            re.fullmatch("[0-9a-f]{64}", words.get("sha256", ""))
            or re.fullmatch("[0-9a-f]{40}", words.get("commit", ""))
            or recipe.parent.name == "py_railyard_hpc"  # the clone that the recipe itself is in
        )
    ]
    assert loose == []


def test_no_package_is_described_in_two_files() -> None:
    described = [
        (name, path.parent.name)
        for path in MANIFESTS
        for name in manifest(path.parent.name).get("packages", ())
        if name != "mpi"
    ]
    assert len({name for name, _ in described}) == len(described)
    assert not {name for name, _ in described} & set(packages())


def test_every_optional_group_is_asked_for_by_its_name() -> None:
    groups = [
        entry for entry in load(COMMON / "definitions.yaml").data["definitions"] if '_WITH"' in entry.get("when", "")
    ]
    names = [entry["when"].split('"')[1] for entry in groups]
    assert names == ["wrf", "hpcc", "gpcnet", "stream", "perftest", "cuda", "rocm", "rccl", "milc"]
    assert [entry["benchmarks"] for entry in groups] == [
        ["wrf"],
        ["hpcc"],
        ["gpcnet"],
        ["stream"],
        ["perftest"],
        ["osu-micro-benchmarks +cuda ~xccl", "nccl-tests", "nvbandwidth"],
        ["osu-micro-benchmarks +rocm ~xccl"],
        ["rccl-tests"],
        ["milc-qcd"],
    ]
    assert {entry["when"].split(" in ")[1] for entry in groups} == {ASKED}


def test_an_mpi_that_spack_builds_for_gpus_takes_messages_from_them_through_ucx() -> None:
    built = {stack: optional(stack) for stack in sorted(set(STACKS) - NOT_BUILT) if "definitions" in manifest(stack)}
    assert built == {
        "mpich": {"cuda": ["mpich +cuda", "ucx +cuda +gdrcopy"], "rocm": ["mpich +rocm", "ucx +rocm"]},
        "openmpi": {"cuda": ["openmpi +cuda", "ucx +cuda +gdrcopy"], "rocm": ["openmpi +rocm", "ucx +rocm"]},
        "verbs": {"cuda": ["perftest +cuda"], "rocm": ["perftest +rocm"]},
    }


@pytest.mark.parametrize("overlay", OVERLAYS, ids=name_of)
def test_no_two_mpi_libraries_of_an_overlay_share_a_prefix_or_lie_in_usr(overlay: Path) -> None:
    described = load(overlay).data["packages"]
    prefixes = [one["prefix"] for name in MPI_LIBRARIES & set(described) for one in described[name]["externals"]]
    assert prefixes
    assert len(set(prefixes)) == len(prefixes)
    assert "/usr" not in prefixes


def recipe_packages(recipe: str, when: str | None = None) -> set[str]:
    """The Python packages that a recipe of ours asks for at run time, as PyPI names them."""
    text = (ENVS / "repo/spack_repo/railyard/packages" / recipe / "package.py").read_text(encoding="utf-8")
    found = re.findall(r'depends_on\("py-([a-z0-9-]+)@[^"]+"(?:, when="([^"]+)")?, type=\("build", "run"\)\)', text)
    return {name for name, condition in found if (condition or None) == when}


def required_packages(distribution: str, extra: str | None = None) -> set[str]:
    """The packages that an installed distribution asks for, or those of one of its groups."""
    found = [each.partition(";") for each in metadata.requires(distribution) or []]
    return {
        re.split("[~<>=! ]", words)[0].lower()
        for words, _, condition in found
        if ("extra" not in condition if extra is None else f"extra == '{extra}'" in condition.replace('"', "'"))
    }


def test_the_recipe_of_railyard_asks_for_what_its_package_does() -> None:
    assert recipe_packages("py_railyard_hpc") == required_packages("railyard-hpc")
    for group in ("plots", "prometheus"):
        assert len(recipe_packages("py_railyard_hpc", f"+{group}")) == 1
        assert recipe_packages("py_railyard_hpc", f"+{group}") == required_packages("railyard-hpc", group)


def test_the_recipe_of_reframe_asks_for_what_the_locked_reframe_does() -> None:
    assert recipe_packages("py_reframe_hpc") == required_packages("reframe-hpc")
    (version, words), *_ = recipe_versions(ENVS / "repo/spack_repo/railyard/packages/py_reframe_hpc/package.py")
    lock = (ROOT / "requirements/runtime.txt").read_text(encoding="utf-8")
    assert f"reframe-hpc=={version} " in lock and f"sha256:{words['sha256']}" in lock


@pytest.mark.parametrize("path", OVERLAYS, ids=name_of)
def test_an_overlay_that_names_an_openblas_holds_spack_to_it(path: Path) -> None:
    """Where it is not as the environments prefer it, Spack would take another BLAS, and build or fetch that."""
    found = load(path).data["packages"]
    preferred = packages()["openblas"]["prefer"]
    named = [external["spec"].split() for external in found.get("openblas", {}).get("externals", ())]
    if all(set(preferred) <= set(words) for words in named):
        return
    assert found["blas"]["require"] == ["openblas"]
