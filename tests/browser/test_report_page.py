"""The report page in a real, headless Chromium: what a reader sees (scripts/browser.sh makes the environment)."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from talm_sim.cli.report.page import report_page

from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.shades import contrast
from tests.cli.summaries import agents, choices_block

pytestmark = pytest.mark.browser
WIDTHS = (1280, 390)
HOSTILE = "hf/<img src=x onerror=document.title='hit'><script>document.title='hit'</script>" + "very-long-name/" * 12
Open = Callable[..., Any]


def _executable() -> str:
    named = os.environ.get("CHROMIUM") or str(Path(sys.prefix) / "bin" / "talm-sim-chromium")
    return shutil.which(named) or ""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: scripts/browser.sh")
    if not _executable():
        pytest.skip("no Chromium: scripts/browser.sh gets one, CHROMIUM names one")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_executable(), args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra report)")
    table = Block("openai/some, standalone", [agents("underspecified")], ["a note"])
    file = tmp_path_factory.mktemp("report") / "page.html"
    file.write_text(report_page([choices_block(HOSTILE, HOSTILE), choices_block(judged=True), table]), encoding="utf-8")
    return file


@pytest.fixture
def shown(chromium: Any, report: Path) -> Iterator[Open]:
    """Opens the page at a width and in a colour scheme; what the console said and what was asked for must be nothing but the page."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def show(width: int = 1280, scheme: str = "light") -> Any:
        contexts.append(chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(report.as_uri())
        return page

    yield show
    for context in contexts:
        context.close()
    assert said == []
    assert set(asked) == {report.as_uri()}


def colour(text: str) -> tuple[int, int, int]:
    red, green, blue = (int(part) for part in re.findall(r"\d+", text)[:3])
    return red, green, blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_never_scrolls_sideways_and_hostile_text_is_text(shown: Open, width: int, scheme: str) -> None:
    page = shown(width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.title().startswith("talm-sim report: hf/<img")
    assert page.locator("img, script").count() == 0
    assert "<script>" in page.locator("h2").first.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(shown: Open, scheme: str) -> None:
    page = shown(scheme=scheme)
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (colour(back)[0] < 64) is (scheme == "dark")
    pairs = page.evaluate(
        """() => [...document.querySelectorAll('h1, h2, h3, p, li, th, td, small, span')].map(element => {
            let behind = element
            while (behind && getComputedStyle(behind).backgroundColor == 'rgba(0, 0, 0, 0)') behind = behind.parentElement
            return [element.textContent, getComputedStyle(element).color, getComputedStyle(behind).backgroundColor]
        })"""
    )
    assert len(pairs) > 80
    assert [(text, front, behind) for text, front, behind in pairs if contrast(colour(front), colour(behind)) < 4.5] == []
    # The picture's words take the page's ink; its digits are read against their own cells, which the unit tests see to.
    words = page.evaluate("[...document.querySelectorAll('svg text')].filter(t => t.textContent == 'gold').map(t => getComputedStyle(t).fill)")
    assert len(words) == 2 and all(contrast(colour(word), colour(back)) >= 7 for word in words)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_cells_of_the_matrix_can_be_read(shown: Open, width: int) -> None:
    page = shown(width)
    cells = page.evaluate(
        """() => [...document.querySelectorAll('td.cell')].map(cell => {
            const box = cell.getBoundingClientRect()
            return [box.left, box.right, cell.scrollWidth - cell.clientWidth, parseFloat(getComputedStyle(cell).fontSize)]
        })"""
    )
    assert len(cells) == 16 + 20
    assert all(left >= 0 and right <= width for left, right, _, _ in cells), "all cells are seen without scrolling their table"
    assert all(hidden <= 0 and size >= 12 for _, _, hidden, size in cells)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_words_of_a_picture_are_large_enough_and_do_not_run_into_each_other(shown: Open, width: int) -> None:
    page = shown(width)
    pictures = page.evaluate(
        """() => [...document.querySelectorAll('svg')].map(svg => {
            const frame = svg.getBoundingClientRect()
            const words = [...svg.querySelectorAll('text')].map(text => [text.textContent.trim(), text.getBoundingClientRect()])
            return [[frame.left, frame.right, frame.top, frame.bottom],
                    words.map(([word, box]) => [word, box.left, box.right, box.top, box.bottom])]
        })"""
    )
    assert len(pictures) == 4
    for (left, right, top, bottom), words in pictures:
        assert left >= 0 and right <= width
        assert len(words) >= 10
        for place, (word, x0, x1, y0, y1) in enumerate(words):
            assert left - 1 <= x0 and x1 <= right + 1 and top - 1 <= y0 and y1 <= bottom + 1, word
            assert min(x1 - x0, y1 - y0) >= 3 and max(x1 - x0, y1 - y0) >= 5
            for other, u0, u1, v0, v1 in words[:place]:
                # Line boxes of neighbouring lines touch; letters must not.
                assert min(x1, u1) - max(x0, u0) <= 1 or min(y1, v1) - max(y0, v0) <= 0.35 * min(y1 - y0, v1 - v0), (word, other)


def test_a_reader_who_hears_the_page_is_told_the_same(shown: Open) -> None:
    page = shown()
    assert page.get_by_role("img", name=re.compile("^Confusion matrix: gold down")).count() == 2
    assert page.get_by_role("img", name=re.compile("^Hallucinations")).count() == 2
    assert page.get_by_role("table").count() == 7
    assert page.get_by_role("rowheader", name="request_for_info").count() == 2
    assert page.get_by_role("region", name="Confusion matrix of hf/tiny", exact=True).count() == 1
