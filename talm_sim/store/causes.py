"""Find the causes that many episodes of a run share, in words that say what to do about each. A cause is one function in `_CAUSES`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from talm_sim.tasks import AgentOptions, RunView
from talm_sim.tasks.outcomes import NO_ANSWER
from talm_sim.types import Episode, Row, Termination, Verdict

_LEAST, _SHARE = 10, 0.25
"""A cause is named if at least a quarter of at least so many episodes share it."""
_MOST_UNDECIDED = 0.05
"""Share of the verdicts asked of a model above which its judge is of no use."""


def find_lost(run: RunView, rows: Sequence[Row]) -> Iterator[str]:
    """Yield why over a quarter of a run's episodes gave no answer, so that its numbers say little; nothing if fewer did."""
    silent = {row.episode for row in rows if row.silent or row.outcome == NO_ANSWER.name}
    causes = Counter(filter(None, (_why_lost(one, silent=one.id in silent) for one in run.episodes())))
    if causes.total() > _SHARE * len(rows) and not run.imported:
        likeliest, number = causes.most_common(1)[0]
        yield f"{causes.total():,} of {len(rows):,} gave no answer: {number:,} {likeliest}"


def is_lost(run: RunView, rows: Sequence[Row]) -> bool:
    """Return whether a run is to end with code 1: too few of its answers came, or a model left too many verdicts undecided."""
    undecided = undecided_verdicts(run).values()
    return any(find_lost(run, rows)) or any(len(left) > _MOST_UNDECIDED * asked for left, asked in undecided)


def _why_lost(episode: Episode, *, silent: bool) -> str:
    failed = episode.termination.failed
    if failed or episode.termination is Termination.BLOCKED:
        return f"{'failed' if failed else 'were blocked by the provider'} ({' '.join(episode.error.split())[:120]})"
    if not silent:
        return ""
    last = episode.model_turns[-1] if episode.gave_no_answer else None
    if last is None:
        return "ended without a text"
    thought = bool(last.reasoning or last.raw_text)
    if last.stop == "length":
        return f"were cut off {'while thinking' if thought else 'before a word'}: raise --max-new-tokens"
    return "ended after a thought" if thought else "got nothing from the server, neither a text nor a call"


def undecided_verdicts(run: RunView) -> dict[str, tuple[list[Verdict], int]]:
    """Return, by judge, the verdicts for which a model was asked and could not decide, and how many were asked of it."""
    found: dict[str, tuple[list[Verdict], int]] = {}
    for verdict in run.verdicts():
        if verdict.asked:
            left, asked = found.get(verdict.judge, ([], 0))
            found[verdict.judge] = ([*left, verdict] if verdict.undecided else left), asked + 1
    return {judge: one for judge, one in found.items() if one[0]}


def find_causes(run: RunView, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the causes that a quarter of a run's episodes share, the commonest first.

    Args:
        run: The run.
        rows: Its rows.
    """
    scored = {row.episode: row for row in rows if row.scored}
    if len(scored) < _LEAST:
        return
    acts = isinstance(run.job.options, AgentOptions)
    found: dict[Callable[..., str], list[Episode]] = {}
    for episode in run.episodes():
        if episode.id in scored:
            for holds, words in _CAUSES if acts else _OF_ANSWERS:
                if holds(episode, scored[episode.id]):
                    found.setdefault(words, []).append(episode)
    for words, episodes in sorted(found.items(), key=lambda item: -len(item[1])):
        if len(episodes) >= _SHARE * len(scored):
            yield words(episodes, len(scored))


def _never_began(episode: Episode, _: Row) -> bool:
    return episode.termination is Termination.SKIPPED


def _say_never_began(episodes: Sequence[Episode], whole: int) -> str:
    return (
        f"{len(episodes)} of {whole} never began: they answered No to the question before the start; to see what the model does "
        "without it, add --no-awareness"
    )


def _ran_out(episode: Episode, _: Row) -> bool:
    return episode.termination in (Termination.TURN_LIMIT, Termination.TOKEN_LIMIT)


def _say_ran_out(episodes: Sequence[Episode], whole: int) -> str:
    in_words = sum(not any(turn.tool_calls or turn.unparsable_calls for turn in episode.model_turns[-1:]) for episode in episodes)
    repeats = sum(_repeats_a_refused_call(episode) for episode in episodes)
    more = f", {repeats} of them repeating a call that the tool refuses" if repeats else ""
    more += f"; {in_words} ended in words without calling Finish: try --finish text" if in_words >= len(episodes) / 2 else ""
    return f"{len(episodes)} of {whole} ran out of turns or tokens{more}"


def _repeats_a_refused_call(episode: Episode) -> bool:
    failed = Counter((event.name, repr(event.arguments)) for event in episode.tool_events if not event.ok)
    return max(failed.values(), default=0) > 1


def _all_calls_failed(episode: Episode, _: Row) -> bool:
    return bool(episode.tool_events) and not any(event.ok for event in episode.tool_events)


def _say_all_failed(episodes: Sequence[Episode], whole: int) -> str:
    errors = Counter(event.error for episode in episodes for event in episode.tool_events if event.error)
    (error, _), *_rest = errors.most_common(1) or [("", 0)]
    return f"in {len(episodes)} of {whole} all calls of tools failed{f', mostly with {error}' if error else ''}"


def _never_called(episode: Episode, _: Row) -> bool:
    return not episode.tool_events and episode.termination is Termination.ANSWERED


def _say_never_called(episodes: Sequence[Episode], whole: int) -> str:
    return f"in {len(episodes)} of {whole} no tool was called before the answer"


def _undecided(_: Episode, row: Row) -> bool:
    return row.outcome == "not_decided"


def _say_undecided(episodes: Sequence[Episode], whole: int) -> str:
    return f"the judge could not decide {len(episodes)} of {whole}; a model can: talm-sim judge RUN --judge-model PROVIDER/NAME"


def _unread(_: Episode, row: Row) -> bool:
    return row.outcome in ("not_read", "unreadable_call")


def _say_unread(episodes: Sequence[Episode], whole: int) -> str:
    return f"{len(episodes)} of {whole} answers could not be read; see what the model wrote with talm-sim show"


_CAUSES: Sequence[tuple[Callable[[Episode, Row], bool], Callable[[Sequence[Episode], int], str]]] = (
    (_never_began, _say_never_began),
    (_ran_out, _say_ran_out),
    (_all_calls_failed, _say_all_failed),
    (_never_called, _say_never_called),
    (_undecided, _say_undecided),
)
_OF_ANSWERS = ((_undecided, _say_undecided), (_unread, _say_unread))
"""Those of tasks whose model answers one request."""
