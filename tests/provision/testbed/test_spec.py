"""Possible testbeds, and the sentences for impossible ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.testbed.spec import DEFAULT_SPEC, Network, TestbedSpec, parse_rate, spec_from_json, spec_of
from railyard.site.systems.load import load_system

ROOT = Path(__file__).parents[3]
ETH0 = Network("management", "eth0", "10.0.0.0/24", 200.0)


@pytest.mark.parametrize(
    ("text", "mbit_s"),
    [("40", 40.0), ("40mbit", 40.0), ("1.5 Gbit/s", 1500.0), ("500kbit", 0.5), (" 40Mbit ", 40.0), ("1e1", None),
     ("40000000bit", 40.0)],
)  # fmt: skip
def test_rates_are_mbit_s_unless_they_say_otherwise(text: str, mbit_s: float | None) -> None:
    if mbit_s is None:
        with pytest.raises(SetupError):
            parse_rate(text)
    else:
        assert parse_rate(text) == pytest.approx(mbit_s)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("fast", 'testbed: the rate "fast" is not a number of Mbit/s: write 40, 40mbit or 1.5gbit'),
        ("", 'testbed: the rate "" is not a number of Mbit/s: write 40, 40mbit or 1.5gbit'),
        ("-1", 'testbed: the rate "-1" is not a number of Mbit/s: write 40, 40mbit or 1.5gbit'),
        ("nan", 'testbed: the rate "nan" is not a number of Mbit/s: write 40, 40mbit or 1.5gbit'),
        ("40MB/s", 'testbed: the rate "40MB/s" is not a number of Mbit/s: write 40, 40mbit or 1.5gbit'),
        ("0", "testbed: a rate of 0 Mbit/s cannot be shaped: it must be from 0.1 to 100000 Mbit/s"),
        ("101gbit", "testbed: a rate of 101000 Mbit/s cannot be shaped: it must be from 0.1 to 100000 Mbit/s"),
    ],
)
def test_a_rate_that_is_none_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(SetupError) as caught:
        parse_rate(text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("nodes", "networks", "sentence"),
    [
        ((), (ETH0,), "testbed: there is no node: name at least one"),
        (("a", "a"), (ETH0,), 'testbed: the node "a" is named twice'),
        (
            ("--help",),
            (ETH0,),
            "testbed: '--help' cannot be the name of a node: it must be letters, digits and inner hyphens, "
            "at most 63 characters",
        ),
        (
            ("a",),
            (replace(ETH0, device="$(reboot)"),),
            "testbed: '$(reboot)' cannot be the name of a device: it must be a letter, then letters, digits and _, "
            "at most 15 characters",
        ),
        (
            ("a",),
            (replace(ETH0, device="lo"),),
            'testbed: no network can have the device "lo": each node already has its own loopback',
        ),
        (
            ("a",),
            (replace(ETH0, subnet="10.0.0.1/24"),),
            "testbed: the subnet of eth0 is not an IPv4 network: 10.0.0.1/24 has host bits set",
        ),
        (
            ("a", "b", "c"),
            (replace(ETH0, subnet="10.0.0.0/30"),),
            "testbed: the subnet 10.0.0.0/30 of eth0 has no room for 3 nodes",
        ),
        (
            ("a",),
            (ETH0, Network("rail", "hsn0", "10.0.0.128/25", None)),
            "testbed: the subnets 10.0.0.0/24 and 10.0.0.128/25 overlap: give each network its own",
        ),
        (
            ("a",),
            (replace(ETH0, rate_mbit_s=float("nan")),),
            "testbed: a rate of nan Mbit/s cannot be shaped: it must be from 0.1 to 100000 Mbit/s",
        ),
    ],
)
def test_what_no_testbed_can_be_is_one_sentence(
    nodes: tuple[str, ...], networks: tuple[Network, ...], sentence: str
) -> None:
    with pytest.raises(SetupError) as caught:
        TestbedSpec(nodes, networks)
    assert str(caught.value) == sentence


def test_unknown_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(SetupError) as caught:
        DEFAULT_SPEC.node("v2")
    assert str(caught.value) == 'testbed: no node is called "v2"; did you mean "vn2"?'
    with pytest.raises(SetupError) as caught:
        DEFAULT_SPEC.network("ib0")
    assert str(caught.value) == 'testbed: no network has the device "ib0"; known: eth0, hsn0, hsn1'


def test_addresses_count_from_one() -> None:
    assert DEFAULT_SPEC.address("vn3", "hsn1") == "10.99.2.3"


def test_a_spec_survives_json() -> None:
    assert spec_from_json(DEFAULT_SPEC.to_json()) == DEFAULT_SPEC


def test_the_default_is_what_the_system_file_says() -> None:
    assert spec_of(load_system(ROOT / "systems" / "virtual.yaml")) == DEFAULT_SPEC
