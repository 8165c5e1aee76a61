"""JSON Schemas that come with data: arguments are checked against them, and nothing is fetched for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

__all__ = ["validator_of"]


def validator_of(schema: Mapping[str, Any]) -> Draft202012Validator:
    """Return the validator of a schema.

    A `$ref` to another document cannot be resolved: left to itself, the library would read it from the network or from this machine's files.
    """
    from jsonschema import Draft202012Validator
    from referencing import Registry

    return Draft202012Validator(schema, registry=Registry())
