"""`talm-sim answer RUN`."""

from __future__ import annotations

from pathlib import Path

import click

from talm_sim.agent.humans import DONT_KNOW
from talm_sim.cli.arguments import json_option, print_json, print_list, run_argument, run_dir_option, short_name
from talm_sim.cli.console import stderr
from talm_sim.cli.prompt import CLOSED, LATER, WONT_SAY, LineReader, Reply, ask
from talm_sim.cli.text import clean, count, one_line
from talm_sim.errors import PrerequisiteError, did_you_mean, full_name
from talm_sim.runs.desk import AnswerStatus, Question, answer
from talm_sim.runs.load import StoredRun, load_run

__all__ = ["command"]

RESPONDER = "answer"


@click.command()
@run_argument
@run_dir_option
@click.option("--episode", metavar="EPISODE", help="Answer only this episode's questions.")
@click.option("--text", metavar="TEXT", help="The answer, without a prompt.")
@click.option("--idk", is_flag=True, help='Answer "I don\'t know", without a prompt.')
@click.option("--skip", is_flag=True, help="Decline to answer, without a prompt.")
@click.option("--list", "only_list", is_flag=True, help="Only list the open questions.")
@json_option
def command(*, run: str, run_dir: Path, episode: str | None, text: str | None, idk: bool, skip: bool, only_list: bool, as_json: bool) -> None:
    """Answer the questions a run waits for.

    From any terminal, while it runs or later. The questions are put one by one; every answer is kept at once. The first answer to a question
    stands.
    """
    stored = load_run(run, run_dir)
    questions = _questions(stored, episode)
    ways = [name for name, given in (("--text", text is not None), ("--idk", idk), ("--skip", skip)) if given]
    if len(ways) > 1:
        raise click.UsageError(f"{ways[0]} and {ways[1]} exclude each other.")
    if only_list or (as_json and not ways):
        _list(questions, as_json)
    elif ways:
        _answer_without_prompt(stored, questions, episode, text, skip)
    else:
        _answer_with_prompt(stored, questions, episode)


def _questions(stored: StoredRun, episode: str | None) -> list[Question]:
    pending = stored.pending()
    if episode is None:
        return pending
    episode = full_name(episode, {question.episode_id for question in pending}, "episodes") or episode
    mine = [question for question in pending if question.episode_id == episode]
    if not mine and episode in stored.answered():
        raise PrerequisiteError(f"--episode: '{episode}' has no open question any more: it was answered.")
    if not mine:
        hint = did_you_mean(episode, dict.fromkeys(q.episode_id for q in pending)) if pending else " No question of this run is open."
        raise PrerequisiteError(f"--episode: '{episode}' has no open question.{hint}")
    return mine


def _list(questions: list[Question], as_json: bool) -> None:
    if as_json:
        keys = ("episode_id", "attempt", "interrupt_id", "ask", "question", "asked_at", "scenario_id", "group", "query")
        print_json([{key: getattr(question, key) for key in keys} for question in questions])
        return
    rows = [{"episode": question.episode_id, "question": one_line(question.question)} for question in questions]
    print_list(rows, {"episode": "Episode", "question": "Question"}, empty="no question is open")


def _answer_without_prompt(stored: StoredRun, questions: list[Question], episode: str | None, text: str | None, skip: bool) -> None:
    if not questions:
        raise PrerequisiteError(f"{stored.path}: no question is open.")
    if episode is None and len(questions) > 1:
        raise click.UsageError(f"{len(questions)} questions are open: say with --episode which one this answers.")
    if text is not None:
        if not text.strip():
            raise PrerequisiteError("--text: the answer is empty; give a text, or use --idk or --skip.")
        reply = Reply(text.strip())
    else:
        reply = Reply(WONT_SAY, "skip") if skip else Reply(DONT_KNOW, "idk")
    for question in questions[:1]:
        _say(_file(stored, question, reply), question)
    _hint(stored)


def _answer_with_prompt(stored: StoredRun, questions: list[Question], episode: str | None) -> None:
    console, reader = stderr(), LineReader()
    if not questions:
        console.print("no question is open")
    seen: set[tuple[str, int, str]] = set()
    try:
        while todo := [question for question in questions if question.key not in seen]:
            question = todo[0]
            seen.add(question.key)
            reply = ask(console, reader, question, len(todo) - 1)
            if reply == CLOSED:
                break
            if reply != LATER:
                _say(_file(stored, question, reply), question)
            # Episodes that went on meanwhile may have asked again, and another person may have answered.
            questions = [item for item in stored.pending() if episode in (None, item.episode_id)]
    finally:
        reader.close()
    _hint(stored)


def _file(stored: StoredRun, question: Question, reply: Reply) -> AnswerStatus:
    return answer(
        stored.path,
        question.episode_id,
        reply.text,
        declined=reply.declined,
        responder=RESPONDER,
        attempt=question.attempt,
        interrupt_id=question.interrupt_id,
    )


def _say(status: AnswerStatus, question: Question) -> None:
    words = {
        AnswerStatus.DELIVERED: "saved; the episode goes on",
        AnswerStatus.SAVED: "saved",
        AnswerStatus.TAKEN: "not saved: somebody else answered first",
    }
    click.echo(f"{clean(question.episode_id)}: {words[status]}", err=True)


def _hint(stored: StoredRun) -> None:
    """Where the run stands, and how it is continued where nobody runs it."""
    left = len(stored.pending())
    if left:
        click.echo(f"{count(left, 'question')} still open", err=True)
    if stored.owner is None and stored.finished < stored.total:
        click.echo(f"nobody runs this run now; continue it with: talm-sim resume {short_name(stored.path)}", err=True)
