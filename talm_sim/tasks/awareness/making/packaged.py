"""The package's own scenarios of task `talm` as complete scenarios of task `awareness`, and files of such scenarios."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from talm_sim.common.plain_files import LARGEST_DATA, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.jsonl import parse
from talm_sim.scenarios.load import read_scenario
from talm_sim.scenarios.tool_texts import required_of, spec_of
from talm_sim.tasks.awareness.making.loaded import TASK, LoadedSource, SourceProblem, complete_scenario, fault_in
from talm_sim.tasks.awareness.making.remove import BY_PEOPLE, make_removed_scenario
from talm_sim.types import Fact, Facts, Scenario, ToolSpec

__all__ = ["from_talm", "load_lines"]


def load_lines(path: Path) -> LoadedSource:
    """Read a JSONL file of scenarios of task `awareness`, originals and manipulated ones.

    Raises:
        PrerequisiteError: The file cannot be read or is not UTF-8.
    """
    try:
        text = read_text(path, LARGEST_DATA)
    except OSError as err:
        raise PrerequisiteError(f"{path}: cannot be read: {err.strerror}; give a JSONL file with one scenario per line.") from None
    except UnicodeDecodeError:
        raise PrerequisiteError(f"{path}: is not UTF-8 text; save the file as UTF-8.") from None
    scenarios: dict[str, Scenario] = {}
    problems: list[SourceProblem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            one = _read(line, f"{path}:{number}")
            if isinstance(one, Scenario) and one.id in scenarios:
                one = SourceProblem(f"{path}:{number}", f"id '{one.id}' is used twice; ids must be unique.")
            if isinstance(one, Scenario):
                scenarios[one.id] = one
            else:
                problems.append(one)
    return LoadedSource(tuple(scenarios.values()), tuple(problems))


def _read(line: str, where: str) -> Scenario | SourceProblem:
    try:
        scenario = read_scenario(parse(line), where, TASK)
    except ValueError as err:
        return SourceProblem(where, f"not JSON ({err}); write one scenario per line.")
    except PrerequisiteError as err:
        return SourceProblem(where, str(err).removeprefix(f"{where}: "))
    fault = fault_in(scenario)
    return SourceProblem(where, fault) if fault else scenario


def from_talm(scenarios: Sequence[Scenario], specs: Mapping[str, ToolSpec]) -> LoadedSource:
    """Turn scenarios in which nothing is missing into scenarios of task `awareness`.

    Args:
        scenarios: Any scenarios. Those of group `perfect` are taken, and those in which a person left something out of a perfect one.
        specs: The tools they name.

    Returns:
        One scenario for each perfect one, with the tools offered and all its gold calls, under the id `<id>.complete`; and for each of which
        a variant leaves nothing that can be served, that variant.
    """
    found: list[Scenario] = []
    removed: dict[str, Scenario] = {}
    asked: dict[str, tuple[Fact, ...]] = {}
    problems: list[SourceProblem] = []
    variants: defaultdict[str, list[Scenario]] = defaultdict(list)
    for one in scenarios:
        if one.group in _LEFT_OUT:
            variants[one.base].append(one)
    for scenario in (one for one in scenarios if one.group == "perfect"):
        where = f"scenario '{scenario.id}'"
        unknown = [name for name in scenario.tools if name not in specs]
        if unknown:
            problems.append(SourceProblem(where, f"tools: there is no specification of '{unknown[0]}'; correct the name."))
            continue
        shown = [{key: getattr(specs[name], key) for key in ("name", "category", "description", "parameters")} for name in scenario.tools]
        said = [message for turn in scenario.turns for message in turn.messages]
        needed = [call.tool for call in scenario.gold_calls]
        try:
            found.append(complete_scenario(f"{scenario.id}.complete", said, shown, needed, scenario.source, scenario.gold_calls))
        except ValueError as err:
            problems.append(SourceProblem(where, str(err)))
            continue
        asked[found[-1].id] = scenario.target.required if isinstance(scenario.target, Facts) else ()
        variant = next(filter(None, (_removed(found[-1], one) for one in variants[scenario.id])), None)
        if variant is not None:
            removed[found[-1].id] = variant
    return LoadedSource(tuple(found), tuple(problems), removed, asked)


_LEFT_OUT = ("several-gaps", "underspecified")
"""Groups of task `talm` in which a person left something out."""


def _removed(original: Scenario, variant: Scenario) -> Scenario | None:
    """Return the variant as a manipulation of the original; None if one of its calls can still be made."""
    required = {str(spec["name"]): required_of(spec) for spec in map(spec_of, original.shown_tools)}
    for call in original.gold_calls:
        lost = [one.name for one in variant.missing if call.arguments.get(one.name) == one.value]
        if not set(lost) & set(required[call.tool]):
            return None
    (turn,) = original.turns
    said = turn.model_copy(update={"messages": variant.turns[-1].messages})
    return make_removed_scenario(original, (said,), variant.missing, BY_PEOPLE)
