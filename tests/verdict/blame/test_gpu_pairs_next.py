"""What to measure after all pairs of nodes by nccl-tests, played against clusters whose faults are known."""

from collections.abc import Callable

import pytest

from railyard.verdict.blame import gpu_pairs
from railyard.verdict.blame.gpu_pairs import Ask, RepeatJudgement, judge_repeats, next_pairs, settle_pairs
from tests.made.nccl_pair_logs import HEALTHY, Rate, healthy, logs, names, node, slow, text

ALL = tuple(range(8))
#: What a pair gives when it is measured at once with others: less where their routes meet.
Meets = Callable[[str, str], float]


def pair_log(rate: Rate, a: str, b: str, gpu: int | None, turn: int) -> str:
    """Return the log of one pair by itself."""
    used = ALL if gpu is None else (gpu,)
    shares = [rate((a, one), (b, one)) for one in used]
    worst = None if None in shares else min(share for share in shares if share is not None)
    return text(a, b, used, used, None if worst is None else HEALTHY[len(used)] * worst, 500 + turn)


def search(rate: Rate, count: int = 6, meets: Meets = lambda a, b: 1.0) -> tuple[RepeatJudgement, list[Ask]]:
    """Return what all rounds and all that was asked for then come to, and what that was."""
    texts: dict[str, str] = {}
    for one in logs(names(count), rate, gpus=(8,)):
        a, b = one.name.removesuffix(".log").split("_")[2:]
        alone = rate((a, 0), (b, 0))
        left = meets(a, b)
        texts[f"rounds/{one.name}"] = (
            one.text if left == 1 or alone is None else text(a, b, ALL, ALL, HEALTHY[8] * left, 300)
        )
    at_once, asked = set(texts), list[Ask]()
    for turn in range(20):
        again = judge_repeats(gpu_pairs.read_tests(texts.items()), at_once)
        asks = next_pairs(again)
        if not asks:
            return again, asked
        assert not set(asks) & set(asked), "nothing is asked for twice"
        asked += asks
        for ask in asks:
            texts[f"alone/{ask.word}"] = pair_log(rate, ask.first, ask.second, ask.gpu, turn)
    raise AssertionError("it asks for ever")


def test_a_healthy_cluster_asks_for_nothing() -> None:
    again, asked = search(healthy)
    assert asked == [] and again.judged.is_good


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, None])
def test_a_slow_or_dead_gpu_is_told_from_the_others_of_its_node(share: float | None) -> None:
    again, asked = search(slow(share, ("n03", 5)))
    (one,) = again.judged.named_parts
    assert (one.kind, one.nodes, one.gpus, one.sure) == ("gpu", ("n03",), (("5",),), "shown")
    assert again.is_confirmed(one)
    # its pairs with two partners, then its eight GPUs with one of them, and what tells the bad one
    assert [ask.gpu for ask in asked[:2]] == [None, None]
    assert len(asked) == 2 + 8 + 2 + 2


def test_a_node_whose_gpus_are_all_slow_stays_a_node() -> None:
    again, _ = search(slow(0.5, *node("n02")))
    (one,) = again.judged.named_parts
    assert (one.kind, one.nodes) == ("node", ("n02",))


def test_a_pair_is_measured_alone_and_stays_a_pair() -> None:
    def rate_between(a: tuple[str, int], b: tuple[str, int]) -> float:
        return 0.5 if {a[0], b[0]} == {"n01", "n04"} else 1.0

    again, asked = search(rate_between)
    assert asked == [Ask("n01", "n04")]
    assert [(one.kind, one.nodes) for one in again.judged.blamed] == [("pair", ("n01", "n04"))]


def test_pairs_that_met_on_one_link_are_good_alone() -> None:
    """Static routes of a healthy network: all pairs of one node are slow in their rounds, and none by itself."""
    again, asked = search(healthy, meets=lambda a, b: 0.55 if "n02" in (a, b) else 1.0)
    assert again.judged.named_parts == () and again.judged.is_good
    assert {(ask.first, ask.second) for ask in asked} == {
        ("n01", "n02"), ("n02", "n03"), ("n02", "n04"), ("n02", "n05"), ("n02", "n06"),
    }  # fmt: skip


def test_the_better_value_of_a_pair_counts_and_no_result_always_does() -> None:
    a, b = "n01", "n02"
    texts = {
        "rounds/1": text(a, b, ALL, ALL, 10.0, 1),
        "alone/1": text(a, b, ALL, ALL, 23.0, 2),
        "rounds/2": text(a, "n03", ALL, ALL, None, 3),
        "alone/2": text(a, "n03", ALL, ALL, 23.0, 4),
        "rounds/3": text(b, "n03", ALL, ALL, 23.5, 5),
        "alone/3": text(b, "n03", ALL, ALL, 20.0, 6),
    }
    kept = settle_pairs(gpu_pairs.read_tests(texts.items()), {name for name in texts if name.startswith("rounds")})
    assert {test.log for test in kept.tests} == {"alone/1", "rounds/2", "alone/2", "rounds/3"}


def test_two_logs_of_a_pair_that_was_measured_alone_both_count() -> None:
    """Recorded logs are nobody's rounds: one slow log of two may be a fault that comes and goes."""
    texts = {"1": text("n01", "n02", ALL, ALL, 10.0, 1), "2": text("n01", "n02", ALL, ALL, 23.0, 2)}
    found = gpu_pairs.read_tests(texts.items())
    assert {test.log for test in settle_pairs(found, ()).tests} == {"1", "2"}
