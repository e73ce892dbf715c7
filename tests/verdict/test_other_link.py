"""An output that names another kind of link than the one it is judged by: that is said first, and no rail is blamed."""

import pytest

from railyard.parsers import perftest
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import of_link
from railyard.verdict.wording import not_judged, stored_outputs


def ib_write_bw(link_type: str, mib_s: float) -> str:
    """Return what ib_write_bw prints at its default size, 64 KiB, over this kind of link."""
    return (
        "                    RDMA_Write BW Test\n"
        " Number of qps   : 1            Transport type : IB\n"
        " TX depth        : 128\n"
        " Mtu             : 4096[B]\n"
        f" Link type       : {link_type}\n"
        " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
        f" 65536      5000             {mib_s:.2f}           {mib_s:.2f}             {mib_s * 16 / 1e6:.6f}\n"
        f"{'-' * 87}\n"
    )


def verdict(link_type: str, mib_s: float, link: str) -> Judgement:
    text = ib_write_bw(link_type, mib_s)
    (judgement,) = judge(perftest.parse(text), of_link(link), text=text)
    return judgement


@pytest.mark.parametrize(
    ("link_type", "mib_s", "link", "sentence"),
    [
        (
            *("Ethernet", 10686.0, "ib-hdr"),
            'not judged: the output says "Link type: Ethernet" (line 5), but --link ib-hdr is InfiniBand: give --link '
            "the RoCE link of its port (roce-25, roce-100, roce-200, …); ibstatus shows its rate",
        ),
        (
            *("IB", 22039.0, "roce-100"),
            'not judged: the output says "Link type: IB" (line 5), but --link roce-100 is RoCE: give --link the '
            "InfiniBand or Omni-Path link of its port (ib-edr, ib-hdr, opa-100, …); ibstatus shows its rate",
        ),
    ],
)
def test_another_kind_of_link_is_named_with_its_line_and_what_to_give_instead(
    link_type: str, mib_s: float, link: str, sentence: str
) -> None:
    found = verdict(link_type, mib_s, link)
    assert (found.state, found.sentence, found.causes) == ("not-judged", sentence, ())


def test_an_output_of_edr_does_not_pass_by_a_link_of_ethernet_at_the_same_rate() -> None:
    assert verdict("IB", 11200.0, "ib-edr").state == "pass"
    assert verdict("IB", 11200.0, "roce-100").state == "not-judged"


@pytest.mark.parametrize(
    ("link_type", "link"),
    [
        ("IB", "ib-edr"),
        ("IB", "opa-100"),
        ("Ethernet", "roce-100"),
        ("Ethernet", "slingshot-10"),
        ("Unknown", "ib-edr"),
    ],
)
def test_the_kind_of_the_link_or_one_that_nobody_knows_is_judged(link_type: str, link: str) -> None:
    assert verdict(link_type, 5000.0, link).state == "fail"


@pytest.mark.parametrize(
    ("line", "link", "by", "network"),
    [
        (" Connection type : SRD", "ib-edr", stored_outputs.connection("SRD"), "efa"),
        (" Device         : hfi1_0", "ib-edr", stored_outputs.device("hfi1_0"), "omnipath"),
        (" Device         : rxe0", "roce-100", stored_outputs.device("rxe0"), "software"),
        (" Device         : efa_0", "ib-edr", stored_outputs.device("efa_0"), "efa"),
        (" Device         : cxgb4_0", "roce-100", stored_outputs.device("cxgb4_0"), "iwarp"),
    ],
)
def test_a_connection_or_device_of_another_network_is_named_first(
    line: str, link: str, by: str, network: stored_outputs.Network
) -> None:
    kind = "Ethernet" if link.startswith("roce") else "IB"
    text = ib_write_bw(kind, 11200.0).replace(" TX depth        : 128\n", f"{line}\n TX depth        : 128\n")
    (found,) = judge(perftest.parse(text), of_link(link), text=text)
    assert (found.state, found.sentence) == (
        "not-judged",
        not_judged(stored_outputs.other_network(by, network, link, "")),
    )


def test_a_device_of_the_link_is_judged_and_an_older_card_is_a_remark() -> None:
    for device, link in (("hfi1_0", "opa-100"), ("mlx5_0", "ib-edr"), ("mlx4_0", "ib-edr")):
        text = ib_write_bw("IB", 11200.0).replace(" TX depth", f" Device         : {device}\n TX depth")
        (found,) = judge(perftest.parse(text), of_link(link), text=text)
        assert found.state == "pass"
        assert any("ConnectX-3" in remark for remark in found.remarks) == (device == "mlx4_0")


def test_iwarp_is_no_link_of_the_list() -> None:
    text = ib_write_bw("Ethernet", 11200.0).replace("Transport type : IB", "Transport type : IW")
    (found,) = judge(perftest.parse(text), of_link("roce-100"), text=text)
    assert found.state == "not-judged"
    assert found.sentence.startswith("not judged: the output is of a transport of type IW: iWARP")


@pytest.mark.parametrize(("device", "ends"), [("qib0", "QDR"), ("mthca0", "DDR")])
def test_a_card_that_ends_below_the_link_is_named_and_its_own_link_is_judged(device: str, ends: str) -> None:
    text = ib_write_bw("IB", 11200.0).replace(" TX depth", f" Device         : {device}\n TX depth")
    (found,) = judge(perftest.parse(text), of_link("ib-edr"), text=text)
    assert found.state == "not-judged"
    assert f"the device {device}, and cards of that name end at {ends}, but ib-edr is faster" in found.sentence
    slow = ib_write_bw("IB", 1700.0).replace(" TX depth", f" Device         : {device}\n TX depth")
    (found,) = judge(perftest.parse(slow), of_link("ib-ddr"), text=slow)
    assert found.state == "pass"
