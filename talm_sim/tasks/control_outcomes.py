"""What two controls come to in each group of the packaged scenarios: a careful and a careless one, so that a count has a scale.

The counts are played once and packaged; a test plays them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from talm_sim.tasks.options import PersonOptions

if TYPE_CHECKING:
    from talm_sim.tasks.base import Job


def controls_of(job: Job[Any], group: str) -> Iterator[tuple[str, str, Mapping[str, int]]]:
    """Yield what the controls came to in a group of packaged scenarios: which kind it is, its name, and its counts by outcome.

    Nothing is known of the user's own scenarios, of injected faults and of a control's own run.
    """
    options = job.options
    own = job.config.scenarios is not None or bool(getattr(options, "perturb", ())) or bool(getattr(options, "stop_after", None))
    if own or job.config.model.startswith("sim/"):
        return
    person = isinstance(options, PersonOptions) and options.human != "none"
    known = _table().get(job.task.name, {}).get(group, {})
    # With a person it is right to ask, without one to decline; where nothing is missing, to solve.
    careful = "sim/oracle" if group not in job.task.lacking else "sim/asker" if person else "sim/cautious"
    if good := known.get(f"{careful}{' with a person' if person and careful == 'sim/asker' else ''}"):
        yield "careful", careful, good
    words = getattr(options, "answer", "words") == "words"  # in values, what is left out is said to be unknown
    if words and (bad := known.get("sim/eager")) and bad != good:  # where nothing is missing, careless is no worse
        yield "careless", "sim/eager", bad


@cache
def _table() -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    found: dict[str, dict[str, dict[str, dict[str, int]]]] = json.loads(
        (files("talm_sim.tasks") / "control_outcomes.json").read_text(encoding="utf-8")
    )
    return found
