"""Anybody's OpenAPI document: whose host is called, and what proves the sender."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.sources import references
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


def _takes(schema: dict[str, Any], **schemas: Any) -> dict[str, Any]:
    """What makes a document's one operation take an argument of a schema."""
    parameters = [{"name": "q", "in": "query", "required": True, "schema": schema}]
    return {"paths": {"/a": {"get": {"parameters": parameters}}}, "components": {"schemas": schemas}}


def _query(schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": "q", "in": "query", "schema": schema}


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


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


@pytest.mark.parametrize(
    "scheme", [{"type": "apiKey", "in": "header", "name": "X-Key"}, {"type": "apiKey", "in": "cookie", "name": "k"}, {"type": "http"}]
)
async def test_a_credential_that_no_header_carries_is_refused(scheme: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIRS", "\u201cword-of-the-shop\u201d")
    document = _document("http://127.0.0.1:9", components={"securitySchemes": {"key": scheme}})
    with pytest.raises(PrerequisiteError, match=r"THEIRS: holds .*without quotes around it"):
        await open_tools([f"{_write(tmp_path, document)},auth=THEIRS"])


async def test_only_a_host_that_was_named_is_called(tmp_path: Path) -> None:
    elsewhere = _write(tmp_path, _document("https://api.example.com/v1"))
    with pytest.raises(
        PrerequisiteError, match=r"its service is at another address, https://api\.example\.com/v1; .*,server=https://api\.example\.com/v1$"
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
        (",server=ftp://x", {}, "server=ftp://x: is not an address"),
        (",server=http://me:secret-word@127.0.0.1", {}, "which would be written into the run"),
        (
            "",
            {"security": [{"key": []}], "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}}},
            "its service needs a credential: set SHOP_API_KEY",
        ),
        ("", {"paths": [1]}, "not an OpenAPI 3 document: it needs"),
        (",only=pets", {}, "has no operation with the tag pets"),
        ("", {"paths": {f"/{n}": {"get": {}} for n in range(5_000)}}, "it has 5,000 operations, more than 1,000; choose one tag: ,only=TAG"),
        ("", _takes({"$ref": "#/components/schemas/Gone"}), "cannot resolve \\$ref '#/components/schemas/Gone': the document has no such part"),
        ("", _takes({"$ref": "#/components/schemas/A"}, A={"$ref": "#/components/schemas/B"}, B={"$ref": "#/components/schemas/A"}), "cycles"),
        ("", _takes({"enum": [*range(20_000)]}), "its schemas contain more than 1,000 parts in few levels"),
        ("", _takes({"type": "nonsense"}), "its schema is not a JSON Schema at properties/q/type: 'nonsense' is not valid"),
        ("", _takes({"type": "number", "default": float("nan")}), "contains NaN, which is not JSON"),
        ("", {"servers": [{"url": "http://[bad"}]}, "is not a service address"),
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
        ("just words", "it is not an object"),
        ("- a\n- b\n", "it is not an object"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(PrerequisiteError, match=message) as caught:
            await open_tools([str(file)])
        assert "\n" not in str(caught.value)


async def test_a_document_of_any_size_or_depth_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    for text, message in (
        ("{" + " " * (50 << 20) + "}", "it is larger than 32 MiB"),
        ("[" * 100_000, "nested too deeply"),
        ("a: " + "[" * 100_000, "nested too deeply"),
        ("!!python/object/apply:os.system ['true']", "neither JSON nor YAML at line 1"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(PrerequisiteError, match=message):
            await open_tools([str(file)])


async def test_a_schema_that_holds_itself_takes_anything_within_and_a_name_taken_twice_is_left_out(tmp_path: Path) -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}
    document = _document("http://127.0.0.1:9", **_takes({"$ref": "#/components/schemas/Node"}, Node=node))
    document["paths"] |= {"/b": {"get": {"operationId": "get_a"}}, "/c": {"get": {"operationId": "日本"}}}
    tools = await open_tools([_write(tmp_path, document)])
    assert list(tools.specs) == ["get_a", "get_c"]
    assert tools.specs["get_a"].parameters["properties"]["q"]["properties"]["next"] == {}
    assert [tuple(one) for one in tools.not_taken()["shop"]] == [
        ("GET /b", "another operation is also called 'get_a'; tool names must be unique.")
    ]
    await tools.aclose()


def _doublings(first: int) -> dict[str, Any]:
    """Short to write; written out, 2 to the power of `first`."""
    node = {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/D0"}}}
    schemas: dict[str, Any] = {"D0": {"type": "string"}}
    for number in range(first):
        part = {"$ref": f"#/components/schemas/D{number}"}
        schemas[f"D{number + 1}"] = {**node, "properties": {"a": part, "b": part}}
    return schemas


_MANY = range(300)
LARGE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "doublings": ({f"/{n}": {"post": _body({"$ref": "#/components/schemas/D12"})} for n in _MANY}, _doublings(12)),
    "references": (
        {f"/{n}": {"get": {"parameters": [_query({"$ref": "#/components/schemas/C0"})]}} for n in _MANY},
        {f"C{n}": {"$ref": f"#/components/schemas/C{n + 1}", "title": "t"} for n in range(200)} | {"C200": {"type": "string"}},
    ),
    "values": (
        {f"/{n}": {"get": {"parameters": [_query({"$ref": "#/components/schemas/E"})]}} for n in _MANY},
        {"E": {"type": "string", "enum": [f"e{n}" for n in range(5_000)]}},
    ),
    "words": (
        {f"/{n}": {"get": {"parameters": [_query({"$ref": "#/components/schemas/W"})]}} for n in _MANY},
        {"W": {"type": "string", "description": "w" * 1_000_000}},
    ),
    "parts of an allOf": (
        {
            f"/{n}": {"post": _body({"allOf": [{"type": "object", "properties": {f"x{k}": {}}, "required": [f"x{k}"]} for k in _MANY]})}
            for n in _MANY
        },
        {},
    ),
}


@pytest.mark.parametrize("kind", LARGE)
async def test_all_operations_of_a_document_have_one_budget(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "_MOST_PARTS", 2_000)
    monkeypatch.setattr(references, "_MOST_PARTS_EACH", 1_500)
    paths, schemas = LARGE[kind]
    place = _write(tmp_path, {**_document("http://127.0.0.1:9"), "paths": {"/first": {"get": {}}, **paths}, "components": {"schemas": schemas}})
    began = time.process_time()
    tools = await open_tools([place])
    assert time.process_time() - began < 10
    left = tools.not_taken().get("shop", ())
    assert len(tools.specs) + len(left) == 301 and all("choose one tag: ,only=TAG" in one.reason for one in left)
    assert len(json.dumps([spec.model_dump() for spec in tools.specs.values()])) < 10_000_000
    await tools.aclose()


async def test_what_many_parts_of_an_allof_say_adds_up(tmp_path: Path) -> None:
    parts = [{"type": "object", "properties": {f"x{n}": {"const": n}}, "required": [f"x{n}"]} for n in range(400)]
    parts += [{"required": [f"y{n}" for n in range(400)]}, {"properties": {"x0": {"const": -1}}, "description": "last"}]
    place = _write(
        tmp_path,
        {
            **_document("http://127.0.0.1:9"),
            "paths": {"/a": {"post": {"requestBody": {"required": True, **_body({"allOf": parts})["requestBody"]}}}},
        },
    )
    tools = await open_tools([place])
    schema = tools.specs["post_a"].parameters
    assert schema["properties"]["x0"] == {"const": 0}, "the first that says it counts"
    assert len(schema["properties"]) == 400
    await tools.aclose()
