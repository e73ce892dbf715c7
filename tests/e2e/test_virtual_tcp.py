"""The stacks without MPI on the virtual cluster: streams and ping-pongs over each network, and cases that must fail."""

import pytest

from railyard.verdict.wording import NOT_INTENDED, WITH_EVERY
from tests.e2e.conftest import VirtualSite, outcomes, suspects, verdict_summary

pytestmark = [pytest.mark.e2e, pytest.mark.full]

PASSES = ("pass", None, None)
#: Uses the first rail's addresses as those of the management network, at both ends.
ASTRAY = """\
#!/bin/sh
left=$#
while [ "$left" -gt 0 ]; do
    word=$1
    shift
    left=$((left - 1))
    case $word in 10.99.1.*) word=10.99.0.${word##*.} ;; esac
    set -- "$@" "$word"
done
exec /usr/bin/iperf3 "$@"
"""


def test_streams_pass_over_one_rail_two_rails_and_the_management_network(site: VirtualSite) -> None:
    ran = site.run("--system", "virtual", "-n", "TcpStream")
    assert (ran.code, ran.err) == (0, "")
    assert outcomes(ran.records) == {
        f"TcpStream %rails={rails} %streams={streams} @virtual:{fabric}+tcp": PASSES
        for fabric, rails in (("hsn", 1), ("hsn", 2), ("eth", 1))
        for streams in (1, 4)
    }
    for record in ran.records:
        (figure,) = record.found.figures
        # Of 15 MB/s per rail, 95.6 % is payload; the reference has already tested how much less a busy host may give.
        rate = {"hsn": 14.3 * record.test.rails, "eth": 9.56}[record.where.fabric]
        assert 0.85 * rate < figure.value < 1.01 * rate, record.test.case
        (proof,) = (rule for rule in record.found.verdict.rules if rule.rule == 4)
        assert proof.state == "pass", record.test.case


def test_netpipe_and_libfabric_pass_over_every_network(site: VirtualSite) -> None:
    ran = site.run("--system", "virtual", "-n", "NetpipeTcpPingPong|OfiPingPong")
    assert (ran.code, ran.err) == (0, "")
    assert outcomes(ran.records) == {
        f"{check} %rails={rails} @virtual:{fabric}+{stack}": PASSES
        for check, stack in (("NetpipeTcpPingPong", "tcp"), ("OfiPingPong", "libfabric"))
        for fabric, rails in (("hsn", 1), ("hsn", 2), ("eth", 1))
    }


def test_a_slow_rail_is_named_with_its_node(site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn2", "hsn1", "slow", 12)
        one = site.run("--system", "virtual:hsn", "-n", "TcpStream%rails=1%streams=1")
        two = site.run("--system", "virtual:hsn", "-n", "TcpStream%rails=2%streams=1")
    assert (one.code, verdict_summary(one.record)) == (0, PASSES)
    assert (two.code, verdict_summary(two.record)) == (1, ("fail", 5, "fabric"))
    assert suspects(two.record) == {("rail", "vn2", "hsn1")}
    assert f"hsn1 of vn2 is slow {WITH_EVERY}" in two.record.found.verdict.text


def test_a_stream_over_another_network_fails_by_its_path(site: VirtualSite) -> None:
    astray = site.folder / "iperf3-astray"
    astray.write_text(ASTRAY, encoding="utf-8")
    astray.chmod(0o755)
    site.edit("systems/virtual.yaml", 'iperf3: "{prefix}/bin/iperf3"', 'iperf3: "{home}/iperf3-astray"')
    ran = site.run("--system", "virtual:hsn", "-n", "TcpStream%rails=1%streams=1")
    assert (ran.code, verdict_summary(ran.record)) == (1, ("fail", 4, "set-up"))
    assert f"went over eth0 of vn1, which {NOT_INTENDED}" in ran.record.found.verdict.text


def test_a_pulled_cable_is_named(site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn1", "hsn0", "unplugged")
        ran = site.run("--system", "virtual:hsn", "-n", "TcpStream%rails=1%streams=1")
    assert (ran.code, verdict_summary(ran.record)) == (1, ("fail", 1, "fabric"))
    assert suspects(ran.record) == {("rail", "vn1", "hsn0")}
