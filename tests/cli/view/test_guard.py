"""Who is let in, and who is not: a real server, asked by a client that sends what a browser would not."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.responses import PlainTextResponse

from talm_sim.cli.view.app import Guard, make_app
from talm_sim.cli.view.watched import WatchedRuns
from talm_sim.store.stored_run import load_run
from tests.cli.view.served import Viewer, viewing
from tests.cli.wrong import Talm
from tests.runs.scripted import finished, scenarios
from tests.runs.stored import store

EVIL = "http://evil.example"


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder, made = tmp_path_factory.mktemp("guarded"), scenarios(2)
    store(folder / "runs", "a-run", made, [finished(one) for one in made], model="sim/oracle", split="perfect")
    with viewing("a-run", cwd=folder) as found:
        assert found.visit().status == 200
        yield found


def test_the_link_works_once_and_its_key_goes_on(viewer: Viewer) -> None:
    assert len(viewer.key) > 40
    second = Viewer(viewer.link)
    answer = second.visit()
    assert (answer.status, second.key) == (403, "") and "each link works once" in answer.text
    assert viewer.ask("/").status == 403, "a key opens no page, which would have it"
    assert viewer.ask("/state.json").status == 200


async def test_each_link_is_good_for_one_visit() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("in")(scope, receive, send)

    guard = Guard(app, "http://127.0.0.1:1234")
    links = [guard.new_link(), guard.new_link()]

    async def visit(link: str) -> int:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=guard), base_url="http://127.0.0.1:1234") as client:
            return (await client.get(link)).status_code

    assert [await visit(link) for link in (*links, *links)] == [200, 200, 403, 403]


@pytest.mark.parametrize("key", [None, "", "nonsense", "é"])
@pytest.mark.parametrize("path", ["/", "/state.json", "/transcript.json?episode=plain-000", "/nothing", "/?token=", "/?token=%ff"])
def test_nothing_is_shown_without_the_key(viewer: Viewer, path: str, key: str | None) -> None:
    answer = viewer.ask(path, Talm_Sim_Key=key, Cookie=f"talm-sim-key={viewer.key}")
    assert answer.status == 403 and "plain-000" not in answer.text and "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example:{port}", "[::1]:{port}"]
)
def test_another_host_is_refused(viewer: Viewer, host: str) -> None:
    port = viewer.host.partition(":")[2]
    assert viewer.ask("/state.json", Host=host.format(port=port)).status == 421
    assert viewer.ask("/", "POST", {}, Host=host.format(port=port)).status == 421


@pytest.mark.parametrize(
    "origin",
    [EVIL, "null", "", "http://127.0.0.1", "http://127.0.0.1:1", "https://{host}", "http://localhost:{port}", "http://{host}.evil.example"],
)
def test_another_origin_reads_and_writes_nothing(viewer: Viewer, origin: str) -> None:
    """Nor is anything written without one."""
    origin = origin.format(host=viewer.host, port=viewer.host.partition(":")[2])
    assert viewer.ask("/state.json", Origin=origin).status == 403
    body = {"run": 0, "episode": "plain-000", "text": "evil"}
    assert {viewer.ask("/comments", "POST", body, Origin=sent).status for sent in (origin, None)} == {403}
    assert viewer.state()["comments"] == [[]]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_port_embeds_nothing(viewer: Viewer, site: str) -> None:
    assert viewer.ask("/state.json", Sec_Fetch_Site=site).status == 403


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[httpx2.Response]]]:
    """Asks an application in this process, with a new link for each page."""
    made = scenarios(1)
    run = store(tmp_path, "a-run", made, [finished(one) for one in made], model="sim/oracle", split="perfect")
    guard = Guard(make_app(WatchedRuns([load_run(run)])), "http://127.0.0.1:1234")
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=guard), base_url="http://127.0.0.1:1234") as client:
        yield lambda path="", **headers: client.get(path or guard.new_link(), headers=headers)


async def test_every_answer_is_uncached_unframed_and_sets_no_cookie(guarded: Any) -> None:
    key = (await guarded()).text.partition('"key": "')[2].partition('"')[0]
    asked = [("", key), ("/state.json", key), ("/nothing", key), ("/", "")]
    for path, sent in asked:
        headers = (await guarded(path, **{"Talm-Sim-Key": sent})).headers
        assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY" and headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["content-security-policy"].startswith("default-src 'none'; ")
        assert not {"access-control-allow-origin", "set-cookie"} & {*headers}


async def test_each_page_has_a_nonce_of_its_own(guarded: Any) -> None:
    first, second = await guarded(), await guarded(**{"Sec-Fetch-Site": "cross-site"})
    for answer in (first, second):
        nonce = answer.headers["content-security-policy"].partition("script-src 'nonce-")[2].partition("'")[0]
        assert len(nonce) >= 20 and nonce in answer.text
        assert "unsafe" not in answer.headers["content-security-policy"]
    assert first.headers["content-security-policy"] != second.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"not json", "comment"),
        (b"[" * 5000, ""),
        ({"run": 0, "episode": "plain-000"}, "text"),
        ({"run": "0", "episode": "plain-000", "text": "x"}, "run"),
        ({"run": 0, "episode": "plain-000", "text": "x", "more": 1}, "more"),
        ({"run": 7, "episode": "plain-000", "text": "x"}, "no run 7"),
        ({"run": -1, "episode": "plain-000", "text": "x"}, "no run -1"),
        ({"run": 0, "episode": "../../etc/passwd", "text": "x"}, "no episode"),
        ({"run": 0, "episode": "plain-000", "text": " "}, "empty"),
        ({"run": 0, "episode": "plain-000", "text": "x" * 4001}, "at most 4,000"),
        ({"run": 0, "episode": "plain-000", "text": "\ud800"}, ""),
        ({"run": 0, "episode": "plain-000", "text": "x" * 70_000}, "larger than 64 KiB"),
    ],
)
def test_what_is_no_comment_is_refused_in_one_line(viewer: Viewer, body: object, said: str) -> None:
    answer = viewer.ask("/comments", "POST", body)
    assert answer.status in (400, 409, 413)
    assert said in answer.json["error"] and "\n" not in answer.json["error"]
    assert viewer.state()["comments"] == [[]]


def test_only_loopback_listens(viewer: Viewer) -> None:
    port = int(viewer.host.partition(":")[2])
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=5):
        pass


def test_a_port_that_is_taken_is_one_line(viewer: Viewer, talm: Talm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = scenarios(1)
    store(tmp_path / "runs", "a-run", made, [finished(one) for one in made], model="sim/oracle", split="perfect")
    port = viewer.host.partition(":")[2]
    code, out, err = talm("view", "--no-browser", "a-run", "--port", port)
    assert (code, out) == (2, "") and err.startswith(f"talm-sim: error: port {port} is busy")
