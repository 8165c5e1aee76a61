"""Read a multi-turn row of BFCL as a scenario: the user speaks several times, and the model acts with simulated APIs."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from talm_sim.errors import did_you_mean
from talm_sim.scenarios.dialogue import request_text
from talm_sim.tasks.refusal.bfcl.rows import TASK, FileRow
from talm_sim.tasks.refusal.bfcl.subsets import Subset
from talm_sim.tools_env.sources.bfcl.apis import CLASSES
from talm_sim.types import GoldCall, Missing, MissingKind, Scenario, Source, ToolSpec, Turn

TURNS = "bfcl_turns"
"""Type of their targets: `gold` has the calls of each turn in BFCL's form, a text each, which its own check takes."""
LACKS_FUNCTION, LACKS_VALUE = "multi_turn_miss_func", "multi_turn_miss_param"
"""The subsets whose rows have a turn that lacks something, which a later one brings."""
_MORE_FUNCTIONS = "You can use more functions now. Please try my last request again."
"""What the user says, in the turn that BFCL leaves without a message."""
_UNEVEN = frozenset({"multi_turn_base_154"})
"""Rows of v3 that have another number of turns than their ground truth, which no answer passes."""


def turns_scenario(line: FileRow, answer: FileRow | None, subset: Subset, name: str, specs: Mapping[str, ToolSpec], source: Source) -> Scenario:
    """Turn a row into a scenario."""
    if answer is None:
        raise line.fault(f"id: '{line.row['id']}' has no ground truth, and a row of {subset.name} needs one; add it, or remove the row.")
    classes, configs = line.row.get("involved_classes"), line.row.get("initial_config")
    if not isinstance(classes, list) or not classes or not all(isinstance(one, str) for one in classes):
        raise line.fault("involved_classes: is not a list of names; write the classes whose functions are shown.")
    if (unknown := next((one for one in classes if one not in CLASSES), None)) is not None:
        raise line.fault(f"involved_classes: there is no class '{unknown}'.{did_you_mean(unknown, CLASSES)}")
    if not isinstance(configs, dict):
        raise line.fault("initial_config: is not an object; write what each class starts from.")
    said, added = _questions(line), _added(line)
    gold = _gold(answer, specs)
    if len(gold) != len(said) and line.row["id"] not in _UNEVEN:
        raise answer.fault(f"ground_truth: has {len(gold)} turns, and the row has {len(said)}; write a list of calls for each, [] for none.")
    tools = [spec.name for one in classes for spec in specs.values() if spec.category == one]
    turns = []
    for number, messages in enumerate(said):
        new = added.get(number, ())
        if (missing := next((one for one in new if one not in tools), None)) is not None:
            raise line.fault(f"missed_function.{number}: '{missing}' is no function of {', '.join(classes)}.{did_you_mean(missing, tools)}")
        if bool(messages) == bool(new):
            raise line.fault(f"question.{number}: a turn has a message of the user, or functions in missed_function; give it one of them.")
        spoken = tuple(messages) or ({"role": "user", "content": _MORE_FUNCTIONS},)
        calls = [call for _, call in gold[number]] if number < len(gold) else []
        turns.append(Turn(messages=spoken, gold_calls=tuple(calls), tools_added=tuple(new)))
    found = Scenario(
        id=name,
        task=TASK,
        group=subset.name,
        turns=tuple(turns),
        tools=tuple(tools),
        start={"classes": {one: configs.get(one, {}) for one in classes}, "long_context": subset.name == "multi_turn_long_context"},
        target={"type": TURNS, "gold": [[text for text, _ in calls] for calls in gold]},
        source=source,
    )
    if (ends := answered_turn(found)) is None:
        return found
    said_next = request_text(turns[ends + 1].messages)
    return found.model_copy(update={"missing": (Missing(kind=MissingKind.UTTERANCE, name="value", human_answer=said_next),)})


def find_missing_turn(scenario: Scenario) -> int | None:
    """Return the number of the turn that lacks something, from 0; None if there is none.

    A turn without right calls that has nothing to do with it, as in rows 167 and 180 of BFCL, is not meant.
    """
    turns = scenario.turns
    if scenario.group == LACKS_FUNCTION:
        found = next((number - 1 for number, turn in enumerate(turns) if turn.tools_added), -1)
    elif scenario.group == LACKS_VALUE:
        found = next((number for number, turn in enumerate(turns) if not turn.gold_calls), -1)
    else:
        return None
    return found if 0 <= found < len(turns) - 1 else None


def answered_turn(scenario: Scenario) -> int | None:
    """Return the number of the turn that ends with a person's answer; None of a row in which nobody can be asked."""
    return find_missing_turn(scenario) if scenario.group == LACKS_VALUE else None


def gold_turns(scenario: Scenario) -> list[list[str]] | None:
    """Return the right calls of each turn in BFCL's form; None of a scenario that is no multi-turn row."""
    target = scenario.target
    return target["gold"] if isinstance(target, dict) and target.get("type") == TURNS else None


def _questions(line: FileRow) -> list[list[dict[str, Any]]]:
    question = line.row.get("question")
    if not isinstance(question, list) or not question or not all(isinstance(turn, list) for turn in question):
        raise line.fault('question: is not a list of turns, each a list of messages; write [[{"role": "user", "content": ...}]].')
    for number, turn in enumerate(question):
        for message in turn:
            if not isinstance(message, dict) or message.get("role") != "user" or not isinstance(message.get("content"), str):
                raise line.fault(f'question.{number}: has a message that is not the user\'s; write {{"role": "user", "content": ...}}.')
    return question


def _added(line: FileRow) -> dict[int, list[str]]:
    missed = line.row.get("missed_function", {})
    if not isinstance(missed, dict) or not all(key.isdigit() and isinstance(names, list) for key, names in missed.items()):
        raise line.fault("missed_function: is not an object of lists; write {TURN: [FUNCTION, ...]}.")
    return {int(key): names for key, names in missed.items()}


def _gold(line: FileRow, specs: Mapping[str, ToolSpec]) -> list[list[tuple[str, GoldCall]]]:
    truth = line.row.get("ground_truth")
    if not isinstance(truth, list) or not all(isinstance(turn, list) and all(isinstance(call, str) for call in turn) for turn in truth):
        raise line.fault("ground_truth: is not a list of turns, each a list of calls; write [[\"NAME(PARAMETER='VALUE')\", ...], ...].")
    return [[(call, _read_call(call, specs, line, f"ground_truth.{number}")) for call in turn] for number, turn in enumerate(truth)]


def _read_call(text: str, specs: Mapping[str, ToolSpec], line: FileRow, place: str) -> GoldCall:
    """Read a call with literal arguments; those without a name have those of the function's parameters, in their order."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError
        names: Sequence[str] = [*specs[call.func.id].parameters.get("properties", {})]
        given = {**dict(zip(names, call.args, strict=False)), **{str(one.arg): one.value for one in call.keywords}}
        if len(call.args) > len(names) or len(given) != len(call.args) + len(call.keywords):
            raise ValueError
        return GoldCall(name=call.func.id, arguments={name: ast.literal_eval(value) for name, value in given.items()})
    except (SyntaxError, ValueError, TypeError, KeyError):
        raise line.fault(f"{place}: '{text}' is not a call of a function with literal values; write NAME(PARAMETER='VALUE').") from None
