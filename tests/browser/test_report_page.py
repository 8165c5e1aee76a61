"""What a reader sees of the page's tables and pictures."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from talm_sim.cli.report.layout import Block
from talm_sim.cli.report.table_details import contrast
from talm_sim.types import Curve, Series
from tests.browser.conftest import Open
from tests.cli.pages.written import page_of
from tests.cli.summaries import agents, choices_block

pytestmark = pytest.mark.browser
WIDTHS = (1920, 1280, 390)
HOSTILE = "hf/<img src=x onerror=document.title='hit'><script>document.title='hit'</script>" + "very-long-name/" * 12


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    edges = (0.0, 0.25, 0.5, 0.75, 1.0)
    counts = (Series(name="complete", values=(0, 1, 2, 12345)), Series(name="incomplete", values=(40, 0, 1, 0)))
    histogram = Curve(name="p", title="P(Yes)", x="P(Yes)", y="instances", edges=edges, series=counts)
    table = Block("openai/some, standalone", [agents("underspecified").model_copy(update={"curves": (histogram,)})], ["a note"])
    file = tmp_path_factory.mktemp("report") / "page.html"
    file.write_text(page_of([choices_block(HOSTILE, HOSTILE), choices_block(judged=True), table]), encoding="utf-8")
    return file


def colour(text: str) -> tuple[int, int, int]:
    red, green, blue = (int(part) for part in re.findall(r"\d+", text)[:3])
    return red, green, blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_never_scrolls_sideways_and_hostile_text_is_text(shown: Open, report: Path, width: int, scheme: str) -> None:
    page = shown(report, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.title().startswith("talm-sim report: hf/<img")
    assert page.locator("img, main script").count() == 0
    assert "<script>" in page.locator("h3").first.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["report", "written"])
def test_every_text_stands_out_from_what_is_behind_it(shown: Open, request: pytest.FixtureRequest, which: str, scheme: str) -> None:
    page = shown(request.getfixturevalue(which), scheme=scheme)
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (colour(back)[0] < 64) is (scheme == "dark")
    for button in page.get_by_role("button", name="Expand").all():
        button.click()
    pairs = page.evaluate(
        """() => [...document.querySelectorAll('h1, h2, h3, h4, p, li, th, td, dt, dd, small, span, div, button, code, a')]
            .filter(element => [...element.childNodes].some(node => node.nodeType === 3)).map(element => {
            let behind = element
            while (behind && getComputedStyle(behind).backgroundColor == 'rgba(0, 0, 0, 0)') behind = behind.parentElement
            return [element.textContent, getComputedStyle(element).color, getComputedStyle(behind).backgroundColor]
        })"""
    )
    assert len(pairs) > 80
    assert [(text, front, behind) for text, front, behind in pairs if contrast(colour(front), colour(behind)) < 4.5] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_cells_of_the_matrix_can_be_read(shown: Open, report: Path, width: int) -> None:
    page = shown(report, width)
    cells = page.evaluate(
        """() => [...document.querySelectorAll('td.cell')].map(cell => {
            const box = cell.getBoundingClientRect()
            return [box.left, box.right, cell.scrollWidth - cell.clientWidth, parseFloat(getComputedStyle(cell).fontSize)]
        })"""
    )
    assert len(cells) == 16 + 20
    assert all(left >= 0 and right <= width for left, right, _, _ in cells), "all cells are seen without scrolling their table"
    assert all(hidden <= 0 and size >= 11 for _, _, hidden, size in cells)
    shades = page.evaluate("[...document.querySelectorAll('td.cell')].map(cell => cell.style.backgroundColor)")
    assert len(set(shades)) > 5, "the policy lets the page's script set the shades"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_words_of_a_curve_do_not_run_into_each_other(shown: Open, report: Path, width: int) -> None:
    page = shown(report, width)
    pictures = page.evaluate(
        """() => [...document.querySelectorAll('figure > svg')].map(svg => {
            const frame = svg.getBoundingClientRect()
            const words = [...svg.querySelectorAll('text')].map(text => [text.textContent.trim(), text.getBoundingClientRect()])
            return [[frame.left, frame.right], words.map(([word, box]) => [word, box.left, box.right, box.top, box.bottom])]
        })"""
    )
    assert len(pictures) == 1
    for (left, right), words in pictures:
        assert left >= 0 and right <= width
        assert [word for word, *_ in words][:2] == ["0", "4,000"] and words[-1][0] == "P(Yes)"
        for place, (word, x0, x1, y0, y1) in enumerate(words):
            for other, u0, u1, v0, v1 in words[:place]:
                assert min(x1, u1) - max(x0, u0) <= 1 or min(y1, v1) - max(y0, v0) <= 0.35 * min(y1 - y0, v1 - v0), (word, other)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_figure_is_saved_with_its_words_and_colours(shown: Open, report: Path, tmp_path: Path, scheme: str) -> None:
    page = shown(report, scheme=scheme)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as SVG").click()
    assert download.value.suggested_filename == "P-Yes-of-openai-some-standalone.svg"
    download.value.save_as(tmp_path / "figure.svg")
    drawn = ElementTree.parse(tmp_path / "figure.svg").getroot()
    words = [one.text for one in drawn.findall(".//{*}text")]
    assert {"P(Yes) of openai/some, standalone", "complete", "incomplete", "Upward: instances."} <= {*words}
    back, *_, first, second = [one.attrib["fill"] for one in drawn.findall(".//{*}rect")]
    assert (colour(back)[0] < 64) is (scheme == "dark") and len({back, first, second}) == 3
    assert not [one for one in drawn.iter() if "class" in one.attrib]


def test_a_reader_who_hears_the_page_is_told_the_same(shown: Open, report: Path) -> None:
    page = shown(report)
    assert page.get_by_role("img", name="P(Yes): instances by P(Yes)").count() == 1
    assert page.get_by_role("table").count() == 7
    assert page.get_by_role("rowheader", name="request_for_info").count() == 2
    assert page.get_by_role("region", name="Confusion by predicted of hf/tiny", exact=True).count() == 1
    assert page.get_by_role("navigation", name="Parts of the page").count() == 1
