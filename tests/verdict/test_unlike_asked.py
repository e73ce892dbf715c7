"""Outputs that are sound but not from the requested run, and rows that cannot be true."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks.moved_bytes import Repetitions
from railyard.parsers import imb, netpipe, osu, perftest
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.site.site import Site
from railyard.verdict.assess import Assessment
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.stored_outputs.target import of_link
from tests.made.judged_run import SIZES, case_of, healthy_bytes, healthy_rates, imb_output, judge_output

M = 1 << 20
END = "\n# All processes entering MPI_Finalize\n"
DOUBLED = tuple(2**n for n in range(23))
RATES = healthy_rates("hsn", 1)
Run = Callable[..., Assessment]


def passes(benchmark: str, repetitions: int) -> str:
    """Return three healthy tables of one run of IMB."""
    one = imb_output(benchmark, RATES, repetitions)
    head, _, table = one.partition("# Benchmarking")
    return head + "\n".join([f"# Benchmarking{table.removesuffix(END)}"] * 3) + END


UNIBAND, PINGPONG = passes("imb/Uniband", 1), passes("imb/PingPong", 16)


def osu_latency(time_us: Callable[[int], float]) -> str:
    """Return what OSU 7.4 prints for a latency."""
    rows = "".join(f"{size:<10}{time_us(size):>18.2f}\n" for size in DOUBLED)
    return f"# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n{rows}"


def osu_allreduce(least: float, mean: float, most: float) -> str:
    """Return what OSU 7.4 prints for an allreduce; the values are shares of a healthy time."""
    rows = "".join(
        f"{size:<10}" + "".join(f"{(100 + size / 20) * share:>18.2f}" for share in (mean, least, most)) + "  100\n"
        for size in DOUBLED[2:]
    )
    heading = "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
    return f"# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_CHAR.\n{heading}{rows}"


def osu_pairs(pairs: int, window: int) -> str:
    """Return what OSU 7.4 prints for this many pairs of ranks."""
    rows = "".join(f"{s:<10}{s / (30 + s / 47.8):>18.2f}{1e6 / (30 + s / 47.8):>18.2f}\n" for s in DOUBLED)
    head = f"# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: {pairs} ] [ window size: {window} ]\n"
    return f"{head}# Datatype: MPI_CHAR.\n# Size                  MB/s        Messages/s\n{rows}"


@pytest.fixture
def run(virtual: Site) -> Run:
    """Return a function that assesses a run of IMB over all sizes in three passes that printed this."""

    def live(output: str, benchmark: str = "imb/Uniband", moves: float = 3, **left: object) -> Assessment:
        both = benchmark == "imb/PingPong"
        case = case_of(
            virtual, benchmark, launch={"nodes": ("vn1", "vn2"), "ranks_per_node": 1},
            window=1 if both else 16, passes=3, sizes=SIZES,
        )  # fmt: skip
        moved = {n: {d: (moves * a, moves * b) for d, (a, b) in devices.items()} for n, devices in
                 healthy_bytes(("vn1", "vn2"), case.launch.meant, both).items()}  # fmt: skip
        return judge_output(case, output, imb.parse, moved, **left)

    return live


@pytest.fixture
def stored_judge(virtual: Site) -> Callable[[str], Judgement]:
    """Return a function that judges a stored output of OSU."""

    def judge_stored(output: str) -> Judgement:
        return judge(with_wrong_lines(osu.parse(output), output), of_system(virtual, "hsn", stack="mpich"))[0]

    return judge_stored


def test_the_healthy_neighbours_pass(run: Run, stored_judge: Callable[[str], Judgement]) -> None:
    assert run(UNIBAND).verdict.state == run(PINGPONG, "imb/PingPong").verdict.state == "pass"
    assert stored_judge(osu_latency(lambda size: 30 + size / 47.8)).state == "pass"
    assert stored_judge(osu_allreduce(0.9, 1.0, 1.1)).state == "pass"
    # Only rounding: all three are printed alike, or a hundredth apart.
    assert stored_judge(osu_allreduce(1.0, 1.0, 1.0)).state == "pass"


def scale_times(pattern: str, factor: float) -> str:
    """Return IMB's ping-pong with each time multiplied by a factor."""

    def multiply(found: re.Match[str]) -> str:
        before = found[1].rstrip()
        return f"{before}{float(found[2]) * factor:{len(found[0]) - len(before)}.2f}"  # in a field of the same width

    return re.sub(pattern, multiply, PINGPONG)


TIMES = r"(?m)^( +[0-9]+ +16 +)([0-9.]+)"


@pytest.mark.parametrize(
    ("output", "benchmark", "rule"),
    [
        pytest.param(
            UNIBAND.replace("#processes = 2", "#processes = 4"),
            "imb/Uniband",
            1,
            marks=pytest.mark.fault(
                "output", "a table of four processes where two ran", "has 4 processes: 2 were asked for"
            ),
            id="processes",
        ),
        pytest.param(
            UNIBAND.replace("#processes = 2 ", "#processes = 2 \n# window_size = 64 "),
            "imb/Uniband",
            1,
            marks=pytest.mark.fault(
                "output", "another window than was asked for, printed", "has 64 messages in flight: 16"
            ),
            id="window",
        ),
        pytest.param(
            re.sub(r"(?m)^( +[0-9]+ +)1 ", r"\g<1>0 ", UNIBAND),
            "imb/Uniband",
            2,
            marks=pytest.mark.fault("output", "a table of no repetitions", "was measured in 0 repetitions"),
            id="repetitions-0",
        ),
        pytest.param(
            re.sub(r"(?m)^( +[0-9]+ +)1 ", r"\g<1>10 ", UNIBAND),
            "imb/Uniband",
            4,
            marks=pytest.mark.fault(
                "output", "ten times as many repetitions printed as were made", "hsn0 of vn1 sent 570.0 MB of 5368.7 MB"
            ),
            id="repetitions-10",
        ),
        pytest.param(
            scale_times(TIMES, 1000),
            "imb/PingPong",
            2,
            marks=pytest.mark.fault("output", "times in nanoseconds", "and time 30020 us contradict each other"),
            id="nanoseconds",
        ),
        pytest.param(
            scale_times(TIMES, 1e-3),
            "imb/PingPong",
            2,
            marks=pytest.mark.fault("output", "times in milliseconds", "and time 0.0300 us contradict each other"),
            id="milliseconds",
        ),
        pytest.param(
            scale_times(TIMES, 2),
            "imb/PingPong",
            2,
            marks=pytest.mark.fault(
                "output", "a round trip in place of half of it", "and time 60.04 us contradict each other"
            ),
            id="round-trip",
        ),
        pytest.param(
            PINGPONG.replace("t[usec] Mbytes/sec", "Mbytes/sec t[usec]"),
            "imb/PingPong",
            3,
            marks=pytest.mark.fault(
                "output", "time and bandwidth in each other's column", f"{IMPOSSIBLE}bandwidth 87777 MB/s at 4 MiB"
            ),
            id="columns",
        ),
        pytest.param(
            UNIBAND.replace("Mbytes/sec Msg/sec", "Msg/sec Mbytes/sec"),
            "imb/Uniband",
            2,
            marks=pytest.mark.fault(
                "output",
                "bandwidth and message rate in each other's column",
                "and 2.040 messages per second contradict each other",
            ),
            id="rates",
        ),
        pytest.param(
            UNIBAND.replace("Benchmarks 2021.11", "Benchmarks 3.2"),
            "imb/Uniband",
            2,
            marks=pytest.mark.fault(
                "output",
                "the banner of IMB 3.2 (MiB/s) over rows of 2021 (MB/s)",
                "0.5557 MB/s at 16 B and 32966 messages per second contradict",
            ),
            id="banner",
        ),
        pytest.param(
            re.sub(r"(?m)^ +4096 .*\n", lambda found: 2 * found[0], UNIBAND),
            "imb/Uniband",
            1,
            marks=pytest.mark.fault("output", "a row printed twice", "after the row of 4 KiB, expected a larger size"),
            id="twice",
        ),
        pytest.param(
            re.sub(
                r"(?m)^ +1048576 .*\n( +4194304 .*\n)",
                lambda found: found[1] + found[0].removesuffix(found[1]),
                UNIBAND,
            ),
            "imb/Uniband",
            1,
            marks=pytest.mark.fault(
                "output", "two rows in each other's place", "after the row of 4 MiB, expected a larger size"
            ),
            id="order",
        ),
        pytest.param(
            "\n".join(f"{line}\n{line}" for line in UNIBAND.split("\n")),
            "imb/Uniband",
            1,
            marks=pytest.mark.fault(
                "output", "two outputs, line by line among each other", "lines of two outputs are mixed"
            ),
            id="mixed",
        ),
        pytest.param(
            re.sub(r"(?m)^ +4096 .*$", lambda found: "\0" * len(found[0]), UNIBAND),
            "imb/Uniband",
            1,
            marks=pytest.mark.fault("output", "zero bytes of a file system in place of a row", "lacks 4 KiB"),
            id="nul",
        ),
        pytest.param(
            UNIBAND.replace(" 1048576 ", " 1,048,576 "),
            "imb/Uniband",
            1,
            marks=pytest.mark.fault(
                "output", "a size with commas between its thousands", 'a row that cannot be read: found "1,048,576 '
            ),
            id="thousands",
        ),
        pytest.param(
            re.sub(r"([0-9])\.([0-9]{2})", r"\1,\2", UNIBAND),
            "imb/Uniband",
            1,
            marks=pytest.mark.fault(
                "output",
                "decimal commas of a locale",
                '"a comma in place of the decimal point, so that no figure is read (set LC_ALL=C',
            ),
            id="commas",
        ),
        pytest.param(
            passes("imb/Uniband", 1).replace(f"{RATES[M]:.2f}", f"{0:{len(f'{RATES[M]:.2f}')}.2f}"),
            "imb/Uniband",
            2,
            marks=pytest.mark.fault(
                "output", "0.00 MB/s at a large size", "bandwidth at 1 MiB is 0 MB/s, expected more than 0"
            ),
            id="zero",
        ),
    ],
)
def test_what_was_not_asked_for_or_cannot_be_true_fails(
    run: Run, output: str, benchmark: str, rule: int, promise: str
) -> None:
    found = run(output, benchmark).verdict
    assert (found.state, found.rule) == ("fail", rule), found.text
    assert promise in found.sentence
    assert found.suspects == ()


@pytest.mark.fault("output", "a table from a cache: nothing was sent", "hsn0 of vn1 sent 0.0 kB of 536.9 MB")
def test_a_table_that_no_byte_stands_behind_is_not_proven(run: Run, promise: str) -> None:
    found = run(UNIBAND, moves=0).verdict
    assert (found.state, found.rule, found.fault) == ("fail", 4, "not-proven")
    assert promise in found.sentence and found.suspects == ()


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(
            osu_latency(lambda size: 30),
            marks=pytest.mark.fault(
                "output",
                "a latency that does not grow with the message",
                f"{IMPOSSIBLE}latency 30.00 us at 4 MiB is 139810 MB/s",
            ),
            id="flat",
        ),
        pytest.param(
            osu_latency(lambda size: (30 + size / 47.8) / 2),
            marks=pytest.mark.fault("output", "half of each latency", "MB/s, 198."),
            id="half",
        ),
        pytest.param(
            osu_allreduce(0.15, 0.2, 0.25),
            marks=pytest.mark.fault(
                "output",
                "a collective that ended before its bytes can have crossed the link",
                f"{IMPOSSIBLE}latency 41963 us at 4 MiB",
            ),
            id="collective",
        ),
        pytest.param(
            osu_allreduce(1.1, 1.0, 0.9),
            marks=pytest.mark.fault(
                "output", "least and most of a collective in each other's column", "min 110.2 at 4 B is above avg 100.2"
            ),
            id="min-max",
        ),
        pytest.param(
            osu_allreduce(0.9, 0.3, 1.1),
            marks=pytest.mark.fault(
                "output",
                "a collective's mean below its least time",
                "min 90.18 at 4 B is above avg 30.06: they contradict",
            ),
            id="mean",
        ),
    ],
)
def test_a_stored_output_that_cannot_be_true_fails(
    stored_judge: Callable[[str], Judgement], output: str, promise: str
) -> None:
    found = stored_judge(output)
    assert found.state == "fail" and promise in found.sentence, found.sentence


@pytest.mark.parametrize(
    ("pairs", "window"),
    [
        pytest.param(
            4,
            8,
            id="pairs",
            marks=pytest.mark.fault(
                "output", "osu_mbw_mr of four pairs where one ran", "has 4 pairs of ranks: 1 were asked for"
            ),
        ),
        pytest.param(
            1,
            64,
            id="window",
            marks=pytest.mark.fault(
                "output", "osu_mbw_mr with another window", "has 64 messages in flight: 8 were asked for"
            ),
        ),
    ],
)
def test_other_pairs_or_another_window_of_osu_fail(virtual: Site, pairs: int, window: int, promise: str) -> None:
    def live(output: str) -> Assessment:
        case = case_of(
            virtual, "osu/osu_mbw_mr", launch={"nodes": ("vn1", "vn2")}, window=8, repetitions=Repetitions(2, 0)
        )
        return judge_output(case, output, osu.parse, {"vn1": {"hsn0": (136, 3)}, "vn2": {"hsn0": (3, 136)}})

    healthy = live(osu_pairs(1, 8)).verdict
    assert healthy.state == "pass", healthy.text
    found = live(osu_pairs(pairs, window)).verdict
    assert (found.state, found.rule) == ("fail", 1) and promise in found.sentence


PERFTEST = """\
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 1048576    1000             PEAK              45.00\t\t   0.000045
---------------------------------------------------------------------------------------
"""


@pytest.mark.fault(
    "output", "perftest's peak below its average", "bandwidth 47.19 at 1 MiB is above bandwidth_peak 31.46"
)
def test_a_peak_below_the_average_contradicts_it(virtual: Site, promise: str) -> None:
    target = of_system(virtual, "hsn", stack="mpich")
    assert promise in judge(perftest.parse(PERFTEST.replace("PEAK", "30.00")), target)[0].sentence
    assert "contradict" not in judge(perftest.parse(PERFTEST.replace("PEAK", "45.20")), target)[0].sentence


@pytest.mark.fault(
    "output", "MB/s under NetPIPE's name of Mbit/s", "and time 16.25 us contradict each other: that time is"
)
def test_another_unit_under_netpipes_name_contradicts_its_times(virtual: Site, promise: str) -> None:
    recorded = Path(__file__).resolve().parents[1] / "recordings/netpipe3.7.2-pingpong-openmpi4.1.4-veth.out"
    text, target = recorded.read_text(encoding="utf-8"), of_system(virtual, "hsn", stack="mpich")
    in_bytes = re.sub(r"([0-9.]+) Mbps", lambda found: f"{float(found[1]) / 8:.2f} Mbps", text)
    assert promise in judge(netpipe.parse(in_bytes), target)[0].sentence
    assert "contradict" not in judge(netpipe.parse(text), target)[0].sentence


@pytest.mark.parametrize(
    ("lost", "state", "remarks"),
    [
        ((), "pass", []),
        ((4096,), "fail", []),
        (
            (8, 32, 256, 2048, 16384, 131072),
            "pass",
            [
                "no row has 6 of the powers of two between its first and its last size (8 B, 32 B, 256 B, 2 KiB and 2 "
                "more): these sizes were not judged"
            ],
        ),
        (tuple(2**n for n in range(1, 22, 2)), "pass", []),  # four times the size before, as somebody asked for
    ],
)
def test_sizes_that_an_irregular_list_leaves_out_are_named(
    lost: tuple[int, ...], state: str, remarks: list[str]
) -> None:
    rows = "".join(
        f"{size:>13}{1000:>13}{1.2 + size / 12050:>13.2f}{size / (1.2 + size / 12050):>13.2f}\n"
        for size in (0, *DOUBLED)
        if size not in lost
    )
    heading = "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
    text = f"# Benchmarking PingPong\n# #processes = 2\n#{'-' * 50}\n{heading}{rows}{END}"
    (found,) = judge(imb.parse(text), of_link("ib-edr"), text=text)
    assert (found.state, [each for each in found.remarks if "powers of two" in each]) == (state, remarks)
