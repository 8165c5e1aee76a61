"""Errors whose class does what it likes when they are looked at: each is told as itself, at once, by an agent as by a tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from talm_sim.foreign.error_text import error_line, escape_control
from talm_sim.tools_env.sources.python import PythonSource
from talm_sim.types import Termination
from tests.agent.own.playing import play


def _raise(error: BaseException) -> Any:
    raise error


class Oddly(str):
    def split(self, *_: Any) -> Any:
        raise ValueError("split")

    def __getitem__(self, key: Any) -> Any:
        raise ValueError("item")


class Nameless(type):
    def __getattribute__(cls, name: str) -> Any:
        return _raise(ValueError(name)) if name in {"__name__", "__qualname__", "__module__"} else type.__getattribute__(cls, name)


class OfNoName(Exception, metaclass=Nameless):
    pass


def kind(name: str, **members: Any) -> BaseException:
    made: BaseException = type(name, (Exception,), members)("x")
    return made


def text(make: Callable[[], Any]) -> Any:
    return lambda self: make()


def refused(self: Any) -> Any:
    raise ValueError("refused")


def caused(cause: BaseException) -> BaseException:
    error = KeyError("outer")
    error.__cause__ = cause
    return error


ODD = {
    "Missing": kind("Missing", __str__=lambda self: self.args[0].missing),
    "NoText": kind("NoText", __str__=text(lambda: 5)),
    "Base": kind("Base", __str__=text(lambda: _raise(BaseException("base")))),
    "Exits": kind("Exits", __str__=text(lambda: _raise(SystemExit(3)))),
    "Interrupts": kind("Interrupts", __str__=text(lambda: _raise(KeyboardInterrupt()))),
    "Odd": kind("Odd", __str__=text(lambda: Oddly("hello"))),
    "Cause": kind("Cause", __cause__=property(refused)),
    "Context": kind("Context", __context__=property(refused)),
    "Trace": kind("Trace", __traceback__=property(refused, lambda self, value: None)),
    "Notes": kind("Notes", __notes__=property(refused)),
    "Args": kind("Args", args=property(refused)),
    "Class": kind("Class", __class__=property(refused)),
    "Closed": kind("Closed", __getattribute__=lambda self, name: _raise(ValueError(name))),
    "NoBool": kind("NoBool", __bool__=refused),
    "OfNoName": OfNoName("x"),
    "KeyError": caused(kind("Closed", __getattribute__=lambda self, name: _raise(BaseException(name)))),
    "Large": kind("Large", __str__=text(lambda: "many words " * 1_000_000)),
    "N" * 200: kind("N" * 100_000),
    "BaseException": BaseException("x"),
}


def raising(error: BaseException, *, asynchronous: bool) -> Any:
    async def act(messages: Any, tools: Any) -> Any:
        raise error

    def act_in_a_thread(messages: Any, tools: Any) -> Any:
        raise error

    return act if asynchronous else act_in_a_thread


@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("name", ODD)
async def test_an_agents_error_is_told_as_itself(name: str, asynchronous: bool) -> None:
    episode = await play(raising(ODD[name], asynchronous=asynchronous), seconds=60.0)
    assert episode.termination is Termination.AGENT_ERROR
    assert episode.error.startswith(name) and len(episode.error) < 1_000, episode.error[:1_000]
    assert len(episode.traceback) < 8_100


@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("name", ODD)
async def test_a_tools_error_is_a_failed_call(name: str, asynchronous: bool) -> None:
    async def look_up() -> str:
        """Look."""
        raise ODD[name]

    def look() -> str:
        """Look."""
        raise ODD[name]

    called = "look_up" if asynchronous else "look"
    answer = await PythonSource("x", [look_up, look], timeout=60.0).call(called, {}, "")
    assert answer.status == 500 and len(answer.body) < 600
    if name not in {"Trace", "NoBool", "Closed", "Class"}:  # LangChain looks at these before we do
        assert json.loads(answer.body)["detail"].startswith(name)


def test_what_acts_on_a_terminal_is_written_out() -> None:
    assert escape_control(error_line(ValueError("a\x1b[31m\u202e \ud800\n b"), 100)) == "ValueError: a\\x1b[31m\\u202e \\ud800 b"
