"""Follow the references of a document, of its own parts and of files beside it, and count what is read."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

from talm_sim.errors import PrerequisiteError

_MOST_PARTS = 100_000
"""Most parts that all operations may take as they come; GitHub's document has 25,300. Further ones have `_FEW_PARTS` each."""
_MOST_PARTS_EACH, _FEW_PARTS = 10_000, 1_000
"""Most parts of one operation, with references written out: a short document can have endlessly many."""
_LETTERS = 200
"""Letters of a text in a schema that count as one part."""
_KEYS = 16
"""Keys in the target of a reference that count as one part."""
_DEEPEST = 50
"""Most references within references."""


class TooManyPartsError(PrerequisiteError):
    """What is read has more parts than it may."""


class Reading:
    """A document that is being read, with how many parts all its operations, and the current one, may still take.

    Args:
        load: Returns the value of a file, by its path below the document's folder; None if there is no folder.
    """

    def __init__(self, root: Mapping[str, Any], load: Callable[[str], Any] | None = None) -> None:
        self.root = root
        self._load = load
        self._files: dict[str, Any] = {"": root}
        self._left = _MOST_PARTS
        self._left_of_one = _MOST_PARTS_EACH
        self._sizes: dict[int, tuple[int, Any]] = {}

    def with_parts(self, most: int) -> Reading:
        """Return another reading of the same document and files, which may take so many parts in all."""
        other = Reading(self.root, self._load)
        other._files, other._left, other._left_of_one = self._files, most, most
        return other

    def begin(self, *, again: bool = False) -> None:
        """Start another operation, or the same again, less of it."""
        self._left_of_one = _FEW_PARTS if again or self._left < 0 else _MOST_PARTS_EACH
        self.spend(1)

    def spend(self, parts: int) -> None:
        """Take a number of further parts."""
        self._left_of_one -= parts
        self._left -= parts
        if self._left_of_one < 0:
            raise TooManyPartsError(f"its schemas contain more than {_FEW_PARTS:,} parts in few levels; choose one tag: ,only=TAG.")

    def size(self, value: Any) -> int:
        """Return the parts of a value that is copied unchanged; one that many operations refer to is counted once, and added each time."""
        if isinstance(value, str):
            return len(value) // _LETTERS
        if not isinstance(value, list | dict):
            return 0
        if id(value) not in self._sizes:
            inner = [*value, *value.values()] if isinstance(value, dict) else value
            self._sizes[id(value)] = len(value) + sum(map(self.size, inner)), value  # kept, so that no other has its identity
        return self._sizes[id(value)][0]

    def resolve(self, node: Mapping[str, Any], seen: tuple[str, ...] = ()) -> Mapping[str, Any]:
        """Follow a part's `$ref`; keywords beside it stay and win."""
        self.spend(1)
        if (pointer := node.get("$ref")) is None:
            return node
        self.spend(len(node))
        if pointer in seen:
            raise PrerequisiteError(f"cannot resolve $ref '{pointer}': it leads back to itself, and cycles are not followed.")
        target = self.follow(pointer)
        self.spend(len(target) // _KEYS)
        return {**self.resolve(target, (*seen, pointer)), **{key: value for key, value in node.items() if key != "$ref"}}

    def follow(self, pointer: str, depth: int = 0) -> Mapping[str, Any]:
        """Return what a reference names, through lists and further references."""
        self.spend(1)
        place, _, part = pointer.partition("#")
        target = self._file(posixpath.normpath(place) if place else "", pointer)
        names = [name.replace("~1", "/").replace("~0", "~") for name in unquote(part).split("/")]
        for name in names[1:]:
            while isinstance(target, Mapping) and name not in target and "$ref" in target and depth < _DEEPEST:
                depth += 1
                target = self.follow(target["$ref"], depth)
            if isinstance(target, list):
                target = target[int(name)] if name.isdecimal() and int(name) < len(target) else None
            else:
                target = target.get(name) if isinstance(target, Mapping) else None
        if names[0] or not isinstance(target, Mapping):
            raise PrerequisiteError(f"cannot resolve $ref '{pointer}': the document has no such part.")
        return target

    def _file(self, place: str, pointer: str) -> Any:
        if place not in self._files:
            if self._load is None or urlsplit(place).netloc or place.startswith(("/", "..")) or ":" in place:
                raise PrerequisiteError(f"cannot resolve $ref '{pointer}': only references within the document, or its folder, are followed.")
            try:
                self._files[place] = _rebased(self._load(unquote(place)), place)
            except PrerequisiteError as err:
                raise PrerequisiteError(f"cannot resolve $ref '{pointer}': {err}") from None
        return self._files[place]

    @cached_property
    def proofs(self) -> frozenset[tuple[str, str]]:
        """Return where the document's credentials are sent, and under which name, in small letters."""
        components = self.root.get("components")
        schemes = components.get("securitySchemes") if isinstance(components, Mapping) else None
        found = [one for one in schemes.values() if isinstance(one, Mapping)] if isinstance(schemes, Mapping) else []
        return frozenset((str(one.get("in")), str(one.get("name")).lower()) for one in found if one.get("type") == "apiKey")


def _rebased(node: Any, place: str) -> Any:
    """Return a file's value with its references as they are written from the document's folder."""
    if isinstance(node, list):
        return [_rebased(one, place) for one in node]
    if not isinstance(node, dict):
        return node
    found = {key: _rebased(value, place) for key, value in node.items()}
    if isinstance(pointer := node.get("$ref"), str) and "://" not in pointer:
        other, mark, part = pointer.partition("#")
        found["$ref"] = (posixpath.normpath(posixpath.join(posixpath.dirname(place), other)) if other else place) + mark + part
    return found
