"""A whole run of a stand-in on two nodes: its output, its counters, and what the library says of both."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.benchmarks.apps import hpl as hpl_input
from railyard.benchmarks.apps import milc
from railyard.benchmarks.moved_bytes import Repetitions
from railyard.parsers import gpcnet, hpcc, hpl, imb, netpipe, npb, osu, pairs, sharing
from railyard.provision.rehearsal.form import Fault
from railyard.rfm.checks.microbench import moved_repetitions, words_of
from railyard.site.systems.load import load_system
from railyard.verdict.assess import Assessment
from railyard.verdict.wording import IDLE_SECOND, NOT_INTENDED
from tests.provision.rehearsal.conftest import NODES, Bed, with_stand_ins

SIZES = (1, 4 << 20)
TOLD = Repetitions(20, 0)
M = 1 << 20


TWO_RAILS = """\
system: roomy
entries:
  - id: two-rails
    fabric: ndr
    rails: 2
    benchmark: osu/osu_bw
    metric: bandwidth
    unit: MB/s
    kind: contract
    floor: 90000
    sizes: {from: 1M}
    source: {document: made up for this test, date: 2026-11-23}
"""


def osu_bw(bed: Bed, rails: int = 1, program: str = "osu_bw", window: int = 64, **more: Any) -> Assessment:
    words = words_of(SIZES, TOLD, window, validates=True)
    ran = bed.run(more.pop("stack", "openmpi"), "osu", program, words, rails=rails, **more)
    told = moved_repetitions(TOLD, validates=True)
    return ran.assess_run(f"osu/{program}", osu.parse, window=window, told=told, validates=True)


def moved_mb(found: Assessment) -> dict[str, dict[str, tuple[int, int]]]:
    """Return MB sent and received by node and device, whole ones."""
    assert found.path.nodes is not None
    return {
        node: {one.device: (round((one.tx_bytes or 0) / 1e6), round((one.rx_bytes or 0) / 1e6)) for one in rows}
        for node, rows in found.path.nodes.items()
    }


@pytest.mark.parametrize("rails", [1, 2])
def test_a_healthy_osu_bw_is_sound_its_path_is_proven_and_it_is_fast(bed: Bed, rails: int) -> None:
    found = osu_bw(bed, rails)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text
    # 2 x 20 repetitions of 64 messages of 1 B to 4 MiB, with InfiniBand's headers.
    payload = 2 * 20 * 64 * (2 * SIZES[1] - 1) * 4122 / 4096 / 1e6
    sent = moved_mb(found)["n9"]
    assert sum(sent[f"mlx5_{n}:1"][0] for n in range(2)) == pytest.approx(payload, abs=2)
    assert sent["eth0"] == (0, 0)
    assert all((sent[f"mlx5_{n}:1"][0] > 1000) == (n < rails) for n in range(2))
    assert max(found.curves[0].values) == pytest.approx(rails * 0.97 * 50000 * 4096 / 4122, rel=0.03)


GANTRY = """\
stacks:
  gantry:
    like: mpich
    differs: {title: Gantry MPI, source: made up for this test}
    modules: [gantry]
    benchmarks: {osu: osu}
"""


def test_a_new_stack_is_played_as_the_one_that_it_is_like(bed: Bed) -> None:
    system = bed.root / "systems/roomy.yaml"
    system.write_text(system.read_text(encoding="utf-8").replace("stacks:\n", GANTRY, 1), encoding="utf-8")
    bed.site = with_stand_ins(replace(bed.site, system=load_system(system)), bed.root)
    found = osu_bw(bed, 2, stack="gantry")
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text


def test_a_stack_without_a_library_is_a_gap_of_the_rehearsal_and_no_fault_of_the_site(bed: Bed) -> None:
    program = Path(bed.program("openmpi", "osu", "osu_bw"))
    program.write_text(program.read_text().replace("stack='openmpi'", "stack='spectrummpi'"))
    found = osu_bw(bed)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert 'rehearsal: found no library "", expected one of openmpi' in found.verdict.text, found.verdict.text
    assert "no fault of the site" in found.verdict.text


def test_an_idle_rail_is_found(bed: Bed) -> None:
    bed.plant(Fault("idle", "idle=n10/mlx5_1:1", "n10", "mlx5_1:1"))
    found = osu_bw(bed, 2)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 4)
    assert "rail mlx5_1:1 of n9 sent 0.0 kB of" in found.verdict.text and IDLE_SECOND in found.verdict.text


def test_a_library_without_its_only_rail_ends_and_names_its_node(bed: Bed) -> None:
    bed.plant(Fault("idle", "idle=n10/mlx5_0:1", "n10", "mlx5_0:1"))
    found = osu_bw(bed)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert "[n10:0] UCX WARN network device 'mlx5_0:1' is not available" in found.verdict.text


@pytest.mark.parametrize(
    "fault", [Fault("slow", "slow", "n10", "mlx5_0:1", share=0.25), Fault("lanes", "lanes", "n9", "mlx5_0:1", lanes=1)]
)
def test_a_slow_rail_is_found(bed: Bed, fault: Fault) -> None:
    bed.plant(fault)
    found = osu_bw(bed)
    assert (found.verdict.state, found.verdict.rule, found.path.state) == ("fail", 5, "proven"), found.verdict.text
    peak = max(found.curves[0].values)
    assert peak == pytest.approx(0.97 * 50000 * 4096 / 4122 / 4, rel=0.03)


def test_one_slow_rail_of_two_slows_both_by_what_is_split_to_it(bed: Bed) -> None:
    bed.plant(Fault("slow", "slow", "n10", "mlx5_1:1", share=0.5))
    found = osu_bw(bed, 2)
    assert max(found.curves[0].values) == pytest.approx(0.97 * 50000 * 4096 / 4122, rel=0.03)


def test_messages_that_are_never_split_go_at_the_rate_of_one_rail_whatever_references_say(bed: Bed) -> None:
    (bed.root / "references").mkdir(exist_ok=True)
    (bed.root / "references/roomy.yaml").write_text(TWO_RAILS, encoding="utf-8")
    system = bed.root / "systems/roomy.yaml"
    text = system.read_text(encoding="utf-8")
    system.write_text(text.replace("report_only: nobody has measured it yet", "report_only: false"), encoding="utf-8")
    found = osu_bw(bed, 2, variables={"UCX_RNDV_THRESH": "inf"})
    assert max(found.curves[0].values) == pytest.approx(0.97 * 50000 * 4096 / 4122, rel=0.03)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 4), found.verdict.text


def test_a_fallback_says_nothing_and_goes_over_the_management_network(bed: Bed) -> None:
    bed.plant(Fault("fallback", "fallback", "*", "mlx5_0:1"))
    found = osu_bw(bed)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 4)
    assert found.path.state == "failed" and f"went over eth0 of n9, which {NOT_INTENDED}" in found.path.sentence


def test_a_slow_leaf_switch_slows_what_crosses_it_alone(bed: Bed) -> None:
    bed.plant(Fault("leaf", "leaf", leaf="left", share=0.5))
    across, within = osu_bw(bed, nodes=("n9", "n10")), osu_bw(bed, nodes=("n8", "n9"))
    assert max(across.curves[0].values) == pytest.approx(max(within.curves[0].values) / 2, rel=0.03)


def test_few_repetitions_measure_the_start_of_the_processor(bed: Bed) -> None:
    def smallest(count: int) -> float:
        ran = bed.run("openmpi", "osu", "osu_latency", words_of(SIZES, Repetitions(count, 0), 1, validates=False))
        return float(osu.parse(ran.stdout).tables[0].rows[0][1] or 0)

    assert smallest(10_000) == pytest.approx(1.2, abs=0.01)
    assert 2.4 < smallest(6) < 6.1


def test_a_library_ends_where_it_is_given_a_wrong_device(bed: Bed) -> None:
    ran = bed.run("openmpi", "osu", "osu_bw", ["-m", "1:8"], variables={"UCX_NET_DEVICES": "mlx5_7:1"})
    assert ran.exit_code == 1 and "network device 'mlx5_7:1' is not available" in ran.stderr
    assert "no usable transports/devices" in ran.stderr and ran.stdout == ""


def test_a_benchmark_without_a_stand_in_is_named(bed: Bed) -> None:
    program = bed.program("openmpi", "osu", "osu_bw")
    Path(program).with_name("osu_ialltoall_new").write_text(
        Path(program).read_text().replace("program='osu_bw'", "program='osu_new'")
    )
    Path(program).with_name("osu_ialltoall_new").chmod(0o755)
    ran = bed.run("openmpi", "osu", "osu_ialltoall_new", [])
    assert ran.exit_code != 0 and "osu/osu_new" in ran.stderr


def test_a_rank_that_never_comes_ends_the_run_with_a_sentence(bed: Bed) -> None:
    bed.patience_s = 4  # on a busy machine the two that come may start a second apart
    ran = bed.run("openmpi", "osu", "osu_bw", ["-m", "1:8"], variables={"SLURM_NTASKS": "3"})
    assert ran.exit_code == 1
    assert "waited 4 s: 2 of 3 ranks have started, expected all" in ran.stderr


def test_ranks_of_one_node_use_no_rail(bed: Bed) -> None:
    ran = bed.run("openmpi", "osu", "osu_bw", words_of(SIZES, TOLD, 64, validates=False), nodes=("n9",), per_node=2)
    assert ran.exit_code == 0 and len(osu.parse(ran.stdout).tables) == 1
    grown = re.findall(r"after mlx5_0:1 port_xmit_data (\d+)", ran.counters[0])
    assert grown == [str(1 << 40)]


@pytest.mark.parametrize(
    ("stack", "benchmark", "window"),
    [
        ("openmpi", "PingPong", 1),
        ("intelmpi", "Uniband", 16),
        ("openmpi", "Biband", 16),
        ("openmpi", "Sendrecv", 1),
        ("intelmpi", "Exchange", 1),
    ],
)
def test_imb(bed: Bed, stack: str, benchmark: str, window: int) -> None:
    words = [benchmark, "-npmin", "2", "-msglen", "sizes.txt", "-iter", "40,40", "-iter_policy", "off", "-window_size"]
    sizes = "".join(f"{1 << n}\n" for n in range(23))
    ran = bed.run(stack, "imb", "IMB-MPI1", [*words, str(window)], rails=2, files={"sizes.txt": sizes})
    found = ran.assess_run(f"imb/{benchmark}", imb.parse, window=window)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text
    assert found.path.disturbance is None


@pytest.mark.parametrize("mode", ["-2 -a", *(pytest.param(mode, marks=pytest.mark.full) for mode in ("", "-s"))])
def test_netpipe(bed: Bed, mode: str) -> None:
    words = [*mode.split(), "-p", "0", "-n", "50", "-l", "1", "-u", str(4 * M), "-o", "np.out"]
    ran = bed.run("openmpi", "netpipe", "NPmpi", words, rails=2)
    key = {"": "pingpong", "-s": "stream", "-2 -a": "bidirectional"}[mode]
    found = ran.assess_run(f"netpipe/{key}", netpipe.parse)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text
    assert "bytes" in ran.stderr and "bytes" not in ran.stdout


@pytest.mark.parametrize(
    "collective",
    ["allreduce", "barrier", *(pytest.param(one, marks=pytest.mark.full) for one in ("alltoall", "bcast"))],
)
def test_osu_collectives_of_four_nodes(bed: Bed, collective: str) -> None:
    told = Repetitions(50, 5)
    words = words_of((4, 4 * M), told, 1, validates=collective != "barrier")
    ran = bed.run("openmpi", "osu", f"osu_{collective}", words, nodes=NODES)
    found = ran.assess_run(
        f"osu/osu_{collective}", osu.parse, told=moved_repetitions(told, validates=collective != "barrier"),
        validates=collective != "barrier",
    )  # fmt: skip
    assert found.verdict.state == "report-only", found.verdict.text
    assert found.path.state == ("proven" if collective != "barrier" else "not-proven"), found.path.sentence


def test_several_pairs_of_nodes_are_summed(bed: Bed) -> None:
    words = words_of(SIZES, TOLD, 64, validates=True)
    ran = bed.run("openmpi", "osu", "osu_mbw_mr", words, nodes=NODES)
    told = moved_repetitions(TOLD, validates=True)
    found = ran.assess_run("osu/osu_mbw_mr", osu.parse, window=64, told=told, validates=True, node_pairs=2)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text
    assert max(found.curves[0].values) == pytest.approx(0.97 * 50000 * 4096 / 4122, rel=0.03)


def test_init_and_one_sided(bed: Bed) -> None:
    ran = bed.run("openmpi", "osu", "osu_init", [], nodes=NODES)
    assert ran.assess_run("osu/osu_init", osu.parse, told=Repetitions(1, 0)).verdict.state == "report-only"
    words = [*words_of(SIZES, TOLD, 8, validates=False), "-w", "allocate", "-s", "flush"]
    ran = bed.run("openmpi", "osu", "osu_get_bw", words)
    found = ran.assess_run("osu/osu_get_bw", osu.parse, window=8, told=TOLD)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text


def test_all_pairs(bed: Bed) -> None:
    words = ["pairs", "rounds.txt", str(4 * M), "8", "20", "1", "20"]
    rounds = "# name pairs\n0-1 2-3\n\n0-2 1-3\n0-3 1-2\n"  # a sample has its name above them
    bed.plant(Fault("slow", "slow", "n10", "mlx5_0:1", share=0.5))
    ran = bed.run("openmpi", "pairs", "railyard-pairs", words, nodes=NODES, rails=2, files={"rounds.txt": rounds})
    found = ran.assess_run("pairs/pairs", pairs.parse, window=8)
    assert found.path.state == "proven", found.path.sentence
    by_pair = {row[1:3]: row[3] for row in pairs.parse(ran.stdout).tables[0].rows}
    slow = {pair for pair, value in by_pair.items() if float(value or 0) < 60_000}
    assert slow == {(0, 2), (1, 2), (2, 3)}


def application(bed: Bed, tool: str, program: str, key: str, parse: Any, **more: Any) -> Assessment:
    variables = {"OMP_NUM_THREADS": "1", **more.pop("variables", {})}
    ran = bed.run("openmpi", tool, program, more.pop("words", []), nodes=NODES, variables=variables, **more)
    printed = [bed.root / "stage" / name for name in ("hpccoutf.txt", "rsl.error.0000")]
    output = next((path.read_text() for path in printed if path.exists()), ran.stdout)
    return ran.assess_run(key, parse, output=output)


def test_hpl_solves_the_problem_that_it_is_given_and_no_more_than_the_peak(bed: Bed) -> None:
    problem = hpl_input.Problem(20_000, 192, 4, 8, "asked", "")
    found = application(
        bed, "hpl", "xhpl", "hpl/hpl", hpl.parse, rails=2, per_node=8, files={"HPL.dat": hpl_input.text(problem)}
    )
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text
    assert 0.3 * 1024 < found.curves[0].values[0] < 0.8 * 1024


def test_an_application_whose_ranks_have_a_rail_each_uses_both(bed: Bed) -> None:
    files = {"HPL.dat": hpl_input.text(hpl_input.Problem(20_000, 192, 2, 4, "asked", ""))}
    # Intel MPI gives each rank one of the cards, in turn.
    variables = {"OMP_NUM_THREADS": "1", "I_MPI_MULTIRAIL": "1"}
    ran = bed.run("openmpi", "hpl", "xhpl", [], rails=2, nodes=NODES, per_node=2, files=files, variables=variables)
    whole = _sent_units(ran.counters)
    program = Path(bed.program("openmpi", "hpl", "xhpl"))
    program.write_text(program.read_text().replace("stack='openmpi'", "stack='intelmpi'"))
    ran = bed.run("openmpi", "hpl", "xhpl", [], rails=2, nodes=NODES, per_node=2, files=files, variables=variables)
    assert _sent_units(ran.counters) == pytest.approx(whole, rel=0.01)


def _sent_units(counters: tuple[str, ...]) -> list[int]:
    """Return what each rail of each node sent, in units of its counter."""
    found = []
    for text in counters:
        for rail in ("mlx5_0:1", "mlx5_1:1"):
            before, after = (
                int(line.split()[-1])
                for line in text.splitlines()
                if f" {rail} port_xmit_data " in line and line.split()[0] in ("before", "after")
            )
            found.append(after - before)
    return found


def test_a_copy_of_hpl_says_what_it_would_have_used_of_the_processors(bed: Bed) -> None:
    files = {"HPL.dat": hpl_input.text(hpl_input.Problem(20_000, 192, 1, 1, "asked", ""))}
    # Each node's copy is told no rank: each.sh takes that away.
    variables = {"OMP_NUM_THREADS": "8", "SLURM_PROCID": ""}
    ran = bed.run("openmpi", "hpl", "xhpl", [], nodes=("n8",), files=files, variables=variables)
    (used,) = (bed.root / "stage/rehearsed").glob("n8.*/used")
    (measured_s,) = hpl.parse(ran.stdout).tables[0].column("time")
    assert isinstance(measured_s, float) and int(used.read_text()) == pytest.approx(100 * 8 * measured_s, abs=1)


def test_hpl_halves_where_all_ranks_are_on_one_socket(bed: Bed) -> None:
    problem = hpl_input.Problem(20_000, 192, 4, 8, "asked", "")
    files = {"HPL.dat": hpl_input.text(problem)}
    whole = application(bed, "hpl", "xhpl", "hpl/hpl", hpl.parse, per_node=8, files=files).curves[0].values[0]
    for tree in bed.trees.values():
        (tree.root / "sys/devices/system/cpu").mkdir(parents=True)
        (tree.root / "sys/devices/system/cpu/online").write_text("0-7\n")
    # As a node's own taskset does, which has processors that this machine lacks.
    note = f"{bed.root}/affinity"
    (bed.root / "stage/place.sh").write_text(
        f'mkdir -p {note}\nread -r node <$RAILYARD_PROC/sys/kernel/hostname\necho 0-3 >{note}/$node.$$\nexec "$@"\n'
    )
    placed = bed.program("openmpi", "hpl", "xhpl")
    text = Path(placed).read_text()
    Path(placed).with_name("real").write_text(text)
    Path(placed).with_name("real").chmod(0o755)
    Path(placed).write_text(f"#!/bin/sh\nexec sh place.sh {Path(placed).with_name('real')}\n")
    half = application(bed, "hpl", "xhpl", "hpl/hpl", hpl.parse, per_node=8, files=files).curves[0].values[0]
    assert half == pytest.approx(whole / 2, rel=0.1)


@pytest.mark.parametrize("kernel", ["ft", pytest.param("ep", marks=pytest.mark.full)])
def test_npb(bed: Bed, kernel: str) -> None:
    found = application(bed, "npb", f"{kernel}.C.x", f"npb/{kernel.upper()}/C", npb.parse, rails=2, per_node=4)
    assert found.verdict.state == "report-only", found.verdict.text
    assert found.path.state == "proven" or kernel == "ep", found.path.sentence


def test_other_applications(bed: Bed) -> None:
    found = application(
        bed, "milc", "su3_rmd", "milc/asqtad/L4/4-nodes", lambda text: milc.parse(text, 4), per_node=1,
        files={milc.FILE: milc.text(milc.lattice(4, 4))},
    )  # fmt: skip
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text
    found = application(bed, "gpcnet", "network_test", "gpcnet/network_test", gpcnet.parse, per_node=2)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text
    ran = bed.run("openmpi", "stream", "stream_c.exe", [], nodes=("n8",))
    assert (ran.exit_code, "Solution Validates" in ran.stdout) == (0, True), ran.stderr
    ran = bed.run("openmpi", "sharing", "railyard-sharing", [], nodes=("n8",), per_node=2)
    assert ran.assess_run("sharing/two-ranks-a-processor", sharing.parse).verdict.state == "report-only"
    found = application(
        bed, "hpcc", "hpcc", "hpcc/Summary", hpcc.parse, per_node=2, files={"hpccinf.txt": hpl_input.hpcc_text(8)}
    )
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text
