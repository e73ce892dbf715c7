"""A references file without entries, as `railyard detect` writes it: accepted if report_only says why, and filled."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.cluster.detect.system_text import references_text
from railyard.results.capture import CapturedEntry, with_entries
from railyard.results.repeats import Group
from railyard.site.references.load import references_of
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System

SITE = """\
system: site
description: A cluster
nodes: {count: 16}
report_only: REPORT
fabrics:
  edr: {description: EDR, kind: ib, link: ib-edr, rails: [{device: mlx5_0, counters: mlx5}]}
stacks:
  hpcx: {modules: [hpcx], benchmarks: {osu: /opt/osu}}
"""
ENTRY = "  - id: one\n    fabric: edr\n"


def system(folder: Path, report_only: str) -> System:
    for name, text in (("systems", SITE.replace("REPORT", report_only)), ("references", references_text("site"))):
        (folder / name).mkdir()
        (folder / name / "site.yaml").write_text(text, encoding="utf-8")
    return load_system(folder / "systems" / "site.yaml")


def test_it_is_taken_where_the_system_is_report_only(tmp_path: Path) -> None:
    references = references_of(tmp_path / "references", system(tmp_path, "delivered yesterday"))
    assert (references.entries, references.file) == ((), "references/site.yaml")


def test_it_is_refused_where_the_system_promises_references(tmp_path: Path) -> None:
    promising = system(tmp_path, "false")
    with pytest.raises(InputError) as caught:
        references_of(tmp_path / "references", promising)
    assert str(caught.value) == (
        "systems/site.yaml: report_only: found no entry in references/site.yaml, expected references; write it, or set "
        "report_only to the sentence that says why there are none"
    )


def test_captured_entries_take_the_place_of_the_empty_list() -> None:
    text = references_text("site")
    group = Group("edr", "hpcx", 1, "single", "osu/osu_bw", ())
    entry = CapturedEntry("one", group, "bandwidth", ENTRY, ())
    after = with_entries(text, Path("references/site.yaml"), "site", [entry])
    assert after == text.replace("entries: []\n", f"entries:\n{ENTRY}")
