"""A soak under a scheduler: its job as text, the readings that nodes write, and the command with fake schedulers."""

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.base.paths import HOME_VARIABLE, packaged_text
from railyard.cli.main import main
from railyard.cluster import soak_job
from railyard.cluster.soak import Reading, findings, read, soaked_rails
from railyard.cluster.soak_job import Merger, Raw, expand_nodes, parse, plan_soak
from railyard.site.site import Site, site_at
from tests.made.systems import TWO_CARDS
from tests.parsers.test_sge import RECORDED as SGE
from tests.patience import wait_for

_HEAD = """\
system: made
description: Two cards a node, made for this test
scheduler: slurm
launcher: srun
access: [--mem=0]
nodes: {count: 4}
report_only: made for this test
jobs: {account: abc, exclusive: true}
"""
_REST = """\
  ib-far:
    description: the first of them again
    kind: ib
    link: ib-edr
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
  eth:
    description: management
    kind: tcp
    link: eth-10
    rails:
      - {device: eth0, counters: netdev}
stacks:
  verbs: {prefix: /usr, benchmarks: {perftest: "{home}/perftest"}}
  openmpi: {modules: [openmpi/4.1.6], benchmarks: {osu: "{home}/osu"}}
"""
SYSTEM = _HEAD + TWO_CARDS + _REST


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    (tmp_path / "systems/made.yaml").write_text(SYSTEM, encoding="utf-8")
    (tmp_path / "osu").mkdir()
    (tmp_path / "osu/osu_bibw").touch()
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def site(home: Path) -> Site:
    return site_at(home, "made")


def test_the_jobs_script_is_this_one(site: Site) -> None:
    job = plan_soak(site, ("n9", "n10"), "ib", None, 3600, 10)
    assert (
        job.script(Path("/site/soaks/RUN"))
        == """\
#!/bin/bash -l
#SBATCH --mem=0
#SBATCH --account=abc
#SBATCH --job-name=railyard-soak
#SBATCH --nodes=2
#SBATCH --nodelist=n9,n10
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --no-requeue
#SBATCH --time=63
#SBATCH --output=job.out
#SBATCH --error=job.err
#SBATCH --chdir=/site/soaks/RUN
module load openmpi/4.1.6
begin=$(($(date +%s) + 5))
end=$((begin + 3600))
load() {
    while left=$((end - $(date +%s))); [ "$left" -gt 0 ]; do
        LEFT=$left sh "$1.sh" >>"$1.out" 2>&1 || sleep 2
    done
}
load load-mlx5_0:1-n9-n10 &
load load-mlx5_1:1-n9-n10 &
srun --overlap --cpu-bind=none --nodes=2 --ntasks=2 --ntasks-per-node=1 sh soak.sh . "$begin" "$end" 10 \
hni_sts_tx_ok_octets,hni_sts_rx_ok_octets,hni_pcs_uncorrected_cw,hni_llr_tx_replay_event,hni_llr_rx_replay_event,\
pct_sct_timeouts,pct_spt_timeouts,pct_no_tct_nacks,pct_no_trs_nacks,pct_no_mst_nacks -- mlx5_0:1 mlx5_1:1
"""
    )


#: A scheduler -> its launcher, its own option, and the head of the job's script of two nodes for an hour.
HEADS = {
    "pbs": ("mpirun", """\
#PBS -A abc
#PBS -r n
#PBS -N railyard-soak
#PBS -l select=1:ncpus=1:mpiprocs=1:host=n9+1:ncpus=1:mpiprocs=1:host=n10
#PBS -l place=scatter:excl
#PBS -l walltime=1:03:00
#PBS -o /site/RUN/job.out
#PBS -e /site/RUN/job.err
cd /site/RUN
"""),
    "torque": ("mpirun", """\
#PBS -A abc
#PBS -r n
#PBS -N railyard-soak
#PBS -l nodes=n9:ppn=1+n10:ppn=1
#PBS -n
#PBS -l walltime=1:03:00
#PBS -o /site/RUN/job.out
#PBS -e /site/RUN/job.err
cd /site/RUN
"""),
    "lsf": ("mpirun", """\
#BSUB -P abc
#BSUB -J railyard-soak
#BSUB -n 2
#BSUB -m "n9 n10"
#BSUB -R "span[ptile=1]"
#BSUB -x
#BSUB -W 63
#BSUB -o job.out
#BSUB -e job.err
#BSUB -cwd /site/RUN
"""),
    "flux-batch": ("flux-run", """\
#flux: --setattr=bank=abc
#flux: --job-name=railyard-soak
#flux: --nodes=2
#flux: --requires=host:n9,n10
#flux: --exclusive
#flux: --time-limit=3840s
#flux: --output=job.out
#flux: --error=job.err
#flux: --cwd=/site/RUN
"""),
    "sge": ("mpirun", """\
#$ -A abc
#$ -l exclusive=true
#$ -pe mpi-3 6
#$ -S /bin/bash
#$ -r n
#$ -N railyard-soak
#$ -l hostname=n9|n10
#$ -l h_rt=3840
#$ -o job.out
#$ -e job.err
#$ -wd /site/RUN
"""),
}  # fmt: skip


def other_system(home: Path, scheduler: str) -> None:
    """Have the site's system under another scheduler."""
    text = SYSTEM.replace("scheduler: slurm", f"scheduler: {scheduler}").replace("access: [--mem=0]\n", "")
    text = text.replace("launcher: srun", f"launcher: {HEADS[scheduler][0]}")
    if scheduler == "sge":
        slots = 'resources: ["-pe mpi-{num_slots_per_node} {num_slots}"], '
        text = text.replace("jobs: {", f"jobs: {{{slots}")
    (home / "systems/made.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("scheduler", HEADS)
def test_the_jobs_script_of_other_schedulers_has_their_words(home: Path, scheduler: str) -> None:
    other_system(home, scheduler)
    job = plan_soak(site_at.__wrapped__(home, "made"), ("n9", "n10"), "ib", None, 3600, 10)
    text = job.script(Path("/site/RUN"))
    head, _, body = text.partition("module load openmpi/4.1.6\n")
    # A login shell would reset the search path by which a job of Flux finds flux.
    first = "#!/bin/bash\n" if scheduler == "flux-batch" else "#!/bin/bash -l\n"
    assert head == first + HEADS[scheduler][1]
    reader = next(line for line in body.splitlines() if "soak.sh" in line)
    load = job.loads[0].script.splitlines()[-1]
    if scheduler == "flux-batch":
        words = "flux run --nodes=2 --ntasks=2 --requires=host:n9,n10"
        assert f"timeout -k 5 3780 {words} sh soak.sh . " in reader
        assert load.startswith(f"exec timeout -k 5 $LEFT {words} ")
    else:
        # Other steps run at the same time: none is bound.
        assert "timeout -k 5 3780 mpirun " in reader and " sh soak.sh . " in reader
        assert load.startswith("exec timeout -k 5 $LEFT mpirun ")
        for line in (reader, load):
            assert " n9:1,n10:1 " in line and " --bind-to none " in line


def test_a_load_is_the_stacks_own_two_way_bandwidth_over_one_rail(site: Site, home: Path) -> None:
    job = plan_soak(site, ("n9", "n10"), "ib", None, 3600, 10)
    lines = job.loads[1].script.splitlines()
    assert "export UCX_NET_DEVICES=mlx5_1:1" in lines
    # A minute of windows of 64 messages of 4 MiB, at 12.5 GB/s and more each way.
    front, _, repetitions = lines[-1].partition(" -i ")
    assert front == (
        "exec timeout -k 5 $LEFT srun --overlap --cpu-bind=none --ntasks=2 --ntasks-per-node=1 --nodes=2 "
        f"--nodelist=n9,n10 --mpi=pmix {home}/osu/osu_bibw -m 4194304:4194304"
    )
    assert 2000 < int(repetitions.split()[0]) < 4000
    assert repetitions.split()[1:] == ["-x", "1", "-W", "64"]


def test_flux_has_a_core_for_the_load_of_each_rail_or_the_soak_is_refused(home: Path) -> None:
    """Each of its steps has a core: with fewer, loads ran one after the other, and some not at all."""
    other_system(home, "flux-batch")
    path = home / "systems/made.yaml"
    text = path.read_text(encoding="utf-8")
    for cores, refused in ((2, True), (3, False)):
        path.write_text(
            text.replace("nodes: {count: 4}", f"nodes: {{count: 4, hardware: {{cores: {cores}, memory: 64G}}}}"),
            encoding="utf-8",
        )
        made = site_at.__wrapped__(home, "made")
        if not refused:
            assert len(plan_soak(made, ("n9", "n10"), "ib", None, 3600, 10).loads) == 2
            continue
        with pytest.raises(SetupError, match=r"^soak: found 2 cores a node of made, expected 3 or more: Flux gives"):
            plan_soak(made, ("n9", "n10"), "ib", None, 3600, 10)


def test_grid_engine_is_asked_for_a_slot_for_each_step_that_runs_on_a_node_at_once(home: Path) -> None:
    """It refuses any more. The first of three nodes has the load of two pairs, over two rails, beside the reader."""
    other_system(home, "sge")
    made = site_at.__wrapped__(home, "made")
    assert "#$ -pe mpi-5 15\n" in plan_soak(made, ("n8", "n9", "n10"), "ib", None, 3600, 10).script(Path("/site/RUN"))
    path = home / "systems/made.yaml"
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace('"-pe mpi-{num_slots_per_node} {num_slots}"', '"-pe mpi {num_nodes}"'), "utf-8")
    sentence = (
        "soak: found jobs.resources[0] -pe mpi {num_nodes} of made, expected {num_slots} or {num_cores} in it: a soak "
        "starts several processes on a node at once, and Grid Engine only as many as the job has slots there"
    )
    with pytest.raises(SetupError, match=f"^{re.escape(sentence)}$"):
        plan_soak(site_at.__wrapped__(home, "made"), ("n9", "n10"), "ib", None, 3600, 10)


def test_a_window_of_a_slow_rail_lasts_no_longer_than_a_second(home: Path) -> None:
    """Both ends wait for each other after each window: a direction that waits for 18 s would be called stalled."""
    path = home / "systems/made.yaml"
    text = path.read_text(encoding="utf-8").replace(
        "link: eth-10", "link: {name: slow, data_rate_gbit_s: 0.12, source: made}"
    )
    path.write_text(text, encoding="utf-8")
    job = plan_soak(site_at.__wrapped__(home, "made"), ("n9", "n10"), "eth", None, 3600, 10)
    # 15 MB/s are three messages of 4 MiB in a second, and 72 windows of them in a minute.
    assert job.loads[0].script.splitlines()[-1].endswith("osu_bibw -m 4194304:4194304 -i 72 -x 1 -W 3")


def test_the_reader_finds_its_programs_beside_those_of_the_stacks_prefix(home: Path) -> None:
    """Its variables were quoted twice: the job then had the folder `"$PATH"` to search, and no `timeout`."""
    text = SYSTEM.replace("scheduler: slurm", "scheduler: pbs").replace("access: [--mem=0]\n", "")
    text = text.replace("launcher: srun", "launcher: mpirun").replace("modules: [openmpi/4.1.6]", f"prefix: {home}")
    (home / "systems/made.yaml").write_text(text, encoding="utf-8")
    job = plan_soak(site_at.__wrapped__(home, "made"), ("n9", "n10"), "ib", None, 3600, 10)
    (reader,) = (line for line in job.script(Path("/site/RUN")).splitlines() if "soak.sh" in line)
    variables = reader.partition(" timeout ")[0]
    assert reader != variables
    found = subprocess.run(
        ["sh", "-c", f"{variables} env"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
    )
    assert f"PATH={home}/bin:/usr/bin:/bin" in found.stdout.splitlines()


def test_every_rail_of_every_node_is_loaded_once_and_of_three_nodes_one_twice(site: Site) -> None:
    job = plan_soak(site, ("n1", "n2", "n3"), None, None, 60, 10)
    assert [load.name for load in job.loads] == [
        f"load-{device}-{pair}" for device in ("mlx5_0:1", "mlx5_1:1", "eth0") for pair in ("n1-n2", "n3-n1")
    ]
    assert job.streams[:2] == (("n1", "n2", "mlx5_0:1"), ("n2", "n1", "mlx5_0:1"))


@pytest.mark.parametrize(
    ("nodes", "fabric", "stack", "sentence"),
    [
        (("n1",), None, None, "soak: found n1, expected two nodes or more, since load goes between two nodes"),
        (
            ("n1", "n2"),
            "ib",
            "verbs",
            "soak: found no stack of made that can use ib (ib) and has osu or imb (you asked for verbs), expected one; "
            "install it, or name another fabric (--system NAME:FABRIC)",
        ),
        (
            ("n1", "n2"),
            "ib",
            "openmp",
            'soak --stack: found "openmp", expected one of made; did you mean "openmpi"?',
        ),
    ],
)
def test_what_cannot_be_soaked_is_said(
    site: Site, nodes: tuple[str, ...], fabric: str | None, stack: str | None, sentence: str
) -> None:
    with pytest.raises(SetupError) as raised:
        plan_soak(site, nodes, fabric, stack, 60, 10)
    assert str(raised.value) == sentence


def test_names_of_nodes_are_read_as_slurm_writes_them() -> None:
    assert expand_nodes("n[8-10],login") == ("n8", "n9", "n10", "login")
    with pytest.raises(SetupError, match=r"^soak --nodes: found 'n\[3-1\]' \('3-1' does not rise"):
        expand_nodes("n[3-1]")


# --- readings


def texts(node: str, flaps: bool = False, count: int = 4) -> str:
    """Return what a node wrote: 1 GB/s in both directions, in words of 4 bytes, and one more symbol error each time."""
    lines = []
    for number in range(count):
        words = 10**9 * 10 * number // 4
        lines += [
            f"at {1000 + 10 * number}.50",
            f"mlx5_0:1 port_xmit_data {words}",
            f"mlx5_0:1 port_rcv_data {words}",
            f"mlx5_0:1 symbol_error {number}",
            f"mlx5_0:1 port_xmit_wait {number * 100}",
            "mlx5_0:1 port_xmit_packets 7",
            f"mlx5_0:1 link_downed {int(flaps and number > 1)}",
            f"mlx5_0:1 carrier_changes {4 + 2 * (flaps and number > 1)}",
            "end",
        ]
    return "\n".join(lines) + "\n"


def merge_readings(nodes: Mapping[str, Sequence[tuple[float, Raw]]], drivers: Mapping[str, str]) -> tuple[Reading, ...]:
    """Return the readings of all nodes: the first of each together, and so on; a node with fewer is not in the last.

    ``drivers``: device -> its row of the table of drivers.
    """
    made = Merger(tuple(nodes), drivers)
    for node, own in nodes.items():
        for at_s, raw in own:
            made.take(node, at_s, raw)
    return tuple(made.ready(is_over=True))


def test_the_counters_of_a_driver_become_bytes_errors_and_signals() -> None:
    nodes = {"n1": parse(texts("n1")), "n2": parse(texts("n2", flaps=True))}
    readings = merge_readings(nodes, {"mlx5_0:1": "mlx5"})
    assert [reading.at_s for reading in readings] == [0.0, 10.0, 20.0, 30.0]
    first, second = soaked_rails(readings)
    assert (first.sent_mb_s, first.received_mb_s, first.changes) == (1000.0, 1000.0, 0)
    assert dict(first.errors) == {"symbol_error": 360.0, "port_xmit_wait (signal)": 36_000.0}
    assert (second.changes, second.first_change_s) == (2, 20.0)
    said = [(each.weight, each.sentence.partition(";")[0]) for each in findings([first, second], ())]
    signal = "errors per hour grew: port_xmit_wait (signal) 3.6e+04"
    assert said == [
        ("problem", "n1 mlx5_0:1: errors per hour grew: symbol_error 360"),
        ("remark", f"n1 mlx5_0:1: {signal}"),
        ("problem", "n2 mlx5_0:1: its link went up or down 2 times, first seen after 20 s"),
        ("problem", "n2 mlx5_0:1: errors per hour grew: link_downed 120, symbol_error 360"),
        ("remark", f"n2 mlx5_0:1: {signal}"),
    ]


def test_a_reading_that_is_cut_does_not_count() -> None:
    assert len(parse(texts("n1").removesuffix("end\n"))) == 3


def test_a_counter_of_48_bits_goes_on_and_one_that_is_full_is_no_reading() -> None:
    def irdma(number: int, octets: int) -> tuple[float, dict[str, dict[str, int]]]:
        ways = {f"hw/ip{ip}{way}Octets": octets * (ip == 4) for ip in (4, 6) for way in ("In", "Out")}
        return 10.0 * number, {"irdma0:1": ways}

    own = [irdma(0, (1 << 48) - 1000), irdma(1, 4000), irdma(2, 9000)]
    values = [
        reading.values["n1", "irdma0:1"]["tx_bytes"] for reading in merge_readings({"n1": own}, {"irdma0:1": "irdma"})
    ]
    assert [later - earlier for earlier, later in pairwise(values)] == [5000, 5000]
    full = {"port_xmit_data": (1 << 32) - 1, "port_rcv_data": 5}
    (reading,) = merge_readings({"n1": [(0.0, {"mlx4_0:1": full})]}, {"mlx4_0:1": "mlx4"})
    assert reading.values == {}


def test_a_node_that_died_is_not_in_the_last_readings() -> None:
    nodes = {"n1": parse(texts("n1")), "n2": parse(texts("n2", count=2))}
    readings = merge_readings(nodes, {"mlx5_0:1": "mlx5"})
    assert [len(reading.values) for reading in readings] == [2, 2, 1, 1]
    assert soaked_rails(readings)[1].unread == 2


def sysfs(folder: Path) -> Path:
    """Write the counters of two cards and of an interface below a folder."""
    for card, port in (("mlx5_0", 1), ("mlx5_1", 1)):
        ports = folder / f"class/infiniband/{card}/ports/{port}"
        (ports / "counters").mkdir(parents=True)
        (ports / "hw_counters").mkdir()
        (ports / "counters/port_xmit_data").write_text("100\n")
        (ports / "counters/port_rcv_data").write_text("200\n")
        (ports / "hw_counters/out_of_sequence").write_text("3\n")
        (folder / f"class/infiniband/{card}/device/net/ib0").mkdir(parents=True)
        (folder / f"class/infiniband/{card}/device/net/ib0/carrier_changes").write_text("2\n")
    (folder / "class/net/eth0/statistics").mkdir(parents=True)
    (folder / "class/net/eth0/statistics/tx_bytes").write_text("7\n")
    (folder / "class/net/eth0/carrier_changes").write_text("1\n")
    (folder / "class/cxi/cxi0/device/telemetry").mkdir(parents=True)
    (folder / "class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets").write_text("9@123.4\n")
    (folder / "class/cxi/cxi0/device/telemetry/other").write_text("9@123.4\n")
    return folder


def test_a_node_reads_its_rails_at_the_times_that_were_asked_for(tmp_path: Path) -> None:
    (tmp_path / "soak.sh").write_text(packaged_text("cluster/soak.sh"), encoding="utf-8")
    env = {**os.environ, "RAILYARD_SYSFS": str(sysfs(tmp_path / "sys")), "SLURMD_NODENAME": "n9"}
    words = ["sh", "soak.sh", ".", "100", "120", "8", "hni_sts_tx_ok_octets", "--"]
    devices = ["mlx5_0:1", "eth0", "cxi0", "gone"]
    subprocess.run([*words, *devices], cwd=tmp_path, env=env, check=True)
    read_there = parse((tmp_path / "n9.readings").read_text(encoding="utf-8"))
    # At 100, 108, 116 and 120 s, which have long passed.
    assert [values for _, values in read_there] == 4 * [
        {
            "mlx5_0:1": {"port_xmit_data": 100, "port_rcv_data": 200, "hw/out_of_sequence": 3, "carrier_changes": 2},
            "eth0": {"tx_bytes": 7, "carrier_changes": 1},
            "cxi0": {"hni_sts_tx_ok_octets": 9},
        }
    ]
    assert all(at_s > 0 for at_s, _ in read_there)


def test_of_very_many_nodes_readings_and_loads_lie_in_folders(site: Site, tmp_path: Path) -> None:
    job = plan_soak(site, [f"n{number}" for number in range(1, 601)], "ib", None, 60, 10)
    assert (len(job.loads), job.loads[0].name, job.loads[-1].name) == (
        600, "loads/0/load-mlx5_0:1-n1-n2", "loads/4/load-mlx5_1:1-n599-n600",
    )  # fmt: skip
    assert " sh soak.sh readings/%3 " in job.script(tmp_path)
    folders = {name.rpartition("/")[0] for name in job.files(tmp_path)}
    assert folders == {"", *(f"loads/{number}" for number in range(5))}


def test_a_rank_says_in_which_folder_a_node_writes(tmp_path: Path) -> None:
    (tmp_path / "soak.sh").write_text(packaged_text("cluster/soak.sh"), encoding="utf-8")
    words = ["sh", "soak.sh", "readings/%20", "100", "100", "8", "", "--", "gone"]
    env = {**os.environ, "SLURMD_NODENAME": "n9", "SLURM_PROCID": "47", "RAILYARD_SYSFS": str(tmp_path)}
    subprocess.run(words, cwd=tmp_path, env=env, check=True)
    assert [str(file.relative_to(tmp_path)) for file in tmp_path.glob("readings/*/*")] == ["readings/7/n9.readings"]


def test_what_nodes_write_is_read_on_and_given_once_all_have_it(site: Site, tmp_path: Path) -> None:
    job = plan_soak(site, ("n1", "n2"), "ib", None, 60, 10)
    written = soak_job._WrittenLines(tmp_path, job)
    (tmp_path / "readings/3").mkdir(parents=True)
    one, other = tmp_path / "n1.readings", tmp_path / "readings/3/n2.cluster.readings"
    (tmp_path / "loads").mkdir()
    (tmp_path / "loads/n1.readings").write_text(texts("n1"), encoding="utf-8")  # is none of them
    text = texts("n1", count=3)
    first = text.index("end\n") + len("end\n")
    one.write_text(text[: first + 20], encoding="utf-8")
    assert list(written.look(is_over=False)) == []
    other.write_text(texts("n2", count=1).removesuffix("nd\n"), encoding="utf-8")
    assert list(written.look(is_over=False)) == []
    with other.open("a", encoding="utf-8") as file:
        file.write("nd\n")
    (reading,) = written.look(is_over=False)
    assert (reading.at_s, sorted(reading.values)) == (0.0, [("n1", "mlx5_0:1"), ("n2", "mlx5_0:1")])
    assert list(written.look(is_over=False)) == []
    one.write_text(text, encoding="utf-8")
    assert list(written.look(is_over=False)) == []
    rest = list(written.look(is_over=True))
    assert [(each.at_s, sorted(each.values)) for each in rest] == [
        (10.0, [("n1", "mlx5_0:1")]), (20.0, [("n1", "mlx5_0:1")]),
    ]  # fmt: skip
    assert merge_readings({"n1": parse(text), "n2": parse(texts("n2", count=1))}, job.drivers) == (reading, *rest)


# --- the command

#: Slurm's programs: sbatch starts the job on this machine, and srun starts a process for each node of its list.
PROGRAMS = {
    "sbatch": """\
    [ -z "$REFUSED" ] || { echo "sbatch: error: $REFUSED" >&2; exit 1; }
    cd "$(dirname "$2")" || exit 1
    setsid sh -c 'bash ./job.sh >job.out 2>job.err </dev/null; echo "$?" >code' >/dev/null 2>&1 &
    echo $! >"$BED/pid"; echo "$2" >"$BED/script"; echo '7;made'""",
    "scontrol": """\
    [ "$2" = show ] && [ "$3" = job ] || exit 1
    code=$(dirname "$(cat "$BED/script")")/code
    state=RUNNING; [ ! -e "$code" ] || state=COMPLETED
    [ -z "$PENDING" ] || state=PENDING
    echo "JobId=7 JobState=$state Reason=Resources ExitCode=0:0" """,
    "scancel": 'echo "$1" >"$BED/cancelled"; kill -- -"$(cat "$BED/pid")"',
    "module": "exit 0",
    "srun": """\
    while :; do case $1 in --*) shift;; *) break;; esac; done
    case $* in
        *soak.sh*) for node in n1 n2; do SLURMD_NODENAME=$node "$@" & done; wait;;
        *) sleep 1;;
    esac""",
}


#: For other schedulers: the commands that submit, show and cancel; the job runs on this machine.
OTHERS = {
    "pbs": {
        "qsub": 'cd "$(dirname "$1")" && start "$1" && echo 7.server',
        "qstat": 'state R F Q; echo "Job Id: 7.server"; echo "    job_state = $is"; echo "    comment = no nodes"',
        "qdel": 'echo "$1" >"$BED/cancelled"; kill -- -"$(cat "$BED/pid")"',
    },
    "lsf": {
        "bsub": 'cat >"$BED/given"; folder=$(sed -n "s/^#BSUB -cwd //p" "$BED/given"); cd "$folder" || exit 1\n'
        'start "$folder/job.sh" && echo "Job <7> is submitted to queue <hpc>."',
        "bjobs": "state RUN DONE PEND; echo $is",
        "bkill": 'echo "$1" >"$BED/cancelled"; kill -- -"$(cat "$BED/pid")"',
    },
    "flux-batch": {
        "flux": """\
        case $1 in
            batch) cd "$(dirname "$2")" && start "$2" && echo f7 ;;
            jobs) state RUN COMPLETED SCHED; echo "$is|0|n[9-10]|||" ;;
            cancel) echo "$2" >"$BED/cancelled"; kill -- -"$(cat "$BED/pid")" ;;
            run) step "$@" ;;
        esac""",
    },
    "sge": {
        "qsub": 'cd "$(dirname "$1")" && start "$1" && echo \'Your job 11 ("railyard-soak") has been submitted\'',
        "qstat": f"""\
        state running ended waits
        [ "$*" != "-j 11" ] || [ $is != ended ] || exit 1
        sed 's/>1</>11</' "{SGE}/qstat-$is.xml" """,
        "qacct": f"sed 's/^jobnumber    1 /jobnumber    11/' '{SGE}/qacct-completed.txt'",
        "qdel": 'echo "$1" >"$BED/cancelled"; kill -- -"$(cat "$BED/pid")"',
    },
}
REFUSED_TASK = SGE.parent / "failed/mpich5.0.2-no-slot-of-grid-engine8.1.9.err"
SHARED = """\
start() {
    setsid sh -c 'bash ./job.sh >job.out 2>job.err </dev/null; echo "$?" >code' >/dev/null 2>&1 &
    echo $! >"$BED/pid"; echo "$1" >"$BED/script"
}
# state RUNS ENDED WAITS
state() {
    is=$1; [ ! -e "$(dirname "$(cat "$BED/script")")/code" ] || is=$2
    [ -z "$PENDING" ] || is=$3
}
step() {
    case $* in
        *soak.sh*) while [ "$1 $2" != "sh soak.sh" ]; do shift; done
            for node in n1.cluster n2.cluster; do SLURMD_NODENAME=$node "$@" & done; wait ;;
        *) sleep 1 ;;
    esac
}
"""


@pytest.fixture
def bed(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of Slurm's programs, which is first on PATH."""
    monkeypatch.setattr(soak_job, "_LOOK_S", 0.05)
    monkeypatch.setattr(soak_job, "_LEAD_S", 0)  # its loads do not measure
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("BED", str(folder))
    monkeypatch.setenv("REFUSED", "")
    monkeypatch.setenv("PENDING", "")
    monkeypatch.setenv("RAILYARD_SYSFS", str(sysfs(tmp_path / "sys")))
    return folder


SOAK = ("soak", "--system", "made:ib", "--nodes", "n[1-2]", "--every", "1")
#: Two seconds, and the last line: a busy machine makes readings late and changes their span, but leaves none out.
TWO_SECONDS = ("--minutes", "0.03")
#: No benchmark moves anything here.
ENDED = r"4 rails, 3 readings in \d+ s: 1 problem, 0 remarks"


def test_a_soak_is_a_job_whose_readings_are_judged(bed: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SOAK, *TWO_SECONDS]) == 1
    said = capsys.readouterr()
    assert re.fullmatch(ENDED, said.out.splitlines()[-1])
    assert [line.split()[:2] for line in said.out.splitlines()[3:7]] == [
        ["n1", "mlx5_0:1"], ["n1", "mlx5_1:1"], ["n2", "mlx5_0:1"], ["n2", "mlx5_1:1"],
    ]  # fmt: skip
    assert "job 7: 2 nodes, 2 rails per node; its files are in " in said.err
    (file,) = (home / ".railyard/soaks").glob("*.jsonl")
    readings, streams = read(file)
    assert (len(readings), streams[0]) == (3, ("n1", "n2", "mlx5_0:1"))
    assert not (bed / "cancelled").exists()
    assert main(["soak", "--from", str(file), "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["rails"]) == 4


@pytest.mark.parametrize("scheduler", OTHERS)
def test_a_soak_under_another_scheduler_is_judged_and_cancelled_alike(
    bed: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], scheduler: str
) -> None:
    other_system(home, scheduler)
    for name, text in {**OTHERS[scheduler], "mpirun": 'step "$@"'}.items():
        (bed / name).write_text(f"#!/bin/sh\n{SHARED}{text}\n", encoding="ascii")
        (bed / name).chmod(0o755)
    assert main([*SOAK, *TWO_SECONDS]) == 1
    assert re.fullmatch(ENDED, capsys.readouterr().out.splitlines()[-1])
    assert not (bed / "cancelled").exists()
    monkeypatch.setenv("PENDING", "yes")
    monkeypatch.setattr(soak_job, "_WAITS_S", 0)
    assert main([*SOAK, "--minutes", "1"]) == 2
    number, why = {
        "pbs": ("7.server", " (the scheduler's reason: no nodes)"),
        "lsf": ("7", ""),
        "flux-batch": ("f7", ""),
        "sge": ("11", ""),
    }[scheduler]
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"railyard: soak: job {number} had not begun after 0 s and was cancelled{why}"
    )
    assert (bed / "cancelled").read_text(encoding="ascii") == f"{number}\n"


def test_a_soak_whose_first_step_is_refused_says_so_in_the_launchers_words(
    bed: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Genuine: more steps on a node than the job has slots there."""
    other_system(home, "sge")
    refuses = f'cat "{REFUSED_TASK}" >&2; exit 255'
    account = f"sed 's/^jobnumber    3 /jobnumber    11/' '{SGE}/qacct-no-slot.txt'"
    for name, text in {**OTHERS["sge"], "mpirun": refuses, "qacct": account}.items():
        (bed / name).write_text(f"#!/bin/sh\n{SHARED}{text}\n", encoding="ascii")
        (bed / name).chmod(0o755)
    assert main([*SOAK, "--minutes", "1"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(
        "railyard: soak: job 11 ended (exit status 255) before a node had read anything (error: executing task of job "
        '3 failed: execution daemon on host "vn3" didn\'t accept task); see '
    )


def test_an_interrupted_soak_is_cancelled_and_judged_by_what_it_kept(
    bed: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> None:
        wait_for(
            lambda: any(text.count("\n") >= 5 for text in kept_soaks()), "two readings of a rail"
        )  # nodes may begin apart
        os.kill(os.getpid(), signal.SIGINT)

    def kept_soaks() -> list[str]:
        return [file.read_text(encoding="utf-8") for file in (home / ".railyard/soaks").glob("*.jsonl")]

    waiting = threading.Thread(target=interrupt)
    waiting.start()
    code = main([*SOAK, "--minutes", "30"])
    waiting.join()
    assert code == 130
    assert (bed / "cancelled").read_text(encoding="ascii") == "7\n"
    (file,) = (home / ".railyard/soaks").glob("*.jsonl")
    assert main(["soak", "--from", str(file)]) == 1  # no benchmark moves anything here


@pytest.mark.parametrize(
    ("variable", "sentence", "is_cancelled"),
    [
        ("REFUSED", "railyard: soak: the job was refused; sbatch said: sbatch: error: no account\n", False),
        (
            "PENDING",
            "railyard: soak: job 7 had not begun after 0 s and was cancelled (the scheduler's reason: Resources)\n",
            True,
        ),
    ],
)
def test_a_job_that_is_refused_or_waits_too_long_is_said(
    bed: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    sentence: str,
    is_cancelled: bool,
) -> None:
    monkeypatch.setenv(variable, "no account")
    monkeypatch.setattr(soak_job, "_WAITS_S", 0)
    assert main([*SOAK, "--minutes", "1"]) == 2
    assert capsys.readouterr().err.splitlines(keepends=True)[-1] == sentence
    assert (bed / "cancelled").exists() == is_cancelled


def test_a_dry_run_prints_the_job_and_submits_nothing(
    bed: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SOAK, "--hours", "12", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "#SBATCH --time=723\n" in printed
    assert "\n# load-mlx5_0:1-n1-n2.sh, the first of 2 loads\n" in printed
    assert not (bed / "script").exists()
    assert not (home / ".railyard/soaks").exists()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            ["--system", "made:i", "--nodes", "n[1-2]"],
            'railyard: soak --system: found the fabric "i", expected one of made; did you mean "ib"?\n',
        ),
        (
            ["--system", "made"],
            "railyard: soak: found no names of nodes, neither from Slurm nor in systems/made.yaml; "
            "name them with --nodes\n",
        ),
    ],
)
def test_a_mistake_is_one_sentence(
    home: Path, capsys: pytest.CaptureFixture[str], given: list[str], sentence: str
) -> None:
    assert main(["soak", "--minutes", "1", *given]) == 2
    assert capsys.readouterr().err == sentence
