"""A question that a task asks a person who judges: its words, the key of each answer, what is shown, and what an answer is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from talm_sim.common.digests import canonical_json
from talm_sim.judges.prompts import messages_to_user, request_sections, transcript
from talm_sim.tasks.paper.paper_rows import OTHER
from talm_sim.types import FINISH, Episode, Row, Scenario, Termination

Material = Sequence[tuple[str, str]]
"""What a person is shown: titles, each with the text below it."""
Answers = Callable[[Row], Mapping[str, str]]
_KEYS_TAKEN = "smuq#"
"""Keys that mean the same whatever is asked."""


@dataclass(frozen=True, slots=True)
class PublishedAgreement:
    """A paper's figure that is printed beside the agreement with people.

    Attributes:
        paper: The paper; see `talm_sim.tasks.paper.published.published`.
        compared: How far it can be compared.
    """

    paper: str
    table: str
    row: tuple[str, ...]
    column: str
    compared: str = OTHER


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """A question to a person about an episode, or about its scenario alone.

    Attributes:
        name: Its name, which `--question` takes.
        asks: The question in words.
        labels: The key of each answer, to the label that it gives; keys are single letters or digits, none of `KEYS_TAKEN`.
        about: What a yes says of an episode, in a few words.
        show: Returns what the person is shown; None for an episode that the question does not apply to. It must not show what a judge said,
            the model's name or the group.
        value: Whether a label is a yes, given the scenario.
        said: Labels that stand for a judge's yes and no, for judges that give no label.
        judges: Judges that answer the same question; None for those whose verdicts say what passes.
        beside: Returns other answers to the question that an episode's row has, each under the name of who gave it.
        outcome: Returns the outcome by which a sample is stratified, from an episode's row; empty for the group, None for whether it succeeded.
        published: Figures to print beside the agreement.
        not_asked: Why the question may apply to no episode of a run.
        needs_episode: Whether something must have been played; if not, scenarios alone can be judged.
        rules: Version of the question, to be raised whenever its answers mean something else: earlier ones are then left out.

    Raises:
        ValueError: The keys or labels cannot be used.
    """

    name: str
    asks: str
    labels: Mapping[str, str]
    about: str
    show: Callable[[Episode, Scenario], Material | None]
    value: Callable[[str, Scenario], bool | None]
    said: Mapping[bool, str] = field(default_factory=dict)
    judges: tuple[str, ...] | None = None
    beside: Answers = lambda row: {}
    outcome: Callable[[Row], str] | None = None
    published: tuple[PublishedAgreement, ...] = ()
    not_asked: str = "none of its episodes has an answer to judge"
    needs_episode: bool = True
    rules: int = 1

    def __post_init__(self) -> None:
        wrong = [key for key in self.labels if len(key) != 1 or not key.isalnum() or key.lower() != key or key in _KEYS_TAKEN]
        if wrong or len(self.labels) < 2 or len({*self.labels.values()}) < len(self.labels):
            raise ValueError(
                f"question '{self.name}': labels needs two or more different labels, each under a small letter or a digit other than "
                f"{', '.join(_KEYS_TAKEN)}."
            )

    @property
    def key(self) -> str:
        """What verdicts on this question are kept under: equal keys, comparable verdicts."""
        return f"{self.name}/{self.rules}"


def pass_question(
    asks: str = "Does the final answer do what was asked?",
    *,
    published: tuple[PublishedAgreement, ...] = (),
    show: Callable[[Episode, Scenario], Material | None] | None = None,
) -> PersonQuestion:
    """Return the question whether an episode passes."""
    return PersonQuestion(
        name="passed",
        asks=asks,
        labels={"p": "pass", "f": "fail"},
        about="the final answer does what was asked",
        show=show or _episode_material,
        value=lambda label, scenario: label == "pass",
        said={True: "pass", False: "fail"},
        published=published,
    )


def _episode_material(episode: Episode, scenario: Scenario) -> Material | None:
    """Return the request, what the agent did, and its final answer; None if it was not to answer, or something else ended the episode."""
    if not episode.termination.completed or episode.termination is Termination.ASSESSED:
        return None
    shown = [("Tools", "\n".join(scenario.shown_tools))] if scenario.shown_tools else []
    last, written = len(episode.model_turns) - 1, _written_calls(episode)
    done = _deeds(episode, [(turn, text) for turn, text in written if turn < last])
    answer = [*messages_to_user(episode, scenario), *(text for turn, text in written if turn == last)]
    return [
        *shown,
        *request_sections(scenario, episode),
        *([("What the agent did", done)] if done else []),
        ("Final answer", "\n\n".join(answer).strip() or "(none)"),
    ]


def _written_calls(episode: Episode) -> list[tuple[int, str]]:
    """Return the calls that nothing executed and that are not in the answer itself, in a provider's own form, each with its model turn.

    Where a tool was run, the others failed or were cut off, and are no answer.
    """
    if episode.tool_events:
        return []
    played = {(event.turn, event.call_id) for event in episode.events}
    found = []
    for place, turn in enumerate(episode.model_turns):
        calls = [call for call in turn.tool_calls if call.name != FINISH and (place, call.id) not in played]
        found += [(place, f"Call of {call.name} with {canonical_json(call.arguments)}") for call in calls]
        broken = [call for call in turn.unparsable_calls if call.raw not in episode.answer and (place, call.id) not in played]
        found += [(place, f"Call of {call.name} that cannot be read: {call.raw}") for call in broken]
    return found


def _deeds(episode: Episode, written: Sequence[tuple[int, str]]) -> str:
    """Return what the agent did, turn by turn, with the calls that nothing executed where they were made."""
    if not written:
        return transcript(episode)
    events = [(event.turn, transcript(episode.model_copy(update={"events": (event,)}))) for event in episode.events]
    return "\n".join(text for _, text in sorted([*events, *written], key=lambda one: one[0]))
