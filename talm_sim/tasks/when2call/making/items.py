"""The items that are made from a source question, and the rows they are written as."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from talm_sim.common.digests import derive_seed
from talm_sim.tasks.when2call.making.sources import SourceQuestion, tool_text
from talm_sim.tasks.when2call.published import row_of, scenario_of
from talm_sim.types import Behaviour, Missing, ToolSpec

_VARIANTS = ("zero", "one", "many")
MANY = 4
"""Tools of a many-tool row, as far as the category has them."""
_ORDER = (Behaviour.DIRECT, Behaviour.TOOL_CALL, Behaviour.REQUEST_FOR_INFO, Behaviour.CANNOT_ANSWER)
_NAMESPACE = UUID("5b0c6a0e-1f0a-5d3e-9c64-2f6f8a8f6d21")
"""Fixed, so that equal items have equal ids."""


@dataclass(frozen=True, slots=True)
class Item:
    """One multiple-choice item before its tools are chosen.

    Attributes:
        gold: The behaviour that is right.
        missing: The argument that was left out, where one was.
        removed: Whether the tool is taken away in place of the question.
    """

    source: SourceQuestion
    gold: Behaviour
    question: str
    missing: Missing | None = None
    removed: bool = False

    @property
    def given(self) -> dict[str, Any]:
        """Arguments whose values the question does give; none where the tool cannot help anyway."""
        if self.gold is Behaviour.CANNOT_ANSWER and not self.removed:
            return {}
        lacking = self.missing.name if self.missing else None
        return {name: value for name, value in self.source.call.arguments.items() if name != lacking}

    def argument_description(self, argument: str) -> str:
        """Return the description of an argument in the tool's specification."""
        schema = self.source.spec.parameters.get("properties", {})
        entry = schema.get(argument, {}) if isinstance(schema, Mapping) else {}
        return str(entry.get("description", "")) if isinstance(entry, Mapping) else ""


def tool_call_text(source: SourceQuestion) -> str:
    """Return the gold call as an option's text."""
    return json.dumps({"name": source.call.name, "arguments": source.call.arguments}, ensure_ascii=False)


def is_kin(spec: ToolSpec, source: SourceQuestion) -> bool:
    """Tell whether a tool may serve a request in the place of the right one: the request gives at least half of what it requires.

    With a list of a month's holidays one finds a holiday, and working days that are counted also say where they end.
    """
    given = sum(name in source.call.arguments for name in spec.required)
    return 2 * given >= len(spec.required)


def rows_of(
    item: Item, options: Mapping[Behaviour, str], *, writer: str, tool_use: str, seed: int, every: bool = True
) -> Iterator[dict[str, Any]]:
    """Write an item as rows of the published format, one for each set of tools.

    `zero` (only where the gold answer is "cannot answer": there, and only there, a tool call would be made out of nothing) shows no tool, `one`
    the tool of the source question, `many` further tools of its category: beside it, or, where nothing can answer, in its place. Where the
    tool is removed, another one that was not beside it takes its place, so that as many are shown, and nothing that may serve the request
    (`is_kin`) as long as there is something else.
    """
    source, out_of_reach = item.source, item.gold is Behaviour.CANNOT_ANSWER
    draw = random.Random(derive_seed(seed, source.id, Behaviour.TOOL_CALL.value if item.removed else item.gold.value))
    beside = [spec for spec in source.others if not is_kin(spec, source)] if item.removed else []
    beside = beside or list(source.others)
    others = draw.sample(beside, min(MANY if out_of_reach else MANY - 1, len(beside)))
    together = [*others] if out_of_reach and not item.removed else [source.spec, *others[: MANY - 1]]
    draw.shuffle(together)
    shown: dict[str, list[ToolSpec]] = {"zero": [], "one": [source.spec], "many": together}
    if item.removed:
        instead = others[MANY - 1 :]
        shown |= {"one": others[-1:], "many": [one for spec in together for one in (instead if spec is source.spec else [spec])]}
    possible = [one for one in _VARIANTS if (out_of_reach if one == "zero" else len(shown[one]) > (one == "many"))]
    for variant in possible if every else [possible[derive_seed(seed, source.id, item.gold.value, "tools shown") % len(possible)]]:
        tools = [tool_text(spec) for spec in shown[variant]]
        row: dict[str, Any] = {
            "uuid": str(uuid5(_NAMESPACE, json.dumps([writer, seed, source.id, item.gold.value, variant, item.question, tools]))),
            "source": writer,
            "source_id": source.id,
            "question": item.question,
        }
        if item.question != source.question:
            row["orig_question"] = source.question
        row["correct_answer"] = item.gold.value
        row["answers"] = {kind.value: options[kind] for kind in _ORDER}
        row["target_tool"] = None if out_of_reach else tool_text(source.spec)
        row["tools"] = tools
        if out_of_reach:
            row["orig_tools"] = [tool_text(spec) for spec in together] if item.removed and variant == "many" else [tool_text(source.spec)]
        if item.missing:
            row["held_out_param"] = item.missing.name
        row |= {"tool_use": tool_use, "licence": source.licence, "url": ""}
        yield row_of(scenario_of(row, source.id))
