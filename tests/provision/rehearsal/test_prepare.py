"""From a system's file to its rehearsal: what is left out is said, what cannot be rehearsed is refused."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.provision.rehearsal import nodes, prepare
from railyard.provision.rehearsal.form import read
from railyard.provision.rehearsal.prepare import prepare_rehearsal, unrehearsed_parts
from railyard.site.site import Site, site_at
from railyard.site.systems.model import System
from railyard.site.systems.stack_entry import SpackStack
from railyard.stacks import model
from railyard.stacks.model import STACKS

SITE = Path(__file__).parents[2] / "sites/rehearsed"
THERE = {
    "openmpi": {tool: f"/s/{tool}" for tool in ("osu", "pairs", "netpipe", "hpl", "npb", "stream", "hpcc", "milc")},
    "intelmpi": {"osu": "/s/osu"},
    "verbs": {"perftest": "/s/p"},
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The synthetic system in its own site, on a machine with enough memory, with stand-ins that are not written."""
    for name in ("systems", "references"):
        shutil.copytree(SITE / name, tmp_path / name)
    monkeypatch.setattr(nodes, "memory_available_mib", lambda: 4000)
    monkeypatch.setattr(prepare, "write", lambda folder, system: THERE)
    return site_at(tmp_path, "ndr")


def changed_site(site: Site, **fields: object) -> Site:
    return replace(site, system=site.system.model_copy(update=fields))


def test_it_is_kept_with_its_nodes_faults_and_stand_ins(site: Site) -> None:
    made = prepare_rehearsal(site, ["rail=n9:mlx5_1,share=0.5"], 4)
    assert (made.system, len(made.nodes), made.planted_words) == ("ndr", 4, "rail=n9:mlx5_1,share=0.5")
    assert "n9" in made.nodes and made.programs == THERE
    assert Path(made.folder) == site.home / ".railyard/rehearsal"
    assert read(Path(made.folder)) == made


def test_what_stood_there_before_is_gone(site: Site) -> None:
    old = site.home / ".railyard/rehearsal/old"
    old.mkdir(parents=True)
    prepare_rehearsal(site, [], None)
    assert not old.exists()


def test_a_wrong_fault_is_refused_before_anything_is_written(site: Site) -> None:
    with pytest.raises(RailyardError, match='--fault node=n77,dies: found no node "n77"'):
        prepare_rehearsal(site, ["node=n77,dies"], None)
    assert not (site.home / ".railyard").exists()


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"launcher": "ibrun"},
            "systems/ndr.yaml: found launcher ibrun, expected one of srun, mpirun, mpiexec",
        ),
        ({"scheduler": "lsf"}, "lsf, expected one of slurm, squeue, slurm-nodb, flux-batch, pbs, sge: no other"),
        ({"scheduler": "pbs"}, "found launcher srun, expected one of mpirun, mpiexec: a rehearsal has no stand-in"),
        (
            {"scheduler": "flux-batch", "launcher": "mpirun"},
            "found launcher mpirun, expected one of flux-run: a rehearsal has no stand-in",
        ),
        (
            {"launcher": "site", "site_launcher": ("ibrun", "-n", "{ranks}")},
            r"found launcher site \(ibrun\), expected one of srun, mpirun, mpiexec",
        ),
        ({"provider": "testbed"}, "provider testbed, expected nodes"),
    ],
)
def test_a_system_that_cannot_be_rehearsed_is_refused(site: Site, fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(RailyardError, match=sentence):
        prepare_rehearsal(changed_site(site, **fields), [], None)


def left_out_sentences(site: Site, there: dict[str, dict[str, str]] = THERE) -> list[str]:
    return list(unrehearsed_parts(site, there))


def test_each_thing_that_is_left_out_is_a_sentence(site: Site) -> None:
    assert left_out_sentences(site) == [
        "scheduler: slurm is rehearsed as slurm-nodb, without an accounting database",
        "modules: openmpi/5.0.5 is not loaded",
        "1 benchmark of intelmpi: there is no stand-in for imb",
    ]
    unreferenced = replace(site, references=replace(site.references, entries=()))
    assert left_out_sentences(unreferenced)[3:] == [
        "references: there are none, so only physical limits and floors judge"
    ]
    assert left_out_sentences(changed_site(site, scheduler="slurm-nodb"))[0].startswith("modules")
    assert left_out_sentences(site, {})[2] == (
        "8 benchmarks of openmpi: there is no stand-in for osu, pairs, netpipe, hpl, npb, stream, hpcc and milc"
    )


def test_it_is_said_where_no_job_asks_for_whole_nodes(site: Site) -> None:
    shared = changed_site(site, jobs=site.system.jobs.model_copy(update={"exclusive": False}))
    (said,) = set(left_out_sentences(shared)) - set(left_out_sentences(site))
    assert said.startswith("jobs: no job asks for whole nodes, so jobs get parts of nodes here")
    nodes = shared.system.nodes
    stated = changed_site(shared, nodes=nodes.model_validate({"names": nodes.names, "exclusive": True}))
    assert "nodes: exclusive: true says that the partition gives them" in " ".join(left_out_sentences(stated))
    assert left_out_sentences(
        replace(shared, system=shared.system.model_copy(update={"access": ("--exclusive",)}))
    ) == left_out_sentences(site)


def test_what_is_only_on_the_clusters_nodes_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "systems/daint.yaml"
    path.parent.mkdir()
    text = (SITE.parent / "published/systems/daint.yaml").read_text(encoding="utf-8")
    lines = "    prepare_cmds: [source /etc/profile.d/site.sh]\n    modules: [settings]\n"
    path.write_text(text.replace("    placement: near\n", f"    placement: near\n{lines}"), encoding="utf-8")
    shutil.copy(SITE.parents[2] / "reframe_settings.py", tmp_path)
    said = list(unrehearsed_parts(site_at(tmp_path, "daint"), {}))
    assert "container: the stand-ins of craympich and openmpi start in no image" in said
    assert "modules: settings is not loaded" in said
    assert "srun_mpi: pmix of openmpi: srun gets the stack's own value, whose plugin is here" in said
    assert (
        "prepare_cmds: source /etc/profile.d/site.sh: not run, since these lines are for the cluster's own nodes"
    ) in said


def test_a_benchmark_without_a_stand_in_is_left_out(tmp_path: Path) -> None:
    """Its test would fail on every healthy system."""
    site = site_at(SITE, "slingshot")
    there = prepare.write(tmp_path, site.system)
    assert there["cxi"].keys() == {"cxi"}
    there["cxi"].clear()
    assert "1 benchmark of cxi: there is no stand-in for cxi" in unrehearsed_parts(site, there)


def test_a_stack_whose_library_nothing_plays_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = site_at(SITE, "ndr")
    entry = site.system.stacks["openmpi"]
    new = replace(STACKS["openmpi"], rehearsed_as="crane")
    monkeypatch.setitem(model._known, "crane", new)
    system = changed_site(site, stacks={**site.system.stacks, "parastation": entry, "crane": entry}).system
    there = prepare.write(tmp_path, system)
    assert there["openmpi"] and not there["parastation"] and not there["crane"]
    assert prepare.write_launchers(tmp_path, system).keys() == site.system.stacks.keys()
    said = left_out_sentences(replace(site, system=system), there)
    assert [sentence for sentence in said if sentence.startswith("nothing runs with ")] == [
        "nothing runs with parastation, since there is no stand-in for its library: parastation: it was never run, and "
        "how pscom chooses among its plugins by default is not known for sure",
        "nothing runs with crane, since there is no stand-in for its library: crane: its entry has "
        'rehearsed_as="crane", expected one of openmpi, mpich, mvapich, mvapich2, intelmpi, craympich, nccl',
    ]


def test_a_copy_of_an_entry_is_rehearsed_as_it_is(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(model._known, "gantry", replace(STACKS["mvapich"], title="Gantry MPI"))
    system = changed_site(site, stacks={"gantry": site.system.stacks["openmpi"]}).system
    prepare.write_launchers(site.home, system)
    assert "rehearsed_as='mvapich'" in (site.home / "launchers/gantry/mpiexec").read_text(encoding="utf-8")
    assert nodes.why_not_played(system, "gantry") is None


def test_what_spack_would_build_is_not_built(site: Site) -> None:
    spack = SpackStack.model_validate({"benchmarks": ["osu"]})
    stacks = {**site.system.stacks, "openmpi": site.system.stacks["openmpi"].model_copy(update={"spack": spack})}
    assert "Spack: nothing is built for openmpi" in left_out_sentences(changed_site(site, stacks=stacks))


def test_the_system_is_not_changed(site: Site) -> None:
    before: System = site.system
    prepare_rehearsal(site, [], None)
    assert site.system is before


def test_programs_are_of_the_classes_that_the_rehearsed_nodes_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("systems", "references"):
        shutil.copytree(SITE / name, tmp_path / name)
    monkeypatch.setattr(nodes, "memory_available_mib", lambda: 4000)
    site = site_at(tmp_path, "roce")
    every = Path(prepare_rehearsal(site, [], 8).programs["openmpi"]["npb"])
    assert (every / "lu.E.x").is_file()
    few = Path(prepare_rehearsal(site, [], 4).programs["openmpi"]["npb"])
    assert (few / "lu.D.x").is_file() and not (few / "lu.E.x").exists()
