"""Payloads in every text of a page, whatever it is for: none of them acts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talm_sim.cli.pages import render_page
from tests.browser.conftest import Open

pytestmark = pytest.mark.browser
Data = tuple[dict[str, Any], list[dict[str, Any]]]

ACT = "document.title='hit';alert(1)"
PAYLOADS = (
    f"</SCRIPT ><script>{ACT}</script>",
    f"<!--<script><!--</script><script>{ACT}</script>",
    f'<img src=x onerror="{ACT}">',
    f"<svg><script>{ACT}</script></svg>",
    f'<iframe srcdoc="<script>{ACT}</script>"></iframe>',
    f'<a href="javascript:{ACT}" autofocus>x</a>',
    f'<form action="javascript:{ACT}"><button autofocus>x</button></form>',
    '<base href="https://payload.invalid/"><script src=x></script>',
    '<meta http-equiv=refresh content="0;url=https://payload.invalid/">',
    "<style>@import 'https://payload.invalid/x.css';*{display:none}</style>",
    f'<noscript><p title="</noscript><script>{ACT}</script>">',
    f"' autofocus onfocus='{ACT}",
    f"javascript:{ACT}",
    f'{{{{constructor.constructor("{ACT}")()}}}}',
    f"\\u003cscript>{ACT}\\u003c/script>",
    f"__proto__\ud800<script>{ACT}</script>\x00\x1b[31m\u202e",
    "__proto__",
)
"""One of each class: scripts, handlers, frames, addresses, forms, what loads, quotes that end, templates, escapes, and names of JavaScript."""


def poisoned(value: Any, payload: str) -> Any:
    """Put a payload in place of every text but an empty one; the keys of an object, which the page's script knows, stay."""
    if isinstance(value, str):
        return payload if value else value
    if isinstance(value, dict):
        return {name: poisoned(item, payload) for name, item in value.items()}
    return [poisoned(item, payload) for item in value] if isinstance(value, list | tuple) else value


def poisoned_page(data: Data, payload: str, kinds: bool) -> str:
    """Return the page with a payload everywhere. What an episode, an event or a style is stays, unless `kinds`; ids stay apart."""
    index, transcripts = (poisoned(part, payload) for part in data)
    for place, run in enumerate(index["runs"]):
        for number, line in enumerate(run["episodes"]):
            line["id"] = f"{payload}{number}"
            line["verdicts"] = {payload: payload}
        held = [*transcripts[place].values()]
        transcripts[place] = {f"{payload}{number}": one for number, one in enumerate(held)}
        for old, new in zip(data[1][place].values(), held, strict=True):
            for before, after in zip(old["turns"], new["turns"], strict=True):
                for event, other in zip(before["events"], after["events"], strict=True):
                    other["kind"] = payload if kinds else event["kind"]
    for one in index["compared"]:
        for number, pair in enumerate(one["pairs"]):
            pair["episodes"] = [f"{payload}{number}"] * 2
            pair["kind"] = payload if kinds else "improved"
    return render_page(index, transcripts)


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_no_payload_acts_in_any_field(shown: Open, data: Data, tmp_path: Path, payload: str) -> None:
    file = tmp_path / "page.html"
    file.write_text(poisoned_page(data, payload, kinds=False), encoding="utf-8")
    page = shown(file)
    page.set_default_timeout(5_000)
    page.get_by_role("button", name="Expand").click()
    page.locator("#compared .episodes button").first.click()
    page.locator(".sides .transcript").nth(1).wait_for()
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.locator("#episodes .transcript").nth(7).wait_for(state="attached")
    assert page.locator("main :is(script, img, iframe, object, embed, form, base, link, style, video, template, meta, noscript)").count() == 0
    names = page.evaluate("[...new Set([...document.querySelectorAll('main *')].flatMap(one => one.getAttributeNames()))]")
    assert not [name for name in names if name.startswith("on") or name in ("src", "srcdoc", "action", "formaction")]
    links = page.evaluate("[...document.querySelectorAll('a')].map(one => one.getAttribute('href'))")
    assert len(links) > 8 and all(link.startswith("#") for link in links)
    page.wait_for_timeout(20)
    assert not page.title().startswith("hit") and page.title().startswith("talm-sim report")
    assert page.url == file.as_uri()
