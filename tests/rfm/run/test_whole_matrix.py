"""The matrix promises exactly the tests that ReFrame loads, for each rehearsed system with all extended checks.

A whole run fails for a cell that is promised and not loaded, so that no site may have one.
"""

import re
import shutil
from pathlib import Path

import pytest

from railyard.rfm.checks.catalogue import needs
from railyard.rfm.run.reframe import environment, promised_cases, reframe_command
from railyard.site.matrix import matrix
from railyard.site.references.load import references_of
from railyard.site.systems.load import load_system

CLONE = Path(__file__).parents[3]
REHEARSED = CLONE / "tests/sites/rehearsed"
#: InfiniBand with GPUs and Slingshot under srun, and one with mpirun. The others ask ReFrame in the same way.
DAILY = {"fat", "slingshot", "mpirun"}
SYSTEMS = [
    pytest.param(name, marks=() if name in DAILY else pytest.mark.full)
    for name in sorted(path.stem for path in (REHEARSED / "systems").glob("*.yaml"))
]


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_cell_that_runs_is_a_test_and_every_test_a_cell(name: str, tmp_path: Path) -> None:
    for folder in ("systems", "references"):
        shutil.copytree(REHEARSED / folder, tmp_path / folder)
    shutil.copy(CLONE / "reframe_settings.py", tmp_path)
    for file in (tmp_path / "systems").iterdir():  # this machine has no modules
        file.write_text(re.sub(r"^modules_system: .*\n", "", file.read_text(), flags=re.MULTILINE))
    system = load_system(tmp_path / "systems" / f"{name}.yaml")
    cells = matrix(system, needs(CLONE / "checks"), references_of(tmp_path / "references", system).has_number)
    loaded, problems = promised_cases(
        reframe_command(tmp_path, name, []), environment(tmp_path, "run", tmp_path / "run")
    )
    assert problems == ()
    # A check without rails, such as FabricState, belongs to no cell.
    tests = {(one.check, one.fabric, one.stack, one.rails) for one in loaded if one.rails}
    assert {(c.test.check, c.test.fabric, c.test.stack, c.test.rails) for c in cells if c.reason is None} == tests
