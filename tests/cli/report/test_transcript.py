from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from talm_sim.cli.report.transcript import transcript
from talm_sim.tasks.talm.task import page_sections
from talm_sim.types import (
    AwarenessAnswer,
    AwarenessKind,
    AwarenessValue,
    Episode,
    HumanEvent,
    Line,
    Missing,
    MissingKind,
    ModelTurn,
    PerturbationLog,
    Scenario,
    Section,
    Termination,
    TokenLogprob,
    ToolCall,
    ToolEvent,
    Turn,
    UnparsableCall,
    Usage,
    Verdict,
)

SCENARIO = Scenario(
    id="geo-01.underspecified",
    group="underspecified",
    turns=(Turn(messages=({"role": "user", "content": "How many people live there?"},)),),
    missing=Missing(kind=MissingKind.ARGUMENT, name="country", value="FR", removed_text="in France", human_answer="In France."),
)
EPISODE = Episode(
    id="geo-01.underspecified@2",
    scenario_id="geo-01.underspecified",
    group="underspecified",
    epoch=2,
    model="openai/some",
    human="terminal",
    awareness=(AwarenessAnswer(kind=AwarenessKind.INFORMATION, value=AwarenessValue.NO, raw="No\x1b[31m!"),),
    model_turns=(
        ModelTurn(text="Let me [bold]look[/bold].", unparsable_calls=(UnparsableCall(id="9", name="f", raw="{", reason="malformed JSON"),)),
        ModelTurn(reasoning="hm", text="68 million.", stop="length"),
    ),
    events=(
        ToolEvent(
            turn=0,
            call_id="1",
            name="population",
            arguments={"country": "FR", "year": 2020},
            result='{"detail": "broken"}',
            ok=False,
            status=500,
            error="http_500",
            perturbations=(
                PerturbationLog(name="http-500", armed=1, fired=1, seen=1),
                PerturbationLog(name="slow", armed=1, fired=1),
                PerturbationLog(name="http-404:p=0", armed=1),
            ),
        ),
        HumanEvent(turn=0, call_id="2", question="Which country?", answer="France\x1b]0;title\x07", responder="terminal"),
        HumanEvent(turn=1, call_id="3", question="Which year?", answer="Sorry.", responder="terminal", declined="idk"),
    ),
    perturbations=(PerturbationLog(name="http-500", armed=3, fired=1),),
    answer="68 million.",
    termination=Termination.ANSWERED,
    usage=Usage(input_tokens=1200, output_tokens=34),
)
VERDICTS = [
    Verdict(episode_id=EPISODE.id, judge="reference", value=False, explanation="fact 'population' [2020] is missing"),
    Verdict(episode_id=EPISODE.id, judge="llm", value=True, votes=(True, True, False, True)),
    Verdict(episode_id=EPISODE.id, judge="preference", value=None, explanation="no judge model"),
]


def page(
    episode: Episode = EPISODE,
    scenario: Scenario | None = SCENARIO,
    verdicts: list[Verdict] | None = None,
    added: list[Section] | None = None,
    **how: Any,
) -> str:
    console = Console(file=io.StringIO(), width=80, markup=False, highlight=False)
    found = added if added is not None else list(page_sections(episode, scenario)) if scenario else []
    console.print(transcript(episode, scenario, VERDICTS if verdicts is None else verdicts, found, **how))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_page_tells_the_whole_episode() -> None:
    text = " ".join(page().split())
    for part in (
        "geo-01.underspecified@2 (underspecified, epoch 2)",
        "ended: answered after 2 model turns, 1,200 tokens in, 34 out",
        "How many people live there?",
        "argument country (removed: “in France”)",
        "Asked 'Do you have enough information?', it said: no",
        "! not a valid call: f {: malformed JSON",
        "→ population(country='FR', year=2020)",
        "failed 500 http_500 live 0 ms perturbation http-500 fired perturbation slow injected, not seen by the model "
        "perturbation http-404:p=0 could have been hit, was not",
        '{"detail": "broken"}',
        "asks the human: Which country? a person (at the terminal): France",
        "asks the human: Which year? a person (at the terminal): does not know",
        "thinks: hm",
        "(cut off at the token limit of one turn)",
        "http-500: hit 1 of 3 eligible calls",
        "reference: fail fact 'population' [2020] is missing",
        "llm: pass (3 of 4 votes)",
        "preference: no verdict no judge model",
    ):
        assert part in text
    assert text.index("Turn 1") < text.index("→ population") < text.index("Which country?") < text.index("Turn 2") < text.index("Which year?")


def test_the_answer_is_printed_once() -> None:
    text = page()
    assert text.count("68 million.") == 1
    assert "Turn 2, the answer\n" in text and "\nAnswer\n" not in text
    other = page(EPISODE.model_copy(update={"answer": "69 million."}))
    assert "Turn 2\n" in other and "\nAnswer\n  69 million.\n" in other
    asked = page(EPISODE.model_copy(update={"model_turns": (ModelTurn(text="Paris."),), "events": (), "answer": " Paris.\n"}))
    assert "Turn 1, the answer\n  Paris.\n" in asked


def _looping(*results: str) -> Episode:
    turns = tuple(ModelTurn(tool_calls=(ToolCall(id=str(n), name="f", arguments={"x": 1}),)) for n in range(len(results)))
    events = tuple(
        ToolEvent(turn=n, call_id=str(n), name="f", arguments={"x": 1}, result=result, ok=True, status=200, elapsed_ms=n)
        for n, result in enumerate(results)
    )
    return EPISODE.model_copy(update={"model_turns": (*turns, ModelTurn(text="Done.")), "events": events, "answer": "Done."})


def test_turns_that_are_alike_are_printed_once_unless_all_is_asked_for() -> None:
    episode = _looping(*["no"] * 60, "yes", "no", "no")
    text = page(episode)
    assert [line for line in text.splitlines() if line.startswith("Turn")] == [
        "Turns 1 to 60, all identical",
        "Turn 61",
        "Turns 62 to 63, all identical",
        "Turn 64, the answer",
    ]
    assert text.count("→ f(x=1)") == 3
    assert page(episode, full=True).count("→ f(x=1)") == 63


def test_a_call_that_an_earlier_turn_made_names_it_in_place_of_the_result() -> None:
    episode = _looping("a result", "another", "a result", "a third")
    text = page(episode)
    assert text.count("a result") == 1 and "→ f(x=1)  the same call as in turn 1, with the same result\n" in text
    assert text.count("another") == text.count("a third") == 1, "the same call with another result is shown whole"
    assert page(episode, full=True).count("a result") == 2


def test_foreign_text_cannot_style_or_steer_the_terminal() -> None:
    text = page()
    assert "\x1b" not in text
    assert "[bold]look[/bold]" in text


def test_the_likeliest_first_tokens_are_shown_in_brief_or_whole() -> None:
    tokens = tuple(TokenLogprob(token=token, logprob=-float(place)) for place, token in enumerate((" Yes", "\x1b[31mNo", "\n", "a", "b", "c")))
    episode = EPISODE.model_copy(update={"model_turns": (ModelTurn(text="Yes", first_tokens=tokens),), "events": ()})
    brief = " ".join(page(episode).split())
    assert r"first token: ' Yes' 1.000, '\x1b[31mNo' 0.368, '\n' 0.135, 'a' 0.050, 'b' 0.018" in brief
    assert "'c'" not in brief and "\x1b" not in brief
    assert "'c' 0.007" in page(episode, full=True)
    assert "first token" not in page()


def test_what_a_task_adds_stands_below_the_query() -> None:
    long = Line(text="  " + "word " * 40)
    parts = (Line(text="Yes\x1b[31m", style="strong"), Line(text="  right\nor not", style="good"), Line(text="[bold]"))
    added = [Section.of("First\x1b[2J", ["one", ""]), Section(title="Second", lines=(parts, (long,)))]
    lines = [line.rstrip() for line in page(added=added).splitlines()]
    assert lines.index("Query") < lines.index("First") < lines.index("Second") < lines.index("Turn 1")
    assert "  one" in lines and "  Yes  right or not[bold]" in lines
    begun = [line for line in lines if "word word" in line]
    assert len(begun) > 2 and all(line.startswith("    word") and len(line) <= 80 for line in begun), "what is broken stays behind its margin"
    assert "Missing" not in lines and "Awareness" not in lines


LATER = SCENARIO.model_copy(
    update={
        "turns": (
            Turn(messages=({"role": "system", "content": "Speak of millions."}, *SCENARIO.turns[0].messages)),
            Turn(messages=({"role": "user", "content": "And in [i]Italy[/i]?\x1b[31m"},)),
            Turn(messages=({"role": "user", "content": "And in Spain?"},)),
        )
    }
)


def test_what_the_user_says_later_stands_where_it_came() -> None:
    turns = (ModelTurn(text="68 million."), ModelTurn(text="59 million.", user_turn=1), ModelTurn(text="59 million.", user_turn=1))
    text = page(EPISODE.model_copy(update={"model_turns": turns, "events": (), "answer": "", "termination": Termination.TURN_LIMIT}), LATER)
    text = "\n".join(line.rstrip() for line in text.splitlines())
    assert "\x1b" not in text
    places = [
        text.index(part)
        for part in (
            "Query\n  System: Speak of millions.\n  User: How many people live there?",
            "Turn 1",
            "68 million.",
            "The user, request 2\n  And in [i]Italy[/i]?",
            "Turns 2 to 3, all identical",
            "The user, unanswered\n  And in Spain?",
            "Verdicts",
        )
    ]
    assert places == sorted(places)
    assert text.count("Italy") == text.count("Spain") == 1


def test_a_reminder_and_the_answer_that_a_call_gives_are_shown() -> None:
    finish = ToolCall(id="f", name="Finish", arguments={"final_answer": "68 million."})
    turns = (ModelTurn(text="Let me look.", reminded=True), ModelTurn(tool_calls=(finish,)))
    more = {"model_turns": turns, "events": (), "answer": "68 million.", "perturbations": ()}
    unread = AwarenessAnswer(kind=AwarenessKind.INFORMATION, value=AwarenessValue.YES, raw="Yes.", unread=("Well.", "Hm."))
    text = page(EPISODE.model_copy(update={**more, "awareness": (unread,)}))
    hidden, unknown = (ToolCall(id=name, name=name, arguments={}) for name in ("find_book", "loan"))
    masked = (PerturbationLog(name="mask:tool=find_book", armed=1, fired=1),)
    left = page(EPISODE.model_copy(update={**more, "model_turns": (ModelTurn(tool_calls=(hidden, unknown)), *turns), "perturbations": masked}))
    assert "not executed: this tool is hidden" in left and "a tool of the agent's own, or none that it has" in " ".join(left.split())
    assert "(no call: reminded to call Finish)" in text
    assert "→ Finish" in text and "not executed" not in text
    assert text.count("68 million.") == 1
    assert "try 1 could not be read: “Well.”" in text and "try 2 could not be read: “Hm.”" in text
