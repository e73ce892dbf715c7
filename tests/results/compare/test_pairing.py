"""Which tests are compared: alike in everything else, or refused by name."""

from collections.abc import Callable

import pytest

from railyard.base.errors import RailyardError
from railyard.results.pairing import pair
from railyard.results.record.form import Record, VerdictRecord

Repeats = Callable[..., tuple[Record, ...]]


def test_repeats_of_a_test_stand_together(repeats: Repeats) -> None:
    found = pair(repeats("a", 3), repeats("b", 2))
    (matched,) = found.matched
    assert (matched.name, len(matched.a), len(matched.b)) == (
        "imb/Uniband (virtual, hsn, mpich, rails 1, single)",
        3,
        2,
    )
    assert found.contrasts == ()


def test_two_fabrics_are_compared_stack_by_stack_and_rail_by_rail(repeats: Repeats) -> None:
    a = repeats("a", 2) + repeats("a", 2, stack="openmpi") + repeats("a", 2, rails=2, policy="striping")
    found = pair(a, repeats("b", 2, fabric="eth") + repeats("b", 2, fabric="eth", stack="intelmpi"))
    assert [(one.name, len(one.a), len(one.b)) for one in found.matched] == [
        ("imb/Uniband (virtual, mpich, rails 1, single)", 2, 2)
    ]
    assert found.contrasts == (("fabric", "hsn", "eth"),)
    assert found.only_a == (
        "imb/Uniband (virtual, openmpi, rails 1, single)",
        "imb/Uniband (virtual, mpich, rails 2, striping)",
    )
    assert found.only_b == ("imb/Uniband (virtual, intelmpi, rails 1, single)",)


def test_one_rail_and_two_differ_in_their_policy_too(repeats: Repeats) -> None:
    found = pair(repeats("a", 2), repeats("a", 2, rails=2, policy="striping"))
    assert found.contrasts == (("rails", "1", "2"), ("policy", "single", "striping"))
    assert [one.name for one in found.matched] == ["imb/Uniband (virtual, hsn, mpich)"]


def test_other_parameters_of_a_check_and_other_numbers_of_nodes_are_other_tests(repeats: Repeats) -> None:
    a = repeats("a", 1, case="Hpl %rails=1 %n=4 @virtual:hsn+mpich", nodes=("n1", "n2", "n3", "n4"))
    b = repeats("b", 1, case="Hpl %rails=1 %n=4 @virtual:hsn+mpich")
    with pytest.raises(RailyardError) as caught:
        pair(a, b)
    assert str(caught.value) == (
        "A has imb/Uniband (virtual, hsn, mpich, rails 1, single, %n=4, 4 nodes), "
        "B has imb/Uniband (virtual, hsn, mpich, rails 1, single, %n=4): "
        "found no test that is the same on both sides except for their difference"
    )
    assert pair(a, a).matched[0].name == "imb/Uniband (virtual, hsn, mpich, rails 1, single, %n=4, 4 nodes)"


def test_other_benchmarks_are_refused_by_name(repeats: Repeats) -> None:
    with pytest.raises(RailyardError) as caught:
        pair(repeats("a", 1), repeats("b", 1, benchmark="osu/osu_bw"))
    assert str(caught.value) == (
        "A has imb/Uniband, B has osu/osu_bw: found no benchmark that both have; figures of different benchmarks "
        "are not compared; name runs of the same one"
    )


def test_several_stacks_against_one_other_are_refused(repeats: Repeats) -> None:
    with pytest.raises(RailyardError) as caught:
        pair(repeats("a", 1) + repeats("a", 1, stack="openmpi"), repeats("b", 1, stack="intelmpi"))
    assert str(caught.value) == (
        "side A: found stack mpich and openmpi for imb/Uniband, expected one stack, since the sides differ in it; "
        "name one, such as :stack=mpich"
    )


def test_what_was_not_measured_over_its_path_is_left_out_and_said(repeats: Repeats) -> None:
    good = repeats("a", 3)
    lost = good[0].with_fields(state="fail", verdict=VerdictRecord("idle rail", 4))
    slow = good[1].with_fields(state="fail", verdict=VerdictRecord("slow", 5))
    starved = good[1].with_fields(state="disturbed", verdict=VerdictRecord("slow", 5))
    found = pair([lost, slow, good[2], starved], repeats("b", 1))
    assert found.matched[0].a == (slow, good[2])
    assert found.left_out == (
        "side A: 1 left out, failed rule 4: ImbUniband %rails=1 @virtual:hsn+mpich",
        "side A: 1 left out, disturbed: ImbUniband %rails=1 @virtual:hsn+mpich",
    )


def test_a_side_of_which_nothing_was_measured_is_refused(repeats: Repeats) -> None:
    none = [record.with_fields(state="not-tested") for record in repeats("b", 2)]
    with pytest.raises(RailyardError) as caught:
        pair(repeats("a", 1), none)
    assert str(caught.value) == (
        "side B: found no test that measured anything, expected one; side B: 2 left out, not tested: "
        "ImbUniband %rails=1 @virtual:hsn+mpich"
    )


def test_an_output_that_is_played_again_is_one_repeat(repeats: Repeats) -> None:
    played = repeats("a", 5, replayed="computed from published values, not measured")
    assert len(pair(played, repeats("b", 5)).matched[0].a) == 1
