"""Find the causes that many episodes of a run share, in words that say what to do about each. A cause is one entry of `_CAUSES`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from talm_sim.config import RunConfig
from talm_sim.errors import line_to_copy
from talm_sim.tasks import AgentOptions, RunView
from talm_sim.tasks.outcomes import NO_ANSWER
from talm_sim.types import Episode, Row, Summary, Termination, Verdict

_LEAST, _SHARE, _SHARE_UNDECIDED = 10, 0.25, 0.1
"""A cause is named if at least a quarter of at least so many episodes share it; more than a tenth of what is undecided."""
_MOST_UNDECIDED = 0.05
"""Share of the verdicts asked of a model above which its judge is of no use."""
_FEWEST = 3
"""Episodes without a call that say something of an agent."""


class RunOnScreen(RunView, Protocol):
    """A stored run as the screen and its causes read it."""

    @property
    def config(self) -> RunConfig:
        """What was run."""

    @property
    def finished(self) -> int:
        """How many episodes are finished."""

    @property
    def total(self) -> int:
        """How many episodes are planned."""

    @property
    def waiting(self) -> int:
        """How many episodes wait for an answer."""

    def at_once(self) -> AbstractContextManager[None]:
        """Read through one connection."""

    @property
    def terminations(self) -> dict[Termination, int]:
        """How many finished episodes ended in each termination."""

    @property
    def failed_verdicts(self) -> dict[str, int]:
        """How many verdicts failed, by judge."""

    def verdicts(self, judges: Container[str] | None = None) -> Iterator[Verdict]:
        """Yield the verdicts of all judges, or of some."""

    def rows(self) -> list[Row]:
        """Return what each finished episode counts as."""

    def summary(self) -> list[Summary]:
        """Return the summary of each group."""

    def episode(self, episode_id: str) -> Episode:
        """Return one finished episode."""


def find_lost(run: RunOnScreen, rows: Sequence[Row]) -> Iterator[str]:
    """Yield why over a quarter of a run's episodes gave no answer, so that its numbers say little; nothing if fewer did."""
    silent, own = _silent(rows), run.job.config.model.startswith("agent/")
    ended = sum(number for end, number in run.terminations.items() if end.failed or end is Termination.BLOCKED)
    if ended + len(silent) <= _SHARE * len(rows):
        return
    causes = Counter(filter(None, (_why_lost(one, silent=one.id in silent, own=own) for one in run.episodes())))
    if causes.total() > _SHARE * len(rows) and not run.imported:
        likeliest, number = causes.most_common(1)[0]
        yield f"{causes.total():,} of {len(rows):,} gave no answer: {number:,} {likeliest}"


def _silent(rows: Sequence[Row]) -> set[str]:
    return {row.episode for row in rows if row.silent or row.outcome == NO_ANSWER.name}


def is_lost(run: RunOnScreen, rows: Sequence[Row]) -> bool:
    """Return whether a run is to end with code 1: too few of its answers came, or a model left too many verdicts undecided."""
    undecided = undecided_verdicts(run).values()
    return any(find_lost(run, rows)) or any(len(left) > _MOST_UNDECIDED * asked for left, asked in undecided)


def _why_lost(episode: Episode, *, silent: bool, own: bool) -> str:
    if (failed := episode.termination.failed) or episode.termination is Termination.BLOCKED:
        return f"{'failed' if failed else 'were blocked by the provider'} ({' '.join(episode.error.split())[:120]})"
    if not silent:
        return ""
    last = episode.model_turns[-1] if episode.gave_no_answer else None
    if last is None or (own and not episode.saw_model):
        return "ended with a call" if episode.model_turns and episode.model_turns[-1].tool_calls else "ended without a text"
    thought = bool(last.reasoning or last.raw_text)
    if last.stop == "length":
        return f"were cut off {'while thinking' if thought else 'before a word'}: raise --max-new-tokens"
    return "ended after a thought" if thought else "ended without a text" if own else "got nothing from the server, neither a text nor a call"


def find_idle(runs: Iterable[tuple[RunView, Sequence[Row]]]) -> Iterator[str]:
    """Yield what to do where an own agent called none of its tools in at least three episodes of some runs, and one of them ended badly."""
    played = [(run, rows) for run, rows in runs if getattr(run.job.options, "agent", None) and not run.imported]
    episodes = [one for run, _ in played for one in run.episodes() if one.group != "no-tools" and not one.crashed]
    idle = len(episodes) >= _FEWEST and not any(one.tool_events for one in episodes)
    bad = {one.name for run, _ in played for one in run.job.task.outcomes if one.kind == "bad"}
    if idle and any(row.outcome in bad for _, rows in played for row in rows):
        yield "the agent called none of the tools that it was given: pass it the tools of its second argument"


def undecided_verdicts(run: RunOnScreen) -> dict[str, tuple[list[Verdict], int]]:
    """Return, by judge, the verdicts for which a model was asked and could not decide, and how many were asked of it."""
    found: dict[str, tuple[list[Verdict], int]] = {}
    for verdict in run.verdicts(run.failed_verdicts):
        if verdict.asked:
            left, asked = found.get(verdict.judge, ([], 0))
            found[verdict.judge] = ([*left, verdict] if verdict.undecided else left), asked + 1
    return {judge: one for judge, one in found.items() if one[0]}


def say_undecided(name: str, summaries: Iterable[Summary]) -> Iterator[str]:
    """Say of which groups of a run a judge left over a tenth undecided, and what decides them."""
    left = [(one, measure.undecided) for one in summaries if not one.derived for measure in one.measures if measure.undecided]
    much = [f"{one.group} {open_:,} of {one.n:,}" for one, open_ in left if open_ > _SHARE_UNDECIDED * one.n]
    if much:
        ways = (("--judge-model", "PROVIDER/NAME"), ("--judge", "person"))
        yield f"undecided: {'; '.join(much)}; to decide them: {' or '.join(line_to_copy('talm-sim', 'judge', name, *way) for way in ways)}"


def find_causes(run: RunOnScreen, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the causes that a quarter of a run's episodes share, the commonest first, without what other notes say."""
    scored = {row.episode: row for row in rows if row.scored}
    if len(scored) < _LEAST:
        return
    known, told = any(find_lost(run, rows)) and _silent(rows), undecided_verdicts(run)
    causes = _CAUSES if isinstance(run.job.options, AgentOptions) else _OF_ANSWERS
    causes = [one for one in causes if one is not _NO_CALL] if any(find_idle([(run, rows)])) else causes
    found: dict[Callable[..., str] | str, list[Episode]] = {}
    for episode in run.episodes():
        if episode.id in scored and not (known and episode.id in known):
            for holds, words in causes:
                if holds(episode, scored[episode.id]) and not (told and holds is _UNDECIDED[0]):
                    found.setdefault(words, []).append(episode)
    for words, episodes in sorted(found.items(), key=lambda item: -len(item[1])):
        if len(episodes) >= _SHARE * len(scored) or (words == _UNDECIDED[1] and len(episodes) > _SHARE_UNDECIDED * len(scored)):
            yield words.format(k=len(episodes), n=len(scored)) if isinstance(words, str) else words(episodes, len(scored))


def _say_ran_out(episodes: Sequence[Episode], whole: int) -> str:
    in_words = sum(not any(turn.tool_calls or turn.unparsable_calls for turn in episode.model_turns[-1:]) for episode in episodes)
    repeats = sum(_repeats_a_refused_call(episode) for episode in episodes)
    more = f", {repeats} of them repeating a call that the tool refuses" if repeats else ""
    more += f"; {in_words} ended in words without calling Finish: try --finish text" if in_words >= len(episodes) / 2 else ""
    return f"{len(episodes)} of {whole} ended at the limit of turns or tokens, whatever else they came to{more}"


def _repeats_a_refused_call(episode: Episode) -> bool:
    failed = Counter((event.name, repr(event.arguments)) for event in episode.tool_events if not event.ok)
    return max(failed.values(), default=0) > 1


def _say_all_failed(episodes: Sequence[Episode], whole: int) -> str:
    errors = Counter(event.error for episode in episodes for event in episode.tool_events if event.error)
    (error, _), *_rest = errors.most_common(1) or [("", 0)]
    return f"in {len(episodes)} of {whole} all calls of tools failed{f', mostly with {error}' if error else ''}"


_Cause = tuple[Callable[[Episode, Row], bool], Callable[[Sequence[Episode], int], str] | str]
_UNDECIDED: _Cause = (
    lambda _, row: row.outcome == "not_decided",
    "the judge could not decide {k} of {n}; a model can: talm-sim judge RUN --judge-model PROVIDER/NAME, or you: --judge person",
)
_NO_CALL: _Cause = (
    lambda episode, _: not episode.tool_events and episode.termination is Termination.ANSWERED,
    "in {k} of {n} no tool was called before the answer",
)
_CAUSES: Sequence[_Cause] = (
    (
        lambda episode, _: episode.termination is Termination.SKIPPED,
        "{k} of {n} never began: they answered No to the question before the start; to see what the model does without it, add --no-awareness",
    ),
    (lambda episode, _: episode.termination in (Termination.TURN_LIMIT, Termination.TOKEN_LIMIT), _say_ran_out),
    (
        lambda episode, _: {event.ok or any(log.fired for log in event.perturbations) for event in episode.tool_events} == {False},
        _say_all_failed,
    ),
    _NO_CALL,
    _UNDECIDED,
)
"""Whether an episode has a cause, and what is said of those that have it, `k` of `n`."""
_OF_ANSWERS: Sequence[_Cause] = (
    _UNDECIDED,
    (
        lambda _, row: row.outcome in ("not_read", "unreadable_call"),
        "{k} of {n} answers could not be read; see what the model wrote with talm-sim show",
    ),
)
"""Those of tasks whose model answers one request."""
