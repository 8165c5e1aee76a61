"""What a reader does with the page: looks for episodes, reads transcripts, compares two runs."""

from __future__ import annotations

import copy
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli.pages import page_files as files
from tests.browser.conftest import Open

pytestmark = pytest.mark.browser
Data = tuple[dict[str, Any], list[dict[str, Any]]]


def axe() -> str:
    """The source of axe-core, which finds what keeps people from using a page."""
    named = os.environ.get("AXE_CORE") or str(Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js")
    if not Path(named).exists():
        pytest.skip("no axe-core: scripts/browser.sh gets it where npm is installed, AXE_CORE names it")
    return Path(named).read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_keeps_anybody_from_using_the_page(shown: Open, written: Path, width: int, scheme: str) -> None:
    source = axe()
    page = shown(written, width, scheme)
    page.get_by_role("button", name="Expand").click()
    page.locator("#compared .episodes button").first.click()
    for details in page.locator("details").all():
        details.evaluate("one => { one.open = true }")
    page.locator(".sides .transcript").nth(1).wait_for()
    page.evaluate(source)
    found = page.evaluate(
        "axe.run().then(found => found.violations.map(one => [one.impact, one.id, one.nodes.slice(0, 3).map(node => node.html)]))"
    )
    assert [one for one in found if one[0] in ("serious", "critical")] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_episode_is_reached_and_opened_by_keyboard(shown: Open, written: Path) -> None:
    page = shown(written)
    reached = []
    for _ in range(8):
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        reached.append(page.evaluate("document.activeElement.textContent"))
        page.locator(".episode.open").nth(len(reached) - 1).locator(".transcript").wait_for()
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", "a reader sees where they are"
    assert len(set(reached)) == 8 and reached[0].startswith("asker:") and reached[7].startswith("liar:")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.textContent") == reached[6]
    page.keyboard.press("Enter")
    assert page.locator("#episodes .episode.open").count() == 7
    page.keyboard.press("/")
    page.keyboard.type("jjj")
    assert page.locator("#search").input_value() == "jjj", "letters in a field are letters"


def test_a_link_opens_its_episode(shown: Open, written: Path, data: Data) -> None:
    name = data[0]["runs"][1]["episodes"][2]["id"]
    page = shown(written, place=f"#liar%3A{name}")
    page.locator(".episode.open .transcript").wait_for()
    assert page.evaluate("document.activeElement.textContent") == f"liar:{name}"
    assert page.locator(".episode.open").count() == 1
    assert page.get_by_role("link", name=f"Link to liar:{name}").get_attribute("href") == f"#liar%3A{name}"


def test_search_and_filters_leave_what_they_say(shown: Open, written: Path, data: Data) -> None:
    page = shown(written)
    status = page.locator("#episodes [role=status]")
    assert status.inner_text() == "8 of 8 episodes"
    page.get_by_label("Run", exact=True).select_option("liar")
    assert status.inner_text() == "4 of 8 episodes"
    lines = data[0]["runs"][1]["episodes"]
    seen = [line for line in lines if "http-500:p=0.5" in line["seen"]]
    assert 0 < len(seen) <= 4
    page.get_by_label("Fault", exact=True).select_option("http-500:p=0.5 seen")
    assert status.inner_text() == f"{len(seen)} of 8 episodes"
    outcome = seen[0]["outcome"]
    page.get_by_label("Outcome", exact=True).select_option(outcome)
    assert status.inner_text() == f"{sum(line['outcome'] == outcome for line in seen)} of 8 episodes"
    page.get_by_role("button", name="Clear filters").click()
    assert status.inner_text() == "8 of 8 episodes"
    page.locator("#search").fill("HTTP 500: internal")
    found = int(status.inner_text().split()[0])
    assert 0 < found <= 4, "results of tools are searched, in small letters and capitals"
    page.locator("#search").fill("no such words")
    assert status.inner_text() == "0 of 8 episodes" and page.locator("#episodes .episode").count() == 0


def test_a_fault_is_marked_where_it_struck(shown: Open, written: Path, data: Data) -> None:
    transcripts = data[1]
    events = [(name, event) for name, one in transcripts[1].items() for turn in one["turns"] for event in turn["events"]]
    name = next(name for name, event in events if any(fault["outcome"] == "seen" for fault in event.get("faults", ())))
    page = shown(written, place=f"#liar%3A{name}")
    struck = page.locator(".episode.open .call .fault .badge.bad")
    struck.first.wait_for()
    assert struck.count() == sum(fault["outcome"] == "seen" for one, event in events if one == name for fault in event.get("faults", ()))
    assert page.locator(".episode.open .verdicts li").count() == len(transcripts[1][name]["verdicts"])


def test_two_runs_are_read_side_by_side_from_either(shown: Open, written: Path, data: Data) -> None:
    page = shown(written)
    compared = data[0]["compared"][0]
    flipped = [pair for pair in compared["pairs"] if pair["kind"] == "regressed"]
    assert len(flipped) > 0 and "regressed" not in [pair["kind"] for pair in data[0]["compared"][1]["pairs"]]
    page.get_by_role("button", name=f"regressed ({len(flipped)})").click()
    page.locator("#compared .episodes button").first.click()
    page.locator(".sides .transcript").nth(1).wait_for()
    assert page.locator(".sides .differs").count() == 2, "the first step that differs is marked on both sides"
    first, second = (page.locator(".side").nth(side) for side in (0, 1))
    assert "A: asker" in first.inner_text() and "B: liar" in second.inner_text()
    page.get_by_label("Baseline (A)").select_option("liar")
    assert page.get_by_role("button", name=f"improved ({len(flipped)})").count() == 1


def test_what_is_large_is_in_parts_that_open_alone(shown: Open, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST", 90_000)
    made = files.page_files(tmp_path / "page.html", copy.deepcopy(data[0]), data[1])
    for file, text in made:
        file.write_bytes(text)
    assert len(made) > 2
    page = shown(tmp_path / "page.html")
    assert page.locator("#episodes [role=status]").inner_text() == "8 of 8 episodes"
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    link = page.locator(".episode.open .body a")
    assert link.inner_text() == "Read the transcript in page-1.html"
    link.click()
    page.locator(".episode.open .transcript").wait_for()
    assert page.url.startswith((tmp_path / "page-1.html").as_uri())
    assert page.locator("#compared .episodes button").count() > 0, "both transcripts of a pair are in one part"
    page.get_by_role("link", name="Tables, and the index of all episodes").click()
    assert page.url == (tmp_path / "page.html").as_uri()


def test_printed_are_the_results_and_what_is_open(shown: Open, written: Path) -> None:
    page = shown(written)
    page.get_by_role("button", name="Expand").click()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not page.locator(".tools").is_visible() and page.locator("#results .outcomes").first.is_visible()
    assert page.locator("#results table").first.is_visible()
    assert page.locator(".episode.open .transcript").count() == 8
