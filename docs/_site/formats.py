"""Directives `scenario-keys` and `run-tables`: the keys of a scenario and the tables of a run, as the code that reads them has them."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from talm_sim.scenarios.schema import scenario_schema
from talm_sim.store.files.database import create_database
from talm_sim.tasks.registry import find_task, list_tasks

TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null", "object": "object"}


class ScenarioKeys(SphinxDirective):
    """A table of keys for the scenario itself and for each object in it."""

    def run(self) -> list[nodes.Node]:
        """Return the tables, with a heading each."""
        groups = [group for name in list_tasks() for split in find_task(name).splits.values() for group in split]
        schema = scenario_schema("talm", [*dict.fromkeys(groups)])
        schema["properties"]["task"] |= {"description": "The task's name. It may be left out for task `talm`."}
        parts = {"Scenario": schema, **{name: part for name, part in schema["$defs"].items() if "properties" in part}}
        lines = [line for name, part in parts.items() for line in describe(name, part, schema["$defs"])]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def describe(name: str, part: Mapping[str, Any], named: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of one object's keys."""
    yield from (f".. _scenario-{name.lower()}:", "", name, "~" * len(name), "", part.get("description", ""), "")
    yield from (".. list-table::", "   :header-rows: 1", "   :widths: 18 27 55", "", "   * - key", "     - value", "     - meaning")
    for key, value in part["properties"].items():
        needed = "" if key not in part.get("required", ()) else " (required)"
        default = f" The default is ``{json.dumps(value['default'])}``." if value.get("default") not in (None, [], "", {}) else ""
        default = "" if isinstance(value.get("default"), dict) or "const" in value else default
        yield from (f"   * - ``{key}``{needed}", f"     - {words(value, named)}", f"     - {value.get('description', '')}{default}")
    yield ""


def words(value: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    """Say in words which values a schema takes."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f":ref:`{name} <scenario-{name.lower()}>`" if "properties" in named[name] else words(named[name], named)
    if fixed := value.get("enum", [value["const"]] if "const" in value else ()):
        return ", ".join(f"``{json.dumps(one)}``" for one in fixed)
    for several in ("anyOf", "oneOf"):
        if several in value:
            return " or ".join(dict.fromkeys(words(one, named) for one in value[several]))
    if value.get("type") == "array":
        return f"list: {words(value['items'], named)}" if value.get("items") else "list"
    if isinstance(value.get("additionalProperties"), Mapping):
        return f"object, name to {words(value['additionalProperties'], named)}"
    return TYPES.get(value.get("type", ""), "any value")


class RunTables(SphinxDirective):
    """The tables of `run.db` with their columns; the content says what each is for, as `NAME: TEXT`."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table; what does not name exactly the tables that a run has is an error."""
        meanings = dict(re.findall(r"(?m)^(\w+): (.*)$", "\n".join(self.content)))
        with tempfile.TemporaryDirectory() as folder:
            conn = create_database(Path(folder))
            names = [name for (name,) in conn.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")]
            columns = {name: [row[1] for row in conn.execute(f"PRAGMA table_info({name})")] for name in names}
            conn.close()
        if set(meanings) != set(columns):
            raise self.error(f"a run has the tables {', '.join(columns)}; described are {', '.join(meanings)}")
        lines = [
            ".. list-table::",
            "   :header-rows: 1",
            "   :widths: 15 50 35",
            "",
            "   * - table",
            "     - what it contains",
            "     - columns",
        ]
        for name, found in columns.items():
            lines += [f"   * - ``{name}``", f"     - {meanings[name]}", f"     - {', '.join(f'``{one}``' for one in found)}"]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives."""
    app.add_directive("scenario-keys", ScenarioKeys)
    app.add_directive("run-tables", RunTables)
    return {"parallel_read_safe": True}
