"""The prompts for an agent, and their replacement by the user's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from talm_sim.common.toml_files import packaged_toml, read_toml, texts_of
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.language.facts.given import values_schema
from talm_sim.models.base import ASK_HUMAN
from talm_sim.types import FINISH, AwarenessKind, Fact, ToolSpec

_TABLES = {"agent": "", "awareness": "awareness_", "person": "person_"}
"""Tables of the prompt file and the prefix of their fields here; the `judge` table belongs to the judges."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Texts of task `talm`; `{query}` and `{tools}` are filled in, for a simulated person `{request}`, `{known}` and `{persona}`."""

    system: str
    with_finish: str
    without_tools: str
    ask_human: str
    ask_human_question: str
    finish: str
    finish_answer: str
    finish_values: str
    reminder: str
    awareness_system: str
    awareness_information: str
    awareness_tool: str
    person_system: str
    person_terse: str
    person_chatty: str
    person_confused: str
    person_wrong_once: str
    person_front_loads: str
    person_pushes_back: str
    person_claims_done: str

    def texts(self, *, values: bool = False) -> dict[str, str]:
        """Return every text that an agent is told, by its name in messages; `values`: whether it gives values in place of words."""
        told = [one.name for one in fields(self) if not one.name.startswith("person_") and (values or one.name != "finish_values")]
        return {f"prompt {name}": getattr(self, name) for name in told}

    def system_for(self, *, tools: bool, finish: bool) -> str:
        """Return the system message of the solving conversation."""
        if not tools:
            return self.without_tools
        return f"{self.system}\n{self.with_finish}" if finish else self.system

    def awareness_question(self, kind: AwarenessKind, query: str, tools: Sequence[ToolSpec]) -> str:
        """Return the user message that asks the awareness question of `kind`, with each tool's name, description and schema as JSON."""
        text = self.awareness_information if kind is AwarenessKind.INFORMATION else self.awareness_tool
        listed = "".join(f"\n- {json.dumps(_function(tool), ensure_ascii=False)}" for tool in tools)
        filled = {"{tools}": listed or "none", "{query}": query}
        # Neither str.format nor one after the other: a query or a tool may hold braces.
        return re.sub(r"\{(?:tools|query)\}", lambda match: filled[match[0]], text)

    def person(self, persona: str) -> tuple[str, str]:
        """Return what the model is told that plays the person, and the persona's part of it: empty for `none`."""
        return self.person_system, "" if persona == "none" else getattr(self, f"person_{persona.replace('-', '_')}")

    def person_texts(self, persona: str) -> dict[str, str]:
        """Return the messages of `person`, by name; empty without a persona."""
        if not persona:
            return {}
        names = ("person_system", f"person_{persona.replace('-', '_')}")
        return {f"prompt {name}": text for name, text in zip(names, self.person(persona), strict=True) if text}

    def human_tool(self) -> ToolSpec:
        """Return the Ask-and-Help tool."""
        return _text_tool(ASK_HUMAN, "human", self.ask_human, "question", self.ask_human_question)

    def finish_tool(self, facts: Sequence[Fact] = ()) -> ToolSpec:
        """Return the tool whose call gives the answer, with a value for each of `facts`."""
        values = {"values": values_schema(facts, self.finish_values)} if facts else None
        return _text_tool(FINISH, "answer", self.finish, "final_answer", self.finish_answer, values)


def _function(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _text_tool(name: str, category: str, about: str, argument: str, meaning: str, more: Mapping[str, Any] | None = None) -> ToolSpec:
    properties = {argument: {"type": "string", "description": meaning}, **(more or {})}
    schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    return ToolSpec(name=name, category=category, description=about, parameters=schema)


def load_prompts(file: Path | None = None, task: str = "", others: Callable[[], Collection[str]] = tuple) -> Prompts:
    """Return the built-in texts, with those of the user's `file` in their place.

    Args:
        file: TOML file with the tables `agent`, `awareness` and `person`, at its top or within the task's own table.
        task: Name of the task's own table.
        others: Lists the tables that belong to other tasks, which are passed over; called if there is a file.
    """
    texts = _texts(packaged_toml("talm_sim.agent"), "prompts.toml")
    if file is not None:
        document = read_toml(file, "prompts")
        own, tasks = document.get(task, {}), others()
        if not isinstance(own, dict):
            raise PrerequisiteError(f"{file}: '{task}' must be a table of tables.")
        shared = {name: table for name, table in document.items() if name != task and (name in _TABLES or name not in tasks)}
        # Another task with a table's name keeps its own texts in tables within it, so that the two share a file.
        shared |= {name: _texts_alone(table) for name, table in shared.items() if name in tasks and isinstance(table, dict)}
        texts |= _texts(shared, str(file)) | _texts(own, f"{file}: {task}")
    return Prompts(**texts)


def _texts_alone(table: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in table.items() if not isinstance(value, dict)}


def _texts(document: dict[str, object], where: str) -> dict[str, str]:
    known = sorted(field.name for field in fields(Prompts))
    texts: dict[str, str] = {}
    for table, prefix in _TABLES.items():
        prefixes = tuple(filter(None, _TABLES.values()))
        keys = [name.removeprefix(prefix) for name in known if (name.startswith(prefix) if prefix else not name.startswith(prefixes))]
        texts |= {prefix + key: text for key, text in texts_of(document, table, keys, where, filled=False).items()}
    if unknown := set(document) - {*_TABLES, "judge"}:
        name = sorted(unknown)[0]
        raise PrerequisiteError(f"{where}: unknown table '{name}'.{did_you_mean(name, [*_TABLES, 'judge'])}")
    return texts
