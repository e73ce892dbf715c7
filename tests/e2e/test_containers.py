"""A stack in an image, on the virtual cluster: MPICH and IMB are only inside, and the image is proven from inside."""

import re
import shutil
import subprocess
import tempfile

import pytest

from tests.e2e.conftest import CLONE, VirtualSite, verdict_summary
from tests.made.image import make_image

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.usefixtures("machine")]

#: Kind -> the program that starts it, the image's name, and options. A test is skipped where the program is missing.
KINDS = {
    # Root has fewer capabilities here than Apptainer gives to root without a user namespace.
    "apptainer": ("apptainer", "image.sif", "[--userns]"),
    "charliecloud": ("ch-run", "image", "[]"),
}
IN_IMAGE = """\
  mpich:
    container:
      kind: KIND
      image: "{home}/IMAGE"
      mounts: [FOLDER]
      options: OPTIONS
      host_prefix: .stacks/mpich
    prefix: PREFIX
    benchmarks:
      imb: /opt/imb/bin/IMB-MPI1
    env:
      LD_LIBRARY_PATH: /opt/mpich/lib
"""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    # ch-run mounts the node's own /tmp inside, and no other folder below it.
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    name: str = request.param
    program, *_ = KINDS[name]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not on PATH: nothing starts an image of {name} here")
    return name


@pytest.fixture
def image_site(kind: str, site: VirtualSite) -> VirtualSite:
    """Return a site whose MPICH is in an image of this kind."""
    use_image(site, kind)
    stacks = CLONE / ".stacks"
    files = {stacks / "mpich/lib": "/opt/mpich/lib", stacks / "intelmpi/bin/IMB-MPI1": "/opt/imb/bin/IMB-MPI1"}
    image = site.folder / "image"
    make_image(image, files, (stacks / "mpich/lib").resolve())
    # ch-run makes no folder in an image.
    (image / str(site.folder).lstrip("/")).mkdir(parents=True, exist_ok=True)
    if kind == "apptainer":
        words = ["apptainer", "build", "--userns", str(site.folder / "image.sif"), str(image)]
        subprocess.run(words, check=True, capture_output=True)
    return site


def use_image(site: VirtualSite, kind: str, prefix: str = "/opt/mpich") -> None:
    """Replace the entry of MPICH in the system's file."""
    file = site.folder / "systems/virtual.yaml"
    before, rest = file.read_text(encoding="utf-8").split("  mpich:\n", 1)
    after = rest[rest.index("  intelmpi:\n") :]
    _, image, options = KINDS[kind]
    words = {"KIND": kind, "PREFIX": prefix, "IMAGE": image, "OPTIONS": options, "FOLDER": str(site.folder)}
    entry = IN_IMAGE
    for word, value in words.items():
        entry = entry.replace(word, value)
    file.write_text(f"{before}{entry}{after}", encoding="utf-8")


def test_a_stack_in_an_image_is_measured_and_proven_inside(image_site: VirtualSite, kind: str) -> None:
    with image_site.bed():
        record = image_site.cell("ImbUniband", "mpich", 2).record
    assert verdict_summary(record) == ("pass", None, None), record.found.verdict.text
    assert record.how.path_proof is not None
    assert record.how.path_proof.state == "proven"
    assert "libmpi.so.12 => /opt/mpich/lib/libmpi.so.12" in record.how.linked
    said = str(record.how.environment["container"])
    assert re.fullmatch(rf"(?i){kind} {image_site.folder}/image(\.sif)? \(\d+ bytes, changed 20[-0-9T:]+Z\)", said)
    assert not re.search("not proven|never ran|not read", record.found.verdict.text)


def test_another_mpi_inside_than_the_files_is_refused(image_site: VirtualSite, kind: str) -> None:
    use_image(image_site, kind, prefix="/opt/other")
    with image_site.bed():
        record = image_site.cell("ImbUniband", "mpich", 1).record
    assert verdict_summary(record)[:2] == ("fail", 1)
    assert "imb/Uniband is linked to /opt/mpich/lib/libmpi.so.12, expected libmpi.so.12 of /opt/other" in (
        record.found.verdict.text
    )
