"""The map of leaf switches in a real browser: one click opens the sick nodes, at every width and without a script."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from railyard.results.report.html import html_report
from tests.made.browser import INSTALL, Browser, Page, axe, axe_path, browser, why_not
from tests.results.report.test_leaf_map import record_of, sampled_pairs
from tests.results.report.test_page_in_a_browser import RULES

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
with_axe = pytest.mark.skipif(axe_path() is None, reason=f"axe-core is not installed; type: {INSTALL}")
#: The nodes of a leaf that are shown: names in the order of the page.
SHOWN = """[...document.querySelectorAll('.members')].filter(one => one.querySelector('table').checkVisibility(
  {contentVisibilityAuto: true})).map(one => [one.id, one.querySelector('tbody th').textContent])"""


@pytest.fixture(scope="module")
def started_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def browser_page(started_browser: Browser) -> Page:
    return started_browser.page()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a sample over 640 nodes of which one is sick."""
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(html_report([record_of(sampled_pairs(640, 32, slow={77: 0.5}))]), encoding="utf-8")
    return file


def test_a_click_on_a_slow_field_opens_the_sick_node(browser_page: Page, page: Path) -> None:
    browser_page.show(page)
    assert browser_page.run(SHOWN) == []
    browser_page.run("document.querySelector('svg.leaves .field').parentNode.dispatchEvent(new MouseEvent('click'))")
    browser_page.run("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    assert browser_page.run(SHOWN) == [["test-1-leaf-3", "n0078"]]


def test_a_click_in_the_list_opens_it_too_and_brings_it_into_view(browser_page: Page, page: Path) -> None:
    browser_page.show(page)
    browser_page.run("[...document.querySelectorAll('.leaf-map a')].find(one => one.textContent === 'n0078').click()")
    browser_page.run("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    assert browser_page.run(SHOWN) == [["test-1-leaf-3", "n0078"]]
    top = "document.getElementById('test-1-leaf-3').getBoundingClientRect().top"
    assert 0 <= browser_page.run(top) < 900


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_nothing_is_wider_than_the_screen(browser_page: Page, page: Path, width: int) -> None:
    browser_page.show(page, width)
    assert browser_page.run("document.documentElement.scrollWidth") <= width


def test_what_is_folded_takes_no_height(browser_page: Page, page: Path) -> None:
    browser_page.show(page)
    assert browser_page.height() < 6000


@with_axe
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(browser_page: Page, page: Path, width: int, dark: bool) -> None:
    browser_page.show(page, width, dark=dark)
    browser_page.run("document.querySelectorAll('details').forEach(one => one.open = true)")
    browser_page.run("document.querySelectorAll('.members')[2].hidden = false")
    assert axe(browser_page, RULES) == []
