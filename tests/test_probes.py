"""Rails measured alone after a failure: what is run, what it leaves, and who is blamed."""

from pathlib import Path

import pytest

from railyard.probes import LEAST_SEGMENTS, probe_losses, probe_rails
from railyard.suspects import Findings, Probe, Suspect

PAIR, OTHERS = ("vn1", "vn2"), ("vn3", "vn4")
EXPECTED_MB_S = 48.0


def value(text: str) -> float | None:
    words = text.split()
    return float(words[-1]) if words and words[-1].replace(".", "").isdigit() else None


def probed(
    folder: Path, *words: str, env: dict[str, str] | None = None, rails: tuple[str, ...] = ("hsn1",)
) -> Findings:
    def command(probe: Probe) -> tuple[dict[str, str], list[str]]:
        there = {"NODES": f"{probe.node_a}-{probe.node_b}", "RAIL": probe.rail}
        return {**there, **(env or {})}, list(words)

    return probe_rails(PAIR, OTHERS, rails, EXPECTED_MB_S, command, value, folder)


def test_a_slow_rail_of_one_node_is_blamed_from_what_its_probes_print(tmp_path: Path) -> None:
    slow = """sh -c 'case $RAIL$NODES in hsn1*vn2*) echo 4.7;; *) echo 47.8;; esac'"""
    found = probed(tmp_path, slow, rails=("hsn0", "hsn1"))
    reason = (
        "hsn1 of vn2 alone is slow with every partner: 4.700 MB/s with vn1, 4.700 MB/s with vn3 and 4.700 MB/s with "
        "vn4, expected 48.00 MB/s"
    )
    assert found == Findings((Suspect("rail", "vn2", "hsn1", reason),), reason)


def test_every_probe_leaves_its_script_and_output(tmp_path: Path) -> None:
    probed(tmp_path, "echo", "$NODES", "47.8")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"probe-{n}.{kind}" for n in range(1, 7) for kind in ("sh", "out")
    )
    assert (tmp_path / "probe-1.sh").read_text(encoding="utf-8") == (
        "#!/bin/sh\nexport NODES=vn1-vn2\nexport RAIL=hsn1\nexec echo $NODES 47.8\n"
    )
    outputs = [(tmp_path / f"probe-{n}.out").read_text(encoding="utf-8") for n in range(1, 7)]
    assert outputs == [f"{nodes} 47.8\n" for nodes in "vn1-vn2 vn1-vn3 vn1-vn4 vn2-vn3 vn2-vn4 vn3-vn4".split()]


def test_a_probe_that_fails_gives_no_result_and_its_error_output_is_kept(tmp_path: Path) -> None:
    found = probed(tmp_path, "/no/such/program")
    assert found.suspects[0].kind == "switch"
    assert "vn1-vn2 no result of 48.00 MB/s" in found.sentence
    assert "/no/such/program" in (tmp_path / "probe-1.out").read_text(encoding="utf-8")


def test_a_probe_reads_nothing_and_runs_in_the_tests_folder(tmp_path: Path) -> None:
    probed(tmp_path, "sh -c 'cat; pwd; echo 47.8'")
    assert (tmp_path / "probe-1.out").read_text(encoding="utf-8") == f"{tmp_path}\n47.8\n"


def test_variables_stay_text_and_the_path_keeps_its_reference(tmp_path: Path) -> None:
    env = {"PATH": "/my stack/bin:$PATH", "A": "$(touch pwned); `id` 'x' \"y\"", "B": "two\nlines"}
    probed(tmp_path, "sh -c 'echo \"$PATH|$A|$B\"'", env=env)
    printed = (tmp_path / "probe-1.out").read_text(encoding="utf-8")
    assert printed.startswith("/my stack/bin:/")
    assert printed.endswith("|$(touch pwned); `id` 'x' \"y\"|two\nlines\n")
    assert not (tmp_path / "pwned").exists()


def test_good_rails_blame_nobody(tmp_path: Path) -> None:
    assert probed(tmp_path, "echo", "47.8") == Findings(
        (), "none of 6 probes of single rails was slow: nobody is blamed"
    )


def pairs_slow(*pairs: str, first: str = "4.7", later: str = "4.7") -> str:
    """Return a probe that is slow between these pairs, and gives another value when it is made again."""
    script = f"case $NODES in {'|'.join(pairs)}) ;; *) echo 47.8; exit;; esac; "
    return f"sh -c '{script}if [ -e $NODES ]; then echo {later}; else touch $NODES; echo {first}; fi'"


def test_a_pair_that_is_slow_each_time_is_blamed(tmp_path: Path) -> None:
    found = probed(tmp_path, pairs_slow("vn1-vn2"))
    reason = "hsn1 is slow only between one pair (vn1-vn2 4.700 MB/s of 48.00 MB/s): the path between them"
    assert found == Findings((Suspect("pair", None, "hsn1", reason),), reason)
    assert (tmp_path / "probe-1-again-2.out").is_file()
    assert not (tmp_path / "probe-2-again-1.out").exists()


def test_a_pair_that_is_good_when_measured_again_is_unsteady_and_not_blamed(tmp_path: Path) -> None:
    found = probed(tmp_path, pairs_slow("vn1-vn2", "vn2-vn3", later="46.5"))
    assert found == Findings(
        (),
        "none of 6 probes of single rails was slow: nobody is blamed; unsteady, as with lost packets or other traffic: "
        "hsn1 between vn1 and vn2 gave 4.700 and then 46.50 and hsn1 between vn2 and vn3 gave 4.700 and then 46.50 of "
        "48.00 MB/s",
    )
    assert not (tmp_path / "probe-1-again-2.out").exists()


def test_a_slow_pair_that_the_run_did_not_use_explains_nothing(tmp_path: Path) -> None:
    found = probed(tmp_path, pairs_slow("vn2-vn3"))
    assert found == Findings(
        (),
        "hsn1 is slow only between one pair (vn2-vn3 4.700 MB/s of 48.00 MB/s): the path between them, "
        "which this run did not take: nobody is blamed for that",
    )


# --- loss


def lost(
    folder: Path, bad: str, *, sent: int = 10_000, resent: int = 90, rails: tuple[str, ...] = ("hsn1",)
) -> Findings:
    """Return the findings of probes that send so many segments a run, and some again where ``bad`` matches."""

    def command(probe: Probe, name: str) -> tuple[dict[str, str], list[str]]:
        told = {"PROBE": f"{probe.rail}-{probe.node_a}-{probe.node_b}", "COUNTED": f"{name}.counted"}
        script = f"case $PROBE in {bad}) again={resent};; *) again=0;; esac; echo $again {sent} > $COUNTED"
        return told, ["sh", "-c", f"'{script}'"]

    def segments(name: str) -> tuple[int, int] | None:
        again, all_sent = (folder / f"{name}.counted").read_text(encoding="utf-8").split()
        return int(again), int(all_sent)

    return probe_losses(PAIR, OTHERS, rails, command, segments, folder)


def test_a_rail_that_loses_packets_is_blamed_and_its_partners_are_not(tmp_path: Path) -> None:
    found = lost(tmp_path, "hsn1-*vn2*", rails=("hsn0", "hsn1"))
    reason = (
        "hsn1 of vn2 alone loses packets with every partner: 0.9 % with vn1, 0.9 % with vn3 and 0.9 % with vn4 of "
        "segments sent again, bound 0.1 % (resent-share)"
    )
    assert found == Findings((Suspect("rail", "vn2", "hsn1", reason),), reason)


def runs(folder: Path, probe: str) -> int:
    return len(list(folder.glob(f"loss-{probe}-*.counted")))


def test_a_rail_is_run_until_enough_was_sent_unless_it_is_clear_that_it_loses(tmp_path: Path) -> None:
    lost(tmp_path, "hsn1-vn1-vn2")
    whole = -(-LEAST_SEGMENTS // 10_000)
    assert (runs(tmp_path, "hsn1-vn1-vn2"), runs(tmp_path, "hsn1-vn1-vn3")) == (1, whole)


def test_a_rail_that_is_clean_between_the_pair_is_measured_with_nobody_else(tmp_path: Path) -> None:
    lost(tmp_path, "hsn1-*vn2*", rails=("hsn0", "hsn1"))
    measured = {path.name.rsplit("-", 1)[0] for path in tmp_path.glob("loss-hsn0-*.counted")}
    assert measured == {"loss-hsn0-vn1-vn2"}
    assert runs(tmp_path, "hsn1-vn3-vn4") > 0


@pytest.mark.parametrize(("resent", "is_blamed"), [(71, True), (70, False)])
def test_a_share_within_the_bound_blames_nobody(tmp_path: Path, resent: int, is_blamed: bool) -> None:
    found = lost(tmp_path, "*vn2*", sent=70_000, resent=resent)
    assert bool(found.suspects) == is_blamed
    if not is_blamed:
        assert found.sentence == "none of 1 probe of single rails lost packets: nobody is blamed"


def test_probes_that_send_too_little_count_for_nobody(tmp_path: Path) -> None:
    assert lost(tmp_path, "none", sent=10) == Findings((), "no rail was measured alone, so nobody is blamed")
    assert lost(tmp_path, "none", sent=0) == Findings((), "no rail was measured alone, so nobody is blamed")
