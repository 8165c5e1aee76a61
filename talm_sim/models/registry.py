"""Find models by name: `provider/model`. Providers are imported only when one of their models is opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from talm_sim.common.interrupts import interrupts_at_once
from talm_sim.errors import PrerequisiteError, did_you_mean, suggest_nearest
from talm_sim.foreign.plugins import Registry
from talm_sim.models.control_names import EVERY_CONTROL
from talm_sim.models.metering import count_generations, current_meter
from talm_sim.models.request import ModelRequest
from talm_sim.models.request_facts import RequestFacts

if TYPE_CHECKING:
    from datetime import date

    import httpx2

    from talm_sim.models.base import Model

_ENTRY_POINT_GROUP = "talm_sim.models"
"""Entry points of this group name a function that takes a `ModelRequest` and returns a `Model`."""
Opener = Callable[[ModelRequest], "Model"]


@dataclass(frozen=True, slots=True)
class Provider:
    """A way to open models.

    Attributes:
        name: The part before the first slash.
        form: How its models are named.
        about: What it is, in a line.
        opener: `module:function` that opens a model, or the function itself.
        needs: Environment variables a live run needs.
        constrains: Whether its models can act through the constrained tool format.
        packages: Modules a live run needs beyond the default install.
        local: Whether its models run on this machine: they take prompts to the letter, and make no requests to record or replay.
        scores: Whether a server of this kind may say how likely a given text is.
    """

    name: str
    form: str
    about: str
    opener: str | Opener
    needs: tuple[str, ...] = ()
    constrains: bool = False
    packages: tuple[str, ...] = ()
    local: bool = False
    scores: bool = False


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """The status of a provider for `doctor` and `models list`; never a credential's value. What `Provider` has too is the same here.

    Attributes:
        missing: Those of them that are not set.
        found: For services named by the user: the services whose address is set.
        not_installed: Modules a live run needs that are not installed.
        servers: How many servers the address of a service names, where it is set.
    """

    name: str
    form: str
    about: str
    needs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    not_installed: tuple[str, ...] = ()
    servers: Mapping[str, int] = field(default_factory=dict)

    @property
    def ready(self) -> bool:
        """Whether a live run has what it needs."""
        return not self.missing and not self.not_installed


_SERVICE_NEEDS = ("<SERVICE>_BASE_URL", "<SERVICE>_API_KEY")
_OWN_ADDRESS = frozenset({"openai", "anthropic"})
"""Providers whose address may be set, though they need none: it is no service's."""
_BUILT_IN = (
    Provider(
        "openai",
        "openai/MODEL",
        "OpenAI's chat completions.",
        "talm_sim.models.openai_servers:open_openai",
        ("OPENAI_API_KEY",),
        constrains=True,
    ),
    Provider(
        "openai-api",
        "openai-api/SERVICE/MODEL",
        "Any server of the OpenAI protocol: vLLM, llama.cpp, ... (with a key only if the server needs one).",
        "talm_sim.models.openai_servers:open_compatible",
        _SERVICE_NEEDS,
        constrains=True,
        scores=True,
    ),
    Provider(
        "anthropic",
        "anthropic/MODEL",
        "Anthropic's Messages protocol.",
        "talm_sim.models.anthropic_messages:open_anthropic",
        ("ANTHROPIC_API_KEY",),
    ),
    Provider(
        "langchain",
        "langchain/MODULE:FACTORY",
        "A LangChain chat model made by your own function.",
        "talm_sim.models.langchain_chat:open_langchain",
    ),
    Provider(
        "hf",
        "hf/DIR|NAME|HUB-ID",
        "A model run in this process by transformers, on CPU or GPU.",
        "talm_sim.models.local.hf:open_hf",
        constrains=True,
        packages=("torch", "transformers"),
        local=True,
    ),
    Provider(
        "vllm",
        "vllm/DIR|NAME|HUB-ID",
        "A model run in this process by vLLM: continuous batching, several GPUs.",
        "talm_sim.models.local.vllm_model:open_vllm",
        constrains=True,
        packages=("vllm",),
        local=True,
    ),
    Provider(
        "sim",
        "sim/CONTROL",
        f"Scripted controls whose true metric values are known, not language models: {', '.join(EVERY_CONTROL)}.",
        "talm_sim.models.sim:open_sim",
        local=True,
    ),
)
PROVIDERS: Registry[Provider] = Registry("provider", {one.name: one for one in _BUILT_IN}, _ENTRY_POINT_GROUP)


def register_provider(name: str, *, form: str = "", about: str = "", **more: Any) -> Callable[[Opener], Opener]:
    """Register a function as a provider.

    Args:
        name: The part of a model's name before the first slash.
        form: How its models are named; `NAME/MODEL` by default.
        about: What it is, in a line.
        **more: Other attributes of `Provider`: `needs`, `constrains`, `packages`, `local`, `scores`.
    """

    def register(opener: Opener) -> Opener:
        PROVIDERS.register(name, Provider(name, form or f"{name}/MODEL", about, opener, **more), opener.__module__)
        return opener

    return register


def open_model(
    name: str,
    *,
    transport_factory: Callable[[], httpx2.AsyncBaseTransport] | None = None,
    max_retries: int = 5,
    max_connections: int = 16,
    timeout: float = 600.0,
    options: Mapping[str, str] | None = None,
    constrained: bool = False,
    replay: bool = False,
    fail_fast: bool = False,
    created: date | None = None,
    facts: RequestFacts | None = None,
) -> Model:
    """Open a model.

    Args:
        name: `provider/model`.
        transport_factory: Makes the HTTP transport that knows about recordings; None for the plain network.
        max_retries: Times a failed request is tried again.
        max_connections: Requests in flight.
        timeout: Seconds one attempt may take.
        options: Options of the provider (`-M key=value`).
        constrained: Whether the model acts through the constrained tool format.
        replay: Whether answers come from a recording only, so that neither key nor address is needed.
        fail_fast: Whether a server that turns requests away before it has answered any is the user's to fix.
        created: The day on which the run was created, which prompts that show a date show.
        facts: See `ModelRequest.facts`.

    Raises:
        PrerequisiteError: The name, an option, a key or an address is missing or wrong; or the command's budget does not admit the model.
    """
    known = _providers()
    prefix, slash, model = name.partition("/")
    if prefix not in known:
        served = (
            f" A server of the OpenAI protocol is named openai-api/{prefix}/{model or 'MODEL'}."
            if slash and not suggest_nearest(prefix, [*known])
            else ""
        )
        raise PrerequisiteError(f"model '{name}': unknown provider '{prefix}'.{did_you_mean(prefix, known)}{served}")
    found = known[prefix]
    if not slash or not model:
        raise PrerequisiteError(f"model '{name}': names no model; write {found.form}.")
    if constrained and not found.constrains:
        able = ", ".join(one.name for one in known.values() if one.constrains)
        raise PrerequisiteError(f"model '{name}': --tool-format constrained works with {able} only; use --tool-format native.")
    limits = (max_retries, max_connections, timeout)
    request = ModelRequest(name, model, transport_factory, *limits, dict(options or {}), constrained, replay, fail_fast, created)
    if facts is not None:
        request = replace(request, facts=facts)
    if (meter := current_meter.get()) is not None and not (replay or found.local):
        meter.admit(name)
    with interrupts_at_once() if found.local else nullcontext():
        opened = _opener(found)(request)
    if meter is not None and not replay:
        count_generations(opened, meter)
    return opened


def has_traffic(model: str) -> bool:
    """Return whether the requests of `provider/model` are ours to record and replay: not in process, and not an agent's own."""
    return not model.startswith("agent/") and not in_process(model)


def in_process(model: str) -> bool:
    """Return whether `provider/model` makes no requests, so that there is no traffic to record or replay."""
    found = _providers().get(model.partition("/")[0])
    return found is not None and found.local


def cannot_score(model: str) -> bool:
    """Return whether a model is known, without being opened, to give no probabilities of a given text."""
    return any(one.name == model.partition("/")[0] and not (one.local or one.scores) for one in _BUILT_IN)  # one from outside need not say


def list_providers(environ: Mapping[str, str] | None = None) -> list[ProviderStatus]:
    """Say of every provider what it needs and whether it is there. Imports no provider and reveals no value."""
    environ = os.environ if environ is None else environ
    return [_status(one, environ) for one in _providers().values()]


def _status(one: Provider, environ: Mapping[str, str]) -> ProviderStatus:
    ends = "_BASE_URL"
    addresses = {name.removesuffix(ends).lower(): value for name, value in sorted(environ.items()) if name.endswith(ends) and value}
    servers = {service: value.count(",") + 1 for service, value in addresses.items()}
    if one.needs != _SERVICE_NEEDS:
        missing = tuple(variable for variable in one.needs if not environ.get(variable))
        absent = tuple(module for module in one.packages if find_spec(module) is None)
        own = {one.name: servers[one.name]} if one.name in _OWN_ADDRESS & servers.keys() else {}
        return ProviderStatus(one.name, one.form, one.about, one.needs, missing, not_installed=absent, servers=own)
    found = {service: number for service, number in servers.items() if service not in _OWN_ADDRESS}
    return ProviderStatus(one.name, one.form, one.about, one.needs, () if found else one.needs[:1], tuple(found), servers=found)


def _providers() -> dict[str, Provider]:
    """Return all providers by name; one of another package is not imported for it."""
    known = ((name, PROVIDERS.get_loaded(name)) for name in PROVIDERS.names())
    # What a package offers is, once loaded, the function its entry point names.
    return {name: one if isinstance(one, Provider) else _of_package(name) for name, one in known}


def _of_package(name: str) -> Provider:
    def open_it(request: ModelRequest) -> Model:
        # The entry point names the function, or a module's decorated one.
        found: Provider | Opener = PROVIDERS.get(name)
        return _opener(found)(request) if isinstance(found, Provider) else found(request)

    return Provider(name, f"{name}/MODEL", f"From {PROVIDERS.origin(name)}.", open_it)


def _opener(one: Provider) -> Opener:
    if not isinstance(one.opener, str):
        return one.opener
    module, _, function = one.opener.partition(":")
    try:
        opener: Any = getattr(import_module(module), function)
    except (ImportError, AttributeError) as err:
        raise PrerequisiteError(f"model provider '{one.name}' cannot be loaded: {err}.") from err
    found: Opener = opener
    return found
