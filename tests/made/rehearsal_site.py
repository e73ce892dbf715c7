"""A synthetic site to rehearse: two NDR rails per node, 2 x 56 cores, under Slurm. No such cluster was ever seen."""

from pathlib import Path

from railyard.site.systems.load import load_system
from railyard.site.systems.model import System

NODES = ", ".join(f"n{number}" for number in range(1, 17))
LEAVES = "leaf_switches: {leaf1: 'n[1-8]', leaf2: 'n[9-16]'}"
TEXT = f"""\
system: ndr
description: Two NDR rails
scheduler: slurm
launcher: srun
jobs: {{account: abc, partition: compute, constraint: ndr&hbm, gres: "gpu:h100:4", reservation: tests, exclusive: true}}
nodes:
  names: [{NODES}]
  hardware: {{cores: 112, memory: 500G, base_ghz: 2.0, turbo_ghz: 3.8}}
report_only: a made system has no references
fabrics:
  ndr:
    description: Two cards a node
    kind: ib
    link: ib-ndr
    slot: pcie5-x16
    {LEAVES}
    rails:
      - {{device: mlx5_0, port: 1, counters: mlx5}}
      - {{device: mlx5_1, port: 1, counters: mlx5}}
stacks:
  openmpi: {{modules: [openmpi], benchmarks: {{osu: /opt/osu}}}}
"""


def site(folder: Path, *changes: tuple[str, str]) -> System:
    """Return the system from a file in this folder; each change replaces a part of the text."""
    text = TEXT
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    file = folder / "ndr.yaml"
    file.write_text(text, encoding="utf-8")
    return load_system(file)
