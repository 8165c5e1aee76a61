"""`openai/<model>` and `openai-api/<service>/<model>`: servers of the chat-completions protocol, and the tool format their models use."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from pydantic import Field

from talm_sim.common.credentials import checked_credential
from talm_sim.common.typed_options import OptionsModel, read_options
from talm_sim.config import DEFAULT_MODEL
from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import Model
from talm_sim.models.constrained import ANSWER_CHARS, ConstrainedModel
from talm_sim.models.endpoint import LOGICAL_HOST, Endpoint
from talm_sim.models.openai_chat import OpenAIChat
from talm_sim.models.openai_responses import OpenAIResponses
from talm_sim.models.request import ModelRequest, body_fields, check_headers, required_key, required_variable, server_urls
from talm_sim.models.request_facts import Api, known_of, room_for, without_none
from talm_sim.models.sdks import send_by_sdk
from talm_sim.models.served_scoring import ScoringChat, TextChat, load_tokenizer

_LOGICAL_BASE = f"{LOGICAL_HOST}/v1"
"""Address of every server in recordings."""
OPENAI_URL = "https://api.openai.com/v1"
_RESERVED = frozenset({"model", "messages", "prompt", "tools", "n", "best_of", "echo", "stream", "stream_options", "response_format"})


class ServerOptions(OptionsModel, extra="allow"):
    """The `-M` options of a server's model. All others are fields of the request."""

    api: Api | None = None
    """Protocol of the requests; None for what the model needs, see `request_facts.py`."""
    room: str | None = None
    """Tokens for thought, beside the limit of an answer; None for what the model needs."""
    max_tokens_field: str | None = None
    """Field that limits the tokens of an answer, where the server calls it otherwise."""
    alternatives: int | None = Field(None, ge=0)
    """Most first tokens that a request asks for; None for as many as its settings say."""
    answer_chars: int = Field(ANSWER_CHARS, ge=1)
    """Longest answer in the constrained tool format."""
    tokenizer: str | None = None
    """Directory of the served model's tokenizer, by which texts are written and split."""


def open_openai(request: ModelRequest) -> Model:
    """Open `openai/<model>`; reads OPENAI_API_KEY and, where set, OPENAI_BASE_URL, which may name several servers."""
    url = request.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    key = "" if request.replay else required_key(request, "OPENAI_API_KEY")
    urls = server_urls("OPENAI_BASE_URL", url)
    variables = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
    return _open(request, request.model, urls, key, variables, "max_completion_tokens")


def open_compatible(request: ModelRequest) -> Model:
    """Open `openai-api/<service>/<model>`; reads <SERVICE>_BASE_URL (one server, or several) and, where they want a key, <SERVICE>_API_KEY."""
    service, _, model = request.model.partition("/")
    if not service or not model:
        raise PrerequisiteError(f"{request.name}: write openai-api/SERVICE/MODEL, e.g. openai-api/vllm/smollm2-135m.")
    url_variable, key_variable = _service_variables(service)
    urls: tuple[str, ...] = (_LOGICAL_BASE,)
    key = ""
    if not request.replay:
        if request.name == DEFAULT_MODEL and not request.environ.get(url_variable):
            raise PrerequisiteError(
                f"{request.name}, the model of the shipped recording, cannot be asked live: name a model with --model PROVIDER/NAME, "
                f"or set {url_variable} to the address of a server that has it."
            )
        urls = server_urls(url_variable, required_variable(request, url_variable))
        key = checked_credential(key_variable, request.environ.get(key_variable, ""))  # a server that wants one says so itself
    return _open(request, model, urls, key or "none", (url_variable, key_variable), "max_tokens", scores=True)


def _service_variables(service: str) -> tuple[str, str]:
    """Return the names of the variables that hold a service's address and key.

    >>> _service_variables("my-server")
    ('MY_SERVER_BASE_URL', 'MY_SERVER_API_KEY')
    """
    prefix = re.sub(r"\W", "_", service).upper()
    return f"{prefix}_BASE_URL", f"{prefix}_API_KEY"


def _open(
    request: ModelRequest,
    model: str,
    urls: tuple[str, ...],
    key: str,
    variables: tuple[str, str],
    max_tokens_field: str,
    *,
    scores: bool = False,
) -> Model:
    given, told = without_none(request.options)
    options = read_options(given, ServerOptions, request.name, "-M ")
    if options.tokenizer is not None and (not scores or request.constrained):
        raise PrerequisiteError("-M tokenizer: is for openai-api/ models that are sent texts; leave it out.")
    fields, facts = body_fields(request.name, options.model_extra or {}, _RESERVED), request.facts
    endpoint = _connect(request, urls, key, variables, (*told, *known_of(model).refuses))
    room = room_for(model, fields, facts, options.room)
    facts.api = options.api or facts.api or (known_of(model).api if urls == (OPENAI_URL,) and not request.constrained else "chat")
    if facts.api == "responses":
        if request.constrained or options.tokenizer is not None:
            raise PrerequisiteError("-M api=responses: takes neither --tool-format constrained nor -M tokenizer; leave them out.")
        return OpenAIResponses(request.name, model, endpoint, fields=fields, room=room)
    kind: Callable[..., OpenAIChat] = ScoringChat if scores else OpenAIChat
    if options.tokenizer is not None:
        kind = partial(TextChat, tokenizer=load_tokenizer(request.name, options.tokenizer))
    chat = kind(
        request.name,
        model,
        endpoint,
        max_tokens_field=options.max_tokens_field or max_tokens_field,
        most_alternatives=options.alternatives,
        fields=fields,
        room=room,
    )
    return ConstrainedModel(chat, answer_chars=options.answer_chars) if request.constrained else chat


def _connect(request: ModelRequest, urls: tuple[str, ...], key: str, variables: tuple[str, str], left_out: tuple[str, ...]) -> Endpoint:
    asked = (_LOGICAL_BASE,) if request.replay else urls
    endpoint = Endpoint.of(request, asked, logical_base=_LOGICAL_BASE, variables=variables, left_out=left_out)
    if request.replay:
        return endpoint
    # The SDK reads organization and project from the environment: they are OpenAI's own, and no other server's business.
    if urls == (OPENAI_URL,):
        check_headers(request, "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
    from openai import AsyncOpenAI, Omit  # not at the top: it takes a third of a second, and a replay needs none

    headers = {} if urls == (OPENAI_URL,) else {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}
    send_by_sdk(endpoint, AsyncOpenAI, api_key=key, base_url=urls[0], default_headers=headers)
    return endpoint
