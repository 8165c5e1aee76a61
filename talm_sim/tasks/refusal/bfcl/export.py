"""`talm-sim export bfcl`: a run as the result files that BFCL's own evaluator reads.

Its evaluator decodes a result by the handler of the model that the folder is named after. Two forms are written, each for one kind of handler:
text, which a handler for prompts reads as a list in Python's syntax, where the model was asked for one; elsewhere calls, each an object of one
key, as handlers for native function calling (`-FC`) take them. A multi-turn row has a list of its steps for each turn of the user's.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from talm_sim.errors import PrerequisiteError
from talm_sim.models.base import ASK_HUMAN
from talm_sim.models.parsing import split_reasoning
from talm_sim.tasks.base import RunView
from talm_sim.tasks.open_job import Exported
from talm_sim.tasks.refusal.bfcl.subsets import MULTI_TURN, REPEATED_IDS, SUBSETS, V3_NAMES, Version, rows_of
from talm_sim.tasks.refusal.call_checks.calls_judge import PYTHONIC, calls_of, tools_of
from talm_sim.types import Calls, Episode, Scenario, Termination

_READERS = {True: ("text", "google_gemma-3-1b-it"), False: ("calls", "gpt-4o-2024-11-20-FC")}
"""Whether text was asked for, to what is written and the name of a model in BFCL whose handler reads it."""


def export_bfcl(run: RunView) -> Exported:
    """Write a run's answers to BFCL's rows as the result files that BFCL's own evaluator reads.

    DIR is what `bfcl evaluate --result-dir` takes. It has one folder per language and per epoch, if the run has several. Episodes that
    ended in an error are left out.
    """
    scenarios = {one.id: one for one in run.scenarios() if one.group in SUBSETS and (isinstance(one.target, Calls) or one.group in MULTI_TURN)}
    pythonic = run.job.task.calls_as(run.job) == PYTHONIC
    version = _version(run, scenarios.values())
    folder = _model_folder(run.job.config.model, pythonic=pythonic)
    languages = {one.language for one in scenarios.values()}
    files: dict[str, list[str]] = {}
    counts: Counter[tuple[str, str, int]] = Counter()
    left = 0
    for episode in run.episodes():
        if (scenario := scenarios.get(episode.scenario_id)) is None or not episode.termination.completed:
            left += 1
            continue
        above = ([scenario.language] if len(languages) > 1 else []) + ([f"epoch-{episode.epoch}"] if run.job.config.epochs > 1 else [])
        file = "/".join((*above, folder, *_place(scenario.group, version)))
        files.setdefault(file, []).append(json.dumps(_result(episode, scenario, pythonic=pythonic)) + "\n")
        counts[scenario.group, scenario.language, episode.epoch] += 1
    if not files:
        raise PrerequisiteError("contains no finished answer to a row of BFCL; run one with --subset or --bfcl.")
    whole = all(count == rows_of(SUBSETS[group], version) for (group, _, _), count in counts.items())
    return Exported({name: "".join(lines) for name, lines in files.items()}, tuple(_notes(pythonic, version, folder, left, whole=whole)))


def _notes(pythonic: bool, version: Version, folder: str, left: int, *, whole: bool) -> Iterator[str]:
    form, example = _READERS[pythonic]
    yield f"{folder}: bfcl evaluate takes folders named after models that it knows; rename it to one that reads {form}, as {example} does"
    if left:
        yield f"{left:,} {'episode' if left == 1 else 'episodes'} left out: ended in an error, or no row of BFCL"
    if not whole:
        partial = "add --partial-eval" if version == "v4" else "BFCL v3 evaluates only categories that are complete"
        yield f"some categories have fewer rows than BFCL {version}: {partial}"


def _version(run: RunView, scenarios: Any) -> Version:
    """Return the version of the data; a translation does not name it, and its user does, with `--bfcl-version`."""
    names = {one.source.name for one in scenarios}
    if "BFCL v3" in names or "BFCL v4" in names:
        return "v3" if "BFCL v3" in names else "v4"
    return "v4" if run.job.options.bfcl_version == "v4" else "v3"


def _model_folder(model: str, *, pythonic: bool) -> str:
    """Return the name of the model's folder: as BFCL writes it, if the model has one there."""
    name = model.partition("/")[2]
    name = PurePath(name).name if name.startswith(("/", ".", "~")) else name
    return (re.sub(r"[^\w.-]", "_", name).lstrip(".-") or "model") + ("" if pythonic else "-FC")


def _place(subset: str, version: Version) -> tuple[str, ...]:
    """Return the path of a subset's results, below the model's folder."""
    if version == "v3":
        return (f"BFCL_v3_{V3_NAMES.get(subset, subset)}_result.json",)
    folder = "multi_turn" if subset in MULTI_TURN else "live" if subset.startswith("live_") else "non_live"
    return (folder, f"BFCL_v4_{subset}_result.json")


def _result(episode: Episode, scenario: Scenario, *, pythonic: bool) -> dict[str, Any]:
    """Return one line: an answer, with what it took if that was counted."""
    turn = episode.model_turns[-1] if episode.model_turns else None
    found = _steps(episode, scenario, pythonic=pythonic) if scenario.group in MULTI_TURN else _answer(episode, scenario, pythonic=pythonic)
    row: dict[str, Any] = {"id": _published_id(scenario), "result": found}
    if turn is not None and not turn.usage.uncounted and scenario.group not in MULTI_TURN:
        row |= {"input_token_count": turn.usage.input_tokens, "output_token_count": turn.usage.output_tokens}
    return row


def _answer(episode: Episode, scenario: Scenario, *, pythonic: bool) -> str | list[dict[str, str]]:
    if not episode.model_turns:
        return ""
    turn = episode.model_turns[-1]
    text = split_reasoning(turn.written)[0]
    if pythonic and not (turn.tool_calls or turn.unparsable_calls):
        return text
    assert isinstance(scenario.target, Calls)
    calls = calls_of(episode, tools_of(scenario), scenario.target.syntax)
    # Providers take no dots in a name, so BFCL's handlers for native calls expect underscores.
    return [{call.name.replace(".", "_"): json.dumps(call.arguments)} for call in calls] or text


def _steps(episode: Episode, scenario: Scenario, *, pythonic: bool) -> list[list[str | list[dict[str, str]]]]:
    """Return what the model said in each turn of the user's that it reached, step by step; calls that cannot be read are text.

    A question to a person is text too: BFCL has nobody to ask.
    """
    reached = 1 + max((turn.user_turn for turn in episode.model_turns), default=-1)
    if episode.termination is not Termination.ANSWERED:
        reached = min(reached, len(scenario.turns) - 1)  # fewer turns than the row has, which is how BFCL says that a row was ended
    steps: list[list[str | list[dict[str, str]]]] = [[] for _ in range(reached)]
    for turn in episode.model_turns:
        if turn.user_turn < reached:
            text = split_reasoning(turn.raw_text)[0]
            calls = [{call.name: json.dumps(call.arguments)} for call in turn.tool_calls if call.name != ASK_HUMAN]
            if turn.tool_calls and not calls:
                text = "\n".join(str(call.arguments.get("question", "")) for call in turn.tool_calls)
            steps[turn.user_turn].append(text if pythonic and text else calls or text)
    return steps


def _published_id(scenario: Scenario) -> str:
    """Return the row's id in BFCL's files."""
    name = scenario.original.removesuffix(f"_{scenario.language}")
    return name.removesuffix("_2") if name.removesuffix("_2") in REPEATED_IDS else name
