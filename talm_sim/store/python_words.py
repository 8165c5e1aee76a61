"""Put error messages into the words of Python: `judge_model="PROVIDER/NAME"` instead of a command-line option."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Coroutine, Iterator
from enum import Enum
from functools import wraps
from typing import Any, ParamSpec, TypeVar, get_args

from talm_sim.config import RunConfig
from talm_sim.errors import PrerequisiteError, on_command_line
from talm_sim.tasks import find_task, list_tasks

_COMMAND = re.compile(r"(talm-sim (?:'[^']{0,1000}'|\\.|[^`;)'\\]){0,1000}?(?=[`;)]|, |\.? ?$|\. ))")
"""A command to type, of at most 1,000 characters, which stays as it is."""
_SHORT = {"--live": 'models="live"', "--replay": 'models="replay"', "--record": 'models="record"'}
_PROVIDER_OPTION = re.compile(r"(?<![\w-])-M (\w+)(?:=(?:such as )?([^\s,;]*[^\s,;.]))?")
_VARIABLE = re.compile(r"TALM_SIM_([A-Z_]+)=(\S*[^\s.,;:)])")
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)(?: (\S*[^\s.,;:)]))?")
_QUOTED = re.compile(r"'--([a-z][a-z-]*)'")
"""A quoted option name, which may not exist."""
_PLACEHOLDER = re.compile(r"[A-Z\[][A-Z\[\]/:=|]*|\S+[/:]\S+")
_P = ParamSpec("_P")
_T = TypeVar("_T")


def python_words(text: str) -> str:
    r"""Write the options that a message names as arguments; commands to type stay as they are.

    >>> python_words("judge 'llm' needs a model: add --judge-model PROVIDER/NAME.")
    'judge \'llm\' needs a model: add judge_model="PROVIDER/NAME".'
    >>> python_words("--epochs: 0 is too small; choose another --split or --limit")
    'epochs: 0 is too small; choose another split or limit'
    """
    known = dict(_fields())
    parts = _COMMAND.split(text)
    return "".join(part if place % 2 else _as_arguments(part, known) for place, part in enumerate(parts))


def _as_arguments(text: str, known: dict[str, tuple[str, ...]]) -> str:
    def argument(found: re.Match[str]) -> str:
        name, value = found[1].replace("-", "_"), found[2]
        flag = f"--{found[1]}"
        if flag in _SHORT:
            return _SHORT[flag] + (f" {value}" if value else "")
        if name not in known:
            return found[0]
        if value is None:
            return name
        return f'{name}="{value}"' if value in known[name] or _PLACEHOLDER.fullmatch(value) else f"{name} {value}"

    def provider_option(found: re.Match[str]) -> str:
        return f'model_options={{"{found[1]}": "{found[2]}"}}' if found[2] else f"model_options: {found[1]}"

    text = _QUOTED.sub(lambda found: f"'{found[1].replace('-', '_')}'", text)
    text = _VARIABLE.sub(lambda found: f'{found[1].lower()}="{found[2]}"', text)
    return _OPTION.sub(argument, _PROVIDER_OPTION.sub(provider_option, text))


def _fields() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return every option's name, with its values if they are a fixed set."""
    models: list[Any] = [RunConfig]
    for name in list_tasks():
        with contextlib.suppress(PrerequisiteError):  # a broken package is not the problem here
            models.append(find_task(name).options)
    for model in models:
        for name, field in model.model_fields.items():
            yield name, tuple(_values(field.annotation))


def _values(kind: Any) -> Iterator[str]:
    if isinstance(kind, type) and issubclass(kind, Enum):
        yield from (str(one.value) for one in kind)
    for one in get_args(kind):
        if isinstance(one, str):
            yield one
        elif not isinstance(one, int):
            yield from _values(one)


@contextlib.contextmanager
def in_python() -> Iterator[None]:
    """Phrase errors in the words of Python, unless a command line is being executed, and drop our own frames from the traceback."""
    try:
        yield
    except PrerequisiteError as err:
        if not on_command_line.get():
            err.args = (python_words(str(err)), *err.args[1:])
        raise err.with_traceback(None) from err.__cause__


def phrase_errors_for_python(verb: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """Wrap all of a verb in `in_python`."""

    @wraps(verb)
    async def told(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with in_python():
            return await verb(*args, **kwargs)

    return told
