"""ReFrame's configuration of a site: what each cluster becomes in it, and every mistake is caught."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reframe.core.config import load_config
from reframe.core.exceptions import ConfigError

from railyard.base.errors import RailyardError
from railyard.base.paths import HOME_VARIABLE, find_home
from railyard.rfm import settings as site_settings
from railyard.rfm.schedulers import IN_CHUNKS, IN_SLOTS
from railyard.rfm.settings import NO_HOST, build, configuration
from railyard.site.matrix import environment_features, partition_features
from railyard.site.references.load import references_of
from railyard.site.site import Site
from railyard.site.systems.jobs import options
from railyard.site.systems.load import load_systems
from railyard.site.systems.model import System

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "reframe_settings.py"


@pytest.fixture(autouse=True)
def no_home_variable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    yield


def named_system(system: System, name: str, *hostnames: str) -> System:
    return system.model_copy(update={"system": name, "hostnames": hostnames})


def test_a_partition_a_fabric_with_its_features() -> None:
    systems = load_systems(ROOT / "systems")
    made = {entry["name"]: entry for entry in build(SETTINGS)["systems"]}
    assert made.keys() == systems.keys()
    for name, system in systems.items():
        partitions = made[name]["partitions"]
        assert [partition["name"] for partition in partitions] == list(system.fabrics)
        for partition in partitions:
            assert partition["features"] == partition_features(system, partition["name"])
            assert partition["environs"] == list(system.stacks)
            is_built = any(stack.spack is not None for stack in system.stacks.values())
            assert partition["extras"] == {
                "railyard_home": str(ROOT),
                "railyard_spack": is_built,
                "railyard_nodes": None if system.provider == "host" else system.nodes.number,
                "railyard_sweep": list(system.sweep),
                "railyard_numbers": {"wrf": {"ranks_per_node": 56}} if name == "csd3-2020" else {},
            }
            backend = {"pbs": IN_CHUNKS, "sge": IN_SLOTS}.get(system.scheduler, system.scheduler)
            assert (partition["scheduler"], partition["launcher"]) == (backend, system.launcher)
            chunks = ["ncpus=1", "mem=1024mb"] if name == "virtual-pbs" else []
            assert (partition["access"], partition["max_jobs"]) == (
                [*system.access, *options(system.scheduler, system.jobs), *chunks],
                1,
            )


def test_an_environment_a_stack_and_fabric_with_its_features() -> None:
    systems = load_systems(ROOT / "systems")
    made = {(entry["name"], *entry["target_systems"]): entry for entry in build(SETTINGS)["environments"]}
    expected: dict[tuple[str, str], list[str] | None] = {}
    for name, system in systems.items():
        expected |= {(stack, name): None for stack in system.stacks}
        for fabric in system.fabrics:
            for stack in system.stacks:
                expected[stack, f"{name}:{fabric}"] = environment_features(system, fabric, stack)
    assert {key: entry.get("features") for key, entry in made.items()} == expected


def test_the_features_of_the_virtual_cluster() -> None:
    made = build(SETTINGS)
    (virtual,) = [system for system in made["systems"] if system["name"] == "virtual"]
    assert [partition["features"] for partition in virtual["partitions"]] == [
        ["tcp", "first", "rails1", "rails2", "nodes1", "nodes2", "nodes3", "nodes4"],
        ["tcp", "rails1", "nodes1", "nodes2", "nodes3", "nodes4"],
    ]
    features = {(e["name"], *e["target_systems"]): e.get("features") for e in made["environments"]}
    assert features["intelmpi", "virtual:hsn"] == [
        "imb", "pairs", "sharing", "rails1", "rails2", "rails4", "rails8", "single-1", "round-robin-2",
        "nic-per-rank-2", "default-round-robin-2",
    ]  # fmt: skip
    assert features["openmpi", "virtual"] is None


def test_no_host_is_taken_for_a_published_system() -> None:
    hosts = ("localhost", "vn1", "virtual", "login1.example.org", "", "x")
    for system in build(SETTINGS)["systems"]:
        matched = [host for host in hosts for pattern in system["hostnames"] if re.match(pattern, host)]
        assert matched == (list(hosts) if system["name"] == "local" else []), system["name"]
    (virtual,) = [system for system in build(SETTINGS)["systems"] if system["name"] == "virtual"]
    assert virtual["hostnames"] == [NO_HOST]


@pytest.mark.parametrize("pattern", [".*", "^.*$", ".+", "[a-z-.]+"])
def test_a_system_that_takes_any_host_comes_last(virtual: Site, pattern: str) -> None:
    known = named_system(virtual.system, "zeus", "zeus[0-9]+")
    catch_all = named_system(virtual.system, "anywhere", "anywhere", pattern)
    made = configuration(ROOT, {"anywhere": catch_all, "zeus": known, "virtual": virtual.system})
    assert [system["name"] for system in made["systems"]] == ["virtual", "zeus", "anywhere"]


def loaded_config() -> Any:
    site = load_config(str(SETTINGS))
    site.validate()
    return site


@pytest.mark.parametrize("host", ["somewhere.example.org", "vn1", "virtual"])
def test_reframe_accepts_it_and_takes_an_unknown_host_for_local(host: str) -> None:
    site = loaded_config()
    site.set_autodetect_methods([f"echo {host}"])
    site.select_subconfig(None)
    assert site["systems"][0]["name"] == "local"


def test_reframe_selects_a_system_and_a_fabric_by_name() -> None:
    site = loaded_config()
    site.select_subconfig("virtual:eth")
    assert site.subconfig_system == "virtual:eth"
    assert [partition["name"] for partition in site["systems"][0]["partitions"]] == ["eth"]


def test_results_and_reports_stay_in_the_sites_own_state_folder() -> None:
    made = build(SETTINGS)
    state = str(ROOT / ".railyard" / "reframe")
    assert {system["prefix"] for system in made["systems"]} == {state}
    assert made["general"][0]["report_file"] == f"{state}/reports/run-{{sessionid}}.json"
    assert made["logging"][0]["handlers_perflog"][0]["basedir"] == f"{state}/perflogs"


def test_an_exit_code_other_than_0_fails_a_test() -> None:
    assert build(SETTINGS)["general"][0]["trap_job_errors"] is True


# Every mistake is a ConfigError

SYSTEM = """\
system: site
description: A cluster
nodes: {count: 2}
report_only: delivered yesterday
fabrics:
  eth:
    description: Ethernet
    kind: tcp
    link: eth-10
    rails: [{device: eth0, counters: netdev}]
stacks:
  mpich: {modules: [mpich]}
"""
MISTAKES: list[tuple[str, dict[str, str]]] = [
    ("no folder", {}),
    ("an empty file", {"systems/site.yaml": ""}),
    ("a tab", {"systems/site.yaml": SYSTEM.replace("  eth:", "\teth:")}),
    ("a misspelt field", {"systems/site.yaml": SYSTEM.replace("kind: tcp", "kindd: tcp")}),
    ("an unknown stack", {"systems/site.yaml": SYSTEM.replace("mpich:", "mpch:")}),
    ("another name than the file's", {"systems/other.yaml": SYSTEM}),
    ("two systems of one name", {"systems/site.yaml": SYSTEM, "systems/other.yaml": SYSTEM}),
    ("no references", {"systems/site.yaml": SYSTEM.replace("report_only: delivered yesterday\n", "")}),
    ("broken references", {"systems/site.yaml": SYSTEM, "references/site.yaml": "system: site\nentries: 3\n"}),
    ("an ending of its own", {"systems/site.yml": SYSTEM}),
]


@pytest.mark.parametrize("files", [case[1] for case in MISTAKES], ids=[case[0] for case in MISTAKES])
def test_every_mistake_is_a_config_error_with_the_loaders_own_sentence(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    settings = tmp_path / "reframe_settings.py"
    with pytest.raises(RailyardError) as own:
        for system in load_systems(find_home(settings) / "systems").values():
            references_of(tmp_path / "references", system)
    with pytest.raises(ConfigError) as told:
        build(settings)
    assert str(told.value) == str(own.value)
    assert told.value.__suppress_context__


def test_a_good_site_is_none(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "site.yaml").write_text(SYSTEM, encoding="utf-8")
    made = build(tmp_path / "reframe_settings.py")
    assert [system["name"] for system in made["systems"]] == ["site"]


def test_a_file_that_cannot_be_read_is_a_config_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_load(home: Path) -> dict[str, System]:
        raise PermissionError(13, "Permission denied", str(home))

    (tmp_path / "systems").mkdir()
    monkeypatch.setattr(site_settings, "load_site", refuse_load)
    with pytest.raises(ConfigError) as told:
        build(tmp_path / "reframe_settings.py")
    assert str(told.value) == f"[Errno 13] Permission denied: '{tmp_path}'"
