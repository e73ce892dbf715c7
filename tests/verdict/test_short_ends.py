"""A bandwidth whose largest size is short asks little of the link, so that a pass would say nothing: not judged."""

from pathlib import Path

import pytest

from railyard.parsers import osu, perftest
from railyard.site.site import site_at
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.stored_outputs.target import of_link
from tests.made.words import below_words


def verdict(size: int, mb_s: float, link: str, rails: int = 1) -> Judgement:
    """Return what is said of an ib_write_bw of one size (bytes) with this bandwidth, MB/s."""
    text = write_bw(size, mb_s)
    (judgement,) = judge(perftest.parse(text), of_link(link, rails=rails), text=text)
    return judgement


def write_bw(size: int, mb_s: float) -> str:
    """Return an ib_write_bw of one size (bytes) with this bandwidth, MB/s."""
    return (
        "                    RDMA_Write BW Test\n"
        " Number of qps   : 1            Transport type : IB\n"
        " TX depth        : 128\n"
        " Link type       : IB\n"
        " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
        f" {size}  5000  {mb_s / 1.048576:.2f}  {mb_s / 1.048576:.2f}  {mb_s / size:.6f}\n"
        f"{'-' * 87}\n"
    )


@pytest.mark.parametrize(
    ("size", "mb_s", "link", "share", "where"),
    [
        (4 << 10, 2300.0, "ib-ndr", "4.1 %", "4 KiB"),
        (16 << 10, 11500.0, "ib-hdr", "33.0 %", "16 KiB"),
        (32 << 10, 23000.0, "ib-ndr", "43.9 %", "32 KiB"),
        (64 << 10, 50000.0, "ib-xdr", "43.9 %", "64 KiB"),
    ],
)
def test_a_short_largest_size_is_not_judged(size: int, mb_s: float, link: str, share: str, where: str) -> None:
    found = verdict(size, mb_s, link)
    assert (found.state, found.sentence) == (
        "not-judged",
        f"not judged: a run at {share} of the limit would still pass at {where}, its largest size; measure up to 1 MiB "
        "or more to see the link's rate",
    )
    assert not any("measure up to" in remark for remark in found.remarks)


@pytest.mark.parametrize(("link", "mb_s"), [("ib-edr", 12000.0), ("ib-hdr", 24000.0), ("ib-ndr", 48000.0)])
def test_the_default_size_of_perftest_is_judged_on_one_rail(link: str, mb_s: float) -> None:
    assert verdict(64 << 10, mb_s, link).is_pass
    assert verdict(64 << 10, 0.7 * mb_s, link).state == "fail"


def test_two_rails_of_which_one_may_be_idle_are_not_judged_below_1_mib() -> None:
    assert verdict(64 << 10, 12050.0, "ib-edr", rails=2).state == "not-judged"
    assert verdict(1 << 20, 24000.0, "ib-edr", rails=2).state == "pass"
    assert verdict(1 << 20, 12050.0, "ib-edr", rails=2).state == "fail"


def test_a_short_size_below_what_is_asked_of_it_still_fails() -> None:
    assert verdict(4 << 10, 500.0, "ib-ndr").state == "fail"


@pytest.mark.parametrize(
    ("size", "mb_s", "state", "sentence"),
    [
        (
            *(64 << 10, 24000.0, "not-judged"),
            "not judged: write-bandwidth bounds bandwidth only from 1 MiB on, and the output has none of these sizes: "
            "measure them, or judge by --link",
        ),
        (64 << 10, 13000.0, "fail", f"rule 5 (reference): {below_words(13000, 21108, 64 << 10)}"),
        (1 << 20, 24000.0, "pass", "bandwidth holds write-bandwidth"),
        (1 << 20, 23000.0, "fail", f"rule 5 (reference): {below_words(23000, 23750, 1 << 20)}"),
    ],
)
def test_a_reference_of_longer_messages_fails_no_short_ones(size: int, mb_s: float, state: str, sentence: str) -> None:
    text, site = write_bw(size, mb_s), site_at(Path(__file__).resolve().parents[2], "azure-hbv3")
    (found,) = judge(perftest.parse(text), of_system(site, "ib", None), text=text)
    assert found.state == state
    assert found.sentence.startswith(sentence)


def test_osu_bw_that_ends_at_64_kib_says_in_its_pass_how_little_was_asked() -> None:
    sizes = [1 << power for power in range(17)]
    rows = "".join(f"{size} {size / (0.05 + size / 15400.0):.2f}\n" for size in sizes)
    text = f"# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n{rows}"
    (found,) = judge(osu.parse(text), of_link("ib-hdr"), text=text)
    assert (found.state, found.remarks) == (
        "pass",
        (
            "bandwidth at 64 KiB, its largest size, has a bound of 57.3 % of the limit: measure up to 1 MiB or more to "
            "see the link's rate",
        ),
    )


@pytest.mark.parametrize(
    ("link", "slot", "mb_s", "state"),
    [
        ("ib-hdr", "pcie3-x16", 12350.0, "not-judged"),
        ("ib-hdr", "pcie3-x16", 13600.0, "pass"),
        ("ib-hdr", "pcie3-x16", 11800.0, "fail"),
        ("ib-ndr", "pcie4-x16", 24700.0, "not-judged"),
        ("ib-ndr", "pcie4-x16", 26500.0, "pass"),
        ("ib-edr", "pcie3-x16", 12350.0, "pass"),
        ("hdr100", "pcie3-x16", 12350.0, "pass"),
    ],
)
def test_a_rate_that_an_earlier_generation_has_too_is_not_judged(link: str, slot: str, mb_s: float, state: str) -> None:
    text = write_bw(1 << 20, mb_s)
    (found,) = judge(perftest.parse(text), of_link(link, slot), text=text)
    assert found.state == state
    assert ("is a rate of ib-" in found.sentence) == (state == "not-judged")


def osu_table(title: str, rates_mb_s: float, start_us: float) -> str:
    """Return an osu_latency or osu_bibw whose long messages have this rate."""
    sizes = [1 << power for power in range(23)]
    times = [(size, start_us + size / rates_mb_s) for size in sizes]
    is_time = title == "Latency"
    rows = "".join(f"{size:<10}{us if is_time else size / us:>18.2f}\n" for size, us in times)
    return f"# OSU MPI {title} Test v7.3\n# Size      {'Latency (us)' if is_time else 'Bandwidth (MB/s)'}\n{rows}"


@pytest.mark.parametrize(
    ("title", "slot", "mb_s", "state"),
    [
        ("Latency", "pcie3-x16", 12100.0, "not-judged"),
        ("Latency", "pcie3-x16", 10600.0, "not-judged"),  # one message at a time: 85 % of what EDR carries
        ("Latency", "pcie3-x16", 13300.0, "pass"),
        ("Latency", "pcie3-x16", 9500.0, "fail"),
        ("Latency", "pcie4-x16", 12100.0, "fail"),
        ("Bi-Directional Bandwidth", "pcie3-x16", 24200.0, "not-judged"),
        ("Bi-Directional Bandwidth", "pcie3-x16", 26600.0, "pass"),
    ],
)
def test_every_pattern_behind_a_slow_slot_is_judged_alike(title: str, slot: str, mb_s: float, state: str) -> None:
    text = osu_table(title, mb_s, 1.5 if title == "Latency" else 0.3)
    (found,) = judge(osu.parse(text), of_link("ib-hdr", slot), text=text)
    assert found.state == state
    assert ("is a rate of ib-edr too" in found.sentence) == (state == "not-judged")


@pytest.mark.parametrize("slot", ["pcie3-x16", "pcie4-x16", None])
def test_a_slot_that_bounds_a_verdict_is_named_in_it(slot: str | None) -> None:
    text = osu_table("Latency", 13300.0, 1.5)
    (found,) = judge(osu.parse(text), of_link("ib-hdr", slot), text=text)
    named = "the slot pcie3-x16 bounds it: it carries 14404 MB/s of the link's 24842 MB/s"
    assert (named in found.remarks) == (slot == "pcie3-x16")
