"""The site's drain command for each node of a sick list: printed and never run; what is no node's drains nobody."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.cluster.gate.look import drain_lines
from railyard.results.sick import Kind, SeenTest, SickPart, Sure
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from tests.made.systems import HDR_BY_NAME

SEEN = SeenTest("r1", "OsuBandwidth", "2026-11-21T06:00:12Z")
DRAIN = 'gate: {drain: [scontrol, update, "NodeName={node}", State=DRAIN, "Reason={reason}"]}\n'


def part(kind: Kind, name: str, *nodes: str, sure: Sure = "named", passed: SeenTest | None = None) -> SickPart:
    node = nodes[0] if kind in ("node", "rail", "gpu") else None
    return SickPart(
        "hdr", kind, name, f"it's {name}", "so", sure, "sick" if passed is None else "passed since", SEEN, SEEN, node,
        nodes, passed=passed,
    )  # fmt: skip


@pytest.fixture
def system(tmp_path: Path) -> System:
    """Three nodes with a drain command."""
    (tmp_path / "hdr.yaml").write_text(f"{HDR_BY_NAME}{DRAIN}", encoding="utf-8")
    return load_system(tmp_path / "hdr.yaml")


def test_each_node_is_drained_once_with_its_newest_evidence_as_one_word(system: System) -> None:
    parts = [part("rail", "rail mlx5_1:1 of n2", "n2"), part("gpu", "GPU 3 of N2.cluster", "N2.cluster")]
    assert drain_lines(system, parts) == [
        "# hdr: 1 node to drain; no command was run: read the reasons first",
        "# rail mlx5_1:1 of n2: it's rail mlx5_1:1 of n2",
        "# GPU 3 of N2.cluster: it's GPU 3 of N2.cluster",
        "scontrol update NodeName=n2 State=DRAIN 'Reason=railyard: rail mlx5_1:1 of n2: it'\"'\"'s rail mlx5_1:1 of n2 "
        "(+1 more)'",
    ]


@pytest.mark.parametrize(
    ("spared", "why"),
    [
        (part("pair", "pair n1-n2", "n1", "n2"), "a pair is slow; both its nodes may be good with all other nodes"),
        (part("leaf", "leaf L4", "n1", "n2"), "a leaf is not a node: the nodes behind it may be good"),
        (part("up-link", "up-link L4 port 3"), "an up-link is not a node: the nodes behind it may be good"),
        (part("switch", "the switch of mlx5_0"), "a switch is not a node: the nodes behind it may be good"),
        (part("node", "node n1", "n1", sure="open"), "the verdicts do not show yet which part is at fault"),
        (part("node", "node n1", "n1", passed=SEEN), "it passed since (2026-11-21T06:00:12Z)"),
    ],
)
def test_what_drains_nobody_is_said(system: System, spared: SickPart, why: str) -> None:
    assert drain_lines(system, [spared]) == [
        "# hdr: 0 nodes to drain; no command was run: read the reasons first",
        f"# {spared.name}: drains no node: {why}",
    ]


def test_many_nodes_at_once_are_worth_a_second_look(system: System) -> None:
    lines = drain_lines(system, [part("node", f"node n{number}", f"n{number}") for number in (1, 2)])
    assert lines[1] == "# 2 of 3 nodes: so many nodes rarely fail at once; look for a common cause"
    assert [line.split()[2] for line in lines if line.startswith("scontrol")] == ["NodeName=n1", "NodeName=n2"]


def test_evidence_cannot_add_a_line_or_a_word_to_the_command(system: System) -> None:
    sick = SickPart(
        "hdr", "node", "node n1", "x\nrm -rf / # {node} $(id)", "so", "named", "sick", SEEN, SEEN, "n1", ("n1",)
    )
    assert drain_lines(system, [sick])[1:] == [
        "# node n1: x rm -rf / # {node} $(id)",
        "scontrol update NodeName=n1 State=DRAIN 'Reason=railyard: node n1: x rm -rf / # {node} $(id)'",
    ]


def test_without_a_drain_command_the_sentence_says_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "hdr.yaml").write_text(HDR_BY_NAME, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        drain_lines(load_system(tmp_path / "hdr.yaml"), [part("node", "node n1", "n1")])
    assert str(refused.value) == (
        "systems/hdr.yaml: gate.drain: found nothing, expected the site's own command, such as [scontrol, update, "
        "NodeName={node}, State=DRAIN, Reason={reason}]"
    )
