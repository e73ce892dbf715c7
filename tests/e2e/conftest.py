"""What the end-to-end tests share: a site for each test, and `railyard run` in it as a person types it."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from railyard.provision.rehearsal import prepare
from railyard.provision.replay.form import Recording
from railyard.provision.replay.index import folder_of, read_index, recording_of, write_set
from railyard.provision.testbed.boot import namespaces_refused
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.lock import measurement_lock
from railyard.provision.testbed.spec import spec_of
from railyard.results.record.file import FILE_NAME, read_records
from railyard.results.record.form import Record
from railyard.rfm.run.reframe import GRACE_S
from railyard.site.matrix import DEFAULT
from railyard.site.reframe_versions import choose, release_here
from railyard.site.systems.load import load_system
from tests import disturbances
from tests.e2e import rehearsals
from tests.patience import PATIENCE_S

CLONE = Path(__file__).parents[2]
RAILYARD = (sys.executable, "-m", "railyard")
REFRAME = str(Path(sys.executable).with_name("reframe"))
STACKS = ("mpich", "openmpi", "intelmpi")
#: A rehearsal of all extended checks, on a machine that others use too.
REHEARSAL_PATIENCE_S = 3600
#: A run repeats a disturbed measurement up to three times, and measures each rail alone after each failure.
RUN_PATIENCE_S = 3 * PATIENCE_S
#: The state of a test whose measurement was disturbed, also when it was repeated.
DISTURBED: str = "disturbed"


#: One more entry in the table of references, which must hold like all others.
ANOTHER = """
  - id: of-another-system
    fabric: hsn
    rails: 2
    benchmark: BENCHMARK
    metric: bandwidth
    unit: MB/s
    directions: 1
    kind: published
    floor: FLOOR
    sizes: {from: 1M}
    source: {document: a faster system, date: 2026-11-21}
"""


@dataclass(frozen=True)
class Ran:
    """How a command ended, what it printed, how long it measured (without its wait for the lock), and its records."""

    code: int
    out: str
    err: str
    elapsed_s: float
    records: tuple[Record, ...]

    @property
    def record(self) -> Record:
        """The one record of a run of one cell."""
        (only,) = self.records
        return only

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def full_text(self) -> str:
        """The whole output with one blank between words."""
        return " ".join((self.out + self.err).split())


def end(running: "subprocess.Popen[str]") -> None:
    """End a command that still runs, as after Ctrl-C in pytest: it ends ReFrame and its jobs, then what is left of it.

    A SIGKILL at once would leave all that is in sessions of their own.
    """
    if running.poll() is not None:
        return
    running.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.communicate(timeout=GRACE_S + 10)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)


@dataclass(frozen=True)
class VirtualSite:
    """A site folder with the clone's system, references and checks for editing, and the clone's own stacks.

    ``prefix`` comes before each command (to run it as another user, say).
    """

    folder: Path
    prefix: tuple[str, ...] = ()

    def bed(self) -> Testbed:
        """Return the site's virtual cluster, not yet up."""
        return Testbed(self.folder)

    def bed_of_system(self) -> Testbed:
        """Return the cluster from the site's own systems/virtual.yaml, which a test may have edited."""
        return Testbed(self.folder, spec_of(load_system(self.folder / "systems/virtual.yaml")))

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text that must be in one of the site's files."""
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def environment(self) -> dict[str, str]:
        """Return the variables of a command in this site; ReFrame gets none of the test's own settings."""
        kept = {
            name: text
            for name, text in os.environ.items()
            if name != "COLUMNS" and not name.startswith(("RFM_", "RAILYARD_RUN"))
        }
        return {**kept, "RAILYARD_HOME": str(self.folder)}

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start a command in a process group of its own, as a shell does."""
        return subprocess.Popen(
            [*self.prefix, *words],
            cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def finish(self, *words: str, patience_s: float = RUN_PATIENCE_S) -> Ran:
        """Run a command that does not measure; it must end in time."""
        begun = time.monotonic()
        with self.start(*words) as running:
            try:
                out, err = running.communicate(timeout=patience_s)
            finally:
                end(running)
        # Pytest shows these only if the test fails: then a cell's own sentence, not only its exit code.
        print(out)
        print(err, file=sys.stderr)
        return Ran(running.returncode, out, err, time.monotonic() - begun, self.records())

    def call(self, *words: str, disturbed_too: bool = False) -> Ran:
        """Run a command when nobody else measures; end the test if it was disturbed anyway (`undisturbed`).

        ``disturbed_too``: the test wants to see a disturbed run.
        """
        with measurement_lock(lambda sentence: None, self.folder):
            ran = self.finish(*words)
        return ran if disturbed_too else skip_disturbed(ran)

    def run(self, *options: str, disturbed_too: bool = False) -> Ran:
        """Return the result of `railyard run` with these options."""
        return self.call(*RAILYARD, "run", *options, disturbed_too=disturbed_too)

    def cell(
        self, check: str, stack: str, rails: int, *options: str, fabric: str = "hsn", disturbed_too: bool = False
    ) -> Ran:
        """Return the result of `railyard run` for one cell of the matrix, with the stack's own rail policy."""
        named = ("-n", f"{check}%rails={rails}", "-p", stack, *choose(release_here(), "policy", DEFAULT))
        return self.run("--system", f"virtual:{fabric}", *named, *options, disturbed_too=disturbed_too)

    def run_folders(self) -> list[Path]:
        return sorted((self.folder / ".railyard/runs").glob("*"))

    def records(self) -> tuple[Record, ...]:
        """Return the records of the newest run, the last one of each case."""
        folders = self.run_folders()
        file = folders[-1] / FILE_NAME if folders else None
        if file is None or not file.exists():
            return ()
        return tuple({record.test.case: record for record in read_records(file).records}.values())


def skip_disturbed(ran: Ran) -> Ran:
    """Return the given result; end the test if this machine disturbed a measurement: then it means nothing."""
    for record in ran.records:
        if record.found.state == DISTURBED:
            disturbances.skip(f"{record.test.case}: {record.found.verdict.text}")
    return ran


def make_site(folder: Path) -> VirtualSite:
    """Fill a folder with the clone's settings, systems, references and checks, and a link to its stacks."""
    for name in ("systems", "references", "checks"):
        shutil.copytree(CLONE / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CLONE / "reframe_settings.py", folder)
    (folder / ".stacks").symlink_to(CLONE / ".stacks")
    return VirtualSite(folder)


def make_replay_site(folder: Path) -> VirtualSite:
    """Fill a folder like ``make_site``, with the clone's recordings in place of stacks: nothing is measured."""
    site = make_site(folder)
    (folder / ".stacks").unlink()
    shutil.copytree(CLONE / "recordings", folder / "recordings")
    return site


def by_hand(*options: str) -> tuple[str, ...]:
    """Return the words of a plain `reframe` that runs the site's checks."""
    return (REFRAME, "--nocolor", "-C", "reframe_settings.py", "-c", "checks", "-R", "-r", *options)


def expect_of_another(site: VirtualSite, floor_mb_s: str, benchmark: str = "imb/Uniband") -> None:
    """Add another system's value of a benchmark over two rails to the site's references."""
    entry = ANOTHER.replace("FLOOR", floor_mb_s).replace("BENCHMARK", benchmark)
    site.edit("references/virtual.yaml", "\nfacts:\n", f"{entry}\nfacts:\n")


@pytest.fixture(scope="session")
def able() -> None:
    """Skip, with the reason, if there can be no virtual cluster with MPI stacks here."""
    refused = namespaces_refused()
    if refused is not None:
        pytest.skip(refused)
    missing = [stack for stack in STACKS if not (CLONE / ".stacks" / stack).is_dir()]
    if missing:
        pytest.skip(f"{CLONE}/.stacks has no {' and no '.join(missing)}: run `make stacks`")


@pytest.fixture(scope="session")
def cluster(able: None) -> None:
    """The fixture of a test that measures on the virtual cluster: its mark comes from this name."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that measure on the virtual cluster: `make test` runs them after all others, one at a time.

    The tests of this folder come first: they take longest, and at the end no core should wait for another.
    """
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.measures)
    here = str(Path(__file__).parent)
    items.sort(key=lambda item: not str(item.path).startswith(here))


@pytest.fixture(scope="module")
def machine() -> Iterator[None]:
    """Hold the machine's measurement lock for all tests of a module; else each would queue for it."""
    with measurement_lock(lambda sentence: None):
        yield


@pytest.fixture
def sites(able: None) -> Iterator[Callable[[], VirtualSite]]:
    """Return a function that makes a site in its own folder; at the end all clusters are down and all folders gone."""
    folders: list[Path] = []

    def make() -> VirtualSite:
        # Not pytest's own folders, which only root may enter: an ordinary user may have to get here.
        folders.append(Path(tempfile.mkdtemp(prefix="railyard-site-")))
        folders[-1].chmod(0o755)
        return make_site(folders[-1])

    yield make
    for folder in folders:
        Testbed(folder).take_down()
        shutil.rmtree(folder)


@pytest.fixture
def new_site(cluster: None, sites: Callable[[], VirtualSite]) -> Callable[[], VirtualSite]:
    """Return a function that makes a site whose cluster is measured."""
    return sites


@pytest.fixture
def site(new_site: Callable[[], VirtualSite]) -> VirtualSite:
    return new_site()


@pytest.fixture
def unmeasured_site(sites: Callable[[], VirtualSite]) -> VirtualSite:
    """Return a site for a test that judges no figure: other work on this machine does not matter."""
    return sites()


@pytest.fixture
def rehearsed_site(request: pytest.FixtureRequest) -> Iterator[VirtualSite]:
    """Return a site of its own with every system that is rehearsed; at the end its rehearsal is down and gone.

    The test is skipped, with the reason, if the scheduler of its rehearsal ``one`` cannot come up; without one: Slurm.
    """
    one = request.node.callspec.params.get("one") if hasattr(request.node, "callspec") else None
    system = "ndr" if one is None else one.system
    refused = prepare.find_refusal(prepare.scheduler_of(load_system(rehearsals.file_of(system, "systems"))))
    if refused is not None:
        pytest.skip(refused)
    folder = Path(tempfile.mkdtemp(prefix="railyard-site-"))
    for name in ("rehearsed/systems", "rehearsed/references", "published/systems"):
        shutil.copytree(CLONE / "tests/sites" / name, folder / Path(name).name, dirs_exist_ok=True)
    shutil.copy(CLONE / "reframe_settings.py", folder)
    yield VirtualSite(folder)
    prepare.end_nodes(folder)
    shutil.rmtree(folder)


def rehearse(site: VirtualSite, *words: str) -> tuple[Ran, tuple[Record, ...]]:
    """Return what a rehearsal printed, and its records."""
    ran = site.finish(*RAILYARD, "rehearse", *words, patience_s=REHEARSAL_PATIENCE_S)
    folders = sorted((site.folder / ".railyard/rehearsals").glob("2*"))
    return ran, read_records(folders[-1]).records if folders else ()


def suspects(record: Record) -> set[tuple[str, str | None, str | None]]:
    """Return (kind, node, rail) of all suspects of a verdict."""
    return {(one.kind, one.node, one.rail) for one in record.found.verdict.suspects}


def verdict_summary(record: Record) -> tuple[str, int | None, str | None]:
    """Return state, rule and class of a verdict."""
    return record.found.state, record.found.verdict.rule, record.found.verdict.class_


def outcomes(records: tuple[Record, ...]) -> Mapping[str, tuple[str, int | None, str | None]]:
    """Return state, rule and class of each case."""
    return {record.test.case: verdict_summary(record) for record in records}


def replace_recording(home: Path, system: str, fabric: str, check: str, text: str) -> Recording:
    """Replace a recording with another output, and list it in the index as if it were right."""
    folder = folder_of(home, system)
    (old,) = (one for one in read_index(folder).recordings if (one.fabric, one.check) == (fabric, check))
    new = recording_of(old.test, text, old.origin, "a test", "another output")
    write_set(folder, [(new, text)])
    return new
