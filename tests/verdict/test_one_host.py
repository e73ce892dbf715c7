"""A run within one node is no measurement of a network: it does not pass by one, and no rail is blamed for it first."""

import json

import pytest

from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks.model import Figure
from railyard.parsers import cxi, iperf3, osu, perftest, qperf
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import Nodes, of_link
from railyard.verdict.wording import too_short

SIZES = (0, *(1 << n for n in range(23)))


def osu_latency(start_us: float, mb_s: float) -> str:
    """Return what osu_latency prints of a network with this half round trip and rate."""
    rows = (f"{size:<20}{start_us + size / mb_s:>10.2f}" for size in SIZES)
    return "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n" + "\n".join(rows) + "\n"


def osu_bw(cost_us: float, mb_s: float) -> str:
    """Return what osu_bw prints of a network with this time from message to message and rate."""
    rows = (f"{size:<20}{size / (cost_us + size / mb_s):>10.2f}" for size in SIZES[1:])
    return "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n" + "\n".join(rows) + "\n"


def ib_write_lat(us: float) -> str:
    """Return what ib_write_lat prints of one size, 2 B."""
    return (
        "                    RDMA_Write Latency Test\n"
        " Number of qps   : 1            Transport type : IB\n"
        " Link type       : IB\n"
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
        "99% percentile[usec]   99.9% percentile[usec]\n"
        f" 2       1000          {us:.2f}           {us:.2f}         {us:.2f}              {us:.2f}           0.00   "
        f"         {us:.2f}                   {us:.2f}\n"
        f"{'-' * 87}\n"
    )


def verdict(text: str, link: str) -> Judgement:
    parse = osu.parse if "OSU" in text else perftest.parse
    (judgement,) = judge(parse(text), of_link(link), text=text)
    return judgement


@pytest.mark.parametrize(
    ("link", "impossible_us", "possible_us", "least_us", "because"),
    [
        ("eth-100", 2.9, 3.1, 3, "(over TCP the lowest posted half round trip is 12.7 us"),
        ("efa-100", 4.9, 5.1, 5, "(over EFA the lowest posted half round trip is 9.9 us"),
        ("ib-edr", 0.69, 0.8, 0.7, "(over RDMA the lowest published value of MPI is 0.80 us"),
        ("slingshot-11", 0.6, 0.8, 0.7, "(over RDMA the lowest published value of MPI is 0.80 us"),
    ],
)
def test_half_a_round_trip_through_a_library_is_not_below_the_least_of_its_network(
    link: str, impossible_us: float, possible_us: float, least_us: float, because: str
) -> None:
    found = verdict(osu_latency(impossible_us, 10000 if link != "slingshot-11" else 20000), link)
    assert found.state == "fail"
    short = too_short(Figure("latency", impossible_us, "us", 0), least_us)
    assert f"rule 3 (possible): {IMPOSSIBLE}{short} {because}" in found.sentence
    assert "look at whether both ranks ran on one node (shared memory)" in found.sentence
    assert [each.cause for each in found.causes] == ["one-node"]
    assert verdict(osu_latency(possible_us, 10000 if link != "slingshot-11" else 20000), link).state == "pass"


def test_a_card_without_a_library_may_take_less() -> None:
    assert verdict(ib_write_lat(0.5), "ib-ndr").state == "pass"
    assert verdict(ib_write_lat(0.39), "ib-ndr").state == "fail"


@pytest.mark.parametrize(
    ("text", "link", "cause"),
    [
        (osu_latency(0.75, 14900), "ib-hdr", "one-node"),
        (osu_bw(0.12, 16000), "ib-ndr", "one-node-rate"),
    ],
)
def test_a_slow_curve_that_looks_like_shared_memory_sends_nobody_to_the_rails_first(
    text: str, link: str, cause: str
) -> None:
    found = verdict(text, link)
    assert [each.cause for each in found.causes] == [cause]
    assert "rule 5 (reference)" in found.sentence
    assert "; look at whether both ranks ran on one node (shared memory); if not, each rail alone" in found.sentence


@pytest.mark.parametrize(
    ("text", "link", "causes"),
    [
        (osu_latency(1.0, 14900), "ib-hdr", []),
        (osu_bw(0.7, 16000), "ib-ndr", []),  # a card, not memory: a message takes too long
        (osu_bw(0.15, 12000), "ib-ndr", ["fewer-lanes", "lower-generation"]),  # a rate of EDR
    ],
)
def test_a_slow_curve_of_a_network_is_not_called_shared_memory(text: str, link: str, causes: list[str]) -> None:
    found = verdict(text, link)
    assert (found.state, [each.cause for each in found.causes]) == ("fail", causes)
    assert "look at each rail alone" in found.sentence


def iperf3_client(local: str, remote: str) -> str:
    """Return what a client of iperf3 prints of 60 Gbit/s from one address to another."""
    interval, sums = "[ ID] Interval           Transfer     Bitrate         Retr", "69.85 GBytes  60.00 Gbits/sec"
    return (
        f"Connecting to host {remote}, port 5201\n"
        f"[  5] local {local} port 40005 connected to {remote} port 5201\n"
        f"{interval}  Cwnd\n"
        f"[  5]   0.00-10.00  sec  {sums}    0   1.33 MBytes\n"
        f"- - - - - - - - - - - - - - - - - - - - - - - - -\n{interval}\n"
        f"[  5]   0.00-10.00  sec  {sums}    0             sender\n"
        f"[  5]   0.00-10.04  sec  {sums}                  receiver\n\niperf Done.\n"
    )


def iperf3_json(local: str, remote: str, indent: int | None) -> str:
    """Return what a client of iperf3 writes with -J of 60 Gbit/s from one address to another."""
    ends = {"socket": 5, "local_host": local, "local_port": 40005, "remote_host": remote, "remote_port": 5201}
    sums = {"start": 0, "end": 10, "seconds": 10, "bytes": 75 * 10**9, "bits_per_second": 60e9}
    start = {"connected": [ends], "version": "iperf 3.9", "test_start": {"protocol": "TCP", "num_streams": 1}}
    return json.dumps({"start": start, "intervals": [], "end": {"sum_sent": sums, "sum_received": sums}}, indent=indent)


def ib_write_bw(local: str, remote: str, gids: tuple[str, str] | None = None, ports: str = "OFF") -> str:
    """Return what ib_write_bw prints of 11.4 GB/s for two LIDs, or for two GIDs."""
    kind, under = ("IB", ("", "")) if gids is None else ("Ethernet", tuple(f" GID: {gid}\n" for gid in gids))
    rule = f"{'-' * 87}\n"
    return (
        f"{rule}                    RDMA_Write BW Test\n"
        f" Dual-port       : {ports}          Device         : mlx5_0\n"
        " Number of qps   : 1            Transport type : IB\n"
        f" Link type       : {kind}\n{rule}"
        f" local address: LID {local} QPN 0x0127 PSN 0x4bd5a1\n{under[0]}"
        f" remote address: LID {remote} QPN 0x0128 PSN 0xd7d1a3\n{under[1]}{rule}"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        f" 65536      5000           91.29              91.20                0.173950\n{rule}"
    )


GID = "00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:0"


@pytest.mark.parametrize(
    ("text", "link", "of"),
    [
        (iperf3_client("127.0.0.1", "127.0.0.1"), "eth-100", "127.0.0.1, line 2"),
        (iperf3_client("10.0.0.1", "10.0.0.1"), "eth-100", "10.0.0.1, line 2"),
        (iperf3_client("::1", "::1"), "eth-100", "::1, line 2"),
        (iperf3_client("10.0.0.1%eth0", "10.0.0.1"), "eth-100", "10.0.0.1, line 2"),
        (iperf3_client("172.17.0.1", "172.17.0.2"), "eth-100", "172.17.0.2, line 2: 172.17.0.1 is docker0"),
        (iperf3_client("172.17.0.3", "172.17.0.1"), "eth-100", "172.17.0.1, line 2: 172.17.0.1 is docker0"),
        (iperf3_json("127.0.0.1", "127.0.0.1", 2), "eth-100", "127.0.0.1, line 6"),
        (iperf3_json("10.0.0.1", "::ffff:10.0.0.1", 2), "eth-100", "::ffff:10.0.0.1, line 6"),
        (iperf3_json("::1", "::1", None), "eth-100", "::1, line 1"),
        (ib_write_bw("0x01", "0x01"), "ib-edr", "LID 0x01, line 8"),
        (ib_write_bw("0000", "0000", (f"{GID}1", f"{GID}1")), "roce-100", f"GID {GID}1, line 9"),
    ],
)
def test_an_output_with_one_host_at_both_ends_is_not_judged_by_a_link(text: str, link: str, of: str) -> None:
    parse = perftest.parse if "RDMA" in text else iperf3.parse
    (found,) = judge(parse(text), of_link(link), text=text)
    assert found.state == "not-judged"
    assert f"{of})" in found.sentence and f"nothing crossed {link}" in found.sentence
    (meant,) = judge(parse(text), of_link(link), text=text, nodes=Nodes(count=1))
    assert "same host" not in meant.sentence


@pytest.mark.parametrize(
    ("text", "link"),
    [
        (iperf3_client("10.0.0.1", "10.0.0.2"), "eth-100"),
        (iperf3_client("172.17.0.2", "172.17.0.3"), "eth-100"),
        (iperf3_client("172.17.0.1", "172.18.0.2"), "eth-100"),
        (iperf3_json("10.0.0.1", "10.0.0.2", 2), "eth-100"),
        (iperf3_json("10.0.0.1", "10.0.0.2", None), "eth-100"),
        (ib_write_bw("0x01", "0x02"), "ib-edr"),
        (ib_write_bw("0000", "0000", (f"{GID}1", f"{GID}2")), "roce-100"),
        (ib_write_bw("0000", "0000"), "ib-edr"),  # no LID: nothing is known
    ],
)
def test_two_hosts_are_judged_by_their_link(text: str, link: str) -> None:
    parse = perftest.parse if "RDMA" in text else iperf3.parse
    (found,) = judge(parse(text), of_link(link), text=text)
    assert found.state == "pass"


@pytest.mark.parametrize(("names", "state"), [(("node1", "node1"), "not-judged"), (("node1", "node2"), "pass")])
def test_one_node_in_the_conf_of_qperf_is_one_host(names: tuple[str, str], state: str) -> None:
    text = f"conf:\n    loc_node   =  {names[0]}\n    rem_node   =  {names[1]}\nrc_bw:\n    bw  =  11.4 GB/sec\n"
    (found, *_) = judge(qperf.parse(text), of_link("ib-edr"), benchmark="qperf/rc_bw", text=text)
    assert found.state == state


def test_two_ports_ask_for_two_rails() -> None:
    text = (
        ib_write_bw("0x01", "0x02", ports="ON")
        .replace("91.29", "182.60")
        .replace("91.20", "182.40")
        .replace("0.173950", "0.347900")
    )
    assert verdict(text, "ib-edr").sentence.endswith("and one rail is named: say --rails 2")
    (found,) = judge(perftest.parse(text), of_link("ib-edr", rails=2), text=text)
    assert found.state == "pass"


@pytest.mark.parametrize(("server", "state"), [("0x34", "pass"), ("0x12", "not-judged")])
def test_a_card_of_slingshot_that_writes_to_itself_is_not_judged(server: str, state: str) -> None:
    rows = "".join(f"{n:>12}{64000:>12}{n / (0.02 + n / 23_800):>10.2f}{1.0:>18.6f}\n" for n in SIZES[1:])
    line = "-" * 51 + "\n"
    text = (
        f"{line}    CXI RDMA Write Bandwidth Test\nDevice           : cxi0\nMax Write Size   : 4194304\n"
        f"Local (client)   : NIC 0x12 PID 0 VNI 10\nRemote (server)  : NIC {server} PID 0\n{line}"
        f"RDMA Size[B]      Writes  BW[MB/s]  PktRate[Mpkt/s]\n{rows}{line}"
    )
    (found,) = judge(cxi.parse(text), of_link("slingshot-11"), text=text)
    assert found.state == state
    assert ("both ends are the same host (NIC 0x12, line 6)" in found.sentence) == (state != "pass")
