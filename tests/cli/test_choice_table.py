from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.text import Text

from talm_sim.cli.choice_table import choice_lines, choice_markdown
from talm_sim.cli.shades import contrast, shade
from talm_sim.judges.choices import ChoiceSummary, summarize_choices
from talm_sim.runs.tables import choice_record
from talm_sim.types import Behaviour, Choice, Episode, Option, OptionScore, Scenario, Termination, Turn, Verdict

DIRECT, CALL, ASK, CANNOT = Behaviour
OPTIONS = tuple(Option(behaviour=one, text="x") for one in Behaviour)


def item(name: str, gold: Behaviour, *, tools: bool = True) -> Scenario:
    turn = Turn(messages=({"role": "user", "content": "?"},))
    shown = ('{"name": "t"}',) if tools else ()
    return Scenario(id=name, group=gold.value, turns=(turn,), shown_tools=shown, target=Choice(gold=gold, options=OPTIONS))


def chose(name: str, chosen: Behaviour) -> Episode:
    scores = tuple(OptionScore(behaviour=one, logprob=-float(one is not chosen), tokens=1, size=1) for one in Behaviour)
    return Episode(id=name, scenario_id=name, group="g", model="m/m", option_scores=scores, termination=Termination.ANSWERED)


@pytest.fixture
def chosen() -> list[ChoiceSummary]:
    rows = [(item("a", CALL), CALL), (item("b", ASK), CALL), (item("c", CANNOT, tools=False), CANNOT), (item("d", CANNOT), DIRECT)]
    long = Episode(id="e", scenario_id="e", group="g", model="m/m", termination=Termination.CONTEXT_OVERFLOW)
    return summarize_choices([*(chose(row.id, label) for row, label in rows), long], [*(row for row, _ in rows), item("e", CALL)], [])


@pytest.fixture
def judged() -> list[ChoiceSummary]:
    rows = [item("a", CALL), item("b", ASK)]
    said = [Verdict(episode_id=name, judge="behaviour", value=True, label=label) for name, label in (("a", "tool_call"), ("b", "unparsed"))]
    free = [Episode(id=row.id, scenario_id=row.id, group="g", model="m/m", answer="x", termination=Termination.ANSWERED) for row in rows]
    return summarize_choices(free, rows, said)


def plain(lines: list[Text]) -> str:
    return "\n".join(line.plain for line in lines)


def test_the_screen_of_given_answers(chosen: list[ChoiceSummary]) -> None:
    lines = list(choice_lines("hf/tiny", chosen, ["template: default"]))
    text = plain(lines)
    assert all(len(line.plain) <= 80 for line in lines)
    assert "  all                     4         .50         .50         .33" in text
    assert "of 5" in text and ".15–.85" in text
    assert "    tool       tool call where no tools are shown       .00  .00–.79        0/1" in text
    assert "    parameter  tool call where information is missing  1.00 .21–1.00        1/1" in text
    assert "  gold \\ predicted     direct tool_call   request    cannot     F1" in text
    assert "  cannot_answer            1         0         0         1     .67" in text
    assert "not scored: 1 context_overflow" in text and "template: default" in text
    assert "unparsed" not in text


def test_the_screen_of_free_answers(judged: list[ChoiceSummary]) -> None:
    lines = list(choice_lines("openai/x", judged))
    text = plain(lines)
    assert all(len(line.plain) <= 80 for line in lines)
    assert "  request_for_info         0         0         0         0         1     .00" in text
    assert "classified by judge behaviour (rules, no model" in text
    assert "1 answer of no readable behaviour (unparsed); counted as wrong" in text
    assert "no row shows no tools" in text
    assert "    tool       tool call where no tools are shown         –" in text


def test_an_empty_run_has_no_matrix(chosen: list[ChoiceSummary]) -> None:
    text = plain(list(choice_lines("m/m", summarize_choices([], [item("a", CALL)], []))))
    assert "gold \\" not in text and "–" in text


def test_the_largest_numbers_fit(judged: list[ChoiceSummary]) -> None:
    (one,) = judged
    huge = one.model_copy(update={"matrix": tuple((1_234_567,) * 5 for _ in range(4)), "n": 24_691_340, "total": 24_691_341})
    lines = list(choice_lines("p/" + "x" * 200, [huge], ["n" * 300], is_control=True))
    assert all(len(line.plain) <= 80 for line in lines)
    assert "1234567   1234567" in plain(lines)


@pytest.mark.parametrize("share", [number / 50 for number in range(51)])
def test_digits_can_be_read_on_every_shade(share: float) -> None:
    assert contrast(*shade(share)) >= 4.5


def test_darker_is_more() -> None:
    against_white = [contrast(shade(number / 50)[0], (255, 255, 255)) for number in range(51)]
    assert against_white == sorted(against_white)
    assert shade(-1) == shade(0) and shade(2) == shade(1)


def test_shade_is_only_in_colour(chosen: list[ChoiceSummary]) -> None:
    def shown(colour: bool) -> str:
        console = Console(file=StringIO(), force_terminal=colour, color_system="truecolor" if colour else None, width=80, markup=False)
        for line in choice_lines("m/m", chosen):
            console.print(line, soft_wrap=True)
        assert isinstance(console.file, StringIO)
        return console.file.getvalue()

    assert "48;2;8;48;107" in shown(True), "the cell that holds its whole row is the darkest"
    assert "\x1b" not in shown(False)


def test_no_text_reaches_the_screen_as_an_escape(chosen: list[ChoiceSummary]) -> None:
    assert "\x1b" not in plain(list(choice_lines("m/\x1b[31mred", chosen, ["\x1b]0;title\x07note"])))


def test_markdown_holds_the_same_figures_and_no_cell_breaks_out(chosen: list[ChoiceSummary], judged: list[ChoiceSummary]) -> None:
    text = "\n".join(choice_markdown("m|x", chosen, ["a|b\nc"]))
    assert "### m\\|x" in text and "- a\\|b c" in text
    assert "| all | 4 of 5 | .50 [.15–.85] | .50 [.15–.85] | .33" in text
    assert "| tool call where information is missing | 1.00 [.21–1.00] | 1/1 |" in text
    assert "| request_for_info | 0 | 1 | 0 | 0 |" in text
    assert "| request_for_info | 0 | 0 | 0 | 0 | 1 |" in "\n".join(choice_markdown("m", judged))


def test_the_record_is_flat_and_complete(chosen: list[ChoiceSummary], judged: list[ChoiceSummary]) -> None:
    row = choice_record(chosen[0])
    assert all(value is None or isinstance(value, str | int | float) for value in row.values())
    assert (row["n"], row["total"], row["not_scored"], row["mode"], row["judge"]) == (4, 5, 1, "logprob", None)
    assert (row["accuracy"], row["accuracy_k"], row["accuracy_n"]) == (0.5, 2, 4)
    assert (row["parameter_hallucination"], row["tool_hallucination_n"], row["answer_hallucination_k"]) == (1, 1, 1)
    assert (row["request_for_info_as_tool_call"], row["support_cannot_answer"], row["recall_cannot_answer"]) == (1, 2, 0.5)
    assert row["precision_request_for_info"] is None and row["f1_request_for_info"] == 0
    assert "direct_as_unparsed" not in row
    free = choice_record(judged[0])
    assert (free["request_for_info_as_unparsed"], free["accuracy_norm"], free["accuracy_norm_n"], free["unparsed"]) == (1, None, None, 1)
