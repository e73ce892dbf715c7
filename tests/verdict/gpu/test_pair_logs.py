"""What logs of pairs of nodes say against their nodes: sockets, impossible rates, and pairs that are all slow alike."""

from collections.abc import Callable, Iterable

import pytest

from railyard.base.errors import RailyardError
from railyard.base.wording import IMPOSSIBLE
from railyard.parsers import nccl
from railyard.parsers.nccl_said import Rank
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.verdict.blame import gpu_pairs, gpu_pairs_text
from railyard.verdict.blame.gpu_pairs import PairsVerdict
from railyard.verdict.gpu.pairs import check_logs
from railyard.verdict.gpu.run import of_words
from railyard.verdict.wording import gpu_log as log_words
from railyard.verdict.wording import gpu_runs as gpu_run_words
from tests.made.nccl_pair_logs import End, PairLog, healthy, logs, names

NODES = names(5)
#: Two NICs of 49.7 GB/s carry half of what eight GPUs of each node exchange: 23.6 GB/s in the logs is 101 % of it.
HAVE = "gpus=8,nvlink=4,nics=2,link=ib-ndr"


def judge_logs(made: Iterable[PairLog], words: str | None = HAVE) -> PairsVerdict:
    texts = [(one.name, one.text) for one in made]
    found = check_logs(
        gpu_pairs.read_tests(texts),
        {name: with_wrong_lines(nccl.parse(text), text) for name, text in texts},
        None if words is None else of_words(words),
    )
    return gpu_pairs.judge(found)


def with_log(made: Iterable[PairLog], lines: Callable[[str], str]) -> list[PairLog]:
    """Return the logs with what each host says, below the list of ranks."""
    found = []
    for one in made:
        said = "".join(lines(host) for host in one.name.removesuffix(".log").split("_")[2:])
        head, mark, rows = one.text.partition("#\n#    ")
        found.append(PairLog(one.name, f"{head}{said}{mark}{rows}"))
    return found


def sockets(host: str) -> str:
    head = f"{host}:1000:1001 [0] NCCL INFO"
    return f"{head} NET/IB : No device found.\n{head} Using network Socket\n"


def verbs(host: str, nics: str = "[0]mlx5_0:1/IB [1]mlx5_1:1/IB") -> str:
    head = f"{host}:1000:1001 [0] NCCL INFO"
    return f"{head} NET/IB : Using {nics} [RO]; OOB eth0:192.0.2.1<0>\n{head} Using network IB\n"


def test_healthy_logs_of_such_nodes_are_good() -> None:
    found = judge_logs(with_log(logs(NODES, healthy, (8, 1)), verbs))
    assert found.is_good and found.recorded.wrong == ()
    said = gpu_pairs_text.text(found)
    assert f"; pairs are compared with one another, and with what nodes of {HAVE} can reach\n" in said
    assert "whether all pairs are slow alike: not judged: no source gives a floor for 1 of 8 GPUs per node" in said


@pytest.mark.parametrize("words", [None, HAVE])
def test_sockets_of_all_nodes_are_no_pass_though_all_pairs_are_alike(words: str | None) -> None:
    found = judge_logs(with_log(logs(NODES, healthy, (8,)), sockets), words)
    assert not found.is_good and found.blamed == ()
    assert sorted({one.who for one in found.recorded.wrong}) == list(NODES)
    said = gpu_pairs_text.text(found)
    since = log_words.say_since("NET/IB : No device found.", 22)
    used = gpu_run_words.sockets_instead("" if words is None else "ib-ndr", 23, since)
    assert f":\n  n01: {used} (nccl_G8_n01_n02.log and 3 more)\n" in said
    assert ("if the nodes have only Ethernet, say it" in said) == (words is None)
    assert gpu_pairs_text.as_json(found)["contradictions"][0]["who"] == "n01"


def test_sockets_of_one_node_name_that_node_alone() -> None:
    made = with_log(logs(NODES, healthy, (8,)), lambda host: (sockets if host == "n03" else verbs)(host))
    found = judge_logs(made)
    assert {one.who for one in found.recorded.wrong} == {"n03"} and not found.is_good


def test_sockets_of_nodes_with_ethernet_are_meant() -> None:
    found = judge_logs(with_log(logs(NODES, healthy, (8,)), sockets), "gpus=8,nvlink=4,nics=2,link=eth-400")
    assert found.recorded.wrong == () and found.is_good


def test_a_rate_that_all_pairs_share_and_no_nic_carries_is_no_pass() -> None:
    found = judge_logs(logs(NODES, healthy, (8,)), "gpus=8,nvlink=4,nics=2,link=ib-edr")
    assert not found.is_good and {one.who for one in found.recorded.wrong} == {"all pairs"}
    said = gpu_pairs_text.text(found)
    assert (
        f"  all pairs: alltoall_perf: at 32 MiB: {IMPOSSIBLE}busbw 23.51 GB/s of alltoall on 2 nodes of 8 GPUs" in said
    )
    assert "nothing was judged\n" in said


def test_a_pair_that_is_impossibly_fast_blames_no_healthy_one() -> None:
    def rate(a: End, b: End) -> float:
        return 4.0 if {a[0], b[0]} == {"n01", "n02"} else 1.0

    found = judge_logs(logs(NODES, rate, (8,)))
    assert {one.who for one in found.recorded.wrong} == {"n01-n02"}
    assert found.blamed == () and not found.is_good


def test_pairs_that_are_all_slow_alike_are_no_pass() -> None:
    found = judge_logs(logs(NODES, healthy, (8,)), "gpus=8,nvlink=4,nics=8,link=ib-ndr")
    (one,) = found.recorded.wrong
    assert one.who == "all pairs" and not found.is_good and found.blamed == ()
    assert one.why.startswith("even the fastest, alltoall_perf with 8 GPUs per node: busbw of long messages is at most")


def test_a_node_with_fewer_nics_than_stated_is_named() -> None:
    def lines(host: str) -> str:
        nics = "[0]mlx5_0:1/IB" if host == "n04" else "[0]mlx5_0:1/IB [1]mlx5_1:1/IB"
        pids = {one.pid for text in made if host in text.name for one in ranks(text) if one.host == host and one.pid}
        return "".join(verbs(host, nics).replace(":1000:", f":{pid}:") for pid in pids)

    def ranks(one: PairLog) -> tuple[Rank, ...]:
        spoken = nccl.parse(one.text).nccl
        assert spoken is not None
        return spoken.jobs[0].ranks

    made = list(logs(NODES, healthy, (8,)))
    found = judge_logs(with_log(made, lines))
    assert {one.who for one in found.recorded.wrong} == {"n04"}
    assert "n04 has 1 NIC for it" in found.recorded.wrong[0].why


@pytest.mark.parametrize(
    ("line", "who"),
    [
        ("n04:1:2 [0] NCCL WARN NET/IB : mlx5_3:1 Got async event : port error", "n04"),
        ("[ 12.5] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.", "n01-n04"),
    ],
)
def test_an_error_beside_good_results_is_no_pass(line: str, who: str) -> None:
    made = [
        PairLog(one.name, one.text.replace("# Using devices", f"{line}\n# Using devices"))
        if "n01_n04" in one.name
        else one
        for one in logs(NODES, healthy, (8,))
    ]
    found = judge_logs(made, None)
    (one,) = found.recorded.wrong
    assert (one.who, one.why) == (who, f'its output reports "{line}" (line 5)') and not found.is_good
    assert "Ethernet" not in gpu_pairs_text.text(found)


def test_logs_that_checked_nothing_are_told() -> None:
    made = [PairLog(one.name, one.text.replace("      0 ", "    N/A ")) for one in logs(NODES, healthy, (8,))]
    said = "10 tests did not check what arrived (-c 0): wrong data would not show"
    assert said in gpu_pairs_text.text(judge_logs(made, None))
    assert said not in gpu_pairs_text.text(judge_logs(logs(NODES, healthy, (8,)), None))


def test_nodes_with_fewer_gpus_than_the_logs_are_refused_with_the_log() -> None:
    with pytest.raises(RailyardError, match=r"expected at least 8: .* \(nccl_G8_n01_n02.log\)"):
        judge_logs(logs(NODES, healthy, (8,)), "gpus=4,nvlink=4,nics=2,link=ib-ndr")
