from __future__ import annotations

import pytest

from talm_sim.errors import ProviderError, ToolError
from talm_sim.recordings import HttpResponse
from talm_sim.tools_env import caller
from talm_sim.tools_env.caller import ToolCaller
from talm_sim.tools_env.sources.http import HttpSource, HttpTools
from talm_sim.tools_env.toolbox import Tools
from talm_sim.types import Route, ToolSpec


@pytest.mark.live
def test_calls_tools_and_reports_their_errors() -> None:
    with ToolCaller() as call:
        assert call("get_airport_details", {"code": "HAN"})["city"] == "Hanoi"
        with pytest.raises(ToolError, match=r"HTTP 404: .*No airport 'QQQ'") as caught:
            call("get_airport_details", {"code": "QQQ"})
        assert caught.value.code == "http_404"
        with pytest.raises(ToolError, match="Did you mean 'get_airport_details'"):
            call("get_airport_detail", {"code": "HAN"})


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ProviderError("It is gone."), "t did not answer: It is gone."),
        (TimeoutError(), "t did not answer: it took too long"),
        (HttpResponse(200, "OK", (), b"<html>"), "t did not answer with JSON: <html>"),
    ],
)
def test_a_source_that_does_not_answer_is_a_tool_error(answer: Exception | HttpResponse, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Source(HttpSource):
        async def call(self, tool: str, arguments: object, episode: str) -> HttpResponse:
            if isinstance(answer, Exception):
                raise answer
            return answer

    async def opened(*_: object, **__: object) -> Tools:
        return Tools([Source("", HttpTools({"t": ToolSpec(name="t")}, {"t": Route(path="/t")}))])

    monkeypatch.setattr(caller, "open_tools", opened)
    with ToolCaller() as call, pytest.raises(ToolError, match=message):
        call("t", {})
