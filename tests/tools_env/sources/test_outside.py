"""Documents and arguments that would make of a call another request than the tool's: none is sent, and the credential goes nowhere else."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from talm_sim.errors import PrerequisiteError, ProviderError
from talm_sim.recordings import HttpRequest
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.sources.http import HttpSource, HttpTools, Proof
from talm_sim.tools_env.toolbox import Tools, open_tools
from talm_sim.types import Scenario, ToolCall, ToolEvent, Turn
from tests.tools_env.sources.lines import Line, answered, listening

SECRET = "word-of-the-shop-77"
KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}


def parameter(name: str, place: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}}


def operation(path: str, *more: dict[str, Any]) -> dict[str, Any]:
    return {"parameters": [*(parameter(name, "path") for name in re.findall(r"\{(\w+)\}", path)), *more]}


async def opened(folder: Path, paths: dict[str, Any], server: str, scheme: dict[str, str] = KEY) -> Tools:
    file = folder / "shop.json"
    document = {"openapi": "3.1.0", "servers": [{"url": server}], "paths": paths, "components": {"securitySchemes": {"k": scheme}}}
    file.write_text(json.dumps(document), encoding="utf-8")
    return await open_tools([f"shop={file}"])


async def played(tools: Tools, tool: str, arguments: dict[str, Any]) -> ToolEvent:
    scenario = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=(tool,))
    return await Environment(tools).open(scenario).call(ToolCall(id="1", name=tool, arguments=arguments), 0)


def check_inside(here: Line, there: Line, paths: str) -> None:
    """Nothing came to the other server, and to this one only what a tool asks for."""
    assert there.heard == []
    for one in here.heard:
        head, _, body = one.partition("\r\n\r\n")
        first, *fields = head.split("\r\n")
        names = [field.split(":")[0].lower() for field in fields]
        assert re.fullmatch(rf"(?:GET|DELETE|POST) {paths}(?:\?[^ ]*)? HTTP/1\.1", first), first
        assert f"host: 127.0.0.1:{here.port}" in head.lower() and len(set(names)) == len(names), head
        assert head.count(SECRET) == 1 and f"X-Key: {SECRET}" in head and SECRET not in body


PATHS = {
    "user": "@127.0.0.1:PORT/steal",
    "port": ":PORT/steal",
    "domain": ".evil.example/steal",
    "word": "steal",
    "nothing": "",
    "address": "http://127.0.0.1:PORT/steal",
    "two slashes": "//127.0.0.1:PORT/steal",
    "backslash": "\\\\127.0.0.1:PORT/steal",
    "slash and backslash": "/\\127.0.0.1:PORT/steal",
    "up": "/a/../../steal",
    "up, encoded": "/a/%2e%2E/%2e./steal",
    "up, encoded twice": "/a/%252e%252e/steal",
    "up, behind a slash that is encoded": "/a%2f..%2f..%2fsteal",
    "up, with a parameter": "/a/..;x=1/steal",
    "up, wide": "/a/\uff0e\uff0e/steal",
    "up, in one letter": "/a/‥/steal",
    "here": "/./steal",
    "up at the end": "/a/..",
    "query": "/a?api_key=steal",
    "fragment": "/a#steal",
    "line": "/a HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
    "tab": "/\t/127.0.0.1:PORT/steal",
    "zero": "/a\x00",
    "half a letter": "/a\ud800",
    "long": "/" + "a" * 3_000,
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
async def test_a_path_that_leads_away_is_left_out_and_named(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    async with listening() as here, listening() as there:
        path = path.replace("PORT", str(there.port))
        tools = await opened(tmp_path, {path: {"get": {"operationId": "steal"}}, "/good": {"get": {}}}, f"http://127.0.0.1:{here.port}/v1")
        assert list(tools.specs) == ["get_good"]
        [(left, why)] = tools.not_taken()["shop"]
        assert left.startswith(f"GET {path[:400]}") and why.startswith("its path ") and why.isprintable()
        assert (await played(tools, "get_good", {})).ok
        await tools.aclose()
        assert len(here.heard) == 1
        check_inside(here, there, "/v1/good")


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
async def test_the_address_is_compared_before_anything_is_sent(path: str) -> None:
    async with listening() as here, listening() as there:
        source = HttpSource(f"http://127.0.0.1:{here.port}/v1", HttpTools({}, {}), name="shop")
        request = HttpRequest("GET", "http://tools.invalid/shop" + path.replace("PORT", str(there.port)), {}, None)
        try:
            await source.send(Proof({"X-Key": SECRET}).add_to(request))
        except ProviderError as err:
            assert "is not below http://127.0.0.1" in str(err)
        await source.aclose()
        check_inside(here, there, r"/v1/(?!\.)[^ ]*")


ARGUMENTS = (
    "",
    ".",
    "..",
    "./CV",
    "a/.",
    "%2e%2e",
    "%2E.",
    "%252e%252e",
    "..;",
    "..;x=1",
    "../..",
    "../../admin",
    "a/../b",
    "..\\..",
    "..%2f..",
    "\uff0e\uff0e",
    "‥",
    ".\u2024",
)


@pytest.mark.parametrize("argument", ARGUMENTS)
async def test_an_argument_that_walks_in_the_path_is_refused(argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    paths = {"/items/{id}": {"delete": operation("/items/{id}")}, "/items/{id}/sold": {"get": operation("/items/{id}/sold")}}
    async with listening() as here, listening() as there:
        tools = await opened(tmp_path, paths, f"http://127.0.0.1:{here.port}/v1")
        for tool in ("delete_items_id", "get_items_id_sold"):
            event = await played(tools, tool, {"id": argument})
            assert (event.ok, event.error, event.status) == (False, "invalid_arguments", None)
            assert json.loads(event.result)["error"].startswith("Invalid arguments at id: ")
        await tools.aclose()
        assert here.heard == there.heard == []


async def test_arguments_that_walk_together_are_refused_and_others_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    paths = {path: {"get": {"operationId": name, **operation(path)}} for name, path in (("pair", "/pair/{a}{b}"), ("dot", "/dot/.{a}/x"))}
    async with listening() as here, listening() as there:
        tools = await opened(tmp_path, paths, f"http://127.0.0.1:{here.port}/v1")
        for tool, arguments in (
            ("pair", {"a": ".", "b": "."}),
            ("pair", {"a": "", "b": ".."}),
            ("pair", {"a": "%2", "b": "e"}),
            ("dot", {"a": "."}),
        ):
            event = await played(tools, tool, arguments)
            assert (event.error, event.status) == ("invalid_arguments", None)
            assert f"Invalid arguments at {', '.join(arguments)}: " in event.result
        assert here.heard == []
        away = (
            "@127.0.0.1:PORT/x",
            "//127.0.0.1:PORT/",
            "?api_key=mine",
            "#",
            "\r\nHost: evil",
            " HTTP/1.1\r\n\r\nGET /x HTTP/1.1",
            "...",
            "v1.2",
            "a.b",
        )
        for argument in away:
            assert (await played(tools, "pair", {"a": argument.replace("PORT", str(there.port)), "b": "x"})).ok
        await tools.aclose()
        assert len(here.heard) == len(away)
        check_inside(here, there, "/v1/pair/[^/? ]+")


NEVER = ("Host", "Content-Length", "Transfer-Encoding", "Expect", "Connection", "Upgrade", "TE", "Trailer", "Proxy-Authorization", "Keep-Alive",
         "content-encoding", "Accept-Encoding", "Cookie", "X-KEY", "X-HTTP-Method-Override", "X-Original-URL")  # fmt: skip


async def test_headers_of_the_transport_are_no_arguments_and_values_stay_in_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    headers = [parameter(name, "header") for name in (*NEVER, "X-Unit")]
    paths = {"/a": {"post": operation("/a", *headers)}, "/b": {"get": operation("/b", parameter("X\r\nHost", "header"))}}
    async with listening() as here, listening() as there:
        tools = await opened(tmp_path, paths, f"http://127.0.0.1:{here.port}/v1")
        assert list(tools.specs["post_a"].parameters["properties"]) == ["X-Unit"]
        assert [why for _, why in tools.not_taken()["shop"]] == ["no header can be called 'X Host'."]
        for value in ("kg\r\nHost: evil", "kg\nX-Key: mine", "\x00\x1b\x7f", "größe\u2028x", "k" * 9_000):
            assert (await played(tools, "post_a", {"X-Unit": value})).ok
        await tools.aclose()
        assert len(here.heard) == 5
        check_inside(here, there, "/v1/a")


@pytest.mark.parametrize("place", ["query", "header", "cookie"])
async def test_no_argument_replaces_the_credential(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    paths = {"/a": {"get": operation("/a", parameter("shop", place), parameter("q", "query"))}}
    async with listening() as here:
        tools = await opened(tmp_path, paths, f"http://127.0.0.1:{here.port}", {"type": "apiKey", "in": place, "name": "shop"})
        assert list(tools.specs["get_a"].parameters["properties"]) == ["q"]
        assert (await played(tools, "get_a", {"q": "&shop=mine"})).ok
        await tools.aclose()
    assert here.heard[0].count(SECRET) == 1 and here.heard[0].count("shop=mine") == 0


@pytest.mark.parametrize("written", [quote(f"{SECRET}/x+y", safe=""), quote(f"{SECRET}/x+y"), f"{SECRET}/x+y"])
async def test_no_header_of_an_answer_holds_the_credential(written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", f"{SECRET}/x+y")

    async def moved(writer: asyncio.StreamWriter) -> None:
        writer.write(answered(b"{}", f"302 {written}", f"Location: http://127.0.0.1:9/a?k={written}"))

    async with listening(moved) as here:
        tools = await opened(tmp_path, {"/a": {"get": operation("/a")}}, f"http://127.0.0.1:{here.port}")
        monkeypatch.delenv("SHOP_API_KEY")  # as one whose name says nothing
        response, _ = await tools.call("get_a", {})
        await tools.aclose()
    assert SECRET not in f"{response.reason} {response.headers}" and "REDACTED" in dict(response.headers)["location"]


@pytest.mark.parametrize(
    ("place", "name"), [("header", name) for name in (*NEVER[:9], "X\r\nHost", "", "X Y")] + [("cookie", "a;b"), ("cookie", "a\r\nHost: x")]
)
async def test_a_credential_is_not_sent_as_what_it_is_not(place: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    with pytest.raises(PrerequisiteError, match=f"its security scheme sends the credential in the {place} '") as caught:
        await opened(tmp_path, {"/a": {"get": {}}}, "http://127.0.0.1:9", {"type": "apiKey", "in": place, "name": name})
    assert SECRET not in str(caught.value)


SERVERS = (
    "http://127.0.0.1:1@127.0.0.1:PORT", "http://127.0.0.1:1\\@127.0.0.1:PORT", "http://127.0.0.1\\.evil.example", "http://127.0.0.1#.evil.example",
    "http://127.0.0.1?.evil.example", "http://127.0.0.1\n.evil.example", "http://127.0.0.1%2f@127.0.0.1:PORT", "http://localhost.evil.example",
    "http://[::1].evil.example", "http://①27.0.0.1.evil.example", "http://0.0.0.0:PORT", "http://169.254.169.254", "//127.0.0.1:PORT",
    "http:127.0.0.1:PORT", "https:\\\\evil.example", "{scheme}://evil.example", "http://{host}/", "http://127.0.0.1:9/../..", "http://127.0.0.1:99999",
)  # fmt: skip


@pytest.mark.parametrize("server", SERVERS)
async def test_a_server_elsewhere_is_refused_in_one_line(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    async with listening() as there:
        with pytest.raises(PrerequisiteError) as caught:
            await opened(tmp_path, {"/a": {"get": {}}}, server.replace("PORT", str(there.port)))
        assert SECRET not in str(caught.value) and there.heard == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirection_is_not_followed_by_a_call_nor_by_the_document(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    async with listening() as there:

        async def elsewhere(writer: asyncio.StreamWriter) -> None:
            writer.write(answered(b"", f"{status} Go", f"location: http://127.0.0.1:{there.port}/"))

        async with listening(elsewhere) as here:
            tools = await opened(tmp_path, {"/a": {"get": {}}}, f"http://127.0.0.1:{here.port}")
            assert (await played(tools, "get_a", {})).ok is False
            await tools.aclose()
            with pytest.raises(PrerequisiteError, match=f"its address answered HTTP {status}, not the document"):
                await open_tools([f"http://127.0.0.1:{here.port}/openapi.json"])
        assert (len(here.heard), there.heard) == (2, [])


async def test_an_argument_that_no_address_can_hold_is_a_failed_call(tmp_path: Path) -> None:
    paths = {"/a/{id}": {"get": operation("/a/{id}", parameter("q", "query"))}}
    async with listening() as here:
        tools = await opened(tmp_path, paths, f"http://127.0.0.1:{here.port}", {})
        for arguments in ({"id": "x" * 70_000}, {"id": "x", "q": "x" * 70_000}, {"id": "%25" * 30_000}):
            assert (await played(tools, "get_a_id", arguments)).error == "http_414"
        await tools.aclose()
    assert here.heard == []


def test_variables_of_a_server_do_not_grow(tmp_path: Path) -> None:
    variables = {f"v{number}": {"default": f"{{v{number + 1}}}" * 1_000} for number in range(9)}
    document = {"openapi": "3.1.0", "servers": [{"url": "http://127.0.0.1/{v0}", "variables": variables}], "paths": {"/a": {"get": {}}}}
    (tmp_path / "d.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(PrerequisiteError, match="is not a service address"):
        asyncio.run(open_tools([str(tmp_path / "d.json")]))
