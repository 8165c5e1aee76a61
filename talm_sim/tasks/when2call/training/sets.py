"""Training sets from multiple-choice scenarios (When2Call, section 3.3): right responses, and right ones beside wrong ones.

SFT rows have the right answer. A preference set has two halves of equal size: wrong *behaviour* (the rejected response is one of the other
answers, drawn uniformly) and wrong *calls* (the right tool call beside one damaged in one place, see `damage`).
Every draw comes from the seed and the scenario's id, so equal input gives equal output.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from talm_sim.common.digests import derive_seed
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.models.formats import CallToWrite
from talm_sim.scenarios.item_tools import required_of, spec_of
from talm_sim.training.lessons.damage import Damage, ValuePool, calls_in, damages
from talm_sim.training.lessons.training_examples import Answer, Example, Kind, TrainingSet
from talm_sim.types import Behaviour, Choice, JsonObject, Scenario

_KEYS = ("class", "tools")
_MANY = 2
"""From so many tools on, their number counts as the same."""


def draw_sample(scenarios: Sequence[Scenario], number: int, by: str, seed: int) -> list[Scenario]:
    """Draw as many scenarios of every class, in the order given."""
    keys = [key.strip() for key in by.split(",")]
    for key in keys:
        if key not in _KEYS:
            raise PrerequisiteError(f"--by: '{key}' is neither class nor tools.{did_you_mean(key, _KEYS)}")
    if "class" not in keys:
        raise PrerequisiteError("--by: names no class; write class or class,tools.")
    classes: dict[str, dict[int, list[Scenario]]] = {}
    for one in scenarios:
        if not isinstance(one.target, Choice):
            raise PrerequisiteError(f"scenario '{one.id}': has no options to choose from; only scenarios of task when2call are sampled.")
        shown = min(_MANY, len(one.shown_tools)) if "tools" in keys else 0
        classes.setdefault(one.target.gold.value, {}).setdefault(shown, []).append(one)
    kept: set[str] = set()
    for name, strata in sorted(classes.items()):
        size = sum(map(len, strata.values()))
        if size < number:
            raise PrerequisiteError(f"--sample: {number} of each class are asked for, and {name} has {size}; choose at most {size}.")
        for shown, share in _shares({shown: len(members) for shown, members in strata.items()}, number).items():
            draw = random.Random(derive_seed("sample", seed, name, shown))
            kept.update(one.id for one in draw.sample(strata[shown], share))
    return [one for one in scenarios if one.id in kept]


def _shares(sizes: dict[int, int], number: int) -> dict[int, int]:
    """Divide `number` in proportion to `sizes`; what is left over goes to the largest remainders."""
    whole = sum(sizes.values())
    shares = {key: number * size // whole for key, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda key: (-(number * sizes[key] % whole), key))
    for key in by_remainder[: number - sum(shares.values())]:
        shares[key] += 1
    return shares


_BALANCES: dict[str, dict[Behaviour, int]] = {
    "sft": {Behaviour.TOOL_CALL: 1, Behaviour.REQUEST_FOR_INFO: 1, Behaviour.CANNOT_ANSWER: 1},
    "preference": {Behaviour.TOOL_CALL: 3, Behaviour.REQUEST_FOR_INFO: 2, Behaviour.CANNOT_ANSWER: 2},
}
"""Shares of the classes in the paper's sets: 2,000 each, and 4,500 to 3,000 to 3,000. In a preference set, the half of wrong behaviour
has them; in the other half every right answer is a tool call.
"""
_CALLS_TO_REST = {Behaviour.TOOL_CALL: 4, Behaviour.REQUEST_FOR_INFO: 1, Behaviour.CANNOT_ANSWER: 1}
"""Twice as many tool calls as all the rest: the blend of section 3.3.1 that worked best."""
_NOT_DRAWN = "not drawn, to keep the balance"


def build_set(scenarios: Sequence[Scenario], kind: Kind, *, seed: int = 0, balance: str = "natural") -> TrainingSet:
    """Make a set of examples.

    Args:
        scenarios: Scenarios of task when2call.
        kind: `sft` or `preference`.
        seed: Seed of all draws.
        balance: `natural`: the classes as they come; `paper`: in the shares of the paper's sets, as many as the scarcest class allows;
            `calls`: two right tool calls to one of the rest, as in the paper's blend for SFT. In a preference set, the half of wrong
            behaviour has these shares.
    """
    made = TrainingSet(kind)
    if usable := [scenario for scenario in scenarios if _note_flaw(made, scenario, _flaw(scenario, kind))]:
        made.examples = _sft(usable, seed, balance) if kind == "sft" else _preference(usable, made, seed, balance)
    made.refuse_empty(f"{len(scenarios)} scenarios")
    used = {example.scenario.id for example in made.examples}
    for one in usable:
        _note_flaw(made, one, "" if one.id in used else _NOT_DRAWN)
    made.shuffle(seed)
    return made


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
        made.leave_out(flaw, scenario.id)
    return not flaw


def _sft(usable: Sequence[Scenario], seed: int, balance: str) -> list[Example]:
    return [_example(one) for one in _draw_balanced(usable, "sft", seed, balance)]


def _preference(usable: Sequence[Scenario], made: TrainingSet, seed: int, balance: str) -> list[Example]:
    """Return both halves; the larger half is cut to the size of the smaller."""
    damaged = _draw_damaged(usable, seed)
    if not (drawn := _draw_balanced(usable, "preference", seed, balance, at_most=len(damaged))):
        raise PrerequisiteError(
            f"{len(damaged)} tool calls of {len(usable)} scenarios can be damaged, which is too few: they make up half of a preference set; "
            "give more scenarios whose right answer is a tool call."
        )
    first = [_example(one, random.Random(derive_seed("rejected", seed, one.id)).choice(_wrong_answers(_choice(one)))) for one in drawn]
    second = [_example(one, damage, f"/call-{number}") for number, (one, damage) in enumerate(damaged[: len(first)], 1)]
    return first + second


def _draw_balanced(usable: Sequence[Scenario], kind: Kind, seed: int, balance: str, at_most: int | None = None) -> list[Scenario]:
    """Return scenarios in the balance asked for, in the order given; `at_most` bounds their number."""
    rng = random.Random(derive_seed("drawn", seed))
    limit = len(usable) if at_most is None else min(at_most, len(usable))
    if balance == "natural":
        kept = rng.sample(list(usable), limit)
    else:
        shares = _BALANCES[kind] if balance == "paper" else _CALLS_TO_REST
        classes = {gold: [one for one in usable if _choice(one).gold is gold] for gold in shares}
        if empty := [gold.value for gold, members in classes.items() if not members]:
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


def _example(scenario: Scenario, rejected: Behaviour | Damage | None = None, part: str = "") -> Example:
    gold = _choice(scenario).gold
    return Example(
        id=f"{scenario.id}{part}",
        scenario=scenario,
        action=gold.value,
        chosen=option_answer(scenario, gold),
        source=scenario.source.name or "scenarios",
        rejected=None if rejected is None else rejected.answer if isinstance(rejected, Damage) else option_answer(scenario, rejected),
        rejected_action="" if rejected is None else Behaviour.TOOL_CALL.value if isinstance(rejected, Damage) else rejected.value,
        fault=rejected.kind.value if isinstance(rejected, Damage) else "",
    )


def option_answer(scenario: Scenario, behaviour: Behaviour) -> Answer:
    """Return an option: words, or calls. The text of a single call is kept, as the task scores it."""
    text = _choice(scenario).text_of(behaviour)
    assert text is not None
    calls = _calls(scenario)
    if behaviour is not Behaviour.TOOL_CALL or not calls:
        return text
    return (CallToWrite(calls[0]["name"], calls[0]["arguments"], text),) if text.lstrip().startswith("{") else _to_write(calls)


def _to_write(calls: Iterable[JsonObject]) -> tuple[CallToWrite, ...]:
    return tuple(CallToWrite(call["name"], call["arguments"]) for call in calls)


def _choice(scenario: Scenario) -> Choice:
    if not isinstance(scenario.target, Choice):
        raise PrerequisiteError(f"scenario '{scenario.id}': has no options to choose from; only scenarios of task when2call are exported.")
    return scenario.target


def _calls(scenario: Scenario) -> tuple[JsonObject, ...]:
    return calls_in(_choice(scenario).text_of(Behaviour.TOOL_CALL) or "") or ()


def _specs(scenario: Scenario) -> dict[str, JsonObject]:
    found: Iterable[JsonObject] = map(spec_of, scenario.shown_tools)
    return {spec["name"]: spec for spec in found if isinstance(spec.get("name"), str)}
