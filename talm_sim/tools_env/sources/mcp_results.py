"""Read what a tool of an MCP server returned: the text of its content, else its structured value; or its failure, in its own words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from talm_sim.common.json_values import leaves, read_json
from talm_sim.recordings import ARTIFACT_HEADER, PLAIN_HEADER, HttpResponse
from talm_sim.schemas import Schema
from talm_sim.tools_env.routes import answer, function_error
from talm_sim.types import JsonObject


def read_result(result: Any, schema: JsonObject) -> HttpResponse:
    """Return what a tool returned as the answer that is recorded; one that its output schema, if it has one, does not allow is a failure."""
    value, blocks = result.structured_content, [*_blocks(result)]
    if result.is_error:
        whole = "\n".join(blocks)
        is_said = value is None or all(str(one) in whole for _, one in leaves(value))
        return function_error("\n".join(blocks if is_said else [*blocks, json.dumps(value, ensure_ascii=False)]) or "It said nothing.")
    if schema and value is None and "structured_content" not in result.model_fields_set:
        return function_error("the tool has an output schema, but gave no structured result")
    if schema and (why := Schema(schema).explain(value)):
        return function_error(f"its structured result does not fit its output schema: {why}")
    has_value = not blocks and "structured_content" in result.model_fields_set
    made = answer(value) if has_value else _answer_of("\n".join(blocks))
    if made.status != 200 or has_value or value is None:
        return made
    return replace(made, headers=(*made.headers, (ARTIFACT_HEADER, json.dumps(value))))  # as LangChain's adapter keeps it


def leaves_out(result: Any) -> bool:
    """Return whether the structured value says something that the content, which is read in its place, does not."""
    blocks = [*_blocks(result, whole=True)]
    known = {str(one) for text in blocks for _, one in leaves(read_json(text))}
    return bool(blocks) and any(str(one) not in known and str(one) not in "\n".join(blocks) for _, one in leaves(result.structured_content))


def _blocks(result: Any, *, whole: bool = False) -> Iterator[str]:
    """Return the content as texts: of a resource its text, of a link its name and address, of other data what it is, or the `whole` of it."""
    for part in result.content:
        inner = part.resource if part.type == "resource" else part
        data = getattr(inner, "blob", None) or getattr(inner, "data", None)
        if part.type == "resource_link":
            yield f"[link: {part.name}, {part.uri}]"
        elif data is None or whole:
            yield data or inner.text
        else:
            where = f" {inner.uri}" if part.type == "resource" else ""
            yield f"[{part.type}{where}: {inner.mime_type or 'data'}, {len(data.rstrip('=')) * 3 // 4:,} bytes]"


def _answer_of(text: str) -> HttpResponse:
    """Return a text; one that is a JSON object or list is recorded as that, and read as it stands."""
    value = read_json(text)
    if not isinstance(value, dict | list):
        return answer(text if isinstance(value, str) or json.dumps(value) != text else value)
    made = answer(value)
    return replace(made, headers=(*made.headers, (PLAIN_HEADER, "1")), body=text.encode()) if made.status == 200 else answer(text)
