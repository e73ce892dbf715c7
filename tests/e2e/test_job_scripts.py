"""What each scheduler would get, from ReFrame's dry run: tests/golden has the directives and the launch line.

No scheduler has to be installed. Flux is skipped, with the reason, if its Python bindings cannot be imported.
"""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import REFRAME, VirtualSite, make_site

pytestmark = pytest.mark.e2e

GOLDEN = Path(__file__).parents[1] / "golden"
SYSTEM = """\
system: made
description: Two cards a node, made for this test
hostnames: []
scheduler: {scheduler}
launcher: {launcher}
access: [{access}]
nodes: {{count: 4, hardware: {{cores: 16, memory: 64G}}}}
report_only: made for this test
jobs: {jobs}
fabrics:
  ib:
    description: two cards
    kind: ib
    link: ib-edr
{more}    rails:
      - {{device: mlx5_0, port: 1, counters: mlx5}}
      - {{device: mlx5_1, port: 1, counters: mlx5}}
stacks:
  openmpi:
    prefix: /opt/openmpi
    benchmarks: {{osu: "{{home}}/osu", npb-mz: "{{home}}/zones", wrf: "{{home}}/main/wrf.exe", hpl: "{{home}}/xhpl",
                 npb: "{{home}}/npb"}}
"""
FEW = "{account: abc, partition: hpc, exclusive: true, time_limits: {micro: 5m}}"
ALL = (
    "{account: abc, partition: hpc, qos: normal, constraint: edr&haswell, exclude: [n3, n7], switches: 1, "
    "exclusive: true, time_limits: {micro: 5m}}"
)
BANDWIDTH = ("osu.py", "OsuBandwidth%rails=1")
#: Scheduler of ReFrame -> launcher, the system's own options, its settings, and the golden file.
SCHEDULERS = {
    "slurm": ("srun", "--mem=0", ALL, "slurm"),
    "squeue": ("srun", "--mem=0", ALL, "slurm"),
    "slurm-nodb": ("srun", "--mem=0", ALL, "slurm"),
    "pbs": ("mpirun", "", FEW, "pbs"),
    "lsf": ("mpirun", "", FEW, "lsf"),
    "flux-batch": ("flux-run", "", FEW, "flux"),
}
#: Names of ReFrame whose scripts are Slurm's.
LIKE_SLURM = ("squeue", "slurm-nodb")


def dry_run(
    folder: Path,
    scheduler: str,
    launcher: str,
    access: str,
    jobs: str,
    test: tuple[str, str] = BANDWIDTH,
    more: str = "",
    fabric: str = "ib",
    system: str = SYSTEM,
    also: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
) -> str:
    """Return directives and launch line of one test's job script; hash, tag and site folder are masked.

    ``test`` is its file below checks/microbench and its selection; ``more`` has lines of the fabric before its rails,
    and other lines. ``also``: beginnings of further lines that are kept. ``options`` are further ones of ReFrame.
    """
    site: VirtualSite = make_site(folder)
    access = f'"{access}"' if access else ""
    system = system.format(scheduler=scheduler, launcher=launcher, access=access, jobs=jobs, more=more)
    (site.folder / "systems/made.yaml").write_text(system, encoding="utf-8")
    (site.folder / "osu").mkdir()
    (site.folder / "xhpl").touch()
    (site.folder / "npb").mkdir()
    (site.folder / "npb/ft.C.x").touch()
    for name in ("osu_bw", "osu_mbw_mr"):
        (site.folder / "osu" / name).touch()
    (site.folder / "zones").mkdir()
    (site.folder / "zones/sp-mz.D.x").touch()
    (site.folder / "main").mkdir()
    for name in ("main/wrf.exe", "main/namelist.input", "main/wrfinput_d01"):
        (site.folder / name).touch()
    (site.folder / "main/namelist.input").write_text("&domains\n/\n", encoding="utf-8")
    done = subprocess.run(
        [REFRAME, "--nocolor", "-C", "reframe_settings.py", "-c", f"checks/microbench/{test[0]}", "--dry-run",
         "--system", f"made:{fabric}", "-n", test[1], "--prefix", "out", "--keep-stage-files", *options],
        cwd=site.folder, env=site.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (script,) = site.folder.glob("out/stage/**/rfm_job.sh")
    kept = [
        line
        for line in script.read_text(encoding="utf-8").replace(str(site.folder), "SITE").splitlines()
        if "probes.sh" in line
        or line.startswith(
            (
                *also,
                "#SBATCH",
                "#PBS",
                "#BSUB",
                "#flux",
                "srun ",
                "timeout ",
                "mpirun ",
                "flux ",
                "export OMP_",
                "export NPB_",
                "unset OMP_",
            )
        )
    ]
    masked = re.sub(r"[0-9a-f]{8}-[0-9a-f]{14,18}", "TAG", "\n".join(kept) + "\n")
    return re.sub(r"(OsuBandwidth_)[0-9a-f]{8}\b", r"\1HASH", masked)


def launch_of(text: str) -> str:
    """Return the benchmark's launch line; the streams in the other direction may follow it."""
    return [line for line in text.splitlines() if " backs" not in line][-1]


@pytest.mark.parametrize(
    "scheduler",
    [pytest.param(each, marks=pytest.mark.full if each in LIKE_SLURM else ()) for each in SCHEDULERS],
)
def test_the_job_script_is_the_golden_one(tmp_path: Path, scheduler: str) -> None:
    launcher, access, jobs, golden = SCHEDULERS[scheduler]
    expected = (GOLDEN / f"{golden}.txt").read_text(encoding="utf-8")
    assert dry_run(tmp_path, scheduler, launcher, access, jobs) == expected


#: What a site says in its own words: for its scheduler, its fabric, its stack and its launcher.
OWN_WORDS = """\
system: made
description: A site's own words, made for this test
hostnames: []
scheduler: {scheduler}
launcher: {launcher}
access: [{access}]
nodes: {{count: 4, hardware: {{cores: 16, memory: 64G}}}}
gpus: {{per_node: 4, kind: made, nvlink: 4}}
report_only: made for this test
site_launcher: [/opt/site/run, -n, "{{ranks}}", "--per-node={{ranks_per_node}}"]
jobs: {jobs}
fabrics:
  ib:
    description: two cards
    kind: ib
    link: ib-edr
    prepare_cmds: ["source /etc/profile.d/site.sh"]
    env: {{SITE_FABRIC: "a b"}}
{more}    rails:
      - {{device: mlx5_0, port: 1, counters: mlx5}}
      - {{device: mlx5_1, port: 1, counters: mlx5}}
stacks:
  openmpi:
    prefix: /opt/openmpi
    prepare_cmds: ["ulimit -l unlimited"]
    unuse: [/opt/old/modules]
    use: [/opt/new/modules]
    benchmarks: {{osu: "{{home}}/osu"}}
"""
#: Golden file -> scheduler, launcher, its own options, its settings.
OWN_SCRIPTS = {
    "own-slurm": ("slurm", "srun", '-p rome", "--export=NONE', "{{use_nodes_option: true, exclusive: true}}"),
    "own-pbs": ("pbs", "site", '-l storage=gdata/z00+scratch/z00", "mem=190gb:cputype=rome', "{{project: abc}}"),
    "own-sge": ("sge", "mpirun", "-P abc", '{{resources: ["-pe mpi {{num_slots}}"]}}'),
}


@pytest.mark.parametrize("golden", OWN_SCRIPTS)
def test_a_site_says_it_in_its_own_words(tmp_path: Path, golden: str) -> None:
    scheduler, launcher, access, jobs = OWN_SCRIPTS[golden]
    also = ("#$", "source ", "module ", "ulimit -l", "export SLURM_", "export SITE_", "/opt/site")
    system = OWN_WORDS.replace("{jobs}", jobs)
    found = dry_run(tmp_path, scheduler, launcher, access, "", system=system, also=also)
    expected = GOLDEN / f"{golden}.txt"
    assert found == expected.read_text(encoding="utf-8")


ZONES = ("../apps/npbmz.py", "NpbMz%rails=1%code=sp-mz")


def test_srun_gives_each_rank_a_core_a_thread(tmp_path: Path) -> None:
    """256 zones on 4 nodes of 16 cores: two threads per rank, eight ranks per node; the hint gives each two cores."""
    lines = dry_run(tmp_path, "slurm", "srun", "", FEW, ZONES).splitlines()
    assert [line for line in lines if line.startswith("export")] == [
        "export OMP_NUM_THREADS=2", "export NPB_MZ_BLOAD=erank",
    ]  # fmt: skip
    assert {"unset OMP_DYNAMIC", "unset OMP_THREAD_LIMIT", "unset OMP_PLACES", "unset OMP_PROC_BIND"} <= set(lines)
    assert lines[1:4] == ["#SBATCH --ntasks=32", "#SBATCH --ntasks-per-node=8", "#SBATCH --cpus-per-task=2"]
    assert "#SBATCH --hint=nomultithread" in lines
    assert lines[-1].startswith("srun --cpus-per-task=2 --mpi=pmix sh reader.sh ")
    assert lines[-1].endswith(" -- SITE/zones/sp-mz.D.x")


def test_mpirun_gives_each_rank_a_core_a_thread_and_its_variables(tmp_path: Path) -> None:
    lines = dry_run(tmp_path, "slurm", "mpirun", "", FEW, ZONES).splitlines()
    assert lines[-1].startswith(
        "mpirun -np 32 --map-by slot:PE=2 --bind-to core -x OMP_NUM_THREADS=2 -x OPENBLAS_NUM_THREADS=2 "
        "-x NPB_MZ_BLOAD=erank sh reader.sh "
    )


def test_wrf_has_as_many_ranks_as_its_case_takes(tmp_path: Path) -> None:
    """42 points per side are at most 16 patches of ten: half of the cores of two of the four nodes."""
    jobs = f'{FEW}\nwrf_cases: {{em_quarter_ss: "{{home}}/main"}}'
    case = ("../apps/wrf.py", "Wrf%rails=1%case=em_quarter_ss")
    lines = dry_run(tmp_path, "slurm", "srun", "", jobs, case, also=("compare_fields",))
    assert "#SBATCH --ntasks=16\n#SBATCH --ntasks-per-node=8\n" in lines
    begun, launch, compared = lines.splitlines()[-3:]  # fields are compared when WRF has ended
    assert (begun, launch.split()[0], compared) == ("compare_fields() {", "srun", "compare_fields")


def test_an_acceptance_of_hpl_fills_the_memory_and_has_the_time_that_it_needs(tmp_path: Path) -> None:
    """Without a clock a core counts as 1 Gflop/s: N 170880 on 64 cores is 14 hours, and the limit twice that.

    The messages add a minute.
    """
    size = ("-S", "Hpl.size=acceptance")
    lines = dry_run(tmp_path, "slurm", "srun", "", FEW, ("../apps/hpl.py", "Hpl%rails=1"), options=size).splitlines()
    assert {"#SBATCH --ntasks=64", "#SBATCH --time=28:56:0"} <= {*lines}
    (problem,) = tmp_path.glob("**/HPL.dat")
    order = int(problem.read_text(encoding="utf-8").splitlines()[5].split()[0])
    assert 0.84 < 8 * order**2 / (4 * (64 << 30)) <= 0.85


def test_ft_has_all_cores_of_the_nodes_that_it_holds(tmp_path: Path) -> None:
    """Class C on 64 ranks takes 6 s: below 20 s it has the most ranks, here all cores of the four nodes."""
    classes = f"{FEW}\nnpb_classes: [C]"
    lines = dry_run(tmp_path, "slurm", "srun", "", classes, ("../apps/npb.py", "Npb%rails=1%problem=C%kernel=ft"))
    assert "#SBATCH --ntasks=64\n#SBATCH --ntasks-per-node=16\n" in lines


def test_the_check_of_a_fabric_has_the_time_limit_of_its_class(tmp_path: Path) -> None:
    text = dry_run(tmp_path, "slurm", "srun", "", FEW, ("fabric.py", "FabricState"))
    assert "#SBATCH --time=0:5:0" in text.splitlines()


@pytest.mark.full  # two fabrics, one of them near: test_near_and_far_are_two_fabrics_of_the_same_rails
def test_a_fabric_says_on_which_side_of_the_node_its_ranks_run(tmp_path: Path) -> None:
    text = dry_run(tmp_path, "slurm", "srun", "", FEW, more="    placement: near\n")
    assert " sh place.sh near mlx5_0:1 -- sh reader.sh counters TAG mlx5_0:1 mlx5_1:1 -- " in launch_of(text)


def test_an_application_of_a_system_whose_rails_are_near_has_whole_nodes(tmp_path: Path) -> None:
    jobs = f'{FEW}\nwrf_cases: {{em_quarter_ss: "{{home}}/main"}}'
    case = ("../apps/wrf.py", "Wrf%rails=1%case=em_quarter_ss")
    lines = dry_run(tmp_path, "slurm", "srun", "", jobs, case, more="    placement: near\n").splitlines()
    assert lines[-1].startswith("srun --mpi=pmix sh reader.sh ")
    # Without it, Slurm gives eight ranks the threads of four cores if a core has two threads.
    assert {"#SBATCH --ntasks-per-node=8", "#SBATCH --hint=nomultithread"} <= set(lines)


# With two threads per core Slurm is given the hint that it is given without this field, as the tests above show.
@pytest.mark.parametrize(("threads", "hinted"), [pytest.param(2, True, marks=pytest.mark.full), (1, False)])
def test_a_system_says_how_many_threads_a_core_has(tmp_path: Path, threads: int, hinted: bool) -> None:
    said = SYSTEM.replace("memory: 64G", f"memory: 64G, threads_per_core: {threads}")
    lines = dry_run(tmp_path, "slurm", "srun", "", FEW, system=said).splitlines()
    assert ("#SBATCH --hint=nomultithread" in lines) == hinted


def test_near_and_far_are_two_fabrics_of_the_same_rails(tmp_path: Path) -> None:
    card = "    rails: [{device: mlx5_0, port: 1, counters: mlx5}, {device: mlx5_1, port: 1, counters: mlx5}]\n"
    far = "  ib-far:\n    description: the same\n    kind: ib\n    link: ib-edr\n    placement: far\n"
    text = dry_run(tmp_path, "slurm", "srun", "", FEW, more=f"    placement: near\n{card}{far}", fabric="ib-far")
    # Every other rail is watched, but not the same rail of the other fabric.
    assert " sh place.sh far mlx5_0:1 -- sh reader.sh counters TAG mlx5_0:1 mlx5_1:1 -- " in launch_of(text)


def test_each_rank_is_given_a_nic_of_its_own_beside_it(tmp_path: Path) -> None:
    test = ("osu.py", "OsuMessageRate%rails=2%policy=nic-per-rank")
    lines = dry_run(tmp_path, "slurm", "srun", "", FEW, test).splitlines()
    assert "#SBATCH --ntasks-per-node=2" in lines
    assert (
        " sh place.sh near mlx5_0:1,mlx5_1:1 counters TAG UCX_NET_DEVICES -- sh reader.sh counters TAG "
        "mlx5_0:1,mlx5_1:1 '' -- "
    ) in lines[-1]


@pytest.mark.parametrize(
    ("scheduler", "launcher", "launch"),
    [
        ("pbs", "mpirun", "mpirun -np 4 "),
        pytest.param("flux-batch", "flux-run", "flux run --nodes=4 --ntasks=4 ", marks=pytest.mark.full),
    ],
)
def test_each_later_launch_of_all_pairs_has_as_many_ranks_as_the_first(
    tmp_path: Path, scheduler: str, launcher: str, launch: str
) -> None:
    system = SYSTEM.replace("benchmarks: {{osu: ", 'benchmarks: {{pairs: "{{home}}/osu/osu_bw", osu: ')
    text = dry_run(
        tmp_path, scheduler, launcher, "", FEW, ("pairs.py", "AllPairs%rails=2"), system=system, also=("for ", "[")
    )
    launches = re.findall(r"(?:mpirun|flux run) .*?(?= sh | SITE| env )", text)
    assert len(launches) == 4 and all(f"{one} ".startswith(launch) for one in launches), text


def test_flux_is_given_the_same_launch(tmp_path: Path) -> None:
    if importlib.util.find_spec("flux") is None:
        pytest.skip("Flux's Python bindings are not installed: ReFrame's backend cannot be tried")
    text = dry_run(tmp_path, "flux", "mpirun", "", "{}")
    assert launch_of(text).startswith("mpirun -np 2 sh reader.sh counters TAG mlx5_0:1 mlx5_1:1 -- ")
