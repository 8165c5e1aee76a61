"""An episode's page shows the options with what the model made of them."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from talm_sim.cli.report.transcript import transcript
from talm_sim.tasks.when2call.scored import OptionScore, Scored
from talm_sim.tasks.when2call.task import page_sections
from talm_sim.types import Behaviour, Choice, Episode, Option, Scenario, Termination, Turn, Verdict

TEXTS = {"direct": "It is warm.", "tool_call": '{"name": "now", "arguments": {}}', "request_for_info": "Where?\x1b[31m", "cannot_answer": "No."}
SCENARIO = Scenario(
    id="w",
    task="when2call",
    group="request_for_info",
    turns=(Turn(messages=({"role": "user", "content": "Weather?"},)),),
    shown_tools=('{"name": "now"}',),
    target=Choice(gold=Behaviour.REQUEST_FOR_INFO, options=tuple(Option(behaviour=Behaviour(name), text=text) for name, text in TEXTS.items())),
)


def page(episode: Episode, *verdicts: Verdict) -> str:
    out = StringIO()
    Console(file=out, width=80, no_color=True).print(transcript(episode, SCENARIO, verdicts, list(page_sections(episode, SCENARIO))))
    return out.getvalue()


def test_a_scored_item_shows_right_and_chosen_and_no_control_characters() -> None:
    scores = tuple(OptionScore(behaviour=Behaviour(name), logprob=-float(n), tokens=3, size=10) for n, name in enumerate(TEXTS, 1))
    kept = Scored(option_scores=scores).model_dump(mode="json")
    episode = Episode(id="w", scenario_id="w", group="request_for_info", model="m/x", details=kept, termination=Termination.ANSWERED)
    text = page(episode)
    lines = {line.split()[0]: line for line in text.splitlines() if line.split() and line.split()[0] in TEXTS}
    assert lines["direct"].rstrip().endswith("chosen")
    assert lines["request_for_info"].rstrip().endswith("right")
    assert "-0.1000 per byte" in lines["direct"]
    assert "\x1b" not in text
    assert "Verdicts" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
