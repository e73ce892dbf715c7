"""The job scripts of stacks in images, from the page's own YAML: tests/golden/containers.txt has one part for each.

A part has the look inside, the benchmark's launch, and the line of image.sh that starts a program.
"""

import re
from pathlib import Path

import pytest

from railyard.stacks.containers import CONTAINERS
from tests.e2e.conftest import CLONE
from tests.e2e.test_job_scripts import FEW, GOLDEN, SYSTEM, dry_run

pytestmark = pytest.mark.e2e

PAGE = CLONE / "docs/howto/containers.md"
#: The system of the other job scripts, without its stacks.
HEAD = SYSTEM.partition("stacks:\n")[0]
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def name_of(block: str) -> str:
    """Return the name of a block's part: its kind, and its launcher if that is not srun."""
    kind = re.search(r"kind: (\w+)", block)
    assert kind is not None
    return f"{kind[1]} with mpirun" if "launcher: mpirun" in block else kind[1]


PARTS = dict(
    part.split("\n", 1)
    for part in (GOLDEN / "containers.txt").read_text(encoding="utf-8").removeprefix("# ").split("\n# ")
)


@pytest.mark.parametrize("block", BLOCKS, ids=name_of)
def test_the_pages_yaml_gives_the_golden_script(tmp_path: Path, block: str) -> None:
    system = HEAD + block.replace("{", "{{").replace("}", "}}")
    also = ("sh image.sh", "export PATH", "[ -r", "rm -f counters")
    lines = dry_run(tmp_path, "slurm", "srun", "", FEW, system=system, also=also).splitlines()
    kept = [line for line in lines if not line.startswith("#SBATCH") and "backs" not in line]
    if any(" sh image.sh " in line for line in kept):
        (script,) = tmp_path.glob("out/stage/**/image.sh")
        kept.append(script.read_text(encoding="utf-8").splitlines()[-1].replace(str(tmp_path), "SITE"))
    text = re.sub(r"SITE/out/stage/made/ib/openmpi/OsuBandwidth_[0-9a-fA-FHS]+", "STAGE", "\n".join(kept))
    assert text.rstrip("\n") == PARTS[name_of(block)].rstrip("\n")


def test_the_page_says_of_each_kind_whether_it_ran() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    ran = {kind: entry.version.split()[0].rstrip(",") for kind, entry in CONTAINERS.items()}
    assert {kind: said.split(",")[0] for kind, said in rows[1:]} == ran


def test_every_part_has_its_yaml_on_the_page() -> None:
    assert sorted(PARTS) == sorted(map(name_of, BLOCKS))
