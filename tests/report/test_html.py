"""The page: self-contained, well-formed, escaped, with everything that the records hold."""

import dataclasses
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from railyard.record import Record
from railyard.report.html import html_report
from railyard.report.matrix import Cell

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """The elements and texts of a page; fails on tags that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.pieces.append(data)

    @property
    def text(self) -> str:
        """All texts, white space made single blanks."""
        return " ".join(" ".join(self.pieces).split())

    def having(self, tag: str) -> Iterator[dict[str, str | None]]:
        """The attributes of each element of a tag."""
        return (attributes for name, attributes in self.elements if name == tag)


def test_the_verdict_the_counts_and_the_failures_are_said_in_words(
    faulty_run: list[Record], all_cells: list[Cell]
) -> None:
    text = Page(html_report(faulty_run, cells=all_cells)).text
    assert "FAIL virtual: 3 of 28 tests failed. 20 pass 3 fail 4 report-only 1 expected failure 1 not tested" in text
    assert (
        "imb/Uniband · hsn, 2 rails, mpich bandwidth at 4 MiB is 76.6 MB/s, below 94.03 MB/s, the floor of reference "
        "hsn-2 (94 % of the shaped rate of hsn, systems/virtual.yaml): 81 % of what it should be. Suspect: rail hsn1 "
        "of vn2: it moved 4.9 MB/s while hsn0 moved 47.8 MB/s Look at: the rate of hsn1 on vn2" in text
    )
    assert "Not tested, and why Ctrl-C came before this test was started. imb/Biband (eth, 1 rail, intelmpi)" in text


def test_the_matrix_has_states_in_words_and_the_reason_of_each_hole(
    faulty_run: list[Record], all_cells: list[Cell]
) -> None:
    text = Page(html_report(faulty_run, cells=all_cells)).text
    assert "1 fail, 2 pass netpipe/pingpong pass netpipe/stream fail netpipe/bidirectional pass imb/PingPong, " in text
    assert "imb/Uniband, imb/Biband, imb/Allreduce: does not run (a)" in text
    assert "(a) The packaged IMB binary needs libmpi.so.12 and does not run under Open MPI (libmpi.so.40)." in text
    assert "does not run Intel MPI 2021.18 over OFI tcp takes two interfaces and silently uses one." in text
    assert "eth, 2 rails: eth has 1 rail a node (eth0)" in text


def test_a_test_shows_rules_figures_references_path_command_and_environment(faulty_run: list[Record]) -> None:
    record = next(record for record in faulty_run if record.verdict.rule == 4)
    other = dataclasses.replace(faulty_run[0], environment={"python": "3.12"})
    text = Page(html_report([record, other])).text
    for words in (
        "4 path proof does not hold hsn1 of vn1 carried 0.0 of 168 MB",
        "peak 95.8 MB/s at 4 MiB N½ 1,500 B small-message latency 24.6 us at 1 B",
        "hsn-2 (class): at least 94.4 MB/s from 1 MiB to 4 MiB 94 % of the shaped rate of hsn, systems/virtual.yaml",
        "Dashed: the limit of 97.3 MB/s, 2 x 400 Mbit/s x 1448/1538 (TCP/IP headers, MTU 1500) (HTB class of",
        "vn1 hsn0 yes 168.0 MB 2.4 MB 99.9 vn1 hsn1 yes 4.0 kB 0.1 kB 0.0 vn1 eth0 no 21.0 kB 18.0 kB 0.1",
        "mpirun -np 2 -hosts vn1,vn2 stream",
        "mpi Open MPI v4.1.4",
        "Output: reframe/output/virtual/hsn/openmpi/NetpipeStream/rfm_job.out",
    ):
        assert words in text


def test_what_all_environments_share_is_said_once(healthy_run: list[Record]) -> None:
    text = Page(html_report(healthy_run)).text
    assert text.count("6.18.5") == 1
    assert text.count("Intel MPI 2021.18") == sum(record.stack == "intelmpi" for record in healthy_run)


def test_nothing_is_fetched_and_every_link_has_its_target(faulty_run: list[Record], all_cells: list[Cell]) -> None:
    text = html_report(faulty_run, cells=all_cells)
    page = Page(text)
    assert not re.search(r"https?:|url\(|@import|<script|<link|<img| src=", text)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in page.having("a"):
        assert (attributes["href"] or "")[0] == "#"
        assert (attributes["href"] or "")[1:] in ids
    for _, attributes in page.elements:
        assert attributes.get("aria-labelledby", ids[0]) in ids


def test_it_can_be_read_without_seeing_it(faulty_run: list[Record]) -> None:
    page = Page(html_report(faulty_run))
    assert next(page.having("html"))["lang"] == "en"
    assert all(attributes.get("scope") in ("col", "row") for attributes in page.having("th"))
    drawings = list(page.having("svg"))
    assert len(drawings) == sum(len(record.curves) for record in faulty_run)
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in drawings)
    levels = [int(tag[1]) for tag, _ in page.elements if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb. Source: WCAG 2.2, definition of relative luminance."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1])
def test_text_has_the_contrast_of_wcag_aa_in_both_schemes(scheme: int) -> None:
    found = re.findall(r":root \{(.*?)\}", html_report([]), re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", found))
    pairs = [(name, f"{name}-bg") for name in ("pass", "fail", "report", "xfail", "none")]
    pairs += [(ink, ground) for ink in ("ink", "soft", "link") for ground in ("page", "card")]
    pairs += [("ink", f"{name}-bg") for name in ("pass", "fail", "report", "xfail", "none")]
    for ink, ground in pairs:
        light, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_texts_that_try_to_break_out_stay_text(hostile: Record) -> None:
    text = html_report([hostile], ["<script>\x1b[31mproblem"], [Cell("<b>", "<i>", 1, "<u>", "<script>\x1b]0;x\x07")])
    assert not re.search(r"<(?:script|b>|i>|u>)", text.replace("<b>Suspect:</b>", "").replace("<b>&lt;", ""))
    assert set(text) & set("\x1b\x00\x07\u202e") == set()
    page = Page(text)
    assert "<script>alert(1)</script>]]>&red'\" next line" in page.text
    assert "<script>problem" in page.text
    assert all(not name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_a_page_without_records_says_that_nothing_was_judged() -> None:
    text = Page(html_report([])).text
    assert "NOTHING JUDGED no system: No test ran to a verdict, so nothing is known of this system." in text
    assert "There are no records." in text


def test_a_page_of_30_tests_is_small(faulty_run: list[Record], all_cells: list[Cell]) -> None:
    assert len(html_report(faulty_run, cells=all_cells).encode()) < 8_000 * len(faulty_run)
