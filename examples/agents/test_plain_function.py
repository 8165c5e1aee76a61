"""What the agent in plain_function.py is held to, whatever its tools do: offline, on the shipped recordings.

pytest examples/agents
"""

from __future__ import annotations

import pytest
from plain_function import act

from talm_sim.testing.lab import Lab

SCENARIO = "calendar-01.underspecified"


def test_it_asks_before_it_acts(talm: Lab) -> None:
    played = talm.run(act, scenario=SCENARIO)
    played.asked_before_acting()
    played.did_not_call("find_holiday")


@pytest.mark.parametrize("fault", ["http-403", "http-404", "http-500", "timeout", "connection-reset"])
def test_it_tells_what_failed(talm: Lab, fault: str) -> None:
    played = talm.run(act, scenario=SCENARIO, perturb=fault)
    played.told_the_user_it_failed()
    played.did_not_invent()


def test_it_tries_again_what_may_pass(talm: Lab) -> None:
    talm.run(act, scenario=SCENARIO, perturb="http-500:times=2").recovered_from("http-500")
