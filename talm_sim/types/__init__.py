"""The core types every room shares: frozen pydantic models, so an episode is one JSON document and can be scored again offline.

From the lowest layer up:

- `base.py` is the base of all core types
- `pages.py` makes the HTML of a notebook's cell, `written_figures.py` writes a figure
- `tools.py` says what can be done: tools, and the calls that models make of them
- `requests.py` says what an agent puts to a person besides a question: a call to approve, a form
- `episodes.py` says what happened, `scenarios.py` what is asked, what is missing from it and what is right
- `measures.py` says what episodes count as, and their totals: rows, measures, summaries
- `steps.py` makes an episode a list of steps, and finds the first one in which two differ
"""

from __future__ import annotations

from talm_sim.types.base import (
    FrozenModel,
    JsonObject,
)
from talm_sim.types.episodes import (
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Episode,
    Event,
    HumanEvent,
    ModelTurn,
    Origin,
    PerturbationLog,
    Precision,
    Termination,
    TokenLogprob,
    ToolEvent,
    Usage,
    episode_id,
)
from talm_sim.types.measures import (
    UNPARSED,
    Curve,
    LabelMeasured,
    Matrix,
    Measure,
    Measured,
    Outcome,
    Rate,
    Row,
    Series,
    Summary,
    Verdict,
)
from talm_sim.types.requests import (
    Action,
    Approval,
    Decision,
    Declined,
    Form,
    PersonRequest,
)
from talm_sim.types.scenarios import (
    AcceptedCall,
    Behaviour,
    Calls,
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
    YesNo,
)
from talm_sim.types.steps import Line, Section
from talm_sim.types.tools import (
    FINISH,
    GoldCall,
    Route,
    ToolCall,
    ToolSpec,
    UnparsableCall,
)

__all__ = [
    "FINISH",
    "UNPARSED",
    "AcceptedCall",
    "Action",
    "Approval",
    "AwarenessAnswer",
    "AwarenessKind",
    "AwarenessValue",
    "Behaviour",
    "Calls",
    "Choice",
    "Curve",
    "Decision",
    "Declined",
    "Episode",
    "Event",
    "Fact",
    "Facts",
    "Form",
    "FrozenModel",
    "GoldCall",
    "HumanEvent",
    "JsonObject",
    "LabelMeasured",
    "Line",
    "Matrix",
    "Measure",
    "Measured",
    "Missing",
    "MissingKind",
    "ModelTurn",
    "Option",
    "Origin",
    "Outcome",
    "PersonRequest",
    "PerturbationLog",
    "Precision",
    "Rate",
    "Route",
    "Row",
    "Scenario",
    "Section",
    "Series",
    "Source",
    "Summary",
    "Target",
    "Termination",
    "TokenLogprob",
    "ToolCall",
    "ToolEvent",
    "ToolSpec",
    "Turn",
    "UnparsableCall",
    "Usage",
    "Verdict",
    "YesNo",
    "episode_id",
]
