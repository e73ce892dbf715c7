"""libcxi's writes between two cards of Slingshot, in a rehearsal: what they print and what they move."""

from pathlib import Path

import pytest

from railyard.job.client_server import ClientAndServer, scripts
from railyard.parsers import cxi, rail_parts
from railyard.provision.rehearsal.benchmark_request import parse_words
from railyard.site.site import Site, site_at
from tests.made.sysfs import Tree
from tests.provision.rehearsal.conftest import Bed

#: A server is asked by its node's name: this one is found without a name service.
NODES = ("n9", "127.0.0.1")
SYSTEM = """\
system: roomy
description: Two cards of Slingshot a node
provider: nodes
scheduler: slurm
launcher: srun
nodes: {names: [n8, n9, n10, n11]}
report_only: nobody has measured it yet
fabrics:
  hsn:
    description: Slingshot 11
    kind: slingshot
    link: slingshot-11
    slot: pcie4-x16
    rails:
      - {device: cxi0, counters: cxi}
      - {device: cxi1, counters: cxi}
stacks:
  cxi:
    prefix: /usr
    benchmarks: {cxi: cxi}
"""


@pytest.fixture
def roomy(tmp_path: Path) -> Site:
    """The site alone, in place of the one with InfiniBand."""
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    (tmp_path / "systems/roomy.yaml").write_text(SYSTEM)
    return site_at(tmp_path, "roomy")


@pytest.mark.parametrize(
    ("words", "key", "ways"), [(("-b",), "/bidirectional", 2), pytest.param((), "", 1, marks=pytest.mark.full)]
)
def test_writes_are_summed_over_two_cards_and_their_path_is_proven(
    bed: Bed, words: tuple[str, ...], key: str, ways: int
) -> None:
    bed.trees = {node: Tree.empty_node(bed.root / "slingshot" / node, node) for node in NODES}
    for tree in bed.trees.values():
        for number in range(2):
            names = ("hni_sts_tx_ok_octets", "hni_sts_rx_ok_octets")
            tree.slingshot(f"cxi{number}", f"hsn{number}", dict.fromkeys(names, 9))
        (tree.root / "proc/net").symlink_to("/proc/net")
    bed.plant()
    ran = bed.run(
        *("cxi", "cxi", "cxi_write_bw", ("-s", "1:4194304", "-n", "50", "-l", "64", *words)),
        nodes=NODES, rails=2, fabric="hsn", command=ClientAndServer("cxi", "slingshot", False), files=scripts(),
    )  # fmt: skip
    assert (ran.exit_code, ran.stderr) == (0, "")
    found = ran.assess_run(f"cxi/cxi_write_bw{key}", lambda text: rail_parts.parse(text, cxi.parse), pairs=2)
    assert (found.verdict.state, found.path.state) == ("report-only", "proven"), found.verdict.text
    # Of two links of 200 Gbit/s each.
    assert max(found.curves[0].values) == pytest.approx(ways * 2 * 25000 * 0.95, rel=0.06)


def test_one_size_is_asked_as_the_tool_is_told_it() -> None:
    found = parse_words(
        "cxi", "cxi_write_bw", ["-d", "cxi2", "-p", "9", "-s", "65536", "-n", "5", "-l", "64", "n2"], Path()
    )
    assert (found.key, found.sizes, found.repetitions) == ("cxi/cxi_write_bw", (65536,), (320,))
    assert (found.words["-d"], found.words[""]) == ("cxi2", "n2")
