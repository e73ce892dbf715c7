"""From measured runs to a reference and back: capture, edit, lint, and a run that is compared with it."""

import re

import pytest

from tests import disturbances
from tests.e2e.conftest import RAILYARD, VirtualSite

pytestmark = [pytest.mark.e2e, pytest.mark.full]

ID = "baseline-hsn-intelmpi-1-rail-imb-Uniband-bandwidth"


def test_capture_then_edit_then_lint_then_run(site: VirtualSite) -> None:
    with site.bed() as bed:
        measured = site.cell("ImbUniband", "intelmpi", 1, "--repeat=5")
        assert (measured.code, len(measured.records)) == (0, 5), measured.out
        (_, *_, last) = measured.records
        assert (last.where.scheduler, last.test.benchmark_version, last.how.variables["I_MPI_FABRICS"]) == (
            "local",
            "2021.11",
            "ofi",
        )
        (group,) = last.where.hardware
        assert group.nodes == ("vn1", "vn2")
        assert {"kernel", "processor", "logical_processors"} <= set(group.facts)
        assert group.devices["hsn0"]["mtu"] == "1500"
        assert any(name.startswith("libmpi.so.12 => ") for name in last.how.linked)

        refused = site.call(*RAILYARD, "capture", "--system", "virtual")
        assert refused.code == 2
        assert (
            "found 1 set of nodes in 1 job, expected 3 and 2; repeat on other nodes, or use --quick"
            in refused.full_text
        )
        written = site.call(*RAILYARD, "capture", "--system", "virtual", "--quick", "--write")
        if "spread too far at every size" in written.full_text:
            disturbances.skip(written.full_text)
        assert written.code == 0
        assert f"+  - id: {ID}" in written.lines
        assert "+        capture: quick" in written.lines

        table = (site.folder / "references/virtual.yaml").read_text(encoding="utf-8")
        tolerance = re.search(r"bandwidth: \{low: (0\.\d+)\}", table)
        assert tolerance is not None and 0.02 <= float(tolerance[1]) <= 0.25
        site.edit("references/virtual.yaml", tolerance[0], "bandwidth: {low: 0.06}")
        assert site.call(*RAILYARD, "lint", "--system", "virtual").code == 0

        held = site.cell("ImbUniband", "intelmpi", 1)
        assert (held.code, held.record.found.state) == (0, "pass")
        assert ID in held.record.found.references
        # so low that it misses only the captured reference
        head = "benchmark: [imb/Uniband, osu/osu_bw]\n    metric: bandwidth\n    unit: MB/s\n    kind: class\n"
        entry = head + "    floor: {of: data-rate, fraction: "
        site.edit("references/virtual.yaml", f"{entry}0.9}}", f"{entry}0.4}}")
        bed.degrade("vn2", "hsn0", "slow", 60)
        failed = site.cell("ImbUniband", "intelmpi", 1)
        assert (failed.code, failed.record.found.verdict.rule) == (1, 5)
        assert ID in failed.record.found.verdict.text
