"""The keywords of JSON Schema 2020-12, each of which counts its work.

Most are jsonschema's own. Written anew are those that search for patterns with Python's engine, and those that compare every item with every
other one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend

from talm_sim.schemas.patterns import LONGEST, NoPattern, NotMatched, pattern_of
from talm_sim.schemas.work import current_work

_EACH = frozenset({"items", "contains", "additionalProperties", "patternProperties", "propertyNames"})
"""Keywords that look at each item or property."""
_CONTRARY = frozenset({"not", "if", "oneOf", "contains", "unevaluatedItems", "unevaluatedProperties"})
"""Keywords that find a fault where a part fits: one that could not be checked counts as fitting."""
_TO_MAKE = 200
"""Steps to make the automaton of a pattern, beside one for each state."""
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
            work.spend(min(len(pattern), LONGEST))
            work.patterns[pattern] = one = pattern_of(pattern)
            work.spend(_TO_MAKE + one.size)
        one = work.patterns[pattern]
        work.spend(one.size * len(text) * (1 if text.isascii() else 3) / 100)
        return one.found_in(text)
    except (NoPattern, NotMatched) as err:
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


def _unevaluated_items(validator: Any, rest: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, list):
        return
    seen = _evaluated_items(validator, instance, schema)
    left = [item for place, item in enumerate(instance) if place not in seen]
    if left:
        told = ", ".join(map(repr, left))
        yield ValidationError(f"Unevaluated items are not allowed ({told} {'was' if len(left) == 1 else 'were'} unexpected)")


def _evaluated_items(validator: Any, instance: list[Any], schema: Any) -> set[int]:
    """Return the places of the items that some other keyword evaluates."""
    current_work().spend(3 + len(instance) / 5)
    if isinstance(schema, bool):
        return set()
    if "items" in schema:
        return set(range(len(instance)))
    seen = set(range(min(len(schema.get("prefixItems", ())), len(instance))))
    for key in ("contains", "unevaluatedItems"):
        if key in schema:
            fitting = validator.evolve(schema=schema[key])
            seen.update(place for place, item in enumerate(instance) if fitting.is_valid(item))
    for inner, part in _applied_schemas(validator, instance, schema):
        seen |= _evaluated_items(inner, instance, part)
    return seen


def _unevaluated_properties(validator: Any, rest: Any, instance: Any, schema: Any) -> Errors:
    if not isinstance(instance, dict):
        return
    seen = _evaluated_properties(validator, instance, schema)
    left = [name for name in instance if name not in seen]
    # One that does not fit is told as often as it has faults.
    wrong = [name for name in left for _ in validator.descend(instance[name], rest, path=name, schema_path=name)]
    if wrong and rest is False:
        told = ", ".join(map(repr, sorted(wrong)))
        yield ValidationError(f"Unevaluated properties are not allowed ({told} {'was' if len(wrong) == 1 else 'were'} unexpected)")
    elif wrong:
        told = ", ".join(map(repr, wrong))
        yield ValidationError(
            "Unevaluated properties are not valid under the given schema "
            f"({told} {'was' if len(wrong) == 1 else 'were'} unevaluated and invalid)"
        )


def _evaluated_properties(validator: Any, instance: dict[str, Any], schema: Any) -> set[str]:
    """Return the names of the properties that some other keyword evaluates."""
    current_work().spend(3 + len(instance) / 5)
    if isinstance(schema, bool):
        return set()
    seen = {name for name in instance if name in schema.get("properties", ())}
    for key in ("additionalProperties", "unevaluatedProperties"):
        if key in schema:
            seen.update(name for name, value in instance.items() if next(validator.descend(value, schema[key]), None) is None)
    for pattern in schema.get("patternProperties", ()):
        seen.update(name for name in instance if _search(pattern, name) is not False)
    for name, part in schema.get("dependentSchemas", {}).items():
        if name in instance:
            seen |= _evaluated_properties(validator, instance, part)
    for inner, part in _applied_schemas(validator, instance, schema):
        seen |= _evaluated_properties(inner, instance, part)
    return seen


def _applied_schemas(validator: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the schemas that apply in place to an instance, each with a validator that knows where its references lead."""
    for key in ("$ref", "$dynamicRef"):
        if key in schema:
            _spend_to_follow(validator, schema[key], anywhere=key == "$dynamicRef")
            found = validator._resolver.lookup(schema[key])
            yield validator.evolve(schema=found.contents, _resolver=found.resolver), found.contents
    for key in ("allOf", "oneOf", "anyOf"):
        yield from ((validator, part) for part in schema.get(key, ()) if next(validator.descend(instance, part), None) is None)
    if "if" in schema:
        holds = validator.evolve(schema=schema["if"]).is_valid(instance)
        if holds:
            yield validator, schema["if"]
        if (then := "then" if holds else "else") in schema:
            yield validator, schema[then]


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
    "unevaluatedItems": _unevaluated_items,
    "unevaluatedProperties": _unevaluated_properties,
}
BoundedValidator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {name: _bound(name, _OWN.get(name, check)) for name, check in Draft202012Validator.VALIDATORS.items()},
)
BoundedValidator.evolve = _evolve
FORMATS = FormatChecker(formats=())
"""What a schema's own texts are checked for: patterns have to be patterns."""


@FORMATS.checks("regex", raises=NoPattern)
def _is_pattern(text: object) -> bool:
    if isinstance(text, str):
        current_work().spend(min(len(text), LONGEST))
        with suppress(NotMatched):
            pattern_of(text)
    return True
