"""An OpenAPI 3 document of anybody's as a source of tools: a file, or an address."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import requests

from talm_sim.credentials import sendable
from talm_sim.errors import PrerequisiteError
from talm_sim.plain_files import read_text
from talm_sim.tools_env.sources.base import NotTaken, SourceRequest
from talm_sim.tools_env.sources.http import HttpSource, HttpTools, Proof
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.tools_env.sources.spec_file import open_spec_list

__all__ = ["open_openapi"]

_LARGEST = 32 * 2**20
_FETCH_S = 30.0
_DEEPEST = 200
_NO_ADDRESS = "the address of its service is none; name it: ,server=http://HOST"
_TOO_DEEP = "nested too deeply to be an OpenAPI document."


async def open_openapi(request: SourceRequest) -> Any:
    """Read the document and make its operations callable.

    Its server is asked only where it is on this machine, where the document came from, or where the user names it (`server=ADDRESS`). A
    credential is read from the environment variable the user names (`auth=VARIABLE`), by default `<NAME>_API_KEY`.

    Raises:
        PrerequisiteError: The document cannot be read, its server is elsewhere, or the credential is not there.
    """
    is_url = request.place.startswith(("http://", "https://"))
    text = await asyncio.to_thread(_fetched if is_url else _read, request.place)
    document = _parsed(text)
    if isinstance(document, list) and all(isinstance(one, Mapping) for one in document):
        return open_spec_list(request.name, document)
    if not isinstance(document, Mapping):
        raise PrerequisiteError("not an OpenAPI 3 document: it holds no object.")
    tools = tools_from_openapi(document, quote(request.name, safe=""), only=request.options.get("only", ""))
    proof, tools = _proof(document, tools, request)
    address = _server(document, request.place if is_url else "", request.options.get("server", ""))
    return HttpSource(address, tools, name=request.name, proof=proof)


def _read(place: str) -> str:
    try:
        return read_text(Path(place), _LARGEST)
    except OSError as err:
        raise PrerequisiteError(f"cannot be read: {err.strerror}.") from None
    except UnicodeDecodeError:
        raise PrerequisiteError("cannot be read: no UTF-8.") from None


def _fetched(url: str) -> str:
    _without_user(url)
    try:
        with requests.Session() as session:
            session.trust_env = False
            with session.get(url, timeout=_FETCH_S, stream=True, allow_redirects=False) as answer:
                if answer.status_code != 200:
                    raise PrerequisiteError(f"its address answered HTTP {answer.status_code}, not the document.")
                body = answer.raw.read(_LARGEST + 1, decode_content=True)
    except (requests.RequestException, OSError) as err:
        raise PrerequisiteError(f"its address does not answer: {type(err).__name__}.") from None
    if len(body) > _LARGEST:
        raise PrerequisiteError(f"larger than {_LARGEST >> 20} MiB; cut it down.")
    return str(body.decode("utf-8", "replace"))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise PrerequisiteError(_TOO_DEEP) from None
    except ValueError:
        return _of_yaml(text)


def _of_yaml(text: str) -> Any:
    import yaml  # type: ignore[import-untyped]  # not at the top: most documents are JSON, and replays read none

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        for event in yaml.parse(text, loader):
            # A few lines of aliases can stand for any amount, or for themselves; and the loader's stack has an end.
            if isinstance(event, yaml.AliasEvent):
                raise PrerequisiteError("it uses YAML aliases (*name), which are not read; write out what they stand for.")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise PrerequisiteError(_TOO_DEEP)
        found = yaml.load(text, loader)
    except (yaml.YAMLError, ValueError, RecursionError) as err:
        where = getattr(getattr(err, "problem_mark", None), "line", None)
        line = "" if where is None else f" at line {where + 1}"
        raise PrerequisiteError(f"neither JSON nor YAML{line}.") from None
    # As JSON has it: a status is a text, and so is a date.
    return json.loads(json.dumps(found, default=str), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    raise PrerequisiteError(f"holds {name}, which is no JSON; write a number.")


def _server(document: Mapping[str, Any], origin: str, named: str) -> str:
    """Address of the service; only one that the user named, here or by the document's own address, or one on this machine."""
    if named:
        _without_user(named)
        if not named.startswith(("http://", "https://")):
            raise PrerequisiteError(f"server={named}: no address; write http://... or https://...")
        return named
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, Sequence) and servers and isinstance(servers[0], Mapping) else {}
    told = str(first.get("url") or "/")
    variables = first.get("variables")
    for name, one in variables.items() if isinstance(variables, Mapping) else ():
        told = told.replace("{" + str(name) + "}", str(one.get("default", "")) if isinstance(one, Mapping) else "")
    try:
        address = urljoin(origin, told) if origin else told
    except ValueError:
        raise PrerequisiteError(_NO_ADDRESS) from None
    if not address.startswith(("http://", "https://")):
        raise PrerequisiteError("it does not say where its service is; name it: ,server=http://HOST")
    _without_user(address)
    if _host(address) not in {_host(origin), None} and not _is_here(address):
        raise PrerequisiteError(f"its service is elsewhere, at {address[:200]}; to have it called, name it: ,server={address[:200]}")
    return address


def _host(address: str) -> tuple[str, str | None, int | None] | None:
    try:
        parts = urlsplit(address)
        return (parts.scheme, parts.hostname, parts.port) if parts.hostname else ("", None, None)
    except ValueError:
        raise PrerequisiteError(_NO_ADDRESS) from None


def _is_here(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _without_user(address: str) -> None:
    try:
        place = urlsplit(address).netloc
    except ValueError:
        raise PrerequisiteError(f"{address[:200]}: is no address.") from None
    if "@" in place:
        raise PrerequisiteError("an address with a user or password would be written into the run; name a variable: ,auth=VARIABLE.")


def _proof(document: Mapping[str, Any], tools: HttpTools, request: SourceRequest) -> tuple[Proof, HttpTools]:
    """What proves the sender, by the document's first security scheme; without the credential, what wants one is not taken."""
    variable = request.options.get("auth") or f"{request.name.upper().replace('-', '_')}_API_KEY"
    secret = os.environ.get(variable, "").strip()
    schemes = _mapping(_mapping(document.get("components")).get("securitySchemes"))
    if secret:
        return _sent(schemes, variable, secret), tools
    if "auth" in request.options:
        raise PrerequisiteError(f"the environment variable {variable} is not set.")
    return Proof(), _without_secured(document, tools, f"wants a credential: set {variable}.") if schemes else tools


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _sent(schemes: Mapping[str, Any], variable: str, secret: str) -> Proof:
    scheme = next((one for one in schemes.values() if isinstance(one, Mapping)), {"type": "http", "scheme": "bearer"})
    kind, place, name = scheme.get("type"), scheme.get("in"), str(scheme.get("name"))
    if kind == "apiKey" and place == "query":
        return Proof(query={name: secret}, secret=secret)
    if kind == "http" and str(scheme.get("scheme")).lower() == "basic":
        from base64 import b64encode

        return Proof(headers={"Authorization": f"Basic {b64encode(secret.encode()).decode()}"}, secret=secret)
    sendable(variable, secret)
    if kind == "apiKey":
        return Proof(headers={"Cookie": f"{name}={secret}"} if place == "cookie" else {name: secret}, secret=secret)
    return Proof(headers={"Authorization": f"Bearer {secret}"}, secret=secret)


def _without_secured(document: Mapping[str, Any], tools: HttpTools, reason: str) -> HttpTools:
    """Leave out the operations that need a credential; one that may be called without stays."""
    secured = set()
    for name, route in tools.routes.items():
        path = "/" + route.path.split("/", 2)[2] if route.path.count("/") > 1 else "/"
        operation = document["paths"].get(path, {}).get(route.method.lower(), {})
        needs = operation.get("security", document.get("security"))
        if needs and not (isinstance(needs, list) and {} in needs):
            secured.add(name)
    if len(secured) == len(tools.specs):
        raise PrerequisiteError(f"its service {reason}")
    kept = {name: spec for name, spec in tools.specs.items() if name not in secured}
    left = [NotTaken(name, reason) for name in tools.specs if name in secured]
    return replace(tools, specs=kept, not_taken=[*tools.not_taken, *left])
