"""The core types every room shares: frozen pydantic models, so an episode is one JSON document and can be scored again offline."""

from __future__ import annotations

from talm_sim.types.base import (
    JsonObject,
    Record,
)
from talm_sim.types.episodes import (
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Episode,
    Event,
    HumanEvent,
    ModelTurn,
    OptionScore,
    Origin,
    PerturbationLog,
    Termination,
    ToolEvent,
    Usage,
    episode_id,
)
from talm_sim.types.measures import (
    Line,
    Matrix,
    Measure,
    Measured,
    Row,
    Section,
    Summary,
)
from talm_sim.types.scenarios import (
    Behaviour,
    Choice,
    Fact,
    Facts,
    Missing,
    MissingKind,
    Option,
    Scenario,
    Source,
    Target,
    Turn,
)
from talm_sim.types.tools import (
    GoldCall,
    ToolCall,
    ToolSpec,
    UnparsableCall,
)
from talm_sim.types.verdicts import (
    Rate,
    Verdict,
)

__all__ = [
    "AwarenessAnswer",
    "AwarenessKind",
    "AwarenessValue",
    "Behaviour",
    "Choice",
    "Episode",
    "Event",
    "Fact",
    "Facts",
    "GoldCall",
    "HumanEvent",
    "JsonObject",
    "Line",
    "Matrix",
    "Measure",
    "Measured",
    "Missing",
    "MissingKind",
    "ModelTurn",
    "Option",
    "OptionScore",
    "Origin",
    "PerturbationLog",
    "Rate",
    "Record",
    "Row",
    "Scenario",
    "Section",
    "Source",
    "Summary",
    "Target",
    "Termination",
    "ToolCall",
    "ToolEvent",
    "ToolSpec",
    "Turn",
    "UnparsableCall",
    "Usage",
    "Verdict",
    "episode_id",
]
