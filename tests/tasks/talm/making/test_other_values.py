"""Other values for what descriptions give away: from answers, enums and neighbours, each proved by calls, and none that is shown."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given, settings, strategies as st

from talm_sim.tasks.talm.making.check import check_scenarios
from talm_sim.tasks.talm.making.drafts import CalledTool, Draft, draft_scenarios
from talm_sim.tasks.talm.making.other_values import MOST_TRIES, ROUNDS, retry_with_other_values
from talm_sim.types import JsonObject, ToolSpec


def tool(name: str, description: str, **properties: Any) -> ToolSpec:
    return ToolSpec(name=name, description=description, parameters={"type": "object", "properties": properties, "required": list(properties)})


class Service:
    """Tools that answer from a table: `TOOL -> arguments -> answer`; all other calls fail."""

    def __init__(self, specs: Sequence[ToolSpec], answers: Mapping[str, Any]) -> None:
        self.specs = {spec.name: spec for spec in specs}
        self.answers = answers
        self.calls: list[tuple[str, JsonObject]] = []

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        found = self.answers[tool]
        return found(**arguments) if callable(found) else found.get(next(iter(arguments.values())))

    async def again(self, tried: CalledTool, arguments: JsonObject) -> Sequence[Any]:
        self.calls.append((tried.spec.name, arguments))
        found = self.answer(tried.spec.name, arguments)
        return [] if found is None else [found, found]

    def drafts(self, *first: tuple[str, JsonObject], sources: Sequence[str] = (), kept: frozenset[str] = frozenset()) -> list[Draft]:
        froms = [*sources, *[""] * len(first)]
        called = [
            CalledTool(self.specs[name], arguments, [self.answer(name, arguments)] * 2, source, kept)
            for (name, arguments), source in zip(first, froms, strict=False)
        ]
        tried = asyncio.run(retry_with_other_values(called, self.specs, self.again))
        drafts = draft_scenarios(tried, self.specs)
        for scenario in (scenario for draft in drafts for scenario in draft.scenarios):
            assert check_scenarios([scenario], self.specs, self.answer) == []
        return drafts


def missing_of(draft: Draft) -> Any:
    found = [missing.value for scenario in draft.scenarios if scenario.group == "underspecified" for missing in scenario.missing]
    return found[0] if found else None


TEXT = {"type": "string"}
FIND = tool("find_booking", "Find a booking, e.g. QX7K2P.", reference=TEXT)
FLIGHTS = tool("search_flights", "Search flights of a town.", town={"type": "string", "examples": ["Linz"]})
BOOKINGS = {"QX7K2P": {"status": "confirmed"}, "ZW81LM": {"status": "waiting"}}


def test_an_answer_of_another_tool_of_the_same_source_gives_the_value() -> None:
    service = Service([FIND, FLIGHTS], {"find_booking": BOOKINGS, "search_flights": {"Linz": {"gate": "B12", "booked": ["AA11BB", "ZW81LM"]}}})
    find, search = service.drafts(("find_booking", {"reference": "QX7K2P"}), ("search_flights", {"town": "Linz"}))
    assert missing_of(find) == "ZW81LM" and missing_of(search) is None
    assert ("find_booking", {"reference": "AA11BB"}) in service.calls  # tried, and refused by the tool
    assert search.left_out == ("underspecified: given away by the description (Linz in the examples of town of search_flights)",)
    service = Service([FIND, FLIGHTS], {"find_booking": BOOKINGS, "search_flights": {"Linz": {"gate": "B12", "booked": ["ZW81LM"]}}})
    find, _ = service.drafts(("find_booking", {"reference": "QX7K2P"}), ("search_flights", {"town": "Linz"}), sources=("mine", "theirs"))
    assert missing_of(find) is None and ("find_booking", {"reference": "ZW81LM"}) not in service.calls


def test_neighbours_of_numbers_and_dates_and_members_of_an_enum() -> None:
    schemas = {
        "number": ({"type": "integer", "maximum": 9, "examples": [9]}, 9, 8),
        "amount": ({"type": "number", "default": 2.5}, 2.5, 3.5),
        "day": ({"type": "string", "description": "Such as 2024-02-29."}, "2024-02-29", "2024-03-01"),
        "moment": ({"type": "string", "description": "Such as 2024-12-31T10:00."}, "2024-12-31T10:00", "2025-01-01T10:00"),
        "postcode": ({"type": "string", "examples": ["0099"]}, "0099", "0100"),
        "colour": ({"type": "string", "enum": ["red", "green", "blue"], "description": "Red, for example."}, "red", "green"),
    }
    for name, (schema, value, other) in schemas.items():
        service = Service([tool("look", "Look it up.", **{name: schema})], {"look": lambda **_: {"found": "Bello"}})
        (draft,) = service.drafts(("look", {name: value}))
        assert missing_of(draft) == other
        assert draft.choices == (3 if name == "colour" else None)


def test_what_the_user_gave_is_kept() -> None:
    service = Service([tool("look", "Look it up. 7 is one.", number={"type": "integer"})], {"look": lambda **_: {"found": "Bello"}})
    (draft,) = service.drafts(("look", {"number": 7}), kept=frozenset({"number"}))
    assert missing_of(draft) is None and service.calls == []
    (draft,) = service.drafts(("look", {"number": 7}))
    assert missing_of(draft) == 8


def test_no_tool_is_called_without_end() -> None:
    many = {"Linz": {"gate": "B12", "booked": [f"ZW{number}LM" for number in range(1000)]}}
    service = Service([FIND, FLIGHTS], {"find_booking": {"QX7K2P": {"status": "confirmed"}}, "search_flights": many})
    find, _ = service.drafts(("find_booking", {"reference": "QX7K2P"}), ("search_flights", {"town": "Linz"}))
    calls = [arguments["reference"] for name, arguments in service.calls if name == "find_booking"]
    assert missing_of(find) is None and 0 < len(calls) <= ROUNDS * MOST_TRIES and len(set(calls)) == len(calls)


texts = st.from_regex(r"[A-Za-z][a-z]{0,4}[0-9]{0,2}", fullmatch=True)
schemas = st.one_of(
    st.fixed_dictionaries({"type": st.just("string")}, optional={"examples": st.lists(texts, min_size=1, max_size=2), "description": texts}),
    st.fixed_dictionaries({"type": st.just("string"), "enum": st.lists(texts, min_size=1, max_size=4, unique=True)}),
    st.fixed_dictionaries({"type": st.just("integer"), "minimum": st.integers(-3, 3)}, optional={"default": st.integers(3, 20)}),
    st.fixed_dictionaries({"type": st.just("string"), "examples": st.just(["2024-02-29"])}),
)


@st.composite
def toolboxes(draw: st.DrawFn) -> list[tuple[ToolSpec, JsonObject]]:
    """Some tools, each with arguments that are often the very ones its description gives."""
    found = []
    for number in range(draw(st.integers(1, 4))):
        properties: dict[str, Any] = draw(
            st.dictionaries(st.sampled_from(["reference", "town", "code", "limit"]), schemas, min_size=1, max_size=3)
        )
        arguments: JsonObject = {}
        for name, schema in properties.items():
            said = [*schema.get("examples", ()), *schema.get("enum", ()), *([schema["default"]] if "default" in schema else [])]
            text = st.sampled_from(schema["enum"]) if "enum" in schema else texts
            free = draw(text if schema["type"] == "string" else st.integers(3, 20))
            candidates: list[Any] = [free, *said]
            arguments[name] = draw(st.sampled_from(candidates))
        described = draw(st.sampled_from(["", *map(str, arguments.values())]))
        found.append((tool(f"tool_{number}", f"Look up a thing, number {100 + number}, e.g. '{described}'.", **properties), arguments))
    return found


@settings(max_examples=40)
@given(toolboxes())
def test_no_missing_value_is_in_what_the_model_is_shown(tools: list[tuple[ToolSpec, JsonObject]]) -> None:
    def answer(**arguments: Any) -> Any:
        return {"found": "Bello", "others": [f"{value}x" if isinstance(value, str) else value + 5 for value in arguments.values()]}

    service = Service([spec for spec, _ in tools], {spec.name: answer for spec, _ in tools})
    for draft in service.drafts(*((spec.name, arguments) for spec, arguments in tools)):
        for scenario in (one for one in draft.scenarios if one.group == "underspecified"):
            (missing,) = scenario.missing
            listed = "enum" in service.specs[draft.tool].parameters["properties"][missing.name]
            shown = [scenario.query]
            for name in scenario.tools:
                spec = service.specs[name].model_copy(deep=True)
                for schema in spec.parameters["properties"].values():
                    if listed and len(schema.get("enum", ())) >= 3:  # it can be guessed, and the odds are said
                        del schema["enum"]
                shown.append(json.dumps([spec.name, spec.description, spec.parameters]))
            wanted = re.escape(str(missing.value).casefold())
            assert not re.search(rf"(?<![^\W_]){wanted}(?![^\W_])", " ".join(shown).casefold())
