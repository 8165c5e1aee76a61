"""Task `capitals`: does the model know which city is a capital?"""

from collections.abc import Iterator, Sequence

from langchain_core.messages import HumanMessage

from talm_sim import (
    Job,
    Matrix,
    Measure,
    Request,
    Row,
    RunView,
    Scenario,
    Scope,
    SingleStepTask,
    Summary,
    TaskOptions,
    Turn,
    option,
    register_task,
    select,
    share,
)
from talm_sim.extend import Figure, ratio_of

CLAIMS = {"europe": {"Paris": ("France", True), "Milan": ("Italy", False)}, "asia": {"Hanoi": ("Vietnam", True), "Osaka": ("Japan", False)}}


class CapitalsOptions(TaskOptions):
    """Options of the task."""

    hint: str = option("", Scope.GENERATION, "Words put before each question.")
    strict: bool = option(False, Scope.SCORING, "Count an unreadable answer as wrong, not as none.")


@register_task
class Capitals(SingleStepTask[CapitalsOptions]):
    """Yes/No questions about capitals, half of them with Yes for an answer."""

    name = "capitals"
    about = "Does the model know which city is a capital?"
    options = CapitalsOptions
    splits = {"europe": ("europe",), "asia": ("asia",), "all": ("europe", "asia")}
    headline = {"Europe": "europe.accuracy", "Asia": "asia.accuracy"}
    success = ("accuracy",)
    listed = {"gold": "Right", "said": "Said"}
    maker = "more_capitals:MoreCapitals"
    exporters = {"quiz": "quiz_export:export_quiz"}

    def load(self, job: Job[CapitalsOptions]) -> list[Scenario]:
        """Read the user's questions, or make ours; a target of a type of its own is kept as it is."""
        if job.config.scenarios is not None:
            return self.read(job.groups, job.config.scenarios, job.config.limit)
        made = [
            Scenario(
                id=f"{group}-{city}",
                task=self.name,
                group=group,
                turns=(Turn(messages=({"role": "user", "content": f"Is {city} the capital of {country}? Answer Yes or No."},)),),
                target={"type": "yes_no", "gold": "yes" if true else "no"},
            )
            for group, claims in CLAIMS.items()
            for city, (country, true) in claims.items()
        ]
        return select(made, job.groups, job.config.limit)

    def request(self, scenario: Scenario, job: Job[CapitalsOptions]) -> Request:
        """Ask the question."""
        return Request([HumanMessage(f"{job.options.hint} {scenario.query}".strip())], choices=("Yes", "No"))

    def rows(self, run: RunView) -> Iterator[Row]:
        """Compare what was said with what is right."""
        scenarios = {scenario.id: scenario for scenario in run.scenarios()}
        for episode in run.episodes():
            scenario = scenarios[episode.scenario_id]
            gold = scenario.target["gold"] if isinstance(scenario.target, dict) else ""
            first = episode.answer.strip().lower()
            said = "yes" if first.startswith("yes") else "no" if first.startswith("no") else "unparsed"
            row = Row.of(episode, scenario, labels={"gold": gold, "said": said})
            if said != "unparsed" or run.job.options.strict:
                row = row.model_copy(update={"values": {"accuracy": said == gold}})
            yield row

    def summarize(self, rows: Sequence[Row], run: RunView) -> list[Summary]:
        """One summary a group: a rate, an F1 with No as the positive class, and what was said against what is right."""
        groups = {row.group: [one for one in rows if one.group == row.group] for row in rows}
        return [self._summary(name, group) for name, group in groups.items()]

    def _summary(self, name: str, rows: Sequence[Row]) -> Summary:
        pairs = [(row.labels["gold"], row.labels["said"]) for row in rows if row.scored]
        size = sum(gold == "no" for gold, _ in pairs) + sum(said == "no" for _, said in pairs)
        f1 = 2 * pairs.count(("no", "no")) / size if size else None
        labels = ("yes", "no", "unparsed")
        counts = tuple(tuple(pairs.count((gold, said)) for said in labels) for gold in labels[:2])
        return Summary.of(
            name,
            rows,
            facts={"unparsed": sum(said == "unparsed" for _, said in pairs)},
            measures=(
                Measure.of(share(rows, "accuracy"), "accuracy", "Acc", note="right answers", better="higher"),
                Measure(name="f1_no", head="F1 (No)", kind="score", value=f1, better="higher"),
            ),
            matrices=(Matrix(name="said", rows=labels[:2], columns=labels, counts=counts),),
        )

    def figure(self, group: str, measure: str) -> Figure | None:
        """Return how the F1 is computed, which is not a mean of values."""
        return ratio_of(f1_parts) if measure == "f1_no" else None


def f1_parts(row: Row) -> tuple[float, float]:
    """Return what a row adds to both sums of the F1."""
    if not row.scored:
        return 0, 0
    gold, said = row.labels["gold"] == "no", row.labels["said"] == "no"
    return 2 * (gold and said), gold + said
