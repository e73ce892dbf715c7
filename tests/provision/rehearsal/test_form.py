"""A rehearsal on disk, and how the site is read while one is up."""

from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.base.paths import REHEARSAL_VARIABLE, REPLAY_VARIABLE, runs_folder
from railyard.provision.rehearsal.form import Fault, Rehearsal, current, read
from railyard.rfm.settings import build
from railyard.site.systems.load import NO_STAND_IN, RehearsedSystem, load_system, load_systems

SITE = Path(__file__).parents[2] / "sites/rehearsed"
ROOT = SITE.parents[2]
SLOW = Fault("slow", "rail=n9:mlx5_1,share=0.5", node="n9", device="mlx5_1:1", share=0.5)


@pytest.fixture
def rehearsal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rehearsal:
    """A rehearsal of ndr on two of its nodes, which this process belongs to."""
    programs = {"openmpi": {"osu": "/stand/openmpi/osu"}, "intelmpi": {"osu": "/stand/intelmpi/osu"}}
    made = Rehearsal(
        "ndr",
        str(SITE),
        str(tmp_path),
        ("n1", "n9"),
        (SLOW,),
        ("modules: none is loaded",),
        programs,
        {"conus12km": "/stand/wrf"},
    )
    made.write()
    monkeypatch.setenv(REHEARSAL_VARIABLE, str(tmp_path))
    return made


def test_what_was_written_is_read_again(rehearsal: Rehearsal) -> None:
    assert read(Path(rehearsal.folder)) == rehearsal == current()


def test_outside_of_one_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REHEARSAL_VARIABLE, raising=False)
    assert current() is None


def test_a_folder_without_a_rehearsal_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REHEARSAL_VARIABLE, str(tmp_path))
    with pytest.raises(SetupError, match=r"rehearsal.json: found no rehearsal .*, although RAILYARD_REHEARSAL names"):
        load_system(SITE / "systems/ndr.yaml")


def test_its_remark_names_what_was_planted_and_the_one_exemption(rehearsal: Rehearsal) -> None:
    assert rehearsal.remark == (
        "a rehearsal with stand-ins in place of benchmarks, not a measurement; planted: rail=n9:mlx5_1,share=0.5; "
        "linkage: not judged, since the programs are stand-ins"
    )


def test_the_site_is_read_as_it_is_rehearsed(rehearsal: Rehearsal) -> None:
    system = load_system(SITE / "systems/ndr.yaml")
    assert (system.provider, system.scheduler, system.launcher) == ("nodes", "slurm-nodb", "srun")
    assert (system.nodes.names, system.nodes.number) == (("n1", "n9"), 2)
    assert system.fabrics["ndr"].leaf_switches == {"leaf1": ("n1",), "leaf2": ("n9",)}
    # A job with --export=NONE has only what its script exports.
    assert system.fabrics["ndr"].env == {"RAILYARD_REHEARSAL": rehearsal.folder}
    assert (system.jobs.account, system.jobs.partition, system.jobs.exclusive) == ("acct", "batch", True)
    openmpi, intelmpi = system.stacks["openmpi"], system.stacks["intelmpi"]
    assert (openmpi.modules, openmpi.prefix, openmpi.tools) == ((), None, ("osu",))
    assert openmpi.executable("osu", SITE) == "/stand/openmpi/osu"
    assert set(openmpi.absent.values()) == {NO_STAND_IN} and {"pairs", "hpl"} <= openmpi.absent.keys()
    assert intelmpi.environment(SITE) == {"I_MPI_ROOT": "/opt/intel/mpi/2021.14"}
    assert system.stacks["verbs"].tools == ()
    assert system.wrf_cases == {"conus12km": "/stand/wrf"}


def test_a_relative_prefix_lies_in_the_site(rehearsal: Rehearsal) -> None:
    system = load_system(SITE / "systems/ndr.yaml")
    changes = {"prefix": "sw/x", "env": {"A": "{prefix}/lib"}, "srun_mpi": "pmix_v3"}
    entry = system.stacks["verbs"].model_copy(update=changes)
    again = RehearsedSystem("ndr", ("n1",), {}, {}, {}, "/r").of(system.model_copy(update={"stacks": {"verbs": entry}}))
    assert again.stacks["verbs"].environment(Path("/home/me")) == {"A": "/home/me/sw/x/lib"}
    assert again.stacks["verbs"].srun_mpi is None


def test_other_systems_stay_what_they_are(rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> None:
    virtual = load_systems(ROOT / "systems")["virtual"]
    assert (virtual.nodes.names[0], virtual.scheduler) == ("vn1", "local")
    monkeypatch.setenv(REPLAY_VARIABLE, "1")
    assert load_system(SITE / "systems/ndr.yaml").provider == "replay"


def test_its_runs_and_figures_are_kept_apart(rehearsal: Rehearsal, tmp_path: Path) -> None:
    assert runs_folder(tmp_path) == tmp_path / ".railyard/rehearsals"
    logging = build(ROOT / "reframe_settings.py")["logging"][0]["handlers_perflog"][0]
    assert Path(logging["basedir"]).name == "perflogs-rehearsed"


def test_a_fault_hits_its_rail_and_another_transport_hits_all() -> None:
    assert SLOW.hits("n9", "mlx5_1:1") and not SLOW.hits("n9", "mlx5_0:1") and not SLOW.hits("n1", "mlx5_1:1")
    assert Fault("idle", "", device="mlx5_1:1").hits("n77", "mlx5_1:1")
    assert Fault("fallback", "fallback=tcp").hits("n9", "mlx5_0:1")
