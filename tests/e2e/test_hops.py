"""A run on the virtual cluster is judged by the references for the number of hops that is stored for its two nodes."""

import pytest

from railyard.site.topology import FORMAT, StoredDistances, keep
from tests.e2e.conftest import VirtualSite, verdict_summary

pytestmark = [pytest.mark.e2e, pytest.mark.full]


def test_references_by_hops_hold_where_the_runs_hops_are_kept(site: VirtualSite) -> None:
    # The cluster has one switch per rail; here three are stored.
    site.edit("references/virtual.yaml", "  - id: one-rail\n", "  - id: one-rail\n    hops: 3\n")
    places = {"hsn0": {f"vn{n}": f"Leaf{n}" for n in range(1, 5)}}
    hops = {f"Leaf{n}": {f"Leaf{m}": 3 for m in range(1, 5) if m != n} for n in range(1, 5)}
    unknown = site.cell("ImbUniband", "mpich", 1)
    keep(site.folder, StoredDistances(FORMAT, "virtual", "hsn", places, hops))
    known = site.cell("ImbUniband", "mpich", 1)
    assert (unknown.code, verdict_summary(unknown.record)) == (1, ("fail", 5, "reference"))
    assert unknown.record.found.verdict.text.endswith(
        "; references by hops (3) were not used: it is not known how many switches are between its nodes (type: "
        "railyard fabric --keep-hops)"
    )
    assert (known.code, verdict_summary(known.record)) == (0, ("pass", None, None))
    assert "one-rail" in {band.id for curve in known.record.found.curves for band in curve.bands}
