"""Rail policies as a dimension of tests: those of a system, ReFrame's requirements, and what one pair cannot show."""

from typing import Any

import pytest

from railyard.site.matrix import (
    DEFAULT,
    Cell,
    Need,
    environment_features,
    environment_terms,
    matrix,
    named_policies,
    pairs_reason,
    policies,
    policy_of,
    refused_policies,
    why_not,
)
from railyard.site.site import Site
from railyard.site.systems.load import load_systems
from railyard.site.systems.model import System
from railyard.site.test_id import TestId
from tests.conftest import ROOT

BANDWIDTH = Need("OsuBandwidth", "osu", "osu/osu_bw", 2)
UNIBAND = Need("ImbUniband", "imb", "imb/Uniband", 2, pair_a_rail=True)
RATE = Need("OsuMessageRate", "osu", "osu/osu_mbw_mr", 2, pair_a_rail=True)


@pytest.fixture(scope="module")
def qdr() -> System:
    """The system with two QDR rails: mvapich2 with all policies and its own threshold, Open MPI over UCX."""
    return load_systems(ROOT / "systems")["dual-rail-qdr"]


@pytest.mark.parametrize(
    ("stack", "rails", "found"),
    [
        ("mvapich2", 1, ("single",)),
        ("mvapich2", 2, ("striping", "round-robin", "nic-per-rank", "striping-8K")),
        ("openmpi", 2, ("striping", "nic-per-rank")),
    ],
)
def test_a_stack_has_its_default_first_and_its_own_thresholds_last(
    qdr: System, stack: str, rails: int, found: tuple[str, ...]
) -> None:
    assert policies(qdr, "qdr", stack, rails) == found


def test_of_the_virtual_clusters_mpi_stacks_one_has_a_policy_besides_its_own(virtual: Site) -> None:
    """Only its tests name one; all others keep their names, and none is made twice."""
    stacks = ("openmpi", "mpich", "intelmpi")
    assert [policies(virtual.system, "hsn", stack, 2) for stack in stacks] == [
        ("striping",), ("striping",), ("round-robin", "nic-per-rank"),
    ]  # fmt: skip
    cells = [cell for cell in matrix(virtual.system, (UNIBAND,)) if cell.test.stack in stacks]
    assert {(cell.test.stack, cell.test.policy, cell.extended) for cell in cells if cell.named} == {
        ("intelmpi", "nic-per-rank", True)
    }
    unasked = [cell for cell in cells if (cell.test.fabric, cell.test.rails, cell.named) == ("hsn", 2, False)]
    assert {(cell.test.stack, cell.test.policy) for cell in unasked} == {
        ("openmpi", "striping"), ("mpich", "striping"), ("intelmpi", "round-robin"),
    }  # fmt: skip


def test_a_threshold_that_stands_twice_is_one_policy(qdr: System) -> None:
    entry = qdr.stacks["mvapich2"].model_copy(update={"striping_thresholds": (8192, 8192)})
    system = qdr.model_copy(update={"stacks": {"mvapich2": entry}})
    assert policies(system, "qdr", "mvapich2", 2).count("striping-8K") == 1


def test_the_policy_of_a_test_is_the_one_that_it_names_or_the_stacks_own(qdr: System) -> None:
    asked = (DEFAULT, "round-robin")
    assert [policy_of(qdr, "qdr", "mvapich2", 2, policy) for policy in asked] == ["striping", "round-robin"]
    assert policy_of(qdr, "qdr", "mvapich2", 1, DEFAULT) == "single"
    # more than UCX or mvapich2 can use
    assert policy_of(qdr, "qdr", "mvapich2", 11, DEFAULT) == ""


def test_features_say_what_a_stack_can_and_which_it_does_unasked(qdr: System) -> None:
    features = environment_features(qdr, "qdr", "mvapich2")
    assert [each for each in features if each[-2:] in ("-1", "-2")] == [
        "single-1",
        "striping-2", "round-robin-2", "nic-per-rank-2", "striping-8K-2",
        "default-striping-2",
    ]  # fmt: skip
    assert named_policies([features]) == ("round-robin", "striping-8K", "nic-per-rank")
    assert named_policies([["imb", "rails2", "single-1", "striping-2", "default-striping-2", "hpl-2"]]) == ()


TERMS: list[tuple[tuple[Any, ...], list[str]]] = [
    (("osu", 1, DEFAULT, 1, True), ["+osu +rails1"]),
    # a stack whose default gives each rank a NIC is only for checks with one pair per rail
    (("osu", 2, DEFAULT, 1, True), ["+osu +rails2 -default-nic-per-rank-2"]),
    (("osu", 2, DEFAULT, 2, True), ["+osu +rails2"]),
    (("osu", 2, "round-robin", 1, True), ["+osu +round-robin-2 -default-round-robin-2"]),
    (("osu", 2, "round-robin", 1, False), ["+osu +round-robin-2"]),
    (("osu", 2, "nic-per-rank", 1, False), []),
    (("osu", 2, "nic-per-rank", 2, True), ["+osu +nic-per-rank-2 -default-nic-per-rank-2"]),
]


@pytest.mark.parametrize(("asked", "terms"), TERMS)
def test_what_is_asked_of_an_environment(asked: tuple[Any, ...], terms: list[str]) -> None:
    tool, rails, policy, pairs, beside = asked
    assert environment_terms(tool, rails, policy, pairs, beside_default=beside) == terms


ONE_PAIR = (
    "with a NIC per rank its one pair of ranks uses 1 of 2 rails: this policy is judged with at least one pair per "
    "rail (osu_mbw_mr, IMB's Uniband)"
)


def test_a_nic_per_rank_is_never_judged_by_one_pair(qdr: System) -> None:
    key = (qdr, "qdr", "mvapich2", 2)
    assert why_not(*key, BANDWIDTH, "nic-per-rank") == ONE_PAIR
    assert why_not(*key, RATE, "nic-per-rank") is None
    assert why_not(*key, BANDWIDTH, "round-robin") is None
    assert pairs_reason("nic-per-rank", 4, 2) == (
        "with a NIC per rank its 2 pairs of ranks use 2 of 4 rails: this policy is judged with at least one pair per "
        "rail (osu_mbw_mr, IMB's Uniband)"
    )


def test_nor_where_it_is_what_the_stack_does_unasked() -> None:
    """Open MPI over EFA has no other policy: osu_bw then has only one rail, and says so."""
    efa = load_systems(ROOT / "systems")["aws-efa"]
    assert why_not(efa, "p4d", "openmpi", 4, BANDWIDTH) == ONE_PAIR.replace("of 2", "of 4")
    assert why_not(efa, "p4d", "openmpi", 1, BANDWIDTH) is None
    assert why_not(efa, "p4d", "openmpi", 4, RATE) is None


def test_every_policy_beside_the_default_is_a_cell_of_its_own(qdr: System) -> None:
    cells = [cell for cell in matrix(qdr, (BANDWIDTH,)) if (cell.test.fabric, cell.test.stack) == ("qdr", "mvapich2")]
    reasons = {(cell.test.rails, cell.test.policy, cell.named): cell.reason for cell in cells}
    assert reasons == {
        (1, "single", False): None,
        (2, "striping", False): None,
        (2, "round-robin", True): None,
        (2, "nic-per-rank", True): ONE_PAIR,
        (2, "striping-8K", True): None,
    }


def test_what_a_stack_cannot_do_has_its_sentence(virtual: Site, qdr: System) -> None:
    found = {
        (cell.test.stack, cell.test.policy): cell.reason for cell in refused_policies(qdr) if cell.test.stack != "verbs"
    }
    assert found == {
        ("openmpi", "round-robin"): "openmpi on ib: UCX splits one large message over its devices and sends small ones "
        "over the first: it has no round robin (mvapich2 has)."
    }
    (cell,) = (
        c for c in refused_policies(virtual.system) if (c.test.stack, c.test.policy) == ("openmpi", "nic-per-rank")
    )
    assert cell == Cell(
        TestId("hsn", "openmpi", 2, policy="nic-per-rank"),
        "openmpi on tcp: every rank of Open MPI's btl/tcp opens all interfaces of the list: use striping.", named=True,
    )  # fmt: skip


def test_a_policy_is_switched_off_by_its_name(qdr: System) -> None:
    cells = {
        (c.test.policy, c.disabled): c.reason
        for c in matrix(qdr, (RATE,))
        if (c.test.stack, c.test.rails) == ("mvapich2", 2)
    }
    assert cells["nic-per-rank", True] == "the source has only striping and round robin"
    assert cells["striping", False] is None


def test_features_and_reasons_agree_on_every_policy() -> None:
    seen = 0
    for system in load_systems(ROOT / "systems").values():
        for fabric in system.fabrics:
            for stack in system.stacks:
                features = set(environment_features(system, fabric, stack))
                for need in (BANDWIDTH, RATE):
                    for policy in (DEFAULT, "single", "striping", "round-robin", "nic-per-rank", "striping-8K"):
                        for rails in (1, 2, 4, 8):
                            if rails > len(system.fabrics[fabric].rails) or need.nodes > system.nodes.number:
                                continue
                            terms = environment_terms(need.tool, rails, policy, need.pairs(rails), beside_default=False)
                            asked = [set(term.split()) for term in terms]
                            taken = any(
                                {word[1:] for word in words if word[0] == "+"} <= features
                                and not {word[1:] for word in words if word[0] == "-"} & features
                                for words in asked
                            )
                            stated = policy in (DEFAULT, *policies(system, fabric, stack, rails))
                            runs = stated and why_not(system, fabric, stack, rails, need, policy) is None
                            assert taken == runs, (system.system, fabric, stack, rails, policy, need.check)
                            seen += 1
    assert seen > 300
