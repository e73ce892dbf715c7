"""TCP over a link of RDMA is no pass: a processor sets its rate and latency, whatever the link can do."""

import pytest

from railyard.parsers.detect import parse
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import of_link

QPERF_BW = "tcp_bw:\n    bw  =  {} GB/sec\n"
OUTPUTS = {
    "qperf/tcp_bw": QPERF_BW.format(2.1),
    "qperf/udp_bw": "udp_bw:\n    send_bw  =  2.2 GB/sec\n    recv_bw  =  2.1 GB/sec\n",
    "qperf/tcp_lat": "tcp_lat:\n    latency  =  9.1 us\n",
    "netperf/tcp_stream": (
        "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n"
        "Recv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\n"
        "bytes  bytes   bytes    secs.    10^6bits/sec\n\n 87380  16384  16384    10.00    17000.00\n"
    ),
    "iperf2/iperf2": (
        "------------------------------------------------------------\n"
        "Client connecting to 10.0.0.2, TCP port 5001\nTCP window size: 2.50 MByte (default)\n"
        "------------------------------------------------------------\n"
        "[  3] local 10.0.0.1 port 43210 connected with 10.0.0.2 port 5001\n"
        "[ ID] Interval       Transfer     Bandwidth\n[  3]  0.0-10.0 sec  19.8 GBytes  17.0 Gbits/sec\n"
    ),
}


def judge_text(text: str, link: str) -> Judgement:
    (one,) = judge(parse(text), of_link(link), text=text)
    return one


@pytest.mark.parametrize("key", OUTPUTS)
@pytest.mark.parametrize(("link", "way"), [("ib-edr", "IPoIB"), ("opa-100", "IPoIB"), ("slingshot-11", "TCP")])
def test_tcp_is_no_pass_by_a_link_of_rdma(key: str, link: str, way: str) -> None:
    one = judge_text(OUTPUTS[key], link)
    assert (one.benchmark, one.state) == (key, "not-judged")
    assert f"{key} measures TCP" in one.sentence
    assert way in one.sentence


@pytest.mark.parametrize("link", ["eth-100", "roce-100"])
def test_by_ethernet_it_is_judged_as_before(link: str) -> None:
    assert judge_text(OUTPUTS["qperf/tcp_bw"], link).state == "pass"


def test_too_slow_a_flow_still_fails_and_sdr_bounds_one_itself() -> None:
    assert judge_text(QPERF_BW.format(0.1), "ib-edr").state == "fail"
    assert judge_text(QPERF_BW.format(0.66), "ib-sdr").state == "pass"
