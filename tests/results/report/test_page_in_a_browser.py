"""The page in a real browser: its height and width, what axe-core finds, the keyboard, and paper.

Skipped, with the reason, where no Chromium is installed, or no axe-core: `make browser` installs both.
"""

import dataclasses
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from railyard.results.record.form import Record
from railyard.results.report.html import html_report
from railyard.site.matrix import Cell
from tests import screenshots
from tests.made.browser import INSTALL, Browser, Page, axe, axe_path, browser, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
with_axe = pytest.mark.skipif(axe_path() is None, reason=f"axe-core is not installed; type: {INSTALL}")

WIDTHS = (390, 1280, 1920)
#: WCAG 2.2 at level AA, and what axe-core's authors advise beside it: landmarks, headings in their order.
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
OPEN_ALL = "document.querySelectorAll('details').forEach(one => one.open = true)"
#: The element that has the focus, as its words and as whether a ring is drawn around it.
FOCUSED = """(() => {
  const one = document.activeElement, style = getComputedStyle(one);
  return [one.tagName, one.getAttribute('href') || one.getAttribute('aria-label') || one.textContent.trim(),
          style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2];
})()"""


@pytest.fixture(scope="module")
def started_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def browser_page(started_browser: Browser) -> Page:
    return started_browser.page()


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a replay of dell-c6320 that passed."""
    return write_page(tmp_path_factory.mktemp("replay"), screenshots.page("dell-c6320"))


@pytest.fixture
def faulty(tmp_path: Path, faulty_run: list[Record], all_cells: list[Cell]) -> Path:
    """The page of a run with each kind of fault, one of which six tests name, and a test that was disturbed."""
    slow = next(record for record in faulty_run if record.found.state == "fail" and record.found.verdict.rule == 5)
    good = [record for record in faulty_run if record.found.state == "pass"][:6]
    named = [record.with_fields(state="fail", verdict=slow.found.verdict) for record in good[:5]]
    disturbed = good[5].with_fields(state="disturbed", verdict=dataclasses.replace(slow.found.verdict, suspects=()))
    changed = {id(old): new for old, new in zip(good, [*named, disturbed], strict=True)}
    records = [changed.get(id(record), record) for record in faulty_run]
    return write_page(tmp_path, html_report(records, ["no space left on /scratch"], all_cells))


def write_page(folder: Path, text: str) -> Path:
    file = folder / "report.html"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_page_of_a_passing_replay_is_at_most_6000_pixels_tall(browser_page: Page, replay: Path) -> None:
    browser_page.show(replay, 1280)
    assert 2000 < browser_page.height() <= 6000


def test_verdict_numbers_and_suspects_are_on_the_first_screen(browser_page: Page, faulty: Path) -> None:
    browser_page.show(faulty, 1280, 900)
    bottom = "(name => Math.round(document.querySelector(name).getBoundingClientRect().bottom))"
    assert [browser_page.run(f"{bottom}('{name}') <= 900") for name in ("h1", ".facts", ".fabrics", ".suspects")] == [
        True
    ] * 4


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen(browser_page: Page, faulty: Path, replay: Path, width: int) -> None:
    for file in (faulty, replay):
        browser_page.show(file, width)
        browser_page.run(OPEN_ALL)
        assert browser_page.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_sources_can_be_read_at_every_width(browser_page: Page, replay: Path, width: int) -> None:
    """Before, a name of 180 characters left the sources beside it a column one word wide, and 2,000 pixels tall."""
    browser_page.show(replay, width)
    browser_page.run(OPEN_ALL)
    tallest = (
        "Math.max(...[...document.querySelectorAll('.sources > *')].map(one => one.getBoundingClientRect().height))"
    )
    assert 10 < browser_page.run(tallest) < 200


def test_the_contents_stand_at_the_side_of_a_wide_screen_and_stay_there(browser_page: Page, replay: Path) -> None:
    place = "(() => { const at = document.querySelector('nav').getBoundingClientRect(); return [at.right, at.top]; })()"
    left = "document.querySelector('main').getBoundingClientRect().left"
    browser_page.show(replay, 1280)
    assert browser_page.run(place)[0] <= browser_page.run(left)
    browser_page.run("window.scrollTo(0, 2000)")
    assert 0 <= browser_page.run(place)[1] < 100
    browser_page.show(replay, 390)
    assert browser_page.run(place)[0] > browser_page.run(left)


def test_every_link_of_the_contents_and_of_a_cause_leads_somewhere_that_is_shown(
    browser_page: Page, faulty: Path
) -> None:
    browser_page.show(faulty, 1280)
    script = """[...document.querySelectorAll('a[href^="#"]')].map(one => one.getAttribute('href')).filter(name => {
      const target = document.getElementById(name.slice(1));
      return !target || target.getClientRects().length === 0;
    })"""
    assert browser_page.run(script) == []


@with_axe
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(browser_page: Page, faulty: Path, replay: Path, width: int, dark: bool) -> None:
    for file in (faulty, replay):
        browser_page.show(file, width, dark=dark)
        browser_page.run(OPEN_ALL)
        assert axe(browser_page, RULES) == []


def test_a_script_that_got_into_the_page_does_not_run(
    browser_page: Page, tmp_path: Path, faulty_run: list[Record]
) -> None:
    text = html_report(faulty_run).replace("</main>", "<script>document.title = 'taken'</script></main>")
    titles = []
    for each in (text, without_policy(text)):
        browser_page.show(write_page(tmp_path, each), 1280)
        titles.append(browser_page.run("document.title"))
    assert titles == ["FAIL: virtual, Railyard", "taken"]


def without_policy(text: str) -> str:
    return re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)


@with_axe
def test_axe_would_find_a_text_that_is_too_pale_and_a_heading_out_of_order(
    browser_page: Page, tmp_path: Path, faulty_run: list[Record]
) -> None:
    text = (
        without_policy(html_report(faulty_run))
        .replace("--soft: #59636e", "--soft: #a9b3be")
        .replace("<h3", "<h6")
        .replace("</h3", "</h6")
    )
    browser_page.show(write_page(tmp_path, text), 1280)
    found = {line.partition(" ")[0] for line in axe(browser_page, RULES)}
    assert {"color-contrast", "heading-order"} <= found


def test_the_keyboard_reaches_links_and_folded_parts_and_shows_where_it_is(browser_page: Page, faulty: Path) -> None:
    browser_page.show(faulty, 1280)
    seen = []
    for _ in range(40):
        browser_page.press("Tab")
        seen.append(browser_page.run(FOCUSED))
    assert seen[0][:2] == ["A", "#results"]  # past the contents, straight to the results
    assert [one for one in seen if not one[2]] == []
    names = [(one[0], one[1]) for one in seen]
    assert ("A", "#cause-1") in names and ("A", "#matrix") in names
    assert any(tag == "SUMMARY" for tag, _ in names)
    browser_page.run("document.querySelector('summary').focus()")
    browser_page.press("Enter")
    assert browser_page.run("document.querySelector('details').open") is True


def test_paper_has_every_source_no_contents_and_light_colours(browser_page: Page, replay: Path) -> None:
    browser_page.show(replay, 1280, dark=True, media="print")
    assert browser_page.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser_page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    seen = "['.sources', '.evidence p', '.card figure'].map(name => document.querySelector(name).checkVisibility())"
    assert browser_page.run(seen) == [True, False, True]
    browser_page.show(replay, 1280)
    assert browser_page.run(seen) == [False, False, True]
    pages = re.findall(rb"/Type\s*/Page\b", unpack_pdf(browser_page.pdf()))
    assert 3 <= len(pages) <= 10


def unpack_pdf(pdf: bytes) -> bytes:
    """Return a PDF with its compressed parts, among which its list of pages may be, as they are."""
    parts = [pdf]
    for part in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            parts.append(zlib.decompress(part))
        except zlib.error:
            continue
    return b"\n".join(parts)
