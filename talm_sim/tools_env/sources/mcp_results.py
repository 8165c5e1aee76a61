"""Check structured results of MCP tools against the schema that the server gives."""

from __future__ import annotations

from typing import Any

from talm_sim.schemas import NotChecked, Schema
from talm_sim.types import JsonObject

__all__ = ["explain_misfit"]


def explain_misfit(schema: JsonObject, value: Any) -> str:
    """Say why a structured result does not fit its tool's schema; empty if it does, or if that cannot be decided.

    Args:
        schema: Empty for a tool that has none.
        value: None for a result without one.
    """
    if not schema:
        return ""
    if value is None:
        return "the tool has an output schema, but gave no structured result"
    try:
        fault = Schema(schema).fault(value)
    except NotChecked:
        return ""
    return f"its structured result does not fit its output schema: {fault.message[:300]}" if fault else ""
