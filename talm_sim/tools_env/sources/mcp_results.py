"""Structured results of MCP tools, checked against the schema that the server gives of them."""

from __future__ import annotations

from typing import Any

from talm_sim.schemas import NotChecked, Schema
from talm_sim.types import JsonObject

__all__ = ["explain_misfit"]


def explain_misfit(schema: JsonObject, value: Any) -> str:
    """Why a structured result is not what its tool's schema says; empty where it is, or where that cannot be told.

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
