"""Old imports in a site's own files, from before the packages, work for one release and say what to change."""

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from railyard.base.old_addresses import MOVED, NAMES, RENAMED, addresses
from railyard.rfm.checks.catalogue import needs

#: The imports of the shipped checks before there were packages: a site's own checks are copies of them.
OF_CHECKS = """
from railyard.appcheck import ApplicationCheck, EveryNodeCheck, node_counts, stated, stated_names
from railyard.applicationtable import MILC_EDGES, WRF_CASES
from railyard.apps import alone, hpccinput, hpldat, hplplan, milcinput, milcrun, npbmzshape, npbshape, wrfcase
from railyard.benchmarktable import BIDIRECTIONAL, LOOPBACK
from railyard.cells import NPB_MZ
from railyard.check import InterconnectCheck, rail_policies
from railyard.installed import installed
from railyard.installedcheck import InstalledApplication
from railyard.launch import Launch
from railyard.osucheck import OsuCheck
from railyard.pairs import rounds
from railyard.pairs.bisection import shifts
from railyard.pairs.model import Round
from railyard.parsers import fabtests, gpcnet, hpcc, hpl, imb, iperf3, netpipe, npb, perftest, sharing, wrf
from railyard.parsers.output import ParsedOutput
from railyard.probes import PROBE_SIZE_BYTES
from railyard.railpolicies import DEFAULT
from railyard.rfm_fabric import FabricCheck
from railyard.rfm_pairs import PairsCheck
from railyard.siteconfig import build
from railyard.stacks import NIC_PER_RANK
from railyard.systems import Fabric
"""


def run_script(folder: Path, text: str) -> tuple[int, list[str], str]:
    """Run a file with these lines; return exit code, what railyard said about imports, and the last line."""
    file = folder / "mine.py"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    lines = done.stderr.replace(str(file), "mine.py").splitlines()
    return done.returncode, [line for line in lines if line.startswith("railyard: ")], lines[-1] if lines else ""


def test_what_the_shipped_checks_imported_is_found(tmp_path: Path) -> None:
    code, said, last = run_script(tmp_path, OF_CHECKS)
    assert code == 0, last
    assert len(said) == 24


def test_the_sentence_names_the_line_and_the_new_address(tmp_path: Path) -> None:
    lines = "import railyard\nfrom railyard.launch import Launch\nfrom railyard.stacks import NIC_PER_RANK\n"
    policy = "NIC_PER_RANK from railyard.stacks, which is in railyard.stacks.model now"
    end = "; change that line: the next release removes the old address"
    assert run_script(tmp_path, lines + "from railyard.systems import Fabric, load_systems")[:2] == (
        0,
        [
            f"railyard: mine.py:2 imports railyard.launch, which is railyard.job.launch now{end}",
            f"railyard: mine.py:3 imports {policy}{end}",
            "railyard: mine.py:4 imports railyard.systems, whose names are in railyard.site.systems.load, "
            f"railyard.site.systems.model and railyard.site.systems.stack_entry now{end}",
        ],
    )


def test_there_is_one_class_at_both_addresses(tmp_path: Path) -> None:
    text = (
        "from railyard.store.query import FoundRecords as found\nfrom railyard.results.store import query\n"
        "assert found is query.FoundRecords"
    )
    assert run_script(tmp_path, text)[0] == 0


@pytest.mark.parametrize(
    ("line", "last"),
    [
        (
            "from railyard.launch import Gone",
            "ImportError: Gone is not in railyard.launch, which is railyard.job.launch now, and not there either; see "
            "CHANGELOG.md",
        ),
        ("import railyard.nosuch", "ModuleNotFoundError: No module named 'railyard.nosuch'"),
        ("import railyard.store.nosuch", "ModuleNotFoundError: No module named 'railyard.store.nosuch'"),
    ],
)
def test_what_is_nowhere_is_an_error(line: str, last: str, tmp_path: Path) -> None:
    assert run_script(tmp_path, line)[::2] == (1, last)


def test_a_name_that_a_package_never_had_is_an_error(tmp_path: Path) -> None:
    assert run_script(tmp_path, "from railyard.stacks import nosuch")[2].startswith(
        "ImportError: cannot import name 'nosuch' from 'railyard.stacks'"
    )


def test_a_sites_own_check_is_found_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "checks" / "mine.py"
    file.parent.mkdir()
    file.write_text("from railyard.idlerails import *\n", encoding="utf-8")
    assert needs(file.parent) == ()
    assert capsys.readouterr().err == (
        f"railyard: {file}:1 imports railyard.idlerails, which is railyard.results.remarks now; change that line: "
        "the next release removes the old address\n"
    )
    del sys.modules["railyard.idlerails"]


def test_every_new_address_is_there_and_no_old_one() -> None:
    news = {new for old in MOVED for new in addresses(f"railyard.{old}")}
    assert [new for new in sorted(news) if find_spec(new) is None] == []
    folder = Path(__file__).parents[2] / "railyard"
    there = [old for old in MOVED if (folder / f"{old.replace('.', '/')}.py").exists()]
    assert there == []
    for package, modules in NAMES.items():
        for module, names in modules.items():
            found = vars(import_module(f"railyard.{package}.{module}"))
            assert [each for each in names.split() if RENAMED.get(each, each) not in found] == [], module
