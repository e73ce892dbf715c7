"""A site with a system of GPUs: eight H100 and eight NDR cards per node, written for the test."""

from pathlib import Path

import pytest

from railyard.site.site import Site, site_at
from railyard.site.systems.load import find_system

_RAILS = "\n".join(f"      - {{device: mlx5_{n}, port: 1, counters: mlx5}}" for n in range(8))
_NEAREST = ", ".join(f"mlx5_{n}: [{n}]" for n in range(8))
SYSTEM = f"""\
system: gpusys
description: Nodes of eight H100 and eight NDR cards
nodes: {{names: [node1, node2]}}
report_only: a made system has no references
gpus: {{per_node: 8, kind: NVIDIA H100 SXM5, nvlink: 4, slot: pcie5-x16, nearest: {{{_NEAREST}}}}}
fabrics:
  ib:
    description: Eight cards
    kind: ib
    link: ib-ndr
    slot: pcie5-x16
    rails:
{_RAILS}
stacks:
  openmpi: {{modules: [openmpi], benchmarks: {{osu: /opt/osu}}}}
"""


@pytest.fixture
def gpu_site(tmp_path: Path) -> Site:
    """Return the site of that system, which has no references."""
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "gpusys.yaml").write_text(SYSTEM, encoding="utf-8")
    return site_at(tmp_path, find_system(tmp_path / "systems", "gpusys").system)
