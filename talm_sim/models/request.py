"""The settings that the registry hands to a provider that is to open a model."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from talm_sim.common.credentials import checked_credential
from talm_sim.errors import PrerequisiteError
from talm_sim.models.request_facts import RequestFacts

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A model to open.

    Attributes:
        name: `provider/model`, as the user wrote it.
        model: What follows the provider.
        transport_factory: Makes the HTTP transport that knows about recordings; None for the plain network.
        max_retries: Times a failed request is tried again; 0 on replay.
        max_connections: Requests in flight.
        timeout: Seconds one attempt may take.
        options: The user's `-M key=value`.
        constrained: Whether the model acts through the constrained tool format.
        replay: Whether answers come from a recording only, so that neither key nor address is needed.
        fail_fast: Whether a server that turns requests away before it has answered any is the user's to fix (`RefusedError`).
        created: The day on which the run was created: what a prompt that shows the date shows, also when the run is resumed on another; None
            where there is no run.
        facts: How it is asked; what is decided or learned is added.
        environ: Environment that keys and addresses are read from.
    """

    name: str
    model: str
    transport_factory: Callable[[], httpx2.AsyncBaseTransport] | None = None
    max_retries: int = 5
    max_connections: int = 16
    timeout: float = 600.0
    options: Mapping[str, str] = field(default_factory=dict)
    constrained: bool = False
    replay: bool = False
    fail_fast: bool = False
    created: datetime.date | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    facts: RequestFacts = field(default_factory=RequestFacts)


def required_variable(request: ModelRequest, variable: str) -> str:
    """Return an environment variable that a live run needs.

    Raises:
        PrerequisiteError: It is not set.
    """
    if not (value := request.environ.get(variable, "").strip()):
        raise PrerequisiteError(
            f"{request.name}: the environment variable {variable} is not set; set it, name another --model, or replay with --replay."
        )
    return value


def required_key(request: ModelRequest, variable: str) -> str:
    """Return a key that a live run needs.

    Raises:
        PrerequisiteError: It is not set, or no request can carry it.
    """
    return checked_credential(variable, required_variable(request, variable))


def check_headers(request: ModelRequest, *variables: str) -> None:
    """Check that requests can carry what an SDK reads from the environment by itself.

    Raises:
        PrerequisiteError: One of the variables has a character that no header can carry.
    """
    for variable in variables:
        checked_credential(variable, request.environ.get(variable, ""))


def server_urls(variable: str, text: str) -> tuple[str, ...]:
    """Return the server addresses that an environment variable names, one or several with commas between them, as requests write them.

    Raises:
        PrerequisiteError: One is not an http or https URL, or is named twice.
    """
    import httpx2  # not at the top: a help page needs no client

    urls: list[str] = []
    texts = [one.strip() for one in text.split(",")]
    for number, one in enumerate(texts, start=1):
        try:
            url = str(httpx2.URL(one)).rstrip("/")  # which refuses more than the standard library
            parts = urlsplit(one)
            good = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except (ValueError, httpx2.InvalidURL):
            good = False
        if not good and len(texts) == 1:
            raise PrerequisiteError(f"{variable}: not the address of a server; write it like http://127.0.0.1:8000/v1.")
        if not good:
            raise PrerequisiteError(
                f"{variable}: item {number} of {len(texts)} is not the address of a server; write them like "
                "http://10.0.0.1:8000/v1,http://10.0.0.2:8000/v1, and a comma within an address as %2C."
            )
        if url in urls:
            raise PrerequisiteError(f"{variable}: item {number} of {len(texts)} is an address that is already listed; name each server once.")
        urls.append(url)
    return tuple(urls)


def body_fields(name: str, options: Mapping[str, str], reserved: frozenset[str]) -> dict[str, Any]:
    """Return the user's options as fields of the request body: each value is JSON if it can be read as JSON, otherwise text.

    Raises:
        PrerequisiteError: An option names a field that talm-sim itself fills in.
    """
    fields: dict[str, Any] = {}
    for key, text in sorted(options.items()):
        if key in reserved:
            raise PrerequisiteError(f"-M {key}: {name} fills this field in itself; leave it out.")
        try:
            fields[key] = json.loads(text)
        except ValueError:
            fields[key] = text
    return fields
