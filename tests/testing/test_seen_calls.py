"""Which names an episode did not offer: made-up ones and hidden tools, but none that a perturbation showed."""

from __future__ import annotations

import pytest

from talm_sim.testing.seen_calls import names_not_offered
from talm_sim.types import Episode, ModelTurn, PerturbationLog, Scenario, Termination, ToolCall, ToolSpec, Turn

SPECS = {name: ToolSpec(name=name, category="c", description=f"Do {name}.") for name in ("get_size", "get_weight", "sing")}
SCENARIO = Scenario(id="s", group="perfect", turns=(Turn(messages=({"role": "user", "content": "q"},)),), tools=("get_size", "sing"))


@pytest.mark.parametrize(
    ("perturb", "offered"),
    [
        ("", {"get_size", "sing"}),
        ("mask:tool=sing", {"get_size"}),
        ("rename", {"fetch_size", "sing_v2"}),
        ("rename:tool=sing,to=hum", {"get_size", "hum"}),
        ("distractors:n=1", {"get_size", "sing", "get_weight"}),
        ("description:mode=scrambled", {"get_size", "sing"}),
    ],
)
def test_a_name_was_offered_if_the_model_saw_it(perturb: str, offered: set[str]) -> None:
    known = ("get_size", "get_weight", "sing", "fetch_size", "sing_v2", "hum", "made_up")
    turn = ModelTurn(raw_text="", text="", tool_calls=tuple(ToolCall(id=name, name=name) for name in known))
    episode = Episode(
        id="s",
        scenario_id="s",
        group="perfect",
        model="m/m",
        model_turns=(turn,),
        perturbations=(PerturbationLog(name=perturb),) if perturb else (),
        termination=Termination.ANSWERED,
    )
    assert names_not_offered(episode, SCENARIO, SPECS, 0) == [name for name in known if name not in offered]
