"""Read the user's own tool-calling rows, `messages` and `tools`, as examples: the last answer of the assistant counts; mix them with others.

Read are rows of the chat-completions protocol, TRL's conversational rows, and When2Call's published SFT rows, whose calls are text.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from talm_sim.common.digests import derive_seed
from talm_sim.errors import PrerequisiteError, did_you_mean
from talm_sim.models.formats import CallToWrite
from talm_sim.scenarios.item_tools import spec_of
from talm_sim.scenarios.jsonl import json_lines, parse
from talm_sim.training.lessons.damage import Damage, ValuePool, as_objects, damages
from talm_sim.training.lessons.training_examples import Example, Kind, TrainingSet
from talm_sim.types import Behaviour, JsonObject, Scenario, Source, Turn

NOT_DRAWN = "not drawn, to keep the ratio of --mix"
_RATIO = re.compile(r"([1-9]\d{0,3}):([1-9]\d{0,3})")


def read_ratio(text: str) -> tuple[int, int]:
    """Read a ratio of own rows to rows made here, as `2:1`."""
    found = _RATIO.fullmatch(text.strip())
    if found is None:
        raise PrerequisiteError(f"--mix {text}: is no ratio; write OWN:MADE, as 2:1 for two own rows to each row that is made.")
    return int(found[1]), int(found[2])


def mix(made: TrainingSet, own: TrainingSet, ratio: tuple[int, int], seed: int) -> TrainingSet:
    """Return a set with both, as many as the scarcer of them allows.

    Args:
        made: Examples made from scenarios or a run.
        own: The user's own.
        ratio: Own examples to made ones.
        seed: Seed of the draw, and of the order.
    """
    unit = min(len(own.examples) // ratio[0], len(made.examples) // ratio[1])
    if unit == 0:
        raise PrerequisiteError(
            f"--mix {ratio[0]}:{ratio[1]}: needs at least {ratio[0]} own rows and {ratio[1]} made; there are {len(own.examples)} and "
            f"{len(made.examples)}."
        )
    mixed = TrainingSet(made.kind, left_out={why: [*ids] for why, ids in made.left_out.items()})
    for why, ids in own.left_out.items():
        mixed.leave_out(why, *ids)
    for part, size in ((own, unit * ratio[0]), (made, unit * ratio[1])):
        kept = _draw(part.examples, size, seed)
        mixed.examples += kept
        drawn = {one.id for one in kept}
        mixed.leave_out(NOT_DRAWN, *(one.id for one in part.examples if one.id not in drawn))
    twice = len(mixed.examples) - len({one.id for one in mixed.examples})
    if twice:
        raise PrerequisiteError(f"--with: {twice} of its rows have the id of a row that is made here; give them others.")
    mixed.shuffle(seed)
    return mixed


def _draw(examples: list[Example], size: int, seed: int) -> list[Example]:
    kept = set(random.Random(derive_seed("mixed", seed)).sample(range(len(examples)), size))
    return [one for place, one in enumerate(examples) if place in kept]


ANSWER = "answer"
"""The class of an answer in words of which nobody says what kind it is."""
CLASSES = (*map(str, Behaviour), ANSWER)
"""Classes that a row may name as its `action`."""
_ROLES = ("system", "user", "assistant", "tool")
_OPEN, _CLOSE = "<TOOLCALL>", "</TOOLCALL>"


def read_own_rows(file: Path, kind: Kind, seed: int) -> TrainingSet:
    """Read a file of rows.

    Args:
        file: JSON lines with `messages` and `tools`; `id`, `action` (one of `CLASSES`) and `licence` may be given, other keys are not read.
        kind: In a preference set, a row whose answer is a call is paired with the call damaged in one place; other rows are left out.
        seed: Seed of the draws.
    """
    made = TrainingSet(kind)
    seen: dict[str, str] = {}
    for where, line in json_lines(file):
        one = read_own_row(line, where, source=file.stem, name=f"{file.stem}:{where.rpartition(':')[2]}")
        if one.id in seen:
            raise PrerequisiteError(f"{where}: id: '{one.id}' is also used in {seen[one.id]}; ids must be unique.")
        seen[one.id] = where
        made.examples.append(one)
    if kind == "preference":
        _reject(made, seed)
    made.refuse_empty(f"the rows of {file}")
    return made


def read_own_row(line: Any, where: str, *, source: str, name: str) -> Example:
    """Read a parsed line.

    Args:
        line: The line.
        where: File and line, for messages.
        source: What the example's source is called.
        name: The example's id, if the row has none.
    """
    if not isinstance(line, dict) or "messages" not in line:
        raise PrerequisiteError(f"{where}: is no object with `messages` and `tools`; write one training row per line.")
    if "chosen_response" in line or "chosen" in line:
        raise PrerequisiteError(f"{where}: is a preference row; give rows whose last message is the right answer.")
    said = line["messages"]
    if not isinstance(said, list) or not said:
        raise PrerequisiteError(f"{where}: messages: is not a list of messages.")
    messages = [_message(one, f"{where}: messages.{number}") for number, one in enumerate(said)]
    if messages[-1]["role"] != "assistant" or not any(one["role"] == "user" for one in messages):
        raise PrerequisiteError(f"{where}: messages: end with the {messages[-1]['role']}; the user asks, and the assistant's answer is last.")
    last = messages.pop()
    calls = tuple(CallToWrite(one["name"], one["arguments"]) for one in last.get("tool_calls", ()))
    action = line.get("action") or (Behaviour.TOOL_CALL.value if calls else ANSWER)
    if action not in CLASSES:
        raise PrerequisiteError(
            f"{where}: action: unknown class '{action}'; write one of {', '.join(CLASSES)}.{did_you_mean(str(action), CLASSES)}"
        )
    name = _text(line, "id", where) or _text(line, "uuid", where) or name
    scenario = Scenario(
        id=name,
        task="own rows",
        group=action,
        turns=(Turn(messages=tuple(messages)),),
        shown_tools=tuple(_tools(line.get("tools"), where)),
        source=Source(name=source, licence=_text(line, "licence", where), url=_text(line, "url", where)),
    )
    before = f"{last['content'].rstrip()}\n" if calls and last["content"].strip() else ""
    return Example(id=name, scenario=scenario, action=action, chosen=calls or last["content"], source=source, thought=before)


def _text(line: Mapping[str, Any], key: str, where: str) -> str:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise PrerequisiteError(f"{where}: {key}: is not text; write it in quotes.")
    return "" if value is None else str(value)


def _message(value: Any, place: str) -> JsonObject:
    """Return a message as scenarios have it."""
    if not isinstance(value, dict) or not isinstance(role := value.get("role"), str):
        raise PrerequisiteError(f"{place}: is not a message; write an object with `role` and `content`.")
    if role not in _ROLES:
        raise PrerequisiteError(f"{place}.role: is '{role}'; write one of {', '.join(_ROLES)}.")
    content = value.get("content")
    if not isinstance(content, str | None):
        raise PrerequisiteError(f"{place}.content: is not text; write it in quotes.")
    message: JsonObject = {"role": role, "content": content or ""}
    if role == "tool":
        return message | {"tool_call_id": str(value.get("tool_call_id") or "")}
    if role != "assistant":
        return message
    text = message["content"].strip()
    written = text.startswith(_OPEN) and text.endswith(_CLOSE)
    calls = _json(text[len(_OPEN) : -len(_CLOSE)], place) if written else value.get("tool_calls") or ()
    if written:
        message["content"] = ""
    if not isinstance(calls, list | tuple):
        raise PrerequisiteError(f"{place}.tool_calls: is not a list of calls.")
    found = [_call(one, number, f"{place}.tool_calls.{number}") for number, one in enumerate(calls)]
    return message | ({"tool_calls": found} if found else {})


def _call(value: Any, number: int, place: str) -> JsonObject:
    inner = value.get("function", value) if isinstance(value, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(name, str) or not name:
        raise PrerequisiteError(f'{place}: names no function; write {{"function": {{"name": ..., "arguments": ...}}}}.')
    arguments = inner.get("arguments", {})
    if isinstance(arguments, str):
        arguments = _json(arguments or "{}", f"{place}.arguments")
    if not isinstance(arguments, dict):
        raise PrerequisiteError(f"{place}.arguments: is not an object.")
    return {"id": str(value.get("id") or f"call-{number}"), "name": name, "arguments": arguments}


def _tools(value: Any, where: str) -> Iterator[str]:
    """Yield the tools as JSON texts; a single text may be that of the whole list."""
    listed = _json(value, f"{where}: tools") if isinstance(value, str) and value.strip() else value or []
    if not isinstance(listed, list):
        raise PrerequisiteError(f"{where}: tools: is not a list; give a list of tools ([] for none).")
    for number, tool in enumerate(listed):
        spec = _json(tool, f"{where}: tools.{number}") if isinstance(tool, str) else tool
        text = tool if isinstance(tool, str) else json.dumps(tool, ensure_ascii=False)
        if not isinstance(spec, dict) or not isinstance(spec_of(text).get("name"), str):
            raise PrerequisiteError(f"{where}: tools.{number}: is not an object with a name.")
        yield text


def _json(text: str, place: str) -> Any:
    try:
        return parse(text)
    except ValueError as err:
        raise PrerequisiteError(f"{place}: is not JSON ({err}).") from None


def _reject(made: TrainingSet, seed: int) -> None:
    """Give each example whose answer is a call a wrong one; leave out the others."""
    called = [(one, one.chosen) for one in made.examples if not isinstance(one.chosen, str)]
    made.leave_out("an answer in words, of which no wrong one is known", *(one.id for one in made.examples if isinstance(one.chosen, str)))
    pool = ValuePool(call for _, calls in called for call in as_objects(calls))
    made.examples = []
    for one, calls in called:
        damage = _damage(one, calls, pool, seed)
        if damage is None:
            made.leave_out("its call cannot be damaged", one.id)
        else:
            wrong = replace(one, rejected=damage.answer, rejected_action=one.action, rejected_thought=one.thought)
            made.examples.append(replace(wrong, fault=damage.kind.value))


def _damage(one: Example, calls: Sequence[CallToWrite], pool: ValuePool, seed: int) -> Damage | None:
    specs = {spec["name"]: spec for spec in map(spec_of, one.scenario.shown_tools)}
    rng = random.Random(derive_seed("damage", seed, one.id))
    return next(iter(damages(as_objects(calls), specs, one.scenario.query, pool, rng)), None)
