"""The names that extensions are built from, beside the public names of `talm_sim`. A name is imported when it is first used.

Everything is registered in one way, by a decorator of its class or function, or offered by a package as an entry point:

    register_task            a task: what it asks, what an answer counts as, what the rows add up to
    register_judge           a judge, which any task may use
    register_perturbation    a fault of tools, of the list of tools, or of the model
    register_responder       who answers an agent's questions
    register_provider        models, opened by name
    register_tool_source     tools, opened by `--tools-from`
    register_engine          where the shards of a run are played, for `--on`

A task itself names its makers, exporters and lessons; docs/extending.md says how.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talm_sim import _hand_on

if TYPE_CHECKING:
    from talm_sim.agent.responders import register_responder as register_responder
    from talm_sim.common.digests import digest as digest
    from talm_sim.judges import register_judge as register_judge
    from talm_sim.models.base import GenerationSettings as GenerationSettings, Model as Model
    from talm_sim.models.registry import register_provider as register_provider
    from talm_sim.models.request import ModelRequest as ModelRequest
    from talm_sim.recordings import HttpResponse as HttpResponse
    from talm_sim.runs.engines.base import (
        Engine as Engine,
        Order as Order,
        Played as Played,
        carry_out as carry_out,
        register_engine as register_engine,
    )
    from talm_sim.scenarios.making.options import MakingOptions as MakingOptions
    from talm_sim.scenarios.making.outcome import DroppedSource as DroppedSource, Made as Made, MakingSource as MakingSource
    from talm_sim.tasks import (
        EpisodeCalls as EpisodeCalls,
        Exported as Exported,
        Maker as Maker,
        Opened as Opened,
        PersonQuestion as PersonQuestion,
        Recorded as Recorded,
        register_task as register_task,
    )
    from talm_sim.tasks.row_figures import (
        Figure as Figure,
        average_of as average_of,
        difference_of as difference_of,
        mean_of as mean_of,
        ratio_of as ratio_of,
        within as within,
    )
    from talm_sim.tools_env.asking_tools import current_person as current_person
    from talm_sim.tools_env.perturbations import register_perturbation as register_perturbation
    from talm_sim.tools_env.routes import answer as answer, failure as failure, posted as posted
    from talm_sim.tools_env.sources.base import NotTaken as NotTaken, SourceOptions as SourceOptions, SourceRequest as SourceRequest
    from talm_sim.tools_env.sources.registry import SourceKind as SourceKind, register_tool_source as register_tool_source
    from talm_sim.training.lessons.lesson import Lessons as Lessons


__getattr__, __dir__ = _hand_on(
    globals(),
    {
        "talm_sim.agent.responders": "register_responder",
        "talm_sim.common.digests": "digest",
        "talm_sim.judges": "register_judge",
        "talm_sim.models.base": "GenerationSettings Model",
        "talm_sim.models.registry": "register_provider",
        "talm_sim.models.request": "ModelRequest",
        "talm_sim.recordings": "HttpResponse",
        "talm_sim.runs.engines.base": "Engine Order Played carry_out register_engine",
        "talm_sim.scenarios.making.options": "MakingOptions",
        "talm_sim.scenarios.making.outcome": "DroppedSource Made MakingSource",
        "talm_sim.tasks": "EpisodeCalls Exported Maker Opened PersonQuestion Recorded register_task",
        "talm_sim.tasks.row_figures": "Figure average_of difference_of mean_of ratio_of within",
        "talm_sim.tools_env.asking_tools": "current_person",
        "talm_sim.tools_env.perturbations": "register_perturbation",
        "talm_sim.tools_env.routes": "answer failure posted",
        "talm_sim.tools_env.sources.base": "NotTaken SourceOptions SourceRequest",
        "talm_sim.tools_env.sources.registry": "SourceKind register_tool_source",
        "talm_sim.training.lessons.lesson": "Lessons",
    },
)
