"""Read what the authors of Fail-TaLMs published: model outputs with their grades, queries and tool schemas.

Expected folders, each of which may be missing: `outputs/<Setting>/<model>/answers.json`, `benchmark/<Setting>/all_<Setting>_queries.json`,
`tools/<Category>/<tool>.json`. A model folder's name ends in `_auto_eval` or `_human_eval` (who graded) and then, with Ask-and-Help, in
`_qaq` (or `_aah`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from talm_sim.common.plain_files import LARGEST_DOCUMENT, read_text
from talm_sim.common.tool_files import HUMAN_TOOL, FunctionKey, function_key, function_names, spec_of_function, tool_of_file
from talm_sim.errors import PrerequisiteError
from talm_sim.tasks.talm.recovered import SOURCE, PerfectQueries, PublishedQuery, Recovered
from talm_sim.tasks.talm.rows import TIE
from talm_sim.types import (
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Episode,
    HumanEvent,
    Scenario,
    Source,
    Termination,
    ToolSpec,
    Turn,
    Verdict,
    episode_id,
)

PUBLISHED = "published"
"""Judge name of the grades that came with the outputs (`pass_rate`)."""
_PUBLISHED_PREFERENCE = "published-preference"
"""Judge name of their comparison of no-tools answers (`win_rate`)."""
_HUMAN = "published"
"""Responder of imported Ask-and-Help runs: people that the authors placed at the keyboard."""
_GROUPS = {
    "original": "perfect",
    "underspecified": "underspecified",
    "replaceable": "replaceable",
    "non-replaceable": "non-replaceable",
    "no-tools": "no-tools",
}
_NAME = re.compile(r"(?P<model>.+?)(?:_(?P<grading>auto|human)_eval)?(?P<help>_qaq|_aah)?")
_LICENCE = "MIT (stated by the authors; no licence text is in their repository)"
RELEASE_URL = "https://github.com/EduardoTrevino/Fail-TaLMs"


@dataclass(slots=True)
class PublishedRun:
    """All outputs of one model under one setting of human help and grading."""

    model: str
    human: Literal["none", "published"]
    grading: Literal["auto", "human"]
    """Who graded: GPT-4o, or a person."""
    episodes: list[Episode] = field(default_factory=list)
    scenarios: list[Scenario] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    tools: list[ToolSpec] = field(default_factory=list)
    """Those that were taken away, where the release says what they do."""
    unreadable_marks: int = 0
    """Questions whose mark is neither 0 nor 1."""

    @property
    def name(self) -> str:
        """A name that distinguishes the runs of one folder."""
        return "-".join([self.model, *(["human-graded"] if self.grading == "human" else []), *(["aah"] if self.human != "none" else [])])


@dataclass(frozen=True, slots=True)
class CoincidingGrades:
    """How often two gradings of one model's group say the same, by query.

    The two files hold two separate generations of the model, so this mixes the graders' agreement with the model's own variation between
    runs. It is not a measure of judge validity.
    """

    model: str
    group: str
    same: int
    both: int
    """Queries that are in both files."""


def read_outputs(directory: Path) -> list[PublishedRun]:
    """Read the published outputs below `directory` (the release's root, or its `outputs`).

    Grades become verdicts of judge `published`; for no-tools, `win_rate` becomes `published-preference`, and a missing one counts as 0, as
    in the authors' scorer. Awareness is their annotation, with the model's words as the raw text. A query that occurs twice in a file
    becomes two epochs of one scenario. Where the release's `benchmark` is beside the outputs, the scenarios say what was taken away, as
    `read_queries` recovers it.
    """
    runs: dict[tuple[str, str, str], PublishedRun] = {}
    for file in sorted(_folder(directory, "outputs").glob("*/*/answers.json")):
        group = _GROUPS.get(file.parent.parent.name.lower())
        match = _NAME.fullmatch(file.parent.name)
        if group is None or match is None:
            continue
        human: Literal["none", "published"] = "published" if match["help"] else "none"
        grading: Literal["auto", "human"] = "human" if match["grading"] == "human" else "auto"
        run = runs.setdefault((match["model"], human, grading), PublishedRun(match["model"], human, grading))
        _add_answers(run, group, file)
    release = directory.parent if directory.name == "outputs" else directory
    queries, specs = {query.id: query for query in read_queries(release)}, {spec.name: spec for spec in read_tools(release)}
    for run in runs.values():
        run.scenarios = [_with_recovered_of(scenario, queries.get(scenario.id)) for scenario in run.scenarios]
        gone = {missing.name for one in run.scenarios for missing in one.missing}
        run.tools = [spec for name, spec in specs.items() if name in gone]
    return list(runs.values())


def _with_recovered_of(scenario: Scenario, query: Scenario | None) -> Scenario:
    """Return the scenario of an answer, with what was recovered of its query."""
    if query is None or query.query != scenario.query:
        return scenario
    return scenario.model_copy(update={"missing": query.missing, "source": query.source})


def read_queries(directory: Path) -> list[Scenario]:
    """Read the benchmark's queries below `directory` (the release's root, or its `benchmark`), with the ids `read_outputs` gives them.

    Tools bear the names `read_tools` gives them. The published queries name no gold calls, no facts and not what is missing. What is missing
    is recovered from the perfect queries where it can be; the scenarios have no target, and only judges that need none apply.
    """
    found: list[tuple[str, dict[str, Any], str, list[FunctionKey]]] = []
    for file in sorted(_folder(directory, "benchmark").glob("*/all_*_queries.json")):
        if (group := _GROUPS.get(file.parent.name.lower())) is not None:
            for where, entry in _entries(file):
                apis = _objects(entry.get("api_list", []), f"{where}, 'api_list'")
                keys = [function_key(api.get("category_name"), api.get("tool_name"), api.get("api_name")) for api in apis]
                found.append((group, entry, where, [key for key in keys if key[2] != HUMAN_TOOL]))
    names = function_names([*(key for key, _ in _functions(directory)), *(key for *_, keys in found for key in keys)])
    return _with_recovered([_scenario(group, entry, where, tuple(names[key] for key in keys)) for group, entry, where, keys in found])


def _with_recovered(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """Return the scenarios; add to those derived from a perfect query what was taken away from it."""
    queries = {scenario.id: PublishedQuery(scenario.id, scenario.query, scenario.tools) for scenario in scenarios}
    perfect = PerfectQueries(queries[scenario.id] for scenario in scenarios if scenario.group == "perfect")
    find = {
        "underspecified": perfect.find_removed_words,
        "replaceable": perfect.find_masked_tool,
        "non-replaceable": perfect.find_masked_tool,
    }
    found = {one.id: find[one.group](queries[one.id]) for one in scenarios if one.group in find}
    return [_with(scenario, found[scenario.id]) if scenario.id in found else scenario for scenario in scenarios]


def _with(scenario: Scenario, found: Recovered) -> Scenario:
    source = scenario.source.model_copy(update={"base": found.base, "unchanged": found.unchanged})
    return scenario.model_copy(update={"missing": () if found.missing is None else (found.missing,), "source": source})


def read_tools(directory: Path) -> list[ToolSpec]:
    """Read the tool schemas below `directory` (the release's root, or its `tools`).

    A function keeps its name where no other tool has one of that name (31 names occur more than once, and some queries offer both); there
    it is called `<tool>_<function>`. The tool that asks a person is left out, as ours takes its place. Types are mapped to JSON Schema; what
    the release leaves untyped is a string.
    """
    if not directory.is_dir():
        raise PrerequisiteError(f"{directory}: no such directory.")
    functions = {key: function for key, function in _functions(directory) if key[2] != HUMAN_TOOL}
    names = function_names(functions)
    return [spec_of_function(names[key], function["category"], function) for key, function in functions.items()]


def coinciding_grades(runs: Sequence[PublishedRun]) -> list[CoincidingGrades]:
    """Compare the human-graded with the automatically graded files of the same model and human setting, group by group."""
    found: list[CoincidingGrades] = []
    for run in runs:
        if run.grading != "human":
            continue
        for other in runs:
            if (other.model, other.human, other.grading) == (run.model, run.human, "auto"):
                found += _compare(run, other)
    return found


def _compare(one: PublishedRun, other: PublishedRun) -> Iterator[CoincidingGrades]:
    graded = {verdict.episode_id: verdict.value for verdict in other.verdicts if verdict.judge == PUBLISHED}
    groups = {episode.id: episode.group for episode in one.episodes}
    same: Counter[str] = Counter()
    both: Counter[str] = Counter()
    for verdict in one.verdicts:
        if verdict.judge == PUBLISHED and verdict.episode_id in graded:
            group = groups[verdict.episode_id]
            both[group] += 1
            same[group] += verdict.value == graded[verdict.episode_id]
    for group, count in both.items():
        yield CoincidingGrades(one.model, group, same[group], count)


def _add_answers(run: PublishedRun, group: str, file: Path) -> None:
    epochs: Counter[str] = Counter()
    for where, entry in _entries(file):
        scenario = _scenario(group, entry, where)
        epochs[scenario.id] += 1
        epoch = epochs[scenario.id]
        if epoch == 1:
            run.scenarios.append(scenario)
        exchanges = _objects(entry.get("interaction_scores") or [], f"{where}, 'interaction_scores'")
        episode = _episode(run, entry, scenario, epoch, exchanges)
        run.episodes.append(episode)
        run.unreadable_marks += sum(event.appropriate is None for event in episode.questions)
        run.verdicts += _verdicts(group, entry, episode.id, where)


def _scenario(group: str, entry: dict[str, Any], where: str, tools: tuple[str, ...] = ()) -> Scenario:
    number, query = entry.get("query_id"), entry.get("query")
    if not isinstance(number, int) or not isinstance(query, str):
        raise PrerequisiteError(f"{where}: no 'query_id' (a number) and 'query' (a text); this is not a Fail-TaLMs file.")
    # Only no-tools repeats the perfect queries under their numbers; the other settings number their own.
    base = f"perfect-{number}" if group == "no-tools" else ""
    return Scenario(
        id=f"{group}-{number}",
        group=group,
        turns=(Turn(messages=({"role": "user", "content": query},)),),
        tools=tools,
        source=Source(name=SOURCE, base=base, licence=_LICENCE, url=RELEASE_URL),
    )


def _episode(run: PublishedRun, entry: dict[str, Any], scenario: Scenario, epoch: int, exchanges: list[dict[str, Any]]) -> Episode:
    awareness = [
        AwarenessAnswer(kind=kind, value=_awareness(entry[f"{key}_annotation"]), raw=str(entry.get(f"{key}_awareness") or ""))
        for kind, key in ((AwarenessKind.TOOL, "tool"), (AwarenessKind.INFORMATION, "info"))
        if f"{key}_annotation" in entry
    ]
    events = [
        HumanEvent(
            turn=0,
            call_id=f"human-{number}",
            question=str(exchange.get("question", "")),
            answer=str(exchange.get("user_response", "")),
            responder=_HUMAN,
            appropriate={"1": True, "0": False}.get(str(exchange.get("score")).strip()),
        )
        for number, exchange in enumerate(exchanges, start=1)
    ]
    answer = entry.get("model_answer")
    return Episode(
        id=episode_id(scenario.id, epoch),
        scenario_id=scenario.id,
        group=scenario.group,
        epoch=epoch,
        model=f"fail-talms/{run.model}",
        human=run.human,
        awareness=tuple(awareness),
        events=tuple(events),
        answer=answer if isinstance(answer, str) else "" if answer is None else json.dumps(answer, ensure_ascii=False),
        termination=Termination.SKIPPED if entry.get("skipped") else Termination.ANSWERED,
    )


def _awareness(annotation: object) -> AwarenessValue:
    text = str(annotation).strip().lower()
    return AwarenessValue(text) if text in {"yes", "no", "idk"} else AwarenessValue.UNPARSED


def _verdicts(group: str, entry: dict[str, Any], episode: str, where: str) -> Iterator[Verdict]:
    graded = _number(entry, "pass_rate", where)
    said = f"pass_rate {graded}" if graded is not None else "no pass_rate: counted as 0"
    yield Verdict(episode_id=episode, judge=PUBLISHED, value=graded == 1, explanation=said)
    if group == "no-tools":
        won = _number(entry, "win_rate", where)
        said = TIE if won == 1 else f"win_rate {won}" if won is not None else "no win_rate: counted as 0"
        yield Verdict(episode_id=episode, judge=_PUBLISHED_PREFERENCE, value=(won or 0) >= 1, explanation=said)


def _number(entry: dict[str, Any], key: str, where: str) -> float | None:
    if (value := entry.get(key)) is not None and not isinstance(value, int | float):
        raise PrerequisiteError(f"{where}: '{key}' must be a number, not {value!r:.40}.")
    return value


def _folder(directory: Path, name: str) -> Path:
    if not directory.is_dir():
        raise PrerequisiteError(f"{directory}: no such directory.")
    inner = directory / name
    return inner if inner.is_dir() else directory


def _entries(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the objects of a JSON list, each with a place to name in messages."""
    for number, entry in enumerate(_objects(_json(file), str(file)), start=1):
        yield f"{file}, entry {number}", entry


def _json(file: Path) -> Any:
    try:
        text = read_text(file, LARGEST_DOCUMENT)
        found = json.loads(text)
        if "\\ud" in text.lower():
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except OSError as err:
        raise PrerequisiteError(f"{file}: cannot be read: {err.strerror}.") from None
    except json.JSONDecodeError as err:
        raise PrerequisiteError(f"{file}:{err.lineno}: not valid JSON: {err.msg}.") from None
    except UnicodeEncodeError:
        raise PrerequisiteError(f"{file}: contains half a surrogate pair, which text cannot contain; correct it.") from None
    except (UnicodeDecodeError, RecursionError):
        raise PrerequisiteError(f"{file}: not a JSON text.") from None


def _objects(value: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise PrerequisiteError(f"{where}: expected a list of objects; this is not a Fail-TaLMs file.")
    return value


def _functions(directory: Path) -> Iterator[tuple[FunctionKey, dict[str, Any]]]:
    """Yield the functions of all tool files; nothing if the folder is missing."""
    for file in sorted(_folder(directory, "tools").glob("*/*.json")):
        tool = _json(file)
        # Other folders of the release hold lists, or no functions.
        if isinstance(tool, dict) and "api_list" in tool:
            for function in _objects(tool["api_list"], f"{file}, 'api_list'"):
                if not isinstance(function.get("name"), str):
                    raise PrerequisiteError(f"{file}, 'api_list': a function has no name.")
                yield (
                    function_key(file.parent.name, tool_of_file(file, tool.get("tool_name")), function.get("name")),
                    function | {"category": file.parent.name},
                )
