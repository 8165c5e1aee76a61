"""Render conversations through a tokenizer's own chat template."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import BaseMessage
from pydantic import AfterValidator, Field

from talm_sim.common.plain_files import LARGEST_SETTINGS, read_text
from talm_sim.common.typed_options import JsonOption, OptionsModel
from talm_sim.errors import PrerequisiteError
from talm_sim.models.formats import read_calls
from talm_sim.models.parsing import split_reasoning
from talm_sim.models.wire_messages import merge_neighbours, openai_messages

log = logging.getLogger(__name__)

THINKING = "enable_thinking"
"""The variable by which most chat templates of thinking models can be told not to let them think."""
_TEMPLATE, _ARGUMENTS = "chat_template", "chat_template_kwargs"
_TURN, _FINAL = "<|start|>assistant", "<|channel|>final<|message|>"
"""How a prompt of gpt-oss ends, whose model writes first on which channel it speaks; and the one that the user reads."""
_NO_WORD = re.compile(r"\W+")
_OURS = ("messages", "tools", "add_generation_prompt", "strftime_now")


def _read_template(file: str) -> str:
    try:
        source = read_text(Path(file).expanduser(), LARGEST_SETTINGS)
    except (OSError, ValueError) as err:  # no UTF-8 is a ValueError
        reason = getattr(err, "strerror", None) or "is not UTF-8 text"
        raise ValueError(f"'{file}' cannot be read ({reason}); name a Jinja file.") from None
    if not source.strip():
        raise ValueError(f"'{file}' is empty; name a Jinja file.")
    return source


def _check_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    if ours := next((key for key in arguments if key in _OURS), None):
        raise ValueError(f"'{ours}' is given by talm-sim; leave it out.")
    return arguments


class RenderingOptions(OptionsModel):
    """The `-M` options of a model in this process that say how its prompts are written."""

    chat_template: Annotated[str, AfterValidator(_read_template)] | None = None
    """The source in the file that was named."""
    chat_template_kwargs: Annotated[JsonOption, AfterValidator(_check_arguments)] = Field({})


@dataclass(frozen=True, slots=True)
class Rendering:
    """The settings by which a conversation is rendered, beside the tokenizer.

    Attributes:
        template: The Jinja source in place of the tokenizer's own chat template; None for that.
        today: The date that templates are told; None for the day on which they ask.
        answers: Whether the model's turn begins with its answer.
    """

    template: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    today: date | None = None
    answers: bool = False

    @classmethod
    def of(cls, options: RenderingOptions, created: date | None) -> Rendering:
        """Make it of the user's options, for a run that was created on a day."""
        return cls(options.chat_template, options.chat_template_kwargs, created)

    def without_thought(self) -> Rendering:
        """Return the same for a turn that begins with its answer: a thinking template is told not to think, unless the user says otherwise."""
        return replace(self, answers=True)


def chat_template_of(tokenizer: Any, rendering: Rendering | None = None, *, tools: bool = True) -> str:
    """Return the Jinja source that renders conversations: of several, `tool_use` with tools, else the default one; empty if there is none."""
    if rendering is not None and rendering.template is not None:
        return rendering.template
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, dict):
        template = (template.get("tool_use") if tools else None) or template.get("default")
    return template if isinstance(template, str) else ""


def render(
    tokenizer: Any,
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]],
    name: str,
    rendering: Rendering | None = None,
    *,
    prompt: bool = True,
) -> str:
    """Render a conversation, ready for the model's turn."""
    rendering = rendering or Rendering()
    try:
        return _render(tokenizer, messages, tools, name, rendering, prompt=prompt)
    except PrerequisiteError:
        raise
    except Exception as err:  # a template is a program of the model's author and may fail in any way
        with suppress(Exception):
            if any("tool_calls" in message for message in messages):
                return _render(tokenizer, _texts(messages), tools, name, rendering, prompt=prompt)
        reason = " ".join(str(err).split())[:200]
        raise PrerequisiteError(f"{name}: its chat template cannot take this conversation ({type(err).__name__}: {reason}).") from err


def render_whole(
    tokenizer: Any, messages: Sequence[dict[str, Any]], tools: list[dict[str, Any]], name: str, rendering: Rendering | None = None
) -> str:
    """Render a conversation as `render` does, so that nothing the system says is lost.

    Some templates refuse system messages, or those that come late, and others drop them silently: there the user says them.
    """
    system = [text for one in messages if one["role"] == "system" and (text := one["content"].strip())]
    try:
        prompt = render(tokenizer, merge_neighbours(messages), tools, name, rendering)
        if all(_shows(prompt, text) for text in system):
            return prompt
    except PrerequisiteError:
        if not system:
            raise
    return render(
        tokenizer, merge_neighbours([{**one, "role": "user"} if one["role"] == "system" else one for one in messages]), tools, name, rendering
    )


def check_tools_shown(prompt: str, bare: str, tools: Iterable[str], where: str, fix: str) -> None:
    """Check that a prompt shows the model each tool.

    Args:
        prompt: The prompt.
        bare: The same without tools, or what is said in it: it may name a tool too.
        tools: The tools' names.
        where: What writes the prompt.
        fix: What to do.
    """
    for tool in tools:
        spelled = {tool, json.dumps(tool)[1:-1], json.dumps(tool, ensure_ascii=False)[1:-1]}
        named = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, spelled))})(?!\w)")
        if len(named.findall(prompt)) <= len(named.findall(bare)):
            raise PrerequisiteError(f"{where} shows the model no tool '{tool}'; {fix}.")


def _shows(prompt: str, text: str) -> bool:
    """Return whether a prompt contains a text, however a template escapes or indents its lines."""
    return text in prompt or all(_NO_WORD.sub("", line) in _NO_WORD.sub("", prompt) for line in text.splitlines())


def _texts(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with the arguments of calls as JSON texts, which some templates (DeepSeek V3) join to others."""
    return [
        {**message, **({"tool_calls": [_text(one) for one in calls]} if (calls := message.get("tool_calls")) else {})} for message in messages
    ]


def _text(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    return {**call, "function": {**function, "arguments": json.dumps(function["arguments"], ensure_ascii=False)}}


def warn_unread_form(tokenizer: Any, name: str, rendering: Rendering | None = None) -> None:
    """Say in one line if a chat template writes tool calls in a form that is not read."""
    form = unread_form(tokenizer, name, rendering)
    if form:
        log.warning(
            "%s: its chat template writes calls in a format that talm-sim cannot read (%s), so they count as text or malformed; "
            "use --tool-format constrained",
            name,
            form,
        )


def unread_form(tokenizer: Any, name: str, rendering: Rendering | None = None) -> str:
    """Return how a chat template writes a tool call if that is not read back as the call; empty if it is, or if none is written.

    A model writes calls as its template does, so these would count as text, or as broken.
    """
    rendering = rendering or Rendering()
    asked: list[dict[str, Any]] = [{"role": "user", "content": "Hello?"}]
    called = {"id": "call00001", "type": "function", "function": {"name": "look_up", "arguments": {"word": "mango"}}}
    schema = {"type": "object", "properties": {"word": {"type": "string", "description": ""}}, "required": ["word"]}
    tools: list[dict[str, Any]] = [
        {"type": "function", "function": {"name": "look_up", "description": "Look a word up.", "parameters": schema}}
    ]
    answered = [*asked, {"role": "assistant", "content": "", "tool_calls": [called]}]
    try:
        before = _render(tokenizer, asked, tools, name, rendering)
        after = _render(tokenizer, answered, tools, name, rendering, prompt=False)
    except Exception:  # what a template cannot take is reported when it is needed
        return ""
    same = next((place for place, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), len(before))
    opened = after.rfind("<", 0, same)
    written = after[opened if opened > after.rfind(">", 0, same) else same :]  # two marks may begin alike
    if "look_up" not in written or "mango" not in written:
        return ""
    written, _ = split_reasoning(written)
    read = read_calls(written, [tool["function"] for tool in tools])
    good = [(call.name, call.arguments) for call in read.calls] == [("look_up", {"word": "mango"})]
    return "" if good else " ".join(written.split())[:80]


def _render(
    tokenizer: Any, messages: list[dict[str, Any]], tools: list[dict[str, Any]], name: str, rendering: Rendering, *, prompt: bool = True
) -> str:
    from talm_sim.models.local.template_sandbox import limit_rendering, limit_transformers

    source = chat_template_of(tokenizer, rendering, tools=bool(tools))
    given = _variables(rendering, source, name)
    if rendering.template is not None:
        given["chat_template"] = rendering.template
    elif not getattr(tokenizer, "chat_template", None):
        raise PrerequisiteError(f"{name}: its tokenizer has no chat template; give one with -M {_TEMPLATE}=FILE, or use raw prompts.")
    limit_transformers()
    with limit_rendering(sum(len(str(one)) for one in (*messages, *tools))):
        text: str = tokenizer.apply_chat_template(messages, tools=tools or None, add_generation_prompt=prompt, tokenize=False, **given)
    return text + _FINAL if rendering.answers and text.endswith(_TURN) else text


def _variables(rendering: Rendering, source: str, name: str) -> dict[str, Any]:
    """Return the values of a template's variables; a template is only given those it asks for."""
    given = {key: value for key, value in rendering.arguments.items() if _names(source, key)}
    for key, value in rendering.arguments.items():
        if key not in given and (key, value) != (THINKING, False):  # a template without thoughts does not think
            raise PrerequisiteError(f"-M {_ARGUMENTS}: the chat template of {name} has no variable '{key}'; leave it out.")
    if rendering.answers and _names(source, THINKING):
        given.setdefault(THINKING, False)
    if rendering.today is not None and "strftime_now" in source:
        given["strftime_now"] = datetime.combine(rendering.today, time()).strftime
    return given


def _names(source: str, variable: str) -> bool:
    return re.search(rf"\b{re.escape(variable)}\b", source) is not None


def template_messages(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return messages as templates want them: arguments as objects, every content a string, every result with its tool's name."""
    names: dict[str, str] = {}
    shown: list[dict[str, Any]] = []
    for message in openai_messages(messages):
        message["content"] = message["content"] or ""
        for call in message.get("tool_calls", ()):
            function = call["function"]
            names[call["id"]] = function["name"]
            function["arguments"] = json.loads(function["arguments"])
        if message["role"] == "tool":
            message["name"] = names.get(message["tool_call_id"], "")
        shown.append(message)
    return shown
