"""lspci, ibstat or ibv_devinfo beside a table: a degraded slot or a slower port is named as likely cause."""

from pathlib import Path

import pytest

from railyard.parsers.detect import parse
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import of_link
from tests.verdict.hints.test_fallback import osu_bw

SAMPLES = Path(__file__).resolve().parents[2] / "parsers" / "fabric" / "samples"
LSPCI = (SAMPLES / "lspci.txt").read_text(encoding="utf-8")
IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4123
\tNumber of ports: 1
\tFirmware version: 20.31.1014
\tNode GUID: 0xb8599f0300aa0001
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: {rate}
\t\tBase lid: 10
\t\tSM lid: 1
\t\tPort GUID: 0xb8599f0300aa0001
\t\tLink layer: {layer}
"""
SLOW = osu_bw(0.6, 6_300)
SLOT = (
    "the slot of 81:00.0 (Mellanox Technologies MT28908 Family [ConnectX-6]), line 11: its slot runs at 8 GT/s x8 "
    "(LnkSta), and the card could do 16 GT/s x16 (LnkCap), 7202 MB/s at most"
)


def judge_text(text: str, link: str = "ib-edr") -> Judgement:
    (one,) = judge(parse(text), of_link(link), text=text)
    return one


def causes_beside(one: Judgement) -> list[str]:
    return [cause.description for cause in one.causes if cause.cause.endswith("-beside")]


def test_a_degraded_slot_is_named_first_as_likely_cause() -> None:
    found = judge_text(LSPCI + SLOW)
    assert (found.state, causes_beside(found)) == ("fail", [f"{SLOT}"])
    assert found.causes[0].cause == "slot-beside"


def test_a_port_of_a_lower_rate_is_named_as_likely_cause() -> None:
    text = SLOW + IBSTAT.format(rate=56, layer="InfiniBand")
    assert causes_beside(judge_text(text)) == ["mlx5_0 port 1, line 31: 56 Gbit/s, below the 100 Gbit/s of ib-edr"]


def test_a_small_path_mtu_is_named_as_likely_cause() -> None:
    text = SLOW + (SAMPLES / "ibv_devinfo.txt").read_text(encoding="utf-8").replace("10.0 Gbps (8)", "25.0 Gbps (32)")
    assert causes_beside(judge_text(text)) == ["mlx4_0 port 1, line 32: active_mtu 2048 below max_mtu 4096"]


@pytest.mark.parametrize(
    "text",
    [
        IBSTAT.format(rate=100, layer="InfiniBand"),
        IBSTAT.format(rate=25, layer="Ethernet"),  # not the port of an InfiniBand run
        IBSTAT.format(rate=40, layer="InfiniBand").replace("State: Active", "State: Down"),
        (SAMPLES / "lspci-old.txt").read_text(encoding="utf-8"),
    ],
)
def test_what_is_as_it_should_be_is_no_cause(text: str) -> None:
    assert causes_beside(judge_text(SLOW + text)) == []


def test_beside_a_pass_it_is_a_remark() -> None:
    found = judge_text(LSPCI + osu_bw(0.3, 12_100))
    assert (found.state, causes_beside(found)) == ("pass", [])
    assert f"in the same text: {SLOT}" in found.remarks
