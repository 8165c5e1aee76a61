"""The keywords of JSON Schema 2020-12, each of which counts its work.

Most are jsonschema's own. Written anew are those that search for patterns with Python's engine, and those that compare every item with every
other one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend

from talm_sim.schemas.patterns import LONGEST, NoPattern, NotMatched, Pattern, check_pattern, pattern_of
from talm_sim.schemas.work import current_work

_EACH = frozenset({"items", "contains", "additionalProperties", "patternProperties", "propertyNames"})
"""Keywords that look at each item or property."""
_CONTRARY = frozenset({"not", "if", "oneOf", "contains", "unevaluatedItems", "unevaluatedProperties"})
"""Keywords that find a fault where a part fits: one that could not be checked counts as fitting."""
_EVOLVED = Draft202012Validator.evolve

Errors = Iterator[ValidationError]
_Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


def _bound(name: str, check: _Keyword) -> _Keyword:
    def bounded(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
        work = current_work()
        work.spend(1 + (len(value) * 0.2 if isinstance(value, list | dict) else 0))
        if name in _EACH and isinstance(instance, list | dict):
            work.spend(len(instance))
        before = work.unknown
        for error in check(validator, value, instance, schema) or ():
            if name in _CONTRARY and work.unknown > before:
                return
            work.spend(10 + len(error.message) / 200)
            yield error

    return bounded


def _search(pattern: str, text: str) -> bool | None:
    """Return whether a pattern is found in a text; None if that cannot be told."""
    work = current_work()
    work.spend(1)
    try:
        if pattern not in work.patterns:
            work.patterns[pattern] = pattern_of(pattern)
        one: Pattern = work.patterns[pattern]
        work.spend(one.size * len(text) * (1 if text.isascii() else 3) / 100)
        return one.found_in(text)
    except NotMatched as err:
        work.pass_over(str(err))
        return None


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Errors:
    if isinstance(instance, str) and _search(pattern, instance) is False:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], instance: Any, schema: Any) -> Errors:
    if isinstance(instance, dict):
        for pattern, part in patterns.items():
            for name, value in instance.items():
                if _search(pattern, name):
                    yield from validator.descend(value, part, path=name, schema_path=pattern)


def _is_extra(name: str, schema: Mapping[str, Any]) -> bool:
    """Return whether no other keyword covers a property; one that a pattern may stand for counts as covered."""
    return name not in schema.get("properties", {}) and all(_search(one, name) is False for one in schema.get("patternProperties", {}))


def _additional_properties(validator: Any, rest: Any, instance: Any, schema: Mapping[str, Any]) -> Errors:
    if not isinstance(instance, dict):
        return
    extras = [name for name in instance if _is_extra(name, schema)]
    if isinstance(rest, dict):
        for name in extras:
            yield from validator.descend(instance[name], rest, path=name)
    elif not rest and extras:
        told = ", ".join(repr(name) for name in sorted(extras))
        if "patternProperties" in schema:
            patterns = ", ".join(repr(one) for one in sorted(schema["patternProperties"]))
            yield ValidationError(f"{told} {'does' if len(extras) == 1 else 'do'} not match any of the regexes: {patterns}")
        else:
            yield ValidationError(f"Additional properties are not allowed ({told} {'was' if len(extras) == 1 else 'were'} unexpected)")


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Errors:
    if wanted and isinstance(instance, list):
        current_work().weigh(instance)
        current_work().weigh(instance)
        if len({_key(one) for one in instance}) < len(instance):
            yield ValidationError(f"{instance!r} has non-unique elements")


def _key(value: Any) -> str:
    """Return a text that equal values have in common: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(name)}:{_key(value[name])}' for name in sorted(value))}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_key, value))}]"
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)


def _multiple_of(validator: Any, step: Any, instance: Any, schema: Any) -> Errors:
    if not validator.is_type(instance, "number"):
        return
    if isinstance(step, int) or abs(instance) < 2**63:
        yield from Draft202012Validator.VALIDATORS["multipleOf"](validator, step, instance, schema)
        return
    current_work().spend(2_000)  # numbers of a few thousand digits, and fractions of them
    if (Fraction(instance) / Fraction(step)).denominator != 1:
        yield ValidationError(f"{instance!r} is not a multiple of {step}")


def _one_of_values(name: str) -> _Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
        if isinstance(instance, list | dict | str):
            current_work().weigh(value)  # each may be compared to its end
        yield from Draft202012Validator.VALIDATORS[name](validator, value, instance, schema)

    return check


def _reference(name: str) -> _Keyword:
    def check(validator: Any, target: str, instance: Any, schema: Any) -> Errors:
        _spend_to_follow(validator, target, anywhere=name == "$dynamicRef")
        yield from Draft202012Validator.VALIDATORS[name](validator, target, instance, schema)

    return check


def _spend_to_follow(validator: Any, target: str, *, anywhere: bool) -> None:
    work, resolver = current_work(), validator._resolver
    work.spend(5 + len(target) / 50 + target.count("/") ** 2 / 20)
    # What it means is looked for in the whole schema, but for a path in one that is known already: not so in a part with an `$id` of its own.
    if work.root is not None and (anywhere or not target.startswith("#/") or resolver._base_uri not in resolver._registry):
        work.weigh(work.root, each=15)


def _unevaluated(kind: type[list[Any] | dict[str, Any]]) -> _Keyword:
    def check(validator: Any, rest: Any, instance: Any, schema: Any) -> Errors:
        if rest is not True and isinstance(instance, kind):
            current_work().pass_over("what is not evaluated elsewhere is not checked")
        yield from ()

    return check


def _evolve(self: Any, **changes: Any) -> Any:
    """Return a validator of a part; ignore the draft it names, whose own keywords would not be counted."""
    schema = changes.get("schema", self.schema)
    current_work().spend(3 + len(schema) * 0.3 if isinstance(schema, dict) else 1)
    if isinstance(schema, dict) and "$schema" in schema:
        changes["schema"] = {key: value for key, value in schema.items() if key != "$schema"}
    return _EVOLVED(self, **changes)


_OWN: Mapping[str, _Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
    "multipleOf": _multiple_of,
    "const": _one_of_values("const"),
    "enum": _one_of_values("enum"),
    "$ref": _reference("$ref"),
    "$dynamicRef": _reference("$dynamicRef"),
    "unevaluatedItems": _unevaluated(list),
    "unevaluatedProperties": _unevaluated(dict),
}
BoundedValidator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {name: _bound(name, _OWN.get(name, check)) for name, check in Draft202012Validator.VALIDATORS.items()}
)
BoundedValidator.evolve = _evolve
FORMATS = FormatChecker(formats=())
"""What a schema's own texts are checked for: patterns have to be patterns."""


@FORMATS.checks("regex", raises=NoPattern)
def _is_pattern(text: object) -> bool:
    if isinstance(text, str):
        current_work().spend(min(len(text), LONGEST))
        check_pattern(text)
    return True
