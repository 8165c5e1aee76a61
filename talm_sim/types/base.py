"""The base of all core types."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

JsonObject = dict[str, Any]
"""A JSON object, as a JSON Schema or a call's arguments."""


class FrozenModel(BaseModel):
    """A frozen value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def canonical_form(value: BaseModel, *exclude: str) -> JsonObject:
    """Return a value as digests are taken of it, without some of its fields.

    A field that was renamed has its first name, its serialization alias, here and nowhere else: runs, recordings and baselines that are
    named by a digest from before are found after.
    """
    return value.model_dump(mode="json", by_alias=True, exclude=set(exclude))
