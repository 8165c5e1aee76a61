"""The base class of tasks that ask the model one request for each scenario, and execute no tool."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from talm_sim.errors import PrerequisiteError
from talm_sim.models.metering import max_tokens_of
from talm_sim.scenarios.turns import fault_in_question
from talm_sim.tasks.base import Job, OptionsT
from talm_sim.tasks.bounds import Bound
from talm_sim.tasks.model_task import Asking, AskingTask
from talm_sim.tasks.registry import read_line
from talm_sim.types import Scenario, ToolSpec

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from talm_sim.models.base import GenerationSettings, Model, TextModel
    from talm_sim.tasks.open_job import Recorded
    from talm_sim.types import ModelTurn, TokenLogprob


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the model.

    Attributes:
        messages: The conversation, oldest first.
        tools: Tools the model may call; none is executed.
        choices: Words, one of which the answer begins with, if there are any; models that can be constrained are held to it.
        prompt: A text to continue, in place of messages: for models without a chat template.
        alternatives: How many of the likeliest first tokens of the answer are kept, if the model reports them.
        max_new_tokens: Most tokens of the answer, if fewer than the run allows.
        scored: Answers whose log-probabilities replace the likeliest first tokens, if there are any.
        before: How many of the messages an earlier turn has already: a turn is kept with what it added.
    """

    messages: Sequence[BaseMessage] = ()
    tools: Sequence[ToolSpec] = ()
    choices: tuple[str, ...] = ()
    prompt: str = ""
    alternatives: int = 0
    max_new_tokens: int | None = None
    scored: tuple[str, ...] = ()
    before: int = 0

    @property
    def added(self) -> str:
        """The messages it adds to the conversation, as text."""
        return self.prompt or "\n\n".join(message.text for message in self.messages[self.before :])


class SingleStepTask(AskingTask[OptionsT]):
    """A task that asks the model once per scenario. A subclass needs `name`, `splits`, `request`, `rows` and `summarize`.

    Attributes:
        reads_dialogues: Whether `request` reads all messages of a scenario. If it does not, a scenario with more than one message of the
            user is refused, because the rest would be dropped.
    """

    reads_dialogues: ClassVar[bool] = False

    def read_line(self, line: Any, where: str, task: str) -> Scenario:
        """Read a line of a scenario file; see `Task.read_line`."""
        scenario = read_line(line, where, task)
        try:
            self._check_messages(scenario)
        except PrerequisiteError as err:
            raise PrerequisiteError(f"{where}: {err}") from None
        return scenario

    def _check_messages(self, scenario: Scenario) -> None:
        fault = "" if self.reads_dialogues else fault_in_question(scenario)
        if fault:
            raise PrerequisiteError(fault)

    @abstractmethod
    def request(self, scenario: Scenario, job: Job[OptionsT]) -> Request:
        """Make the request for a scenario.

        Raises:
            PrerequisiteError: The scenario cannot be asked; this is reported before anything runs.
        """

    def then(self, scenario: Scenario, job: Job[OptionsT], turns: Sequence[ModelTurn]) -> Request | None:
        """Make the next request after these turns; None if there is none."""
        return None

    def wording(self, job: Job[OptionsT]) -> Mapping[str, str]:
        """Return the texts of the requests, by their names in messages; a resumed run must have the same."""
        return {}

    def bounds(self, scenarios: Sequence[Scenario], job: Job[OptionsT], recorded: Recorded) -> Iterator[Bound]:
        """Count one request per scenario."""
        tokens = job.settings().max_new_tokens
        for scenario in scenarios:
            request = self.request(scenario, job)
            size = max_tokens_of(
                request.prompt, *(message.text for message in request.messages), *(tool.model_dump_json() for tool in request.tools)
            )
            yield Bound(1, 1, size, tokens, last=size + tokens)

    def asking(self, job: Job[OptionsT], model: Model) -> Asking:
        """Return how the model is asked each request."""
        from talm_sim.models.base import CompletionModel, ScenarioModel, TextModel

        async def ask(model: Model, scenario: Scenario, settings: GenerationSettings, turns: Sequence[ModelTurn]) -> ModelTurn | None:
            request = self.then(scenario, job, turns) if turns else self.request(scenario, job)
            return None if request is None else await _ask(request, model, settings)

        def check(scenario: Scenario) -> None:
            self._check_messages(scenario)
            request = self.request(scenario, job)
            if request.prompt and not isinstance(model, CompletionModel | ScenarioModel):
                raise PrerequisiteError(f"model '{model.name}': cannot continue a text: it only takes messages; choose another --model.")
            if request.scored and not isinstance(model, TextModel | ScenarioModel):
                raise PrerequisiteError(f"model '{model.name}': cannot score given answers; choose one that runs in this process (hf/, vllm/).")

        return Asking(ask, check, self.wording(job))


async def _ask(request: Request, model: Model, settings: GenerationSettings) -> ModelTurn:
    """Ask a request of a model that can take it."""
    from talm_sim.models.base import CompletionModel, TextModel

    most = settings.max_new_tokens if request.max_new_tokens is None else min(request.max_new_tokens, settings.max_new_tokens)
    settings = replace(settings, choices=request.choices, alternatives=request.alternatives, max_new_tokens=most)
    if request.prompt and isinstance(model, CompletionModel):
        turn = await model.complete(request.prompt, settings)
    else:
        turn = await model.generate(list(request.messages), list(request.tools), settings)
    added = {"raw_prompt": turn.raw_prompt or request.added}
    if request.scored and isinstance(model, TextModel):
        return turn.model_copy(update={**added, "first_tokens": await _score(request, model)})
    return turn.model_copy(update=added)


async def _score(request: Request, model: TextModel) -> tuple[TokenLogprob, ...]:
    """Return how likely the given answers are, the likeliest first."""
    from talm_sim.models.wire_messages import openai_messages
    from talm_sim.types import TokenLogprob

    prompt = request.prompt or model.render_chat(openai_messages(request.messages), ())
    found = await model.score(prompt, request.scored)
    likely = [TokenLogprob(token=word, logprob=one.logprob) for word, one in zip(request.scored, found, strict=True)]
    return tuple(sorted(likely, key=lambda one: -one.logprob))
