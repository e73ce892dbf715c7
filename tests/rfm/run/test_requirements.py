"""What all tests of a run need is asked before the first: one sentence, or one warning a stack that none can use."""

import json
import os
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.base.paths import REHEARSAL_VARIABLE
from railyard.provision.spack.bootstrap import Getting
from railyard.results.run_folder import RUN_FOLDER_VARIABLE
from railyard.rfm.run.requirements import ask, ask_for_scripts
from railyard.site.references.load import references_of
from railyard.site.site import Site
from railyard.site.systems.load import load_system
from railyard.site.test_id import TestId, of_name
from tests.made import spack_site
from tests.made.spack_site import MadeSite
from tests.made.systems import HDR

INSTALLED = """\
  tcp:
    prefix: {prefix}
    benchmarks: {{iperf3: "{{prefix}}/bin/iperf3"}}
"""
CONFLICT = {"concretize": "==> Error: No version exists that satisfies these input specs:\n    netpipe@5\n"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeSite:
    made = spack_site.make(tmp_path)
    (made.home / "checks").mkdir(exist_ok=True)
    monkeypatch.setenv("PATH", f"{made.bin}:{os.environ['PATH']}")
    for variable in ("SPACK_ENV", "RAILYARD_SPACK", RUN_FOLDER_VARIABLE, REHEARSAL_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    return made


def site_of(home: Path, name: str = "made") -> Site:
    system = load_system(home / f"systems/{name}.yaml")
    return Site(home, system, references_of(home / "references", system))


def cases(*stacks: str) -> tuple[TestId, ...]:
    """Two tests of each stack."""
    return tuple(of_name(name, "0a1b2c3d", "made", "hsn", stack) for stack in stacks for name in ("First", "Second"))


def unfit_stacks(of: Site, *stacks: str) -> tuple[dict[str, str], list[str]]:
    said: list[str] = []
    unfit = dict(ask(of, cases(*stacks), said.append, Getting()))
    return unfit, spack_site.timeless(said)


def refusal_of(of: Site, *stacks: str) -> str:
    with pytest.raises(RailyardError) as error:
        unfit_stacks(of, *stacks)
    return str(error.value)


def with_tcp(site: MadeSite, prefix: str) -> Site:
    text = (site.home / "systems/made.yaml").read_text(encoding="utf-8")
    site.write("systems/made.yaml", text + INSTALLED.format(prefix=prefix))
    return site_of(site.home)


# --- what Spack builds


def test_only_the_stacks_of_the_run_are_built(site: MadeSite) -> None:
    unfit, said = unfit_stacks(site_of(site.home), "mpich")
    assert unfit == {}
    assert [line for line in said if "built in" in line] == ["spack: mpich for made built in 0 s"]
    assert unfit_stacks(site_of(site.home), "mpich") == ({}, [])


def test_a_stack_whose_build_fails_is_one_warning_where_another_has_its_own(site: MadeSite) -> None:
    site.behave(fail_for={"mpich": CONFLICT})
    unfit, said = unfit_stacks(site_of(site.home), "openmpi", "mpich")
    assert list(unfit) == ["mpich"]
    assert unfit["mpich"].startswith(f"spack -e {site.home}/.railyard/spack/made/mpich/")
    assert said[-1] == f"warning: mpich: {unfit['mpich']}; 2 tests of this run will fail because of it"


def test_where_no_stack_has_its_build_nothing_is_started(site: MadeSite, tmp_path: Path) -> None:
    site.behave(fail=CONFLICT)
    lines = refusal_of(site_of(site.home), "openmpi", "mpich").splitlines()
    assert [line.partition("concretize: ")[2] for line in lines] == [
        "nothing satisfies all that is asked for: No version exists that satisfies these input specs: netpipe@5; "
        f"change one of them in spack_envs/ or in the system's overlay (all of it: {path}/spack.log)"
        for path in (next(site.request(stack).place.glob("?" * 16)) for stack in ("openmpi", "mpich"))
    ]
    # Nor where stacks besides could run: who asked for Spack's benchmarks would get none of them.
    (tmp_path / "there/bin").mkdir(parents=True)
    (tmp_path / "there/bin/iperf3").touch()
    assert len(refusal_of(with_tcp(site, str(tmp_path / "there")), "openmpi", "mpich", "tcp").splitlines()) == 2


def test_a_sentence_of_all_stacks_is_said_once(site: MadeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    (site.bin / "spack").unlink()
    monkeypatch.setenv("PATH", f"{site.bin}:/usr/bin:/bin")
    assert refusal_of(site_of(site.home), "openmpi", "mpich") == (
        f"spack: found none in {site.home}/.railyard/spack-itself and none on PATH, expected Spack 1.1 or newer; type: "
        "railyard spack bootstrap"
    )


# --- what the site installed


def test_a_stack_none_of_whose_benchmarks_is_there(site: MadeSite, tmp_path: Path) -> None:
    there = with_tcp(site, str(tmp_path / "tcp"))
    assert refusal_of(there, "tcp") == (
        f"{tmp_path}/tcp/bin/iperf3: found nothing there, expected it for tcp; install it there, or fix "
        "stacks.tcp in systems/made.yaml"
    )
    spack_site.program(tmp_path / "tcp/bin/iperf3", "exit 0")
    assert unfit_stacks(there, "tcp") == ({}, [])


OPENMPI = """\
system: made
description: Two nodes whose MPI starts its own programs
provider: nodes
scheduler: local
launcher: mpirun
nodes: {names: [n1, n2]}
report_only: nothing is known of it
fabrics:
  hsn:
    description: One rail without counters
    kind: tcp
    link: {name: test-link, data_rate_gbit_s: 100, headers: tcp, mtu: 65536, source: this test}
    rails:
      - {device: lo, counters: none}
stacks:
  openmpi: {prefix: .stacks/openmpi, benchmarks: {imb: ./imb}}
"""


def test_a_launcher_that_is_not_there(site: MadeSite) -> None:
    site.write("systems/made.yaml", OPENMPI)
    (site.home / "references/made.yaml").unlink()
    spack_site.program(site.home / "imb", "exit 0")
    there = site_of(site.home)
    launcher = site.home / ".stacks/openmpi/bin/mpirun"
    assert refusal_of(there, "openmpi") == (
        f"{launcher}: found nothing there, expected it for openmpi; type: railyard stacks install openmpi"
    )
    spack_site.program(launcher, "exit 0")
    assert unfit_stacks(there, "openmpi") == ({}, [])


def test_a_prefix_that_no_launcher_needs_may_be_missing(site: MadeSite) -> None:
    site.write("systems/made.yaml", OPENMPI.replace("launcher: mpirun", "launcher: local"))
    (site.home / "references/made.yaml").unlink()
    spack_site.program(site.home / "imb", "exit 0")
    assert unfit_stacks(site_of(site.home), "openmpi") == ({}, [])


def test_one_of_two_stacks_is_a_warning(site: MadeSite) -> None:
    there = with_tcp(site, "/no/such/prefix")
    unfit, said = unfit_stacks(there, "mpich", "tcp")
    assert list(unfit) == ["tcp"]
    assert said[-1].startswith("warning: tcp: /no/such/prefix/bin/iperf3: found nothing there, expected it for tcp; ")


def test_nodes_of_a_scheduler_may_have_what_this_host_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    (tmp_path / "systems/hdr.yaml").write_text(HDR, encoding="utf-8")
    there = site_of(tmp_path, "hdr")
    assert refusal_of(there, "openmpi") == (
        "systems/hdr.yaml: sbatch, scancel, sacct, srun are not on the search path, and the file says scheduler slurm, "
        "launcher srun; load the scheduler's module, run it on a host that has it, or correct the file"
    )
    for name in ("sbatch", "scancel", "sacct", "srun"):
        spack_site.program(tmp_path / "bin" / name, "exit 0")
    assert unfit_stacks(there, "openmpi") == ({}, [])  # its prefix, /opt/ompi, is not on this host


SAID = [
    ("allocation failure: Invalid account or account/partition combination specified", True),
    ("allocation failure: User's group not permitted to use this partition", True),
    # Nodes that are down or busy now are another hour's jobs: those wait.
    ("allocation failure: Requested node configuration is not available", False),
    ("sbatch: Job 7 to start at 2026-11-24T05:00:00 using 2 processors on nodes n1 in partition batch", False),
]


@pytest.mark.parametrize(("said", "never"), SAID)
def test_options_that_slurm_takes_from_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, never: bool
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    for folder in ("systems", "references"):
        (tmp_path / folder).mkdir()
    (tmp_path / "systems/hdr.yaml").write_text(HDR, encoding="utf-8")
    for name in ("scancel", "sacct", "srun"):
        spack_site.program(tmp_path / "bin" / name, "exit 0")
    spack_site.program(tmp_path / "bin/sbatch", f'echo "$@" >>{tmp_path}/asked; echo "{said}" >&2; exit 1')
    there = site_of(tmp_path, "hdr")
    if not never:
        assert unfit_stacks(there, "openmpi") == ({}, [])
        return
    reason = said.removeprefix("allocation failure: ")
    assert refusal_of(there, "openmpi") == (
        f"systems/hdr.yaml: Slurm takes no job with --partition=batch: {reason}; fix access or jobs in the file"
    )
    assert (tmp_path / "asked").read_text(encoding="utf-8") == "--test-only --partition=batch --wrap=true\n"


def test_nodes_that_other_jobs_can_share_are_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    for folder in ("systems", "references"):
        (tmp_path / folder).mkdir()
    (tmp_path / "systems/hdr.yaml").write_text(HDR, encoding="utf-8")
    for name in ("scancel", "sacct", "srun", "sbatch"):
        spack_site.program(tmp_path / "bin" / name, "exit 0")
    spack_site.program(tmp_path / "bin/scontrol", 'echo "PartitionName=batch Default=YES OverSubscribe=NO State=UP"')
    there = site_of(tmp_path, "hdr")
    unfit, (said,) = unfit_stacks(there, "openmpi")
    assert unfit == {}
    assert said.startswith("warning: systems/hdr.yaml: nodes.exclusive is true, but jobs do not ask for whole nodes")


# --- what measures nothing


def test_a_replay_needs_its_index_and_nothing_else(site: MadeSite) -> None:
    played = site_of(site.home)
    played = Site(played.home, played.system.as_replay(), played.references)
    assert refusal_of(played, "openmpi") == (
        "recordings/made/index.json: found no such file, expected the index of the recordings; make the recordings of "
        "made with `railyard record`"
    )
    site.write("recordings/made/index.json", json.dumps({"format": 1, "system": "made", "recordings": []}))
    assert unfit_stacks(played, "openmpi") == ({}, [])
    assert site.calls == []


def test_a_dry_run_builds_nothing_and_says_what_is_not_built(site: MadeSite) -> None:
    there = site_of(site.home)
    with pytest.raises(RailyardError) as error:
        ask_for_scripts(there, cases("mpich"))
    assert str(error.value) == (
        "mpich on made: found no build of its benchmarks, expected the one of its sources; type: railyard spack "
        "install --system made --stack mpich"
    )
    assert site.calls == []
    unfit_stacks(there, "mpich")
    ask_for_scripts(there, cases("mpich"))
    ask_for_scripts(there, cases("mpich", "openmpi"))  # some scripts can be written
