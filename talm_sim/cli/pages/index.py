"""The data of a page except its transcripts, ready for JSON: episodes as lines, and counts over them that need no new rate.

Of several runs, each is compared with each as the baseline, by `compare`'s own figures, and the pairs of episodes with the first step that
differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

from talm_sim.cli.pages.plain_tables import block_data, paper_data, section_data, table_data
from talm_sim.cli.pages.transcripts import PageTexts, transcript_data
from talm_sim.cli.report.blocks import block_of, title_of
from talm_sim.cli.report.comparison import comparison_section, excerpts
from talm_sim.cli.report.layout import Block, PageTable, definitions
from talm_sim.cli.report.run_usage import total_usage
from talm_sim.cli.terminal.text import count
from talm_sim.comparison.compare import Comparison, compare
from talm_sim.comparison.divergences import find_divergences
from talm_sim.config import RunConfig, Scope
from talm_sim.errors import NotComparableError, PrerequisiteError, format_names
from talm_sim.judges.person import PEOPLE, person_of
from talm_sim.runs.prices import Price
from talm_sim.store.causes import find_causes
from talm_sim.store.files.comments import Comment
from talm_sim.store.stored_run import StoredRun
from talm_sim.store.transcripts import Transcript, event_part, read_transcript
from talm_sim.tasks.outcomes import BETTER_STYLES, BY_SUCCESS
from talm_sim.types import Episode, Row, Summary, Verdict
from talm_sim.types.written_figures import decimal, interval

_EXCERPT: Final = 160
"""Characters of a query and of an answer in the index."""
_MOST_ROWS: Final = 60
"""Rows of a breakdown; one with more is left out, as it is no overview."""
_MOST_ASKED: Final = 300
"""Questions that are listed; the transcripts have all."""
_WORDS: Final = {True: "pass", False: "fail", None: "no verdict"}
_NO_OUTCOME: Final = "no outcome"
_MOST: Final = 4
"""Runs each of which can be the baseline; of more, only the first."""
KINDS: Final = ("improved", "regressed", "both_failed", "both_passed", "as_often")


def build_index(
    runs: Sequence[StoredRun],
    *,
    blocks: Sequence[Block] | None = None,
    compared: Sequence[Compared] | None = None,
    prices: Mapping[str, Price] | None = None,
    transcripts: bool = True,
) -> dict[str, Any]:
    """Return what a page over runs shows, apart from the transcripts.

    Args:
        runs: The runs.
        blocks: Their tables; by default those that `report` prints.
        compared: Their comparisons; by default each run with each other one.
        prices: Model to its price; None if none were given.
        transcripts: Whether the page has an index of the episodes.

    Raises:
        PrerequisiteError: A run cannot be read.
    """
    texts = PageTexts()
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(run.at_once())
        if blocks is None:
            blocks = [block_of(run, prices=prices) for run in runs]
        if compared is None:
            compared = compare_each(runs)
        names = dict.fromkeys(f"{run.job.task.name}, {run.config.split}: {title_of(run)}" for run in runs)
        head = {
            "title": "; ".join(names) or "; ".join(block.title for block in blocks),
            "blocks": [block_data(block) for block in blocks],
            "papers": paper_data(blocks),
            "definitions": list(definitions(blocks).items()),
        }
        return {
            **texts.value(head),
            "runs": [_run_data(run, texts, prices, transcripts) for run in runs],
            "compared": [_compared_data(one, runs, texts) for one in compared],
        }


def _run_data(run: StoredRun, texts: PageTexts, prices: Mapping[str, Price] | None, transcripts: bool) -> dict[str, Any]:
    episodes, said = list(run.episodes()), _verdicts_by_episode(run)
    rows = {row.episode: row for row in run.rows()}
    tables = [_ends_table(run, episodes, rows), _verdicts_table(said, rows)]
    data = {
        "id": run.id,
        "outcomes": [_outcomes(one) for one in run.summary() if one.measures_in("outcome")],
        "causes": list(find_causes(run, [*rows.values()])),
        "title": title_of(run),
        "control": run.config.model.startswith("sim/"),
        "facts": list(_run_facts(run).items()),
        "usage": total_usage(run, prices).line(),
        "finished": len(episodes),
        "total": run.total,
        "tables": [table_data(one) for one in tables if one is not None],
        "breakdowns": [block_data(block) for block in breakdowns(run, episodes, rows)],
    }
    shown = episodes if transcripts else []
    return {**texts.value(data), "asked": asked_of(shown, texts), "episodes": _episode_lines(run, shown, rows, said, texts)}


def _outcomes(summary: Summary) -> dict[str, Any]:
    """Return the outcomes of a group that occurred, each as its words, its definition, its kind and its figures; and those that did not."""
    came = [one for one in summary.measures_in("outcome") if one.k]
    lines = [[one.head, one.note, BETTER_STYLES[one.better], one.k, decimal(one.value), interval(one), one.value] for one in came]
    return {"group": summary.group, "n": summary.n, "lines": lines, "never": [one.head for one in summary.measures_in("outcome") if not one.k]}


def build_transcript(run: StoredRun, episode_id: str) -> dict[str, Any]:
    """Return the transcript of a finished episode, by its id or a unique prefix.

    Raises:
        PrerequisiteError: There is no such episode, or it is not finished.
    """
    with run.at_once():
        return transcript_data(read_transcript(run, run.episode(episode_id)), PageTexts())


def build_transcripts(run: StoredRun) -> dict[str, dict[str, Any]]:
    """Return the transcripts of all finished episodes, by their ids as the index has them."""
    texts = PageTexts()
    with run.at_once():
        scenarios, said = {item.id: item for item in run.scenarios()}, _verdicts_by_episode(run)
        written: dict[str, list[Comment]] = {}
        for comment in run.comments():
            written.setdefault(comment.episode_id, []).append(comment)

        def read(one: Episode) -> Transcript:
            return read_transcript(run, one, scenarios.get(one.scenario_id), said.get(one.id, []), written.get(one.id, []))

        return {texts.text(one.id): transcript_data(read(one), texts) for one in run.episodes()}


def _run_facts(stored: StoredRun) -> dict[str, str]:
    """Return name, date, sources of tools, settings that are not the defaults, weights, judges, data, versions and command line, if known."""
    manifest = stored.manifest
    facts = {
        "run": stored.id,
        "made": manifest.created.replace("T", " ").removesuffix("Z") + " UTC" if manifest.created else "",
        "task": f"{manifest.config.task}, split {_text_of(manifest.config.split)}",
        "tools": ", ".join(getattr(stored.job.options, "tools_from", ())),
        "settings": ", ".join(_settings_of(stored)),
        "weights": ", ".join(f"{name} {text[:12]}" for name, text in manifest.weights.items()),
        "judges": _judges_of(stored),
        "data": f"{count(stored.total, 'episode')}, digest {manifest.dataset_digest}",
        "shards": _shards_of(stored),
        "versions": ", ".join(f"{name} {version}" for name, version in manifest.versions.items()),
        "command": manifest.command,
    }
    return {word: text for word, text in facts.items() if text}


def _judges_of(stored: StoredRun) -> str:
    """Return who judged the run, people by their names."""
    names = sorted({verdict.judge for verdict in stored.verdicts_of_all()})
    model = stored.config.judge_model
    return ", ".join(names) + (f" (judge model {model})" if model else "")


def _shards_of(stored: StoredRun) -> str:
    """Return what a merged run was made from."""
    shards = stored.shards
    rows = [f"{one.name} ({one.part}, {count(one.rows, 'episode')}{', waiting' * (one.status == 'waiting')})" for one in shards]
    return f"merged from {len(shards):,}: {format_names(rows, 4)}" if shards else ""


def _settings_of(stored: StoredRun) -> list[str]:
    """Return each option of the run and its judging that is not the default."""
    job = stored.job
    defaults: dict[str, Any] = {}
    for model in (RunConfig, type(job.options)):
        defaults |= {name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()}
    values = {name: value for name, value in job.values(Scope.GENERATION, Scope.SCORING).items() if name not in ("task", "split")}
    return [f"{name} {_text_of(value)}" for name, value in values.items() if _text_of(value) != _text_of(defaults[name])]


def _text_of(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={one}" for key, one in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _verdicts_by_episode(run: StoredRun) -> dict[str, list[Verdict]]:
    """Return all verdicts, people's included, by episode."""
    said: dict[str, list[Verdict]] = {}
    for verdict in run.verdicts_of_all():
        said.setdefault(verdict.episode_id, []).append(verdict)
    return said


def _episode_lines(
    run: StoredRun, episodes: Sequence[Episode], rows: Mapping[str, Row], said: Mapping[str, Sequence[Verdict]], texts: PageTexts
) -> list[dict[str, Any]]:
    """Return one line per finished episode, in planned order."""
    task, queries, categories = run.job.task, {item.id: item.query for item in run.scenarios()}, _categories_of(run)
    commented = Counter(one.episode_id for one in run.comments())
    came_to = {one.name: one for one in task.outcomes or BY_SUCCESS}
    found = []
    for one in episodes:
        row = rows.get(one.id)
        values = {} if row is None else {**row.values, **row.labels}
        reason = row.not_scored if row is not None else "not counted"
        line = {
            "id": one.id,
            "scenario": one.scenario_id,
            "epoch": one.epoch,
            "group": one.group,
            "category": categories.get(one.scenario_id, ""),
            "end": one.termination.value,
            "outcome": f"not scored: {reason}" if row is None or reason else came_to[row.outcome].words if row.outcome else _NO_OUTCOME,
            "kind": BETTER_STYLES[came_to[row.outcome].better] if row is not None and row.outcome else "faint",
            "shown": [[head, str(values[name])] for name, head in task.listed.items() if values.get(name) not in (None, "")],
            "calls": len(one.tool_events),
            "failed": sum(not event.ok for event in one.tool_events),
            "fired": [log.name for log in one.perturbations if log.fired],
            "seen": [log.name for log in one.perturbations if log.seen],
            "asked": len(one.human_events),
            "verdicts": _words(said.get(one.id, ()), row),
            "comments": commented[one.id],
            "tokens": one.usage.input_tokens + one.usage.output_tokens,
            "query": texts.line(queries.get(one.scenario_id, ""), _EXCERPT),
            "answer": texts.line(one.answer, _EXCERPT),
        }
        found.append({name: texts.value(value) for name, value in line.items()})
    return found


def _words(verdicts: Sequence[Verdict], row: Row | None) -> dict[str, str]:
    """Return what each judge said in a word; of people, what counts."""
    words = {one.judge: one.label or _WORDS[one.value] for one in verdicts if person_of(one.judge) is None}
    if row is not None and (value := row.values.get(PEOPLE)) is not None:
        words["people"] = _WORDS[bool(value)]
    return words


def _categories_of(run: StoredRun) -> dict[str, str]:
    tools = run.tools()
    every = (
        (one.id, sorted({tools[name].category for name in one.tools if name in tools and tools[name].category})) for one in run.scenarios()
    )
    return {name: " ".join(categories) for name, categories in every}


def breakdowns(run: StoredRun, episodes: Sequence[Episode], rows: Mapping[str, Row]) -> list[Block]:
    """Return the run's table by category of its tools and by fault that fired: the task's own figures, over part of the rows."""
    by_category: dict[str, list[Row]] = {}
    by_fault: dict[str, list[Row]] = {}
    categories = _categories_of(run)
    for one in episodes:
        if (row := rows.get(one.id)) is None:
            continue
        if categories.get(one.scenario_id):
            by_category.setdefault(categories[one.scenario_id], []).append(row)
        for name in [log.name for log in one.perturbations if log.fired] or ["no fault fired"]:
            by_fault.setdefault(name, []).append(row)
    found = []
    for title, kind, parts in (("by tool category", "category", by_category), ("by fault that fired", "fault", by_fault)):
        if len(parts) > 1 or (parts and kind == "fault" and "no fault fired" not in parts):
            summaries = [
                one.model_copy(update={"group": f"{name}, {one.group}", "matrices": (), "curves": ()})
                for name, part in sorted(parts.items())
                for one in run.summary(part)
                if one.total
            ]
            if len(summaries) <= _MOST_ROWS:
                found.append(Block(title, summaries, rows_are=kind))
    return found


def _ends_table(run: StoredRun, episodes: Sequence[Episode], rows: Mapping[str, Row]) -> PageTable:
    """Return how episodes ended, and how many of them are not scored."""
    ends = Counter(one.termination.value for one in episodes)
    left = Counter(one.termination.value for one in episodes if one.id not in rows or rows[one.id].not_scored)
    lines = [[end, f"{number:,}", f"{left[end]:,}" if left[end] else ""] for end, number in ends.most_common()]
    if run.finished < run.total:
        lines.append(["not finished", f"{run.total - run.finished:,}", f"{run.total - run.finished:,}"])
    return PageTable("how episodes ended", ["ended at", "episodes", "not scored"], lines)


def _verdicts_table(said: Mapping[str, Sequence[Verdict]], rows: Mapping[str, Row]) -> PageTable | None:
    counts: Counter[tuple[str, str]] = Counter()
    for episode, verdicts in said.items():
        counts.update(_words(verdicts, rows.get(episode)).items())
    lines = [[judge, word, f"{number:,}"] for (judge, word), number in sorted(counts.items())]
    return PageTable("verdicts", ["judge", "verdict", "episodes"], lines, words=2) if lines else None


def asked_of(episodes: Sequence[Episode], texts: PageTexts) -> dict[str, Any]:
    """Return what was put to a person and answered: counts by kind, and the first items."""
    every = [(one.id, event_part(event)) for one in episodes for event in one.human_events]
    asked = [(episode, part) for episode, part in every if part.kind != "call"]
    counts = Counter((part.kind, part.reply if part.declined else "answered") for _, part in asked)
    lines = [
        [episode, texts.line(f"{part.how}: {part.question}", 300), texts.line(part.who, 80), texts.line(part.reply, 300)]
        for episode, part in asked[:_MOST_ASKED]
    ]
    return {
        "counts": [[kind, texts.line(reply, 80), f"{number:,}"] for (kind, reply), number in sorted(counts.items())],
        "items": lines,
        "more": max(0, len(asked) - _MOST_ASKED),
    }


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison with its places on the page.

    Attributes:
        names: What the two sides are called, the baseline first.
        places: The runs' places among those of the page; None for a baseline's file or a group.
        found: The comparison; None if the two cannot be compared.
        reason: Why they cannot.
    """

    names: tuple[str, str]
    places: tuple[int, int] | None
    found: Comparison | None
    reason: str = ""


def compare_each(runs: Sequence[StoredRun], how: Callable[[StoredRun, StoredRun], Comparison] = compare) -> list[Compared]:
    """Compare each run with each other one; of many runs, each with the first alone."""
    found = []
    for first in range(len(runs) if len(runs) <= _MOST else 1):
        for second in range(len(runs)):
            if first == second:
                continue
            names = (runs[first].id, runs[second].id)
            try:
                found.append(Compared(names, (first, second), how(runs[first], runs[second])))
            except (NotComparableError, PrerequisiteError) as err:
                found.append(Compared(names, (first, second), None, str(err)))
    return found


def _compared_data(one: Compared, runs: Sequence[StoredRun], texts: PageTexts) -> dict[str, Any]:
    """Return a comparison as data of a page."""
    data: dict[str, Any] = {"names": list(one.names), "places": one.places, "reason": one.reason}
    if one.found is None:
        return {**texts.value(data), "pairs": []}
    data |= section_data(comparison_section(one.found))
    return {**texts.value(data), "pairs": _pairs(one.found, runs[one.places[0]], runs[one.places[1]], texts) if one.places else []}


def _pairs(found: Comparison, first: StoredRun, second: StoredRun, texts: PageTexts) -> list[dict[str, Any]]:
    """Return each pair of scenarios with an outcome in both: what became of it, and where its transcripts part."""
    kinds = {name: (flips.group, kind) for flips in found.flips for kind in KINDS for name in getattr(flips, kind)}
    parted = find_divergences(first, second, kinds, found.translated)
    played = [_ids(run.episodes()) for run in (first, second)]
    pairs = []
    for name, (group, kind) in kinds.items():
        divergence = parted.get(name)
        epoch = 1 if divergence is None else divergence.epoch
        ids = [of.get((one, epoch), "") for of, one in zip(played, (name, found.translated.get(name, name)), strict=True)]
        if all(ids):
            parting = {} if divergence is None else {"step": divergence.number, "excerpts": excerpts(divergence)}
            pairs.append({"scenario": name, "group": group, "kind": kind.replace("_", " "), "episodes": ids, **parting})
    return [texts.value(pair) for pair in pairs]


def _ids(episodes: Any) -> Mapping[tuple[str, int], str]:
    every: Sequence[Episode] = list(episodes)
    return {(one.scenario_id, one.epoch): one.id for one in every}
