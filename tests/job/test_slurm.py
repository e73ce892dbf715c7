"""Whether Slurm's own settings let other jobs share the nodes that a system's file calls exclusive, and whether Slurm
would take no job of that file at all.
"""

import os
from pathlib import Path

import pytest

from railyard.job.clients import NODES_FILE, note_nodes, why_never, why_shared
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from tests.made.spack_site import program
from tests.made.systems import HDR

#: As `scontrol -o show partition` of Slurm 22.05 has its fields, shortened.
PARTITIONS = """\
PartitionName=batch AllowAccounts=ALL Default=NO ExclusiveUser=NO Nodes=n[1-8] OverSubscribe={batch} State=UP
PartitionName=debug AllowAccounts=ALL Default=YES ExclusiveUser=NO Nodes=n1 OverSubscribe=FORCE:4 State=UP
"""
RECORDED = Path(__file__).parents[1] / "recordings" / "slurm"
CONS, LINEAR = "SelectType              = select/cons_tres", "SelectType              = select/linear"


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    write_scontrol(folder)
    return folder


def write_scontrol(folder: Path, batch: str = "NO", select: str = CONS) -> None:
    """Have scontrol answer so: ``batch`` is how the partition of that name shares its nodes."""
    partitions = PARTITIONS.format(batch=batch).rstrip("\n")
    answers = f"'-o show partition') cat <<'X'\n{partitions}\nX\n;;\n'show config') echo '{select}' ;;"
    program(folder / "scontrol", f'case "$*" in\n{answers}\n*) exit 3 ;;\nesac')


def system(tmp_path: Path, *changes: tuple[str, str]) -> System:
    text = HDR
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "hdr.yaml").write_text(text, encoding="utf-8")
    return load_system(tmp_path / "hdr.yaml")


def test_a_partition_that_gives_parts_of_nodes_is_named(tmp_path: Path, slurm: Path) -> None:
    assert why_shared(system(tmp_path)) == (
        "nodes.exclusive is true, but jobs do not ask for whole nodes, and partition batch (OverSubscribe=NO) gives "
        "parts of nodes: other jobs can share the rails and their counters"
    )
    without = system(tmp_path, ('access: ["--partition=batch"]\n', ""))
    assert "partition debug (OverSubscribe=FORCE:4) gives" in (why_shared(without) or "")


@pytest.mark.parametrize(
    "change",
    [
        ("nodes: {count: 8}", "jobs: {exclusive: true}\nnodes: {count: 8}"),
        ('["--partition=batch"]', '["--partition=batch", "--exclusive"]'),
        ("nodes: {count: 8}", "nodes: {count: 8, exclusive: false}"),
        ("scheduler: slurm", "scheduler: pbs"),
        ('["--partition=batch"]', '["--partition=hidden"]'),
    ],
)
def test_a_file_that_asks_for_whole_nodes_or_claims_none_is_well(
    tmp_path: Path, slurm: Path, change: tuple[str, str]
) -> None:
    assert why_shared(system(tmp_path, change)) is None


@pytest.mark.parametrize("how", [{"batch": "EXCLUSIVE"}, {"select": LINEAR}])
def test_a_slurm_that_gives_whole_nodes_is_well(tmp_path: Path, slurm: Path, how: dict[str, str]) -> None:
    write_scontrol(slurm, **how)
    assert why_shared(system(tmp_path)) is None


@pytest.mark.parametrize(("exclusive", "is_shared"), [("NODE", False), ("TOPO", False), ("USER", True), ("NO", True)])
def test_slurm_26_says_by_another_field_that_a_partition_gives_whole_nodes(
    tmp_path: Path, slurm: Path, exclusive: str, is_shared: bool
) -> None:
    """Its ``scontrol show partition`` prints no OverSubscribe=EXCLUSIVE any more (partition_info.c of 26.05)."""
    write_scontrol(slurm, batch=f"NO Exclusive={exclusive}")
    assert (why_shared(system(tmp_path)) is not None) is is_shared


def test_a_slurm_that_does_not_answer_says_nothing(tmp_path: Path, slurm: Path) -> None:
    program(slurm / "scontrol", "exit 1")
    assert why_shared(system(tmp_path)) is None


def test_a_run_says_that_slurm_did_not_answer_which_nodes_can_run_a_job(tmp_path: Path, slurm: Path) -> None:
    """As where the scontrol first on PATH is of an older release than the cluster's Slurm."""
    program(slurm / "scontrol", f"cat {RECORDED}/26.05.3/scontrol22.05.8.err >&2; exit 1")
    said: list[str] = []
    assert note_nodes(system(tmp_path), tmp_path, tmp_path, said.append) is None
    assert said == [
        "which nodes can run a job is not known: scontrol: error: Parsing error at unrecognized key: Exclusive"
    ]
    assert note_nodes(system(tmp_path, ("scheduler: slurm", "scheduler: pbs")), tmp_path, tmp_path, said.append) is None
    assert len(said) == 1


#: Option of sbatch -> what Slurm says of it, if no job can ever be sent with it.
NEVER = {
    "-p nope": "Invalid partition name specified",
    "--gres=nope:1": "Invalid generic resource (gres) specification",
    "--constraint=nope": "Invalid feature specification",
    "-w vn9": "Invalid node name specified",
    "--reservation=nope": "Requested reservation is invalid",
    "--licenses=nope": "Invalid license specification",
    "-A nope": "Invalid account or account/partition combination specified",
    # The same is said if the nodes are down today.
    "-N9": None,
    "--mincpus=99": None,
}


@pytest.mark.parametrize("release", ["", "26.05.3"])
@pytest.mark.parametrize("option", NEVER)
def test_a_job_that_slurm_would_never_take_is_known_by_its_own_words(
    tmp_path: Path, slurm: Path, option: str, release: str
) -> None:
    recorded = (RECORDED / release / "refused.txt").read_text(encoding="utf-8")
    if option == "-A nope":  # only with an accounting database
        recorded = (RECORDED / "26.05.3/refused-account.txt").read_text(encoding="utf-8")
    said = recorded.partition(f"$ sbatch --test-only {option} --wrap true\n")[2].partition("$ ")[0]
    assert said
    program(slurm / "sbatch", f"cat >&2 <<'X'\n{said.rstrip()}\nX\nexit 1")
    assert why_never(system(tmp_path)) == NEVER[option]


def test_a_secret_in_the_reason_of_a_drained_node_is_kept_nowhere(tmp_path: Path, slurm: Path) -> None:
    reason = "Reason=token=glpat-0123456789abcdef0123 [root@2026-11-30T12:00:00]"
    record = f"NodeName=n1 State=IDLE+DRAIN Partitions=batch {reason}"
    program(slurm / "scontrol", f'case "$*" in\n"-o show nodes") echo "{record}" ;;\n*) exit 3 ;;\nesac')
    echoed: list[str] = []
    said = note_nodes(system(tmp_path), tmp_path, tmp_path, echoed.append)
    kept = (tmp_path / NODES_FILE).read_text(encoding="utf-8")
    assert "glpat-" not in "".join((said or "", kept, *echoed))
    assert said == "n1 is drained (token=***)"
