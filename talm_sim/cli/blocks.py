"""A stored run as a block of the result table: whose rows they are, and the notes without which they would mislead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from talm_sim.cli._summaries_old import choice_summary, talm_summary
from talm_sim.cli.layout import Block
from talm_sim.cli.text import count
from talm_sim.config import RunConfig, Traffic
from talm_sim.judges.asking import AskScores
from talm_sim.judges.metrics import GroupSummary
from talm_sim.runs.stored import StoredRun
from talm_sim.types import Episode
from talm_sim.types.figures import decimal, interval

__all__ = ["FAILED", "block_of", "human_label", "traffic_label"]

FAILED = ("infrastructure_error", "replay_miss")
"""Terminations that mean a run did not do what it should have."""
_ON_THIS_MACHINE = {
    "sim": "a script in this process, no language model",
    "hf": "transformers in this process",
    "vllm": "vLLM on this machine",
}
_JUDGES = {
    "reference": "reference (the required facts stand in the answer, no gold call is missing)",
    "llm": "llm (majority of up to five votes)",
    "preference": "preference (no worse than the answer given with tools)",
    "published": "published (the grades that came with the outputs)",
    "published-preference": "published-preference (the win rates that came with the outputs)",
}


def block_of(stored: StoredRun) -> Block:
    """Summarize a stored run."""
    config = stored.config
    control = config.model.startswith("sim/")
    title = f"control: {config.model}" if control else config.model
    if config.task == "when2call":
        shown = f"template: {config.template}" if config.template != "auto" else "messages and native tools, no template"
        choice = choice_summary(stored.choice_summary())
        notes = [*choice.notes, f"{traffic_label(stored)}; {shown}", *_unfinished(stored), *_manifest_notes(stored)]
        return Block(title, [choice], notes, control)
    summaries = stored.summary()
    notes = [
        traffic_label(stored),
        *_pass_notes(config, summaries),
        *_exclusions(stored, summaries),
        *_perturbation_notes(config, stored.episodes() if config.perturb else ()),
        *_asking_notes(summaries),
        *_group_notes((summary.group, note) for summary in summaries for note in summary.notes),
        *_manifest_notes(stored),
    ]
    return Block(f"{title}, {human_label(stored)}{_damage(config)}", [talm_summary(one) for one in summaries], notes, control)


def _manifest_notes(stored: StoredRun) -> Iterator[str]:
    yield from (f"{name}: {text}" for name, text in stored.manifest.notes.items())


def human_label(stored: StoredRun) -> str:
    """Who can be asked, as a row's name says it."""
    human = stored.manifest.config.human
    if human == "none":
        return "standalone"
    return "Ask-and-Help" if _imported(stored) else f"Ask-and-Help ({human} human)"


def traffic_label(stored: StoredRun) -> str:
    """Where the answers of model and tools came from."""
    if _imported(stored):
        return f"run {stored.id}"
    config = stored.config
    words = {
        Traffic.REPLAY: "replayed recording",
        Traffic.LIVE: f"live: {config.model.partition('/')[0]}",
        Traffic.RECORD: f"live: {config.model.partition('/')[0]} (recorded)",
        None: _ON_THIS_MACHINE.get(config.model.partition("/")[0], "on this machine"),
    }
    if config.task == "when2call":
        return f"model: {words[config.models]}"
    tools = {Traffic.REPLAY: "replayed recording", Traffic.LIVE: "live service", Traffic.RECORD: "live service (recorded)", None: "none"}
    return f"model: {words[config.models]}; tools: {tools[config.tools]}"


def _imported(stored: StoredRun) -> bool:
    return "imported" in stored.manifest.notes


def _damage(config: RunConfig) -> str:
    return f", perturbed: {', '.join(config.perturb)}" if config.perturb else ""


def _pass_notes(config: RunConfig, summaries: Sequence[GroupSummary]) -> Iterator[str]:
    """Which judge the pass rates are from; that the others have no model where they have none."""
    groups_of: dict[str, list[str]] = {}
    for summary in summaries:
        if summary.group == "unavailable":
            continue
        if summary.pass_judge:
            groups_of.setdefault(summary.pass_judge, []).append(summary.group)
    yield from _group_notes((one.group, f"no PR ({one.no_pass_judge})") for one in summaries if one.n and not one.pass_judge)
    for judge, groups in groups_of.items():
        where = f" of {', '.join(groups)}" if len(groups_of) > 1 else ""
        yield f"PR{where} by judge {_JUDGES.get(judge, judge)}"
    if config.judge_model is None and not any("llm" in judge or "published" in judge for judge in groups_of):
        yield "the LLM judge is not configured: add --judge-model PROVIDER/NAME"
    for summary in summaries:
        if summary.raw_pass_rate is not None:
            raw = summary.raw_pass_rate
            yield f"{summary.group}: answers that pass by themselves {decimal(raw.value)} [{interval(raw)}] by judge {summary.raw_pass_judge}"


def _group_notes(notes: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Notes on groups, each said once for all the groups it is about."""
    groups_of: dict[str, list[str]] = {}
    for group, note in notes:
        groups_of.setdefault(note, []).append(group)
    for note, groups in groups_of.items():
        yield f"{', '.join(groups)}: {note}"


def _exclusions(stored: StoredRun, summaries: Sequence[GroupSummary]) -> Iterator[str]:
    """What is not in the rates: unfinished, failed, unparsed."""
    # `unavailable` repeats its halves.
    summaries = [summary for summary in summaries if summary.group != "unavailable"]
    ends: Counter[str] = Counter()
    for summary in summaries:
        ends.update(summary.not_scored)
    if ends:
        yield "not scored: " + ", ".join(f"{number:,} {name}" for name, number in ends.most_common())
    yield from _unfinished(stored)
    unparsed = sum(summary.unparsed for summary in summaries)
    if unparsed:
        yield f"{count(unparsed, 'awareness answer')} neither Yes, No nor I don't know; counted as not aware"


def _unfinished(stored: StoredRun) -> Iterator[str]:
    if stored.finished < stored.total:
        waiting = len({question.episode_id for question in stored.pending()})
        asked = f", {waiting:,} of them waiting for an answer" if waiting else ""
        yield f"{stored.total - stored.finished:,} of {count(stored.total, 'episode')} not finished{asked}"


def _perturbation_notes(config: RunConfig, episodes: Iterable[Episode]) -> Iterator[str]:
    """How often each perturbation of the command line fired: one that never did reads as a clean result."""
    wanted = {text.partition(":")[0] for text in config.perturb}
    hit: Counter[str] = Counter()
    of: Counter[str] = Counter()
    fired: Counter[str] = Counter()
    armed: Counter[str] = Counter()
    for episode in episodes:
        for log in episode.perturbations:
            if log.name.partition(":")[0] in wanted:
                of[log.name] += 1
                hit[log.name] += log.fired > 0
                fired[log.name] += log.fired
                armed[log.name] += log.armed
    for name, total in of.items():
        calls = "tool" if name.partition(":")[0] == "mask" else "call"
        yield f"{name} fired in {hit[name]:,} of {count(total, 'episode')} ({fired[name]:,} of {count(armed[name], calls)})"


def _asking_notes(summaries: Sequence[GroupSummary]) -> Iterator[str]:
    for summary in summaries:
        if summary.ask is not None and summary.group != "unavailable":
            yield f"{summary.group}: {_asking(summary.ask)}"


def _asking(ask: AskScores) -> str:
    scores = [
        f"precision {decimal(ask.precision)} ({ask.asking_in_need}/{ask.asking})",
        f"recall {decimal(ask.recall)} ({ask.asking_in_need}/{ask.needing})",
        f"F1 {decimal(ask.f1)}",
    ]
    if ask.relevance is not None:
        scores.append(f"relevant {decimal(ask.relevance)} ({ask.relevant_questions}/{ask.questions_in_need})")
    per = ask.questions_per_episode
    return f"asking: {', '.join(scores)}; {f'{per:.2f}' if per is not None else 'no'} questions an episode"
