"""Check the arguments of a call against the tool's JSON Schema."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from talm_sim.common.digests import canonical_json
from talm_sim.common.json_values import read_json
from talm_sim.config import RESULT_LIMIT
from talm_sim.errors import ToolError
from talm_sim.schemas import NotChecked, Schema
from talm_sim.tools_env.tool_answers import cut_text
from talm_sim.types import ToolSpec

log = logging.getLogger(__name__)
_WRITTEN: dict[Any, Any] = {"integer": int, "number": (int, float), "boolean": bool}
"""Types of values that pydantic also takes as a text."""


def validate_arguments(spec: ToolSpec, arguments: Mapping[str, Any]) -> None:
    """Check arguments against the tool's JSON Schema. What cannot be checked passes: it is not known to be the model's mistake.

    Raises:
        ToolError: The arguments do not fit; the message says which one and why.
    """
    shown = canonical_json(spec.parameters)
    schema = canonical_json(spec.whole) if spec.whole else shown
    if spec.coerces:
        known = (spec.whole or spec.parameters).get("properties", {})
        arguments = {name: _coerce(value, known.get(name)) for name, value in arguments.items()}
    try:
        error = _schema(schema).fault(arguments, _schema(shown))
    except NotChecked as err:
        _warn_unchecked(spec.name, schema, str(err))
        return
    if error is not None:
        where = ".".join(str(part) for part in error.absolute_path)
        raise ToolError(f"Invalid arguments{' at ' + where if where else ''}: {cut_text(error.message, RESULT_LIMIT)}", "invalid_arguments")


def _coerce(value: Any, schema: Any) -> Any:
    """Return an argument as a tool reads it that takes a number or a truth value also as a text."""
    if not isinstance(value, str) or not isinstance(schema, dict):
        return value
    kinds = [one.get("type") for one in (schema, *schema.get("anyOf", ())) if isinstance(one, dict)]
    read = read_json(value.strip().lower())
    fits = any(kind in _WRITTEN and isinstance(read, _WRITTEN[kind]) and isinstance(read, bool) == (kind == "boolean") for kind in kinds)
    return read if fits and "string" not in kinds else value


@lru_cache(maxsize=512)
def _schema(schema: str) -> Schema:
    return Schema(json.loads(schema))


@lru_cache(maxsize=512)
def _warn_unchecked(tool: str, schema: str, why: str) -> None:
    """Say once that arguments of a tool were not checked."""
    log.warning("tool %s: arguments were only partly checked against its schema: %s", tool, why)
