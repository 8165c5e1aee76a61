"""`talm-sim answer [RUN]`."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click
from rich.padding import Padding
from rich.text import Text

from talm_sim.agent.humans import DONT_KNOW, WONT_SAY
from talm_sim.cli.parsing.arguments import INTERRUPTED, json_option, one_run_argument, print_json, run_dir_option, short_name
from talm_sim.cli.person.prompt import NOTHING_MORE, Reply
from talm_sim.cli.person.sitting import Sitting
from talm_sim.cli.person.typed_lines import open_lines
from talm_sim.cli.terminal.console import print_page, stderr
from talm_sim.cli.terminal.text import count, one_line, strip_control
from talm_sim.errors import PrerequisiteError, full_name, line_to_copy
from talm_sim.runs.desk import AnswerStatus, Desk, answer
from talm_sim.runs.listing import unfinished_run, waiting_run
from talm_sim.runs.questions import Question, suggest_open_episode
from talm_sim.runs.stored_run import StoredRun, load_run
from talm_sim.runs.tool_sources import resume_command

__all__ = ["command"]

RESPONDER = "answer"
_WAYS = ("--text", "--idk", "--skip", "--undo")


@click.command()
@one_run_argument
@run_dir_option
@click.option("--episode", metavar="EPISODE", help="Answer only this episode's questions.")
@click.option("--text", metavar="TEXT", help="The answer, without a prompt.")
@click.option("--idk", is_flag=True, help='Answer "I don\'t know", without a prompt.')
@click.option("--skip", is_flag=True, help="Decline to answer, without a prompt.")
@click.option("--mark", type=click.Choice(["1", "0"]), help="Mark the question as appropriate (1) or not (0), with one of the three above.")
@click.option("--undo", is_flag=True, help="Take back the last answer, if its episode has not continued yet.")
@click.option("--reverse", is_flag=True, help="Begin with the most recent question.")
@click.option("--list", "only_list", is_flag=True, help="Only list the open questions.")
@click.option("--blind", is_flag=True, envvar="TALM_SIM_BLIND", help="Hide what the user knows; runs made with --blind always do.")
@click.option("--display", metavar="NAME", envvar="TALM_SIM_DISPLAY", default="full", help="full, or plain for screen readers.")
@json_option
def command(
    *,
    run: str | None,
    run_dir: Path,
    episode: str | None,
    text: str | None,
    idk: bool,
    skip: bool,
    mark: str | None,
    undo: bool,
    reverse: bool,
    only_list: bool,
    blind: bool,
    display: str,
    as_json: bool,
) -> int:
    """Answer the questions a run is waiting for.

    You can leave out RUN if only one run is waiting. This works from any terminal, while the run is active or later. The questions are
    asked one by one, and every answer is saved at once. The first answer to a question counts; it can be taken back until its episode
    continues.
    """
    ways = [name for name, given in zip(_WAYS, (text is not None, idk, skip, undo), strict=True) if given]
    if len(ways) > 1:
        raise click.UsageError(f"{ways[0]} and {ways[1]} exclude each other.")
    if mark is not None and (undo or not ways):
        raise click.UsageError("--mark goes with --text, --idk or --skip.")
    # An answer that is taken back may have been the last that was open.
    stored = load_run(run, run_dir) if run else unfinished_run(run_dir) if undo else waiting_run(run_dir)
    if undo:
        _withdraw_last_answer(stored)
        return 0
    episode = _asking(stored, episode) if episode else ""
    if only_list or (as_json and not ways):
        _list(stored.pending(episode, last_first=reverse), as_json, blind)
    elif ways:
        _answer_without_prompt(stored, episode, text, skip, None if mark is None else mark == "1")
    else:
        return _answer_with_prompt(stored, episode, blind=blind, plain=display == "plain", reverse=reverse)
    return 0


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
        keys = ("episode_id", "attempt", "interrupt_id", "ask", "question", "asked_at", "scenario_id", "group", "query", "knows")
        print_json([{key: getattr(question, key) for key in keys} | ({"knows": None} if blind else {}) for question in questions])
        return
    if not questions:
        click.echo("there are no open questions", err=True)
    for question in questions:
        said = {"The user asked": question.query, "You know": question.knows or NOTHING_MORE, "It asks you": question.question}
        if blind or question.knows is None:
            del said["You know"]
        print_page(Text(strip_control(question.episode_id), style="bold"))
        for title, words in said.items():
            print_page(Padding(Text(f"{title}: {one_line(words, 2_000)}"), (0, 0, 0, 2)))


def _answer_without_prompt(stored: StoredRun, episode: str, text: str | None, skip: bool, mark: bool | None) -> None:
    questions = stored.pending(episode, limit=2)
    if not questions:
        raise PrerequisiteError(f"{stored.path}: there are no open questions.")
    if not episode and len(questions) > 1:
        raise click.UsageError(f"{stored.open_questions} questions are open; use --episode to say which one this answers.")
    if text is not None:
        if not text.strip():
            raise PrerequisiteError("--text: the answer is empty; give a text, or use --idk or --skip.")
        reply = Reply(text.strip())
    else:
        reply = Reply(WONT_SAY, "skip") if skip else Reply(DONT_KNOW, "idk")
    _file(stored, questions[0], replace(reply, appropriate=mark))
    _hint(stored)


def _answer_with_prompt(stored: StoredRun, episode: str, *, blind: bool, plain: bool, reverse: bool) -> int:
    console = stderr()
    plain = plain or console.is_dumb_terminal
    with (
        closing(open_lines(console, plain=plain)) as lines,
        closing(Desk(stored.path)) as desk,
        closing(Sitting(desk, console, lines, RESPONDER, episode=episode, last_first=reverse, blind=blind, plain=plain)) as sitting,
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
                console.print(f"{count(sitting.answered, 'question')} answered")
            _hint(stored, given=bool(sitting.answered))
    return 0


def _file(stored: StoredRun, question: Question, reply: Reply) -> None:
    status = answer(stored.path, question.key, reply.text, declined=reply.declined, responder=RESPONDER, appropriate=reply.appropriate)
    words = {
        AnswerStatus.DELIVERED: "saved; the episode continues",
        AnswerStatus.SAVED: "saved",
        AnswerStatus.TAKEN: "not saved: somebody else answered first",
        AnswerStatus.GONE: "not saved: this question is no longer open",
    }
    click.echo(f"{strip_control(question.episode_id)}: {words[status]}", err=True)


def _withdraw_last_answer(stored: StoredRun) -> None:
    if not stored.answered():
        raise PrerequisiteError(f"{stored.path}: there is no answer to take back: nobody has answered a question of this run.")
    with closing(Desk(stored.path)) as desk:
        given = desk.last_withdrawable()
        if given is None or not desk.withdraw(given.key):
            raise PrerequisiteError(f"{stored.path}: no answer can be taken back: every answered episode has continued.")
    click.echo(f"{strip_control(given.key[0])}: taken back: {Reply(given.text, given.declined).shown}", err=True)
    _hint(stored)


def _hint(stored: StoredRun, *, given: bool = False) -> None:
    """Print how many questions are open, and how to continue the run if no process is running it."""
    name = short_name(stored.path)
    left = stored.open_questions
    if left:
        click.echo(f"{count(left, 'question')} still open; answer with: {line_to_copy('talm-sim', 'answer', name)}", err=True)
    if stored.owner is None and stored.finished < stored.total:
        if given:
            click.echo(f"made a mistake? take back the last answer with: {line_to_copy('talm-sim', 'answer', name, '--undo')}", err=True)
        click.echo(f"no process is running this run now; continue it with: {resume_command(stored.job, name)}", err=True)
