"""A rail that is slow only in the direction opposite to the run: found after a pass, with node and direction."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from railyard.job.launch import Launch
from railyard.parsers.output import ParsedOutput
from railyard.rfm.checks.declaration import Declaration
from railyard.rfm.checks.groups import Probes
from railyard.rfm.checks.node_questions import PingPong
from railyard.rfm.checks.other_way import OneWayProber, OtherWayProber
from railyard.rfm.checks.probe_places import LocalPlace
from railyard.rfm.checks.prober import RailProber
from railyard.site.site import Site
from railyard.stacks import ask
from railyard.verdict.assess import Assessment

Asked = Callable[[str], OtherWayProber]


class LastWord(PingPong):
    """A stream that prints its value as its last word."""

    def value(self, text: str) -> float | None:
        words = (text.splitlines() or [""])[-1].split()
        return float(words[-1]) if words and words[-1].replace(".", "").isdigit() else None


def refuse_parse(text: str) -> ParsedOutput:
    raise AssertionError("nothing is parsed here")


@pytest.fixture
def stream_prober(tmp_path: Path, virtual: Site) -> Asked:
    """Return a maker of the streams after a run: each stream is this shell script, with NODES and RAIL."""

    def make(script: str) -> OtherWayProber:
        def launch(rail: str, nodes: tuple[str, str]) -> Launch:
            told = {"NODES": "-".join(nodes), "RAIL": rail}
            return Launch("sh", told, (), ask.settings("mpich", "tcp", (rail,), 1, None), (rail,), (), nodes)

        stream = LastWord("imb/Uniband", refuse_parse, launch, lambda launch, size: [])
        place = LocalPlace(tmp_path, lambda launch, limit_s: ["sh", "-c", script, "stream"])
        return OtherWayProber(
            RailProber(virtual, "hsn", tmp_path, stream, lambda: None, place, one_way=stream), "AllPairs"
        )

    return make


@pytest.mark.parametrize(
    ("unless", "features", "measures"),
    [(None, [], False), ((), ["imb"], True), (("imb",), ["osu", "imb"], False), (("imb",), ["osu", "rails2"], True)],
)
def test_of_a_stack_one_tool_measures_the_other_way(
    unless: tuple[str, ...] | None, features: list[str], measures: bool
) -> None:
    probes = Probes(other_way_unless=unless)
    check = SimpleNamespace(probes=probes, current_environ=SimpleNamespace(features=features))
    assert vars(Declaration)["measures_other_way"].fget(check) is measures


def test_healthy_rails_are_said_and_pass(
    stream_prober: Asked, assess_cell: Callable[..., Assessment], tmp_path: Path
) -> None:
    verdict = stream_prober("echo 47.8").explain(assess_cell(rails=2)).verdict
    assert (verdict.state, verdict.remarks[-1]) == (
        "pass",
        "from vn2 to vn1, each rail alone: hsn0 47.80 MB/s and hsn1 47.80 MB/s",
    )
    names = sorted(path.name for path in tmp_path.glob("way-*.out"))
    assert names == ["way-1-hsn0-vn2-vn1.out", "way-1-hsn1-vn2-vn1.out"]  # one stream per rail if all is healthy


@pytest.mark.parametrize(
    ("slow", "node"),
    [
        pytest.param(
            "hsn1vn2-*",
            "vn2",
            marks=pytest.mark.fault(
                "rail",
                "only the sending side of one rail of the receiver slow",
                "only what vn2 sends over hsn1 is slow",
            ),
            id="sends",
        ),
        pytest.param(
            "hsn1*-vn1",
            "vn1",
            marks=pytest.mark.fault(
                "rail", "only the receiving side of one rail of the sender slow", "only what vn1 receives over hsn1"
            ),
            id="receives",
        ),
    ],
)
def test_a_rail_that_is_slow_one_way_is_named_with_the_way(
    stream_prober: Asked, assess_cell: Callable[..., Assessment], slow: str, node: str, promise: str
) -> None:
    verdict = (
        stream_prober(f"case $RAIL$NODES in {slow}) echo 38.2;; *) echo 47.8;; esac")
        .explain(assess_cell(rails=2))
        .verdict
    )
    assert (verdict.state, verdict.rule, verdict.fault) == ("fail", 4, "fabric")
    assert promise in verdict.sentence
    assert [(one.kind, one.node, one.rail) for one in verdict.suspects] == [("rail", node, "hsn1")]


@pytest.mark.fault("path", "one way between two nodes slow, each good with others", "no node by itself")
def test_a_slow_way_between_two_nodes_alone_blames_neither(
    stream_prober: Asked, assess_cell: Callable[..., Assessment], promise: str
) -> None:
    verdict = stream_prober("case $NODES in vn2-vn1) echo 20;; *) echo 47.8;; esac").explain(assess_cell()).verdict
    assert (verdict.state, [one.kind for one in verdict.suspects]) == ("fail", ["pair"])
    assert promise in verdict.sentence


def test_a_disturbance_that_hits_both_ways_blames_nobody(
    stream_prober: Asked, assess_cell: Callable[..., Assessment]
) -> None:
    verdict = stream_prober("echo 20").explain(assess_cell()).verdict
    assert (verdict.state, verdict.suspects) == ("pass", ())
    assert verdict.remarks[-1].startswith("disturbed: hsn0 carries 20.00 MB/s from vn2 to vn1, and back 20.00 MB/s")


def test_a_stream_that_lies_near_the_bound_both_ways_is_no_slow_way(
    stream_prober: Asked, assess_cell: Callable[..., Assessment]
) -> None:
    """A short stream of a fast card gives 85 % of the link: 84.4 % in one direction and 86.0 % back are alike."""
    verdict = stream_prober("case $NODES in vn2-*) echo 40.3;; *) echo 41.1;; esac").explain(assess_cell()).verdict
    assert (verdict.state, verdict.suspects) == ("pass", ())
    assert verdict.remarks[-1] == "from vn2 to vn1, each rail alone: hsn0 40.30 MB/s"


def test_one_slow_stream_of_three_is_no_slow_rail(
    stream_prober: Asked, assess_cell: Callable[..., Assessment], tmp_path: Path
) -> None:
    once = f"if mkdir {tmp_path}/once 2>/dev/null; then echo 20; else echo 47.8; fi"
    assert stream_prober(once).explain(assess_cell()).verdict.state == "pass"


def test_without_a_place_to_start_one_it_is_said_that_one_direction_was_measured(
    stream_prober: Asked, assess_cell: Callable[..., Assessment]
) -> None:
    rails = replace(stream_prober("exit 1").rails, place=None)
    only = "only the direction from vn1 to vn2 was measured: AllPairs see the other"
    for prober in (OtherWayProber(rails, "AllPairs"), OneWayProber(rails, "AllPairs")):
        verdict = prober.explain(assess_cell()).verdict
        assert (verdict.state, verdict.remarks[-1]) == ("pass", only)
    failed = assess_cell(output="")
    assert OneWayProber(rails, "AllPairs").explain(failed) == rails.explain(failed)
    unseen = replace(assess_cell(), path=replace(assess_cell().path, state="not-judged"))
    assert OneWayProber(rails, "AllPairs").explain(unseen) is unseen


@pytest.mark.fault("rail", "the probe of the other direction is broken", "from vn2 to vn1, each rail alone: hsn0 not")
def test_a_broken_probe_is_no_slow_rail_and_its_first_line_is_said(
    stream_prober: Asked, assess_cell: Callable[..., Assessment], promise: str
) -> None:
    verdict = stream_prober("echo; echo no such program: imb; exit 127").explain(assess_cell()).verdict
    assert (verdict.state, verdict.suspects) == ("pass", ())
    assert verdict.remarks[-1] == f'{promise} measured ("no such program: imb")'
    silent = stream_prober("exit 1").explain(assess_cell()).verdict
    assert silent.remarks[-1] == f"{promise} measured (it printed nothing)"


def test_of_a_slow_way_whose_return_is_not_measured_nobody_is_blamed(
    stream_prober: Asked, assess_cell: Callable[..., Assessment]
) -> None:
    verdict = stream_prober("case $NODES in vn2-vn1) echo 20;; *) echo broken;; esac").explain(assess_cell()).verdict
    assert (verdict.state, verdict.suspects) == ("pass", ())
    assert verdict.remarks[-1].startswith(
        'hsn0 carries 20.00 MB/s from vn2 to vn1, and back not measured ("broken"), each alone'
    )


def test_where_streams_with_others_give_nothing_neither_node_is_named(
    stream_prober: Asked, assess_cell: Callable[..., Assessment]
) -> None:
    script = "case $NODES in vn2-vn1) echo 20;; vn1-vn2) echo 47.8;; *) echo broken;; esac"
    verdict = stream_prober(script).explain(assess_cell()).verdict
    assert (verdict.state, [one.kind for one in verdict.suspects]) == ("fail", ["pair"])
    assert 'it is unknown which of the two is slow: vn2 to others not measured ("broken") (vn3)' in verdict.sentence
