"""Read a file of scenario lines; broken ones are left out and counted."""

from __future__ import annotations

from pathlib import Path

from talm_sim.common.plain_files import LARGEST_DATA, read_text
from talm_sim.errors import PrerequisiteError
from talm_sim.scenarios.jsonl import parse
from talm_sim.scenarios.load import read_scenario
from talm_sim.tasks.awareness.making.loaded import TASK, LoadedSource, SourceProblem, fault_in
from talm_sim.types import Scenario

__all__ = ["load_lines"]


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
