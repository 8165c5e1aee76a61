"""Prove the sender of each operation's calls as the document's `security` says."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from talm_sim.common.credentials import checked_credential
from talm_sim.errors import PrerequisiteError
from talm_sim.tools_env.sources.base import NotTaken
from talm_sim.tools_env.sources.http import HttpTools, Proof
from talm_sim.tools_env.sources.openapi_limits import is_header_name, is_reserved

_KINDS = ("apiKey", "http", "oauth2", "openIdConnect")
_BEARER = {"type": "http", "scheme": "bearer"}


def prove(document: Mapping[str, Any], tools: HttpTools, auth: str, usual: str) -> tuple[dict[str, Proof], HttpTools]:
    """Return the proof of each tool of a document, and the tools that can be called with those at hand.

    `auth` names environment variables, as A+B, each of one scheme in the order in which `security` needs them; `usual` is the one without it.
    """
    variables = (auth or usual).split("+")
    held = [(name, secret) for name in variables if (secret := os.environ.get(name, "").strip())]
    if auth and len(held) < len(variables):
        raise PrerequisiteError(f"the environment variable {next(name for name in variables if name not in dict(held))} is not set.")
    declared = as_mapping(as_mapping(document.get("components")).get("securitySchemes"))
    schemes = {name: one for name, one in declared.items() if as_mapping(one).get("type") in _KINDS}
    usually = [(next(iter(schemes), ""),)] if held else [()]
    ways = {tool: usually if tools.security.get(tool) is None else _ways(tools.security[tool]) for tool in tools.specs}
    secrets = _assign([way for several in ways.values() for way in several], held)
    proofs, left = dict[str, Proof](), dict[str, str]()
    for tool, several in ways.items():
        fitting = [way for way in several if all(name in secrets and (name in schemes or not name) for name in way)]
        fitting = [way for way in fitting if len({secrets[name] for name in way}) == len(way)]  # a credential goes to one scheme alone
        if not fitting:
            left[tool] = _explain(several[0], declared, schemes, bool(held), variables[0])
        elif way := max(fitting, key=bool):
            proofs[tool] = sum((_proof(schemes.get(name, _BEARER), *secrets[name]) for name in way), Proof())
    if left and len(left) == len(tools.specs):
        raise PrerequisiteError(f"its service {next(iter(left.values()))}")
    kept = {name: spec for name, spec in tools.specs.items() if name not in left}
    not_taken = [*tools.not_taken, *(NotTaken(name, why) for name, why in left.items())]
    return proofs, replace(tools, specs=kept, not_taken=not_taken)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return a part that should be an object; empty if it is none."""
    return value if isinstance(value, Mapping) else {}


def _ways(said: Any) -> list[tuple[str, ...]]:
    """Return the schemes that an operation needs, those of each way it may be called; none where it needs none."""
    return [tuple(map(str, one)) for one in said if isinstance(one, Mapping)] or [()] if isinstance(said, list) else [()]


def _assign(ways: list[tuple[str, ...]], held: list[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the variable and the credential of each scheme: in the order of those that are needed at once, else of all."""
    at_once = [way for way in ways if len(way) == len(held)] or [tuple(dict.fromkeys(name for way in ways for name in way))]
    return {name: one for way in reversed(at_once) for name, one in zip(way, held, strict=False)}


def _explain(way: tuple[str, ...], declared: Mapping[str, Any], schemes: Mapping[str, Any], held: bool, variable: str) -> str:
    if unknown := next((name for name in way if name not in schemes), ""):
        return f"needs the security scheme '{unknown[:100]}', which is not {'supported' if unknown in declared else 'declared'}."
    if len(way) == 1 and held:
        return f"needs another credential ('{way[0][:100]}'): give the document a second time, as NAME=openapi:PLACE,auth=VARIABLE."
    if len(way) > 1:
        return f"needs {len(way)} credentials ({', '.join(way)[:200]}): add ,auth=A+B with one variable for each scheme, in this order."
    return f"needs a credential: set {variable}."


def _proof(scheme: Mapping[str, Any], variable: str, secret: str) -> Proof:
    kind, place, name = scheme.get("type"), scheme.get("in"), str(scheme.get("name"))
    if kind == "apiKey" and place != "query" and (not is_header_name(name) or is_reserved(name)):
        raise PrerequisiteError(f"its security scheme sends the credential in the {place} '{name[:200]}', but that name is not allowed.")
    if kind == "apiKey" and place == "query":
        return Proof(query={name: secret}, secrets=(secret,))
    if kind == "http" and str(scheme.get("scheme")).lower() == "basic":
        return Proof({"Authorization": f"Basic {b64encode(secret.encode()).decode()}"}, secrets=(secret,))
    checked_credential(variable, secret)
    header = {"cookie": {"Cookie": f"{name}={secret}"}, "header": {name: secret}}.get(str(place)) if kind == "apiKey" else None
    return Proof(header or {"Authorization": f"Bearer {secret}"}, secrets=(secret,))
