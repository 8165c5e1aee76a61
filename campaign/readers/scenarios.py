"""What reads scenarios, and what models write to make them."""

from __future__ import annotations

import json
import random
from typing import Final

from campaign.readers.base import ASKED, SPEC, TOOLS, Reading, also_in
from talm_sim.language import about_missing as missing, leaks
from talm_sim.scenarios import item_tools as tool_texts, jsonl
from talm_sim.scenarios.load import read_scenario
from talm_sim.scenarios.stand_ins import StandIn
from talm_sim.tasks.awareness.making import cutting, study, toolbench, value_spellings as said_spellings, written
from talm_sim.tasks.awareness.making.item_checks import check_manipulated
from talm_sim.tasks.refusal import maker
from talm_sim.tasks.refusal.bfcl.rows import read_line
from talm_sim.tasks.translation.translation_checks import NeededValue, Translation, check_translation
from talm_sim.tasks.when2call.making import splitting
from talm_sim.tasks.when2call.making.item_checks import OPTION_CHECKS, failures
from talm_sim.tasks.when2call.making.items import Item
from talm_sim.tasks.when2call.making.question_checks import QUESTION_CHECKS
from talm_sim.tasks.when2call.making.sources import SourceQuestion
from talm_sim.training.lessons import damage
from talm_sim.types import Behaviour, Calls, GoldCall, Scenario, ToolSpec, Turn, YesNo

_TOOL: Final = StandIn("f", "", {}, {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}, "required": ["b"]})


def _item(question: str = "How much are 250 dollars in francs?", gold: Behaviour = Behaviour.REQUEST_FOR_INFO) -> Item:
    call = GoldCall(name="convert_money", arguments={"amount": 250, "to_currency": "francs", "day": "2024-05-05"})
    source = SourceQuestion("a", "How much are 250 dollars in francs?", call, SPEC)
    return Item(source, gold, question, ASKED)


def _cut(text: str) -> None:
    for value in ("Hanoi", 12, "2024-05-05 14:00:00"):
        said = f"{text} Hanoi, 12 and 2024-05-05."
        spans = said_spellings.spans_of(said, value)
        if spans:
            cutting.cut(said, spans, {"city"})


def _complete(said: str) -> Scenario:
    turn = Turn(messages=({"role": "user", "content": said},))
    return Scenario(id="a", group="complete", turns=(turn,), target=YesNo(gold="yes", relevant=("f",)))


def _removal(text: str) -> None:
    scenario = _complete("Book it for Hanoi, " * 10)
    written.read_removal(json.dumps({"answer": f"User: {text}"}), scenario, "m")
    written.read_removal(json.dumps({"answer": f"User: {text[:1_500]}"}), scenario, "m")
    written.read_removal(text, scenario, "m")


def _changed(text: str) -> None:
    written.replace_user_words(_complete(text), [text[::2]], "m")
    check_manipulated(_complete("Book it."), written.replace_user_words(_complete("Book it."), [text], "m"))


def _split_query(text: str) -> None:
    calls = (GoldCall(name="a", arguments={"city": "Hanoi"}), GoldCall(name="b", arguments={"n": 12}))
    specs = (ToolSpec(name="a", description="Weather."), ToolSpec(name="b", description="Money."))
    splitting.split_query(f"What is it in Hanoi? {text} How much is 12?", calls, specs)
    splitting.split_query(f"What is it in Hanoi? {text[:1_900]} How much is 12?", calls, specs)


def _checked(text: str) -> None:
    for kind, checks in {**OPTION_CHECKS}.items():
        failures(text, _item(gold=kind), checks)
    for kind, checks in QUESTION_CHECKS.items():
        failures(text, _item(gold=kind), checks)


def _damaged(text: str) -> None:
    calls = [{"name": "f", "arguments": {"city": text, "n": 12}}]
    pool = damage.ValuePool([])
    damage.damages(calls, {"f": TOOLS[0]}, f"of {text}", pool, random.Random(1))


def _thought(text: str) -> None:
    maker.read_free_thought(text, Calls(expected="none"))
    maker.read_free_thought(f"{text}\nDecision: defer", Calls(expected="none"))


def _translated(text: str) -> None:
    """Check a text as the translation of one that is about as long."""
    needed = (NeededValue("city", "Hanoi", ("HAN",)), NeededValue("unit", "km"), NeededValue("day", text[:40]))
    english = f"How far is Hanoi on 4 March 2025? {text}"
    for language in ("vi", "th"):
        check_translation(Translation(english, text, language, needed))
        check_translation(Translation(english[: len(text) // 3 + 40], text, language, needed))


def _scenario_line(text: str) -> None:
    read_scenario({"id": text[:50], "group": "perfect", "turns": [{"messages": [{"role": "user", "content": text}]}]}, "x:1", "talm")


READ: Final[Reading] = {
    "scenarios.jsonl: jsonl.parse": also_in(["TEXT"], jsonl.parse),
    "tasks.translation.translation_checks: check_translation": _translated,
    "scenarios.load: read_scenario": _scenario_line,
    "language.leaks: leaks.mentions": lambda text: (
        leaks.mentions(text, 1250),
        leaks.mentions("a b", text),
        leaks.mentions(text, text[: len(text) // 2] + "x"),
    ),
    "language.leaks: find_leak": lambda text: (leaks.find_leak(text, "Hanoi", "in Hanoi"), leaks.find_leak("a", text, text)),
    "language.about_missing: question_is_about": lambda text: missing.question_is_about(text, ASKED),
    "scenarios.stand_ins: StandIn.explain_misfit": _TOOL.explain_misfit,
    "tasks.refusal.maker: read_free_thought": _thought,
    "tasks.awareness.making.cutting: cutting.cut": _cut,
    "tasks.awareness.making.cutting: cutting.unnatural": lambda text: (
        cutting.find_unnatural(text, "A b."),
        cutting.find_unnatural("A b.", text),
    ),
    "tasks.awareness.making.value_spellings: spans_of, says": lambda text: [
        (said_spellings.spans_of(text, one), said_spellings.gives_value_away(text, one))
        for one in ("Hanoi", 12, "2024-05-05 14:00:00", "a b", 1.0)
    ],
    "tasks.awareness.making.value_spellings: values said": lambda text: said_spellings.gives_value_away("on May 5 at 12", text),
    "tasks.awareness.making.written: written.read_object": lambda text: written.read_object(text, "answer"),
    "tasks.awareness.making.written: read_removal": _removal,
    "tasks.awareness.making.written: with_words": _changed,
    "tasks.awareness.making.study: the study's lines": lambda text: (
        study._call(text),
        study._messages(text),
        study._named_apis(text, {"f": {}}),
    ),
    "tasks.awareness.making.toolbench: callable_names": lambda text: toolbench.callable_names([(text, "a"), (text, "b")]),
    "tasks.when2call.making.splitting: split_query": _split_query,
    "tasks.when2call.making.splitting: tidy": lambda text: splitting.tidy_request(text, capital=True),
    "tasks.when2call.making.item_checks: options' checks": _checked,
    "tasks.refusal.bfcl.rows: BFCL's lines": also_in(
        {"id": "TEXT", "question": [[{"role": "user", "content": "TEXT"}]], "function": []}, lambda text: read_line("a.json:1", text)
    ),
    "scenarios.item_tools: tools' texts": also_in(
        {"name": "TEXT", "parameters": {"type": "TEXT", "description": "TEXT"}},
        lambda text: tool_texts.json_schema(tool_texts.spec_of(text)),
    ),
    "training.lessons.damage: damages": _damaged,
}
