"""The part of a system's file that a gate reads: the same as in the whole model, or nothing."""

import copy
import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from railyard.base.errors import InputError
from railyard.base.fields import Model
from railyard.base.strict_yaml import Document
from railyard.site.systems import model
from railyard.site.systems.load import load_system
from railyard.site.systems.node_part import (
    OTHER_FIELDS,
    DeclaredLinkPart,
    FabricPart,
    GatePart,
    NodesPart,
    RailPart,
    StatePart,
    SystemPart,
    part_of,
    read_part,
)
from railyard.site.systems.node_view import SystemView
from railyard.site.systems.parts import FabricState, Gate

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "systems").glob("*.yaml"))
#: Each part, and the model whose fields it has.
PARTS: dict[type[object], type[Model]] = {
    SystemPart: model.System,
    NodesPart: model.Nodes,
    FabricPart: model.Fabric,
    RailPart: model.Rail,
    DeclaredLinkPart: model.DeclaredLink,
    StatePart: FabricState,
    GatePart: Gate,
}
#: A file with a value in each field of each part.
WHOLE: dict[str, Any] = yaml.safe_load("""\
system: made
description: Each field that a gate reads
provider: nodes
nodes: {names: [n1, n2]}
report_only: a made system has no references
fabrics:
  ib:
    description: A link of the table
    kind: ib
    link: ib-hdr
    slot: pcie4-x16
    max_payload: 256
    mtu: 4096
    gid_index: 3
    rails:
      - {device: mlx5_0, port: 1, slot: pcie4-x8, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
    fabric_state: {width: 4, speed: HDR, mtu: 4096, firmware: 20.31.1014, psid: MT_0000000223, subnet_manager: true,
      hops: 3, others: ["store[0-9]+"], errors: {SymbolErrorCounter: 10}, max_read_request: 512,
      relaxed_ordering: true, acs: false, iommu: passthrough}
  roce:
    description: RoCE
    kind: roce
    link: roce-100
    rails:
      - {device: mlx5_2, port: 1, counters: mlx5}
    fabric_state: {gid_index: 3, roce_mode: v2, pfc: [3], ecn: [3, 4]}
  tcp:
    description: A declared link
    kind: tcp
    link: {name: shaped, data_rate_gbit_s: 0.12, source: the shaper, headers: tcp-shaped, mtu: 1500, limit_from: 4K,
      burst: 8192, family: ethernet, note: a token bucket}
    rails:
      - {device: eth0, counters: netdev}
stacks:
  tcp: {prefix: /usr, benchmarks: {iperf3: /usr/bin/iperf3}}
gate:
  limit: 40s
  most_bytes: 4G
  counters: {symbol_error: 20}
  loopback_mb_s: 20000
  memory_mb_s: 180000.5
  pair_mb_s: 10000
  neighbours: ["n[1-2]"]
  drain: [scontrol, update, "NodeName={node}", "Reason={reason}"]
  resume: [scontrol, update, "NodeName={node}", State=RESUME]
""")
#: Lines of a document that has none.
ROOT_NODE = yaml.MappingNode("tag:yaml.org,2002:map", [])
#: What a person might write anywhere, by mistake or not.
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 4, 8, 56, 128, 256, 300, 512, 1500, 2048, 4096, 2**64, 10**30),
    *(0.0, 0.5, -2.5, 1.0, float("nan"), float("inf")),
    *("", " ", "n1", "n2", "n9", "n[1-2]", "n[2-1]", "4K", "4 K", "-1", "1", "50s", "4s", "56s", "1m", "{node}"),
    *("ib", "roce", "tcp", "efa", "mlx5", "netdev", "none", "tcp-shaped", "ethernet", "declared", "replay", "testbed"),
    *("ib-hdr", "ib-edr", "roce-100", "hdr", "pcie4-x16", "pcie9-x16", "HDR", "EDR", "hdr ", "v1", "v3", "off"),
    *(
        "mlx5_0",
        "mlx5_1",
        "eth0",
        "made",
        "a b",
        "a;b",
        "$(reboot)",
        "é",
        "a\x1b[31mb",
        "a\nb",
        "n1\u200b",
        "[",
        "a  b",
    ),
    *([], ["n1"], ["n1", "n1"], [1], [0, 7], [7, 0], [3, 3], [8], ["{node}"], ["reboot"], ["a", "{nod}"], [[]]),
    *(["mlx5_0"], {}, {"a": 1}, {"symbol_error": 3}, {"symbol_error": -1}, {"symbol_eror": 3}, {1: 2}),
    *({"SymbolErrorCounter": 3}, {"names": ["n1"]}, {"count": 3}, {"width": 4}, {"width": True}, {"widht": 4}),
)


def write(folder: Path, data: object, name: str = "made") -> Path:
    """Write a system's file and return its path."""
    path = folder / f"{name}.yaml"
    # JSON is YAML but for these two, and is written ten times as quickly.
    text = json.dumps(data).replace("NaN", ".nan").replace("Infinity", ".inf")
    path.write_text(text, encoding="utf-8")
    return path


def view(system: SystemView) -> Any:
    """Return all that a gate may ask of a system."""
    parts = (StatePart, RailPart, FabricPart, GatePart)
    state, rail, fabric, gate = (tuple(each.name for each in fields(part)) for part in parts)
    own = ("link_name", "link_declared", "rails", "fabric_state")
    return {
        "system": (system.system, system.provider, system.nodes.names, system.nodes.count, system.nodes.number),
        "gate": (system.gate.limit_s, *(getattr(system.gate, name) for name in gate)),
        "fabrics": {
            name: (
                *(getattr(each, field) for field in fabric if field not in own),
                (each.link, isinstance(each.declared_link, str)),
                [(one.name, *(getattr(one, field) for field in rail)) for one in each.rails],
                each.fabric_state and [getattr(each.fabric_state, field) for field in state],
            )
            for name, each in system.fabrics.items()
        },
    }


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_a_part_and_the_fields_that_it_leaves_out_are_the_fields_of_the_model(part: Any) -> None:
    own = {each.name for each in fields(part)} - {"link_name", "link_declared"}
    if part is FabricPart:
        own |= {"link"}
    assert own & set(OTHER_FIELDS[part]) == set()
    assert own | set(OTHER_FIELDS[part]) == {each.alias or name for name, each in PARTS[part].model_fields.items()}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_system_of_the_project_has_the_part_of_its_model(path: Path) -> None:
    part = read_part(path)
    assert part is not None
    system = load_system(path)
    assert view(part) == view(system)


def test_each_field_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, WHOLE)
    part = read_part(path)
    assert part is not None
    assert view(part) == view(load_system(path))
    bare = replace(part, nodes=NodesPart(), gate=GatePart())
    stated = [part.fabrics["ib"], part.fabrics["roce"].fabric_state, part.fabrics["tcp"].link_declared, part.gate]
    assert bare != part and None not in stated


def places(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of each value of the part, at all depths."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        if key not in ("description", "report_only", "stacks"):
            yield (*path, key)
            yield from places(value, (*path, key))


PLACES = tuple(places(WHOLE))


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_what_a_part_takes_the_whole_model_takes_for_the_same(tmp_path: Path, place: tuple[str | int, ...]) -> None:
    """Each value in the place of another: a gate never judges by a value that the whole file's check refuses."""
    for value in VALUES:
        data = copy.deepcopy(WHOLE)
        inner: Any = data
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        if part_of(Document("made.yaml", data, ROOT_NODE)) is None:
            continue
        path = write(tmp_path, data)
        part = read_part(path)
        if part is None:  # another system's name, or a number that is too long for strict YAML
            continue
        try:
            whole = load_system(path)
        except InputError as error:
            pytest.fail(f"{place}: {value!r} is taken, and the whole file is refused: {error}")
        assert view(part) == view(whole), value


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_a_field_that_is_left_out_has_the_default_of_the_model(tmp_path: Path, place: tuple[str | int, ...]) -> None:
    data = copy.deepcopy(WHOLE)
    inner: Any = data
    for key in place[:-1]:
        inner = inner[key]
    del inner[place[-1]]
    path = write(tmp_path, data)
    part = read_part(path)
    try:
        whole = load_system(path)
    except InputError:
        assert part is None
    else:
        assert part is not None and view(part) == view(whole)


def mapping_places(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of each mapping whose keys are fields."""
    if isinstance(data, dict) and path[-1:] not in (("fabrics",), ("counters",), ("errors",)):
        yield path
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        if key != "stacks":
            yield from mapping_places(value, (*path, key))


@pytest.mark.parametrize("place", tuple(mapping_places(WHOLE)), ids=lambda place: ".".join(map(str, place)))
def test_an_unknown_field_is_never_passed_over(tmp_path: Path, place: tuple[str | int, ...]) -> None:
    data = copy.deepcopy(WHOLE)
    inner: Any = data
    for key in place:
        inner = inner[key]
    inner["colour"] = 3
    assert read_part(write(tmp_path, data)) is None
    with pytest.raises(InputError):
        load_system(tmp_path / "made.yaml")


def test_fields_come_from_the_system_that_it_is_like(tmp_path: Path) -> None:
    write(tmp_path, WHOLE)
    near = write(
        tmp_path,
        {"system": "near", "description": "As made", "like": "made", "nodes": {"names": ["n1", "n2", "n3"]}},
        "near",
    )
    part = read_part(near)
    assert part is not None and part.nodes.names == ("n1", "n2", "n3")
    assert view(part) == view(load_system(near))
    assert read_part(write(tmp_path, {**WHOLE, "like": 5})) is None
    far = write(tmp_path, {"system": "far", "description": "As near", "like": "near"}, "far")
    assert read_part(far) is None


def test_a_file_whose_name_is_another_than_its_systems_has_no_part(tmp_path: Path) -> None:
    assert read_part(write(tmp_path, WHOLE, "other")) is None
    assert read_part(tmp_path / "absent.yaml") is None
