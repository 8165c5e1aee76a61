"""Check values against JSON Schemas, and JSON Schemas against what they have to be."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from talm_sim.schemas.patterns import NotMatched, pattern_of
from talm_sim.schemas.work import NotChecked, current_work, limit_work

if TYPE_CHECKING:
    from jsonschema import ValidationError

_STEPS_OF_SCHEMA = 600_000
"""Of checking a schema itself, once, when its tool is read: enough for a few thousand parts."""
_ONE = ("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties")
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs")


class Schema:
    """A JSON Schema that values are checked against.

    Only references within it are followed: left to itself, the library would read others from the network or from this machine's files.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema

    @cached_property
    def _validator(self) -> Any:
        from referencing import Registry

        from talm_sim.schemas.keywords import BoundedValidator

        current_work().spend(50)
        return BoundedValidator(self._schema, registry=Registry())

    def faults(self, value: Any, most: int | None = None) -> list[ValidationError]:
        """Return the faults of a value: the parts that do not fit.

        Raises:
            NotChecked: Nothing was found, and not all could be checked.
        """
        found: list[ValidationError] = []
        with limit_work() as work:
            outer, work.root = work.root, self._schema
            before, why = work.unknown, ""
            try:
                for error in islice(self._validator.iter_errors(value), most):
                    found.append(error)
            except NotChecked as err:
                why = str(err)
            except Exception as err:  # a schema of anybody's may lead nowhere, or around in circles
                why = f"its schema cannot be followed ({type(err).__name__})"
            finally:
                work.root = outer
            if not found and (why or work.unknown > before):
                raise NotChecked(why or work.why)
        return found

    def fault(self, value: Any, shown: Schema | None = None) -> ValidationError | None:
        """Return the worst fault of a value, if possible as a shorter schema that was `shown` finds it; None if all of it fits.

        Raises:
            NotChecked: Nothing was found, and not all could be checked.
        """
        from jsonschema.exceptions import best_match

        if (faults := self.faults(value)) and shown is not None and shown is not self:
            places = [[*one.absolute_path] for one in faults]
            with contextlib.suppress(NotChecked):
                known = [one for one in shown.faults(value) if one.instance is not None]
                faults = [one for one in known if any([*one.absolute_path][: len(place)] == place for place in places)] or faults
        best: ValidationError | None = best_match(faults)
        return best

    def explain(self, value: Any, most: int = 300) -> str:
        """Say where a value does not fit and why, in at most so many characters; empty if it fits, or if that cannot be said."""
        try:
            fault = self.fault(value)
        except NotChecked:
            fault = None
        where = ".".join(map(str, fault.absolute_path)) if fault else ""
        return f"{f'{where}: ' if where else ''}{fault.message[:most]}".rstrip(".") if fault else ""

    def fits(self, value: Any) -> bool | None:
        """Return whether a value fits; None if that cannot be said."""
        try:
            return not self.faults(value, most=1)
        except NotChecked:
            return None


def fault_of_schema(schema: Any) -> ValidationError | None:
    """Return the first fault that makes something no JSON Schema; None if it is one.

    Raises:
        NotChecked: It is too large to tell.
    """
    from talm_sim.schemas.keywords import FORMATS, BoundedValidator

    with limit_work(_STEPS_OF_SCHEMA):
        try:
            return next(BoundedValidator(BoundedValidator.META_SCHEMA, format_checker=FORMATS).iter_errors(schema), None)
        except RecursionError:
            raise NotChecked("it is nested too deeply") from None


def unchecked_patterns(schema: Any) -> list[tuple[str, str]]:
    """Return the patterns of a schema that values are not checked for, each with the reason."""
    parts, found = [schema], []
    with limit_work(_STEPS_OF_SCHEMA):
        while parts:
            if not isinstance(one := parts.pop(), Mapping):
                continue
            patterns = one.get("patternProperties")
            for pattern in (one.get("pattern"), *(patterns if isinstance(patterns, Mapping) else ())):
                if isinstance(pattern, str):
                    try:
                        pattern_of(pattern)
                    except (NotMatched, NotChecked) as err:
                        found.append((pattern, str(err)))
            parts += (one[key] for key in _ONE if key in one)
            parts += (part for key in _SEVERAL if isinstance(one.get(key), list) for part in one[key])
            parts += (part for key in _NAMED if isinstance(one.get(key), Mapping) for part in one[key].values())
    return found
