"""Rails measured alone after a failure: what runs, what it leaves, and who is blamed."""

import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from railyard.job.launch import Launch
from railyard.parsers import imb
from railyard.parsers.output import ParsedOutput
from railyard.provision.testbed.boot import AND_KILL_THE_REST, WAIT_FOR_TURN, namespace_words
from railyard.provision.testbed.scripts import CLUSTER, enter_script
from railyard.results.record.form import Suspect
from railyard.results.run_folder import RUN_FOLDER_VARIABLE
from railyard.rfm.checks.node_questions import PingPong
from railyard.rfm.checks.probe_places import PROBE_LIMIT_S, LocalPlace, limit_after
from railyard.rfm.checks.prober import LEAST_SEGMENTS, RailProber, Watch
from railyard.rfm.wait_notes import noted_wait
from railyard.site.site import Site
from railyard.stacks import ask
from railyard.verdict.assess import Assessment
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.rule_model import Job
from railyard.verdict.wording import NOBODY_BLAMED, WITH_EVERY
from railyard.verdict.wording import blame as blame_words
from railyard.verdict.wording import path as path_words
from tests.made.judged_run import counters_file, imb_output

PAIR, OTHERS = ("vn1", "vn2"), ("vn3", "vn4")
#: MB/s of a rail of the virtual cluster, whose link has 0.4 Gbit/s or more.
EXPECTED_LEAST = 1.0
Probers = Callable[..., tuple[RailProber, Launch]]


class LastWord(PingPong):
    """A ping-pong that prints its value as its last word."""

    def value(self, text: str) -> float | None:
        words = text.split()
        return float(words[-1]) if words and words[-1].replace(".", "").isdigit() else None


def refuse_parse(text: str) -> ParsedOutput:
    raise AssertionError("nothing is parsed here")


@pytest.fixture
def prober(tmp_path: Path, virtual: Site, monkeypatch: pytest.MonkeyPatch) -> Probers:
    """Return a maker of a prober whose nodes are this machine: each probe is this shell script, with NODES and RAIL."""
    monkeypatch.setattr("railyard.provision.testbed.boot.front", list)
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
        ping_pong = LastWord("imb/PingPong", refuse_parse, launch, lambda launch, size: [])

        def in_bed(launch: Launch, limit_s: int) -> list[str]:
            return [*namespace_words(home, launch.nodes[0], limit_s, launch.program, longest_s=120), *launch.options]

        return RailProber(site, "hsn", stage, ping_pong, watch, LocalPlace(stage, in_bed)), replace(
            launch("hsn0", PAIR), meant=rails
        )

    return make


def probe_rails(made: tuple[RailProber, Launch]) -> Findings:
    one, launch = made
    return one.slow_rails_of(PAIR, OTHERS, launch)


def test_a_slow_rail_of_one_node_is_blamed_from_what_its_probes_print(prober: Probers) -> None:
    slow = "case $RAIL$NODES in hsn1*vn2*) echo 43.1;; *) echo 47.8;; esac"
    found = probe_rails(prober(slow, rails=("hsn0", "hsn1")))
    assert [(one.kind, one.node, one.rail) for one in found.suspects] == [("rail", "vn2", "hsn1")]


def test_the_other_nodes_are_those_of_the_file_whatever_domain_the_scheduler_gives(prober: Probers) -> None:
    made, launch = prober("echo 47.8")
    asked: list[tuple[tuple[str, str], tuple[str, ...]]] = []

    class AskedError(Exception):
        pass

    class RecordingProber(RailProber):
        def slow_rails_of(self, pair: tuple[str, str], others: Sequence[str], launch: Launch) -> Findings:
            asked.append((pair, tuple(others)))
            raise AskedError

    job = Job(0, launch.nodes, launch.nodes, tables=1)
    there = replace(launch, nodes=("vn1.cluster", "VN2.cluster"))
    found: Any = SimpleNamespace(
        verdict=SimpleNamespace(state="fail", rule=5, fault="fabric", curves=(), miss=None),
        inputs=SimpleNamespace(job=job, metrics=()), case=SimpleNamespace(launch=there),
        path=SimpleNamespace(conflicts=(), crossed=None, uneven=False, lost=None, resends=()),
    )  # fmt: skip
    with pytest.raises(AskedError):
        RecordingProber(*(getattr(made, each.name) for each in fields(made))).explain(found)
    assert asked == [(there.nodes, ("vn3", "vn4"))]


def test_a_probe_notes_its_rail_and_nodes_and_its_time_limit(
    prober: Probers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = prober("echo 47.8")
    run = tmp_path / "run"
    run.mkdir()
    monkeypatch.setenv(RUN_FOLDER_VARIABLE, str(run))
    probe_rails(made)
    wait = noted_wait(run)
    assert wait is not None and wait.until_s is not None
    assert wait.what.startswith("a probe of rail hsn1 between vn") and wait.what.endswith(", round 2")
    assert wait.until_s - wait.since_s == pytest.approx(25)  # its limit, and 5 s until it is killed


PLANNED = ("vn1-vn2", "vn1-vn3", "vn1-vn4", "vn2-vn3", "vn2-vn4", "vn3-vn4")


def test_every_probe_leaves_its_script_and_output(prober: Probers) -> None:
    made = prober("echo $NODES 47.8")
    stage, home = made[0].stage, made[0].site.home
    probe_rails(made)
    names = [f"probe-{turn}-hsn1-{nodes}" for turn in (1, 2) for nodes in PLANNED]
    left = sorted(path.name for path in stage.iterdir())
    assert left == sorted(["probes.json", *(f"{name}.{kind}" for name in names for kind in ("sh", "out"))])
    bed = home / ".railyard/testbed"
    # The first probe has all its time; when one has given a result, a dead rail is not waited for as long.
    limits = [int(re.findall(r"timeout -k 5 (\d+) ", (stage / f"{name}.sh").read_text("utf-8"))[0]) for name in names]
    assert min(limits) < max(limits) == PROBE_LIMIT_S
    limit_s = limits[0]
    assert (stage / f"{names[0]}.sh").read_text(encoding="utf-8") == (
        "#!/bin/sh\nulimit -S -f 2097152 2> /dev/null || :\nexport NODES=vn1-vn2\nexport RAIL=hsn1\n"
        f"exec sh -c {shlex.quote(WAIT_FOR_TURN)} turn 185 {bed}/job.lock "
        f"sh -c {shlex.quote(AND_KILL_THE_REST)} launch "
        f"timeout -k 5 {limit_s} {bed}/enter vn1 -- sh -c 'echo $NODES 47.8' probe\n"
    )
    outputs = [(stage / f"{name}.out").read_text(encoding="utf-8") for name in names]
    assert outputs == [f"{nodes} 47.8\n" for nodes in (*PLANNED, *PLANNED)]


@pytest.mark.parametrize(("longest_s", "limit_s"), [(0.0, 20), (0.4, 6), (1.5, 6), (1.6, 7), (3.0, 12), (9.0, 20)])
def test_a_probe_may_take_four_times_as_long_as_one_with_a_result(longest_s: float, limit_s: int) -> None:
    assert limit_after(longest_s) == limit_s


class QuarterWatcher:
    """A watcher whose probe waited for a quarter of its time."""

    started = 0

    def __init__(self) -> None:
        QuarterWatcher.started += 1

    def stop(self) -> float | None:
        return 0.25


def test_what_every_probe_gave_is_kept_with_how_long_it_waited(prober: Probers) -> None:
    made = prober("echo 47.8", watch=QuarterWatcher)
    first = probe_rails(made)
    assert QuarterWatcher.started == len(first.probes) == 12
    then = probe_rails(prober("/no/such/program"))
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
    found = probe_rails(made)
    assert found.suspects == ()
    assert re.fullmatch(
        blame_words.no_result_at_all(6, ".*/no/such/program.*"),
        found.sentence,
    )
    assert "/no/such/program" in (made[0].stage / "probe-1-hsn1-vn1-vn2.out").read_text(encoding="utf-8")


def test_a_probe_reads_nothing_and_runs_in_the_tests_folder(prober: Probers) -> None:
    made = prober("cat; pwd; echo 47.8")
    probe_rails(made)
    stage = made[0].stage
    assert (stage / "probe-1-hsn1-vn1-vn2.out").read_text(encoding="utf-8") == f"{stage}\n47.8\n"


def test_variables_stay_text_and_the_path_keeps_its_reference(prober: Probers) -> None:
    env = {"PATH": "/my stack/bin:$PATH", "A": "$(touch pwned); `id` 'x' \"y\"", "B": "two\nlines"}
    made = prober('echo "$PATH|$A|$B"', env=env)
    probe_rails(made)
    printed = (made[0].stage / "probe-1-hsn1-vn1-vn2.out").read_text(encoding="utf-8")
    assert printed.startswith("/my stack/bin:/")
    assert printed.endswith("|$(touch pwned); `id` 'x' \"y\"|two\nlines\n")
    assert not (made[0].stage / "pwned").exists()


# --- what is behind the rails

RAILS = ("hsn0", "hsn1")
#: Answers the question whether processes start: one line for each node on which they do.
STARTS = "case $3 in echo*) echo railyard-started; case $NODES in {}) ;; *) echo railyard-started;; esac; exit;; esac; "


def blamed_parts(found: Findings) -> set[tuple[str, str | None, str | None]]:
    return {(one.kind, one.node, one.rail) for one in found.suspects}


def fault_of_a_node(planted: str, said: str) -> pytest.MarkDecorator:
    return pytest.mark.fault("session", planted, said)


@pytest.mark.parametrize(
    ("starts", "sentence"),
    [
        pytest.param(
            *(STARTS.format("*vn2*"), blame_words.dead_node("vn2", RAILS)),
            id="it is dead",
            marks=fault_of_a_node(
                "a node that dies during the run", blame_words.dead_node("vn2", RAILS).partition(",")[0]
            ),
        ),
        pytest.param(
            *(STARTS.format("nobody"), blame_words.silent_node("vn2", RAILS, starts=True)),
            id="it starts them",
            marks=fault_of_a_node(
                "a node whose benchmark breaks", blame_words.silent_node("vn2", RAILS, starts=True).partition(" (")[0]
            ),
        ),
    ],
)  # fmt: skip
def test_a_node_that_gives_nobody_a_result_is_named_and_its_rails_are_not(
    prober: Probers, starts: str, sentence: str, promise: str
) -> None:
    found = probe_rails(prober(f"{starts}case $NODES in *vn2*) exit 1;; *) echo 47.8;; esac", rails=RAILS))
    assert blamed_parts(found) == {("node", "vn2", None)}
    assert found.sentence.startswith(sentence) and sentence.startswith(promise)


def test_one_dead_rail_of_a_node_is_a_rails(prober: Probers) -> None:
    dead = "case $RAIL$NODES in hsn1*vn2*) exit 1;; *) echo 47.8;; esac"
    assert blamed_parts(probe_rails(prober(dead, rails=RAILS))) == {("rail", "vn2", "hsn1")}


@pytest.mark.fault(
    "rail",
    "both rails of vn2 behind one port of a rail's rate",
    blame_words.shared_part(RAILS, "", "vn2").partition(": ")[2],
)
def test_rails_that_are_good_alone_and_not_together_name_what_they_share(prober: Probers, promise: str) -> None:
    one, launch = prober("case $RAIL$NODES in both*vn2*) echo 47.8;; both*) echo 95;; *) echo 47.8;; esac", rails=RAILS)

    def launch_both(rails: str, nodes: tuple[str, str]) -> Launch:
        assert rails == "hsn0+hsn1"
        return replace(one.ping_pong.launch("hsn0", nodes), env={"NODES": "-".join(nodes), "RAIL": "both"})

    one = replace(one, together=replace(one.ping_pong, key="imb/Uniband", launch=launch_both))
    found = one.who_is_slow(PAIR, OTHERS, launch)
    assert blamed_parts(found) == {("node", "vn2", None)}
    assert found.sentence.startswith(blame_words.shared_part(RAILS, "", "vn2").partition(": ")[0])
    assert found.sentence.endswith(promise)


@pytest.mark.fault(
    "rail", "2 ms that large messages hide", f"hsn1 of vn2 {blame_words.is_slow(True)} {WITH_EVERY}: at best"
)
def test_small_messages_find_a_delay_that_large_ones_hide(prober: Probers, promise: str) -> None:
    # The value is that of a message of 1 KiB in MB/s: 2060 and 60 us.
    late = "case $SIZE$RAIL$NODES in 1024hsn1*vn2*) echo 0.4971;; 1024*) echo 17.07;; *) echo 47.8;; esac"
    one, launch = prober(f"SIZE=$1; {late}", rails=RAILS)
    one = replace(one, ping_pong=replace(one.ping_pong, words=lambda launch, size: [str(size)]), together=one.ping_pong)
    found = one.who_is_slow(PAIR, OTHERS, launch)
    assert blamed_parts(found) == {("rail", "vn2", "hsn1")}
    assert found.sentence.startswith(f"{promise} 2060 us for 1 KiB with vn")
    assert "; the same rail took at most 59.99 us for 1 KiB between " in found.sentence


def test_rails_are_measured_together_only_where_each_is_good_alone(prober: Probers, tmp_path: Path) -> None:
    one, launch = prober("case $RAIL$NODES in hsn1*vn2*) echo 24;; *) echo 47.8;; esac", rails=RAILS)
    found = replace(one, together=one.ping_pong).who_is_slow(PAIR, OTHERS, launch)
    assert blamed_parts(found) == {("rail", "vn2", "hsn1")}
    assert not list((tmp_path / "stage").glob("probe-*hsn0+hsn1*"))


@pytest.mark.fault(
    "rail", "only what vn2 sends over a rail is slow", "; only what vn2 sends is slow: 24.00 MB/s to vn1, "
)
def test_a_slow_rail_says_which_way_it_is_slow(prober: Probers, promise: str) -> None:
    one, launch = prober("case $RAIL$NODES in hsn1*vn2*) echo 32;; *) echo 47.8;; esac", rails=RAILS)
    streams = "case $NODES in vn2-*) echo 24;; *) echo 47.8;; esac"

    def one_way(rail: str, nodes: tuple[str, str]) -> Launch:
        return replace(one.ping_pong.launch(rail, nodes), options=("-c", streams, "probe"))

    found = replace(one, one_way=replace(one.ping_pong, launch=one_way)).slow_rails_of(PAIR, OTHERS, launch)
    assert blamed_parts(found) == {("rail", "vn2", "hsn1")}
    assert f"{promise}47.80 MB/s from vn1 (50.2 %; bound 85.0 %)" in found.sentence
    assert found.suspects[0].reason == found.sentence


def test_the_value_of_a_probe_of_small_messages_is_its_time(virtual: Site) -> None:
    def launch(rail: str, nodes: tuple[str, str]) -> Launch:
        raise AssertionError("nothing is launched here")

    late = PingPong("imb/PingPong", imb.parse, launch, lambda launch, size: [], size_bytes=1024)
    text = imb_output("imb/PingPong", {1024: 1024 / 2060}, 5)
    assert late.delay_bytes == 1024
    assert late.value(text) == pytest.approx(1024 / 2060)
    # It says nothing about another size, and a time of 0.00 does not count.
    assert late.value(imb_output("imb/PingPong", {512: 1.0}, 5)) is None
    assert late.value(text.replace("2060.00", "0.00")) is None
    large = replace(late, size_bytes=1 << 20)
    assert (large.delay_bytes, large.value(imb_output("imb/PingPong", {1 << 20: 47.8}, 5))) == (None, 47.8)


# --- an address that two nodes have

OWNERS, THIEFS = "0a:00:00:00:01:02", "0a:00:00:00:01:03"
#: Answers like the reader of vn3, in whose place it is called.
ANSWER = (
    f"[ $2 = reader.sh ] && printf 'railyard-counters 1 %s\\nnode vn3\\nbefore hsn0 hardware/hsn0 {THIEFS}\\nend 1\\n' "
    "$4 > $3/vn3.counters; case $NODES in *vn2*) exit 1;; esac; echo 47.8"
)


@pytest.mark.parametrize("script", [ANSWER, "case $NODES in *vn2*) exit 1;; esac; echo 47.8"], ids=["asked", "silent"])
@pytest.mark.fault(
    "session", "an address of vn2 that vn3 has too", "answers for 10.1.1.2, the address of vn2, as vn1 found"
)
def test_the_node_that_has_anothers_address_is_named_and_its_victim_is_not(
    prober: Probers,
    assess_cell: Callable[..., Assessment],
    counters_text: Callable[..., str],
    script: str,
    promise: str,
) -> None:
    one, _ = prober(script, rails=("hsn0",))
    first = f"after hsn0 arp/10.1.1.2 {THIEFS}\nbefore - own/10.1.1.1 yes\nend 1"
    second = f"before hsn0 hardware/hsn0 {OWNERS}\nbefore - own/10.1.1.2 yes\nend 1"
    moved = {"hsn0": (0.1, 0.1)}
    run = assess_cell(
        exit_code=1, output="", counters=(counters_text("vn1", moved, first), counters_text("vn2", moved, second))
    )
    verdict = one.explain(run).verdict
    named = {(each.kind, each.node, each.rail) for each in verdict.suspects}
    assert promise in verdict.text
    if script == ANSWER:
        assert (named, verdict.fault) == ({("rail", "vn3", "hsn0")}, "set-up")
        assert f"hsn0 of vn3 ({THIEFS}) {promise} over hsn0" in verdict.text
    else:  # it is unknown whose hardware it is
        assert named == set()
        assert f"{path_words.a_stranger()} ({THIEFS}) {promise}" in verdict.text


# --- cables of two rails that are swapped

#: Each pair of nodes finds its counters in a folder of the stage, and the reader of a probe copies them.
COUNTED = 'for it in counted/$NODES/*; do sed "s/ 1 [^ ]*$/ 1 $4/" $it > $3/${it##*/}; done; echo 47.8'


@pytest.mark.parametrize(
    ("swapped", "named", "sentence"),
    [
        (("vn2",), {("rail", "vn2", "hsn0"), ("rail", "vn2", "hsn1")}, "hsn0 and hsn1 of vn2 are crossed: so they are "
         "between vn2 and vn3, and not between vn1 and vn3; hsn0 and hsn1 are crossed between vn1 and vn2: "),
        (("vn1",), {("rail", "vn1", "hsn0"), ("rail", "vn1", "hsn1")}, "hsn0 and hsn1 of vn1 are crossed: so they are "
         "between vn1 and vn3, and not between vn2 and vn3; hsn0 and hsn1 are crossed between vn1 and vn2: "),
        ((), {("pair", "vn1-vn2", "hsn0")}, "runs with vn3 do not tell on which of the two it is"),
        (("vn1", "vn2"), {("pair", "vn1-vn2", "hsn0")}, "runs with vn3 do not tell on which of the two it is"),
    ],
)  # fmt: skip
def test_the_node_of_two_swapped_cables_is_found_with_a_third_one(
    prober: Probers,
    assess_cell: Callable[..., Assessment],
    swapped: tuple[str, ...],
    named: set[tuple[str, str, str]],
    sentence: str,
) -> None:
    def counter_files(first: str, second: str, is_crossed: bool) -> dict[str, str]:
        straight, crossed = {"hsn0": (9.0, 9.0), "hsn1": (0.0, 0.0)}, {"hsn0": (9.0, 0.0), "hsn1": (0.0, 9.0)}
        moved = crossed if is_crossed else straight
        return {node: counters_file(node, moved, ("hsn0",)) for node in (first, second)}

    one, _ = prober(COUNTED, rails=("hsn0",))
    for node in PAIR:
        folder = one.stage / f"counted/{node}-vn3"
        folder.mkdir(parents=True)
        for name, text in counter_files(node, "vn3", node in swapped).items():
            (folder / f"{name}.counters").write_text(text, encoding="utf-8")
    run = assess_cell(counters=tuple(counter_files(*PAIR, is_crossed=True).values()))
    assert run.path.crossed == ("hsn0", "hsn1")
    verdict = one.explain(run).verdict
    assert {(each.kind, each.node, each.rail) for each in verdict.suspects} == named
    assert verdict.text.startswith(sentence) if len(swapped) == 1 else sentence in verdict.text


# --- loss


@pytest.fixture
def lossy_findings(prober: Probers, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Findings]:
    """Return the findings of probes that send this many segments per run, and resend some if ``bad`` matches."""

    def read_segments(folder: Path) -> tuple[int, int] | None:
        again, all_sent = (folder.parent / f"{folder.name}.out").read_text(encoding="utf-8").split()
        return int(again), int(all_sent)

    monkeypatch.setattr("railyard.rfm.checks.prober.segments", read_segments)

    def find(bad: str, *, sent: int = 10_000, resent: int = 90, rails: tuple[str, ...] = ("hsn1",)) -> Findings:
        script = f"case $RAIL-$NODES in {bad}) again={resent};; *) again=0;; esac; echo $again {sent}"
        one, launch = prober(script, rails=rails)
        return one.lossy_rails_of(PAIR, OTHERS, launch)

    return find


def test_a_rail_that_loses_packets_is_blamed_and_its_partners_are_not(lossy_findings: Callable[..., Findings]) -> None:
    found = lossy_findings("hsn1-*vn2*", rails=("hsn0", "hsn1"))
    reason = blame_words.lossy_rail("hsn1", "vn2", [f"0.9 % with {partner}" for partner in ("vn1", "vn3", "vn4")])
    assert found == Findings((Suspect("rail", reason, "vn2", "hsn1"),), reason)


def runs(folder: Path, probe: str) -> int:
    return len(list((folder / "stage").glob(f"loss-*-{probe}.out")))


def test_a_rail_is_run_until_enough_was_sent_unless_it_is_clear_that_it_loses(
    lossy_findings: Callable[..., Findings], tmp_path: Path
) -> None:
    lossy_findings("hsn1-vn1-vn2")
    whole = -(-LEAST_SEGMENTS // 10_000)
    assert (runs(tmp_path, "hsn1-vn1-vn2"), runs(tmp_path, "hsn1-vn1-vn3")) == (1, whole)


def test_a_rail_that_is_clean_between_the_pair_is_measured_with_nobody_else(
    lossy_findings: Callable[..., Findings], tmp_path: Path
) -> None:
    lossy_findings("hsn1-*vn2*", rails=("hsn0", "hsn1"))
    measured = {path.name.split("-", 2)[2] for path in (tmp_path / "stage").glob("loss-*-hsn0-*.out")}
    assert measured == {"hsn0-vn1-vn2.out"}
    assert runs(tmp_path, "hsn1-vn3-vn4") > 0


@pytest.mark.parametrize(("resent", "is_blamed"), [(71, True), (70, False)])
def test_a_share_within_the_bound_blames_nobody(
    lossy_findings: Callable[..., Findings], resent: int, is_blamed: bool
) -> None:
    found = lossy_findings("*vn2*", sent=70_000, resent=resent)
    assert bool(found.suspects) == is_blamed
    if not is_blamed:
        assert found.sentence == blame_words.none_lost(1)


def test_the_time_of_all_probes_ends_those_of_loss_too(
    prober: Probers, lossy_findings: Callable[..., Findings], tmp_path: Path
) -> None:
    one, launch = prober("echo 90 10000", rails=("hsn1",))
    found = replace(one, until_s=0.0).lossy_rails_of(PAIR, OTHERS, launch)
    assert (found.suspects, list((tmp_path / "stage").glob("loss-*"))) == ((), [])
    assert found.sentence == (
        f"no rail was measured alone, so {NOBODY_BLAMED}; the time of all probes, 120 s, was over before all rails "
        "were measured for what they lose (probe-time)"
    )


def test_probes_that_send_too_little_count_for_nobody(lossy_findings: Callable[..., Findings]) -> None:
    assert lossy_findings("none", sent=10) == Findings((), f"no rail was measured alone, so {NOBODY_BLAMED}")
    assert lossy_findings("none", sent=0) == Findings((), f"no rail was measured alone, so {NOBODY_BLAMED}")


def test_nothing_is_measured_alone_where_the_set_up_says_why_the_run_failed(
    prober: Probers, assess_cell: Callable[..., Assessment]
) -> None:
    one, _ = prober("echo 47.8")
    ended = {"exit_code": 16, "output": ""}
    explained = assess_cell(**ended, launcher="/usr/bin/mpirun\nmpirun (Open MPI) 4.1.4\n")
    assert one.explain(explained) == explained
    assert list(one.stage.iterdir()) == []
    one.explain(assess_cell(**ended))
    assert list(one.stage.iterdir()) != []
