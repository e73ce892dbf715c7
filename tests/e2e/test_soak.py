"""`railyard soak` on the real virtual cluster: what it names, and what is left when it is killed."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from railyard.provision.testbed.boot import find_inside
from railyard.provision.testbed.lock import measurement_lock
from tests.e2e.conftest import RAILYARD, VirtualSite, make_site
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.usefixtures("cluster")]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[VirtualSite]:
    made = make_site(tmp_path)
    yield made
    made.bed().take_down()


def kept_lines(site: VirtualSite) -> list[str]:
    """Return the lines that the site's soaks have kept so far."""
    return [line for path in site.folder.glob(".railyard/soaks/*.jsonl") for line in path.read_text().splitlines()]


@contextlib.contextmanager
def run_soak(site: VirtualSite, minutes: str) -> "Iterator[subprocess.Popen[str]]":
    """Keep a soak running once it has taken three readings."""
    with site.start(*RAILYARD, "soak", "--minutes", minutes, "--every", "2") as running:
        try:
            end = time.monotonic() + PATIENCE_S
            while len(kept_lines(site)) < 4:
                assert running.poll() is None and time.monotonic() < end
                time.sleep(0.1)
            yield running
        finally:
            running.kill()


def test_a_rail_that_flaps_during_a_soak_is_named_alone(site: VirtualSite) -> None:
    bed = site.bed_of_system()
    bed.bring_up()
    with measurement_lock(lambda sentence: None, site.folder), run_soak(site, "0.5") as running:
        for _ in range(2):
            bed.degrade("vn3", "hsn0", "unplugged")
            time.sleep(1)
            bed.restore("vn3", "hsn0")
            time.sleep(4)
        out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 1, err
    assert [line.split(", first")[0] for line in out.splitlines() if "went up or down" in line] == [
        "problem: vn3 hsn0: its link went up or down 4 times"
    ]
    assert "12 rails, " in out.splitlines()[-1]


def test_what_a_killed_soak_read_is_judged_and_its_streams_end_with_it(site: VirtualSite) -> None:
    bed = site.bed_of_system()
    bed.bring_up()
    with measurement_lock(lambda sentence: None, site.folder), run_soak(site, "60") as running:
        running.kill()
        running.wait()
        held = 1 + len(bed.spec.nodes)
        end = time.monotonic() + 20
        while len(find_inside(bed.state().first)) > held and time.monotonic() < end:
            time.sleep(0.1)
        assert len(find_inside(bed.state().first)) == held, "streams run on"
    (file,) = site.folder.glob(".railyard/soaks/*.jsonl")
    with site.start(*RAILYARD, "soak", "--from", str(file)) as judging:
        out, err = judging.communicate(timeout=PATIENCE_S)
    assert (judging.returncode, err) == (0, "")
    assert out.splitlines()[-1].startswith("12 rails, ")
