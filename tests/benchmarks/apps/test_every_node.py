"""Outputs of single nodes: how parts are separated, which slow nodes are named, and the script that writes them."""

import os
import subprocess
from pathlib import Path

import pytest

from railyard.benchmarks.apps.every_node import (
    each_script,
    hpl_of_nodes,
    idle,
    nodes_of,
    nvbandwidth_of_nodes,
    slow,
    stream_of_nodes,
)
from railyard.parsers.output import ParseError


def part(node: str, body: str, end: str = "# railyard: end 0\n") -> str:
    return f"# railyard: node {node} tag-1\n{body}{end}"


def stream(triad: float, valid: bool = True) -> str:
    """Return a synthetic output of STREAM 5.10."""
    said = "Validates: avg error less than 1.000000e-13 on all three arrays" if valid else "Does not validate"
    return (
        "STREAM version $Revision: 5.10 $\n"
        "Function    Best Rate MB/s  Avg time     Min time     Max time\n"
        f"Copy:           {triad:.1f}     0.016000     0.015000     0.017000\n"
        f"Triad:          {triad:.1f}     0.024000     0.023000     0.025000\n"
        f"Solution {said}\n"
    )


def hpl(gflop_s: float, verdict: str = "PASSED") -> str:
    return (
        "HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018\n"
        "T/V                N    NB     P     Q               Time                 Gflops\n"
        f"WR11C2R4        2688   192     1     1               1.30             {gflop_s:.4e}\n"
        f"||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   2.5e-03 ...... {verdict}\n"
        "End of Tests.\n"
    )


def test_a_row_a_node() -> None:
    (table,) = stream_of_nodes("".join(part(f"vn{n}", stream(9000.0 + n)) for n in (1, 2, 3))).tables
    assert (table.tool, table.benchmark, table.columns, table.units) == (
        "stream",
        "every-node",
        ("bandwidth", "passed"),
        ("MB/s", None),
    )
    assert table.rows == ((9001.0, True), (9002.0, True), (9003.0, True))
    assert (nodes_of(table), table.complete) == (("vn1", "vn2", "vn3"), True)


def test_nvbandwidth_of_each_node_is_its_slowest_and_fastest_copy() -> None:
    text = (
        "nvbandwidth Version: v0.8\nRunning device_to_device_memcpy_read_ce.\n"
        "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0       N/A    389.45\n"
        " 1    388.97       N/A\n\nSUM device_to_device_memcpy_read_ce 778.42\n"
    )
    parsed = nvbandwidth_of_nodes(part("vn1", text) + part("vn2", text.replace("388.97", "cut")))
    (table,) = parsed.tables
    assert (table.benchmark, table.rows[0]) == ("device_to_device_memcpy_read_ce", (388970.0, 389450.0, 2, None))
    assert table.rows[1][0] is None
    assert [failure.text.partition(":")[0] for failure in parsed.failures] == ["nvbandwidth on vn2 gave no result"]


def test_hpl_of_each_node() -> None:
    parsed = hpl_of_nodes(part("vn1", hpl(20.0)) + part("vn2", hpl(21.0, "FAILED")))
    assert [row[:2] for row in parsed.tables[0].rows] == [(20.0, True), (21.0, False)]
    assert parsed.failures == ()


def test_a_node_that_failed_is_named_with_its_last_words() -> None:
    text = part("vn1", stream(9000.0)) + part("vn2", "Killed\n", "# railyard: end 137\n") + part("vn3", "nothing\n")
    parsed = stream_of_nodes(text + part("vn4", stream(9000.0), ""))
    assert [(failure.line, failure.text) for failure in parsed.failures] == [
        (8, 'stream on vn2 exited 137: "Killed"'),
        (11, 'stream on vn3 gave no result: "nothing"'),
        (14, 'stream on vn4 did not end: "Solution Validates: avg error less than 1.000000e-13 on all three arrays"'),
    ]
    assert parsed.tables[0].rows == ((9000.0, True), (None, None), (None, None), (9000.0, True))
    assert not parsed.tables[0].complete


def test_a_solution_that_does_not_validate_is_wrong() -> None:
    assert stream_of_nodes(part("vn1", stream(9000.0, valid=False))).tables[0].rows == ((9000.0, False),)


def test_a_text_without_a_part_is_none() -> None:
    with pytest.raises(ParseError, match=r'expected the outputs of single nodes: "# railyard: node NAME TAG"$'):
        stream_of_nodes(stream(9000.0))


@pytest.mark.parametrize(
    ("rates", "named"),
    [
        ((100.0, 101.0, 99.0, 80.0), [("vn4", 80.0, 99.5)]),
        ((100.0, 101.0, 99.0, 95.0), []),
        ((70.0, 100.0, 101.0, 102.0, 60.0), [("vn5", 60.0, 100.0), ("vn1", 70.0, 100.0)]),
        ((100.0, 10.0), []),
    ],
)
def test_nodes_far_below_the_others_are_named(rates: tuple[float, ...], named: list[tuple[str, float, float]]) -> None:
    text = "".join(part(f"vn{n}", stream(rate)) for n, rate in enumerate(rates, 1))
    assert list(slow(stream_of_nodes(text).tables[0])) == named


def test_the_script_runs_a_program_as_if_no_launcher_had_started_it(tmp_path: Path) -> None:
    script, parts, kernel = tmp_path / "each.sh", tmp_path / "parts", tmp_path / "proc" / "sys" / "kernel"
    script.write_text(each_script(), encoding="utf-8")
    parts.mkdir()
    kernel.mkdir(parents=True)
    (kernel / "hostname").write_text("vn7\n", encoding="utf-8")
    told = {"OMPI_COMM_WORLD_RANK": "3", "PMI_FD": "9", "SLURM_PROCID": "3", "UCX_TLS": "tcp", "OMPI_MCA_btl": "tcp"}
    program = (
        'echo "rank ${OMPI_COMM_WORLD_RANK-none} ${PMI_FD-none} ${SLURM_PROCID-none} $UCX_TLS $OMPI_MCA_btl"; exit 3'
    )
    ran = subprocess.run(
        ["sh", str(script), str(parts), "t-1", "sh", "-c", program],
        env={**os.environ, **told, "RAILYARD_PROC": str(tmp_path / "proc")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (parts / "vn7.out").read_text(encoding="utf-8") == (
        "# railyard: node vn7 t-1\nrank none none none tcp tcp\n# railyard: used - - 1\n# railyard: end 3\n"
    )


# --- threads that worked


def used_line(processors_s: float, passed_s: float, threads: int = 56) -> str:
    words = f"{processors_s * 100:.0f} {passed_s * 100:.0f} {threads}"
    return f"# railyard: used {words}\n# railyard: end 0\n"


@pytest.mark.parametrize(
    ("end", "named"),
    [
        # 1.3 s on all threads, and half a second on one for matrix and check.
        (used_line(1.3 * 56 + 0.5, 1.8), []),
        (used_line(1.3 * 30 + 0.5, 1.8), []),
        (used_line(1.3 * 27 + 0.5, 1.8), [("vn1", 27.0, 56)]),
        # Always one thread; a long check must not count as work of the others.
        (used_line(1.8, 1.8), [("vn1", 1.0, 56)]),
        (used_line(101.3, 101.3), [("vn1", 1.0, 56)]),
        (used_line(1.8, 1.8, threads=1), []),
        ("# railyard: used - - 56\n# railyard: end 0\n", [("vn1", None, 56)]),
        ("# railyard: end 0\n", [("vn1", None, None)]),
    ],
)
def test_a_node_whose_threads_were_idle_is_named(end: str, named: list[tuple[str, float | None, int | None]]) -> None:
    (table,) = hpl_of_nodes(part("vn1", hpl(20.0), end)).tables
    found = [(node, None if busy is None else round(busy, 6), threads) for node, busy, threads in idle(table)]
    assert found == named


def test_the_node_with_the_fewest_busy_threads_is_the_first_and_stream_has_none() -> None:
    text = part("vn1", hpl(20.0), used_line(4.0, 1.3)) + part("vn2", hpl(20.0), used_line(1.3, 1.3))
    assert [node for node, _, _ in idle(hpl_of_nodes(text).tables[0])] == ["vn2", "vn1"]
    assert idle(stream_of_nodes(part("vn1", stream(9000.0), used_line(1.0, 1.0))).tables[0]) == ()


def test_what_a_program_did_not_print_is_none_of_its_text() -> None:
    parsed = hpl_of_nodes(part("vn1", "Killed\n", used_line(1.0, 1.0).replace("end 0", "end 137")))
    assert [failure.text for failure in parsed.failures] == ['hpl on vn1 exited 137: "Killed"']


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_the_script_says_how_long_processors_worked(tmp_path: Path, shell: str) -> None:
    """A sleeping program uses no processor, a counting one uses one; the threads are those that it was given."""
    script = tmp_path / "each.sh"
    script.write_text(each_script(), encoding="utf-8")
    found: list[tuple[int, int, int]] = []
    for program in ("sleep 0.3", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"):
        subprocess.run(
            [shell, str(script), str(tmp_path), "t-1", shell, "-c", program],
            env={**os.environ, "OMP_NUM_THREADS": "56"}, check=True,
        )  # fmt: skip
        (file,) = tmp_path.glob("*.out")
        words = file.read_text(encoding="utf-8").splitlines()[1].removeprefix("# railyard: used ").split()
        found.append((int(words[0]), int(words[1]), int(words[2])))
    (slept, over, threads), (counted, _, _) = found
    assert (threads, over >= 29) == (56, True)
    assert slept < counted
