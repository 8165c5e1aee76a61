from __future__ import annotations

import contextlib
from typing import Any

import jsonschema
import pytest
from hypothesis import given, strategies as st

from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.sources.http import HttpTools
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.types import Route
from talm_sim.world.app import create_app
from tests.growth import check_growth


def _document(paths: dict[str, Any], **components: Any) -> dict[str, Any]:
    return {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": paths, "components": {"schemas": components}}


def _only(operation: dict[str, Any], *, method: str = "get", path: str = "/pets", **components: Any) -> Any:
    (spec,) = tools_from_openapi(_document({path: {method: operation}}, **components)).specs.values()
    return spec


@pytest.fixture(scope="module")
def ours() -> HttpTools:
    return tools_from_openapi(create_app().openapi())


def test_every_schema_of_ours_is_valid_and_without_titles(ours: HttpTools) -> None:
    for spec in ours.specs.values():
        jsonschema.Draft202012Validator.check_schema(spec.parameters)
        assert all("title" not in schema for schema in (spec.parameters, *spec.parameters["properties"].values()))


def test_path_query_and_body_are_flattened_into_one_object() -> None:
    pet = {
        "type": "object",
        "title": "Pet",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "tag": {"$ref": "#/components/schemas/Tag"}},
    }
    spec = _only(
        {
            "operationId": "update pet",
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}},
                {"name": "notify", "in": "query", "schema": {"type": "boolean", "default": False}},
                {"name": "X-Token", "in": "header", "required": True, "schema": {"type": "string"}},
            ],
            "requestBody": {"required": True, "content": {"application/json; charset=utf-8": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
        },
        method="put",
        path="/pets/{id}",
        Pet=pet,
        Tag={"type": "string", "enum": ["cat", "dog"]},
    )
    assert (spec.name, spec.category) == ("update_pet", "pets")
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "notify": {"type": "boolean", "default": False},
            "name": {"type": "string"},
            "tag": {"type": "string", "enum": ["cat", "dog"]},
        },
        "required": ["id", "name"],
        "additionalProperties": False,
    }


def test_parameters_of_the_path_item_hold_for_all_its_operations_and_are_overridden() -> None:
    item = {
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
            {"name": "page", "in": "query", "schema": {"type": "integer"}},
        ],
        "get": {"parameters": [{"name": "page", "in": "query", "required": True, "schema": {"type": "integer", "maximum": 9}}]},
        "delete": {},
    }
    get, delete = tools_from_openapi(_document({"/pets/{id}": item})).specs.values()
    assert get.required == ("id", "page") and get.parameters["properties"]["page"]["maximum"] == 9
    assert delete.required == ("id",) and (get.name, delete.name) == ("get_pets_id", "delete_pets_id")


@pytest.mark.parametrize(
    ("written", "short"),
    [
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "title": "N"}, {"type": "integer"}),
        ({"type": ["string", "null"], "nullable": True}, {"type": "string"}),
        ({"type": ["string", "integer"]}, {"type": ["string", "integer"]}),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, {"oneOf": [{"type": "integer"}, {"type": "string"}]}),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 0}),
        ({"type": "number", "maximum": 5, "exclusiveMaximum": False}, {"type": "number", "maximum": 5}),
        ({"type": "string", "example": "HAN"}, {"type": "string", "examples": ["HAN"]}),
        (
            {"type": "array", "items": {"type": "string", "title": "T"}, "minItems": 1},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ),
        (
            {
                "allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}],
                "properties": {"b": {"type": "integer"}},
            },
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
        ),
    ],
)
def test_schemas_come_out_short(written: dict[str, Any], short: dict[str, Any]) -> None:
    assert _only({"parameters": [{"name": "x", "in": "query", "schema": written}]}).parameters["properties"]["x"] == short


def test_examples_and_descriptions_of_a_parameter_reach_its_schema() -> None:
    spec = _only(
        {
            "summary": "Find  pets.",
            "description": "Slow\nat night.",
            "parameters": [
                {"name": "a", "in": "query", "description": "First.", "example": 3, "schema": {"type": "integer", "description": "Other."}},
                {"name": "b", "in": "query", "examples": {"one": {"value": "x"}, "two": {"value": "y"}}, "schema": {"type": "string"}},
                {"name": "c", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
            ],
        }
    )
    assert spec.description == "Find pets.\nSlow at night."
    assert spec.parameters["properties"] == {
        "a": {"type": "integer", "description": "First.", "examples": [3]},
        "b": {"type": "string", "examples": ["x", "y"]},
        "c": {"type": "object"},
    }


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "not an OpenAPI 3 document"),
        ({"swagger": "2.0", "paths": {}}, "not an OpenAPI 3 document"),
        (
            _document(
                {
                    "/a/{x}": {
                        "get": {
                            "parameters": [
                                {"name": "x", "in": "path", "required": True, "schema": {"type": "string"}},
                                {"name": "x", "in": "query", "required": True, "schema": {"type": "string"}},
                            ]
                        }
                    }
                }
            ),
            r"GET /a/{x}: two parameters are called 'x'",
        ),
        (
            _document({"/a": {"post": {"requestBody": {"content": {"image/png": {"schema": {"type": "string"}}}}}}}),
            r"POST /a: it takes a body that is not JSON, a form or text \(image/png\)",
        ),
        (_document({"/a": {"get": {"parameters": [{"$ref": "other.yaml#/p"}]}}}), r"cannot resolve \$ref 'other.yaml#/p'"),
        (_document({"/a": {"get": {"parameters": [{"$ref": "#/components/nothing"}]}}}), "the document has no such part"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_in_one_line(document: dict[str, Any], message: str) -> None:
    with pytest.raises(PrerequisiteError, match=message) as caught:
        tools_from_openapi(document)
    assert "\n" not in str(caught.value)


def test_what_could_only_be_called_wrongly_is_left_out_with_its_reason() -> None:
    here, there = {"url": "https://a.example"}, {"url": "https://b.example"}

    def cookie(name: str, *, required: bool) -> dict[str, Any]:
        return {"parameters": [{"name": name, "in": "cookie", "required": required, "schema": {"type": "string"}}]}

    document = _document(
        {
            "/a": {"get": {"servers": [there]}, "post": {"servers": [there, here]}},
            "/b": {"servers": [there], "get": {}, "post": {"servers": [here]}},
            "/c": {"post": {"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}}},
            "/d": {"get": cookie("basket", required=True), "post": cookie("basket", required=False)},
            "/e": {"get": cookie("session", required=True)},
        }
    )
    document["servers"] = [here]
    document["components"]["securitySchemes"] = {"s": {"type": "apiKey", "in": "cookie", "name": "session"}}
    tools = tools_from_openapi(document)
    assert list(tools.specs) == ["post_a", "post_b", "get_d", "post_d", "get_e"]
    assert [tuple(one) for one in tools.not_taken] == [
        ("GET /a", "it has a server of its own, https://b.example; all operations of a document must use the same server."),
        ("GET /b", "it has a server of its own, https://b.example; all operations of a document must use the same server."),
        ("POST /c", "it takes a body that is not JSON, a form or text (application/octet-stream)."),
    ]


def test_what_cannot_be_a_tool_is_left_out_with_its_reason_where_others_can() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(16):
        deep = {"type": "object", "properties": {"a": deep, "b": deep}}
    tools = tools_from_openapi(
        _document(
            {
                "/a": {"get": {"operationId": "x"}, "post": {"operationId": "x"}},
                "/b": {"get": {"parameters": [{"$ref": "#/nowhere"}]}, "post": {"parameters": "none"}},
                "/c": {"put": {"requestBody": {"required": True, "content": {"multipart/form-data": {}}}}},
                "/d/{y}": {"get": {}},
                "/e": {"get": {"parameters": [{"name": "q", "in": "query", "required": True, "style": "odd", "schema": {"type": "object"}}]}},
                "/e/2": {"get": {"parameters": [{"name": "q", "in": "query", "style": "odd"}, {"name": "r", "in": "header"}]}},
                "/f": {"get": {"parameters": [{"name": "q", "in": "query", "schema": deep}]}},
                "/g": "nothing",
            }
        )
    )
    assert list(tools.specs) == ["x", "get_e_2", "get_f"]
    assert list(tools.specs["get_e_2"].parameters["properties"]) == ["r"]
    assert [tuple(one) for one in tools.not_taken] == [
        ("POST /a", "another operation is also called 'x'; tool names must be unique."),
        ("GET /b", "cannot resolve $ref '#/nowhere': the document has no such part."),
        ("POST /b", "it does not follow the OpenAPI format."),
        ("PUT /c", "it takes a body that is not JSON, a form or text (multipart/form-data)."),
        ("GET /d/{y}", "its path has 'y', which is not a path parameter."),
        ("GET /e", "parameter 'q' has the style 'odd', which no query has."),
        ("parameter 'q' of GET /e/2", "parameter 'q' has the style 'odd', which no query has."),
    ]


def test_headers_are_arguments_and_credentials_are_not() -> None:
    names = ("X-Unit", "X-Api-Key", "Accept")
    headers = [{"name": name, "in": "header", "required": True, "schema": {"type": "string"}} for name in names]
    tools = tools_from_openapi(_document({"/a": {"get": {"operationId": "x", "parameters": headers}}}), "shop")
    assert tools.specs["x"].required == ("X-Unit",)
    assert tools.routes["x"] == Route(path="/shop/a", header=("X-Unit",))


def test_five_thousand_operations_are_one_line_and_one_tag_can_be_taken() -> None:
    document = _document({f"/{number}": {"get": {"tags": [f"t{number % 100}"]}} for number in range(5_000)})
    with pytest.raises(PrerequisiteError, match=r"^it has 5,000 operations, more than 1,000; choose one tag: ,only=TAG\.$"):
        tools_from_openapi(document)
    assert len(tools_from_openapi(document, only="t7").specs) == 50


_names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
_schemas = st.recursive(
    st.sampled_from([{"type": "string", "title": "T"}, {"type": "integer", "minimum": 1}, {"anyOf": [{"type": "number"}, {"type": "null"}]}]),
    lambda inner: st.one_of(
        inner.map(lambda schema: {"type": "array", "items": schema}),
        inner.map(lambda schema: {"allOf": [schema], "title": "T"}),
        st.dictionaries(_names, inner, max_size=3).map(lambda props: {"type": "object", "properties": props}),
    ),
    max_leaves=6,
)


@given(st.dictionaries(_names, st.tuples(_schemas, st.booleans()), max_size=5))
def test_any_parameters_give_a_closed_valid_schema_with_their_names(parameters: dict[str, tuple[dict[str, Any], bool]]) -> None:
    written = [{"name": name, "in": "query", "required": needed, "schema": schema} for name, (schema, needed) in parameters.items()]
    spec = _only({"parameters": written})
    jsonschema.Draft202012Validator.check_schema(spec.parameters)
    assert list(spec.parameters["properties"]) == list(parameters)
    assert set(spec.required) == {name for name, (_, needed) in parameters.items() if needed}
    assert spec.parameters["additionalProperties"] is False


@pytest.mark.parametrize("piece", ["{", "{a}", "{:", "}"])
def test_a_long_path_is_read_in_step_with_its_length(piece: str) -> None:
    def read(path: str) -> None:
        with contextlib.suppress(PrerequisiteError):
            tools_from_openapi(_document({f"/{path}": {"get": {"operationId": "find"}}}), "x")

    check_growth(read, lambda size: piece * (size // len(piece)), 2**15)
