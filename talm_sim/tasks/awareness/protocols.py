"""Write the requests to a model, one function a protocol, from the scenario and the wording, which the user may replace (appendix B).

Solved examples may go before a question (few-shot): two originals and two manipulated instances, drawn by seed, of the data set and the
manipulation under test, as the study's are (appendix A.1).
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from talm_sim.common.digests import derive_seed
from talm_sim.common.toml_files import packaged_toml, read_toml, texts_of
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.scenarios.dialogue import ATTEMPT, EXAMPLE, as_messages, as_text, dialogue, part_of
from talm_sim.tasks.awareness.data import COMPLETE, MANIPULATED, gold_of
from talm_sim.tasks.awareness.decision import Decision, read_decision
from talm_sim.tasks.single_step_task import Request
from talm_sim.types import UNPARSED, ModelTurn, Scenario, Turn

Wording = dict[str, dict[str, str]]
"""Text by table and key; the tables are the protocols with their own words, and `again`."""
_TASK = "awareness"
_PLACE = re.compile(r"\{(conversation|tools|call)\}")
_EACH = 2
_Known = Mapping[tuple[str, str], Sequence[Scenario]]
"""Instances by data set and group."""


def load_wording(file: Path | None = None) -> Wording:
    """Return the built-in texts, with those of the user's `file` in their place.

    The texts are in tables within `[awareness]`. Texts directly in it belong to task talm, whose awareness questions were there before
    this task existed.
    """
    return _load_file(file, None if file is None or not file.is_file() else file.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _load_file(file: Path | None, changed: int | None) -> Wording:
    """Read the texts of a file once after each change, as every request is made of them."""
    wording = {name: dict(texts) for name, texts in _packaged_wording().items()}
    if file is None:
        return wording
    own = read_toml(file, "prompts").get(_TASK, {})
    tables = {name: table for name, table in own.items() if isinstance(table, dict)} if isinstance(own, dict) else {}
    for name in tables:
        if name not in wording:
            raise PrerequisiteError(f"{file}: unknown table '{_TASK}.{name}'.{did_you_mean(name, wording)}")
        wording[name] |= texts_of(tables, name, wording[name], f"{file}: {_TASK}")
    return wording


def fill(text: str, **places: str) -> str:
    """Return the text with its places filled, in one pass: the values may contain braces themselves."""
    return _PLACE.sub(lambda found: places.get(found[1], found[0]), text)


@cache
def _packaged_wording() -> Wording:
    tables = packaged_toml("talm_sim.tasks.awareness")[_TASK]
    return {name: {key: text.strip() for key, text in texts.items()} for name, texts in tables.items()}


Protocol = Literal["zero-shot", "few-shot", "cot", "explanation", "implicit", "implicit-native", "completion", "feedback"]
Probability = Literal["first-tokens", "scores"]
ANSWERS = ("Yes", "No")
ALTERNATIVES = 20
"""Likeliest first tokens that are kept: as many as servers give."""
LABEL_FIRST = frozenset({"zero-shot", "few-shot", "feedback"})
"""Protocols that ask for a label and nothing else."""
LABEL_TOKENS = 32
IMPLICIT = frozenset({"implicit", "implicit-native"})
"""Protocols that see whether a free answer makes a call: written as text, or in the provider's own form. The question follows apart."""
TELLS_FIRST_TOKEN = LABEL_FIRST | IMPLICIT | {"completion"}
"""Protocols whose answer begins with its label, so that the first token's probabilities are those of Yes and No."""
_ASKED = 2
"""How often an answer is asked for at most: one that cannot be read is asked for once more, in the same conversation."""
_COMPLETED = 8
"""Most tokens of a text model's continuation, which does not end by itself."""


@dataclass(frozen=True, slots=True)
class AskingStyle:
    """How a run asks: its protocol, its wording, and the source of the probability of a Yes."""

    protocol: Protocol
    wording: Wording
    probability: Probability = "first-tokens"

    def texts(self, key: str) -> str:
        """Return a text for asking explicitly; the few-shot and implicit protocols use the zero-shot texts."""
        return self.wording["zero-shot" if self.protocol in {"few-shot", *IMPLICIT} else self.protocol][key]


def first_request(way: AskingStyle, scenario: Scenario) -> Request:
    """Return the first request to a model for a scenario."""
    if way.protocol in IMPLICIT:
        return _free_request(way, scenario)
    if way.protocol == "completion":
        return replace(_probability_request(way, " "), prompt=question(way, scenario), max_new_tokens=_COMPLETED)
    return _explicit_request(way, scenario)


def next_request(way: AskingStyle, scenario: Scenario, turns: Sequence[ModelTurn]) -> Request | None:
    """Return the next request: the question after an implicit protocol's free turn, or again after an answer that cannot be read."""
    if not (answers := explicit_turns(way.protocol, turns)):
        return _explicit_request(way, scenario)
    if way.protocol == "completion" or len(answers) == _ASKED or decision_of(answers[-1]).said != UNPARSED:
        return None
    return _repeat_request(way, scenario, answers[-1])


def explicit_turns(protocol: Protocol, turns: Sequence[ModelTurn]) -> Sequence[ModelTurn]:
    """Return the turns that answer the question: all but the free one, which an implicit protocol begins with."""
    return turns[1:] if protocol in IMPLICIT else turns


def decision_of(turn: ModelTurn) -> Decision:
    """Return the decision of a turn that answers the question."""
    return read_decision(turn.text or turn.raw_text)


def question(way: AskingStyle, scenario: Scenario) -> str:
    """Return the text that asks about a scenario."""
    attempt = part_of(scenario, ATTEMPT)
    key = ("failed" if attempt[-1].get("failed") else "succeeded") if way.protocol == "feedback" and attempt else "question"
    return _fill(way.texts(key), scenario, as_text(attempt))


def _fill(text: str, scenario: Scenario, call: str = "") -> str:
    return fill(text, conversation=as_text(dialogue(scenario)), tools="\n".join(scenario.shown_tools), call=call)


def _free_request(way: AskingStyle, scenario: Scenario) -> Request:
    """Return the conversation to go on with, and its tools: both as text (figure 23), or both as the provider takes them."""
    from langchain_core.messages import HumanMessage, SystemMessage

    from talm_sim.agent.shown_tools import tool_specs

    texts = way.wording[way.protocol]
    system = SystemMessage(texts["system"])
    if way.protocol == "implicit":
        return Request([system, HumanMessage(_fill(texts["question"], scenario))])
    return Request([system, *as_messages(dialogue(scenario))], tools=tool_specs(scenario.shown_tools))


def _explicit_request(way: AskingStyle, scenario: Scenario) -> Request:
    from langchain_core.messages import HumanMessage, SystemMessage

    system = SystemMessage(way.texts("system"))
    messages = [system, *as_messages(part_of(scenario, EXAMPLE)), HumanMessage(question(way, scenario))]
    return replace(_probability_request(way), messages=messages)


def _probability_request(way: AskingStyle, before: str = "") -> Request:
    """Return a request for the first word of the answer: what it may be, and how likely each is; `before` precedes the word."""
    if way.protocol not in TELLS_FIRST_TOKEN:
        # A constrained model would have to answer before it thinks: it thinks freely, and is held to a label when asked again.
        return Request(choices=() if way.protocol == "cot" else ANSWERS)
    if way.probability == "scores":
        return Request(choices=ANSWERS, scored=tuple(before + word for word in ANSWERS))
    return Request(choices=ANSWERS, alternatives=ALTERNATIVES)


def _repeat_request(way: AskingStyle, scenario: Scenario, turn: ModelTurn) -> Request:
    from langchain_core.messages import AIMessage, HumanMessage

    asked = _explicit_request(way, scenario).messages
    answer = AIMessage(turn.text or turn.raw_text or "(nothing)")
    return Request([*asked, answer, HumanMessage(way.wording["again"]["question"])], choices=ANSWERS, before=len(asked) + 1)


def add_examples(scenarios: Sequence[Scenario], pool: Sequence[Scenario], way: AskingStyle, seed: int) -> list[Scenario]:
    """Put solved examples before each scenario's conversation.

    They are kept with the scenario, so that a run that goes on, or is read again, has them whatever becomes of the file. They are drawn anew
    for each original; it and what was made of it have the same ones. None is of the same original, nor are two of them. Where the data has
    several manipulations, each original is asked once per manipulation made of it, behind examples of that one.
    """
    known: dict[tuple[str, str], list[Scenario]] = {}
    for one in sorted(pool, key=lambda one: one.id):
        known.setdefault((one.source.name, one.group), []).append(one)
    tested = [name for name in MANIPULATED if any(name == group for _, group in known)]
    made = {(one.base, one.group) for one in scenarios}
    found: list[Scenario] = []
    for scenario in scenarios:
        names = [name for name in tested if (scenario.base, name) in made] if scenario.group == COMPLETE else [scenario.group]
        for name in names or tested[:1] or [COMPLETE]:
            shown = _prepend_examples(scenario, _draw_examples(scenario, name, known, seed), way)
            several = scenario.group == COMPLETE and len(tested) > 1
            found.append(_as_copy(shown, name) if several else shown)
    return found


def manipulation_shown(scenario: Scenario) -> str:
    """Return the manipulation that an instance's examples show; empty if it has none."""
    return next((str(one["shows"]) for one in part_of(scenario, EXAMPLE) if "shows" in one), "")


def _as_copy(scenario: Scenario, manipulation: str) -> Scenario:
    of = f"{scenario.original}.beside-{manipulation}" if scenario.source.translation_of else ""
    source = scenario.source.model_copy(update={"base": scenario.base, "translation_of": of})
    return scenario.model_copy(update={"id": f"{scenario.id}.beside-{manipulation}", "source": source})


def _draw_examples(scenario: Scenario, manipulation: str, known: _Known, seed: int) -> list[Scenario]:
    draw = random.Random(derive_seed(seed, scenario.base, "examples"))
    taken = {scenario.base}
    found: list[Scenario] = []
    for gold in ("yes", "no"):
        order = list(known.get((scenario.source.name, COMPLETE if gold == "yes" else manipulation), ()))
        draw.shuffle(order)
        for one in order:
            if one.base not in taken and sum(gold_of(other) == gold for other in found) < _EACH:
                taken.add(one.base)
                found.append(one)
    if len(found) < 2 * _EACH:
        source = f" of data set '{scenario.source.name}'" if scenario.source.name else ""
        raise PrerequisiteError(
            f"scenario {scenario.id}: protocol few-shot needs {_EACH} originals and {_EACH} {manipulation} instances of other originals"
            f"{source} as examples, and the data has {len(found)}; give more --scenarios, or another --protocol."
        )
    draw.shuffle(found)
    return found


def _prepend_examples(scenario: Scenario, examples: Sequence[Scenario], way: AskingStyle) -> Scenario:
    shown: list[dict[str, Any]] = []
    for one in examples:
        kind = {} if one.group == COMPLETE else {"shows": one.group}
        shown.append({"role": "user", "content": question(way, one), "part": EXAMPLE, "from": one.id, **kind})
        shown.append({"role": "assistant", "content": gold_of(one).capitalize(), "part": EXAMPLE})
    return scenario.model_copy(update={"turns": (Turn(messages=tuple(shown)), *scenario.turns)})
