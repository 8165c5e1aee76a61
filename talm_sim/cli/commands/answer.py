"""`talm-sim answer [RUN]`."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import click
from rich.padding import Padding
from rich.text import Text

from talm_sim.agent.humans import DONT_KNOW, WONT_SAY
from talm_sim.cli.parsing.shared_arguments import INTERRUPTED, json_option, one_run_argument, print_json, run_dir_option, short_name
from talm_sim.cli.person import question_page as titles
from talm_sim.cli.person.question_page import NOTHING_MORE, describe_field, stand_in_lines
from talm_sim.cli.person.replies import Reply
from talm_sim.cli.person.sitting import Sitting
from talm_sim.cli.person.typed_lines import open_lines
from talm_sim.cli.terminal.console import print_page, stderr, with_command
from talm_sim.cli.terminal.text import as_json, count_each, one_line, safe_text
from talm_sim.config import check_person
from talm_sim.errors import PrerequisiteError, full_name, line_to_copy
from talm_sim.runs.tool_sources import resume_command
from talm_sim.store.desk import AnswerStatus, Desk, answer
from talm_sim.store.forms import form_fields, parse_object
from talm_sim.store.listing import unfinished_run, waiting_run
from talm_sim.store.questions import Question, suggest_open_episode
from talm_sim.store.stored_run import StoredRun, load_run
from talm_sim.types import Action, Approval, Decision, Form

RESPONDER = "answer"
_WAYS = ("--text", "--idk", "--skip", "--decide", "--undo")
_WITH_TEXT, _WITH_VALUES = ("reject", "respond"), ("edit", "accept")
"""Decisions that take --text, and those that take --values."""
_DISPLAYS = click.Choice(["full", "plain", "json", "none"])  # as of `run`
_DECIDE = "Decide about a call (approve, edit, reject, respond) or a form (accept, decline, cancel), without a prompt."


@click.command()
@one_run_argument
@run_dir_option
@click.option("--episode", metavar="EPISODE", help="Answer only this episode's questions.")
@click.option("--text", metavar="TEXT", help="The answer, without a prompt; the words of --decide reject or respond.")
@click.option("--idk", is_flag=True, help='Answer "I don\'t know", without a prompt.')
@click.option("--skip", is_flag=True, help="Decline to answer, without a prompt.")
@click.option("--decide", type=click.Choice(get_args(Action)), metavar="ACTION", help=_DECIDE)
@click.option("--values", metavar="JSON", help="The arguments of --decide edit, or the values of --decide accept.")
@click.option("--mark", type=click.Choice(["1", "0"]), help="Mark the question as appropriate (1) or not (0), with --text, --idk or --skip.")
@click.option("--undo", is_flag=True, help="Take back the last answer, if its episode has not continued yet.")
@click.option("--list", "only_list", is_flag=True, help="Only list the open questions.")
@click.option("--blind", is_flag=True, envvar="TALM_SIM_BLIND", help="Do not show what the user knows; runs made with blind never show it.")
@click.option("--name", metavar="NAME", envvar="TALM_SIM_NAME", default="", help="Your name, kept with your answers.")
@click.option("--display", type=_DISPLAYS, envvar="TALM_SIM_DISPLAY", default="full", metavar="NAME", help="full, or plain for screen readers.")
@json_option
def command(
    *,
    run: str | None,
    run_dir: Path,
    episode: str | None,
    text: str | None,
    idk: bool,
    skip: bool,
    decide: Action | None,
    values: str | None,
    mark: str | None,
    undo: bool,
    only_list: bool,
    blind: bool,
    name: str,
    display: str,
    as_json: bool,
) -> int:
    """Answer what a run is waiting for: questions, calls to approve, forms.

    You can leave out RUN if only one run is waiting. This works from any terminal, while the run is active or later. Questions appear
    one at a time, and every answer is saved at once. The first answer counts; it can be taken back until its episode continues.
    """
    answers = text is not None and decide is None
    ways = [way for way, given in zip(_WAYS, (answers, idk, skip, decide is not None, undo), strict=True) if given]
    _check_options(ways, decide, text, values, mark)
    try:
        name = check_person(name)
    except ValueError as err:
        raise PrerequisiteError(f"--name: {err}.") from None
    # An answer that is taken back may have been the last that was open.
    stored = load_run(run, run_dir) if run else load_run(unfinished_run(run_dir)) if undo else waiting_run(run_dir)
    if undo:
        _withdraw_last_answer(stored)
        return 0
    episode = _asking(stored, episode) if episode else ""
    if only_list or (as_json and not ways):
        _list(stored.pending(episode), as_json, blind)
    elif ways:
        reply = _reply(text, skip, None if mark is None else mark == "1") if decide is None else _decision(decide, text, values)
        _answer_without_prompt(stored, episode, reply, name)
    else:
        return _answer_with_prompt(stored, episode, name, blind=blind, plain=display == "plain")
    return 0


def _check_options(ways: list[str], decide: Action | None, text: str | None, values: str | None, mark: str | None) -> None:
    if len(ways) > 1:
        raise click.UsageError(f"{ways[0]} and {ways[1]} exclude each other.")
    if mark is not None and (not ways or ways[0] not in _WAYS[:3]):
        raise click.UsageError("--mark goes with --text, --idk or --skip.")
    if decide is not None and text is not None and decide not in _WITH_TEXT:
        raise click.UsageError(f"--decide {decide} takes no --text; reject and respond do.")
    if (values is not None) != (decide in _WITH_VALUES):
        words = f"--decide {decide} needs --values JSON" if values is None else "--values goes with --decide edit or --decide accept"
        raise click.UsageError(f"{words}.")


def _reply(text: str | None, skip: bool, mark: bool | None) -> Reply:
    if text is None:
        return Reply(WONT_SAY, "skip", mark) if skip else Reply(DONT_KNOW, "idk", mark)
    if not text.strip():
        raise PrerequisiteError("--text: the answer is empty; give a text, or use --idk or --skip.")
    return Reply(text.strip(), appropriate=mark)


def _decision(action: Action, text: str | None, values: str | None) -> Reply:
    given = None if values is None else parse_object(values, "--values")
    if action == "edit":
        return Reply(decision=Decision(action=action, arguments=given))
    return Reply(decision=Decision(action=action, message=(text or "").strip(), content=given))


def _asking(stored: StoredRun, episode: str) -> str:
    """Return the full name of the episode; it must have an open question."""
    waiting = stored.asking()
    episode = full_name(episode, waiting, "episodes") or episode
    if episode in waiting:
        return episode
    if episode in stored.answered():
        raise PrerequisiteError(f"--episode: '{episode}' has no open questions: they have been answered.")
    raise PrerequisiteError(f"--episode: '{episode}' has no open question.{suggest_open_episode(episode, waiting)}")


def _list(questions: list[Question], as_json: bool, blind: bool) -> None:
    if as_json:
        print_json([_record(question) | ({"knows": None, "stands_in": None} if blind else {}) for question in questions])
        return
    if not questions:
        click.echo("there are no open questions", err=True)
    for question in questions:
        said = {titles.REQUEST: question.query, titles.KNOWN: question.knows or NOTHING_MORE, **_asked(question)}
        if blind or question.knows is None:
            del said[titles.KNOWN]
            said.pop(titles.STANDS_IN, None)
        print_page(Text(safe_text(question.episode_id), style="bold"))
        for title, words in said.items():
            print_page(Padding(Text(f"{title}: {one_line(words, 2_000)}"), (0, 0, 0, 2)))


def _record(question: Question) -> dict[str, Any]:
    keys = ("episode_id", "attempt", "interrupt_id", "ask", "kind", "question", "asked_at", "scenario_id", "group", "query", "knows")
    request = None if question.request is None else question.request.model_dump(mode="json")
    replaces = None if question.stands_in is None else asdict(question.stands_in)
    return {**{key: getattr(question, key) for key in keys}, "request": request, "stands_in": replaces}


def _asked(question: Question) -> dict[str, str]:
    """Return what is asked, by its title."""
    match question.request:
        case Approval() as call:
            again = " (it may have run already)" if call.may_have_run else ""
            about = {titles.ABOUT_CALL: call.description} if call.description else {}
            return {titles.CALL: f"{call.name} {as_json(call.arguments)}{again}", **about, "You can": ", ".join(call.allowed)}
        case Form() as form:
            fields = "; ".join(map(describe_field, form_fields(form)))
            return {titles.ASKED: form.message, titles.FIELDS: fields or "without fields"}
        case _:
            replaces = {} if question.stands_in is None else {titles.STANDS_IN: " ".join(stand_in_lines(question.stands_in))}
            return {titles.ASKED: question.question, **replaces}


def _answer_without_prompt(stored: StoredRun, episode: str, reply: Reply, name: str) -> None:
    if not (questions := stored.pending(episode, limit=2)):
        raise PrerequisiteError(f"{stored.path}: there are no open questions.")
    if not episode and len(questions) > 1:
        raise click.UsageError(f"{count_each(stored.open_items)} are open; use --episode to say which one this answers.")
    _file(stored, questions[0], reply, name)
    _hint(stored)


def _answer_with_prompt(stored: StoredRun, episode: str, name: str, *, blind: bool, plain: bool) -> int:
    console = stderr()
    plain = plain or console.is_dumb_terminal
    with (
        closing(open_lines(console, plain=plain)) as lines,
        closing(Desk(stored.path)) as desk,
        closing(Sitting(desk, console, lines, RESPONDER, name=name, episode=episode, blind=blind, plain=plain)) as sitting,
    ):

        async def sit() -> None:
            while (state := await sitting.put_next()) != "closed":
                if state == "none" and not sitting.ask_again():
                    break

        if not sitting.open():
            console.print("there are no open questions")
        try:
            asyncio.run(sit())
        except KeyboardInterrupt:
            console.print("\ninterrupted; all answers are kept")
            return INTERRUPTED
        finally:
            if sitting.answered:
                console.print(f"{count_each(sitting.given)} answered")
            _hint(stored, given=bool(sitting.answered))
    return 0


def _file(stored: StoredRun, question: Question, reply: Reply, name: str) -> None:
    status = answer(
        stored.path,
        question.key,
        reply.text,
        declined=reply.declined,
        responder=RESPONDER,
        appropriate=reply.appropriate,
        decision=reply.decision,
        name=name,
    )
    words = {
        AnswerStatus.DELIVERED: "saved; the episode continues",
        AnswerStatus.SAVED: "saved",
        AnswerStatus.TAKEN: "not saved: somebody else answered first",
        AnswerStatus.GONE: "not saved: this question is no longer open",
    }
    click.echo(f"{safe_text(question.episode_id)}: {words[status]}", err=True)


def _withdraw_last_answer(stored: StoredRun) -> None:
    if not stored.answered():
        raise PrerequisiteError(f"{stored.path}: there is no answer to take back: nobody has answered a question of this run.")
    with closing(Desk(stored.path)) as desk:
        if (given := desk.last_withdrawable()) is None or not desk.withdraw(given.key):
            raise PrerequisiteError(f"{stored.path}: no answer can be taken back: every answered episode has continued.")
    click.echo(f"{safe_text(given.key[0])}: taken back: {Reply(given.text, given.declined).shown}", err=True)
    _hint(stored)


def _hint(stored: StoredRun, *, given: bool = False) -> None:
    """Print how many questions are open, and how to continue the run if no process is running it."""
    name = short_name(stored.path)
    if left := stored.open_items:
        click.echo(with_command(f"{count_each(left)} still open; answer with", line_to_copy("talm-sim", "answer", name)), err=True)
    if stored.owner is None and stored.finished < stored.total:
        if given:
            click.echo(
                with_command("made a mistake? take back the last answer with", line_to_copy("talm-sim", "answer", name, "--undo")), err=True
            )
        click.echo(f"no process is running this run now; continue it with: {resume_command(stored.job, name)}", err=True)
