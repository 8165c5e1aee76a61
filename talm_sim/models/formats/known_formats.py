"""The formats by name, each as its family's chat template writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from talm_sim.models.formats.base import CallToWrite, Format
from talm_sim.models.formats.families import gemma, harmony, invoke, lists, named, pythonic, section_tokens as sections
from talm_sim.models.formats.literals import json_text, python_text


def _join_calls(write: Callable[[CallToWrite], str], between: str = "\n") -> Callable[[Sequence[CallToWrite]], str]:
    return lambda calls: between.join(map(write, calls))


def _list(calls: Sequence[CallToWrite]) -> str:
    return f"[{', '.join(call.to_text for call in calls)}]"


def _python(call: CallToWrite) -> str:
    return f"{call.name}({', '.join(f'{name}={python_text(value)}' for name, value in call.arguments.items())})"


def _python_list(calls: Sequence[CallToWrite]) -> str:
    return f"[{', '.join(map(_python, calls))}]"


def _parameters(call: CallToWrite) -> str:
    blocks = "".join(f"<parameter={name}>\n{_bare_text(value)}\n</parameter>\n" for name, value in call.arguments.items())
    return f"<tool_call>\n<function={call.name}>\n{blocks}</function>\n</tool_call>"


def _pairs(call: CallToWrite) -> str:
    pairs = "".join(f"<arg_key>{name}</arg_key>\n<arg_value>{_bare_text(value)}</arg_value>\n" for name, value in call.arguments.items())
    return f"<tool_call>{call.name}\n{pairs}</tool_call>"


def _bare_text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _arguments(call: CallToWrite) -> str:
    return json_text(call.arguments)


_ALL = (
    Format("qwen3-coder", _join_calls(_parameters), "<parameter="),
    Format("functionary", _join_calls(lambda call: f"<function={call.name}>{_arguments(call)}</function>", ""), "<function="),
    Format("glm", _join_calls(_pairs), "<arg_key>"),
    Format("hermes", _join_calls(lambda call: f"<tool_call>\n{call.json}\n</tool_call>"), "<tool_call>"),
    Format("nemotron4", _join_calls(lambda call: f"<toolcall> {call.json} </toolcall>"), "<toolcall>"),
    Format("nemotron", lambda calls: f"<TOOLCALL>{_list(calls)}</TOOLCALL>", "<TOOLCALL>"),
    Format("mistral-args", _join_calls(lambda call: f"[TOOL_CALLS]{call.name}[ARGS]{_arguments(call)}", ""), "[ARGS]"),
    Format("mistral", lambda calls: f"[TOOL_CALLS] {_list(calls)}", "[TOOL_CALLS] ["),
    Format("mistral-v3", lambda calls: f"[TOOL_CALLS]{_list(calls)}", "[TOOL_CALLS]"),
    Format("phi", lambda calls: f"<|tool_call|>{_list(calls)}<|/tool_call|>", "<|tool_call|>"),
    Format(
        "llama-json",
        _join_calls(lambda call: json_text({"name": call.name, "parameters": call.arguments}), "; "),
        '"name": function name, "parameters"',
    ),
    Format("pythonic", _python_list, "[func_name1("),
    Format("lfm2", lambda calls: f"<|tool_call_start|>{_python_list(calls)}<|tool_call_end|>", "<|tool_call_start|>["),
    Format("gemma", lambda calls: f"```tool_code\n{chr(10).join(map(_python, calls))}\n```"),
    Format("xlam", _list, '[{"name": "tool_call_name"'),
    Format("xlam-tool-calls", lambda calls: f'{{"tool_calls": {_list(calls)}}}', '"tool_calls": ['),
    Format("gemma4", gemma.GEMMA_4.write, "<|tool_call>call:"),
    Format("functiongemma", gemma.FUNCTION_GEMMA.write, "<start_function_call>"),
    Format("command-r7b", lists.write_command_r7b, "<|START_ACTION|>"),
    Format("command-r", lists.write_command_r, '"tool_name"'),
    Format("apertus", lists.write_apertus, "<|tools_prefix|>"),
    Format("llama4", lambda calls: f"<|python_start|>{_python_list(calls)}<|python_end|>", "<|python_start|>"),
    Format("glm-4", named.write_glm_4, "请使用 Json 格式表示调用的参数"),
    Format("deepseek-v3", sections.write_deepseek_v3, "tool['type'] + '<\uff5ctool▁sep\uff5c>"),
    Format("deepseek-v3.1", sections.write_deepseek_v31, "<\uff5ctool▁sep\uff5c>"),
    Format("kimi-k2", sections.write_kimi, "<|tool_calls_section_begin|>"),
    Format("deepseek-v3.2", invoke.DSML.write, "\uff5cDSML\uff5c"),
    Format("minimax-m2", invoke.MINIMAX.write, "<minimax:tool_call>"),
    Format("step3", invoke.STEP.write, "<steptml:"),
    Format("olmo3", pythonic.write_olmo_3, "<function_calls>"),
    Format("anthropic-xml", invoke.ANTHROPIC.write),
    Format("smollm3-code", pythonic.write_smollm3_code),
    Format("harmony", harmony.write_harmony),
    Format("json", _join_calls(lambda call: call.json)),
    Format("json-fenced", lambda calls: f"```json\n{chr(10).join(call.json for call in calls)}\n```"),
)
"""In the order in which marks in a chat template's source are looked for: Qwen 3 Coder, Functionary, GLM 4, Hermes and Qwen, Nemotron 4 and
later, Mistral (three generations), Phi 4, Llama 3 (JSON; in Python, also the form BFCL prompts for), LFM 2, Gemma, xLAM 2 and 1, those of
`families/`, then no family's own. Harmony has no mark: what gpt-oss is scored on stands on its final channel, where it writes no call."""
FORMATS: Mapping[str, Format] = MappingProxyType({one.name: one for one in _ALL})


def format_of_template(source: str) -> Format | None:
    """Return how a chat template writes calls, by the first mark in its source; None if there is none."""
    return next((one for one in _ALL if one.mark and one.mark in source), None)
