"""Any perturbations together, in any order: no call fails by itself, and the logs agree with what was read."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from hypothesis import given, strategies as st

from talm_sim.agent.exposure import settle_exposure
from talm_sim.tools_env.clock import VirtualClock
from talm_sim.tools_env.environment import Environment
from talm_sim.tools_env.perturbations import PERTURBATIONS
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import ModelTurn, ToolCall, ToolEvent
from tests.tools_env.perturbations.expected import EXPECTED
from tests.tools_env.perturbations.stock import ORDER, TOOLS, Stock, scenario

_KINDS = [name for name in PERTURBATIONS.names() if PERTURBATIONS.get(name).family != "model"]
_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "p": st.sampled_from(["0", "0.5", "1"]),
        "tool": st.sampled_from([*TOOLS, ORDER]),
        "seed": st.sampled_from(["0", "7"]),
        "times": st.sampled_from(["0", "1"]),
        "after": st.sampled_from(["0", "1"]),
        "call": st.sampled_from(["1", "2"]),
    },
)


@st.composite
def perturbations(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(_KINDS))
    takes = PERTURBATIONS.get(name).Options.model_fields
    needed = [part for part in EXPECTED[name].options.split(",") if part and not part.startswith("tool=")]
    options = [*needed, *(f"{key}={value}" for key, value in draw(_OPTIONS).items() if key in takes)]
    # A tool that lacks what is damaged is refused at once where it is named, so only a mask names one.
    return f"{name}:{','.join(option for option in options if name == 'mask' or not option.startswith('tool='))}".rstrip(":")


@given(
    perturb=st.lists(perturbations(), min_size=1, max_size=3),
    calls=st.lists(st.tuples(st.sampled_from([*TOOLS, ORDER]), st.sampled_from(["a", "bb", ""])), min_size=1, max_size=4),
    seed=st.integers(0, 3),
    prompts=st.integers(0, 4),
    writing=st.booleans(),
)
def test_any_perturbations_in_any_order(perturb: list[str], calls: list[tuple[str, str]], seed: int, prompts: int, writing: bool) -> None:
    others = {name: [{"item": "other"}] for name in TOOLS}
    environment = Environment(Tools([Stock()]), perturb=tuple(perturb), seed=seed, clock=VirtualClock, others=others, writing=writing)
    opened = environment.open(scenario())
    asked = [ToolCall(id=str(turn), name=name, arguments={"item": item}) for turn, (name, item) in enumerate(calls)]

    async def make_calls() -> list[ToolEvent]:
        return [await opened.call(call, turn) for turn, call in enumerate(asked)]

    events = asyncio.run(make_calls())
    for event in events:
        event.result.encode()
        logs = event.perturbations
        assert [log.place for log in logs] == sorted({log.place for log in logs})
        assert all(log.name == perturb[log.place] for log in logs)
        assert all(log.seen <= log.fired <= log.armed <= 1 and log.armed + log.not_applicable == 1 for log in logs)
        assert all(log.fired for log in logs if log.injected is not None)
        changes = [log for log in logs if log.injected is not None]
        assert not changes or (changes[-1].injected, changes[-1].seen) == (event.result, 1), "what the last one put there is what is read"
        # Each replaced what the one before it had put there.
        assert all(one.injected == two.replaced for one, two in pairwise(changes))
    # A prompt follows the first calls only.
    turns = [ModelTurn(raw_text="", raw_prompt="")] * prompts
    settled, totals = settle_exposure(events, turns, opened.logs(), "all", asked=False)
    assert [(log.name, log.place) for log in totals] == [(text, place) for place, text in enumerate(perturb)]
    assert all(log.seen <= log.fired <= log.armed for log in totals)
    read = [event for event in settled if isinstance(event, ToolEvent)]
    assert not any(log.seen for event in read if event.turn + 1 >= prompts for log in event.perturbations)
    assert [event.result for event in read] == [event.result for event in events]
