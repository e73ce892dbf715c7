"""A job of pairs of nodes between GPUs: what its logs and counters come to, judged as any run is."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.job.gpu_steps import EndedStep
from railyard.job.probe_job import STARTED_AGAIN
from railyard.parsers import gpu_pairs
from railyard.parsers.gpu_pairs import Step
from railyard.verdict.assess import Assessment
from railyard.verdict.blame.search.model import rounds
from railyard.verdict.wording import NOBODY_BLAMED
from railyard.verdict.wording import gpu_runs as gpu_run_words
from tests.made.judged_run import case_of, judge_output
from tests.made.nccl import GPUS, RAILS, REPORT_ONLY, SIZES, gpu_site, log_line, output, over_nics

PMI2 = Path(__file__).parents[2] / "recordings/failed/mpich5.0.2-pmi2-of-slurm22.05.8.err"
NODES = ("g1", "g2", "g3", "g4")
#: Below what the NICs of a node carry of it: 4 x 49.7 GB/s, of which each GPU's half is for the other node.
RATE = 80_000.0
KEY = "nccl/alltoall_perf/pairs"
#: Of each size twenty times out of place and in place, MB.
MOVED = 2 * 20 * sum(SIZES) / 1e6
Pair = frozenset[str]


def pair(a: str, b: str) -> Pair:
    return frozenset((a, b))


def log(a: str, b: str, rate: float | None, gpu: int | None = None, more: list[str] | None = None) -> str:
    """Return what nccl-tests prints of two nodes; nothing behind its ranks where it gave no result."""
    lines = over_nics((a, b), {number: number for number in range(GPUS)}) if more is None else more
    text = output("alltoall", (a, b), dict.fromkeys(SIZES, rate or 1.0), gpus=GPUS if gpu is None else 1, log=lines)
    bus = [f"0000:{number:02x}:00" for number in range(GPUS)]
    ranks = [line for line in text.splitlines() if line.startswith("#  Rank")]
    for rank, line in enumerate(ranks):
        device = rank % GPUS if gpu is None else gpu
        own = line.replace("[0000:1b:00]", f"[{bus[device]}]").replace(
            f"Pid {1000 + rank}", f"Pid {hash((a, b)) % 9999}"
        )
        text = text.replace(line, f"{own.partition(' device ')[0]} device {device:2d} [{own.partition('[')[2]}")
    if rate is not None:
        return text
    return text.partition("#\n#   ")[0] + f"{a}: Test NCCL failure common.cu:783 'remote process exited'\n"


def job(
    folder: Path,
    rates: Mapping[Pair, float | None] | None = None,
    *,
    alone: list[tuple[str, str, int | None, float | None]] | None = None,
    carried: float = 1.0,
    left: int = 0,
    logs: Mapping[Pair, str] | None = None,
    codes: Mapping[Pair, int] | None = None,
    first_gpu_of: int | None = None,
    **more: Any,
) -> Assessment:
    """Return what a job came to whose pairs gave these MB/s (RATE where nothing is said; None: no result).

    ``carried``: which share of what they moved the NICs' counters show.
    """
    rates, logs, codes = rates or {}, logs or {}, codes or {}
    made: list[tuple[Step, str]] = []
    for each in rounds(len(NODES)):
        for first, second in each:
            a, b = NODES[first], NODES[second]
            rate = rates.get(pair(a, b), RATE)
            code = codes.get(pair(a, b), 0 if rate is not None else 3)
            step = Step(f"rounds-{a}_{b}", False, a, b, None, code, 5)
            made.append((step, logs.get(pair(a, b)) or log(a, b, rate)))
    for a, b, gpu, rate in alone or ():
        name = f"alone-{a}_{b}{'' if gpu is None else f'-gpu{gpu}'}"
        used = 0 if gpu == first_gpu_of and gpu is not None else gpu
        text = log(a, b, rate, used).replace("Pid ", f"Pid 7{gpu or 0}")
        made.append((Step(name, True, a, b, gpu, 0 if rate is not None else 3, 5), text))
    printed = ["# railyard-gpu-pairs 1 alltoall_perf 1a2b", *(f"# node {n} {name}" for n, name in enumerate(NODES))]
    for step, _ in made:
        places = f"{NODES.index(step.first)} {NODES.index(step.second)}"
        gpu_ = "all" if step.gpu is None else step.gpu
        printed.append(f"{'alone' if step.alone else 'rounds'} {places} {gpu_} {step.exit_code} {step.seconds}")
    printed += [f"# stopped: {left} rounds left"] if left else []
    text = "\n".join([*printed, f"# end: {len(made)} steps", ""])
    case = case_of(
        gpu_site(folder, more.pop("system", REPORT_ONLY)), KEY, stack="nccl", rails=4, fabric="ndr",
        launch={"nodes": NODES, "ranks": 16, "ranks_per_node": GPUS}, repetitions=Repetitions(20, 5), pairs=GPUS,
    )  # fmt: skip
    # Each GPU sends to each: those of a pair half of their bytes to the other node, four of a node twice the size.
    sent = {
        node: sum(
            MOVED * (2 if step.gpu is None else 0.5)
            for step, _ in made
            if node in (step.first, step.second) and step.exit_code == 0
        )
        for node in NODES
    }
    moved = {node: dict.fromkeys(RAILS, (carried * mb / 4, carried * mb / 4)) for node, mb in sent.items()}
    steps = tuple(EndedStep(step, each) for step, each in made)
    return judge_output(case, text, gpu_pairs.parse, moved, steps=steps, **more)


def test_pairs_that_are_alike_are_sound_proven_and_clear(tmp_path: Path) -> None:
    found = job(tmp_path)
    assert found.verdict.state == "report-only", found.verdict.text
    assert [rule.state for rule in found.verdict.rules] == ["pass"] * 5
    assert "6 pairs of nodes give at least 100.0 % of what healthy ones give" in found.verdict.remarks
    assert found.path.state == "proven" and found.curves[0].values == (RATE,) * 3


def test_pairs_that_are_all_slow_alike_fail_by_the_floor_of_healthy_nodes(tmp_path: Path) -> None:
    found = job(tmp_path, {pair(*both): 20_000.0 for both in itertools.combinations(NODES, 2)})
    assert (found.verdict.state, found.verdict.rule) == ("fail", 5), found.verdict.text
    assert "busbw of long messages is at most 20.00 GB/s" in found.verdict.sentence
    assert found.verdict.suspects == ()


def test_the_slowest_pair_stands_for_all_and_the_fastest_must_be_possible(tmp_path: Path) -> None:
    assert job(tmp_path, {pair("g2", "g3"): 79_000.0}).curves[0].values == (79_000.0,) * 3
    found = job(tmp_path, {pair("g2", "g3"): 200_000.0})
    assert (found.verdict.state, found.verdict.rule) == ("fail", 3)


OF_G2 = {pair("g2", other): 40_000.0 for other in ("g1", "g3", "g4")}
#: What the job measures then: g2 with two partners by itself, each of its GPUs with one, and the slow one with another.
TOLD: list[tuple[str, str, int | None, float | None]] = [
    ("g1", "g2", None, 40_000.0),
    ("g2", "g3", None, 40_000.0),
    *(("g1", "g2", gpu, 20_000.0 if gpu == 3 else 40_000.0) for gpu in range(GPUS)),
    *(("g2", "g3", gpu, 20_000.0 if gpu == 3 else 40_000.0) for gpu in (0, 3)),
    *(("g1", "g3", gpu, 40_000.0) for gpu in (0, 3)),
]


def test_a_node_that_is_slow_in_its_rounds_alone_is_not_named(tmp_path: Path) -> None:
    found = job(tmp_path, OF_G2)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 5)
    assert found.verdict.suspects == ()
    assert f"not measured alone, so {NOBODY_BLAMED}" in found.verdict.sentence


def test_a_gpu_that_is_slow_by_itself_is_named_by_the_rail_that_the_file_gives_it(tmp_path: Path) -> None:
    found = job(tmp_path, OF_G2, alone=TOLD)
    assert (found.verdict.state, found.verdict.rule, found.verdict.fault) == ("fail", 5, "fabric")
    assert [(one.kind, one.node, one.rail) for one in found.verdict.suspects] == [("rail", "g2", "mlx5_3:1")]
    assert found.verdict.sentence.startswith("g2, GPU 3 (0000:03:00), or its path (NIC, slot, cable, port): ")
    assert found.verdict.look_at is not None and "ib_write_bw" in found.verdict.look_at


def test_pairs_that_met_in_their_rounds_and_are_good_alone_hold(tmp_path: Path) -> None:
    alone: list[tuple[str, str, int | None, float | None]] = [
        (a, b, None, RATE) for a, b in (("g1", "g2"), ("g2", "g3"), ("g2", "g4"))
    ]
    found = job(tmp_path, OF_G2, alone=alone)
    assert found.verdict.state == "report-only", found.verdict.text
    assert found.curves[0].values == (RATE,) * 3


def test_a_pair_without_a_result_costs_its_own_log_alone_and_fails(tmp_path: Path) -> None:
    found = job(tmp_path, {pair("g2", "g3"): None}, alone=[("g2", "g3", None, None)])
    assert (found.verdict.state, found.verdict.rule) == ("fail", 5)
    assert [(one.kind, one.node) for one in found.verdict.suspects] == [("pair", "g2-g3")]
    assert found.curves[0].values == (RATE,) * 3, "of the other five"


def test_a_pair_whose_start_the_launchers_bug_ended_twice_is_said_and_blames_no_network(tmp_path: Path) -> None:
    two = pair("g1", "g2")
    heading = log("g1", "g2", None).replace("Test NCCL failure", "no failure")
    texts = {two: f"{STARTED_AGAIN}\n{PMI2.read_text(encoding='utf-8')}{heading}"}
    verdict = job(tmp_path, {two: None}, logs=texts).verdict
    assert (verdict.state, verdict.rule, verdict.suspects) == ("fail", 1, ())
    assert gpu_run_words.launcher_bug().partition(",")[0] in verdict.text
    assert gpu_run_words.started_again(1) in verdict.remarks


def test_a_log_that_is_none_of_nccl_tests_fails_rule_1(tmp_path: Path) -> None:
    found = job(tmp_path, logs={pair("g2", "g3"): "srun: error: Unable to create step\n"}, codes={pair("g2", "g3"): 1})
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert "1 of 6 steps gave no valid result: g2 and g3 (gpu-pairs/rounds-g2_g3.log: " in found.verdict.sentence


def test_a_step_that_was_ended_says_after_how_long(tmp_path: Path) -> None:
    cut = log("g2", "g3", RATE).partition("#\n#   ")[0]
    found = job(tmp_path, logs={pair("g2", "g3"): "nothing"}, codes={pair("g2", "g3"): 124})
    assert "g2 and g3 (gpu-pairs/rounds-g2_g3.log: ended after 5 seconds)" in found.verdict.sentence
    found = job(tmp_path, logs={pair("g2", "g3"): cut}, codes={pair("g2", "g3"): 137})
    assert (found.verdict.state, found.verdict.rule) == ("fail", 5)


def test_no_result_of_any_pair_fails(tmp_path: Path) -> None:
    every = {pair(a, b): None for a in NODES for b in NODES if a != b}
    found = job(tmp_path, every)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert "6 of 6 steps gave no valid result" in found.verdict.sentence


def test_rounds_that_the_time_did_not_suffice_for_fail(tmp_path: Path) -> None:
    found = job(tmp_path, left=2)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert "the time limit was too short for 2 rounds of pairs" in found.verdict.sentence


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (log("g2", "g4", RATE).replace("Pid ", "Pid 7"), "it ran on g2 and g4"),
        (output("alltoall", ("g2", "g3"), dict.fromkeys(SIZES, RATE), gpus=2), "it has 4 ranks, expected 8"),
    ],
)
def test_a_step_of_other_nodes_or_gpus_fails(tmp_path: Path, text: str, why: str) -> None:
    found = job(tmp_path, logs={pair("g2", "g3"): text})
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert f"g2 and g3 (gpu-pairs/rounds-g2_g3.log: {why})" in found.verdict.text


def test_a_step_of_one_gpu_that_took_another_fails(tmp_path: Path) -> None:
    """A release of nccl-tests without NCCL_TESTS_DEVICE takes the first one."""
    found = job(tmp_path, alone=TOLD, logs={pair("g1", "g2"): log("g1", "g2", RATE)}, first_gpu_of=3)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert (
        "g1 and g2, GPU 3 (gpu-pairs/alone-g1_g2-gpu3.log: it used GPU 0: NCCL_TESTS_DEVICE did" in found.verdict.text
    )


def test_sockets_in_place_of_infiniband_are_named_with_the_pair(tmp_path: Path) -> None:
    lines = [log_line("g2", 0, "NET/IB : No device found."), log_line("g2", 0, "Using network Socket")]
    found = job(tmp_path, logs={pair("g2", "g3"): log("g2", "g3", RATE, more=lines)})
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert found.verdict.sentence.startswith(
        "g2 and g3 (gpu-pairs/rounds-g2_g3.log): GPU 0 of g2 used the network Socket"
    )


def test_bytes_that_did_not_go_over_the_nics_fail_the_path(tmp_path: Path) -> None:
    found = job(tmp_path, carried=0.3)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 4)


def test_wrong_data_fails(tmp_path: Path) -> None:
    text = log("g2", "g3", RATE).replace("# Out of bounds values : 0 OK", "# Out of bounds values : 3 FAILED")
    found = job(tmp_path, logs={pair("g2", "g3"): text})
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert "g2 and g3 (gpu-pairs/rounds-g2_g3.log: its output reports" in found.verdict.text
