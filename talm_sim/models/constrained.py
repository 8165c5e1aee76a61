"""The `constrained` tool format: each turn the model writes exactly one JSON action, held to a schema while it decodes.

A very small model never calls a tool of its own accord: its chat template may not even show the tools. This format makes the choice
explicit. The tools are listed in the system message; the answer is, by `response_format`, one of

    {"action": "<tool>", "arguments": {...}}        for each tool offered, `ask_human` among them
    {"action": "answer", "text": "..."}

and, where a label is asked for (`GenerationSettings.choices`), `{"answer": "<label>", "reason": "..."}`. The model itself chooses which of
them it writes: all openings are in one `anyOf`. Strings are bounded, or a rambling model would fill its context.

Needs a server that enforces a JSON schema with `anyOf` (vLLM, llama.cpp, SGLang, ...), or a local model, whose decoding is held to it here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from talm_sim.models.base import GenerationSettings
from talm_sim.models.endings import SchemaChat, turn_of
from talm_sim.models.parsing import parse_calls, read_object, replace_surrogates
from talm_sim.models.wire_messages import model_turns_in, split_system, text_of
from talm_sim.types import ModelTurn, ToolCall, ToolSpec, UnparsableCall

Schema = dict[str, Any]
ANSWER = "answer"
"""The action that ends the episode."""
ANSWER_CHARS = 320
"""Longest answer, in characters: three or four sentences."""
_REASON_CHARS = 80
_TEXT_CHARS = 120
"""Longest string argument, a question to the person among them."""
_CHOICE_FORM = 'Write JSON: {"answer": "...", "reason": "..."}'
"""Form of a label. It names none: the question does, and a list of them here would lean the answer towards the first."""
_MAX_ITEMS = 5
_MOST_WRITTEN = 4096
"""Tools of which it is kept what is written of them."""
_MAX_DESCRIPTION_CHARS = 120
_ENOUGH = "Is that enough to answer?"
"""Text after the latest results. Without it small models repeat their last action: after two results 35 of 40 were calls, with it 21."""
_OPENING = re.compile(r'\s*\{\s*"action"\s*:\s*"(?P<action>[^"]*)"')
_STRING = re.compile(r'"(?:text|answer)"\s*:\s*(?P<text>"(?:[^"\\]|\\.)*)', re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


class _Written(NamedTuple):
    """What is written of a tool, which every turn of every episode shows again."""

    tool: ToolSpec
    line: str
    schema: Schema


_written: dict[int, _Written] = {}
"""By the identity of the tool, which its entry keeps alive: a tool has no hash, and its digest would take as long."""


class ConstrainedModel:
    """Lets a weak model act, one constrained JSON action per turn."""

    def __init__(self, chat: SchemaChat, *, answer_chars: int = ANSWER_CHARS) -> None:
        self.name = chat.name
        self._chat = chat
        self._answer_chars = answer_chars

    async def generate(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSpec], settings: GenerationSettings) -> ModelTurn:
        """Generate one action, or one label with its reason if `settings.choices` asks for it; see `Model.generate`."""
        if settings.choices:
            form, schema = _CHOICE_FORM, choice_schema(settings.choices)
        else:
            form, schema = describe_tools(tools), action_schema(tools, self._answer_chars)
        settings = replace(settings, alternatives=0)  # the first token is the brace that opens the action, and says nothing
        response_format = {"type": "json_schema", "json_schema": {"name": "action", "schema": schema}}
        answer = await self._chat.chat(_wire(messages, form), settings, {"response_format": response_format})
        reading = _read_choice if settings.choices else read_action
        return turn_of(self.name, replace(answer, calls=()), model_turns_in(messages), reading)

    async def aclose(self) -> None:
        """Release the connections."""
        await self._chat.aclose()


def _written_of(tool: ToolSpec) -> _Written:
    if (found := _written.get(id(tool))) is None:
        line = f"- {_first_sentence(tool.description)}\n  {_example(tool)}"
        schema = _object({"action": {"const": tool.name}, "arguments": _bound_schema(tool.parameters)})
        if len(_written) >= _MOST_WRITTEN:
            _written.clear()  # a fault may show each episode tools of its own
        found = _written[id(tool)] = _Written(tool, line, schema)
    return found


def describe_tools(tools: Sequence[ToolSpec]) -> str:
    """Describe the actions open to the model, each as the JSON it would write, in as few words as a small context allows."""
    lines = ["Write one JSON action at a time:"]
    lines += [_written_of(tool).line for tool in tools]
    return "\n".join([*lines, f'- Answer the person, once you know.\n  {{"action": "{ANSWER}", "text": "<your answer>"}}'])


def action_schema(tools: Sequence[ToolSpec], answer_chars: int = ANSWER_CHARS) -> Schema:
    """Return the JSON Schema of one action: a call of one of `tools`, or the answer."""
    actions = [_written_of(tool).schema for tool in tools]
    actions.append(_object({"action": {"const": ANSWER}, "text": {"type": "string", "minLength": 1, "maxLength": answer_chars}}))
    return {"anyOf": actions} if len(actions) > 1 else actions[0]


def choice_schema(choices: Sequence[str]) -> Schema:
    """Return the JSON Schema of a label with a short reason."""
    return _object({"answer": {"enum": list(choices)}, "reason": {"type": "string", "maxLength": _REASON_CHARS}})


def _object(properties: dict[str, Schema], required: Sequence[str] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else list(required),
        "additionalProperties": False,
    }


def _bound_schema(schema: Schema) -> Schema:
    """Return the part of a parameter schema that a decoder's grammar can hold, with every string and array bounded.

    A null alternative is dropped (an optional argument is left out instead), and so are patterns and formats: servers' grammars treat them
    differently, and the tool itself refuses what does not fit.
    """
    for key in ("anyOf", "oneOf", "allOf"):
        options = [option for option in schema.get(key, ()) if isinstance(option, dict) and option.get("type") != "null"]
        if options:
            return _bound_schema({**options[0], **{k: v for k, v in schema.items() if k != key}})
    if "enum" in schema or "const" in schema:
        return {key: schema[key] for key in ("enum", "const") if key in schema}
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = next((one for one in kind if one != "null"), "string") if isinstance(kind, list) else kind
    if kind == "object":
        return _object({name: _bound_schema(part) for name, part in schema.get("properties", {}).items()}, schema.get("required", ()))
    if kind == "array":
        bounds = {"minItems": min(schema.get("minItems", 0), _MAX_ITEMS), "maxItems": min(schema.get("maxItems", _MAX_ITEMS), _MAX_ITEMS)}
        return {"type": "array", "items": _bound_schema(schema.get("items", {})), **bounds}
    if kind != "string":
        return {"type": kind} | {key: schema[key] for key in ("minimum", "maximum") if key in schema}
    longest = min(schema.get("maxLength", _TEXT_CHARS), _TEXT_CHARS)
    return {"type": "string", "minLength": min(schema.get("minLength", 1), longest), "maxLength": longest}


def _example(tool: ToolSpec) -> str:
    """Return the action that a call would be, with each required argument described in its place."""
    parameters: Schema = tool.parameters.get("properties", {})
    arguments = {name: f"<{_first_sentence(_meaning(parameters.get(name, {})))}>" for name in tool.required}
    return json.dumps({"action": tool.name, "arguments": arguments}, ensure_ascii=False)


def _meaning(schema: Schema) -> str:
    return str(schema.get("description") or schema.get("title") or schema.get("type") or "value")


def _first_sentence(text: str) -> str:
    """Return the first sentence of a description, without its full stop."""
    sentence = _SENTENCE_END.split(text.strip(), maxsplit=1)[0].rstrip(".")
    return " ".join(sentence.split())[:_MAX_DESCRIPTION_CHARS]


def _wire(messages: Sequence[BaseMessage], form: str) -> list[dict[str, Any]]:
    """Return the conversation in three plain roles, strictly alternating after the system message: many templates take no other."""
    system, rest = split_system(messages)
    wire: list[dict[str, Any]] = [{"role": "system", "content": f"{system}\n\n{form}" if system else form}]
    for message in rest:
        role, text = _to_plain_message(message)
        if wire[-1]["role"] == role:
            wire[-1]["content"] += f"\n{text}"
        else:
            wire.append({"role": role, "content": text})
    if messages and isinstance(messages[-1], ToolMessage):
        wire[-1]["content"] += f"\n{_ENOUGH}"
    return wire


def _to_plain_message(message: BaseMessage) -> tuple[str, str]:
    if isinstance(message, ToolMessage):
        return "user", f"Result of {message.name or 'the tool'}: {text_of(message)}"
    if not isinstance(message, AIMessage):
        return "user", text_of(message)
    actions = [_dump({"action": call["name"], "arguments": call["args"]}) for call in message.tool_calls]
    actions += [str(call["args"]) for call in message.invalid_tool_calls]
    said = text_of(message)
    return "assistant", "\n".join([*([said] if said else []), *actions]) if actions else _dump({"action": ANSWER, "text": said})


def _dump(value: Schema) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_action(written: str, turn: int) -> tuple[str, tuple[ToolCall, ...], tuple[UnparsableCall, ...]]:
    """Return the text, call or broken call that an action means. An action that was cut short is kept as far as it goes."""
    try:
        action = read_object(written)
    except ValueError as err:
        if (opening := _OPENING.match(written)) is None or opening["action"] == ANSWER:
            return _cut_string(written), (), ()
        return "", (), (UnparsableCall(id=f"call-{turn}-0", name=opening["action"], raw=written, reason=str(err)),)
    name = action.get("action")
    if name == ANSWER or name is None:
        return str(action.get("text", written)), (), ()
    calls, broken = parse_calls([(None, name, action.get("arguments"))], turn)
    return "", calls, broken


def _read_choice(written: str, _: int) -> tuple[str, tuple[ToolCall, ...], tuple[UnparsableCall, ...]]:
    return read_label(written), (), ()


def read_label(written: str) -> str:
    """Return `<label>. Reason: <reason>`: the word between them keeps a reason such as "or No" from reading as a second label."""
    try:
        choice = read_object(written)
    except ValueError:
        return _cut_string(written)
    return f"{choice.get('answer', '')}. Reason: {choice.get('reason', '')}"


def _cut_string(written: str) -> str:
    """Return the text or label of JSON that ended too early; all of it if there is none."""
    if (match := _STRING.search(written)) is None:
        return written
    try:
        return replace_surrogates(str(json.loads(match["text"].rstrip("\\") + '"')))
    except ValueError:
        return match["text"][1:]
