"""`talm-sim view` in a real, headless Chromium: the page follows a run, and takes comments."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from talm_sim.store.stored_run import load_run
from tests.cli.view.live_run import playing
from tests.cli.view.served import PATIENCE_S, Viewer, viewing
from tests.runs.killed import until
from tests.runs.scripted import new_run

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=document.title='hit'><script>document.title='hit'</script>\nsecond \u202eline"
PATIENCE_MS = 1000 * PATIENCE_S


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    """A tab in which nothing may go wrong but what a test expects in `tab.said`."""
    said: list[str] = []
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.said = said
    yield page
    context.close()


def lines(tab: Any) -> list[str]:
    return list(tab.locator(".episode .bar button").all_text_contents())


def open_first(tab: Any) -> None:
    tab.locator("h1").click()
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".comments textarea")


def test_a_live_run_is_followed_killed_and_resumed(tab: Any, tmp_path: Path) -> None:
    run = new_run(tmp_path / "runs", 40, name="live")
    with viewing("live", cwd=tmp_path) as viewer:
        tab.goto(viewer.link)
        tab.wait_for_selector("#live.stopped")
        assert "token" not in tab.url and lines(tab) == []
        with playing(run, delay=0.3) as child:
            tab.wait_for_selector("#live.running")
            tab.wait_for_selector("#in-flight li")
            assert re.fullmatch(r"plain-\d+: begins", tab.locator("#in-flight li").first.inner_text())
            until(lambda: len(lines(tab)) >= 2)
            open_first(tab)
            tab.locator(".comments textarea").first.focus()
            tab.keyboard.type("half a tho")
            before = len(lines(tab))
            until(lambda: len(lines(tab)) > before)
            tab.keyboard.type("ught")
            assert tab.locator(".comments textarea").first.input_value() == "half a thought", "the reader was disturbed"
            assert tab.evaluate("document.activeElement.tagName") == "TEXTAREA"
            child.send_signal(signal.SIGKILL)
            child.wait(PATIENCE_S)
        tab.wait_for_selector("#live.stopped")
        assert "continue with: talm-sim resume live" in tab.locator("#live").inner_text()
        with playing(run, delay=0):
            tab.wait_for_selector("#live.finished")
        until(lambda: len(lines(tab)) == 40)
        assert tab.locator("#in-flight li").count() == 0
        assert lines(tab) == [f"plain-{number:03}" for number in range(40)]
        ids = tab.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
        assert len(ids) == len(set(ids))
        assert tab.locator(".comments textarea").first.input_value() == "half a thought"
        assert tab.said == []
    tab.wait_for_selector("#live.lost")
    assert "talm-sim view has ended" in tab.locator("#live").inner_text()


def test_no_other_port_of_this_host_gets_the_key(tab: Any, tmp_path: Path) -> None:
    run = new_run(tmp_path / "runs", 1, name="done")
    with playing(run, delay=0) as child:
        assert child.wait(PATIENCE_S) == 0
    asked: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(str(self.headers))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with viewing("done", cwd=tmp_path) as viewer, HTTPServer(("127.0.0.1", 0), Other) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        sent: list[str] = []
        tab.on("request", lambda request: sent.append(request.headers.get("talm-sim-key", "")))
        tab.goto(viewer.link)
        tab.wait_for_selector("#live.finished")
        open_first(tab)
        assert [*filter(None, sent)] and tab.context.cookies() == []
        key = next(filter(None, sent))
        assert key not in tab.content() and tab.evaluate("sessionStorage.length + localStorage.length") == 0
        tab.goto(f"http://127.0.0.1:{other.server_port}/")
        assert asked and not any(key in headers or "Cookie" in headers or "token" in headers for headers in asked)
        tab.goto(viewer.link)
        assert "each link works once" in tab.inner_text("body")
        other.shutdown()


def test_a_comment_is_written_shown_and_harmless(tab: Any, tmp_path: Path) -> None:
    run = new_run(tmp_path / "runs", 3, name="done")
    with playing(run, delay=0) as child:
        assert child.wait(PATIENCE_S) == 0
    with viewing("done", "--name", "Ada", cwd=tmp_path) as viewer:
        tab.goto(viewer.link)
        tab.wait_for_selector("#live.finished")
        open_first(tab)
        assert tab.get_by_label("Your name").input_value() == "Ada"
        tab.get_by_label("Your comment").fill(HOSTILE)
        tab.get_by_role("button", name="Add comment").click()
        tab.wait_for_selector(".written li")
        assert "<script>" in tab.locator(".written li").inner_text() and tab.locator(".written img").count() == 0
        assert tab.title() != "hit" and tab.get_by_label("Your comment").input_value() == ""
        until(lambda: "1 comment" in tab.locator(".episode .facts").first.inner_text())
        (kept,) = load_run(run).comments()
        assert (kept.name, kept.text, kept.episode_id) == ("Ada", HOSTILE, "plain-000")
        see_another_reader(tab, viewer)
        assert tab.said == []


def see_another_reader(tab: Any, viewer: Viewer) -> None:
    """A comment that is written elsewhere appears by itself."""
    keys: list[str] = []
    tab.on("request", lambda request: keys.append(request.headers.get("talm-sim-key", "")))
    until(lambda: bool(tab.wait_for_timeout(100) or keys))
    viewer.key = keys[0]
    assert viewer.write("plain-000", "I agree.", "Bob").status == 201
    until(lambda: tab.locator(".written li").count() == 2)


def test_what_the_server_refuses_is_said_and_the_text_stays(tab: Any, tmp_path: Path) -> None:
    run = new_run(tmp_path / "runs", 1, name="full")
    with playing(run, delay=0) as child:
        assert child.wait(PATIENCE_S) == 0
    with viewing("full", cwd=tmp_path) as viewer:
        tab.goto(viewer.link)
        tab.wait_for_selector("#live.finished")
        open_first(tab)
        (run / "comments.jsonl").mkdir()
        tab.get_by_label("Your comment").fill("lost?")
        tab.get_by_role("button", name="Add comment").click()
        tab.wait_for_selector("[role=alert]:not(:empty)")
        assert "is a directory, but must be a plain file" in tab.locator("[role=alert]").inner_text()
        assert tab.get_by_label("Your comment").input_value() == "lost?"
