"""Railyard's own MPI programs: compiled once, completely or not at all; and what the real ones measure and refuse."""

import os
import subprocess
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.benchmarks.node_pairs import pairs_of
from railyard.parsers.pairs import parse
from railyard.parsers.sharing import parse as parse_sharing
from railyard.provision.mpi_prefixes import PROGRAMS, build, prefix_of, why_missing
from tests.patience import PATIENCE_S

CLONE = Path(__file__).parents[2]


@pytest.fixture
def mpicc(tmp_path: Path) -> Path:
    """A fake compiler: it copies the source to the place of the program."""
    script = tmp_path / "mpicc"
    script.write_text('#!/bin/sh\ncp "$4" "$3"\n', encoding="utf-8")
    script.chmod(0o755)
    return script


def test_a_program_is_compiled_once_and_again_when_its_compiler_changes(mpicc: Path, tmp_path: Path) -> None:
    said: list[str] = []
    assert build(mpicc, tmp_path / "bin", said.append)
    assert not build(mpicc, tmp_path / "bin", said.append)
    assert said == [f"programs: compiling {program} with {mpicc}" for program in PROGRAMS]
    expected = sorted(name for program in PROGRAMS for name in (program, f"{program}.sha256"))
    assert sorted(file.name for file in (tmp_path / "bin").iterdir()) == expected
    other = mpicc.rename(tmp_path / "mpicc-of-another-mpi")
    assert build(other, tmp_path / "bin", said.append)
    (tmp_path / "bin/railyard-pairs").unlink()
    assert build(other, tmp_path / "bin", said.append)


def test_what_a_compiler_refuses_is_a_sentence_and_leaves_nothing(mpicc: Path, tmp_path: Path) -> None:
    mpicc.write_text("#!/bin/sh\necho 'mpi.h: No such file or directory' >&2\nexit 1\n", encoding="utf-8")
    with pytest.raises(SetupError) as caught:
        build(mpicc, tmp_path / "bin", lambda line: None)
    assert str(caught.value) == (
        f"{mpicc}: could not compile railyard-pairs: mpi.h: No such file or directory; "
        "it needs a C compiler and the headers of its MPI: type sh ci/needs.sh"
    )
    assert list((tmp_path / "bin").iterdir()) == []


def test_no_compiler_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        build(tmp_path / "none", tmp_path / "bin", lambda line: None)
    assert str(caught.value) == (
        f"{tmp_path}/none: found no compiler that runs (No such file or directory), expected the mpicc of an MPI "
        "stack; type: sh ci/needs.sh"
    )


# --- the real one, with the stack of this clone


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    reason = why_missing(CLONE, "mpich")
    if reason is not None:
        pytest.skip(f"the prefix of mpich in this clone: {reason}; type: make stacks")
    folder = tmp_path_factory.mktemp("bin")
    build(prefix_of(CLONE, "mpich") / "bin/mpicc", folder, lambda line: None)
    return folder / "railyard-pairs"


def run(program: Path, *words: str, ranks: int = 4) -> subprocess.CompletedProcess[str]:
    prefix = prefix_of(CLONE, "mpich")
    return subprocess.run(
        [prefix / "bin/mpiexec", "-n", str(ranks), program, *words],
        env=os.environ | {"LD_LIBRARY_PATH": f"{prefix}/lib"},
        cwd=program.parent, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def test_every_round_of_a_file_is_measured(program: Path) -> None:
    (program.parent / "rounds.txt").write_text("0-3 1-2\n# a remark\n\n0-1\n", encoding="ascii")
    answer = run(program, "pairs", "rounds.txt", "65536", "4", "2", "1", "3")
    assert (answer.returncode, answer.stderr) == (0, "")
    parsed = parse(answer.stdout)
    (table,) = parsed.tables
    assert (table.complete, table.benchmark, parsed.failures, parsed.remarks) == (True, "pairs", (), ())
    assert [row[:3] for row in table.rows] == [(1, 0, 3), (1, 1, 2), (2, 0, 1)]
    assert all(pair.slower_mb_s > 0 and pair.latency_us > 0 for pair in pairs_of(table))
    assert [table.context[name] for name in ("size", "window", "repeats", "warm_up", "exchanges")] == [
        65536,
        4,
        2,
        1,
        3,
    ]


def test_ranks_that_share_a_node_are_found(program: Path) -> None:
    answer = run(program, "onnode", "node", "4096", "2", "1", "0", "0")
    (table,) = parse(answer.stdout).tables
    assert [row[:3] for row in table.rows] == [(1, 0, 1), (2, 2, 3)]


RANKS = "expected two ranks of this job (0-1), each once in a line, found "


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("pairs", "none.txt", "8", "1", "1", "0", "0"), "found no readable file of rounds: none.txt"),
        (("pairs", "bad.txt", "8", "1", "1", "0", "0"), f"{RANKS}1-1"),
        (("pairs", "far.txt", "8", "1", "1", "0", "0"), f"{RANKS}0-9"),
        (("pairs", "twice.txt", "8", "1", "1", "0", "0"), f"{RANKS}1-0"),
        (("pairs", "empty.txt", "8", "1", "1", "0", "0"), "found no pair of ranks in empty.txt"),
        (("pairs", "bad.txt", "8k", "1", "1", "0", "0"), "expected a SIZE of 1 to 1073741824 bytes, found 8k"),
        (("pairs", "bad.txt", "8", "0", "1", "0", "0"),
         "expected WINDOW and REPEATS of at least 1, WARM-UP and EXCHANGES of at least 0"),
        (("pairs",), "expected NAME ROUNDS SIZE WINDOW REPEATS WARM-UP EXCHANGES"),
    ],
)  # fmt: skip
def test_words_and_rounds_that_make_no_sense_end_the_job_with_a_sentence(
    words: tuple[str, ...], sentence: str, program: Path
) -> None:
    for name, text in (("bad.txt", "1-1\n"), ("far.txt", "0-9\n"), ("twice.txt", "0-1 1-0\n"), ("empty.txt", "\n")):
        (program.parent / name).write_text(text, encoding="ascii")
    answer = run(program, *words, ranks=2)
    assert answer.returncode != 0
    assert f"railyard-pairs: {sentence}\n" in answer.stderr


# --- two ranks on one processor


def test_the_work_is_timed_beside_each_way_to_wait(program: Path) -> None:
    """How much longer it takes is not tested here: other work on this machine slows both (SharedProcessor)."""
    answer = run(program.with_name("railyard-sharing"), ranks=2)
    assert (answer.returncode, answer.stderr) == (0, "")
    (table,) = parse_sharing(answer.stdout).tables
    assert table.complete
    (times,) = table.rows
    assert len(times) == 4
    assert all(isinstance(time, float) and time > 0 for time in times)


def test_it_takes_two_ranks(program: Path) -> None:
    answer = run(program.with_name("railyard-sharing"), ranks=3)
    assert answer.returncode != 0
    assert "railyard-sharing: expected two ranks\n" in answer.stderr
