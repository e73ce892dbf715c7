"""docs/howto/your-spack.md as a site types it: its overlay, its commands, and what it shows below them."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.made import spack_site
from tests.made.fake_spack import digest
from tests.made.pages import CLONE, PageCommand, page_commands
from tests.made.spack_site import MadeSite

pytestmark = pytest.mark.e2e

PAGE = "docs/howto/your-spack.md"
TEXT = (CLONE / PAGE).read_text(encoding="utf-8")
OVERLAY, SCOPES = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
#: The folder of the page's site, which is another one here.
THEIRS = "/opt/site"
CARRIERS = {"openmpi": ("5.0.10", "libmpi.so.40"), "ucx": ("1.20.1", "libucp.so.0")}
#: Where the page says that something is so.
SYSTEM = spack_site.SYSTEM.replace("system: made", "system: mycluster").partition("  mpich:\n")[0]


@pytest.fixture
def site(tmp_path: Path) -> MadeSite:
    """The page's cluster: a Spack that has Open MPI and UCX, and the site's configuration, below another folder."""
    made, place = spack_site.make(tmp_path), tmp_path / "opt-site"
    trees = made.has_tree(place / "spack/opt/spack", CARRIERS)
    ucx = f"{place}/spack/opt/spack/ucx-1.20.1-{digest('ucx')}/lib/libucp.so.0"
    made.behave(trees=trees, libraries={"libucp.so.0": ucx})
    (place / "spack-configuration").mkdir()
    packages = "packages:\n  all: {target: [zen3]}\n  slurm: {buildable: False}\n"
    (place / "spack-configuration/packages.yaml").write_text(packages, encoding="utf-8")
    made.write("systems/spack/mycluster.yaml", OVERLAY.replace(THEIRS, str(place)))
    made.write("systems/mycluster.yaml", SYSTEM)
    references = (made.home / "references/made.yaml").read_text(encoding="utf-8")
    made.write("references/mycluster.yaml", references.replace("system: made", "system: mycluster"))
    for file in ("systems/made.yaml", "systems/spack/made.yaml", "references/made.yaml"):
        (made.home / file).unlink()
    return made


def call(command: PageCommand, site: MadeSite, *more: str) -> tuple[int, str]:
    program, *words = shlex.split(command.words)
    done = subprocess.run(
        [str(Path(sys.executable).with_name(program)), *words, *more], cwd=site.home, capture_output=True, text=True,
        check=False, env=site.environment(),
    )  # fmt: skip
    return done.returncode, (done.stdout + done.stderr).replace(f"{site.home.parent}/opt-site", THEIRS)


def test_the_page_as_it_is_typed(site: MadeSite) -> None:
    lint, install, status = (command for command in page_commands() if command.page == PAGE)
    code, text = call(lint, site)
    assert "0 files refused" in text and lint.missing_lines(text) == [], text
    code, text = call(install, site)
    assert (code, install.missing_lines(text)) == (0, []), text
    code, text = call(status, site)
    assert (code, status.missing_lines(text)) == (0, []), text
    assert {call["SPACK_DISABLE_LOCAL_CONFIG"] for call in site.calls} == {"1"}
    # The target is that of the included file, since nothing stronger names one.
    key = next((site.home / ".railyard/spack/mycluster/openmpi").glob("*/railyard.json"))
    assert '"target": "zen3"' in key.read_text(encoding="utf-8")


def test_the_scope_of_the_page_is_read_and_the_other_is_not(site: MadeSite) -> None:
    _, install, _ = (command for command in page_commands() if command.page == PAGE)
    site.write("systems/mycluster.yaml", SYSTEM + SCOPES)
    code, text = call(install, site)
    assert code == 0, text
    assert {call["SPACK_DISABLE_LOCAL_CONFIG"] for call in site.calls} == {None}


def test_a_library_of_elsewhere_is_refused_in_the_pages_words(site: MadeSite) -> None:
    _, install, _ = (command for command in page_commands() if command.page == PAGE)
    tree = str(site.home.parent / "opt-site/spack/opt/spack")
    trees = {name: {"version": version, "tree": tree} for name, (version, _) in CARRIERS.items()}
    site.behave(trees=trees, libraries={"libucp.so.0": "/usr/lib64/libucp.so.0"})
    code, text = call(install, site)
    (sentence,) = re.findall(r"`(wrong library linked: [^`]*)`", TEXT)
    words = [re.escape(part) for part in sentence.split("…")]
    assert code == 2 and re.search(".*".join(words), text), text
