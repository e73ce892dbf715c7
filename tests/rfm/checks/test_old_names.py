"""A site's check that declares by the names from before the groups: it works, and is told the new ones."""

import pytest

from railyard.rfm.checks import groups
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.groups import Accepts, take_numbers
from railyard.rfm.checks.microbench import OsuCheck
from railyard.site.systems.measure import Takes
from tests.made.check import MadeCheck


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test see the lines that are printed once."""
    monkeypatch.setattr(groups, "_SAID", set())


def test_old_names_in_a_class_become_groups_and_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    class Own(OsuCheck):
        accepts = Accepts(even_nodes=True)
        fewest_nodes = 2
        takes_ranks = True
        probe_key = "osu/osu_bw"

    assert Own.accepts == Accepts(fewest_nodes=2, ranks=True, even_nodes=True)
    assert (Own.probes.ping_pong, Own.probes.program) == ("osu/osu_bw", "osu_latency")
    ends = "(railyard.check); the next release removes the old name"
    assert capsys.readouterr().err.splitlines() == [
        f"railyard: {__file__}: found Own.fewest_nodes, expected accepts = Accepts(fewest_nodes=2) {ends}",
        f"railyard: {__file__}: found Own.takes_ranks, expected accepts = Accepts(ranks=True) {ends}",
        f"railyard: {__file__}: found Own.probe_key, expected probes = Probes(ping_pong='osu/osu_bw') {ends}",
    ]


def test_a_class_without_old_names_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    class Own(OsuCheck):
        accepts = Accepts(fewest_nodes=2)

    assert Own.accepts.fewest_nodes == 2 and capsys.readouterr().err == ""


def test_an_old_name_can_be_read_and_set(capsys: pytest.CaptureFixture[str]) -> None:
    class Own(InterconnectCheck):
        tool, benchmark = "imb", "PingPong"

    assert Own.within_node is False
    check = Own.__new__(Own)
    check.within_node = True
    assert check.layout.within_node and not Own.layout.within_node
    assert check.within_node is True
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(": found ")[2].partition(" (railyard.check)")[0] for line in said] == [
        "Own.within_node, expected layout.within_node",
        "Own.within_node, expected self.layout = replace(self.layout, within_node=True)",
        "Own.within_node, expected layout.within_node",
    ]
    assert all(f"{__file__}:" in line for line in said)


def test_a_property_by_an_old_name_is_an_error_with_the_new_one() -> None:
    class Own(InterconnectCheck):
        @property
        def more_outputs(self) -> tuple[str, ...]:
            return ()

    class DerivedCheck(Own):
        pass

    assert groups.find_override(DerivedCheck) == (
        "Own: found more_outputs, expected a property outputs that returns Outputs(more=…)"
    )
    assert groups.find_override(OsuCheck) is None


def test_what_a_run_sets_is_not_declared() -> None:
    class Own(InterconnectCheck):
        refused = "no"

    assert groups.find_override(Own) == ("Own: found refused, expected another name: a run sets request.refused")


def test_an_old_name_that_is_set_for_a_run_is_refused_with_the_new_one() -> None:
    class Own(InterconnectCheck):
        tool, benchmark = "imb", "PingPong"

    assert Own.setvar("within_node", "1") and not Own.layout.within_node
    check = MadeCheck()
    take_numbers(check, Takes(), Own.request.variables, None)
    assert check.request.refused == (
        "-S within_node: no check takes it, expected layout.within_node in a check of your own"
    )
