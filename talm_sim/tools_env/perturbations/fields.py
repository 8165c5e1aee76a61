"""The fields of a tool's answer: which of them a fault changes, by default or by name, and which a schema says there are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from talm_sim.types import JsonObject

__all__ = ["change_fields", "lacks_field", "short_name"]

Change = Callable[[str, Any], list[tuple[str, Any]]]
"""Returns what takes the place of a field, given its name and value: fields, of which there may be none."""


def change_fields(answer: Any, field: str, arguments: Mapping[str, Any], change: Change) -> Any:
    """Return an answer with some of its fields changed; equal to `answer` if it has none of them.

    Args:
        answer: Its JSON value; not changed itself.
        field: A field's name, wherever it occurs, or a JSON pointer to one. Empty for every field that holds a single value, not an object or a
            list, except one that repeats an argument: what the agent needs to know is then among them.
        arguments: The call's, as the tool was given them.
        change: What becomes of one field.
    """
    echoes = {json.dumps(value) for value in arguments.values()}

    def chosen(path: str, name: str, value: Any) -> bool:
        if not field:
            return not isinstance(value, dict | list) and json.dumps(value) not in echoes
        return field == (path if field.startswith("/") else name)

    return _rewrite(answer, "", chosen, change)


def _rewrite(value: Any, path: str, chosen: Callable[[str, str, Any], bool], change: Change) -> Any:
    if isinstance(value, list):
        return [_rewrite(item, f"{path}/{place}", chosen, change) for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    written: dict[str, Any] = {}
    for name, item in value.items():
        at = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        for new, changed in change(name, item) if chosen(at, name, item) else [(name, _rewrite(item, at, chosen, change))]:
            written[new if new == name else short_name(name, {*value, *written})] = changed
    return written


def short_name(name: str, taken: Sequence[str] | set[str] | Mapping[str, Any]) -> str:
    """Return another name for a field: the first three letters of each of its words, with a number if there is such a name already.

    >>> short_name("elevation_m", {"elevation_m"}), short_name("lat", {"lat"}), short_name("timeZone", ())
    ('ele_m', 'lat_2', 'timZon')
    """
    words = "".join(part[:3] for part in _words(name))
    number, new = 2, words
    while new == name or new in taken:
        new, number = f"{words}_{number}", number + 1
    return new


def _words(name: str) -> Iterator[str]:
    """Split a name at capitals and at signs, which stay as words of their own."""
    word = ""
    for sign in name:
        if word and (not sign.isalnum() or not word[-1].isalnum() or (sign.isupper() and not word[-1].isupper())):
            yield word
            word = ""
        word += sign
    if word:
        yield word


def lacks_field(schema: JsonObject, field: str) -> str:
    """Say that no answer of a schema has the field, or any field; empty where one may have it."""
    if not schema:
        return ""
    found = _Fields(schema)
    if found.collect(schema, 0):
        return ""
    if not found.names:
        return "no field in its answers"
    name = field.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    return f"no field '{name}' in its answers" if field and name not in found.names else ""


def _find(root: Any, ref: str) -> Any:
    """Return the part of a schema that a reference into it names; None if there is none."""
    for name in ref.removeprefix("#/").split("/"):
        root = root.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(root, dict) else None
    return root


_DEEPEST = 100


class _Fields:
    """The names of the fields of a schema; each part that is referred to is read once, so that a short schema takes a short time."""

    def __init__(self, root: JsonObject) -> None:
        self.names: set[str] = set()
        self._root = root
        self._read: set[str] = set()

    def collect(self, schema: Any, depth: int) -> bool:
        """Collect the names; return whether answers may have others."""
        if not isinstance(schema, dict) or depth > _DEEPEST:
            return True
        if isinstance(ref := schema.get("$ref"), str):
            read = ref in self._read
            self._read.add(ref)
            return not read and self.collect(_find(self._root, ref), depth + 1)
        choices = [one for word in ("anyOf", "oneOf", "allOf") for one in schema.get(word, ())]
        if choices:
            return any([self.collect(one, depth + 1) for one in choices])
        kind, fields = schema.get("type"), schema.get("properties")
        if kind == "array":
            return self.collect(schema.get("items"), depth + 1)
        if kind == "object" and isinstance(fields, dict) and not schema.get("additionalProperties"):
            self.names.update(fields)
            return any([self.collect(one, depth + 1) for one in fields.values()])
        return kind == "object" or not (isinstance(kind, str) or {"enum", "const"} & schema.keys())
