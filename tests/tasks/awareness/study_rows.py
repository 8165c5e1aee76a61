"""Rows in the form of the study's own files: three originals of two data sets, each with what was made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["nine_rows", "three_rows", "write_rows"]


def _api(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"{name} of somebody", "input_parameters": {"who": {"type": "str"}}, "output_parameters": {}}


def _tool(name: str) -> dict[str, Any]:
    required = [{"name": "who", "type": "STRING", "description": "", "default": ""}]
    api = {"category_name": "Tools", "tool_name": "Desk", "api_name": name, "api_description": f"{name} of somebody", "method": "GET"}
    return {**api, "required_parameters": required, "optional_parameters": []}


def three_rows(number: int, dataset: str) -> list[dict[str, Any]]:
    """An original, and what each manipulation made of it."""
    bank = dataset == "api-bank"
    needed, other, instead = (_api(name) if bank else _tool(name) for name in ("Salary", "Address", "Birthday"))
    row = {
        "original_sample_id": number,
        "source_file_id": {"dataset": dataset},
        "conversation": f"User: What does Ann{number} earn?",
        "api_list": f"{json.dumps(needed)}\n{json.dumps(other)}",
        "answer": f"Salary(who='Ann{number}')" if bank else "[['Desk', 'Salary']]",
        "corruption_type": "API",
        "corruption_api_list": json.dumps(instead),
        "is_corrupted": False,
    }
    replaced = {**row, "is_corrupted": True}
    removed = {**replaced, "corruption_type": "Utterance", "corruption_api_list": None, "conversation": "User: What does she earn?"}
    return [row, replaced, removed]


def nine_rows() -> list[dict[str, Any]]:
    """Nine lines: two originals of API-Bank, one of ToolBench."""
    return [row for number, dataset in ((1, "api-bank"), (2, "api-bank"), (1, "toolbench")) for row in three_rows(number, dataset)]


def write_rows(path: Path, rows: list[Any]) -> Path:
    """Write rows, a line each; a text as it is."""
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8")
    return path
