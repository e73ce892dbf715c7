"""The schedulers of a testbed: how their clients are found, and what is said if one cannot come up. Nothing is up."""

from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.provision.testbed import scheduler
from railyard.provision.testbed.lifecycle import ON_TESTBEDS, scheduler_of
from railyard.provision.testbed.scheduler import client
from railyard.provision.testbed.scripts import START, VARIABLES, client_variables
from railyard.provision.testbed.spec import DEFAULT_SPEC
from railyard.site.systems.jobs import FAMILIES
from railyard.site.systems.jobs import ON_TESTBEDS as KNOWN

FOLDER = Path("/site/.railyard/testbed/slurm")


def test_each_scheduler_of_a_testbed_is_in_every_table() -> None:
    assert list(ON_TESTBEDS) == list(VARIABLES)
    assert {FAMILIES[name] for name in KNOWN if name != "local"} == set(ON_TESTBEDS)
    assert scheduler_of("local") is None
    assert {name: scheduler_of(name) for name in ("slurm-nodb", "flux-batch")} == {
        "slurm-nodb": ON_TESTBEDS["slurm"], "flux-batch": ON_TESTBEDS["flux"],
    }  # fmt: skip


def test_a_client_is_run_on_the_first_node() -> None:
    assert client(ON_TESTBEDS["slurm"], "vn1", "/usr/bin/sbatch") == (
        "#!/bin/sh\n# Slurm's sbatch of this testbed, run on vn1\n"
        'SLURM_CONF="$(cd "${0%/*}/.." && pwd -P)/slurm.conf"\nexport SLURM_CONF\n'
        'exec "${0%/*}/../../enter" vn1 -- /usr/bin/sbatch "$@"\n'
    )


def test_a_client_within_a_job_of_flux_asks_the_jobs_own_instance() -> None:
    lines = client(ON_TESTBEDS["flux"], "vn1", "/opt/flux/bin/flux").splitlines()
    assert lines[2] == '[ -z "${FLUX_ENCLOSING_ID-}" ] || exec /opt/flux/bin/flux "$@"'


def test_reframe_is_told_where_they_are() -> None:
    assert client_variables(Path("/site"), "slurm") == {
        "PATH": f"{FOLDER}/bin:$PATH", "SLURM_CONF": f"{FOLDER}/slurm.conf",
    }  # fmt: skip


@pytest.mark.parametrize("name", ON_TESTBEDS)
def test_every_node_and_the_start_are_in_its_files(name: str) -> None:
    files = ON_TESTBEDS[name].files(DEFAULT_SPEC, FOLDER)
    assert files[START].startswith("#!/bin/sh\n")
    said = "".join(files.values())
    assert all(node in said for node in DEFAULT_SPEC.nodes)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("flux", "testbed: flux is not installed: build flux-core (github.com/flux-framework/flux-core), and put its "),
        ("pbs", "testbed: pbs_server, pbs_sched, pbs_comm, pbs_mom, qsub, "),
        (
            "sge",
            "testbed: sge_qmaster, sge_execd, sge_shepherd, qconf, qhost, qmod, qacct and qrsh are not installed: apt",
        ),
        ("slurm", "testbed: munged, slurmctld, slurmd, srun, sbatch, "),
    ],
)
def test_one_sentence_says_what_to_install_and_nothing_comes_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, sentence: str
) -> None:
    monkeypatch.setattr(scheduler, "SEARCH_PATH", "/nowhere")
    assert main(["testbed", "up", "--scheduler", name]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert sentence in said.err


def test_an_ordinary_user_is_told_which_need_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    every = {program for each in ON_TESTBEDS.values() for program in each.programs}
    for program in every:
        (tmp_path / program).write_text("#!/bin/sh\n", encoding="ascii")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setattr(scheduler, "SEARCH_PATH", str(tmp_path))
    monkeypatch.setattr(scheduler, "needs_user_namespace", lambda: True)
    refused = {name: each.find_refusal() is not None for name, each in ON_TESTBEDS.items()}
    assert refused == {"slurm": True, "flux": False, "pbs": True, "sge": True}


def test_of_two_schedulers_with_a_qsub_each_is_given_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = {"pbs": ("qsub", "pbsnodes"), "sge": ("qsub", "qconf")}
    for name, programs in own.items():
        (tmp_path / name).mkdir()
        for program in programs:
            (tmp_path / name / program).write_text("#!/bin/sh\n", encoding="ascii")
            (tmp_path / name / program).chmod(0o755)
    for first, second in (("pbs", "sge"), ("sge", "pbs")):
        monkeypatch.setattr(scheduler, "SEARCH_PATH", f"{tmp_path / first}:{tmp_path / second}")
        for name in own:
            found = scheduler.find_client("qsub", FOLDER, ON_TESTBEDS[name].beside)
            assert found == str(tmp_path / name / "qsub")


def test_two_names_of_a_scheduler_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["testbed", "up", "--slurm", "--scheduler", "flux"]) == 2
    assert "--slurm and --scheduler flux: choose one" in capsys.readouterr().err
