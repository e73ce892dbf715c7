"""One run of the virtual cluster as its evidence: an IMB output, one counters file per node, and what was asked for.

It also applies to every test: interrupts reach it, and a disturbed test is counted as such.
"""

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from railyard.site.site import Site, site_at
from railyard.stacks import model
from railyard.verdict.assess import Assessment
from tests import disturbances, faults
from tests.made.judged_run import counters_file, healthy_rates, imb_output, run_of_cell

# No time limit for properties: on a busy machine they would fail. `make test-all` tries as many cases as hypothesis
# does by default.
settings.register_profile("thorough", deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=15)
settings.load_profile("quick")

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure() -> None:
    """Have all tests print as for a file, whatever a shell, or pytest-xdist in its processes, says of a terminal."""
    for name in ("COLUMNS", "NO_COLOR"):
        os.environ.pop(name, None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the garbage collector leave the collected tests alone: they stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, tuple[str, Mapping[str, bool]]] | None:
    """Count a disturbed test as such, in pytest's closing line too: it neither failed nor passed."""
    return None if disturbances.why(report) is None else ("disturbed", "d", ("DISTURBED", {"yellow": True}))


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    """List the disturbed tests with what disturbed them."""
    found = terminalreporter.getreports("disturbed")
    if found:
        terminalreporter.section("disturbed: measured, and judged by nobody")
        for report in found:
            terminalreporter.write_line(f"{report.nodeid}: {disturbances.why(report)}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the faults of all collected tests, before any test is left out, for the page that shows them."""
    config.stash[faults.COLLECTED] = faults.rows_of(items)


@pytest.fixture
def promise(request: pytest.FixtureRequest) -> str:
    """Return what the marker ``fault(layer, planted, said)`` of a test promises: the test looks for it."""
    marker = request.node.get_closest_marker("fault")
    assert marker is not None, "the fixture `promise` is for tests with the marker fault(layer, planted, said)"
    return str(marker.args[2])


@pytest.fixture(scope="session", autouse=True)
def interrupts_reach_children() -> Iterator[None]:
    """Handle SIGINT and SIGHUP as under a terminal: a background or nohup ignores them, and so would children."""
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler)}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def declared_stacks_end_with_their_test() -> Iterator[None]:
    """Forget the stacks that the test's systems declare: the table of stacks keeps them as long as a process runs."""
    before = set(model.STACKS)
    yield
    for name in model.STACKS.keys() - before:
        del model._known[name]


@pytest.fixture(scope="session")
def virtual() -> Site:
    """A virtual cluster with rails of 400 Mbit/s and its references, which fit synthetic outputs and recorded ones.

    The committed cluster is slower, so a busy machine can keep up with it.
    """
    return site_at(ROOT / "tests/sites/shaped400", "virtual")


@pytest.fixture
def imb_text() -> Callable[..., str]:
    """Return a function that returns the output of a healthy Uniband over one rail, or one with the given rates."""
    return lambda rates=None: imb_output("imb/Uniband", rates or healthy_rates("hsn", 1), 1)


@pytest.fixture
def counters_text() -> Callable[..., str]:
    """Return a function that returns the counters file of a node that should use hsn0, with its last line."""
    return lambda node, moved, end="end 0": counters_file(node, moved, ("hsn0",), end)


@pytest.fixture
def assess_cell(virtual: Site) -> Callable[..., Assessment]:
    """Return a function that assesses a healthy run of one cell, with the changes of the test (``run_of_cell``)."""
    return partial(run_of_cell, virtual)
