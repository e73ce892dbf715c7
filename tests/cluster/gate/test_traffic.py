"""What a gate measures with --traffic, with stand-ins for perftest, STREAM and srun."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from railyard.cluster.gate import model
from tests.cluster.gate.conftest import Site
from tests.made.sysfs import write
from tests.made.systems import HDR_BY_NAME

#: Takes the words of ib_write_bw and prints its table; the bandwidths come from a file, one per run.
IB_WRITE_BW = """\
#!{python}
import pathlib, socket, sys
words = sys.argv[1:]
folder = pathlib.Path({folder!r})
port, size, count = (words[words.index(name) + 1] for name in ("-p", "-s", "-n"))
if words[-2] == "-n":  # no word behind its own: the server
    with socket.create_server(("", int(port))) as server:
        line, _ = server.accept()
        line.recv(1)
    sys.exit(0)
with (folder / "calls").open("a") as log:
    print(*words, file=log)
socket.create_connection((words[-1], int(port))).close()
values = (folder / "values").read_text().split()
(folder / "values").write_text(" ".join(values[1:] or values))
print(" " + "-" * 87)
print("                    RDMA_Write BW Test")
print(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]")
print(f" {{size}}    {{count}}      {{float(values[0]):.2f}}       {{float(values[0]):.2f}}       0.020000")
print(" " + "-" * 87)
"""
STREAM = """\
#!/bin/sh
echo 'Function    Best Rate MB/s  Avg time     Min time     Max time'
echo "Triad:           $(cat {folder}/memory)     0.012345     0.012345     0.012345"
echo 'Solution Validates: avg error less than 1.000000e-13 on all three arrays'
"""
#: Starts the words after its options twice, like the two processes of a step; a step of one node reads its load.
SRUN = """\
#!/bin/sh
[ "$2" != --nodes=1 ] || exec cat {folder}/load
echo "$@" >>'{folder}/srun'
while :; do case $1 in -*) shift ;; *) break ;; esac; done
SLURM_PROCID=1 "$@" &
SLURM_PROCID=0 "$@"
code=$?
wait
exit $code
"""
MIB = (1 << 20) / 1e6


class Bench:
    """The site with programs that measure, and their arguments."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.folder = site.tree.root / "bench"
        self.folder.mkdir()
        texts = {"ib_write_bw": IB_WRITE_BW, "stream_c.exe": STREAM, "srun": SRUN}
        for name, text in texts.items():
            site.program(name, text.format(python=sys.executable, folder=str(self.folder)))
        self.gives("23000")
        self.neighbour_runs(1)

    def neighbour_runs(self, processes: int) -> None:
        """Set how many processes run on the neighbour, which has eight processors."""
        cores = "".join(f"processor\t: {core}\nmodel name\t: any\n" for core in range(8))
        (self.folder / "load").write_text(f"9.10 9.20 9.30 {processes}/500 4711\n{cores}")

    def gives(self, *mib_s: str, memory: str = "200000.0") -> None:
        """Set what ib_write_bw prints, run by run (the last one from then on), and what STREAM does."""
        (self.folder / "values").write_text(" ".join(mib_s))
        (self.folder / "memory").write_text(memory)

    def says(self, stack: str = "", **gate: Any) -> None:
        """Give the system the stacks and this section of the gate; ``stack`` is added to the stack's entry."""
        programs = self.site.programs
        tools = f"{{perftest: {programs}, stream: {programs}/stream_c.exe}}"
        stacks = f"  verbs: {{prefix: /usr, benchmarks: {tools}{stack}}}\n"
        text = f"{HDR_BY_NAME}{stacks}gate: {json.dumps({'limit': '55s', **gate})}\n"
        (self.site.home / "systems/hdr.yaml").write_text(text, encoding="utf-8")

    def calls(self, name: str = "calls") -> list[str]:
        """Return the words of each call of ib_write_bw's client, or of srun."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def bench(site: Site) -> Bench:
    """A healthy node after one gate; pair.sh finds the node by a name that every host has."""
    site.gate()
    (site.tree.root / "proc/sys/kernel/hostname").write_text("localhost\n")
    write(site.tree.root / "proc/net", {})
    (site.tree.root / "proc/net/tcp").symlink_to("/proc/net/tcp")
    (site.tree.root / "proc/net/tcp6").symlink_to("/proc/net/tcp6")
    return Bench(site)


def test_nothing_is_sent_unless_it_is_asked_for(bench: Bench) -> None:
    bench.says(loopback_mb_s=20000, memory_mb_s=100000)
    found = bench.site.gate()
    assert found.out == "n1: fit: links, slots, counters; not checked: loopback, memory, pair (no --traffic)\n"
    assert bench.calls() == []


def test_loopback_and_memory_are_measured_within_the_bytes_that_the_file_allows(bench: Bench) -> None:
    bench.says(loopback_mb_s=20000, memory_mb_s=100000, most_bytes="3000M")
    found = bench.site.gate("--traffic")
    assert (found.code, found.err) == (0, "")
    assert found.out == "n1: fit: links, slots, counters, loopback, memory; not checked: pair (no --neighbour)\n"
    words = [call.split() for call in bench.calls()]
    assert [(call[call.index("-d") + 1], call[call.index("-s") + 1]) for call in words] == [
        ("mlx5_0", "1048576"),
        ("mlx5_1", "1048576"),
    ]
    # two rails, each measured at most twice: a quarter of 3000 MiB
    assert [call[call.index("-n") + 1] for call in words] == ["750", "750"]


def test_too_few_bytes_for_all_rails_send_nothing(bench: Bench) -> None:
    bench.says(loopback_mb_s=20000, most_bytes="19M")
    found = bench.site.gate("--traffic")
    assert "loopback of mlx5_0:1, loopback of mlx5_1:1 (gate.most_bytes is too small for all rails)" in found.out
    assert bench.calls() == []


def test_without_a_least_value_nothing_is_measured(bench: Bench) -> None:
    bench.says()
    found = bench.site.gate("--traffic")
    assert found.out == (
        "n1: fit: links, slots, counters; not checked: loopback of mlx5_0:1, loopback of mlx5_1:1 "
        "(gate.loopback_mb_s is not set), memory (gate.memory_mb_s is not set), pair (no --neighbour)\n"
    )
    assert bench.calls() == []


def test_a_card_whose_loop_is_slow_twice_is_the_reason(bench: Bench) -> None:
    bench.says(loopback_mb_s=20000)
    bench.gives("23000", "9000", "9100")
    found = bench.site.gate("--traffic")
    first, second = (f"{value * MIB:.0f}" for value in (9000, 9100))
    assert (found.code, found.out) == (
        1,
        f"n1: unfit: loopback of mlx5_1:1: {first} MB/s and {second} MB/s, expected at least 20000 "
        "(gate.loopback_mb_s)\n",
    )


def test_a_card_whose_loop_was_slow_once_is_disturbed_and_drains_nobody(bench: Bench) -> None:
    bench.says(loopback_mb_s=20000, drain=["touch", f"{bench.folder}/drained-{{node}}"])
    bench.gives("9000", "23000")
    found = bench.site.gate("--traffic")
    assert found.code == 3
    assert found.out.startswith("n1: undecided: disturbed: loopback of mlx5_0:1: 9437 MB/s and 24117 MB/s, ")
    assert not list(bench.folder.glob("drained*"))


def test_what_is_slow_on_a_busy_node_is_disturbed(bench: Bench) -> None:
    bench.says(loopback_mb_s=20000)
    bench.gives("9000")
    (bench.site.tree.root / "proc/loadavg").write_text("0.10 0.20 0.30 12/500 4711\n")
    found = bench.site.gate("--traffic")
    assert found.code == 3
    assert found.out.endswith(" (gate.loopback_mb_s), and 11 processes were running on the node with 64 processors\n")


def test_a_pair_that_is_slow_with_a_busy_neighbour_is_disturbed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.says(neighbours=["n2"])
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    bench.gives("9000")
    bench.neighbour_runs(9)
    found = bench.site.gate("--traffic", "--neighbour", "n2")
    assert found.code == 3 and found.out.startswith(
        "n1: undecided: disturbed: pair over mlx5_0:1 to n2: 9437 MB/s and "
    )
    assert ", and 8 processes were running on n2 with 8 processors" in found.out
    bench.neighbour_runs(2)
    assert bench.site.gate("--traffic", "--neighbour", "n2").code == 1


def test_memory_that_is_slow_is_the_reason(bench: Bench) -> None:
    bench.says(memory_mb_s=100000)
    bench.gives("23000", memory="61000.5")
    found = bench.site.gate("--traffic")
    assert (found.code, found.out) == (
        1,
        "n1: unfit: memory: 61000 MB/s and 61000 MB/s, expected at least 100000 (gate.memory_mb_s)\n",
    )


def test_programs_have_the_modules_and_variables_of_their_stack(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    # ib_write_bw would not start without its library's module.
    needs = '[ "$TAKES$LOADED" = "two wordsperftest/6" ] || { echo "no librdmacm" >&2; exit 1; }\n'
    for name in ("ib_write_bw", "stream_c.exe"):
        (bench.site.programs / name).rename(bench.site.programs / f"real-{name}")
        bench.site.program(name, f'#!/bin/sh\n{needs}exec "{bench.site.programs}/real-{name}" "$@"\n')
    # Like the shell set-up of a module system: a login shell has the function.
    (bench.folder / ".bash_profile").write_text('module() { export LOADED="$2"; }\n')
    monkeypatch.setenv("HOME", str(bench.folder))
    bench.says(loopback_mb_s=20000, memory_mb_s=100000)
    assert bench.site.gate("--traffic").code == 3
    bench.says(", modules: [perftest/6], env: {TAKES: two words}", loopback_mb_s=20000, memory_mb_s=100000)
    found = bench.site.gate("--traffic")
    assert found.out == "n1: fit: links, slots, counters, loopback, memory; not checked: pair (no --neighbour)\n"


def test_a_tool_that_fails_is_undecided_with_its_last_words(bench: Bench) -> None:
    bench.says(loopback_mb_s=20000)
    bench.site.program("ib_write_bw", '#!/bin/sh\necho "Couldn\'t create QP" >&2\nexit 1\n')
    found = bench.site.gate("--traffic")
    assert found.code == 3
    assert found.out.startswith("n1: undecided: loopback of mlx5_0:1 gave no figure: ")
    # the same with a program that is not there
    bench.says(loopback_mb_s=20000)
    (bench.site.programs / "ib_write_bw").unlink()
    assert bench.site.gate("--traffic").code == 3


def test_nothing_is_sent_over_what_is_faulty_or_beside_another_benchmark(bench: Bench) -> None:
    bench.says(loopback_mb_s=20000, memory_mb_s=100000)
    bench.site.port("mlx5_1", rate="100 Gb/sec (2X HDR)")
    found = bench.site.gate("--traffic", "--verbose")
    assert found.code == 1
    assert "  not checked: loopback: not measured because of the faults above" in found.out.splitlines()
    bench.site.port("mlx5_1", rate="200 Gb/sec (4X HDR)")
    write(bench.site.tree.root / "proc/4711", {"comm": "osu_bw"})
    beside = bench.site.gate("--traffic")
    assert (
        beside.out
        == "n1: fit: links, slots, counters; not checked: loopback, memory, pair (osu_bw runs there already)\n"
    )
    assert bench.calls() == []


def test_a_pair_is_measured_in_the_job_of_both_nodes_against_the_floor_of_the_link(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.says(neighbours=["n2"])
    outside = bench.site.gate("--traffic", "--neighbour", "n2")
    assert "pair (not in a Slurm job with both nodes)" in outside.out
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    found = bench.site.gate("--traffic", "--neighbour", "n2")
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("n1: fit: links, slots, counters, pair; not checked: loopback of mlx5_0:1, ")
    # Both directions over both rails. Otherwise srun would sort the nodes, and both directions would be the same.
    step = "--overlap --ntasks=2 --ntasks-per-node=1 --nodelist={} --distribution=arbitrary sh pair.sh run "
    ways = [step.format(way) for way in ("n1,n2", "n2,n1")] * 2
    assert [call.startswith(way) for call, way in zip(bench.calls("srun"), ways, strict=True)] == [True] * 4
    bench.gives("12000")
    slow = bench.site.gate("--traffic", "--neighbour", "n2")
    assert slow.code == 1
    assert slow.out.startswith("n1: unfit: pair over mlx5_0:1 to n2: 12583 MB/s and 12583 MB/s, expected at least ")
    assert slow.out.endswith(" (day-one floor of the link) (+3 more)\n")
    assert [path.name for path in (bench.site.home / ".railyard/gate").iterdir() if path.is_dir()] == []


@pytest.mark.fault(
    "rail", "a gate's rail that is slow in what it receives alone", "unfit: pair over mlx5_1:1 from n2: "
)
def test_a_rail_that_only_receives_slowly_is_unfit_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, promise: str
) -> None:
    bench.says(neighbours=["n2"])
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    bench.gives("23000", "23000", "23000", "9000", "9000")
    slow = bench.site.gate("--traffic", "--neighbour", "n2")
    assert (slow.code, slow.out.startswith(f"n1: {promise}9437 MB/s and 9437 MB/s, expected at least ")) == (
        1,
        True,
    )
    assert "more)" not in slow.out


@pytest.mark.parametrize("taken", ["n1", "n2"])
def test_two_gates_do_not_measure_with_one_node_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, taken: str
) -> None:
    bench.says(neighbours=["n2"])
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    bench.gives("9000")
    with model.lock_node(bench.site.home / ".railyard/gate", f"measures-{taken}"):
        found = bench.site.gate("--traffic", "--neighbour", "n2")
    assert (found.code, found.out) == (3, f"n1: undecided: disturbed: another gate measures with {taken} (+2 more)\n")
    assert bench.calls() == []
    assert bench.site.gate("--traffic", "--neighbour", "n2").code == 1


def test_where_no_such_lock_can_be_held_a_gate_measures_all_the_same(bench: Bench) -> None:
    (bench.site.home / ".railyard/gate/measures-n1.lock").mkdir()
    bench.says(loopback_mb_s=20000)
    assert bench.site.gate("--traffic").code == 0
    assert len(bench.calls()) == 2


#: Runs a gate for each node of the list, except those that it must leave out.
SRUN_OF_NODES = """\
#!/bin/sh
echo "$@" >>'{folder}/srun'
while :; do
    case $1 in --nodelist=*) nodes=${{1#*=}} ;; esac
    case $1 in -*) shift ;; *) break ;; esac
done
IFS=,
for node in $nodes; do
    [ "$node" = n3 ] && echo 'srun: error: n3: task 2: Killed' >&2 && continue
    [ "$node" = n2 ] && echo '4: ACTIVE' >'{port}/state' || echo '1: DOWN' >'{port}/state'
    SLURMD_NODENAME=$node "$@"
done
exit 1
"""


def test_gates_of_many_nodes_are_a_line_each_and_silence_is_undecided(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = site.tree.root / "sys/class/infiniband/mlx5_0/ports/1"
    site.program("srun", SRUN_OF_NODES.format(folder=site.programs, port=port))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    found = site.gate("--nodes", "n[1-3]")
    assert found.code == 1
    assert found.out.splitlines() == [
        "n1: unfit: mlx5_0 port 1: found Down (LinkUp), expected Active",
        "n2: fit: links, slots; not checked: counters (no earlier gate since this boot to compare with), loopback, "
        "memory, pair (no --traffic)",
        "n3: undecided: no answer; srun said: srun: error: n3: task 2: Killed",
    ]
    (call,) = (site.programs / "srun").parent.glob("srun")
    # Like every job of this system.
    assert "\n--partition=batch --account=abc --immediate=" in call.read_text(encoding="utf-8")
    assert site.gate("--nodes", "n[2-3]").code == 3
    told = [json.loads(line) for line in site.gate("--nodes", "n2", "--json").out.splitlines()]
    assert [(each["node"], each["state"]) for each in told] == [("n2", "fit")]


#: Starts the gate of n1; n2's is killed when it has begun, n3's cannot start.
SRUN_OF_SICK_NODES = """\
#!/bin/sh
while :; do case $1 in -*) shift ;; *) break ;; esac; done
SLURMD_NODENAME=n1 SLURM_PROCID=0 SLURM_STEP_NODELIST='n[1-3]' "$@"
echo 'railyard-file 1 cut' >"$5/n2.1.part"
SLURMD_NODENAME=n3 SLURM_PROCID=2 "$1" "$2" "$3" "$4" "$5" "$6" "$7" -- sh -c 'echo no python >&2; exit 127'
exit 1
"""


def test_a_gate_that_began_or_said_nothing_is_undecided_with_what_is_there_of_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.program("srun", SRUN_OF_SICK_NODES)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    found = site.gate("--nodes", "n[1-3]")
    (kept,) = (site.home / ".railyard/answers").iterdir()
    assert found.code == 3
    assert found.out.splitlines()[1:] == [
        f"n2: undecided: it began to answer and did not finish ({kept}/n2.1.part: 20 bytes)",
        "n3: undecided: no answer; its gate ended with 127; srun said: no python",
    ]
    assert found.out.startswith("n1: fit: ")
    assert found.err == ""


def test_where_no_answers_can_be_kept_nodes_answer_through_srun_and_that_is_said(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = site.tree.root / "sys/class/infiniband/mlx5_0/ports/1"
    site.program("srun", SRUN_OF_NODES.format(folder=site.programs, port=port))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    (site.home / ".railyard").mkdir()
    (site.home / ".railyard/answers").write_text("no folder", encoding="utf-8")
    found = site.gate("--nodes", "n2")
    assert (found.code, found.out.startswith("n2: fit: links, slots")) == (0, True)
    assert found.err == (
        f"railyard: gate: {site.home}/.railyard/answers cannot be written (Not a directory), so all nodes answer "
        "through srun\n"
    )


def test_a_host_without_srun_is_a_sentence(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("timeout", "sh"):
        (site.programs / program).symlink_to(shutil.which(program) or "")
    monkeypatch.setenv("PATH", str(site.programs))
    found = site.gate("--nodes", "n1")
    assert (found.code, found.out) == (2, "")
    assert found.err == "railyard: gate: srun cannot be started; load its module\n"


def test_a_scheduler_that_starts_no_step_here_is_a_sentence(site: Site) -> None:
    found = site.gate("--nodes", "n1", system="eth")
    assert (found.code, found.out) == (2, "")
    assert found.err == (
        "railyard: gate: Railyard starts no step with the scheduler local; inside your own job, run on every node: "
        "railyard gate --system eth\n"
    )
