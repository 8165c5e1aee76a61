"""Describe a failure of a model's server or library in one line that hides credentials, and say whether trying again may help."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import anyio
import httpx2

from talm_sim.common.credentials import Hider, credentials_in_environment
from talm_sim.errors import BlockedError, CassetteMissError, ContextOverflowError, PrerequisiteError, ProviderError
from talm_sim.models.answers import BLOCKED, error_parts
from talm_sim.models.retries import is_retryable, is_retryable_code
from talm_sim.models.server_client import UnfitAnswerError

_MAX_MESSAGE_CHARS = 300
_MOST_READ = 10_000
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context (?:window|length|size|limit)|prompt is too long|"
    r"input is too long|too many (?:input )?tokens|reduce the length",
    re.IGNORECASE,
)
_BROKEN_LINE = (httpx2.RequestError, OSError, anyio.EndOfStream)
_NEVER_RECOVERS = (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.TooManyRedirects)
_NO_LINE = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol)
_HTML = re.compile(r"\s*<(?:!doctype html|html|head|!--)", re.IGNORECASE)
NO_LOGPROBS = re.compile(r"logprob", re.IGNORECASE)
"""Error messages of a server that gives no log-probabilities, or fewer than were asked for; they name the field."""
CANNOT_SCORE = "it cannot score given answers: use vLLM, a model in this process (hf/, vllm/), or --mode judge"
NEEDS_TOOL_PARSER = re.compile(r"auto.{0,3} tool choice requires", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Failure:
    """The failure of one attempt at a request."""

    message: str
    retryable: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    hint: str = ""
    """What the user should check if the very first requests fail, as `Endpoint` words it; empty if the failure may pass."""
    status: int = 0
    """Of the response; 0 where there is none."""
    blocked: bool = False
    """Whether a filter of the provider refused the request by its content."""
    kind: Literal["", "unreachable", "broken", "slow"] = ""
    """What became of the connection: none was made, it broke, or no answer came in time; empty where there is an answer."""


def provider_failure(name: str, error: Exception, hide: Hider) -> ProviderError:
    """Say in one line, without what `hide` removes, that a foreign model failed.

    Raises:
        CassetteMissError, PrerequisiteError: `error` was caused by one, which is raised itself.
    """
    _raise_our_own(error)
    response = getattr(error, "response", None)
    unfit = next((cause for cause in _chain(error) if isinstance(cause, UnfitAnswerError)), None)
    known = _status_failure(response) if isinstance(response, httpx2.Response) else Failure(f"{type(error).__name__}: {error}")
    failure = Failure(str(unfit)) if unfit else known
    message = clean_line(f"{name}: {failure.message}", hide)
    kind = ContextOverflowError if is_overflow(failure) else BlockedError if failure.blocked else ProviderError
    return kind(message)


def is_overflow(failure: Failure) -> bool:
    """Return whether the conversation was longer than the model's context."""
    found = _OVERFLOW.search(failure.code) or _OVERFLOW.search(failure.message)
    return found is not None and not failure.retryable


def failure_of(error: Exception) -> Failure:
    """Describe a provider's failure; anything else (a miss, a bug) is raised."""
    _raise_our_own(error)
    response = getattr(error, "response", None)
    if isinstance(response, httpx2.Response) and not response.is_success:
        failure = _status_failure(response)
        if _is_plain_completion(response.request):
            scoring = b'"echo":true' in response.request.content
            fixes = {"name": "completions", "alternatives": "scoring" if scoring else "alternatives"}
            if scoring and response.status_code == 400 and not is_overflow(failure):
                fixes[""] = "echo"
            return replace(failure, hint=fixes.get(failure.hint, failure.hint))
        return failure
    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, UnfitAnswerError):
            return Failure(str(cause), hint=cause.hint)
        if (lost := _connection_failure(cause)) is not None:
            return lost
    if (unreadable := next(filter(None, map(_unreadable_failure, chain)), None)) is not None:
        return unreadable
    # Libraries wrap what a transport raises; what remains is a bug, and should be seen as one.
    raise chain[-1]


def _connection_failure(cause: Exception) -> Failure | None:
    if isinstance(cause, httpx2.ConnectTimeout):
        return Failure("no connection in time", retryable=True, kind="unreachable")
    if isinstance(cause, TimeoutError | httpx2.TimeoutException):
        return Failure("no answer in time", retryable=True, kind="slow")
    if not isinstance(cause, _BROKEN_LINE):
        return None
    message = f"no connection: {_system_said(cause) or cause or type(cause).__name__}"
    if isinstance(cause, _NO_LINE):
        return Failure(message, retryable=not isinstance(cause, _NEVER_RECOVERS), hint="server", kind="unreachable")
    return Failure(message, retryable=not isinstance(cause, _NEVER_RECOVERS), kind="broken")


def _unreadable_failure(cause: Exception) -> Failure | None:
    if isinstance(cause, json.JSONDecodeError | UnicodeDecodeError):
        return not_json_failure(getattr(cause, "doc", ""), "JSON")
    if isinstance(cause, ValueError) and "integer string conversion" in str(cause):
        return Failure("answered with JSON that contains a number with too many digits")
    return Failure("answered with JSON that is nested too deeply") if isinstance(cause, RecursionError) else None


def _system_said(error: BaseException | None) -> str:
    """Return what the operating system said of a connection: "Connection refused", even if libraries only say that all attempts failed."""
    said = ""
    while error is not None:
        if isinstance(error, OSError) and error.errno:
            said = os.strerror(error.errno) if error.errno > 0 else str(error.strerror)
        error = error.__cause__ or error.__context__  # also where a library hides it
    return said


def _status_failure(response: httpx2.Response) -> Failure:
    try:
        body: Any = response.json()
    except (ValueError, RecursionError):
        body = response.text
    page = isinstance(body, str) and _HTML.match(body) is not None
    message, code = (f"{response.reason_phrase} (an HTML page)", "") if page else error_parts(body)
    quota = code == "insufficient_quota"
    headers = {name.lower(): value for name, value in response.headers.items()}
    text = f"HTTP {response.status_code}: {message or response.reason_phrase}"
    fix = {401: "key", 403: "key", 404: "page" if page else "name"}.get(response.status_code, "")
    if response.is_client_error and NO_LOGPROBS.search(message):
        fix = "alternatives"
    retryable, blocked = is_retryable(response.status_code, headers) and not quota, code == BLOCKED
    return Failure(text, retryable and not blocked, headers, code, "" if blocked else fix, response.status_code, blocked=blocked)


def _is_plain_completion(request: httpx2.Request) -> bool:
    path = request.url.path
    return path.endswith("/completions") and not path.endswith("/chat/completions")


def not_json_failure(answer: object, what: str = "a JSON object") -> Failure:
    """Return the failure of an answer that is something other than `what`."""
    if isinstance(answer, str) and _HTML.match(answer):
        return Failure("answered with an HTML page", hint="page")
    return Failure(f"answered with something other than {what}")


def failure_in(answer: object) -> Failure | None:
    """Return the upstream's failure that some routers report with HTTP 200."""
    if not isinstance(answer, dict) or not answer.get("error") or "choices" in answer or "content" in answer:
        return None
    message, code = error_parts(answer)
    return Failure(f"error {code}: {message}".replace(" :", ":"), is_retryable_code(code), {}, code, blocked=code == BLOCKED)


def _raise_our_own(error: Exception) -> None:
    for cause in _chain(error):
        if isinstance(cause, CassetteMissError | PrerequisiteError | ProviderError):
            raise cause


def _chain(error: BaseException) -> Iterator[Exception]:
    """Return the error and what caused it, outermost first."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while isinstance(cause, Exception) and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def clean_line(text: str, hide: Hider | None = None) -> str:
    """Return a text as one line of limited length, without credentials."""
    # What a server said lost its credentials on its way in; this is for what libraries say, of a proxy's address for one.
    hide = hide or Hider.from_environment(credentials_in_environment())
    line = " ".join(hide.text(text)[:_MOST_READ].split())
    return line if len(line) <= _MAX_MESSAGE_CHARS else line[: _MAX_MESSAGE_CHARS - 3] + "..."
