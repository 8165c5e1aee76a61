"""Judge `bfcl-official`: the checker of the installed package `bfcl-eval` says whether the calls of an answer are right.

What is theirs and what is ours:

- Where calls were asked for as a list in Python's syntax (`--template pythonic`), raw text is read as BFCL reads it (`bfcl_reading.py`). BFCL's
  own decoder evaluates sums that a model wrote, so it is written anew.
- Otherwise BFCL has a decoder for each family of models on its list, and this project's reader finds the calls. What a provider reported is
  taken as it is. Calls of Java and JavaScript functions that are written as source code are read by BFCL's parsers.
- Whether the calls are right says BFCL's `ast_checker`. Names stand as the functions were shown, so `underscore_to_dot` is off.
- Whether there is any call, where none or any is right, is decided as its runner does, which is not to be had without all its providers.

Facts of the official scoring, which hold for judge `calls` as well where nothing else is said:

- Irrelevance passes wherever nothing is read as a non-empty list of calls: malformed calls, empty text and gibberish pass.
- Relevance passes with any call: neither its name nor its arguments are looked at.
- Else the number of calls must be right. Parallel calls come in any order, but are matched greedily: each right call takes the first that
  fits, and none is given back.
- An argument that may be left out has an empty text among its accepted values. So it may be an empty text, or an empty list, too, and the
  types of such a list's items are not checked.
- Texts compare without case, spaces and `,./-_*^`, and with `'` for `"`; those directly in a list or an object too, deeper ones to the letter.
  Names of functions, arguments and keys compare to the letter.
- Inside of lists of mixed items and of objects `true` equals 1, and 1.0 equals 1.
- A value is of a right type if it is of the declared one or of that of the first accepted value: a variable's name may stand for a list.
- Accepted objects within accepted objects keep their choices as lists, which no value equals.
- Values of Java and JavaScript functions are texts of source code. Of collections `new T[]{...}`, `new ArrayList<>(Arrays.asList(...))`,
  `new ArrayList<>() {{ add(...); }}`, `new HashMap<>() {{ put(...); }}`, arrays up to two deep and flat objects are read.
- Some published rows no answer passes: a parameter without an accepted value, a demanded one that its function does not take.

Defects of its code, where judge `calls` says something else:

- Its parser of Java leaves out the body of `{{ ... }}`: a filled map or list so written in source code is empty to it, as a text it is right.
- The same parser counts bytes as characters: behind a letter that is not ASCII it cuts names and values in wrong places.
- Source code that its parsers refuse counts as no call; ours reads the names, brackets and quotes only.
- Its checker raises on some answers, which ends an official run. Here the episode is not judged, and the explanation says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec, module_from_spec
from types import ModuleType, SimpleNamespace
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.judges.base import Judge, JudgeContext, judge_digest
from talm_sim.models.parsing import split_reasoning
from talm_sim.tasks.refusal.call_checks.calls_judge import PYTHONIC, bfcl_calls_of, calls_of, reason_unchecked, tools_of
from talm_sim.types import Calls, Episode, JsonObject, Measured, Scenario, Verdict

BFCL_REQUIREMENTS = ("bfcl-eval==2026.3.23", "tree-sitter==0.21.3", "tree-sitter-java==0.21.0", "tree-sitter-javascript==0.21.4")
"""Packages that the judge uses; the last three read Java and JavaScript. Install them with --no-deps: bfcl-eval asks for all its providers."""
_CHECKER = "bfcl_eval.eval_checker.ast_eval.ast_checker"
_PROVIDERS = "bfcl_eval.constants.model_config"
_PARSERS = {
    "java": ("bfcl_eval.model_handler.parser.java_parser", "parse_java_function_call"),
    "javascript": ("bfcl_eval.model_handler.parser.js_parser", "parse_javascript_function_call"),
}
_MODEL = "talm-sim"
_MOST_SOURCE = 4096
"""Most characters of source that their parsers and patterns receive: the time of some grows with its square, a minute for 20,000 quotes."""
_MOST_CLOSED = 16
"""Closing brackets in the beginning of an array of arrays: each may double the time of their pattern."""

MOST_WORDS = 1000
"""Characters of its message that are kept."""

Decoded = list[dict[str, dict[str, Any]]]
"""Calls in the form of their checker: each an object of one key, the name, with the arguments by name."""


class BfclOfficialJudge(Judge):
    """Passes an episode where the installed `bfcl-eval` does; its label is their error type."""

    name = "bfcl-official"
    measure = Measured(name="bfcl_official", head="BFCL", about="BFCL's own checker, as installed, passes the calls", better="higher")
    rules = 3

    def __init__(self, context: JudgeContext) -> None:
        super().__init__(context)
        self._official = load_official()
        self._pythonic = context.calls_as == PYTHONIC
        head, reader = ("BFCL", "BFCL's reader") if self._pythonic else ("BFCL*", "our reader")
        self.measure = self.measure.model_copy(update={"head": head, "about": f"{self.measure.about}; raw text read by {reader}"})
        self.config_digest = judge_digest(self.name, self.rules, self._official.version, context.calls_as)

    async def __call__(self, episode: Episode, scenario: Scenario) -> Verdict:
        """Judge one episode."""
        if reason := reason_unchecked(episode, scenario):
            return self.verdict(episode, None, reason)
        assert isinstance(scenario.target, Calls)
        value, label, words = self._official.judge(episode, scenario.target, tools_of(scenario), pythonic=self._pythonic)
        return self.verdict(episode, value, words, label=label)


@dataclass(frozen=True, slots=True)
class Official:
    """The parts of the package that are used."""

    version: str
    check: Callable[..., dict[str, Any]]
    languages: Callable[[str], Any]
    parsers: Mapping[str, Callable[[str], Any]]

    def judge(self, episode: Episode, target: Calls, tools: Sequence[JsonObject], *, pythonic: bool = False) -> tuple[bool | None, str, str]:
        """Return what the checker says: right or not (None: nothing), its error type, and its words."""
        calls = self._calls(episode, tools, target.syntax, pythonic)
        if target.expected != "calls":
            right = bool(calls) == (target.expected == "any")
            return right, "" if right else "wrong_count", f"{len(calls)} calls found"
        if target.syntax != "python" and any(_is_slow(arguments) for call in calls for arguments in call.values()):
            return None, "", "not judged: the patterns of bfcl-eval may take forever on such source text"
        functions = [tool.get("function", tool) for tool in tools]
        accepted = [{one.name: {name: [*values] for name, values in one.arguments.items()}} for one in target.accepted]
        category = "parallel" if len(accepted) > 1 else "multiple"
        try:
            said = self.check(functions, calls, accepted, self.languages(target.syntax), category, _MODEL)
        except Exception as err:  # whatever it raises would end an official run
            return None, "", f"not judged: bfcl-eval raised {type(err).__name__}: {err}"
        return said["valid"], "" if said["valid"] else said["error_type"], "; ".join(map(str, said["error"]))[:MOST_WORDS]

    def _calls(self, episode: Episode, tools: Sequence[JsonObject], syntax: str, pythonic: bool) -> Decoded:
        """Return the calls that BFCL reads if it was asked as BFCL asks, else those that our reader reads."""
        turn = episode.model_turns[-1] if episode.model_turns else None
        if pythonic and syntax != "python" and turn and not (turn.tool_calls or turn.unparsable_calls):
            return self._decode(split_reasoning(turn.written)[0].strip("`\n "), syntax)
        found = bfcl_calls_of(episode) if pythonic else calls_of(episode, tools, syntax)
        return [{call.name: call.arguments} for call in found]

    def _decode(self, text: str, syntax: str) -> Decoded:
        """Return what their parser reads in source code; nothing if it finds no call, or fails."""
        if len(text) > _MOST_SOURCE:
            return []
        try:
            return self.parsers[syntax](text.removeprefix("[").removesuffix("]")) or []
        except Exception:  # it says so of anything but source code, and of arguments given twice
            return []


def _is_slow(arguments: Mapping[str, Any]) -> bool:
    texts = [value for value in arguments.values() if isinstance(value, str)]
    return any(len(text) > _MOST_SOURCE or (text.lstrip().startswith(("[", "new")) and text.count("]") > _MOST_CLOSED) for text in texts)


@cache
def load_official() -> Official:
    """Import the checker and the two parsers of the installed package, and none of the providers it otherwise imports."""
    try:
        parsers = {syntax: getattr(import_module(module), name) for syntax, (module, name) in _PARSERS.items()}
        check = _module_without_providers().ast_checker
        languages = import_module("bfcl_eval.constants.enums").Language
        return Official(f"bfcl-eval {version('bfcl-eval')}", check, languages, parsers)
    except ImportError as err:
        raise PrerequisiteError(
            f"judge 'bfcl-official' works with the package bfcl-eval, and {err}: pip install --no-deps {' '.join(BFCL_REQUIREMENTS)}"
        ) from None


def _module_without_providers() -> ModuleType:
    """Return their checker's module, made apart from `sys.modules`: importing it by name gives the one with the real table of providers."""
    if (spec := find_spec(_CHECKER)) is None or spec.loader is None:
        raise ImportError(f"it has no module {_CHECKER}")
    checker = module_from_spec(spec)
    table = ModuleType(_PROVIDERS)
    table.MODEL_CONFIG_MAPPING = {_MODEL: SimpleNamespace(underscore_to_dot=False)}  # type: ignore[attr-defined]
    real = sys.modules.get(_PROVIDERS)
    sys.modules[_PROVIDERS] = table
    try:
        spec.loader.exec_module(checker)
    finally:
        if real is None:
            del sys.modules[_PROVIDERS]
        else:
            sys.modules[_PROVIDERS] = real
    return checker
