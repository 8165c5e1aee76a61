from __future__ import annotations

import pytest

from talm_sim.errors import ToolError
from talm_sim.tools_env.service.caller import ToolCaller
from talm_sim.tools_env.service.process import ToolService
from talm_sim.types import ToolSpec


@pytest.mark.live
def test_calls_tools_and_reports_their_errors(service: ToolService, specs: dict[str, ToolSpec]) -> None:
    with ToolCaller(service.base_url + "/", specs) as call:
        assert call("get_airport_details", {"code": "HAN"})["city"] == "Hanoi"
        with pytest.raises(ToolError, match=r"HTTP 404: .*No airport 'QQQ'") as caught:
            call("get_airport_details", {"code": "QQQ"})
        assert caught.value.code == "http_404"
        with pytest.raises(ToolError, match="Did you mean 'get_airport_details'"):
            call("get_airport_detail", {"code": "HAN"})


def test_a_service_that_is_not_there_is_a_tool_error() -> None:
    spec = ToolSpec(name="t", path="/t")
    with ToolCaller("http://127.0.0.1:9", {"t": spec}) as call, pytest.raises(ToolError, match="t did not answer: ConnectionError"):
        call("t", {})
