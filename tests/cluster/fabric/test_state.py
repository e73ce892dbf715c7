"""`fabric_state` of a system's file: it is read strictly, and refused if it contradicts the fabric itself."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.cluster.fabric.model import expected_fabric
from railyard.site.matrix import partition_features
from railyard.site.systems.load import load_system

SYSTEM = """\
system: made
description: Four nodes
nodes: {{count: 4}}
report_only: a made system has no references
fabrics:
  hsn:
    description: A fabric
    kind: {kind}
    link: {link}
    rails: [{{device: mlx5_0, counters: mlx5}}]
    fabric_state: {state}
stacks:
  openmpi: {{modules: [openmpi], benchmarks: {{osu: /opt/osu}}}}
"""


def write(folder: Path, state: str, kind: str = "ib", link: str = "ib-edr") -> Path:
    path = folder / "made.yaml"
    path.write_text(SYSTEM.format(kind=kind, link=link, state=state), encoding="utf-8")
    return path


def test_what_a_file_may_say(tmp_path: Path) -> None:
    state = (
        "{width: 4, speed: EDR, mtu: 4096, firmware: 16.35.2000, subnet_manager: false, hops: 3, others: ['login.*'], "
        "errors: {SymbolErrorCounter: 0}, relaxed_ordering: true, iommu: passthrough}"
    )
    expected = expected_fabric(load_system(write(tmp_path, state)), "hsn")
    assert (expected.width, expected.speed, expected.mtu, expected.firmware) == (4, "EDR", 4096, "16.35.2000")
    assert (expected.subnet_manager, expected.hops, expected.others) == (False, 3, ("login.*",))
    assert (dict(expected.errors), expected.relaxed_ordering, expected.iommu) == (
        *({"SymbolErrorCounter": 0}, True),
        "passthrough",
    )


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("ib-sdr", (4, "SDR", 10.0)),
        ("ib-qdr", (4, "QDR", 40.0)),
        ("ib-fdr10", (4, "FDR10", 40.0)),
        ("ib-fdr", (4, "FDR", 56.0)),
        ("ib-edr", (4, "EDR", 100.0)),
        ("ib-hdr100", (2, "HDR", 100.0)),
        ("ib-ndr", (4, "NDR", 400.0)),
    ],
)
def test_without_a_state_the_link_says_all(tmp_path: Path, link: str, words: tuple[int, str, float]) -> None:
    expected = expected_fabric(load_system(write(tmp_path, "{}", link=link)), "hsn")
    assert (expected.width, expected.speed, expected.rate) == words
    assert (expected.subnet_manager, expected.mtu) == (True, 4096)


@pytest.mark.parametrize(
    ("state", "kind", "link", "sentence"),
    [
        (
            *("{speed: QDR}", "ib", "ib-edr"),
            'made.yaml:11: fabrics.hsn.fabric_state.speed: found "QDR", expected EDR, the speed of ib-edr; correct '
            "link, or leave this out: limits are computed from the link",
        ),
        (
            *("{width: 1}", "ib", "ib-edr"),
            "made.yaml:11: fabrics.hsn.fabric_state.width: found 1, expected 4, the width of ib-edr; correct link, or "
            "leave this out: limits are computed from the link",
        ),
        (
            *("{speed: EDR}", "roce", "roce-100"),
            'made.yaml:11: fabrics.hsn.fabric_state.speed: found "EDR", expected no speed: roce-100 has none, only '
            "its rate is compared; leave it out",
        ),
        (
            *("{gid_index: 3}", "ib", "ib-edr"),
            "made.yaml:11: fabrics.hsn.fabric_state.gid_index: found 3, expected it only in a roce fabric; leave it "
            "out",
        ),
        (
            *("{subnet_manager: true}", "roce", "roce-100"),
            "made.yaml:11: fabrics.hsn.fabric_state.subnet_manager: found true, expected none: Ethernet has no subnet "
            "manager; leave it out",
        ),
        (
            *("{mtu: 4096}", "tcp", "eth-100"),
            "made.yaml:11: fabrics.hsn.fabric_state: found kind tcp, expected a fabric of kind ib, roce or opa: the "
            "state of others is not read; leave it out",
        ),
        (
            *("{speed: ERD}", "ib", "ib-edr"),
            'made.yaml:11: fabrics.hsn.fabric_state.speed: found "ERD", expected the name of a lane speed; did you '
            'mean "EDR"?',
        ),
        (
            *("{errors: {SymbolErrors: 3}}", "ib", "ib-edr"),
            'found "SymbolErrors", expected an error counter by its standard name; did you mean "SymbolErrorCounter"?',
        ),
    ],
)
def test_a_state_that_contradicts_its_fabric_is_refused(
    tmp_path: Path, state: str, kind: str, link: str, sentence: str
) -> None:
    with pytest.raises(InputError) as refused:
        load_system(write(tmp_path, state, kind, link))
    assert sentence in str(refused.value)


def test_the_gid_that_runs_use_is_the_one_that_is_looked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "{roce_mode: v2}", "roce", "roce-100")
    assert expected_fabric(load_system(path), "hsn").gid_index is None
    path.write_text(
        path.read_text(encoding="utf-8").replace("    rails:", "    gid_index: 3\n    rails:"), encoding="utf-8"
    )
    assert expected_fabric(load_system(path), "hsn").gid_index == 3


def test_only_a_fabric_with_rdma_ports_to_look_at_has_the_feature(tmp_path: Path) -> None:
    system = load_system(write(tmp_path, "{}"))
    assert partition_features(system, "hsn")[:4] == ["ib", "first", "verbs", "rails1"]
    assert "verbs" not in partition_features(system.as_replay(), "hsn")
