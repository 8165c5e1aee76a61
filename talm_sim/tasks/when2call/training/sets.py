"""Training sets from multiple-choice scenarios (When2Call, section 3.3): right responses, and right ones beside wrong ones.

SFT rows have the right answer. A preference set has two halves of equal size: wrong *behaviour* (the rejected response is one of the other
answers, drawn uniformly) and wrong *calls* (the right tool call beside one damaged in one place, see `damage`).
Every draw comes from the seed and the scenario's id, so equal input gives equal output.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from talm_sim.common.digests import derive_seed
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.tool_texts import required_of, spec_of
from talm_sim.tasks.when2call.published import row_of
from talm_sim.tasks.when2call.training.damage import Damage, ValuePool, calls_in, damages
from talm_sim.tasks.when2call.training.forms import FORMS, Answer, Example, Form
from talm_sim.types import Behaviour, Choice, JsonObject, Scenario

__all__ = ["BALANCES", "Balance", "Kind", "TrainingSet", "build_set", "card"]

Kind = Literal["mcq", "sft", "preference"]
Balance = Literal["natural", "paper", "calls"]
BALANCES: dict[str, dict[Behaviour, int]] = {
    "sft": {Behaviour.TOOL_CALL: 1, Behaviour.REQUEST_FOR_INFO: 1, Behaviour.CANNOT_ANSWER: 1},
    "preference": {Behaviour.TOOL_CALL: 3, Behaviour.REQUEST_FOR_INFO: 2, Behaviour.CANNOT_ANSWER: 2},
}
"""Shares of the classes in the paper's sets: 2,000 each, and 4,500 to 3,000 to 3,000. In a preference set, the half of wrong behaviour
has them; in the other half every right answer is a tool call.
"""
_CALLS_TO_REST = {Behaviour.TOOL_CALL: 4, Behaviour.REQUEST_FOR_INFO: 1, Behaviour.CANNOT_ANSWER: 1}
"""Twice as many tool calls as all the rest: the blend of section 3.3.1 that worked best."""
_NOT_DRAWN = "not drawn, to keep the balance"
_LONGEST_LIST = 20


@dataclass(slots=True)
class TrainingSet:
    """Rows ready to be written, and how they came about."""

    kind: Kind
    form: Form
    rows: list[JsonObject] = field(default_factory=list)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Counts by class of the right answer, by class of the rejected one, by damage."""
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """Reason to the ids of the scenarios it kept out."""

    def text(self) -> str:
        """The rows as JSONL."""
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows)


def build_set(
    scenarios: Sequence[Scenario], kind: Kind, form: Form = "when2call", *, seed: int = 0, balance: Balance = "natural"
) -> TrainingSet:
    """Make a set of rows.

    Args:
        scenarios: Scenarios of task when2call.
        kind: `mcq`: the scenarios as published rows, all of them; `sft`; `preference`.
        form: The format: `when2call`, or `trl` for TRL's trainers (not for `mcq`).
        seed: Seed of all draws.
        balance: `natural`: the classes as they come; `paper`: in the shares of the paper's sets, as many as the scarcest class allows;
            `calls`: two right tool calls to one of the rest, as in the paper's blend for SFT. In a preference set, the half of wrong
            behaviour has these shares.

    Raises:
        PrerequisiteError: No row can be made, or the set cannot be balanced.
    """
    if kind == "mcq":
        if form != "when2call":
            raise PrerequisiteError("--form: multiple-choice rows have one form; leave it at when2call, or choose --kind sft or preference.")
        if balance != "natural":
            raise PrerequisiteError("--balance: multiple-choice rows are all written; leave it at natural, or choose --kind sft or preference.")
        rows = [row_of(scenario) for scenario in scenarios]
        return TrainingSet(kind, form, rows, {"right": dict(Counter(row["correct_answer"] for row in rows))})
    made = TrainingSet(kind, form)
    usable = [scenario for scenario in scenarios if _note_flaw(made, scenario, _flaw(scenario, kind))]
    if not usable:
        why = "; ".join(f"{len(ids)}: {reason}" for reason, ids in made.left_out.items())
        raise PrerequisiteError(f"no row can be made from {len(scenarios)} scenarios ({why or 'none given'}).")
    examples = _sft(usable, seed, balance) if kind == "sft" else _preference(usable, made, seed, balance)
    used = {example.scenario for example in examples}
    for one in usable:
        _note_flaw(made, one, "" if one.id in used else _NOT_DRAWN)
    random.Random(derive_seed("order", seed)).shuffle(examples)
    made.rows = [FORMS[form](example) for example in examples]
    made.counts["right"] = dict(Counter(example.gold.value for example in examples))
    return made


def card(made: TrainingSet, scenarios: Sequence[Scenario], sources: Sequence[JsonObject], **settings: Any) -> JsonObject:
    """Return what must be known of a set beside its rows: origin, licences, settings, counts, and what was left out and why.

    Args:
        made: The set.
        scenarios: The scenarios it was made of.
        sources: Their files, each with name and digest.
        settings: What else decided the rows: command, seed, balance.
    """
    origins = Counter((one.source.name, one.source.licence, one.source.url) for one in scenarios)
    return {
        "made_by": "talm-sim",
        "kind": made.kind,
        "form": made.form,
        **settings,
        "rows": len(made.rows),
        "counts": made.counts,
        "sources": list(sources),
        "scenarios": len(scenarios),
        "origins": [{"name": name, "licence": licence, "url": url, "scenarios": number} for (name, licence, url), number in origins.items()],
        "left_out": [{"why": why, "scenarios": len(ids), "ids": ids[:_LONGEST_LIST]} for why, ids in made.left_out.items()],
    }


def _flaw(scenario: Scenario, kind: Kind) -> str:
    """Say why no row can be made of a scenario; empty if one can."""
    choice = _choice(scenario)
    if choice.gold is Behaviour.DIRECT:
        return "a direct answer is right here, which these sets never teach"
    if len(scenario.turns) > 1:
        return "more than one turn"
    text = choice.text_of(Behaviour.TOOL_CALL)
    if text is not None and calls_in(text) is None and (kind == "preference" or choice.gold is Behaviour.TOOL_CALL):
        return "its tool call is not JSON with a name and arguments"
    if kind == "preference" and not _wrong_answers(choice):
        return "no answer that differs from the right one"
    return _call_flaw(scenario) if choice.gold is Behaviour.TOOL_CALL else ""


def _call_flaw(scenario: Scenario) -> str:
    """Say why the right call cannot be taught."""
    specs = _specs(scenario)
    for call in _calls(scenario):
        if call["name"] not in specs:
            return "its right tool call is of a tool that is not shown"
        if any(name not in call["arguments"] for name in required_of(specs[call["name"]])):
            return "its right tool call lacks a required parameter"
    return ""


def _note_flaw(made: TrainingSet, scenario: Scenario, flaw: str) -> bool:
    if flaw:
        made.left_out.setdefault(flaw, []).append(scenario.id)
    return not flaw


def _sft(usable: Sequence[Scenario], seed: int, balance: Balance) -> list[Example]:
    return [_example(one) for one in _draw_balanced(usable, "sft", seed, balance)]


def _preference(usable: Sequence[Scenario], made: TrainingSet, seed: int, balance: Balance) -> list[Example]:
    """Return both halves; the larger half is cut to the size of the smaller."""
    damaged = _draw_damaged(usable, seed)
    drawn = _draw_balanced(usable, "preference", seed, balance, at_most=len(damaged))
    if not drawn:
        raise PrerequisiteError(
            f"{len(damaged)} tool calls of {len(usable)} scenarios can be damaged, which is too few: they make up half of a preference set; "
            "give more scenarios whose right answer is a tool call."
        )
    first = [_example(one, rejected=_other_answer(one, seed)) for one in drawn]
    second = [_example(one, rejected=damage) for one, damage in damaged[: len(first)]]
    made.counts["halves"] = {"wrong behaviour": len(first), "wrong call": len(second)}
    made.counts["right, wrong behaviour"] = dict(Counter(example.gold.value for example in first))
    made.counts["rejected"] = dict(Counter(example.rejected_as for example in (*first, *second)))
    return first + second


def _draw_balanced(usable: Sequence[Scenario], kind: Kind, seed: int, balance: Balance, at_most: int | None = None) -> list[Scenario]:
    """Return scenarios in the balance asked for, in the order given; `at_most` bounds their number."""
    rng = random.Random(derive_seed("drawn", seed))
    limit = len(usable) if at_most is None else min(at_most, len(usable))
    if balance == "natural":
        kept = rng.sample(list(usable), limit)
    else:
        shares = BALANCES[kind] if balance == "paper" else _CALLS_TO_REST
        classes = {gold: [one for one in usable if _choice(one).gold is gold] for gold in shares}
        empty = [gold.value for gold, members in classes.items() if not members]
        if empty:
            raise PrerequisiteError(
                f"--balance {balance}: no scenario whose right answer is {empty[0]}; give some, or choose --balance natural."
            )
        unit = min(limit // sum(shares.values()), *(len(members) // shares[gold] for gold, members in classes.items()))
        if unit == 0:
            raise PrerequisiteError(
                f"--balance {balance}: needs at least {' to '.join(map(str, shares.values()))} scenarios of {', '.join(shares)}; "
                "give more, or choose --balance natural."
            )
        kept = [one for gold, members in classes.items() for one in rng.sample(members, unit * shares[gold])]
    ids = {one.id for one in kept}
    return [one for one in usable if one.id in ids]


def _other_answer(scenario: Scenario, seed: int) -> Behaviour:
    """Return one of the wrong answers, each as likely as the others."""
    return random.Random(derive_seed("rejected", seed, scenario.id)).choice(_wrong_answers(_choice(scenario)))


def _wrong_answers(choice: Choice) -> list[Behaviour]:
    right = choice.text_of(choice.gold)
    return [option.behaviour for option in choice.options if option.text != right]


def _draw_damaged(usable: Sequence[Scenario], seed: int) -> list[tuple[Scenario, Damage]]:
    """Draw damaged calls: first one of each scenario, then a second one, and so on, so that none weighs more than it must."""
    pool = ValuePool(call for one in usable for call in _calls(one))
    right = [one for one in usable if _choice(one).gold is Behaviour.TOOL_CALL]
    random.Random(derive_seed("damaged", seed)).shuffle(right)
    of_each = [damages(_calls(one), _specs(one), one.query, pool, random.Random(derive_seed("damage", seed, one.id))) for one in right]
    most = max(map(len, of_each), default=0)
    return [(one, made[place]) for place in range(most) for one, made in zip(right, of_each, strict=True) if place < len(made)]


def _example(scenario: Scenario, rejected: Behaviour | Damage | None = None) -> Example:
    gold = _choice(scenario).gold
    wrong = rejected.calls if isinstance(rejected, Damage) else None if rejected is None else _answer(scenario, rejected)
    return Example(
        scenario=scenario.id,
        tools=scenario.shown_tools,
        messages=scenario.turns[0].messages,
        gold=gold,
        chosen=_answer(scenario, gold),
        rejected=wrong,
        rejected_as="" if rejected is None else rejected.kind.value if isinstance(rejected, Damage) else rejected.value,
    )


def _answer(scenario: Scenario, behaviour: Behaviour) -> Answer:
    text = _choice(scenario).text_of(behaviour)
    assert text is not None
    return _calls(scenario) if behaviour is Behaviour.TOOL_CALL else text


def _choice(scenario: Scenario) -> Choice:
    if not isinstance(scenario.target, Choice):
        raise PrerequisiteError(f"scenario '{scenario.id}': has no options to choose from; only scenarios of task when2call are exported.")
    return scenario.target


def _calls(scenario: Scenario) -> tuple[JsonObject, ...]:
    return calls_in(_choice(scenario).text_of(Behaviour.TOOL_CALL) or "") or ()


def _specs(scenario: Scenario) -> dict[str, JsonObject]:
    found: Iterable[JsonObject] = map(spec_of, scenario.shown_tools)
    return {spec["name"]: spec for spec in found if isinstance(spec.get("name"), str)}
