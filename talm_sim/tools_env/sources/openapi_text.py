"""Read the text of an OpenAPI document, JSON or YAML, as JSON values: any text, within bounded memory and time."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from talm_sim.errors import PrerequisiteError

__all__ = ["parse_document"]

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


def parse_document(text: str) -> Any:
    """Read a document's text.

    Raises:
        PrerequisiteError: It is neither JSON nor YAML, or more than is read.
    """
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
