"""Read a server's answer by type: an odd value counts as absent, and an unreadable answer ends only its own episode."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from talm_sim.errors import ProviderError
from talm_sim.models.parsing import replace_surrogates
from talm_sim.types import TokenLogprob, Usage

MOST_TOKENS = 10**9
"""The largest count of tokens that is believed."""
MOST_TEXT = 2**20
"""Characters that a turn may have, reasoning included: an answer has more bytes only for what surrounds its text, such as alternatives."""
MOST_CALLS = 1024
"""Tool calls that a turn may make."""
_MOST_ALTERNATIVES = 1024
"""Alternatives to one token that are read; no server offers more than a few dozen."""
MOST_TOKEN_TEXT = 256
"""Characters that one token may have."""
_LEAST = -1e9
"""Log-probability of the next to impossible; servers write -9999 for it."""
BLOCKED = "content_filter"
"""The code of an error with which a filter refuses, whatever its server calls it."""
ROUNDING = 0.05
"""How far half precision may carry a sum of probabilities, or the logarithm of one, above its bound."""
_BLOCKED = frozenset({"content_filter", "content_filtered", "content_policy_violation", "responsibleaipolicyviolation"}) | {
    *("data_inspection_failed", "moderation_blocked", "guardrail_intervened", "1301"),
}
"""Codes with which a filter refuses a request or an answer: OpenAI's and Azure's, DashScope's, Z.ai's, Bedrock's."""
_BLOCKS = re.compile(
    r"\bcontent (?:filtering|management) policy|\bblocked by\b.{0,40}\b(?:filter|polic|guardrail)|moderation\b.{0,40}\bflagged"
    r"|\bflagged as potentially violating|\u654f\u611f\u5185\u5bb9",
    re.IGNORECASE,
)
"""The same where no code says it: Anthropic, OpenRouter, OpenAI's Responses."""
_ARGUMENTS = ("arguments", "input", "args", "parameters")
_OF_CALLS = frozenset({"id", "call_id", "name", "type", "index", "function", "status", "description", "strict", "caller", *_ARGUMENTS})
_NOTHING = re.compile(
    r"(?:[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]|<(?!\W*\w*(?:call|tool|python|action|function))[|\uff5c][\w\u2581 ]{1,40}[|\uff5c]>"
    r"|</?s>|</?(?:end_of_\w{1,20}|eos|eod|bos|pad|unk|(?:final_)?answer)>|\[/?(?:INST|EOS)\])*+",
    re.IGNORECASE,
)
"""Space that shows nothing, and the marks with which models end and frame what they say."""
_Answer = TypeVar("_Answer")
_Read = TypeVar("_Read")


def read(name: str, answer: _Answer, how: Callable[[_Answer], _Read]) -> _Read:
    """Read an answer, or say in one line that its form cannot be read; there are more such forms than can be foreseen.

    Args:
        name: The model's name, for the message.
        answer: The answer. Pass it as an expression: an error keeps alive whatever the calls below it hold, and an answer may be large.
        how: Reads the answer.

    Raises:
        ProviderError: Reading it raised an error.
    """
    try:
        return how(answer)
    except ProviderError as err:
        failure = type(err)(*err.args)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as err:
        failure = ProviderError(f"{name}: the server's answer cannot be read ({type(err).__name__}).")
    del answer
    raise failure


def check_bounds(name: str, texts: Iterable[str], calls: Sequence[object]) -> None:
    """Refuse a turn that no model makes: it would be kept, run, and sent again with every later turn.

    Raises:
        ProviderError: It has more than `MOST_TEXT` characters or `MOST_CALLS` calls.
    """
    size = sum(map(len, texts))
    if size > MOST_TEXT:
        raise ProviderError(f"{name}: the server's answer has {size:,} characters of text; {MOST_TEXT:,} is the most.")
    if len(calls) > MOST_CALLS:
        raise ProviderError(f"{name}: the server's answer makes {len(calls):,} tool calls; {MOST_CALLS:,} is the most.")


def text_in(value: Any) -> str:
    """Return the text of a field: the field itself, or the texts and refusals in a part or a list of them; empty for anything else."""
    if isinstance(value, dict | list):
        parts = [value] if isinstance(value, dict) else value
        texts = (part.get("text") or part.get("refusal") if isinstance(part, dict) else part for part in parts)
        value = "".join(text for text in texts if isinstance(text, str))
    return replace_surrogates(value) if isinstance(value, str) else str(value) if type(value) in {int, float} else ""


def says_nothing(text: str) -> bool:
    """Return whether a text is space and marks alone.

    >>> says_nothing("<|im_end|>\u200b"), says_nothing("</s>."), says_nothing("<|tool_call|>")
    (True, False, False)
    """
    return _NOTHING.fullmatch(text) is not None


def arguments_in(call: Mapping[str, Any]) -> Any:
    """Return the arguments of a call under any of their names; what is named otherwise cannot be read, and is never taken for none."""
    named = next((call[name] for name in _ARGUMENTS if call.get(name) is not None), None)
    return [call] if named is None and any(call[name] for name in call.keys() - _OF_CALLS) else named


def error_in(value: Mapping[str, Any]) -> str:
    """Return what failed, in the provider's words, where an answer or a part of it says so within an HTTP 200; empty where it does not."""
    if not value.get("error"):
        return ""
    message, code = error_parts(value)
    return replace_surrogates(": ".join(filter(None, (code, message))) or "error")


def error_parts(body: Any) -> tuple[str, str]:
    """Return message and code of the error shapes servers use: `{"error": {"message", "code"}}`, `{"error": text}`, `{"detail"}`, and so on."""
    error, block = body, BLOCKED if is_block(body) else ""
    for name, kinds in (("error", (dict, str, list)), ("detail", dict), ("error", (dict, str, list))):
        error = error[name] if isinstance(error, dict) and isinstance(error.get(name), kinds) and error[name] else error
    if not isinstance(error, dict):
        return str(error or ""), block
    return str(error.get("message") or error.get("detail") or ""), block or str(error.get("code") or error.get("type") or "")


def is_block(error: Any, deep: int = 5) -> bool:
    """Return whether an error says, at any place where servers say it, that a filter has refused the content."""
    if isinstance(error, dict) and deep:
        return any(is_block(error.get(name), deep - 1) for name in ("code", "type", "status", "message", "error", "detail", "innererror"))
    return isinstance(error, str | int) and (str(error).lower() in _BLOCKED or _BLOCKS.search(str(error)) is not None)


def usage_of(input_tokens: Any, output_tokens: Any, cached_tokens: Any = None, *more_input: Any) -> Usage:
    """Return token counts as a server gave them.

    A count that is not a whole number from 0 to `MOST_TOKENS` counts as absent: the generation is then one without token counts.
    """
    asked, said = _count(input_tokens), _count(output_tokens)
    beside = [_count(value) for value in (cached_tokens, *more_input) if value is not None]
    if asked is None or said is None or None in beside:
        return Usage(uncounted=1)
    cached = _count(cached_tokens) or 0
    return Usage(input_tokens=asked + sum(_count(value) or 0 for value in more_input), output_tokens=said, cached_tokens=cached)


def openai_usage(usage: Any) -> Usage:
    """Return the token counts of an answer in the OpenAI protocol."""
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return usage_of(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)


def anthropic_usage(usage: Any) -> Usage:
    """Return the token counts of an answer in the Messages protocol, cached tokens included in the input: it counts them beside it."""
    usage = usage if isinstance(usage, dict) else {}
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    return usage_of(usage.get("input_tokens"), usage.get("output_tokens"), read, read, written)


def reported_usage(usage: Any) -> Usage:
    """Return the token counts of an answer in either protocol."""
    return openai_usage(usage) if isinstance(usage, dict) and "prompt_tokens" in usage else anthropic_usage(usage)


def token_logprobs(logprobs: Any) -> tuple[float, ...] | None:
    """Return log-probabilities of the tokens of an answer in the OpenAI protocol, in either form; None unless every one is a number."""
    if not isinstance(logprobs, dict):
        return None
    tokens, found = logprobs.get("content"), logprobs.get("token_logprobs")
    if isinstance(tokens, list):
        found = [token.get("logprob") if isinstance(token, dict) else None for token in tokens]
    if not isinstance(found, list) or not all(type(value) in {int, float} and math.isfinite(value) for value in found):
        return None
    return tuple(float(value) for value in found)


def first_tokens(logprobs: Any, asked: int) -> tuple[TokenLogprob, ...]:
    """Return the likeliest first tokens of an answer in the OpenAI protocol, likeliest first.

    Both forms are read: `content`, a list of tokens with `top_logprobs` (chat completions), and `top_logprobs`, a list of objects with
    log-probabilities by token (completions). Whatever is not a distribution over tokens counts as absent: a value that is above 0 or not a
    number, probabilities with a sum above 1, a token that is not a text.
    """
    if not asked or not isinstance(logprobs, dict):
        return ()
    content = logprobs.get("content")
    places = logprobs.get("top_logprobs") if content is None else content
    first = places[0] if isinstance(places, list) and places else None
    if content is not None:
        first = first.get("top_logprobs") if isinstance(first, dict) else None
    if not isinstance(first, dict | list) or len(first) > _MOST_ALTERNATIVES:
        return ()
    pairs = first.items() if isinstance(first, dict) else [(_token_text(one), one.get("logprob")) for one in first if isinstance(one, dict)]
    found = [_token(text, logprob) for text, logprob in pairs]
    whole = [one for one in found if one is not None]
    if len(whole) < len(first) or math.fsum(math.exp(one.logprob) for one in whole) > 1 + ROUNDING:
        return ()
    return top_tokens(whole, asked)


def top_tokens(tokens: Iterable[TokenLogprob], most: int) -> tuple[TokenLogprob, ...]:
    """Return the `most` likeliest tokens, likeliest first."""
    return tuple(sorted(tokens, key=lambda one: -one.logprob)[:most])


def _token_text(token: Mapping[str, Any]) -> Any:
    """Return a token's own bytes if the server gives them: its text may be an escape of incomplete UTF-8."""
    given = token.get("bytes")
    try:
        return bytes(given).decode("utf-8", "replace") if isinstance(given, list) and given else token.get("token")
    except (TypeError, ValueError):
        return token.get("token")


def _token(text: Any, logprob: Any) -> TokenLogprob | None:
    if not isinstance(text, str) or len(text) > MOST_TOKEN_TEXT or type(logprob) not in {int, float} or not _LEAST <= logprob <= ROUNDING:
        return None
    return TokenLogprob(token=replace_surrogates(text), logprob=min(float(logprob), 0.0))


def _count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None
