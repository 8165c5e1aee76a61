"""Any OpenAPI 3 document as a source of tools: a file, or an address.

Its text is JSON or YAML, and is read as JSON values: any text, within bounded memory and time.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpx2
from pydantic import Field

from talm_sim.common.plain_files import read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.routes import fault_of
from talm_sim.tools_env.sources.base import SourceOptions, SourceRequest
from talm_sim.tools_env.sources.http import HttpSource
from talm_sim.tools_env.sources.http_client import HttpClient, WrongAddressError, server_at
from talm_sim.tools_env.sources.openapi_document import tools_from_openapi
from talm_sim.tools_env.sources.openapi_proofs import as_mapping, prove
from talm_sim.tools_env.sources.registry import SourceKind
from talm_sim.tools_env.sources.spec_file import open_spec_list

_LARGEST = 32 * 2**20
_FETCH_S = 30.0
_NO_ADDRESS = "it has no valid service address; give one: ,server=http://HOST"
_LONGEST_ADDRESS = 2_000
_DEEPEST = 200
_MOST_MEMORY = 220_000_000
"""Bytes that a text and its values may take; GitHub's document of 13 MB takes 150 million by this count."""
_LIST, _OBJECT, _VALUE = 64, 240, 120
"""Most bytes that each takes, beside its letters; a value follows each comma."""
_MOST_EVENTS = 1_000_000
"""Most YAML events: each value is one, and each list and object two."""
_LONGEST_WORD = 100
"""Longest YAML word that may be something other than a text: reading a number takes longer than linear time."""
_TOO_DEEP = "nested too deeply to be an OpenAPI document."
_TOO_MUCH = "larger than can be read within 250 MB of memory; cut it down."
_PLAIN = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))
_TEXTS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "timestamp", "binary", "value", "merge"))
_COLLECTIONS = frozenset({None, "!", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"})


class OpenApiOptions(SourceOptions):
    """Options of an OpenAPI document."""

    server: str = Field("", description="Address of its service.")
    auth: str = Field("", description="Environment variable that holds the credential; several as A+B.")
    only: str = Field("", description="Take only the operations with this tag.")


async def _open_openapi(request: SourceRequest) -> Any:
    """Read the document and make its operations callable.

    Its server is used only if it is on this machine, if the document came from it, or if the user names it (`server=ADDRESS`). A
    credential is read from the environment variable the user names (`auth=VARIABLE`), by default `<NAME>_API_KEY`.
    """
    is_url = request.place.startswith(("http://", "https://"))
    document = parse_document(await _fetch(request.place) if is_url else await asyncio.to_thread(_read, Path(request.place)))
    if isinstance(document, list) and all(isinstance(one, Mapping) for one in document):
        return open_spec_list(request.name, document)
    if not isinstance(document, Mapping):
        raise PrerequisiteError("not an OpenAPI 3 document: it is not an object.")
    load = None if is_url else files_beside(Path(request.place))
    tools = await asyncio.to_thread(tools_from_openapi, document, quote(request.name, safe=""), only=request.options.only, load=load)
    proofs, tools = prove(document, tools, request.options.auth, f"{request.name.upper().replace('-', '_')}_API_KEY")
    address = _server(document, request.place if is_url else "", request.options.server)
    return HttpSource(address, tools, name=request.name, proofs=proofs)


OPENAPI = SourceKind(_open_openapi, OpenApiOptions)


def _read(place: Path, most: int = _LARGEST) -> str:
    try:
        return read_text(place, most)
    except OSError as err:
        raise PrerequisiteError(f"cannot be read: {err.strerror}.") from None
    except UnicodeDecodeError:
        raise PrerequisiteError("cannot be read: not UTF-8.") from None


def files_beside(place: Path) -> Callable[[str], Any]:
    """Return what reads the files in a document's folder and below it; together they may be as large as one document."""
    folder, left = place.parent.resolve(), [_LARGEST]

    def load(name: str) -> Any:
        file = (folder / name).resolve()
        if not file.is_relative_to(folder):
            raise PrerequisiteError("it leads out of the document's folder.")
        text = _read(file, left[0])
        left[0] -= len(text)
        return parse_document(text)

    return load


async def _fetch(url: str) -> str:
    client = HttpClient(connections=1, timeout=_FETCH_S, most=_LARGEST)
    try:
        server, parts = _read_address(_origin(url)), urlsplit(url)
        answer = await client.ask(server, "GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
    except TimeoutError:
        raise PrerequisiteError(f"its address did not return the document within {_FETCH_S:g} s.") from None
    except (httpx2.TransportError, WrongAddressError, zlib.error) as err:
        raise PrerequisiteError(f"its address does not answer: {type(err).__name__}.") from None
    finally:
        await client.aclose()
    if answer.status != 200:
        raise PrerequisiteError(f"its address answered HTTP {answer.status}, not the document.")
    if fault_of(answer):
        raise PrerequisiteError(f"larger than {_LARGEST >> 20} MiB; cut it down.")
    return answer.body.decode("utf-8", "replace")


def _server(document: Mapping[str, Any], origin: str, named: str) -> str:
    """Return the service's address: only one that the user named, here or by the document's own address, or one on this machine."""
    if named and not named.startswith(("http://", "https://")):
        raise PrerequisiteError(f"server={named}: is not an address; write http://... or https://...")
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, Sequence) and servers and isinstance(servers[0], Mapping) else {}
    variables = as_mapping(first.get("variables"))
    defaults = {name: str(as_mapping(one).get("default", "")) for name, one in variables.items()}
    told = re.sub(
        r"\{([^{}]*)\}", lambda found: defaults.get(found[1], found[0])[:_LONGEST_ADDRESS], str(first.get("url") or "/")[:_LONGEST_ADDRESS]
    )
    try:
        if named:  # a relative address of the document is below the host that is named, unless that has a path
            below = "://" not in told and urlsplit(named).path in ("", "/")
            return str(_read_address(urljoin(named, told) if below else named))
        address = urljoin(origin, told) if origin else told
    except ValueError:
        raise PrerequisiteError(_NO_ADDRESS) from None
    if not address.startswith(("http://", "https://")):
        raise PrerequisiteError("it does not say where its service is; add: ,server=http://HOST")
    service = _read_address(address)
    if (not origin or _host(service) != _host(_read_address(_origin(origin)))) and not _is_here(service.host):
        raise PrerequisiteError(f"its service is at another address, {address[:200]}; to call it, add: ,server={address[:200]}")
    return str(service)


def _read_address(address: str) -> httpx2.URL:
    """Read an address exactly as the client that sends the calls does."""
    try:
        if "@" in urlsplit(address).netloc:
            raise PrerequisiteError("an address with a user or password would be written into the run; name a variable: ,auth=VARIABLE.")
        return server_at(address)
    except (ValueError, WrongAddressError):
        raise PrerequisiteError(f"{address[:200]}: is not a service address; write http://HOST, with port and path.") from None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _host(url: httpx2.URL) -> tuple[str, bytes, int | None]:
    return url.scheme, url.raw_host, url.port


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def parse_document(text: str) -> Any:
    """Read a document's text."""
    taken = 2 * sys.getsizeof(text) + _LIST * text.count("[") + _OBJECT * text.count("{") + _VALUE * text.count(",")
    if taken > _MOST_MEMORY:
        raise PrerequisiteError(_TOO_MUCH)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise PrerequisiteError(_TOO_DEEP) from None
    except ValueError:
        return _of_yaml(text)


def _refuse_constant(name: str) -> Any:
    raise PrerequisiteError(f"contains {name}, which is not JSON; write a number.")


def _of_yaml(text: str) -> Any:
    import yaml  # type: ignore[import-untyped]  # not at the top: most documents are JSON, and replays read none

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        events = yaml.parse(text, loader)
        found = _Values(yaml, events).document()
        if not isinstance(next(events, yaml.StreamEndEvent()), yaml.StreamEndEvent):
            raise PrerequisiteError("it contains several YAML documents; give one.")
        return found
    except RecursionError:
        raise PrerequisiteError(_TOO_DEEP) from None
    except (yaml.YAMLError, ValueError) as err:
        # libyaml has a limit of its own since 0.2.6, and reads ahead of the events.
        if getattr(err, "problem", None) == "exceeded maximum nesting depth":
            raise PrerequisiteError(_TOO_DEEP) from None
        where = getattr(getattr(err, "problem_mark", None), "line", None)
        line = "" if where is None else f" at line {where + 1}"
        raise PrerequisiteError(f"neither JSON nor YAML{line}.") from None


class _Values:
    """Makes values of YAML events as they come: YAML's own loader first builds a tree of them all, with ten times the memory.

    They are JSON's values: a key is a text, and so is a date.
    """

    def __init__(self, yaml: Any, events: Iterator[Any]) -> None:
        self._yaml = yaml
        self._events = events
        self._left = _MOST_EVENTS
        self._depth = 0
        self._reader = yaml.SafeLoader("")

    def document(self) -> Any:
        """Return the value of the first document; None if there is none."""
        next(self._events)
        if isinstance(next(self._events), self._yaml.StreamEndEvent):
            self._events = iter(())
            return None
        found = self._value(self._next_event())
        next(self._events)
        return found

    def _next_event(self) -> Any:
        self._left -= 1
        if self._left < 0:
            raise PrerequisiteError("contains more values than can be read from YAML; shorten it, or write it as JSON.")
        return next(self._events)

    def _value(self, event: Any) -> Any:
        yaml = self._yaml
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.AliasEvent):
            # A few lines of aliases can stand for any amount, or for themselves.
            raise PrerequisiteError("it uses YAML aliases (*name), which are not supported; write out what they refer to.")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise PrerequisiteError(_TOO_DEEP)
        if event.tag not in _COLLECTIONS:
            raise yaml.constructor.ConstructorError(problem=f"tag {event.tag[:100]}", problem_mark=event.start_mark)
        found: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        end = yaml.MappingEndEvent if isinstance(found, dict) else yaml.SequenceEndEvent
        while not isinstance(part := self._next_event(), end):
            if isinstance(found, list):
                found.append(self._value(part))
            elif isinstance(part, yaml.ScalarEvent):
                found[self._key(part)] = self._value(self._next_event())
            else:
                raise yaml.constructor.ConstructorError(problem="key", problem_mark=part.start_mark)
        self._depth -= 1
        return found

    def _key(self, event: Any) -> str:
        value = self._scalar(event)
        return value if isinstance(value, str) else json.dumps(value)

    def _scalar(self, event: Any) -> Any:
        yaml = self._yaml
        if len(event.value) > _LONGEST_WORD:
            return event.value
        tag = event.tag or self._reader.resolve(yaml.ScalarNode, event.value, event.implicit)
        if tag in _PLAIN:
            value = self._reader.yaml_constructors[tag](self._reader, yaml.ScalarNode(tag, event.value))
            return json.loads(json.dumps(value), parse_constant=_refuse_constant) if isinstance(value, float) else value
        if tag in _TEXTS or tag == "!":
            return event.value
        raise yaml.constructor.ConstructorError(problem=f"tag {tag[:100]}", problem_mark=event.start_mark)
