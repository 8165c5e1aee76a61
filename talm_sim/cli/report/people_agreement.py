"""Show how far people agree with each other and with each judge, below a run's own rows and beside what papers report of their judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from talm_sim.cli.parsing.shared_arguments import short_name
from talm_sim.cli.report.blocks import title_of
from talm_sim.cli.report.layout import Block
from talm_sim.cli.terminal.text import count
from talm_sim.errors import format_names, line_to_copy
from talm_sim.store.people.kept_verdicts import PeopleVerdicts
from talm_sim.store.people.people_agreement import Agreement, agreements, rate_of, raw_rate
from talm_sim.store.stored_run import StoredRun
from talm_sim.tasks import PaperRow, PaperRows, PublishedAgreement
from talm_sim.tasks.paper.published import published
from talm_sim.types import Summary
from talm_sim.types.written_figures import format_figure_with_interval

_ORDER = (
    "agreement_itself",
    "agreement",
    "agreement_weighted",
    "kappa",
    "alpha",
    "base_rate_people",
    "base_rate_judge",
)
"""The columns, from left to right."""
_FEW = 30
"""Of fewer episodes with a label, a chance-corrected figure says little."""


def people_blocks(runs: Iterable[StoredRun]) -> list[Block]:
    """Return a block for each run and question on which people gave verdicts."""
    return [_block(run, people) for run in runs for people in run.people() if people.said]


def _block(run: StoredRun, people: PeopleVerdicts) -> Block:
    found = agreements(run, people)
    question = people.question
    return Block(
        title=f"agreement with people: {question.asks} [{title_of(run)}]",
        summaries=_in_one_order([one.summary(question) for one in found]),
        notes=list(_notes(run, people, found)),
        papers=[_paper(one) for one in question.published] if found else [],
        rows_are="judge",
    )


def _in_one_order(summaries: list[Summary]) -> list[Summary]:
    """Return rows whose columns have the same order in every run, whichever of them has which figure."""
    known = {one.name: one for summary in summaries for one in summary.measures}
    every = [known[name] for name in _ORDER if name in known]
    if not summaries:
        return []
    first, *others = summaries
    empty = [one.model_copy(update={"value": None, "low": None, "high": None, "k": None, "n": None}) for one in every]
    own = {one.name: one for one in first.measures}
    return [first.model_copy(update={"measures": tuple(own.get(one.name, one) for one in empty)}), *others]


def _notes(run: StoredRun, people: PeopleVerdicts, found: list[Agreement]) -> Iterator[str]:
    sample = people.sample
    every, drawn = sum(sample.sizes.values()), len(sample.episodes)
    strata = ", ".join(f"{name} {one['drawn']:,.0f} of {one['of']:,.0f}" for name, one in sample.strata().items())
    yield f"people judge {drawn:,} of {count(every, 'episode')}" + ("" if sample.whole else f", drawn with seed {sample.seed}: {strata}")
    yield _rate_line(run, people)
    judged = {name: sum(name in said for said in people.said.values()) for name in people.names}
    yield "judged: " + ", ".join(f"{name} {number:,}" for name, number in judged.items())
    if len(judged) > 1:
        undecided, disputed = people.undecided(), people.disputed()
        settled = f", {len(people.settled):,} settled" if people.settled else ""
        if disputed:
            yield f"people differ on {count(len(disputed), 'episode')}{settled}; what most of them say, or what was settled, counts"
        if undecided:
            fix = line_to_copy("talm-sim", "judge", short_name(run.path), "--judge", "person", "--settle")
            yield f"left out: {count(len(undecided), 'episode')} on which as many say something else; settle them with: {fix}"
    if not found:
        yield "nothing to compare yet: no judge, and no second person, has judged the same episodes"
        return
    counts = Counter(verdict.label for one in people.said if (verdict := people.verdict(one)) is not None)
    labels = [*people.question.labels.values()]
    rare = [label for label in labels if counts[label] < _FEW]
    little = f"; with fewer than {_FEW} of {format_names(rare)}, kappa and alpha say little" if rare else ""
    yield f"people's labels: {', '.join(f'{label} {counts[label]:,}' for label in labels)}{little}"


def _rate_line(run: StoredRun, people: PeopleVerdicts) -> str:
    """Return the rate that the labels give the run, beside that of the run's own judge; or what it lacks."""
    rate, missing = rate_of(run, people)
    left, passes = len(people.sample.episodes) - len(people.said), people.question.outcome is None
    labels = count(rate.n or 0, "label") + (f" (of those drawn, {left:,} still open)" if left else "")
    what = f"{'pass rate' if passes else people.question.about}, by people"
    if missing:
        return f"{what}: not known until some of {format_names(missing)} have a label; {labels}"
    raw = raw_rate(run)
    own = f"; by the run's judge: {format_figure_with_interval(raw)}, of the {raw.n:,} that it decided" if passes else ""
    return f"{what}: {format_figure_with_interval(rate)}, from {labels}{own}"


def _paper(one: PublishedAgreement) -> PaperRows:
    table = published(one.paper, one.table)
    row = table.row(*one.row)
    shown = PaperRow(model=" ".join(one.row), group="people", values={"agreement": table.share(row, one.column)})
    return PaperRows(table, (shown,), (shown.model,), compared=one.compared)
