"""The command of each process of a launch."""

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import every_node
from railyard.job.client_server import ClientAndServer, Command, CopyANode, FirstProcess, Program

ARGUMENTS = ("-n", "two words")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (Program(), ["/opt/prog", "-n", "two words"]),
        (CopyANode(), ["sh", every_node.SCRIPT, every_node.PARTS, "h-1", "/opt/prog", "-n", "two words"]),
        (
            FirstProcess(4, "ssh"),
            ["sh", "pair.sh", "first", "pair", "h-1", "4", "hsn0", "ssh", "--", "/opt/prog", "-n", "two words"],
        ),
    ],
)
def test_words_stay_whole(command: Command, words: list[str]) -> None:
    assert command.words("/opt/prog", ARGUMENTS, ("hsn0",), "h-1") == words


def test_a_client_and_a_server_run_over_each_rail_and_one_after_the_other_where_that_is_asked() -> None:
    for in_turn, how in ((False, "at-once"), (True, "in-turn")):
        words = ClientAndServer("iperf3", "tcp", in_turn).words("/usr/bin/iperf3", ["-J"], ("hsn0", "hsn1"), "h-1")
        assert words[:6] == ["sh", "pair.sh", "run", "pair", "h-1", how]
        assert [rail.partition("=")[0] for rail in words[6].split(",")] == ["hsn0", "hsn1"]


def test_a_tool_without_a_client_and_an_application_over_two_rails_are_refused() -> None:
    with pytest.raises(RailyardError):
        ClientAndServer("perftest", "tcp").words("/usr/bin/ib_write_bw", [], ("hsn0",), "h-1")
    with pytest.raises(RailyardError, match=r"^/opt/prog: found 2 rails \(hsn0, hsn1\), expected one: "):
        FirstProcess(4, "ssh").words("/opt/prog", ARGUMENTS, ("hsn0", "hsn1"), "h-1")
