"""The tokenizer's own chat template: rendering through it, and picking a style by what stands in it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

from talm_sim.agent.templates.jinja import JinjaTemplate, environment
from talm_sim.agent.templates.values import Call, ShownTool, json_text, python_text
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import TextModel
from talm_sim.scenarios.tool_texts import json_schema
from talm_sim.types import Behaviour, JsonObject, Option

__all__ = ["ChatTemplate", "check_thought_ended", "pick", "shows_tools"]

log = logging.getLogger(__name__)
_MARK = "what is said"
_THINKING = ("enable_thinking", "thinking")
"""Variables by which chat templates are told whether the model is to think."""
_OPEN_THOUGHT = re.compile(r"(?:<(?!/|\|end)[^<>]*think[^<>]*>|\[think\])\s*\Z", re.IGNORECASE)
_JSON_LIST = '[{"name": "tool_call_name"'


class ChatTemplate:
    """Prompts to the letter as the tokenizer's chat template writes them.

    Tools go through the chat template where it can show them; else they stand, in the default style, in the system message, or at the head of
    the user's message where the chat template takes no system message.

    Args:
        model: The model whose tokenizer renders.
        default: The default style, with its macro `system(tools)`.

    Raises:
        PrerequisiteError: The model takes no raw text, or its tokenizer has no chat template or one that drops what the user says.
    """

    name = "chat"

    def __init__(self, model: TextModel | None, default: JinjaTemplate) -> None:
        if model is None:
            raise PrerequisiteError("template 'chat': needs a local model's tokenizer; give an hf/ or vllm/ model, or another --template.")
        source = model.chat_template
        if not source.strip():
            raise PrerequisiteError(f"template 'chat': the tokenizer of {model.name} has no chat template; give another --template.")
        self._model = model
        self._default = default
        form = _form_of(source)
        self._form = form or (lambda call: call.text)
        self._shows_tools = shows_tools(source)
        if not self._shows_tools:
            _check_user_is_heard(model)
        elif form is None:
            log.warning("template 'chat': the chat template of %s shows no form of tool calls known here; they are scored as JSON", model.name)
        self._takes_system = self._shows_tools or _takes_system(model)
        self.source = source if self._shows_tools else f"{source}\n{default.source}"

    def prompt(self, question: str, tools: Sequence[str]) -> str:
        """See `Template.prompt`."""
        shown = [ShownTool(tool) for tool in tools]
        if self._shows_tools:
            return self._model.render_chat([{"role": "user", "content": question}], [_function(tool) for tool in shown])
        system = self._default.call("system", tools=shown)
        if self._takes_system:
            messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        else:
            messages = [{"role": "user", "content": f"{system}\n\n{question}"}]
        return self._model.render_chat(messages, [])

    def option(self, option: Option) -> str:
        """See `Template.option`; a call takes the form that the chat template's source shows, JSON where it shows none."""
        return self._form(Call.read(option.text)) if option.behaviour is Behaviour.TOOL_CALL else option.text


def pick(source: str) -> str:
    """Return the template that `auto` takes for a tokenizer's chat template.

    The first rule that holds decides:

    1. no chat template: `default`;
    2. the variable `enable_thinking` (Qwen 3), as only the chat template ends a thought as the model knows it; calls as `<parameter=...>`
       blocks (Qwen 3 Coder) or as a JSON list (xLAM 2), which no style here writes: `chat`;
    3. `[BEGIN OF TASK INSTRUCTION]` or a literal `"tool_calls": [`: `xlam`;
    4. `<extra_id_0>` or `<toolcall>`: `nemotron`;
    5. `<function=`: `functionary`;
    6. `<|start_header_id|>` with `ipython` or `<|python_tag|>`: `llama3.2`;
    7. `<tools>` with `<|im_start|>`: `hermes` where the call's schema `FunctionCall` or the word pydantic stands in it, `qwen2.5` where the
       heading `# Tools` does;
    8. any other that uses the variable `tools`: `chat`;
    9. one that cannot show tools: `default`, as in the published evaluation.
    """

    def has(*markers: str) -> bool:
        return any(marker in source for marker in markers)

    chatml = has("<|im_start|>") and has("<tools>")
    rules = (
        (not source.strip(), "default"),
        (_uses(source, _THINKING[0]) or has("<parameter=", _JSON_LIST), "chat"),
        (has("[BEGIN OF TASK INSTRUCTION]", '"tool_calls": ['), "xlam"),
        (has("<extra_id_0>", "<toolcall>"), "nemotron"),
        (has("<function="), "functionary"),
        (has("<|start_header_id|>") and has("ipython", "<|python_tag|>"), "llama3.2"),
        (chatml and has("FunctionCall", "pydantic"), "hermes"),
        (chatml and has("# Tools"), "qwen2.5"),
    )
    found = next((name for holds, name in rules if holds), None)
    return found or ("chat" if shows_tools(source) else "default")


def shows_tools(source: str) -> bool:
    """Whether a chat template uses the variable `tools`; text that only says the word does not count."""
    return _uses(source, "tools")


def check_thought_ended(prompt: str, model: TextModel) -> None:
    """See that a prompt does not end in an open thought, where options would be scored as its first words.

    Raises:
        PrerequisiteError: It does; the message says how to have the thought ended.
    """
    if not _OPEN_THOUGHT.search(prompt):
        return
    name = next((one for one in _THINKING if _uses(model.chat_template, one)), None)
    mend = f"-M chat_template_kwargs='{{\"{name}\": false}}'" if name else "-M chat_template=FILE with one that does not, or another --template"
    raise PrerequisiteError(f"the prompt of {model.name} ends in an open thought, where no answer can be scored; give {mend}.")


def _uses(source: str, variable: str) -> bool:
    from jinja2 import TemplateSyntaxError

    before = ""
    try:
        for _, kind, value in environment().lex(source):
            if kind == "name" and value == variable and before != ".":
                return True
            before = value if kind != "whitespace" else before
    except TemplateSyntaxError:
        return False  # the tokenizer will say what is wrong with it
    return False


def _check_user_is_heard(model: TextModel) -> None:
    """Chat templates of vision models expect a message in parts, and pass over one that is a text."""
    if _MARK not in model.render_chat([{"role": "user", "content": _MARK}], []):
        raise PrerequisiteError(
            f"template 'chat': the chat template of {model.name} does not show the user's message; give another --template."
        )


def _takes_system(model: TextModel) -> bool:
    """Some chat templates refuse a system message, others drop it silently."""
    try:
        return _MARK in model.render_chat([{"role": "system", "content": _MARK}, {"role": "user", "content": "-"}], [])
    except PrerequisiteError:
        return False


def _function(tool: ShownTool) -> JsonObject:
    parameters = json_schema(tool.parameters)
    parameters.setdefault("type", "object")
    parameters.setdefault("properties", {})
    return {"name": tool.name, "description": tool.description, "parameters": parameters}


def _form_of(source: str) -> Callable[[Call], str] | None:
    """How a chat template writes a call, by the markers in its source, of which the first that is found decides; None where none is."""
    return next((form for marker, form in _FORMS if marker in source), None)


def _as_parameters(call: Call) -> str:
    blocks = "".join(f"<parameter={name}>\n{_bare(value)}\n</parameter>\n" for name, value in call.arguments.items())
    return f"<tool_call>\n<function={call.name}>\n{blocks}</function>\n</tool_call>"


def _as_pairs(call: Call) -> str:
    pairs = "".join(f"<arg_key>{name}</arg_key>\n<arg_value>{_bare(value)}</arg_value>\n" for name, value in call.arguments.items())
    return f"<tool_call>{call.name}\n{pairs}</tool_call>"


def _bare(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _as_python(call: Call) -> str:
    return f"[{call.name}({', '.join(f'{name}={python_text(value)}' for name, value in call.arguments.items())})]"


def _as_arguments(call: Call) -> str:
    return json_text({"name": call.name, "arguments": call.arguments})


_FORMS: tuple[tuple[str, Callable[[Call], str]], ...] = (
    ("<parameter=", _as_parameters),
    ("<function=", lambda call: f"<function={call.name}>{json_text(call.arguments)}</function>"),
    ("<arg_key>", _as_pairs),
    ("<tool_call>", lambda call: f"<tool_call>\n{call.text}\n</tool_call>"),
    ("<toolcall>", lambda call: f"<toolcall> {call.text} </toolcall>"),
    ("<TOOLCALL>", lambda call: f"<TOOLCALL>[{_as_arguments(call)}]</TOOLCALL>"),
    ("[ARGS]", lambda call: f"[TOOL_CALLS]{call.name}[ARGS]{json_text(call.arguments)}"),
    ("[TOOL_CALLS] [", lambda call: f"[TOOL_CALLS] [{_as_arguments(call)}]"),
    ("[TOOL_CALLS]", lambda call: f"[TOOL_CALLS][{_as_arguments(call)}]"),
    ('"name": function name, "parameters"', lambda call: json_text({"name": call.name, "parameters": call.arguments})),
    ("[func_name1(", _as_python),
    ("<|tool_call_start|>[", lambda call: f"<|tool_call_start|>{_as_python(call)}<|tool_call_end|>"),
    (_JSON_LIST, lambda call: f"[{_as_arguments(call)}]"),
)
"""Markers and forms as they stand in public chat templates: Qwen 3 Coder, Functionary, GLM 4, Hermes and Qwen, Nemotron 4 and
later, Mistral (three generations), Llama 3 (JSON and Python), LFM 2, xLAM 2."""
