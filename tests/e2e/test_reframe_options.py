"""ReFrame's own options over replays, by plain `reframe` and by `railyard run`.

docs/reference/reframe-options.md says what each does; its rows are compared with the names of these tests.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.conftest import CLONE, RAILYARD, REFRAME, Ran, VirtualSite, make_replay_site

pytestmark = [pytest.mark.e2e, pytest.mark.full]

PAGE = CLONE / "docs/reference/reframe-options.md"
SYSTEM = "dell-c6320:edr"
TWO = ("-n", "OsuBandwidth", "-n", "OsuLatency")


@pytest.fixture
def site(tmp_path: Path) -> VirtualSite:
    """A site with the clone's recordings, in which ReFrame stores its results in a file of the site."""
    stored = ("RFM_ENABLE_RESULTS_STORAGE=1", f"RFM_SQLITE_DB_FILE={tmp_path}/results.db")
    return replace(make_replay_site(tmp_path), prefix=("env", *stored))


def plain(site: VirtualSite, *options: str) -> Ran:
    places = ("-C", "reframe_settings.py", "-c", "checks/microbench", "-R", "--prefix", "plain", "--system", SYSTEM)
    return site.finish(REFRAME, "--nocolor", *places, *options)


def front(site: VirtualSite, *options: str) -> Ran:
    """Type `railyard run`; the records are those of all runs in the site."""
    return site.finish(*RAILYARD, "run", "--system", SYSTEM, *options)


def passed_count(text: str) -> int:
    """How many cases ReFrame says that it ran, all of which passed."""
    found = re.search(r"\[  PASSED  \] Ran (\d+)/\1 test case\(s\)", text)
    return int(found[1]) if found else 0


def cases(run: Ran) -> list[str]:
    """The names of the tests of the newest run, without system, fabric and hash."""
    return sorted(record.test.case.partition(" @")[0].partition(" /")[0] for record in run.records)


NAMES = ["OsuBandwidth %rails=1", "OsuLatency %rails=1"]


def test_repeat(site: VirtualSite) -> None:
    assert passed_count(plain(site, *TWO, "-r", "--repeat=2").out) == 4
    run = front(site, *TWO, "--repeat=2")
    assert (run.code, len(run.records)) == (0, 4)
    assert {record.found.state for record in run.records} == {"pass"}


def test_distribute(site: VirtualSite) -> None:
    assert passed_count(plain(site, *TWO, "-r", "--distribute").out) == 2
    run = front(site, *TWO, "--distribute")
    assert (run.code, len(run.records)) == (0, 2)


def test_reruns(site: VirtualSite) -> None:
    assert passed_count(plain(site, *TWO, "-r", "--reruns=2").out) == 6
    run = front(site, *TWO, "--reruns=2")
    assert run.code == 0
    assert "2 tests: 2 pass, 0 fail" in run.full_text


def test_duration(site: VirtualSite) -> None:
    # Plain ReFrame exits with 0 although the last round was cut off.
    ended = plain(site, *TWO, "-r", "--duration=15s")
    assert (ended.code, "maximum session duration exceeded" in ended.full_text) == (0, True)
    run = front(site, *TWO, "--duration=15s")
    assert run.code == 0
    assert "2 tests: 2 pass, 0 fail" in run.full_text


def test_performance_compare(site: VirtualSite) -> None:
    plain(site, *TWO, "-r")
    compared = ("--performance-compare=now-1h:now/now-1d:now/mean:/",)
    assert ("small_message_latency" in plain(site, *compared).out) is True
    shown = front(site, *compared)
    assert (shown.code, "small_message_latency" in shown.out) == (0, True)


def test_performance_report(site: VirtualSite) -> None:
    plain(site, *TWO, "-r")
    run = front(site, *TWO, "--performance-report=now-1h:now/mean:/")
    assert (run.code, cases(run)) == (0, NAMES)


def test_list_stored_sessions(site: VirtualSite) -> None:
    front(site, *TWO)
    listed = [plain(site, "--list-stored-sessions"), front(site, "--list-stored-sessions")]
    assert [one.code for one in listed] == [0, 0]
    ids = [re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", one.out) for one in listed]
    assert len(ids[0]) == 1
    assert ids[0] == ids[1]


def test_list_stored_testcases(site: VirtualSite) -> None:
    plain(site, *TWO, "-r")
    for shown in (plain, front):
        listed = shown(site, "--list-stored-testcases=now-1h:now/mean:/")
        assert (listed.code, "small_message_latency" in listed.out) == (0, True)


def test_restore_session(site: VirtualSite) -> None:
    first = plain(site, *TWO, "-r", "--keep-stage-files")
    again = plain(site, *TWO, "-r", "--restore-session")
    assert [passed_count(one.out) for one in (first, again)] == [2, 2]
    run = front(site, *TWO)
    assert run.code == 0
    # Without a file it is the newest run of the site.
    assert "2 tests: 2 pass, 0 fail" in front(site, *TWO, "--restore-session").full_text


def test_restore_session_without_an_earlier_run(site: VirtualSite) -> None:
    refused = front(site, *TWO, "--restore-session")
    assert refused.code == 2
    assert "found no earlier run, expected one to restore; name its report: --restore-session=FILE" in refused.full_text


def test_mode(site: VirtualSite) -> None:
    (site.folder / "modes.py").write_text(
        'site_configuration = {"modes": [{"name": "quick", "options": ["-n OsuLatency"], "target_systems": ["*"]}]}\n'
    )
    two = ("-C", "modes.py", "--mode=quick")
    assert passed_count(plain(site, *two, "-r").out) == 1
    run = front(site, "-C", "reframe_settings.py", *two)
    assert (run.code, cases(run)) == (0, ["OsuLatency %rails=1"])


def test_an_unknown_mode_is_refused(site: VirtualSite) -> None:
    refused = front(site, *TWO, "--mode=nosuch")
    assert (refused.code, "invalid mode: 'nosuch'" in refused.full_text) == (2, True)


def test_ci_generate(site: VirtualSite) -> None:
    for shown, name in ((plain, "plain.yml"), (front, "front.yml")):
        made = shown(site, *TWO, f"--ci-generate={name}")
        assert made.code == 0
        assert "OsuLatency" in (site.folder / name).read_text(encoding="utf-8")


def test_report_junit(site: VirtualSite) -> None:
    run = front(site, *TWO, "--report-junit=of-reframe.xml")
    assert run.code == 0
    assert 'tests="2"' in (site.folder / "of-reframe.xml").read_text(encoding="utf-8")


def test_session_extras(site: VirtualSite) -> None:
    run = front(site, *TWO, "--session-extras", "firmware=20.41")
    assert run.code == 0
    (report,) = (site.folder / ".railyard/runs").glob("*/reframe-report.json")
    assert json.loads(report.read_text(encoding="utf-8"))["session_info"]["firmware"] == "20.41"


@pytest.mark.parametrize("option", ["--exec-order=random", "--maxfail=1", "--exec-policy=async", "--keep-stage-files"])
def test_order_and_policy(site: VirtualSite, option: str) -> None:
    run = front(site, *TWO, option)
    assert (run.code, cases(run)) == (0, NAMES)


def test_the_page_has_these_tests() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    here = {name for name in globals() if name.startswith("test_")} - {"test_the_page_has_these_tests"}
    assert named == here
