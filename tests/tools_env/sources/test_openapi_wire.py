"""OpenAPI as the standard says it, over real HTTP/1.1: what a call sends, whose credentials it has, and what becomes of an answer."""

from __future__ import annotations

import json
import re
from asyncio import StreamWriter
from pathlib import Path
from typing import Any

import pytest

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.toolbox import Tools, open_tools
from talm_sim.types import Scenario, ToolCall, ToolEvent, Turn
from tests.tools_env.sources.lines import Line, answered, listening

LIST, OBJECT, TEXT = {"type": "array", "items": {"type": "string"}}, {"type": "object"}, {"type": "string"}
COLOURS, RGB = ["blue", "b/k"], {"R": 100, "G": 200}


async def called(
    tmp_path: Path, document: dict[str, Any], arguments: dict[str, Any], *, line: Line, options: str = ""
) -> tuple[Tools, ToolEvent]:
    file = tmp_path / "api.json"
    file.write_text(json.dumps({"openapi": "3.1.0", "servers": [{"url": f"http://127.0.0.1:{line.port}"}], **document}), encoding="utf-8")
    tools = await open_tools([f"shop={file}{options}"])
    name = next(iter(tools.specs))
    scenario = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=(name,))
    event = await Environment(tools).open(scenario).call(ToolCall(id="1", name=name, arguments=arguments), 0)
    await tools.aclose()
    return tools, event


def taking(where: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A document whose one operation takes `color`."""
    parameter = {"name": "color", "in": where, "schema": schema, **({"required": True} if where == "path" else {}), **more}
    return {"paths": {"/a/{color}" if where == "path" else "/a": {"get": {"operationId": "t", "parameters": [parameter]}}}}


STYLES: list[tuple[str, str, bool | None, Any, str]] = [
    ("path", "simple", None, "b/e", "/a/b%2Fe"),
    ("path", "simple", None, COLOURS, "/a/blue,b%2Fk"),
    ("path", "simple", None, RGB, "/a/R,100,G,200"),
    ("path", "simple", True, RGB, "/a/R=100,G=200"),
    ("path", "label", None, "blue", "/a/.blue"),
    ("path", "label", True, COLOURS, "/a/.blue.b%2Fk"),
    ("path", "label", True, RGB, "/a/.R=100.G=200"),
    ("path", "matrix", None, "blue", "/a/;color=blue"),
    ("path", "matrix", None, COLOURS, "/a/;color=blue,b%2Fk"),
    ("path", "matrix", True, COLOURS, "/a/;color=blue;color=b%2Fk"),
    ("path", "matrix", None, RGB, "/a/;color=R,100,G,200"),
    ("path", "matrix", True, RGB, "/a/;R=100;G=200"),
    ("query", "form", None, "", "/a?color="),
    ("query", "form", None, COLOURS, "/a?color=blue&color=b%2Fk"),
    ("query", "form", False, COLOURS, "/a?color=blue,b%2Fk"),
    ("query", "form", None, RGB, "/a?R=100&G=200"),
    ("query", "form", False, RGB, "/a?color=R,100,G,200"),
    ("query", "form", False, ["a", None, "b"], "/a?color=a,b"),
    ("query", "spaceDelimited", None, COLOURS, "/a?color=blue%20b%2Fk"),
    ("query", "spaceDelimited", True, COLOURS, "/a?color=blue&color=b%2Fk"),
    ("query", "pipeDelimited", None, COLOURS, "/a?color=blue%7Cb%2Fk"),
    ("query", "pipeDelimited", None, RGB, "/a?color=R%7C100%7CG%7C200"),
    ("query", "deepObject", True, {**RGB, "in": {"B": True}}, "/a?color%5BR%5D=100&color%5BG%5D=200&color%5Bin%5D%5BB%5D=true"),
    ("header", "simple", None, COLOURS, "color: blue,b/k"),
    ("header", "simple", None, RGB, "color: R,100,G,200"),
    ("header", "simple", True, RGB, "color: R=100,G=200"),
    ("cookie", "form", None, 5, "Cookie: color=5"),
    ("cookie", "form", None, "a b+", "Cookie: color=a%20b%2B"),
    ("cookie", "form", False, COLOURS, "Cookie: color=blue,b%2Fk"),
    ("cookie", "form", True, RGB, "Cookie: R=100; G=200"),
]


@pytest.mark.parametrize(("where", "style", "explode", "value", "sent"), STYLES)
async def test_every_style_is_written_as_the_standard_says(
    where: str, style: str, explode: bool | None, value: Any, sent: str, tmp_path: Path
) -> None:
    exploded = {} if explode is None else {"explode": explode}
    async with listening() as line:
        _, event = await called(tmp_path, taking(where, {}, style=style, **exploded), {"color": value}, line=line)
    assert event.ok and f"{sent}\r\n".removeprefix("/") in line.heard[0].replace(" HTTP/1.1", "").replace("GET /", "GET ")


BODIES: list[tuple[str, str, dict[str, Any], dict[str, Any], str]] = [
    ("delete", "application/json", {"type": "object", "properties": {"ids": LIST}}, {"ids": ["1"]}, '{"ids": ["1"]}'),
    ("delete", "application/json", {"type": "object", "properties": {"ids": LIST}}, {}, ""),
    ("get", "application/json", {"type": "object", "properties": {"q": {}}}, {"q": None}, '{"q": null}'),
    ("post", "application/vnd.api+json", {"type": "object", "properties": {"data": OBJECT}}, {"data": {}}, '{"data": {}}'),
    (
        "patch",
        "application/merge-patch+json",
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
        {"a": None},
        '{"a": null}',
    ),
    ("patch", "application/json-patch+json", {"type": "array", "items": OBJECT}, {"body": [{"op": "x"}]}, '[{"op": "x"}]'),
    (
        "post",
        "application/x-www-form-urlencoded",
        {"type": "object", "properties": {"a": LIST, "b": {}}},
        {"a": ["1", "2"], "b": " "},
        "a=1&a=2&b=+",
    ),
    ("put", "text/csv; charset=utf-8", TEXT, {"body": "a,b\n1,é"}, "a,b\n1,é"),
    ("post", "application/json", {"oneOf": [OBJECT, {"type": "null"}, LIST]}, {"body": ["1"]}, '["1"]'),
]


@pytest.mark.parametrize(("method", "kind", "schema", "arguments", "sent"), BODIES)
async def test_a_body_has_the_type_that_is_declared(
    method: str, kind: str, schema: dict[str, Any], arguments: dict[str, Any], sent: str, tmp_path: Path
) -> None:
    operation = {"operationId": "t", "requestBody": {"content": {"multipart/form-data": {}, kind: {"schema": schema}}}}
    async with listening() as line:
        _, event = await called(tmp_path, {"paths": {"/a": {method: operation}}}, arguments, line=line)
    head, _, body = line.heard[0].partition("\r\n\r\n")
    assert event.ok and body == sent and head.startswith(f"{method.upper()} /a HTTP") and (f"Content-Type: {kind}" in head) == bool(sent)


MAY_BE_NULL: list[dict[str, Any]] = [
    {"type": "string", "nullable": True},
    {"type": "string", "nullable": True, "enum": ["a"]},
    {"type": ["string", "null"]},
    {"enum": ["a", None]},
    {"oneOf": [{"type": "string"}, {"type": "null"}]},
    {"$ref": "#/components/schemas/May"},
    {"nullable": True, "allOf": [{"$ref": "#/components/schemas/Must"}]},
    {"nullable": True, "$ref": "#/components/schemas/Must"},
]
MUST_NOT: list[dict[str, Any]] = [TEXT, {"type": ["string", "null"], "enum": ["a"]}, {"$ref": "#/components/schemas/Must"}]


@pytest.mark.parametrize("schema", [*MAY_BE_NULL, *MUST_NOT])
@pytest.mark.parametrize("place", ["query", "body", "deep"])
async def test_null_passes_where_the_schema_allows_it(schema: dict[str, Any], place: str, tmp_path: Path) -> None:
    within = {"type": "object", "properties": {"items": {"type": "array", "items": schema}}, "required": ["items"]}
    arguments: dict[str, Any] = {"q": {"items": [None, "a"]} if place == "deep" else None}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"q": within if place == "deep" else schema}}}}}
    operation = {"parameters": [{"name": "q", "in": "query", "schema": schema}]} if place == "query" else {"requestBody": body}
    schemas = {"May": {"type": "string", "nullable": True}, "Must": TEXT}
    async with listening() as line:
        tools, event = await called(tmp_path, {"paths": {"/a": {"post": operation}}, "components": {"schemas": schemas}}, arguments, line=line)
    assert (event.ok, event.error) == ((True, "") if schema in MAY_BE_NULL else (False, "invalid_arguments"))
    assert "null" not in json.dumps(tools.specs["post_a"].parameters).replace("[null]", "").replace('"a", null', ""), "what is shown is short"
    if event.ok:
        assert line.heard[0].startswith("POST /a HTTP") and line.heard[0].endswith("\r\n\r\n" if place == "query" else json.dumps(arguments))


SCHEMES = {
    "first": {"type": "http", "scheme": "bearer"},
    "second": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
    "third": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "odd": {"type": "mutualTLS"},
}
SECURITY: list[tuple[Any, Any, str, str]] = [
    ([{"second": []}], None, "KEY_A", "X-Api-Key: a-secret-word"),
    ([{"second": []}], [{"first": []}], "KEY_A", "Authorization: Bearer a-secret-word"),
    ([{"first": []}], [], "KEY_A", "-"),
    ([{"odd": []}, {"third": []}], None, "KEY_A", "Cookie: sid=a-secret-word"),
    ([{}, {"second": []}], None, "KEY_A", "X-Api-Key: a-secret-word"),
    ([{"second": [], "first": []}], None, "KEY_A+KEY_B", "X-Api-Key: a-secret-word\r\nAuthorization: Bearer b-secret-word"),
    ([{"second": [], "first": []}], None, "KEY_A", "needs 2 credentials (second, first): add ,auth=A+B"),
    ([{"odd": []}], None, "KEY_A", "needs the security scheme 'odd', which is not supported"),
    ([{"none": []}], None, "KEY_A", "needs the security scheme 'none', which is not declared"),
    (None, None, "KEY_A", "Authorization: Bearer a-secret-word"),
]


@pytest.mark.parametrize(("whole", "own", "auth", "expected"), SECURITY)
async def test_the_scheme_that_security_names_proves_the_sender(
    whole: Any, own: Any, auth: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_A", "a-secret-word")
    monkeypatch.setenv("KEY_B", "b-secret-word")
    operation = {"operationId": "t", **({} if own is None else {"security": own})}
    others = {
        "/free": {"get": {"security": []}},
        "/one": {"get": {"security": [{"first": []}]}},
        "/two": {"get": {"security": [{"second": []}]}},
    }
    document = {"paths": {"/a": {"get": operation}, **others}, "components": {"securitySchemes": SCHEMES}}
    async with listening() as line:
        tools, _ = await called(tmp_path, document | ({} if whole is None else {"security": whole}), {}, line=line, options=f",auth={auth}")
    if expected.startswith("needs"):
        [(tool, why)] = tools.not_taken()["shop"]
        assert tool == "t" and why.startswith(expected)
    elif expected == "-":
        assert "secret-word" not in line.heard[0]
    else:
        assert f"\r\n{expected}\r\n" in line.heard[0] and line.heard[0].count("secret-word") == auth.count("KEY")


ANSWERS: list[tuple[str, bytes, Any]] = [
    ("text/plain", b'two lines\nwith "quotes"', 'two lines\nwith "quotes"'),
    ("text/csv; charset=iso-8859-1", "a,é".encode("latin-1"), "a,é"),
    ("application/xml", "<a>é</a>".encode(), "<a>é</a>"),
    ("application/x-ndjson", b'{"a": 1}\n{"a": 2}\n', '{"a": 1}\n{"a": 2}\n'),
    ("text/csv", b"5", "5"),
    ("text/plain; charset=nonsense", b"a\xff", "a\ufffd"),
    ("image/png", b"\x89PNG\xff", "[5 bytes of image/png]"),
    ("text/html", b'{"a": 1}', {"a": 1}),
    ("application/json; charset=iso-8859-1", '"é"'.encode("latin-1"), "é"),
    ("application/problem+json", b'"x"', "x"),
    ("", b"two words", "two words"),
    ("", b'{"a": 1}', {"a": 1}),
]


@pytest.mark.parametrize(("kind", "body", "value"), ANSWERS)
async def test_an_answer_that_is_no_json_is_its_text(kind: str, body: bytes, value: Any, tmp_path: Path) -> None:
    async def play(writer: StreamWriter) -> None:
        writer.write(answered(body).replace(b"application/json", kind.encode()))

    async with listening(play) as line:
        _, event = await called(tmp_path, {"paths": {"/a": {"get": {}}}}, {}, line=line)
    assert event.ok and event.result in (value, json.dumps(value, ensure_ascii=False), json.dumps(value, separators=(",", ":")))


async def test_declared_json_that_is_none_is_a_fault(tmp_path: Path) -> None:
    async def play(writer: StreamWriter) -> None:
        writer.write(answered(b"two words"))

    async with listening(play) as line:
        _, event = await called(tmp_path, {"paths": {"/a": {"get": {}}}}, {}, line=line)
    assert (event.ok, event.error) == (False, "malformed_body")


async def test_references_lead_through_lists_and_to_files_beside_the_document_and_nowhere_else(tmp_path: Path) -> None:
    folder = tmp_path / "apis"
    (folder / "parts").mkdir(parents=True)
    (tmp_path / "outside.json").write_text('{"get": {}}')
    (folder / "link.json").symlink_to(tmp_path / "outside.json")
    pet = {"get": {"operationId": "pet", "parameters": [{"$ref": "../parts/shared.yaml#/p~1{x}/0"}]}, "post": {"$ref": "op.yaml"}}
    (folder / "parts" / "pet.json").write_text(json.dumps(pet))
    (folder / "parts" / "op.yaml").write_text(
        "operationId: op\nrequestBody: {content: {application/json: {schema: {$ref: 'shared.yaml#/Tag/allOf/1'}}}}"
    )
    shared = {
        "p/{x}": [{"name": "n", "in": "query", "schema": {"$ref": "#/Tag/allOf/0"}}],
        "Tag": {"allOf": [TEXT, {"properties": {"t": TEXT}}]},
    }
    (folder / "parts" / "shared.yaml").write_text(json.dumps(shared))
    refs = {"/pet": "parts/pet.json", "/own": "#/components/pathItems/%7Bown%7D", "/list": "#/x-list/0", "/up": "../outside.json"}
    refs |= {"/link": "link.json", "/host": "http://127.0.0.1:9/a.json", "/gone": "parts/gone.json", "/round": "#/paths/~1round"}
    document = {"paths": {path: {"$ref": ref} for path, ref in refs.items()}, "x-list": [{"put": {}}]}
    document["components"] = {"pathItems": {"{own}": {"get": {"operationId": "own"}}}}
    async with listening() as line:
        tools, _ = await called(folder, document, {}, line=line)
    assert {name: [*spec.parameters["properties"]] for name, spec in tools.specs.items()} == {
        "pet": ["n"],
        "op": ["t"],
        "own": [],
        "put_list": [],
    }
    left = {one.tool: one.reason for one in tools.not_taken()["shop"]}
    assert [*left] == ["/up", "/link", "/host", "/gone", "/round"] and all("cannot resolve $ref" in why for why in left.values())


async def test_what_is_only_read_is_no_argument_and_what_cannot_be_sent_costs_itself(tmp_path: Path) -> None:
    only_read = {"id": {"type": "integer", "readOnly": True}, "made": {"$ref": "#/components/schemas/Made"}}
    body = {"allOf": [{"properties": {**only_read, "name": TEXT}}, {"required": ["id", "name"]}]}
    parameters = [
        {"name": "id", "in": "path", "required": True, "schema": TEXT},
        {"name": "o", "in": "query", "style": "matrix", "schema": TEXT},
    ]
    operation = {"operationId": "t", "parameters": parameters, "requestBody": {"required": True, "content": {"*/*": {"schema": body}}}}
    schemas = {"Made": {"type": "string", "readOnly": True}}
    async with listening() as line:
        tools, event = await called(
            tmp_path, {"paths": {"/a/{id}": {"put": operation}}, "components": {"schemas": schemas}}, {"id": "1", "name": "n"}, line=line
        )
    assert (tools.specs["t"].required, [*tools.specs["t"].parameters["properties"]]) == (("id", "name"), ["id", "name"])
    assert event.ok and re.search(r"Content-Type: application/json\r\n.*\{\"name\": \"n\"\}$", line.heard[0], re.S)
    assert [tuple(one) for one in tools.not_taken()["shop"]] == [
        ("parameter 'o' of PUT /a/{id}", "parameter 'o' has the style 'matrix', which no query has.")
    ]


async def test_a_relative_server_is_below_the_host_that_is_named(tmp_path: Path) -> None:
    document = {"paths": {"/a": {"get": {}}}, "servers": [{"url": "/v1"}]}
    async with listening() as line:
        for named in ("", "/other"):
            await called(tmp_path, document, {}, line=line, options=f",server=http://127.0.0.1:{line.port}{named}")
    assert [head.split()[1] for head in line.heard] == ["/v1/a", "/other/a"]
    with pytest.raises(PrerequisiteError, match="it does not say where its service is"):
        await called(tmp_path, document, {}, line=line)
