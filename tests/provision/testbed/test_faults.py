"""Degradations: what a person may type, and the resulting commands."""

import pytest

from railyard.base.errors import SetupError
from railyard.provision.testbed.scripts import Degradation, make_commands, parse_degradation, undo_commands
from railyard.provision.testbed.spec import DEFAULT_SPEC

HTB = "parent 1: classid 1:1 htb"
BURST = "burst 64k cburst 64k quantum 60000"


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("slow", "40mbit", "slow (40 Mbit/s)"),
        ("lossy", "1%", "lossy (1 %)"),
        ("lossy", "0.5", "lossy (0.5 %)"),
        ("unplugged", None, "unplugged"),
    ],
)
def test_what_is_typed(kind: str, value: str | None, words: str) -> None:
    assert str(parse_degradation("vn1", "hsn0", kind, value)) == words


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        ("slwo", "1", 'testbed: "slwo" is not a kind of degradation; did you mean "slow"?'),
        ("slow", None, "testbed: slow needs a rate, as in slow 40mbit"),
        ("lossy", None, "testbed: lossy needs a percentage, as in lossy 1"),
        ("lossy", "much", 'testbed: "much" is not a percentage: write 1 or 0.5'),
        ("lossy", "0", "testbed: 0 % of lost packets is not between 0.01 and 100"),
        ("lossy", "101", "testbed: 101 % of lost packets is not between 0.01 and 100"),
        ("lossy", "nan", "testbed: nan % of lost packets is not between 0.01 and 100"),
        ("unplugged", "1", 'testbed: unplugged takes no value, found "1"'),
    ],
)
def test_what_cannot_be_typed(kind: str, value: str | None, sentence: str) -> None:
    with pytest.raises(SetupError) as caught:
        parse_degradation("vn1", "hsn0", kind, value)
    assert str(caught.value) == sentence


def test_slow_reshapes_both_ends_and_undoing_gives_the_rate_of_the_spec() -> None:
    fault = Degradation("vn2", "hsn1", "slow", 40)
    (made,), (undone,) = make_commands(DEFAULT_SPEC, fault), undo_commands(DEFAULT_SPEC, fault)
    assert made.switch == f"class replace dev n2p2 {HTB} rate 40000000bit ceil 40000000bit {BURST}\n"
    assert made.node == f"class replace dev hsn1 {HTB} rate 40000000bit ceil 40000000bit {BURST}\n"
    assert undone.node == f"class replace dev hsn1 {HTB} rate 120000000bit ceil 120000000bit {BURST}\n"


def test_lossy_drops_segments_one_by_one_in_both_directions() -> None:
    single, made = make_commands(DEFAULT_SPEC, Degradation("vn2", "hsn1", "lossy", 1.5))
    assert single.switch == "link set dev n2p2 gso_max_segs 1\n"
    assert single.node == "link set dev hsn1 gso_max_segs 1\n"
    assert 'ingress device "n2p2"' in made.switch
    assert 'ingress device "hsn1"' in made.node
    assert "numgen random mod 10000 < 150 counter drop" in made.node


def test_unplugged_pulls_the_cable_at_the_switch() -> None:
    fault = Degradation("vn4", "eth0", "unplugged")
    (made,), (undone,) = make_commands(DEFAULT_SPEC, fault), undo_commands(DEFAULT_SPEC, fault)
    assert (made.switch, made.node) == ("link set n4p0 down\n", "")
    assert undone.switch == "link set n4p0 up\n"
