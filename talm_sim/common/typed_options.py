"""Parse typed options, given as `KEY=VALUE`, in a TOML file or in Python. Every fault is reported in one line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from talm_sim.errors import OptionError, PrerequisiteError, did_you_mean


class OptionsModel(BaseModel):
    """A frozen set of options; unknown keys are refused, and every default is a value that could have been given."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)

    if not TYPE_CHECKING:  # a type checker knows the fields

        def __init__(self, /, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as err:
                first = err.errors()[0]
                known = type(self).model_fields
                hint = did_you_mean(str(first["loc"][0]), known) if first["type"] == "extra_forbidden" else ""
                raise OptionError(str(first["loc"][0]) if first["loc"] else "", fault_of(first) + hint) from None

    @field_validator("*", mode="before")
    @classmethod
    def _text_to_list(cls, value: Any, info: ValidationInfo) -> Any:
        """Turn a single text into a list if a list is expected."""
        listed = isinstance(value, str) and get_origin(cls.model_fields[str(info.field_name)].annotation) is tuple
        return (value,) if listed else value


Options = TypeVar("Options", bound=OptionsModel)


def split_commas(text: str) -> list[str]:
    r"""Split a text at its commas, except those written as `\,`.

    >>> split_commas(r"a,b\,c")
    ['a', 'b,c']
    """
    return [part.replace("\\,", ",") for part in re.split(r"(?<!\\),", text)]


def split_options(parts: Iterable[str], where: str) -> dict[str, str]:
    """Split each `KEY=VALUE`."""
    written = {}
    for part in parts:
        key, equals, written[key] = part.partition("=")
        if not (key and equals):
            raise PrerequisiteError(f"{where}'{part}' is not an option; write KEY=VALUE.")
    return written


def written_names(kind: type[OptionsModel]) -> dict[str, FieldInfo]:
    """Return the existing options by their written names."""
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def read_options(written: Mapping[str, Any], kind: type[Options], owner: str, where: str) -> Options:
    """Read options that were written as `KEY=VALUE`."""
    known = written_names(kind)
    for key, value in written.items():
        if key not in known and kind.model_config["extra"] != "allow":
            raise PrerequisiteError(f"{where}{key}: {owner} has no such option.{did_you_mean(key, known)}")
        if key in known and value == "":
            raise PrerequisiteError(f"{where}{key}: is empty; leave it out or give it a value.")
    for key, field in known.items():
        if field.is_required() and key not in written:
            raise PrerequisiteError(f"{where}{key}: must be given; write {key}=VALUE.")
    try:
        return kind(**written)
    except OptionError as err:
        raise PrerequisiteError(f"{where}{err}") from None


def read_object(value: Any) -> Any:
    """Read a text as a JSON object; return anything else unchanged.

    Raises:
        ValueError: It is not a JSON object.
    """
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"'{value[:60]}' is not a JSON object; write one, for example '{{\"name\": 1}}'.")
    return found


JsonOption = Annotated[dict[str, Any], BeforeValidator(read_object)]
"""An option that is written as a JSON object."""

_MUST = {
    "greater_than_equal": "{0} is too small; the least is {ge}.",
    "greater_than": "{0} is too small; it must be more than {gt}.",
    "less_than_equal": "{0} is too large; the most is {le}.",
    "less_than": "{0} is too large; it must be less than {lt}.",
    "literal_error": "'{0}' is not one of {expected}.",
    "enum": "'{0}' is not one of {expected}.",
    "int_parsing": "'{0}' is not a whole number.",
    "int_type": "'{0}' is not a whole number.",
    "int_from_float": "{0} is not a whole number.",
    "float_parsing": "'{0}' is not a number.",
    "float_type": "'{0}' is not a number.",
    "finite_number": "{0} is not a finite number; give one.",
    "bool_parsing": "'{0}' is neither true nor false.",
    "bool_type": "'{0}' is neither true nor false.",
    "string_type": "{0} is not text; write names and numbers in quotes.",
    "path_type": "{0} is not a path; write it in quotes.",
    "tuple_type": '{0} is not a list; write one, for example ["A", "B"].',
    "dict_type": "{0} is not a table; write names and values.",
    "too_short": "is too short: it has {actual_length} items and needs at least {min_length}.",
    "missing": "is missing.",
    "extra_forbidden": "there is no such key.",
}
"""Pydantic's kind of a fault, and what a message says of it, with the given value."""


def fault_of(error: Mapping[str, Any]) -> str:
    """Say what is wrong with a value, in words for whoever wrote it."""
    if (template := _MUST.get(error["type"])) is None:
        return str(error["msg"]).removeprefix("Value error, ")
    value = str(error["input"])
    limits = {name: f"{one:g}" if isinstance(one, float) else one for name, one in error.get("ctx", {}).items()}
    return template.format(value if len(value) <= 80 else f"{value[:79]}…", **limits)
