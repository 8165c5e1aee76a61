"""A stored run as a block of the result table: its title, and the notes that a reader of its rows needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from talm_sim.cli.parsing.shared_arguments import short_name
from talm_sim.cli.report.fault_notes import fault_notes, perturbation_notes
from talm_sim.cli.report.layout import Block, merge_paper_rows
from talm_sim.cli.report.run_usage import total_usage
from talm_sim.cli.terminal.text import count, one_line
from talm_sim.comparison.gate_set import tools_past
from talm_sim.config import RESULT_LIMIT, RunConfig, Traffic
from talm_sim.errors import format_names, line_to_copy
from talm_sim.judges.base import CUT_OFF
from talm_sim.models.registry import has_traffic
from talm_sim.runs.prices import Price
from talm_sim.store.causes import find_lost, say_undecided, undecided_verdicts
from talm_sim.store.people.alone import ALONE
from talm_sim.store.people.kept_verdicts import is_of_people
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import AgentOptions, PersonOptions
from talm_sim.types import HumanEvent, Summary, Verdict

_MOST_GROUPS = 6
_CUT_OFF, _ROOM = "were cut off", 4096
_DECIDED = {"approve": "approved", "edit": "edited", "reject": "rejected", "respond": "answered in its place"}
_NOUNS = {"question": "question", "approval": "call", "form": "form"}
_ON_THIS_MACHINE = {
    "sim": "a script in this process, no language model",
    "hf": "transformers in this process",
    "vllm": "vLLM on this machine",
}
_REASONS = {
    "context_overflow": "context_overflow (prompt too long for the model)",
    "blocked": "blocked (by the provider's filter, not the model)",
}


def block_of(stored: StoredRun, *, against: str | None = None, prices: Mapping[str, Price] | None = None) -> Block:
    """Summarize a stored run.

    Args:
        stored: The run.
        against: `paper` for the published rows below its own.
        prices: Model to its price; None where none were given.
    """
    if stored.manifest.notes.get("imported") == ALONE:
        return _block_of_people(stored)
    job, summaries = stored.job, stored.summary()
    alerts = [*_lacking_verdicts(stored), *perturbation_notes(stored), *_person_notes(stored), *_unexecuted_notes(stored), *_remarks(stored)]
    alerts += [f"left out of the requests, as {model} refuses it: {format_names(fields)}" for model, fields in stored.left_out().items()]
    matched, asked = stored.ignored()
    alerts += [f"{matched:,} of {count(asked, 'request')} matched by --ignore-in-prompts"] if asked else []
    used = total_usage(stored, prices)
    took = [*filter(None, [used.line()])]
    alerts += filter(None, [used.unknown_line()])
    notes = [
        _traffic(stored),
        *job.task.notes(summaries, stored),
        *_exclusions(stored, summaries),
        *_resolution(stored, summaries),
        *fault_notes(stored, summaries),
        *alerts,
        *_judge_notes(stored),
        *_group_notes(summaries),
        *took,
        *(f"{name}: {text}" for name, text in stored.manifest.notes.items()),
    ]
    terms = {term: meaning for term, meaning in job.task.terms.items() if term in job.task.label(stored)}
    beside = job.task.beside(stored) if against == "paper" else None
    paper = beside.rows((summary.group for summary in summaries if summary.n), job.config.model) if beside else None
    if against == "paper" and not (paper and paper.rows):
        notes.append("against paper: no published row is about these scenarios and settings")
    alerts += took if prices is not None else []  # whoever gives prices asks what it cost
    control, above = job.config.model.startswith("sim/"), [*say_undecided(short_name(stored.path), summaries)]
    return Block(title_of(stored), summaries, notes, alerts, control, terms, (paper,) if paper else (), above=above)


def _block_of_people(stored: StoredRun) -> Block:
    """Summarize scenarios that people alone judged: only what they said, as nothing was played that could be scored."""
    rows = []
    for one in stored.summary():
        said = tuple(measure.model_copy(update={"under": ""}) for measure in one.measures if is_of_people(measure))
        if said:
            rows.append(Summary(group=one.group, n=max(measure.n or 0 for measure in said), total=one.total, measures=said))
    return Block(f"{stored.job.task.name}: people judge scenarios, and no model was run", rows, [f"run {stored.id}"])


def title_of(stored: StoredRun) -> str:
    """Return whose figures a run's are: the model, and what its task says of the run."""
    job, label = stored.job, stored.job.task.label(stored)
    return f"{'control: ' if job.config.model.startswith('sim/') else ''}{job.config.model_and_adapter}{f', {label}' if label else ''}"


@contextmanager
def reading_together(runs: Iterable[StoredRun]) -> Iterator[None]:
    """Read each run of the block through one connection; see `StoredRun.at_once`."""
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(run.at_once())
        yield


def blocks_of(runs: Sequence[StoredRun], config: RunConfig, prices: Mapping[str, Price] | None = None) -> list[Block]:
    """Return the blocks to show to a person who gave these options."""
    return [block_of(one, against=config.against, prices=prices) for one in runs]


def summary_records(runs: Sequence[StoredRun], against: str | None) -> list[dict[str, Any]]:
    """Return the runs' summaries as flat data; against the paper, followed by its rows, and each says where it is from."""
    own = [(one, one.summary()) for one in runs]
    found = [record for one, summaries in own for record in one.summary_records(summaries)]
    if against != "paper":
        return found
    rows = [beside.rows(summary.group for summary in summaries) for one, summaries in own if (beside := one.job.task.beside(one))]
    return [{"source": "run", **record} for record in found] + [record for one in merge_paper_rows(rows) for record in one.records()]


def judge_hint(stored: StoredRun) -> list[str]:
    """Return the command that also judges a run by a model, if its task has such a judge and none was asked."""
    from talm_sim.tasks.judge_names import judge_names  # not at the top: a help page needs no judges

    job = stored.job
    if stored.imported or job.config.judge_model is not None or job.config.judge:
        return []
    known = judge_names(job)
    more = [judge for judge in judge_names(job.having(judge_model="any/model")) if judge not in known]
    live = ("--live",) if job.config.models is Traffic.REPLAY else ()
    command = line_to_copy("talm-sim", "judge", short_name(stored.path), "--judge-model", "PROVIDER/NAME", *live)
    return [f"LLM judge:   {command}"] if more else []


def _traffic(stored: StoredRun) -> str:
    """Return where the answers of model and tools came from."""
    if stored.imported:
        return f"run {stored.id}"
    config = stored.config
    provider = config.model.partition("/")[0]
    here = _of_agent(stored) if provider == "agent" else _ON_THIS_MACHINE.get(provider, "on this machine")
    models = {
        Traffic.REPLAY: "replayed recording",
        Traffic.LIVE: f"live: {provider}",
        Traffic.RECORD: f"live: {provider} (recorded)",
        None: here,
    }
    service = f"live: {one_line(', '.join(_sources(stored)), 120)}" if _sources(stored) else "live service"
    tools = {Traffic.REPLAY: "replayed recording", Traffic.LIVE: service, Traffic.RECORD: f"{service} (recorded)"}
    reached = tools[config.tools] if config.tools else ""
    mixed = stored.tool_traffic()
    if len(mixed) > 1:
        reached = "mixed: " + ", ".join(f"{tools[Traffic(way)]} in {number:,}" for way, number in sorted(mixed.items())) + " episodes"
    return f"model: {models[config.models] if has_traffic(config.model) else here}" + (f"; tools: {reached}" if reached else "")


def _of_agent(stored: StoredRun) -> str:
    """Return the model of an agent that takes none: it cannot be known beforehand whether there is one."""
    return "the agent's own, live, not recorded" if any(episode.saw_model for episode in stored.episodes()) else "none seen"


def _sources(stored: StoredRun) -> list[str]:
    """Return where the user's own tools came from, as written; those passed in Python have no place."""
    options = stored.job.options
    texts = options.tools_from if isinstance(options, AgentOptions) else ()
    return ["handed over in Python" if "=given:" in text else text for text in texts]


def _exclusions(stored: StoredRun, summaries: Sequence[Summary]) -> Iterator[str]:
    """Report what is not in the measures, or not whole: failed, silent, cut off and unfinished episodes."""
    ends: Counter[str] = Counter()
    for summary in summaries:
        if not summary.derived:
            ends.update(summary.not_scored)
    if ends:
        yield "not scored: " + ", ".join(f"{number:,} {_REASONS.get(name, name)}" for name, number in ends.most_common())
    yield from find_lost(stored, stored.rows())
    if silent := sum(row.silent for row in stored.rows()):
        yield f"{silent:,} of {stored.finished:,} answers silent: wrong where one was due, left out where the absence of something counts"
    cut = [turn.stop == "length" for episode in stored.episodes() for turn in episode.model_turns]
    if any(cut):
        yield f"{sum(cut):,} of {len(cut):,} outputs cut off at {stored.job.settings().max_new_tokens:,} new tokens"
    if stored.finished < stored.total:
        asked = f", {stored.waiting:,} of them waiting for an answer" if stored.waiting else ""
        yield f"{stored.total - stored.finished:,} of {count(stored.total, 'episode')} not finished{asked}"


def _lacking_verdicts(stored: StoredRun) -> Iterator[str]:
    """Count what no judge said anything of, and say why models left verdicts undecided."""
    if stored.finished and (unjudged := stored.unjudged):
        yield f"{unjudged:,} of {count(stored.finished, 'finished episode')} without a verdict"
    undecided = undecided_verdicts(stored)
    for judge, failed in stored.failed_verdicts.items():
        again, said = ["talm-sim", "judge", short_name(stored.path)], f"{count(failed, 'verdict')} of judge {one_line(judge)} failed"
        if judge in undecided:
            left, asked = undecided[judge]
            why, number = Counter(map(_why_undecided, left)).most_common(1)[0]
            said = f"judge {one_line(judge)}: {number:,} of {asked:,} replies {why}; {count(len(left), 'verdict')} undecided"
            again += ["--judge-options", f"max_new_tokens={_ROOM}"] if why == _CUT_OFF else []
        yield f"{said}; ask again: {line_to_copy(*again)}"


def _why_undecided(verdict: Verdict) -> str:
    if verdict.explanation.endswith(f"({CUT_OFF})"):
        return _CUT_OFF
    unread = verdict.explanation.startswith("undecided")
    return "could not be read" if unread else f"failed ({one_line(verdict.explanation.removeprefix('not judged: '), 100)})"


def _resolution(stored: StoredRun, summaries: Sequence[Summary]) -> Iterator[str]:
    """Say what one epoch of a sampled live model can tell apart; a replay, a control and an imported run are not asked that first."""
    from talm_sim.comparison.run_power import drops_found  # not at the top: most tables need none

    job = stored.job
    one_draw = job.config.epochs == 1 and job.settings().temperature and not stored.imported
    replayed = job.config.models is Traffic.REPLAY and has_traffic(job.config.model)
    if not one_draw or replayed or job.config.model.startswith("sim/"):
        return
    rows = stored.rows()
    measure = next((name for name in job.task.success if any(name in row.values for row in rows)), None)
    found = drops_found(rows, summaries, job.task.succeeded) if measure else {}
    if found:
        drops = format_names([f"{100 * drop:.0f} in {group}" for group, drop in found.items()], _MOST_GROUPS)
        again = line_to_copy("talm-sim", "report", short_name(stored.path), "--power", str(measure))
        yield (
            "one epoch: single runs of equal agents lie 2.2 to 6.0 points apart (arXiv 2602.07150); a run that is worse by this many points is "
            f"found with a power of .8: {drops} ({again})"
        )


def _unexecuted_notes(stored: StoredRun) -> Iterator[str]:
    """Count the calls of tools that are only described: an agent cannot pass by what no tool could answer."""
    options = stored.job.options
    played = list(stored.episodes()) if isinstance(options, AgentOptions) and options.tools_from else []
    calls = Counter(episode.id for episode in played for event in episode.tool_events if event.error == "not_executable")
    if calls:
        yield (
            f"not executed: {count(calls.total(), 'call')} in {len(calls):,} of {count(len(played), 'episode')} had a tool that cannot be "
            "executed here; they count as failed calls"
        )


def _remarks(stored: StoredRun) -> Iterator[str]:
    """Say what of the agent's doing passed the environment by, or reached the agent otherwise than it would outside of a run."""
    found = sum((Counter(row.remarks) for row in stored.rows() if row.remarks), Counter[str]())
    if cut := found["cut"]:
        read = getattr(stored.job.options, "most_read", RESULT_LIMIT)
        yield f"{count(cut, 'result')} of tools cut to {read:,} characters; --result-limit N reads more"
    if read := found["calls from text"]:
        yield f"{read:,} of {found['turns beside']:,} turns: calls read from text; --tool-format native leaves them"
    if streamed := found["streamed"]:
        yield f"{count(streamed, 'turn')} streamed to the agent: a stream gives the finished turn in pieces"
    for what in sorted(what for what in found if what.startswith("empty: ")):
        yield f"{count(found[what], 'empty answer')} of the agent: {what.removeprefix('empty: ')}"
    if past := tools_past(stored):
        yield f"called in the graph itself, as the environment has no such tool (live, unrecorded, without faults): {format_names(past, 3)}"


def _judge_notes(stored: StoredRun) -> Iterator[str]:
    """Explain the columns of judges that have their own measure."""
    for judge, measure in stored.measures().items():
        if judge not in stored.job.task.own_judges:
            head = f"verdicts on {measure.things}" if measure.labels else measure.head
            yield f"{head} by judge {judge}{'' if measure.labels else f' ({measure.about})'}"


def _group_notes(summaries: Sequence[Summary]) -> Iterator[str]:
    """Return notes on groups, each once for all the groups it is about."""
    groups_of: dict[str, list[str]] = {}
    for summary in summaries:
        for note in summary.notes:
            groups_of.setdefault(note, []).append(summary.group)
    for note, groups in groups_of.items():
        yield note if groups == ["all"] else f"{', '.join(groups)}: {note}"


def _person_notes(stored: StoredRun) -> Iterator[str]:
    """Yield how calls that waited for a person were decided, and how much stayed without an answer."""
    if not isinstance(options := stored.job.options, PersonOptions) or options.human == "none":
        return
    limited = options.ask_limit is not None or options.ask_limit_run is not None or options.answer_timeout is not None
    if not (getattr(options, "approve", "") or limited or options.human == "recorded" or getattr(options, "agent", None)):
        return
    decided: Counter[str] = Counter()
    silent: dict[str, list[tuple[str, str]]] = {"limit": [], "timeout": []}
    for episode in stored.episodes():
        decided.update(map(_decision_of, episode.human_events))
        for event in episode.human_events:
            if event.declined in silent:
                silent[event.declined].append((episode.id, event.kind))
    del decided[""]
    if decided:
        kinds = ", ".join(f"{decided[one]:,} {one}" for one in _DECIDED.values() if decided[one])
        yield f"calls that waited for a person: {decided.total():,} ({kinds})"
    if silent["limit"]:
        yield f"not asked: {_format_silent(silent['limit'])}, as a limit was reached (ask_limit, ask_limit_run)"
    if silent["timeout"]:
        yield f"not answered in time (answer_timeout): {_format_silent(silent['timeout'])}"


def _decision_of(event: HumanEvent) -> str:
    """Return how a call was decided; empty for anything else, and where nobody decided."""
    if event.kind != "approval" or event.decision is None or event.declined:
        return ""
    return _DECIDED.get(event.decision.action, "")


def _format_silent(found: list[tuple[str, str]]) -> str:
    """Count what stayed without an answer, by kind, and its episodes."""
    kinds = Counter(kind for _, kind in found)
    parts = [count(kinds[kind], noun) for kind, noun in _NOUNS.items() if kinds[kind]]
    return f"{' and '.join(parts)} in {count(len({episode for episode, _ in found}), 'episode')}"
