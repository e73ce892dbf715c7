"""Cases on the virtual cluster that end before anything is measured: a refusal, or a cluster that is not up."""

import re
from pathlib import Path

import pytest

from railyard.provision.testbed.lock import HELD_VARIABLE, lock_file
from tests.e2e.conftest import RAILYARD, Ran, VirtualSite, by_hand, expect_of_another, make_site

pytestmark = pytest.mark.e2e

NOT_UP = "the virtual cluster is not up: run 'railyard testbed up'"


@pytest.fixture
def site(able: None, tmp_path: Path) -> VirtualSite:
    return make_site(tmp_path)


def run(site: VirtualSite, *options: str, system: str = "virtual:hsn") -> Ran:
    words = ("-n", "ImbUniband%rails=2", "-p", "mpich", *options)
    ran = site.finish(*RAILYARD, "run", "--system", system, *words)
    assert not site.bed().is_up()
    assert site.run_folders() == []
    return ran


def test_reframe_by_hand_says_that_the_cluster_is_not_up(site: VirtualSite, monkeypatch: pytest.MonkeyPatch) -> None:
    # Otherwise it would wait for a measurement on this machine, but it starts nothing that could disturb one.
    monkeypatch.setenv(HELD_VARIABLE, str(lock_file()))
    plain = site.finish(*by_hand("--system", "virtual", "-p", "mpich", "-n", "ImbUniband"))
    assert plain.code == 1
    assert "Traceback" not in plain.out + plain.err
    reasons = re.findall(r"^  \* Reason: (.*)$", plain.out, re.MULTILINE)
    assert reasons == [f"reframe error: testbed: {NOT_UP}"] * 3


def test_a_reference_that_names_another_system_is_refused(site: VirtualSite) -> None:
    site.edit("references/virtual.yaml", "\nsystem: virtual\n", "\nsystem: edrsys\n")
    ran = run(site)
    assert (ran.code, ran.out, ran.records) == (2, "", ())
    assert ran.err == (
        'railyard: references/virtual.yaml:7: system: found "edrsys", expected "virtual", the name of the file; '
        "these references belong to another system\n"
    )


def test_a_reference_that_no_such_link_can_meet_is_refused(site: VirtualSite) -> None:
    expect_of_another(site, "12000")
    ran = run(site)
    assert (ran.code, ran.out, ran.records) == (2, "", ())
    assert re.fullmatch(
        r"railyard: references/virtual\.yaml:\d+: entries\[\d+\]\.floor: found 12000 MB/s, above the physical limit "
        r".*28\.9 MB/s.*\n",
        ran.err,
    )


@pytest.mark.full
def test_a_run_over_its_budget_does_not_begin(site: VirtualSite) -> None:
    ran = run(site, "--budget", "1", system="virtual-slurm:hsn")
    assert ran.code == 2
    assert ran.err == (
        "railyard: --budget: found 1 job, at most 4 node-minutes, expected at most 1: select fewer tests, or lower "
        "time_limits in the system's file (jobs)\n"
    )
