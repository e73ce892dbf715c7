"""Faults planted on the virtual cluster: each must fail by its rule, and name the part at fault and nothing else.

One demonstration per rule runs in `make test`; those with other stacks, and the slow ones, are marked `full`.
"""

import re
import sys

import pytest

from railyard.base.wording import IMPOSSIBLE
from railyard.results.record.form import Record
from railyard.verdict.wording import IDLE_SECOND, NOBODY_BLAMED, NOT_INTENDED, WITH_EVERY
from tests.e2e.conftest import Ran, VirtualSite, expect_of_another, suspects, verdict_summary

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("machine")]

full = pytest.mark.full
#: The check that streams over two rails with each stack, and the names of its references.
STREAMING = {
    "mpich": ("ImbUniband", "two-rails-striped"),
    "openmpi": ("NetpipeStream", "unwindowed-two-rails-striped"),
    "intelmpi": ("ImbUniband", "two-rails-round-robin"),
}
#: The words after a rail's name if probes found it slow while others were good in the same seconds.
SLOW = (
    rf" is slow {WITH_EVERY}: at best [\d.]+ MB/s with vn\d, [\d.]+ MB/s with vn\d and [\d.]+ MB/s with vn\d; "
    r"the same rail carried at least 1\d\.\d+ MB/s between "
)
EACH_STACK = [pytest.param("mpich"), pytest.param("openmpi", marks=full), pytest.param("intelmpi", marks=full)]

#: A hook for a check's base class: the launcher gets other devices than planned, as a site's own settings may cause.
TOLD_OTHERWISE = """\
    @run_after("setup")
    def tell_it_otherwise(self) -> None:
        def told(text: str) -> str:
            return text.replace("hsn0,hsn1", "DEVICE").replace("hsn0:1,hsn1:1", "DEVICE:1")

        self.job.launcher.options = [told(word) for word in self.job.launcher.options]
        self.env_vars = {name: told(str(text)) for name, text in self.env_vars.items()}

"""


def tell_stacks(site: VirtualSite, device: str) -> None:
    """Make the site's checks give each stack only this one device although two rails were asked for."""
    hook = TOLD_OTHERWISE.replace("DEVICE", device)
    for file, word in (("checks/microbench/imb.py", "benchmark"), ("checks/microbench/netpipe.py", "tool")):
        site.edit(
            file, "import reframe as rfm\n", "import reframe as rfm\nfrom reframe.core.builtins import run_after\n"
        )
        site.edit(file, f"    {word} = ", f"{hook}    {word} = ")


def failed_record(ran: Ran) -> Record:
    """Return the only record of a failed run; the terminal repeats its sentence and shows no traceback."""
    assert (ran.code, ran.err) == (1, "")
    assert "Traceback" not in ran.out
    assert "1 test: 0 pass, 1 fail, 0 disturbed, 0 report-only, 0 expected failure, 0 not tested" in ran.full_text
    assert ran.record.found.verdict.headline in ran.full_text
    return ran.record


def rule(record: Record, number: int) -> tuple[str, str]:
    """Return state and sentence of one rule."""
    return next((one.state, one.sentence) for one in record.found.verdict.rules if one.rule == number)


# --- rule 5: a rail of one node at half its rate, or at 90 % of it


@pytest.mark.parametrize(
    ("stack", "mbit_s"),
    [
        pytest.param("mpich", 60, marks=full),
        pytest.param("mpich", 108, marks=full),
        pytest.param("openmpi", 60, marks=full),
        pytest.param("intelmpi", 60, marks=full),
    ],
)
def test_a_slow_rail_of_one_node_is_named(stack: str, mbit_s: float, site: VirtualSite) -> None:
    check, reference = STREAMING[stack]
    with site.bed() as bed:
        bed.degrade("vn2", "hsn1", "slow", mbit_s)
        record = failed_record(site.cell(check, stack, 2))
    assert verdict_summary(record) == ("fail", 5, "fabric")
    # The rail of the node, not its partner and not the other rail.
    assert suspects(record) == {("rail", "vn2", "hsn1")}
    said = record.found.verdict.text
    assert re.match(
        rf"bandwidth [\d.]+ MB/s at \d+ [KM]iB [a-z ]+ [\d.]+ MB/s \(\d\d\.\d %\), the bound of {reference} ", said
    )
    assert ", over hsn0 and hsn1 of vn1 and vn2; " in said
    assert re.search(f"; hsn1 of vn2{SLOW}", said)
    assert record.found.verdict.next == (
        "cable, port and switch port of hsn1 of vn2: link state, and error counters of both ends"
    )
    # It still split its messages over both rails: the bytes are right.
    assert rule(record, 4)[0] == "pass"


def test_a_slow_rail_is_named_by_a_run_over_it_alone(site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn2", "hsn0", "slow", 60)
        record = failed_record(site.cell("ImbUniband", "mpich", 1))
    assert verdict_summary(record) == ("fail", 5, "fabric")
    assert suspects(record) == {("rail", "vn2", "hsn0")}
    said = record.found.verdict.text
    assert re.match(
        r"bandwidth \d\.\d+ MB/s at \d+ [KM]iB [a-z ]+ 13\.50 MB/s \(\d\d\.\d %\), the bound of one-rail ", said
    )
    assert re.search(f", over hsn0 of vn1 and vn2; hsn0 of vn2{SLOW}", said)


@full
@pytest.mark.parametrize("stack", ["mpich", "intelmpi"])
@pytest.mark.fault("rail", "a rail of one node at 90 % of its rate, in a stream over it alone", "hsn0 of vn2 is slow")
def test_a_rail_at_nine_tenths_is_found_by_a_stream_over_it_alone(stack: str, site: VirtualSite, promise: str) -> None:
    with site.bed() as bed:
        bed.degrade("vn2", "hsn0", "slow", 108)
        record = failed_record(site.cell("ImbUniband", stack, 1))
    assert verdict_summary(record) == ("fail", 5, "fabric")
    assert suspects(record) == {("rail", "vn2", "hsn0")}
    assert promise in record.found.verdict.text


@full
def test_a_slow_rail_of_a_third_node_fails_its_own_tests_only(site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn3", "hsn0", "slow", 12)
        ran = site.run("--system", "virtual:hsn", "-p", "mpich", "-n", "Imb(Uniband|Allreduce)%rails=1")
    by_check = {record.test.check: record for record in ran.records}
    assert ran.code == 1
    # The pair vn1-vn2 does not use it; the collective over four nodes does.
    assert verdict_summary(by_check["ImbUniband"]) == ("pass", None, None)
    assert verdict_summary(by_check["ImbAllreduce"]) == ("fail", 5, "fabric")
    assert suspects(by_check["ImbAllreduce"]) == {("rail", "vn3", "hsn0")}


@full
def test_a_rail_that_loses_packets_blames_nobody_else(site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn2", "hsn1", "lossy", 5)
        record = failed_record(site.cell("ImbUniband", "intelmpi", 2))
    # Stalls come and go. So probes see them and blame the rail as slow, or else for what TCP sends again.
    assert verdict_summary(record) in {("fail", 4, "fabric"), ("fail", 5, "fabric")}
    assert suspects(record) == {("rail", "vn2", "hsn1")}
    assert re.search(rf"hsn1 of vn2 (is slow|alone loses packets) {WITH_EVERY}", record.found.verdict.text)
    # The good rail is never under suspicion.
    assert "hsn0 is slow" not in record.found.verdict.text


# --- rule 5: a reference of another system


@full
def test_a_reference_of_a_faster_system_fails(site: VirtualSite) -> None:
    # Intel MPI has each message of a ping-pong on one rail alone (15 MB/s): this bound needs both, and is possible.
    expect_of_another(site, "25", "imb/PingPong")
    record = failed_record(site.cell("ImbPingPong", "intelmpi", 2))
    assert verdict_summary(record) == ("fail", 5, "fabric")
    assert re.match(
        r"bandwidth 1\d\.\d\d MB/s at \d MiB [a-z ]+ 25\.00 MB/s \(\d\d\.\d %\), the bound of of-another-system "
        r"\(published: a faster system, 2026-11-21\), over hsn0 and hsn1 of vn1 and vn2; ",
        record.found.verdict.text,
    )
    # Every rail alone is as good as the link can be.
    assert re.search(rf"; no rail was slow alone in \d+ probes: {NOBODY_BLAMED}", record.found.verdict.text)
    assert record.found.verdict.suspects == ()


# --- rule 4: what works, but not in the intended way


def told_by_its_variable(record: Record, device: str) -> None:
    """Check that a variable with a wrong value is named first; a stack that is set by words has none (rule 4)."""
    named = rf'\w+ is "{device}(:1)?" in the environment of \S+ on vn1, expected "hsn0(:1)?,hsn1(:1)?"'
    of_rule_1 = re.fullmatch(named, record.found.verdict.text) is not None
    assert verdict_summary(record) == ("fail", 1 if of_rule_1 else 4, "set-up"), record.found.verdict.text
    assert of_rule_1 or rule(record, 1)[0] == "pass"


@pytest.mark.parametrize("stack", EACH_STACK)
def test_a_stack_told_one_interface_fails_although_it_works(stack: str, site: VirtualSite) -> None:
    tell_stacks(site, "hsn0")
    record = failed_record(site.cell(STREAMING[stack][0], stack, 2))
    told_by_its_variable(record, "hsn0")
    state, sentence = rule(record, 4)
    assert state == "fail"
    assert re.fullmatch(
        rf"rail hsn1 of vn1 sent 0\.0 kB of [\d.]+ MB: {IDLE_SECOND} \(bound 5\.0 % "
        r"of what the rail should carry, idle-share\)",
        sentence,
    )
    assert suspects(record) == {("stack", None, None)}
    assert record.found.verdict.suspects[0].reason == "hsn1 idled on all of vn1 and vn2: the stack did not use it"


@pytest.mark.parametrize("stack", EACH_STACK)
def test_traffic_over_the_management_network_fails(stack: str, site: VirtualSite) -> None:
    tell_stacks(site, "eth0")
    record = failed_record(site.cell(STREAMING[stack][0], stack, 2))
    told_by_its_variable(record, "eth0")
    state, sentence = rule(record, 4)
    assert state == "fail"
    assert re.fullmatch(
        rf"[\d.]+ MB went over eth0 of vn1, which {NOT_INTENDED}: hsn0 and hsn1 of vn1 sent 0\.0 kB of "
        r"[\d.]+ MB \(bound 98\.0 %, carried-share\)",
        sentence,
    )
    assert suspects(record) == {("stack", "vn1", "eth0"), ("stack", "vn2", "eth0")}
    assert record.found.verdict.suspects[0].reason.startswith(
        "the stack used eth0 instead of hsn0 and hsn1; eth0 carried "
    )


# --- rule 3: a curve above what the link can carry


def test_a_curve_above_the_limit_is_impossible(site: VirtualSite) -> None:
    site.edit("systems/virtual.yaml", "data_rate_gbit_s: 0.12", "data_rate_gbit_s: 0.03")
    with site.bed_of_system() as bed:
        # The wires are four times as fast as the system's file says: a busy host cannot cause this.
        for node in ("vn1", "vn2"):
            bed.degrade(node, "hsn0", "slow", 120)
        record = failed_record(site.cell("ImbUniband", "mpich", 1))
    assert verdict_summary(record) == ("fail", 3, "set-up")
    assert re.fullmatch(
        rf"{IMPOSSIBLE}bandwidth \d+\.\d+ MB/s at 1 MiB is [2-4]\d\d\.\d % of the limit, "
        r"3\.6\d+ MB/s for a long stream, and 3\.6\d+ MB/s with the burst at its start \(.*\); "
        r"at most 102\.0 % is believed",
        record.found.verdict.text,
    )
    assert record.found.verdict.next == (
        "whether both ranks ran on one node, the system's link, slot and rails, and the number of iterations"
    )


# --- rule 2: an impossible figure


#: Prints 0 in place of the figures of 1 MiB, in fields of the same widths, as the benchmark would.
ZEROS = r"""
import re, sys
for line in sys.stdin:
    if line.split()[:1] == ["1048576"]:
        line = re.sub(r"( +[0-9.]+)( +[0-9]+)$", lambda found: f"{0:{len(found[1])}.2f}{0:{len(found[2])}d}", line)
    sys.stdout.write(line)
"""


def test_a_bandwidth_of_nothing_fails(site: VirtualSite) -> None:
    fake = site.folder / "IMB-MPI1"
    imb = site.folder / ".stacks/intelmpi/bin/IMB-MPI1"
    zeros = site.folder / "zeros.py"
    zeros.write_text(ZEROS, encoding="utf-8")
    fake.write_text(f'#!/bin/sh\n{imb} "$@" | {sys.executable} {zeros}\n', encoding="utf-8")
    fake.chmod(0o755)
    site.edit("systems/virtual.yaml", "imb: .stacks/intelmpi/bin/IMB-MPI1", "imb: IMB-MPI1")
    record = failed_record(site.cell("ImbUniband", "mpich", 1))
    assert verdict_summary(record) == ("fail", 2, "set-up")
    # The message rate, printed as 0 too, is reported and not asserted.
    assert record.found.verdict.text == "bandwidth at 1 MiB is 0 MB/s, expected more than 0"
    assert (
        record.found.verdict.next
        == "the benchmark's output: whether its headings and rows are whole, and as its release prints them"
    )


# --- rule 1: a run that does not finish


def test_an_unplugged_rail_is_named_at_once(unmeasured_site: VirtualSite) -> None:
    with unmeasured_site.bed() as bed:
        bed.degrade("vn2", "hsn1", "unplugged")
        ran = unmeasured_site.cell("ImbUniband", "mpich", 2)
    record = failed_record(ran)
    # The benchmark is not started at all, since its stack would wait for minutes: this was seen before.
    assert verdict_summary(record) == ("fail", 1, "fabric")
    assert (
        record.found.verdict.text == "rail hsn1 of vn2 has no carrier: the cable is unplugged or the other end is down"
    )
    assert suspects(record) == {("rail", "vn2", "hsn1")}
    assert record.found.verdict.next == "cable, port and driver of hsn1 of vn2"


@full
@pytest.mark.parametrize("stack", ["openmpi", "intelmpi"])
def test_an_unplugged_rail_is_named_with_the_other_stacks(stack: str, site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn1", "hsn0", "unplugged")
        ran = site.cell(STREAMING[stack][0], stack, 2)
    assert suspects(failed_record(ran)) == {("rail", "vn1", "hsn0")}


@full
def test_a_run_that_does_not_end_has_its_verdict_in_bounded_time(site: VirtualSite) -> None:
    site.edit("systems/virtual.yaml", "time_limit: 120s", "time_limit: 2s")
    ran = site.cell("ImbUniband", "mpich", 2, "-S", "repetitions=100000", "-S", "volume=1000000")
    record = failed_record(ran)
    assert verdict_summary(record) == ("fail", 1, "set-up")
    # Nobody knows how far it came: its output was in a buffer that is lost with it.
    assert re.fullmatch(
        r"the job was ended at its time limit of 2 s \(bound from the check or the system's file\), "
        rf".*; no rail was slow alone in \d+ probes: {NOBODY_BLAMED}",
        record.found.verdict.text,
    )
    assert record.found.verdict.suspects == ()


@full
@pytest.mark.parametrize("stack", ["mpich", "intelmpi"])
def test_a_rail_that_swallows_everything_is_named(stack: str, site: VirtualSite) -> None:
    site.edit("systems/virtual.yaml", "time_limit: 120s", "time_limit: 10s")
    with site.bed() as bed:
        # Its carrier is there, so nothing shows before the run that no packet will arrive.
        bed.degrade("vn2", "hsn1", "lossy", 100)
        ran = site.cell("ImbUniband", stack, 2)
    record = failed_record(ran)
    assert verdict_summary(record) == ("fail", 1, "fabric")
    assert suspects(record) == {("rail", "vn2", "hsn1")}
    # UCX gives up by itself, PSM3 waits.
    begins = {
        "mpich": "the job exited ",
        "intelmpi": "the job was ended at its time limit of 10 s ",
    }
    assert record.found.verdict.text.startswith(begins[stack])
    assert re.search(
        r"; hsn1 of vn2 gives no result with any partner: none of \d+ probes with vn\d, vn\d and vn\d; the same rail "
        r"carried at least 1\d\.\d+ MB/s between ",
        record.found.verdict.text,
    )
