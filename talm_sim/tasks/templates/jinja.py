"""Templates that are Jinja files, compiled in a sandbox; every failure is reported in one line with its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from talm_sim.errors import PrerequisiteError
from talm_sim.models.formats import CallToWrite
from talm_sim.models.local.prompting import check_tools_shown
from talm_sim.scenarios.dialogue import request_text
from talm_sim.tasks.templates.template_values import ShownTool, read_call
from talm_sim.types import Behaviour, Option

if TYPE_CHECKING:
    from jinja2 import Template as CompiledFile

_MACROS = {"prompt": ("tools", "question"), "tool_call": ("name", "arguments", "text")}
"""The macros of a template file and what each receives."""


class Template(Protocol):
    """How an item is written for a model."""

    @property
    def name(self) -> str:
        """The style, or the user's file; with `auto`, what was chosen."""
        ...

    @property
    def source(self) -> str:
        """The Jinja text that it writes with."""
        ...

    def prompt(self, question: str, tools: Sequence[str]) -> str:
        """Write the text the model continues.

        Args:
            question: The user's request.
            tools: Tool specifications as JSON texts, which most styles show unchanged.
        """
        ...

    def conversation(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> str:
        """Write a whole conversation: of a single question, what `prompt` writes."""
        ...

    def calls(self, calls: Sequence[CallToWrite]) -> str:
        """Write calls in the model's form; of a single one, what `option` writes."""
        ...

    def option(self, option: Option) -> str:
        """Write an option as the continuation of the prompt: a tool call in the model's form, any other text as it is."""
        ...


class JinjaTemplate:
    """A template file.

    Args:
        name: What the template is called.
        place: How errors name the file.
        in_chat: Renders a user's message through the tokenizer's chat template; used if the file says that it writes only that message.
    """

    def __init__(self, source: str, name: str, place: str, in_chat: Callable[[str], str] | None = None) -> None:
        self.name = name
        self.source = source
        from talm_sim.models.local.template_sandbox import limit_rendering

        self._place = place
        self._compiled = _compile(source, place)
        try:
            with limit_rendering():
                self._module: Any = self._compiled.make_module()
        except Exception as err:  # what a user's file raises is anyone's guess
            raise self._failure(err, "cannot be used") from None
        self._taken = {macro: self._parameters(macro) for macro in _MACROS}
        self._in_chat = in_chat if getattr(self._module, "in_user_message", False) else None

    def prompt(self, question: str, tools: Sequence[str]) -> str:
        """See `Template.prompt`."""
        shown = [ShownTool(tool) for tool in tools]
        text = self.call("prompt", tools=shown, question=question)
        check_tools_shown(text, question, (tool.name for tool in shown), self._place, "write {{ tool }} in its macro 'prompt'")
        return self._in_chat(text) if self._in_chat is not None else text

    def option(self, option: Option) -> str:
        """See `Template.option`."""
        return self.calls([read_call(option.text)]) if option.behaviour is Behaviour.TOOL_CALL else option.text

    def conversation(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[str]) -> str:
        """See `Template.conversation`; a style has a place for one text, so of several messages each line names its speaker."""
        return self.prompt(request_text(messages), tools)

    def calls(self, calls: Sequence[CallToWrite]) -> str:
        """See `Template.calls`; several are on lines of their own."""
        return "\n".join(self.call("tool_call", name=call.name, arguments=call.arguments, text=call.json) for call in calls)

    def call(self, macro: str, **values: Any) -> str:
        """Call a macro with those of `values` that it takes."""
        from talm_sim.models.local.template_sandbox import limit_rendering

        taken = self._taken.get(macro, tuple(values))
        try:
            with limit_rendering():
                text = str(getattr(self._module, macro)(**{key: value for key, value in values.items() if key in taken}))
        except Exception as err:  # what a user's file raises is anyone's guess
            raise self._failure(err, f"macro '{macro}' failed") from None
        if not text.strip():
            raise PrerequisiteError(f"{self._place}: macro '{macro}' writes no text, so there is nothing for a model to read or score.")
        return text

    def _parameters(self, macro: str) -> tuple[str, ...]:
        """Return the parameters of the macro; one that nobody gives is undefined, which is reported when it is used."""
        from jinja2.runtime import Macro

        if not isinstance(found := getattr(self._module, macro, None), Macro):
            raise PrerequisiteError(f"{self._place}: no macro '{macro}'; a template needs {_list_macros()}.")
        return tuple(found.arguments)

    def _failure(self, err: Exception, what: str) -> PrerequisiteError:
        """Return the error as one line, with the last line of the file that it passed through."""
        line = 0
        trace = err.__traceback__
        while trace is not None:
            if trace.tb_frame.f_globals.get("__jinja_template__") is self._compiled:
                line = self._compiled.get_corresponding_lineno(trace.tb_lineno)
            trace = trace.tb_next
        place = f"{self._place}:{line}" if line else self._place
        return PrerequisiteError(f"{place}: {what}: {_summarize_error(err)}.")


def _compile(source: str, place: str) -> CompiledFile:
    from jinja2 import TemplateSyntaxError

    from talm_sim.models.local.template_sandbox import environment

    try:
        return environment().from_string(source)
    except TemplateSyntaxError as err:
        raise PrerequisiteError(f"{place}:{err.lineno}: not valid Jinja: {_summarize_error(err)}.") from None
    except RecursionError:
        raise PrerequisiteError(f"{place}: not valid Jinja: nested too deeply.") from None


def _list_macros() -> str:
    return " and ".join(f"{macro}({', '.join(given)})" for macro, given in _MACROS.items())


def _summarize_error(err: Exception) -> str:
    text = " ".join(str(getattr(err, "message", None) or err).split()).rstrip(".")
    return text[:300] or type(err).__name__
