"""Counters compared with a known number of bytes: good and bad cases."""

import pytest

from railyard.cluster.doctor.ask_nodes import Transfer, transfer_findings, uncalibrated_remark

WELL = 20_950_000


def transfer_sentences(
    sent: dict[str, int | None], received: dict[str, int | None] | None = None
) -> list[tuple[str, str]]:
    well: dict[str, int | None] = {"hsn0": WELL, "hsn1": 300, "eth0": 12_000}
    transfer = Transfer("hsn0", "vn1", "vn2", 20_000_000, {**well, **sent}, {**well, **(received or {})})
    return [(one.weight, one.sentence) for one in transfer_findings(transfer)]


def test_a_counter_that_counts_bytes_with_their_headers_is_well() -> None:
    assert transfer_sentences({}) == []
    assert transfer_sentences({"hsn0": 20_000_000, "hsn1": None}) == []


@pytest.mark.parametrize(
    ("sent", "weight", "sentence"),
    [
        (
            {"hsn0": None},
            "problem",
            "vn1 hsn0: 20.0 MB were sent, and its counter could not be read; check the driver in the system's file",
        ),
        (
            {"hsn0": 0},
            "problem",
            "vn1 hsn0: 20.0 MB were sent, and its counter grew by 0.0 kB; check the driver in the system's file: "
            "this counter cannot prove a path",
        ),
        (
            {"hsn0": WELL // 4},
            "problem",
            "vn1 hsn0: 20.0 MB were sent, and its counter grew by 5.2 MB (words of 4 bytes?); check the driver in "
            "the system's file: this counter cannot prove a path",
        ),
        (
            {"hsn0": WELL // 1514},
            "problem",
            "vn1 hsn0: 20.0 MB were sent, and its counter grew by 13.8 kB (packets?); check the driver in the "
            "system's file: this counter cannot prove a path",
        ),
        (
            {"hsn0": 400, "hsn1": WELL},
            "problem",
            "vn1 hsn0: 20.0 MB were sent, and the counter of hsn1 grew by 20.9 MB, its own by 0.4 kB; check the "
            "node's routes and ARP settings: traffic to this rail uses another rail",
        ),
        (
            {"hsn0": 30_000_000},
            "remark",
            "vn1 hsn0: 20.0 MB were sent, and its counter grew by 30.0 MB; something else uses this rail; run it again",
        ),
    ],
)
def test_one_fault_is_one_sentence(sent: dict[str, int | None], weight: str, sentence: str) -> None:
    assert transfer_sentences(sent) == [(weight, sentence)]


def test_each_end_is_judged_for_itself() -> None:
    (only,) = transfer_sentences({}, {"hsn0": 0})
    assert only[1].startswith("vn2 hsn0: 20.0 MB were received, and its counter grew by 0.0 kB; ")


def test_what_left_by_another_rail_is_not_blamed_on_the_receiver() -> None:
    astray: dict[str, int | None] = {"hsn0": 400, "hsn1": WELL}
    assert [sentence.split(":")[0] for _, sentence in transfer_sentences(astray, astray)] == ["vn1 hsn0"]
    assert [sentence.split(":")[0] for _, sentence in transfer_sentences({}, astray)] == ["vn2 hsn0"]


def test_what_was_not_tried_is_said() -> None:
    assert uncalibrated_remark("vn1 hsn0", "no iperf3").sentence == (
        "vn1 hsn0: its counter could not be calibrated: no iperf3; a run's path proof will still show it"
    )
