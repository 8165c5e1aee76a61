"""Inspect's side: its own loop of a model and its tools, a model API and a tool of the same code; run by the Python of scripts/exports.sh.

Logs are as by default; only the display is off, and the log is not read back after it was written, as in `inspect eval`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessageTool, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, get_model, modelapi
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool

from benchmarks.beside_inspect.work import WITHOUT_LIVE_VIEW, Work, capital, measure, question

_present: list[Work] = []


@tool  # type: ignore[untyped-decorator]
def look_up() -> Any:
    async def execute(country: str) -> str:
        """Return the capital of a country.

        Args:
            country: The country.
        """
        return await _present[-1].look_up(country)

    return execute


@modelapi(name="scripted")
class Scripted(ModelAPI):  # type: ignore[misc]
    """Answers as the work says."""

    async def generate(self, input: list[Any], tools: list[Any], tool_choice: Any, config: GenerateConfig) -> ModelOutput:
        last = input[-1]
        asked = next(one.text for one in input if one.role == "user")
        said = await _present[-1].generate(asked, last.text if isinstance(last, ChatMessageTool) else None)
        if "text" in said:
            output = ModelOutput.from_content(self.model_name, said["text"])
        else:
            output = ModelOutput.for_tool_call(self.model_name, "look_up", said)
        output.usage = ModelUsage()
        return output


def play(work: Work, episodes: int, in_flight: int, place: Path) -> Callable[[], dict[str, int]]:
    _present.append(work)
    samples = [Sample(id=number + 1, input=question(number), target=capital(f"country-{number}")) for number in range(episodes)]
    task = Task(dataset=samples, solver=[use_tools(look_up()), generate()], scorer=includes())
    (log,) = eval(
        task,
        model=get_model("scripted/model", config=GenerateConfig(max_connections=in_flight)),
        max_samples=in_flight,
        log_dir=str(place),
        log_header_only=True,
        log_realtime=None if WITHOUT_LIVE_VIEW not in sys.argv else False,
        display="none",
    )
    assert log.status == "success", log.error

    def count() -> dict[str, int]:
        kept = read_eval_log(log.location).samples or []
        return {
            "episodes": len(kept),
            "right": sum(one.scores["includes"].value == "C" for one in kept),
            "model_calls": sum(event.event == "model" for one in kept for event in one.events),
            "tool_calls": sum(event.event == "tool" for one in kept for event in one.events),
        }

    return count


if __name__ == "__main__":
    measure(play, f"inspect_ai {version('inspect_ai')}")
