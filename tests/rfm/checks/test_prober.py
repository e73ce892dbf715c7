"""Rails measured alone after a failure: what is run, what it leaves, and who is blamed."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.job.launch import Launch
from railyard.job.testbed_words import namespace_words
from railyard.parsers.parsed import Parsed
from railyard.provision.testbed.entry import CLUSTER, enter_script
from railyard.results.record.form import Suspect
from railyard.rfm.checks.probe_places import PROBE_LIMIT_S, Here
from railyard.rfm.checks.prober import LEAST_SEGMENTS, PingPong, RailProber, Watch
from railyard.site.site import Site
from railyard.stacks import ask
from railyard.verdict.blame.suspects import Findings

PAIR, OTHERS = ("vn1", "vn2"), ("vn3", "vn4")
#: MB/s, of a rail of the virtual cluster, whose link is 0.4 Gbit/s or more.
EXPECTED_LEAST = 1.0
Probers = Callable[..., tuple[RailProber, Launch]]


class LastWord(PingPong):
    """A ping-pong that prints its value as its last word."""

    def value(self, text: str) -> float | None:
        words = text.split()
        return float(words[-1]) if words and words[-1].replace(".", "").isdigit() else None


def nothing(text: str) -> Parsed:
    raise AssertionError("nothing is parsed here")


@pytest.fixture
def prober(tmp_path: Path, virtual: Site, monkeypatch: pytest.MonkeyPatch) -> Probers:
    """Return a maker of a prober whose nodes are this machine: each probe is this shell script, with NODES and RAIL."""
    monkeypatch.setattr("railyard.job.testbed_words.front", list)
    home = tmp_path / "home"
    enter = enter_script(home, CLUSTER)
    enter.parent.mkdir(parents=True)
    enter.write_text('#!/bin/sh\nshift 2\nexec "$@"\n', encoding="ascii")
    enter.chmod(0o755)
    fabrics = dict(virtual.system.fabrics)
    site = replace(virtual, home=home, system=virtual.system.model_copy(update={"fabrics": fabrics}))

    def make(
        script: str,
        env: dict[str, str] | None = None,
        rails: tuple[str, ...] = ("hsn1",),
        watch: Callable[[], Watch | None] = lambda: None,
    ) -> tuple[RailProber, Launch]:
        def launch(rail: str, nodes: tuple[str, ...]) -> Launch:
            told = {"NODES": "-".join(nodes), "RAIL": rail, **(env or {})}
            settings = ask.settings("mpich", "tcp", (rail,), 1, None)
            return Launch("sh", told, ("-c", script, "probe"), settings, (rail,), (), nodes)

        stage = tmp_path / "stage"
        stage.mkdir(exist_ok=True)
        ping_pong = LastWord("imb/PingPong", nothing, launch, lambda launch: [])

        def in_bed(launch: Launch) -> list[str]:
            return [*namespace_words(home, launch.nodes[0], PROBE_LIMIT_S, launch.program), *launch.options]

        return RailProber(site, "hsn", stage, ping_pong, watch, Here(stage, in_bed)), replace(
            launch("hsn0", PAIR), meant=rails
        )

    return make


def probed(made: tuple[RailProber, Launch]) -> Findings:
    one, launch = made
    return one.slow_rails_of(PAIR, OTHERS, launch)


def test_a_slow_rail_of_one_node_is_blamed_from_what_its_probes_print(prober: Probers) -> None:
    slow = "case $RAIL$NODES in hsn1*vn2*) echo 43.1;; *) echo 47.8;; esac"
    found = probed(prober(slow, rails=("hsn0", "hsn1")))
    assert [(one.kind, one.node, one.rail) for one in found.suspects] == [("rail", "vn2", "hsn1")]
    assert found.sentence.startswith("hsn1 of vn2 is slow with every partner: at best 43.10 MB/s with ")


PLANNED = ("vn1-vn2", "vn1-vn3", "vn1-vn4", "vn2-vn3", "vn2-vn4", "vn3-vn4")


def test_every_probe_leaves_its_script_and_output(prober: Probers) -> None:
    made = prober("echo $NODES 47.8")
    stage, home = made[0].stage, made[0].site.home
    probed(made)
    names = [f"probe-{turn}-hsn1-{nodes}" for turn in (1, 2) for nodes in PLANNED]
    left = sorted(path.name for path in stage.iterdir())
    assert left == sorted(["probes.json", *(f"{name}.{kind}" for name in names for kind in ("sh", "out"))])
    bed = home / ".railyard/testbed"
    assert (stage / f"{names[0]}.sh").read_text(encoding="utf-8") == (
        "#!/bin/sh\nexport NODES=vn1-vn2\nexport RAIL=hsn1\n"
        f"exec flock {bed}/job.lock timeout -k 5 20 {bed}/enter vn1 -- sh -c 'echo $NODES 47.8' probe\n"
    )
    outputs = [(stage / f"{name}.out").read_text(encoding="utf-8") for name in names]
    assert outputs == [f"{nodes} 47.8\n" for nodes in (*PLANNED, *PLANNED)]


class Waited:
    """A watcher whose probe waited for a quarter of its time."""

    started = 0

    def __init__(self) -> None:
        Waited.started += 1

    def stop(self) -> float | None:
        return 0.25


def test_what_every_probe_gave_is_kept_with_how_long_it_waited(prober: Probers) -> None:
    made = prober("echo 47.8", watch=Waited)
    first = probed(made)
    assert Waited.started == len(first.probes) == 12
    then = probed(prober("/no/such/program"))
    kept = json.loads((made[0].stage / "probes.json").read_text(encoding="utf-8"))
    assert kept["format"] == 1
    assert [(row["round"], row["value_mb_s"], row["starved"]) for row in kept["probes"]] == [
        *((probe.turn, 47.8, 0.25) for probe in first.probes),
        *((probe.turn, None, None) for probe in then.probes),
    ]
    expected = made[0].expected_alone_mb_s
    assert expected > EXPECTED_LEAST
    pairs = [(row["rail"], *row["pair"], row["expected_mb_s"]) for row in kept["probes"]]
    assert pairs == [(one.rail, one.node_a, one.node_b, expected) for one in (*first.probes, *then.probes)]


def test_a_probe_that_fails_gives_no_result_and_its_error_output_is_kept(prober: Probers) -> None:
    made = prober("/no/such/program")
    found = probed(made)
    assert (found.suspects, found.sentence) == ((), "none of 6 probes of single rails gave a result: nobody is blamed")
    assert "/no/such/program" in (made[0].stage / "probe-1-hsn1-vn1-vn2.out").read_text(encoding="utf-8")


def test_a_probe_reads_nothing_and_runs_in_the_tests_folder(prober: Probers) -> None:
    made = prober("cat; pwd; echo 47.8")
    probed(made)
    stage = made[0].stage
    assert (stage / "probe-1-hsn1-vn1-vn2.out").read_text(encoding="utf-8") == f"{stage}\n47.8\n"


def test_variables_stay_text_and_the_path_keeps_its_reference(prober: Probers) -> None:
    env = {"PATH": "/my stack/bin:$PATH", "A": "$(touch pwned); `id` 'x' \"y\"", "B": "two\nlines"}
    made = prober('echo "$PATH|$A|$B"', env=env)
    probed(made)
    printed = (made[0].stage / "probe-1-hsn1-vn1-vn2.out").read_text(encoding="utf-8")
    assert printed.startswith("/my stack/bin:/")
    assert printed.endswith("|$(touch pwned); `id` 'x' \"y\"|two\nlines\n")
    assert not (made[0].stage / "pwned").exists()


# --- loss


@pytest.fixture
def lost(prober: Probers, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Findings]:
    """Return the findings of probes that send so many segments a run, and some again where ``bad`` matches."""

    def counted(folder: Path, tag: str) -> tuple[int, int] | None:
        again, all_sent = (folder.parent / f"{tag}.out").read_text(encoding="utf-8").split()
        return int(again), int(all_sent)

    monkeypatch.setattr("railyard.rfm.checks.prober.segments", counted)

    def find(bad: str, *, sent: int = 10_000, resent: int = 90, rails: tuple[str, ...] = ("hsn1",)) -> Findings:
        script = f"case $RAIL-$NODES in {bad}) again={resent};; *) again=0;; esac; echo $again {sent}"
        one, launch = prober(script, rails=rails)
        return one.lossy_rails_of(PAIR, OTHERS, launch)

    return find


def test_a_rail_that_loses_packets_is_blamed_and_its_partners_are_not(lost: Callable[..., Findings]) -> None:
    found = lost("hsn1-*vn2*", rails=("hsn0", "hsn1"))
    reason = (
        "hsn1 of vn2 alone loses packets with every partner: 0.9 % with vn1, 0.9 % with vn3 and 0.9 % with vn4 of "
        "segments sent again, bound 0.1 % (resent-share)"
    )
    assert found == Findings((Suspect("rail", reason, "vn2", "hsn1"),), reason)


def runs(folder: Path, probe: str) -> int:
    return len(list((folder / "stage").glob(f"loss-{probe}-*.out")))


def test_a_rail_is_run_until_enough_was_sent_unless_it_is_clear_that_it_loses(
    lost: Callable[..., Findings], tmp_path: Path
) -> None:
    lost("hsn1-vn1-vn2")
    whole = -(-LEAST_SEGMENTS // 10_000)
    assert (runs(tmp_path, "hsn1-vn1-vn2"), runs(tmp_path, "hsn1-vn1-vn3")) == (1, whole)


def test_a_rail_that_is_clean_between_the_pair_is_measured_with_nobody_else(
    lost: Callable[..., Findings], tmp_path: Path
) -> None:
    lost("hsn1-*vn2*", rails=("hsn0", "hsn1"))
    measured = {path.name.rsplit("-", 1)[0] for path in (tmp_path / "stage").glob("loss-hsn0-*.out")}
    assert measured == {"loss-hsn0-vn1-vn2"}
    assert runs(tmp_path, "hsn1-vn3-vn4") > 0


@pytest.mark.parametrize(("resent", "is_blamed"), [(71, True), (70, False)])
def test_a_share_within_the_bound_blames_nobody(lost: Callable[..., Findings], resent: int, is_blamed: bool) -> None:
    found = lost("*vn2*", sent=70_000, resent=resent)
    assert bool(found.suspects) == is_blamed
    if not is_blamed:
        assert found.sentence == "none of 1 probe of single rails lost packets: nobody is blamed"


def test_probes_that_send_too_little_count_for_nobody(lost: Callable[..., Findings]) -> None:
    assert lost("none", sent=10) == Findings((), "no rail was measured alone, so nobody is blamed")
    assert lost("none", sent=0) == Findings((), "no rail was measured alone, so nobody is blamed")
