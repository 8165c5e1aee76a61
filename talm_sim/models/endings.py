"""Turn a remote model's answer into a turn: why it ended, in six kinds, decides whether there is one.

| kind          | what the provider says                                      | what becomes of it                                       |
|---------------|-------------------------------------------------------------|----------------------------------------------------------|
| ended         | a normal end; also an unknown word beside a text or a call  | a turn, and a silent one where it holds neither          |
| cut off       | a limit of tokens                                           | a turn with `stop` "length"                              |
| broken call   | a call that it could not read, or a call that is not there  | a turn with an attempt at a call                         |
| blocked       | its filter                                                  | `BlockedError`: the episode is not scored                |
| failed        | an error; also an unknown word beside nothing               | `FailedAnswerError`: asked again, and not recorded       |
| out of room   | the context is full                                         | `ContextOverflowError`                                   |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from talm_sim.common.credentials import Hider, credentials_in_environment
from talm_sim.errors import BlockedError, ContextOverflowError, ProviderError
from talm_sim.models.answers import BLOCKED, check_bounds, says_nothing
from talm_sim.models.base import GenerationSettings
from talm_sim.models.formats import read_calls
from talm_sim.models.parsing import holds_call, parse_calls, split_reasoning
from talm_sim.types import JsonObject, ModelTurn, TokenLogprob, ToolCall, ToolSpec, UnparsableCall, Usage

Ending = Literal["ended", "called", "cut_off", "broken_call", "blocked", "failed", "paused", "full"]
"""`called` is an end that promises a call; `paused` is an end that only server tools have."""
WORDS: dict[str, Ending] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "completed", "end", "eos", "eos_token"), "ended"),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "called"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), "cut_off"),
    **dict.fromkeys(("malformed_function_call", "malformed_tool_call", "unexpected_tool_call", "invalid_tool_call"), "broken_call"),
    **dict.fromkeys(("function_call_filter", "too_many_tool_calls", "malformed_tool_use", "malformed_model_output"), "broken_call"),
    **dict.fromkeys(("content_filter", "refusal", "safety", "sensitive", "prohibited_content", "blocklist", "recitation", "spii"), "blocked"),
    **dict.fromkeys(("content_filtered", "guardrail_intervened", "image_safety", "content_policy_violation"), "blocked"),
    **dict.fromkeys(("error", "abort", "aborted", "network_error", "insufficient_system_resource"), "failed"),
    **dict.fromkeys(("failed", "cancelled", "queued", "in_progress"), "failed"),
    "pause_turn": "paused",
    "model_context_window_exceeded": "full",
}
"""The protocols' words for an end, in small letters. Sources: the references of OpenAI's chat completions, completions and Responses, of
Anthropic's Messages, of Gemini's `FinishReason`, of Mistral and DeepSeek, and the engines vLLM, SGLang and llama.cpp."""
ReadText = Callable[[str, int], tuple[str, tuple[ToolCall, ...], tuple[UnparsableCall, ...]]]


class FailedAnswerError(ProviderError):
    """The provider failed within an answer that came as a success; trying again may help."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a model, as far as it is the same in every protocol and tool format."""

    text: str
    """What the model wrote, unchanged."""
    reasoning: str = ""
    """Text of the server's own reasoning field, if it has one."""
    calls: tuple[tuple[Any, Any, Any], ...] = ()
    """(id, name, arguments) as reported."""
    word: Any = None
    """The provider's word for why it ended."""
    error: str = ""
    """What failed, in the provider's words, where the answer says so beside or within what it holds."""
    declined: bool = False
    """Whether the text is a refusal that the model itself wrote, apart from its other texts."""
    logprobs: tuple[float, ...] | None = None
    usage: Usage = field(default_factory=Usage)
    first_tokens: tuple[TokenLogprob, ...] = ()
    state: JsonObject | None = None
    """What goes back to the provider with this turn, as it came; see `ModelTurn.provider_state`."""


class SchemaChat(Protocol):
    """A chat model that can be held to a JSON schema while it decodes."""

    name: str

    async def chat(self, messages: list[dict[str, Any]], settings: GenerationSettings, fields: dict[str, Any]) -> Answer:
        """Answer once."""
        ...

    async def aclose(self) -> None:
        """Release what the model holds."""
        ...


def ending_of(answer: Answer) -> Ending:
    """Return the kind of an answer's end."""
    if answer.error:
        return "blocked" if answer.error.partition(":")[0] == BLOCKED else "failed"
    return known_ending(answer.word) or ("failed" if says_nothing(answer.text) and not answer.calls else "ended")


def known_ending(word: Any) -> Ending | None:
    """Return the kind of a word; one with a prefix, as Gemini writes it, says more after it.

    >>> known_ending("function_call_filter: UNEXPECTED_TOOL_CALL"), known_ending("content_filter: OTHER")
    ('broken_call', 'blocked')
    """
    first, _, last = word.lower().partition(":") if isinstance(word, str) else ("", "", "")
    return WORDS.get(last.strip()) or WORDS.get(first.strip())


def check_answer(name: str, answer: Answer) -> Answer:
    """Return an answer that a turn can be made of.

    Raises:
        FailedAnswerError: It failed, whatever the status of its response says.
        BlockedError: A filter of the provider withheld it.
        ContextOverflowError: The conversation and the answer are longer than the model's context.
        ProviderError: It is too large, or the provider paused it.
    """
    check_bounds(name, (answer.text, answer.reasoning), answer.calls)
    ending = ending_of(answer)
    if ending == "failed":
        nothing = f"it ended with {answer.word!r} and no text" if answer.word else "it holds no text, no call, and no word for its end"
        raise FailedAnswerError(f"{name}: the provider's answer is a failure: {answer.error or nothing}")
    if ending == "blocked":
        raise BlockedError(f"{name}: the provider withheld the answer ({answer.error or answer.word}).")
    if ending == "full":
        raise ContextOverflowError(f"{name}: the conversation and its answer are longer than the model's context.")
    if ending == "paused":
        raise ProviderError(f"{name}: the provider paused the answer ({answer.word}), which it does only for server tools; leave those out.")
    return answer


def read_text_calls(turn: ModelTurn, tools: Sequence[ToolSpec], before: int) -> ModelTurn:
    """Return a turn with the calls that its text holds, if the provider reported none: a server without a parser leaves them there."""
    if turn.tool_calls or turn.unparsable_calls or not tools:
        return turn
    read = read_calls(turn.text, [{"name": tool.name, "parameters": tool.parameters} for tool in tools], before)
    if not {call.name for call in read.calls} & {tool.name for tool in tools}:
        return turn
    found = {"text": read.text, "tool_calls": read.calls, "unparsable_calls": read.unparsable, "calls_from_text": True}
    # What goes back to the provider has no call for the results to belong to.
    return turn.model_copy(update={**found, "stop": "tool_calls" if turn.stop == "stop" else turn.stop, "provider_state": None})


def turn_of(name: str, answer: Answer, before: int, read_text: ReadText | None = None) -> ModelTurn:
    """Return an answer as a turn."""
    ending = ending_of(check_answer(name, answer))
    # A server that found no end of the thought files all under reasoning, a call too.
    silent = not answer.calls and says_nothing(answer.text)
    reasoning = Hider.from_environment(credentials_in_environment(), measured=True).text(answer.reasoning) if answer.reasoning else ""
    lost = silent and holds_call(reasoning)
    written = f"<think>{reasoning}" if lost else answer.text
    text, thought = split_reasoning(written)
    text = "" if says_nothing(text) else text
    calls, broken = parse_calls(answer.calls, before)
    if read_text is not None and not answer.calls:
        text, calls, broken = read_text(text, before)
    if ending == "broken_call" or (ending == "called" and not calls and not broken):
        reason = f"the provider says {answer.word}" + ("" if calls or broken else ", and gives no call")
        broken = broken or (UnparsableCall(id=f"call-{before}-{len(calls)}", name="", raw=text, reason=reason),)
    word = answer.word if isinstance(answer.word, str) else "none"
    return ModelTurn(
        raw_text=written,
        text=text,
        reasoning=thought if lost else reasoning or thought,
        tool_calls=calls,
        unparsable_calls=broken,
        logprobs=answer.logprobs,
        first_tokens=answer.first_tokens,
        stop="length" if ending == "cut_off" else "refusal" if answer.declined else "tool_calls" if calls or broken else "stop",
        usage=answer.usage,
        unknown_end="" if known_ending(word) else word[:40],
        provider_state=None if answer.state is None else {**answer.state, "text": text},
    )
