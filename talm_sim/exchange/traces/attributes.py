"""Read attributes of spans: OTLP's JSON values, under the different names that conventions and frameworks give to one thing.

The names are those of OpenTelemetry's conventions for generative AI since 1.28, of OpenInference, of OpenLLMetry (`traceloop`), of Vercel's AI
SDK (`ai.`) and of Google's ADK (`gcp.vertex.agent`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from talm_sim.models.answers import usage_of
from talm_sim.scenarios.jsonl import parse
from talm_sim.types import Usage

_SDK: Final = ("ai.generatetext", "ai.streamtext", "ai.generateobject", "ai.streamobject")
_LLM: Final = "llm"
_READ_KINDS: Final = {
    "agent": ("invoke_agent", "invoke_workflow", "agent", "agent_run", *_SDK),
    "chat": ("chat", "generate_content", "text_completion", "completion", "call_llm", "generation"),
    "tool": ("execute_tool", "tool", "ai.toolcall"),
}
_KINDS: Final = (
    *("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "langsmith.span.kind", "llm.request.type"),
    *("ai.operationId", "langfuse.observation.type"),
)
MODEL: Final = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "llm.request.model", "ai.model.id")
TOOL_NAME: Final = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name", "ai.toolCall.name")
CALL_ID: Final = ("gen_ai.tool.call.id", "tool_call.id", "tool.call.id", "tool.id", "ai.toolCall.id")
ARGUMENTS: Final = (
    *("gen_ai.tool.call.arguments", "tool_call.function.arguments", "input.value", "traceloop.entity.input", "tool.parameters"),
    *("ai.toolCall.args", "gcp.vertex.agent.tool_call_args", "langfuse.observation.input"),
)
RESULT: Final = (
    *("gen_ai.tool.call.result", "output.value", "traceloop.entity.output", "ai.toolCall.result"),
    *("gcp.vertex.agent.tool_response", "langfuse.observation.output"),
)
ERROR_TYPE: Final = "error.type"
_INPUT_TOKENS: Final = (
    *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "llm.usage.prompt_tokens"),
    *("ai.usage.inputTokens", "ai.usage.promptTokens"),
)
_OUTPUT_TOKENS: Final = (
    *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion", "llm.usage.completion_tokens"),
    *("ai.usage.outputTokens", "ai.usage.completionTokens"),
)
_CACHED_TOKENS: Final = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_read",
)
_DEEPEST: Final = 12
"""Parts of a name that are taken apart."""


def decode(pairs: Any) -> dict[str, Any]:
    """Return OTLP's list of attributes as a mapping.

    Raises:
        ValueError: It has another form.
    """
    if pairs is None:
        return {}
    if not isinstance(pairs, list):
        raise ValueError("`attributes` is not a list")
    found = {}
    for pair in pairs:
        if not isinstance(pair, dict) or not isinstance(pair.get("key"), str):
            raise ValueError("an attribute has no `key`")
        found[pair["key"]] = _value(pair.get("value"))
    return found


def _value(value: Any) -> Any:
    if value is None or value == {}:
        return None
    if not isinstance(value, dict):
        raise ValueError('an attribute\'s `value` is not an object, for example {"stringValue": "x"}')
    kind, inner = next(iter(value.items()))
    match kind:
        case "intValue":
            try:
                return int(inner) if isinstance(inner, int) else int(str(inner)[:20])
            except ValueError:
                raise ValueError(f"`intValue` is '{str(inner)[:20]}'") from None
        case "arrayValue":
            return [_value(one) for one in (inner or {}).get("values") or ()] if isinstance(inner, dict | None) else []
        case "kvlistValue":
            return decode((inner or {}).get("values")) if isinstance(inner, dict | None) else {}
        case "stringValue" | "boolValue" | "doubleValue" | "bytesValue":
            return inner
        case _:
            raise ValueError(f"an attribute's value is of the unknown kind '{str(kind)[:30]}'")


def first(attributes: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the value of the first of some names that a span has; None if it has none."""
    return next((attributes[name] for name in names if attributes.get(name) is not None), None)


def kind_of(name: str, attributes: Mapping[str, Any]) -> str:
    """Return what a span is about: `agent`, `chat` or `tool`; else its kind, or the first word of its name."""
    declared = first(attributes, _KINDS)
    kind = declared.lower() if isinstance(declared, str) else name.partition(" ")[0]
    plain = kind.lower()
    if plain == _LLM or (plain.startswith(_SDK) and plain.endswith((".dogenerate", ".dostream"))):
        return "chat"
    return next((found for found, kinds in _READ_KINDS.items() if plain in kinds), kind or "without a name")


def usage_in(attributes: Mapping[str, Any]) -> Usage | None:
    """Return token counts; None if the span has none."""
    asked, said = first(attributes, _INPUT_TOKENS), first(attributes, _OUTPUT_TOKENS)
    return None if asked is None and said is None else usage_of(asked, said, first(attributes, _CACHED_TOKENS))


def json_in(value: Any) -> Any:
    """Return the JSON value in a text that is one, else the value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{", '"'}:
        try:
            return parse(value)
        except ValueError:
            return value
    return value


def unflatten(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """Return the list whose parts are spread over names as `<prefix>.0.role`, in the order of the numbers."""
    tree: dict[str, Any] = {}
    for name, value in attributes.items():
        parts = name.removeprefix(f"{prefix}.").split(".", _DEEPEST) if name.startswith(f"{prefix}.") else []
        place: Any = tree
        for part in parts[:-1]:
            place = place.setdefault(part, {}) if isinstance(place, dict) else None
        if parts and isinstance(place, dict):
            place.setdefault(parts[-1], value)
    found = _as_lists(tree)
    return found if isinstance(found, list) else []


def _as_lists(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    if tree and all(key.isdecimal() and key.isascii() and len(key) < 10 for key in tree):
        return [_as_lists(tree[key]) for key in sorted(tree, key=int)]
    return {key: _as_lists(value) for key, value in tree.items()}
