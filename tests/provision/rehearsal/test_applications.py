"""What applications print in a rehearsal, read by the parsers that read genuine outputs, and held by their physics."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks import metrics
from railyard.benchmarks.apps import every_node
from railyard.benchmarks.apps import hpl as hpl_input
from railyard.benchmarks.apps import milc as milc_run
from railyard.benchmarks.apps import npb as npb_shape
from railyard.benchmarks.apps.installed_applications import Application
from railyard.benchmarks.model import physics_of
from railyard.benchmarks.table import micro
from railyard.parsers import gpcnet, hpcc, hpl, milc, npb, sharing, wrf
from railyard.parsers.output import ParsedOutput
from railyard.provision.rehearsal import applications
from railyard.provision.rehearsal.applications import CASE_FILE, Machine, text_of
from railyard.provision.rehearsal.prepare import write_wrf_cases
from railyard.provision.rehearsal.rank_ports import LibraryError
from railyard.site.site import Site
from tests.provision.rehearsal.conftest import NODES

SENTENCE = "made by a rehearsal, not a measurement"


@pytest.fixture
def machine(roomy: Site) -> Machine:
    """Four nodes of eight cores with a rank each, on a fast network."""
    return Machine(roomy, NODES, 32, 8, 1, 1.0, 45_000.0, 1.2, SENTENCE)


def milc_of_four(text: str) -> ParsedOutput:
    return milc_run.parse(text, 4)


CASES: list[tuple[str, str, str, Callable[[str], ParsedOutput]]] = [
    *(("npb", f"{kernel}.C.x", f"npb/{kernel.upper()}/C", npb.parse) for kernel in npb_shape.KERNELS),
    *(("npb-mz", f"{code}.C.x", f"npb/{code.upper()}/C", npb.parse) for code in npb_shape.ZONE_KERNELS),
    ("hpl", "xhpl", "hpl/hpl", hpl.parse),
    ("milc", "su3_rmd", "milc/asqtad/L6/4-nodes", milc_of_four),
    ("wrf", "wrf.exe", "wrf/wrf/conus12km-v4", wrf.parse),
    ("hpcc", "hpcc", "hpcc/Summary", hpcc.parse),
    ("gpcnet", "network_test", "gpcnet/network_test", gpcnet.parse),
    ("gpcnet", "network_load_test", "gpcnet/network_load_test", gpcnet.parse),
    ("sharing", "railyard-sharing", "sharing/two-ranks-a-processor", sharing.parse),
]


@pytest.mark.parametrize(("tool", "program", "key", "parse"), CASES)
def test_its_parser_reads_a_whole_run(
    machine: Machine, tmp_path: Path, tool: str, program: str, key: str, parse: Callable[[str], ParsedOutput]
) -> None:
    (tmp_path / "HPL.dat").write_text(hpl_input.text(hpl_input.Problem(40_000, 192, 4, 8, "asked", "")))
    (tmp_path / milc_run.FILE).write_text(milc_run.text(milc_run.lattice(6, 4)))
    (tmp_path / CASE_FILE).write_text("conus12km-v4\n")
    text = text_of(tool, program, tmp_path, replace(machine, case="conus12km-v4"))
    assert SENTENCE in text
    parsed = parse(text)
    assert parsed.failures == ()
    tables = [table for table in parsed.tables if table.tool == key.partition("/")[0] and not metrics.is_part(table)]
    assert len(tables) == 1 and tables[0].complete
    assert physics_of(micro.find(key)).wrong(key, tables) == ()
    found = {curve.metric: curve.values for curve in metrics.curves(tables[0], key)}
    assert set(found) >= {metric.name for metric in micro.find(key).metrics if not metric.optional}
    assert all(value > 0 for values in found.values() for value in values)
    assert applications.key_of(tool, program, tmp_path).startswith(key.removesuffix("/4-nodes"))


def test_hpl_says_how_many_processes_it_needs(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "HPL.dat").write_text(hpl_input.text(hpl_input.Problem(40_000, 192, 8, 8, "asked", "")))
    with pytest.raises(LibraryError, match="Need at least 64 processes"):
        text_of("hpl", "xhpl", tmp_path, machine)


def test_a_slow_network_and_half_of_the_cores_cost_what_they_should(machine: Machine, tmp_path: Path) -> None:
    def seconds(on: Machine, kernel: str) -> float:
        return float(npb.parse(text_of("npb", f"{kernel}.C.x", tmp_path, on)).tables[0].column("time")[0] or 0)

    slow, half = replace(machine, rate_mb_s=112.0, latency_us=30.0), replace(machine, computing=0.5)
    assert seconds(slow, "ft") > 3 * seconds(machine, "ft")
    assert seconds(slow, "ep") == seconds(machine, "ep")
    assert seconds(half, "ep") == pytest.approx(2 * seconds(machine, "ep"), rel=0.1)


def test_a_reference_is_met(machine: Machine, tmp_path: Path) -> None:
    text = text_of("npb", "ft.C.x", tmp_path, replace(machine, reference=12_345.6))
    assert npb.parse(text).tables[0].column("performance") == (12_345.6,)


@pytest.mark.parametrize(("tool", "parse"), [("stream", every_node.stream_of_nodes), ("hpl", every_node.hpl_of_nodes)])
def test_a_node_by_itself(machine: Machine, tmp_path: Path, tool: str, parse: Callable[[str], ParsedOutput]) -> None:
    (tmp_path / "HPL.dat").write_text(hpl_input.text(hpl_input.Problem(9600, 192, 1, 1, "asked", "")))
    alone = replace(machine, nodes=("n9",), ranks=1, ranks_per_node=1, threads=8)
    text = text_of(tool, "stream_c.exe", tmp_path, alone)
    parsed = parse(f"# railyard: node n9 tag\n{text}# railyard: end 0\n")
    value, passed = parsed.tables[0].rows[0][:2]
    assert parsed.failures == () and passed is True and isinstance(value, float) and value > 100


def test_an_installed_application_prints_what_its_patterns_read(machine: Machine, tmp_path: Path) -> None:
    stated = Application(
        figure=r"^TOTAL WALL CLOCK TIME *= *(?P<seconds>[0-9.]+)", success="^EXECUTION OF GAMESS TERMINATED NORMALLY"
    )
    system = machine.site.system.model_copy(update={"applications": {"gamess": stated}})
    text = text_of("gamess", "gamess", tmp_path, replace(machine, site=replace(machine.site, system=system)))
    assert "TERMINATED NORMALLY" in text and SENTENCE in text


def test_inputs_of_wrf_are_the_rehearsals_own(roomy: Site, tmp_path: Path) -> None:
    folder = Path(write_wrf_cases(tmp_path / "made", roomy.system)["conus12km-v4"])
    assert applications.key_of("wrf", "wrf.exe", folder) == "wrf/wrf/conus12km-v4"
    with pytest.raises(RailyardError, match="found no rehearsed-case in its inputs"):
        applications.key_of("wrf", "wrf.exe", tmp_path)


def test_what_has_no_stand_in_is_named(machine: Machine, tmp_path: Path) -> None:
    with pytest.raises(RailyardError, match=r"the rehearsal has no stand-in for linpack \(lp\): it has them for npb"):
        applications.key_of("linpack", "lp", tmp_path)
    assert milc.TOOL in applications.KNOWN
