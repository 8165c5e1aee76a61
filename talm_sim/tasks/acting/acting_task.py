"""Decisions that every task with `AgentOptions` makes alike, whatever its base class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from talm_sim.config import Traffic
from talm_sim.errors import PrerequisiteError
from talm_sim.models.metering import max_tokens_of
from talm_sim.scenarios.dialogue import request_text
from talm_sim.tasks.bounds import RESULT_TOKENS, Bound
from talm_sim.tasks.keys import AnyJob, recording_key
from talm_sim.tasks.open_job import Recorded
from talm_sim.tasks.options import AgentOptions, PersonOptions
from talm_sim.types import AwarenessKind, Scenario, ToolSpec

if TYPE_CHECKING:
    from talm_sim.agent.prompts import Prompts

JobT = TypeVar("JobT", bound=AnyJob)
TURNS = 5
"""Model turns an episode may take where nobody says how many (Fail-TaLMs, Section 4.1)."""
FINISH_BY = "tool"
"""What ends the episodes of our agent with tools where nobody says: `tool`, a call of `Finish`, or `text`, a turn without a call."""
RETRIES = 3
"""Times that an awareness question is asked again after an answer that cannot be read."""

ACTING = frozenset({"human", "persona", "perturb", "writing", "approve", "ask_limit", "ask_limit_run", "answer_timeout"})
"""Options that `acting_key` stands for."""
_SCHEDULE = 2
"""Version of the schedule by which faults that are drawn fall on calls; see `talm_sim.tools_env.perturbations`."""


def acting_key(options: AgentOptions) -> dict[str, Any]:
    """Return what the options of every acting agent add to the name of a recording.

    Whose answers a person's are is not in it, nor which questions nobody answered, as they are in the recorded conversation itself. What
    recordings from before did not have is there only where it has an effect.
    """
    writing = {"writing": True} if options.writing and options.perturb else {}
    approve = {"approve": options.approve} if options.approve else {}
    return {"human": options.human != "none", "perturb": options.perturb, **_schedule_key(options.perturb), **writing, **approve}


def refusal_judges(options: AgentOptions) -> tuple[str, ...]:
    """Return the judge of refusals, where a person may refuse calls: those of `approve`, and those an own agent asks about itself."""
    asked = bool(options.approve) or (getattr(options, "agent", None) is not None and options.human not in ("none", "auto"))
    return ("respect",) if asked else ()


def _schedule_key(perturb: Sequence[str]) -> dict[str, int]:
    """Return the schedule's version, for the key of a recording on which it has an effect; other recordings keep their names."""
    if not perturb:
        return {}
    from talm_sim.tools_env.perturbations import PerturbationSpec, is_drawn  # not at the top: a table needs none

    return {"schedule": _SCHEDULE} if any(is_drawn(PerturbationSpec.parse(text)) for text in perturb) else {}


def settle_acting(job: JobT, recorded: Recorded, *, turn_limit: int = TURNS, **settled: Any) -> JobT:
    """Decide how the tools are reached and who answers, where the user leaves it open.

    The tools are replayed with a replayed model, or if the user names a recording of theirs; otherwise they are called: what a live model does
    is its own, so a recording of another's calls would lack some of them, and not at random. With a replayed model the run asks whom the
    recording asked; if there are recordings with and without a person, it asks the person.

    Args:
        job: The job; its model's traffic is decided already.
        recorded: The recordings.
        turn_limit: Where the user gives none.
        settled: Other options, which are decided already.

    Raises:
        PrerequisiteError: A person is to approve calls, and nobody is there.
    """
    tools, human = job.config.tools, job.options.human
    if tools is None:
        named = job.config.cassettes is not None
        theirs = bool(job.options.tools_from) or (named and recorded.holds_others)
        replays = named if theirs else job.config.models is Traffic.REPLAY
        tools = Traffic.REPLAY if replays and recorded.tools else Traffic.LIVE
    if human == "auto":
        human = "recorded" if job.config.models is Traffic.REPLAY and _recording_had_responder(job, recorded) else "none"
    check_person(job.options, human)
    return job.having(tools=tools, human=human, turn_limit=job.options.turn_limit or turn_limit, **settled)


def check_person(options: PersonOptions, human: str) -> None:
    """Check that what the options say of a person fits who answers.

    Raises:
        PrerequisiteError: It does not.
    """
    limits = {"ask_limit": options.ask_limit, "ask_limit_run": options.ask_limit_run}
    given = [flag for flag, value in {"approve": getattr(options, "approve", "") or None, **limits}.items() if value is not None]
    given += ["answer_timeout"] if options.answer_timeout is not None else []
    if not given:
        return
    if human == "none":
        does = "approve calls" if given[0] == "approve" else "answer"
        raise PrerequisiteError(f"{given[0]}: nobody is there to {does}; add --human WHO, or leave it out.")
    if human == "recorded" and given[-1] in limits:
        raise PrerequisiteError(f"{given[-1]}: the recording says which questions were answered; leave it out.")
    if given[-1] == "answer_timeout":
        from talm_sim.agent.responders import responder_kind  # not at the top: a table needs no agent

        if not responder_kind(human).waits:
            raise PrerequisiteError(f"answer_timeout: --human {human} answers at once; leave it out, or add --human terminal.")


def episode_bounds(
    scenarios: Sequence[Scenario],
    job: AnyJob,
    recorded: Recorded,
    prompts: Prompts,
    kinds: Callable[[str], Sequence[AwarenessKind]],
    *,
    least: int | None = None,
    awareness_alone: bool = False,
    retries: int = 0,
    result_tokens: int = RESULT_TOKENS,
    more_tools: Sequence[ToolSpec] = (),
) -> Iterator[Bound]:
    """Return what each episode may cost: the awareness questions, a No to which ends it; then up to `turn_limit` turns.

    Each turn reads all that came before. Each turn without an answer is assumed to call one tool, with the longest possible result.

    Args:
        scenarios: What is run.
        job: The settled job.
        recorded: The recordings, which hold the descriptions of recorded tools.
        prompts: What the agent is told.
        kinds: A scenario group to the awareness questions that are asked first.
        least: Requests at least; by default what a model needs that answers each of the user's turns at once.
        awareness_alone: Whether an episode ends after its awareness questions.
        retries: Times that each awareness question is asked again at most.
        result_tokens: Tokens of a tool's result at most.
        more_tools: What is offered beside the scenario's tools and the person.
    """
    specs, written = specs_of((scenario.tools for scenario in scenarios), recorded), job.settings().max_new_tokens
    limit, person = job.options.turn_limit or TURNS, job.options.human != "none"
    human = [prompts.human_tool()] if person else []
    rules = prompts.system_for(tools=True, finish=bool(more_tools)) + "".join(tool.model_dump_json() for tool in (*human, *more_tools))
    for scenario in scenarios:
        tools = [specs[name] for name in scenario.tools if name in specs]
        shown = [tool.model_dump_json() for tool in tools]
        user_turns, more = len(scenario.user_turns), written + result_tokens
        turns = 0 if awareness_alone and user_turns == 1 else limit
        said = request_text(message for turn in scenario.turns for message in turn.messages)
        earlier = more * turns if user_turns > 1 else 0  # the question includes the agent's own words and calls
        asked = kinds(scenario.group)
        questions = sum(
            max_tokens_of(prompts.awareness_system, prompts.awareness_question(kind, said, [*tools, *human])) + earlier for kind in asked
        )
        questions *= 1 + retries
        first = max_tokens_of(rules, said, *shown)
        spent = turns * first + more * turns * (turns - 1) // 2
        fewest = user_turns - 1 + (len(asked) or 1) if user_turns <= limit else limit
        requests = len(asked) * (1 + retries) + turns
        yield Bound(fewest if least is None else least, requests, questions + spent, requests * written, last=first + turns * more)


def specs_of(named: Iterable[Sequence[str]], recorded: Recorded) -> Mapping[str, ToolSpec]:
    """Return the tools as they were recorded; for tools that the recording lacks, those of the service, which need not run."""
    from talm_sim.world.described import built_in_tools

    specs: Mapping[str, ToolSpec] = recorded.library.tool_specs()
    return specs if all(name in specs for names in named for name in names) else {**built_in_tools().specs, **recorded.opened}


def _recording_had_responder(job: AnyJob, recorded: Recorded) -> bool:
    """Return whether there was somebody to ask in the recording of this job or, without one, in another recording of the model."""
    model = job.config.model
    asked, alone = (recorded.conversation(model, recording_key(job.having(human=human))) for human in ("recorded", "none"))
    if asked or alone:
        return asked
    known = recorded.library.settings(model)
    return not known or any(one.get("human") for one in known.values())
