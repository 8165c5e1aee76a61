"""A task's own options: one frozen model, made of the parts several tasks have. Flags, environment names and TOML keys derive from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from talm_sim.common.typed_options import OptionsModel
from talm_sim.config import GEN, OPE, RESULT_LIMIT, SCO, WHOLE_RESULT, Names, ProviderOptions, option
from talm_sim.errors import PrerequisiteError


class TaskOptions(OptionsModel):
    """Options of one task alone. Each field is an `option(default, scope, help)`."""

    def check(self) -> None:
        """Look up the names that were given, before a run is built; one that is stored is read wherever what it names is not there.

        Raises:
            PrerequisiteError: Nothing has such a name; the message begins with the option's.
        """


class PersonOptions(TaskOptions):
    """Options of a task in which somebody may answer the model's questions."""

    human: str = option("auto", GEN, "none|terminal|simulated|recorded|refusing", metavar="WHO|model:P/N")
    """Who answers the agent's questions: `none`, a responder (`talm_sim.agent.responders`) or `model:PROVIDER/NAME`.

    `auto` is settled when a run is built: `recorded` where the model is replayed, else `none`.
    """
    ask_limit: int | None = option(None, GEN, "Maximum questions to a person per episode.", flag=False, metavar="N", ge=0)
    """Of a question beyond it the agent is told that nobody answers any more."""
    ask_limit_run: int | None = option(None, GEN, "Maximum questions to a person per run.", flag=False, metavar="N", ge=0)
    answer_timeout: float | None = option(None, GEN, "Seconds that a question waits for its answer.", flag=False, metavar="S", gt=0)
    """Counted from when it was put, also while no process runs the run; the agent is told then that nobody answered."""
    persona: Literal["none", "terse", "chatty", "confused", "wrong-once", "front-loads", "pushes-back", "claims-done"] = option(
        "none", GEN, "Manner of a person played by a model.", flag=False, metavar="NAME"
    )
    """See docs/people.md; `wrong-once`, `front-loads` and `claims-done` make a fault on purpose."""

    def check(self) -> None:
        """Look up the responder."""
        if self.human not in {"auto", "none"}:
            from talm_sim.agent.responders import responder_kind  # not at the top: a help page needs no agent

            try:
                responder_kind(self.human)
            except PrerequisiteError as err:
                raise PrerequisiteError(f"human: {err}") from None
        if self.persona != "none" and not self.human.startswith("model:"):
            raise PrerequisiteError(f"persona: '{self.persona}' is for a person whom a model plays; add --human model:PROVIDER/NAME.")


class AgentOptions(PersonOptions):
    """Options of a task whose agent acts: with tools that can be damaged, with somebody to ask, for some turns."""

    approve: Names = option("", GEN, "Tools whose calls a person approves first.", flag=False, metavar="TOOL,...|writing")
    """`writing` stands for every tool that is not declared read-only; see `talm_sim.tools_env.guarded`."""
    perturb: tuple[str, ...] = option((), GEN, "Fault in tools or the model; repeatable.", metavar="NAME[:k=v,...]")
    writing: bool = option(False, GEN, "Let faults repeat calls that may change data.", rare=True)
    """Without it, a fault that lets a call through or repeats it does not apply to tools that are not known only to read."""
    turn_limit: int | None = option(None, GEN, "Maximum model turns (5; for your agent 50).", flag=False, metavar="N", ge=1)
    """Of an agent whose model is not seen, each tool call counts as one."""
    token_limit: int | None = option(None, GEN, "Maximum tokens per episode.", flag=False, metavar="N", ge=1)

    tools_from: tuple[str, ...] = option((), OPE, "Your own tools, KIND:PLACE; repeatable.", metavar="SOURCE")
    """Where the tools come from, each `[NAME=]KIND:PLACE`; see `talm_sim.tools_env.sources.registry`.

    A run goes on with those it began with, which the user names anew: nothing that a stored run names is started by itself.
    """
    trust: bool = option(False, OPE, "Run a tool folder's code, in a sandbox.", rare=True)

    def check(self) -> None:
        """Look up the perturbations, the kinds of tool sources with their options, and the responder."""
        from talm_sim.tools_env.perturbations import open_perturbations  # not at the top: a help page needs none
        from talm_sim.tools_env.sources.registry import read_source

        open_perturbations(self.perturb, seed=0, episode="")
        for text in self.tools_from:
            try:
                read_source(text)
            except PrerequisiteError as err:
                raise PrerequisiteError(f"tools_from: {str(err).removeprefix('--tools-from ')}") from None
        super().check()


def _agent_name(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    from talm_sim.agent.own.agents import hand_over  # not at the top: a help page needs no agent

    return _of_agent(hand_over, value)


def _of_agent(look_up: Callable[[Any], Any], agent: Any) -> Any:
    try:
        return look_up(agent)
    except PrerequisiteError as err:
        raise PrerequisiteError(f"agent: {err}") from None


class AgentTaskOptions(AgentOptions):
    """Options of an `AgentTask`, which the user's own agent can play in place of the built-in graph."""

    agent: Annotated[str | None, BeforeValidator(_agent_name)] = option(None, GEN, "Your own agent, MODULE:OBJECT.", metavar="MODULE:OBJECT")
    """In Python also the object itself: a compiled graph, or a function; see docs/agents.md."""
    agent_timeout: float = option(600.0, GEN, "Timeout of your agent, in seconds.", flag=False, metavar="S", gt=0)
    """For an episode, without what a person takes to answer."""
    rounds: int = option(5, GEN, "Replies to questions in words.", flag=False, metavar="N", ge=0)
    """Per episode; with nobody to ask there are none, and with recorded answers none of your agent's."""
    finish: Literal["auto", "tool", "text"] = option(
        "auto", GEN, "What counts as the answer: a Finish call (tool) or plain text (text).", metavar="NAME", rare=True
    )
    """`auto` is settled when a run is built: `talm_sim.tasks.acting.acting_task.FINISH_BY`, of your own agent `text`."""
    answer: Annotated[Literal["words", "values"], Field(exclude_if=lambda form: form == "words")] = option(
        "words", GEN, "What is graded: the answer's words, or a value for each fact.", metavar="NAME", rare=True
    )
    """With `values`, `Finish` takes a nullable value for each required fact, and your agent returns a mapping or a model; see docs/talm.md."""
    result_limit: int | None = option(None, GEN, "Characters of a tool's result that are read.", metavar="N", rare=True, ge=1)
    """By the agent, and so by the judges. By default 8,000 for the built-in agent; your agent gets whole results."""
    tool_errors: Annotated[Literal["auto", "raise", "text"], Field(exclude_if=lambda way: way == "auto")] = option(
        "auto", GEN, "How your agent learns that a tool failed: an error (raise) or a text.", metavar="NAME", rare=True
    )
    """`auto` is settled when a run is built, as `raise`; the built-in agent, and your agent in a run from before, reads texts."""
    schema_examples: Annotated[Literal["show", "hide"], Field(exclude_if=lambda way: way == "show")] = option(
        "show", GEN, "Examples in the schemas of tools: show or hide.", metavar="NAME", rare=True
    )
    """They give an agent values to guess with; most tools of the papers have none."""
    agent_context: Annotated[ProviderOptions, Field(exclude_if=lambda given: not given)] = option(
        {}, GEN, "Context of your graph (context_schema); repeatable.", metavar="K=V", rare=True
    )

    @property
    def most_read(self) -> int:
        """Characters of a tool's result that are read."""
        return self.result_limit or (RESULT_LIMIT if self.agent is None else WHOLE_RESULT)

    stop_after: Literal["awareness"] | None = option(None, GEN, "Ask only the awareness questions.", metavar="awareness", rare=True)
    no_awareness: bool = option(False, GEN, "Leave the awareness questions out.", rare=True)
    """So that an agent which answers No to them plays all the same."""

    def check(self) -> None:
        """Look up the responder and the agent.

        Raises:
            PrerequisiteError: They are not there, or the agent is to be asked what an own agent is never asked.
        """
        super().check()
        if self.stop_after is not None and self.agent is not None:
            raise PrerequisiteError("stop_after: your own agent is asked no awareness questions; leave out --stop-after or --agent.")
        if self.stop_after is not None and self.no_awareness:
            raise PrerequisiteError("no_awareness: --stop-after asks these questions alone; leave out one of the two.")
        if self.agent is None and self.tool_errors == "raise":
            raise PrerequisiteError("tool_errors: the built-in agent reads failures as text; leave out --tool-errors, or add --agent.")
        if self.answer == "values" and self.agent is None and self.finish == "text":
            raise PrerequisiteError("answer: values are given by a Finish call; leave out --finish text, or --answer values.")
        if self.agent is None and self.agent_context:
            raise PrerequisiteError("agent_context: only your own graph takes a context; add --agent MODULE:GRAPH, or leave it out.")
        if self.agent is not None:
            if self.finish == "tool":
                raise PrerequisiteError("finish: your agent ends its episodes itself; leave out --finish, or write --finish text.")
            from talm_sim.agent.own.agents import load_agent

            _of_agent(load_agent, self.agent)


class PairedOptions(TaskOptions):
    """Options of a task that compares episodes with those of another stored run."""

    paired_run: Path | None = option(None, SCO, "Stored run with the paired `perfect` episodes.", flag=False, metavar="RUN")


class PromptOptions(TaskOptions):
    """Options of a task that writes its requests as text."""

    own_templates: ClassVar[tuple[str, ...]] = ()
    """Names of templates that the task has beside those of all."""
    template: str = option("auto", GEN, "Prompt style for tools, or a file.", metavar="NAME|FILE")
