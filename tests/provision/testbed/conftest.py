"""Fixtures of the virtual cluster's tests: real namespaces, skipped with the reason if this machine refuses them."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from railyard.provision.testbed.boot import namespaces_refused
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.spec import Network, TestbedSpec

ORDINARY_USER = 65534  # nobody: any uid that is not root will do

SMALL = TestbedSpec(
    ("alpha", "beta"),
    (Network("management", "eth0", "10.98.0.0/24", None), Network("rail", "hsn0", "10.98.1.0/24", 400.0)),
)


@pytest.fixture(scope="session")
def namespaces() -> None:
    refused = namespaces_refused()
    if refused is not None:
        pytest.skip(refused)


@pytest.fixture(scope="module")
def bed(namespaces: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """Return the default testbed, up for all tests of a module."""
    with Testbed(tmp_path_factory.mktemp("home")) as bed:
        yield bed


@pytest.fixture(params=["as we are", "as an ordinary user"])
def user_words(request: pytest.FixtureRequest, namespaces: None) -> list[str]:
    """Return the words before a command that make it run as this user, without capabilities."""
    if request.param == "as we are":
        return []
    if os.geteuid() != 0:
        pytest.skip("only root can become another user; this run is an ordinary user's already")
    words = ["setpriv", f"--reuid={ORDINARY_USER}", f"--regid={ORDINARY_USER}", "--clear-groups"]
    tried = subprocess.run(
        [*words, sys.executable, "-c", "import railyard.provision.testbed.cluster"], capture_output=True, text=True
    )
    if tried.returncode:
        pytest.skip("an ordinary user cannot read this Python or this clone")
    unshared = subprocess.run([*words, "unshare", "--user", "--map-root-user", "true"], capture_output=True, text=True)
    if unshared.returncode:
        pytest.skip(f"ordinary users may not make user namespaces here: {unshared.stderr.strip()}")
    return words


@pytest.fixture
def open_home() -> Iterator[Path]:
    """Return a home folder that an ordinary user can own (pytest's own folders are only for root)."""
    folder = Path(tempfile.mkdtemp(prefix="railyard-test-"))
    (folder / "systems").mkdir()
    if os.geteuid() == 0:
        os.chown(folder, ORDINARY_USER, ORDINARY_USER)
    folder.chmod(0o777)
    yield folder
    Testbed(folder).take_down()
    shutil.rmtree(folder)


@pytest.fixture
def small() -> TestbedSpec:
    """Return a spec of two nodes, an unshaped management network and one rail."""
    return SMALL
