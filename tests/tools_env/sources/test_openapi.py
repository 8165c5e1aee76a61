"""Anybody's OpenAPI document: whose host is called, and what proves the sender."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.toolbox import open_tools
from tests.tools_env.sources.worlds import DOCUMENT, Doubling, doubling_service


def _document(server: str = "", **more: Any) -> dict[str, Any]:
    parameters = [
        {"name": "x", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        {"name": "X-Unit", "in": "header", "schema": {"type": "string"}},
    ]
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}}}
    paths = {
        "/all/{x}": {"post": {"operationId": "all", "parameters": parameters, "requestBody": body}},
        "/elsewhere": {"get": {"operationId": "go"}},
    }
    return {"openapi": "3.1.0", "paths": paths, **({"servers": [{"url": server}]} if server else {}), **more}


def _write(directory: Path, document: dict[str, Any]) -> str:
    file = directory / "api.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return f"shop={file}"


async def test_arguments_travel_in_path_query_header_and_body_and_the_credential_in_no_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEIRS", "word-of-the-shop-77")
    scheme = {"components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}}
    with doubling_service() as url:
        tools = await open_tools([f"{_write(tmp_path, _document(url, **scheme))},auth=THEIRS"])
        response, _ = await tools.call("all", {"x": "a/b", "tags": ["c", "d"], "X-Unit": "kg\r\nX-Evil: 1", "n": 3})
        moved, _ = await tools.call("go", {})
        await tools.aclose()
    path, headers, body = Doubling.seen[0]
    assert (path, json.loads(body)) == ("/all/a%2Fb?tags=c&tags=d", {"n": 3})
    assert (headers["X-Key"], headers["X-Unit"], "X-Evil" in headers) == ("word-of-the-shop-77", "kg X-Evil: 1", False)
    assert json.loads(response.body)["key"] == "REDACTED"
    assert moved.status == 302, "another host is told nothing"


async def test_only_a_host_that_was_named_is_called(tmp_path: Path) -> None:
    elsewhere = _write(tmp_path, _document("https://api.example.com/v1"))
    with pytest.raises(
        PrerequisiteError, match=r"its service is elsewhere, at https://api\.example\.com/v1; .*,server=https://api\.example\.com/v1$"
    ):
        await open_tools([elsewhere])
    with doubling_service() as url:
        tools = await open_tools([f"{elsewhere},server={url}"])
        assert json.loads((await tools.call("all", {"x": "y"}))[0].body)["path"] == "/all/y"
        await tools.aclose()


@pytest.mark.parametrize(
    ("options", "document", "message"),
    [
        ("", {"servers": []}, "it does not say where its service is"),
        (",auth=NOT_SET", {}, "the environment variable NOT_SET is not set"),
        (",server=ftp://x", {}, "server=ftp://x: no address"),
        (",server=http://me:secret-word@127.0.0.1", {}, "which would be written into the run"),
        (
            "",
            {"security": [{"key": []}], "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}}},
            "its service wants a credential: set SHOP_API_KEY",
        ),
        ("", {"openapi": "2.0"}, "not an OpenAPI 3 document"),
    ],
)
async def test_what_is_wrong_is_one_line(options: str, document: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=message) as caught:
        await open_tools([_write(tmp_path, {**_document("http://127.0.0.1:9"), **document}) + options])
    assert "\n" not in str(caught.value)


async def test_yaml_is_read_without_aliases(tmp_path: Path) -> None:
    import yaml  # type: ignore[import-untyped]

    file = tmp_path / "numbers.yaml"
    file.write_text(yaml.safe_dump({**DOCUMENT, "servers": [{"url": "http://127.0.0.1:9"}]}), encoding="utf-8")
    tools = await open_tools([str(file)])
    assert list(tools.specs) == ["double"] and tools.source_of("double") == "numbers"
    await tools.aclose()
    for text, message in (
        ("a: &x [1]\nb: [*x, *x]\n", "it uses YAML aliases"),
        ("a: &x [*x]\n", "it uses YAML aliases"),
        ("a: [1\n", "neither JSON nor YAML at line 2"),
        ("just words", "it holds no object"),
        ("- a\n- b\n", "tool 1: "),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(PrerequisiteError, match=message) as caught:
            await open_tools([str(file)])
        assert "\n" not in str(caught.value)


async def test_a_date_and_a_status_of_yaml_are_texts(tmp_path: Path) -> None:
    file = tmp_path / "dates.yaml"
    parameter = "{name: d, in: query, schema: {type: string}, example: 2024-01-02}"
    answer = "{200: {content: {application/json: {schema: {type: integer}}}}}"
    operation = f"{{parameters: [{parameter}], responses: {answer}}}"
    file.write_text(f"openapi: 3.0.3\nservers: [{{url: 'http://127.0.0.1:9'}}]\npaths: {{/a: {{get: {operation}}}}}\n", encoding="utf-8")
    tools = await open_tools([str(file)])
    assert tools.specs["get_a"].parameters["properties"]["d"]["examples"] == ["2024-01-02"]
    assert tools.response_schema("get_a")["type"] == "integer"
    await tools.aclose()
