"""Pages of runs in a real, headless Chromium (scripts/browser.sh makes the environment)."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from talm_sim import StoredRun, run
from talm_sim.cli.pages import build_index, render_page
from talm_sim.cli.pages.index import build_transcripts

Open = Callable[..., Any]


def _executable() -> str:
    named = os.environ.get("CHROMIUM") or str(Path(sys.prefix) / "bin" / "talm-sim-chromium")
    return shutil.which(named) or ""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: scripts/browser.sh")
    if not _executable():
        pytest.skip("no Chromium: scripts/browser.sh gets one, CHROMIUM names one")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_executable(), args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[StoredRun]:
    """Two controls over the same scenarios, one of them with faults in its tools: questions, failed calls, passes and failures."""
    place = tmp_path_factory.mktemp("runs")
    common: dict[str, Any] = {"split": "underspecified", "limit": "4", "human": "simulated", "tools": "live", "run_dir": str(place)}
    asker = run(model="sim/asker", run_id="asker", **common)
    return [asker, run(model="sim/liar", run_id="liar", perturb=("http-500:p=0.5", "off-by-one"), **common)]


@pytest.fixture(scope="session")
def data(runs: list[StoredRun]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Index and transcripts of the two runs."""
    return build_index(runs), [build_transcripts(one) for one in runs]


@pytest.fixture(scope="session")
def written(data: tuple[dict[str, Any], list[dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the two runs."""
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(render_page(*data), encoding="utf-8")
    return file


@pytest.fixture
def shown(chromium: Any) -> Iterator[Open]:
    """Opens a page at a width and in a colour scheme; what the console said and what was asked for must be nothing but pages beside it."""
    said: list[str] = []
    asked: list[str] = []
    opened: list[Path] = []
    contexts = []

    def dismiss(dialog: Any) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    def show(file: Path, width: int = 1280, scheme: str = "light", place: str = "") -> Any:
        opened.append(file)
        contexts.append(chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", dismiss)
        page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
        page.goto(file.as_uri() + place)
        return page

    yield show
    for context in contexts:
        context.close()
    assert said == []
    beside = {other.as_uri() for file in opened for other in file.parent.glob("*.html")}
    assert set(asked) <= beside
