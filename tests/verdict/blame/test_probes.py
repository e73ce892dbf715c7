"""Rails measured alone after a failure: what is run, what it leaves, and who is blamed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.results.record.form import Suspect
from railyard.verdict.blame.probes import LEAST_SEGMENTS, Prober, Watch, probe_losses, probe_rails
from railyard.verdict.blame.suspects import Findings, Probe

PAIR, OTHERS = ("vn1", "vn2"), ("vn3", "vn4")
EXPECTED_MB_S = 48.0


def value(text: str) -> float | None:
    words = text.split()
    return float(words[-1]) if words and words[-1].replace(".", "").isdigit() else None


def probed(
    folder: Path,
    *words: str,
    env: dict[str, str] | None = None,
    rails: tuple[str, ...] = ("hsn1",),
    watch: Callable[[], Watch] | None = None,
) -> Findings:
    def command(probe: Probe) -> tuple[dict[str, str], list[str]]:
        there = {"NODES": f"{probe.node_a}-{probe.node_b}", "RAIL": probe.rail}
        return {**there, **(env or {})}, list(words)

    return probe_rails(Prober(command, value, folder, watch), PAIR, OTHERS, rails, EXPECTED_MB_S)


def test_a_slow_rail_of_one_node_is_blamed_from_what_its_probes_print(tmp_path: Path) -> None:
    slow = """sh -c 'case $RAIL$NODES in hsn1*vn2*) echo 43.1;; *) echo 47.8;; esac'"""
    found = probed(tmp_path, slow, rails=("hsn0", "hsn1"))
    assert [(one.kind, one.node, one.rail) for one in found.suspects] == [("rail", "vn2", "hsn1")]
    assert found.sentence.startswith("hsn1 of vn2 is slow with every partner: at best 43.10 MB/s with ")


PLANNED = ("vn1-vn2", "vn1-vn3", "vn1-vn4", "vn2-vn3", "vn2-vn4", "vn3-vn4")


def test_every_probe_leaves_its_script_and_output(tmp_path: Path) -> None:
    probed(tmp_path, "echo", "$NODES", "47.8")
    names = [f"probe-{turn}-hsn1-{nodes}" for turn in (1, 2) for nodes in PLANNED]
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == sorted(["probes.json", *(f"{name}.{kind}" for name in names for kind in ("sh", "out"))])
    assert (tmp_path / f"{names[0]}.sh").read_text(encoding="utf-8") == (
        "#!/bin/sh\nexport NODES=vn1-vn2\nexport RAIL=hsn1\nexec echo $NODES 47.8\n"
    )
    outputs = [(tmp_path / f"{name}.out").read_text(encoding="utf-8") for name in names]
    assert outputs == [f"{nodes} 47.8\n" for nodes in (*PLANNED, *PLANNED)]


class Waited:
    """A watcher whose probe waited for a quarter of its time."""

    started = 0

    def __init__(self) -> None:
        Waited.started += 1

    def stop(self) -> float | None:
        return 0.25


def test_what_every_probe_gave_is_kept_with_how_long_it_waited(tmp_path: Path) -> None:
    first = probed(tmp_path, "echo", "47.8", watch=Waited)
    assert Waited.started == len(first.probes) == 12
    then = probed(tmp_path, "/no/such/program")
    kept = json.loads((tmp_path / "probes.json").read_text(encoding="utf-8"))
    assert kept["format"] == 1
    assert [(row["round"], row["value_mb_s"], row["starved"]) for row in kept["probes"]] == [
        *((probe.turn, 47.8, 0.25) for probe in first.probes),
        *((probe.turn, None, None) for probe in then.probes),
    ]
    pairs = [(row["rail"], *row["pair"], row["expected_mb_s"]) for row in kept["probes"]]
    assert pairs == [(one.rail, one.node_a, one.node_b, 48.0) for one in (*first.probes, *then.probes)]


def test_a_probe_that_fails_gives_no_result_and_its_error_output_is_kept(tmp_path: Path) -> None:
    found = probed(tmp_path, "/no/such/program")
    assert (found.suspects, found.sentence) == ((), "none of 6 probes of single rails gave a result: nobody is blamed")
    assert "/no/such/program" in (tmp_path / "probe-1-hsn1-vn1-vn2.out").read_text(encoding="utf-8")


def test_a_probe_reads_nothing_and_runs_in_the_tests_folder(tmp_path: Path) -> None:
    probed(tmp_path, "sh -c 'cat; pwd; echo 47.8'")
    assert (tmp_path / "probe-1-hsn1-vn1-vn2.out").read_text(encoding="utf-8") == f"{tmp_path}\n47.8\n"


def test_variables_stay_text_and_the_path_keeps_its_reference(tmp_path: Path) -> None:
    env = {"PATH": "/my stack/bin:$PATH", "A": "$(touch pwned); `id` 'x' \"y\"", "B": "two\nlines"}
    probed(tmp_path, "sh -c 'echo \"$PATH|$A|$B\"'", env=env)
    printed = (tmp_path / "probe-1-hsn1-vn1-vn2.out").read_text(encoding="utf-8")
    assert printed.startswith("/my stack/bin:/")
    assert printed.endswith("|$(touch pwned); `id` 'x' \"y\"|two\nlines\n")
    assert not (tmp_path / "pwned").exists()


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
    assert found == Findings((Suspect("rail", reason, "vn2", "hsn1"),), reason)


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
