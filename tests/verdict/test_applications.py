"""Runs of applications: report-only without a reference, checks of ranks and peak, and a path without message sizes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks.apps import every_node
from railyard.hardware.node import NodeHardware
from railyard.parsers import hpl, npb
from railyard.results.record.form import Suspect
from railyard.site.references.model import Entry
from railyard.site.site import Site
from railyard.verdict.assess import Assessment
from railyard.verdict.rule_model import PathProof
from railyard.verdict.verdict import judge
from railyard.verdict.wording import IDLE_SECOND, NOT_PROVEN, not_judged, program
from railyard.verdict.wording import path as path_words
from railyard.verdict.wording import reference as reference_words
from railyard.verdict.wording import run_rules as run_words
from railyard.verdict.wording.path import carried_part, idle_part, unseen_rest
from railyard.verdict.wording.reference import not_in_references
from railyard.verdict.wording.run_rules import say_reported
from tests.made.judged_run import IDLE, case_of, counters_file, judge_output
from tests.made.words import at_line

#: MB that each node sends and receives over hsn0.
BUSY = (30.0, 30.0)
Run = Callable[..., Assessment]


def npb_text(name: str = "CG", problem: str = "W", processes: int = 4, verified: str = "SUCCESSFUL",
             seconds: float = 25.0) -> str:  # fmt: skip
    """Return a synthetic result block of NPB 3.4."""
    return (
        f"\n NAS Parallel Benchmarks 3.4 -- {name} Benchmark\n\n\n {name} Benchmark Completed.\n"
        f" Class           =                        {problem}\n Iterations      =                        6\n"
        f" Time in seconds =                    {seconds:.2f}\n Total processes =                        {processes}\n"
        f" Active processes=                        {processes}\n Mop/s total     =                   800.00\n"
        f" Verification    =               {verified}\n Version         =                    3.4.3\n"
    )


def hpl_text(gflop_s: float = 20.0, residual: str = "2.51340000e-03 ...... PASSED") -> str:
    """Return a synthetic output of HPL 2.3 for one test on a grid of 2 x 2."""
    passed, failed = (1, 0) if residual.endswith("PASSED") else (0, 1)
    seconds = 65.26 / gflop_s  # for N = 4608
    return (
        "HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018\n"
        "T/V                N    NB     P     Q               Time                 Gflops\n"
        f"WR11C2R4        4608   192     2     2               {seconds:.2f}             {gflop_s:.4e}\n"
        f"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   {residual}\n"
        "Finished      1 tests with the following results:\n"
        f"              {passed} tests completed and passed residual checks,\n"
        f"              {failed} tests completed and failed residual checks,\n"
        "End of Tests.\n"
    )


@pytest.fixture
def ran(virtual: Site) -> Run:
    """Return a function that assesses a run on four nodes: its output, MB by network of every node, changes."""

    def run(
        benchmark: str, output: str, moved: Mapping[str, tuple[float, float]] | None = None, *, site: Site = virtual,
        nodes: int = 4, remarks: tuple[str, ...] = (), stack: str = "mpich", rails: int = 1,
        on: Mapping[str, Mapping[str, tuple[float, float]]] | None = None,
        threads: int = 0,
    ) -> Assessment:  # fmt: skip
        names, alone = site.system.nodes.names[:nodes], nodes == 1
        case = case_of(
            site, benchmark, stack=stack, rails=rails, launch={"nodes": names, "within_node": alone},
            time_limit_s=120, remarks=remarks, threads=threads,
        )  # fmt: skip
        own = on or {}
        traffic = {node: {"hsn0": BUSY, **(moved or {}), **own.get(node, {})} for node in names}
        parse = npb.parse if benchmark.startswith("npb/") else hpl.parse
        return judge_output(case, output, parse, traffic)

    return run


def with_clock(site: Site, **fields: Any) -> Site:
    """Return the site whose nodes have four cores with a clock."""
    given: dict[str, Any] = {"base_ghz": 2.0, "flop_per_cycle": 16, **fields}
    hardware = NodeHardware(cores=4, memory=1 << 30, **given)
    nodes = site.system.nodes.model_copy(update={"hardware": hardware})
    return replace(site, system=site.system.model_copy(update={"nodes": nodes}))


def with_reference(site: Site, benchmark: str, metric: str, floor: float, unit: str) -> Site:
    """Return the site with one more entry, ``own``, for a run over one rail of hsn with MPICH."""
    entry = Entry.model_validate(
        {
            **{"id": "own", "fabric": "hsn", "stack": "mpich", "rails": 1, "benchmark": benchmark, "metric": metric},
            **{"unit": unit, "kind": "contract", "floor": floor, "source": {"document": "d", "date": date(2026, 1, 1)}},
        }
    )
    return replace(site, references=replace(site.references, entries=(*site.references.entries, entry)))


def verdict_summary(found: Assessment) -> tuple[str, int | None, str]:
    return found.verdict.state, found.verdict.rule, found.verdict.text


_WHY = f"processors, memory and compiler set it, and {not_in_references(has_upper_limit=False)}"
NOT_ASSERTED = not_judged(reference_words.only_reported([reference_words.say_because(["op_rate", "runtime"], _WHY)]))


def test_a_sound_run_without_a_reference_is_report_only(ran: Run) -> None:
    found = ran("npb/CG/W", npb_text(), remarks=("4 of 4 nodes, 1 of 1 cores a node",))
    state, rule, sentence = verdict_summary(found)
    assert (state, rule) == ("report-only", None)
    no_limit = run_words.no_limit_for(["op_rate", "runtime"])
    assert sentence.startswith(f"{NOT_ASSERTED}; rule 3 (possible) not judged: {no_limit}; ")
    assert sentence.endswith("; 4 of 4 nodes, 1 of 1 cores a node")
    assert [(figure.name, figure.value) for figure in found.figures] == [("op_rate", 800.0), ("runtime", 25.0)]
    assert found.verdict.rules[0].sentence == (
        "exit code 0 on vn1, vn2, vn3 and vn4, 1 complete table, validated by the benchmark itself"
    )


def test_a_run_of_less_than_20_s_is_not_judged(ran: Run) -> None:
    found = ran("npb/CG/W", npb_text(seconds=19.99))
    short = "npb/CG/W computed for 19.99 s, expected at least 20 s: take class A (npb_classes), or fewer nodes"
    assert (found.verdict.state, found.verdict.sentence) == ("report-only", not_judged(short))
    assert ran("npb/CG/W", npb_text(seconds=20.0)).verdict.sentence == NOT_ASSERTED


def test_of_several_passes_the_shortest_counts(ran: Run, virtual: Site) -> None:
    """The median of a long pass and two short ones is that of a short one."""
    text = npb_text(seconds=25.0) + npb_text(seconds=1.5) + npb_text(seconds=1.5)
    found = ran("npb/CG/W", text, site=with_reference(virtual, "npb/CG/W", "op_rate", 100, "Mop/s"))
    assert found.verdict.state == "fail"
    assert any("computed for 1.500 s, expected at least 20 s" in rule.sentence for rule in found.verdict.rules)


@pytest.mark.parametrize("least", [100, 900])
def test_a_short_run_that_a_reference_names_fails_whatever_it_gave(ran: Run, virtual: Site, least: int) -> None:
    """A rate of a second of start-up is neither a pass nor a slow network."""
    referenced = with_reference(virtual, "npb/CG/W", "op_rate", least, "Mop/s")
    found = ran("npb/CG/W", npb_text(seconds=1.5), site=referenced)
    assert verdict_summary(found)[:2] == ("fail", 5)
    assert found.verdict.fault == "reference"
    assert found.verdict.sentence.startswith("not judged by own: npb/CG/W computed for 1.500 s, expected at least 20 s")
    assert found.verdict.suspects == ()
    long = ran("npb/CG/W", npb_text(), site=referenced)
    assert long.verdict.state == ("pass" if least == 100 else "fail")


def test_the_path_of_a_kernel_without_a_known_bound_is_what_the_counters_show(ran: Run) -> None:
    path = ran("npb/CG/W", npb_text()).path
    assert (path.state, path.expected_bytes) == ("proven", None)
    moved = path_words.say_moved(240_000_000, ("vn1", "vn2", "vn3", "vn4"), {"hsn0": 1.0}, 100_000, True)
    assert path.sentence == f"{moved}; {program.unknown_traffic('npb/CG/W')}"


def test_an_application_whose_messages_may_be_small_speaks_for_one_rail_where_the_other_idled(ran: Run) -> None:
    """MPICH over UCX splits from 1 MiB on; CG of class W sends less, and nothing reports this."""
    found = ran("npb/CG/W", npb_text(), rails=2)
    assert verdict_summary(found)[:2] == ("report-only", None)
    assert (found.path.state, found.path.one_rail) == ("not-judged", True)
    idled = path_words.idled_on_all(["hsn1"], ["vn1", "vn2", "vn3", "vn4"])
    why = path_words.tells_one_rail(idled, "mpich", 1 << 20, "npb/CG/W", ["hsn0"])
    assert found.verdict.rules[3].why_unjudged == why
    assert f"rule 4 (path) {not_judged(why)}" in found.verdict.text
    used = ran("npb/CG/W", npb_text(), {"hsn1": (4.0, 4.0)}, rails=2)
    assert (used.path.state, used.path.one_rail) == ("proven", False)


def test_nodes_that_moved_too_little_to_be_judged_do_not_make_it_the_fault_of_the_others(ran: Run) -> None:
    """CG of class S: two nodes move 2.5 MB each way and two 4.9, all of it over one rail."""
    little = {node: {"hsn0": (2.5, 2.5)} for node in ("vn1", "vn4")}
    found = ran("npb/CG/S", npb_text("CG", "S"), {"hsn0": (4.9, 4.9)}, rails=2, on=little)
    assert (verdict_summary(found)[0], found.path.one_rail, found.path.suspects) == ("report-only", True, ())
    all_little = ran("npb/CG/S", npb_text("CG", "S"), {"hsn0": (2.5, 2.5), "hsn1": (0.0, 0.0)}, rails=2)
    assert (verdict_summary(all_little)[0], all_little.path.one_rail) == ("report-only", True)


def test_a_rail_that_idles_on_one_node_alone_fails_an_application(ran: Run) -> None:
    found = ran("npb/CG/W", npb_text(), {"hsn1": BUSY}, rails=2, on={"vn3": {"hsn1": IDLE}})
    assert verdict_summary(found)[:2] == ("fail", 4)
    assert found.path.sentence.startswith(f"{idle_part('hsn1', 'vn3', 'sent', 100_000, 30_100_000)}: {IDLE_SECOND}")
    assert {(one.kind, one.node, one.rail) for one in found.path.suspects} == {("rail", "vn3", "hsn1")}


def test_a_transpose_that_must_be_split_fails_over_one_rail(ran: Run) -> None:
    """A message of FT of class A is 8 MiB on four ranks: 256 x 256 x 128 x 16 / 16."""
    found = ran("npb/FT/A", npb_text("FT", "A"), {"hsn0": (800.0, 800.0)}, rails=2)
    assert verdict_summary(found)[:2] == ("fail", 4)
    assert {one.kind for one in found.path.suspects} == {"stack"}


def test_bytes_over_another_network_fail_it(ran: Run) -> None:
    found = ran("npb/CG/W", npb_text(), {"hsn0": IDLE, "eth0": BUSY})
    assert verdict_summary(found)[:2] == ("fail", 4)
    assert found.path.sentence.startswith(path_words.not_intended("eth0", "vn1", "sent 30.0 MB while the run"))


def test_a_transpose_that_no_rail_carried_is_missing(ran: Run) -> None:
    """FT of class W sends 7 x 128 x 128 x 32 x 16 / 4 x 3/4 B per node: 11.0 MB."""
    found = ran("npb/FT/W", npb_text("FT"), {"hsn0": (5.0, 5.0)})
    assert verdict_summary(found)[:2] == ("fail", 4)
    assert found.path.sentence == (
        f"{NOT_PROVEN}{carried_part(['hsn0'], 'vn1', 'sent', 5_000_000, 11_000_000)}{unseen_rest('')}"
    )
    whole = ran("npb/FT/W", npb_text("FT"), {"hsn0": (12.0, 12.0)}).path
    assert (whole.state, whole.expected_bytes) == ("proven", 8 * 7 * 128 * 128 * 32 * 16 // 4 * 3 // 4)


@pytest.mark.parametrize("benchmark", ["npb/EP/W", "npb/IS/S", "npb/LU/S", "npb/MG/S", "npb/BT-MZ/S"])
def test_what_moves_next_to_nothing_has_no_path_to_prove(ran: Run, benchmark: str) -> None:
    _, name, problem = benchmark.split("/")
    found = ran(benchmark, npb_text(name, problem), {"hsn0": IDLE})
    assert verdict_summary(found)[0] == "report-only"
    assert found.verdict.rules[3].sentence == (
        f"not judged: {benchmark} moves too little to tell from what the start of a job moves"
    )


def test_a_run_on_one_node_keeps_off_every_network(ran: Run) -> None:
    quiet = ran("npb/FT/W/1-nodes", npb_text("FT", processes=1), {"hsn0": IDLE}, nodes=1)
    assert (quiet.path.state, quiet.path.sentence) == (
        "proven",
        "no network of vn1 carried more than the start of a job does",
    )
    assert verdict_summary(quiet)[0] == "report-only"
    loud = ran("npb/FT/W/1-nodes", npb_text("FT", processes=1), nodes=1)
    assert verdict_summary(loud)[:2] == ("fail", 4)


def test_ranks_that_do_not_know_one_another_fail_rule_1(ran: Run) -> None:
    alone = ran("npb/CG/W", npb_text(processes=1) * 4)
    assert verdict_summary(alone)[:2] == ("fail", 1)
    assert program.separate_runs(4, "", 4) in verdict_summary(alone)[2]
    other = ran("hpl/hpl", hpl_text().replace("     2     2   ", "     1     2   "))
    assert f'{at_line(1)}{program.other_ranks("hpl/hpl", 2, 4)}"' in verdict_summary(other)[2]


def test_a_verification_that_fails_fails_the_run(ran: Run) -> None:
    found = ran("npb/CG/W", npb_text(verified="UNSUCCESSFUL"))
    assert verdict_summary(found)[:2] == ("fail", 1)
    assert verdict_summary(found)[2].startswith(f"{run_words.wrong_data(True, '')}, {at_line(12)}")


def multi_zone_text(processes: int = 4, threads: int | None = 8, verified: str = "SUCCESSFUL") -> str:
    """Return a synthetic result block of NPB-MZ 3.4."""
    said = "" if threads is None else f" Total threads   =                        {threads}\n"
    return (
        "\n NAS Parallel Benchmarks (NPB3.4-MZ MPI+OpenMP) - SP-MZ Benchmark\n\n\n SP-MZ Benchmark Completed.\n"
        " Class           =                        W\n Iterations      =                      400\n"
        " Time in seconds =                     1.77\n"
        f" Total processes =                        {processes}\n{said} Mop/s total     =                  4114.55\n"
        f" Verification    =               {verified}\n Version         =                    3.4.2\n"
    )


def test_a_hybrid_run_on_what_it_was_given_is_sound(ran: Run) -> None:
    found = ran("npb/SP-MZ/W", multi_zone_text(), threads=2)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven")
    assert [(each.name, each.value, each.unit) for each in found.figures] == [
        ("op_rate", 4114.55, "Mop/s"), ("runtime", 1.77, "s"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("processes", "threads", "had"),
    [
        (4, 4, "4 processes and 4 threads"),  # compiled without OpenMP
        (4, 16, "4 processes and 16 threads"),
        (2, 8, "2 processes and 8 threads"),  # compiled by 3.3 for two
        (1, 2, "1 processes and 2 threads"),
        (4, None, "4 processes and an unknown number of threads"),
    ],
)
def test_other_processes_or_threads_fail_and_both_are_named(
    ran: Run, processes: int, threads: int | None, had: str
) -> None:
    found = ran("npb/SP-MZ/W", multi_zone_text(processes, threads), threads=2)
    assert verdict_summary(found)[:2] == ("fail", 1)
    assert f"npb/SP-MZ/W ran on {had} in all, but the launch gave 4 and 8, 2 each" in verdict_summary(found)[2]


def test_a_hybrid_run_that_calls_its_result_wrong_fails(ran: Run) -> None:
    found = ran("npb/SP-MZ/W", multi_zone_text(verified="UNSUCCESSFUL"), threads=2)
    assert verdict_summary(found)[:2] == ("fail", 1)
    assert verdict_summary(found)[2].startswith(f"{run_words.wrong_data(True, '')}, {at_line(12)}")


@pytest.mark.parametrize("residual", ["8.1e+03 ...... FAILED", "nan ...... PASSED"])
def test_a_residual_that_fails_fails_a_fine_rate(ran: Run, residual: str) -> None:
    found = ran("hpl/hpl", hpl_text(residual=residual))
    assert verdict_summary(found)[:2] == ("fail", 1)


def test_hpl_is_held_against_its_least_traffic(ran: Run) -> None:
    """N 4608 on 2 x 2: 0.9 x 8 N^2 / 4 is 38.2 MB each way."""
    found = ran("hpl/hpl", hpl_text(), {"hsn0": (60.0, 60.0)})
    assert verdict_summary(found)[0] == "report-only"
    assert found.path.expected_bytes == 8 * int(0.9 * 8 * 4608**2 / 2 / 2)
    assert ran("hpl/hpl", hpl_text(), {"hsn0": (20.0, 20.0)}).path.state == "not-proven"


def test_a_rate_above_the_highest_clock_is_impossible(ran: Run, virtual: Site) -> None:
    """Four nodes of 4 cores x 16 flop x 3 GHz do 768 Gflop/s."""
    site, moved = with_clock(virtual, turbo_ghz=3.0), {"hsn0": (60.0, 60.0)}
    fast = ran("hpl/hpl", hpl_text(800.0), moved, site=site)
    assert verdict_summary(fast) == (
        "fail",
        3,
        f"{IMPOSSIBLE}performance 800.0 Gflop/s is 104.2 % of the most that its processors can do, 768.0 Gflop/s "
        "(4 nodes of 4 cores x 16 flop x 3 GHz (turbo); nodes.hardware of systems/virtual.yaml); at most 102.0 % is "
        "believed",
    )
    sound = ran("hpl/hpl", hpl_text(384.0), moved, site=site)
    assert sound.verdict.rules[2].sentence.startswith("performance 384.0 Gflop/s is 50.0 % of the most that its")
    # 8 x 4608^2 bytes of four nodes of 1 GiB: far too small to say what share of the peak the machine reaches
    assert [(each.name, round(each.value, 2)) for each in sound.figures] == [
        *(("performance", 384.0), ("memory_share", 3.96), ("time", 0.17)),
    ]
    # of the peak at the base clock: 4 x 4 x 16 x 2 is 512
    assert program.small_problem(75.0, 4608, 8 * 4608**2 / 2**32) in sound.verdict.remarks


def test_a_problem_in_most_of_the_memory_says_its_share_of_the_peak(ran: Run, virtual: Site) -> None:
    """N 23040 takes 98.9 % of four nodes of 1 GiB."""
    text = hpl_text(384.0).replace("    4608   192", "   23040   192").replace(" 0.17 ", " 21.24 ")
    found = ran("hpl/acceptance", text, {"hsn0": (1e4, 1e4)}, site=with_clock(virtual, turbo_ghz=3.0))
    figures = {each.name: each.value for each in found.figures}
    assert figures["percent_of_peak"] == 75.0
    assert round(figures["memory_share"], 1) == 98.9
    assert not any("of the peak at N" in each for each in found.verdict.remarks)


def test_without_a_clock_no_peak_is_shown(ran: Run) -> None:
    found = ran("hpl/hpl", hpl_text(1e6), {"hsn0": (60.0, 60.0)})
    assert [figure.name for figure in found.figures] == ["performance", "memory_share", "time"]
    assert found.verdict.rules[2].state == "not-judged"


def every_node_text(*used_s: float, threads: int = 56) -> str:
    """Return a synthetic output of each.sh for HPL on vn1, vn2 …, which measured 3.26 s."""
    end = "# railyard: used {used:.0f} 326 {threads}\n# railyard: end 0\n"
    return "".join(
        f"# railyard: node vn{at} tag-1\n{hpl_text()}{end.format(used=used * 100, threads=threads)}"
        for at, used in enumerate(used_s, 1)
    )


@pytest.mark.parametrize(
    ("used_s", "sentence"),
    [
        ((3.26 * 56, 3.26 * 55), None),
        (
            (3.26 * 56, 3.26),
            "1.0 of 56 threads of hpl worked on vn2, expected at least 28: OpenBLAS without threads (Spack: openblas "
            "threads=openmp)?",
        ),
        (
            (3.26, 3.26),
            "1.0 of 56 threads of hpl worked on vn1 and 1 more, expected at least 28: OpenBLAS without threads (Spack: "
            "openblas threads=openmp)?",
        ),
    ],
)
def test_threads_that_did_not_work_fail_hpl_on_every_node(
    virtual: Site, used_s: tuple[float, ...], sentence: str | None
) -> None:
    nodes = replace(virtual, system=virtual.system.model_copy(update={"provider": "nodes"}))
    for site, expected in ((nodes, sentence), (virtual, None)):  # the virtual cluster's nodes share the host's cores
        case = case_of(site, "hpl/every-node", launch={"nodes": ("vn1", "vn2"), "within_node": True}, time_limit_s=120)
        found = judge_output(
            case, every_node_text(*used_s), every_node.hpl_of_nodes, {node: {} for node in ("vn1", "vn2")}
        )
        if expected is None:
            assert found.verdict.rule != 1, found.verdict.text
        else:
            assert found.verdict.rule == 1
            assert found.verdict.text.startswith(f'{say_reported(1, "")}, {at_line(1)}{expected}"')


#: Processor seconds that the first rank of each node used, with eight threads in the 3.26 s that HPL measured.
@pytest.mark.parametrize(
    ("used_s", "sentence"),
    [
        ((3.26 * 8, 3.26 * 8), None),
        ((3.26 * 4.1, 3.26 * 8), None),
        ((3.26 * 8, 3.6), "at most 1.1 of 8 threads of the first rank of hpl/hpl on vn2 worked, expected at least 4: a "
         "library without threads, or a rank bound to one core?"),
        ((3.26 * 8, None), "it is not known how many threads of hpl/hpl worked on vn2"),
    ],
)  # fmt: skip
def test_threads_of_ranks_over_several_nodes_have_worked(
    virtual: Site, used_s: tuple[float | None, ...], sentence: str | None
) -> None:
    nodes = replace(virtual, system=virtual.system.model_copy(update={"provider": "nodes"}))
    names = ("vn1", "vn2")

    def verdict_of(site: Site, threads: int = 8, **left: Any) -> str:
        case = case_of(
            site, "hpl/hpl", launch={"nodes": names, "ranks_per_node": 2}, time_limit_s=120, threads_told=threads
        )
        busy = {"hsn0": BUSY, "hsn1": IDLE, "eth0": IDLE}
        texts = tuple(
            counters_file(node, busy, case.launch.meant, used_cs=None if used is None else round(100 * used))
            for node, used in zip(names, used_s, strict=True)
        )
        return judge_output(case, hpl_text(), hpl.parse, counters=texts, **left).verdict.text

    said = verdict_of(nodes)
    assert (sentence is None) == ("threads" not in said)
    if sentence is not None:
        assert f'"{sentence}"' in said
    # Nothing is said about ranks with one thread, nodes that share the host's cores, and a stand-in.
    assert "threads" not in verdict_of(nodes, 1) + verdict_of(virtual) + verdict_of(nodes, rehearsed=True)


def test_threads_of_which_nothing_is_known_did_not_work(virtual: Site) -> None:
    nodes = replace(virtual, system=virtual.system.model_copy(update={"provider": "nodes"}))
    case = case_of(nodes, "hpl/every-node", launch={"nodes": ("vn1",), "within_node": True}, time_limit_s=120)
    bare = every_node_text(3.26).replace("# railyard: used 326 326 56\n", "")
    found = judge_output(case, bare, every_node.hpl_of_nodes, {"vn1": {}})
    assert f"{at_line(1)}{program.unknown_threads('hpl', 'vn1')}" in found.verdict.text


@pytest.fixture
def stuck_run(virtual: Site) -> Run:
    """Return a function that assesses a run on four nodes that its time limit ended before it printed a result."""

    def run(benchmark: str, moved: tuple[float, float] = BUSY, **left: Any) -> Assessment:
        names = virtual.system.nodes.names[:4]
        case = case_of(
            virtual, benchmark, stack="mpich", launch={"nodes": names, "within_node": False}, time_limit_s=120
        )
        traffic = {node: {"hsn0": moved} for node in names}
        banner = "\n\n NAS Parallel Benchmarks (NPB3.4-MZ MPI+OpenMP) - LU-MZ Benchmark\n\n"
        parse = npb.parse if benchmark.startswith("npb/") else hpl.parse
        return judge_output(case, banner, parse, traffic, exit_code=124, timed_out=True, **left)

    return run


@pytest.mark.parametrize("benchmark", ["npb/LU-MZ/S", "npb/CG/W", "hpl/hpl"])
@pytest.mark.parametrize("moved", [BUSY, (0.0, 0.0)])
def test_a_stuck_application_without_a_finding_of_the_path_is_not_told_to_look_at_rails(
    stuck_run: Run, benchmark: str, moved: tuple[float, float]
) -> None:
    verdict = stuck_run(benchmark, moved).verdict
    assert (verdict.state, verdict.rule, verdict.fault, verdict.suspects) == ("fail", 1, "set-up", ())
    assert verdict.look_at == run_words.look_at_application(["vn1", "vn2", "vn3", "vn4"])
    assert "hsn0" not in str(verdict.look_at) and "hsn0" not in verdict.headline


def test_a_stuck_application_with_a_slow_rail_is_told_to_look_at_it(stuck_run: Run) -> None:
    inputs = stuck_run("npb/CG/W").inputs
    slow = replace(inputs, suspects=(Suspect("rail", "it moved 4.9 MB/s", "vn2", "hsn0"),))
    assert judge(slow).look_at == run_words.look_at_traffic(["hsn0"], ["vn1", "vn2", "vn3", "vn4"])
    failed = replace(inputs, path=PathProof("failed", "the bytes went over eth0", "set-up", "x"))
    assert judge(failed).look_at == run_words.look_at_traffic(["hsn0"], ["vn1", "vn2", "vn3", "vn4"])
